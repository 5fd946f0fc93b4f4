/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bundle over several links: groups and critical bundles. Each copy has its own fate; the
 * bundle leaves the store when all are done.
 */
#include "bp_agent_members.h"
#include "tests/unit/suite.h"

/* A bundle for all three links, before an action is taken. */
static void start_group(struct binder *n)
{
    start(n);
    send_to(n, "imc:5.1", 9);
    skip(n);
}

/* The node starts again with such a bundle in the store. */
static void restart_group(struct binder *n)
{
    struct agent_config c = config_of("ipn:2.0");
    start_group(n);
    binder_restart(n, &c);
}

/* A link that can take the bundle, after all others were removed. */
static void add_only_link(struct binder *n)
{
    add_link(n, 0, "ipn:1.0");
    add_route(n, "imc:5.1", 0);
    agent_expire(n->a, n->now);
}

START_TEST(a_group_has_a_copy_each)
{
    struct binder n;
    start(&n);
    send_to(&n, "imc:5.1", 9);
    expect(&n, "store 1\nconfirm app 9\nsend 2 on 0\nsend 3 on 1\nsend 4 on 2\n");
    agent_sent(n.a, 3, true, n.now);
    agent_sent(n.a, 2, true, n.now);
    expect(&n, "");
    agent_sent(n.a, 4, true, n.now);
    expect(&n, "remove 1\n");
    const struct agent_counters *c = agent_counters(n.a);
    ck_assert(c->ended[END_FORWARDED] == 1 && c->bundles == 0);
    binder_fini(&n);
}
END_TEST

/* It goes to all but the neighbour that brought it, and is known when another brings it, too. */
START_TEST(a_relay_passes_on_to_the_others)
{
    struct binder n;
    start(&n);
    struct bundle b = peer_bundle("ipn:9.1", "imc:5.1", 1);
    ck_assert_int_eq(link_receive(&n, 1, &b, 7), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 7\nsend 2 on 0\nsend 3 on 2\n");
    ck_assert_int_eq(link_receive(&n, 0, &b, 8), REFUSE_DUPLICATE);
    skip(&n);
    agent_sent(n.a, 2, true, n.now);
    agent_sent(n.a, 3, true, n.now);
    expect(&n, "remove 1 marked\n");
    ck_assert_int_eq(link_receive(&n, 0, &b, 9), REFUSE_DUPLICATE);
    binder_fini(&n);
}
END_TEST

/* With one other member it is forwarded, not sent back, and known all the same. */
START_TEST(a_group_in_a_circle_ends)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    binder_init(&n, &c);
    add_link(&n, 0, "ipn:1.0");
    add_link(&n, 1, "ipn:3.0");
    add_route(&n, "imc:5.*", 0);
    add_route(&n, "imc:5.*", 1);
    struct bundle b = peer_bundle("ipn:9.1", "imc:5.1", 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 7), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 7\nsend 1 on 1\n");
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1 marked\n");
    ck_assert_int_eq(link_receive(&n, 1, &b, 8), REFUSE_DUPLICATE);
    skip(&n);
    ck_assert_int_eq(agent_link_remove(n.a, 1, n.now), 0);
    b.id.sequence = 2;
    ck_assert_int_eq(link_receive(&n, 0, &b, 9), REFUSE_NO_ROUTE); /* nobody else wants it */
    binder_fini(&n);
}
END_TEST

/* A link that is down, or fails, holds up nobody but itself. */
START_TEST(each_copy_has_its_own_fate)
{
    struct binder n;
    start(&n);
    agent_link(n.a, 2, false, n.now);
    send_to(&n, "imc:5.1", 9);
    expect(&n, "store 1\nconfirm app 9\nsend 2 on 0\nsend 3 on 1\n");
    agent_failed(n.a, 2, "test", n.now);
    agent_sent(n.a, 3, true, n.now);
    expect(&n, "");
    pass(&n, 2 * TICK_S);
    expect(&n, "send 2 on 0\n");
    agent_sent(n.a, 2, true, n.now);
    agent_link(n.a, 2, true, n.now);
    expect(&n, "send 4 on 2\n");
    agent_sent(n.a, 4, true, n.now);
    expect(&n, "remove 1\n");
    binder_fini(&n);
}
END_TEST

