/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full node that drops: what goes is of the lowest priority, then what ends first, and only for
 * one that is more; what is given away or being stored stays, and so does a peer's share. Nothing
 * goes in vain.
 */
#include <inttypes.h>

#include "base/rng.h"
#include "bp/codec/qos.h"
#include "bp_agent_help.h"
#include "bp_agent_piece.h"
#include "tests/unit/suite.h"

#define FULL "the node's limit of bundles or bytes is reached"

static struct agent_config full_config(uint64_t bundles)
{
    struct agent_config c = config_of("ipn:2.0");
    c.held_bundles = bundles;
    c.drop_when_full = true;
    return c;
}

static enum agent_refusal send_one(struct binder *n, enum bundle_priority p, uint64_t life_s,
                                   const char *text)
{
    struct agent_request q = request_of("ipn:2.7", "ipn:3.8", 5);
    struct bundle_qos qos = {.priority = p};
    q.lifetime_ms = life_s * 1000;
    q.qos = &qos;
    return app_send(n, &q, text);
}

static enum agent_refusal take_one(struct binder *n, uint32_t link, uint64_t sequence)
{
    struct bundle b = peer_bundle(link == 0 ? "ipn:1.4" : "ipn:3.4", "ipn:2.8", sequence);
    b.lifetime_ms = 1000 + sequence; /* later ones end later */
    return link_receive(n, link, &b, sequence);
}

static bool held(const struct binder *n, uint64_t key)
{
    struct agent_bundle_info all[128];
    size_t count = agent_bundles(n->a, all, 128);
    for (size_t i = 0; i < count; i++)
        if (all[i].key == key)
            return true;
    return false;
}

/* Keys 1 to 6, in no order of what they are worth. */
static void fill_six(struct binder *n)
{
    static const struct {
        enum bundle_priority p;
        uint64_t life_s;
    } six[] = {{BUNDLE_NORMAL, 60},    {BUNDLE_BULK, 90}, {BUNDLE_NORMAL, 30},
               {BUNDLE_EXPEDITED, 10}, {BUNDLE_BULK, 50}, {BUNDLE_EXPEDITED, 5}};
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(send_one(n, six[i].p, six[i].life_s, "x"), REFUSE_NONE);
    skip(n);
}

START_TEST(the_lowest_priority_then_the_nearest_end)
{
    struct binder n;
    struct agent_config c = full_config(6);
    relay_init(&n, &c);
    fill_six(&n);
    ck_assert_int_eq(send_one(&n, BUNDLE_NORMAL, 100, "x"), REFUSE_NONE); /* 7 */
    expect(&n, "store 7\nconfirm app 5\nremove 5\n");
    ck_assert_int_eq(send_one(&n, BUNDLE_BULK, 90, "x"), REFUSE_FULL); /* as 2: not less */
    ck_assert_int_eq(send_one(&n, BUNDLE_BULK, 91, "x"), REFUSE_NONE); /* 8 */
    expect(&n, "store 8\nconfirm app 5\nremove 2\n");
    ck_assert_int_eq(send_one(&n, BUNDLE_NORMAL, 29, "x"), REFUSE_NONE); /* 9 */
    expect(&n, "store 9\nconfirm app 5\nremove 8\n");
    ck_assert_int_eq(send_one(&n, BUNDLE_NORMAL, 28, "x"), REFUSE_FULL);
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 1, "x"), REFUSE_NONE); /* 10 */
    expect(&n, "store 10\nconfirm app 5\nremove 9\n");
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 7, "x"), REFUSE_NONE); /* 11 */
    expect(&n, "store 11\nconfirm app 5\nremove 3\n");
    const struct agent_counters *k = agent_counters(n.a);
    ck_assert_uint_eq(k->ended[END_DROPPED], 5);
    ck_assert_uint_eq(k->refused[REFUSE_FULL], 2);
    ck_assert_uint_eq(k->bundles, 6);
    binder_fini(&n);
}
END_TEST

START_TEST(without_the_policy_it_is_refused)
{
    struct binder n;
    struct agent_config c = full_config(6);
    c.drop_when_full = false;
    relay_init(&n, &c);
    fill_six(&n);
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 1000, "x"), REFUSE_FULL);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DROPPED], 0);
    binder_fini(&n);
}
END_TEST

