/* SPDX-License-Identifier: Apache-2.0 */
/* Echo endpoints that get each other's answers: what one bundle may start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/node.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

static struct virtual_world world;
static struct rng dice;
static struct node anybody = {.world = &world.world};

static struct agent_now now(void)
{
    return node_now(&anybody);
}

struct half {
    struct config config;
    struct node node;
    struct buf *out[64]; /* what it sends to the other one */
    size_t out_len;
};

/* Node `own` whose echo has this name ("on": the usual one), and one link to everybody else. */
static void half_init(struct half *h, const char *own, const char *echo)
{
    struct eid peer;
    struct eid_pattern all;
    memset(h, 0, sizeof *h);
    ck_assert_int_eq(eid_parse(own, &h->config.node), 0);
    h->config.echo = (char *)(uintptr_t)echo;
    h->node.config = &h->config;
    h->node.world = &world.world;
    struct agent_config c = {.node = h->config.node, .seed = 1, .crc = CRC_32C};
    ck_assert_int_eq(agent_new(&h->node.agent, &c), 0);
    ck_assert_int_eq(echo_open(&h->node), 0);
    ck_assert_int_eq(eid_parse("ipn:99.0", &peer), 0);
    ck_assert_int_eq(agent_link_add(h->node.agent, 0, &peer, 64), 0);
    ck_assert_int_eq(eid_pattern_parse("*", &all), 0);
    ck_assert_int_eq(agent_route_add(h->node.agent, &all, 0), 0);
    agent_link(h->node.agent, 0, true, now());
}

static void half_fini(struct half *h)
{
    agent_free(h->node.agent);
    while (h->out_len > 0)
        buf_drop(h->out[--h->out_len]);
}

static void half_pump(struct half *h)
{
    struct agent_action a;
    while (agent_poll(h->node.agent, &a)) {
        switch (a.kind) {
        case AGENT_STORE:
            buf_drop(a.bundle);
            agent_stored(h->node.agent, a.key, true, now());
            break;
        case AGENT_DELIVER:
            ck_assert_uint_eq(a.reg, NODE_REG_ECHO);
            echo_deliver(&h->node, &a);
            buf_drop(a.bundle);
            break;
        case AGENT_SEND:
            ck_assert_uint_lt(h->out_len, 64);
            h->out[h->out_len++] = a.bundle;
            agent_sent(h->node.agent, a.key, true, now());
            break;
        default:
            break;
        }
    }
}

static void half_receive(struct half *h, struct buf *b)
{
    ck_assert_int_eq(agent_receive(h->node.agent, 0, b, 1, now()), REFUSE_NONE);
    half_pump(h);
}

static struct buf *bundle_of(const char *from, const char *to, uint64_t sequence,
                             const char *payload)
{
    struct bundle b;
    bundle_init(&b);
    ck_assert_int_eq(eid_parse(from, &b.id.source), 0);
    ck_assert_int_eq(eid_parse(to, &b.destination), 0);
    b.id.time_ms = now().dtn_ms;
    b.id.sequence = sequence;
    b.payload = slice_of(payload, strlen(payload));
    return bundle_encode_copy(&b);
}

/* All that goes between the two comes in there, `turns` times or until there is nothing. */
static uint64_t bounce(struct half *a, struct half *b, uint64_t turns)
{
    uint64_t moved = 0;
    for (uint64_t i = 0; i < turns && a->out_len + b->out_len > 0; i++) {
        struct half *from = a->out_len > 0 ? a : b, *to = from == a ? b : a;
        half_receive(to, from->out[--from->out_len]);
        moved++;
    }
    return moved;
}

/* A bundle that names one echo as its source and the other as its destination. With the mark one
 * answer is the end; without, what the same payload may have. */
static void echo_each_other(const char *const names[2], bool mark)
{
    const bool same = strcmp(names[0], names[1]) == 0;
    const uint64_t most = mark || same ? 1 : ECHO_SAME_BURST + 1;
    struct half one, two;
    char from[EID_TEXT_MAX], to[EID_TEXT_MAX];
    half_init(&one, "ipn:1.0", names[0]);
    half_init(&two, "ipn:2.0", names[1]);
    one.config.echo_mark = two.config.echo_mark = mark;
    ck_assert(one.node.has_echo && two.node.has_echo);
    eid_text(&two.node.echo, from);
    eid_text(&one.node.echo, to);
    half_receive(&one, bundle_of(from, to, UINT32_MAX, "again and again"));
    ck_assert_uint_le(bounce(&one, &two, 1000), 2 * most);
    ck_assert_uint_eq(one.out_len + two.out_len, 0);
    ck_assert_uint_le(one.node.echoed, most);
    ck_assert_uint_le(two.node.echoed, mark || same ? 0 : most);
    ck_assert_uint_eq(one.node.echoed > 1, !mark && !same);
    half_fini(&one), half_fini(&two);
}

