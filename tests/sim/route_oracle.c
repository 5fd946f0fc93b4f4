/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the route that the search finds really the first to arrive, and of those that arrive then one
 * with fewest hops? Small plans are drawn from seeds:
 * 2 to 12 nodes, contacts and light times of some ticks each, volumes that are partly booked,
 * backlogs, nodes that are excluded. The answer is compared with an exhaustive one: tick by tick,
 * whoever has the bundle tries every contact at every tick. Nothing of route/ is used for that.
 * usage: route_oracle [--seeds A..B]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "route/plan_route.h"

#define NODES 12
#define CONTACTS 60
#define RANGES 60
#define HORIZON 700 /* ticks; everything that can arrive has arrived by then */
#define SECOND 1000000000ULL
#define NEVER UINT64_MAX

struct window {
    unsigned from, to;
    uint64_t start, end, rate, owlt, id, carries;
    uint64_t booked[3];
    bool sure;
};

struct world {
    unsigned nodes;
    bool late; /* the last node is met only later: many routes wait for the same contact */
    struct window contact[CONTACTS], range[RANGES];
    size_t contacts, ranges;
    struct plan_config config;
    struct plan *plan;
    uint64_t number[NODES];
    struct plan_query query;
    uint64_t excluded[2];
    struct plan_backlog backlog[3];
    uint64_t seed;
};

static void fail(const struct world *w, const char *what, uint64_t ours, uint64_t theirs)
{
    fprintf(stderr, "seed %llu: %s: route/ says %llu, the exhaustive search %llu\n",
            (unsigned long long)w->seed, what, (unsigned long long)ours,
            (unsigned long long)theirs);
    exit(1);
}

/* --- the exhaustive answer --- */

static uint64_t takes(uint64_t bytes, uint64_t rate)
{
    uint64_t t = 0;
    while (rate != 0 && t * rate < bytes * 8 * SECOND)
        t++;
    return t;
}

static uint64_t carries(const struct window *c, uint64_t from)
{
    if (c->rate == 0)
        return NEVER;
    uint64_t bytes = 0, start = c->start > from ? c->start : from;
    while (start < c->end && takes(bytes + 1, c->rate) <= c->end - start)
        bytes++;
    return bytes;
}

/* The light time that holds at t; NEVER: none. */
static uint64_t light_at(const struct world *w, unsigned from, unsigned to, uint64_t t)
{
    uint64_t back = NEVER;
    for (size_t i = 0; i < w->ranges; i++) {
        const struct window *r = &w->range[i];
        if (t < r->start || t >= r->end)
            continue;
        if (r->from == from && r->to == to)
            return r->owlt;
        if (r->from == to && r->to == from)
            back = r->owlt;
    }
    return back;
}

static uint64_t with_margin(const struct world *w, uint64_t owlt)
{
    uint64_t margin = 0;
    while (w->config.margin && margin * 186282 < owlt * 125)
        margin++;
    return owlt + margin;
}

/* Ticks that the backlog for this contact's neighbour takes at its beginning. */
static uint64_t lien(const struct world *w, const struct window *c, bool empty)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < w->query.backlog_len && !empty; i++) {
        if (w->backlog[i].neighbour == w->number[c->to])
            bytes = w->backlog[i].bytes;
    }
    for (size_t i = 0; i < w->contacts; i++) {
        const struct window *o = &w->contact[i];
        if (o->from == c->from && o->to == c->to && o->end <= c->start && o->end > w->query.now) {
            uint64_t relief = carries(o, w->query.now);
            bytes = bytes > relief ? bytes - relief : 0;
        }
    }
    return takes(bytes, c->rate);
}

static bool excluded(const struct world *w, unsigned node)
{
    for (size_t i = 0; i < w->query.excluded_len; i++) {
        if (w->excluded[i] == w->number[node])
            return true;
    }
    return false;
}

static uint64_t unbooked(const struct window *c, int priority)
{
    uint64_t left = c->carries;
    for (int i = priority; i < 3; i++)
        left -= c->booked[i];
    return left;
}

/* What of a contact does not depend on when it is used. */
struct use {
    uint64_t takes, from; /* ticks to send it; the first tick at which it may begin; NEVER */
};

