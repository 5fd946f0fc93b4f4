/* SPDX-License-Identifier: Apache-2.0 */
/* Green and mixed blocks, whole and with pieces missing. */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define BLOCK 50000

static void assert_green(const struct pair *p, size_t i, uint64_t offset, uint64_t len, bool end)
{
    ck_assert_uint_lt(i, p->green_count);
    struct buf *want = pair_block(offset + len, 3);
    ck_assert_uint_eq(p->greens[i].offset, offset);
    ck_assert_uint_eq(p->green[i]->len, len);
    ck_assert_int_eq(p->greens[i].end, end);
    ck_assert_int_eq(memcmp(buf_data(p->green[i]), buf_data(want) + offset, len), 0);
    buf_drop(want);
}

START_TEST(whole)
{
    static const size_t sizes[] = {1, 60, 1010, 1012, BLOCK};
    for (size_t i = 0; i < 5; i++) {
        struct pair *p = pair_new(NULL, NULL);
        pair_send(p, sizes[i], 0);
        pair_run(p);
        ck_assert_uint_eq(p->green_count, 1);
        assert_green(p, 0, 0, sizes[i], true);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
        ck_assert_uint_eq(p->notices[LTP_INITIAL_SENT], 1);
        ck_assert_uint_eq(p->sent[LTP_GREEN_EOB], 1);
        ck_assert_uint_eq(p->now, p->delay);
        ck_assert_uint_eq(ltp_counters(p->l[1])->tx_bytes, 0);
        pair_assert_idle(p);
        pair_free(p);
    }
}
END_TEST

START_TEST(with_loss)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_GREEN_DATA, 2);
    pair_drop(p, LTP_GREEN_DATA, 10);
    pair_send(p, BLOCK, 0);
    pair_run_until(p, 100 * TICK_MS);
    ck_assert_uint_eq(p->green_count, 0); /* reordering has its time */
    pair_run(p);
    ck_assert_uint_eq(p->green_count, 3);
    uint64_t first = p->green[0]->len, second = p->greens[1].offset + p->green[1]->len;
    assert_green(p, 0, 0, first, false);
    assert_green(p, 1, p->greens[1].offset, p->green[1]->len, false);
    assert_green(p, 2, p->greens[2].offset, BLOCK - p->greens[2].offset, true);
    ck_assert_uint_eq(p->greens[1].offset - first + p->greens[2].offset - second, p->dropped_data);
    ck_assert_uint_eq(p->now, 5 * TICK_MS + 300 * TICK_MS);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 0);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(end_lost)
{
    struct pair *p = pair_new(NULL, NULL);
    pair_drop(p, LTP_GREEN_EOB, 0);
    pair_send(p, BLOCK, 0);
    pair_run(p);
    ck_assert_uint_eq(p->green_count, 1);
    assert_green(p, 0, 0, p->green[0]->len, false);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

START_TEST(mixed)
{
    for (int lost = 0; lost < 5; lost++) {
        static const int types[] = {LTP_RED_CP, LTP_RED, LTP_RED_CP_EORP, LTP_RS, LTP_RA};
        struct pair *p = pair_new(NULL, NULL);
        pair_drop(p, types[lost], 0);
        pair_send(p, BLOCK, 20000);
        pair_run(p);
        pair_assert_red(p, 20000);
        ck_assert_uint_eq(p->green_count, 1);
        assert_green(p, 0, 20000, BLOCK - 20000, true);
        ck_assert_uint_eq(p->notices[LTP_BLOCK], 1);
        ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
        ck_assert_uint_eq(p->notices[LTP_INITIAL_SENT], 1);
        pair_assert_idle(p);
        pair_free(p);
    }
}
END_TEST

START_TEST(mixed_without_green)
{
    struct pair *p = pair_new(NULL, NULL);
    for (uint64_t i = 0; i < 40; i++)
        pair_drop(p, LTP_GREEN_DATA, i);
    pair_drop(p, LTP_GREEN_EOB, 0);
    pair_send(p, BLOCK, 20000);
    pair_run(p);
    pair_assert_red(p, 20000);
    ck_assert_uint_eq(p->green_count, 0);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* Green data that arrives before all of the red part, whose first segment is late. */
START_TEST(green_first)
{
    struct pair *p = pair_new(NULL, NULL);
    struct buf *b = pair_block(300, 3);
    struct ltp_segment s = {.type = LTP_GREEN_EOB,
                            .id = {1, 5},
                            .client_service = 1,
                            .offset = 200,
                            .data = slice_of(buf_data(b) + 200, 100)};
    uint8_t bytes[1000];
    ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), 0);
    s.type = LTP_RED_CP_EORP;
    s.cp_serial = 9;
    s.offset = 100;
    s.data = slice_of(buf_data(b) + 100, 100);
    ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), 0);
    pair_drain(p);
    ck_assert_uint_eq(p->green_count, 1);
    assert_green(p, 0, 200, 100, true);
    s.type = LTP_RED;
    s.offset = 0;
    s.data = slice_of(buf_data(b), 100);
    ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), 0);
    pair_drain(p);
    pair_assert_red(p, 200);
    buf_drop(b);
    pair_free(p);
}
END_TEST

