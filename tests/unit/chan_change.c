/* SPDX-License-Identifier: Apache-2.0 */
/* Values that change in mid-run. A channel whose frames wait with their fates undecided does what
 * one does that decides at once; a change that is told at its time does what one does that was
 * written down before; rates against plain sums, errors against their binomial laws. */
#include "tests/unit/chan_help.h"

#include <math.h>

#include "tests/unit/chan_oracle.h"
#include "tests/unit/suite.h"

struct source {
    struct rng rng;
};

static uint64_t pick(struct source *s, uint64_t n)
{
    return rng_below(&s->rng, n);
}

#define FRAMES 200

/* All that can be seen of a channel, by number of the frame. */
struct seen {
    struct chan *chan;
    unsigned fates[FRAMES + 1][CHAN_REASONS];
    struct chan_out out[FRAMES + 1][2];
    unsigned outs[FRAMES + 1];
    uint64_t bytes[FRAMES + 1];
};

static uint64_t hash_bytes(const uint8_t *data, size_t len)
{
    uint64_t h = len + 1;
    for (size_t i = 0; i < len; i++)
        h = (h ^ data[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void look(struct seen *s, tick until)
{
    struct chan_out out;
    struct chan_fate f;
    int got;
    do {
        got = chan_output(s->chan, until, &out);
        if (got == 1) {
            unsigned *n = &s->outs[out.number];
            if (*n == 2)
                ck_abort_msg("frame %u came out three times", (unsigned)out.number);
            s->bytes[out.number] ^= hash_bytes(out.data, out.len) * (1 + *n);
            out.data = NULL;
            s->out[out.number][(*n)++] = out;
        }
        while (chan_fate(s->chan, &f) == 1)
            s->fates[f.number][f.reason]++;
    } while (got == 1);
    const struct chan_counters *n = chan_counters(s->chan);
    if (n->in + n->duplicated != n->out + chan_lost(n) + n->queued)
        ck_abort_msg("the counters do not add up");
}

static void tell(struct chan *c, const struct chan_change *change)
{
    if (chan_change(c, change, change->at) != 0)
        ck_abort_msg("a change is refused");
}

static void play(struct seen *s, const struct chan_config *k, uint64_t seed, tick scale,
                 const struct chan_change *told, size_t told_count)
{
    struct source from;
    uint8_t data[2048];
    size_t next = 0;
    bool down = false;
    memset(s, 0, sizeof *s);
    s->chan = chan_of(*k);
    rng_init(&from.rng, seed);
    tick now = pick(&from, 1000 * scale);
    for (int i = 0; i < FRAMES; i++) {
        now += pick(&from, 4) == 0 ? 0 : pick(&from, 1 + pick(&from, 8) * scale);
        for (; next < told_count && told[next].at <= now; next++) {
            look(s, told[next].at - 1);
            tell(s->chan, &told[next]);
        }
        if (pick(&from, 30) == 0) {
            down = !down;
            look(s, now);
            chan_outage(s->chan, down, now);
        }
        size_t len = pick(&from, 8) == 0 ? pick(&from, sizeof data) : 500;
        for (size_t b = 0; b < len; b++)
            data[b] = (uint8_t)(i * 7 + (int)b);
        bool rule = pick(&from, 20) == 0;
        if (rule)
            chan_input_rule(s->chan, data, len, (uint64_t)i, now);
        else
            chan_input(s->chan, data, len, (uint64_t)i, now);
        struct chan_fate f;
        while (chan_fate(s->chan, &f) == 1)
            s->fates[f.number][f.reason]++;
        if (pick(&from, 3) != 0)
            look(s, now);
    }
    for (; next < told_count; next++) { /* for what still waits */
        look(s, told[next].at - 1);
        tell(s->chan, &told[next]);
    }
    look(s, TICK_NEVER - 1);
    ck_assert_uint_eq(chan_counters(s->chan)->queued, 0);
    chan_free(s->chan);
}

/* To the nanosecond and the last bit. */
static void compare(const struct seen *a, const struct seen *b, uint64_t seed)
{
    for (int n = 1; n <= FRAMES; n++) {
        bool same = memcmp(a->fates[n], b->fates[n], sizeof a->fates[n]) == 0 &&
                    a->outs[n] == b->outs[n] && a->bytes[n] == b->bytes[n];
        for (unsigned i = 0; i < a->outs[n] && same; i++) {
            const struct chan_out *x = &a->out[n][i], *y = &b->out[n][i];
            same = x->due == y->due && x->entered == y->entered && x->air_start == y->air_start &&
                   x->air_end == y->air_end && x->copy == y->copy && x->corrupted == y->corrupted &&
                   x->tag == y->tag && x->len == y->len;
        }
        if (!same)
            ck_abort_msg("seed %u: frame %d fares differently", (unsigned)seed, n);
    }
}

/* Limits of the queue apart: what waits is counted byte by byte there, and by time at once. */
START_TEST(undecided_frames_fare_the_same)
{
    static struct oracle o;
    static struct seen at_once, waits;
    for (uint64_t i = 0; i < 50; i++) {
        struct source s;
        uint64_t seed = (uint64_t)_i * 50 + i;
        rng_init(&s.rng, seed);
        draw_config(&o, &s);
        o.k.queue_bytes = 0;
        o.k.queue_time = 0;
        play(&at_once, &o.k, seed, o.scale, NULL, 0);
        o.k.live = true;
        play(&waits, &o.k, seed, o.scale, NULL, 0);
        compare(&at_once, &waits, seed);
        trace_fini(&o.trace);
    }
}
END_TEST

#define CHANGES 12

static size_t draw_changes(struct source *s, const struct oracle *o, struct chan_change *list)
{
    size_t n = 1 + pick(s, CHANGES);
    tick at = 1;
    for (size_t i = 0; i < n; i++) {
        at += 1 + pick(s, 120 * o->scale);
        unsigned keys = 1 + (unsigned)pick(s, 63);
        if (o->k.rate_bps == 0)
            keys &= ~(unsigned)CHAN_KEY_RATE;
        if (o->k.point_count > 0)
            keys &= ~(unsigned)CHAN_KEY_DELAY;
        keys |= keys == 0 ? (unsigned)CHAN_KEY_LOSS : 0;
        list[i] = (struct chan_change){.at = at,
                                       .keys = keys,
                                       .rate_bps = 1 + o->k.rate_bps * (1 + pick(s, 40)) / 10,
                                       .delay = pick(s, 100 * o->scale),
                                       .loss = (double)pick(s, 1000) / 1000,
                                       .duplicate = (double)pick(s, 1000) / 1000,
                                       .corrupt = (double)pick(s, 1000) / 1000,
                                       .bit_error_rate = (double)pick(s, 1000) / 1e6};
    }
    return n;
}

START_TEST(told_and_written_changes_are_the_same)
{
    static struct oracle o;
    static struct seen written, told;
    for (uint64_t i = 0; i < 50; i++) {
        struct source s;
        struct chan_change list[CHANGES];
        uint64_t seed = 5000 + (uint64_t)_i * 50 + i;
        rng_init(&s.rng, seed);
        draw_config(&o, &s);
        o.k.origin = 0;
        o.k.origin_first = false;
        size_t n = draw_changes(&s, &o, list);
        struct chan_config k = o.k;
        k.changes = list;
        k.change_count = n;
        k.live = true; /* so that all chances are drawn from the beginning in both */
        play(&written, &k, seed, o.scale, NULL, 0);
        k.change_count = 0;
        play(&told, &k, seed, o.scale, list, n);
        compare(&written, &told, seed);
        trace_fini(&o.trace);
    }
}
END_TEST

/* 1000 bits at 1, then 4, then 2 Mbit/s: the one on the air when the rate changes keeps its own. */
START_TEST(each_frame_has_the_rate_of_its_start)
{
    static const struct chan_change changes[] = {
        {.at = 2500000, .keys = CHAN_KEY_RATE, .rate_bps = 4000000},
        {.at = 4000000, .keys = CHAN_KEY_RATE, .rate_bps = 2000000}};
    struct chan *c =
        chan_of((struct chan_config){.rate_bps = 1000000, .changes = changes, .change_count = 2});
    tick ends[10], at = 0;
    for (uint64_t i = 0; i < 10; i++) {
        tick takes = at < 2500000 ? 1000000 : at < 4000000 ? 250000 : 500000;
        input(c, 125, i, 0);
        ends[i] = at += takes;
    }
    ck_assert_uint_eq(ends[9], 5500000); /* three of 1 ms, four of 0.25 ms, three of 0.5 ms */
    for (uint64_t i = 0; i < 10; i++) {
        while (chan_deadline(c) < ends[i]) { /* the line takes the next one */
            struct chan_out out;
            ck_assert_int_eq(chan_output(c, chan_deadline(c), &out), 0);
        }
        expect(c, i, ends[i]);
    }
    expect_idle(c);
    chan_free(c);
}
END_TEST

/* The line is never idle: what it carries is the integral of its rate, but for one frame a change.
 */
START_TEST(a_busy_line_carries_the_integral_of_its_rate)
{
    enum { STEPS = 50 };
    struct chan_change changes[STEPS];
    struct rng r;
    double bits = 0;
    rng_init(&r, 3);
    for (uint64_t i = 0; i < STEPS; i++) {
        changes[i] = (struct chan_change){
            .at = i * TICK_S, .keys = CHAN_KEY_RATE, .rate_bps = 100000 + rng_below(&r, 900000)};
        bits += (double)changes[i].rate_bps;
    }
    struct chan *c =
        chan_of((struct chan_config){.rate_bps = 1, .changes = changes, .change_count = STEPS});
    struct chan_out out;
    uint64_t n = 0;
    for (uint64_t i = 0; i < 40000; i++)
        input(c, 100, i, 0);
    while (chan_deadline(c) <= STEPS * TICK_S)
        n += chan_output(c, chan_deadline(c), &out) == 1 && out.air_end <= STEPS * TICK_S;
    ck_assert_double_eq_tol((double)n * 800, bits, STEPS * 800);
    ck_assert_uint_gt(chan_counters(c)->queued, 100); /* it was busy to the end */
    check_sum(c);
    chan_end(c);
    ck_assert_uint_eq(chan_counters(c)->queued, 0);
    check_sum(c);
    chan_free(c);
}
END_TEST

/* Five deviations of a binomial law in each of three stretches of 20,000 frames. */
START_TEST(errors_follow_their_probabilities_over_time)
{
    enum { EACH = 20000, BITS = 800 };
    static const double loss[3] = {0.1, 0, 0.5}, ber[3] = {0, 1e-3, 1e-4};
    struct chan_change changes[2];
    for (int i = 0; i < 2; i++)
        changes[i] = (struct chan_change){.at = (tick)(i + 1) * EACH,
                                          .keys = CHAN_KEY_LOSS | CHAN_KEY_BITS,
                                          .loss = loss[i + 1],
                                          .bit_error_rate = ber[i + 1]};
    struct chan *c = chan_of((struct chan_config){
        .loss = loss[0], .bit_error_rate = ber[0], .changes = changes, .change_count = 2});
    for (int part = 0; part < 3; part++) {
        struct chan_counters before = *chan_counters(c);
        for (uint64_t i = 0; i < EACH; i++) {
            struct chan_out out;
            input(c, BITS / 8, i, (tick)part * EACH + i);
            (void)chan_output(c, (tick)part * EACH + i, &out);
        }
        const struct chan_counters *n = chan_counters(c);
        double lost = (double)(n->lost[CHAN_RANDOM] - before.lost[CHAN_RANDOM]), p = loss[part];
        ck_assert_double_eq_tol(lost, EACH * p, 5 * sqrt(EACH * p * (1 - p)) + 1e-9);
        double left = EACH - lost, hit = 1 - pow(1 - ber[part], BITS);
        ck_assert_double_eq_tol((double)(n->corrupted - before.corrupted), left * hit,
                                5 * sqrt(left * hit * (1 - hit)) + 1e-9);
    }
    expect_idle(c);
    chan_free(c);
}
END_TEST

/* The same of copies, and of single flipped bits in frames and copies. */
START_TEST(copies_and_flips_follow_theirs)
{
    enum { EACH = 20000 };
    static const double twice[3] = {0, 0.3, 0.05}, flip[3] = {0.2, 0, 0.6};
    struct chan_change changes[2];
    for (int i = 0; i < 2; i++)
        changes[i] = (struct chan_change){.at = (tick)(i + 1) * EACH,
                                          .keys = CHAN_KEY_DUPLICATE | CHAN_KEY_CORRUPT,
                                          .duplicate = twice[i + 1],
                                          .corrupt = flip[i + 1]};
    struct chan *c = chan_of((struct chan_config){
        .duplicate = twice[0], .corrupt = flip[0], .changes = changes, .change_count = 2});
    for (int part = 0; part < 3; part++) {
        struct chan_counters before = *chan_counters(c);
        for (uint64_t i = 0; i < EACH; i++) {
            struct chan_out out;
            input(c, 100, i, (tick)part * EACH + i);
            while (chan_output(c, (tick)part * EACH + i, &out) == 1)
                ;
        }
        const struct chan_counters *n = chan_counters(c);
        double copies = (double)(n->duplicated - before.duplicated), p = twice[part];
        ck_assert_double_eq_tol(copies, EACH * p, 5 * sqrt(EACH * p * (1 - p)) + 1e-9);
        double all = EACH + copies, q = flip[part];
        ck_assert_double_eq_tol((double)(n->corrupted - before.corrupted), all * q,
                                5 * sqrt(all * q * (1 - q)) + 1e-9);
    }
    expect_idle(c);
    chan_free(c);
}
END_TEST

/* 1000-bit frames at 1 Mbit/s: one on the air, and as many behind it as the limit says. */
START_TEST(what_waits_has_limits)
{
    struct chan_config k = {.rate_bps = 1000000, .live = true, .queue_bytes = 500};
    struct chan *c = chan_of(k);
    for (uint64_t i = 0; i < 10; i++)
        input(c, 125, i, 0);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 6); /* 125 on the air, 375 behind it */
    input(c, 125, 10, 1000000);                               /* one has gone */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 6);
    chan_end(c);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_END], 5); /* that one was not fetched */
    check_sum(c);
    chan_free(c);

    k = (struct chan_config){.rate_bps = 1000000, .live = true, .queue_time = 3 * TICK_MS};
    c = chan_of(k);
    for (uint64_t i = 0; i < 10; i++)
        input(c, 125, i, 0);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 6); /* the wait of the fifth is 4 ms */
    struct chan_change half = {.keys = CHAN_KEY_RATE, .rate_bps = 100000};
    ck_assert_int_eq(chan_change(c, &half, 500000), 0);
    input(c, 125, 11, 500000); /* 2.5 of what waits are now 25 ms and more */
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 7);
    chan_free(c);
}
END_TEST

