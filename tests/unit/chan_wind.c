/* SPDX-License-Identifier: Apache-2.0 */
/* Wind, slew and what follows, against integrals worked out here with the mathematical library; the
 * spectra and correlation times of the processes against their laws; clouds, extinction, bias and
 * uplink against closed forms. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "channel-emu/chan/fading/chan_air.h"
#include "channel-emu/chan/fading/chan_fade.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "channel-emu/chan/fading/chan_law.h"
#include "channel-emu/chan/fading/chan_wind.h"
#include "channel-emu/chan/fading/chan_zernike.h"
#include "tests/unit/suite.h"

#define RADIAN (M_PI / 180)

static double profile(double h)
{
    return 0.00594 * pow(21.0 / 27, 2) * pow(1e-5 * h, 10) * exp(-h / 1000) +
           2.7e-16 * exp(-h / 1500) + 1.7e-14 * exp(-h / 100);
}

START_TEST(wind_and_slew)
{
    double square = 0;
    for (double h = 5005; h < 20000; h += 10)
        square += pow(wind_at(h, 5, 0), 2) * 10 / 15000;
    /* Andrews and Phillips: about 21 m/s, for which the Hufnagel-Valley 5/7 profile is made */
    ck_assert_double_eq_tol(sqrt(square), 22, 1.5);
    ck_assert_double_eq_tol(wind_at(9400, 5, 0.01), 5 + 30 + 94, 1e-9);
    /* in the zenith: orbital speed / altitude */
    double speed = sqrt(3.986004418e14 / 6921e3);
    ck_assert_double_eq_tol(wind_slew(90, 550), speed / 550e3, 1e-9);
    /* elsewhere: the change of the elevation along the orbit, by difference */
    double step = 1e-5,
           alpha = 0.12; /* between station and satellite, seen from the Earth's centre */
    double at[2];
    for (int i = 0; i < 2; i++) {
        double a = alpha + i * step;
        at[i] = atan2(6921e3 * cos(a) - 6371e3, 6921e3 * sin(a));
    }
    double slew = (at[0] - at[1]) / step * speed / 6921e3;
    ck_assert_double_eq_tol(wind_slew(at[0] / RADIAN, 550) / slew, 1, 1e-3);
    ck_assert_double_eq_tol(wind_air_mass(90), 1, 1e-3);
    ck_assert_double_eq_tol(wind_air_mass(10), 5.60, 0.02); /* Kasten and Young 1989, table */
    ck_assert_double_eq_tol(wind_air_mass(30), 1.995, 0.005);
}
END_TEST

START_TEST(greenwood_and_fried_are_their_integrals)
{
    double wind = 0, all = 0, k = 2 * M_PI / 1550e-9;
    for (double h = 0.25; h < 30000; h += 0.5) {
        wind += profile(h) * pow(wind_at(h, 5, 0.005), 5.0 / 3) * 0.5;
        all += profile(h) * 0.5;
    }
    double greenwood = 2.31 * pow(1550e-9, -1.2) * pow(2 * wind, 0.6); /* Tyson */
    ck_assert_double_eq_tol(wind_greenwood(&air_hv57, 30, 1550, 5, 0.005) / greenwood, 1, 5e-3);
    double fried = pow(0.423 * k * k * 2 * all, -0.6);
    ck_assert_double_eq_tol(air_fried(&air_hv57, 30, 1550) / fried, 1, 1e-3);
    /* that is what "5/7" says: r0 of 5 cm at 500 nm in the zenith */
    ck_assert_double_eq_tol(air_fried(&air_hv57, 90, 500), 0.05, 0.001);
    double wander = sqrt(0.54 / 2) * 1550e-9 / 0.1 * pow(0.1 / fried, 5.0 / 6);
    ck_assert_double_eq_tol(
        wind_wander(&air_hv57, 30, 1550, 0.05) / (wander / (1550e-9 / (M_PI * 0.05))), 1, 1e-3);
}
END_TEST

