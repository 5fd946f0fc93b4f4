/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of the agent, and its bundles as an operator sees them. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

#include "bp/agent/agent_impl.h"

struct sums {
    uint64_t bundles, bytes, memory, records, storing, storing_bytes, loading, timed, ids;
    uint64_t fragments, assemblies, copies, sorted, given, waiting;
};

static void check_piece(const struct record *r)
{
    assert(r->assembly->fragments > 0);
    if (r->state != STATE_PIECE)
        return;
    assert(heap_has(&r->timer) == (r->assembly->whole == NULL));
    if (r->assembly->stale || r->assembly->whole != NULL)
        return;
    struct agent_head h;
    record_head(r, &h);
    assert(ranges_has(&r->assembly->have, h.id.offset, h.id.offset + h.payload_len));
}

static void check_record(const struct agent *a, const struct record *r, struct sums *s)
{
    assert(r->state != STATE_GONE && r->head_len > r->id_off);
    assert(record_find(a, r->key) == r && r->key < a->next_key);
    assert(r->stored == (r->state != STATE_NEW));
    assert(r->buf != NULL || r->stored);
    assert(!r->loading || (r->buf == NULL && (r->state == STATE_FRONT || r->state == STATE_PIECE ||
                                              r->state == STATE_COPIED)));
    assert((r->fan != NULL) == (r->copy || r->state == STATE_COPIED));
    assert((r->taker != NULL) ==
           (r->state == STATE_BUSY && r->link == TO_ENDPOINT && r->queue != &a->admin->queue));
    if (r->state == STATE_COPIED)
        copies_check(r);
    assert((r->queue != NULL) == (r->state >= STATE_FRONT));
    assert((r->band != NULL) == (r->state == STATE_FRONT || r->state == STATE_BACK));
    const bool in_link = r->queue != NULL && r->link != TO_ENDPOINT;
    const bool sorted = (r->state == STATE_UNPLACED && !r->restored) ||
                        (in_link && (r->state == STATE_BACK || r->state == STATE_PAUSED));
    assert((r->kind != NULL) == (sorted && !r->copy) && (r->kind == NULL) == list_empty(&r->alike));
    s->sorted += r->kind != NULL;
    assert(r->priority < BUNDLE_PRIORITIES && r->qos.priority < BUNDLE_PRIORITIES);
    assert(r->state != STATE_BUSY || heap_has(&r->timer) == !r->recalled);
    assert(!r->recalled || (r->state == STATE_BUSY && r->link != TO_ENDPOINT));
    assert(!r->taken_back);
    assert(!(heap_has(&r->claims[0]) || heap_has(&r->claims[1])) || r->state == STATE_UNPLACED ||
           r->band != NULL || r->state == STATE_PAUSED);
    assert(r->booking == 0 || (r->queue != NULL && r->link >= 0 && a->router.ops->note != NULL));
    assert(r->state != STATE_PIECE || r->assembly != NULL);
    assert(!r->whole || (r->assembly->whole == r && !r->loading));
    if (r->assembly != NULL && !r->whole)
        check_piece(r);
    const bool derived = r->whole || r->copy; /* the store does not know it */
    s->bundles += !derived;
    s->copies += r->copy;
    s->bytes += derived ? 0 : r->bytes;
    s->fragments += r->assembly != NULL && !r->whole;
    s->memory += r->buf == NULL ? 0 : r->buf->cap;
    s->storing += r->state == STATE_NEW;
    s->waiting += r->state == STATE_NEW && r->turn != NULL;
    s->given += r->state == STATE_NEW && r->turn == NULL ? storing_cost(r) : 0;
    s->storing_bytes += r->state == STATE_NEW ? record_cost(r) : 0;
    s->records += derived ? 0 : record_cost(r) - r->bytes;
    s->loading += r->loading ? r->bytes : 0;
    s->timed += heap_has(&r->timer);
    s->ids += r->id_listed;
}

