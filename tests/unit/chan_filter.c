/* SPDX-License-Identifier: Apache-2.0 */
/* Filters for normal processes: slopes of what they draw, correlations, crossings by Rice's
 * formula, and changes in mid-run. */
#include <math.h>

#include "base/rng.h"
#include "channel-emu/chan/fading/chan_filter.h"
#include "channel-emu/chan/fading/chan_law.h"
#include "tests/unit/suite.h"

/* The power at some frequencies of a long run, in pieces with a window that lets little through. */
static double power_at(const double *x, size_t n, size_t piece, double omega)
{
    double sum = 0;
    for (size_t from = 0; from + piece <= n; from += piece / 2) {
        double re = 0, im = 0;
        for (size_t i = 0; i < piece; i++) {
            double w = sin(M_PI * ((double)i + 0.5) / (double)piece), v = x[from + i] * w * w;
            re += v * cos(omega * (double)i);
            im += v * sin(omega * (double)i);
        }
        sum += re * re + im * im;
    }
    return sum;
}

static double correlate(const double *x, size_t n, size_t lag)
{
    double var = 0, cov = 0;
    for (size_t i = 0; i + lag < n; i++) {
        var += x[i] * x[i];
        cov += x[i] * x[i + lag];
    }
    return cov / var;
}

START_TEST(spectra_fall_as_they_should)
{
    enum { LEN = 400000, LAG = 300 };
    static double x[LEN];
    struct chan_filter f = {.count = 0};
    struct rng r;
    double var = 0, want = _i == 0 ? -8.0 / 3 : -17.0 / 3;
    rng_init(&r, 3);
    chan_filter_set(&f, _i == 0 ? SLOPE_POINT : SLOPE_APERTURE, LAG, 0);
    for (int i = -20 * LAG; i < LEN; i++) {
        double v = chan_filter_next(&f, law_normal(&r));
        if (i >= 0) {
            x[i] = v;
            var += v * v / LEN;
        }
    }
    ck_assert_double_eq_tol(var, 1, 0.1); /* of some 700 independent values: 2 deviations */
    ck_assert_double_eq_tol(correlate(x, LEN, LAG), exp(-1), 0.05);
    ck_assert_double_eq_tol(chan_filter_correlation(&f, LAG), exp(-1), 1e-3);
    ck_assert_double_eq_tol(chan_filter_correlation(&f, LAG / 2), correlate(x, LEN, LAG / 2), 0.05);
    ck_assert_double_eq_tol(chan_filter_correlation(&f, 0), 1, 1e-12);
    /* over a decade of frequencies well above the corner, the straight line through 24 of them */
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < 24; i++) {
        double omega = 0.03 * pow(10, i / 23.0);
        double a = log(omega), b = log(power_at(x, LEN, 8192, omega));
        sx += a;
        sy += b;
        sxx += a * a;
        sxy += a * b;
    }
    ck_assert_double_eq_tol((24 * sxy - sx * sy) / (24 * sxx - sx * sx), want, 0.2);
}
END_TEST

/* Crossings of the median in a second, upwards and downwards, by the correlation of two steps. */
static double crossings_of(double coherence_s, double inner_s, double step_s)
{
    struct chan_filter f = {.count = 0};
    chan_filter_set(&f, SLOPE_POINT, coherence_s / step_s, inner_s / step_s);
    return acos(chan_filter_correlation(&f, 1)) / M_PI / step_s;
}

/* Rice: the second moment of the spectrum. It grows without end with -8/3, and an inner scale ends
 * it, so that fades are the link's and not the step's. */
START_TEST(an_inner_scale_makes_crossings_those_of_the_link)
{
    static const double inner[] = {2e-3, 5e-3, 20e-3};
    /* Rice's formula for Tatarskii's spectrum, integrated elsewhere (tests/validation/fades.py) */
    static const double rice[] = {7.938, 6.500, 4.603};
    for (double steps = 5; steps <= 200; steps *= 1.5)
        ck_assert_double_eq_tol(crossings_of(0.1, inner[_i], inner[_i] / steps) / 2 / rice[_i], 1,
                                0.003);
    ck_assert_double_gt(crossings_of(0.1, 0, 1e-5) / crossings_of(0.1, 0, 1e-3), 2);
    ck_assert_double_eq_tol(crossings_of(0.1, 2e-4, 2e-6) / 2 / 12.431, 1, 0.003);
    /* the structure function of that spectrum, after 1, 3 and 10 inner scales */
    static const double distance[] = {0.00799, 0.04321, 0.21570};
    struct chan_filter f = {.count = 0};
    chan_filter_set(&f, SLOPE_POINT, 300, 10);
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq_tol((1 - chan_filter_correlation(&f, i == 0   ? 10
                                                                 : i == 1 ? 30
                                                                          : 100)) /
                                    distance[i],
                                1, 0.007);
}
END_TEST

/* Changed a little each second, as along a pass: neither its deviation nor its steps leap. */
START_TEST(a_filter_changes_without_a_leap)
{
    struct chan_filter f = {.count = 0};
    struct rng r;
    double before = 0, leap = 0, usual = 0, var = 0;
    const int each = 4000, changes = 100;
    rng_init(&r, 3);
    for (int i = 0; i < changes; i++) {
        chan_filter_set(&f, SLOPE_APERTURE, 40 + i, 0);
        for (int n = 0; n < each; n++) {
            double v = chan_filter_next(&f, law_normal(&r)), move = fabs(v - before);
            if (i > 0 && n == 0)
                leap = move > leap ? move : leap;
            else if (i > 0)
                usual = move > usual ? move : usual;
            before = v;
            var += v * v / each / changes;
        }
    }
    ck_assert_double_lt(leap, usual);
    ck_assert_double_eq_tol(var, 1, 0.05);
}
END_TEST

SUITE(chan_filter, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, spectra_fall_as_they_should, 0, 2);
    tcase_add_loop_test(t, an_inner_scale_makes_crossings_those_of_the_link, 0, 3);
    tcase_add_test(t, a_filter_changes_without_a_leap);
}