/* Two are with the link, one is being stored: they stay, whatever they are. */
START_TEST(what_is_given_away_stays)
{
    struct binder n;
    struct agent_config c = full_config(4);
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(send_one(&n, BUNDLE_BULK, 10, "x"), REFUSE_NONE);
    skip(&n);
    n.store_silent = true;
    ck_assert_int_eq(send_one(&n, BUNDLE_BULK, 10, "x"), REFUSE_NONE);
    skip(&n);
    n.store_silent = false;
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 10, "x"), REFUSE_NONE);
    expect(&n, "store 5\nconfirm app 5\nremove 3\n");
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 20, "x"), REFUSE_NONE); /* in place of 5 */
    skip(&n);
    n.store_silent = true;
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 30, "x"), REFUSE_NONE); /* of 6 */
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 40, "x"), REFUSE_FULL);
    agent_sent(n.a, 1, false, n.now); /* back: it pauses, and is less */
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 40, "x"), REFUSE_NONE);
    skip(&n);
    ck_assert(!held(&n, 1) && held(&n, 2) && held(&n, 4) && held(&n, 7));
    binder_fini(&n);
}
END_TEST

/* Of bytes: as many as it takes, and none when they would not be enough. */
START_TEST(nothing_goes_in_vain)
{
    static char large[30001], small[1001];
    struct binder n;
    struct agent_config c = full_config(0);
    memset(large, 'l', sizeof large - 1);
    memset(small, 's', sizeof small - 1);
    c.held_bytes = 40000;
    relay_init(&n, &c);
    while (send_one(&n, BUNDLE_BULK, 10, small) == REFUSE_NONE)
        skip(&n);
    const uint64_t first = agent_counters(n.a)->bundles;
    ck_assert_uint_gt(first, 30);
    ck_assert_int_eq(send_one(&n, BUNDLE_NORMAL, 10, large), REFUSE_NONE);
    skip(&n);
    const uint64_t left = agent_counters(n.a)->bundles;
    ck_assert_uint_lt(agent_counters(n.a)->bytes, 40000);
    ck_assert(left > 5 && left < 12); /* not more than had to */
    ck_assert_int_eq(send_one(&n, BUNDLE_NORMAL, 10, large), REFUSE_FULL);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, left);
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 10, large), REFUSE_NONE);
    skip(&n);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DROPPED],
                      first + 2 - agent_counters(n.a)->bundles);
    binder_fini(&n);
}
END_TEST

START_TEST(more_than_a_number_of_small_ones_do_not_go_for_one)
{
    static char large[60001];
    struct binder n;
    struct agent_config c = full_config(0);
    memset(large, 'l', sizeof large - 1);
    c.held_bytes = 62000;
    relay_init(&n, &c);
    while (send_one(&n, BUNDLE_BULK, 10, "x") == REFUSE_NONE)
        skip(&n);
    const uint64_t before = agent_counters(n.a)->bundles;
    ck_assert_uint_gt(before, 400);
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 10, large), REFUSE_FULL);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, before);
    ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 10, "y"), REFUSE_NONE);
    skip(&n);
    binder_fini(&n);
}
END_TEST

/* 10 for each of two links and the applications; the rest is for who comes first. */
START_TEST(a_peer_keeps_its_share)
{
    struct binder n;
    struct agent_config c = full_config(100);
    c.reserve_percent = 30;
    relay_init(&n, &c);
    for (uint64_t i = 1; i <= 8; i++)
        ck_assert_int_eq(take_one(&n, 1, i), REFUSE_NONE);
    skip(&n);
    for (uint64_t i = 1; i <= 200; i++) {
        ck_assert_int_eq(take_one(&n, 0, 1000 + i), REFUSE_NONE);
        skip(&n);
    }
    struct agent_share s;
    agent_share(n.a, 0, &s);
    ck_assert_uint_eq(s.bundles, 80);
    agent_share(n.a, 1, &s);
    ck_assert_uint_eq(s.bundles, 8); /* though they end first */
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DROPPED], 120);
    for (uint64_t i = 0; i < 10; i++) {
        ck_assert_int_eq(send_one(&n, BUNDLE_NORMAL, 10 + i, "x"), REFUSE_NONE);
        skip(&n);
    }
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DROPPED], 120);
    ck_assert_int_eq(send_one(&n, BUNDLE_NORMAL, 5, "x"), REFUSE_NONE); /* beyond: of the first's */
    skip(&n);
    agent_share(n.a, 0, &s);
    ck_assert_uint_eq(s.bundles, 79);
    agent_share(n.a, AGENT_OWN, &s);
    ck_assert_uint_eq(s.bundles, 11);
    binder_fini(&n);
}
END_TEST

