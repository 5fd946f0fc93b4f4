/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members in crowds: connections by the address that they come from, for example. When there are
 * too many members in all, the one that gives way is of the largest crowd, so that somebody who
 * comes alone is never kept out by others who come in numbers. Within a crowd the members that have
 * done nothing yet give way before those that have, and of each the oldest first.
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
/* Who gives way: of the crowd of this key, and of the largest one (of several as large, of one with
 * members that have done nothing). NULL: there is nobody. */
struct crowd_member *crowds_first(const struct crowds *c, struct slice key);
struct crowd_member *crowds_largest(const struct crowds *c);

/* Asserts the invariants. */
void crowds_check(const struct crowds *c);

#ifdef __cplusplus
}
#endif

#endif
