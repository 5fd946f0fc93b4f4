/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery switches where a scenario cannot reach: reports of a receiver that is not ours, limits.
 */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define BLOCK 20000

/* Radiates all that waits; returns how many data bytes that was, and the last checkpoint's serial.
 */
static uint64_t radiate(struct ltp *l, tick now, uint64_t *cp_serial)
{
    uint8_t head[1024], whole[2048];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    uint64_t bytes = 0;
    while (ltp_output(l, 2, now, &out) != 0) {
        struct ltp_segment s;
        memcpy(whole, head, out.head_len);
        if (out.data.len > 0)
            memcpy(whole + out.head_len, out.data.data, out.data.len);
        ck_assert_int_eq(segment_parse(&s, whole, out.head_len + out.data.len), VERDICT_OK);
        bytes += segment_is_data(&s) ? s.data.len : 0;
        if (segment_is_checkpoint(&s))
            *cp_serial = s.cp_serial;
    }
    return bytes;
}

static enum verdict report(struct ltp *l, struct ltp_session_id id, uint64_t serial,
                           uint64_t cp_serial, struct range scope, tick now)
{
    struct range claims[2] = {{0, 5000}, {6000, scope.hi}};
    struct ltp_segment s = {.type = LTP_RS,
                            .id = id,
                            .rpt_serial = serial,
                            .cp_serial = cp_serial,
                            .lower = scope.lo,
                            .upper = scope.hi,
                            .claim_count = 2};
    uint8_t bytes[256];
    size_t len = segment_write_report(&s, claims, bytes, sizeof bytes);
    ck_assert_uint_gt(len, 0);
    return ltp_input(l, bytes, len, now);
}

/* A receiver that answers each arrival of a checkpoint with a new report, as some do: with
 * merge_claims the gap is sent again once per loss, without it once per report. */
START_TEST(merged_claims)
{
    struct ltp_span span = pair_span(2);
    span.recovery.merge_claims = _i == 1;
    struct pair *p = pair_new(&span, NULL);
    struct ltp_session_id id = pair_send(p, BLOCK, BLOCK);
    uint64_t first = 0, second = 0, third = 0;
    ck_assert_uint_eq(radiate(p->l[0], 0, &first), BLOCK);
    ck_assert_int_eq(report(p->l[0], id, 100, first, (struct range){0, BLOCK}, 1), VERDICT_OK);
    ck_assert_uint_eq(radiate(p->l[0], 2, &second), 1000);
    ck_assert_uint_gt(second, first);
    ck_assert_int_eq(report(p->l[0], id, 101, first, (struct range){0, BLOCK}, 3), VERDICT_OK);
    ck_assert_uint_eq(radiate(p->l[0], 4, &third), _i == 1 ? 0 : 1000);
    ltp_check(p->l[0]);
    /* the answer to the repetition's own checkpoint: it was lost as well */
    ck_assert_int_eq(report(p->l[0], id, 102, second, (struct range){0, 6001}, 5), VERDICT_OK);
    ck_assert_uint_eq(radiate(p->l[0], 6, &third), 1000);
    ltp_check(p->l[0]);
    pair_free(p);
}
END_TEST

/* With copies nearly every answer is one to something that was sent several times. A first
 * measurement that took the loss of copies for distance must not stay for ever. */
START_TEST(timer_with_copies)
{
    struct ltp_span span = pair_span(2);
    span.rto = 500 * TICK_MS;
    span.recovery = (struct ltp_recovery){
        .rto_auto = true, .closing_bytes = 1, .copies = 3, .copy_spacing = 3 * TICK_MS};
    struct pair *p = pair_new(&span, NULL);
    tick timer[2];
    uint64_t gone = 0;
    for (int session = 0; session < 21; session++) {
        for (uint64_t i = 0; session == 0 && i < 3; i++)
            pair_drop(p, LTP_RED_CP_EOB, i); /* the report comes 10 + 9 ms after the first */
        pair_send(p, 2000, 2000);
        pair_run(p);
        gone = p->sent[LTP_RED_CP_EOB];
        if (session != 0 && session != 20)
            continue;
        for (uint64_t i = 0; i < 4; i++)
            pair_drop(p, LTP_RED_CP_EOB, gone + i);
        tick begun = p->now;
        pair_send(p, 2000, 2000);
        pair_run_until(p, begun + 10 * TICK_MS);
        timer[session / 20] = ltp_deadline(p->l[0]) - begun - 9 * TICK_MS;
        pair_run(p);
    }
    ck_assert_uint_gt(timer[0], 50 * TICK_MS);
    ck_assert_uint_lt(timer[1], 20 * TICK_MS);
    ck_assert_uint_gt(timer[1], 10 * TICK_MS); /* the distance */
    pair_free(p);
}
END_TEST

