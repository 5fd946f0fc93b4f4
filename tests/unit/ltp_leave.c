/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that are removed: what was open is told, nothing grows, and what is over stays over when
 * the peer has a span again. */
#include <malloc.h>

#include "ltp_pair.h"
#include "tests/unit/suite.h"

/* A data segment of this engine's session. */
static enum verdict feed(struct ltp *l, uint64_t engine, uint64_t number, int type, uint64_t offset)
{
    uint8_t bytes[2000];
    struct ltp_segment s = pair_data(number, type, offset, 100);
    s.id.originator = engine;
    size_t len = segment_write(&s, bytes, sizeof bytes);
    return ltp_input(l, bytes, len, 0);
}

static uint64_t drain_notices(struct ltp *l, enum ltp_notice_kind kind)
{
    struct ltp_notice n;
    uint64_t found = 0;
    while (ltp_poll(l, &n) != 0) {
        found += n.kind == kind;
        buf_drop(n.data);
    }
    return found;
}

START_TEST(what_is_open_is_told)
{
    struct pair *p = pair_new(NULL, NULL);
    for (int i = 0; i < 3; i++)
        pair_send(p, 50000, 50000);
    pair_run_until(p, 6 * TICK_MS); /* all was sent, no report came back */
    ck_assert_uint_eq(ltp_sessions(p->l[0], NULL, 0), 3);
    ck_assert_int_eq(ltp_span_remove(p->l[0], 2, p->now), 0);
    ltp_check(p->l[0]);
    ck_assert_uint_eq(ltp_sessions(p->l[0], NULL, 0), 0);
    ck_assert_uint_eq(drain_notices(p->l[0], LTP_EXPORT_CANCELLED), 3);
    ck_assert_int_eq(ltp_span_remove(p->l[0], 2, p->now), HELIO_ENOENT);
    ck_assert_int_eq(ltp_link(p->l[0], 2, true, p->now), HELIO_ENOENT);
    ck_assert_uint_eq(ltp_room(p->l[0], 2), 0);
    uint8_t head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    ck_assert_int_eq(ltp_output(p->l[0], 2, p->now, &out), 0);
    /* the other side's reports come late, and find nobody */
    pair_run_until(p, 20 * TICK_MS);
    ck_assert(ltp_idle(p->l[0]));
    ck_assert_uint_eq(ltp_deadline(p->l[0]), TICK_NEVER);
    pair_free(p);
}
END_TEST

START_TEST(what_the_peer_sends_ends_too)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_send(p, 50000, 50000);
    pair_run_until(p, 6 * TICK_MS);
    ck_assert_uint_eq(ltp_sessions(p->l[1], NULL, 0), 1);
    ck_assert_int_eq(ltp_span_remove(p->l[1], 1, p->now), 0);
    ltp_check(p->l[1]);
    ck_assert_uint_eq(drain_notices(p->l[1], LTP_IMPORT_CANCELLED), 1);
    struct ltp_segment s = pair_data(4711, LTP_RED, 0, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_PEER);
    ck_assert(ltp_idle(p->l[1]));
    pair_free(p);
}
END_TEST

/* The peer believes that we have what we claimed: when it asks again, over its new span, it hears
 * that the session is over. */
START_TEST(what_is_over_stays_over)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_span span = pair_span(1);
    ck_assert_int_eq(feed(p->l[1], 1, 9, LTP_RED, 0), VERDICT_OK);
    ck_assert_int_eq(ltp_span_remove(p->l[1], 1, 0), 0);
    ck_assert_int_eq(feed(p->l[1], 1, 9, LTP_RED, 100), VERDICT_CLOSED_SESSION);
    ck_assert_int_eq(feed(p->l[1], 1, 9, LTP_RED_CP, 100), VERDICT_CLOSED_SESSION);
    ltp_check(p->l[1]);
    ck_assert_uint_eq(drain_notices(p->l[1], LTP_IMPORT_CANCELLED), 1);
    ck_assert(ltp_idle(p->l[1]));
    ck_assert_int_eq(ltp_span_set(p->l[1], &span, 0), 0);
    ltp_check(p->l[1]);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, 0), 0);
    ck_assert_int_eq(feed(p->l[1], 1, 9, LTP_RED_CP, 100), VERDICT_CLOSED_SESSION);
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 1);
    ck_assert_int_eq(feed(p->l[1], 1, 10, LTP_RED, 0), VERDICT_OK);
    pair_free(p);
}
END_TEST

START_TEST(spans_are_set_again)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_span to = pair_span(2), from = pair_span(1);
    for (uint64_t i = 1; i <= 20; i++) {
        pair_send(p, 20000, 20000);
        pair_run(p);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], i);
        ck_assert_int_eq(ltp_span_remove(p->l[0], 2, p->now), 0);
        ck_assert_int_eq(ltp_span_remove(p->l[1], 1, p->now), 0);
        pair_assert_idle(p);
        ck_assert_int_eq(ltp_span_set(p->l[0], &to, p->now), 0);
        ck_assert_int_eq(ltp_span_set(p->l[1], &from, p->now), 0);
        ck_assert_int_eq(ltp_link(p->l[0], 2, true, p->now), 0);
        ck_assert_int_eq(ltp_link(p->l[1], 1, true, p->now), 0);
        ltp_check(p->l[0]);
        ltp_check(p->l[1]);
    }
    pair_free(p);
}
END_TEST

/* Each peer sends, is owed a report, has something cancelled, and goes; its number never comes
 * again. */
static void come_and_go(struct ltp *l, uint64_t first, uint64_t last)
{
    for (uint64_t engine = first; engine < last; engine++) {
        struct ltp_span span = pair_span(engine);
        ck_assert_int_eq(ltp_span_set(l, &span, 0), 0);
        ck_assert_int_eq(ltp_link(l, engine, true, 0), 0);
        for (uint64_t number = 1; number <= 3; number++) {
            ck_assert_int_eq(feed(l, engine, number, LTP_RED, 0), VERDICT_OK);
            ck_assert_int_eq(feed(l, engine, number, LTP_RED_CP, 200), VERDICT_OK);
        }
        ck_assert_int_eq(ltp_span_remove(l, engine, 0), 0);
        ck_assert_uint_eq(drain_notices(l, LTP_IMPORT_CANCELLED), 3);
        if (engine % 500 == 0)
            ltp_check(l);
    }
}

START_TEST(ten_thousand_spans)
{
    struct ltp *l;
    struct ltp_config config = {.engine = 2, .seed = 5};
    ck_assert_int_eq(ltp_new(&l, &config), 0);
    come_and_go(l, 10, 1010);
    const size_t before = mallinfo2().uordblks;
    come_and_go(l, 1010, 11010);
    const size_t after = mallinfo2().uordblks;
    ltp_check(l);
    ck_assert(ltp_idle(l));
    ck_assert_msg(after <= before + 4096, "%zu bytes, then %zu", before, after);
    ltp_free(l);
}
END_TEST

SUITE(ltp_leave, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, what_is_open_is_told);
    tcase_add_test(t, what_the_peer_sends_ends_too);
    tcase_add_test(t, what_is_over_stays_over);
    tcase_add_test(t, spans_are_set_again);
    tcase_add_test(t, ten_thousand_spans);
}
