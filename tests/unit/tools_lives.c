/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of bundle logs, read back and refused; and lives that no simulation shows: restarts, lost
 * rows, fragments, keys that are used again. That the table is right for whole runs, and tells
 * nothing that a cut-off log does not know, is e2e_analyze_lives's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"
#include "tools/analyze/bundles/lives.h"

static const char *why(const char *line)
{
    const struct csv_columns all = bundle_columns_all();
    struct bundle_row row;
    const char *text = bundle_row_parse(&all, line, strlen(line), &row);
    return text == NULL ? "" : text;
}

START_TEST(rows_are_read_as_they_were_written)
{
    const struct csv_columns all = bundle_columns_all();
    struct bundle_id id = {.time_ms = 7, .sequence = UINT64_MAX};
    struct eid to;
    ck_assert_int_eq(eid_parse("ipn:1.4", &id.source), 0);
    ck_assert_int_eq(eid_parse("dtn://node/a,\"b", &to), 0);
    struct bundle_event e = {.now = UINT64_MAX - 1,
                             .kind = BUNDLE_CARRIED,
                             .key = 3,
                             .id = &id,
                             .destination = &to,
                             .bytes = 100,
                             .payload = 50,
                             .lifetime_ms = UINT64_MAX,
                             .from = BUNDLE_FROM_LINK,
                             .link = 1,
                             .peer = &id.source,
                             .has_session = true,
                             .originator = UINT64_MAX,
                             .session = 0};
    char line[BUNDLE_EVENT_CSV_MAX];
    for (int kind = 0; kind < BUNDLE_EVENT_COUNT; kind++) {
        struct bundle_row row;
        e.kind = (enum bundle_event_kind)kind;
        e.reason = "NO_ROUTE";
        uint32_t len = bundle_event_csv(&e, "ipn:2.0", "to-3", 0, line);
        ck_assert_ptr_null(bundle_row_parse(&all, line, len - 1, &row));
        ck_assert_int_eq(row.kind, kind);
        ck_assert_uint_eq(row.now, UINT64_MAX - 1);
        ck_assert(row.sequence.known && row.sequence.value == UINT64_MAX);
        ck_assert(row.lifetime_ms.known && row.lifetime_ms.value == UINT64_MAX);
        ck_assert(row.originator.known && row.originator.value == UINT64_MAX);
        ck_assert(row.session.known && row.session.value == 0);
        ck_assert(!row.fragment_offset.known && row.key.value == 3);
        ck_assert_int_eq(row.from, BUNDLE_FROM_LINK);
        ck_assert_uint_eq(row.destination.len, strlen("\"dtn://node/a,\"\"b\""));
        ck_assert_mem_eq(row.destination.at, "\"dtn://node/a,\"\"b\"", row.destination.len);
        ck_assert_mem_eq(row.reason.at, "no_route", row.reason.len);
        ck_assert_mem_eq(row.peer.at, "ipn:1.4", row.peer.len);
    }
    ck_assert(bundle_row_is_header(bundle_event_csv_header, strlen(bundle_event_csv_header) - 1));
    ck_assert(!bundle_row_is_header("t_ns", 4));
}
END_TEST

static const char *parse_by(const char *names, const char *line, struct bundle_row *row)
{
    struct csv_columns columns;
    ck_assert(bundle_row_is_header(names, strlen(names)));
    const char *why = bundle_columns_parse(names, strlen(names), &columns);
    return why != NULL ? why : bundle_row_parse(&columns, line, strlen(line), row);
}

START_TEST(columns_are_found_by_name)
{
    struct bundle_row row;
    /* fewer columns than today, in another order, and one that is not known */
    static const char names[] =
        "event,later,t_ns,from,node,key,source,created_ms,sequence,destination,reason";
    ck_assert_ptr_null(
        parse_by(names, "ended,\"a,b\",5,link,ipn:2.0,7,ipn:1.4,1,2,ipn:3.5,expired", &row));
    ck_assert_int_eq(row.kind, BUNDLE_ENDED);
    ck_assert_uint_eq(row.now, 5);
    ck_assert(row.key.known && row.key.value == 7);
    ck_assert_uint_eq(row.reason.len, strlen("expired"));
    ck_assert(!row.bytes.known && row.link.len == 0 && row.peer.len == 0);
    ck_assert_str_eq(parse_by(names, "ended,,5,link,ipn:2.0,7,ipn:1.4,1,2,ipn:3.5", &row),
                     "too few columns");
    ck_assert_str_eq(parse_by("t_ns,event,node", "", &row), "no column `from`");
    ck_assert_str_eq(parse_by("t_ns,event,key,from,key", "", &row),
                     "a column name that is there twice");
}
END_TEST

