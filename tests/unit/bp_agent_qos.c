/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Priorities at the agent: which bundle goes next by strict order and by weights, ordinals, rules
 * of a link, what the neighbour and the application are told, what a restart keeps; and with
 * virtual time how long a bulk bundle waits while there is always something more urgent.
 */
#include "bp_agent_help.h"

#include "base/rng.h"
#include "tests/unit/suite.h"

static void add_way(struct binder *n, uint32_t link, const char *peer, uint32_t window)
{
    struct eid e = eid_of(peer);
    struct eid_pattern p;
    char text[64];
    ck_assert_int_eq(agent_link_add(n->a, link, &e, window), 0);
    snprintf(text, sizeof text, "ipn:%llu.*", (unsigned long long)e.node);
    ck_assert_int_eq(eid_pattern_parse(text, &p), 0);
    ck_assert_int_eq(agent_route_add(n->a, &p, link), 0);
}

static void start(struct binder *n)
{
    struct agent_config c = config_of("ipn:2.0");
    binder_init(n, &c);
    add_way(n, 0, "ipn:3.0", 1);
}

static void serve(struct binder *n, bool strict)
{
    struct agent_service s = {.strict = strict};
    ck_assert_int_eq(agent_link_service(n->a, 0, &s), 0);
}

static void send_as(struct binder *n, const char *to, enum bundle_priority p, uint8_t ordinal,
                    uint64_t token)
{
    struct agent_request q = request_of("ipn:2.7", to, token);
    struct bundle_qos qos = {.priority = p, .ordinal = ordinal};
    q.qos = &qos;
    ck_assert_int_eq(app_send(n, &q, "x"), REFUSE_NONE);
}

/* Sends what waits, one after the other; the keys in their order. */
static void expect_order(struct binder *n, const char *keys)
{
    char got[256] = "";
    size_t len = 0;
    struct agent_action x;
    for (;;) {
        uint64_t sent = 0;
        agent_check(n->a);
        while (agent_poll(n->a, &x)) {
            if (x.kind == AGENT_SEND)
                sent = x.key;
            do_action(n, &x);
            agent_check(n->a);
        }
        if (sent == 0)
            break;
        len += (size_t)snprintf(got + len, sizeof got - len, "%s%llu", len > 0 ? " " : "",
                                (unsigned long long)sent);
        agent_sent(n->a, sent, true, n->now);
    }
    ck_assert_str_eq(got, keys);
    n->len = 0;
    n->trace[0] = 0;
}

START_TEST(strict_order)
{
    struct binder n;
    start(&n);
    serve(&n, true);
    for (uint64_t i = 0; i < 9; i++)
        send_as(&n, "ipn:3.1", (enum bundle_priority)(i % 3), 0, i);
    skip(&n);
    agent_link(n.a, 0, true, n.now);
    expect_order(&n, "3 6 9 2 5 8 1 4 7");
    binder_fini(&n);
}
END_TEST

/* Without priorities everything is as it came: first in, first out, whatever the service. */
START_TEST(one_priority_is_first_in_first_out)
{
    for (int strict = 0; strict < 2; strict++) {
        struct binder n;
        start(&n);
        serve(&n, strict);
        for (uint64_t i = 0; i < 9; i++) {
            struct agent_request q = request_of("ipn:2.7", "ipn:3.1", i);
            ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
        }
        skip(&n);
        agent_link(n.a, 0, true, n.now);
        expect_order(&n, "1 2 3 4 5 6 7 8 9");
        binder_fini(&n);
    }
}
END_TEST

