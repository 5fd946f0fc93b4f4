/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles that links have in transmission count in the memory of all bundles, and links share a
 * half of it. */
#include <limits.h>

#include "bp_agent_members.h"

#define SIZE 1000
#define TOTAL UINT64_C(200000)
#define WINDOW 256

static void begin(struct binder *n)
{
    static const char *const peers[] = {"ipn:8.0", "ipn:9.0"};
    struct agent_config c = config_of("ipn:2.0");
    c.total_bytes = TOTAL;
    relay_init(n, &c);
    for (uint32_t i = 0; i < 2; i++) {
        struct eid e = eid_of(peers[i]);
        ck_assert_int_eq(agent_link_add(n->a, 8 + i, &e, WINDOW), 0);
        agent_link(n->a, 8 + i, true, n->now);
    }
    add_route(n, "ipn:8.*", 8);
    add_route(n, "ipn:9.*", 9);
}

static void clear_trace(struct binder *n)
{
    drain(n);
    agent_check(n->a);
    n->len = 0;
    n->trace[0] = 0;
}

static void bring(struct binder *n, const char *to, uint64_t count, size_t size)
{
    static uint8_t data[TOTAL];
    static uint64_t sequence;
    for (uint64_t i = 0; i < count; i++) {
        struct bundle b = peer_bundle("ipn:1.1", to, ++sequence);
        b.payload = slice_of(data, size);
        ck_assert_int_eq(link_receive(n, 0, &b, sequence), REFUSE_NONE);
        clear_trace(n);
    }
}

static const struct agent_counters *counters(const struct binder *n)
{
    return agent_counters(n->a);
}

static uint64_t count_given(const struct binder *n, uint32_t link)
{
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(n->a, link, b));
    return b[BUNDLE_NORMAL].given;
}

/* Acknowledges the first n bundles that the link has. */
static void acknowledge(struct binder *n, uint32_t link, unsigned count)
{
    struct agent_bundle_info all[256];
    const size_t len = agent_bundles(n->a, all, 256);
    for (size_t i = 0; i < len && count > 0; i++) {
        if (all[i].link != (int)link || strcmp(all[i].state, "sending") != 0)
            continue;
        agent_sent(n->a, all[i].key, true, n->now);
        agent_check(n->a);
        clear_trace(n);
        count--;
    }
    ck_assert_uint_eq(count, 0);
}

/* A peer that acknowledges nothing: its link has a quarter of the memory at most, and another one
 * finds half as much. */
START_TEST(links_share_a_half)
{
    struct binder n;
    begin(&n);
    bring(&n, "ipn:9.1", 60, SIZE);
    ck_assert_uint_gt(counters(&n)->sending_bytes, TOTAL * 9 / 40 - 4 * SIZE);
    ck_assert_uint_le(counters(&n)->sending_bytes, TOTAL / 4 + SIZE);
    const uint64_t stuck = count_given(&n, 9), before = counters(&n)->sending_bytes;
    ck_assert_uint_lt(stuck, 60);
    bring(&n, "ipn:8.1", 30, SIZE);
    ck_assert_uint_gt(counters(&n)->sending_bytes - before, TOTAL / 8 - 4 * SIZE);
    ck_assert_uint_le(counters(&n)->sending_bytes, TOTAL / 2);
    ck_assert_uint_eq(count_given(&n, 9), stuck);
    binder_fini(&n);
}
END_TEST

enum { FIRST = 8, MANY = 40, LONG_SIZE = 190000 };

/* With `count` links more, from FIRST on, of the nodes ipn:20.0, ipn:21.0, … */
static void begin_many(struct binder *n, uint64_t total, uint32_t count, bool up)
{
    struct agent_config c = config_of("ipn:2.0");
    c.total_bytes = total;
    relay_init(n, &c);
    for (uint32_t i = 0; i < count; i++) {
        char node[16], pattern[16];
        snprintf(node, sizeof node, "ipn:%u.0", 20 + i);
        snprintf(pattern, sizeof pattern, "ipn:%u.*", 20 + i);
        struct eid e = eid_of(node);
        ck_assert_int_eq(agent_link_add(n->a, FIRST + i, &e, WINDOW), 0);
        agent_link(n->a, FIRST + i, up, n->now);
        add_route(n, pattern, FIRST + i);
    }
}