START_TEST(what_is_no_row_says_why)
{
    ck_assert_str_eq(why("1,sent,n,1,s,0,0,,,d,1,1,1,link,l,p,,,,"), "");
    ck_assert_str_eq(why("1,sent,n,1,s,0,0,,,d,1,1,1,link,l,p,,,"), "too few columns");
    ck_assert_str_eq(why("1,sent,n,1,s,0,0,,,d,1,1,1,link,l,p,,,,,"), "too many columns");
    ck_assert_str_eq(why("1,went,n,1,s,0,0,,,d,1,1,1,link,l,p,,,,"), "an unknown word in `event`");
    ck_assert_str_eq(why("1,sent,n,1,s,0,0,,,d,1,1,1,air,l,p,,,,"), "an unknown word in `from`");
    ck_assert_str_eq(why(",sent,n,1,s,0,0,,,d,1,1,1,link,l,p,,,,"), "no time or no node");
    ck_assert_str_eq(why("1,sent,,1,s,0,0,,,d,1,1,1,link,l,p,,,,"), "no time or no node");
    ck_assert_str_eq(why("1,sent,n,,s,0,0,,,d,1,1,1,link,l,p,,,,"), "no key");
    ck_assert_str_eq(why("1,sent,n,0,s,0,0,,,d,1,1,1,link,l,p,,,,"), "no key");
    ck_assert_str_eq(why("1,sent,n,1,,0,0,,,d,1,1,1,link,l,p,,,,"), "no bundle");
    ck_assert_str_eq(why("1,sent,n,1,s,0,0,5,,d,1,1,1,link,l,p,,,,"), "no bundle");
    ck_assert_str_eq(why("1,carried,n,1,s,0,0,,,d,1,1,1,link,l,p,,7,,"), "no session");
    ck_assert_str_eq(why("1,ended,n,1,s,0,0,,,d,1,1,1,link,l,p,,,,"), "no reason");
    ck_assert_str_eq(why("1,sent,\"n,1,s,0,0,,,d,1,1,1,link,l,p,,,,"), "a quote without its end");
    ck_assert_str_eq(why("18446744073709551616,sent,n,1,s,0,0,,,d,1,1,1,link,l,p,,,,"),
                     "a number above 2^64 - 1");
    ck_assert_str_eq(why("x,sent,n,1,s,0,0,,,d,1,1,1,link,l,p,,,,"), "not a number");
    char *line = malloc(BUNDLE_LINE_MAX + 2);
    ck_assert_ptr_nonnull(line);
    memset(line, '1', BUNDLE_LINE_MAX + 1);
    line[BUNDLE_LINE_MAX + 1] = '\0';
    ck_assert_str_eq(why(line), "a line longer than 4096 bytes");
    free(line);
}
END_TEST

static struct lives lives;

/* Rows in short: "t event key rest"; a bundle of node 1 at node `at`, whose sequence is its key. */
static void tell(const char *at, tick now, const char *event, unsigned key, const char *from,
                 const char *peer, const char *reason)
{
    const struct csv_columns all = bundle_columns_all();
    char line[256];
    struct bundle_row row;
    bool carried = strcmp(event, "carried") == 0;
    snprintf(line, sizeof line, "%llu,%s,%s,%u,ipn:1.1,5,%u,,,ipn:9.9,100,50,60000,%s,%s,%s,,%s,%s",
             (unsigned long long)now, event, at, key, key, from, *peer != '\0' ? "a-link" : "",
             peer, carried ? "1,7" : ",", reason);
    const char *text = bundle_row_parse(&all, line, strlen(line), &row);
    ck_assert_msg(text == NULL, "%s: %s", line, text);
    ck_assert_int_eq(lives_row(&lives, &row), 0);
}

