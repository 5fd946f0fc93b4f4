/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segment log: one CSV line per event (columns in event_csv_header), buffered, one file. And
 * the same for lines of other logs, which their owners write themselves.
 */
#ifndef CLA_SEGLOG_H
#define CLA_SEGLOG_H

#include <stddef.h>

#include "ltp/event.h"

struct seglog;

/* Opens (appends to) the file; writes the header line when it is empty. epoch is added to event
 * times: CLOCK_REALTIME minus the engines' clock, ns. Returns 0 or -errno. */
int seglog_open(struct seglog **out, const char *path, uint64_t node, uint64_t epoch);

/* A log of other lines, below `header` (with its line end; kept by reference); seglog_room and
 * seglog_put instead of seglog_sink. Returns 0 or -errno. */
int seglog_open_lines(struct seglog **out, const char *path, const char *header);
/* Room for a whole line of at most `max` <= SEGLOG_LINES_MAX bytes, to be put with its real length;
 * NULL: it is lost, and counted. */
#define SEGLOG_LINES_MAX 65536
char *seglog_room(struct seglog *s, size_t max);
void seglog_put(struct seglog *s, size_t len);

/* An event_sink; context is the struct seglog. Never blocks longer than a write to the page cache;
 * lines that a full disk refuses are counted as lost. */
void seglog_sink(void *context, const struct event *e);

/* Gives what is gathered to the writer. Call at least twice a second: who reads the log right after
 * a transfer shall see all of it. */
void seglog_flush(struct seglog *s);

/* Flushes, and waits until it is written: 0, or -ETIMEDOUT after timeout_ms. */
int seglog_sync(struct seglog *s, unsigned timeout_ms);

int seglog_reopen(
    struct seglog *s); /* after the file was moved away: 0 or -errno (the old file stays in use) */
uint64_t seglog_lost(const struct seglog *s);
void seglog_close(struct seglog *s); /* flushes; NULL is allowed */

#endif
