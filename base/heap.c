/* SPDX-License-Identifier: Apache-2.0 */
/* The array has pointers with their keys, and each node has its index, so that a timer moves in
 * O(log n). The only failure is memory for the array. */
#include "base/heap.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

void heap_init(struct heap *h)
{
    *h = (struct heap){0};
}

void heap_fini(struct heap *h)
{
    free(h->places);
    *h = (struct heap){0};
}

static void put_place(struct heap *h, size_t pos, const struct heap_place *p)
{
    h->places[pos] = *p;
    p->node->pos = pos;
}

/* Finds the position of p, starting at pos. */
static void sift_up(struct heap *h, size_t pos, const struct heap_place *p)
{
    while (pos > 0) {
        size_t up = (pos - 1) / 2;
        if (!heap_is_before(p, &h->places[up]))
            break;
        put_place(h, pos, &h->places[up]);
        pos = up;
    }
    put_place(h, pos, p);
}

static void sift_down(struct heap *h, size_t pos, const struct heap_place *p)
{
    for (;;) {
        size_t kid = 2 * pos + 1;
        if (kid >= h->len)
            break;
        if (kid + 1 < h->len && heap_is_before(&h->places[kid + 1], &h->places[kid]))
            kid++;
        if (!heap_is_before(&h->places[kid], p))
            break;
        put_place(h, pos, &h->places[kid]);
        pos = kid;
    }
    put_place(h, pos, p);
}

static void sift(struct heap *h, size_t pos, const struct heap_place *p)
{
    if (pos > 0 && heap_is_before(p, &h->places[(pos - 1) / 2]))
        sift_up(h, pos, p);
    else
        sift_down(h, pos, p);
}

int heap_reserve(struct heap *h, size_t nodes)
{
    if (nodes <= h->cap)
        return 0;
    size_t cap = h->cap == 0 ? 16 : h->cap;
    while (cap < nodes)
        cap *= 2;
    struct heap_place *grown = realloc(h->places, cap * sizeof *grown);
    if (grown == NULL)
        return HELIO_ENOMEM;
    h->places = grown;
    h->cap = cap;
    return 0;
}

int heap_set(struct heap *h, struct heap_node *n, tick due)
{
    return heap_set_rank(h, n, due, 0);
}

int heap_put(struct heap *h, const struct heap_place *p)
{
    struct heap_node *n = p->node;
    if (!heap_has(n)) {
        int rc = heap_reserve(h, h->len + 1);
        if (rc < 0)
            return rc;
        n->pos = h->len++;
    } else {
        assert(n->pos < h->len && h->places[n->pos].node == n);
    }
    n->due = p->due;
    sift(h, n->pos, p);
    assert(h->places[n->pos].node == n);
    return 0;
}

int heap_set_rank(struct heap *h, struct heap_node *n, tick due, unsigned rank)
{
    assert(rank <= HEAP_RANK_MAX);
    const struct heap_place p = {.due = due, .order = heap_next_order(h, rank), .node = n};
    return heap_put(h, &p);
}

void heap_sub(struct heap *h, struct heap_node *n)
{
    if (!heap_has(n))
        return;
    size_t pos = n->pos;
    assert(pos < h->len && h->places[pos].node == n);
    const struct heap_place last = h->places[--h->len];
    n->pos = HEAP_OUT;
    if (last.node != n)
        sift(h, pos, &last);
}

/* All nodes are delayed by the same time, so their order stays. */
void heap_delay(struct heap *h, tick by)
{
    for (size_t i = 0; i < h->len; i++) {
        h->places[i].due = tick_add(h->places[i].due, by);
        h->places[i].node->due = h->places[i].due;
    }
}
