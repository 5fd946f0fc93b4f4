/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crowds (base/crowd.h) at several places that share one room: connections to the local addresses
 * of a node, by the address that they come from. Each place has a limit, and all places together
 * have the largest of these limits and one member more for each place. So memory does not grow with
 * the number of local addresses. Who gives way beyond that is of the crowd that has most at all
 * places together.
 */
#ifndef BASE_CROWD_ROOM_H
#define BASE_CROWD_ROOM_H

#include "base/crowd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroes to begin with. It needs no end: it is empty when its last place has left. */
struct crowd_room {
    struct crowds all;  /* struct crowd_entry.there */
    struct list places; /* struct crowd_place.node */
    size_t places_len;
};

struct crowd_entry;

struct crowd_place {
    struct list node;
    struct crowd_room *room;
    struct crowds crowds; /* struct crowd_entry.here */
    uint64_t max;         /* members, by the last crowd_place_clear; 0: none was yet */
    void (*displaced)(struct crowd_entry *e);
};

/* Lies inside the element. */
struct crowd_entry {
    struct crowd_place *place; /* NULL while it is at none */
    struct crowd_member here, there;
};

/* A place without members. displaced: the entry gives way; it is taken out before that returns, and
 * nothing else happens to the place. 0 or HELIO_ENOMEM. */
int crowd_place_init(struct crowd_place *p, struct crowd_room *room, uint64_t seed,
                     void (*displaced)(struct crowd_entry *e));
/* No member is left. */
void crowd_place_fini(struct crowd_place *p);

/* Before a member of this key comes: one gives way if the crowd has `key_max` members here, the
 * place `max`, or all places together as many as they may have. Limits >= 1. */
void crowd_place_clear(struct crowd_place *p, struct slice key, uint64_t key_max, uint64_t max);

/* As crowds_add, crowds_sub and crowds_active. */
int crowd_entry_add(struct crowd_place *p, struct crowd_entry *e, struct slice key);
void crowd_entry_sub(struct crowd_entry *e);
void crowd_entry_active(struct crowd_entry *e);

/* Asserts the invariants. */
void crowd_place_check(const struct crowd_place *p);

#ifdef __cplusplus
}
#endif

#endif
