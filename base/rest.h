/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses ("rests") of parties whose work takes more of a loop's time than is fair. A party is a
 * session, link or application. All parties that exceeded the fair time rest at the same time. So
 * together they leave a part of the loop's time to others, however many they are. Example: a bundle
 * took 6 ms, and 200 us were fair. Its link rests 18 ms (REST_SHARED times as long) if another
 * party received a bundle meanwhile: the others have three quarters of the time.
 */
#ifndef BASE_REST_H
#define BASE_REST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

#define REST_LONG TICK_MS /* time beyond the fair time after which a party rests */
#define REST_SHARED 3   /* length of a rest, in multiples of the time taken, if others are active */
#define REST_MAX TICK_S /* the longest rest */

/* The state of all parties of one loop. Zeroed at first. */
struct rests {
    tick until;     /* end of the present rest of all parties that exceeded the fair time */
    uint64_t quick; /* bundles of parties that did not rest recently */
    /* Additional fair time, for accepted bundles that were verified. The next measurement uses it
     * up. */
    tick earned;
};

/* The state of one party. */
struct rest {
    tick ends;            /* latest end of its rest */
    tick debt;            /* time beyond the fair time; <= REST_LONG */
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
 * Its work took `took` ns, of which `fair` was fair, and ends now. True: its rest begins. alone:
 * length of the rest as a multiple of the time taken, if no other party received anything since its
 * last rest; 0: no rest then.
 */
bool rest_spend(struct rest *r, struct rests *all, tick took, tick fair, unsigned alone, tick now);

#endif
