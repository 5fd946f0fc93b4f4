/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties on drawn plans. Volumes: whatever is booked, given back, changed and removed, no
 * contact has more booked than it carries, and what is booked and owed is what was asked for.
 * Cache: an answer from it arrives when that of a search does, whatever happened to the plan in
 * between. Ways: Yen's routes are those of an enumeration, and critical ones leave by every
 * neighbour.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tests/unit/route_help.h"
#include "tests/unit/suite.h"

#define NODES 7
#define ROUTES 64

static void draw_contact(struct rng *r, struct plan_contact *c)
{
    c->from = rng_below(r, NODES);
    c->to = rng_below(r, NODES);
    c->start = rng_below(r, 1000);
    c->end = c->start + 1 + rng_below(r, 150);
    c->rate = 8 * TICK_S / (1 + rng_below(r, 4)) * (rng_below(r, 20) > 0);
    c->confidence = 1;
}

static void add_some(struct plan *p, struct rng *r, size_t n)
{
    struct plan_contact c;
    uint64_t id;
    for (size_t i = 0; i < n; i++) {
        draw_contact(r, &c);
        plan_add(p, &c, &id);
        struct plan_range range = {c.from, c.to, rng_below(r, 900), 0, rng_below(r, 40), false};
        range.end = range.start + 1 + rng_below(r, 600);
        plan_add_range(p, &range);
    }
}

static uint64_t any_contact(const struct plan *p, struct rng *r)
{
    return plan_at(p, rng_below(r, NODES), rng_below(r, NODES), rng_below(r, 1000));
}

static void change_something(struct plan *p, struct rng *r, tick now)
{
    struct plan_contact c;
    uint64_t id = any_contact(p, r);
    switch (rng_below(r, 6)) {
    case 0:
        if (id != 0)
            ck_assert_int_eq(plan_remove(p, id), 0);
        break;
    case 1:
    case 2:
        draw_contact(r, &c);
        if (id != 0) {
            c.from = plan_get(p, id)->from;
            c.to = plan_get(p, id)->to;
            c.start = rng_chance(r, 0.5) ? plan_get(p, id)->start : c.start;
            c.end = c.start + 1 + rng_below(r, 150);
            plan_change(p, id, &c);
        }
        break;
    case 3:
        plan_drop_past(p, now);
        break;
    case 4:
        if (id != 0) {
            struct plan_range range;
            const struct plan_contact *k = plan_get(p, id);
            if (plan_range_at(p, k->from, k->to, 0, &range) == 0)
                plan_remove_range(p, k->from, k->to, range.start);
        }
        break;
    default:
        add_some(p, r, 3);
    }
}

struct lists {
    uint64_t excluded[1];
    struct plan_backlog backlog[1];
    struct plan_yield yields[1];
};

static struct plan_query draw_query(struct rng *r, tick now, struct lists *of)
{
    struct plan_query q = query_at(rng_below(r, 2), rng_below(r, NODES), 1 + rng_below(r, 30), now);
    q.priority = (enum plan_priority)rng_below(r, PLAN_PRIORITIES);
    q.excluded = of->excluded;
    q.backlog = of->backlog;
    q.yields = of->yields;
    if (rng_chance(r, 0.2))
        of->excluded[q.excluded_len++] = rng_below(r, NODES);
    if (rng_chance(r, 0.2))
        of->backlog[q.backlog_len++] = (struct plan_backlog){rng_below(r, NODES), rng_below(r, 60)};
    if (rng_chance(r, 0.3))
        of->yields[q.yields_len++] = (struct plan_yield){rng_below(r, NODES), rng_below(r, 60)};
    if (rng_chance(r, 0.1))
        q.expiry = now + rng_below(r, 300);
    return q;
}

static int book(struct plan *p, const struct plan_query *q, const struct plan_route *route)
{
    const bool yields =
        q->yields_len > 0 && route->hops > 0 && route->hop[0].to == q->yields[0].neighbour;
    return plan_book_yield(p, route, q->priority, yields ? q->yields[0].bytes : 0);
}

static struct plan *draw_plan(struct rng *r, uint64_t seed, size_t cache)
{
    struct plan_config config = bare_config();
    config.cache_max = cache;
    rng_init(r, seed);
    struct plan *p = new_plan(&config);
    add_some(p, r, 10 + rng_below(r, 80));
    return p;
}

struct booked {
    struct plan_route route;
    enum plan_priority priority;
    bool held;
};

