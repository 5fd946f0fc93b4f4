/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contact plan and the routes through it, after CCSDS 734.3-B-1 (SABR). Knows no bundles: what is
 * routed is a number of bytes of a class. Nodes are numbers. A contact is a stretch of time in
 * which one node can send to another at a rate; a range is a stretch of time in which the light
 * from one to the other takes as long. Several ranges after each other are a table over time.
 *
 * Times are ticks since an origin that is the caller's, the same for all calls.
 */
#ifndef ROUTE_PLAN_H
#define ROUTE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plan;

/* Priorities of RFC 5050, from the lowest. */
enum plan_priority { PLAN_BULK, PLAN_NORMAL, PLAN_EXPEDITED, PLAN_PRIORITIES };

struct plan_contact {
    uint64_t from, to;
    tick start, end;   /* [start, end) */
    uint64_t rate;     /* bit/s; 0 is no limit */
    double confidence; /* above 0, at most 1 */
};

/* Holds for both directions, but where the other direction has a range of its own, and where it is
 * said to be of one direction only. */
struct plan_range {
    uint64_t from, to;
    tick start, end; /* [start, end) */
    tick owlt;       /* one-way light time */
    bool one_way;    /* says nothing about the other direction */
};

struct plan_config {
    size_t nodes_max, contacts_max, ranges_max;
    size_t cache_max; /* destinations, by class and size, whose routes are kept */
    bool margin;      /* light times get SABR's margin for the nodes' motion, 125/186282 */
    /* What a convergence layer adds to so many bytes: their share, and at least so much (SABR: 3 %,
     * 100 bytes). */
    uint64_t overhead_ppm, overhead_min;
    double confidence_min; /* contacts of which one is less sure are not used */
    uint64_t seed;         /* of hash tables */
};

/* SABR's numbers, and limits for a million contacts. */
void plan_config_default(struct plan_config *c);

/* Returns 0 or HELIO_ENOMEM. */
int plan_new(struct plan **out, const struct plan_config *config);
void plan_free(struct plan *p); /* NULL is allowed */

/* The configured seed of its hash tables. */
uint64_t plan_seed(const struct plan *p);

/* Asserts what is promised between the parts; for tests. */
void plan_check(const struct plan *p);

/* --- contacts. Each has an id, never 0 and never used again. --- */

/* HELIO_EINVAL: no time or no way (from = to, start >= end), or a confidence outside of (0, 1].
 * HELIO_EEXIST: overlaps one between the same nodes. HELIO_EAGAIN: a limit of the configuration.
 * HELIO_ENOMEM. With an error the plan is as it was. */
int plan_add(struct plan *p, const struct plan_contact *contact, uint64_t *id);

/* Other times, rate or confidence for the contact between the same nodes; what was booked beyond
 * its new volume is owed (plan_owed). Errors as above, and HELIO_ENOENT. */
int plan_change(struct plan *p, uint64_t id, const struct plan_contact *contact);

/* HELIO_ENOENT. */
int plan_remove(struct plan *p, uint64_t id);

/* Takes away contacts and ranges that have ended by `now`. Returns how many contacts. */
size_t plan_drop_past(struct plan *p, tick now);

/* The contact's id; 0 when there is none. */
uint64_t plan_find(const struct plan *p, uint64_t from, uint64_t to, tick start);

/* NULL when it is gone. Valid until the next call that changes the plan. */
const struct plan_contact *plan_get(const struct plan *p, uint64_t id);

/* The contact from one node to the other that is in force at t or, if none is, the next; 0: none.
 */
uint64_t plan_at(const struct plan *p, uint64_t from, uint64_t to, tick t);

/* Routes from this node begin with one of these neighbours, which have links [with any]. So a
 * search looks at no contacts with others, and the cache has no routes by them. Copied.
 * HELIO_ENOMEM: with any. */
int plan_begin_by(struct plan *p, uint64_t from, const uint64_t *neighbours, size_t len);

/* --- ranges --- */

/* Errors as plan_add. */
int plan_add_range(struct plan *p, const struct plan_range *range);
/* The range that begins there; HELIO_ENOENT. */
int plan_remove_range(struct plan *p, uint64_t from, uint64_t to, tick start);
/* The light time in force at t, and until when, in *out; else the next one. HELIO_ENOENT: none. */
int plan_range_at(const struct plan *p, uint64_t from, uint64_t to, tick t, struct plan_range *out);

/* --- what is in it --- */

struct plan_totals {
    size_t nodes, contacts, ranges;
    size_t cached;
    uint64_t hits, misses; /* of the cache */
    uint64_t searches;     /* through the plan, of which a miss has some */
};
void plan_totals(const struct plan *p, struct plan_totals *out);

/* Does a contact or range name, or has one named, this node? */
bool plan_knows(const struct plan *p, uint64_t node);
/* Has it a contact from the one to the other, at any time? */
bool plan_meets(const struct plan *p, uint64_t from, uint64_t to);

/* Visit all contacts, or all ranges, by nodes in the order in which they came, then time: begin
 * with a zeroed cursor. NULL or false at the end. The plan must not change in between. */
struct plan_cursor {
    size_t node, pair, item;
};
const struct plan_contact *plan_walk(const struct plan *p, struct plan_cursor *at, uint64_t *id);
bool plan_walk_ranges(const struct plan *p, struct plan_cursor *at, struct plan_range *out);

/* The first time after t at which a contact or range from the node begins or ends. */
tick plan_next_change(const struct plan *p, uint64_t node, tick t);

/* --- volumes --- */

/* Bytes that the contact carries in all. UINT64_MAX: no limit. 0 when it is gone. */
uint64_t plan_volume(const struct plan *p, uint64_t id);
/* Bytes of it that nobody of this class or a higher one has booked (SABR: MAV). */
uint64_t plan_left(const struct plan *p, uint64_t id, enum plan_priority priority);
uint64_t plan_booked(const struct plan *p, uint64_t id, enum plan_priority priority);
/* Bytes that were booked, and have lost their place to a higher class or a change: who booked them
 * has to unbook, and to look for another route. */
uint64_t plan_owed(const struct plan *p, uint64_t id, enum plan_priority priority);

#ifdef __cplusplus
}
#endif

#endif
