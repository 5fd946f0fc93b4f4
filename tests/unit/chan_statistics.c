/* SPDX-License-Identifier: Apache-2.0 */
/* What traffic sees of erasures and noise follows its law: chi-square and Kolmogorov-Smirnov tests
 * at the level 0.001, normal ones at four standard deviations; the seeds are fixed. */
#include <math.h>

#include "channel-emu/chan/fading/chan_gen.h"
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

#define LEVEL_Z 3.09 /* of a normal distribution, one side, 0.001 */

/* Wilson and Hilferty's approximation of the chi-square distribution's upper 0.001 point. */
static double chi2_limit(double df)
{
    double a = 2 / (9 * df);
    return df * pow(1 - a + LEVEL_Z * sqrt(a), 3);
}

/* Observed counts of the lengths 1, 2, … (the last one: all above) against a geometric law that
 * goes on with probability q, in bins that expect a 16th of all, at least 8. */
static void check_geometric(const uint64_t *count, size_t lengths, double q, const char *what)
{
    double total = 0, chi2 = 0, left, expected = 0, seen = 0;
    size_t df = 0;
    for (size_t i = 0; i < lengths; i++)
        total += (double)count[i];
    left = total;
    double room = total / 16 > 8 ? total / 16 : 8;
    for (size_t i = 0; i < lengths; i++) {
        bool last = i + 1 == lengths;
        expected += last ? left : left * (1 - q);
        left *= q;
        seen += (double)count[i];
        if (!last && (expected < room || left < 8))
            continue;
        chi2 += (seen - expected) * (seen - expected) / expected;
        expected = seen = 0;
        df += !last;
    }
    ck_assert_uint_ge(df, 1);
    ck_assert_msg(chi2 < chi2_limit((double)df), "%s: chi2 %.1f of %zu", what, chi2, df);
}

static void check_share(double hits, double n, double p, const char *what)
{
    double z = (hits - n * p) / sqrt(n * p * (1 - p));
    ck_assert_msg(fabs(z) < 4, "%s: %.6f instead of %.6f, z = %.1f", what, hits / n, p, z);
}

#define BINS 4096

/* Lengths of runs of lost and of passed frames. */
struct runs {
    uint64_t count[2][BINS]; /* by length - 1 */
    uint64_t frames[2];
    bool lost;
    size_t len;
};

static void run_ends(struct runs *r)
{
    if (r->len > 0)
        r->count[r->lost][r->len < BINS ? r->len - 1 : BINS - 1]++;
    r->len = 0;
}

/* The first and the last run, which are cut, are left out. */
static struct runs *observe(const struct chan_config *k, uint64_t n, tick spacing, size_t len)
{
    struct runs *r = calloc(1, sizeof *r);
    struct chan *c = chan_of(*k);
    struct chan_out out;
    bool first = true;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t before = chan_lost(chan_counters(c));
        input(c, len, i, i * spacing);
        bool lost = chan_lost(chan_counters(c)) != before;
        r->frames[lost]++;
        if (i > 0 && lost != r->lost) {
            if (first)
                r->len = 0;
            first = false;
            run_ends(r);
        }
        r->lost = lost;
        r->len++;
        while (chan_output(c, TICK_NEVER - 1, &out) == 1)
            ;
    }
    chan_free(c);
    return r;
}

START_TEST(independent_losses)
{
    static const double p[] = {0.01, 0.0498, 0.288, 0.5, 0.9};
    const uint64_t n = 300000;
    struct chan_config k = {.loss = p[_i], .seed = 5 + (uint64_t)_i};
    struct runs *r = observe(&k, n, 1000, 10);
    check_share((double)r->frames[true], (double)n, p[_i], "share");
    check_geometric(r->count[true], BINS, p[_i], "bursts");
    check_geometric(r->count[false], BINS, 1 - p[_i], "gaps");
    free(r);
}
END_TEST

