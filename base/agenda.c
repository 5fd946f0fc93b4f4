/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row is a list of chunks. Nodes are appended at its end and removed from anywhere, mostly from
 * its front. A chunk is freed with its last node. When only few nodes are left in a chunk that is
 * neither the first nor the last of its row, they move to the heap. So memory is proportional to
 * the number of nodes, and no call moves more nodes than a chunk has. Without memory for a chunk
 * new nodes are put into the heap.
 */
#include "base/agenda.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

#define IN_ROW (SIZE_MAX / 2 + 1) /* a bit of pos; HEAP_OUT has it, too, but is no place */
#define RANKS ((uint64_t)HEAP_RANK_MAX << 62)
#define NONE SIZE_MAX
#define FEW (AGENDA_CHUNK / 4)
#define SLOTS_FIRST 8

static bool in_row(const struct heap_node *n)
{
    return heap_has(n) && (n->pos & IN_ROW) != 0;
}

static struct agenda_chunk *chunk_of(const struct agenda *a, const struct heap_node *n)
{
    return a->slots[(n->pos & ~IN_ROW) / AGENDA_CHUNK].chunk;
}

/* The row has some. */
static struct agenda_chunk *first_chunk(const struct list *row)
{
    return container_of(row->next, struct agenda_chunk, order);
}

static struct agenda_chunk *last_chunk(const struct list *row)
{
    return container_of(row->prev, struct agenda_chunk, order);
}

/* A row without nodes has one chunk, or none. */
static bool row_empty(const struct list *row)
{
    return list_empty(row) || last_chunk(row)->live == 0;
}

void agenda_init(struct agenda *a)
{
    *a = (struct agenda){.unused = NONE};
    heap_init(&a->heap);
    for (size_t i = 0; i < AGENDA_ROWS; i++)
        list_init(&a->rows[i]);
}

void agenda_fini(struct agenda *a)
{
    heap_fini(&a->heap);
    for (size_t i = 0; i < a->slots_cap; i++)
        free(a->slots[i].chunk);
    free(a->slots);
    agenda_init(a);
}

int agenda_reserve(struct agenda *a, size_t nodes)
{
    return heap_reserve(&a->heap, nodes); /* it takes all, when there is no memory for rows */
}

/* ---- chunks ---- */

static bool grow_slots(struct agenda *a)
{
    const size_t cap = a->slots_cap == 0 ? SLOTS_FIRST : 2 * a->slots_cap;
    struct agenda_slot *grown = realloc(a->slots, cap * sizeof *grown);
    if (grown == NULL)
        return false;
    for (size_t i = a->slots_cap; i < cap; i++)
        grown[i] = (struct agenda_slot){.next = i + 1 < cap ? i + 1 : NONE};
    a->slots = grown;
    a->unused = a->slots_cap;
    a->slots_cap = cap;
    return true;
}

/* At the row's end. NULL: no memory. */
static struct agenda_chunk *add_chunk(struct agenda *a, struct list *row)
{
    if (a->unused == NONE && !grow_slots(a))
        return NULL;
    struct agenda_chunk *c = malloc(sizeof *c);
    if (c == NULL)
        return NULL;
    c->id = a->unused;
    c->row = row;
    c->at = c->end = c->live = 0;
    a->unused = a->slots[c->id].next;
    a->slots[c->id].chunk = c;
    assert(row->prev != NULL); /* rows are initialised */
    list_add_tail(row, &c->order);
    return c;
}

/* Its nodes, for which the heap has room. */
static void move_to_heap(struct agenda *a, struct agenda_chunk *c)
{
    for (unsigned i = c->at; i < c->end; i++) {
        const struct heap_place *p = &c->places[i];
        if (p->node == NULL)
            continue;
        p->node->pos = HEAP_OUT;
        const int rc = heap_put(&a->heap, p);
        assert(rc == 0);
        (void)rc;
    }
    a->live -= c->live;
    c->live = 0;
}

static void drop_chunk(struct agenda *a, struct agenda_chunk *c)
{
    assert(c->live == 0 && a->slots[c->id].chunk == c);
    a->slots[c->id] = (struct agenda_slot){.next = a->unused};
    a->unused = c->id;
    list_sub(&c->order);
    free(c);
}

static void tidy_chunk(struct agenda *a, struct agenda_chunk *c)
{
    const bool first = c == first_chunk(c->row), last = c == last_chunk(c->row);
    if (c->live < FEW && !first && !last)
        move_to_heap(a, c);
    if (c->live == 0 && first && last)
        c->at = c->end = 0; /* it stays: a row that is empty for a moment costs no allocation */
    else if (c->live == 0)
        drop_chunk(a, c);
}

/* ---- joining ---- */

/* Does it come out after this one? */
static bool is_after(const struct heap_place *p, tick due, unsigned rank)
{
    return due > p->due || (due == p->due && (uint64_t)rank << 62 >= (p->order & RANKS));
}

/* Of the rows that it can be appended to, the one whose last node is the latest; else an empty row;
 * NULL: none. */