static struct ltp_span automatic(uint64_t bytes)
{
    struct ltp_span span = pair_span(2);
    span.export_sessions = 10;
    span.recovery.sessions_auto = true;
    span.recovery.sessions_bytes = bytes;
    span.recovery.sessions_age = TICK_S;
    return span;
}

/* The limit grows only when the line idles, and only as far as the memory goes. */
START_TEST(sessions_within_memory)
{
    struct ltp_span span = automatic(5 * BLOCK);
    struct pair *p = pair_new(&span, NULL);
    uint64_t serial;
    ck_assert_uint_eq(ltp_room(p->l[0], 2), 2);
    pair_send(p, BLOCK, BLOCK);
    pair_send(p, BLOCK, BLOCK);
    ck_assert_uint_eq(ltp_room(p->l[0], 2), 0);
    for (int open = 3; open <= 5; open++) {
        radiate(p->l[0], 0, &serial);
        ck_assert_uint_eq(ltp_room(p->l[0], 2), 1);
        pair_send(p, BLOCK, BLOCK);
    }
    radiate(p->l[0], 0, &serial);
    ck_assert_uint_eq(ltp_room(p->l[0], 2), 0);
    pair_free(p);
}
END_TEST

/* A limit that grew with short blocks lets no more long ones in than the memory allows, and one. */
START_TEST(sessions_of_longer_blocks)
{
    struct ltp_span span = automatic(10 * BLOCK);
    struct pair *p = pair_new(&span, NULL);
    uint64_t serial;
    pair_send(p, 100, 100);
    for (int open = 2; open <= 8; open++) {
        pair_send(p, 100, 100);
        radiate(p->l[0], 0, &serial);
    }
    pair_run(p);
    ck_assert_uint_gt(ltp_room(p->l[0], 2), 7);
    int sent = 0;
    for (; ltp_room(p->l[0], 2) > 0; sent++) {
        ck_assert_uint_gt(ltp_window(p->l[0], 2), (uint32_t)sent);
        pair_send(p, 3 * BLOCK, 3 * BLOCK);
    }
    ck_assert_int_eq(sent, 4);
    ck_assert_uint_eq(ltp_window(p->l[0], 2), 4);
    struct ltp_session_id id;
    struct buf *data = pair_block(10, 1);
    struct ltp_block block = {.peer = 2, .client_service = 1, .data = data, .red_len = 10};
    ck_assert_int_eq(ltp_send(p->l[0], &block, p->now, &id), HELIO_EAGAIN);
    buf_drop(data);
    pair_run(p);
    pair_assert_idle(p);
    ck_assert_uint_gt(ltp_room(p->l[0], 2), 7);
    pair_send(p, 100 * BLOCK, 100 * BLOCK); /* two may be as long as they want */
    ck_assert_uint_gt(ltp_room(p->l[0], 2), 0);
    pair_send(p, 100 * BLOCK, 100 * BLOCK);
    ck_assert_uint_eq(ltp_room(p->l[0], 2), 0);
    pair_free(p);
}
END_TEST

