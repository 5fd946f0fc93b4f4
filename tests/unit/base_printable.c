/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign text becomes one visible line. */
#include <string.h>

#include "base/printable.h"
#include "base/rng.h"
#include "tests/unit/suite.h"

START_TEST(what_is_not_visible_is_escaped)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"", ""},
        {"ipn:2.0 \"quoted\" \\n {1}", "ipn:2.0 \"quoted\" \\n {1}"},
        {"a\nb\r\tc", "a\\nb\\r\\tc"},
        {"\x1b[31mred\x7f\x01", "\\x1b[31mred\\x7f\\x01"},
        {"Größe 5 µs … 日本 🛰", "Größe 5 µs … 日本 🛰"},
        {"\xc2\x85|\xc2\x9b", "\\u{85}|\\u{9b}"}, /* C1 */
        {"\xe2\x80\xae"
         "txt.exe",
         "\\u{202e}txt.exe"},                                                      /* override */
        {"\xe2\x81\xa6|\xe2\x80\x8f|\xd8\x9c", "\\u{2066}|\\u{200f}|\\u{61c}"},    /* directions */
        {"\xe2\x80\xa8|\xe2\x80\xa9", "\\u{2028}|\\u{2029}"},                      /* line ends */
        {"\xe2\x80\x8b|\xef\xbb\xbf|\xc2\xad", "\\u{200b}|\\u{feff}|\\u{ad}"},     /* no width */
        {"\xf3\xa0\x81\x81", "\\u{e0041}"},                                        /* a tag */
        {"\xff\xfe|\x80", "\\xff\\xfe|\\x80"},                                     /* no UTF-8 */
        {"\xc0\x8a|\xe0\x80\x8a", "\\xc0\\x8a|\\xe0\\x80\\x8a"},                   /* overlong \n */
        {"\xed\xa0\x80|\xf4\x90\x80\x80", "\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80"}, /* no points */
        {"\xe2\x80", "\\xe2\\x80"},                                                /* cut */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[128];
        size_t len = printable(rows[i].text, strlen(rows[i].text), out, sizeof out);
        ck_assert_str_eq(out, rows[i].shown);
        ck_assert_uint_eq(len, strlen(rows[i].shown));
    }
}
END_TEST

START_TEST(a_zero_is_a_character)
{
    char out[16];
    ck_assert_uint_eq(printable("a\0b", 3, out, sizeof out), 6);
    ck_assert_str_eq(out, "a\\x00b");
}
END_TEST

START_TEST(nothing_is_cut_in_the_middle)
{
    static const char text[] = "ab\xe2\x80\xae\xc3\xa9\x1b"; /* ab, 8 of an escape, 2, 4 */
    static const size_t whole[] = {0, 1, 2, 10, 12, 16};
    char out[32];
    for (size_t cap = 1; cap <= 17; cap++) {
        size_t want = 0;
        for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
            want = whole[i] < cap ? whole[i] : want;
        memset(out, '#', sizeof out);
        ck_assert_uint_eq(printable(text, sizeof text - 1, out, cap), want);
        ck_assert_uint_eq(strlen(out), want);
        ck_assert_int_eq(out[cap], '#');
    }
}
END_TEST

/* Shown text is shown as it is: nothing in it is hidden any more. */
START_TEST(shown_text_is_visible)
{
    struct rng r;
    rng_init(&r, 1);
    for (unsigned run = 0; run < 20000; run++) {
        char text[16], once[sizeof text * PRINTABLE_EACH + 1], twice[sizeof once];
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = (char)(rng_u64(&r) >> 40);
        size_t len = printable(text, sizeof text, once, sizeof once);
        ck_assert_uint_eq(printable(once, len, twice, sizeof twice), len);
        ck_assert_str_eq(once, twice);
    }
}
END_TEST

SUITE(base_printable, t)
{
    tcase_add_test(t, what_is_not_visible_is_escaped);
    tcase_add_test(t, a_zero_is_a_character);
    tcase_add_test(t, nothing_is_cut_in_the_middle);
    tcase_add_test(t, shown_text_is_visible);
}
