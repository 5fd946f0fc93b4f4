/* SPDX-License-Identifier: Apache-2.0 */
/* The timer that follows the path, begun too short: what it learns, and what that costs. Toward a
 * receiver that may count checkpoints it only grows. */
#include "ltp_pair.h"
#include "tests/unit/suite.h"

#define SESSIONS 5

static struct ltp_span too_short(uint64_t peer)
{
    struct ltp_span span = pair_span(peer); /* 30 ms */
    span.export_sessions = SESSIONS;
    span.recovery.rto_auto = true;
    return span;
}

static struct pair *pair_far(tick delay)
{
    struct ltp_span to = too_short(2), from = too_short(1);
    struct pair *p = pair_new(&to, &from);
    p->delay = delay;
    return p;
}

/* Sessions as fast as the window allows. */
static uint64_t transfer(struct pair *p, tick end)
{
    uint64_t sent = 0;
    while (p->now < end) {
        while (ltp_room(p->l[0], 2) > 0) {
            pair_send(p, 3000, 3000);
            sent++;
        }
        pair_step(p);
    }
    pair_run(p);
    return sent;
}

/* A round trip of 20 and of 27 times the configured timer: no session fails, and after the
 * first ones no timer runs out. */
START_TEST(learns_upward)
{
    static const tick delays[] = {300 * TICK_MS, 400 * TICK_MS};
    struct pair *p = pair_far(delays[_i]);
    uint64_t sent = transfer(p, 20 * TICK_S);
    ck_assert_uint_gt(sent, SESSIONS * 20);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], sent);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 0);
    for (int i = 0; i < 2; i++) {
        const struct ltp_counters *n = ltp_counters(p->l[i]);
        ck_assert_uint_le(n->timers[TIMER_CHECKPOINT] + n->timers[TIMER_REPORT], 8 * SESSIONS);
    }
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* The path gets 30 times longer after much was measured. */
START_TEST(path_gets_longer)
{
    struct pair *p = pair_far(5 * TICK_MS);
    transfer(p, 2 * TICK_S);
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], 0);
    p->delay = 150 * TICK_MS;
    transfer(p, 60 * TICK_S);
    uint64_t fired = ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT];
    uint64_t sent = transfer(p, 80 * TICK_S);
    ck_assert_uint_gt(sent, SESSIONS * 20);
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], fired);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 0);
    pair_free(p);
}
END_TEST

/* The same, known as light times are: the timer moves with it, and none runs out; and shrinks. */
START_TEST(light_takes_longer)
{
    struct ltp_span to = too_short(2);
    struct pair *p = pair_far(5 * TICK_MS);
    transfer(p, 2 * TICK_S);
    to.round_trip = 10 * TICK_MS;
    for (tick light = 5 * TICK_MS; light <= 150 * TICK_MS; light += 29 * TICK_MS) {
        p->delay = light;
        to.round_trip = 2 * light;
        to.rto = 2 * light + 20 * TICK_MS;
        /* The first one has no former light time to move from. */
        ck_assert_int_eq(ltp_span_set(p->l[0], &to, p->now), 0);
        transfer(p, p->now + 2 * TICK_S);
    }
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], 0);
    to.round_trip = 10 * TICK_MS;
    p->delay = 5 * TICK_MS;
    ck_assert_int_eq(ltp_span_set(p->l[0], &to, p->now), 0);
    transfer(p, p->now + 2 * TICK_S);
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], 0);
    /* It is as short as it was: what is lost is sent again soon. */
    pair_drop(p, LTP_RED_CP_EOB, p->sent[LTP_RED_CP_EOB]);
    tick lost = p->now;
    pair_send(p, 700, 700);
    pair_run(p);
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], 1);
    ck_assert_uint_lt(p->now - lost, 60 * TICK_MS);
    pair_free(p);
}
END_TEST

/* A peer that is not there: the timer of one checkpoint grows to 8 times the first, or to rto_max,
 * and that of the next one begins as the first did. */
