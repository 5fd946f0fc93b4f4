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
    /* records are lines: of a page that a full disk takes in part, the whole ones stay; else none
     * of its records */
    LOG_LINES = 4,
};

struct log_writer;

/* Opens the file; it is compressed with gzip if its name ends in .gz. `header` is borrowed until
 * log_writer_finish. It is the first record of every empty file; its length may be 0. With
 * LOG_APPEND and LOG_LINES it must be a line of column names that begins with a letter, and rows
 * must begin with digits. If the last such line of the file differs, the header is written again.
 * Returns 0 or HELIO_E* (HELIO_ENOENT also for a pipe without a reader); the caller owns *out. */
int log_writer_open(struct log_writer **out, const char *path, unsigned flags, struct slice header);

/* Returns memory for a record of at most `max` bytes (<= LOG_RECORD_MAX). The caller fills it and
 * calls log_writer_put with the real length. NULL: the record is lost; do not call
 * log_writer_put. */
void *log_writer_room(struct log_writer *w, size_t max);
void log_writer_put(struct log_writer *w, size_t len);

/* Passes the collected records to the thread, which writes them at once. Call it at least twice a
 * second, so that readers of the file see recent events. */
void log_writer_flush(struct log_writer *w);
/* Is anything gathered? */
bool log_writer_pending(const struct log_writer *w);

/* Flushes, and waits until it is written: 0, or HELIO_EAGAIN after timeout_ms. */
int log_writer_sync(struct log_writer *w, unsigned timeout_ms);

/* Continues in a new file of that name, after the old one was renamed. Returns 0, or HELIO_E*; then
 * the old file stays in use. */
int log_writer_reopen(struct log_writer *w);

uint64_t log_writer_records(const struct log_writer *w); /* all, lost ones and headers included */
uint64_t log_writer_lost(const struct log_writer *w);    /* exact after log_writer_finish */

/* The error of the latest write (for example, the disk is full); 0: success. */
int log_writer_trouble(const struct log_writer *w);

/* Writes the rest and closes the file; call once. 0, or the error of the first write that failed:
 * then the file holds whole records, records - lost of them. */
int log_writer_finish(struct log_writer *w);
/* What log_writer_finish returned; 0 before. */
int log_writer_error(const struct log_writer *w);
void log_writer_free(struct log_writer *w); /* finishes if need be; NULL is allowed */

#endif
