/* SPDX-License-Identifier: Apache-2.0 */
/* Time in which an engine's caller did not run is not counted against the peer. */
#include "ltp_pair.h"
#include "tests/unit/suite.h"

/* The checkpoint is lost, and the caller stalls for 40 ms before the timer of 30 ms runs out. */
START_TEST(timers_run_on)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_send(p, 100, 100);
    pair_drain(p);
    ck_assert_uint_eq(ltp_deadline(p->l[0]), 30 * TICK_MS);
    p->now = 50 * TICK_MS; /* it should have run at 10 ms, with 20 ms to go */
    ltp_late(p->l[0], 40 * TICK_MS);
    ltp_check(p->l[0]);
    ck_assert_uint_eq(ltp_deadline(p->l[0]), 70 * TICK_MS);
    ltp_expire(p->l[0], p->now);
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], 0);
    pair_run(p);
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    ck_assert_uint_eq(p->now, 70 * TICK_MS + 3 * p->delay);
    pair_free(p);
}
END_TEST

/* What a link that is down keeps of its timers is not touched. */
START_TEST(not_while_the_link_is_down)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_send(p, 100, 100);
    pair_drain(p);
    ck_assert_int_eq(ltp_link(p->l[0], 2, false, 10 * TICK_MS), 0);
    ltp_late(p->l[0], TICK_S);
    ck_assert_uint_eq(ltp_deadline(p->l[0]), TICK_NEVER);
    ck_assert_int_eq(ltp_link(p->l[0], 2, true, 100 * TICK_MS), 0);
    ck_assert_uint_eq(ltp_deadline(p->l[0]), 120 * TICK_MS);
    pair_free(p);
}
END_TEST

SUITE(ltp_late, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, timers_run_on);
    tcase_add_test(t, not_while_the_link_is_down);
}
