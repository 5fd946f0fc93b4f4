/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles: known vectors, round trips, damage. */
#include "bp_help.h"

#include "base/rng.h"
#include "bp/codec/qos.h"
#include "tests/unit/suite.h"

/* RFC 9173 appendix A: bundles in full. */
#define A1_PLAIN                                                                                   \
    "9f88070000820282010282028202018202820201820018281a000f424085010100005823526561647920746f2067" \
    "65"                                                                                           \
    "6e657261746520612033322d62797465207061796c6f6164ff"
#define A1_SIGNED                                                                                  \
    "9f88070000820282010282028202018202820201820018281a000f4240850b020000585681010101820282020182" \
    "82"                                                                                           \
    "01078203008181820158403bdc69b3a34a2b5d3a8554368bd1e808f606219d2a10a846eae3886ae4ecc83c4ee550" \
    "fd"                                                                                           \
    "fb1cc636b904e2f1a73e303dcd4b6ccece003e95e8164dcc89a156e185010100005823526561647920746f206765" \
    "6e"                                                                                           \
    "657261746520612033322d62797465207061796c6f6164ff"
#define A3_SIGNED_PRIMARY                                                                          \
    "9f88070000820282010282028202018202820201820018281a000f4240850b030000585c82000201018202820300" \
    "82"                                                                                           \
    "820105820300828182015820cac6ce8e4c5dae57988b757e49a6dd1431dc04763541b2845098265bc817241b8182" \
    "01"                                                                                           \
    "58203ed614c0d97f49b3633627779aa18a338d212bf3c92b97759d9739cd50725596850c04010058348101020182" \
    "02"                                                                                           \
    "8202018382014c5477656c7665313231323132820201820400818182 "                                    \
    "0150efa4b5ac0108e3816c5606479801bc048"                                                        \
    "5070200004319012c85010100005823 "                                                             \
    "3a09c1e63fe23a7f66a59c7303837241e070b02619fc59c5214a22f08cd707"                               \
    "95e73e9aff"

static int decode(const char *hex, enum bundle_mode mode, struct bundle *b,
                  struct bundle_findings *f, uint8_t *bytes, size_t *len)
{
    *len = unhex(hex, bytes, 1024);
    return bundle_decode(bytes, *len, mode, b, f);
}

START_TEST(published_plain_bundle)
{
    struct bundle b;
    struct bundle_findings f;
    uint8_t bytes[1024];
    size_t len;
    ck_assert_int_eq(decode(A1_PLAIN, BUNDLE_LENIENT, &b, &f, bytes, &len), 0);
    ck_assert_uint_eq(b.destination.node, 1);
    ck_assert_uint_eq(b.destination.service, 2);
    ck_assert_uint_eq(b.id.source.node, 2);
    ck_assert_uint_eq(b.id.sequence, 40);
    ck_assert_uint_eq(b.lifetime_ms, 1000000);
    ck_assert_uint_eq(b.payload.len, 35);
    ck_assert_int_eq(memcmp(b.payload.data, "Ready to generate a 32-byte payload", 35), 0);
    /* without CRC, without age: both are findings, and what strict mode refuses */
    ck_assert_uint_eq(f.len, 2);
    ck_assert_str_eq(f.at[0].section, "RFC 9171 §4.3.1");
    ck_assert_str_eq(f.at[1].section, "RFC 9171 §4.4.2");
    ck_assert(!f.at[0].fatal && !f.at[1].fatal);
    ck_assert_int_eq(decode(A1_PLAIN, BUNDLE_STRICT, &b, &f, bytes, &len), HELIO_EFORMAT);
    ck_assert(f.at[f.len - 1].fatal);
}
END_TEST

/* What was read is written back byte for byte. */
static void assert_rewritten(const char *hex)
{
    struct bundle b;
    struct bundle_findings f;
    uint8_t bytes[1024];
    size_t len;
    ck_assert_int_eq(decode(hex, BUNDLE_LENIENT, &b, &f, bytes, &len), 0);
    struct buf *again = bundle_encode_copy(&b);
    ck_assert_ptr_nonnull(again);
    ck_assert(slice_equal(buf_slice(again), slice_of(bytes, len)));
    buf_drop(again);
}

