/* SPDX-License-Identifier: Apache-2.0 */
/* Units of received powers: all become what levels of the table are compared with, relative or in
 * milliwatts; levels of the other kind are refused. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel-emu/scenario/scenario.h"
#include "tests/unit/suite.h"

static const struct {
    const char *unit, *level, *other;
    double first, second; /* in the file */
    double power;         /* what the first is, of 1 or of 1 mW */
} cases[] = {{"linear", "-3dB", "-3dBm", 0.001, 0.004, 1e-3},
             {"dB", "-3dB", "-3dBm", -30, -20, 1e-3},
             {"dBm", "-36dBm", "-36dB", -30, -20, 1e-3},
             {"mW", "-36dBm", "-36dB", 0.001, 0.004, 1e-3},
             {"W", "-36dBm", "-36dB", 1e-6, 4e-6, 1e-3}};

static int apply_level(struct scenario *s, const char *path, const char *unit, const char *level)
{
    char text[300];
    struct conf_errors errors;
    conf_errors_init(&errors, "s.yaml");
    snprintf(text, sizeof text,
             "forward: {erasures: {power: {file: %s, unit: %s, table: [{power: %s, loss: 1}]}}}",
             path, unit, level);
    return scenario_apply(s, text, strlen(text), "", &errors);
}

START_TEST(levels_and_powers_have_one_unit)
{
    char path[] = "/tmp/powersXXXXXX";
    struct scenario s;
    FILE *f = fdopen(mkstemp(path), "w");
    ck_assert_ptr_ne(f, NULL);
    fprintf(f, "power\n%.9g\n%.9g\n", cases[_i].first, cases[_i].second);
    fclose(f);
    ck_assert_int_eq(scenario_init(&s), 0);
    ck_assert_int_lt(apply_level(&s, path, cases[_i].unit, cases[_i].other), 0);
    ck_assert_int_eq(apply_level(&s, path, cases[_i].unit, cases[_i].level), 0);
    unlink(path);
    const struct chan_power *p = scenario_chan(&s, SCENARIO_FORWARD, 0, 0).power;
    ck_assert_ptr_ne(p, NULL);
    ck_assert_double_eq_tol(p->power[0] / cases[_i].power, 1, 1e-9);
    ck_assert_double_eq(p->points[0].db, strtod(cases[_i].level, NULL));
    scenario_fini(&s);
}
END_TEST

SUITE(emu_power, t)
{
    tcase_add_loop_test(t, levels_and_powers_have_one_unit, 0, sizeof cases / sizeof *cases);
}
