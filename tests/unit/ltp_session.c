/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that do not go straight: cancels, outages, retries without end, late segments.
 */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define BLOCK 50000

static void assert_cancelled(struct pair *p, enum ltp_reason reason)
{
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 0);
    ck_assert_uint_eq(p->last[LTP_EXPORT_CANCELLED].tag, 4711);
    ck_assert_int_eq(p->last[LTP_EXPORT_CANCELLED].reason, reason);
    pair_assert_idle(p);
}

START_TEST(sender_cancels)
{
    struct pair *p = pair_new(NULL, NULL);
    if (_i > 0)
        pair_drop(p, _i == 1 ? LTP_CS : LTP_CAS, 0);
    struct ltp_session_id id = pair_send(p, BLOCK, BLOCK);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_run_until(p, 6 * TICK_MS);
    ck_assert_int_eq(ltp_cancel(p->l[0], id, LTP_USR_CNCLD, p->now), 0);
    ck_assert_int_eq(ltp_cancel(p->l[0], id, LTP_USR_CNCLD, p->now), HELIO_ENOENT);
    pair_run(p);
    assert_cancelled(p, LTP_USR_CNCLD);
    ck_assert(!p->last[LTP_EXPORT_CANCELLED].remote);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 1);
    ck_assert(p->last[LTP_IMPORT_CANCELLED].remote);
    ck_assert_uint_eq(p->sent[LTP_CS], _i == 0 ? 1 : 2);
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CANCEL], _i == 0 ? 0 : 1);
    pair_free(p);
}
END_TEST

START_TEST(receiver_cancels)
{
    struct pair *p = pair_new(NULL, NULL);
    if (_i > 0)
        pair_drop(p, _i == 1 ? LTP_CR : LTP_CAR, 0);
    pair_drop(p, LTP_RED, 3);
    struct ltp_session_id id = pair_send(p, BLOCK, BLOCK);
    pair_run_until(p, 6 * TICK_MS);
    ck_assert_int_eq(ltp_cancel(p->l[1], id, LTP_SYS_CNCLD, p->now), 0);
    pair_run(p);
    assert_cancelled(p, LTP_SYS_CNCLD);
    ck_assert(p->last[LTP_EXPORT_CANCELLED].remote);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 0);
    ck_assert_uint_eq(p->sent[LTP_CR], _i == 0 ? 1 : 2);
    pair_free(p);
}
END_TEST

START_TEST(both_cancel)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED, 3);
    struct ltp_session_id id = pair_send(p, BLOCK, BLOCK);
    pair_run_until(p, 6 * TICK_MS);
    ck_assert_int_eq(ltp_cancel(p->l[0], id, LTP_USR_CNCLD, p->now), 0);
    ck_assert_int_eq(ltp_cancel(p->l[1], id, LTP_SYS_CNCLD, p->now), 0);
    pair_run(p);
    assert_cancelled(p, LTP_USR_CNCLD);
    ck_assert_uint_eq(p->sent[LTP_CS] + p->sent[LTP_CR], 2);
    ck_assert_uint_eq(p->sent[LTP_CAS] + p->sent[LTP_CAR], 2);
    pair_free(p);
}
END_TEST

/* Cancelled before anything was sent: the receiver hears nothing of it. */
START_TEST(cancelled_unsent)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_session_id id = pair_send(p, BLOCK, BLOCK);
    ck_assert_int_eq(ltp_cancel(p->l[0], id, LTP_USR_CNCLD, p->now), 0);
    pair_run(p);
    assert_cancelled(p, LTP_USR_CNCLD);
    ck_assert_uint_eq(p->sent[LTP_CS], 0);
    pair_free(p);
}
END_TEST

/* Nothing comes back: the checkpoint is sent 1 + retries times, then so is the cancel. */
START_TEST(checkpoint_retry_limit)
{
    struct ltp_span span = pair_span(2);
    span.retries_max = 3;
    struct pair *p = pair_new(&span, NULL);
    for (uint64_t i = 0; i < 10; i++) {
        pair_drop(p, LTP_RED_CP_EOB, i);
        pair_drop(p, LTP_CS, i);
    }
    pair_send(p, 100, 100);
    pair_run(p);
    assert_cancelled(p, LTP_RLEXC);
    ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], 4);
    ck_assert_uint_eq(p->sent[LTP_CS], 4);
    ck_assert_uint_eq(p->now, 8 * 30 * TICK_MS);
    pair_free(p);
}
END_TEST

