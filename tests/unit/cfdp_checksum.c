/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of files: known values, any division into parts, and CRC-32 bit by bit. */
#include "base/rng.h"
#include "cfdp/checksum.h"
#include "tests/unit/suite.h"

static uint32_t sum_of(unsigned type, const void *data, size_t len)
{
    struct cfdp_sum s;
    cfdp_sum_begin(&s, type);
    cfdp_sum_add(&s, data, len);
    return s.value;
}

static uint32_t crc32_by_bits(const uint8_t *p, size_t len)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ ((crc & 1) ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

START_TEST(known_values)
{
    ck_assert_uint_eq(sum_of(CFDP_CHECKSUM_CRC32, "123456789", 9), 0xcbf43926);
    ck_assert_uint_eq(sum_of(CFDP_CHECKSUM_CRC32C, "123456789", 9), 0xe3069283);
    /* 727.0-B-5 annex F: 00 01 02 .. 0e */
    static const uint8_t octets[15] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    ck_assert_uint_eq(sum_of(CFDP_CHECKSUM_MODULAR, octets, 15), 0x181c2015);
    ck_assert_uint_eq(sum_of(CFDP_CHECKSUM_NULL, octets, 15), 0);
    ck_assert_uint_eq(sum_of(CFDP_CHECKSUM_MODULAR, "\xff\xff\xff\xff\0\0\0\2", 8), 1);
}
END_TEST

START_TEST(parts)
{
    static const unsigned types[] = {CFDP_CHECKSUM_MODULAR, CFDP_CHECKSUM_CRC32,
                                     CFDP_CHECKSUM_CRC32C};
    uint8_t data[300];
    struct rng r;
    rng_init(&r, 1);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)rng_u64(&r);
    ck_assert_uint_eq(sum_of(CFDP_CHECKSUM_CRC32, data, sizeof data),
                      crc32_by_bits(data, sizeof data));
    for (int round = 0; round < 300; round++) {
        const unsigned type = types[round % 3];
        struct cfdp_sum s;
        cfdp_sum_begin(&s, type);
        for (size_t at = 0, n; at < sizeof data; at += n) {
            n = (size_t)rng_below(&r, 20);
            n = n < sizeof data - at ? n : sizeof data - at;
            cfdp_sum_add(&s, data + at, n);
        }
        ck_assert_uint_eq(s.value, sum_of(type, data, sizeof data));
        ck_assert_uint_eq(s.len, sizeof data);
    }
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(cfdp_checksum_name(0), "modular");
    ck_assert_str_eq(cfdp_checksum_name(15), "null");
    ck_assert(!cfdp_checksum_known(1));
    ck_assert_ptr_null(cfdp_checksum_name(4));
}
END_TEST

SUITE(cfdp_checksum, t)
{
    tcase_add_test(t, known_values);
    tcase_add_test(t, parts);
    tcase_add_test(t, names);
}
