/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines that are mostly set in rising order, as those of bundles with one lifetime. Such nodes
 * are in rows: a node that is due after all nodes of a row is appended, and removal needs no
 * search. There are several rows for several lifetimes, so that a deadline in a day does not keep
 * deadlines in seconds out of a row. Nodes that fit no row are in a heap. The nodes are heap nodes.
 * Nodes with the same tick are returned by rank, lowest first, then in the order of insertion.
 */
#ifndef BASE_AGENDA_H
#define BASE_AGENDA_H

#include "base/heap.h"
#include "base/list.h"

#define AGENDA_ROWS 8    /* power of two */
#define AGENDA_CHUNK 256 /* nodes of a row that are allocated together; power of two */

/* A stretch of a row: by due and order; without node where one was taken out. */
struct agenda_chunk {
    struct list order; /* in its row */
    struct list *row;
    size_t id;        /* in agenda.slots */
    unsigned at, end; /* begins and ends with a node: [at, end) */
    unsigned live;    /* nodes in it */
    struct heap_place places[AGENDA_CHUNK];
};

struct agenda_slot {
    struct agenda_chunk *chunk; /* NULL: there is none … */
    size_t next;                /* … and the next such one is this, SIZE_MAX: none */
};

/* Stays where it was initialised. */
struct agenda {
    struct heap heap;
    struct list rows[AGENDA_ROWS]; /* struct agenda_chunk */
    unsigned rows_used;            /* all behind these have no chunk */
    size_t live;                   /* nodes in rows */
    struct agenda_slot *slots;     /* of chunks by id */
    size_t slots_cap, unused;      /* the first one without a chunk; SIZE_MAX: none */
};

void agenda_init(struct agenda *a);

/* Frees the arrays; the elements stay their owner's. */
void agenda_fini(struct agenda *a);

/* Reserves memory for this number of nodes in all, so that agenda_set cannot fail. Returns 0 or
 * HELIO_ENOMEM. */
int agenda_reserve(struct agenda *a, size_t nodes);

/* Inserts or moves the node, to be returned at `due`. A node that is already set to `due` keeps its
 * position. rank: up to HEAP_RANK_MAX. Returns 0 or HELIO_ENOMEM (a move cannot fail, nor an
 * insertion within agenda_reserve). */
int agenda_set(struct agenda *a, struct heap_node *n, tick due, unsigned rank);

/* Takes the node out, if it is in. Moves at most a quarter of AGENDA_CHUNK others. */
void agenda_sub(struct agenda *a, struct heap_node *n);

static inline size_t agenda_len(const struct agenda *a)
{
    return a->heap.len + a->live;
}

/* The next node, or NULL; and its time. */
struct heap_node *agenda_first(const struct agenda *a);
tick agenda_due(const struct agenda *a);

/* Its own invariants, asserted. */
void agenda_check(const struct agenda *a);

#endif