/* The covariance of weak scintillation behind an aperture, over heights and wave numbers. */
static double covariance(double sine, double diameter, double ground, double slew, double t)
{
    double k = 2 * M_PI / 1550e-9, sum = 0;
    for (int i = 0; i < 150; i++) {
        double h = 10 * (exp(8.0 * (i + 0.5) / 150) - 1), depth = (h + 10) * 8.0 / 150;
        double layer = 0, v = wind_at(h, ground, slew);
        for (int n = 0; n < 900; n++) {
            double kappa = 0.1 * exp(10.0 * (n + 0.5) / 900), x = kappa * diameter / 2;
            double through = x < 1e-6 ? 1 : 2 * j1(x) / x;
            layer += pow(kappa, -5.0 / 3) * through * through *
                     (1 - cos(kappa * kappa * h / sine / k)) * j0(kappa * v * t) * 10.0 / 900;
        }
        sum += profile(h) * depth * layer;
    }
    return sum;
}

/* The closed form is within 12 % of the whole integral. */
START_TEST(modes_leave_what_noll_found)
{
    /* table IV of Noll 1976 */
    static const double table[] = {1.0299, 0.582, 0.134, 0.111, 0.0880, 0.0648, 0.0587};
    double sum = zernike_residual(500);
    for (unsigned j = 1; j <= 7; j++)
        ck_assert_double_eq_tol(zernike_residual(j), table[j - 1], 0.006 * table[j - 1]);
    for (unsigned order = 1, modes = 1; modes < 500; order++) {
        for (unsigned k = 0; k <= order && modes < 500; k++, modes++)
            sum += zernike_variance(order);
    }
    ck_assert_double_eq_tol(sum, zernike_residual(1), 1e-12);
    ck_assert(zernike_residual(ZERNIKE_MODES_MAX) > 0);
    ck_assert_double_eq_tol(zernike_coupling(3, 2), exp(-zernike_residual(3) * pow(2, 5.0 / 3)),
                            1e-12);
}
END_TEST

START_TEST(profiles_by_name_and_by_r0)
{
    struct air_profile p;
    ck_assert(!air_named("slc", &p) && air_named("hv57", &p));
    ck_assert_double_eq(air_cn2(&p, 100), air_cn2(&air_hv57, 100));
    ck_assert(air_named("slc-night", &p));
    ck_assert_double_eq(air_cn2(&p, 0), 8.4e-15);
    ck_assert_double_eq_tol(air_cn2(&p, 50) * 1e15, 2.87 / 2.5, 1e-9);
    ck_assert_double_eq(air_cn2(&p, 20000), 0);
    ck_assert(air_named("slc-day", &p));
    ck_assert_double_eq(air_cn2(&p, 240), 1.3e-15);
    ck_assert_double_eq_tol(air_cn2(&p, 10000) * 1e18, 2, 1e-9);
    for (int i = 0; i < 3; i++) {
        ck_assert(air_named(i == 0 ? "hv57" : i == 1 ? "slc-day" : "slc-night", &p));
        double index = air_rytov(&p, 30, 1550), r0 = air_fried(&p, 90, 1550);
        air_scale(&p, 1550, 0.07);
        ck_assert_double_eq_tol(air_fried(&p, 90, 1550), 0.07, 1e-12);
        ck_assert_double_eq_tol(air_rytov(&p, 30, 1550), index * pow(r0 / 0.07, 5.0 / 3), 1e-9);
        air_scale(&p, 1550, 0);
        ck_assert_double_eq(air_fried(&p, 90, 1550), r0);
    }
}
END_TEST

START_TEST(the_coherence_time_is_that_of_the_covariance)
{
    static const double cases[][2] = {{10, 0}, {90, 0}, {30, 0.2}, {90, 0.6}};
    double elevation = cases[_i][0], diameter = cases[_i][1];
    double sine = sin(elevation * RADIAN), slew = wind_slew(elevation, 550), low = 1e-5, high = 1;
    double all = covariance(sine, diameter, 5, slew, 0);
    for (int i = 0; i < 12; i++) {
        double middle = sqrt(low * high);
        *(covariance(sine, diameter, 5, slew, middle) > all * exp(-1) ? &low : &high) = middle;
    }
    double told = wind_coherence(&air_hv57, elevation, 1550, diameter, 5, slew);
    ck_assert_double_eq_tol(told / sqrt(low * high), 1, 0.12);
}
END_TEST

