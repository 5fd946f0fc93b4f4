/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits is placed anew in proportion to what changes: how often a router is asked, that only
 * what has another way moves, in which order, and that long work goes in slices. The router here
 * answers by destination: node N over the link that the test says.
 */
#include "base/hash.h"
#include "bp_router_help.h"
#include "tests/unit/suite.h"

#define NODES 8

struct signpost {
    int to[NODES + 1]; /* the link for node N; ROUTER_NO_LINK: none */
    unsigned asked;
};

static struct router_answer ask_signpost(void *router, const struct router_query *q)
{
    struct signpost *s = router;
    s->asked++;
    ck_assert_uint_le(q->destination->node, NODES);
    const int link = s->to[q->destination->node];
    if (link == ROUTER_NO_LINK)
        return (struct router_answer){.verdict = ROUTER_WAIT, .until = TICK_NEVER};
    return to_link((uint32_t)link);
}

static const struct router_ops by_destination = {.by_destination = true, .ask = ask_signpost};
static const struct router_ops one_by_one = {.ask = ask_signpost};

#define WORK 1000 /* of a question, in units of 100 ns */

static uint64_t count_work(const void *router)
{
    return WORK * (uint64_t)((const struct signpost *)router)->asked;
}

static const struct router_ops dear = {.ask = ask_signpost, .work = count_work};

/* Both links up, all nodes apart. */
static void set_out(struct binder *n, struct signpost *s, const struct router_ops *ops,
                    uint64_t slice)
{
    struct agent_config c = config_of("ipn:2.0");
    struct eid one = eid_of("ipn:1.0"), three = eid_of("ipn:3.0");
    c.place_slice = slice;
    binder_init(n, &c);
    *s = (struct signpost){.asked = 0};
    for (int i = 0; i <= NODES; i++)
        s->to[i] = ROUTER_NO_LINK;
    ck_assert_int_eq(agent_link_add(n->a, 0, &one, 1), 0);
    ck_assert_int_eq(agent_link_add(n->a, 1, &three, 1), 0);
    const struct router router = {.ops = ops, .state = s};
    agent_router(n->a, &router);
}

static void send_to(struct binder *n, uint64_t node, uint64_t flags, const struct bundle_qos *qos)
{
    struct agent_request q = request_of("ipn:2.7", "ipn:9.1", 5);
    q.destination.node = node;
    q.flags = flags;
    q.qos = qos;
    ck_assert_int_eq(app_send(n, &q, "x"), REFUSE_NONE);
    skip(n);
}

static uint64_t queued(const struct binder *n, uint32_t link)
{
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(n->a, link, b));
    return b[BUNDLE_BULK].bundles + b[BUNDLE_NORMAL].bundles + b[BUNDLE_EXPEDITED].bundles;
}

/* Calls until nothing is left to place; each leaves the agent in order. */
static unsigned settle(struct binder *n)
{
    unsigned calls = 0;
    while (agent_deadline(n->a) <= n->now.now) {
        agent_expire(n->a, n->now);
        if (agent_counters(n->a)->bundles < 1000) /* all are looked at */
            agent_check(n->a);
        ck_assert_uint_lt(++calls, 100000);
    }
    return calls;
}

START_TEST(one_question_for_all_that_are_alike)
{
    struct binder n;
    struct signpost s;
    set_out(&n, &s, &by_destination, 0);
    for (int i = 0; i < 400; i++)
        send_to(&n, 4 + (uint64_t)i % 4, 0, NULL);
    s.asked = 0;
    agent_reroute(n.a);
    settle(&n);
    ck_assert_uint_eq(s.asked, 4); /* nothing changed */
    s.asked = 0;
    s.to[5] = 1;
    agent_reroute(n.a);
    settle(&n);
    ck_assert_uint_eq(queued(&n, 1), 100);
    ck_assert_uint_eq(s.asked, 4 + 100); /* what moves is asked for by itself */
    s.asked = 0;
    s.to[5] = 0;
    agent_reroute(n.a);
    settle(&n);
    ck_assert_uint_eq(queued(&n, 0), 100);
    ck_assert_uint_eq(queued(&n, 1), 0);
    /* three kinds apart; five at the head of the queue, and then the others */
    ck_assert_uint_eq(s.asked, 3 + 5 + 1 + 95);
    binder_fini(&n);
}
END_TEST

