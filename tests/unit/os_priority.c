/* SPDX-License-Identifier: Apache-2.0 */
/* Real-time priority is held only while its thread takes less than its share of a processor. */
#include <sched.h>

#include "os/process/priority.h"
#include "tests/unit/suite.h"

#define WINDOW PRIORITY_WINDOW

START_TEST(busy_thread_gives_back)
{
    struct priority_bound b;
    priority_bound_init(&b, 0, 0);
    ck_assert(b.held);
    ck_assert(!priority_bound_over(&b, WINDOW - 1));
    ck_assert(priority_bound_over(&b, WINDOW));
    ck_assert(!priority_bound_judge(&b, WINDOW, WINDOW / 2)); /* half a processor */
    ck_assert(b.held);
    ck_assert(priority_bound_judge(&b, 2 * WINDOW, WINDOW / 2 + WINDOW * 7 / 10));
    ck_assert(!b.held);
    ck_assert(!priority_bound_judge(&b, 3 * WINDOW, WINDOW / 2 + WINDOW * 17 / 10));
    ck_assert(!b.held);
    ck_assert(priority_bound_judge(&b, 4 * WINDOW, WINDOW / 2 + WINDOW * 18 / 10));
    ck_assert(b.held);
    ck_assert_uint_eq(b.windows, 4);
    ck_assert_uint_eq(b.given_back, 2);
}
END_TEST

/* The kernel shows its own slice, or none, before Linux 6.12. */
START_TEST(short_turns)
{
    ck_assert_int_eq(priority_short_turns(), 0);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
}
END_TEST

START_TEST(window_may_be_longer)
{
    struct priority_bound b;
    priority_bound_init(&b, 5 * TICK_S, TICK_S);
    ck_assert(!priority_bound_judge(&b, 6 * TICK_S, TICK_S + TICK_S / 2)); /* it slept */
    ck_assert(b.held);
    ck_assert(priority_bound_judge(&b, 7 * TICK_S, TICK_S * 5 / 2));
    ck_assert(!b.held);
}
END_TEST

START_TEST(thread_is_realtime_and_normal_again)
{
    struct sched_param least = {.sched_priority = 1}, none = {0};
    if (sched_setscheduler(0, SCHED_RR, &least) < 0) { /* a control group may forbid it to root */
        ck_assert_int_lt(priority_realtime(true), 0);
        return;
    }
    ck_assert_int_eq(sched_setscheduler(0, SCHED_OTHER, &none), 0);
    ck_assert_int_eq(priority_realtime(true), 0);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_RR | SCHED_RESET_ON_FORK);
    ck_assert_int_eq(priority_realtime(false), 0);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
}
END_TEST

SUITE(os_priority, t)
{
    tcase_add_test(t, busy_thread_gives_back);
    tcase_add_test(t, short_turns);
    tcase_add_test(t, window_may_be_longer);
    tcase_add_test(t, thread_is_realtime_and_normal_again);
}
