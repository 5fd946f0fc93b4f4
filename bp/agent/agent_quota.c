/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may hold how much of the node. There is an account for each peer (the neighbour that a bundle
 * came from, or this node itself for its applications), for each user of applications, and for each
 * source. A part of every limit is set apart, in equal shares for this node and each configured
 * peer; the rest is for who comes first. So a peer that fills what it can get leaves the others
 * their shares. Peers are known by a hash of their name, the same in each run of the node: the
 * stored head has it.
 *
 * Within a peer's part no user and no source takes all: each may hold source_percent of what is
 * left by the others of the peer. So a new source always finds room, whatever fills the node, and
 * no list of who is active is needed. The name of a source may be forged: so a source counts for
 * the neighbour that brought it, and has an account of its own only when it has proved itself: one
 * of its bundles was forwarded or delivered while the neighbour was not crowded, and no other
 * source of this neighbour proved itself within PROVE_TIME. All others share one account of the
 * neighbour, under however many names they come.
 *
 * Of what a peer may hold, bundles for endpoints here that nobody takes leave a part to others:
 * nothing but their lifetime ends them, and nobody waits for room among them.
 *
 * What can go wrong is memory for an account; and a configuration that changed may leave more held
 * than a share allows: then nothing more is taken until it is less.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

#define PEER_SEED UINT64_C(0x68656c696f70656e) /* never changes: stores have its hashes */

uint64_t quota_peer_id(const struct eid *peer)
{
    const uint64_t id = eid_node_hash(PEER_SEED, peer);
    return id <= QUOTA_UNKNOWN ? QUOTA_UNKNOWN : id;
}

#define PROVEN_MAX 256             /* sources of one peer that have accounts of their own */
#define PROVE_TIME (10 * TICK_S)   /* between two of them */
#define PROVEN_IDLE (600 * TICK_S) /* a source that was silent for so long makes place for one */
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
        return eid_hash(a->config.seed, &h->id.source); /* applications are told apart */
    return hash_mix(a->config.seed, eid_node_hash(a->config.seed, &h->id.source), h->peer);
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
    if (x != NULL) {
        list_init(&x->proven);
        hash_add(table, &x->by_id, id);
    }
    assert(x == NULL || find_account(table, id) == x);
    return x;
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
    hash_sub(table, &x->by_id);
    free(x);
}

static bool empty(const struct account *x)
{
    return x->links == 0 && x->pins == 0;
}

static void let_go(struct agent *a, struct hash *table, struct account *x)
{
    assert(x->pins > 0);
    x->pins--;
    if (empty(x))
        free_account(a, table, x);
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
                                          [QUOTA_FRAGMENTS] = c->fragments_all_max,
                                          [QUOTA_ARRIVING] = record_memory_max(a)};
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
    struct hash *tables[] = {&a->peers, &a->sources, &a->users, &a->proven};
    const size_t len = sizeof tables / sizeof *tables;
    size_t done = 0;
    a->ways = 2; /* endpoints here, and what waits for a way */
    while (done < len && hash_init(tables[done], a->config.seed) == 0)
        done++;
    if (done == len && quota_add_peer(a, QUOTA_OWN) == 0)
        return 0;
    while (done > 0)
        hash_fini(tables[--done]);
    return HELIO_ENOMEM;
}

static void free_all(struct agent *a, struct hash *table)
{
    struct hash_node *n;
    while ((n = hash_walk(table, NULL)) != NULL)
        free_account(a, table, container_of(n, struct account, by_id));
    hash_fini(table);
}

void quota_fini(struct agent *a)
{
    free_all(a, &a->peers);
    free_all(a, &a->sources);
    free_all(a, &a->users);
    assert(a->proven.len == 0);
    hash_fini(&a->proven);
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
        free_account(a, &a->peers, x);
}

/* The account that a source counts for, with one pin more; NULL: no memory. */
static struct account *open_source(struct agent *a, const struct agent_head *h,
                                   struct account *peer)
{
    uint64_t id = quota_source_id(a, h);
    struct proven *p = h->from_link ? find_proven(a, id) : NULL;
    const bool unproven = h->from_link && p == NULL;
    if (unproven)
        id = unproven_id(a, h->peer);
    struct account *x = get_account(&a->sources, id);
    if (x == NULL)
        return NULL;
    if (p != NULL) {
        p->used = a->now.now;
        x->after = p->after;
        list_sub(&p->order);
        list_add_tail(&peer->proven, &p->order);
    }
    x->unproven = unproven;
    x->pins++;
    return x;
}

int quota_open(struct agent *a, const struct agent_head *h, struct holder *out)
{
    *out = (struct holder){.way.index = NO_LINK};
    out->peer = get_account(&a->peers, h->from_link ? h->peer : QUOTA_OWN);
    if (out->peer == NULL)
        return HELIO_ENOMEM;
    out->peer->pins++;
    if (!h->from_link && h->user != 0) {
        out->user = get_account(&a->users, hash_mix(a->config.seed, h->user, 2));
        if (out->user == NULL)
            goto peer;
        out->user->pins++;
    }
    out->source = open_source(a, h, out->peer);
    if (out->source != NULL)
        return 0;
    if (out->user != NULL)
        let_go(a, &a->users, out->user);
peer:
    let_go(a, &a->peers, out->peer);
    return HELIO_ENOMEM;
}

