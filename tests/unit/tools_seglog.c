/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the segment log read back, bad rows, and several files as one stream. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "base/rng.h"
#include "cla/seglog.h"
#include "tests/unit/suite.h"
#include "tools/analyze/input/input.h"

static uint64_t some_number(struct rng *r)
{
    return rng_chance(r, 0.3) ? EVENT_NONE : rng_u64(r) >> rng_below(r, 64);
}

static struct event some_event(struct rng *r)
{
    struct event e = event_make((enum event_kind)rng_below(r, 7), rng_u64(r) >> 1);
    uint64_t *const numbers[] = {&e.peer,      &e.client_service, &e.offset,        &e.length,
                                 &e.cp_serial, &e.rpt_serial,     &e.rs_lower,      &e.rs_upper,
                                 &e.claims,    &e.claimed_bytes,  &e.cancel_reason, &e.attempt,
                                 &e.udp_len,   &e.matrix,         &e.segments,      &e.repairs,
                                 &e.repaired,  &e.missing,        &e.delay};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        *numbers[i] = some_number(r);
        if (*numbers[i] == UINT64_MAX - 1)
            *numbers[i] = 0;
    }
    static const int causes[] = {VERDICT_COUNT, 5, 1, 3, 4, 2, 6};
    e.cause = (int)rng_below(r, (uint64_t)causes[e.kind]);
    e.verdict = e.kind == EVENT_RX ? e.cause : 0;
    e.originator = rng_u64(r) >> 1;
    e.session = rng_u64(r) >> 1;
    e.matrix = e.kind == EVENT_MATRIX ? rng_below(r, 1 << 24) : e.matrix;
    if (e.kind == EVENT_RX || e.kind == EVENT_TX)
        e.type = (int)rng_below(r, 16);
    e.red = e.type >= 0 && e.type < 4;
    return e;
}

/* What event_csv writes comes back, whatever the event; _i is the seed. */
START_TEST(every_row_comes_back)
{
    const struct csv_columns all = seglog_columns_all();
    struct rng r;
    rng_init(&r, (uint64_t)_i);
    for (int i = 0; i < 1000; i++) {
        char line[EVENT_CSV_MAX];
        struct seglog_row row;
        struct event e = some_event(&r);
        uint64_t node = rng_u64(&r) >> 1;
        uint32_t n = event_csv(&e, node, 0, line);
        const char *why = seglog_row_parse(&all, line, n - 1, &row);
        ck_assert_msg(why == NULL, "%.*s: %s", (int)n, line, why);
        char again[EVENT_CSV_MAX];
        ck_assert_uint_eq(event_csv(&row.event, row.node, 0, again), n);
        ck_assert_int_eq(memcmp(line, again, n), 0);
        ck_assert_int_eq(row.event.verdict, e.verdict);
        for (uint32_t cut = 0; cut + 1 < n; cut++) /* a cut row must not read as a whole one */
            if (line[cut] == ',')
                ck_assert_ptr_nonnull(seglog_row_parse(&all, line, cut, &row));
    }
}
END_TEST

#define GOOD "5,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020,,,,,,"

START_TEST(bad_rows_are_told_apart)
{
    const struct csv_columns all = seglog_columns_all();
    static const char *const cases[][2] = {
        {"", "too few columns"},
        {"5,tx", "too few columns"},
        {GOOD ",", "too many columns"},
        {"x,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020,,,,,,", "not a number"},
        {"5,tx,1,2,1,7,0,red_data,red,1,0,10-0,,,,,,,,1,first,1020,,,,,,", "not a number"},
        {"5,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020x,,,,,,", "not a number"},
        {"18446744073709551615,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020,,,,,,",
         "a number above 2^64 - 2"},
        {"99999999999999999999,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020,,,,,,",
         "a number above 2^64 - 2"},
        {"5,sent,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020,,,,,,",
         "an unknown word in `dir`"},
        {"5,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,second,1020,,,,,,",
         "an unknown word in `cause`"},
        {"5,tx,1,2,1,7,16,red_data,red,1,0,1000,,,,,,,,1,first,1020,,,,,,",
         "a segment type above 15"},
        {"5,tx,1,2,1,7,0,red_data,blue,1,0,1000,,,,,,,,1,first,1020,,,,,,",
         "a colour that is neither red, green nor orange"},
        {",tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020,,,,,,", "no time or no node"},
        {"5,tx,1,2,,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020,,,,,,", "no session"},
        {"5,tx,1,2,1,7,,,,1,0,1000,,,,,,,,1,first,1020,,,,,,", "a segment without a type"},
    };
    struct seglog_row row;
    ck_assert_ptr_null(seglog_row_parse(&all, GOOD, strlen(GOOD), &row));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *why = seglog_row_parse(&all, cases[i][0], strlen(cases[i][0]), &row);
        ck_assert_ptr_nonnull(why);
        ck_assert_str_eq(why, cases[i][1]);
    }
}
END_TEST

