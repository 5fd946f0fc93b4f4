/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of encapsulating bundles (draft-ietf-dtn-bibe-00 §5.3), and how deep they are. */
#include "bp/codec/bibe.h"
#include "bp_help.h"
#include "tests/unit/suite.h"

static struct buf *bytes_of(const char *text)
{
    struct buf *b = buf_new(BIBE_HEAD_MAX, strlen(text));
    ck_assert_ptr_nonnull(b);
    memcpy(buf_append(b, strlen(text)), text, strlen(text));
    return b;
}

START_TEST(known_bytes)
{
    struct bibe_payload whole = {.segment = false}, part = {true, 7, 300, 256, {NULL, 0}}, got;
    struct buf *b = bytes_of("hi"), *c = bytes_of("hi");
    ck_assert_int_eq(bibe_encode(&whole, b), 0);
    ck_assert_mem_eq(buf_data(b), "\x81\x42hi", 4);
    ck_assert_uint_eq(b->len, 4);
    ck_assert_int_eq(bibe_decode(buf_slice(b), &got), 0);
    ck_assert(!got.segment && slice_equal(got.data, slice_of("hi", 2)));
    ck_assert_int_eq(bibe_encode(&part, c), 0);
    ck_assert_mem_eq(buf_data(c), "\x84\x07\x19\x01\x2c\x19\x01\x00\x42hi", 11);
    ck_assert_int_eq(bibe_decode(buf_slice(c), &got), 0);
    ck_assert(got.segment && got.transfer == 7 && got.total == 300 && got.offset == 256);
    buf_drop(b);
    buf_drop(c);
}
END_TEST

START_TEST(not_to_be_written)
{
    struct bibe_payload p = {.segment = true, .total = 3, .offset = 2};
    struct buf *b = bytes_of("hi");
    ck_assert_int_eq(bibe_encode(&p, b), HELIO_EINVAL); /* beyond its total */
    p = (struct bibe_payload){.segment = true, .total = 2, .offset = 3};
    ck_assert_int_eq(bibe_encode(&p, b), HELIO_EINVAL);
    struct buf *none = bytes_of("");
    p = (struct bibe_payload){.segment = true, .total = 2, .offset = 1};
    ck_assert_int_eq(bibe_encode(&p, none), HELIO_EINVAL);
    struct buf *tight = buf_new(1, 8);
    buf_append(tight, 8);
    ck_assert_int_eq(bibe_encode(&(struct bibe_payload){.segment = false}, tight), HELIO_ESPACE);
    ck_assert_uint_eq(tight->len, 8);
    buf_drop(b);
    buf_drop(none);
    buf_drop(tight);
}
END_TEST

START_TEST(wrong_forms)
{
    static const struct {
        const char *hex;
        int rc;
    } cases[] = {
        {"", HELIO_EFORMAT},
        {"80", HELIO_ENOENT}, /* sizes that are reserved */
        {"8241684168", HELIO_ENOENT},
        {"830102426869", HELIO_ENOENT},
        {"850101020041680000", HELIO_ENOENT},
        {"9f426869ff", HELIO_EFORMAT}, /* indefinite lengths */
        {"815f426869ff", HELIO_EFORMAT},
        {"81626869", HELIO_EFORMAT}, /* text */
        {"8101", HELIO_EFORMAT},
        {"8143686900", 0},
        {"814268", HELIO_EFORMAT}, /* cut off */
        {"8142686900", HELIO_EFORMAT},
        {"840105004100", 0},
        {"840105054100", HELIO_EFORMAT}, /* beyond the total */
        {"8401051bffffffffffffffff4100", HELIO_EFORMAT},
        {"8401050040", HELIO_EFORMAT}, /* empty */
        {"842005004100", HELIO_EFORMAT},
        {"841bffffffffffffffff1bffffffffffffffff1bfffffffffffffffe4100", 0},
    };
    uint8_t data[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bibe_payload p;
        size_t n = unhex(cases[i].hex, data, sizeof data);
        ck_assert_msg(bibe_decode(slice_of(data, n), &p) == cases[i].rc, "%s", cases[i].hex);
    }
}
END_TEST

/* The bundle, as the payload of another one. */
static struct buf *wrap_bundle(struct buf *inner, const struct bibe_payload *as, uint64_t flags)
{
    struct buf *p = buf_new(BIBE_HEAD_MAX, inner->len);
    memcpy(buf_append(p, inner->len), buf_data(inner), inner->len);
    ck_assert_int_eq(bibe_encode(as, p), 0);
    struct bundle b = sample_bundle((const char *)buf_data(p), p->len);
    b.flags |= flags;
    struct buf *out = bundle_encode_copy(&b);
    ck_assert_ptr_nonnull(out);
    buf_drop(p);
    return out;
}

START_TEST(depth)
{
    struct bundle plain = sample_bundle("no bundle", 9), string = sample_bundle("\x81\x42hi", 4);
    struct buf *b = bundle_encode_copy(&plain), *s = bundle_encode_copy(&string);
    ck_assert_uint_eq(bibe_depth(buf_slice(b), 5), 0);
    ck_assert_uint_eq(bibe_depth(buf_slice(s), 5), 0); /* a byte string alone is none */
    ck_assert_uint_eq(bibe_depth(slice_of("x", 1), 5), 0);
    for (unsigned i = 1; i <= 6; i++) {
        struct buf *next = wrap_bundle(b, &(struct bibe_payload){.segment = false}, 0);
        buf_drop(b);
        b = next;
        ck_assert_uint_eq(bibe_depth(buf_slice(b), 9), i);
        ck_assert_uint_eq(bibe_depth(buf_slice(b), 3), i < 3 ? i : 3);
    }
    struct bundle wide = sample_bundle("x", 1);
    static uint8_t zeros[BIBE_EXTENSIONS_MAX];
    wide.others[0] = (struct bundle_block){.type = 200, .data = slice_of(zeros, sizeof zeros)};
    wide.others_len = 1;
    wide.payload = buf_slice(b);
    struct buf *w = bundle_encode_copy(&wide);
    ck_assert_uint_eq(bibe_depth(buf_slice(w), 9), 0); /* it is not looked into */
    buf_drop(w);
    struct bibe_payload part = {.segment = true, .total = 1 << 20};
    struct buf *segment = wrap_bundle(b, &part, 0);
    ck_assert_uint_eq(bibe_depth(buf_slice(segment), 9), 1); /* what is in it is not known here */
    struct buf *record = wrap_bundle(b, &(struct bibe_payload){.segment = false}, BUNDLE_IS_ADMIN);
    ck_assert_uint_eq(bibe_depth(buf_slice(record), 9), 0); /* §5: it is no administrative record */
    buf_drop(record);
    buf_drop(segment);
    buf_drop(b);
    buf_drop(s);
}
END_TEST

SUITE(bp_bibe, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, known_bytes);
    tcase_add_test(t, not_to_be_written);
    tcase_add_test(t, wrong_forms);
    tcase_add_test(t, depth);
}
