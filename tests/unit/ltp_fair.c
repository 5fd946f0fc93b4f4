/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory follows what was received, and no peer takes another's part: one datagram that names the
 * end of a gigabyte, a flood of whatever costs most beside a transfer, and blocks whose front comes
 * last.
 */
#include "ltp_pair.h"
#include "tests/unit/suite.h"

#define MEBI ((uint64_t)1 << 20)

static void join(struct ltp *l, uint64_t peer)
{
    struct ltp_span span = pair_span(peer);
    ck_assert_int_eq(ltp_span_set(l, &span, 0), 0);
    ck_assert_int_eq(ltp_link(l, peer, true, 0), 0);
}

static struct ltp *engine_new(uint64_t engine, const struct ltp_config *limits)
{
    struct ltp_config config = *limits;
    struct ltp *l;
    config.engine = engine;
    config.seed = engine + 90;
    ck_assert_int_eq(ltp_new(&l, &config), 0);
    return l;
}

static enum verdict feed(struct ltp *l, const struct ltp_segment *s, tick now)
{
    uint8_t bytes[2000];
    size_t len = segment_write(s, bytes, sizeof bytes);
    ck_assert_uint_gt(len, 0);
    return ltp_input(l, bytes, len, now);
}

static uint64_t held(const struct ltp *l)
{
    struct ltp_session_info info[2000];
    size_t n = ltp_sessions(l, info, 2000);
    uint64_t sum = 0;
    for (size_t i = 0; i < n && i < 2000; i++)
        sum += info[i].held;
    return sum;
}

/* 21 bytes that name the end of a gigabyte. */
START_TEST(an_offset_costs_nothing)
{
    struct ltp *l = engine_new(2, &(struct ltp_config){0});
    join(l, 1);
    for (uint64_t i = 1; i <= 1000; i++) {
        struct ltp_segment s = pair_data(i, LTP_RED, ((uint64_t)1 << 30) - 10, 10);
        ck_assert_int_eq(feed(l, &s, TICK_MS), VERDICT_OK);
    }
    ck_assert_uint_le(held(l), 1000 * 128);
    ltp_check(l);
    ltp_free(l);
}
END_TEST

/* One session's segments, each as far from the last as can be: a page, a buffer, nothing but what
 * came is charged. */
START_TEST(scattered_bytes)
{
    struct ltp *l = engine_new(2, &(struct ltp_config){0});
    join(l, 1);
    for (uint64_t i = 0; i < 4000; i++) {
        struct ltp_segment s = pair_data(1, LTP_RED, (i * 7919 % 4000) * 262144, 10);
        ck_assert_int_eq(feed(l, &s, TICK_MS), VERDICT_OK);
    }
    ck_assert_uint_le(held(l), 2 * 65536 + 4000 * 128);
    ltp_check(l);
    ltp_free(l);
}
END_TEST

/* A sender at a rate of one segment each 20 µs (410 Mbit/s), and a receiver 5 ms away. */
struct race {
    struct ltp *from, *to;
    struct flight flights[2048]; /* a ring: arrivals are in order */
    size_t head, len;
    tick now;
    uint64_t delivered, cancelled, sent;
    struct buf *block;
    struct rng rng;
};

static void race_send(struct race *r, struct ltp *l, uint64_t peer, int to)
{
    uint8_t head[1024];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    while (ltp_output(l, peer, r->now, &out) != 0) {
        ck_assert_uint_lt(r->len, 2048);
        struct flight *f = &r->flights[(r->head + r->len++) % 2048];
        *f = (struct flight){.at = r->now + 5 * TICK_MS,
                             .to = to,
                             .len = out.head_len + out.data.len,
                             .bytes = malloc(out.head_len + out.data.len)};
        memcpy(f->bytes, out.head, out.head_len);
        if (out.data.len > 0)
            memcpy(f->bytes + out.head_len, out.data.data, out.data.len);
        if (to == 2)
            return; /* the rate */
    }
}

static void race_notices(struct race *r)
{
    struct ltp_notice n;
    while (ltp_poll(r->from, &n) != 0)
        r->cancelled += n.kind == LTP_EXPORT_CANCELLED;
    while (ltp_poll(r->to, &n) != 0) {
        if (n.kind == LTP_BLOCK && n.peer == 1)
            r->delivered += n.data->len;
        buf_drop(n.data);
    }
}

