/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of the agent, and its bundles as an operator sees them. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

#include "bp/agent/agent_impl.h"

struct sums {
    uint64_t bundles, bytes, memory, records, storing, storing_bytes, loading, timed, ids;
    uint64_t fragments, reassemblies, copies, sorted, given, waiting, verifying, resting, sending;
};

static void check_piece(const struct forwarding *f)
{
    assert(f->reassembly->fragments > 0);
    if (f->state != STATE_REASSEMBLY_PENDING)
        return;
    assert(heap_has(&f->timer) == (f->reassembly->whole == NULL));
    if (f->reassembly->state != REASSEMBLY_GATHERING)
        return;
    struct agent_head h;
    record_head(f->bundle, &h);
    assert(ranges_has(&f->reassembly->have, h.id.offset, h.id.offset + h.payload_len));
}

/* What holds in each state, of a forwarding to a link, and of one to here. */
enum holding { NEVER, ALWAYS, EITHER };

struct state_rules {
    enum retention link, here;
    const char *at_link; /* as an operator sees it */
    const char *at_here;
    enum holding stored;
    enum holding copy;    /* it is one of several of its bundle */
    enum holding whole;   /* it is that of a joined bundle */
    enum holding queued;  /* in a queue */
    enum holding band;    /* in a band of it */
    enum holding kind;    /* in a kind: for a link or without a route, and no copy */
    enum holding timer;   /* its expiry or the end of a pause is in the agenda */
    enum holding claims;  /* it may be dropped for another one */
    enum holding loading; /* its bytes may be asked for */
    enum holding fan;     /* it has copies */
    enum holding taker;   /* an application has it; not the administrative endpoint's */
};

/* What is not named does not hold. */
static const struct state_rules legal_states[STATE_COUNT] = {
    [STATE_STORING] = {RETAIN_DISPATCH_PENDING, RETAIN_DISPATCH_PENDING, "storing", "storing",
                       .stored = NEVER},
    [STATE_DISPATCH_PENDING] = {RETAIN_DISPATCH_PENDING, RETAIN_DISPATCH_PENDING, "no route",
                                "no route", .stored = ALWAYS},
    [STATE_NO_ROUTE] = {RETAIN_FORWARD_PENDING, RETAIN_DISPATCH_PENDING, "no route", "no route",
                        .stored = ALWAYS, .whole = EITHER, .kind = ALWAYS, .timer = ALWAYS,
                        .claims = EITHER},
    [STATE_REASSEMBLY_PENDING] = {RETAIN_NONE, RETAIN_REASSEMBLY_PENDING, NULL, "fragment",
                                  .stored = ALWAYS, .copy = EITHER, .timer = EITHER,
                                  .loading = EITHER},
    [STATE_COPIED] = {RETAIN_FORWARD_PENDING, RETAIN_DISPATCH_PENDING, "several routes",
                      "several routes", .stored = ALWAYS, .whole = EITHER, .loading = EITHER,
                      .fan = ALWAYS},
    [STATE_FRONT] = {RETAIN_FORWARD_PENDING, RETAIN_DISPATCH_PENDING, "waiting", "waiting",
                     .stored = ALWAYS, .copy = EITHER, .whole = EITHER, .queued = ALWAYS,
                     .band = ALWAYS, .timer = ALWAYS, .claims = EITHER, .loading = EITHER},
    [STATE_BACK] = {RETAIN_FORWARD_PENDING, RETAIN_DISPATCH_PENDING, "waiting", "waiting",
                    .stored = ALWAYS, .copy = EITHER, .whole = EITHER, .queued = ALWAYS,
                    .band = ALWAYS, .kind = ALWAYS, .timer = ALWAYS, .claims = EITHER},
    [STATE_PAUSED] = {RETAIN_FORWARD_PENDING, RETAIN_DISPATCH_PENDING, "paused", "paused",
                      .stored = ALWAYS, .copy = EITHER, .whole = EITHER, .queued = ALWAYS,
                      .kind = ALWAYS, .timer = ALWAYS, .claims = EITHER},
    [STATE_VERIFYING] = {RETAIN_NONE, RETAIN_DISPATCH_PENDING, NULL, "waiting", .stored = ALWAYS,
                         .whole = ALWAYS, .queued = ALWAYS, .timer = ALWAYS},
    [STATE_BUSY] = {RETAIN_FORWARD_PENDING, RETAIN_DISPATCH_PENDING, "sending", "delivering",
                    .stored = ALWAYS, .copy = EITHER, .whole = EITHER, .queued = ALWAYS,
                    .timer = ALWAYS, .taker = ALWAYS},
    /* An application's ends in the same call. */
    [STATE_RECALLED] = {RETAIN_FORWARD_PENDING, RETAIN_NONE, "sending", NULL, .stored = ALWAYS,
                        .copy = EITHER, .queued = ALWAYS},
};

