/* SPDX-License-Identifier: Apache-2.0 */
/* The token bucket as an ideal line, in bursts, and after late wake-ups. */

#include "base/bucket.h"
#include "tests/unit/suite.h"

START_TEST(ideal_line)
{
    struct bucket b;
    bucket_init(&b, 1000000000, 0, 0, 100); /* 125 bytes take 1 us */
    ck_assert(bucket_ready(&b, 100));
    bucket_begin(&b, 100);
    bucket_spend(&b, 125, 100);
    ck_assert(!bucket_ready(&b, 100));
    ck_assert_uint_eq(bucket_wake(&b, 100), 1100);
    bucket_begin(&b, 1099);
    ck_assert(!bucket_ready(&b, 1099));
    bucket_begin(&b, 1100);
    ck_assert(bucket_ready(&b, 1100));
    bucket_begin(&b, 5000); /* late, and nothing is made good */
    bucket_spend(&b, 125, 5000);
    ck_assert_uint_eq(b.free_at, 6000);
}
END_TEST

/* 1066 bytes at 500 Mbit/s take 17,056 ns; at 3 bit/s a byte takes 2.666… s, without drift. */
START_TEST(no_drift)
{
    struct bucket b;
    tick now = 0;
    bucket_init(&b, 3, 0, 0, 0);
    for (int i = 0; i < 3000; i++) {
        bucket_begin(&b, now);
        ck_assert(bucket_ready(&b, now));
        bucket_spend(&b, 1, now);
        now = bucket_wake(&b, now);
    }
    ck_assert_uint_eq(now, 8000 * TICK_S);
    bucket_init(&b, 500000000, 0, 0, 0);
    bucket_spend(&b, 1066, 0);
    ck_assert_uint_eq(b.free_at, 17056);
}
END_TEST

START_TEST(bursts)
{
    struct bucket b;
    bucket_init(&b, 1000000000, 10 * TICK_US, 20 * TICK_US, 0);
    tick now = 100 * TICK_US; /* the wake-up is late by far: only the slack is made good */
    int sent = 0;
    bucket_begin(&b, now);
    for (; bucket_ready(&b, now); sent++)
        bucket_spend(&b, 125, now);
    ck_assert_int_eq(sent, 10); /* one burst of 10 us */
    bucket_begin(&b, now);
    for (; bucket_ready(&b, now); sent++)
        bucket_spend(&b, 125, now);
    ck_assert_int_eq(sent, 20);
    bucket_begin(&b, now);
    for (; bucket_ready(&b, now); sent++)
        bucket_spend(&b, 125, now);
    ck_assert_int_eq(sent, 21); /* and the one that is due now */
    ck_assert_uint_eq(bucket_wake(&b, now), now + TICK_US + 10 * TICK_US - 1250);
}
END_TEST

/* What the slack does not cover is lost, and counted; not what nobody wanted to send. */
START_TEST(lost_credit)
{
    struct bucket b;
    bucket_init(&b, 1000000000, 10 * TICK_US, 20 * TICK_US, 0);
    bucket_begin(&b, 0);
    bucket_spend(&b, 1250, 0); /* the line is free at 10 us */
    bucket_begin(&b, 30 * TICK_US);
    ck_assert_uint_eq(b.lost, 0);
    bucket_begin(&b, 100 * TICK_US);
    ck_assert_uint_eq(b.lost, 70 * TICK_US);
    ck_assert_uint_eq(b.free_at, 80 * TICK_US);
    bucket_rest(&b);
    bucket_begin(&b, 500 * TICK_US);
    ck_assert_uint_eq(b.lost, 70 * TICK_US);
    bucket_init(&b, 0, 10 * TICK_US, 20 * TICK_US, 0); /* a link without a rate has no credit */
    bucket_begin(&b, TICK_S);
    ck_assert_uint_eq(b.lost, 0);
}
END_TEST

/* What was not there to be sent is not late: the line has no credit for it, but for its next
 * wake-up it has again. */
START_TEST(rest)
{
    struct bucket b;
    bucket_init(&b, 1000000000, 0, 20 * TICK_US, 0);
    bucket_begin(&b, 0);
    bucket_spend(&b, 125, 0);
    bucket_rest(&b);
    bucket_begin(&b, 500); /* the line is still busy */
    ck_assert(!bucket_ready(&b, 500));
    ck_assert_uint_eq(b.free_at, TICK_US);
    bucket_rest(&b);
    tick now = TICK_MS;
    bucket_begin(&b, now);
    ck_assert(bucket_ready(&b, now));
    bucket_spend(&b, 125, now);
    ck_assert_uint_eq(b.free_at, now + TICK_US);
    now += 11 * TICK_US; /* late, with something to send */
    int sent = 0;
    for (; bucket_begin(&b, now), bucket_ready(&b, now); sent++)
        bucket_spend(&b, 125, now);
    ck_assert_int_eq(sent, 11);
}
END_TEST

START_TEST(unlimited)
{
    struct bucket b;
    bucket_init(&b, 0, 0, 0, 0);
    for (int i = 0; i < 100; i++) {
        ck_assert(bucket_ready(&b, 5));
        bucket_spend(&b, 1 << 20, 5);
    }
    ck_assert_uint_eq(bucket_wake(&b, 5), 5);
}
END_TEST

SUITE(base_bucket, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, ideal_line);
    tcase_add_test(t, no_drift);
    tcase_add_test(t, bursts);
    tcase_add_test(t, rest);
    tcase_add_test(t, lost_credit);
    tcase_add_test(t, unlimited);
}
