/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation fails once: what did not get in is not there, the rest is whole, and routes are
 * found all the same, since a search allocates nothing and the cache may do without. */
#include <stdbool.h>

#include "tests/unit/failing_memory.h"
#include "tests/unit/route_help.h"
#include "tests/unit/suite.h"

static int build(struct plan **p, uint64_t *id)
{
    struct plan_config config = bare_config();
    int rc = plan_new(p, &config);
    for (uint64_t i = 0; rc == 0 && i < 40; i++) {
        struct plan_contact c = contact_s(i % 9, (i + 1) % 9, i, i + 1, 8);
        struct plan_range r = {c.from, c.to, c.start, c.end, i, false};
        rc = plan_add(*p, &c, id);
        rc = rc < 0 ? rc : plan_add_range(*p, &r);
    }
    return rc;
}

START_TEST(a_plan_stays_whole)
{
    static struct plan_route ways[5], cold;
    for (long at = 0;; at++) {
        struct plan *p = NULL;
        uint64_t before = memory.failed, id = 0;
        struct plan_query q = query_at(0, 3, 10, 0);
        memory.countdown = at;
        int rc = build(&p, &id);
        enum plan_reason found = PLAN_NO_ROUTE;
        int several = 0;
        if (rc == 0) {
            found = plan_route_find(p, &q, &ways[0]);
            several = plan_route_several(p, &q, ways, 5);
        }
        memory.countdown = -1;
        if (p != NULL)
            plan_check(p);
        if (rc == 0) {
            ck_assert_int_eq(found, PLAN_FOUND);
            ck_assert_int_eq(plan_route_search(p, &q, &cold), PLAN_FOUND);
            ck_assert_uint_eq(cold.arrival, 3 * TICK_S - TICK_S + 10 * TICK_US + 2);
            ck_assert(several == 5 || (several == HELIO_ENOMEM && memory.failed > before));
        } else {
            ck_assert_int_eq(rc, HELIO_ENOMEM);
        }
        plan_free(p);
        if (memory.failed == before)
            break;
    }
    ck_assert_uint_gt(memory.failed, 100);
}
END_TEST

/* Without memory it is not known whether fewer hops would do. */
START_TEST(a_search_needs_no_memory)
{
    static struct plan_route r, rich;
    struct plan *p = NULL;
    uint64_t id;
    ck_assert_int_eq(build(&p, &id), 0);
    struct plan_query q = query_at(0, 3, 10, 0);
    memory.countdown = 0;
    enum plan_reason found = plan_route_search(p, &q, &r);
    memory.countdown = -1;
    ck_assert_int_eq(found, PLAN_FOUND);
    ck_assert_int_eq(plan_route_search(p, &q, &rich), PLAN_FOUND);
    ck_assert_uint_eq(r.arrival, rich.arrival);
    ck_assert_uint_ge(r.hops, rich.hops);
    plan_free(p);
}
END_TEST

SUITE(route_memory, t)
{
    tcase_add_test(t, a_plan_stays_whole);
    tcase_add_test(t, a_search_needs_no_memory);
}