/* What the plan holds of each contact is what those who hold it count. */
static void count_bookings(const struct plan *p, const struct booked *all)
{
    struct plan_cursor at = {0};
    uint64_t id;
    for (const struct plan_contact *c; (c = plan_walk(p, &at, &id)) != NULL;) {
        uint64_t sum[PLAN_PRIORITIES] = {0}, total = 0;
        for (size_t i = 0; i < ROUTES; i++) {
            for (size_t j = 0; all[i].held && j < all[i].route.hops; j++)
                sum[all[i].priority] += all[i].route.hop[j].contact == id ? all[i].route.volume : 0;
        }
        for (int k = 0; k < PLAN_PRIORITIES; k++) {
            uint64_t booked = plan_booked(p, id, (enum plan_priority)k);
            ck_assert_uint_eq(booked + plan_owed(p, id, (enum plan_priority)k), sum[k]);
            total += booked;
        }
        ck_assert_uint_le(total, plan_volume(p, id));
    }
}

START_TEST(volumes)
{
    struct rng r;
    struct lists lists;
    struct plan *p = draw_plan(&r, 1000 + (uint64_t)_i, 8);
    struct booked *all = calloc(ROUTES, sizeof *all);
    size_t booked = 0, refused = 0;
    tick now = 0;
    for (int step = 0; step < 400; step++) {
        struct booked *b = &all[rng_below(&r, ROUTES)];
        struct plan_query q = draw_query(&r, now, &lists);
        if (b->held) {
            plan_unbook(p, &b->route, b->priority);
            b->held = false;
        }
        b->priority = q.priority;
        if (plan_route_find(p, &q, &b->route) == PLAN_FOUND) {
            /* What was found has room. */
            b->held = book(p, &q, &b->route) == 0;
            ck_assert(b->held);
            booked++;
        } else {
            refused++;
        }
        if (rng_chance(&r, 0.1))
            change_something(p, &r, now);
        now += rng_below(&r, 3);
        plan_check(p);
        count_bookings(p, all);
    }
    ck_assert_uint_gt(booked + refused, 0);
    for (size_t i = 0; i < ROUTES; i++) {
        if (all[i].held)
            plan_unbook(p, &all[i].route, all[i].priority);
        all[i].held = false;
    }
    count_bookings(p, all);
    free(all);
    plan_free(p);
}
END_TEST

/* A higher class takes the place of a lower one, which hears of it. */
START_TEST(displaced)
{
    struct plan *p = bare_plan();
    uint64_t id = add_contact(p, 1, 2, 0, 10, 8); /* 10 MB */
    struct plan_route r = {.hops = 1, .volume = 4000000, .hop = {{.contact = id}}};
    ck_assert_int_eq(plan_book(p, &r, PLAN_BULK), 0);
    ck_assert_int_eq(plan_book(p, &r, PLAN_NORMAL), 0);
    ck_assert_int_eq(plan_book(p, &r, PLAN_BULK), HELIO_EAGAIN);
    ck_assert_uint_eq(plan_left(p, id, PLAN_BULK), 2000000);
    ck_assert_uint_eq(plan_left(p, id, PLAN_EXPEDITED), 10000000);
    ck_assert_int_eq(plan_book(p, &r, PLAN_EXPEDITED), 0);
    ck_assert_uint_eq(plan_owed(p, id, PLAN_BULK), 2000000);
    ck_assert_uint_eq(plan_booked(p, id, PLAN_BULK), 2000000);
    ck_assert_int_eq(plan_book(p, &r, PLAN_EXPEDITED), 0);
    ck_assert_uint_eq(plan_owed(p, id, PLAN_BULK), 4000000);
    ck_assert_uint_eq(plan_owed(p, id, PLAN_NORMAL), 2000000);
    ck_assert_int_eq(plan_book(p, &r, PLAN_EXPEDITED), HELIO_EAGAIN);
    plan_unbook(p, &r, PLAN_BULK); /* it looks for another way */
    ck_assert_uint_eq(plan_owed(p, id, PLAN_BULK), 0);
    struct plan_contact c = contact_s(1, 2, 0, 5, 8); /* cut short */
    ck_assert_int_eq(plan_change(p, id, &c), 0);
    ck_assert_uint_eq(plan_booked(p, id, PLAN_EXPEDITED), 5000000);
    ck_assert_uint_eq(plan_owed(p, id, PLAN_EXPEDITED), 3000000);
    ck_assert_uint_eq(plan_owed(p, id, PLAN_NORMAL), 4000000);
    plan_check(p);
    plan_remove(p, id);
    ck_assert_int_eq(plan_book(p, &r, PLAN_BULK), HELIO_ENOENT);
    plan_free(p);
}
END_TEST