START_TEST(damaged_datagrams_have_neither_type_nor_session)
{
    const struct csv_columns all = seglog_columns_all();
    static const char line[] = "5,rx,1,,,,,,,,,,,,,,,,,,truncated,3,,,,,,";
    struct seglog_row row;
    ck_assert_ptr_null(seglog_row_parse(&all, line, strlen(line), &row));
    ck_assert_int_eq(row.event.verdict, VERDICT_TRUNCATED);
    ck_assert_int_eq(row.event.type, -1);
}
END_TEST

struct complaints {
    uint64_t count, line;
    char why[64];
    bool stop;
};

static bool complain(void *context, const char *file, uint64_t line, const char *why)
{
    struct complaints *c = context;
    (void)file;
    c->count++;
    c->line = line;
    snprintf(c->why, sizeof c->why, "%s", why);
    return !c->stop;
}

static const struct watch_options options = {.rto = TICK_NEVER};

static void write_text(char *path, const char *text, size_t len, bool gz)
{
    strcpy(path, "/tmp/seglog-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    if (gz) {
        gzFile f = gzdopen(fd, "wb");
        ck_assert_int_eq(gzwrite(f, text, (unsigned)len), (int)len);
        gzclose(f);
        return;
    }
    ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
    close(fd);
}

/* The times and nodes of all rows, as text. */
static int read_all(char *const *paths, size_t count, struct complaints *c, char *out, size_t cap)
{
    struct input *in;
    struct input_row row;
    struct input_file files[4] = {0};
    size_t failed, n = 0;
    char error[256];
    for (size_t i = 0; i < count; i++)
        files[i].path = paths[i];
    int rc = input_open(&in, files, count, &options, complain, c, &failed, error);
    out[0] = '\0';
    if (rc != 0)
        return rc;
    while ((rc = input_next(in, &row, &failed)) == 1)
        n +=
            (size_t)snprintf(out + n, cap - n, "%llu@%llu ", (unsigned long long)row.log->event.now,
                             (unsigned long long)row.log->node);
    input_close(in);
    return rc;
}

#define LINK(t, node) #t ",link," #node ",2,,,,,,,,,,,,,,,,,up,,,,,,,\n"

START_TEST(files_are_merged_in_order_of_time)
{
    static const char one[] = LINK(10, 1) LINK(20, 1) LINK(20, 1) LINK(50, 1);
    static const char two[] = LINK(5, 2) LINK(20, 2) LINK(60, 2);
    char paths[3][32], out[256], header[600];
    struct complaints c = {0};
    snprintf(header, sizeof header, "%s" LINK(7, 3), event_csv_header);
    write_text(paths[0], one, strlen(one), false);
    write_text(paths[1], two, strlen(two), true);
    write_text(paths[2], header, strlen(header), false);
    char *const list[] = {paths[0], paths[1], paths[2]};
    ck_assert_int_eq(read_all(list, 3, &c, out, sizeof out), 0);
    ck_assert_str_eq(out, "5@2 7@3 10@1 20@1 20@1 20@2 50@1 60@2 ");
    ck_assert_uint_eq(c.count, 0);
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
}
END_TEST