/* States that are looked at in steps are a Markov chain in steps: runs are geometric. */
START_TEST(gilbert_elliott_in_time)
{
    static const struct {
        tick good, bad, spacing;
    } cases[] = {{10 * TICK_MS, TICK_MS, 100 * TICK_US},
                 {18 * TICK_MS, 950 * TICK_US, 50 * TICK_US},
                 {TICK_MS, 3 * TICK_MS, 400 * TICK_US},
                 {50 * TICK_US, 50 * TICK_US, 100 * TICK_US}};
    const uint64_t n = 1000000;
    tick spacing = cases[_i].spacing;
    struct chan_config k = {.burst = {cases[_i].good, cases[_i].bad, 0, 1}, .seed = 77};
    double good = (double)cases[_i].good, bad = (double)cases[_i].bad, step = (double)spacing;
    double share = bad / (good + bad), back = 1 / good + 1 / bad, fades = exp(-step * back);
    struct runs *r = observe(&k, n, spacing, 10);
    check_geometric(r->count[true], BINS, share + (1 - share) * fades, "bursts");
    check_geometric(r->count[false], BINS, 1 - share + share * fades, "gaps");
    /* neighbours are alike: that many frames count as one */
    double same = (1 + fades) / (1 - fades);
    check_share((double)r->frames[true] / same, (double)n / same, share, "share");
    free(r);
}
END_TEST

/* Frames far apart see independent states. _i = 1: only their starts count. */
START_TEST(gilbert_elliott_in_air_time)
{
    const uint64_t n = 100000;
    const double good = 4e5, bad = 1e5, air = 1e5; /* ns */
    struct chan_config k = {
        .rate_bps = 8000000, .burst = {400000, 100000, 0.02, 0.6}, .start_only = _i, .seed = 3};
    double meets = 1 - good / (good + bad) * (_i ? 1 : exp(-air / good));
    struct runs *r = observe(&k, n, 5 * TICK_MS, 100);
    check_share((double)r->frames[true], (double)n, meets * 0.6 + (1 - meets) * 0.02, "share");
    free(r);
}
END_TEST

/* A silence of hours does not take hours, and begins with a state of the right share. */
START_TEST(gilbert_elliott_after_silence)
{
    const uint64_t n = 50000;
    struct chan_config k = {.burst = {3000, 1000, 0, 1}, .seed = 4};
    struct runs *r = observe(&k, n, 3600 * TICK_S, 10);
    check_share((double)r->frames[true], (double)n, 0.25, "share");
    free(r);
}
END_TEST

static const char *const presets[] = {"A", "F", "H"};

