/* SPDX-License-Identifier: Apache-2.0 */
/* CoDel (RFC 8289): which frames are dropped, or marked, when the line takes them, so that the
 * queue does not stand. */
#ifndef CHANNEL_EMU_CHAN_CODEL_H
#define CHANNEL_EMU_CHAN_CODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

enum chan_codel_verdict { CHAN_CODEL_PASS, CHAN_CODEL_MARK, CHAN_CODEL_DROP };

struct chan_codel {
    tick target, interval;
    bool marks;       /* what can be marked is marked instead */
    bool dropping;    /* waits have been too long for an interval */
    bool dropped;     /* the frame before, in this same instant ... */
    bool entered;     /* ... which was the first one, so that the next one passes */
    uint64_t count;   /* drops since that began ... */
    uint64_t before;  /* the part of them that affects the next time */
    tick first_above; /* an interval after waits became too long; TICK_NEVER: they are not */
    tick next;        /* drop */
};

/* target and interval >= 1. */
void chan_codel_init(struct chan_codel *c, tick target, tick interval, bool marks);

/* The line takes a frame at `now`, which never decreases, after it was queued for `waited`.
 * `backlog`: more than one frame is queued behind it. A dropped frame uses no time of the line: the
 * next call has the same `now`, or is chan_codel_empty. */
enum chan_codel_verdict chan_codel_take(struct chan_codel *c, tick now, tick waited, bool backlog,
                                        bool markable);
/* The queue is empty: after a drop, or because frames left it without the line. */
void chan_codel_empty(struct chan_codel *c);

/* When to drop next: t + interval / sqrt(count), count >= 1. */
tick chan_codel_law(const struct chan_codel *c, tick t, uint64_t count);

#endif
