/* SPDX-License-Identifier: Apache-2.0 */
/* Small logs whose figures are computed by hand. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/suite.h"
#include "tools/analyze/analyze.h"

#define TAKEN_MAX 8

struct taken {
    struct analyze a;
    struct analyze_session s[TAKEN_MAX];
    size_t len;
};

static void take(void *context, const struct analyze_session *s)
{
    struct taken *t = context;
    ck_assert_uint_lt(t->len, TAKEN_MAX);
    t->s[t->len++] = *s;
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

static void feed(struct taken *t, const char *log)
{
    const struct csv_columns all = segment_columns();
    struct seglog_row row;
    while (*log != '\0') {
        size_t n = strcspn(log, "\n");
        const char *why = seglog_row_parse(&all, log, n, &row);
        ck_assert_msg(why == NULL, "%.*s: %s", (int)n, log, why);
        ck_assert_int_eq(analyze_row(&t->a, &row), 0);
        log += n + 1;
    }
}

static void begin(struct taken *t)
{
    t->len = 0;
    ck_assert_int_eq(analyze_init(&t->a, take, t), 0);
}

/* A code of 1 to 2: its sender's rows, and its receiver's. */
START_TEST(matrices_are_counted_by_direction)
{
    static const char *const rows[] = {
        "10,matrix,1,2,1,,,,,,,,,,,,,,,,sent,,7,100,25,,,",
        "11,matrix,1,2,1,,,,,,,,,,,,,,,,answered,,7,100,12,,,",
        "20,matrix,2,1,1,,,,,,,,,,,,,,,,whole,,6,100,3,0,0,",
        "21,matrix,2,1,1,,,,,,,,,,,,,,,,repaired,,7,100,30,28,0,5000",
        "22,matrix,2,1,1,,,,,,,,,,,,,,,,failed,,8,100,25,0,40,",
        "23,matrix,2,1,1,,,,,,,,,,,,,,,,displaced,,9,80,0,0,60,",
    };
    struct taken t;
    struct seglog_row row;
    const struct csv_columns all = seglog_columns_all();
    begin(&t);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *why = seglog_row_parse(&all, rows[i], strlen(rows[i]), &row);
        ck_assert_msg(why == NULL, "%s: %s", rows[i], why);
        ck_assert_int_eq(analyze_row(&t.a, &row), 0);
    }
    ck_assert_uint_eq(t.a.paths_len, 1);
    ck_assert(t.a.paths[0]->originator == 1 && t.a.paths[0]->peer == 2);
    const struct analyze_code *c = &t.a.paths[0]->code;
    ck_assert(c->sent == 1 && c->answers == 1 && c->segments_sent == 100);
    ck_assert(c->repairs_sent == 37 && c->more_sent == 12);
    ck_assert_uint_eq(analyze_code_ended(c), 4);
    ck_assert(c->ended[MATRIX_DISPLACED] == 1 && c->segments == 380 && c->repairs == 58);
    ck_assert(c->repaired == 28 && c->missing == 100);
    ck_assert(c->delay.count == 1 && c->delay.max == 5000);
    ck_assert_uint_eq(t.a.strange, 0);
    analyze_fini(&t.a);
}
END_TEST

/*
 * Session 7 of node 1 to node 2, 3000 bytes in three segments. The second one and the checkpoint
 * of the first round are lost; the timer sends the checkpoint again; its report shows a gap, which
 * is filled; the second report is whole. From the first segment at 1.000000 ms to the close at
 * 46.000000 ms.
 */
static const char sender[] =
    "900000,open,1,2,1,7,,,,1,,3000,,,,,,,,,,\n"
    "1000000,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020\n"
    "2000000,tx,1,2,1,7,0,red_data,red,1,1000,1000,,,,,,,,1,first,1020\n"
    "3000000,tx,1,2,1,7,3,red_cp_eob,red,1,2000,1000,50,0,,,,,,1,first,1024\n"
    "23000000,timer,1,2,1,7,,,,,,,50,,,,,,,1,checkpoint,\n"
    "23000000,tx,1,2,1,7,3,red_cp_eob,red,1,2000,1000,50,0,,,,,,2,timer,1024\n"
    "34000000,rx,1,2,1,7,8,report,,,,,50,90,0,3000,2,2000,,,ok,24\n"
    "34000000,tx,1,2,1,7,9,report_ack,,,,,,90,,,,,,1,first,12\n"
    "35000000,tx,1,2,1,7,1,red_cp,red,1,1000,1000,51,90,,,,,,1,report,1024\n"
    "46000000,rx,1,2,1,7,8,report,,,,,51,91,1000,2000,1,1000,,,ok,24\n"
    "46000000,close,1,2,1,7,,,,1,,3000,,,,,,,,,done,\n"
    "46000000,tx,1,2,1,7,9,report_ack,,,,,,91,,,,,,1,first,12\n";

