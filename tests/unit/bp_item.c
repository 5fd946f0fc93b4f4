/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of CBOR items, written and read. */

#include "bp/codec/cbor.h"
#include "tests/unit/suite.h"

#define CAP 16

/* Around each length of a head; most are of RFC 8949, Appendix A. */
static const struct {
    uint64_t value;
    const char *head;
    size_t len;
} samples[] = {
    {0, "\x00", 1},
    {1, "\x01", 1},
    {23, "\x17", 1},
    {24, "\x18\x18", 2},
    {100, "\x18\x64", 2},
    {255, "\x18\xff", 2},
    {256, "\x19\x01\x00", 3},
    {1000, "\x19\x03\xe8", 3},
    {65535, "\x19\xff\xff", 3},
    {65536, "\x1a\x00\x01\x00\x00", 5},
    {1000000, "\x1a\x00\x0f\x42\x40", 5},
    {4294967295, "\x1a\xff\xff\xff\xff", 5},
    {4294967296, "\x1b\x00\x00\x00\x01\x00\x00\x00\x00", 9},
    {1000000000000, "\x1b\x00\x00\x00\xe8\xd4\xa5\x10\x00", 9},
    {UINT64_MAX, "\x1b\xff\xff\xff\xff\xff\xff\xff\xff", 9},
};
#define SAMPLES (sizeof samples / sizeof *samples)

static void check_head(const struct writer *w, size_t i, unsigned major)
{
    ck_assert(!w->bad);
    ck_assert_uint_eq(writer_len(w), samples[i].len);
    ck_assert_uint_eq(w->start[0], (uint8_t)samples[i].head[0] | major << 5);
    ck_assert_mem_eq(w->start + 1, samples[i].head + 1, samples[i].len - 1);
}

START_TEST(written_as_the_rfc_has_it)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        uint8_t bytes[CAP];
        struct writer w = writer_of(bytes, CAP);
        item_put_uint(&w, samples[i].value);
        check_head(&w, i, 0);
        w = writer_of(bytes, CAP);
        item_put_array(&w, samples[i].value);
        check_head(&w, i, 4);
        w = writer_of(bytes, CAP);
        item_put_bytes_head(&w, samples[i].value);
        check_head(&w, i, 2);
        for (size_t room = 0; room < samples[i].len; room++) {
            w = writer_of(bytes, room);
            item_put_uint(&w, samples[i].value);
            ck_assert(w.bad && writer_len(&w) == 0);
        }
    }
}
END_TEST

START_TEST(others_written)
{
    uint8_t bytes[CAP];
    struct writer w = writer_of(bytes, CAP);
    item_put_array_open(&w);
    item_put_text(&w, slice_of("ab", 2));
    item_put_bool(&w, true);
    item_put_bool(&w, false);
    item_put_break(&w);
    ck_assert_uint_eq(writer_len(&w), 7);
    ck_assert_mem_eq(bytes, "\x9f\x62\x61\x62\xf5\xf4\xff", 7);
}
END_TEST

static struct item_reader reader_at(const uint8_t *p, size_t len)
{
    return item_reader_of(p, slice_of(p, len));
}

/* Numbers and counts with each head, the shortest one and wider ones, whole and cut. */
START_TEST(read_back)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        uint8_t bytes[CAP];
        for (unsigned info = 24; info < 28; info++) {
            const size_t n = (size_t)1 << (info - 24);
            if (n < 8 && samples[i].value >> (8 * n) != 0)
                continue;
            for (unsigned major = 0; major <= 4; major += 4) {
                struct writer w = writer_of(bytes, CAP);
                writer_byte(&w, (uint8_t)(major << 5 | info));
                writer_number(&w, samples[i].value, (int)n);
                struct item_reader r = reader_at(bytes, n + 1);
                ck_assert_uint_eq(major == 0 ? item_uint(&r) : item_array(&r), samples[i].value);
                ck_assert(!r.in.bad && reader_left(&r.in) == 0);
                ck_assert_int_eq(r.wide, item_size(samples[i].value) != n + 1);
                r = reader_at(bytes, n);
                ck_assert_uint_eq(major == 0 ? item_uint(&r) : item_array(&r), 0);
                ck_assert(r.in.bad && reader_left(&r.in) == n);
                r = reader_at(bytes, n + 1);
                ck_assert_uint_eq(major != 0 ? item_uint(&r) : item_array(&r), 0);
                ck_assert(r.in.bad);
            }
        }
    }
}
END_TEST

START_TEST(strings_that_are_cut)
{
    const uint8_t string[] = {0x42, 1, 2}, wide[] = {0x58, 2, 1, 2}, beyond[] = {0x58, 24, 1};
    struct item_reader r = reader_at(string, sizeof string);
    ck_assert_uint_eq(item_bytes(&r).len, 2);
    ck_assert(!r.in.bad && !r.wide);
    r = reader_at(string, 2);
    ck_assert_uint_eq(item_bytes(&r).len, 0);
    ck_assert(r.in.bad && item_at(&r) == 0);
    r = reader_at(wide, sizeof wide);
    ck_assert_uint_eq(item_bytes(&r).len, 2);
    ck_assert(!r.in.bad && r.wide);
    r = reader_at(beyond, sizeof beyond);
    ck_assert_uint_eq(item_bytes(&r).len, 0);
    ck_assert(r.in.bad);
}
END_TEST

START_TEST(what_begins_and_ends)
{
    const uint8_t bytes[] = {0x9f, 0xff, 0x82, 0xff};
    struct item_reader r = reader_at(bytes, sizeof bytes);
    item_array_open(&r);
    ck_assert_int_eq(item_peek(&r), ITEM_BREAK);
    item_break(&r);
    ck_assert_int_eq(item_peek(&r), ITEM_ARRAY);
    ck_assert(!r.in.bad && item_at(&r) == 2);
    item_array_open(&r);
    ck_assert(r.in.bad && item_at(&r) == 2);
    r = reader_at(bytes, 0);
    item_break(&r);
    ck_assert(r.in.bad);
}
END_TEST

SUITE(bp_item, t)
{
    tcase_add_test(t, written_as_the_rfc_has_it);
    tcase_add_test(t, others_written);
    tcase_add_test(t, read_back);
    tcase_add_test(t, strings_that_are_cut);
    tcase_add_test(t, what_begins_and_ends);
}
