/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions, distances and correlations of run lengths against a step by step recomputation. */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "channel-emu/chan/fading/chan_dwell.h"
#include "tests/unit/suite.h"

static void fill(struct trace *t, tick step, uint64_t seed, size_t runs)
{
    struct rng r;
    rng_init(&r, seed);
    trace_init(t, step);
    bool bad = rng_chance(&r, 0.5);
    for (size_t i = 0; i < runs; i++, bad = !bad)
        ck_assert_int_eq(trace_add(t, bad, 1 + rng_below(&r, bad ? 5 : 12)), 0);
}

static bool *spread(const struct trace *t)
{
    bool *bad = calloc(t->steps, sizeof *bad);
    uint64_t at = 0;
    ck_assert_ptr_nonnull(bad);
    for (size_t i = 0; i < t->len; i++) {
        for (uint64_t k = 0; k < t->runs[i].steps; k++)
            bad[at++] = t->runs[i].bad;
    }
    return bad;
}

START_TEST(autocorrelation_and_share)
{
    struct trace t;
    fill(&t, 100, (uint64_t)_i, 3 + 40 * (size_t)_i);
    bool *bad = spread(&t);
    double n = (double)t.steps, p = trace_bad_share(&t, 0, t.steps), sum = 0;
    for (uint64_t at = 0; at < t.steps; at++)
        sum += bad[at];
    ck_assert_double_eq_tol(p, sum / n, 1e-12);
    for (uint64_t lag = 0; lag < t.steps; lag += 1 + lag / 3) {
        double both = 0;
        for (uint64_t at = 0; at < t.steps; at++)
            both += bad[at] && bad[(at + lag) % t.steps];
        ck_assert_double_eq_tol(trace_autocorrelation(&t, lag), (both / n - p * p) / (p * (1 - p)),
                                1e-9);
    }
    ck_assert_double_eq_tol(trace_autocorrelation(&t, t.steps), 1, 1e-9);
    for (uint64_t from = 0; from < t.steps; from += 7) {
        uint64_t to = from + 13 < t.steps ? from + 13 : t.steps;
        sum = 0;
        for (uint64_t at = from; at < to; at++)
            sum += bad[at];
        ck_assert_double_eq_tol(trace_bad_share(&t, from, to), sum / (double)(to - from), 1e-12);
    }
    free(bad);
    trace_fini(&t);
}
END_TEST

static double share_upto(const struct trace *t, bool bad, tick ns)
{
    double n = 0, upto = 0;
    for (size_t i = 0; i < t->len; i++) {
        n += t->runs[i].bad == bad;
        upto += t->runs[i].bad == bad && t->runs[i].steps * t->step <= ns;
    }
    return upto / n;
}

/* The second trace has another step: distances are of times. */
START_TEST(distance)
{
    struct trace t, u;
    struct dwell a, b;
    fill(&t, 100, 4, 301);
    fill(&u, 70, 5, 200);
    for (int bad = 0; bad < 2; bad++) {
        double most = 0;
        for (tick ns = 0; ns < 2000; ns += 10)
            most = fmax(most, fabs(share_upto(&t, bad == 1, ns) - share_upto(&u, bad == 1, ns)));
        ck_assert_int_eq(dwell_init(&a, &t, bad == 1), 0);
        ck_assert_int_eq(dwell_init(&b, &u, bad == 1), 0);
        ck_assert_double_eq_tol(dwell_distance(&a, &b), most, 1e-12);
        ck_assert_double_eq_tol(dwell_distance(&b, &a), most, 1e-12);
        ck_assert_double_eq(dwell_distance(&a, &a), 0);
        ck_assert_double_eq_tol(dwell_critical(&a, &b),
                                1.358 * sqrt(1.0 / (double)a.runs + 1.0 / (double)b.runs), 1e-12);
        for (size_t i = 0; i < a.len; i++)
            ck_assert_double_eq_tol((double)a.point[i].upto / (double)a.runs,
                                    share_upto(&t, bad == 1, a.point[i].steps * 100), 1e-12);
        dwell_fini(&a);
        dwell_fini(&b);
    }
    trace_fini(&t);
    trace_fini(&u);
}
END_TEST

START_TEST(one_state_only)
{
    struct trace t;
    struct dwell good, bad;
    trace_init(&t, 100);
    ck_assert_int_eq(trace_add(&t, false, 50), 0);
    ck_assert_double_eq(trace_autocorrelation(&t, 3), 0);
    ck_assert_double_eq(trace_bad_share(&t, 10, 20), 0);
    ck_assert_int_eq(dwell_init(&good, &t, false), 0);
    ck_assert_int_eq(dwell_init(&bad, &t, true), 0);
    ck_assert_uint_eq(bad.runs, 0);
    ck_assert_double_eq(dwell_distance(&good, &bad), 1);
    ck_assert_double_eq(dwell_distance(&bad, &bad), 0);
    ck_assert_double_eq(dwell_critical(&good, &bad), 0);
    dwell_fini(&good);
    dwell_fini(&bad);
    trace_fini(&t);
}
END_TEST

SUITE(chan_dwell, t)
{
    tcase_add_loop_test(t, autocorrelation_and_share, 0, 5);
    tcase_add_test(t, distance);
    tcase_add_test(t, one_state_only);
}
