/* SPDX-License-Identifier: Apache-2.0 */
/* Fragments for an endpoint of this node: stored one by one, delivered as one bundle. */
#include "bp_agent_piece.h"
#include "tests/unit/suite.h"

START_TEST(in_order)
{
    struct binder n;
    start(&n);
    listen(&n, 1);
    piece(&n, 1, 0, 8);
    expect(&n, "store 1\nconfirm link 0\n");
    piece(&n, 1, 8, 16);
    expect(&n, "store 2\nconfirm link 8\n");
    pass(&n, 300 * TICK_MS);
    piece(&n, 1, 16, 20);
    expect(&n, "store 3\nconfirm link 16\ndeliver 4 to 9: " TEXT "\n");
    struct bundle whole = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    ck_assert(bundle_id_equal(&n.last.id, &whole.id));
    ck_assert(eid_equal(&n.last.destination, &whole.destination));
    ck_assert_uint_eq(n.last.flags, whole.flags);
    ck_assert_uint_eq(n.last.age_ms, 300);
    ck_assert_uint_eq(n.last.lifetime_ms, 60000);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 3);
    agent_delivered(n.a, 4, true, n.now);
    expect(&n, "remove 1 marked\nremove 2 marked\nremove 3 marked\n");
    ck_assert_uint_eq(agent_counters(n.a)->delivered, 1);
    ck_assert_uint_eq(agent_counters(n.a)->received, 3);
    ck_assert_uint_eq(agent_deadline(n.a), TICK_NEVER);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(reversed_and_waiting_for_a_registration)
{
    struct binder n;
    start(&n);
    for (size_t at = 20; at > 0; at -= 5)
        piece(&n, 1, at - 5, at);
    skip(&n);
    struct agent_bundle_info info[8];
    ck_assert_uint_eq(agent_bundles(n.a, info, 8), 4);
    ck_assert_str_eq(info[0].state, "waiting");
    listen(&n, 1);
    expect(&n, "deliver 5 to 9: " TEXT "\n");
    ck_assert_uint_eq(agent_bundles(n.a, info, 8), 4);
    ck_assert_str_eq(info[3].state, "delivering");
    agent_unregister(n.a, 9, n.now); /* before it confirmed */
    expect(&n, "");
    listen(&n, 1);
    expect(&n, "deliver 5 to 9: " TEXT "\n");
    agent_delivered(n.a, 5, false, n.now);
    expect(&n, "");
    agent_unregister(n.a, 9, n.now);
    listen(&n, 1);
    expect(&n, "deliver 5 to 9: " TEXT "\n");
    agent_delivered(n.a, 5, true, n.now);
    drain(&n);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(two_bundles_interleaved_beside_a_third_in_one_piece)
{
    struct binder n;
    start(&n);
    listen(&n, 4);
    piece(&n, 1, 0, 10);
    piece(&n, 2, 10, 20);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 3);
    give(&n, &b, REFUSE_NONE);
    struct bundle other = piece_of("zyxwvutsrq9876543210", 2, 0, 10);
    give(&n, &other, REFUSE_NONE);
    drain(&n);
    ck_assert_ptr_nonnull(strstr(n.trace, "deliver 3 to 9: data\n"));
    ck_assert_ptr_nonnull(strstr(n.trace, "deliver 5 to 9: zyxwvutsrqABCDEFGHIJ\n"));
    skip(&n);
    piece(&n, 1, 10, 20);
    expect(&n, "store 6\nconfirm link 10\ndeliver 7 to 9: " TEXT "\n");
    agent_delivered(n.a, 5, true, n.now);
    expect(&n, "remove 2 marked\nremove 4 marked\n");
    agent_delivered(n.a, 7, true, n.now);
    agent_delivered(n.a, 3, true, n.now);
    drain(&n);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(overlaps_the_first_wins)
{
    struct binder n;
    start(&n);
    listen(&n, 1);
    piece(&n, 1, 4, 8);
    piece(&n, 1, 12, 16);
    struct bundle b = piece_of("abcdefghijklmnopqrst", 1, 2, 14);
    give(&n, &b, REFUSE_NONE);
    skip(&n);
    piece(&n, 1, 5, 12); /* stored, then found to be of no use */
    expect(&n, "store 4\nconfirm link 5\nremove 4 marked\n");
    again(&n, 1, 5, 12);
    skip(&n);
    b = piece_of("..................!!", 1, 15, 20);
    give(&n, &b, REFUSE_NONE);
    piece(&n, 1, 0, 20);
    drain(&n);
    /* 4..8 and 12..16 as they came first, then 2..14, then 15..20, the rest of the last one */
    ck_assert_ptr_nonnull(strstr(n.trace, ": 01cd4567ijklCDEF..!!\n"));
    binder_fini(&n);
}
END_TEST

START_TEST(late_fragments_are_duplicates)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    start(&n);
    listen(&n, 1);
    piece(&n, 1, 0, 10);
    again(&n, 1, 0, 10); /* while the first one is being stored: the peer keeps it */
    expect(&n, "refuse link 0: it is being stored here, or is on its way to another node, whose "
               "answer is awaited\n"
               "store 1\nconfirm link 0\n");
    again(&n, 1, 0, 10);
    expect(&n, "confirm link 0 duplicate\n");
    piece(&n, 1, 10, 20);
    skip(&n);
    again(&n, 1, 3, 7); /* all is here */
    struct bundle whole = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    whole.payload = slice_of(TEXT, 20);
    give(&n, &whole, REFUSE_DUPLICATE);
    agent_delivered(n.a, 3, true, n.now);
    skip(&n);
    for (int restarted = 0; restarted < 2; restarted++) {
        again(&n, 1, 0, 10);
        again(&n, 1, 2, 9); /* never seen, but of a bundle that is gone */
        give(&n, &whole, REFUSE_DUPLICATE);
        expect(&n,
               "confirm link 0 duplicate\nconfirm link 2 duplicate\nconfirm link 0 duplicate\n");
        binder_restart(&n, &c);
    }
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(the_bundle_itself_is_faster)
{
    struct binder n;
    start(&n);
    listen(&n, 1);
    piece(&n, 1, 0, 10);
    skip(&n);
    struct bundle whole = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    whole.payload = slice_of(TEXT, 20);
    n.store_silent = true;
    piece(&n, 1, 10, 15);
    give(&n, &whole, REFUSE_NONE);
    again(&n, 1, 15, 20); /* the bundle is not stored yet */
    expect(&n, "refuse link 15: it is being stored here, or is on its way to another node, whose "
               "answer is awaited\nstore 2\nstore 3\n");
    agent_stored(n.a, 3, true, n.now);
    expect(&n, "confirm link 0\nremove 1 marked\ndeliver 3 to 9: " TEXT "\n");
    agent_stored(n.a, 2, true, n.now);
    expect(&n, "confirm link 10\nremove 2 marked\n");
    again(&n, 1, 15, 20);
    expect(&n, "confirm link 15 duplicate\n");
    agent_delivered(n.a, 3, true, n.now);
    expect(&n, "remove 3 marked\n");
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(the_fragments_are_faster)
{
    struct binder n;
    start(&n);
    struct bundle whole = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    whole.payload = slice_of("not told apart by its bytes", 20);
    n.store_silent = true;
    piece(&n, 1, 0, 10);
    piece(&n, 1, 10, 20);
    piece(&n, 1, 5, 15);
    give(&n, &whole, REFUSE_NONE);
    skip(&n);
    agent_stored(n.a, 1, true, n.now);
    agent_stored(n.a, 2, true, n.now);
    agent_stored(n.a, 4, true, n.now);
    expect(&n, "confirm link 0\nconfirm link 10\nconfirm link 0\nremove 4 marked\n");
    listen(&n, 1);
    expect(&n, "deliver 5 to 9: " TEXT "\n");
    agent_delivered(n.a, 5, true, n.now);
    expect(&n, "remove 1 marked\nremove 2 marked\n");
    agent_stored(n.a, 3, true, n.now); /* its bundle is delivered and gone */
    expect(&n, "confirm link 5\nremove 3 marked\n");
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(refusals_and_limits)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.reassemblies_max = 4;
    c.fragments_max = 3;
    c.bundle_max = 300;
    relay_init(&n, &c);
    piece(&n, 1, 0, 2);
    struct bundle b = piece_of(TEXT "more", 1, 2, 4); /* another total length: gathered apart */
    give(&n, &b, REFUSE_NONE);
    b = piece_of(TEXT, 1, 2, 3);
    b.destination = eid_of("ipn:2.6");
    give(&n, &b, REFUSE_NONE);
    b = piece_of(TEXT, 1, 0, 1);
    b.payload.len = 0;
    give(&n, &b, REFUSE_FRAGMENT); /* brings nothing */
    piece(&n, 1, 2, 4);
    piece(&n, 1, 4, 6);
    skip(&n);
    b = piece_of(TEXT, 1, 6, 8);
    give(&n, &b, REFUSE_FULL); /* one too many: what is not kept is not confirmed */
    expect(&n, "refuse link 6: the node's limit of bundles or bytes is reached\n");
    ck_assert_uint_eq(agent_counters(n.a)->refused[REFUSE_FULL], 1);
    ck_assert_uint_eq(agent_counters(n.a)->refused[REFUSE_FRAGMENT], 1);
    piece(&n, 2, 0, 2);
    b = piece_of(TEXT, 3, 0, 2);
    give(&n, &b, REFUSE_FULL); /* a fifth reassembly */
    b = piece_of(TEXT, 2, 2, 4);
    b.id.total = 301;
    give(&n, &b, REFUSE_TOO_LONG);
    b.destination = eid_of("ipn:3.5"); /* it is only on its way through here */
    give(&n, &b, REFUSE_NONE);
    skip(&n);
    ck_assert_int_eq(agent_delete(n.a, 6, n.now), 0); /* the only one of bundle 2 */
    expect(&n, "remove 6 marked\n");
    piece(&n, 3, 0, 2);
    n.store_fails = true;
    piece(&n, 3, 2, 4);
    skip(&n);
    n.store_fails = false;
    piece(&n, 3, 2, 4); /* what the store refused does not count */
    piece(&n, 3, 4, 6);
    drain(&n);
    binder_fini(&n);
}
END_TEST

/* Of a link that can wait: what lacks a place among fragments is refused, so that the neighbour's
 * other bundles go on. */
START_TEST(no_fragment_stops_its_neighbour)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.reassemblies_max = 4;
    c.fragments_max = 3;
    relay_init(&n, &c);
    for (size_t at = 0; at < 6; at += 2)
        piece(&n, 1, at, at + 2);
    for (uint64_t other = 2; other < 5; other++)
        piece(&n, other, 0, 2);
    skip(&n);
    struct bundle b[] = {piece_of(TEXT, 1, 6, 8), piece_of(TEXT, 5, 0, 2)}; /* a fourth; a fifth */
    for (uint64_t i = 0; i < 2; i++) {
        bool waits = true;
        enum agent_refusal refusal =
            agent_offer(n.a, 0, bundle_encode_copy(&b[i]), 70 + i, 0, &waits, n.now);
        ck_assert(refusal == REFUSE_FULL || refusal == REFUSE_QUOTA);
        ck_assert(!waits);
    }
    drain(&n);
    ck_assert_ptr_nonnull(strstr(n.trace, "refuse link 70: "));
    ck_assert_ptr_nonnull(strstr(n.trace, "refuse link 71: "));
    binder_fini(&n);
}
END_TEST

/* Nobody can tell which length is right before one of them is whole. */
START_TEST(a_wrong_total_does_not_end_the_bundle)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    start(&n);
    listen(&n, 1);
    struct bundle longer = piece_of(TEXT "more", 1, 0, 8), b;
    give(&n, &longer, REFUSE_NONE); /* it comes first */
    piece(&n, 1, 0, 8);
    b = piece_of(TEXT, 1, 0, 8);
    b.destination = eid_of("ipn:2.6");
    b.id.total = 30;
    give(&n, &b, REFUSE_NONE);
    piece(&n, 1, 8, 12);
    skip(&n);
    n.store_silent = true;
    b = piece_of(TEXT "more", 1, 8, 12);
    give(&n, &b, REFUSE_NONE); /* still with the store when the bundle is whole */
    skip(&n);
    n.store_silent = false;
    piece(&n, 1, 12, 20);
    expect(&n, "store 6\nconfirm link 12\ndeliver 7 to 9: " TEXT "\n");
    b = piece_of(TEXT "more", 1, 12, 24); /* the others cannot become whole beside it */
    give(&n, &b, REFUSE_DUPLICATE);
    agent_stored(n.a, 5, true, n.now);
    expect(&n, "confirm link 12 duplicate\nconfirm link 8\nremove 5 marked\n");
    agent_delivered(n.a, 7, true, n.now);
    drain(&n);
    ck_assert_uint_eq(agent_counters(n.a)->delivered, 1);
    nothing_left(&n);
    for (int restarted = 0; restarted < 2; restarted++) {
        give(&n, &longer, REFUSE_DUPLICATE);
        again(&n, 1, 8, 12);
        skip(&n);
        binder_restart(&n, &c);
    }
    binder_fini(&n);
}
END_TEST

