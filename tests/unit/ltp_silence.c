/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that does not answer gets no whole blocks again: a session asks for it with a short
 * segment, and the rest goes as soon as anything of the peer is heard. */
#include "ltp_pair.h"
#include "tests/unit/suite.h"

#define BLOCK 10000

static struct pair *new_pair(void)
{
    struct ltp_span span = pair_span(2);
    span.retries_max = 2;
    return pair_new(&span, NULL);
}

/* Engine 2 is away: what engine 1 sends up to now + `time` is lost. */
static void lose_all(struct pair *p, tick time)
{
    tick end = p->now + time;
    while (p->now < end) {
        pair_drain(p);
        for (size_t i = 0; i < p->flying; i++)
            free(p->flights[i].bytes);
        p->flying = 0;
        tick next = ltp_deadline(p->l[0]);
        p->now = next < end ? next : end;
        ltp_expire(p->l[0], p->now);
    }
}

static uint64_t data_segments(const struct pair *p)
{
    return p->sent[LTP_RED] + p->sent[LTP_RED_CP] + p->sent[LTP_RED_CP_EORP] +
           p->sent[LTP_RED_CP_EOB] + p->sent[LTP_GREEN_DATA] + p->sent[LTP_GREEN_EOB];
}

/* The peer was never there: the first block is sent whole, and fails. */
static struct pair *silent_pair(void)
{
    struct pair *p = new_pair();
    pair_send(p, BLOCK, BLOCK);
    ck_assert(!ltp_silent(p->l[0], 2));
    lose_all(p, TICK_S);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 1);
    ck_assert_uint_eq(p->last[LTP_EXPORT_CANCELLED].reason, LTP_RLEXC);
    ck_assert(ltp_silent(p->l[0], 2));
    ck_assert_uint_eq(data_segments(p), 10 + 2);
    return p;
}

/* Each further try costs a short segment, as often as a checkpoint is sent. */
START_TEST(tries_cost_one_segment)
{
    struct pair *p = silent_pair();
    for (uint64_t tries = 1; tries <= 5; tries++) {
        pair_send(p, BLOCK, BLOCK);
        lose_all(p, TICK_S);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 1 + tries);
        ck_assert_uint_eq(data_segments(p), 12 + 3 * tries);
        ck_assert_uint_eq(p->sent[LTP_RED_CP], 3 * tries);
        ck_assert(ltp_silent(p->l[0], 2));
    }
    pair_free(p);
}
END_TEST

/* The report on the first segment is enough: nothing is sent twice. */
START_TEST(goes_on_when_answered)
{
    struct pair *p = silent_pair();
    uint64_t before = data_segments(p);
    tick begun = p->now;
    pair_send(p, BLOCK, BLOCK);
    pair_run_until(p, begun + p->delay);
    ck_assert_uint_eq(data_segments(p), before + 1);
    pair_run_until(p, begun + 4 * p->delay);
    ck_assert(!ltp_silent(p->l[0], 2));
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    ck_assert_uint_eq(data_segments(p), before + 11);
    pair_assert_red(p, BLOCK);
    pair_run(p);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* So is a segment of the peer's own: held blocks go on in their old order. */
START_TEST(goes_on_when_heard)
{
    struct pair *p = silent_pair();
    struct buf *b = pair_block(100, 1);
    struct ltp_block back = {.peer = 1, .client_service = 1, .data = b, .red_len = 0};
    struct ltp_session_id id;
    uint64_t before = data_segments(p);
    pair_send(p, BLOCK, BLOCK);
    pair_send(p, 2 * BLOCK, BLOCK); /* its green part waits, too */
    lose_all(p, TICK_MS);
    ck_assert_uint_eq(data_segments(p), before + 2);
    ck_assert_int_eq(ltp_send(p->l[1], &back, p->now, &id), 0);
    buf_drop(b);
    pair_run_until(p, p->now + p->delay); /* before the checkpoint's timer */
    ck_assert(!ltp_silent(p->l[0], 2));
    ck_assert_uint_ge(data_segments(p), before + 2 + 10 + 20);
    ck_assert_uint_le(data_segments(p), before + 2 + 10 + 21); /* cut elsewhere */
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 3); /* the green one, too */
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* A new contact begins as if the peer were there. */
START_TEST(ends_with_the_link_up)
{
    struct pair *p = silent_pair();
    ck_assert_int_eq(ltp_link(p->l[0], 2, false, p->now), 0);
    ck_assert(ltp_silent(p->l[0], 2));
    ck_assert_int_eq(ltp_link(p->l[0], 2, true, p->now), 0);
    ck_assert(!ltp_silent(p->l[0], 2));
    uint64_t before = data_segments(p);
    pair_send(p, BLOCK, BLOCK);
    pair_drain(p);
    ck_assert_uint_eq(data_segments(p), before + 10);
    pair_run(p);
    pair_free(p);
}
END_TEST

/* What waits for no answer is not held. */
START_TEST(green_is_not_held)
{
    struct pair *p = silent_pair();
    uint64_t before = data_segments(p);
    pair_send(p, BLOCK, 0);
    pair_drain(p);
    ck_assert_uint_eq(data_segments(p), before + 10);
    ck_assert(ltp_silent(p->l[0], 2));
    pair_run(p);
    pair_free(p);
}
END_TEST

/* Neither a peer whose answers were lost after it was heard, nor one that cancels, is silent. */
START_TEST(not_who_was_heard)
{
    struct pair *p = new_pair();
    pair_send(p, BLOCK, BLOCK);
    pair_run_until(p, p->delay + TICK_MS); /* the segments are there, the report is on its way */
    struct ltp_segment cancel = {.type = LTP_CR, .id = {1, 7}};
    (void)pair_feed(p, 0, &cancel);
    lose_all(p, TICK_S);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 1);
    ck_assert(!ltp_silent(p->l[0], 2));
    pair_free(p);
}
END_TEST

/* Freed while a block is held, or cancelled by its user. */
START_TEST(held_blocks_end)
{
    struct pair *p = silent_pair();
    struct ltp_session_id id = pair_send(p, BLOCK, BLOCK);
    pair_send(p, BLOCK, BLOCK);
    lose_all(p, TICK_MS);
    ck_assert_int_eq(ltp_cancel(p->l[0], id, LTP_USR_CNCLD, p->now), 0);
    pair_drain(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 2);
    pair_free(p);
}
END_TEST

SUITE(ltp_silence, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, tries_cost_one_segment);
    tcase_add_test(t, goes_on_when_answered);
    tcase_add_test(t, goes_on_when_heard);
    tcase_add_test(t, ends_with_the_link_up);
    tcase_add_test(t, green_is_not_held);
    tcase_add_test(t, not_who_was_heard);
    tcase_add_test(t, held_blocks_end);
}
