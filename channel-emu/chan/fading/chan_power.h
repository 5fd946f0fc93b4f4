/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Received power over time as a cause of losses: the mean power over the time of a frame, and a
 * table of error rates by power.
 */
#ifndef CHANNEL_EMU_CHAN_POWER_H
#define CHANNEL_EMU_CHAN_POWER_H

#include "channel-emu/chan/chan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rising in power, finite; probabilities from 0 to 1; at least one point, a step, a sample. */
bool chan_power_valid(const struct chan_power *p);

/* sums[i] is the sum of the first i of n powers; sums has n + 1 items. */
void chan_power_sums(const double *power, size_t n, double *sums);

/* The mean power over [from, to), or at `from` if that is empty; `origin` is the time of the
 * powers' offset. HUGE_VAL before and after powers that do not loop. */
double chan_power_mean(const struct chan_power *p, tick origin, tick from, tick to);

/* Is a step of [from, to), or that at `from` if it is empty, one that the receiver loses? */
bool chan_power_lost(const struct chan_power *p, tick origin, tick from, tick to);

/* What a frame of so many bytes meets at that power. */
struct chan_power_errors {
    double loss, bit_error_rate;
};
/* The errors of a frame of `len` bytes at that power. */
struct chan_power_errors chan_power_errors(const struct chan_power *p, double power, size_t len);

#ifdef __cplusplus
}
#endif

#endif
