/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the time of searches for bundles without a route as a whole. Such a bundle costs several
 * searches, and hundreds if parts of it are searched for; a peer can send one after the other. So
 * searches for parts of each neighbour's bundles, and of this node's own, have a part of the time,
 * and all together have one: after a search for parts the next ones of this neighbour wait
 * WORK_EACH times as long as it took. A waiting bundle is neither refused nor routed yet. Bundles
 * that are known to need a search for parts are recognised without a search; what is known of one
 * neighbour's bundles does not count for others', which may have a longer lifetime. All other
 * searches of a neighbour that find no route have a part of the time, too: beyond it all of its
 * bundles wait. Time is measured as work, which is the same in each run. Nothing can go wrong.
 */
#include "base/hash.h"
#include "route/plan_router_impl.h"

#define WORK_NS 100         /* approximate time of a unit of plan_work */
#define WORK_EACH 10        /* searches of one neighbour have at most this part of the time */
#define WORK_ALL 5          /* those of all */
#define WORK_AHEAD (TICK_S) /* what may be spent ahead of time, so that a few looks are at once */

static tick spent_by(const struct plan_router *r, const struct router_query *q)
{
    const struct next_hop *from =
        q->came_from < 0 ? NULL : next_hop_find(r, (uint32_t)q->came_from);
    return from == NULL ? r->spent : from->spent;
}

tick work_until(const struct plan_router *r, const struct router_query *q)
{
    const tick own = spent_by(r, q), spent = own > r->spent_all ? own : r->spent_all;
    return spent > WORK_AHEAD ? spent - WORK_AHEAD : 0;
}

tick work_stopped(const struct plan_router *r, const struct router_query *q)
{
    const struct next_hop *from =
        q->came_from < 0 ? NULL : next_hop_find(r, (uint32_t)q->came_from);
    return from == NULL || from->failing <= WORK_AHEAD ? 0 : from->failing - WORK_AHEAD;
}

static size_t find_slot(const struct plan_router *r, const struct router_query *q, uint64_t to)
{
    return hash_mix(r->bookings.seed, to, (uint64_t)(q->came_from + 1) << 2 | q->priority) % SPLITS;
}

bool work_known(const struct plan_router *r, const struct router_query *q, uint64_t to)
{
    const struct split *s = &r->splits[find_slot(r, q, to)];
    return !q->whole && s->to == to && s->from == q->came_from && s->priority == q->priority &&
           s->bytes > 0 && q->bytes >= s->bytes;
}

void work_note(struct plan_router *r, const struct router_query *q, uint64_t to, bool whole)
{
    struct split *s = &r->splits[find_slot(r, q, to)];
    if (!whole)
        *s = (struct split){
            .to = to, .bytes = q->bytes, .from = q->came_from, .priority = q->priority};
    else if (work_known(r, q, to))
        *s = (struct split){0};
}

static tick add_spent(tick spent, tick took, tick now)
{
    return tick_add(spent > now ? spent : now, took);
}

void work_spend(struct plan_router *r, const struct router_query *q, uint64_t units, bool looked)
{
    struct next_hop *from = q->came_from < 0 ? NULL : next_hop_find(r, (uint32_t)q->came_from);
    tick *own = from == NULL ? &r->spent : &from->spent;
    if (!looked && from != NULL)
        from->failing = add_spent(from->failing, units * WORK_NS * WORK_EACH, q->now);
    if (!looked)
        return;
    *own = add_spent(*own, units * WORK_NS * WORK_EACH, q->now);
    r->spent_all = add_spent(r->spent_all, units * WORK_NS * WORK_ALL, q->now);
}

uint64_t work_done(const void *router)
{
    const struct plan_router *r = router;
    return plan_work(r->plan);
}
