/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits an expensive service of a loop (for example answers to requests) to a fixed share of the
 * loop's time. Unused time is kept for up to one second, so that an occasional request is answered
 * at once.
 */
#ifndef BASE_PACE_H
#define BASE_PACE_H

#include <stdbool.h>

#include "base/tick.h"

#define PACE_KEPT TICK_S

struct pace {
    unsigned share; /* one part of so many, of the loop's time, >= 1 */
    tick least;     /* each time is charged with so much, > 0 */
    tick next;      /* when it may be done again; 0: at once */
};

static inline bool pace_may(const struct pace *p, tick now)
{
    return p->next <= now;
}

/* It was done, and took so long. */
static inline void pace_made(struct pace *p, tick now, tick took)
{
    const tick oldest = now > PACE_KEPT ? now - PACE_KEPT : 0;
    const tick from = p->next > oldest ? p->next : oldest;
    p->next = tick_add(from, p->share * (took > p->least ? took : p->least));
}

#endif
