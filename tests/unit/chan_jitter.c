/* SPDX-License-Identifier: Apache-2.0 */
/* Extra delays by a law: their quantiles against closed forms and the distribution itself, what no
 * law can have, and that they are a stream of their own. */
#include <math.h>

#include "channel-emu/chan/chan_jitter.h"
#include "channel-emu/chan/chan_math.h"
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

static struct chan_jitter law(enum chan_jitter_law kind, tick mean, tick sd)
{
    return (struct chan_jitter){.law = kind, .mean = mean, .sd = sd};
}

/* The share of delays up to x, in closed form. */
static double below(const struct chan_jitter *k, double x)
{
    double mean = (double)k->mean, sd = (double)k->sd;
    double a = 1 + sqrt(1 + mean * mean / sd / sd), sigma = sqrt(log(1 + sd * sd / mean / mean));
    switch (k->law) {
    case CHAN_JITTER_UNIFORM:
        return 0.5 + (x - mean) / (2 * sqrt(3) * sd);
    case CHAN_JITTER_NORMAL:
        return math_normal_below((x - mean) / sd);
    case CHAN_JITTER_LOGNORMAL:
        return math_normal_below(log(x / mean) / sigma + sigma / 2);
    case CHAN_JITTER_EXPONENTIAL:
        return 1 - exp(-(x - mean + sd) / sd);
    case CHAN_JITTER_GAMMA:
        return math_gamma_below(mean * mean / sd / sd, x * mean / sd / sd);
    case CHAN_JITTER_PARETO:
        return 1 - pow(mean * (a - 1) / a / x, a);
    case CHAN_JITTER_TABLE:
        break;
    }
    return -1;
}

static const struct {
    enum chan_jitter_law law;
    tick mean, sd;
} laws[] = {
    {CHAN_JITTER_UNIFORM, 5000000, 2000000},     {CHAN_JITTER_NORMAL, 9000000, 1000000},
    {CHAN_JITTER_LOGNORMAL, 1000000, 2000000},   {CHAN_JITTER_EXPONENTIAL, 3000000, 2000000},
    {CHAN_JITTER_EXPONENTIAL, 2000000, 2000000}, {CHAN_JITTER_GAMMA, 4000000, 1000000},
    {CHAN_JITTER_GAMMA, 1000000, 1400000},       {CHAN_JITTER_GAMMA, 90000000, 1000000},
    {CHAN_JITTER_PARETO, 1000000, 300000},       {CHAN_JITTER_PARETO, 1000000, 9000000}};
#define LAWS ((int)(sizeof laws / sizeof *laws))

START_TEST(quantiles_are_those_of_the_law)
{
    struct chan_jitter k = law(laws[_i].law, laws[_i].mean, laws[_i].sd);
    double last = -1e300;
    ck_assert(chan_jitter_valid(&k));
    for (int i = -120; i <= 120; i++) {
        double z = i / 20.0, x = chan_jitter_at(&k, z), share = math_normal_below(z);
        ck_assert_msg(x > last, "law %d at %g", _i, z);
        ck_assert_msg(fabs(below(&k, x) - share) < 1e-9, "law %d at %g: %.12g for %.12g", _i, z,
                      below(&k, x), share);
        last = x;
    }
    ck_assert_uint_ge(chan_jitter_max(&k), (tick)last);
}
END_TEST

/* 100,000 without memory: mean and deviation within five of their own. Those of the heavy Pareto
 * law have no fourth moment, and are left out. _i: as above */
START_TEST(moments_are_those_of_the_law)
{
    enum { DRAWS = 100000 };
    struct chan_jitter k = law(laws[_i].law, laws[_i].mean, laws[_i].sd);
    struct chan_jitter_state s;
    double sum = 0, squares = 0, fourth = 0, mean = (double)k.mean, sd = (double)k.sd;
    if (k.law == CHAN_JITTER_PARETO && k.sd > k.mean)
        return;
    ck_assert_int_eq(chan_jitter_init(&s, &k, 5), 0);
    for (tick n = 0; n < DRAWS; n++) {
        double x = (double)chan_jitter_draw(&s, n) - mean;
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
    }
    chan_jitter_fini(&s);
    double variance = squares / DRAWS;
    ck_assert_double_eq_tol(sum / DRAWS, 0, 5 * sd / sqrt(DRAWS));
    ck_assert_double_eq_tol(variance, sd * sd,
                            6 * sqrt((fourth / DRAWS - variance * variance) / DRAWS));
}
END_TEST

