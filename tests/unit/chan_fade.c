/* SPDX-License-Identifier: Apache-2.0 */
/* The models of the air against values worked out elsewhere, the processes against their
 * distributions and correlation, the receiver against a plain recomputation. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_math.h"
#include "channel-emu/chan/fading/chan_air.h"
#include "channel-emu/chan/fading/chan_fade.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "tests/unit/suite.h"

/* Al-Habash et al. worked out in Python: Rytov variance, alpha, beta, index. */
START_TEST(gamma_gamma_parameters)
{
    static const double known[][4] = {{0.01, 204.634566, 196.027599, 0.010013011},
                                      {1, 4.393859025, 2.563631980, 0.706438496},
                                      {4, 4.340662543, 1.308802679, 1.170459845}};
    for (int i = 0; i < 3; i++) {
        struct air_gamma g = air_gamma(known[i][0]);
        ck_assert_double_eq_tol(g.alpha / known[i][1], 1, 1e-8);
        ck_assert_double_eq_tol(g.beta / known[i][2], 1, 1e-8);
        ck_assert_double_eq_tol(air_index(g), known[i][3], 1e-8);
        ck_assert_double_eq_tol(air_rytov_of(known[i][3]) / known[i][0], 1, 1e-7);
    }
    ck_assert_double_eq_tol(air_index(air_gamma(air_rytov_of(AIR_INDEX_MAX))), AIR_INDEX_MAX, 1e-9);
    ck_assert_double_eq_tol(air_index(air_gamma(air_rytov_of(0.0005))), 0.0005, 1e-9);
}
END_TEST

/* The integral over the Hufnagel-Valley profile, in slices of 1 m. */
START_TEST(rytov_variance_is_the_integral)
{
    double moment = 0;
    for (double h = 0.5; h < 60000; h += 1) {
        double c = 0.00594 * pow(21.0 / 27, 2) * pow(1e-5 * h, 10) * exp(-h / 1000) +
                   2.7e-16 * exp(-h / 1500) + 1.7e-14 * exp(-h / 100);
        moment += c * pow(h, 5.0 / 6);
    }
    double k = 2 * M_PI / 1550e-9, zenith = 2.25 * pow(k, 7.0 / 6) * moment;
    ck_assert_double_eq_tol(air_rytov(&air_hv57, 90, 1550) / zenith, 1, 1e-3);
    ck_assert_double_eq_tol(air_rytov(&air_hv57, 30, 1550) / zenith, pow(2, 11.0 / 6), 1e-3);
    ck_assert_double_eq_tol(air_range(90, 550), 550, 1e-9);
    ck_assert_double_eq_tol(air_range(10, 550), 1815.2, 0.5);
}
END_TEST

/* Of one layer: the integral over wave numbers, sqrt(z / k) being the unit of length. */
static double layer_integral(double size)
{
    enum { N = 400000 };
    double low = log(1e-4), step = (log(300) - low) / N, point = 0, behind = 0;
    for (int i = 0; i < N; i++) {
        double kappa = exp(low + (i + 0.5) * step), y = kappa * sqrt(size);
        double through = y < 1e-6 ? 1 : 2 * j1(y) / y;
        double weight = pow(kappa, -5.0 / 3) * 2 * pow(sin(kappa * kappa / 2), 2);
        point += weight;
        behind += weight * through * through;
    }
    /* above 300 the mean of the sine's square is left: an integral of kappa^(-8/3) */
    return behind / (point + 0.6 * pow(300, -5.0 / 3) / step);
}

START_TEST(an_aperture_averages_as_the_integral_says)
{
    static const double sizes[] = {1e-3, 0.03, 0.3, 1, 2, 4, 8, 16, 28, 31.9, 32.1, 60, 300};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ck_assert_double_eq_tol(air_aperture_layer(sizes[i]) / layer_integral(sizes[i]), 1, 2e-4);
    ck_assert_double_eq(air_aperture_layer(0), 1);
    /* the wide end as it is published: 17.34 D^(-7/3) sec^3 of the integral of C h^2 (Roddier 1981,
     * section 8), with k D^2 / 4z for D */
    double wide = 2.25 * air_aperture_layer(1e10) * pow(4e10, 7.0 / 6);
    ck_assert_double_eq_tol(wide / 17.34, 1, 2e-3);
}
END_TEST

