/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GF(2^16) for processors with AVX2. A product by a constant takes four matrices of 8 x 8 bits
 * where the processor has instructions for them (GFNI), else look-ups of each four bits in eight
 * tables. The wire's groups have an octet for each coordinate instead, and are transposed.
 */
#include "erasure/gf16.h"

#include <assert.h>

#include "base/port.h"

#if PORT_X86_AVX2

#include <immintrin.h>

#define VECTOR 32 /* octets */
#define SIMD __attribute__((target("avx2")))

#include "erasure/gf16_layers.h"

#define GFNI __attribute__((target("avx2,gfni")))

/* ---- with matrices ---- */

static_assert(sizeof(struct gf16_factor) == VECTOR, "a factor is a vector");

/* A matrix has the row of the highest coordinate first. */
static GFNI inline struct constant prepare_matrices(const struct gf16 *f, unsigned by)
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

static GFNI inline struct halves multiply_matrices(const struct constant *c, struct halves x)
{
    return (struct halves){_mm256_xor_si256(_mm256_gf2p8affine_epi64_epi8(x.low, c->part[0], 0),
                                            _mm256_gf2p8affine_epi64_epi8(x.high, c->part[2], 0)),
                           _mm256_xor_si256(_mm256_gf2p8affine_epi64_epi8(x.low, c->part[1], 0),
                                            _mm256_gf2p8affine_epi64_epi8(x.high, c->part[3], 0))};
}

static GFNI inline __m256i transpose_matrices(__m256i matrices)
{
    const __m256i order = _mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 7,
                                           6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
    const __m256i one = _mm256_set1_epi64x((long long)0x8040201008040201);
    return _mm256_gf2p8affine_epi64_epi8(one, _mm256_shuffle_epi8(matrices, order), 0);
}

/* ---- with tables ---- */

static SIMD inline struct constant prepare_tables(const struct gf16 *f, unsigned by)
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

static SIMD inline struct halves multiply_tables(const struct constant *c, struct halves x)
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
static SIMD_INLINE __m256i swap_bits(__m256i x, int apart, uint64_t mask)
{
    const __m256i places = _mm256_set1_epi64x((long long)mask);
    __m256i t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, apart)), places);
    return _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64(t, apart)));
}

static SIMD inline __m256i transpose_bits(__m256i matrices)
{
    matrices = swap_bits(matrices, 7, 0x00aa00aa00aa00aa);
    matrices = swap_bits(matrices, 14, 0x0000cccc0000cccc);
    return swap_bits(matrices, 28, 0x00000000f0f0f0f0);
}

/* ---- both ---- */

static SIMD inline struct halves mix_vectors(struct halves h)
{
    return (struct halves){_mm256_unpacklo_epi64(h.low, h.high),
                           _mm256_unpackhi_epi64(h.low, h.high)};
}

static const struct instructions tables = {8, prepare_tables, multiply_tables, transpose_bits,
                                           mix_vectors};
static const struct instructions matrices = {4, prepare_matrices, multiply_matrices,
                                             transpose_matrices, mix_vectors};

MATH_FUNCTIONS(avx2, SIMD, tables)
MATH_FUNCTIONS(gfni, GFNI, matrices)

static const struct gf16_math math_avx2 = MATH(avx2, "AVX2");
static const struct gf16_math math_gfni = MATH(gfni, "GFNI");

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
