/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table, a list in the order of arrival (which makes room), and a heap by their ends (so
 * that one that never ends holds up no other). An id that comes again moves to the list's end.
 * Without memory the id is not remembered, and the set stays as it was.
 */
#include "bp/seen.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "bp/agent_head.h"

struct seen_id {
    struct hash_node by_id;
    struct list order;
    struct heap_node end; /* due: its DTN time in ms */
    size_t len;
    uint8_t id[];
};

int seen_init(struct seen *s, uint64_t seed, uint64_t max)
{
    list_init(&s->order);
    heap_init(&s->ends);
    s->max = max;
    s->seed = seed;
    return hash_init(&s->ids, seed);
}

static void forget_id(struct seen *s, struct seen_id *e)
{
    assert(s->ids.len > 0 && heap_has(&e->end));
    hash_sub(&s->ids, &e->by_id);
    list_sub(&e->order);
    heap_sub(&s->ends, &e->end);
    free(e);
}

void seen_fini(struct seen *s)
{
    while (!list_empty(&s->order))
        forget_id(s, container_of(list_first(&s->order), struct seen_id, order));
    assert(s->ids.len == 0 && s->ends.len == 0);
    heap_fini(&s->ends);
    hash_fini(&s->ids);
}

static struct seen_id *find_id(const struct seen *s, struct slice id, uint64_t hash)
{
    for (struct hash_node *n = hash_find(&s->ids, hash); n != NULL; n = hash_next(n)) {
        struct seen_id *e = container_of(n, struct seen_id, by_id);
        if (slice_equal(slice_of(e->id, e->len), id))
            return e;
    }
    return NULL;
}

bool seen_has(const struct seen *s, struct slice id)
{
    return find_id(s, id, agent_id_hash(s->seed, id)) != NULL;
}

int seen_add(struct seen *s, struct slice id, uint64_t until_ms, uint64_t now_ms)
{
    if (s->max == 0)
        return 0;
    uint64_t hash = agent_id_hash(s->seed, id);
    struct seen_id *e = find_id(s, id, hash);
    if (e != NULL) {
        list_sub(&e->order);
        list_add_tail(&s->order, &e->order);
        return heap_set(&s->ends, &e->end, until_ms);
    }
    if (heap_reserve(&s->ends, s->ids.len + 1) < 0 || (e = malloc(sizeof *e + id.len)) == NULL)
        return HELIO_ENOMEM;
    while (s->ends.len > 0 && heap_due(&s->ends) <= now_ms)
        forget_id(s, container_of(heap_first(&s->ends), struct seen_id, end));
    while (s->ids.len >= s->max)
        forget_id(s, container_of(list_first(&s->order), struct seen_id, order));
    assert(s->ids.len < s->max);
    heap_node_init(&e->end);
    int rc = heap_set(&s->ends, &e->end, until_ms);
    assert(rc == 0); /* there is room */
    (void)rc;
    e->len = id.len;
    memcpy(e->id, id.data, id.len);
    hash_add(&s->ids, &e->by_id, hash);
    list_add_tail(&s->order, &e->order);
    assert(s->ids.len == s->ends.len && s->ids.len <= s->max);
    return 0;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void seen_check(const struct seen *s)
{
    size_t n = 0;
    list_for_each (it, &s->order) {
        n++;
    }
    assert(n == s->ids.len && n == s->ends.len && n <= s->max);
    (void)n;
}