static void check_sender(const struct analyze_session *s)
{
    ck_assert_uint_eq(s->originator, 1);
    ck_assert_uint_eq(s->peer, 2);
    ck_assert_uint_eq(s->number, 7);
    ck_assert_uint_eq(s->block_bytes, 3000);
    ck_assert_int_eq(s->outcome, OUTCOME_DONE);
    ck_assert_uint_eq(analyze_duration(s), 45000000);
    ck_assert_uint_eq(s->segments_sent, 5);
    ck_assert_uint_eq(s->bytes_sent, 1020 + 1020 + 1024 + 1024 + 1024);
    ck_assert_uint_eq(s->data_sent, 5000);
    ck_assert_uint_eq(s->data_resent, 2000);
    ck_assert_uint_eq(s->reports_received, 2);
    ck_assert_uint_eq(s->rounds.most, 1);
    ck_assert_uint_eq(s->cp_sent, 3);
    ck_assert_uint_eq(s->rto_checkpoint, 1);
    ck_assert(s->red && !s->green);
}

START_TEST(the_senders_log_alone_infers_losses)
{
    struct taken t;
    begin(&t);
    feed(&t, sender);
    ck_assert_uint_eq(t.len, 0); /* more rows of that moment could come */
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.len, 1);
    check_sender(&t.s[0]);
    ck_assert_int_eq(t.s[0].basis, BASIS_RTO);
    ck_assert_uint_eq(t.s[0].cp_lost, 1);
    ck_assert(t.s[0].lossy);
    ck_assert_uint_eq(t.a.strange, 0);
    ck_assert_uint_eq(t.a.flows_len, 1);
    const struct analyze_flow *f = t.a.flows[0];
    ck_assert_uint_eq(f->sessions, 1);
    ck_assert_uint_eq(f->bases[BASIS_RTO], 1);
    ck_assert_uint_eq(f->duration.max, 45000000);
    /* 24000 bits in 45 ms */
    ck_assert_double_eq_tol(analyze_goodput(f, 0), 24000 / 0.045, 1e-6);
    analyze_fini(&t.a);
}
END_TEST

/* Both logs in order of time; the report of the first round also went missing once: its timer ran
 * out at the receiver. */
