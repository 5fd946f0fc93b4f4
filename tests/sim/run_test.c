/* SPDX-License-Identifier: Apache-2.0 */
/* The run loop of virtual time: order at one time, the bound, and what a source need not search. */
#include "sim/world_run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *name;
    const tick *times; /* ends with TICK_NEVER */
    tick asked;        /* `before` of the last question */
    struct clock *clock;
};

struct clock {
    tick now;
    char trace[256];
};

static tick line_due(void *context, tick before)
{
    struct line *l = context;
    l->asked = before;
    return *l->times < before ? *l->times : before;
}

static void step_line(void *context)
{
    struct line *l = context;
    char *end = l->clock->trace + strlen(l->clock->trace);
    ck_assert_uint_ge(l->clock->now, *l->times);
    sprintf(end, "%s%llu ", l->name, (unsigned long long)l->clock->now);
    l->times++;
}

static void advance_clock(void *context, tick due)
{
    struct clock *c = context;
    c->now = due > c->now ? due : c->now;
}

static void drain_all(void *context)
{
    strcat(((struct clock *)context)->trace, "| ");
}

static const tick a_times[] = {5, 9, TICK_NEVER}, b_times[] = {3, 5, 5, TICK_NEVER},
                  none[] = {TICK_NEVER};

START_TEST(earliest_first_and_then_the_lower_source)
{
    struct clock c = {0};
    struct line a = {"a", a_times, 0, &c}, b = {"b", b_times, 0, &c}, n = {"n", none, 0, &c};
    const struct world_source sources[] = {
        {line_due, step_line, &n}, {line_due, step_line, &a}, {line_due, step_line, &b}};
    const struct world_run r = {sources, 3, advance_clock, drain_all, &c};
    ck_assert_uint_eq(world_run_due(&r), 3);
    while (world_run_step(&r, 9)) {
    }
    ck_assert_str_eq(c.trace, "b3 | a5 | b5 | b5 | ");
    ck_assert_uint_eq(c.now, 5); /* what is due at 9 is not before 9 */
    ck_assert_uint_eq(world_run_due(&r), 9);
    ck_assert_uint_eq(b.asked, 9);
    ck_assert(world_run_step(&r, TICK_NEVER) && c.now == 9);
    ck_assert(!world_run_step(&r, TICK_NEVER));
    ck_assert_uint_eq(world_run_due(&r), TICK_NEVER);
}
END_TEST

START_TEST(a_clock_never_goes_back)
{
    struct clock c = {.now = 7};
    struct line a = {"a", a_times, 0, &c};
    const struct world_source source = {line_due, step_line, &a};
    const struct world_run r = {&source, 1, advance_clock, drain_all, &c};
    ck_assert(world_run_step(&r, TICK_NEVER));
    ck_assert_str_eq(c.trace, "a7 | ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_run");
    TCase *tc = tcase_create("loop");
    tcase_add_test(tc, earliest_first_and_then_the_lower_source);
    tcase_add_test(tc, a_clock_never_goes_back);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
