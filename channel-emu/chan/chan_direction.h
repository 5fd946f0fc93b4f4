/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The powers of one direction of an optical link, step by step. The direction back is drawn beside
 * the forward one, which runs along at its distance in time: nothing has to be kept of it.
 */
#ifndef CHANNEL_EMU_CHAN_DIRECTION_H
#define CHANNEL_EMU_CHAN_DIRECTION_H

#include "channel-emu/chan/chan_fade.h"

struct fade_direction {
    struct fade own, forward;         /* `forward` is not used where the configuration is of it */
    const struct fade_config *config; /* borrowed */
    tick step;
    uint64_t seed, steps, at; /* `at`: the step in which `forward` is */
};

/* Of a trace of so many steps, which loops: where the lag reaches beyond its ends, forward goes on
 * at the other end. The configuration has been checked for the step. The structure stays where it
 * is. */
void fade_direction_init(struct fade_direction *d, const struct fade_config *c, tick step,
                         uint64_t steps, uint64_t seed);

/* The power of the next step, as fade_next. */
double fade_direction_next(struct fade_direction *d);

#endif
