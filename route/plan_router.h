/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contact plan as the bundle agent's router (bp/agent/router.h). A bundle goes to the link of the
 * first hop of its best route while that contact lasts, and waits apart until it begins; what is in
 * a queue has its volume booked along the whole route. Asked anew is the queue of a link whose
 * contact has ended, or that stays down although it has begun, and all when one comes up that was
 * missed. Pure. Times of the plan are ahead of the agent's by so much as plan_router_ahead says:
 * what a wall clock is ahead of the agent's clock, or 0.
 */
#ifndef ROUTE_PLAN_ROUTER_H
#define ROUTE_PLAN_ROUTER_H

#include "bp/agent/router.h"
#include "route/plan_route.h"

struct plan_router;

/* How long after a contact's beginning its link may be down before other ways are looked for. */
#define PLAN_ROUTER_GRACE TICK_S

/* The plan is borrowed; who changes it says so by plan_router_changed. `other` is asked about
 * destinations that the plan does not know. 0 or HELIO_ENOMEM. */
int plan_router_new(struct plan_router **out, struct plan *plan, uint64_t node,
                    const struct router *other, tick now);
void plan_router_free(struct plan_router *r); /* NULL is allowed */

struct router plan_router(struct plan_router *r);

/* The link leads to this neighbour. 0 or HELIO_ENOMEM. */
int plan_router_link(struct plan_router *r, uint32_t link, uint64_t neighbour);
void plan_router_unlink(struct plan_router *r, uint32_t link);

/* What an operator wants of it: bundles that nothing brings in time wait instead of being refused
 * [false]; these neighbours get none but their own [none]; at most PLAN_ROUTER_EXCLUDED, copied. */
#define PLAN_ROUTER_EXCLUDED 16
void plan_router_rules(struct plan_router *r, bool keep, const uint64_t *excluded, size_t len);

/* The number of this node. */
uint64_t plan_router_node(const struct plan_router *r);
/* A walk over the bundles that are in the queue of a link or on it, as far as they were booked when
 * it began. What changes between two steps does not matter. */
struct plan_router_walk {
    uint64_t cursor, last; /* last: the last booking before it began */
};
#define PLAN_ROUTER_KEYS 256
void plan_router_walk_begin(const struct plan_router *r, struct plan_router_walk *w);
/* One step, which takes the same time however many bundles there are: their keys, and how many.
 * False: these were the last; true: there may be more. */
bool plan_router_walk(const struct plan_router *r, uint32_t link, struct plan_router_walk *w,
                      uint64_t keys[PLAN_ROUTER_KEYS], size_t *len);
/* The plan has changed: the answers' deadline is looked up anew. The agent is told by
 * agent_reroute. */
void plan_router_changed(struct plan_router *r, tick now);
/* How far the plan's times are ahead of the agent's [0]; as above. */
void plan_router_ahead(struct plan_router *r, tick ahead, tick now);
/* Another plan from now on, borrowed as the first one; the former one may be freed. What is booked
 * was booked of that. As above. */
void plan_router_replace(struct plan_router *r, struct plan *plan, tick now);

struct plan_router_totals {
    size_t booked;                       /* routes that are booked now */
    uint64_t answers[PLAN_TOO_LONG + 1]; /* by enum plan_reason */
    uint64_t parts;                      /* answers for a part of a bundle */
    uint64_t others;                     /* that the other router gave */
};
void plan_router_totals(const struct plan_router *r, struct plan_router_totals *out);

/* The number of the node of an ipn endpoint, allocator included; false: it is none. */
bool plan_router_number(const struct eid *e, uint64_t *out);

#endif
