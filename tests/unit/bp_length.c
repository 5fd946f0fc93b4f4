/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle's end is found in whatever follows it, and no part of a bundle is taken for one. */
#include <stdlib.h>

#include "bp/codec/bundle.h"
#include "tests/unit/suite.h"

static struct buf *sample(size_t payload_len, enum crc_type crc)
{
    struct bundle b;
    uint8_t *payload = calloc(1, payload_len + 1);
    bundle_init(&b);
    b.crc = b.payload_crc = crc;
    b.destination = (struct eid){.scheme = EID_IPN, .node = 2, .service = 7};
    b.id.source = (struct eid){.scheme = EID_IPN, .allocator = 977000, .node = 1, .service = 3};
    b.id.sequence = 5;
    b.has_hops = b.has_previous = true;
    b.hop_limit = 30;
    b.previous = b.id.source;
    b.payload = slice_of(payload, payload_len);
    struct buf *out = bundle_encode_copy(&b);
    ck_assert_ptr_nonnull(out);
    free(payload);
    return out;
}

START_TEST(ends_where_it_ends)
{
    const size_t payloads[] = {0, 1, 23, 24, 300, 70000};
    const enum crc_type crcs[] = {CRC_NONE, CRC_16, CRC_32C};
    for (int i = 0; i < 18; i++) {
        struct buf *b = sample(payloads[i / 3], crcs[i % 3]);
        size_t len = b->len;
        ck_assert_uint_eq(bundle_length(buf_slice(b)), len);
        uint8_t *twice = malloc(2 * len);
        memcpy(twice, buf_data(b), len);
        memcpy(twice + len, buf_data(b), len);
        ck_assert_uint_eq(bundle_length(slice_of(twice, 2 * len)), len);
        free(twice);
        buf_drop(b);
    }
}
END_TEST

START_TEST(a_part_is_none)
{
    struct buf *b = sample(40, CRC_32C);
    for (size_t len = 0; len < b->len; len++) {
        uint8_t *part = malloc(len + 1);
        memcpy(part, buf_data(b), len);
        ck_assert_uint_eq(bundle_length(slice_of(part, len)), 0);
        free(part);
    }
    buf_drop(b);
}
END_TEST

START_TEST(no_bundles)
{
    static const struct {
        uint8_t bytes[12];
        size_t len;
    } bad[] = {
        {{0x9f, 0xff}, 2},                   /* no blocks */
        {{0x81, 0x80, 0xff}, 3},             /* of definite length */
        {{0x9f, 0x01, 0xff}, 3},             /* a block is an array */
        {{0x9f, 0x81, 0xa0, 0xff}, 4},       /* a map */
        {{0x9f, 0x81, 0x9f, 0xff, 0xff}, 5}, /* an open array in a block */
        {{0x9f, 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0xff}, 12},
        {{0x9f, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x80, 0xff}, 11}, /* too deep */
    };
    const uint8_t good[] = {0x9f, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x00, 0xff, 0x9f};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_uint_eq(bundle_length(slice_of(bad[i].bytes, bad[i].len)), 0);
    ck_assert_uint_eq(bundle_length(slice_of(good, sizeof good)), 10);
}
END_TEST

SUITE(bp_length, t)
{
    tcase_add_test(t, ends_where_it_ends);
    tcase_add_test(t, a_part_is_none);
    tcase_add_test(t, no_bundles);
}
