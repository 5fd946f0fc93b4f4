/* SPDX-License-Identifier: Apache-2.0 */
/* Our functions of real numbers against the mathematical library's, and against each other. */
#include <math.h>

#include "base/rng.h"
#include "channel-emu/chan/chan_math.h"
#include "tests/unit/suite.h"

#define NEAR(a, b, tolerance) ck_assert_double_le(fabs((a) / (b)-1), tolerance)

START_TEST(elementary_functions)
{
    struct rng r;
    rng_init(&r, 3);
    for (int i = 0; i < 20000; i++) {
        double x = (rng_unit(&r) - 0.5) * 1200, u = rng_unit(&r) + 1e-12;
        NEAR(math_exp(x), exp(x), 1e-14);
        NEAR(math_log(exp(x)), log(exp(x)), 1e-14);
        NEAR(math_log(u), log(u), 1e-14);
        ck_assert_double_eq_tol(math_log(1 + u / 1e6), log(1 + u / 1e6), 1e-21);
        NEAR(math_pow(u, 2.5), pow(u, 2.5), 1e-13);
        NEAR(math_sin(u * 1.57), sin(u * 1.57), 1e-14);
        ck_assert_double_eq_tol(math_lgamma(40 * u), lgamma(40 * u), 1e-12 + 1e-14 * 1 / u);
    }
    ck_assert_double_eq(math_exp(0), 1);
    ck_assert_double_eq(math_log(1), 0);
    ck_assert_double_eq(math_exp(-800), 0);
}
END_TEST

START_TEST(normal_distribution)
{
    for (double x = -8; x <= 8; x += 0.01) {
        NEAR(math_normal_above(x), erfc(x / sqrt(2)) / 2, 1e-12);
        NEAR(math_normal_below(x), erfc(-x / sqrt(2)) / 2, 1e-12);
    }
}
END_TEST

/* A whole shape n: the share above x is that of fewer than n events of a Poisson law. */
START_TEST(gamma_distribution)
{
    for (int n = 1; n <= 12; n++) {
        for (double x = 0.05; x < 40; x *= 1.3) {
            double term = exp(-x), sum = 0;
            for (int k = 0; k < n; k++) {
                sum += term;
                term *= x / (k + 1);
            }
            ck_assert_double_eq_tol(math_gamma_above(n, x), sum, 1e-13);
            ck_assert_double_eq_tol(math_gamma_below(n, x), 1 - sum, 1e-13);
        }
    }
    ck_assert_double_eq_tol(math_gamma_below(0.5, 0.3), erf(sqrt(0.3)), 1e-13);
}
END_TEST

START_TEST(gamma_by_a_normal_number)
{
    static const double shapes[] = {0.5, 0.9, 1, 2.7, 20, 300, 5000};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        double low = log(shapes[i]), high = low;
        for (double z = 0.05; z <= 8; z += 0.1) {
            low = math_gamma_at(shapes[i], -z, low);
            NEAR(math_gamma_below(shapes[i], exp(low)), math_normal_below(-z), 1e-8);
            high = math_gamma_at(shapes[i], z, high);
            NEAR(math_gamma_above(shapes[i], exp(high)), math_normal_above(z), 1e-8);
        }
    }
}
END_TEST

SUITE(chan_math, t)
{
    tcase_add_test(t, elementary_functions);
    tcase_add_test(t, normal_distribution);
    tcase_add_test(t, gamma_distribution);
    tcase_add_test(t, gamma_by_a_normal_number);
}
