/* SPDX-License-Identifier: Apache-2.0 */
/* Turns by the time of rounds. */

#include "base/turn_size.h"
#include "tests/unit/suite.h"

/* Rounds whose time is that of the units: a few turns, and a round takes TURN_TIME,
 * or the least units. */
START_TEST(fits_the_time)
{
    struct turn_size t;
    tick now = TICK_S;
    turn_size_init(&t, 4, 1024, TURN_TIME);
    ck_assert_uint_eq(turn_size_next(&t, false, now), 1024); /* nothing is known */
    for (tick each = TICK_US; each <= 64 * TICK_US; each *= 4) {
        for (int i = 0; i < 12; i++)
            (void)turn_size_next(&t, true, now += t.units * each);
        ck_assert(t.units == t.least || t.units * each <= TURN_TIME);
        ck_assert(t.units == t.most || t.units * each >= TURN_TIME / 4);
    }
}
END_TEST

START_TEST(has_bounds)
{
    struct turn_size t;
    tick now = TICK_S;
    turn_size_init(&t, 4, 1024, TURN_TIME);
    (void)turn_size_next(&t, false, now);
    ck_assert_uint_eq(turn_size_next(&t, false, now += TICK_S), 1024); /* it slept */
    ck_assert_uint_eq(turn_size_next(&t, true, now += 200 * TURN_TIME), 5);
    ck_assert_uint_eq(turn_size_next(&t, true, now += 200 * TURN_TIME), 4);
    for (int i = 0; i < 8; i++)
        (void)turn_size_next(&t, true, now);
    ck_assert_uint_eq(t.units, 1024);
    ck_assert_uint_eq(turn_size_next(&t, true, now += TURN_TIME * 3 / 4), 1024); /* it fits */
}
END_TEST

SUITE(base_turn_size, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, fits_the_time);
    tcase_add_test(t, has_bounds);
}