/* By weights the most urgent begins, and nobody waits for all of it to end. */
START_TEST(by_weights)
{
    struct binder n;
    start(&n);
    struct agent_service s = {.weights = {1, 2, 4}};
    ck_assert_int_eq(agent_link_service(n.a, 0, &s), 0);
    for (uint64_t i = 0; i < 7; i++) { /* 1-7 bulk, 8-14 normal, 15-21 expedited: equal lengths */
        send_as(&n, "ipn:3.1", BUNDLE_BULK, 0, i);
    }
    for (uint64_t i = 0; i < 7; i++)
        send_as(&n, "ipn:3.1", BUNDLE_NORMAL, 0, i);
    for (uint64_t i = 0; i < 7; i++)
        send_as(&n, "ipn:3.1", BUNDLE_EXPEDITED, 0, i);
    skip(&n);
    agent_link(n.a, 0, true, n.now);
    expect_order(&n, "15 16 8 17 18 9 1 19 20 10 21 11 2 12 13 3 14 4 5 6 7");
    binder_fini(&n);
}
END_TEST

/* Higher ordinals first, equal ones as they came; ordinals of other priorities mean nothing. */
START_TEST(ordinals)
{
    struct binder n;
    start(&n);
    serve(&n, true);
    static const uint8_t each[] = {0, 5, 254, 5, 0, 1, 254, 3};
    for (uint64_t i = 0; i < 8; i++)
        send_as(&n, "ipn:3.1", BUNDLE_EXPEDITED, each[i], i);
    send_as(&n, "ipn:3.1", BUNDLE_NORMAL, 1, 8);
    send_as(&n, "ipn:3.1", BUNDLE_NORMAL, 200, 9);
    skip(&n);
    agent_link(n.a, 0, true, n.now);
    expect_order(&n, "3 7 2 4 8 6 1 5 9 10");
    binder_fini(&n);
}
END_TEST

/* What the link could not send is the next of its priority again, and not before a higher one. */
START_TEST(one_that_comes_back_is_the_first_of_its_own)
{
    struct binder n;
    start(&n);
    serve(&n, true);
    agent_link(n.a, 0, true, n.now);
    send_as(&n, "ipn:3.1", BUNDLE_EXPEDITED, 7, 1);
    skip(&n);
    send_as(&n, "ipn:3.1", BUNDLE_EXPEDITED, 7, 2);
    send_as(&n, "ipn:3.1", BUNDLE_EXPEDITED, 9, 3);
    send_as(&n, "ipn:3.1", BUNDLE_BULK, 0, 4);
    agent_link(n.a, 0, false, n.now);
    skip(&n);
    agent_failed(n.a, 1, "test", n.now);
    skip(&n);
    agent_link(n.a, 0, true, n.now);
    expect_order(&n, "3 1 2 4");
    binder_fini(&n);
}
END_TEST

/* An operator's rules change the queue at one link, not the bundle. */
START_TEST(rules_of_a_link)
{
    struct binder n;
    start(&n);
    struct agent_queue_rule rules[] = {{rule_any(), BUNDLE_EXPEDITED}, {rule_any(), BUNDLE_BULK}};
    rules[0].rule.service = 9;
    rules[1].rule.priority = 1 + BUNDLE_EXPEDITED;
    struct agent_service s = {.strict = true, .rules = rules, .rules_len = 2};
    ck_assert_int_eq(agent_link_service(n.a, 0, &s), 0);
    send_as(&n, "ipn:3.1", BUNDLE_EXPEDITED, 0, 1);
    send_as(&n, "ipn:3.1", BUNDLE_NORMAL, 0, 2);
    send_as(&n, "ipn:3.9", BUNDLE_EXPEDITED, 0, 3);
    skip(&n);
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(n.a, 0, b));
    ck_assert(b[BUNDLE_BULK].bundles == 1 && b[BUNDLE_NORMAL].bundles == 1 &&
              b[BUNDLE_EXPEDITED].bundles == 1);
    agent_link(n.a, 0, true, n.now);
    expect_order(&n, "3 2 1");
    ck_assert(agent_backlog(n.a, 0, b));
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        ck_assert(b[p].bundles == 0 && b[p].bytes == 0 && b[p].given == 1 && b[p].given_bytes > 0);
    struct bundle got;
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &got, NULL), 0);
    struct bundle_qos qos;
    ck_assert(bundle_qos(&got, &qos) && qos.priority == BUNDLE_EXPEDITED); /* the last was 1 */
    ck_assert(!agent_backlog(n.a, 7, b));
    binder_fini(&n);
}
END_TEST

