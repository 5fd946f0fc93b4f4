/* SPDX-License-Identifier: Apache-2.0 */
/* Capsules of a block: units here are a byte that says how many follow it. */
#include <stdlib.h>

#include "ltp/sda.h"
#include "tests/unit/suite.h"

static size_t counted(uint64_t client_service, struct slice rest)
{
    return client_service == 1 || client_service == 300 ? (size_t)rest.data[0] + 1 : 0;
}

START_TEST(capsules_in_order)
{
    const uint8_t block[] = {1, 2, 'a', 'b', 0x82, 0x2c, 0, 1, 1, 'c'};
    struct slice rest = slice_of(block, sizeof block);
    struct sda_capsule c;
    ck_assert_int_eq(sda_count(rest, counted, 3), 3);
    ck_assert_int_eq(sda_next(&rest, counted, &c), 1);
    ck_assert_uint_eq(c.client_service, 1);
    ck_assert_ptr_eq(c.unit.data, block + 1);
    ck_assert_uint_eq(c.unit.len, 3);
    ck_assert_int_eq(sda_next(&rest, counted, &c), 1);
    ck_assert_uint_eq(c.client_service, 300);
    ck_assert_uint_eq(c.unit.len, 1);
    ck_assert_int_eq(sda_next(&rest, counted, &c), 1);
    ck_assert_mem_eq(c.unit.data, "\1c", 2);
    ck_assert_int_eq(sda_next(&rest, counted, &c), 0);
    ck_assert_uint_eq(sda_size(300, 7), 9);
}
END_TEST

/* Every front of a block is refused but those that end with a capsule. */
START_TEST(cut_anywhere)
{
    const uint8_t block[] = {1, 2, 'a', 'b', 0x82, 0x2c, 0, 1, 1, 'c'};
    for (size_t len = 0; len <= sizeof block; len++) {
        uint8_t *copy = malloc(len + 1);
        memcpy(copy, block, len);
        int n = len == 4 ? 1 : len == 7 ? 2 : len == 10 ? 3 : HELIO_EFORMAT;
        ck_assert_int_eq(sda_count(slice_of(copy, len), counted, 100), n);
        free(copy);
    }
}
END_TEST

START_TEST(refused)
{
    const uint8_t unknown[] = {5, 0}, endless[12] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                     0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    const uint8_t many[] = {1, 0, 1, 0, 1, 0};
    struct slice rest = slice_of(unknown, sizeof unknown);
    struct sda_capsule c;
    ck_assert_int_eq(sda_next(&rest, counted, &c), HELIO_EFORMAT);
    ck_assert_ptr_eq(rest.data, unknown);
    ck_assert_int_eq(sda_count(slice_of(endless, sizeof endless), counted, 9), HELIO_EFORMAT);
    ck_assert_int_eq(sda_count(slice_of(many, sizeof many), counted, 2), HELIO_EFORMAT);
    ck_assert_int_eq(sda_count(slice_of(many, sizeof many), counted, 3), 3);
}
END_TEST

SUITE(ltp_sda, t)
{
    tcase_add_test(t, capsules_in_order);
    tcase_add_test(t, cut_anywhere);
    tcase_add_test(t, refused);
}
