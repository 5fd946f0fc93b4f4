/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one source brought leaves in its order, also when the source proves itself meanwhile and has
 * turns of its own from then on, and when it comes back from a link, or pauses. What fails again
 * and again does not stand before others.
 */
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

#define COME 60   /* bundles */
#define BEFORE 20 /* of these, before the source proves itself */
#define ALONE 40  /* up to here they are of that source, but for: */
#define ODD 12    /* one of another source, as those behind */

static bool of_other(uint64_t sequence)
{
    return sequence > ALONE || sequence == ODD;
}

/* The id of the bundle that the application has next; it confirms the one before, if any. */
static uint64_t deliver_next(struct binder *n, struct agent_action *given)
{
    struct agent_action x;
    if (given->key != 0)
        agent_delivered(n->a, given->key, true, n->now);
    while (agent_poll(n->a, &x)) {
        n->len = 0;
        if (x.kind == AGENT_DELIVER)
            *given = x;
        do_action(n, &x);
    }
    return given->id.sequence;
}

static void bring(struct binder *n, uint64_t sequence)
{
    struct bundle b = peer_bundle(of_other(sequence) ? "ipn:8.4" : "ipn:7.4", "ipn:2.9", sequence);
    ck_assert_int_eq(link_receive(n, 0, &b, sequence), REFUSE_NONE);
}

/* Those of others that came before go first, too; with later ones it takes turns. */
START_TEST(who_proves_itself_stays_in_order)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct agent_action given = {.key = 0};
    struct eid here = eid_of("ipn:2.9");
    uint64_t rank[2] = {0}, last[2] = {0};
    relay_init(&n, &c);
    ck_assert_int_eq(agent_register(n.a, 1, &here, 1, n.now), 0);
    for (uint64_t i = 1; i <= COME; i++) {
        bring(&n, i);
        if (i == 1 || i == BEFORE) /* the first one is confirmed: 7.4 has proved itself */
            ck_assert_uint_eq(deliver_next(&n, &given), i == 1 ? 1 : 2);
        skip(&n);
    }
    for (uint64_t i = 3; i <= COME; i++) {
        const uint64_t sequence = deliver_next(&n, &given);
        const bool other = of_other(sequence);
        ck_assert_uint_gt(sequence, last[other]);
        last[other] = sequence;
        rank[other] = i;
        ck_assert(i > BEFORE || sequence == i);
    }
    ck_assert(last[0] == ALONE && last[1] == COME);
    ck_assert(rank[0] >= COME - 4 && rank[1] >= COME - 4); /* as many each, in turns */
    binder_fini(&n);
}
END_TEST

#define WINDOW 8
#define PLACES (WINDOW + 4) /* of the head of the queue */
#define MANY 40             /* of the neighbour's source and of an application's, each half */

/* Keys in the order in which the link has them; it brings them all, or none. */
struct given {
    uint64_t keys[MANY];
    unsigned len;
};

static void take_given(struct binder *n, struct given *g, bool bring)
{
    struct agent_action x;
    while (agent_poll(n->a, &x)) {
        n->len = 0;
        do_action(n, &x);
        agent_check(n->a);
        if (x.kind != AGENT_SEND)
            continue;
        ck_assert_uint_lt(g->len, MANY);
        g->keys[g->len++] = x.key;
        if (bring)
            agent_sent(n->a, x.key, true, n->now);
    }
}

/* Key k: odd ones are the neighbour's. */
static void fill_queue(struct binder *n, struct agent_config *c)
{
    struct eid_pattern to;
    struct eid one = eid_of("ipn:1.0"), three = eid_of("ipn:3.0");
    struct agent_request q = request_of("ipn:2.5", "ipn:3.9", 1);
    *c = config_of("ipn:2.0");
    q.lifetime_ms = 600000;
    binder_init(n, c);
    ck_assert_int_eq(agent_link_add(n->a, 0, &one, 2), 0);
    ck_assert_int_eq(agent_link_add(n->a, 1, &three, WINDOW), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &to), 0);
    ck_assert_int_eq(agent_route_add(n->a, &to, 1), 0);
    for (uint64_t i = 1; i <= MANY; i++) {
        struct bundle b = peer_bundle("ipn:7.4", "ipn:3.9", i);
        b.lifetime_ms = 600000;
        if (i % 2 == 1)
            ck_assert_int_eq(link_receive(n, 0, &b, i), REFUSE_NONE);
        else
            ck_assert_int_eq(app_send(n, &q, "data"), REFUSE_NONE);
        skip(n);
    }
}