/* Neighbours have the rules of the link over which they came in: one set for all, which stays while
 * one of them needs it. */
START_TEST(links_that_say_the_same)
{
    struct binder n;
    start(&n);
    struct agent_queue_rule rules[] = {{rule_any(), BUNDLE_BULK}, {rule_any(), BUNDLE_NORMAL}};
    struct agent_service s = {.strict = true, .rules = rules, .rules_len = 2};
    const struct eid guest = eid_of("ipn:30.0");
    ck_assert_int_eq(agent_link_add(n.a, 30, &guest, 1), 0);
    ck_assert_int_eq(agent_link_service(n.a, 30, &s), 0);
    ck_assert_int_eq(agent_link_service(n.a, 0, &s), 0);
    ck_assert_int_eq(agent_link_service(n.a, 0, &s), 0); /* once more */
    ck_assert_int_eq(agent_link_remove(n.a, 30, n.now), 0);
    send_as(&n, "ipn:3.1", BUNDLE_EXPEDITED, 0, 1);
    skip(&n);
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(n.a, 0, b));
    ck_assert(b[BUNDLE_BULK].bundles == 1 && b[BUNDLE_EXPEDITED].bundles == 0);
    s.rules_len = 0;
    ck_assert_int_eq(agent_link_service(n.a, 0, &s), 0);
    binder_fini(&n);
}
END_TEST

START_TEST(a_service_that_is_not_legal)
{
    struct binder n;
    start(&n);
    struct agent_service s = {.weights = {1, 0, 1}};
    ck_assert_int_eq(agent_link_service(n.a, 0, &s), HELIO_EINVAL);
    s.weights[1] = 1000001;
    ck_assert_int_eq(agent_link_service(n.a, 0, &s), HELIO_EINVAL);
    s.weights[1] = 1;
    ck_assert_int_eq(agent_link_service(n.a, 0, &s), 0);
    ck_assert_int_eq(agent_link_service(n.a, 5, &s), HELIO_ENOENT);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.1", 1);
    struct bundle_qos qos = {.priority = BUNDLE_PRIORITIES};
    q.qos = &qos;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_INVALID);
    qos = (struct bundle_qos){.priority = BUNDLE_EXPEDITED, .ordinal = 255};
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_INVALID);
    binder_fini(&n);
}
END_TEST

/* A peer's block is none of unknown type: its flags for such blocks mean nothing here, and it goes
 * on with the bundle. */
START_TEST(a_peers_block_is_understood_and_goes_on)
{
    static const uint8_t content[] = {0x84, 0, 2, 9, 0}, foreign[] = {0x01};
    struct binder n;
    start(&n);
    agent_link(n.a, 0, true, n.now);
    add_way(&n, 1, "ipn:1.0", 1);
    struct bundle b = peer_bundle("ipn:1.1", "ipn:3.1", 1);
    b.others[0] = (struct bundle_block){.type = BLOCK_QOS,
                                        .flags = BLOCK_REPLICATE | BLOCK_DROP_IF_UNKNOWN |
                                                 BLOCK_DELETE_BUNDLE_IF_UNKNOWN,
                                        .data = slice_of(content, sizeof content)};
    b.others_len = 1;
    ck_assert_int_eq(link_receive(&n, 1, &b, 1), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 1\nsend 1 on 0\n");
    struct bundle got;
    struct bundle_qos qos;
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &got, NULL), 0);
    ck_assert(bundle_qos(&got, &qos));
    ck_assert(qos.priority == BUNDLE_EXPEDITED && qos.ordinal == 9);
    b.id.sequence = 2; /* what is not of that form is unknown */
    b.others[0].data = slice_of(foreign, sizeof foreign);
    ck_assert_int_eq(link_receive(&n, 1, &b, 2), REFUSE_BLOCK);
    binder_fini(&n);
}
END_TEST