START_TEST(both_logs_know_losses)
{
    struct taken t;
    begin(&t);
    analyze_node(&t.a, 1);
    analyze_node(&t.a, 2);
    feed(&t, "900000,open,1,2,1,7,,,,1,,3000,,,,,,,,,,\n"
             "1000000,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020\n"
             "2000000,tx,1,2,1,7,0,red_data,red,1,1000,1000,,,,,,,,1,first,1020\n"
             "3000000,tx,1,2,1,7,3,red_cp_eob,red,1,2000,1000,50,0,,,,,,1,first,1024\n"
             "6000000,open,2,1,1,7,,,,1,,,,,,,,,,,,\n"
             "6000000,rx,2,1,1,7,0,red_data,red,1,0,1000,,,,,,,,,ok,1020\n"
             "23000000,timer,1,2,1,7,,,,,,,50,,,,,,,1,checkpoint,\n"
             "23000000,tx,1,2,1,7,3,red_cp_eob,red,1,2000,1000,50,0,,,,,,2,timer,1024\n"
             "28000000,rx,2,1,1,7,3,red_cp_eob,red,1,2000,1000,50,0,,,,,,,ok,1024\n"
             "28000000,tx,2,1,1,7,8,report,,,,,50,90,0,3000,2,2000,,1,first,24\n"
             "29000000,timer,2,1,1,7,,,,,,,,90,,,,,,1,report,\n"
             "29000000,tx,2,1,1,7,8,report,,,,,50,90,0,3000,2,2000,,2,timer,24\n"
             "34000000,rx,1,2,1,7,8,report,,,,,50,90,0,3000,2,2000,,,ok,24\n"
             "34000000,tx,1,2,1,7,9,report_ack,,,,,,90,,,,,,1,first,12\n"
             "35000000,tx,1,2,1,7,1,red_cp,red,1,1000,1000,51,90,,,,,,1,report,1024\n"
             "39000000,rx,2,1,1,7,9,report_ack,,,,,,90,,,,,,,ok,12\n"
             "40000000,rx,2,1,1,7,1,red_cp,red,1,1000,1000,51,90,,,,,,,ok,1024\n"
             "40000000,tx,2,1,1,7,8,report,,,,,51,91,1000,2000,1,1000,,1,first,24\n"
             "46000000,rx,1,2,1,7,8,report,,,,,51,91,1000,2000,1,1000,,,ok,24\n"
             "46000000,close,1,2,1,7,,,,1,,3000,,,,,,,,,done,\n"
             "46000000,tx,1,2,1,7,9,report_ack,,,,,,91,,,,,,1,first,12\n");
    ck_assert_uint_eq(t.len, 0); /* the receiver's close is still to come */
    feed(&t, "51000000,close,2,1,1,7,,,,1,,3000,,,,,,,,,done,\n"
             "51000000,rx,2,1,1,7,9,report_ack,,,,,,91,,,,,,,ok,12\n"
             "151000001,link,2,1,,,,,,,,,,,,,,,,,down,\n");
    ck_assert_uint_eq(t.len, 1);
    check_sender(&t.s[0]);
    ck_assert_int_eq(t.s[0].basis, BASIS_RECEIVER);
    ck_assert_uint_eq(t.s[0].segments_received, 3);
    ck_assert_uint_eq(t.s[0].cp_received, 2);
    ck_assert_uint_eq(t.s[0].cp_lost, 1);
    ck_assert(t.s[0].lossy);
    ck_assert_uint_eq(t.s[0].rto_report, 1);
    ck_assert_uint_eq(t.s[0].delivered, 40000000);
    ck_assert_uint_eq(t.a.flows[0]->delivery.max, 39000000);
    ck_assert_uint_eq(t.a.sessions.len, 0);
    analyze_fini(&t.a);
}
END_TEST

/* The last byte comes again in a checkpoint with a new serial number, which answers a report: the
 * receiver accepts it for what it asks. The block was delivered before. */
START_TEST(a_checkpoint_without_new_bytes_moves_no_delivery)
{
    struct taken t;
    begin(&t);
    analyze_node(&t.a, 1);
    analyze_node(&t.a, 2);
    feed(&t, "900000,open,1,2,1,7,,,,1,,1001,,,,,,,,,,\n"
             "1000000,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020\n"
             "2000000,tx,1,2,1,7,3,red_cp_eob,red,1,1000,1,50,0,,,,,,1,first,24\n"
             "6000000,open,2,1,1,7,,,,1,,,,,,,,,,,,\n"
             "6000000,rx,2,1,1,7,0,red_data,red,1,0,1000,,,,,,,,,ok,1020\n"
             "7000000,rx,2,1,1,7,3,red_cp_eob,red,1,1000,1,50,0,,,,,,,ok,24\n"
             "30000000,tx,1,2,1,7,1,red_cp,red,1,1000,1,51,90,,,,,,1,report,24\n"
             "35000000,rx,2,1,1,7,1,red_cp,red,1,1000,1,51,90,,,,,,,ok,24\n"
             "46000000,close,1,2,1,7,,,,1,,1001,,,,,,,,,done,\n"
             "51000000,close,2,1,1,7,,,,1,,1001,,,,,,,,,done,\n");
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.len, 1);
    ck_assert_uint_eq(analyze_delivery(&t.s[0]), 6000000);
    ck_assert_uint_eq(t.s[0].segments_received, 3);
    ck_assert_uint_eq(t.s[0].cp_received, 2);
    ck_assert_uint_eq(t.s[0].red_bytes, 1001);
    analyze_fini(&t.a);
}
END_TEST

/* Reports on two early checkpoints, and the repetitions that they cause, run side by side: one
 * cycle. What follows one of these is the second. */