START_TEST(report_retry_limit)
{
    struct ltp_span span = pair_span(1), slow = pair_span(2);
    span.retries_max = 2;
    slow.rto = TICK_S; /* so that no repeated checkpoint asks in between */
    struct pair *p = pair_new(&slow, &span);
    for (uint64_t i = 0; i < 40; i++)
        pair_drop(p, LTP_RS, i);
    pair_send(p, 100, 100);
    pair_run(p);
    assert_cancelled(p, LTP_RLEXC);
    ck_assert(p->last[LTP_EXPORT_CANCELLED].remote);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 1);
    ck_assert_uint_eq(p->sent[LTP_RS], 3);
    pair_free(p);
}
END_TEST

/* While the link is down nothing goes out and no timer moves on. */
START_TEST(link_down_and_up)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_send(p, 100, 100);
    pair_run_until(p, 10 * TICK_MS);
    ck_assert_uint_eq(ltp_deadline(p->l[0]), 30 * TICK_MS);
    ltp_link(p->l[0], 2, false, p->now);
    ck_assert_uint_eq(ltp_deadline(p->l[0]), TICK_NEVER);
    struct ltp_session_id second = pair_send(p, 200, 200);
    pair_run_until(p, TICK_S);
    ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], 1);
    ck_assert(ltp_has_output(p->l[0], 2));
    ltp_link(p->l[0], 2, true, p->now);
    ck_assert_uint_eq(ltp_deadline(p->l[0]), TICK_S + 20 * TICK_MS);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 2);
    ck_assert_uint_ne(second.number, 0);
    pair_assert_idle(p);
    ck_assert_int_eq(ltp_link(p->l[0], 9, true, p->now), HELIO_ENOENT);
    pair_free(p);
}
END_TEST

START_TEST(late_duplicates)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = pair_data(7, LTP_RED_CP_EOB, 0, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_DUPLICATE);
    pair_drain(p); /* one report leaves; the checkpoint's copy made no second one */
    ck_assert_uint_eq(p->sent[LTP_RS], 1);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_DUPLICATE);
    pair_drain(p); /* but after it left, it is sent again for another copy */
    ck_assert_uint_eq(p->sent[LTP_RS], 2);
    pair_run(p); /* engine 1 never opened it and acknowledges nevertheless */
    ck_assert_uint_eq(ltp_counters(p->l[0])->verdicts[VERDICT_UNKNOWN_SESSION], 2);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_CLOSED_SESSION);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 1);
    s.type = LTP_RA;
    s.rpt_serial = 1;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_CLOSED_SESSION);
    s.id.number = 8;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_SESSION);
    pair_run(p);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* A cancel that overtook the data. */
START_TEST(cancel_before_data)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = {.type = LTP_CS, .id = {1, 9}};
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_SESSION);
    s = pair_data(9, LTP_RED, 0, 10);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_CLOSED_SESSION);
    pair_run(p);
    ck_assert_uint_eq(p->sent[LTP_CAS], 1);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(unknown_senders)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = pair_data(9, LTP_RED, 0, 10);
    s.id.originator = 5;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_PEER);
    s.type = LTP_CS;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_PEER);
    s.type = LTP_CAR;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_SESSION);
    s.type = LTP_CR;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_SESSION);
    s.type = LTP_CAS;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_SESSION);
    pair_assert_idle(p);
    s = pair_data(9, LTP_RED, 0, 10);
    s.client_service = 44;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_NO_CLIENT_SERVICE);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_CLOSED_SESSION);
    pair_run(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 1);
    ck_assert_uint_eq(p->sent[LTP_CAR], 1);
    ck_assert_int_eq(ltp_service_open(p->l[1], 44), 0);
    s.id.number = 10;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    pair_free(p);
}
END_TEST

START_TEST(contradictions)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = pair_data(9, LTP_RED_CP_EORP, 500, 500);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    s = pair_data(9, LTP_RED, 900, 101); /* beyond the end of the red part */
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_INCONSISTENT);
    s = pair_data(9, LTP_RED_CP_EORP, 0, 500); /* another end */
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_INCONSISTENT);
    s = pair_data(9, LTP_RED, 0, 10);
    s.client_service = 2;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_INCONSISTENT);
    s = pair_data(9, LTP_GREEN_EOB, 1000, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    s = pair_data(9, LTP_GREEN_DATA, 1050, 51); /* beyond the block */
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_INCONSISTENT);
    s = pair_data(9, LTP_GREEN_EOB, 1000, 50); /* another end of the block */
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_INCONSISTENT);
    ck_assert_uint_eq(ltp_counters(p->l[1])->closed[OUTCOME_CANCELLED_LOCAL], 0);
    pair_free(p);
}
END_TEST

