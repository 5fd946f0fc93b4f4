/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines: a binary heap of nodes that are members of their elements. Nodes with the same tick
 * are returned in the order of insertion, so that a run in virtual time is reproducible.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/tick.h"

#define HEAP_OUT SIZE_MAX

struct heap_node {
    tick due;
    size_t pos; /* in the heap's array, or HEAP_OUT */
};

/* What a comparison needs lies in the array: the elements may be anywhere in memory. */
struct heap_place {
    tick due;
    uint64_t order; /* rank, then insertion; breaks ties */
    struct heap_node *node;
};

struct heap {
    struct heap_place *places;
    size_t len, cap;
    uint64_t order;
};

void heap_init(struct heap *h);

/* Frees the array; the elements stay their owner's. */
void heap_fini(struct heap *h);

static inline void heap_node_init(struct heap_node *n)
{
    n->due = TICK_NEVER;
    n->pos = HEAP_OUT;
}

static inline bool heap_has(const struct heap_node *n)
{
    return n->pos != HEAP_OUT;
}

/* Reserves memory for one more node, so that the next heap_set cannot fail. Returns 0 or
 * HELIO_ENOMEM. */
int heap_reserve(struct heap *h, size_t nodes);

/* Puts the node in, or moves it, to come out at `due`. Returns 0 or HELIO_ENOMEM (a move cannot
 * fail, nor can an insertion for which heap_reserve was called). */
int heap_set(struct heap *h, struct heap_node *n, tick due);

/* The same; of those with one tick the lower ranks come out first. heap_set has rank 0. */
#define HEAP_RANK_MAX 3u
int heap_set_rank(struct heap *h, struct heap_node *n, tick due, unsigned rank);

/* The same, with a `due` and an order that were chosen before. */
int heap_put(struct heap *h, const struct heap_place *p);

static inline bool heap_is_before(const struct heap_place *a, const struct heap_place *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

/* What breaks ties, for one more insertion. */
static inline uint64_t heap_next_order(struct heap *h, unsigned rank)
{
    return (uint64_t)rank << 62 | h->order++;
}

/* Delays all nodes by this time. */
void heap_delay(struct heap *h, tick by);

/* Takes the node out, if it is in. */
void heap_sub(struct heap *h, struct heap_node *n);

static inline struct heap_node *heap_first(const struct heap *h)
{
    return h->len == 0 ? NULL : h->places[0].node;
}

static inline tick heap_due(const struct heap *h)
{
    return h->len == 0 ? TICK_NEVER : h->places[0].due;
}

#endif
