/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of an owner and of the folder of versions fails once: an error, and no leak. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "plans/plans_owner.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"
#include "tools/plan/plans_shelf.h"

START_TEST(owner)
{
    struct plans_owner o;
    const struct eid follower = eid_ipn(0, 2, 71);
    memory.countdown = 0;
    const int rc = plans_owner_init(&o, &follower, 1, false, TICK_S, TICK_S);
    memory.countdown = -1;
    ck_assert_int_eq(rc, HELIO_ENOMEM);
}
END_TEST

START_TEST(folder)
{
    char path[] = "/tmp/helio-plans-XXXXXX", why[256], command[64];
    uint64_t numbers[PLANS_FILES_MAX];
    struct plans_shelf s;
    struct plans_file f = {.octets = NULL};
    const struct plans_version v = {1, 0, plans_check(1, 0, slice_of("abc", 3))};
    ck_assert_ptr_nonnull(mkdtemp(path));
    ck_assert_int_eq(plans_shelf_open(&s, path, true, why, sizeof why), 0);
    ck_assert_int_eq(plans_shelf_write(&s, &v, slice_of("abc", 3)), 0);
    uint64_t before;
    long n = 0;
    do {
        before = memory.failed;
        memory.countdown = n++;
        const int rc = plans_shelf_read(&s, 1, &f);
        const int len = plans_shelf_list(&s, numbers);
        memory.countdown = -1;
        ck_assert(rc == 0 || rc == HELIO_ENOMEM);
        ck_assert(len == 1 || len < 0);
        free(f.octets);
    } while (memory.failed > before);
    ck_assert_int_gt(n, 1);
    plans_shelf_close(&s);
    snprintf(command, sizeof command, "rm -rf %s", path);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

SUITE(plans_memory, t)
{
    tcase_add_test(t, owner);
    tcase_add_test(t, folder);
}