static const struct {
    int first, second;
    uint64_t first_at, second_at;
} miscoloured[] = {{LTP_RED, LTP_GREEN_DATA, 1000, 500},
                   {LTP_RED, LTP_GREEN_DATA, 1000, 1050},
                   {LTP_GREEN_DATA, LTP_RED, 500, 1000},
                   {LTP_GREEN_DATA, LTP_RED, 500, 450},
                   {LTP_RED_CP_EORP, LTP_GREEN_DATA, 1000, 1099}};

/* RFC 5326 §6.21 */
START_TEST(miscoloured_data)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = pair_data(9, miscoloured[_i].first, miscoloured[_i].first_at, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    s = pair_data(9, miscoloured[_i].second, miscoloured[_i].second_at, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_MISCOLOURED);
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 1);
    ck_assert_int_eq(p->last[LTP_IMPORT_CANCELLED].reason, LTP_MISCOLORED);
    pair_run(p);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(bad_reports)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_session_id id = pair_send(p, BLOCK, BLOCK);
    uint8_t head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ltp_output(p->l[0], 2, p->now, &out), 1);
    struct ltp_segment s = {.type = LTP_RS, .id = id, .rpt_serial = 5, .upper = 5000};
    ck_assert_int_eq(pair_feed(p, 0, &s), VERDICT_BAD_REPORT); /* of what was never sent */
    s.upper = 1000;
    s.cp_serial = 60000; /* a checkpoint that never was */
    ck_assert_int_eq(pair_feed(p, 0, &s), VERDICT_BAD_REPORT);
    s.cp_serial = 0; /* nobody asked, which is allowed */
    ck_assert_int_eq(pair_feed(p, 0, &s), VERDICT_OK);
    ck_assert_int_eq(pair_feed(p, 0, &s), VERDICT_DUPLICATE);
    pair_run(p);
    /* what is sent again names report 5, which the receiver never made: another one must have */
    ck_assert_uint_eq(p->sent[LTP_RED_CP], 1);
    assert_cancelled(p, LTP_SYS_CNCLD);
    ck_assert(p->last[LTP_EXPORT_CANCELLED].remote);
    ck_assert_uint_eq(ltp_counters(p->l[1])->verdicts[VERDICT_FORGOTTEN_SESSION], 1);
    pair_free(p);
}
END_TEST

