/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of drop logs, and what they tell of sessions beside their segment logs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "channel-emu/scenario/drop_columns.h"
#include "tests/unit/suite.h"
#include "tools/analyze/analyze_table.h"

#define HEADER                                                                                     \
    "t_ns,direction,frame,reason,length,late_ns,originator,session,type,name,offset,data_length,"  \
    "cp_serial,rpt_serial"
#define GOOD "5,forward,1,trace,1024,,1,7,3,red_cp_eob,2000,1000,50,0"

START_TEST(a_row_has_its_fields)
{
    const struct csv_columns all = drop_columns_all();
    struct drop_event d;
    ck_assert(drop_row_is_header(HEADER, strlen(HEADER)));
    ck_assert(!drop_row_is_header(GOOD, strlen(GOOD)));
    ck_assert_ptr_null(drop_row_parse(&all, GOOD, strlen(GOOD), &d));
    ck_assert_uint_eq(d.now, 5);
    ck_assert(d.forward);
    ck_assert_uint_eq(d.frame, 1);
    ck_assert_int_eq(d.reason, DROP_TRACE);
    ck_assert_uint_eq(d.length, 1024);
    ck_assert_uint_eq(d.late_ns, EVENT_NONE);
    ck_assert_uint_eq(d.originator, 1);
    ck_assert_uint_eq(d.session, 7);
    ck_assert_int_eq(d.type, 3);
    ck_assert_uint_eq(d.offset, 2000);
    ck_assert_uint_eq(d.data_length, 1000);
    ck_assert_uint_eq(d.cp_serial, 50);
    ck_assert_uint_eq(d.rpt_serial, 0);
    static const char other[] = "6,return,2,late,60,5000,,,,,,,,";
    ck_assert_ptr_null(drop_row_parse(&all, other, strlen(other), &d));
    ck_assert(!d.forward && !drop_is_loss(&d) && d.type == -1 && d.late_ns == 5000);
}
END_TEST

START_TEST(bad_rows_are_told_apart)
{
    static const char *const cases[][2] = {
        {"", "too few columns"},
        {"5,forward,1", "too few columns"},
        {GOOD ",", "too many columns"},
        {"5,sideways,1,trace,1024,,1,7,3,red_cp_eob,2000,1000,50,0",
         "an unknown word in `direction`"},
        {"5,forward,1,magic,1024,,1,7,3,red_cp_eob,2000,1000,50,0", "an unknown word in `reason`"},
        {"5,forward,1,trace,10x4,,1,7,3,red_cp_eob,2000,1000,50,0", "not a number"},
        {"5,forward,1,trace,1024,,1,7,16,red_cp_eob,2000,1000,50,0", "a segment type above 15"},
        {"5,forward,1,trace,1024,,1,,3,red_cp_eob,2000,1000,50,0", "no session"},
        {",forward,1,trace,1024,,1,7,3,red_cp_eob,2000,1000,50,0", "no time or no frame"},
        {"5,forward,,trace,1024,,1,7,3,red_cp_eob,2000,1000,50,0", "no time or no frame"},
    };
    const struct csv_columns all = drop_columns_all();
    struct drop_event d;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *why = drop_row_parse(&all, cases[i][0], strlen(cases[i][0]), &d);
        ck_assert_msg(why != NULL && strcmp(why, cases[i][1]) == 0, "%s: %s", cases[i][0], why);
    }
}
END_TEST

/* A row under another line of column names. */
static const char *parse_under(const char *names, const char *row, struct drop_event *d)
{
    struct csv_columns columns;
    ck_assert(drop_row_is_header(names, strlen(names)));
    const char *why = drop_columns_parse(names, strlen(names), &columns);
    return why != NULL ? why : drop_row_parse(&columns, row, strlen(row), d);
}

