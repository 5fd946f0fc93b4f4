/* SPDX-License-Identifier: Apache-2.0 */
/* The trace container and its clock, against a plain look-up of every step. */
#include <stdlib.h>

#include "base/err.h"
#include "base/rng.h"
#include "channel-emu/chan/chan.h"
#include "tests/unit/suite.h"

static bool bad_at(const struct trace *t, uint64_t step)
{
    step %= t->steps;
    for (size_t i = 0; i < t->len; i++) {
        if (step < t->runs[i].steps)
            return t->runs[i].bad;
        step -= t->runs[i].steps;
    }
    abort();
}

static void random_trace(struct trace *t, struct rng *r, tick step)
{
    trace_init(t, step);
    size_t runs = 1 + rng_below(r, 12);
    for (size_t i = 0; i < runs; i++)
        ck_assert_int_eq(trace_add(t, rng_chance(r, 0.5), 1 + rng_below(r, 9)), 0);
}

START_TEST(adjacent_runs_merge)
{
    struct trace t;
    trace_init(&t, 100);
    ck_assert_int_eq(trace_add(&t, false, 3), 0);
    ck_assert_int_eq(trace_add(&t, false, 4), 0);
    ck_assert_int_eq(trace_add(&t, true, 1), 0);
    ck_assert_uint_eq(t.len, 2);
    ck_assert_uint_eq(t.runs[0].steps, 7);
    ck_assert_uint_eq(t.steps, 8);
    trace_fini(&t);
}
END_TEST

START_TEST(refuses_nothing_and_too_much)
{
    struct trace t;
    trace_init(&t, 1000);
    ck_assert_int_eq(trace_add(&t, false, 0), HELIO_EINVAL);
    ck_assert_int_eq(trace_add(&t, false, UINT64_MAX / 1000 + 1), HELIO_EINVAL);
    ck_assert_int_eq(trace_add(&t, false, UINT64_MAX / 1000), 0);
    ck_assert_int_eq(trace_add(&t, true, 1), HELIO_EINVAL);
    ck_assert_uint_eq(t.steps, UINT64_MAX / 1000);
    trace_fini(&t);
}
END_TEST

START_TEST(a_part_of_a_bad_step_is_enough)
{
    struct trace t;
    struct trace_clock c;
    trace_init(&t, 100);
    trace_add(&t, false, 10); /* 5000..6000 */
    trace_add(&t, true, 1);   /* 6000..6100 */
    trace_clock_init(&c, &t, 5000, 0);
    ck_assert(!trace_clock_bad(&c, 5000, 6000));
    ck_assert(trace_clock_bad(&c, 5000, 6001));
    ck_assert(!trace_clock_bad(&c, 5999, 5999));
    ck_assert(trace_clock_bad(&c, 6000, 6000));
    ck_assert(trace_clock_bad(&c, 6099, 6200));
    ck_assert(!trace_clock_bad(&c, 6100, 6200));
    ck_assert(trace_clock_bad(&c, 6100, 7200));
    ck_assert(!trace_clock_bad(&c, 6100, 7100));
    ck_assert(!trace_clock_bad(&c, 4000, 4900)); /* before the origin: the loop before */
    ck_assert(trace_clock_bad(&c, 4900, 4900));
    trace_fini(&t);
}
END_TEST

/* Any order of questions gives what the steps say; _i is the seed. */
START_TEST(agrees_with_steps)
{
    struct rng r;
    struct trace t;
    struct trace_clock c;
    rng_init(&r, (uint64_t)_i);
    random_trace(&t, &r, 10);
    tick loop = t.steps * t.step;
    tick origin = loop * 3 + rng_below(&r, 100), offset = rng_below(&r, 3 * loop);
    trace_clock_init(&c, &t, origin, offset);
    tick from = origin - rng_below(&r, loop);
    for (int i = 0; i < 400; i++) {
        from += rng_below(&r, rng_chance(&r, 0.1) ? 5 * loop : 40);
        if (rng_chance(&r, 0.02))
            from -= rng_below(&r, loop);
        tick to = from + rng_below(&r, rng_chance(&r, 0.1) ? 2 * loop : 40);
        bool bad = false;
        tick bad_time = 0;
        tick shift = offset + loop * 4 - origin % loop;
        for (tick at = from; at == from || at < to; at++) {
            bool now = bad_at(&t, (at + shift) / t.step);
            bad |= now;
            bad_time += now && at < to;
        }
        ck_assert_int_eq(trace_clock_bad(&c, from, to), bad);
        ck_assert_uint_eq(trace_bad_time(&t, origin, offset, from, to), bad_time);
        ck_assert_uint_eq(trace_clock_bad_time(&c, from, to), bad_time);
        tick air = 1 + rng_below(&r, 60), room = 0;
        for (tick at = from; at < to; at++)
            room += !trace_clock_bad(&c, at, at + air);
        ck_assert_uint_eq(trace_free_time(&t, origin, offset, from, to, air), room);
    }
    trace_fini(&t);
}
END_TEST

