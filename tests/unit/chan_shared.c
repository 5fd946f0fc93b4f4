/* SPDX-License-Identifier: Apache-2.0 */
/* Several channels on one transmitter: turns, shares, disciplines and accounts by closed forms, and
 * by one channel that carries all of it. */
#include <math.h>

#include "channel-emu/chan/chan_shared.h"
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

#define RATE UINT64_C(8000000) /* 1000 bytes a millisecond */
#define MEMBERS_MAX 8

struct rig {
    struct chan_shared *line;
    struct chan *member[MEMBERS_MAX];
    size_t count;
};

static struct rig rig_of(const struct chan_shared_config *k, size_t count)
{
    struct rig r = {.count = count};
    ck_assert_int_eq(chan_shared_new(&r.line, k), 0);
    for (size_t i = 0; i < count; i++)
        r.member[i] = chan_of((struct chan_config){.shared = r.line, .delay = (i + 1) * TICK_S});
    return r;
}

static void free_rig(struct rig *r)
{
    for (size_t i = 0; i < r->count; i++) {
        check_sum(r->member[i]);
        chan_free(r->member[i]);
    }
    chan_shared_free(r->line);
}

/* All that comes out until then; the last one's times. */
static uint64_t drain(struct rig *r, tick now, struct chan_out *last)
{
    uint64_t n = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct chan_out out;
        while (chan_output(r->member[i], now, &out) == 1) {
            n++;
            if (last != NULL)
                *last = out;
        }
    }
    return n;
}

/* Frames of both that come at once take the line in the order of their coming, a millisecond each;
 * then each has the delay of its own channel. */
START_TEST(frames_take_turns_as_they_came)
{
    struct rig r = rig_of(&(struct chan_shared_config){.rate_bps = RATE}, 2);
    for (tick i = 0; i < 10; i++)
        input(r.member[i % 3 == 0], 1000, i, 0);
    for (tick i = 0; i < 10; i++) {
        struct chan_out out;
        size_t m = i % 3 == 0;
        ck_assert_int_eq(chan_output(r.member[m], 10 * TICK_S, &out), 1);
        ck_assert_uint_eq(out.tag, i);
        ck_assert_uint_eq(out.air_start, i * TICK_MS);
        ck_assert_uint_eq(out.air_end, (i + 1) * TICK_MS);
        ck_assert_uint_eq(out.due, (i + 1) * TICK_MS + (m + 1) * TICK_S);
    }
    struct chan_part a = chan_part(r.member[0]), b = chan_part(r.member[1]);
    ck_assert_uint_eq(a.frames, 6);
    ck_assert_uint_eq(b.frames, 4);
    ck_assert_uint_eq(a.bytes + b.bytes, 10000);
    ck_assert_uint_eq(b.waited, (0 + 3 + 6 + 9) * TICK_MS);
    ck_assert_uint_eq(b.waited_max, 9 * TICK_MS);
    ck_assert_uint_eq(a.waited + b.waited, 45 * TICK_MS);
    expect_idle(r.member[0]);
    free_rig(&r);
}
END_TEST

/* Overheads are of each channel. */
START_TEST(overhead_is_of_the_channel)
{
    struct chan_shared *line;
    const struct chan_shared_config k = {.rate_bps = RATE};
    struct chan_out out;
    ck_assert_int_eq(chan_shared_new(&line, &k), 0);
    struct chan *a = chan_of((struct chan_config){.shared = line, .overhead = 1000});
    struct chan *b = chan_of((struct chan_config){.shared = line});
    input(a, 1000, 0, 0);
    input(b, 1000, 0, 0);
    ck_assert_int_eq(chan_output(b, TICK_S, &out), 1);
    ck_assert_uint_eq(out.air_start, 2 * TICK_MS);
    ck_assert_uint_eq(out.due, 3 * TICK_MS);
    ck_assert_uint_eq(chan_part(a).bytes, 2000);
    chan_free(a);
    chan_free(b);
    chan_shared_free(line);
}
END_TEST

/* A channel's changes hold for the frames that the line begins with from then on, however long they
 * have waited. */