START_TEST(columns_are_found_by_name)
{
    struct drop_event d;
    ck_assert_ptr_null(parse_under(HEADER ",later", GOOD ",x7", &d));
    ck_assert_uint_eq(d.rpt_serial, 0);
    ck_assert_ptr_null(parse_under("reason,frame,session,originator,type,direction,t_ns",
                                   "outage,4,7,1,8,return,99", &d));
    ck_assert(d.reason == DROP_OUTAGE && !d.forward && d.now == 99 && d.frame == 4);
    ck_assert(d.session == 7 && d.originator == 1 && d.type == 8);
    ck_assert(d.length == EVENT_NONE && d.late_ns == EVENT_NONE && d.offset == EVENT_NONE &&
              d.data_length == EVENT_NONE && d.cp_serial == EVENT_NONE &&
              d.rpt_serial == EVENT_NONE);
    ck_assert_ptr_null(parse_under("t_ns,direction,frame,reason", "6,forward,2,queue", &d));
    ck_assert(d.type == -1 && d.session == EVENT_NONE);
    ck_assert_str_eq(parse_under("t_ns,direction,frame,reason", GOOD, &d), "too many columns");
    ck_assert_str_eq(parse_under("t_ns,frame,reason", "6,2,queue", &d), "no column `direction`");
    ck_assert_str_eq(parse_under("t_ns,frame,frame,reason", "6,2,2,queue", &d),
                     "a column name that is there twice");
    ck_assert_str_eq(parse_under("t_ns,direction,frame,reason,type", "6,forward,2,rule,3", &d),
                     "no session");
    ck_assert(!drop_row_is_header("t_ns,frame", 10));
}
END_TEST

static void expect_column(const char *page, const char *name, const char *meaning)
{
    char row[512];
    snprintf(row, sizeof row, "| `%s` | %s |\n", name, meaning);
    ck_assert_msg(strstr(page, row) != NULL, "%s has no row %s", DROP_LOG_PAGE, row);
}