START_TEST(nobody_answers)
{
    struct ltp_span to = too_short(2);
    to.recovery.rto_max = _i == 1 ? 100 * TICK_MS : 0;
    struct pair *p = pair_new(&to, NULL);
    for (uint64_t i = 0; i < 21; i++)
        pair_drop(p, LTP_RED_CP_EOB, i);
    pair_send(p, 100, 100);
    while (p->notices[LTP_EXPORT_CANCELLED] == 0)
        pair_step(p);
    const tick gave_up = p->now;
    pair_run_until(p, 100 * TICK_S);
    ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], 21);
    /* 30 + 60 + 120 + 18 x 240 ms, or 30 + 60 + 19 x 100 ms */
    ck_assert_uint_eq(gave_up, _i == 1 ? 1990 * TICK_MS : 4530 * TICK_MS);
    tick last = 30 * TICK_MS;
    tick begun = p->now;
    for (uint64_t i = 21; i < 42; i++)
        pair_drop(p, LTP_RED_CP_EOB, i);
    pair_send(p, 100, 100);
    pair_drain(p);
    ck_assert_uint_eq(ltp_deadline(p->l[0]) - begun, last);
    /* there it is: the first answer to what was sent once ends it */
    p->drop_count = 0;
    pair_run_until(p, p->now + 100 * TICK_S);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_send(p, 100, 100);
    pair_run_until(p, p->now + 100 * TICK_S);
    pair_drop(p, LTP_RED_CP_EOB, p->sent[LTP_RED_CP_EOB]);
    begun = p->now;
    pair_send(p, 100, 100);
    pair_drain(p);
    ck_assert_uint_lt(ltp_deadline(p->l[0]) - begun, 31 * TICK_MS);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 3);
    pair_free(p);
}
END_TEST

/* A link with the default recovery to a receiver of which nothing is known. */
static struct ltp_span careful(uint64_t peer, enum ltp_profile profile)
{
    struct ltp_span span = pair_span(peer);
    span.rto = 60 * TICK_MS;
    span.round_trip = 40 * TICK_MS;
    span.export_sessions = SESSIONS;
    span.recovery = ltp_recovery_default;
    span.profile = profile;
    return span;
}

static struct pair *pair_careful(enum ltp_profile profile, tick answer)
{
    struct ltp_span to = careful(2, profile), from = pair_span(1);
    from.rto = 2 * TICK_S;
    from.report_delay = answer;
    struct pair *p = pair_new(&to, &from);
    p->delay = 20 * TICK_MS;
    return p;
}

/* The receiver takes 220 ms for a report, 4 times as long as the configured timer: only the first
 * sessions' checkpoints are repeated. With 600 ms it takes 10 times as long. */
START_TEST(grows_toward_ion)
{
    struct pair *p = pair_careful(LTP_PROFILE_ION, (_i == 0 ? 200 : 600) * TICK_MS);
    uint64_t sent = transfer(p, 20 * TICK_S);
    ck_assert_uint_gt(sent, SESSIONS * 20);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], sent);
    ck_assert_uint_le(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], 8 * SESSIONS);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* Drops all checkpoints from now on and returns how long the session lasts. */
static tick give_up(struct pair *p)
{
    p->drop_count = 0;
    uint64_t given_up = p->notices[LTP_EXPORT_CANCELLED], first = p->sent[LTP_RED_CP_EOB];
    for (uint64_t i = 0; i < 21; i++)
        pair_drop(p, LTP_RED_CP_EOB, first + i);
    const tick begun = p->now;
    pair_send(p, 100, 100);
    while (p->notices[LTP_EXPORT_CANCELLED] == given_up)
        pair_step(p);
    ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], first + 21);
    return p->now - begun;
}

/* Nobody answers. Each firing doubles what the timer has beyond the light time, up to 512 times:
 * 60, 80, 120 … 5160, 10280 ms; up to rto_max; all of it where the light time is not known: 60, 120
 * … */
START_TEST(each_firing_backs_off)
{
    struct ltp_span to = careful(2, LTP_PROFILE_ION);
    to.recovery.rto_max = _i == 1 ? 100 * TICK_MS : 0;
    to.round_trip = _i == 2 ? 0 : to.round_trip;
    static const tick wanted[] = {9 * 40 + 20 * 511 + 12 * 10280, 60 + 80 + 19 * 100,
                                  60 * 511 + 12 * 30720};
    struct pair *p = pair_new(&to, NULL);
    ck_assert_uint_eq(give_up(p), wanted[_i] * TICK_MS);
    ck_assert_uint_eq(give_up(p), wanted[_i] * TICK_MS); /* silence teaches nothing */
    pair_free(p);
}
END_TEST

/* Plain is plain: 21 times the configured timer, also after answers that took longer. */
START_TEST(plain_is_fixed)
{
    struct ltp_span to = careful(2, LTP_PROFILE_PLAIN), from = pair_span(1);
    if (_i == 1) {
        to.profile = LTP_PROFILE_AUTO;
        to.recovery = ltp_recovery_plain;
    }
    from.report_delay = 30 * TICK_MS;
    struct pair *p = pair_new(&to, &from);
    p->delay = 20 * TICK_MS;
    transfer(p, TICK_S);
    ck_assert_uint_gt(p->notices[LTP_EXPORT_DONE], 0);
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], p->notices[LTP_EXPORT_DONE]);
    ck_assert_uint_eq(give_up(p), 21 * 60 * TICK_MS);
    pair_free(p);
}
END_TEST

