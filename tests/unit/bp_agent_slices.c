/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What concerns all that waits goes in slices: a link that is removed, pauses that end, a moment
 * for which many wait. No call does more than a slice, the agent is in order after each, and in the
 * end all went, in its order.
 */
#include "bp_router_help.h"
#include "tests/unit/suite.h"

#define SLICE 10
#define MANY 100

static uint64_t queued(const struct binder *n, uint32_t link, enum bundle_priority p)
{
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(n->a, link, b));
    return b[p].bundles;
}

static void begin(struct binder *n, struct oracle *o, const struct router_ops *ops)
{
    struct agent_config c = config_of("ipn:2.0");
    c.place_slice = SLICE;
    start(n, o, ops, &c);
}

/* Calls until nothing is left to do; returns how many. None brings more than a slice to the link.
 */
static unsigned settle(struct binder *n, uint32_t link)
{
    unsigned calls = 0;
    for (; agent_deadline(n->a) <= n->now.now; calls++) {
        const uint64_t before = queued(n, link, BUNDLE_NORMAL);
        agent_expire(n->a, n->now);
        agent_check(n->a);
        ck_assert_uint_le(queued(n, link, BUNDLE_NORMAL), before + SLICE);
        ck_assert_uint_lt(calls, 1000);
    }
    return calls;
}

/* The link takes one at a time, and brings it. */
static void send_all(struct binder *n, uint32_t link, uint64_t from, uint64_t to)
{
    char line[64];
    for (uint64_t key = from; key <= to; key++) {
        snprintf(line, sizeof line, "send %d on %u\n", (int)key, link);
        expect(n, line);
        agent_sent(n->a, key, true, n->now);
        struct agent_action x;
        ck_assert_int_eq(agent_poll(n->a, &x), 1);
        ck_assert(x.kind == AGENT_REMOVE && x.key == key);
    }
}

/* While its bundles leave, another link has its index, and none of them is taken for its own. Some
 * of them end meanwhile. */
START_TEST(a_link_is_removed)
{
    const struct router_ops *const makes[] = {&plain, &booking};
    struct binder n;
    struct oracle o;
    struct eid four = eid_of("ipn:4.0");
    begin(&n, &o, makes[_i]);
    o.names = _i == 1;
    for (int i = 0; i < MANY; i++) {
        app(&n, "ipn:9.1");
        skip(&n);
    }
    ck_assert_uint_eq(queued(&n, 1, BUNDLE_NORMAL), MANY);
    agent_link(n.a, 0, false, n.now);
    o.answer = to_link(0);
    ck_assert_int_eq(agent_link_remove(n.a, 1, n.now), 0);
    agent_check(n.a);
    ck_assert_uint_eq(queued(&n, 0, BUNDLE_NORMAL), 2 + SLICE); /* two had been given to it */
    ck_assert_uint_eq(agent_deadline(n.a), 0);
    ck_assert_int_eq(agent_link_add(n.a, 1, &four, 1), 0);
    agent_link(n.a, 1, true, n.now);
    ck_assert_uint_eq(queued(&n, 1, BUNDLE_NORMAL), 0);
    ck_assert_int_eq(agent_delete(n.a, MANY, n.now), 0);
    ck_assert_uint_ge(settle(&n, 0), (MANY - 3) / SLICE - 2);
    ck_assert_uint_eq(queued(&n, 0, BUNDLE_NORMAL), MANY - 1);
    ck_assert_uint_eq(queued(&n, 1, BUNDLE_NORMAL), 0);
    n.len = 0;
    if (_i == 0) {
        agent_window(n.a, 0, 1, n.now);
        skip(&n);
        agent_link(n.a, 0, true, n.now);
        send_all(&n, 0, 1, MANY - 1);
    }
    binder_fini(&n);
}
END_TEST

/* The agent ends while a link is leaving. */
START_TEST(the_end_comes_first)
{
    struct binder n;
    struct oracle o;
    begin(&n, &o, &plain);
    for (int i = 0; i < MANY; i++) {
        app(&n, "ipn:9.1");
        skip(&n);
    }
    o.answer = wait_until(TICK_NEVER);
    ck_assert_int_eq(agent_link_remove(n.a, 1, n.now), 0);
    binder_fini(&n);
}
END_TEST

/* A neighbour is heard again: what pauses goes back to the head of its queue, in its order; so it
 * does when the link goes down meanwhile. */
START_TEST(pauses_end)
{
    struct binder n;
    struct oracle o;
    begin(&n, &o, &plain);
    agent_window(n.a, 1, MANY, n.now);
    for (int i = 0; i < MANY; i++) {
        app(&n, "ipn:9.1");
        skip(&n);
    }
    for (uint64_t key = 1; key <= MANY; key++)
        agent_failed(n.a, key, "no answer", n.now);
    expect(&n, "");
    agent_window(n.a, 1, 1, n.now);
    app(&n, "ipn:9.1");
    agent_heard(n.a, 1, n.now);
    agent_check(n.a);
    ck_assert_uint_eq(agent_deadline(n.a), 0);
    struct agent_bundle_info all[MANY + 1];
    uint64_t paused = 0;
    ck_assert_uint_eq(agent_bundles(n.a, all, MANY + 1), MANY + 1);
    for (int i = 0; i <= MANY; i++)
        paused += strcmp(all[i].state, "paused") == 0;
    ck_assert_uint_eq(paused, MANY - SLICE);
    agent_link(n.a, 1, false, n.now);
    ck_assert_uint_ge(settle(&n, 1), MANY / SLICE - 2);
    skip(&n);
    agent_link(n.a, 1, true, n.now);
    send_all(&n, 1, 1, MANY + 1);
    binder_fini(&n);
}
END_TEST

