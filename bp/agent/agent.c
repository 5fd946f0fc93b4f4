/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of the bundle agent: construction, outcomes of storing and loading, expiry, deletion.
 * An outcome for a bundle that has ended, or that was not requested, is ignored. After a failed
 * store the bundle is refused. A failed load is repeated; the bundle ends after LOAD_TRIES, or when
 * its bytes are damaged.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/admission/agent_permit.h"
#include "bp/agent/agent_impl.h"

const char *agent_refusal_text(enum agent_refusal r)
{
#define REFUSAL_TEXT(name, text) [REFUSE_##name] = text,
    static const char *const texts[REFUSE_COUNT] = {AGENT_REFUSALS(REFUSAL_TEXT)};
#undef REFUSAL_TEXT
    return (unsigned)r < REFUSE_COUNT ? texts[r] : "unknown";
}

const char *agent_refusal_word(enum agent_refusal r)
{
#define REFUSAL_WORD(name, text) [REFUSE_##name] = #name,
    static const char *const words[REFUSE_COUNT] = {AGENT_REFUSALS(REFUSAL_WORD)};
#undef REFUSAL_WORD
    return (unsigned)r < REFUSE_COUNT ? words[r] : "unknown";
}

const char *agent_end_text(enum agent_end e)
{
#define END_TEXT(name, text) [END_##name] = text,
    static const char *const texts[END_COUNT] = {AGENT_ENDS(END_TEXT)};
#undef END_TEXT
    return (unsigned)e < END_COUNT ? texts[e] : "unknown";
}

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value == 0 ? otherwise : value;
}

enum { SEEN_SHARE = 8, SEEN_LEAST = 1024 };

/* So that the memory of ids is within the memory of bundles, and only a part of it. */
static uint64_t seen_limit(const struct agent_config *c)
{
    const uint64_t max = or_default(c->seen_max, 1000000);
    const uint64_t memory = c->memory_only ? c->held_bytes : c->total_bytes;
    const uint64_t share = memory / SEEN_SHARE / SEEN_ID_BYTES;
    if (memory == 0 || share >= max)
        return max;
    return share >= SEEN_LEAST ? share : max < SEEN_LEAST ? max : SEEN_LEAST;
}

static void set_defaults(struct agent_config *c)
{
    c->default_lifetime_ms = or_default(c->default_lifetime_ms, UINT64_C(86400000));
    c->bundle_max = or_default(c->bundle_max, UINT64_C(1) << 30);
    c->extensions_max = or_default(c->extensions_max, UINT64_C(256) << 10);
    c->held_bundles = or_default(c->held_bundles, 1000000);
    c->held_bytes = or_default(c->held_bytes, UINT64_C(20) << 30);
    c->memory_bytes = or_default(c->memory_bytes, UINT64_C(256) << 20);
    if (c->total_bytes > 0 && !c->memory_only && c->memory_bytes > c->total_bytes / 4)
        c->memory_bytes = c->total_bytes / 4; /* the rest is for records */
    c->seen_max = seen_limit(c);
    c->returns_max = or_default(c->returns_max, 65536);
    c->reassemblies_max = or_default(c->reassemblies_max, 1024);
    c->fragments_max = or_default(c->fragments_max, 4096);
    c->fragments_all_max = or_default(c->fragments_all_max, 262144);
    c->reassembly_idle = or_default(c->reassembly_idle, 10 * TICK_S);
    c->lifetime_max_ms = or_default(c->lifetime_max_ms, UINT64_MAX);
    c->source_percent = or_default(c->source_percent, 100);
    c->endpoint_percent = or_default(c->endpoint_percent, 100);
    c->report_rate = or_default(c->report_rate, 100);
    c->place_slice = or_default(c->place_slice, PLACE_SLICE);
    c->retry_min = or_default(c->retry_min, TICK_S);
    c->retry_max = or_default(c->retry_max, 60 * TICK_S);
    if (c->retry_max < c->retry_min)
        c->retry_max = c->retry_min;
}