static void bring_for(struct binder *n, uint32_t i, uint64_t count, size_t size)
{
    char to[16];
    snprintf(to, sizeof to, "ipn:%u.1", 20 + i);
    bring(n, to, count, size);
}

static void switch_links(struct binder *n, uint32_t count, bool up)
{
    for (uint32_t i = 0; i < count; i++) {
        agent_link(n->a, FIRST + i, up, n->now);
        clear_trace(n);
    }
}

/* `count` bundles that links have in transmission, of so many bytes or more. */
static void end_some(struct binder *n, unsigned count, size_t least, bool ok)
{
    struct agent_bundle_info all[256];
    const size_t len = agent_bundles(n->a, all, 256);
    for (size_t i = 0; i < len && count > 0; i++) {
        if (strcmp(all[i].state, "sending") != 0 || all[i].bytes < least)
            continue;
        if (ok)
            agent_sent(n->a, all[i].key, true, n->now);
        else
            agent_failed(n->a, all[i].key, "test", n->now);
        clear_trace(n);
        count--;
    }
}

static void end_all(struct binder *n, bool ok)
{
    end_some(n, UINT_MAX, 0, ok);
}

/* Links whose peers acknowledge nothing take what is left of the half. One more has an equal part
 * all the same. */
START_TEST(many_silent_links_leave_a_part)
{
    enum { SILENT = 10, LONG = 5000 };
    struct binder n;
    begin_many(&n, 20 * TOTAL, SILENT + 1, true);
    for (uint32_t i = 0; i < SILENT; i++)
        bring_for(&n, i, 10 * TOTAL / LONG >> (i + 1), LONG);
    bring_for(&n, SILENT, 5, LONG);
    ck_assert_uint_ge(count_given(&n, FIRST + SILENT), 3);
    ck_assert_uint_le(counters(&n)->sending_bytes, 10 * TOTAL);
    binder_fini(&n);
}
END_TEST

static void pass_time(struct binder *n, tick time)
{
    n->now.now += time;
    agent_expire(n->a, n->now);
    clear_trace(n);
}

static uint64_t count_all_given(const struct binder *n, uint32_t links)
{
    uint64_t given = 0;
    for (uint32_t i = 0; i < links; i++)
        given += count_given(n, FIRST + i);
    return given;
}

/* Long bundles in this state; "": in any. */
static uint64_t count_long(const struct binder *n, const char *state)
{
    struct agent_bundle_info all[256];
    const size_t len = agent_bundles(n->a, all, 256);
    uint64_t sum = 0;
    for (size_t i = 0; i < len; i++)
        sum += all[i].bytes >= LONG_SIZE && (*state == 0 || strcmp(all[i].state, state) == 0);
    return sum;
}

/* One long bundle for each of many links is more than half of the memory: the last links wait for
 * the first ones. Short bundles go on beside them, also those behind a long one that waits. */
START_TEST(one_long_bundle_each)
{
    struct binder n;
    begin_many(&n, 20 * TOTAL, MANY + 1, true);
    for (uint32_t i = 0; i < MANY; i++) {
        bring_for(&n, i, 1, LONG_SIZE);
        ck_assert_uint_le(counters(&n)->sending_bytes, 10 * TOTAL);
    }
    uint64_t given = count_all_given(&n, MANY);
    ck_assert_uint_gt(given, 5);
    ck_assert_uint_lt(given, 11);
    agent_link(n.a, FIRST + MANY, false, n.now);
    bring_for(&n, MANY, 30, LONG_SIZE);
    bring_for(&n, MANY, 6, SIZE);
    agent_link(n.a, FIRST + MANY, true, n.now);
    clear_trace(&n);
    ck_assert_uint_ge(count_given(&n, FIRST + MANY), 4);
    pass_time(&n, 20 * TICK_S); /* they return together, more of the others come */
    const uint64_t before = count_given(&n, FIRST + MANY);
    acknowledge(&n, FIRST + MANY, (unsigned)before);
    bring_for(&n, MANY, 6, SIZE);
    ck_assert_uint_ge(count_given(&n, FIRST + MANY), before + 4);
    /* Each outcome is the turn of one more, but for the one beyond the rest. */
    const uint64_t together = given - 1;
    for (uint64_t waiting = 1; waiting > 0;) {
        end_some(&n, 1, LONG_SIZE, true);
        pass_time(&n, 8 * TICK_S);
        const uint64_t sending = count_long(&n, "sending");
        waiting = count_long(&n, "") - sending;
        ck_assert(sending >= together || waiting == 0);
    }
    for (unsigned round = 0; round < 3; round++) {
        end_all(&n, true);
        pass_time(&n, TICK_S);
    }
    ck_assert_uint_eq(counters(&n)->bundles, 0);
    binder_fini(&n);
}
END_TEST

