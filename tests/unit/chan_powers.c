/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as the mathematical library reads them, and the limits of powers. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "channel-emu/chan/chan_powers.h"

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

int main(void)
{
    Suite *s = suite_create("chan_powers");
    TCase *tc = tcase_create("powers");
    tcase_add_test(tc, numbers_are_the_librarys);
    tcase_add_test(tc, what_is_no_power);
    tcase_add_test(tc, one_separator_a_file);
    tcase_add_test(tc, decibels_and_mean);
    suite_add_tcase(s, tc);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}