/* With a deviation that is nothing beside the mean; it must not take long to be made, either. */
START_TEST(a_narrow_gamma_is_nearly_normal)
{
    struct chan_jitter k = law(CHAN_JITTER_GAMMA, 86400 * TICK_S, TICK_MS);
    struct chan_jitter_state s;
    for (int z = -6; z <= 6; z++)
        ck_assert_double_eq_tol(chan_jitter_at(&k, z), 8.64e13 + z * 1e6, 1e3);
    k = law(CHAN_JITTER_GAMMA, 101 * TICK_MS, TICK_MS); /* the skewness is 2 sd / mean */
    for (int z = -6; z <= 6; z++)
        ck_assert_double_eq_tol(chan_jitter_at(&k, z), 101e6 + z * 1e6 + (z * z - 1) / 303.0 * 1e6,
                                3e4);
    k = law(CHAN_JITTER_GAMMA, 366 * 86400 * TICK_S, 1);
    ck_assert_int_eq(chan_jitter_init(&s, &k, 1), 0);
    ck_assert_uint_gt(chan_jitter_draw(&s, 0), 365 * 86400 * TICK_S);
    chan_jitter_fini(&s);
}
END_TEST

START_TEST(a_table_is_linear_between_its_quantiles)
{
    static const tick table[] = {1000, 3000, 3000, 11000};
    struct chan_jitter k = {.law = CHAN_JITTER_TABLE, .table = table, .table_len = 4};
    ck_assert(chan_jitter_valid(&k));
    ck_assert_double_eq_tol(chan_jitter_at(&k, 0), 3000, 1e-6);
    ck_assert_double_eq_tol(chan_jitter_at(&k, -8), 1000, 1e-6);
    ck_assert_double_eq_tol(chan_jitter_at(&k, 8), 11000, 1e-6);
    /* 1/6 and 5/6 */
    ck_assert_double_eq_tol(chan_jitter_at(&k, -0.967421566101701), 2000, 1e-6);
    ck_assert_double_eq_tol(chan_jitter_at(&k, 0.967421566101701), 7000, 1e-6);
    ck_assert_uint_eq(chan_jitter_max(&k), 11000);
    k.max = 5000;
    ck_assert_uint_eq(chan_jitter_max(&k), 5000);
}
END_TEST

START_TEST(what_no_law_can_have)
{
    static const tick falls[] = {5, 4};
    struct chan_jitter wrong[] = {law(CHAN_JITTER_UNIFORM, 17, 10),
                                  law(CHAN_JITTER_NORMAL, 5, 0),
                                  law(CHAN_JITTER_LOGNORMAL, 0, 1),
                                  law(CHAN_JITTER_EXPONENTIAL, 9, 10),
                                  law(CHAN_JITTER_GAMMA, 10, 15),
                                  law(CHAN_JITTER_PARETO, 0, 1),
                                  law(CHAN_JITTER_NORMAL, 9, 1),
                                  law(CHAN_JITTER_NORMAL, 9, 1),
                                  {.law = CHAN_JITTER_TABLE},
                                  {.law = CHAN_JITTER_TABLE, .table = falls, .table_len = 2},
                                  {.law = CHAN_JITTER_TABLE, .table = falls, .table_len = 1}};
    wrong[6].correlation = 1;
    wrong[7].correlation = (double)NAN;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct chan *c;
        struct chan_config k = {.jitter_law = &wrong[i]};
        ck_assert_msg(!chan_jitter_valid(&wrong[i]), "%zu", i);
        ck_assert_int_eq(chan_new(&c, &k), HELIO_EINVAL);
    }
}
END_TEST

/* Frames of one instant have one delay; after a long time nothing is left of it. */
START_TEST(memory_is_in_time)
{
    struct chan_jitter k = law(CHAN_JITTER_NORMAL, 50 * TICK_MS, 10 * TICK_MS);
    struct chan_jitter_state s;
    k.memory = TICK_MS;
    ck_assert_int_eq(chan_jitter_init(&s, &k, 1), 0);
    tick first = chan_jitter_draw(&s, TICK_S);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(chan_jitter_draw(&s, TICK_S), first);
    tick near = chan_jitter_draw(&s, TICK_S + 10);
    ck_assert(near != first && near + TICK_MS > first && near < first + TICK_MS);
    chan_jitter_fini(&s);
}
END_TEST

