/* SPDX-License-Identifier: Apache-2.0 */
/* Generated traces against their models (Kolmogorov-Smirnov at 1 %, with fixed seeds), the options
 * that describe them, and statistics worked out by hand. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_stats.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "tests/unit/suite.h"

static void make(struct trace *t, const char *const options[][2], uint64_t steps, uint64_t seed)
{
    struct gen_spec s;
    char error[GEN_ERROR_MAX] = "";
    gen_spec_init(&s);
    for (int i = 0; options[i][0] != NULL; i++)
        ck_assert_msg(gen_spec_set(&s, options[i][0], options[i][1], error) == 0, "%s", error);
    ck_assert_msg(gen_spec_check(&s, 100000, error) == 0, "%s", error);
    trace_init(t, 100000);
    ck_assert_int_eq(gen_trace(t, &s, steps, seed), 0);
    ck_assert_uint_eq(t->steps, steps);
}

/* The greatest distance between the runs' lengths and a law, which is given in steps; the first
 * and the last run are cut and do not count. */
static double distance(const struct trace *t, bool bad, double (*below)(const void *law, double),
                       const void *law, uint64_t *n)
{
    enum { MAX = 100000 };
    static uint64_t count[MAX];
    memset(count, 0, sizeof count);
    *n = 0;
    for (size_t i = 1; i + 1 < t->len; i++) {
        if (t->runs[i].bad == bad) {
            count[t->runs[i].steps < MAX ? t->runs[i].steps : MAX - 1]++;
            ++*n;
        }
    }
    double most = 0;
    uint64_t sum = 0;
    for (uint64_t k = 1; k < MAX; k++) {
        sum += count[k];
        if (count[k] > 0)
            most = fmax(most, fabs((double)sum / (double)*n - below(law, (double)k)));
    }
    return most;
}

/* Rounded to steps of 0.1 ms. */
static double mix_below(const void *law, double steps)
{
    return law_mix_below(law, (steps + 0.5) / 10);
}

static double geometric_below(const void *p, double steps)
{
    return 1 - pow(1 - *(const double *)p, steps);
}

static const char *const laws[][2] = {
    {"gamma:18.17ms,1.094", "gamma:0.949ms,2.078"},
    {"exponential:20ms", "lognormal:2ms,3ms"},
    {"weibull:15ms,0.8", "0.8689*weibull:5.105ms,1.221+0.1311*weibull:10.642ms,1.225"},
};

START_TEST(renewal_runs_follow_their_laws)
{
    struct trace t;
    struct law_mix mix;
    make(&t, (const char *const[][2]){{"good", laws[_i][0]}, {"bad", laws[_i][1]}, {NULL, NULL}},
         3000000, 5);
    for (int bad = 0; bad < 2; bad++) {
        uint64_t n;
        ck_assert_int_eq(law_mix_parse(laws[_i][bad], &mix), 0);
        double d = distance(&t, bad == 1, mix_below, &mix, &n);
        ck_assert_uint_gt(n, 10000);
        ck_assert_double_lt(d, 1.63 / sqrt((double)n));
    }
    trace_fini(&t);
}
END_TEST

static double bad_share(const struct trace *t)
{
    uint64_t bad = 0;
    for (size_t i = 0; i < t->len; i++)
        bad += t->runs[i].bad ? t->runs[i].steps : 0;
    return (double)bad / (double)t->steps;
}

/* Where it begins tells nothing: over many seeds the share of bad steps is the same at each step,
 * that of a long trace. With H's first good run whole it was 16.8 % in the first 10 ms. */
START_TEST(renewal_begins_in_equilibrium)
{
    static const char *const pairs[][2] = {
        {"gamma:13.480ms,1.102", "0.8689*weibull:5.105ms,1.221+0.1311*weibull:10.642ms,1.225"},
        {"fixed:1ms", "fixed:0.5ms"},
        {"exponential:50us", "lognormal:150us,200us"},
        {"weibull:2ms,0.7", "exponential:1ms"}};
    enum { SEEDS = 4000, STEPS = 100 };
    uint64_t bad[STEPS] = {0}, all = 0;
    const char *const options[][2] = {{"good", pairs[_i][0]}, {"bad", pairs[_i][1]}, {NULL, NULL}};
    struct trace t;
    make(&t, options, 3000000, 1);
    double share = bad_share(&t), deviation = sqrt(share * (1 - share) / SEEDS);
    trace_fini(&t);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t at = 0;
        make(&t, options, STEPS, seed);
        for (size_t i = 0; i < t.len; at += t.runs[i++].steps)
            for (uint64_t n = 0; n < t.runs[i].steps; n++)
                bad[at + n] += t.runs[i].bad;
        trace_fini(&t);
    }
    for (int i = 0; i < STEPS; i++) {
        ck_assert_double_eq_tol((double)bad[i] / SEEDS, share, 4.5 * deviation);
        all += bad[i];
    }
    ck_assert_double_eq_tol((double)all / SEEDS / STEPS, share, 3 * deviation);
}
END_TEST

