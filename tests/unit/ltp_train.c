/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments that follow each other (ltp/receiver/train.c) are taken in as all others are: two
 * receivers get the same datagrams, of which the one with a sink examines each. All that can be
 * seen of them must be equal after each datagram: verdicts, counters, notices with their data,
 * answers, deadlines.
 */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define HOME "host:port"
#define FLYING 600
#define BLOCKS 8
#define LONGEST 1100

struct datagram {
    size_t len;
    uint8_t bytes[LONGEST];
};

struct twins {
    struct ltp *sender, *l[2]; /* l[1] has a sink */
    struct rng rng;
    tick now;
    uint64_t events, blocks, checked;
    size_t flying;
    struct datagram at[FLYING];
};

static void count_event(void *context, const struct event *e)
{
    (void)e;
    ++*(uint64_t *)context;
}

static struct ltp *engine_new(uint64_t engine, uint64_t seed, const struct ltp_span *span,
                              struct twins *sink)
{
    struct ltp_config config = {.engine = engine, .seed = seed};
    struct ltp *l;
    config.sink = sink == NULL ? NULL : count_event;
    config.sink_context = sink == NULL ? NULL : &sink->events;
    ck_assert_int_eq(ltp_new(&l, &config), 0);
    ck_assert_int_eq(ltp_span_set(l, span, 0), 0);
    ck_assert_int_eq(ltp_link(l, span->peer, true, 0), 0);
    return l;
}

/* Spans of all kinds of receivers; a third of them look at the source. */
static struct twins *twins_new(uint64_t seed)
{
    struct twins *t = calloc(1, sizeof *t);
    struct ltp_span to_2 = pair_span(2), to_1 = pair_span(1);
    rng_init(&t->rng, seed);
    to_1.confirm_import = seed % 2 == 0;
    to_1.idle_timeout = seed % 5 == 0 ? 40 * TICK_MS : 0;
    to_1.block_max = seed % 7 == 0 ? 20000 : 0;
    to_1.ranges_max = seed % 4 == 0 ? 2 : 0;
    to_1.report_defer = seed % 2 == 1 ? 5 * TICK_MS : 0;
    to_2.recovery.checkpoint_segments = seed % 4 == 1 ? 8 : 0;
    t->sender = engine_new(1, seed, &to_2, NULL);
    for (int i = 0; i < 2; i++) {
        t->l[i] = engine_new(2, seed, &to_1, i == 0 ? NULL : t);
        if (seed % 3 == 0)
            ck_assert_int_eq(ltp_source(t->l[i], 1, slice_of(HOME, strlen(HOME)), 4), 0);
    }
    return t;
}

static void twins_free(struct twins *t)
{
    ltp_free(t->sender);
    ltp_free(t->l[0]);
    ltp_free(t->l[1]);
    free(t);
}

static void compare_notices(struct twins *t)
{
    struct ltp_notice n[2];
    while (ltp_poll(t->l[0], &n[0]) != 0) {
        ck_assert_int_ne(ltp_poll(t->l[1], &n[1]), 0);
        ck_assert_int_eq(n[0].kind, n[1].kind);
        ck_assert_uint_eq(n[0].id.number, n[1].id.number);
        ck_assert_int_eq(n[0].data == NULL, n[1].data == NULL);
        if (n[0].data != NULL) {
            ck_assert(slice_equal(buf_slice(n[0].data), buf_slice(n[1].data)));
            t->blocks++;
        }
        for (int i = 0; i < 2; i++) {
            if (n[i].kind == LTP_BLOCK)
                (void)ltp_accept(t->l[i], n[i].id, t->now);
            buf_drop(n[i].data);
        }
    }
    ck_assert_int_eq(ltp_poll(t->l[1], &n[1]), 0);
}

/* The receivers' answers, of which some arrive. */
static void compare_answers(struct twins *t)
{
    uint8_t head[2][2000];
    struct ltp_out out[2] = {{.head = head[0], .head_cap = sizeof head[0]},
                             {.head = head[1], .head_cap = sizeof head[1]}};
    while (ltp_output(t->l[0], 1, t->now, &out[0]) != 0) {
        ck_assert_int_ne(ltp_output(t->l[1], 1, t->now, &out[1]), 0);
        ck_assert(
            slice_equal(slice_of(head[0], out[0].head_len), slice_of(head[1], out[1].head_len)));
        if (!rng_chance(&t->rng, 0.2))
            (void)ltp_input(t->sender, head[0], out[0].head_len, t->now);
    }
    ck_assert_int_eq(ltp_output(t->l[1], 1, t->now, &out[1]), 0);
}

static void compare_all(struct twins *t)
{
    struct ltp_span_counters n[2];
    struct ltp_watch w[2];
    compare_notices(t);
    compare_answers(t);
    for (int i = 0; i < 2; i++) {
        ltp_check(t->l[i]);
        ck_assert_int_eq(ltp_span_counters(t->l[i], 1, &n[i]), 0);
        ck_assert_int_eq(ltp_watch(t->l[i], 1, &w[i]), 0);
    }
    ck_assert_int_eq(memcmp(&n[0], &n[1], sizeof n[0]), 0);
    ck_assert_uint_eq(w[0].rx_bytes, w[1].rx_bytes);
    ck_assert_uint_eq(w[0].heard, w[1].heard);
    ck_assert_int_eq(
        memcmp(ltp_counters(t->l[0]), ltp_counters(t->l[1]), sizeof(struct ltp_counters)), 0);
    ck_assert_uint_eq(ltp_deadline(t->l[0]), ltp_deadline(t->l[1]));
    t->checked++;
}

