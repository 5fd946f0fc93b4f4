/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unconfigured peers: engines without a span that may send blocks. The first segment that could
 * open a session gives its engine a place in a table of fixed size, bound to the source address.
 * From then on it is a peer like the others, with the common span of unconfigured peers, but it
 * only sends.
 *
 * What can go wrong:
 *
 * No place is free. A place becomes free when its peer has nothing open and was silent for
 * closed_time, so unknown senders cannot displace an active peer. The earliest such time is stored,
 * so that a flood does not cause a search for each segment.
 *
 * No memory: the peer is not admitted.
 *
 * A forged source: until a peer has acknowledged a report, at most CREDIT_FACTOR times the bytes
 * received from it are sent to it, both with UDP and IP headers. Segments beyond that are dropped
 * as if lost in transmission: timers and retry limits continue.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

int ltp_unconfigured_init(struct ltp *l, const struct ltp_config *config)
{
    struct unconfigured_peers *all = &l->unconfigured;
    list_init(&all->ready);
    list_init(&all->closed);
    ltp_unproven_init(&all->unproven);
    if (config->unconfigured_max == 0)
        return 0;
    if (config->unconfigured_max > UNCONFIGURED_MAX || config->unconfigured == NULL ||
        config->unconfigured->idle_timeout == 0)
        return HELIO_EINVAL;
    struct ltp_span span = *config->unconfigured;
    span.peer = 1; /* each has its own */
    all->model.peer.unconfigured = &all->model;
    if (ltp_peer_span(&all->model.peer, &span) < 0)
        return HELIO_EINVAL;
    l->config.unconfigured = NULL; /* it was the caller's */
    all->at = calloc(config->unconfigured_max, sizeof(struct unconfigured *));
    return all->at == NULL ? HELIO_ENOMEM : 0;
}

void ltp_unconfigured_fini(struct ltp *l)
{
    list_for_each_safe (it, &l->unconfigured.closed)
        ltp_closed_free(l, container_of(it, struct closed, fifo));
    free(l->unconfigured.at);
    l->unconfigured.at = NULL;
}

bool ltp_unconfigured_may(const struct ltp *l, uint64_t engine)
{
    return l->unconfigured.at != NULL && engine != 0 && engine != l->config.engine;
}

static bool at_rest(const struct unconfigured *g)
{
    const struct peer *p = &g->peer;
    return p->imports == 0 && list_empty(&p->timers) && list_empty(&p->cancels) && p->ack_len == 0;
}

bool ltp_unconfigured_leave(struct ltp *l, struct unconfigured *g)
{
    if (!at_rest(g))
        return false;
    assert(list_empty(&g->peer.reports) && g->peer.exports == 0);
    list_for_each_safe (it, &l->unconfigured.closed) {
        struct closed *c = container_of(it, struct closed, fifo);
        if (c->peer == &g->peer)
            ltp_closed_free(l, c);
    }
    list_sub(&g->ready);
    l->unconfigured.at[g->place] = NULL;
    l->unconfigured.full_until = 0;
    l->counters.unconfigured--;
    ltp_peer_free(l, &g->peer); /* the first of its fields */
    return true;
}

/* Finds a free place; HELIO_EAGAIN: none. */
static int find_place(struct ltp *l, tick now)
{
    tick free_at = tick_add(now, l->config.closed_time);
    if (now < l->unconfigured.full_until)
        return HELIO_EAGAIN;
    for (uint32_t i = 0; i < l->config.unconfigured_max; i++) {
        struct unconfigured *g = l->unconfigured.at[i];
        if (g == NULL)
            return (int)i;
        tick due = tick_add(g->quiet_since, l->config.closed_time);
        if (due <= now && ltp_unconfigured_leave(l, g))
            return (int)i;
        if (at_rest(g)) /* else it closes later than now */
            free_at = tick_min(free_at, due);
    }
    l->unconfigured.full_until = free_at;
    return HELIO_EAGAIN;
}

_Static_assert(offsetof(struct unconfigured, peer) == 0, "freed as a peer");