/* Links whose peers acknowledge late have as many long bundles in transmission as they may. Another
 * link has room for some of its bundles at once, also when such a link is the one beyond. */
START_TEST(late_peers_leave_room)
{
    enum { MEDIUM = 25000 };
    struct binder n;
    begin_many(&n, 20 * TOTAL, MANY + 1, true);
    for (uint32_t i = 0; i < MANY; i++)
        bring_for(&n, i, 2, LONG_SIZE);
    const uint64_t before = counters(&n)->sending_bytes;
    ck_assert_uint_gt(before, 7 * TOTAL);
    for (unsigned round = 0; round < 3; round++) {
        bring_for(&n, MANY, 4, MEDIUM);
        ck_assert_uint_ge(count_given(&n, FIRST + MANY), 4 * round + 3);
        acknowledge(&n, FIRST + MANY, 3);
        acknowledge(&n, FIRST + MANY, 1);
        ck_assert_uint_eq(count_given(&n, FIRST + MANY), 4 * (round + 1));
    }
    ck_assert_uint_le(counters(&n)->sending_bytes, 10 * TOTAL);
    binder_fini(&n);
}
END_TEST

/* Links with a long bundle that waits for room take their turns in the order of waiting, as soon as
 * there is room: nobody waits for the end of a pause. */
START_TEST(roomless_links_take_turns)
{
    struct binder n;
    begin_many(&n, 20 * TOTAL, MANY, true);
    for (uint32_t i = 0; i < MANY; i++)
        bring_for(&n, i, 1, LONG_SIZE);
    const uint64_t given = count_all_given(&n, MANY);
    ck_assert_uint_lt(given, MANY);
    for (uint64_t i = given; i < MANY; i++) {
        ck_assert_uint_eq(count_given(&n, FIRST + (uint32_t)i), 0);
        end_some(&n, 1, LONG_SIZE, true);
        ck_assert_uint_eq(count_given(&n, FIRST + (uint32_t)i), 1);
    }
    binder_fini(&n);
}
END_TEST

/* A bundle that is longer than the rest goes on beside a link that acknowledges nothing. */
START_TEST(one_is_longer_than_the_rest)
{
    struct binder n;
    begin_many(&n, 5 * TOTAL, 2, true);
    bring_for(&n, 0, 2, LONG_SIZE);
    bring_for(&n, 0, 1, LONG_SIZE);
    ck_assert_uint_eq(count_given(&n, FIRST), 1);
    for (unsigned i = 0; i < 3; i++) {
        bring_for(&n, 1, 1, LONG_SIZE);
        pass_time(&n, TICK_S);
        ck_assert_uint_eq(count_given(&n, FIRST + 1), i + 1);
        acknowledge(&n, FIRST + 1, 1);
    }
    ck_assert_uint_eq(count_given(&n, FIRST), 1);
    binder_fini(&n);
}
END_TEST

/* Many links open at once: their first bundles are not all loaded at once. When the links close,
 * the memory is below its limit again. */
START_TEST(links_open_together)
{
    struct binder n;
    begin_many(&n, 20 * TOTAL, MANY, false);
    const struct agent_counters *k = counters(&n);
    for (uint32_t i = 0; i < MANY; i++)
        bring_for(&n, i, 2, LONG_SIZE);
    for (unsigned round = 0; round < 3; round++) {
        ck_assert_uint_le(k->memory_bytes, 5 * TOTAL + LONG_SIZE);
        switch_links(&n, MANY, true);
        ck_assert_uint_gt(k->sending_bytes, 5 * TOTAL);
        ck_assert_uint_le(k->sending_bytes, 10 * TOTAL);
        ck_assert_uint_le(k->memory_bytes + k->record_bytes + k->sending_bytes, 20 * TOTAL);
        switch_links(&n, MANY, false);
        end_all(&n, false);
        ck_assert_uint_eq(k->sending_bytes, 0);
    }
    ck_assert_uint_eq(k->bundles, 2 * MANY);
    binder_fini(&n);
}
END_TEST

