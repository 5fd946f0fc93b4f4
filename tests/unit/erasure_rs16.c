/* SPDX-License-Identifier: Apache-2.0 */
/* The field GF(2^16) and its transforms; codewords: any symbols, as many as data symbols, give the
 * others; repair symbols are those of a solved system of equations; steps are bounded. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "erasure/rs16.h"
#include "tests/unit/suite.h"

enum { ALL_MAX = 512, SYMBOL = 32, PATTERNS = 100000 };

static struct gf16 field;

enum { MATHS = 4 }; /* the most; fewer on this processor: the last one again */

static const struct gf16_math *math_of(int i)
{
    const struct gf16_math *math = gf16_available((unsigned)i);
    return math != NULL ? math : gf16_fastest();
}

static void fill_random(struct rng *r, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = (uint8_t)rng_u64(r);
}

START_TEST(field_laws)
{
    struct rng r;
    rng_init(&r, 1);
    ck_assert_uint_eq(field.exp[0], 1);
    for (unsigned i = 1; i < GF16_SIZE; i++)
        ck_assert_uint_eq(field.exp[field.log[i]], i);
    for (unsigned i = 1; i < GF16_BITS; i++) { /* the basis is Cantor's */
        uint16_t b = (uint16_t)(1u << i);
        ck_assert_uint_eq(gf16_multiply(&field, b, b) ^ b, 1u << (i - 1));
    }
    for (unsigned n = 0; n < 100000; n++) {
        uint16_t a = (uint16_t)rng_u64(&r), b = (uint16_t)rng_u64(&r), c = (uint16_t)rng_u64(&r);
        ck_assert_uint_eq(gf16_multiply(&field, a, (uint16_t)(b ^ c)),
                          gf16_multiply(&field, a, b) ^ gf16_multiply(&field, a, c));
        ck_assert_uint_eq(gf16_multiply(&field, a, gf16_multiply(&field, b, c)),
                          gf16_multiply(&field, gf16_multiply(&field, a, b), c));
        if (a != 0)
            ck_assert_uint_eq(gf16_multiply(&field, a, gf16_inverse(&field, a)), 1);
    }
}
END_TEST

/* Element e of a symbol: bit e % 8 of the octets of group e / 8. */
static uint16_t element_of(const uint8_t *symbol, unsigned e)
{
    unsigned v = 0;
    for (unsigned p = 0; p < GF16_BITS; p++)
        v |= ((unsigned)symbol[e / 8 * GF16_GROUP + p] >> e % 8 & 1u) << p;
    return (uint16_t)v;
}

START_TEST(stripes)
{
    const struct gf16_math *math = math_of(_i);
    uint8_t from[GF16_STRIPE_MAX], to[GF16_STRIPE_MAX + 1];
    static _Alignas(GF16_ALIGNMENT) uint8_t x[64 * GF16_STRIPE_MAX], before[sizeof x];
    struct rng r;
    rng_init(&r, 2);
    for (unsigned n = 0; n < 1000; n++) {
        size_t len = rng_below(&r, math->stripe / GF16_GROUP + 1) * GF16_GROUP;
        uint16_t by = (uint16_t)rng_u64(&r);
        fill_random(&r, from, len);
        to[len] = 0xa5;
        math->load(x, from, len);
        math->scale(&field, x, by, gf16_used(math, len));
        math->store(x, to, len);
        for (unsigned e = 0; e < len / 2; e++)
            ck_assert_uint_eq(element_of(to, e), gf16_multiply(&field, element_of(from, e), by));
        ck_assert_uint_eq(to[len], 0xa5);
    }
    for (unsigned size = 0; size <= 6; size++) {
        unsigned shift = 3, start = (5u << (size + shift)) + 2;
        fill_random(&r, x, sizeof x);
        memcpy(before, x, sizeof x);
        math->ifft(&field, x, GF16_STRIPE_MAX, size, start, shift, math->stripe);
        math->fft(&field, x, GF16_STRIPE_MAX, size, start, shift, math->stripe);
        ck_assert_mem_eq(x, before, sizeof x);
    }
}
END_TEST

/* Stripes are `beyond` octets further apart than they need to be. */
static void transform(const struct gf16_math *math, uint8_t (*symbols)[GF16_STRIPE_MAX],
                      unsigned size, size_t len, bool back, size_t beyond)
{
    static _Alignas(GF16_ALIGNMENT) uint8_t x[64 * (GF16_STRIPE_MAX + 128)];
    unsigned shift = 2, start = (3u << (size + shift)) + 1, count = 1u << size;
    size_t apart = math->stripe + beyond;
    for (size_t at = 0; at < len; at += math->stripe) {
        size_t here = len - at < math->stripe ? len - at : math->stripe;
        size_t used = gf16_used(math, here);
        for (unsigned i = 0; i < count; i++)
            math->load(x + i * apart, symbols[i] + at, here);
        (back ? math->ifft : math->fft)(&field, x, apart, size, start, shift, used);
        math->add(x, x + count / 2 * apart, apart, count / 2, used);
        for (unsigned i = 0; i < count; i++)
            math->store(x + i * apart, symbols[i] + at, here);
    }
}

