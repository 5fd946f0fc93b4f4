/* SPDX-License-Identifier: Apache-2.0 */
/* Contacts and ranges come, change and go; times, margins and reasons of single routes. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/route_help.h"
#include "tests/unit/suite.h"

START_TEST(contacts)
{
    struct plan *p = bare_plan();
    uint64_t id = add_contact(p, 1, 2, 10, 20, 8), other;
    struct plan_contact c = contact_s(1, 2, 15, 25, 8);
    ck_assert_int_eq(plan_add(p, &c, &other), HELIO_EEXIST);
    c = contact_s(1, 2, 5, 11, 8);
    ck_assert_int_eq(plan_add(p, &c, &other), HELIO_EEXIST);
    c = contact_s(1, 2, 0, 30, 8);
    ck_assert_int_eq(plan_add(p, &c, &other), HELIO_EEXIST);
    c = contact_s(1, 2, 20, 20, 8);
    ck_assert_int_eq(plan_add(p, &c, &other), HELIO_EINVAL);
    c = contact_s(1, 1, 20, 30, 8);
    ck_assert_int_eq(plan_add(p, &c, &other), HELIO_EINVAL);
    c = contact_s(1, 2, 20, 30, 8);
    c.confidence = 0;
    ck_assert_int_eq(plan_add(p, &c, &other), HELIO_EINVAL);
    c.confidence = 1;
    ck_assert_int_eq(plan_add(p, &c, &other), 0);
    ck_assert_uint_ne(other, id);
    ck_assert_uint_eq(plan_find(p, 1, 2, 10 * TICK_S), id);
    ck_assert_uint_eq(plan_find(p, 1, 2, 11 * TICK_S), 0);
    ck_assert_uint_eq(plan_find(p, 2, 1, 10 * TICK_S), 0);
    ck_assert_uint_eq(plan_at(p, 1, 2, 0), id);
    ck_assert_uint_eq(plan_at(p, 1, 2, 19 * TICK_S), id);
    ck_assert_uint_eq(plan_at(p, 1, 2, 20 * TICK_S), other);
    ck_assert_uint_eq(plan_at(p, 1, 2, 30 * TICK_S), 0);
    ck_assert_uint_eq(plan_volume(p, id), 10000000);
    plan_check(p);
    ck_assert_int_eq(plan_remove(p, id), 0);
    ck_assert_int_eq(plan_remove(p, id), HELIO_ENOENT);
    ck_assert_ptr_null(plan_get(p, id));
    ck_assert_uint_eq(plan_volume(p, id), 0);
    plan_check(p);
    plan_free(p);
}
END_TEST

START_TEST(changes)
{
    struct plan *p = bare_plan();
    uint64_t first = add_contact(p, 1, 2, 10, 20, 8), second = add_contact(p, 1, 2, 30, 40, 8);
    struct plan_contact c = contact_s(1, 2, 10, 31, 8);
    ck_assert_int_eq(plan_change(p, first, &c), HELIO_EEXIST);
    c = contact_s(2, 1, 10, 20, 8);
    ck_assert_int_eq(plan_change(p, first, &c), HELIO_EINVAL);
    c = contact_s(1, 2, 5, 29, 16);
    ck_assert_int_eq(plan_change(p, first, &c), 0);
    ck_assert_uint_eq(plan_volume(p, first), 48000000);
    ck_assert_int_eq(plan_change(p, 99, &c), HELIO_ENOENT);
    c = contact_s(1, 2, 50, 60, 8); /* behind the other */
    ck_assert_int_eq(plan_change(p, first, &c), 0);
    ck_assert_uint_eq(plan_at(p, 1, 2, 0), second);
    ck_assert_uint_eq(plan_at(p, 1, 2, 45 * TICK_S), first);
    c = contact_s(1, 2, 45, 55, 8); /* over itself */
    ck_assert_int_eq(plan_change(p, first, &c), 0);
    plan_check(p);
    ck_assert_uint_eq(plan_next_change(p, 1, 0), 30 * TICK_S);
    ck_assert_uint_eq(plan_next_change(p, 1, 30 * TICK_S), 40 * TICK_S);
    ck_assert_uint_eq(plan_next_change(p, 1, 40 * TICK_S), 45 * TICK_S);
    ck_assert_uint_eq(plan_next_change(p, 1, 55 * TICK_S), TICK_NEVER);
    ck_assert_uint_eq(plan_next_change(p, 7, 0), TICK_NEVER);
    ck_assert_uint_eq(plan_drop_past(p, 40 * TICK_S), 1);
    ck_assert_ptr_null(plan_get(p, second));
    plan_check(p);
    plan_free(p);
}
END_TEST

