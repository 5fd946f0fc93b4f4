/* SPDX-License-Identifier: Apache-2.0 */
/* Losses by LTP segment type: the texts of rules, the fields of segments, and which are dropped. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/scenario/ltp_rules.h"
#include "ltp/segment.h"
#include "tests/unit/suite.h"

static struct ltp_rule rule_of(const char *text)
{
    struct ltp_rule rule;
    char error[LTP_RULE_ERROR_MAX];
    int rc = ltp_rule_parse(&rule, text, error);
    ck_assert_msg(rc == 0, "%s", error);
    ck_assert_str_eq(error, "");
    return rule;
}

static struct ltp_rules *rules_of(const char *text)
{
    struct ltp_rule rule = rule_of(text);
    struct ltp_rules *r;
    ck_assert_int_eq(ltp_rules_new(&r, &rule, 1), 0);
    return r;
}

static struct ltp_fields fields(int type, uint64_t originator, uint64_t session)
{
    return (struct ltp_fields){type,       originator, session,   EVENT_NONE,
                               EVENT_NONE, EVENT_NONE, EVENT_NONE};
}

/* One letter per segment of this type: x dropped, . passed. */
static void pattern(struct ltp_rules *r, const struct ltp_fields *f, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = ltp_rules_drop(r, f) ? 'x' : '.';
    out[n] = '\0';
}

START_TEST(numbers_choose)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {{"report:first=2", "xx.........."},          {"report", "xxxxxxxxxxxx"},
                 {"report:every=5", "....x....x.."},          {"report:list=1+3+9", "x.x.....x..."},
                 {"report:range=3-5", "..xxx......."},        {"report:range=11-", "..........xx"},
                 {"report:range=3-9,every=3", "....x..x...."}};
    char got[16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ltp_rules *r = rules_of(cases[i].text);
        struct ltp_fields f = fields(LTP_RS, 1, 7);
        pattern(r, &f, 12, got);
        ck_assert_str_eq(got, cases[i].expected);
        ck_assert_uint_eq(ltp_rules_count(r, 0).matched, 12);
        uint64_t dropped = 0;
        for (size_t k = 0; k < 12; k++)
            dropped += cases[i].expected[k] == 'x';
        ck_assert_uint_eq(ltp_rules_count(r, 0).dropped, dropped);
        ltp_rules_free(r);
    }
}
END_TEST

START_TEST(types_choose)
{
    static const struct {
        const char *text, *expected; /* by segment type */
    } cases[] = {{"data", "x...x..x........"},   {"red", "x..............."},
                 {"green", "....x..x........"},  {"checkpoint", ".xxx............"},
                 {"report", "........x......."}, {"ack", ".........x......"},
                 {"cancel", "............x.x."}, {"cancel-ack", ".............x.x"},
                 {"any", "xxxxxxxxxxxxxxxx"},    {"report+checkpoint", ".xxx....x......."}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ltp_rules *r = rules_of(cases[i].text);
        for (int type = 0; cases[i].expected[type] != '\0'; type++) {
            struct ltp_fields f = fields(type, 1, 1);
            ck_assert_msg(ltp_rules_drop(r, &f) == (cases[i].expected[type] == 'x'), "%s type %d",
                          cases[i].text, type);
        }
        ltp_rules_free(r);
    }
}
END_TEST

START_TEST(engines_and_sessions_choose)
{
    struct ltp_fields a1 = fields(LTP_RS, 1, 1), a2 = fields(LTP_RS, 1, 2),
                      b1 = fields(LTP_RS, 2, 1);
    struct ltp_rules *r = rules_of("report:originator=1,list=2");
    ck_assert(!ltp_rules_drop(r, &b1) && !ltp_rules_drop(r, &a1) && !ltp_rules_drop(r, &b1));
    ck_assert(ltp_rules_drop(r, &a2)); /* the second of engine 1's, whatever the session */
    ck_assert_uint_eq(ltp_rules_count(r, 0).matched, 2);
    ltp_rules_free(r);
    r = rules_of("report:session=1,first=1");
    ck_assert(!ltp_rules_drop(r, &a2) && ltp_rules_drop(r, &b1) && !ltp_rules_drop(r, &a1));
    ltp_rules_free(r);
}
END_TEST

START_TEST(each_session_counts_by_itself)
{
    struct ltp_rules *r = rules_of("checkpoint:first=1,per=session");
    for (uint64_t s = 0; s < 100; s++) {
        struct ltp_fields f = fields(LTP_RED_CP_EOB, 1, s), g = fields(LTP_RED_CP_EOB, 2, s);
        ck_assert(ltp_rules_drop(r, &f) && ltp_rules_drop(r, &g));
    }
    for (uint64_t s = 0; s < 100; s++) {
        struct ltp_fields f = fields(LTP_RED_CP, 1, s);
        ck_assert(!ltp_rules_drop(r, &f));
    }
    ck_assert_uint_eq(ltp_rules_count(r, 0).dropped, 200);
    ltp_rules_free(r);
}
END_TEST

