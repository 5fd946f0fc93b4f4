/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of what peers, users and sources may use of the node. There is an account for each peer
 * (the neighbour that sent a bundle, or this node for its applications), for each user of
 * applications, and for each source. A part of every limit is reserved, in equal shares for this
 * node and each configured peer; the rest is first come, first served. So a peer that fills the
 * rest leaves the others their shares. A hash of a peer's name, the same in each run, identifies
 * it: the stored head has it.
 *
 * Within a peer's part each user and each source may have source_percent of what the others of the
 * peer leave. So a new source always finds room, however full the node is, without a list of active
 * sources.
 *
 * The name of a source may be forged. So a source is charged to the neighbour that sent it. It has
 * its own account only when it is proven: one of its bundles was forwarded or delivered while the
 * neighbour was not crowded, and no other source of this neighbour was proven within PROVE_TIME.
 * All other sources share one account of the neighbour, under however many names.
 *
 * A backlog has one peer's bundles for one endpoint here, for all endpoints without a receiver, or
 * for one link. By the same rule, an endpoint may have only endpoint_percent of what a source may
 * have. So a slow or absent receiver leaves room to other receivers, also for bundles of the same
 * source. All endpoints without a receiver count as one, because only expiry ends those bundles. A
 * stream stops only for a backlog that moves (leaves_soon).
 *
 * What can go wrong: memory for an account. A changed configuration may leave more in use than a
 * share permits: then nothing more is admitted until it is less.
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