/* Over the profile: values of a referee, who integrated over heights and wave numbers. */
START_TEST(an_aperture_of_20_cm)
{
    static const double known[][2] = {{10, 0.45}, {20, 0.32}, {40, 0.21}, {90, 0.14}};
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq_tol(air_aperture(&air_hv57, known[i][0], 1550, 0.2), known[i][1],
                                0.0055);
    ck_assert_double_eq(air_aperture(&air_hv57, 30, 1550, 0), 1);
}
END_TEST

static int set_profile(struct gen_spec *s, const char *text)
{
    char error[GEN_ERROR_MAX];
    gen_spec_init(s);
    return gen_spec_set(s, "profile", text, error);
}

START_TEST(a_profile_by_name_and_by_table)
{
    struct gen_spec s;
    char text[600] = "";
    double moment = 0, fried = 0;
    size_t at = 0;
    ck_assert_int_eq(set_profile(&s, "hv:21m/s,1.7e-14"), 0);
    ck_assert_double_eq_tol(air_rytov(&s.fade.profile, 30, 1550) / air_rytov(&air_hv57, 30, 1550),
                            1, 1e-12);
    /* 30 m/s and a weak ground, in slices */
    ck_assert_int_eq(set_profile(&s, "hv:30m/s,2e-15"), 0);
    for (double h = 0.5; h < 60000; h += 1) {
        double c = 0.00594 * pow(30.0 / 27, 2) * pow(1e-5 * h, 10) * exp(-h / 1000) +
                   2.7e-16 * exp(-h / 1500) + 2e-15 * exp(-h / 100);
        moment += c * pow(h, 5.0 / 6);
        fried += c;
    }
    double k = 2 * M_PI / 1550e-9;
    ck_assert_double_eq_tol(
        air_rytov(&s.fade.profile, 90, 1550) / (2.25 * pow(k, 7.0 / 6) * moment), 1, 1e-3);
    ck_assert_double_eq_tol(air_fried(&s.fade.profile, 90, 1550) / pow(0.423 * k * k * fried, -0.6),
                            1, 1e-3);
    /* the 5/7 profile at some heights gives nearly what the formula gives */
    static const int heights[] = {0,     30,    60,    100,   150,   200,   300,   400,
                                  600,   800,   1000,  1500,  2000,  3000,  4000,  5000,
                                  6000,  7000,  8000,  9000,  10000, 11000, 12000, 13000,
                                  14000, 16000, 18000, 20000, 24000};
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%dm:%.3e", i > 0 ? "," : "",
                               heights[i], air_cn2(&air_hv57, heights[i]));
    ck_assert_int_eq(set_profile(&s, text), 0);
    ck_assert_double_eq_tol(air_rytov(&s.fade.profile, 30, 1550) / air_rytov(&air_hv57, 30, 1550),
                            1, 0.03);
    ck_assert_double_eq_tol(air_fried(&s.fade.profile, 30, 1550) / air_fried(&air_hv57, 30, 1550),
                            1, 0.03);
    ck_assert_double_eq_tol(air_aperture(&s.fade.profile, 30, 1550, 0.3) /
                                air_aperture(&air_hv57, 30, 1550, 0.3),
                            1, 0.03);
}
END_TEST

/* One value up to 20 km: closed form; the edge lies somewhere in a layer. */
START_TEST(a_profile_of_one_value)
{
    struct gen_spec s;
    double k = 2 * M_PI / 1550e-9;
    ck_assert_int_eq(set_profile(&s, "0m:1e-17,20000m:1e-17"), 0);
    double closed = 2.25 * pow(k, 7.0 / 6) * 1e-17 * pow(20000, 11.0 / 6) * 6 / 11;
    ck_assert_double_eq_tol(air_rytov(&s.fade.profile, 90, 1550) / closed, 1, 0.02);
}
END_TEST