START_TEST(limits)
{
    struct plan_config config = bare_config();
    config.contacts_max = 2;
    config.nodes_max = 3;
    config.ranges_max = 1;
    struct plan *p = new_plan(&config);
    struct plan_contact c = contact_s(1, 2, 50, 60, 8);
    struct plan_range r = {1, 2, 0, 10, 1, false};
    uint64_t id;
    add_contact(p, 1, 2, 0, 10, 8);
    ck_assert_int_eq(plan_add_range(p, &r), 0);
    r.start = 20, r.end = 30;
    ck_assert_int_eq(plan_add_range(p, &r), HELIO_EAGAIN);
    c.from = 3, c.to = 4;
    ck_assert_int_eq(plan_add(p, &c, &id), HELIO_EAGAIN); /* a fourth node */
    c.to = 1;
    ck_assert_int_eq(plan_add(p, &c, &id), 0);
    c.to = 2;
    ck_assert_int_eq(plan_add(p, &c, &id), HELIO_EAGAIN); /* a third contact */
    plan_check(p);
    plan_free(p);
}
END_TEST

/* A pass: the range is a table; the way back holds where there is none. */
START_TEST(ranges)
{
    struct plan *p = bare_plan();
    struct plan_range r;
    add_range(p, 1, 2, 0, 10, 5 * TICK_MS);
    add_range(p, 1, 2, 10, 20, 4 * TICK_MS);
    add_range(p, 2, 1, 5, 15, 9 * TICK_MS);
    add_range(p, 2, 1, 25, 30, 7 * TICK_MS);
    r = (struct plan_range){1, 2, 9 * TICK_S, 12 * TICK_S, 1, false};
    ck_assert_int_eq(plan_add_range(p, &r), HELIO_EEXIST);
    static const struct {
        uint64_t from, to, at, start, end, owlt;
    } want[] = {{1, 2, 0, 0, 10, 5},   {1, 2, 12, 10, 20, 4}, {1, 2, 22, 25, 30, 7},
                {2, 1, 7, 5, 15, 9},   {2, 1, 4, 0, 5, 5},    {2, 1, 17, 10, 20, 4},
                {2, 1, 27, 25, 30, 7}, {1, 2, 26, 25, 30, 7}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        ck_assert_int_eq(plan_range_at(p, want[i].from, want[i].to, want[i].at * TICK_S, &r), 0);
        ck_assert_uint_eq(r.start, want[i].start * TICK_S);
        ck_assert_uint_eq(r.end, want[i].end * TICK_S);
        ck_assert_uint_eq(r.owlt, want[i].owlt * TICK_MS);
    }
    ck_assert_int_eq(plan_range_at(p, 1, 2, 30 * TICK_S, &r), HELIO_ENOENT);
    ck_assert_int_eq(plan_range_at(p, 1, 3, 0, &r), HELIO_ENOENT);
    ck_assert_int_eq(plan_remove_range(p, 1, 2, 10 * TICK_S), 0);
    ck_assert_int_eq(plan_remove_range(p, 1, 2, 10 * TICK_S), HELIO_ENOENT);
    ck_assert_int_eq(plan_range_at(p, 1, 2, 12 * TICK_S, &r), 0);
    ck_assert_uint_eq(r.owlt, 9 * TICK_MS);
    plan_check(p);
    plan_free(p);
}
END_TEST

