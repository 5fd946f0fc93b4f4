/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links whose transport is bundles of this node: their submitted bundles, and the bundles for their
 * endpoints. Registrations and tokens refer to the link by its index and the number of its use, so
 * that data of a removed link reaches no other one. What can go wrong is reported to the link.
 */
#include "node/node_self.h"

#include <assert.h>

#define SELF (UINT64_C(1) << 63) /* of registrations and tokens */
#define LIVES 0x7ffU             /* numbers that tokens can distinguish */
#define INDEX_SHIFT 43
#define LIFE_SHIFT 32

static uint64_t name_of(const struct node_link *l)
{
    assert(l->index < 1U << (63 - INDEX_SHIFT));
    return SELF | (uint64_t)l->index << INDEX_SHIFT | (l->life & LIVES) << LIFE_SHIFT;
}

/* The link of this registration or token; NULL: it was removed. */
static struct node_link *link_named(const struct node *n, uint64_t name)
{
    uint64_t index = (name & ~SELF) >> INDEX_SHIFT;
    struct node_link *l = index < n->links_len ? n->links[index] : NULL;
    return l != NULL && l->cla != NULL && name_of(l) == name >> LIFE_SHIFT << LIFE_SHIFT ? l : NULL;
}

bool node_self_has(uint64_t name)
{
    return (name & SELF) != 0;
}

static enum cla_reason reason_of(enum agent_refusal refusal)
{
    switch (refusal) {
    case REFUSE_NONE:
        return CLA_REASON_NONE;
    case REFUSE_TOO_LONG:
        return CLA_REASON_TOO_LONG;
    case REFUSE_NO_MEMORY:
        return CLA_REASON_NO_MEMORY;
    default:
        return CLA_REASON_NODE;
    }
}

static enum cla_reason submit_parcel(void *context, const struct cla_parcel *p, uint32_t token,
                                     struct cla_stamp *out)
{
    struct bundle_id id;
    struct node_link *l = context;
    const struct agent_request q = {.source = p->source,
                                    .destination = p->destination,
                                    .report_to = eid_none(),
                                    .lifetime_ms = p->lifetime_ms,
                                    .record = p->record,
                                    .crc = -1,
                                    .payload = p->payload,
                                    .token = name_of(l) | token};
    enum agent_refusal refusal = agent_send(l->node->agent, &q, node_now(l->node), &id);
    if (refusal == REFUSE_NONE)
        *out = (struct cla_stamp){id.time_ms, id.sequence};
    node_wake(l->node);
    return reason_of(refusal);
}

static bool parcel_is_here(void *context, const struct eid *source, const struct cla_stamp *stamp)
{
    const struct node_link *l = context;
    const struct bundle_id id = {
        .source = *source, .time_ms = stamp->time_ms, .sequence = stamp->sequence};
    uint64_t key;
    return agent_find(l->node->agent, &id, &key) == 0;
}

/* The endpoint is not shared: its bundles are transport of other nodes' bundles. */
static int listen_at(void *context, const struct eid *endpoint, uint32_t window)
{
    struct node_link *l = context;
    if (agent_registered(l->node->agent, endpoint, NULL))
        return HELIO_EEXIST;
    int rc = agent_register(l->node->agent, name_of(l), endpoint, window, node_now(l->node));
    l->listens = l->listens || rc == 0;
    node_wake(l->node);
    return rc;
}

static void take_delivery(void *context, uint64_t key, bool done)
{
    struct node_link *l = context;
    if (done)
        agent_delivered(l->node->agent, key, true, node_now(l->node));
    else
        agent_put_off(l->node->agent, key, "no room for the bundle in it", node_now(l->node));
    node_wake(l->node);
}

static uint64_t count_left(void *context, uint64_t key)
{
    const struct node_link *l = context;
    return agent_left_ms(l->node->agent, key, node_now(l->node));
}

struct cla_self node_self(struct node_link *l)
{
    l->life = ++l->node->lives;
    return (struct cla_self){.context = l,
                             .submit = submit_parcel,
                             .is_here = parcel_is_here,
                             .listen = listen_at,
                             .taken = take_delivery,
                             .left_ms = count_left};
}

bool node_self_at(const struct node *n, const struct eid *endpoint)
{
    return agent_registered(n->agent, endpoint, node_self_has);
}

void node_self_end(struct node_link *l)
{
    if (l->listens)
        agent_unregister(l->node->agent, name_of(l), node_now(l->node));
    l->listens = false;
}

void node_self_answer(struct node *n, const struct agent_action *a)
{
    struct node_link *l = link_named(n, a->token);
    if (l != NULL)
        cla_submitted(l->cla, (uint32_t)a->token, a->kind == AGENT_CONFIRM);
}

void node_self_deliver(struct node *n, const struct agent_action *a)
{
    struct node_link *l = link_named(n, a->reg);
    const struct cla_delivery d = {
        .key = a->key,
        .source = &a->id.source,
        .destination = &a->destination,
        .left_ms = a->lifetime_ms > a->age_ms ? a->lifetime_ms - a->age_ms : 0,
        .record = (a->flags & BUNDLE_IS_ADMIN) != 0,
        .payload = a->payload,
    };
    if (l == NULL || !cla_delivered(l->cla, &d)) /* its registration ends with it */
        agent_delivered(n->agent, a->key, false, node_now(n));
}

void node_self_recall(struct node *n, const struct agent_action *a)
{
    /* The adapter continues with it; its later answer refers to no bundle. */
    agent_recalled(n->agent, a->reg, node_now(n));
}