static struct list *find_row(struct agenda *a, tick due, unsigned rank)
{
    struct list *best = NULL, *vacant = NULL;
    tick latest = 0;
    for (unsigned i = 0; i < a->rows_used; i++) {
        struct list *row = &a->rows[i];
        if (row_empty(row)) {
            vacant = vacant == NULL ? row : vacant;
            continue;
        }
        const struct agenda_chunk *c = last_chunk(row);
        const struct heap_place *p = &c->places[c->end - 1];
        if (!is_after(p, due, rank) || (best != NULL && p->due <= latest))
            continue;
        best = row;
        latest = p->due;
    }
    if (best != NULL || vacant != NULL)
        return best != NULL ? best : vacant;
    return a->rows_used < AGENDA_ROWS ? &a->rows[a->rows_used++] : NULL;
}

/* False: it is later than all of no row, or there is no memory. */
static bool join_row(struct agenda *a, struct heap_node *n, tick due, unsigned rank)
{
    struct list *row = find_row(a, due, rank);
    if (row == NULL)
        return false;
    struct agenda_chunk *last = list_empty(row) ? NULL : last_chunk(row), *c = last;
    if (last == NULL || last->end == AGENDA_CHUNK)
        c = add_chunk(a, row);
    if (c == NULL)
        return false;
    if (last != NULL && c != last)
        tidy_chunk(a, last); /* it is not the last any more */
    n->due = due;
    n->pos = IN_ROW | (c->id * AGENDA_CHUNK + c->end);
    c->places[c->end++] =
        (struct heap_place){.due = due, .order = heap_next_order(&a->heap, rank), .node = n};
    c->live++;
    a->live++;
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

/* ---- leaving ---- */

/* Removes the node at index i of the chunk. */
static void leave_row(struct agenda *a, struct agenda_chunk *c, unsigned i)
{
    assert(c->live > 0 && i >= c->at && i < c->end);
    c->places[i].node = NULL;
    c->live--;
    a->live--;
    while (c->at < c->end && c->places[c->at].node == NULL)
        c->at++;
    while (c->at < c->end && c->places[c->end - 1].node == NULL)
        c->end--;
    tidy_chunk(a, c);
}

void agenda_sub(struct agenda *a, struct heap_node *n)
{
    if (!in_row(n)) {
        heap_sub(&a->heap, n);
        return;
    }
    struct agenda_chunk *c = chunk_of(a, n);
    const unsigned i = (unsigned)(n->pos & (AGENDA_CHUNK - 1));
    assert(c->places[i].node == n);
    n->pos = HEAP_OUT;
    leave_row(a, c, i);
}

/* ---- the next node ---- */

static const struct heap_place *first_place(const struct agenda *a)
{
    const struct heap_place *first = a->heap.len == 0 ? NULL : &a->heap.places[0];
    for (unsigned i = 0; i < a->rows_used; i++) {
        if (row_empty(&a->rows[i]))
            continue;
        const struct agenda_chunk *c = first_chunk(&a->rows[i]);
        const struct heap_place *p = &c->places[c->at];
        if (first == NULL || heap_is_before(p, first))
            first = p;
    }
    return first;
}

struct heap_node *agenda_first(const struct agenda *a)
{
    const struct heap_place *p = first_place(a);
    return p == NULL ? NULL : p->node;
}

tick agenda_due(const struct agenda *a)
{
    const struct heap_place *p = first_place(a);
    return p == NULL ? TICK_NEVER : p->due;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

static size_t check_chunk(const struct agenda *a, const struct agenda_chunk *c,
                          const struct heap_place **before)
{
    size_t live = 0;
    assert(a->slots[c->id].chunk == c && c->at <= c->end && c->end <= AGENDA_CHUNK);
    assert(c->live == 0 || (c->places[c->at].node != NULL && c->places[c->end - 1].node != NULL));
    for (unsigned i = c->at; i < c->end; i++) {
        const struct heap_place *p = &c->places[i];
        if (p->node == NULL)
            continue;
        assert(p->node->pos == (IN_ROW | (c->id * AGENDA_CHUNK + i)) && p->node->due == p->due);
        assert(*before == NULL || heap_is_before(*before, p));
        *before = p;
        live++;
    }
    assert(live == c->live);
    return live;
}

void agenda_check(const struct agenda *a)
{
    size_t live = 0, chunks = 0;
    for (unsigned i = 0; i < AGENDA_ROWS; i++) {
        const struct list *row = &a->rows[i];
        const struct heap_place *before = NULL;
        assert(i < a->rows_used || list_empty(row));
        list_for_each (l, row) {
            const struct agenda_chunk *c = container_of(l, struct agenda_chunk, order);
            const bool first = c == first_chunk(row), last = c == last_chunk(row);
            assert(c->row == row && c->live >= (first && last ? 0 : first || last ? 1 : FEW));
            live += check_chunk(a, c, &before);
            chunks++;
        }
    }
    for (size_t i = a->unused; i != NONE; i = a->slots[i].next, chunks++)
        assert(i < a->slots_cap && a->slots[i].chunk == NULL);
    assert(live == a->live && chunks == a->slots_cap);
    assert(a->heap.cap >= agenda_len(a));
}