START_TEST(cycles_side_by_side)
{
    struct taken t;
    begin(&t);
    feed(&t, "1,open,1,2,1,9,,,,1,,4000,,,,,,,,,,\n"
             "2,tx,1,2,1,9,1,red_cp,red,1,0,2000,50,0,,,,,,1,first,2020\n"
             "3,tx,1,2,1,9,3,red_cp_eob,red,1,2000,2000,51,0,,,,,,1,first,2020\n"
             "4,rx,1,2,1,9,8,report,,,,,50,90,0,2000,1,1000,,,ok,24\n"
             "5,tx,1,2,1,9,1,red_cp,red,1,1000,1000,52,90,,,,,,1,report,1020\n"
             "6,rx,1,2,1,9,8,report,,,,,51,91,2000,4000,1,1000,,,ok,24\n"
             "7,tx,1,2,1,9,1,red_cp,red,1,3000,1000,53,91,,,,,,1,report,1020\n");
    ck_assert_uint_eq(t.a.recent[0]->rounds.most, 1);
    feed(&t, "8,rx,1,2,1,9,8,report,,,,,53,92,2000,4000,1,1500,,,ok,24\n"
             "9,tx,1,2,1,9,1,red_cp,red,1,3500,500,54,92,,,,,,1,report,520\n");
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.s[0].rounds.most, 2);
    analyze_fini(&t.a);
}
END_TEST

/* A late report of the same checkpoint must not count the cycle twice; one for a further checkpoint
 * that shows gaps begins another. */
START_TEST(cycles_are_counted_once_per_checkpoint)
{
    struct taken t;
    begin(&t);
    feed(&t, "1,open,1,2,1,9,,,,1,,4000,,,,,,,,,,\n"
             "2,tx,1,2,1,9,3,red_cp_eob,red,1,0,4000,50,0,,,,,,1,first,4020\n"
             "3,rx,1,2,1,9,8,report,,,,,50,90,0,2000,1,1000,,,ok,24\n"
             "4,tx,1,2,1,9,0,red_data,red,1,1000,500,,,,,,,,1,report,520\n"
             "5,rx,1,2,1,9,8,report,,,,,50,91,2000,4000,1,1000,,,ok,24\n"
             "6,tx,1,2,1,9,1,red_cp,red,1,1500,500,51,90,,,,,,1,report,520\n"
             "7,rx,1,2,1,9,8,report,,,,,50,90,0,2000,1,1000,,,duplicate,24\n"
             "8,rx,1,2,1,9,8,report,,,,,51,92,1000,2000,1,500,,,ok,24\n"
             "9,tx,1,2,1,9,1,red_cp,red,1,1000,500,52,92,,,,,,1,report,520\n");
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.s[0].rounds.most, 2);
    ck_assert_int_eq(t.s[0].outcome, -1);
    ck_assert_uint_eq(t.a.flows[0]->unfinished, 1);
    ck_assert_uint_eq(t.a.flows[0]->sessions, 0);
    analyze_fini(&t.a);
}
END_TEST

START_TEST(green_sessions_are_a_flow_of_their_own)
{
    struct taken t;
    begin(&t);
    analyze_node(&t.a, 1);
    analyze_node(&t.a, 2);
    /* the receiver closes before it tells of the last segment, at the same time */
    feed(&t, "10,open,2,1,2,5,,,,1,,100,,,,,,,,,,\n"
             "20,tx,2,1,2,5,7,green_eob,green,1,0,100,,,,,,,,1,first,110\n"
             "20,close,2,1,2,5,,,,1,,100,,,,,,,,,done,\n"
             "30,open,1,2,2,5,,,,1,,,,,,,,,,,,\n"
             "30,close,1,2,2,5,,,,1,,100,,,,,,,,,done,\n"
             "30,rx,1,2,2,5,7,green_eob,green,1,0,100,,,,,,,,,ok,110\n"
             "40,open,1,2,1,5,,,,1,,100,,,,,,,,,,\n"
             "41,tx,1,2,1,5,3,red_cp_eob,red,1,0,100,1,0,,,,,,1,first,110\n"
             "42,close,1,2,1,5,,,,1,,100,,,,,,,,2,cancelled_remote,\n");
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.a.strange, 0);
    ck_assert_uint_eq(t.a.flows_len, 2);
    ck_assert_int_eq(t.a.flows[0]->colour, 'g');
    ck_assert_uint_eq(t.a.flows[0]->originator, 2);
    ck_assert_uint_eq(t.a.flows[0]->sessions, 1);
    ck_assert_uint_eq(t.a.flows[0]->lossy, 0);
    ck_assert_int_eq(t.a.flows[1]->colour, 'r');
    ck_assert_uint_eq(t.a.flows[1]->cancelled, 1);
    analyze_fini(&t.a);
}
END_TEST

