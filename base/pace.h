/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a loop does something that costs time and that others ask for: for a fixed share of its
 * time. Time that was not used is kept for a second, so that somebody who asks seldom is answered
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
