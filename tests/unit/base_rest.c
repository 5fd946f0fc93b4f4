/* SPDX-License-Identifier: Apache-2.0 */
/* Rests of parties whose work takes long. */

#include "base/rest.h"
#include "tests/unit/suite.h"

#define NOW (100 * TICK_S)

/* A debt of 1 ms is not paid yet; what is fair pays back. */
START_TEST(little_is_no_reason)
{
    struct rests all = {0};
    struct rest r;
    rest_init(&r, &all);
    ck_assert(!rest_spend(&r, &all, REST_LONG, 0, 1, NOW));
    ck_assert(!rest_spend(&r, &all, 0, REST_LONG, 1, NOW));
    ck_assert(!rest_spend(&r, &all, REST_LONG, 0, 1, NOW));
    ck_assert(rest_spend(&r, &all, 1, 0, 1, NOW));
    ck_assert_uint_eq(rest_until(&r, &all), NOW + REST_LONG + 1);
}
END_TEST

/* By itself: as it is told; beside quick ones REST_SHARED times as long. */
START_TEST(longer_beside_quick_ones)
{
    struct rests all = {0};
    struct rest slow, quick;
    rest_init(&slow, &all);
    rest_init(&quick, &all);
    ck_assert(!rest_spend(&slow, &all, 5 * TICK_MS, 0, 0, NOW));
    rest_received(&slow, &all, 1, NOW); /* its own do not count */
    ck_assert(!rest_spend(&slow, &all, 5 * TICK_MS, 0, 0, NOW));
    ck_assert_uint_le(rest_until(&slow, &all), NOW);
    rest_received(&quick, &all, 1, NOW);
    ck_assert(rest_spend(&slow, &all, 5 * TICK_MS, 0, 0, NOW));
    ck_assert_uint_eq(rest_until(&slow, &all), NOW + REST_SHARED * 5 * TICK_MS);
    ck_assert_uint_eq(rest_until(&quick, &all), 0);
}
END_TEST

/* Who took long is none of the quick, though it did not rest: it does not make others rest. */
START_TEST(long_is_not_quick)
{
    struct rests all = {0};
    struct rest one, two;
    rest_init(&one, &all);
    rest_init(&two, &all);
    ck_assert(!rest_spend(&one, &all, 5 * TICK_MS, 0, 0, NOW));
    rest_received(&one, &all, 1, NOW + 1);
    ck_assert(!rest_spend(&two, &all, 5 * TICK_MS, 0, 0, NOW + 2));
    ck_assert_uint_eq(all.quick, 0);
}
END_TEST

/* Two that rest have no more of the time than one: their rests add up. */
START_TEST(together)
{
    struct rests all = {0};
    struct rest one, two;
    rest_init(&one, &all);
    rest_init(&two, &all);
    ck_assert(rest_spend(&one, &all, 5 * TICK_MS, 0, 1, NOW));
    ck_assert(rest_spend(&two, &all, 5 * TICK_MS, 0, 1, NOW + 5 * TICK_MS));
    ck_assert_uint_eq(rest_until(&one, &all), NOW + 15 * TICK_MS);
    ck_assert_uint_eq(rest_until(&two, &all), NOW + 15 * TICK_MS);
}
END_TEST

/* Who rested lately is none of the quick, and no rest is longer than REST_MAX. */
START_TEST(limits)
{
    struct rests all = {0};
    struct rest one, two;
    rest_init(&one, &all);
    rest_init(&two, &all);
    ck_assert(rest_spend(&one, &all, 5 * TICK_S, 0, 1, NOW));
    ck_assert_uint_eq(rest_until(&one, &all), NOW + REST_MAX);
    rest_received(&one, &all, 7, NOW + REST_MAX - 1);
    ck_assert_uint_eq(all.quick, 0);
    rest_received(&one, &all, 7, NOW + REST_MAX);
    ck_assert_uint_eq(all.quick, 7);
    ck_assert_uint_eq(two.seen, 0);
}
END_TEST

SUITE(base_rest, t)
{
    tcase_add_test(t, little_is_no_reason);
    tcase_add_test(t, longer_beside_quick_ones);
    tcase_add_test(t, long_is_not_quick);
    tcase_add_test(t, together);
    tcase_add_test(t, limits);
}
