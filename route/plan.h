/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contact plan and the routes through it, after CCSDS 734.3-B-1 (SABR). It does not know bundles:
 * it routes a number of bytes of a class. Nodes are numbers. A contact is an interval in which one
 * node can transmit to another at a rate. A range is an interval with a constant one-way light time
 * between two nodes; consecutive ranges are a table over time.
 *
 * Times are ticks since the caller's origin, which is the same for all calls.
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

/* The priorities of RFC 5050, lowest first. */
enum plan_priority { PLAN_BULK, PLAN_NORMAL, PLAN_EXPEDITED, PLAN_PRIORITIES };

struct plan_contact {
    uint64_t from, to;
    tick start, end;   /* [start, end) */
    uint64_t rate;     /* bit/s; 0: no limit */
    double confidence; /* above 0, at most 1 */
};

/* A range is valid for both directions, unless the other direction has its own range or one_way is
 * set. */
struct plan_range {
    uint64_t from, to;
    tick start, end; /* [start, end) */
    tick owlt;       /* one-way light time */
    bool one_way;    /* not valid for the other direction */
};

struct plan_config {
    size_t nodes_max, contacts_max, ranges_max;
    size_t cache_max; /* routes in the cache, by destination, class and size */
    bool margin;      /* add SABR's margin for the nodes' motion to light times, 125/186282 */
    /* Overhead of convergence layers: a share of the bytes, and a minimum (SABR: 3 %, 100
     * bytes). */
    uint64_t overhead_ppm, overhead_min;
    double confidence_min; /* contacts with a lower confidence are not used */
    uint64_t seed;         /* for hash tables */
};

/* Sets SABR's parameters, and limits for a million contacts. */
void plan_config_default(struct plan_config *c);

/* Returns 0 or HELIO_ENOMEM. */
int plan_new(struct plan **out, const struct plan_config *config);
void plan_free(struct plan *p); /* NULL is allowed */

/* The configured seed of the hash tables. */
uint64_t plan_seed(const struct plan *p);

/* Asserts the invariants; for tests. */
void plan_check(const struct plan *p);

/* --- contacts. Each has an id, which is never 0 and never used again. --- */

/* Adds a contact. HELIO_EINVAL: from = to, start >= end, or a confidence outside (0, 1].
 * HELIO_EEXIST: it overlaps a contact between the same nodes. HELIO_EAGAIN: a limit of the
 * configuration is reached. HELIO_ENOMEM. After an error the plan is unchanged. */
int plan_add(struct plan *p, const struct plan_contact *contact, uint64_t *id);

/* Changes times, rate or confidence of a contact between the same nodes. Bookings beyond the new
 * volume become owed (plan_owed). Errors as above, and HELIO_ENOENT. */
int plan_change(struct plan *p, uint64_t id, const struct plan_contact *contact);

/* Removes a contact. Returns 0 or HELIO_ENOENT. */
int plan_remove(struct plan *p, uint64_t id);

/* Removes contacts and ranges that end at or before `now`. Returns the number of contacts. */
size_t plan_drop_past(struct plan *p, tick now);

/* The id of the contact with this start; 0: none. */
uint64_t plan_find(const struct plan *p, uint64_t from, uint64_t to, tick start);

/* The contact; NULL: it was removed. Valid until the next call that changes the plan. */
const struct plan_contact *plan_get(const struct plan *p, uint64_t id);

/* The contact from one node to the other that is active at t, else the next one; 0: none. */
uint64_t plan_at(const struct plan *p, uint64_t from, uint64_t to, tick t);

/* Limits the first hop of routes from this node to these neighbours, to which it has links [any].
 * So searches and the cache ignore contacts with other neighbours. Copied. HELIO_ENOMEM: any
 * neighbour is used. */
int plan_begin_by(struct plan *p, uint64_t from, const uint64_t *neighbours, size_t len);

/* --- ranges --- */

/* Errors as plan_add. */
int plan_add_range(struct plan *p, const struct plan_range *range);
/* Removes the range that begins at `start`. Returns 0 or HELIO_ENOENT. */
int plan_remove_range(struct plan *p, uint64_t from, uint64_t to, tick start);
/* Writes the range that is valid at t, else the next one. HELIO_ENOENT: none. */
int plan_range_at(const struct plan *p, uint64_t from, uint64_t to, tick t, struct plan_range *out);

/* --- contents --- */

struct plan_totals {
    size_t nodes, contacts, ranges;
    size_t cached;
    uint64_t hits, misses; /* of the cache */
    uint64_t searches;     /* searches through the plan; a miss needs one or more */
};
/* Writes the numbers of the plan. */
void plan_totals(const struct plan *p, struct plan_totals *out);

/* Do contacts or ranges from or to this node exist? */
bool plan_knows(const struct plan *p, uint64_t node);
/* Is there a contact from the one to the other, at any time? */
bool plan_meets(const struct plan *p, uint64_t from, uint64_t to);

/* Iterates over all contacts, or all ranges: nodes in the order of their first use, then by time.
 * Begin with a zeroed cursor. NULL or false at the end. The plan must not change meanwhile. */
struct plan_cursor {
    size_t node, pair, item;
};
/* The next contact, with its *id; NULL at the end. */
const struct plan_contact *plan_walk(const struct plan *p, struct plan_cursor *at, uint64_t *id);
/* Writes the next range; false at the end. */
bool plan_walk_ranges(const struct plan *p, struct plan_cursor *at, struct plan_range *out);

/* The first time after t at which a contact or range of the node begins or ends. */
tick plan_next_change(const struct plan *p, uint64_t node, tick t);

/* --- volumes --- */

/* Total volume of the contact, bytes. UINT64_MAX: no limit. 0: it was removed. */
uint64_t plan_volume(const struct plan *p, uint64_t id);
/* Bytes of it that are not booked in this class or a higher one (SABR: MAV). */
uint64_t plan_left(const struct plan *p, uint64_t id, enum plan_priority priority);
/* Bytes of it that are booked in this class. */
uint64_t plan_booked(const struct plan *p, uint64_t id, enum plan_priority priority);
/* Booked bytes that no longer fit, because of a higher class or a change. Their owner must unbook
 * them and find another route. */
uint64_t plan_owed(const struct plan *p, uint64_t id, enum plan_priority priority);

#ifdef __cplusplus
}
#endif

#endif
