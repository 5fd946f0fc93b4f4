/* SPDX-License-Identifier: Apache-2.0 */
/* Plans in files: what each format means, what is wrong with a file, and that what is written reads
 * back. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "node/plan/plan_draft.h"
#include "tests/unit/plan_file_help.h"
#include "tests/unit/suite.h"

START_TEST(ion_lines)
{
    struct fixture *f = read_text(PLAN_ION, "# a comment\n"
                                            "1 1 config\n"
                                            "s\n"
                                            "a contact +0 +3600 1 2 62500000 1.0\n"
                                            "a  contact +0.5 +1.000000001 2 1 1000 0.25\r\n"
                                            "a range +0 +3600 1 2 0.0125\n"
                                            "m production 1000000\n"
                                            "@ +100\n"
                                            "a contact +0 +10 1 3 125\n"
                                            "\n"
                                            "a contact +20 +30 1 3 125\n"
                                            "a contact +40 +50 1 3 125\n"
                                            "d contact +20 1 3\n"
                                            "c contact +40 1 3 250 0.5\n"
                                            "a range +0 +10 7 8 1\n"
                                            "d range * 7 8");
    struct plan_range r;
    good(f, 4, 1);
    ck_assert_uint_eq(f->draft.skipped, 3);
    has_contact(f, 1, 2, 0, 3600 * TICK_S, 500000000, 1);
    has_contact(f, 2, 1, TICK_S / 2, TICK_S + 1, 8000, 0.25);
    has_contact(f, 1, 3, 100 * TICK_S, 110 * TICK_S, 1000, 1);
    has_contact(f, 1, 3, 140 * TICK_S, 150 * TICK_S, 2000, 0.5);
    ck_assert_int_eq(plan_range_at(f->plan, 2, 1, 0, &r), 0);
    ck_assert_uint_eq(r.owlt, 12500 * TICK_US);
    drop(f);
    f = read_start(PLAN_ION,
                   "a contact 2026/11/22-12:00:00 2026/11/22-13:00:00.5 1 2 1\n"
                   "a contact +7200 +7201 1 2 1\n",
                   DAY0);
    good(f, 2, 0);
    has_contact(f, 1, 2, DAY0, DAY0 + 3600 * TICK_S + TICK_S / 2, 8, 1);
    has_contact(f, 1, 2, DAY0 + 7200 * TICK_S, DAY0 + 7201 * TICK_S, 8, 1);
    ck_assert(f->draft.dated && f->draft.since);
    drop(f);
}
END_TEST

START_TEST(ion_errors)
{
    bad(PLAN_ION, "a contact +0 +10 1 2 x\n", "plan:1: rate: \"x\"");
    bad(PLAN_ION, "\na contact +0 +10 1 2\n", "plan:2: a contact: 6 words");
    bad(PLAN_ION, "a contact 5 +10 1 2 1\n", "start: \"5\" is not understood; write +SECONDS");
    bad(PLAN_ION, "a range 0 +10 1 2 1\n", "start: \"0\" is not understood; write +SECONDS");
    bad(PLAN_ION, "a contact -1 -1 1 2 1\n", "to: \"2\" is not understood; write the same node");
    bad(PLAN_ION, "a contact +0 0 1 2 1\n", "end: \"0\" is not understood");
    bad(PLAN_ION, "a contact +0 2026/02/29-00:00:00 1 2 1\n", "end: \"2026/02/29-00:00:00\"");
    bad(PLAN_ION, "a contact +10 +10 1 2 1\n", "is not after its start");
    bad(PLAN_ION, "a contact +0 +10 1 2 1 2.0\n", "confidence: 2");
    bad(PLAN_ION, "a contact +0 +10 1 2 1 nan\n", "confidence: \"nan\"");
    bad(PLAN_ION, "a contact +0 +10 -1 2 1\n", "from: \"-1\"");
    bad(PLAN_ION, "a contact +0 +10 1 18446744073709551616 1\n", "to: \"18446744073709551616\"");
    bad(PLAN_ION, "a contact +0 +99999999999999999999 1 2 1\n", "end:");
    bad(PLAN_ION, "a range +0 +10 1 2 fast\n", "light time: \"fast\"");
    bad(PLAN_ION, "a range +0 +10 1 2\n", "a range: 6 words");
    bad(PLAN_ION, "d contact +0 1 2\n", "there is none");
    bad(PLAN_ION, "d contact +0 1\n", "write d contact START FROM TO");
    bad(PLAN_ION, "c contact +0 1 2 5\n", "there is none");
    bad(PLAN_ION, "contact 1 2\n", "\"contact\" is not understood");
    bad(PLAN_ION, "a contact +0 +10 1 2 1\na contact +20 +30 1 2 1\n\na contact +5 +15 1 2 1\n",
        "plan:4: contact 1 to 2: overlaps that of line 1");
    bad(PLAN_ION, "a range +0 +10 1 2 1\na range +5 +15 1 2 1\n",
        "plan:2: range 1 to 2: overlaps that of line 1");
}
END_TEST

START_TEST(yaml)
{
    struct fixture *f = read_text(
        PLAN_YAML,
        "contacts:\n"
        "  - {from: 1, to: 2, start: 10s, end: 1h, rate: 500Mbit/s, owlt: 5ms, both: yes}\n"
        "  - {from: 1, to: 3, end: 250us, rate: unlimited, confidence: 0.5}\n"
        "ranges:\n"
        "  - {from: 1, to: 3, end: 10s, owlt: 1ms}\n"
        "  - from: 2\n"
        "    to: 3\n"
        "    end: 60s\n"
        "    table: [{at: 10s, owlt: 3ms}, {at: 20s, owlt: 2ms}, {at: 40s, owlt: 4ms}]\n");
    struct plan_range r;
    good(f, 3, 5);
    has_contact(f, 1, 2, 10 * TICK_S, 3600 * TICK_S, 500000000, 1);
    has_contact(f, 2, 1, 10 * TICK_S, 3600 * TICK_S, 500000000, 1);
    has_contact(f, 1, 3, 0, 250 * TICK_US, 0, 0.5);
    ck_assert_int_eq(plan_range_at(f->plan, 2, 3, 45 * TICK_S, &r), 0);
    ck_assert_uint_eq(r.start, 40 * TICK_S);
    ck_assert_uint_eq(r.end, 60 * TICK_S);
    ck_assert_uint_eq(r.owlt, 4 * TICK_MS);
    ck_assert_int_eq(plan_range_at(f->plan, 2, 3, 0, &r), 0);
    ck_assert_uint_eq(r.start, 10 * TICK_S);
    drop(f);
    f = read_text(PLAN_YAML, "start: 2026-11-22T12:00:00Z\n"
                             "contacts: [{from: 1, to: 2, end: 2026-11-22T12:00:01.5Z, rate: "
                             "1kbit/s}]\n");
    good(f, 1, 0);
    ck_assert_uint_eq(f->draft.start, DAY0);
    has_contact(f, 1, 2, DAY0, DAY0 + 1500 * TICK_MS, 1000, 1);
    drop(f);
}
END_TEST

START_TEST(yaml_errors)
{
#define C "contacts: [{from: 1, to: 2, end: 10s, rate: 1kbit/s"
    bad(PLAN_YAML, "contacts:\n  - {from: 1, end: 10s, rate: 1kbit/s}\n",
        "plan:2: contacts[0].to: this key is missing");
    bad(PLAN_YAML, C ", rte: 1}]\n", "contacts[0].rte: unknown key; did you mean rate?");
    bad(PLAN_YAML, C ", start: 5}]\n",
        "contacts[0].start: \"5\" is not understood; write a duration");
    bad(PLAN_YAML, C ", start: 10s}]\n", "contacts[0].end: 10s is not after its start");
    bad(PLAN_YAML, C ", confidence: 0}]\n", "contacts[0].confidence: 0 is out of range");
    bad(PLAN_YAML, C "}]\nranges: [{from: 1, to: 2, end: 1s}]\n", "ranges[0].owlt: write it, or a");
    bad(PLAN_YAML,
        "ranges: [{from: 1, to: 2, end: 9s, table: [{at: 3s, owlt: 0}, {at: 3s, owlt: 0}]}]\n",
        "ranges[0].table[1].at: not later than");
    bad(PLAN_YAML, "ranges: [{from: 1, to: 2, end: 2s, table: [{at: 3s, owlt: 0}]}]\n",
        "ranges[0].end: 2s is not after");
    bad(PLAN_YAML, "ranges: [{from: 1, to: 2, start: 1s, end: 5s, table: [{at: 3s, owlt: 0}]}]\n",
        "ranges[0].start: a table starts with its first point");
    bad(PLAN_YAML, "[1]\n", "a list is not expected here");
    bad(PLAN_YAML, "", "it needs at least contacts");
    bad(PLAN_YAML, "start: soon\n", "start: \"soon\"");
    bad(PLAN_YAML,
        "contacts:\n  - {from: 1, to: 2, end: 9s, rate: 1MB/s}\n"
        "  - {from: 1, to: 2, start: 8s, end: 10s, rate: 1MB/s}\n",
        "plan:3: contact 1 to 2: overlaps that of line 2");
#undef C
}
END_TEST

START_TEST(hdtn)
{
    struct fixture *f = read_text(PLAN_HDTN, "{\n\t\"contacts\": [\n"
                                             "\t{\"contact\": 0, \"source\": 1, \"dest\": 10,\n"
                                             "\t \"startTime\": 0, \"endTime\": 2000.5,\n"
                                             "\t \"rateBitsPerSec\": 1000000000, \"owlt\": 1},\n"
                                             "\t{\"source\": 10, \"dest\": 1, \"startTime\": 5,\n"
                                             "\t \"endTime\": 6, \"rateBitsPerSec\": 0, "
                                             "\"owlt\": 0.25}\n]}\n");
    struct plan_range r;
    good(f, 2, 2);
    has_contact(f, 1, 10, 0, 2000 * TICK_S + TICK_S / 2, 1000000000, 1);
    has_contact(f, 10, 1, 5 * TICK_S, 6 * TICK_S, 0, 1);
    ck_assert_int_eq(plan_range_at(f->plan, 10, 1, 5 * TICK_S, &r), 0);
    ck_assert_uint_eq(r.owlt, 250 * TICK_MS);
    drop(f);
    bad(PLAN_HDTN, "{\"contacts\": [\n{\"source\": 1}]}",
        "plan:2: contacts[0].dest: this key is missing");
    bad(PLAN_HDTN, "{\"contacts\": [{\"sourc\": 1}]}", "contacts[0].source: this key is missing");
    bad(PLAN_HDTN,
        "{\"contacts\": [{\"source\": 1, \"dest\": 2, \"startTime\": -1, \"endTime\": 2, "
        "\"rateBitsPerSec\": 0, \"owlt\": 0}]}",
        "contacts[0].startTime: \"-1\"");
    bad(PLAN_HDTN, "{\"contact\": []}", "contacts: this key is missing");
}
END_TEST

/* What each format writes reads back to the same plan, but for what it cannot say. */
START_TEST(written)
{
    tick start = _i == 0 ? 0 : DAY0;
    char text[1024];
    snprintf(
        text, sizeof text,
        "%scontacts:\n"
        "  - {from: 1, to: 2, start: 0.5s, end: 10s, rate: 8Mbit/s, owlt: 5ms}\n"
        "  - {from: 18446744073709551615, to: 2, start: 1ns, end: 1h, rate: 8bit/s, owlt: 1ns}\n"
        "  - {from: 2, to: 1, end: 10d, rate: unlimited, owlt: 1.5s}\n",
        _i == 0 ? "" : "start: 2026-11-22T12:00:00Z\n");
    for (int format = 0; format < PLAN_FORMATS; format++) {
        struct fixture *f = read_text(PLAN_YAML, text);
        struct plan_lost lost;
        char *out = NULL;
        size_t len;
        good(f, 3, 3);
        FILE *to = open_memstream(&out, &len);
        ck_assert_int_eq(plan_write(to, f->plan, (enum plan_format)format, start, &lost), 0);
        fclose(to);
        struct fixture *again =
            read_start((enum plan_format)format, out, format == PLAN_HDTN ? start : 0);
        /* ION's lines are of both directions: cut where either changes. */
        good(again, 3, format == PLAN_ION ? 5 : 3);
        ck_assert_uint_eq(lost.ranges + lost.one_way, 0);
        struct plan_cursor at = {0};
        uint64_t id;
        for (const struct plan_contact *c; (c = plan_walk(f->plan, &at, &id)) != NULL;) {
            struct plan_range a, b;
            has_contact(again, c->from, c->to, c->start, c->end, c->rate, c->confidence);
            ck_assert_int_eq(plan_range_at(f->plan, c->from, c->to, c->start, &a), 0);
            ck_assert_int_eq(plan_range_at(again->plan, c->from, c->to, c->start, &b), 0);
            ck_assert_uint_eq(a.owlt, b.owlt);
        }
        drop(again);
        drop(f);
        free(out);
    }
}
END_TEST

