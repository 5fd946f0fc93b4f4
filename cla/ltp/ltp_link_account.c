/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of blocks that are being received counts at the node, and is updated once in a turn. It
 * consists of the peer's import sessions, parts of mixed blocks that wait for the other part, and
 * blocks whose bundles are passed one after the other.
 *
 * What can go wrong: the node has no room. Then the engine must not hold more for this peer, and
 * sessions that need more are refused or cancelled until the node has room again.
 */
#include <assert.h>

#include "cla/ltp/ltp_link.h"

#define UNCONFIGURED 0 /* instead of a peer: ltp_held */
#define FULL_QUIET (60 * TICK_S)

static void say_full(struct link *l)
{
    if (l->endpoint->now < l->full_quiet)
        return;
    l->full_quiet = tick_add(l->endpoint->now, FULL_QUIET);
    cla_say(&l->cla, 1,
            "no room for blocks that are arriving (bundles.total, or the peer's share of it): "
            "sessions that need more are refused until there is some");
}

/* Sessions release what exceeds the node's room before they may grow. */
static void bound_sessions(struct link *l, uint64_t peer, uint64_t held, uint64_t excess)
{
    const uint64_t rest = held > excess ? held - excess : 0;
    ltp_hold(l->endpoint->engine, peer, l->full ? rest : UINT64_MAX);
}

void link_account(struct link *l)
{
    struct ltp_endpoint *h = l->endpoint;
    const struct cla_events *to = &l->env.events;
    if (to->reserve == NULL)
        return;
    const uint64_t own = ltp_held(h->engine, l->peer);
    const uint64_t unconfigured = h->host == l ? ltp_held(h->engine, UNCONFIGURED) : 0;
    const uint64_t all = own + unconfigured + l->halves_bytes + l->rows_bytes;
    const bool was_full = l->full;
    l->full = all > l->arriving && !to->reserve(to->context, &l->cla, all - l->arriving);
    if (all < l->arriving)
        to->release(to->context, &l->cla, l->arriving - all);
    if (!l->full)
        l->arriving = all;
    if (!was_full && !l->full)
        return;
    if (!was_full)
        say_full(l);
    bound_sessions(l, l->peer, own, all - l->arriving);
    if (h->host == l)
        bound_sessions(l, UNCONFIGURED, unconfigured, all - l->arriving);
}

/* The link's sessions have closed. */
void link_account_end(struct link *l)
{
    const struct cla_events *to = &l->env.events;
    if (l->arriving > 0)
        to->release(to->context, &l->cla, l->arriving);
    assert(l->halves_bytes == 0 && l->rows_bytes == 0);
    l->arriving = 0;
}

void ltp_endpoint_account(struct ltp_endpoint *h)
{
    list_for_each (it, &h->active)
        link_account(container_of(it, struct link, active));
    if (h->host != NULL)
        link_account(h->host);
}
