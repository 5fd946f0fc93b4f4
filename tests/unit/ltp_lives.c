/* SPDX-License-Identifier: Apache-2.0 */
/* A receiver that forgets sessions between its reports: nothing is done that none of its
 * incarnations has. The reports are made by hand, so that they may come from a receiver of any
 * make. */

#include "ltp/ltp.h"
#include "ltp/segment.h"
#include "tests/unit/suite.h"

#define SEGMENT 100
#define BLOCK 500

struct bench {
    struct ltp *l;
    struct ltp_session_id id;
    struct buf *block;
    tick now;
    uint64_t cp, named; /* serials of the latest checkpoint that came out: its own, the report's */
    uint64_t resent;    /* data bytes of the latest run of output */
    uint64_t lo, hi;    /* their bounds */
    unsigned done, cancelled;
};

static void take_notices(struct bench *b)
{
    struct ltp_notice n;
    while (ltp_poll(b->l, &n) != 0) {
        b->done += n.kind == LTP_EXPORT_DONE;
        b->cancelled += n.kind == LTP_EXPORT_CANCELLED;
    }
    ltp_check(b->l);
}

static void take_output(struct bench *b)
{
    uint8_t head[1500];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    b->resent = b->hi = 0;
    b->lo = UINT64_MAX;
    while (ltp_output(b->l, 2, b->now, &out) != 0) {
        struct ltp_segment s;
        uint8_t whole[1500];
        memcpy(whole, head, out.head_len);
        if (out.data.len > 0)
            memcpy(whole + out.head_len, out.data.data, out.data.len);
        ck_assert_int_eq(segment_parse(&s, whole, out.head_len + out.data.len), VERDICT_OK);
        if (!segment_is_data(&s))
            continue;
        b->resent += s.data.len;
        b->lo = s.offset < b->lo ? s.offset : b->lo;
        b->hi = s.offset + s.data.len > b->hi ? s.offset + s.data.len : b->hi;
        if (segment_is_checkpoint(&s)) {
            b->cp = s.cp_serial;
            b->named = s.rpt_serial;
        }
    }
    take_notices(b);
}

static struct bench bench_new(void)
{
    struct bench b = {0};
    struct ltp_config config = {.engine = 1, .seed = 7};
    struct ltp_span span = {.peer = 2, .segment_max = 64 + SEGMENT, .rto = 30 * TICK_MS};
    ck_assert_int_eq(ltp_new(&b.l, &config), 0);
    ck_assert_int_eq(ltp_span_set(b.l, &span, 0), 0);
    ltp_link(b.l, 2, true, 0);
    b.block = buf_new(0, BLOCK);
    memset(buf_append(b.block, BLOCK), 1, BLOCK);
    struct ltp_block block = {.peer = 2, .client_service = 1, .data = b.block, .red_len = BLOCK};
    ck_assert_int_eq(ltp_send(b.l, &block, 0, &b.id), 0);
    take_output(&b);
    ck_assert_uint_eq(b.resent, BLOCK);
    return b;
}

static void bench_free(struct bench *b)
{
    ltp_free(b->l);
    buf_drop(b->block);
}

/* A report of bytes `claims` in hundreds: bit i is [100 i, 100 (i + 1)). */
static enum verdict report(struct bench *b, uint64_t serial, uint64_t cp, struct range scope,
                           unsigned claims)
{
    struct range at[5];
    size_t n = 0;
    for (uint64_t i = 0; i < 5; i++) {
        if ((claims >> i & 1) == 0)
            continue;
        if (n > 0 && at[n - 1].hi == 100 * i)
            at[n - 1].hi += 100;
        else
            at[n++] = (struct range){100 * i, 100 * (i + 1)};
    }
    struct ltp_segment s = {.type = LTP_RS,
                            .id = b->id,
                            .rpt_serial = serial,
                            .cp_serial = cp,
                            .lower = scope.lo,
                            .upper = scope.hi,
                            .claim_count = n};
    uint8_t bytes[1500];
    size_t len = segment_write_report(&s, at, bytes, sizeof bytes);
    b->now += TICK_MS;
    enum verdict v = ltp_input(b->l, bytes, len, b->now);
    take_output(b);
    return v;
}

#define ALL ((struct range){0, BLOCK})

