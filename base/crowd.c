/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A crowd exists while it has members. A heap has the largest one first: what is "due" soonest is
 * what is furthest below TICK_NEVER. What can go wrong is memory, when a crowd is new.
 */
#include "base/crowd.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct crowd {
    struct hash_node by_key;
    struct heap_node place;
    struct list idle, active; /* struct crowd_member.node, the oldest first */
    size_t len;
    size_t key_len;
    uint8_t key[CROWD_KEY_MAX];
};

int crowds_init(struct crowds *c, uint64_t seed)
{
    c->len = 0;
    heap_init(&c->largest);
    return hash_init(&c->by_key, seed);
}

void crowds_fini(struct crowds *c)
{
    assert(c->len == 0 && c->largest.len == 0);
    heap_fini(&c->largest);
    hash_fini(&c->by_key);
}

static uint64_t hash_of(const struct crowds *c, struct slice key)
{
    return hash_bytes(c->by_key.seed, key.data, key.len);
}

static struct crowd *find_crowd(const struct crowds *c, struct slice key)
{
    assert(key.len <= CROWD_KEY_MAX);
    struct hash_node *n = hash_find(&c->by_key, hash_of(c, key));
    for (; n != NULL; n = hash_next(n)) {
        struct crowd *x = container_of(n, struct crowd, by_key);
        if (slice_equal(slice_of(x->key, x->key_len), key))
            return x;
    }
    return NULL;
}

static tick rank_of(const struct crowd *x)
{
    return TICK_NEVER - 1 - (2 * (tick)x->len + !list_empty(&x->idle));
}

static void place_crowd(struct crowds *c, struct crowd *x)
{
    int r = heap_set(&c->largest, &x->place, rank_of(x));
    assert(r == 0); /* it is in already */
    (void)r;
}

static void free_crowd(struct crowds *c, struct crowd *x)
{
    hash_sub(&c->by_key, &x->by_key);
    heap_sub(&c->largest, &x->place);
    free(x);
}

static struct crowd *new_crowd(struct crowds *c, struct slice key)
{
    struct crowd *x = calloc(1, sizeof *x);
    if (x == NULL)
        return NULL;
    list_init(&x->idle);
    list_init(&x->active);
    heap_node_init(&x->place);
    x->key_len = key.len;
    if (key.len > 0)
        memcpy(x->key, key.data, key.len);
    if (heap_set(&c->largest, &x->place, rank_of(x)) != 0) {
        free(x);
        return NULL;
    }
    hash_add(&c->by_key, &x->by_key, hash_of(c, key));
    return x;
}

int crowds_add(struct crowds *c, struct crowd_member *m, struct slice key)
{
    struct crowd *x = find_crowd(c, key);
    *m = (struct crowd_member){.crowd = NULL};
    list_init(&m->node);
    if (x == NULL)
        x = new_crowd(c, key);
    if (x == NULL)
        return HELIO_ENOMEM;
    m->crowd = x;
    list_add_tail(&x->idle, &m->node);
    x->len++;
    c->len++;
    place_crowd(c, x);
    return 0;
}

void crowds_sub(struct crowds *c, struct crowd_member *m)
{
    struct crowd *x = m->crowd;
    if (x == NULL)
        return;
    assert(x->len > 0 && c->len >= x->len);
    list_sub(&m->node);
    m->crowd = NULL;
    c->len--;
    if (--x->len == 0)
        free_crowd(c, x);
    else
        place_crowd(c, x);
}

void crowds_active(struct crowds *c, struct crowd_member *m)
{
    if (m->crowd == NULL || m->active)
        return;
    m->active = true;
    list_sub(&m->node);
    list_add_tail(&m->crowd->active, &m->node);
    place_crowd(c, m->crowd);
}

size_t crowds_size(const struct crowds *c, struct slice key)
{
    const struct crowd *x = find_crowd(c, key);
    return x == NULL ? 0 : x->len;
}

static struct crowd_member *first_of(const struct crowd *x)
{
    struct list *l = list_empty(&x->idle) ? list_first(&x->active) : list_first(&x->idle);
    assert(l != NULL);
    return container_of(l, struct crowd_member, node);
}

struct crowd_member *crowds_first(const struct crowds *c, struct slice key)
{
    const struct crowd *x = find_crowd(c, key);
    return x == NULL ? NULL : first_of(x);
}

struct crowd_member *crowds_largest(const struct crowds *c)
{
    struct heap_node *n = heap_first(&c->largest);
    return n == NULL ? NULL : first_of(container_of(n, struct crowd, place));
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

static size_t check_list(const struct crowd *x, const struct list *l, bool active)
{
    size_t n = 0;
    list_for_each (it, l) {
        const struct crowd_member *m = container_of(it, struct crowd_member, node);
        assert(m->crowd == x && m->active == active);
        n++;
    }
    return n;
}

void crowds_check(const struct crowds *c)
{
    size_t all = 0, crowds = 0;
    struct hash_node *n = hash_walk(&c->by_key, NULL);
    for (; n != NULL; n = hash_walk(&c->by_key, n)) {
        const struct crowd *x = container_of(n, struct crowd, by_key);
        assert(x->len > 0 && heap_has(&x->place) && x->place.due == rank_of(x));
        assert(check_list(x, &x->idle, false) + check_list(x, &x->active, true) == x->len);
        all += x->len;
        crowds++;
    }
    assert(all == c->len && crowds == c->largest.len);
}
