/* SPDX-License-Identifier: Apache-2.0 */
/* So many at once, one more after each pause, and never more than that. */

#include "base/allowance.h"
#include "base/rng.h"
#include "tests/unit/suite.h"

START_TEST(at_once_and_later)
{
    tick spent = 0, now = 5 * TICK_S;
    for (int i = 0; i < 3; i++)
        ck_assert(allowance_take(&spent, TICK_S, 3, now));
    ck_assert(!allowance_take(&spent, TICK_S, 3, now));
    ck_assert(!allowance_take(&spent, TICK_S, 3, now + TICK_S - 1));
    ck_assert(allowance_take(&spent, TICK_S, 3, now + TICK_S));
    ck_assert(!allowance_take(&spent, TICK_S, 3, now + TICK_S));
    now += 100 * TICK_S; /* a long silence is worth one burst */
    for (int i = 0; i < 3; i++)
        ck_assert(allowance_take(&spent, TICK_S, 3, now));
    ck_assert(!allowance_take(&spent, TICK_S, 3, now));
}
END_TEST

START_TEST(one_at_a_time)
{
    tick spent = 0;
    ck_assert(allowance_take(&spent, TICK_MS, 1, 0));
    ck_assert(!allowance_take(&spent, TICK_MS, 1, TICK_MS - 1));
    ck_assert(allowance_take(&spent, TICK_MS, 1, TICK_MS));
}
END_TEST

/* In any stretch of time no more than the burst and one for each pause. */
START_TEST(never_more)
{
    struct rng r;
    rng_init(&r, 7);
    enum { TAKEN = 300 };
    static tick at[TAKEN];
    tick spent = 0, now = 0;
    for (size_t n = 0; n < TAKEN;) {
        now += rng_below(&r, 3 * TICK_MS);
        if (!allowance_take(&spent, 2 * TICK_MS, 5, now))
            continue;
        at[n++] = now;
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_le(n - i, 5 + (now - at[i]) / (2 * TICK_MS));
    }
}
END_TEST

SUITE(base_allowance, t)
{
    tcase_add_test(t, at_once_and_later);
    tcase_add_test(t, one_at_a_time);
    tcase_add_test(t, never_more);
}
