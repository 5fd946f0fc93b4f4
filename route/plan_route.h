/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes through a contact plan: the earliest arrival, alternatives, and one per neighbour. Store
 * and forward: each node transmits a bundle after it has received its last byte.
 */
#ifndef ROUTE_PLAN_ROUTE_H
#define ROUTE_PLAN_ROUTE_H

#include "route/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLAN_HOPS_MAX 64

struct plan_backlog {
    uint64_t neighbour;
    uint64_t bytes; /* queued bytes of this class and higher ones, with overhead */
};

/* Booked bytes of the query's class that it may displace (plan_book_yield), in the contact from
 * `from` to this neighbour that is active at `now`. */
struct plan_yield {
    uint64_t neighbour;
    uint64_t bytes;
};

struct plan_query {
    uint64_t from, to;
    uint64_t bytes; /* without the overhead of convergence layers */
    enum plan_priority priority;
    tick now;
    tick expiry;                        /* an arrival at or after it is useless; TICK_NEVER */
    const uint64_t *excluded;           /* neighbours that must not be the first hop */
    const struct plan_backlog *backlog; /* of neighbours; those not listed have none */
    const struct plan_yield *yields;    /* those not listed have none */
    size_t excluded_len, backlog_len, yields_len;
};

/* Why there is no route. */
enum plan_reason {
    PLAN_FOUND,
    PLAN_NO_ROUTE,  /* no contacts lead there, for any volume */
    PLAN_TOO_LATE,  /* the earliest arrival is at or after the expiry */
    PLAN_NO_VOLUME, /* bookings and backlog leave no volume in time */
    PLAN_TOO_LONG,  /* larger than any sequence of contacts can transmit, even if unbooked */
};

/* What delayed the first byte of a hop. */
enum plan_why {
    PLAN_READY,   /* nothing */
    PLAN_CONTACT, /* the start of the contact */
    PLAN_BACKLOG, /* queued bytes for the same neighbour */
    /* No range was known; or a later range has a light time that is shorter by more than the
     * wait. */
    PLAN_RANGE,
};

struct plan_hop {
    uint64_t contact; /* id */
    uint64_t from, to;
    tick first_sent, last_sent, first_arrives, last_arrives;
    enum plan_why why;
};

struct plan_route {
    size_t hops; /* 0: it is at its destination */
    tick arrival;
    tick until;      /* the earliest end of its contacts */
    uint64_t volume; /* bytes that it uses of each contact, with overhead */
    /* Bytes that all of its contacts could transmit from these times on (SABR: RVL). */
    uint64_t limit;
    double confidence; /* product of the confidences of its contacts */
    struct plan_hop hop[PLAN_HOPS_MAX];
};

/* Finds the route with the earliest arrival. Among equal arrivals: fewest hops; then, of the routes
 * that the search meets, the latest `until`; then the lowest neighbour number. Without memory the
 * route may have more hops. Only the used part of hop[] is written. */
enum plan_reason plan_route_find(struct plan *p, const struct plan_query *q,
                                 struct plan_route *out);

/* plan_route_find without the cache. */
enum plan_reason plan_route_search(struct plan *p, const struct plan_query *q,
                                   struct plan_route *out);

/* Finds the first `max` routes by arrival that arrive in time and visit no node twice (Yen).
 * Returns their number, or HELIO_ENOMEM. */
int plan_route_several(struct plan *p, const struct plan_query *q, struct plan_route *out,
                       size_t max);

/* Finds the best route in time over each neighbour, for critical bundles, by arrival. Returns their
 * number, at most `max`. */
size_t plan_route_all(struct plan *p, const struct plan_query *q, struct plan_route *out,
                      size_t max);

/* Books the route's volume at all of its contacts, or at none: HELIO_ENOENT, a contact was removed;
 * HELIO_EAGAIN, one is full. Displaced bookings of lower classes become owed. */
int plan_book(struct plan *p, const struct plan_route *r, enum plan_priority priority);
/* The same, but at the first contact up to `yields` bytes of the same class become owed, too. */
int plan_book_yield(struct plan *p, const struct plan_route *r, enum plan_priority priority,
                    uint64_t yields);
/* Would the query's volume have a place in the contact of this yield with it, and has none without?
 * Only such yields should be in a query. The query has its backlog. */
bool plan_yield_helps(const struct plan *p, const struct plan_query *q, const struct plan_yield *y);
/* Reverts a booking; removed contacts are ignored. */
void plan_unbook(struct plan *p, const struct plan_route *r, enum plan_priority priority);

/* The largest number of bytes that fits this volume with the overhead of convergence layers.
 * UINT64_MAX: no limit. */
uint64_t plan_room(const struct plan *p, uint64_t volume);

/* The work of all searches so far: examined contacts. Never decreases. */
uint64_t plan_work(const struct plan *p);

/* Text of a reason ("no route"), and of a delay; for people. */
const char *plan_reason_text(enum plan_reason reason);
/* The text for it; static. */
const char *plan_why_text(enum plan_why why);

#ifdef __cplusplus
}
#endif

#endif
