/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Held bundles are first in, first out for each link. The links are tried in turn, beginning with
 * another one each time. A try costs the check values of a bundle, so pauses grow after
 * unsuccessful tries. What can go wrong: no memory to hold a bundle; then it is refused as on any
 * other link. The time of a bundle is that of agent_receive: its parts are decoded and checked
 * there.
 */
#include "node/node_hold.h"

#include <assert.h>
#include <stdlib.h>

#include "base/turn_size.h"
#include "node/node_security.h"

#define PAUSE_MIN (10 * TICK_MS)
#define PAUSE_MAX TICK_S

struct held {
    struct list node; /* in the link's held or given; the agent knows a given one by its address */
    struct buf *bundle;
    uint64_t token;
    enum agent_refusal why; /* it waits, or waited; NONE: it was not tried yet */
};

/* Security operations that succeeded so far. */
static uint64_t count_verified(const struct node *n)
{
    if (n->security == NULL)
        return 0;
    const struct security_counters *c = security_policy_counters(n->security->policy);
    return c->verified + c->accepted;
}

/* The operator's policy wants that work: its time is fair. */
static void earn_time(struct node *n, uint64_t verified, uint64_t bytes, enum agent_refusal r)
{
    if (r == REFUSE_NONE && count_verified(n) > verified)
        n->rests.earned += HOLD_SECURED_TIME + bytes * HOLD_SECURED_BYTE_TIME;
}

static void refuse_bundle(struct node_link *l, struct buf *bundle, uint64_t token)
{
    struct node *n = l->node;
    const uint64_t bytes = bundle->len, verified = count_verified(n);
    const enum agent_refusal r = agent_receive(n->agent, l->index, bundle, token, node_now(n));
    earn_time(n, verified, bytes, r);
    if (r == REFUSE_NO_MEMORY)
        l->cla->ops->confirm(l->cla, token, CLA_FULL); /* no memory even for this answer */
}

static struct held *hold_bundle(struct node_link *l, struct buf *bundle, uint64_t token)
{
    struct held *h = calloc(1, sizeof *h);
    if (h == NULL || !agent_reserve(l->node->agent, l->index, bundle->len)) {
        free(h);
        return NULL;
    }
    *h = (struct held){.bundle = bundle, .token = token};
    list_add_tail(&l->held, &h->node);
    l->held_bytes += bundle->len;
    l->held_len++;
    l->held_total++;
    return h;
}

/* ---- links that cannot wait ---- */

static void take_bundle(struct node_link *l, struct buf *bundle, uint64_t token)
{
    struct node *n = l->node;
    const tick began = world_now(n->world), fair = HOLD_BUNDLE_TIME + bundle->len * HOLD_BYTE_TIME;
    const tick earned = n->rests.earned;
    took_begin(&n->took, n->world, began);
    refuse_bundle(l, bundle, token); /* or accept */
    const tick now = world_now(n->world);
    rest_received(&l->rest, &n->rests, 1, now);
    l->rests += rest_spend(&l->rest, &n->rests, took_end(&n->took, n->world, began, now),
                           fair + n->rests.earned - earned, 0, now);
}

static void receive_unless_resting(struct node_link *l, struct buf *bundle, uint64_t token)
{
    struct node *n = l->node;
    const tick now = world_now(n->world), until = rest_until(&l->rest, &n->rests);
    if (list_empty(&l->held) && until <= now) {
        take_bundle(l, bundle, token);
        return;
    }
    if (l->held_bytes + bundle->len > HOLD_REST_BYTES || hold_bundle(l, bundle, token) == NULL) {
        l->rest_refused++;
        buf_drop(bundle);
        l->cla->ops->confirm(l->cla, token, CLA_FULL);
        return;
    }
    n->rest_at = tick_min(n->rest_at, until > now ? until : now);
}

/* Out of the list, and out of the account. */
static struct held take_first(struct node_link *l)
{
    struct held *h = container_of(list_first(&l->held), struct held, node);
    const struct held was = *h;
    const uint64_t bytes = was.bundle->len;
    assert(l->held_bytes >= bytes && l->held_len > 0);
    agent_release(l->node->agent, l->index, bytes);
    l->held_bytes -= bytes;
    l->held_len--;
    list_sub(&h->node);
    free(h);
    return was;
}

