/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints with several registrations, in turn or all, and groups that are registered here. */
#include "bp_agent_members.h"

#include "base/rng.h"
#include "tests/unit/suite.h"

START_TEST(one_at_a_time_unless_shared)
{
    struct binder n;
    start(&n);
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 1), 0);
    ck_assert_int_eq(reg(&n, 2, "ipn:2.5", 1), HELIO_EEXIST);
    ck_assert_int_eq(reg(&n, 2, "ipn:2.0", 1), HELIO_EEXIST);
    ck_assert_int_eq(reg(&n, 2, "ipn:3.5", 1), HELIO_EINVAL);
    agent_unregister(n.a, 1, n.now);
    ck_assert_int_eq(reg(&n, 2, "ipn:2.5", 1), 0);
    binder_fini(&n);
}
END_TEST

/* In turn, by the room that each has; what one leaves goes to the others, first. */
START_TEST(in_turn)
{
    struct binder n;
    start(&n);
    share(&n, "ipn:2.5", AGENT_SHARE_PASS);
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 1), 0);
    ck_assert_int_eq(reg(&n, 2, "ipn:2.5", 2), 0);
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 1), HELIO_EEXIST); /* the number is in use */
    for (uint64_t i = 1; i <= 6; i++) {
        send_to(&n, "ipn:2.5", i);
        drain(&n);
    }
    const char *const given = "deliver 1 to 1: x\nstore 2\nconfirm app 2\ndeliver 2 to 2: x\n"
                              "store 3\nconfirm app 3\ndeliver 3 to 2: x\n";
    ck_assert_ptr_nonnull(strstr(n.trace, given));
    skip(&n);
    agent_delivered(n.a, 3, true, n.now);
    expect(&n, "remove 3\ndeliver 4 to 2: x\n");
    agent_unregister(n.a, 2, n.now); /* it had 2 and 4 */
    expect(&n, "");
    agent_delivered(n.a, 1, true, n.now);
    expect(&n, "remove 1\ndeliver 2 to 1: x\n");
    agent_delivered(n.a, 2, false, n.now); /* it waits for another application */
    expect(&n, "deliver 4 to 1: x\n");
    ck_assert_int_eq(reg(&n, 3, "ipn:2.5", 8), 0);
    expect(&n, "deliver 2 to 3: x\ndeliver 5 to 3: x\ndeliver 6 to 3: x\n");
    agent_unregister(n.a, 1, n.now);
    expect(&n, "deliver 4 to 3: x\n");
    agent_unregister(n.a, 3, n.now);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 4);
    expect(&n, "");
    binder_fini(&n);
}
END_TEST

/* A copy for each that is there; the bundle ends with the last answer, and is one delivery. */
START_TEST(to_all)
{
    struct binder n;
    start(&n);
    share(&n, "ipn:2.*", AGENT_SHARE_ALL);
    send_to(&n, "ipn:2.5", 1);
    expect(&n, "store 1\nconfirm app 1\n");
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 1), 0);
    expect(&n, "deliver 2 to 1: x\n"); /* who comes first has what waited */
    ck_assert_int_eq(reg(&n, 2, "ipn:2.5", 1), 0);
    send_to(&n, "ipn:2.5", 2);
    expect(&n, "store 3\nconfirm app 2\ndeliver 5 to 2: x\n");
    agent_delivered(n.a, 5, true, n.now);
    agent_delivered(n.a, 2, true, n.now);
    expect(&n, "remove 1\ndeliver 4 to 1: x\n");
    agent_delivered(n.a, 4, true, n.now);
    expect(&n, "remove 3\n");
    const struct agent_counters *c = agent_counters(n.a);
    ck_assert(c->delivered == 2 && c->ended[END_DELIVERED] == 2 && c->bundles == 0);
    binder_fini(&n);
}
END_TEST

/* One that is slow holds up nobody; one that leaves, or declines, has had its chance, unless
 * nobody else had it. */