/* What peer 3 likes: many sessions, far offsets, gaps, checkpoints for them, and never an end. */
static void flood(struct race *r)
{
    static const uint8_t bytes[900];
    for (int i = 0; i < 2; i++) {
        uint64_t kind = rng_below(&r->rng, 8);
        uint64_t far = rng_below(&r->rng, kind < 4 ? 1 << 30 : 1 << 20);
        struct ltp_segment s = {.type = kind == 0 ? LTP_RED_CP : LTP_RED,
                                .id = {3, 1 + rng_below(&r->rng, kind < 2 ? 100000 : 900)},
                                .client_service = kind == 1 && i == 0 ? 9 : 1,
                                .offset = kind == 7 ? ((uint64_t)1 << 30) - 1000 : far,
                                .data = slice_of(bytes, 1 + rng_below(&r->rng, sizeof bytes)),
                                .cp_serial = kind == 0 ? 1 + rng_below(&r->rng, 1 << 20) : 0};
        feed(r->to, &s, r->now);
    }
}

static uint64_t race(const struct ltp_config *limits, bool flooded, tick end)
{
    struct race *r = calloc(1, sizeof *r);
    struct ltp_session_id id;
    rng_init(&r->rng, 5);
    r->from = engine_new(1, limits);
    r->to = engine_new(2, limits);
    join(r->from, 2);
    join(r->to, 1);
    join(r->to, 3);
    r->block = pair_block(500000, 3);
    struct ltp_block b = {
        .peer = 2, .client_service = 1, .data = r->block, .red_len = r->block->len};
    for (; r->now < end; r->now += 20 * TICK_US) {
        while (ltp_send(r->from, &b, r->now, &id) == 0)
            r->sent++;
        race_send(r, r->from, 2, 2);
        race_send(r, r->to, 1, 1);
        if (flooded)
            flood(r);
        for (; r->len > 0 && r->flights[r->head].at <= r->now; r->len--) {
            struct flight *f = &r->flights[r->head];
            ltp_input(f->to == 2 ? r->to : r->from, f->bytes, f->len, r->now);
            free(f->bytes);
            r->head = (r->head + 1) % 2048;
        }
        ltp_expire(r->from, r->now);
        ltp_expire(r->to, r->now);
        race_notices(r);
    }
    ltp_check(r->to);
    ltp_check(r->from);
    ck_assert_uint_eq(r->cancelled, 0);
    uint64_t delivered = r->delivered;
    for (; r->len > 0; r->len--) {
        free(r->flights[r->head].bytes);
        r->head = (r->head + 1) % 2048;
    }
    ltp_free(r->from);
    ltp_free(r->to);
    buf_drop(r->block);
    free(r);
    return delivered;
}

/* 100,000 datagrams a second of it, with all the memory, and with little of everything. */
START_TEST(a_flood_beside_a_transfer)
{
    static const struct ltp_config limits[] = {{.held_bytes = 0},
                                               {.held_bytes = 64 << 20, .import_sessions = 200}};
    uint64_t alone = race(&limits[_i], false, 2 * TICK_S);
    uint64_t beside = race(&limits[_i], true, 2 * TICK_S);
    ck_assert_uint_gt(alone, 80 * MEBI);
    ck_assert_msg(beside * 100 >= alone * 95, "%llu of %llu bytes", (unsigned long long)beside,
                  (unsigned long long)alone);
}
END_TEST

/* All that nobody else needs is there for one: three quarters of it with another peer. */
START_TEST(what_is_free_may_be_used)
{
    struct ltp *l = engine_new(2, &(struct ltp_config){.held_bytes = 8 * MEBI});
    join(l, 1);
    join(l, 3);
    uint64_t ok = 0;
    for (uint64_t at = 0; at < 8 * MEBI; at += 1000) {
        struct ltp_segment s = pair_data(at / 1000000 + 1, LTP_RED, at % 1000000, 1000);
        ok += feed(l, &s, TICK_MS) == VERDICT_OK ? 1000 : 0;
        ltp_check(l);
    }
    ck_assert_uint_gt(ok, 5 * MEBI);
    ck_assert_uint_le(held(l), 6 * MEBI);
    /* the other one's quarter */
    ok = 0;
    for (uint64_t at = 0; at < 3 * MEBI / 2; at += 1000) {
        struct ltp_segment s = pair_data(1, LTP_RED, at, 1000);
        s.id.originator = 3;
        ok += feed(l, &s, TICK_MS) == VERDICT_OK ? 1000 : 0;
    }
    ck_assert_uint_gt(ok, MEBI);
    ltp_check(l);
    ltp_free(l);
}
END_TEST