START_TEST(the_bundle_itself_ends_fragments_of_every_total)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    start(&n);
    struct bundle b = piece_of(TEXT "more", 1, 0, 8);
    give(&n, &b, REFUSE_NONE);
    piece(&n, 1, 0, 8);
    skip(&n);
    binder_restart(&n, &c); /* both are here again */
    pass(&n, 1);
    b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    b.payload = slice_of(TEXT, 20);
    give(&n, &b, REFUSE_NONE);
    drain(&n);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 1);
    listen(&n, 1);
    drain(&n);
    agent_delivered(n.a, 3, true, n.now);
    drain(&n);
    ck_assert_uint_eq(agent_counters(n.a)->delivered, 1);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

/* By another way, or from a node without a clock: the same bundle, and not the same age. */
START_TEST(a_bundle_is_known_as_long_as_its_last_fragment_lives)
{
    struct binder n;
    start(&n);
    listen(&n, 1);
    struct bundle b = piece_of(TEXT, 1, 0, 10), late;
    b.id.time_ms = 0;
    b.has_age = true;
    b.lifetime_ms = 10000;
    late = b;
    give(&n, &b, REFUSE_NONE);
    b.id.offset = 10;
    b.payload = slice_of(&TEXT[10], 10);
    b.age_ms = 9000;
    give(&n, &b, REFUSE_NONE);
    drain(&n);
    agent_delivered(n.a, 3, true, n.now);
    drain(&n);
    pass(&n, 2 * TICK_S);
    struct bundle other = peer_bundle("ipn:1.4", "ipn:2.5", 2);
    give(&n, &other, REFUSE_NONE); /* what is over is forgotten when another one is remembered */
    drain(&n);
    agent_delivered(n.a, 4, true, n.now);
    drain(&n);
    late.age_ms = 2000;
    give(&n, &late, REFUSE_DUPLICATE);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(held_bytes_count_fragments)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.held_bundles = 1;
    relay_init(&n, &c);
    piece(&n, 1, 0, 10);
    struct bundle b = piece_of(TEXT, 1, 10, 20);
    give(&n, &b, REFUSE_FULL);
    b = piece_of(TEXT, 2, 10, 20);
    give(&n, &b, REFUSE_FULL); /* and leaves no reassembly behind */
    drain(&n);
    binder_fini(&n);
}
END_TEST

