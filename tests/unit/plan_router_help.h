/* SPDX-License-Identifier: Apache-2.0 */
/* A contact plan as the agent's router, with an agent that the test plays. */
#ifndef PLAN_ROUTER_HELP_H
#define PLAN_ROUTER_HELP_H

#include <stdlib.h>

#include "base/err.h"
#include "route/plan_router.h"
#include "tests/unit/suite.h"

#define MBIT UINT64_C(1000000)
#define S(n) ((n)*TICK_S)

struct world {
    struct plan *plan;
    struct plan_router *router;
    struct router ops;
    struct router_link link[3]; /* 0: to 2, 1: to 3, 2: to 4 */
    uint64_t others;
    enum bundle_priority priority; /* of what is asked for */
};

static inline struct router_link at(const void *context, uint32_t link)
{
    const struct world *w = context;
    return link < 3 ? w->link[link] : (struct router_link){0};
}

static inline struct router_answer ask_other(void *context, const struct router_query *q)
{
    struct world *w = context;
    (void)q;
    w->others++;
    return (struct router_answer){.verdict = ROUTER_LINK, .link = 2};
}

static inline void contact(struct world *w, uint64_t from, uint64_t to, tick start, tick end)
{
    struct plan_contact c = {from, to, start, end, 8 * MBIT, 1};
    struct plan_range r = {from, to, start, end, TICK_MS, false};
    uint64_t id;
    ck_assert_int_eq(plan_add(w->plan, &c, &id), 0);
    ck_assert_int_eq(plan_add_range(w->plan, &r), 0);
}

/* 1 meets 2 and then 3, both of which meet 4; 10 MB in each contact of 1. */
static inline void begin(struct world *w)
{
    struct plan_config config;
    static const struct router_ops other = {.by_destination = true, .ask = ask_other};
    const struct router other_router = {&other, w};
    plan_config_default(&config);
    config.margin = false;
    config.overhead_ppm = config.overhead_min = 0;
    config.seed = 7;
    *w = (struct world){.others = 0, .priority = BUNDLE_NORMAL};
    ck_assert_int_eq(plan_new(&w->plan, &config), 0);
    contact(w, 1, 2, S(10), S(20));
    contact(w, 1, 3, S(15), S(25));
    contact(w, 1, 2, S(40), S(50));
    contact(w, 2, 4, S(0), S(100));
    contact(w, 3, 4, S(0), S(100));
    ck_assert_int_eq(plan_router_new(&w->router, w->plan, 1, &other_router, 0), 0);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_int_eq(plan_router_link(w->router, i, i + 2), 0);
        w->link[i].used = true;
    }
    w->ops = plan_router(w->router);
}

static inline void end(struct world *w)
{
    plan_check(w->plan);
    plan_router_free(w->router);
    plan_free(w->plan);
}

static inline bool set_up(struct world *w, uint32_t link, bool up, tick now)
{
    w->link[link].up = up;
    return w->ops.ops->changed(w->ops.state, link, &w->link[link], now);
}

static inline struct router_answer ask(struct world *w, uint64_t to, uint64_t bytes, tick now,
                                       int from, uint64_t booking)
{
    struct eid destination = eid_ipn(0, to, 7);
    const struct router_links links = {w, at};
    struct router_query q = {.now = now,
                             .destination = &destination,
                             .bytes = bytes,
                             .expires = S(1000),
                             .priority = w->priority,
                             .came_from = from,
                             .avoid = from,
                             .booking = booking,
                             .links = &links};
    return w->ops.ops->ask(w->ops.state, &q);
}

/* The answer, which is no link, has this first arrival. */
static inline void first_is(struct world *w, const struct router_query *q, tick arrival)
{
    ck_assert_uint_eq(w->ops.ops->ask(w->ops.state, q).arrival, arrival);
}

static inline void note(struct world *w, enum router_note_kind kind, uint64_t booking)
{
    const struct router_note n = {.kind = kind, .booking = booking};
    w->ops.ops->note(w->ops.state, &n);
}

static inline uint64_t left(const struct world *w, uint64_t to, tick t)
{
    return plan_left(w->plan, plan_at(w->plan, 1, to, t), PLAN_NORMAL);
}

#endif