static struct use prepare(const struct world *w, const struct window *c, uint64_t bytes, bool empty,
                          unsigned source)
{
    struct use u = {takes(bytes, c->rate), c->start};
    if (!c->sure || (empty ? c->carries : unbooked(c, (int)w->query.priority)) < bytes)
        u.from = NEVER;
    else if (c->from == source && excluded(w, c->to))
        u.from = NEVER;
    else if (c->from == source)
        u.from = (c->start > w->query.now ? c->start : w->query.now) + lien(w, c, empty);
    return u;
}

/* When what begins at t arrives. */
static uint64_t try_contact(const struct world *w, const struct window *c, const struct use *u,
                            uint64_t t)
{
    if (t < u->from || t >= c->end || t + u->takes > c->end)
        return NEVER;
    uint64_t light = light_at(w, c->from, c->to, t);
    return light == NEVER ? NEVER : t + u->takes + with_margin(w, light);
}

static uint64_t exhaustive(const struct world *w, unsigned source, unsigned to, uint64_t bytes,
                           bool empty)
{
    uint64_t has[NODES];
    struct use use[CONTACTS];
    for (size_t i = 0; i < w->contacts; i++)
        use[i] = prepare(w, &w->contact[i], bytes, empty, source);
    memset(has, 0xff, sizeof has);
    has[source] = w->query.now;
    for (uint64_t t = w->query.now; t < HORIZON; t++) {
        bool again = true;
        while (again) {
            again = false;
            for (size_t i = 0; i < w->contacts; i++) {
                const struct window *c = &w->contact[i];
                if (has[c->from] > t)
                    continue;
                uint64_t arrives = try_contact(w, c, &use[i], t);
                if (arrives < has[c->to]) {
                    has[c->to] = arrives;
                    again = true;
                }
            }
        }
    }
    return has[to];
}

/* The fewest hops with which it arrives at `best`: tick by tick what arrives with one hop, then
 * with two, and so on. */
static size_t exhaustive_hops(const struct world *w, unsigned source, unsigned to, uint64_t bytes,
                              uint64_t best)
{
    uint64_t has[NODES], next[NODES];
    size_t hops = 0;
    memset(has, 0xff, sizeof has);
    has[source] = w->query.now;
    for (; has[to] > best; hops++) {
        if (hops == NODES)
            fail(w, "an arrival that no number of hops has", has[to], best);
        memcpy(next, has, sizeof next);
        for (size_t i = 0; i < w->contacts; i++) {
            const struct window *c = &w->contact[i];
            const struct use use = prepare(w, c, bytes, false, source);
            for (uint64_t t = has[c->from]; t < HORIZON; t++) {
                const uint64_t arrives = try_contact(w, c, &use, t);
                next[c->to] = arrives < next[c->to] ? arrives : next[c->to];
            }
        }
        memcpy(has, next, sizeof has);
    }
    return hops;
}

/* --- drawing --- */

static bool overlaps(const struct window *list, size_t n, const struct window *x)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i].from == x->from && list[i].to == x->to && list[i].start < x->end &&
            x->start < list[i].end)
            return true;
    }
    return false;
}

static struct window draw_window(struct world *w, struct rng *r, uint64_t longest)
{
    struct window x = {.sure = true};
    x.from = (unsigned)rng_below(r, w->nodes);
    x.to = (unsigned)rng_below(r, w->nodes);
    x.start = rng_below(r, 200) + (w->late && x.to == w->nodes - 1 ? 200 : 0);
    x.end = x.start + 1 + rng_below(r, longest);
    return x;
}

static void draw_contacts(struct world *w, struct rng *r)
{
    static const uint64_t rates[] = {8000000000, 4000000000, 2666666666, 1600000000, 0};
    size_t want = w->late ? CONTACTS : rng_below(r, CONTACTS) + 1;
    uint64_t longest = UINT64_C(8) << rng_below(r, 4);
    for (size_t i = 0; i < want; i++) {
        struct window x = draw_window(w, r, longest);
        x.rate = rates[rng_below(r, 5)];
        x.sure = !rng_chance(r, 0.05);
        x.carries = carries(&x, 0);
        struct plan_contact c = {w->number[x.from], w->number[x.to], x.start, x.end, x.rate,
                                 x.sure ? 1 : 0.25};
        int rc = plan_add(w->plan, &c, &x.id);
        int want_rc = x.from == x.to                          ? HELIO_EINVAL
                      : overlaps(w->contact, w->contacts, &x) ? HELIO_EEXIST
                                                              : 0;
        if (rc != want_rc)
            fail(w, "plan_add", (uint64_t)-rc, (uint64_t)-want_rc);
        if (rc == 0)
            w->contact[w->contacts++] = x;
    }
}