static int tables_init(struct agent *a, uint64_t seed)
{
    if (hash_init(&a->by_key, seed) < 0)
        return HELIO_ENOMEM;
    if (hash_init(&a->by_id, seed) < 0)
        goto by_key;
    if (hash_init(&a->endpoints, seed) < 0)
        goto by_id;
    if (hash_init(&a->registrations, seed) < 0)
        goto endpoints;
    if (hash_init(&a->reassemblies, seed) < 0)
        goto registrations;
    if (hash_init(&a->kinds, seed) < 0)
        goto reassemblies;
    if (hash_init(&a->targets, seed) < 0)
        goto kinds;
    if (hash_init(&a->declined, seed) < 0)
        goto targets;
    seen_init(&a->seen, seed, a->config.seen_max);
    if (returns_init(&a->returns, seed, a->config.returns_max) < 0)
        goto seen;
    if (hash_init(&a->turns, seed) < 0)
        goto returns;
    if (hash_init(&a->link_parties, seed) < 0)
        goto turns;
    if (quota_init(a) < 0)
        goto link_parties;
    return 0;
link_parties:
    hash_fini(&a->link_parties);
turns:
    hash_fini(&a->turns);
returns:
    returns_fini(&a->returns);
seen:
    seen_fini(&a->seen);
    hash_fini(&a->declined);
targets:
    hash_fini(&a->targets);
kinds:
    hash_fini(&a->kinds);
reassemblies:
    hash_fini(&a->reassemblies);
registrations:
    hash_fini(&a->registrations);
endpoints:
    hash_fini(&a->endpoints);
by_id:
    hash_fini(&a->by_id);
by_key:
    hash_fini(&a->by_key);
    return HELIO_ENOMEM;
}

int agent_new(struct agent **out, const struct agent_config *config)
{
    if (!eid_is_node(&config->node) || eid_is_none(&config->node) || eid_is_local(&config->node) ||
        config->crc > CRC_32C || config->reserve_percent > 100 || config->source_percent > 100 ||
        config->endpoint_percent > 100 || config->queue_percent > 100 || config->hop_limit > 255 ||
        config->report_rate > TICK_S)
        return HELIO_EINVAL;
    struct agent *a = calloc(1, sizeof *a);
    if (a == NULL)
        return HELIO_ENOMEM;
    a->config = *config;
    set_defaults(&a->config);
    a->held_most = a->config.held_bytes;
    a->primary_crc = config->crc == CRC_NONE ? CRC_32C : config->crc; /* §4.3.1 */
    if (tables_init(a, config->seed) < 0) {
        free(a);
        return HELIO_ENOMEM;
    }
    agenda_init(&a->timers);
    routes_init(&a->routes);
    a->router = routes_router(&a->routes);
    storing_init(&a->storing);
    memory_init(a);
    turns_init(&a->verifying);
    list_init(&a->answers);
    list_init(&a->recalls);
    list_init(&a->removals);
    list_init(&a->restored);
    list_init(&a->leaving);
    list_init(&a->resuming);
    list_init(&a->sending_waits);
    list_init(&a->room_waits);
    wastes_init(&a->wastes);
    list_init(&a->asking);
    heap_init(&a->moving);
    kinds_init(&a->unrouted_kinds);
    list_init(&a->ready);
    list_init(&a->spent);
    list_init(&a->gathering);
    a->next_key = 1;
    if (endpoint_open_admin(a) < 0) {
        agent_free(a);
        return HELIO_ENOMEM;
    }
    *out = a;
    return 0;
}

void agent_fits(struct agent *a, uint64_t held_bytes)
{
    const uint64_t limit = held_bytes < a->held_most ? held_bytes : a->held_most;
    assert(!a->config.memory_only);
    if (limit == a->config.held_bytes)
        return;
    a->config.held_bytes = limit;
    quota_share_out(a);
}

