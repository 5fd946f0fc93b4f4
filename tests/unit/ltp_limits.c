/* SPDX-License-Identifier: Apache-2.0 */
/* Every limit of the engine, reached: what is refused, what is cancelled, what recovers. */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define BLOCK 50000

START_TEST(session_limits)
{
    struct ltp_span to = pair_span(2), from = pair_span(1);
    to.export_sessions = 5;
    from.import_sessions = 2;
    struct pair *p = pair_new(&to, &from);
    ck_assert_uint_eq(ltp_room(p->l[0], 2), 5);
    for (int i = 0; i < 5; i++)
        pair_send(p, BLOCK, BLOCK);
    ck_assert_uint_eq(ltp_room(p->l[0], 2), 0);
    struct buf *b = pair_block(10, 0);
    struct ltp_block sixth = {.peer = 2, .client_service = 1, .data = b, .red_len = 10};
    struct ltp_session_id id;
    ck_assert_int_eq(ltp_send(p->l[0], &sixth, p->now, &id), HELIO_EAGAIN);
    ck_assert_uint_eq(b->refs, 1);
    sixth.peer = 3;
    ck_assert_int_eq(ltp_send(p->l[0], &sixth, p->now, &id), HELIO_ENOENT);
    buf_drop(b);
    pair_run(p); /* what finds no room comes again by the checkpoint's timer */
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 5);
    ck_assert_uint_gt(ltp_counters(p->l[1])->verdicts[VERDICT_LIMIT_SESSIONS], 0);
    ck_assert_uint_eq(ltp_room(p->l[0], 2), 5);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(block_limits)
{
    struct ltp_span from = pair_span(1);
    from.block_max = 20000;
    struct pair *p = pair_new(NULL, &from);
    pair_send(p, 20000, 20000);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    p->notices[LTP_EXPORT_DONE] = 0;
    pair_send(p, 20001, 20001);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 0);
    ck_assert_int_eq(p->last[LTP_EXPORT_CANCELLED].reason, LTP_SYS_CNCLD);
    pair_assert_idle(p);
    /* a first segment far out is refused before anything is allocated */
    struct ltp_segment s = pair_data(9, LTP_RED, UINT64_C(1) << 40, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_LIMIT_BYTES);
    pair_run(p);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(held_limit)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_config config = {.engine = 2, .seed = 1, .held_bytes = 100000};
    struct ltp_span from = pair_span(1);
    ltp_free(p->l[1]);
    ck_assert_int_eq(ltp_new(&p->l[1], &config), 0);
    ck_assert_int_eq(ltp_span_set(p->l[1], &from, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, 0), 0);
    struct ltp_segment s = pair_data(1, LTP_RED, 60000, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    s.id.number = 2;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_LIMIT_BYTES);
    s.id.number = 3;
    s.offset = 20000;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    ck_assert_uint_eq(ltp_counters(p->l[1])->closed[OUTCOME_CANCELLED_LOCAL], 1);
    pair_free(p);
}
END_TEST

/* The user's word bounds what a peer's sessions hold, and its own peer's alone; the peer is touched
 * when that changes. */
