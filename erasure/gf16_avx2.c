/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GF(2^16) for processors with AVX2. In a stripe the low octets of 32 elements are followed by
 * their high ones. A product by a constant takes four matrices of 8 x 8 bits where the processor
 * has instructions for them (GFNI), else look-ups of each four bits in eight tables, which are
 * registers. The wire's groups have an octet for each coordinate instead, and are transposed. Two
 * layers of a transform are done at once, so that half of the reads and writes are saved.
 */
#include "erasure/gf16.h"

#include <assert.h>
#include <string.h>

#include "base/port.h"

#if PORT_X86_AVX2

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE AVX2 PORT_INLINE
#define GFNI __attribute__((target("avx2,gfni")))
#define GFNI_INLINE GFNI inline

enum { VECTOR = 32, UNIT = 2 * VECTOR }; /* octets: of a vector, of low and high octets */

/* Elements, low and high octets; or a part of a stripe. */
struct halves {
    __m256i low, high;
};

/* A constant to multiply by. GFNI: the matrices from the low octets to low and high ones, and from
 * the high octets. Without it: for the low four bits of the low octets and so on, tables of the low
 * octets of the product, and then of the high ones. */
struct constant {
    __m256i part[8];
};

/* What the two sets of instructions do differently. The functions below are made anew for each. */
struct instructions {
    struct constant (*prepare)(const struct gf16 *f, unsigned by);
    struct halves (*multiply)(const struct constant *c, struct halves x);
    __m256i (*transpose)(__m256i matrices); /* each eight octets: rows of bits become columns */
};

static AVX2_INLINE struct halves get_halves(const uint8_t *p)
{
    return (struct halves){_mm256_loadu_si256((const __m256i *)(const void *)p),
                           _mm256_loadu_si256((const __m256i *)(const void *)(p + VECTOR))};
}

static AVX2_INLINE void put_halves(uint8_t *p, struct halves h)
{
    _mm256_storeu_si256((__m256i *)(void *)p, h.low);
    _mm256_storeu_si256((__m256i *)(void *)(p + VECTOR), h.high);
}

static AVX2_INLINE struct halves add_halves(struct halves a, struct halves b)
{
    return (struct halves){_mm256_xor_si256(a.low, b.low), _mm256_xor_si256(a.high, b.high)};
}

/* ---- with matrices ---- */

static_assert(sizeof(struct gf16_factor) == VECTOR, "a factor is a vector");

/* A matrix has the row of the highest coordinate first. */
static GFNI_INLINE struct constant prepare_matrices(const struct gf16 *f, unsigned by)
{
    const __m256i order = _mm256_setr_epi8(14, 12, 10, 8, 6, 4, 2, 0, 15, 13, 11, 9, 7, 5, 3, 1, 14,
                                           12, 10, 8, 6, 4, 2, 0, 15, 13, 11, 9, 7, 5, 3, 1);
    const void *low = f->low[by & 255].row, *high = f->high[by >> 8].row;
    __m256i rows = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)low),
                                    _mm256_loadu_si256((const __m256i *)high));
    rows = _mm256_shuffle_epi8(rows, order);
    return (struct constant){
        .part = {_mm256_permute4x64_epi64(rows, 0x00), _mm256_permute4x64_epi64(rows, 0xaa),
                 _mm256_permute4x64_epi64(rows, 0x55), _mm256_permute4x64_epi64(rows, 0xff)}};
}

static GFNI_INLINE struct halves multiply_matrices(const struct constant *c, struct halves x)
{
    return (struct halves){_mm256_xor_si256(_mm256_gf2p8affine_epi64_epi8(x.low, c->part[0], 0),
                                            _mm256_gf2p8affine_epi64_epi8(x.high, c->part[2], 0)),
                           _mm256_xor_si256(_mm256_gf2p8affine_epi64_epi8(x.low, c->part[1], 0),
                                            _mm256_gf2p8affine_epi64_epi8(x.high, c->part[3], 0))};
}

