/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace looks like: the figures by which published traces are described. */
#ifndef CHANNEL_EMU_CHAN_STATS_H
#define CHANNEL_EMU_CHAN_STATS_H

#include "channel-emu/chan/chan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the good, or of the bad runs. */
struct trace_side {
    uint64_t runs;
    double share; /* of the time, 0..1 */
    double mean_ms, sd_ms;
    double median_ms, p90_ms, max_ms; /* by nearest rank */
};

/* A side without runs is all zeros. 0 or HELIO_ENOMEM. */
int trace_stats(const struct trace *t, struct trace_side *good, struct trace_side *bad);

#ifdef __cplusplus
}
#endif

#endif