START_TEST(rules_count_apart)
{
    struct ltp_rule two[] = {rule_of("report:list=1"), rule_of("any:every=2")};
    struct ltp_rules *r;
    struct ltp_fields rs = fields(LTP_RS, 1, 1), ra = fields(LTP_RA, 1, 1);
    ck_assert_int_eq(ltp_rules_new(&r, two, 2), 0);
    ck_assert(ltp_rules_drop(r, &rs)); /* by the first; the second counts it */
    ck_assert(ltp_rules_drop(r, &ra)); /* so this is the second one's second */
    ck_assert(!ltp_rules_drop(r, &rs));
    ck_assert_uint_eq(ltp_rules_count(r, 0).matched, 2);
    ck_assert_uint_eq(ltp_rules_count(r, 1).matched, 3);
    ck_assert_uint_eq(ltp_rules_count(r, 2).matched, 0);
    ltp_rules_free(r);
}
END_TEST

START_TEST(rules_count_apart_in_a_session)
{
    struct ltp_rule two[] = {rule_of("any:list=1,per=session"), rule_of("ack:list=2,per=session")};
    struct ltp_rules *r;
    struct ltp_fields rs = fields(LTP_RS, 1, 1), ra = fields(LTP_RA, 1, 1);
    ck_assert_int_eq(ltp_rules_new(&r, two, 2), 0);
    ck_assert(ltp_rules_drop(r, &rs)); /* the first of any; no acknowledgement yet */
    ck_assert(!ltp_rules_drop(r, &ra));
    ck_assert(ltp_rules_drop(r, &ra));
    ck_assert(!ltp_rules_drop(r, &ra));
    ltp_rules_free(r);
}
END_TEST

START_TEST(sessions_are_limited)
{
    struct ltp_rules *r = rules_of("report:first=1,per=session");
    struct ltp_fields f = fields(LTP_RS, 1, 0);
    for (f.session = 0; f.session < LTP_RULES_SESSIONS_MAX; f.session++)
        ck_assert(ltp_rules_drop(r, &f));
    f.session = 0;
    ck_assert(!ltp_rules_drop(r, &f)); /* heard again: session 1 is the longest silent one now */
    ck_assert_uint_eq(ltp_rules_forgotten(r), 0);
    f.session = LTP_RULES_SESSIONS_MAX;
    ck_assert(ltp_rules_drop(r, &f));
    ck_assert_uint_eq(ltp_rules_forgotten(r), 1);
    f.session = 0;
    ck_assert(!ltp_rules_drop(r, &f));
    f.session = 1;
    ck_assert(ltp_rules_drop(r, &f)); /* it begins anew */
    ck_assert_uint_eq(ltp_rules_forgotten(r), 2);
    ltp_rules_free(r);
}
END_TEST

START_TEST(refuses_wrong_texts)
{
    static const char *const wrong[] = {"",
                                        ":",
                                        "reports",
                                        "report+",
                                        "+report",
                                        "report:",
                                        "report:first",
                                        "report:first=",
                                        "report:first=0",
                                        "report:first=2,",
                                        "report:first=-1",
                                        "report:first=18446744073709551615",
                                        "report:first=99999999999999999999",
                                        "report:every=0",
                                        "report:list=",
                                        "report:list=1+",
                                        "report:list=1+0",
                                        "report:range=5",
                                        "report:range=5-4",
                                        "report:range=0-4",
                                        "report:range=-4",
                                        "report:per=link",
                                        "report:originator=x",
                                        "report:session=",
                                        "report:last=3",
                                        "report:first=1:first=2"};
    struct ltp_rule rule;
    char error[LTP_RULE_ERROR_MAX];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(ltp_rule_parse(&rule, wrong[i], error) == HELIO_EFORMAT, "%s", wrong[i]);
        ck_assert_msg(strstr(error, "write ") != NULL, "%s: %s", wrong[i], error);
    }
    ltp_rule_parse(&rule, "report+rapport:first=1", error);
    ck_assert_str_eq(error,
                     "\"report+rapport:first=1\": \"rapport\" is not understood; write data, "
                     "red, green, checkpoint, report, ack, cancel, cancel-ack or any, joined "
                     "by + (did you mean report?)");
}
END_TEST

