/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle log: what it says of the life of a bundle, and its line. That it agrees with the
 * counters after every step of random histories is unit_bp_agent_balance's.
 */
#include "bp/agent/event_columns.h"
#include "bp_agent_piece.h"
#include "bp_log_books.h"
#include "tests/unit/suite.h"

struct log {
    size_t len;
    char text[8192];
};

/* "event key link reason", as far as they are there. */
static void take_words(void *context, const struct bundle_event *e)
{
    struct log *l = context;
    int n = snprintf(l->text + l->len, sizeof l->text - l->len, "%s", bundle_event_word(e->kind));
    l->len += (size_t)n;
    if (e->key != 0)
        l->len += (size_t)snprintf(l->text + l->len, 64, " %llu", (unsigned long long)e->key);
    if (e->link >= 0)
        l->len += (size_t)snprintf(l->text + l->len, 64, " on %d", e->link);
    if (e->has_session)
        l->len +=
            (size_t)snprintf(l->text + l->len, 64, " by %llu:%llu",
                             (unsigned long long)e->originator, (unsigned long long)e->session);
    if (e->registration != 0)
        l->len +=
            (size_t)snprintf(l->text + l->len, 64, " to %llu", (unsigned long long)e->registration);
    if (e->reason != NULL)
        l->len += (size_t)snprintf(l->text + l->len, 64, " (%s)", e->reason);
    l->len += (size_t)snprintf(l->text + l->len, 64, "\n");
    ck_assert_uint_lt(l->len, sizeof l->text - 512);
}

static void says(struct log *l, const char *text)
{
    ck_assert_str_eq(l->text, text);
    l->len = 0;
    l->text[0] = '\0';
}

static struct agent_config logged(struct log *l)
{
    struct agent_config c = config_of("ipn:2.0");
    *l = (struct log){0};
    c.sink = take_words;
    c.sink_context = l;
    return c;
}

START_TEST(the_life_of_a_bundle_that_goes_on)
{
    struct binder n;
    struct log l;
    struct agent_config c = logged(&l);
    c.status_reports = true;
    relay_init(&n, &c);
    agent_link(n.a, 0, true, n.now);
    agent_link(n.a, 1, true, n.now);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    b.flags = BUNDLE_REPORT_FORWARDING;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    says(&l, "accepted 1 on 0\n");
    drain(&n);
    says(&l, "stored 1\nqueued 1 on 1\nsent 1 on 1\n");
    agent_carried(n.a, 1, 2, 77, n.now);
    agent_carried(n.a, 9, 2, 78, n.now); /* nobody */
    agent_failed(n.a, 1, "no answer", n.now);
    says(&l, "carried 1 on 1 by 2:77\nfailed 1 on 1 (no answer)\n");
    pass(&n, TICK_S);
    drain(&n);
    agent_sent(n.a, 1, true, n.now);
    agent_carried(n.a, 1, 2, 79, n.now); /* not any more */
    says(&l, "sent 1 on 1\nacknowledged 1 on 1\naccepted 2\nreported (forwarded)\n"
             "ended 1 on 1 (forwarded)\n");
    drain(&n);
    says(&l, "stored 2\nqueued 2 on 0\nsent 2 on 0\n");
    binder_fini(&n);
}
END_TEST

START_TEST(what_is_refused_says_why)
{
    struct binder n;
    struct log l;
    struct agent_config c = logged(&l);
    relay_init(&n, &c);
    struct agent_request q = request_of("ipn:2.7", "ipn:9.9", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NO_ROUTE);
    struct buf *junk = payload_of("junk");
    ck_assert_int_eq(agent_receive(n.a, 0, junk, 1, n.now), REFUSE_MALFORMED);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    n.store_fails = true;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    drain(&n);
    says(&l, "refused (NO_ROUTE)\nrefused on 0 (MALFORMED)\naccepted 1 on 0\nrefused 1 (STORE)\n");
    binder_fini(&n);
}
END_TEST

START_TEST(what_is_delivered_here)
{
    struct binder n;
    struct log l;
    struct agent_config c = logged(&l);
    relay_init(&n, &c);
    struct eid here = eid_of("ipn:2.5");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    b.lifetime_ms = 5000;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    drain(&n);
    ck_assert_int_eq(agent_register(n.a, 9, &here, 1, n.now), 0);
    drain(&n);
    agent_delivered(n.a, 1, false, n.now);
    says(&l, "accepted 1 on 0\nstored 1\nqueued 1\nhanded 1 to 9\ndeclined 1 to 9 (refused by the "
             "application)\n");
    agent_unregister(n.a, 9, n.now);
    ck_assert_int_eq(agent_register(n.a, 10, &here, 1, n.now), 0);
    drain(&n);
    agent_delivered(n.a, 1, true, n.now);
    says(&l, "handed 1 to 10\ndelivered 1 to 10\nended 1 (delivered)\n");
    b.id.sequence = 2;
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    drain(&n);
    agent_unregister(n.a, 10, n.now);
    pass(&n, 5 * TICK_S);
    says(&l, "accepted 2 on 0\nstored 2\nqueued 2\nhanded 2 to 10\n"
             "declined 2 to 10 (application is gone)\nended 2 (expired)\n");
    binder_fini(&n);
}
END_TEST

