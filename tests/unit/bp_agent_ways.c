/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles with several ways, and bundles that come back: a route over a link that is down hides
 * none over one that is up; a neighbour that hands a bundle back is not told that it is a
 * duplicate, and two that have only each other exchange it ever more slowly.
 */
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

static void route(struct binder *n, const char *to, uint32_t link)
{
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse(to, &p), 0);
    ck_assert_int_eq(agent_route_add(n->a, &p, link), 0);
}

/* A relay whose default route is link 0, and whose better one for ipn:3 is link 1. */
static void start(struct binder *n)
{
    struct agent_config c = config_of("ipn:2.0");
    relay_init(n, &c);
    route(n, "*", 0);
}

static void app(struct binder *n, const char *to)
{
    struct agent_request q = request_of("ipn:2.7", to, 5);
    ck_assert_int_eq(app_send(n, &q, "x"), REFUSE_NONE);
}

START_TEST(a_link_that_is_up_is_preferred)
{
    struct binder n;
    start(&n);
    app(&n, "ipn:3.9");
    expect(&n, "store 1\nconfirm app 5\n"); /* both are down */
    agent_link(n.a, 0, true, n.now);
    expect(&n, "send 1 on 0\n");
    app(&n, "ipn:3.9");
    expect(&n, "store 2\nconfirm app 5\nsend 2 on 0\n");
    for (int i = 0; i < 3; i++)
        app(&n, "ipn:3.9"); /* beyond the window of link 0 */
    skip(&n);
    agent_link(n.a, 1, true, n.now); /* the better one: what waits goes there, in its order */
    expect(&n, "send 3 on 1\nsend 4 on 1\n");
    agent_link(n.a, 1, false, n.now); /* 5 is the only one that nobody has */
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1\nsend 5 on 0\n");
    agent_sent(n.a, 3, false, n.now); /* the link that is down gives it back */
    agent_sent(n.a, 2, true, n.now);
    expect(&n, "remove 2\nsend 3 on 0\n");
    binder_fini(&n);
}
END_TEST

START_TEST(what_is_only_in_the_store_moves_too)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.memory_bytes = 1;
    relay_init(&n, &c);
    route(&n, "*", 0);
    for (int i = 0; i < 9; i++) {
        app(&n, "ipn:3.9");
        drain(&n);
    }
    agent_link(n.a, 1, true, n.now);
    struct agent_action x;
    while (agent_poll(n.a, &x) && x.kind != AGENT_LOAD) /* one is being loaded for link 1 */
        buf_drop(x.bundle);
    agent_link(n.a, 1, false, n.now);
    agent_link(n.a, 0, true, n.now);
    drain(&n);
    for (uint64_t key = 1; key <= 9; key++) {
        agent_sent(n.a, key, true, n.now);
        drain(&n);
    }
    for (uint64_t key = 1; key <= 9; key++) { /* those in flight on link 1 were first */
        agent_sent(n.a, key, true, n.now);
        drain(&n);
    }
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], 9);
    binder_fini(&n);
}
END_TEST

START_TEST(a_failed_link_is_the_last_choice)
{
    struct binder n;
    start(&n);
    agent_link(n.a, 0, true, n.now);
    agent_link(n.a, 1, true, n.now);
    app(&n, "ipn:3.9");
    expect(&n, "store 1\nconfirm app 5\nsend 1 on 1\n");
    agent_sent(n.a, 1, false, n.now);
    expect(&n, "");
    pass(&n, TICK_S); /* never at once: both may fail at once */
    expect(&n, "send 1 on 0\n");
    agent_sent(n.a, 1, false, n.now);
    pass(&n, TICK_S);
    expect(&n, "");
    pass(&n, TICK_S);
    expect(&n, "send 1 on 1\n");
    binder_fini(&n);
}
END_TEST

/* From link 0 to link 1, whose neighbour has it now. */
static void forward_one(struct binder *n, const struct bundle *b)
{
    ck_assert_int_eq(link_receive(n, 0, b, 1), REFUSE_NONE);
    expect(n, "store 1\nconfirm link 1\nsend 1 on 1\n");
    agent_sent(n->a, 1, true, n->now);
    expect(n, "remove 1\n");
}

