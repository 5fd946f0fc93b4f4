/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two engines and the space between them, in virtual time: each segment arrives after `delay`,
 * unless the test drops it by its type and how many of that type were sent before, or changes it.
 */
#ifndef TESTS_LTP_PAIR_H
#define TESTS_LTP_PAIR_H

#include <assert.h>
#include <stdlib.h>

#include "base/rng.h"
#include "ltp/ltp.h"
#include "ltp/segment.h"
#include "tests/unit/suite.h"

#define PAIR_FLIGHTS 8192
#define PAIR_DROPS 64

struct flight {
    tick at;
    uint64_t order;
    int to;
    size_t len;
    uint8_t *bytes;
};

struct pair {
    struct ltp *l[2]; /* engine numbers 1 and 2 */
    tick now, delay;
    struct flight flights[PAIR_FLIGHTS];
    size_t flying;
    uint64_t order;
    uint64_t sent[16]; /* by type, both directions */
    struct {
        int type;
        uint64_t nth; /* 0 = the first of this type */
    } drops[PAIR_DROPS];
    size_t drop_count;
    uint64_t dropped_data; /* bytes of data segments */
    size_t largest;        /* segment seen */
    bool accept;           /* answer each LTP_BLOCK with ltp_accept */
    uint64_t notices[8];
    struct ltp_notice last[8]; /* by kind; without data */
    struct buf *red;           /* of the last LTP_BLOCK */
    struct buf *green[64];
    struct ltp_notice greens[64];
    size_t green_count;
};

static inline struct ltp_span pair_span(uint64_t peer)
{
    return (struct ltp_span){.peer = peer, .segment_max = 1024, .rto = 30 * TICK_MS};
}

static inline struct pair *pair_new(const struct ltp_span *to_2, const struct ltp_span *to_1)
{
    struct pair *p = calloc(1, sizeof *p);
    struct ltp_span span[2] = {to_2 == NULL ? pair_span(2) : *to_2,
                               to_1 == NULL ? pair_span(1) : *to_1};
    p->delay = 5 * TICK_MS;
    p->accept = true;
    for (int i = 0; i < 2; i++) {
        struct ltp_config config = {.engine = (uint64_t)i + 1, .seed = (uint64_t)i + 77};
        ck_assert_int_eq(ltp_new(&p->l[i], &config), 0);
        ck_assert_int_eq(ltp_span_set(p->l[i], &span[i], 0), 0);
        ck_assert_int_eq(ltp_link(p->l[i], (uint64_t)(2 - i), true, 0), 0);
    }
    return p;
}

static inline void pair_free(struct pair *p)
{
    for (size_t i = 0; i < p->flying; i++)
        free(p->flights[i].bytes);
    for (size_t i = 0; i < p->green_count; i++)
        buf_drop(p->green[i]);
    buf_drop(p->red);
    ltp_free(p->l[0]);
    ltp_free(p->l[1]);
    free(p);
}

static inline void pair_drop(struct pair *p, int type, uint64_t nth)
{
    ck_assert(p->drop_count < PAIR_DROPS);
    p->drops[p->drop_count].type = type;
    p->drops[p->drop_count++].nth = nth;
}

static inline struct buf *pair_block(size_t len, uint64_t seed)
{
    struct buf *b = buf_new(0, len);
    uint8_t *at = buf_append(b, len);
    for (size_t i = 0; i < len; i++)
        at[i] = (uint8_t)((i * 31 + (i >> 8) + seed) & 0xff);
    return b;
}

static inline struct ltp_session_id pair_send(struct pair *p, size_t len, size_t red)
{
    struct buf *b = pair_block(len, 3);
    struct ltp_session_id id = {0, 0};
    struct ltp_block block = {
        .peer = 2, .client_service = 1, .data = b, .red_len = red, .tag = 4711};
    ck_assert_int_eq(ltp_send(p->l[0], &block, p->now, &id), 0);
    buf_drop(b);
    return id;
}

static inline void pair_fly(struct pair *p, int to, const struct ltp_out *out)
{
    int type = out->head[0] & 15;
    uint64_t nth = p->sent[type]++;
    size_t len = out->head_len + out->data.len;
    if (len > p->largest)
        p->largest = len;
    for (size_t i = 0; i < p->drop_count; i++) {
        if (p->drops[i].type == type && p->drops[i].nth == nth) {
            p->dropped_data += out->data.len;
            return;
        }
    }
    assert(p->flying < PAIR_FLIGHTS);
    struct flight *f = &p->flights[p->flying++];
    f->at = p->now + p->delay;
    f->order = p->order++;
    f->to = to;
    f->len = len;
    f->bytes = malloc(len);
    memcpy(f->bytes, out->head, out->head_len);
    if (out->data.len > 0)
        memcpy(f->bytes + out->head_len, out->data.data, out->data.len);
}

