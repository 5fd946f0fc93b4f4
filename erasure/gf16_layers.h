/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: the transforms of GF(2^16) with vectors, once for each file that defines VECTOR (octets)
 * and SIMD (the attribute of its functions). In a unit of a stripe the low octets of VECTOR
 * elements are followed by their high ones. Two layers of a transform are done at once, so that
 * half of the reads and writes are saved.
 */
#ifndef ERASURE_GF16_LAYERS_H
#define ERASURE_GF16_LAYERS_H

#include <string.h>

#include "base/port.h"
#include "erasure/gf16.h"

#define SIMD_INLINE SIMD PORT_INLINE

/* Octets: of low and high octets together, and of a stripe. */
enum { UNIT = 2 * VECTOR, STRIPE = 128 };

static_assert(STRIPE % UNIT == 0 && STRIPE <= GF16_STRIPE_MAX, "whole units");

typedef long long vec __attribute__((vector_size(VECTOR), may_alias));

/* Elements, low and high octets; or a part of a stripe. */
struct halves {
    vec low, high;
};

/* A constant to multiply by: linear in the constant. */
struct constant {
    vec part[8];
};

/* What sets of instructions do differently. The functions below are made anew for each. */
struct instructions {
    unsigned parts; /* of a constant that are used */
    struct constant (*prepare)(const struct gf16 *f, unsigned by);
    struct halves (*multiply)(const struct constant *c, struct halves x);
    vec (*transpose)(vec matrices); /* each eight octets: rows of bits become columns */
    /* eight octets of the low and of the high ones in turns: the even and the odd ones; this is its
     * own inverse */
    struct halves (*mix)(struct halves h);
};

static SIMD_INLINE struct halves get_halves(const uint8_t *p)
{
    struct halves h;
    memcpy(&h.low, p, VECTOR);
    memcpy(&h.high, p + VECTOR, VECTOR);
    return h;
}

static SIMD_INLINE void put_halves(uint8_t *p, struct halves h)
{
    memcpy(p, &h.low, VECTOR);
    memcpy(p + VECTOR, &h.high, VECTOR);
}

static SIMD_INLINE struct halves add_halves(struct halves a, struct halves b)
{
    return (struct halves){a.low ^ b.low, a.high ^ b.high};
}

/* a + c * b */
static SIMD_INLINE struct halves add_product(const struct instructions *s, struct halves a,
                                             const struct constant *c, struct halves b)
{
    return add_halves(a, s->multiply(c, b));
}

static SIMD_INLINE void ifft_layer(const struct instructions *s, const struct constant *c,
                                   uint8_t *x, uint8_t *y, size_t len)
{
    for (size_t at = 0; at < len; at += UNIT) {
        struct halves a = get_halves(x + at), b = get_halves(y + at);
        b = add_halves(b, a);
        put_halves(y + at, b);
        put_halves(x + at, add_product(s, a, c, b));
    }
}

static SIMD_INLINE void fft_layer(const struct instructions *s, const struct constant *c,
                                  uint8_t *x, uint8_t *y, size_t len)
{
    for (size_t at = 0; at < len; at += UNIT) {
        struct halves a = get_halves(x + at), b = get_halves(y + at);
        a = add_product(s, a, c, b);
        put_halves(x + at, a);
        put_halves(y + at, add_halves(b, a));
    }
}

/* Of four stripes, `apart` octets apart: the factors of both pairs of the lower layer, and of the
 * upper one. */
static SIMD_INLINE void ifft_layers(const struct instructions *s, const struct constant k[3],
                                    uint8_t *x, size_t apart, size_t len)
{
    uint8_t *p[] = {x, x + apart, x + 2 * apart, x + 3 * apart};
    for (size_t at = 0; at < len; at += UNIT) {
        struct halves a = get_halves(p[0] + at), b = get_halves(p[1] + at);
        struct halves c = get_halves(p[2] + at), d = get_halves(p[3] + at);
        b = add_halves(b, a);
        d = add_halves(d, c);
        a = add_product(s, a, &k[0], b);
        c = add_product(s, c, &k[1], d);
        c = add_halves(c, a);
        d = add_halves(d, b);
        put_halves(p[0] + at, add_product(s, a, &k[2], c));
        put_halves(p[1] + at, add_product(s, b, &k[2], d));
        put_halves(p[2] + at, c);
        put_halves(p[3] + at, d);
    }
}

static SIMD_INLINE void fft_layers(const struct instructions *s, const struct constant k[3],
                                   uint8_t *x, size_t apart, size_t len)
{
    uint8_t *p[] = {x, x + apart, x + 2 * apart, x + 3 * apart};
    for (size_t at = 0; at < len; at += UNIT) {
        struct halves a = get_halves(p[0] + at), b = get_halves(p[1] + at);
        struct halves c = get_halves(p[2] + at), d = get_halves(p[3] + at);
        a = add_product(s, a, &k[2], c);
        b = add_product(s, b, &k[2], d);
        c = add_halves(c, a);
        d = add_halves(d, b);
        a = add_product(s, a, &k[0], b);
        c = add_product(s, c, &k[1], d);
        put_halves(p[0] + at, a);
        put_halves(p[1] + at, add_halves(b, a));
        put_halves(p[2] + at, c);
        put_halves(p[3] + at, add_halves(d, c));
    }
}

/* The factor of a layer for the pairs that begin at stripe `at`. */
static PORT_INLINE unsigned factor_of(unsigned start, unsigned at, unsigned layer, unsigned shift)
{
    return (start + (at << shift)) >> (layer + shift);
}

