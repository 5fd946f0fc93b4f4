/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of congestion control against the rules of their documents, and the mean rate of Reno
 * under random losses against what is known of it. */
#include <math.h>

#include "base/rng.h"
#include "sim/flow.h"
#include "tests/unit/suite.h"

#define SEGMENT 1428
#define RTT (100 * TICK_MS)
#define MANY (UINT64_C(1) << 40)

static void fill_window(struct flow *f)
{
    while (flow_room(f, SEGMENT))
        flow_sent(f, SEGMENT);
}

/* A round trip in which all that is under way is acknowledged, and the window is filled again. */
static void turn_round(struct flow *f, tick now)
{
    uint64_t n = f->under / SEGMENT;
    for (uint64_t i = 0; i < n; i++) {
        flow_acked(f, SEGMENT, RTT, now);
        fill_window(f);
        flow_check(f);
    }
}

START_TEST(slow_start_doubles)
{
    struct flow f;
    flow_init(&f, FLOW_RENO, SEGMENT, MANY);
    fill_window(&f);
    ck_assert_uint_eq(f.under, 10 * SEGMENT);
    for (unsigned i = 1; i <= 10; i++) {
        turn_round(&f, i * RTT);
        ck_assert_uint_eq(f.under, (UINT64_C(10) << i) * SEGMENT);
    }
}
END_TEST

START_TEST(reno_halves_once_and_adds_one)
{
    struct flow f;
    flow_init(&f, FLOW_RENO, SEGMENT, MANY);
    f.window = 100;
    fill_window(&f);
    flow_lost(&f, SEGMENT, 90, 100);
    flow_lost(&f, SEGMENT, 95, 100);
    flow_lost(&f, SEGMENT, 100, 100);
    ck_assert_double_eq(f.window, 50);
    ck_assert_uint_eq(f.reductions, 1);
    while (f.under > 50 * SEGMENT)
        flow_acked(&f, SEGMENT, RTT, RTT);
    double before = f.window;
    turn_round(&f, 2 * RTT);
    ck_assert_double_gt(f.window, before + 0.9);
    ck_assert_double_lt(f.window, before + 1.1);
    flow_lost(&f, SEGMENT, 101, 150);
    ck_assert_uint_eq(f.reductions, 2);
    flow_timeout(&f, 160);
    ck_assert_double_eq(f.window, 1);
    ck_assert_uint_eq(f.under, 0);
    ck_assert_uint_eq(f.timeouts, 1);
}
END_TEST

/* RFC 9438: back at the window of the last loss after K = cbrt(W (1 - beta) / C) seconds. */
START_TEST(cubic_comes_back_after_k)
{
    struct flow f;
    flow_init(&f, FLOW_CUBIC, SEGMENT, MANY);
    f.window = 10000;
    fill_window(&f);
    flow_lost(&f, SEGMENT, 10000, 10000);
    ck_assert_double_eq_tol(f.window, 7000, 0.01);
    f.under = 7000 * SEGMENT;
    tick now = 0, step = RTT;
    double k = cbrt(10000 * 0.3 / 0.4);
    while (f.window < 9999) {
        ck_assert_uint_lt(now, 100 * TICK_S);
        now += step;
        turn_round(&f, now);
    }
    ck_assert_double_gt((double)now / 1e9, k - 2);
    ck_assert_double_lt((double)now / 1e9, k + 1);
    for (int i = 0; i < 10; i++) /* … stays about there, and then grows again */
        turn_round(&f, now += step);
    ck_assert_double_lt(f.window, 10200);
    for (int i = 0; i < 150; i++)
        turn_round(&f, now += step);
    ck_assert_double_gt(f.window, 11000);
}
END_TEST

/* RFC 5681, 3.1: who hears nothing holds the threshold; word of something ends that. */
START_TEST(timeouts_in_a_row_hold_the_threshold)
{
    struct flow f;
    const enum flow_kind kind = _i == 0 ? FLOW_RENO : FLOW_CUBIC;
    const double share = _i == 0 ? 0.5 : 0.7;
    flow_init(&f, kind, SEGMENT, MANY);
    f.window = 100;
    fill_window(&f);
    for (unsigned i = 1; i <= 5; i++) {
        flow_timeout(&f, 100 + i);
        flow_check(&f);
        ck_assert_double_eq_tol(f.threshold, 100 * share, 1e-9);
        ck_assert_double_eq(f.window, 1);
        ck_assert_uint_eq(f.timeouts, i);
        fill_window(&f);
    }
    for (unsigned i = 0; f.window < 20; i++)
        turn_round(&f, i * RTT);
    double window = f.window;
    flow_timeout(&f, 200);
    ck_assert_double_eq_tol(f.threshold, window * share, 1e-9);
}
END_TEST

