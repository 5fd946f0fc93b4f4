/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for bundle bytes goes to flows that move: bundles of a backlog that does not move, or that
 * is the largest, leave their bytes to the store. */
#include "bp_agent_members.h"

#define SIZE 1000
#define MEMORY (20 * UINT64_C(2000)) /* more than 20 bundles of SIZE with their buffers */

static void begin(struct binder *n, uint64_t memory)
{
    struct agent_config c = config_of("ipn:2.0");
    c.memory_bytes = memory;
    relay_init(n, &c);
}

static void bring(struct binder *n, uint32_t link, const char *from, const char *to, uint64_t count)
{
    static uint8_t data[SIZE];
    static uint64_t sequence;
    for (uint64_t i = 0; i < count; i++) {
        struct bundle b = peer_bundle(from, to, ++sequence);
        b.payload = slice_of(data, sizeof data);
        ck_assert_int_eq(link_receive(n, link, &b, sequence), REFUSE_NONE);
        drain(n);
        n->len = 0;
        n->trace[0] = 0;
    }
}

/* Delivers all that queue, eight at a time; how many of them the store was asked for. */
static unsigned take_all(struct binder *n, unsigned count)
{
    struct agent_action x;
    unsigned loads = 0, taken = 0;
    while (agent_poll(n->a, &x)) {
        loads += x.kind == AGENT_LOAD;
        const bool mine = x.kind == AGENT_DELIVER || x.kind == AGENT_SEND;
        do_action(n, &x);
        agent_check(n->a);
        n->len = 0;
        if (!mine)
            continue;
        taken++;
        if (x.kind == AGENT_DELIVER)
            agent_delivered(n->a, x.key, true, n->now);
        else
            agent_sent(n->a, x.key, true, n->now);
    }
    ck_assert_uint_eq(taken, count);
    return loads;
}

static const char *const stuck[] = {
    "ipn:3.1", /* a link that is down */
    "ipn:9.1", /* one with a wide window: all of them are near their turn */
    "ipn:2.9", /* an endpoint that nobody registered */
};

static void route_nine(struct binder *n)
{
    struct eid nine = eid_of("ipn:9.0");
    ck_assert_int_eq(agent_link_add(n->a, 2, &nine, 64), 0);
    add_route(n, "ipn:9.*", 2);
}

/* One neighbour's bundles fill the memory and do not move: those of another one, for an
 * application, keep their bytes, although more wait than one. */
START_TEST(a_moving_flow_keeps_its_bytes)
{
    struct binder n;
    begin(&n, MEMORY);
    route_nine(&n);
    bring(&n, 0, "ipn:1.1", stuck[_i], 200);
    ck_assert_uint_gt(agent_counters(n.a)->memory_bytes, MEMORY / 2);
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 2), 0);
    bring(&n, 1, "ipn:3.1", "ipn:2.5", 8);
    ck_assert_uint_le(agent_counters(n.a)->memory_bytes, MEMORY);
    agent_delivered(n.a, n.delivery, true, n.now); /* the first two were delivered as they came */
    agent_delivered(n.a, n.delivery - 1, true, n.now);
    ck_assert_uint_eq(take_all(&n, 6), 0);
    binder_fini(&n);
}
END_TEST

/* A link has bundles in hand that its peer does not acknowledge: they take half of the memory. */
START_TEST(what_a_link_has_in_hand_leaves_half)
{
    struct binder n;
    begin(&n, MEMORY);
    route_nine(&n);
    agent_link(n.a, 2, true, n.now);
    bring(&n, 0, "ipn:1.1", "ipn:9.1", 50);
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(n.a, 2, b));
    ck_assert_uint_eq(b[BUNDLE_NORMAL].given, 50); /* all are on the link */
    ck_assert_uint_gt(agent_counters(n.a)->memory_bytes, MEMORY / 2 - 2000);
    ck_assert_uint_le(agent_counters(n.a)->memory_bytes, MEMORY / 2);
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 2), 0);
    bring(&n, 1, "ipn:3.1", "ipn:2.5", 8);
    agent_delivered(n.a, n.delivery, true, n.now);
    agent_delivered(n.a, n.delivery - 1, true, n.now);
    ck_assert_uint_eq(take_all(&n, 6), 0);
    binder_fini(&n);
}
END_TEST

/* The same neighbour's bundles for another link. */
START_TEST(a_neighbours_other_flow_keeps_its_bytes)
{
    struct binder n;
    begin(&n, MEMORY);
    bring(&n, 0, "ipn:1.1", "ipn:3.1", 200);
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 1), 0);
    bring(&n, 0, "ipn:1.1", "ipn:2.5", 6);
    agent_delivered(n.a, n.delivery, true, n.now);
    ck_assert_uint_eq(take_all(&n, 5), 0);
    binder_fini(&n);
}
END_TEST

/* What left the memory comes back from the store when its link opens, in its order, whole. */
START_TEST(released_bundles_are_loaded)
{
    struct binder n;
    begin(&n, MEMORY);
    bring(&n, 0, "ipn:1.1", "ipn:3.1", 50);
    agent_link(n.a, 1, true, n.now);
    const unsigned loads = take_all(&n, 50);
    ck_assert_uint_gt(loads, 0);
    ck_assert_uint_le(loads, 20); /* those that came first stayed in memory */
    ck_assert_uint_eq(agent_counters(n.a)->memory_bytes, 0);
    binder_fini(&n);
}
END_TEST

/* A few long bundles at the head of a closed queue leave their bytes, too; an open one gets them
 * back. */
START_TEST(the_head_of_a_closed_queue_rests)
{
    struct binder n;
    begin(&n, 3 * UINT64_C(2000));
    struct eid nine = eid_of("ipn:9.0");
    ck_assert_int_eq(agent_link_add(n.a, 2, &nine, 64), 0);
    add_route(&n, "ipn:9.*", 2);
    bring(&n, 0, "ipn:1.1", "ipn:9.1", 30);
    ck_assert_uint_le(agent_counters(n.a)->memory_bytes, 3 * 2000); /* also if no other needs it */
    ck_assert_int_eq(reg(&n, 1, "ipn:2.5", 1), 0);
    bring(&n, 1, "ipn:3.1", "ipn:2.5", 2);
    ck_assert_uint_le(agent_counters(n.a)->memory_bytes, 3 * 2000);
    agent_delivered(n.a, n.delivery, true, n.now);
    ck_assert_uint_eq(take_all(&n, 1), 0);
    agent_link(n.a, 2, true, n.now);
    ck_assert_uint_ge(take_all(&n, 30), 20);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_resting, t)
{
    tcase_add_loop_test(t, a_moving_flow_keeps_its_bytes, 0, sizeof stuck / sizeof *stuck);
    tcase_add_test(t, what_a_link_has_in_hand_leaves_half);
    tcase_add_test(t, a_neighbours_other_flow_keeps_its_bytes);
    tcase_add_test(t, released_bundles_are_loaded);
    tcase_add_test(t, the_head_of_a_closed_queue_rests);
}
