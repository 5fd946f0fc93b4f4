/* SPDX-License-Identifier: Apache-2.0 */
/* A frame's quality by its check value, and how many frames are missing by its channel's counts. */
#include "frames/fecf.h"
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"
#include "tools/sle/station/sle_station.h"

enum { LEN = 40, FOLLOWED = 1024 };

static struct settings_source config;
static struct source source;
static uint8_t octets[LEN];

static void begin(uint64_t fecf)
{
    config = (struct settings_source){.kind = SOURCE_TCP, .vc_counts = true, .fecf = fecf};
    source = (struct source){.config = &config};
    ck_assert_int_eq(judge_open(&source), 0);
    ck_assert_ptr_nonnull(source.judge);
}

/* The rest of the frame with its check value; then what is found out. */
static int32_t judge(size_t head, bool good)
{
    memset(octets + head, 0xa5, LEN - head);
    uint16_t crc = fecf_crc(FECF_INIT, octets, LEN - 2);
    octets[LEN - 2] = (uint8_t)(crc >> 8);
    octets[LEN - 1] = (uint8_t)(crc ^ (good ? 0 : 1));
    source.frame = (struct sle_frame){.data = slice_of(octets, LEN)};
    judge_frame(&source);
    return source.frame.continuity;
}

static int32_t aos(unsigned scid, unsigned vcid, uint32_t count, bool good)
{
    const uint8_t head[] = {(uint8_t)(0x40 | scid >> 2),
                            (uint8_t)(scid << 6 | vcid),
                            (uint8_t)(count >> 16),
                            (uint8_t)(count >> 8),
                            (uint8_t)count,
                            0};
    memcpy(octets, head, sizeof head);
    return judge(sizeof head, good);
}

static int32_t tm(unsigned vcid, uint8_t count)
{
    const uint8_t head[] = {0x0a, (uint8_t)(0xb0 | vcid << 1), 0, count, 0x1f, 0xff};
    memcpy(octets, head, sizeof head);
    return judge(sizeof head, true);
}

static int32_t uslp(unsigned length, uint64_t count, bool expedited)
{
    uint8_t head[14] = {
        0xc9, 0xc4, 0x05, 0x40, 0, LEN - 1, (uint8_t)(length | (expedited ? 0x80 : 0))};
    for (unsigned k = 0; k < length; k++)
        head[7 + k] = (uint8_t)(count >> 8 * (length - 1 - k));
    memcpy(octets, head, sizeof head);
    return judge(7 + length, true);
}

START_TEST(check_values)
{
    begin(2);
    ck_assert_int_eq(aos(171, 5, 0, true), 0);
    ck_assert_int_eq(source.frame.quality, SLE_GOOD);
    aos(171, 5, 1, false);
    ck_assert_int_eq(source.frame.quality, SLE_ERRED);
    ck_assert_uint_eq(source.erred, 1);
    source.frame = (struct sle_frame){.data = slice_of(octets, 2)}; /* nothing but it */
    judge_frame(&source);
    ck_assert_int_eq(source.frame.quality, SLE_ERRED);
    judge_end(&source);
    begin(0); /* nobody knows better */
    aos(171, 5, 0, false);
    ck_assert_int_eq(source.frame.quality, SLE_GOOD);
    judge_end(&source);
    begin(4); /* there is one of 32 bits, which is not examined */
    aos(171, 5, 0, true);
    ck_assert_int_eq(source.frame.quality, SLE_UNDETERMINED);
    judge_end(&source);
}
END_TEST

START_TEST(counts_of_aos)
{
    begin(2);
    ck_assert_int_eq(aos(171, 5, 0xfffffe, true), 0);
    ck_assert_int_eq(aos(171, 5, 0xffffff, true), 0);
    ck_assert_int_eq(aos(171, 5, 0, true), 0);
    ck_assert_int_eq(aos(171, 5, 4, true), 3);
    ck_assert_int_eq(aos(171, 6, 77, true), 0); /* another channel's first */
    ck_assert_int_eq(aos(172, 5, 99, true), 0); /* another spacecraft's */
    ck_assert_int_eq(aos(171, 5, 5, true), 0);
    ck_assert_int_eq(aos(171, 6, 80, true), 2);
    ck_assert_int_eq(aos(171, 5, 2, true), 1); /* it began anew: nobody knows how many */
    ck_assert_int_eq(aos(171, 5, 3, true), 0);
    ck_assert_uint_eq(source.missing, 6);
    judge_end(&source);
}
END_TEST