START_TEST(changes_hold_by_turn)
{
    struct chan_shared *line;
    const struct chan_shared_config k = {.rate_bps = RATE};
    const struct chan_change change = {
        .at = 3 * TICK_MS, .keys = CHAN_KEY_LOSS | CHAN_KEY_DELAY, .loss = 1, .delay = TICK_S};
    struct chan_out out;
    ck_assert_int_eq(chan_shared_new(&line, &k), 0);
    struct chan *a =
        chan_of((struct chan_config){.shared = line, .changes = &change, .change_count = 1});
    struct chan *b = chan_of((struct chan_config){.shared = line});
    for (tick i = 0; i < 10; i++)
        input(i % 2 == 0 ? a : b, 1000, i, 0);
    for (tick i = 0; i < 10; i++) {
        bool lost = i % 2 == 0 && i >= 3;
        if (lost)
            continue;
        ck_assert_int_eq(chan_output(i % 2 == 0 ? a : b, TICK_S / 2, &out), 1);
        ck_assert_uint_eq(out.tag, i);
        ck_assert_uint_eq(out.due, (i + 1) * TICK_MS);
    }
    ck_assert_uint_eq(chan_counters(a)->lost[CHAN_RANDOM], 3);
    expect_idle(a);
    expect_idle(b);
    chan_free(a);
    chan_free(b);
    chan_shared_free(line);
}
END_TEST

/* Twice as much as the line carries, three to one: the line is never idle, so it carries its rate
 * to the frame; tail drop of so regular a load keeps the shares; what went in is out or lost. */
START_TEST(an_overload_is_shared)
{
    struct rig r =
        rig_of(&(struct chan_shared_config){.rate_bps = RATE, .queue_time = 20 * TICK_MS}, 2);
    for (tick now = 0; now < 10 * TICK_S; now += 2 * TICK_MS) {
        for (int i = 0; i < 4; i++)
            input(r.member[i == 3], 1000, 0, now + (tick)i * 500 * TICK_US);
        drain(&r, now, NULL);
    }
    drain(&r, 10 * TICK_S - 1, NULL);
    uint64_t bytes[2] = {chan_part(r.member[0]).bytes, chan_part(r.member[1]).bytes};
    ck_assert_uint_eq(bytes[0] + bytes[1], 10 * RATE / 8);
    drain(&r, TICK_NEVER - 1, NULL);
    for (int i = 0; i < 2; i++) {
        const struct chan_counters *n = chan_counters(r.member[i]);
        ck_assert_uint_eq(n->in, i == 0 ? 15000 : 5000);
        ck_assert_uint_eq(n->in, n->out + n->lost[CHAN_QUEUE]);
        ck_assert_uint_gt(n->lost[CHAN_QUEUE], 0);
        ck_assert_uint_le(chan_part(r.member[i]).waited_max, 21 * TICK_MS);
    }
    free_rig(&r);
}
END_TEST

/* Random loads of equal mean have equal shares of what the line carries: Jain's index by both. */
START_TEST(equal_loads_have_equal_shares)
{
    struct rng rng;
    uint64_t bytes[MEMBERS_MAX], sum = 0;
    struct rig r =
        rig_of(&(struct chan_shared_config){.rate_bps = RATE, .queue_bytes = 30000}, MEMBERS_MAX);
    rng_init(&rng, 7);
    tick now = 0;
    for (int i = 0; i < 80000; i++) {
        now += rng_below(&rng, TICK_MS);
        input(r.member[rng_below(&rng, MEMBERS_MAX)], 1000, 0, now);
        drain(&r, now, NULL);
    }
    for (size_t i = 0; i < MEMBERS_MAX; i++)
        sum += bytes[i] = chan_part(r.member[i]).bytes;
    for (size_t i = 0; i < MEMBERS_MAX; i++)
        ck_assert_double_eq_tol((double)bytes[i] / (double)sum, 1.0 / MEMBERS_MAX, 0.01);
    ck_assert_double_ge(chan_shared_fairness(bytes, MEMBERS_MAX), 0.999);
    drain(&r, TICK_NEVER - 1, NULL);
    free_rig(&r);
}
END_TEST

START_TEST(fairness_is_jains_index)
{
    ck_assert_double_eq(chan_shared_fairness((const uint64_t[]){5, 5, 5, 5}, 4), 1);
    ck_assert_double_eq(chan_shared_fairness((const uint64_t[]){9, 0, 0, 0}, 4), 0.25);
    ck_assert_double_eq_tol(chan_shared_fairness((const uint64_t[]){3, 1}, 2), 16.0 / 20, 1e-12);
    ck_assert_double_eq(chan_shared_fairness((const uint64_t[]){0, 0}, 2), 1);
}
END_TEST

/* ---- against one channel that carries all ---- */

struct event {
    unsigned member, len, as;
    tick at;
};

