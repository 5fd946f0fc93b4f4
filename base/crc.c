/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C goes 24 bytes at a time through the processor's own instruction where there is one (three
 * independent streams hide its latency of three cycles), else 8 bytes at a time through tables.
 * Joining the streams uses multiplication by powers of x modulo the polynomial: for short streams
 * with the processor's instruction for it. Nothing can fail.
 */
#include "base/crc.h"

#include <stdbool.h>
#include <string.h>

#include "base/crc_tables.h"
#include "base/port.h"

uint16_t crc16_x25(uint16_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    crc = (uint16_t)~crc;
    for (size_t i = 0; i < len; i++)
        crc = (uint16_t)((crc >> 8) ^ crc16_table[(crc ^ p[i]) & 0xff]);
    return (uint16_t)~crc;
}

static uint32_t table_update(uint32_t crc, const uint8_t *p, size_t len)
{
    for (; len >= 8; p += 8, len -= 8) {
        uint32_t lo = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                             (uint32_t)p[3] << 24);
        crc = crc32c_table[7][lo & 0xff] ^ crc32c_table[6][(lo >> 8) & 0xff] ^
              crc32c_table[5][(lo >> 16) & 0xff] ^ crc32c_table[4][lo >> 24] ^
              crc32c_table[3][p[4]] ^ crc32c_table[2][p[5]] ^ crc32c_table[1][p[6]] ^
              crc32c_table[0][p[7]];
    }
    for (; len > 0; p++, len--)
        crc = (crc >> 8) ^ crc32c_table[0][(crc ^ *p) & 0xff];
    return crc;
}

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len)
{
    return ~table_update(~crc, data, len);
}

/* a * b modulo the polynomial, bit-reflected: bit 31 is x^0. */
static uint32_t multiply_mod(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = UINT32_C(1) << 31; bit != 0; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = (b >> 1) ^ ((b & 1) ? UINT32_C(0x82f63b78) : 0);
    }
    return product;
}

/* x^(8 * bytes) modulo the polynomial. */
static uint32_t power(uint64_t bytes)
{
    uint32_t result = UINT32_C(1) << 31;
    uint32_t square = UINT32_C(1) << 23; /* x^8 */
    for (; bytes != 0; bytes >>= 1) {
        if (bytes & 1)
            result = multiply_mod(result, square);
        square = multiply_mod(square, square);
    }
    return result;
}

uint32_t crc32c_shift(uint64_t len_b)
{
    return power(len_b);
}

uint32_t crc32c_join(uint32_t crc_a, uint32_t crc_b, uint32_t shift_b)
{
    return multiply_mod(shift_b, crc_a) ^ crc_b;
}

uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b)
{
    return crc32c_join(crc_a, crc_b, crc32c_shift(len_b));
}

#if PORT_X86_CRC32C
#include <immintrin.h>

enum { STREAM = 4096, SHORT_STREAM = 336 };
/* power(STREAM) and power(2 * STREAM); the unit test computes them again through crc32c_combine. */
#define SHIFT_1 UINT32_C(0x35d73a62)
#define SHIFT_2 UINT32_C(0x28461564)

/* x^(8 n - 33) for n = SHORT_STREAM and twice that: the product of a CRC with it, as a word of
 * data, has the CRC n octets later. */
#define SHORT_1 UINT32_C(0xa60ce07b)
#define SHORT_2 UINT32_C(0xcec3662e)

static uint64_t load_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t hardware_update(uint32_t crc, const uint8_t *p,
                                                                  size_t len)
{
    while (len >= 3 * STREAM) {
        uint64_t a = crc, b = 0, c = 0;
        for (size_t i = 0; i < STREAM; i += 8) {
            a = _mm_crc32_u64(a, load_word(p + i));
            b = _mm_crc32_u64(b, load_word(p + STREAM + i));
            c = _mm_crc32_u64(c, load_word(p + 2 * STREAM + i));
        }
        crc = multiply_mod(SHIFT_2, (uint32_t)a) ^ multiply_mod(SHIFT_1, (uint32_t)b) ^ (uint32_t)c;
        p += 3 * STREAM;
        len -= 3 * STREAM;
    }
    for (; len >= 8; p += 8, len -= 8)
        crc = (uint32_t)_mm_crc32_u64(crc, load_word(p));
    for (; len > 0; p++, len--)
        crc = _mm_crc32_u8(crc, *p);
    return crc;
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t move_crc(uint64_t crc, uint32_t by)
{
    __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc), _mm_cvtsi32_si128((int)by), 0x00);
    return (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* Of 3 * SHORT_STREAM octets: a segment of usual length. */
__attribute__((target("sse4.2,pclmul"))) static uint32_t short_update(uint32_t crc,
                                                                      const uint8_t *p)
{
    uint64_t a = crc, b = 0, c = 0;
    for (size_t i = 0; i < SHORT_STREAM; i += 8) {
        a = _mm_crc32_u64(a, load_word(p + i));
        b = _mm_crc32_u64(b, load_word(p + SHORT_STREAM + i));
        c = _mm_crc32_u64(c, load_word(p + 2 * (size_t)SHORT_STREAM + i));
    }
    return move_crc(a, SHORT_2) ^ move_crc(b, SHORT_1) ^ (uint32_t)c;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
    enum { THREE = 3 * SHORT_STREAM };
    const uint8_t *p = data;
    if (!__builtin_cpu_supports("sse4.2"))
        return crc32c_portable(crc, data, len);
    crc = ~crc;
    if (__builtin_cpu_supports("pclmul"))
        for (; len >= THREE && len < 3 * (size_t)STREAM; p += THREE, len -= THREE)
            crc = short_update(crc, p);
    return ~hardware_update(crc, p, len);
}
#else
uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
    return crc32c_portable(crc, data, len);
}
#endif