/* However long the window of a link is: while it is down few bundles are next, and a change of
 * another link asks at once for these, and once for the kind of all others. */
START_TEST(a_closed_link_has_few_at_its_head)
{
    struct binder n;
    struct signpost s;
    const struct eid four = eid_of("ipn:4.0");
    set_out(&n, &s, &by_destination, 0);
    ck_assert_int_eq(agent_link_add(n.a, 2, &four, 1024), 0);
    s.to[4] = 2;
    for (int i = 0; i < 500; i++)
        send_to(&n, 4, 0, NULL);
    settle(&n);
    for (int i = 0; i < 10; i++) {
        s.asked = 0;
        agent_link(n.a, 1, i % 2 == 0, n.now);
        settle(&n);
        ck_assert_uint_le(s.asked, 4 + 1);
    }
    ck_assert_uint_eq(queued(&n, 2), 500);
    binder_fini(&n);
}
END_TEST

/* Changes that come faster than all bundles can be asked for: questions have a quarter of the time.
 * Then all of them are asked for, and move. */
START_TEST(questions_have_a_part_of_the_time)
{
    struct binder n;
    struct signpost s;
    const uint64_t heads = 5, changes = 100, calls = 10;
    set_out(&n, &s, &dear, 0);
    s.to[4] = 0;
    for (int i = 0; i < 1000; i++)
        send_to(&n, 4, 0, NULL);
    settle(&n);
    s.asked = 0;
    for (uint64_t i = 0; i < changes * calls; i++) {
        if (i % calls == 0)
            agent_reroute(n.a);
        n.now.now += TICK_MS;
        agent_expire(n.a, n.now);
    }
    /* A question takes no time here: the part is one of the pauses, a third. */
    const uint64_t took = (s.asked - heads * changes) * WORK * 100;
    ck_assert_uint_le(took, changes * calls * TICK_MS / 3);
    ck_assert_uint_ge(took, changes * calls * TICK_MS / 4);
    s.to[4] = 1;
    agent_reroute(n.a);
    const tick began = n.now.now;
    while (queued(&n, 1) < 1000) {
        const tick due = agent_deadline(n.a);
        ck_assert(due != TICK_NEVER);
        n.now.now = tick_max(n.now.now, due);
        agent_expire(n.a, n.now);
        agent_check(n.a);
    }
    ck_assert_uint_le(n.now.now - began, 1000 * WORK * 100 * 5);
    binder_fini(&n);
}
END_TEST

START_TEST(what_is_not_alike_is_asked_for)
{
    struct binder n;
    struct signpost s;
    const struct bundle_qos fast = {.priority = BUNDLE_EXPEDITED};
    set_out(&n, &s, &by_destination, 0);
    for (int i = 0; i < 7; i++) {
        send_to(&n, 4, 0, NULL);
        send_to(&n, 4, 0, &fast);
        send_to(&n, 4, BUNDLE_NO_FRAGMENT, NULL); /* all of a length */
    }
    s.asked = 0;
    agent_reroute(n.a);
    settle(&n);
    ck_assert_uint_eq(s.asked, 3);
    binder_fini(&n);
}
END_TEST

/* Bundles of four nodes in turn move together, in the order in which they came. */
START_TEST(what_moves_keeps_its_order)
{
    struct binder n;
    struct signpost s;
    const struct bundle_qos fast = {.priority = BUNDLE_EXPEDITED};
    set_out(&n, &s, &by_destination, 3);
    for (uint64_t i = 0; i < 8; i++)
        send_to(&n, 4 + i % 4, 0, i == 7 ? &fast : NULL);
    for (uint64_t i = 4; i < 8; i++)
        s.to[i] = 1;
    agent_reroute(n.a);
    ck_assert_uint_ge(settle(&n), 3);
    agent_link(n.a, 1, true, n.now);
    expect(&n, "send 8 on 1\n");
    for (uint64_t key = 1; key <= 7; key++) {
        char line[64];
        agent_sent(n.a, key == 1 ? 8 : key - 1, true, n.now);
        snprintf(line, sizeof line, "remove %d\nsend %d on 1\n", key == 1 ? 8 : (int)key - 1,
                 (int)key);
        expect(&n, line);
    }
    binder_fini(&n);
}
END_TEST

