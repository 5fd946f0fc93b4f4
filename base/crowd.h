/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the number of members by groups ("crowds"): for example connections by source address. If
 * there are too many members in all, one of the largest crowd is displaced. So a single client is
 * never kept out by many connections of others. Within a crowd idle members are displaced before
 * active ones, and the oldest first.
 */
#ifndef BASE_CROWD_H
#define BASE_CROWD_H

#include <stdbool.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CROWD_KEY_MAX 16u /* bytes that name a crowd */

struct crowds {
    struct hash by_key; /* struct crowd */
    struct heap largest;
    size_t len; /* members of all */
};

struct crowd;

/* Lies inside the element; crowd is NULL while it is in none. */
struct crowd_member {
    struct list node;
    struct crowd *crowd;
    bool active;
};

/* 0 or HELIO_ENOMEM. */
int crowds_init(struct crowds *c, uint64_t seed);
/* No member is left. */
void crowds_fini(struct crowds *c);

/* Puts it into the crowd of this key (0 to CROWD_KEY_MAX bytes), as one that has done nothing. 0 or
 * HELIO_ENOMEM: then it is in none. */
int crowds_add(struct crowds *c, struct crowd_member *m, struct slice key);
/* Takes it out, if it is in a crowd. */
void crowds_sub(struct crowds *c, struct crowd_member *m);
/* It has done something. In no crowd: nothing happens. */
void crowds_active(struct crowds *c, struct crowd_member *m);

/* How many members the crowd of this key has. */
size_t crowds_size(const struct crowds *c, struct slice key);
/* The member to displace: of the crowd of this key; and of the largest crowd (among equal ones, of
 * a crowd with idle members). NULL: there is none. */
struct crowd_member *crowds_first(const struct crowds *c, struct slice key);
struct crowd_member *crowds_largest(const struct crowds *c);

/* Asserts the invariants. */
void crowds_check(const struct crowds *c);

#ifdef __cplusplus
}
#endif

#endif
