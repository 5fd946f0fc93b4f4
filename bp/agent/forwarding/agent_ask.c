/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions and notes to the router, and the static routes of the agent's own router. Endpoints of
 * this node need no router. A question changes nothing. A booking is noted when the bundle is
 * queued, and ends with its outcome: sent, failed, or taken back when it leaves the queue without
 * transmission. What can go wrong: memory for a new route.
 */
#include <assert.h>

#include "bp/agent/admission/agent_permit.h"

struct asking {
    const struct agent *agent;
    const struct forwarding *forwarding; /* that is asked for; NULL: not here yet */
    const struct agent_head *head;
    int *forbidden; /* a link that may not have it; NO_LINK: none was asked for */
    const struct router_query *query;
};

static struct router_link describe_link(const struct agent *a, uint32_t link)
{
    if (link_at(a, link) == NULL)
        return (struct router_link){0};
    const struct queue *q = &link_at(a, link)->queue;
    return (struct router_link){.used = true,
                                .up = q->open,
                                .bundles = q->bundles,
                                .bytes = q->bytes,
                                .bytes_of = {q->backlog[BUNDLE_BULK].bytes,
                                             q->backlog[BUNDLE_NORMAL].bytes,
                                             q->backlog[BUNDLE_EXPEDITED].bytes},
                                .bundle_max = link_at(a, link)->bundle_max};
}

static bool leads_back(const struct agent *a, uint32_t link, int came_from)
{
    const struct link *from = link_at(a, came_from);
    return from != NULL &&
           ((int)link == came_from || eid_same_node(&link_at(a, link)->peer, &from->peer));
}

/* Has the bundle a place in this queue already? Then its party has it there. */
static uint64_t behind_it(const struct asking *q, const struct queue *of)
{
    const struct agent *a = q->agent;
    const struct forwarding *f = q->forwarding;
    const enum bundle_priority priority = q->query->priority;
    const bool there = f != NULL && f->queue == of && f->priority == priority && f->in_party;
    if (a->router.ops->note == NULL || of->backlog[priority].bytes == 0)
        return 0;
    return party_behind(a, of, f != NULL ? turns_party(f) : account_party_id(a, q->head), priority,
                        there ? 0 : q->query->bytes);
}

/* A bundle is no backlog to itself. */
static struct router_link show_link(const void *context, uint32_t link)
{
    const struct asking *q = context;
    struct router_link l = describe_link(q->agent, link);
    l.back = l.used && leads_back(q->agent, link, q->query->came_from);
    l.forbidden = l.used && !permit_leaves(q->agent, link_at(q->agent, link), q->head);
    if (l.forbidden)
        *q->forbidden = (int)link;
    l.behind = l.used ? behind_it(q, &link_at(q->agent, link)->queue) : 0;
    if (l.used && q->forwarding != NULL &&
        q->forwarding->queue == &link_at(q->agent, link)->queue) {
        assert(l.bundles > 0 && l.bytes >= q->forwarding->bundle->bytes);
        l.bundles--;
        l.bytes -= q->forwarding->bundle->bytes;
        assert(l.bytes_of[q->forwarding->priority] >= q->forwarding->bundle->bytes);
        l.bytes_of[q->forwarding->priority] -= q->forwarding->bundle->bytes;
    }
    return l;
}

/* forbidden: as of struct asking. */
static struct router_answer query_router(const struct agent *a, const struct forwarding *f,
                                         const struct agent_head *h, struct router_query *q,
                                         int *forbidden)
{
    const struct asking asking = {
        .agent = a, .forwarding = f, .head = h, .forbidden = forbidden, .query = q};
    *forbidden = NO_LINK;
    const struct router_links links = {.context = &asking, .at = show_link};
    q->now = a->now.now;
    q->links = &links;
    struct router_answer answer = a->router.ops->ask(a->router.state, q);
    assert(answer.verdict != ROUTER_LINK || link_at(a, answer.link) != NULL);
    assert(answer.verdict != ROUTER_WAIT || answer.until > q->now);
    assert(answer.booking == 0 || a->router.ops->note != NULL);
    assert(answer.also_len == 0 || (answer.verdict == ROUTER_LINK && answer.also != NULL));
    assert(answer.also_len <= ROUTER_COPIES_MAX);
    assert(answer.fits == 0 || (!q->whole && answer.fits >= ROUTER_FITS_MIN));
    assert(answer.fits == 0 || answer.also_len == 0);
    return answer;
}