static bool holds(enum holding rule, bool is)
{
    return rule == EITHER || is == (rule == ALWAYS);
}

static enum retention retention_of(const struct forwarding *f)
{
    const struct state_rules *s = &legal_states[f->state];
    return f->link == TO_ENDPOINT ? s->here : s->link;
}

/* A bundle whose state contradicts its lists would be lost or sent twice. */
static void check_state(const struct agent *a, const struct forwarding *f)
{
    assert(state_is_live(f->state));
    const struct state_rules *s = &legal_states[f->state];
    const bool here = f->queue != NULL && f->link == TO_ENDPOINT;
    const bool copy = forwarding_is_copy(f);
    assert(f->state == STATE_STORING || f->state == STATE_COPIED || retention_of(f) != RETAIN_NONE);
    assert(holds(s->stored, forwarding_stored(f)));
    assert(holds(s->copy, copy) && holds(s->whole, forwarding_is_whole(f)));
    assert(holds(s->queued, f->queue != NULL) && state_is_queued(f->state) == (f->queue != NULL));
    assert(holds(s->band, f->band != NULL));
    assert(holds(here || copy ? NEVER : s->kind, f->kind != NULL));
    assert((f->kind == NULL && !copy) == list_empty(&f->alike));
    assert(holds(s->timer, heap_has(&f->timer)));
    assert(holds(s->claims, heap_has(&f->bundle->claims[0]) || heap_has(&f->bundle->claims[1]) ||
                                heap_has(&f->bundle->claims[2])));
    assert(holds(s->loading, f->loading));
    assert(holds(copy ? ALWAYS : s->fan, f->bundle->fan != NULL));
    assert(holds(here && f->queue != &a->admin->queue ? s->taker : NEVER, f->taker != NULL));
    assert(holds(f->state == STATE_REASSEMBLY_PENDING ? ALWAYS : EITHER, f->reassembly != NULL));
}

/* It is in memory, with the first of its pieces known. */
static void check_verifying(const struct forwarding *f)
{
    const struct reassembly *as = f->reassembly;
    assert(forwarding_is_whole(f) && f->buf != NULL && f->turn != NULL && f->queue->verifying > 0);
    assert(as->first != NULL && as->first->reassembly == as && as->state == REASSEMBLY_WHOLE);
}

static void check_forwarding(const struct agent *a, const struct forwarding *f, struct sums *s)
{
    check_state(a, f);
    assert(f->bundle->head_len > f->bundle->id_off && forwarding_find(a, f->key) == f &&
           f->key < a->next_key);
    assert(f->buf != NULL || forwarding_stored(f));
    assert(!f->loading || f->buf == NULL);
    if (f->state == STATE_COPIED)
        copies_check(f->bundle);
    s->sorted += f->kind != NULL;
    s->resting += list_empty(&f->resting) ? 0 : f->bundle->bytes;
    memory_check_one(f);
    assert(f->priority < BUNDLE_PRIORITIES && f->bundle->qos.priority < BUNDLE_PRIORITIES);
    assert(f->booking == 0 || (f->queue != NULL && f->link >= 0 && a->router.ops->note != NULL));
    assert(!forwarding_is_whole(f) || (f->reassembly->whole == f && !f->loading));
    if (f->reassembly != NULL && !forwarding_is_whole(f))
        check_piece(f);
    const bool derived = forwarding_derived(f);
    s->bundles += !derived;
    s->copies += forwarding_is_copy(f);
    s->bytes += derived ? 0 : f->bundle->bytes;
    s->fragments += f->reassembly != NULL && !forwarding_is_whole(f);
    s->memory += f->buf == NULL ? 0 : f->buf->cap;
    s->sending += forwarding_stored(f) ? f->sending : 0;
    assert(!forwarding_stored(f) || f->sending == 0 || state_is_given(f->state));
    s->storing += f->state == STATE_STORING;
    s->waiting += f->state == STATE_STORING && f->turn != NULL;
    s->given += f->state == STATE_STORING && f->turn == NULL ? storing_cost(f->bundle) : 0;
    s->storing_bytes += f->state == STATE_STORING ? record_cost(f->bundle) : 0;
    s->records += derived ? 0 : record_cost(f->bundle) - f->bundle->bytes;
    s->loading += f->loading ? f->bundle->bytes : 0;
    s->timed += heap_has(&f->timer);
    s->verifying += f->state == STATE_VERIFYING;
    if (f->state == STATE_VERIFYING)
        check_verifying(f);
    s->ids += !forwarding_is_copy(f) && record_has_id(f->bundle);
}

