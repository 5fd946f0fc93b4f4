/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a scenario: for how long its frames are under way at most, and how late one may
 * be. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel-emu/emu/emu_settings.h"
#include "tests/unit/suite.h"

static void read_settings(struct emu_settings *s, const char *text)
{
    struct conf_errors e;
    *s = emu_settings_default();
    conf_errors_init(&e, "s.yaml");
    ck_assert_int_eq(scenario_init(&s->scenario), 0);
    ck_assert_msg(scenario_apply(&s->scenario, text, strlen(text), "", &e) == 0, "%s", e.text[0]);
    ck_assert_msg(scenario_check(&s->scenario, &e) == 0, "%s", e.text[0]);
}

static const struct {
    const char *text;
    tick longest;
} ways[] = {
    {"{}", 0},
    {"forward: {delay: 5ms}\nreturn: {delay: 7ms}\n", 7 * TICK_MS},
    {"forward: {delay: 9ms}\nreturn: {delay: 7ms, jitter: 1ms}\n", 9 * TICK_MS},
    {"forward: {delay: [{at: 0, delay: 4ms}, {at: 1s, delay: 90ms}, {at: 2s, delay: 6ms}]}\n",
     90 * TICK_MS},
    {"both: {delay: 5ms, jitter: 3ms}\n", 8 * TICK_MS},
    {"return: {delay: 5ms, jitter: {table: [1ms, 2ms, 20ms]}}\n", 25 * TICK_MS},
    {"return: {delay: 5ms, jitter: {law: pareto, mean: 5ms, sd: 1ms, max: 300ms}}\n",
     305 * TICK_MS},
    {"forward: {delay: 5ms, changes: [{at: 1s, delay: 2s}, {at: 2s, delay: 1ms},\n"
     "  {at: 3s, iid: 0.5}]}\n",
     2 * TICK_S},
    {"forward: {delay: 3s, changes: [{at: 1s, delay: 2s}]}\n", 3 * TICK_S},
};

START_TEST(the_longest_way_through)
{
    struct emu_settings s;
    read_settings(&s, ways[_i].text);
    ck_assert_uint_eq(emu_settings_delay_max(&s, 0), ways[_i].longest);
    scenario_fini(&s.scenario);
}
END_TEST

START_TEST(an_interleaver_and_what_was_told)
{
    char text[300], path[] = "/tmp/helio-powers-XXXXXX";
    struct emu_settings s;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "1\n2\n", 4), 4);
    close(fd);
    snprintf(text, sizeof text,
             "forward: {delay: 5ms, jitter: 1ms, erasures: {power: {file: %s, interleaver: 40ms,\n"
             "  table: [{power: 0dB, loss: 1}, {power: 1dB, loss: 0}]}}}\n",
             path);
    read_settings(&s, text);
    unlink(path);
    ck_assert_uint_eq(emu_settings_delay_max(&s, 0), 46 * TICK_MS);
    ck_assert_uint_eq(emu_settings_delay_max(&s, 4 * TICK_MS), 46 * TICK_MS);
    ck_assert_uint_eq(emu_settings_delay_max(&s, 6 * TICK_MS), 47 * TICK_MS);
    scenario_fini(&s.scenario);
}
END_TEST

SUITE(emu_settings, t)
{
    tcase_add_loop_test(t, the_longest_way_through, 0, sizeof ways / sizeof *ways);
    tcase_add_test(t, an_interleaver_and_what_was_told);
}
