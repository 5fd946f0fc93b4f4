/* SPDX-License-Identifier: Apache-2.0 */
/* A change of a link in mid-run holds from a time that nothing has passed: configured with the
 * times that are reported, it gives the same. And for what the end waits. */
#include <string.h>

#include "channel-emu/emu/emu_link.h"
#include "tests/unit/suite.h"

#define FRAME_BYTES 1000u /* 1 ms on the air */

static struct slice no_payload(const uint8_t *frame, size_t len)
{
    (void)len;
    return slice_of(frame, 0);
}

static void open_link(struct emu_link *l, struct emu_settings *s, const char *text)
{
    struct conf_errors e;
    *s = emu_settings_default();
    s->control = "played";
    conf_errors_init(&e, "s.yaml");
    ck_assert_int_eq(scenario_init(&s->scenario), 0);
    ck_assert_msg(scenario_apply(&s->scenario, text, strlen(text), "", &e) == 0, "%s", e.text[0]);
    ck_assert_int_eq(emu_link_init(l, s, no_payload, stderr), 0);
}

static void put_frames(struct emu_link *l, unsigned n, tick at)
{
    static const uint8_t frame[FRAME_BYTES];
    for (unsigned i = 0; i < n; i++)
        ck_assert_int_eq(emu_link_input(l, EMU_FORWARD, frame, sizeof frame, 0, 0, at), 0);
}

static void run_link(struct emu_link *l, tick now)
{
    struct chan_out out;
    while (emu_link_output(l, EMU_FORWARD, now, &out) == 1)
        ;
}

#define SCENARIO "{overhead: 0, forward: {rate: 8Mbit/s, changes: [{at: 3ms, iid: 1}%s]}}"

START_TEST(a_change_is_not_before_what_was_let_out)
{
    char text[200];
    struct emu_settings s, again;
    struct emu_link l, twin;
    const struct scenario_change change = {.directions = {{.keys = CHAN_KEY_LOSS, .loss = 0}}};
    snprintf(text, sizeof text, SCENARIO, "");
    open_link(&l, &s, text);
    tick begin = l.started;
    put_frames(&l, 8, begin);
    run_link(&l, begin + 4500 * TICK_US);
    ck_assert_int_eq(emu_link_change(&l, &change, begin + 2 * TICK_MS), 0);
    run_link(&l, begin + TICK_S);

    ck_assert_uint_eq(l.directions[0].changed_count, 1);
    ck_assert_uint_eq(l.directions[0].changed[0].at, 4500 * TICK_US);
    snprintf(text, sizeof text, SCENARIO, ", {at: 4500us, iid: 0}");
    open_link(&twin, &again, text);
    put_frames(&twin, 8, begin);
    run_link(&twin, begin + TICK_S);
    const struct chan_counters *a = chan_counters(l.directions[0].chan);
    const struct chan_counters *b = chan_counters(twin.directions[0].chan);
    ck_assert_uint_eq(a->lost[CHAN_RANDOM], 2);
    ck_assert_uint_eq(b->lost[CHAN_RANDOM], 2);
    ck_assert_uint_eq(a->out, b->out);
    emu_link_fini(&l);
    emu_link_fini(&twin);
    scenario_fini(&s.scenario);
    scenario_fini(&again.scenario);
}
END_TEST

START_TEST(a_change_is_not_before_the_last_arrival)
{
    struct emu_settings s;
    struct emu_link l;
    open_link(&l, &s, "{forward: {delay: 1s}}");
    tick begin = l.started;
    put_frames(&l, 1, begin + 1000);
    ck_assert_uint_eq(emu_link_change_time(&l, EMU_FORWARD, begin + 999), begin + 1000);
    ck_assert_uint_eq(emu_link_change_time(&l, EMU_FORWARD, begin + 1001), begin + 1001);
    run_link(&l, begin + 5000);
    ck_assert_uint_eq(emu_link_change_time(&l, EMU_FORWARD, begin + 999), begin + 5000);
    ck_assert_uint_eq(emu_link_change_time(&l, EMU_RETURN, begin + 999), begin + 999);
    emu_link_fini(&l);
    scenario_fini(&s.scenario);
}
END_TEST

/* What is let out after the end when nobody said for how long: all that a change has delayed. */
START_TEST(the_end_waits_for_delays_that_were_told)
{
    struct emu_settings s;
    struct emu_link l;
    const struct scenario_change change = {
        .directions = {{.keys = CHAN_KEY_DELAY, .delay = TICK_S},
                       {.keys = CHAN_KEY_LOSS, .delay = 9 * TICK_S}}};
    const struct scenario_change back = {
        .directions = {{.keys = CHAN_KEY_DELAY, .delay = TICK_MS}}};
    open_link(&l, &s, "{both: {delay: 5ms, jitter: 2ms}}");
    tick begin = l.started, end = begin + 10 * TICK_MS;
    ck_assert_uint_eq(emu_link_drain(&l), 7 * TICK_MS);
    put_frames(&l, 1, begin);
    ck_assert_int_eq(emu_link_change(&l, &change, begin + 1), 0);
    put_frames(&l, 1, begin + TICK_MS);
    ck_assert_int_eq(emu_link_change(&l, &back, begin + 2 * TICK_MS), 0);
    ck_assert_uint_eq(emu_link_drain(&l), TICK_S + 2 * TICK_MS);
    emu_link_end(&l, TICK_NEVER);
    emu_link_close(&l, end);
    emu_link_was_swept(&l, end, false);
    ck_assert(!emu_link_drained(&l));
    run_link(&l, begin + TICK_S / 2);
    ck_assert_uint_eq(chan_counters(l.directions[0].chan)->out, 1);
    ck_assert(!emu_link_drained(&l));
    run_link(&l, begin + 2 * TICK_S);
    ck_assert_uint_eq(chan_counters(l.directions[0].chan)->out, 2);
    ck_assert(emu_link_drained(&l));
    s.drain = 3 * TICK_MS; /* as it was wished */
    ck_assert_uint_eq(emu_link_drain(&l), 3 * TICK_MS);
    emu_link_fini(&l);
    scenario_fini(&s.scenario);
}
END_TEST

/* At the end: until they bring nothing more, or for a second where they always do. */
START_TEST(sockets_are_read_until_they_are_empty)
{
    for (int flood = 0; flood < 2; flood++) {
        struct emu_settings s;
        struct emu_link l;
        open_link(&l, &s, "{both: {delay: 5ms}}");
        tick end = l.started + TICK_MS;
        emu_link_end(&l, end);
        ck_assert(!emu_link_drained(&l));
        emu_link_close(&l, end);
        ck_assert(!emu_link_drained(&l));
        for (tick i = 0; i <= 10; i++) {
            emu_link_was_swept(&l, end + i * TICK_MS, true);
            ck_assert(!emu_link_drained(&l));
            ck_assert_uint_eq(emu_link_wake(&l, end), 0);
        }
        emu_link_was_swept(&l, end + (flood ? TICK_S + 1 : 11 * TICK_MS), flood != 0);
        ck_assert(emu_link_drained(&l));
        emu_link_fini(&l);
        scenario_fini(&s.scenario);
    }
}
END_TEST

SUITE(emu_change, t)
{
    tcase_add_test(t, a_change_is_not_before_what_was_let_out);
    tcase_add_test(t, a_change_is_not_before_the_last_arrival);
    tcase_add_test(t, the_end_waits_for_delays_that_were_told);
    tcase_add_test(t, sockets_are_read_until_they_are_empty);
}
