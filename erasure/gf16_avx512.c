/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GF(2^16) for processors with GFNI and AVX-512: as gf16_avx2.c with matrices, but vectors are
 * twice as long, and the constants of two layers are in registers.
 */
#include "erasure/gf16.h"

#include <assert.h>

#include "base/port.h"

#if PORT_X86_AVX2

#include <immintrin.h>

#define VECTOR 64 /* octets */
#define SIMD __attribute__((target("avx512f,avx512bw,avx512vl,gfni")))

#include "erasure/gf16_layers.h"

/* A matrix has the row of the highest coordinate first. Of the four: from the low octets to low and
 * high ones, and from the high octets. */
static SIMD inline struct constant prepare_matrices(const struct gf16 *f, unsigned by)
{
    const __m256i order = _mm256_setr_epi8(14, 12, 10, 8, 6, 4, 2, 0, 15, 13, 11, 9, 7, 5, 3, 1, 14,
                                           12, 10, 8, 6, 4, 2, 0, 15, 13, 11, 9, 7, 5, 3, 1);
    const void *low = f->low[by & 255].row, *high = f->high[by >> 8].row;
    __m256i rows = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)low),
                                    _mm256_loadu_si256((const __m256i *)high));
    __m512i both = _mm512_broadcast_i64x4(_mm256_shuffle_epi8(rows, order));
    return (struct constant){
        .part = {_mm512_permutex_epi64(both, 0x00), _mm512_permutex_epi64(both, 0xaa),
                 _mm512_permutex_epi64(both, 0x55), _mm512_permutex_epi64(both, 0xff)}};
}

static SIMD inline struct halves multiply_matrices(const struct constant *c, struct halves x)
{
    return (struct halves){_mm512_xor_si512(_mm512_gf2p8affine_epi64_epi8(x.low, c->part[0], 0),
                                            _mm512_gf2p8affine_epi64_epi8(x.high, c->part[2], 0)),
                           _mm512_xor_si512(_mm512_gf2p8affine_epi64_epi8(x.low, c->part[1], 0),
                                            _mm512_gf2p8affine_epi64_epi8(x.high, c->part[3], 0))};
}

static SIMD inline vec transpose_matrices(vec matrices)
{
    const __m512i order =
        _mm512_broadcast_i32x4(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
    const __m512i one = _mm512_set1_epi64((long long)0x8040201008040201);
    return _mm512_gf2p8affine_epi64_epi8(one, _mm512_shuffle_epi8(matrices, order), 0);
}

static SIMD inline struct halves mix_vectors(struct halves h)
{
    return (struct halves){_mm512_unpacklo_epi64(h.low, h.high),
                           _mm512_unpackhi_epi64(h.low, h.high)};
}

static const struct instructions matrices = {4, prepare_matrices, multiply_matrices,
                                             transpose_matrices, mix_vectors};

MATH_FUNCTIONS(avx512, SIMD, matrices)

static const struct gf16_math math_avx512 = MATH(avx512, "AVX-512");

const struct gf16_math *gf16_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("gfni")
               ? &math_avx512
               : NULL;
}

#else

const struct gf16_math *gf16_avx512(void)
{
    return NULL;
}

#endif
