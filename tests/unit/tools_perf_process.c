/* SPDX-License-Identifier: Apache-2.0 */
/* What our programs stand on: a signal ends it, from within the world; without descriptors it is
 * said by the program's name. Each in a process of its own. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/world.h"
#include "tests/unit/suite.h"
#include "tools/perf/perf_process.h"

static struct perf_process process;
static int signals, alarms;
static struct alarm alarm_one;

static void on_signal(void *context, int number)
{
    ck_assert_ptr_eq(context, &process);
    ck_assert_int_eq(number, SIGTERM);
    signals++;
    alarm_fini(&alarm_one);
    perf_process_end(&process);
}

static void on_alarm(void *context)
{
    (void)context;
    alarms++;
    ck_assert_int_eq(raise(SIGTERM), 0);
}

START_TEST(a_signal_ends_it)
{
    ck_assert_int_eq(perf_process_open(&process, "test", on_signal, &process), 0);
    alarm_init(&alarm_one, process.world, ALARM_APP, on_alarm, NULL);
    alarm_set(&alarm_one, world_now(process.world));
    perf_process_run(&process);
    ck_assert_int_eq(alarms, 1);
    ck_assert_int_eq(signals, 1);
    ck_assert(process.ended);
    perf_process_end(&process); /* again: nothing */
    perf_process_close(&process);
    ck_assert_ptr_null(process.world);
    perf_process_close(&process);
}
END_TEST

START_TEST(it_closes_without_having_run)
{
    ck_assert_int_eq(perf_process_open(&process, "test", on_signal, &process), 0);
    perf_process_close(&process);
    ck_assert(process.ended);
    ck_assert_ptr_null(process.world);
}
END_TEST

START_TEST(without_descriptors)
{
    char said[256] = "";
    FILE *err = tmpfile();
    ck_assert_ptr_nonnull(err);
    ck_assert_int_eq(dup2(fileno(err), STDERR_FILENO), STDERR_FILENO);
    struct rlimit usual;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    const struct rlimit none = {0, usual.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_ne(perf_process_open(&process, "helio-test", on_signal, &process), 0);
    ck_assert_ptr_null(process.world);
    perf_process_close(&process);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0); /* sanitizers open files at the end */
    rewind(err);
    ck_assert_ptr_nonnull(fgets(said, sizeof said, err));
    ck_assert_ptr_nonnull(strstr(said, "helio-test: cannot wait for events: "));
}
END_TEST

SUITE(tools_perf_process, t)
{
    tcase_add_test(t, a_signal_ends_it);
    tcase_add_test(t, it_closes_without_having_run);
    tcase_add_test(t, without_descriptors);
}
