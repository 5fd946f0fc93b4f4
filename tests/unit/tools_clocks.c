/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks whose offset and drift are known, from rows made here. */
#include <math.h>

#include "base/rng.h"
#include "tests/unit/suite.h"
#include "tools/analyze/clocks.h"

#define START (1000 * TICK_S) /* by the true clock, of the first session */
#define DELAY (5 * TICK_MS)

/* A node's clock: ahead by `offset` at START, and gaining. */
struct face {
    uint64_t node;
    double offset, drift;
};

static tick shown_at(const struct face *f, tick now)
{
    double ahead = f->offset + f->drift * (double)(int64_t)(now - START);
    return now + (tick)(int64_t)llround(ahead);
}

static void see(struct clocks *c, const struct face *f, enum event_kind kind, tick now,
                uint64_t session, int type, uint64_t serial)
{
    struct seglog_row r = {.node = f->node};
    r.event = (struct event){.now = shown_at(f, now),
                             .kind = kind,
                             .originator = 1,
                             .session = session,
                             .type = type,
                             .offset = type < 8 ? 0 : EVENT_NONE,
                             .cp_serial = type == 3 ? serial : EVENT_NONE,
                             .rpt_serial = type == 8 ? serial : EVENT_NONE};
    ck_assert_int_eq(clocks_row(c, &r), 0);
}

/* Sessions of one segment and its report, one each `step`; each third waits on the way. */
static void exchange(struct clocks *c, const struct face *a, const struct face *b, uint64_t first,
                     int count, tick step, tick there, tick back)
{
    for (int i = 0; i < count; i++) {
        tick t = START + (tick)i * step, late = i % 3 == 0 ? (tick)(i % 7) * TICK_MS : 0;
        uint64_t session = first + (uint64_t)i;
        see(c, a, EVENT_TX, t, session, 3, 9);
        see(c, b, EVENT_RX, t + there + late, session, 3, 9);
        see(c, b, EVENT_TX, t + there + late, session, 8, 9);
        see(c, a, EVENT_RX, t + there + late + back, session, 8, 9);
    }
}

START_TEST(an_offset_is_found)
{
    static const double offsets[] = {0, 3.2e9, -3.2e9, 86400e9, 1e3};
    struct clocks c;
    struct face a = {1, 0, 0}, b = {2, offsets[_i], 0};
    ck_assert_int_eq(clocks_init(&c), 0);
    exchange(&c, &a, &b, 10, 200, 10 * TICK_MS, DELAY, DELAY);
    ck_assert_uint_eq(c.len, 1);
    struct clocks_estimate e = clocks_pair_estimate(c.pairs[0]);
    ck_assert(e.both && e.drift_known && !clocks_drifts(&e));
    ck_assert_double_eq_tol(e.offset_ns, b.offset, 2);
    ck_assert_double_eq_tol(e.error_ns, (double)DELAY, 2);
    ck_assert_uint_eq(e.segments[0], 200);
    ck_assert_uint_eq(e.segments[1], 200);
    ck_assert_int_eq(e.before, fabs(b.offset) > (double)DELAY);
    ck_assert_int_eq(clocks_differ(&e), fabs(b.offset) > (double)DELAY / 20);
    clocks_fini(&c);
}
END_TEST

START_TEST(a_drift_is_found)
{
    static const double drifts[] = {20e-6, -20e-6, 500e-6, 1e-6};
    struct clocks c;
    struct face a = {1, 0, 0}, b = {2, -3.2e9, drifts[_i]};
    ck_assert_int_eq(clocks_init(&c), 0);
    exchange(&c, &a, &b, 10, 3000, 20 * TICK_MS, DELAY, DELAY);
    struct clocks_estimate e = clocks_pair_estimate(c.pairs[0]);
    ck_assert(e.drift_known && clocks_drifts(&e));
    ck_assert_double_eq_tol(e.drift, b.drift, 0.1e-6);
    ck_assert_double_eq_tol(e.offset_ns, b.offset, 50e3);
    ck_assert_double_lt(e.drift_error, 1e-6);
    struct clocks_fix fixes[CLOCKS_FIXES_MAX];
    ck_assert_uint_eq(clocks_fixes(&c, fixes), 1);
    const struct clocks_fix *f = clocks_fix_find(fixes, 1, 2);
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < 60; i++) {
        tick t = START + (tick)i * TICK_S;
        double off = (double)(int64_t)(clocks_correct(f, shown_at(&b, t)) - t);
        ck_assert_double_eq_tol(off, 0, 50e3);
    }
    clocks_fini(&c);
}
END_TEST

