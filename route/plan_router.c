/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question finds a route from this node; its first hop determines the link. The route is kept
 * until the agent notes that the bundle is queued, and is booked then. It is unbooked when the
 * bundle leaves the queue without transmission. Excluded are: neighbours without a link, the
 * neighbour that sent the bundle, and neighbours whose link is down during a contact. A bundle that
 * no contact can transmit as a whole, and that may be fragmented, is divided into parts
 * (plan_parts.h).
 *
 * Neighbours and users take turns in the queue of a link. So a bundle is not behind all that is
 * queued and booked, only behind what has its turn before it (router_link.behind). If its place in
 * the present contact is taken by bundles behind it, their bookings become owed. Those that the
 * contact does not transmit are asked for again at its end. So one neighbour, whose bundles fill
 * each contact, leaves others their part of it.
 *
 * What can go wrong: no memory for a booking; then the bundle is sent all the same, and its volume
 * is not counted.
 */
#include "route/plan_router.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "route/plan_parts.h"
#include "route/plan_router_impl.h"

#define BACKLOG_MAX 256

static_assert((int)PLAN_BULK == (int)BUNDLE_BULK && (int)PLAN_NORMAL == (int)BUNDLE_NORMAL &&
                  (int)PLAN_EXPEDITED == (int)BUNDLE_EXPEDITED &&
                  (int)PLAN_PRIORITIES == (int)BUNDLE_PRIORITIES,
              "a bundle's priority is that of its volume");

bool plan_router_number(const struct eid *e, uint64_t *out)
{
    *out = e->allocator << 32 | e->node;
    return e->scheme == EID_IPN;
}

static struct booking *find_booking(const struct plan_router *r, uint64_t id)
{
    struct hash_node *n = hash_find(&r->bookings, hash_mix(r->bookings.seed, id, 0));
    for (; n != NULL; n = hash_next(n)) {
        struct booking *b = container_of(n, struct booking, by_id);
        if (b->id == id)
            return b;
    }
    return NULL;
}

static void drop_booking(struct plan_router *r, struct booking *b)
{
    hash_sub(&r->bookings, &b->by_id);
    free(b->route);
    free(b);
}

/* yields: booked bytes at its first contact that it may displace. */
static void book_volume(const struct plan_router *r, struct booking *b, uint64_t yields)
{
    b->plan = plan_book_yield(r->plan, b->route, b->priority, yields) == 0 ? r->plans : 0;
}

/* --- asking --- */

struct queued {
    struct plan_backlog backlog[BACKLOG_MAX];
    struct plan_yield yields[BACKLOG_MAX];
};

/* held: it has a booking, and is in the backlog itself. */
static void collect_queued(const struct plan_router *r, const struct router_query *q, bool held,
                           struct queued *out, struct plan_query *pq)
{
    pq->backlog = out->backlog;
    pq->yields = out->yields;
    for (size_t i = 0; i < r->next_hops_len && pq->backlog_len < BACKLOG_MAX; i++) {
        const uint64_t neighbour = r->next_hops[i].neighbour;
        const struct router_link state = q->links->at(q->links->context, r->next_hops[i].link);
        uint64_t bytes = 0; /* bytes queued before it */
        for (int p = (int)q->priority; p < BUNDLE_PRIORITIES; p++)
            bytes += state.bytes_of[p];
        assert(state.behind <= state.bytes_of[q->priority]);
        bytes -= state.behind;
        if (state.used && bytes > 0 && !held)
            out->backlog[pq->backlog_len++] = (struct plan_backlog){neighbour, bytes};
        const struct plan_yield yield = {neighbour, state.behind};
        if (state.used && state.behind > 0 && pq->yields_len < BACKLOG_MAX &&
            plan_yield_helps(r->plan, pq, &yield))
            out->yields[pq->yields_len++] = yield;
    }
}