static void spec_of(struct gen_spec *s, const char *const options[][2])
{
    char error[GEN_ERROR_MAX] = "";
    gen_spec_init(s);
    for (int i = 0; options[i][0] != NULL; i++)
        ck_assert_msg(gen_spec_set(s, options[i][0], options[i][1], error) == 0, "%s", error);
    ck_assert_msg(gen_spec_check(s, TICK_MS, error) == 0, "%s", error);
}

/* The same of what is drawn: 200 s with steps of 1 ms and of 0.25 ms, four deviations apart. */
START_TEST(drawn_fades_are_as_many_with_any_step)
{
    double found[2];
    for (int k = 0; k < 2; k++) {
        static struct fade f;
        struct gen_spec s;
        tick step = k == 0 ? TICK_MS : TICK_MS / 4;
        uint64_t steps = 200 * TICK_S / step, fades = 0;
        bool before = false;
        spec_of(&s, (const char *const[][2]){{"scintillation", "lognormal"},
                                             {"index", "0.2"},
                                             {"coherence", "50ms"},
                                             {"spectrum", "point"},
                                             {"inner", "5ms"},
                                             {NULL, NULL}});
        fade_init(&f, &s.fade, step, 7 + (uint64_t)k);
        for (uint64_t i = 0; i < steps; i++) {
            bool now = fade_next(&f) < 0.6;
            fades += now && !before;
            before = now;
        }
        found[k] = (double)fades;
    }
    ck_assert_double_gt(found[0], 1000);
    ck_assert_double_eq_tol(found[1] / found[0], 1, 4 * sqrt(2 / found[0]));
}
END_TEST

#define INNER 10 /* steps */

/* Three equal poles, which are the default, or the filter of the slope asked for. */
static double correlation_asked(int spectrum, double coherence, unsigned lag)
{
    struct chan_filter f = {.count = 0};
    double x = 2.904 * lag / coherence;
    if (spectrum == 0)
        return (1 + x + x * x / 3) * exp(-x);
    chan_filter_set(&f, spectrum == 1 ? SLOPE_POINT : SLOPE_APERTURE, coherence,
                    spectrum == 1 ? INNER : 0);
    return chan_filter_correlation(&f, lag);
}

/* The power itself: how its third differences grow from 10 steps to 30 tells the three spectra
 * apart; they are 20 - 30 rho(t) + 12 rho(2t) - 2 rho(3t) at both. */
START_TEST(the_power_has_the_spectrum_asked_for)
{
    enum { LEN = 300000 };
    static const char *const names[] = {NULL, "point", "aperture"};
    static const double about[] = {176, 7.81, 134};
    static double x[LEN];
    static struct fade f;
    struct gen_spec s;
    double drawn[2] = {0}, closed[2];
    spec_of(&s, (const char *const[][2]){{"scintillation", "lognormal"},
                                         {"index", "0.05"},
                                         {"coherence", "300ms"},
                                         {_i == 0 ? NULL : "spectrum", names[_i]},
                                         {_i == 1 ? "inner" : NULL, "10ms"},
                                         {NULL, NULL}});
    fade_init(&f, &s.fade, TICK_MS, 5);
    for (int i = 0; i < LEN; i++)
        x[i] = log(fade_next(&f));
    for (int k = 0; k < 2; k++) {
        unsigned lag = k == 0 ? 10 : 30;
        for (size_t i = 0; i + 3 * lag < LEN; i++)
            drawn[k] += pow(x[i + 3 * lag] - 3 * x[i + 2 * lag] + 3 * x[i + lag] - x[i], 2) / LEN;
        closed[k] = 20 - 30 * correlation_asked(_i, 300, lag) +
                    12 * correlation_asked(_i, 300, 2 * lag) -
                    2 * correlation_asked(_i, 300, 3 * lag);
    }
    ck_assert_double_eq_tol(closed[1] / closed[0] / about[_i], 1, 0.02);
    ck_assert_double_eq_tol(drawn[1] / drawn[0] / (closed[1] / closed[0]), 1, 0.04);
}
END_TEST

