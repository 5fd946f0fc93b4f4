/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of closed sessions, limited by number and age. A late duplicate must not open a
 * session again, and a late report or cancel must be acknowledged to the right peer. Records are
 * allocated when sessions open, so remembering cannot fail. The oldest record is dropped at the
 * limit. Unconfigured peers have a separate limit, so that they cannot displace records of others.
 *
 * A session that this engine cancelled, and whose cancel the peer never acknowledged, is remembered
 * longer: the peer may return after hours and retransmit gaps. Then it gets the cancel again.
 *
 * What can go wrong: a peer numbers its sessions from 1 again. Then its checkpoints have other
 * serial numbers, or the record has expired.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

static uint64_t closed_key(const struct ltp *l, struct ltp_session_id id, bool is_export)
{
    return hash_mix(l->closed.seed + (is_export ? 1 : 0), id.originator, id.number);
}

struct closed *ltp_closed_new(struct peer *peer, struct ltp_session_id id, bool is_export)
{
    assert(peer != NULL);
    struct closed *c = malloc(sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (struct closed){.id = id, .is_export = is_export, .peer = peer};
    list_init(&c->fifo);
    return c;
}

struct closed *ltp_closed_find(const struct ltp *l, struct ltp_session_id id, bool is_export)
{
    for (struct hash_node *n = hash_find(&l->closed, closed_key(l, id, is_export)); n != NULL;
         n = hash_next(n)) {
        struct closed *c = container_of(n, struct closed, node);
        if (c->id.originator == id.originator && c->id.number == id.number &&
            c->is_export == is_export)
            return c;
    }
    return NULL;
}

/* Of the records: those of unconfigured peers, and those whose peer may not know, have a quarter
 * each, rounded up, beside closed_memory. */
size_t ltp_closed_quarter(const struct ltp *l)
{
    assert(l->config.closed_memory >= 1);
    return ((size_t)l->config.closed_memory + 3) / 4;
}

static bool too_many(const struct ltp *l, bool unconfigured)
{
    if (unconfigured)
        return l->unconfigured.closed_len > ltp_closed_quarter(l);
    return l->closed.len - l->unconfigured.closed_len - l->unheard_len > l->config.closed_memory;
}

static bool too_old(const struct ltp *l, const struct closed *c, tick now)
{
    return now - c->since > l->config.closed_time && c->cancel == NULL;
}

/* What is too old or too much goes, but not this one. */
static void trim_records(struct ltp *l, const struct closed *kept, tick now)
{
    const bool unconfigured = kept->peer->unconfigured != NULL;
    struct list *all = unconfigured ? &l->unconfigured.closed : &l->closed_fifo;
    for (struct list *it = list_first(all); it != NULL && it != &kept->fifo; it = list_first(all)) {
        struct closed *old = container_of(it, struct closed, fifo);
        bool aged = too_old(l, old, now);
        if (!aged && !too_many(l, unconfigured))
            break;
        l->counters.closed_evicted += aged ? 0 : 1;
        ltp_closed_free(l, old);
    }
    assert(!too_many(l, unconfigured));
}

void ltp_closed_add(struct ltp *l, struct closed *c, tick now)
{
    assert(list_empty(&c->fifo));
    bool unconfigured = c->peer->unconfigured != NULL;
    struct list *all = unconfigured ? &l->unconfigured.closed : &l->closed_fifo;
    c->since = now;
    ltp_unconfigured_heard(c->peer, now);
    hash_add(&l->closed, &c->node, closed_key(l, c->id, c->is_export));
    c->peer->remembered++;
    assert(c->since == now && c->peer != NULL);
    l->unconfigured.closed_len += unconfigured;
    list_add_tail(all, &c->fifo);
    trim_records(l, c, now);
}

void ltp_closed_unheard(struct ltp *l, struct closed *c)
{
    assert(c->cancel == NULL && !c->unheard && !c->is_export);
    if (c->peer->unconfigured != NULL)
        return;
    list_sub(&c->fifo);
    list_add_tail(&l->unheard, &c->fifo);
    c->unheard = true;
    if (++l->unheard_len > ltp_closed_quarter(l)) {
        l->counters.closed_evicted++;
        ltp_closed_free(l, container_of(list_first(&l->unheard), struct closed, fifo));
    }
}

static void cancel_again(struct ltp *l, struct closed *c, tick now)
{
    assert(c->unheard && c->cancel == NULL && l->unheard_len > 0);
    if (!ltp_cancel_room(l, c->peer)) {
        l->counters.cancels_unsent++;
        return;
    }
    list_sub(&c->fifo);
    list_add_tail(&l->closed_fifo, &c->fifo);
    c->unheard = false;
    c->since = now;
    l->unheard_len--;
    trim_records(l, c, now);
    ltp_cancel_begin(l, c, (enum ltp_reason)c->reason, ORANGE_NONE);
}

bool ltp_closed_input(struct ltp *l, struct closed *c, const struct ltp_segment *s, tick now)
{
    assert(!c->is_export);
    bool known =
        s->rpt_serial != 0 && s->rpt_serial >= c->told.low && s->rpt_serial <= c->told.high;
    bool other = segment_is_checkpoint(s) && !known && serials_far(&c->asked, s->cp_serial);
    if (other || (too_old(l, c, now) && (!c->unheard || s->offset == 0))) {
        ltp_closed_free(l, c);
        return false;
    }
    if (c->unheard && segment_is_checkpoint(s) && list_empty(&c->peer->gone))
        cancel_again(l, c, now);
    return true;
}

void ltp_closed_free(struct ltp *l, struct closed *c)
{
    if (c->cancel != NULL)
        ltp_cancel_end(l, c->cancel);
    if (!list_empty(&c->fifo)) {
        assert(!c->unheard || l->unheard_len > 0);
        assert(c->peer->unconfigured == NULL || l->unconfigured.closed_len > 0);
        hash_sub(&l->closed, &c->node);
        list_sub(&c->fifo);
        l->unconfigured.closed_len -= c->peer->unconfigured != NULL;
        l->unheard_len -= c->unheard;
        ltp_peer_forgets(l, c->peer);
    }
    free(c);
}