START_TEST(handed_back_it_takes_the_other_way)
{
    struct binder n;
    start(&n);
    agent_link(n.a, 0, true, n.now);
    agent_link(n.a, 1, true, n.now);
    struct bundle b = peer_bundle("ipn:5.4", "ipn:3.5", 1);
    forward_one(&n, &b);
    ck_assert_int_eq(link_receive(&n, 1, &b, 2), REFUSE_NONE);
    expect(&n, "store 2\nconfirm link 2\n");
    pass(&n, TICK_S);
    expect(&n, "send 2 on 0\n"); /* not to the neighbour that gave it back */
    ck_assert_uint_eq(agent_counters(n.a)->returned, 1);
    binder_fini(&n);
}
END_TEST

START_TEST(two_that_have_only_each_other)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.retry_max = 60 * TICK_S;
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    b.lifetime_ms = 3600000;
    forward_one(&n, &b);
    uint64_t sends = 0, seconds = 0;
    for (uint64_t key = 2; seconds < 3600; key++, sends++) {
        enum agent_refusal r = link_receive(&n, 1, &b, key);
        if (r == REFUSE_EXPIRED)
            break;
        ck_assert_int_eq(r, REFUSE_NONE); /* never swallowed */
        skip(&n);
        while (n.len == 0) {
            pass(&n, TICK_S);
            drain(&n);
            seconds++;
        }
        if (seconds >= 3600)
            break;
        agent_sent(n.a, key, true, n.now);
        skip(&n);
    }
    ck_assert_uint_ge(sends, 60); /* and a minute apart in the end: 1, 2, 4 ... 60 s */
    ck_assert_uint_le(sends, 70);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 1);
    binder_fini(&n);
}
END_TEST

/* Bundles that started here were never known as duplicates; they are no faster than others. */
START_TEST(own_bundles_come_back_too)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    app(&n, "ipn:3.9");
    skip(&n);
    struct bundle b;
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &b, NULL), 0);
    struct buf *back = bundle_encode_copy(&b), *again = bundle_encode_copy(&b);
    /* While it is not known whether the neighbour has it, neither may let go. */
    ck_assert_int_eq(agent_receive(n.a, 1, again, 6, n.now), REFUSE_DUPLICATE);
    expect(&n, "refuse link 6: it is being stored here, or is on its way to another node, whose "
               "answer is awaited\n");
    ck_assert(n.last.keep);
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1\n");
    ck_assert_int_eq(agent_receive(n.a, 1, back, 7, n.now), REFUSE_NONE);
    expect(&n, "store 2\nconfirm link 7\n");
    pass(&n, TICK_S);
    expect(&n, "send 2 on 1\n");
    binder_fini(&n);
}
END_TEST

/* What was delivered or deleted here is over, wherever it comes from; also after a restart. */
START_TEST(what_ended_here_stays_known)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct eid here = eid_of("ipn:2.5");
    ck_assert_int_eq(agent_register(n.a, 9, &here, 1, n.now), 0);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    skip(&n);
    agent_delivered(n.a, 1, true, n.now);
    expect(&n, "remove 1 marked\n");
    ck_assert_int_eq(link_receive(&n, 1, &b, 2), REFUSE_DUPLICATE);
    expect(&n, "confirm link 2 duplicate\n");
    binder_restart(&n, &c);
    ck_assert_int_eq(link_receive(&n, 1, &b, 3), REFUSE_DUPLICATE);
    expect(&n, "confirm link 3 duplicate\n");
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_ways, t)
{
    tcase_add_test(t, a_link_that_is_up_is_preferred);
    tcase_add_test(t, what_is_only_in_the_store_moves_too);
    tcase_add_test(t, a_failed_link_is_the_last_choice);
    tcase_add_test(t, handed_back_it_takes_the_other_way);
    tcase_add_test(t, two_that_have_only_each_other);
    tcase_add_test(t, own_bundles_come_back_too);
    tcase_add_test(t, what_ended_here_stays_known);
}
