/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication and cookies (RFC 5327) as the engine sees them, with a ciphersuite of the test: a
 * keyed check value. What is exchanged arrives; what is changed, missing or by another key changes
 * nothing in the engine that requires it.
 */
#include "base/crc.h"
#include "ltp_pair.h"
#include "tests/unit/suite.h"

#define VALUE 9

static bool toy_sign(void *context, struct slice covered, uint8_t *value)
{
    uint32_t crc = crc32c(*(uint32_t *)context, covered.data, covered.len);
    memset(value, (int)(covered.len & 0xff), VALUE);
    memcpy(value, &crc, sizeof crc);
    return true;
}

static bool toy_verify(void *context, struct slice covered, struct slice value)
{
    uint8_t want[VALUE];
    return value.len == VALUE && toy_sign(context, covered, want) &&
           memcmp(want, value.data, VALUE) == 0;
}

static uint32_t key_of[2] = {11, 22};

static struct ltp_auth toy(int key)
{
    return (struct ltp_auth){.suite = LTP_HMAC_SHA1_80,
                             .key_id = "k1",
                             .key_id_len = 2,
                             .value_len = VALUE,
                             .context = &key_of[key],
                             .sign = toy_sign,
                             .verify = toy_verify};
}

static struct ltp_span authenticated(uint64_t peer, const struct ltp_auth *a)
{
    struct ltp_span s = pair_span(peer);
    s.segment_max = 400;
    s.auth = a;
    s.auth_mode = LTP_AUTH_REQUIRE;
    return s;
}

static struct pair *guarded_pair(const struct ltp_auth *a, const struct ltp_auth *b)
{
    struct ltp_span to_2 = authenticated(2, a), to_1 = authenticated(1, b);
    return pair_new(&to_2, &to_1);
}

static uint64_t verdicts(const struct pair *p, int end, enum verdict v)
{
    return ltp_counters(p->l[end])->verdicts[v];
}

/* What an engine is in, as far as it can be seen. */
struct state {
    uint64_t sessions[4][9]; /* numbers only, so that no padding is compared */
    uint64_t count, deadline, opened, closed[4], output, retransmitted, idle;
};

static struct state state_of(const struct ltp *l, uint64_t peer)
{
    struct state s;
    struct ltp_session_info info[4];
    const struct ltp_counters *n = ltp_counters(l);
    memset(&s, 0, sizeof s);
    s.count = ltp_sessions(l, info, 4);
    for (size_t i = 0; i < s.count && i < 4; i++) {
        const struct ltp_session_info *x = &info[i];
        const uint64_t all[9] = {x->id.originator,  x->id.number, x->peer,
                                 x->client_service, x->is_export, x->length,
                                 x->red_len,        x->done,      x->held + x->opened};
        memcpy(s.sessions[i], all, sizeof all);
    }
    s.deadline = ltp_deadline(l);
    s.opened = n->opened_export + n->opened_import;
    memcpy(s.closed, n->closed, sizeof s.closed);
    s.output = ltp_has_output(l, peer);
    s.retransmitted = n->retransmitted_bytes;
    s.idle = ltp_idle(l);
    ltp_check(l);
    return s;
}

/* Each byte of the datagram changed, each front of it, none of which may have an effect. */
static void tamper(struct pair *p, const struct flight *f)
{
    uint64_t peer = (uint64_t)(2 - f->to);
    struct state before = state_of(p->l[f->to], peer);
    for (size_t i = 0; i < 2 * f->len; i++) {
        uint8_t *copy = malloc(f->len);
        memcpy(copy, f->bytes, f->len);
        copy[i / 2] ^= i % 2 == 0 ? 0x01 : 0x80;
        enum verdict v = ltp_input(p->l[f->to], copy, f->len, p->now);
        ck_assert_msg(v != VERDICT_OK && v != VERDICT_DUPLICATE, "byte %zu of %zu: %s", i / 2,
                      f->len, verdict_name(v));
        free(copy);
    }
    for (size_t len = 0; len < f->len; len++)
        ck_assert_int_ne(ltp_input(p->l[f->to], f->bytes, len, p->now), VERDICT_OK);
    struct state after = state_of(p->l[f->to], peer);
    ck_assert_int_eq(memcmp(&before, &after, sizeof before), 0);
}

