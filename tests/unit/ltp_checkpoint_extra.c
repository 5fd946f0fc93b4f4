/* SPDX-License-Identifier: Apache-2.0 */
/* The length of checkpoints: a repetition has the segments that were lost, not more. */
#include "base/ranges.h"
#include "ltp_pair.h"
#include "tests/unit/suite.h"

#define SEGMENT 1024
#define BLOCK 10000

static struct ltp_span span_of(uint32_t extra)
{
    struct ltp_span s = pair_span(2);
    s.checkpoint_extra = extra;
    return s;
}

static void ends_well(struct pair *p)
{
    pair_run(p);
    pair_assert_red(p, BLOCK);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_idle(p);
    pair_free(p);
}

static uint64_t first_segments(void)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_send(p, BLOCK, BLOCK);
    pair_run(p);
    uint64_t n = p->sent[LTP_RED];
    ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], 1);
    pair_free(p);
    return n;
}

/* One full segment is lost; its repetition is one segment, with the serials beyond its length. */
START_TEST(a_full_segment_again)
{
    struct ltp_span span = span_of(LTP_CHECKPOINT_EXTRA);
    struct pair *p = pair_new(&span, NULL);
    pair_drop(p, LTP_RED, 3);
    pair_drop(p, LTP_RED_CP, 0); /* and again by its timer, as it is */
    pair_drop(p, LTP_RED_CP, 1);
    pair_send(p, BLOCK, BLOCK);
    pair_run(p);
    ck_assert_uint_eq(p->sent[LTP_RED], first_segments());
    ck_assert_uint_eq(p->sent[LTP_RED_CP], 3);
    ck_assert_uint_gt(p->largest, SEGMENT);
    ck_assert_uint_le(p->largest, SEGMENT + LTP_CHECKPOINT_EXTRA);
    ends_well(p);
}
END_TEST

/* Without extra length it is cut, but only once, however often it is lost. */
START_TEST(a_hard_limit)
{
    struct ltp_span span = span_of(0);
    struct pair *p = pair_new(&span, NULL);
    uint64_t first = first_segments();
    pair_drop(p, LTP_RED, 3);
    for (uint64_t i = 0; i < 6; i++)
        pair_drop(p, LTP_RED, first + i);
    pair_send(p, BLOCK, BLOCK);
    pair_run(p);
    ck_assert_uint_eq(p->sent[LTP_RED], first + 1);
    ck_assert_uint_eq(p->sent[LTP_RED_CP], 2);
    ck_assert_uint_eq(p->largest, SEGMENT);
    ends_well(p);
}
END_TEST

/* A report on all but [lo, hi), with the longest serial number that has an answer. */
static void report_gap(struct pair *p, struct ltp_session_id id, uint64_t cp_serial, uint64_t lo,
                       uint64_t hi)
{
    const struct range claims[] = {{0, lo}, {hi, BLOCK}};
    struct ltp_segment s = {.type = LTP_RS,
                            .id = id,
                            .rpt_serial = UINT64_MAX - 1,
                            .cp_serial = cp_serial,
                            .upper = BLOCK,
                            .claim_count = 2};
    uint8_t bytes[200];
    size_t len = segment_write_report(&s, claims, bytes, sizeof bytes);
    ck_assert_uint_gt(len, 0);
    ck_assert_int_eq(ltp_input(p->l[0], bytes, len, p->now), VERDICT_OK);
}

/* Whatever serial numbers the receiver has chosen. */
START_TEST(the_longest_serial)
{
    struct ltp_span span = span_of(LTP_CHECKPOINT_EXTRA);
    struct pair *p = pair_new(&span, NULL);
    struct ltp_session_id id = pair_send(p, BLOCK, BLOCK);
    uint8_t head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct ltp_segment s, third = {0};
    for (int i = 0; ltp_output(p->l[0], 2, 0, &out) == 1; i++) {
        memcpy(head + out.head_len, out.data.data, out.data.len);
        ck_assert_int_eq(segment_parse(&s, head, out.head_len + out.data.len), VERDICT_OK);
        third = i == 2 ? s : third;
    }
    ck_assert_int_eq(s.type, LTP_RED_CP_EOB);
    uint64_t lo = third.offset, hi = lo + third.data.len;
    report_gap(p, id, s.cp_serial, lo, hi);
    while (ltp_output(p->l[0], 2, 0, &out) == 1 && (head[0] & 15) != LTP_RED_CP)
        ck_assert_int_eq(head[0] & 15, LTP_RA);
    ck_assert_int_eq(head[0] & 15, LTP_RED_CP);
    ck_assert_uint_eq(out.data.len, hi - lo);
    ck_assert_uint_gt(out.head_len + out.data.len, SEGMENT + 10);
    ck_assert_uint_le(out.head_len + out.data.len, SEGMENT + LTP_CHECKPOINT_EXTRA);
    ck_assert_int_eq(ltp_output(p->l[0], 2, 0, &out), 0);
    pair_free(p);
}
END_TEST

/* A path that refuses what is longer than segment_max: the checkpoint is cut in time. */
START_TEST(a_path_that_refuses)
{
    struct ltp_span span = span_of(LTP_CHECKPOINT_EXTRA);
    struct pair *p = pair_new(&span, NULL);
    uint64_t refused = 0;
    pair_drop(p, LTP_RED, 3);
    pair_send(p, BLOCK, BLOCK);
    for (int i = 0; i < 1000 && pair_step(p); i++) {
        for (size_t k = p->flying; k-- > 0;) {
            if (p->flights[k].len <= SEGMENT)
                continue;
            free(p->flights[k].bytes);
            p->flights[k] = p->flights[--p->flying];
            refused++;
        }
    }
    ck_assert_uint_eq(refused, 4);
    ends_well(p);
}
END_TEST

START_TEST(what_a_span_takes)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_span span = span_of(LTP_CHECKPOINT_EXTRA + 1);
    ck_assert_int_eq(ltp_span_set(p->l[0], &span, 0), HELIO_EINVAL);
    span.checkpoint_extra--;
    ck_assert_int_eq(ltp_span_set(p->l[0], &span, 0), 0);
    pair_free(p);
}
END_TEST

SUITE(ltp_checkpoint_extra, t)
{
    tcase_add_test(t, a_full_segment_again);
    tcase_add_test(t, a_hard_limit);
    tcase_add_test(t, the_longest_serial);
    tcase_add_test(t, a_path_that_refuses);
    tcase_add_test(t, what_a_span_takes);
}
