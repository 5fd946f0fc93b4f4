/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles for endpoints of the node: a part of the room is for one endpoint, and one for all that
 * nobody takes. So others find room beside them, also after a restart. A stream stops only for a
 * receiver that soon makes room, and only if it brings nothing for others.
 */
#include "bp_agent_piece.h"
#include "tests/unit/suite.h"

static struct agent_config backlog_config(void)
{
    struct agent_config c = config_of("ipn:2.0");
    c.held_bundles = 100;
    c.reserve_percent = 30; /* 10 for each of two links and the applications */
    c.endpoint_percent = 75;
    return c;
}

static enum agent_refusal take_for(struct binder *n, const char *to, uint64_t sequence)
{
    struct bundle b = peer_bundle("ipn:1.4", to, sequence);
    b.lifetime_ms = UINT64_MAX;
    enum agent_refusal r = link_receive(n, 0, &b, sequence);
    skip(n);
    return r;
}

/* So many are taken until the first is refused. */
static uint64_t flood_for(struct binder *n, const char *to, uint64_t first)
{
    uint64_t taken = 0;
    enum agent_refusal r;
    while ((r = take_for(n, to, first + taken)) == REFUSE_NONE)
        taken++;
    ck_assert_int_eq(r, REFUSE_QUOTA);
    return taken;
}

static void receive(struct binder *n, uint64_t reg, const char *endpoint)
{
    struct eid e = eid_of(endpoint);
    ck_assert_int_eq(agent_register(n->a, reg, &e, 1, n->now), 0);
    skip(n);
}

/* It is registered, and takes one. */
static void receive_one(struct binder *n, uint64_t reg, const char *endpoint, uint64_t sequence)
{
    receive(n, reg, endpoint);
    ck_assert_int_eq(take_for(n, endpoint, sequence), REFUSE_NONE);
    agent_delivered(n->a, n->delivery, true, n->now);
    skip(n);
}

START_TEST(nobody_takes_them)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.8", 1), 60); /* of 80 */
    ck_assert_uint_eq(flood_for(&n, "ipn:2.9", 100), 0);
    receive_one(&n, 1, "ipn:2.7", 199);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.7", 200), 15);
    agent_check(n.a);
    receive(&n, 2, "ipn:2.8"); /* they go, and what comes next is taken */
    for (uint64_t i = 0; i < 60; i++) {
        agent_delivered(n.a, n.delivery, true, n.now);
        skip(&n);
    }
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 15);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.9", 300), 48); /* of the other 65 */
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* Registered, and idle for ten seconds while bundles wait: it counts with those that nobody takes.
 */
START_TEST(an_idle_application_is_nobody)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    receive_one(&n, 1, "ipn:2.8", 1);
    for (uint64_t i = 2; i <= 31; i++)
        ck_assert_int_eq(take_for(&n, "ipn:2.8", i), REFUSE_NONE);
    pass(&n, 9 * TICK_S);
    ck_assert_int_eq(take_for(&n, "ipn:2.8", 32), REFUSE_NONE);
    pass(&n, 2 * TICK_S);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.9", 40), 36); /* three quarters of 49 */
    ck_assert_uint_eq(flood_for(&n, "ipn:2.8", 100), 0);
    agent_delivered(n.a, n.delivery, true, n.now);
    skip(&n);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.8", 200), 3);
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* To register is not to take, however often. */
START_TEST(who_only_registers_takes_nothing)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    uint64_t taken = 0;
    for (uint64_t i = 1; i <= 80; i++) {
        receive(&n, i, "ipn:2.8");
        taken += take_for(&n, "ipn:2.8", i) == REFUSE_NONE;
        agent_unregister(n.a, i, n.now);
        skip(&n);
        pass(&n, TICK_S);
    }
    ck_assert_uint_le(taken, 62); /* 60 of 80, and the first one, for which nothing waited */
    receive_one(&n, 100, "ipn:2.7", 199);
    ck_assert_uint_ge(flood_for(&n, "ipn:2.7", 200), 13);
    binder_fini(&n);
}
END_TEST

static enum agent_refusal take_from(struct binder *n, const char *source, const char *to,
                                    uint64_t sequence)
{
    struct bundle b = peer_bundle(source, to, sequence);
    b.lifetime_ms = UINT64_MAX;
    enum agent_refusal r = link_receive(n, 0, &b, sequence);
    skip(n);
    return r;
}

