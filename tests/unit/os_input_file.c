/* SPDX-License-Identifier: Apache-2.0 */
/* Files, pipes and directories: which are opened, and that none is waited for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/input_file.h"
#include "tests/unit/suite.h"

static char folder[64], why[128];

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/unit-input-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    FILE *f = fopen(in_folder("file"), "w");
    ck_assert(f != NULL && fputs("text", f) >= 0 && fclose(f) == 0);
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
}

static void drop_folder(void)
{
    unlink(in_folder("file"));
    unlink(in_folder("pipe"));
    rmdir(folder);
}

/* Nobody writes to the pipe: a plain open would wait for ever, and the test would end by time. */
START_TEST(kinds)
{
    FILE *f = input_file_regular(in_folder("file"), why, sizeof why);
    ck_assert(f != NULL && fgetc(f) == 't');
    fclose(f);
    ck_assert_ptr_null(input_file_regular(in_folder("pipe"), why, sizeof why));
    ck_assert_str_eq(why, "a pipe, not a regular file");
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_null(input_file_regular(folder, why, sizeof why));
    ck_assert_str_eq(why, "a directory, not a regular file");
    ck_assert_ptr_null(input_file_regular("/dev/null", why, sizeof why));
    ck_assert_str_eq(why, "a device, not a regular file");
    ck_assert_ptr_null(input_file_regular(in_folder("none"), why, sizeof why));
    ck_assert_str_eq(why, "No such file or directory");
    ck_assert_int_eq(errno, ENOENT);
    f = input_file_any(in_folder("pipe"), why, sizeof why);
    ck_assert(f != NULL && fgetc(f) == EOF && feof(f));
    fclose(f);
}
END_TEST

/* As <(COMMAND) of a shell: the writer is slower than the reader. */
START_TEST(a_slow_writer)
{
    int ends[2];
    char path[32];
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    const pid_t child = fork();
    if (child == 0) {
        usleep(100000);
        _exit(write(ends[1], "late", 4) != 4);
    }
    close(ends[1]);
    FILE *f = input_file_any(path, why, sizeof why);
    char text[8] = "";
    ck_assert_msg(f != NULL, "%s", why);
    ck_assert_uint_eq(fread(text, 1, sizeof text, f), 4);
    ck_assert_str_eq(text, "late");
    fclose(f);
    close(ends[0]);
}
END_TEST

SUITE(os_input_file, t)
{
    tcase_add_checked_fixture(t, make_folder, drop_folder);
    tcase_add_test(t, kinds);
    tcase_add_test(t, a_slow_writer);
}