START_TEST(long_work_goes_in_slices)
{
    const struct router_ops *const makes[] = {&by_destination, &one_by_one};
    for (int i = 0; i < 2; i++) {
        struct binder n;
        struct signpost s;
        set_out(&n, &s, makes[i], 10);
        for (int k = 0; k < 200; k++)
            send_to(&n, 4 + (uint64_t)k % 4, 0, NULL);
        for (int k = 4; k < 8; k++)
            s.to[k] = 1;
        agent_reroute(n.a);
        unsigned before = s.asked;
        for (uint64_t in = 0, was; (was = in) < 200;) {
            ck_assert_uint_eq(agent_deadline(n.a), 0);
            agent_expire(n.a, n.now);
            agent_check(n.a);
            in = queued(&n, 1);
            ck_assert_uint_le(in - was, 20);
            ck_assert_uint_le(s.asked - before, 20);
            before = s.asked;
        }
        settle(&n);
        ck_assert_uint_eq(queued(&n, 1), 200);
        binder_fini(&n);
    }
}
END_TEST

/* Each call brings a change of its own, and does a sixth of what each asks for: in the end all that
 * can go went. */
START_TEST(changes_faster_than_they_are_done)
{
    const struct router_ops *const makes[] = {&by_destination, &one_by_one};
    for (int i = 0; i < 2; i++) {
        struct binder n;
        struct signpost s;
        set_out(&n, &s, makes[i], 16);
        for (int k = 0; k < 96; k++) {
            struct agent_request q = request_of("ipn:2.7", "ipn:4.1", 5);
            q.destination.service = (uint64_t)k;
            ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
            skip(&n);
        }
        s.to[4] = 1;
        for (int k = 0; k < 200 && queued(&n, 1) < 96; k++) {
            agent_reroute(n.a);
            agent_expire(n.a, n.now);
            agent_check(n.a);
        }
        ck_assert_uint_eq(queued(&n, 1), 96);
        binder_fini(&n);
    }
}
END_TEST

/* Links, answers, routers, deletions and ends of lifetimes in between, with slices of every size;
 * in the end all is where the last answers say. */
START_TEST(changes_while_others_are_under_way)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct binder n;
        struct signpost s;
        uint64_t x = seed, sent = 0, ended = 0;
        set_out(&n, &s, seed % 3 == 0 ? &one_by_one : &by_destination, 1 + seed % 7);
        const struct router routers[] = {{&by_destination, &s}, {&one_by_one, &s}};
        for (int step = 0; step < 120; step++) {
            x = hash_mix(seed, x, (uint64_t)step);
            const uint64_t pick = x >> 32;
            switch (x % 8) {
            case 0:
                s.to[4 + pick % 4] =
                    (int)(pick / 4 % 3) == 2 ? ROUTER_NO_LINK : (int)(pick / 4 % 2);
                agent_reroute(n.a);
                break;
            case 1:
                agent_link(n.a, pick % 2, pick & 2, n.now);
                break;
            case 2:
                ended += sent > 0 && agent_delete(n.a, 1 + pick % sent, n.now) == 0;
                break;
            case 3:
                agent_expire(n.a, n.now);
                break;
            case 4:
                if (pick % 8 == 0)
                    agent_router(n.a, &routers[pick / 8 % 2]);
                break;
            default:
                send_to(&n, 4 + pick % 4, pick & 16 ? BUNDLE_NO_FRAGMENT : 0, NULL);
                sent++;
            }
            agent_check(n.a);
        }
        for (uint32_t link = 0; link < 2; link++)
            agent_link(n.a, link, false, n.now);
        for (int k = 4; k < 8; k++)
            s.to[k] = k % 2;
        agent_reroute(n.a);
        settle(&n);
        skip(&n);
        const struct agent_counters *c = agent_counters(n.a);
        ck_assert_uint_eq(queued(&n, 0) + queued(&n, 1), c->bundles);
        struct agent_bundle_info at[160];
        const size_t len = agent_bundles(n.a, at, 160);
        for (size_t i = 0; i < len; i++) {
            if (strcmp(at[i].state, "waiting") == 0)
                ck_assert_int_eq(at[i].link, (int)(at[i].destination.node % 2));
        }
        ck_assert_uint_le(c->ended[END_DELETED], ended);
        binder_fini(&n);
    }
}
END_TEST