/* An application's bundle without a priority has no block, as ever. */
START_TEST(no_priority_no_block)
{
    struct binder n;
    start(&n);
    agent_link(n.a, 0, true, n.now);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.1", 1);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    skip(&n);
    struct bundle got;
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &got, NULL), 0);
    ck_assert_uint_eq(got.others_len, 0);
    binder_fini(&n);
}
END_TEST

/* Deliveries obey priorities too, and the application is told. */
START_TEST(local_queues)
{
    struct binder n;
    start(&n);
    send_as(&n, "ipn:2.5", BUNDLE_BULK, 0, 1);
    send_as(&n, "ipn:2.5", BUNDLE_NORMAL, 0, 2);
    send_as(&n, "ipn:2.5", BUNDLE_EXPEDITED, 3, 3);
    send_as(&n, "ipn:2.5", BUNDLE_EXPEDITED, 4, 4);
    skip(&n);
    struct eid e = eid_of("ipn:2.5");
    ck_assert_int_eq(agent_register(n.a, 1, &e, 1, n.now), 0);
    expect(&n, "deliver 4 to 1: x\n");
    ck_assert(n.last.priority == BUNDLE_EXPEDITED && n.last.ordinal == 4);
    agent_delivered(n.a, 4, true, n.now);
    expect(&n, "remove 4\ndeliver 3 to 1: x\n");
    agent_delivered(n.a, 3, true, n.now);
    expect(&n, "remove 3\ndeliver 2 to 1: x\n");
    ck_assert(n.last.priority == BUNDLE_NORMAL && n.last.ordinal == 0);
    agent_delivered(n.a, 2, true, n.now);
    expect(&n, "remove 2\ndeliver 1 to 1: x\n");
    binder_fini(&n);
}
END_TEST

/* The store keeps them: bundles that come back from it go in the same order. */
START_TEST(a_restart_keeps_priorities)
{
    struct agent_config c = config_of("ipn:2.0");
    struct binder n;
    start(&n);
    send_as(&n, "ipn:3.1", BUNDLE_BULK, 0, 1);
    send_as(&n, "ipn:3.1", BUNDLE_NORMAL, 0, 2);
    send_as(&n, "ipn:3.1", BUNDLE_EXPEDITED, 0, 3);
    send_as(&n, "ipn:3.1", BUNDLE_EXPEDITED, 254, 4);
    skip(&n);
    binder_restart(&n, &c);
    add_way(&n, 0, "ipn:3.0", 1);
    serve(&n, true);
    agent_expire(n.a, n.now);
    skip(&n);
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(n.a, 0, b));
    ck_assert(b[0].bundles == 1 && b[1].bundles == 1 && b[2].bundles == 2);
    agent_link(n.a, 0, true, n.now);
    expect_order(&n, "4 3 2 1");
    binder_fini(&n);
}
END_TEST

/* Bundles whose bytes are in the store only are loaded ahead of time, the urgent ones first; none
 * is stuck behind one that is not there. */
START_TEST(with_little_memory)
{
    struct agent_config c = config_of("ipn:2.0");
    c.memory_bytes = 1;
    struct binder n;
    binder_init(&n, &c);
    add_way(&n, 0, "ipn:3.0", 1);
    serve(&n, true);
    for (uint64_t i = 0; i < 6; i++) {
        send_as(&n, "ipn:3.1", (enum bundle_priority)(i % 3), (uint8_t)i, i);
        skip(&n);
    }
    agent_link(n.a, 0, true, n.now);
    expect_order(&n, "6 3 2 5 1 4");
    binder_fini(&n);
}
END_TEST

/* ---- starvation, in virtual time ---- */

#define RATE 1000000 /* bytes/s of the link */
#define URGENT 10000 /* bytes of each urgent bundle */
#define SLOW 1000