START_TEST(all_but_some_leave)
{
    struct binder n;
    start(&n);
    share(&n, "ipn:2.5", AGENT_SHARE_ALL);
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 1), 0);
    ck_assert_int_eq(reg(&n, 2, "ipn:2.5", 1), 0);
    for (uint64_t i = 0; i < 3; i++) {
        send_to(&n, "ipn:2.5", i);
        skip(&n); /* 1: 2 3, 4: 5 6, 7: 8 9 */
    }
    agent_delivered(n.a, 3, true, n.now);
    expect(&n, "deliver 6 to 2: x\n");
    agent_delivered(n.a, 6, false, n.now); /* declined: 5 is still there */
    expect(&n, "deliver 9 to 2: x\n");
    agent_unregister(n.a, 1, n.now); /* 2, 5, 8: 1 was had, 4 by nobody, 7 is with the other */
    expect(&n, "remove 1\nload 4\n");
    agent_delivered(n.a, 9, true, n.now);
    expect(&n, "remove 7\ndeliver 10 to 2: x\n");
    agent_delivered(n.a, 10, false, n.now); /* the only one does not want it: it waits */
    expect(&n, "");
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 1);
    ck_assert_int_eq(reg(&n, 3, "ipn:2.5", 1), 0);
    expect(&n, "load 4\ndeliver 11 to 2: x\ndeliver 12 to 3: x\n");
    agent_unregister(n.a, 2, n.now);
    agent_unregister(n.a, 3, n.now);
    expect(&n, "");
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 1);
    binder_fini(&n);
}
END_TEST

/* The lifetime ends while two have it: both are told, and keep their places until they answer. */
START_TEST(all_and_the_lifetime_ends)
{
    struct binder n;
    start(&n);
    share(&n, "ipn:2.5", AGENT_SHARE_ALL);
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 1), 0);
    ck_assert_int_eq(reg(&n, 2, "ipn:2.5", 1), 0);
    struct agent_request q = request_of("ipn:2.7", "ipn:2.5", 1);
    q.lifetime_ms = 1000;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    skip(&n);
    pass(&n, 2 * TICK_S);
    expect(&n, "recall 2 from 1\nrecall 3 from 2\nremove 1\n");
    send_to(&n, "ipn:2.5", 2);
    expect(&n, "store 4\nconfirm app 2\n");
    agent_recalled(n.a, 2, n.now);
    expect(&n, "deliver 6 to 2: x\n");
    agent_recalled(n.a, 1, n.now);
    expect(&n, "deliver 5 to 1: x\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 1);
    binder_fini(&n);
}
END_TEST

/* What fragments made together goes to all as well. */
START_TEST(all_of_what_came_in_fragments)
{
    struct binder n;
    start(&n);
    share(&n, "ipn:2.5", AGENT_SHARE_ALL);
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 1), 0);
    ck_assert_int_eq(reg(&n, 2, "ipn:2.5", 1), 0);
    struct bundle b = peer_bundle("ipn:1.1", "ipn:2.5", 1);
    b.flags |= BUNDLE_IS_FRAGMENT;
    b.id.fragment = true;
    b.id.total = 8;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    b.id.offset = 4;
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    skip(&n);
    ck_assert_uint_eq(n.payload.len, 8);
    ck_assert_mem_eq(n.payload.data, "datadata", 8);
    agent_unregister(n.a, 1, n.now);
    agent_unregister(n.a, 2, n.now); /* nobody had it: it waits, whole */
    skip(&n);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 2);
    ck_assert_int_eq(reg(&n, 3, "ipn:2.5", 1), 0);
    ck_assert_int_eq(reg(&n, 4, "ipn:2.5", 1), 0);
    drain(&n);
    uint64_t key = n.last.key;
    ck_assert_mem_eq(n.payload.data, "datadata", 8);
    agent_delivered(n.a, key, true, n.now);
    agent_delivered(n.a, key - 1, true, n.now);
    skip(&n);
    const struct agent_counters *c = agent_counters(n.a);
    ck_assert(c->bundles == 0 && c->delivered == 1 && c->reassemblies_ended[END_DELIVERED] == 1);
    binder_fini(&n);
}
END_TEST