static void generate(struct trace *t, const char *preset, uint64_t steps, uint64_t seed)
{
    char error[GEN_ERROR_MAX];
    struct gen_spec spec;
    gen_spec_init(&spec);
    ck_assert_int_eq(gen_spec_set(&spec, "preset", preset, error), 0);
    trace_init(t, 100 * TICK_US);
    ck_assert_int_eq(gen_trace(t, &spec, steps, seed), 0);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest distance of two empirical distributions. */
static double ks_distance(double *a, size_t n, double *b, size_t m)
{
    double most = 0;
    qsort(a, n, sizeof *a, by_value);
    qsort(b, m, sizeof *b, by_value);
    for (size_t i = 0, j = 0; i < n && j < m;) {
        double at = a[i] < b[j] ? a[i] : b[j];
        while (i < n && a[i] <= at)
            i++;
        while (j < m && b[j] <= at)
            j++;
        double d = fabs((double)i / (double)n - (double)j / (double)m);
        most = d > most ? d : most;
    }
    return most;
}

static void check_ks(double *a, size_t n, double *b, size_t m, const char *what)
{
    double limit = 1.95 * sqrt(((double)n + (double)m) / ((double)n * (double)m));
    double d = ks_distance(a, n, b, m);
    ck_assert_msg(d < limit, "%s: D = %.4f, limit %.4f", what, d, limit);
}

/* Saturated traffic of 1,066 bytes at 500 Mbit/s: a run of lost frames tells how many steps were
 * bad, since a frame is shorter than a step. Writes the lengths in steps; returns their number. */
static size_t bad_runs_seen(const struct trace *t, double *lengths, uint64_t *lost,
                            uint64_t *frames)
{
    const double air = 1066 * 8 / 0.5;
    struct chan *c =
        chan_of((struct chan_config){.rate_bps = 500000000, .overhead = 42, .trace = t});
    struct chan_out out;
    size_t runs = 0;
    uint64_t len = 0;
    *lost = 0;
    for (*frames = 0; (double)(*frames + 1) * air < (double)(t->steps * t->step); (*frames)++) {
        uint64_t before = chan_counters(c)->lost[CHAN_TRACE];
        input(c, 1024, 0, (tick)((double)*frames * air));
        bool bad = chan_counters(c)->lost[CHAN_TRACE] != before;
        *lost += bad;
        if (!bad && len > 0)
            lengths[runs++] = floor((double)(len - 1) * air / (double)t->step + 0.5);
        len = bad ? len + 1 : 0;
        while (chan_output(c, TICK_NEVER - 1, &out) == 1)
            ;
    }
    chan_free(c);
    return runs;
}

/* Lengths of the bad runs of another trace of the preset, in steps; at most max. */
static size_t bad_lengths(const char *preset, uint64_t seed, double *lengths, size_t max)
{
    struct trace t;
    size_t n = 0;
    generate(&t, preset, 2000000, seed);
    for (size_t i = 0; i < t.len && n < max; i++) {
        if (t.runs[i].bad)
            lengths[n++] = (double)t.runs[i].steps;
    }
    trace_fini(&t);
    return n;
}

/* What saturated traffic sees are the very bad runs of the trace, in their order, and their lengths
 * follow the law they were drawn from. */
START_TEST(bursts_of_a_trace)
{
    const uint64_t steps = 300000;
    double *seen = calloc(steps, sizeof *seen), *drawn = calloc(20000, sizeof *drawn);
    struct trace t;
    uint64_t lost, frames;
    generate(&t, presets[_i], steps, 4242);
    size_t n = bad_runs_seen(&t, seen, &lost, &frames), k = 0;
    double bad = 0, bad_runs = 0;
    for (size_t i = 0; i < t.len; i++) {
        if (!t.runs[i].bad)
            continue;
        bad += (double)t.runs[i].steps;
        bad_runs++;
        if (k < n)
            ck_assert_msg(seen[k] == (double)t.runs[i].steps, "run %zu: %g", k, seen[k]);
        k++;
    }
    ck_assert_uint_ge(n + 1, k); /* the end may cut one */
    /* each bad run takes what it covers, and on average one frame more */
    double share = (bad * 100 + bad_runs * 17.056) / ((double)steps * 100);
    ck_assert_double_eq_tol((double)lost / (double)frames, share, 0.002 * share);

    size_t m = bad_lengths(presets[_i], 31337, drawn, 20000);
    check_ks(seen, n, drawn, m, presets[_i]);
    free(seen);
    free(drawn);
    trace_fini(&t);
}
END_TEST

/* Probes at independent times see the published bad share. */
START_TEST(share_of_a_trace)
{
    static const double share[] = {0.0498, 0.137, 0.288};
    const uint64_t n = 100000;
    double *at = calloc(n, sizeof *at);
    struct trace t;
    struct rng r;
    generate(&t, presets[_i], 1000000, gen_preset_find(presets[_i])->seed);
    rng_init(&r, 8);
    for (uint64_t i = 0; i < n; i++)
        at[i] = rng_unit(&r) * 100e9;
    qsort(at, n, sizeof *at, by_value);
    struct chan *c = chan_of((struct chan_config){.trace = &t});
    for (uint64_t i = 0; i < n; i++)
        input(c, 10, i, (tick)at[i]);
    check_share((double)chan_counters(c)->lost[CHAN_TRACE], (double)n, share[_i], presets[_i]);
    chan_free(c);
    free(at);
    trace_fini(&t);
}
END_TEST

START_TEST(jitter_is_uniform)
{
    const size_t n = 20000;
    double *seen = calloc(n, sizeof *seen), *wanted = calloc(n, sizeof *wanted);
    struct chan *c = chan_of((struct chan_config){.jitter = TICK_MS, .seed = 6});
    struct chan_out out;
    for (size_t i = 0; i < n; i++) {
        input(c, 10, i, i * 10 * TICK_MS);
        ck_assert_int_eq(chan_output(c, TICK_NEVER - 1, &out), 1);
        seen[i] = (double)(out.due - i * 10 * TICK_MS);
        wanted[i] = (double)TICK_MS * ((double)i + 0.5) / (double)n;
    }
    check_ks(seen, n, wanted, n, "jitter");
    chan_free(c);
    free(seen);
    free(wanted);
}
END_TEST

static void check_uniform(const double *count, int n, const char *what)
{
    double sum = 0, chi2 = 0;
    for (int i = 0; i < n; i++)
        sum += count[i];
    for (int i = 0; i < n; i++)
        chi2 += (count[i] - sum / n) * (count[i] - sum / n) / (sum / n);
    ck_assert_msg(chi2 < chi2_limit(n - 1), "%s: chi2 %.1f", what, chi2);
}

/* 100 bytes in 16 equal parts; _i = 0: one bit per hit frame, 1: any, by bit. */
START_TEST(flips_are_everywhere_alike)
{
    const uint64_t n = 40000;
    const double bits = 800, rate = _i ? 0.002 : 0, corrupt = _i ? 0 : 0.2;
    struct chan *c =
        chan_of((struct chan_config){.bit_error_rate = rate, .corrupt = corrupt, .seed = 21});
    struct chan_out out;
    double part[16] = {0}, of_byte[8] = {0}, sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        input(c, 100, i, i);
        ck_assert_int_eq(chan_output(c, TICK_NEVER - 1, &out), 1);
        for (size_t b = 0; b < 800; b++) {
            int flipped = out.data[b / 8] >> (b % 8) & 1;
            part[b / 50] += flipped;
            of_byte[b % 8] += flipped;
            sum += flipped;
        }
    }
    check_uniform(part, 16, "parts");
    check_uniform(of_byte, 8, "bits of a byte");
    if (_i)
        check_share(sum, (double)n * bits, rate, "bits");
    check_share((double)chan_counters(c)->corrupted, (double)n,
                _i ? 1 - pow(1 - rate, bits) : corrupt, "frames");
    chan_free(c);
}
END_TEST