static uint64_t count_given(const struct registration *g, const struct queue *q)
{
    uint64_t given = 0;
    list_for_each (it, &q->busy)
        given += container_of(it, struct record, node)->taker == g;
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
            queue_check(&g->queue);
            assert(g->queue.only == g && g->queue.open && g->queue.owed == g->owed);
        }
        window += g->window;
        owed += g->owed;
    }
    assert(list_empty(&e->regs) == (e == a->admin || !e->queue.open));
    if (!list_empty(&e->regs) && e->sharing != AGENT_SHARE_ALL)
        assert(e->queue.window == window && e->queue.owed == owed);
}

static void check_queues(const struct agent *a)
{
    for (uint32_t i = 0; i < a->links_cap; i++) {
        if (a->links[i] != NULL)
            queue_check(&a->links[i]->queue);
    }
    links_check(a);
    struct hash_node *n = hash_walk(&a->endpoints, NULL);
    for (; n != NULL; n = hash_walk(&a->endpoints, n)) {
        const struct endpoint *e = container_of(n, struct endpoint, by_eid);
        queue_check(&e->queue);
        check_registrations(a, e);
        assert(e->queue.open || !queue_empty(&e->queue));
    }
}

static uint64_t check_assembly(const struct assembly *as)
{
    uint64_t pieces = 0;
    list_for_each (it, &as->pieces) {
        const struct record *p = container_of(it, struct record, node);
        assert(p->state == STATE_PIECE && p->assembly == as);
        pieces++;
    }
    assert(list_empty(&as->order) == (as->whole != NULL));
    assert(pieces <= as->fragments && as->fragments > 0);
    assert(as->whole != NULL || as->joined == NULL);
    assert(as->whole == NULL || pieces > 0);
    assert(as->whole != NULL || as->stale || !ranges_has(&as->have, 0, as->total));
    ranges_check(&as->have);
    return as->fragments;
}