/* How long the timer of the next checkpoint is; the checkpoint is lost. */
static tick next_timer(struct pair *p)
{
    p->drop_count = 0;
    pair_drop(p, LTP_RED_CP_EOB, p->sent[LTP_RED_CP_EOB]);
    const tick begun = p->now;
    pair_send(p, 100, 100);
    pair_drain(p);
    return ltp_deadline(p->l[0]) - begun;
}

/* Never shorter than the configured timer, however fast the answers are. An answer to what was
 * repeated says how long the next timers are, an answer to what was sent once ends that. */
START_TEST(never_below_the_configured)
{
    struct ltp_span to = careful(2, LTP_PROFILE_ION);
    struct pair *p = pair_new(&to, NULL);
    p->delay = 5 * TICK_MS;
    transfer(p, TICK_S);
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], 0);
    ck_assert_uint_eq(next_timer(p), 60 * TICK_MS);
    pair_run(p);
    const tick took = 70 * TICK_MS; /* the timer and the round trip */
    ck_assert_uint_eq(next_timer(p), took + took / 8);
    pair_run(p);
    p->drop_count = 0;
    pair_send(p, 100, 100);
    pair_run(p);
    ck_assert_uint_eq(next_timer(p), 60 * TICK_MS);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 0);
    pair_free(p);
}
END_TEST

/* Over 20 minutes of light time a loss costs one more round trip, not two, and so does the next. */
START_TEST(light_time_is_not_doubled)
{
    struct ltp_span to = careful(2, LTP_PROFILE_ION);
    to.round_trip = 2400 * TICK_S;
    to.rto = to.round_trip + 20 * TICK_MS;
    struct ltp_span from = to;
    from.peer = 1;
    struct pair *p = pair_new(&to, &from);
    p->delay = 1200 * TICK_S;
    for (uint64_t i = 0; i < 3; i++)
        pair_drop(p, LTP_RED_CP_EOB, i);
    pair_send(p, 100, 100);
    while (p->notices[LTP_EXPORT_DONE] == 0)
        pair_step(p);
    ck_assert_uint_eq(p->now, 4 * to.round_trip + (20 + 40 + 80) * TICK_MS);
    ck_assert_uint_lt(next_timer(p), to.round_trip + 2 * TICK_S);
    pair_free(p);
}
END_TEST

/* A receiver divides its answer: one checkpoint follows for all parts, at once when the last part
 * is here, after a timer when that one is lost (_i 1) or one between them (_i 2). */
START_TEST(one_checkpoint_for_all_parts)
{
    struct ltp_span to = careful(2, LTP_PROFILE_ION), from = pair_span(1);
    from.segment_max = to.segment_max;
    from.claims_max = 2;
    from.rto = 2 * TICK_S;
    struct pair *p = pair_new(&to, &from);
    p->delay = 20 * TICK_MS;
    for (uint64_t i = 1; i < 14; i += 2)
        pair_drop(p, LTP_RED, i);
    if (_i > 0)
        pair_drop(p, LTP_RS, _i == 1 ? 3 : 1);
    pair_send(p, 20000, 20000);
    pair_run_until(p, 45 * TICK_MS);
    ck_assert_uint_eq(p->sent[LTP_RS], 4);
    ck_assert_uint_eq(p->sent[LTP_RED_CP], _i == 1 ? 0 : 1);
    pair_run(p);
    ck_assert_uint_eq(p->sent[LTP_RED_CP], _i == 0 ? 1 : 2);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_red(p, 20000);
    pair_free(p);
}
END_TEST

SUITE(ltp_rto, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, learns_upward, 0, 2);
    tcase_add_test(t, path_gets_longer);
    tcase_add_test(t, light_takes_longer);
    tcase_add_loop_test(t, nobody_answers, 0, 2);
    tcase_add_loop_test(t, grows_toward_ion, 0, 2);
    tcase_add_loop_test(t, each_firing_backs_off, 0, 3);
    tcase_add_loop_test(t, plain_is_fixed, 0, 2);
    tcase_add_test(t, never_below_the_configured);
    tcase_add_test(t, light_time_is_not_doubled);
    tcase_add_loop_test(t, one_checkpoint_for_all_parts, 0, 3);
}