/* A way that becomes longer is no drift; nor is one that is longer than the other. */
START_TEST(a_moving_satellite_is_no_drift)
{
    struct clocks c;
    struct face a = {1, 0, 0}, b = {2, 0, 0};
    ck_assert_int_eq(clocks_init(&c), 0);
    for (int i = 0; i < 1000; i++) {
        tick longer = (tick)i * TICK_US;
        tick t = START + (tick)i * 10 * TICK_MS;
        uint64_t session = (uint64_t)i;
        see(&c, &a, EVENT_TX, t, session, 3, 1);
        see(&c, &b, EVENT_RX, t + DELAY + longer, session, 3, 1);
        see(&c, &b, EVENT_TX, t + DELAY + longer, session, 8, 1);
        see(&c, &a, EVENT_RX, t + 3 * DELAY + 2 * longer, session, 8, 1);
    }
    struct clocks_estimate e = clocks_pair_estimate(c.pairs[0]);
    ck_assert(e.drift_known && !clocks_drifts(&e) && !e.before);
    ck_assert_double_eq_tol(e.delay_rate, 100e-6, 1e-6);
    ck_assert_double_eq_tol(e.offset_ns, -(double)DELAY / 2, 10e3); /* half of what they differ */
    ck_assert_double_ge(e.error_ns, fabs(e.offset_ns));
    clocks_fini(&c);
}
END_TEST

/* One exchange that waits before it arrives there, and back. */
static void exchange_late(struct clocks *c, const struct face *b, int i, tick t, tick there,
                          tick back)
{
    const struct face a = {1, 0, 0};
    uint64_t session = (uint64_t)i;
    see(c, &a, EVENT_TX, t, session, 3, 1);
    see(c, b, EVENT_RX, t + DELAY + there, session, 3, 1);
    see(c, b, EVENT_TX, t + DELAY + there, session, 8, 1);
    see(c, &a, EVENT_RX, t + 2 * DELAY + there + back, session, 8, 1);
}

/* What queues add `part` of a run (0 to 1) after its beginning: one clock, a busy machine. */
static void draw_load(struct rng *rng, int kind, double part, tick *there, tick *back)
{
    double noise = 50e3, load = 0, late = 0; /* ns */
    if (kind == 0) {                         /* bursts at the beginning, and for a while a queue */
        load = part < 0.3 ? 1e6 + 1e6 * rng_unit(rng) : 0;
        late = part > 0.85 ? 400e3 : 0;
        noise = 100e3;
    } else if (kind == 1) { /* the traffic turns round, and with it the queue */
        load = part > 0.5 ? 500e3 : 0;
        late = part > 0.5 ? 0 : 500e3;
    } else if (kind == 2) { /* one way is busier and busier */
        load = 500e3 * part;
        noise = 200e3;
    } else { /* it goes up and down */
        load = part < 0.25 || (part >= 0.5 && part < 0.75) ? 0 : 500e3;
        late = part < 0.75 ? 300e3 : 0;
    }
    *there = (tick)(load + noise * rng_unit(rng));
    *back = (tick)(late + noise * rng_unit(rng));
}

/* In the first two a line through the parts of the run shows; no clock is to be put right. */
START_TEST(a_busy_machine_is_no_drift)
{
    struct clocks c;
    struct face b = {2, 0, 0};
    struct rng rng;
    rng_init(&rng, 7);
    ck_assert_int_eq(clocks_init(&c), 0);
    for (int i = 0; i < 1000; i++) {
        tick there, back;
        draw_load(&rng, _i, i / 1000.0, &there, &back);
        exchange_late(&c, &b, i, START + (tick)i * 22 * TICK_MS, there, back);
    }
    struct clocks_estimate e = clocks_pair_estimate(c.pairs[0]);
    ck_assert(e.drift_known && !e.before && !e.drift_proven);
    ck_assert(!clocks_drifts(&e) && !clocks_certain(&e));
    if (_i < 2)
        ck_assert(clocks_may_drift(&e));
    ck_assert_double_eq_tol(e.offset_ns, 0, _i == 3 ? 200e3 : 20e3);
    struct clocks_fix fixes[CLOCKS_FIXES_MAX];
    ck_assert_uint_eq(clocks_fixes(&c, fixes), 0);
    clocks_fini(&c);
}
END_TEST

