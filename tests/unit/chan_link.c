/* SPDX-License-Identifier: Apache-2.0 */
/* The link model: when frames arrive, which do not, and that the counters add up. */
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

START_TEST(delay_only)
{
    struct chan *c = chan_of((struct chan_config){.delay = 500});
    struct chan_out out;
    chan_input(c, (const uint8_t *)"abc", 3, 7, 100);
    chan_input(c, NULL, 0, 8, 100);
    ck_assert_int_eq(chan_output(c, 599, &out), 0);
    ck_assert_int_eq(chan_output(c, 10000, &out), 1);
    ck_assert_uint_eq(out.len, 3);
    ck_assert_mem_eq(out.data, "abc", 3);
    ck_assert_uint_eq(out.due, 600);
    ck_assert_int_eq(chan_output(c, 10000, &out), 1);
    ck_assert_uint_eq(out.len, 0);
    ck_assert_uint_eq(out.tag, 8);
    ck_assert_uint_eq(chan_counters(c)->in_bytes, 3);
    ck_assert_uint_eq(chan_counters(c)->out_bytes, 3);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(serialises_in_turn)
{
    /* 100 + 25 bytes at 1 Mbit/s: 1 ms each. */
    struct chan *c =
        chan_of((struct chan_config){.rate_bps = 1000000, .overhead = 25, .delay = 10 * TICK_MS});
    input(c, 100, 1, 0);
    input(c, 100, 2, 0);
    input(c, 100, 3, 5 * TICK_MS);
    expect(c, 1, 11 * TICK_MS);
    expect(c, 2, 12 * TICK_MS);
    expect(c, 3, 16 * TICK_MS);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(fractions_of_ns_are_kept)
{
    /* 1 byte at 3 Gbit/s is 2 2/3 ns; three million of them are 8 ms, not 6 or 9. */
    struct chan *c = chan_of((struct chan_config){.rate_bps = UINT64_C(3000000000)});
    struct chan_out out = {0};
    for (int i = 0; i < 3000000; i++) {
        input(c, 1, 0, 0);
        if (chan_output(c, TICK_NEVER - 1, &out) == 0)
            ck_abort();
    }
    ck_assert_uint_eq(out.due, 8 * TICK_MS);
    chan_free(c);
}
END_TEST

START_TEST(a_fade_takes_what_is_on_the_air)
{
    struct trace t;
    trace_init(&t, 100);
    trace_add(&t, false, 20);
    trace_add(&t, true, 1); /* 2000..2100 */
    /* 1000 bit/us: 100 bytes take 800 ns. */
    struct chan *c = chan_of(
        (struct chan_config){.rate_bps = 1000000000, .delay = 50, .trace = &t, .origin = 0});
    input(c, 100, 1, 0); /* 0..800 */
    input(c, 100, 2, 0); /* 800..1600 */
    input(c, 100, 3, 0); /* 1600..2400, meets the fade */
    input(c, 50, 4, 0);  /* 2400..2800, since 3 took the line all the same */
    expect(c, 1, 850);
    expect(c, 2, 1650);
    expect(c, 4, 2850);
    expect_idle(c);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_TRACE], 1);
    chan_free(c);
    trace_fini(&t);
}
END_TEST

START_TEST(an_instant_meets_the_trace_without_rate)
{
    struct trace t;
    trace_init(&t, 100);
    trace_add(&t, true, 1);
    trace_add(&t, false, 1);
    struct chan *c = chan_of((struct chan_config){.trace = &t, .origin = 1000});
    input(c, 10, 1, 1099);
    input(c, 10, 2, 1100);
    input(c, 10, 3, 1200);
    expect(c, 2, 1100);
    expect_idle(c);
    chan_free(c);
    trace_fini(&t);
}
END_TEST

START_TEST(random_loss_follows_its_seed_and_probability)
{
    uint64_t passed[2][2];
    for (int seed = 0; seed < 2; seed++) {
        for (int run = 0; run < 2; run++) {
            /* Noise in the second run must not move the losses. */
            struct chan *c = chan_of((struct chan_config){
                .loss = 0.1, .seed = (uint64_t)seed, .corrupt = run ? 0.5 : 0});
            struct chan_out out;
            uint64_t hash = 0;
            for (uint64_t i = 0; i < 20000; i++) {
                input(c, 10, i, i);
                while (chan_output(c, i, &out) == 1)
                    hash = hash * 31 + out.tag;
            }
            uint64_t n = chan_counters(c)->lost[CHAN_RANDOM];
            ck_assert_uint_gt(n, 1800);
            ck_assert_uint_lt(n, 2200);
            expect_idle(c);
            passed[seed][run] = hash;
            chan_free(c);
        }
    }
    ck_assert_uint_eq(passed[0][0], passed[0][1]);
    ck_assert_uint_eq(passed[1][0], passed[1][1]);
    ck_assert_uint_ne(passed[0][0], passed[1][0]);
}
END_TEST

