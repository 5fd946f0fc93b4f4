/* SPDX-License-Identifier: Apache-2.0 */
/* On and off contact: what is lost, what waits, and how long a queue may become. */
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

#define US TICK_US

/* 125 bytes at 1 Gbit/s: 1 us each. On the air from 1000 us + [10, 20) and [30, 40) us. */
static const struct chan_window contacts[] = {{10 * US, 20 * US}, {30 * US, 40 * US}};

static struct chan_config config(bool hold)
{
    return (struct chan_config){.rate_bps = 1000000000,
                                .delay = 500,
                                .origin = 1000 * US,
                                .windows = contacts,
                                .window_count = 2,
                                .hold = hold};
}

static tick at(tick us)
{
    return (1000 + us) * US;
}

static uint64_t outages(const struct chan *c)
{
    return chan_counters(c)->lost[CHAN_OUTAGE];
}

START_TEST(off_contact_is_lost)
{
    struct chan *c = chan_of(config(false));
    input(c, 125, 1, 0);       /* before the origin is off contact */
    input(c, 125, 2, at(9));   /* ends as the contact begins */
    input(c, 125, 3, at(10));  /* is wholly in it */
    input(c, 1250, 4, at(11)); /* 11..21 */
    input(c, 125, 5, at(12));  /* 21..22: the line went on */
    input(c, 125, 6, at(39));  /* ends with the contact */
    input(c, 125, 7, at(40));
    expect(c, 3, at(11) + 500);
    expect(c, 6, at(40) + 500);
    expect_idle(c);
    ck_assert_uint_eq(outages(c), 5);
    chan_free(c);
}
END_TEST

START_TEST(losses_of_sight_are_the_opposite)
{
    struct chan_config k = config(false);
    k.windows_off = true;
    struct chan *c = chan_of(k);
    input(c, 125, 1, 0);
    input(c, 125, 2, at(9));
    input(c, 125, 3, at(10));
    input(c, 1250, 4, at(25));
    input(c, 125, 5, at(39));
    input(c, 125, 6, at(40));
    input(c, 125, 7, at(100));
    expect(c, 1, US + 500);
    expect(c, 2, at(10) + 500);
    expect(c, 6, at(41) + 500);
    expect(c, 7, at(101) + 500);
    expect_idle(c);
    ck_assert_uint_eq(outages(c), 3);
    chan_free(c);
}
END_TEST

START_TEST(windows_that_touch_are_one)
{
    static const struct chan_window touching[] = {{0, 500}, {500, 900}, {900, 5000}};
    struct chan *c = chan_of((struct chan_config){
        .rate_bps = 1000000000, .windows = touching, .window_count = 3, .hold = (bool)_i});
    input(c, 125, 1, 0);
    input(c, 500, 2, 0);
    input(c, 125, 3, 0); /* 5000..6000 */
    expect(c, 1, US);
    expect(c, 2, 5 * US);
    expect_idle(c);
    ck_assert_uint_eq(outages(c), 1);
    chan_free(c);
}
END_TEST

START_TEST(an_instant_is_on_or_off)
{
    struct chan_config k = config(false);
    k.rate_bps = 0;
    struct chan *c = chan_of(k);
    input(c, 125, 1, at(10) - 1);
    input(c, 125, 2, at(10));
    input(c, 125, 3, at(20) - 1);
    input(c, 125, 4, at(20));
    expect(c, 2, at(10) + 500);
    expect(c, 3, at(20) - 1 + 500);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(the_line_holds_for_the_next_contact)
{
    struct chan *c = chan_of(config(true));
    struct chan_fate f;
    input(c, 125, 1, at(0));
    input(c, 1000, 2, at(1));
    input(c, 250, 3, at(2));  /* 19..21 is cut by the end, and lost */
    input(c, 125, 4, at(3));  /* the next contact */
    input(c, 125, 5, at(33)); /* the line is idle again */
    input(c, 125, 6, at(40)); /* no contact any more */
    ck_assert_int_eq(chan_fate(c, &f), 1);
    ck_assert_int_eq(f.reason, CHAN_OUTAGE);
    ck_assert_uint_eq(f.air_start, at(40));
    ck_assert_uint_eq(f.air_end, at(40));
    chan_input_rule(c, NULL, 0, 7, at(41));
    ck_assert_int_eq(chan_fate(c, &f), 1);
    ck_assert_int_eq(f.reason, CHAN_RULE);
    expect(c, 1, at(11) + 500);
    expect(c, 2, at(19) + 500);
    expect(c, 4, at(31) + 500);
    expect(c, 5, at(34) + 500);
    expect_idle(c);
    ck_assert_uint_eq(outages(c), 2);
    chan_free(c);
}
END_TEST

START_TEST(what_is_held_counts_in_bytes)
{
    struct chan_config k = config(true);
    k.queue_bytes = 1000;
    struct chan *c = chan_of(k);
    input(c, 3125, 1, at(0)); /* nothing waits yet: any frame may; 10..35, cut */
    input(c, 125, 2, at(27)); /* 5 us of contact, 625 bytes, are before it */
    input(c, 251, 3, at(27)); /* 1001 */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 1);
    input(c, 250, 4, at(27)); /* 1000 */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 1);
    expect(c, 2, at(36) + 500);
    expect(c, 4, at(38) + 500);
    expect_idle(c);
    chan_free(c);
    c = chan_of(k);
    for (uint64_t i = 1; i <= 9; i++)
        input(c, 125, i, at(0)); /* eight of them wait */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 1);
    input(c, 125, 10, at(9));
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 2);
    input(c, 125, 11, at(11)); /* one has gone */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 2);
    ck_assert_uint_eq(chan_counters(c)->queued, 9);
    chan_free(c);
}
END_TEST

