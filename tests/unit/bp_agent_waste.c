/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that connect and take nothing: the octets that a node loads and encodes for them. */
#include "bp_agent_members.h"

#define MIB (UINT64_C(1) << 20)
#define SIZE (4 * MIB)
#define ATTACKERS 8
#define FIRST 8
#define A_SECOND (64 * MIB) /* octets that links may waste */

/* Bundles wait for neighbours that are away. The memory of queued bundles has room for few. */
static void begin(struct binder *n, uint32_t each)
{
    static uint8_t data[SIZE];
    struct agent_config c = config_of("ipn:2.0");
    c.memory_bytes = 16 * MIB;
    relay_init(n, &c);
    for (uint32_t i = 0; i < ATTACKERS * each; i++) {
        char node[16], pattern[16], to[16];
        const uint32_t of = i % ATTACKERS;
        snprintf(node, sizeof node, "ipn:%u.0", 20 + of);
        snprintf(pattern, sizeof pattern, "ipn:%u.*", 20 + of);
        snprintf(to, sizeof to, "ipn:%u.1", 20 + of);
        if (i < ATTACKERS) {
            const struct eid e = eid_of(node);
            ck_assert_int_eq(agent_link_add(n->a, FIRST + of, &e, 16), 0);
            add_route(n, pattern, FIRST + of);
        }
        struct bundle b = peer_bundle("ipn:1.1", to, i);
        b.payload = slice_of(data, SIZE);
        ck_assert_int_eq(link_receive(n, 0, &b, i), REFUSE_NONE);
        skip(n);
    }
}

/* The link opens, and the octets that the node loaded and encoded then are returned. The peer takes
 * what it is given, or leaves. */
static uint64_t visit(struct binder *n, uint32_t link, bool takes)
{
    struct agent_action x;
    uint64_t octets = 0, given[16];
    size_t len = 0;
    agent_link(n->a, link, true, n->now);
    while (agent_poll(n->a, &x)) {
        const bool sent = x.kind == AGENT_SEND;
        octets += sent || x.kind == AGENT_LOAD ? SIZE : 0;
        const uint64_t key = x.key;
        do_action(n, &x);
        if (sent && takes)
            agent_sent(n->a, key, true, n->now);
        else if (sent)
            given[len++] = key;
        agent_check(n->a);
        n->len = 0;
    }
    for (size_t i = 0; i < len; i++)
        agent_failed(n->a, given[i], "test", n->now);
    agent_link(n->a, link, false, n->now);
    skip(n);
    return octets;
}

/* They come as often as they can. The node works for them, but no more than it may waste, and
 * beside that once for each link. */
START_TEST(peers_that_take_nothing)
{
    struct binder n;
    begin(&n, 3);
    uint64_t wasted = 0;
    const uint64_t seconds = 4;
    for (uint64_t t = 0; t < seconds * 10; t++) {
        for (uint32_t i = 0; i < ATTACKERS; i++)
            wasted += visit(&n, FIRST + i, false);
        pass(&n, TICK_S / 10);
    }
    ck_assert_uint_gt(wasted, seconds * A_SECOND / 2);
    ck_assert_uint_lt(wasted, (seconds + 4) * A_SECOND);
    binder_fini(&n);
}
END_TEST

/* They are removed, as links of unconfigured peers are, and come again. */
START_TEST(names_that_come_again)
{
    struct binder n;
    begin(&n, 1);
    uint64_t wasted = 0;
    const uint64_t seconds = 3;
    for (uint64_t t = 0; t < seconds * 10; t++) {
        for (uint32_t i = 0; i < ATTACKERS; i++) {
            char node[16], pattern[16];
            wasted += visit(&n, FIRST + i, false);
            snprintf(node, sizeof node, "ipn:%u.0", 20 + i);
            snprintf(pattern, sizeof pattern, "ipn:%u.*", 20 + i);
            ck_assert_int_eq(agent_link_remove(n.a, FIRST + i, n.now), 0);
            skip(&n);
            const struct eid e = eid_of(node);
            ck_assert_int_eq(agent_link_add(n.a, FIRST + i, &e, 16), 0);
            add_route(&n, pattern, FIRST + i);
            skip(&n);
        }
        pass(&n, TICK_S / 10);
    }
    ck_assert_uint_gt(wasted, seconds * A_SECOND / 2);
    ck_assert_uint_lt(wasted, (seconds + 4) * A_SECOND);
    binder_fini(&n);
}
END_TEST

