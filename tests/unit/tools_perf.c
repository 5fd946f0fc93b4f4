/* SPDX-License-Identifier: Apache-2.0 */
/* helio-perf's parts that need no node: payload headers, the window, the numbers people type. */
#include <string.h>

#include "base/err.h"
#include "tests/unit/suite.h"
#include "tools/perf/perf_options.h"
#include "tools/perf/perf_window.h"
#include "tools/perf/perf_wire.h"

START_TEST(a_header_comes_back)
{
    uint8_t out[600], body[300];
    struct perf_head got, h = {.kind = PERF_DATA,
                               .flags = PERF_WANT_ACK | PERF_FILE,
                               .session = 0x0102030405060708,
                               .seq = 77,
                               .time = 1234567890123456789,
                               .total = 4242,
                               .offset = 99,
                               .file_crc = 0xdeadbeef,
                               .name = slice_of("a file", 6)};
    struct slice rest;
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 3);
    const struct perf_body sum = perf_body_of(slice_of(body, sizeof body));
    size_t n = perf_write(&h, &sum, out);
    ck_assert_uint_eq(n, PERF_HEAD + 6);
    memcpy(out + n, body, sizeof body);
    n += sizeof body;
    ck_assert_int_eq(perf_parse(slice_of(out, n), &got, &rest), PERF_OK);
    ck_assert_int_eq(got.kind, PERF_DATA);
    ck_assert_uint_eq(got.flags, h.flags);
    ck_assert_uint_eq(got.session, h.session);
    ck_assert_uint_eq(got.seq, 77);
    ck_assert_uint_eq(got.time, h.time);
    ck_assert_uint_eq(got.total, 4242);
    ck_assert_uint_eq(got.offset, 99);
    ck_assert_uint_eq(got.file_crc, h.file_crc);
    ck_assert(slice_equal(got.name, h.name));
    ck_assert(slice_equal(rest, slice_of(body, sizeof body)));
    for (size_t i = 0; i < n * 8; i++) { /* no single bit may change unnoticed */
        out[i / 8] ^= (uint8_t)(1u << (i % 8));
        ck_assert_int_ne(perf_parse(slice_of(out, n), &got, &rest), PERF_OK);
        out[i / 8] ^= (uint8_t)(1u << (i % 8));
    }
    for (size_t len = 0; len < n; len++)
        ck_assert_int_ne(perf_parse(slice_of(out, len), &got, &rest), PERF_OK);
}
END_TEST

START_TEST(an_ack_comes_back)
{
    uint8_t out[PERF_HEAD + PERF_REPORT + PERF_DETAILS];
    const size_t shorter = sizeof out - PERF_DETAILS;
    struct perf_head got, h = {.kind = PERF_ACK, .seq = PERF_SEQ_END};
    struct perf_report back, r = {.bundles = 1,
                                  .bytes = 2,
                                  .duplicates = 3,
                                  .wrong_crc = 4,
                                  .first = 5,
                                  .last = 6,
                                  .delay_mean_ns = 7,
                                  .file_done = 1,
                                  .early = 8,
                                  .delay_max = 9,
                                  .now = 10};
    struct slice rest;
    r.detailed = true;
    ck_assert_uint_eq(perf_write_ack(&h, &r, out), sizeof out);
    ck_assert_int_eq(perf_parse(slice_of(out, sizeof out), &got, &rest), PERF_OK);
    ck_assert(perf_parse_report(rest, &back) && back.detailed);
    ck_assert(back.early == 8 && back.delay_max == 9 && back.now == 10);
    r.detailed = false;
    ck_assert_uint_eq(perf_write_ack(&h, &r, out), shorter);
    ck_assert_int_eq(perf_parse(slice_of(out, shorter), &got, &rest), PERF_OK);
    ck_assert(perf_parse_report(rest, &back) && !back.detailed);
    ck_assert_uint_eq(back.bundles, 1);
    ck_assert_uint_eq(back.wrong_crc, 4);
    ck_assert_uint_eq(back.delay_mean_ns, 7);
    ck_assert_uint_eq(back.file_done, 1);
    ck_assert(!perf_parse_report(slice_of(rest.data, rest.len - 1), &back));
}
END_TEST

