/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that peers can cause: some at once, then one after each pause, and the number of the rest.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/log/say.h"
#include "tests/unit/suite.h"

static struct say log_of;
static struct say_few few;

static void __attribute__((format(printf, 3, 4)))
say_at(tick now, enum say_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)say_few(&log_of, &few, now, level, format, args);
    va_end(args);
}

/* What is on standard error between the two, as text. */
static int kept_error, ends[2];

static void begin_log(void)
{
    say_init(&log_of, LEVEL_WARNING, false, "");
    few = (struct say_few){.about = "connections", .burst = 3, .pause = TICK_S};
    ck_assert_int_eq(pipe(ends), 0);
    kept_error = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
    close(ends[1]);
}

static void end_log(char *text, size_t cap)
{
    dup2(kept_error, STDERR_FILENO);
    close(kept_error);
    size_t len = 0;
    for (ssize_t n; (n = read(ends[0], text + len, cap - 1 - len)) > 0;)
        len += (size_t)n;
    text[len] = '\0';
    close(ends[0]);
}

static int count_of(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        n++;
    return n;
}

START_TEST(the_rest_is_counted)
{
    char text[8192];
    begin_log();
    for (int i = 0; i < 10; i++)
        say_at(TICK_S, LEVEL_WARNING, "first %d", i);
    say_left_out(&log_of, &few);
    say_left_out(&log_of, &few); /* was reported already */
    for (int i = 0; i < 10; i++)
        say_at(2 * TICK_S, LEVEL_WARNING, "second %d", i);
    say_at(100 * TICK_S, LEVEL_WARNING, "third");
    end_log(text, sizeof text);
    ck_assert_int_eq(count_of(text, "first"), 3);
    ck_assert_int_eq(count_of(text, "7 more lines about connections were left out"), 1);
    ck_assert_int_eq(count_of(text, "second"), 1);
    ck_assert_int_eq(count_of(text, "third"), 1);
    ck_assert_uint_eq(few.left_out, 9);
}
END_TEST

/* Lines that this level of the log has not are neither logged nor counted. */
START_TEST(a_lower_level_costs_nothing)
{
    char text[8192];
    begin_log();
    for (int i = 0; i < 10; i++)
        say_at(TICK_S, LEVEL_INFO, "info %d", i);
    for (int i = 0; i < 3; i++)
        say_at(TICK_S, LEVEL_WARNING, "warning %d", i);
    say_left_out(&log_of, &few);
    end_log(text, sizeof text);
    ck_assert_int_eq(count_of(text, "info"), 0);
    ck_assert_int_eq(count_of(text, "\n"), 3);
    ck_assert_uint_eq(few.left_out, 0);
}
END_TEST

/* Lines that others write have the same allowance. */
START_TEST(lines_of_others)
{
    struct say_few lines = {.burst = 3, .pause = TICK_S};
    unsigned taken = 0;
    for (int i = 0; i < 10; i++)
        taken += say_few_takes(&lines, TICK_S);
    ck_assert_uint_eq(taken, 3);
    ck_assert_uint_eq(lines.left_out, 7);
    ck_assert(say_few_takes(&lines, 2 * TICK_S) && !say_few_takes(&lines, 2 * TICK_S));
    ck_assert_uint_eq(lines.left_out, 8);
}
END_TEST

SUITE(os_say_few, t)
{
    tcase_add_test(t, lines_of_others);
    tcase_add_test(t, the_rest_is_counted);
    tcase_add_test(t, a_lower_level_costs_nothing);
}
