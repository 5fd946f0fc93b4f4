/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes in: octets into a buffer of the link's, whole messages out of it, in place. The frames
 * of a TRANSFER-BUFFER are given one by one as slices of that buffer; only when all of it was given
 * is more read. A host that keeps a reference keeps the buffer, and the link goes on in another
 * one.
 */
#include <assert.h>

#include "base/port.h"
#include "base/secret.h"
#include "sle/engine_private.h"

enum { UNBOUND_BUFFER = 8192, UNBOUND_MESSAGE = 4096 };

bool sle_link_reads(const struct sle_link *l)
{
    /* A user always reads, so that one of both does. */
    bool answers = l->instance != NULL && l->instance->provides && l->answer_octets > ANSWERS_MAX;
    return l->state != SLE_ENDED && l->hungry && !l->eof && l->notice_at == l->notice_count &&
           !answers;
}

static size_t base_room(const struct sle_link *l)
{
    return link_bound(l) ? l->sle->config.receive_bytes : UNBOUND_BUFFER;
}

/* Another buffer with what is in the old one, which somebody may hold. */
static bool renew_buffer(struct sle_link *l, size_t room)
{
    struct buf *b = l->sle->rx_spare;
    if (b != NULL && b->cap == room)
        l->sle->rx_spare = NULL;
    else
        b = buf_new(0, room);
    if (b == NULL)
        return false;
    assert(b->refs == 1 && b->len == 0 && b->off == 0);
    if (l->rx != NULL) {
        memcpy(buf_append(b, l->rx->len), buf_data(l->rx), l->rx->len);
        buf_drop(l->rx);
    }
    l->rx = b;
    return true;
}

/* All whole messages are taken: what is left of the next is put aside, and the buffer is for
 * whichever link reads next, so that all read to the same memory, which is in the processor's
 * cache. */
static void yield_buffer(struct sle_link *l)
{
    struct buf *b = l->rx, *rest = NULL;
    struct sle *s = l->sle;
    if (b == NULL || b->refs > 1 || s->rx_spare != NULL || b->cap != s->config.receive_bytes ||
        b->len > b->cap / 4)
        return;
    if (b->len > 0) {
        rest = buf_new(0, b->len);
        if (rest == NULL)
            return; /* it stays where it is */
        memcpy(buf_append(rest, b->len), buf_data(b), b->len);
    }
    b->len = b->off = 0;
    l->rx = rest;
    s->rx_spare = b;
}

uint8_t *sle_link_space(struct sle_link *l, size_t *len)
{
    assert(sle_link_reads(l));
    struct buf *b = l->rx;
    size_t have = b == NULL ? 0 : b->len, room = base_room(l);
    size_t wanted = l->rx_wanted > have ? l->rx_wanted : have + 1;
    /* A long message gets room as its octets come. */
    if (wanted > room)
        room = wanted < 2 * have + room ? wanted : 2 * have + room;
    if (b == NULL || b->cap < room || (b->refs > 1 && buf_tailroom(b) < room / 4)) {
        if (!renew_buffer(l, room))
            return NULL;
        b = l->rx;
    } else if (b->refs == 1 && (have == 0 || buf_tailroom(b) < room / 4)) {
        memmove(b->mem, b->mem + b->off, have);
        b->off = 0;
    }
    *len = buf_tailroom(b);
    assert(*len > 0);
    return buf_data(b) + b->len;
}

void sle_link_fed(struct sle_link *l, size_t len, tick now)
{
    if (l->state == SLE_ENDED || len == 0)
        return;
    uint8_t *p = buf_append(l->rx, len);
    assert(p != NULL);
    (void)p;
    l->last_in = now;
    l->hungry = false;
    COUNT(l, octets_in, len);
}

/* ---- messages ---- */

static void take_context(struct sle_link *l, const struct sle_tml_message *m, tick now)
{
    const struct sle_tml_terms *t = &l->sle->config.tml;
    if (l->initiator || l->context) {
        link_abort(l, SLE_END_TML, SLE_ABORT_TML_PROTOCOL, now);
        return;
    }
    bool beats = m->heartbeat_s == 0
                     ? !t->forbid_unused
                     : m->heartbeat_s >= t->heartbeat_min_s &&
                           m->heartbeat_s <= t->heartbeat_max_s && m->dead_factor >= t->dead_min &&
                           m->dead_factor <= t->dead_max;
    if (!beats) {
        link_abort(l, SLE_END_TML, SLE_ABORT_TML_HEARTBEAT, now);
        return;
    }
    assert(l->state == SLE_UNBOUND_STATE && l->instance == NULL);
    link_beats(l, m->heartbeat_s, m->dead_factor, now);
    kept_set(l->sle, link_kept(l, KEPT_ESTABLISH), tick_add(now, t->establish));
}

static void refuse_message(struct sle_link *l, enum sle_tml_verdict verdict, tick now)
{
    /* Before the context there is nobody to abort. */
    if (!l->context || verdict == SLE_TML_BAD_CONTEXT)
        link_close(l, SLE_END_TML, now);
    else
        link_abort(l, SLE_END_TML, SLE_ABORT_TML_BAD_MESSAGE, now);
    assert(l->state == SLE_ENDED);
    l->abort = SLE_ABORT_TML_BAD_MESSAGE;
}

