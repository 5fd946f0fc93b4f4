/* SPDX-License-Identifier: Apache-2.0 */
/* Reports that wait: what they claim is what is here when they leave; gaps have their time to be
 * filled by segments that were overtaken. */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

/* Engine 2 gets three segments of 100 bytes by hand; the second one is overtaken. */
static struct pair *receiver(tick delay, tick defer)
{
    struct ltp_span from = pair_span(1);
    from.report_delay = delay;
    from.report_defer = defer;
    return pair_new(NULL, &from);
}

static enum verdict feed(struct pair *p, tick at, int type, uint64_t offset)
{
    struct ltp_segment s = pair_data(1, type, offset, 100);
    p->now = at;
    ltp_expire(p->l[1], at);
    enum verdict v = pair_feed(p, 1, &s);
    pair_drain(p);
    return v;
}

/* Time of the first report, and what it claims; 0: none until `end`. */
static tick reported_by(struct pair *p, tick end, uint64_t *claimed)
{
    tick at = 0;
    while (p->flying == 0 && ltp_deadline(p->l[1]) <= end) {
        p->now = ltp_deadline(p->l[1]);
        ltp_expire(p->l[1], p->now);
        pair_drain(p);
    }
    *claimed = 0;
    for (size_t i = 0; i < p->flying; i++) {
        struct ltp_segment s;
        struct range c;
        const struct flight *f = &p->flights[i];
        ck_assert_int_eq(segment_parse(&s, f->bytes, f->len), VERDICT_OK);
        ck_assert_int_eq(s.type, LTP_RS);
        at = f->at - p->delay;
        struct slice rest = s.claims;
        while (segment_claim(&s, &rest, &c))
            *claimed += c.hi - c.lo;
    }
    return at;
}

/* A gap that is filled while the report waits for its processing is no gap. */
START_TEST(claims_are_those_of_the_sending)
{
    uint64_t claimed;
    struct pair *p = receiver(4 * TICK_MS, 0);
    feed(p, 1 * TICK_MS, LTP_RED, 0);
    ck_assert_int_eq(feed(p, 2 * TICK_MS, LTP_RED_CP_EOB, 200), VERDICT_OK);
    ck_assert_int_eq(feed(p, 3 * TICK_MS, LTP_RED_CP_EOB, 200), VERDICT_DUPLICATE);
    ck_assert_uint_eq(p->flying, 0);
    feed(p, 4 * TICK_MS, LTP_RED, 100);
    ck_assert_uint_eq(reported_by(p, TICK_S, &claimed), 6 * TICK_MS);
    ck_assert_uint_eq(claimed, 300);
    ck_assert_uint_eq(p->sent[LTP_RS], 1);
    pair_free(p);
}
END_TEST

/* With and without gaps, that are filled or not, together with the processing or alone. */
START_TEST(gaps_are_waited_for)
{
    static const struct {
        tick delay, defer, filled, reported;
        uint64_t claimed;
    } cases[] = {
        {0, 0, 3, 2, 200},    /* as ever */
        {0, 10, 3, 3, 300},   /* no longer than needed */
        {0, 10, 0, 12, 200},  /* in vain */
        {0, 10, 13, 12, 200}, /* too late */
        {4, 10, 3, 6, 300},   /* filled before the processing is over */
        {4, 10, 8, 8, 300},   {4, 10, 0, 12, 200}, {20, 10, 0, 22, 200}, /* the longer of the two */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t claimed;
        struct pair *p = receiver(cases[i].delay * TICK_MS, cases[i].defer * TICK_MS);
        feed(p, 1 * TICK_MS, LTP_RED, 0);
        feed(p, 2 * TICK_MS, LTP_RED_CP_EOB, 200);
        tick at = 0;
        if (cases[i].filled > 0)
            at = reported_by(p, cases[i].filled * TICK_MS - 1, &claimed);
        if (at == 0 && cases[i].filled > 0)
            feed(p, cases[i].filled * TICK_MS, LTP_RED, 100);
        at = at != 0 ? at : reported_by(p, TICK_S, &claimed);
        ck_assert_msg(at == cases[i].reported * TICK_MS && claimed == cases[i].claimed,
                      "case %zu: %llu, %llu", i, (unsigned long long)at,
                      (unsigned long long)claimed);
        pair_free(p);
    }
}
END_TEST