static void draw_ranges(struct world *w, struct rng *r)
{
    bool always = w->late || rng_chance(r, 0.5);
    size_t want = rng_below(r, RANGES) + 1;
    for (size_t i = 0; i < want; i++) {
        struct window x = draw_window(w, r, 80);
        if (always && i < w->contacts) { /* each contact has one that covers it */
            x = w->contact[i];
            x.start = 0, x.end = 500;
        }
        x.owlt = rng_below(r, 30);
        struct plan_range range = {
            w->number[x.from], w->number[x.to], x.start, x.end, x.owlt, false};
        int rc = plan_add_range(w->plan, &range);
        int want_rc = x.from == x.to                      ? HELIO_EINVAL
                      : overlaps(w->range, w->ranges, &x) ? HELIO_EEXIST
                                                          : 0;
        if (rc != want_rc)
            fail(w, "plan_add_range", (uint64_t)-rc, (uint64_t)-want_rc);
        if (rc == 0)
            w->range[w->ranges++] = x;
    }
}

static void draw_bookings(struct world *w, struct rng *r)
{
    for (size_t i = 0; i < w->contacts; i++) {
        struct window *c = &w->contact[i];
        uint64_t left = unbooked(c, 0), bytes = rng_below(r, (left > 60 ? 60 : left) + 1);
        int priority = (int)rng_below(r, 3);
        struct plan_route one = {.hops = 1, .volume = bytes, .hop = {{.contact = c->id}}};
        if (rng_chance(r, 0.6) || bytes == 0)
            continue;
        if (plan_book(w->plan, &one, (enum plan_priority)priority) != 0)
            fail(w, "plan_book", 1, 0);
        c->booked[priority] += bytes;
    }
}

static void draw_query(struct world *w, struct rng *r)
{
    struct plan_query *q = &w->query;
    *q = (struct plan_query){.bytes = 1 + rng_below(r, 20),
                             .priority = (enum plan_priority)rng_below(r, 3),
                             .now = rng_below(r, 60),
                             .expiry = TICK_NEVER,
                             .excluded = w->excluded,
                             .backlog = w->backlog};
    if (rng_chance(r, 0.3))
        q->expiry = q->now + rng_below(r, 200);
    if (rng_chance(r, 0.3)) {
        q->excluded_len = 1 + rng_below(r, 2);
        for (size_t i = 0; i < q->excluded_len; i++)
            w->excluded[i] = w->number[rng_below(r, w->nodes)];
    }
    if (rng_chance(r, 0.3)) {
        uint64_t first = rng_below(r, w->nodes);
        for (size_t i = 0; i < 3 && i < w->nodes; i++)
            w->backlog[q->backlog_len++] =
                (struct plan_backlog){w->number[(first + i) % w->nodes], rng_below(r, 40)};
    }
}

static void draw_world(struct world *w, struct rng *r, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->seed = seed;
    w->nodes = 2 + (unsigned)rng_below(r, NODES - 1);
    w->late = rng_chance(r, 0.5);
    plan_config_default(&w->config);
    w->config.margin = rng_chance(r, 0.5);
    w->config.overhead_ppm = 0;
    w->config.overhead_min = rng_chance(r, 0.2) ? 3 : 0;
    w->config.confidence_min = 0.5;
    if (plan_new(&w->plan, &w->config) != 0)
        abort();
    for (unsigned i = 0; i < w->nodes; i++)
        w->number[i] = rng_chance(r, 0.1) ? UINT64_MAX - i : 100 + i;
    draw_contacts(w, r);
    draw_ranges(w, r);
    draw_bookings(w, r);
}

/* --- comparing --- */

static const struct window *by_id(const struct world *w, uint64_t id)
{
    for (size_t i = 0; i < w->contacts; i++) {
        if (w->contact[i].id == id)
            return &w->contact[i];
    }
    fail(w, "a contact that is not there", id, 0);
    return NULL;
}

