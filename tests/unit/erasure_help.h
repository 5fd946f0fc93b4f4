/* SPDX-License-Identifier: Apache-2.0 */
/* A sender and a receiver of the erasure code, and segments of random lengths between them. */
#ifndef ERASURE_HELP_H
#define ERASURE_HELP_H

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "erasure/erasure.h"
#include "tests/unit/suite.h"

enum { SEGMENT_MAX = 100, PACKET_MAX = SEGMENT_MAX + ERASURE_BEYOND, PACKETS_MAX = 4096 };

struct packet {
    size_t len;
    uint8_t octets[PACKET_MAX];
};

/* Segment n of a test is made of its number; the receiver counts how often each came. */
struct pair {
    struct erasure_config config;
    struct erasure_encoder *encoder;
    struct erasure_decoder *decoder;
    struct rng rng;
    unsigned sent;
    unsigned came[PACKETS_MAX];
    struct packet packets[PACKETS_MAX]; /* what the sender transmitted */
    unsigned packets_len;
    tick now;
};

static inline size_t make_segment(unsigned number, uint8_t *out)
{
    struct rng r;
    rng_init(&r, number + 1);
    size_t len = 4 + rng_below(&r, SEGMENT_MAX - 3);
    for (size_t i = 4; i < len; i++)
        out[i] = (uint8_t)rng_u64(&r);
    number <<= 4; /* flags of data that do not end a block */
    memcpy(out, &number, 4);
    return len;
}

/* math NULL: ERASURE_RS, with the field of the test. */
static struct gf16 pair_field;

static inline void pair_config(struct pair *p, unsigned span, unsigned depth, unsigned rows,
                               const struct gf_math *math, uint64_t seed)
{
    if (math == NULL && pair_field.exp[0] == 0)
        gf16_init(&pair_field);
    memset(p, 0, sizeof *p);
    rng_init(&p->rng, seed);
    p->config = (struct erasure_config){.span = span,
                                        .depth = depth,
                                        .rows = rows,
                                        .segment_max = SEGMENT_MAX,
                                        .wait = 100 * TICK_MS,
                                        .hold = 200 * TICK_MS,
                                        .matrices = 3,
                                        .first = 0xffffff,
                                        .math = math,
                                        .codec = math == NULL ? ERASURE_RS : ERASURE_RS8,
                                        .field = &pair_field,
                                        .math16 = gf16_fastest()};
}

static inline void pair_open(struct pair *p)
{
    ck_assert_ptr_null(erasure_config_problem(&p->config));
    ck_assert_int_eq(erasure_encoder_new(&p->encoder, &p->config), 0);
    ck_assert_int_eq(erasure_decoder_new(&p->decoder, &p->config), 0);
}

static inline void pair_init(struct pair *p, unsigned span, unsigned depth, unsigned rows,
                             const struct gf_math *math, uint64_t seed)
{
    pair_config(p, span, depth, rows, math, seed);
    pair_open(p);
}

/* The same of ERASURE_RS with requests. */
static inline void pair_init_requests(struct pair *p, unsigned span, unsigned rows, unsigned kept,
                                      uint64_t seed)
{
    pair_config(p, span, 1, rows, NULL, seed);
    p->config.requests = true;
    p->config.kept = kept;
    p->config.answer = 500 * TICK_MS;
    p->config.each = TICK_MS;
    p->config.pause = 20 * TICK_MS;
    pair_open(p);
}

static inline void pair_fini(struct pair *p)
{
    erasure_encoder_free(p->encoder);
    erasure_decoder_free(p->decoder);
}

static inline void send_repairs(struct pair *p)
{
    while (p->config.codec == ERASURE_RS && erasure_encoder_deadline(p->encoder) <= p->now)
        erasure_encoder_expire(p->encoder, p->now);
    struct packet *k = &p->packets[p->packets_len];
    while ((k->len = erasure_encoder_output(p->encoder, k->octets)) > 0) {
        ck_assert_uint_lt(++p->packets_len, PACKETS_MAX);
        k = &p->packets[p->packets_len];
    }
}

/* So many more segments. */
static inline void send_segments(struct pair *p, unsigned count)
{
    uint8_t segment[SEGMENT_MAX];
    for (unsigned i = 0; i < count; i++) {
        struct packet *k = &p->packets[p->packets_len++];
        ck_assert_uint_lt(p->packets_len, PACKETS_MAX);
        size_t len = make_segment(p->sent++, segment), cut = rng_below(&p->rng, len + 1);
        erasure_encoder_add(p->encoder, slice_of(segment, cut), slice_of(segment + cut, len - cut),
                            p->now, k->octets);
        memcpy(k->octets + ERASURE_HEAD, segment, len);
        k->len = ERASURE_HEAD + len;
        send_repairs(p);
    }
}

/* Whatever the receiver gives on is a segment that was sent. */
static inline void take_segment(struct pair *p, struct slice s)
{
    uint8_t segment[SEGMENT_MAX];
    unsigned number;
    ck_assert_uint_ge(s.len, 4);
    memcpy(&number, s.data, 4);
    number >>= 4;
    ck_assert_uint_lt(number, p->sent);
    ck_assert_uint_eq(make_segment(number, segment), s.len);
    ck_assert_mem_eq(segment, s.data, s.len);
    p->came[number]++;
}

static inline enum erasure_verdict take_octets(struct pair *p, const uint8_t *octets, size_t len)
{
    struct slice s;
    enum erasure_verdict v = erasure_decoder_input(p->decoder, slice_of(octets, len), p->now, &s);
    if (s.len > 0)
        take_segment(p, s);
    while (erasure_decoder_next(p->decoder, &s))
        take_segment(p, s);
    erasure_decoder_check(p->decoder);
    while (p->config.codec == ERASURE_RS && erasure_decoder_deadline(p->decoder) <= p->now) {
        erasure_decoder_expire(p->decoder, p->now);
        while (erasure_decoder_next(p->decoder, &s))
            take_segment(p, s);
        erasure_decoder_check(p->decoder);
    }
    return v;
}

static inline enum erasure_verdict take_packet(struct pair *p, unsigned i)
{
    return take_octets(p, p->packets[i].octets, p->packets[i].len);
}

static inline unsigned count_came(const struct pair *p)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->sent; i++)
        n += p->came[i] > 0;
    return n;
}

#endif