static inline void pair_note(struct pair *p, int i, struct ltp_notice *n)
{
    struct buf *data = n->data;
    n->data = NULL;
    p->notices[n->kind]++;
    p->last[n->kind] = *n;
    if (n->kind == LTP_BLOCK) {
        buf_drop(p->red);
        p->red = data;
        if (p->accept)
            ltp_accept(p->l[i], n->id, p->now);
    } else if (n->kind == LTP_GREEN && p->green_count < 64) {
        p->green[p->green_count] = data;
        p->greens[p->green_count++] = *n;
    } else {
        buf_drop(data);
    }
}

static inline void pair_drain(struct pair *p)
{
    uint8_t head[65536];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    for (int i = 0; i < 2; i++) {
        struct ltp_notice n;
        while (ltp_poll(p->l[i], &n) != 0)
            pair_note(p, i, &n);
        while (ltp_output(p->l[i], (uint64_t)(2 - i), p->now, &out) != 0)
            pair_fly(p, 1 - i, &out);
        while (ltp_poll(p->l[i], &n) != 0)
            pair_note(p, i, &n);
        ltp_check(p->l[i]);
    }
}

/* The next arrival or timer; false when nothing will ever happen. */
static inline bool pair_step(struct pair *p)
{
    pair_drain(p);
    size_t first = p->flying;
    for (size_t i = 0; i < p->flying; i++) {
        struct flight *f = &p->flights[i], *g = &p->flights[first];
        if (first == p->flying || f->at < g->at || (f->at == g->at && f->order < g->order))
            first = i;
    }
    tick timers = tick_min(ltp_deadline(p->l[0]), ltp_deadline(p->l[1]));
    if (first < p->flying && p->flights[first].at <= timers) {
        struct flight f = p->flights[first];
        p->flights[first] = p->flights[--p->flying];
        p->now = f.at;
        ltp_input(p->l[f.to], f.bytes, f.len, p->now);
        free(f.bytes);
    } else if (timers != TICK_NEVER) {
        p->now = timers > p->now ? timers : p->now;
        ltp_expire(p->l[0], p->now);
        ltp_expire(p->l[1], p->now);
    } else {
        return false;
    }
    pair_drain(p);
    return true;
}

static inline void pair_run(struct pair *p)
{
    for (int i = 0; i < 1000000; i++) {
        if (!pair_step(p))
            return;
    }
    ck_abort_msg("the exchange does not end");
}

static inline void pair_run_until(struct pair *p, tick end)
{
    pair_drain(p);
    for (;;) {
        tick next = tick_min(ltp_deadline(p->l[0]), ltp_deadline(p->l[1]));
        for (size_t i = 0; i < p->flying; i++)
            next = tick_min(next, p->flights[i].at);
        if (next > end)
            break;
        pair_step(p);
    }
    p->now = end;
}

static inline void pair_assert_red(const struct pair *p, size_t len)
{
    struct buf *want = pair_block(p->red == NULL ? 1 : p->red->off + len, 3);
    ck_assert_ptr_nonnull(p->red);
    ck_assert_uint_eq(p->red->len, len);
    ck_assert_int_eq(memcmp(buf_data(p->red), buf_data(want), len), 0);
    buf_drop(want);
}

static inline void pair_assert_idle(const struct pair *p)
{
    ck_assert(ltp_idle(p->l[0]));
    ck_assert(ltp_idle(p->l[1]));
}

/* One segment arrives at engine `to` + 1. */
static inline enum verdict pair_feed(struct pair *p, int to, const struct ltp_segment *s)
{
    uint8_t bytes[6000];
    size_t len = segment_write(s, bytes, sizeof bytes);
    ck_assert_uint_gt(len, 0);
    enum verdict v = ltp_input(p->l[to], bytes, len, p->now);
    ltp_check(p->l[to]);
    return v;
}

/* A data segment of engine 1's session; a checkpoint has serial 50. */
static inline struct ltp_segment pair_data(uint64_t number, int type, uint64_t offset, size_t len)
{
    static const uint8_t zeros[5000];
    return (struct ltp_segment){.type = (uint8_t)type,
                                .id = {1, number},
                                .client_service = 1,
                                .offset = offset,
                                .data = slice_of(zeros, len),
                                .cp_serial = type >= 1 && type <= 3 ? 50 : 0};
}

#endif
