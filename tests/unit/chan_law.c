/* SPDX-License-Identifier: Apache-2.0 */
/* The samplers against their distributions (Kolmogorov-Smirnov at 1 %, with fixed seeds), and the
 * texts by which people write laws. */
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/chan/chan_math.h"
#include "channel-emu/chan/fading/chan_law.h"
#include "tests/unit/suite.h"

#define DRAWS 40000

static const struct {
    const char *text;
    double mean, sd; /* ms */
} laws[] = {
    {"gamma:2ms,4", 2, 1},
    {"gamma:3ms,1", 3, 3},
    {"gamma:10ms,0.5", 10, 14.142136},
    {"weibull:5ms,1", 5, 5},
    {"weibull:2ms,2", 1.772454, 0.926503},
    {"lognormal:4ms,8ms", 4, 8},
    {"exponential:500us", 0.5, 0.5},
    {"0.25*exponential:1ms+0.75*gamma:5ms,2", 4, 3.553168},
    {"0.5*fixed:1ms+0.2*fixed:2ms+0.2*fixed:3ms+0.1*fixed:4ms", 1.9, 1.044031},
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

START_TEST(draws_follow_their_law)
{
    static double x[DRAWS];
    struct law_mix mix;
    struct rng r;
    double sum = 0, squares = 0, distance = 0;
    ck_assert_int_eq(law_mix_parse(laws[_i].text, &mix), 0);
    rng_init(&r, 11);
    for (int i = 0; i < DRAWS; i++) {
        x[i] = law_mix_draw(&mix, &r);
        sum += x[i];
        squares += (x[i] - laws[_i].mean) * (x[i] - laws[_i].mean);
    }
    ck_assert_double_eq_tol(sum / DRAWS, laws[_i].mean, 4 * laws[_i].sd / sqrt(DRAWS));
    ck_assert_double_eq_tol(sqrt(squares / DRAWS) / laws[_i].sd, 1, 0.1);
    qsort(x, DRAWS, sizeof *x, by_size);
    for (int i = 0; i < DRAWS; i++) {
        if (i + 1 < DRAWS && x[i + 1] <= x[i])
            continue; /* the last of equal ones */
        distance = fmax(distance, fabs(law_mix_below(&mix, x[i]) - (i + 1.0) / DRAWS));
    }
    ck_assert_double_lt(distance, 1.63 / sqrt(DRAWS));
}
END_TEST

/* As a moment meets them: the mean is E[x^2] / E[x], and the mean of 1/x is 1 / E[x]. */
START_TEST(met_lengths_are_biased_by_their_length)
{
    struct law_mix mix;
    struct rng r;
    double sum = 0, squares = 0, inverse = 0, mean = laws[_i].mean;
    ck_assert_int_eq(law_mix_parse(laws[_i].text, &mix), 0);
    ck_assert_double_eq_tol(law_mix_mean(&mix) / mean, 1, 1e-6);
    rng_init(&r, 12);
    for (int i = 0; i < DRAWS; i++) {
        double x = law_mix_draw_met(&mix, &r);
        sum += x / DRAWS;
        squares += x * x / DRAWS;
        inverse += 1 / x / DRAWS;
    }
    double wanted = mean + laws[_i].sd * laws[_i].sd / mean;
    ck_assert_double_eq_tol(sum, wanted, 4 * sqrt((squares - sum * sum) / DRAWS) + 1e-9);
    ck_assert_double_eq_tol(inverse * mean, 1, 0.05);
}
END_TEST

START_TEST(normal_numbers_follow_theirs)
{
    double x[2];
    struct rng r;
    double product = 0;
    uint64_t bins[8] = {0};
    rng_init(&r, 5);
    for (int i = 0; i < DRAWS; i++) {
        law_normal_pair(&r, x);
        product += x[0] * x[1];
        bins[(int)(math_normal_below(x[0]) * 8)]++;
        bins[(int)(math_normal_below(x[1]) * 8)]++;
    }
    double chi = 0, expected = 2.0 * DRAWS / 8;
    for (int i = 0; i < 8; i++)
        chi += ((double)bins[i] - expected) * ((double)bins[i] - expected) / expected;
    ck_assert_double_lt(chi, 18.5); /* 7 degrees of freedom, 1 % */
    ck_assert_double_lt(fabs(product / DRAWS), 2.6 / sqrt(DRAWS));
}
END_TEST

static const char *const wrong[] = {
    "",
    "gamma",
    "gamma:",
    "gamma:2ms",
    "gamma:2,4",
    "gamma:2ms,4ms",
    "gamma:2ms,0",
    "gamma:2ms,0.009",
    "gamma:2ms,10001",
    "gamma:0,1",
    "gamma:2ms,4,4",
    "gamma:2ms,-4",
    "normal:2ms,4",
    "lognormal:2ms,4",
    "lognormal:2ms,0s",
    "exponential:2ms,1",
    "exponential:2d",
    "0.5*exponential:2ms",
    "0.5*exponential:2ms+0.4*exponential:2ms",
    "0.5*exponential:2ms+exponential:2ms",
    "exponential:2ms+",
    "x*exponential:2ms",
    "*exponential:2ms",
    "0.2*fixed:1s+0.2*fixed:1s+0.2*fixed:1s+0.2*fixed:1s+0.2*fixed:1s",
    "1*fixed:00000000000000000000000000000000000000001ms",
};

START_TEST(wrong_texts_are_refused)
{
    struct law_mix mix = {.len = 77};
    ck_assert_int_eq(law_mix_parse(wrong[_i], &mix), HELIO_EFORMAT);
    ck_assert_uint_eq(mix.len, 77);
}
END_TEST

START_TEST(numbers)
{
    double v = 0;
    ck_assert_int_eq(law_number("0.8689", 6, &v), 0);
    ck_assert_double_eq(v, 0.8689);
    ck_assert_int_eq(law_number("123456789012345", 15, &v), 0);
    ck_assert_double_eq(v, 123456789012345.0);
    ck_assert_int_eq(law_number("0.0000000000000000000001", 24, &v), 0);
    ck_assert_double_eq(v, 1e-22);
    ck_assert_int_eq(law_number("1234567890123456", 16, &v), HELIO_EFORMAT);
    ck_assert_int_eq(law_number("0.00000000000000000000001", 25, &v), HELIO_EFORMAT);
    ck_assert_int_eq(law_number("", 0, &v), HELIO_EFORMAT);
    ck_assert_int_eq(law_number(".5", 2, &v), HELIO_EFORMAT);
    ck_assert_int_eq(law_number("5.", 2, &v), HELIO_EFORMAT);
    ck_assert_int_eq(law_number("1e5", 3, &v), HELIO_EFORMAT);
    ck_assert_int_eq(law_number("1.2.3", 5, &v), HELIO_EFORMAT);
}
END_TEST

SUITE(chan_law, t)
{
    tcase_add_loop_test(t, draws_follow_their_law, 0, (int)(sizeof laws / sizeof *laws));
    tcase_add_loop_test(t, met_lengths_are_biased_by_their_length, 0,
                        (int)(sizeof laws / sizeof *laws));
    tcase_add_test(t, normal_numbers_follow_theirs);
    tcase_add_loop_test(t, wrong_texts_are_refused, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(t, numbers);
}