START_TEST(names_are_safe)
{
    static const char *const cases[][2] = {{"", "_"},
                                           {"..", "_."},
                                           {"../../etc/passwd", "_._.._etc_passwd"},
                                           {"a b\n", "a_b_"},
                                           {"Data-1.bin", "Data-1.bin"},
                                           {".ssh", "_ssh"}};
    char out[PERF_NAME_MAX + 1], longer[PERF_NAME_MAX + 50];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        perf_safe_name(slice_of(cases[i][0], strlen(cases[i][0])), out);
        ck_assert_str_eq(out, cases[i][1]);
    }
    memset(longer, 'x', sizeof longer);
    perf_safe_name(slice_of(longer, sizeof longer), out);
    ck_assert_uint_eq(strlen(out), PERF_NAME_MAX);
}
END_TEST

START_TEST(window_opens_and_closes)
{
    struct perf_window w;
    tick delay;
    ck_assert_int_eq(perf_window_init(&w, 3, 0, 60 * TICK_S, 300 * TICK_S), 0);
    for (tick i = 0; i < 3; i++) {
        ck_assert(perf_window_open(&w));
        ck_assert_uint_eq(perf_window_sent(&w, 100, 1000 + i), i);
    }
    ck_assert(!perf_window_open(&w));
    ck_assert_int_eq(perf_window_ack(&w, 3, 2000, &delay), 0); /* never sent */
    ck_assert_int_eq(perf_window_ack(&w, 1, 2000, &delay), 1);
    ck_assert_uint_eq(delay, 999);
    ck_assert(perf_window_open(&w));
    ck_assert_int_eq(perf_window_ack(&w, 1, 2500, &delay), 0);
    ck_assert_uint_eq(w.repeated, 2);
    ck_assert_uint_eq(w.acked, 1);
    ck_assert_uint_eq(w.acked_bytes, 100);
    perf_window_fini(&w);
}
END_TEST

START_TEST(a_lost_ack_frees_its_place_and_a_late_one_corrects)
{
    struct perf_window w;
    tick delay;
    ck_assert_int_eq(perf_window_init(&w, 2, 50, 0, 0), 0);
    ck_assert_uint_eq(perf_window_deadline(&w), TICK_NEVER);
    (void)perf_window_sent(&w, 10, 100);
    (void)perf_window_sent(&w, 10, 120);
    ck_assert_uint_eq(perf_window_deadline(&w), 150);
    perf_window_expire(&w, 149);
    ck_assert(!perf_window_open(&w));
    perf_window_expire(&w, 150);
    ck_assert(perf_window_open(&w));
    ck_assert_uint_eq(w.lost, 1);
    ck_assert_uint_eq(perf_window_deadline(&w), 170);
    ck_assert_int_eq(perf_window_ack(&w, 0, 500, &delay), 1);
    ck_assert_uint_eq(delay, 400);
    ck_assert_uint_eq(w.lost, 0);
    ck_assert_uint_eq(w.late, 1);
    ck_assert_uint_eq(w.out, 1);
    perf_window_fini(&w);
}
END_TEST

START_TEST(limits_double_in_an_outage)
{
    struct perf_window w;
    tick delay;
    ck_assert_int_eq(perf_window_init(&w, 1, 0, TICK_S, 10 * TICK_S), 0);
    static const tick limits[] = {1, 2, 4, 8, 10, 10};
    tick now = 0;
    for (size_t i = 0; i < 6; i++) {
        (void)perf_window_sent(&w, 1, now);
        ck_assert_uint_eq(perf_window_deadline(&w), now + limits[i] * TICK_S);
        now += limits[i] * TICK_S;
        perf_window_expire(&w, now);
    }
    ck_assert_uint_eq(w.lost, 6);
    (void)perf_window_sent(&w, 1, now);
    ck_assert_int_eq(perf_window_ack(&w, 6, now + TICK_MS, &delay), 1);
    (void)perf_window_sent(&w, 1, now);
    /* mean 1 ms, deviation 0.5 ms: 1 + 8 x 0.5 + 1000 ms */
    ck_assert_uint_eq(perf_window_deadline(&w), now + 1005 * TICK_MS);
    perf_window_fini(&w);
}
END_TEST

