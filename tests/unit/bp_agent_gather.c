/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles of groups that come in fragments: each fragment goes on, and what they make together is
 * delivered here, once, to all who joined. agent_check runs after each step.
 */
#include "base/rng.h"
#include "bp_agent_piece.h"
#include "tests/unit/suite.h"

static struct bundle group_piece(uint64_t sequence, size_t lo, size_t hi)
{
    struct bundle b = piece_of(TEXT, sequence, lo, hi);
    b.destination = eid_of("imc:5.1");
    return b;
}

static enum agent_refusal come(struct binder *n, uint32_t link, uint64_t sequence, size_t lo,
                               size_t hi)
{
    struct bundle b = group_piece(sequence, lo, hi);
    enum agent_refusal r = link_receive(n, link, &b, lo);
    drain(n);
    return r;
}

static void join(struct binder *n, uint64_t reg)
{
    struct eid group = eid_of("imc:5.1");
    ck_assert_int_eq(agent_register(n->a, reg, &group, 2, n->now), 0);
    drain(n);
}

/* A way beyond: link 1. */
static void go_beyond(struct binder *n)
{
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse("imc:5.*", &p), 0);
    ck_assert_int_eq(agent_route_add(n->a, &p, 1), 0);
    agent_link(n->a, 1, true, n->now);
    skip(n);
}

