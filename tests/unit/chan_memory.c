/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation fails once: the channel counts what it had to drop, and goes on; traces and
 * their readers say so and stay whole. And: a steady stream allocates nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan.h"
#include "channel-emu/chan/chan_pack.h"
#include "channel-emu/chan/chan_shared.h"
#include "channel-emu/chan/chan_stats.h"
#include "channel-emu/chan/chan_text.h"
#include "channel-emu/chan/fading/chan_dwell.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "channel-emu/chan/fading/chan_powers.h"
#include "channel-emu/scenario/ltp_rules.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"

/* 50 frames, all inside at once; the number that came out, or -1 when there was no channel. */
static int run_channel(tick jitter, long at, uint64_t *dropped)
{
    static const uint8_t frame[3000];
    struct chan_config k = {.rate_bps = 1000000, .delay = TICK_S, .jitter = jitter};
    struct chan *c;
    struct chan_out out;
    int got = 0;
    *dropped = 0;
    memory.countdown = at;
    int rc = chan_new(&c, &k);
    if (rc < 0) {
        memory.countdown = -1;
        ck_assert_int_eq(rc, HELIO_ENOMEM);
        return -1;
    }
    for (uint64_t i = 0; i < 50; i++)
        chan_input(c, frame, (size_t)i * 60, i, 0);
    while (chan_output(c, TICK_NEVER - 1, &out) == 1)
        got++;
    memory.countdown = -1;
    *dropped = chan_counters(c)->lost[CHAN_MEMORY];
    ck_assert_uint_eq(chan_counters(c)->queued, 0);
    chan_free(c);
    return got;
}

/* _i: with the list, with the heap */
START_TEST(the_channel_drops_and_goes_on)
{
    for (long at = 0;; at++) {
        uint64_t dropped, before = memory.failed;
        int got = run_channel((tick)_i * 5000, at, &dropped);
        if (memory.failed == before) {
            ck_assert_int_ge(at, 50);
            ck_assert_int_eq(got, 50);
            break;
        }
        ck_assert_int_eq(got, at == 0 ? -1 : 49);
        ck_assert_uint_eq(dropped, at == 0 ? 0 : 1);
    }
}
END_TEST

START_TEST(a_steady_stream_allocates_nothing)
{
    static const uint8_t frame[1500];
    struct chan_config k = {.rate_bps = 1000000000, .delay = TICK_MS, .jitter = (tick)_i * 5000};
    struct chan *c;
    struct chan_out out;
    uint64_t settled = 0, wrong = 0;
    ck_assert_int_eq(chan_new(&c, &k), 0);
    for (uint64_t i = 0; i < 20000; i++) {
        tick now = i * 20 * TICK_US;
        if (i == 1000)
            settled = memory_allocations;
        while (chan_output(c, now, &out) == 1)
            wrong += out.len != 1000 + out.tag % 3;
        chan_input(c, frame, (size_t)(1000 + i % 3), i, now);
    }
    settled = memory_allocations - settled; /* Check allocates, too */
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(settled, 0);
    chan_free(c);
}
END_TEST

/* 50 frames of two channels over one transmitter; the number that came out, or -1 without one. */
static int run_shared(long at, uint64_t *dropped)
{
    static const uint8_t frame[3000];
    static const struct chan_change change = {
        .at = 100 * TICK_MS, .keys = CHAN_KEY_RATE, .rate_bps = 2000000};
    struct chan_shared_config line = {.rate_bps = 1000000, .changes = &change, .change_count = 1};
    struct chan_config k = {.delay = TICK_S};
    struct chan_shared *s = NULL;
    struct chan *c[2] = {NULL, NULL};
    struct chan_out out;
    int got = 0;
    *dropped = 0;
    memory.countdown = at;
    int rc = chan_shared_new(&s, &line);
    k.shared = s;
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = chan_new(&c[i], &k);
    for (uint64_t i = 0; i < 50 && rc == 0; i++)
        chan_input(c[i % 2], frame, (size_t)i * 60, i, i * TICK_MS);
    for (int i = 0; i < 2 && rc == 0; i++) {
        while (chan_output(c[i], TICK_NEVER - 1, &out) == 1)
            got++;
        *dropped += chan_counters(c[i])->lost[CHAN_MEMORY];
    }
    memory.countdown = -1;
    chan_free(c[0]);
    chan_free(c[1]);
    chan_shared_free(s);
    ck_assert(rc == 0 || rc == HELIO_ENOMEM);
    return rc < 0 ? -1 : got;
}