START_TEST(wrong_profiles_are_refused)
{
    static const char *const wrong[] = {"hv:21,1.7e-14",
                                        "hv:21m/s",
                                        "hv:21m/s,1.7",
                                        "hv:21m/s,1.7e-30",
                                        "hv:21m/s,1e-99",
                                        "0m:1e-15",
                                        "0m:1e-15,999m:1e-16",
                                        "500m:1e-15,500m:1e-16,2000m:1e-17",
                                        "0m:1e-15,2000m",
                                        "0m:1e-15,40000m:1e-17",
                                        ""};
    struct gen_spec s;
    ck_assert_int_lt(set_profile(&s, wrong[_i]), 0);
}
END_TEST

START_TEST(a_normal_process_has_its_coherence_time)
{
    enum { N = 1500000, LAG = 40 };
    static double x[N];
    struct fade_normal n;
    struct rng r;
    double var = 0, cov = 0, cov_half = 0;
    rng_init(&r, 9);
    fade_normal_init(&n, LAG);
    for (int i = -1000; i < N; i++) {
        double v = fade_normal_next(&n, law_normal(&r));
        if (i >= 0)
            x[i] = v;
    }
    for (int i = 0; i + LAG < N; i++) {
        var += x[i] * x[i];
        cov += x[i] * x[i + LAG];
        cov_half += x[i] * x[i + LAG / 2];
    }
    double h = 2.90449 / 2;
    ck_assert_double_eq_tol(var / (N - LAG), 1, 0.02);
    ck_assert_double_eq_tol(cov / var, exp(-1), 0.02);
    ck_assert_double_eq_tol(cov_half / var, (1 + h + h * h / 3) * exp(-h), 0.02);
}
END_TEST

/* Share of gamma-gamma powers below x, by summing over one factor. */
static double gamma_gamma_below(struct air_gamma g, double x)
{
    double sum = 0;
    for (int i = 0; i < 500; i++) {
        double u = (i + 0.5) / 500, low = 0, high = 50;
        for (int k = 0; k < 60; k++) {
            double m = (low + high) / 2;
            *(math_gamma_below(g.alpha, m * g.alpha) < u ? &low : &high) = m;
        }
        sum += math_gamma_below(g.beta, x / low * g.beta);
    }
    return sum / 500;
}

static double share_of(const char *const options[][2], double *mean)
{
    struct gen_spec s;
    struct trace t;
    struct fade f;
    char error[GEN_ERROR_MAX];
    uint64_t bad = 0, n = 1000000;
    gen_spec_init(&s);
    for (int i = 0; options[i][0] != NULL; i++)
        ck_assert_int_eq(gen_spec_set(&s, options[i][0], options[i][1], error), 0);
    ck_assert_int_eq(gen_spec_check(&s, 100000, error), 0);
    trace_init(&t, 100000);
    ck_assert_int_eq(gen_trace(&t, &s, n, 17), 0);
    for (size_t i = 0; i < t.len; i++)
        bad += t.runs[i].bad ? t.runs[i].steps : 0;
    trace_fini(&t);
    *mean = 0;
    fade_init(&f, &s.fade, 100000, 17);
    for (uint64_t i = 0; i < n; i++)
        *mean += fade_next(&f) / (double)n;
    return (double)bad / (double)n;
}

