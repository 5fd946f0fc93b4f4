/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts of helio-sle user: each step as it is written, and what is refused with its line. */
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"
#include "tools/sle/sle_script.h"

static struct script script;
static char why[256];
static unsigned line;

static int parse(const char *text)
{
    const struct sle_start start = {.quality = SLE_GOOD_ONLY, .tc_vcid = SLE_TC_VC_NONE};
    return script_parse(&script, slice_of(text, strlen(text)), &start, &line, why, sizeof why);
}

static const struct script_step *only(const char *text)
{
    ck_assert_msg(parse(text) == 0, "%s: %s", text, why);
    ck_assert_uint_eq(script.len, 1);
    return &script.steps[0];
}

START_TEST(steps)
{
    ck_assert_int_eq(only("bind")->verb, SCRIPT_BIND);
    script_free(&script);
    const struct script_step *s =
        only("start from now-10s to 2026-11-22T18:00:00Z quality erred gvcid 1.171.* "
             "control-words clcw tc-vcid 5 update-mode change first 9 refused 2 within 3s");
    ck_assert(s->verb == SCRIPT_START && s->from.relative && s->from.past && s->to.given);
    ck_assert(!s->to.relative && s->refused && s->diag_given);
    ck_assert_uint_eq(s->diag, 2);
    ck_assert_uint_eq(s->within, 3 * TICK_S);
    ck_assert(s->start.quality == SLE_ERRED_ONLY && s->start.gvcid.vcid == SLE_MASTER);
    ck_assert(s->start.word == SLE_CLCW && s->start.tc_vcid == 5);
    ck_assert(s->start.update == SLE_CHANGE_BASED && s->start.first_cltu == 9);
    script_free(&script);
    s = only("get-parameter bufferSize is 20");
    ck_assert(s->parameter == SLE_PAR_BUFFER_SIZE && s->is_given && s->number == 20);
    script_free(&script);
    s = only("report 5 refused");
    ck_assert(s->report.report == SLE_REPORT_PERIODIC && s->report.cycle_s == 5 && s->refused);
    ck_assert(!s->diag_given);
    script_free(&script);
    s = only("transfer eB90 earliest +1s latest +2s delay 5ms quiet");
    ck_assert(s->octets_len == 2 && s->from.ns == TICK_S && s->to.ns == 2 * TICK_S && s->quiet);
    ck_assert_uint_eq(s->delay_us, 5000);
    ck_assert_uint_eq(script.octets[s->octets_at], 0xeb);
    ck_assert_uint_eq(script.octets[s->octets_at + 1], 0x90);
    script_free(&script);
    s = only("throw 7 go refused 1");
    ck_assert(s->number == 7 && s->octets_len == 2 && s->refused && s->diag == 1);
    script_free(&script);
    s = only("unbind suspend within 1s");
    ck_assert(s->reason == SLE_UNBIND_SUSPEND && s->within == TICK_S);
    script_free(&script);
    s = only("expect frames 100");
    ck_assert(s->wish == SCRIPT_FRAMES && s->number == 100 && s->within == SCRIPT_WITHIN);
    script_free(&script);
    s = only("expect end-of-data within 2s");
    ck_assert(s->wish == SCRIPT_SYNC && s->value == SLE_SYNC_END);
    script_free(&script);
    ck_assert_uint_eq(only("wait 50ms")->within, 50 * TICK_MS);
    script_free(&script);
}
END_TEST

START_TEST(lines_and_comments)
{
    ck_assert_int_eq(parse("# a comment\n\n  bind # another\r\n\tstop\nexpect status"), 0);
    ck_assert_uint_eq(script.len, 3);
    ck_assert_uint_eq(script.steps[0].line, 3);
    ck_assert_uint_eq(script.steps[1].line, 4);
    ck_assert_uint_eq(script.steps[2].line, 5);
    script_free(&script);
    ck_assert_int_eq(parse(""), 0);
    ck_assert_uint_eq(script.len, 0);
    script_free(&script);
}
END_TEST

static void refuse(const char *text, unsigned where, const char *expected)
{
    ck_assert_msg(parse(text) == HELIO_EFORMAT, "%s", text);
    ck_assert_uint_eq(line, where);
    ck_assert_msg(strstr(why, expected) != NULL, "%s: %s", text, why);
    ck_assert_ptr_null(script.steps);
}

START_TEST(what_is_refused)
{
    refuse("bind\nbound", 2, "'bound': expected bind, start");
    refuse("bind now", 1, "the end of the line");
    refuse("\n\nstart from yesterday", 3, "a time such as");
    refuse("start quality bad", 1, "good, erred or all");
    refuse("start gvcid 1.171", 1, "a channel such as");
    refuse("start tc-vcid 64", 1, "from 0 to 63");
    refuse("get-parameter size", 1, "bufferSize");
    refuse("get-parameter bufferSize is", 1, "a number");
    refuse("report often", 1, "now, stop or seconds");
    refuse("transfer eb9", 1, "hexadecimal");
    refuse("transfer ebxx", 1, "hexadecimal");
    refuse("transfer", 1, "hexadecimal");
    refuse("transfer eb delay 2h", 1, "4294 s");
    refuse("throw 0", 1, "from 1 to 65535");
    refuse("stop refused 256", 1, "from 0 to 255");
    refuse("unbind refused", 1, "end, suspend");
    refuse("wait", 1, "a time such as 2s");
    refuse("wait 2s within 3s", 1, "the end of the line");
    refuse("expect", 1, "frames N, loss");
    refuse("expect frames", 1, "a number");
    refuse("expect frames 0", 1, "from 1");
    refuse("abort refused", 1, "the end of the line");
}
END_TEST

START_TEST(limits)
{
    const size_t all = (SCRIPT_STEPS_MAX + 1) * 5;
    char *text = malloc(all + 1);
    *text = '\0';
    for (size_t i = 0; i < SCRIPT_STEPS_MAX; i++)
        memcpy(text + 5 * i, "stop\n", 6);
    ck_assert_int_eq(parse(text), 0);
    ck_assert_uint_eq(script.len, SCRIPT_STEPS_MAX);
    script_free(&script);
    memcpy(text + 5 * (size_t)SCRIPT_STEPS_MAX, "stop\n", 6);
    refuse(text, SCRIPT_STEPS_MAX + 1, "4096 steps");
    free(text);
    refuse("start a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a", 1, "32 words");
}
END_TEST

SUITE(tools_sle_script, t)
{
    tcase_add_test(t, steps);
    tcase_add_test(t, lines_and_comments);
    tcase_add_test(t, what_is_refused);
    tcase_add_test(t, limits);
}
