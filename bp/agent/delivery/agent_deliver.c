/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints of this node (RFC 9171 §5.7), and groups with a registration here. A registration gets
 * its bundles in order, up to its window; bundles of other endpoints wait. An endpoint exists while
 * it has registrations or bundles; the node's own endpoint always exists, and the agent reads its
 * bundles itself. Several registrations share the endpoint's queue, or each has its own queue
 * (agent_register.c). What can go wrong: no memory for copies; then the bundle waits.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/admission/agent_security.h"
#include "bp/agent/agent_impl.h"

struct endpoint *endpoint_find(const struct agent *a, const struct eid *e)
{
    struct hash_node *n = hash_find(&a->endpoints, eid_hash(a->config.seed, e));
    for (; n != NULL; n = hash_next(n)) {
        struct endpoint *found = container_of(n, struct endpoint, by_eid);
        if (eid_equal(&found->eid, e))
            return found;
    }
    return NULL;
}

static enum agent_sharing sharing_of(const struct agent *a, const struct eid *eid)
{
    uint64_t group, service;
    for (size_t i = 0; i < a->sharing_len; i++)
        if (eid_pattern_match(&a->sharing[i].pattern, eid))
            return a->sharing[i].sharing;
    return eid_imc(eid, &group, &service) ? AGENT_SHARE_ALL : AGENT_SHARE_ONE;
}

struct endpoint *endpoint_get(struct agent *a, const struct eid *eid)
{
    struct endpoint *e = endpoint_find(a, eid);
    if (e != NULL)
        return e;
    e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->eid = *eid;
    e->sharing = sharing_of(a, eid);
    list_init(&e->regs);
    queue_init(&e->queue, 1);
    hash_add(&a->endpoints, &e->by_eid, eid_hash(a->config.seed, eid));
    assert(endpoint_find(a, eid) == e);
    return e;
}

void endpoint_tidy(struct agent *a, struct queue *q)
{
    if (q->open || !queue_empty(q) || q->only != NULL) {
        queue_wake(a, q);
        return;
    }
    struct endpoint *e = container_of(q, struct endpoint, queue);
    list_sub(&q->node);
    assert(e != a->admin && list_empty(&e->regs));
    hash_sub(&a->endpoints, &e->by_eid);
    queue_fini(q);
    free(e);
}

bool endpoint_joined(const struct agent *a, const struct eid *destination)
{
    uint64_t group, service;
    if (!eid_imc(destination, &group, &service))
        return false;
    const struct endpoint *e = endpoint_find(a, destination);
    return e != NULL && !list_empty(&e->regs);
}

void endpoints_free(struct agent *a)
{
    struct hash_node *n;
    while ((n = hash_walk(&a->registrations, NULL)) != NULL) {
        struct registration *g = container_of(n, struct registration, by_reg);
        hash_sub(&a->registrations, n);
        queue_fini(&g->queue);
        free(g);
    }
    while ((n = hash_walk(&a->endpoints, NULL)) != NULL) {
        struct endpoint *e = container_of(n, struct endpoint, by_eid);
        hash_sub(&a->endpoints, n);
        queue_fini(&e->queue);
        free(e);
    }
    free(a->sharing);
}

int agent_share_endpoints(struct agent *a, const struct eid_pattern *pattern,
                          enum agent_sharing how)
{
    if (a->sharing_len == SHARING_RULES_MAX)
        return HELIO_EAGAIN;
    struct sharing_rule *grown =
        realloc(a->sharing, (a->sharing_len + 1) * sizeof *grown); /* a handful, at start */
    if (grown == NULL)
        return HELIO_ENOMEM;
    a->sharing = grown;
    a->sharing[a->sharing_len++] = (struct sharing_rule){.pattern = *pattern, .sharing = how};
    struct hash_node *n = hash_walk(&a->endpoints, NULL);
    for (; n != NULL; n = hash_walk(&a->endpoints, n)) {
        struct endpoint *e = container_of(n, struct endpoint, by_eid);
        if (list_empty(&e->regs) && queue_empty(&e->queue))
            e->sharing = sharing_of(a, &e->eid);
    }
    return 0;
}

