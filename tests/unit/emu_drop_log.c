/* SPDX-License-Identifier: Apache-2.0 */
/* The drop log's lines, character by character, and the writer that loses whole records or none. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "channel-emu/scenario/drop_log.h"
#include "tests/unit/suite.h"

static const struct slice none;

static const char *line(const struct drop_row *row)
{
    static char text[DROP_LOG_LINE_MAX + 1];
    text[drop_log_line(row, text)] = '\0';
    return text;
}

START_TEST(lines)
{
    struct ltp_fields data = {.type = 3,
                              .originator = 1,
                              .session = 77,
                              .offset = 4096,
                              .data_length = 1000,
                              .cp_serial = 5,
                              .rpt_serial = 0};
    struct ltp_fields report = {.type = 8,
                                .originator = 1,
                                .session = 77,
                                .offset = EVENT_NONE,
                                .data_length = EVENT_NONE,
                                .cp_serial = 5,
                                .rpt_serial = 9};
    struct drop_row row = {.time = 1795244400123456789,
                           .frame = 12,
                           .reason = "trace",
                           .length = 1070,
                           .late_ns = EVENT_NONE};
    ck_assert_str_eq(line(&row), "1795244400123456789,forward,12,trace,1070,,,,,,,,,\n");
    row.ltp = &data;
    row.direction = 1;
    ck_assert_str_eq(line(&row),
                     "1795244400123456789,return,12,trace,1070,,1,77,3,red_cp_eob,4096,1000,5,0\n");
    row.ltp = &report;
    row.reason = "late";
    row.late_ns = 250000;
    ck_assert_str_eq(line(&row),
                     "1795244400123456789,return,12,late,1070,250000,1,77,8,report,,,5,9\n");
}
END_TEST

START_TEST(as_many_columns_as_the_header)
{
    struct ltp_fields f = {.type = 15,
                           .originator = UINT64_MAX - 1,
                           .session = UINT64_MAX - 1,
                           .offset = UINT64_MAX - 1,
                           .data_length = UINT64_MAX - 1,
                           .cp_serial = UINT64_MAX - 1,
                           .rpt_serial = UINT64_MAX - 1};
    struct drop_row row = {.time = UINT64_MAX,
                           .direction = 1,
                           .frame = UINT64_MAX - 1,
                           .reason = "duplicate",
                           .length = UINT64_MAX - 1,
                           .late_ns = UINT64_MAX - 1,
                           .ltp = &f}; /* the longest line there is */
    size_t commas = 0, expected = 0;
    for (const char *p = drop_log_header; *p != '\0'; p++)
        expected += *p == ',';
    for (const char *p = line(&row); *p != '\0'; p++)
        commas += *p == ',';
    ck_assert_uint_eq(commas, expected);
    ck_assert_uint_eq(commas, 13);
}
END_TEST

/* Reads a file, compressed or not, into text[cap]. */
static void read_all(const char *path, char *text, size_t cap)
{
    gzFile f = gzopen(path, "rb");
    int n = gzread(f, text, (unsigned)cap - 1);
    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    gzclose(f);
}

static void written(const char *suffix, bool compressed)
{
    char path[] = "/tmp/helio-drop-XXXXXX", name[64];
    close(mkstemp(path));
    snprintf(name, sizeof name, "%s%s", path, suffix);
    struct log_writer *w;
    ck_assert_int_eq(drop_log_open(&w, name, false), 0);
    struct drop_row row = {.reason = "rule", .late_ns = EVENT_NONE};
    for (row.frame = 1; row.frame <= 20000; row.frame++) {
        drop_log_put(w, &row);
        if (row.frame % 3000 == 0)
            log_writer_flush(w);
    }
    ck_assert_int_eq(log_writer_finish(w), 0);
    ck_assert_uint_eq(log_writer_records(w), 20001);
    ck_assert_uint_eq(log_writer_lost(w), 0);
    log_writer_free(w);
    FILE *f = fopen(name, "rb");
    ck_assert_int_eq(fgetc(f) == 0x1f, compressed);
    fclose(f);
    size_t cap = 2000000;
    char *text = malloc(cap), expected[64], *p = text;
    read_all(name, text, cap);
    ck_assert_int_eq(strncmp(text, drop_log_header, strlen(drop_log_header)), 0);
    p += strlen(drop_log_header);
    for (int i = 1; i <= 20000; i++) {
        int n = snprintf(expected, sizeof expected, "0,forward,%d,rule,0,,,,,,,,,\n", i);
        ck_assert_int_eq(strncmp(p, expected, (size_t)n), 0);
        p += n;
    }
    ck_assert_int_eq(*p, '\0');
    free(text);
    unlink(name);
    unlink(path);
}

