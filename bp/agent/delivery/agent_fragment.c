/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reassembly of fragments for this node (RFC 9171 §5.9). Each fragment is stored and confirmed like
 * a bundle, then added to the reassembly of its bundle. The fragment with the last missing bytes
 * creates the whole: a record for the joined bundle, which waits in the endpoint's queue
 * (agent_join.c copies the bytes when its turn is near). When the whole ends, all fragments end.
 * The bundle's id is remembered, so that any later fragment or copy is detected.
 *
 * A fragment without new bytes ends when it is placed. A fragment that expires early leaves a gap;
 * the others stay. If the unfragmented bundle arrives, it is delivered, and the fragments end. If
 * there is no room for another reassembly, an older one that does not grow is dropped. Without
 * memory, a stored fragment is placed later.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

/* The id of the bundle that this may be a fragment of. */
static struct slice bundle_name(const struct bundle_id *id, uint8_t out[AGENT_ID_MAX])
{
    struct bundle_id all = *id;
    all.fragment = false;
    return slice_of(out, agent_id_encode(&all, 0, out));
}

static struct slice reassembly_name(const struct reassembly *as)
{
    return slice_of(as->id, as->id_len);
}

/* One bundle id may have several reassemblies: fragments with another total length or destination
 * form a separate one, so that a false fragment cannot end the true ones. At most one of them has a
 * whole. */
static struct reassembly *reassembly_named(struct hash_node *n, struct slice id)
{
    for (; n != NULL; n = hash_next(n)) {
        struct reassembly *as = container_of(n, struct reassembly, by_id);
        if (slice_equal(reassembly_name(as), id))
            return as;
    }
    return NULL;
}

/* As a rule there are none: then a bundle's name is not made to look for them. */
static bool no_reassemblies(const struct agent *a)
{
    return a->reassemblies.len == 0;
}

static struct reassembly *reassembly_first(const struct agent *a, struct slice id)
{
    return reassembly_named(
        hash_find(&a->reassemblies, hash_bytes(a->config.seed, id.data, id.len)), id);
}

static struct reassembly *reassembly_next(const struct reassembly *as)
{
    return reassembly_named(hash_next(&as->by_id), reassembly_name(as));
}

static struct reassembly *reassembly_with_whole(const struct agent *a, struct slice id)
{
    struct reassembly *as = reassembly_first(a, id);
    while (as != NULL && as->whole == NULL)
        as = reassembly_next(as);
    return as;
}

static void count_begin(struct agent *a, struct reassembly *as)
{
    as->state = REASSEMBLY_GATHERING;
    a->counters.reassemblies++;
    a->counters.reassemblies_begun++;
}

static struct reassembly *reassembly_new(struct agent *a, const struct agent_head *h,
                                         const struct holder *holder, struct slice id)
{
    struct reassembly *as = calloc(1, sizeof *as + id.len);
    if (as == NULL)
        return NULL;
    as->destination = h->destination;
    as->total = h->id.total;
    as->id_len = id.len;
    memcpy(as->id, id.data, id.len);
    list_init(&as->pieces);
    ranges_init(&as->have);
    hash_add(&a->reassemblies, &as->by_id, hash_bytes(a->config.seed, id.data, id.len));
    as->holder = quota_keep(holder);
    as->source = quota_source_id(a, h);
    quota_add(a, holder, QUOTA_REASSEMBLIES, 1);
    as->grown = a->now.now;
    list_add_tail(&a->gathering, &as->order);
    a->reassembly_bytes += sizeof *as + as->id_len;
    count_begin(a, as);
    return as;
}

void fragment_free_reassembly(struct agent *a, struct reassembly *as)
{
    hash_sub(&a->reassemblies, &as->by_id);
    list_sub(&as->order);
    a->reassembly_bytes -= sizeof *as + as->id_len;
    quota_sub(a, &as->holder, QUOTA_REASSEMBLIES, 1);
    quota_close(a, &as->holder);
    ranges_fini(&as->have);
    buf_drop(as->joined);
    buf_drop(as->frame);
    free(as);
}

