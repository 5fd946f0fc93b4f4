/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BIND and UNBIND, of either side. The normal case: the initiator is known, its credentials are
 * right, its service instance exists, and no user is bound to it. A refusal is a negative return,
 * then the end of the connection. Wrong credentials have no answer (913.1-B-2 §3.1.2.2.2). Where
 * peers have to authenticate, an unknown initiator is treated like one with wrong credentials, in
 * the answer and in time, so that a connection does not reveal which users exist.
 */
#include <assert.h>
#include <stdio.h>

#include "sle/engine_private.h"

void bind_send(struct sle_link *l, tick now)
{
    struct sle_instance *i = l->instance;
    struct sle_pdu p = {.kind = SLE_PDU_BIND};
    assert(l->isp.initiator && l->state == SLE_UNBOUND_STATE && i->link == l);
    snprintf(p.u.bind.initiator, sizeof p.u.bind.initiator, "%s", l->sle->isp.config.self.id);
    snprintf(p.u.bind.port, sizeof p.u.bind.port, "%s", i->port);
    p.u.bind.service = i->service;
    p.u.bind.version = l->dialect_out.version;
    p.u.bind.instance = i->id;
    l->state = SLE_BINDING;
    kept_set(&l->sle->isp, link_kept(&l->isp, KEPT_ASSOCIATE),
             tick_add(now, i->return_timeout_s * TICK_S));
    (void)link_send(l, &p, now);
}

static bool permits(const struct sle_instance *i, const char *initiator)
{
    for (size_t k = 0; k < i->initiator_count; k++)
        if (strcmp(i->initiators[k], initiator) == 0)
            return true;
    return false;
}

static bool in_period(const struct sle_instance *i, struct sle_time now)
{
    const struct sle_provider_config *c = &i->p.c;
    return !(c->begin.known && sle_time_compare(now, c->begin.at) < 0) &&
           !(c->end.known && sle_time_compare(now, c->end.at) >= 0);
}

/* -1: nothing against it. */
static int judge_bind(struct sle_link *l, const struct sle_bind *b, struct sle_instance **found,
                      tick now)
{
    if (b->service != SLE_RAF && b->service != SLE_RCF && b->service != SLE_ROCF &&
        b->service != SLE_FCLTU)
        return SLE_BIND_SERVICE_TYPE;
    if (b->version < SLE_VERSION_MIN || b->version > SLE_VERSION_MAX)
        return SLE_BIND_VERSION;
    struct sle_instance *i = sle_instance_find(l->sle, b->instance.text);
    if (i == NULL)
        return SLE_BIND_NO_INSTANCE;
    if ((unsigned)i->service != b->service)
        return SLE_BIND_INCONSISTENT_TYPE;
    if ((i->versions >> b->version & 1) == 0)
        return SLE_BIND_VERSION;
    if (!permits(i, b->initiator) || (i->provides ? i->p.c.initiate : !i->u.c.respond))
        return SLE_BIND_NOT_ACCESSIBLE;
    if (i->link != NULL)
        return SLE_BIND_ALREADY_BOUND;
    if (i->provides && !in_period(i, sle_now(l->sle, now)))
        return SLE_BIND_INVALID_TIME;
    assert(i->initiator_count >= 1);
    *found = i;
    return -1;
}

static void answer_bind(struct sle_link *l, int diagnostic, uint32_t version, tick now)
{
    struct sle_pdu p = {.kind = SLE_PDU_BIND_RETURN};
    assert(!l->isp.initiator && (diagnostic < 0) == link_bound(l));
    snprintf(p.u.bind_return.responder, sizeof p.u.bind_return.responder, "%s",
             l->sle->isp.config.self.id);
    p.u.bind_return.positive = diagnostic < 0;
    p.u.bind_return.version = version;
    p.u.bind_return.diagnostic = diagnostic < 0 ? 0 : (uint32_t)diagnostic;
    if (l->dialect_out.any_bind || l->instance == NULL) /* any service's return looks the same */
        l->dialect_out = (struct sle_dialect){
            .service = SLE_RAF, .speaker = SLE_FROM_PROVIDER, .version = SLE_VERSION_MIN};
    if (l->instance == NULL && version >= SLE_VERSION_MIN && version <= SLE_VERSION_MAX)
        link_speak(l, (uint8_t)version);
    if (link_send(l, &p, now) != HELIO_OK || diagnostic < 0)
        return;
    COUNT(l, binds_refused, 1);
    l->isp.bind_diag = (unsigned)diagnostic;
    link_close(l, SLE_END_REFUSED, now);
}