static uint64_t yields_of(const struct plan_query *pq, uint64_t neighbour)
{
    for (size_t i = 0; i < pq->yields_len; i++) {
        if (pq->yields[i].neighbour == neighbour)
            return pq->yields[i].bytes;
    }
    return 0;
}

/* Its contact has begun, and the link has been down for longer than it may take to come up. */
static bool has_missed(struct plan_router *r, struct next_hop *w, const struct plan_hop *h,
                       tick now)
{
    const struct plan_contact *c = plan_get(r->plan, h->contact);
    assert(c != NULL);
    tick start = agent_time(r, c->start);
    if (w->up || start > now)
        return false;
    tick since = start > w->down ? start : w->down;
    tick until = tick_add(since, PLAN_ROUTER_GRACE);
    if (now < until)
        next_hop_check(r, w, until);
    w->shunned = w->shunned || now >= until;
    return now >= until;
}

/* Finds a route whose first hop can be used; excludes neighbours until one is found or there is
 * none. */
static enum plan_reason find_route(struct plan_router *r, const struct router_query *rq,
                                   struct plan_query *q, uint64_t *excluded,
                                   struct next_hop **next_hop)
{
    enum plan_reason reason;
    while ((reason = plan_route_find(r->plan, q, &r->pending)) == PLAN_FOUND) {
        assert(r->pending.hops > 0);
        const struct plan_hop *h = &r->pending.hop[0];
        *next_hop = next_hop_to(r, h->to);
        if (*next_hop != NULL && !has_missed(r, *next_hop, h, rq->now) &&
            !next_hop_barred(rq, *next_hop))
            break;
        if (q->excluded_len == EXCLUDED_MAX)
            return PLAN_NO_ROUTE;
        excluded[q->excluded_len++] = h->to;
    }
    return reason;
}

static_assert(PLAN_ROUTER_EXCLUDED + ROUTER_DECLINED_MAX + BALANCE_LINKS + 2 <= EXCLUDED_MAX,
              "room for all");

/* Excludes the neighbours of links that should be avoided: first both, then only the one that
 * sent it. */
static enum plan_reason find_best(struct plan_router *r, const struct router_query *q,
                                  struct plan_query *pq, struct next_hop **next_hop)
{
    uint64_t excluded[EXCLUDED_MAX];
    const struct next_hop *from =
        q->came_from < 0 ? NULL : next_hop_find(r, (uint32_t)q->came_from);
    const struct next_hop *avoid = q->avoid < 0 ? NULL : next_hop_find(r, (uint32_t)q->avoid);
    enum plan_reason reason = PLAN_NO_ROUTE;
    pq->excluded = excluded;
    for (int attempt = 0; attempt < 2; attempt++) {
        bool both = attempt == 0 && avoid != NULL && avoid != from;
        pq->excluded_len = none_always(r, pq->to, excluded);
        pq->excluded_len += none_declined(r, q, excluded + pq->excluded_len);
        for (size_t i = 0; i < r->besides_len; i++)
            excluded[pq->excluded_len++] = r->besides[i];
        if (from != NULL)
            excluded[pq->excluded_len++] = from->neighbour;
        if (both)
            excluded[pq->excluded_len++] = avoid->neighbour;
        reason = find_route(r, q, pq, excluded, next_hop);
        if (reason == PLAN_FOUND || !both)
            break;
    }
    pq->excluded = NULL;
    pq->excluded_len = 0;
    return reason;
}

static void copy_route(struct plan_route *to, const struct plan_route *from)
{
    memcpy(to, from, offsetof(struct plan_route, hop) + from->hops * sizeof from->hop[0]);
}

/* Selects among links as good as the pending one: a bundle that is booked stays; others use the
 * link that got fewest bytes (plan_router_balance.c). */
