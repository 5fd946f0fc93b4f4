/* SPDX-License-Identifier: Apache-2.0 */
/* The array holds pointers and each node knows its place, so that a timer moves in O(log n). The
 * only failure is memory for the array. */
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
    free(h->nodes);
    *h = (struct heap){0};
}

static bool is_before(const struct heap_node *a, const struct heap_node *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void put_node(struct heap *h, size_t pos, struct heap_node *n)
{
    h->nodes[pos] = n;
    n->pos = pos;
}

static void sift_up(struct heap *h, struct heap_node *n)
{
    size_t pos = n->pos;
    while (pos > 0) {
        size_t up = (pos - 1) / 2;
        if (!is_before(n, h->nodes[up]))
            break;
        put_node(h, pos, h->nodes[up]);
        pos = up;
    }
    put_node(h, pos, n);
}

static void sift_down(struct heap *h, struct heap_node *n)
{
    size_t pos = n->pos;
    for (;;) {
        size_t kid = 2 * pos + 1;
        if (kid >= h->len)
            break;
        if (kid + 1 < h->len && is_before(h->nodes[kid + 1], h->nodes[kid]))
            kid++;
        if (!is_before(h->nodes[kid], n))
            break;
        put_node(h, pos, h->nodes[kid]);
        pos = kid;
    }
    put_node(h, pos, n);
}

int heap_reserve(struct heap *h, size_t nodes)
{
    if (nodes <= h->cap)
        return 0;
    size_t cap = h->cap == 0 ? 16 : h->cap;
    while (cap < nodes)
        cap *= 2;
    struct heap_node **grown = realloc(h->nodes, cap * sizeof *grown);
    if (grown == NULL)
        return HELIO_ENOMEM;
    h->nodes = grown;
    h->cap = cap;
    return 0;
}

int heap_set(struct heap *h, struct heap_node *n, tick due)
{
    if (!heap_has(n)) {
        int rc = heap_reserve(h, h->len + 1);
        if (rc < 0)
            return rc;
        n->pos = h->len++;
        h->nodes[n->pos] = n;
    }
    assert(n->pos < h->len && h->nodes[n->pos] == n);
    n->due = due;
    n->order = h->order++;
    sift_up(h, n);
    sift_down(h, n);
    return 0;
}

void heap_sub(struct heap *h, struct heap_node *n)
{
    if (!heap_has(n))
        return;
    size_t pos = n->pos;
    struct heap_node *last = h->nodes[--h->len];
    n->pos = HEAP_OUT;
    if (last == n)
        return;
    put_node(h, pos, last);
    sift_up(h, last);
    sift_down(h, last);
}

/* What is all moved by the same time keeps its order (what comes out never has none). */
void heap_delay(struct heap *h, tick by)
{
    for (size_t i = 0; i < h->len; i++)
        h->nodes[i]->due = tick_add(h->nodes[i]->due, by);
}
