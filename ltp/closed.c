/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of sessions that are over, by number and by age: a late duplicate must not open one
 * again, and a late report or cancel must be acknowledged to the right peer. Records are made when
 * sessions open, so remembering cannot fail. The oldest goes when there are too many; guests have a
 * share of their own, so that they cannot make us forget the others'.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

static uint64_t key(const struct ltp *l, struct ltp_session_id id, bool export)
{
    return hash_mix(l->closed.seed + (export ? 1 : 0), id.originator, id.number);
}

struct closed *ltp_closed_new(struct peer *peer, struct ltp_session_id id, bool export)
{
    struct closed *c = malloc(sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (struct closed){.id = id, .export = export, .peer = peer};
    list_init(&c->fifo);
    return c;
}

struct closed *ltp_closed_find(const struct ltp *l, struct ltp_session_id id, bool export)
{
    for (struct hash_node *n = hash_find(&l->closed, key(l, id, export)); n != NULL;
         n = hash_next(n)) {
        struct closed *c = container_of(n, struct closed, node);
        if (c->id.originator == id.originator && c->id.number == id.number && c->export == export)
            return c;
    }
    return NULL;
}

static bool too_many(const struct ltp *l, bool guest)
{
    if (guest)
        return l->guests.closed_len > l->config.closed_memory / 4 + 1;
    return l->closed.len - l->guests.closed_len > l->config.closed_memory;
}

void ltp_closed_add(struct ltp *l, struct closed *c, tick now)
{
    assert(list_empty(&c->fifo));
    bool guest = c->peer->guest != NULL;
    struct list *all = guest ? &l->guests.closed : &l->closed_fifo;
    c->since = now;
    ltp_guest_heard(c->peer, now);
    hash_add(&l->closed, &c->node, key(l, c->id, c->export));
    l->guests.closed_len += guest;
    list_add_tail(all, &c->fifo);
    for (struct list *it = list_first(all); it != NULL && it != &c->fifo; it = list_first(all)) {
        struct closed *old = container_of(it, struct closed, fifo);
        bool aged = now - old->since > l->config.closed_time && old->cancel == NULL;
        if (!aged && !too_many(l, guest))
            break;
        l->counters.closed_evicted += aged ? 0 : 1;
        ltp_closed_free(l, old);
    }
}

void ltp_closed_free(struct ltp *l, struct closed *c)
{
    if (c->cancel != NULL)
        ltp_cancel_end(l, c->cancel);
    if (!list_empty(&c->fifo)) {
        hash_sub(&l->closed, &c->node);
        list_sub(&c->fifo);
        l->guests.closed_len -= c->peer->guest != NULL;
    }
    free(c);
}
