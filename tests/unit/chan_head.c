/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of which the head alone is carried: all else is as with whole ones. */
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

#define FRAMES 4000
#define ROOM 2048

static const struct chan_window contacts[] = {{0, 2 * TICK_MS}, {3 * TICK_MS, 900 * TICK_MS}};
static const struct chan_change slower = {
    .at = 3 * TICK_MS, .keys = CHAN_KEY_RATE, .rate_bps = 200000000};
static struct trace fades;

/* What a frame can meet: losses, copies, jitter, a full queue, waiting for the line. */
static struct chan_config config_of(int i)
{
    struct chan_config k = {.rate_bps = 1000000000,
                            .overhead = 42,
                            .delay = 5 * TICK_MS,
                            .trace = &fades,
                            .loss = 0.1,
                            .duplicate = 0.1,
                            .queue_time = TICK_MS,
                            .seed = 7};
    if (i == 1)
        k.jitter = TICK_MS;
    if (i == 2) {
        k.windows = contacts;
        k.window_count = 2;
        k.hold = true;
    }
    if (i == 3) {
        k.changes = &slower;
        k.change_count = 1;
        k.codel_target = 100 * TICK_US;
        k.codel_interval = TICK_MS;
    }
    return k;
}

static void compare_fates(struct chan *whole, struct chan *head)
{
    struct chan_fate a, b;
    for (;;) {
        int more = chan_fate(whole, &a);
        ck_assert_int_eq(chan_fate(head, &b), more);
        if (more == 0)
            break;
        bool same = a.reason == b.reason && a.number == b.number && a.entered == b.entered &&
                    a.air_start == b.air_start && a.air_end == b.air_end && a.tag == b.tag &&
                    a.len == b.len && memcmp(a.data, b.data, b.kept) == 0;
        ck_assert_msg(same && a.kept == a.len, "fates of frame %ju differ", (uintmax_t)a.number);
    }
}

/* Returns how many came out. */
static unsigned compare_outputs(struct chan *whole, struct chan *head, tick now)
{
    struct chan_out a, b;
    unsigned n = 0;
    ck_assert_uint_eq(chan_deadline(whole), chan_deadline(head));
    for (;; n++) {
        int more = chan_output(whole, now, &a);
        ck_assert_int_eq(chan_output(head, now, &b), more);
        if (more == 0)
            return n;
        bool same = a.due == b.due && a.number == b.number && a.tag == b.tag && a.len == b.len &&
                    a.copy == b.copy && b.kept == b.tag && memcmp(a.data, b.data, b.kept) == 0;
        ck_assert_msg(same && a.kept == a.len, "frame %ju differs", (uintmax_t)a.number);
    }
}

/* The tag is the length of the head: none of it, a part, all. */
START_TEST(heads_fare_as_whole_frames)
{
    struct chan_config k = config_of(_i);
    struct chan *whole = chan_of(k), *head = chan_of(k);
    struct rng r;
    uint8_t data[ROOM];
    unsigned out = 0;
    tick now = 0;
    rng_init(&r, 1);
    for (unsigned i = 0; i < FRAMES; i++) {
        size_t len = rng_below(&r, ROOM + 1), kept = rng_below(&r, len + 1);
        memset(data, (int)(i & 0xff), len);
        chan_input(whole, data, len, kept, now);
        chan_input_head(head, &(struct chan_head){data, kept, len}, kept, now, 0);
        compare_fates(whole, head);
        now += rng_below(&r, 16 * TICK_US);
        out += compare_outputs(whole, head, now);
        compare_fates(whole, head);
    }
    out += compare_outputs(whole, head, TICK_NEVER - 1);
    ck_assert_uint_gt(out, FRAMES / 8);
    ck_assert_uint_lt(out, FRAMES);
    ck_assert_uint_gt(chan_counters(head)->duplicated, 0);
    ck_assert_mem_eq(chan_counters(whole), chan_counters(head), sizeof(struct chan_counters));
    expect_idle(head);
    chan_free(whole);
    chan_free(head);
}
END_TEST

START_TEST(a_head_is_lost_by_rule)
{
    struct chan *c = chan_of((struct chan_config){.delay = 5});
    struct chan_fate f;
    chan_input_head(c, &(struct chan_head){(const uint8_t *)"ab", 2, 1000}, 9, 1, CHAN_BY_RULE);
    ck_assert_int_eq(chan_fate(c, &f), 1);
    ck_assert(f.reason == CHAN_RULE && f.kept == 2 && f.len == 1000);
    expect_idle(c);
    chan_free(c);
}
END_TEST

static void make_fades(void)
{
    trace_init(&fades, TICK_MS);
    ck_assert(trace_add(&fades, false, 7) >= 0 && trace_add(&fades, true, 2) >= 0);
}

static void drop_fades(void)
{
    trace_fini(&fades);
}

SUITE(chan_head, t)
{
    tcase_add_checked_fixture(t, make_fades, drop_fades);
    tcase_add_loop_test(t, heads_fare_as_whole_frames, 0, 4);
    tcase_add_test(t, a_head_is_lost_by_rule);
}
