/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unconfigured neighbours that come, leave bundles and go: however many names they have, they take
 * one turn in a queue, beside a neighbour whose link is there (up or down).
 */
#include "base/rng.h"
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

#define HONEST_LINK 0 /* of ipn:1.0 */
#define WAY 1         /* to ipn:3.0, for all bundles here */
#define PASSER 2      /* the first link of neighbours that come and go */

#define HAND 2 /* bundles that the way has in hand */

struct scene {
    struct binder n;
    uint64_t keys[HAND];
    unsigned first, last; /* of these */
    unsigned honest;      /* bundles of ipn:1.1 that were sent */
};

static void start(struct scene *s)
{
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&s->n, &c);
    s->first = s->last = s->honest = 0;
}

static bool is_honest(struct buf *bundle)
{
    const struct eid e = eid_of("ipn:1.1");
    struct bundle b;
    ck_assert_int_eq(bundle_decode(buf_data(bundle), bundle->len, BUNDLE_STRICT, &b, NULL), 0);
    return eid_equal(&b.id.source, &e);
}

static void work(struct scene *s)
{
    struct agent_action x;
    while (agent_poll(s->n.a, &x)) {
        s->n.len = 0;
        if (x.kind != AGENT_SEND) {
            do_action(&s->n, &x);
            continue;
        }
        ck_assert_uint_lt(s->last - s->first, HAND);
        s->keys[s->last++ % HAND] = x.key;
        s->honest += is_honest(x.bundle);
        buf_drop(x.bundle);
    }
    agent_check(s->n.a);
}

static void send_some(struct scene *s, unsigned bundles)
{
    for (unsigned i = 0; i < bundles; i++) {
        work(s);
        ck_assert_uint_lt(s->first, s->last);
        agent_sent(s->n.a, s->keys[s->first++ % HAND], true, s->n.now);
    }
    work(s);
}

static void come(struct scene *s, uint32_t link, uint64_t name)
{
    const struct eid peer = {.scheme = EID_IPN, .node = 1000 + name};
    ck_assert_int_eq(agent_link_add(s->n.a, link, &peer, 2), 0);
}

static void go(struct scene *s, uint32_t link)
{
    ck_assert_int_eq(agent_link_remove(s->n.a, link, s->n.now), 0);
    work(s);
}

/* One bundle for ipn:3.5. */
static void bring_from(struct scene *s, uint32_t link, const char *source, uint64_t sequence)
{
    static const char text[20000];
    struct bundle b = peer_bundle(source, "ipn:3.5", sequence);
    b.lifetime_ms = 1000000;
    b.payload = slice_of(text, sizeof text);
    ck_assert_int_eq(link_receive(&s->n, link, &b, sequence), REFUSE_NONE);
    work(s);
}

static void bring(struct scene *s, uint32_t link, uint64_t sequence)
{
    bring_from(s, link, link == HONEST_LINK ? "ipn:1.1" : "ipn:66.1", sequence);
}

#define NAMES 500
#define HONEST 50

/* The names were there first. */
START_TEST(thousands_of_names_have_one_turn)
{
    static struct scene s;
    start(&s);
    for (uint64_t i = 0; i < NAMES; i++) {
        come(&s, PASSER, i);
        bring(&s, PASSER, i);
        go(&s, PASSER);
    }
    for (uint64_t i = 0; i < HONEST; i++)
        bring(&s, HONEST_LINK, i);
    agent_link(s.n.a, WAY, true, s.n.now);
    send_some(&s, 2 * HONEST);
    ck_assert_uint_ge(s.honest, HONEST * 9 / 10);
    binder_fini(&s.n);
}
END_TEST

/* They come while the link sends: a new name for each bundle, and some are there at any time. Names
 * that are there have a turn each, all others one. */
START_TEST(names_that_come_while_the_link_sends)
{
    enum { STEPS = 400 };
    static struct scene s;
    start(&s);
    for (uint64_t i = 0; i < STEPS; i++)
        bring(&s, HONEST_LINK, i);
    agent_link(s.n.a, WAY, true, s.n.now);
    const uint64_t there = (uint64_t)_i, links = there + 1;
    for (uint64_t i = 0; i < STEPS; i++) {
        come(&s, PASSER + (uint32_t)(i % links), i);
        bring(&s, PASSER + (uint32_t)(i % links), i);
        if (i >= there)
            go(&s, PASSER + (uint32_t)((i - there) % links));
        send_some(&s, 1);
    }
    ck_assert_uint_ge(s.honest, STEPS * 7 / 10 / (there + 2));
    binder_fini(&s.n);
}
END_TEST

/* A neighbour without a configured link has a turn of its own while it is there. One that returns
 * has it for what it brings then. */
START_TEST(who_is_there_has_a_turn)
{
    static struct scene s;
    start(&s);
    for (uint64_t i = 0; i < NAMES; i++) {
        come(&s, PASSER, i);
        bring(&s, PASSER, i);
        go(&s, PASSER);
    }
    come(&s, PASSER, 1); /* has a bundle in the common turn */
    for (uint64_t i = 0; i < HONEST; i++)
        bring_from(&s, PASSER, "ipn:1.1", 1000 + i);
    agent_link(s.n.a, WAY, true, s.n.now);
    send_some(&s, 2 * HONEST);
    ck_assert_uint_ge(s.honest, HONEST * 9 / 10);
    binder_fini(&s.n);
}
END_TEST

/* Whatever comes, goes and returns, over a way that opens and closes: agent_check holds at each
 * step, and all bundles are sent or expire. */
START_TEST(drawn_from_seeds)
{
    enum { LINKS = 3, PEERS = 6 };
    static struct scene s;
    struct rng r;
    bool there[LINKS] = {false};
    rng_init(&r, (uint64_t)_i);
    start(&s);
    for (uint64_t i = 1; i < 600; i++) {
        const uint32_t k = (uint32_t)rng_below(&r, LINKS), what = (uint32_t)rng_below(&r, 8);
        if (what < 2 && !there[k]) {
            come(&s, PASSER + k, rng_below(&r, PEERS));
            there[k] = true;
        } else if (what == 2 && there[k]) {
            go(&s, PASSER + k);
            there[k] = false;
        } else if (what < 5 && there[k]) {
            bring(&s, PASSER + k, i);
        } else if (what == 5) {
            bring(&s, HONEST_LINK, i);
        } else if (what == 6 && s.first < s.last) {
            agent_sent(s.n.a, s.keys[s.first++ % HAND], rng_below(&r, 4) > 0, s.n.now);
        } else if (what == 7 && s.first == s.last) {
            agent_link(s.n.a, WAY, rng_below(&r, 3) > 0, s.n.now);
        } else if (rng_below(&r, 50) == 0) {
            pass(&s.n, 30 * TICK_S);
        }
        work(&s);
    }
    for (int i = 0; i < 200; i++) {
        pass(&s.n, 10 * TICK_S);
        if (s.first < s.last)
            agent_sent(s.n.a, s.keys[s.first++ % HAND], true, s.n.now);
        work(&s);
    }
    ck_assert_uint_eq(agent_counters(s.n.a)->bundles, 0);
    binder_fini(&s.n);
}
END_TEST

SUITE(bp_agent_gone, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, thousands_of_names_have_one_turn);
    tcase_add_loop_test(t, names_that_come_while_the_link_sends, 0, 9);
    tcase_add_test(t, who_is_there_has_a_turn);
    tcase_add_loop_test(t, drawn_from_seeds, 0, 40);
}
