/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan says of a link: each way by itself, late by the light, over a pass, and until when.
 */

#include "base/rng.h"
#include "node/plan/plan_link.h"
#include "tests/unit/suite.h"

#define MBIT UINT64_C(1000000)
#define MS(n) ((n)*TICK_MS)
#define S(n) ((n)*TICK_S)

static struct plan *new_plan(void)
{
    struct plan_config config;
    struct plan *p;
    plan_config_default(&config);
    ck_assert_int_eq(plan_new(&p, &config), 0);
    return p;
}

static void add_contact(struct plan *p, uint64_t from, uint64_t to, tick start, tick end,
                        uint64_t rate)
{
    struct plan_contact c = {from, to, start, end, rate, 1};
    uint64_t id;
    ck_assert_int_eq(plan_add(p, &c, &id), 0);
}

static void add_range(struct plan *p, uint64_t from, uint64_t to, tick start, tick end, tick owlt)
{
    struct plan_range r = {from, to, start, end, owlt, false};
    ck_assert_int_eq(plan_add_range(p, &r), 0);
}

static struct plan_link at(const struct plan *p, tick now)
{
    struct plan_link l;
    plan_link_at(p, 1, 2, now, &l);
    ck_assert_uint_gt(l.until, now);
    return l;
}

START_TEST(says_nothing_of_others)
{
    struct plan *p = new_plan();
    add_contact(p, 2, 3, 0, S(10), MBIT);
    ck_assert(!at(p, 0).known);
    ck_assert_uint_eq(at(p, 0).until, TICK_NEVER);
    plan_free(p);
}
END_TEST

START_TEST(each_way_by_itself)
{
    struct plan *p = new_plan();
    add_contact(p, 1, 2, S(10), S(20), 5 * MBIT);
    add_contact(p, 2, 1, S(15), S(30), MBIT);
    add_range(p, 1, 2, 0, S(100), MS(200));
    struct plan_link l = at(p, S(5));
    ck_assert_uint_eq(l.next, S(10));
    ck_assert_uint_eq(at(p, S(12)).next, S(12));
    ck_assert_uint_eq(at(p, S(20)).next, TICK_NEVER);
    ck_assert(l.known && !l.transmit && !l.receive && !l.last_ended);
    ck_assert_uint_eq(l.until, S(10));
    l = at(p, S(10));
    ck_assert(l.transmit && !l.receive);
    ck_assert_uint_eq(l.rate, 5 * MBIT);
    ck_assert_uint_eq(l.until, S(15) + MS(200)); /* when the neighbour's light is here */
    ck_assert(!at(p, l.until - 1).receive);
    l = at(p, l.until);
    ck_assert(l.transmit && l.receive);
    ck_assert_uint_eq(l.until, S(20));
    l = at(p, S(20));
    ck_assert(!l.transmit && l.receive && l.last_ended && !l.silent);
    ck_assert_uint_eq(l.until, S(30) + MS(200)); /* what it sent last arrives */
    l = at(p, l.until);
    ck_assert(l.known && !l.transmit && !l.receive && l.last_ended && l.silent);
    plan_free(p);
}
END_TEST

/* 20 minutes away, contacts of a minute each five: four of them are on their way. */
START_TEST(light_of_former_contacts)
{
    struct plan *p = new_plan();
    add_range(p, 1, 2, 0, S(100000), S(1200));
    for (uint64_t i = 0; i < 6; i++)
        add_contact(p, 2, 1, S(300 * i), S(300 * i + 60), MBIT);
    for (uint64_t i = 0; i < 6; i++) {
        ck_assert(!at(p, S(1200 + 300 * i) - 1).receive);
        ck_assert_uint_eq(at(p, S(1200 + 300 * i) - 1).until, S(1200 + 300 * i));
        ck_assert(at(p, S(1200 + 300 * i)).receive);
        ck_assert(at(p, S(1260 + 300 * i) - 1).receive);
        ck_assert(!at(p, S(1260 + 300 * i)).receive);
    }
    ck_assert(at(p, 0).last_ended);
    plan_free(p);
}
END_TEST

START_TEST(rates_of_contacts_in_a_row)
{
    struct plan *p = new_plan();
    add_contact(p, 1, 2, 0, S(10), 100 * MBIT);
    add_contact(p, 1, 2, S(10), S(20), 10 * MBIT);
    ck_assert_uint_eq(at(p, 0).rate, 100 * MBIT);
    ck_assert_uint_eq(at(p, 0).until, S(10));
    ck_assert_uint_eq(at(p, S(10)).rate, 10 * MBIT);
    ck_assert(at(p, S(10)).transmit);
    ck_assert_uint_eq(at(p, 0).round_trip, TICK_NEVER); /* the plan has no light time */
    plan_free(p);
}
END_TEST