/* Answers all that was delivered or sent, as often as there is some. */
static unsigned answer_all(struct binder *n)
{
    unsigned delivered = 0;
    for (bool more = true; more;) {
        char trace[sizeof n->trace];
        drain(n);
        memcpy(trace, n->trace, sizeof trace);
        n->len = 0;
        n->trace[0] = 0;
        more = false;
        for (char *line = strtok(trace, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            unsigned long long key;
            if (sscanf(line, "deliver %llu", &key) == 1) {
                ck_assert_msg(strstr(line, ": " TEXT) != NULL, "%s", line);
                agent_delivered(n->a, key, true, n->now);
                delivered++;
                more = true;
            } else if (sscanf(line, "recall %llu from link", &key) == 1) {
                agent_sent(n->a, key, false, n->now);
                more = true;
            } else if (sscanf(line, "send %llu", &key) == 1) {
                agent_sent(n->a, key, true, n->now);
                more = true;
            }
        }
    }
    return delivered;
}

START_TEST(delivered_to_all_who_joined)
{
    struct binder n;
    start(&n);
    join(&n, 1);
    join(&n, 2);
    ck_assert_int_eq(come(&n, 0, 7, 10, 20), REFUSE_NONE);
    ck_assert_int_eq(come(&n, 0, 7, 0, 6), REFUSE_NONE);
    ck_assert_uint_eq(answer_all(&n), 0);
    ck_assert_int_eq(come(&n, 0, 7, 4, 12), REFUSE_NONE); /* overlaps both */
    ck_assert_uint_eq(answer_all(&n), 2);
    nothing_left(&n);
    const struct agent_counters *c = agent_counters(n.a);
    ck_assert(c->delivered == 1 && c->ended[END_DELIVERED] == 3);
    ck_assert(c->fragments_ended[END_DELIVERED] == 3 && c->reassemblies_ended[END_DELIVERED] == 1);
    /* What comes again is known, also cut otherwise. */
    ck_assert_int_eq(come(&n, 1, 7, 10, 20), REFUSE_DUPLICATE);
    ck_assert_int_eq(come(&n, 1, 7, 1, 3), REFUSE_NONE);
    ck_assert_uint_eq(answer_all(&n), 0);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(they_go_on_as_well)
{
    struct binder n;
    start(&n);
    go_beyond(&n);
    join(&n, 1);
    skip(&n);
    ck_assert_int_eq(come(&n, 0, 7, 0, 12), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 0\nsend 2 on 1\n");
    agent_sent(n.a, 2, true, n.now);
    expect(&n, ""); /* the one here waits for the others */
    agent_link(n.a, 1, false, n.now);
    ck_assert_int_eq(come(&n, 0, 7, 12, 20), REFUSE_NONE);
    ck_assert_uint_eq(answer_all(&n), 1);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 1); /* the second is not forwarded yet */
    agent_link(n.a, 1, true, n.now);
    ck_assert_uint_eq(answer_all(&n), 0);
    nothing_left(&n);
    ck_assert_uint_eq(agent_counters(n.a)->delivered, 1);
    binder_fini(&n);
}
END_TEST

START_TEST(who_did_not_join_only_forwards)
{
    struct binder n;
    start(&n);
    ck_assert_int_eq(come(&n, 0, 7, 0, 12), REFUSE_NO_ROUTE);
    go_beyond(&n);
    skip(&n);
    ck_assert_int_eq(come(&n, 0, 7, 0, 12), REFUSE_NONE);
    ck_assert_int_eq(come(&n, 0, 7, 12, 20), REFUSE_NONE);
    ck_assert_uint_eq(answer_all(&n), 0);
    nothing_left(&n);
    ck_assert_uint_eq(agent_counters(n.a)->fragments_in, 0);
    binder_fini(&n);
}
END_TEST

START_TEST(a_gap_expires)
{
    struct binder n;
    start(&n);
    go_beyond(&n);
    join(&n, 1);
    ck_assert_int_eq(come(&n, 0, 7, 0, 12), REFUSE_NONE);
    ck_assert_uint_eq(answer_all(&n), 0);
    ck_assert_uint_eq(agent_counters(n.a)->fragments, 1);
    pass(&n, 61 * TICK_S);
    ck_assert_uint_eq(answer_all(&n), 0);
    nothing_left(&n);
    const struct agent_counters *c = agent_counters(n.a);
    ck_assert(c->fragments_ended[END_EXPIRED] == 1 && c->ended[END_FORWARDED] == 1);
    binder_fini(&n);
}
END_TEST

/* In one piece after all: that one is delivered, and the fragments' bytes are of no use. */
START_TEST(one_piece_is_faster)
{
    struct binder n;
    start(&n);
    go_beyond(&n);
    join(&n, 1);
    ck_assert_int_eq(come(&n, 0, 7, 0, 12), REFUSE_NONE);
    struct bundle b = peer_bundle("ipn:1.4", "imc:5.1", 7);
    b.payload = slice_of(TEXT, strlen(TEXT));
    ck_assert_int_eq(link_receive(&n, 0, &b, 9), REFUSE_NONE);
    ck_assert_uint_eq(answer_all(&n), 1);
    nothing_left(&n);
    ck_assert_int_eq(come(&n, 0, 7, 12, 20), REFUSE_NONE); /* goes on */
    ck_assert_uint_eq(answer_all(&n), 0);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(no_room_to_gather)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.reassemblies_max = 1;
    relay_init(&n, &c);
    go_beyond(&n);
    join(&n, 1);
    ck_assert_int_eq(come(&n, 0, 7, 0, 12), REFUSE_NONE);
    ck_assert_int_eq(come(&n, 0, 8, 0, 12), REFUSE_NONE); /* goes on only */
    ck_assert_uint_eq(agent_counters(n.a)->reassemblies, 1);
    ck_assert_int_eq(come(&n, 0, 7, 12, 20), REFUSE_NONE);
    ck_assert_uint_eq(answer_all(&n), 1);
    ck_assert_int_eq(come(&n, 0, 8, 12, 20), REFUSE_NONE);
    ck_assert_uint_eq(answer_all(&n), 0);
    ck_assert_int_eq(agent_delete(n.a, 9999, n.now), HELIO_ENOENT);
    binder_fini(&n);
}
END_TEST

/* Fragments of many bundles in any order, with little memory, loads that fail, links that go down,
 * members that come and go, deletions, lifetimes that end, restarts: all is accounted for. */
START_TEST(at_random)
{
    struct rng rng;
    rng_init(&rng, (uint64_t)_i + 1);
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.memory_bytes = 400;
    c.reassemblies_max = 3;
    c.reassembly_idle = TICK_S;
    relay_init(&n, &c);
    bool beyond = (_i & 1) != 0, joined = false;
    if (beyond)
        go_beyond(&n);
    for (int step = 0; step < 150; step++) {
        const uint64_t what = rng_below(&rng, 20);
        const size_t lo = (size_t)rng_below(&rng, 4) * 5;
        n.load_fails = rng_below(&rng, 8) == 0;
        if (what < 12)
            (void)come(&n, 0, rng_below(&rng, 4), lo,
                       lo + 5 + (size_t)rng_below(&rng, 2) * 5 % (16 - lo));
        else if (what < 14)
            (void)answer_all(&n);
        else if (what == 14)
            agent_link(n.a, 1, rng_below(&rng, 2) == 0, n.now);
        else if (what == 15)
            pass(&n, rng_below(&rng, 30) * TICK_S);
        else if (what == 16)
            (void)agent_delete(n.a, 1 + rng_below(&rng, (uint64_t)step + 1), n.now);
        else if (what == 17 && joined)
            agent_unregister(n.a, 1, n.now);
        else if (what == 17)
            join(&n, 1);
        else if (what == 18 && _i % 3 == 0) {
            binder_restart(&n, &c);
            relay_ways(&n);
            if (beyond)
                go_beyond(&n);
            joined = false;
            agent_expire(n.a, n.now);
        }
        joined = what == 17 ? !joined : joined;
        skip(&n);
    }
    n.load_fails = false;
    ck_assert_int_eq(agent_link_remove(n.a, 1, n.now), 0); /* with what it was given */
    pass(&n, 61 * TICK_S);                                 /* every lifetime */
    (void)answer_all(&n);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_gather, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, delivered_to_all_who_joined);
    tcase_add_test(t, they_go_on_as_well);
    tcase_add_test(t, who_did_not_join_only_forwards);
    tcase_add_test(t, a_gap_expires);
    tcase_add_test(t, one_piece_is_faster);
    tcase_add_test(t, no_room_to_gather);
    tcase_add_loop_test(t, at_random, 0, 100);
}
