/* SPDX-License-Identifier: Apache-2.0 */
/* What the channel tells of single frames: reasons and their order, bytes, streams of chances. */
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

static void expect_fate(struct chan *c, enum chan_reason reason, uint64_t number)
{
    struct chan_fate f;
    ck_assert_int_eq(chan_fate(c, &f), 1);
    ck_assert_str_eq(chan_reason_name(f.reason), chan_reason_name(reason));
    ck_assert_uint_eq(f.number, number);
}

static void expect_no_fate(struct chan *c)
{
    struct chan_fate f;
    ck_assert_int_eq(chan_fate(c, &f), 0);
}

START_TEST(a_loss_is_told_with_the_callers_bytes)
{
    static const uint8_t data[100] = {1, 2, 3};
    struct chan *c = chan_of((struct chan_config){.rate_bps = 1000000000, .loss = 1});
    struct chan_fate f;
    input(c, 100, 5, 7);
    chan_input(c, data, sizeof data, 77, 10);
    ck_assert_int_eq(chan_fate(c, &f), 1);
    ck_assert_int_eq(f.reason, CHAN_RANDOM);
    ck_assert_uint_eq(f.number, 2);
    ck_assert_uint_eq(f.entered, 10);
    ck_assert_uint_eq(f.air_start, 807);
    ck_assert_uint_eq(f.air_end, 1607);
    ck_assert_uint_eq(f.tag, 77);
    ck_assert_uint_eq(f.len, 100);
    ck_assert_ptr_eq(f.data, data);
    expect_no_fate(c);
    chan_free(c);
}
END_TEST

START_TEST(a_good_frame_has_no_fate)
{
    struct chan *c = chan_of((struct chan_config){.delay = 5});
    expect_no_fate(c);
    input(c, 100, 1, 0);
    expect_no_fate(c);
    expect(c, 1, 5);
    expect_no_fate(c);
    chan_free(c);
}
END_TEST

/* Each reason is switched on in turn, from the last of their order to the first. */
START_TEST(the_first_reason_counts)
{
    static const enum chan_reason order[] = {CHAN_RANDOM, CHAN_BURST, CHAN_TRACE,
                                             CHAN_OUTAGE, CHAN_RULE,  CHAN_QUEUE};
    static const struct chan_window never = {0, 1};
    struct trace t;
    struct chan_config k = {.rate_bps = 1000};
    trace_init(&t, 100);
    trace_add(&t, true, 1);
    for (int i = 0; i < 6; i++) {
        k.loss = 1;
        k.burst = (struct chan_burst){TICK_S, i >= 1 ? TICK_S : TICK_S, i >= 1, i >= 1};
        k.trace = i >= 2 ? &t : NULL;
        k.windows = &never;
        k.window_count = i >= 3;
        k.queue_bytes = i >= 5 ? 100 : 0;
        struct chan *c = chan_of(k);
        input(c, 200, 1, 0);
        if (i >= 4)
            chan_input_rule(c, NULL, 0, 2, 0);
        else
            input(c, 0, 2, 0);
        expect_fate(c, order[i], 2);
        expect_no_fate(c);
        ck_assert_uint_eq(chan_counters(c)->lost[order[i]], i == 0 || (i >= 1 && i <= 3) ? 2 : 1);
        expect_idle(c);
        chan_free(c);
    }
    trace_fini(&t);
}
END_TEST

START_TEST(a_loss_by_rule_takes_the_line)
{
    struct chan *c = chan_of((struct chan_config){.rate_bps = 1000000000});
    static const uint8_t data[125];
    chan_input_rule(c, data, 125, 1, 0);
    expect_fate(c, CHAN_RULE, 1);
    input(c, 125, 2, 0);
    expect_no_fate(c);
    expect(c, 2, 2000);
    expect_idle(c);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_RULE], 1);
    chan_free(c);
}
END_TEST