void bind_take(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    const struct sle_bind *b = &pdu->u.bind;
    struct sle_instance *i = NULL;
    if (l->isp.initiator || l->state != SLE_UNBOUND_STATE) {
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_PROTOCOL_ERROR, now);
        return;
    }
    struct isp1_peer *peer = isp1_peer(&l->sle->isp, b->initiator);
    bool replayed = false;
    if (peer == NULL) {
        if (!isp1_hides(&l->isp, pdu->credentials, now))
            answer_bind(l, SLE_BIND_ACCESS_DENIED, b->version, now);
        return;
    }
    l->isp.peer = peer->p;
    l->isp.replay = &peer->replay;
    snprintf(l->isp.peer_id, sizeof l->isp.peer_id, "%s", b->initiator);
    if (l->isp.peer.level != SLE_AUTH_NONE &&
        !isp1_authentic(&l->isp, pdu->credentials, true, &replayed, now)) {
        link_close(l, replayed ? SLE_END_REPLAY : SLE_END_AUTH, now);
        return;
    }
    int diagnostic = judge_bind(l, b, &i, now);
    if (diagnostic < 0) {
        link_attach(l, i, (uint8_t)b->version);
        l->state = SLE_READY;
        l->isp.bound = true;
        kept_set(&l->sle->isp, link_kept(&l->isp, KEPT_ESTABLISH), TICK_NEVER);
        COUNT(l, binds, 1);
        link_notice(l, SLE_BOUND);
        provider_bound(i);
    }
    answer_bind(l, diagnostic, b->version, now);
    assert(l->state == (diagnostic < 0 ? SLE_READY : SLE_ENDED) || l->isp.end == SLE_END_MEMORY);
}

void bind_take_return(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    const struct sle_bind_return *r = &pdu->u.bind_return;
    if (l->state != SLE_BINDING) {
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_PROTOCOL_ERROR, now);
        return;
    }
    kept_set(&l->sle->isp, link_kept(&l->isp, KEPT_ASSOCIATE), TICK_NEVER);
    snprintf(l->isp.peer_id, sizeof l->isp.peer_id, "%s", r->responder);
    if (strcmp(r->responder, l->isp.peer.who.id) != 0) {
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_UNEXPECTED_RESPONDER, now);
    } else if (!r->positive) {
        COUNT(l, binds_refused, 1);
        l->isp.bind_diag = r->diagnostic;
        link_close(l, SLE_END_REFUSED, now);
    } else if (r->version != l->dialect_in.version) {
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_OTHER, now);
    } else {
        l->state = SLE_READY;
        l->isp.bound = true;
        COUNT(l, binds, 1);
        link_notice(l, SLE_BOUND);
        provider_bound(l->instance);
    }
    assert(l->state == SLE_READY || l->state == SLE_ENDED);
}

/* UNBIND: the side that sent BIND sends it. */
int unbind_send(struct sle_instance *i, enum sle_unbind reason, tick now)
{
    struct sle_link *l = i->link;
    struct sle_pdu p = {.kind = SLE_PDU_UNBIND, .u.unbind = reason};
    if (l == NULL || l->state != SLE_READY || !l->isp.initiator)
        return HELIO_ESTOPPED;
    if ((unsigned)reason > 127)
        return HELIO_EINVAL;
    int e = link_send(l, &p, now);
    if (e != HELIO_OK)
        return e;
    l->state = SLE_UNBINDING;
    kept_set(&l->sle->isp, link_kept(&l->isp, KEPT_ASSOCIATE),
             tick_add(now, i->return_timeout_s * TICK_S));
    assert(l->instance == i && i->link == l);
    return HELIO_OK;
}

void unbind_take(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    struct sle_pdu answer = {.kind = SLE_PDU_UNBIND_RETURN};
    if (l->isp.initiator || l->state != SLE_READY) {
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_PROTOCOL_ERROR, now);
        return;
    }
    link_notice(l, SLE_UNBOUND)->unbind = pdu->u.unbind;
    COUNT(l, unbinds, 1);
    if (link_send(l, &answer, now) != HELIO_OK)
        return;
    /* The initiator closes; if it does not, we do. */
    isp1_close_politely(&l->isp, now);
    assert(l->state == SLE_ENDED && l->isp.stream == SLE_STREAM_KEEP);
}

void unbind_take_return(struct sle_link *l, tick now)
{
    if (l->state != SLE_UNBINDING) {
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_PROTOCOL_ERROR, now);
        return;
    }
    kept_set(&l->sle->isp, link_kept(&l->isp, KEPT_ASSOCIATE), TICK_NEVER);
    link_notice(l, SLE_UNBOUND);
    COUNT(l, unbinds, 1);
    assert(l->isp.initiator);
    link_close(l, SLE_END_UNBOUND, now);
}
