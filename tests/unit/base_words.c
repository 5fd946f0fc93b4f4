/* SPDX-License-Identifier: Apache-2.0 */
/* Which word was meant. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

static const char *const words[] = {"check", "convert", "show", "route"};

START_TEST(the_nearest_is_found)
{
    static const struct {
        const char *typed, *meant;
    } rows[] = {{"chekc", "check"}, {"Check", "check"},  {"convet", "convert"},    {"sho", "show"},
                {"rout", "route"},  {"routes", "route"}, {"converting", "convert"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *found = words_closest(rows[i].typed, words, 4);
        ck_assert_msg(found != NULL && strcmp(found, rows[i].meant) == 0, "%s", rows[i].typed);
    }
}
END_TEST

START_TEST(none_is_near)
{
    char longest[66];
    memset(longest, 's', 65);
    longest[65] = '\0';
    ck_assert_ptr_null(words_closest("draw", words, 4));
    ck_assert_ptr_null(words_closest("", words, 4));
    ck_assert_ptr_null(words_closest("check", words, 0));
    ck_assert_ptr_null(words_closest(longest, words, 4)); /* longer than is compared */
    ck_assert_ptr_null(words_closest("ssss", words, 4));
    ck_assert_ptr_eq(words_closest("show", words, 4), words[2]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("words");
    TCase *t = tcase_create("words");
    tcase_add_test(t, the_nearest_is_found);
    tcase_add_test(t, none_is_near);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