static void app(tick now, const char *event, const char *reason)
{
    bool link = strcmp(event, "sent") == 0 || strcmp(event, "carried") == 0;
    tell("ipn:1.0", now, event, 1, "application", link ? "ipn:2.0" : "", reason);
}

static void start(void)
{
    ck_assert_int_eq(lives_init(&lives), 0);
}

static void fini(void)
{
    lives_fini(&lives);
}

START_TEST(each_part_has_its_time)
{
    app(100, "accepted", "");
    app(103, "stored", "");
    app(103, "waiting", "");
    app(110, "queued", "");
    app(150, "sent", "");
    app(151, "carried", "");
    app(160, "failed", "no_answer");
    app(260, "sent", "");
    app(265, "carried", "");
    app(300, "acknowledged", "");
    app(300, "ended", "forwarded");
    const struct analyze_session session = {.originator = 1,
                                            .number = 7,
                                            .sender_log = true,
                                            .sender_closed = true,
                                            .opened = 265,
                                            .first_tx = 270,
                                            .closed = 300,
                                            .rounds.most = 2,
                                            .outcome = OUTCOME_DONE};
    lives_session(&lives, &session);
    lives_end(&lives);
    ck_assert_uint_eq(lives.len, 1);
    const struct stay *s = lives.stays[0];
    ck_assert(stay_is_known(s));
    static const tick spent[LIFE_PARTS] = {3, 7, 140, 6, 44, 0};
    for (int i = 0; i < LIFE_PARTS; i++)
        ck_assert_uint_eq(s->spent[i], spent[i]);
    ck_assert_uint_eq(s->tries, 2);
    ck_assert_uint_eq(s->failed, 1);
    ck_assert_uint_eq(s->hop, 1);
    ck_assert(s->session_known && s->cycles == 2);
    ck_assert_uint_eq(s->session_wait, 5);
    ck_assert_uint_eq(s->session_time, 30);
    ck_assert_str_eq(s->end, "forwarded");
}
END_TEST

START_TEST(a_restart_leaves_a_gap)
{
    app(100, "accepted", "");
    app(103, "stored", "");
    app(103, "queued", "");
    app(150, "sent", "");
    app(900, "restored", "");
    app(900, "queued", "");
    app(950, "sent", "");
    app(990, "acknowledged", "");
    app(990, "ended", "forwarded");
    lives_end(&lives);
    ck_assert_uint_eq(lives.len, 1);
    const struct stay *s = lives.stays[0];
    ck_assert(stay_is_whole(s) && !stay_is_known(s)); /* how long it did not run nobody knows */
    ck_assert_uint_eq(s->ended - s->begun, 890);
    ck_assert_uint_eq(s->restarts, 1);
}
END_TEST

START_TEST(a_key_of_another_life_is_another_stay)
{
    app(100, "accepted", "");
    app(103, "stored", "");
    app(200, "accepted", ""); /* nothing is stored: the node begins at key 1 again */
    app(201, "stored", "");
    app(201, "queued", "");
    app(260, "ended", "expired");
    lives_end(&lives);
    ck_assert_uint_eq(lives.len, 2);
    ck_assert(!stay_is_whole(lives.stays[0]) && stay_is_known(lives.stays[1]));
    ck_assert_uint_eq(lives.stays[1]->begun, 200);
}
END_TEST

START_TEST(lost_rows_are_no_guess)
{
    app(100, "accepted", "");
    app(103, "stored", "");
    app(103, "queued", "");
    app(150, "sent", "");
    app(260, "sent", ""); /* what came of the first try is not there */
    app(300, "acknowledged", "");
    app(300, "ended", "forwarded");
    tell("ipn:2.0", 280, "stored", 1, "link", "", ""); /* and the beginning there is not */
    tell("ipn:2.0", 281, "ended", 1, "link", "", "deleted");
    lives_end(&lives);
    ck_assert_uint_eq(lives.len, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert(!stay_is_known(lives.stays[i]));
        ck_assert_ptr_null(lives.stays[i]->next);
    }
    ck_assert_uint_eq(lives.strange, 1);
}
END_TEST