/* Does the head make sense by itself? An anonymous bundle has no fragments (§4.2.3). */
static bool legal(const struct agent_head *h)
{
    return !eid_is_none(&h->id.source) && h->payload_len > 0 && h->id.offset < h->id.total &&
           h->payload_len <= h->id.total - h->id.offset;
}

static bool fits(const struct reassembly *as, const struct agent_head *h)
{
    return as->total == h->id.total && eid_equal(&as->destination, &h->destination);
}

static void count_end(struct agent *a, struct reassembly *as, enum agent_end why)
{
    if (as->state == REASSEMBLY_OVER)
        return;
    as->state = REASSEMBLY_OVER;
    a->counters.reassemblies--;
    a->counters.reassemblies_ended[why]++;
}

/* Without one that was counted: the caller's own hold on it, or a fragment. */
static void let_go(struct agent *a, struct reassembly *as, enum agent_end why)
{
    assert(as->fragments > 0);
    if (--as->fragments > 0)
        return;
    count_end(a, as, why);
    fragment_free_reassembly(a, as);
}

void fragment_leave(struct agent *a, struct reassembly *as, enum agent_end why)
{
    a->counters.fragments--;
    a->counters.fragments_ended[why]++;
    let_go(a, as, why);
}

static void end_pieces(struct agent *a, struct reassembly *as, enum agent_end why)
{
    while (!list_empty(&as->pieces))
        forwarding_end(a, container_of(list_first(&as->pieces), struct forwarding, node), why);
}

/* What is missing for one more fragment, of `as` or of a new reassembly. */
static enum agent_refusal lacking(const struct agent *a, const struct holder *holder,
                                  const struct reassembly *as)
{
    if ((as == NULL && a->reassemblies.len >= a->limits[QUOTA_REASSEMBLIES]) ||
        a->counters.fragments >= a->limits[QUOTA_FRAGMENTS])
        return REFUSE_FULL;
    if ((as == NULL && !quota_has_room(a, holder, QUOTA_REASSEMBLIES, 1)) ||
        !quota_has_room(a, holder, QUOTA_FRAGMENTS, 1))
        return REFUSE_QUOTA;
    return REFUSE_NONE;
}

static bool source_lacks(const struct agent *a, const struct holder *holder,
                         const struct reassembly *as)
{
    return (as == NULL && !quota_source_has_room(a, holder, QUOTA_REASSEMBLIES, 1)) ||
           !quota_source_has_room(a, holder, QUOTA_FRAGMENTS, 1);
}

/* A fragment without room: in `as`, or in a new reassembly. */
struct candidate {
    const struct holder *holder;
    const struct reassembly *as; /* NULL: there is none yet */
    uint64_t source;             /* quota_source_id */
};

/* What a source began before it proved itself counts for the account of the unproven ones. */
static bool of_source(const struct candidate *x, const struct reassembly *old)
{
    return old->holder.source == x->holder->source ||
           (old->source == x->source && old->holder.source->unproven);
}

/* The reassembly that grew longest ago: of the source, if the source has no room, else of the peer;
 * with `any` of all. It must have been idle for a while. Otherwise bundles with interleaved
 * fragments would displace each other, and none would be complete. */
static struct reassembly *find_idle(const struct agent *a, const struct candidate *x, bool any)
{
    const bool by_source = source_lacks(a, x->holder, x->as);
    list_for_each (it, &a->gathering) {
        struct reassembly *old = container_of(it, struct reassembly, order);
        if (tick_add(old->grown, a->config.reassembly_idle) > a->now.now)
            return NULL;
        const bool same = by_source ? of_source(x, old) : old->holder.peer == x->holder->peer;
        if (old != x->as && !list_empty(&old->pieces) && (any || same))
            return old;
    }
    return NULL;
}

/* Ends a reassembly. Its fragments were accepted: their end is counted, and reported if requested.
 * Their ids are not remembered, so that they may arrive again. */
