/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces that the JSON results of our programs have in common. */
#ifndef TOOLS_PERF_REPORT_H
#define TOOLS_PERF_REPORT_H

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

/* Writes j, which it takes, to a file (through a new file beside it, so that a reader sees all or
 * nothing) or to standard output ("-"). On failure it prints the reason and returns false. */
bool perf_report_write(json_t *j, const char *path);

#endif