/* Sources that have not proved themselves share an account: what is for one receiver leaves room
 * for others in it. */
START_TEST(one_receiver_leaves_room_to_another)
{
    struct binder n;
    struct agent_config c = backlog_config();
    c.source_percent = 95;
    relay_init(&n, &c);
    receive_one(&n, 1, "ipn:2.8", 1);
    receive_one(&n, 2, "ipn:2.7", 2);
    uint64_t taken = 0, other = 0, third = 0;
    while (take_from(&n, "ipn:1.4", "ipn:2.8", 10 + taken) == REFUSE_NONE)
        taken++;
    ck_assert_uint_ge(taken, 55);
    ck_assert_uint_le(taken, 58); /* three quarters of 95 % of 80, and the first one */
    while (take_from(&n, "ipn:1.5", "ipn:2.7", 1 + other) == REFUSE_NONE)
        other++;
    ck_assert_uint_ge(other, 13);
    ck_assert_uint_le(other, 16);
    while (take_from(&n, "ipn:1.6", "ipn:3.8", 1 + third) == REFUSE_NONE)
        third++; /* for a link that is down */
    ck_assert_uint_ge(third, 4);
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

static bool would_wait(struct binder *n, const char *to, uint64_t sequence)
{
    struct bundle b = peer_bundle("ipn:1.4", to, sequence);
    b.lifetime_ms = UINT64_MAX;
    struct buf *bytes = bundle_encode_copy(&b);
    bool waits = false;
    ck_assert_int_eq(agent_offer(n->a, 0, bytes, sequence, 0, &waits, n->now), REFUSE_QUOTA);
    if (waits)
        buf_drop(bytes);
    skip(n);
    return waits;
}

/* A link that could wait does not. */
START_TEST(no_link_waits_for_them)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    flood_for(&n, "ipn:2.8", 1);
    ck_assert(!would_wait(&n, "ipn:2.8", 500));
    binder_fini(&n);
}
END_TEST

static void deliver(struct binder *n, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        agent_delivered(n->a, n->delivery, true, n->now);
        skip(n);
    }
}

/* A stream stops for a receiver that soon makes room, however full its backlog; not for one that
 * takes a bundle now and then. */
START_TEST(no_link_waits_for_a_slow_receiver)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    receive(&n, 1, "ipn:2.8");
    ck_assert_int_eq(take_for(&n, "ipn:2.8", 1), REFUSE_NONE);
    deliver(&n, 1);
    uint64_t sequence = 1 + flood_for(&n, "ipn:2.8", 2);
    ck_assert(would_wait(&n, "ipn:2.8", 1000)); /* its backlog is young */
    for (unsigned window = 0; window < 3; window++) {
        for (unsigned i = 0; i < 5; i++) { /* 25 in ten seconds */
            pass(&n, 2 * TICK_S);
            deliver(&n, 5);
            sequence += flood_for(&n, "ipn:2.8", sequence + 1);
        }
        ck_assert(would_wait(&n, "ipn:2.8", 1001 + window));
    }
    for (unsigned i = 0; i < 6; i++) {
        pass(&n, 5 * TICK_S);
        deliver(&n, 1);
        sequence += flood_for(&n, "ipn:2.8", sequence + 1);
    }
    ck_assert(!would_wait(&n, "ipn:2.8", 2000));
    deliver(&n, 40); /* it is fast again */
    flood_for(&n, "ipn:2.8", sequence + 1);
    ck_assert(would_wait(&n, "ipn:2.8", 2001));
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* It proves itself amid its flood: what came before, which counts for sources that have not, is its
 * own. A bundle of another one of those ends that. */