static uint64_t count_given(const struct registration *g, const struct queue *q)
{
    uint64_t given = 0;
    list_for_each (it, &q->busy)
        given += container_of(it, struct forwarding, node)->taker == g;
    return given;
}

static void check_registrations(const struct agent *a, const struct endpoint *e)
{
    uint64_t window = 0, owed = 0;
    list_for_each (it, &e->regs) {
        const struct registration *g = container_of(it, struct registration, node);
        const bool own = e->sharing == AGENT_SHARE_ALL;
        const struct queue *q = own ? &g->queue : &e->queue;
        assert(g->endpoint == e && g->window > 0 && g->given + g->owed <= g->window);
        assert(g->given == count_given(g, q));
        if (own) {
            queue_check(a, &g->queue);
            assert(g->queue.only == g && g->queue.open && g->queue.owed == g->owed);
        }
        window += g->window;
        owed += g->owed;
    }
    assert(list_empty(&e->regs) == (e == a->admin || !e->queue.open));
    if (!list_empty(&e->regs) && e->sharing != AGENT_SHARE_ALL)
        assert(e->queue.window == window && e->queue.owed == owed);
}

/* Of a closed one few bundles are next, of each priority. */
static void check_link_queue(const struct agent *a, const struct queue *q)
{
    queue_check(a, q);
    if (q->open)
        return;
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        assert(q->bands.of[p].front_len <= PREFETCH);
}

static void check_queues(const struct agent *a)
{
    for (uint32_t i = 0; i < a->links_cap; i++) {
        if (a->links[i] != NULL)
            check_link_queue(a, &a->links[i]->queue);
    }
    links_check(a);
    struct hash_node *n = hash_walk(&a->endpoints, NULL);
    for (; n != NULL; n = hash_walk(&a->endpoints, n)) {
        const struct endpoint *e = container_of(n, struct endpoint, by_eid);
        queue_check(a, &e->queue);
        check_registrations(a, e);
        assert(e->queue.open || !queue_empty(&e->queue));
    }
}

static uint64_t check_reassembly(const struct reassembly *as)
{
    uint64_t pieces = 0;
    list_for_each (it, &as->pieces) {
        const struct forwarding *p = container_of(it, struct forwarding, node);
        assert(p->state == STATE_REASSEMBLY_PENDING && p->reassembly == as);
        pieces++;
    }
    const bool whole = as->state == REASSEMBLY_WHOLE || as->state == REASSEMBLY_VERIFIED;
    assert(whole == (as->whole != NULL) && list_empty(&as->order) == whole);
    assert(as->state != REASSEMBLY_OVER || list_empty(&as->pieces));
    assert(pieces <= as->fragments && as->fragments > 0);
    assert(as->whole != NULL || as->joined == NULL);
    assert(as->whole == NULL || pieces > 0);
    assert(as->whole != NULL || as->state == REASSEMBLY_STALE ||
           !ranges_has(&as->have, 0, as->total));
    ranges_check(&as->have);
    return as->fragments;
}

static void check_reassemblies(const struct agent *a, struct sums *s)
{
    uint64_t fragments = 0;
    struct hash_node *n = hash_walk(&a->reassemblies, NULL);
    for (; n != NULL; n = hash_walk(&a->reassemblies, n)) {
        const struct reassembly *as = container_of(n, struct reassembly, by_id);
        fragments += check_reassembly(as);
        s->reassemblies += as->state != REASSEMBLY_OVER;
        s->memory += as->joined == NULL ? 0 : as->joined->cap;
    }
    assert(fragments == s->fragments);
}

static uint64_t sum_of(const uint64_t *v, size_t len)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < len; i++)
        sum += v[i];
    return sum;
}

/* Every bundle that entered is here or has a counted end: see struct agent_counters. */
static void check_balance(const struct agent_counters *c)
{
    uint64_t accepted = c->accepted_local + c->received;
    assert(c->offered == c->consumed + sum_of(c->refused, REFUSE_COUNT) + c->storing + accepted);
    assert(accepted + c->restored == c->bundles - c->storing + sum_of(c->ended, END_COUNT));
    assert(c->fragments_in == c->fragments + sum_of(c->fragments_ended, END_COUNT));
    assert(c->reassemblies_begun == c->reassemblies + sum_of(c->reassemblies_ended, END_COUNT));
    assert(c->delivered == c->ended[END_DELIVERED] - c->fragments_ended[END_DELIVERED] +
                               c->fragments_going_on + c->reassemblies_ended[END_DELIVERED]);
}

