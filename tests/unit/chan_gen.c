/* SPDX-License-Identifier: Apache-2.0 */
/* The samplers against the moments of their distributions, and the shape of generated traces. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/chan_gen.h"
#include "channel-emu/chan_stats.h"

static const struct {
    struct gen_law law;
    double mean, variance;
} laws[] = {
    {{GEN_GAMMA, 2, 4}, 2, 1},                /* mean^2 / shape */
    {{GEN_GAMMA, 3, 1}, 3, 9},                /* exponential */
    {{GEN_GAMMA, 10, 0.5}, 10, 200},          /* a shape below 1 */
    {{GEN_WEIBULL, 5, 1}, 5, 25},             /* exponential */
    {{GEN_WEIBULL, 2, 2}, 1.77245, 0.858407}, /* Rayleigh: sqrt(pi), 4 - pi */
};

START_TEST(moments)
{
    struct rng r;
    double sum = 0, squares = 0;
    int n = 400000;
    rng_init(&r, 11);
    for (int i = 0; i < n; i++) {
        double x = gen_draw(&laws[_i].law, &r);
        ck_assert(x > 0);
        sum += x;
        squares += (x - laws[_i].mean) * (x - laws[_i].mean);
    }
    double mean_error = 5 * sqrt(laws[_i].variance / n);
    ck_assert_double_eq_tol(sum / n, laws[_i].mean, mean_error);
    ck_assert_double_eq_tol(squares / n / laws[_i].variance, 1, 0.03);
}
END_TEST

START_TEST(traces_have_the_length_asked_for)
{
    for (uint64_t steps = 1; steps < 3000; steps = steps * 3 + 1) {
        struct trace a, b;
        trace_init(&a, 100 * TICK_US);
        trace_init(&b, 100 * TICK_US);
        ck_assert_int_eq(gen_trace(&a, gen_preset_find("F"), steps, 4), 0);
        ck_assert_int_eq(gen_trace(&b, gen_preset_find("F"), steps, 4), 0);
        ck_assert_uint_eq(a.steps, steps);
        ck_assert(!a.runs[0].bad);
        ck_assert_uint_eq(a.len, b.len);
        for (size_t i = 0; i < a.len; i++)
            ck_assert_uint_eq(a.runs[i].steps, b.runs[i].steps);
        trace_fini(&a);
        trace_fini(&b);
    }
}
END_TEST

START_TEST(refuses_an_empty_trace_and_unknown_presets)
{
    struct trace t;
    trace_init(&t, 1);
    ck_assert_int_eq(gen_trace(&t, gen_preset_find("A"), 0, 1), HELIO_EINVAL);
    ck_assert_ptr_null(gen_preset_find("B"));
    ck_assert_ptr_null(gen_preset_find("a"));
    trace_fini(&t);
}
END_TEST

START_TEST(statistics_by_hand)
{
    static const uint64_t bad[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 45};
    struct trace t;
    struct trace_side g, b;
    trace_init(&t, TICK_MS);
    for (size_t i = 0; i < 10; i++) {
        trace_add(&t, true, bad[9 - i]);
        trace_add(&t, false, 1);
    }
    ck_assert_int_eq(trace_stats(&t, &g, &b), 0);
    ck_assert_uint_eq(b.runs, 10);
    ck_assert_double_eq_tol(b.share, 0.9, 1e-9);
    ck_assert_double_eq_tol(b.mean_ms, 9, 1e-9);
    ck_assert_double_eq_tol(b.sd_ms, sqrt(150), 1e-9);
    ck_assert_double_eq_tol(b.median_ms, 5, 1e-9);
    ck_assert_double_eq_tol(b.p90_ms, 9, 1e-9);
    ck_assert_double_eq_tol(b.max_ms, 45, 1e-9);
    ck_assert_double_eq_tol(g.sd_ms, 0, 1e-9);
    ck_assert_double_eq_tol(g.share, 0.1, 1e-9);
    trace_fini(&t);
}
END_TEST

START_TEST(a_side_without_runs_is_zeros)
{
    struct trace t;
    struct trace_side g, b;
    trace_init(&t, TICK_MS);
    trace_add(&t, false, 5);
    ck_assert_int_eq(trace_stats(&t, &g, &b), 0);
    ck_assert_uint_eq(b.runs, 0);
    ck_assert_double_eq(b.mean_ms, 0);
    ck_assert_double_eq(g.mean_ms, 5);
    trace_fini(&t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("chan_gen");
    TCase *tc = tcase_create("gen");
    tcase_add_loop_test(tc, moments, 0, (int)(sizeof laws / sizeof *laws));
    tcase_add_test(tc, traces_have_the_length_asked_for);
    tcase_add_test(tc, refuses_an_empty_trace_and_unknown_presets);
    tcase_add_test(tc, statistics_by_hand);
    tcase_add_test(tc, a_side_without_runs_is_zeros);
    suite_add_tcase(s, tc);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}