struct holder quota_keep(const struct holder *h)
{
    assert(h->peer->pins > 0 && h->source->pins > 0);
    h->peer->pins++;
    h->source->pins++;
    if (h->user != NULL)
        h->user->pins++;
    return *h;
}

void quota_close(struct agent *a, const struct holder *h)
{
    let_go(a, &a->peers, h->peer);
    let_go(a, &a->sources, h->source);
    if (h->user != NULL)
        let_go(a, &a->users, h->user);
}

void quota_user_holds(const struct agent *a, uint64_t user, uint64_t *bundles, uint64_t *bytes)
{
    const struct account *x = find_account(&a->users, hash_mix(a->config.seed, user, 2));
    *bundles = x == NULL ? 0 : x->held_bundles;
    *bytes = x == NULL ? 0 : x->held_bytes;
}

static void account_add(struct agent *a, struct account *p, enum quota_kind kind, uint64_t amount)
{
    a->common_used[kind] +=
        above(a, p, kind, p->used[kind] + amount) - above(a, p, kind, p->used[kind]);
    p->used[kind] += amount;
}

static void account_sub(struct agent *a, struct account *p, enum quota_kind kind, uint64_t amount)
{
    assert(p->used[kind] >= amount);
    a->common_used[kind] -=
        above(a, p, kind, p->used[kind]) - above(a, p, kind, p->used[kind] - amount);
    p->used[kind] -= amount;
}

void quota_add(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount)
{
    account_add(a, h->peer, kind, amount);
    h->source->used[kind] += amount;
    if (h->user != NULL)
        h->user->used[kind] += amount;
    if (h->unclaimed && kind <= QUOTA_BYTES)
        h->peer->unclaimed[kind] += amount;
}

void quota_sub(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount)
{
    assert(h->source->used[kind] >= amount);
    account_sub(a, h->peer, kind, amount);
    h->source->used[kind] -= amount;
    if (h->user != NULL)
        h->user->used[kind] -= amount;
    if (h->unclaimed && kind <= QUOTA_BYTES) {
        assert(h->peer->unclaimed[kind] >= amount);
        h->peer->unclaimed[kind] -= amount;
    }
}

/* What the peer may still take: of its share, and of what is for who comes first. */
static uint64_t peer_room(const struct agent *a, const struct account *peer, enum quota_kind kind)
{
    const uint64_t share = guaranteed(a, peer, kind), used = peer->used[kind];
    const uint64_t common = a->limits[kind] - a->shares[kind] * a->parties;
    const uint64_t taken = a->common_used[kind];
    return (used < share ? share - used : 0) + (taken < common ? common - taken : 0);
}

/* Memory may be short before a limit of bundles or bytes is met. */
static uint64_t memory_room(const struct agent *a, enum quota_kind kind)
{
    const struct agent_config *c = &a->config;
    const struct agent_counters *n = &a->counters;
    const uint64_t beside = n->arriving_bytes + n->seen_bytes + record_places_cost(a);
    const uint64_t all = n->memory_bytes + n->record_bytes + beside;
    if (kind == QUOTA_BYTES && c->memory_only)
        return c->held_bytes > all ? c->held_bytes - all : 0;
    if (kind != QUOTA_BUNDLES || c->memory_only || c->total_bytes == 0)
        return UINT64_MAX;
    const uint64_t taken = n->record_bytes + c->memory_bytes + beside;
    const uint64_t each = sizeof(struct record) + record_places_cost(a) / (n->bundles + 1);
    return c->total_bytes > taken ? (c->total_bytes - taken) / each : 0;
}