/* Disciplines by the bits of n. */
static struct chan_shared_config queue_of(int n, const struct chan_change *changes, size_t count)
{
    struct chan_shared_config k = {.rate_bps = RATE, .changes = changes, .change_count = count};
    k.queue_bytes = n & 1 ? 40000 : 0;
    k.queue_time = n & 2 ? 35 * TICK_MS : 0;
    if (n & 4) {
        k.codel_target = 5 * TICK_MS;
        k.codel_interval = 50 * TICK_MS;
        k.codel_marks = (n & 8) != 0;
    }
    k.mark_above = n & 8 ? 10 * TICK_MS : 0;
    return k;
}

static struct chan_config single_of(const struct chan_shared_config *k)
{
    return (struct chan_config){.rate_bps = k->rate_bps,
                                .queue_bytes = k->queue_bytes,
                                .queue_time = k->queue_time,
                                .codel_target = k->codel_target,
                                .codel_interval = k->codel_interval,
                                .codel_marks = k->codel_marks,
                                .mark_above = k->mark_above,
                                .changes = k->changes,
                                .change_count = k->change_count,
                                .live = true};
}

/* The same frame left both at the same time, with the same mark. */
static void follow(struct rig *r, struct chan *single, tick now)
{
    struct chan_out one, other;
    while (chan_output(single, now, &one) == 1) {
        if (chan_output(r->member[one.tag % r->count], now, &other) != 1 || one.tag != other.tag ||
            one.due != other.due || one.air_start != other.air_start || one.marked != other.marked)
            ck_abort_msg("frame %llu", (unsigned long long)one.tag);
    }
    if (drain(r, now, NULL) != 0)
        ck_abort_msg("more than of one channel");
}

static uint64_t lost_by(const struct rig *r, enum chan_reason reason)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->count; i++)
        sum += chan_counters(r->member[i])->lost[reason];
    return sum;
}

/* _i: the disciplines */
START_TEST(it_is_one_queue)
{
    static const uint8_t zeros[1500];
    const struct chan_change changes[] = {
        {.at = TICK_S, .keys = CHAN_KEY_RATE, .rate_bps = RATE / 2},
        {.at = 3 * TICK_S, .keys = CHAN_KEY_RATE, .rate_bps = 2 * RATE}};
    struct chan_shared_config k = queue_of(_i, changes, 2);
    struct rig r = rig_of(&k, 0);
    r.count = 3;
    for (size_t i = 0; i < 3; i++)
        r.member[i] = chan_of((struct chan_config){.shared = r.line});
    struct chan_config one = single_of(&k);
    struct chan *single = chan_of(one);
    struct rng rng;
    rng_init(&rng, 100 + (uint64_t)_i);
    tick now = 0;
    for (uint64_t n = 0; n < 10000; n++) {
        uint64_t member = rng_below(&rng, 3), tag = n * 3 + member;
        size_t len = 1 + rng_below(&rng, sizeof zeros);
        now += rng_below(&rng, n % 500 == 0 ? 100 * TICK_MS : TICK_MS);
        unsigned as = (unsigned)rng_below(&rng, 4);
        if (n == 6000) { /* told in mid-run */
            const struct chan_change told = {.keys = CHAN_KEY_RATE, .rate_bps = RATE};
            ck_assert_int_eq(chan_change(single, &told, now), 0);
            ck_assert_int_eq(chan_shared_change(r.line, RATE, now), 0);
        }
        chan_input_as(single, zeros, len, tag, now, as);
        chan_input_as(r.member[member], zeros, len, tag, now, as);
        follow(&r, single, now);
    }
    follow(&r, single, TICK_NEVER - 1);
    for (int i = 0; i < CHAN_LOSSES; i++)
        ck_assert_uint_eq(lost_by(&r, (enum chan_reason)i), chan_counters(single)->lost[i]);
    ck_assert(_i == 0 || _i == 8 || chan_lost(chan_counters(single)) > 0);
    chan_free(single);
    free_rig(&r);
}
END_TEST

/* ---- whose is what ---- */

/* CoDel drops a frame of one channel when a call of another one runs the line; it is told there. */
START_TEST(a_fate_is_told_by_its_own_channel)
{
    struct chan_shared_config k = queue_of(4, NULL, 0);
    struct rig r = rig_of(&k, 2);
    struct chan_fate f;
    uint64_t told = 0;
    for (tick now = 0; now < TICK_S; now += TICK_MS) {
        for (int i = 0; i < 2; i++) {
            input(r.member[0], 1000, 3, now);
            for (size_t m = 0; m < 2; m++)
                while (chan_fate(r.member[m], &f) == 1) {
                    if (f.reason != CHAN_CODEL || f.tag != m + 3)
                        ck_abort_msg("the fate of another one");
                    told += m;
                }
        }
        if (now < 300 * TICK_MS)
            input(r.member[1], 1000, 4, now);
    }
    ck_assert_uint_gt(told, 0);
    ck_assert_uint_eq(told, chan_counters(r.member[1])->lost[CHAN_CODEL]);
    free_rig(&r);
}
END_TEST