/* Which of n is the i-th to come back: up, down, or mixed. */
static unsigned pick(int order, unsigned i, unsigned n)
{
    if (order == 0)
        return i;
    return order == 1 ? n - 1 - i : (i * 5 + 3) % n;
}

static void check_order(const struct given *g, const struct given *undisturbed)
{
    uint64_t last[2] = {0, 0};
    ck_assert_uint_eq(g->len, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        const uint64_t key = g->keys[i];
        ck_assert_uint_gt(key, last[key % 2]);
        last[key % 2] = key;
        ck_assert(i >= PLACES || key == undisturbed->keys[i]);
    }
}

/* The link goes down with all that it has, and comes up again. */
START_TEST(what_a_link_gives_back_stands_where_it_stood)
{
    struct binder n;
    struct agent_config c;
    struct given undisturbed = {.len = 0}, first = {.len = 0}, all = {.len = 0};
    fill_queue(&n, &c);
    agent_link(n.a, 1, true, n.now);
    take_given(&n, &undisturbed, true);
    ck_assert_uint_eq(undisturbed.len, MANY);
    binder_fini(&n);
    fill_queue(&n, &c);
    agent_link(n.a, 1, true, n.now);
    take_given(&n, &first, false);
    ck_assert_uint_eq(first.len, WINDOW);
    agent_link(n.a, 1, false, n.now);
    for (unsigned i = 0; i < WINDOW; i++) {
        agent_failed(n.a, first.keys[pick(_i, i, WINDOW)], "broken", n.now);
        agent_check(n.a);
    }
    take_given(&n, &all, false);
    ck_assert_uint_eq(all.len, 0);
    agent_link(n.a, 1, true, n.now);
    take_given(&n, &all, true);
    check_order(&all, &undisturbed);
    binder_fini(&n);
}
END_TEST

/* All pause; far more come back than have room at the head. */
START_TEST(what_pauses_stands_where_it_stood)
{
    struct binder n;
    struct agent_config c;
    struct given first = {.len = 0}, all = {.len = 0};
    fill_queue(&n, &c);
    agent_link(n.a, 1, true, n.now);
    for (unsigned tried = 0; tried < MANY;) {
        take_given(&n, &first, false);
        const unsigned have = first.len - tried;
        ck_assert_uint_gt(have, 0);
        for (unsigned i = 0; i < have; i++)
            agent_failed(n.a, first.keys[tried + pick(_i, i, have)], "not now", n.now);
        tried = first.len;
    }
    pass(&n, 60 * TICK_S);
    agent_check(n.a);
    take_given(&n, &all, true);
    check_order(&all, &first);
    binder_fini(&n);
}
END_TEST

#define FAILING 600
#define A_TURN 3 /* that the link has in 10 ms */

/* The link takes none of many bundles, however often they come; another source has its turn. */
START_TEST(what_fails_again_and_again_lets_others_by)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct agent_action x;
    unsigned sent = 0, came = 0;
    c.retry_min = c.retry_max = 100 * TICK_MS;
    relay_init(&n, &c);
    for (uint64_t i = 1; i <= FAILING; i++) {
        struct bundle b = peer_bundle("ipn:7.4", "ipn:3.5", i);
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_NONE);
        skip(&n);
    }
    agent_link(n.a, 1, true, n.now);
    while (sent < 5 * FAILING) {
        pass(&n, 10 * TICK_MS);
        if (came == 0 && sent > 3 * FAILING) {
            struct agent_request q = request_of("ipn:2.7", "ipn:3.5", 5);
            ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
            came = sent;
        }
        for (unsigned i = 0; i < A_TURN && agent_poll(n.a, &x); i += x.kind == AGENT_SEND) {
            n.len = 0;
            do_action(&n, &x);
            if (x.kind != AGENT_SEND)
                continue;
            sent++;
            if (x.key > FAILING)
                goto its_turn;
            agent_failed(n.a, x.key, "refused", n.now);
        }
        agent_check(n.a);
    }
its_turn:
    ck_assert_uint_gt(came, 0);
    ck_assert_uint_le(sent - came, 3 * PLACES);
    binder_fini(&n);
}
END_TEST

#define FLOOD 60

static void refuse(struct binder *n, uint64_t key)
{
    agent_refused(n->a, key, "the peer refused it", n->now);
}

static void lose(struct binder *n, uint64_t key)
{
    agent_lost(n->a, key, UINT64_MAX, "lost", n->now);
}

/* Of a neighbour's and an application's bundles, the next ones that the link has, of so many: how
 * many are the application's; this is the fate of the others. */
