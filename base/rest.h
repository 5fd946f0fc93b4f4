/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rests of parties (sessions, links) whose work takes a loop more time than is fair. All that took
 * long of late rest at the same time, so that together they leave a part of the loop's time to
 * others, however many they are.
 *
 * Example: a bundle took 6 ms, and 200 us were fair. Its link rests 18 ms (REST_SHARED times as
 * long) if a quick party received a bundle meanwhile: the others have three quarters of the time.
 */
#ifndef BASE_REST_H
#define BASE_REST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

#define REST_LONG TICK_MS /* what a party may take beyond what is fair before it rests */
#define REST_SHARED 3   /* how many times as long as it took it rests if quick parties are there */
#define REST_MAX TICK_S /* the longest rest */

/* Of all parties of one loop. Zeroes to begin with. */
struct rests {
    tick until;     /* those that took long of late rest until then */
    uint64_t quick; /* bundles of parties that did not rest of late */
    tick earned;    /* fair time beside that of bundles and bytes: of accepted bundles that were
                       verified; a measurement takes what came in it */
};

/* Of one party. */
struct rest {
    tick ends;            /* it took long: until then, at most, it rests when others do */
    tick debt;            /* taken beyond what is fair; <= REST_LONG */
    tick taken;           /* in all, since there is a debt */
    uint64_t quick, seen; /* of rests.quick: its own; the others' at its last rest */
};

static inline void rest_init(struct rest *r, const struct rests *all)
{
    *r = (struct rest){.seen = all->quick};
}

/* When its rest ends; <= now: it does not rest. */
static inline tick rest_until(const struct rest *r, const struct rests *all)
{
    return tick_min(r->ends, all->until);
}

/* It received so many bundles: others' rests are longer, unless it took long itself of late. */
void rest_received(struct rest *r, struct rests *all, uint64_t bundles, tick now);

/*
 * Its work took `took`, of which `fair` was fair, and ends now. True: its rest begins.
 * alone: how many times as long as it took it rests if no quick party received anything since its
 * last rest; 0: not at all.
 */
bool rest_spend(struct rest *r, struct rests *all, tick took, tick fair, unsigned alone, tick now);

#endif