/* What is dropped may come again: it is no duplicate. And who asked is told. */
START_TEST(it_is_reported_and_may_come_again)
{
    struct binder n;
    struct agent_config c = full_config(3);
    c.status_reports = true;
    c.report_rate = 1000;
    relay_init(&n, &c);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.8", 1);
    b.flags = BUNDLE_REPORT_DELETION;
    b.payload = slice_of(FULL, sizeof FULL);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    ck_assert_int_eq(send_one(&n, BUNDLE_BULK, 10, "x"), REFUSE_NONE);
    ck_assert_int_eq(send_one(&n, BUNDLE_BULK, 10, "x"), REFUSE_NONE);
    skip(&n);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(send_one(&n, BUNDLE_EXPEDITED, 100, "x"), REFUSE_NONE);
    skip(&n);
    ck_assert(!held(&n, 1));
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DROPPED], 3);
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_FULL);
    agent_delete(n.a, 4, n.now);
    skip(&n);
    ck_assert_int_eq(link_receive(&n, 0, &b, 3), REFUSE_NONE);
    skip(&n);
    agent_delete(n.a, 5, n.now);
    skip(&n);
    const uint64_t before = agent_counters(n.a)->reports_sent;
    b = peer_bundle("ipn:1.4", "ipn:2.8", 2);
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_NONE);
    skip(&n);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 3);
    ck_assert_uint_eq(agent_counters(n.a)->reports_sent, before);
    binder_fini(&n);
}
END_TEST

START_TEST(after_a_restart)
{
    struct binder n;
    struct agent_config c = full_config(6);
    relay_init(&n, &c);
    fill_six(&n);
    binder_restart(&n, &c);
    relay_ways(&n);
    agent_expire(n.a, n.now);
    skip(&n);
    ck_assert_int_eq(send_one(&n, BUNDLE_NORMAL, 100, "x"), REFUSE_NONE);
    skip(&n);
    ck_assert(!held(&n, 5) && held(&n, 2));
    binder_fini(&n);
}
END_TEST

/* Each bundle is for an endpoint of its own here, which nobody registers: what the agent keeps for
 * the endpoints counts, too. */
#define ENDPOINT_LEAST 1000 /* bytes of one, at least */
/* What the metric shows beside its limit: places are in it. */
static void expect_used(const struct agent *a, uint64_t max, uint64_t places)
{
    const struct agent_counters *k = agent_counters(a);
    ck_assert_uint_eq(agent_memory_max(a), max);
    ck_assert_uint_le(agent_memory_used(a), max);
    ck_assert_uint_gt(agent_memory_used(a), max - max / 20); /* it is full: the next was refused */
    ck_assert_uint_ge(agent_memory_used(a), k->memory_bytes + k->record_bytes + places);
}

START_TEST(memory_of_endpoints_counts)
{
    struct binder n;
    struct agent_config c = full_config(0);
    c.drop_when_full = false;
    c.total_bytes = 2000000;
    c.memory_only = _i == 1;
    c.held_bytes = c.memory_only ? c.total_bytes : c.held_bytes;
    relay_init(&n, &c);
    const struct agent_counters *k = agent_counters(n.a);
    for (uint64_t i = 1; i <= 6000; i++) {
        char to[32];
        snprintf(to, sizeof to, "ipn:2.%" PRIu64, 1000 + i);
        struct bundle b = peer_bundle("ipn:1.4", to, i);
        if (link_receive(&n, 0, &b, i) == REFUSE_NONE)
            skip(&n);
    }
    agent_check(n.a);
    ck_assert_uint_gt(k->bundles, 200);
    ck_assert_uint_le(k->memory_bytes + k->record_bytes + k->bundles * ENDPOINT_LEAST,
                      c.total_bytes);
    expect_used(n.a, c.total_bytes, k->bundles * ENDPOINT_LEAST);
    binder_fini(&n);
}
END_TEST

/* One byte of each of many bundles: each has a reassembly of its own, whose memory counts, too. */
#define REASSEMBLY_LEAST 350 /* bytes of one, at least */
START_TEST(memory_of_reassemblies_counts)
{
    struct binder n;
    struct agent_config c = full_config(0);
    c.drop_when_full = false;
    c.total_bytes = 2000000;
    c.memory_only = _i == 1;
    c.held_bytes = c.memory_only ? c.total_bytes : c.held_bytes;
    c.reassemblies_max = c.fragments_all_max = 1000000;
    relay_init(&n, &c);
    const struct agent_counters *k = agent_counters(n.a);
    for (uint64_t i = 1; i <= 6000; i++) {
        struct bundle b = piece_of(TEXT, i, 3, 4);
        if (link_receive(&n, 0, &b, 3) == REFUSE_NONE)
            skip(&n);
    }
    agent_check(n.a);
    ck_assert_uint_gt(k->reassemblies, 200);
    ck_assert_uint_le(k->memory_bytes + k->record_bytes + k->reassemblies * REASSEMBLY_LEAST,
                      c.total_bytes);
    expect_used(n.a, c.total_bytes, k->reassemblies * REASSEMBLY_LEAST);
    binder_fini(&n);
}
END_TEST