static struct status_report report_in(struct binder *n)
{
    struct bundle b;
    struct status_report s;
    ck_assert_int_eq(bundle_decode(buf_data(n->sent), n->sent->len, BUNDLE_STRICT, &b, NULL), 0);
    ck_assert_int_eq(status_report_decode(b.payload.data, b.payload.len, &s), 0);
    return s;
}

START_TEST(reports_name_the_fragment_or_the_bundle)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.status_reports = true;
    relay_init(&n, &c);
    agent_link(n.a, 0, true, n.now);
    struct bundle b = piece_of(TEXT, 1, 5, 20);
    b.flags |= BUNDLE_REPORT_RECEPTION;
    give(&n, &b, REFUSE_NONE);
    drain(&n);
    struct status_report s = report_in(&n);
    ck_assert(s.asserted[STATUS_RECEIVED] && s.subject.fragment);
    ck_assert_uint_eq(s.subject.offset, 5);
    ck_assert_uint_eq(s.subject_bytes, 15);
    agent_sent(n.a, 2, true, n.now);
    b = piece_of(TEXT, 1, 0, 5);
    b.flags |= BUNDLE_REPORT_DELIVERY;
    give(&n, &b, REFUSE_NONE);
    listen(&n, 1);
    drain(&n);
    agent_delivered(n.a, 4, true, n.now);
    drain(&n);
    s = report_in(&n);
    ck_assert(s.asserted[STATUS_DELIVERED] && !s.subject.fragment);
    ck_assert_uint_eq(s.subject.sequence, 1);
    ck_assert_uint_eq(agent_counters(n.a)->reports_sent, 2);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_fragment, t)
{
    tcase_add_test(t, in_order);
    tcase_add_test(t, reversed_and_waiting_for_a_registration);
    tcase_add_test(t, two_bundles_interleaved_beside_a_third_in_one_piece);
    tcase_add_test(t, overlaps_the_first_wins);
    tcase_add_test(t, late_fragments_are_duplicates);
    tcase_add_test(t, the_bundle_itself_is_faster);
    tcase_add_test(t, the_fragments_are_faster);
    tcase_add_test(t, refusals_and_limits);
    tcase_add_test(t, no_fragment_stops_its_neighbour);
    tcase_add_test(t, a_wrong_total_does_not_end_the_bundle);
    tcase_add_test(t, the_bundle_itself_ends_fragments_of_every_total);
    tcase_add_test(t, a_bundle_is_known_as_long_as_its_last_fragment_lives);
    tcase_add_test(t, held_bytes_count_fragments);
    tcase_add_test(t, reports_name_the_fragment_or_the_bundle);
}
