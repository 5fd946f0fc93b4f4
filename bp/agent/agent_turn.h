/* SPDX-License-Identifier: Apache-2.0 */
/* What waits at the back of one queue, and whose turn it is; not for others. */
#ifndef BP_AGENT_TURN_H
#define BP_AGENT_TURN_H

#include "base/hash.h"
#include "base/list.h"

struct agent;
struct record;

/* A party (a neighbour, or a user of applications), or one of its sources. Of a source's bundles
 * those with a rank (they had their turn and came back) are before all others, in its order. */
struct turn {
    struct list node; /* in the ring that it takes turns in */
    struct hash_node by_key;
    struct turns *of;
    struct turn *party; /* NULL: it is one itself */
    uint64_t id;
    struct list ring; /* of a party: its sources; of a source: its bundles, first in, first out */
    uint64_t waiting; /* bundles */
    int64_t credit;   /* bytes that it may still send in this round; negative: a debt */
    uint64_t places;  /* of a party: its bundles that had their turn, and are not done yet */
    struct turn *unproven; /* of a party: that of its sources without an account of their own */
    uint64_t after; /* of a source: its bundles with keys below are among those, and go first */
    struct record *returned; /* of a source: the one that came back last, of those here; or NULL */
};

/* Parties take turns by bytes, and so do the sources of each: nobody waits for more than one round,
 * however many bundles others have here. A turn exists while `waiting` or `places` is not 0, and
 * may be without bundles while it pays its debt. */
struct turns {
    struct list ring;
    struct turn
        *recent; /* source that brought the last one: most often it brings the next; or NULL */
    struct turn plain, plain_source; /* of bundles that belong to nobody, or found no memory */
    uint64_t waiting;
    uint64_t octets; /* of the bundles that have a place */
    bool visited;    /* turns_each goes over them: none is freed */
};

void turns_init(struct turns *t);
/* The bundle is in no list; behind all others of its source. */
void turns_add(struct agent *a, struct turns *t, struct record *r);
/* The same for one that had its turn and did not go: it is not counted for that (pays: it is), and
 * stands by its rank among those of its source that are like that, before the others. */
void turns_return(struct agent *a, struct turns *t, struct record *r, bool pays);
/* Does one of the same source wait here that had its turn before this one? */
bool turns_older(struct agent *a, struct turns *t, const struct record *r);
void turns_sub(struct agent *a, struct turns *t, struct record *r);
/* Whose turn it is; NULL: none waits. The same one until it is taken or another call is made.
 * places: so many bundles go on at once, of which no party has more than its equal part while
 * others wait that have less; 0: they need none. octets: when those that have a place have so many,
 * more of them is of no use (0: not known). Then turns go by bytes alone. */
struct record *turns_first(struct agent *a, struct turns *t, uint64_t places, uint64_t octets);
/* It goes on: its bytes count for the round. Out of the list. */
void turns_take(struct agent *a, struct turns *t, struct record *r);
/* The same, and it has one of its party's places, which turns_leave gives back (if it has one). */
void turns_take_place(struct agent *a, struct turns *t, struct record *r);
void turns_leave(struct agent *a, struct record *r);
/* Calls fn with each list of bundles, in no certain order; fn may take bundles out. */
void turns_each(struct turns *t, void (*fn)(struct agent *a, struct list *l), struct agent *a);
void turns_free(struct agent *a); /* of all queues, which nobody uses any more */
void turns_check(const struct turns *t);

#endif