START_TEST(changes_without_sense_are_refused)
{
    struct chan *c;
    struct chan_change two[2] = {{.at = 5, .keys = CHAN_KEY_LOSS, .loss = 0.5},
                                 {.at = 5, .keys = CHAN_KEY_LOSS, .loss = 0.5}};
    static const struct chan_point points[] = {{0, 5}};
    struct chan_config k = {.changes = two, .change_count = 2};
    ck_assert_int_eq(chan_new(&c, &k), HELIO_EINVAL);
    two[1].at = 6;
    ck_assert_int_eq(chan_new(&c, &k), 0);
    ck_assert_int_eq(chan_change(c, two, 0), HELIO_EINVAL); /* not live */
    chan_free(c);
    static const struct chan_change wrong[] = {
        {.keys = 0},
        {.keys = 64},
        {.keys = CHAN_KEY_LOSS, .loss = 1.5},
        {.keys = CHAN_KEY_DUPLICATE, .duplicate = -0.5},
        {.keys = CHAN_KEY_CORRUPT, .corrupt = NAN},
        {.keys = CHAN_KEY_BITS, .bit_error_rate = 2},
        {.keys = CHAN_KEY_RATE, .rate_bps = 5}, /* there is no rate */
        {.keys = CHAN_KEY_DELAY, .delay = 5}};  /* there is a table */
    struct chan *live =
        chan_of((struct chan_config){.live = true, .points = points, .point_count = 1});
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        k = (struct chan_config){
            .changes = &wrong[i], .change_count = 1, .points = points, .point_count = 1};
        ck_assert_int_eq(chan_new(&c, &k), HELIO_EINVAL);
        ck_assert_int_eq(chan_change(live, &wrong[i], 0), HELIO_EINVAL);
    }
    chan_free(live);
    k = (struct chan_config){.changes = NULL, .change_count = 1};
    ck_assert_int_eq(chan_new(&c, &k), HELIO_EINVAL);
}
END_TEST

