/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as the mathematical library reads them, and the limits of powers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "channel-emu/chan/fading/chan_powers.h"
#include "tests/unit/suite.h"

static int read_one(const char *text, double *out)
{
    struct powers p = {0};
    struct powers_text t;
    powers_text_init(&t, &p, "1", false);
    int rc = powers_text_line(&t, "0", 1);
    if (rc == 0)
        rc = powers_text_line(&t, text, strlen(text));
    *out = p.len == 2 ? p.value[1] : -1;
    powers_fini(&p);
    return rc;
}

START_TEST(numbers_are_the_librarys)
{
    static const char *const texts[] = {"0",
                                        "1",
                                        "+1.5",
                                        "1.5e3",
                                        "1E-3",
                                        "5.",
                                        ".5",
                                        "1e299",
                                        "3e-308",
                                        "1e-400",
                                        "0e999",
                                        "123456789012345678901234567890",
                                        "0.000000000000000000123"};
    double v;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_msg(read_one(texts[i], &v) == 0, "%s", texts[i]);
        ck_assert_double_le(fabs(v - strtod(texts[i], NULL)), 1e-13 * strtod(texts[i], NULL));
    }
    struct rng r;
    rng_init(&r, 2);
    for (int i = 0; i < 20000; i++) {
        char text[40];
        snprintf(text, sizeof text, "%.16e", exp((rng_unit(&r) - 0.5) * 1000));
        ck_assert_int_eq(read_one(text, &v), 0);
        ck_assert_double_eq_tol(v / strtod(text, NULL), 1, 1e-13);
    }
}
END_TEST

START_TEST(what_is_no_power)
{
    static const char *const texts[] = {"-1", "nan", "inf", "1e301", "1e999",  "1e1000", "0x10",
                                        "1e", "e5",  ".",   "1.2.3", "1 000x", "--1",    "1e+-5"};
    double v;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(read_one(texts[i], &v) == HELIO_EFORMAT, "%s", texts[i]);
}
END_TEST

/* The second of two columns, or -1 when the lines are refused. */
static double second(const char *first, const char *line, const char *column)
{
    struct powers p = {0};
    struct powers_text t;
    powers_text_init(&t, &p, column, false);
    int rc = powers_text_line(&t, first, strlen(first));
    if (rc == 0)
        rc = powers_text_line(&t, line, strlen(line));
    double v = rc == 0 ? p.value[p.len - 1] : -1;
    powers_fini(&p);
    return v;
}

START_TEST(one_separator_a_file)
{
    ck_assert_double_eq(second("t,P [W]", "0, 7", "P [W]"), 7);
    ck_assert_double_eq(second("t;P [W]", "0 ; 7", "P [W]"), 7);
    ck_assert_double_eq(second("t; power", "0;7", NULL), 7);
    ck_assert_double_eq(second("0\t 3", " 1 \t  7 ", "2"), 7);
    ck_assert_double_eq(second("0,,3", "1,,7", "3"), 7);
    ck_assert_double_eq(second("t;p", "0,0;0,7", "2"), -1); /* decimal commas */
    ck_assert_double_eq(second("0,0;0,7", "0,0;0,7", "2"), -1);
    ck_assert_double_eq(second("power", "0,7", NULL), -1);
    ck_assert_double_eq(second("0 3", "1,7", "2"), -1);
    ck_assert_double_eq(second("t,power", "0,7,1", NULL), -1); /* as many as the first line has */
    ck_assert_double_eq(second("power", "7 1", NULL), -1);
}
END_TEST

