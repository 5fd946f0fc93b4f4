/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for a new bundle. record_room compares the bundle with each limit: of the node, of the link
 * that will transmit it, of its peer, source and endpoint. If one is reached, the bundle is refused
 * with FULL, QUEUE or QUOTA, and shortage_note records the limit for the log.
 *
 * A refusal becomes an action REFUSED with `keep`, which the node passes to the adapter of the link
 * as CLA_FULL (node/node_pump.c). The peer keeps its copy: TCPCL sends XFER_REFUSE (No Resources),
 * LTP cancels the session (SYS_CNCLD). A link that can wait (agent_offer) stops reading instead.
 *
 * A full node with drop_when_full displaces waiting bundles to admit a new one: bundles of a lower
 * priority first, then those that expire first. It displaces only bundles that rank below the new
 * one: of a lower priority, or of the same priority and earlier expiry. Bundles within a peer's
 * share are displaced only by bundles of the same peer. Never displaced are bundles that are being
 * stored, are given away, have several routes, or are fragments for this node.
 *
 * No bundle ends before it is certain that enough room results: candidates are found, counted as if
 * they had ended, and ended when the new bundle has its record. What can go wrong: there are too
 * few candidates, or more than ROOM_MAX small ones would be needed; then the new bundle is refused.
 * Administrative records displace nothing, because they are created while other bundles end.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"

#define LAST_PART 20         /* 1/20 of the memory is not for bundles in a route's reserved part */
#define RECORD_HEAD 96       /* of a head, usually */
#define REASSEMBLY_SLACK 192 /* first ranges of a reassembly, and the allocator's own of both */

static bool exceeds(uint64_t used, uint64_t more, uint64_t limit)
{
    return more > limit || used > limit - more;
}

static uint64_t expect_cost(uint64_t bytes)
{
    return sizeof(struct record) + RECORD_HEAD + RECORD_SLACK + bytes;
}

/* Bundles that are being stored are in memory, in addition to memory_bytes. Without this limit, a
 * store that is slower than the links would fill the memory. */
static bool storing_full(const struct agent *a, uint64_t cost)
{
    const uint64_t storing = a->counters.storing_bytes;
    return storing > 0 && exceeds(storing, cost, a->config.memory_bytes);
}

uint64_t record_expect_charge(const struct agent *a, uint64_t bytes)
{
    return a->config.memory_only ? expect_cost(bytes) : bytes;
}

bool record_room_elsewhere(const struct agent *a, uint64_t bytes)
{
    return !storing_full(a, expect_cost(bytes)) &&
           record_expect_charge(a, bytes) <= a->config.held_bytes;
}

bool record_source_has_room(const struct agent *a, const struct holder *holder, uint64_t bytes)
{
    return quota_source_has_room(a, holder, QUOTA_BUNDLES, 1) &&
           quota_source_has_room(a, holder, QUOTA_BYTES, record_expect_charge(a, bytes));
}

static uint64_t kinds_cost(const struct agent *a)
{
    return a->kinds.len * (sizeof(struct kind) + RECORD_SLACK);
}

/* The memory of endpoints. Each bundle that is being stored may need one more. The endpoint of the
 * node's own name always exists. */
static uint64_t endpoints_cost(const struct agent *a)
{
    const uint64_t others = a->endpoints.len - (a->admin != NULL) + a->here.storing;
    return others * (sizeof(struct endpoint) + RECORD_SLACK);
}

uint64_t record_places_cost(const struct agent *a)
{
    return endpoints_cost(a) + a->reassembly_bytes + a->reassemblies.len * REASSEMBLY_SLACK +
           a->backlogs.len * (sizeof(struct account) + RECORD_SLACK);
}

uint64_t record_memory_max(const struct agent *a)
{
    const struct agent_config *c = &a->config;
    if (c->memory_only)
        return c->held_bytes;
    return c->total_bytes > 0 ? c->total_bytes : UINT64_MAX;
}

uint64_t record_memory_used(const struct agent *a)
{
    const struct agent_counters *n = &a->counters;
    const uint64_t used = n->memory_bytes + n->record_bytes + n->arriving_bytes + n->seen_bytes +
                          n->sending_bytes + record_places_cost(a);
    return a->config.memory_only ? used : used + kinds_cost(a) + a->loading_bytes;
}

/* Memory that an admitted bundle may need: for its endpoint, its kind or its reassembly. */
#define PLACE_COST (sizeof(struct endpoint) + RECORD_SLACK)
static_assert(PLACE_COST >= sizeof(struct kind) + RECORD_SLACK &&
                  PLACE_COST >= sizeof(struct reassembly) + REASSEMBLY_SLACK,
              "the place of any bundle");

bool record_memory_room(const struct agent *a, uint64_t more)
{
    return !exceeds(record_memory_used(a), more, record_memory_max(a));
}

static bool lacks(struct agent_shortage *out, enum agent_limit limit, enum agent_unit unit,
                  uint64_t used, uint64_t most)
{
    out->limit = limit;
    out->unit = unit;
    out->used = used;
    out->most = most;
    return true;
}