/* The same frames are lost with and without a law, also when values may change. _i: live */
START_TEST(it_is_a_stream_of_its_own)
{
    struct chan_jitter k = law(CHAN_JITTER_GAMMA, TICK_MS, TICK_MS);
    struct chan_config with = {
        .loss = 0.3, .duplicate = 0.2, .jitter_law = &k, .seed = 3, .live = _i != 0};
    struct chan_config without = with;
    without.jitter_law = NULL;
    k.correlation = 0.5;
    struct chan *a = chan_of(with), *b = chan_of(without);
    for (tick now = 0; now < 2000; now++) {
        input(a, 10, now, now * 1000);
        input(b, 10, now, now * 1000);
        ck_assert_uint_eq(chan_counters(a)->lost[CHAN_RANDOM], chan_counters(b)->lost[CHAN_RANDOM]);
        ck_assert_uint_eq(chan_counters(a)->duplicated, chan_counters(b)->duplicated);
    }
    chan_free(a);
    chan_free(b);
}
END_TEST

/* Kept in order, a frame arrives at the latest time of those before and its own. */
START_TEST(order_can_be_kept)
{
    struct chan_jitter k = law(CHAN_JITTER_EXPONENTIAL, TICK_MS, TICK_MS);
    struct chan_config free_one = {.jitter_law = &k, .seed = 3}, kept = free_one;
    struct chan_out out;
    static tick due[1001];
    kept.jitter_in_order = true;
    struct chan *a = chan_of(free_one), *b = chan_of(kept);
    for (tick n = 1; n <= 1000; n++) {
        input(a, 10, n, n * TICK_US);
        input(b, 10, n, n * TICK_US);
    }
    unsigned overtaken = 0;
    uint64_t before = 0;
    while (chan_output(a, TICK_S, &out) == 1) {
        due[out.tag] = out.due;
        overtaken += out.tag < before;
        before = out.tag;
    }
    ck_assert_uint_gt(overtaken, 100);
    tick latest = 0;
    for (uint64_t n = 1; n <= 1000; n++) {
        latest = due[n] > latest ? due[n] : latest;
        ck_assert_int_eq(chan_output(b, TICK_S, &out), 1);
        ck_assert(out.tag == n && out.due == latest);
    }
    chan_free(a);
    chan_free(b);
}
END_TEST

/* A frame and its copy are on the way for different times: neither says anything of the other. */
START_TEST(copies_have_jitter_of_their_own)
{
    struct chan_jitter k = law(CHAN_JITTER_GAMMA, TICK_MS, TICK_MS);
    struct chan *c = chan_of((struct chan_config){.duplicate = 1, .jitter_law = &k, .seed = 3});
    struct chan_out out[2];
    unsigned later = 0;
    for (tick n = 1; n <= 1000; n++) {
        input(c, 10, n, n * TICK_S);
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(chan_output(c, (n + 1) * TICK_S, &out[i]), 1);
        ck_assert_uint_ne(out[0].due, out[1].due);
        later += out[1].due - n * TICK_S > TICK_MS;
    }
    /* the later of two: as independent, it is beyond the mean in 1 - (1 - 1/e)^2 = 0.60 of all */
    ck_assert_uint_gt(later, 550);
    ck_assert_uint_lt(later, 650);
    chan_free(c);
}
END_TEST

SUITE(chan_jitter, t)
{
    tcase_add_loop_test(t, quantiles_are_those_of_the_law, 0, LAWS);
    tcase_add_loop_test(t, moments_are_those_of_the_law, 0, LAWS);
    tcase_add_test(t, a_narrow_gamma_is_nearly_normal);
    tcase_add_test(t, a_table_is_linear_between_its_quantiles);
    tcase_add_test(t, what_no_law_can_have);
    tcase_add_test(t, memory_is_in_time);
    tcase_add_loop_test(t, it_is_a_stream_of_its_own, 0, 2);
    tcase_add_test(t, order_can_be_kept);
    tcase_add_test(t, copies_have_jitter_of_their_own);
}
