/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine concludes from a peer's reports and cancels. */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define LENGTH 5000
#define RTO (30 * TICK_MS)

/* An engine, what it radiates, and a peer that the test plays. */
struct lone {
    struct ltp *l;
    tick now;
    uint64_t session, cp_serial; /* of the latest checkpoint sent */
    size_t checkpoints, segments;
};

static struct ltp_span lone_span(void)
{
    struct ltp_span s = pair_span(2);
    s.recovery = ltp_recovery_default;
    s.profile = LTP_PROFILE_AUTO;
    return s;
}

static void lone_init(struct lone *t)
{
    struct ltp_config config = {.engine = 1, .seed = 5};
    struct ltp_span span = lone_span();
    *t = (struct lone){0};
    ck_assert_int_eq(ltp_new(&t->l, &config), 0);
    ck_assert_int_eq(ltp_span_set(t->l, &span, 0), 0);
    ck_assert_int_eq(ltp_link(t->l, 2, true, 0), 0);
}

static void lone_drain(struct lone *t)
{
    uint8_t head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct ltp_notice n;
    while (ltp_output(t->l, 2, t->now, &out) != 0) {
        uint8_t bytes[2000];
        struct ltp_segment s;
        memcpy(bytes, out.head, out.head_len);
        if (out.data.len > 0)
            memcpy(bytes + out.head_len, out.data.data, out.data.len);
        ck_assert_int_eq(segment_parse(&s, bytes, out.head_len + out.data.len), VERDICT_OK);
        t->segments++;
        if (!segment_is_checkpoint(&s))
            continue;
        t->checkpoints++;
        t->session = s.id.number;
        t->cp_serial = s.cp_serial;
    }
    while (ltp_poll(t->l, &n) != 0)
        buf_drop(n.data);
    ltp_check(t->l);
}

static void lone_wait(struct lone *t, tick duration)
{
    tick end = t->now + duration;
    while (ltp_deadline(t->l) <= end) {
        t->now = ltp_deadline(t->l);
        ltp_expire(t->l, t->now);
        lone_drain(t);
    }
    t->now = end;
}

static void lone_send(struct lone *t)
{
    struct buf *b = pair_block(LENGTH, 3);
    struct ltp_session_id id;
    struct ltp_block block = {.peer = 2, .client_service = 1, .data = b, .red_len = LENGTH};
    ck_assert_int_eq(ltp_send(t->l, &block, t->now, &id), 0);
    buf_drop(b);
    lone_drain(t);
}

static enum verdict lone_report(struct lone *t, uint64_t cp_serial, uint64_t serial,
                                struct range scope, struct range claim)
{
    struct ltp_segment s = {.type = LTP_RS,
                            .id = {1, t->session},
                            .rpt_serial = serial,
                            .cp_serial = cp_serial,
                            .lower = scope.lo,
                            .upper = scope.hi,
                            .claim_count = 1};
    uint8_t bytes[200];
    size_t len = segment_write_report(&s, &claim, bytes, sizeof bytes);
    enum verdict v = ltp_input(t->l, bytes, len, t->now);
    lone_drain(t);
    return v;
}

static void lone_cancel(struct lone *t, enum ltp_reason reason)
{
    struct ltp_segment s = {.type = LTP_CR, .id = {1, t->session}, .reason = (uint8_t)reason};
    uint8_t bytes[64];
    ltp_input(t->l, bytes, segment_write(&s, bytes, sizeof bytes), t->now);
    lone_drain(t);
}

static enum ltp_learnt learnt(const struct lone *t)
{
    struct ltp_support b;
    ck_assert(ltp_peer_support(t->l, 2, &b));
    return b.learnt;
}

static const struct range all = {0, LENGTH}, some = {0, 4000}, more = {0, 4500}, less = {0, 1000};

/* One session in which the peer answers each checkpoint serial once, and reports a gap first. */
static void support_copy(struct lone *t, uint64_t serial)
{
    lone_send(t);
    uint64_t first = t->cp_serial;
    t->now += 10 * TICK_MS;
    ck_assert_int_eq(lone_report(t, first, serial, all, some), VERDICT_OK);
    ck_assert_uint_eq(t->cp_serial, first); /* the same checkpoint again */
    lone_wait(t, RTO);
    ck_assert_uint_eq(t->cp_serial, first + 1);
    t->now += 10 * TICK_MS;
    ck_assert_int_eq(lone_report(t, first + 1, serial + 1, all, all), VERDICT_OK);
}

/* Until something is known, plain: no copies, none early, no segment for the closing byte alone. */
START_TEST(begins_plain)
{
    struct lone t;
    lone_init(&t);
    lone_send(&t);
    ck_assert_uint_eq(t.segments, 5);
    ck_assert_uint_eq(t.checkpoints, 1);
    lone_wait(&t, RTO - 1);
    ck_assert_uint_eq(t.checkpoints, 1);
    lone_wait(&t, 1);
    ck_assert_uint_eq(t.checkpoints, 2);
    ltp_free(t.l);
}
END_TEST