static double mean_of(const struct gen_spec *s, uint64_t n, uint64_t *blocked)
{
    static struct fade f;
    double sum = 0;
    *blocked = 0;
    fade_init(&f, &s->fade, TICK_MS, 11);
    for (uint64_t i = 0; i < n; i++) {
        double p = fade_next(&f);
        *blocked += p < 1e-200;
        sum += p;
    }
    return sum / (double)n;
}

START_TEST(clouds_cover_their_share)
{
    static const char *const elevations[] = {"90", "30", "10"};
    static const double mass[] = {1, 2, 5.758770483};
    struct gen_spec s;
    uint64_t blocked;
    spec_of(&s, (const char *const[][2]){
                    {"elevation", elevations[_i]}, {"cloud", "0.2,200ms"}, {NULL, NULL}});
    const uint64_t n = 4000000;
    double share = 1 - pow(0.8, mass[_i]);
    double mean = mean_of(&s, n, &blocked);
    /* some n / 200 / (1 - share) clouds with exponential durations: 4 deviations */
    double clouds = (double)n / 200 * share;
    double deviation = share * (1 - share) * sqrt(2 / clouds) / share;
    ck_assert_double_eq_tol((double)blocked / (double)n, share, 4 * deviation);
    ck_assert_double_eq_tol(mean, 1 - (double)blocked / (double)n, 1e-9);
}
END_TEST

/* A cloud leaves with step / duration each step: geometric, with the mean that was asked for
 * whatever the elevation. Five of the mean's deviations. */
START_TEST(clouds_last_as_long_as_asked)
{
    static const char *const elevations[] = {"90", "30", "10"};
    static struct fade f;
    struct gen_spec s;
    double covered = 0, clouds = 0;
    bool before = false;
    spec_of(&s, (const char *const[][2]){
                    {"elevation", elevations[_i]}, {"cloud", "0.2,50ms"}, {NULL, NULL}});
    fade_init(&f, &s.fade, TICK_MS, 13);
    for (int i = 0; i < 1000000; i++) {
        bool now = fade_next(&f) < 1e-200;
        clouds += now && !before;
        covered += now;
        before = now;
    }
    ck_assert_double_gt(clouds, 3000);
    ck_assert_double_eq_tol(covered / clouds, 50, 5 * 50 / sqrt(clouds));
}
END_TEST

/* They draw from a stream of their own: between them the power is what it is without them. */
START_TEST(clouds_change_nothing_else)
{
    const char *const bare[][2] = {{"scintillation", "gamma-gamma"},
                                   {"elevation", "0s:20,20s:40"},
                                   {"jitter", "0.2"},
                                   {NULL, NULL}};
    static struct fade under, clear;
    struct gen_spec a, b;
    char error[GEN_ERROR_MAX];
    unsigned blocked = 0;
    const unsigned n = 20000;
    spec_of(&a, bare);
    spec_of(&b, bare);
    ck_assert_int_eq(gen_spec_set(&a, "cloud", "0.3,50ms", error), 0);
    fade_init(&under, &a.fade, TICK_MS, 7);
    fade_init(&clear, &b.fade, TICK_MS, 7);
    for (unsigned i = 0; i < n; i++) {
        double p = fade_next(&under), q = fade_next(&clear);
        if (p < 1e-200)
            blocked++;
        else
            ck_assert_double_eq(p, q);
    }
    ck_assert(blocked > n / 4 && blocked < n * 9 / 10);
}
END_TEST

