/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent with a router that the test plays: what it is asked, when, and what it is told; and the
 * agent's own routes when they change while bundles wait. The router's notes stand in the same
 * trace as the agent's actions.
 */
#include "bp_router_help.h"
#include "tests/unit/suite.h"

START_TEST(it_is_asked_with_all_that_is_known)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &plain, &c);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:9.5", 1);
    b.lifetime_ms = 4000;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    ck_assert_uint_eq(o.asked, 1); /* is there a way? */
    ck_assert_uint_eq(o.last.bytes, 4);
    ck_assert_int_eq(o.last.came_from, 0);
    expect(&n, "store 1\nconfirm link 1\nsend 1 on 1\n");
    ck_assert_uint_eq(o.asked, 2);
    struct buf *whole = bundle_encode_copy(&b);
    ck_assert_uint_eq(o.last.bytes, whole->len);
    buf_drop(whole);
    ck_assert_uint_eq(o.last.expires, T0 + 4 * TICK_S);
    ck_assert_uint_eq(o.last.now, T0);
    ck_assert_int_eq(o.last.came_from, 0);
    ck_assert_int_eq(o.last.avoid, 0);
    struct eid to = eid_of("ipn:9.5");
    ck_assert(eid_equal(&o.destination, &to));
    ck_assert(o.link[0].used && o.link[0].up && o.link[0].bundles == 0);
    app(&n, "ipn:9.6");
    ck_assert_int_eq(o.last.came_from, ROUTER_NO_LINK);
    ck_assert_uint_eq(o.link[1].bundles, 1); /* the one that is on its way */
    ck_assert_uint_gt(o.link[1].bytes, 40);
    expect(&n, "store 2\nconfirm app 5\nsend 2 on 1\n");
    agent_sent(n.a, 1, false, n.now);
    agent_link(n.a, 0, false, n.now);
    pass(&n, TICK_S);
    ck_assert_int_eq(o.last.came_from, 0);
    ck_assert_int_eq(o.last.avoid, 1);       /* it failed last */
    ck_assert_uint_eq(o.link[1].bundles, 1); /* without the one that is asked for */
    ck_assert(!o.link[0].up);
    expect(&n, "send 1 on 1\n");
    app(&n, "ipn:2.1"); /* what stays here is no question */
    unsigned asked = o.asked;
    expect(&n, "store 3\nconfirm app 5\n");
    ck_assert_uint_eq(o.asked, asked);
    binder_fini(&n);
}
END_TEST

START_TEST(what_waits_goes_at_its_time)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &plain, &c);
    o.answer = wait_until(T0 + 10 * TICK_S);
    for (int i = 0; i < 3; i++)
        app(&n, "ipn:9.1");
    expect(&n, "store 1\nconfirm app 5\nstore 2\nconfirm app 5\nstore 3\nconfirm app 5\n");
    ck_assert_uint_eq(agent_deadline(n.a), T0 + 10 * TICK_S);
    ck_assert_uint_eq(o.link[1].bundles, 0); /* in no queue */
    unsigned asked = o.asked;
    pass(&n, 10 * TICK_S - 1);
    expect(&n, "");
    ck_assert_uint_eq(o.asked, asked); /* and nobody asks meanwhile */
    o.answer = wait_until(T0 + 20 * TICK_S);
    pass(&n, 1);
    expect(&n, "");
    ck_assert_uint_eq(o.asked, asked + 3);
    ck_assert_uint_eq(agent_deadline(n.a), T0 + 20 * TICK_S);
    o.answer = to_link(1);
    pass(&n, 10 * TICK_S);
    expect(&n, "send 1 on 1\nsend 2 on 1\n"); /* in their order, by the link's window */
    binder_fini(&n);
}
END_TEST

START_TEST(a_lifetime_ends_while_it_waits)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &plain, &c);
    o.answer = wait_until(T0 + 100 * TICK_S);
    struct agent_request q = request_of("ipn:2.7", "ipn:9.1", 5);
    q.lifetime_ms = 2000;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 5\n");
    ck_assert_uint_eq(agent_deadline(n.a), T0 + 2 * TICK_S);
    pass(&n, 2 * TICK_S);
    expect(&n, "remove 1\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 1);
    binder_fini(&n);
}
END_TEST

