/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of bundles for one route: a link, the endpoints of this node, or no route yet.
 *
 * A link may have its own limits: bundles beyond them are refused. A part of the node's limits is
 * reserved, in equal shares for each route, in addition to the accounts of peers and sources: a
 * bundle without room there is charged to the share of its route. So a link that does not move,
 * whatever fills its queue, never causes refusals of bundles for another one. The endpoints here
 * have one share; each may have as much of it as it took recently: applications that stop reading
 * leave it to those that continue.
 *
 * A bundle is charged to the route that it had when it was admitted, as long as it is here; after a
 * restart, to the accounts. What can go wrong: a removed link; its bundles are then charged to no
 * route.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"

static struct route_share *find_route_share(const struct agent *a, const struct link_ref *ref)
{
    struct agent *own = (struct agent *)(uintptr_t)a; /* for callers that may change it */
    if (ref->index == TO_ENDPOINT)
        return &own->here;
    if (ref->index == NO_ROUTE)
        return &own->no_route;
    return link_of(a, ref) == NO_LINK ? NULL : &link_at(a, ref->index)->share;
}

bool bound_full(const struct agent *a, const struct link_ref *route, uint64_t bytes)
{
    const struct link *l = link_of(a, route) == NO_LINK ? NULL : link_at(a, route->index);
    if (l == NULL)
        return false;
    const uint64_t bundles = l->queue.bundles + l->share.storing;
    const uint64_t there = l->queue.bytes + l->share.storing_bytes;
    if (l->bundles_max > 0 && bundles >= l->bundles_max)
        return true;
    return l->bytes_max > 0 && bundles > 0 &&
           (bytes > l->bytes_max || there > l->bytes_max - bytes);
}

bool bound_lacks(const struct agent *a, const struct link_ref *route, uint64_t bytes,
                 struct agent_shortage *out)
{
    if (!bound_full(a, route, bytes))
        return false;
    const struct link *l = link_at(a, route->index);
    const uint64_t bundles = l->queue.bundles + l->share.storing;
    const bool count = l->bundles_max > 0 && bundles >= l->bundles_max;
    out->limit = AGENT_LIMIT_QUEUE;
    out->unit = count ? AGENT_UNIT_BUNDLES : AGENT_UNIT_BYTES;
    out->used = count ? bundles : l->queue.bytes + l->share.storing_bytes;
    out->most = count ? l->bundles_max : l->bytes_max;
    return true;
}

/* Besides its first bundle, an endpoint has as much as it took in the last 10 to 20 s, or a part of
 * what is left; never all of that. */
#define FIRST_PART 64
static bool endpoint_has_part(const struct agent *a, const struct account *backlog, uint64_t charge)
{
    const uint64_t more[2] = {1, charge}, took[2] = {backlog->took.bundles, backlog->took.bytes};
    bool has = true;
    for (size_t k = 0; k < 2; k++) {
        const uint64_t left = a->reserved_share[k] - a->here.reserved[k];
        const uint64_t part = took[k] > left / FIRST_PART ? took[k] : left / FIRST_PART;
        const uint64_t all = backlog->reserved[k] + left, p = a->config.endpoint_percent;
        const uint64_t most = all / 100 * p + all % 100 * p / 100;
        const uint64_t wants = backlog->reserved[k] + more[k];
        has = has && wants <= part && wants <= most;
    }
    return has || backlog->reserved[QUOTA_BUNDLES] == 0;
}

bool bound_has_room(const struct agent *a, const struct holder *h, uint64_t charge)
{
    const struct route_share *w = find_route_share(a, &h->destination_link);
    if (w == NULL || w->reserved[QUOTA_BUNDLES] >= a->reserved_share[QUOTA_BUNDLES] ||
        charge > a->reserved_share[QUOTA_BYTES] ||
        w->reserved[QUOTA_BYTES] > a->reserved_share[QUOTA_BYTES] - charge)
        return false;
    return w != &a->here || a->config.endpoint_percent >= 100 ||
           endpoint_has_part(a, h->backlog, charge);
}

void bound_add(struct agent *a, const struct holder *h, uint64_t charge)
{
    struct route_share *w = find_route_share(a, &h->destination_link);
    a->reserved[QUOTA_BUNDLES]++;
    a->reserved[QUOTA_BYTES] += charge;
    h->backlog->reserved[QUOTA_BUNDLES]++;
    h->backlog->reserved[QUOTA_BYTES] += charge;
    if (w == NULL)
        return;
    w->reserved[QUOTA_BUNDLES]++;
    w->reserved[QUOTA_BYTES] += charge;
    assert(w->reserved[QUOTA_BUNDLES] <= a->reserved[QUOTA_BUNDLES]);
}

