/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes in: octets into the link's buffer, whole messages out of it, in place. More is read
 * only when the notices of what is there were given, so their slices stay.
 *
 * What can go wrong: a message that breaks the transport mapping's rules ends the link; a PDU that
 * cannot be decoded aborts it; one whose credentials are wrong is ignored, as the books demand, but
 * for BIND, UNBIND and BIND's return, which end it without a word.
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/engine_private.h"

enum { FIRST_ROOM = 4096, UNBOUND_MESSAGE = 4096 };

bool csts_link_reads(const struct csts_link *l)
{
    /* A user always reads, so that one of both does. */
    const bool slow = !l->initiator && l->queued > l->csts->config.backlog_max;
    return l->state != CSTS_ENDED && l->hungry && !l->eof && !l->told && !slow;
}

uint8_t *csts_link_space(struct csts_link *l, size_t *len)
{
    assert(csts_link_reads(l));
    const size_t have = l->in_len - l->in_at;
    /* A long message gets room as its octets come. */
    size_t room = l->wanted > have ? l->wanted : have + 1;
    room = room > 2 * have + FIRST_ROOM ? 2 * have + FIRST_ROOM : room;
    room = room < FIRST_ROOM ? FIRST_ROOM : room;
    if (l->in_at > 0 && have > 0)
        memmove(l->in, l->in + l->in_at, have);
    l->in_at = 0;
    l->in_len = have;
    if (l->in_cap < room) {
        uint8_t *more = realloc(l->in, room);
        if (more == NULL)
            return NULL;
        l->in = more;
        l->in_cap = room;
    }
    *len = l->in_cap - l->in_len;
    assert(*len > 0);
    return l->in + l->in_len;
}

void csts_link_fed(struct csts_link *l, size_t len, tick now)
{
    if (l->state == CSTS_ENDED || len == 0)
        return;
    assert(len <= l->in_cap - l->in_len);
    l->in_len += len;
    l->last_in = now;
    l->hungry = false;
}

/* ---- credentials ---- */

static bool note_credentials(struct csts_link *l, const struct sle_credentials *c, bool binds,
                             tick now)
{
    const struct csts_config *g = &l->csts->config;
    const uint64_t made = sle_time_unix(c->time);
    if (binds && replay_has(l->replay, made, c->random)) {
        COUNT(l, replays);
        return false;
    }
    if (binds || !l->initiator)
        replay_add(l->replay, made, c->random, g->unix_ns + now, g->auth_delay, g->seed);
    return true;
}

bool assoc_authentic(struct csts_link *l, struct slice credentials, bool binds, bool *replayed,
                     tick now)
{
    const struct csts_config *g = &l->csts->config;
    struct sle_credentials c;
    *replayed = false;
    if (!sle_credentials_read(credentials, &c) ||
        sle_credentials_check(&c, &l->peer.who, g->hash, g->hash_context, assoc_time(l->csts, now),
                              g->auth_delay) != SLE_AUTH_OK) {
        COUNT(l, auth_failed);
        return false;
    }
    *replayed = !note_credentials(l, &c, binds, now);
    return !*replayed;
}

/* Are the credentials what was agreed? BIND is judged by itself. */
static bool admit_pdu(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    const bool binding = p->kind == CSTS_PDU_BIND_RETURN;
    bool replayed;
    if (p->kind == CSTS_PDU_BIND || p->kind == CSTS_PDU_PEER_ABORT ||
        l->peer.level == SLE_AUTH_NONE || (l->peer.level == SLE_AUTH_BIND && !binding))
        return true;
    if (assoc_authentic(l, p->credentials, binding, &replayed, now))
        return true;
    if (p->kind == CSTS_PDU_UNBIND || binding)
        assoc_close(l, replayed ? SLE_END_REPLAY : SLE_END_AUTH, now);
    else
        COUNT(l, ignored);
    return false;
}

/* ---- messages ---- */