static uint64_t least(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

/* How much one may hold for each unit that it leaves. */
static uint64_t times_left(const struct agent *a, uint64_t left)
{
    const uint64_t p = a->config.source_percent;
    assert(p < 100);
    return left > UINT64_MAX / 100 ? UINT64_MAX : left * p / (100 - p);
}

/* With so much more, has who used this at most p percent of it and of what is left? The first one
 * may come in any case. As times_left has it, without its division. */
static bool leaves_part(uint64_t p, uint64_t used, uint64_t amount, uint64_t room)
{
    if (used == 0)
        return true;
    if (amount > room || used > UINT64_MAX / 128 - amount)
        return false;
    return room - amount > UINT64_MAX / 128 || (used + amount) * (100 - p) <= (room - amount) * p;
}

static bool leaves_enough(const struct agent *a, const struct account *x, enum quota_kind kind,
                          uint64_t amount, uint64_t room)
{
    return leaves_part(a->config.source_percent, x->used[kind], amount, room);
}

bool quota_unclaimed_full(const struct agent *a, const struct holder *h, enum quota_kind kind,
                          uint64_t amount)
{
    const uint64_t p = a->config.unclaimed_percent;
    assert(kind <= QUOTA_BYTES);
    if (!h->unclaimed || p >= 100)
        return false;
    const uint64_t room = least(peer_room(a, h->peer, kind), memory_room(a, kind));
    return !leaves_part(p, h->peer->unclaimed[kind], amount, room);
}

bool quota_source_has_room(const struct agent *a, const struct holder *h, enum quota_kind kind,
                           uint64_t amount)
{
    if (a->config.source_percent >= 100)
        return true;
    uint64_t room = least(peer_room(a, h->peer, kind), memory_room(a, kind));
    if (h->user != NULL) {
        if (!leaves_enough(a, h->user, kind, amount, room))
            return false;
        const uint64_t most = times_left(a, room), used = h->user->used[kind];
        room = least(room, used < most ? most - used : 0);
    }
    return leaves_enough(a, h->source, kind, amount, room);
}

static bool peer_has_room(const struct agent *a, const struct account *peer, enum quota_kind kind,
                          uint64_t amount)
{
    uint64_t common = a->limits[kind] - a->shares[kind] * a->parties;
    uint64_t more =
        above(a, peer, kind, peer->used[kind] + amount) - above(a, peer, kind, peer->used[kind]);
    return more == 0 || (a->common_used[kind] <= common && more <= common - a->common_used[kind]);
}

/* A place for one source more; false: all of them are in use. */
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

bool quota_has_room(const struct agent *a, const struct holder *h, enum quota_kind kind,
                    uint64_t amount)
{
    return peer_has_room(a, h->peer, kind, amount) && quota_source_has_room(a, h, kind, amount);
}

/* The only source of its peer that is here, or is known to have been. */
static bool is_alone(const struct account *peer, const struct account *source)
{
    return peer->used[QUOTA_BUNDLES] == source->used[QUOTA_BUNDLES] &&
           peer->proven_len <= (source->unproven ? 0 : 1);
}

bool quota_waits(const struct agent *a, const struct holder *h)
{
    const struct account *peer = h->peer;
    if (peer->used[QUOTA_BUNDLES] == 0 || h->unclaimed)
        return false; /* nothing goes that would make room, or nobody knows when */
    return !peer_has_room(a, peer, QUOTA_BUNDLES, 1) || !peer_has_room(a, peer, QUOTA_BYTES, 1) ||
           is_alone(peer, h->source);
}

/* ---- what is arriving ---- */

static struct account *party_of(const struct agent *a, uint32_t link, struct link **out)
{
    *out = link == AGENT_OWN ? NULL : link_at(a, link);
    if (link != AGENT_OWN && *out == NULL)
        return NULL;
    return find_account(&a->peers, *out == NULL ? QUOTA_OWN : quota_peer_id(&(*out)->peer));
}

bool agent_reserve(struct agent *a, uint32_t link, uint64_t bytes)
{
    struct link *l;
    struct account *x = party_of(a, link, &l);
    if (x == NULL || !record_memory_room(a, bytes) || !peer_has_room(a, x, QUOTA_ARRIVING, bytes))
        return false;
    account_add(a, x, QUOTA_ARRIVING, bytes);
    a->counters.arriving_bytes += bytes;
    if (l != NULL)
        l->arriving += bytes;
    return true;
}

void agent_release(struct agent *a, uint32_t link, uint64_t bytes)
{
    struct link *l;
    struct account *x = party_of(a, link, &l);
    if (x == NULL)
        return; /* all went with the link */
    assert(l == NULL || l->arriving >= bytes);
    account_sub(a, x, QUOTA_ARRIVING, bytes);
    a->counters.arriving_bytes -= bytes;
    if (l != NULL)
        l->arriving -= bytes;
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
        .arriving = x->used[QUOTA_ARRIVING],
        .share_arriving = a->shares[QUOTA_ARRIVING],
    };
}

/* They assert in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

static void check_users(const struct agent *a)
{
    struct hash_node *n = hash_walk(&a->users, NULL);
    for (; n != NULL; n = hash_walk(&a->users, n)) {
        const struct account *x = container_of(n, struct account, by_id);
        const struct account *own = find_account(&a->peers, QUOTA_OWN);
        assert(!empty(x));
        for (size_t k = 0; k < QUOTA_KINDS; k++)
            assert(x->used[k] <= own->used[k]);
    }
}

static void check_table(const struct agent *a, const struct hash *table, bool peers)
{
    uint64_t used[QUOTA_KINDS] = {0}, common[QUOTA_KINDS] = {0}, parties = 0;
    struct hash_node *n = hash_walk(table, NULL);
    for (; n != NULL; n = hash_walk(table, n)) {
        const struct account *x = container_of(n, struct account, by_id);
        assert(!empty(x));
        parties += x->links > 0;
        for (size_t k = 0; k < QUOTA_KINDS; k++) {
            assert(k > QUOTA_BYTES || x->unclaimed[k] <= x->used[k]);
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
    assert(used[QUOTA_ARRIVING] == (peers ? a->counters.arriving_bytes : 0));
    for (size_t k = 0; k < QUOTA_KINDS && peers; k++)
        assert(common[k] == a->common_used[k]);
    assert(!peers || parties == a->parties);
}

void quota_check(const struct agent *a)
{
    check_table(a, &a->peers, true);
    check_table(a, &a->sources, false);
    check_users(a);
}
