/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a text file, compressed or not. */
#ifndef CHANNEL_EMU_TRACE_LINE_H
#define CHANNEL_EMU_TRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <zlib.h>

#define TRACE_LINE_MAX 4096 /* characters; of a longer line so many and one more are given */

struct trace_line {
    gzFile file; /* the caller's */
    char text[TRACE_LINE_MAX + 2];
    size_t len; /* without the line feed */
    bool ended; /* by a line feed, which stands behind the text; else by the end of the file, by
                   damage, or because the line is longer */
    bool begun; /* the first line has been read: a byte order mark was left out */
};

/* The next line. False: there is none, or the file is damaged (gzerror). */
bool trace_line_next(struct trace_line *l);
/* A NUL in it: no text file has one, and what reads texts takes it for their end. */
bool trace_line_binary(const struct trace_line *l);
#define TRACE_LINE_BINARY "a NUL byte: this is no text file"

#endif
