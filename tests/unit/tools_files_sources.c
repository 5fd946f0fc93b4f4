/* SPDX-License-Identifier: Apache-2.0 */
/* What each source has: sums by name, which come and go; and what a shelf makes of them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_shelf.h"
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

/* Begins a file of that size; what files_shelf_begin says. */
static int begin_file(struct files_shelf *s, const char *source, uint64_t size, tick now)
{
    static uint8_t last;
    struct files_item *it;
    struct files_head h = {.kind = FILES_PIECE, .size = size, .name = slice_of("x", 1)};
    h.id[0] = ++last;
    int rc = files_shelf_begin(s, &h, source, now, &it);
    files_shelf_check(s);
    return rc;
}

/* One who begins many leaves room for others; his first one may be of any size. */
START_TEST(a_source_has_its_share)
{
    char dir[] = "/tmp/files-share-XXXXXX", clean[64];
    struct files_shelf s;
    const struct files_limits limits = {1 << 20, 8, 1 << 22, 3600 * TICK_S, false, 50};
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(files_shelf_open(&s, dir, &limits, 1), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(begin_file(&s, "ipn:1", 2, 0), 0);
    ck_assert_int_eq(begin_file(&s, "ipn:1", 2, 0), HELIO_EEXIST); /* half of 8 files */
    ck_assert_int_eq(begin_file(&s, "ipn:9", 3 << 20, 0), 0);
    ck_assert_int_eq(begin_file(&s, "ipn:9", 1, 0), HELIO_EEXIST); /* half of 4 MiB */
    ck_assert_int_eq(begin_file(&s, "ipn:8", 1 << 19, 0), 0);
    ck_assert_int_eq(begin_file(&s, "ipn:7", 1 << 19, 0), HELIO_EAGAIN); /* all of it */
    ck_assert_int_eq(begin_file(&s, "ipn:1", 2, 3600 * TICK_S), 0);      /* the oldest give way */
    ck_assert_uint_eq(files_sources_find(&s.sources, "ipn:1")->items, 4);
    s.limits.share = 100; /* no share: the limits of all alone */
    ck_assert_int_eq(begin_file(&s, "ipn:1", 2, 0), 0);
    files_shelf_close(&s);
    snprintf(clean, sizeof clean, "rm -r %s", dir);
    ck_assert_int_eq(system(clean), 0);
}
END_TEST

/* Who is over his share gives way to himself: the silent files of others stay. */
START_TEST(others_do_not_pay_for_a_share)
{
    char dir[] = "/tmp/files-share-XXXXXX", clean[64];
    struct files_shelf s;
    const struct files_limits limits = {1 << 20, 8, 1 << 22, 3600 * TICK_S, false, 50};
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(files_shelf_open(&s, dir, &limits, 1), 0);
    ck_assert_int_eq(begin_file(&s, "ipn:2", 2, 0), 0); /* the oldest of all */
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_int_eq(begin_file(&s, "ipn:1", 2, (i < 1 ? 1 : 1800) * TICK_S), 0);
    ck_assert_int_eq(begin_file(&s, "ipn:1", 2, 3601 * TICK_S), 0); /* for its own oldest */
    ck_assert_uint_eq(files_sources_find(&s.sources, "ipn:1")->items, 4);
    ck_assert_uint_eq(files_sources_find(&s.sources, "ipn:2")->items, 1);
    ck_assert_int_eq(begin_file(&s, "ipn:1", 2, 3602 * TICK_S), HELIO_EEXIST);
    ck_assert_uint_eq(files_sources_find(&s.sources, "ipn:2")->items, 1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(begin_file(&s, "ipn:3", 2, 3602 * TICK_S), 0);
    ck_assert_int_eq(begin_file(&s, "ipn:4", 2, 3602 * TICK_S), 0); /* no room: the oldest of all */
    ck_assert_ptr_null(files_sources_find(&s.sources, "ipn:2"));
    files_shelf_close(&s);
    snprintf(clean, sizeof clean, "rm -r %s", dir);
    ck_assert_int_eq(system(clean), 0);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("sources");
    tcase_add_test(t, sums_come_and_go);
    tcase_add_test(t, many_sources);
    tcase_add_test(t, a_source_has_its_share);
    tcase_add_test(t, others_do_not_pay_for_a_share);
    Suite *s = suite_create("tools_files_sources");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