/* One checkpoint, several reports; each is retransmitted for and acknowledged by itself. */
START_TEST(reports_split)
{
    struct ltp_span from = pair_span(1);
    from.claims_max = _i == 0 ? 2 : 1000;
    from.segment_max = _i == 0 ? 1024 : 64;
    struct pair *p = pair_new(NULL, &from);
    for (uint64_t i = 1; i < 48; i += 4)
        pair_drop(p, LTP_RED, i); /* 12 gaps, 13 claims */
    pair_drop(p, LTP_RS, 1);      /* and one of the reports */
    pair_send(p, BLOCK, BLOCK);
    pair_run(p);
    uint64_t again = ltp_counters(p->l[0])->retransmitted_bytes;
    ck_assert_uint_ge(p->sent[LTP_RS], _i == 0 ? 8 : 4);
    ck_assert_uint_ge(p->sent[LTP_RED_CP], _i == 0 ? 6 : 2);
    ck_assert_uint_eq(again, p->dropped_data);
    ck_assert_uint_gt(again, 12 * 1000);
    ck_assert_uint_le(ltp_counters(p->l[1])->tx_bytes, p->sent[LTP_RS] * (_i == 0 ? 1024 : 64));
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_red(p, BLOCK);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

static struct ltp_segment report_of(struct pair *p)
{
    static uint8_t head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct ltp_segment s;
    ck_assert_int_eq(ltp_output(p->l[1], 1, p->now, &out), 1);
    ck_assert_int_eq(segment_parse(&s, head, out.head_len), VERDICT_OK);
    ck_assert_uint_eq(s.type, LTP_RS);
    return s;
}

static struct ltp_segment answer_to(struct pair *p, int type, uint64_t offset, size_t len,
                                    uint64_t cp_serial, uint64_t rpt_serial)
{
    struct ltp_segment s = pair_data(7, type, offset, len);
    s.cp_serial = cp_serial;
    s.rpt_serial = rpt_serial;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    return report_of(p);
}

/* RFC 5326 §6.11: primary scopes follow one another; a secondary one begins where that of the
 * report did which the checkpoint answers, and both end where the checkpoint does. */
START_TEST(report_scopes)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment first = answer_to(p, LTP_RED_CP, 0, 500, 50, 0);
    ck_assert_uint_eq(first.lower, 0);
    ck_assert_uint_eq(first.upper, 500);
    ck_assert_uint_eq(first.cp_serial, 50);
    struct ltp_segment s = pair_data(7, LTP_RED, 500, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    struct ltp_segment second = answer_to(p, LTP_RED_CP_EOB, 700, 300, 51, 0);
    ck_assert_uint_eq(second.lower, 500);
    ck_assert_uint_eq(second.upper, 1000);
    ck_assert_uint_eq(second.claim_count, 2);
    ck_assert_uint_eq(second.rpt_serial, first.rpt_serial + 1);
    struct ltp_segment third = answer_to(p, LTP_RED_CP, 600, 50, 52, second.rpt_serial);
    ck_assert_uint_eq(third.lower, 500);
    ck_assert_uint_eq(third.upper, 650);
    ck_assert_uint_eq(third.claim_count, 1);
    struct ltp_segment last = answer_to(p, LTP_RED_CP, 650, 50, 53, 999999);
    ck_assert_uint_eq(last.lower, 0); /* of an unknown report: all there is */
    ck_assert_uint_eq(last.upper, 700);
    /* a checkpoint that an earlier report covers is not reported on again */
    s = pair_data(7, LTP_RED_CP, 800, 100);
    s.cp_serial = 49;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_DUPLICATE);
    ck_assert(!ltp_has_output(p->l[1], 1));
    /* acknowledging them, in any order, ends the session only with the claims of all bytes; the
     * second one was heard, since a checkpoint answered it */
    static const int order[] = {2, 0, 3};
    const uint64_t serials[] = {first.rpt_serial, second.rpt_serial, third.rpt_serial,
                                last.rpt_serial};
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(ltp_sessions(p->l[1], NULL, 0), 1);
        s = (struct ltp_segment){.type = LTP_RA, .id = {1, 7}, .rpt_serial = serials[order[i]]};
        ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    }
    ck_assert_uint_eq(ltp_sessions(p->l[1], NULL, 0), 0);
    pair_free(p);
}
END_TEST

/* One of two reports arrived, then the receiver forgot the session: the sender does not wait on. */
START_TEST(receiver_forgets)
{
    struct ltp_span from = pair_span(1);
    from.claims_max = 1;
    struct pair *p = pair_new(NULL, &from);
    pair_drop(p, LTP_RED, 10);
    pair_drop(p, LTP_RS, 1);
    pair_send(p, BLOCK, BLOCK);
    pair_run_until(p, 12 * TICK_MS);
    struct ltp_config config = {.engine = 2, .seed = 1};
    ltp_free(p->l[1]);
    ck_assert_int_eq(ltp_new(&p->l[1], &config), 0);
    ck_assert_int_eq(ltp_span_set(p->l[1], &from, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, 0), 0);
    pair_run(p);
    assert_cancelled(p, LTP_RLEXC);
    pair_free(p);
}
END_TEST

/* The report on an early checkpoint is lost, and the receiver, whose timer is its own affair, sends
 * it again much later than our timer would. It has the block: the session does not fail. */
START_TEST(receiver_is_slow)
{
    struct ltp_span to = pair_span(2), from = pair_span(1);
    to.recovery.checkpoint_segments = 10;
    from.rto = 5 * TICK_S;
    struct pair *p = pair_new(&to, &from);
    pair_drop(p, LTP_RS, 0);
    pair_send(p, BLOCK, BLOCK);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_red(p, BLOCK);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(confirmed_import)
{
    struct ltp_span from = pair_span(1);
    from.confirm_import = true;
    struct pair *p = pair_new(NULL, &from);
    p->accept = false;
    pair_drop(p, LTP_RED, 5);
    struct ltp_session_id id = pair_send(p, BLOCK, BLOCK);
    pair_run_until(p, 100 * TICK_MS);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 0);
    ck_assert_uint_ge(p->sent[LTP_RED_CP], 3); /* which the sender repeats */
    ck_assert_int_eq(ltp_accept(p->l[1], id, p->now), 0);
    pair_run_until(p, 106 * TICK_MS);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_run(p);
    pair_assert_idle(p);
    ck_assert_int_eq(ltp_accept(p->l[1], id, p->now), HELIO_ENOENT);
    pair_free(p);
}
END_TEST