START_TEST(a_stream_stops_when_its_source_is_proven)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    receive(&n, 1, "ipn:2.8");
    uint64_t sequence = 1;
    for (; sequence <= 8; sequence++)
        ck_assert_int_eq(take_for(&n, "ipn:2.8", sequence), REFUSE_NONE);
    deliver(&n, 1);
    sequence += flood_for(&n, "ipn:2.8", sequence);
    ck_assert(would_wait(&n, "ipn:2.8", 1001));
    deliver(&n, 2);
    ck_assert_int_eq(take_from(&n, "ipn:1.5", "ipn:2.8", 1), REFUSE_NONE); /* the same node */
    flood_for(&n, "ipn:2.8", sequence + 1);
    ck_assert(would_wait(&n, "ipn:2.8", 1003));
    deliver(&n, 2);
    ck_assert_int_eq(take_from(&n, "ipn:7.5", "ipn:2.8", 1), REFUSE_NONE);
    flood_for(&n, "ipn:2.8", sequence + 100);
    ck_assert(!would_wait(&n, "ipn:2.8", 1004));
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* A flood to one endpoint stays one to one endpoint when its receiver starts to take it. */
START_TEST(a_stream_stops_when_its_receiver_starts)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    ck_assert_int_eq(take_for(&n, "ipn:2.8", 1), REFUSE_NONE); /* nobody has registered */
    receive(&n, 1, "ipn:2.8");
    ck_assert_int_eq(take_for(&n, "ipn:2.8", 2), REFUSE_NONE); /* nobody has taken one */
    deliver(&n, 2);
    uint64_t sequence = 2 + flood_for(&n, "ipn:2.8", 3);
    ck_assert(would_wait(&n, "ipn:2.8", 1000));
    ck_assert_int_eq(take_for(&n, "ipn:2.9", sequence + 1), REFUSE_NONE); /* for nobody */
    ck_assert(!would_wait(&n, "ipn:2.8", 1001));
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* It finds a backlog of its own endpoint: its pace is not known before a window of ten seconds. */
START_TEST(a_stream_stops_when_its_receiver_comes_late)
{
    struct binder n;
    struct agent_config c = backlog_config();
    c.held_bundles = 1000; /* too many for a proof of the source */
    relay_init(&n, &c);
    pass(&n, 100 * TICK_S);
    uint64_t sequence = flood_for(&n, "ipn:2.8", 1);
    ck_assert(!would_wait(&n, "ipn:2.8", 1000));
    receive(&n, 1, "ipn:2.8");
    deliver(&n, 1);
    sequence += flood_for(&n, "ipn:2.8", sequence + 1);
    ck_assert(would_wait(&n, "ipn:2.8", 1001));
    for (unsigned i = 0; i < 4; i++) {
        pass(&n, 5 * TICK_S);
        deliver(&n, 1);
        sequence += flood_for(&n, "ipn:2.8", sequence + 1);
    }
    ck_assert(!would_wait(&n, "ipn:2.8", 1002)); /* now it is: slow */
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* The bundles that came before it count with those that nobody takes; that it takes them shows its
 * pace all the same. */
START_TEST(a_late_receiver_shows_its_pace)
{
    struct binder n;
    struct agent_config c = backlog_config();
    c.held_bundles = 1000;
    relay_init(&n, &c);
    uint64_t sequence = flood_for(&n, "ipn:2.8", 1);
    receive(&n, 1, "ipn:2.8");
    for (unsigned i = 0; i < 12; i++) { /* 20 a second: it has not reached its own ones */
        pass(&n, TICK_S);
        deliver(&n, 20);
        sequence += flood_for(&n, "ipn:2.8", sequence + 1);
    }
    ck_assert(would_wait(&n, "ipn:2.8", 5000));
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* What else the peer brings must not wait for a receiver, for ten minutes after the last such
 * bundle.
 */
START_TEST(a_stream_that_brings_more_goes_on)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    receive(&n, 1, "ipn:2.8");
    ck_assert_int_eq(take_for(&n, "ipn:2.8", 1), REFUSE_NONE);
    deliver(&n, 1);
    uint64_t sequence = 1 + flood_for(&n, "ipn:2.8", 2);
    ck_assert(would_wait(&n, "ipn:2.8", 1000));
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.8", 900); /* through this node */
    ck_assert_int_eq(link_receive(&n, 0, &b, 3000), REFUSE_NONE);
    skip(&n);
    ck_assert(!would_wait(&n, "ipn:2.8", 1001));
    for (unsigned i = 0; i < 300; i++) {
        deliver(&n, 5);
        sequence += flood_for(&n, "ipn:2.8", sequence + 1);
        ck_assert(!would_wait(&n, "ipn:2.8", 10000 + i));
        pass(&n, 2 * TICK_S);
    }
    pass(&n, 2 * TICK_S);
    deliver(&n, 5);
    flood_for(&n, "ipn:2.8", sequence + 1);
    ck_assert(would_wait(&n, "ipn:2.8", 20000));
    binder_fini(&n);
}
END_TEST

/* So many of this peer are taken until one finds no room. */
static uint64_t fill_by(struct binder *n, struct bundle b, uint64_t first)
{
    uint64_t taken = 0;
    for (;; taken++) {
        b.id.sequence = first + taken;
        if (link_receive(n, 0, &b, b.id.sequence) != REFUSE_NONE)
            break;
        skip(n);
    }
    skip(n);
    return taken;
}

/* What goes through the node, to a link that is down, holds up a stream for ten seconds at most. */
START_TEST(no_link_waits_for_another_that_stands_still)
{
    struct binder n;
    struct agent_config c = backlog_config();
    c.source_percent = 95;
    relay_init(&n, &c);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.8", 1);
    b.lifetime_ms = UINT64_MAX;
    ck_assert_uint_ge(fill_by(&n, b, 1), 70);
    ck_assert(would_wait(&n, "ipn:3.8", 1000));
    pass(&n, 11 * TICK_S);
    ck_assert(!would_wait(&n, "ipn:3.8", 1001));
    binder_fini(&n);
}
END_TEST

/* Fragments of bundles that are never whole: their receiver is there, and gets nothing. */
START_TEST(no_link_waits_for_fragments)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    receive(&n, 1, "ipn:2.7");
    struct bundle b = piece_of(TEXT, 1, 0, 1);
    b.lifetime_ms = UINT64_MAX;
    ck_assert_uint_ge(fill_by(&n, b, 1), 59);
    pass(&n, 11 * TICK_S);
    b.id.sequence = 5000;
    struct buf *bytes = bundle_encode_copy(&b);
    bool waits = true;
    ck_assert_int_eq(agent_offer(n.a, 0, bytes, 5000, 0, &waits, n.now), REFUSE_QUOTA);
    ck_assert(!waits);
    skip(&n);
    binder_fini(&n);
}
END_TEST