START_TEST(the_page_has_every_column_and_reason)
{
    static char page[1 << 16];
    char quoted[64];
    FILE *f = fopen(DROP_LOG_PAGE, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_gt(fread(page, 1, sizeof page - 1, f), 0);
    fclose(f);
#define EXPECT(name, kind, value, field, meaning) expect_column(page, #name, meaning);
    DROP_COLUMNS(EXPECT)
#undef EXPECT
    for (int r = 0; r < DROP_REASONS; r++) {
        snprintf(quoted, sizeof quoted, "| `%s` |", drop_reason_word((enum drop_reason)r));
        ck_assert_msg(strstr(page, quoted) != NULL, "%s has no row %s", DROP_LOG_PAGE, quoted);
    }
}
END_TEST

struct taken {
    struct analyze a;
    char table[2048]; /* the rows of the sessions */
    size_t len;
};

static void take(void *context, const struct analyze_session *s)
{
    struct taken *t = context;
    struct analyze_split split = {.ideal = 20, .cycle = 11, .rto = 20};
    FILE *f = fmemopen(t->table + t->len, sizeof t->table - t->len, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert(analyze_table_session(f, s, &split));
    ck_assert_int_eq(fflush(f), 0);
    t->len += (size_t)ftell(f);
    fclose(f);
}

/* Those of a segment: the columns of matrices follow them. */
#define SEGMENT_COLUMNS                                                                            \
    "t_ns,dir,node,peer,originator,session,type,name,colour,client_service,offset,length,"         \
    "cp_serial,rpt_serial,rs_lower,rs_upper,claims,claimed_bytes,cancel_reason,attempt,cause,"     \
    "udp_len"

static struct csv_columns segment_columns(void)
{
    struct csv_columns columns;
    ck_assert_ptr_null(seglog_columns_parse(SEGMENT_COLUMNS, strlen(SEGMENT_COLUMNS), &columns));
    return columns;
}

/* Rows of either kind. */
static void feed(struct taken *t, const char *log)
{
    const struct csv_columns all = segment_columns(), drops = drop_columns_all();
    while (*log != '\0') {
        struct seglog_row row;
        struct drop_event d;
        size_t n = strcspn(log, "\n");
        if (seglog_row_parse(&all, log, n, &row) == NULL)
            ck_assert_int_eq(analyze_row(&t->a, &row), 0);
        else {
            const char *why = drop_row_parse(&drops, log, n, &d);
            ck_assert_msg(why == NULL, "%.*s: %s", (int)n, log, why);
            ck_assert_int_eq(analyze_drop(&t->a, &d), 0);
        }
        log += n + 1;
    }
}

static const char *end(struct taken *t)
{
    ck_assert_int_eq(analyze_end(&t->a), 0);
    return t->table;
}

static void begin(struct taken *t, bool drops)
{
    memset(t, 0, sizeof *t);
    ck_assert_int_eq(analyze_init(&t->a, take, t), 0);
    t->a.drops = drops;
}

/* 3000 bytes, of which the middle and two transmissions of the checkpoint are lost. */
#define OPEN                                                                                       \
    "900000,open,1,2,1,7,,,,1,,3000,,,,,,,,,,\n"                                                   \
    "1000000,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020\n"                             \
    "2000000,tx,1,2,1,7,0,red_data,red,1,1000,1000,,,,,,,,1,first,1020\n"
#define FIRST "3000000,tx,1,2,1,7,3,red_cp_eob,red,1,2000,1000,50,0,,,,,,1,first,1024\n"
#define AGAIN(t, n)                                                                                \
    t ",timer,1,2,1,7,,,,,,,50,,,,,,," n ",checkpoint,\n" t                                        \
      ",tx,1,2,1,7,3,red_cp_eob,red,1,2000,1000,50,0,,,,,,2,timer,1024\n"
#define CLOSE                                                                                      \
    "54000000,rx,1,2,1,7,8,report,,,,,50,90,0,3000,2,2000,,,ok,24\n"                               \
    "55000000,tx,1,2,1,7,1,red_cp,red,1,1000,1000,51,90,,,,,,1,report,1024\n"                      \
    "66000000,close,1,2,1,7,,,,1,,3000,,,,,,,,,done,\n"                                            \
    "66000000,rx,1,2,1,7,8,report,,,,,51,91,1000,2000,1,1000,,,ok,24\n"

/* originator to cancel_reason, times, counts, checkpoints, model: 20 + 11 + 2 * 20 - 6 = 65 ms */
#define NAME(role) "1,7,2,red," role ",1,3000,3000,done,,1000000,66000000,65.000000,2.000000,"
#define SENT "6,3,3,"
#define BYTES ",6136,6000,3000,2,1,4,"

START_TEST(every_column_of_a_senders_session)
{
    struct taken t;
    begin(&t, false);
    feed(&t, OPEN FIRST AGAIN("23000000", "1") AGAIN("43000000", "2") CLOSE);
    ck_assert_str_eq(
        end(&t),
        NAME("sender") ",," SENT ",," BYTES
                       "2,rto,2,2,,40.000000,,1,20.000000,11.000000,40.000000,-6.000000,2\n");
    analyze_fini(&t.a);
}
END_TEST

START_TEST(the_drop_log_knows)
{
    struct taken t;
    begin(&t, true);
    feed(&t, OPEN
         "2000010,forward,2,random,1020,,1,7,0,red_data,1000,1000,,\n" FIRST
         "3000010,forward,3,outage,1024,,1,7,3,red_cp_eob,2000,1000,50,0\n" AGAIN(
             "23000000", "1") "23000010,forward,4,trace,1024,,1,7,3,red_cp_eob,2000,1000,50,"
                              "0\n" AGAIN("43000000",
                                          "2") "43000010,forward,5,late,1024,77,1,7,3,red_cp_eob,"
                                               "2000,1000,50,0\n" CLOSE
                                               "66000001,return,1,trace,60,,9,9,8,report,,,,3\n");
    ck_assert_str_eq(
        end(&t),
        NAME("sender") ",," SENT ",," BYTES
                       "2,drop_log,2,2,,40.000000,3,1,20.000000,11.000000,40.000000,-6.000000,2\n");
    ck_assert_uint_eq(t.a.drop_rows, 5);
    ck_assert_uint_eq(t.a.drop_strange, 1);
    ck_assert_uint_eq(t.a.flows[0]->cp_elsewhere, 0);
    analyze_fini(&t.a);
}
END_TEST

/* The emulator's clock is 40 us ahead of the sender's: the first segment is lost before it is sent.
 * Session 8 never begins. */
START_TEST(a_loss_before_the_session_began)
{
    struct taken t;
    begin(&t, true);
    feed(&t, "860000,forward,2,trace,1024,,1,7,0,red_data,0,1000,,\n"
             "870000,forward,3,trace,1024,,1,8,0,red_data,0,1000,,\n");
    ck_assert_uint_eq(t.a.early_len, 2);
    feed(&t, OPEN FIRST CLOSE);
    ck_assert_uint_eq(t.a.early_len, 1);
    (void)end(&t);
    ck_assert_uint_eq(t.a.drop_rows, 2);
    ck_assert_uint_eq(t.a.drop_strange, 1);
    ck_assert_uint_eq(t.a.flows[0]->lossy, 1);
    analyze_fini(&t.a);
}
END_TEST

#define RECEIVED                                                                                   \
    "6000000,open,2,1,1,7,,,,1,,,,,,,,,,,,\n"                                                      \
    "6000000,rx,2,1,1,7,0,red_data,red,1,0,1000,,,,,,,,,ok,1020\n"                                 \
    "6100000,rx,2,1,1,7,0,red_data,red,1,0,1000,,,,,,,,,duplicate,1020\n"
#define REST                                                                                       \
    "48000000,rx,2,1,1,7,3,red_cp_eob,red,1,2000,1000,50,0,,,,,,,ok,1024\n"                        \
    "48500000,rx,2,1,1,7,0,red_data,red,1,500,10,,,,,,,,,ok,30\n"                                  \
    "49000000,tx,2,1,1,7,8,report,,,,,50,90,0,3000,2,2000,,1,first,24\n"                           \
    "50000000,timer,2,1,1,7,,,,,,,,90,,,,,,1,report,\n"
#define REST_CLOSE "60000000,rx,2,1,1,7,1,red_cp,red,1,1000,1000,51,90,,,,,,,ok,1024\n"
#define RECEIVER_CLOSE "71000000,close,2,1,1,7,,,,1,,3000,,,,,,,,,done,\n"

/* Both ends' logs, and a drop log that lacks one of the two lost checkpoints: a socket lost it. */
START_TEST(the_receivers_log_contradicts_the_drop_log)
{
    struct taken t;
    begin(&t, true);
    feed(&t, OPEN FIRST
         "3000010,forward,3,queue,1024,,1,7,3,red_cp_eob,2000,1000,50,0\n" RECEIVED AGAIN(
             "23000000", "1") AGAIN("43000000", "2") REST
         "54000000,rx,1,2,1,7,8,report,,,,,50,90,0,3000,2,2000,,,ok,24\n"
         "55000000,tx,1,2,1,7,1,red_cp,red,1,1000,1000,51,90,,,,,,1,report,1024\n" REST_CLOSE
         "66000000,close,1,2,1,7,,,,1,,3000,,,,,,,,,done,\n"
         "66000000,rx,1,2,1,7,8,report,,,,,51,91,1000,2000,1,1000,,,ok,24\n" RECEIVER_CLOSE);
    ck_assert_str_eq(end(&t), NAME("both") "5.000000,59.000000," SENT "5,1,1" BYTES
                                           "2,receiver_log,2,2,1,40.000000,1,1,20.000000,11.000000,"
                                           "40.000000,-6.000000,2\n");
    ck_assert_uint_eq(t.a.flows[0]->cp_elsewhere, 1);
    analyze_fini(&t.a);
}
END_TEST

/* A node that was started again uses a number again: two sessions, the first one unfinished. */
START_TEST(numbers_that_are_used_again)
{
    struct taken t;
    begin(&t, false);
    feed(&t, OPEN FIRST "99900000,open,1,2,1,7,,,,1,,10,,,,,,,,,,\n"
                        "99900001,tx,1,2,1,7,7,green_eob,green,1,0,10,,,,,,,,1,first,20\n"
                        "99900001,close,1,2,1,7,,,,1,,10,,,,,,,,,done,\n");
    ck_assert_str_eq(end(&t),
                     "1,7,2,red,sender,1,3000,3000,unfinished,,1000000,,,2.000000,,,3,3,0,,,,3064,"
                     "3000,0,0,0,1,0,rto,0,0,,0.000000,,0,,,,,0\n"
                     "1,7,2,green,sender,1,10,0,done,,99900001,99900001,0.000000,0.000000,,,1,1,0,,"
                     ",,20,10,0,0,0,0,0,rto,0,0,,0.000000,,0,20.000000,0.000000,0.000000,"
                     "-20.000000,0\n");
    ck_assert_uint_eq(t.a.reopened, 1);
    analyze_fini(&t.a);
}
END_TEST

/* A copy follows the checkpoint: only when both are lost is its timer waited for. */
START_TEST(copies_spare_waits)
{
    static const char both[] = "3000010,forward,3,trace,1024,,1,7,3,red_cp_eob,2000,1000,50,0\n";
    for (int lost = 0; lost <= 2; lost++) {
        struct taken t;
        begin(&t, true);
        feed(&t, OPEN FIRST);
        if (lost > 0)
            feed(&t, both);
        feed(&t, "4000000,tx,1,2,1,7,3,red_cp_eob,red,1,2000,1000,50,0,,,,,,2,proactive,1024\n");
        if (lost > 1)
            feed(&t, "4000010,forward,4,trace,1024,,1,7,3,red_cp_eob,2000,1000,50,0\n" AGAIN(
                         "23000000", "2"));
        feed(&t, CLOSE);
        (void)end(&t);
        ck_assert_uint_eq(t.a.flows[0]->cp_lost, (uint64_t)lost);
        ck_assert_uint_eq(t.a.flows[0]->cp_waits, lost == 2);
        analyze_fini(&t.a);
    }
}
END_TEST

/* 2 RTO, 1 cycle; the sum is exact whatever is given. */
START_TEST(the_mean_is_a_sum)
{
    struct taken t;
    begin(&t, false);
    feed(&t, OPEN FIRST AGAIN("23000000", "1") AGAIN("43000000", "2") CLOSE);
    (void)end(&t);
    struct analyze_model m = {TICK_NEVER, TICK_NEVER, TICK_NEVER, NAN, 1e6, 0.5, 42};
    struct analyze_split p = analyze_split_flow(t.a.flows[0], &m);
    ck_assert_double_eq_tol(p.mean, 65, 1e-9);
    ck_assert_str_eq(p.ideal_from,
                     "radiation_response"); /* 2 ms and that of checkpoint 51, 11 ms */
    ck_assert_double_eq_tol(p.ideal, 13, 0.1);
    ck_assert_double_eq_tol(p.cycle, 12, 0.1); /* from the report at 54 to that at 66 */
    ck_assert_double_eq_tol(p.rto, 20, 0.1);
    ck_assert_double_eq_tol(p.ideal + p.retx + p.checkpoint + p.delta_penalties + p.delta_ideal, 65,
                            1e-9);
    /* half of the rate, the data's share of what was on the air */
    ck_assert_double_eq_tol(analyze_capacity(t.a.flows[0], &m), 5e5 * 6000 / (6136 + 6 * 42), 1e-6);
    m.ideal = 22 * TICK_MS;
    m.cycle = 15 * TICK_MS;
    m.rto = TICK_S;
    m.capacity_bps = 7;
    p = analyze_split_flow(t.a.flows[0], &m);
    ck_assert_double_eq_tol(p.retx, 15, 1e-9);
    ck_assert_double_eq_tol(p.checkpoint, 2000, 1e-9);
    ck_assert_double_eq_tol(p.delta_penalties, 65 - 22 - 15 - 2000, 1e-9);
    ck_assert_double_eq_tol(analyze_capacity(t.a.flows[0], &m), 7, 1e-9);
    analyze_fini(&t.a);
}
END_TEST

START_TEST(bins_in_any_order)
{
    struct series s = {0};
    static const int64_t order[] = {5, 6, 6, 3, -1, 9, 3, 4, -2, -4};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        series_bin(&s, order[i])->sessions++;
    static const int64_t expected[][2] = {{-4, 1}, {-2, 1}, {-1, 1}, {3, 2},
                                          {4, 1},  {5, 1},  {6, 2},  {9, 1}};
    ck_assert_uint_eq(s.len, 8);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(s.at[i].index, expected[i][0]);
        ck_assert_uint_eq(s.at[i].sessions, (uint64_t)expected[i][1]);
    }
    series_coarsen(&s, 2);
    static const int64_t coarse[][2] = {{-2, 1}, {-1, 2}, {1, 2}, {2, 2}, {3, 2}, {4, 1}};
    ck_assert_uint_eq(s.len, 6);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_int_eq(s.at[i].index, coarse[i][0]);
        ck_assert_uint_eq(s.at[i].sessions, (uint64_t)coarse[i][1]);
    }
    series_fini(&s);
}
END_TEST

SUITE(tools_drops, t)
{
    tcase_add_test(t, a_row_has_its_fields);
    tcase_add_test(t, bad_rows_are_told_apart);
    tcase_add_test(t, columns_are_found_by_name);
    tcase_add_test(t, the_page_has_every_column_and_reason);
    tcase_add_test(t, every_column_of_a_senders_session);
    tcase_add_test(t, the_drop_log_knows);
    tcase_add_test(t, a_loss_before_the_session_began);
    tcase_add_test(t, the_receivers_log_contradicts_the_drop_log);
    tcase_add_test(t, numbers_that_are_used_again);
    tcase_add_test(t, copies_spare_waits);
    tcase_add_test(t, the_mean_is_a_sum);
    tcase_add_test(t, bins_in_any_order);
}