void agent_check(const struct agent *a)
{
    struct sums s = {0};
    struct hash_node *n = hash_walk(&a->by_key, NULL);
    for (; n != NULL; n = hash_walk(&a->by_key, n))
        check_forwarding(a, container_of(n, struct forwarding, by_key), &s);
    check_reassemblies(a, &s);
    const struct agent_counters *c = &a->counters;
    assert(s.bundles == c->bundles && s.bytes == c->bytes && s.memory == c->memory_bytes);
    assert(s.sending == c->sending_bytes);
    assert(s.records == c->record_bytes && s.copies == a->copies);
    assert(s.storing == c->storing && s.storing_bytes == c->storing_bytes);
    storing_check(a, s.given, s.waiting);
    assert(s.loading == a->loading_bytes);
    memory_check(a, s.resting);
    assert(s.fragments == c->fragments && s.reassemblies == c->reassemblies);
    turns_check(a, &a->verifying);
    assert(s.verifying == a->verifying.waiting);
    assert(s.timed == agenda_len(&a->timers) && s.ids == a->by_id.len);
    agenda_check(&a->timers);
    check_balance(c);
    check_queues(a);
    assert(kinds_check(a) == s.sorted);
    seen_check(&a->seen);
    assert(c->seen_bytes == seen_bytes(&a->seen) && c->displaced == a->seen.displaced);
    waste_check(a);
    returns_check(&a->returns);
    quota_check(a);
    bound_check(a);
}

const char *const agent_states[] = {"storing",        "waiting",  "sending",    "delivering",
                                    "paused",         "no route", "no contact", "fragment",
                                    "several routes", NULL};

static const char *state_text(const struct forwarding *f)
{
    if (f->state == STATE_REASSEMBLY_PENDING && f->reassembly->whole != NULL)
        f = f->reassembly->whole;
    const struct state_rules *s = &legal_states[f->state];
    if (f->state == STATE_NO_ROUTE && f->link == NO_CONTACT)
        return "no contact";
    return f->link == TO_ENDPOINT || s->at_link == NULL ? s->at_here : s->at_link;
}

/* For people, in the time of the wall clock. */
static uint64_t end_by_clock(const struct agent *a, const struct record *r)
{
    uint64_t until = record_until_ms(a, r), life = agent_life(a);
    return until == UINT64_MAX || until < life ? until : a->now.dtn_ms + (until - life);
}

/* False: it is a part of a bundle that is shown. */
static bool describe_bundle(const struct agent *a, const struct forwarding *f,
                            struct agent_bundle_info *out)
{
    struct agent_head h;
    if (forwarding_derived(f))
        return false;
    const bool restored = f->state == STATE_DISPATCH_PENDING; /* it has met no clock yet */
    record_head(f->bundle, &h);
    *out = (struct agent_bundle_info){
        .key = f->key,
        .id = h.id,
        .destination = h.destination,
        .bytes = f->bundle->bytes,
        .age_ms = restored ? 0 : f->bundle->rest_ms + (a->now.now - f->bundle->arrived) / TICK_MS,
        .expires_ms = restored ? h.expires_ms : end_by_clock(a, f->bundle),
        .state = state_text(f),
        .link = forwarding_link(f),
        .priority = f->bundle->qos.priority,
        .ordinal = f->bundle->qos.ordinal,
    };
    return true;
}

size_t agent_bundles(const struct agent *a, struct agent_bundle_info *out, size_t max)
{
    size_t len = 0;
    struct hash_node *n = hash_walk(&a->by_key, NULL);
    for (; n != NULL && len < max; n = hash_walk(&a->by_key, n)) {
        const struct forwarding *f = container_of(n, struct forwarding, by_key);
        len += describe_bundle(a, f, &out[len]);
    }
    return len;
}

uint64_t agent_bundles_scan(const struct agent *a, uint64_t cursor,
                            void (*see)(void *context, const struct agent_bundle_info *b),
                            void *context)
{
    struct hash_node *n;
    struct agent_bundle_info b;
    const uint64_t next = hash_scan(&a->by_key, cursor, &n);
    for (; n != NULL; n = n->next)
        if (describe_bundle(a, container_of(n, struct forwarding, by_key), &b))
            see(context, &b);
    return next;
}

bool agent_bundle_find(const struct agent *a, uint64_t key, struct agent_bundle_info *out)
{
    const struct forwarding *f = forwarding_find(a, key);
    return f != NULL && describe_bundle(a, f, out);
}
