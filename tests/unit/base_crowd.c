/* SPDX-License-Identifier: Apache-2.0 */
/* Members in crowds: who gives way. */

#include "base/crowd.h"
#include "base/rng.h"
#include "tests/unit/suite.h"

static struct slice key_of(const char *text)
{
    return slice_of(text, strlen(text));
}

static void add(struct crowds *c, struct crowd_member *m, const char *key)
{
    ck_assert_int_eq(crowds_add(c, m, key_of(key)), 0);
    crowds_check(c);
}

static void sub(struct crowds *c, struct crowd_member *m)
{
    crowds_sub(c, m);
    ck_assert_ptr_null(m->crowd);
    crowds_check(c);
}

START_TEST(the_largest_gives_way)
{
    struct crowds c;
    struct crowd_member m[6];
    ck_assert_int_eq(crowds_init(&c, 1), 0);
    ck_assert_ptr_null(crowds_largest(&c));
    add(&c, &m[0], "alone");
    add(&c, &m[1], "many");
    add(&c, &m[2], "many");
    add(&c, &m[3], "many");
    add(&c, &m[4], "two");
    add(&c, &m[5], "two");
    ck_assert_uint_eq(crowds_size(&c, key_of("many")), 3);
    ck_assert_uint_eq(crowds_size(&c, key_of("none")), 0);
    ck_assert_ptr_null(crowds_first(&c, key_of("none")));
    ck_assert_ptr_eq(crowds_largest(&c), &m[1]); /* its oldest */
    ck_assert_ptr_eq(crowds_first(&c, key_of("two")), &m[4]);
    sub(&c, &m[1]);
    sub(&c, &m[2]);
    ck_assert_ptr_eq(crowds_largest(&c), &m[4]);
    sub(&c, &m[4]);
    sub(&c, &m[4]); /* in none: nothing */
    for (size_t i = 0; i < 6; i++)
        sub(&c, &m[i]);
    ck_assert_uint_eq(c.len, 0);
    crowds_fini(&c);
}
END_TEST

START_TEST(idle_before_active)
{
    struct crowds c;
    struct crowd_member m[4];
    ck_assert_int_eq(crowds_init(&c, 1), 0);
    for (size_t i = 0; i < 3; i++)
        add(&c, &m[i], "");
    crowds_active(&c, &m[0]);
    crowds_active(&c, &m[0]);
    ck_assert_ptr_eq(crowds_largest(&c), &m[1]);
    crowds_active(&c, &m[2]);
    crowds_active(&c, &m[1]);
    crowds_check(&c);
    ck_assert_ptr_eq(crowds_largest(&c), &m[0]); /* the one that was active first */
    sub(&c, &m[0]);
    sub(&c, &m[1]);
    add(&c, &m[3], "other"); /* as large, and it has done nothing */
    ck_assert_ptr_eq(crowds_largest(&c), &m[3]);
    crowds_active(&c, &m[3]);
    sub(&c, &m[3]);
    crowds_active(&c, &m[3]);
    sub(&c, &m[2]);
    crowds_fini(&c);
}
END_TEST

/* Who comes alone stays, while ten others come a thousand times. */
START_TEST(who_comes_alone_stays)
{
    enum { PLACES = 64, COME = 10000 };
    struct crowds c;
    struct rng r;
    static struct crowd_member m[COME], alone;
    rng_init(&r, 7);
    ck_assert_int_eq(crowds_init(&c, 1), 0);
    add(&c, &alone, "alone");
    crowds_active(&c, &alone);
    for (size_t i = 0; i < COME; i++) {
        uint8_t from[8] = {1, (uint8_t)rng_below(&r, 10)};
        if (c.len == PLACES) {
            struct crowd_member *first = crowds_largest(&c);
            ck_assert_ptr_ne(first, &alone);
            crowds_sub(&c, first);
        }
        ck_assert_int_eq(crowds_add(&c, &m[i], slice_of(from, sizeof from)), 0);
        if (rng_below(&r, 3) == 0)
            crowds_active(&c, &m[i]);
        if (i % 97 == 0)
            crowds_check(&c);
    }
    sub(&c, &alone);
    for (size_t i = 0; i < COME; i++)
        crowds_sub(&c, &m[i]);
    crowds_fini(&c);
}
END_TEST

SUITE(base_crowd, t)
{
    tcase_add_test(t, the_largest_gives_way);
    tcase_add_test(t, idle_before_active);
    tcase_add_test(t, who_comes_alone_stays);
}