START_TEST(user_limit)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_span third = pair_span(3);
    uint64_t peer;
    ck_assert_int_eq(ltp_span_set(p->l[1], &third, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 3, true, 0), 0);
    while (ltp_touched(p->l[1], &peer))
        continue;
    struct ltp_segment s = pair_data(1, LTP_RED, 0, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    const uint64_t held = ltp_held(p->l[1], 1);
    ck_assert_uint_ge(held, 100);
    ck_assert_uint_eq(ltp_held(p->l[1], 3), 0);
    ck_assert_uint_eq(ltp_held(p->l[1], 77), 0);
    ck_assert(ltp_touched(p->l[1], &peer) && peer == 1);

    ltp_hold(p->l[1], 1, held);
    s = pair_data(2, LTP_RED, 0, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_LIMIT_SESSIONS); /* the sender tries again */
    s.id.originator = 3;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    s = pair_data(1, LTP_RED, 60000, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_LIMIT_BYTES); /* it gives back what it holds */
    ltp_check(p->l[1]);
    ck_assert_uint_eq(ltp_held(p->l[1], 1), 0);
    ltp_hold(p->l[1], 1, UINT64_MAX);
    s = pair_data(4, LTP_RED, 0, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    pair_free(p);
}
END_TEST

/* A block that was refused so comes through when there is room again. */
START_TEST(user_limit_passes)
{
    struct pair *p = pair_new(NULL, NULL);
    ltp_hold(p->l[1], 1, 0);
    pair_send(p, BLOCK, BLOCK);
    while (ltp_counters(p->l[1])->verdicts[VERDICT_LIMIT_SESSIONS] == 0)
        ck_assert(pair_step(p));
    ltp_hold(p->l[1], 1, UINT64_MAX);
    pair_run(p);
    pair_assert_red(p, BLOCK);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(range_limit)
{
    struct ltp_span from = pair_span(1);
    from.ranges_max = 3;
    struct pair *p = pair_new(NULL, &from);
    for (uint64_t i = 0; i < 4; i++) {
        struct ltp_segment s = pair_data(1, LTP_RED, i * 200, 100);
        ck_assert_int_eq(pair_feed(p, 1, &s), i < 3 ? VERDICT_OK : VERDICT_LIMIT_RANGES);
    }
    pair_free(p);
    p = pair_new(NULL, &from);
    for (uint64_t i = 0; i < 40; i += 2)
        pair_drop(p, LTP_RED, i);
    pair_send(p, BLOCK, BLOCK);
    pair_run(p);
    ck_assert_uint_gt(ltp_counters(p->l[1])->verdicts[VERDICT_LIMIT_RANGES], 0);
    pair_assert_red(p, BLOCK);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(closed_memory_is_bounded)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_config config = {.engine = 2, .seed = 1, .closed_memory = 4};
    struct ltp_span from = pair_span(1);
    ltp_free(p->l[1]);
    ck_assert_int_eq(ltp_new(&p->l[1], &config), 0);
    ck_assert_int_eq(ltp_span_set(p->l[1], &from, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, 0), 0);
    struct ltp_segment s = {.type = LTP_CS, .id = {1, 0}};
    for (s.id.number = 1; s.id.number <= 6; s.id.number++)
        ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_SESSION);
    ck_assert_uint_eq(ltp_counters(p->l[1])->closed_evicted, 2);
    s.id.number = 3;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_CLOSED_SESSION);
    s.id.number = 2;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_SESSION);
    p->now += 301 * TICK_S; /* too old: gone when the next one ends */
    s.id.number = 9;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_SESSION);
    s.id.number = 6;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_SESSION);
    pair_free(p);
}
END_TEST

/* Nothing of engine 2 arrives, until it has stopped asking. */
static void lose_cancels(struct pair *p)
{
    for (int i = 0; i < 100; i++) {
        pair_drain(p);
        while (p->flying > 0)
            free(p->flights[--p->flying].bytes);
        const tick due = ltp_deadline(p->l[1]);
        if (due == TICK_NEVER)
            return;
        p->now = due;
        ltp_expire(p->l[1], p->now);
    }
    ck_abort_msg("it asks without end");
}

/* Cancelled sessions whose peer never said that it knows are remembered beside the others, a
 * quarter of their number. When the peer asks for one, it is one of the others: the oldest of these
 * goes. */
