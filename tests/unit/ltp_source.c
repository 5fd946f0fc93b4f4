/* SPDX-License-Identifier: Apache-2.0 */
/* Segments in a peer's name from elsewhere: refused before they have any effect. */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define HOME "host:port"
#define HOST 4 /* bytes of HOME that must be equal */

static struct slice bytes_of(const char *text)
{
    return slice_of(text, strlen(text));
}

/* Engine 1 with peers 2 … 4: two of one host, and one that may come from anywhere. */
static struct ltp *engine_new(void)
{
    struct ltp_config config = {.engine = 1, .seed = 3};
    struct ltp *l;
    ck_assert_int_eq(ltp_new(&l, &config), 0);
    for (uint64_t peer = 2; peer <= 4; peer++) {
        struct ltp_span span = pair_span(peer);
        ck_assert_int_eq(ltp_span_set(l, &span, 0), 0);
        ck_assert_int_eq(ltp_link(l, peer, true, 0), 0);
    }
    ck_assert_int_eq(ltp_source(l, 2, bytes_of(HOME), HOST), 0);
    ck_assert_int_eq(ltp_source(l, 3, bytes_of("host:else"), HOST), 0);
    ck_assert_int_eq(ltp_source(l, 4, bytes_of("away"), 0), 0);
    return l;
}

static enum verdict from(struct ltp *l, const char *source, const struct ltp_segment *s)
{
    uint8_t bytes[2000];
    size_t len = segment_write(s, bytes, sizeof bytes);
    enum verdict v = ltp_input_from(l, bytes, len, bytes_of(source), TICK_MS);
    ltp_check(l);
    return v;
}

static enum verdict report_from(struct ltp *l, const char *source, struct ltp_session_id id)
{
    static const struct range claim = {0, 100};
    struct ltp_segment rs = {
        .type = LTP_RS, .id = id, .rpt_serial = 5, .cp_serial = 6, .upper = 100, .claim_count = 1};
    uint8_t bytes[200];
    size_t len = segment_write_report(&rs, &claim, bytes, sizeof bytes);
    enum verdict v = ltp_input_from(l, bytes, len, bytes_of(source), TICK_MS);
    ltp_check(l);
    return v;
}

static struct ltp_segment data_of(uint64_t engine, uint64_t number)
{
    struct ltp_segment s = pair_data(number, LTP_RED_CP, 0, 100);
    s.id.originator = engine;
    return s;
}

static int waits_for(struct ltp *l, uint64_t peer)
{
    uint8_t head[1400];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    return ltp_output(l, peer, TICK_MS, &out) != 0 ? head[0] & 15 : -1;
}

START_TEST(data)
{
    struct ltp *l = engine_new();
    struct ltp_segment s = data_of(2, 1);
    ck_assert_uint_eq(ltp_refused_peer(l), 0);
    static const char *const wrong[] = {"hose:port", "hos", "", "elsewhere"};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(from(l, wrong[i], &s), VERDICT_WRONG_SOURCE);
    ck_assert_uint_eq(ltp_refused_peer(l), 2);
    struct ltp_watch w;
    struct ltp_span_counters n;
    ck_assert_int_eq(ltp_watch(l, 2, &w), 0);
    ck_assert_int_eq(ltp_span_counters(l, 2, &n), 0);
    ck_assert_uint_eq(w.heard, TICK_NEVER);
    ck_assert_uint_eq(w.rx_bytes, 0);
    ck_assert_uint_eq(n.input_seg_stray_count, 0);
    ck_assert_uint_eq(ltp_counters(l)->opened_import, 0);
    ck_assert_uint_eq(ltp_counters(l)->verdicts[VERDICT_WRONG_SOURCE], 4);
    ck_assert_int_eq(from(l, HOME, &s), VERDICT_OK);
    ck_assert_int_eq(from(l, "hosts port is another", &s), VERDICT_DUPLICATE);
    /* what it opened goes on from there alone, and so do its cancels and acknowledgements */
    struct ltp_segment more = pair_data(1, LTP_RED, 100, 100);
    more.id.originator = 2;
    ck_assert_int_eq(from(l, "elsewhere", &more), VERDICT_WRONG_SOURCE);
    struct ltp_segment cs = {.type = LTP_CS, .id = {2, 1}};
    ck_assert_int_eq(from(l, "elsewhere", &cs), VERDICT_WRONG_SOURCE);
    cs.id.number = 99;
    ck_assert_int_eq(from(l, "elsewhere", &cs), VERDICT_WRONG_SOURCE);
    for (uint64_t serial = 1; serial <= 8192; serial++) {
        struct ltp_segment ra = {.type = LTP_RA, .id = {2, 1}, .rpt_serial = serial};
        uint8_t bytes[100];
        size_t len = segment_write(&ra, bytes, sizeof bytes);
        ck_assert_int_eq(ltp_input_from(l, bytes, len, bytes_of("elsewhere"), TICK_MS),
                         VERDICT_WRONG_SOURCE);
    }
    ck_assert_int_eq(waits_for(l, 2), LTP_RS);
    /* other peers' rules are theirs */
    s = data_of(4, 1);
    ck_assert_int_eq(from(l, "elsewhere", &s), VERDICT_OK);
    ltp_free(l);
}
END_TEST