START_TEST(no_way_refuses_but_what_is_here_waits)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &plain, &c);
    app(&n, "ipn:9.1");
    o.answer = (struct router_answer){.verdict = ROUTER_NONE}; /* while it is being stored */
    expect(&n, "store 1\nconfirm app 5\n");
    struct agent_request q = request_of("ipn:2.7", "ipn:9.1", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NO_ROUTE);
    o.answer = to_link(0);
    unsigned asked = o.asked;
    pass(&n, TICK_S);
    expect(&n, "");
    ck_assert_uint_eq(o.asked, asked);
    agent_reroute(n.a);
    ck_assert_uint_eq(agent_deadline(n.a), 0);
    pass(&n, 0);
    expect(&n, "send 1 on 0\n");
    binder_fini(&n);
}
END_TEST

/* A new one is refused with the reason; one that is here waits, and is counted once until there is
 * a way again. */
START_TEST(too_late_is_told)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &plain, &c);
    app(&n, "ipn:9.1");
    ck_assert_uint_eq(agent_late(n.a)->expires, 0); /* none yet */
    o.answer = (struct router_answer){
        .verdict = ROUTER_NONE, .too_late = true, .arrival = T0 + 90 * TICK_S};
    expect(&n, "store 1\nconfirm app 5\n");
    ck_assert_uint_eq(agent_counters(n.a)->too_late, 1);
    ck_assert_uint_eq(agent_late(n.a)->arrival, T0 + 90 * TICK_S); /* it is kept */
    struct agent_why why;
    ck_assert(agent_why(n.a, 1, &why) && why.too_late);
    ck_assert_uint_eq(why.arrival, T0 + 90 * TICK_S);
    ck_assert_uint_eq(why.expires, agent_late(n.a)->expires);
    struct agent_request q = request_of("ipn:2.7", "ipn:9.1", 5);
    q.lifetime_ms = 7000;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_TOO_LATE);
    ck_assert_uint_eq(agent_late(n.a)->expires, T0 + 7 * TICK_S);
    ck_assert_uint_eq(agent_late(n.a)->arrival, T0 + 90 * TICK_S);
    ck_assert_int_lt(agent_late(n.a)->from, 0);
    ck_assert_ptr_null(agent_late_of(n.a, &agent_late(n.a)->id)); /* of links only */
    q.lifetime_ms = 0;
    ck_assert_uint_eq(agent_counters(n.a)->refused[REFUSE_TOO_LATE], 1);
    o.answer =
        (struct router_answer){.verdict = ROUTER_WAIT, .too_late = true, .until = T0 + 5 * TICK_S};
    agent_reroute(n.a);
    pass(&n, 0);
    ck_assert_uint_eq(agent_counters(n.a)->too_late, 1);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE); /* it may wait */
    expect(&n, "store 2\nconfirm app 5\n");
    ck_assert_uint_eq(agent_counters(n.a)->too_late, 2);
    o.answer = (struct router_answer){.verdict = ROUTER_WAIT, .until = T0 + 6 * TICK_S};
    pass(&n, 5 * TICK_S);
    o.answer = (struct router_answer){.verdict = ROUTER_NONE, .too_late = true};
    pass(&n, TICK_S);
    ck_assert_uint_eq(agent_counters(n.a)->too_late, 4);
    binder_fini(&n);
}
END_TEST

/* One on its way over link 1, with a window of two, and two more behind. */
static void fill_queue(struct binder *n)
{
    for (int i = 0; i < 4; i++)
        app(n, "ipn:9.1");
    skip(n);
}

START_TEST(at_its_deadline_all_that_waits_is_asked_for)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &plain, &c);
    fill_queue(&n);
    o.deadline = T0 + 3 * TICK_S;
    ck_assert_uint_eq(agent_deadline(n.a), T0 + 3 * TICK_S);
    o.answer = to_link(0);
    unsigned asked = o.asked;
    pass(&n, 3 * TICK_S); /* nothing new: nobody is asked */
    expect(&n, "");
    ck_assert_uint_eq(o.asked, asked);
    o.deadline = T0 + 4 * TICK_S;
    o.news = true;
    pass(&n, TICK_S);
    expect(&n, "send 3 on 0\nsend 4 on 0\n"); /* what is on link 1 stays there */
    ck_assert_uint_eq(o.link[1].bundles, 2);  /* without the one that was asked for last */
    ck_assert_uint_eq(agent_deadline(n.a), T0 + UINT64_C(86400) * TICK_S); /* a lifetime */
    binder_fini(&n);
}
END_TEST

START_TEST(a_contact_that_ends_empties_its_queue)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &plain, &c);
    fill_queue(&n);
    o.answer = wait_until(T0 + 60 * TICK_S);
    o.deadline = T0 + TICK_S;
    o.news = true;
    pass(&n, TICK_S);
    expect(&n, "");
    agent_sent(n.a, 1, true, n.now); /* room in the window, but nobody in the queue */
    agent_sent(n.a, 2, false, n.now);
    expect(&n, "remove 1\n");
    o.answer = to_link(1);
    pass(&n, 59 * TICK_S);
    expect(&n, "send 2 on 1\nsend 3 on 1\n");
    binder_fini(&n);
}
END_TEST

