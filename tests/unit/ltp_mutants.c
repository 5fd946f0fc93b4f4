/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A million damaged datagrams: segments of a real exchange, of all types, mutated by a seed and fed
 * to both engines while their sessions run, of which one takes unconfigured peers. Nothing may
 * crash; each datagram has one verdict; the limits hold; and at the end both engines get idle
 * again.
 */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define MUTANTS 1000000
#define POOL 256 /* small, so that most belong to sessions that are still open */
#define LONGEST 400

struct mutants {
    struct pair *p;
    struct rng rng;
    struct {
        uint8_t bytes[LONGEST];
        size_t len;
    } pool[POOL];
    size_t pooled;
    uint64_t fed[2];
};

static void pool_add(struct mutants *m, const uint8_t *head, size_t head_len, struct slice data)
{
    if (head_len + data.len > LONGEST)
        return;
    size_t at = m->pooled < POOL ? m->pooled++ : rng_below(&m->rng, POOL);
    memcpy(m->pool[at].bytes, head, head_len);
    if (data.len > 0)
        memcpy(m->pool[at].bytes + head_len, data.data, data.len);
    m->pool[at].len = head_len + data.len;
}

static void feed(struct mutants *m, int to, const uint8_t *bytes, size_t len)
{
    struct slice source = slice_of(m->fed[to] % 3 == 0 ? "a" : "b", 1);
    ltp_input_from(m->p->l[to], bytes, len, source, m->p->now);
    m->fed[to]++;
}

static void drain_unconfigured(struct mutants *m, struct ltp *l)
{
    uint8_t head[2048];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct ltp_unconfigured g;
    for (int k = 0; k < 50 && ltp_unconfigured_next(l, &g); k++) {
        if (ltp_output(l, g.peer, m->p->now, &out) != 0) /* 0: it had no credit */
            pool_add(m, head, out.head_len, out.data);
    }
}

/* What the engines say goes into the pool, and mostly also to the other one. */
static void drain(struct mutants *m)
{
    uint8_t head[2048], whole[4096];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    for (int i = 0; i < 2; i++) {
        struct ltp_notice n;
        for (int k = 0; k < 50 && ltp_output(m->p->l[i], (uint64_t)(2 - i), m->p->now, &out); k++) {
            pool_add(m, head, out.head_len, out.data);
            memcpy(whole, head, out.head_len);
            if (out.data.len > 0)
                memcpy(whole + out.head_len, out.data.data, out.data.len);
            if (rng_chance(&m->rng, 0.7))
                feed(m, 1 - i, whole, out.head_len + out.data.len);
        }
        drain_unconfigured(m, m->p->l[i]);
        while (ltp_poll(m->p->l[i], &n) != 0)
            buf_drop(n.data);
    }
}

static void more_to_send(struct mutants *m)
{
    struct buf *b = pair_block(1 + rng_below(&m->rng, 4000), 3);
    struct ltp_session_id id;
    for (int i = 0; i < 2; i++) {
        struct ltp_block block = {.peer = (uint64_t)(2 - i),
                                  .client_service = 1,
                                  .data = b,
                                  .red_len = rng_below(&m->rng, b->len + 1)};
        if (ltp_send(m->p->l[i], &block, m->p->now, &id) == 0 && rng_chance(&m->rng, 0.1))
            ltp_cancel(m->p->l[i], id, LTP_USR_CNCLD, m->p->now);
    }
    buf_drop(b);
}

static size_t mutate(struct mutants *m, uint8_t *bytes, size_t len)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0x81, 0xff, 0x08, 0x10};
    uint64_t times = 1 + rng_below(&m->rng, 3);
    for (; times > 0 && len > 0; times--) {
        size_t at = rng_below(&m->rng, rng_chance(&m->rng, 0.7) && len > 24 ? 24 : len);
        switch (rng_below(&m->rng, 6)) {
        case 0:
            bytes[at] ^= (uint8_t)(1U << rng_below(&m->rng, 8));
            break;
        case 1:
            bytes[at] = telling[rng_below(&m->rng, sizeof telling)];
            break;
        case 2:
            len = at;
            break;
        case 3:
            memmove(bytes + at + 1, bytes + at, len - at);
            len++;
            break;
        case 4:
            memmove(bytes + at, bytes + at + 1, len - at - 1);
            len--;
            break;
        default:
            bytes[0] = (uint8_t)rng_below(&m->rng, 16);
        }
    }
    return len;
}