START_TEST(a_file)
{
    written(".csv", false);
}
END_TEST

START_TEST(a_compressed_file)
{
    written(".csv.gz", true);
}
END_TEST

START_TEST(a_full_disk_is_counted)
{
    struct log_writer *w;
    ck_assert_int_eq(drop_log_open(&w, "/dev/full", false), 0);
    struct drop_row row = {.reason = "rule", .late_ns = EVENT_NONE};
    for (row.frame = 1; row.frame <= 100000; row.frame++)
        drop_log_put(w, &row);
    ck_assert_int_eq(log_writer_finish(w), helio_from_errno(ENOSPC));
    ck_assert_uint_gt(log_writer_lost(w), 0);
    ck_assert_uint_le(log_writer_lost(w), log_writer_records(w));
    log_writer_free(w);
}
END_TEST

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The disk takes a part of the second megabyte: the file ends with a whole line, and the lines in
 * it are those that were not counted as lost. */
static void filled(const char *suffix, rlim_t limit)
{
    char path[] = "/tmp/helio-drop-XXXXXX", name[64];
    close(mkstemp(path));
    snprintf(name, sizeof name, "%s%s", path, suffix);
    limit_files(limit);
    struct log_writer *w;
    ck_assert_int_eq(drop_log_open(&w, name, true), 0);
    struct drop_row row = {.reason = "rule", .late_ns = EVENT_NONE};
    for (row.frame = 1; row.frame <= 100000; row.frame++)
        drop_log_put(w, &row);
    ck_assert_int_eq(log_writer_error(w), 0);
    ck_assert_int_eq(log_writer_finish(w), helio_from_errno(EFBIG));
    ck_assert_int_eq(log_writer_error(w), helio_from_errno(EFBIG));
    limit_files(RLIM_INFINITY);
    size_t cap = 4000000, whole = 0;
    char *text = malloc(cap);
    read_all(name, text, cap);
    for (const char *p = text; *p != '\0'; p++)
        whole += *p == '\n';
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
    ck_assert_uint_gt(whole, 20000);
    ck_assert_uint_eq(whole, log_writer_records(w) - log_writer_lost(w));
    log_writer_free(w);
    free(text);
    unlink(name);
    unlink(path);
}

START_TEST(a_disk_that_fills_keeps_whole_lines)
{
    filled(".csv", 1500000);
    filled(".csv.gz", 150000);
}
END_TEST

/* What was flushed is in the file before it is closed. */
static void read_on_the_way(const char *suffix)
{
    char path[] = "/tmp/helio-drop-XXXXXX", name[64], text[1000] = "";
    const struct timespec pause = {.tv_nsec = 1000000};
    close(mkstemp(path));
    snprintf(name, sizeof name, "%s%s", path, suffix);
    struct log_writer *w;
    ck_assert_int_eq(drop_log_open(&w, name, false), 0);
    struct drop_row row = {.frame = 1, .reason = "rule", .late_ns = EVENT_NONE};
    drop_log_put(w, &row);
    ck_assert(log_writer_pending(w));
    log_writer_flush(w);
    ck_assert(!log_writer_pending(w));
    for (int i = 0; i < 10000 && strstr(text, "rule") == NULL; i++) {
        nanosleep(&pause, NULL); /* another thread writes */
        read_all(name, text, sizeof text);
    }
    ck_assert_ptr_ne(strstr(text, ",1,rule,"), NULL);
    ck_assert_int_eq(log_writer_finish(w), 0);
    log_writer_free(w);
    unlink(name);
    unlink(path);
}

