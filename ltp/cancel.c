/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancellation (RFC 5326 §6.15-6.20). Cancelling ends the session at once. Two things remain: the
 * closed record and, until the peer acknowledges it, the cancel segment with its timer. A peer's
 * cancel is always acknowledged, also for a closed or unknown session.
 *
 * What can go wrong: no memory for the segment (then the peer's own timers end its session), and a
 * peer that causes endless refusals (the number of open cancels is limited).
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

/* The peer will not hear of it now: when it asks again. */
void ltp_cancel_unsaid(struct ltp *l, struct closed *session, enum event_orange orange)
{
    assert(session->cancel == NULL);
    if (!session->is_export && orange == ORANGE_NONE)
        ltp_closed_unheard(l, session);
}

void ltp_cancel_begin(struct ltp *l, struct closed *session, enum ltp_reason reason,
                      enum event_orange orange)
{
    assert(session->cancel == NULL && session->peer != NULL);
    session->reason = (uint8_t)reason;
    struct cancel *c = calloc(1, sizeof *c);
    if (c == NULL || ltp_timer_init(l, &c->timer, session->peer, USE_CANCEL) < 0) {
        free(c);
        ltp_cancel_unsaid(l, session, orange);
        return;
    }
    c->session = session;
    c->type = session->is_export ? LTP_CS : LTP_CR;
    c->reason = (uint8_t)reason;
    c->cause = CAUSE_FIRST;
    c->orange = (uint8_t)orange;
    list_init(&c->queue);
    list_add_tail(&session->peer->cancels, &c->queue);
    session->cancel = c;
    l->cancels++;
    ltp_pool_add(l, POOL_CANCELS, session->peer, 1);
    l->unconfigured.cancels += session->peer->unconfigured != NULL;
    assert(l->cancels > 0 && session->cancel == c);
    ltp_peer_touch(l, session->peer);
}

void ltp_cancel_end(struct ltp *l, struct cancel *c)
{
    assert(l->cancels > 0 && c->session->cancel == c);
    list_sub(&c->queue);
    ltp_timer_fini(l, &c->timer);
    c->session->cancel = NULL;
    l->cancels--;
    ltp_pool_sub(l, POOL_CANCELS, c->session->peer, 1);
    l->unconfigured.cancels -= c->session->peer->unconfigured != NULL;
    free(c);
}

/* §6.16 */
void ltp_cancel_expire(struct ltp *l, struct cancel *c, tick now)
{
    assert(list_empty(&c->queue) && c->sent > 0);
    ltp_emit_timer(l, c->session->peer, c->session->id, TIMER_CANCEL, 0, c->sent, now);
    if (c->sent > c->session->peer->span.retries_max) {
        struct closed *session = c->session;
        enum event_orange orange = (enum event_orange)c->orange;
        ltp_cancel_end(l, c);
        ltp_cancel_unsaid(l, session, orange);
        return;
    }
    c->cause = CAUSE_TIMER;
    list_add_tail(&c->session->peer->cancels, &c->queue);
    ltp_peer_touch(l, c->session->peer);
}

bool ltp_cancel_room(const struct ltp *l, const struct peer *peer)
{
    return ltp_pool_room(l, POOL_CANCELS, peer) > 0;
}

void ltp_cancel_refuse(struct ltp *l, struct peer *peer, struct ltp_session_id id,
                       enum ltp_reason reason, tick now)
{
    if (!ltp_cancel_room(l, peer)) {
        l->counters.cancels_unsent++;
        return;
    }
    struct closed *c = ltp_closed_new(peer, id, false);
    if (c == NULL)
        return;
    ltp_closed_add(l, c, now);
    ltp_cancel_begin(l, c, reason, ORANGE_NONE);
}

/* §6.17: the acknowledgement is sent even if the session is unknown. */
static enum verdict cancelled_by_peer(struct ltp *l, const struct ltp_segment *s, tick now,
                                      struct peer **peer)
{
    bool is_export = s->type == LTP_CR;
    struct session *open = ltp_session_find(l, s->id, is_export);
    struct closed *over = open != NULL ? NULL : ltp_closed_find(l, s->id, is_export);
    if (open != NULL || over != NULL)
        *peer = open != NULL ? open->peer : over->peer;
    else
        *peer = is_export ? ltp_peer_only(l) : ltp_peer_find(l, s->id.originator);
    if (*peer == NULL) {
        l->refused_peer = s->id.originator;
        return VERDICT_UNKNOWN_PEER;
    }
    uint8_t type = is_export ? LTP_CAR : LTP_CAS;
    ltp_peer_ack(l, *peer, (struct ack){.type = type, .id = s->id, .cause = CAUSE_FIRST});
    if (over != NULL)
        return VERDICT_CLOSED_SESSION;
    if (open == NULL) {
        /* data that the cancel overtook must not open the session */
        struct closed *c = is_export ? NULL : ltp_closed_new(*peer, s->id, false);
        if (c != NULL)
            ltp_closed_add(l, c, now);
        return VERDICT_UNKNOWN_SESSION;
    }
    enum ltp_reason reason = (enum ltp_reason)s->reason;
    if (!is_export) {
        ltp_import_close(l, container_of(open, struct import, s), OUTCOME_CANCELLED_REMOTE, reason,
                         now);
        return VERDICT_OK;
    }
    struct export_session *e = container_of(open, struct export_session, s);
    enum event_orange answer = e->orange ? ltp_orange_of(s) : ORANGE_NONE;
    if (answer != ORANGE_NONE)
        return ltp_orange_answered(l, e, answer, reason, now);
    ltp_support_cancelled(l, e, reason, now);
    ltp_export_close(l, e, OUTCOME_CANCELLED_REMOTE, reason, now, false);
    return VERDICT_OK;
}

/* §6.18 */
static enum verdict take_cancel_ack(struct ltp *l, const struct ltp_segment *s, struct peer **peer)
{
    struct closed *c = ltp_closed_find(l, s->id, s->type == LTP_CAS);
    if (c == NULL)
        return VERDICT_UNKNOWN_SESSION;
    *peer = c->peer;
    if (c->cancel == NULL)
        return VERDICT_CLOSED_SESSION;
    ltp_cancel_end(l, c->cancel);
    return VERDICT_OK;
}

enum verdict ltp_cancel_input(struct ltp *l, const struct ltp_segment *s, tick now,
                              struct peer **peer)
{
    /* §6.17: a CR names a session of ours, as does an acknowledgement of our CS */
    bool ours = s->type == LTP_CR || s->type == LTP_CAS;
    if (ours && s->id.originator != l->config.engine)
        return VERDICT_UNKNOWN_SESSION;
    if (s->type == LTP_CS || s->type == LTP_CR)
        return cancelled_by_peer(l, s, now, peer);
    return take_cancel_ack(l, s, peer);
}

int ltp_cancel(struct ltp *l, struct ltp_session_id id, enum ltp_reason reason, tick now)
{
    ltp_export_settle(l);
    struct session *s = ltp_session_find(l, id, id.originator == l->config.engine);
    if (s == NULL)
        s = ltp_session_find(l, id, false);
    if (s == NULL)
        return HELIO_ENOENT;
    if (s->is_export)
        ltp_export_close(l, container_of(s, struct export_session, s), OUTCOME_CANCELLED_LOCAL,
                         reason, now, false);
    else
        ltp_import_close(l, container_of(s, struct import, s), OUTCOME_CANCELLED_LOCAL, reason,
                         now);
    return 0;
}