int endpoint_open_admin(struct agent *a)
{
    assert(a->admin == NULL);
    a->admin = endpoint_get(a, &a->config.node);
    if (a->admin == NULL)
        return HELIO_ENOMEM;
    a->admin->queue.open = true;
    return 0;
}

bool endpoint_takes(const struct agent *a, const struct eid *destination, uint64_t flags)
{
    return (flags & BUNDLE_IS_ADMIN) || !eid_equal(destination, &a->admin->eid);
}

enum receiver endpoint_receiver(struct agent *a, const struct eid *destination)
{
    struct endpoint *e = endpoint_find(a, destination);
    if (e == NULL || !e->queue.open)
        return RECEIVER_NONE;
    if (e == a->admin)
        return RECEIVER_READY;
    if (e->queue.bundles == 0) {
        e->queued = a->now.now;
        return RECEIVER_READY;
    }
    if (e->took == 0)
        return RECEIVER_NONE;
    const tick since = e->took > e->queued ? e->took : e->queued;
    return tick_add(since, RECEIVER_IDLE) > a->now.now ? RECEIVER_READY : RECEIVER_NONE;
}

struct tally endpoint_took(struct agent *a, const struct eid *destination)
{
    const struct endpoint *e = endpoint_find(a, destination);
    return e == NULL ? (struct tally){0} : pace_lately(&e->pace, a->now.now);
}

/* The owner of a registration's own queue; else the next registration with room, in turn. */
static struct registration *choose_taker(const struct queue *q)
{
    if (q->only != NULL)
        return q->only;
    struct endpoint *e = container_of(q, struct endpoint, queue);
    list_for_each (it, &e->regs) {
        struct registration *g = container_of(it, struct registration, node);
        if (g->given + g->owed >= g->window)
            continue;
        list_sub(&g->node);
        list_add_tail(&e->regs, &g->node);
        return g;
    }
    assert(false); /* the queue's window is the sum of theirs */
    return NULL;
}

/* To each registration's own queue: what is at the head of the endpoint's, in memory. */
static void spread_copies(struct agent *a, struct forwarding *f)
{
    struct endpoint *e = container_of(f->queue, struct endpoint, queue);
    uint64_t n = 0;
    list_for_each (it, &e->regs)
        n++;
    assert(n > 0 && f->buf != NULL && f->state == STATE_BUSY);
    const bool room = copies_room(a, n);
    struct list *c = NULL;
    if (room && forwarding_is_copy(f)) {
        c = copies_make(a, f, n);
    } else if (room) {
        queue_leave(a, f);
        f->state = STATE_DISPATCH_PENDING;
        c = copies_make(a, f, n);
    }
    if (c == NULL) {
        if (f->queue != NULL)
            queue_retry(a, f);
        else
            agent_await_route(a, f, NULL, tick_add(a->now.now, a->config.retry_max));
        return;
    }
    list_for_each (it, &e->regs) {
        struct forwarding *copy = container_of(c, struct forwarding, sibling);
        c = c->next;
        copy->link = TO_ENDPOINT;
        forwarding_set_timer(a, copy, copy->bundle->expires);
        queue_add(a, &container_of(it, struct registration, node)->queue, copy,
                  copy->bundle->qos.priority, NULL);
    }
    if (forwarding_is_copy(f))
        copies_replace(a, f);
}