/* Far more than fits, by bytes and by number, with and without the policy. */
START_TEST(memory_is_bounded_all_told)
{
    static char text[1001];
    struct binder n;
    struct agent_config c = full_config(0);
    memset(text, 'x', sizeof text - 1);
    c.total_bytes = 2000000;
    c.drop_when_full = _i == 1;
    relay_init(&n, &c);
    const struct agent_counters *k = agent_counters(n.a);
    uint64_t most = 0, taken = 0;
    for (uint64_t i = 0; i < 6000; i++) {
        taken += send_one(&n, BUNDLE_NORMAL, 100 + i, i % 2 ? text : "x") == REFUSE_NONE;
        struct agent_action x; /* agent_check after each would take its time */
        while (agent_poll(n.a, &x)) {
            n.len = 0;
            do_action(&n, &x);
        }
        const uint64_t used = k->memory_bytes + k->record_bytes;
        most = used > most ? used : most;
        ck_assert_uint_le(used, c.total_bytes);
        ck_assert_uint_le(k->memory_bytes, c.total_bytes / 4 + 4096);
    }
    agent_check(n.a);
    ck_assert_uint_gt(most, c.total_bytes - 4096);
    ck_assert_uint_gt(k->bundles,
                      2000); /* records take most of it, not what is in the store, too */
    ck_assert_uint_eq(taken, c.drop_when_full ? 6000 : k->bundles);
    ck_assert_uint_eq(k->refused[REFUSE_FULL], 6000 - taken);
    binder_fini(&n);
}
END_TEST

/* Everything at once: the sums hold (agent_check), and no expedited one goes for a lesser. */
START_TEST(a_flood_of_all_kinds)
{
    struct binder n;
    struct agent_config c = full_config(60);
    struct rng r;
    static char text[2001];
    uint64_t expedited = 0, sequence = 1;
    rng_init(&r, 31 + (uint64_t)_i);
    memset(text, 'x', sizeof text - 1);
    c.reserve_percent = _i % 2 ? 30 : 0;
    c.held_bytes = 50000;
    c.memory_only = _i >= 2;
    relay_init(&n, &c);
    for (int i = 0; i < 3000; i++) {
        text[rng_below(&r, sizeof text - 1)] = 0;
        enum bundle_priority p = (enum bundle_priority)rng_below(&r, 2);
        if (expedited < 15 && rng_chance(&r, 0.01))
            p = BUNDLE_EXPEDITED;
        if (rng_chance(&r, 0.4))
            (void)take_one(&n, (uint32_t)rng_below(&r, 2), sequence++);
        else if (send_one(&n, p, p == BUNDLE_EXPEDITED ? 1000000 : 1 + rng_below(&r, 100), text) ==
                 REFUSE_NONE)
            expedited += p == BUNDLE_EXPEDITED;
        memset(text, 'x', sizeof text - 1);
        if (rng_chance(&r, 0.05))
            pass(&n, rng_below(&r, 3) * TICK_S);
        skip(&n);
    }
    struct agent_bundle_info all[128];
    size_t count = agent_bundles(n.a, all, 128);
    for (size_t i = 0; i < count; i++)
        expedited -= all[i].priority == BUNDLE_EXPEDITED;
    ck_assert_uint_eq(expedited, 0);
    ck_assert_uint_gt(agent_counters(n.a)->ended[END_DROPPED], 100);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_room, t)
{
    tcase_add_test(t, the_lowest_priority_then_the_nearest_end);
    tcase_add_test(t, without_the_policy_it_is_refused);
    tcase_add_test(t, what_is_given_away_stays);
    tcase_add_test(t, nothing_goes_in_vain);
    tcase_add_test(t, more_than_a_number_of_small_ones_do_not_go_for_one);
    tcase_add_test(t, a_peer_keeps_its_share);
    tcase_add_test(t, it_is_reported_and_may_come_again);
    tcase_add_test(t, after_a_restart);
    tcase_add_loop_test(t, memory_is_bounded_all_told, 0, 2);
    tcase_add_loop_test(t, memory_of_endpoints_counts, 0, 2);
    tcase_add_loop_test(t, memory_of_reassemblies_counts, 0, 2);
    tcase_add_loop_test(t, a_flood_of_all_kinds, 0, 4);
}