static unsigned count_honest(struct binder *n, unsigned turns, uint64_t flood_keys,
                             void (*fate)(struct binder *n, uint64_t key))
{
    struct agent_action x;
    unsigned honest = 0, sent = 0;
    while (sent < turns && agent_poll(n->a, &x)) {
        n->len = 0;
        do_action(n, &x);
        if (x.kind != AGENT_SEND)
            continue;
        sent++;
        honest += x.key > flood_keys;
        if (x.key > flood_keys)
            agent_sent(n->a, x.key, true, n->now);
        else
            fate(n, x.key);
        agent_check(n->a);
    }
    ck_assert_uint_eq(sent, turns);
    return honest;
}

static void send_here(struct binder *n, unsigned bundles)
{
    struct agent_request q = request_of("ipn:2.7", "ipn:3.5", 500);
    for (unsigned i = 0; i < bundles; i++)
        ck_assert_int_eq(app_send(n, &q, "x"), REFUSE_NONE);
}

static void receive_flood(struct binder *n, uint64_t token)
{
    for (uint64_t i = 1; i <= FLOOD; i++) {
        struct bundle b = peer_bundle("ipn:7.4", "ipn:3.6", i);
        b.lifetime_ms = 600000;
        ck_assert_int_eq(link_receive(n, 0, &b, token + i), REFUSE_NONE);
        skip(n);
    }
}

/* The peer refuses all of a neighbour's bundles, once. They come back after their pause, or all at
 * once when the link comes up again: an application has its half of the link. */
START_TEST(what_was_refused_takes_turns)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    agent_window(n.a, 1, WINDOW, n.now);
    receive_flood(&n, 0);
    agent_link(n.a, 1, true, n.now);
    ck_assert_uint_eq(count_honest(&n, FLOOD, FLOOD, refuse), 0);
    if (_i == 0) {
        pass(&n, TICK_S);
    } else {
        agent_link(n.a, 1, false, n.now);
        agent_link(n.a, 1, true, n.now);
    }
    send_here(&n, FLOOD);
    ck_assert_uint_ge(count_honest(&n, FLOOD, FLOOD, refuse), FLOOD / 2 - 1);
    binder_fini(&n);
}
END_TEST

/* An unreliable link loses all of a neighbour's bundles, again and again. Those at the head of the
 * queue keep their places; then an application has its half. */
START_TEST(what_was_lost_takes_turns)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    agent_window(n.a, 1, WINDOW, n.now);
    receive_flood(&n, 0);
    agent_link(n.a, 1, true, n.now);
    ck_assert_uint_eq(count_honest(&n, 3 * FLOOD, FLOOD, lose), 0);
    send_here(&n, FLOOD);
    ck_assert_uint_ge(count_honest(&n, FLOOD, FLOOD, lose), (FLOOD - PLACES) / 2);
    binder_fini(&n);
}
END_TEST

/* The same bundles come again after they went on: each pauses, and takes a turn as any other. */
START_TEST(what_comes_again_takes_turns)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct agent_action x;
    c.returns_max = FLOOD;
    relay_init(&n, &c);
    agent_window(n.a, 1, WINDOW, n.now);
    receive_flood(&n, 0);
    agent_link(n.a, 1, true, n.now);
    for (unsigned i = 0; i < FLOOD; i += x.kind == AGENT_SEND) {
        ck_assert(agent_poll(n.a, &x));
        n.len = 0;
        do_action(&n, &x);
        if (x.kind == AGENT_SEND)
            agent_sent(n.a, x.key, true, n.now);
    }
    receive_flood(&n, FLOOD);
    ck_assert_uint_eq(agent_counters(n.a)->returned, FLOOD);
    send_here(&n, 2 * FLOOD);
    ck_assert_uint_eq(count_honest(&n, PLACES, 2 * (uint64_t)FLOOD, refuse), PLACES);
    pass(&n, TICK_S);
    ck_assert_uint_ge(count_honest(&n, FLOOD, 2 * (uint64_t)FLOOD, refuse), FLOOD / 2 - 1);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_order, t)
{
    tcase_add_loop_test(t, what_was_refused_takes_turns, 0, 2);
    tcase_add_test(t, what_was_lost_takes_turns);
    tcase_add_test(t, what_comes_again_takes_turns);

    tcase_add_test(t, who_proves_itself_stays_in_order);
    tcase_add_loop_test(t, what_a_link_gives_back_stands_where_it_stood, 0, 3);
    tcase_add_loop_test(t, what_pauses_stands_where_it_stood, 0, 3);
    tcase_add_test(t, what_fails_again_and_again_lets_others_by);
}
