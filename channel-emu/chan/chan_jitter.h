/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extra delays with a given distribution, each correlated with the previous one. An autoregressive
 * process of first order gives normal numbers, and quantiles map them to the distribution (a
 * Gaussian copula).
 */
#ifndef CHANNEL_EMU_CHAN_JITTER_H
#define CHANNEL_EMU_CHAN_JITTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/rng.h"
#include "base/tick.h"

#ifdef __cplusplus
extern "C" {
#endif

enum chan_jitter_law {
    CHAN_JITTER_UNIFORM,
    CHAN_JITTER_NORMAL,      /* what would be below 0 is 0 */
    CHAN_JITTER_LOGNORMAL,   /* mean > 0 */
    CHAN_JITTER_EXPONENTIAL, /* from mean - sd on */
    CHAN_JITTER_GAMMA,       /* sd <= 1.4 mean */
    CHAN_JITTER_PARETO,      /* from mean (a - 1) / a on, with the exponent a = 1 + sqrt(1 + (mean /
                              * sd)^2), which is above 2 */
    CHAN_JITTER_TABLE
};

struct chan_jitter {
    enum chan_jitter_law law;
    tick mean, sd; /* ns; sd >= 1, and mean - sd >= 0 (exponential), mean^2 >= 3 sd^2 (uniform);
                    * not of a table */
    tick max;      /* what would be above is this; 0: no limit */
    double correlation; /* of the normal numbers of two frames in a row, 0 <= it < 1 ... */
    tick memory;        /* ... or exp(-time between them / memory); 0: the former */
    const tick *table;  /* quantiles at equal shares from 0 to 1, not falling, linear in between */
    size_t table_len;   /* 2 to CHAN_JITTER_TABLE_MAX */
};
#define CHAN_JITTER_TABLE_MAX 65536u

/* Are all parameters in the ranges above? */
bool chan_jitter_valid(const struct chan_jitter *k);
/* The longest that can be drawn. */
tick chan_jitter_max(const struct chan_jitter *k);
/* The quantile of a normal number, |z| <= 8, ns, not yet limited. */
double chan_jitter_at(const struct chan_jitter *k, double z);

struct chan_jitter_state {
    const struct chan_jitter *config; /* borrowed */
    struct rng rng;
    double *logs; /* gamma: logarithms of quantiles over the normal number; owned */
    double z;
    bool begun;
    tick last;
};

/* 0 or HELIO_ENOMEM. The same seed gives the same delays on every machine. */
int chan_jitter_init(struct chan_jitter_state *s, const struct chan_jitter *config, uint64_t seed);
/* Frees the state's table. */
void chan_jitter_fini(struct chan_jitter_state *s);
/* For a frame that enters at `now`, which does not go back. */
tick chan_jitter_draw(struct chan_jitter_state *s, tick now);

#ifdef __cplusplus
}
#endif

#endif