START_TEST(published_bundles_are_written_back)
{
    assert_rewritten(A1_PLAIN);
    assert_rewritten(A1_SIGNED);
}
END_TEST

START_TEST(integrity_block_stands_for_the_primary_crc)
{
    struct bundle b;
    struct bundle_findings f;
    uint8_t bytes[1024];
    size_t len;
    ck_assert_int_eq(decode(A3_SIGNED_PRIMARY, BUNDLE_STRICT, &b, &f, bytes, &len), 0);
    ck_assert_uint_eq(f.len, 0);
    ck_assert(b.has_age);
    ck_assert_uint_eq(b.age_ms, 300);
    ck_assert_uint_eq(b.age_frame.number, 2);
    ck_assert_uint_eq(b.others_len, 2);
    ck_assert_int_eq(decode(A1_SIGNED, BUNDLE_STRICT, &b, &f, bytes, &len), HELIO_EFORMAT);
}
END_TEST

START_TEST(encrypted_known_block_stays_a_view)
{
    static const uint8_t asb[] = {0x81, 0x05, 0x01, 0x00, 0x82, 0x02, 0x82, 0x02, 0x01, 0x81, 0x80};
    static const uint8_t cipher[] = {0xde, 0xad, 0xbe, 0xef};
    struct bundle b = sample_bundle("x", 1), got;
    b.has_age = false;
    b.others[0] = (struct bundle_block){
        .type = BLOCK_AGE, .number = 5, .crc = CRC_16, .data = slice_of(cipher, sizeof cipher)};
    b.others[1] = (struct bundle_block){.type = 12, .number = 6, .data = slice_of(asb, sizeof asb)};
    b.others_len = 2;
    struct buf *wire = bundle_encode_copy(&b);
    ck_assert_ptr_nonnull(wire);
    ck_assert_int_eq(bundle_decode(buf_data(wire), wire->len, BUNDLE_STRICT, &got, NULL), 0);
    ck_assert(!got.has_age);
    assert_same(&b, &got);
    buf_drop(wire);
}
END_TEST

START_TEST(encrypted_integrity_block_may_cover_the_primary)
{
    static const uint8_t cipher[] = {0xde, 0xad}, asb[] = {0x81, 0x06};
    struct bundle b = sample_bundle("x", 1), got;
    b.crc = CRC_NONE;
    b.others[0] = (struct bundle_block){.type = 11, .number = 6, .data = slice_of(cipher, 2)};
    b.others[1] = (struct bundle_block){.type = 12, .number = 7, .data = slice_of(asb, 2)};
    for (b.others_len = 1; b.others_len <= 2; b.others_len++) {
        struct buf *wire = bundle_encode_copy(&b);
        int rc = bundle_decode(buf_data(wire), wire->len, BUNDLE_STRICT, &got, NULL);
        ck_assert_int_eq(rc, b.others_len == 2 ? 0 : HELIO_EFORMAT);
        buf_drop(wire);
    }
}
END_TEST

/* A BPSec block counts with all of its targets, however many they are and wherever it stands. */
START_TEST(all_targets_count)
{
    static uint8_t asb[5 + 200] = {0x9a, 0, 0, 0, 200};
    memset(asb + 5, 9, 200);
    struct bundle b = sample_bundle("x", 1), got;
    asb[5 + 199] = 4; /* the age block's number */
    b.age_frame.number = 4;
    for (size_t i = 0; i < BUNDLE_INLINE_MAX; i++)
        b.others[i] = (struct bundle_block){.type = 200, .number = 30 + i};
    b.others_len = 1 + (size_t)_i * (BUNDLE_INLINE_MAX - 1);
    b.others[b.others_len - 1] =
        (struct bundle_block){.type = 12, .number = 7, .data = slice_of(asb, 205)};
    struct buf *wire = bundle_encode_copy(&b);
    ck_assert_int_eq(bundle_decode(buf_data(wire), wire->len, BUNDLE_STRICT, &got, NULL), 0);
    ck_assert(!got.has_age && got.has_hops);
    ck_assert_uint_eq(count_blocks(&got), b.others_len + 1);
    buf_drop(wire);
}
END_TEST