/* A restart begins anew with all that it still has; who has the bundle knows it. */
START_TEST(a_restart_makes_all_copies_again)
{
    struct agent_config c = config_of("ipn:2.0");
    struct binder n;
    start_group(&n);
    agent_sent(n.a, 2, true, n.now);
    skip(&n);
    binder_restart(&n, &c);
    add_members(&n);
    agent_expire(n.a, n.now);
    expect(&n, "load 1\nsend 2 on 0\nsend 3 on 1\nsend 4 on 2\n"); /* one load for all */
    for (uint64_t k = 2; k <= 4; k++)
        agent_sent(n.a, k, true, n.now);
    expect(&n, "remove 1\n");
    binder_fini(&n);
}
END_TEST

/* Its bytes cannot be read: all copies end, and it is counted once. */
START_TEST(bytes_that_do_not_come)
{
    struct binder n;
    restart_group(&n);
    n.load_fails = true;
    add_members(&n);
    agent_expire(n.a, n.now);
    for (int i = 0; i < 20 && agent_counters(n.a)->bundles > 0; i++) {
        skip(&n);
        pass(&n, 100 * TICK_S);
    }
    skip(&n);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_UNREADABLE], 1);
    ck_assert_uint_eq(agent_counters(n.a)->load_failures, 8);
    binder_fini(&n);
}
END_TEST

/* A link that goes takes its copy with it; the last one that nobody had is placed anew. */
START_TEST(links_that_go)
{
    struct binder n;
    start_group(&n);
    ck_assert_int_eq(agent_link_remove(n.a, 0, n.now), 0);
    ck_assert_int_eq(agent_link_remove(n.a, 1, n.now), 0);
    expect(&n, "");
    ck_assert_int_eq(agent_link_remove(n.a, 2, n.now), 0);
    expect(&n, "");
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 1);
    add_only_link(&n);
    expect(&n, "load 1\nsend 1 on 0\n");
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1\n");
    binder_fini(&n);
}
END_TEST

/* The same while the store reads the bytes for them: they are asked for again, and one of the two
 * answers is used. */
START_TEST(links_that_go_during_a_load)
{
    struct binder n;
    restart_group(&n);
    n.load_waits = true;
    add_members(&n);
    agent_expire(n.a, n.now);
    expect(&n, "load 1\n");
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_int_eq(agent_link_remove(n.a, i, n.now), 0);
    expect(&n, "");
    add_only_link(&n);
    expect(&n, "load 1\n");
    for (int i = 0; i < 2; i++) {
        struct buf *bytes;
        ck_assert_int_eq(n.store->ops->get(n.store, 1, BUNDLE_HEAD_MAX, &bytes), 0);
        agent_loaded(n.a, 1, bytes, n.now);
        expect(&n, i == 0 ? "send 1 on 0\n" : "");
    }
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1\n");
    binder_fini(&n);
}
END_TEST

/* The lifetime ends on one link after another had it: it is forwarded; else expired, once. */
START_TEST(expiry_and_deletion)
{
    struct binder n;
    start(&n);
    for (int had = 0; had < 2; had++) {
        struct agent_request q = request_of("ipn:2.7", "imc:5.1", 1);
        q.lifetime_ms = 1000;
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
        skip(&n);
        const uint64_t key = had ? 5 : 1;
        if (had)
            agent_sent(n.a, key + 1, true, n.now);
        pass(&n, 2 * TICK_S);
        skip(&n); /* recalls */
        for (uint64_t k = key + 1; k <= key + 3; k++)
            agent_sent(n.a, k, false, n.now);
        skip(&n);
        ck_assert_uint_eq(agent_counters(n.a)->bundles, 0);
        ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 1);
        ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], (unsigned)had);
    }
    send_to(&n, "imc:5.1", 9);
    skip(&n);
    agent_link(n.a, 0, false, n.now);
    agent_sent(n.a, 10, false, n.now);
    ck_assert_int_eq(agent_delete(n.a, 9, n.now), 0);
    expect(&n, "recall 11 from link 1\nrecall 12 from link 2\n");
    agent_sent(n.a, 11, false, n.now);
    agent_sent(n.a, 12, false, n.now);
    expect(&n, "remove 9\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DELETED], 1);
    binder_fini(&n);
}
END_TEST

