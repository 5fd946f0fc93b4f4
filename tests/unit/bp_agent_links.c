/* SPDX-License-Identifier: Apache-2.0 */
/* Links that come and go while bundles wait: nothing that was accepted goes with them. */
#include "bp_agent_help.h"

#include "base/rng.h"
#include "tests/unit/suite.h"

static void route(struct binder *n, const char *pattern, uint32_t link)
{
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse(pattern, &p), 0);
    ck_assert_int_eq(agent_route_add(n->a, &p, link), 0);
}

static void add_link(struct binder *n, uint32_t link, const char *peer, uint32_t window)
{
    struct eid e = eid_of(peer);
    ck_assert_int_eq(agent_link_add(n->a, link, &e, window), 0);
    agent_link(n->a, link, true, n->now);
}

static void send_to(struct binder *n, const char *to, uint64_t token)
{
    struct agent_request q = request_of("ipn:2.7", to, token);
    ck_assert_int_eq(app_send(n, &q, "x"), REFUSE_NONE);
}

static void start_with(struct binder *n, uint64_t slice)
{
    struct agent_config c = config_of("ipn:2.0");
    c.place_slice = slice;
    c.keep_unreachable = true;
    binder_init(n, &c);
    add_link(n, 0, "ipn:1.0", 2);
    route(n, "ipn:9.*", 0);
}

static void start(struct binder *n)
{
    start_with(n, 0);
}

static void settle(struct binder *n)
{
    skip(n);
    while (agent_deadline(n->a) <= n->now.now) {
        agent_expire(n->a, n->now);
        skip(n);
    }
}

/* One failed and pauses, two are on the link, one waits: all go the other way, in their order. */
START_TEST(all_that_waits_goes_another_way)
{
    struct binder n;
    start(&n);
    add_link(&n, 1, "ipn:3.0", 8);
    for (uint64_t i = 1; i <= 4; i++)
        send_to(&n, "ipn:9.1", i);
    skip(&n);
    agent_sent(n.a, 1, false, n.now);
    expect(&n, "send 3 on 0\n");
    route(&n, "ipn:9.1", 1); /* the better one, but what is on a link stays there */
    ck_assert_int_eq(agent_link_remove(n.a, 0, n.now), 0);
    expect(&n, "send 4 on 1\nsend 1 on 1\nsend 2 on 1\nsend 3 on 1\n");
    ck_assert_int_eq(agent_link_remove(n.a, 0, n.now), HELIO_ENOENT);
    for (uint64_t i = 1; i <= 4; i++)
        agent_sent(n.a, i, true, n.now);
    expect(&n, "remove 1\nremove 2\nremove 3\nremove 4\n");
    binder_fini(&n);
}
END_TEST

/* Each once. */
static void see_bundle(void *context, const struct agent_bundle_info *b)
{
    uint64_t *seen = context;
    ck_assert_uint_eq(*seen >> b->key & 1, 0);
    *seen |= UINT64_C(1) << b->key;
    ck_assert_uint_eq(b->age_ms, 1000 * (9 - b->key));
}

/* Which routes there are, how long the oldest waits, and all bundles in pieces. */
START_TEST(what_an_operator_sees)
{
    struct binder n;
    struct eid_pattern p;
    uint32_t link = 9;
    uint64_t cursor = 0, seen = 0;
    start(&n);
    ck_assert_uint_eq(agent_oldest_ms(n.a, 0, n.now), UINT64_MAX);
    ck_assert_uint_eq(agent_oldest_ms(n.a, 7, n.now), UINT64_MAX);
    ck_assert(agent_route_at(n.a, 0, &p, &link) && link == 0 && p.any_service);
    ck_assert(!agent_route_at(n.a, 1, &p, &link));
    for (uint64_t i = 1; i <= 8; i++) {
        send_to(&n, "ipn:9.1", i);
        n.now.now += TICK_S;
        n.now.dtn_ms += 1000;
    }
    skip(&n);
    ck_assert_uint_eq(agent_oldest_ms(n.a, 0, n.now), 8000);
    agent_sent(n.a, 1, true, n.now);
    skip(&n);
    ck_assert_uint_eq(agent_oldest_ms(n.a, 0, n.now), 7000);
    do
        cursor = agent_bundles_scan(n.a, cursor, see_bundle, &seen);
    while (cursor != 0);
    ck_assert_uint_eq(seen, 0x1fc); /* 2 … 8 */
    binder_fini(&n);
}
END_TEST

/* The neighbour did not answer, and is heard again: what pauses goes at once, by this link only,
 * and not while the link is down. */