/* The block is given at once; only its report waits. */
START_TEST(delayed_report)
{
    struct ltp_span from = pair_span(1);
    from.report_delay = 4 * TICK_MS;
    struct pair *p = pair_new(NULL, &from);
    pair_send(p, BLOCK, BLOCK);
    pair_run_until(p, 5 * TICK_MS);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 1);
    pair_run_until(p, 14 * TICK_MS - 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 0);
    pair_run_until(p, 14 * TICK_MS);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_run(p);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(resends_before_new_data)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED, 5);
    pair_send(p, BLOCK, BLOCK);
    pair_run_until(p, 9 * TICK_MS);
    ltp_link(p->l[0], 2, false, p->now);
    pair_send(p, BLOCK, BLOCK);
    pair_run_until(p, 11 * TICK_MS);
    ltp_link(p->l[0], 2, true, p->now);
    uint8_t head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    static const int want[] = {LTP_RA, LTP_RED, LTP_RED_CP, LTP_RED};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(ltp_output(p->l[0], 2, p->now, &out), 1);
        ck_assert_int_eq(head[0], want[i]);
    }
    pair_free(p);
}
END_TEST

START_TEST(bad_arguments)
{
    struct ltp *l = NULL;
    struct ltp_config config = {.engine = 0};
    ck_assert_int_eq(ltp_new(&l, &config), HELIO_EINVAL);
    config.engine = 1;
    ck_assert_int_eq(ltp_new(&l, &config), 0);
    struct ltp_span span = pair_span(2);
    span.rto = 99 * TICK_US;
    ck_assert_int_eq(ltp_span_set(l, &span, 0), HELIO_EINVAL);
    span = pair_span(2);
    span.segment_max = 63;
    ck_assert_int_eq(ltp_span_set(l, &span, 0), HELIO_EINVAL);
    span.segment_max = 65001;
    ck_assert_int_eq(ltp_span_set(l, &span, 0), HELIO_EINVAL);
    span.segment_max = 64;
    ck_assert_int_eq(ltp_span_set(l, &span, 0), 0);
    ck_assert_int_eq(ltp_service_open(l, UINT64_C(1) << 32), HELIO_EINVAL);
    struct ltp_session_id id;
    struct buf *b = pair_block(10, 0);
    struct ltp_block block = {.peer = 2, .client_service = 1, .data = b, .red_len = 11};
    ck_assert_int_eq(ltp_send(l, &block, 0, &id), HELIO_EINVAL);
    b->len = 0;
    block.red_len = 0;
    ck_assert_int_eq(ltp_send(l, &block, 0, &id), HELIO_EINVAL);
    buf_drop(b);
    ltp_free(l);
    ltp_free(NULL);
}
END_TEST

SUITE(ltp_session, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, sender_cancels, 0, 3);
    tcase_add_loop_test(t, receiver_cancels, 0, 3);
    tcase_add_test(t, both_cancel);
    tcase_add_test(t, cancelled_unsent);
    tcase_add_test(t, checkpoint_retry_limit);
    tcase_add_test(t, report_retry_limit);
    tcase_add_test(t, link_down_and_up);
    tcase_add_test(t, late_duplicates);
    tcase_add_test(t, cancel_before_data);
    tcase_add_test(t, unknown_senders);
    tcase_add_test(t, contradictions);
    tcase_add_loop_test(t, miscoloured_data, 0, (int)(sizeof miscoloured / sizeof *miscoloured));
    tcase_add_test(t, bad_reports);
    tcase_add_loop_test(t, reports_split, 0, 2);
    tcase_add_test(t, report_scopes);
    tcase_add_test(t, receiver_forgets);
    tcase_add_test(t, receiver_is_slow);
    tcase_add_test(t, confirmed_import);
    tcase_add_test(t, delayed_report);
    tcase_add_test(t, resends_before_new_data);
    tcase_add_test(t, bad_arguments);
}
