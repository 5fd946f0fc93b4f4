/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input, as PDUs: the credentials are checked, then the PDU's handler is called.
 *
 * What can go wrong: a PDU that cannot be decoded aborts the association; one whose credentials are
 * wrong is ignored, as the books demand, but for BIND, UNBIND and BIND's return, which end it
 * without an answer.
 */
#include "base/secret.h"
#include "csts/engine_private.h"

/* Are the credentials what was agreed? BIND is judged by itself. */
static bool admit_pdu(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    const bool binding = p->kind == CSTS_PDU_BIND_RETURN;
    bool replayed;
    if (p->kind == CSTS_PDU_FORWARD_BUFFER || p->kind == CSTS_PDU_RETURN_BUFFER)
        return true; /* judged by its elements */
    if (p->kind == CSTS_PDU_BIND || p->kind == CSTS_PDU_PEER_ABORT ||
        l->isp.peer.level == SLE_AUTH_NONE || (l->isp.peer.level == SLE_AUTH_BIND && !binding))
        return true;
    if (isp1_authentic(&l->isp, p->credentials, binding, &replayed, now))
        return true;
    if (p->kind == CSTS_PDU_UNBIND || binding)
        isp1_close(&l->isp, replayed ? SLE_END_REPLAY : SLE_END_AUTH, now);
    else
        COUNT(l, ignored);
    return false;
}

bool assoc_admit_element(struct csts_link *l, const struct csts_pdu *p, struct slice *last,
                         tick now)
{
    bool replayed;
    if (l->isp.peer.level != SLE_AUTH_ALL ||
        (last->len > 0 && last->len == p->credentials.len &&
         secret_same(last->data, p->credentials.data, last->len)))
        return true;
    if (!isp1_authentic(&l->isp, p->credentials, false, &replayed, now)) {
        COUNT(l, ignored);
        return false;
    }
    *last = p->credentials;
    return true;
}

static void route_pdu(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    switch (p->kind) {
    case CSTS_PDU_BIND:
        assoc_bind_take(l, p, now);
        break;
    case CSTS_PDU_BIND_RETURN:
        assoc_bind_take_return(l, p, now);
        break;
    case CSTS_PDU_UNBIND:
        assoc_unbind_take(l, p, now);
        break;
    case CSTS_PDU_UNBIND_RETURN:
        assoc_unbind_take_return(l, p, now);
        break;
    case CSTS_PDU_PEER_ABORT: /* ISP1 has an urgent octet for it; some may send it as a PDU */
        COUNT(l, aborts_received);
        isp1_end(&l->isp, SLE_END_PEER_ABORT, SLE_STREAM_CLOSE, p->u.abort, now);
        break;
    default:
        if (l->state != CSTS_BOUND && l->state != CSTS_UNBINDING)
            assoc_abort(l, CSTS_ABORT_PROTOCOL_ERROR, now);
        else if (l->isp.initiator)
            assoc_user_take(l, p, now);
        else
            assoc_provider_take(l, p, now);
    }
}

void assoc_take_pdu(struct isp1_link *isp, struct slice body, tick now)
{
    struct csts_link *l = container_of(isp, struct csts_link, isp);
    struct csts_pdu p;
    const enum csts_pdu_verdict verdict = csts_pdu_read(body, &p);
    if (verdict == CSTS_PDU_OK) {
        if (admit_pdu(l, &p, now))
            route_pdu(l, &p, now);
        return;
    }
    COUNT(l, pdus_bad);
    if (l->state == CSTS_UNBOUND) /* no association to abort */
        isp1_close(&l->isp, SLE_END_ABORTED, now);
    else
        assoc_abort(l,
                    verdict == CSTS_PDU_UNKNOWN ? CSTS_ABORT_UNRECOGNIZED_TYPE
                                                : CSTS_ABORT_ENCODING_ERROR,
                    now);
}