/* Another neighbour, who takes its bundles, is served at once in the meantime. */
START_TEST(others_do_not_wait)
{
    struct binder n;
    begin(&n, 6);
    for (unsigned round = 0; round < 8; round++)
        for (uint32_t i = 0; i < ATTACKERS - 1; i++)
            visit(&n, FIRST + i, false);
    ck_assert_uint_eq(visit(&n, FIRST, false), 0);
    ck_assert_uint_ge(visit(&n, FIRST + ATTACKERS - 1, true), 6 * SIZE);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], 6);
    /* A link that rests goes on at the end of its rest, without a further event. */
    agent_link(n.a, FIRST, true, n.now);
    skip(&n);
    for (tick t = 0; t < 30; t++)
        pass(&n, TICK_S);
    struct agent_backlog b[BUNDLE_PRIORITIES];
    skip(&n);
    ck_assert(agent_backlog(n.a, FIRST, b));
    ck_assert_uint_gt(b[BUNDLE_NORMAL].given, 0);
    binder_fini(&n);
}
END_TEST

/* A link that fails now and then is served at once when it is back. */
START_TEST(links_may_fail)
{
    struct binder n;
    begin(&n, 2);
    for (unsigned round = 0; round < 12; round++) {
        ck_assert_uint_gt(visit(&n, FIRST, false), 0);
        pass(&n, TICK_S);
    }
    ck_assert_uint_ge(visit(&n, FIRST, true), 2 * SIZE);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], 2);
    binder_fini(&n);
}
END_TEST

/* A link that stays open does not rest, however many of its bundles fail or are refused. */
START_TEST(open_links_do_not_rest)
{
    static uint8_t data[MIB];
    struct binder n;
    struct agent_action x;
    begin(&n, 6);
    const uint32_t link = FIRST + ATTACKERS - 1;
    visit(&n, link, true);
    for (unsigned round = 0; round < 8; round++)
        for (uint32_t i = 0; i < ATTACKERS - 1; i++)
            visit(&n, FIRST + i, false);
    ck_assert_uint_eq(visit(&n, FIRST, false), 0);
    agent_link(n.a, link, true, n.now);
    skip(&n);
    for (uint32_t i = 0; i < 30; i++) {
        struct bundle b = peer_bundle("ipn:1.1", "ipn:27.1", 100 + i);
        b.payload = slice_of(data, MIB);
        ck_assert_int_eq(link_receive(&n, 0, &b, 100 + i), REFUSE_NONE);
        unsigned given = 0;
        while (agent_poll(n.a, &x)) {
            const bool sent = x.kind == AGENT_SEND;
            const uint64_t key = x.key;
            do_action(&n, &x);
            given += sent;
            if (sent && i % 3 == 0)
                agent_failed(n.a, key, "test", n.now);
            else if (sent && i % 3 == 1)
                agent_declined(n.a, key, "test", n.now);
            else if (sent)
                agent_refused(n.a, key, "test", n.now);
            agent_check(n.a);
            n.len = 0;
        }
        ck_assert_uint_ge(given, 1);
    }
    /* It closes: then it rests as well. */
    agent_link(n.a, link, false, n.now);
    ck_assert_uint_eq(visit(&n, link, false), 0);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_waste, t)
{
    tcase_add_test(t, peers_that_take_nothing);
    tcase_add_test(t, names_that_come_again);
    tcase_add_test(t, others_do_not_wait);
    tcase_add_test(t, links_may_fail);
    tcase_add_test(t, open_links_do_not_rest);
}
