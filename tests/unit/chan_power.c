/* SPDX-License-Identifier: Apache-2.0 */
/* Received power as a cause of losses: means against sums over each nanosecond, the table against
 * its closed form, a hard threshold against the erasure trace that the receiver makes of the same
 * powers, and the share of what is lost or changed against binomial laws. */
#include <math.h>
#include <string.h>

#include "channel-emu/chan/chan_acm.h"
#include "channel-emu/chan/chan_code.h"
#include "channel-emu/chan/fading/chan_power.h"
#include "channel-emu/chan/fading/chan_receiver.h"
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

#define N 50
#define DVBS2 5 /* curves over Es/N0; those over photons follow */

/* The mean over each nanosecond that lies in the powers; HUGE_VAL when none does. */
static double plain_mean(const struct chan_power *p, tick origin, tick from, tick to)
{
    double sum = 0;
    uint64_t n = 0, pass = p->len * p->step;
    for (tick t = from; t < (to > from ? to : from + 1); t++) {
        int64_t place = (int64_t)(t + p->offset) - (int64_t)origin;
        if (p->loop)
            place = (place % (int64_t)pass + (int64_t)pass) % (int64_t)pass;
        if (place < 0 || place >= (int64_t)pass)
            continue;
        sum += p->power[(uint64_t)place / p->step];
        n++;
    }
    return n == 0 ? HUGE_VAL : sum / (double)n;
}

START_TEST(a_mean_is_that_of_each_nanosecond)
{
    double power[N], sums[N + 1];
    struct rng r;
    unsigned outside = 0;
    rng_init(&r, 5);
    for (int round = 0; round < 3000; round++) {
        struct chan_power p = {.power = power, .sums = sums, .len = 1 + rng_below(&r, N)};
        for (size_t i = 0; i < p.len; i++)
            power[i] = rng_below(&r, 4) == 0 ? 0 : rng_unit(&r) * 3;
        chan_power_sums(power, p.len, sums);
        p.step = 1 + rng_below(&r, 9);
        p.offset = rng_below(&r, 2) == 0 ? 0 : rng_below(&r, p.len * p.step);
        p.loop = rng_below(&r, 2) == 0;
        tick origin = rng_below(&r, 1000), from = rng_below(&r, 2000);
        tick to = from + (rng_below(&r, 4) == 0 ? 0 : rng_below(&r, 3 * p.len * p.step));
        double mean = chan_power_mean(&p, origin, from, to);
        /* what is partly before the begin of one pass has no losses by power at all */
        if (!p.loop && from + p.offset < origin) {
            ck_assert(mean >= HUGE_VAL);
            continue;
        }
        double plain = plain_mean(&p, origin, from, to);
        outside += plain >= HUGE_VAL;
        if (plain >= HUGE_VAL)
            ck_assert(mean >= HUGE_VAL);
        else
            ck_assert_double_eq_tol(mean, plain, 1e-9);
    }
    ck_assert_uint_gt(outside, 100);
}
END_TEST

static const struct chan_power_point slope[] = {
    {-40, 1, 0}, {-38, 1e-2, 1e-4}, {-36, 1e-6, 1e-8}, {-35, 0, 0}};

START_TEST(the_table_is_linear_in_logarithms)
{
    double power = 1, sums[2] = {0, 1};
    struct chan_power p = {
        .power = &power, .sums = sums, .len = 1, .step = 1, .points = slope, .count = 4};
    static const double known[][3] = {{-60, 1, 0},       {-40, 1, 0},         {-39, 0.1, 0},
                                      {-38, 1e-2, 1e-4}, {-37.5, 1e-3, 1e-5}, {-37, 1e-4, 1e-6},
                                      {-36, 1e-6, 1e-8}, {-35.5, 1e-6, 1e-8}, {-35, 0, 0},
                                      {10, 0, 0}};
    ck_assert(chan_power_valid(&p));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        /* a hair above, so that the points themselves are met from the right side */
        struct chan_power_errors e =
            chan_power_errors(&p, pow(10, (known[i][0] + 1e-9) / 10), 1000);
        ck_assert_double_eq_tol(e.loss, known[i][1], known[i][1] * 1e-6 + 1e-15);
        ck_assert_double_eq_tol(e.bit_error_rate, known[i][2], known[i][2] * 1e-6 + 1e-15);
    }
    struct chan_power_errors none = chan_power_errors(&p, HUGE_VAL, 1000);
    ck_assert(none.loss <= 0 && none.bit_error_rate <= 0);
    ck_assert_double_eq(chan_power_errors(&p, 0, 1000).loss, 1);
    p.codeword_bits = 16200; /* a frame of 8100 bytes has four, one of 8101 has five */
    for (unsigned words = 4; words <= 5; words++) {
        struct chan_power_errors e = chan_power_errors(&p, pow(10, -3.8), 8096 + words);
        ck_assert_double_eq_tol(e.loss, 1 - pow(0.99, words), 1e-8);
    }
}
END_TEST

