/* SPDX-License-Identifier: Apache-2.0 */
/* The timer that follows the path, begun too short: what it learns, and what that costs. */
#include "ltp_pair.h"

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

/* A round trip of 20 and of 27 times the configured timer: no session is given up, and after the
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

int main(void)
{
    Suite *s = suite_create("ltp rto");
    TCase *t = tcase_create("rto");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, learns_upward, 0, 2);
    tcase_add_test(t, path_gets_longer);
    tcase_add_test(t, light_takes_longer);
    tcase_add_loop_test(t, nobody_answers, 0, 2);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