START_TEST(widens)
{
    struct lone t;
    lone_init(&t);
    for (uint64_t i = 0; i < 6; i++) {
        ck_assert_int_eq(learnt(&t), LTP_LEARNT_NOTHING);
        support_copy(&t, 100 + 2 * i);
    }
    ck_assert_int_eq(learnt(&t), LTP_LEARNT_TRIAL);
    for (uint64_t i = 0; i < 9; i++) { /* two copies each, answered once */
        size_t before = t.checkpoints;
        lone_send(&t);
        lone_wait(&t, 10 * TICK_MS);
        ck_assert_uint_eq(t.checkpoints, before + 3);
        lone_report(&t, t.cp_serial, 200 + i, all, all);
        lone_wait(&t, 4 * RTO);
    }
    ck_assert_int_eq(learnt(&t), LTP_LEARNT_SUPPORTS);
    ltp_link(t.l, 2, false, t.now);
    ltp_link(t.l, 2, true, t.now);
    struct ltp_span span = lone_span();
    ck_assert_int_eq(ltp_span_set(t.l, &span, t.now), 0);
    ck_assert_int_eq(learnt(&t), LTP_LEARNT_SUPPORTS);
    ltp_free(t.l);
}
END_TEST

/* Each copy brings the same report again: they stay few. */
START_TEST(repeats)
{
    struct lone t;
    lone_init(&t);
    for (uint64_t i = 0; i < 6; i++)
        support_copy(&t, 100 + 2 * i);
    for (uint64_t i = 0; i < 9; i++) {
        lone_send(&t);
        lone_wait(&t, 10 * TICK_MS);
        for (int k = 0; k < 3; k++)
            lone_report(&t, t.cp_serial, 200 + i, all, all);
        lone_wait(&t, 4 * RTO);
    }
    ck_assert_int_eq(learnt(&t), LTP_LEARNT_REPEATS);
    ltp_free(t.l);
}
END_TEST

/* A second serial for a checkpoint is evidence, but for the second half of a split answer, and
 * for a receiver that has started again and knows less. */
START_TEST(second_serial)
{
    const struct {
        struct range first, second, claim;
        bool against;
    } cases[] = {{all, all, more, true},
                 {all, all, all, true},
                 {all, {1000, LENGTH}, {1000, 4900}, true},
                 {{0, 4000}, {4000, LENGTH}, {4100, LENGTH}, false},
                 {all, all, less, false}};
    struct lone t;
    lone_init(&t);
    lone_send(&t);
    lone_report(&t, t.cp_serial, 7, cases[_i].first, some);
    lone_report(&t, t.cp_serial, 8, cases[_i].second, cases[_i].claim);
    ck_assert_int_eq(learnt(&t), cases[_i].against ? LTP_LEARNT_PLAIN : LTP_LEARNT_NOTHING);
    ck_assert_uint_eq(ltp_counters(t.l)->peers_narrowed, cases[_i].against);
    struct ltp_span span = lone_span(); /* for good */
    ck_assert_int_eq(ltp_span_set(t.l, &span, t.now), 0);
    ck_assert_int_eq(learnt(&t), cases[_i].against ? LTP_LEARNT_PLAIN : LTP_LEARNT_NOTHING);
    ltp_free(t.l);
}
END_TEST

/* A receiver that counts cancels soon after a checkpoint; one that heard nothing of us, late. */
START_TEST(cancels)
{
    struct lone t;
    lone_init(&t);
    lone_send(&t);
    lone_wait(&t, _i == 0 ? 40 * TICK_MS : 9 * RTO);
    lone_cancel(&t, _i == 2 ? LTP_SYS_CNCLD : LTP_RLEXC);
    ck_assert_int_eq(learnt(&t), _i == 0 ? LTP_LEARNT_PLAIN : LTP_LEARNT_NOTHING);
    if (_i == 0) { /* also when copies were known to be borne */
        ltp_free(t.l);
        lone_init(&t);
        for (uint64_t i = 0; i < 6; i++)
            support_copy(&t, 100 + 2 * i);
        lone_send(&t);
        lone_send(&t);
        lone_cancel(&t, LTP_RLEXC);
        ck_assert_int_eq(learnt(&t), LTP_LEARNT_PLAIN);
        size_t before = t.checkpoints; /* and the other session stops its copies */
        lone_wait(&t, RTO - 1);
        ck_assert_uint_eq(t.checkpoints, before);
    }
    ltp_free(t.l);
}
END_TEST

START_TEST(outright)
{
    static const size_t segments[] = {6, 6, 5, 5};
    static const size_t checkpoints[] = {5, 5, 1, 1}; /* within 9 ms */
    struct lone t;
    lone_init(&t);
    struct ltp_span span = lone_span();
    span.profile = (enum ltp_profile)_i;
    ck_assert_int_eq(ltp_span_set(t.l, &span, t.now), 0);
    lone_send(&t);
    ck_assert_uint_eq(t.segments, segments[_i]);
    lone_wait(&t, 9 * TICK_MS);
    ck_assert_uint_eq(t.checkpoints, checkpoints[_i]);
    lone_report(&t, t.cp_serial, 7, all, some);
    lone_report(&t, t.cp_serial, 8, all, more);
    ck_assert_uint_eq(ltp_counters(t.l)->peers_narrowed, 0);
    struct ltp_support b;
    ck_assert(ltp_peer_support(t.l, 2, &b) && b.profile == (enum ltp_profile)_i);
    ck_assert(!ltp_peer_support(t.l, 3, &b));
    span.profile = (enum ltp_profile)(LTP_PROFILE_AUTO + 1);
    ck_assert_int_eq(ltp_span_set(t.l, &span, t.now), HELIO_EINVAL);
    ltp_free(t.l);
}
END_TEST

SUITE(ltp_profile, t)
{
    tcase_add_test(t, begins_plain);
    tcase_add_test(t, widens);
    tcase_add_test(t, repeats);
    tcase_add_loop_test(t, second_serial, 0, 5);
    tcase_add_loop_test(t, cancels, 0, 3);
    tcase_add_loop_test(t, outright, 0, 4);
}