/* Half of the sky in the zenith is 98 % of it at 10 degrees: 10 s of cloud, 0.19 s of sun. */
START_TEST(clear_times_have_a_step_at_least)
{
    static const struct {
        const char *cloud;
        tick step;
        bool right;
    } cases[] = {{"0.5,10s", TICK_S, false},
                 {"0.5,10s", TICK_S / 10, true},
                 {"0.5,60s", TICK_S, true},
                 {"0.2,10s", TICK_S, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gen_spec s;
        char error[GEN_ERROR_MAX] = "";
        gen_spec_init(&s);
        ck_assert_int_eq(gen_spec_set(&s, "elevation", "0s:90,300s:10", error), 0);
        ck_assert_int_eq(gen_spec_set(&s, "cloud", cases[i].cloud, error), 0);
        ck_assert_msg((gen_spec_check(&s, cases[i].step, error) == 0) == cases[i].right, "%zu", i);
        ck_assert(cases[i].right || strstr(error, "clear times") != NULL);
    }
}
END_TEST

START_TEST(extinction_follows_the_air_mass)
{
    struct gen_spec s, clear;
    struct fade a, b;
    const char *const pass = "0s:10,60s:90";
    spec_of(&s,
            (const char *const[][2]){{"elevation", pass}, {"extinction", "1.5dB"}, {NULL, NULL}});
    spec_of(&clear, (const char *const[][2]){{"elevation", pass}, {NULL, NULL}});
    fade_init(&a, &s.fade, TICK_S, 1);
    fade_init(&b, &clear.fade, TICK_S, 1);
    double first = fade_next(&a) / fade_next(&b); /* at 10 degrees */
    ck_assert_double_eq_tol(-10 * log10(first), 1.5 * (5.60 - 1), 0.03);
    for (int i = 1; i < 60; i++) {
        (void)fade_next(&a);
        (void)fade_next(&b);
    }
    ck_assert_double_eq_tol(fade_next(&a) / fade_next(&b), 1, 1e-9); /* at 90 */
}
END_TEST

/* The mean of e^(-2 ((b + jx)^2 + (jy)^2)): e^(-2b^2 / (1 + 4j^2)) / (1 + 4j^2). */
START_TEST(a_bias_of_the_pointing)
{
    struct gen_spec s;
    uint64_t blocked;
    spec_of(&s, (const char *const[][2]){
                    {"jitter", "0.3"}, {"bias", "0.4"}, {"jitter-coherence", "4ms"}, {NULL, NULL}});
    double d = 1 + 4 * 0.09;
    ck_assert_double_eq_tol(mean_of(&s, 1000000, &blocked), exp(-2 * 0.16 / d) / d, 0.005);
}
END_TEST

/* Without any jitter it is a constant: e^(-2b^2). */
START_TEST(a_bias_alone_is_a_constant)
{
    struct gen_spec s, straight;
    struct fade a, b;
    const char *const pass[][2] = {{"elevation", "0s:10,60s:90"}, {NULL, NULL}};
    char error[GEN_ERROR_MAX];
    spec_of(&s, pass);
    spec_of(&straight, pass);
    ck_assert_int_eq(gen_spec_set(&s, "bias", "0.7", error), 0);
    ck_assert_int_eq(gen_spec_check(&s, TICK_S, error), 0);
    fade_init(&a, &s.fade, TICK_S, 1);
    fade_init(&b, &straight.fade, TICK_S, 1);
    for (int i = 0; i < 60; i++)
        ck_assert_double_eq_tol(fade_next(&a) / fade_next(&b), exp(-2 * 0.49), 1e-12);
}
END_TEST

START_TEST(upwards_the_beam_wanders)
{
    struct gen_spec s;
    uint64_t blocked;
    spec_of(&s, (const char *const[][2]){{"elevation", "40"},
                                         {"uplink", "0.03m"},
                                         {"jitter", "0.1"},
                                         {"jitter-coherence", "4ms"},
                                         {"residual", "0.25"},
                                         {NULL, NULL}});
    double wander = wind_wander(&air_hv57, 40, 1550, 0.03);
    double square = 0.01 + 0.25 * wander * wander;
    ck_assert_double_gt(wander, 0.2); /* it matters */
    ck_assert_double_eq_tol(mean_of(&s, 1000000, &blocked), 1 / (1 + 4 * square), 0.006);
    /* the aperture in orbit averages nothing, and adaptive optics leave a quarter of the index */
    s.fade.kind = FADE_LOGNORMAL;
    s.fade.aperture_m = 0.5;
    double down = air_index(air_gamma(air_rytov(&air_hv57, 40, 1550)));
    ck_assert_double_eq_tol(fade_index(&s.fade, 40), 0.25 * down, 1e-9);
    s.fade.wind = s.fade.orbit = true;
    s.fade.wind_m_s = 5;
    double point = 1e9 * wind_coherence(&air_hv57, 40, 1550, 0, 5, wind_slew(40, 550));
    ck_assert_double_eq_tol(fade_coherence(&s.fade, 40) / point, 1, 1e-12);
}
END_TEST

/* Large and small eddies: apart as their scales are, the geometric mean as it was said. */
START_TEST(two_scales_are_apart)
{
    struct gen_spec s;
    static struct fade f;
    spec_of(&s, (const char *const[][2]){{"scintillation", "gamma-gamma"},
                                         {"index", "1"},
                                         {"coherence", "40ms"},
                                         {"scales", "two"},
                                         {NULL, NULL}});
    fade_init(&f, &s.fade, TICK_MS, 1);
    double rytov = air_rytov_of(1), t = pow(rytov, 1.2);
    double large = 2.61 / (1 + 1.11 * t), small = 3 * (1 + 0.69 * t);
    ck_assert_double_eq_tol(f.coherence[0] / f.coherence[1], sqrt(small / large), 1e-6);
    ck_assert_double_eq_tol(sqrt(f.coherence[0] * f.coherence[1]), 40, 1e-6);
    ck_assert_double_gt(f.coherence[0], 2 * f.coherence[1]);
}
END_TEST

START_TEST(a_pass_has_the_coherence_of_its_elevation)
{
    struct gen_spec s;
    static struct fade f;
    spec_of(&s, (const char *const[][2]){{"scintillation", "lognormal"},
                                         {"elevation", "0s:10,100s:30"},
                                         {"aperture", "1m"},
                                         {"wind", "5m/s"},
                                         {"spectrum", "aperture"},
                                         {NULL, NULL}});
    fade_init(&f, &s.fade, TICK_MS, 1);
    for (int second = 0; second <= 100; second += 50) {
        double elevation = 10 + second * 0.2;
        double told =
            1e3 * wind_coherence(&air_hv57, elevation, 1550, 1, 5, wind_slew(elevation, 550));
        while (f.now <= (uint64_t)second * 1000)
            (void)fade_next(&f);
        ck_assert_double_eq_tol(f.coherence[0] / told, 1, 0.01);
    }
}
END_TEST

START_TEST(options_without_sense_are_refused)
{
    static const char *const wrong[][2] = {
        {"wind", "5"},       {"wind", "200m/s"}, {"slew", "fast"},  {"spectrum", "flat"},
        {"scales", "three"}, {"bias", "6"},      {"uplink", "0m"},  {"residual", "2"},
        {"extinction", "1"}, {"cloud", "0.5"},   {"cloud", "1,5s"}, {"cloud", "0.5,0s"}};
    struct gen_spec s;
    char error[GEN_ERROR_MAX];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        gen_spec_init(&s);
        ck_assert_int_lt(gen_spec_set(&s, wrong[i][0], wrong[i][1], error), 0);
        ck_assert_ptr_ne(strstr(error, "write "), NULL);
    }
    gen_spec_init(&s);
    ck_assert_int_eq(gen_spec_set(&s, "jitter", "0.5", error), 0);
    ck_assert_int_eq(gen_spec_set(&s, "cloud", "0.5,5s", error), 0);
    ck_assert_int_lt(gen_spec_check(&s, TICK_MS, error), 0);
    ck_assert_ptr_ne(strstr(error, "need an --elevation"), NULL);
}
END_TEST

