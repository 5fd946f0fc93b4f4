/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: octets are read into a buffer of the link, and whole messages are taken from it in place.
 * Octets to which a service refers stay there until its host polls again. If a host keeps a
 * reference, the buffer is kept, and the link continues in another one.
 */
#include <assert.h>

#include "sle/isp1.h"

enum { UNBOUND_BUFFER = 8192, UNBOUND_MESSAGE = 4096 };

bool isp1_reads(const struct isp1_link *l)
{
    const bool slow = l->answers_max > 0 && l->answer_octets > l->answers_max;
    return !l->ended && l->hungry && !l->eof && l->notices == 0 && !slow && !l->waits;
}

static size_t base_room(const struct isp1_link *l)
{
    return l->bound ? l->isp->config.receive_bytes : UNBOUND_BUFFER;
}

/* Another buffer with the octets of the old one, to which there may be references. */
static bool renew_buffer(struct isp1_link *l, size_t room)
{
    struct buf *b = l->isp->rx_spare;
    if (b != NULL && b->cap == room)
        l->isp->rx_spare = NULL;
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
static void yield_buffer(struct isp1_link *l)
{
    struct buf *b = l->rx, *rest = NULL;
    struct isp1 *s = l->isp;
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

uint8_t *isp1_space(struct isp1_link *l, size_t *len)
{
    assert(isp1_reads(l));
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

void isp1_fed(struct isp1_link *l, size_t len, tick now)
{
    if (l->ended || len == 0)
        return;
    uint8_t *p = buf_append(l->rx, len);
    assert(p != NULL);
    (void)p;
    l->last_in = now;
    l->hungry = false;
    isp1_count(l, ISP1_octets_in, len);
}

/* ---- messages ---- */

static void refuse_message(struct isp1_link *l, enum sle_tml_verdict verdict, tick now)
{
    /* Before the context there is no association to abort. */
    if (!l->context || verdict == SLE_TML_BAD_CONTEXT)
        isp1_close(l, SLE_END_TML, now);
    else
        isp1_abort(l, SLE_END_TML, SLE_ABORT_TML_BAD_MESSAGE, now);
    assert(l->ended);
    l->abort = SLE_ABORT_TML_BAD_MESSAGE;
}

static void take_pdu(struct isp1_link *l, struct slice body, tick now)
{
    if (!l->context) {
        isp1_close(l, SLE_END_TML, now);
        return;
    }
    isp1_count(l, ISP1_pdus_in, 1);
    l->isp->service->take_pdu(l, body, now);
}

/* False: there is no whole message. */
static bool take_message(struct isp1_link *l, tick now)
{
    struct sle_tml_message m;
    struct slice in = l->rx == NULL ? slice_of(NULL, 0) : buf_slice(l->rx);
    uint32_t max = l->bound || l->initiator ? l->isp->config.tml.message_max : UNBOUND_MESSAGE;
    enum sle_tml_verdict verdict = sle_tml_read(in, max, &m);
    l->rx_wanted = verdict == SLE_TML_MORE ? (m.total > 0 ? m.total : SLE_TML_HEADER) : 0;
    if (verdict == SLE_TML_MORE)
        return false;
    if (verdict != SLE_TML_OK) {
        refuse_message(l, verdict, now);
        return true;
    }
    assert(l->rx != NULL && m.total <= l->rx->len);
    l->rx->off += m.total; /* its octets stay until isp1_space */
    l->rx->len -= m.total;
    if (m.type == SLE_TML_CONTEXT_MESSAGE)
        isp1_take_context(l, &m, now);
    else if (m.type == SLE_TML_PDU)
        take_pdu(l, m.body, now);
    else if (!l->context)
        isp1_close(l, SLE_END_TML, now);
    else
        isp1_count(l, ISP1_heartbeats_in, 1);
    return true;
}

bool isp1_step(struct isp1_link *l, tick now)
{
    if ((l->hungry || l->waits) && !l->eof)
        return false;
    if (take_message(l, now))
        return true;
    if (!l->hungry)
        l->last_in = now; /* what was not read in the meantime is not missed */
    l->hungry = true;
    yield_buffer(l);
    if (!l->eof)
        return false;
    isp1_count(l, ISP1_breaks, 1);
    isp1_end(l, SLE_END_CLOSED, SLE_STREAM_CLOSE, SLE_ABORT_UNKNOWN, now);
    return true;
}

/* ---- credentials ---- */

/* Remembers the peer's credentials, so that they cannot be used for a BIND again. A user remembers
 * those of BIND returns only: there are too many transfer buffers, and an attacker between user and
 * provider gains nothing from theirs. */
static bool note_credentials(struct isp1_link *l, const struct sle_credentials *c, bool binds,
                             tick now)
{
    const uint64_t made = sle_time_unix(c->time), at = l->isp->config.unix_ns + now;
    assert(l->replay != NULL);
    if (binds && replay_has(l->replay, made, c->random)) {
        isp1_count(l, ISP1_replays, 1);
        return false;
    }
    if (binds || !l->forgets)
        replay_add(l->replay, made, c->random, at, l->isp->config.auth_delay, l->isp->config.seed);
    return true;
}

bool isp1_authentic(struct isp1_link *l, struct slice credentials, bool binds, bool *replayed,
                    tick now)
{
    struct sle_credentials c;
    const struct sle_config *g = &l->isp->config;
    *replayed = false;
    if (!sle_credentials_read(credentials, &c) ||
        sle_credentials_check(&c, &l->peer.who, g->hash, g->hash_context, isp1_time(l->isp, now),
                              g->auth_delay) != SLE_AUTH_OK) {
        isp1_count(l, ISP1_auth_failed, 1);
        return false;
    }
    *replayed = !note_credentials(l, &c, binds, now);
    return !*replayed;
}

static bool must_authenticate(const struct isp1 *s)
{
    list_for_each (it, &s->peers)
        if (container_of(it, struct isp1_peer, node)->p.level != SLE_AUTH_NONE)
            return true;
    return false;
}

bool isp1_hides(struct isp1_link *l, struct slice credentials, tick now)
{
    struct sle_credentials c;
    const struct sle_config *g = &l->isp->config;
    if (!must_authenticate(l->isp))
        return false;
    if (sle_credentials_read(credentials, &c))
        (void)sle_credentials_check(&c, &g->self, g->hash, g->hash_context, isp1_time(l->isp, now),
                                    g->auth_delay);
    isp1_count(l, ISP1_auth_failed, 1);
    isp1_close(l, SLE_END_AUTH, now);
    return true;
}
