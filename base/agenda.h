/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines that mostly come in their order, as those of bundles with one lifetime do. Who is later
 * than all in a row joins it, and taking out of a row costs no search. There are several rows, for
 * bundles of several lifetimes: one that stays for a day does not keep those of a second out. What
 * fits no row is in a heap. Nodes are those of a heap, and with the same tick come out by rank, the
 * lowest first, then in the order in which they went in.
 */
#ifndef BASE_AGENDA_H
#define BASE_AGENDA_H

#include "base/heap.h"
#include "base/list.h"

#define AGENDA_ROWS 8    /* power of two */
#define AGENDA_CHUNK 256 /* places of a row that are allocated together; power of two */

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

/* Makes room for so many nodes in all, so that agenda_set cannot fail. 0 or HELIO_ENOMEM. */
int agenda_reserve(struct agenda *a, size_t nodes);

/* Puts the node in, or moves it, to come out at `due`; one that is there with this `due` keeps its
 * turn. rank: up to HEAP_RANK_MAX. Returns 0 or HELIO_ENOMEM (a move cannot fail, nor can an
 * insertion for which there is room by agenda_reserve). */
int agenda_set(struct agenda *a, struct heap_node *n, tick due, unsigned rank);

/* Takes the node out, if it is in. Moves at most a quarter of AGENDA_CHUNK others. */
void agenda_sub(struct agenda *a, struct heap_node *n);

static inline size_t agenda_len(const struct agenda *a)
{
    return a->heap.len + a->live;
}

/* NULL, or what comes out next; and when. */
struct heap_node *agenda_first(const struct agenda *a);
tick agenda_due(const struct agenda *a);

/* Its own invariants, asserted. */
void agenda_check(const struct agenda *a);

#endif
