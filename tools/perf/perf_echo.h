/* SPDX-License-Identifier: Apache-2.0 */
/* The number that a request must bring back: who has it gets what is sent to `peer`. */
#ifndef TOOLS_PERF_ECHO_H
#define TOOLS_PERF_ECHO_H

#include <stdbool.h>
#include <stdint.h>

/* Of a peer, whose name is shorter than PERF_PEER_MAX, and a session; nobody foresees it without
 * the secret. False: it cannot be computed. */
bool perf_echo(const uint64_t secret[2], const char *peer, uint64_t session, uint64_t *out);

#endif