/* Peers that know no block but those of RFC 9171 read an answer; only who asks for it gets more. */
START_TEST(blocks_of_an_answer)
{
    for (int mark = 0; mark < 2; mark++) {
        struct half one;
        struct bundle b;
        half_init(&one, "ipn:1.0", "on");
        one.config.echo_mark = mark == 1;
        half_receive(&one, bundle_of("ipn:2.7", "ipn:1.128", 1, "ping"));
        ck_assert_uint_eq(one.out_len, 1);
        ck_assert_int_eq(
            bundle_decode(buf_data(one.out[0]), one.out[0]->len, BUNDLE_STRICT, &b, NULL), 0);
        size_t marks = 0;
        for (size_t i = 0; i < b.others_len; i++)
            marks += b.others[i].type == ECHO_BLOCK;
        ck_assert_uint_eq(b.others_len, marks);
        ck_assert_uint_eq(marks, (size_t)mark);
        half_fini(&one);
    }
}
END_TEST

START_TEST(two_echoes_of_different_numbers)
{
    static const char *const pairs[][2] = {
        {"on", "7"}, {"7", "on"}, {"1", "4294967295"}, {"on", "on"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        echo_each_other(pairs[i], true);
        echo_each_other(pairs[i], false);
    }
}
END_TEST

START_TEST(echoes_of_different_schemes)
{
    struct half one, two;
    half_init(&one, "ipn:1.0", "on");
    half_init(&two, "dtn://two/", "on");
    one.config.echo_mark = two.config.echo_mark = true;
    half_receive(&two, bundle_of("ipn:1.128", "dtn://two/echo", UINT32_MAX, "again and again"));
    ck_assert_uint_eq(bounce(&one, &two, 1000), 1);
    ck_assert_uint_eq(one.node.echoed, 0);
    ck_assert_uint_eq(two.node.echoed, 1);
    half_fini(&one), half_fini(&two);
}
END_TEST

/* An echo of another implementation returns any payload from any endpoint, and nothing else. */
static struct buf *other_make(struct buf *in, uint64_t sequence)
{
    struct bundle b, answer;
    ck_assert_int_eq(bundle_decode(buf_data(in), in->len, BUNDLE_STRICT, &b, NULL), 0);
    bundle_init(&answer);
    answer.id.source = b.destination;
    answer.destination = b.id.source;
    answer.id.time_ms = now().dtn_ms;
    answer.id.sequence = sequence;
    answer.payload = b.payload;
    struct buf *out = bundle_encode_copy(&answer);
    buf_drop(in);
    return out;
}

START_TEST(an_echo_of_another_make)
{
    struct half one;
    half_init(&one, "ipn:1.0", "on");
    /* 1 ms between the two, then as long as from the moon: both end. */
    for (tick way = TICK_MS; way < 10 * TICK_S; way *= 1300) {
        uint64_t before = one.node.echoed, turns = 0;
        half_receive(&one, bundle_of("ipn:2.7", "ipn:1.128", way, way == TICK_MS ? "a" : "b"));
        for (; one.out_len > 0 && turns < 1000; turns++) {
            virtual_advance(&world, world.now + 2 * way);
            half_receive(&one, other_make(one.out[--one.out_len], turns));
        }
        ck_assert_uint_ge(one.node.echoed - before, ECHO_SAME_BURST);
        ck_assert_uint_le(one.node.echoed - before, ECHO_SAME_BURST + 3);
        ck_assert_uint_eq(one.out_len, 0);
    }
    half_fini(&one);
}
END_TEST

/* Who asks with payloads of its own is answered each time, whatever loops there are beside. */
START_TEST(pings_are_answered)
{
    struct half one;
    char payload[32];
    half_init(&one, "ipn:1.0", "on");
    for (uint64_t i = 0; i < 5000; i++) {
        virtual_advance(&world, world.now + ECHO_PAUSE);
        snprintf(payload, sizeof payload, "ping %llu", (unsigned long long)i);
        half_receive(&one, bundle_of("ipn:2.9", "ipn:1.128", i, payload));
        ck_assert_uint_eq(one.out_len, 1);
        buf_drop(one.out[--one.out_len]);
    }
    ck_assert_uint_eq(one.node.echoed, 5000);
    half_fini(&one);
}
END_TEST

START_TEST(a_source_has_its_share)
{
    struct half one;
    char payload[32];
    half_init(&one, "ipn:1.0", "on");
    for (uint64_t i = 0; i < 2 * ECHO_BURST; i++) { /* all at once */
        snprintf(payload, sizeof payload, "%llu", (unsigned long long)i);
        half_receive(&one, bundle_of("ipn:2.9", "ipn:1.128", i, payload));
        while (one.out_len > 0)
            buf_drop(one.out[--one.out_len]);
    }
    ck_assert_uint_eq(one.node.echoed, ECHO_BURST);
    ck_assert_uint_eq(one.node.echo_refused, ECHO_BURST);
    half_receive(&one, bundle_of("ipn:3.9", "ipn:1.128", 1, "another"));
    ck_assert_uint_eq(one.node.echoed, ECHO_BURST + 1);
    half_fini(&one);
}
END_TEST

/* A source that never comes back to the same place of the table does not make it grow. */
START_TEST(the_table_has_a_fixed_size)
{
    struct echo_table *t = calloc(1, sizeof *t);
    ck_assert_ptr_nonnull(t);
    for (uint64_t i = 1; i <= 100000; i++)
        ck_assert(echo_allow(t, i * UINT64_C(0x9e3779b97f4a7c15), TICK_S, 2, TICK_S));
    const uint64_t last = 100000 * UINT64_C(0x9e3779b97f4a7c15);
    ck_assert(echo_allow(t, last, TICK_S, 2, TICK_S)); /* the second of its burst */
    ck_assert(!echo_allow(t, last, TICK_S, 2, TICK_S));
    ck_assert(echo_allow(t, last, TICK_S, 2, 2 * TICK_S)); /* and one more after the pause */
    ck_assert(!echo_allow(t, last, TICK_S, 2, 2 * TICK_S));
    free(t);
}
END_TEST

START_TEST(never_answered)
{
    struct half one;
    half_init(&one, "ipn:1.0", "on");
    half_receive(&one, bundle_of("ipn:2.0", "ipn:1.128", 1, "from a node itself"));
    half_receive(&one, bundle_of("ipn:2.128", "ipn:1.128", 2, "from another echo"));
    ck_assert_uint_eq(one.node.echoed + one.out_len, 0);
    ck_assert_uint_eq(one.node.echo_refused, 2);
    half_receive(&one, bundle_of("dtn://far/ping", "ipn:1.128", 3, "from another scheme"));
    ck_assert_uint_eq(one.node.echoed, 1);
    half_fini(&one);
}
END_TEST

/* Nothing leads back: that is no matter of loops. */
START_TEST(no_route_back)
{
    struct half one;
    half_init(&one, "ipn:1.0", "on");
    struct eid_pattern all;
    char to[EID_TEXT_MAX];
    ck_assert_int_eq(eid_pattern_parse("*", &all), 0);
    ck_assert_int_eq(agent_route_remove(one.node.agent, &all, 0), 0);
    for (uint64_t i = 1; i <= 3; i++)
        half_receive(&one, bundle_of("ipn:2.7", "ipn:1.128", i, "ping"));
    ck_assert_uint_eq(one.node.echoed + one.node.echo_refused, 0);
    ck_assert_uint_eq(one.node.echo_unsent.count, 3);
    ck_assert_int_eq(one.node.echo_unsent.why, REFUSE_NO_ROUTE);
    ck_assert_str_eq((eid_text(&one.node.echo_unsent.to, to), to), "ipn:2.7");
    half_fini(&one);
}
END_TEST

static void begin_world(void)
{
    const uint64_t start_ms = DTN_EPOCH_UNIX * 1000 + UINT64_C(800000000000);
    rng_init(&dice, 1);
    virtual_init(&world, start_ms * TICK_MS, &dice, 0);
    virtual_advance(&world, TICK_S);
}

SUITE(tools_echo, t)
{
    tcase_add_unchecked_fixture(t, begin_world, NULL);
    tcase_add_test(t, blocks_of_an_answer);
    tcase_add_test(t, two_echoes_of_different_numbers);
    tcase_add_test(t, echoes_of_different_schemes);
    tcase_add_test(t, an_echo_of_another_make);
    tcase_add_test(t, pings_are_answered);
    tcase_add_test(t, a_source_has_its_share);
    tcase_add_test(t, the_table_has_a_fixed_size);
    tcase_add_test(t, never_answered);
    tcase_add_test(t, no_route_back);
}