/* Both get it; some are changed by a bit, some come from elsewhere. */
static void deliver(struct twins *t, const struct datagram *d)
{
    struct datagram got = *d;
    const char *source = rng_chance(&t->rng, 0.01) ? "away" : HOME;
    if (rng_chance(&t->rng, 0.01))
        got.bytes[rng_below(&t->rng, rng_chance(&t->rng, 0.9) ? 14 : got.len)] ^=
            (uint8_t)(1 << rng_below(&t->rng, 8));
    if (rng_chance(&t->rng, 0.005))
        got.len -= 1 + rng_below(&t->rng, got.len - 1);
    enum verdict v[2];
    for (int i = 0; i < 2; i++)
        v[i] =
            ltp_input_from(t->l[i], got.bytes, got.len, slice_of(source, strlen(source)), t->now);
    ck_assert_int_eq(v[0], v[1]);
    compare_all(t);
}

static void collect(struct twins *t)
{
    uint8_t head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    while (t->flying < FLYING && ltp_output(t->sender, 2, t->now, &out) != 0) {
        struct datagram *d = &t->at[t->flying++];
        d->len = out.head_len + out.data.len;
        ck_assert_uint_le(d->len, sizeof d->bytes);
        memcpy(d->bytes, head, out.head_len);
        if (out.data.len > 0)
            memcpy(d->bytes + out.head_len, out.data.data, out.data.len);
    }
}

/* Mostly in order: some are lost, some come twice, some pairs are exchanged. */
static void deliver_all(struct twins *t)
{
    for (size_t i = 0; i < t->flying; i++) {
        if (i + 1 < t->flying && rng_chance(&t->rng, 0.02)) {
            struct datagram d = t->at[i];
            t->at[i] = t->at[i + 1];
            t->at[i + 1] = d;
        }
        t->now += rng_chance(&t->rng, 0.01) ? 15 * TICK_MS : TICK_US;
        if (rng_chance(&t->rng, 0.003)) /* a fade */
            i += 90;
        int copies = rng_chance(&t->rng, 0.03) ? 0 : rng_chance(&t->rng, 0.02) ? 2 : 1;
        for (; copies > 0 && i < t->flying; copies--)
            deliver(t, &t->at[i]);
    }
    t->flying = 0;
}

static void send_blocks(struct twins *t, uint64_t seed)
{
    for (uint64_t i = 0; i < BLOCKS; i++) {
        struct buf *b = pair_block(500 + rng_below(&t->rng, i == 3 ? 300000 : 40000), seed + i);
        struct ltp_session_id id;
        struct ltp_block block = {.peer = 2,
                                  .client_service = i == 5 ? 2 : 1,
                                  .data = b,
                                  .red_len = i % 3 == 2 ? b->len / 2 : b->len};
        ck_assert_int_eq(ltp_send(t->sender, &block, t->now, &id), 0);
        buf_drop(b);
    }
}

static bool expire_next(struct twins *t)
{
    tick due = tick_min(ltp_deadline(t->sender), ltp_deadline(t->l[0]));
    if (due == TICK_NEVER)
        return false;
    t->now = due > t->now ? due : t->now;
    ltp_expire(t->sender, t->now);
    ltp_expire(t->l[0], t->now);
    ltp_expire(t->l[1], t->now);
    compare_all(t);
    return true;
}

START_TEST(twins_agree)
{
    uint64_t seed = (uint64_t)_i + 1;
    struct twins *t = twins_new(seed);
    struct ltp_notice n;
    send_blocks(t, seed);
    for (int turn = 0; turn < 400; turn++) {
        collect(t);
        bool any = t->flying > 0;
        deliver_all(t);
        while (ltp_poll(t->sender, &n) != 0)
            buf_drop(n.data);
        if (!any && !expire_next(t))
            break;
    }
    ck_assert_uint_gt(t->checked, 100);
    ck_assert_uint_gt(t->blocks, 0);
    ck_assert_uint_gt(t->events, t->checked);
    twins_free(t);
}
END_TEST

/* Nothing is left of a session that is over, and of a peer that was removed, that a segment could
 * follow. */
START_TEST(over)
{
    struct pair *p = pair_new(NULL, NULL);
    for (uint64_t i = 0; i < 3; i++) {
        struct ltp_segment s = pair_data(7, LTP_RED, i * 100, 100);
        ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    }
    ck_assert_int_eq(ltp_cancel(p->l[1], (struct ltp_session_id){1, 7}, LTP_SYS_CNCLD, p->now), 0);
    struct ltp_segment s = pair_data(7, LTP_RED, 300, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_CLOSED_SESSION);
    ck_assert_int_eq(ltp_span_remove(p->l[1], 1, p->now), 0);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_CLOSED_SESSION);
    s = pair_data(8, LTP_RED, 300, 100);
    ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_UNKNOWN_PEER);
    pair_free(p);
}
END_TEST

SUITE(ltp_train, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, twins_agree, 0, 300);
    tcase_add_test(t, over);
}
