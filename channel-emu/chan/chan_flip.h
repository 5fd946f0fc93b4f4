/* SPDX-License-Identifier: Apache-2.0 */
/* Flipped bits: one in a frame, with a probability per frame, and any, with a probability per bit.
 */
#ifndef CHANNEL_EMU_CHAN_FLIP_H
#define CHANNEL_EMU_CHAN_FLIP_H

#include "base/rng.h"
#include "channel-emu/chan/chan.h"

/* What a frame is in for, whatever becomes of it. */
struct chan_flip {
    bool one;     /* one of its bits */
    double first; /* the bit errors' first place; that may be beyond its end */
};

struct chan_flips {
    double corrupt;  /* probability per frame */
    double log_keep; /* of the probability that a bit stays as it is; 0: all do */
    struct rng one, errors;
    uint64_t seed;
};

void chan_flips_init(struct chan_flips *f, const struct chan_config *config, uint64_t seed);

/* To be drawn once for each frame, in turn. */
struct chan_flip chan_flips_draw(struct chan_flips *f);

/* Flips bits of the frame with this number; true when there were any. */
bool chan_flips_apply(const struct chan_flips *f, const struct chan_flip *flip, uint64_t number,
                      uint8_t *data, size_t len);

#endif