START_TEST(once_is_cut_to_one_pass)
{
    struct trace t;
    static const struct {
        tick origin, offset, from, to;
        bool in;
        tick got_from, got_to;
    } cases[] = {{1000, 0, 0, 1000, false, 0, 0},         {1000, 0, 0, 1001, true, 1000, 1001},
                 {1000, 0, 1999, 3000, true, 1999, 2000}, {1000, 0, 2000, 3000, false, 0, 0},
                 {1000, 0, 0, 9000, true, 1000, 2000},    {1000, 0, 999, 999, false, 0, 0},
                 {1000, 0, 1000, 1000, true, 1000, 1000}, {1000, 0, 1999, 1999, true, 1999, 1999},
                 {1000, 0, 2000, 2000, false, 0, 0},      {1000, 300, 0, 9000, true, 700, 1700},
                 {100, 300, 0, 9000, true, 0, 800},       {100, 1100, 0, 9000, false, 0, 0},
                 {100, 1099, 0, 9000, true, 0, 1},        {100, 5000, 0, 9000, false, 0, 0}};
    trace_init(&t, 100);
    trace_add(&t, true, 10);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tick from = cases[i].from, to = cases[i].to;
        bool in = trace_once(&t, cases[i].origin, cases[i].offset, &from, &to);
        ck_assert_msg(in == cases[i].in, "case %zu", i);
        ck_assert_msg(from == (in ? cases[i].got_from : cases[i].from), "case %zu: from", i);
        ck_assert_msg(to == (in ? cases[i].got_to : cases[i].to), "case %zu: to", i);
    }
    trace_fini(&t);
}
END_TEST

START_TEST(the_end_of_time)
{
    struct trace t;
    struct trace_clock c;
    trace_init(&t, TICK_S);
    trace_add(&t, false, 2);
    trace_add(&t, true, 1);
    trace_clock_init(&c, &t, 0, 0);
    ck_assert(trace_clock_bad(&c, TICK_NEVER - 3 * TICK_S, TICK_NEVER));
    ck_assert_uint_eq(trace_bad_time(&t, 0, 0, 0, TICK_S * 3000000000), TICK_S * 1000000000);
    ck_assert_uint_eq(trace_clock_bad_time(&c, 0, TICK_S * 3000000000), TICK_S * 1000000000);
    ck_assert_uint_eq(trace_clock_bad_time(&c, 7 * TICK_S, 7 * TICK_S), 0);
    ck_assert_uint_eq(trace_free_time(&t, 0, 0, 7 * TICK_S, 7 * TICK_S, TICK_S), 0);
    ck_assert_uint_eq(trace_free_time(&t, 0, 0, 0, 6 * TICK_S, TICK_S), 2 * TICK_S + 2);
    ck_assert_uint_eq(trace_free_time(&t, 0, 0, TICK_NEVER - 9 * TICK_S, TICK_NEVER, 3 * TICK_S),
                      0);
    ck_assert_uint_eq(trace_free_time(&t, 0, 0, 0, TICK_S, 1), TICK_S);
    trace_fini(&t);
}
END_TEST

SUITE(chan_trace, t)
{
    tcase_add_test(t, adjacent_runs_merge);
    tcase_add_test(t, refuses_nothing_and_too_much);
    tcase_add_test(t, a_part_of_a_bad_step_is_enough);
    tcase_add_loop_test(t, agrees_with_steps, 0, 50);
    tcase_add_test(t, once_is_cut_to_one_pass);
    tcase_add_test(t, the_end_of_time);
}
