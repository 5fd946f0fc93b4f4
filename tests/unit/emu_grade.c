/* SPDX-License-Identifier: Apache-2.0 */
/* The grade of a run and its reasons, by figures that are written here: docs/helio-emu.md. */
#include <jansson.h>
#include <string.h>

#include "channel-emu/emu/emu_link.h"
#include "tests/unit/suite.h"

static struct emu_settings settings;
static struct emu_link link_;

static struct slice no_payload(const uint8_t *frame, size_t len)
{
    (void)len;
    return slice_of(frame, 0);
}

static void open_link(void)
{
    settings = emu_settings_default();
    ck_assert_int_eq(scenario_init(&settings.scenario), 0);
    ck_assert_int_eq(emu_link_init(&link_, &settings, no_payload, stderr), 0);
}

static void close_link(void)
{
    emu_link_fini(&link_);
    scenario_fini(&settings.scenario);
}

/* The verdict in one line: the grade, and what each reason begins with, in their order. */
static void check_verdict(const char *grade, size_t n, const char *const *reasons)
{
    json_t *o = emu_report_link(&link_), *told = json_object_get(o, "not_faithful");
    ck_assert_str_eq(json_string_value(json_object_get(o, "grade")), grade);
    ck_assert_str_eq(emu_report_grade_name(emu_report_grade(&link_)), grade);
    ck_assert_int_eq(json_is_true(json_object_get(o, "faithful")), strcmp(grade, "faithful") == 0);
    ck_assert_uint_eq(json_array_size(told), n);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(told, i));
        ck_assert_msg(strncmp(text, reasons[i], strlen(reasons[i])) == 0, "%s", text);
    }
    json_decref(o);
}

#define VERDICT(grade, ...)                                                                        \
    check_verdict(grade, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),              \
                  (const char *const[]){__VA_ARGS__})
#define FAITHFUL_RUN check_verdict("faithful", 0, NULL)

static void late(int dir, uint64_t of, uint64_t beyond, tick most)
{
    link_.directions[dir].late = (struct emu_late){.count = of, .max = most};
    link_.directions[dir].late_beyond = beyond;
}

/* One frame in a hundred, or one at all, may be late; more than half is no bad luck. */
START_TEST(by_the_share_that_was_late)
{
    late(EMU_FORWARD, 10, 1, TICK_MS);
    FAITHFUL_RUN;
    late(EMU_FORWARD, 10, 2, TICK_MS);
    VERDICT("timing", "forward: 2 frames (20.0 %) left more than ");
    late(EMU_FORWARD, 1000, 10, TICK_MS);
    FAITHFUL_RUN;
    late(EMU_FORWARD, 1000, 11, TICK_MS);
    VERDICT("timing", "forward: 11 frames (1.1 %) left more than ");
    late(EMU_FORWARD, 1000, 500, TICK_MS);
    VERDICT("timing", "forward: 500 frames (50.0 %) left more than ");
    late(EMU_FORWARD, 1000, 501, TICK_MS);
    VERDICT("overload", "forward: 501 frames (50.1 %) left more than ");
}
END_TEST

/* One frame 10 ms late is enough, where that is beyond the tolerance. */
START_TEST(by_the_latest_frame)
{
    late(EMU_RETURN, 1000, 1, 10 * TICK_MS);
    FAITHFUL_RUN;
    late(EMU_RETURN, 1000, 1, 10 * TICK_MS + 1);
    VERDICT("overload", "return: a frame left 10.0 ms late, above 10 ms");
    link_.tolerance = 20 * TICK_MS;
    FAITHFUL_RUN;
}
END_TEST

/* Each frame that is lost, but not by the channel, is too much. */
START_TEST(by_losses)
{
    struct emu_direction *w = &link_.directions[EMU_RETURN];
    uint64_t *const counters[] = {&w->before, &w->too_long, &w->sum_missing, &w->send_failed,
                                  &w->after};
    static const char *const reasons[] = {
        "return: 1 frames dropped by the kernel before they could be read",
        "return: 1 super-packets", "return: 1 frames without their checksum",
        "return: 1 frames that the kernel refused to send",
        "return: 1 frames dropped by the device after they had been sent"};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        *counters[i] = 1;
        VERDICT("losses", reasons[i]);
        *counters[i] = 0;
    }
    w->no_peer = w->gone = w->after_end = 1; /* nobody's fault */
    FAITHFUL_RUN;
    link_.ended = true;
    VERDICT("losses", "the run ended before its configured end");
}
END_TEST

/* The worst kind gives the grade, and its reasons go first. */
START_TEST(the_worst_goes_first)
{
    late(EMU_FORWARD, 10, 2, TICK_MS);
    late(EMU_RETURN, 10, 1, TICK_S);
    VERDICT("overload", "return: a frame left ", "forward: 2 frames ");
    link_.directions[EMU_RETURN].send_failed = 3;
    VERDICT("losses", "return: 3 frames that the kernel", "return: a frame left ",
            "forward: 2 frames ");
    link_.ended = true;
    VERDICT("losses", "the run ended", "return: 3 frames that", "return: a frame", "forward: 2 ");
}
END_TEST

SUITE(emu_grade, t)
{
    tcase_add_checked_fixture(t, open_link, close_link);
    tcase_add_test(t, by_the_share_that_was_late);
    tcase_add_test(t, by_the_latest_frame);
    tcase_add_test(t, by_losses);
    tcase_add_test(t, the_worst_goes_first);
}