START_TEST(unacknowledged_cancels_are_bounded)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_config config = {.engine = 2, .seed = 1, .closed_memory = 9};
    struct ltp_span from = pair_span(1);
    ltp_free(p->l[1]);
    ck_assert_int_eq(ltp_new(&p->l[1], &config), 0);
    ck_assert_int_eq(ltp_span_set(p->l[1], &from, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, 0), 0);
    for (uint64_t n = 1; n <= 4; n++) { /* a quarter of 9 is 3 */
        const struct ltp_segment data = pair_data(n, LTP_RED_CP, 0, 100);
        ck_assert_int_eq(pair_feed(p, 1, &data), VERDICT_OK);
        ck_assert_int_eq(ltp_cancel(p->l[1], data.id, LTP_USR_CNCLD, p->now), 0);
        lose_cancels(p);
    }
    ck_assert_uint_eq(ltp_counters(p->l[1])->closed_evicted, 1);
    struct ltp_segment over = {.type = LTP_CS, .id = {1, 0}};
    for (over.id.number = 11; over.id.number <= 19; over.id.number++)
        ck_assert_int_eq(pair_feed(p, 1, &over), VERDICT_UNKNOWN_SESSION);
    ck_assert_uint_eq(ltp_counters(p->l[1])->closed_evicted, 1);
    const uint64_t before = p->sent[LTP_CR];
    for (uint64_t n = 2; n <= 4; n++) {
        const struct ltp_segment again = pair_data(n, LTP_RED_CP, 0, 100);
        ck_assert_int_eq(pair_feed(p, 1, &again), VERDICT_CLOSED_SESSION);
        ck_assert_uint_eq(ltp_counters(p->l[1])->closed_evicted, n);
    }
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CR], before + 3);
    over.id.number = 13;
    ck_assert_int_eq(pair_feed(p, 1, &over), VERDICT_UNKNOWN_SESSION);
    over.id.number = 19;
    ck_assert_int_eq(pair_feed(p, 1, &over), VERDICT_CLOSED_SESSION);
    pair_free(p);
}
END_TEST

/* New checkpoints without end in one session, all of them unanswered. */
START_TEST(reports_are_bounded)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = pair_data(1, LTP_RED_CP, 0, 100), first;
    uint8_t bytes[300], head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    s.cp_serial = 1;
    enum verdict v = ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), p->now);
    ck_assert_int_eq(ltp_output(p->l[1], 1, p->now, &out), 1);
    ck_assert_int_eq(segment_parse(&first, head, out.head_len), VERDICT_OK);
    ltp_link(p->l[1], 1, false, 0);
    uint64_t n = 1;
    for (; v == VERDICT_OK || v == VERDICT_DUPLICATE; n++) {
        s.cp_serial = n + 1;
        s.rpt_serial = first.rpt_serial; /* so the scope is all of it each time */
        v = ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), p->now);
    }
    ltp_check(p->l[1]);
    ck_assert_int_eq(v, VERDICT_LIMIT_REPORTS); /* §6.11: too many reception problems */
    ck_assert_uint_eq(n, 4097);
    ck_assert_uint_eq(ltp_counters(p->l[1])->closed[OUTCOME_CANCELLED_LOCAL], 1);
    ltp_link(p->l[1], 1, true, 0);
    pair_run(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 1);
    ck_assert_int_eq(p->last[LTP_IMPORT_CANCELLED].reason, LTP_RLEXC);
    pair_free(p);
}
END_TEST

