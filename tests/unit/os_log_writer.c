/* SPDX-License-Identifier: Apache-2.0 */
/* The log writer over rotations, full disks and appending, plain and compressed. What it does
 * while a disk is slow: emu_drop_log. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "os/log/log_writer.h"
#include "tests/unit/suite.h"

#define LONG_MS 600000u /* what waits so long never ends */

static char folder[] = "/tmp/logXXXXXX";
static const char header_text[] = "number\n";

static struct slice header(void)
{
    return slice_of(header_text, sizeof header_text - 1);
}

static const char *path_of(const char *name, const char *suffix)
{
    static char path[4][128];
    static unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, 128, "%s/%s%s", folder, name, suffix);
    return p;
}

static void put(struct log_writer *w, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        char *room = log_writer_room(w, 32);
        if (room == NULL)
            ck_abort_msg("no room for %llu", (unsigned long long)i);
        log_writer_put(w, (size_t)snprintf(room, 32, "%llu\n", (unsigned long long)i));
    }
}

/* The numbers after one header, each above the one before: how many; the last in *last. */
static uint64_t count(const char *path, uint64_t first, uint64_t *last)
{
    char line[64];
    uint64_t n = 0, before = 0;
    gzFile f = gzopen(path, "rb"); /* reads plain files, too */
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(gzgets(f, line, sizeof line));
    ck_assert_str_eq(line, header_text);
    for (; gzgets(f, line, sizeof line) != NULL; n++) {
        char *end;
        uint64_t v = strtoull(line, &end, 10);
        if (*end != '\n' || (n == 0 ? v != first : v <= before))
            ck_abort_msg("%s", line);
        before = v;
    }
    int error;
    gzerror(f, &error);
    ck_assert_int_eq(error, Z_OK);
    gzclose(f);
    if (last != NULL)
        *last = before;
    return n;
}

static const char *const suffixes[] = {".csv", ".csv.gz"};

START_TEST(appends_and_makes_anew)
{
    const char *path = path_of("append", suffixes[_i]);
    struct log_writer *w;
    for (uint64_t i = 0; i < 3; i++) {
        ck_assert_int_eq(log_writer_open(&w, path, LOG_APPEND | LOG_LINES, header()), 0);
        put(w, i * 10, i * 10 + 10);
        ck_assert_uint_eq(log_writer_records(w), i == 0 ? 11 : 10);
        ck_assert_int_eq(log_writer_finish(w), 0);
        log_writer_free(w);
    }
    ck_assert_uint_eq(count(path, 0, NULL), 30);
    ck_assert_int_eq(log_writer_open(&w, path, LOG_LINES, header()), 0);
    put(w, 7, 9);
    log_writer_free(w);
    ck_assert_uint_eq(count(path, 7, NULL), 2);
    unlink(path);
}
END_TEST

START_TEST(rotates)
{
    const char *path = path_of("log", suffixes[_i]), *old = path_of("log.1", suffixes[_i]);
    struct log_writer *w;
    ck_assert_int_eq(log_writer_open(&w, path, LOG_APPEND | LOG_LINES, header()), 0);
    put(w, 0, 200000); /* more than a page */
    ck_assert_int_eq(rename(path, old), 0);
    ck_assert_int_eq(log_writer_reopen(w), 0);
    put(w, 200000, 200005);
    ck_assert_int_eq(log_writer_sync(w, LONG_MS), 0);
    ck_assert_uint_eq(count(old, 0, NULL), 200000);
    ck_assert_uint_eq(count(path, 200000, NULL), 5); /* synced: it is all there */
    put(w, 200005, 200006);
    log_writer_free(w);
    ck_assert_uint_eq(count(path, 200000, NULL), 6);
    unlink(path);
    unlink(old);
}
END_TEST

/* Writes a file of this text, in one gzip member if its name ends in .gz. */
static void write_text(const char *path, const char *text)
{
    bool packed = strstr(path, ".gz") != NULL;
    gzFile f = gzopen(path, packed ? "wb" : "wbT");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_gt(gzputs(f, text), 0);
    ck_assert_int_eq(gzclose(f), Z_OK);
}

static void check_text(const char *path, const char *expected)
{
    char text[256] = "";
    gzFile f = gzopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(gzread(f, text, sizeof text - 1), 0);
    gzclose(f);
    ck_assert_str_eq(text, expected);
}