/* Between two that are written down, whose times count from the first frame: in order of time. */
START_TEST(a_change_told_among_written_ones)
{
    const tick begin = 5 * TICK_S;
    const struct chan_change written[] = {{.at = 10, .keys = CHAN_KEY_DELAY, .delay = 1000},
                                          {.at = 30, .keys = CHAN_KEY_DELAY, .delay = 3000},
                                          {.at = 40, .keys = CHAN_KEY_DELAY, .delay = 4000}};
    const struct chan_change told = {.keys = CHAN_KEY_DELAY, .delay = 2000};
    static const tick delays[] = {500, 1000, 2000, 3000, 4000};
    struct chan *c = chan_of((struct chan_config){
        .live = true, .delay = 500, .origin_first = true, .changes = written, .change_count = 3});
    for (tick i = 0; i < 50; i++) {
        if (i == 20)
            ck_assert_int_eq(chan_change(c, &told, begin + i), 0);
        input(c, 10, i, begin + i);
    }
    for (tick i = 0; i < 50; i++)
        expect(c, i, begin + i + delays[i / 10]);
    expect_idle(c);
    chan_free(c);
}
END_TEST

/* Told before the first frame, it holds for it. */
START_TEST(a_change_before_the_first_frame)
{
    struct chan *c = chan_of((struct chan_config){.live = true, .delay = 50, .origin_first = true});
    struct chan_change delay = {.keys = CHAN_KEY_DELAY, .delay = 7};
    ck_assert_int_eq(chan_change(c, &delay, 3), 0);
    input(c, 10, 1, 10);
    expect(c, 1, 17);
    delay.delay = 1; /* no frame overtakes another */
    input(c, 10, 2, 20);
    ck_assert_int_eq(chan_change(c, &delay, 22), 0);
    input(c, 10, 3, 22);
    expect(c, 2, 27);
    expect(c, 3, 27);
    expect_idle(c);
    chan_free(c);
}
END_TEST

/* The channel that both are compared with is right by itself. */
START_TEST(at_once_is_what_must_be)
{
    static struct oracle o;
    struct source s;
    rng_init(&s.rng, 1);
    ck_assert_ptr_eq(oracle_play(&o, &s, ORACLE_FRAMES), NULL);
}
END_TEST

SUITE(chan_change, t)
{
    tcase_set_timeout(t, 180);
    tcase_add_test(t, at_once_is_what_must_be);
    tcase_add_loop_test(t, undecided_frames_fare_the_same, 0, 10);
    tcase_add_loop_test(t, told_and_written_changes_are_the_same, 0, 10);
    tcase_add_test(t, each_frame_has_the_rate_of_its_start);
    tcase_add_test(t, a_busy_line_carries_the_integral_of_its_rate);
    tcase_add_test(t, errors_follow_their_probabilities_over_time);
    tcase_add_test(t, copies_and_flips_follow_theirs);
    tcase_add_test(t, what_waits_has_limits);
    tcase_add_test(t, changes_without_sense_are_refused);
    tcase_add_test(t, a_change_told_among_written_ones);
    tcase_add_test(t, a_change_before_the_first_frame);
}