/* As the portable arithmetic does it, also with stripes that are not full. */
START_TEST(same_transforms)
{
    static uint8_t one[64][GF16_STRIPE_MAX], other[64][GF16_STRIPE_MAX];
    struct rng r;
    rng_init(&r, 5);
    for (unsigned n = 0; n < 140; n++) {
        size_t len = (1 + rng_below(&r, GF16_STRIPE_MAX / GF16_GROUP)) * GF16_GROUP;
        fill_random(&r, one, sizeof one);
        memcpy(other, one, sizeof one);
        transform(math_of(_i), one, n / 2 % 7, len, n % 2, n % 3 * 64);
        transform(&gf16_portable, other, n / 2 % 7, len, n % 2, 0);
        ck_assert_mem_eq(one, other, sizeof one);
    }
}
END_TEST

struct word {
    struct rs16_kind kind;
    struct rs16_shape shape;
    struct rs16_encoder *encoder;
    struct rs16_repair *repair;
    uint8_t data[ALL_MAX][SYMBOL], repairs[ALL_MAX][SYMBOL], got[ALL_MAX][SYMBOL];
    uint8_t has_data[ALL_MAX], has_repair[ALL_MAX];
};

static void word_init(struct word *w, const struct gf16_math *math, unsigned data, unsigned repairs)
{
    w->kind = (struct rs16_kind){.field = &field, .math = math, .symbol_max = SYMBOL, .kept = 1};
    ck_assert(rs16_shape_set(&w->kind.largest, data, repairs));
    ck_assert_int_eq(rs16_encoder_new(&w->encoder, &w->kind), 0);
    ck_assert_int_eq(rs16_repair_new(&w->repair, &w->kind), 0);
}

static void word_fini(struct word *w)
{
    rs16_encoder_free(w->encoder);
    rs16_repair_free(w->repair);
}

static void encode(struct word *w, struct rng *r, unsigned data, unsigned repairs)
{
    unsigned m = 1u << w->kind.largest.log_m;
    ck_assert(rs16_shape_set(&w->shape, data, repairs));
    w->shape.log_m = data < m ? w->shape.log_m : w->kind.largest.log_m;
    memset(w->data, 0, sizeof w->data);
    for (unsigned i = 0; i < data; i++) {
        size_t len = 1 + rng_below(r, SYMBOL);
        fill_random(r, w->data[i], len);
        rs16_encoder_add(w->encoder, w->data[i], len);
    }
    rs16_encoder_end(w->encoder, repairs);
    while (rs16_encoder_busy(w->encoder))
        ck_assert_uint_le(rs16_encoder_work(w->encoder, 1), RS16_STEP_MAX);
    for (unsigned i = 0; i < repairs; i++)
        rs16_encoder_read(w->encoder, 0, i, w->repairs[i], SYMBOL);
}

/* Any symbols of all are lost, as many as there are repair symbols. */
static void lose(struct word *w, struct rng *r)
{
    unsigned data = w->shape.data, all = data + w->shape.repairs, left = w->shape.repairs;
    for (unsigned i = 0; i < all; i++) {
        bool lost = rng_below(r, all - i) < left;
        left -= lost;
        if (i < data)
            w->has_data[i] = !lost;
        else
            w->has_repair[i - data] = !lost;
    }
    fill_random(r, w->got, sizeof w->got[0] * data);
    for (unsigned i = 0; i < data; i++)
        if (w->has_data[i])
            memcpy(w->got[i], w->data[i], SYMBOL);
}

static void repair(struct word *w)
{
    const struct rs16_symbols s = {w->got[0],     w->repairs[0], w->has_data,
                                   w->has_repair, SYMBOL,        SYMBOL};
    rs16_repair_start(w->repair, &w->shape, &s);
    while (rs16_repair_busy(w->repair))
        ck_assert_uint_le(rs16_repair_work(w->repair, 1), RS16_STEP_MAX);
    ck_assert_mem_eq(w->got, w->data, sizeof w->got[0] * w->shape.data);
}

static void run_patterns(int way, unsigned patterns, unsigned all_max, unsigned each)
{
    static struct word w;
    struct rng r;
    rng_init(&r, 28);
    for (unsigned n = 0; n < patterns; n += each) {
        unsigned all = 2 + (unsigned)rng_below(&r, all_max - 1);
        unsigned repairs = 1 + (unsigned)rng_below(&r, all - 1), data = all - repairs;
        word_init(&w, math_of(way), data, repairs);
        for (unsigned i = 0; i < each; i++) {
            if (i % 10 == 0)
                encode(&w, &r, i == 0 ? data : 1 + (unsigned)rng_below(&r, data),
                       i == 0 ? repairs : 1 + (unsigned)rng_below(&r, repairs));
            lose(&w, &r);
            repair(&w);
        }
        word_fini(&w);
    }
}