static void append_row(const char *path, struct slice columns)
{
    struct log_writer *w;
    ck_assert_int_eq(log_writer_open(&w, path, LOG_APPEND | LOG_LINES, columns), 0);
    put(w, 5, 6);
    ck_assert_int_eq(log_writer_finish(w), 0);
    log_writer_free(w);
}

/* Another version wrote the file: its rows keep their columns, and the new rows have theirs. */
START_TEST(names_columns_again_that_changed)
{
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"number\n1\n", "number\n1\n5\n"},
        {"number,more\n1,2\n", "number,more\n1,2\nnumber\n5\n"},
        {"numb\n1\n", "numb\n1\nnumber\n5\n"},
        {"1\n2\n", "1\n2\nnumber\n5\n"},
        /* versions that took turns: the last names count */
        {"number\n1\nnumber,more\n1,2\n", "number\n1\nnumber,more\n1,2\nnumber\n5\n"},
        {"number,more\n1,2\nnumber\n1\n", "number,more\n1,2\nnumber\n1\n5\n"},
        /* a row that was cut with the machine's power */
        {"number,more\n1,", "number,more\n1,\nnumber\n5\n"},
    };
    const char *path = path_of("columns", suffixes[_i]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(path, cases[i].before);
        append_row(path, header());
        check_text(path, cases[i].after);
    }
    unlink(path);
}
END_TEST

/* A moved log whose place another version's log has taken. */
START_TEST(names_columns_when_reopened)
{
    const char *path = path_of("moved", suffixes[_i]), *old = path_of("moved.1", suffixes[_i]);
    struct log_writer *w;
    ck_assert_int_eq(log_writer_open(&w, path, LOG_APPEND | LOG_LINES, header()), 0);
    ck_assert_int_eq(rename(path, old), 0);
    write_text(path, "number,more\n1,2\n");
    ck_assert_int_eq(log_writer_reopen(w), 0);
    put(w, 5, 6);
    ck_assert_int_eq(log_writer_reopen(w), 0); /* its own file: not again */
    put(w, 6, 7);
    log_writer_free(w);
    check_text(path, "number,more\n1,2\nnumber\n5\n6\n");
    check_text(old, "number\n");
    unlink(path);
    unlink(old);
}
END_TEST

/* A large file is not searched: the names stand before the new rows in any case. */
START_TEST(names_columns_in_a_large_file)
{
    const char *path = path_of("large", ".csv");
    struct log_writer *w;
    char text[16] = "";
    ck_assert_int_eq(log_writer_open(&w, path, LOG_APPEND | LOG_LINES | LOG_WAIT, header()), 0);
    put(w, 1000000, 3200000);
    log_writer_free(w);
    append_row(path, header());
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, -9, SEEK_END), 0);
    ck_assert_uint_eq(fread(text, 1, 9, f), 9);
    fclose(f);
    ck_assert_str_eq(text, "number\n5\n");
    unlink(path);
}
END_TEST

