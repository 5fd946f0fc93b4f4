/* SPDX-License-Identifier: Apache-2.0 */
/* The table of LTP's options: names, values, ranges, and what the parts of it mean. */
#include "tests/unit/ltp_pair.h"

#include "ltp/options.h"
#include "tests/unit/suite.h"

/* Each default is a value of its option, and what a span of defaults has. */
START_TEST(defaults)
{
    struct ltp_span span;
    memset(&span, 0xff, sizeof span);
    for (const struct ltp_option *o = ltp_options; o->name != NULL; o++) {
        ck_assert_msg(ltp_option_set(o, &span, o->initial) == 0, "%s", o->name);
        ck_assert_ptr_eq(ltp_option_find(o->name), o);
    }
    ck_assert_uint_eq(span.segment_max, 1024);
    ck_assert_uint_eq(span.checkpoint_extra, 20);
    ck_assert_uint_eq(span.retries_max, 20);
    ck_assert_uint_eq(span.report_defer, 0);
    ck_assert(!span.recovery.merge_claims);
    ck_assert_uint_eq(span.recovery.sessions_bytes, 0);
}
END_TEST

START_TEST(values)
{
    static const struct {
        const char *name, *text;
        int rc;
    } cases[] = {{"copy-spacing", "2ms", 0},
                 {"copy_spacing", "1h", 0},
                 {"copy_spacing", "61min", HELIO_EINVAL},
                 {"copy_spacing", "2", HELIO_EFORMAT},
                 {"closing", "64", 0},
                 {"closing", "65", HELIO_EINVAL},
                 {"closing", "4294967297", HELIO_EINVAL},
                 {"closing", "", HELIO_EFORMAT},
                 {"segment", "63B", HELIO_EINVAL},
                 {"segment", "64", 0},
                 {"segment", "65000B", 0},
                 {"segment", "65001B", HELIO_EINVAL},
                 {"sessions", "0", HELIO_EINVAL},
                 {"sessions-bytes", "20TiB", 0},
                 {"merge-claims", "yes", 0},
                 {"merge-claims", "true", HELIO_EFORMAT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ltp_span span = {0}, before = {0};
        const struct ltp_option *o = ltp_option_find(cases[i].name);
        ck_assert_ptr_nonnull(o);
        ck_assert_msg(ltp_option_set(o, &span, cases[i].text) == cases[i].rc, "%s %s",
                      cases[i].name, cases[i].text);
        ck_assert_int_eq(memcmp(&span, &before, sizeof span) != 0, cases[i].rc == 0);
    }
    ck_assert_ptr_null(ltp_option_find("copy"));
    ck_assert_ptr_null(ltp_option_find("copies_"));
    ck_assert_ptr_null(ltp_option_find(""));
}
END_TEST

/* A value goes to its own field, whatever its width, and to no other. */
START_TEST(fields)
{
    for (const struct ltp_option *o = ltp_options; o->name != NULL; o++) {
        struct ltp_span span = {0};
        const unsigned char *bytes = (const unsigned char *)&span;
        ltp_option_put(o, &span, 1);
        size_t set = 0;
        for (size_t i = 0; i < sizeof span; i++)
            set += bytes[i] != 0 && (i < o->at || i >= o->at + o->size) ? 2 : bytes[i];
        ck_assert_msg(set == 1, "%s", o->name);
    }
}
END_TEST

START_TEST(parts)
{
    struct ltp_recovery k = ltp_recovery_default;
    k.sessions_auto = true;
    k.sessions_bytes = 7;
    k.rto_max = TICK_S;
    ck_assert(ltp_recovery_has(&k, LTP_OPTION_RECEIVER));
    ck_assert(!ltp_recovery_has(&k, LTP_OPTION_SENDER));
    ltp_recovery_keep(&k, LTP_OPTION_UNSEEN | LTP_OPTION_BOUND);
    ck_assert(k.merge_claims && k.oldest_first && k.sessions_auto);
    ck_assert_uint_eq(k.copies + k.closing_bytes + k.checkpoint_segments + k.rto_auto, 0);
    ck_assert_uint_eq(k.copy_spacing, 2 * TICK_MS);
    ck_assert_uint_eq(k.rto_max, TICK_S);
    ck_assert_uint_eq(k.sessions_bytes, 7);
    ck_assert(!ltp_recovery_has(&k, LTP_OPTION_RECEIVER));
    ltp_recovery_keep(&k, LTP_OPTION_BOUND);
    ck_assert(!ltp_recovery_has(&k, LTP_OPTION_UNSEEN) && ltp_recovery_has(&k, LTP_OPTION_BOUND));
    k.report_copies = 1;
    ck_assert(ltp_recovery_has(&k, LTP_OPTION_SENDER));
    ltp_recovery_keep(&k, 0);
    ck_assert(!ltp_recovery_has(&k, ~0U) && k.sessions_auto && k.sessions_bytes == 7);
}
END_TEST

SUITE(ltp_options, t)
{
    tcase_add_test(t, defaults);
    tcase_add_test(t, values);
    tcase_add_test(t, fields);
    tcase_add_test(t, parts);
}
