/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for a new bundle. record_room (agent_record.c) compares the bundle with each limit: of the
 * node, of the link that will transmit it, of its peer, source and endpoint. If one is reached, the
 * bundle is refused with FULL, QUEUE or QUOTA, and shortage_note records the limit for the log. The
 * peer keeps its copy and is informed by its link, or the link waits (agent_offer).
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

enum { OF_PEER, OF_SOURCE, OF_BACKLOG, OF_ALL }; /* of a record's claims */
static_assert(OF_ALL == sizeof((struct record *)0)->claims / sizeof(struct heap_node), "claims");

static struct heap *heap_of(const struct record *r, int of)
{
    struct account *const of_them[] = {r->holder.peer, r->holder.source, r->holder.backlog};
    return &of_them[of]->waiting[r->qos.priority];
}

void room_enter(struct agent *a, struct record *r)
{
    if (!a->config.drop_when_full || record_derived(r) || r->assembly != NULL)
        return;
    assert(record_stored(r) && r->holder.peer != NULL && r->qos.priority < BUNDLE_PRIORITIES);
    /* Without memory for its heap entries it is never displaced. */
    for (int of = 0; of < OF_ALL; of++)
        (void)heap_set(heap_of(r, of), &r->claims[of], r->expires);
}

void room_leave(struct record *r)
{
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
    const uint64_t memory = r->buf == NULL ? 0 : r->buf->cap;
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
        room_leave(r);
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
        room_enter(a, room->of[i]);
    room->len = 0;
}

void room_take(struct agent *a, struct room *room)
{
    for (size_t i = 0; i < room->len; i++) {
        agent_report(a, room->of[i], STATUS_DELETED, REASON_DEPLETED_STORAGE);
        record_end(a, room->of[i], END_DROPPED);
    }
    room->len = 0;
}
