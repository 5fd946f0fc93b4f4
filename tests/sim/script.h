/* SPDX-License-Identifier: Apache-2.0 */
/* The language of scenarios (README.md): runs a script in virtual time and writes its trace. */
#ifndef TESTS_SIM_SCRIPT_H
#define TESTS_SIM_SCRIPT_H

#include <stdio.h>

#include "tests/sim/pcap.h"

/* Runs the commands of `text` up to `len`, writing the trace to `out`, and to `pcap` (NULL: none)
 * each segment that a node radiates: the n-th is the n-th line "tx" of the trace. Returns 0, or the
 * number of the line that was wrong after saying why on stderr. */
int script_run(const char *name, const char *text, size_t len, FILE *out, struct pcap *pcap);

#endif