/* Is it a bundle of a group, or a fragment of one, with a registration here? */
static bool is_wanted(const struct agent *a, const struct agent_head *h)
{
    return endpoint_joined(a, &h->destination);
}

/* Does a neighbour return a bundle that this node forwarded to it? Then no other node has the
 * bundle. */
static bool is_handed_back(const struct agent *a, const struct agent_head *h)
{
    uint8_t id[AGENT_ID_MAX];
    const size_t len = agent_id_encode(&h->id, h->payload_len, id);
    return returns_known(&a->returns, agent_id_hash(a->config.seed, slice_of(id, len)));
}

enum agent_refusal agent_find_route(struct agent *a, const struct agent_head *h, int came_from,
                                    int *link)
{
    *link = TO_ENDPOINT;
    if (agent_is_here(a, &h->destination))
        return REFUSE_NONE;
    struct router_query q = {
        .destination = &h->destination,
        .bytes = h->payload_len,
        .whole = (h->flags & BUNDLE_NO_FRAGMENT) != 0,
        .expires = agent_expiry(a, h->expires_ms),
        .priority = h->qos.priority,
        .critical = h->qos.critical,
        .came_from = came_from,
        .onward = !a->config.keep_unreachable,
        .avoid = came_from,
    };
    int forbidden;
    struct router_answer answer = query_router(a, NULL, h, &q, &forbidden);
    if (answer.verdict == ROUTER_NONE && q.onward && came_from != NO_LINK && is_handed_back(a, h)) {
        q.onward = false;
        answer = query_router(a, NULL, h, &q, &forbidden);
    }
    *link = answer.verdict == ROUTER_LINK ? (int)answer.link : NO_ROUTE;
    if (answer.verdict != ROUTER_NONE)
        return REFUSE_NONE;
    *link = TO_ENDPOINT;
    if (is_wanted(a, h))
        return REFUSE_NONE;
    if (forbidden != NO_LINK) {
        permit_stays(a, (uint32_t)forbidden, h);
        return REFUSE_RULE;
    }
    if (answer.too_long || !answer.too_late)
        return answer.too_long ? REFUSE_TOO_LONG : REFUSE_NO_ROUTE;
    late_note(a, h, q.expires, answer.arrival, came_from);
    return REFUSE_TOO_LATE;
}

struct ask_answer ask_router(const struct agent *a, const struct forwarding *f,
                             const struct agent_head *h)
{
    if (forwarding_is_whole(f) || agent_is_here(a, &h->destination))
        return (struct ask_answer){.link = TO_ENDPOINT};
    uint32_t declined[AGENT_DECLINES_MAX];
    struct router_query q = {
        .destination = &h->destination,
        .bytes = split_rest(f),
        .whole = (h->flags & BUNDLE_NO_FRAGMENT) != 0,
        .expires = f->bundle->expires,
        .priority = f->bundle->qos.priority,
        .critical = f->bundle->qos.critical,
        .came_from = link_of(a, &f->bundle->came_from),
        .avoid = link_of(a, &f->avoid),
        .booking = f->booking,
        .declined = declined,
        .declined_len = declined_list(a, f, declined),
    };
    int forbidden;
    struct router_answer answer = query_router(a, f, h, &q, &forbidden);
    if (answer.verdict == ROUTER_LINK)
        return (struct ask_answer){.link = (int)answer.link,
                                   .booking = answer.booking,
                                   .fits = answer.fits,
                                   .also = answer.also,
                                   .also_len = answer.also_len,
                                   .here = is_wanted(a, h)};
    if (answer.verdict == ROUTER_NONE && is_wanted(a, h))
        return (struct ask_answer){.link = TO_ENDPOINT, .here = h->id.fragment};
    return (struct ask_answer){.link = NO_ROUTE,
                               .none = answer.verdict == ROUTER_NONE,
                               .too_late = answer.too_late,
                               .arrival = answer.arrival,
                               .until = answer.verdict == ROUTER_WAIT ? answer.until : TICK_NEVER};
}

uint64_t ask_work(const struct agent *a)
{
    const struct router_ops *ops = a->router.ops;
    return ops->work == NULL ? 0 : ops->work(a->router.state);
}