/* A receiver that is there gets the second bundle of a burst, too, however long the last is ago,
 * and however many others wait for endpoints that nobody takes. */
START_TEST(a_burst_after_a_rest)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    receive_one(&n, 1, "ipn:2.7", 1);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.8", 10), 60);
    pass(&n, 60 * TICK_S);
    ck_assert_uint_eq(flood_for(&n, "ipn:2.7", 200), 15);
    deliver(&n, 15);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 60);
    binder_fini(&n);
}
END_TEST

/* In a large queue a minute is not enough; then 4 MB in a minute are. */
START_TEST(a_link_waits_for_much_in_a_minute)
{
    struct binder n;
    struct agent_config c = backlog_config();
    c.held_bundles = 800;
    relay_init(&n, &c);
    receive(&n, 1, "ipn:2.8");
    ck_assert_int_eq(take_for(&n, "ipn:2.8", 1), REFUSE_NONE);
    deliver(&n, 1);
    static uint8_t payload[40000];
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.8", 2);
    b.lifetime_ms = UINT64_MAX;
    b.payload = slice_of(payload, sizeof payload);
    uint64_t sequence = 2 + fill_by(&n, b, 2);
    for (unsigned i = 0; i < 16; i++) { /* 2 in a second: half an hour for all */
        pass(&n, TICK_S);
        deliver(&n, 2);
        sequence += fill_by(&n, b, sequence);
    }
    ck_assert(would_wait(&n, "ipn:2.8", 100000));
    for (unsigned i = 0; i < 30; i++) { /* one in two seconds are 1.2 MB a minute */
        pass(&n, 2 * TICK_S);
        deliver(&n, 1);
        sequence += fill_by(&n, b, sequence);
    }
    ck_assert(!would_wait(&n, "ipn:2.8", 100001));
    binder_fini(&n);
}
END_TEST

