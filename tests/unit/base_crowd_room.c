/* SPDX-License-Identifier: Apache-2.0 */
/* Crowds at several places that share one room: who gives way. */

#include "base/crowd_room.h"
#include "base/rng.h"
#include "tests/unit/suite.h"

#define PLACES 4
#define MAX 100 /* of a place */
#define KEY_MAX 40

struct one {
    struct crowd_entry entry;
    unsigned displaced;
};

static struct crowd_room room;
static struct crowd_place places[PLACES];

static void on_displaced(struct crowd_entry *e)
{
    container_of(e, struct one, entry)->displaced++;
    crowd_entry_sub(e);
}

static void set_up(void)
{
    room = (struct crowd_room){.places_len = 0};
    for (size_t i = 0; i < PLACES; i++)
        ck_assert_int_eq(crowd_place_init(&places[i], &room, i, on_displaced), 0);
}

static void tear_down(void)
{
    for (size_t i = 0; i < PLACES; i++)
        crowd_place_fini(&places[i]);
    ck_assert_uint_eq(room.places_len, 0);
}

static void come(struct one *o, size_t place, const uint8_t key[4])
{
    const struct slice k = slice_of(key, 4);
    crowd_place_clear(&places[place], k, KEY_MAX, MAX);
    o->displaced = 0;
    ck_assert_int_eq(crowd_entry_add(&places[place], &o->entry, k), 0);
    ck_assert_uint_le(places[place].crowds.len, MAX);
    ck_assert_uint_le(room.all.len, MAX + PLACES);
}

/* One address has no more at four places than its limit at each and the room in all; ten addresses
 * have no more than one place; somebody alone at any of them stays, also if the others are active.
 */
START_TEST(places_are_one_room)
{
    enum { COME = 5000 };
    static struct one alone[PLACES], many[COME];
    struct rng r;
    set_up();
    rng_init(&r, 3);
    for (size_t i = 0; i < PLACES; i++) {
        come(&alone[i], i, (const uint8_t[4]){9, 9, (uint8_t)i, 9});
        crowd_entry_active(&alone[i].entry);
    }
    for (size_t i = 0; i < COME; i++) {
        come(&many[i], rng_below(&r, PLACES),
             (const uint8_t[4]){(uint8_t)rng_below(&r, 10), 0, 0, 0});
        if (_i == 1)
            crowd_entry_active(&many[i].entry);
        if (i % 97 == 0)
            crowd_place_check(&places[i % PLACES]);
    }
    ck_assert_uint_eq(room.all.len, MAX + PLACES);
    for (size_t i = 0; i < PLACES; i++)
        ck_assert_uint_eq(alone[i].displaced, 0);
    for (size_t i = 0; i < COME; i++)
        crowd_entry_sub(&many[i].entry);
    for (size_t i = 0; i < PLACES; i++)
        crowd_entry_sub(&alone[i].entry);
    tear_down();
}
END_TEST

/* Who has most at all places together gives way, although it has less than another one at each. */
START_TEST(the_sum_counts)
{
    static struct one spread[MAX], other[KEY_MAX - 15], last;
    const uint8_t a[4] = {1}, b[4] = {2}, c[4] = {3};
    size_t displaced = 0;
    set_up();
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        come(&other[i], 0, b);
    for (size_t i = 0; room.all.len < MAX + PLACES; i++)
        come(&spread[i], i % PLACES, a);
    come(&last, 0, c);
    for (size_t i = 0; i < MAX; i++) {
        displaced += spread[i].displaced;
        crowd_entry_sub(&spread[i].entry);
    }
    ck_assert_uint_eq(displaced, 1);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        ck_assert_uint_eq(other[i].displaced, 0);
        crowd_entry_sub(&other[i].entry);
    }
    crowd_entry_sub(&last.entry);
    crowd_entry_sub(&last.entry); /* it is at none */
    crowd_entry_active(&last.entry);
    tear_down();
}
END_TEST

/* The limit of one address, and of a place; a place that is alone has its own limit. */
START_TEST(each_place_has_limits)
{
    static struct one m[MAX + 1];
    set_up();
    for (size_t i = 0; i <= KEY_MAX; i++)
        come(&m[i], 1, (const uint8_t[4]){5});
    ck_assert_uint_eq(m[0].displaced, 1); /* the oldest */
    ck_assert_uint_eq(places[1].crowds.len, KEY_MAX);
    for (size_t i = 0; i <= KEY_MAX; i++)
        crowd_entry_sub(&m[i].entry);
    for (size_t i = 0; i <= MAX; i++)
        come(&m[i], 1, (const uint8_t[4]){(uint8_t)(i % 20)});
    ck_assert_uint_eq(places[1].crowds.len, MAX);
    for (size_t i = 0; i <= MAX; i++)
        crowd_entry_sub(&m[i].entry);
    tear_down();
}
END_TEST

SUITE(base_crowd_room, t)
{
    tcase_add_loop_test(t, places_are_one_room, 0, 2);
    tcase_add_test(t, the_sum_counts);
    tcase_add_test(t, each_place_has_limits);
}