static void free_records(struct agent *a)
{
    /* Ended records that only wait for their answer are in no other list. */
    list_for_each_safe (it, &a->answers) {
        struct forwarding *f = container_of(it, struct forwarding, answer);
        if (f->state == STATE_NOT_STORED)
            forwarding_free(f);
    }
    list_for_each_safe (it, &a->recalls) {
        struct forwarding *f = container_of(it, struct forwarding, answer);
        if (f->state == STATE_ENDED && forwarding_derived(f))
            forwarding_free(f);
    }
    list_for_each_safe (it, &a->removals) {
        forwarding_free(container_of(it, struct forwarding, node));
    }
    struct hash_node *n = hash_walk(&a->by_key, NULL);
    while (n != NULL) {
        struct hash_node *next = hash_walk(&a->by_key, n);
        struct forwarding *f = container_of(n, struct forwarding, by_key);
        kind_leave(a, f);
        list_sub(&f->resting); /* the bundle of a copy may be freed */
        forwarding_release(a, f);
        if (!forwarding_is_copy(f))
            free(f->bundle->fan);
        forwarding_free(f);
        n = next;
    }
}

void agent_free(struct agent *a)
{
    if (a == NULL)
        return;
    free_records(a);
    endpoints_free(a);
    struct hash_node *n;
    while ((n = hash_walk(&a->reassemblies, NULL)) != NULL)
        fragment_free_reassembly(a, container_of(n, struct reassembly, by_id));
    links_fini(a);
    queue_free_spent(a);
    turns_free(a);
    parties_free(a);
    quota_fini(a);
    permits_fini(a);
    free(a->polled);
    free(a->notices);
    routes_fini(&a->routes);
    agenda_fini(&a->timers);
    returns_fini(&a->returns);
    seen_fini(&a->seen);
    heap_fini(&a->moving);
    hash_fini(&a->kinds);
    hash_fini(&a->targets);
    declined_fini(a);
    hash_fini(&a->reassemblies);
    hash_fini(&a->registrations);
    hash_fini(&a->endpoints);
    hash_fini(&a->by_id);
    hash_fini(&a->by_key);
    free(a);
}

void agent_begin(struct agent *a, struct agent_now now)
{
    a->now = now;
    queue_free_spent(a);
    if (!a->life_begun)
        agent_restore_clock(a, now.dtn_ms, now);
    if (a->anew)
        agent_place_anew(a);
    if (a->heads)
        agent_place_heads(a);
    if (a->place)
        agent_place_all(a);
}

/* §5.5: did this node's overriding lifetime expire, and not the bundle's own? */
static enum status_reason expiry_reason(const struct agent *a, const struct record *r)
{
    struct agent_head h;
    record_head(r, &h);
    assert(r->forwarding.doomed || r->expires <= a->now.now);
    bool overridden = h.expires_ms - h.arrived_ms == a->config.lifetime_max_ms;
    return overridden ? REASON_TRAFFIC_PARED : REASON_LIFETIME_EXPIRED;
}

static void expire_bundle(struct agent *a, struct forwarding *f)
{
    if (a->config.status_reports)
        agent_report(a, f, STATUS_DELETED, expiry_reason(a, f->bundle));
    forwarding_end(a, f, END_EXPIRED);
}

static void delete_bundle(struct agent *a, struct forwarding *f)
{
    agent_report(a, f, STATUS_DELETED, REASON_TRANSMISSION_CANCELLED);
    forwarding_end(a, f, END_DELETED);
}

bool agent_overdue(struct agent *a, struct forwarding *f)
{
    if (f->doomed)
        delete_bundle(a, f);
    else if (f->bundle->expires <= a->now.now)
        expire_bundle(a, f);
    else
        return false;
    return true;
}