static void take_context(struct csts_link *l, const struct sle_tml_message *m, tick now)
{
    const struct sle_tml_terms *t = &l->csts->config.tml;
    if (l->initiator || l->context) {
        assoc_abort(l, SLE_END_TML, SLE_ABORT_TML_PROTOCOL, now);
        return;
    }
    const bool beats = m->heartbeat_s == 0
                           ? !t->forbid_unused
                           : m->heartbeat_s >= t->heartbeat_min_s &&
                                 m->heartbeat_s <= t->heartbeat_max_s &&
                                 m->dead_factor >= t->dead_min && m->dead_factor <= t->dead_max;
    if (!beats) {
        assoc_abort(l, SLE_END_TML, SLE_ABORT_TML_HEARTBEAT, now);
        return;
    }
    assoc_beats(l, m->heartbeat_s, m->dead_factor, now);
    assoc_timer_set(&l->timers[TIMER_ESTABLISH], tick_add(now, t->establish));
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
        assoc_end(l, SLE_END_PEER_ABORT, SLE_STREAM_CLOSE, p->u.abort, now);
        break;
    default:
        if (l->state != CSTS_BOUND && l->state != CSTS_UNBINDING)
            assoc_abort(l, SLE_END_ABORTED, CSTS_ABORT_PROTOCOL_ERROR, now);
        else if (l->initiator)
            assoc_user_take(l, p, now);
        else
            assoc_provider_take(l, p, now);
    }
}

static void take_pdu(struct csts_link *l, struct slice body, tick now)
{
    struct csts_pdu p;
    if (!l->context) {
        assoc_close(l, SLE_END_TML, now);
        return;
    }
    COUNT(l, pdus_in);
    const enum csts_pdu_verdict verdict = csts_pdu_read(body, &p);
    if (verdict == CSTS_PDU_OK) {
        if (admit_pdu(l, &p, now))
            route_pdu(l, &p, now);
        return;
    }
    COUNT(l, pdus_bad);
    if (l->state == CSTS_UNBOUND) /* nobody to abort */
        assoc_close(l, SLE_END_ABORTED, now);
    else
        assoc_abort(l, SLE_END_ABORTED,
                    verdict == CSTS_PDU_UNKNOWN ? CSTS_ABORT_UNRECOGNIZED_TYPE
                                                : CSTS_ABORT_ENCODING_ERROR,
                    now);
}

static void refuse_message(struct csts_link *l, enum sle_tml_verdict verdict, tick now)
{
    /* Before the context there is nobody to abort. */
    if (!l->context || verdict == SLE_TML_BAD_CONTEXT)
        assoc_close(l, SLE_END_TML, now);
    else
        assoc_abort(l, SLE_END_TML, SLE_ABORT_TML_BAD_MESSAGE, now);
    l->abort = SLE_ABORT_TML_BAD_MESSAGE;
}

/* False: there is no whole message. */
static bool take_message(struct csts_link *l, tick now)
{
    struct sle_tml_message m;
    const bool known = l->state != CSTS_UNBOUND;
    const enum sle_tml_verdict verdict =
        sle_tml_read(slice_of(l->in == NULL ? NULL : l->in + l->in_at, l->in_len - l->in_at),
                     known ? l->csts->config.tml.message_max : UNBOUND_MESSAGE, &m);
    l->wanted = verdict == SLE_TML_MORE ? (m.total > 0 ? m.total : SLE_TML_HEADER) : 0;
    if (verdict == SLE_TML_MORE)
        return false;
    if (verdict != SLE_TML_OK) {
        refuse_message(l, verdict, now);
        return true;
    }
    l->in_at += m.total; /* its octets stay until csts_link_space */
    if (m.type == SLE_TML_CONTEXT_MESSAGE)
        take_context(l, &m, now);
    else if (m.type == SLE_TML_PDU)
        take_pdu(l, m.body, now);
    else if (!l->context)
        assoc_close(l, SLE_END_TML, now);
    return true;
}

/* ---- notices ---- */

static bool give_over(struct csts_link *l, struct csts_notice *out)
{
    if (l->state != CSTS_ENDED || l->over_told)
        return false;
    memset(out, 0, sizeof *out);
    out->kind = CSTS_TOLD_OVER;
    out->end = l->end;
    out->abort = l->abort;
    out->bind_diag = l->bind_diag;
    l->over_told = true;
    return true;
}

bool csts_link_poll(struct csts_link *l, struct csts_notice *out, tick now)
{
    for (;;) {
        if (l->told) {
            *out = l->notice;
            l->told = false;
            return true;
        }
        if (l->state == CSTS_ENDED)
            return give_over(l, out);
        if (l->hungry && !l->eof)
            return false;
        if (take_message(l, now))
            continue;
        if (!l->hungry)
            l->last_in = now; /* what was not read in the meantime is not missed */
        l->hungry = true;
        if (!l->eof)
            return false;
        COUNT(l, breaks);
        assoc_end(l, SLE_END_CLOSED, SLE_STREAM_CLOSE, SLE_ABORT_UNKNOWN, now);
    }
}