/* Jitter of a millisecond, and bursts of ten for half a second each five: over a minute the drift
 * is proven. */
START_TEST(jitter_does_not_hide_a_drift)
{
    static const double drifts[] = {20e-6, -20e-6, 50e-6, 100e-6, -100e-6};
    struct clocks c;
    struct face b = {2, _i % 2 == 0 ? 0 : 3.2e9, drifts[_i]};
    struct rng rng;
    rng_init(&rng, 11);
    ck_assert_int_eq(clocks_init(&c), 0);
    for (int i = 0; i < 1200; i++) {
        double burst = i % 100 < 10 ? 10e6 : 0;
        tick there = (tick)(burst - 1e6 * log(1 - rng_unit(&rng)));
        tick back = (tick)(burst / 2 - 1e6 * log(1 - rng_unit(&rng)));
        exchange_late(&c, &b, i, START + (tick)i * 50 * TICK_MS, there, back);
    }
    struct clocks_estimate e = clocks_pair_estimate(c.pairs[0]);
    ck_assert(e.drift_proven && clocks_drifts(&e) && clocks_certain(&e));
    ck_assert_double_eq_tol(e.drift, drifts[_i], 2e-6);
    ck_assert_double_eq_tol(e.offset_ns, b.offset, 150e3);
    clocks_fini(&c);
}
END_TEST

/* A queue as long as a quarter of the run hides the steps; but in ten minutes the drift exceeds the
 * round trip, so no constant offset fits. */
START_TEST(more_than_the_round_trip_is_a_drift)
{
    struct clocks c;
    struct face b = {2, 0, 100e-6};
    ck_assert_int_eq(clocks_init(&c), 0);
    for (int i = 0; i < 1200; i++)
        exchange_late(&c, &b, i, START + (tick)i * TICK_S / 2, 0,
                      i >= 600 && i < 900 ? 40 * TICK_MS : 0);
    struct clocks_estimate e = clocks_pair_estimate(c.pairs[0]);
    ck_assert(e.drift_proven && clocks_drifts(&e));
    ck_assert_double_eq_tol(e.drift, 100e-6, 10e-6);
    clocks_fini(&c);
}
END_TEST

/* What shows is put right on request, certain or not; a node behind it by both. */
START_TEST(an_offset_below_the_delay)
{
    struct clocks c;
    struct face a = {1, 0, 0}, b = {2, 1e6, 0}, d = {3, 1e9, 0};
    struct clocks_fix fixes[CLOCKS_FIXES_MAX];
    ck_assert_int_eq(clocks_init(&c), 0);
    exchange(&c, &a, &b, 1000, 100, 10 * TICK_MS, DELAY, DELAY);
    exchange(&c, &b, &d, 5000, 100, 10 * TICK_MS, DELAY, DELAY);
    struct clocks_estimate e = clocks_pair_estimate(c.pairs[0]);
    ck_assert(clocks_differ(&e) && clocks_offset_shows(&e) && !clocks_certain(&e));
    ck_assert_double_eq_tol(e.offset_ns, 1e6, 2);
    ck_assert_uint_eq(clocks_fixes(&c, fixes), 2);
    ck_assert_double_eq_tol(clocks_fix_find(fixes, 2, 2)->offset_ns, 1e6, 5);
    ck_assert_double_eq_tol(clocks_fix_find(fixes, 2, 3)->offset_ns, 1e9, 5);
    clocks_fini(&c);
}
END_TEST

START_TEST(one_way_knows_only_what_cannot_be)
{
    struct clocks c;
    struct face a = {1, 0, 0}, b = {2, -1e9, 0};
    ck_assert_int_eq(clocks_init(&c), 0);
    see(&c, &a, EVENT_TX, START, 7, 4, 0);
    see(&c, &b, EVENT_RX, START + DELAY, 7, 4, 0);
    struct clocks_estimate e = clocks_pair_estimate(c.pairs[0]);
    ck_assert(!e.both && e.before && clocks_differ(&e) && !e.drift_known);
    struct clocks_fix fixes[CLOCKS_FIXES_MAX];
    ck_assert_uint_eq(clocks_fixes(&c, fixes), 0);
    clocks_fini(&c);
}
END_TEST