/* Whatever the clock says at the first row, bin 0 begins there; a later run may begin before. */
START_TEST(bins_begin_with_the_run)
{
    struct taken t;
    begin(&t);
    t.a.bin = 2 * TICK_MS;
    feed(&t, sender);
    ck_assert_int_eq(analyze_end(&t.a), 0);
    const struct series *s = &t.a.paths[0]->series;
    static const int64_t index[] = {0, 1, 11, 17, 22};
    ck_assert_uint_eq(t.a.bins_from, 900000);
    ck_assert_uint_eq(t.a.rows_end, 46000000);
    ck_assert_uint_eq(s->len, 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(s->at[i].index, index[i]);
    ck_assert_uint_eq(s->at[0].tx_bytes, 2000); /* at 1 and 2 ms, both within 2 ms of 0.9 ms */
    ck_assert_int_eq(analyze_next_run(&t.a), 0);
    feed(&t, "100000,open,1,2,1,8,,,,1,,1000,,,,,,,,,,\n"
             "200000,tx,1,2,1,8,3,red_cp_eob,red,1,0,1000,50,0,,,,,,1,first,1024\n");
    ck_assert_int_eq(s->at[0].index, -1);
    ck_assert_uint_eq(s->at[0].tx_bytes, 1000);
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.a.rows_end, 46000000);
    analyze_fini(&t.a);
}
END_TEST

START_TEST(a_receiver_that_never_closes_does_not_hold_memory)
{
    struct taken t;
    begin(&t);
    analyze_node(&t.a, 2);
    feed(&t, sender);
    /* 50 ms after the first segment */
    feed(&t, "51000000,open,2,1,1,7,,,,1,,,,,,,,,,,,\n"
             "51000000,rx,2,1,1,7,0,red_data,red,1,0,1000,,,,,,,,,ok,1020\n"
             "60095999999,link,1,2,,,,,,,,,,,,,,,,,up,\n");
    ck_assert_uint_eq(t.len, 0);
    feed(&t, "60096000001,link,1,2,,,,,,,,,,,,,,,,,up,\n");
    ck_assert_uint_eq(t.len, 1);
    ck_assert_uint_eq(t.a.sessions.len, 0);
    analyze_fini(&t.a);
}
END_TEST

/* To Mars: the sender is done with a green block long before its first segment arrives. */
START_TEST(a_receiver_that_is_far_is_waited_for)
{
    struct taken t;
    begin(&t);
    analyze_node(&t.a, 1);
    analyze_node(&t.a, 2);
    feed(&t, "0,open,1,2,1,5,,,,1,,100,,,,,,,,,,\n"
             "1000,tx,1,2,1,5,7,green_eob,green,1,0,100,,,,,,,,1,first,110\n"
             "1000,close,1,2,1,5,,,,1,,100,,,,,,,,,done,\n"
             "600000000000,link,1,2,,,,,,,,,,,,,,,,,up,\n"
             "600000001000,open,2,1,1,5,,,,1,,,,,,,,,,,,\n"
             "600000001000,close,2,1,1,5,,,,1,,100,,,,,,,,,done,\n"
             "600000001000,rx,2,1,1,5,7,green_eob,green,1,0,100,,,,,,,,,ok,110\n");
    /* the next one, whose way is known by now, never comes */
    feed(&t, "600000002000,open,1,2,1,6,,,,1,,100,,,,,,,,,,\n"
             "600000002000,tx,1,2,1,6,7,green_eob,green,1,0,100,,,,,,,,1,first,110\n"
             "600000002000,close,1,2,1,6,,,,1,,100,,,,,,,,,done,\n"
             "1260000002000,link,1,2,,,,,,,,,,,,,,,,,up,\n");
    ck_assert_uint_eq(t.len, 1);
    ck_assert(t.s[0].sender_log && t.s[0].receiver_log && !t.s[0].lossy);
    feed(&t, "1260000002001,link,1,2,,,,,,,,,,,,,,,,,up,\n");
    ck_assert_uint_eq(t.len, 2);
    ck_assert_int_eq(t.s[1].basis, BASIS_RECEIVER);
    ck_assert(t.s[1].lossy);
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.len, 2);
    analyze_fini(&t.a);
}
END_TEST

