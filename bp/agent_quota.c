/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may hold how much of the node: an account for each peer (the neighbour that a bundle came
 * from, or this node itself for its applications) and one for each source. A part of every limit is
 * set apart, in equal shares for this node and each configured peer; the rest is for who comes
 * first. So a peer that fills what it can get leaves the others their shares. No source has more
 * than its percentage. Peers are known by a hash of their name, the same in each life of the node:
 * the stored head has it. What can go wrong is memory for an account; and a configuration that
 * changed may leave more held than a share allows: then nothing more is taken until it is less.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent_impl.h"

#define PEER_SEED UINT64_C(0x68656c696f70656e) /* never changes: stores have its hashes */

uint64_t quota_peer_id(const struct eid *peer)
{
    struct eid node = eid_node(peer);
    uint64_t id = eid_hash(PEER_SEED, &node);
    return id <= QUOTA_UNKNOWN ? QUOTA_UNKNOWN : id;
}

static uint64_t source_id(const struct agent *a, const struct agent_head *h)
{
    if (agent_is_here(a, &h->id.source))
        return eid_hash(a->config.seed, &h->id.source); /* applications are told apart */
    struct eid node = eid_node(&h->id.source);
    return eid_hash(a->config.seed, &node);
}

static struct account *find_account(const struct hash *table, uint64_t id)
{
    struct hash_node *n = hash_find(table, id);
    return n == NULL ? NULL : container_of(n, struct account, by_id);
}

static struct account *get_account(struct hash *table, uint64_t id)
{
    struct account *x = find_account(table, id);
    if (x != NULL)
        return x;
    x = calloc(1, sizeof *x);
    for (size_t i = 0; x != NULL && i < BUNDLE_PRIORITIES; i++)
        heap_init(&x->waiting[i]);
    if (x != NULL)
        hash_add(table, &x->by_id, id);
    assert(x == NULL || find_account(table, id) == x);
    return x;
}

static void free_account(struct hash *table, struct account *x)
{
    for (size_t i = 0; i < BUNDLE_PRIORITIES; i++)
        heap_fini(&x->waiting[i]);
    hash_sub(table, &x->by_id);
    free(x);
}

static bool empty(const struct account *x)
{
    return x->links == 0 && x->pins == 0;
}

static void let_go(struct hash *table, struct account *x)
{
    assert(x->pins > 0);
    x->pins--;
    if (empty(x))
        free_account(table, x);
}

static uint64_t percent(uint64_t limit, uint64_t of)
{
    assert(of <= 100);
    uint64_t whole = limit / 100 * of, rest = (limit % 100 * of + 99) / 100;
    return whole + rest;
}

static uint64_t guaranteed(const struct agent *a, const struct account *x, size_t kind)
{
    return x->links > 0 ? a->shares[kind] : 0;
}

static uint64_t above(const struct agent *a, const struct account *x, size_t kind, uint64_t used)
{
    uint64_t share = guaranteed(a, x, kind);
    return used > share ? used - share : 0;
}

/* Shares and what is used beyond them, after a peer was added or removed. */
static void share_out(struct agent *a)
{
    assert(a->parties > 0 && a->ways > 0);
    const struct agent_config *c = &a->config;
    const uint64_t held[2] = {[QUOTA_BUNDLES] = c->held_bundles, [QUOTA_BYTES] = c->held_bytes};
    for (size_t k = 0; k < 2; k++)
        a->way_share[k] = percent(held[k], c->queue_percent) / a->ways;
    const uint64_t limits[QUOTA_KINDS] = {[QUOTA_BUNDLES] = held[0] - a->way_share[0] * a->ways,
                                          [QUOTA_BYTES] = held[1] - a->way_share[1] * a->ways,
                                          [QUOTA_ASSEMBLIES] = c->assemblies_max,
                                          [QUOTA_FRAGMENTS] = c->fragments_all_max};
    for (size_t k = 0; k < QUOTA_KINDS; k++) {
        a->limits[k] = limits[k];
        a->shares[k] = percent(limits[k], c->reserve_percent) / a->parties;
        a->common_used[k] = 0;
        struct hash_node *n = hash_walk(&a->peers, NULL);
        for (; n != NULL; n = hash_walk(&a->peers, n)) {
            const struct account *x = container_of(n, struct account, by_id);
            a->common_used[k] += above(a, x, k, x->used[k]);
        }
    }
}

int quota_init(struct agent *a)
{
    a->ways = 2; /* endpoints here, and what waits for a way */
    int rc = hash_init(&a->peers, a->config.seed);
    if (rc < 0)
        return rc;
    rc = hash_init(&a->sources, a->config.seed);
    if (rc == 0 && quota_add_peer(a, QUOTA_OWN) == 0)
        return 0;
    hash_fini(&a->peers);
    if (rc == 0)
        hash_fini(&a->sources);
    return HELIO_ENOMEM;
}

static void free_all(struct hash *table)
{
    struct hash_node *n;
    while ((n = hash_walk(table, NULL)) != NULL)
        free_account(table, container_of(n, struct account, by_id));
    hash_fini(table);
}

void quota_fini(struct agent *a)
{
    free_all(&a->peers);
    free_all(&a->sources);
}

int quota_add_peer(struct agent *a, uint64_t id)
{
    struct account *x = get_account(&a->peers, id);
    if (x == NULL)
        return HELIO_ENOMEM;
    a->parties += x->links++ == 0;
    share_out(a);
    return 0;
}

