/* SPDX-License-Identifier: Apache-2.0 */
/* The segment log: whole lines, one header, nothing lost in silence. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cla/seglog.h"
#include "ltp/event_columns.h"
#include "tests/unit/suite.h"

static char folder[] = "/tmp/seglogXXXXXX";

static void path_of(char out[128], const char *name)
{
    snprintf(out, 128, "%s/%s", folder, name);
}

static void put(struct seglog *s, uint64_t number)
{
    struct event e = event_make(EVENT_TX, 1000 + number);
    e.session = number;
    e.type = 0;
    seglog_sink(s, &e);
}

static uint64_t lines_in(const char *path)
{
    FILE *f = fopen(path, "r");
    uint64_t n = 0;
    for (int c; f != NULL && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f != NULL)
        fclose(f);
    return n;
}

/* Lines after the header, which must be there once; each must have the session number that follows
 * the one before. Removes the file. */
static uint64_t check_file(const char *path, uint64_t first)
{
    char line[1024];
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    ck_assert_str_eq(line, event_csv_header);
    uint64_t lines = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        char expected[64];
        ck_assert(line[strlen(line) - 1] == '\n');
        snprintf(expected, sizeof expected, "%llu,tx,7,,,%llu,0,red_data,",
                 (unsigned long long)(5000 + 1000 + first + lines),
                 (unsigned long long)(first + lines));
        ck_assert_msg(strncmp(line, expected, strlen(expected)) == 0, "%s", line);
        lines++;
    }
    fclose(f);
    unlink(path);
    return lines;
}

START_TEST(lines_come_in_order)
{
    char path[128];
    struct seglog *s;
    path_of(path, "order");
    ck_assert_int_eq(seglog_open(&s, path, 7, 5000), 0);
    for (uint64_t i = 0; i < 100000; i++)
        put(s, i);
    ck_assert_uint_eq(log_writer_lost(s->file), 0);
    seglog_close(s);
    ck_assert_uint_eq(check_file(path, 0), 100000);
}
END_TEST

START_TEST(appends_without_a_second_header)
{
    char path[128];
    path_of(path, "append");
    for (uint64_t i = 0; i < 3; i++) {
        struct seglog *s;
        ck_assert_int_eq(seglog_open(&s, path, 7, 5000), 0);
        put(s, i);
        seglog_close(s);
    }
    ck_assert_uint_eq(check_file(path, 0), 3);
}
END_TEST

START_TEST(reopens_after_a_move)
{
    char path[128], old[128];
    struct seglog *s;
    path_of(path, "log");
    path_of(old, "log.1");
    ck_assert_int_eq(seglog_open(&s, path, 7, 5000), 0);
    for (uint64_t i = 0; i < 10; i++)
        put(s, i);
    ck_assert_int_eq(rename(path, old), 0);
    ck_assert_int_eq(log_writer_reopen(s->file), 0);
    for (uint64_t i = 10; i < 15; i++)
        put(s, i);
    log_writer_flush(s->file);
    put(s, 15);
    seglog_close(s);
    ck_assert_uint_eq(check_file(old, 0), 10);
    ck_assert_uint_eq(check_file(path, 10), 6);
}
END_TEST

START_TEST(sync_waits_until_all_is_written)
{
    char path[128];
    struct seglog *s;
    path_of(path, "sync");
    ck_assert_int_eq(seglog_open(&s, path, 7, 5000), 0);
    for (uint64_t i = 0; i < 30000; i++) {
        put(s, i);
        if (i % 10000 != 9999)
            continue;
        ck_assert_int_eq(log_writer_sync(s->file, 20000), 0);
        ck_assert_uint_eq(lines_in(path), 1 + i + 1);
    }
    seglog_close(s);
    ck_assert_uint_eq(check_file(path, 0), 30000);
}
END_TEST