/* A critical bundle goes over all that lead there and are up, others over the best. */
START_TEST(critical_over_all_routes)
{
    struct binder n;
    start(&n);
    add_route(&n, "ipn:9.*", 0);
    add_route(&n, "ipn:*.*", 1);
    add_route(&n, "*", 2);
    send_to(&n, "ipn:9.1", 1);
    expect(&n, "store 1\nconfirm app 1\nsend 1 on 0\n");
    agent_link(n.a, 1, false, n.now);
    struct agent_request q = request_of("ipn:2.7", "ipn:9.1", 2);
    struct bundle_qos qos = {.priority = BUNDLE_EXPEDITED, .flags = QOS_CRITICAL};
    q.qos = &qos;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    expect(&n, "store 2\nconfirm app 2\nsend 3 on 0\nsend 4 on 2\n");
    binder_fini(&n);
}
END_TEST

/* Fragments of what is too long for one link, the whole for the others. */
START_TEST(each_copy_its_own_length)
{
    struct binder n;
    start(&n);
    agent_link_limit(n.a, 1, 200, n.now);
    agent_expire(n.a, n.now);
    struct agent_request q = request_of("ipn:2.7", "imc:5.1", 1);
    char text[401];
    memset(text, 'x', 400);
    text[400] = 0;
    ck_assert_int_eq(app_send(&n, &q, text), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 1\nsend 2 on 0\nsend 3 on 1\nsend 4 on 2\n");
    agent_sent(n.a, 2, true, n.now);
    agent_sent(n.a, 4, true, n.now);
    int parts = 0;
    for (; agent_counters(n.a)->bundles > 0 && parts < 50; parts++) {
        agent_sent(n.a, 3, true, n.now);
        skip(&n);
    }
    ck_assert_int_ge(parts, 3);
    ck_assert_int_lt(parts, 50);
    binder_fini(&n);
}
END_TEST

/* Reports of a bundle that went several ways: one of each kind. */
START_TEST(one_report)
{
    struct agent_config c = config_of("ipn:2.0");
    c.status_reports = true;
    struct binder n;
    binder_init(&n, &c);
    add_members(&n);
    add_route(&n, "ipn:9.*", 0);
    struct bundle b = peer_bundle("ipn:9.1", "imc:5.1", 1);
    b.flags |= BUNDLE_REPORT_FORWARDING | BUNDLE_REPORT_DELETION;
    ck_assert_int_eq(link_receive(&n, 0, &b, 7), REFUSE_NONE);
    skip(&n);
    agent_sent(n.a, 2, true, n.now);
    ck_assert_uint_eq(agent_counters(n.a)->reports_sent, 0);
    agent_sent(n.a, 3, true, n.now);
    skip(&n);
    ck_assert_uint_eq(agent_counters(n.a)->reports_sent, 1);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_copies, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_group_has_a_copy_each);
    tcase_add_test(t, a_relay_passes_on_to_the_others);
    tcase_add_test(t, a_group_in_a_circle_ends);
    tcase_add_test(t, each_copy_has_its_own_fate);
    tcase_add_test(t, a_restart_makes_all_copies_again);
    tcase_add_test(t, bytes_that_do_not_come);
    tcase_add_test(t, links_that_go);
    tcase_add_test(t, links_that_go_during_a_load);
    tcase_add_test(t, expiry_and_deletion);
    tcase_add_test(t, critical_over_all_routes);
    tcase_add_test(t, each_copy_its_own_length);
    tcase_add_test(t, one_report);
}