START_TEST(a_shared_line_drops_and_goes_on)
{
    long refusals = 0;
    for (long at = 0;; at++) {
        uint64_t dropped, before = memory.failed;
        int got = run_shared(at, &dropped);
        if (memory.failed == before) {
            ck_assert_int_eq(got, 50);
            break;
        }
        refusals += got < 0;
        ck_assert(got < 0 || (got == 49 && dropped == 1));
    }
    ck_assert_int_ge(refusals, 3);
}
END_TEST

/* A change without memory changes nothing, and comes when there is some again. */
START_TEST(a_shared_line_changes_when_it_can)
{
    struct chan_shared_config line = {.rate_bps = 1000000};
    struct chan_config k = {0};
    struct chan_shared *s;
    struct chan *c;
    struct chan_out out;
    ck_assert_int_eq(chan_shared_new(&s, &line), 0);
    k.shared = s;
    ck_assert_int_eq(chan_new(&c, &k), 0);
    memory.countdown = 0;
    int rc = chan_shared_change(s, 8000000, 0);
    memory.countdown = -1;
    ck_assert_int_eq(rc, HELIO_ENOMEM);
    chan_input(c, (const uint8_t[125]){0}, 125, 1, 0);
    ck_assert_int_eq(chan_output(c, TICK_MS - 1, &out), 0);
    ck_assert_int_eq(chan_output(c, TICK_MS, &out), 1);
    ck_assert_int_eq(chan_shared_change(s, 8000000, TICK_S), 0);
    chan_input(c, (const uint8_t[125]){0}, 125, 2, TICK_S);
    ck_assert_int_eq(chan_output(c, TICK_S + 125 * TICK_US, &out), 1);
    chan_free(c);
    chan_shared_free(s);
}
END_TEST

/* Its loss is told, once; its copy's, too. */
START_TEST(a_frame_without_memory_has_a_fate)
{
    struct chan_config k = {.duplicate = 1, .corrupt = 1};
    struct chan_fate f;
    struct chan *c;
    enum chan_reason got[4] = {CHAN_REASONS};
    size_t n = 0;
    ck_assert_int_eq(chan_new(&c, &k), 0);
    memory.countdown = _i;
    chan_input(c, (const uint8_t *)"abc", 3, 1, 0);
    memory.countdown = -1;
    while (n < 4 && chan_fate(c, &f) == 1)
        got[n++] = f.reason;
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(got[0], _i == 0 ? CHAN_MEMORY : CHAN_CORRUPT);
    ck_assert_int_eq(got[1], CHAN_DUPLICATE);
    ck_assert_int_eq(got[2], _i == 0 ? CHAN_CORRUPT : CHAN_MEMORY);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_MEMORY], 1);
    ck_assert_uint_eq(chan_counters(c)->queued, 1);
    chan_free(c);
}
END_TEST

START_TEST(rules_count_what_they_could_not)
{
    struct ltp_rule rule = {.types = 1,
                            .originator = EVENT_NONE,
                            .session = EVENT_NONE,
                            .first = 1,
                            .last = 1,
                            .every = 1,
                            .per_session = true};
    struct ltp_fields f = {.type = 0, .originator = 1};
    struct ltp_rules *r = NULL;
    int rc = 0;
    for (long at = 0; at < 2; at++) {
        memory.countdown = at;
        rc = ltp_rules_new(&r, &rule, 1);
        memory.countdown = -1;
        ck_assert_int_eq(rc, HELIO_ENOMEM);
    }
    ck_assert_int_eq(ltp_rules_new(&r, &rule, 1), 0);
    memory.countdown = 0;
    bool drop = ltp_rules_drop(r, &f);
    memory.countdown = -1;
    ck_assert(!drop);
    ck_assert_uint_eq(ltp_rules_forgotten(r), 1);
    ck_assert(ltp_rules_drop(r, &f));
    ltp_rules_free(r);
}
END_TEST