START_TEST(a_link_that_comes_up_may_change_answers)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &plain, &c);
    agent_link(n.a, 1, false, n.now);
    o.answer = wait_until(TICK_NEVER);
    app(&n, "ipn:9.1");
    skip(&n);
    o.answer = to_link(1);
    o.changes = 0;
    agent_link(n.a, 1, true, n.now);
    ck_assert_int_eq(o.changes, 1);
    expect(&n, ""); /* the router did not say so */
    agent_link(n.a, 1, false, n.now);
    o.news = true;
    agent_link(n.a, 1, true, n.now);
    expect(&n, "send 1 on 1\n");
    binder_fini(&n);
}
END_TEST

START_TEST(bookings_follow_their_bundles)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &booking, &c);
    app(&n, "ipn:9.1");
    o.names = true; /* each question from here on */
    expect(&n, "store 1\nplaced: booking 1, bundle 1, 1 bytes, link 1\nconfirm app 5\n"
               "send 1 on 1\n");
    agent_sent(n.a, 1, false, n.now);
    expect(&n, "failed: booking 1, bundle 1, 1 bytes, link 1\n");
    pass(&n, TICK_S); /* the volume is used: another try is another booking */
    expect(&n, "placed: booking 2, bundle 1, 1 bytes, link 1\nsend 1 on 1\n");
    agent_lost(n.a, 1, 5, "lost", n.now);
    expect(&n, "failed: booking 2, bundle 1, 1 bytes, link 1\n"
               "placed: booking 3, bundle 1, 1 bytes, link 1\nsend 1 on 1\n");
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "sent: booking 3, bundle 1, 1 bytes, link 1\nremove 1\n");
    agent_link(n.a, 1, false, n.now);
    app(&n, "ipn:9.1");
    o.bookings = 10; /* the question whether there is a way books nothing */
    expect(&n, "store 2\nplaced: booking 11, bundle 2, 1 bytes, link 1\nconfirm app 5\n");
    agent_reroute(n.a); /* the same answer: nothing to tell */
    pass(&n, 0);
    expect(&n, "");
    o.answer = to_link(0);
    agent_reroute(n.a); /* the answer is for the booking that it has, on another link */
    o.names = false;
    o.answer.booking = 20;
    pass(&n, 0);
    expect(&n, "taken back: booking 11, bundle 2, 1 bytes, link 1\n"
               "placed: booking 20, bundle 2, 1 bytes, link 0\nsend 2 on 0\n");
    o.answer = to_link(1);
    o.answer.booking = 30;
    app(&n, "ipn:9.1");
    expect(&n, "store 3\nplaced: booking 30, bundle 3, 1 bytes, link 1\nconfirm app 5\n");
    o.answer.booking = 31; /* another contact of the same link */
    agent_reroute(n.a);
    pass(&n, 0);
    expect(&n, "taken back: booking 30, bundle 3, 1 bytes, link 1\n"
               "placed: booking 31, bundle 3, 1 bytes, link 1\n");
    ck_assert_int_eq(agent_delete(n.a, 3, n.now), 0);
    expect(&n, "taken back: booking 31, bundle 3, 1 bytes, link 1\nremove 3\n");
    binder_fini(&n);
}
END_TEST

/* A neighbour has filled the queue. Its bytes beyond what an application has there, with the bundle
 * that is asked for, have their turns after that bundle. */
START_TEST(turns_after_a_bundle_are_shown)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &booking, &c);
    agent_link(n.a, 1, false, n.now);
    for (uint64_t i = 1; i <= 10; i++) {
        struct bundle b = peer_bundle("ipn:7.4", "ipn:9.1", i);
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_NONE);
        skip(&n);
        ck_assert_uint_eq(o.link[1].behind, 0); /* of its own neighbour */
    }
    const uint64_t flood = o.link[1].bytes_of[BUNDLE_NORMAL] / 9 * 10;
    uint64_t own = 0;
    for (int i = 0; i < 3; i++) {
        app(&n, "ipn:9.1");
        skip(&n);
        ck_assert_uint_eq(o.link[1].behind, flood - own - o.last.bytes);
        own += o.last.bytes;
        ck_assert_uint_eq(o.link[1].bytes_of[BUNDLE_NORMAL], flood + own - o.last.bytes);
    }
    agent_reroute(n.a); /* one that is queued has its turn where it is */
    pass(&n, 0);
    skip(&n);
    ck_assert_int_eq(o.last.came_from, ROUTER_NO_LINK);
    ck_assert_uint_eq(o.link[1].behind, flood - own);
    for (uint64_t key = 1; key <= 10; key++)
        ck_assert_int_eq(agent_delete(n.a, key, n.now), 0);
    app(&n, "ipn:9.1");
    skip(&n);
    ck_assert_uint_eq(o.link[1].behind, 0);
    binder_fini(&n);
}
END_TEST

