/* SPDX-License-Identifier: Apache-2.0 */
/* A server of the traffic generator that has no memory to begin with says so. The linker puts the
 * functions below before the library's. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"
#include "tools/perf/perf_server.h"

/* The server, the world (where libuv may end the process), its signals, the acknowledgements that
 * wait, and the table of sessions. */
START_TEST(it_is_said)
{
    struct perf_options o = {.server = true, .socket = "/nonexistent/socket", .deliveries = 1};
    FILE *said = tmpfile();
    char text[256] = "";
    ck_assert_ptr_nonnull(said);
    ck_assert_int_ge(dup2(fileno(said), STDERR_FILENO), 0);
    pid_t child = fork();
    if (child == 0) {
        memory.failed = 0;
        memory.countdown = _i;
        int code = perf_server_run(&o);
        _exit(memory.failed ? code : 99);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1);
    rewind(said);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, said), 0);
    ck_assert_ptr_nonnull(strstr(text, ": out of memory"));
    fclose(said);
}
END_TEST

SUITE(tools_perf_memory, t)
{
    tcase_add_loop_test(t, it_is_said, 0, 14);
}
