/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes through a contact plan: the earliest arrival, alternatives to it, all neighbours. What is
 * sent goes whole: each node sends it on when its last byte has come.
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
    uint64_t bytes; /* that wait for it, of this class and higher ones, overhead included */
};

struct plan_query {
    uint64_t from, to;
    uint64_t bytes; /* without what convergence layers add */
    enum plan_priority priority;
    tick now;
    tick expiry;                        /* no use at or after that; TICK_NEVER */
    const uint64_t *excluded;           /* neighbours that it must not be given to */
    const struct plan_backlog *backlog; /* of neighbours; those not named have none */
    size_t excluded_len, backlog_len;
};

/* Why there is no route. */
enum plan_reason {
    PLAN_FOUND,
    PLAN_NO_ROUTE,  /* no contacts lead there, however little were sent */
    PLAN_TOO_LATE,  /* the first time of arrival is at or after its expiry */
    PLAN_NO_VOLUME, /* what is booked or waits leaves no room in time */
    PLAN_TOO_LONG,  /* no way of contacts is long enough, were they empty */
};

/* What the first byte of a hop waited for. */
enum plan_why {
    PLAN_READY,   /* nothing: it went when it was there */
    PLAN_CONTACT, /* the contact's beginning */
    PLAN_BACKLOG, /* what waits for the same neighbour */
    PLAN_RANGE, /* a time for which the light time is known, or is shorter by more than the wait */
};

struct plan_hop {
    uint64_t contact; /* id */
    uint64_t from, to;
    tick first_sent, last_sent, first_arrives, last_arrives;
    enum plan_why why;
};

struct plan_route {
    size_t hops; /* 0: it is there */
    tick arrival;
    tick until;      /* the first end of its contacts */
    uint64_t volume; /* bytes that each of its contacts takes with the overhead */
    uint64_t limit;  /* bytes that all of its contacts could take from these times on (SABR: RVL) */
    double confidence; /* product of those of its contacts */
    struct plan_hop hop[PLAN_HOPS_MAX];
};

/* The route of earliest arrival; of several one with fewest hops, and of those that the search
 * meets the one with the latest `until`, then by the neighbour of the lowest number. Without memory
 * it may have more hops. Only as much of hop[] is written as there are hops. */
enum plan_reason plan_route_find(struct plan *p, const struct plan_query *q,
                                 struct plan_route *out);

/* The same without looking at the cache or leaving something in it. */
enum plan_reason plan_route_search(struct plan *p, const struct plan_query *q,
                                   struct plan_route *out);

/* The first `max` routes by arrival that come in time, none of which visits a node twice (Yen).
 * Returns how many, or HELIO_ENOMEM. */
int plan_route_several(struct plan *p, const struct plan_query *q, struct plan_route *out,
                       size_t max);

/* The best route by each neighbour that leads there in time, for what is critical: by arrival.
 * Returns how many, at most `max`. */
size_t plan_route_all(struct plan *p, const struct plan_query *q, struct plan_route *out,
                      size_t max);

/* Takes the route's volume from each of its contacts, or from none: HELIO_ENOENT, a contact is
 * gone; HELIO_EAGAIN, one is full. What lower classes lose by that is owed. */
int plan_book(struct plan *p, const struct plan_route *r, enum plan_priority priority);
/* Gives it back; contacts that are gone are left out. */
void plan_unbook(struct plan *p, const struct plan_route *r, enum plan_priority priority);

/* The most bytes that with what convergence layers add take no more than this volume. UINT64_MAX,
 * no limit, is none here either. */
uint64_t plan_room(const struct plan *p, uint64_t volume);

/* What searches have done so far, in contacts that they looked at; it only grows. */
uint64_t plan_work(const struct plan *p);

/* "no route" and the like, and what a hop waited for; for people. */
const char *plan_reason_text(enum plan_reason reason);
const char *plan_why_text(enum plan_why why);

#ifdef __cplusplus
}
#endif

#endif