START_TEST(shares_below_the_threshold_are_the_laws)
{
    double mean, threshold = pow(10, -0.3);
    double share = share_of((const char *const[][2]){{"scintillation", "lognormal"},
                                                     {"index", "0.4"},
                                                     {"coherence", "0.4ms"},
                                                     {"margin", "2dB"},
                                                     {"fec", "1dB"},
                                                     {NULL, NULL}},
                            &mean);
    double sigma = sqrt(log(1.4));
    ck_assert_double_eq_tol(mean, 1, 0.01);
    ck_assert_double_eq_tol(share, math_normal_below(log(threshold) / sigma + sigma / 2), 0.006);

    share = share_of((const char *const[][2]){{"scintillation", "gamma-gamma"},
                                              {"index", "0.7"},
                                              {"coherence", "0.4ms"},
                                              {"margin", "3dB"},
                                              {NULL, NULL}},
                     &mean);
    ck_assert_double_eq_tol(mean, 1, 0.015);
    ck_assert_double_eq_tol(share, gamma_gamma_below(air_gamma(air_rytov_of(0.7)), threshold),
                            0.006);

    /* the pointing loss is beta-distributed: below x with probability x^(1 / (4 j^2)) */
    share = share_of(
        (const char *const[][2]){
            {"jitter", "0.4"}, {"jitter-coherence", "0.4ms"}, {"margin", "3dB"}, {NULL, NULL}},
        &mean);
    double beta = 1 / (4 * 0.16);
    ck_assert_double_eq_tol(mean, beta / (beta + 1), 0.006);
    ck_assert_double_eq_tol(share, pow(threshold, beta), 0.006);
}
END_TEST

START_TEST(a_table_follows_the_quantiles)
{
    static struct fade_table t;
    fade_table_gamma(&t, 2.7);
    for (double z = -6; z < 6; z += 0.0371) {
        double exact = math_gamma_at(2.7, z, log(2.7)) - log(2.7);
        ck_assert_double_eq_tol(fade_table_at(&t, z), exact, 1e-3);
    }
    ck_assert_double_lt(fade_table_at(&t, 100), fade_table_at(&t, 6.49) + 0.01);
    ck_assert_double_eq(fade_table_at(&t, -100), t.value[0]);
}
END_TEST

START_TEST(a_pass_is_linear_between_its_points)
{
    struct gen_spec s;
    char error[GEN_ERROR_MAX];
    gen_spec_init(&s);
    ck_assert_int_eq(gen_spec_set(&s, "elevation", "1s:10,3s:20,4s:90", error), 0);
    ck_assert_double_eq(fade_elevation(&s.fade, 0), 10);
    ck_assert_double_eq(fade_elevation(&s.fade, 2 * TICK_S), 15);
    ck_assert_double_eq(fade_elevation(&s.fade, 3 * TICK_S), 20);
    ck_assert_double_eq(fade_elevation(&s.fade, 9 * TICK_S), 90);
    s.fade.kind = FADE_LOGNORMAL;
    ck_assert_double_gt(fade_index(&s.fade, 10), 3 * fade_index(&s.fade, 60));
    s.fade.index = 0.25;
    ck_assert_double_eq(fade_index(&s.fade, 10), 0.25);
}
END_TEST

/* depth and hold in steps */
START_TEST(the_receiver_averages_and_holds)
{
    enum { N = 5000 };
    static const uint64_t depths[] = {1, 2, 7, 100}, holds[] = {0, 1, 20, 3};
    uint64_t depth = depths[_i], hold = holds[_i], lost = 0, at = 0, run = 0;
    double power[N];
    struct rng r;
    struct trace t;
    struct receiver_config c = {.interleaver = depth * 1000 + 999, .reacquire = hold * 1000};
    rng_init(&r, 4);
    for (int i = 0; i < N; i++)
        power[i] = rng_unit(&r) * rng_unit(&r) * (i % 500 < 250 ? 3 : 1);
    trace_init(&t, 1000);
    ck_assert_int_eq(receiver_trace(&t, &c, 0.4, power, N), 0);
    ck_assert_uint_eq(t.steps, N);
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (uint64_t k = 0; k < depth; k++)
            sum += power[(i + k) % N];
        bool bad = sum / (double)depth < 0.4;
        lost = bad ? hold + 1 : lost > 0 ? lost - 1 : 0;
        ck_assert_int_eq(t.runs[run].bad, lost > 0);
        if (++at == t.runs[run].steps) {
            run++;
            at = 0;
        }
    }
    trace_fini(&t);
}
END_TEST

