/* SPDX-License-Identifier: Apache-2.0 */
/* Ids against duplicates: they go when their time has come, whatever came before them. */
#include <string.h>

#include "base/rng.h"
#include "bp/agent/admission/seen.h"
#include "tests/unit/suite.h"

#define MAX 1000

static struct slice id_of(uint32_t *i)
{
    return slice_of(i, sizeof *i);
}

static bool has(const struct seen *s, uint32_t i)
{
    return seen_has(s, id_of(&i));
}

static void add(struct seen *s, uint32_t i, uint64_t until_ms, uint64_t now_ms)
{
    ck_assert_int_eq(seen_add(s, id_of(&i), until_ms, now_ms), 0);
    seen_check(s);
}

START_TEST(one_that_never_ends_holds_up_no_other)
{
    struct seen s;
    seen_init(&s, 1, MAX);
    add(&s, 0, UINT64_MAX, 0);
    for (uint32_t i = 1; i < MAX; i++)
        add(&s, i, 100 + i, 0);
    ck_assert_uint_eq(s.len, MAX);
    for (uint32_t i = 0; i < 8; i++) /* 500 have ended */
        add(&s, MAX + i, 5000, 600);
    ck_assert(has(&s, 0) && has(&s, MAX) && has(&s, 501));
    ck_assert(!has(&s, 1) && !has(&s, 500));
    ck_assert_uint_eq(s.len, MAX - 500 + 8);
    seen_fini(&s);
}
END_TEST

/* Sequence numbers that follow each other are near in the table, and other ids all the same; also
 * in front of the number, where it has two bytes, and in ids of any length. */
START_TEST(neighbours_are_told_apart)
{
    enum { NUMBERS = 512 };
    uint8_t id[200] = {0};
    for (size_t len = 2; len <= sizeof id; len += 33) {
        struct seen s;
        seen_init(&s, 1, MAX);
        for (unsigned pass = 0; pass < 2; pass++) {
            for (unsigned i = 0; i < NUMBERS; i++) {
                id[len - 2] = (uint8_t)(0x80 | (i & 0x7f));
                id[len - 1] = (uint8_t)(i >> 7);
                if (pass == 0 && i % 2 == 0)
                    ck_assert_int_eq(seen_add(&s, slice_of(id, len), 100, 0), 0);
                ck_assert_int_eq(seen_has(&s, slice_of(id, len)), i % 2 == 0);
                id[len - 2] ^= 0x80; /* another id: one byte is no part of the number */
                ck_assert(!seen_has(&s, slice_of(id, len)));
            }
        }
        ck_assert_uint_eq(s.len, NUMBERS / 2);
        seen_check(&s);
        seen_fini(&s);
    }
}
END_TEST

/* Where all end at once no new one has to send them all away. */
START_TEST(forgets_in_steps)
{
    struct seen s;
    seen_init(&s, 1, 10 * MAX);
    for (uint32_t i = 0; i < 5 * MAX; i++)
        ck_assert_int_eq(seen_add(&s, id_of(&i), 100, 0), 0);
    const uint32_t steps = 5 * MAX / SEEN_STEP + 1;
    for (uint32_t i = 0, len = s.len; i < steps; i++, len = s.len) {
        add(&s, 5 * MAX + i, 5000, 200);
        ck_assert_uint_ge(s.len, len - SEEN_STEP + 1);
    }
    ck_assert_uint_eq(s.len, steps);
    ck_assert_uint_eq(s.displaced, 0);
    seen_fini(&s);
}
END_TEST

START_TEST(the_oldest_makes_room)
{
    struct seen s;
    seen_init(&s, 1, 4);
    for (uint32_t i = 0; i < 4; i++)
        add(&s, i, i == 0 ? UINT64_MAX : 1000 - i, 0);
    add(&s, 0, UINT64_MAX, 0); /* again: the youngest now */
    add(&s, 9, 1000, 0);
    ck_assert(has(&s, 0) && !has(&s, 1) && has(&s, 2) && has(&s, 3) && has(&s, 9));
    add(&s, 2, 10, 0); /* ends sooner than it was said */
    add(&s, 10, 1000, 11);
    ck_assert(!has(&s, 2) && has(&s, 3) && has(&s, 10));
    seen_fini(&s);
}
END_TEST

START_TEST(agrees_with_a_model)
{
    enum { IDS = 200 };
    struct seen s;
    struct rng r;
    uint64_t until[IDS] = {0};
    rng_init(&r, 5);
    seen_init(&s, 1, IDS);
    for (uint64_t now = 1; now < 20000; now++) {
        uint32_t i = (uint32_t)rng_below(&r, IDS);
        until[i] = now + 1 + rng_below(&r, 400);
        add(&s, i, until[i], now);
        uint32_t k = (uint32_t)rng_below(&r, IDS);
        if (until[k] > now)
            ck_assert(has(&s, k));
    }
    seen_fini(&s);
}
END_TEST

/* However long the ids are, and however they were forgotten: memory is bounded in bytes. */
START_TEST(bytes_are_bounded)
{
    enum { IDS = 20000, LEN = 200 };
    static const uint32_t limits[] = {1, 17, 1025, 16384};
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        struct seen s;
        uint8_t id[LEN] = {0};
        uint64_t most = 0;
        seen_init(&s, k, limits[k]);
        for (uint32_t i = 0; i < IDS; i++) {
            memcpy(id + LEN - sizeof i, &i, sizeof i);
            ck_assert_int_eq(seen_add(&s, slice_of(id, LEN), i % 7 == 0 ? i : UINT64_MAX, i), 0);
            ck_assert(seen_has(&s, slice_of(id, LEN)));
            ck_assert_uint_ge(seen_bytes(&s), most);
            most = seen_bytes(&s);
        }
        ck_assert_uint_le(most, (uint64_t)SEEN_ID_BYTES * limits[k] + 1024);
        ck_assert_uint_gt(s.displaced, 0);
        seen_check(&s);
        seen_fini(&s);
    }
}
END_TEST

START_TEST(displaced_are_those_whose_time_had_not_come)
{
    struct seen s;
    seen_init(&s, 1, 4);
    for (uint32_t i = 0; i < 4; i++)
        add(&s, i, 10, 0);
    add(&s, 4, 20, 10); /* the others are over */
    ck_assert_uint_eq(s.displaced, 0);
    for (uint32_t i = 5; i < 9; i++)
        add(&s, i, 20, 10);
    ck_assert_uint_eq(s.displaced, 1);
    ck_assert(!has(&s, 4) && has(&s, 5));
    seen_fini(&s);
}
END_TEST

SUITE(bp_seen, t)
{
    tcase_add_test(t, one_that_never_ends_holds_up_no_other);
    tcase_add_test(t, neighbours_are_told_apart);
    tcase_add_test(t, forgets_in_steps);
    tcase_add_test(t, the_oldest_makes_room);
    tcase_add_test(t, agrees_with_a_model);
    tcase_add_test(t, bytes_are_bounded);
    tcase_add_test(t, displaced_are_those_whose_time_had_not_come);
}
