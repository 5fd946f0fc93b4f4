/* SPDX-License-Identifier: Apache-2.0 */
/* Check values of the CRC catalogue, parts and combinations, hardware against tables. */
#include <stdlib.h>

#include "base/crc.h"
#include "base/rng.h"
#include "tests/unit/suite.h"

#define N 40000

START_TEST(catalogue)
{
    ck_assert_uint_eq(crc16_x25(0, "123456789", 9), 0x906e);
    ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
    ck_assert_uint_eq(crc32c_portable(0, "123456789", 9), 0xe3069283);
    static const uint8_t zeros[32]; /* RFC 3720 B.4 */
    ck_assert_uint_eq(crc32c(0, zeros, 32), 0x8a9136aa);
}
END_TEST

START_TEST(parts_and_combinations)
{
    uint8_t *data = malloc(N);
    struct rng r;
    rng_init(&r, 8);
    for (size_t i = 0; i < N; i++)
        data[i] = (uint8_t)rng_u64(&r);
    for (int k = 0; k < 400; k++) {
        size_t len = rng_below(&r, k < 100 ? 64 : k < 300 ? 4096 : N), cut = rng_below(&r, len + 1);
        uint32_t whole = crc32c(0, data, len);
        ck_assert_uint_eq(crc32c_portable(0, data, len), whole);
        ck_assert_uint_eq(crc32c(crc32c(0, data, cut), data + cut, len - cut), whole);
        uint32_t tail = crc32c(0, data + cut, len - cut);
        uint32_t head = crc32c(0, data, cut);
        ck_assert_uint_eq(crc32c_combine(head, tail, len - cut), whole);
        ck_assert_uint_eq(crc32c_join(head, tail, crc32c_shift(len - cut)), whole);
        ck_assert_uint_eq(crc16_x25(crc16_x25(0, data, cut), data + cut, len - cut),
                          crc16_x25(0, data, len));
    }
    free(data);
}
END_TEST

SUITE(base_crc, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, catalogue);
    tcase_add_test(t, parts_and_combinations);
}
