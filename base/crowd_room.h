/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crowds (base/crowd.h) at several places with one common limit: for example connections to the
 * local addresses of a node, by source address. Each place has a limit. The limit of all places
 * together is the largest of these limits, and one member more for each place. So memory does not
 * grow with the number of local addresses. Beyond the common limit, a member of the crowd that is
 * largest over all places is displaced.
 */
#ifndef BASE_CROWD_ROOM_H
#define BASE_CROWD_ROOM_H

#include "base/crowd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed at first. It needs no fini: it is empty after its last place is removed. */
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

/* Adds a place without members. `displaced` is called for a displaced entry, which is removed
 * before the call returns; no other call is made meanwhile. Returns 0 or HELIO_ENOMEM. */
int crowd_place_init(struct crowd_place *p, struct crowd_room *room, uint64_t seed,
                     void (*displaced)(struct crowd_entry *e));
/* No member is left. */
void crowd_place_fini(struct crowd_place *p);

/* Call it before a member with this key is added. It displaces one member if the crowd has
 * `key_max` members at this place, if the place has `max`, or if all places together are at their
 * limit. Limits >= 1. */
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
