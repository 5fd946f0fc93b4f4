/* SPDX-License-Identifier: Apache-2.0 */
/* Red sessions between two engines: without loss, and with each kind of segment lost. */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define BLOCK 50000

static void assert_delivered(struct pair *p, size_t len)
{
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    ck_assert_uint_eq(p->notices[LTP_INITIAL_SENT], 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 0);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 0);
    ck_assert_uint_eq(p->last[LTP_EXPORT_DONE].tag, 4711);
    pair_assert_red(p, len);
    pair_assert_idle(p);
}

START_TEST(without_loss)
{
    static const size_t sizes[] = {1, 100, 1000, 1009, 1010, 1024, 5000, BLOCK, 500000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct pair *p = pair_new(NULL, NULL);
        pair_send(p, sizes[i], sizes[i]);
        pair_run(p);
        assert_delivered(p, sizes[i]);
        ck_assert_uint_eq(p->sent[LTP_RED_CP_EOB], 1);
        ck_assert_uint_eq(p->sent[LTP_RS], 1);
        ck_assert_uint_eq(p->sent[LTP_RA], 1);
        ck_assert_uint_eq(p->sent[LTP_RED_CP], 0);
        ck_assert_uint_le(p->largest, 1024);
        ck_assert_uint_eq(p->now, 3 * p->delay);
        pair_free(p);
    }
}
END_TEST

/* Each size near a segment's, so that the checkpoint's serials do and do not fit. */
START_TEST(every_last_length)
{
    for (size_t len = 1990; len < 2040; len++) {
        struct pair *p = pair_new(NULL, NULL);
        pair_send(p, len, len);
        pair_run(p);
        assert_delivered(p, len);
        ck_assert_uint_le(p->largest, 1024);
        pair_free(p);
    }
}
END_TEST

static const struct {
    int type;
    uint64_t nth;
} losses[] = {{LTP_RED, 0},        {LTP_RED, 7}, {LTP_RED, 48},
              {LTP_RED_CP_EOB, 0}, {LTP_RS, 0},  {LTP_RA, 0}};

START_TEST(each_segment_lost_once)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, losses[_i].type, losses[_i].nth);
    pair_send(p, BLOCK, BLOCK);
    pair_run(p);
    assert_delivered(p, BLOCK);
    bool data = losses[_i].type == LTP_RED;
    bool unanswered = losses[_i].type == LTP_RED_CP_EOB || losses[_i].type == LTP_RS;
    ck_assert_uint_eq(p->sent[LTP_RED_CP], data ? 1 : 0);
    ck_assert_uint_eq(ltp_counters(p->l[0])->retransmitted_bytes > 0, data || unanswered);
    ck_assert_uint_eq(ltp_counters(p->l[0])->timers[TIMER_CHECKPOINT], unanswered);
    pair_free(p);
}
END_TEST

/* Exactly the gap is sent again; its last byte goes into a segment of its own, since a full one has
 * no room for the checkpoint's serials. */
START_TEST(only_the_gap)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_RED, 10);
    pair_send(p, BLOCK, BLOCK);
    pair_run(p);
    assert_delivered(p, BLOCK);
    uint64_t again = ltp_counters(p->l[0])->retransmitted_bytes;
    ck_assert_uint_le(again, 1012);
    ck_assert_uint_ge(again, 1000);
    ck_assert_uint_eq(p->sent[LTP_RED], 50);
    ck_assert_uint_eq(p->sent[LTP_RED_CP], 1);
    pair_free(p);
}
END_TEST

START_TEST(random_loss)
{
    struct rng r;
    rng_init(&r, (uint64_t)_i);
    struct ltp_span small = pair_span(1);
    small.claims_max = 1 + (uint32_t)(_i % 4);
    struct pair *p = pair_new(NULL, &small);
    for (int k = 0; k < PAIR_DROPS; k++) {
        static const int types[] = {0, 0, 0, 0, 0, 1, 3, 8, 9};
        pair_drop(p, types[rng_below(&r, 9)], rng_below(&r, 40));
    }
    pair_send(p, BLOCK, BLOCK);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE] + p->notices[LTP_EXPORT_CANCELLED], 1);
    if (p->notices[LTP_EXPORT_CANCELLED] == 0)
        assert_delivered(p, BLOCK);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

SUITE(ltp_red, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, without_loss);
    tcase_add_test(t, every_last_length);
    tcase_add_loop_test(t, each_segment_lost_once, 0, (int)(sizeof losses / sizeof *losses));
    tcase_add_test(t, only_the_gap);
    tcase_add_loop_test(t, random_loss, 0, 40);
}
