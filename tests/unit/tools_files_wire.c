/* SPDX-License-Identifier: Apache-2.0 */
/* Names and payloads of helio-send and helio-recv. */
#include <string.h>

#include "tests/unit/suite.h"
#include "tools/files/files_wire.h"

static bool good_name(const char *name, bool hidden)
{
    return files_name_good(slice_of(name, strlen(name)), hidden);
}

START_TEST(names_stay_in_the_folder)
{
    static const char *const good[] = {"a", "a.b", "a/b/c", "a b", "\xc3\xa4", "...a/b", "-rf"};
    static const char *const bad[] = {
        "",         "/",       "/etc/passwd", "..",       "../a",         "a/../b",
        "a/..",     "a//b",    "a/",          ".",        "./a",          "a\nb",
        "a\x7f",    "\x1b[2J", "\xff",        "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
        "\xc2\x85", "a/./b"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(good_name(good[i], true), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!good_name(bad[i], true), "%zu: %s", i, bad[i]);
    ck_assert(!files_name_good(slice_of("a\0b", 3), true));
    ck_assert(!good_name(".ssh/authorized_keys", false) && good_name(".ssh/authorized_keys", true));
    ck_assert(!good_name("a/.b", false));
    ck_assert(files_name_own(slice_of(".helio-sync/receive/table", 25)));
    ck_assert(files_name_own(slice_of(".helio-recv", 11)));
    ck_assert(!files_name_own(slice_of(".helio", 6)));
    char part[300], name[1200];
    memset(part, 'x', sizeof part);
    ck_assert(files_name_good(slice_of(part, 255), false));
    ck_assert(!files_name_good(slice_of(part, 256), false));
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = i % 100 == 99 ? '/' : 'y';
    ck_assert(files_name_good(slice_of(name, FILES_NAME_MAX), false));
    ck_assert(!files_name_good(slice_of(name, FILES_NAME_MAX + 1), false));
}
END_TEST

static struct files_head example_head(const char *name)
{
    struct files_head h = {.kind = FILES_PIECE,
                           .flags = FILES_WANT_RECEIPT,
                           .size = 1000,
                           .offset = 990,
                           .number = 7,
                           .name = slice_of(name, strlen(name))};
    memset(h.id, 0xab, FILES_ID);
    memset(h.sha, 0xcd, FILES_SHA);
    return h;
}

START_TEST(payloads_come_back)
{
    uint8_t out[FILES_HEAD + 100];
    struct files_head h = example_head("a/b.txt"), in;
    struct slice body;
    size_t len = files_write(&h, slice_of("0123456789", 10), out);
    memcpy(out + len, "0123456789", 10);
    ck_assert_int_eq(files_parse(slice_of(out, len + 10), &in, &body), FILES_OK);
    ck_assert(in.kind == h.kind && in.flags == 1 && in.size == 1000 && in.offset == 990);
    ck_assert(in.number == 7 && slice_equal(in.name, h.name) && body.len == 10);
    ck_assert(memcmp(in.id, h.id, FILES_ID) == 0 && memcmp(in.sha, h.sha, FILES_SHA) == 0);
    for (size_t i = 0; i < len + 10; i++) { /* each bit that is turned is seen */
        out[i] ^= 4;
        ck_assert_int_ne(files_parse(slice_of(out, len + 10), &in, &body), FILES_OK);
        out[i] ^= 4;
    }
    for (size_t n = 0; n < len + 10; n++)
        ck_assert_int_ne(files_parse(slice_of(out, n), &in, &body), FILES_OK);
    h.offset = 991; /* the piece would end behind the file */
    len = files_write(&h, slice_of("0123456789", 10), out);
    memcpy(out + len, "0123456789", 10);
    ck_assert_int_eq(files_parse(slice_of(out, len + 10), &in, &body), FILES_FOREIGN);
}
END_TEST

START_TEST(receipts_come_back)
{
    uint8_t out[FILES_RECEIPT_MAX];
    struct files_head h = example_head("x"), in;
    struct files_receipt r = {.state = FILES_STATE_PARTLY, .held = 400, .gaps_len = 2}, got;
    struct slice body;
    r.gaps[0] = (struct range){0, 500};
    r.gaps[1] = (struct range){900, 1000};
    size_t len = files_write_receipt(&h, &r, out);
    ck_assert_int_eq(files_parse(slice_of(out, len), &in, &body), FILES_OK);
    ck_assert(in.kind == FILES_RECEIPT && in.name.len == 0 && in.number == 7);
    ck_assert(files_parse_receipt(body, in.size, &got));
    ck_assert(got.held == 400 && got.gaps_len == 2 && got.gaps[1].lo == 900);
    ck_assert(!files_parse_receipt(body, 999, &got)); /* a gap behind the file */
    ck_assert(!files_parse_receipt(slice_of(body.data, body.len - 1), in.size, &got));
    r.gaps[0] = (struct range){950, 960};
    len = files_write_receipt(&h, &r, out);
    ck_assert_int_eq(files_parse(slice_of(out, len), &in, &body), FILES_OK);
    ck_assert(!files_parse_receipt(body, in.size, &got)); /* not in order */
    r = (struct files_receipt){.state = FILES_STATE_DONE, .held = 999};
    len = files_write_receipt(&h, &r, out);
    ck_assert_int_eq(files_parse(slice_of(out, len), &in, &body), FILES_OK);
    ck_assert(!files_parse_receipt(body, in.size, &got)); /* done, and a byte is missing */
    ck_assert(files_parse_receipt(body, 999, &got));
}
END_TEST

SUITE(tools_files_wire, t)
{
    tcase_add_test(t, names_stay_in_the_folder);
    tcase_add_test(t, payloads_come_back);
    tcase_add_test(t, receipts_come_back);
}
