/* SPDX-License-Identifier: Apache-2.0 */
/* CoDel's control law by the numbers of RFC 8289, and what a channel does by it. */
#include <math.h>

#include "channel-emu/chan/chan_codel.h"
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

#define TARGET (5 * TICK_MS)
#define INTERVAL (100 * TICK_MS)

static struct chan_codel codel_of(bool marks)
{
    struct chan_codel c;
    chan_codel_init(&c, TARGET, INTERVAL, marks);
    return c;
}

/* A frame a millisecond, each of which has waited for 20 ms: when those go that do not pass. */
static size_t play(struct chan_codel *c, tick from, tick until, bool markable, tick *gone,
                   size_t max)
{
    size_t n = 0;
    for (tick now = from; now < until; now += TICK_MS) {
        enum chan_codel_verdict v = chan_codel_take(c, now, 20 * TICK_MS, true, markable);
        if (v != CHAN_CODEL_PASS && n < max)
            gone[n++] = now;
        while (v == CHAN_CODEL_DROP)
            v = chan_codel_take(c, now, 20 * TICK_MS, true, markable);
        ck_assert(v == CHAN_CODEL_PASS || markable);
    }
    return n;
}

/* The first after an interval, each next one sooner by the square root of their number: 100, 70.7,
 * 57.7, 50, ... ms; the frames' own millisecond is not added up. */
START_TEST(drops_come_closer_by_the_square_root)
{
    struct chan_codel c = codel_of(false);
    tick gone[64];
    size_t n = play(&c, TICK_S, 2 * TICK_S, false, gone, 64);
    double law = 1e9 + (double)INTERVAL;
    ck_assert_uint_gt(n, 20);
    for (size_t i = 0; i < n; i++) {
        double late = (double)gone[i] - law;
        ck_assert_msg(late >= -1 && late < 1e6, "drop %zu at %g, by the law %g", i + 1,
                      (double)gone[i], law);
        law += (double)INTERVAL / sqrt((double)(i + 1));
    }
}
END_TEST

START_TEST(the_law_is_exact)
{
    struct chan_codel c = codel_of(false);
    ck_assert_uint_eq(chan_codel_law(&c, 7, 1), 7 + INTERVAL);
    ck_assert_uint_eq(chan_codel_law(&c, 7, 4), 7 + INTERVAL / 2);
    ck_assert_uint_eq(chan_codel_law(&c, 7, 10000), 7 + TICK_MS);
    ck_assert_uint_eq(chan_codel_law(&c, 0, 2), 70710678);
}
END_TEST

/* One short wait, or nothing behind a frame, ends it; soon after, it goes on at the rate that it
 * had, much later from the beginning. _i: short wait or no backlog, soon or later */
START_TEST(it_remembers_how_hard_it_was)
{
    struct chan_codel c = codel_of(false);
    tick gone[64], again[64], later = (_i & 2) != 0 ? 100 * INTERVAL : 0;
    size_t n = play(&c, TICK_S, 2 * TICK_S, false, gone, 64);
    ck_assert_int_eq(
        chan_codel_take(&c, 2 * TICK_S, _i & 1 ? TARGET - 1 : 20 * TICK_MS, (_i & 1) != 0, false),
        CHAN_CODEL_PASS);
    size_t m = play(&c, 2 * TICK_S + later, 3 * TICK_S + later, false, again, 64);
    ck_assert_uint_eq(again[0], 2 * TICK_S + later + INTERVAL);
    uint64_t count = later > 0 ? 1 : n - 1; /* all but the first of before */
    tick next = chan_codel_law(&c, again[0], count);
    ck_assert(again[1] >= next && again[1] < next + TICK_MS);
    ck_assert(m > 1 && (later == 0) == (m > n));
}
END_TEST

START_TEST(what_can_be_marked_is)
{
    struct chan_codel drops = codel_of(false), marks = codel_of(true);
    tick gone[64], marked[64];
    size_t n = play(&drops, TICK_S, 2 * TICK_S, true, gone, 64);
    size_t m = play(&marks, TICK_S, 2 * TICK_S, true, marked, 64);
    ck_assert_uint_eq(n, m);
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_eq(gone[i], marked[i]);
    marks = codel_of(true);
    ck_assert_uint_eq(play(&marks, TICK_S, 2 * TICK_S, false, marked, 64), n);
}
END_TEST

/* ---- in a channel ---- */

/* 1000 bytes a millisecond at 8 Mbit/s take all of it; a burst of 30 before makes the queue stand.
 */