static void give_way(struct agent *a, struct reassembly *as)
{
    as->fragments++;
    list_for_each (it, &as->pieces) {
        agent_report(a, container_of(it, struct forwarding, node), STATUS_DELETED,
                     REASON_DEPLETED_STORAGE);
    }
    end_pieces(a, as, END_GAVE_WAY);
    ranges_clear(&as->have);
    as->state = REASSEMBLY_GATHERING;
    let_go(a, as, END_GAVE_WAY);
}

static enum agent_refusal make_room(struct agent *a, const struct candidate *x)
{
    enum agent_refusal refusal;
    while ((refusal = lacking(a, x->holder, x->as)) != REFUSE_NONE) {
        struct reassembly *old = find_idle(a, x, false);
        if (old == NULL && refusal == REFUSE_FULL)
            old = find_idle(a, x, true);
        if (old == NULL)
            return refusal;
        give_way(a, old);
    }
    return REFUSE_NONE;
}

static struct reassembly *find_begun(const struct agent *a, const struct agent_head *h,
                                     struct slice name)
{
    struct reassembly *as = reassembly_first(a, name);
    while (as != NULL && !fits(as, h))
        as = reassembly_next(as);
    return as;
}

bool fragment_begun(const struct agent *a, const struct agent_head *h)
{
    uint8_t id[AGENT_ID_MAX];
    return find_begun(a, h, bundle_name(&h->id, id)) != NULL;
}

enum agent_refusal fragment_enter(struct agent *a, const struct agent_head *h,
                                  const struct holder *holder, bool restored,
                                  struct reassembly **out)
{
    const struct agent_config *c = &a->config;
    if (!legal(h))
        return REFUSE_FRAGMENT;
    if (!restored && h->id.total > c->bundle_max)
        return REFUSE_TOO_LONG;
    uint8_t id[AGENT_ID_MAX];
    struct slice name = bundle_name(&h->id, id);
    struct reassembly *as = find_begun(a, h, name);
    if (as != NULL && !restored && as->fragments >= c->fragments_max)
        return REFUSE_FULL; /* the peer keeps it: room will become free */
    const struct candidate x = {holder, as, quota_source_id(a, h)};
    enum agent_refusal refusal = restored ? REFUSE_NONE : make_room(a, &x);
    if (refusal != REFUSE_NONE)
        return refusal;
    if (as == NULL)
        as = reassembly_new(a, h, holder, name);
    if (as == NULL)
        return REFUSE_NO_MEMORY;
    as->fragments++;
    a->counters.fragments_in++;
    a->counters.fragments++;
    *out = as;
    return REFUSE_NONE;
}

void fragment_entered(struct agent *a, struct forwarding *f, struct reassembly *as)
{
    f->reassembly = as;
    if (as != NULL)
        quota_add(a, &f->bundle->holder, QUOTA_FRAGMENTS, 1);
}

bool fragment_known(const struct agent *a, const struct bundle *b, struct record **held)
{
    const bool names_none = !b->id.fragment && no_reassemblies(a);
    if (names_none || !agent_is_here(a, &b->destination))
        return false;
    uint8_t id[AGENT_ID_MAX];
    struct slice name = bundle_name(&b->id, id);
    if (reassembly_with_whole(a, name) != NULL)
        return true;
    if (!b->id.fragment)
        return false;
    const uint64_t hash = agent_id_hash(a->config.seed, name);
    *held = record_by_id(a, name, hash);
    return *held != NULL || seen_has(&a->seen, name);
}

/* Computes the bytes of the pieces again, after one was removed. */
static int count_again(struct reassembly *as)
{
    ranges_clear(&as->have);
    list_for_each (it, &as->pieces) {
        struct agent_head h;
        record_head(container_of(it, struct forwarding, node)->bundle, &h);
        if (ranges_add(&as->have, h.id.offset, h.id.offset + h.payload_len, SIZE_MAX) < 0)
            return HELIO_ENOMEM;
    }
    as->state = REASSEMBLY_GATHERING;
    return 0;
}

