/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of running emulators, in the text format of Prometheus. */
#ifndef CHANNEL_EMU_EMU_METRICS_H
#define CHANNEL_EMU_EMU_METRICS_H

#include <stddef.h>

/* Asks the emulators of `count` control sockets one after the other. The text, of *len octets, is
 * the caller's to free; NULL: memory. An emulator that does not answer has only
 * heliograph_emu_answers 0; *silent is one of these sockets, or NULL. */
char *emu_metrics(const char *const *sockets, size_t count, size_t *len, const char **silent);

#endif