START_TEST(times)
{
    struct plan *p = bare_plan();
    struct plan_route r;
    add_contact(p, 1, 2, 10, 20, 8);
    add_contact(p, 2, 3, 12, 30, 16);
    add_range(p, 1, 2, 0, 100, 500 * TICK_MS);
    add_range(p, 2, 3, 0, 100, 250 * TICK_MS);
    struct plan_query q = query_at(1, 3, 2000000, 0);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    ck_assert_uint_eq(r.hops, 2);
    ck_assert_uint_eq(r.hop[0].first_sent, 10 * TICK_S);
    ck_assert_uint_eq(r.hop[0].last_sent, 12 * TICK_S);
    ck_assert_uint_eq(r.hop[0].first_arrives, 10500 * TICK_MS);
    ck_assert_uint_eq(r.hop[0].last_arrives, 12500 * TICK_MS);
    ck_assert_int_eq(r.hop[0].why, PLAN_CONTACT);
    ck_assert_uint_eq(r.hop[1].first_sent, 12500 * TICK_MS);
    ck_assert_uint_eq(r.hop[1].last_sent, 13500 * TICK_MS);
    ck_assert_int_eq(r.hop[1].why, PLAN_READY);
    ck_assert_uint_eq(r.arrival, 13750 * TICK_MS);
    ck_assert_uint_eq(r.until, 20 * TICK_S);
    ck_assert_uint_eq(r.limit, 10000000); /* the first contact's ten seconds */
    q.backlog = &(struct plan_backlog){2, 3000000};
    q.backlog_len = 1;
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    ck_assert_uint_eq(r.hop[0].first_sent, 13 * TICK_S);
    ck_assert_int_eq(r.hop[0].why, PLAN_BACKLOG);
    q = query_at(1, 1, 5, 77);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    ck_assert_uint_eq(r.hops, 0);
    ck_assert_uint_eq(r.arrival, 77);
    plan_free(p);
}
END_TEST

/* SABR's overhead and margin. */
START_TEST(margins)
{
    struct plan_config config;
    struct plan_route r;
    plan_config_default(&config);
    struct plan *p = new_plan(&config);
    add_contact(p, 1, 2, 0, 1000, 8);
    add_range(p, 1, 2, 0, 1000, 186282 * TICK_US);
    struct plan_query q = query_at(1, 2, 1000, 0);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    ck_assert_uint_eq(r.volume, 1100); /* 100 is more than 3 % */
    ck_assert_uint_eq(r.arrival, 1100 * TICK_US + (186282 + 125) * TICK_US);
    q.bytes = 1000000;
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    ck_assert_uint_eq(r.volume, 1030000);
    plan_free(p);
}
END_TEST

START_TEST(reasons)
{
    struct plan *p = bare_plan();
    struct plan_route r;
    uint64_t id = add_contact(p, 1, 2, 10, 20, 8);
    add_contact(p, 2, 3, 0, 100, 8);
    struct plan_query q = query_at(1, 3, 1000000, 0);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_NO_ROUTE); /* no light times */
    add_range(p, 1, 2, 0, 100, 0);
    add_range(p, 3, 2, 0, 100, 0);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    ck_assert_uint_eq(r.arrival, 12 * TICK_S);
    q.expiry = 12 * TICK_S;
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_TOO_LATE);
    q.expiry++;
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    q.bytes = 11000000;
    q.expiry = TICK_NEVER;
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_TOO_LONG);
    q.bytes = 1000000;
    struct plan_route half = {.hops = 1, .volume = 9500000, .hop = {{.contact = id}}};
    ck_assert_int_eq(plan_book(p, &half, PLAN_NORMAL), 0);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_NO_VOLUME);
    q.priority = PLAN_EXPEDITED;
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    q.excluded = (uint64_t[]){9, 2};
    q.excluded_len = 2;
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_NO_ROUTE);
    q = query_at(3, 1, 1, 0);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_NO_ROUTE);
    q = query_at(1, 77, 1, 0);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_NO_ROUTE);
    ck_assert_str_eq(plan_reason_text(PLAN_TOO_LONG), "too long");
    ck_assert_str_eq(plan_why_text(PLAN_BACKLOG), "backlog");
    plan_free(p);
}
END_TEST

