/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table, and a list in the order of forwarding. What can go wrong: memory; then a bundle is
 * not recorded, and its return seems to be the first. */
#include "bp/agent/forwarding/returns.h"

#include <assert.h>
#include <stdlib.h>

struct forwarded {
    struct hash_node by_id;
    struct list order;
    unsigned times; /* that it returned */
};

int returns_init(struct returns *r, uint64_t seed, uint64_t max)
{
    list_init(&r->order);
    r->max = max;
    return hash_init(&r->ids, seed);
}

static void forget_bundle(struct returns *r, struct forwarded *f)
{
    assert(r->ids.len > 0);
    hash_sub(&r->ids, &f->by_id);
    list_sub(&f->order);
    free(f);
}

void returns_fini(struct returns *r)
{
    while (!list_empty(&r->order))
        forget_bundle(r, container_of(list_first(&r->order), struct forwarded, order));
    assert(r->ids.len == 0);
    hash_fini(&r->ids);
}

void returns_forwarded(struct returns *r, uint64_t hash)
{
    if (r->max == 0)
        return;
    struct hash_node *n = hash_find(&r->ids, hash);
    struct forwarded *f = n == NULL ? NULL : container_of(n, struct forwarded, by_id);
    if (f == NULL) {
        f = calloc(1, sizeof *f);
        if (f == NULL)
            return;
        if (r->ids.len == r->max)
            forget_bundle(r, container_of(list_first(&r->order), struct forwarded, order));
        hash_add(&r->ids, &f->by_id, hash);
    } else {
        list_sub(&f->order);
    }
    assert(r->ids.len > 0 && r->ids.len <= r->max);
    list_add_tail(&r->order, &f->order);
}

bool returns_known(const struct returns *r, uint64_t hash)
{
    return hash_find(&r->ids, hash) != NULL;
}

unsigned returns_again(struct returns *r, uint64_t hash)
{
    struct hash_node *n = hash_find(&r->ids, hash);
    if (n == NULL)
        return 0;
    struct forwarded *f = container_of(n, struct forwarded, by_id);
    return f->times < 1000 ? ++f->times : f->times;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void returns_check(const struct returns *r)
{
    size_t n = 0;
    list_for_each (it, &r->order) {
        n++;
    }
    assert(n == r->ids.len && n <= r->max);
    (void)n;
}
