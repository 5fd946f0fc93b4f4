/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of credentials in the order of arrival, and a table to find them. The normal case: one is
 * added at the end, and those at the front whose time is over are removed. The ring grows up to
 * REPLAY_MAX. Then those at the front are removed early. The horizon prevents a BIND with
 * credentials that were removed.
 */
#include "sle/replay.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/list.h"

enum { RING_MIN = 64 };

struct replay_seen {
    struct hash_node node;
    uint64_t made_ns;
    uint32_t random;
};

static uint64_t hash_of(const struct replay *r, uint64_t made_ns, uint32_t random)
{
    return hash_mix(r->table.seed, made_ns, random);
}

void replay_init(struct replay *r)
{
    *r = (struct replay){0};
}

void replay_fini(struct replay *r)
{
    if (r->open)
        hash_fini(&r->table);
    free(r->ring);
    *r = (struct replay){0};
}

static struct replay_seen *find_seen(const struct replay *r, uint64_t made_ns, uint32_t random)
{
    struct hash_node *n = r->open ? hash_find(&r->table, hash_of(r, made_ns, random)) : NULL;
    for (; n != NULL; n = hash_next(n)) {
        struct replay_seen *s = container_of(n, struct replay_seen, node);
        if (s->made_ns == made_ns && s->random == random)
            return s;
    }
    return NULL;
}

bool replay_has(const struct replay *r, uint64_t made_ns, uint32_t random)
{
    return made_ns <= r->horizon || find_seen(r, made_ns, random) != NULL;
}

static void raise_horizon(struct replay *r, uint64_t made_ns)
{
    r->horizon = made_ns > r->horizon ? made_ns : r->horizon;
}

static void drop_first(struct replay *r)
{
    assert(r->len > 0);
    raise_horizon(r, r->ring[r->first].made_ns);
    hash_sub(&r->table, &r->ring[r->first].node);
    r->first = (r->first + 1) % r->cap;
    r->len--;
}

/* False: it stays as it is. */
static bool grow_ring(struct replay *r)
{
    const size_t cap = r->cap == 0 ? RING_MIN : 2 * r->cap;
    struct replay_seen *ring = cap > REPLAY_MAX ? NULL : malloc(cap * sizeof *ring);
    if (ring == NULL)
        return false;
    assert(r->len <= r->cap);
    for (size_t k = 0; k < r->len; k++) { /* nodes move: the table must know */
        struct replay_seen *s = &r->ring[(r->first + k) % r->cap];
        const uint64_t hash = s->node.hash;
        hash_sub(&r->table, &s->node);
        ring[k] = *s;
        hash_add(&r->table, &ring[k].node, hash);
    }
    free(r->ring);
    r->ring = ring;
    r->cap = cap;
    r->first = 0;
    return true;
}

/* Those whose time is over are wrong, unless the clock is set back: then the horizon has them. */
static void forget_old(struct replay *r, uint64_t now_ns, tick delay)
{
    while (r->len > 0 && tick_add(r->ring[r->first].made_ns, delay) < now_ns)
        drop_first(r);
}

static bool make_room(struct replay *r, uint64_t seed)
{
    if (!r->open)
        r->open = hash_init(&r->table, seed) == HELIO_OK;
    if (!r->open)
        return false;
    if (r->len < r->cap || grow_ring(r))
        return true;
    if (r->cap == 0)
        return false;
    drop_first(r);
    return true;
}

void replay_add(struct replay *r, uint64_t made_ns, uint32_t random, uint64_t now_ns, tick delay,
                uint64_t seed)
{
    if (find_seen(r, made_ns, random) != NULL)
        return;
    forget_old(r, now_ns, delay);
    if (!make_room(r, seed)) {
        raise_horizon(r, made_ns);
        return;
    }
    struct replay_seen *s = &r->ring[(r->first + r->len++) % r->cap];
    *s = (struct replay_seen){.made_ns = made_ns, .random = random};
    hash_add(&r->table, &s->node, hash_of(r, made_ns, random));
    assert(r->len <= r->cap && r->cap <= REPLAY_MAX);
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void replay_check(const struct replay *r)
{
    assert(r->len <= r->cap && r->cap <= REPLAY_MAX && (!r->open || r->table.len == r->len));
    for (size_t k = 0; k < r->len; k++) {
        const struct replay_seen *s = &r->ring[(r->first + k) % r->cap];
        assert(find_seen(r, s->made_ns, s->random) == s);
    }
}