/* One of each link that does not rest. True: there was one. *due: when there is the next one. */
static bool turn_links(struct node *n, tick *due)
{
    bool any = false;
    *due = TICK_NEVER;
    n->hold_turn++;
    for (size_t i = 0; i < n->links_len; i++) {
        struct node_link *l = n->links[(i + n->hold_turn) % n->links_len];
        if (l == NULL || l->cla == NULL || l->cla->ops->pause != NULL || list_empty(&l->held))
            continue;
        if (rest_until(&l->rest, &n->rests) <= world_now(n->world)) {
            const struct held h = take_first(l);
            take_bundle(l, h.bundle, h.token);
            any = true;
        }
        if (!list_empty(&l->held))
            *due = tick_min(*due, rest_until(&l->rest, &n->rests));
    }
    return any;
}

void node_hold_turn(struct node *n)
{
    const tick began = world_now(n->world);
    if (began < n->rest_at)
        return;
    while (turn_links(n, &n->rest_at) && world_now(n->world) - began < TURN_TIME)
        continue;
}

void node_hold_charge(struct node_link *l, tick took, tick fair, tick now)
{
    if (!cla_charge(l->cla, took, fair, now))
        l->rests += rest_spend(&l->rest, &l->node->rests, took, fair, 0, now);
}

/* ---- links that can ---- */

/* Bundles of which the peer has no copy any more (cla_ops.last_copy) stay here until the agent has
 * answered: the store may refuse them yet. NULL: no memory. */
static struct held *give_bundle(struct node_link *l, struct buf *bundle, uint64_t token,
                                enum agent_refusal why)
{
    struct held *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    *h = (struct held){.bundle = buf_keep(bundle), .token = token, .why = why};
    list_add_tail(&l->given, &h->node);
    l->probes += why == REFUSE_STORE;
    return h;
}

static void take_back(struct node_link *l, struct held *h)
{
    l->probes -= h->why == REFUSE_STORE;
    list_sub(&h->node);
    buf_drop(h->bundle);
    free(h);
}

/* True: the agent has it, or has refused it. *why: why it waits, as before or as it is now. */
static bool offer(struct node_link *l, struct buf *bundle, uint64_t token, enum agent_refusal *why)
{
    struct node *n = l->node;
    bool waits = false;
    const bool last = l->cla->ops->last_copy, again = *why != REFUSE_NONE && *why != REFUSE_LIMIT;
    const uint64_t bytes = bundle->len, verified = count_verified(n);
    struct held *given = last ? give_bundle(l, bundle, token, *why) : NULL;
    if (last && given == NULL) {
        buf_drop(bundle);
        l->cla->ops->confirm(l->cla, token, CLA_FULL);
        return true;
    }
    const enum agent_refusal r = agent_offer(
        n->agent, l->index, bundle, last ? (uint64_t)(uintptr_t)given : token,
        (again ? AGENT_OFFER_AGAIN : 0) | (last ? AGENT_OFFER_LAST : 0), &waits, node_now(n));
    earn_time(n, verified, bytes, r);
    if (given != NULL && (waits || r == REFUSE_NO_MEMORY))
        take_back(l, given); /* no answer follows */
    if (!waits && r == REFUSE_NO_MEMORY)
        l->cla->ops->confirm(l->cla, token, CLA_FULL);
    *why = waits ? r : *why;
    if (waits)
        node_watch_waits(l, r);
    return !waits;
}

/* Other bundles of the neighbour may have room although this one has none. */
static bool waits_aside(enum agent_refusal why)
{
    return why == REFUSE_QUEUE || why == REFUSE_LIMIT || why == REFUSE_QUOTA;
}

/* Nothing more is read when one waits for what all need, or when too many wait. */
static void set_pause(struct node_link *l)
{
    bool stop = l->held_len >= HOLD_ASIDE || l->held_bytes >= HOLD_ASIDE_BYTES || l->probes > 0;
    list_for_each (it, &l->held)
        stop = stop || !l->cla->ops->last_copy ||
               !waits_aside(container_of(it, struct held, node)->why);
    if (stop == l->hold_paused)
        return;
    l->hold_paused = stop;
    node_watch_stop(l, stop);
    l->cla->ops->pause(l->cla, stop);
}

static void try_soon(struct node *n)
{
    if (n->hold_at != TICK_NEVER)
        return;
    n->hold_pause = PAUSE_MIN;
    n->hold_at = tick_add(node_now(n).now, n->hold_pause);
}

void node_hold_receive(struct node_link *l, struct buf *bundle, uint64_t token)
{
    enum agent_refusal why = REFUSE_NONE;
    if (l->cla->ops->pause == NULL) {
        receive_unless_resting(l, bundle, token);
        return;
    }
    if (!l->hold_paused && offer(l, bundle, token, &why))
        return;
    struct held *h = hold_bundle(l, bundle, token);
    if (h == NULL && l->cla->ops->last_copy) {
        buf_drop(bundle);
        l->cla->ops->confirm(l->cla, token, CLA_FULL);
        return;
    }
    if (h == NULL) {
        refuse_bundle(l, bundle, token);
        return;
    }
    h->why = why;
    set_pause(l);
    try_soon(l->node);
}

