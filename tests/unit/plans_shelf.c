/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of versions: no file in part, damaged files, one process, names. */
#include "tools/plan/plans_shelf.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/unit/suite.h"

static char folder[32];
static struct plans_shelf shelf;

static void open_shelf(void)
{
    char why[256];
    memcpy(folder, "/tmp/helio-plans-XXXXXX", sizeof "/tmp/helio-plans-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(plans_shelf_open(&shelf, folder, true, why, sizeof why), 0);
}

static void close_shelf(void)
{
    char command[64];
    plans_shelf_close(&shelf);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *name, const char *text)
{
    const int fd = openat(shelf.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static int write_version(uint64_t number, const char *contents)
{
    const struct slice octets = slice_of(contents, strlen(contents));
    const struct plans_version v = {number, 5, plans_check(number, 5, octets)};
    return plans_shelf_write(&shelf, &v, octets);
}

START_TEST(versions)
{
    uint64_t numbers[PLANS_FILES_MAX];
    struct plans_file f;
    ck_assert_int_eq(plans_shelf_list(&shelf, numbers), 0);
    ck_assert_int_eq(write_version(10, "ten"), 0);
    ck_assert_int_eq(write_version(9, "nine"), 0);
    ck_assert_int_eq(helio_code(write_version(9, "other")), HELIO_EEXIST);
    for (const char *const *name = (const char *const[]){"plan-0.cbor", "plan-01.cbor",
                                                         "plan-x.cbor", "plan-5.cbor.new", NULL};
         *name != NULL; name++)
        write_file(*name, "x");
    ck_assert_int_eq(plans_shelf_list(&shelf, numbers), 2);
    ck_assert_uint_eq(numbers[0], 9);
    ck_assert_uint_eq(numbers[1], 10);
    ck_assert_int_eq(plans_shelf_read(&shelf, 9, &f), 0);
    ck_assert(slice_equal(f.contents, slice_of("nine", 4)));
    ck_assert_uint_eq(f.version.effect_ms, 5);
    free(f.octets);
    plans_shelf_remove(&shelf, 9);
    ck_assert_int_eq(helio_code(plans_shelf_read(&shelf, 9, &f)), HELIO_ENOENT);
}
END_TEST

START_TEST(damaged)
{
    struct plans_file f;
    ck_assert_int_eq(write_version(1, "contents"), 0);
    write_file("plan-2.cbor", "");
    write_file("plan-3.cbor", "garbage");
    ck_assert_int_eq(renameat(shelf.fd, "plan-1.cbor", shelf.fd, "plan-4.cbor"), 0);
    for (uint64_t n = 2; n <= 4; n++) {
        ck_assert_int_eq(plans_shelf_read(&shelf, n, &f), HELIO_EFORMAT);
        ck_assert_ptr_null(f.octets);
    }
    ck_assert_int_eq(symlinkat("plan-4.cbor", shelf.fd, "plan-5.cbor"), 0);
    ck_assert_int_ne(plans_shelf_read(&shelf, 5, &f), 0);
}
END_TEST

/* What a killed process left is removed at the next start; a second process does not start. */
START_TEST(one_process)
{
    struct plans_shelf other;
    char why[256];
    ck_assert_int_eq(plans_shelf_open(&other, folder, true, why, sizeof why), HELIO_EEXIST);
    ck_assert_str_eq(why, "another helio-plan has it; stop it, or write another folder");
    plans_shelf_close(&other);
    ck_assert_int_eq(plans_shelf_open(&other, folder, false, why, sizeof why), 0);
    plans_shelf_close(&other);
    write_file("plan-7.cbor.new", "part");
    plans_shelf_close(&shelf);
    ck_assert_int_eq(plans_shelf_open(&shelf, folder, true, why, sizeof why), 0);
    ck_assert_int_ne(faccessat(shelf.fd, "plan-7.cbor.new", F_OK, 0), 0);
}
END_TEST

/* The medium fails after the file has its name: the version is not there. */
START_TEST(folder_is_not_synced)
{
    struct plans_file f;
    const int fd = shelf.fd;
    shelf.fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC); /* fsync fails on it */
    ck_assert_int_ge(shelf.fd, 0);
    ck_assert_int_ne(write_version(1, "contents"), 0);
    ck_assert_int_eq(helio_code(plans_shelf_read(&shelf, 1, &f)), HELIO_ENOENT);
    close(shelf.fd);
    shelf.fd = fd;
}
END_TEST

/* Another process publishes while this one starts. */
START_TEST(publishes_at_the_start)
{
    struct plans_shelf other;
    char why[256];
    plans_shelf_close(&shelf);
    ck_assert_int_eq(plans_shelf_open(&other, folder, false, why, sizeof why), 0);
    ck_assert_int_eq(flock(other.fd, LOCK_EX), 0);
    shelf.fd = other.fd;
    write_file("plan-7.cbor.new", "part");
    ck_assert_int_eq(plans_shelf_open(&shelf, folder, true, why, sizeof why), 0);
    ck_assert_int_eq(faccessat(shelf.fd, "plan-7.cbor.new", F_OK, 0), 0);
    plans_shelf_close(&other);
    ck_assert_int_eq(flock(shelf.fd, LOCK_EX | LOCK_NB), 0);
}
END_TEST

START_TEST(marks)
{
    ck_assert_uint_eq(plans_shelf_number(&shelf, "applied"), 0);
    ck_assert_int_eq(plans_shelf_put(&shelf, "applied", slice_of("12\n", 3), true), 0);
    ck_assert_uint_eq(plans_shelf_number(&shelf, "applied"), 12);
    write_file("applied", "garbage");
    ck_assert_uint_eq(plans_shelf_number(&shelf, "applied"), 0);
    write_file("applied", "");
    ck_assert_uint_eq(plans_shelf_number(&shelf, "applied"), 0);
}
END_TEST

SUITE(plans_shelf, t)
{
    tcase_add_checked_fixture(t, open_shelf, close_shelf);
    tcase_add_test(t, versions);
    tcase_add_test(t, damaged);
    tcase_add_test(t, one_process);
    tcase_add_test(t, folder_is_not_synced);
    tcase_add_test(t, publishes_at_the_start);
    tcase_add_test(t, marks);
}
