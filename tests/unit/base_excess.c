/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts above a limit: random changes against a sum over all, and how many steps a call takes. */
#include <stdlib.h>

#include "base/excess.h"
#include "base/hash.h"
#include "tests/unit/suite.h"

#define HOLDERS 50

static uint64_t sum_over(const struct excess_node *of, size_t len, uint64_t limit)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < len; i++)
        sum += of[i].amount > limit ? of[i].amount - limit : 0;
    return sum;
}

/* Many amounts are equal, many are 0. */
START_TEST(sums_after_any_change)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct excess e;
        struct excess_node of[HOLDERS];
        uint64_t x = seed;
        excess_init(&e);
        for (size_t i = 0; i < HOLDERS; i++)
            excess_node_init(&of[i], hash_mix(seed, i, 1) >> (seed % 2 ? 0 : 62));
        for (int step = 0; step < 400; step++) {
            x = hash_mix(seed, x, 0);
            excess_set(&e, &of[x % HOLDERS], (x >> 32) % 20);
            excess_check(&e);
            for (uint64_t limit = 0; limit <= 20; limit++)
                ck_assert_uint_eq(excess_over(&e, limit), sum_over(of, HOLDERS, limit));
        }
    }
}
END_TEST

START_TEST(large_amounts)
{
    struct excess e;
    struct excess_node of[3];
    excess_init(&e);
    ck_assert_uint_eq(excess_over(&e, 0), 0);
    for (size_t i = 0; i < 3; i++) {
        excess_node_init(&of[i], i);
        excess_set(&e, &of[i], UINT64_MAX / 3 - i);
    }
    ck_assert_uint_eq(excess_over(&e, 0), UINT64_MAX - 3);
    ck_assert_uint_eq(excess_over(&e, UINT64_MAX / 3 - 2), 3);
    ck_assert_uint_eq(excess_over(&e, UINT64_MAX), 0);
    excess_check(&e);
}
END_TEST

/* However many holders there are, and whatever their amounts are, a call visits few of them. */
START_TEST(few_steps_for_many_holders)
{
    const size_t many = 30000;
    struct excess_node *of = calloc(many, sizeof *of);
    ck_assert_ptr_nonnull(of);
    for (int equal = 0; equal < 2; equal++) {
        struct excess e;
        excess_init(&e);
        for (size_t i = 0; i < many; i++) {
            excess_node_init(&of[i], hash_mix(7, i, 0));
            excess_set(&e, &of[i], equal ? 100 : 1 + i);
        }
        ck_assert_uint_le(excess_check(&e), 60);
        ck_assert_uint_eq(excess_over(&e, 50), sum_over(of, many, 50));
        for (size_t i = 0; i < many; i++)
            excess_set(&e, &of[i], 0);
        ck_assert_ptr_null(e.root);
    }
    free(of);
}
END_TEST

SUITE(base_excess, t)
{
    tcase_add_test(t, sums_after_any_change);
    tcase_add_test(t, large_amounts);
    tcase_add_test(t, few_steps_for_many_holders);
}