START_TEST(malformed_rows_are_skipped_or_stop)
{
    static const char text[] = LINK(10, 1) "rubbish\n" LINK(20, 1) "30,link,1,2";
    char path[32], out[256];
    struct complaints c = {0};
    write_text(path, text, strlen(text), false);
    char *const list[] = {path};
    ck_assert_int_eq(read_all(list, 1, &c, out, sizeof out), 0);
    ck_assert_str_eq(out, "10@1 20@1 ");
    ck_assert_uint_eq(c.count, 2);
    ck_assert_uint_eq(c.line, 4);
    ck_assert_str_eq(c.why, "the file ends within this line");
    c = (struct complaints){.stop = true};
    ck_assert_int_eq(read_all(list, 1, &c, out, sizeof out), HELIO_ESTOPPED);
    ck_assert_uint_eq(c.line, 2);
    unlink(path);
}
END_TEST

/* A line longer than any buffer is one malformed row, and the next one is read. */
START_TEST(endless_lines)
{
    size_t len = 700000;
    char *text = malloc(len + 200), path[32], out[64];
    struct complaints c = {0};
    size_t first = (size_t)sprintf(text, "%s", LINK(8, 1));
    memset(text + first, '7', len);
    text[first + len] = '\n';
    strcpy(text + first + len + 1, LINK(9, 1));
    write_text(path, text, strlen(text), false);
    char *const list[] = {path};
    ck_assert_int_eq(read_all(list, 1, &c, out, sizeof out), 0);
    ck_assert_str_eq(out, "8@1 9@1 ");
    ck_assert_uint_eq(c.count, 1);
    ck_assert_uint_eq(c.line, 2);
    unlink(path);
    write_text(path, text + first, len, false); /* and the first one makes the file no log */
    ck_assert_int_eq(read_all(list, 1, &c, out, sizeof out), HELIO_EFORMAT);
    unlink(path);
    write_text(path, text, 0, false);
    ck_assert_int_eq(read_all(list, 1, &c, out, sizeof out), HELIO_EFORMAT);
    unlink(path);
    free(text);
}
END_TEST

static int read_to_end(const char *path, struct complaints *c, uint64_t *rows)
{
    struct input *in;
    struct input_row row;
    size_t failed;
    char error[256];
    int rc = input_open(&in, &(struct input_file){.path = path}, 1, &options, complain, c, &failed,
                        error);
    *rows = 0;
    if (rc != 0)
        return rc;
    for (; (rc = input_next(in, &row, &failed)) == 1; ++*rows)
        ;
    input_close(in);
    return rc;
}

/* Cut off: what came before is used, and the place is told. Damaged: an error. */
START_TEST(cut_and_damaged_gzip)
{
    char path[32], out[64];
    char *text = malloc(1 << 20);
    struct complaints c = {0};
    size_t n = 0;
    uint64_t rows;
    for (unsigned i = 0; n < 500000; i++)
        n += (size_t)sprintf(text + n, "%u,link,1,2,,,,,,,,,,,,,,,,,up,,,,,,,\n", i * 2654435761u);
    write_text(path, text, n, true);
    ck_assert_int_eq(truncate(path, 20000), 0);
    ck_assert_int_eq(read_to_end(path, &c, &rows), 0);
    ck_assert_uint_gt(rows, 100);
    ck_assert_uint_eq(c.count, 1);
    ck_assert_uint_ge(c.line, rows);
    ck_assert_uint_le(c.line, rows + 1);
    unlink(path);
    write_text(path, text, n, true);
    FILE *f = fopen(path, "r+b");
    ck_assert_int_eq(fseek(f, 20000, SEEK_SET), 0);
    for (int i = 0; i < 1000; i++)
        fputc(0xff, f);
    fclose(f);
    ck_assert_int_eq(read_to_end(path, &c, &rows), HELIO_EIO);
    ck_assert_int_ne(read_all((char *const[]){(char[]){"/nonexistent"}}, 1, &c, out, 64), 0);
    unlink(path);
    free(text);
}
END_TEST

/* The first row of a file whose line of column names is `names`; its error, or NULL. */
static const char *parse_by(const char *names, const char *line, struct seglog_row *row)
{
    struct csv_columns columns;
    ck_assert(seglog_row_is_header(names, strlen(names)));
    const char *why = seglog_columns_parse(names, strlen(names), &columns);
    return why != NULL ? why : seglog_row_parse(&columns, line, strlen(line), row);
}

