/* SPDX-License-Identifier: Apache-2.0 */
/* A share of a loop's time, for what others ask of it. */

#include "base/pace.h"
#include "tests/unit/suite.h"

#define TOOK (10 * TICK_MS)
#define SHARE 50
#define LEAST (200 * TICK_US)

/* Somebody who asked seldom is answered at once, several times; who goes on has a fiftieth. */
START_TEST(share_of_time)
{
    struct pace p = {.share = SHARE, .least = LEAST};
    tick now = 100 * TICK_S;
    unsigned made = 0;
    for (tick end = now + 100 * TICK_S; now < end; now += TICK_MS)
        if (pace_may(&p, now)) {
            pace_made(&p, now, TOOK);
            made++;
        }
    const unsigned share = (unsigned)(100 * TICK_S / (SHARE * TOOK));
    ck_assert_uint_ge(made, share);
    ck_assert_uint_le(made, share + 3);
    pace_made(&p, now, TOOK);
    ck_assert(!pace_may(&p, now));
    ck_assert(pace_may(&p, now + 2 * SHARE * TOOK));
}
END_TEST

START_TEST(quick_ones)
{
    struct pace p = {.share = SHARE, .least = LEAST};
    const tick now = 100 * TICK_S;
    unsigned made = 0;
    for (; pace_may(&p, now); made++)
        pace_made(&p, now, 1);
    ck_assert_uint_le(made, (unsigned)(PACE_KEPT / (SHARE * LEAST)) + 1);
    ck_assert_uint_gt(made, 10); /* a person, or several scrapers, notice nothing */
}
END_TEST

SUITE(base_pace, t)
{
    tcase_add_test(t, share_of_time);
    tcase_add_test(t, quick_ones);
}