/* False: there is no whole message. */
static bool take_message(struct sle_link *l, tick now)
{
    struct sle_tml_message m;
    struct slice in = l->rx == NULL ? slice_of(NULL, 0) : buf_slice(l->rx);
    uint32_t max = link_bound(l) || l->initiator ? l->sle->config.tml.message_max : UNBOUND_MESSAGE;
    enum sle_tml_verdict verdict = sle_tml_read(in, max, &m);
    l->rx_wanted = verdict == SLE_TML_MORE ? (m.total > 0 ? m.total : SLE_TML_HEADER) : 0;
    if (verdict == SLE_TML_MORE)
        return false;
    if (verdict != SLE_TML_OK) {
        refuse_message(l, verdict, now);
        return true;
    }
    assert(l->rx != NULL && m.total <= l->rx->len);
    l->rx->off += m.total; /* its octets stay until sle_link_space */
    l->rx->len -= m.total;
    if (m.type == SLE_TML_CONTEXT_MESSAGE)
        take_context(l, &m, now);
    else if (m.type == SLE_TML_PDU)
        link_take_pdu(l, m.body, now);
    else if (!l->context)
        link_close(l, SLE_END_TML, now);
    else
        COUNT(l, heartbeats_in, 1);
    return true;
}

/* ---- PDUs ---- */

static bool is_return(enum sle_pdu_kind kind)
{
    return kind == SLE_PDU_BIND_RETURN || kind == SLE_PDU_UNBIND_RETURN;
}

/* What the peer has sent is remembered: it does not bind any more. A user remembers returns of BIND
 * alone: buffers of frames are many, and who can stand between it and the provider needs none of
 * them. */
static bool note_credentials(struct sle_link *l, const struct sle_credentials *c, bool binds,
                             tick now)
{
    const uint64_t made = sle_time_unix(c->time), at = l->sle->config.unix_ns + now;
    assert(l->replay != NULL);
    if (binds && replay_has(l->replay, made, c->random)) {
        COUNT(l, replays, 1);
        return false;
    }
    if (binds || l->instance == NULL || l->instance->provides)
        replay_add(l->replay, made, c->random, at, l->sle->config.auth_delay, l->sle->config.seed);
    return true;
}

bool link_authentic(struct sle_link *l, struct slice credentials, bool binds, bool *replayed,
                    tick now)
{
    struct sle_credentials c;
    const struct sle_config *g = &l->sle->config;
    *replayed = false;
    if (!sle_credentials_read(credentials, &c) ||
        sle_credentials_check(&c, &l->peer.who, g->hash, g->hash_context, sle_now(l->sle, now),
                              g->auth_delay) != SLE_AUTH_OK) {
        COUNT(l, auth_failed, 1);
        return false;
    }
    *replayed = !note_credentials(l, &c, binds, now);
    return !*replayed;
}

static bool check_credentials(struct sle_link *l, struct slice credentials, tick now)
{
    bool replayed;
    if (credentials.len > 0 && credentials.len == l->verified_len &&
        secret_same(l->verified, credentials.data, credentials.len)) /* of each frame */
        return true;
    if (!link_authentic(l, credentials, false, &replayed, now))
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
    if (l->peer.level == SLE_AUTH_NONE || (l->peer.level == SLE_AUTH_BIND && !binding))
        return true;
    if (binding ? link_authentic(l, p->credentials, true, &replayed, now)
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
    if (l->state == SLE_UNBOUND_STATE && verdict == SLE_PDU_UNKNOWN) /* nobody to abort */
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
        link_end(l, SLE_END_PEER_ABORT, SLE_STREAM_CLOSE, p->u.abort, now);
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

void link_take_pdu(struct sle_link *l, struct slice body, tick now)
{
    struct sle_pdu p;
    if (!l->context) {
        link_close(l, SLE_END_TML, now);
        return;
    }
    COUNT(l, pdus_in, 1);
    enum sle_pdu_verdict verdict = sle_pdu_read(&l->dialect_in, body, &p);
    if (verdict != SLE_PDU_OK)
        refuse_pdu(l, verdict, now);
    else if (!is_return(p.kind) || l->initiator) {
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
        if (l->peer.level == SLE_AUTH_ALL && !check_credentials(l, out->u.item.credentials, now)) {
            COUNT(l, ignored, 1);
            continue;
        }
        out->kind = out->u.item.is_sync ? SLE_SYNC : SLE_FRAME;
        out->owner = l->rx;
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
    if (l->notice_at == l->notice_count)
        l->notice_at = l->notice_count = 0;
    return true;
}

static bool give_over(struct sle_link *l, struct sle_notice *out)
{
    if (l->state != SLE_ENDED || l->over_told)
        return false;
    memset(out, 0, sizeof *out);
    out->kind = SLE_OVER;
    out->end = l->end;
    out->abort = l->abort;
    out->bind_diag = l->bind_diag;
    assert(l->notice_at == l->notice_count);
    l->over_told = true;
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
        if (l->hungry && !l->eof)
            return false;
        if (take_message(l, now))
            continue;
        if (!l->hungry)
            l->last_in = now; /* what was not read in the meantime is not missed */
        l->hungry = true;
        yield_buffer(l);
        if (!l->eof)
            return false;
        COUNT(l, breaks, 1);
        link_end(l, SLE_END_CLOSED, SLE_STREAM_CLOSE, SLE_ABORT_UNKNOWN, now);
    }
}