#define CROWD 60

static uint64_t count_queued(const struct binder *n)
{
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(n->a, 1, b));
    return b[BUNDLE_NORMAL].bytes;
}

/* A neighbour that has this number until the next one comes brings a bundle. Returns its bytes. */
static uint64_t bring_bundle(struct binder *n, uint64_t number, uint64_t sequence, size_t len)
{
    static const uint8_t octets[64];
    const uint64_t before = count_queued(n);
    struct eid peer = eid_ipn(0, 100 + number, 0);
    struct bundle b = peer_bundle("ipn:7.4", "ipn:9.1", sequence);
    b.payload = slice_of(octets, len);
    ck_assert_int_eq(agent_link_remove(n->a, 0, n->now), 0);
    ck_assert_int_eq(agent_link_add(n->a, 0, &peer, 2), 0);
    ck_assert_int_eq(link_receive(n, 0, &b, sequence), REFUSE_NONE);
    skip(n);
    return count_queued(n) - before;
}

/* Neighbours came, each with one to five bundles, and left; bundles end in between. Those that left
 * count as one. One that returns counts singly until it leaves again. */
START_TEST(turns_after_many_neighbours_are_shown)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    uint64_t of[CROWD] = {0}, key = 0, shown = 0;
    start(&n, &o, &booking, &c);
    agent_link(n.a, 1, false, n.now);
    for (uint64_t i = 0; i < 5 * CROWD; i++) {
        const uint64_t from = i % (1 + i / 5);
        const uint64_t bytes = bring_bundle(&n, from, i, 1 + i * 7 % 64);
        of[from] += bytes;
        key++;
        if (i % 5 == 1) {
            ck_assert_int_eq(agent_delete(n.a, key, n.now), 0);
            skip(&n);
            of[from] -= bytes;
        }
        if (i % 5 != 2)
            continue;
        app(&n, "ipn:9.1");
        skip(&n);
        uint64_t gone = 0;
        for (uint64_t k = 0; k < CROWD; k++)
            gone += k == from ? 0 : of[k];
        uint64_t behind = gone > o.last.bytes ? gone - o.last.bytes : 0;
        behind += of[from] > o.last.bytes ? of[from] - o.last.bytes : 0;
        ck_assert_uint_eq(o.link[1].behind, behind);
        shown += behind > 0;
        ck_assert_int_eq(agent_delete(n.a, ++key, n.now), 0);
        skip(&n);
    }
    ck_assert_uint_ge(shown, CROWD - 1);
    binder_fini(&n);
}
END_TEST

START_TEST(another_router_begins_anew)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &booking, &c);
    o.names = true;
    agent_link(n.a, 1, false, n.now);
    app(&n, "ipn:9.1");
    o.bookings = 6;
    expect(&n, "store 1\nplaced: booking 7, bundle 1, 1 bytes, link 1\nconfirm app 5\n");
    struct eid_pattern all;
    ck_assert_int_eq(eid_pattern_parse("*", &all), 0);
    ck_assert_int_eq(agent_route_add(n.a, &all, 0), 0);
    pass(&n, 0);
    expect(&n, ""); /* the agent's own routes are not asked now */
    agent_router(n.a, NULL);
    pass(&n, 0);
    expect(&n, "taken back: booking 7, bundle 1, 1 bytes, link 1\nsend 1 on 0\n");
    binder_fini(&n);
}
END_TEST

/* Bytes of what waits apart do not fill the memory: the store has them. */
START_TEST(waiting_apart_takes_no_memory)
{
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    c.memory_bytes = 4000;
    start(&n, &o, &plain, &c);
    o.answer = wait_until(T0 + 10 * TICK_S);
    for (int i = 0; i < 200; i++) {
        app(&n, "ipn:9.1");
        skip(&n);
    }
    ck_assert_uint_le(agent_counters(n.a)->memory_bytes, c.memory_bytes + 1000);
    o.answer = to_link(1);
    pass(&n, 10 * TICK_S);
    skip(&n);
    pass(&n, 0); /* so many are not placed in one call */
    skip(&n);
    for (uint64_t key = 1; key <= 200; key++) {
        agent_sent(n.a, key, true, n.now);
        skip(&n);
    }
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], 200);
    binder_fini(&n);
}
END_TEST

