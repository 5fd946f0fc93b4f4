/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a contact plan's router answers when no route brings a bundle there in time: it waits for a
 * link or for the next change, or it is refused with the first time at which it could arrive. Only
 * bundles that are too late cost that further search. What can go wrong: more neighbours without a
 * link than are excluded; no time is known then.
 */
#include <assert.h>

#include "route/plan_router_impl.h"

size_t none_always(const struct plan_router *r, uint64_t to, uint64_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->excluded_len; i++) {
        if (r->excluded[i] != to)
            out[n++] = r->excluded[i];
    }
    return n;
}

size_t none_declined(const struct plan_router *r, const struct router_query *q, uint64_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < q->declined_len && i < ROUTER_DECLINED_MAX; i++) {
        const struct next_hop *w = next_hop_find(r, q->declined[i]);
        if (w != NULL)
            out[n++] = w->neighbour;
    }
    return n;
}

static bool exclude_has(const struct plan_router *r, uint64_t to, uint64_t neighbour)
{
    for (size_t i = 0; i < r->excluded_len; i++) {
        if (r->excluded[i] == neighbour && neighbour != to)
            return true;
    }
    return false;
}

/* Neighbours that rules never let have it. */
static size_t exclude_forbidden(const struct plan_router *r, const struct router_query *q,
                                uint64_t *out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < r->next_hops_len && n < max; i++)
        if (q->links->at(q->links->context, r->next_hops[i].link).forbidden)
            out[n++] = r->next_hops[i].neighbour;
    return n;
}

/* The arrival without a limited lifetime, over the neighbours that may ever get the bundle; 0:
 * unknown. `excluded` has those of *like, and room for EXCLUDED_MAX. */
static tick find_arrival(struct plan_router *r, const struct router_query *rq,
                         const struct plan_query *like, uint64_t *excluded)
{
    struct plan_query q = *like;
    struct plan_route *scratch = &r->pending;
    assert(q.excluded == excluded);
    q.expiry = TICK_NEVER;
    while (plan_route_find(r->plan, &q, scratch) == PLAN_FOUND) {
        const uint64_t neighbour = scratch->hop[0].to;
        const struct next_hop *w = next_hop_to(r, neighbour);
        if (w != NULL && !next_hop_barred(rq, w) && !exclude_has(r, q.to, neighbour))
            return scratch->arrival < like->expiry ? 0 : agent_time(r, scratch->arrival);
        if (q.excluded_len == EXCLUDED_MAX)
            break;
        excluded[q.excluded_len++] = neighbour;
    }
    return 0;
}

/* The answer when no route is found. A contact that cannot be used now may be usable later: when
 * its link comes up, or it ends. A route back to the previous node, or over a neighbour that
 * declined the bundle, is never used, so a bundle does not wait for one. Otherwise no known route
 * is in time, and the operator's setting decides. */
struct router_answer none_answer(struct plan_router *r, const struct router_query *rq,
                                 const struct plan_query *pq, enum plan_reason reason)
{
    const tick now = rq->now;
    const struct next_hop *from =
        rq->came_from < 0 ? NULL : next_hop_find(r, (uint32_t)rq->came_from);
    struct plan_query onward = *pq;
    uint64_t never[EXCLUDED_MAX];
    onward.excluded = never;
    onward.excluded_len = none_declined(r, rq, never);
    if (from != NULL)
        never[onward.excluded_len++] = from->neighbour;
    onward.excluded_len +=
        exclude_forbidden(r, rq, never + onward.excluded_len, EXCLUDED_MAX - onward.excluded_len);
    struct plan_route *scratch = &r->pending;
    bool later = plan_route_find(r->plan, &onward, scratch) == PLAN_FOUND &&
                 next_hop_to(r, scratch->hop[0].to) != NULL;
    bool excluded = later && exclude_has(r, pq->to, scratch->hop[0].to);
    r->pending_id = 0;
    /* Bundles that arrive at the edge, or after it when the machine stalled, are asked for before
     * next_hop_expire has computed the next one: they must not be refused for that. */
    const tick until = r->edge > now ? r->edge : now + 1;
    if (later && !excluded)
        return (struct router_answer){.verdict = ROUTER_WAIT, .until = until};
    const bool late = reason == PLAN_TOO_LATE || reason == PLAN_NO_VOLUME;
    struct router_answer a = {.verdict = ROUTER_NONE,
                              .too_long = reason == PLAN_TOO_LONG,
                              .too_late = late,
                              .arrival = late ? find_arrival(r, rq, &onward, never) : 0};
    if (r->keep) {
        a.verdict = ROUTER_WAIT;
        a.too_late = true;
        a.too_long = false;
        a.until = until;
    }
    return a;
}