START_TEST(a_list_and_the_rules_are_limited)
{
    static struct ltp_rule rules[LTP_RULES_MAX + 1];
    char text[512] = "report:list=1", error[LTP_RULE_ERROR_MAX];
    struct ltp_rule rule;
    struct ltp_rules *r;
    for (size_t i = 1; i < LTP_RULE_LIST_MAX; i++)
        strcat(text, "+2");
    ck_assert_uint_eq(rule_of(text).list_len, LTP_RULE_LIST_MAX);
    strcat(text, "+2");
    ck_assert_int_eq(ltp_rule_parse(&rule, text, error), HELIO_EFORMAT);

    for (size_t i = 0; i <= LTP_RULES_MAX; i++)
        rules[i] = rule_of("any");
    ck_assert_int_eq(ltp_rules_new(&r, rules, LTP_RULES_MAX + 1), HELIO_EINVAL);
    ck_assert_int_eq(ltp_rules_new(&r, rules, LTP_RULES_MAX), 0);
    ltp_rules_free(r);
    ltp_rules_free(NULL);
    for (int i = 0; i < 5; i++) {
        rule = rule_of("any:list=1");
        rule.types = i == 0 ? 0 : rule.types;
        rule.first = i == 1 ? 0 : rule.first;
        rule.every = i == 2 ? 0 : rule.every;
        rule.list_len = i == 3 ? LTP_RULE_LIST_MAX + 1 : rule.list_len;
        rule.list[0] = i == 4 ? 0 : 1;
        ck_assert_int_eq(ltp_rules_new(&r, &rule, 1), HELIO_EINVAL);
    }
}
END_TEST

static struct ltp_fields fields_of(const struct ltp_segment *s)
{
    uint8_t wire[256];
    struct ltp_fields f;
    size_t len = segment_write(s, wire, sizeof wire);
    ck_assert(ltp_fields_read(&f, wire, len));
    ck_assert_int_eq(f.type, s->type);
    ck_assert_uint_eq(f.originator, s->id.originator);
    ck_assert_uint_eq(f.session, s->id.number);
    ck_assert(!ltp_fields_read(&f, wire, len - 1));
    return f;
}

START_TEST(fields_are_those_of_the_segment)
{
    struct ltp_segment s = {.type = LTP_RED_CP,
                            .id = {300, 70000},
                            .client_service = 1,
                            .offset = 5000,
                            .data = slice_of("12345", 5),
                            .cp_serial = 9,
                            .rpt_serial = 0};
    struct ltp_fields f = fields_of(&s);
    ck_assert(f.offset == 5000 && f.data_length == 5 && f.cp_serial == 9 && f.rpt_serial == 0);
    s.type = LTP_GREEN_DATA;
    f = fields_of(&s);
    ck_assert(f.offset == 5000 && f.data_length == 5 && f.cp_serial == EVENT_NONE &&
              f.rpt_serial == EVENT_NONE);
    s = (struct ltp_segment){.type = LTP_RA, .id = {1, 2}, .rpt_serial = 77};
    f = fields_of(&s);
    ck_assert(f.offset == EVENT_NONE && f.data_length == EVENT_NONE && f.rpt_serial == 77 &&
              f.cp_serial == EVENT_NONE);
    s = (struct ltp_segment){.type = LTP_CR, .id = {1, 2}, .reason = 3};
    f = fields_of(&s);
    ck_assert(f.cp_serial == EVENT_NONE && f.rpt_serial == EVENT_NONE);

    uint8_t wire[64];
    struct range claim = {0, 100};
    s = (struct ltp_segment){.type = LTP_RS,
                             .id = {1, 2},
                             .rpt_serial = 5,
                             .cp_serial = 6,
                             .upper = 100,
                             .claim_count = 1};
    size_t len = segment_write_report(&s, &claim, wire, sizeof wire);
    ck_assert(ltp_fields_read(&f, wire, len));
    ck_assert(f.type == LTP_RS && f.cp_serial == 6 && f.rpt_serial == 5 && f.offset == EVENT_NONE);
    ck_assert(!ltp_fields_read(&f, (const uint8_t *)"hello, world", 12));
    ck_assert(!ltp_fields_read(&f, NULL, 0));
}
END_TEST

SUITE(chan_rules, t)
{
    tcase_add_test(t, numbers_choose);
    tcase_add_test(t, types_choose);
    tcase_add_test(t, engines_and_sessions_choose);
    tcase_add_test(t, each_session_counts_by_itself);
    tcase_add_test(t, rules_count_apart);
    tcase_add_test(t, rules_count_apart_in_a_session);
    tcase_add_test(t, sessions_are_limited);
    tcase_add_test(t, refuses_wrong_texts);
    tcase_add_test(t, a_list_and_the_rules_are_limited);
    tcase_add_test(t, fields_are_those_of_the_segment);
}
