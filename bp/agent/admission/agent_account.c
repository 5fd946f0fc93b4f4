/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accounts of peers, sources, users and backlogs: each exists while something refers to it. A
 * source of a neighbour has an account of its own when it is proven (agent_quota.c has why).
 *
 * What can go wrong is memory.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

#define PROVEN_MAX 256             /* sources of one peer that have accounts of their own */
#define PROVE_TIME (10 * TICK_S)   /* between two of them */
#define PROVEN_IDLE (600 * TICK_S) /* a source that was silent for so long may be replaced */
#define CROWD_MAX 64               /* bundles of unproven sources: with more none proves itself */

/* A source of a peer that has an account when it has bundles here. */
struct proven {
    struct hash_node by_id;
    struct list order; /* account.proven */
    tick used;
    uint64_t after; /* bundles with keys below are of the account of all others */
};

uint64_t quota_source_id(const struct agent *a, const struct agent_head *h)
{
    if (!h->from_link)
        return eid_hash(a->config.seed, &h->id.source); /* sources of applications are distinct */
    return hash_mix(a->config.seed, eid_node_hash(a->config.seed, &h->id.source), h->peer);
}

uint64_t account_user_id(const struct agent *a, uint64_t user)
{
    return hash_mix(a->config.seed, user, 2);
}

uint64_t account_party_id(const struct agent *a, const struct agent_head *h)
{
    if (h->from_link)
        return h->peer;
    return h->user != 0 ? account_user_id(a, h->user) : QUOTA_OWN;
}

static uint64_t unproven_id(const struct agent *a, uint64_t peer)
{
    return hash_mix(a->config.seed + 1, peer, 0);
}

static struct proven *find_proven(const struct agent *a, uint64_t id)
{
    struct hash_node *n = hash_find(&a->proven, id);
    return n == NULL ? NULL : container_of(n, struct proven, by_id);
}

struct account *account_find(const struct hash *table, uint64_t id)
{
    struct hash_node *n = hash_find(table, id);
    return n == NULL ? NULL : container_of(n, struct account, by_id);
}

static void forget_proven(struct agent *a, struct account *peer, struct proven *p)
{
    assert(peer->proven_len > 0);
    peer->proven_len--;
    hash_sub(&a->proven, &p->by_id);
    list_sub(&p->order);
    free(p);
}

static void free_account(struct agent *a, struct hash *table, struct account *x)
{
    while (!list_empty(&x->proven))
        forget_proven(a, x, container_of(list_first(&x->proven), struct proven, order));
    for (size_t i = 0; i < BUNDLE_PRIORITIES; i++)
        heap_fini(&x->waiting[i]);
    assert(list_empty(&x->resting));
    list_sub(&x->sharing);
    hash_sub(table, &x->by_id);
    free(x);
}

struct account *account_pin(struct hash *table, uint64_t id)
{
    struct account *x = account_find(table, id);
    if (x == NULL) {
        x = calloc(1, sizeof *x);
        if (x == NULL)
            return NULL;
        for (size_t i = 0; i < BUNDLE_PRIORITIES; i++)
            heap_init(&x->waiting[i]);
        list_init(&x->proven);
        list_init(&x->resting);
        list_init(&x->by_resting);
        list_init(&x->sharing);
        hash_add(table, &x->by_id, id);
    }
    x->pins++;
    return x;
}

void account_unpin(struct agent *a, struct hash *table, struct account *x)
{
    assert(x->pins > 0);
    if (--x->pins == 0)
        free_account(a, table, x);
}

void accounts_free(struct agent *a, struct hash *table)
{
    struct hash_node *n;
    while ((n = hash_walk(table, NULL)) != NULL)
        free_account(a, table, container_of(n, struct account, by_id));
    hash_fini(table);
}

struct account *account_source(struct agent *a, const struct agent_head *h, struct account *peer)
{
    uint64_t id = quota_source_id(a, h);
    struct proven *p = h->from_link ? find_proven(a, id) : NULL;
    const bool unproven = h->from_link && p == NULL;
    if (unproven)
        id = unproven_id(a, h->peer);
    struct account *x = account_pin(&a->sources, id);
    if (x == NULL)
        return NULL;
    if (p != NULL) {
        p->used = a->now.now;
        x->after = p->after;
        list_sub(&p->order);
        list_add_tail(&peer->proven, &p->order);
    }
    x->unproven = unproven;
    return x;
}

/* Bundles in the common account that arrived before the source was proven may be its own: they do
 * not count until a later bundle of the common account arrives. */
bool account_is_alone(const struct agent *a, const struct account *peer,
                      const struct account *source)
{
    uint64_t used = source->used[QUOTA_BUNDLES];
    const struct account *others =
        source->unproven ? NULL : account_find(&a->sources, unproven_id(a, peer->by_id.hash));
    if (others != NULL && others->last < source->after)
        used += others->used[QUOTA_BUNDLES];
    return peer->used[QUOTA_BUNDLES] == used && peer->proven_len <= (source->unproven ? 0 : 1);
}

/* Makes room for one more proven source; false: all are in use. */
static bool make_place(struct agent *a, struct account *peer)
{
    if (peer->proven_len < PROVEN_MAX)
        return true;
    struct proven *oldest = container_of(list_first(&peer->proven), struct proven, order);
    if (tick_add(oldest->used, PROVEN_IDLE) > a->now.now)
        return false;
    forget_proven(a, peer, oldest);
    return true;
}

void quota_prove(struct agent *a, const struct record *r)
{
    struct account *peer = r->holder.peer, *source = r->holder.source;
    if (!source->unproven || a->now.now < peer->proven_next ||
        source->used[QUOTA_BUNDLES] > CROWD_MAX)
        return;
    struct agent_head h;
    record_head(r, &h);
    const uint64_t id = quota_source_id(a, &h);
    if (find_proven(a, id) != NULL || !make_place(a, peer))
        return;
    struct proven *p = calloc(1, sizeof *p);
    if (p == NULL)
        return;
    p->used = a->now.now;
    p->after = a->next_key;
    hash_add(&a->proven, &p->by_id, id);
    list_add_tail(&peer->proven, &p->order);
    peer->proven_len++;
    peer->proven_next = tick_add(a->now.now, PROVE_TIME);
}

void agent_share(const struct agent *a, uint32_t link, struct agent_share *out)
{
    const struct link *l = link_at(a, link);
    const struct account *x =
        account_find(&a->peers, l != NULL ? quota_peer_id(&l->peer) : QUOTA_OWN);
    *out = (struct agent_share){
        .bundles = x->used[QUOTA_BUNDLES],
        .bytes = x->used[QUOTA_BYTES],
        .reassemblies = x->used[QUOTA_REASSEMBLIES],
        .fragments = x->used[QUOTA_FRAGMENTS],
        .share_bundles = a->shares[QUOTA_BUNDLES],
        .share_bytes = a->shares[QUOTA_BYTES],
        .arriving = x->used[QUOTA_ARRIVING],
        .share_arriving = a->shares[QUOTA_ARRIVING],
    };
}
