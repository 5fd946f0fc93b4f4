/* SPDX-License-Identifier: Apache-2.0 */
/* Orange blocks at the level of segments: what is on the wire, what others may put there, and that
 * neither end can be led astray by it. What happens in time is in tests/sim/scenarios/orange_*. */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

static struct ltp_session_id send_orange(struct pair *p, size_t len)
{
    struct buf *b = pair_block(len, 3);
    struct ltp_session_id id = {0, 0};
    struct ltp_block block = {
        .peer = 2, .client_service = 1, .data = b, .orange = true, .tag = 4711};
    ck_assert_int_eq(ltp_send(p->l[0], &block, p->now, &id), 0);
    buf_drop(b);
    return id;
}

/* With the extension's value `value`, in a segment of engine 1's session 9. */
static struct ltp_segment tagged(int type, uint64_t offset, size_t len, const uint8_t *extension,
                                 size_t extension_len)
{
    struct ltp_segment s = pair_data(9, type, offset, len);
    s.header_count = 1;
    s.headers = slice_of(extension, extension_len);
    return s;
}

static const uint8_t asks[] = {0xC4, 3, 'O', 'R', 1}, delivered[] = {0xC4, 3, 'O', 'R', 2},
                     lost[] = {0xC4, 3, 'O', 'R', 3};

static struct ltp_segment answer(struct ltp_session_id id, const uint8_t *extension)
{
    struct ltp_segment s = {.type = LTP_CR, .id = id, .reason = LTP_USR_CNCLD};
    s.header_count = extension != NULL;
    s.headers = slice_of(extension, extension != NULL ? sizeof asks : 0);
    return s;
}

START_TEST(arguments)
{
    struct pair *p = pair_new(NULL, NULL);
    struct buf *b = pair_block(100, 3);
    struct ltp_session_id id;
    struct ltp_block block = {
        .peer = 2, .client_service = 1, .data = b, .red_len = 1, .orange = true};
    ck_assert_int_eq(ltp_send(p->l[0], &block, 0, &id), HELIO_EINVAL);
    buf_drop(b);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* The first segment is a green one with the extension in its header and no other difference. */
START_TEST(wire)
{
    struct pair *p = pair_new(NULL, NULL);
    uint8_t head[1024];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct ltp_segment s;
    struct ltp_session_id id = send_orange(p, 3000);
    ck_assert_int_eq(ltp_output(p->l[0], 2, 0, &out), 1);
    uint8_t all[1024];
    memcpy(all, out.head, out.head_len);
    memcpy(all + out.head_len, out.data.data, out.data.len);
    size_t len = out.head_len + out.data.len;
    ck_assert_uint_eq(len, 1024);
    ck_assert_int_eq(segment_parse(&s, all, len), VERDICT_OK);
    ck_assert_int_eq(s.type, LTP_GREEN_DATA);
    ck_assert_uint_eq(s.header_count, 1);
    ck_assert_uint_eq(s.trailer_count, 0);
    ck_assert_uint_eq(s.headers.len, sizeof asks);
    ck_assert_int_eq(memcmp(s.headers.data, asks, sizeof asks), 0);
    ck_assert_uint_eq(s.id.number, id.number);
    pair_free(p);
}
END_TEST

START_TEST(every_length)
{
    struct pair *p = pair_new(NULL, NULL);
    for (size_t len = 1; len < 3200; len += len < 1100 && len > 950 ? 1 : 37) {
        uint64_t before = p->notices[LTP_EXPORT_DONE];
        p->green_count = 0;
        send_orange(p, len);
        pair_run(p);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], before + 1);
        ck_assert(p->last[LTP_EXPORT_DONE].orange);
        ck_assert_uint_eq(p->green_count, 1);
        ck_assert_uint_eq(p->green[0]->len, len);
        ck_assert(p->greens[0].end && p->greens[0].orange);
        buf_drop(p->green[0]);
        p->green_count = 0;
        ck_assert_uint_le(p->largest, 1024);
        pair_assert_idle(p);
    }
    ck_assert_uint_eq(p->notices[LTP_EXPORT_LOST], 0);
    ck_assert_uint_eq(ltp_counters(p->l[0])->orange_delivered, p->notices[LTP_EXPORT_DONE]);
    pair_free(p);
}
END_TEST

/* What only resembles the extension asks for nothing. */
START_TEST(not_asked)
{
    static const uint8_t no[][6] = {{0xC4, 3, 'O', 'S', 1}, {0xC5, 3, 'O', 'R', 1},
                                    {0xC4, 3, 'O', 'R', 0}, {0xC4, 3, 'O', 'R', 2},
                                    {0xC4, 3, 'o', 'r', 1}, {0xC4, 4, 'O', 'R', 1, 1}};
    struct pair *p = pair_new(NULL, NULL);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        struct ltp_segment s = tagged(LTP_GREEN_EOB, 0, 10, no[i], 2U + no[i][1]);
        s.id.number = 20 + i;
        ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
        ck_assert(!ltp_has_output(p->l[1], 1));
    }
    struct ltp_segment s = pair_data(40, LTP_GREEN_EOB, 0, 10);
    s.trailer_count = 1; /* the header is the place */
    s.trailers = slice_of(asks, sizeof asks);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    s = tagged(LTP_RED_CP_EOB, 0, 10, asks, sizeof asks); /* red data asks by its colour */
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 0);
    ck_assert_uint_eq(p->sent[LTP_RS], 1);
    pair_free(p);
}
END_TEST