/* A row of a checkpoint's transmission or arrival. */
static void checkpoint(struct taken *t, unsigned long long ns, int number, const char *cause)
{
    char row[160];
    bool sent = number > 0;
    snprintf(row, sizeof row, "%llu,%s,%d,%d,1,7,3,red_cp_eob,red,1,0,9,50,0,,,,,,%.*d,%s,20\n", ns,
             sent ? "tx" : "rx", sent ? 1 : 2, sent ? 2 : 1, sent ? 3 : 0, number, cause);
    feed(t, row);
}

#define SENT 100

/* 100 transmissions 2 ms apart over a path of 50 ms, so that many are under way at once. Lost are
 * the 11th to the 20th and the 71st to the 90th. The 31st to the 100th are by timer, each a round.
 */
START_TEST(a_checkpoint_sent_very_often)
{
    struct taken t;
    begin(&t);
    analyze_node(&t.a, 1);
    analyze_node(&t.a, 2);
    feed(&t, "0,open,1,2,1,6,,,,1,,9,,,,,,,,,,\n"
             "0,tx,1,2,1,6,7,green_eob,green,1,0,9,,,,,,,,1,first,20\n"
             "0,open,1,2,1,7,,,,1,,9,,,,,,,,,,\n"
             "50000000,open,2,1,1,6,,,,1,,,,,,,,,,,,\n"
             "50000000,rx,2,1,1,6,7,green_eob,green,1,0,9,,,,,,,,,ok,20\n");
    for (unsigned at = 0; at < 2 * SENT + 60; at += 2) {
        unsigned i = at / 2 - 25; /* whose arrival it would be */
        bool lost = (i >= 10 && i < 20) || (i >= 70 && i < 90);
        if (at >= 50 && i < SENT && !lost)
            checkpoint(&t, 1000000ull * (at + 100), 0, i == 0 ? "ok" : "duplicate");
        if (at < 2 * SENT)
            checkpoint(&t, 1000000ull * (at + 100), (int)at / 2 + 1,
                       at == 0       ? "first"
                       : at / 2 < 30 ? "proactive"
                                     : "timer");
    }
    feed(&t, "500000000,close,1,2,1,7,,,,1,,9,,,,,,,,,done,\n"
             "500000000,close,2,1,1,7,,,,1,,9,,,,,,,,,done,\n"
             "600000001,link,1,2,,,,,,,,,,,,,,,,,up,\n");
    ck_assert_uint_eq(t.len, 1);
    ck_assert_uint_eq(t.s[0].cp_sent, SENT);
    ck_assert_uint_eq(t.s[0].cp_lost, 30);
    ck_assert_uint_eq(t.s[0].cp_run, 20);
    ck_assert_uint_eq(t.s[0].cp_waits, 20);
    ck_assert_int_eq(analyze_end(&t.a), 0);
    analyze_fini(&t.a);
}
END_TEST

/* The first segment took 7 ms, which is the least delay seen when copies 2 ms apart arrive after 5:
 * none is missing. */
START_TEST(arrivals_sooner_than_any_before)
{
    struct taken t;
    begin(&t);
    analyze_node(&t.a, 1);
    analyze_node(&t.a, 2);
    feed(&t, "90000000,open,1,2,1,7,,,,1,,9,,,,,,,,,,\n"
             "93000000,tx,1,2,1,7,0,red_data,red,1,0,9,,,,,,,,1,first,20\n"
             "100000000,open,2,1,1,7,,,,1,,,,,,,,,,,,\n"
             "100000000,rx,2,1,1,7,0,red_data,red,1,0,9,,,,,,,,,ok,20\n");
    for (int i = 0; i < 6; i++) {
        if (i < 4)
            checkpoint(&t, 100000000 + 2000000ull * (unsigned)i, i + 1,
                       i == 0 ? "first" : "proactive");
        if (i >= 2)
            checkpoint(&t, 101000000 + 2000000ull * (unsigned)i, 0, i == 2 ? "ok" : "duplicate");
    }
    feed(&t, "200000000,close,1,2,1,7,,,,1,,9,,,,,,,,,done,\n"
             "200000000,close,2,1,1,7,,,,1,,9,,,,,,,,,done,\n");
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.s[0].cp_sent, 4);
    ck_assert_uint_eq(t.s[0].cp_lost, 0);
    ck_assert_uint_eq(t.s[0].cp_run, 0);
    analyze_fini(&t.a);
}
END_TEST

/* A block of one segment, lost at first: what came is the repetition, though no segment that was
 * sent once has shown the delay. The first arrival is no measure of it. */
