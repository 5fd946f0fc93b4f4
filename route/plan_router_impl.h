/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the router of contact plans. A next hop is a link of this node with the neighbour at
 * its other end. */
#ifndef ROUTE_PLAN_ROUTER_IMPL_H
#define ROUTE_PLAN_ROUTER_IMPL_H

#include "base/hash.h"
#include "route/plan_router.h"

#define EXCLUDED_MAX 32  /* neighbours, of one search */
#define COPIES_MAX 16    /* links of a critical bundle */
#define BALANCE_LINKS 4  /* equal links that share bundles */
#define BALANCE_SLOTS 64 /* destinations known to have one best link only */
#define SPLITS 256       /* destinations known to be reachable in parts at most */

struct next_hop {
    uint64_t neighbour;
    uint32_t link;
    bool up;
    tick down;        /* since then; 0: before the router saw it */
    tick check;       /* bundles queued for it are asked for again if it is down then */
    bool shunned;     /* while it was down, some answer avoided it */
    uint64_t contact; /* of the last answer, or active at the last look; 0: none */
    bool touched;     /* by the last change: the agent must ask again for its bundles */
    uint64_t given;   /* bytes, in choices between equal links */
    /* Until then bundles of this neighbour have used up their share of the time
     * (plan_router_work.c). */
    tick spent;
    tick failing; /* likewise, of its searches that find nothing: no search before */
};

/* This number of bytes, or more, to this node, received over this link (or from this node), had no
 * route as a whole at the last search. */
struct split {
    uint64_t to, bytes; /* 0: none */
    int from;
    enum bundle_priority priority;
};

struct booking {
    struct hash_node by_id;
    uint64_t id, key;
    uint32_t link;
    /* Its volumes are booked, in this class, in the plan of this number; 0: not booked. */
    uint32_t plan;
    /* Bytes counted in next_hop.given for it, in a choice between equal links. */
    uint64_t given;
    enum plan_priority priority;
    bool displaces; /* others of its class: see plan_book_yield */
    struct plan_route *route;
};

/* No other link is as good as the one to this neighbour. */
struct balance_slot {
    uint64_t to, neighbour;
    tick until;
};

struct plan_router {
    struct plan *plan;
    uint32_t plans; /* number of the present plan */
    struct router other;
    uint64_t node, ids;
    tick ahead; /* the plan's time minus the agent's */
    bool keep;
    uint64_t excluded[PLAN_ROUTER_EXCLUDED];
    size_t excluded_len;
    struct next_hop *next_hops;
    size_t next_hops_len, next_hops_cap;
    /* plan_begin_by must be called again: links to neighbours with contacts have changed. */
    bool relinked;
    struct hash bookings;
    bool touched; /* bundles without a link must be asked for again */
    tick edge;    /* next start or end of a contact of this node */
    tick check;   /* the earliest next_hop.check */
    struct plan_router_totals totals;
    struct plan_route pending; /* of the last answer */
    enum plan_priority pending_priority;
    uint64_t pending_id;
    uint64_t pending_yields;         /* booked bytes that it may displace */
    bool pending_chosen;             /* it was chosen between equal links */
    struct plan_route first, chosen; /* of these; of the first only the first hop is used */
    /* Neighbours that are excluded in the search for alternatives. */
    uint64_t besides[BALANCE_LINKS];
    size_t besides_len;
    struct balance_slot alone[BALANCE_SLOTS];
    struct split splits[SPLITS];
    tick spent, spent_all;  /* as next_hop.spent: of this node's own bundles; of all */
    struct plan_route *all; /* of the last critical bundle, COPIES_MAX; NULL: none */
    struct router_copy copy[COPIES_MAX];
    size_t copy_route[COPIES_MAX], copies; /* its index in `all` */
};

/* Converts the agent's time to the plan's, and back; times before the agent's 0 are 0. */
static inline tick plan_time(const struct plan_router *r, tick t)
{
    return tick_add(t, r->ahead);
}

static inline tick agent_time(const struct plan_router *r, tick t)
{
    return t == TICK_NEVER ? t : t > r->ahead ? t - r->ahead : 0;
}

/* Are its volumes booked in the present plan? */
static inline bool booking_held(const struct plan_router *r, const struct booking *b)
{
    return b->plan == r->plans;
}

/* plan_router_balance.c. looks: must an alternative be searched? alone: there was none. equal: the
 * alternative is as good as the first. prefers: the other of two links gets these bytes. */
bool balance_looks(const struct plan_router *r, uint64_t to, uint64_t neighbour, tick now);
void balance_alone(struct plan_router *r, uint64_t to, uint64_t neighbour, tick now);
bool balance_equal(const struct plan_route *first, const struct plan_route *other, tick now);
bool balance_prefers(struct next_hop *next_hop, struct next_hop *other, uint64_t bytes);

/* plan_router_none.c. Both write excluded neighbours to `out` and return their number. always:
 * excluded by the operator, unless they are the destination. declined: their links declined the
 * bundle. none_answer: the answer if no route was found. */
size_t none_always(const struct plan_router *r, uint64_t to, uint64_t *out);
size_t none_declined(const struct plan_router *r, const struct router_query *q, uint64_t *out);
struct router_answer none_answer(struct plan_router *r, const struct router_query *rq,
                                 const struct plan_query *pq, enum plan_reason reason);

/* plan_router_work.c limits the time of searches without a route. work_until: no search for this
 * bundle before that time, if it is known to need parts (work_known); <= now: it may
 * be searched. work_stopped: no search at all before that time. */
tick work_stopped(const struct plan_router *r, const struct router_query *q);
tick work_until(const struct plan_router *r, const struct router_query *q);
bool work_known(const struct plan_router *r, const struct router_query *q, uint64_t to);
/* The search found a route as a whole, or none. */
void work_note(struct plan_router *r, const struct router_query *q, uint64_t to, bool whole);
/* Searches that found no route as a whole took this many units of plan_work; looked: parts were
 * searched for, too. */
void work_spend(struct plan_router *r, const struct router_query *q, uint64_t units, bool looked);
uint64_t work_done(const void *router); /* as router_ops has it */

/* plan_router_next_hop.c: links, and changes */
struct next_hop *next_hop_find(const struct plan_router *r,
                               uint32_t link); /* NULL: there is none */
/* The link to the neighbour; of several the first that is up. NULL: there is none. */
struct next_hop *next_hop_to(const struct plan_router *r, uint64_t neighbour);
/* Rules forbid this link; or the bundle must not be fragmented, and is longer than the link
 * permits. */
bool next_hop_barred(const struct router_query *q, const struct next_hop *w);
/* The first start or end of a contact or range of this node after now. */
tick next_hop_next_edge(const struct plan_router *r, tick now);
/* It may have to be asked for again at this time. */
void next_hop_check(struct plan_router *r, struct next_hop *w, tick at);
/* Functions of router_ops. */
bool next_hop_uses(const void *router, uint32_t link);
bool next_hop_changed(void *router, uint32_t link, const struct router_link *state, tick now);
bool next_hop_touched(const void *router, int link);
tick next_hop_deadline(const void *router);
bool next_hop_expire(void *router, tick now);

#endif
