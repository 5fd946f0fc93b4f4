/* SPDX-License-Identifier: Apache-2.0 */
/* Flipped bits: one in a frame, with a probability per frame, and any, with a probability per bit.
 */
#ifndef CHANNEL_EMU_CHAN_FLIP_H
#define CHANNEL_EMU_CHAN_FLIP_H

#include "base/rng.h"
#include "channel-emu/chan/chan.h"

/* What is drawn for a frame, whatever becomes of it, before the probabilities are known that hold
 * for it: numbers from 0 to 1. */
struct chan_flip {
    double one;    /* below the probability per frame: one of its bits */
    double errors; /* the bit errors' first place follows from it */
};

/* The probabilities. */
struct chan_flip_odds {
    double corrupt;  /* per frame */
    double log_keep; /* logarithm of the probability that a bit stays as it is; 0: all do */
};
struct chan_flip_odds chan_flip_odds(double corrupt, double bit_error_rate);

struct chan_flips {
    bool use_one, use_errors; /* else nothing is drawn */
    struct rng one, errors;
    uint64_t seed;
};

void chan_flips_init(struct chan_flips *f, bool use_one, bool use_errors, uint64_t seed);

/* To be drawn once for each frame, in turn. */
struct chan_flip chan_flips_draw(struct chan_flips *f);

/* Flips bits of the frame with this number; true when there were any. */
bool chan_flips_apply(const struct chan_flips *f, const struct chan_flip *flip,
                      const struct chan_flip_odds *odds, uint64_t number, uint8_t *data,
                      size_t len);

#endif
