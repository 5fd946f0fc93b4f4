/* SPDX-License-Identifier: Apache-2.0 */
/* Segments as a bystander sees them, and the rows that they become: those of the log at that end.
 */
#include <stdio.h>
#include <string.h>

#include "ltp/segment.h"
#include "tests/unit/suite.h"
#include "tools/analyze/watch/ltp_watch.h"

struct scene {
    struct watch_options options;
    struct watch *w;
    enum watch_place at;
    char text[4096];
    size_t len;
};

static void begin(struct scene *s, enum watch_place at)
{
    static const struct watch_engine engine = {.end = {.ip = {10, 0, 0, 2}, .family = 4},
                                               .number = 2};
    *s = (struct scene){.at = at};
    s->options = (struct watch_options){.engines = &engine, .engines_len = 1, .rto = 30};
    s->w = watch_new(&s->options);
    ck_assert_ptr_nonnull(s->w);
}

/* At `now` from engine 1 to engine 2, or back. */
static void seen(struct scene *s, tick now, bool back, const struct ltp_segment *segment)
{
    uint8_t bytes[256];
    size_t n = segment_write(segment, bytes, sizeof bytes);
    ck_assert_uint_gt(n, 0);
    struct watch_end ends[2] = {{.ip = {10, 0, 0, 1}, .family = 4, .port = 1113},
                                {.ip = {10, 0, 0, 2}, .family = 4, .port = 1113}};
    struct watch_datagram d = {.now = now,
                               .from = ends[back],
                               .to = ends[!back],
                               .at = s->at,
                               .outgoing = -1,
                               .data = bytes,
                               .have = n,
                               .len = n};
    ck_assert_int_eq(watch_input(s->w, &d), 0);
}

static void data(struct scene *s, tick now, int type, uint64_t offset, uint64_t cp, uint64_t rpt)
{
    static const uint8_t bytes[10];
    seen(s, now, false,
         &(struct ltp_segment){.type = (uint8_t)type,
                               .id = {1, 7},
                               .client_service = 1,
                               .offset = offset,
                               .data = slice_of(bytes, sizeof bytes),
                               .cp_serial = cp,
                               .rpt_serial = rpt});
}

static void report(struct scene *s, tick now, uint64_t serial, uint64_t cp, uint64_t lower,
                   uint64_t upper, uint64_t claimed)
{
    uint8_t bytes[64];
    struct range claim = {lower, lower + claimed};
    struct ltp_segment r = {.type = LTP_RS,
                            .id = {1, 7},
                            .cp_serial = cp,
                            .rpt_serial = serial,
                            .lower = lower,
                            .upper = upper,
                            .claim_count = 1};
    ck_assert_uint_gt(segment_write_report(&r, &claim, bytes, sizeof bytes), 0);
    seen(s, now, true, &r);
}

static void control(struct scene *s, tick now, bool back, int type, uint64_t serial, uint8_t reason)
{
    seen(s, now, back,
         &(struct ltp_segment){
             .type = (uint8_t)type, .id = {1, 7}, .rpt_serial = serial, .reason = reason});
}

/* All rows: time, direction, type or word, cause; one by one. */
static const char *rows(struct scene *s)
{
    const struct seglog_row *row;
    ck_assert_int_eq(watch_end(s->w), 0);
    while (watch_row(s->w, &row) == 1) {
        char line[EVENT_CSV_MAX], *field[22], *at = line;
        line[event_csv(&row->event, row->node, 0, line) - 1] = '\0';
        for (int i = 0; i < 22; i++)
            field[i] = strsep(&at, ",");
        s->len += (size_t)snprintf(s->text + s->len, sizeof s->text - s->len, "%s %s@%s %s%s%s\n",
                                   field[0], field[1], field[2], field[7],
                                   field[7][0] != '\0' ? " " : "", field[20]);
    }
    watch_free(s->w);
    return s->text;
}

/* A gap, a lost checkpoint whose timer runs out, a copy of the next one. */
static void exchange(struct scene *s, bool sender)
{
    tick d = sender ? 0 : 10;
    data(s, 100 + d, LTP_RED, 0, 0, 0);
    if (sender) {
        data(s, 101, LTP_RED, 10, 0, 0);
        data(s, 102, LTP_RED_CP_EOB, 20, 50, 0);
    }
    data(s, 132 + d, LTP_RED_CP_EOB, 20, 50, 0);
    report(s, 152 - d, 90, 50, 0, 30, 10);
    control(s, 152 + d, false, LTP_RA, 90, 0);
    data(s, 153 + d, LTP_RED_CP, 10, 51, 90);
    if (!sender)
        report(s, 163, 91, 51, 0, 30, 30);
    data(s, 155 + d, LTP_RED_CP, 10, 51, 90);
    if (sender)
        report(s, 173, 91, 51, 0, 30, 30);
    control(s, 173 + d, false, LTP_RA, 91, 0);
}

