/* SPDX-License-Identifier: Apache-2.0 */
/* What a client says when nothing arrives, by what it has heard; and rows of a monitor. */
#include <string.h>

#include "tests/unit/suite.h"
#include "tools/perf/perf_hint.h"
#include "tools/perf/perf_monitor.h"

static void report(struct perf_hint *h, const char *node, enum status_item item,
                   enum status_reason reason)
{
    uint8_t out[512];
    struct status_report r = {.reason = (uint64_t)reason, .subject = {.source = eid_ipn(0, 1, 7)}};
    r.asserted[item] = true;
    int len = status_report_encode(&r, out, sizeof out);
    ck_assert_int_gt(len, 0);
    ck_assert(perf_hint_report(h, node, slice_of(out, (size_t)len)));
}

static void say(const struct perf_hint *h, const char *want)
{
    char text[512] = "";
    FILE *f = fmemopen(text, sizeof text, "w");
    perf_hint_print(h, "ipn:3.2000", f);
    fclose(f);
    ck_assert_msg(strstr(text, want) != NULL, "%s: not \"%s\"", text, want);
}

START_TEST(the_surest_word_comes_first)
{
    struct perf_hint h = {0};
    say(&h, "no acknowledgement from ipn:3.2000: is a server registered there");
    report(&h, "ipn:1.0", STATUS_FORWARDED, REASON_NONE);
    say(&h, "ipn:1.0 forwarded a bundle towards ipn:3.2000; nothing is known");
    report(&h, "ipn:2.0", STATUS_RECEIVED, REASON_NONE);
    say(&h, "ipn:2.0 received a bundle; nothing is known");
    report(&h, "ipn:3.0", STATUS_RECEIVED, REASON_NONE);
    say(&h, "ipn:3.0 has a bundle for ipn:3.2000, and nobody takes it there");
    report(&h, "ipn:3.0", STATUS_DELIVERED, REASON_NONE);
    say(&h, "ipn:3.0 delivered a bundle, but no answer arrived; does it have a route back?");
    perf_hint_refused(&h, "no room");
    perf_hint_refused(&h, "");
    say(&h, "our own node refused bundles 2 times: no reason given");
    report(&h, "ipn:2.0", STATUS_DELETED, REASON_DEPLETED_STORAGE);
    say(&h, "ipn:2.0 deleted 1 bundle: depleted storage");
    ck_assert(!perf_hint_report(&h, "ipn:2.0", slice_of("x", 1)));
    ck_assert(h.reports[STATUS_RECEIVED] == 2 && h.reports[STATUS_DELIVERED] == 1);
}
END_TEST

START_TEST(rows_have_all_columns)
{
    char text[1024] = "";
    struct perf_monitor_row r = {
        .source = "ipn:2.0", .time_ms = 5000, .sequence = 3, .since = 1500 * TICK_MS};
    struct status_report *s = &r.report;
    s->subject = (struct bundle_id){.source = eid_ipn(0, 1, 7),
                                    .time_ms = 4000,
                                    .sequence = 9,
                                    .fragment = true,
                                    .offset = 100};
    s->subject_bytes = 50;
    s->asserted[STATUS_RECEIVED] = s->timed[STATUS_RECEIVED] = true;
    s->time_ms[STATUS_RECEIVED] = 4900;
    s->asserted[STATUS_DELETED] = true; /* without a time */
    s->reason = REASON_LIFETIME_EXPIRED;
    FILE *f = fmemopen(text, sizeof text, "w");
    perf_monitor_write_row(f, &r);
    r.stop = true;
    perf_monitor_write_row(f, &r);
    fclose(f);
    ck_assert_str_eq(
        text, "1.500000;ipn:2.0;5000;3;STATUS_REPORT;ipn:1.7;4000;9;100;50;;;4900;;0;lifetime "
              "expired\n"
              "1.500000;ipn:2.0;5000;3;CLIENT_STOP;;;;;;;;;;;\n");
}
END_TEST

SUITE(tools_perf_hint, t)
{
    tcase_add_test(t, the_surest_word_comes_first);
    tcase_add_test(t, rows_have_all_columns);
}
