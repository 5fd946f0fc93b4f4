/* SPDX-License-Identifier: Apache-2.0 */
/* The two ways of a link, each known by itself (RFC 5326 §6.1, §6.4 and §6.5, §6.6); and whom an
 * answer for no session goes to when there are several peers. */
#include "ltp_pair.h"
#include "tests/unit/suite.h"

static void ways(struct pair *p, int i, unsigned which, bool up)
{
    ck_assert_int_eq(ltp_link_directions(p->l[i], (uint64_t)(2 - i), which, up, p->now), 0);
    ltp_check(p->l[i]);
}

static uint64_t fired(const struct pair *p, int i)
{
    const struct ltp_counters *n = ltp_counters(p->l[i]);
    return n->timers[TIMER_CHECKPOINT] + n->timers[TIMER_REPORT];
}

/* §6.4, §6.1: we do not transmit, the peer does. What was sent is still waited for. */
START_TEST(transmission_stops)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_send(p, 3000, 3000);
    pair_drain(p);
    ways(p, 0, LTP_TRANSMIT, false);
    pair_run_until(p, 20 * TICK_MS); /* its report comes, its acknowledgement waits */
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    ck_assert_uint_eq(p->sent[LTP_RA], 0);
    pair_send(p, 3000, 3000);
    pair_run_until(p, 25 * TICK_MS);
    ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], 1);
    ways(p, 0, LTP_TRANSMIT, true);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 2);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* A timer runs out meanwhile: once, and what it is for goes when we transmit again. */
START_TEST(timers_run_while_we_do_not_transmit)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_send(p, 3000, 3000);
    pair_drain(p);
    ways(p, 0, LTP_TRANSMIT, false);
    pair_run_until(p, 900 * TICK_MS);
    ck_assert_uint_eq(fired(p, 0), 1);
    ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], 1);
    ways(p, 0, LTP_TRANSMIT, true);
    pair_run(p);
    ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], 2);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* §6.5, §6.6: the peer does not transmit, we do. Timers that run stand still, and so do those that
 * begin; they go on from there. */
START_TEST(reception_stops)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_drop(p, LTP_RED_CP_EOB, 1);
    pair_send(p, 3000, 3000);
    pair_run_until(p, 10 * TICK_MS);
    ways(p, 0, LTP_RECEIVE, false);
    pair_run_until(p, 500 * TICK_MS);
    pair_send(p, 2000, 2000);
    pair_run_until(p, 1000 * TICK_MS);
    ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], 2); /* it was sent, and is not waited for */
    ck_assert_uint_eq(fired(p, 0), 0);
    ck_assert_uint_eq(ltp_deadline(p->l[0]), TICK_NEVER);
    ways(p, 0, LTP_RECEIVE, true);
    ck_assert_uint_eq(ltp_deadline(p->l[0]), 1020 * TICK_MS);
    pair_run_until(p, 1029 * TICK_MS);
    ck_assert_uint_eq(fired(p, 0), 1);
    pair_run(p);
    ck_assert_uint_eq(fired(p, 0), 2);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 2);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* The same of a receiver's reports. */
START_TEST(reception_of_acknowledgements_stops)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RS, 0);
    pair_send(p, 3000, 3000);
    pair_run_until(p, 6 * TICK_MS);
    ways(p, 1, LTP_RECEIVE, false);
    ways(p, 0, LTP_RECEIVE, false);
    pair_run_until(p, 1000 * TICK_MS);
    ck_assert_uint_eq(fired(p, 0) + fired(p, 1), 0);
    ways(p, 0, LTP_RECEIVE, true);
    ways(p, 1, LTP_RECEIVE, true);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

static enum verdict from(struct ltp *l, const struct ltp_segment *s, const char *source)
{
    uint8_t bytes[200];
    size_t len = segment_write(s, bytes, sizeof bytes);
    return ltp_input_from(l, bytes, len, slice_of(source, strlen(source)), TICK_MS);
}

