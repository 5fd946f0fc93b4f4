/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is read once from its beginning, plain or gzip, by lines or by bytes. */
#ifndef TOOLS_STREAM_H
#define TOOLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

/* "-" is standard input. Returns 0, or an error of base/err.h with the reason in `error`. */
int stream_open(struct stream **out, const char *path, char error[256]);
void stream_close(struct stream *s); /* NULL is nothing */

/* What the file begins with, as many bytes as there are up to `want` (64 KiB at most); they stay to
 * be read. Before the first line or byte is read. Returns 0 or HELIO_EIO. */
int stream_peek(struct stream *s, size_t want, const uint8_t **bytes, size_t *len);

/* The next line without its newline: 1, 0 at the end, HELIO_EIO (the file is damaged). *whole is
 * false for a last line without its end, and for one longer than 256 KiB, whose rest is skipped. */
int stream_line(struct stream *s, const char **line, size_t *len, bool *whole);
uint64_t stream_line_number(const struct stream *s); /* of the last line, from 1 */

/* The compressed data is cut off: what was before the cut has been read. Known at the end. */
bool stream_cut(const struct stream *s);

/* Up to `len` bytes: their number, 0 at the end, HELIO_EIO. */
long stream_read(struct stream *s, void *out, size_t len);

/* Bytes on the medium, 0 when not known, and how many of them have been read. */
uint64_t stream_size(const struct stream *s);
uint64_t stream_offset(const struct stream *s);

#endif