static struct next_hop *choose_equal(struct plan_router *r, const struct router_query *q,
                                     struct plan_query *pq, struct next_hop *best,
                                     const struct booking *own)
{
    const uint64_t first = best->neighbour;
    if (r->next_hops_len < 2 || !balance_looks(r, pq->to, first, q->now))
        return best;
    memcpy(&r->first, &r->pending, offsetof(struct plan_route, hop) + sizeof r->first.hop[0]);
    copy_route(&r->chosen, &r->pending);
    r->besides[0] = first;
    for (r->besides_len = 1; r->besides_len < BALANCE_LINKS; r->besides_len++) {
        struct next_hop *other = NULL;
        if (find_best(r, q, pq, &other) != PLAN_FOUND || (int64_t)other->link == q->avoid ||
            !balance_equal(&r->first, &r->pending, pq->now))
            break;
        r->pending_chosen = true;
        r->besides[r->besides_len] = other->neighbour;
        if (own != NULL ? own->link == other->link
                        : balance_prefers(best, other, r->pending.volume)) {
            copy_route(&r->chosen, &r->pending);
            best = other;
        }
    }
    r->besides_len = 0;
    copy_route(&r->pending, &r->chosen);
    if (!r->pending_chosen)
        balance_alone(r, pq->to, first, q->now);
    return best;
}

struct part_query {
    struct plan_router *router;
    const struct router_query *query;
    struct next_hop *next_hop;
};

static enum plan_reason find_for_part(void *context, struct plan_query *pq, struct plan_route *out)
{
    struct part_query *p = context;
    assert(out == &p->router->pending);
    (void)out;
    return find_best(p->router, p->query, pq, &p->next_hop);
}

/* Bytes of the first part of a bundle that must be divided; 0: it is not divided. */
static uint64_t find_first_part(struct plan_router *r, const struct router_query *q,
                                const struct plan_query *pq, struct next_hop **next_hop)
{
    struct part_query context = {.router = r, .query = q};
    const struct plan_parts parts = {r->plan, find_for_part, &context};
    struct plan_query part = *pq;
    part.yields_len = 0; /* parts are for unbooked volume */
    uint64_t bytes = plan_parts_first(&parts, &part, &r->pending);
    if (bytes > 0)
        *next_hop = next_hop_to(r, r->pending.hop[0].to);
    return *next_hop == NULL || bytes == q->bytes ? 0 : bytes;
}

/* There is no route for the whole bundle for this reason: may parts of it be searched? */
static bool may_split(const struct router_query *q, enum plan_reason reason)
{
    return reason != PLAN_FOUND && reason != PLAN_NO_ROUTE && !q->whole && q->bytes > PLAN_PART_MIN;
}

static struct router_answer answer_route(struct plan_router *r, struct next_hop *next_hop,
                                         uint64_t fits, tick now)
{
    const struct plan_contact *c = plan_get(r->plan, r->pending.hop[0].contact);
    struct plan_range light;
    tick begins = agent_time(r, c->start);
    /* Until there is a light time the contact is not used. */
    if (plan_range_at(r->plan, c->from, c->to, plan_time(r, now), &light) == 0) {
        tick known = agent_time(r, light.start);
        begins = known > begins ? known : begins;
    }
    if (begins > now)
        return (struct router_answer){.verdict = ROUTER_WAIT, .until = begins};
    r->pending_id = ++r->ids;
    next_hop->contact = r->pending.hop[0].contact;
    return (struct router_answer){
        .verdict = ROUTER_LINK, .link = next_hop->link, .booking = r->pending_id, .fits = fits};
}

static struct router_answer ask_other(struct plan_router *r, const struct router_query *q)
{
    r->totals.others++;
    struct router_answer a = r->other.ops->ask(r->other.state, q);
    assert(a.booking == 0);
    return a;
}

/* Contacts with neighbours that no link leads to are of no use. Without memory they are left out
 * one by one (find_route). */
static void tell_links(struct plan_router *r)
{
    uint64_t *to = r->relinked ? malloc((r->next_hops_len + 1) * sizeof *to) : NULL;
    if (to == NULL)
        return;
    for (size_t i = 0; i < r->next_hops_len; i++)
        to[i] = r->next_hops[i].neighbour;
    r->relinked = plan_begin_by(r->plan, r->node, to, r->next_hops_len) < 0;
    free(to);
}

