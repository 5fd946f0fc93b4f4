/* SPDX-License-Identifier: Apache-2.0 */
/* Which word was meant. */
#include <string.h>

#include "base/words.h"
#include "tests/unit/suite.h"

static const char *const words[] = {"check", "convert", "show", "route"};

START_TEST(the_nearest_is_found)
{
    static const struct {
        const char *typed, *meant;
    } rows[] = {{"chekc", "check"}, {"Check", "check"},  {"convet", "convert"},    {"sho", "show"},
                {"rout", "route"},  {"routes", "route"}, {"converting", "convert"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *found = words_closest(rows[i].typed, words, 4);
        ck_assert_msg(found != NULL && strcmp(found, rows[i].meant) == 0, "%s", rows[i].typed);
    }
}
END_TEST

START_TEST(a_key_is_meant)
{
    static const char *const keys[] = {"name",
                                       "peer",
                                       "peers",
                                       "rate",
                                       "overhead",
                                       "owlt",
                                       "rto",
                                       "rto_auto",
                                       "rto_min",
                                       "rto_max",
                                       "segment",
                                       "sessions",
                                       "auth",
                                       "auth_key_file",
                                       "auth_key_id",
                                       "erasure",
                                       "erasure_interleave",
                                       "socket_buffer",
                                       "erasure_rate",
                                       "local",
                                       "remote",
                                       "margin",
                                       "gather"};
    static const struct {
        const char *typed, *meant;
    } rows[] = {{"speed", "rate"},
                {"rto_ms", "rto"},
                {"owlt_s", "owlt"},
                {"rto-min", "rto_min"},
                {"RATE", "rate"},
                {"rtae", "rate"},
                {"rto_mi", "rto_min"},
                {"sess", "sessions"},
                {"auth_key", "auth_key_id"},
                {"interleave", "erasure_interleave"},
                {"buffer", "socket_buffer"},
                {"rate_limit", "rate"},
                {"bandwidth", "rate"},
                {"latency", "owlt"},
                {"timeout", "rto"},
                {"erasure_rat", "erasure_rate"},
                {"remot", "remote"},
                {"length", NULL}, /* no duration here */
                {"tls", NULL},
                {"x", NULL},
                {"colour", NULL},
                {"steed", NULL},
                {"weather", NULL},
                {"certificate", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *found = words_closest(rows[i].typed, keys, sizeof keys / sizeof *keys);
        const char *meant = rows[i].meant;
        ck_assert_msg(meant == NULL ? found == NULL : found != NULL && strcmp(found, meant) == 0,
                      "%s: %s", rows[i].typed, found != NULL ? found : "none");
    }
}
END_TEST

START_TEST(none_is_near)
{
    char longest[66];
    memset(longest, 's', 65);
    longest[65] = '\0';
    ck_assert_ptr_null(words_closest("draw", words, 4));
    ck_assert_ptr_null(words_closest("route.yaml", words, 4)); /* a file */
    ck_assert_ptr_null(words_closest("", words, 4));
    ck_assert_ptr_null(words_closest("check", words, 0));
    ck_assert_ptr_null(words_closest(longest, words, 4)); /* longer than is compared */
    ck_assert_ptr_null(words_closest("ssss", words, 4));
    ck_assert_ptr_eq(words_closest("show", words, 4), words[2]);
}
END_TEST

START_TEST(a_round_trip_is_no_way)
{
    static const char *const keys[] = {"rate", "owlt"};
    const char *meant = words_closest("RTT", keys, 2);
    ck_assert_str_eq(meant, "owlt");
    ck_assert_str_eq(words_remark("RTT", meant), " It is the time of one way, half the round trip");
    ck_assert_str_eq(words_remark("latency", meant), "");
    ck_assert_str_eq(words_remark("rtt", "rto"), "");
}
END_TEST

/* All of them, or as many as there is room for. */
START_TEST(a_list)
{
    static const char *const keys[] = {"one", "two", "three"};
    char out[16];
    ck_assert_str_eq(words_list(keys, 3, out, 16), "one, two, three");
    ck_assert_str_eq(words_list(keys, 3, out, 15), "one, two, ...");
    ck_assert_str_eq(words_list(keys, 3, out, 14), "one, two, ...");
    ck_assert_str_eq(words_list(keys, 3, out, 13), "one, ...");
    ck_assert_str_eq(words_list(keys, 1, out, 8), "one");
    ck_assert_str_eq(words_list(keys, 3, out, 8), "...");
    ck_assert_str_eq(words_list(keys, 0, out, 8), "");
}
END_TEST

SUITE(base_words, t)
{
    tcase_add_test(t, the_nearest_is_found);
    tcase_add_test(t, a_key_is_meant);
    tcase_add_test(t, none_is_near);
    tcase_add_test(t, a_round_trip_is_no_way);
    tcase_add_test(t, a_list);
}