START_TEST(rows_of_the_sender)
{
    struct scene s;
    begin(&s, WATCH_SENDER);
    exchange(&s, true);
    ck_assert_str_eq(rows(&s), "100 open@1 \n"
                               "100 tx@1 red_data first\n"
                               "101 tx@1 red_data first\n"
                               "102 tx@1 red_cp_eob first\n"
                               "132 timer@1 checkpoint\n"
                               "132 tx@1 red_cp_eob timer\n"
                               "152 rx@1 report ok\n"
                               "152 tx@1 report_ack first\n"
                               "153 tx@1 red_cp report\n"
                               "155 tx@1 red_cp proactive\n"
                               "173 close@1 done\n"
                               "173 rx@1 report ok\n"
                               "173 tx@1 report_ack first\n");
}
END_TEST

START_TEST(rows_of_the_receiver)
{
    struct scene s;
    begin(&s, WATCH_RECEIVER);
    exchange(&s, false);
    ck_assert_str_eq(rows(&s), "110 open@2 \n"
                               "110 rx@2 red_data ok\n"
                               "142 rx@2 red_cp_eob ok\n"
                               "142 tx@2 report first\n"
                               "162 rx@2 report_ack ok\n"
                               "163 rx@2 red_cp ok\n"
                               "163 tx@2 report first\n"
                               "165 rx@2 red_cp duplicate\n"
                               "183 close@2 done\n"
                               "183 rx@2 report_ack ok\n");
}
END_TEST

/* A report is sent again because its timer ran out, or because it was asked for. */
START_TEST(reports_again)
{
    struct scene s;
    begin(&s, WATCH_RECEIVER);
    data(&s, 100, LTP_RED_CP_EOB, 0, 50, 0);
    report(&s, 100, 90, 50, 0, 10, 10);
    report(&s, 130, 90, 50, 0, 10, 10);
    data(&s, 170, LTP_RED_CP_EOB, 0, 50, 0);
    report(&s, 171, 90, 50, 0, 10, 10);
    control(&s, 181, false, LTP_RA, 90, 0);
    data(&s, 190, LTP_RED_CP_EOB, 0, 50, 0);
    ck_assert_str_eq(rows(&s), "100 open@2 \n"
                               "100 rx@2 red_cp_eob ok\n"
                               "100 tx@2 report first\n"
                               "130 timer@2 report\n"
                               "130 tx@2 report timer\n"
                               "170 rx@2 red_cp_eob duplicate\n"
                               "171 tx@2 report answer\n"
                               "181 close@2 done\n"
                               "181 rx@2 report_ack ok\n"
                               "190 rx@2 red_cp_eob closed_session\n");
}
END_TEST

/* An answered checkpoint has no timer: what comes after the report is a copy, however late. The
 * next one has no answer. */
START_TEST(a_copy_of_an_answered_checkpoint)
{
    struct scene s;
    begin(&s, WATCH_SENDER);
    data(&s, 100, LTP_RED, 0, 0, 0);
    data(&s, 101, LTP_RED_CP_EOB, 10, 50, 0);
    report(&s, 121, 90, 50, 0, 20, 10);
    data(&s, 150, LTP_RED_CP_EOB, 10, 50, 0);
    data(&s, 151, LTP_RED_CP, 10, 51, 90);
    data(&s, 181, LTP_RED_CP, 10, 51, 90);
    ck_assert_str_eq(rows(&s), "100 open@1 \n"
                               "100 tx@1 red_data first\n"
                               "101 tx@1 red_cp_eob first\n"
                               "121 rx@1 report ok\n"
                               "150 tx@1 red_cp_eob proactive\n"
                               "151 tx@1 red_cp report\n"
                               "181 timer@1 checkpoint\n"
                               "181 tx@1 red_cp timer\n");
}
END_TEST

