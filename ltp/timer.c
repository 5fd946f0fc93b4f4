/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timers of an engine: checkpoint (USE_CHECKPOINT), report (USE_REPORT, before it USE_DELAY),
 * cancel (USE_CANCEL), silence of an import (USE_IDLE) and of an export session (USE_STALL). While
 * a peer is known not to transmit, the timers of its answers are suspended with their remaining
 * time (RFC 5326 §6.5, §6.6). Only USE_DELAY continues, because it is processing at this end.
 * Nothing can fail after ltp_timer_init.
 */
#include <assert.h>

#include "ltp/engine.h"

int ltp_timer_init(struct ltp *l, struct timer *t, struct peer *peer, enum timer_use use)
{
    int rc = heap_reserve(&l->heap, l->timers + 1);
    heap_node_init(&t->node);
    list_init(&t->in_peer);
    t->peer = peer;
    t->use = use;
    t->left = 0;
    if (rc == 0)
        l->timers++;
    return rc;
}

void ltp_timer_fini(struct ltp *l, struct timer *t)
{
    ltp_timer_stop(l, t);
    assert(l->timers > 0);
    l->timers--;
}

void ltp_timer_start(struct ltp *l, struct timer *t, tick now, tick duration)
{
    ltp_timer_stop(l, t);
    list_add_tail(&t->peer->timers, &t->in_peer);
    if (!t->peer->hears && t->use != USE_DELAY) {
        t->left = duration;
        return;
    }
    int rc = heap_set(&l->heap, &t->node, tick_add(now, duration));
    assert(rc == 0);
    (void)rc;
}

void ltp_timer_stop(struct ltp *l, struct timer *t)
{
    heap_sub(&l->heap, &t->node);
    list_sub(&t->in_peer);
}

void ltp_timers_suspend(struct ltp *l, struct peer *peer, tick now)
{
    list_for_each (it, &peer->timers) {
        struct timer *t = container_of(it, struct timer, in_peer);
        if (t->use == USE_DELAY)
            continue;
        t->left = t->node.due > now ? t->node.due - now : 0;
        heap_sub(&l->heap, &t->node);
    }
}

void ltp_timers_resume(struct ltp *l, struct peer *peer, tick now)
{
    list_for_each (it, &peer->timers) {
        struct timer *t = container_of(it, struct timer, in_peer);
        if (heap_has(&t->node))
            continue;
        int rc = heap_set(&l->heap, &t->node, tick_add(now, t->left));
        assert(rc == 0);
        (void)rc;
    }
}
