/* SPDX-License-Identifier: Apache-2.0 */
/* The two directions of an optical link: the same powers where they are wholly correlated, the lag
 * exactly, the correlation as asked for, and each direction's own law whatever it is. */
#include <math.h>

#include "channel-emu/chan/fading/chan_fade.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "tests/unit/suite.h"

#define STEPS 200000u

static void powers_of(double *out, const char *back, const char *const more[][2])
{
    static struct fade_direction d;
    struct gen_spec s;
    char error[GEN_ERROR_MAX] = "";
    gen_spec_init(&s);
    for (int i = 0; more[i][0] != NULL; i++)
        ck_assert_msg(gen_spec_set(&s, more[i][0], more[i][1], error) == 0, "%s", error);
    if (back != NULL)
        ck_assert_msg(gen_spec_set(&s, "return", back, error) == 0, "%s", error);
    ck_assert_msg(gen_spec_check(&s, TICK_MS, error) == 0, "%s", error);
    fade_direction_init(&d, &s.fade, TICK_MS, STEPS, 5);
    for (unsigned i = 0; i < STEPS; i++)
        out[i] = fade_direction_next(&d);
}

static const char *const bent[][2] = {
    {"scintillation", "gamma-gamma"}, {"index", "0.6"}, {"coherence", "4ms"}, {NULL, NULL}};
static const char *const straight[][2] = {
    {"scintillation", "lognormal"}, {"index", "0.3"}, {"coherence", "4ms"}, {NULL, NULL}};

/* The lag is in milliseconds, the steps, too. */
START_TEST(wholly_correlated_it_is_the_same)
{
    static const struct {
        const char *text;
        unsigned ahead; /* of the step that it is the same as, in the loop */
    } cases[] = {{"1", 0}, {"1,7ms", STEPS - 7}, {"1,-1.28s", 1280}, {"1,400003ms", STEPS - 3}};
    static double forward[STEPS], back[STEPS];
    powers_of(forward, NULL, bent);
    powers_of(back, cases[_i].text, bent);
    for (unsigned i = 0; i < STEPS; i++)
        ck_assert_double_eq(back[i], forward[(i + cases[_i].ahead) % STEPS]);
}
END_TEST

/* Of the logarithms, `lag` steps apart. */
static double correlation(const double *a, const double *b, unsigned lag)
{
    double sum[2] = {0, 0}, square[2] = {0, 0}, both = 0, n = STEPS - lag;
    for (unsigned i = 0; i + lag < STEPS; i++) {
        double x = log(a[i]), y = log(b[i + lag]);
        sum[0] += x;
        sum[1] += y;
        square[0] += x * x;
        square[1] += y * y;
        both += x * y;
    }
    for (int i = 0; i < 2; i++)
        square[i] = square[i] / n - sum[i] * sum[i] / n / n;
    return (both / n - sum[0] * sum[1] / n / n) / sqrt(square[0] * square[1]);
}

/* Standard error some sqrt(6 / STEPS) = 0.0055: four of them, and that of a wrong lag is far. */
START_TEST(correlated_as_asked)
{
    static const struct {
        const char *text;
        double wanted;
        unsigned lag;
    } cases[] = {{"0", 0, 0}, {"0.5", 0.5, 0}, {"0.9", 0.9, 0}, {"0.7,40ms", 0.7, 40}};
    static double forward[STEPS], back[STEPS];
    double mean = 0, square = 0, spread = log(1.3);
    powers_of(forward, NULL, straight);
    powers_of(back, cases[_i].text, straight);
    ck_assert_double_eq_tol(correlation(forward, back, cases[_i].lag), cases[_i].wanted, 0.022);
    ck_assert_double_eq_tol(correlation(forward, back, 40 - cases[_i].lag), 0, 0.022);
    for (unsigned i = 0; i < STEPS; i++) {
        mean += log(back[i]) / STEPS;
        square += log(back[i]) * log(back[i]) / STEPS;
    }
    ck_assert_double_eq_tol(mean, -spread / 2, 0.02);
    ck_assert_double_eq_tol(square - mean * mean, spread, 0.01);
}
END_TEST

/* The same cloud is in both directions; pointing is each terminal's own. */
START_TEST(clouds_are_common_and_pointing_is_not)
{
    static const char *const cloudy[][2] = {
        {"jitter", "0.4"}, {"elevation", "30"}, {"cloud", "0.3,50ms"}, {NULL, NULL}};
    static double forward[STEPS], back[STEPS];
    unsigned blocked = 0, same = 0;
    powers_of(forward, NULL, cloudy);
    powers_of(back, "0", cloudy);
    for (unsigned i = 0; i < STEPS; i++) {
        ck_assert_int_eq(forward[i] < 1e-200, back[i] < 1e-200);
        blocked += forward[i] < 1e-200;
        same += forward[i] > 1e-200 && forward[i] >= back[i] && forward[i] <= back[i];
    }
    ck_assert(blocked > STEPS / 4 && blocked < STEPS * 3 / 4);
    ck_assert_uint_eq(same, 0);
}
END_TEST

START_TEST(wrong_words_are_refused)
{
    static const char *const wrong[] = {"1.1",       "-0.1", "0.5,2", "0.5,--2ms",
                                        "0.5,2ms,1", "",     "0.5,"};
    struct gen_spec s;
    char error[GEN_ERROR_MAX];
    gen_spec_init(&s);
    ck_assert_int_lt(gen_spec_set(&s, "return", wrong[_i], error), 0);
    ck_assert_int_eq(gen_spec_set(&s, "jitter", "0.3", error), 0);
    ck_assert_int_eq(gen_spec_set(&s, "return", "0.5", error), 0);
    ck_assert_int_lt(gen_spec_check(&s, TICK_MS, error), 0);
    ck_assert_int_eq(gen_spec_set(&s, "return", "0", error), 0);
    ck_assert_int_eq(gen_spec_check(&s, TICK_MS, error), 0);
}
END_TEST

SUITE(chan_direction, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, wholly_correlated_it_is_the_same, 0, 4);
    tcase_add_loop_test(t, correlated_as_asked, 0, 4);
    tcase_add_test(t, clouds_are_common_and_pointing_is_not);
    tcase_add_loop_test(t, wrong_words_are_refused, 0, 7);
}
