/* SPDX-License-Identifier: Apache-2.0 */
/* Fragments that wait for the others: over restarts, in the store only, until they expire. */
#include "bp/agent/agent_head.h"
#include "bp_agent_piece.h"
#include "tests/unit/suite.h"

START_TEST(restart_in_the_middle)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    start(&n);
    piece(&n, 1, 0, 8);
    piece(&n, 1, 12, 20);
    skip(&n);
    binder_restart(&n, &c);
    pass(&n, TICK_S);
    listen(&n, 1);
    expect(&n, "");
    piece(&n, 1, 6, 13);
    expect(&n, "store 3\nconfirm link 6\nload 1\nload 2\ndeliver 4 to 9: " TEXT "\n");
    ck_assert_uint_eq(n.last.age_ms, 1000);
    binder_restart(&n, &c); /* not confirmed: delivered again */
    listen(&n, 1);
    expect(&n, "load 1\nload 2\nload 3\ndeliver 4 to 9: " TEXT "\n");
    /* It dies when only one of the removals reached the store. */
    agent_delivered(n.a, 4, true, n.now);
    struct agent_action x;
    ck_assert_int_eq(agent_poll(n.a, &x), 1);
    do_action(&n, &x);
    n.len = 0;
    binder_restart(&n, &c);
    listen(&n, 1);
    expect(&n, "remove 2 marked\nremove 3 marked\n");
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(restored_fragments_that_do_not_fit)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.reassemblies_max = c.fragments_max = 1; /* smaller than when they were stored */
    start(&n);
    piece(&n, 1, 0, 8);
    piece(&n, 1, 8, 12);
    piece(&n, 2, 0, 8);
    struct bundle b = piece_of("another length", 1, 2, 4);
    give(&n, &b, REFUSE_NONE);
    skip(&n);
    b.id.offset = b.id.total; /* a head that makes no sense */
    struct agent_head h = {.from_link = true, .id = b.id, .payload_len = 2, .flags = b.flags};
    uint8_t head[AGENT_HEAD_MAX];
    size_t id_off;
    h.destination = b.destination;
    h.report_to = b.report_to;
    h.arrived_ms = START_MS;
    h.lifetime_ms = 60000;
    h.expires_ms = START_MS + 60000;
    size_t len = agent_head_encode(&h, head, &id_off);
    ck_assert_int_eq(store_memory.begin(n.store), 0);
    ck_assert_int_eq(store_memory.put(n.store, 7, slice_of(head, len), slice_of("xx", 2)), 0);
    ck_assert_int_eq(store_memory.commit(n.store), 0);
    binder_restart(&n, &c);
    pass(&n, TICK_S);
    expect(&n, "remove 7 marked\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DELETED], 1);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 4);
    binder_fini(&n);
}
END_TEST