/* A line of three: the third's clock is known by the second's. */
START_TEST(offsets_add_up_along_a_line)
{
    struct clocks c;
    struct face a = {3, 0, 0}, b = {7, 2e9, 0}, d = {5, -1e9, 0};
    struct clocks_fix fixes[CLOCKS_FIXES_MAX];
    ck_assert_int_eq(clocks_init(&c), 0);
    exchange(&c, &b, &d, 5000, 100, 10 * TICK_MS, DELAY, DELAY);
    exchange(&c, &a, &b, 1000, 100, 10 * TICK_MS, DELAY, DELAY);
    ck_assert_uint_eq(clocks_fixes(&c, fixes), 2);
    ck_assert_ptr_null(clocks_fix_find(fixes, 2, 3));
    ck_assert_double_eq_tol(clocks_fix_find(fixes, 2, 7)->offset_ns, 2e9, 5);
    ck_assert_double_eq_tol(clocks_fix_find(fixes, 2, 5)->offset_ns, -1e9, 5);
    clocks_fini(&c);
}
END_TEST

/* What was lost, and clocks that are hours apart, take bounded memory, and the offset stays. */
START_TEST(memory_is_bounded)
{
    struct clocks c;
    struct face a = {1, 0, 0}, b = {2, 3600e9, 0};
    const uint64_t sessions = 3 * CLOCKS_WAITING_MAX;
    ck_assert_int_eq(clocks_init(&c), 0);
    for (uint64_t i = 0; i < sessions; i++) {
        see(&c, &a, EVENT_TX, START + i * TICK_MS, i, 3, 1);
        see(&c, &a, EVENT_RX, START + i * TICK_MS + 2 * DELAY, i, 8, 1);
        ck_assert_uint_le(c.waiting.len, CLOCKS_WAITING_MAX);
    }
    for (uint64_t i = 0; i < sessions; i++) {
        see(&c, &b, EVENT_RX, START + i * TICK_MS + DELAY, i, 3, 1);
        see(&c, &b, EVENT_TX, START + i * TICK_MS + DELAY, i, 8, 1);
        ck_assert_uint_le(c.waiting.len, CLOCKS_WAITING_MAX);
    }
    ck_assert_uint_ge(c.level, 2);
    struct clocks_estimate e = clocks_pair_estimate(c.pairs[0]);
    ck_assert_uint_gt(e.segments[0], 1000);
    ck_assert_double_eq_tol(e.offset_ns, 3600e9, 5);
    clocks_fini(&c);
}
END_TEST

START_TEST(a_correction_stays_in_range)
{
    struct clocks_fix behind = {2, 0, -5e9, 0}, ahead = {2, 0, 5e9, 0};
    ck_assert_uint_eq(clocks_correct(&ahead, TICK_S), 0);
    ck_assert_uint_eq(clocks_correct(&ahead, 6 * TICK_S), TICK_S);
    ck_assert_uint_eq(clocks_correct(&behind, TICK_S), 6 * TICK_S);
    ck_assert_uint_eq(clocks_correct(&behind, TICK_NEVER - 2), TICK_NEVER - 1);
}
END_TEST

SUITE(tools_clocks, t)
{
    tcase_add_loop_test(t, an_offset_is_found, 0, 5);
    tcase_add_loop_test(t, a_drift_is_found, 0, 4);
    tcase_add_test(t, a_moving_satellite_is_no_drift);
    tcase_add_loop_test(t, a_busy_machine_is_no_drift, 0, 4);
    tcase_add_loop_test(t, jitter_does_not_hide_a_drift, 0, 5);
    tcase_add_test(t, more_than_the_round_trip_is_a_drift);
    tcase_add_test(t, an_offset_below_the_delay);
    tcase_add_test(t, one_way_knows_only_what_cannot_be);
    tcase_add_test(t, offsets_add_up_along_a_line);
    tcase_add_test(t, memory_is_bounded);
    tcase_add_test(t, a_correction_stays_in_range);
}