/* RFC 9438, 4.8: growth after a timeout begins at its own window, K is 0. */
START_TEST(cubic_begins_anew_after_a_timeout)
{
    struct flow f;
    flow_init(&f, FLOW_CUBIC, SEGMENT, MANY);
    f.window = 1000;
    fill_window(&f);
    flow_timeout(&f, 1000);
    fill_window(&f);
    tick now = 0;
    while (f.cubic.epoch == TICK_NEVER)
        turn_round(&f, now += RTT);
    ck_assert_double_eq(f.cubic.k, 0);
    ck_assert_double_ge(f.cubic.origin, 700);
    ck_assert_double_lt(f.cubic.origin, 702);
    double begin = f.cubic.origin, t = 20;
    for (tick end = f.cubic.epoch + 20 * TICK_S; now < end;)
        turn_round(&f, now += RTT);
    ck_assert_double_gt(f.window, begin + 0.9 * 0.4 * t * t * t);
    ck_assert_double_lt(f.window, begin + 1.1 * 0.4 * t * t * t);
}
END_TEST

/* RFC 9438, 4.3: as Reno from the window before the loss on, not from where fast convergence
 * aims: 1 segment a round trip, and 0.53 below. */
START_TEST(estimate_grows_as_reno_from_the_last_window_on)
{
    struct flow f;
    flow_init(&f, FLOW_CUBIC, SEGMENT, MANY);
    f.window = 100;
    fill_window(&f);
    flow_lost(&f, SEGMENT, 100, 100);
    f.window = 90;
    fill_window(&f);
    flow_lost(&f, SEGMENT, 200, 200);
    ck_assert_double_eq_tol(f.cubic.most, 76.5, 1e-9);
    const struct {
        double estimate, alpha;
    } steps[] = {{70, 0.9 / 1.7}, {80, 0.9 / 1.7}, {89, 0.9 / 1.7}, {91, 1}};
    f.under = 63 * SEGMENT;
    f.bound = true;
    flow_acked(&f, SEGMENT, RTT, RTT);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        double window = f.window;
        f.cubic.estimate = steps[i].estimate;
        f.bound = true;
        flow_acked(&f, SEGMENT, RTT, RTT);
        ck_assert_double_eq_tol(f.cubic.estimate - steps[i].estimate, steps[i].alpha / window,
                                1e-9);
    }
}
END_TEST

START_TEST(who_sends_little_does_not_grow)
{
    struct flow f;
    flow_init(&f, FLOW_CUBIC, SEGMENT, MANY);
    for (int i = 0; i < 1000; i++) {
        ck_assert(flow_room(&f, SEGMENT));
        flow_sent(&f, SEGMENT);
        flow_idle(&f);
        flow_acked(&f, SEGMENT, RTT, (tick)i * RTT);
    }
    ck_assert_double_eq(f.window, 10);
    flow_init(&f, FLOW_RENO, SEGMENT, 20000);
    for (unsigned i = 0; i < 20; i++) {
        fill_window(&f);
        turn_round(&f, i * RTT);
        ck_assert_uint_le(f.under, 20000);
    }
    ck_assert_uint_eq(flow_buffer(&f) >= 20000, 1);
    ck_assert_uint_le(flow_buffer(&f), 65536);
}
END_TEST

/* Ott, Kemperman and Mathis (1996): 1.31/sqrt(p) segments a round trip on average over time, for a
 * random loss p of each segment. (The sqrt(3/2p) of Mathis et al., 1997, is of periodic losses.) */
START_TEST(reno_by_the_square_root)
{
    struct flow f;
    struct rng rng;
    static const double losses[] = {0.01, 0.001, 0.0001};
    const double p = losses[_i];
    rng_init(&rng, 5);
    flow_init(&f, FLOW_RENO, SEGMENT, MANY);
    f.threshold = 10;
    uint64_t number = 0, sent = 0, rounds = 200000;
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t first = number, n = (uint64_t)f.window, lost = 0;
        number += n;
        f.under = 0;
        fill_window(&f);
        ck_assert_uint_eq(f.under, n * SEGMENT);
        for (uint64_t k = 0; k < n; k++) {
            if (lost == 0 && rng_chance(&rng, p))
                lost = first + k + 1;
            else
                flow_acked(&f, SEGMENT, RTT, i * RTT);
        }
        if (lost > 0)
            flow_lost(&f, SEGMENT, lost, number);
        sent += n;
    }
    double mean = (double)sent / (double)rounds, expected = 1.31 / sqrt(p);
    ck_assert_double_gt(mean, 0.93 * expected);
    ck_assert_double_lt(mean, 1.07 * expected);
}
END_TEST

START_TEST(names)
{
    enum flow_kind kind = FLOW_NONE;
    ck_assert(flow_kind_of("reno", &kind) && kind == FLOW_RENO);
    ck_assert(flow_kind_of("cubic", &kind) && kind == FLOW_CUBIC);
    ck_assert(!flow_kind_of("bbr", &kind) && kind == FLOW_CUBIC);
}
END_TEST

SUITE(tools_flow, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, slow_start_doubles);
    tcase_add_test(t, reno_halves_once_and_adds_one);
    tcase_add_test(t, cubic_comes_back_after_k);
    tcase_add_loop_test(t, timeouts_in_a_row_hold_the_threshold, 0, 2);
    tcase_add_test(t, cubic_begins_anew_after_a_timeout);
    tcase_add_test(t, estimate_grows_as_reno_from_the_last_window_on);
    tcase_add_test(t, who_sends_little_does_not_grow);
    tcase_add_loop_test(t, reno_by_the_square_root, 0, 3);
    tcase_add_test(t, names);
}