/* Refused at its first NUL, and not after all the memory that there is. */
START_TEST(what_is_no_text_is_refused_at_once)
{
    static const char text[] = "a contact +0 +1 1 2 1\na contact +1 +2\0 1 2 1\n";
    char path[] = "/tmp/helio-plan-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, sizeof text - 1), (ssize_t)sizeof text - 1);
    close(fd);
    const char *const paths[] = {path, "/dev/zero"};
    for (int i = 0; i < 2; i++) {
        struct plan_draft d;
        struct conf_errors e;
        plan_draft_init(&d, 0);
        conf_errors_init(&e, paths[i]);
        ck_assert_int_lt(plan_file_read(&d, paths[i], PLAN_ION, &e), 0);
        ck_assert_msg(strstr(e.text[0], "NUL") != NULL, "%s", e.text[0]);
        ck_assert_int_eq(strstr(e.text[0], ":2:") != NULL, i == 0);
        plan_draft_fini(&d);
    }
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(dates)
{
    static const struct {
        const char *text;
        tick want;
    } right[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-22T12:00:00Z", DAY0},
        {"2026/11/22-12:00:00", DAY0},
        {"2024-02-29T23:59:59.999999999Z", UINT64_C(1709251199999999999)},
        {"2000-03-01 00:00:00Z", UINT64_C(951868800) * TICK_S},
        {"2553-12-31T23:59:59Z", UINT64_C(18429292799) * TICK_S},
    };
    static const char *const wrong[] = {"",
                                        "2026-11-22",
                                        "2026-11-22T12:00:00",
                                        "2026-13-01T00:00:00Z",
                                        "2026-02-29T00:00:00Z",
                                        "1969-01-01T00:00:00Z",
                                        "2554-01-01T00:00:00Z",
                                        "2026-11-22T24:00:00Z",
                                        "2026-11-22T12:00:00.Z",
                                        "2026-11-22T12:00:00.1234567890Z",
                                        "2026/11/22-12:00:00Z",
                                        "26-11-22T12:00:00Z"};
    char out[PLAN_TIME_CAP];
    tick t;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        ck_assert_msg(plan_date(right[i].text, &t) == 0, "%s", right[i].text);
        ck_assert_uint_eq(t, right[i].want);
        ck_assert_int_eq(plan_date(plan_date_text(t, i % 2 == 0, out), &t), 0);
        ck_assert_uint_eq(t, right[i].want);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(plan_date(wrong[i], &t) == HELIO_EFORMAT, "%s", wrong[i]);
    ck_assert_str_eq(plan_time_text(1500 * TICK_MS, 0, out), "1.5s");
    ck_assert_str_eq(plan_time_text(TICK_NEVER, 0, out), "never");
    ck_assert_str_eq(plan_time_text(DAY0 + 1, DAY0, out), "2026-11-22T12:00:00.000000001Z");
}
END_TEST

SUITE(tools_plan, t)
{
    tcase_add_test(t, ion_lines);
    tcase_add_test(t, ion_errors);
    tcase_add_test(t, yaml);
    tcase_add_test(t, yaml_errors);
    tcase_add_test(t, hdtn);
    tcase_add_loop_test(t, written, 0, 2);
    tcase_add_test(t, what_is_no_text_is_refused_at_once);
    tcase_add_test(t, dates);
}