/* The order in which the segments of a block come. */
static void shuffle(uint64_t *order, uint64_t n, int how, struct rng *r)
{
    for (uint64_t i = 0; i < n; i++)
        order[i] = how == 0 ? n - 1 - i : how == 1 ? (i + n / 2) % n : i;
    for (uint64_t i = n - 1; how == 2 && i > 0; i--) {
        uint64_t j = rng_below(r, i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* Backwards, the second half first, at random; red, green; with little memory to spare. */
START_TEST(the_front_comes_last)
{
    enum { SIZE = 1 << 20, PIECE = 1000, COUNT = (SIZE + PIECE - 1) / PIECE };
    static uint64_t order[COUNT];
    bool green = _i % 2 == 1, tight = _i >= 6;
    struct rng rng;
    rng_init(&rng, 11);
    struct ltp *l = engine_new(2, &(struct ltp_config){.held_bytes = tight ? SIZE * 5 / 4 : 0});
    join(l, 1);
    shuffle(order, COUNT, _i / 2 % 3, &rng);
    struct buf *want = pair_block(SIZE, 8);
    struct ltp_notice n;
    for (int i = 0; i < COUNT; i++) {
        uint64_t at = order[i] * PIECE, len = at + PIECE > SIZE ? SIZE - at : PIECE;
        bool last = at + len == SIZE;
        int type =
            green ? (last ? LTP_GREEN_EOB : LTP_GREEN_DATA) : (last ? LTP_RED_CP_EOB : LTP_RED);
        struct ltp_segment s = pair_data(1, type, at, (size_t)len);
        s.data = slice_of(buf_data(want) + at, (size_t)len);
        ck_assert_int_eq(feed(l, &s, TICK_MS), VERDICT_OK);
        if (i % 16 == 0)
            ltp_check(l);
    }
    ck_assert_int_eq(ltp_poll(l, &n), 1);
    ck_assert_int_eq(n.kind, green ? LTP_GREEN : LTP_BLOCK);
    ck_assert_uint_eq(n.data->len, SIZE);
    ck_assert_int_eq(memcmp(buf_data(n.data), buf_data(want), SIZE), 0);
    ck_assert(n.end);
    buf_drop(n.data);
    buf_drop(want);
    ltp_check(l);
    ltp_free(l);
}
END_TEST

/* Green data far apart that never become whole are given as they came. */
START_TEST(green_pieces_far_apart)
{
    struct ltp *l = engine_new(2, &(struct ltp_config){.held_bytes = _i == 0 ? 0 : MEBI});
    join(l, 1);
    struct buf *want = pair_block(900, 4);
    for (uint64_t i = 0; i < 5; i++) {
        struct ltp_segment s =
            pair_data(1, i == 4 ? LTP_GREEN_EOB : LTP_GREEN_DATA, i * 200000, 900);
        s.data = slice_of(buf_data(want), 900);
        ck_assert_int_eq(feed(l, &s, TICK_MS), VERDICT_OK);
    }
    ck_assert_uint_le(held(l), 70000);
    ltp_expire(l, 10 * TICK_S);
    struct ltp_notice n;
    for (uint64_t i = 0; i < 5; i++) {
        ck_assert_int_eq(ltp_poll(l, &n), 1);
        ck_assert_int_eq(n.kind, LTP_GREEN);
        ck_assert_uint_eq(n.offset, i * 200000);
        ck_assert_uint_eq(n.data->len, 900);
        ck_assert_int_eq(memcmp(buf_data(n.data), buf_data(want), 900), 0);
        buf_drop(n.data);
    }
    buf_drop(want);
    ltp_check(l);
    ltp_free(l);
}
END_TEST

SUITE(ltp_fair, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, an_offset_costs_nothing);
    tcase_add_test(t, scattered_bytes);
    tcase_add_loop_test(t, a_flood_beside_a_transfer, 0, 2);
    tcase_add_test(t, what_is_free_may_be_used);
    tcase_add_loop_test(t, the_front_comes_last, 0, 12);
    tcase_add_loop_test(t, green_pieces_far_apart, 0, 2);
}
