/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One random draw per frame decides whether it is hit. The positions are drawn from the frame's
 * number only, because their number varies. The gaps between bit errors are drawn, which are
 * geometrically distributed. Nothing can fail.
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

struct chan_flip_odds chan_flip_odds(double corrupt, double bit_error_rate)
{
    assert(corrupt >= 0 && bit_error_rate >= 0);
    return (struct chan_flip_odds){
        .corrupt = corrupt, .log_keep = bit_error_rate > 0 ? log_of_rest(bit_error_rate) : 0};
}

void chan_flips_init(struct chan_flips *f, bool use_one, bool use_errors, uint64_t seed)
{
    f->use_one = use_one;
    f->use_errors = use_errors;
    f->seed = seed;
    rng_init(&f->one, seed);
    rng_init(&f->errors, ~seed);
}

/* Untouched bits before the next error, of a number drawn from 0 to 1. */
static double gap_of(double log_keep, double unit)
{
    assert(log_keep < 0);
    double bits = log(1 - unit) / log_keep;
    return bits < 0x1.0p62 ? (double)(uint64_t)bits : 0x1.0p62;
}

struct chan_flip chan_flips_draw(struct chan_flips *f)
{
    return (struct chan_flip){.one = f->use_one ? rng_unit(&f->one) : 1,
                              .errors = f->use_errors ? rng_unit(&f->errors) : 0};
}

static void flip_errors(double at, double log_keep, struct rng *r, uint64_t one, uint8_t *data,
                        uint64_t bits)
{
    assert(at >= 0);
    while (at < (double)bits) {
        uint64_t place = (uint64_t)at;
        if (place != one) /* a second flip would undo the first */
            data[place / 8] ^= (uint8_t)(1u << (place % 8));
        at += 1 + gap_of(log_keep, rng_unit(r));
    }
}

bool chan_flips_apply(const struct chan_flips *f, const struct chan_flip *flip,
                      const struct chan_flip_odds *odds, uint64_t number, uint8_t *data, size_t len)
{
    uint64_t bits = (uint64_t)len * 8, one = NOWHERE;
    struct rng r;
    bool hit = flip->one < odds->corrupt;
    double first = odds->log_keep < 0 ? gap_of(odds->log_keep, flip->errors) : HUGE_VAL;
    assert(first >= 0 && odds->log_keep <= 0);
    if (bits == 0 || (!hit && first >= (double)bits))
        return false;
    rng_init(&r, f->seed ^ (number * UINT64_C(0xd1342543de82ef95)));
    if (hit) {
        one = rng_below(&r, bits);
        data[one / 8] ^= (uint8_t)(1u << (one % 8));
    }
    flip_errors(first, odds->log_keep, &r, one, data, bits);
    return true;
}
