/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input, as PDUs: the credentials are checked, then the PDU's handler is called. The frames of a
 * TRANSFER-BUFFER are delivered one by one as slices of the link's receive buffer. More is read
 * only when all of them were delivered.
 */
#include <assert.h>

#include "base/secret.h"
#include "sle/engine_private.h"

bool sle_link_reads(const struct sle_link *l)
{
    return isp1_reads(&l->isp);
}

uint8_t *sle_link_space(struct sle_link *l, size_t *len)
{
    return isp1_space(&l->isp, len);
}

void sle_link_fed(struct sle_link *l, size_t len, tick now)
{
    isp1_fed(&l->isp, len, now);
}

/* ---- PDUs ---- */

static bool is_return(enum sle_pdu_kind kind)
{
    return kind == SLE_PDU_BIND_RETURN || kind == SLE_PDU_UNBIND_RETURN;
}

static bool check_credentials(struct sle_link *l, struct slice credentials, tick now)
{
    bool replayed;
    if (credentials.len > 0 && credentials.len == l->verified_len &&
        secret_same(l->verified, credentials.data, credentials.len)) /* of each frame */
        return true;
    if (!isp1_authentic(&l->isp, credentials, false, &replayed, now))
        return false;
    assert(credentials.len <= sizeof l->verified);
    l->verified_len = credentials.len;
    memcpy(l->verified, credentials.data, credentials.len);
    return true;
}

/* A known PDU: are its credentials what was agreed? What BIND and UNBIND need of this has
 * consequences. */
static bool admit_pdu(struct sle_link *l, const struct sle_pdu *p, tick now)
{
    bool binding = p->kind == SLE_PDU_BIND_RETURN, replayed = false;
    l->verified_len = 0;
    if (p->kind == SLE_PDU_BIND || p->kind == SLE_PDU_BUFFER || p->kind == SLE_PDU_PEER_ABORT)
        return true; /* judged by themselves */
    if (l->isp.peer.level == SLE_AUTH_NONE || (l->isp.peer.level == SLE_AUTH_BIND && !binding))
        return true;
    if (binding ? isp1_authentic(&l->isp, p->credentials, true, &replayed, now)
                : check_credentials(l, p->credentials, now))
        return true;
    if (p->kind == SLE_PDU_UNBIND || binding)
        link_close(l, replayed ? SLE_END_REPLAY : SLE_END_AUTH, now);
    else
        COUNT(l, ignored, 1);
    return false;
}

static void refuse_pdu(struct sle_link *l, enum sle_pdu_verdict verdict, tick now)
{
    COUNT(l, pdus_bad, 1);
    if (l->state == SLE_UNBOUND_STATE && verdict == SLE_PDU_UNKNOWN) /* no association to abort */
        link_close(l, SLE_END_ABORTED, now);
    else
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_ENCODING_ERROR, now);
}

static void route_pdu(struct sle_link *l, const struct sle_pdu *p, tick now)
{
    switch (p->kind) {
    case SLE_PDU_BIND:
        bind_take(l, p, now);
        break;
    case SLE_PDU_BIND_RETURN:
        bind_take_return(l, p, now);
        break;
    case SLE_PDU_UNBIND:
        unbind_take(l, p, now);
        break;
    case SLE_PDU_UNBIND_RETURN:
        unbind_take_return(l, now);
        break;
    case SLE_PDU_PEER_ABORT: /* some send it as a PDU */
        COUNT(l, aborts_received, 1);
        isp1_end(&l->isp, SLE_END_PEER_ABORT, SLE_STREAM_CLOSE, p->u.abort, now);
        break;
    default:
        assert(l->instance != NULL);
        if (!link_bound(l))
            link_abort(l, SLE_END_ABORTED, SLE_ABORT_PROTOCOL_ERROR, now);
        else if (l->instance->provides)
            provider_take(l, p, now);
        else
            user_take(l, p, now);
    }
}

void link_take_pdu(struct isp1_link *isp, struct slice body, tick now)
{
    struct sle_link *l = container_of(isp, struct sle_link, isp);
    struct sle_pdu p;
    enum sle_pdu_verdict verdict = sle_pdu_read(&l->dialect_in, body, &p);
    if (verdict != SLE_PDU_OK)
        refuse_pdu(l, verdict, now);
    else if (!is_return(p.kind) || l->isp.initiator) {
        if (admit_pdu(l, &p, now))
            route_pdu(l, &p, now);
    } else
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_PROTOCOL_ERROR, now);
    assert(l->notice_count <= NOTICES_MAX);
}

/* ---- notices ---- */

/* The next of a TRANSFER-BUFFER; false: it is used up. */
static bool next_item(struct sle_link *l, struct sle_notice *out, tick now)
{
    for (;;) {
        enum sle_pdu_verdict v = sle_buffer_next(&l->dialect_in, &l->buffer, &out->u.item);
        if (v == SLE_PDU_UNKNOWN)
            return false;
        if (v == SLE_PDU_BAD) {
            l->buffer = slice_of(NULL, 0);
            refuse_pdu(l, v, now);
            return false;
        }
        if (l->isp.peer.level == SLE_AUTH_ALL &&
            !check_credentials(l, out->u.item.credentials, now)) {
            COUNT(l, ignored, 1);
            continue;
        }
        out->kind = out->u.item.is_sync ? SLE_SYNC : SLE_FRAME;
        out->owner = l->isp.rx;
        if (out->u.item.is_sync) {
            COUNT(l, syncs, 1);
        } else {
            COUNT(l, frames, 1);
            COUNT(l, frame_octets, out->u.item.data.len);
        }
        return true;
    }
}

static bool give_notice(struct sle_link *l, struct sle_notice *out)
{
    if (l->notice_at == l->notice_count)
        return false;
    *out = l->notices[l->notice_at++];
    l->isp.notices--;
    if (l->notice_at == l->notice_count)
        l->notice_at = l->notice_count = 0;
    return true;
}

static bool give_over(struct sle_link *l, struct sle_notice *out)
{
    if (l->state != SLE_ENDED || l->isp.over_told)
        return false;
    memset(out, 0, sizeof *out);
    out->kind = SLE_OVER;
    out->end = l->isp.end;
    out->abort = l->isp.abort;
    out->bind_diag = l->isp.bind_diag;
    assert(l->notice_at == l->notice_count);
    l->isp.over_told = true;
    return true;
}

bool sle_link_poll(struct sle_link *l, struct sle_notice *out, tick now)
{
    for (;;) {
        if (l->buffer.len > 0 && next_item(l, out, now))
            return true;
        if (give_notice(l, out))
            return true;
        if (l->state == SLE_ENDED)
            return give_over(l, out);
        if (l->instance != NULL && l->instance->link == l && l->instance->provides &&
            provider_flags(l->instance, out, now))
            return true;
        if (!isp1_step(&l->isp, now))
            return false;
    }
}