/* The id of a backlog: of one endpoint, of all without a receiver, or of one route. */
static uint64_t backlog_id(const struct agent *a, const struct agent_head *h,
                           enum receiver receiver, struct link_ref route, uint64_t peer)
{
    const uint64_t seed = a->config.seed;
    if (receiver == RECEIVER_NONE)
        return hash_mix(seed + 2, peer, 0);
    if (receiver == RECEIVER_READY)
        return hash_mix(seed + 3, eid_hash(seed, &h->destination), peer);
    return hash_mix(seed + 4, (uint64_t)(uint32_t)route.index << 32 | route.life, peer);
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

/* Of the peers without a share, of which there may be any number, all that they use is beyond it:
 * their sum is enough. */
void quota_share_out(struct agent *a)
{
    assert(a->parties > 0 && a->route_shares > 0);
    const struct agent_config *c = &a->config;
    const uint64_t held[2] = {[QUOTA_BUNDLES] = c->held_bundles, [QUOTA_BYTES] = c->held_bytes};
    for (size_t k = 0; k < 2; k++)
        a->reserved_share[k] = percent(held[k], c->queue_percent) / a->route_shares;
    const uint64_t limits[QUOTA_KINDS] = {
        [QUOTA_BUNDLES] = held[0] - a->reserved_share[0] * a->route_shares,
        [QUOTA_BYTES] = held[1] - a->reserved_share[1] * a->route_shares,
        [QUOTA_REASSEMBLIES] = c->reassemblies_max,
        [QUOTA_FRAGMENTS] = c->fragments_all_max,
        [QUOTA_ARRIVING] = record_memory_max(a)};
    for (size_t k = 0; k < QUOTA_KINDS; k++) {
        a->limits[k] = limits[k];
        a->shares[k] = percent(limits[k], c->reserve_percent) / a->parties;
        a->common_used[k] = a->peers_used[k];
        list_for_each (it, &a->sharers) {
            const struct account *x = container_of(it, struct account, sharing);
            a->common_used[k] -= x->used[k] - above(a, x, k, x->used[k]);
        }
    }
}

int quota_init(struct agent *a)
{
    struct hash *tables[] = {&a->peers, &a->sources, &a->users, &a->backlogs, &a->proven};
    const size_t len = sizeof tables / sizeof *tables;
    size_t done = 0;
    list_init(&a->sharers);
    a->route_shares = 2; /* endpoints here, and bundles without a route */
    while (done < len && hash_init(tables[done], a->config.seed) == 0)
        done++;
    if (done == len && quota_add_peer(a, QUOTA_OWN) == 0)
        return 0;
    while (done > 0)
        hash_fini(tables[--done]);
    return HELIO_ENOMEM;
}

void quota_fini(struct agent *a)
{
    accounts_free(a, &a->peers);
    accounts_free(a, &a->sources);
    accounts_free(a, &a->users);
    accounts_free(a, &a->backlogs);
    assert(a->proven.len == 0);
    hash_fini(&a->proven);
}

int quota_add_peer(struct agent *a, uint64_t id)
{
    struct account *x = account_pin(&a->peers, id);
    if (x == NULL)
        return HELIO_ENOMEM;
    if (x->links++ == 0) {
        a->parties++;
        a->peer_changes++;
        list_add_tail(&a->sharers, &x->sharing);
    }
    quota_share_out(a);
    return 0;
}

void quota_sub_peer(struct agent *a, uint64_t id)
{
    struct account *x = account_find(&a->peers, id);
    assert(x != NULL && x->links > 0 && a->parties > 1);
    if (--x->links == 0) {
        a->parties--;
        a->peer_changes++;
        list_sub(&x->sharing);
        parties_gone(a, id);
    }
    quota_share_out(a);
    account_unpin(a, &a->peers, x);
}

int quota_open(struct agent *a, const struct agent_head *h, enum receiver receiver,
               struct link_ref route, struct holder *out)
{
    const uint64_t peer = h->from_link ? h->peer : QUOTA_OWN;
    *out = (struct holder){.destination_link = route, .peer = account_pin(&a->peers, peer)};
    bool made = out->peer != NULL;
    if (made && !h->from_link && h->user != 0)
        made = (out->user = account_pin(&a->users, account_user_id(a, h->user))) != NULL;
    if (made) {
        out->backlog = account_pin(&a->backlogs, backlog_id(a, h, receiver, route, peer));
        made = out->backlog != NULL;
    }
    if (made)
        out->backlog->receiver = receiver;
    if (made)
        out->source = account_source(a, h, out->peer);
    if (out->source != NULL)
        return 0;
    quota_close(a, out);
    return HELIO_ENOMEM;
}

struct holder quota_keep(const struct holder *h)
{
    assert(h->peer->pins > 0 && h->source->pins > 0);
    h->peer->pins++;
    h->source->pins++;
    if (h->user != NULL)
        h->user->pins++;
    h->backlog->pins++;
    return *h;
}

void quota_close(struct agent *a, const struct holder *h)
{
    if (h->source != NULL)
        account_unpin(a, &a->sources, h->source);
    if (h->backlog != NULL)
        account_unpin(a, &a->backlogs, h->backlog);
    if (h->user != NULL)
        account_unpin(a, &a->users, h->user);
    if (h->peer != NULL)
        account_unpin(a, &a->peers, h->peer);
}

void quota_user_holds(const struct agent *a, uint64_t user, uint64_t *bundles, uint64_t *bytes)
{
    const struct account *x = account_find(&a->users, account_user_id(a, user));
    *bundles = x == NULL ? 0 : x->held_bundles;
    *bytes = x == NULL ? 0 : x->held_bytes;
}

static void account_add(struct agent *a, struct account *p, enum quota_kind kind, uint64_t amount)
{
    a->common_used[kind] +=
        above(a, p, kind, p->used[kind] + amount) - above(a, p, kind, p->used[kind]);
    a->peers_used[kind] += amount;
    p->used[kind] += amount;
}

static void account_sub(struct agent *a, struct account *p, enum quota_kind kind, uint64_t amount)
{
    assert(p->used[kind] >= amount);
    a->common_used[kind] -=
        above(a, p, kind, p->used[kind]) - above(a, p, kind, p->used[kind] - amount);
    assert(a->peers_used[kind] >= amount);
    a->peers_used[kind] -= amount;
    p->used[kind] -= amount;
}

void quota_add(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount)
{
    account_add(a, h->peer, kind, amount);
    h->source->used[kind] += amount;
    if (h->user != NULL)
        h->user->used[kind] += amount;
    if (kind == QUOTA_BUNDLES && h->backlog->used[kind] == 0)
        h->backlog->pace = (struct pace){.began = a->now.now, .window = a->now.now};
    h->backlog->used[kind] += amount;
}

void quota_sub(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount)
{
    assert(h->source->used[kind] >= amount);
    account_sub(a, h->peer, kind, amount);
    h->source->used[kind] -= amount;
    if (h->user != NULL)
        h->user->used[kind] -= amount;
    assert(h->backlog->used[kind] >= amount);
    h->backlog->used[kind] -= amount;
}

static void turn_window(struct pace *p, tick now)
{
    const tick end = tick_add(p->window, RECEIVER_IDLE);
    if (now < end)
        return;
    p->whole = now < tick_add(end, RECEIVER_IDLE);
    p->before = p->whole ? p->now : (struct tally){0};
    p->window = p->whole ? end : now;
    p->now = (struct tally){0};
}

void pace_count(struct pace *p, tick now, uint64_t bytes)
{
    turn_window(p, now);
    p->left = now;
    p->now.bundles++;
    p->now.bytes += bytes;
}

struct tally pace_lately(const struct pace *p, tick now)
{
    struct pace q = *p;
    turn_window(&q, now);
    return (struct tally){q.now.bundles + q.before.bundles, q.now.bytes + q.before.bytes};
}

void quota_left(struct agent *a, const struct record *r, const struct holder *h)
{
    pace_count(&h->backlog->pace, a->now.now, r->bytes);
    if (h->backlog->receiver != RECEIVER_NONE)
        return;
    /* It may have a receiver by now; then this shows its pace. */
    struct agent_head head;
    record_head(r, &head);
    const uint64_t id =
        backlog_id(a, &head, RECEIVER_READY, h->destination_link, h->peer->by_id.hash);
    struct account *own = account_find(&a->backlogs, id);
    if (own != NULL)
        pace_count(&own->pace, a->now.now, r->bytes);
}

#define SOON_MS 60000             /* in such a time … */
#define SOON_BYTES (4 * 1000000u) /* … so much leaves, or all that is here */

/* Will there be room soon? A receiver that has just begun has had no time to show it. Bundles in
 * the buffers of a stopped stream arrive within SOON_MS then. */
static bool leaves_soon(const struct account *backlog, tick now)
{
    struct pace p = backlog->pace;
    const tick since = p.left > p.began ? p.left : p.began;
    if (now >= tick_add(since, RECEIVER_IDLE))
        return false;
    turn_window(&p, now);
    const uint64_t ms = (now - p.window + (p.whole ? RECEIVER_IDLE : 0)) / TICK_MS;
    if (now < tick_add(p.began, RECEIVER_IDLE))
        return true;
    return backlog->used[QUOTA_BUNDLES] * ms <= (p.now.bundles + p.before.bundles) * SOON_MS ||
           SOON_BYTES * ms <= (p.now.bytes + p.before.bytes) * SOON_MS;
}

/* What the peer may still use: of its share, and of the unreserved rest. */
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
    const uint64_t beside =
        n->arriving_bytes + n->seen_bytes + n->sending_bytes + record_places_cost(a);
    const uint64_t all = n->memory_bytes + n->record_bytes + beside;
    if (kind == QUOTA_BYTES && c->memory_only)
        return c->held_bytes > all ? c->held_bytes - all : 0;
    if (kind != QUOTA_BUNDLES || c->memory_only || c->total_bytes == 0)
        return UINT64_MAX;
    const uint64_t taken = n->record_bytes + c->memory_bytes + beside;
    const uint64_t each = sizeof(struct record) + record_places_cost(a) / (n->bundles + 1);
    return c->total_bytes > taken ? (c->total_bytes - taken) / each : 0;
}

