/* SPDX-License-Identifier: Apache-2.0 */
/* Alternatives of patterns, and all of a scheme, as draft-ietf-dtn-eid-pattern-07 has them. */
#include "bp_help.h"

#include "base/err.h"
#include "bp/codec/eid.h"
#include "tests/unit/suite.h"

static bool matches(const char *pattern, const char *text)
{
    struct eid_patterns p;
    struct eid e;
    const char *why;
    ck_assert_msg(eid_patterns_read(pattern, &p, &why) == 0, "%s %s", pattern, why);
    ck_assert_int_eq(eid_parse(text, &e), 0);
    return eid_patterns_match(&p, &e);
}

START_TEST(one_of_them_suffices)
{
    static const char set[] = "ipn:2.*|ipn:[5-7].1|dtn://ground/*|imc:3.*";
    ck_assert(matches(set, "ipn:2.9") && matches(set, "ipn:6.1") && matches(set, "imc:3.1"));
    ck_assert(matches(set, "dtn://ground/x") && !matches(set, "dtn://sky/x"));
    ck_assert(!matches(set, "ipn:6.2") && !matches(set, "ipn:3.1") && !matches(set, "imc:4.1"));
    ck_assert(!matches(set, "dtn:none") && !matches(set, "ipn:977000.2.9"));
}
END_TEST

START_TEST(all_of_a_scheme)
{
    static const struct {
        const char *pattern;
        bool ipn, dtn, imc;
    } of[] = {{"*:**", true, true, true},
              {"ipn:**", true, false, false},
              {"2:**", true, false, false},
              {"dtn:**", false, true, false},
              {"1:**", false, true, false},
              {"imc:**", false, false, true},
              {"[ipn,dtn]:**", true, true, false},
              {"[2,1]:**", true, true, false},
              {"[imc]:**|ipn:9.*", false, false, true}};
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        ck_assert_int_eq(matches(of[i].pattern, "ipn:977000.2.9"), of[i].ipn);
        ck_assert_int_eq(matches(of[i].pattern, "dtn://a/b"), of[i].dtn);
        ck_assert_int_eq(matches(of[i].pattern, "imc:1.2"), of[i].imc);
    }
}
END_TEST

START_TEST(ten_alternatives)
{
    char text[256] = "ipn:1.*";
    struct eid_patterns p;
    const char *why;
    for (int i = 2; i <= EID_PATTERNS_MAX; i++)
        sprintf(text + strlen(text), "|ipn:%d.*", i);
    ck_assert_int_eq(eid_patterns_read(text, &p, &why), 0);
    ck_assert_uint_eq(p.len, 10);
    ck_assert(eid_patterns_have(&p, &p.at[9]));
    struct eid_pattern other;
    ck_assert_int_eq(eid_pattern_parse("ipn:11.*", &other), 0);
    ck_assert(!eid_patterns_have(&p, &other));
    strcat(text, "|ipn:11.*");
    ck_assert_int_eq(eid_patterns_read(text, &p, &why), HELIO_EFORMAT);
    ck_assert_ptr_nonnull(strstr(why, "at most 10"));
}
END_TEST

START_TEST(bad_sets)
{
    static const char *const bad[] = {"",           "|",         "ipn:1.*|",      "|ipn:1.*",
                                      "ipn:1.*||*", "ipn:1.x|*", "[ipn]",         "[]:**",
                                      "[ipn,]:**",  "[,ipn]:**", "[ipn]:*",       "[http]:**",
                                      "[ipn:**",    "[3]:**",    "[ipn, dtn]:**", "[*]:**"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct eid_patterns p;
        const char *why = "";
        ck_assert_msg(eid_patterns_read(bad[i], &p, &why) == HELIO_EFORMAT, "'%s'", bad[i]);
        ck_assert_msg(why[0] != '\0', "'%s'", bad[i]);
    }
}
END_TEST

START_TEST(which_patterns_have_nodes)
{
    static const struct {
        const char *text;
        bool node;
    } rows[] = {{"*", true},
                {"ipn:2.0", true},
                {"ipn:2.*", true},
                {"ipn:*.*", true},
                {"ipn:9.*.*", true},
                {"ipn:[2-5].*", true},
                {"ipn:[2-5].0", true},
                {"ipn:[2-5].[0-3]", true},
                {"dtn://x/", true},
                {"dtn://x/*", true},
                {"ipn:2.7", false},
                {"ipn:*.7", false},
                {"ipn:[2-5].1", false},
                {"dtn://x/a", false},
                {"imc:5.*", false},
                {"imc:*.*", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct eid_pattern p;
        ck_assert_msg(eid_pattern_parse(rows[i].text, &p) == 0, "%s", rows[i].text);
        ck_assert_msg(eid_pattern_has_node(&p) == rows[i].node, "%s", rows[i].text);
    }
}
END_TEST

SUITE(bp_eid_patterns, t)
{
    tcase_add_test(t, one_of_them_suffices);
    tcase_add_test(t, all_of_a_scheme);
    tcase_add_test(t, ten_alternatives);
    tcase_add_test(t, bad_sets);
    tcase_add_test(t, which_patterns_have_nodes);
}