/* Other extensions around it do not hide it. */
START_TEST(among_others)
{
    static const uint8_t three[] = {0xC7, 0, 0xC4, 3, 'O', 'R', 1, 0xD0, 2, 0xC4, 3};
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = tagged(LTP_GREEN_EOB, 0, 10, three, sizeof three);
    s.header_count = 3;
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 1);
    pair_free(p);
}
END_TEST

/* Delivered before it was sent; answers for sessions that did not ask; a cancel without. */
START_TEST(strange_answers)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_session_id id = send_orange(p, 5000);
    struct ltp_segment s = answer(id, delivered);
    ck_assert_int_eq(pair_feed(p, 0, &s), VERDICT_INCONSISTENT);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 0);
    s = answer(id, asks); /* says nothing of the outcome: a cancel */
    ck_assert_int_eq(pair_feed(p, 0, &s), VERDICT_OK);
    pair_drain(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 1);
    s = answer(pair_send(p, 5000, 5000), delivered);
    ck_assert_int_eq(pair_feed(p, 0, &s), VERDICT_OK);
    pair_drain(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 2);
    s = answer(send_orange(p, 5000), lost);
    ck_assert_int_eq(pair_feed(p, 0, &s), VERDICT_OK);
    pair_drain(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_LOST], 1);
    ck_assert(p->last[LTP_EXPORT_LOST].remote);
    ck_assert_uint_eq(p->last[LTP_EXPORT_LOST].tag, 4711);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 0);
    ck_assert_uint_eq(p->sent[LTP_GREEN_DATA], 0); /* nothing of it is sent any more */
    pair_free(p);
}
END_TEST

/* Reports are for red parts; a restarted receiver's, say. */
START_TEST(reports_are_refused)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_session_id id = send_orange(p, 500);
    pair_drain(p);
    uint8_t bytes[64];
    struct ltp_segment s = {.type = LTP_RS, .id = id, .rpt_serial = 1, .upper = 500};
    size_t len = segment_write_report(&s, NULL, bytes, sizeof bytes);
    ck_assert_int_eq(ltp_input(p->l[0], bytes, len, p->now), VERDICT_BAD_REPORT);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_free(p);
}
END_TEST

START_TEST(miscoloured)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = tagged(LTP_GREEN_DATA, 100, 100, asks, sizeof asks);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    s = tagged(LTP_RED, 150, 100, asks, sizeof asks);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_MISCOLOURED);
    uint8_t head[1024];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    ck_assert_int_eq(ltp_output(p->l[1], 1, p->now, &out), 1);
    ck_assert_int_eq(segment_parse(&s, head, out.head_len), VERDICT_OK);
    ck_assert_int_eq(s.type, LTP_CR);
    ck_assert_int_eq(s.reason, LTP_MISCOLORED);
    ck_assert_uint_eq(s.header_count, 0);
    pair_free(p);
}
END_TEST

/* A red part below it makes the block a mixed one, which has its reports. */
START_TEST(mixed_by_the_peer)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = tagged(LTP_GREEN_EOB, 100, 100, asks, sizeof asks);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    s = pair_data(9, LTP_RED_CP_EORP, 0, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 0);
    ck_assert_uint_eq(p->sent[LTP_RS], 1);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 1);
    ck_assert_uint_eq(p->notices[LTP_GREEN], 1);
    pair_free(p);
}
END_TEST

static bool sign(void *context, struct slice covered, uint8_t *value)
{
    (void)context;
    uint8_t sum = 7;
    for (size_t i = 0; i < covered.len; i++)
        sum = (uint8_t)(sum * 31 + covered.data[i]);
    memset(value, sum, 8);
    return true;
}

static bool verify(void *context, struct slice covered, struct slice value)
{
    uint8_t want[8];
    return value.len == 8 && sign(context, covered, want) && memcmp(want, value.data, 8) == 0;
}

/* Behind authentication and cookie, both ways, at their longest. */
START_TEST(guarded)
{
    struct ltp_auth a = {.suite = LTP_HMAC_SHA1_80,
                         .key_id_len = LTP_KEY_ID_MAX,
                         .value_len = 8,
                         .sign = sign,
                         .verify = verify};
    struct ltp_span span[2] = {pair_span(2), pair_span(1)};
    for (int i = 0; i < 2; i++) {
        span[i].auth = &a;
        span[i].auth_mode = LTP_AUTH_REQUIRE;
        span[i].cookie_len = LTP_COOKIE_MAX;
        span[i].segment_max = 300;
    }
    struct pair *p = pair_new(&span[0], &span[1]);
    send_orange(p, 5000);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    ck_assert_uint_eq(p->green_count, 1);
    pair_drop(p, LTP_GREEN_DATA, p->sent[LTP_GREEN_DATA] + 2);
    send_orange(p, 5000);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_LOST], 1);
    ck_assert(p->last[LTP_EXPORT_LOST].remote);
    ck_assert_uint_eq(ltp_counters(p->l[0])->verdicts[VERDICT_AUTH_BAD], 0);
    ck_assert_uint_le(p->largest, 300);
    pair_assert_idle(p);
    /* an answer that nobody signed has no effect */
    struct ltp_segment s = answer(send_orange(p, 5000), lost);
    ck_assert_int_ne(pair_feed(p, 0, &s), VERDICT_OK);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 2);
    pair_free(p);
}
END_TEST

SUITE(ltp_orange, t)
{
    tcase_add_test(t, arguments);
    tcase_add_test(t, wire);
    tcase_add_test(t, every_length);
    tcase_add_test(t, not_asked);
    tcase_add_test(t, among_others);
    tcase_add_test(t, strange_answers);
    tcase_add_test(t, reports_are_refused);
    tcase_add_test(t, miscoloured);
    tcase_add_test(t, mixed_by_the_peer);
    tcase_add_test(t, guarded);
}