START_TEST(columns_are_found_by_name)
{
    struct seglog_row row;
    char names[1024];
    snprintf(names, sizeof names, "%.*s,colour_of_later", (int)strlen(event_csv_header) - 1,
             event_csv_header);
    ck_assert_ptr_null(parse_by(names, GOOD ",any word", &row)); /* of a newer version */
    ck_assert_uint_eq(row.event.udp_len, 1020);
    ck_assert_str_eq(parse_by(names, GOOD, &row), "too few columns");
    /* of an older version, in another order */
    ck_assert_ptr_null(
        parse_by("dir,cause,new,t_ns,node,peer,originator,session,type,colour,length",
                 "tx,report,,5,1,2,1,7,3,red,1000", &row));
    ck_assert_uint_eq(row.event.now, 5);
    ck_assert_int_eq(row.event.kind, EVENT_TX);
    ck_assert_int_eq(row.event.cause, CAUSE_REPORT);
    ck_assert(row.event.red && row.event.type == 3 && row.event.has_peer && row.event.has_id);
    ck_assert_uint_eq(row.event.length, 1000);
    ck_assert_uint_eq(row.event.udp_len, EVENT_NONE);
    ck_assert_str_eq(parse_by("t_ns,dir,node,peer,originator,session,type,colour", "", &row),
                     "no column `cause`");
    ck_assert_str_eq(parse_by("t_ns,dir,dir", "", &row), "a column name that is there twice");
    ck_assert(!seglog_row_is_header(GOOD, strlen(GOOD)));
    ck_assert(!seglog_row_is_header("", 0));
}
END_TEST

/* A node of a newer version appends to the file of an older one. */
/* An older version wrote the file, and this version appends to it. */
START_TEST(a_log_of_two_versions)
{
    static const char text[] = "t_ns,dir,node,peer,originator,session,type,colour,cause\n"
                               "10,link,1,2,,,,,up\n";
    char path[32], out[256];
    struct complaints c = {0};
    struct seglog *log;
    struct event e = event_make(EVENT_LINK, 20);
    write_text(path, text, strlen(text), false);
    ck_assert_int_eq(seglog_open(&log, path, 3, 0), 0);
    seglog_sink(log, &e);
    seglog_close(log);
    char *const list[] = {path};
    ck_assert_int_eq(read_all(list, 1, &c, out, sizeof out), 0);
    ck_assert_str_eq(out, "10@1 20@3 ");
    ck_assert_uint_eq(c.count, 0);
    unlink(path);
}
END_TEST

START_TEST(columns_may_change_within_a_file)
{
    static const char text[] = "t_ns,dir,node,peer,originator,session,type,colour,cause\n"
                               "10,link,1,2,,,,,up\n"
                               "node,peer,originator,session,type,colour,cause,t_ns,dir,more\n"
                               "1,2,,,,,up,20,link,x\n"
                               "t_ns,dir\n"
                               "1,2,,,,,down,30,link,x\n";
    char path[32], out[256];
    struct complaints c = {0};
    write_text(path, text, strlen(text), false);
    char *const list[] = {path};
    ck_assert_int_eq(read_all(list, 1, &c, out, sizeof out), 0);
    ck_assert_str_eq(out, "10@1 20@1 30@1 ");
    ck_assert_uint_eq(c.count, 1); /* the last line of names lacks columns */
    ck_assert_uint_eq(c.line, 5);
    ck_assert_str_eq(c.why, "no column `node`");
    unlink(path);
}
END_TEST

SUITE(tools_seglog, t)
{
    tcase_add_test(t, columns_are_found_by_name);
    tcase_add_test(t, columns_may_change_within_a_file);
    tcase_add_test(t, a_log_of_two_versions);
    tcase_add_loop_test(t, every_row_comes_back, 0, 4);
    tcase_add_test(t, bad_rows_are_told_apart);
    tcase_add_test(t, damaged_datagrams_have_neither_type_nor_session);
    tcase_add_test(t, files_are_merged_in_order_of_time);
    tcase_add_test(t, malformed_rows_are_skipped_or_stop);
    tcase_add_test(t, endless_lines);
    tcase_add_test(t, cut_and_damaged_gzip);
}
