/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of bundles. A record is created when a bundle is admitted or restored, is found by key
 * and by id, and ends once. Ending removes it from every table and queue at once; its memory is
 * freed after the binder has got the due answer and removal. Creating a record can only fail for
 * memory, and then changes nothing.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

struct slice record_id(const struct record *r)
{
    return slice_of(r->head + r->id_off, r->head_len - r->id_off);
}

struct slice record_mark(const struct record *r)
{
    return slice_of(r->head + r->id_off, r->mark_len);
}

void record_head(const struct record *r, struct agent_head *out)
{
    size_t id_off;
    int rc = agent_head_decode(slice_of(r->head, r->head_len), out, &id_off);
    assert(rc == 0 && id_off == r->id_off);
    (void)rc;
}

struct record *record_by_id(const struct agent *a, struct slice id, uint64_t hash)
{
    struct hash_node *n = hash_find(&a->by_id, hash);
    for (; n != NULL; n = hash_next(n)) {
        struct record *r = container_of(n, struct record, by_id);
        if (slice_equal(record_id(r), id))
            return r;
    }
    return NULL;
}

static_assert(AGENT_HEAD_MAX <= UINT16_MAX, "lengths and positions in a head have 16 bits");
static_assert(NO_ANSWER < 1 << 7 && LOAD_TRIES < 1 << 4, "bits of answer_refusal, load_failures");

static uint64_t own_cost(const struct record *r)
{
    return sizeof *r + r->head_len + RECORD_SLACK;
}

uint64_t record_cost(const struct record *r)
{
    return own_cost(r) + r->bytes;
}

/* What a bundle takes of the limit of bytes. */
static uint64_t charge_quota(const struct agent *a, const struct record *r)
{
    return a->config.memory_only ? record_cost(r) : r->bytes;
}

static struct record *make_record(struct agent *a, const struct agent_head *h, uint64_t key,
                                  uint64_t bytes)
{
    uint8_t head[AGENT_HEAD_MAX];
    size_t id_off, len = agent_head_encode(h, head, &id_off);
    struct record *r = calloc(1, sizeof *r + len);
    if (r == NULL)
        return NULL;
    r->bytes = bytes;
    r->origin = h->from_link ? BUNDLE_FROM_LINK : BUNDLE_FROM_APPLICATION;
    r->qos = h->qos;
    r->answer_refusal = NO_ANSWER;
    r->head_len = (uint16_t)len;
    r->id_off = (uint16_t)id_off;
    r->mark_len = (uint16_t)(len - id_off);
    r->came_from.index = NO_LINK;
    memcpy(r->head, head, len);
    for (size_t i = 0; i < sizeof r->claims / sizeof *r->claims; i++)
        heap_node_init(&r->claims[i]);
    forwarding_init(a, &r->forwarding, r, key);
    return r;
}

/* The user of the sending application. */
static void count_held(const struct record *r)
{
    struct account *user = r->holder.user;
    if (user == NULL)
        return;
    user->held_bundles++;
    user->held_bytes += r->bytes;
}

static void uncount_held(const struct record *r)
{
    struct account *user = r->holder.user;
    if (user == NULL)
        return;
    assert(user->held_bundles > 0 && user->held_bytes >= r->bytes);
    user->held_bundles--;
    user->held_bytes -= r->bytes;
}

void record_count(struct agent *a, const struct record *r)
{
    count_held(r);
    a->counters.bundles++;
    a->counters.bytes += r->bytes;
    a->counters.record_bytes += own_cost(r);
    if (r->holder.in_reserve) {
        bound_add(a, &r->holder, charge_quota(a, r));
    } else {
        quota_add(a, &r->holder, QUOTA_BUNDLES, 1);
        quota_add(a, &r->holder, QUOTA_BYTES, charge_quota(a, r));
    }
    assert(a->counters.bundles > 0 && a->counters.bytes >= r->bytes);
}