START_TEST(green_closes_with_its_last_segment)
{
    struct scene s;
    for (int at = WATCH_SENDER; at <= WATCH_RECEIVER; at++) {
        bool sender = at == WATCH_SENDER;
        begin(&s, (enum watch_place)at);
        data(&s, 1, LTP_RED_CP_EOB, 0, 50, 0); /* says which end is which */
        data(&s, 3, LTP_GREEN_DATA, 0, 0, 0);
        watch_free(s.w);
        begin(&s, (enum watch_place)at);
        data(&s, 5, LTP_GREEN_DATA, 0, 0, 0);
        data(&s, 6, LTP_GREEN_EOB, 10, 0, 0);
        ck_assert_str_eq(rows(&s), sender ? "5 open@1 \n"
                                            "5 tx@1 green_data first\n"
                                            "6 tx@1 green_eob first\n"
                                            "6 close@1 done\n"
                                          : "5 open@2 \n"
                                            "5 rx@2 green_data ok\n"
                                            "6 close@2 done\n"
                                            "6 rx@2 green_eob ok\n");
    }
}
END_TEST

START_TEST(cancels)
{
    struct scene s;
    begin(&s, WATCH_SENDER);
    data(&s, 1, LTP_RED_CP_EOB, 0, 50, 0);
    data(&s, 41, LTP_RED_CP_EOB, 0, 50, 0);
    control(&s, 81, false, LTP_CS, 0, LTP_RLEXC);
    control(&s, 91, true, LTP_CAS, 0, 0);
    ck_assert_str_eq(rows(&s), "1 open@1 \n"
                               "1 tx@1 red_cp_eob first\n"
                               "41 timer@1 checkpoint\n"
                               "41 tx@1 red_cp_eob timer\n"
                               "81 timer@1 checkpoint\n"
                               "81 close@1 cancelled_local\n"
                               "81 tx@1 cancel_sender first\n"
                               "91 rx@1 cancel_ack_to_sender ok\n");
    begin(&s, WATCH_RECEIVER);
    data(&s, 1, LTP_RED_CP_EOB, 0, 50, 0);
    control(&s, 5, false, LTP_CS, 0, LTP_USR_CNCLD);
    control(&s, 5, true, LTP_CAS, 0, 0);
    ck_assert_str_eq(rows(&s), "1 open@2 \n"
                               "1 rx@2 red_cp_eob ok\n"
                               "5 close@2 cancelled_remote\n"
                               "5 rx@2 cancel_sender ok\n"
                               "5 tx@2 cancel_ack_to_sender first\n");
}
END_TEST

/* A capture that begins in the middle: a session that was not seen to begin is not made up. */
START_TEST(sessions_that_began_before)
{
    struct scene s;
    begin(&s, WATCH_SENDER);
    data(&s, 1, LTP_RED_CP_EOB, 10, 50, 0);
    report(&s, 21, 90, 50, 0, 20, 20);
    ck_assert_str_eq(rows(&s), "1 tx@1 red_cp_eob first\n"
                               "21 rx@1 report unknown_session\n");
}
END_TEST

/* Without a word of where it was taken: the times tell. */
START_TEST(the_place_is_found)
{
    struct scene s;
    for (int sender = 0; sender < 2; sender++) {
        begin(&s, WATCH_AUTO);
        exchange(&s, sender == 1);
        struct watch_view v[2];
        ck_assert_uint_eq(watch_views(s.w, v, 2), 0); /* no row was asked for */
        const struct seglog_row *row;
        watch_end(s.w);
        ck_assert_int_eq(watch_row(s.w, &row), 1);
        ck_assert_uint_eq(watch_views(s.w, v, 0), 1);
        ck_assert_uint_eq(watch_views(s.w, v, 2), 1);
        ck_assert_int_eq(v[0].place, sender == 1 ? WATCH_SENDER : WATCH_RECEIVER);
        ck_assert_int_eq(v[0].how, WATCH_BY_TIMES);
        ck_assert_uint_eq(v[0].sender, 1);
        ck_assert_uint_eq(v[0].receiver, 2);
        ck_assert_uint_eq(v[0].far.ip[3], 2);
        watch_free(s.w);
        begin(&s, WATCH_AUTO);
        exchange(&s, sender == 1);
        ck_assert_ptr_nonnull(strstr(rows(&s), sender == 1 ? "100 open@1" : "110 open@2"));
    }
}
END_TEST

SUITE(tools_watch, t)
{
    tcase_add_test(t, rows_of_the_sender);
    tcase_add_test(t, rows_of_the_receiver);
    tcase_add_test(t, reports_again);
    tcase_add_test(t, a_copy_of_an_answered_checkpoint);
    tcase_add_test(t, green_closes_with_its_last_segment);
    tcase_add_test(t, cancels);
    tcase_add_test(t, sessions_that_began_before);
    tcase_add_test(t, the_place_is_found);
}
