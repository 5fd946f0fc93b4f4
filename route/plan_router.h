/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contact plan as the bundle agent's router (bp/agent/router.h). During the first contact of its
 * best route, a bundle is queued for the link of that hop. Before the contact it waits without a
 * link. A queued bundle has its volume booked along the whole route.
 *
 * The agent asks again for the bundles queued for a link when its contact has ended, or when the
 * link stays down during a contact. It asks for all bundles when a link comes up that other routes
 * avoided. A link to a neighbour without contacts changes no answer of the plan.
 *
 * Pure. Times of the plan are ahead of the agent's clock by plan_router_ahead: the offset of a wall
 * clock, or 0.
 */
#ifndef ROUTE_PLAN_ROUTER_H
#define ROUTE_PLAN_ROUTER_H

#include "bp/agent/router.h"
#include "route/plan_route.h"

struct plan_router;

/* A link may be down so long after its contact has begun; then other routes are used. */
#define PLAN_ROUTER_GRACE TICK_S

/* The plan is borrowed; after each change call plan_router_changed. `other` is the router for
 * destinations that are not in the plan: a router by destination. Returns 0 or HELIO_ENOMEM. */
int plan_router_new(struct plan_router **out, struct plan *plan, uint64_t node,
                    const struct router *other, tick now);
void plan_router_free(struct plan_router *r); /* NULL is allowed */

struct router plan_router(struct plan_router *r);

/* The link leads to this neighbour. 0 or HELIO_ENOMEM. */
int plan_router_link(struct plan_router *r, uint32_t link, uint64_t neighbour);
void plan_router_unlink(struct plan_router *r, uint32_t link);

/* Operator settings. keep: bundles that cannot arrive in time wait instead of being refused
 * [false]. excluded: these neighbours are destinations only, never relays [none]; at most
 * PLAN_ROUTER_EXCLUDED, copied. */
#define PLAN_ROUTER_EXCLUDED 16
void plan_router_rules(struct plan_router *r, bool keep, const uint64_t *excluded, size_t len);

/* The number of this node. */
uint64_t plan_router_node(const struct plan_router *r);
/* An iteration over the bundles in a link's queue, or in transmission on it, that were booked
 * before it began. The plan and the bookings may change between two steps. */
struct plan_router_walk {
    uint64_t cursor, last; /* last: the latest booking before it began */
};
#define PLAN_ROUTER_KEYS 256
void plan_router_walk_begin(const struct plan_router *r, struct plan_router_walk *w);
/* One step; its time is bounded. Writes the bundles' keys and their number. False: these were the
 * last; true: there may be more. */
bool plan_router_walk(const struct plan_router *r, uint32_t link, struct plan_router_walk *w,
                      uint64_t keys[PLAN_ROUTER_KEYS], size_t *len);
/* The plan has changed: the router's deadline is computed again. The caller informs the agent by
 * agent_reroute. */
void plan_router_changed(struct plan_router *r, tick now);
/* Sets the offset of the plan's times to the agent's [0]. Then as plan_router_changed. */
void plan_router_ahead(struct plan_router *r, tick ahead, tick now);
/* Replaces the plan; it is borrowed, and the former one may be freed. Existing bookings belong to
 * the former plan. Then as plan_router_changed. */
void plan_router_replace(struct plan_router *r, struct plan *plan, tick now);

struct plan_router_totals {
    size_t booked;                       /* present bookings */
    uint64_t answers[PLAN_TOO_LONG + 1]; /* by enum plan_reason */
    uint64_t parts;                      /* answers for a part of a bundle */
    uint64_t others;                     /* answers of the other router */
};
void plan_router_totals(const struct plan_router *r, struct plan_router_totals *out);

/* The node number of an ipn endpoint, with its allocator; false: it is no ipn endpoint. */
bool plan_router_number(const struct eid *e, uint64_t *out);

#endif