START_TEST(each_fragment_has_its_own_expiry)
{
    struct binder n;
    start(&n);
    listen(&n, 1);
    struct bundle b = piece_of(TEXT, 1, 0, 10);
    b.lifetime_ms = 1000;
    give(&n, &b, REFUSE_NONE);
    piece(&n, 1, 8, 15);
    skip(&n);
    pass(&n, TICK_S);
    expect(&n, "remove 1\n");
    piece(&n, 1, 15, 20); /* the first one's bytes are missing again */
    expect(&n, "store 3\nconfirm link 15\n");
    b = piece_of(TEXT, 1, 0, 8);
    b.lifetime_ms = 2000;
    give(&n, &b, REFUSE_NONE);
    expect(&n, "store 4\nconfirm link 0\ndeliver 5 to 9: " TEXT "\n");
    pass(&n, 10 * TICK_S); /* delivery under way */
    expect(&n, "recall 5 from 9\nremove 2 marked\nremove 3 marked\nremove 4\n");
    agent_delivered(n.a, 5, false, n.now); /* too late */
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED],
                      4); /* bundles: it alone, then three */
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(a_whole_that_waits_expires_with_its_first_fragment)
{
    struct binder n;
    start(&n);
    struct bundle b = piece_of(TEXT, 1, 0, 10);
    b.lifetime_ms = 1000;
    give(&n, &b, REFUSE_NONE);
    piece(&n, 1, 10, 20);
    skip(&n);
    ck_assert_uint_eq(agent_deadline(n.a), n.now.now + TICK_S);
    pass(&n, TICK_S);
    expect(&n, "remove 1\nremove 2 marked\n");
    nothing_left(&n);
    piece(&n, 2, 0, 10); /* an operator deletes a part: all goes */
    piece(&n, 2, 10, 20);
    skip(&n);
    ck_assert_int_eq(agent_delete(n.a, 4, n.now), 0);
    expect(&n, "remove 4 marked\nremove 5 marked\n");
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

static void little_memory(struct binder *n, size_t pieces)
{
    struct agent_config c = config_of("ipn:2.0");
    c.memory_bytes = 1;
    c.retry_max = TICK_S;
    relay_init(n, &c);
    for (size_t i = 0; i < pieces; i++) {
        piece(n, 1, i * 20 / pieces, (i + 1) * 20 / pieces);
        skip(n);
    }
    ck_assert_uint_eq(agent_counters(n->a)->memory_bytes, 0);
}

START_TEST(fragments_are_loaded_when_their_turn_comes)
{
    struct binder n;
    little_memory(&n, 6);
    listen(&n, 1);
    expect(&n, "load 1\nload 2\nload 3\nload 4\nload 5\nload 6\ndeliver 7 to 9: " TEXT "\n");
    agent_delivered(n.a, 7, true, n.now);
    drain(&n);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(loads_may_be_answered_in_any_order)
{
    struct binder n;
    struct agent_action x;
    little_memory(&n, 6);
    listen(&n, 1);
    for (uint64_t key = 1; key <= 4; key++) { /* four ahead, no more */
        ck_assert_int_eq(agent_poll(n.a, &x), 1);
        ck_assert(x.kind == AGENT_LOAD && x.key == key);
    }
    ck_assert_int_eq(agent_poll(n.a, &x), 0);
    for (uint64_t key = 4; key > 0; key--) {
        struct buf *b;
        ck_assert_int_eq(store_memory.get(n.store, key, BUNDLE_HEAD_MAX, &b), 0);
        agent_loaded(n.a, key, b, n.now);
        agent_check(n.a);
    }
    expect(&n, "load 5\nload 6\ndeliver 7 to 9: " TEXT "\n");
    binder_fini(&n);
}
END_TEST

START_TEST(loads_that_fail)
{
    struct binder n;
    little_memory(&n, 2);
    listen(&n, 1);
    n.load_fails = true;
    expect(&n, "load 1\n");
    n.load_fails = false;
    pass(&n, TICK_S);
    expect(&n, "load 1\nload 2\ndeliver 3 to 9: " TEXT "\n");
    ck_assert_uint_eq(agent_counters(n.a)->load_failures, 1);
    binder_fini(&n);

    little_memory(&n, 2);
    listen(&n, 1);
    n.load_fails = true;
    for (int i = 0; i < 7; i++) {
        expect(&n, "load 1\n");
        pass(&n, TICK_S);
    }
    expect(&n, "load 1\nremove 1\nremove 2\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_UNREADABLE], 2); /* both fragments */
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(a_damaged_fragment_ends_the_whole)
{
    struct binder n;
    struct agent_action x;
    little_memory(&n, 2);
    listen(&n, 1);
    ck_assert_int_eq(agent_poll(n.a, &x), 1);
    ck_assert_int_eq(agent_poll(n.a, &x), 1);
    ck_assert_uint_eq(x.key, 2);
    struct bundle other = piece_of(TEXT, 1, 0, 9); /* legal, but not what was stored */
    agent_loaded(n.a, 2, bundle_encode_copy(&other), n.now);
    expect(&n, "remove 1\nremove 2\n");
    agent_loaded(n.a, 1, NULL, n.now);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_UNREADABLE], 2);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_pieces_kept, t)
{
    tcase_add_test(t, restart_in_the_middle);
    tcase_add_test(t, restored_fragments_that_do_not_fit);
    tcase_add_test(t, each_fragment_has_its_own_expiry);
    tcase_add_test(t, a_whole_that_waits_expires_with_its_first_fragment);
    tcase_add_test(t, fragments_are_loaded_when_their_turn_comes);
    tcase_add_test(t, loads_may_be_answered_in_any_order);
    tcase_add_test(t, loads_that_fail);
    tcase_add_test(t, a_damaged_fragment_ends_the_whole);
}