/* The longest report: a peer with the greatest numbers, and a segment that has room for little. */
START_TEST(reports_fit_segments)
{
    struct ltp *l;
    uint64_t far = UINT64_C(1) << 22;
    struct ltp_config config = {.engine = 2, .seed = 1};
    struct ltp_span from = {.peer = UINT64_MAX, .segment_max = 64, .rto = TICK_S};
    uint8_t head[2000], segment[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    ck_assert_int_eq(ltp_new(&l, &config), 0);
    ck_assert_int_eq(ltp_span_set(l, &from, 0), 0);
    ck_assert_int_eq(ltp_link(l, UINT64_MAX, true, 0), 0);
    uint32_t longest = 0, reports = 0;
    for (uint64_t k = 0; k < 3; k++) {
        struct ltp_segment s = pair_data(UINT64_MAX - 1, LTP_RED_CP, far + k * 100000, 700);
        s.id.originator = UINT64_MAX;
        s.cp_serial = UINT64_MAX - 3 + k;
        size_t n = segment_write(&s, segment, sizeof segment);
        ck_assert_int_eq(ltp_input(l, segment, n, 0), VERDICT_OK);
        while (ltp_output(l, UINT64_MAX, 0, &out) == 1) {
            struct ltp_segment r;
            ck_assert_int_eq(segment_parse(&r, head, out.head_len), VERDICT_OK);
            longest = out.head_len > longest ? out.head_len : longest;
            reports += r.type == LTP_RS;
        }
    }
    ck_assert_uint_ge(reports, 3);
    ck_assert_uint_ge(longest, 48);
    ck_assert_uint_le(longest, 64);
    ltp_free(l);
}
END_TEST

START_TEST(acknowledgements_are_bounded)
{
    struct pair *p = pair_new(NULL, NULL);
    ltp_link(p->l[1], 1, false, 0);
    struct ltp_segment s = {.type = LTP_CS, .id = {1, 0}};
    uint8_t bytes[300];
    for (s.id.number = 1; s.id.number <= 5000; s.id.number++)
        ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), 0);
    ltp_link(p->l[1], 1, true, 0);
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CAS], 4096);
    ck_assert_uint_eq(ltp_counters(p->l[1])->acks_dropped, 5000 - 4096);
    pair_run(p);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* Refusals cost us a cancel each; there are never more open than sessions allowed. */
START_TEST(refusals_are_bounded)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_config config = {.engine = 2, .seed = 1, .import_sessions = 3};
    struct ltp_span from = pair_span(1);
    ltp_free(p->l[1]);
    ck_assert_int_eq(ltp_new(&p->l[1], &config), 0);
    ck_assert_int_eq(ltp_span_set(p->l[1], &from, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, 0), 0);
    for (uint64_t i = 1; i <= 10; i++) {
        struct ltp_segment s = pair_data(i, LTP_RED, 0, 10);
        s.client_service = 99;
        ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_NO_CLIENT_SERVICE);
    }
    pair_run(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 3);
    ck_assert_uint_eq(ltp_counters(p->l[1])->cancels_unsent, 7);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* A long block makes the next ones of the peer be expected as long: that must not leave no memory
 * for others that are open beside it. */
START_TEST(expectation_is_no_claim)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_config config = {.engine = 2, .seed = 1, .held_bytes = 3 << 20};
    struct ltp_span span = pair_span(1);
    ltp_free(p->l[1]);
    ck_assert_int_eq(ltp_new(&p->l[1], &config), 0);
    ck_assert_int_eq(ltp_span_set(p->l[1], &span, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, 0), 0);
    pair_send(p, (1 << 20) - 7000, (1 << 20) - 7000);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    for (uint64_t i = 1; i <= 20; i++) { /* 100 kB in all */
        for (uint64_t k = 0; k < 5; k++) {
            struct ltp_segment s = pair_data(i, LTP_RED, k * 1000, 1000);
            ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
        }
    }
    ck_assert_uint_eq(ltp_counters(p->l[1])->closed[OUTCOME_CANCELLED_LOCAL], 0);
    pair_free(p);
}
END_TEST

SUITE(ltp_limits, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, session_limits);
    tcase_add_test(t, block_limits);
    tcase_add_test(t, held_limit);
    tcase_add_test(t, user_limit);
    tcase_add_test(t, user_limit_passes);
    tcase_add_test(t, range_limit);
    tcase_add_test(t, closed_memory_is_bounded);
    tcase_add_test(t, unacknowledged_cancels_are_bounded);
    tcase_add_test(t, reports_are_bounded);
    tcase_add_test(t, reports_fit_segments);
    tcase_add_test(t, acknowledgements_are_bounded);
    tcase_add_test(t, refusals_are_bounded);
    tcase_add_test(t, expectation_is_no_claim);
}
