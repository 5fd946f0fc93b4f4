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
#include "bp/agent/agent_storing.h"

/* Keys are consecutive numbers: records that follow each other are neighbours in the table. */
static uint64_t key_hash(uint64_t key)
{
    return key;
}

struct record *record_find(const struct agent *a, uint64_t key)
{
    struct hash_node *n = hash_find(&a->by_key, key_hash(key));
    for (; n != NULL; n = hash_next(n)) {
        struct record *r = container_of(n, struct record, by_key);
        if (r->key == key)
            return r;
    }
    return NULL;
}

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

#define LAST_PART 20       /* 1/20 of the memory is not for bundles in a route's reserved part */
#define RECORD_SLACK 96    /* overhead of the allocator, entries in tables and in the heap */
#define RECORD_HEAD 96     /* of a head, usually */
#define ASSEMBLY_SLACK 192 /* first ranges of an assembly, and the allocator's own of both */
#define FIT_MAX (16 << 10) /* a longer bundle is not worth to be moved */
#define FIT_LEAST 256      /* nor one for less than so many bytes */
static_assert(FIT_LEAST >= BUNDLE_HEAD_IPN, "room of the usual size is not taken back");

static uint64_t own_cost(const struct record *r)
{
    return sizeof *r + r->head_len + RECORD_SLACK;
}

uint64_t record_cost(const struct record *r)
{
    return own_cost(r) + r->bytes;
}

static bool exceeds(uint64_t used, uint64_t more, uint64_t limit)
{
    return more > limit || used > limit - more;
}

/* What a bundle takes of the limit of bytes. */
static uint64_t charge_quota(const struct agent *a, const struct record *r)
{
    return a->config.memory_only ? record_cost(r) : r->bytes;
}

static uint64_t expect_cost(uint64_t bytes)
{
    return sizeof(struct record) + RECORD_HEAD + RECORD_SLACK + bytes;
}

/* What waits for the store is in memory whatever the limit says: a store that is slower than the
 * links must not fill the memory. */
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

/* Each bundle may be for another endpoint, of which only the bundle's sender knows: those that are
 * being stored, too. The node's own name is always there. */
static uint64_t endpoints_cost(const struct agent *a)
{
    const uint64_t others = a->endpoints.len - (a->admin != NULL) + a->here.storing;
    return others * (sizeof(struct endpoint) + RECORD_SLACK);
}