/* Used one after the other, sessions bring the limit down again, one per age, to 2. */
START_TEST(sessions_shrink)
{
    struct ltp_span span = automatic(100 * BLOCK);
    struct pair *p = pair_new(&span, NULL);
    uint64_t serial;
    pair_send(p, BLOCK, BLOCK);
    for (int open = 2; open <= 8; open++) {
        pair_send(p, BLOCK, BLOCK);
        radiate(p->l[0], 0, &serial);
    }
    ck_assert_uint_eq(ltp_room(p->l[0], 2), 1);
    pair_run(p);
    pair_assert_idle(p);
    uint32_t before = ltp_room(p->l[0], 2);
    for (int i = 1; i <= 12; i++) {
        p->now += TICK_S;
        pair_send(p, BLOCK, BLOCK);
        pair_run(p);
        uint32_t room = ltp_room(p->l[0], 2);
        ck_assert_uint_le(room, before);
        ck_assert_uint_ge(room + 1, before);
        before = room;
    }
    ck_assert_uint_eq(before, 2);
    pair_free(p);
}
END_TEST

START_TEST(spans_refused)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_span span = pair_span(2);
    span.recovery.closing_bytes = 1025;
    ck_assert_int_eq(ltp_span_set(p->l[0], &span, 0), HELIO_EINVAL);
    span.recovery.closing_bytes = 1024;
    ck_assert_int_eq(ltp_span_set(p->l[0], &span, 0), 0);
    span.recovery.rto_min = 2 * TICK_MS;
    span.recovery.rto_max = TICK_MS;
    ck_assert_int_eq(ltp_span_set(p->l[0], &span, 0), HELIO_EINVAL);
    pair_free(p);
}
END_TEST

/* Every length of the last stretch around one segment, with the closing piece apart. */
START_TEST(closing_lengths)
{
    struct ltp_span span = pair_span(2);
    span.recovery = ltp_recovery_default;
    for (size_t len = 1; len < 2060; len += len < 20 || len > 980 ? 1 : 97) {
        struct pair *p = pair_new(&span, NULL);
        pair_send(p, len, len);
        pair_run(p);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
        pair_assert_red(p, len);
        pair_assert_idle(p);
        ck_assert_uint_le(p->largest, 1024);
        pair_free(p);
    }
}
END_TEST

/* A receiver answers each early checkpoint, and may have a limit for the reports of a session: so a
 * long block has no more of them than a short one. */
START_TEST(early_checkpoints_are_few)
{
    struct ltp_span span = pair_span(2);
    span.recovery.checkpoint_segments = 4;
    for (size_t len = 20000; len <= 2000000; len *= 10) {
        struct pair *p = pair_new(&span, NULL);
        pair_send(p, len, len);
        pair_run(p);
        ck_assert_uint_ge(p->sent[LTP_RED_CP], 4);
        ck_assert_uint_le(p->sent[LTP_RED_CP], 19);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
        pair_free(p);
    }
}
END_TEST

/* A copy that comes while the block waits for the user's answer is a copy: it changes nothing. */
START_TEST(copy_before_the_answer)
{
    struct ltp_span from = pair_span(1);
    from.confirm_import = true;
    struct pair *p = pair_new(NULL, &from);
    p->accept = false;
    struct ltp_segment cp = pair_data(7, LTP_RED_CP_EOB, 0, 100);
    ck_assert_int_eq(pair_feed(p, 1, &cp), VERDICT_OK);
    ck_assert_int_eq(pair_feed(p, 1, &cp), VERDICT_DUPLICATE);
    cp.cp_serial++; /* that is another question */
    ck_assert_int_eq(pair_feed(p, 1, &cp), VERDICT_OK);
    ck_assert_int_eq(pair_feed(p, 1, &cp), VERDICT_DUPLICATE);
    ck_assert_int_eq(ltp_accept(p->l[1], cp.id, p->now), 0);
    ck_assert_int_eq(pair_feed(p, 1, &cp), VERDICT_DUPLICATE);
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_RS], 1);
    pair_free(p);
}
END_TEST

SUITE(ltp_recovery, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, merged_claims, 0, 2);
    tcase_add_test(t, timer_with_copies);
    tcase_add_test(t, sessions_within_memory);
    tcase_add_test(t, sessions_of_longer_blocks);
    tcase_add_test(t, sessions_shrink);
    tcase_add_test(t, spans_refused);
    tcase_add_test(t, closing_lengths);
    tcase_add_test(t, early_checkpoints_are_few);
    tcase_add_test(t, copy_before_the_answer);
}