/* Of the nodes that are asked about, one has links to some only. */
static void change_links(struct plan *p, struct rng *r)
{
    uint64_t to[NODES];
    size_t len = 0;
    for (uint64_t n = NODES; n-- > 0;) {
        if (rng_chance(r, 0.6))
            to[len++] = n;
    }
    ck_assert_int_eq(plan_begin_by(p, rng_below(r, 2), to, len), 0);
}

START_TEST(cached)
{
    struct rng r;
    struct lists lists;
    struct plan *p = draw_plan(&r, 5000 + (uint64_t)_i, 1 + (size_t)_i % 12);
    struct plan_route *warm = calloc(2, sizeof *warm), *cold = warm + 1;
    tick now = 0;
    for (int step = 0; step < 600; step++) {
        struct plan_query q = draw_query(&r, now, &lists);
        enum plan_reason a = plan_route_find(p, &q, warm), b = plan_route_search(p, &q, cold);
        ck_assert_int_eq(a, b);
        if (a == PLAN_FOUND) {
            ck_assert_uint_eq(warm->arrival, cold->arrival);
            ck_assert_uint_eq(warm->volume, cold->volume);
            if (rng_chance(&r, 0.1))
                ck_assert_int_eq(book(p, &q, warm), 0);
            else if (rng_chance(&r, 0.1))
                plan_unbook(p, warm, q.priority);
        }
        if (rng_chance(&r, 0.05))
            change_something(p, &r, now);
        if (rng_chance(&r, 0.01))
            change_links(p, &r);
        now += rng_chance(&r, 0.2) ? rng_below(&r, 10) : 0;
        now -= rng_chance(&r, 0.01) && now > 20 ? 20 : 0;
        plan_check(p);
    }
    struct plan_totals t;
    plan_totals(p, &t);
    ck_assert_uint_gt(t.hits + t.misses, 0);
    free(warm);
    plan_free(p);
}
END_TEST

/* A stream over a lasting contact is answered from the cache, although each answer is another. */
START_TEST(streams)
{
    struct plan *p = bare_plan();
    struct plan_route r;
    struct plan_totals t;
    add_contact(p, 1, 2, 0, 1000, 100);
    add_contact(p, 2, 3, 0, 1000, 100);
    add_contact(p, 1, 4, 100, 1000, 100);
    add_contact(p, 4, 3, 100, 1000, 100);
    for (uint64_t i = 1; i < 5; i++)
        add_range(p, i, i % 4 + 1, 0, 1000, 10 * TICK_MS);
    for (int i = 0; i < 1000; i++) {
        struct plan_query q = query_at(1, 3, 500000 + (uint64_t)i, (tick)i * 50 * TICK_MS);
        ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
        ck_assert_uint_eq(r.hop[0].to, 2);
        ck_assert_uint_eq(r.hop[0].first_sent, q.now);
    }
    plan_totals(p, &t);
    ck_assert_uint_le(t.misses, 10); /* sizes of two powers of two; floor, then rest */
    /* Something far away does not drop it; something that might help does. */
    uint64_t hits = t.hits;
    struct plan_query q = query_at(1, 3, 500999, 51 * TICK_S);
    add_contact(p, 5, 3, 900, 950, 100);
    plan_route_find(p, &q, &r);
    plan_totals(p, &t);
    ck_assert_uint_eq(t.hits, hits + 1);
    add_contact(p, 1, 3, 40, 60, 100);
    add_range(p, 1, 3, 0, 100, 0);
    plan_route_find(p, &q, &r);
    ck_assert_uint_eq(r.hops, 1);
    plan_free(p);
}
END_TEST

/* A full contact yields to some queries: to some of these a part of what they need, to others all
 * of it. The cache answers most of them. */