bool record_lacks(const struct agent *a, uint64_t bytes, struct agent_shortage *out)
{
    const struct agent_config *c = &a->config;
    const struct agent_counters *n = &a->counters;
    const uint64_t cost = expect_cost(bytes);
    if (n->bundles >= c->held_bundles)
        return lacks(out, AGENT_LIMIT_COUNT, AGENT_UNIT_BUNDLES, n->bundles, c->held_bundles);
    if (exceeds(n->bytes, bytes, c->held_bytes))
        return lacks(out, AGENT_LIMIT_BYTES, AGENT_UNIT_BYTES, n->bytes, c->held_bytes);
    if (!record_memory_room(a, cost + PLACE_COST))
        return lacks(out, AGENT_LIMIT_MEMORY, AGENT_UNIT_BYTES, record_memory_used(a),
                     record_memory_max(a));
    if (storing_full(a, cost))
        return lacks(out, AGENT_LIMIT_STORING, AGENT_UNIT_BYTES, n->storing_bytes, c->memory_bytes);
    const uint64_t bundles = n->bundles - a->reserved[QUOTA_BUNDLES];
    const uint64_t all = n->bytes - a->reserved[QUOTA_BYTES];
    out->beside = true;
    if (bundles >= a->limits[QUOTA_BUNDLES])
        return lacks(out, AGENT_LIMIT_COUNT, AGENT_UNIT_BUNDLES, bundles, a->limits[QUOTA_BUNDLES]);
    if (!c->memory_only && exceeds(all, bytes, a->limits[QUOTA_BYTES]))
        return lacks(out, AGENT_LIMIT_BYTES, AGENT_UNIT_BYTES, all, a->limits[QUOTA_BYTES]);
    return out->beside = false;
}

/* Room outside the parts that are reserved for each route. */
static enum agent_refusal room_in_common(const struct agent *a, const struct holder *holder,
                                         uint64_t bytes)
{
    const struct agent_counters *n = &a->counters;
    if (n->bundles - a->reserved[QUOTA_BUNDLES] >= a->limits[QUOTA_BUNDLES])
        return REFUSE_FULL;
    if (!a->config.memory_only &&
        exceeds(n->bytes - a->reserved[QUOTA_BYTES], bytes, a->limits[QUOTA_BYTES]))
        return REFUSE_FULL;
    if (!quota_has_room(a, holder, QUOTA_BUNDLES, 1) ||
        !quota_has_room(a, holder, QUOTA_BYTES, record_expect_charge(a, bytes)))
        return REFUSE_QUOTA;
    return REFUSE_NONE;
}

bool record_backlog_full(const struct agent *a, const struct holder *holder, uint64_t bytes)
{
    return quota_backlog_full(a, holder, QUOTA_BUNDLES, 1) ||
           quota_backlog_full(a, holder, QUOTA_BYTES, record_expect_charge(a, bytes));
}

/* Is there room for a new bundle? The checks, in this order:
 * 1. the whole node: bundles, bytes, memory, bytes that are being stored (REFUSE_FULL);
 * 2. the limits of the link that will transmit it (REFUSE_QUEUE);
 * 3. the backlog of its endpoint here (REFUSE_QUOTA), the unreserved part of the node
 * (REFUSE_FULL), the accounts of its peer, user and source (REFUSE_QUOTA). A bundle that fails only
 * in 3 may still be charged to the reserved part of its route, if memory beyond the last twentieth
 * is free. Not so a bundle for an endpoint without a receiver. */
enum agent_refusal record_room(const struct agent *a, struct holder *holder, uint64_t bytes)
{
    holder->in_reserve = false;
    const struct agent_config *c = &a->config;
    const struct agent_counters *n = &a->counters;
    const uint64_t cost = expect_cost(bytes);
    if (n->bundles >= c->held_bundles || exceeds(n->bytes, bytes, c->held_bytes))
        return REFUSE_FULL;
    if (!record_memory_room(a, cost + PLACE_COST))
        return REFUSE_FULL;
    if (storing_full(a, cost))
        return REFUSE_FULL;
    if (bound_full(a, &holder->destination_link, bytes))
        return REFUSE_QUEUE;
    const enum agent_refusal common =
        record_backlog_full(a, holder, bytes) ? REFUSE_QUOTA : room_in_common(a, holder, bytes);
    if (common == REFUSE_NONE)
        return REFUSE_NONE;
    if (holder->backlog->receiver == RECEIVER_NONE && c->endpoint_percent < 100)
        return common;
    holder->in_reserve =
        bound_has_room(a, holder, record_expect_charge(a, bytes)) &&
        record_memory_room(a, cost + PLACE_COST + record_memory_max(a) / LAST_PART);
    return holder->in_reserve ? REFUSE_NONE : common;
}

enum { OF_PEER, OF_SOURCE, OF_BACKLOG, OF_ALL }; /* of a record's claims */
static_assert(OF_ALL == sizeof((struct record *)0)->claims / sizeof(struct heap_node), "claims");

static struct heap *heap_of(const struct record *r, int of)
{
    struct account *const of_them[] = {r->holder.peer, r->holder.source, r->holder.backlog};
    return &of_them[of]->waiting[r->qos.priority];
}