/* As pair_step, with each datagram tried in all wrong forms before it arrives. */
static void exchange(struct pair *p)
{
    bool seen[16] = {false};
    for (pair_drain(p); p->flying > 0; pair_drain(p)) {
        struct flight f = p->flights[0];
        memmove(p->flights, p->flights + 1, --p->flying * sizeof f);
        p->now = f.at > p->now ? f.at : p->now;
        if (!seen[f.bytes[0]])
            tamper(p, &f);
        seen[f.bytes[0]] = true;
        ltp_input(p->l[f.to], f.bytes, f.len, p->now);
        free(f.bytes);
    }
}

START_TEST(arrives_and_nothing_else_does)
{
    struct ltp_auth a = toy(0);
    struct pair *p = guarded_pair(&a, &a);
    pair_drop(p, LTP_RED, 3);
    pair_send(p, 10000, 10000);
    exchange(p);
    pair_assert_red(p, 10000);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    ck_assert_uint_eq(p->largest, 400);
    ck_assert_uint_gt(verdicts(p, 1, VERDICT_AUTH_BAD), 100);
    ck_assert_uint_gt(verdicts(p, 0, VERDICT_AUTH_BAD), 30);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(green_and_mixed)
{
    struct ltp_auth a = toy(0);
    for (size_t red = 0; red <= 1500; red += 1500) {
        struct pair *p = guarded_pair(&a, &a);
        pair_send(p, 3000, red);
        exchange(p);
        pair_run(p);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
        ck_assert_uint_ge(p->notices[LTP_GREEN], 1);
        pair_assert_idle(p);
        pair_free(p);
    }
}
END_TEST

/* Cancels and their acknowledgements from both ends, changed in every byte. */
START_TEST(cancels)
{
    struct ltp_auth a = toy(0);
    for (int end = 0; end < 2; end++) {
        struct pair *p = guarded_pair(&a, &a);
        struct ltp_session_id id = pair_send(p, 2000, 2000);
        pair_drop(p, LTP_RED_CP_EOB, 0);
        pair_run_until(p, 6 * TICK_MS);
        ck_assert_int_eq(ltp_cancel(p->l[end], id, LTP_USR_CNCLD, p->now), 0);
        exchange(p);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 1);
        ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 1);
        ck_assert_uint_eq(p->sent[end == 0 ? LTP_CAS : LTP_CAR], 1);
        pair_assert_idle(p);
        pair_free(p);
    }
}
END_TEST

/* What the recovery switches send besides is authenticated too. */
START_TEST(with_recovery)
{
    struct ltp_auth a = toy(0);
    struct ltp_span to_2 = authenticated(2, &a), to_1 = authenticated(1, &a);
    to_2.recovery = to_1.recovery = ltp_recovery_default;
    to_2.recovery.checkpoint_segments = 5;
    struct pair *p = pair_new(&to_2, &to_1);
    for (uint64_t n = 0; n < 3; n++)
        pair_drop(p, LTP_RED, 4 * n);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_drop(p, LTP_RS, 1);
    pair_send(p, 20000, 20000);
    pair_run(p);
    pair_assert_red(p, 20000);
    ck_assert_uint_eq(p->largest, 400);
    for (int end = 0; end < 2; end++)
        ck_assert_uint_eq(
            verdicts(p, end, VERDICT_AUTH_BAD) + verdicts(p, end, VERDICT_AUTH_MISSING), 0);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* One end is not authenticated, or by another key: the other never opens a session. */
static void one_sided(const struct ltp_auth *a, const struct ltp_auth *b, enum verdict expected)
{
    struct ltp_span to_2 = authenticated(2, a), to_1 = authenticated(1, b);
    to_2.retries_max = to_1.retries_max = 2;
    struct pair *p = pair_new(&to_2, &to_1);
    pair_send(p, 3000, 1000);
    pair_run(p);
    const struct ltp_counters *n = ltp_counters(p->l[1]);
    ck_assert_uint_eq(n->opened_import, 0);
    ck_assert_uint_gt(n->verdicts[expected], 8);
    ck_assert_uint_eq(n->verdicts[VERDICT_OK], 0);
    for (int type = 0; type < 16; type++)
        ck_assert_uint_eq(n->tx[type], 0);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 1);
    pair_assert_idle(p);
    pair_free(p);
}

