/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More than one route. Yen: each further route leaves an earlier one at some node (the spur), by a
 * contact that no route with the same beginning took; all these are candidates, the best of them is
 * the next. What can go wrong: memory for the candidates.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "route/plan_impl.h"

/* Routes in their order, the best `max` of those that were put in. */
struct ranking {
    struct plan_route *at;
    size_t len, max;
};

static void copy_route(struct plan_route *to, const struct plan_route *from)
{
    memcpy(to, from, offsetof(struct plan_route, hop) + from->hops * sizeof from->hop[0]);
}

static bool same_start(const struct plan_route *a, const struct plan_route *b, size_t hops)
{
    for (size_t i = 0; i < hops; i++) {
        if (a->hop[i].contact != b->hop[i].contact)
            return false;
    }
    return true;
}

static bool same_route(const struct plan_route *a, const struct plan_route *b)
{
    return a->hops == b->hops && same_start(a, b, a->hops);
}

static void put_route(struct ranking *k, const struct plan_route *r)
{
    size_t i = k->len;
    while (i > 0 && route_compare(r, &k->at[i - 1]) < 0)
        i--;
    for (size_t j = 0; j < k->len; j++) {
        if (same_route(r, &k->at[j]))
            return;
    }
    if (i == k->max)
        return;
    k->len += k->len < k->max;
    for (size_t j = k->len - 1; j > i; j--)
        copy_route(&k->at[j], &k->at[j - 1]);
    copy_route(&k->at[i], r);
}

static void take_first(struct ranking *k, struct plan_route *out)
{
    copy_route(out, &k->at[0]);
    k->len--;
    for (size_t j = 0; j < k->len; j++)
        copy_route(&k->at[j], &k->at[j + 1]);
}

static void hop_crossing(struct plan *p, const struct plan_hop *h, struct crossing *out)
{
    *out = (struct crossing){.contact = plan_contact_by_id(p, h->contact),
                             .first_sent = h->first_sent,
                             .last_sent = h->last_sent,
                             .first_arrives = h->first_arrives,
                             .last_arrives = h->last_arrives,
                             .why = h->why};
    assert(out->contact != NULL);
}

/* Contacts that routes with the same beginning took from there, and the nodes of the beginning. */
static uint64_t ban_start(struct plan *p, const struct plan_route *routes, size_t len,
                          const struct plan_route *last, size_t spur)
{
    uint64_t ban = ++p->bans;
    for (size_t i = 0; i < len; i++) {
        if (routes[i].hops > spur && same_start(&routes[i], last, spur))
            plan_contact_by_id(p, routes[i].hop[spur].contact)->banned = ban;
    }
    for (size_t i = 0; i < spur; i++)
        plan_node(p, last->hop[i].from)->banned = ban;
    return ban;
}

/* The best route that leaves `last` after `spur` hops. */
static bool leave_route(struct search s, const struct plan_route *routes, size_t len,
                        const struct plan_route *last, size_t spur, struct plan_route *out)
{
    struct crossing via[PLAN_HOPS_MAX];
    tick now = s.start.arrival;
    for (size_t i = 0; i < spur; i++) {
        hop_crossing(s.plan, &last->hop[i], &via[i]);
        s.start.until = tick_min(s.start.until, via[i].contact->is.end);
        s.start.arrival = via[i].last_arrives;
    }
    s.start.hops = spur;
    s.start.entry = last->hop[0].to;
    s.from = plan_node(s.plan, last->hop[spur].from);
    s.cargo.ban = ban_start(s.plan, routes, len, last, spur);
    if (!search_run(&s) || s.to->label.arrival >= s.query->expiry)
        return false;
    size_t hops = spur + search_fewest(&s, via + spur);
    route_write(out, via, hops, &s.cargo, now);
    return true;
}

int plan_route_several(struct plan *p, const struct plan_query *q, struct plan_route *out,
                       size_t max)
{
    struct search s;
    struct plan_route one;
    size_t len = 1;
    if (max == 0 || !search_begin(&s, p, q) || plan_route_search(p, q, &out[0]) != PLAN_FOUND)
        return 0;
    struct ranking next = {calloc(max, sizeof *out), 0, max};
    if (next.at == NULL)
        return HELIO_ENOMEM;
    for (; len < max; len++) {
        for (size_t spur = 0; spur < out[len - 1].hops; spur++) {
            if (leave_route(s, out, len, &out[len - 1], spur, &one))
                put_route(&next, &one);
        }
        if (next.len == 0)
            break;
        take_first(&next, &out[len]);
    }
    free(next.at);
    return (int)len;
}

size_t plan_route_all(struct plan *p, const struct plan_query *q, struct plan_route *out,
                      size_t max)
{
    struct search s;
    struct crossing via[PLAN_HOPS_MAX];
    struct plan_route one;
    struct ranking all = {out, 0, max};
    if (max == 0 || !search_begin(&s, p, q) || s.from == s.to)
        return 0;
    for (size_t i = 0; i < s.from->len; i++) {
        s.only = s.from->out[i];
        if (!search_run(&s) || s.to->label.arrival >= q->expiry)
            continue;
        size_t hops = search_fewest(&s, via);
        route_write(&one, via, hops, &s.cargo, q->now);
        put_route(&all, &one);
    }
    return all.len;
}