static void pass_through(const char *node, tick now, unsigned key, const char *from)
{
    tell(node, now, "accepted", key, "link", from, "");
    tell(node, now + 1, "stored", key, "link", "", "");
    tell(node, now + 1, "queued", key, "link", "", "");
}

/* Both ends have to name each other: a node whose log is not there makes no shorter way. */
START_TEST(a_way_is_what_both_ends_say)
{
    app(100, "accepted", "");
    app(101, "stored", "");
    app(101, "queued", "");
    app(102, "sent", "");
    app(150, "acknowledged", "");
    app(150, "ended", "forwarded");
    pass_through("ipn:3.0", 140, 1, "ipn:2.0");
    tell("ipn:3.0", 142, "handed", 1, "link", "", "");
    tell("ipn:3.0", 145, "delivered", 1, "link", "", "");
    tell("ipn:3.0", 145, "ended", 1, "link", "", "delivered");
    lives_end(&lives);
    ck_assert_uint_eq(lives.len, 2);
    ck_assert_ptr_null(lives.stays[0]->next);
    ck_assert_uint_eq(lives.stays[0]->hop, 1);
    ck_assert_uint_eq(lives.stays[1]->hop, 0);
    ck_assert_uint_eq(lives.stays[1]->total, 45); /* that both ends' rows tell */
    fini();
    start();
    app(100, "accepted", "");
    app(101, "stored", "");
    app(101, "queued", "");
    app(102, "sent", "");
    app(150, "acknowledged", "");
    app(150, "ended", "forwarded");
    pass_through("ipn:2.0", 120, 1, "ipn:1.0");
    lives_end(&lives);
    ck_assert_ptr_eq(lives.stays[0]->next, lives.stays[1]);
    ck_assert_uint_eq(lives.stays[1]->hop, 2);
}
END_TEST

/* The first try arrived, but its acknowledgement did not: where it was then is known, how long the
 * last try took is not. */
START_TEST(what_an_earlier_try_brought_has_its_number)
{
    app(100, "accepted", "");
    app(101, "stored", "");
    app(101, "queued", "");
    app(102, "sent", "");
    app(150, "failed", "");
    app(160, "sent", "");
    app(190, "acknowledged", "");
    app(190, "ended", "forwarded");
    for (tick came = 140; came <= 200; came += 30) { /* the last one after all tries of that stay */
        pass_through("ipn:2.0", came, 1, "ipn:1.0");
        tell("ipn:2.0", came + 9, "ended", 1, "link", "", "expired");
    }
    lives_end(&lives);
    ck_assert_uint_eq(lives.len, 4);
    ck_assert_uint_eq(lives.stays[1]->hop, 2);
    ck_assert_uint_eq(lives.stays[2]->hop, 2);
    ck_assert_ptr_eq(lives.stays[0]->next, lives.stays[2]);
    ck_assert_uint_eq(lives.stays[3]->hop, 0);
}
END_TEST

START_TEST(what_the_store_refused_ended_so)
{
    app(100, "accepted", "");
    app(140, "refused", "store");
    lives_end(&lives);
    ck_assert_str_eq(lives.stays[0]->end, "not_stored");
    ck_assert(stay_is_known(lives.stays[0]));
    ck_assert_uint_eq(lives.stays[0]->spent[LIFE_STORE], 40);
    ck_assert_uint_eq(lives.refused, 1);
}
END_TEST

SUITE_PART(tools_lives, rows, t)
{
    tcase_add_test(t, rows_are_read_as_they_were_written);
    tcase_add_test(t, columns_are_found_by_name);
    tcase_add_test(t, what_is_no_row_says_why);
}

SUITE_PART(tools_lives, lives, t)
{
    tcase_add_checked_fixture(t, start, fini);
    tcase_add_test(t, each_part_has_its_time);
    tcase_add_test(t, a_restart_leaves_a_gap);
    tcase_add_test(t, a_key_of_another_life_is_another_stay);
    tcase_add_test(t, lost_rows_are_no_guess);
    tcase_add_test(t, a_way_is_what_both_ends_say);
    tcase_add_test(t, what_an_earlier_try_brought_has_its_number);
    tcase_add_test(t, what_the_store_refused_ended_so);
}