/* One bundle that is never acknowledged, with a long limit, while all others are: the ring ends. */
START_TEST(the_ring_is_not_overrun)
{
    struct perf_window w;
    tick delay;
    ck_assert_int_eq(perf_window_init(&w, 2, TICK_S, 0, 0), 0);
    (void)perf_window_sent(&w, 1, 0);
    uint64_t n = 0;
    for (; perf_window_open(&w); n++)
        ck_assert_int_eq(perf_window_ack(&w, perf_window_sent(&w, 1, 1), 2, &delay), 1);
    ck_assert_uint_eq(n, w.mask);
    perf_window_expire(&w, TICK_S);
    ck_assert(perf_window_open(&w));
    perf_window_fini(&w);
}
END_TEST

START_TEST(quantities)
{
    static const struct {
        const char *text;
        uint64_t want;
    } sizes[] = {{"500000", 500000}, {"500kB", 500000},  {"50k", 50000}, {"1.5M", 1500000},
                 {"64B", 64},        {"2G", 2000000000}, {"1KiB", 1024}, {"0.5k", 500}};
    static const char *const bad_sizes[] = {"",      "k",   "-5",  "5x",
                                            "1e400", "nan", "5 k", "99999999999G"};
    uint64_t size;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ck_assert_int_eq(perf_options_size(sizes[i].text, &size), 0);
        ck_assert_uint_eq(size, sizes[i].want);
    }
    for (size_t i = 0; i < sizeof bad_sizes / sizeof bad_sizes[0]; i++)
        ck_assert_msg(perf_options_size(bad_sizes[i], &size) != 0, "%s", bad_sizes[i]);
    double rate;
    bool bundles;
    ck_assert_int_eq(perf_options_rate("20b", &rate, &bundles), 0);
    ck_assert(bundles && rate > 19.9 && rate < 20.1);
    ck_assert_int_eq(perf_options_rate("2.5M", &rate, &bundles), 0);
    ck_assert(!bundles && rate > 2499999 && rate < 2500001);
    ck_assert_int_eq(perf_options_rate("500Mbit/s", &rate, &bundles), 0);
    ck_assert(rate > 4.99e8 && rate < 5.01e8);
    ck_assert_int_ne(perf_options_rate("0", &rate, &bundles), 0);
    ck_assert_int_eq(perf_options_rate("0.001b", &rate, &bundles), 0);
    ck_assert_int_ne(perf_options_rate("0.0009b", &rate, &bundles), 0);
    ck_assert_int_eq(perf_options_rate("1", &rate, &bundles), 0);
    ck_assert_int_ne(perf_options_rate("0.9", &rate, &bundles), 0);
    ck_assert_int_ne(perf_options_rate("fast", &rate, &bundles), 0);
    tick t;
    ck_assert_int_eq(perf_options_time("0.25", &t), 0);
    ck_assert_uint_eq(t, TICK_S / 4);
    ck_assert_int_eq(perf_options_time("2min", &t), 0);
    ck_assert_uint_eq(t, 120 * TICK_S);
    ck_assert_int_ne(perf_options_time("-1", &t), 0);
    ck_assert_int_ne(perf_options_time("1y", &t), 0);
}
END_TEST

START_TEST(priorities)
{
    static const struct {
        const char *text;
        uint32_t priority, ordinal;
    } right[] = {{"bulk", 1, 0}, {"normal", 2, 0}, {"expedited", 3, 0}, {"expedited:254", 3, 254}};
    static const char *const wrong[] = {
        "", "urgent", "bulky", "bulk:1", "expedited:255", "expedited:", "expedited7"};
    uint32_t priority, ordinal;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        ck_assert_int_eq(perf_options_priority(right[i].text, &priority, &ordinal), 0);
        ck_assert_uint_eq(priority, right[i].priority);
        ck_assert_uint_eq(ordinal, right[i].ordinal);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_int_ne(perf_options_priority(wrong[i], &priority, &ordinal), 0);
}
END_TEST

SUITE(tools_perf, t)
{
    tcase_add_test(t, a_header_comes_back);
    tcase_add_test(t, an_ack_comes_back);
    tcase_add_test(t, names_are_safe);
    tcase_add_test(t, window_opens_and_closes);
    tcase_add_test(t, a_lost_ack_frees_its_place_and_a_late_one_corrects);
    tcase_add_test(t, limits_double_in_an_outage);
    tcase_add_test(t, the_ring_is_not_overrun);
    tcase_add_test(t, quantities);
    tcase_add_test(t, priorities);
}
