/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for the tests of route/: without overhead and margin, in seconds. */
#ifndef TESTS_UNIT_ROUTE_HELP_H
#define TESTS_UNIT_ROUTE_HELP_H

#include "base/err.h"
#include "route/plan_route.h"
#include "tests/unit/suite.h"

#define MBIT UINT64_C(1000000)

static inline struct plan_config bare_config(void)
{
    struct plan_config c;
    plan_config_default(&c);
    c.margin = false;
    c.overhead_ppm = c.overhead_min = 0;
    return c;
}

static inline struct plan *new_plan(const struct plan_config *config)
{
    struct plan *p;
    ck_assert_int_eq(plan_new(&p, config), 0);
    return p;
}

static inline struct plan *bare_plan(void)
{
    struct plan_config c = bare_config();
    return new_plan(&c);
}

/* A contact of so many Mbit/s in whole seconds. */
static inline struct plan_contact contact_s(uint64_t from, uint64_t to, uint64_t start,
                                            uint64_t end, uint64_t mbit)
{
    return (struct plan_contact){from, to, start * TICK_S, end * TICK_S, mbit * MBIT, 1};
}

static inline uint64_t add_contact(struct plan *p, uint64_t from, uint64_t to, uint64_t start,
                                   uint64_t end, uint64_t mbit)
{
    struct plan_contact c = contact_s(from, to, start, end, mbit);
    uint64_t id = 0;
    ck_assert_int_eq(plan_add(p, &c, &id), 0);
    ck_assert_uint_ne(id, 0);
    return id;
}

static inline void add_range(struct plan *p, uint64_t from, uint64_t to, uint64_t start,
                             uint64_t end, tick owlt)
{
    struct plan_range r = {from, to, start * TICK_S, end * TICK_S, owlt, false};
    ck_assert_int_eq(plan_add_range(p, &r), 0);
}

static inline struct plan_query query_at(uint64_t from, uint64_t to, uint64_t bytes, tick now)
{
    return (struct plan_query){.from = from,
                               .to = to,
                               .bytes = bytes,
                               .priority = PLAN_NORMAL,
                               .now = now,
                               .expiry = TICK_NEVER};
}

#endif
