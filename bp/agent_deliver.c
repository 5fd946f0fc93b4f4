/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints of this node (RFC 9171 §5.7): registered ones get their bundles in order, up to their
 * window; bundles for others wait. An endpoint without registration and without bundles does not
 * exist, but for the node's own, whose bundles the agent reads itself. What a registration has not
 * confirmed when it ends goes back to the head of the queue.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent_impl.h"

static uint64_t reg_hash(const struct agent *a, uint64_t reg)
{
    return hash_mix(a->config.seed, reg, 1);
}

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

struct endpoint *endpoint_get(struct agent *a, const struct eid *eid)
{
    struct endpoint *e = endpoint_find(a, eid);
    if (e != NULL)
        return e;
    e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->eid = *eid;
    lane_init(&e->lane, 1);
    hash_add(&a->endpoints, &e->by_eid, eid_hash(a->config.seed, eid));
    assert(endpoint_find(a, eid) == e);
    return e;
}

void endpoint_tidy(struct agent *a, struct lane *l)
{
    if (l->open || !lane_empty(l)) {
        lane_wake(a, l);
        return;
    }
    struct endpoint *e = container_of(l, struct endpoint, lane);
    list_sub(&l->node);
    assert(e != a->admin);
    hash_sub(&a->endpoints, &e->by_eid);
    lane_fini(l);
    free(e);
}

static struct endpoint *by_reg(const struct agent *a, uint64_t reg)
{
    struct hash_node *n = hash_find(&a->registrations, reg_hash(a, reg));
    for (; n != NULL; n = hash_next(n)) {
        struct endpoint *e = container_of(n, struct endpoint, by_reg);
        if (e->reg == reg)
            return e;
    }
    return NULL;
}

int agent_register(struct agent *a, uint64_t reg, const struct eid *endpoint, uint32_t window,
                   struct agent_now now)
{
    agent_begin(a, now);
    if (window == 0 || eid_is_none(endpoint) || !agent_is_here(a, endpoint))
        return HELIO_EINVAL;
    if (by_reg(a, reg) != NULL)
        return HELIO_EEXIST;
    struct endpoint *e = endpoint_get(a, endpoint);
    if (e == NULL)
        return HELIO_ENOMEM;
    if (e->lane.open)
        return HELIO_EEXIST;
    e->reg = reg;
    e->lane.window = window;
    e->lane.open = true;
    e->lane.owed = 0;
    hash_add(&a->registrations, &e->by_reg, reg_hash(a, reg));
    agent_resume(a, &e->lane);
    lane_wake(a, &e->lane);
    assert(e->lane.open && by_reg(a, reg) == e);
    return 0;
}

void agent_unregister(struct agent *a, uint64_t reg, struct agent_now now)
{
    agent_begin(a, now);
    struct endpoint *e = by_reg(a, reg);
    if (e == NULL)
        return;
    hash_sub(&a->registrations, &e->by_reg);
    e->lane.open = false;
    list_sub(&e->lane.node);
    while (!list_empty(&e->lane.busy)) {
        struct record *r = container_of(e->lane.busy.prev, struct record, node);
        emit_declined(a, r, reg, "application is gone");
        lane_return(a, r);
    }
    assert(list_empty(&e->lane.busy) && !e->lane.open);
    endpoint_tidy(a, &e->lane);
}

void endpoint_take_back(struct record *r)
{
    assert(r->state == STATE_BUSY && r->link == TO_ENDPOINT && list_empty(&r->answer));
    r->taken_back = true;
    r->token = container_of(r->lane, struct endpoint, lane)->reg;
    r->lane->owed++;
}

void agent_recalled(struct agent *a, uint64_t reg, struct agent_now now)
{
    agent_begin(a, now);
    struct endpoint *e = by_reg(a, reg);
    if (e == NULL || e->lane.owed == 0)
        return;
    assert(e->lane.owed > 0);
    e->lane.owed--;
    lane_wake(a, &e->lane);
}

int endpoint_open_admin(struct agent *a)
{
    assert(a->admin == NULL);
    a->admin = endpoint_get(a, &a->config.node);
    if (a->admin == NULL)
        return HELIO_ENOMEM;
    a->admin->lane.open = true;
    return 0;
}

bool endpoint_takes(const struct agent *a, const struct eid *destination, uint64_t flags)
{
    return (flags & BUNDLE_IS_ADMIN) || !eid_equal(destination, &a->admin->eid);
}

int endpoint_action(struct agent *a, struct record *r, struct agent_action *out)
{
    assert(r->lane != NULL && r->buf != NULL);
    if (r->lane == &a->admin->lane) {
        agent_administer(a, r);
        return 0;
    }
    struct agent_head h;
    record_head(r, &h);
    *out = (struct agent_action){
        .kind = AGENT_DELIVER,
        .key = r->key,
        .reg = container_of(r->lane, struct endpoint, lane)->reg,
        .bundle = buf_keep(r->buf),
        .payload = slice_of(buf_data(r->buf) + r->payload_off, r->payload_len),
        .id = h.id,
        .destination = h.destination,
        .flags = h.flags,
        .age_ms = record_age_ms(a, r, h.age_ms),
        .lifetime_ms = h.lifetime_ms,
        .priority = r->qos.priority,
        .ordinal = r->qos.ordinal,
    };
    emit_application(a, BUNDLE_HANDED, r, out->reg);
    if (h.id.time_ms != 0)
        out->age_ms = a->now.dtn_ms > h.id.time_ms ? a->now.dtn_ms - h.id.time_ms : 0;
    assert(out->payload.len == r->payload_len && r->payload_off + r->payload_len <= r->buf->len);
    return 1;
}

void agent_delivered(struct agent *a, uint64_t key, bool ok, struct agent_now now)
{
    agent_begin(a, now);
    struct record *r = record_find(a, key);
    if (r == NULL || r->state != STATE_BUSY || r->link != TO_ENDPOINT)
        return;
    assert(r->lane != NULL && r->stored);
    const uint64_t reg = container_of(r->lane, struct endpoint, lane)->reg;
    if (ok) {
        emit_application(a, BUNDLE_DELIVERED, r, reg);
        agent_report(a, r, STATUS_DELIVERED, REASON_NONE);
        record_end(a, r, END_DELIVERED);
    } else if (!agent_overdue(a, r)) {
        emit_declined(a, r, reg, "refused by the application");
        /* It waits for the next registration; this one would refuse it again. */
        lane_pause(a, r, TICK_NEVER);
    }
}