/* Each hop can be done as it says. */
static void check_hops(const struct world *w, const struct plan_route *r, unsigned from,
                       unsigned to)
{
    uint64_t t = w->query.now, bytes = w->query.bytes + w->config.overhead_min;
    unsigned at = from, visited = 1U << from;
    for (size_t i = 0; i < r->hops; i++) {
        const struct plan_hop *h = &r->hop[i];
        const struct window *c = by_id(w, h->contact);
        if (c->from != at || (visited >> c->to & 1) != 0)
            fail(w, "the node of a hop", c->from, at);
        if (h->first_sent < t)
            fail(w, "a hop's first byte", h->first_sent, t);
        struct use use = prepare(w, c, bytes, false, from);
        uint64_t arrives = try_contact(w, c, &use, h->first_sent);
        if (h->last_arrives != arrives || h->last_sent != h->first_sent + takes(bytes, c->rate))
            fail(w, "a hop's last byte", h->last_arrives, arrives);
        t = arrives;
        at = c->to;
        visited |= 1U << at;
    }
    if (at != to || t != r->arrival)
        fail(w, "the end of the route", at, to);
}

static enum plan_reason expected(const struct world *w, unsigned from, unsigned to, uint64_t best)
{
    uint64_t bytes = w->query.bytes + w->config.overhead_min, expiry = w->query.expiry;
    if (best < expiry)
        return PLAN_FOUND;
    uint64_t empty = exhaustive(w, from, to, bytes, true);
    if (empty != NEVER)
        return empty < expiry ? PLAN_NO_VOLUME : PLAN_TOO_LATE;
    return exhaustive(w, from, to, 1, true) != NEVER ? PLAN_TOO_LONG : PLAN_NO_ROUTE;
}

static void compare(struct world *w, struct rng *r, size_t *counts)
{
    struct plan_route route;
    unsigned from = (unsigned)rng_below(r, w->nodes), to = (unsigned)rng_below(r, w->nodes);
    struct plan_totals totals;
    if (w->late && rng_chance(r, 0.75))
        to = w->nodes - 1;
    w->query.from = w->number[from];
    w->query.to = w->number[to];
    uint64_t best = exhaustive(w, from, to, w->query.bytes + w->config.overhead_min, false);
    enum plan_reason want = expected(w, from, to, best);
    enum plan_reason got = rng_chance(r, 0.5) ? plan_route_find(w->plan, &w->query, &route)
                                              : plan_route_search(w->plan, &w->query, &route);
    plan_totals(w->plan, &totals);
    if (totals.nodes < w->nodes && got == PLAN_NO_ROUTE && want != PLAN_FOUND)
        return; /* a node that no contact names is unknown, to itself as well */
    if (totals.nodes < w->nodes && from == to && got == PLAN_NO_ROUTE)
        return;
    if (got != want)
        fail(w, "the reason", got, want);
    counts[got]++;
    if (got != PLAN_FOUND)
        return;
    if (route.arrival != best)
        fail(w, "the arrival", route.arrival, best);
    check_hops(w, &route, from, to);
    const size_t fewest =
        exhaustive_hops(w, from, to, w->query.bytes + w->config.overhead_min, best);
    if (route.hops != fewest)
        fail(w, "the number of hops", route.hops, fewest);
}

int main(int argc, char **argv)
{
    unsigned long long first = 1, last = 10000;
    size_t counts[PLAN_TOO_LONG + 1] = {0};
    if (argc > 1 && (argc != 3 || strcmp(argv[1], "--seeds") != 0 ||
                     sscanf(argv[2], "%llu..%llu", &first, &last) != 2)) {
        fprintf(stderr, "usage: route_oracle [--seeds A..B]\n");
        return 2;
    }
    for (unsigned long long seed = first; seed <= last; seed++) {
        struct rng r;
        struct world w;
        rng_init(&r, seed);
        draw_world(&w, &r, seed);
        for (int i = 0; i < 4; i++) {
            draw_query(&w, &r);
            compare(&w, &r, counts);
            plan_check(w.plan);
        }
        plan_free(w.plan);
    }
    for (int i = 0; i <= PLAN_TOO_LONG; i++)
        printf("%-10s %zu\n", plan_reason_text((enum plan_reason)i), counts[i]);
    return 0;
}
