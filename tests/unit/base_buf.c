/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: room at both ends, references, resizing; and the cursors' sticky error. */

#include "base/buf.h"
#include "base/cursor.h"
#include "tests/unit/suite.h"

START_TEST(room_at_both_ends)
{
    struct buf *b = buf_new(4, 10);
    memcpy(buf_append(b, 6), "middle", 6);
    memcpy(buf_prepend(b, 4), "head", 4);
    ck_assert_ptr_null(buf_prepend(b, 1));
    ck_assert_uint_eq(buf_tailroom(b), 4);
    ck_assert_ptr_null(buf_append(b, 5));
    memcpy(buf_append(b, 4), "tail", 4);
    ck_assert(slice_equal(buf_slice(b), slice_of("headmiddletail", 14)));
    ck_assert(!slice_equal(buf_slice(b), slice_of("headmiddletaiL", 14)));
    buf_drop(b);
}
END_TEST

START_TEST(references)
{
    struct buf *b = buf_new(0, 1);
    ck_assert_ptr_eq(buf_keep(b), b);
    ck_assert_uint_eq(b->refs, 2);
    buf_drop(b);
    ck_assert_uint_eq(b->refs, 1);
    buf_drop(b);
    buf_drop(NULL);
    ck_assert_ptr_null(buf_new(SIZE_MAX, 1));
    ck_assert_ptr_null(buf_new(1, SIZE_MAX / 2));
}
END_TEST

START_TEST(resizing)
{
    struct buf *b = buf_new(2, 3);
    memcpy(buf_append(b, 3), "abc", 3);
    b = buf_resize(b, 100000);
    ck_assert_uint_eq(b->cap, 100000);
    ck_assert(slice_equal(buf_slice(b), slice_of("abc", 3)));
    ck_assert_ptr_nonnull(buf_append(b, 100000 - 5));
    ck_assert_ptr_null(buf_append(b, 1));
    ck_assert_ptr_null(buf_resize(b, SIZE_MAX / 2));
    buf_drop(b);
}
END_TEST

START_TEST(reading)
{
    struct reader r = reader_of("abcd", 4);
    ck_assert_uint_eq(reader_byte(&r), 'a');
    ck_assert(slice_equal(reader_take(&r, 2), slice_of("bc", 2)));
    ck_assert_uint_eq(reader_left(&r), 1);
    ck_assert_uint_eq(reader_take(&r, 2).len, 0);
    ck_assert(r.bad);
    ck_assert_uint_eq(reader_byte(&r), 0); /* though one is left: the error stays */
}
END_TEST

START_TEST(writing)
{
    uint8_t out[4] = {0};
    struct writer w = writer_of(out, 3);
    writer_byte(&w, 'x');
    writer_bytes(&w, "yzz", 3);
    ck_assert(w.bad);
    writer_byte(&w, 'q');
    ck_assert_uint_eq(writer_len(&w), 1);
    ck_assert_uint_eq(out[1], 0);
}
END_TEST

START_TEST(fitting)
{
    struct buf *b = buf_new(2048, 64);
    memcpy(buf_append(b, 5), "12345", 5);
    b = buf_fit(b);
    ck_assert(b->cap == 5 && b->off == 0 && slice_equal(buf_slice(b), slice_of("12345", 5)));
    b = buf_fit(b);
    ck_assert_uint_eq(b->cap, 5);
    buf_drop(b);
    b = buf_fit(buf_new(3, 3));
    ck_assert(b->cap == 0 && b->len == 0);
    buf_drop(b);
}
END_TEST

SUITE(base_buf, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, room_at_both_ends);
    tcase_add_test(t, references);
    tcase_add_test(t, resizing);
    tcase_add_test(t, fitting);
    tcase_add_test(t, reading);
    tcase_add_test(t, writing);
}