uint64_t record_places_cost(const struct agent *a)
{
    return endpoints_cost(a) + a->assembly_bytes + a->assemblies.len * ASSEMBLY_SLACK +
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

/* What is made for a bundle once it is admitted: its endpoint, or its kind, or its assembly. */
#define PLACE_COST (sizeof(struct endpoint) + RECORD_SLACK)
static_assert(PLACE_COST >= sizeof(struct kind) + RECORD_SLACK &&
                  PLACE_COST >= sizeof(struct assembly) + ASSEMBLY_SLACK,
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

static struct record *make_record(struct agent *a, const struct agent_head *h, uint64_t key,
                                  uint64_t bytes)
{
    assert(key != 0 && record_find(a, key) == NULL);
    uint8_t head[AGENT_HEAD_MAX];
    size_t id_off, len = agent_head_encode(h, head, &id_off);
    struct record *r = calloc(1, sizeof *r + len);
    if (r == NULL)
        return NULL;
    r->key = key;
    r->bytes = bytes;
    r->origin = h->from_link ? BUNDLE_FROM_LINK : BUNDLE_FROM_APPLICATION;
    r->qos = h->qos;
    r->head_len = (uint32_t)len;
    r->id_off = (uint32_t)id_off;
    r->mark_len = (uint32_t)(len - id_off);
    r->came_from.index = r->avoid.index = NO_LINK;
    memcpy(r->head, head, len);
    list_init(&r->node);
    list_init(&r->answer);
    list_init(&r->alike);
    list_init(&r->resting);
    heap_node_init(&r->timer);
    for (size_t i = 0; i < sizeof r->claims / sizeof *r->claims; i++)
        heap_node_init(&r->claims[i]);
    hash_add(&a->by_key, &r->by_key, key_hash(key));
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

int record_new(struct agent *a, const struct agent_head *h, uint64_t key, uint64_t bytes,
               const struct holder *holder, struct record **out)
{
    if (agenda_reserve(&a->timers, (size_t)(a->counters.bundles + a->copies) + 1) < 0)
        return HELIO_ENOMEM;
    struct record *r = make_record(a, h, key, bytes);
    if (r == NULL)
        return HELIO_ENOMEM;
    /* Anonymous bundles (§4.2.7) have no unique source, so their ids identify nothing. */
    r->role = eid_is_none(&h->id.source) ? ROLE_ANONYMOUS : ROLE_BUNDLE;
    struct slice id = record_id(r);
    if (r->role == ROLE_BUNDLE)
        hash_add(&a->by_id, &r->by_id, agent_id_hash(a->config.seed, id));
    assert(r->key == key && r->state == STATE_STORING);
    r->holder = *holder;
    record_count(a, r);
    *out = r;
    return 0;
}

int record_whole(struct agent *a, const struct agent_head *h, struct assembly *as)
{
    assert(as->whole == NULL && as->total > 0);
    /* Its timer replaces those of its pieces: there is room. */
    struct record *r = make_record(a, h, a->next_key, as->total);
    if (r == NULL)
        return HELIO_ENOMEM;
    a->next_key++;
    r->role = ROLE_WHOLE;
    r->state = STATE_DISPATCH_PENDING;
    r->payload_len = (size_t)as->total;
    r->assembly = as;
    as->whole = r;
    as->verified = false;
    as->first = NULL;
    assert(as->whole == r && r->role == ROLE_WHOLE);
    return 0;
}

struct record *record_copy(struct agent *a, const struct record *original)
{
    assert(original->role != ROLE_COPY && record_stored(original));
    struct agent_head h;
    if (agenda_reserve(&a->timers, (size_t)(a->counters.bundles + a->copies) + 1) < 0)
        return NULL;
    record_head(original, &h);
    struct record *r = make_record(a, &h, a->next_key, original->bytes);
    if (r == NULL)
        return NULL;
    a->next_key++;
    r->role = ROLE_COPY;
    list_init(&r->sibling);
    r->state = STATE_DISPATCH_PENDING;
    r->payload_off = original->payload_off;
    r->payload_len = original->payload_len;
    r->arrived = original->arrived;
    r->rest_ms = original->rest_ms;
    r->expires = original->expires;
    r->rewrite = original->rewrite;
    r->came_from = original->came_from;
    r->avoid = original->avoid;
    assert(r->queue == NULL && r->fan == NULL);
    return r;
}

bool record_can_load(const struct record *r)
{
    return r->role != ROLE_WHOLE && !(r->role == ROLE_COPY && r->fan->original->role == ROLE_WHOLE);
}

void record_hold(struct agent *a, struct record *r, struct buf *b)
{
    assert(r->buf == NULL);
    r->buf = b;
    assert(b->refs > 0);
    a->counters.memory_bytes += b->cap;
    memory_rest(a, r);
}

void record_fit(struct agent *a, struct record *r)
{
    assert(r->buf != NULL && a->counters.memory_bytes >= r->buf->cap);
    if (r->buf->refs != 1 || r->buf->len > FIT_MAX || r->buf->cap <= r->buf->len + FIT_LEAST)
        return;
    a->counters.memory_bytes -= r->buf->cap;
    r->buf = buf_fit(r->buf);
    a->counters.memory_bytes += r->buf->cap;
}

void record_release(struct agent *a, struct record *r)
{
    if (r->buf == NULL)
        return;
    assert(a->counters.memory_bytes >= r->buf->cap);
    memory_wake(a, r);
    a->counters.memory_bytes -= r->buf->cap;
    buf_drop(r->buf);
    r->buf = NULL;
}

void record_load_done(struct agent *a, struct record *r)
{
    assert(!r->loading || a->loading_bytes >= r->bytes);
    if (r->loading)
        a->loading_bytes -= r->bytes;
    r->loading = false;
}

void record_leave_storing(struct agent *a, struct record *r)
{
    assert(r->state == STATE_STORING && a->counters.storing > 0);
    assert(a->counters.storing_bytes >= record_cost(r));
    storing_leave(a, r);
    a->counters.storing--;
    a->counters.storing_bytes -= record_cost(r);
    bound_arrive(a, r);
}

static void leave_lists(struct agent *a, struct record *r)
{
    if (r->state == STATE_REASSEMBLY_PENDING && r->assembly->whole == NULL)
        r->assembly->stale = true;
    if (r->state == STATE_STORING)
        record_leave_storing(a, r);
    else if (state_is_queued(r->state))
        queue_leave(a, r);
    else
        list_sub(&r->node);
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
    assert(r->origin == BUNDLE_FROM_LINK && r->role == ROLE_BUNDLE);
    uint64_t until_ms = record_until_ms(a, r);
    if (until_ms <= agent_life(a))
        return;
    agent_remember(a, record_mark(r), until_ms);
}

/* Out of all lists and tables, and without bytes. */
static void detach_record(struct agent *a, struct record *r)
{
    const bool stored = record_stored(r);
    const bool taken_back = r->state == STATE_RECALLED && r->link == TO_ENDPOINT;
    assert(state_is_live(r->state));
    room_leave(r);
    kind_leave(a, r);
    leave_lists(a, r);
    r->state = stored ? STATE_ENDED : STATE_NOT_STORED;
    record_load_done(a, r);
    agenda_sub(&a->timers, &r->timer);
    hash_sub(&a->by_key, &r->by_key);
    if (r->role == ROLE_BUNDLE)
        hash_sub(&a->by_id, &r->by_id);
    record_release(a, r);
    declined_forget(a, r);
    if (taken_back) /* the application gets a RECALL; then a derived record is freed */
        list_add_tail(&a->recalls, &r->answer);
    assert(r->buf == NULL && !heap_has(&r->timer));
}

static void free_unless_recalled(struct record *r)
{
    if (list_empty(&r->answer))
        free(r);
}

static void end_copy(struct agent *a, struct record *r, enum agent_end why)
{
    const struct holder holder = r->holder;
    struct assembly *as = r->assembly; /* the assembly of a piece, or NULL */
    a->counters.fragments_going_on += as != NULL && why == END_DELIVERED;
    copies_sub(a, r, why);
    free_unless_recalled(r);
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
    const bool final = is_final(why) || r->once || fanned;
    if (record_stored(r) && r->origin == BUNDLE_FROM_LINK && r->role == ROLE_BUNDLE && final) {
        remember_id(a, r);
        return;
    }
    r->mark_len = 0;
    if (r->role == ROLE_BUNDLE && (why == END_FORWARDED || why == END_GIVEN_UP))
        returns_forwarded(&a->returns, r->by_id.hash);
}

static void end_bundle(struct agent *a, struct record *r, enum agent_end why, bool fanned)
{
    const struct holder holder = r->holder;
    struct assembly *as = r->assembly; /* a fragment of it, or NULL */
    record_uncount(a, r);
    quota_left(a, r, &holder);
    note_id(a, r, why, fanned);
    if (why == END_FORWARDED || why == END_DELIVERED)
        quota_prove(a, r);
    if (as != NULL)
        quota_sub(a, &holder, QUOTA_FRAGMENTS, 1);
    if (record_stored(r))
        list_add_tail(&a->removals, &r->node);
    else
        free_unless_recalled(r); /* or its refusal is to be answered */
    if (as != NULL)
        fragment_leave(a, as, why);
    quota_close(a, &holder);
}

void record_end(struct agent *a, struct record *r, enum agent_end why)
{
    if (record_stored(r) && r->role != ROLE_COPY)
        emit_end(a, r, why);
    detach_record(a, r);
    if (r->role == ROLE_COPY) {
        end_copy(a, r, why);
        return;
    }
    const bool fanned = r->fan != NULL;
    r->fan = NULL;
    if (r->role == ROLE_WHOLE) {
        struct assembly *as = r->assembly;
        free_unless_recalled(r);
        fragment_end_all(a, as, why);
        return;
    }
    end_bundle(a, r, why, fanned);
}

void record_set_timer(struct agent *a, struct record *r, tick due)
{
    /* Timers of one moment are served by priority. */
    const unsigned rank = BUNDLE_PRIORITIES - 1u - r->qos.priority;
    int rc = agenda_set(&a->timers, &r->timer, due, rank);
    assert(rc == 0); /* record_new reserved its place */
    (void)rc;
}