START_TEST(failed_reopen_keeps_the_old_file)
{
    char path[128], moved[128], inner[160];
    struct seglog *s;
    path_of(moved, "gone");
    ck_assert_int_eq(mkdir(moved, 0700), 0);
    snprintf(inner, sizeof inner, "%s/log", moved);
    ck_assert_int_eq(seglog_open(&s, inner, 7, 5000), 0);
    put(s, 0);
    path_of(path, "kept");
    log_writer_flush(s->file);
    ck_assert_int_eq(rename(inner, path), 0);
    ck_assert_int_eq(rmdir(moved), 0);
    ck_assert_int_lt(log_writer_reopen(s->file), 0);
    put(s, 1);
    seglog_close(s);
    ck_assert_uint_eq(check_file(path, 0), 2);
}
END_TEST

START_TEST(open_tells_why_not)
{
    struct seglog *s;
    ck_assert_int_lt(seglog_open(&s, "/nonexistent/folder/log", 7, 0), 0);
    ck_assert_int_lt(seglog_open(&s, folder, 7, 0), 0);
    seglog_close(NULL);
}
END_TEST

/* A file-size limit stands for a full disk: it allows a part of a line. */
START_TEST(full_disk_loses_whole_lines)
{
    char path[128];
    struct seglog *s;
    path_of(path, "full");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit l, small;
    ck_assert_int_eq(seglog_open(&s, path, 7, 5000), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &l), 0);
    small = l;
    small.rlim_cur = 100000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0); /* no ck_assert until it is back */
    for (uint64_t i = 0; i < 50000; i++)
        put(s, i);
    log_writer_flush(s->file);
    while (log_writer_lost(s->file) + lines_in(path) !=
           50000 + 1) /* the header; the writer is a thread */
        sched_yield();
    seglog_close(s);
    setrlimit(RLIMIT_FSIZE, &l);
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_gt(st.st_size, 90000);
    uint64_t kept = check_file(path, 0);
    ck_assert_uint_gt(kept, 1000);
    ck_assert_uint_lt(kept, 50000);
}
END_TEST

/* One row of the page's table: the column and its meaning, as the table of the log has them. */
static void expect_column(const char *page, const char *name, const char *meaning)
{
    char row[512];
    snprintf(row, sizeof row, "| `%s` | %s |\n", name, meaning);
    ck_assert_msg(strstr(page, row) != NULL, "%s has no row %s", SEGMENT_LOG_PAGE, row);
}

static void expect_word(const char *page, const char *word)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "`%s`", word);
    ck_assert_msg(strstr(page, quoted) != NULL, "%s has no %s", SEGMENT_LOG_PAGE, quoted);
}

START_TEST(page_has_every_word)
{
    static char page[1 << 16];
    FILE *f = fopen(SEGMENT_LOG_PAGE, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_gt(fread(page, 1, sizeof page - 1, f), 0);
    fclose(f);
#define EXPECT(name, kind, field, meaning) expect_column(page, #name, meaning);
    EVENT_COLUMNS(EXPECT)
#undef EXPECT
    for (int kind = EVENT_RX; kind <= EVENT_MATRIX; kind++) {
        const struct event_words causes = event_cause_words((enum event_kind)kind);
        expect_word(page, event_direction_words().words[kind]);
        for (int i = 0; i < causes.count && kind != EVENT_OPEN; i++)
            expect_word(page, causes.words[i]);
    }
    for (int v = 0; v < VERDICT_COUNT; v++)
        expect_word(page, verdict_name((enum verdict)v));
    for (int type = 0; type < 16; type++)
        expect_word(page, event_type_name(type));
}
END_TEST

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    rmdir(folder);
}

SUITE(cla_seglog, t)
{
    tcase_add_unchecked_fixture(t, make_folder, remove_folder);
    tcase_add_test(t, lines_come_in_order);
    tcase_add_test(t, appends_without_a_second_header);
    tcase_add_test(t, reopens_after_a_move);
    tcase_add_test(t, sync_waits_until_all_is_written);
    tcase_add_test(t, failed_reopen_keeps_the_old_file);
    tcase_add_test(t, open_tells_why_not);
    tcase_add_test(t, full_disk_loses_whole_lines);
    tcase_add_test(t, page_has_every_word);
}