void bound_sub(struct agent *a, const struct holder *h, uint64_t charge)
{
    struct route_share *w = find_route_share(a, &h->destination_link);
    assert(a->reserved[QUOTA_BUNDLES] > 0 && a->reserved[QUOTA_BYTES] >= charge);
    assert(h->backlog->reserved[QUOTA_BUNDLES] > 0 && h->backlog->reserved[QUOTA_BYTES] >= charge);
    a->reserved[QUOTA_BUNDLES]--;
    a->reserved[QUOTA_BYTES] -= charge;
    h->backlog->reserved[QUOTA_BUNDLES]--;
    h->backlog->reserved[QUOTA_BYTES] -= charge;
    if (w == NULL)
        return;
    assert(w->reserved[QUOTA_BUNDLES] > 0 && w->reserved[QUOTA_BYTES] >= charge);
    w->reserved[QUOTA_BUNDLES]--;
    w->reserved[QUOTA_BYTES] -= charge;
}

void bound_begin(struct agent *a, const struct record *r)
{
    struct route_share *w = find_route_share(a, &r->holder.destination_link);
    assert(r->forwarding.state == STATE_STORING);
    if (w == NULL)
        return;
    w->storing++;
    w->storing_bytes += r->bytes;
}

void bound_arrive(struct agent *a, const struct record *r)
{
    struct route_share *w = find_route_share(a, &r->holder.destination_link);
    if (w == NULL)
        return;
    assert(w->storing > 0 && w->storing_bytes >= r->bytes);
    w->storing--;
    w->storing_bytes -= r->bytes;
}

void bound_refused(struct agent *a, const struct link_ref *route)
{
    struct route_share *w = find_route_share(a, route);
    if (w != NULL)
        w->refused++;
}

bool agent_bound(const struct agent *a, uint32_t link, struct agent_bound *out)
{
    const struct link *l = link_at(a, link);
    if (l == NULL)
        return false;
    *out = (struct agent_bound){.bundles_max = l->bundles_max,
                                .bytes_max = l->bytes_max,
                                .refused = l->share.refused,
                                .apart_bundles = l->share.reserved[QUOTA_BUNDLES],
                                .apart_bytes = l->share.reserved[QUOTA_BYTES],
                                .share_bundles = a->reserved_share[QUOTA_BUNDLES],
                                .share_bytes = a->reserved_share[QUOTA_BYTES]};
    return true;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

static void check_backlogs(const struct agent *a)
{
    uint64_t reserved[2] = {0};
    for (struct hash_node *n = hash_walk(&a->backlogs, NULL); n != NULL;
         n = hash_walk(&a->backlogs, n)) {
        const struct account *x = container_of(n, struct account, by_id);
        for (size_t k = 0; k < 2; k++)
            reserved[k] += x->reserved[k];
    }
    assert(reserved[0] == a->reserved[0] && reserved[1] == a->reserved[1]);
}

void bound_check(const struct agent *a)
{
    uint64_t reserved[2] = {0}, storing = 0, shares = 2;
    assert(a != NULL);
    for (struct hash_node *n = hash_walk(&a->by_key, NULL); n != NULL;
         n = hash_walk(&a->by_key, n)) {
        const struct forwarding *f = container_of(n, struct forwarding, by_key);
        reserved[QUOTA_BUNDLES] += !forwarding_is_copy(f) && f->bundle->holder.in_reserve;
        storing += f->state == STATE_STORING &&
                   find_route_share(a, &f->bundle->holder.destination_link) != NULL;
    }
    assert(reserved[QUOTA_BUNDLES] == a->reserved[QUOTA_BUNDLES]);
    check_backlogs(a);
    for (size_t k = 0; k < 2; k++)
        reserved[k] = a->here.reserved[k] + a->no_route.reserved[k];
    storing -= a->here.storing + a->no_route.storing;
    for (uint32_t i = 0; i < a->links_cap; i++) {
        const struct link *l = a->links[i];
        if (l == NULL)
            continue;
        shares++;
        storing -= l->share.storing;
        for (size_t k = 0; k < 2; k++)
            reserved[k] += l->share.reserved[k];
    }
    assert(storing == 0 && shares == a->route_shares);
    for (size_t k = 0; k < 2; k++)
        assert(reserved[k] <= a->reserved[k]);
}