/* A red session in which nothing arrives any more, with a limit to its silence. */
START_TEST(silent_red)
{
    struct ltp_span from = pair_span(1);
    from.idle_timeout = 50 * TICK_MS;
    struct pair *p = pair_new(NULL, &from);
    struct ltp_segment s = {
        .type = LTP_RED, .id = {1, 5}, .client_service = 1, .data = slice_of("abc", 3)};
    uint8_t bytes[100];
    ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), 0);
    s.offset = 10;
    p->now = 30 * TICK_MS;
    ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), p->now);
    pair_run_until(p, 80 * TICK_MS - 1);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 0);
    pair_run_until(p, 80 * TICK_MS);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 1);
    pair_run(p);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* A wholly green session has a patience of its own, which red data does not shorten. */
START_TEST(silent_green)
{
    struct ltp_span from = pair_span(1);
    from.idle_timeout = 500 * TICK_MS;
    from.green_timeout = 40 * TICK_MS;
    struct pair *p = pair_new(NULL, &from);
    struct ltp_segment s = {
        .type = LTP_GREEN_DATA, .id = {1, 5}, .client_service = 1, .data = slice_of("abc", 3)};
    uint8_t bytes[100];
    ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), 0);
    s.type = LTP_RED;
    s.id.number = 6;
    ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), 0);
    pair_run_until(p, 40 * TICK_MS - 1);
    ck_assert_uint_eq(p->notices[LTP_GREEN], 0);
    pair_run_until(p, 40 * TICK_MS);
    ck_assert_uint_eq(p->notices[LTP_GREEN], 1);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 1);
    pair_run_until(p, 500 * TICK_MS - 1);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 1);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 2);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

/* The red part is there and known to be; what is lost of the green one is no reason to cancel. */
START_TEST(mixed_without_its_end)
{
    struct ltp_span from = pair_span(1);
    from.idle_timeout = 200 * TICK_MS;
    struct pair *p = pair_new(NULL, &from);
    pair_drop(p, LTP_GREEN_EOB, 0);
    for (uint64_t i = 0; _i == 1 && i < 10; i++)
        pair_drop(p, LTP_GREEN_DATA, i); /* nothing of it */
    pair_send(p, 9000, 5000);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 1);
    ck_assert_uint_eq(p->notices[LTP_GREEN], _i == 0 ? 1 : 0);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 0);
    ck_assert_uint_eq(ltp_counters(p->l[1])->closed[OUTCOME_DONE], 1);
    ck_assert_uint_eq(p->sent[LTP_CR], 0);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

SUITE(ltp_green, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, whole);
    tcase_add_test(t, with_loss);
    tcase_add_test(t, end_lost);
    tcase_add_test(t, mixed);
    tcase_add_test(t, mixed_without_green);
    tcase_add_test(t, green_first);
    tcase_add_test(t, silent_red);
    tcase_add_test(t, silent_green);
    tcase_add_loop_test(t, mixed_without_its_end, 0, 2);
}