static int make_whole(struct agent *a, struct reassembly *as, const struct forwarding *last,
                      const struct agent_head *piece)
{
    assert(reassembly_with_whole(a, reassembly_name(as)) == NULL);
    /* §5.8: but for these the primary blocks of all fragments are the bundle's. */
    struct agent_head h = *piece;
    h.id.fragment = false;
    h.id.offset = h.id.total = 0;
    h.flags &= ~(uint64_t)BUNDLE_IS_FRAGMENT;
    h.payload_len = as->total;
    int rc = record_whole(a, &h, as);
    if (rc < 0)
        return rc;
    as->whole->bundle->arrived = last->bundle->arrived;
    as->whole->bundle->rest_ms = last->bundle->rest_ms;
    emit_step(a, BUNDLE_ASSEMBLED, as->whole);
    return 0;
}

/* From here on the whole's timer counts: it cannot outlive any of its pieces. */
static void queue_whole(struct agent *a, struct reassembly *as)
{
    as->whole->bundle->expires = TICK_NEVER;
    list_for_each (it, &as->pieces) {
        struct forwarding *p = container_of(it, struct forwarding, node);
        agenda_sub(&a->timers, &p->timer);
        as->whole->bundle->expires = tick_min(as->whole->bundle->expires, p->bundle->expires);
    }
    as->next = as->pieces.next;
    ranges_clear(&as->have);
    agent_place(a, as->whole);
}

/* Returns 1: it is now a piece of the reassembly; 0: it has no new bytes; or HELIO_ENOMEM. */
static int gather_pieces(struct agent *a, struct forwarding *f, const struct agent_head *h)
{
    struct reassembly *as = f->reassembly;
    if (as->state == REASSEMBLY_OVER)
        count_begin(a, as);
    if (as->state == REASSEMBLY_STALE && count_again(as) < 0)
        return HELIO_ENOMEM;
    int rc = ranges_add(&as->have, h->id.offset, h->id.offset + h->payload_len, SIZE_MAX);
    if (rc <= 0)
        return rc;
    if (ranges_has(&as->have, 0, as->total) && make_whole(a, as, f, h) < 0) {
        as->state = REASSEMBLY_STALE;
        return HELIO_ENOMEM;
    }
    f->state = STATE_REASSEMBLY_PENDING;
    list_add_tail(&as->pieces, &f->node);
    as->grown = a->now.now;
    list_sub(&as->order);
    if (as->whole == NULL)
        list_add_tail(&a->gathering, &as->order);
    /* Fragments may wait long for others: half of the memory is left to bundles that are
     * forwarded. */
    if (memory_full(a, a->config.memory_bytes / 2))
        forwarding_release(a, f);
    if (as->whole == NULL)
        forwarding_set_timer(a, f, f->bundle->expires);
    else
        queue_whole(a, as);
    return 1;
}

/* Was the bundle delivered while this fragment was being stored, or is it here without
 * fragments? */
static bool superseded(const struct agent *a, const struct reassembly *as)
{
    const struct slice name = reassembly_name(as);
    const uint64_t hash = agent_id_hash(a->config.seed, name);
    const struct record *held = record_by_id(a, name, hash);
    return reassembly_with_whole(a, name) != NULL || seen_has(&a->seen, name) ||
           (held != NULL && forwarding_stored(&held->forwarding));
}

static void place_fragment(struct agent *a, struct forwarding *f, const struct agent_head *h)
{
    assert(f->state == STATE_DISPATCH_PENDING || f->state == STATE_NO_ROUTE);
    if (f->reassembly == NULL) { /* restored, with a head that makes no sense */
        forwarding_end(a, f, END_DELETED);
        return;
    }
    int rc = superseded(a, f->reassembly) ? 0 : gather_pieces(a, f, h);
    if (rc == 0)
        forwarding_end(a, f, END_REDUNDANT);
    else if (rc < 0 && forwarding_is_copy(f))
        forwarding_end(a, f, END_GAVE_WAY);
    else if (rc < 0)
        agent_await_route(a, f, h, tick_add(a->now.now, a->config.retry_max));
}