START_TEST(decibels_and_mean)
{
    struct powers p = {0};
    ck_assert_double_eq(powers_mean(&p), 0);
    ck_assert_int_eq(powers_add(&p, -30, true), 0);
    ck_assert_int_eq(powers_add(&p, 3, true), 0);
    ck_assert_int_eq(powers_add(&p, 301, true), HELIO_EINVAL);
    ck_assert_int_eq(powers_add(&p, (double)NAN, true), HELIO_EINVAL);
    ck_assert_int_eq(powers_add(&p, (double)NAN, false), HELIO_EINVAL);
    ck_assert_int_eq(powers_add(&p, (double)INFINITY, false), HELIO_EINVAL);
    ck_assert_uint_eq(p.len, 2);
    ck_assert_double_eq_tol(powers_mean(&p), (0.001 + pow(10, 0.3)) / 2, 1e-12);
    powers_fini(&p);
}
END_TEST

static double at_middle(const double *v, size_t n, double x)
{
    double place = x - 0.5, low = floor(place);
    size_t i = (size_t)(low + (double)n) % n;
    return v[i] + (v[(i + 1) % n] - v[i]) * (place - low);
}

/* Against a sum over 20000 points of each new step. */
START_TEST(another_step)
{
    static const double v[] = {1, 0, 4, 4, 0.5, 7, 2};
    static const uint64_t wanted[] = {100, 40, 10, 250, 333, 700};
    struct powers p = {0}, out;
    for (size_t i = 0; i < 7; i++)
        ck_assert_int_eq(powers_add(&p, v[i], false), 0);
    for (size_t w = 0; w < 6; w++) {
        ck_assert_int_eq(powers_resample(&p, 100, wanted[w], &out), 0);
        ck_assert_uint_eq(out.len, 700 / wanted[w]);
        for (size_t k = 0; k < out.len; k++) {
            double sum = 0, width = (double)wanted[w] / 100;
            for (int i = 0; i < 20000; i++)
                sum += at_middle(v, 7, ((double)k + (i + 0.5) / 20000) * width) / 20000;
            ck_assert_double_eq_tol(out.value[k], sum, 1e-6);
        }
        if (700 % wanted[w] == 0)
            ck_assert_double_eq_tol(powers_mean(&out), powers_mean(&p), 1e-12);
        powers_fini(&out);
    }
    ck_assert_int_eq(powers_resample(&p, 100, 701, &out), HELIO_EINVAL);
    ck_assert_int_eq(powers_resample(&p, UINT64_C(3600000000000), 1, &out), HELIO_EINVAL);
    powers_fini(&p);
    ck_assert_int_eq(powers_resample(&p, 100, 100, &out), HELIO_EINVAL);
}
END_TEST

/* A wave of frequency f comes out with sinc(f step)^2 sinc(f wanted) of its height. */
START_TEST(its_filter_is_as_stated)
{
    static const struct {
        uint64_t step, wanted, waves;
    } cases[] = {{100, 20, 50}, {100, 300, 50}, {100, 100, 150}, {100, 700, 20}};
    for (size_t c = 0; c < 4; c++) {
        struct powers p = {0}, out;
        const double n = 2100;
        for (int i = 0; i < 2100; i++)
            ck_assert_int_eq(
                powers_add(&p, 2 + cos(2 * M_PI * (double)cases[c].waves * (i + 0.5) / n), false),
                0);
        ck_assert_int_eq(powers_resample(&p, cases[c].step, cases[c].wanted, &out), 0);
        double sum = 0, turns = (double)cases[c].waves / (double)out.len;
        for (size_t k = 0; k < out.len; k++)
            sum += 2 * out.value[k] * cos(2 * M_PI * turns * ((double)k + 0.5)) / (double)out.len;
        double a = M_PI * (double)cases[c].waves / n, b = a * (double)cases[c].wanted / 100;
        ck_assert_double_eq_tol(sum, pow(sin(a) / a, 2) * sin(b) / b, 0.002);
        powers_fini(&p);
        powers_fini(&out);
    }
}
END_TEST

SUITE(chan_powers, t)
{
    tcase_add_test(t, numbers_are_the_librarys);
    tcase_add_test(t, what_is_no_power);
    tcase_add_test(t, one_separator_a_file);
    tcase_add_test(t, decibels_and_mean);
    tcase_add_test(t, another_step);
    tcase_add_test(t, its_filter_is_as_stated);
}