/* Extremes of 64 bits neither overflow nor arrive. */
START_TEST(extremes)
{
    struct plan *p = bare_plan();
    struct plan_route r;
    struct plan_contact c = {1, 2, 0, TICK_NEVER, UINT64_MAX, 1};
    uint64_t id;
    ck_assert_int_eq(plan_add(p, &c, &id), 0);
    ck_assert_uint_eq(plan_volume(p, id), UINT64_MAX);
    c = (struct plan_contact){2, UINT64_MAX, 0, TICK_NEVER, 1, 1};
    ck_assert_int_eq(plan_add(p, &c, &id), 0);
    struct plan_range range = {1, 2, 0, TICK_NEVER, TICK_NEVER - 1, false};
    ck_assert_int_eq(plan_add_range(p, &range), 0);
    struct plan_query q = query_at(1, 2, UINT64_MAX, TICK_NEVER - 10);
    ck_assert_int_ne(plan_route_find(p, &q, &r), PLAN_FOUND);
    ck_assert_int_eq(plan_remove_range(p, 1, 2, 0), 0);
    range.owlt = 3;
    ck_assert_int_eq(plan_add_range(p, &range), 0);
    q = query_at(1, 2, 1, TICK_NEVER - 5);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    ck_assert_uint_eq(r.arrival, TICK_NEVER - 1);
    q.now++;
    ck_assert_int_ne(plan_route_find(p, &q, &r), PLAN_FOUND);
    plan_check(p);
    plan_free(p);
}
END_TEST

/* A line longer than PLAN_HOPS_MAX is no route; one as long is. */
START_TEST(long_lines)
{
    struct plan *p = bare_plan();
    struct plan_route *r = malloc(sizeof *r);
    for (uint64_t i = 0; i <= PLAN_HOPS_MAX; i++) {
        add_contact(p, i, i + 1, 0, 100, 8);
        add_range(p, i, i + 1, 0, 100, TICK_MS);
    }
    struct plan_query q = query_at(0, PLAN_HOPS_MAX, 1, 0);
    ck_assert_int_eq(plan_route_find(p, &q, r), PLAN_FOUND);
    ck_assert_uint_eq(r->hops, PLAN_HOPS_MAX);
    q.to++;
    ck_assert_int_eq(plan_route_find(p, &q, r), PLAN_NO_ROUTE);
    free(r);
    plan_free(p);
}
END_TEST

START_TEST(walks)
{
    struct plan *p = bare_plan();
    struct plan_cursor at = {0};
    struct plan_range range;
    uint64_t id, seen = 0;
    add_contact(p, 1, 2, 10, 20, 8);
    add_contact(p, 2, 1, 10, 20, 8);
    add_contact(p, 1, 2, 0, 5, 8);
    add_range(p, 5, 1, 0, 5, 8);
    tick last = 0;
    for (const struct plan_contact *c; (c = plan_walk(p, &at, &id)) != NULL; seen++) {
        ck_assert_ptr_eq(c, plan_get(p, id));
        ck_assert(seen != 1 || c->start > last);
        last = c->start;
    }
    ck_assert_uint_eq(seen, 3);
    at = (struct plan_cursor){0};
    ck_assert(plan_walk_ranges(p, &at, &range));
    ck_assert_uint_eq(range.from, 5);
    ck_assert(!plan_walk_ranges(p, &at, &range));
    plan_free(p);
}
END_TEST

/* 1 to 4: node 3 is reached first over 2, later without it, and early enough for the only contact
 * with 4 in both cases. Each hop takes volume, so the shorter route is the better one. */
START_TEST(fewest_hops_of_those_that_arrive_first)
{
    static struct plan_route r[3];
    struct plan *p = bare_plan();
    add_contact(p, 1, 2, 0, 10, 8);
    add_contact(p, 2, 3, 0, 10, 8);
    add_contact(p, 1, 3, 20, 30, 8);
    add_contact(p, 3, 4, 50, 60, 8);
    for (uint64_t i = 1; i < 4; i++)
        add_range(p, i, i + 1, 0, 100, 0);
    add_range(p, 1, 3, 0, 100, 0);
    struct plan_query q = query_at(1, 4, 1000, 0);
    ck_assert_int_eq(plan_route_search(p, &q, &r[0]), PLAN_FOUND);
    ck_assert_uint_eq(r[0].hops, 2);
    ck_assert_uint_eq(r[0].arrival, 50 * TICK_S + TICK_MS);
    ck_assert_uint_eq(r[0].hop[0].to, 3);
    ck_assert_uint_eq(r[0].hop[0].first_sent, 20 * TICK_S);
    /* What is found behind a backlog that makes it three hops is not kept for those without. */
    const struct plan_backlog backlog = {3, 11000000};
    q.backlog = &backlog;
    q.backlog_len = 1;
    ck_assert_int_eq(plan_route_find(p, &q, &r[0]), PLAN_FOUND);
    ck_assert_uint_eq(r[0].hops, 3);
    q.backlog_len = 0;
    ck_assert_int_eq(plan_route_find(p, &q, &r[0]), PLAN_FOUND);
    ck_assert_uint_eq(r[0].hops, 2);
    /* The alternatives come in that order, too. */
    ck_assert_int_eq(plan_route_several(p, &q, r, 3), 2);
    ck_assert_uint_eq(r[0].hops, 2);
    ck_assert_uint_eq(r[1].hops, 3);
    ck_assert_uint_eq(r[1].arrival, r[0].arrival);
    plan_free(p);
}
END_TEST

