/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clouds over several ground stations. A station has a cloud when its normal number is below the
 * quantile of the covered share. This number is the sum of one that all stations share and one of
 * its own (a Gaussian copula with one factor). Each of these is drawn anew at random times, so that
 * a single station, and stations that know nothing of each other, see an exact process of two
 * states with exponential times.
 */
#ifndef CHANNEL_EMU_CHAN_SITES_H
#define CHANNEL_EMU_CHAN_SITES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SITES_MAX 16u

struct sites_spec {
    size_t count;       /* 1 to SITES_MAX */
    double share;       /* of the time that each is covered, 0.001 to 0.999 */
    double duration;    /* mean of a cloud over a station, in any unit */
    double correlation; /* of two stations' normal numbers, 0 to 0.99 */
};

/* The probability that k given stations are all covered at one time: in closed form but for one
 * integral. share^k without correlation. */
double sites_all_covered(const struct sites_spec *s, size_t k);
/* The correlation of two stations' states (covered or not). */
double sites_state_correlation(const struct sites_spec *s);
/* The rate at which each of the normal numbers is drawn again, per unit of time. It yields the
 * configured mean duration of clouds. */
double sites_rate(const struct sites_spec *s);

struct sites {
    struct sites_spec spec;
    struct rng rng;
    double rate, quantile, next; /* when something is drawn anew */
    double common, own[SITES_MAX];
    bool covered[SITES_MAX];
};

/* Begins the state of all stations; the specification was checked. */
void sites_init(struct sites *s, const struct sites_spec *spec, uint64_t seed);
/* Advances to a time, which must not decrease, and sets `covered` for it. */
void sites_advance(struct sites *s, double now);

#ifdef __cplusplus
}
#endif

#endif
