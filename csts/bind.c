/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Association control (921.1-B-2 §4.3): BIND and UNBIND. The normal case: the initiator is known,
 * its credentials are right, its service instance exists, and no user is bound to it. A refusal is
 * a negative return, then the end of the connection. Wrong credentials have no answer, as with
 * Space Link Extension.
 */
#include <assert.h>
#include <stdio.h>

#include "csts/engine_private.h"

static struct csts_procedure association(void)
{
    return (struct csts_procedure){.type = csts_known_oid(CSTS_ASSOCIATION_CONTROL),
                                   .role = CSTS_ASSOCIATION};
}

static void expect_return(struct csts_link *l, tick now)
{
    assoc_link_timer(l, KEPT_ASSOCIATE, tick_add(now, l->csts->config.return_timeout_s * TICK_S));
}

void assoc_bind_send(struct csts_link *l, tick now)
{
    struct csts_pdu p = {
        .kind = CSTS_PDU_BIND, .invoke_id = l->next_id++, .procedure = association()};
    assert(l->isp.initiator && l->state == CSTS_UNBOUND);
    snprintf(p.u.bind.initiator, sizeof p.u.bind.initiator, "%s", l->csts->config.self.id);
    snprintf(p.u.bind.port, sizeof p.u.bind.port, "%s", l->user.port);
    p.u.bind.service = l->user.id.type;
    p.u.bind.version = l->user.version;
    p.u.bind.instance = l->user.id;
    l->associate_id = p.invoke_id;
    l->state = CSTS_BINDING;
    expect_return(l, now);
    (void)assoc_send(l, &p, now);
}

static struct csts_service *find_service(const struct csts *s, const struct csts_instance_id *id)
{
    list_for_each (it, &s->services) {
        struct csts_service *v = container_of(it, struct csts_service, node);
        if (csts_instance_same(&v->c.id, id))
            return v;
    }
    return NULL;
}

static bool is_served(const struct csts *s, const struct csts_oid *type)
{
    list_for_each (it, &s->services)
        if (csts_oid_same(&container_of(it, struct csts_service, node)->c.id.type, type))
            return true;
    return csts_oid_is(type, CSTS_MONITORED_DATA) || csts_oid_is(type, CSTS_FORWARD_FRAME);
}

/* 0: nothing against it. */
static enum csts_bind_diag judge_bind(const struct csts_link *l, const struct csts_bind *b,
                                      struct csts_service **found)
{
    if (!is_served(l->csts, &b->service))
        return CSTS_BIND_SERVICE_TYPE;
    if (!csts_oid_same(&b->service, &b->instance.type))
        return CSTS_BIND_INCONSISTENT_TYPE;
    struct csts_service *v = find_service(l->csts, &b->instance);
    if (v == NULL)
        return CSTS_BIND_NO_INSTANCE;
    if (b->version != v->c.version)
        return CSTS_BIND_VERSION;
    if (v->c.initiator[0] != '\0' && strcmp(v->c.initiator, b->initiator) != 0)
        return CSTS_BIND_NOT_ACCESSIBLE;
    if (v->link != NULL)
        return CSTS_BIND_ALREADY_BOUND;
    *found = v;
    return (enum csts_bind_diag)0;
}

static void answer_bind(struct csts_link *l, uint32_t invoke_id, enum csts_bind_diag diag, tick now)
{
    uint8_t octets[128];
    struct csts_pdu p = {
        .kind = CSTS_PDU_BIND_RETURN, .invoke_id = invoke_id, .positive = diag == 0};
    snprintf(p.u.responder, sizeof p.u.responder, "%s", l->csts->config.self.id);
    if (diag != 0) {
        const char *text = csts_bind_text(diag);
        p.diagnostic.kind = CSTS_DIAGNOSTIC_EXTENSION;
        p.diagnostic.pdv.oid = csts_known_oid(CSTS_BIND_DIAGNOSTIC);
        p.diagnostic.pdv.data =
            slice_of(octets, csts_bind_diag_write(diag, slice_of(text, strlen(text)), octets,
                                                  sizeof octets));
    }
    if (assoc_send(l, &p, now) != HELIO_OK || diag == 0)
        return;
    COUNT(l, binds_refused);
    l->isp.bind_diag = diag;
    isp1_close(&l->isp, SLE_END_REFUSED, now);
}