/* A block is lost when more of its steps are dark than the code corrects; the last one goes on at
 * the first powers. */
START_TEST(the_receiver_spreads_over_blocks)
{
    enum { N = 5000 };
    static const struct {
        uint64_t block, hold, most;
        double correct;
    } cases[] = {
        {8, 0, 1, 0.125}, {10, 0, 3, 0.3}, {7, 20, 0, 0.14}, {100, 3, 100, 1}, {64, 0, 32, 0.5}};
    uint64_t block = cases[_i].block, at = 0, run = 0, lost = 0, bad = 0;
    double power[N];
    struct rng r;
    struct trace t;
    struct receiver_config c = {.block = block * 1000 + 999,
                                .correct = cases[_i].correct,
                                .reacquire = cases[_i].hold * 1000};
    rng_init(&r, 4);
    for (int i = 0; i < N; i++)
        power[i] = rng_unit(&r) * (i % 500 < 250 ? 3 : 0.7);
    trace_init(&t, 1000);
    ck_assert_int_eq(receiver_trace(&t, &c, 0.3, power, N), 0);
    ck_assert_uint_eq(t.steps, N);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t dark = 0;
        for (uint64_t k = i / block * block; k < i / block * block + block; k++)
            dark += power[k % N] < 0.3;
        lost = dark > cases[_i].most ? cases[_i].hold + 1 : lost > 0 ? lost - 1 : 0;
        bad += lost > 0;
        ck_assert_int_eq(t.runs[run].bad, lost > 0);
        if (++at == t.runs[run].steps) {
            run++;
            at = 0;
        }
    }
    ck_assert(cases[_i].correct >= 1 ? bad == 0 : bad > N / 100 && bad < N - N / 100);
    trace_fini(&t);
}
END_TEST

START_TEST(the_receiver_has_limits)
{
    struct receiver r;
    struct receiver_config c = {
        .interleaver = RECEIVER_DEPTH_MAX * 10, .margin_db = 7, .fec_db = 3};
    struct trace t;
    double p = 1;
    ck_assert_int_eq(receiver_init(&r, &c, 1, 10), 0);
    receiver_fini(&r);
    c.interleaver += 10;
    ck_assert_int_eq(receiver_init(&r, &c, 1, 10), HELIO_EINVAL);
    c.interleaver = 0;
    c.block = 19;
    ck_assert_ptr_nonnull(strstr(receiver_fault(&c, 10), "--block"));
    c.block = 20;
    ck_assert_ptr_null(receiver_fault(&c, 10));
    trace_init(&t, 10);
    ck_assert_int_eq(receiver_trace(&t, &c, 1, &p, 0), HELIO_EINVAL);
    ck_assert_double_eq_tol(receiver_threshold(&c), 0.1, 1e-12);
}
END_TEST

SUITE(chan_fade, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, gamma_gamma_parameters);
    tcase_add_test(t, rytov_variance_is_the_integral);
    tcase_add_test(t, an_aperture_averages_as_the_integral_says);
    tcase_add_test(t, an_aperture_of_20_cm);
    tcase_add_test(t, a_profile_by_name_and_by_table);
    tcase_add_test(t, a_profile_of_one_value);
    tcase_add_loop_test(t, wrong_profiles_are_refused, 0, 11);
    tcase_add_test(t, a_normal_process_has_its_coherence_time);
    tcase_add_test(t, shares_below_the_threshold_are_the_laws);
    tcase_add_test(t, a_table_follows_the_quantiles);
    tcase_add_test(t, a_pass_is_linear_between_its_points);
    tcase_add_loop_test(t, the_receiver_averages_and_holds, 0, 4);
    tcase_add_loop_test(t, the_receiver_spreads_over_blocks, 0, 5);
    tcase_add_test(t, the_receiver_has_limits);
}
