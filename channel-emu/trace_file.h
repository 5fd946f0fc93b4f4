/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in files: the text form (chan_text.h), plain or compressed with gzip. */
#ifndef CHANNEL_EMU_TRACE_FILE_H
#define CHANNEL_EMU_TRACE_FILE_H

#include "channel-emu/chan.h"

#define TRACE_FILE_ERROR_MAX 512u

/* Reads a file, compressed or not, into a trace that it initialises. step = 0: as the file says,
 * else 0.1 ms; another step overrides the file's. On success the caller owns *t (trace_fini). Else
 * HELIO_EIO, HELIO_EFORMAT or HELIO_ENOMEM, *t is empty, and `error` (TRACE_FILE_ERROR_MAX bytes)
 * names the file, the line and what would be right. */
int trace_file_read(struct trace *t, const char *path, tick step, char *error);

/* Writes a file; compressed, without a time stamp, when its name ends in .gz. `-` is the standard
 * output, not compressed. `comment`, one line, heads the file; NULL for none. 0 or HELIO_EIO with
 * `error` as above. */
int trace_file_write(const struct trace *t, const char *path, const char *comment, char *error);

/* What a --trace option says: `none`, `iid:P` (independent losses with probability P), `A`, `F` or
 * `H` (the preset's 10^6 steps of 0.1 ms with its own seed, as in traces/), or a file. */
struct trace_source {
    bool on; /* there is a trace */
    struct trace trace;
    double loss; /* of iid:P, else 0 */
};

/* Returns and owns as trace_file_read; HELIO_EINVAL for an option that cannot be right. */
int trace_source_read(struct trace_source *s, const char *option, char *error);
void trace_source_fini(struct trace_source *s);

#endif