/* The lower factors of four stripes differ by 2, in one coordinate. */
static SIMD_INLINE void prepare_three(const struct instructions *s, const struct gf16 *f,
                                      const struct constant *two, struct constant k[3],
                                      unsigned start, unsigned at, unsigned layer, unsigned shift)
{
    k[0] = s->prepare(f, factor_of(start, at, layer, shift));
    for (unsigned i = 0; i < s->parts; i++)
        k[1].part[i] = k[0].part[i] ^ two->part[i];
    k[2] = s->prepare(f, factor_of(start, at, layer + 1, shift));
}

static SIMD_INLINE void run_ifft(const struct instructions *s, const struct gf16 *f, uint8_t *x,
                                 size_t apart, unsigned size, unsigned start, unsigned shift,
                                 size_t len)
{
    const struct constant two = s->prepare(f, 2);
    struct constant k[3];
    unsigned layer = 0;
    for (; layer + 1 < size; layer += 2)
        for (unsigned block = 0; block < 1u << size; block += 4u << layer) {
            prepare_three(s, f, &two, k, start, block, layer, shift);
            for (unsigned i = block; i < block + (1u << layer); i++)
                ifft_layers(s, k, x + i * apart, apart << layer, len);
        }
    if (layer == size)
        return;
    k[0] = s->prepare(f, factor_of(start, 0, layer, shift));
    for (unsigned i = 0; i < 1u << layer; i++)
        ifft_layer(s, k, x + i * apart, x + i * apart + (apart << layer), len);
}

static SIMD_INLINE void run_fft(const struct instructions *s, const struct gf16 *f, uint8_t *x,
                                size_t apart, unsigned size, unsigned start, unsigned shift,
                                size_t len)
{
    const struct constant two = s->prepare(f, 2);
    struct constant k[3];
    unsigned layer = size;
    if (size % 2 != 0) {
        layer--;
        k[0] = s->prepare(f, factor_of(start, 0, layer, shift));
        for (unsigned i = 0; i < 1u << layer; i++)
            fft_layer(s, k, x + i * apart, x + i * apart + (apart << layer), len);
    }
    while (layer >= 2) {
        layer -= 2;
        for (unsigned block = 0; block < 1u << size; block += 4u << layer) {
            prepare_three(s, f, &two, k, start, block, layer, shift);
            for (unsigned i = block; i < block + (1u << layer); i++)
                fft_layers(s, k, x + i * apart, apart << layer, len);
        }
    }
}

static SIMD_INLINE void run_scale(const struct instructions *s, const struct gf16 *f, uint8_t *x,
                                  uint16_t by, size_t len)
{
    const struct constant c = s->prepare(f, by);
    for (size_t at = 0; at < len; at += UNIT)
        put_halves(x + at, s->multiply(&c, get_halves(x + at)));
}

SIMD static void add_stripes(uint8_t *to, const uint8_t *from, size_t apart, unsigned count,
                             size_t len)
{
    for (; count > 0; count--, to += apart, from += apart)
        for (size_t at = 0; at < len; at += UNIT)
            put_halves(to + at, add_halves(get_halves(to + at), get_halves(from + at)));
}

static SIMD_INLINE void run_load(const struct instructions *s, uint8_t *x, const uint8_t *octets,
                                 size_t len)
{
    uint8_t rest[UNIT];
    for (size_t at = 0; at < STRIPE; at += UNIT) {
        size_t here = len > at ? len - at : 0;
        const uint8_t *from = here < UNIT ? rest : octets + at;
        if (here < UNIT)
            memset(rest, 0, sizeof rest);
        if (here > 0 && here < UNIT)
            memcpy(rest, octets + at, here);
        struct halves h = s->mix(get_halves(from));
        put_halves(x + at, (struct halves){s->transpose(h.low), s->transpose(h.high)});
    }
}

static SIMD_INLINE void run_store(const struct instructions *s, const uint8_t *x, uint8_t *octets,
                                  size_t len)
{
    uint8_t rest[UNIT];
    for (size_t at = 0; at < len; at += UNIT) {
        struct halves h = get_halves(x + at);
        h = s->mix((struct halves){s->transpose(h.low), s->transpose(h.high)});
        put_halves(len - at < UNIT ? rest : octets + at, h);
        if (len - at < UNIT)
            memcpy(octets + at, rest, len - at);
    }
}

#define MATH_FUNCTIONS(name, attribute, own)                                                       \
    attribute static void ifft_##name(const struct gf16 *f, uint8_t *x, size_t apart,              \
                                      unsigned size, unsigned start, unsigned shift, size_t len)   \
    {                                                                                              \
        run_ifft(&own, f, x, apart, size, start, shift, len);                                      \
    }                                                                                              \
    attribute static void fft_##name(const struct gf16 *f, uint8_t *x, size_t apart,               \
                                     unsigned size, unsigned start, unsigned shift, size_t len)    \
    {                                                                                              \
        run_fft(&own, f, x, apart, size, start, shift, len);                                       \
    }                                                                                              \
    attribute static void scale_##name(const struct gf16 *f, uint8_t *x, uint16_t by, size_t len)  \
    {                                                                                              \
        run_scale(&own, f, x, by, len);                                                            \
    }                                                                                              \
    attribute static void load_##name(uint8_t *x, const uint8_t *octets, size_t len)               \
    {                                                                                              \
        run_load(&own, x, octets, len);                                                            \
    }                                                                                              \
    attribute static void store_##name(const uint8_t *x, uint8_t *octets, size_t len)              \
    {                                                                                              \
        run_store(&own, x, octets, len);                                                           \
    }

#define MATH(name, title)                                                                          \
    {                                                                                              \
        title, STRIPE, UNIT, ifft_##name, fft_##name, scale_##name, add_stripes, load_##name,      \
            store_##name                                                                           \
    }

#endif