static GFNI_INLINE __m256i transpose_matrices(__m256i matrices)
{
    const __m256i order = _mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 7,
                                           6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
    const __m256i one = _mm256_set1_epi64x((long long)0x8040201008040201);
    return _mm256_gf2p8affine_epi64_epi8(one, _mm256_shuffle_epi8(matrices, order), 0);
}

/* ---- with tables ---- */

static AVX2 inline struct constant prepare_tables(const struct gf16 *f, unsigned by)
{
    struct constant c;
    for (unsigned i = 0; i < 8; i++) {
        const void *low = f->low_tables[by & 255].table[i];
        const void *high = f->high_tables[by >> 8].table[i];
        c.part[i] = _mm256_broadcastsi128_si256(_mm_xor_si128(
            _mm_loadu_si128((const __m128i *)low), _mm_loadu_si128((const __m128i *)high)));
    }
    return c;
}

static AVX2 inline struct halves multiply_tables(const struct constant *c, struct halves x)
{
    const __m256i mask = _mm256_set1_epi8(15);
    const __m256i bits[] = {
        _mm256_and_si256(x.low, mask), _mm256_and_si256(_mm256_srli_epi16(x.low, 4), mask),
        _mm256_and_si256(x.high, mask), _mm256_and_si256(_mm256_srli_epi16(x.high, 4), mask)};
    struct halves sum = {_mm256_shuffle_epi8(c->part[0], bits[0]),
                         _mm256_shuffle_epi8(c->part[4], bits[0])};
    for (unsigned i = 1; i < 4; i++) {
        sum.low = _mm256_xor_si256(sum.low, _mm256_shuffle_epi8(c->part[i], bits[i]));
        sum.high = _mm256_xor_si256(sum.high, _mm256_shuffle_epi8(c->part[4 + i], bits[i]));
    }
    return sum;
}

/* Bits `apart` apart in the mask's places change theirs. */
static AVX2_INLINE __m256i swap_bits(__m256i x, int apart, uint64_t mask)
{
    const __m256i places = _mm256_set1_epi64x((long long)mask);
    __m256i t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, apart)), places);
    return _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64(t, apart)));
}

static AVX2 inline __m256i transpose_bits(__m256i matrices)
{
    matrices = swap_bits(matrices, 7, 0x00aa00aa00aa00aa);
    matrices = swap_bits(matrices, 14, 0x0000cccc0000cccc);
    return swap_bits(matrices, 28, 0x00000000f0f0f0f0);
}

/* ---- transforms ---- */

static PORT_INLINE uint8_t *octets_of(struct gf16_stripe *x)
{
    return (uint8_t *)x->plane;
}

/* a + c * b */
static AVX2_INLINE struct halves add_product(const struct instructions *s, struct halves a,
                                             const struct constant *c, struct halves b)
{
    return add_halves(a, s->multiply(c, b));
}

static AVX2_INLINE void ifft_layer(const struct instructions *s, const struct constant *c,
                                   struct gf16_stripe *x, struct gf16_stripe *y, size_t len)
{
    for (size_t at = 0; at < len; at += UNIT) {
        struct halves a = get_halves(octets_of(x) + at), b = get_halves(octets_of(y) + at);
        b = add_halves(b, a);
        put_halves(octets_of(y) + at, b);
        put_halves(octets_of(x) + at, add_product(s, a, c, b));
    }
}

static AVX2_INLINE void fft_layer(const struct instructions *s, const struct constant *c,
                                  struct gf16_stripe *x, struct gf16_stripe *y, size_t len)
{
    for (size_t at = 0; at < len; at += UNIT) {
        struct halves a = get_halves(octets_of(x) + at), b = get_halves(octets_of(y) + at);
        a = add_product(s, a, c, b);
        put_halves(octets_of(x) + at, a);
        put_halves(octets_of(y) + at, add_halves(b, a));
    }
}

/* Of four stripes, `apart` apart: the factors of both pairs of the lower layer, and of the upper
 * one. */