/* An erred frame was received: the gap that it leaves in the counts is not missing. What its header
 * says is not believed. */
START_TEST(erred_ones_are_not_missing)
{
    begin(2);
    aos(171, 5, 10, true);
    ck_assert_int_eq(aos(171, 5, 0x123456, false), 0);
    ck_assert_int_eq(aos(171, 5, 12, true), 0);
    aos(171, 63, 0, false);
    ck_assert_int_eq(aos(171, 5, 16, true), 2); /* 13, 14, 15: one of them was erred */
    aos(171, 5, 17, false);
    aos(171, 5, 18, false);
    ck_assert_int_eq(aos(171, 5, 19, true), 0);
    ck_assert(source.missing == 2 && source.erred == 4);
    judge_end(&source);
}
END_TEST

/* Its virtual channel is not known: it makes the next gap of any channel smaller. The sum is right.
 */
START_TEST(an_erred_one_fills_the_next_gap)
{
    begin(2);
    aos(171, 5, 10, true);
    aos(171, 6, 20, true);
    aos(171, 5, 11, false);
    ck_assert_int_eq(aos(171, 6, 23, true), 1); /* 21 and 22 are missing */
    ck_assert_int_eq(aos(171, 5, 12, true), 1); /* 11 was erred */
    ck_assert_uint_eq(source.missing, 2);
    judge_end(&source);
}
END_TEST

START_TEST(counts_of_tm)
{
    begin(2);
    ck_assert_int_eq(tm(3, 254), 0);
    ck_assert_int_eq(tm(3, 1), 2);
    ck_assert_int_eq(tm(4, 9), 0);
    ck_assert_int_eq(tm(3, 202), 200); /* as far as eight bits tell */
    judge_end(&source);
}
END_TEST

START_TEST(counts_of_uslp)
{
    begin(2);
    for (unsigned length = 1; length <= 7; length++) {
        const uint64_t last = (UINT64_C(1) << 8 * length) - 1;
        judge_end(&source);
        begin(2);
        ck_assert_int_eq(uslp(length, last, false), 0);
        ck_assert_int_eq(uslp(length, 3, false), 3);
        ck_assert_int_eq(uslp(length, 9, true), 0); /* expedited ones count by themselves */
        ck_assert_int_eq(uslp(length, 4, false), 0);
        ck_assert_int_eq(uslp(length, 11, true), 1);
    }
    ck_assert_int_eq(uslp(0, 0, false), 0); /* no count */
    judge_end(&source);
    begin(0);
    for (size_t len = 1; len <= 14; len++) { /* whatever is there */
        source.frame = (struct sle_frame){.data = slice_of(octets, len)};
        octets[6] = 7;
        judge_frame(&source);
    }
    judge_end(&source);
}
END_TEST

/* More channels than are followed: those beyond tell nothing, the others go on. */
START_TEST(limit_of_channels)
{
    begin(2);
    for (unsigned k = 0; k < FOLLOWED + 60; k++)
        ck_assert_int_eq(aos(k / 60, k % 60, 0, true), 0);
    for (unsigned k = 0; k < FOLLOWED + 60; k++)
        ck_assert_int_eq(aos(k / 60, k % 60, 3, true), k < FOLLOWED ? 2 : 0);
    judge_end(&source);
}
END_TEST

SUITE(tools_sle_judge, t)
{
    tcase_add_test(t, check_values);
    tcase_add_test(t, counts_of_aos);
    tcase_add_test(t, erred_ones_are_not_missing);
    tcase_add_test(t, an_erred_one_fills_the_next_gap);
    tcase_add_test(t, counts_of_tm);
    tcase_add_test(t, counts_of_uslp);
    tcase_add_test(t, limit_of_channels);
}
