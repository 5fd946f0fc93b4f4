/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic erasure traces: good and bad runs alternate, and each draws its length from a fitted
 * distribution (an on/off semi-Markov process). The presets A, F and H meet the statistics that
 * Caini et al. published for their optical links ("LTP Performance on Near-Earth Optical Links",
 * IEEE TAES 59(6), 2023); the original traces are not public.
 */
#ifndef CHANNEL_EMU_CHAN_GEN_H
#define CHANNEL_EMU_CHAN_GEN_H

#include "base/rng.h"
#include "channel-emu/chan.h"

enum gen_kind { GEN_GAMMA, GEN_WEIBULL };

/* Lengths in ms. `size` is the mean of a gamma, or the scale of a Weibull distribution. */
struct gen_law {
    enum gen_kind kind;
    double size, shape;
};

/* The first law with probability `share`, else the second. */
struct gen_mix {
    double share;
    struct gen_law first, second;
};

struct gen_preset {
    const char *name;
    uint64_t seed; /* 10^6 steps of 0.1 ms with this seed meet the published figures best */
    struct gen_mix good, bad;
};

/* "A", "F" or "H"; NULL for other names. */
const struct gen_preset *gen_preset_find(const char *name);

/* > 0; the same stream of random numbers gives the same lengths. */
double gen_draw(const struct gen_law *law, struct rng *r);

/* Adds exactly `steps` steps to an empty trace, beginning with a good run; each run is rounded to
 * whole steps, one at least, and the last one is cut. 0, HELIO_ENOMEM, HELIO_EINVAL (steps 0). */
int gen_trace(struct trace *t, const struct gen_preset *preset, uint64_t steps, uint64_t seed);

#endif
