/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row grows at its end and is taken from anywhere, mostly at its front; when its array is full
 * the nodes move together, at the latest after half of it was taken out, so that each node moves
 * once on the average. Without memory to grow the heap takes what comes.
 */
#include "base/agenda.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

#define IN_ROW (SIZE_MAX / 2 + 1) /* a bit of pos; HEAP_OUT has it, too, but is no place */
#define RANKS ((uint64_t)HEAP_RANK_MAX << 62)
#define ROW_FIRST 16

static bool in_row(const struct heap_node *n)
{
    return heap_has(n) && (n->pos & IN_ROW) != 0;
}

void agenda_init(struct agenda *a)
{
    *a = (struct agenda){0};
    heap_init(&a->heap);
}

void agenda_fini(struct agenda *a)
{
    heap_fini(&a->heap);
    free(a->row);
    *a = (struct agenda){0};
}

static void close_ranks(struct agenda *a)
{
    size_t to = 0;
    for (size_t i = a->at; i < a->end; i++) {
        if (a->row[i].node == NULL)
            continue;
        a->row[to] = a->row[i];
        a->row[to].node->pos = IN_ROW | to;
        to++;
    }
    assert(to == a->live && to <= a->cap);
    a->at = 0;
    a->end = to;
}

int agenda_reserve(struct agenda *a, size_t nodes)
{
    const int rc = heap_reserve(&a->heap, nodes);
    if (rc < 0 || a->end < a->cap || a->live < a->cap / 2)
        return rc;
    const size_t cap = a->cap == 0 ? ROW_FIRST : 2 * a->cap;
    struct heap_place *grown = realloc(a->row, cap * sizeof *grown);
    if (grown != NULL) { /* else the heap has room */
        a->row = grown;
        a->cap = cap;
    }
    return 0;
}

/* Does it come out after what is there? */
static bool is_last(const struct agenda *a, tick due, unsigned rank)
{
    if (a->live == 0)
        return true;
    const struct heap_place *p = &a->row[a->end - 1];
    return due > p->due || (due == p->due && (uint64_t)rank << 62 >= (p->order & RANKS));
}

/* False: it is not later than the others, or there is no room. */
static bool join_row(struct agenda *a, struct heap_node *n, tick due, unsigned rank)
{
    if (!is_last(a, due, rank))
        return false;
    if (a->end == a->cap && a->live < a->cap / 2)
        close_ranks(a);
    if (a->end == a->cap)
        return false;
    n->due = due;
    n->pos = IN_ROW | a->end;
    a->row[a->end++] =
        (struct heap_place){.due = due, .order = heap_next_order(&a->heap, rank), .node = n};
    a->live++;
    assert(a->live <= a->end - a->at);
    return true;
}

int agenda_set(struct agenda *a, struct heap_node *n, tick due, unsigned rank)
{
    if (heap_has(n) && n->due == due)
        return 0;
    if (in_row(n))
        agenda_sub(a, n);
    if (heap_has(n)) /* it may be moved to where it is late, but stays in the heap */
        return heap_set_rank(&a->heap, n, due, rank);
    const int rc = agenda_reserve(a, agenda_len(a) + 1);
    if (rc < 0)
        return rc;
    return join_row(a, n, due, rank) ? 0 : heap_set_rank(&a->heap, n, due, rank);
}

static void leave_row(struct agenda *a, size_t i)
{
    assert(a->live > 0 && i >= a->at && i < a->end);
    a->row[i].node = NULL;
    a->live--;
    while (a->at < a->end && a->row[a->at].node == NULL)
        a->at++;
    while (a->at < a->end && a->row[a->end - 1].node == NULL)
        a->end--;
    if (a->live == 0)
        a->at = a->end = 0;
}

void agenda_sub(struct agenda *a, struct heap_node *n)
{
    if (!in_row(n)) {
        heap_sub(&a->heap, n);
        return;
    }
    const size_t i = n->pos & ~IN_ROW;
    assert(a->row[i].node == n);
    n->pos = HEAP_OUT;
    leave_row(a, i);
}

struct heap_node *agenda_first(const struct agenda *a)
{
    struct heap_node *n = heap_first(&a->heap);
    if (a->live == 0)
        return n;
    const struct heap_place *r = &a->row[a->at], *h = &a->heap.places[0];
    return n == NULL || r->due < h->due || (r->due == h->due && r->order < h->order) ? r->node : n;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void agenda_check(const struct agenda *a)
{
    const struct heap_place *before = NULL;
    size_t live = 0;
    for (size_t i = a->at; i < a->end; i++) {
        const struct heap_place *p = &a->row[i];
        assert(p->node == NULL || (p->node->pos == (IN_ROW | i) && p->node->due == p->due));
        assert(before == NULL || before->due < p->due ||
               (before->due == p->due && before->order < p->order));
        live += p->node != NULL;
        before = p;
    }
    assert(live == a->live && a->end <= a->cap);
    assert(live == 0 || (a->row[a->at].node != NULL && a->row[a->end - 1].node != NULL));
}