START_TEST(jitter_reorders_within_its_bound)
{
    struct chan *c = chan_of((struct chan_config){.delay = 1000, .jitter = 500, .seed = 3});
    struct chan_out out;
    uint64_t count = 0, overtaken = 0, highest = 0;
    tick before = 0;
    for (uint64_t i = 0; i < 1000; i++)
        input(c, 10, i, i * 10);
    while (chan_output(c, TICK_NEVER - 1, &out) == 1) {
        ck_assert_uint_ge(out.due, out.tag * 10 + 1000);
        ck_assert_uint_lt(out.due, out.tag * 10 + 1500);
        ck_assert_uint_ge(out.due, before);
        overtaken += out.tag < highest;
        highest = out.tag > highest ? out.tag : highest;
        before = out.due;
        count++;
    }
    ck_assert_uint_eq(count, 1000);
    ck_assert_uint_gt(overtaken, 100);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(duplicates_and_flips_are_counted)
{
    struct chan *c = chan_of((struct chan_config){.duplicate = 0.5, .corrupt = 0.25, .seed = 9});
    struct chan_out out;
    uint64_t seen = 0, flipped = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        input(c, 64, i, i);
        while (chan_output(c, i, &out) == 1) {
            int bits = 0;
            for (size_t k = 0; k < out.len; k++)
                bits += __builtin_popcount(out.data[k]);
            ck_assert_int_le(bits, 1);
            flipped += (uint64_t)bits;
            seen++;
        }
    }
    const struct chan_counters *n = chan_counters(c);
    ck_assert_uint_eq(seen, 2000 + n->duplicated);
    ck_assert_uint_eq(flipped, n->corrupted);
    ck_assert_uint_gt(n->duplicated, 850);
    ck_assert_uint_lt(n->duplicated, 1150);
    ck_assert_uint_gt(n->corrupted, 600);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(an_outage_loses_what_it_meets)
{
    /* 125 bytes at 1 Gbit/s: 1 us each; _i = 1: with the heap. */
    struct chan *c =
        chan_of((struct chan_config){.rate_bps = 1000000000, .delay = 10000, .jitter = (tick)_i});
    for (uint64_t i = 1; i <= 6; i++)
        input(c, 125, i, 0); /* frame i: [i - 1, i) us */
    chan_outage(c, true, 2000);
    chan_outage(c, false, 3500); /* 3 and 4 */
    chan_outage(c, true, 5000);
    expect(c, 1, 11000);
    expect(c, 2, 12000);
    input(c, 125, 7, 12500);
    chan_outage(c, false, 13000); /* 6, and 7 */
    input(c, 125, 8, 13000);      /* 13500, since 7 took the line */
    struct chan_out out;
    ck_assert_int_eq(chan_output(c, 15000, &out), 1);
    ck_assert_uint_eq(out.tag, 5);
    ck_assert_int_eq(chan_output(c, 24000, &out), 0); /* 6 and 7 would have been due */
    expect(c, 8, 24500);
    expect_idle(c);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_OUTAGE], 4);
    chan_free(c);
}
END_TEST

START_TEST(what_would_arrive_in_an_outage_is_lost)
{
    struct chan *c = chan_of((struct chan_config){.delay = 100});
    struct chan_out out;
    input(c, 10, 1, 50);
    chan_outage(c, true, 50);
    input(c, 10, 2, 60);
    ck_assert_int_eq(chan_output(c, 10000, &out), 0);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_OUTAGE], 2);
    chan_outage(c, false, 10000);
    input(c, 10, 3, 10000);
    expect(c, 3, 10100);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(the_queue_has_a_limit)
{
    struct chan *c =
        chan_of((struct chan_config){.rate_bps = 8000, .overhead = 10, .queue_bytes = 300});
    input(c, 90, 1, 0);
    input(c, 90, 2, 0);
    input(c, 90, 3, 0);
    input(c, 90, 4, 0); /* 300 wait */
    input(c, 0, 5, 0);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 2);
    input(c, 90, 6, 100 * TICK_MS); /* one has left: 200 wait */
    input(c, 1000, 7, 100 * TICK_MS);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 3);
    input(c, 1000, 8, TICK_S); /* an idle line takes any frame */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 3);
    check_sum(c);
    expect(c, 1, 100 * TICK_MS);
    expect(c, 2, 200 * TICK_MS);
    expect(c, 3, 300 * TICK_MS);
    expect(c, 6, 400 * TICK_MS);
    expect(c, 8, TICK_S + 1010 * TICK_MS);
    expect_idle(c);
    chan_free(c);
}
END_TEST

