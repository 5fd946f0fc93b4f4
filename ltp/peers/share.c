/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fair shares of the engine's resources: bytes and number of import sessions, number of cancels.
 * One half of each is reserved in equal parts: one for each configured peer, and one for all
 * unconfigured peers together. The other half is shared. So a single peer may use everything that
 * is not reserved for others, and no peer can prevent another one from using its part. "reserved"
 * is the larger of the used and the reserved amount, for each peer. Nothing can fail; a new peer
 * gets its part as the others release theirs.
 */
#include "ltp/engine.h"

#include <assert.h>

static uint64_t more_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t rest_of(uint64_t most, uint64_t used)
{
    return used < most ? most - used : 0;
}

static struct share *share_of(struct ltp *l, enum pool_kind kind, struct peer *p)
{
    return p->unconfigured != NULL ? &l->unconfigured.shares[kind] : &p->shares[kind];
}

static uint64_t claim_of(const struct share *s)
{
    return more_of(s->used, s->promised);
}

/* The user polls unconfigured peers without ltp_touched. */
static void tell_change(struct ltp *l, enum pool_kind kind, struct peer *p)
{
    if (kind == POOL_BYTES && p->unconfigured == NULL)
        ltp_peer_touch(l, p);
}

void ltp_pool_add(struct ltp *l, enum pool_kind kind, struct peer *p, uint64_t n)
{
    struct pool *pool = &l->pools[kind];
    pool->used += n;
    if (p == NULL) {
        pool->reserved += n;
        return;
    }
    struct share *s = share_of(l, kind, p);
    pool->reserved -= claim_of(s);
    s->used += n;
    assert(s->used >= n);
    pool->reserved += claim_of(s);
    tell_change(l, kind, p);
}

void ltp_pool_sub(struct ltp *l, enum pool_kind kind, struct peer *p, uint64_t n)
{
    assert(l->pools[kind].used >= n);
    struct pool *pool = &l->pools[kind];
    pool->used -= n;
    if (p == NULL) {
        pool->reserved -= n;
        return;
    }
    struct share *s = share_of(l, kind, p);
    pool->reserved -= claim_of(s);
    assert(s->used >= n);
    s->used -= n;
    assert(pool->reserved <= pool->used + pool->max);
    pool->reserved += claim_of(s);
    tell_change(l, kind, p);
}

uint64_t ltp_pool_room(const struct ltp *l, enum pool_kind kind, const struct peer *p)
{
    const struct pool *pool = &l->pools[kind];
    uint64_t all = rest_of(pool->max, pool->used), common = rest_of(pool->max, pool->reserved);
    if (p == NULL)
        return all < common ? all : common;
    const struct share *s =
        p->unconfigured != NULL ? &l->unconfigured.shares[kind] : &p->shares[kind];
    uint64_t own = rest_of(s->promised, s->used) + common;
    own = own < all ? own : all;
    if (kind == POOL_BYTES) {
        uint64_t granted = rest_of(s->cap, s->used);
        own = granted < own ? granted : own;
    }
    uint64_t left = p->unconfigured != NULL ? rest_of(s->max, s->used) : own;
    return left < own ? left : own;
}

static struct share *bytes_of(const struct ltp *l, uint64_t peer)
{
    if (peer == 0)
        return (struct share *)(uintptr_t)&l->unconfigured.shares[POOL_BYTES];
    struct peer *p = ltp_peer_peek(l, peer);
    return p == NULL || p->unconfigured != NULL ? NULL : &p->shares[POOL_BYTES];
}

uint64_t ltp_held(const struct ltp *l, uint64_t peer)
{
    const struct share *s = bytes_of(l, peer);
    return s == NULL ? 0 : s->used;
}

void ltp_hold(struct ltp *l, uint64_t peer, uint64_t most)
{
    struct share *s = bytes_of(l, peer);
    if (s != NULL)
        s->cap = most;
}

static void share_out(struct ltp *l, enum pool_kind kind, uint64_t parts)
{
    struct pool *pool = &l->pools[kind];
    struct share *unconfigured = &l->unconfigured.shares[kind];
    uint64_t each = parts == 0 ? 0 : pool->max / 2 / parts, owned = unconfigured->used;
    unconfigured->promised = l->unconfigured.at == NULL ? 0
                             : each < unconfigured->max ? each
                                                        : unconfigured->max;
    uint64_t reserved = claim_of(unconfigured);
    for (struct hash_node *n = hash_walk(&l->peers, NULL); n != NULL; n = hash_walk(&l->peers, n)) {
        struct peer *p = container_of(n, struct peer, node);
        if (p->unconfigured != NULL)
            continue;
        p->shares[kind].promised = each;
        owned += p->shares[kind].used;
        reserved += claim_of(&p->shares[kind]);
    }
    assert(pool->used >= owned);
    pool->reserved = reserved + (pool->used - owned);
}

void ltp_pools_share(struct ltp *l)
{
    uint64_t parts = l->named + (l->unconfigured.at != NULL);
    for (int kind = 0; kind < POOL_COUNT; kind++)
        share_out(l, (enum pool_kind)kind, parts);
}

void ltp_pools_init(struct ltp *l)
{
    const struct ltp_config *c = &l->config;
    l->pools[POOL_BYTES].max = c->held_bytes;
    l->pools[POOL_SESSIONS].max = l->pools[POOL_CANCELS].max = c->import_sessions;
    l->unconfigured.shares[POOL_BYTES].max = c->unconfigured_bytes;
    l->unconfigured.shares[POOL_BYTES].cap = UINT64_MAX;
    l->unconfigured.shares[POOL_SESSIONS].max = l->unconfigured.shares[POOL_CANCELS].max =
        c->unconfigured_sessions;
    ltp_pools_share(l);
}