static struct router_answer ask_plan(void *router, const struct router_query *q)
{
    struct plan_router *r = router;
    struct queued queued;
    uint64_t to;
    if (!plan_router_number(q->destination, &to) || !plan_knows(r->plan, to))
        return ask_other(r, q);
    const tick until = work_until(r, q), stopped = work_stopped(r, q);
    if (stopped > q->now || (until > q->now && work_known(r, q, to)))
        return (struct router_answer){.verdict = ROUTER_WAIT,
                                      .until = stopped > q->now ? stopped : until};
    const enum plan_priority priority = (enum plan_priority)q->priority;
    struct plan_query pq = {.from = r->node,
                            .to = to,
                            .bytes = q->bytes,
                            .priority = priority,
                            .now = plan_time(r, q->now),
                            .expiry = plan_time(r, q->expires)};
    r->pending_priority = priority;
    const uint64_t before = plan_work(r->plan);
    struct booking *own = q->booking == 0 ? NULL : find_booking(r, q->booking);
    struct next_hop *next_hop = NULL;
    /* What is in the queue is part of the backlog; its volume is its own. */
    const bool held = own != NULL && booking_held(r, own);
    if (held)
        plan_unbook(r->plan, own->route, own->priority);
    collect_queued(r, q, held, &queued, &pq);
    enum plan_reason reason = find_best(r, q, &pq, &next_hop);
    r->pending_chosen = false;
    if (reason == PLAN_FOUND)
        next_hop = choose_equal(r, q, &pq, next_hop, own);
    const bool split = may_split(q, reason);
    work_note(r, q, to, !split);
    const bool look = split && until <= q->now;
    uint64_t fits = look ? find_first_part(r, q, &pq, &next_hop) : 0;
    r->totals.answers[reason]++;
    r->totals.parts += fits > 0;
    struct router_answer a = {.verdict = ROUTER_WAIT, .until = until};
    if (reason == PLAN_FOUND || fits > 0) {
        a = answer_route(r, next_hop, fits, q->now);
        r->pending_yields = fits > 0 ? 0 : yields_of(&pq, next_hop->neighbour);
    } else if (!split || until <= q->now)
        a = none_answer(r, q, &pq, reason);
    if (reason != PLAN_FOUND)
        work_spend(r, q, plan_work(r->plan) - before, look);
    if (held)
        book_volume(r, own, own->displaces ? UINT64_MAX : 0);
    return a;
}

/* The best route over each neighbour whose link can be used, now or later: a copy waits in the
 * link's queue until its contact begins. Fewer than two: it is routed like any other bundle. */
static size_t find_all(struct plan_router *r, const struct router_query *q, uint64_t to)
{
    uint64_t excluded[EXCLUDED_MAX];
    const struct next_hop *from =
        q->came_from < 0 ? NULL : next_hop_find(r, (uint32_t)q->came_from);
    struct plan_query pq = {.from = r->node,
                            .to = to,
                            .bytes = q->bytes,
                            .priority = (enum plan_priority)q->priority,
                            .now = plan_time(r, q->now),
                            .expiry = plan_time(r, q->expires),
                            .excluded = excluded};
    if (r->all == NULL)
        r->all = calloc(COPIES_MAX, sizeof *r->all);
    if (r->all == NULL)
        return 0;
    pq.excluded_len = none_always(r, to, excluded);
    pq.excluded_len += none_declined(r, q, excluded + pq.excluded_len);
    if (from != NULL)
        excluded[pq.excluded_len++] = from->neighbour;
    size_t n = plan_route_all(r->plan, &pq, r->all, COPIES_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct plan_hop *h = &r->all[i].hop[0];
        struct next_hop *w = next_hop_to(r, h->to);
        if (w == NULL || has_missed(r, w, h, q->now) || next_hop_barred(q, w))
            continue;
        r->copy_route[r->copies] = i;
        r->copy[r->copies++] = (struct router_copy){.link = w->link, .booking = ++r->ids};
    }
    return r->copies;
}