/* Two nodes with one path, by mistake: the second one is refused and spoils nothing. */
START_TEST(has_one_writer)
{
    const char *path = path_of("one", suffixes[_i]), *old = path_of("one.1", suffixes[_i]);
    struct log_writer *w, *other;
    const int busy = helio_from_errno(EBUSY);
    ck_assert_int_eq(log_writer_open(&w, path, LOG_APPEND | LOG_LINES, header()), 0);
    put(w, 0, 3);
    ck_assert_int_eq(log_writer_sync(w, LONG_MS), 0);
    ck_assert_int_eq(log_writer_open(&other, path, LOG_APPEND | LOG_LINES, header()), busy);
    ck_assert_int_eq(log_writer_open(&other, path, LOG_LINES, header()), busy);
    ck_assert_int_eq(log_writer_reopen(w), 0); /* not rotated: still its file */
    put(w, 3, 5);
    ck_assert_int_eq(log_writer_sync(w, LONG_MS), 0);
    ck_assert_int_eq(log_writer_open(&other, path, LOG_LINES, header()), busy);
    ck_assert_int_eq(rename(path, old), 0);
    ck_assert_int_eq(log_writer_reopen(w), 0);
    ck_assert_int_eq(log_writer_sync(w, LONG_MS), 0);
    ck_assert_int_eq(log_writer_open(&other, path, LOG_APPEND | LOG_LINES, header()), busy);
    ck_assert_int_eq(log_writer_open(&other, old, LOG_APPEND | LOG_LINES, header()), 0);
    log_writer_free(other);
    log_writer_free(w);
    ck_assert_uint_eq(count(old, 0, NULL), 5);
    ck_assert_int_eq(log_writer_open(&w, path, LOG_APPEND | LOG_LINES, header()), 0);
    log_writer_free(w);
    unlink(path);
    unlink(old);
}
END_TEST

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The disk fills and room is made again: whole lines before and after, all others counted. */
START_TEST(goes_on_when_there_is_room_again)
{
    const char *path = path_of("full", suffixes[_i]);
    const rlim_t limits[] = {100000, 60000};
    struct log_writer *w;
    ck_assert_int_eq(log_writer_open(&w, path, LOG_APPEND | LOG_LINES, header()), 0);
    put(w, 0, 5000);
    ck_assert_int_eq(log_writer_sync(w, LONG_MS), 0);
    limit_files(limits[_i]);
    put(w, 5000, 300000);
    int synced = log_writer_sync(w, LONG_MS), trouble = log_writer_trouble(w);
    uint64_t lost = log_writer_lost(w);
    limit_files(RLIM_INFINITY);
    ck_assert_int_eq(synced, 0);
    ck_assert_int_eq(trouble, helio_from_errno(EFBIG));
    ck_assert_uint_gt(lost, 1000);
    put(w, 300000, 300010);
    ck_assert_int_eq(log_writer_sync(w, LONG_MS), 0);
    ck_assert_int_eq(log_writer_trouble(w), 0);
    ck_assert_uint_eq(log_writer_lost(w), lost);
    ck_assert_int_eq(log_writer_finish(w), helio_from_errno(EFBIG)); /* of the first that failed */
    uint64_t last, lines = count(path, 0, &last);
    ck_assert_uint_eq(1 + lines, log_writer_records(w) - lost);
    ck_assert_uint_eq(last, 300009);
    log_writer_free(w);
    unlink(path);
}
END_TEST

/* Records that are no lines: of a page that does not fit whole, none stays. */
START_TEST(a_page_of_records_stays_whole_or_goes)
{
    const char *path = path_of("records", "");
    struct log_writer *w;
    struct stat s;
    ck_assert_int_eq(log_writer_open(&w, path, 0, slice_of(NULL, 0)), 0);
    put(w, 0, 10);
    ck_assert_int_eq(log_writer_sync(w, LONG_MS), 0);
    limit_files(100);
    put(w, 10, 1000);
    int finished = log_writer_finish(w);
    limit_files(RLIM_INFINITY);
    ck_assert_int_eq(finished, helio_from_errno(EFBIG));
    ck_assert_uint_eq(log_writer_lost(w), 990);
    ck_assert_int_eq(stat(path, &s), 0);
    ck_assert_int_eq(s.st_size, 20);
    log_writer_free(w);
    unlink(path);
}
END_TEST

/* What a pipe got cannot be cut: after an error it gets no more, so that no line is torn. */
START_TEST(a_pipe_that_failed_gets_no_more)
{
    struct log_writer *w;
    ck_assert_int_eq(log_writer_open(&w, "/dev/full", LOG_LINES, header()), 0);
    put(w, 0, 10);
    ck_assert_int_eq(log_writer_sync(w, LONG_MS), 0);
    ck_assert_int_eq(log_writer_trouble(w), helio_from_errno(ENOSPC));
    put(w, 10, 20);
    ck_assert_int_eq(log_writer_finish(w), helio_from_errno(ENOSPC));
    ck_assert_uint_eq(log_writer_lost(w), 21);
    ck_assert_uint_eq(log_writer_records(w), 21);
    log_writer_free(w);
}
END_TEST

static void ignore_signal(void)
{
    signal(SIGXFSZ, SIG_IGN);
}

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    rmdir(folder);
}

SUITE(os_log_writer, t)
{
    tcase_add_unchecked_fixture(t, make_folder, remove_folder);
    tcase_add_checked_fixture(t, ignore_signal, NULL);
    tcase_add_loop_test(t, appends_and_makes_anew, 0, 2);
    tcase_add_loop_test(t, rotates, 0, 2);
    tcase_add_loop_test(t, names_columns_again_that_changed, 0, 2);
    tcase_add_loop_test(t, names_columns_when_reopened, 0, 2);
    tcase_add_test(t, names_columns_in_a_large_file);
    tcase_add_loop_test(t, has_one_writer, 0, 2);
    tcase_add_loop_test(t, goes_on_when_there_is_room_again, 0, 2);
    tcase_add_test(t, a_page_of_records_stays_whole_or_goes);
    tcase_add_test(t, a_pipe_that_failed_gets_no_more);
}
