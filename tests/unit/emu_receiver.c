/* SPDX-License-Identifier: Apache-2.0 */
/* The scenario's map of powers: a file, and a table of losses or a code's curve. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel-emu/scenario/scenario.h"
#include "tests/unit/emu_scenario_help.h"
#include "tests/unit/suite.h"

START_TEST(power_of_a_file)
{
    char path[] = "/tmp/powersXXXXXX", text[600];
    FILE *f = fdopen(mkstemp(path), "w");
    ck_assert_ptr_ne(f, NULL);
    fprintf(f, "power\n1e-6\n2e-6\n4e-6\n");
    fclose(f);
    snprintf(text, sizeof text,
             "forward: {erasures: {power: {file: %s, unit: W, step: 1ms, interleaver: 3ms, "
             "codeword: 255B, offset: 1ms, loop: no, table: [{power: -30dBm, loss: 1}, "
             "{power: -25.5dBm, loss: 1e-6, bit_errors: 1e-9}]}}}",
             path);
    struct scenario s, again;
    good(&s, text);
    const struct chan_power *p = scenario_chan(&s, SCENARIO_FORWARD, 0, 0).power;
    ck_assert(p != NULL && p->len == 3 && p->step == TICK_MS && p->interleaver == 3 * TICK_MS);
    ck_assert(p->codeword_bits == 2040 && p->offset == TICK_MS && !p->loop && p->count == 2);
    ck_assert_double_eq_tol(p->power[0], 1e-3, 1e-15); /* in mW */
    ck_assert_double_eq_tol(p->sums[3], 7e-3, 1e-15);
    ck_assert_double_eq(p->points[1].db, -25.5);
    ck_assert_double_eq(p->points[1].bit_errors, 1e-9);
    ck_assert_ptr_eq(scenario_chan(&s, SCENARIO_RETURN, 0, 0).power, NULL);
    char *yaml = scenario_yaml(&s);
    good(&again, yaml);
    char *second = scenario_yaml(&again);
    ck_assert_str_eq(yaml, second);
    ck_assert_ptr_ne(strstr(yaml, "-25.5dBm"), NULL);
    free(yaml);
    free(second);
    scenario_fini(&again);
    ck_assert_int_eq(apply(&s, "forward: {erasures: {power: none}}"), 0);
    ck_assert_ptr_eq(scenario_chan(&s, SCENARIO_FORWARD, 0, 0).power, NULL);
    snprintf(text, sizeof text,
             "forward: {erasures: {power: {file: %s, unit: W, table: [{power: -3dB, loss: 1}]}}}",
             path);
    ck_assert_int_lt(apply(&s, text), 0);
    ck_assert_str_eq(errors.text[0],
                     "s.yaml:1: forward.erasures.power.table[1].power: \"-3dB\" is not understood; "
                     "write a level such as -36dBm, since the file's powers are absolute");
    snprintf(text, sizeof text, "forward: {erasures: {power: {file: %s}}}", path);
    ck_assert_int_lt(apply(&s, text), 0);
    ck_assert_ptr_ne(strstr(errors.text[0], "table: is missing"), NULL);
    scenario_fini(&s);
    unlink(path);
}
END_TEST

static void check_code(struct scenario *s, const char *path, const char *keys, const char *expected)
{
    char text[300], message[300];
    snprintf(text, sizeof text, "forward: {erasures: {power: {file: %s, unit: dBm, %s}}}", path,
             keys);
    snprintf(message, sizeof message, "s.yaml:1: forward.erasures.power.%s", expected);
    ck_assert_int_lt(apply(s, text), 0);
    ck_assert_str_eq(errors.text[0], message);
}