START_TEST(any_pattern)
{
    run_patterns(_i, _i == 0 ? PATTERNS / 10 : PATTERNS, 40, 50);
    run_patterns(_i, PATTERNS / 100, ALL_MAX, 20);
}
END_TEST

/* The repair symbols solve what the code promises: for each data symbol alone, the polynomial of
 * degree below N - M through all positions. N is the power of two above them. So the highest M
 * divided differences of the whole codeword vanish: the sum of y / s'(x) x^j over all N positions,
 * j below M, where s' is 1. */
START_TEST(naive_equations)
{
    static struct word w;
    struct rng r;
    rng_init(&r, 3);
    for (unsigned n = 0; n < 200; n++) {
        unsigned data = 1 + (unsigned)rng_below(&r, 60), log_m = (unsigned)rng_below(&r, 5);
        unsigned m = 1u << log_m;
        word_init(&w, math_of(_i), data, m);
        encode(&w, &r, data, m);
        m = 1u << w.shape.log_m;
        for (unsigned e = 0; e < SYMBOL / 2; e++)
            for (unsigned j = 0; j < m; j++) {
                unsigned sum = 0;
                for (unsigned at = 0; at < m + data; at++) {
                    uint16_t y = element_of(at < m ? w.repairs[at] : w.data[at - m], e);
                    for (unsigned k = 0; k < j; k++)
                        y = gf16_multiply(&field, y, (uint16_t)at);
                    sum ^= y;
                }
                ck_assert_uint_eq(sum, 0);
            }
        word_fini(&w);
    }
}
END_TEST

/* As many positions as there can be, symbols of several stripes. */
START_TEST(largest_word)
{
    enum { DATA = 49152, REPAIRS = 9000, LONG = 528 };
    struct rs16_kind kind = {.field = &field, .math = math_of(_i), .symbol_max = LONG, .kept = 1};
    struct rs16_encoder *e;
    struct rs16_repair *p;
    struct rs16_shape s;
    struct rng r;
    unsigned lost = 0;
    rng_init(&r, 4);
    ck_assert(!rs16_shape_set(&s, DATA + 1, REPAIRS));
    ck_assert(!rs16_shape_set(&s, 1, GF16_SIZE / 2 + 1));
    ck_assert(rs16_shape_set(&s, DATA, REPAIRS));
    kind.largest = s;
    uint8_t *data = malloc((size_t)DATA * LONG), *repairs = malloc((size_t)REPAIRS * LONG);
    uint8_t *got = malloc((size_t)DATA * LONG), *has = malloc(DATA + REPAIRS);
    ck_assert(data != NULL && repairs != NULL && got != NULL && has != NULL);
    ck_assert_int_eq(rs16_encoder_new(&e, &kind), 0);
    ck_assert_int_eq(rs16_repair_new(&p, &kind), 0);
    for (size_t i = 0; i < (size_t)DATA * LONG; i += 8) {
        uint64_t v = rng_u64(&r);
        memcpy(data + i, &v, 8);
    }
    memcpy(got, data, (size_t)DATA * LONG);
    for (unsigned i = 0; i < DATA; i++)
        rs16_encoder_add(e, data + (size_t)i * LONG, LONG);
    rs16_encoder_end(e, REPAIRS);
    while (rs16_encoder_busy(e))
        ck_assert_uint_le(rs16_encoder_work(e, 1), RS16_STEP_MAX);
    memset(has, 1, DATA + REPAIRS);
    for (unsigned i = 0; i < REPAIRS; i++)
        rs16_encoder_read(e, 0, i, repairs + (size_t)i * LONG, LONG);
    for (unsigned at = 0; lost < REPAIRS; at = (at + 1 + (unsigned)rng_below(&r, 20)) % DATA)
        if (has[at]) {
            has[at] = 0;
            lost++;
            memset(got + (size_t)at * LONG, 0x5a, LONG);
        }
    const struct rs16_symbols symbols = {got, repairs, has, has + DATA, LONG, LONG};
    rs16_repair_start(p, &s, &symbols);
    while (rs16_repair_busy(p))
        ck_assert_uint_le(rs16_repair_work(p, 1), RS16_STEP_MAX);
    ck_assert_int_eq(memcmp(got, data, (size_t)DATA * LONG), 0);
    rs16_encoder_free(e);
    rs16_repair_free(p);
    free(data);
    free(repairs);
    free(got);
    free(has);
}
END_TEST

static void make_field(void)
{
    gf16_init(&field);
}

SUITE(erasure_rs16, t)
{
    tcase_add_unchecked_fixture(t, make_field, NULL);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, field_laws);
    tcase_add_loop_test(t, stripes, 0, MATHS);
    tcase_add_loop_test(t, same_transforms, 0, MATHS);
    tcase_add_loop_test(t, naive_equations, 0, MATHS);
    tcase_add_loop_test(t, any_pattern, 0, MATHS);
    tcase_add_loop_test(t, largest_word, 0, MATHS);
}
