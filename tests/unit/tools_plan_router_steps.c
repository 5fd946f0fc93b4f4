/* SPDX-License-Identifier: Apache-2.0 */
/* What a contact plan's router does of many bundles: in steps, or without a look at each. */
#include <string.h>

#include "base/list.h"
#include "plan_router_help.h"
#include "route/plan_router_impl.h"
#include "tests/unit/suite.h"

enum { MANY = 3000 };

/* Places a bundle of a byte for the neighbour, which has this key. Returns its booking. */
static uint64_t place(struct world *w, uint64_t neighbour, uint64_t key)
{
    const struct router_answer a = ask(w, neighbour, 1, S(16), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_LINK);
    ck_assert_uint_eq(a.link, neighbour - 2);
    const struct router_note n = {
        .kind = ROUTER_PLACED, .booking = a.booking, .key = key, .link = a.link};
    w->ops.ops->note(w->ops.state, &n);
    return a.booking;
}

static void place_many(struct world *w, uint64_t booking[2 * MANY])
{
    set_up(w, 0, true, S(16));
    set_up(w, 1, true, S(16));
    for (uint64_t i = 0; i < 2 * MANY; i++)
        booking[i] = place(w, 2 + i % 2, i);
}

/* Each step has a few keys of one link, whatever is placed and taken back meanwhile. */
START_TEST(walks_in_steps)
{
    static uint64_t booking[2 * MANY];
    static unsigned char seen[2 * MANY];
    struct world w;
    struct plan_router_walk walk;
    uint64_t keys[PLAN_ROUTER_KEYS], steps = 0, more = 2 * MANY;
    bool on = true;
    begin(&w);
    place_many(&w, booking);
    plan_router_walk_begin(w.router, &walk);
    for (; on; steps++) {
        size_t len;
        on = plan_router_walk(w.router, 0, &walk, keys, &len);
        ck_assert_uint_le(len, PLAN_ROUTER_KEYS);
        for (size_t i = 0; i < len; i++) {
            ck_assert_uint_lt(keys[i], 2 * MANY);
            seen[keys[i]]++;
            note(&w, ROUTER_TAKEN_BACK, booking[keys[i]]);
            (void)place(&w, 2, more++);
        }
    }
    for (size_t i = 0; i < 2 * MANY; i++)
        ck_assert_uint_eq(seen[i], i % 2 == 0);
    ck_assert_uint_ge(steps, MANY / PLAN_ROUTER_KEYS);
    end(&w);
}
END_TEST

/* Whoever knows how bookings are numbered lets only those stay that share a chain of a table
 * without a seed. A step has room for 64 of a chain: all of them are found all the same. */
START_TEST(nobody_fills_a_chain)
{
    enum { CHOSEN = 100, TABLE = 1 << 14 };
    static unsigned char seen[CHOSEN];
    uint64_t keys[PLAN_ROUTER_KEYS], id = 0;
    struct plan_router_walk walk;
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(16));
    for (uint64_t i = 0; i < CHOSEN; i++) {
        while (hash_mix(0, ++id, 0) % TABLE != 0)
            ;
        w.router->ids = id - 1;
        ck_assert_uint_eq(place(&w, 2, i), id);
    }
    plan_router_walk_begin(w.router, &walk);
    for (bool on = true; on;) {
        size_t len;
        on = plan_router_walk(w.router, 0, &walk, keys, &len);
        for (size_t i = 0; i < len; i++)
            seen[keys[i]]++;
    }
    for (size_t i = 0; i < CHOSEN; i++)
        ck_assert_uint_eq(seen[i], 1);
    end(&w);
}
END_TEST

/* However much is booked, another plan takes its place at once: no booking is touched. */
START_TEST(replaced_at_once)
{
    static uint64_t booking[2 * MANY];
    static struct booking before[2 * MANY];
    struct world w, other;
    size_t i = 0;
    begin(&w);
    begin(&other);
    place_many(&w, booking);
    const struct hash *all = &w.router->bookings;
    for (const struct hash_node *n = NULL; (n = hash_walk(all, n)) != NULL;)
        before[i++] = *container_of(n, struct booking, by_id);
    ck_assert_uint_eq(i, 2 * MANY);
    plan_router_replace(w.router, other.plan, S(16));
    i = 0;
    for (const struct hash_node *n = NULL; (n = hash_walk(all, n)) != NULL; i++)
        ck_assert_mem_eq(container_of(n, struct booking, by_id), &before[i], sizeof before[i]);
    note(&w, ROUTER_TAKEN_BACK, booking[0]);
    ck_assert_uint_eq(left(&other, 2, S(16)), 10000000);
    plan_router_replace(w.router, w.plan, S(16));
    note(&w, ROUTER_TAKEN_BACK, booking[1]);
    ck_assert_uint_eq(left(&w, 3, S(16)), 10000000 - MANY);
    end(&w);
    end(&other);
}
END_TEST

static uint64_t searches(const struct world *w)
{
    struct plan_totals t;
    plan_totals(w->plan, &t);
    return t.searches;
}

/* Many neighbours of the plan have no link, as where one station's plan is everybody's. Bundles
 * that are too late are refused without a search, with their earliest arrival; so are others sent.
 */
START_TEST(neighbours_without_a_link)
{
    struct world w;
    begin(&w);
    for (uint64_t n = 100; n < 150; n++) {
        contact(&w, 1, n, S(1), S(20));
        contact(&w, n, 4, S(0), S(100));
    }
    struct eid far = eid_ipn(0, 4, 7);
    const struct router_links links = {&w, at};
    struct router_query q = {.destination = &far,
                             .bytes = 1000,
                             .expires = S(10),
                             .came_from = ROUTER_NO_LINK,
                             .avoid = ROUTER_NO_LINK,
                             .links = &links};
    for (int i = 0; i < 1000; i++, q.now += TICK_MS) {
        struct router_answer a = w.ops.ops->ask(w.ops.state, &q);
        ck_assert(a.verdict == ROUTER_NONE && a.too_late);
        ck_assert_uint_eq(a.arrival, S(10) + 4 * TICK_MS);
    }
    ck_assert_uint_le(searches(&w), 20);
    q.expires = S(1000);
    for (int i = 0; i < 1000; i++, q.now += TICK_MS)
        ck_assert_uint_eq(w.ops.ops->ask(w.ops.state, &q).until, S(10));
    ck_assert_uint_le(searches(&w), 20);
    ck_assert_int_eq(plan_router_link(w.router, 2, 120), 0); /* it has one now */
    ck_assert_int_eq(set_up(&w, 2, true, q.now), true);
    ck_assert_uint_eq(w.ops.ops->ask(w.ops.state, &q).link, 2);
    plan_router_unlink(w.router, 2);
    ck_assert_uint_eq(w.ops.ops->ask(w.ops.state, &q).until, S(10));
    end(&w);
}
END_TEST

SUITE(tools_plan_router_steps, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, walks_in_steps);
    tcase_add_test(t, nobody_fills_a_chain);
    tcase_add_test(t, replaced_at_once);
    tcase_add_test(t, neighbours_without_a_link);
}