/* Depth 1, 2 and 7 steps; a frame at the begin of each step, two rounds of the powers. */
START_TEST(a_hard_threshold_is_the_receivers_trace)
{
    enum { LEN = 3000 };
    static double power[LEN], sums[LEN + 1];
    static const tick depths[] = {1, 2, 7};
    struct rng r;
    struct trace t;
    unsigned bad = 0;
    const tick step = 100000, depth = depths[_i] * step;
    const struct chan_power_point hard[] = {{-400, 1, 0}, {-3, 0, 0}};
    rng_init(&r, 8);
    for (int i = 0; i < LEN; i++)
        power[i] = rng_unit(&r) * (i % 300 < 150 ? 0.8 : 2);
    chan_power_sums(power, LEN, sums);
    struct receiver_config receiver = {.interleaver = depth};
    trace_init(&t, step);
    ck_assert_int_eq(receiver_trace(&t, &receiver, pow(10, -0.3), power, LEN), 0);
    struct chan_power p = {.power = power,
                           .sums = sums,
                           .len = LEN,
                           .step = step,
                           .loop = true,
                           .interleaver = depth == step ? 0 : depth,
                           .points = hard,
                           .count = 2};
    struct chan *by_trace = chan_of((struct chan_config){.trace = &t});
    struct chan *by_power = chan_of((struct chan_config){.power = &p, .delay = 5});
    for (tick i = 0; i < 2 * LEN; i++) {
        struct chan_fate f;
        struct chan_out out;
        input(by_trace, 10, i, i * step);
        input(by_power, 10, i, i * step);
        bool lost = chan_fate(by_trace, &f) == 1;
        ck_assert_msg((chan_fate(by_power, &f) == 1) == lost, "step %u", (unsigned)i);
        bad += lost;
        if (chan_output(by_power, TICK_NEVER - 1, &out) == 1)
            ck_assert_uint_eq(out.due, i * step + 5 + p.interleaver);
    }
    ck_assert(bad > LEN / 10 && bad < 2 * LEN * 9 / 10);
    chan_free(by_trace);
    chan_free(by_power);
    trace_fini(&t);
}
END_TEST

/* Blocks of 1, 4 and 9 steps of which an eighth or a half may be erased, and re-acquisition: the
 * fates are those of the trace that a receiver makes. Two rounds of the powers, frames of half a
 * step. */
START_TEST(lost_steps_are_the_receivers_trace)
{
    enum { LEN = 2988 };
    static double power[LEN], lost[LEN], lost_sums[LEN + 1], sums[LEN + 1];
    static const struct receiver_config receivers[] = {
        {.reacquire = 700000},
        {.block = 400000, .correct = 0.5},
        {.block = 900000, .correct = 0.125},
        {.block = 900000, .correct = 0.34, .reacquire = 500000}};
    struct rng r;
    struct trace t;
    unsigned bad = 0;
    const tick step = 100000;
    const struct chan_power_point none = {-400, 0, 0};
    rng_init(&r, 9);
    for (int i = 0; i < LEN; i++)
        power[i] = rng_unit(&r) * (i % 300 < 250 ? 2 : 0.8);
    trace_init(&t, step);
    ck_assert_int_eq(receiver_trace(&t, &receivers[_i], 0.3, power, LEN), 0);
    struct trace_clock clock;
    trace_clock_init(&clock, &t, 0, 0);
    for (size_t i = 0; i < LEN; i++)
        lost[i] = trace_clock_bad(&clock, i * step, i * step);
    chan_power_sums(power, LEN, sums);
    chan_power_sums(lost, LEN, lost_sums);
    struct chan_power p = {.power = power,
                           .sums = sums,
                           .len = LEN,
                           .step = step,
                           .loop = true,
                           .points = &none,
                           .count = 1,
                           .lost = lost,
                           .lost_sums = lost_sums,
                           .block = receivers[_i].block};
    struct chan *by_trace = chan_of((struct chan_config){.trace = &t, .rate_bps = 800000000});
    struct chan *by_power = chan_of((struct chan_config){.power = &p, .rate_bps = 800000000});
    for (tick i = 0; i < 4 * LEN; i++) {
        struct chan_fate f;
        struct chan_out out;
        input(by_trace, 4900, i, i * step / 2);
        input(by_power, 4900, i, i * step / 2);
        bool gone = chan_fate(by_trace, &f) == 1;
        ck_assert_msg((chan_fate(by_power, &f) == 1) == gone, "step %u", (unsigned)i);
        bad += gone;
        if (chan_output(by_power, TICK_NEVER - 1, &out) == 1)
            ck_assert_uint_eq(out.due, i * step / 2 + 49000 + p.block);
    }
    ck_assert(bad > LEN / 10 && bad < 4 * LEN * 9 / 10);
    chan_free(by_trace);
    chan_free(by_power);
    trace_fini(&t);
    p.interleaver = step;
    ck_assert(chan_power_valid(&p) == (p.block == 0));
    p.lost_sums = NULL;
    ck_assert(!chan_power_valid(&p));
}
END_TEST

