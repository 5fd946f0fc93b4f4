/* SPDX-License-Identifier: Apache-2.0 */
/* Operators' rules: each criterion by itself, and together. */

#include "bp/agent/rule.h"
#include "tests/unit/suite.h"

static struct eid eid_of(const char *text)
{
    struct eid e;
    ck_assert_int_eq(eid_parse(text, &e), 0);
    return e;
}

static struct eid_patterns pattern_of(const char *text)
{
    struct eid_patterns p;
    const char *why;
    ck_assert_int_eq(eid_patterns_read(text, &p, &why), 0);
    return p;
}

static bool fits(const struct rule *r, const char *to, const char *from, uint64_t bytes,
                 uint64_t flags, enum bundle_priority priority)
{
    const struct eid t = eid_of(to), f = eid_of(from);
    return rule_fits(r, &(struct rule_subject){&t, &f, bytes, flags, priority});
}

START_TEST(one_that_names_nothing_fits_all)
{
    struct rule r = rule_any();
    ck_assert(fits(&r, "ipn:2.7", "ipn:1.1", 0, 0, BUNDLE_BULK));
    ck_assert(fits(&r, "dtn://x/y", "dtn:none", UINT64_MAX, UINT64_MAX, BUNDLE_EXPEDITED));
}
END_TEST

START_TEST(each_criterion)
{
    struct rule r = rule_any();
    r.to = pattern_of("ipn:7.*|ipn:2.*");
    ck_assert(fits(&r, "ipn:2.7", "ipn:1.1", 1, 0, BUNDLE_NORMAL));
    ck_assert(!fits(&r, "ipn:3.7", "ipn:1.1", 1, 0, BUNDLE_NORMAL));
    r = rule_any();
    r.from = pattern_of("ipn:1.1");
    ck_assert(fits(&r, "ipn:2.7", "ipn:1.1", 1, 0, BUNDLE_NORMAL));
    ck_assert(!fits(&r, "ipn:2.7", "ipn:1.2", 1, 0, BUNDLE_NORMAL));
    r = rule_any();
    r.service = 7;
    ck_assert(fits(&r, "ipn:9.7", "ipn:1.1", 1, 0, BUNDLE_NORMAL));
    ck_assert(!fits(&r, "ipn:9.8", "ipn:1.1", 1, 0, BUNDLE_NORMAL));
    ck_assert(!fits(&r, "dtn://a/7", "ipn:1.1", 1, 0, BUNDLE_NORMAL));
    r = rule_any();
    r.size_min = 10;
    r.size_max = 20;
    ck_assert(!fits(&r, "ipn:2.7", "ipn:1.1", 9, 0, BUNDLE_NORMAL));
    ck_assert(fits(&r, "ipn:2.7", "ipn:1.1", 10, 0, BUNDLE_NORMAL));
    ck_assert(fits(&r, "ipn:2.7", "ipn:1.1", 20, 0, BUNDLE_NORMAL));
    ck_assert(!fits(&r, "ipn:2.7", "ipn:1.1", 21, 0, BUNDLE_NORMAL));
}
END_TEST

START_TEST(flags_and_priorities)
{
    static const uint64_t bits[RULE_FLAGS] = {0,
                                              BUNDLE_IS_ADMIN,
                                              BUNDLE_IS_FRAGMENT,
                                              BUNDLE_NO_FRAGMENT,
                                              BUNDLE_APP_ACK,
                                              BUNDLE_REPORT_DELETION};
    for (int flag = 1; flag < RULE_FLAGS; flag++) {
        struct rule r = rule_any();
        r.flag = flag;
        for (int other = 0; other < RULE_FLAGS; other++)
            ck_assert_int_eq(fits(&r, "ipn:2.7", "ipn:1.1", 1, bits[other], BUNDLE_NORMAL),
                             other == flag);
    }
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        struct rule r = rule_any();
        r.priority = p + 1;
        for (int other = 0; other < BUNDLE_PRIORITIES; other++)
            ck_assert_int_eq(fits(&r, "ipn:2.7", "ipn:1.1", 1, 0, (enum bundle_priority)other),
                             p == other);
    }
}
END_TEST

START_TEST(all_of_them_together)
{
    struct rule r = {.to = pattern_of("ipn:2.*"),
                     .from = pattern_of("*"),
                     .service = 7,
                     .size_max = 100,
                     .flag = RULE_FLAG_ACK,
                     .priority = 1 + BUNDLE_BULK};
    ck_assert(fits(&r, "ipn:2.7", "ipn:1.1", 100, BUNDLE_APP_ACK, BUNDLE_BULK));
    ck_assert(!fits(&r, "ipn:2.7", "ipn:1.1", 100, BUNDLE_APP_ACK, BUNDLE_NORMAL));
    ck_assert(!fits(&r, "ipn:2.7", "ipn:1.1", 100, 0, BUNDLE_BULK));
    ck_assert(!fits(&r, "ipn:2.7", "ipn:1.1", 101, BUNDLE_APP_ACK, BUNDLE_BULK));
}
END_TEST

SUITE(bp_rule, t)
{
    tcase_add_test(t, one_that_names_nothing_fits_all);
    tcase_add_test(t, each_criterion);
    tcase_add_test(t, flags_and_priorities);
    tcase_add_test(t, all_of_them_together);
}