/* Who asks for something is not given the default instead without a word. */
START_TEST(options_that_change_nothing_are_refused)
{
    static const char *const options[][4][2] = {
        {{"scintillation", "lognormal"}, {"index", "0.2"}, {"scales", "two"}},
        {{"scintillation", "lognormal"}, {"index", "0.2"}, {"residual", "0.3"}},
        {{"scintillation", "lognormal"}, {"index", "0.2"}, {"slew", "0.5deg/s"}},
        {{"scintillation", "lognormal"}, {"index", "0.2"}, {"aperture", "0.4m"}},
        {{"scintillation", "lognormal"},
         {"elevation", "40"},
         {"uplink", "0.03m"},
         {"aperture", "0.4m"}},
        {{"scintillation", "lognormal"},
         {"elevation", "40"},
         {"index", "0.2"},
         {"aperture", "0.4m"}},
        {{"jitter", "0.2"}, {"elevation", "40"}, {"aperture", "0.4m"}},
        {{"jitter", "0.2"}, {"index", "0.2"}},
        {{"jitter", "0.2"}, {"spectrum", "point"}},
        {{"jitter", "0.2"}, {"elevation", "40"}, {"wind", "5m/s"}},
        {{"scintillation", "lognormal"}, {"index", "0.2"}, {"inner", "1ms"}},
        {{"scintillation", "lognormal"}, {"index", "0.2"}, {"spectrum", "point"}},
        {{"scintillation", "lognormal"},
         {"index", "0.2"},
         {"spectrum", "point"},
         {"inner", "0.4ms"}},
        {{"scintillation", "lognormal"},
         {"index", "0.2"},
         {"spectrum", "point"},
         {"inner", "2.6ms"}}};
    static const char *const words[] = {"gamma-gamma", "--uplink",   "--wind",  "--elevation",
                                        "--uplink",    "--aperture", "without", "missing",
                                        "missing",     "missing",    "--inner", "needs an --inner",
                                        "5 steps",     "5 steps"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct gen_spec s;
        char error[GEN_ERROR_MAX] = "";
        gen_spec_init(&s);
        for (int k = 0; k < 4 && options[i][k][0] != NULL; k++)
            ck_assert_int_eq(gen_spec_set(&s, options[i][k][0], options[i][k][1], error), 0);
        ck_assert_int_lt(gen_spec_check(&s, TICK_MS / 10, error), 0);
        ck_assert_msg(strstr(error, words[i]) != NULL, "%s", error);
    }
}
END_TEST

