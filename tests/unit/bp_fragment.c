/* SPDX-License-Identifier: Apache-2.0 */
/* Fragments, and fragments of fragments. */
#include "bp_help.h"
#include "tests/unit/suite.h"

static const char text[] = "abcdefghijklmnopqrstuvwxyz";

static struct bundle with_blocks(void)
{
    struct bundle b = sample_bundle(text, 26);
    b.others[0] = (struct bundle_block){.type = 200, .flags = BLOCK_REPLICATE, .number = 9};
    b.others[1] = (struct bundle_block){.type = 201, .number = 10};
    b.others_len = 2;
    return b;
}

static struct buf *cut(const struct bundle *b, uint64_t offset, uint64_t len, struct bundle *out)
{
    struct buf *wire = bundle_fragment(b, offset, len);
    ck_assert_ptr_nonnull(wire);
    ck_assert_int_eq(bundle_decode(buf_data(wire), wire->len, BUNDLE_STRICT, out, NULL), 0);
    ck_assert(out->id.fragment && (out->flags & BUNDLE_IS_FRAGMENT));
    ck_assert(out->has_age && out->has_hops && out->has_previous);
    return wire;
}

START_TEST(pieces_make_the_whole)
{
    struct bundle b = with_blocks(), f;
    char got[27] = "";
    for (uint64_t at = 0; at < 26; at += 5) {
        uint64_t len = at + 5 > 26 ? 26 - at : 5;
        struct buf *wire = cut(&b, at, len, &f);
        ck_assert_uint_eq(f.id.offset, at);
        ck_assert_uint_eq(f.id.total, 26);
        ck_assert_uint_eq(f.payload.len, len);
        ck_assert_uint_eq(f.others_len, at == 0 ? 2 : 1);
        ck_assert_uint_eq(f.others[0].type, 200);
        ck_assert_uint_eq(f.others[0].number, 9);
        memcpy(got + f.id.offset, f.payload.data, f.payload.len);
        buf_drop(wire);
    }
    ck_assert_str_eq(got, text);
}
END_TEST

START_TEST(fragment_of_a_fragment)
{
    struct bundle b = with_blocks(), f, g;
    struct buf *outer = cut(&b, 10, 10, &f);
    struct buf *inner = cut(&f, 3, 4, &g);
    ck_assert_uint_eq(g.id.offset, 13);
    ck_assert_uint_eq(g.id.total, 26);
    ck_assert_int_eq(memcmp(g.payload.data, "nopq", 4), 0);
    ck_assert_uint_eq(g.others_len, 1);
    buf_drop(inner);
    buf_drop(outer);
}
END_TEST

/* Offsets and lengths have 64 bits: a piece from far behind, cut again. */
START_TEST(beyond_four_gigabytes)
{
    const uint64_t far = UINT64_C(0xfffffffffffff000), total = UINT64_MAX;
    struct bundle b = with_blocks(), f, g;
    b.flags |= BUNDLE_IS_FRAGMENT;
    b.id.fragment = true;
    b.id.offset = far;
    b.id.total = total;
    struct buf *outer = cut(&b, 10, 10, &f);
    struct buf *inner = cut(&f, 3, 4, &g);
    ck_assert_uint_eq(f.id.offset, far + 10);
    ck_assert_uint_eq(g.id.offset, far + 13);
    ck_assert_uint_eq(g.id.total, total);
    ck_assert_int_eq(memcmp(g.payload.data, "nopq", 4), 0);
    b.id.offset = total - 26; /* the last bytes that can be */
    struct buf *last = cut(&b, 20, 6, &g);
    ck_assert_uint_eq(g.id.offset + g.payload.len, total);
    b.id.offset++;
    ck_assert_ptr_null(bundle_fragment(&b, 20, 6));
    buf_drop(last);
    buf_drop(inner);
    buf_drop(outer);
}
END_TEST

START_TEST(refused)
{
    struct bundle b = with_blocks();
    ck_assert_ptr_null(bundle_fragment(&b, 0, 0));
    ck_assert_ptr_null(bundle_fragment(&b, 0, 27));
    ck_assert_ptr_null(bundle_fragment(&b, 27, 1));
    ck_assert_ptr_null(bundle_fragment(&b, 20, UINT64_MAX));
    ck_assert_ptr_null(bundle_fragment(&b, UINT64_MAX, 1));
    b.flags |= BUNDLE_NO_FRAGMENT;
    ck_assert_ptr_null(bundle_fragment(&b, 0, 5));
}
END_TEST

SUITE(bp_fragment, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, pieces_make_the_whole);
    tcase_add_test(t, fragment_of_a_fragment);
    tcase_add_test(t, beyond_four_gigabytes);
    tcase_add_test(t, refused);
}
