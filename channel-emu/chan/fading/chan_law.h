/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions of the lengths of runs, and normal numbers. Lengths are in ms. */
#ifndef CHANNEL_EMU_CHAN_LAW_H
#define CHANNEL_EMU_CHAN_LAW_H

#include <stddef.h>

#include "base/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The distribution of a length. */
enum law_kind { LAW_GAMMA, LAW_WEIBULL, LAW_LOGNORMAL, LAW_EXPONENTIAL, LAW_FIXED };

/* `size` is the mean; of a Weibull distribution the scale. `shape` is the shape of a gamma or
 * Weibull, the standard deviation of a lognormal distribution. */
struct law {
    enum law_kind kind;
    double size, shape;
};

#define LAW_MIX_MAX 4u

/* One of the laws, each with its share; the shares add up to 1. */
struct law_mix {
    size_t len;
    double share[LAW_MIX_MAX];
    struct law law[LAW_MIX_MAX];
};

/* > 0; the same stream of random numbers gives the same lengths. */
double law_draw(const struct law *law, struct rng *r);
/* The same of a mixture: first its part is drawn, then the length. */
double law_mix_draw(const struct law_mix *mix, struct rng *r);

/* ms */
double law_mix_mean(const struct law_mix *mix);

/* A length drawn as a moment meets it: one that is twice as long twice as often. */
double law_mix_draw_met(const struct law_mix *mix, struct rng *r);

/* The share of lengths up to x ms. */
double law_below(const struct law *law, double x);
/* The same of a mixture. */
double law_mix_below(const struct law_mix *mix, double x);

/* Normal numbers with mean 0 and deviation 1. */
double law_normal(struct rng *r);
/* Two independent ones at once. */
void law_normal_pair(struct rng *r, double out[2]);

#define LAW_HINT                                                                                   \
    "gamma:MEAN,SHAPE, weibull:SCALE,SHAPE, lognormal:MEAN,SD, exponential:MEAN, fixed:LENGTH, "   \
    "or a mixture such as 0.9*gamma:1.2ms,1.8+0.1*gamma:7.5ms,1.7"

/* 0 or HELIO_EFORMAT; right is LAW_HINT. Lengths from 1 ns to 1 day, shapes from 0.01 to 10^4. */
int law_mix_parse(const char *text, struct law_mix *out);

/* A decimal number without sign: at most 15 digits, at most 22 of them behind the point. */
int law_number(const char *text, size_t len, double *out);

#ifdef __cplusplus
}
#endif

#endif