/* Nothing is missing: nothing waits. */
START_TEST(without_gaps_at_once)
{
    uint64_t claimed;
    struct pair *p = receiver(0, TICK_S);
    feed(p, 1 * TICK_MS, LTP_RED, 0);
    feed(p, 2 * TICK_MS, LTP_RED, 100);
    feed(p, 3 * TICK_MS, LTP_RED_CP_EOB, 200);
    ck_assert_uint_eq(reported_by(p, TICK_S, &claimed), 3 * TICK_MS);
    ck_assert_uint_eq(claimed, 300);
    pair_free(p);
}
END_TEST

/* What waits has its limits, and goes when its session does. */
START_TEST(waiting_checkpoints_are_bounded)
{
    struct pair *p = receiver(TICK_S, 0);
    struct ltp_segment s = pair_data(1, LTP_RED_CP, 0, 100);
    uint8_t bytes[300];
    enum verdict v = VERDICT_OK;
    uint64_t n = 0;
    for (; v == VERDICT_OK || v == VERDICT_DUPLICATE; n++) {
        s.cp_serial = n + 1;
        v = ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), p->now);
    }
    ck_assert_int_eq(v, VERDICT_LIMIT_REPORTS);
    ck_assert_uint_eq(n, 4097);
    ltp_check(p->l[1]);
    pair_run(p);
    ck_assert_int_eq(p->last[LTP_IMPORT_CANCELLED].reason, LTP_RLEXC);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* The user accepts: all of it is claimed once, after its processing. */
START_TEST(acceptance_waits_too)
{
    uint64_t claimed;
    struct ltp_span from = pair_span(1);
    from.report_delay = 4 * TICK_MS;
    from.report_defer = 10 * TICK_MS;
    from.confirm_import = true;
    struct pair *p = pair_new(NULL, &from);
    feed(p, 1 * TICK_MS, LTP_RED, 0);
    feed(p, 2 * TICK_MS, LTP_RED_CP_EOB, 200);
    feed(p, 7 * TICK_MS, LTP_RED, 100);
    ck_assert_uint_eq(reported_by(p, TICK_S, &claimed), 7 * TICK_MS);
    ck_assert_uint_eq(claimed, 300);
    pair_free(p);
}
END_TEST

/* A channel that reorders and loses nothing: every segment takes 5 ms and up to 3 ms more. */
static uint64_t resent(tick defer, uint64_t *reports)
{
    struct rng rng;
    rng_init(&rng, 5);
    struct ltp_span from = pair_span(1);
    from.report_defer = defer;
    struct pair *p = pair_new(NULL, &from);
    uint8_t head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    for (int i = 0; i < 20; i++) {
        pair_send(p, 100000, 100000);
        while (ltp_output(p->l[0], 2, p->now, &out) != 0) {
            p->delay = 5 * TICK_MS + rng_below(&rng, 3 * TICK_MS);
            pair_fly(p, 1, &out);
        }
        p->delay = 5 * TICK_MS;
        pair_run(p);
    }
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 20);
    uint64_t n = ltp_counters(p->l[0])->retransmitted_bytes;
    *reports = p->sent[LTP_RS];
    pair_free(p);
    return n;
}

START_TEST(needless_repetitions)
{
    uint64_t reports[2];
    uint64_t without = resent(0, &reports[0]), with = resent(3 * TICK_MS, &reports[1]);
    ck_assert_uint_ge(without, 500000); /* of 2 MB, all of it needless */
    ck_assert_uint_eq(with, 0);
    ck_assert_uint_eq(reports[1], 20);
    ck_assert_uint_ge(reports[0], 40);
}
END_TEST

SUITE(ltp_defer, t)
{
    tcase_add_test(t, claims_are_those_of_the_sending);
    tcase_add_test(t, gaps_are_waited_for);
    tcase_add_test(t, without_gaps_at_once);
    tcase_add_test(t, waiting_checkpoints_are_bounded);
    tcase_add_test(t, acceptance_waits_too);
    tcase_add_test(t, needless_repetitions);
}