/* More of them than there are places for kinds: the others are asked for one by one. */
START_TEST(every_bundle_another_endpoint)
{
    struct binder n;
    struct signpost s;
    set_out(&n, &s, &by_destination, 0);
    n.store_silent = true;
    const uint64_t many = 66000; /* above KINDS_MAX */
    struct agent_action x;
    for (uint64_t i = 0; i < many; i++) {
        struct agent_request q = request_of("ipn:2.7", "ipn:4.1", 5);
        q.destination.service = i;
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
        while (agent_poll(n.a, &x)) {
            if (x.kind == AGENT_STORE)
                agent_stored(n.a, x.key, true, n.now);
            buf_drop(x.bundle);
        }
    }
    agent_check(n.a);
    s.to[4] = 1;
    agent_reroute(n.a);
    settle(&n);
    agent_check(n.a);
    ck_assert_uint_eq(queued(&n, 1), many);
    binder_fini(&n);
}
END_TEST

/* A million lifetimes that end at once keep nobody waiting for long. */
START_TEST(lifetimes_end_in_slices)
{
    struct binder n;
    struct signpost s;
    set_out(&n, &s, &by_destination, 10);
    for (int i = 0; i < 95; i++)
        send_to(&n, 4, 0, NULL);
    pass(&n, UINT64_C(86400) * TICK_S);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 10);
    ck_assert_uint_eq(settle(&n), 9);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 95);
    binder_fini(&n);
}
END_TEST

/* Bundles for one node from many neighbours whose links have gone. A search for a kind compares no
 * other one (agent_check), however many neighbours there were. */
START_TEST(many_neighbours_that_left)
{
    struct binder n;
    struct signpost s;
    set_out(&n, &s, &by_destination, 0);
    s.to[4] = 0;
    for (uint64_t i = 0; i < 200; i++) {
        struct eid peer = eid_ipn(0, 100 + i, 0);
        struct bundle b = peer_bundle("ipn:9.1", "ipn:4.1", i);
        b.id.source.node = 100 + i;
        ck_assert_int_eq(agent_link_add(n.a, 2, &peer, 1), 0);
        ck_assert_int_eq(link_receive(&n, 2, &b, i), REFUSE_NONE);
        skip(&n);
        ck_assert_int_eq(agent_link_remove(n.a, 2, n.now), 0);
        skip(&n);
    }
    ck_assert_uint_eq(queued(&n, 0), 200);
    s.to[4] = 1;
    agent_reroute(n.a);
    settle(&n);
    ck_assert_uint_eq(queued(&n, 1), 200);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_kind, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, one_question_for_all_that_are_alike);
    tcase_add_test(t, a_closed_link_has_few_at_its_head);
    tcase_add_test(t, questions_have_a_part_of_the_time);
    tcase_add_test(t, what_is_not_alike_is_asked_for);
    tcase_add_test(t, what_moves_keeps_its_order);
    tcase_add_test(t, long_work_goes_in_slices);
    tcase_add_test(t, changes_faster_than_they_are_done);
    tcase_add_test(t, changes_while_others_are_under_way);
    tcase_add_test(t, every_bundle_another_endpoint);
    tcase_add_test(t, lifetimes_end_in_slices);
    tcase_add_test(t, many_neighbours_that_left);
}