/* Into the compact form and back, its lengths sorted, a part of it as powers received. */
static int use(const struct trace *t, bool *same)
{
    struct trace back;
    struct dwell d = {0};
    struct powers p = {0};
    struct receiver_config c = {.interleaver = TRACE_STEP_DEFAULT * 3};
    uint8_t *file = NULL;
    size_t len = 0;
    char error[TRACE_PACK_ERROR_MAX];
    trace_init(&back, t->step);
    int rc = trace_pack(t, NULL, &file, &len);
    if (rc == 0)
        rc = trace_unpack(&back, NULL, slice_of(file, len), false, error);
    *same = rc < 0 || (back.steps == t->steps && back.len == t->len);
    trace_fini(&back);
    free(file);
    if (rc == 0)
        rc = dwell_init(&d, t, true);
    dwell_fini(&d);
    for (int i = 0; rc == 0 && i < 3000; i++)
        rc = powers_add(&p, i % 7, false);
    trace_init(&back, t->step);
    if (rc == 0)
        rc = receiver_trace(&back, &c, 3, p.value, p.len);
    trace_fini(&back);
    powers_fini(&p);
    return rc;
}

START_TEST(traces_stay_whole)
{
    char error[GEN_ERROR_MAX];
    struct gen_spec spec;
    gen_spec_init(&spec);
    ck_assert_int_eq(gen_spec_set(&spec, "preset", _i == 0 ? "A" : "leo-low", error), 0);
    for (long at = 0;; at++) {
        struct trace t;
        struct trace_side good, bad;
        uint64_t before = memory.failed;
        bool same = true;
        trace_init(&t, TRACE_STEP_DEFAULT);
        memory.countdown = at;
        int rc = gen_trace(&t, &spec, 100000, 1);
        uint64_t sum = 0;
        for (size_t i = 0; i < t.len; i++)
            sum += t.runs[i].steps;
        bool whole = sum == t.steps;
        if (rc == 0)
            rc = trace_stats(&t, &good, &bad);
        if (rc == 0)
            rc = use(&t, &same);
        memory.countdown = -1;
        ck_assert(same);
        ck_assert(whole);
        trace_fini(&t);
        ck_assert_int_eq(rc, memory.failed == before ? 0 : HELIO_ENOMEM);
        if (memory.failed == before)
            break;
    }
}
END_TEST

START_TEST(a_line_reports_lack_of_memory)
{
    struct trace t;
    struct trace_text p;
    trace_init(&t, TRACE_STEP_DEFAULT);
    trace_text_init(&p, &t);
    memory.countdown = 0;
    int rc = trace_text_line(&p, "0 5", 3);
    memory.countdown = -1;
    ck_assert_int_eq(rc, HELIO_ENOMEM);
    ck_assert_int_eq(trace_text_line(&p, "0 5", 3), 0);
    ck_assert_uint_eq(t.steps, 5);
    trace_fini(&t);
}
END_TEST

SUITE(chan_memory, t)
{
    tcase_add_loop_test(t, the_channel_drops_and_goes_on, 0, 2);
    tcase_add_loop_test(t, a_steady_stream_allocates_nothing, 0, 2);
    tcase_add_loop_test(t, traces_stay_whole, 0, 2);
    tcase_add_loop_test(t, a_frame_without_memory_has_a_fate, 0, 2);
    tcase_add_test(t, a_shared_line_drops_and_goes_on);
    tcase_add_test(t, a_shared_line_changes_when_it_can);
    tcase_add_test(t, rules_count_what_they_could_not);
    tcase_add_test(t, traces_stay_whole);
    tcase_add_test(t, a_line_reports_lack_of_memory);
}