/* 1,600 bits in two codewords: lost with 1 - 0.99^2, and bits flipped with 1e-4 of what is not.
 * Five deviations. */
START_TEST(a_soft_slope_loses_its_share)
{
    enum { FRAMES = 50000 };
    double power = pow(10, -3.8 + 1e-12), sums[2];
    chan_power_sums(&power, 1, sums);
    struct chan_power p = {.power = &power,
                           .sums = sums,
                           .len = 1,
                           .step = TICK_S,
                           .loop = true,
                           .codeword_bits = 800,
                           .points = slope,
                           .count = 4};
    struct chan *c = chan_of((struct chan_config){.power = &p, .seed = 4});
    for (tick i = 0; i < FRAMES; i++) {
        struct chan_out out;
        input(c, 200, i, i);
        (void)chan_output(c, i, &out);
    }
    const struct chan_counters *n = chan_counters(c);
    double loss = 1 - 0.99 * 0.99, left = FRAMES - (double)n->lost[CHAN_TRACE];
    double hit = 1 - pow(1 - 1e-4, 1600);
    ck_assert_double_eq_tol((double)n->lost[CHAN_TRACE], FRAMES * loss,
                            5 * sqrt(FRAMES * loss * (1 - loss)));
    ck_assert_double_eq_tol((double)n->corrupted, left * hit, 5 * sqrt(left * hit * (1 - hit)));
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(powers_without_sense_are_refused)
{
    double power = 1, sums[2] = {0, 1};
    static const struct chan_power_point falls[] = {{-3, 1, 0}, {-4, 0, 0}},
                                         beyond[] = {{-3, 1.5, 0}}, none[] = {{NAN, 0, 0}};
    struct chan_power right = {
        .power = &power, .sums = sums, .len = 1, .step = 1, .points = slope, .count = 4};
    struct chan_power wrong[8];
    for (int i = 0; i < 8; i++)
        wrong[i] = right;
    wrong[0].power = NULL;
    wrong[1].len = 0;
    wrong[2].step = 0;
    wrong[3].count = 0;
    wrong[4].step = UINT64_MAX;
    wrong[5].points = falls;
    wrong[6].points = beyond;
    wrong[7].points = none;
    wrong[5].count = 2;
    wrong[6].count = wrong[7].count = 1;
    for (int i = 0; i < 8; i++) {
        struct chan *c;
        struct chan_config k = {.power = &wrong[i]};
        ck_assert_int_eq(chan_new(&c, &k), HELIO_EINVAL);
    }
}
END_TEST

static double loss_at(const struct chan_power *p, double db)
{
    return chan_power_errors(p, pow(10, db / 10), 1).loss;
}

/* Each ModCod of the standard's table 13: Es/N0 for 10^-7, normal frames, to which it adds 0.2 dB
 * to 0.3 dB for short ones. A decoder with 50 iterations needs a little more. */
START_TEST(a_codes_curve_ends_near_the_standards_threshold)
{
    static const char *const modcods[DVBS2] = {"QPSK 3/5", "QPSK 8/9", "8PSK 3/5", "8PSK 8/9",
                                               "16APSK 8/9"};
    struct chan_power_point table[CODE_TABLE_MAX];
    const struct code_curve *c = &code_curves[_i];
    size_t m = 0, n = code_table(c, 0, 1, table);
    while (strcmp(acm_modcods[m].name, modcods[_i]) != 0)
        m++;
    ck_assert_uint_eq(n, c->count + 2);
    ck_assert_double_eq_tol(table[0].loss, 1, 1e-12);
    ck_assert_double_eq_tol(table[n - 1].loss, 1e-7, 1e-12);
    double above = table[n - 1].db - acm_modcods[m].threshold - 0.2;
    ck_assert_msg(above > 0.1 && above < 0.3, "%s: %g dB", c->name, above);
    for (size_t i = 1; i < n; i++)
        ck_assert(table[i].db > table[i - 1].db && table[i].loss < table[i - 1].loss);
}
END_TEST

/* Without background the channel of PPM is an erasure channel with the capacity 1 - exp(-n) at n
 * photons in a pulse; background leaves less. So a code needs more photons than that; and a faster
 * code needs more photons. */
START_TEST(a_photon_counters_curve_is_above_capacity)
{
    struct chan_power_point table[CODE_TABLE_MAX], other[CODE_TABLE_MAX];
    const struct code_curve *c = &code_curves[_i];
    const char *rate = strstr(c->name, "/") - 1, *background = strstr(c->name, "-b");
    ck_assert(c->photons && background != NULL);
    double share = (double)c->data_bits / 15120 + 34. / 15120; /* with the CRC and two bits 0 */
    ck_assert_double_eq_tol(share, (rate[0] - '0') / (double)(rate[2] - '0'), 1e-12);
    size_t n = code_table(c, 0, 1, table);
    double least = 10 * log10(-log(1 - share));
    ck_assert_double_gt(c->points[0].level_db, least);
    for (size_t i = 1; i < n; i++)
        ck_assert(table[i].db > table[i - 1].db && table[i].loss < table[i - 1].loss);
    for (size_t k = DVBS2; k < CODE_COUNT; k++) {
        const struct code_curve *d = &code_curves[k];
        bool same = strncmp(c->name, d->name, (size_t)(rate - c->name)) == 0 &&
                    strcmp(background, strstr(d->name, "-b")) == 0;
        code_table(d, 0, 1, other);
        if (same && d->data_bits > c->data_bits)
            ck_assert_double_gt(other[0].db, table[n - 1].db);
    }
}
END_TEST

START_TEST(a_code_follows_noise_and_slope)
{
    double power = 1, sums[2] = {0, 1};
    struct chan_power_point table[CODE_TABLE_MAX];
    struct chan_power p = {
        .power = &power, .sums = sums, .len = 1, .step = 1, .points = table, .codeword_bits = 8};
    for (double slope_db = 1; slope_db <= 2; slope_db++) {
        p.count = code_table(&code_curves[1], -48, slope_db, table); /* dvbs2-qpsk-8/9 */
        ck_assert_double_eq_tol(loss_at(&p, -48 + 6.15 / slope_db), 0.0539, 1e-9);
        ck_assert_double_eq_tol(loss_at(&p, -48 + 6.10 / slope_db), sqrt(0.235 * 0.0539), 1e-9);
        /* as between the last two points: 0.0539 / 0.00351 for each 0.1 dB */
        ck_assert_double_eq_tol(loss_at(&p, -48 + 6.35 / slope_db), 0.00351 * 0.00351 / 0.0539,
                                1e-9);
        ck_assert_double_eq_tol(loss_at(&p, -48 + 9 / slope_db), 1e-7, 1e-12);
        ck_assert_double_eq_tol(loss_at(&p, -48 + 5.9 / slope_db), 1, 1e-12);
    }
}
END_TEST

SUITE(chan_power, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_mean_is_that_of_each_nanosecond);
    tcase_add_test(t, the_table_is_linear_in_logarithms);
    tcase_add_loop_test(t, a_hard_threshold_is_the_receivers_trace, 0, 3);
    tcase_add_loop_test(t, lost_steps_are_the_receivers_trace, 0, 4);
    tcase_add_test(t, a_soft_slope_loses_its_share);
    tcase_add_test(t, powers_without_sense_are_refused);
    tcase_add_loop_test(t, a_codes_curve_ends_near_the_standards_threshold, 0, DVBS2);
    tcase_add_loop_test(t, a_photon_counters_curve_is_above_capacity, DVBS2, CODE_COUNT);
    tcase_add_test(t, a_code_follows_noise_and_slope);
}
