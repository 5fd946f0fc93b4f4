/* SPDX-License-Identifier: Apache-2.0 */
/* A request to send: it comes back as it was written, and what nobody could have typed is not
 * taken. */
#include <string.h>

#include "bp/codec/bundle.h"
#include "bp/codec/qos.h"
#include "tests/unit/suite.h"
#include "tools/perf/perf_request.h"
#include "tools/perf/perf_wire.h"

static const struct perf_options asked = {.mode = PERF_MODE_TIME,
                                          .time = 20 * TICK_S,
                                          .rate = 2.5e6,
                                          .ramp = 1000.125,
                                          .payload = 50000,
                                          .lifetime_ms = 300000,
                                          .ack_timeout = TICK_S,
                                          .flags = BUNDLE_NO_FRAGMENT,
                                          .crc = 3,
                                          .priority = 3,
                                          .ordinal = 254};

START_TEST(it_comes_back)
{
    uint8_t out[PERF_REQUEST_LEN + 1] = {0};
    struct perf_options got = {.linger = 7, .destination = "ipn:1.1"};
    perf_request_write(&asked, out);
    ck_assert(perf_request_parse(slice_of(out, sizeof out), &got)); /* more may follow one day */
    ck_assert_int_eq(got.mode, PERF_MODE_TIME);
    ck_assert_uint_eq(got.time, 20 * TICK_S);
    ck_assert_double_eq(got.rate, 2.5e6);
    ck_assert_double_eq(got.ramp, 1000.125);
    ck_assert(!got.rate_in_bundles);
    ck_assert_uint_eq(got.payload, 50000);
    ck_assert_uint_eq(got.lifetime_ms, 300000);
    ck_assert_uint_eq(got.ack_timeout, TICK_S);
    ck_assert_uint_eq(got.flags, BUNDLE_NO_FRAGMENT);
    ck_assert_uint_eq(got.crc, 3);
    ck_assert_uint_eq(got.priority, 3);
    ck_assert_uint_eq(got.ordinal, 254);
    ck_assert_uint_eq(got.linger, 7); /* not of the request */
    ck_assert_str_eq(got.destination, "ipn:1.1");
    for (size_t len = 0; len < PERF_REQUEST_LEN; len++)
        ck_assert(!perf_request_parse(slice_of(out, len), &got));
}
END_TEST

static bool is_taken(const struct perf_options *o)
{
    uint8_t out[PERF_REQUEST_LEN];
    struct perf_options got = {.linger = 7};
    perf_request_write(o, out);
    bool taken = perf_request_parse(slice_of(out, sizeof out), &got);
    ck_assert(taken || (got.linger == 7 && got.payload == 0)); /* untouched otherwise */
    return taken;
}

START_TEST(what_nobody_could_have_typed)
{
    struct perf_options o = asked;
    o.mode = PERF_MODE_DATA; /* and no data */
    ck_assert(!is_taken(&o));
    o.data = 1000; /* a ramp is of a time */
    ck_assert(!is_taken(&o));
    o.ramp = 0;
    ck_assert(is_taken(&o));
    o.window = 3; /* and a rate */
    ck_assert(!is_taken(&o));
    o.rate = 0;
    ck_assert(is_taken(&o));
    o.payload = PERF_HEAD - 1;
    ck_assert(!is_taken(&o));
    o.payload = PERF_HEAD;
    o.lifetime_ms = 0;
    ck_assert(!is_taken(&o));
    o.lifetime_ms = 1;
    ck_assert(is_taken(&o));
    o.crc = 4;
    ck_assert(!is_taken(&o));
    o.crc = 0;
    o.priority = BUNDLE_PRIORITIES + 1;
    ck_assert(!is_taken(&o));
    o.priority = 0;
    o.ordinal = 255;
    ck_assert(!is_taken(&o));
    o.ordinal = 0;
    o.flags = BUNDLE_REPORT_DELIVERY; /* is not written at all */
    ck_assert(is_taken(&o));
    uint8_t out[PERF_REQUEST_LEN];
    perf_request_write(&o, out);
    out[64 + 6] = 0xff; /* flags that are not ours to set */
    ck_assert(!perf_request_parse(slice_of(out, sizeof out), &o));
    out[64 + 6] = 0;
    out[64 + 3] = 2; /* neither bits nor bundles */
    ck_assert(!perf_request_parse(slice_of(out, sizeof out), &o));
}
END_TEST

/* A bundle in 1000 s, or a bit in one: below that a rate is none. */
START_TEST(least_rates)
{
    struct perf_options o = asked;
    o.ramp = 0;
    o.rate = 1;
    ck_assert(is_taken(&o));
    o.rate = 0.999;
    ck_assert(!is_taken(&o));
    o.rate = 1;
    o.ramp = 0.999;
    ck_assert(!is_taken(&o));
    o.ramp = 1;
    ck_assert(is_taken(&o));
    o.rate_in_bundles = true;
    o.rate = o.ramp = 0.001;
    ck_assert(is_taken(&o));
    o.rate = 0.0004; /* is written as 0 */
    ck_assert(!is_taken(&o));
}
END_TEST

START_TEST(every_answer_has_words)
{
    for (uint64_t i = 0; i <= PERF_ANSWERS; i++)
        ck_assert_uint_gt(strlen(perf_answer_text(i)), 5);
    ck_assert_str_ne(perf_answer_text(PERF_ANSWERS), perf_answer_text(PERF_UNABLE));
    ck_assert_str_eq(perf_answer_text(UINT64_MAX), perf_answer_text(PERF_ANSWERS));
}
END_TEST

SUITE(tools_perf_request, t)
{
    tcase_add_test(t, it_comes_back);
    tcase_add_test(t, what_nobody_could_have_typed);
    tcase_add_test(t, least_rates);
    tcase_add_test(t, every_answer_has_words);
}
