/* SPDX-License-Identifier: Apache-2.0 */
/* The bundles at the back of one queue, and the order in which parties take turns. Private to
 * bp/agent. */
#ifndef BP_AGENT_TURN_H
#define BP_AGENT_TURN_H

#include "base/hash.h"
#include "base/list.h"

struct agent;
struct forwarding;

/* A party (a neighbour, or a user of applications), or one of its sources. Of a source's bundles,
 * those with a rank (they had their turn and were returned) precede all others, in order of
 * rank. */
struct turn {
    struct list node; /* in the ring of those that take turns */
    struct hash_node by_key;
    struct turns *of;
    struct turn *party; /* NULL: it is a party itself */
    uint64_t id;
    /* Of a party: it is a neighbour. It had no link when this was last judged: it is in `away`. */
    bool neighbour, away;
    struct list ring; /* of a party: its sources; of a source: its bundles, first in, first out */
    uint64_t waiting; /* bundles */
    int64_t credit;   /* bytes that it may still send in this round; negative: a debt */
    uint64_t places;  /* of a party: bundles that had their turn, and are not finished */
    /* Of a party: the common turn of its sources without an account of their own. */
    struct turn *unproven;
    /* Of a source: its bundles with lower keys belong to `unproven`, and go first. */
    uint64_t after;
    /* Of a source: the latest returned bundle, of those here; or NULL. */
    struct forwarding *returned;
};

/* Parties take turns by bytes, and so do the sources of each party. So no party waits for more than
 * one round, however many bundles others have. Neighbours without a link (unconfigured peers
 * that have disconnected) share one turn, `common`. When it is next, they take turns among
 * themselves, in `away`. It exists while there are any; without memory for it they have turns of
 * their own. A turn exists while `waiting` or `places` is not 0. A turn with a debt may have no
 * bundles, except in `away`. */
struct turns {
    struct list ring;    /* parties */
    struct list away;    /* parties, which `common` stands for in `ring` */
    struct turn *common; /* sums of those in `away`; its own ring is empty; or NULL */
    uint64_t judged;     /* agent.peer_changes when the parties in `ring` were judged */
    /* A neighbour has gone since bundles began to wait. From then on a new party of a neighbour
     * pays for its first bundle in advance: names that come, and go with a debt, would not pay. */
    bool in_advance;
    /* Source of the latest bundle, because the next one is often of the same source; or NULL. */
    struct turn *recent;
    struct turn plain, plain_source; /* for bundles without a party, or without memory for one */
    uint64_t waiting;
    uint64_t octets; /* bytes of the bundles that have a place */
    bool visited;    /* turns_each is iterating: no turn is freed */
};

void turns_init(struct turns *t);
/* The party of a bundle: its user, or its neighbour. */
uint64_t turns_party(const struct forwarding *f);
/* Is it of a neighbour that has no link now? */
bool turns_gone(const struct forwarding *f);
/* Adds a bundle that is in no list after all others of its source. */
void turns_add(struct agent *a, struct turns *t, struct forwarding *f);
/* The same for a bundle that had its turn and was not forwarded. It is not counted again (pays: it
 * is), and is inserted by its rank before the other bundles of its source. */
void turns_return(struct agent *a, struct turns *t, struct forwarding *f, bool pays);
/* Is a bundle of the same source here that had its turn before this one? */
bool turns_older(struct agent *a, struct turns *t, const struct forwarding *f);
void turns_sub(struct agent *a, struct turns *t, struct forwarding *f);
/* The bundle whose turn it is; NULL: none. The same one is returned until it is taken or another
 * call is made. places: number of bundles in transmission at once; no party uses more than an equal
 * part of them while others with fewer wait; 0: not limited. octets: above this number of octets in
 * places, further bundles are useless (0: unknown); then turns go only by bytes. */
struct forwarding *turns_first(struct agent *a, struct turns *t, uint64_t places, uint64_t octets);
/* Takes the bundle out; its bytes count in this round. */
void turns_take(struct agent *a, struct turns *t, struct forwarding *f);
/* The same, and it uses one of its party's places until turns_leave. */
void turns_take_place(struct agent *a, struct turns *t, struct forwarding *f);
void turns_leave(struct agent *a, struct forwarding *f);
/* Calls fn with each list of bundles, in any order; fn may take bundles out. */
void turns_each(struct turns *t, void (*fn)(struct agent *a, struct list *l), struct agent *a);
void turns_free(struct agent *a); /* of all queues, which must be unused */
void turns_check(const struct agent *a, const struct turns *t);

#endif