START_TEST(what_waits_apart_says_so_once)
{
    struct binder n;
    struct log l;
    struct agent_config c = logged(&l);
    relay_init(&n, &c);
    struct eid_pattern three;
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &three), 0);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    drain(&n);
    ck_assert_int_eq(agent_route_remove(n.a, &three, 1), 0);
    for (int i = 0; i < 5; i++) {
        agent_reroute(n.a);
        pass(&n, TICK_S);
    }
    says(&l, "accepted 1\nstored 1\nqueued 1 on 1\nwaiting 1\n");
    binder_restart(&n, &c);
    says(&l, "restored 1\n");
    relay_ways(&n);
    pass(&n, TICK_S);
    ck_assert_int_eq(agent_delete(n.a, 1, n.now), 0);
    says(&l, "queued 1 on 1\nended 1 on 1 (deleted)\n");
    binder_fini(&n);
}
END_TEST

START_TEST(fragments_make_a_bundle)
{
    struct binder n;
    struct log l;
    struct agent_config c = logged(&l);
    relay_init(&n, &c);
    listen(&n, 1);
    piece(&n, 1, 0, 7);
    piece(&n, 1, 7, 20);
    drain(&n);
    agent_delivered(n.a, 3, true, n.now);
    says(&l, "accepted 1 on 0\naccepted 2 on 0\nstored 1\nstored 2\nassembled 3\nqueued 3\n"
             "handed 3 to 9\ndelivered 3 to 9\nended 3 (delivered)\nended 1 (delivered)\n"
             "ended 2 (delivered)\n");
    binder_fini(&n);
}
END_TEST

START_TEST(one_that_goes_in_fragments_says_so)
{
    static char text[1001];
    struct binder n;
    struct log l;
    struct agent_config c = logged(&l);
    relay_init(&n, &c);
    agent_link_limit(n.a, 1, 600, n.now);
    agent_link(n.a, 1, true, n.now);
    memset(text, 'x', 1000);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    ck_assert_int_eq(app_send(&n, &q, text), REFUSE_NONE);
    drain(&n);
    agent_sent(n.a, 1, true, n.now);
    drain(&n);
    agent_sent(n.a, 1, true, n.now);
    says(&l, "accepted 1\nstored 1\nqueued 1 on 1\nsent 1 on 1\nfragmented 1 on 1\n"
             "sent 1 on 1\nacknowledged 1 on 1\nended 1 on 1 (forwarded)\n");
    binder_fini(&n);
}
END_TEST

static void line_is(const struct bundle_event *e, const char *node, const char *link,
                    const char *text)
{
    char out[BUNDLE_EVENT_CSV_MAX + 1];
    uint32_t len = bundle_event_csv(e, node, link, 1000, out);
    out[len] = '\0';
    ck_assert_str_eq(out, text);
}

START_TEST(a_line_has_its_columns)
{
    struct bundle_id id = {.source = eid_of("ipn:1.4"), .time_ms = 7, .sequence = 8};
    struct eid to = eid_of("dtn://node/a,\"b\"");
    struct bundle_event e = {.now = 234,
                             .kind = BUNDLE_CARRIED,
                             .key = 3,
                             .id = &id,
                             .destination = &to,
                             .bytes = 100,
                             .payload = 50,
                             .lifetime_ms = 60000,
                             .from = BUNDLE_FROM_LINK,
                             .link = 1,
                             .peer = &id.source,
                             .has_session = true,
                             .originator = 0,
                             .session = UINT64_MAX};
    line_is(&e, "ipn:2.0", "to-3",
            "1234,carried,ipn:2.0,3,ipn:1.4,7,8,,,\"dtn://node/a,\"\"b\"\"\",100,50,60000,link,"
            "to-3,ipn:1.4,,0,18446744073709551615,\n");
    id.fragment = true;
    id.offset = 0;
    id.total = 99;
    e.has_session = false;
    e.kind = BUNDLE_FAILED;
    e.reason = "Too many retransmission cycles, it says";
    line_is(&e, "dtn://two/", "a,b",
            "1234,failed,dtn://two/,3,ipn:1.4,7,8,0,99,\"dtn://node/a,\"\"b\"\"\",100,50,60000,"
            "link,\"a,b\",ipn:1.4,,,,too_many_retransmission_cycles__it_says\n");
    struct bundle_event none = {.kind = BUNDLE_REFUSED, .link = -1, .reason = "MALFORMED"};
    line_is(&none, "ipn:2.0", NULL, "1000,refused,ipn:2.0,,,,,,,,,,,node,,,,,,malformed\n");
    unsigned columns = 1;
    for (const char *p = bundle_event_csv_header; *p != '\0'; p++)
        columns += *p == ',';
    ck_assert_uint_eq(columns, LOG_COLUMNS);
}
END_TEST