START_TEST(missing_or_of_another_key)
{
    struct ltp_auth a = toy(0), b = toy(1), c = toy(0), d = toy(0);
    one_sided(NULL, &a, VERDICT_AUTH_MISSING);
    one_sided(&a, &b, VERDICT_AUTH_BAD);
    c.key_id[1] = '2';
    one_sided(&a, &c, VERDICT_AUTH_BAD);
    d.suite = LTP_AUTH_NULL;
    one_sided(&a, &d, VERDICT_AUTH_BAD);
}
END_TEST

/* accept: as it comes, but not wrongly. off: extensions are skipped. */
START_TEST(accept_and_off)
{
    struct ltp_auth a = toy(0), b = toy(1);
    const struct ltp_auth *sender[] = {NULL, &a, &b, &a};
    const struct ltp_auth *receiver[] = {&a, &a, &a, NULL};
    for (int i = 0; i < 4; i++) {
        struct ltp_span to_2 = authenticated(2, sender[i]), to_1 = authenticated(1, receiver[i]);
        to_2.auth_mode = to_1.auth_mode = LTP_AUTH_ACCEPT;
        to_2.retries_max = 2;
        struct pair *p = pair_new(&to_2, &to_1);
        pair_send(p, 5000, 5000);
        pair_run(p);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], i != 2);
        ck_assert_uint_eq(verdicts(p, 1, VERDICT_AUTH_BAD) > 0, i == 2);
        pair_assert_idle(p);
        pair_free(p);
    }
}
END_TEST

START_TEST(cookies)
{
    const char *const cookie[][2] = {
        {"moon", "moon"}, {"moon", "mars"}, {"", "moon"}, {"moon", ""}};
    struct ltp_auth a = toy(0);
    for (int i = 0; i < 8; i++) {
        const struct ltp_auth *auth = i < 4 ? NULL : &a;
        struct ltp_span to_2 = authenticated(2, auth), to_1 = authenticated(1, auth);
        to_2.retries_max = to_1.retries_max = 2;
        to_2.cookie_len = (uint8_t)strlen(cookie[i % 4][0]);
        memcpy(to_2.cookie, cookie[i % 4][0], to_2.cookie_len);
        to_1.cookie_len = (uint8_t)strlen(cookie[i % 4][1]);
        memcpy(to_1.cookie, cookie[i % 4][1], to_1.cookie_len);
        struct pair *p = pair_new(&to_2, &to_1);
        pair_send(p, 5000, 5000);
        pair_run_until(p, 10 * TICK_S);
        ck_assert_uint_eq(p->largest, 400);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], i % 4 == 0);
        ck_assert_uint_eq(verdicts(p, 1, VERDICT_BAD_COOKIE) > 0, i % 4 == 1 || i % 4 == 2);
        ck_assert_uint_eq(verdicts(p, 0, VERDICT_BAD_COOKIE) > 0, i % 4 == 3);
        ck_assert_uint_eq(ltp_counters(p->l[1])->opened_import, i % 4 == 0 || i % 4 == 3);
        pair_free(p);
    }
}
END_TEST

/* Extensions of a data segment by hand. */
static enum verdict by_hand(struct pair *p, const char *headers, size_t headers_len,
                            int header_count, size_t behind)
{
    uint8_t bytes[1000];
    struct ltp_segment s = pair_data(77, LTP_RED, 0, 50);
    s.header_count = (uint8_t)header_count;
    s.headers = slice_of(headers, headers_len);
    s.trailer_count = (uint8_t)(behind > 0 ? 2 : 1);
    size_t len = segment_write(&s, bytes, sizeof bytes);
    bytes[len++] = 0;
    bytes[len++] = VALUE;
    toy_sign(&key_of[0], slice_of(bytes, len), bytes + len);
    len += VALUE;
    memcpy(bytes + len, "\x7\x1x", behind);
    return ltp_input(p->l[1], bytes, len + behind, p->now);
}

