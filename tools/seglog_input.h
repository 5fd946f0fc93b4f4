/* SPDX-License-Identifier: Apache-2.0 */
/* Segment logs as one stream of rows in order of time: any number of files, plain or gzip. */
#ifndef TOOLS_SEGLOG_INPUT_H
#define TOOLS_SEGLOG_INPUT_H

#include "tools/seglog_row.h"

struct seglog_input;

/* Told of each malformed row: where and why. Returns false to stop the reading. */
typedef bool seglog_complaint(void *context, const char *file, uint64_t line, const char *why);

/* Opens all files ("-" is standard input). Returns 0 or -errno; *failed is then the index of the
 * file: -ENODATA when it is empty, -EBADMSG when its first line is neither the header nor a row. */
int seglog_input_open(struct seglog_input **out, char *const *paths, size_t count,
                      seglog_complaint *complain, void *context, size_t *failed);
void seglog_input_close(struct seglog_input *in);

/* The next row: 1, 0 at the end of all files, -ECANCELED when `complain` said so, or -EIO (*failed
 * is the file: its compressed data is damaged, or the disk is). Rows of equal time come in the
 * order of the files; within a file the order stays as it is. */
int seglog_input_next(struct seglog_input *in, const struct seglog_row **row, size_t *failed);

/* The node of the first row of each file, EVENT_NONE for an empty one. */
uint64_t seglog_input_node(const struct seglog_input *in, size_t file);

/* Read so far, as a share of all files' sizes, 0..1. */
double seglog_input_share(const struct seglog_input *in);

#endif