static void unhold(struct node_link *l, struct held *h, uint64_t bytes)
{
    assert(l->held_bytes >= bytes && l->held_len > 0);
    l->held_bytes -= bytes;
    l->held_len--;
    list_sub(&h->node);
    free(h);
}

/* True: it is no longer held. */
static bool try_held(struct node_link *l, struct held *h)
{
    struct agent *a = l->node->agent;
    const uint64_t bytes = h->bundle->len;
    agent_release(a, l->index, bytes);
    if (!offer(l, h->bundle, h->token, &h->why)) {
        agent_reserve_again(a, l->index, bytes);
        return false;
    }
    unhold(l, h, bytes);
    return true;
}

/* True: some were accepted. A refusal by the store ends the try for all others. */
static bool try_link(struct node_link *l)
{
    bool any = false;
    list_for_each_safe (it, &l->held) {
        struct held *h = container_of(it, struct held, node);
        const bool probe = h->why == REFUSE_STORE;
        if (probe && l->probes > 0)
            break;
        const bool went = try_held(l, h);
        any = any || (went && !probe);
        if (probe || (!went && !(l->cla->ops->last_copy && waits_aside(h->why))))
            break;
    }
    set_pause(l);
    return any;
}

/* The store takes bundles again: those that it refused are like others that wait. */
static void end_probe(struct node_link *l)
{
    struct node *n = l->node;
    list_for_each (it, &l->held) {
        struct held *h = container_of(it, struct held, node);
        h->why = h->why == REFUSE_STORE ? REFUSE_FULL : h->why;
    }
    n->hold_pause = PAUSE_MIN;
    n->hold_at = list_empty(&l->held) ? n->hold_at : node_now(n).now;
}

/* True: it is held again. */
static bool hold_again(struct node_link *l, struct held *h)
{
    const bool probe = h->why == REFUSE_STORE;
    struct held *again = hold_bundle(l, h->bundle, h->token);
    if (again == NULL)
        return false;
    if (probe) {
        list_sub(&again->node);
        list_add_head(&l->held, &again->node);
    }
    again->why = REFUSE_STORE;
    h->bundle = NULL;
    return true;
}

bool node_hold_answer(struct node_link *l, const struct agent_action *a, uint64_t *token)
{
    *token = a->token;
    if (!l->cla->ops->last_copy)
        return false;
    struct held *h = (struct held *)(uintptr_t)a->token;
    const bool refused = a->kind == AGENT_REFUSED && a->refusal == REFUSE_STORE;
    const bool probe = h->why == REFUSE_STORE, waits = refused && hold_again(l, h);
    *token = h->token;
    take_back(l, h);
    if (probe && a->kind == AGENT_CONFIRM)
        end_probe(l);
    if (probe || waits)
        set_pause(l);
    if (waits)
        try_soon(l->node);
    return waits;
}

tick node_hold_try(struct node *n)
{
    const tick now = node_now(n).now, began = world_now(n->world);
    bool any = false, left = false;
    if (now < n->hold_at)
        return n->hold_at;
    n->hold_turn++;
    for (size_t i = 0; i < n->links_len; i++) {
        struct node_link *l = n->links[(i + n->hold_turn) % n->links_len];
        if (l == NULL || l->cla == NULL || l->cla->ops->pause == NULL ||
            (list_empty(&l->held) && l->probes == 0))
            continue;
        any = try_link(l) || any;
        left = left || !list_empty(&l->held) || l->probes > 0;
    }
    n->hold_pause = any ? PAUSE_MIN : tick_min(2 * n->hold_pause, PAUSE_MAX);
    const tick rest = HOLD_TRY_REST * (world_now(n->world) - began);
    n->hold_at = left ? tick_add(now, n->hold_pause > rest ? n->hold_pause : rest) : TICK_NEVER;
    return n->hold_at;
}

void node_hold_drop(struct node_link *l)
{
    while (!list_empty(&l->held)) {
        struct held *h = container_of(list_first(&l->held), struct held, node);
        list_sub(&h->node);
        buf_drop(h->bundle);
        free(h);
    }
    while (!list_empty(&l->given))
        take_back(l, container_of(list_first(&l->given), struct held, node));
    l->held_len = l->held_bytes = 0;
}