/* After this addition, does the user of `used` have at most p percent of it and of what is left?
 * The first one is always permitted. */
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

/* How much one may use of the room: at most source_percent of its use and the room left. */
static uint64_t part_left(const struct agent *a, const struct account *x, enum quota_kind kind,
                          uint64_t room)
{
    const uint64_t p = a->config.source_percent, used = x->used[kind];
    if (p >= 100 || room > UINT64_MAX / 128 || used > UINT64_MAX / 128)
        return room;
    const uint64_t gain = room * p, held = used * (100 - p);
    return gain > held ? (gain - held) / 100 : 0;
}

bool quota_backlog_full(const struct agent *a, const struct holder *h, enum quota_kind kind,
                        uint64_t amount)
{
    if (a->config.endpoint_percent >= 100 || h->backlog->receiver == RECEIVER_ELSEWHERE)
        return false;
    uint64_t room = least(peer_room(a, h->peer, kind), memory_room(a, kind));
    if (h->user != NULL)
        room = part_left(a, h->user, kind, room);
    room = part_left(a, h->source, kind, room);
    return !leaves_part(a->config.endpoint_percent, h->backlog->used[kind], amount, room);
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
        room = part_left(a, h->user, kind, room);
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

bool quota_has_room(const struct agent *a, const struct holder *h, enum quota_kind kind,
                    uint64_t amount)
{
    return peer_has_room(a, h->peer, kind, amount) && quota_source_has_room(a, h, kind, amount);
}

static bool lacks(struct agent_shortage *out, enum agent_limit limit, uint64_t used, uint64_t room,
                  uint64_t percent_of)
{
    const uint64_t all = used > UINT64_MAX - room ? UINT64_MAX : used + room;
    out->limit = limit;
    out->used = used;
    out->most = all / 100 * percent_of + all % 100 * percent_of / 100;
    out->most = out->most > used ? out->most : used; /* what is left may have become less */
    return true;
}

bool quota_lacks(const struct agent *a, const struct holder *h, enum quota_kind kind,
                 uint64_t amount, bool endpoint, struct agent_shortage *out)
{
    const struct agent_config *c = &a->config;
    const struct account *x = h->backlog;
    const uint64_t whole = peer_room(a, h->peer, kind);
    uint64_t room = least(whole, memory_room(a, kind));
    if (endpoint) {
        if (!quota_backlog_full(a, h, kind, amount))
            return false;
        room = h->user != NULL ? part_left(a, h->user, kind, room) : room;
        out->idle = x->receiver == RECEIVER_NONE;
        return lacks(out, AGENT_LIMIT_ENDPOINT, x->used[kind], part_left(a, h->source, kind, room),
                     c->endpoint_percent);
    }
    if (!peer_has_room(a, h->peer, kind, amount))
        return lacks(out, AGENT_LIMIT_PEER, h->peer->used[kind], whole, 100);
    if (quota_source_has_room(a, h, kind, amount))
        return false;
    x = h->user;
    if (x != NULL && !leaves_enough(a, x, kind, amount, room))
        return lacks(out, AGENT_LIMIT_USER, x->used[kind], room, c->source_percent);
    if (x != NULL)
        room = part_left(a, x, kind, room);
    out->unproven = h->source->unproven;
    return lacks(out, AGENT_LIMIT_SOURCE, h->source->used[kind], room, c->source_percent);
}

/* Id of the bundle's destination here, or of its link. The id of an endpoint does not change when
 * its receiver begins or ceases to take bundles. */
static uint64_t place_id(const struct agent *a, const struct agent_head *h, const struct holder *of)
{
    return of->backlog->receiver != RECEIVER_ELSEWHERE
               ? eid_hash(a->config.seed, &h->destination)
               : (uint64_t)(uint32_t)of->destination_link.index + 1;
}

#define MIXED_TIME (600 * TICK_S)

void quota_accepted(struct agent *a, const struct agent_head *h, const struct holder *of)
{
    struct account *peer = of->peer;
    const uint64_t to = place_id(a, h, of);
    if (peer->last_to != 0 && peer->last_to != to)
        peer->mixed = a->now.now;
    peer->last_to = to;
    of->source->last = a->next_key - 1;
}

/* Is it its peer's only known source, and had all recent bundles of the peer one destination? */
static bool is_alone(const struct agent *a, const struct agent_head *h, const struct holder *of)
{
    const struct account *peer = of->peer;
    const bool mixed = peer->last_to != 0 && peer->last_to != place_id(a, h, of);
    return !mixed && (peer->mixed == 0 || tick_add(peer->mixed, MIXED_TIME) <= a->now.now) &&
           account_is_alone(a, peer, of->source);
}

bool quota_waits(const struct agent *a, const struct agent_head *h, const struct holder *of)
{
    const struct account *peer = of->peer;
    if (peer->used[QUOTA_BUNDLES] == 0 || of->backlog->receiver == RECEIVER_NONE ||
        !leaves_soon(of->backlog, a->now.now))
        return false; /* no bundle leaves to make room, or the time is unknown */
    return !peer_has_room(a, peer, QUOTA_BUNDLES, 1) || !peer_has_room(a, peer, QUOTA_BYTES, 1) ||
           is_alone(a, h, of);
}

/* ---- what is arriving ---- */

static struct account *party_of(const struct agent *a, uint32_t link, struct link **out)
{
    *out = link == AGENT_OWN ? NULL : link_at(a, link);
    if (link != AGENT_OWN && *out == NULL)
        return NULL;
    return account_find(&a->peers, *out == NULL ? QUOTA_OWN : quota_peer_id(&(*out)->peer));
}

bool agent_reserve(struct agent *a, uint32_t link, uint64_t bytes)
{
    struct link *l;
    struct account *x = party_of(a, link, &l);
    if (x == NULL || !record_memory_room(a, bytes) || !peer_has_room(a, x, QUOTA_ARRIVING, bytes))
        return false;
    agent_reserve_again(a, link, bytes);
    return true;
}

void agent_reserve_again(struct agent *a, uint32_t link, uint64_t bytes)
{
    struct link *l;
    struct account *x = party_of(a, link, &l);
    if (x == NULL)
        return;
    account_add(a, x, QUOTA_ARRIVING, bytes);
    a->counters.arriving_bytes += bytes;
    if (l != NULL)
        l->arriving += bytes;
}

void agent_release(struct agent *a, uint32_t link, uint64_t bytes)
{
    struct link *l;
    struct account *x = party_of(a, link, &l);
    if (x == NULL)
        return; /* all was released with the link */
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

/* They assert in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

static void check_users(const struct agent *a)
{
    struct hash_node *n = hash_walk(&a->users, NULL);
    for (; n != NULL; n = hash_walk(&a->users, n)) {
        const struct account *x = container_of(n, struct account, by_id);
        const struct account *own = account_find(&a->peers, QUOTA_OWN);
        assert(x->pins > 0);
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
        assert(x->pins > 0 && list_empty(&x->sharing) == (x->links == 0));
        parties += x->links > 0;
        for (size_t k = 0; k < QUOTA_KINDS; k++) {
            used[k] += x->used[k];
            common[k] += above(a, x, k, x->used[k]);
        }
    }
    assert(used[QUOTA_BUNDLES] == a->counters.bundles - a->reserved[QUOTA_BUNDLES]);
    assert(used[QUOTA_BYTES] == a->counters.bytes +
                                    (a->config.memory_only ? a->counters.record_bytes : 0) -
                                    a->reserved[QUOTA_BYTES]);
    assert(used[QUOTA_REASSEMBLIES] == a->reassemblies.len);
    assert(used[QUOTA_FRAGMENTS] == a->counters.fragments);
    assert(used[QUOTA_ARRIVING] == (peers ? a->counters.arriving_bytes : 0));
    for (size_t k = 0; k < QUOTA_KINDS && peers; k++)
        assert(common[k] == a->common_used[k] && used[k] == a->peers_used[k]);
    assert(!peers || parties == a->parties);
}

static void check_backlogs(const struct agent *a)
{
    uint64_t used[QUOTA_KINDS] = {0};
    struct hash_node *n = hash_walk(&a->backlogs, NULL);
    for (; n != NULL; n = hash_walk(&a->backlogs, n)) {
        const struct account *x = container_of(n, struct account, by_id);
        assert(x->pins > 0 && x->pace.window >= x->pace.began);
        for (size_t k = 0; k < QUOTA_KINDS; k++)
            used[k] += x->used[k];
    }
    assert(used[QUOTA_BUNDLES] <= a->counters.bundles - a->reserved[QUOTA_BUNDLES]);
    assert(used[QUOTA_REASSEMBLIES] <= a->reassemblies.len);
    assert(used[QUOTA_FRAGMENTS] <= a->counters.fragments && used[QUOTA_ARRIVING] == 0);
}

void quota_check(const struct agent *a)
{
    check_backlogs(a);
    check_table(a, &a->peers, true);
    check_table(a, &a->sources, false);
    check_users(a);
}