START_TEST(what_is_flushed_can_be_read)
{
    read_on_the_way(".csv");
    read_on_the_way(".csv.gz");
}
END_TEST

/* Nobody reads the pipe: the queue fills, and nothing waits for it. */
START_TEST(a_slow_disk_loses_records_and_not_time)
{
    char path[] = "/tmp/helio-drop-XXXXXX", name[64];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    close(mkstemp(path));
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
    struct log_writer *w;
    ck_assert_int_eq(log_writer_open(&w, name, 0, none), 0);
    const uint64_t records = 1500;
    uint64_t refused = 0;
    for (uint64_t i = 0; i < records; i++) { /* 1500 x 64 KiB: more than the queue holds */
        char *p = log_writer_room(w, 65536);
        refused += p == NULL;
        if (p == NULL)
            continue;
        memset(p, 'x', 65536);
        log_writer_put(w, 65536);
    }
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_eq(log_writer_lost(w), refused);
    ck_assert_uint_eq(log_writer_records(w), records);
    close(ends[0]); /* the writer gets an error instead of waiting */
    ck_assert_int_lt(log_writer_finish(w), 0);
    ck_assert_uint_gt(log_writer_lost(w), refused);
    log_writer_free(w);
    close(ends[1]);
    unlink(path);
}
END_TEST

static void *read_slowly(void *context)
{
    static char bytes[65536];
    uint64_t total = 0;
    ssize_t n;
    while ((n = read(*(int *)context, bytes, sizeof bytes)) > 0)
        total += (uint64_t)n;
    return (void *)(uintptr_t)total;
}

/* In virtual time the disk is waited for: more than the queue holds goes through a pipe. */
START_TEST(a_slow_disk_is_waited_for)
{
    char name[64];
    int ends[2];
    void *total;
    pthread_t reader;
    struct log_writer *w;
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
    ck_assert_int_eq(log_writer_open(&w, name, LOG_WAIT, none), 0);
    close(ends[1]); /* the writer has its own */
    ck_assert_int_eq(pthread_create(&reader, NULL, read_slowly, &ends[0]), 0);
    for (int i = 0; i < 1500; i++) {
        char *p = log_writer_room(w, 65536);
        ck_assert_ptr_ne(p, NULL);
        memset(p, 'x', 65536);
        log_writer_put(w, 65536);
    }
    ck_assert_int_eq(log_writer_finish(w), 0);
    ck_assert_uint_eq(log_writer_lost(w), 0);
    log_writer_free(w);
    pthread_join(reader, &total);
    ck_assert_uint_eq((uintptr_t)total, UINT64_C(1500) * 65536);
    close(ends[0]);
}
END_TEST

START_TEST(no_such_directory_or_reader)
{
    struct log_writer *w;
    ck_assert_int_eq(log_writer_open(&w, "/nonexistent/x.csv", 0, none), helio_from_errno(ENOENT));
    char path[] = "/tmp/helio-drop-XXXXXX";
    close(mkstemp(path));
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(log_writer_open(&w, path, 0, none), helio_from_errno(ENXIO));
    unlink(path);
}
END_TEST

static void ignore_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

SUITE(emu_drop_log, t)
{
    tcase_add_checked_fixture(t, ignore_signals, NULL);
    tcase_add_test(t, lines);
    tcase_add_test(t, as_many_columns_as_the_header);
    tcase_add_test(t, a_file);
    tcase_add_test(t, a_compressed_file);
    tcase_add_test(t, a_full_disk_is_counted);
    tcase_add_test(t, a_disk_that_fills_keeps_whole_lines);
    tcase_add_test(t, what_is_flushed_can_be_read);
    tcase_add_test(t, a_slow_disk_loses_records_and_not_time);
    tcase_add_test(t, a_slow_disk_is_waited_for);
    tcase_add_test(t, no_such_directory_or_reader);
}