START_TEST(heard_again)
{
    struct binder n;
    start(&n);
    add_link(&n, 1, "ipn:3.0", 8);
    route(&n, "ipn:8.*", 1);
    send_to(&n, "ipn:9.1", 1);
    send_to(&n, "ipn:9.2", 2);
    send_to(&n, "ipn:8.1", 3);
    skip(&n);
    for (uint64_t key = 1; key <= 3; key++)
        agent_failed(n.a, key, "no answer", n.now);
    expect(&n, "");
    agent_heard(n.a, 0, n.now);
    expect(&n, "send 1 on 0\nsend 2 on 0\n");
    agent_failed(n.a, 1, "no answer", n.now);
    agent_link(n.a, 0, false, n.now);
    agent_heard(n.a, 0, n.now);
    expect(&n, "");
    agent_heard(n.a, 7, n.now); /* there is none */
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* Without another way they wait, whatever their number, until there is one. */
START_TEST(they_wait_for_the_next_link)
{
    struct binder n;
    start(&n);
    send_to(&n, "ipn:9.1", 1);
    send_to(&n, "ipn:9.2", 2);
    send_to(&n, "ipn:9.3", 3);
    skip(&n);
    ck_assert_int_eq(agent_link_remove(n.a, 0, n.now), 0);
    pass(&n, 100 * TICK_S);
    expect(&n, "");
    struct agent_request q = request_of("ipn:2.7", "ipn:9.1", 4);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NO_ROUTE);
    add_link(&n, 0, "ipn:4.0", 2);
    expect(&n, "");
    route(&n, "ipn:9.*", 0);
    agent_expire(n.a, n.now);
    expect(&n, "send 1 on 0\nsend 2 on 0\n");
    agent_sent(n.a, 2, true, n.now);
    expect(&n, "remove 2\nsend 3 on 0\n");
    binder_fini(&n);
}
END_TEST

/* Nobody waits for the answer to what a link brought that is gone: the next link with its index
 * hears nothing of it. What it brought is accepted. */
START_TEST(answers_go_with_their_link)
{
    struct binder n;
    start(&n);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:9.5", 1);
    struct bundle c = peer_bundle("ipn:1.4", "ipn:77.5", 2); /* no route: refused at once */
    n.store_silent = true;
    ck_assert_int_eq(link_receive(&n, 0, &b, 70), REFUSE_NONE);
    expect(&n, "store 1\n");
    ck_assert_int_eq(link_receive(&n, 0, &c, 71), REFUSE_NO_ROUTE);
    ck_assert_int_eq(agent_link_remove(n.a, 0, n.now), 0);
    add_link(&n, 0, "ipn:4.0", 2);
    route(&n, "ipn:9.*", 0);
    agent_stored(n.a, 1, true, n.now);
    expect(&n, "send 1 on 0\n"); /* it did not come from this one */
    binder_fini(&n);
}
END_TEST

/* What was to be taken back from the link ends with it. */
START_TEST(the_recalled_ones_end)
{
    struct binder n;
    start(&n);
    send_to(&n, "ipn:9.1", 1);
    skip(&n);
    ck_assert_int_eq(agent_delete(n.a, 1, n.now), 0);
    ck_assert_int_eq(agent_link_remove(n.a, 0, n.now), 0);
    expect(&n, "remove 1\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DELETED], 1);
    binder_fini(&n);
}
END_TEST

/* There are as many as there are, and their shares are those of the peers that are left. */
START_TEST(hundreds)
{
    struct binder n;
    start(&n);
    struct agent_share before, after;
    agent_share(n.a, AGENT_OWN, &before);
    for (uint32_t i = 1; i < 300; i++) {
        char peer[32], pattern[32];
        snprintf(peer, sizeof peer, "ipn:%u.0", 100 + i);
        snprintf(pattern, sizeof pattern, "ipn:%u.*", 100 + i);
        add_link(&n, i, peer, 1);
        route(&n, pattern, i);
    }
    send_to(&n, "ipn:399.1", 1);
    expect(&n, "store 1\nconfirm app 1\nsend 1 on 299\n");
    for (uint32_t i = 1; i < 300; i++)
        ck_assert_int_eq(agent_link_remove(n.a, i, n.now), 0);
    agent_share(n.a, AGENT_OWN, &after);
    ck_assert_uint_eq(before.share_bundles, after.share_bundles);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 1);
    struct eid e = eid_of("ipn:5.0");
    ck_assert_int_eq(agent_link_add(n.a, UINT32_MAX, &e, 1), HELIO_EINVAL);
    ck_assert_int_eq(agent_link_add(n.a, 0, &e, 1), HELIO_EEXIST);
    binder_fini(&n);
}
END_TEST

/* Whatever comes and goes, each bundle is sent with success once, and the balance holds at each
 * step (drain checks it), with slices of all sizes. */