static struct pair *small_pair(void)
{
    struct pair *p = pair_new(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        struct ltp_config config = {.engine = (uint64_t)i + 1,
                                    .seed = 9,
                                    .import_sessions = 40,
                                    .held_bytes = 3000000,
                                    .closed_memory = 300,
                                    .closed_time = 2 * TICK_S,
                                    .unconfigured_max = i == 0 ? 0 : 4};
        struct ltp_span span = {.peer = (uint64_t)(2 - i),
                                .segment_max = 200,
                                .export_sessions = 8,
                                .import_sessions = 6,
                                .block_max = 100000,
                                .ranges_max = 4,
                                .claims_max = 3,
                                .rto = 10 * TICK_MS,
                                .retries_max = 3,
                                .idle_timeout = 500 * TICK_MS};
        config.unconfigured = &span;
        ltp_free(p->l[i]);
        ck_assert_int_eq(ltp_new(&p->l[i], &config), 0);
        ck_assert_int_eq(ltp_span_set(p->l[i], &span, 0), 0);
        ck_assert_int_eq(ltp_link(p->l[i], span.peer, true, 0), 0);
    }
    return p;
}

static void assert_all_counted(const struct mutants *m)
{
    for (int i = 0; i < 2; i++) {
        uint64_t sum = 0;
        for (int v = 0; v < VERDICT_COUNT; v++)
            sum += ltp_counters(m->p->l[i])->verdicts[v];
        ck_assert_uint_eq(sum, m->fed[i]);
    }
}

/* Of spans with authentication or cookies: ltp_auth.c. */
static bool not_here(int v)
{
    return v == VERDICT_AUTH_MISSING || v == VERDICT_AUTH_BAD || v == VERDICT_BAD_COOKIE;
}

START_TEST(million)
{
    struct mutants *m = calloc(1, sizeof *m);
    rng_init(&m->rng, 20260101);
    m->p = small_pair();
    for (int i = 0; i < MUTANTS; i++) {
        uint8_t bytes[LONGEST + 8];
        if (i % 100 == 0) {
            m->p->now += rng_below(&m->rng, 3 * TICK_MS);
            ltp_expire(m->p->l[0], m->p->now);
            ltp_expire(m->p->l[1], m->p->now);
            if (i % 500 == 0)
                more_to_send(m);
            drain(m);
        }
        if (i % 5000 == 0) {
            ltp_check(m->p->l[0]);
            ltp_check(m->p->l[1]);
            assert_all_counted(m);
        }
        size_t pick = rng_below(&m->rng, m->pooled);
        size_t len = m->pool[pick].len;
        memcpy(bytes, m->pool[pick].bytes, len);
        len = mutate(m, bytes, len);
        feed(m, (int)rng_below(&m->rng, 2), bytes, len);
    }
    assert_all_counted(m);
    const struct ltp_counters *c = ltp_counters(m->p->l[1]);
    /* the mutants reach everything that a single datagram can cause but want of memory, and
     * what takes thousands of reports in one session */
    for (int v = 0; v < VERDICT_COUNT; v++)
        ck_assert_msg(c->verdicts[v] > 0 || not_here(v) || v == VERDICT_NO_MEMORY ||
                          v == VERDICT_LIMIT_REPORTS,
                      "never: %s", verdict_name((enum verdict)v));
    for (int i = 0; i < 200; i++) {
        m->p->now += 100 * TICK_MS; /* the longest timer is the sender's for a silent receiver */
        ltp_expire(m->p->l[0], m->p->now);
        ltp_expire(m->p->l[1], m->p->now);
        drain(m);
    }
    pair_assert_idle(m->p);
    pair_free(m->p);
    free(m);
}
END_TEST

SUITE(ltp_mutants, t)
{
    tcase_set_timeout(t, 300);
    tcase_add_test(t, million);
}