START_TEST(a_lone_segment_that_was_lost)
{
    struct taken t;
    begin(&t);
    analyze_node(&t.a, 1);
    analyze_node(&t.a, 2);
    feed(&t, "0,open,1,2,1,7,,,,1,,9,,,,,,,,,,\n");
    checkpoint(&t, 0, 1, "first");
    feed(&t, "30000000,timer,1,2,1,7,,,,,,,50,,,,,,,1,checkpoint,\n");
    checkpoint(&t, 30000000, 2, "timer");
    feed(&t, "35000000,open,2,1,1,7,,,,1,,,,,,,,,,,,\n");
    checkpoint(&t, 35000000, 0, "ok");
    feed(&t, "40000000,close,1,2,1,7,,,,1,,9,,,,,,,,,done,\n"
             "40000000,close,2,1,1,7,,,,1,,9,,,,,,,,,done,\n");
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.s[0].rto_checkpoint, 1);
    ck_assert_uint_eq(t.s[0].cp_lost, 1);
    ck_assert_uint_eq(t.s[0].cp_waits, 1);
    ck_assert(t.a.paths[0]->delay == TICK_NEVER);
    analyze_fini(&t.a);
}
END_TEST

/* A block is acknowledged while a copy of its checkpoint, and a repeated segment, are still under
 * way; there the logs end. */
START_TEST(what_is_under_way_at_the_end_is_not_lost)
{
    struct taken t;
    begin(&t);
    analyze_node(&t.a, 1);
    analyze_node(&t.a, 2);
    feed(&t, "0,open,1,2,1,7,,,,1,,9,,,,,,,,,,\n"
             "0,tx,1,2,1,7,3,red_cp_eob,red,1,0,9,50,0,,,,,,1,first,20\n"
             "5,open,2,1,1,7,,,,1,,,,,,,,,,,,\n"
             "5,rx,2,1,1,7,3,red_cp_eob,red,1,0,9,50,0,,,,,,,ok,20\n"
             "7,tx,1,2,1,7,3,red_cp_eob,red,1,0,9,50,0,,,,,,2,proactive,20\n"
             "10,close,1,2,1,7,,,,1,,9,,,,,,,,,done,\n");
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.s[0].cp_sent, 2);
    ck_assert_uint_eq(t.s[0].cp_lost, 0);
    ck_assert_uint_eq(t.s[0].cp_run, 0);
    ck_assert(!t.s[0].lossy);
    analyze_fini(&t.a);
}
END_TEST

/* A log that ends behind the rows of some opens: what they would have been the others tell; without
 * any, or when there are several colours, nobody knows. */
START_TEST(an_open_alone_has_no_colour)
{
    static const char open[] = "10,open,1,2,1,6,,,,1,,100,,,,,,,,,,\n"
                               "20,open,1,2,1,7,,,,1,,100,,,,,,,,,,\n";
    static const char red[] = "30,open,1,2,1,8,,,,1,,100,,,,,,,,,,\n"
                              "31,tx,1,2,1,8,3,red_cp_eob,red,1,0,100,1,0,,,,,,1,first,110\n";
    static const char green[] = "40,open,1,2,1,9,,,,1,,100,,,,,,,,,,\n"
                                "41,tx,1,2,1,9,7,green_eob,green,1,0,100,,,,,,,,1,first,110\n";
    static const struct {
        const char *logs[3], *colours;
        uint64_t unfinished[3];
    } cases[] = {{{open, "", ""}, "u", {2}},
                 {{open, red, ""}, "r", {3}},
                 {{red, open, ""}, "r", {3}},
                 {{green, open, ""}, "g", {3}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taken t;
        begin(&t);
        for (int k = 0; k < 3; k++)
            feed(&t, cases[i].logs[k]);
        ck_assert_int_eq(analyze_end(&t.a), 0);
        ck_assert_uint_eq(t.a.flows_len, strlen(cases[i].colours));
        for (size_t k = 0; k < t.a.flows_len; k++) {
            ck_assert_int_eq(t.a.flows[k]->colour, cases[i].colours[k]);
            ck_assert_uint_eq(t.a.flows[k]->unfinished, cases[i].unfinished[k]);
        }
        analyze_fini(&t.a);
    }
    struct taken t;
    begin(&t);
    feed(&t, open);
    feed(&t, red);
    feed(&t, green);
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.a.flows_len, 3);
    for (size_t k = 0; k < 3; k++)
        ck_assert_uint_eq(t.a.flows[k]->unfinished, t.a.flows[k]->colour == 'u' ? 2 : 1);
    analyze_fini(&t.a);
}
END_TEST