int endpoint_action(struct agent *a, struct forwarding *f, struct agent_action *out)
{
    assert(f->queue != NULL && f->buf != NULL);
    if (forwarding_is_whole(f) && secure_waits(a, f))
        return 0;
    if (f->queue == &a->admin->queue) {
        agent_administer(a, f);
        return 0;
    }
    if (f->queue->only == NULL &&
        container_of(f->queue, struct endpoint, queue)->sharing == AGENT_SHARE_ALL) {
        spread_copies(a, f);
        return 0;
    }
    struct agent_head h;
    record_head(f->bundle, &h);
    f->taker = choose_taker(f->queue);
    f->taker->given++;
    *out = (struct agent_action){
        .kind = AGENT_DELIVER,
        .key = f->key,
        .reg = f->taker->reg,
        .bundle = buf_keep(f->buf),
        .payload = slice_of(buf_data(f->buf) + f->bundle->payload_off, f->bundle->payload_len),
        .id = h.id,
        .destination = h.destination,
        .flags = h.flags,
        .age_ms = record_age_ms(a, f->bundle, h.age_ms),
        .lifetime_ms = h.lifetime_ms,
        .priority = f->bundle->qos.priority,
        .ordinal = f->bundle->qos.ordinal,
        .from =
            link_of(a, &f->bundle->came_from) == NO_LINK ? -1 : link_of(a, &f->bundle->came_from),
    };
    emit_application(a, BUNDLE_HANDED, f, out->reg);
    if (h.id.time_ms != 0)
        out->age_ms = a->now.dtn_ms > h.id.time_ms ? a->now.dtn_ms - h.id.time_ms : 0;
    assert(out->payload.len == f->bundle->payload_len &&
           f->bundle->payload_off + f->bundle->payload_len <= f->buf->len);
    return 1;
}

void endpoint_release(struct forwarding *f)
{
    if (f->taker == NULL)
        return;
    assert(f->taker->given > 0);
    f->taker->given--;
    f->taker = NULL;
}

void endpoint_take_back(struct forwarding *f)
{
    assert(f->state == STATE_BUSY && f->link == TO_ENDPOINT && list_empty(&f->answer));
    assert(f->taker != NULL);
    f->state = STATE_RECALLED;
    f->taker->owed++;
    f->queue->owed++;
}

/* Others may have it; when none has, it waits for the next registration. */
static void decline_copy(struct agent *a, struct forwarding *c)
{
    struct record *o = c->bundle;
    if (copies_abandon(a, c) && o->forwarding.queue != NULL && !state_is_given(o->forwarding.state))
        queue_pause(a, &o->forwarding, TICK_NEVER);
}

/* A delivery without an answer; NULL: it is none (any more). */
static struct forwarding *find_delivery(const struct agent *a, uint64_t key)
{
    struct forwarding *f = forwarding_find(a, key);
    if (f == NULL || !state_is_given(f->state) || f->link != TO_ENDPOINT)
        return NULL;
    assert(f->queue != NULL && f->taker != NULL);
    return f;
}

void agent_put_off(struct agent *a, uint64_t key, const char *reason, struct agent_now now)
{
    agent_begin(a, now);
    struct forwarding *f = find_delivery(a, key);
    if (f == NULL || agent_overdue(a, f))
        return;
    forwarding_failed(f, reason);
    emit_declined(a, f, f->taker->reg, f->failed);
    queue_retry(a, f);
}

void agent_delivered(struct agent *a, uint64_t key, bool ok, struct agent_now now)
{
    agent_begin(a, now);
    struct forwarding *f = find_delivery(a, key);
    if (f == NULL)
        return;
    const uint64_t reg = f->taker->reg;
    if (ok) {
        f->taker->endpoint->took = a->now.now;
        pace_count(&f->taker->endpoint->pace, a->now.now, f->bundle->bytes);
        emit_application(a, BUNDLE_DELIVERED, f, reg);
        agent_report(a, f, STATUS_DELIVERED, REASON_NONE);
        forwarding_end(a, f, END_DELIVERED);
    } else if (!agent_overdue(a, f)) {
        forwarding_failed(f, "refused by the application");
        emit_declined(a, f, reg, f->failed);
        /* It waits for the next registration; this one would refuse it again. */
        if (forwarding_is_copy(f))
            decline_copy(a, f);
        else
            queue_pause(a, f, TICK_NEVER);
    }
}
