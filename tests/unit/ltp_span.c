/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted for each peer apart, and the limit of retransmission cycles. */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

static struct ltp_span_counters of(const struct ltp *l, uint64_t peer)
{
    struct ltp_span_counters n;
    ck_assert_int_eq(ltp_span_counters(l, peer, &n), 0);
    return n;
}

static struct ltp_watch watch(const struct ltp *l, uint64_t peer)
{
    struct ltp_watch w;
    ck_assert_int_eq(ltp_watch(l, peer, &w), 0);
    return w;
}

static struct ltp_span own(void)
{
    struct ltp_span s = pair_span(2);
    s.segment_max = 120;
    return s;
}

/* Some ten segments of red data: two are lost, then the first report; the checkpoint comes again by
 * its timer. */
START_TEST(a_gap_and_a_timer)
{
    struct ltp_span span = own();
    struct pair *p = pair_new(&span, NULL);
    pair_drop(p, LTP_RED, 3);
    pair_drop(p, LTP_RED, 5);
    pair_drop(p, LTP_RS, 0);
    pair_send(p, 1080, 1080);
    struct ltp_span_counters now = of(p->l[0], 2);
    ck_assert_uint_eq(now.current_export_sessions, 1);
    pair_drain(p);
    uint64_t first = p->sent[LTP_RED] + p->sent[LTP_RED_CP_EOB];
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    struct ltp_span_counters out = of(p->l[0], 2), in = of(p->l[1], 1);
    uint64_t data = p->sent[LTP_RED] + p->sent[LTP_RED_CP] + p->sent[LTP_RED_CP_EOB];
    ck_assert_uint_eq(out.output_seg_popped_count, data + p->sent[LTP_RA]);
    ck_assert_uint_eq(out.output_seg_popped_bytes, ltp_counters(p->l[0])->tx_bytes);
    ck_assert_uint_eq(out.output_ckpt_xmit_count, 2);
    ck_assert_uint_eq(out.output_ckpt_re_xmit_count, p->sent[LTP_RED_CP_EOB] - 1);
    ck_assert_uint_ge(out.output_ckpt_re_xmit_count, 1);
    ck_assert_uint_eq(out.output_neg_ack_recv_count, 1);
    ck_assert_uint_eq(out.output_pos_ack_recv_count, 1);
    ck_assert_uint_eq(out.output_seg_re_xmit_count, data - first - out.output_ckpt_re_xmit_count);
    ck_assert_uint_ge(out.output_seg_re_xmit_count, 2);
    ck_assert_uint_eq(out.output_seg_re_xmit_bytes, p->dropped_data);
    const uint64_t again = watch(p->l[0], 2).resent_bytes; /* what the timer repeats, too */
    ck_assert_uint_eq(again, ltp_counters(p->l[0])->retransmitted_bytes);
    ck_assert_uint_gt(again, out.output_seg_re_xmit_bytes);
    ck_assert_uint_eq(out.output_cycles_count, 1);
    ck_assert_uint_eq(out.output_cycle_limit_count, 0);
    ck_assert_uint_eq(out.output_complete_count, 1);
    ck_assert_uint_eq(out.current_export_sessions, 0);
    ck_assert_uint_eq(out.input_complete_count, 0);
    ck_assert_uint_eq(in.input_complete_count, 1);
    ck_assert_uint_eq(in.input_ckpt_recv_count, p->sent[LTP_RED_CP] + p->sent[LTP_RED_CP_EOB]);
    ck_assert_uint_eq(in.input_neg_ack_xmit_count, 1);
    ck_assert_uint_eq(in.input_pos_ack_xmit_count, 1);
    ck_assert_uint_eq(in.input_ack_re_xmit_count, p->sent[LTP_RS] - 2);
    ck_assert_uint_ge(in.input_ack_re_xmit_count, 1);
    ck_assert_uint_eq(in.input_seg_recv_red_bytes, 1080);
    ck_assert_uint_eq(in.input_seg_redundant_count, p->sent[LTP_RED_CP_EOB] - 1);
    ck_assert_uint_eq(in.input_seg_recv_red_count + in.input_seg_redundant_count + 2, data);
    ck_assert_uint_eq(in.input_seg_recv_green_count, 0);
    pair_free(p);
}
END_TEST