bool ask_changed(struct agent *a, uint32_t link)
{
    const struct router_ops *ops = a->router.ops;
    const struct router_link state = describe_link(a, link);
    return ops->changed != NULL && ops->changed(a->router.state, link, &state, a->now.now);
}

static void tell_router(struct agent *a, const struct forwarding *f, enum router_note_kind kind)
{
    const struct router_note n = {.kind = kind,
                                  .now = a->now.now,
                                  .booking = f->booking,
                                  .key = f->key,
                                  .link = (uint32_t)f->link,
                                  .bytes = split_rest(f)};
    assert(f->booking != 0 && f->link >= 0);
    a->router.ops->note(a->router.state, &n);
}

void ask_placed(struct agent *a, struct forwarding *f, const struct ask_answer *answer)
{
    assert(f->queue != NULL && f->link == answer->link);
    f->fits = answer->fits;
    if (answer->booking == f->booking)
        return;
    ask_ended(a, f, ROUTER_TAKEN_BACK);
    f->booking = answer->booking;
    if (answer->booking != 0)
        tell_router(a, f, ROUTER_PLACED);
}

void ask_ended(struct agent *a, struct forwarding *f, enum router_note_kind how)
{
    if (f->booking != 0)
        tell_router(a, f, how);
    f->booking = 0;
}

struct router agent_routes(struct agent *a)
{
    return routes_router(&a->routes);
}

void agent_router(struct agent *a, const struct router *router)
{
    /* a router without notes has no bookings */
    struct hash_node *n = a->router.ops->note == NULL ? NULL : hash_walk(&a->by_key, NULL);
    for (; n != NULL; n = hash_walk(&a->by_key, n))
        ask_ended(a, container_of(n, struct forwarding, by_key), ROUTER_TAKEN_BACK);
    a->router = router == NULL ? agent_routes(a) : *router;
    assert(a->router.ops->ask != NULL);
    assert((a->router.ops->deadline == NULL) || a->router.ops->expire != NULL);
    agent_reroute(a);
}

void agent_reroute(struct agent *a)
{
    a->anew = a->counters.bundles > 0;
}

/* Patterns of links to neighbours are of this sort: however many bundles wait for others, those are
 * not asked for. */
static bool is_of_node(const struct eid_pattern *p)
{
    return (p->eid.scheme == EID_IPN || p->eid.scheme == EID_DTN) && !p->any && !p->any_node &&
           !p->ranges;
}

/* Bundles whose answers are not alike do not depend on static routes. */
static void reroute_pattern(struct agent *a, const struct eid_pattern *p)
{
    const struct router_ops *ops = a->router.ops;
    if (ops->alike == NULL && (!ops->by_destination || !is_of_node(p))) {
        agent_reroute(a);
        return;
    }
    if (is_of_node(p))
        kinds_ask_node(a, &p->eid);
    else
        kinds_ask_alike(a);
    a->heads = a->counters.bundles > 0;
}

bool ask_link_nodes(struct agent *a, uint32_t link)
{
    const struct router_ops *ops = a->router.ops;
    if (ops->by_routes == NULL || !ops->by_routes(a->router.state, link))
        return false;
    for (size_t i = 0; i < a->routes.len; i++)
        if (a->routes.at[i].link == link && !is_of_node(&a->routes.at[i].pattern))
            return false;
    for (size_t i = 0; i < a->routes.len; i++)
        if (a->routes.at[i].link == link)
            reroute_pattern(a, &a->routes.at[i].pattern);
    return true;
}

int agent_route_add(struct agent *a, const struct eid_pattern *pattern, uint32_t link)
{
    if (link_at(a, link) == NULL)
        return HELIO_ENOENT;
    int rc = routes_add(&a->routes, pattern, link);
    if (rc == 0)
        reroute_pattern(a, pattern);
    return rc;
}

bool agent_route_at(const struct agent *a, size_t i, struct eid_pattern *pattern, uint32_t *link)
{
    if (i >= a->routes.len)
        return false;
    *pattern = a->routes.at[i].pattern;
    *link = a->routes.at[i].link;
    assert(link_at(a, *link) != NULL);
    return true;
}

int agent_route_remove(struct agent *a, const struct eid_pattern *pattern, uint32_t link)
{
    int rc = routes_remove(&a->routes, pattern, link);
    if (rc == 0)
        reroute_pattern(a, pattern);
    return rc;
}