void record_uncount(struct agent *a, const struct record *r)
{
    assert(a->counters.bundles > 0 && a->counters.bytes >= r->bytes);
    assert(a->counters.record_bytes >= own_cost(r));
    a->counters.bundles--;
    a->counters.bytes -= r->bytes;
    a->counters.record_bytes -= own_cost(r);
    uncount_held(r);
    if (r->holder.in_reserve) {
        bound_sub(a, &r->holder, charge_quota(a, r));
        return;
    }
    quota_sub(a, &r->holder, QUOTA_BUNDLES, 1);
    quota_sub(a, &r->holder, QUOTA_BYTES, charge_quota(a, r));
}

static enum record_role role_of(const struct agent_head *h)
{
    uint64_t group, service;
    if (eid_is_none(&h->id.source))
        return ROLE_ANONYMOUS;
    return eid_imc(&h->destination, &group, &service) ? ROLE_GROUP : ROLE_BUNDLE;
}

int record_new(struct agent *a, const struct agent_head *h, uint64_t key, uint64_t bytes,
               const struct holder *holder, struct record **out)
{
    if (agenda_reserve(&a->timers, (size_t)(a->counters.bundles + a->copies) + 1) < 0)
        return HELIO_ENOMEM;
    struct record *r = make_record(a, h, key, bytes);
    if (r == NULL)
        return HELIO_ENOMEM;
    /* Anonymous bundles (§4.2.7) have no unique source, so their ids identify nothing. */
    r->role = role_of(h);
    struct slice id = record_id(r);
    if (record_has_id(r))
        hash_add(&a->by_id, &r->by_id, agent_id_hash(a->config.seed, id));
    assert(r->forwarding.key == key && r->forwarding.state == STATE_STORING);
    r->holder = *holder;
    record_count(a, r);
    *out = r;
    return 0;
}

int record_whole(struct agent *a, const struct agent_head *h, struct reassembly *as)
{
    assert(as->whole == NULL && as->total > 0);
    /* Its timer replaces those of its pieces: there is room. */
    struct record *r = make_record(a, h, a->next_key, as->total);
    if (r == NULL)
        return HELIO_ENOMEM;
    a->next_key++;
    r->role = ROLE_WHOLE;
    r->forwarding.state = STATE_DISPATCH_PENDING;
    r->payload_len = (size_t)as->total;
    r->forwarding.reassembly = as;
    as->whole = &r->forwarding;
    as->state = REASSEMBLY_WHOLE;
    as->first = NULL;
    assert(as->whole->bundle == r && r->role == ROLE_WHOLE);
    return 0;
}

void forwarding_leave_storing(struct agent *a, struct forwarding *f)
{
    assert(f->state == STATE_STORING && a->counters.storing > 0);
    assert(a->counters.storing_bytes >= record_cost(f->bundle));
    storing_leave(a, f);
    a->counters.storing--;
    a->counters.storing_bytes -= record_cost(f->bundle);
    bound_arrive(a, f->bundle);
}

static void leave_lists(struct agent *a, struct forwarding *f)
{
    if (f->state == STATE_REASSEMBLY_PENDING && f->reassembly->whole == NULL)
        f->reassembly->state = REASSEMBLY_STALE;
    if (f->state == STATE_STORING)
        forwarding_leave_storing(a, f);
    else if (state_is_queued(f->state))
        queue_leave(a, f);
    else
        list_sub(&f->node);
}

/* May the id be remembered as a duplicate? Not if the bundle was forwarded, or lost in transmission
 * or in the store: then it may be needed when it arrives again. */
static bool is_final(enum agent_end why)
{
    return why != END_FORWARDED && why != END_GIVEN_UP && why != END_DECLINED &&
           why != END_UNREADABLE && why != END_GAVE_WAY && why != END_DROPPED &&
           why != END_INSECURE;
}

void agent_remember(struct agent *a, struct slice id, uint64_t until_ms)
{
    if (seen_add(&a->seen, id, until_ms, agent_life(a)) < 0)
        a->counters.forgotten++;
    count_seen(a);
}

/* A bundle of a peer that ended here must be recognised when it arrives again. */
static void remember_id(struct agent *a, struct record *r)
{
    assert(r->origin == BUNDLE_FROM_LINK && record_has_id(r));
    uint64_t until_ms = record_until_ms(a, r);
    if (until_ms <= agent_life(a))
        return;
    agent_remember(a, record_mark(r), until_ms);
}