START_TEST(gilbert_runs_are_geometric)
{
    struct trace t;
    uint64_t n;
    make(&t, (const char *const[][2]){{"gilbert", "18ms,1.2ms"}, {NULL, NULL}}, 3000000, 6);
    double leave_good = 0.1 / 18, leave_bad = 0.1 / 1.2;
    double d = distance(&t, false, geometric_below, &leave_good, &n);
    ck_assert_double_lt(d, 1.63 / sqrt((double)n));
    d = distance(&t, true, geometric_below, &leave_bad, &n);
    ck_assert_uint_gt(n, 10000);
    ck_assert_double_lt(d, 1.63 / sqrt((double)n));
    trace_fini(&t);
}
END_TEST

START_TEST(gilbert_with_loss_in_both_states)
{
    struct trace t;
    make(&t, (const char *const[][2]){{"gilbert", "2ms,1ms,0.01,0.8"}, {NULL, NULL}}, 2000000, 6);
    double expected = (2 * 0.01 + 0.8) / 3;
    ck_assert_double_eq_tol(bad_share(&t), expected, 0.005);
    trace_fini(&t);
}
END_TEST

START_TEST(independent_steps_are_geometric)
{
    struct trace t;
    uint64_t n;
    double leave_bad = 0.9, leave_good = 0.1;
    make(&t, (const char *const[][2]){{"independent", "0.1"}, {NULL, NULL}}, 1000000, 6);
    ck_assert_double_eq_tol(bad_share(&t), 0.1, 3 * sqrt(0.09 / 1e6));
    double d = distance(&t, true, geometric_below, &leave_bad, &n);
    ck_assert_double_lt(d, 1.63 / sqrt((double)n));
    d = distance(&t, false, geometric_below, &leave_good, &n);
    ck_assert_double_lt(d, 1.63 / sqrt((double)n));
    trace_fini(&t);
}
END_TEST