START_TEST(power_by_a_codes_curve)
{
    char path[] = "/tmp/powersXXXXXX", text[300];
    FILE *f = fdopen(mkstemp(path), "w");
    ck_assert_ptr_ne(f, NULL);
    fprintf(f, "power\n-40\n-41\n");
    fclose(f);
    snprintf(text, sizeof text,
             "forward: {erasures: {power: {file: %s, unit: dBm, code: dvbs2-qpsk-3/5, noise: "
             "-44dBm, slope: 2}}}",
             path);
    struct scenario s, again;
    good(&s, text);
    const struct chan_power *p = scenario_chan(&s, SCENARIO_FORWARD, 0, 0).power;
    ck_assert(p != NULL && p->count == 5 && p->codeword_bits == 9552);
    ck_assert_double_eq_tol(p->points[1].db, -44 + 2.02 / 2, 1e-12);
    ck_assert_double_eq(p->points[1].loss, 0.220);
    char *yaml = scenario_yaml(&s);
    good(&again, yaml); /* the table itself, whatever made it */
    char *second = scenario_yaml(&again);
    ck_assert_str_eq(yaml, second);
    free(yaml);
    free(second);
    scenario_fini(&again);
    check_code(&s, path, "code: dvbs2-qpsk-3/5, noise: -4dB",
               "noise: \"-4dB\" is not understood; write the power at which Es/N0 is 0 dB, such as "
               "-36dBm, since the file's powers are absolute");
    check_code(&s, path, "code: dvbs2-qpsk-3/5, noise: -4dBm, table: [{power: -3dBm, loss: 1}]",
               "code: brings its own table; leave out one of them");
    check_code(&s, path, "code: hpe-16ppm-1/2-b0.2, noise: 3",
               "noise: \"3\" is not understood; write the power at which a pulse has one detected "
               "photon, such as -36dBm, since the file's powers are absolute");
    check_code(&s, path, "code: hpe-16ppm-1/2-b0.2, noise: -79dBm, slope: 2",
               "slope: a photon counter has no noise of its own; leave it out, or write another "
               "code");
    check_code(&s, path, "noise: -4dBm, table: [{power: -3dBm, loss: 1}]",
               "noise: is of a code; write code: dvbs2-qpsk-3/5");
    scenario_fini(&s);
    unlink(path);
}
END_TEST

/* Powers of a tenth of a millisecond, of which the receiver loses what its keys say. */
START_TEST(power_with_a_threshold)
{
    char path[] = "/tmp/powersXXXXXX", text[400];
    FILE *f = fdopen(mkstemp(path), "w");
    ck_assert_ptr_ne(f, NULL);
    fprintf(f, "power\n-30\n-40\n-30\n-30\n-30\n-30\n-40\n-40\n");
    fclose(f);
    static const struct {
        const char *keys, *lost;
        tick block;
    } cases[] = {
        {"threshold: -35dBm", "01000011", 0},
        {"threshold: -35dBm, reacquire: 200us", "01110011", 0},
        {"threshold: -35dBm, interleaver: 200us", "00000010", 0},
        {"threshold: -35dBm, block: 400us, correct: 0.25", "00001111", 400000},
        {"threshold: -35dBm, block: 400us, correct: 0.24", "11111111", 400000},
        {"threshold: -35dBm, block: 200us, correct: 0.5, code: dvbs2-qpsk-3/5, noise: -50dBm",
         "00000011", 200000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scenario s, again;
        snprintf(text, sizeof text, "forward: {erasures: {power: {file: %s, unit: dBm, %s}}}", path,
                 cases[i].keys);
        good(&s, text);
        const struct chan_power *p = scenario_chan(&s, SCENARIO_FORWARD, 0, 0).power;
        ck_assert(p->lost != NULL && p->len == 8 && p->block == cases[i].block);
        for (size_t k = 0; k < 8; k++)
            ck_assert_msg(p->lost[k] == cases[i].lost[k] - '0', "%s: step %zu", cases[i].keys, k);
        char *yaml = scenario_yaml(&s);
        good(&again, yaml);
        char *second = scenario_yaml(&again);
        ck_assert_str_eq(yaml, second);
        p = scenario_chan(&again, SCENARIO_FORWARD, 0, 0).power;
        ck_assert(p->lost != NULL && p->block == cases[i].block);
        free(yaml);
        free(second);
        scenario_fini(&again);
        scenario_fini(&s);
    }
    struct scenario s;
    good(&s, "forward: {}");
    check_code(&s, path, "block: 1ms, table: [{power: -3dBm, loss: 1}]",
               "block: needs the least power that is received; write threshold: -36dBm");
    check_code(&s, path, "threshold: -3dB",
               "threshold: \"-3dB\" is not understood; write a level such as -36dBm, since the "
               "file's powers are absolute");
    check_code(&s, path, "threshold: -35dBm, block: 1ms, interleaver: 1ms",
               "block: is an interleaver itself; leave out interleaver");
    check_code(&s, path, "threshold: -35dBm, correct: 0.1",
               "correct: is of a block; write block: 10ms");
    check_code(&s, path, "threshold: -35dBm, block: 150us",
               "block: must have 2 to 10,000,000 steps of the powers");
    scenario_fini(&s);
    unlink(path);
}
END_TEST

SUITE(emu_receiver, t)
{
    tcase_add_test(t, power_with_a_threshold);
    tcase_add_test(t, power_of_a_file);
    tcase_add_test(t, power_by_a_codes_curve);
}