enum verdict ltp_unconfigured_admit(struct ltp *l, uint64_t engine, struct slice source, tick now,
                                    struct peer **out)
{
    assert(ltp_unconfigured_may(l, engine) && ltp_peer_peek(l, engine) == NULL);
    int i = find_place(l, now);
    if (i < 0)
        return VERDICT_LIMIT_PEERS;
    struct unconfigured *g = calloc(1, sizeof *g);
    if (g == NULL)
        return VERDICT_NO_MEMORY;
    struct peer *p = &g->peer;
    ltp_peer_init(p);
    p->span = l->unconfigured.model.peer.span;
    p->span.peer = engine;
    ltp_auth_set(p);
    p->unconfigured = g;
    p->up = p->hears = true;
    p->up_since = now;
    list_init(&g->ready);
    g->place = (uint32_t)i;
    g->quiet_since = now;
    g->source_len = (uint8_t)source.len;
    if (source.len > 0)
        memcpy(g->source, source.data, source.len);
    hash_add(&l->peers, &p->node, ltp_peer_key(l, engine));
    l->unconfigured.at[i] = g;
    l->counters.unconfigured++;
    l->counters.unconfigured_accepted++;
    *out = p;
    return VERDICT_OK;
}

void ltp_unconfigured_heard(struct peer *p, tick now)
{
    if (PORT_UNLIKELY(p->unconfigured != NULL))
        p->unconfigured->quiet_since = now;
}

void ltp_unconfigured_credit(struct peer *p, size_t len)
{
    if (PORT_UNLIKELY(p->unconfigured != NULL))
        p->unconfigured->credit += CREDIT_FACTOR * ((uint64_t)len + HEADERS_MIN);
}

bool ltp_unconfigured_pays(struct ltp *l, struct peer *p, size_t len)
{
    struct unconfigured *g = p->unconfigured;
    if (PORT_LIKELY(g == NULL || g->verified))
        return true;
    const uint64_t cost = (uint64_t)len + HEADERS_MAX;
    if (g->credit < cost) {
        l->counters.unconfigured_unsent++;
        return false;
    }
    g->credit -= cost;
    return true;
}

void ltp_unconfigured_verified(struct peer *p)
{
    if (PORT_UNLIKELY(p->unconfigured != NULL))
        p->unconfigured->verified = true;
}

uint64_t ltp_unconfigured_serial(struct ltp *l, const struct peer *p)
{
    if (PORT_LIKELY(p->unconfigured == NULL || p->unconfigured->verified))
        return 1 + rng_below(&l->rng, SERIAL_FIRST);
    /* a peer that knows it has received it: it is unrelated to numbers that others see */
    uint64_t secret = hash_secret(l->config.secret, l->counters.opened_import, p->span.peer);
    return 1 + secret % SERIAL_UNVERIFIED;
}

void ltp_unconfigured_wake(struct ltp *l, struct peer *p)
{
    if (PORT_UNLIKELY(p->unconfigured != NULL && list_empty(&p->unconfigured->ready)))
        list_add_tail(&l->unconfigured.ready, &p->unconfigured->ready);
}

static struct ltp_unconfigured info_of(const struct unconfigured *g)
{
    struct ltp_unconfigured info = {.peer = g->peer.span.peer,
                                    .place = g->place,
                                    .sessions = g->peer.imports,
                                    .quiet_since = g->quiet_since,
                                    .source_len = g->source_len};
    memcpy(info.source, g->source, sizeof info.source);
    return info;
}

bool ltp_unconfigured_next(struct ltp *l, struct ltp_unconfigured *out)
{
    struct list *first;
    while ((first = list_first(&l->unconfigured.ready)) != NULL) {
        struct unconfigured *g = container_of(first, struct unconfigured, ready);
        list_sub(first);
        if (!ltp_has_output(l, g->peer.span.peer))
            continue;
        list_add_tail(&l->unconfigured.ready, first);
        *out = info_of(g);
        return true;
    }
    return false;
}

bool ltp_unconfigured_ready(const struct ltp *l)
{
    return !list_empty(&l->unconfigured.ready);
}

bool ltp_unconfigured_at(const struct ltp *l, uint32_t at, struct ltp_unconfigured *out)
{
    if (l->unconfigured.at == NULL || at >= l->config.unconfigured_max ||
        l->unconfigured.at[at] == NULL)
        return false;
    *out = info_of(l->unconfigured.at[at]);
    return true;
}

bool ltp_is_unconfigured(const struct ltp *l, uint64_t engine)
{
    const struct peer *p = ltp_peer_peek(l, engine);
    return p != NULL && p->unconfigured != NULL;
}