/* Both ends, but that the second one is the receiver's is a guess. */
START_TEST(what_a_guess_tells_is_inferred)
{
    const struct csv_columns all = segment_columns();
    for (int guessed = 0; guessed < 2; guessed++) {
        static const char *const rows[] = {
            "10,open,1,2,1,7,,,,1,,100,,,,,,,,,,",
            "11,tx,1,2,1,7,3,red_cp_eob,red,1,0,100,1,0,,,,,,1,first,110",
            "21,open,2,1,1,7,,,,1,,,,,,,,,,,,",
            "21,rx,2,1,1,7,3,red_cp_eob,red,1,0,100,1,0,,,,,,,ok,110",
            "40,close,1,2,1,7,,,,1,,100,,,,,,,,,done,"};
        struct taken t;
        begin(&t);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            struct seglog_row row;
            const char *why = seglog_row_parse(&all, rows[i], strlen(rows[i]), &row);
            ck_assert_msg(why == NULL, "%s: %s", rows[i], why);
            ck_assert(!row.guessed);
            row.guessed = guessed && row.node == 2;
            ck_assert_int_eq(analyze_row(&t.a, &row), 0);
        }
        ck_assert_int_eq(analyze_end(&t.a), 0);
        ck_assert_int_eq(t.s[0].basis, guessed ? BASIS_RTO : BASIS_RECEIVER);
        analyze_fini(&t.a);
    }
}
END_TEST

/* A log of the sender that nobody announced begins at the moment at which the receiver's is over.
 */
START_TEST(a_sender_that_appears_late)
{
    struct taken t;
    begin(&t);
    feed(&t, "6,open,2,1,1,7,,,,1,,,,,,,,,,,,\n"
             "9,close,2,1,1,7,,,,1,,3000,,,,,,,,,done,\n"
             "9,close,1,2,1,7,,,,1,,3000,,,,,,,,,done,\n"
             "100000010,link,1,2,,,,,,,,,,,,,,,,,up,\n");
    ck_assert_uint_eq(t.len, 1);
    ck_assert(t.s[0].sender_closed && t.s[0].receiver_closed);
    ck_assert_uint_eq(analyze_duration(&t.s[0]), TICK_NEVER);
    ck_assert_int_eq(analyze_end(&t.a), 0);
    analyze_fini(&t.a);
}
END_TEST

START_TEST(rows_of_sessions_opened_before_the_log_are_counted_only)
{
    struct taken t;
    begin(&t);
    feed(&t, "5,tx,1,2,1,7,0,red_data,red,1,0,1000,,,,,,,,1,first,1020\n"
             "6,close,1,2,1,7,,,,1,,3000,,,,,,,,,done,\n");
    ck_assert_int_eq(analyze_end(&t.a), 0);
    ck_assert_uint_eq(t.len, 0);
    ck_assert_uint_eq(t.a.strange, 2);
    analyze_fini(&t.a);
}
END_TEST

SUITE(tools_analyze, t)
{
    tcase_add_test(t, matrices_are_counted_by_direction);
    tcase_add_test(t, an_open_alone_has_no_colour);
    tcase_add_test(t, what_a_guess_tells_is_inferred);
    tcase_add_test(t, the_senders_log_alone_infers_losses);
    tcase_add_test(t, both_logs_know_losses);
    tcase_add_test(t, a_checkpoint_without_new_bytes_moves_no_delivery);
    tcase_add_test(t, cycles_side_by_side);
    tcase_add_test(t, cycles_are_counted_once_per_checkpoint);
    tcase_add_test(t, green_sessions_are_a_flow_of_their_own);
    tcase_add_test(t, bins_begin_with_the_run);
    tcase_add_test(t, a_receiver_that_never_closes_does_not_hold_memory);
    tcase_add_test(t, a_receiver_that_is_far_is_waited_for);
    tcase_add_test(t, a_checkpoint_sent_very_often);
    tcase_add_test(t, arrivals_sooner_than_any_before);
    tcase_add_test(t, a_lone_segment_that_was_lost);
    tcase_add_test(t, what_is_under_way_at_the_end_is_not_lost);
    tcase_add_test(t, a_sender_that_appears_late);
    tcase_add_test(t, rows_of_sessions_opened_before_the_log_are_counted_only);
}