static AVX2_INLINE void ifft_layers(const struct instructions *s, const struct constant k[3],
                                    struct gf16_stripe *x, unsigned apart, size_t len)
{
    uint8_t *p[] = {octets_of(x), octets_of(x + apart), octets_of(x + 2 * (size_t)apart),
                    octets_of(x + 3 * (size_t)apart)};
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

static AVX2_INLINE void fft_layers(const struct instructions *s, const struct constant k[3],
                                   struct gf16_stripe *x, unsigned apart, size_t len)
{
    uint8_t *p[] = {octets_of(x), octets_of(x + apart), octets_of(x + 2 * (size_t)apart),
                    octets_of(x + 3 * (size_t)apart)};
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

static AVX2_INLINE void prepare_three(const struct instructions *s, const struct gf16 *f,
                                      struct constant k[3], unsigned start, unsigned at,
                                      unsigned layer, unsigned shift)
{
    k[0] = s->prepare(f, factor_of(start, at, layer, shift));
    k[1] = s->prepare(f, factor_of(start, at + (2u << layer), layer, shift));
    k[2] = s->prepare(f, factor_of(start, at, layer + 1, shift));
}

static AVX2_INLINE void run_ifft(const struct instructions *s, const struct gf16 *f,
                                 struct gf16_stripe *x, unsigned size, unsigned start,
                                 unsigned shift, size_t len)
{
    struct constant k[3];
    unsigned layer = 0;
    for (; layer + 1 < size; layer += 2)
        for (unsigned block = 0; block < 1u << size; block += 4u << layer) {
            prepare_three(s, f, k, start, block, layer, shift);
            for (unsigned i = block; i < block + (1u << layer); i++)
                ifft_layers(s, k, x + i, 1u << layer, len);
        }
    for (; layer < size; layer++)
        for (unsigned block = 0; block < 1u << size; block += 2u << layer) {
            k[0] = s->prepare(f, factor_of(start, block, layer, shift));
            for (unsigned i = block; i < block + (1u << layer); i++)
                ifft_layer(s, k, x + i, x + i + (1u << layer), len);
        }
}

static AVX2_INLINE void run_fft(const struct instructions *s, const struct gf16 *f,
                                struct gf16_stripe *x, unsigned size, unsigned start,
                                unsigned shift, size_t len)
{
    struct constant k[3];
    unsigned layer = size;
    if (size % 2 != 0) {
        layer--;
        for (unsigned block = 0; block < 1u << size; block += 2u << layer) {
            k[0] = s->prepare(f, factor_of(start, block, layer, shift));
            for (unsigned i = block; i < block + (1u << layer); i++)
                fft_layer(s, k, x + i, x + i + (1u << layer), len);
        }
    }
    while (layer >= 2) {
        layer -= 2;
        for (unsigned block = 0; block < 1u << size; block += 4u << layer) {
            prepare_three(s, f, k, start, block, layer, shift);
            for (unsigned i = block; i < block + (1u << layer); i++)
                fft_layers(s, k, x + i, 1u << layer, len);
        }
    }
    assert(layer == 0);
}

static AVX2_INLINE void run_scale(const struct instructions *s, const struct gf16 *f,
                                  struct gf16_stripe *x, uint16_t by, size_t len)
{
    const struct constant c = s->prepare(f, by);
    for (size_t at = 0; at < len; at += UNIT)
        put_halves(octets_of(x) + at, s->multiply(&c, get_halves(octets_of(x) + at)));
}

AVX2 static void add_stripes(struct gf16_stripe *to, const struct gf16_stripe *from, size_t len)
{
    const uint8_t *octets = (const uint8_t *)from->plane;
    for (size_t at = 0; at < len; at += UNIT)
        put_halves(octets_of(to) + at,
                   add_halves(get_halves(octets_of(to) + at), get_halves(octets + at)));
}

/* Four groups: the first halves of groups 0, 2, 1, 3 are the low octets' matrices. */
static AVX2_INLINE void run_load(const struct instructions *s, struct gf16_stripe *x,
                                 const uint8_t *octets, size_t len)
{
    assert(len <= GF16_STRIPE);
    uint8_t rest[UNIT] = {0};
    for (size_t at = 0; at < GF16_STRIPE; at += UNIT) {
        size_t here = len > at ? len - at : 0;
        const uint8_t *from = here < UNIT ? rest : octets + at;
        if (here < UNIT)
            memset(rest, 0, sizeof rest);
        if (here > 0 && here < UNIT)
            memcpy(rest, octets + at, here);
        struct halves groups = get_halves(from);
        put_halves(octets_of(x) + at,
                   (struct halves){s->transpose(_mm256_unpacklo_epi64(groups.low, groups.high)),
                                   s->transpose(_mm256_unpackhi_epi64(groups.low, groups.high))});
    }
}

static AVX2_INLINE void run_store(const struct instructions *s, const struct gf16_stripe *x,
                                  uint8_t *octets, size_t len)
{
    assert(len <= GF16_STRIPE);
    uint8_t rest[UNIT];
    for (size_t at = 0; at < len; at += UNIT) {
        struct halves h = get_halves((const uint8_t *)x->plane + at);
        h = (struct halves){s->transpose(h.low), s->transpose(h.high)};
        h = (struct halves){_mm256_unpacklo_epi64(h.low, h.high),
                            _mm256_unpackhi_epi64(h.low, h.high)};
        put_halves(len - at < UNIT ? rest : octets + at, h);
        if (len - at < UNIT)
            memcpy(octets + at, rest, len - at);
    }
}

/* ---- both ---- */

#define MATH_FUNCTIONS(name, attribute, own)                                                       \
    attribute static void ifft_##name(const struct gf16 *f, struct gf16_stripe *x, unsigned size,  \
                                      unsigned start, unsigned shift, size_t len)                  \
    {                                                                                              \
        run_ifft(&own, f, x, size, start, shift, len);                                             \
    }                                                                                              \
    attribute static void fft_##name(const struct gf16 *f, struct gf16_stripe *x, unsigned size,   \
                                     unsigned start, unsigned shift, size_t len)                   \
    {                                                                                              \
        run_fft(&own, f, x, size, start, shift, len);                                              \
    }                                                                                              \
    attribute static void scale_##name(const struct gf16 *f, struct gf16_stripe *x, uint16_t by,   \
                                       size_t len)                                                 \
    {                                                                                              \
        run_scale(&own, f, x, by, len);                                                            \
    }                                                                                              \
    attribute static void load_##name(struct gf16_stripe *x, const uint8_t *octets, size_t len)    \
    {                                                                                              \
        run_load(&own, x, octets, len);                                                            \
    }                                                                                              \
    attribute static void store_##name(const struct gf16_stripe *x, uint8_t *octets, size_t len)   \
    {                                                                                              \
        run_store(&own, x, octets, len);                                                           \
    }

static const struct instructions tables = {prepare_tables, multiply_tables, transpose_bits};
static const struct instructions matrices = {prepare_matrices, multiply_matrices,
                                             transpose_matrices};

MATH_FUNCTIONS(avx2, AVX2, tables)
MATH_FUNCTIONS(gfni, GFNI, matrices)

static const struct gf16_math math_avx2 = {"AVX2",     UNIT,        ifft_avx2, fft_avx2,
                                           scale_avx2, add_stripes, load_avx2, store_avx2};
static const struct gf16_math math_gfni = {"GFNI",     UNIT,        ifft_gfni, fft_gfni,
                                           scale_gfni, add_stripes, load_gfni, store_gfni};

const struct gf16_math *gf16_avx2(void)
{
    return __builtin_cpu_supports("avx2") ? &math_avx2 : NULL;
}

const struct gf16_math *gf16_gfni(void)
{
    return gf16_avx2() != NULL && __builtin_cpu_supports("gfni") ? &math_gfni : NULL;
}

#else

const struct gf16_math *gf16_avx2(void)
{
    return NULL;
}

const struct gf16_math *gf16_gfni(void)
{
    return NULL;
}

#endif
