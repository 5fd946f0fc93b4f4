/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in files: the compact form (chan_pack.h) and the text forms (chan_text.h), each plain or
 * compressed with gzip; traces by name; and received powers in files, from which traces are made.
 */
#ifndef CHANNEL_EMU_TRACE_FILE_H
#define CHANNEL_EMU_TRACE_FILE_H

#include "channel-emu/chan/chan_about.h"
#include "channel-emu/chan/chan_text.h"

#define TRACE_FILE_ERROR_MAX 512u

/* The whole of a compact file is read into memory: so many bytes at most. */
#define TRACE_FILE_BYTES_MAX (UINT32_C(1) << 30)

/* Reads a file of any form into a trace, which it initialises, and its origin into *about; `-` is
 * the standard input. step = 0: that of the file, else 0.1 ms; another step overrides the file's.
 * Returns 0: the caller owns *t (trace_fini). Else a system error, HELIO_EFORMAT or HELIO_ENOMEM;
 * *t is empty, and `error` (TRACE_FILE_ERROR_MAX bytes) names the file, the line or offset and what
 * would be right. */
int trace_file_read_about(struct trace *t, struct trace_about *about, const char *path, tick step,
                          char *error);

/* The form that the name of a file to be written asks for: compact for .htr, csv for .csv or
 * .csv.gz, else runs. */
enum trace_form trace_file_form(const char *path);

/* Writes a file; compressed with gzip, without a time stamp, when its name ends in .gz. `-` is the
 * standard output, not compressed. `about` may be NULL. 0, HELIO_ENOMEM or an error of the system
 * with `error` as above; what is not whole is removed. */
int trace_file_write(const struct trace *t, const struct trace_about *about, enum trace_form form,
                     const char *path, char *error);

/* What the forms of other programs have and a trace does not. */
struct trace_export {
    uint64_t nodes[2]; /* of contacts: from, to */
    uint64_t rate_bps; /* of DtnSim's contacts */
    tick every;        /* between frames; 0: one in each step, at its beginning */
};

/* The same, in the form of another program, too. Frames lose what is shorter than `every`. */
int trace_file_export(const struct trace *t, const struct trace_about *about, enum trace_form form,
                      const struct trace_export *x, const char *path, char *error);

/* Adds the powers of a column (its number, its title, or NULL: the only one, or "power") of a CSV,
 * plain or compressed with gzip. 0, HELIO_ENOMEM, HELIO_EIO or HELIO_EFORMAT with `error`
 * (TRACE_FILE_ERROR_MAX bytes). */
struct powers;
int trace_powers_read(struct powers *p, const char *path, const char *column, bool decibels,
                      char *error);

/* The mean of powers that were read from `path`, linear, above 0. 0, or HELIO_EFORMAT with `error`
 * when all of them are 0. */
int trace_powers_mean(const struct powers *p, const char *path, double *mean, char *error);

/* The value of a --trace option: `none`, `iid:P` (independent losses with probability P), `A`, `F`,
 * `H`, `leo-low`, `leo-high` or `jpl-47km` (the preset's 10^6 steps of 0.1 ms with its own seed, as
 * in traces/), or a file. */
struct trace_source {
    bool on; /* there is a trace */
    struct trace trace;
    double loss; /* of iid:P, else 0 */
};

/* Reads the trace of a preset, or a file, as trace_file_read_about; `step` replaces a preset's
 * step. */
int trace_name_read(struct trace *t, struct trace_about *about, const char *name, tick step,
                    char *error);

/* Returns and owns as trace_file_read_about; HELIO_EINVAL for an option that cannot be right. */
int trace_source_read(struct trace_source *s, const char *option, char *error);
void trace_source_fini(struct trace_source *s);

#endif
