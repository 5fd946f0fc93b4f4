/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the time of searches for parts. Such a search consists of hundreds of searches, and a peer
 * can send bundle after bundle that needs one. So each neighbour, and this node's own bundles, have
 * a part of the time, and all together have one: after a search the next ones of this neighbour
 * wait WORK_EACH times as long as it took. A waiting bundle was not searched for: it is neither
 * refused nor routed yet. Bundles that are known to need such a search are recognised without a
 * search. Time is measured as work, which is the same in each run. Nothing can go wrong.
 */
#include "base/hash.h"
#include "route/plan_router_impl.h"

#define WORK_NS 100         /* about what a unit of plan_work takes */
#define WORK_EACH 10        /* one neighbour's looks have at most this part of the time */
#define WORK_ALL 5          /* those of all */
#define WORK_AHEAD (TICK_S) /* what may be spent ahead of time, so that a few looks are at once */

static tick spent_by(const struct plan_router *r, const struct router_query *q)
{
    const struct way *from = q->came_from < 0 ? NULL : way_find(r, (uint32_t)q->came_from);
    return from == NULL ? r->spent : from->spent;
}

tick work_until(const struct plan_router *r, const struct router_query *q)
{
    const tick own = spent_by(r, q), spent = own > r->spent_all ? own : r->spent_all;
    return spent > WORK_AHEAD ? spent - WORK_AHEAD : 0;
}

static size_t find_slot(const struct plan_router *r, const struct router_query *q, uint64_t to)
{
    return hash_mix(r->bookings.seed, to, q->priority) % SPLITS;
}

bool work_known(const struct plan_router *r, const struct router_query *q, uint64_t to)
{
    const struct split *s = &r->splits[find_slot(r, q, to)];
    return !q->whole && s->to == to && s->priority == q->priority && s->bytes > 0 &&
           q->bytes >= s->bytes;
}

void work_note(struct plan_router *r, const struct router_query *q, uint64_t to, bool whole)
{
    struct split *s = &r->splits[find_slot(r, q, to)];
    if (!whole)
        *s = (struct split){.to = to, .bytes = q->bytes, .priority = q->priority};
    else if (work_known(r, q, to))
        *s = (struct split){0};
}

static tick add_spent(tick spent, tick took, tick now)
{
    return tick_add(spent > now ? spent : now, took);
}

void work_spend(struct plan_router *r, const struct router_query *q, uint64_t units)
{
    struct way *from = q->came_from < 0 ? NULL : way_find(r, (uint32_t)q->came_from);
    tick *own = from == NULL ? &r->spent : &from->spent;
    *own = add_spent(*own, units * WORK_NS * WORK_EACH, q->now);
    r->spent_all = add_spent(r->spent_all, units * WORK_NS * WORK_ALL, q->now);
}
