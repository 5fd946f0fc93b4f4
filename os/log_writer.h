/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of records that is written while something else must go on: records gather in pages, a
 * thread compresses and writes them. Adding a record never blocks longer than a write to memory; a
 * medium that is too slow or full loses whole records, which are counted. Where no clock runs it is
 * waited for instead.
 */
#ifndef OS_LOG_WRITER_H
#define OS_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define LOG_RECORD_MAX (128u * 1024u)

enum log_flags {
    LOG_APPEND = 1, /* to what the file has; else it is made anew */
    LOG_WAIT = 2,   /* a full queue is waited for instead of losing records (virtual time) */
    LOG_LINES = 4,  /* records are lines: of a page that a full disk takes in part, the whole ones
                       stay; else none of its records */
};

struct log_writer;

/* Opens the file, which is compressed with gzip when its name ends in .gz. `header` is borrowed for
 * the writer's life and is the first record of every file that is empty; it may have length 0.
 * With LOG_APPEND and LOG_LINES it is a line of column names, which
 * begins with a letter, while rows begin with digits: if the last such line in the file is another
 * one, the header is written again. 0 or HELIO_E* (HELIO_ENOENT also for a pipe that nobody reads);
 * the caller owns *out. */
int log_writer_open(struct log_writer **out, const char *path, unsigned flags, struct slice header);

/* Room for a record of at most `max` bytes (<= LOG_RECORD_MAX), which the caller fills and then
 * puts with its real length; NULL when it is lost: nothing is to be put then. */
void *log_writer_room(struct log_writer *w, size_t max);
void log_writer_put(struct log_writer *w, size_t len);

/* Gives what is gathered to the thread, which writes it at once. Call at least twice a second: who
 * reads the file right after something happened shall see it. */
void log_writer_flush(struct log_writer *w);
/* Is anything gathered? */
bool log_writer_pending(const struct log_writer *w);

/* Flushes, and waits until it is written: 0, or HELIO_EAGAIN after timeout_ms. */
int log_writer_sync(struct log_writer *w, unsigned timeout_ms);

/* After the file was moved away: goes on in a new one of that name. 0, or HELIO_E*, then the old
 * file stays in use. */
int log_writer_reopen(struct log_writer *w);

uint64_t log_writer_records(const struct log_writer *w); /* all, lost ones and headers included */
uint64_t log_writer_lost(const struct log_writer *w);    /* exact after log_writer_finish */

/* The error of the latest write when that failed: the disk is full, …; 0: it went well. */
int log_writer_trouble(const struct log_writer *w);

/* Writes the rest and closes the file; call once. 0, or the error of the first write that failed:
 * then the file holds whole records, records - lost of them. */
int log_writer_finish(struct log_writer *w);
/* What log_writer_finish returned; 0 before. */
int log_writer_error(const struct log_writer *w);
void log_writer_free(struct log_writer *w); /* finishes if need be; NULL is allowed */

#endif