START_TEST(cancels_and_refusals)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = pair_data(5, LTP_RED, 0, 100);
    pair_feed(p, 1, &s);
    struct ltp_segment unknown = pair_data(6, LTP_RED, 0, 70);
    unknown.client_service = 9;
    ck_assert_int_eq(pair_feed(p, 1, &unknown), VERDICT_NO_CLIENT_SERVICE);
    struct ltp_segment green = pair_data(5, LTP_GREEN_DATA, 50, 40);
    ck_assert_int_eq(pair_feed(p, 1, &green), VERDICT_MISCOLOURED);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_CLOSED_SESSION);
    struct ltp_segment fresh = pair_data(7, LTP_GREEN_EOB, 0, 30);
    ck_assert_int_eq(pair_feed(p, 1, &fresh), VERDICT_OK);
    struct ltp_segment open = pair_data(8, LTP_RED, 0, 10);
    ck_assert_int_eq(pair_feed(p, 1, &open), VERDICT_OK);
    struct ltp_segment cancel = {.type = LTP_CS, .id = {1, 8}, .reason = LTP_USR_CNCLD};
    ck_assert_int_eq(pair_feed(p, 1, &cancel), VERDICT_OK);
    pair_drain(p);
    struct ltp_span_counters n = of(p->l[1], 1);
    ck_assert_uint_eq(n.input_seg_recv_red_count, 2);
    ck_assert_uint_eq(n.input_seg_recv_red_bytes, 110);
    ck_assert_uint_eq(n.input_seg_unk_client_count, 1);
    ck_assert_uint_eq(n.input_seg_unk_client_bytes, 70);
    ck_assert_uint_eq(n.input_seg_miscolor_count, 1);
    ck_assert_uint_eq(n.input_seg_miscolor_bytes, 40);
    ck_assert_uint_eq(n.input_seg_closed_count, 1);
    ck_assert_uint_eq(n.input_seg_closed_bytes, 100);
    ck_assert_uint_eq(n.input_seg_recv_green_count, 1);
    ck_assert_uint_eq(n.input_seg_recv_green_bytes, 30);
    ck_assert_uint_eq(n.input_cancel_recv_count, 1);
    ck_assert_uint_eq(n.input_cancel_xmit_count, 2);
    ck_assert_uint_eq(n.output_seg_popped_count, 3); /* two cancels, an acknowledgement */
    pair_free(p);
}
END_TEST

/* Before anything is sent, while the answer is awaited, and after it. */
START_TEST(what_is_watched)
{
    struct ltp_span span = own();
    span.recovery = ltp_recovery_default;
    span.profile = LTP_PROFILE_HELIOGRAPH;
    struct pair *p = pair_new(&span, NULL);
    struct ltp_watch w = watch(p->l[0], 2);
    ck_assert_uint_eq(w.rto, span.rto);
    ck_assert(w.round_trip == 0 && w.heard == TICK_NEVER && w.asked == TICK_NEVER);
    pair_send(p, 1080, 1080);
    pair_drain(p);
    w = watch(p->l[0], 2);
    ck_assert_uint_eq(w.asked, p->now);
    ck_assert_uint_eq(w.exports, 1);
    ck_assert_uint_gt(w.tx_bytes, 1080);
    ck_assert_uint_eq(w.rx_bytes, 0);
    pair_run(p);
    for (int i = 0; i < 30; i++) { /* constant times: the deviation goes */
        pair_send(p, 1080, 1080);
        pair_run(p);
    }
    w = watch(p->l[0], 2);
    ck_assert(w.asked == TICK_NEVER && w.heard <= p->now && w.exports == 0);
    ck_assert_uint_eq(w.rx_bytes, ltp_counters(p->l[0])->rx_bytes);
    ck_assert_uint_eq(w.round_trip, 2 * p->delay);
    ck_assert_uint_lt(w.rto, span.rto);
    ck_assert_uint_eq(watch(p->l[1], 1).rx_bytes, w.tx_bytes);
    ck_assert_int_eq(ltp_watch(p->l[0], 4, &w), HELIO_ENOENT);
    pair_free(p);
}
END_TEST

/* What one peer sends is nobody else's. */
START_TEST(peers_are_apart)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_span third = pair_span(3);
    ck_assert_int_eq(ltp_span_set(p->l[0], &third, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[0], 3, true, 0), 0);
    pair_send(p, 5000, 5000);
    pair_run(p);
    struct ltp_span_counters n = of(p->l[0], 3);
    static const struct ltp_span_counters none;
    ck_assert_int_eq(memcmp(&n, &none, sizeof n), 0);
    ck_assert_uint_eq(of(p->l[0], 2).output_complete_count, 1);
    ck_assert_int_eq(ltp_span_counters(p->l[0], 4, &n), HELIO_ENOENT);
    pair_free(p);
}
END_TEST

/* Two cycles: the first of two segments that are sent again is lost once more. */
START_TEST(cycle_limit)
{
    struct ltp_span span = own();
    span.cycles_max = (uint32_t)_i; /* 0: none */
    struct pair *p = pair_new(&span, NULL);
    pair_drop(p, LTP_RED, 2);
    pair_drop(p, LTP_RED, 3);
    pair_send(p, 1080, 1080);
    pair_drain(p);
    pair_drop(p, LTP_RED, p->sent[LTP_RED]);
    pair_run(p);
    struct ltp_span_counters n = of(p->l[0], 2);
    ck_assert_uint_eq(n.output_cycles_count, _i == 1 ? 1 : 2);
    ck_assert_uint_eq(n.output_cycle_limit_count, _i == 1);
    ck_assert_uint_eq(n.output_cancel_xmit_count, _i == 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], _i != 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], _i == 1);
    if (_i == 1) {
        ck_assert_int_eq(p->last[LTP_EXPORT_CANCELLED].reason, LTP_RXMTCYCEXC);
        ck_assert(!p->last[LTP_EXPORT_CANCELLED].remote);
        ck_assert_int_eq(p->last[LTP_IMPORT_CANCELLED].reason, LTP_RXMTCYCEXC);
    }
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

SUITE(ltp_span, t)
{
    tcase_add_test(t, a_gap_and_a_timer);
    tcase_add_test(t, cancels_and_refusals);
    tcase_add_test(t, what_is_watched);
    tcase_add_test(t, peers_are_apart);
    tcase_add_loop_test(t, cycle_limit, 0, 3);
}
