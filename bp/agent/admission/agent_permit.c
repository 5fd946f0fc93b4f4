/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ingress and egress rules. A neighbour's bundle is judged when its primary block and its priority
 * are decoded, before the costly checks: a refusal costs no cryptography. If the priority is
 * encrypted, the bundle is judged again later. A link that the rules forbid is no route for the
 * bundle (agent_ask.c). Bundles that the node creates itself (status reports, echo answers) are not
 * those of an application. What can go wrong: memory for a new list.
 */
#include "bp/agent/admission/agent_permit.h"

#include <assert.h>

int agent_permit(struct agent *a, enum permit_way way, const struct permit *list, size_t len)
{
    struct permits *fresh;
    assert(way < PERMIT_WAYS);
    const int rc = permits_new(&fresh, way, list, len);
    if (rc < 0)
        return rc;
    permits_go_on(fresh, a->permits[way]);
    permits_free(a->permits[way]);
    a->permits[way] = fresh;
    if (way == PERMIT_OUT)
        agent_reroute(a);
    return 0;
}

const struct permits *agent_permits(const struct agent *a, enum permit_way way)
{
    assert(way < PERMIT_WAYS);
    return a->permits[way];
}

bool agent_may_register(struct agent *a, uint64_t user, const struct eid *endpoint)
{
    return user == 0 || permits_endpoint(a->permits[PERMIT_APP], user, endpoint);
}

const struct permit_refusal *agent_forbidden(const struct agent *a, enum permit_way *way)
{
    *way = a->forbidden;
    return permits_refusal(a->permits[a->forbidden]);
}

static enum agent_refusal refusal_of(struct agent *a, enum permit_way way, enum permit_verdict v)
{
    if (v == PERMIT_GOOD)
        return REFUSE_NONE;
    a->forbidden = way;
    return v >= PERMIT_BUNDLES ? REFUSE_LIMIT : REFUSE_RULE;
}

/* Of the bundle that a fragment is of: rules are about bundles. */
static uint64_t whole_payload(const struct bundle_id *id, uint64_t payload)
{
    return id->fragment ? id->total : payload;
}

static struct permit_subject describe_bundle(const struct bundle *b, const struct eid *party,
                                             uint64_t id, uint64_t bytes)
{
    struct bundle_qos q;
    bundle_qos(b, &q);
    return (struct permit_subject){.party = party,
                                   .id = id,
                                   .from = &b->id.source,
                                   .to = &b->destination,
                                   .priority = q.priority,
                                   .payload = whole_payload(&b->id, b->payload.len),
                                   .bytes = bytes};
}

enum agent_refusal permit_arrival(struct agent *a, int from, const struct bundle *b, uint64_t bytes,
                                  unsigned how)
{
    const struct link *l = link_at(a, from);
    if (a->permits[PERMIT_IN] == NULL || l == NULL)
        return REFUSE_NONE;
    if (how & AGENT_OFFER_AGAIN)
        return permit_decrypted(a, from, b);
    const struct permit_subject s = describe_bundle(b, &l->peer, quota_peer_id(&l->peer), bytes);
    const enum permit_verdict v = how & AGENT_OFFER_LAST
                                      ? permits_offer(a->permits[PERMIT_IN], &s, a->now.now)
                                      : permits_take(a->permits[PERMIT_IN], &s, a->now.now);
    return refusal_of(a, PERMIT_IN, v);
}

enum agent_refusal permit_decrypted(struct agent *a, int from, const struct bundle *b)
{
    const struct link *l = link_at(a, from);
    if (a->permits[PERMIT_IN] == NULL || l == NULL)
        return REFUSE_NONE;
    const struct permit_subject s = describe_bundle(b, &l->peer, quota_peer_id(&l->peer), 0);
    const enum permit_verdict v = permits_judge(a->permits[PERMIT_IN], &s);
    if (v != PERMIT_GOOD)
        permits_refuse(a->permits[PERMIT_IN], &s, v);
    return refusal_of(a, PERMIT_IN, v);
}

enum agent_refusal permit_request(struct agent *a, uint64_t user, const struct bundle *b)
{
    if (a->permits[PERMIT_APP] == NULL || user == 0)
        return REFUSE_NONE;
    struct permit_subject s = describe_bundle(b, &b->id.source, user, b->payload.len);
    quota_user_holds(a, user, &s.held_bundles, &s.held_bytes);
    return refusal_of(a, PERMIT_APP, permits_take(a->permits[PERMIT_APP], &s, a->now.now));
}

static struct permit_subject describe_head(const struct link *l, const struct agent_head *h)
{
    assert(h->qos.priority < BUNDLE_PRIORITIES);
    return (struct permit_subject){.party = &l->peer,
                                   .id = quota_peer_id(&l->peer),
                                   .from = &h->id.source,
                                   .to = &h->destination,
                                   .priority = (enum bundle_priority)h->qos.priority,
                                   .payload = whole_payload(&h->id, h->payload_len)};
}

bool permit_leaves(const struct agent *a, const struct link *l, const struct agent_head *h)
{
    if (permits_len(a->permits[PERMIT_OUT]) == 0)
        return true;
    const struct permit_subject s = describe_head(l, h);
    return permits_judge(a->permits[PERMIT_OUT], &s) == PERMIT_GOOD;
}

void permit_stays(struct agent *a, uint32_t link, const struct agent_head *h)
{
    assert(link_at(a, link) != NULL);
    const struct permit_subject s = describe_head(link_at(a, link), h);
    const enum permit_verdict v = permits_judge(a->permits[PERMIT_OUT], &s);
    if (v != PERMIT_GOOD)
        permits_refuse(a->permits[PERMIT_OUT], &s, v);
    (void)refusal_of(a, PERMIT_OUT, v);
}

void permits_fini(struct agent *a)
{
    for (int w = 0; w < PERMIT_WAYS; w++)
        permits_free(a->permits[w]);
}