/* A critical bundle uses all routes at once (SABR), any other bundle the best one. */
static struct router_answer ask_router(void *router, const struct router_query *q)
{
    struct plan_router *r = router;
    uint64_t to;
    r->copies = 0;
    tell_links(r);
    if (!q->critical || !plan_router_number(q->destination, &to) || !plan_knows(r->plan, to) ||
        find_all(r, q, to) < 2) {
        r->copies = 0;
        return ask_plan(router, q);
    }
    r->pending_priority = (enum plan_priority)q->priority;
    r->totals.answers[PLAN_FOUND]++;
    return (struct router_answer){.verdict = ROUTER_LINK,
                                  .link = r->copy[0].link,
                                  .booking = r->copy[0].booking,
                                  .also = r->copy + 1,
                                  .also_len = r->copies - 1};
}

/* --- notes --- */

/* Of the last answer; NULL: something else was asked meanwhile. */
static const struct plan_route *find_answer(const struct plan_router *r, uint64_t id)
{
    for (size_t i = 0; i < r->copies; i++) {
        if (r->copy[i].booking == id)
            return &r->all[r->copy_route[i]];
    }
    return id == r->pending_id ? &r->pending : NULL;
}

/* Counts a choice between equal links. */
static void count_given(struct plan_router *r, struct booking *b)
{
    struct next_hop *w = next_hop_find(r, b->link);
    b->given = w != NULL && r->pending_chosen && b->id == r->pending_id ? b->route->volume : 0;
    if (w != NULL)
        w->given += b->given;
}

static void keep_booking(struct plan_router *r, const struct router_note *n)
{
    uint64_t id = n->booking;
    const struct plan_route *answer = find_answer(r, id);
    if (answer == NULL)
        return; /* not counted */
    assert(answer->hops > 0);
    struct booking *b = calloc(1, sizeof *b);
    size_t size = offsetof(struct plan_route, hop) + answer->hops * sizeof answer->hop[0];
    struct plan_route *route = malloc(sizeof *route);
    if (b == NULL || route == NULL) {
        free(b);
        free(route);
        return;
    }
    memcpy(route, answer, size);
    *b = (struct booking){
        .id = id, .key = n->key, .link = n->link, .priority = r->pending_priority, .route = route};
    const uint64_t yields = id == r->pending_id ? r->pending_yields : 0;
    book_volume(r, b, yields);
    b->displaces = yields > 0;
    count_given(r, b);
    hash_add(&r->bookings, &b->by_id, hash_mix(r->bookings.seed, id, 0));
}

static void note_plan(void *router, const struct router_note *n)
{
    struct plan_router *r = router;
    if (n->kind == ROUTER_PLACED) {
        keep_booking(r, n);
        return;
    }
    struct booking *b = find_booking(r, n->booking);
    if (b == NULL)
        return; /* there was no memory for it */
    /* What was sent has used its volume. */
    if (booking_held(r, b) && n->kind != ROUTER_SENT)
        plan_unbook(r->plan, b->route, b->priority);
    struct next_hop *w = n->kind == ROUTER_SENT ? NULL : next_hop_find(r, b->link);
    if (w != NULL)
        w->given -= w->given < b->given ? w->given : b->given;
    drop_booking(r, b);
}

/* --- making --- */

int plan_router_new(struct plan_router **out, struct plan *plan, uint64_t node,
                    const struct router *other, tick now)
{
    struct plan_router *r = calloc(1, sizeof *r);
    if (r == NULL || hash_init(&r->bookings, plan_seed(plan)) < 0) {
        free(r);
        return HELIO_ENOMEM;
    }
    assert(other->ops->by_destination);
    r->plan = plan;
    r->plans = 1;
    r->node = node;
    r->other = *other;
    r->check = TICK_NEVER;
    r->edge = next_hop_next_edge(r, now);
    r->relinked = true;
    *out = r;
    return 0;
}