START_TEST(drawn_from_seeds)
{
    struct binder n;
    struct rng rng;
    uint32_t keys = 0;
    bool there[4] = {true};
    rng_init(&rng, (uint64_t)_i);
    start_with(&n, (uint64_t)_i % 5);
    for (int step = 0; step < 400; step++) {
        uint32_t link = (uint32_t)rng_below(&rng, 4), what = (uint32_t)rng_below(&rng, 8);
        uint64_t key = 1 + rng_below(&rng, keys + 1);
        if (what == 0 && !there[link]) {
            add_link(&n, link, "ipn:5.0", 1 + (uint32_t)rng_below(&rng, 3));
            route(&n, rng_below(&rng, 2) == 0 ? "ipn:9.*" : "ipn:9.1", link);
            there[link] = true;
        } else if (what == 1 && there[link]) {
            ck_assert_int_eq(agent_link_remove(n.a, link, n.now), 0);
            there[link] = false;
        } else if (what == 2) {
            agent_link(n.a, link, rng_below(&rng, 2) == 0, n.now);
        } else if (what < 5) {
            struct agent_request q = request_of("ipn:2.7", "ipn:9.1", 1);
            keys += app_send(&n, &q, "x") == REFUSE_NONE;
        } else if (what == 5) {
            agent_sent(n.a, key, rng_below(&rng, 2) == 0, n.now);
        } else if (what == 6) {
            agent_lost(n.a, key, UINT64_MAX, "lost", n.now);
        } else {
            pass(&n, rng_below(&rng, 5) * TICK_S);
        }
        skip(&n);
    }
    uint32_t last = 9;
    struct eid e = eid_of("ipn:6.0");
    ck_assert_int_eq(agent_link_add(n.a, last, &e, UINT32_MAX), 0);
    route(&n, "ipn:9.1", last);
    agent_link(n.a, last, true, n.now);
    for (uint32_t i = 0; i < 4; i++)
        if (there[i])
            ck_assert_int_eq(agent_link_remove(n.a, i, n.now), 0);
    pass(&n, 100 * TICK_S);
    settle(&n);
    for (uint64_t key = 1; key <= keys; key++)
        agent_sent(n.a, key, true, n.now);
    skip(&n);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 0);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], keys);
    binder_fini(&n);
}
END_TEST

static uint64_t count_backlog(const struct binder *n, uint32_t link)
{
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(n->a, link, b));
    return b[BUNDLE_BULK].bundles + b[BUNDLE_NORMAL].bundles + b[BUNDLE_EXPEDITED].bundles;
}

/* Links to other nodes come and go: of all that waits only the few at the heads of queues are asked
 * for, at once. */
START_TEST(a_link_to_another_node_asks_for_nothing)
{
    struct binder n;
    char to[16];
    start_with(&n, 1);
    agent_link(n.a, 0, false, n.now);
    for (uint64_t i = 1; i <= 12; i++) {
        snprintf(to, sizeof to, "ipn:9.%d", (int)i);
        send_to(&n, to, i);
    }
    settle(&n);
    for (uint32_t i = 1; i <= 3; i++) {
        struct eid peer = eid_of("ipn:3.0");
        ck_assert_int_eq(agent_link_add(n.a, i, &peer, 2), 0);
        route(&n, "ipn:3.*", i);
        agent_link(n.a, i, true, n.now);
        ck_assert_uint_gt(agent_deadline(n.a), n.now.now);
        agent_link_limit(n.a, i, 1000000, n.now);
        agent_link(n.a, i, false, n.now);
        ck_assert_uint_gt(agent_deadline(n.a), n.now.now);
        ck_assert_int_eq(agent_link_remove(n.a, i, n.now), 0);
        agent_heard(n.a, 0, n.now);
        ck_assert_uint_gt(agent_deadline(n.a), n.now.now);
    }
    ck_assert_uint_eq(count_backlog(&n, 0), 12);
    add_link(&n, 1, "ipn:3.0", 2);
    route(&n, "ipn:9.*", 1); /* this one is for them */
    settle(&n);
    ck_assert_uint_eq(count_backlog(&n, 0), 0);
    ck_assert_uint_eq(count_backlog(&n, 1), 12);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_links, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, all_that_waits_goes_another_way);
    tcase_add_test(t, what_an_operator_sees);
    tcase_add_test(t, they_wait_for_the_next_link);
    tcase_add_test(t, answers_go_with_their_link);
    tcase_add_test(t, the_recalled_ones_end);
    tcase_add_test(t, heard_again);
    tcase_add_test(t, a_link_to_another_node_asks_for_nothing);
    tcase_add_test(t, hundreds);
    tcase_add_loop_test(t, drawn_from_seeds, 0, 100);
}
