/* SPDX-License-Identifier: Apache-2.0 */
/* Children that end well, badly, or not at all; and the values of options. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/arguments.h"
#include "os/process/child.h"
#include "tests/unit/suite.h"

static int shell(const char *line)
{
    return child_run((const char *[]){"sh", "-c", line, NULL});
}

START_TEST(programs)
{
    sigset_t term;
    ck_assert_int_eq(shell("exit 0"), 0);
    ck_assert_int_eq(shell("exit 7"), 7);
    ck_assert_int_eq(shell("kill -KILL $$"), 1);
    ck_assert_int_eq(child_run((const char *[]){"/nonexistent/program", NULL}), -1);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    ck_assert_int_eq(shell("kill -TERM $$; exit 5"), 1); /* it hears what we put off */
    sigprocmask(SIG_UNBLOCK, &term, NULL);
}
END_TEST

static void add_one(void *ctx)
{
    ++*(int *)ctx;
}

static void die(void *ctx)
{
    add_one(ctx);
    raise(SIGBUS);
}

static void leave(void *ctx)
{
    add_one(ctx);
    _exit(3);
}

START_TEST(calls)
{
    int own = 0, *shared = child_share(sizeof *shared);
    ck_assert_ptr_nonnull(shared);
    ck_assert_int_eq(child_call(add_one, &own), 0);
    ck_assert_int_eq(own, 0); /* it had a copy */
    ck_assert_int_eq(child_call(add_one, shared), 0);
    ck_assert_int_eq(child_call(die, shared), SIGBUS);
    ck_assert_int_eq(child_call(leave, shared), SIGSEGV);
    ck_assert_int_eq(*shared, 3);
    child_unshare(shared, sizeof *shared);
    child_unshare(NULL, 1);
}
END_TEST

static void set_exit_code(void)
{
    argp_err_exit_status = 2;
}

SUITE(os_child, t)
{
    tcase_add_checked_fixture(t, set_exit_code, NULL);
    tcase_add_test(t, programs);
    tcase_add_test(t, calls);
}