void assoc_bind_take(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    const struct csts_bind *b = &p->u.bind;
    struct csts_service *v = NULL;
    bool replayed;
    if (l->isp.initiator || l->state != CSTS_UNBOUND) {
        assoc_refuse(l, now);
        return;
    }
    struct isp1_peer *peer = isp1_peer(&l->csts->isp, b->initiator);
    if (peer == NULL) {
        if (!isp1_hides(&l->isp, p->credentials, now))
            answer_bind(l, p->invoke_id, CSTS_BIND_ACCESS_DENIED, now);
        return;
    }
    l->isp.peer = peer->p;
    l->isp.replay = &peer->replay;
    snprintf(l->isp.peer_id, sizeof l->isp.peer_id, "%s", b->initiator);
    if (l->isp.peer.level != SLE_AUTH_NONE &&
        !isp1_authentic(&l->isp, p->credentials, true, &replayed, now)) {
        isp1_close(&l->isp, replayed ? SLE_END_REPLAY : SLE_END_AUTH, now);
        return;
    }
    const enum csts_bind_diag diag = judge_bind(l, b, &v);
    if (diag == 0) {
        l->service = v;
        v->link = l;
        l->state = CSTS_BOUND;
        l->isp.bound = true;
        assoc_link_timer(l, KEPT_ESTABLISH, TICK_NEVER);
        COUNT(l, binds);
        assoc_notice(l, CSTS_TOLD_BOUND, NULL);
    }
    answer_bind(l, p->invoke_id, diag, now);
}

void assoc_bind_take_return(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct slice text;
    if (!l->isp.initiator || l->state != CSTS_BINDING) {
        assoc_refuse(l, now);
        return;
    }
    if (p->invoke_id != l->associate_id) {
        assoc_abort(l, CSTS_ABORT_UNSOLICITED_INVOKE_ID, now);
        return;
    }
    assoc_link_timer(l, KEPT_ASSOCIATE, TICK_NEVER);
    snprintf(l->isp.peer_id, sizeof l->isp.peer_id, "%s", p->u.responder);
    if (strcmp(p->u.responder, l->isp.peer.who.id) != 0) {
        assoc_abort(l, CSTS_ABORT_UNEXPECTED_RESPONDER, now);
    } else if (!p->positive) {
        COUNT(l, binds_refused);
        if (p->diagnostic.kind != CSTS_DIAGNOSTIC_EXTENSION ||
            !csts_oid_is(&p->diagnostic.pdv.oid, CSTS_BIND_DIAGNOSTIC) ||
            !csts_bind_diag_read(p->diagnostic.pdv.data, &l->isp.bind_diag, &text))
            l->isp.bind_diag = 0;
        isp1_close(&l->isp, SLE_END_REFUSED, now);
    } else {
        l->state = CSTS_BOUND;
        l->isp.bound = true;
        COUNT(l, binds);
        assoc_notice(l, CSTS_TOLD_BOUND, p);
    }
}

int csts_unbind(struct csts_link *l, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_UNBIND, .procedure = association()};
    if (!l->isp.initiator || l->state != CSTS_BOUND)
        return HELIO_ESTOPPED;
    p.invoke_id = l->next_id++;
    const int e = assoc_send(l, &p, now);
    if (e != HELIO_OK)
        return e;
    l->associate_id = p.invoke_id;
    l->state = CSTS_UNBINDING;
    expect_return(l, now);
    return (int)p.invoke_id;
}

void assoc_unbind_take(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct csts_pdu answer = {
        .kind = CSTS_PDU_UNBIND_RETURN, .invoke_id = p->invoke_id, .positive = true};
    if (l->isp.initiator || l->state != CSTS_BOUND || !assoc_provider_may_unbind(l)) {
        assoc_refuse(l, now);
        return;
    }
    assoc_notice(l, CSTS_TOLD_UNBOUND, p);
    COUNT(l, unbinds);
    if (assoc_send(l, &answer, now) != HELIO_OK)
        return;
    isp1_close_politely(&l->isp, now);
}

void assoc_unbind_take_return(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    if (!l->isp.initiator || l->state != CSTS_UNBINDING) {
        assoc_refuse(l, now);
        return;
    }
    if (p->invoke_id != l->associate_id) {
        assoc_abort(l, CSTS_ABORT_UNSOLICITED_INVOKE_ID, now);
        return;
    }
    assoc_link_timer(l, KEPT_ASSOCIATE, TICK_NEVER);
    assoc_notice(l, CSTS_TOLD_UNBOUND, p);
    COUNT(l, unbinds);
    isp1_close(&l->isp, SLE_END_UNBOUND, now);
}
