/* SPDX-License-Identifier: Apache-2.0 */
/* What helio-trace info says of one or two traces, as CSV files, and their plot. */
#ifndef CHANNEL_EMU_TRACE_DESCRIBE_H
#define CHANNEL_EMU_TRACE_DESCRIBE_H

#include "channel-emu/chan/chan_about.h"
#include "channel-emu/chan/chan_stats.h"
#include "channel-emu/chan/fading/chan_dwell.h"

struct described {
    const char *name;
    struct trace trace;
    struct trace_about about;
    struct trace_side good, bad;
    struct dwell dwell[2]; /* good, bad */
};

/* Takes the trace. 0 or HELIO_ENOMEM; the caller calls described_fini in any case. */
int described_init(struct described *d, const char *name, struct trace trace);
void described_fini(struct described *d);

/* Writes statistics.csv, dwell_cdf.csv, autocorrelation.csv and bad_share.csv into a folder, which
 * it makes when it is missing. 0 or HELIO_EIO with `error` (TRACE_FILE_ERROR_MAX bytes). */
int describe_csv(const struct described *d, size_t n, const char *folder, char *error);

/* Draws into a .png, .svg or .pdf. 0 or HELIO_EIO with `error`. */
int describe_plot(const struct described *d, size_t n, const char *path, char *error);

#endif
