/* SPDX-License-Identifier: Apache-2.0 */
/* SDNVs: every length, the borders between them, and what is refused. */
#include <string.h>

#include "base/rng.h"
#include "ltp/sdnv.h"
#include "tests/unit/suite.h"

static void roundtrip(uint64_t v, uint32_t len)
{
    uint8_t bytes[SDNV_MAX + 2];
    memset(bytes, 0xff, sizeof bytes);
    uint8_t *end = sdnv_put(bytes, v);
    ck_assert_uint_eq((size_t)(end - bytes), len);
    ck_assert_uint_eq(sdnv_len(v), len);
    ck_assert_uint_eq(bytes[len], 0xff);
    const uint8_t *p = bytes;
    uint64_t back = ~v;
    ck_assert_int_eq(sdnv_get(&p, bytes + sizeof bytes, &back), VERDICT_OK);
    ck_assert_uint_eq(back, v);
    ck_assert_ptr_eq(p, end);
    for (uint32_t cut = 0; cut < len; cut++) {
        p = bytes;
        ck_assert_int_eq(sdnv_get(&p, bytes + cut, &back), VERDICT_TRUNCATED);
        ck_assert_ptr_eq(p, bytes);
        ck_assert_uint_eq(back, v);
    }
}

START_TEST(all_lengths)
{
    roundtrip(0, 1);
    for (uint32_t n = 1; n < SDNV_MAX; n++) {
        uint64_t border = UINT64_C(1) << (7 * n);
        roundtrip(border - 1, n);
        roundtrip(border, n + 1);
    }
    roundtrip(UINT64_MAX, 10);
}
END_TEST

/* RFC 6256 §2.1 */
START_TEST(known_values)
{
    static const struct {
        uint64_t v;
        const char *bytes;
        size_t len;
    } known[] = {{0xabc, "\x95\x3c", 2},
                 {0x1234, "\xa4\x34", 2},
                 {0x4234, "\x81\x84\x34", 3},
                 {0x7f, "\x7f", 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint8_t out[SDNV_MAX];
        ck_assert_uint_eq((size_t)(sdnv_put(out, known[i].v) - out), known[i].len);
        ck_assert_int_eq(memcmp(out, known[i].bytes, known[i].len), 0);
    }
}
END_TEST

static enum verdict read_bytes(const char *bytes, size_t len, uint64_t *v)
{
    const uint8_t *p = (const uint8_t *)bytes;
    return sdnv_get(&p, p + len, v);
}

START_TEST(refused)
{
    uint64_t v = 7;
    /* 2^64 and beyond in ten bytes, eleven bytes, ten without an end */
    ck_assert_int_eq(read_bytes("\x82\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10, &v),
                     VERDICT_BAD_SDNV);
    ck_assert_int_eq(read_bytes("\x80\x81\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, &v),
                     VERDICT_BAD_SDNV);
    ck_assert_int_eq(read_bytes("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 10, &v),
                     VERDICT_BAD_SDNV);
    ck_assert_uint_eq(v, 7);
    /* leading zeros are allowed */
    ck_assert_int_eq(read_bytes("\x80\x80\x80\x05", 4, &v), VERDICT_OK);
    ck_assert_uint_eq(v, 5);
}
END_TEST

START_TEST(random_values)
{
    struct rng r;
    rng_init(&r, 1);
    for (int i = 0; i < 100000; i++) {
        uint64_t v = rng_u64(&r) >> rng_below(&r, 64);
        roundtrip(v, sdnv_len(v));
    }
}
END_TEST

SUITE(ltp_sdnv, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, all_lengths);
    tcase_add_test(t, known_values);
    tcase_add_test(t, refused);
    tcase_add_test(t, random_values);
}