/* Who joins a group here gets its bundles, and they go on. */
START_TEST(a_group_here_and_beyond)
{
    struct binder n;
    start(&n);
    struct bundle b = peer_bundle("ipn:9.1", "imc:5.1", 1);
    ck_assert_int_eq(reg(&n, 1, "imc:5.1", 4), 0);
    ck_assert_int_eq(reg(&n, 2, "imc:5.1", 4), 0); /* groups are shared by all */
    ck_assert_int_eq(link_receive(&n, 0, &b, 7), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 7\nsend 2 on 1\nsend 3 on 2\n"
               "deliver 5 to 1: data\ndeliver 6 to 2: data\n");
    agent_delivered(n.a, 5, true, n.now);
    agent_delivered(n.a, 6, true, n.now);
    agent_sent(n.a, 2, true, n.now);
    agent_sent(n.a, 3, true, n.now);
    expect(&n, "remove 1 marked\n");
    ck_assert_uint_eq(agent_counters(n.a)->delivered, 1);
    b.destination = eid_of("imc:6.1"); /* a group without ways */
    b.id.sequence = 2;
    ck_assert_int_eq(link_receive(&n, 0, &b, 8), REFUSE_NO_ROUTE);
    ck_assert_int_eq(reg(&n, 3, "imc:6.1", 4), 0);
    skip(&n);
    ck_assert_int_eq(link_receive(&n, 0, &b, 9), REFUSE_NONE);
    expect(&n, "store 7\nconfirm link 9\ndeliver 8 to 3: data\n");
    binder_fini(&n);
}
END_TEST

/* Anything in any order: the invariants hold, and in the end nothing is left. */
START_TEST(random_runs)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct rng rng;
        rng_init(&rng, seed);
        struct agent_config c = config_of("ipn:2.0");
        c.memory_bytes = rng_below(&rng, 2) ? 1000 : 0;
        struct binder n;
        binder_init(&n, &c);
        add_members(&n);
        share(&n, "ipn:2.5", AGENT_SHARE_ALL);
        share(&n, "ipn:2.6", AGENT_SHARE_PASS);
        static const char *const to[] = {"imc:5.1", "ipn:2.5", "ipn:2.6", "ipn:2.8"};
        bool there[3] = {true, true, true};
        for (int step = 0; step < 120; step++) {
            const uint64_t key = 1 + rng_below(&rng, 80), number = 1 + rng_below(&rng, 5);
            const uint32_t link = (uint32_t)rng_below(&rng, 3);
            struct agent_request q = request_of("ipn:2.7", to[rng_below(&rng, 4)], 1);
            q.lifetime_ms = 1000 + rng_below(&rng, 20000);
            switch (rng_below(&rng, 10)) {
            case 0:
            case 1:
                (void)app_send(&n, &q, "x");
                break;
            case 2:
                (void)reg(&n, number, to[rng_below(&rng, 4)], 1 + (uint32_t)rng_below(&rng, 2));
                break;
            case 3:
                agent_unregister(n.a, number, n.now);
                break;
            case 4:
            case 5:
                agent_sent(n.a, key, rng_below(&rng, 3) > 0, n.now);
                break;
            case 6:
                agent_delivered(n.a, key, rng_below(&rng, 3) > 0, n.now);
                break;
            case 7:
                agent_link(n.a, link, rng_below(&rng, 2), n.now);
                break;
            case 8:
                if (there[link]) {
                    ck_assert_int_eq(agent_link_remove(n.a, link, n.now), 0);
                } else {
                    add_link(&n, link, "ipn:1.0");
                    add_route(&n, "imc:5.*", link);
                }
                there[link] = !there[link];
                break;
            default:
                if (rng_below(&rng, 3) == 0)
                    (void)agent_delete(n.a, key, n.now);
                else
                    agent_recalled(n.a, number, n.now);
                pass(&n, rng_below(&rng, 2) * TICK_S);
                break;
            }
            skip(&n);
        }
        pass(&n, 100 * TICK_S);
        skip(&n);
        for (uint64_t key = 1; key < 400; key++)
            agent_sent(n.a, key, false, n.now);
        skip(&n);
        ck_assert_uint_eq(agent_counters(n.a)->bundles, 0);
        binder_fini(&n);
    }
}
END_TEST

SUITE(bp_agent_shared, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, one_at_a_time_unless_shared);
    tcase_add_test(t, in_turn);
    tcase_add_test(t, to_all);
    tcase_add_test(t, all_but_some_leave);
    tcase_add_test(t, all_and_the_lifetime_ends);
    tcase_add_test(t, all_of_what_came_in_fragments);
    tcase_add_test(t, a_group_here_and_beyond);
    tcase_add_test(t, random_runs);
}