START_TEST(where_extensions_stand)
{
    struct ltp_auth a = toy(0);
    struct pair *p = guarded_pair(&a, &a);
    ck_assert_int_eq(by_hand(p, "\0\3\0k1", 5, 1, 3), VERDICT_AUTH_BAD); /* something behind it */
    ck_assert_int_eq(by_hand(p, "", 0, 0, 0), VERDICT_AUTH_BAD);         /* a trailer only */
    ck_assert_int_eq(by_hand(p, "\0\0", 2, 1, 0), VERDICT_AUTH_BAD);     /* no ciphersuite */
    ck_assert_int_eq(by_hand(p, "\0\2\0k", 4, 1, 0), VERDICT_AUTH_BAD);
    ck_assert_int_eq(by_hand(p, "\1\3\0k1", 5, 1, 0), VERDICT_AUTH_BAD); /* another tag */
    ck_assert_uint_eq(ltp_counters(p->l[1])->opened_import, 0);
    ck_assert_int_eq(by_hand(p, "\5\1x\0\3\0k1", 8, 2, 0), VERDICT_OK); /* beside others */
    pair_free(p);
}
END_TEST

START_TEST(spans_that_cannot_be)
{
    struct ltp_auth a = toy(0), b = toy(1);
    struct pair *p = guarded_pair(&a, &a);
    struct ltp_span s = authenticated(2, &a);
    s.segment_max = LTP_SEGMENT_AUTH_MIN + VALUE - 1;
    ck_assert_int_eq(ltp_span_set(p->l[0], &s, 0), HELIO_EINVAL);
    s.segment_max++;
    ck_assert_int_eq(ltp_span_set(p->l[0], &s, 0), 0);
    s.cookie_len = LTP_COOKIE_MAX + 1;
    ck_assert_int_eq(ltp_span_set(p->l[0], &s, 0), HELIO_EINVAL);
    s.cookie_len = LTP_COOKIE_MAX;
    s.auth = NULL;
    s.segment_max = LTP_SEGMENT_COOKIE_MIN - 1;
    ck_assert_int_eq(ltp_span_set(p->l[0], &s, 0), HELIO_EINVAL);
    s.segment_max++;
    ck_assert_int_eq(ltp_span_set(p->l[0], &s, 0), 0);
    s.auth = &a;
    s.segment_max = LTP_SEGMENT_AUTH_MIN + VALUE;
    a.key_id_len = LTP_KEY_ID_MAX + 1;
    ck_assert_int_eq(ltp_span_set(p->l[0], &s, 0), HELIO_EINVAL);
    a.key_id_len = LTP_KEY_ID_MAX; /* the longest extensions that there are */
    ck_assert_int_eq(ltp_span_set(p->l[0], &s, 0), 0);
    pair_send(p, 1000, 1000);
    s.auth = &b;
    ck_assert_int_eq(ltp_span_set(p->l[0], &s, 0), HELIO_EINVAL); /* a session is open */
    s.auth = &a;
    s.cookie[31] = 1;
    ck_assert_int_eq(ltp_span_set(p->l[0], &s, 0), HELIO_EINVAL);
    s.cookie[31] = 0;
    ck_assert_int_eq(ltp_span_set(p->l[0], &s, 0), 0);
    pair_drain(p);
    ck_assert_uint_eq(p->largest, LTP_SEGMENT_AUTH_MIN + VALUE);
    pair_free(p);
}
END_TEST

SUITE(ltp_auth, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, arrives_and_nothing_else_does);
    tcase_add_test(t, green_and_mixed);
    tcase_add_test(t, cancels);
    tcase_add_test(t, with_recovery);
    tcase_add_test(t, missing_or_of_another_key);
    tcase_add_test(t, accept_and_off);
    tcase_add_test(t, cookies);
    tcase_add_test(t, where_extensions_stand);
    tcase_add_test(t, spans_that_cannot_be);
}