/* 8 ms, 5 ms, 9 ms: longer ones count ahead, shorter ones from when they are. */
START_TEST(a_pass)
{
    struct plan *p = new_plan();
    add_contact(p, 1, 2, 0, S(30), MBIT);
    add_range(p, 1, 2, 0, S(10), MS(8));
    add_range(p, 1, 2, S(10), S(20), MS(5));
    add_range(p, 1, 2, S(20), S(30), MS(9));
    ck_assert_uint_eq(at(p, 0).round_trip, MS(16));
    ck_assert_uint_eq(at(p, S(10) - 1).round_trip, MS(16));
    ck_assert_uint_eq(at(p, S(10)).round_trip, MS(10));
    struct plan_link l = at(p, S(11));
    ck_assert_uint_eq(l.round_trip, MS(10));
    ck_assert_uint_lt(l.until, S(20) - MS(10));
    ck_assert_uint_gt(l.until, S(19));
    ck_assert_uint_eq(at(p, l.until).round_trip, MS(18));
    ck_assert_uint_eq(at(p, S(20)).round_trip, MS(18));
    plan_free(p);
}
END_TEST

/* The way there and the way back differ; where no light time is known the next one counts. */
START_TEST(light_of_both_ways)
{
    struct plan *p = new_plan();
    add_contact(p, 1, 2, 0, S(30), MBIT);
    add_range(p, 1, 2, S(5), S(30), MS(8));
    add_range(p, 2, 1, S(10), S(30), MS(20));
    ck_assert_uint_eq(at(p, 0).round_trip, MS(16));
    ck_assert_uint_eq(at(p, S(6)).round_trip, MS(16));
    ck_assert_uint_eq(at(p, S(10)).round_trip, MS(28));
    plan_free(p);
}
END_TEST

/* What holds until `until` is the same as at any time before; and what is sent is answered within
 * the round trip, whenever that is. */
static void check_drawn(uint64_t seed)
{
    struct rng r;
    struct plan *p = new_plan();
    rng_init(&r, seed);
    for (uint64_t way = 0; way < 2; way++) {
        tick t = rng_below(&r, S(5));
        for (int i = 0; i < 12; i++) {
            tick end = t + 1 + rng_below(&r, S(3));
            add_contact(p, 1 + way, 2 - way, t, end, MBIT * (1 + rng_below(&r, 3)));
            t = end + (rng_below(&r, 2) == 0 ? 0 : rng_below(&r, S(2)));
        }
        for (t = 0; t < S(40);) {
            tick end = t + 1 + rng_below(&r, S(2));
            add_range(p, 1 + way, 2 - way, t, end, MS(450) + rng_below(&r, MS(450)));
            t = end;
        }
    }
    for (tick now = 0; now < S(30);) {
        const struct plan_link l = at(p, now);
        for (int i = 0; i < 20; i++) {
            tick last = tick_min(l.until, S(31)) - 1, t = now + rng_below(&r, last - now + 1);
            const struct plan_link m = at(p, t);
            ck_assert(l.transmit == m.transmit && l.receive == m.receive && l.rate == m.rate);
            ck_assert_uint_eq(l.round_trip, m.round_trip);
            struct plan_range forth, back;
            ck_assert_int_eq(plan_range_at(p, 1, 2, t, &forth), 0);
            ck_assert_int_eq(plan_range_at(p, 2, 1, t + forth.owlt, &back), 0);
            ck_assert_uint_ge(l.round_trip, forth.owlt + back.owlt);
        }
        now = l.until;
    }
    plan_free(p);
}

START_TEST(holds_as_long_as_it_says)
{
    for (uint64_t seed = 0; seed < 100; seed++)
        check_drawn(seed);
}
END_TEST

SUITE(tools_plan_link, t)
{
    tcase_add_test(t, says_nothing_of_others);
    tcase_add_test(t, each_way_by_itself);
    tcase_add_test(t, light_of_former_contacts);
    tcase_add_test(t, rates_of_contacts_in_a_row);
    tcase_add_test(t, a_pass);
    tcase_add_test(t, light_of_both_ways);
    tcase_add_test(t, holds_as_long_as_it_says);
    tcase_set_timeout(t, 60);
}