static uint64_t searches(const struct plan *p)
{
    struct plan_totals t;
    plan_totals(p, &t);
    return t.searches;
}

/* What goes nowhere, or is too late, costs a search once, as what has a route does. */
START_TEST(no_route_is_kept)
{
    struct plan *p = bare_plan();
    struct plan_route r;
    for (uint64_t i = 1; i < 5; i++) {
        add_contact(p, i, i + 1, 100, 200, 8);
        add_range(p, i, i + 1, 0, 1000, TICK_MS);
    }
    add_contact(p, 6, 5, 0, 1000, 8);
    for (int i = 0; i < 1000; i++) {
        struct plan_query q = query_at(1, 5, 1000 + (uint64_t)i % 20, (tick)i * TICK_MS);
        q.expiry = 100 * TICK_S;
        ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_TOO_LATE);
        q.to = 6;
        ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_NO_ROUTE);
    }
    ck_assert_uint_le(searches(p), 20);
    struct plan_query q = query_at(1, 5, 1000, 10 * TICK_S);
    q.expiry = 101 * TICK_S;
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    add_contact(p, 1, 6, 20, 30, 8); /* it is a route from now on */
    add_range(p, 1, 6, 0, 1000, TICK_MS);
    q.to = 6;
    q.expiry = 31 * TICK_S;
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    plan_free(p);
}
END_TEST

/* A node without links to most of its neighbours. */
START_TEST(begin_by_neighbours)
{
    struct plan *p = bare_plan();
    struct plan_route r;
    const uint64_t some[] = {41, 12};
    for (uint64_t i = 10; i < 50; i++) {
        add_contact(p, 1, i, i, 1000, 8);
        add_contact(p, i, 2, 0, 1000, 8);
        add_range(p, 1, i, 0, 1000, TICK_MS);
        add_range(p, i, 2, 0, 1000, TICK_MS);
    }
    struct plan_query q = query_at(1, 2, 1000, 0);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    ck_assert_uint_eq(r.hop[0].to, 10);
    ck_assert_int_eq(plan_begin_by(p, 1, some, 2), 0);
    for (int i = 0; i < 100; i++, q.now++) {
        ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
        ck_assert_uint_eq(r.hop[0].to, 12);
    }
    ck_assert_uint_le(searches(p), 4);
    const uint64_t without[] = {12};
    q.excluded = without;
    q.excluded_len = 1;
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_FOUND);
    ck_assert_uint_eq(r.hop[0].to, 41);
    ck_assert_uint_eq(plan_route_all(p, &q, &r, 1), 1);
    ck_assert_uint_eq(r.hop[0].to, 41);
    ck_assert_int_eq(plan_begin_by(p, 1, NULL, 0), 0);
    ck_assert_int_eq(plan_route_find(p, &q, &r), PLAN_NO_ROUTE);
    struct plan_query other = query_at(20, 2, 1000, 0); /* of another node */
    ck_assert_int_eq(plan_route_find(p, &other, &r), PLAN_FOUND);
    plan_free(p);
}
END_TEST

SUITE(route_plan, t)
{
    tcase_add_test(t, fewest_hops_of_those_that_arrive_first);
    tcase_add_test(t, contacts);
    tcase_add_test(t, changes);
    tcase_add_test(t, limits);
    tcase_add_test(t, ranges);
    tcase_add_test(t, times);
    tcase_add_test(t, margins);
    tcase_add_test(t, reasons);
    tcase_add_test(t, extremes);
    tcase_add_test(t, long_lines);
    tcase_add_test(t, walks);
    tcase_add_test(t, no_route_is_kept);
    tcase_add_test(t, begin_by_neighbours);
}
