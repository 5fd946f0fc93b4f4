/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that change while something is open, queued or timed: all goes on, within the new limits.
 */
#include "ltp_pair.h"
#include "tests/unit/suite.h"

static void change(struct pair *p, int i, uint32_t segment_max, uint32_t claims_max)
{
    struct ltp_span span = pair_span((uint64_t)(2 - i));
    span.segment_max = segment_max;
    span.claims_max = claims_max;
    ck_assert_int_eq(ltp_span_set(p->l[i], &span, p->now), 0);
    ltp_check(p->l[i]);
    p->largest = 0;
}

/* Every second of 60 segments is lost; what the receiver then says waits for its link. */
static struct pair *report_waits(tick delay)
{
    struct ltp_span from = pair_span(1);
    from.report_delay = delay;
    struct pair *p = pair_new(NULL, &from);
    for (uint64_t i = 0; i < 60; i += 2)
        pair_drop(p, LTP_RED, i);
    ltp_link(p->l[1], 1, false, 0);
    pair_send(p, 60000, 60000);
    pair_run_until(p, 6 * TICK_MS);
    ck_assert_uint_eq(p->sent[LTP_RS], 0);
    return p;
}

static void goes_on(struct pair *p, size_t len)
{
    ltp_link(p->l[1], 1, true, p->now);
    pair_run(p);
    pair_assert_red(p, len);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_idle(p);
    pair_free(p);
}

START_TEST(reports_that_wait_are_divided)
{
    struct pair *p = report_waits(0);
    change(p, 1, 64, 0);
    pair_drain(p);
    ltp_link(p->l[1], 1, true, p->now);
    pair_drain(p);
    ck_assert_uint_ge(p->sent[LTP_RS], 3);
    ck_assert_uint_le(p->largest, 64);
    goes_on(p, 60000);
}
END_TEST

/* Before they are due, and divided once more. */
START_TEST(reports_that_are_delayed)
{
    struct pair *p = report_waits(10 * TICK_MS);
    change(p, 1, 100, 0);
    change(p, 1, 64, 0);
    ltp_link(p->l[1], 1, true, p->now);
    pair_run_until(p, 14 * TICK_MS);
    ck_assert_uint_eq(p->sent[LTP_RS], 0);
    pair_run_until(p, 17 * TICK_MS);
    ck_assert_uint_ge(p->sent[LTP_RS], 3);
    ck_assert_uint_le(p->largest, 64);
    goes_on(p, 60000);
}
END_TEST

/* One that was sent and is not acknowledged is sent again in parts; the acknowledgement of the
 * whole one then comes as well. */
START_TEST(reports_that_were_sent)
{
    struct ltp_span from = pair_span(1);
    from.rto = 7 * TICK_MS; /* again before it is acknowledged */
    struct pair *p = pair_new(NULL, &from);
    for (uint64_t i = 0; i < 60; i += 2)
        pair_drop(p, LTP_RED, i);
    pair_send(p, 60000, 60000);
    pair_run_until(p, 6 * TICK_MS);
    ck_assert_uint_eq(p->sent[LTP_RS], 1);
    from.segment_max = 64;
    ck_assert_int_eq(ltp_span_set(p->l[1], &from, p->now), 0);
    p->largest = 0;
    pair_drain(p);
    ck_assert_uint_ge(p->sent[LTP_RS], 3);
    ck_assert_uint_le(p->largest, 64);
    goes_on(p, 60000);
}
END_TEST

/* A checkpoint with a thousand bytes of data is lost; what goes again is its end, and the report
 * asks for the rest. */
START_TEST(checkpoints_are_shortened)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_send(p, 1000, 1000);
    pair_run_until(p, TICK_MS);
    change(p, 0, 64, 0);
    pair_run_until(p, 31 * TICK_MS);
    ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], 2);
    ck_assert_uint_gt(p->largest, 0);
    ck_assert_uint_le(p->largest, 64);
    goes_on(p, 1000);
}
END_TEST

/* No data segment is longer than the span says, whenever it is changed. */
START_TEST(data_in_the_middle)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED, 3);
    pair_drop(p, LTP_RED, 5);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_send(p, 60000, 60000);
    uint8_t head[1024];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(ltp_output(p->l[0], 2, p->now, &out), 1);
        pair_fly(p, 1, &out);
    }
    change(p, 0, 64, 0);
    out.head_cap = LTP_HEAD_MAX;
    while (ltp_output(p->l[0], 2, p->now, &out) != 0)
        pair_fly(p, 1, &out);
    pair_run_until(p, 200 * TICK_MS);
    ck_assert_uint_le(p->largest, 64);
    goes_on(p, 60000);
}
END_TEST

SUITE(ltp_live_span, t)
{
    tcase_add_test(t, reports_that_wait_are_divided);
    tcase_add_test(t, reports_that_are_delayed);
    tcase_add_test(t, reports_that_were_sent);
    tcase_add_test(t, checkpoints_are_shortened);
    tcase_add_test(t, data_in_the_middle);
}