void room_enter(struct agent *a, struct forwarding *f)
{
    struct record *r = f->bundle;
    if (!a->config.drop_when_full || forwarding_derived(f) || f->reassembly != NULL)
        return;
    assert(forwarding_stored(f) && r->holder.peer != NULL && r->qos.priority < BUNDLE_PRIORITIES);
    /* Without memory for its heap entries it is never displaced. */
    for (int of = 0; of < OF_ALL; of++)
        (void)heap_set(heap_of(r, of), &r->claims[of], r->expires);
}

void room_leave(struct forwarding *f)
{
    struct record *r = f->bundle;
    if (forwarding_is_copy(f))
        return;
    for (int of = 0; of < OF_ALL; of++) {
        if (heap_has(&r->claims[of]))
            heap_sub(heap_of(r, of), &r->claims[of]);
        assert(!heap_has(&r->claims[of]));
    }
}

/* The new bundle, for which room is wanted. */
struct need {
    const struct agent_head *head;
    const struct holder *holder;
    uint64_t bytes;
    tick expires;
};

/* The waiting bundle of this account that ranks lowest, if it ranks below the new one; or NULL. */
static struct record *least_of(const struct account *x, int of, const struct need *n)
{
    const unsigned priority = n->head->qos.priority;
    for (unsigned p = 0; p <= priority; p++) {
        struct heap_node *first = heap_first(&x->waiting[p]);
        if (first == NULL)
            continue;
        struct record *r = container_of(first - of, struct record, claims[0]);
        return p < priority || r->expires < n->expires ? r : NULL;
    }
    return NULL;
}

/* Does r rank below the other bundle: by priority, then by expiry? */
static bool is_less(const struct record *r, const struct record *than)
{
    if (r->qos.priority != than->qos.priority)
        return r->qos.priority < than->qos.priority;
    return r->expires < than->expires;
}

/* May bundles of this peer be displaced: it is the new bundle's peer, or above its share? */
static bool may_take(const struct agent *a, const struct account *peer, const struct need *n)
{
    return peer == n->holder->peer || quota_above_share(a, peer);
}

/* The bundle to displace next, of the account whose limit is reached; NULL: there is none. */
static struct record *find_least(const struct agent *a, const struct need *n)
{
    struct record *least = NULL;
    if (record_backlog_full(a, n->holder, n->bytes))
        return least_of(n->holder->backlog, OF_BACKLOG, n);
    if (!record_source_has_room(a, n->holder, n->bytes)) {
        least = least_of(n->holder->source, OF_SOURCE, n);
        return least != NULL && may_take(a, least->holder.peer, n) ? least : NULL;
    }
    struct hash_node *node = hash_walk(&a->peers, NULL);
    for (; node != NULL; node = hash_walk(&a->peers, node)) {
        const struct account *x = container_of(node, struct account, by_id);
        struct record *r = may_take(a, x, n) ? least_of(x, OF_PEER, n) : NULL;
        if (r != NULL && (least == NULL || is_less(r, least)))
            least = r;
    }
    return least;
}

/* Counts its use of the limits as free, or as used again. */
static void count_free(struct agent *a, struct record *r, bool is_free)
{
    const uint64_t memory = r->forwarding.buf == NULL ? 0 : r->forwarding.buf->cap;
    assert(!is_free || a->counters.memory_bytes >= memory);
    if (is_free) {
        record_uncount(a, r);
        a->counters.memory_bytes -= memory;
    } else {
        record_count(a, r);
        a->counters.memory_bytes += memory;
    }
}

enum agent_refusal room_find(struct agent *a, const struct agent_head *h, struct holder *holder,
                             uint64_t bytes, struct room *out)
{
    const struct need need = {h, holder, bytes, agent_expiry(a, h->expires_ms)};
    out->len = 0;
    enum agent_refusal refusal = record_room(a, holder, bytes);
    if (refusal == REFUSE_NONE || refusal == REFUSE_QUEUE || !a->config.drop_when_full ||
        (h->flags & BUNDLE_IS_ADMIN) || !record_room_elsewhere(a, bytes))
        return refusal;
    while (refusal != REFUSE_NONE && out->len < ROOM_MAX) {
        struct record *r = find_least(a, &need);
        if (r == NULL)
            break;
        room_leave(&r->forwarding);
        count_free(a, r, true);
        out->of[out->len++] = r;
        refusal = record_room(a, holder, bytes);
    }
    for (size_t i = 0; i < out->len; i++)
        count_free(a, out->of[i], false);
    if (refusal != REFUSE_NONE)
        room_cancel(a, out);
    return refusal;
}

void room_cancel(struct agent *a, struct room *room)
{
    for (size_t i = 0; i < room->len; i++)
        room_enter(a, &room->of[i]->forwarding);
    room->len = 0;
}

void room_take(struct agent *a, struct room *room)
{
    for (size_t i = 0; i < room->len; i++) {
        agent_report(a, &room->of[i]->forwarding, STATUS_DELETED, REASON_DEPLETED_STORAGE);
        forwarding_end(a, &room->of[i]->forwarding, END_DROPPED);
    }
    room->len = 0;
}