/* A node that drops: the least of the endpoint's backlog goes, and no other. */
START_TEST(the_least_of_a_backlog_is_dropped)
{
    struct binder n;
    struct agent_config c = backlog_config();
    c.drop_when_full = true;
    relay_init(&n, &c);
    for (uint64_t i = 1; i <= 70; i++) {
        struct bundle b = peer_bundle("ipn:1.4", "ipn:2.8", i);
        b.lifetime_ms = 60000 + i;
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_NONE);
        skip(&n);
    }
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 60);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DROPPED], 10);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.8", 100);
    b.lifetime_ms = 1000; /* less than all that are here */
    ck_assert_int_eq(link_receive(&n, 0, &b, 100), REFUSE_QUOTA);
    skip(&n);
    b = peer_bundle("ipn:1.4", "ipn:3.8", 101); /* for a link that is down */
    b.lifetime_ms = 1000;
    ck_assert_int_eq(link_receive(&n, 0, &b, 101), REFUSE_NONE);
    skip(&n);
    b = peer_bundle("ipn:1.4", "ipn:2.8", 102); /* the other one is less, and stays */
    b.lifetime_ms = 70000;
    ck_assert_int_eq(link_receive(&n, 0, &b, 102), REFUSE_NONE);
    skip(&n); /* two go: of the room without the other one it may have 59 */
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 60);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DROPPED], 12);
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

START_TEST(fragments_count_too)
{
    struct binder n;
    struct agent_config c = backlog_config();
    relay_init(&n, &c);
    uint64_t taken = 0;
    for (uint64_t i = 0; i < 80; i++) {
        struct bundle b = piece_of(TEXT, 1 + i, 0, 1);
        taken += link_receive(&n, 0, &b, i) == REFUSE_NONE;
        skip(&n);
    }
    ck_assert_uint_eq(taken, 60);
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* Of bursts of 16 bundles, each taken before the next one, so many of 100 come in. */
static unsigned honest_percent(struct binder *n, const char *to, uint64_t first)
{
    unsigned taken = 0;
    for (unsigned burst = 0; burst < 25; burst++) {
        unsigned here = 0;
        while (here < 16 && take_for(n, to, first + taken + here) == REFUSE_NONE)
            here++;
        deliver(n, here);
        taken += here;
        pass(n, 10 * TICK_MS);
    }
    return taken / 4;
}

/* Applications that took a bundle each and then stop, with a flood for each, leave room for one
 * that goes on, however many they are. */
START_TEST(receivers_that_stop)
{
    static const unsigned numbers[] = {1, 4, 16, 64};
    struct binder n;
    struct agent_config c = backlog_config();
    char to[32];
    c.held_bundles = 800;
    c.reserve_percent = 25;
    c.queue_percent = 50; /* 100 for endpoints here */
    c.source_percent = 95;
    relay_init(&n, &c);
    for (unsigned i = 0; i < numbers[_i]; i++) {
        snprintf(to, sizeof to, "ipn:2.%u", 100 + i);
        receive_one(&n, 100 + i, to, 10000 * i + 1);
        flood_for(&n, to, 10000 * i + 2);
    }
    agent_check(n.a);
    receive(&n, 7, "ipn:2.7");
    ck_assert_uint_ge(honest_percent(&n, "ipn:2.7", 1000000), 80);
    /* One more that took as much and then stops leaves some of it, too. */
    ck_assert_uint_ge(honest_percent(&n, "ipn:2.7", 2000000), 99);
    flood_for(&n, "ipn:2.7", 3000000);
    receive(&n, 8, "ipn:2.8");
    ck_assert_uint_ge(honest_percent(&n, "ipn:2.8", 4000000), 30);
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_backlog, t)
{
    tcase_add_test(t, nobody_takes_them);
    tcase_add_test(t, an_idle_application_is_nobody);
    tcase_add_test(t, who_only_registers_takes_nothing);
    tcase_add_test(t, one_receiver_leaves_room_to_another);
    tcase_add_test(t, no_link_waits_for_them);
    tcase_add_test(t, no_link_waits_for_a_slow_receiver);
    tcase_add_test(t, a_stream_stops_when_its_source_is_proven);
    tcase_add_test(t, a_stream_stops_when_its_receiver_starts);
    tcase_add_test(t, a_stream_stops_when_its_receiver_comes_late);
    tcase_add_test(t, a_late_receiver_shows_its_pace);
    tcase_add_test(t, a_stream_that_brings_more_goes_on);
    tcase_add_test(t, no_link_waits_for_another_that_stands_still);
    tcase_add_test(t, no_link_waits_for_fragments);
    tcase_add_test(t, a_burst_after_a_rest);
    tcase_add_test(t, a_link_waits_for_much_in_a_minute);
    tcase_add_test(t, the_least_of_a_backlog_is_dropped);
    tcase_add_test(t, fragments_count_too);
    tcase_add_loop_test(t, receivers_that_stop, 0, 4);
}