START_TEST(yields)
{
    struct plan *p = bare_plan();
    struct plan_route r = {.hops = 1};
    struct plan_totals t;
    const uint64_t id = add_contact(p, 1, 2, 0, 1000, 100);
    add_contact(p, 2, 3, 0, 1000, 100);
    add_contact(p, 1, 4, 0, 1000, 100);
    add_contact(p, 4, 3, 0, 1000, 100);
    for (uint64_t i = 2; i <= 4; i += 2) {
        add_range(p, 1, i, 0, 1000, i * TICK_S);
        add_range(p, i, 3, 0, 1000, TICK_S);
    }
    r.hop[0].contact = id;
    r.volume = plan_volume(p, id);
    ck_assert_int_eq(plan_book(p, &r, PLAN_NORMAL), 0);
    for (uint64_t i = 0; i < 1000; i++) {
        const struct plan_yield yield = {2, i % 2 == 0 ? 400000 : 600000};
        struct plan_query q = query_at(1, 3, 500000, (tick)i * 50 * TICK_MS);
        q.priority = PLAN_NORMAL;
        q.yields = &yield;
        ck_assert_int_eq(plan_yield_helps(p, &q, &yield), i % 2 == 1);
        q.yields_len = i % 3 == 0 ? 0 : 1;
        ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
        ck_assert_uint_eq(r.hop[0].to, i % 2 == 1 && q.yields_len > 0 ? 2 : 4);
        q.yields_len = i % 2;
        ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    }
    plan_totals(p, &t);
    ck_assert_uint_ge(t.hits, 1000);
    plan_free(p);
}
END_TEST

/* --- all routes, by trying --- */

struct listing {
    struct plan *plan;
    const struct plan_query *query;
    tick arrivals[4096];
    size_t len;
};

/* Every sequence of contacts that visits no node twice; a contact by itself is a plan of one. */
static void list_routes(struct listing *l, uint64_t at, tick ready, unsigned visited)
{
    if (at == l->query->to) {
        ck_assert_uint_lt(l->len, 4096);
        l->arrivals[l->len++] = ready;
        return;
    }
    struct plan_cursor cursor = {0};
    uint64_t id;
    for (const struct plan_contact *c; (c = plan_walk(l->plan, &cursor, &id)) != NULL;) {
        struct plan_range range;
        struct plan_route r;
        if (c->from != at || (visited >> c->to & 1) != 0)
            continue;
        struct plan_config config = bare_config();
        struct plan *one = new_plan(&config);
        uint64_t same;
        ck_assert_int_eq(plan_add(one, c, &same), 0);
        for (tick t = 0; plan_range_at(l->plan, c->from, c->to, t, &range) == 0; t = range.end) {
            range.start = range.start > t ? range.start : t;
            ck_assert_int_eq(plan_add_range(one, &range), 0);
        }
        struct plan_query q = *l->query;
        q.from = at;
        q.to = c->to;
        q.now = ready;
        uint64_t to = c->to;
        if (plan_route_search(one, &q, &r) == PLAN_FOUND)
            list_routes(l, to, r.arrival, visited | 1U << to);
        plan_free(one);
    }
}

static int compare_ticks(const void *a, const void *b)
{
    tick x = *(const tick *)a, y = *(const tick *)b;
    return x < y ? -1 : x > y;
}

START_TEST(several)
{
    struct rng r;
    struct plan_config config = bare_config();
    rng_init(&r, 9000 + (uint64_t)_i);
    struct plan *p = new_plan(&config);
    add_some(p, &r, 14);
    struct listing *l = calloc(1, sizeof *l);
    struct plan_route *ways = calloc(40, sizeof *ways), *all = calloc(NODES, sizeof *all);
    struct plan_query q = query_at(0, 1 + rng_below(&r, NODES - 1), 1 + rng_below(&r, 9), 0);
    *l = (struct listing){.plan = p, .query = &q};
    list_routes(l, 0, 0, 1);
    qsort(l->arrivals, l->len, sizeof l->arrivals[0], compare_ticks);
    int n = plan_route_several(p, &q, ways, 40);
    ck_assert_int_eq(n, l->len < 40 ? (int)l->len : 40);
    for (int i = 0; i < n; i++)
        ck_assert_uint_eq(ways[i].arrival, l->arrivals[i]);
    /* By every neighbour that any route begins with; each as early as it can be. */
    size_t neighbours = plan_route_all(p, &q, all, NODES);
    for (size_t i = 0; i < neighbours; i++) {
        for (int j = 0; j < n; j++)
            ck_assert(ways[j].hop[0].to != all[i].hop[0].to || ways[j].arrival >= all[i].arrival);
    }
    for (int j = 0; j < n; j++) {
        bool has = false;
        for (size_t i = 0; i < neighbours; i++)
            has |= all[i].hop[0].to == ways[j].hop[0].to;
        ck_assert(has);
    }
    free(all);
    free(ways);
    free(l);
    plan_free(p);
}
END_TEST

SUITE(route_random, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, volumes, 0, 12);
    tcase_add_test(t, displaced);
    tcase_add_loop_test(t, cached, 0, 40);
    tcase_add_test(t, yields);
    tcase_add_test(t, streams);
    tcase_add_loop_test(t, several, 0, 60);
}