SUITE(chan_wind, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, wind_and_slew);
    tcase_add_test(t, greenwood_and_fried_are_their_integrals);
    tcase_add_test(t, modes_leave_what_noll_found);
    tcase_add_test(t, profiles_by_name_and_by_r0);
    tcase_add_loop_test(t, the_coherence_time_is_that_of_the_covariance, 0, 4);
    tcase_add_test(t, drawn_fades_are_as_many_with_any_step);
    tcase_add_loop_test(t, the_power_has_the_spectrum_asked_for, 0, 3);
    tcase_add_loop_test(t, clouds_cover_their_share, 0, 3);
    tcase_add_loop_test(t, clouds_last_as_long_as_asked, 0, 3);
    tcase_add_test(t, clouds_change_nothing_else);
    tcase_add_test(t, clear_times_have_a_step_at_least);
    tcase_add_test(t, extinction_follows_the_air_mass);
    tcase_add_test(t, a_bias_of_the_pointing);
    tcase_add_test(t, a_bias_alone_is_a_constant);
    tcase_add_test(t, upwards_the_beam_wanders);
    tcase_add_test(t, two_scales_are_apart);
    tcase_add_test(t, a_pass_has_the_coherence_of_its_elevation);
    tcase_add_test(t, options_without_sense_are_refused);
    tcase_add_test(t, options_that_change_nothing_are_refused);
}
