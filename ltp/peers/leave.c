/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removal of a span. Its sessions are closed with notices and records, as by a cancel, but nothing
 * is sent. Records of closed sessions refer to their peer and must outlive the span: the peer may
 * return with a session of which this engine has claimed a part, or with late segments. So the peer
 * is kept outside the table until its last record is removed; a span to the same engine finds it
 * again. Beyond GONE_MAX such peers, the oldest is removed with its records.
 *
 * Nothing can go wrong: the only allocations are the records that the sessions already have.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

/* Sessions close from the front of the table until none of the peer's is left. */
static void close_sessions(struct ltp *l, struct peer *p, tick now)
{
    struct hash_node *n = hash_walk(&l->sessions, NULL);
    while (p->exports + p->imports > 0) {
        assert(n != NULL);
        const struct session *s = container_of(n, struct session, node);
        if (s->peer != p) {
            n = hash_walk(&l->sessions, n);
            continue;
        }
        const struct ltp_session_id id = s->id;
        n = hash_walk(&l->sessions, n);
        int rc = ltp_cancel(l, id, LTP_USR_CNCLD, now);
        assert(rc == 0);
        (void)rc;
    }
}

/* The peer does not hear of it now. */
static void drop_cancel(struct ltp *l, struct cancel *c)
{
    struct closed *session = c->session;
    const enum event_orange orange = (enum event_orange)c->orange;
    ltp_cancel_end(l, c);
    ltp_cancel_unsaid(l, session, orange);
}

static void drop_output(struct ltp *l, struct peer *p)
{
    while (!list_empty(&p->cancels))
        drop_cancel(l, container_of(list_first(&p->cancels), struct cancel, queue));
    while (!list_empty(&p->timers)) {
        struct timer *t = container_of(list_first(&p->timers), struct timer, in_peer);
        assert(t->use == USE_CANCEL); /* the timers of sessions were removed with them */
        drop_cancel(l, container_of(t, struct cancel, timer));
    }
    free(p->acks);
    p->acks = NULL;
    p->ack_head = p->ack_len = p->ack_cap = 0;
    assert(list_empty(&p->reports) && list_empty(&p->checkpoints) && list_empty(&p->resends));
    assert(list_empty(&p->fresh) && list_empty(&p->held));
}

/* Of those that spans name. */
static struct peer *find_named(const struct ltp *l)
{
    for (struct hash_node *n = hash_walk(&l->peers, NULL); n != NULL; n = hash_walk(&l->peers, n)) {
        struct peer *p = container_of(n, struct peer, node);
        if (p->unconfigured == NULL)
            return p;
    }
    return NULL;
}

static void forget_closed(struct ltp *l, struct peer *p)
{
    struct list *const all[] = {&l->unheard, &l->closed_fifo};
    assert(!list_empty(&p->gone));
    for (size_t i = 0; i < 2; i++) {
        list_for_each_safe (it, all[i]) {
            struct closed *c = container_of(it, struct closed, fifo);
            const bool last = c->peer == p && p->remembered == 1;
            if (c->peer == p)
                ltp_closed_free(l, c);
            if (last)
                return; /* the peer is no more */
        }
    }
}

int ltp_span_remove(struct ltp *l, uint64_t engine, tick now)
{
    int rc = ltp_link(l, engine, false, now);
    if (rc < 0)
        return rc;
    struct peer *p = ltp_peer_find(l, engine);
    assert(p != NULL && p->unconfigured == NULL && list_empty(&p->gone) && l->named > 0);
    close_sessions(l, p, now);
    drop_output(l, p);
    l->authenticated -= p->ext_count > 0;
    l->sourced -= p->source_match > 0;
    p->source_match = 0;
    l->named--;
    hash_sub(&l->peers, &p->node);
    list_sub(&p->touched);
    l->last_peer = NULL;
    l->last_import = NULL;
    l->last_named = find_named(l);
    p->span.auth = NULL; /* the caller may free it */
    ltp_pools_share(l);
    list_add_tail(&l->gone, &p->gone);
    l->gone_len++;
    if (p->remembered == 0) {
        p->remembered = 1;
        ltp_peer_forgets(l, p);
    } else if (l->gone_len > GONE_MAX) {
        forget_closed(l, container_of(list_first(&l->gone), struct peer, gone));
    }
    assert(l->gone_len <= GONE_MAX && ltp_peer_peek(l, engine) == NULL);
    return 0;
}

void ltp_peer_forgets(struct ltp *l, struct peer *p)
{
    assert(p->remembered > 0);
    if (--p->remembered > 0 || list_empty(&p->gone))
        return;
    assert(l->gone_len > 0 && p->unconfigured == NULL);
    list_sub(&p->gone);
    l->gone_len--;
    free(p);
}

struct peer *ltp_peer_back(struct ltp *l, uint64_t engine)
{
    list_for_each (it, &l->gone) {
        struct peer *p = container_of(it, struct peer, gone);
        if (p->span.peer != engine)
            continue;
        const struct peer kept = {.n = p->n,
                                  .begun = p->begun,
                                  .support = {.learnt = p->support.learnt},
                                  .remembered = p->remembered};
        list_sub(&p->gone);
        l->gone_len--;
        *p = kept;
        ltp_peer_init(p);
        p->begun = kept.begun;
        assert(p->remembered > 0);
        return p;
    }
    return NULL;
}