static void check_assemblies(const struct agent *a, struct sums *s)
{
    uint64_t fragments = 0;
    struct hash_node *n = hash_walk(&a->assemblies, NULL);
    for (; n != NULL; n = hash_walk(&a->assemblies, n)) {
        const struct assembly *as = container_of(n, struct assembly, by_id);
        fragments += check_assembly(as);
        s->assemblies += !as->over;
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

/* What came in is here or left for a reason: see struct agent_counters. */
static void check_balance(const struct agent_counters *c)
{
    uint64_t accepted = c->accepted_local + c->received;
    assert(c->offered == c->consumed + sum_of(c->refused, REFUSE_COUNT) + c->storing + accepted);
    assert(accepted + c->restored == c->bundles - c->storing + sum_of(c->ended, END_COUNT));
    assert(c->fragments_in == c->fragments + sum_of(c->fragments_ended, END_COUNT));
    assert(c->assemblies_begun == c->assemblies + sum_of(c->assemblies_ended, END_COUNT));
    assert(c->delivered == c->ended[END_DELIVERED] - c->fragments_ended[END_DELIVERED] +
                               c->fragments_going_on + c->assemblies_ended[END_DELIVERED]);
}

void agent_check(const struct agent *a)
{
    struct sums s = {0};
    struct hash_node *n = hash_walk(&a->by_key, NULL);
    for (; n != NULL; n = hash_walk(&a->by_key, n))
        check_record(a, container_of(n, struct record, by_key), &s);
    check_assemblies(a, &s);
    const struct agent_counters *c = &a->counters;
    assert(s.bundles == c->bundles && s.bytes == c->bytes && s.memory == c->memory_bytes);
    assert(s.records == c->record_bytes && s.copies == a->copies);
    assert(s.storing == c->storing && s.storing_bytes == c->storing_bytes);
    storing_check(a, s.given, s.waiting);
    assert(s.loading == a->loading_bytes);
    assert(s.fragments == c->fragments && s.assemblies == c->assemblies);
    assert(s.timed == agenda_len(&a->timers) && s.ids == a->by_id.len);
    agenda_check(&a->timers);
    check_balance(c);
    check_queues(a);
    assert(kinds_check(a) == s.sorted);
    seen_check(&a->seen);
    assert(c->seen_bytes == seen_bytes(&a->seen) && c->displaced == a->seen.displaced);
    returns_check(&a->returns);
    quota_check(a);
    bound_check(a);
}

enum { STORING, WAITING, SENDING, DELIVERING, PAUSED, NO_ROUTE, FRAGMENT, SEVERAL_WAYS, STATES };

const char *const agent_states[] = {
    [STORING] = "storing",   [WAITING] = "waiting",
    [SENDING] = "sending",   [DELIVERING] = "delivering",
    [PAUSED] = "paused",     [NO_ROUTE] = "no route",
    [FRAGMENT] = "fragment", [SEVERAL_WAYS] = "several ways",
    [STATES] = NULL,
};

static const char *state_text(const struct record *r)
{
    if (r->state == STATE_PIECE && r->assembly->whole != NULL)
        r = r->assembly->whole;
    switch (r->state) {
    case STATE_NEW:
        return agent_states[STORING];
    case STATE_UNPLACED:
        return agent_states[NO_ROUTE];
    case STATE_PIECE:
        return agent_states[FRAGMENT];
    case STATE_COPIED:
        return agent_states[SEVERAL_WAYS];
    case STATE_BUSY:
        return agent_states[r->link == TO_ENDPOINT ? DELIVERING : SENDING];
    case STATE_PAUSED:
        return agent_states[PAUSED];
    case STATE_FRONT:
    case STATE_BACK:
    case STATE_GONE:
        break;
    }
    return agent_states[WAITING];
}

/* For a person, who reads the wall clock. */
static uint64_t end_by_clock(const struct agent *a, const struct record *r)
{
    uint64_t until = record_until_ms(a, r), life = agent_life(a);
    return until == UINT64_MAX || until < life ? until : a->now.dtn_ms + (until - life);
}

/* False: it is a part of a bundle that is shown. */
static bool describe_bundle(const struct agent *a, const struct record *r,
                            struct agent_bundle_info *out)
{
    struct agent_head h;
    if (r->whole || r->copy)
        return false;
    record_head(r, &h);
    *out = (struct agent_bundle_info){
        .key = r->key,
        .id = h.id,
        .destination = h.destination,
        .bytes = r->bytes,
        .age_ms = r->restored ? 0 : r->rest_ms + (a->now.now - r->arrived) / TICK_MS,
        .expires_ms = r->restored ? h.expires_ms : end_by_clock(a, r),
        .state = state_text(r),
        .link = record_link(r),
        .priority = r->qos.priority,
        .ordinal = r->qos.ordinal,
    };
    return true;
}

size_t agent_bundles(const struct agent *a, struct agent_bundle_info *out, size_t max)
{
    return agent_bundles_next(a, 0, out, max);
}

size_t agent_bundles_next(const struct agent *a, uint64_t after, struct agent_bundle_info *out,
                          size_t max)
{
    size_t len = 0;
    struct record *last = after == 0 ? NULL : record_find(a, after);
    if (after != 0 && last == NULL)
        return 0;
    struct hash_node *n = hash_walk(&a->by_key, last == NULL ? NULL : &last->by_key);
    for (; n != NULL && len < max; n = hash_walk(&a->by_key, n)) {
        const struct record *r = container_of(n, struct record, by_key);
        len += describe_bundle(a, r, &out[len]);
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
        if (describe_bundle(a, container_of(n, struct record, by_key), &b))
            see(context, &b);
    return next;
}

bool agent_bundle_find(const struct agent *a, uint64_t key, struct agent_bundle_info *out)
{
    const struct record *r = record_find(a, key);
    return r != NULL && describe_bundle(a, r, out);
}