START_TEST(known_check_values)
{
    /* CRC-16/X.25 and CRC-32C of a block, from an independent bit-by-bit computation below */
    struct bundle b = sample_bundle("123456789", 9);
    b.crc = CRC_16;
    b.payload_crc = CRC_32C;
    struct buf *wire = bundle_encode_copy(&b);
    const uint8_t *p = buf_data(wire) + 1;
    size_t primary = wire->len - 1;
    struct bundle got;
    ck_assert_int_eq(bundle_decode(buf_data(wire), wire->len, BUNDLE_STRICT, &got, NULL), 0);
    uint32_t crc32 = UINT32_MAX;
    const uint8_t *block = got.payload.data - 6; /* 86 01 01 00 02 49 */
    ck_assert_uint_eq(block[0], 0x86);
    for (const uint8_t *q = block; q < got.payload.data + 9 + 1 + 4; q++) {
        crc32 ^= q < got.payload.data + 10 ? *q : 0;
        for (int i = 0; i < 8; i++)
            crc32 = crc32 >> 1 ^ (crc32 & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    crc32 = ~crc32;
    const uint8_t *value = got.payload.data + 10;
    ck_assert_uint_eq(crc32, (uint32_t)value[0] << 24 | (uint32_t)value[1] << 16 |
                                 (uint32_t)value[2] << 8 | value[3]);
    uint32_t crc16 = UINT16_MAX; /* the primary ends with 42 xx xx, before the first 86 */
    for (primary = 0; p[primary + 3] != 0x86 || p[primary] != 0x42; primary++) {
    }
    for (size_t n = 0; n < primary + 3; n++) {
        crc16 ^= n <= primary ? p[n] : 0;
        for (int i = 0; i < 8; i++)
            crc16 = crc16 >> 1 ^ (crc16 & 1 ? 0x8408 : 0);
    }
    crc16 = ~crc16 & UINT16_MAX;
    ck_assert_uint_eq(crc16, (uint32_t)p[primary + 1] << 8 | p[primary + 2]);
    buf_drop(wire);
}
END_TEST

static struct eid random_eid(struct rng *r)
{
    struct eid e = eid_ipn(0, 1 + rng_below(r, 1000000), rng_u64(r) >> rng_below(r, 64));
    if (rng_chance(r, .3)) {
        e.allocator = 1 + rng_below(r, UINT32_MAX - 1);
        e.three = rng_chance(r, .5);
    }
    if (rng_chance(r, .3)) {
        char text[EID_TEXT_MAX];
        int len = (int)rng_below(r, 200);
        snprintf(
            text, sizeof text, "dtn://n%llu/%.*s", (unsigned long long)rng_u64(r), len,
            "abcdefghijklmnopqrstuvwxyz~/abcdefghijklmnopqrstuvwxyz012345678901234567890123456");
        ck_assert_int_eq(eid_parse(text, &e), 0);
    }
    return e;
}

static struct bundle random_bundle(struct rng *r, const uint8_t *bytes, size_t size)
{
    struct bundle b;
    bundle_init(&b);
    b.flags = rng_chance(r, .5) ? BUNDLE_REPORT_DELIVERY | BUNDLE_APP_ACK : BUNDLE_NO_FRAGMENT;
    b.crc = rng_chance(r, .5) ? CRC_16 : CRC_32C;
    b.destination = random_eid(r);
    b.report_to = rng_chance(r, .2) ? eid_none() : random_eid(r);
    b.id.source = random_eid(r);
    b.id.time_ms = rng_u64(r) >> rng_below(r, 64);
    b.id.sequence = rng_u64(r) >> rng_below(r, 64);
    b.lifetime_ms = rng_u64(r) >> rng_below(r, 64);
    b.has_previous = rng_chance(r, .5);
    b.previous = random_eid(r);
    b.has_age = b.id.time_ms == 0 || rng_chance(r, .5);
    b.age_ms = rng_u64(r) >> rng_below(r, 64);
    b.age_frame.crc = (enum crc_type)rng_below(r, 3);
    b.has_hops = rng_chance(r, .5);
    b.hop_limit = 1 + rng_below(r, 255);
    b.hop_count = rng_below(r, 300);
    b.others_len = (size_t)rng_below(r, BUNDLE_INLINE_MAX + 1);
    for (size_t i = 0; i < b.others_len; i++) {
        size_t len = (size_t)rng_below(r, 40);
        b.others[i] = (struct bundle_block){.type = 192 + rng_below(r, 100),
                                            .flags = rng_below(r, 2) * BLOCK_REPLICATE,
                                            .crc = (enum crc_type)rng_below(r, 3),
                                            .data = slice_of(bytes + rng_below(r, 100), len)};
    }
    b.payload_crc = (enum crc_type)rng_below(r, 3);
    b.payload = slice_of(bytes, (size_t)rng_below(r, size));
    if (b.flags != BUNDLE_NO_FRAGMENT && b.payload.len > 0) {
        b.flags |= BUNDLE_IS_FRAGMENT;
        b.id.fragment = true;
        b.id.offset = rng_u64(r) >> (2 + rng_below(r, 60));
        b.id.total = b.id.offset + b.payload.len + rng_below(r, 3);
    }
    return b;
}

START_TEST(random_bundles_come_back_equal)
{
    static uint8_t bytes[100000];
    struct rng r;
    rng_init(&r, 42);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)rng_u64(&r);
    for (int i = 0; i < 3000; i++) {
        struct bundle b = random_bundle(&r, bytes, i % 10 == 0 ? sizeof bytes : 300), got;
        struct bundle_findings f;
        struct buf *wire = bundle_encode_copy(&b);
        ck_assert_msg(wire != NULL, "round %d", i);
        int rc = bundle_decode(buf_data(wire), wire->len, BUNDLE_STRICT, &got, &f);
        ck_assert_msg(rc == 0, "round %d: %s", i, f.len ? f.at[f.len - 1].text : "");
        assert_same(&b, &got);
        ck_assert_uint_eq(bundle_lint(buf_data(wire), wire->len, &f), 0);
        struct buf *again = bundle_encode_copy(&got);
        ck_assert(slice_equal(buf_slice(again), buf_slice(wire)));
        buf_drop(again);
        buf_drop(wire);
    }
}
END_TEST

/* A node's forwarding: the same buffer, views of its own head, a new previous node. */
START_TEST(reencode_in_place)
{
    static const uint8_t content[] = "extension";
    struct bundle b = sample_bundle(NULL, 0), got;
    b.others[b.others_len++] =
        (struct bundle_block){.type = 200, .crc = CRC_32C, .data = slice_of(content, 9)};
    struct buf *buf = buf_new(BUNDLE_HEAD_MAX, 500000 + BUNDLE_TAIL_MAX);
    memset(buf_append(buf, 500000), 'p', 500000);
    const uint8_t *payload = buf_data(buf);
    ck_assert_int_eq(bundle_encode(&b, buf), 0);
    for (uint64_t hop = 3; hop < 6; hop++) {
        ck_assert_int_eq(bundle_decode(buf_data(buf), buf->len, BUNDLE_STRICT, &got, NULL), 0);
        ck_assert_ptr_eq(got.payload.data, payload);
        ck_assert_uint_eq(got.payload.len, 500000);
        got.hop_count = hop;
        got.previous = eid_ipn(hop, hop * 100000, 0);
        buf->off = (size_t)(got.payload.data - buf->mem);
        buf->len = got.payload.len;
        ck_assert_int_eq(bundle_encode(&got, buf), 0);
    }
    ck_assert_int_eq(bundle_decode(buf_data(buf), buf->len, BUNDLE_STRICT, &got, NULL), 0);
    ck_assert_uint_eq(got.hop_count, 5);
    ck_assert_uint_eq(got.previous.node, 500000);
    ck_assert_uint_eq(got.others_len, 1);
    ck_assert(slice_equal(got.others[0].data, slice_of(content, 9)));
    buf_drop(buf);
}
END_TEST

START_TEST(too_little_room_leaves_the_buffer)
{
    struct bundle b = sample_bundle(NULL, 0);
    size_t need = bundle_head_size(&b);
    ck_assert_uint_le(need, BUNDLE_HEAD_MAX);
    for (size_t head = 0; head < need + 2; head++) {
        struct buf *buf = buf_new(head, 10 + BUNDLE_TAIL_MAX);
        memcpy(buf_append(buf, 10), "0123456789", 10);
        struct buf before = *buf;
        int rc = bundle_encode(&b, buf);
        ck_assert(rc == 0 || rc == HELIO_ESPACE);
        ck_assert(rc == 0 || memcmp(&before, buf, sizeof before) == 0);
        ck_assert(head < need || rc == 0);
        buf_drop(buf);
    }
    struct buf *buf = buf_new(BUNDLE_HEAD_MAX, 10 + 5);
    buf_append(buf, 10);
    ck_assert_int_eq(bundle_encode(&b, buf), HELIO_ESPACE);
    ck_assert_uint_eq(buf->len, 10);
    buf_drop(buf);
}
END_TEST

START_TEST(room_for_ipn_is_enough)
{
    const struct eid widest = eid_ipn(UINT32_MAX, UINT32_MAX, UINT64_MAX);
    const struct bundle_qos qos = {.priority = BUNDLE_EXPEDITED,
                                   .flags = QOS_CRITICAL,
                                   .label = UINT64_MAX,
                                   .ordinal = QOS_ORDINAL_MAX};
    uint8_t content[QOS_CONTENT_MAX];
    struct bundle b;
    bundle_init(&b);
    b.flags = UINT64_MAX & ~(uint64_t)BUNDLE_IS_FRAGMENT;
    b.crc = b.payload_crc = CRC_32C;
    b.destination = b.report_to = b.id.source = widest;
    b.id.time_ms = b.id.sequence = b.lifetime_ms = b.age_ms = UINT64_MAX;
    b.has_age = b.has_hops = true;
    b.hop_limit = b.hop_count = 255;
    b.others[b.others_len++] =
        (struct bundle_block){.type = BLOCK_QOS,
                              .flags = UINT64_MAX,
                              .crc = CRC_32C,
                              .data = slice_of(content, qos_encode(&qos, content))};
    ck_assert_uint_le(bundle_head_size(&b), BUNDLE_HEAD_IPN);
}
END_TEST

static void assert_illegal(struct bundle b)
{
    ck_assert_ptr_null(bundle_encode_copy(&b));
}

START_TEST(illegal_structs_are_refused)
{
    struct bundle good = sample_bundle("0123456789", 10), b = good;
    b.id.fragment = true;
    assert_illegal(b);
    b.flags |= BUNDLE_IS_FRAGMENT;
    assert_illegal(b);
    b.id.total = 9;
    assert_illegal(b);
    b.id.total = 20, b.id.offset = 11;
    assert_illegal(b);
    b.id.offset = UINT64_MAX;
    assert_illegal(b);
    b = good, b.destination.allocator = UINT64_C(1) << 32;
    assert_illegal(b);
    b = good, b.previous = (struct eid){.scheme = EID_DTN};
    assert_illegal(b);
    b = good, b.crc = (enum crc_type)3;
    assert_illegal(b);
    b = good, b.others_len = 1, b.others[0] = (struct bundle_block){.type = 200, .number = 1};
    assert_illegal(b);
    b = good, b.others_len = 1, b.others[0] = (struct bundle_block){.type = 1, .number = 2};
    assert_illegal(b);
    b = good, b.others_len = 2;
    b.others[0] = b.others[1] = (struct bundle_block){.type = 200, .number = 9};
    assert_illegal(b);
    b = good, b.others_len = BUNDLE_INLINE_MAX + 1;
    assert_illegal(b);
    b = good, b.payload.len = SIZE_MAX; /* no buffer can be as long */
    assert_illegal(b);
}
END_TEST

START_TEST(long_extension_blocks)
{
    static uint8_t bytes[5000];
    struct bundle b = sample_bundle("p", 1), got;
    b.others_len = BUNDLE_INLINE_MAX;
    for (size_t i = 0; i < b.others_len; i++)
        b.others[i] = (struct bundle_block){
            .type = 300, .crc = CRC_16, .data = slice_of(bytes, sizeof bytes)};
    struct buf *wire = bundle_encode_copy(&b);
    ck_assert_ptr_nonnull(wire);
    ck_assert_int_eq(bundle_decode(buf_data(wire), wire->len, BUNDLE_STRICT, &got, NULL), 0);
    assert_same(&b, &got);
    buf_drop(wire);
}
END_TEST

START_TEST(every_truncation_is_refused)
{
    struct bundle b = sample_bundle("0123456789", 10), got;
    struct buf *wire = bundle_encode_copy(&b);
    for (size_t len = 0; len < wire->len; len++) {
        struct bundle_findings f;
        uint8_t *copy = malloc(len + 1); /* its end is where the sanitizer looks */
        memcpy(copy, buf_data(wire), len);
        ck_assert_int_eq(bundle_decode(copy, len, BUNDLE_LENIENT, &got, &f), HELIO_EFORMAT);
        ck_assert(f.len > 0 && f.at[f.len - 1].fatal && f.at[f.len - 1].at <= len);
        bundle_lint(copy, len, &f);
        ck_assert_uint_gt(f.len, 0);
        free(copy);
    }
    buf_drop(wire);
}
END_TEST

START_TEST(every_flipped_bit_is_refused)
{
    struct bundle b = sample_bundle("0123456789", 10), got;
    for (int crc = CRC_16; crc <= CRC_32C; crc++) {
        b.crc = b.payload_crc = (enum crc_type)crc;
        b.previous_frame.crc = b.age_frame.crc = b.hops_frame.crc = (enum crc_type)crc;
        struct buf *wire = bundle_encode_copy(&b);
        for (size_t bit = 0; bit < wire->len * 8; bit++) {
            uint8_t *byte = buf_data(wire) + bit / 8;
            *byte ^= (uint8_t)(1U << bit % 8);
            ck_assert_msg(bundle_decode(buf_data(wire), wire->len, BUNDLE_LENIENT, &got, NULL) ==
                              HELIO_EFORMAT,
                          "bit %zu", bit);
            struct bundle_findings f;
            ck_assert_uint_gt(bundle_lint(buf_data(wire), wire->len, &f), 0);
            *byte ^= (uint8_t)(1U << bit % 8);
        }
        ck_assert_int_eq(bundle_decode(buf_data(wire), wire->len, BUNDLE_STRICT, &got, NULL), 0);
        buf_drop(wire);
    }
}
END_TEST

START_TEST(ids)
{
    struct bundle b = sample_bundle("x", 1);
    struct bundle_id other = b.id;
    ck_assert(bundle_id_equal(&b.id, &other));
    other.sequence++;
    ck_assert(!bundle_id_equal(&b.id, &other));
    other = b.id, other.fragment = true, other.total = 4;
    ck_assert(!bundle_id_equal(&b.id, &other));
    struct bundle_id third = other;
    third.offset = 1;
    ck_assert(!bundle_id_equal(&third, &other));
}
END_TEST

SUITE(bp_bundle, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, published_plain_bundle);
    tcase_add_test(t, published_bundles_are_written_back);
    tcase_add_test(t, integrity_block_stands_for_the_primary_crc);
    tcase_add_test(t, encrypted_known_block_stays_a_view);
    tcase_add_test(t, encrypted_integrity_block_may_cover_the_primary);
    tcase_add_loop_test(t, all_targets_count, 0, 2);
    tcase_add_test(t, known_check_values);
    tcase_add_test(t, random_bundles_come_back_equal);
    tcase_add_test(t, reencode_in_place);
    tcase_add_test(t, too_little_room_leaves_the_buffer);
    tcase_add_test(t, room_for_ipn_is_enough);
    tcase_add_test(t, illegal_structs_are_refused);
    tcase_add_test(t, long_extension_blocks);
    tcase_add_test(t, every_truncation_is_refused);
    tcase_add_test(t, every_flipped_bit_is_refused);
    tcase_add_test(t, ids);
}
