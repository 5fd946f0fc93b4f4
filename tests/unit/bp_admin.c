/* SPDX-License-Identifier: Apache-2.0 */
/* Status reports: round trips, a vector, damage. */
#include "bp_help.h"

#include "base/rng.h"
#include "bp/codec/admin.h"
#include "tests/unit/suite.h"

static void assert_report(const struct status_report *a, const struct status_report *b)
{
    for (int i = 0; i < STATUS_ITEMS; i++) {
        ck_assert_int_eq(a->asserted[i], b->asserted[i]);
        ck_assert_int_eq(a->timed[i], b->timed[i]);
        ck_assert(!a->timed[i] || a->time_ms[i] == b->time_ms[i]);
    }
    ck_assert_uint_eq(a->reason, b->reason);
    ck_assert(eid_equal(&a->subject.source, &b->subject.source));
    ck_assert_uint_eq(a->subject.time_ms, b->subject.time_ms);
    ck_assert_uint_eq(a->subject.sequence, b->subject.sequence);
    ck_assert_int_eq(a->subject.fragment, b->subject.fragment);
    ck_assert_uint_eq(a->subject.offset, b->subject.offset);
    ck_assert_uint_eq(a->subject_bytes, b->subject_bytes);
}

START_TEST(random_reports_come_back)
{
    struct rng r;
    rng_init(&r, 5);
    for (int n = 0; n < 2000; n++) {
        struct status_report s = {.reason = rng_below(&r, 20)}, got;
        uint8_t wire[512];
        for (int i = 0; i < STATUS_ITEMS; i++) {
            s.asserted[i] = rng_chance(&r, .5);
            s.timed[i] = s.asserted[i] && rng_chance(&r, .5);
            s.time_ms[i] = rng_u64(&r);
        }
        s.subject.source = eid_ipn(rng_below(&r, 2), 1 + rng_below(&r, 99), rng_u64(&r));
        if (rng_chance(&r, .3))
            ck_assert_int_eq(eid_parse("dtn://node/app", &s.subject.source), 0); /* erratum 8525 */
        s.subject.time_ms = rng_u64(&r);
        s.subject.sequence = rng_below(&r, 1000);
        s.subject.fragment = rng_chance(&r, .5);
        s.subject.offset = s.subject.fragment ? rng_u64(&r) : 0;
        s.subject_bytes = s.subject.fragment ? rng_u64(&r) : 0;
        int len = status_report_encode(&s, wire, sizeof wire);
        ck_assert_int_gt(len, 0);
        ck_assert_int_eq(status_report_decode(wire, (size_t)len, &got), 0);
        assert_report(&s, &got);
        for (int cut = 0; cut < len; cut++) {
            uint8_t small[512];
            ck_assert_int_eq(status_report_decode(wire, (size_t)cut, &got), HELIO_EFORMAT);
            ck_assert_int_eq(status_report_encode(&s, small, (size_t)cut), HELIO_ESPACE);
        }
        wire[len] = 0;
        ck_assert_int_eq(status_report_decode(wire, (size_t)len + 1, &got), HELIO_EFORMAT);
    }
}
END_TEST

START_TEST(longest_report_fits)
{
    struct status_report s = {.reason = UINT64_MAX, .subject_bytes = UINT64_MAX};
    uint8_t wire[512];
    for (int i = 0; i < STATUS_ITEMS; i++) {
        s.asserted[i] = s.timed[i] = true;
        s.time_ms[i] = UINT64_MAX;
    }
    s.subject = (struct bundle_id){.source = {.scheme = EID_DTN},
                                   .time_ms = UINT64_MAX,
                                   .sequence = UINT64_MAX,
                                   .fragment = true,
                                   .offset = UINT64_MAX};
    memset(s.subject.source.ssp, 'x', EID_SSP_MAX);
    ck_assert_int_gt(status_report_encode(&s, wire, sizeof wire), 0);
}
END_TEST

START_TEST(vector_and_variants)
{
    static const struct {
        const char *hex;
        int rc;
    } cases[] = {
        /* received at 1000, of ipn:2.1, 5.1: RFC 9171 §6.1.1 */
        {"8201 84 84 82f51903e8 81f4 81f4 81f4 00 8202820201 820501", 0},
        {"8201 86 84 81f5 81f4 81f4 81f4 05 8202820201 820501 00 0a", 0},
        {"8201 84 84 82f41903e8 81f4 81f4 81f4 00 8202820201 820501", HELIO_EFORMAT},
        {"8201 84 84 83f50000 81f4 81f4 81f4 00 8202820201 820501", HELIO_EFORMAT},
        {"8201 84 84 8101 81f4 81f4 81f4 00 8202820201 820501", HELIO_EFORMAT},
        {"8201 84 83 81f5 81f4 81f4 00 8202820201 820501", HELIO_EFORMAT},
        {"8201 85 84 81f5 81f4 81f4 81f4 05 8202820201 820501 00", HELIO_EFORMAT},
        {"8301 84 84 81f5 81f4 81f4 81f4 05 8202820201 820501 00", HELIO_EFORMAT},
        {"8203 00", HELIO_ENOENT},
        {"8220 00", HELIO_EFORMAT},
        {"00", HELIO_EFORMAT},
        {"", HELIO_EFORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[100], again[100];
        struct status_report s;
        size_t len = unhex(cases[i].hex, bytes, sizeof bytes);
        ck_assert_msg(status_report_decode(bytes, len, &s) == cases[i].rc, "%s", cases[i].hex);
        if (cases[i].rc != 0)
            continue;
        ck_assert_int_eq(status_report_encode(&s, again, sizeof again), (int)len);
        ck_assert_int_eq(memcmp(bytes, again, len), 0);
    }
}
END_TEST

START_TEST(reasons_have_texts)
{
    ck_assert_str_eq(status_reason_text(REASON_HOP_LIMIT), "hop limit exceeded");
    ck_assert_str_eq(status_reason_text(12), "unassigned");
    ck_assert_str_eq(status_reason_text(UINT64_MAX), "unassigned");
}
END_TEST

SUITE(bp_admin, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, random_reports_come_back);
    tcase_add_test(t, longest_report_fits);
    tcase_add_test(t, vector_and_variants);
    tcase_add_test(t, reasons_have_texts);
}