/* All that was sent has failed, the link takes one at a time, and its peer is heard again. */
static void end_pauses(struct binder *n)
{
    agent_window(n->a, 1, MANY, n->now);
    for (int i = 0; i < MANY; i++) {
        app(n, "ipn:9.1");
        skip(n);
    }
    for (uint64_t key = 1; key <= MANY; key++)
        agent_failed(n->a, key, "no answer", n->now);
    agent_window(n->a, 1, 1, n->now);
    agent_heard(n->a, 1, n->now);
}

/* The link stays up: nothing goes before what waited longer. */
START_TEST(pauses_end_in_order)
{
    struct binder n;
    struct oracle o;
    begin(&n, &o, &plain);
    end_pauses(&n);
    unsigned calls = 0;
    for (; calls < MANY / SLICE - 1; calls++) {
        expect(&n, "");
        ck_assert_uint_eq(agent_deadline(n.a), 0);
        agent_expire(n.a, n.now);
        agent_check(n.a);
    }
    send_all(&n, 1, 1, MANY);
    binder_fini(&n);
}
END_TEST

/* The link goes down meanwhile and there is another way: nobody stays behind. */
START_TEST(pauses_end_elsewhere)
{
    struct binder n;
    struct oracle o;
    begin(&n, &o, &plain);
    end_pauses(&n);
    o.answer = to_link(0);
    agent_link(n.a, 1, false, n.now);
    settle(&n, 0);
    ck_assert_uint_eq(queued(&n, 1, BUNDLE_NORMAL), 0);
    ck_assert_uint_eq(queued(&n, 0, BUNDLE_NORMAL), MANY);
    binder_fini(&n);
}
END_TEST

static void send_with(struct binder *n, enum bundle_priority p)
{
    const struct bundle_qos qos = {.priority = p};
    struct agent_request q = request_of("ipn:2.7", "ipn:9.1", 5);
    q.qos = &qos;
    ck_assert_int_eq(app_send(n, &q, "x"), REFUSE_NONE);
    skip(n);
}

/* Of those that wait for one moment the most urgent go first when it comes, whenever they came. */
START_TEST(one_moment)
{
    struct binder n;
    struct oracle o;
    begin(&n, &o, &plain);
    agent_link(n.a, 1, false, n.now);
    o.answer = wait_until(T0 + TICK_S);
    for (int i = 0; i < 3 * SLICE; i++)
        send_with(&n, BUNDLE_BULK);
    for (int i = 0; i < SLICE; i++)
        send_with(&n, i % 2 == 0 ? BUNDLE_EXPEDITED : BUNDLE_NORMAL);
    o.answer = to_link(1);
    pass(&n, TICK_S);
    agent_check(n.a);
    ck_assert_uint_eq(queued(&n, 1, BUNDLE_EXPEDITED), SLICE / 2);
    ck_assert_uint_eq(queued(&n, 1, BUNDLE_NORMAL), SLICE / 2);
    ck_assert_uint_eq(queued(&n, 1, BUNDLE_BULK), 0);
    settle(&n, 1);
    ck_assert_uint_eq(queued(&n, 1, BUNDLE_BULK), 3 * SLICE);
    binder_fini(&n);
}
END_TEST

/* Bundles that end together end in several calls, so that others have their turn between these. */
START_TEST(ends_come_in_slices)
{
    static struct binder b;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&b, &c);
    for (uint64_t i = 1; i <= 300; i++) {
        struct agent_request q = request_of("ipn:2.7", "ipn:3.5", i);
        q.lifetime_ms = 5000;
        ck_assert_int_eq(app_send(&b, &q, "x"), REFUSE_NONE);
        skip(&b);
    }
    const struct agent_counters *n = agent_counters(b.a);
    pass(&b, 6 * TICK_S);
    ck_assert_uint_eq(n->ended[END_EXPIRED], 128);
    ck_assert_uint_le(agent_deadline(b.a), b.now.now); /* the next one is due at once */
    pass(&b, 0);
    ck_assert_uint_eq(n->ended[END_EXPIRED], 256);
    pass(&b, 0);
    ck_assert_uint_eq(n->ended[END_EXPIRED], 300);
    skip(&b);
    binder_fini(&b);
}
END_TEST

SUITE(bp_agent_slices, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_link_is_removed, 0, 2);
    tcase_add_test(t, the_end_comes_first);
    tcase_add_test(t, pauses_end);
    tcase_add_test(t, pauses_end_in_order);
    tcase_add_test(t, pauses_end_elsewhere);
    tcase_add_test(t, one_moment);
    tcase_add_test(t, ends_come_in_slices);
}
