/* SPDX-License-Identifier: Apache-2.0 */
/* What each source has: sums by name, which come and go. */
#include <check.h>
#include <stdio.h>

#include "tools/files/files_sources.h"

START_TEST(sums_come_and_go)
{
    struct files_sources s;
    ck_assert_int_eq(files_sources_init(&s, 7), 0);
    ck_assert_ptr_null(files_sources_find(&s, "ipn:1"));
    ck_assert(files_sources_may(&s, "ipn:1", UINT64_MAX, 0, 0)); /* the first one */
    ck_assert_int_eq(files_sources_add(&s, "ipn:1", 10), 0);
    ck_assert_int_eq(files_sources_add(&s, "ipn:1", 0), 0);
    ck_assert_int_eq(files_sources_add(&s, "ipn:11", 5), 0);
    ck_assert_uint_eq(files_sources_find(&s, "ipn:1")->items, 2);
    ck_assert_uint_eq(files_sources_find(&s, "ipn:1")->space, 10);
    ck_assert_uint_eq(files_sources_find(&s, "ipn:11")->items, 1);
    ck_assert(!files_sources_may(&s, "ipn:1", 0, 2, 100));
    ck_assert(files_sources_may(&s, "ipn:1", 90, 3, 100));
    ck_assert(!files_sources_may(&s, "ipn:1", 91, 3, 100));
    ck_assert(!files_sources_may(&s, "ipn:1", UINT64_MAX, 3, 100));
    files_sources_sub(&s, "ipn:1", 10);
    files_sources_sub(&s, "ipn:1", 0);
    ck_assert_ptr_null(files_sources_find(&s, "ipn:1"));
    files_sources_sub(&s, "ipn:11", 5);
    files_sources_fini(&s);
}
END_TEST

START_TEST(many_sources)
{
    struct files_sources s;
    char name[32];
    ck_assert_int_eq(files_sources_init(&s, 3), 0);
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < 1000; i++) {
            snprintf(name, sizeof name, "ipn:%u", i);
            if (round == 0)
                ck_assert_int_eq(files_sources_add(&s, name, i), 0);
            else
                files_sources_sub(&s, name, i);
        }
    files_sources_fini(&s);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("sources");
    tcase_add_test(t, sums_come_and_go);
    tcase_add_test(t, many_sources);
    Suite *s = suite_create("tools_files_sources");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