static struct chan_config standing(void)
{
    return (struct chan_config){
        .rate_bps = 8000000, .codel_target = TARGET, .codel_interval = INTERVAL};
}

static void fill(struct chan *c, unsigned as, uint64_t seconds)
{
    static const uint8_t zeros[1000];
    struct chan_out out;
    for (int i = 0; i < 30; i++)
        chan_input_as(c, zeros, sizeof zeros, 0, 0, as);
    for (tick now = TICK_MS; now < seconds * TICK_S; now += TICK_MS) {
        chan_input_as(c, zeros, sizeof zeros, 0, now, as);
        while (chan_output(c, now, &out) == 1)
            ck_assert(out.marked == (out.ecn == 3) || (as & CHAN_ECN) == 3);
        check_sum(c);
    }
}

START_TEST(a_standing_queue_is_drained)
{
    struct chan *c = chan_of(standing());
    struct chan_fate f;
    uint64_t told = 0;
    fill(c, 2, 4);
    uint64_t dropped = chan_counters(c)->lost[CHAN_CODEL];
    ck_assert_uint_ge(dropped, 20); /* 30 waited, 5 may */
    ck_assert_uint_le(dropped, 30);
    ck_assert_uint_le(chan_counters(c)->queued, 8);
    ck_assert_uint_eq(chan_counters(c)->marked, 0);
    chan_free(c);
    c = chan_of(standing()); /* each is told */
    for (tick now = 0; now < 400 * TICK_MS; now += TICK_MS / 2) {
        input(c, 1000, 0, now);
        while (chan_fate(c, &f) == 1) {
            ck_assert_int_eq(f.reason, CHAN_CODEL);
            ck_assert(f.air_start == f.air_end && f.air_start - f.entered >= TARGET);
            told++;
        }
    }
    ck_assert_uint_gt(told, 1);
    ck_assert_uint_eq(told, chan_counters(c)->lost[CHAN_CODEL]);
    chan_free(c);
}
END_TEST

START_TEST(marks_lose_nothing)
{
    struct chan_config k = standing();
    k.codel_marks = true;
    struct chan *c = chan_of(k);
    fill(c, 1, 2);
    ck_assert_uint_gt(chan_counters(c)->marked, 10);
    ck_assert_uint_eq(chan_lost(chan_counters(c)), 0);
    chan_free(c);
    c = chan_of(k); /* who cannot be marked is dropped */
    fill(c, 0, 2);
    ck_assert_uint_eq(chan_counters(c)->marked, 0);
    ck_assert_uint_gt(chan_counters(c)->lost[CHAN_CODEL], 10);
    chan_free(c);
}
END_TEST

/* Of six at once the wait of the i-th is i ms. */
START_TEST(a_step_marks_what_waited_longer)
{
    static const uint8_t zeros[1000];
    struct chan_out out;
    struct chan *c = chan_of((struct chan_config){.rate_bps = 8000000, .mark_above = 2 * TICK_MS});
    for (unsigned i = 0; i < 6; i++)
        chan_input_as(c, zeros, sizeof zeros, i, 0, i == 4 ? 0 : 2);
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_int_eq(chan_output(c, TICK_S, &out), 1);
        ck_assert_uint_eq(out.tag, i);
        ck_assert_int_eq(out.marked, i == 3 || i == 5);
        ck_assert_uint_eq(out.ecn, i == 4 ? 0 : i == 3 || i == 5 ? 3 : 2);
    }
    ck_assert_uint_eq(chan_counters(c)->marked, 2);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(without_a_rate_there_is_no_queue)
{
    struct chan *c;
    struct chan_config k = standing();
    k.codel_target = 0;
    ck_assert_int_eq(chan_new(&c, &k), HELIO_EINVAL);
    k = standing();
    k.rate_bps = 0;
    ck_assert_int_eq(chan_new(&c, &k), HELIO_EINVAL);
    k = (struct chan_config){.mark_above = 1};
    ck_assert_int_eq(chan_new(&c, &k), HELIO_EINVAL);
}
END_TEST

SUITE(chan_codel, t)
{
    tcase_add_test(t, drops_come_closer_by_the_square_root);
    tcase_add_test(t, the_law_is_exact);
    tcase_add_loop_test(t, it_remembers_how_hard_it_was, 0, 4);
    tcase_add_test(t, what_can_be_marked_is);
    tcase_add_test(t, a_standing_queue_is_drained);
    tcase_add_test(t, marks_lose_nothing);
    tcase_add_test(t, a_step_marks_what_waited_longer);
    tcase_add_test(t, without_a_rate_there_is_no_queue);
}