/* An outage of one is none of the other; what waits goes with its channel. */
START_TEST(outage_and_end_are_of_one)
{
    struct rig r = rig_of(&(struct chan_shared_config){.rate_bps = RATE}, 2);
    for (int i = 0; i < 20; i++)
        input(r.member[i % 2], 1000, 0, 0);
    chan_outage(r.member[0], true, 1);
    ck_assert_uint_eq(drain(&r, 2 * TICK_S + 5 * TICK_MS, NULL), 2);
    chan_end(r.member[0]);
    ck_assert_uint_eq(chan_counters(r.member[0])->lost[CHAN_OUTAGE], 10);
    ck_assert_uint_eq(drain(&r, TICK_NEVER - 1, NULL), 8);
    ck_assert_uint_eq(chan_counters(r.member[1])->out, 10);
    free_rig(&r);
}
END_TEST

/* What has not taken the line when its channel ends leaves it to the others. */
START_TEST(who_ends_gives_his_turn_away)
{
    struct chan_out out;
    struct rig r = rig_of(&(struct chan_shared_config){.rate_bps = RATE}, 2);
    for (int i = 0; i < 20; i++)
        input(r.member[i % 2], 1000, 0, 0);
    chan_end(r.member[0]); /* one of it is on the line */
    ck_assert_uint_eq(chan_counters(r.member[0])->lost[CHAN_END], 10);
    ck_assert_uint_eq(chan_part(r.member[0]).frames, 1);
    ck_assert_uint_eq(drain(&r, TICK_NEVER - 1, &out), 10);
    ck_assert_uint_eq(out.air_end, 11 * TICK_MS);
    input(r.member[1], 1000, 0, 20 * TICK_MS);
    input(r.member[1], 1000, 0, 20 * TICK_MS);
    free_rig(&r); /* with a frame that waits */
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    const struct chan_change delay = {.keys = CHAN_KEY_DELAY, .delay = 1};
    const struct chan_shared_config wrong[] = {
        {.rate_bps = 0},
        {.rate_bps = 1, .codel_interval = 1},
        {.rate_bps = 1, .changes = &delay, .change_count = 1}};
    struct chan_shared *line;
    struct chan *c;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(chan_shared_new(&line, &wrong[i]), HELIO_EINVAL);
    ck_assert_int_eq(chan_shared_new(&line, &(struct chan_shared_config){.rate_bps = 1}), 0);
    const struct chan_window window = {0, 1};
    const struct chan_config own[] = {
        {.shared = line, .rate_bps = 1},
        {.shared = line, .queue_bytes = 1},
        {.shared = line, .queue_time = 1},
        {.shared = line, .codel_interval = 1, .codel_target = 1},
        {.shared = line, .mark_above = 1},
        {.shared = line, .hold = true, .windows = &window, .window_count = 1}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        ck_assert_int_eq(chan_new(&c, &own[i]), HELIO_EINVAL);
    ck_assert_int_eq(chan_shared_change(line, 0, 5), HELIO_EINVAL);
    ck_assert_int_eq(chan_shared_change(line, 3, 5), 0);
    ck_assert_int_eq(chan_shared_change(line, 3, 4), HELIO_EINVAL);
    chan_shared_free(line);
    chan_shared_free(NULL);
}
END_TEST

SUITE(chan_shared, t)
{
    tcase_add_test(t, frames_take_turns_as_they_came);
    tcase_add_test(t, changes_hold_by_turn);
    tcase_add_test(t, overhead_is_of_the_channel);
    tcase_add_test(t, an_overload_is_shared);
    tcase_add_test(t, equal_loads_have_equal_shares);
    tcase_add_test(t, fairness_is_jains_index);
    tcase_add_loop_test(t, it_is_one_queue, 0, 16);
    tcase_add_test(t, a_fate_is_told_by_its_own_channel);
    tcase_add_test(t, outage_and_end_are_of_one);
    tcase_add_test(t, who_ends_gives_his_turn_away);
    tcase_add_test(t, what_makes_no_sense_is_refused);
}
