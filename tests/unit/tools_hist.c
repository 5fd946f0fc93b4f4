/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded histogram against values whose quantiles are known. */
#include <math.h>

#include "tests/unit/suite.h"
#include "tools/hist.h"

static struct hist h;

START_TEST(empty_and_single)
{
    hist_init(&h);
    ck_assert_uint_eq(hist_quantile(&h, 0.5), 0);
    ck_assert_double_eq(hist_sd(&h), 0);
    hist_add(&h, 123456789);
    ck_assert_uint_eq(hist_quantile(&h, 0.01), 123456789);
    ck_assert_uint_eq(hist_quantile(&h, 0.99), 123456789);
    ck_assert_uint_eq(h.min, 123456789);
}
END_TEST

START_TEST(small_values_are_exact)
{
    hist_init(&h);
    for (uint64_t v = 1; v <= 100; v++)
        hist_add(&h, v);
    ck_assert_uint_eq(hist_quantile(&h, 0.5), 50);
    ck_assert_uint_eq(hist_quantile(&h, 0.9), 90);
    ck_assert_uint_eq(hist_quantile(&h, 0.99), 99);
    ck_assert_uint_eq(hist_quantile(&h, 1), 100);
    ck_assert_double_eq_tol(h.mean, 50.5, 1e-9);
    ck_assert_double_eq_tol(hist_sd(&h), 29.011491975882016, 1e-9);
}
END_TEST

START_TEST(every_magnitude_within_its_bound)
{
    for (uint64_t v = 1; v < UINT64_MAX / 3; v = v * 3 + 1) {
        hist_init(&h);
        hist_add(&h, 0);
        hist_add(&h, v);
        hist_add(&h, UINT64_MAX);
        double got = (double)hist_quantile(&h, 0.5);
        ck_assert(fabs(got - (double)v) <= 0.004 * (double)v);
    }
}
END_TEST

/* Nearest rank of the values themselves, in any order, until there are too many. */
START_TEST(kept_values_are_exact)
{
    hist_init_exact(&h, 1000);
    for (uint64_t v = 0; v < 1000; v++)
        hist_add(&h, 1000000000 + v * 7919 % 1000);
    ck_assert(hist_is_exact(&h));
    ck_assert_uint_eq(hist_quantile(&h, 0.5), 1000000499);
    hist_add(&h, 5); /* one too many: by buckets from now on */
    ck_assert(!hist_is_exact(&h));
    double got = (double)hist_quantile(&h, 0.5);
    ck_assert(fabs(got - 1000000499) <= HIST_ERROR * 1000000499 && (uint64_t)got != 1000000499);
    hist_fini(&h);
    hist_init_exact(&h, 10);
    for (uint64_t v = 3; v > 0; v--) {
        hist_add(&h, v << 40);
        ck_assert_uint_eq(hist_quantile(&h, 0.01), v << 40);
    }
    ck_assert_uint_eq(hist_quantile(&h, 0.5), UINT64_C(2) << 40);
    ck_assert_uint_eq(hist_quantile(&h, 1), UINT64_C(3) << 40);
    hist_fini(&h);
    hist_init(&h);
    ck_assert(!hist_is_exact(&h));
    hist_fini(&h);
}
END_TEST

SUITE(tools_hist, t)
{
    tcase_add_test(t, empty_and_single);
    tcase_add_test(t, small_values_are_exact);
    tcase_add_test(t, every_magnitude_within_its_bound);
    tcase_add_test(t, kept_values_are_exact);
}
