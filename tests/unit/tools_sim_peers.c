/* SPDX-License-Identifier: Apache-2.0 */
/* Several peers on one line: Jain's index in closed form, shares by weight to the segment, nobody
 * starved by one that is out, and what is out of its range. */

#include "base/err.h"
#include "sim/sim_peers.h"
#include "tests/unit/suite.h"

static struct sim_peers crowd;
static struct sim_peers_result result;

static void setup(void)
{
    crowd = (struct sim_peers){.count = 4};
    crowd.base = (struct sim_params){.rate_bps = 100000000,
                                     .overhead = 42,
                                     .delay = 5 * TICK_MS,
                                     .span.export_sessions = 10,
                                     .span.rto = 60 * TICK_MS,
                                     .bundle = 50000,
                                     .span.segment_max = 1024,
                                     .span.claims_max = 256,
                                     .duration = 2 * TICK_S,
                                     .warmup = TICK_S / 2,
                                     .seed = 7};
    for (size_t i = 0; i < SIM_PEERS_MAX; i++)
        crowd.peer[i] = (struct sim_peer){.name = "none", .weight = 1, .red = 1};
}

static void run_crowd(void)
{
    ck_assert_int_eq(sim_peers_run(&crowd, &result), 0);
    double sum = 0, line = 0;
    for (size_t i = 0; i < crowd.count; i++) {
        sum += result.peer[i].goodput_bps;
        line += result.peer[i].line_share;
    }
    ck_assert_double_eq_tol(sum, result.goodput_bps, 1);
    ck_assert_double_eq_tol(line, 1, 1e-9);
}

START_TEST(fairness_in_closed_form)
{
    const double equal[] = {3, 3, 3, 3}, one[] = {5, 0, 0, 0}, some[] = {1, 2, 3}, none[] = {0, 0};
    ck_assert_double_eq_tol(sim_fairness(equal, 4), 1, 1e-12);
    ck_assert_double_eq_tol(sim_fairness(one, 4), 0.25, 1e-12);
    ck_assert_double_eq_tol(sim_fairness(some, 3), 36.0 / (3 * 14), 1e-12);
    ck_assert_double_eq_tol(sim_fairness(none, 2), 1, 1e-12);
}
END_TEST

START_TEST(equal_peers_share_alike)
{
    for (crowd.count = 1; crowd.count <= SIM_PEERS_MAX; crowd.count += 5) {
        run_crowd();
        ck_assert_double_ge(result.fairness, 0.95);
        ck_assert_double_ge(result.fairness_line, 0.9999);
    }
}
END_TEST

START_TEST(weights_to_the_segment)
{
    double all = 0;
    for (size_t i = 0; i < crowd.count; i++)
        all += crowd.peer[i].weight = (uint32_t)(1 + 2 * i);
    run_crowd();
    for (size_t i = 0; i < crowd.count; i++)
        ck_assert_double_eq_tol(result.peer[i].line_share, crowd.peer[i].weight / all, 0.001);
    ck_assert_double_ge(result.fairness_line, 0.9999);
}
END_TEST

START_TEST(one_that_is_out_starves_nobody)
{
    run_crowd();
    double before = result.peer[0].goodput_bps;
    crowd.peer[2].out_to = TICK_NEVER;
    run_crowd();
    ck_assert_double_eq(result.peer[2].goodput_bps, 0);
    for (size_t i = 0; i < crowd.count; i++)
        if (i != 2)
            ck_assert_double_ge(result.peer[i].goodput_bps, 1.2 * before);
}
END_TEST

START_TEST(colours_are_spread_evenly)
{
    crowd.peer[0].red = 0.25;
    crowd.peer[1].red = 0;
    run_crowd();
    double sent = (double)(result.peer[0].red.sent + result.peer[0].green.sent);
    ck_assert_double_eq_tol((double)result.peer[0].red.sent, 0.25 * sent, 1);
    ck_assert_uint_eq(result.peer[1].red.sent, 0);
    ck_assert_uint_gt(result.peer[1].green.delivered, 0);
    ck_assert_uint_eq(result.peer[2].green.sent, 0);
}
END_TEST

START_TEST(what_is_out_of_range)
{
    crowd.count = 0;
    ck_assert_int_eq(sim_peers_run(&crowd, &result), HELIO_EINVAL);
    crowd.count = SIM_PEERS_MAX + 1;
    ck_assert_int_eq(sim_peers_run(&crowd, &result), HELIO_EINVAL);
    crowd.count = 2;
    crowd.peer[1].weight = 0;
    ck_assert_int_eq(sim_peers_run(&crowd, &result), HELIO_EINVAL);
    crowd.peer[1].weight = 1;
    crowd.peer[0].red = 1.5;
    ck_assert_int_eq(sim_peers_run(&crowd, &result), HELIO_EINVAL);
    crowd.peer[0].red = 1;
    crowd.base.warmup = crowd.base.duration;
    ck_assert_int_eq(sim_peers_run(&crowd, &result), HELIO_EINVAL);
}
END_TEST

SUITE(tools_sim_peers, t)
{
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, fairness_in_closed_form);
    tcase_add_test(t, equal_peers_share_alike);
    tcase_add_test(t, weights_to_the_segment);
    tcase_add_test(t, one_that_is_out_starves_nobody);
    tcase_add_test(t, colours_are_spread_evenly);
    tcase_add_test(t, what_is_out_of_range);
}
