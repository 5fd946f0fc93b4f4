/* SPDX-License-Identifier: Apache-2.0 */
/* What a receiver takes for a session that it has forgotten, or for another one of the same number.
 */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

static enum verdict feed(struct pair *p, struct ltp_segment s, uint64_t cp, uint64_t report)
{
    s.cp_serial = cp;
    s.rpt_serial = report;
    return pair_feed(p, 1, &s);
}

/* A session was whole and is over; a peer that counts from 1 again uses its number. */
START_TEST(number_again)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment whole = pair_data(5, LTP_RED_CP_EOB, 0, 100);
    struct ltp_segment half = pair_data(5, LTP_RED, 0, 100);
    ck_assert_int_eq(feed(p, whole, 1000, 0), VERDICT_OK);
    struct ltp_session_id id = {1, 5};
    ck_assert_int_eq(ltp_cancel(p->l[1], id, LTP_USR_CNCLD, p->now), 0);
    ck_assert_int_eq(feed(p, whole, 1000, 0), VERDICT_CLOSED_SESSION);
    ck_assert_int_eq(feed(p, half, 0, 0), VERDICT_CLOSED_SESSION);
    ck_assert_int_eq(feed(p, whole, 1200, 0), VERDICT_CLOSED_SESSION);
    ck_assert_int_eq(feed(p, whole, 5000, 0), VERDICT_OK);
    pair_drain(p);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 2);
    pair_free(p);
}
END_TEST

START_TEST(number_again_after_long)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment green = pair_data(5, LTP_GREEN_EOB, 0, 100);
    ck_assert_int_eq(feed(p, green, 0, 0), VERDICT_OK);
    ck_assert_int_eq(feed(p, green, 0, 0), VERDICT_CLOSED_SESSION);
    p->now += 301 * TICK_S; /* nothing else happens that could end the memory */
    ck_assert_int_eq(feed(p, green, 0, 0), VERDICT_OK);
    pair_drain(p);
    ck_assert_uint_eq(p->notices[LTP_GREEN], 2);
    pair_free(p);
}
END_TEST

/* Two blocks in one open session: by their bytes, or by their checkpoints' serials. */
START_TEST(two_blocks_of_one_number)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_segment s = pair_data(5, LTP_RED_CP, 0, 100);
    uint8_t other[100] = {1, 2, 3};
    ck_assert_int_eq(feed(p, s, 1000, 0), VERDICT_OK);
    ck_assert_int_eq(feed(p, s, 1000, 0), VERDICT_DUPLICATE);
    if (_i == 0)
        s.data = slice_of(other, sizeof other);
    ck_assert_int_eq(feed(p, s, _i == 0 ? 1001 : 7000, 0), VERDICT_INCONSISTENT);
    pair_drain(p);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 0);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 1);
    ck_assert_int_eq(p->last[LTP_IMPORT_CANCELLED].reason, LTP_SYS_CNCLD);
    ck_assert_uint_eq(p->sent[LTP_CR], 1);
    pair_free(p);
}
END_TEST

static void live_again(struct pair *p)
{
    struct ltp_config config = {.engine = 2, .seed = 99, .earlier_life = true};
    struct ltp_span span = pair_span(1);
    ltp_free(p->l[1]);
    ck_assert_int_eq(ltp_new(&p->l[1], &config), 0);
    ck_assert_int_eq(ltp_span_set(p->l[1], &span, p->now), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, p->now), 0);
}

/* The midst of a session that may have begun in an earlier incarnation; not of one that has begun
 * later than one that was seen to begin; and a green one loses nothing. */
START_TEST(midst_of_a_session)
{
    struct pair *p = pair_new(NULL, NULL);
    live_again(p);
    ck_assert_int_eq(feed(p, pair_data(7, LTP_RED_CP_EOB, 100, 100), 1000, 0),
                     VERDICT_FORGOTTEN_SESSION);
    ck_assert_int_eq(feed(p, pair_data(7, LTP_RED_CP_EOB, 100, 100), 1000, 0),
                     VERDICT_CLOSED_SESSION);
    ck_assert_int_eq(feed(p, pair_data(8, LTP_GREEN_EOB, 100, 100), 0, 0), VERDICT_OK);
    ck_assert_int_eq(feed(p, pair_data(10, LTP_RED, 0, 100), 0, 0), VERDICT_OK);
    ck_assert_int_eq(feed(p, pair_data(9, LTP_RED, 100, 100), 0, 0), VERDICT_FORGOTTEN_SESSION);
    ck_assert_int_eq(feed(p, pair_data(11, LTP_RED, 100, 100), 0, 0), VERDICT_OK);
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 2);
    pair_free(p);
}
END_TEST

/* A receiver that has all of the block has nothing to fear from a report that it never made. */
START_TEST(unknown_report_of_a_whole_block)
{
    struct pair *p = pair_new(NULL, NULL);
    ck_assert_int_eq(feed(p, pair_data(5, LTP_RED_CP_EOB, 0, 100), 1000, 0), VERDICT_OK);
    ck_assert_int_eq(feed(p, pair_data(5, LTP_RED_CP, 0, 100), 1001, 77777), VERDICT_OK);
    ck_assert_int_eq(feed(p, pair_data(6, LTP_RED_CP, 0, 100), 1000, 77777),
                     VERDICT_FORGOTTEN_SESSION);
    pair_drain(p);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 1);
    ck_assert_uint_eq(p->sent[LTP_CR], 1);
    pair_free(p);
}
END_TEST

SUITE(ltp_forget, t)
{
    tcase_add_test(t, number_again);
    tcase_add_test(t, number_again_after_long);
    tcase_add_loop_test(t, two_blocks_of_one_number, 0, 2);
    tcase_add_test(t, midst_of_a_session);
    tcase_add_test(t, unknown_report_of_a_whole_block);
}
