/* SPDX-License-Identifier: Apache-2.0 */
/* Clouds over several stations: shares, durations and what all do at once, against closed forms. */
#include <math.h>

#include "channel-emu/chan/chan_sites.h"
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

/* Two at the median: 1/4 + asin(r) / 2 pi (Sheppard). Three: 1/8 + 3 asin(r) / 4 pi. */
START_TEST(at_the_median_it_is_an_arc)
{
    for (int i = 0; i < 100; i += 3) {
        double r = i / 100.0;
        struct sites_spec s = {.count = 3, .share = 0.5, .duration = 1, .correlation = r};
        ck_assert_double_eq_tol(sites_all_covered(&s, 1), 0.5, 1e-12);
        ck_assert_double_eq_tol(sites_all_covered(&s, 2), 0.25 + asin(r) / (2 * M_PI), 1e-9);
        ck_assert_double_eq_tol(sites_all_covered(&s, 3), 0.125 + 3 * asin(r) / (4 * M_PI), 1e-9);
        ck_assert_double_eq_tol(sites_state_correlation(&s), 2 * asin(r) / M_PI, 1e-9);
    }
}
END_TEST

/* Of a process of two states that is drawn anew at a rate, a cloud lasts 1 / (rate (1 - share)). */
START_TEST(without_correlation_it_is_exact)
{
    struct sites_spec s = {.count = 4, .share = 0.3, .duration = 7};
    ck_assert_double_eq_tol(sites_all_covered(&s, 4), 0.0081, 1e-12);
    ck_assert_double_eq_tol(sites_state_correlation(&s), 0, 1e-12);
    ck_assert_double_eq_tol(sites_rate(&s), 1 / (7 * 0.7), 1e-9);
}
END_TEST

static const struct sites_spec specs[] = {{3, 0.4, 10, 0},   {3, 0.4, 10, 0.3}, {4, 0.25, 10, 0.7},
                                          {2, 0.6, 10, 0.9}, {1, 0.1, 10, 0},   {5, 0.5, 10, 0.5}};

/* 400,000 units of time are 40,000 clouds or so. Five standard errors, reckoned with the time for
 * which a state lasts. _i: specs */
START_TEST(what_is_drawn_is_what_is_said)
{
    const struct sites_spec *k = &specs[_i];
    const double step = 0.25, length = 400000;
    double covered = 0, both = 0, all = 0, starts = 0, steps = length / step;
    struct sites s;
    sites_init(&s, k, 3);
    for (double t = 0; t < length; t += step) {
        bool before = s.covered[0], every = true;
        sites_advance(&s, t);
        for (size_t i = 0; i < k->count; i++)
            every = every && s.covered[i];
        covered += s.covered[0];
        both += s.covered[0] && s.covered[k->count - 1];
        all += every;
        starts += s.covered[0] && !before;
    }
    double error = 5 * sqrt(k->share * (1 - k->share) * 4 * k->duration / length);
    ck_assert_double_eq_tol(covered / steps, k->share, error);
    ck_assert_double_eq_tol(all / steps, sites_all_covered(k, k->count), error);
    ck_assert_double_eq_tol(both / steps, sites_all_covered(k, k->count > 1 ? 2 : 1), error);
    /* those that are over within a step are not seen: some 3 % */
    ck_assert_double_eq_tol(covered * step / starts, k->duration, 0.06 * k->duration);
}
END_TEST

SUITE(chan_sites, t)
{
    tcase_add_test(t, at_the_median_it_is_an_arc);
    tcase_add_test(t, without_correlation_it_is_exact);
    tcase_add_loop_test(t, what_is_drawn_is_what_is_said, 0, sizeof specs / sizeof *specs);
}