static int waits_for(struct ltp *l, uint64_t peer)
{
    uint8_t head[1400];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    int type = ltp_output(l, peer, TICK_MS, &out) != 0 ? head[0] & 15 : -1;
    ck_assert(!ltp_has_output(l, peer));
    return type;
}

/* §6.13, §6.17: a report and a cancel of sessions of ours that we know nothing of. */
START_TEST(unknown_sessions_of_several_peers)
{
    struct ltp_config config = {.engine = 1, .seed = 3};
    struct ltp *l;
    ck_assert_int_eq(ltp_new(&l, &config), 0);
    for (uint64_t peer = 2; peer <= 5; peer++) {
        struct ltp_span span = pair_span(peer);
        ck_assert_int_eq(ltp_span_set(l, &span, 0), 0);
        ck_assert_int_eq(ltp_link(l, peer, true, 0), 0);
    }
    ck_assert_int_eq(ltp_source(l, 2, slice_of("two", 3), 0), 0);
    ck_assert_int_eq(ltp_source(l, 3, slice_of("three", 5), 0), 0);
    ck_assert_int_eq(ltp_source(l, 4, slice_of("same", 4), 0), 0);
    ck_assert_int_eq(ltp_source(l, 5, slice_of("same", 4), 0), 0);
    ck_assert_int_eq(ltp_source(l, 9, slice_of("nine", 4), 0), HELIO_ENOENT);
    struct range claim = {0, 100};
    struct ltp_segment rs = {.type = LTP_RS,
                             .id = {1, 77},
                             .rpt_serial = 5,
                             .cp_serial = 6,
                             .upper = 100,
                             .claim_count = 1};
    uint8_t bytes[200];
    size_t len = segment_write_report(&rs, &claim, bytes, sizeof bytes);
    ck_assert_int_eq(ltp_input_from(l, bytes, len, slice_of("three", 5), TICK_MS),
                     VERDICT_UNKNOWN_SESSION);
    ck_assert_int_eq(waits_for(l, 3), LTP_RA);
    struct ltp_segment cr = {.type = LTP_CR, .id = {1, 78}, .reason = 1};
    from(l, &cr, "two");
    ck_assert_int_eq(waits_for(l, 2), LTP_CAR);
    static const char *const nobody[] = {"elsewhere", "same", ""};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(from(l, &cr, nobody[i]), VERDICT_UNKNOWN_PEER);
    for (uint64_t peer = 2; peer <= 5; peer++)
        ck_assert_int_eq(waits_for(l, peer), -1);
    ltp_check(l);
    ltp_free(l);
}
END_TEST

/* §7.1: the sender's session starts with the call, the receiver's with its first segment. */
START_TEST(the_receiver_hears_of_the_start)
{
    struct ltp_config config = {.engine = 2, .seed = 3, .tell_start = _i == 1};
    struct ltp_span span = pair_span(1);
    struct pair *p = pair_new(NULL, NULL);
    ltp_free(p->l[1]);
    ck_assert_int_eq(ltp_new(&p->l[1], &config), 0);
    ck_assert_int_eq(ltp_span_set(p->l[1], &span, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, 0), 0);
    struct ltp_session_id id = pair_send(p, 30000, 20000);
    pair_run_until(p, 5 * TICK_MS);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_START], _i == 1 ? 1 : 0);
    ck_assert(_i == 0 || p->last[LTP_IMPORT_START].id.number == id.number);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_START], _i == 1 ? 1 : 0);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

SUITE(ltp_ways, t)
{
    tcase_add_test(t, transmission_stops);
    tcase_add_test(t, timers_run_while_we_do_not_transmit);
    tcase_add_test(t, reception_stops);
    tcase_add_test(t, reception_of_acknowledgements_stops);
    tcase_add_test(t, unknown_sessions_of_several_peers);
    tcase_add_loop_test(t, the_receiver_hears_of_the_start, 0, 2);
}
