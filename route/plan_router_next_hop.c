/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of a contact plan's router, and the effect of changes and of time on them.
 *
 * Bundles stay in the queue of their link while its contact lasts. So the start of a contact
 * affects no queue. The end of a contact affects the queue of its link: next_hop_expire marks it,
 * and the agent asks again for its bundles. Both affect bundles without a route, because volume may
 * have become free. Bundles that the link has in hand at the end of a contact are taken back by the
 * node (node/plan/node_plan.c). Nothing can go wrong.
 */
#include "base/list.h"
#include "route/plan_router_impl.h"

struct next_hop *next_hop_find(const struct plan_router *r, uint32_t link)
{
    for (size_t i = 0; i < r->next_hops_len; i++) {
        if (r->next_hops[i].link == link)
            return &r->next_hops[i];
    }
    return NULL;
}

struct next_hop *next_hop_to(const struct plan_router *r, uint64_t neighbour)
{
    struct next_hop *found = NULL;
    for (size_t i = 0; i < r->next_hops_len; i++) {
        struct next_hop *w = &r->next_hops[i];
        if (w->neighbour == neighbour && (found == NULL || (w->up && !found->up)))
            found = w;
    }
    return found;
}

bool next_hop_barred(const struct router_query *q, const struct next_hop *w)
{
    const struct router_link l = q->links->at(q->links->context, w->link);
    return l.forbidden || (q->whole && l.bundle_max != 0 && q->bytes > l.bundle_max);
}

tick next_hop_next_edge(const struct plan_router *r, tick now)
{
    return agent_time(r, plan_next_change(r->plan, r->node, plan_time(r, now)));
}

/* The contact of this node with the neighbour that can be used now; 0: none. */
static uint64_t contact_now(const struct plan_router *r, uint64_t neighbour, tick now)
{
    const tick t = plan_time(r, now);
    const uint64_t id = plan_at(r->plan, r->node, neighbour, t);
    struct plan_range light;
    if (id == 0 || plan_get(r->plan, id)->start > t ||
        plan_range_at(r->plan, r->node, neighbour, t, &light) < 0 || light.start > t)
        return 0;
    return id;
}

static void touch_none(struct plan_router *r)
{
    r->touched = false;
    for (size_t i = 0; i < r->next_hops_len; i++)
        r->next_hops[i].touched = false;
}

/* A link that comes up can be used again by all bundles that were sent elsewhere meanwhile. Of
 * several links to one neighbour, one that is up is used. A link that goes down changes nothing at
 * first: after PLAN_ROUTER_GRACE, `check` finds it. */
bool next_hop_changed(void *router, uint32_t link, const struct router_link *state, tick now)
{
    struct plan_router *r = router;
    struct next_hop *w = next_hop_find(r, link);
    touch_none(r);
    if (w == NULL || (w->up == (state->used && state->up)))
        return false;
    w->up = state->used && state->up;
    w->down = w->up ? 0 : now;
    /* without a contact no answer is other than before */
    const bool used = plan_at(r->plan, r->node, w->neighbour, plan_time(r, now)) != 0;
    if (!w->up && used)
        next_hop_check(r, w, tick_add(now, PLAN_ROUTER_GRACE));
    const bool all = w->up && w->shunned && used;
    bool any = all;
    r->touched = all;
    size_t twins = 0;
    for (size_t i = 0; i < r->next_hops_len; i++)
        twins += r->next_hops[i].neighbour == w->neighbour;
    for (size_t i = 0; i < r->next_hops_len; i++) {
        struct next_hop *other = &r->next_hops[i];
        other->touched = all || (twins > 1 && other->neighbour == w->neighbour);
        any = any || other->touched;
    }
    w->shunned = w->shunned && !w->up;
    return any;
}

bool next_hop_uses(const void *router, uint32_t link)
{
    const struct plan_router *r = router;
    const struct next_hop *w = next_hop_find(r, link);
    return w != NULL && plan_meets(r->plan, r->node, w->neighbour);
}

void next_hop_check(struct plan_router *r, struct next_hop *w, tick at)
{
    w->check = tick_min(w->check, at);
    r->check = tick_min(r->check, at);
}

tick next_hop_deadline(const void *router)
{
    const struct plan_router *r = router;
    return tick_min(r->edge, r->check);
}

bool next_hop_expire(void *router, tick now)
{
    struct plan_router *r = router;
    if (now < r->edge && now < r->check)
        return false;
    bool any = false;
    r->check = TICK_NEVER;
    r->edge = next_hop_next_edge(r, now);
    touch_none(r);
    for (size_t i = 0; i < r->next_hops_len; i++) {
        struct next_hop *w = &r->next_hops[i];
        const uint64_t is = contact_now(r, w->neighbour, now);
        const bool missed = w->check <= now && !w->up;
        w->check = w->check <= now ? TICK_NEVER : w->check;
        r->check = tick_min(r->check, w->check);
        w->touched = (w->contact != 0 && w->contact != is) || missed;
        r->touched = r->touched || w->contact != is; /* there may be volume again, also elsewhere */
        w->contact = is;
        any = any || w->touched;
    }
    return any || r->touched;
}

bool next_hop_touched(const void *router, int link)
{
    const struct plan_router *r = router;
    const struct next_hop *w = link < 0 ? NULL : next_hop_find(r, (uint32_t)link);
    return link < 0 ? r->touched : w != NULL && w->touched;
}

/* --- what they have --- */

#define WALK_CHAINS 1024 /* of one step of a walk */
#define WALK_ROOM 64     /* for the keys of a chain: peers do not know the seed of the hash */

void plan_router_walk_begin(const struct plan_router *r, struct plan_router_walk *w)
{
    *w = (struct plan_router_walk){.last = r->ids};
}

static size_t take_keys(const struct hash_node *chain, uint32_t link, uint64_t last,
                        uint64_t keys[WALK_ROOM])
{
    size_t n = 0;
    for (; chain != NULL && n < WALK_ROOM; chain = chain->next) {
        const struct booking *b = container_of(chain, struct booking, by_id);
        if (b->link == link && b->id <= last)
            keys[n++] = b->key;
    }
    return n;
}

bool plan_router_walk(const struct plan_router *r, uint32_t link, struct plan_router_walk *w,
                      uint64_t keys[PLAN_ROUTER_KEYS], size_t *len)
{
    struct hash_node *chain;
    *len = 0;
    for (int chains = 0; chains < WALK_CHAINS && *len + WALK_ROOM <= PLAN_ROUTER_KEYS; chains++) {
        w->cursor = hash_scan(&r->bookings, w->cursor, &chain);
        *len += take_keys(chain, link, w->last, keys + *len);
        if (w->cursor == 0)
            return false;
    }
    return true;
}