/* All of a blocked link's bundles are sent as outcomes come, and nothing stays counted. */
START_TEST(outcomes_wake_the_link)
{
    struct binder n;
    begin(&n);
    bring(&n, "ipn:9.1", 60, SIZE);
    for (unsigned i = 0; i < 60; i++)
        acknowledge(&n, 9, 1);
    ck_assert_uint_eq(count_given(&n, 9), 60);
    ck_assert_uint_eq(counters(&n)->sending_bytes, 0);
    ck_assert_uint_eq(counters(&n)->bundles, 0);
    binder_fini(&n);
}
END_TEST

/* A link is also woken when another one's bytes return. */
START_TEST(bytes_of_others_wake_the_link)
{
    struct binder n;
    begin(&n);
    bring(&n, "ipn:8.1", 30, SIZE);
    bring(&n, "ipn:9.1", 40, SIZE);
    const uint64_t before = count_given(&n, 9);
    ck_assert_uint_lt(before, 40);
    acknowledge(&n, 8, 30);
    ck_assert_uint_gt(count_given(&n, 9), before);
    binder_fini(&n);
}
END_TEST

/* A single bundle is always permitted, however long, and then none beside it. */
START_TEST(one_is_always_permitted)
{
    struct binder n;
    begin(&n);
    bring(&n, "ipn:9.1", 30, SIZE);
    bring(&n, "ipn:8.1", 2, 45000);
    ck_assert_uint_eq(count_given(&n, 8), 1);
    acknowledge(&n, 8, 1);
    ck_assert_uint_eq(count_given(&n, 8), 2);
    binder_fini(&n);
}
END_TEST

/* Links that fail, close or are removed return their bytes. */
START_TEST(lost_links_return_bytes)
{
    struct binder n;
    begin(&n);
    bring(&n, "ipn:9.1", 60, SIZE);
    const uint64_t before = counters(&n)->sending_bytes;
    ck_assert_uint_gt(before, 0);
    ck_assert_int_eq(agent_link_remove(n.a, 9, n.now), 0);
    clear_trace(&n);
    ck_assert_uint_eq(counters(&n)->sending_bytes, 0);
    binder_fini(&n);
}
END_TEST

/* While a link waits, few of its bundles are loaded ahead of their turn. */
START_TEST(a_waiting_link_loads_few)
{
    struct binder n;
    begin(&n);
    bring(&n, "ipn:9.1", 80, SIZE);
    const struct agent_counters *k = counters(&n);
    ck_assert_uint_le(k->memory_bytes - k->resting_bytes, TOTAL / 8 + 6 * 2 * SIZE);
    ck_assert_uint_le(k->memory_bytes + k->record_bytes + k->sending_bytes, TOTAL);
    binder_fini(&n);
}
END_TEST

/* The bytes of bundles that applications sent, and that are in memory, are not counted twice. */
START_TEST(own_bundles_count_once)
{
    struct binder n;
    begin(&n);
    for (uint64_t i = 0; i < 5; i++) {
        send_to(&n, "ipn:9.1", i + 1);
        clear_trace(&n);
    }
    ck_assert_uint_eq(count_given(&n, 9), 5);
    ck_assert_uint_eq(counters(&n)->sending_bytes, 0);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_sending, t)
{
    tcase_add_test(t, links_share_a_half);
    tcase_add_test(t, many_silent_links_leave_a_part);
    tcase_add_test(t, one_long_bundle_each);
    tcase_add_test(t, late_peers_leave_room);
    tcase_add_test(t, roomless_links_take_turns);
    tcase_add_test(t, one_is_longer_than_the_rest);
    tcase_add_test(t, links_open_together);
    tcase_add_test(t, outcomes_wake_the_link);
    tcase_add_test(t, bytes_of_others_wake_the_link);
    tcase_add_test(t, one_is_always_permitted);
    tcase_add_test(t, lost_links_return_bytes);
    tcase_add_test(t, a_waiting_link_loads_few);
    tcase_add_test(t, own_bundles_count_once);
}
