/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which frames are hit is one draw for each frame; where, is drawn from the number of the frame
 * alone, since it takes as many draws as there are places. Bit errors are found by the length of
 * the gaps between them, which is geometric. Nothing can fail.
 */
#include "channel-emu/chan/chan_flip.h"

#include <assert.h>
#include <math.h>

#define NOWHERE UINT64_MAX

/* log(1 - p), exact also for a small p */
static double log_of_rest(double p)
{
    return p < 1e-5 ? -(p + p * p / 2) : log(1 - p);
}

void chan_flips_init(struct chan_flips *f, const struct chan_config *config, uint64_t seed)
{
    f->corrupt = config->corrupt;
    f->log_keep = config->bit_error_rate > 0 ? log_of_rest(config->bit_error_rate) : 0;
    assert(f->log_keep <= 0 && f->corrupt >= 0);
    f->seed = seed;
    rng_init(&f->one, seed);
    rng_init(&f->errors, ~seed);
}

/* Untouched bits before the next error. */
static double draw_gap(const struct chan_flips *f, struct rng *r)
{
    assert(f->log_keep < 0);
    double bits = log(1 - rng_unit(r)) / f->log_keep;
    return bits < 0x1.0p62 ? (double)(uint64_t)bits : 0x1.0p62;
}

struct chan_flip chan_flips_draw(struct chan_flips *f)
{
    return (struct chan_flip){.one = f->corrupt > 0 && rng_chance(&f->one, f->corrupt),
                              .first = f->log_keep < 0 ? draw_gap(f, &f->errors) : HUGE_VAL};
}

bool chan_flips_apply(const struct chan_flips *f, const struct chan_flip *flip, uint64_t number,
                      uint8_t *data, size_t len)
{
    assert(flip->first >= 0);
    uint64_t bits = (uint64_t)len * 8, one = NOWHERE;
    struct rng r;
    if (bits == 0 || (!flip->one && flip->first >= (double)bits))
        return false;
    rng_init(&r, f->seed ^ (number * UINT64_C(0xd1342543de82ef95)));
    if (flip->one) {
        one = rng_below(&r, bits);
        data[one / 8] ^= (uint8_t)(1u << (one % 8));
    }
    double at = flip->first;
    while (at < (double)bits) {
        uint64_t place = (uint64_t)at;
        if (place != one) /* a second flip would undo the first */
            data[place / 8] ^= (uint8_t)(1u << (place % 8));
        at += 1 + draw_gap(f, &r);
    }
    return true;
}
