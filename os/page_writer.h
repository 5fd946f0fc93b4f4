/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is written while frames must leave on time: records gather in pages, a thread writes
 * (and compresses) them. A disk that is too slow loses whole records, which are counted, or, where
 * no clock runs, is waited for.
 */
#ifndef OS_PAGE_WRITER_H
#define OS_PAGE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_RECORD_MAX (128u * 1024u)

struct page_writer;

/* Creates the file, anew; compressed with gzip when its name ends in .gz. `wait`: a full queue is
 * waited for instead of losing records (virtual time). 0 or -errno; the caller owns *out. */
int page_writer_open(struct page_writer **out, const char *path, bool wait);

/* Room for a record of at most `max` bytes (<= PAGE_RECORD_MAX), which the caller fills and then
 * puts with its real length; NULL when it is lost: nothing is to be put then. */
void *page_writer_room(struct page_writer *w, size_t max);
void page_writer_put(struct page_writer *w, size_t len);

/* Gives what is gathered to the thread, which writes it to the file at once. */
void page_writer_flush(struct page_writer *w);
/* Is anything gathered? */
bool page_writer_pending(const struct page_writer *w);

uint64_t page_writer_records(const struct page_writer *w); /* all, lost ones included */
uint64_t page_writer_lost(const struct page_writer *w);    /* exact after page_writer_finish */

/* Writes the rest and closes the file; call once. 0, or -errno of the first write that failed: then
 * the file holds whole records, records - lost of them. */
int page_writer_finish(struct page_writer *w);
/* What page_writer_finish returned; 0 before. */
int page_writer_error(const struct page_writer *w);
void page_writer_free(struct page_writer *w); /* finishes if need be; NULL is allowed */

#endif