/* Everything as long as it can be. */
START_TEST(the_longest_line_fits)
{
    char ssp[EID_TEXT_MAX], text[EID_TEXT_MAX], reason[200], link[100];
    memset(ssp, '"', sizeof ssp);
    memcpy(ssp, "dtn://", 6);
    ssp[EID_TEXT_MAX - 8] = '\0';
    ssp[20] = '/';
    struct eid e = eid_of("dtn://none-yet/");
    size_t len = EID_TEXT_MAX - 1;
    while (len > 8 && eid_parse(ssp, &e) < 0) /* the longest that is one */
        ssp[--len] = '\0';
    eid_text(&e, text);
    memset(reason, 'X', sizeof reason);
    memset(link, '"', sizeof link);
    reason[199] = link[99] = '\0';
    struct bundle_id id = {.source = e,
                           .time_ms = UINT64_MAX,
                           .sequence = UINT64_MAX,
                           .fragment = true,
                           .offset = UINT64_MAX,
                           .total = UINT64_MAX};
    struct bundle_event ev = {.now = UINT64_MAX - 1000,
                              .kind = BUNDLE_ACKNOWLEDGED,
                              .key = UINT64_MAX,
                              .id = &id,
                              .destination = &e,
                              .bytes = UINT64_MAX,
                              .payload = UINT64_MAX,
                              .lifetime_ms = UINT64_MAX,
                              .from = BUNDLE_FROM_APPLICATION,
                              .peer = &e,
                              .has_session = true,
                              .originator = UINT64_MAX,
                              .session = UINT64_MAX,
                              .reason = reason};
    char out[BUNDLE_EVENT_CSV_MAX];
    uint32_t n = bundle_event_csv(&ev, text, link, 0, out);
    ck_assert_uint_gt(n, 400);
    ck_assert_uint_le(n, BUNDLE_EVENT_CSV_MAX);
    ck_assert_int_eq(out[n - 1], '\n');
}
END_TEST

/* One row of the page's table: the column and its meaning, as the table of the log has them. */
static void expect_column(const char *page, const char *name, const char *meaning)
{
    char row[512];
    snprintf(row, sizeof row, "| `%s` | %s |\n", name, meaning);
    ck_assert_msg(strstr(page, row) != NULL, "%s has no row %s", BUNDLE_LOG_PAGE, row);
}

static void expect_word(const char *page, const char *word)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "`%s`", word);
    ck_assert_msg(strstr(page, quoted) != NULL, "%s has no %s", BUNDLE_LOG_PAGE, quoted);
}

START_TEST(page_has_every_word)
{
    static char page[1 << 16];
    FILE *f = fopen(BUNDLE_LOG_PAGE, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_gt(fread(page, 1, sizeof page - 1, f), 0);
    fclose(f);
#define EXPECT(name, kind, value, known, meaning) expect_column(page, #name, meaning);
    BUNDLE_COLUMNS(EXPECT)
#undef EXPECT
    for (int kind = 0; kind < BUNDLE_EVENT_COUNT; kind++)
        expect_word(page, bundle_event_word((enum bundle_event_kind)kind));
    for (int end = 0; end < END_NOT_STORED; end++) /* what was never stored has no `ended` */
        expect_word(page, agent_end_text((enum agent_end)end));
}
END_TEST

SUITE(bp_event, t)
{
    tcase_add_test(t, the_life_of_a_bundle_that_goes_on);
    tcase_add_test(t, what_is_refused_says_why);
    tcase_add_test(t, what_is_delivered_here);
    tcase_add_test(t, what_waits_apart_says_so_once);
    tcase_add_test(t, fragments_make_a_bundle);
    tcase_add_test(t, one_that_goes_in_fragments_says_so);
    tcase_add_test(t, a_line_has_its_columns);
    tcase_add_test(t, the_longest_line_fits);
    tcase_add_test(t, page_has_every_word);
}
