/* SPDX-License-Identifier: Apache-2.0 */
/* Delay over time, and jitter that keeps the order. */
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

static struct chan *with_points(const struct chan_point *points, size_t n, struct chan_config k)
{
    k.points = points;
    k.point_count = n;
    return chan_of(k);
}

START_TEST(delay_follows_the_table)
{
    static const struct chan_point points[] = {{100, 1000}, {200, 3000}, {203, 3001}, {1203, 1}};
    static const struct {
        tick at, delay;
    } cases[] = {{0, 1000},    {1100, 1000}, {1101, 1020}, {1150, 2000},
                 {1200, 3000}, {1201, 3000}, {1202, 3000}, {1203, 3001}};
    struct chan *c = with_points(points, 4, (struct chan_config){.origin = 1000});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        input(c, 10, i, cases[i].at);
        expect(c, i, cases[i].at + cases[i].delay);
    }
    expect_idle(c);
    chan_free(c);
    c = with_points(points, 4, (struct chan_config){.origin = 1000});
    input(c, 10, 1, 1204); /* 2998: rounded from the earlier point's side */
    expect(c, 1, 1204 + 2998);
    input(c, 10, 2, 2202);
    expect(c, 2, 1204 + 2998); /* 2202 + 4 would overtake */
    input(c, 10, 3, 5000);
    expect(c, 3, 5001);
    input(c, 10, 4, 50000);
    expect(c, 4, 50001);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(the_delay_is_that_of_the_last_bit)
{
    static const struct chan_point points[] = {{0, 0}, {10000, 10000}};
    struct chan *c = with_points(points, 2, (struct chan_config){.rate_bps = 1000000000});
    input(c, 125, 1, 0); /* 1000 */
    input(c, 250, 2, 0); /* 3000 */
    expect(c, 1, 2000);
    expect(c, 2, 6000);
    expect_idle(c);
    chan_free(c);
}
END_TEST

/* A table that falls by 10 ns each ns; all that enters meanwhile comes with the first, in order. */
START_TEST(a_shrinking_delay_keeps_the_order)
{
    static const struct chan_point points[] = {{0, 100000}, {10000, 0}};
    struct chan *c = with_points(points, 2, (struct chan_config){.jitter = 0});
    struct chan_out out;
    tick latest = 0;
    for (uint64_t i = 0; i < 200; i++)
        input(c, 10, i, i * 1000);
    for (uint64_t i = 0; i < 200; i++) {
        tick own = i < 10 ? i * 1000 + 100000 - i * 10000 : i * 1000;
        latest = own > latest ? own : latest;
        ck_assert_int_eq(chan_output(c, TICK_NEVER - 1, &out), 1);
        ck_assert_uint_eq(out.tag, i);
        ck_assert_uint_eq(out.due, latest);
    }
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(large_delays_and_times_do_not_overflow)
{
    static const struct chan_point points[] = {{0, TICK_S * 86400 * 365},
                                               {TICK_S * 86400 * 365, TICK_S * 86400}};
    struct chan *c = with_points(points, 2, (struct chan_config){.origin = TICK_S});
    tick half = TICK_S * 86400 * 365 / 2;
    input(c, 10, 1, TICK_S + half);
    expect(c, 1, TICK_S + half + TICK_S * 86400 * 183);
    chan_free(c);
}
END_TEST

START_TEST(jitter_in_order_does_not_reorder)
{
    struct chan_config k = {
        .delay = 1000, .jitter = 500, .jitter_in_order = true, .seed = 3, .duplicate = 0.3};
    struct chan *c = chan_of(k);
    k.jitter_in_order = false;
    k.duplicate = 0;
    struct chan *loose = chan_of(k);
    struct chan_out out;
    tick dues[1000], latest = 0;
    uint64_t waited = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        input(c, 10, i, i * 10);
        input(loose, 10, i, i * 10);
    }
    while (chan_output(loose, TICK_NEVER - 1, &out) == 1)
        dues[out.tag] = out.due;
    uint64_t next = 0;
    while (chan_output(c, TICK_NEVER - 1, &out) == 1) {
        ck_assert_uint_eq(out.tag, out.copy ? next - 1 : next);
        if (!out.copy) { /* the same jitter, but not before the one before it */
            ck_assert_uint_ge(out.due, dues[next]);
            waited += out.due > dues[next];
            ck_assert(out.due == dues[next] || out.due == latest);
            next++;
        }
        ck_assert_uint_ge(out.due, latest);
        latest = out.due;
    }
    ck_assert_uint_eq(next, 1000);
    ck_assert_uint_gt(waited, 100);
    expect_idle(c);
    expect_idle(loose);
    chan_free(c);
    chan_free(loose);
}
END_TEST

SUITE(chan_delay, t)
{
    tcase_add_test(t, delay_follows_the_table);
    tcase_add_test(t, the_delay_is_that_of_the_last_bit);
    tcase_add_test(t, a_shrinking_delay_keeps_the_order);
    tcase_add_test(t, large_delays_and_times_do_not_overflow);
    tcase_add_test(t, jitter_in_order_does_not_reorder);
}
