/* SPDX-License-Identifier: Apache-2.0 */
/* Files with secrets: their permissions, and one line out of them. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "os/secret.h"
#include "tests/unit/suite.h"

static char path[64], why[512];

static void write_file(const char *text, size_t len, mode_t mode)
{
    strcpy(path, "/tmp/unit-secret-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
    *why = '\0';
}

START_TEST(permissions)
{
    static const struct {
        mode_t mode;
        bool good;
    } rows[] = {{0600, true},  {0400, true},  {0640, true},  {0660, true},
                {0644, false}, {0602, false}, {0601, false}, {0777, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file("x\n", 2, rows[i].mode);
        FILE *f = secret_file_open(path, why, sizeof why);
        ck_assert_msg((f != NULL) == rows[i].good, "%03o", (unsigned)rows[i].mode);
        if (f != NULL)
            fclose(f);
        else
            ck_assert_ptr_nonnull(strstr(why, "chmod o= it"));
        unlink(path);
    }
    ck_assert_ptr_null(secret_file_open(path, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, ": No such file or directory"));
    ck_assert_ptr_nonnull(strstr(why, path));
}
END_TEST

START_TEST(lines)
{
    static const struct {
        const char *text;
        size_t len;
        const char *line; /* NULL: wrong */
    } rows[] = {{"secret\n", 7, "secret"},
                {" \tsecret \r\n\n", 12, "secret"},
                {"a b", 3, "a b"},
                {"123456789", 9, NULL},
                {"12345678", 8, "12345678"},
                {"", 0, NULL},
                {" \n ", 3, NULL},
                {"a\nb\n", 4, NULL},
                {"a\0b", 3, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[10] = "########";
        write_file(rows[i].text, rows[i].len, 0600);
        int len = secret_file_line(path, out, sizeof out, why, sizeof why);
        unlink(path);
        if (rows[i].line != NULL) {
            ck_assert_str_eq(out, rows[i].line);
            ck_assert_int_eq(len, (int)strlen(out));
        } else {
            ck_assert_int_eq(len, HELIO_EINVAL);
            ck_assert_ptr_nonnull(strstr(why, path));
        }
    }
}
END_TEST

START_TEST(standard_input)
{
    int ends[2];
    char out[32];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "secret\n", 7), 7);
    close(ends[1]);
    ck_assert_int_ge(dup2(ends[0], STDIN_FILENO), 0);
    ck_assert_int_eq(secret_file_line("-", out, sizeof out, why, sizeof why), 6);
    ck_assert_str_eq(out, "secret");
}
END_TEST

SUITE(os_secret_file, t)
{
    tcase_add_test(t, permissions);
    tcase_add_test(t, lines);
    tcase_add_test(t, standard_input);
}
