/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for links, or apart, by what a router can tell apart: so that a change asks once for
 * all bundles that are alike, and moves those alone that have another way now; not for others.
 */
#ifndef BP_AGENT_KIND_H
#define BP_AGENT_KIND_H

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "bp/codec/eid.h"
#include "bp/codec/qos.h"

#define KINDS_MAX 65536   /* what finds no place is asked for one by one */
#define PLACE_SLICE 1024u /* questions and moves of one call; see agent_config.place_slice */

struct agent;
struct agent_head;
struct record;

/* A link that may be gone: another one at its index is not taken for it. */
struct link_ref {
    int index; /* or NO_LINK */
    uint32_t life;
};

/* A node that bundles wait for: while there are kinds for it. */
struct target {
    struct hash_node by_node;
    struct list kinds; /* kind.beside */
    struct eid node;
};

/* Bundles that wait in one place, for which a router that answers by destination has one answer.
 * A rest is all others of one priority; each of these is asked for. */
struct kind {
    struct hash_node by_key; /* not of a rest */
    struct target *target;   /* likewise */
    struct list beside;      /* target.kinds */
    struct list node;        /* in kinds.idle, or in agent.asking; none: it is in agent.moving */
    struct heap_node turn;   /* in agent.moving: they have another way now */
    struct kinds *of;
    struct list records; /* record.alike, in the order in which they came */
    struct list asking;  /* of a rest: those of its records that are to be asked for */
    bool rest;
    bool critical;
    enum bundle_priority priority;
    uint64_t bytes; /* of what must not go in fragments; else 0 */
    struct link_ref came_from, avoid;
    struct eid destination;
};

/* In one place: what waits for a link (beside the few at its head), or apart. */
struct kinds {
    struct list idle;
    struct kind rest[BUNDLE_PRIORITIES];
};

void kinds_init(struct kinds *w);
void kinds_fini(struct kinds *w); /* nothing waits there any more */
/* h: the bundle's head, or NULL: it is read when it is needed. */
void kind_enter(struct agent *a, struct record *r, const struct agent_head *h);
/* A record that is in none stays so. */
void kind_leave(struct agent *a, struct record *r);
/* The bundle's time to try again has come: those like it, which have no time, are asked for. */
void kind_retry(struct agent *a, const struct record *r);
/* All that waits there is to be asked for. */
void kinds_ask(struct agent *a, struct kinds *w);
/* So are all bundles for this node, wherever they wait, and the rests. */
void kinds_ask_node(struct agent *a, const struct eid *node);
/* So are those that were to be moved: there is another router. */
void kinds_ask_moving(struct agent *a);
/* Is anything still to be asked for, or to be moved? */
bool kinds_due(const struct agent *a);
/* At most so many questions and moves of what is due. */
void kinds_step(struct agent *a, uint64_t steps);
uint64_t kinds_check(const struct agent *a); /* how many bundles are in all of them */

#endif