/* Out of all lists and tables, and without bytes. */
static void detach_forwarding(struct agent *a, struct forwarding *f)
{
    const bool stored = forwarding_stored(f);
    const bool taken_back = f->state == STATE_RECALLED && f->link == TO_ENDPOINT;
    const uint64_t taken_from = taken_back ? f->taker->reg : 0;
    assert(state_is_live(f->state));
    room_leave(f);
    kind_leave(a, f);
    leave_lists(a, f);
    f->state = stored ? STATE_ENDED : STATE_NOT_STORED;
    forwarding_load_done(a, f);
    agenda_sub(&a->timers, &f->timer);
    hash_sub(&a->by_key, &f->by_key);
    if (!forwarding_is_copy(f) && record_has_id(f->bundle))
        hash_sub(&a->by_id, &f->bundle->by_id);
    forwarding_release(a, f);
    declined_forget(a, f);
    if (taken_back) { /* the application gets a RECALL; then a derived one is freed */
        f->taken_from = taken_from;
        list_add_tail(&a->recalls, &f->answer);
    }
    assert(f->buf == NULL && !heap_has(&f->timer));
}

static void free_unless_recalled(struct forwarding *f)
{
    if (list_empty(&f->answer))
        forwarding_free(f);
}

static void end_copy(struct agent *a, struct forwarding *f, enum agent_end why)
{
    struct reassembly *as = f->reassembly; /* the reassembly of a piece, or NULL */
    struct holder holder = {0};
    if (as != NULL)
        holder = quota_keep(&f->bundle->holder); /* the bundle may end now */
    a->counters.fragments_going_on += as != NULL && why == END_DELIVERED;
    detach_forwarding(a, f);
    copies_sub(a, f, why);
    free_unless_recalled(f);
    if (as == NULL)
        return;
    quota_sub(a, &holder, QUOTA_FRAGMENTS, 1);
    fragment_leave(a, as, why);
    quota_close(a, &holder);
}

/* The peer may send it again: must its id be known then? */
static void note_id(struct agent *a, struct record *r, enum agent_end why, bool fanned)
{
    /* One that took several routes is not needed again: it would take all of them. */
    const bool final = is_final(why) || r->role == ROLE_GROUP || fanned;
    if (forwarding_stored(&r->forwarding) && r->origin == BUNDLE_FROM_LINK && record_has_id(r) &&
        final) {
        remember_id(a, r);
        return;
    }
    r->mark_len = 0;
    if (record_has_id(r) && (why == END_FORWARDED || why == END_GIVEN_UP))
        returns_forwarded(&a->returns, r->by_id.hash);
}

/* All its pieces end with it. */
static void end_whole(struct agent *a, struct forwarding *f, enum agent_end why)
{
    struct reassembly *as = f->reassembly;
    emit_end(a, f, why);
    detach_forwarding(a, f);
    f->bundle->fan = NULL;
    free_unless_recalled(f);
    fragment_end_all(a, as, why);
}

static void end_bundle(struct agent *a, struct forwarding *f, enum agent_end why)
{
    if (forwarding_stored(f))
        emit_end(a, f, why);
    detach_forwarding(a, f);
    const bool fanned = f->bundle->fan != NULL;
    f->bundle->fan = NULL;
    const struct holder holder = f->bundle->holder;
    struct reassembly *as = f->reassembly; /* a fragment of it, or NULL */
    record_uncount(a, f->bundle);
    quota_left(a, f->bundle, &holder);
    note_id(a, f->bundle, why, fanned);
    if (why == END_FORWARDED || why == END_DELIVERED)
        quota_prove(a, f->bundle);
    if (as != NULL)
        quota_sub(a, &holder, QUOTA_FRAGMENTS, 1);
    if (forwarding_stored(f))
        list_add_tail(&a->removals, &f->node);
    else
        free_unless_recalled(f); /* or its refusal is to be answered */
    if (as != NULL)
        fragment_leave(a, as, why);
    quota_close(a, &holder);
}

void forwarding_end(struct agent *a, struct forwarding *f, enum agent_end why)
{
    if (forwarding_is_copy(f))
        end_copy(a, f, why);
    else if (forwarding_is_whole(f))
        end_whole(a, f, why);
    else
        end_bundle(a, f, why);
}
