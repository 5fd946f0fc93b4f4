/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the contact plan's router share; not for others. */
#ifndef ROUTE_PLAN_ROUTER_IMPL_H
#define ROUTE_PLAN_ROUTER_IMPL_H

#include "base/hash.h"
#include "route/plan_router.h"

#define EXCLUDED_MAX 32  /* neighbours, of one search */
#define COPIES_MAX 16    /* ways of a critical bundle */
#define BALANCE_WAYS 4   /* that share bundles */
#define BALANCE_SLOTS 64 /* destinations known to have one way only */
#define SPLITS 256       /* destinations known to have a way for parts at most */

struct way {
    uint64_t neighbour;
    uint32_t link;
    bool up;
    tick down;        /* since; 0: since before it was looked at */
    bool shunned;     /* since it is down some answer did without it */
    uint64_t contact; /* of the last answer, or in force when it was looked at last; 0: none */
    bool touched;     /* by the last change: what waits for it is to be asked for */
    uint64_t given;   /* bytes, of choices among equal ways */
    tick spent; /* until then what it brings has had its part of the time (plan_router_work.c) */
};

/* So many bytes for a node, and more, found no way as a whole when they were asked for last. */
struct split {
    uint64_t to, bytes; /* 0: none */
    enum bundle_priority priority;
};

struct booking {
    struct hash_node by_id;
    uint64_t id, key;
    uint32_t link;
    uint32_t plan; /* its volumes are booked, in this class, of the plan with this number; 0: not */
    uint64_t given; /* bytes that its way was given for it, of a choice among equal ones */
    enum plan_priority priority;
    struct plan_route *route;
};

/* No way is as good as the one by this neighbour. */
struct balance_slot {
    uint64_t to, neighbour;
    tick until;
};

struct plan_router {
    struct plan *plan;
    uint32_t plans; /* that there were: the number of this one */
    struct router other;
    uint64_t node, ids;
    tick ahead; /* the plan's time less the agent's */
    bool keep;
    uint64_t excluded[PLAN_ROUTER_EXCLUDED];
    size_t excluded_len;
    struct way *ways;
    size_t ways_len, ways_cap;
    bool relinked; /* since the plan has heard which neighbours have links */
    struct hash bookings;
    bool touched;       /* what waits apart, likewise */
    bool links_touched; /* what waits for any link */
    tick edge;          /* of this node's contacts, the next */
    tick check;         /* of links that are still down */
    struct plan_router_totals totals;
    struct plan_route pending; /* of the last answer */
    enum plan_priority pending_priority;
    uint64_t pending_id;
    bool pending_chosen;             /* among equal ways */
    struct plan_route first, chosen; /* of them; of the first no more than its first hop */
    uint64_t besides[BALANCE_WAYS];  /* neighbours that are looked beside, in a search for others */
    size_t besides_len;
    struct balance_slot alone[BALANCE_SLOTS];
    struct split splits[SPLITS];
    tick spent, spent_all;  /* as way.spent, of what started here; of all */
    struct plan_route *all; /* of the last critical bundle, COPIES_MAX; NULL: there was none */
    struct router_copy copy[COPIES_MAX];
    size_t copy_route[COPIES_MAX], copies; /* which of them it is */
};

/* The agent's time as the plan's, and back; what is long past is 0. */
static inline tick plan_time(const struct plan_router *r, tick t)
{
    return tick_add(t, r->ahead);
}

static inline tick agent_time(const struct plan_router *r, tick t)
{
    return t == TICK_NEVER ? t : t > r->ahead ? t - r->ahead : 0;
}

/* Are its volumes booked? What was booked of a former plan is nothing to this one. */
static inline bool booking_held(const struct plan_router *r, const struct booking *b)
{
    return b->plan == r->plans;
}

/* plan_router_balance.c. looks: a second way is to be looked for. alone: there was none. equal: the
 * other one is as good as the first. prefers: of two ways the other one is to get these bytes. */
bool balance_looks(const struct plan_router *r, uint64_t to, uint64_t neighbour, tick now);
void balance_alone(struct plan_router *r, uint64_t to, uint64_t neighbour, tick now);
bool balance_equal(const struct plan_route *first, const struct plan_route *other, tick now);
bool balance_prefers(struct way *way, struct way *other, uint64_t bytes);

/* plan_router_none.c: neighbours that are excluded, into `out`; how many. always: those that an
 * operator wants to have nothing but their own. declined: those whose links declined the bundle.
 * answer: to a question that found no route. */
size_t none_always(const struct plan_router *r, uint64_t to, uint64_t *out);
size_t none_declined(const struct plan_router *r, const struct router_query *q, uint64_t *out);
struct router_answer none_answer(struct plan_router *r, const struct router_query *rq,
                                 const struct plan_query *pq, enum plan_reason reason);

/* plan_router_work.c: the time that looks for parts take. Until when this bundle is not to be
 * looked for; <= now: it may be. known: it is known that it must go in parts. */
tick work_until(const struct plan_router *r, const struct router_query *q);
bool work_known(const struct plan_router *r, const struct router_query *q, uint64_t to);
/* It found a way as a whole, or none. */
void work_note(struct plan_router *r, const struct router_query *q, uint64_t to, bool whole);
/* Parts of it were looked for, which took so many units of plan_work. */
void work_spend(struct plan_router *r, const struct router_query *q, uint64_t units);

/* plan_router_way.c: links, and what changes */
struct way *way_find(const struct plan_router *r, uint32_t link); /* NULL: there is none */
/* The neighbour's link: of several the first that is up. NULL: there is none */
struct way *way_to(const struct plan_router *r, uint64_t neighbour);
/* Rules do not let it leave there; or it must go whole, and is longer than the link takes. */
bool way_barred(const struct router_query *q, const struct way *w);
/* Of this node's contacts and light times, the first change after now. */
tick way_next_edge(const struct plan_router *r, tick now);
/* As router_ops has them. */
bool way_changed(void *router, uint32_t link, const struct router_link *state, tick now);
bool way_touched(const void *router, int link);
tick way_deadline(const void *router);
bool way_expire(void *router, tick now);

#endif