/* Fragments of a group's bundle are copies. Their originals are known by their own ids, because
 * they are also forwarded. So the bundle's id is remembered separately. */
static void remember_bundle(struct agent *a, const struct reassembly *as, tick last,
                            enum agent_end why)
{
    const struct forwarding *p = container_of(list_first(&as->pieces), struct forwarding, node);
    assert(!list_empty(&as->pieces));
    if (!forwarding_is_copy(p) || why != END_DELIVERED)
        return;
    const struct slice name = reassembly_name(as);
    const tick expires = p->bundle->expires;
    agent_remember(a, name, agent_until_ms(a, expires > a->now.now ? last : expires));
}

static tick last_expiry(const struct reassembly *as)
{
    tick last = 0;
    list_for_each (it, &as->pieces) {
        tick end = container_of(it, struct forwarding, node)->bundle->expires;
        last = end > last ? end : last;
    }
    return last;
}

/* What is remembered of the pieces is the bundle, for as long as the last of them would have
 * stayed: they need not agree on their age. */
static void mark_pieces(const struct agent *a, struct reassembly *as, tick last)
{
    list_for_each (it, &as->pieces) {
        struct forwarding *p = container_of(it, struct forwarding, node);
        if (forwarding_is_copy(p))
            continue;
        p->bundle->mark_len = (uint16_t)as->id_len;
        if (p->bundle->expires > a->now.now) /* an expired one needs no mark */
            p->bundle->expires = last;
    }
}

/* The pieces of all reassemblies of that name: their bytes are of no use any more. */
static void end_all_pieces(struct agent *a, struct slice name)
{
    struct reassembly *next, *as = reassembly_first(a, name);
    for (; as != NULL; as = next) {
        as->fragments++; /* it must outlive the loop */
        end_pieces(a, as, END_REDUNDANT);
        next = reassembly_next(as);
        let_go(a, as, END_REDUNDANT);
    }
}

bool fragment_place(struct agent *a, struct forwarding *f, const struct agent_head *h)
{
    if (forwarding_is_whole(f))
        return false;
    if (h->id.fragment) {
        place_fragment(a, f, h);
        return true;
    }
    if (f->bundle->origin != BUNDLE_FROM_LINK || no_reassemblies(a))
        return false;
    uint8_t id[AGENT_ID_MAX];
    struct slice name = bundle_name(&h->id, id);
    if (reassembly_with_whole(a, name) != NULL) {
        forwarding_end(a, f, END_REDUNDANT);
        return true;
    }
    end_all_pieces(a, name);
    return false;
}

void fragment_gather(struct agent *a, struct forwarding *c, const struct agent_head *h,
                     struct reassembly *as)
{
    assert(forwarding_is_copy(c) && c->queue == NULL && c->reassembly == NULL);
    c->link = TO_ENDPOINT;
    fragment_entered(a, c, as);
    place_fragment(a, c, h);
}

bool fragment_outrun(struct agent *a, const struct agent_head *h)
{
    uint8_t id[AGENT_ID_MAX];
    const struct slice name = bundle_name(&h->id, id);
    assert(!h->id.fragment);
    if (reassembly_with_whole(a, name) != NULL)
        return true;
    end_all_pieces(a, name);
    return false;
}

void fragment_end_all(struct agent *a, struct reassembly *as, enum agent_end why)
{
    as->fragments++;
    if (as->joined != NULL)
        a->counters.memory_bytes -= as->joined->cap;
    buf_drop(as->joined);
    as->joined = NULL;
    as->whole = NULL;
    as->state = REASSEMBLY_GATHERING;
    as->grown = a->now.now;
    list_add_tail(&a->gathering, &as->order);
    const tick last = last_expiry(as);
    mark_pieces(a, as, last);
    remember_bundle(a, as, last, why);
    end_pieces(a, as, why);
    count_end(a, as, why);
    ranges_clear(&as->have);
    if (why != END_INSECURE) /* others may have the true bytes */
        end_all_pieces(a, reassembly_name(as));
    assert(as->state == REASSEMBLY_OVER);
    let_go(a, as, why);
}