void quota_sub_peer(struct agent *a, uint64_t id)
{
    struct account *x = find_account(&a->peers, id);
    assert(x != NULL && x->links > 0 && a->parties > 1);
    a->parties -= --x->links == 0;
    share_out(a);
    if (empty(x))
        free_account(&a->peers, x);
}

int quota_open(struct agent *a, const struct agent_head *h, struct holder *out)
{
    struct account *peer = get_account(&a->peers, h->from_link ? h->peer : QUOTA_OWN);
    if (peer == NULL)
        return HELIO_ENOMEM;
    peer->pins++;
    struct account *source = get_account(&a->sources, source_id(a, h));
    if (source == NULL) {
        let_go(&a->peers, peer);
        return HELIO_ENOMEM;
    }
    source->pins++;
    *out = (struct holder){.peer = peer, .source = source, .way.index = NO_LINK};
    return 0;
}

struct holder quota_keep(const struct holder *h)
{
    assert(h->peer->pins > 0 && h->source->pins > 0);
    h->peer->pins++;
    h->source->pins++;
    return *h;
}

void quota_close(struct agent *a, const struct holder *h)
{
    let_go(&a->peers, h->peer);
    let_go(&a->sources, h->source);
}

void quota_add(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount)
{
    struct account *p = h->peer;
    a->common_used[kind] +=
        above(a, p, kind, p->used[kind] + amount) - above(a, p, kind, p->used[kind]);
    p->used[kind] += amount;
    h->source->used[kind] += amount;
}

void quota_sub(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount)
{
    struct account *p = h->peer;
    assert(p->used[kind] >= amount && h->source->used[kind] >= amount);
    a->common_used[kind] -=
        above(a, p, kind, p->used[kind]) - above(a, p, kind, p->used[kind] - amount);
    p->used[kind] -= amount;
    h->source->used[kind] -= amount;
}

static bool peer_has_room(const struct agent *a, const struct account *peer, enum quota_kind kind,
                          uint64_t amount)
{
    uint64_t common = a->limits[kind] - a->shares[kind] * a->parties;
    uint64_t more =
        above(a, peer, kind, peer->used[kind] + amount) - above(a, peer, kind, peer->used[kind]);
    return more == 0 || (a->common_used[kind] <= common && more <= common - a->common_used[kind]);
}

bool quota_source_has_room(const struct agent *a, const struct account *source,
                           enum quota_kind kind, uint64_t amount)
{
    uint64_t most = percent(a->limits[kind], a->config.source_percent);
    return amount <= most && source->used[kind] <= most - amount;
}

bool quota_has_room(const struct agent *a, const struct holder *h, enum quota_kind kind,
                    uint64_t amount)
{
    return peer_has_room(a, h->peer, kind, amount) &&
           quota_source_has_room(a, h->source, kind, amount);
}

bool quota_above_share(const struct agent *a, const struct account *peer)
{
    return above(a, peer, QUOTA_BUNDLES, peer->used[QUOTA_BUNDLES]) > 0 ||
           above(a, peer, QUOTA_BYTES, peer->used[QUOTA_BYTES]) > 0;
}

void agent_share(const struct agent *a, uint32_t link, struct agent_share *out)
{
    const struct link *l = link_at(a, link);
    const struct account *x =
        find_account(&a->peers, l != NULL ? quota_peer_id(&l->peer) : QUOTA_OWN);
    *out = (struct agent_share){
        .bundles = x->used[QUOTA_BUNDLES],
        .bytes = x->used[QUOTA_BYTES],
        .assemblies = x->used[QUOTA_ASSEMBLIES],
        .fragments = x->used[QUOTA_FRAGMENTS],
        .share_bundles = a->shares[QUOTA_BUNDLES],
        .share_bytes = a->shares[QUOTA_BYTES],
    };
}

/* They assert in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

static void check_table(const struct agent *a, const struct hash *table, bool peers)
{
    uint64_t used[QUOTA_KINDS] = {0}, common[QUOTA_KINDS] = {0}, parties = 0;
    struct hash_node *n = hash_walk(table, NULL);
    for (; n != NULL; n = hash_walk(table, n)) {
        const struct account *x = container_of(n, struct account, by_id);
        assert(!empty(x));
        parties += x->links > 0;
        for (size_t k = 0; k < QUOTA_KINDS; k++) {
            used[k] += x->used[k];
            common[k] += above(a, x, k, x->used[k]);
        }
    }
    assert(used[QUOTA_BUNDLES] == a->counters.bundles - a->apart[QUOTA_BUNDLES]);
    assert(used[QUOTA_BYTES] == a->counters.bytes +
                                    (a->config.memory_only ? a->counters.record_bytes : 0) -
                                    a->apart[QUOTA_BYTES]);
    assert(used[QUOTA_ASSEMBLIES] == a->assemblies.len);
    assert(used[QUOTA_FRAGMENTS] == a->counters.fragments);
    for (size_t k = 0; k < QUOTA_KINDS && peers; k++)
        assert(common[k] == a->common_used[k]);
    assert(!peers || parties == a->parties);
}

void quota_check(const struct agent *a)
{
    check_table(a, &a->peers, true);
    check_table(a, &a->sources, false);
}