START_TEST(rare_bit_errors)
{
    const uint64_t n = 2000000;
    struct chan *c = chan_of((struct chan_config){.bit_error_rate = 1e-7, .seed = 9});
    struct chan_out out;
    for (uint64_t i = 0; i < n; i++) {
        input(c, 1000, i, i);
        while (chan_output(c, TICK_NEVER - 1, &out) == 1)
            ;
    }
    check_share((double)chan_counters(c)->corrupted, (double)n, 8e-4, "frames");
    chan_free(c);
}
END_TEST

START_TEST(duplicates)
{
    const uint64_t n = 100000;
    struct chan *c = chan_of((struct chan_config){.duplicate = 0.03, .seed = 9});
    struct chan_out out;
    for (uint64_t i = 0; i < n; i++) {
        input(c, 10, i, i);
        while (chan_output(c, TICK_NEVER - 1, &out) == 1)
            ;
    }
    check_share((double)chan_counters(c)->duplicated, (double)n, 0.03, "duplicates");
    chan_free(c);
}
END_TEST

SUITE(chan_statistics, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, independent_losses, 0, 5);
    tcase_add_loop_test(t, gilbert_elliott_in_time, 0, 4);
    tcase_add_loop_test(t, gilbert_elliott_in_air_time, 0, 2);
    tcase_add_test(t, gilbert_elliott_after_silence);
    tcase_add_loop_test(t, bursts_of_a_trace, 0, 3);
    tcase_add_loop_test(t, share_of_a_trace, 0, 3);
    tcase_add_test(t, jitter_is_uniform);
    tcase_add_loop_test(t, flips_are_everywhere_alike, 0, 2);
    tcase_add_test(t, rare_bit_errors);
    tcase_add_test(t, duplicates);
}