void agent_stored(struct agent *a, uint64_t key, bool ok, struct agent_now now)
{
    agent_begin(a, now);
    struct forwarding *f = forwarding_find(a, key);
    if (f == NULL || f->state != STATE_STORING || !list_empty(&f->node))
        return;
    if (f->bundle->came_from.index != NO_LINK && link_of(a, &f->bundle->came_from) == NO_LINK)
        f->bundle->answer_refusal = NO_ANSWER; /* the link that brought it was removed */
    if (f->bundle->answer_refusal != NO_ANSWER) {
        f->bundle->answer_refusal = ok ? REFUSE_NONE : REFUSE_STORE;
        list_add_tail(&a->answers, &f->answer);
    }
    if (!ok) {
        emit_not_stored(a, f);
        forwarding_end(a, f, END_NOT_STORED);
        return;
    }
    if (f->sequence_end > a->sequence_noted)
        a->sequence_noted = f->sequence_end;
    f->sending = 0;
    emit_step(a, BUNDLE_STORED, f);
    agent_report(a, f, STATUS_RECEIVED, REASON_NONE);
    forwarding_leave_storing(a, f);
    f->state = STATE_DISPATCH_PENDING;
    if (!agent_overdue(a, f))
        agent_place(a, f);
}

static void give_up(struct agent *a, struct forwarding *f)
{
    agent_report(a, f, STATUS_DELETED, REASON_DEPLETED_STORAGE);
    forwarding_end(a, f, END_UNREADABLE);
}

enum loaded { LOADED_WELL, LOADED_WRONG, LOADED_NOT };

/* Are these the bytes that were stored? The decoding mode only applies to arriving bundles: an
 * accepted bundle stays accepted when the configuration becomes stricter. */
static enum loaded read_loaded(struct record *r, struct buf *whole)
{
    struct bundle b;
    if (whole == NULL)
        return LOADED_NOT;
    if (whole->len != r->bytes)
        return LOADED_WRONG;
    const int rc = bundle_decode(buf_data(whole), whole->len, BUNDLE_LENIENT, &b, NULL);
    if (rc < 0)
        return rc == HELIO_ENOMEM ? LOADED_NOT : LOADED_WRONG;
    struct agent_head h;
    record_head(r, &h);
    if (!bundle_id_equal(&b.id, &h.id) || !eid_equal(&b.destination, &h.destination) ||
        b.payload.len != h.payload_len)
        return LOADED_WRONG;
    r->payload_off = (size_t)(b.payload.data - buf_data(whole));
    r->payload_len = b.payload.len;
    return LOADED_WELL;
}

void agent_loaded(struct agent *a, uint64_t key, struct buf *bundle, struct agent_now now)
{
    agent_begin(a, now);
    struct forwarding *f = forwarding_find(a, key);
    if (f == NULL || !f->loading) {
        buf_drop(bundle);
        return;
    }
    forwarding_load_done(a, f);
    const enum loaded how = read_loaded(f->bundle, bundle);
    if (f->bundle->fan != NULL) {
        if (how != LOADED_WELL)
            emit_step(a, BUNDLE_UNREAD, f);
        copies_loaded(a, f->bundle, how == LOADED_WELL ? bundle : NULL, how == LOADED_WRONG);
        buf_drop(bundle);
        return;
    }
    /* A fragment is loaded for its whole, which cannot do without it. */
    struct forwarding *queued = f->reassembly == NULL ? f : f->reassembly->whole;
    if (how == LOADED_WELL) {
        f->bundle->load_failures = 0;
        forwarding_hold(a, f, bundle);
        queue_wake(a, queued->queue);
        return;
    }
    emit_step(a, BUNDLE_UNREAD, f);
    if (how == LOADED_WRONG || ++f->bundle->load_failures == LOAD_TRIES)
        give_up(a, queued);
    else
        queue_retry(a, queued);
    buf_drop(bundle);
}

int agent_find(const struct agent *a, const struct bundle_id *id, uint64_t *key)
{
    uint8_t bytes[AGENT_ID_MAX];
    assert(!id->fragment);
    const struct slice s = slice_of(bytes, agent_id_encode(id, 0, bytes));
    struct record *r = record_by_id(a, s, agent_id_hash(a->config.seed, s));
    if (r == NULL)
        return HELIO_ENOENT;
    *key = r->forwarding.key;
    return 0;
}

/* The same, also of one that is given away: an application's is taken back, a link is asked to end
 * it, and the bundle ends with the link's answer. */