void plan_router_free(struct plan_router *r)
{
    if (r == NULL)
        return;
    struct hash_node *n = hash_walk(&r->bookings, NULL);
    while (n != NULL) {
        struct booking *b = container_of(n, struct booking, by_id);
        n = hash_walk(&r->bookings, n);
        drop_booking(r, b);
    }
    hash_fini(&r->bookings);
    free(r->all);
    free(r->next_hops);
    free(r);
}

/* Answers of the other router, if these are. */
static bool is_alike(const void *router, const struct eid *destination)
{
    const struct plan_router *r = router;
    uint64_t to;
    return !plan_router_number(destination, &to) || !plan_knows(r->plan, to);
}

static bool asks_routes(const void *router, uint32_t link)
{
    const struct router *other = &((const struct plan_router *)router)->other;
    return other->ops->by_routes != NULL && other->ops->by_routes(other->state, link);
}

struct router plan_router(struct plan_router *r)
{
    static const struct router_ops ops = {.alike = is_alike,
                                          .by_routes = asks_routes,
                                          .uses = next_hop_uses,
                                          .ask = ask_router,
                                          .note = note_plan,
                                          .changed = next_hop_changed,
                                          .touches = next_hop_touched,
                                          .deadline = next_hop_deadline,
                                          .expire = next_hop_expire,
                                          .work = work_done};
    return (struct router){&ops, r};
}

int plan_router_link(struct plan_router *r, uint32_t link, uint64_t neighbour)
{
    struct next_hop *w = next_hop_find(r, link);
    if (w == NULL && r->next_hops_len == r->next_hops_cap) {
        size_t more = r->next_hops_cap == 0 ? 8 : 2 * r->next_hops_cap;
        struct next_hop *grown = realloc(r->next_hops, more * sizeof *grown);
        if (grown == NULL)
            return HELIO_ENOMEM;
        r->next_hops = grown;
        r->next_hops_cap = more;
    }
    w = w == NULL ? &r->next_hops[r->next_hops_len++] : w;
    *w = (struct next_hop){
        .neighbour = neighbour, .link = link, .shunned = true, .check = TICK_NEVER};
    r->relinked = r->relinked || next_hop_uses(r, link);
    return 0;
}

void plan_router_unlink(struct plan_router *r, uint32_t link)
{
    struct next_hop *w = next_hop_find(r, link);
    r->relinked = r->relinked || next_hop_uses(r, link);
    if (w != NULL)
        *w = r->next_hops[--r->next_hops_len];
}

void plan_router_rules(struct plan_router *r, bool keep, const uint64_t *excluded, size_t len)
{
    assert(len <= PLAN_ROUTER_EXCLUDED);
    r->keep = keep;
    r->excluded_len = len;
    for (size_t i = 0; i < len; i++)
        r->excluded[i] = excluded[i];
}

uint64_t plan_router_node(const struct plan_router *r)
{
    return r->node;
}

void plan_router_changed(struct plan_router *r, tick now)
{
    r->relinked = true; /* neighbours may have contacts now */
    r->edge = next_hop_next_edge(r, now);
}

void plan_router_ahead(struct plan_router *r, tick ahead, tick now)
{
    r->ahead = ahead;
    plan_router_changed(r, now);
}

void plan_router_replace(struct plan_router *r, struct plan *plan, tick now)
{
    r->plan = plan;
    r->plans++;
    r->pending_id = 0; /* its contacts were of the former one */
    r->copies = 0;
    plan_router_changed(r, now);
}

void plan_router_totals(const struct plan_router *r, struct plan_router_totals *out)
{
    *out = r->totals;
    out->booked = r->bookings.len;
}
