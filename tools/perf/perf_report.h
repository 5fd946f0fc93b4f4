/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces that the JSON results of our programs have in common. */
#ifndef TOOLS_PERF_REPORT_H
#define TOOLS_PERF_REPORT_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>

#include "tools/hist.h"

struct perf_count {
    const char *name; /* NULL ends a list */
    uint64_t value;
};

/* An object of the list. */
json_t *perf_report_counts(const struct perf_count *list);

/* {mean, p50, p90, p99, max} in ms of a histogram in ns; null when it is empty. */
json_t *perf_report_delay(const struct hist *h);

/* Ends the program by argp_error if the file of `option` cannot be written (its folder is missing,
 * or not ours): before a run, not after it. A path of NULL and "-" are right. */
void perf_report_place(struct argp_state *state, const char *option, const char *path);

/* Writes j, which it takes, to a file (through a new file beside it, so that a reader sees all or
 * nothing) or to standard output ("-"). On failure `program` prints the reason, and this returns
 * false. */
bool perf_report_write(const char *program, json_t *j, const char *path);

#endif
