/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-16 by carry-less multiplication where the processor has it: four registers of 128 bits take
 * 64 octets a round, each folded by x^512 modulo the polynomial, then into one; what is left in it
 * and behind it goes through tables. Elsewhere 8 octets at a time through tables. Nothing can fail.
 */
#include "frames/fecf.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/port.h"
#include "frames/fecf_tables.h"

static_assert(sizeof fecf_table == 8 * 256 * sizeof(uint16_t), "eight tables of an octet each");

uint16_t fecf_crc_bytewise(uint16_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < len; i++)
        crc = (uint16_t)((crc << 8) ^ fecf_table[0][(crc >> 8) ^ p[i]]);
    return crc;
}

uint16_t fecf_crc_sliced(uint16_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    for (; len >= 8; p += 8, len -= 8)
        crc = fecf_table[7][p[0] ^ (crc >> 8)] ^ fecf_table[6][p[1] ^ (crc & 0xff)] ^
              fecf_table[5][p[2]] ^ fecf_table[4][p[3]] ^ fecf_table[3][p[4]] ^
              fecf_table[2][p[5]] ^ fecf_table[1][p[6]] ^ fecf_table[0][p[7]];
    return fecf_crc_bytewise(crc, p, len);
}

#if PORT_X86_CLMUL
#include <immintrin.h>

enum { ROUND = 64, BLOCK = 16 };
/* x^n modulo the polynomial, which the unit test computes again. */
#define X_128 0xaefc
#define X_192 0x650b
#define X_512 0x13fc
#define X_576 0x8832

#define CLMUL __attribute__((target("pclmul,ssse3")))

/* The first octet's first bit is the highest power. */
CLMUL static __m128i load_block(const uint8_t *p)
{
    const __m128i swap = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), swap);
}

/* `by` has x^n in its low half and x^(n + 64) in its high half. */
CLMUL static __m128i fold_block(__m128i x, __m128i by, __m128i next)
{
    return _mm_xor_si128(
        next, _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), _mm_clmulepi64_si128(x, by, 0x11)));
}

/* Takes all whole rounds; len is at least ROUND. Returns how many octets it took. */
CLMUL static size_t fold_rounds(uint16_t *crc, const uint8_t *p, size_t len)
{
    const __m128i by_round = _mm_set_epi64x(X_576, X_512), by_block = _mm_set_epi64x(X_192, X_128);
    __m128i a = load_block(p), b = load_block(p + BLOCK), c = load_block(p + 2 * BLOCK),
            d = load_block(p + 3 * BLOCK);
    size_t at = ROUND;
    assert(len >= ROUND);
    uint64_t first = (uint64_t)*crc << 48;
    a = _mm_xor_si128(a, _mm_set_epi64x((long long)first, 0));
    for (; len - at >= ROUND; at += ROUND) {
        a = fold_block(a, by_round, load_block(p + at));
        b = fold_block(b, by_round, load_block(p + at + BLOCK));
        c = fold_block(c, by_round, load_block(p + at + 2 * BLOCK));
        d = fold_block(d, by_round, load_block(p + at + 3 * BLOCK));
    }
    d = fold_block(fold_block(fold_block(a, by_block, b), by_block, c), by_block, d);
    uint8_t left[BLOCK];
    _mm_storeu_si128((__m128i *)(void *)left, d);
    d = load_block(left); /* swaps the octets back */
    _mm_storeu_si128((__m128i *)(void *)left, d);
    *crc = fecf_crc_sliced(0, left, sizeof left);
    return at;
}

uint16_t fecf_crc(uint16_t crc, const void *data, size_t len)
{
    size_t done = 0;
    if (len >= ROUND && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3"))
        done = fold_rounds(&crc, data, len);
    assert(done <= len);
    return fecf_crc_sliced(crc, (const uint8_t *)data + done, len - done);
}
#else
uint16_t fecf_crc(uint16_t crc, const void *data, size_t len)
{
    return fecf_crc_sliced(crc, data, len);
}
#endif
