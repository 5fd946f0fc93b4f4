/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles for endpoints of the node that nobody takes: a part of the room is theirs, no peer waits
 * for it, and what is taken finds room beside them, also after a restart.
 */
#include "bp_agent_piece.h"

static struct agent_config unclaimed_config(void)
{
    struct agent_config c = config_of("ipn:2.0");
    c.held_bundles = 100;
    c.reserve_percent = 30; /* 10 for each of two links and the applications */
    c.unclaimed_percent = 75;
    return c;
}

static enum agent_refusal take_for(struct binder *n, const char *to, uint64_t sequence)
{
    struct bundle b = peer_bundle("ipn:1.4", to, sequence);
    b.lifetime_ms = UINT64_MAX;
    enum agent_refusal r = link_receive(n, 0, &b, sequence);
    skip(n);
    return r;
}

/* So many are taken until the first is refused. */
static uint64_t flood_for(struct binder *n, const char *to, uint64_t first)
{
    uint64_t taken = 0;
    enum agent_refusal r;
    while ((r = take_for(n, to, first + taken)) == REFUSE_NONE)
        taken++;
    ck_assert_int_eq(r, REFUSE_QUOTA);
    return taken;
}

static void receive(struct binder *n, uint64_t reg, const char *endpoint)
{
    struct eid e = eid_of(endpoint);
    ck_assert_int_eq(agent_register(n->a, reg, &e, 1, n->now), 0);
    skip(n);
}

/* It is registered, and takes one. */
static void receive_one(struct binder *n, uint64_t reg, const char *endpoint, uint64_t sequence)
{
    receive(n, reg, endpoint);
    ck_assert_int_eq(take_for(n, endpoint, sequence), REFUSE_NONE);
    agent_delivered(n->a, n->last.key, true, n->now);
    skip(n);
}

START_TEST(nobody_takes_them)
{
    struct binder n;
    struct agent_config c = unclaimed_config();
    relay_init(&n, &c);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.8", 1), 60); /* of 80 */
    ck_assert_uint_eq(flood_for(&n, "ipn:2.9", 100), 0);
    receive_one(&n, 1, "ipn:2.7", 199);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.7", 200), 20);
    agent_check(n.a);
    receive(&n, 2, "ipn:2.8"); /* they go, and what comes next is taken */
    for (uint64_t i = 0; i < 60; i++) {
        agent_delivered(n.a, n.last.key, true, n.now);
        skip(&n);
    }
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 20);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.9", 300), 45); /* of the other 60 */
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* Registered, and idle for ten seconds while bundles wait. */
START_TEST(an_idle_application_is_nobody)
{
    struct binder n;
    struct agent_config c = unclaimed_config();
    relay_init(&n, &c);
    receive(&n, 1, "ipn:2.8");
    ck_assert_int_eq(take_for(&n, "ipn:2.8", 1), REFUSE_NONE);
    const uint64_t first = n.last.key;
    ck_assert_int_eq(take_for(&n, "ipn:2.8", 2), REFUSE_NONE); /* it has taken nothing yet */
    agent_delivered(n.a, first, true, n.now);
    skip(&n);
    const uint64_t second = n.last.key;
    for (uint64_t i = 3; i <= 65; i++)
        ck_assert_int_eq(take_for(&n, "ipn:2.8", i), REFUSE_NONE);
    pass(&n, 9 * TICK_S);
    ck_assert_int_eq(take_for(&n, "ipn:2.8", 66), REFUSE_NONE);
    pass(&n, 2 * TICK_S);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.8", 68),
                      11); /* with the second one three quarters of 16 */
    agent_delivered(n.a, second, true, n.now);
    skip(&n);
    ck_assert_int_eq(take_for(&n, "ipn:2.8", 90), REFUSE_NONE);
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* To register is not to take, however often. */
START_TEST(who_only_registers_takes_nothing)
{
    struct binder n;
    struct agent_config c = unclaimed_config();
    relay_init(&n, &c);
    uint64_t taken = 0;
    for (uint64_t i = 1; i <= 80; i++) {
        receive(&n, i, "ipn:2.8");
        taken += take_for(&n, "ipn:2.8", i) == REFUSE_NONE;
        agent_unregister(n.a, i, n.now);
        skip(&n);
        pass(&n, TICK_S);
    }
    ck_assert_uint_le(taken, 62); /* 60 of 80, and the first one, for which nothing waited */
    receive_one(&n, 100, "ipn:2.7", 199);
    ck_assert_uint_ge(flood_for(&n, "ipn:2.7", 200), 18);
    binder_fini(&n);
}
END_TEST

/* A link that could wait does not. */
START_TEST(no_link_waits_for_them)
{
    struct binder n;
    struct agent_config c = unclaimed_config();
    relay_init(&n, &c);
    flood_for(&n, "ipn:2.8", 1);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.8", 500);
    struct buf *bytes = bundle_encode_copy(&b);
    bool waits = true;
    ck_assert_int_eq(agent_offer(n.a, 0, bytes, 500, 0, &waits, n.now), REFUSE_QUOTA);
    ck_assert(!waits);
    skip(&n);
    binder_fini(&n);
}
END_TEST

/* A node that drops: of those that nobody takes the least one goes, and no other. */
START_TEST(the_least_of_them_is_dropped)
{
    struct binder n;
    struct agent_config c = unclaimed_config();
    c.drop_when_full = true;
    relay_init(&n, &c);
    for (uint64_t i = 1; i <= 70; i++) {
        struct bundle b = peer_bundle("ipn:1.4", "ipn:2.8", i);
        b.lifetime_ms = 60000 + i;
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_NONE);
        skip(&n);
    }
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 60);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DROPPED], 10);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.8", 100);
    b.lifetime_ms = 1000; /* less than all that are here */
    ck_assert_int_eq(link_receive(&n, 0, &b, 100), REFUSE_QUOTA);
    skip(&n);
    b = peer_bundle("ipn:1.4", "ipn:3.8", 101); /* for a link that is down */
    b.lifetime_ms = 1000;
    ck_assert_int_eq(link_receive(&n, 0, &b, 101), REFUSE_NONE);
    skip(&n);
    b = peer_bundle("ipn:1.4", "ipn:2.8", 102); /* it is the least now, and stays */
    b.lifetime_ms = 70000;
    ck_assert_int_eq(link_receive(&n, 0, &b, 102), REFUSE_QUOTA);
    skip(&n);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 61);
    binder_fini(&n);
}
END_TEST

START_TEST(fragments_count_too)
{
    struct binder n;
    struct agent_config c = unclaimed_config();
    relay_init(&n, &c);
    uint64_t taken = 0;
    for (uint64_t i = 0; i < 80; i++) {
        struct bundle b = piece_of(TEXT, 1 + i, 0, 1);
        taken += link_receive(&n, 0, &b, i) == REFUSE_NONE;
        skip(&n);
    }
    ck_assert_uint_eq(taken, 60);
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent unclaimed");
    TCase *t = tcase_create("all");
    tcase_add_test(t, nobody_takes_them);
    tcase_add_test(t, an_idle_application_is_nobody);
    tcase_add_test(t, who_only_registers_takes_nothing);
    tcase_add_test(t, no_link_waits_for_them);
    tcase_add_test(t, the_least_of_them_is_dropped);
    tcase_add_test(t, fragments_count_too);
    suite_add_tcase(s, t);
    return run_suite(s);
}
