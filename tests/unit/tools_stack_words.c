/* SPDX-License-Identifier: Apache-2.0 */
/* An option's value as words: white space, quotes, what is put in front. */

#include "tests/unit/suite.h"
#include "tools/sim/stack_words.h"

static const char *const first[] = {"program", "mode", NULL};

static void check_words(const char *text, const char *const *want)
{
    int count, n = 0;
    char **words = stack_words(first, text, &count);
    ck_assert_ptr_nonnull(words);
    ck_assert_str_eq(words[0], "program");
    ck_assert_str_eq(words[1], "mode");
    for (; want[n] != NULL; n++)
        ck_assert_str_eq(words[n + 2], want[n]);
    ck_assert_int_eq(count, n + 2);
    ck_assert_ptr_null(words[count]);
    stack_words_free(words);
}

START_TEST(words_and_quotes)
{
    check_words("", (const char *[]){NULL});
    check_words(" \t\n ", (const char *[]){NULL});
    check_words("a", (const char *[]){"a", NULL});
    check_words("  -d ipn:2.1\t-W\n5 ", (const char *[]){"-d", "ipn:2.1", "-W", "5", NULL});
    check_words("a b c d", (const char *[]){"a", "b", "c", "d", NULL});
    check_words("-F 'a file' x", (const char *[]){"-F", "a file", "x", NULL});
    check_words("--name=\"it's\" y", (const char *[]){"--name=it's", "y", NULL});
    check_words("'a''b' \"\"", (const char *[]){"ab", "", NULL});
    check_words("''", (const char *[]){"", NULL});
}
END_TEST

START_TEST(open_quotes)
{
    static const char *const wrong[] = {"'", "\"", "a 'b c", "a \"b'", "'a' 'b"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int count;
        ck_assert_ptr_null(stack_words(first, wrong[i], &count));
        ck_assert_int_eq(count, -1);
    }
    stack_words_free(NULL);
}
END_TEST

START_TEST(long_options)
{
    char *words[] = {(char[]){"-socket"}, (char[]){"--sockets"}, (char[]){"--json=x"}, NULL};
    ck_assert(stack_words_have(words, "json"));
    ck_assert(!stack_words_have(words, "socket"));
    ck_assert(stack_words_have(words, "sockets"));
}
END_TEST

SUITE(tools_stack_words, t)
{
    tcase_add_test(t, words_and_quotes);
    tcase_add_test(t, open_quotes);
    tcase_add_test(t, long_options);
}