START_TEST(what_is_held_counts_in_bytes_without_a_rate)
{
    struct chan_config k = config(true);
    k.rate_bps = 0;
    k.queue_bytes = 1000;
    k.overhead = 100;
    struct chan *c = chan_of(k);
    for (uint64_t i = 1; i <= 5; i++)
        input(c, 150, i, at(i)); /* four of them are 1000 bytes */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 1);
    input(c, 5000, 6, at(15)); /* on contact nothing waits */
    for (uint64_t i = 7; i <= 11; i++)
        input(c, 150, i, at(20)); /* for the next one, four may wait again */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 2);
    for (uint64_t i = 1; i <= 4; i++)
        expect(c, i, at(10) + 500);
    expect(c, 6, at(15) + 500);
    for (uint64_t i = 7; i <= 10; i++)
        expect(c, i, at(30) + 500);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(a_queue_is_limited_in_time)
{
    struct chan *c = chan_of((struct chan_config){.rate_bps = 1000000000, .queue_time = 3 * US});
    input(c, 12500, 1, 0); /* idle: any frame */
    input(c, 125, 2, 97 * US - 1);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 1);
    input(c, 125, 3, 97 * US); /* 3 us are left */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 1);
    input(c, 125, 4, 97 * US);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 2);
    expect(c, 1, 100 * US);
    expect(c, 3, 101 * US);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(time_off_contact_is_no_waiting_time)
{
    struct chan_config k = config(true);
    k.queue_time = 3 * US;
    struct chan *c = chan_of(k);
    for (uint64_t i = 1; i <= 6; i++)
        input(c, 125, i, at(0)); /* before the last two are 4 and 4 us, but before the 4th only 3 */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 2);
    for (uint64_t i = 1; i <= 4; i++)
        expect(c, i, at(10 + i) + 500);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(the_origin_may_be_the_first_frame)
{
    struct chan_config k = config(false);
    k.origin = 7;
    k.origin_first = true;
    struct chan *c = chan_of(k);
    chan_outage(c, true, 100); /* is no frame */
    chan_outage(c, false, 200);
    input(c, 125, 1, 5000 * US);
    input(c, 125, 2, 5010 * US);
    input(c, 125, 3, 5020 * US);
    expect(c, 2, 5011 * US + 500);
    expect_idle(c);
    chan_free(c);
}
END_TEST

SUITE(chan_contact, t)
{
    tcase_add_test(t, off_contact_is_lost);
    tcase_add_test(t, losses_of_sight_are_the_opposite);
    tcase_add_loop_test(t, windows_that_touch_are_one, 0, 2);
    tcase_add_test(t, an_instant_is_on_or_off);
    tcase_add_test(t, the_line_holds_for_the_next_contact);
    tcase_add_test(t, what_is_held_counts_in_bytes);
    tcase_add_test(t, what_is_held_counts_in_bytes_without_a_rate);
    tcase_add_test(t, a_queue_is_limited_in_time);
    tcase_add_test(t, time_off_contact_is_no_waiting_time);
    tcase_add_test(t, the_origin_may_be_the_first_frame);
}
