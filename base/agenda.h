/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines that mostly come in their order, as those of bundles with one lifetime do: who is later
 * than all before stands in a row, from which taking out costs no search; the others are in a heap.
 * Nodes are those of a heap, and with the same tick come out by rank, the lowest first, then in the
 * order in which they went in.
 */
#ifndef BASE_AGENDA_H
#define BASE_AGENDA_H

#include "base/heap.h"

struct agenda {
    struct heap heap;
    struct heap_place *row; /* by due and order; without node where one was taken out */
    size_t at, end, cap;    /* it begins and ends with a node: [at, end) of cap */
    size_t live;            /* nodes in it */
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

/* Takes the node out, if it is in. */
void agenda_sub(struct agenda *a, struct heap_node *n);

static inline size_t agenda_len(const struct agenda *a)
{
    return a->heap.len + a->live;
}

/* NULL, or what comes out next; and when. */
struct heap_node *agenda_first(const struct agenda *a);

static inline tick agenda_due(const struct agenda *a)
{
    const tick due = heap_due(&a->heap);
    return a->live > 0 && a->row[a->at].due < due ? a->row[a->at].due : due;
}

/* Its own invariants, asserted. */
void agenda_check(const struct agenda *a);

#endif