struct starved {
    unsigned bulk_sent, urgent_sent;
    uint64_t bulk_bytes, urgent_bytes;
    tick longest, last; /* between two bulk bundles */
};

static void offer(struct binder *n, enum bundle_priority p, size_t bytes)
{
    struct agent_request q = request_of("ipn:2.7", "ipn:3.1", 1);
    struct bundle_qos qos = {.priority = p};
    q.qos = &qos;
    q.payload = buf_new(BUNDLE_HEAD_MAX, bytes + BUNDLE_TAIL_MAX);
    memset(buf_append(q.payload, bytes), 'x', bytes);
    ck_assert_int_eq(agent_send(n->a, &q, n->now, NULL), REFUSE_NONE);
}

/* A link of RATE whose queues of both kinds never run dry, for ten seconds. */
static void run_starved(struct binder *n, struct starved *out)
{
    const tick end = n->now.now + 10 * TICK_S;
    *out = (struct starved){.last = n->now.now};
    for (int i = 0; i < 4; i++) {
        offer(n, BUNDLE_EXPEDITED, URGENT);
        offer(n, BUNDLE_BULK, SLOW);
    }
    skip(n);
    agent_link(n->a, 0, true, n->now);
    while (n->now.now < end) {
        n->last = (struct agent_action){0};
        uint64_t key = 0;
        struct agent_action x;
        while (agent_poll(n->a, &x)) {
            key = x.kind == AGENT_SEND ? x.key : key;
            do_action(n, &x);
        }
        ck_assert_uint_ne(key, 0);
        pass(n, n->sent->len * (TICK_S / RATE));
        const bool bulk = n->sent->len < URGENT;
        if (bulk) {
            const tick wait = n->now.now - out->last;
            out->longest = wait > out->longest ? wait : out->longest;
            out->last = n->now.now;
            out->bulk_sent++;
            out->bulk_bytes += n->sent->len;
        } else {
            out->urgent_sent++;
            out->urgent_bytes += n->sent->len;
        }
        agent_sent(n->a, key, true, n->now);
        offer(n, bulk ? BUNDLE_BULK : BUNDLE_EXPEDITED, bulk ? SLOW : URGENT);
        n->len = 0;
    }
    agent_check(n->a);
}

/* 64 to 1: of 1 MB/s bulk bundles of 1.1 kB have 15.6 kB/s and never wait longer than 64 of their
 * own lengths and one urgent bundle take. */
START_TEST(by_weights_bulk_does_not_starve)
{
    struct binder n;
    struct starved s;
    start(&n);
    run_starved(&n, &s);
    const uint64_t each = s.bulk_bytes / s.bulk_sent, urgent = s.urgent_bytes / s.urgent_sent;
    const tick bound = (64 * each + urgent + each) * (TICK_S / RATE);
    printf("weights 1:8:64: bulk %u bundles, %llu bytes/s, urgent %llu bytes/s, longest wait %.1f "
           "ms, bound %.1f ms\n",
           s.bulk_sent, (unsigned long long)s.bulk_bytes / 10,
           (unsigned long long)s.urgent_bytes / 10, (double)s.longest / TICK_MS,
           (double)bound / TICK_MS);
    ck_assert_uint_le(s.longest, bound);
    const uint64_t total = s.bulk_bytes + s.urgent_bytes, share = total / 65;
    ck_assert_uint_ge(s.bulk_bytes, share - share / 20);
    ck_assert_uint_le(s.bulk_bytes, share + share / 20);
    binder_fini(&n);
}
END_TEST

/* The same under strict order: that is what an operator chooses with it. */
START_TEST(by_strict_order_bulk_waits_for_all)
{
    struct binder n;
    struct starved s;
    start(&n);
    serve(&n, true);
    run_starved(&n, &s);
    printf("strict: bulk %u bundles, urgent %llu bytes/s\n", s.bulk_sent,
           (unsigned long long)s.urgent_bytes / 10);
    ck_assert_uint_eq(s.bulk_sent, 0);
    binder_fini(&n);
}
END_TEST