START_TEST(refuses_wrong_settings)
{
    struct chan *c;
    struct trace empty;
    static const struct chan_window touching[] = {{1, 5}, {5, 6}}, overlapping[] = {{1, 5}, {4, 6}},
                                    empty_window = {5, 5};
    static const struct chan_point points[] = {{5, 1}, {5, 2}};
    trace_init(&empty, 1);
    c = chan_of((struct chan_config){.windows = touching, .window_count = 2});
    chan_free(c);
    struct chan_config wrong[] = {{.loss = -0.1},
                                  {.loss = 1.1},
                                  {.duplicate = 2},
                                  {.corrupt = __builtin_nan("")},
                                  {.bit_error_rate = 1.5},
                                  {.burst = {.good = 1, .bad = 1, .loss_bad = 1.1}},
                                  {.burst = {.good = 1, .bad = 1, .loss_good = -1}},
                                  {.burst = {.good = 1}},
                                  {.burst = {.bad = 1}},
                                  {.hold = true},
                                  {.window_count = 1},
                                  {.point_count = 1},
                                  {.windows = touching, .window_count = CHAN_TABLE_MAX + 1},
                                  {.windows = &empty_window, .window_count = 1},
                                  {.windows = overlapping, .window_count = 2},
                                  {.points = points, .point_count = CHAN_TABLE_MAX + 1},
                                  {.points = points, .point_count = 2},
                                  {.overhead = CHAN_OVERHEAD_MAX + 1},
                                  {.trace = &empty}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(chan_new(&c, &wrong[i]), HELIO_EINVAL);
    chan_free(NULL);
}
END_TEST

/* All at once, in any order; _i is the seed. Counters add up after every call. */
START_TEST(soak)
{
    struct rng r;
    struct trace t;
    rng_init(&r, (uint64_t)_i);
    trace_init(&t, 1000);
    for (int i = 0; i < 10; i++)
        trace_add(&t, i % 2, 1 + rng_below(&r, 20));
    struct chan *c = chan_of((struct chan_config){
        .rate_bps = rng_chance(&r, 0.8) ? 1 + rng_below(&r, UINT64_C(10000000000)) : 0,
        .overhead = (uint32_t)rng_below(&r, 100),
        .delay = rng_below(&r, 100000),
        .jitter = rng_chance(&r, 0.5) ? rng_below(&r, 10000) : 0,
        .queue_bytes = rng_chance(&r, 0.5) ? 5000 : 0,
        .trace = rng_chance(&r, 0.5) ? &t : NULL,
        .loss = 0.1,
        .duplicate = 0.1,
        .corrupt = 0.1,
        .seed = (uint64_t)_i});
    tick now = 0;
    struct chan_out out;
    for (int i = 0; i < 3000; i++) {
        now += rng_below(&r, 5000);
        if (rng_chance(&r, 0.05))
            chan_outage(c, rng_chance(&r, 0.5), now);
        input(c, rng_below(&r, 4096), (uint64_t)i, now);
        tick before = 0;
        while (rng_chance(&r, 0.9) && chan_output(c, now, &out) == 1) {
            ck_assert_uint_le(out.due, now);
            ck_assert_uint_ge(out.due, before);
            before = out.due;
        }
        check_sum(c);
    }
    while (chan_output(c, TICK_NEVER - 1, &out) == 1)
        check_sum(c);
    expect_idle(c);
    chan_free(c);
    trace_fini(&t);
}
END_TEST

SUITE(chan_link, t)
{
    tcase_add_test(t, delay_only);
    tcase_add_test(t, serialises_in_turn);
    tcase_add_test(t, fractions_of_ns_are_kept);
    tcase_add_test(t, a_fade_takes_what_is_on_the_air);
    tcase_add_test(t, an_instant_meets_the_trace_without_rate);
    tcase_add_test(t, random_loss_follows_its_seed_and_probability);
    tcase_add_test(t, jitter_reorders_within_its_bound);
    tcase_add_test(t, duplicates_and_flips_are_counted);
    tcase_add_loop_test(t, an_outage_loses_what_it_meets, 0, 2);
    tcase_add_test(t, what_would_arrive_in_an_outage_is_lost);
    tcase_add_test(t, the_queue_has_a_limit);
    tcase_add_test(t, refuses_wrong_settings);
    tcase_add_loop_test(t, soak, 0, 60);
}
