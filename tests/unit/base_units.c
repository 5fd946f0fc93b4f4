/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as people write them, right and wrong. */

#include "base/err.h"
#include "base/units.h"
#include "tests/unit/suite.h"

typedef int parser(const char *text, uint64_t *out);

static const struct {
    parser *parse;
    const char *text;
    uint64_t want;
} right[] = {
    {units_duration, "30ms", 30 * TICK_MS},
    {units_duration, "0.5s", 500 * TICK_MS},
    {units_duration, "100us", 100 * TICK_US},
    {units_duration, "1ns", 1},
    {units_duration, "2min", 120 * TICK_S},
    {units_duration, "1h", 3600 * TICK_S},
    {units_duration, "1d", 86400 * TICK_S},
    {units_duration, "0", 0},
    {units_duration, "0.000000001s", 1},
    {units_rate, "500Mbit/s", 500000000},
    {units_rate, "2.5Gbit/s", 2500000000},
    {units_rate, "9600bit/s", 9600},
    {units_rate, "100Mbps", 100000000},
    {units_rate, "1MB/s", 8000000},
    {units_rate, "unlimited", 0},
    {units_size, "1024B", 1024},
    {units_size, "1024", 1024},
    {units_size, "500kB", 500000},
    {units_size, "20GiB", UINT64_C(20) << 30},
    {units_size, "1.5KiB", 1536},
    {units_size, "2TB", UINT64_C(2000000000000)},
};

static const struct {
    parser *parse;
    const char *text;
} wrong[] = {
    {units_duration, ""},
    {units_duration, "30"},
    {units_duration, "ms"},
    {units_duration, "30 ms"},
    {units_duration, "-1s"},
    {units_duration, "1.s"},
    {units_duration, ".5s"},
    {units_duration, "1.2.3s"},
    {units_duration, "30MS"},
    {units_duration, "700000d"},
    {units_duration, "1sx"},
    {units_rate, "500"},
    {units_rate, "500M"},
    {units_rate, "fast"},
    {units_rate, "0"},
    {units_rate, "0Mbit/s"},
    {units_size, "12kb"},
    {units_size, "1e3B"},
    {units_size, "20000000TiB"},
    {units_size, "9999999999999999999"},
    {units_duration, "0.00000000000000000000000000000000000000000000000000000000000000000000000s"},
};

START_TEST(right_ones)
{
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        uint64_t v = 77;
        ck_assert_msg(right[i].parse(right[i].text, &v) == 0, "%s", right[i].text);
        ck_assert_uint_eq(v, right[i].want);
    }
}
END_TEST

START_TEST(wrong_ones)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t v = 77;
        ck_assert_msg(wrong[i].parse(wrong[i].text, &v) == HELIO_EFORMAT, "%s", wrong[i].text);
        ck_assert_uint_eq(v, 77);
    }
}
END_TEST

START_TEST(counts)
{
    uint64_t v = 77;
    ck_assert_int_eq(units_count("18446744073709551615", UINT64_MAX, &v), 0);
    ck_assert_uint_eq(v, UINT64_MAX);
    ck_assert_int_eq(units_count("18446744073709551616", UINT64_MAX, &v), HELIO_EFORMAT);
    ck_assert_int_eq(units_count("11", 10, &v), HELIO_EFORMAT);
    ck_assert_int_eq(units_count("10", 10, &v), 0);
    ck_assert_int_eq(units_count("", 10, &v), HELIO_EFORMAT);
    ck_assert_int_eq(units_count("1x", 10, &v), HELIO_EFORMAT);
    ck_assert_uint_eq(v, 10);
}
END_TEST

START_TEST(mended_ones)
{
    static const struct {
        enum units_kind kind;
        const char *text, *want;
    } rows[] = {{UNITS_DURATION, "100 msec", "100ms"},
                {UNITS_DURATION, "1.5 s", "1.5s"},
                {UNITS_DURATION, "5 minutes", "5min"},
                {UNITS_DURATION, "2Hours", "2h"},
                {UNITS_DURATION, "30MS", "30ms"},
                {UNITS_DURATION, "30000\xc2\xb5s", "30000us"},
                {UNITS_DURATION, "30000 \xce\xbcs", "30000us"},
                {UNITS_DURATION, "30", NULL},
                {UNITS_DURATION, "1us", NULL}, /* right as it is */
                {UNITS_RATE, "5kbit/s", NULL},
                {UNITS_DURATION, "soon", NULL},
                {UNITS_DURATION, "5 fortnights", NULL},
                {UNITS_DURATION, "99999999999999999 days", NULL},
                {UNITS_RATE, "50MB", "50MB/s"}, /* bytes */
                {UNITS_RATE, "6.25 MBps", "6.25MB/s"},
                {UNITS_RATE, "500Mb", "500Mbit/s"},
                {UNITS_RATE, "500 mbps", "500Mbit/s"},
                {UNITS_RATE, "2.5 Gbit", "2.5Gbit/s"},
                {UNITS_RATE, "10 Mbits/s", "10Mbit/s"},
                {UNITS_RATE, "0 Mbit", NULL},
                {UNITS_SIZE, "1 GiB", "1GiB"},
                {UNITS_SIZE, "20 MBytes", "20MB"},
                {UNITS_SIZE, "4k", "4kB"},
                {UNITS_SIZE, "100000000000000000000000000000000000000000000 kB", NULL},
                {UNITS_SIZE, "", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[UNITS_MEND_CAP];
        const bool known = units_mend(rows[i].kind, rows[i].text, out);
        ck_assert_msg(known == (rows[i].want != NULL), "%s", rows[i].text);
        if (known)
            ck_assert_str_eq(out, rows[i].want);
    }
}
END_TEST

SUITE(base_units, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, right_ones);
    tcase_add_test(t, wrong_ones);
    tcase_add_test(t, counts);
    tcase_add_test(t, mended_ones);
}