static bool end_due(struct agent *a, struct forwarding *f)
{
    bool over = f->doomed || f->bundle->expires <= a->now.now;
    if (!over || !state_is_given(f->state)) /* nor is one that waits for agent_verify */
        return agent_overdue(a, f);
    if (f->link == TO_ENDPOINT) {
        endpoint_take_back(f);
        return agent_overdue(a, f);
    }
    agenda_sub(&a->timers, &f->timer);
    if (f->state == STATE_BUSY) {
        assert(list_empty(&f->answer));
        f->state = STATE_RECALLED;
        list_add_tail(&a->recalls, &f->answer);
    }
    return true;
}

static void doom_copy(struct agent *a, struct forwarding *c)
{
    if (c->state == STATE_REASSEMBLY_PENDING && c->reassembly->whole != NULL)
        c = c->reassembly->whole;
    c->doomed = true;
    if (c->state == STATE_COPIED)
        copies_each(a, c->bundle, doom_copy);
    else
        end_due(a, c);
}

int agent_delete(struct agent *a, uint64_t key, struct agent_now now)
{
    agent_begin(a, now);
    struct forwarding *f = forwarding_find(a, key);
    if (f == NULL)
        return HELIO_ENOENT;
    if (f->state == STATE_REASSEMBLY_PENDING && f->reassembly->whole != NULL)
        f = f->reassembly->whole;
    /* What the binder has in hand ends with its outcome. */
    f->doomed = true;
    if (f->state == STATE_COPIED)
        copies_each(a, f->bundle, doom_copy);
    else if (f->state != STATE_STORING)
        end_due(a, f);
    return 0;
}

#define EXPIRE_SLICE                                                                               \
    128 /* bundles that end in one call: an application may let many end at once                   \
         */

void agent_expire(struct agent *a, struct agent_now now)
{
    agent_begin(a, now);
    const struct router_ops *ops = a->router.ops;
    if (ops->deadline != NULL && ops->deadline(a->router.state) <= now.now &&
        ops->expire(a->router.state, now.now))
        agent_place_touched(a);
    else
        agent_place_slice(a);
    uint64_t n = EXPIRE_SLICE; /* of many bundles that expire at once, the rest follows later */
    n = n < a->config.place_slice ? n : a->config.place_slice;
    const uint64_t from = ask_work(a);
    waste_expire(a);
    for (; n > 0 && agenda_due(&a->timers) <= now.now && agenda_len(&a->timers) > 0; n--) {
        if (ask_work(a) - from >= ASK_WORK_MAX)
            break;
        struct forwarding *f = container_of(agenda_first(&a->timers), struct forwarding, timer);
        if (end_due(a, f))
            continue;
        if (f->state == STATE_PAUSED && f->link != TO_ENDPOINT) {
            agent_retry(a, f);
        } else if (f->state == STATE_PAUSED) {
            queue_return(a, f);
        } else {
            assert(f->state == STATE_NO_ROUTE);
            kind_retry(a, f);
            agent_place(a, f);
        }
    }
}

tick agent_deadline(const struct agent *a)
{
    const struct router_ops *ops = a->router.ops;
    if (a->place || a->anew || a->heads || agent_places(a))
        return 0;
    tick due = ops->deadline == NULL ? TICK_NEVER : ops->deadline(a->router.state);
    if (kinds_due(a))
        due = tick_min(due, a->ask_from);
    return tick_min(tick_min(due, waste_due(a)), agenda_due(&a->timers));
}

const struct agent_counters *agent_counters(const struct agent *a)
{
    return &a->counters;
}

uint64_t agent_memory_used(const struct agent *a)
{
    return record_memory_used(a);
}

uint64_t agent_memory_max(const struct agent *a)
{
    return record_memory_max(a);
}

const struct agent_unrouted *agent_unrouted(const struct agent *a)
{
    return &a->unrouted;
}

const struct agent_stale *agent_stale(const struct agent *a)
{
    return &a->stale;
}