/* 0, 1 and 3, 4 are claimed; the next incarnation has 2 alone; serials far, near above, near below,
 * the same. */
START_TEST(two_lives_make_no_block)
{
    static const uint64_t second[] = {9000, 1001, 999, 1000};
    struct bench b = bench_new();
    uint64_t first_cp = b.cp;
    ck_assert_int_eq(report(&b, 1000, b.cp, ALL, 0x1b), VERDICT_OK);
    ck_assert_uint_eq(b.resent, 100);
    ck_assert_uint_eq(b.named, 1000);
    ck_assert_uint_gt(b.cp, first_cp);
    ck_assert_int_eq(report(&b, second[_i], b.cp, ALL, 0x04), VERDICT_OK);
    ck_assert_uint_eq(b.done, 0);
    ck_assert_uint_eq(b.resent, 400); /* what this incarnation does not claim */
    ck_assert_uint_eq(b.named, second[_i]);
    ck_assert_int_eq(report(&b, second[_i] + 1, b.cp, ALL, 0x1f), VERDICT_OK);
    ck_assert_uint_eq(b.done, 1);
    bench_free(&b);
}
END_TEST

/* Only the gap is spoken of: only the serial shows it. What the other incarnation had is sent
 * again, too. */
START_TEST(only_the_gap)
{
    struct bench b = bench_new();
    report(&b, 1000, b.cp, ALL, 0x1b);
    ck_assert_int_eq(report(&b, 9000, b.cp, ((struct range){200, 300}), 0x04), VERDICT_OK);
    ck_assert_uint_eq(b.done, 0);
    ck_assert_uint_eq(b.resent, 400);
    bench_free(&b);
}
END_TEST

/* In one incarnation: the later report arrived first, the earlier one late. Nothing is sent twice
 * for it. */
START_TEST(late_report)
{
    struct bench b = bench_new();
    ck_assert_int_eq(report(&b, 1001, b.cp, ALL, 0x1b), VERDICT_OK);
    ck_assert_uint_eq(b.resent, 100);
    ck_assert_int_eq(report(&b, 1000, b.cp - 1, ALL, 0x11), VERDICT_OK);
    ck_assert_uint_le(b.resent, 100); /* what is not known to be there */
    ck_assert_int_eq(report(&b, 1002, b.cp, ((struct range){200, 300}), 0x04), VERDICT_OK);
    ck_assert_uint_eq(b.done, 1);
    bench_free(&b);
}
END_TEST

/* The report of an ended incarnation arrives when the next one has reported: it does not count for
 * that one, and the checkpoint goes on naming the life that is there. */
START_TEST(late_report_of_another_life)
{
    struct bench b = bench_new();
    uint64_t first_cp = b.cp;
    report(&b, 1000, b.cp, ALL, 0x03);
    uint64_t second_cp = b.cp;
    report(&b, 9000, second_cp, ALL, 0x1c);
    ck_assert_uint_eq(b.resent, 200);
    ck_assert_int_eq(report(&b, 1001, first_cp, ALL, 0x03), VERDICT_OK);
    ck_assert_uint_eq(b.done, 0);
    ck_assert_uint_eq(b.resent, 0);
    ck_assert_int_eq(report(&b, 9001, b.cp, ALL, 0x1f), VERDICT_OK);
    ck_assert_uint_eq(b.done, 1);
    bench_free(&b);
}
END_TEST

/* One incarnation after the other: the memory is bounded, and the last one gets all. */
START_TEST(many_lives)
{
    struct bench b = bench_new();
    for (uint64_t i = 0; i < 12; i++) {
        ck_assert_int_eq(report(&b, 1000 * (i + 1), b.cp, ALL, 1u << i % 5), VERDICT_OK);
        ck_assert_uint_eq(b.resent, 400);
        ck_assert_uint_eq(b.done + b.cancelled, 0);
    }
    ck_assert_int_eq(report(&b, 12001, b.cp, ALL, 0x1f), VERDICT_OK);
    ck_assert_uint_eq(b.done, 1);
    bench_free(&b);
}
END_TEST

SUITE(ltp_lives, t)
{
    tcase_add_loop_test(t, two_lives_make_no_block, 0, 4);
    tcase_add_test(t, only_the_gap);
    tcase_add_test(t, late_report);
    tcase_add_test(t, late_report_of_another_life);
    tcase_add_test(t, many_lives);
}