/* A priority that had nothing to send for long does not take the link for itself when it comes. */
START_TEST(nobody_saves_up)
{
    struct binder n;
    start(&n);
    struct agent_service s = {.weights = {1, 1, 1}};
    ck_assert_int_eq(agent_link_service(n.a, 0, &s), 0);
    agent_link(n.a, 0, true, n.now);
    for (uint64_t i = 1; i <= 20; i++) {
        send_as(&n, "ipn:3.1", BUNDLE_NORMAL, 0, i);
        skip(&n);
        agent_sent(n.a, i, true, n.now);
    }
    agent_link(n.a, 0, false, n.now);
    for (uint64_t i = 0; i < 3; i++) /* 21, 22, 23 */
        send_as(&n, "ipn:3.1", BUNDLE_NORMAL, 0, i);
    for (uint64_t i = 0; i < 3; i++) /* 24, 25, 26 */
        send_as(&n, "ipn:3.1", BUNDLE_BULK, 0, i);
    skip(&n);
    agent_link(n.a, 0, true, n.now);
    expect_order(&n, "21 24 22 25 23 26");
    binder_fini(&n);
}
END_TEST

/* Anything in any order: the agent's invariants hold, and all goes in the end. */
START_TEST(random_runs)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng rng;
        rng_init(&rng, seed);
        struct binder n;
        start(&n);
        add_way(&n, 1, "ipn:4.0", 3);
        serve(&n, rng_below(&rng, 2));
        uint64_t keys = 0;
        for (int step = 0; step < 60; step++) {
            switch (rng_below(&rng, 6)) {
            case 0:
            case 1:
            case 2:
                send_as(&n, rng_below(&rng, 4) ? "ipn:3.1" : "ipn:4.1",
                        (enum bundle_priority)rng_below(&rng, 3), (uint8_t)rng_below(&rng, 4), 1);
                keys++;
                break;
            case 3:
                agent_link(n.a, (uint32_t)rng_below(&rng, 2), rng_below(&rng, 2), n.now);
                break;
            case 4:
                agent_sent(n.a, 1 + rng_below(&rng, keys + 1), rng_below(&rng, 2), n.now);
                break;
            default:
                pass(&n, rng_below(&rng, 3) * TICK_S);
                break;
            }
            skip(&n);
        }
        agent_link(n.a, 0, true, n.now);
        agent_link(n.a, 1, true, n.now);
        for (int i = 0; i < 400 && agent_counters(n.a)->bundles > 0; i++) {
            skip(&n);
            for (uint64_t k = 1; k <= keys; k++)
                agent_sent(n.a, k, true, n.now);
            pass(&n, TICK_S);
        }
        ck_assert_uint_eq(agent_counters(n.a)->bundles, 0);
        binder_fini(&n);
    }
}
END_TEST

SUITE(bp_agent_qos, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, strict_order);
    tcase_add_test(t, one_priority_is_first_in_first_out);
    tcase_add_test(t, by_weights);
    tcase_add_test(t, ordinals);
    tcase_add_test(t, one_that_comes_back_is_the_first_of_its_own);
    tcase_add_test(t, rules_of_a_link);
    tcase_add_test(t, links_that_say_the_same);
    tcase_add_test(t, a_service_that_is_not_legal);
    tcase_add_test(t, a_peers_block_is_understood_and_goes_on);
    tcase_add_test(t, no_priority_no_block);
    tcase_add_test(t, local_queues);
    tcase_add_test(t, a_restart_keeps_priorities);
    tcase_add_test(t, with_little_memory);
    tcase_add_test(t, by_weights_bulk_does_not_starve);
    tcase_add_test(t, by_strict_order_bulk_waits_for_all);
    tcase_add_test(t, nobody_saves_up);
    tcase_add_test(t, random_runs);
}
