/* SPDX-License-Identifier: Apache-2.0 */
/* The set of ranges against a plain array of bytes, under random operations. */
#include <signal.h>
#include <string.h>

#include "base/err.h"
#include "base/ranges.h"
#include "base/rng.h"
#include "tests/unit/suite.h"

#define N 120

static size_t model_ranges(const uint8_t *m)
{
    size_t n = 0;
    for (size_t i = 0; i < N; i++)
        n += m[i] != 0 && (i == 0 || m[i - 1] == 0);
    return n;
}

static void compare(const struct ranges *s, const uint8_t *m)
{
    ranges_check(s);
    uint64_t bytes = 0;
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(ranges_has(s, i, i + 1), m[i]);
        bytes += m[i];
    }
    ck_assert_uint_eq(ranges_bytes(s), bytes);
    ck_assert_uint_eq(s->len, model_ranges(m));
}

static void compare_queries(const struct ranges *s, const uint8_t *m, size_t lo, size_t hi)
{
    size_t inside = 0, first_out = hi;
    for (size_t i = lo; i < hi; i++) {
        inside += m[i];
        if (m[i] == 0 && first_out == hi)
            first_out = i;
    }
    ck_assert_uint_eq(ranges_bytes_in(s, lo, hi), inside);
    ck_assert_int_eq(ranges_meets(s, lo, hi), inside > 0);
    ck_assert_int_eq(ranges_has(s, lo, hi), inside == hi - lo);
    struct range gap;
    ck_assert_int_eq(ranges_gap(s, lo, hi, &gap), inside < hi - lo);
    if (inside < hi - lo) {
        size_t end = first_out;
        while (end < hi && m[end] == 0)
            end++;
        ck_assert_uint_eq(gap.lo, first_out);
        ck_assert_uint_eq(gap.hi, end);
    }
}

static void one_change(struct ranges *s, uint8_t *m, struct rng *r, size_t max)
{
    size_t lo = rng_below(r, N), hi = lo + rng_below(r, 12);
    hi = hi > N ? N : hi;
    uint8_t after[N], add = rng_chance(r, 0.6);
    size_t news = 0;
    for (size_t i = 0; i < N; i++) {
        bool in = i >= lo && i < hi;
        news += in && m[i] == 0;
        after[i] = in ? add : m[i];
    }
    int rc = add ? ranges_add(s, lo, hi, max) : ranges_sub(s, lo, hi, max);
    if (rc == HELIO_EAGAIN) { /* refused: as before, and it would have been too many */
        ck_assert_uint_gt(model_ranges(after), max);
        compare(s, m);
        return;
    }
    ck_assert_int_eq(rc, add && news > 0);
    memcpy(m, after, N);
    compare_queries(s, m, lo, hi);
}

START_TEST(against_a_model)
{
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct rng r;
        struct ranges s;
        uint8_t m[N] = {0};
        size_t max = seed % 3 == 0 ? 6 : 1000, refused = 0;
        rng_init(&r, seed);
        ranges_init(&s);
        for (int i = 0; i < 300; i++) {
            one_change(&s, m, &r, max);
            compare(&s, m);
            refused += s.len == max;
        }
        ck_assert(max > 6 || refused > 0);
        ranges_fini(&s);
    }
}
END_TEST

START_TEST(borders)
{
    struct ranges s;
    ranges_init(&s);
    ck_assert_int_eq(ranges_add(&s, 5, 5, 1), 0);
    ck_assert_int_eq(ranges_add(&s, UINT64_MAX - 1, UINT64_MAX, 9), 1);
    ck_assert_int_eq(ranges_add(&s, 0, 1, 9), 1);
    ck_assert_int_eq(ranges_add(&s, 0, 1, 9), 0);
    ck_assert_uint_eq(s.len, 2);
    ck_assert(ranges_has(&s, UINT64_MAX - 1, UINT64_MAX));
    ck_assert_int_eq(ranges_add(&s, 0, UINT64_MAX, 9), 1);
    ck_assert_uint_eq(s.len, 1);
    ck_assert_uint_eq(ranges_bytes(&s), UINT64_MAX);
    ranges_clear(&s);
    ck_assert_uint_eq(ranges_bytes(&s), 0);
    ranges_fini(&s);
}
END_TEST

START_TEST(reserved_room_does_not_move)
{
    struct ranges s;
    ranges_init(&s);
    ck_assert_int_eq(ranges_add(&s, 10, 20, 100), 1);
    ck_assert_int_eq(ranges_reserve(&s, 50), 0);
    const struct range *at = s.at;
    size_t cap = s.cap;
    ck_assert_uint_ge(cap, 50);
    for (uint64_t i = 1; i < 50; i++)
        ck_assert_int_eq(ranges_add(&s, i * 100, i * 100 + 1, 100), 1);
    ck_assert(s.len == 50 && s.at == at && s.cap == cap && s.at[0].lo == 10);
    ck_assert_int_eq(ranges_reserve(&s, 3), 0);
    ck_assert_uint_eq(s.cap, cap);
    ranges_fini(&s);
}
END_TEST

/* Tests rely on the check functions; they have to say so with NDEBUG, too. */
/* Many at once, in any order, against one by one. */
START_TEST(all_at_once)
{
    struct rng r;
    rng_init(&r, 3);
    for (int round = 0; round < 500; round++) {
        struct ranges s, all;
        struct range more[20];
        uint8_t m[N] = {0};
        ranges_init(&s);
        ranges_init(&all);
        for (size_t i = 0; i < 40; i++) {
            const uint64_t lo = rng_below(&r, N), hi = lo + rng_below(&r, 6);
            more[i % 20] = (struct range){lo, hi < N ? hi : N};
            if (lo < hi)
                memset(m + lo, 1, (hi < N ? hi : N) - lo);
            ck_assert_int_ge(ranges_add(&s, more[i % 20].lo, more[i % 20].hi, N), 0);
            if (i % 20 == 19)
                ck_assert_int_eq(ranges_add_all(&all, more, 20, N), 0);
        }
        compare(&all, m);
        more[0] = (struct range){5, 6};
        const size_t len = all.len;
        ck_assert_int_eq(ranges_add_all(&all, more, 0, 0), 0);
        ck_assert_uint_eq(all.len, len);
        ck_assert_int_eq(ranges_add_all(&all, more, 1, 1), HELIO_EAGAIN); /* the first one stays */
        ck_assert_uint_eq(all.len, 1);
        ck_assert_uint_le(all.at[0].lo, 5);
        ranges_fini(&s);
        ranges_fini(&all);
    }
}
END_TEST

START_TEST(checks_assert_in_every_build)
{
    struct range at[2] = {{0, 5}, {5, 6}};
    struct ranges s = {.at = at, .len = 2, .cap = 2};
    ranges_check(&s);
}
END_TEST

SUITE(base_ranges, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, against_a_model);
    tcase_add_test(t, borders);
    tcase_add_test(t, all_at_once);
    tcase_add_test(t, reserved_room_does_not_move);
    tcase_add_test_raise_signal(t, checks_assert_in_every_build, SIGABRT);
}