START_TEST(routes_change_while_bundles_wait)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    agent_link(n.a, 0, true, n.now);
    app(&n, "ipn:3.9");
    expect(&n, "store 1\nconfirm app 5\n"); /* link 1 is down */
    struct eid_pattern three, exact;
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &three), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:3.9", &exact), 0);
    ck_assert_int_eq(agent_route_remove(n.a, &exact, 1), HELIO_ENOENT);
    ck_assert_int_eq(agent_route_remove(n.a, &three, 0), HELIO_ENOENT);
    ck_assert_int_eq(agent_route_remove(n.a, &three, 1), 0);
    ck_assert_uint_eq(agent_deadline(n.a), 0);
    agent_link(n.a, 1, true, n.now);
    expect(&n, ""); /* no route: it waits apart */
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NO_ROUTE);
    ck_assert_int_eq(agent_route_add(n.a, &exact, 0), 0);
    pass(&n, 0);
    expect(&n, "send 1 on 0\n");
    binder_fini(&n);
}
END_TEST

START_TEST(a_route_that_is_removed_moves_its_queue)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct eid_pattern three, all;
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &three), 0);
    ck_assert_int_eq(eid_pattern_parse("*", &all), 0);
    ck_assert_int_eq(agent_route_add(n.a, &all, 0), 0);
    agent_link(n.a, 0, true, n.now);
    agent_link(n.a, 1, true, n.now);
    for (int i = 0; i < 4; i++)
        app(&n, "ipn:3.9");
    skip(&n); /* 1 and 2 are on link 1 */
    ck_assert_int_eq(agent_route_remove(n.a, &three, 1), 0);
    pass(&n, 0);
    expect(&n, "send 3 on 0\nsend 4 on 0\n");
    binder_fini(&n);
}
END_TEST

static uint64_t work_of_asked(const void *router)
{
    return ((const struct oracle *)router)->asked * UINT64_C(10000);
}

/* Each answer is dear: of bundles that are due at once, or whose answers changed, a call asks for a
 * few; the others follow in the next calls. */
START_TEST(dear_answers_are_asked_for_in_parts)
{
    static const struct router_ops dear = {.ask = ask_oracle,
                                           .deadline = deadline_oracle,
                                           .expire = expire_oracle,
                                           .work = work_of_asked};
    struct binder n;
    struct oracle o;
    struct agent_config c = config_of("ipn:2.0");
    start(&n, &o, &dear, &c);
    o.answer = wait_until(T0 + TICK_S);
    for (int i = 0; i < 40; i++)
        app(&n, "ipn:9.1");
    skip(&n);
    n.now.now += TICK_S;
    o.answer = wait_until(TICK_NEVER);
    for (unsigned most = 0, before = o.asked; most < 40; most += 5) {
        ck_assert_uint_le(agent_deadline(n.a), n.now.now);
        agent_expire(n.a, n.now);
        ck_assert_uint_le(o.asked - before, most + 5);
        ck_assert_uint_gt(o.asked - before, most);
    }
    ck_assert_uint_gt(agent_deadline(n.a), n.now.now);
    agent_reroute(n.a);
    for (unsigned calls = 0, before = o.asked; calls < 8; calls++, before = o.asked) {
        agent_expire(n.a, n.now);
        ck_assert_uint_le(o.asked - before, 10);
    }
    binder_fini(&n);
}
END_TEST

SUITE(bp_router, t)
{
    tcase_add_test(t, dear_answers_are_asked_for_in_parts);
    tcase_add_test(t, it_is_asked_with_all_that_is_known);
    tcase_add_test(t, what_waits_goes_at_its_time);
    tcase_add_test(t, a_lifetime_ends_while_it_waits);
    tcase_add_test(t, no_way_refuses_but_what_is_here_waits);
    tcase_add_test(t, at_its_deadline_all_that_waits_is_asked_for);
    tcase_add_test(t, a_contact_that_ends_empties_its_queue);
    tcase_add_test(t, a_link_that_comes_up_may_change_answers);
    tcase_add_test(t, bookings_follow_their_bundles);
    tcase_add_test(t, turns_after_a_bundle_are_shown);
    tcase_add_test(t, turns_after_many_neighbours_are_shown);
    tcase_add_test(t, another_router_begins_anew);
    tcase_add_test(t, too_late_is_told);
    tcase_add_test(t, waiting_apart_takes_no_memory);
    tcase_add_test(t, routes_change_while_bundles_wait);
    tcase_add_test(t, a_route_that_is_removed_moves_its_queue);
}
