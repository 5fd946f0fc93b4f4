/* SPDX-License-Identifier: Apache-2.0 */
/* How long work took, beside stalls of the process. */

#include "os/took.h"
#include "tests/unit/suite.h"

static tick clock_now, ran;

static tick read_now(const struct world *w)
{
    (void)w;
    return clock_now;
}

static tick read_processor(const struct world *w)
{
    (void)w;
    return ran;
}

static const struct world_ops ops = {.now = read_now, .processor = read_processor};
static const struct world world = {.ops = &ops};

static void pass(tick time, bool runs)
{
    clock_now += time;
    ran += runs ? time : 0;
}

/* After `before` of other work: `work`, and a stall in it. */
static tick measure(tick before, tick work, tick stall)
{
    struct took t = {0};
    clock_now = 100 * TICK_S;
    ran = TICK_S;
    took_begin(&t, &world, clock_now);
    pass(before, true);
    const tick began = clock_now;
    took_begin(&t, &world, began);
    pass(work, true);
    pass(stall, false);
    return took_end(&t, &world, began, clock_now);
}

START_TEST(work_counts)
{
    ck_assert_uint_eq(measure(0, 40 * TICK_US, 0), 40 * TICK_US);
    ck_assert_uint_eq(measure(0, 5 * TICK_MS, 0), 5 * TICK_MS);
    ck_assert_uint_eq(measure(TOOK_MARK - 1, 5 * TICK_MS, 0), 5 * TICK_MS);
    ck_assert_uint_eq(measure(TICK_S, 5 * TICK_MS, 0), 5 * TICK_MS);
}
END_TEST

/* Nor does what the thread did before it. */
START_TEST(stalls_do_not)
{
    ck_assert_uint_eq(measure(0, 40 * TICK_US, 10 * TICK_MS), 40 * TICK_US);
    ck_assert_uint_eq(measure(TOOK_MARK - 1, 40 * TICK_US, 10 * TICK_MS), 40 * TICK_US);
    ck_assert_uint_eq(measure(TICK_S, 40 * TICK_US, 10 * TICK_MS), 40 * TICK_US);
}
END_TEST

SUITE(os_took, t)
{
    tcase_add_test(t, work_counts);
    tcase_add_test(t, stalls_do_not);
}
