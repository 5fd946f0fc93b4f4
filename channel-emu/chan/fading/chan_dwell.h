/* SPDX-License-Identifier: Apache-2.0 */
/* The distribution of a trace's run lengths, and how long it remembers its state. */
#ifndef CHANNEL_EMU_CHAN_DWELL_H
#define CHANNEL_EMU_CHAN_DWELL_H

#include "channel-emu/chan/chan.h"

struct dwell_point {
    uint64_t steps; /* rising */
    uint64_t upto;  /* runs of at most so many steps */
};

struct dwell {
    tick step;
    uint64_t runs;
    size_t len;
    struct dwell_point *point;
};

/* Of the bad or the good runs; a run that the trace's ends cut counts as it is. 0, HELIO_ENOMEM. */
int dwell_init(struct dwell *d, const struct trace *t, bool bad);
void dwell_fini(struct dwell *d);

/* The Kolmogorov-Smirnov distance of two distributions, 0 to 1; 1 when only one has runs. */
double dwell_distance(const struct dwell *a, const struct dwell *b);

/* What the distance of two samples of one distribution exceeds in 5 of 100 cases (large samples);
 * 0 when there are none. */
double dwell_critical(const struct dwell *a, const struct dwell *b);

/* The autocorrelation of the state at a lag in steps, the trace in a loop: 1 at 0; 0 when the trace
 * has one state only. */
double trace_autocorrelation(const struct trace *t, uint64_t lag);

/* The share of bad time in [from, to), in steps of the trace; from < to <= steps. */
double trace_bad_share(const struct trace *t, uint64_t from, uint64_t to);

#endif