/* Reports and cancels of our sessions: known ones by whom they go to, others by their source. */
START_TEST(answers)
{
    struct ltp *l = engine_new();
    struct buf *b = pair_block(100, 1);
    struct ltp_block block = {.peer = 2, .client_service = 1, .data = b, .red_len = 100};
    struct ltp_session_id id, unknown = {1, 77};
    ck_assert_int_eq(ltp_send(l, &block, 0, &id), 0);
    buf_drop(b);
    ck_assert_int_eq(waits_for(l, 2), LTP_RED_CP_EOB);
    struct ltp_segment cr = {.type = LTP_CR, .id = id};
    ck_assert_int_eq(report_from(l, "elsewhere", id), VERDICT_WRONG_SOURCE);
    ck_assert_int_eq(from(l, "elsewhere", &cr), VERDICT_WRONG_SOURCE);
    ck_assert_int_eq(from(l, "away", &cr), VERDICT_WRONG_SOURCE);
    ck_assert_int_eq(report_from(l, "hosts other port", id), VERDICT_BAD_REPORT);
    ck_assert_int_eq(waits_for(l, 2), -1);
    /* unknown ones: by the whole source, else by what must be equal, unless that fits two */
    ck_assert_int_eq(report_from(l, HOME, unknown), VERDICT_UNKNOWN_SESSION);
    ck_assert_int_eq(waits_for(l, 2), LTP_RA);
    ck_assert_int_eq(report_from(l, "host:else", unknown), VERDICT_UNKNOWN_SESSION);
    ck_assert_int_eq(waits_for(l, 3), LTP_RA);
    ck_assert_int_eq(report_from(l, "hosts other port", unknown), VERDICT_UNKNOWN_SESSION);
    ck_assert_int_eq(waits_for(l, 2), -1);
    ck_assert_int_eq(waits_for(l, 3), -1);
    ck_assert_int_eq(ltp_span_remove(l, 3, TICK_MS), 0);
    ltp_check(l);
    ck_assert_int_eq(report_from(l, "hosts other port", unknown), VERDICT_UNKNOWN_SESSION);
    ck_assert_int_eq(waits_for(l, 2), LTP_RA);
    ck_assert_int_eq(ltp_span_remove(l, 4, TICK_MS), 0);
    ck_assert_int_eq(report_from(l, "elsewhere", unknown),
                     VERDICT_WRONG_SOURCE); /* the only peer */
    ltp_free(l);
}
END_TEST

START_TEST(rules)
{
    struct ltp *l = engine_new();
    struct ltp_segment s = data_of(2, 1);
    ck_assert_int_eq(ltp_source(l, 2, bytes_of(HOME), strlen(HOME) + 1), HELIO_EINVAL);
    ck_assert_int_eq(ltp_source(l, 9, bytes_of(HOME), 1), HELIO_ENOENT);
    ck_assert_int_eq(ltp_source(l, 2, bytes_of("elsewhere"), 4), 0); /* it moved */
    ck_assert_int_eq(from(l, HOME, &s), VERDICT_WRONG_SOURCE);
    ck_assert_int_eq(from(l, "elsewhere", &s), VERDICT_OK);
    ck_assert_int_eq(ltp_source(l, 2, bytes_of("elsewhere"), 0), 0);
    ck_assert_int_eq(from(l, HOME, &s), VERDICT_DUPLICATE);
    ck_assert_int_eq(ltp_source(l, 2, bytes_of(HOME), strlen(HOME)), 0);
    ck_assert_int_eq(from(l, "hosts other port", &s), VERDICT_WRONG_SOURCE);
    ck_assert_int_eq(from(l, HOME, &s), VERDICT_DUPLICATE);
    /* a span that went and comes back has no rule before it is set */
    ck_assert_int_eq(ltp_span_remove(l, 2, TICK_MS), 0);
    ck_assert_int_eq(from(l, "nowhere", &s), VERDICT_CLOSED_SESSION);
    struct ltp_span span = pair_span(2);
    ck_assert_int_eq(ltp_span_set(l, &span, TICK_MS), 0);
    s.id.number = 2;
    ck_assert_int_eq(from(l, "nowhere", &s), VERDICT_OK);
    ltp_free(l);
}
END_TEST

SUITE(ltp_source, t)
{
    tcase_add_test(t, data);
    tcase_add_test(t, answers);
    tcase_add_test(t, rules);
}
