/* SPDX-License-Identifier: Apache-2.0 */
/* Who looks only at the peers that are named as touched misses nothing: whatever is done to an
 * engine, output, window and silence of all others are as they were. */
#include "ltp_pair.h"
#include "tests/unit/suite.h"

#define PEERS 12u
#define FIRST 2u
#define STEPS 4000u

struct seen {
    bool output, silent;
    uint32_t window;
};

struct scene {
    struct ltp *l;
    struct rng rng;
    tick now;
    uint64_t number; /* of the peers' sessions */
    struct seen seen[PEERS];
    bool named[PEERS]; /* in this round */
};

static struct seen look_at(const struct scene *s, uint64_t engine)
{
    return (struct seen){ltp_has_output(s->l, engine), ltp_silent(s->l, engine),
                         ltp_window(s->l, engine)};
}

static void set_up(struct scene *s, uint64_t seed)
{
    struct ltp_config config = {.engine = 1, .seed = seed};
    *s = (struct scene){.number = 1};
    rng_init(&s->rng, seed);
    ck_assert_int_eq(ltp_new(&s->l, &config), 0);
    for (uint64_t e = FIRST; e < FIRST + PEERS; e++) {
        struct ltp_span span = {
            .peer = e, .rto = 20 * TICK_MS, .retries_max = 3, .export_sessions = 4};
        span.recovery.sessions_auto = e % 2 == 0;
        ck_assert_int_eq(ltp_span_set(s->l, &span, 0), 0);
        ck_assert_int_eq(ltp_link(s->l, e, true, 0), 0);
    }
}

static void send_block(struct scene *s, uint64_t engine)
{
    struct ltp_session_id id;
    size_t len = 1 + rng_below(&s->rng, 5000);
    struct buf *data = buf_new(0, len);
    memset(buf_append(data, len), 7, len);
    struct ltp_block b = {.peer = engine,
                          .client_service = 1,
                          .data = data,
                          .red_len = rng_below(&s->rng, 4) == 0 ? 0 : len};
    (void)ltp_send(s->l, &b, s->now, &id);
    buf_drop(data);
}

/* A block of the peer's in one segment, which is answered. */
static void feed_block(struct scene *s, uint64_t engine)
{
    uint8_t bytes[400];
    struct ltp_segment d = pair_data(s->number++, LTP_RED_CP_EOB, 0, 100);
    d.id.originator = engine;
    d.cp_serial = 1;
    ltp_input(s->l, bytes, segment_write(&d, bytes, sizeof bytes), s->now);
}

static void send_segments(struct scene *s, uint64_t engine)
{
    uint8_t head[2000];
    for (unsigned i = 0; i < 40; i++) {
        struct ltp_out out = {.head = head, .head_cap = sizeof head};
        (void)ltp_output(s->l, engine, s->now, &out);
    }
    s->named[engine - FIRST] = true; /* the user has just asked it */
}

static void take_notices(struct scene *s)
{
    struct ltp_notice n;
    while (ltp_poll(s->l, &n) != 0)
        buf_drop(n.data);
}

static void do_something(struct scene *s)
{
    uint64_t engine = FIRST + rng_below(&s->rng, PEERS);
    switch (rng_below(&s->rng, 8)) {
    case 0:
    case 1:
        send_block(s, engine);
        break;
    case 2:
        feed_block(s, engine);
        break;
    case 3:
        ck_assert_int_eq(ltp_link(s->l, engine, rng_below(&s->rng, 3) != 0, s->now), 0);
        break;
    case 4:
        s->now += rng_below(&s->rng, 30 * TICK_MS);
        ltp_expire(s->l, s->now);
        break;
    case 5:
        take_notices(s);
        break;
    default:
        send_segments(s, engine);
        break;
    }
}

static void check_round(struct scene *s)
{
    uint64_t engine;
    while (ltp_touched(s->l, &engine)) {
        ck_assert(engine >= FIRST && engine < FIRST + PEERS);
        s->named[engine - FIRST] = true;
    }
    for (uint64_t i = 0; i < PEERS; i++) {
        struct seen is = look_at(s, FIRST + i);
        bool same = is.output == s->seen[i].output && is.silent == s->seen[i].silent &&
                    is.window == s->seen[i].window;
        ck_assert_msg(same || s->named[i], "engine %u was forgotten", (unsigned)(FIRST + i));
        s->seen[i] = is;
        s->named[i] = false;
    }
}

START_TEST(nobody_is_forgotten)
{
    struct scene s;
    set_up(&s, 1 + (uint64_t)_i);
    unsigned busy = 0, silent = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        do_something(&s);
        check_round(&s);
        for (unsigned k = 0; k < PEERS; k++) {
            busy += s.seen[k].output;
            silent += s.seen[k].silent;
        }
    }
    /* all of it happened */
    ck_assert_msg(busy > STEPS && busy < (PEERS - 1) * STEPS && silent > STEPS / 10,
                  "%u busy, %u silent", busy, silent);
    ltp_check(s.l);
    ltp_free(s.l);
}
END_TEST

START_TEST(named_once_in_order)
{
    struct scene s;
    uint64_t engine = 0;
    set_up(&s, 1);
    for (uint64_t e = FIRST; e < FIRST + PEERS; e++) {
        ck_assert(ltp_touched(s.l, &engine));
        ck_assert_uint_eq(engine, e);
    }
    ck_assert(!ltp_touched(s.l, &engine));
    send_block(&s, 5);
    send_block(&s, 3);
    send_block(&s, 5);
    ck_assert(ltp_touched(s.l, &engine) && engine == 5);
    ck_assert(ltp_touched(s.l, &engine) && engine == 3);
    ck_assert(!ltp_touched(s.l, &engine));
    send_block(&s, 4);
    ck_assert_int_eq(ltp_span_remove(s.l, 4, 0), 0);
    ck_assert(!ltp_touched(s.l, &engine)); /* who is gone is nobody to look at */
    ltp_check(s.l);
    ltp_free(s.l);
}
END_TEST

SUITE(ltp_touched, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, nobody_is_forgotten, 0, 3);
    tcase_add_test(t, named_once_in_order);
}
