/* SPDX-License-Identifier: Apache-2.0 */
/* Which connection of the HTTP server has to go. */
#include <stdio.h>
#include <string.h>

#include "node/http/http_visits.h"
#include "tests/unit/suite.h"

static struct http_visits v;
static struct http_visit room[256];

static struct http_visit *add(size_t i, unsigned host, tick now)
{
    char text[32];
    struct address from;
    snprintf(text, sizeof text, "10.0.%u.%u", host / 256, host % 256);
    ck_assert_int_eq(address_of(text, (uint16_t)(1000 + i), &from), 0);
    http_visits_add(&v, &room[i], (int)i, &from, now);
    return &room[i];
}

/* What each connection knows of its address is so. */
static void check_counts(void)
{
    list_for_each (l, &v.all) {
        const struct http_visit *c = container_of(l, struct http_visit, node);
        size_t count = 0;
        list_for_each (m, &v.all) {
            const struct http_visit *d = container_of(m, struct http_visit, node);
            count += !d->over && c->from_len == d->from_len &&
                     memcmp(c->from, d->from, c->from_len) == 0;
        }
        ck_assert_uint_eq(c->over ? count : c->same, count);
    }
}

START_TEST(one_address)
{
    http_visits_init(&v);
    struct http_visit *honest = add(100, 2, 1);
    for (size_t i = 0; i < HTTP_VISITS_OF_ONE; i++)
        add(i, 1, 1);
    ck_assert_ptr_null(http_visits_drop(&v, 1));
    http_visits_asked(&v, &room[0], 1);
    add(HTTP_VISITS_OF_ONE, 1, 1);
    ck_assert_ptr_eq(http_visits_drop(&v, 1), &room[1]); /* room[0] has asked since */
    ck_assert_ptr_null(http_visits_drop(&v, 1));
    ck_assert(!honest->over);
    ck_assert_uint_eq(v.cut, 1);
}
END_TEST

/* Whoever holds one place keeps it, however many others come from however few addresses. */
START_TEST(all)
{
    http_visits_init(&v);
    struct http_visit *honest = add(255, 99, 1);
    for (size_t i = 0; i < 250; i++) {
        add(i, 1 + (unsigned)(i % 10), 1);
        for (struct http_visit *c; (c = http_visits_drop(&v, 1)) != NULL;) {
            ck_assert_ptr_ne(c, honest);
            http_visits_sub(&v, c);
        }
        ck_assert_uint_le(v.len, HTTP_VISITS_MAX);
        check_counts();
    }
    ck_assert_uint_eq(v.len, HTTP_VISITS_MAX);
}
END_TEST

/* As many addresses as there are places: the newest stays, the oldest goes. */
START_TEST(an_address_each)
{
    http_visits_init(&v);
    for (size_t i = 0; i < HTTP_VISITS_MAX; i++)
        add(i, 1 + (unsigned)i, 1);
    http_visits_asked(&v, &room[0], 1);
    http_visits_answered(&v, &room[0], 1);
    struct http_visit *newest = add(HTTP_VISITS_MAX, 200, 1);
    ck_assert_ptr_eq(http_visits_drop(&v, 1), &room[1]);
    ck_assert(!newest->over && !room[0].over);
    ck_assert_ptr_null(http_visits_drop(&v, 1));
}
END_TEST

START_TEST(times)
{
    const tick begin = 1000;
    http_visits_init(&v);
    struct http_visit *slow = add(0, 1, begin), *good = add(1, 1, begin);
    http_visits_asked(&v, good, begin + TICK_S);
    ck_assert_ptr_null(http_visits_drop(&v, begin + HTTP_FIRST_REQUEST - 1));
    ck_assert_ptr_eq(http_visits_drop(&v, begin + HTTP_FIRST_REQUEST), slow);
    ck_assert_ptr_null(http_visits_drop(&v, begin + HTTP_ANSWER));
    http_visits_answered(&v, good, begin + HTTP_ANSWER);
    ck_assert_ptr_null(http_visits_drop(&v, begin + HTTP_ANSWER + HTTP_NEXT_REQUEST - 1));
    ck_assert_ptr_eq(http_visits_drop(&v, begin + HTTP_ANSWER + HTTP_NEXT_REQUEST), good);
    ck_assert_uint_eq(v.cut, 0); /* they were late */
    ck_assert_uint_eq(v.len, 0);
    http_visits_sub(&v, slow);
    http_visits_sub(&v, good);
    ck_assert(list_empty(&v.all));
}
END_TEST

SUITE(tools_http_visits, t)
{
    tcase_add_test(t, one_address);
    tcase_add_test(t, all);
    tcase_add_test(t, an_address_each);
    tcase_add_test(t, times);
}