START_TEST(an_outage_is_told_when_it_is_known)
{
    struct chan *c = chan_of((struct chan_config){.delay = 100});
    struct chan_out out;
    struct chan_fate f;
    chan_input(c, (const uint8_t *)"abc", 3, 8, 0);
    chan_input(c, (const uint8_t *)"def", 3, 9, 10);
    chan_outage(c, true, 10);
    input(c, 1, 10, 20);
    expect_no_fate(c);
    ck_assert_int_eq(chan_output(c, 1000, &out), 1);
    ck_assert_uint_eq(out.number, 1);
    ck_assert_int_eq(chan_output(c, 1000, &out), 0);
    ck_assert_int_eq(chan_fate(c, &f), 1);
    ck_assert_int_eq(f.reason, CHAN_OUTAGE);
    ck_assert_uint_eq(f.number, 2);
    ck_assert_uint_eq(f.entered, 10);
    ck_assert_uint_eq(f.tag, 9);
    ck_assert_mem_eq(f.data, "def", 3);
    input(c, 1, 11, 1000); /* the fate of frame 3 was not asked for */
    expect_no_fate(c);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_OUTAGE], 2);
    chan_free(c);
}
END_TEST

START_TEST(copies_and_flips_are_told)
{
    struct chan *c = chan_of((struct chan_config){.duplicate = 1, .corrupt = 1});
    struct chan_out out;
    input(c, 10, 1, 0);
    expect_fate(c, CHAN_CORRUPT, 1);
    expect_fate(c, CHAN_DUPLICATE, 1);
    expect_fate(c, CHAN_CORRUPT, 1);
    expect_no_fate(c);
    ck_assert_int_eq(chan_output(c, 0, &out), 1);
    ck_assert(!out.copy && out.corrupted && out.number == 1);
    ck_assert_int_eq(chan_output(c, 0, &out), 1);
    ck_assert(out.copy && out.corrupted && out.number == 1);
    ck_assert_uint_eq(chan_counters(c)->corrupted, 2);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(an_empty_frame_has_no_bit_to_flip)
{
    struct chan *c = chan_of((struct chan_config){.corrupt = 1, .bit_error_rate = 1});
    input(c, 0, 1, 0);
    expect_no_fate(c);
    expect(c, 1, 0);
    chan_free(c);
}
END_TEST

START_TEST(a_bit_error_rate_of_one_flips_all)
{
    struct chan *c = chan_of((struct chan_config){.bit_error_rate = 1, .corrupt = _i});
    struct chan_out out;
    input(c, 50, 1, 0);
    ck_assert_int_eq(chan_output(c, 0, &out), 1);
    for (int i = 0; i < 50; i++)
        ck_assert_uint_eq(out.data[i], 0xff);
    chan_free(c);
}
END_TEST

/* One letter for each frame: x when this befell it; its copy does not matter. */
static void fates(struct chan_config k, size_t n, size_t pull, enum chan_reason reason, char *out)
{
    struct chan *c = chan_of(k);
    struct chan_fate f;
    struct chan_out o;
    memset(out, '.', n);
    out[n] = '\0';
    for (uint64_t i = 0; i < n; i++) {
        input(c, 40, i, i * 1000);
        for (bool copy = false; chan_fate(c, &f) == 1; copy |= f.reason == CHAN_DUPLICATE) {
            if (f.reason == reason && !copy)
                out[f.number - 1] = 'x';
        }
        while (pull > 0 && i % pull == 0 && chan_output(c, i * 1000, &o) == 1)
            ;
    }
    chan_free(c);
}

#define FRAMES 500
/* _i: the kind of chance. All others are switched on beside it, and move nothing. */
START_TEST(chances_do_not_move_each_other)
{
    static const enum chan_reason kinds[] = {CHAN_RANDOM, CHAN_BURST, CHAN_DUPLICATE, CHAN_CORRUPT};
    char alone[FRAMES + 1], with[FRAMES + 1], later[FRAMES + 1], other[FRAMES + 1];
    struct chan_config one = {.rate_bps = 300000000, .delay = 5000, .seed = 11}, all = one;
    struct trace t;
    trace_init(&t, 1000);
    for (int i = 0; i < 40; i++)
        trace_add(&t, i % 2, 10);
    all.burst = (struct chan_burst){20000, 10000, 0.1, 0.7};
    all.loss = all.duplicate = 0.2;
    all.corrupt = 0.3;
    one.loss = _i == 0 ? all.loss : 0;
    one.burst = _i == 1 ? all.burst : one.burst;
    one.duplicate = _i == 2 ? all.duplicate : 0;
    one.corrupt = _i == 3 ? all.corrupt : 0;
    all.jitter = 3000;
    all.trace = &t;
    all.queue_bytes = _i == 1 ? 0 : 100; /* the queue moves the times on the air */
    fates(one, FRAMES, 1, kinds[_i], alone);
    fates(all, FRAMES, 0, kinds[_i], with);
    fates(all, FRAMES, 7, kinds[_i], later);
    ck_assert_str_eq(with, later); /* whenever the output is fetched */
    one.seed = 12;
    fates(one, FRAMES, 1, kinds[_i], other);
    ck_assert_str_ne(alone, other);
    ck_assert_ptr_nonnull(strchr(alone, 'x'));
    size_t same = 0;
    for (int i = 0; i < FRAMES; i++) {
        /* an earlier reason may hide it, but none appears */
        ck_assert_msg(with[i] != 'x' || alone[i] == 'x', "frame %d", i);
        same += with[i] == 'x';
    }
    ck_assert_uint_gt(same, 10);
    trace_fini(&t);
}
END_TEST

/* _i: in order of arrival, or overtaking each other. What an outage cost counts as that. */
START_TEST(the_end_tells_of_all_that_is_inside)
{
    struct chan *c = chan_of((struct chan_config){.delay = 100, .jitter = _i == 0 ? 0 : 50});
    struct chan_out out;
    struct chan_fate f;
    unsigned ended = 0, outage = 0;
    for (uint64_t i = 0; i < 20; i++) {
        if (i == 10)
            chan_outage(c, true, 1000 * i);
        if (i == 12)
            chan_outage(c, false, 1000 * i);
        chan_input(c, (const uint8_t *)"abc", 3, i, 1000 * i);
    }
    ck_assert_int_eq(chan_output(c, 1000, &out), 1);
    chan_end(c);
    while (chan_fate(c, &f) == 1) {
        ck_assert(f.reason == CHAN_END || f.reason == CHAN_OUTAGE);
        ck_assert_int_eq(f.reason == CHAN_OUTAGE, f.number == 11 || f.number == 12);
        ck_assert_uint_eq(f.entered, 1000 * (f.number - 1));
        ck_assert_mem_eq(f.data, "abc", 3);
        ended += f.reason == CHAN_END;
        outage += f.reason == CHAN_OUTAGE;
    }
    ck_assert(ended == 17 && outage == 2);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_END], 17);
    ck_assert_uint_eq(chan_counters(c)->out, 1);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(reasons_have_names)
{
    static const char *const names[] = {"trace",     "random",  "burst", "outage", "rule",
                                        "queue",     "memory",  "end",   "codel",  "handover",
                                        "duplicate", "corrupt", "mark"};
    for (int i = 0; i < CHAN_REASONS; i++)
        ck_assert_str_eq(chan_reason_name((enum chan_reason)i), names[i]);
    ck_assert_str_eq(chan_reason_name(CHAN_REASONS), "?");
}
END_TEST

SUITE(chan_fate, t)
{
    tcase_add_test(t, a_loss_is_told_with_the_callers_bytes);
    tcase_add_test(t, a_good_frame_has_no_fate);
    tcase_add_test(t, the_first_reason_counts);
    tcase_add_test(t, a_loss_by_rule_takes_the_line);
    tcase_add_test(t, an_outage_is_told_when_it_is_known);
    tcase_add_test(t, copies_and_flips_are_told);
    tcase_add_test(t, an_empty_frame_has_no_bit_to_flip);
    tcase_add_loop_test(t, a_bit_error_rate_of_one_flips_all, 0, 2);
    tcase_add_loop_test(t, chances_do_not_move_each_other, 0, 4);
    tcase_add_loop_test(t, the_end_tells_of_all_that_is_inside, 0, 2);
    tcase_add_test(t, reasons_have_names);
}
