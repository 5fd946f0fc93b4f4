/* SPDX-License-Identifier: Apache-2.0 */
/* What an observer sees of a channel: trace, contacts, outages, powers and values, at a time that
 * is given; and that frames meet the same whether anybody looks or not. */
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

#include <math.h>

#define MS TICK_MS

static struct chan_look look(struct chan *c, tick from, tick to)
{
    struct chan_look l;
    chan_look_at(c, from, to, &l);
    return l;
}

START_TEST(nothing_before_the_first_frame)
{
    struct chan *c = chan_of((struct chan_config){.rate_bps = 8000});
    struct chan_look l = look(c, 0, MS);
    ck_assert(!l.begun && !l.down && !l.contact && !l.bad);
    input(c, 1, 1, 5 * MS);
    l = look(c, 0, 6 * MS);
    ck_assert(l.begun && !l.down && l.contact && !l.bad && isinf(l.power));
    ck_assert_uint_eq(l.rate_bps, 8000);
    chan_free(c);
}
END_TEST

/* Of each 10 ms the last 4 are bad. */
static struct chan *fading(struct trace *t, bool once)
{
    trace_init(t, MS);
    ck_assert_int_eq(trace_add(t, false, 6), 0);
    ck_assert_int_eq(trace_add(t, true, 4), 0);
    struct chan *c = chan_of((struct chan_config){.trace = t, .trace_no_loop = once, .origin = MS});
    input(c, 1, 1, MS);
    return c;
}

START_TEST(the_trace_now_and_its_share)
{
    struct trace t;
    struct chan *c = fading(&t, false);
    struct chan_look l = look(c, MS, 7 * MS);
    ck_assert(!l.bad && l.bad_share == 0);
    l = look(c, 5 * MS, 9 * MS); /* bad from 7 on */
    ck_assert(l.bad && fabs(l.bad_share - 0.5) < 1e-9);
    l = look(c, 20 * MS, 1020 * MS + 1); /* the end is at 9 ms + 1 ns of a loop: bad */
    ck_assert(l.bad && fabs(l.bad_share - 0.4) < 1e-6);
    l = look(c, MS, 7 * MS); /* back */
    ck_assert(!l.bad && l.bad_share == 0);
    chan_free(c);
    trace_fini(&t);
}
END_TEST

START_TEST(a_trace_without_loop_is_good_after_its_end)
{
    struct trace t;
    struct chan *c = fading(&t, true);
    struct chan_look l = look(c, 10 * MS, 12 * MS); /* the trace ends at 11 */
    ck_assert(!l.bad && fabs(l.bad_share - 0.5) < 1e-9);
    l = look(c, 18 * MS, 19 * MS);
    ck_assert(!l.bad && l.bad_share == 0);
    chan_free(c);
    trace_fini(&t);
}
END_TEST

START_TEST(who_looks_changes_nothing)
{
    struct trace t;
    struct chan *c[2] = {fading(&t, false), NULL};
    c[1] = chan_of((struct chan_config){.trace = &t, .origin = MS});
    input(c[1], 1, 1, MS);
    for (tick at = 2 * MS; at < 400 * MS; at += 700 * TICK_US) {
        (void)look(c[1], at > 90 * MS ? at - 90 * MS : 0, at);
        for (int i = 0; i < 2; i++)
            input(c[i], 1, 2, at);
        ck_assert_uint_eq(chan_counters(c[0])->lost[CHAN_TRACE],
                          chan_counters(c[1])->lost[CHAN_TRACE]);
    }
    ck_assert_uint_gt(chan_counters(c[0])->lost[CHAN_TRACE], 100);
    chan_free(c[0]);
    chan_free(c[1]);
    trace_fini(&t);
}
END_TEST

START_TEST(contacts_and_outages)
{
    static const struct chan_window windows[] = {{10 * MS, 20 * MS}};
    struct chan *c = chan_of((struct chan_config){.windows = windows, .window_count = 1});
    input(c, 1, 1, MS);
    ck_assert(!look(c, 0, 10 * MS).contact);
    ck_assert(look(c, 0, 10 * MS + 1).contact && look(c, 0, 20 * MS).contact);
    ck_assert(!look(c, 0, 20 * MS + 1).contact);
    chan_outage(c, true, 15 * MS);
    ck_assert(look(c, 0, 16 * MS).down);
    chan_outage(c, false, 17 * MS);
    ck_assert(!look(c, 0, 18 * MS).down);
    chan_free(c);
}
END_TEST

START_TEST(values_are_those_of_the_last_frame)
{
    static const struct chan_point points[] = {{0, MS}, {10 * MS, 2 * MS}};
    static const double power[] = {1, 3}, sums[] = {0, 1, 4};
    static const struct chan_power_point table[] = {{0, 0, 0}};
    const struct chan_power p = {
        .power = power, .sums = sums, .len = 2, .step = MS, .points = table, .count = 1};
    struct chan *c = chan_of((struct chan_config){
        .rate_bps = 1000000, .points = points, .point_count = 2, .power = &p, .live = true});
    input(c, 1, 1, 0);
    struct chan_change slower = {
        .keys = CHAN_KEY_RATE | CHAN_KEY_LOSS, .rate_bps = 500, .loss = 0.25};
    ck_assert_int_eq(chan_change(c, &slower, MS), 0);
    input(c, 1, 2, 2 * MS);
    struct chan_look l = look(c, 0, 2 * MS);
    ck_assert_uint_eq(l.rate_bps, 500);
    ck_assert(fabs(l.loss - 0.25) < 1e-12 && fabs(l.power - 2) < 1e-12);
    ck_assert_uint_eq(l.delay, MS + MS / 5);
    ck_assert(isinf(look(c, 3 * MS, 4 * MS).power));
    chan_free(c);
}
END_TEST

SUITE(chan_look, t)
{
    tcase_add_test(t, nothing_before_the_first_frame);
    tcase_add_test(t, the_trace_now_and_its_share);
    tcase_add_test(t, a_trace_without_loop_is_good_after_its_end);
    tcase_add_test(t, who_looks_changes_nothing);
    tcase_add_test(t, contacts_and_outages);
    tcase_add_test(t, values_are_those_of_the_last_frame);
}
