/* SPDX-License-Identifier: Apache-2.0 */
/* The segment log: a file with one CSV line per event (columns in event_csv_header).
 * os/log/log_writer.h writes it. */
#ifndef CLA_SEGLOG_H
#define CLA_SEGLOG_H

#include "ltp/event.h"
#include "os/log/log_writer.h"

struct seglog {
    struct log_writer *file;
    uint64_t node, epoch;
};

/* Opens (appends to) the file; writes the header line when it is empty. epoch is added to event
 * times: CLOCK_REALTIME minus the engines' clock, ns. Returns 0 or HELIO_E*. */
int seglog_open(struct seglog **out, const char *path, uint64_t node, uint64_t epoch);

/* An event_sink; context is the struct seglog. */
void seglog_sink(void *context, const struct event *e);

void seglog_close(struct seglog *s); /* flushes; NULL is allowed */

#endif