START_TEST(traces_have_the_length_asked_for)
{
    static const char *const names[] = {"F", "leo-low"};
    for (uint64_t steps = 1; steps < 3000; steps = steps * 3 + 1) {
        struct trace a, b;
        const char *const options[][2] = {{"preset", names[_i]}, {NULL, NULL}};
        make(&a, options, steps, 4);
        make(&b, options, steps, 4);
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
    struct gen_spec s;
    char error[GEN_ERROR_MAX];
    trace_init(&t, 1);
    gen_spec_init(&s);
    ck_assert_int_eq(gen_trace(&t, &s, 5, 1), HELIO_EINVAL);
    ck_assert_int_eq(gen_spec_set(&s, "preset", "A", error), 0);
    ck_assert_int_eq(gen_trace(&t, &s, 0, 1), HELIO_EINVAL);
    ck_assert_ptr_null(gen_preset_find("B"));
    ck_assert_ptr_null(gen_preset_find("a"));
    ck_assert_int_eq(gen_spec_set(&s, "colour", "red", error), HELIO_ENOENT);
    trace_fini(&t);
}
END_TEST

/* Options, and how the message begins; a name without text ends the options. */
static const struct {
    const char *options[4][2];
    const char *error;
} wrong[] = {
    {{{NULL}}, "the model is missing"},
    {{{"preset", "B"}}, "\"B\" is not known; write one of: A, F, H"},
    {{{"preset", "A"}, {"preset", "F"}}, "\"F\" must stand before"},
    {{{"good", "gamma:1ms,2"}, {"margin", "3dB"}}, "is for the model 'optical'"},
    {{{"good", "gamma:1ms,2"}}, "--bad is missing"},
    {{{"bad", "gamma:1ms,2"}}, "--good is missing"},
    {{{"bad", "gamma"}}, "\"gamma\" is not understood; write gamma:MEAN,SHAPE"},
    {{{"gilbert", "18ms"}}, "\"18ms\" is not understood"},
    {{{"gilbert", "18ms,1ms,0"}}, "\"18ms,1ms,0\""},
    {{{"gilbert", "18ms,1ms,0,1.1"}}, "\"18ms,"},
    {{{"gilbert", "18ms,1ms,0,1,1"}}, "\"18ms,"},
    {{{"gilbert", "18ms,0.05ms"}}, "--gilbert: a mean time is shorter than a step"},
    {{{"independent", "5%"}}, "\"5%\" is not understood; write a number from 0 to 1"},
    {{{"scintillation", "k"}}, "\"k\" is not understood; write lognormal"},
    {{{"scintillation", "lognormal"}}, "--scintillation needs an --index or an --elevation"},
    {{{"index", "0.3"}}, "--scintillation, --jitter or a pass of --elevation is missing"},
    {{{"index", "1.3"}}, "\"1.3\" is not understood"},
    {{{"elevation", "4"}}, "\"4\" is not understood"},
    {{{"elevation", "0s:10,0s:12"}}, "\"0s:10"},
    {{{"elevation", "0s:10,1s"}}, "\"0s:10"},
    {{{"margin", "3"}}, "\"3\" is not understood; write a value from 0dB to 60dB"},
    {{{"jitter", "0.1"}, {"jitter-coherence", "0.1ms"}}, "--coherence and --jitter-coherence must"},
    {{{"jitter", "0.1"}, {"interleaver", "1001s"}}, "--interleaver is deeper"},
};

START_TEST(wrong_options_have_their_message)
{
    struct gen_spec s;
    char error[GEN_ERROR_MAX] = "";
    int rc = 0;
    gen_spec_init(&s);
    for (int i = 0; rc == 0 && i < 4 && wrong[_i].options[i][0] != NULL; i++)
        rc = gen_spec_set(&s, wrong[_i].options[i][0], wrong[_i].options[i][1], error);
    if (rc == 0)
        rc = gen_spec_check(&s, 100000, error);
    ck_assert_int_eq(rc, HELIO_EFORMAT);
    ck_assert_msg(strncmp(error, wrong[_i].error, strlen(wrong[_i].error)) == 0, "%s", error);
}
END_TEST

/* What a file says of its origin makes the trace again. */
START_TEST(parameters_are_the_options)
{
    struct gen_spec s;
    struct trace_about about;
    char error[GEN_ERROR_MAX], text[600];
    gen_spec_init(&s);
    ck_assert_int_eq(gen_spec_set(&s, "preset", "leo-high", error), 0);
    ck_assert_int_eq(gen_spec_set(&s, "margin", "2.5dB", error), 0);
    gen_about(&about, &s, 8);
    ck_assert_str_eq(about.generator, "optical");
    ck_assert_str_eq(about.parameters, "--preset leo-high --margin 2.5dB");
    ck_assert_uint_eq(about.seed, 8);
    memset(text, '0', sizeof text);
    memcpy(text + 590, "3dB", 4);
    int rc = gen_spec_set(&s, "margin", text + 480, error);
    ck_assert_int_eq(rc, 0);
    rc = gen_spec_set(&s, "margin", text + 60, error);
    ck_assert_int_eq(rc, HELIO_EFORMAT);
}
END_TEST

START_TEST(what_is_drawn_is_synthetic)
{
    static const char *const drawn[] = {"renewal", "gilbert", "independent",
                                        "optical", "sites",   "passes"};
    static const char *const not_known[] = {"", "-", "power", "Renewal", "optical2"};
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        ck_assert_msg(gen_synthetic(drawn[i]), "%s", drawn[i]);
    for (size_t i = 0; i < sizeof not_known / sizeof *not_known; i++)
        ck_assert_msg(!gen_synthetic(not_known[i]), "%s", not_known[i]);
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

SUITE(chan_gen, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, renewal_runs_follow_their_laws, 0, 3);
    tcase_add_loop_test(t, renewal_begins_in_equilibrium, 0, 4);
    tcase_add_test(t, gilbert_runs_are_geometric);
    tcase_add_test(t, gilbert_with_loss_in_both_states);
    tcase_add_test(t, independent_steps_are_geometric);
    tcase_add_loop_test(t, traces_have_the_length_asked_for, 0, 2);
    tcase_add_loop_test(t, wrong_options_have_their_message, 0,
                        (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(t, parameters_are_the_options);
    tcase_add_test(t, refuses_an_empty_trace_and_unknown_presets);
    tcase_add_test(t, what_is_drawn_is_synthetic);
    tcase_add_test(t, statistics_by_hand);
    tcase_add_test(t, a_side_without_runs_is_zeros);
}
