/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes out: one ordered queue of messages. Credentials are put in when a message is first
 * given to be written, so that they are not old when it had to wait.
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/engine_private.h"

#define STAMP_AGE                                                                                  \
    (10 * TICK_S) /* credentials of what was not written for so long are made again                \
                   */

static enum sle_hash hash_of(const struct csts_link *l)
{
    return l->peer.hash == SLE_HASH_BY_VERSION ? SLE_SHA256 : l->peer.hash;
}

static size_t credentials_len(const struct csts_link *l, enum csts_pdu_kind kind)
{
    const bool binding = kind == CSTS_PDU_BIND || kind == CSTS_PDU_BIND_RETURN;
    if (l->peer.level == SLE_AUTH_NONE || (l->peer.level == SLE_AUTH_BIND && !binding))
        return 0;
    return hash_of(l) == SLE_SHA1 ? 40 : 52;
}

static struct message *new_message(size_t room)
{
    struct message *m = malloc(sizeof *m + room);
    if (m == NULL)
        return NULL;
    *m = (struct message){.stamped = TICK_NEVER};
    list_init(&m->node);
    return m;
}

static void enqueue(struct csts_link *l, struct message *m, size_t len)
{
    assert(len > 0 && l->state != CSTS_ENDED);
    m->len = len;
    list_add_tail(&l->queue, &m->node);
    l->queued += len;
}

int assoc_send_tml(struct csts_link *l, const uint8_t *octets, size_t len)
{
    struct message *m = new_message(len);
    if (m == NULL)
        return HELIO_ENOMEM;
    memcpy(m->octets, octets, len);
    enqueue(l, m, len);
    return HELIO_OK;
}

/* Octets that hold any PDU: its slices, and the rest, of which a BIND has most. */
static size_t room_for(const struct csts_pdu *p)
{
    size_t n = 2048 + p->credentials.len;
    if (p->extension.used)
        n += p->extension.pdv.data.len;
    if (csts_pdu_is_return(p->kind))
        return n + p->diagnostic.text.len + p->diagnostic.appellation.len +
               p->diagnostic.pdv.data.len;
    switch (p->kind) {
    case CSTS_PDU_GET:
        return n + p->u.list.text.len + p->u.list.items.len;
    case CSTS_PDU_NOTIFY:
        return n + p->u.notify.values.len + p->u.notify.pdv.data.len;
    case CSTS_PDU_TRANSFER_DATA:
        return n + p->u.transfer.data.opaque.len + p->u.transfer.data.pdv.data.len;
    case CSTS_PDU_PROCESS_DATA:
        return n + p->u.process.data.opaque.len + p->u.process.data.pdv.data.len;
    case CSTS_PDU_FORWARD_BUFFER:
    case CSTS_PDU_RETURN_BUFFER:
        return n + p->u.buffer.len;
    default:
        return n;
    }
}

/* Behind the tag and length at `at` of what we wrote. */
static size_t skip_head(const uint8_t *octets, size_t at)
{
    at += (octets[at] & 0x1f) == 0x1f ? 2 : 1;
    return at + 1 + (octets[at] < 0x80 ? 0 : octets[at] & 0x7f);
}

/* Credentials are the first member of the first SEQUENCE, but for the returns, which are that
 * SEQUENCE. */
static size_t find_credentials(const uint8_t *octets, enum csts_pdu_kind kind)
{
    size_t at = skip_head(octets, SLE_TML_HEADER);
    if (!csts_pdu_is_return(kind) || kind == CSTS_PDU_BIND_RETURN)
        at = skip_head(octets, at);
    assert(octets[at] == 0x81);
    return skip_head(octets, at);
}

int assoc_send(struct csts_link *l, struct csts_pdu *p, tick now)
{
    static const uint8_t blank[52];
    if (l->state == CSTS_ENDED)
        return HELIO_ESTOPPED;
    p->credentials = slice_of(blank, credentials_len(l, p->kind));
    const size_t room = room_for(p);
    struct message *m = new_message(SLE_TML_HEADER + room);
    const size_t n = m == NULL ? 0 : csts_pdu_write(p, m->octets + SLE_TML_HEADER, room);
    if (n == 0) {
        free(m);
        assoc_end(l, SLE_END_MEMORY, SLE_STREAM_RESET, SLE_ABORT_UNKNOWN, now);
        return HELIO_ENOMEM;
    }
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)n, m->octets);
    if (p->credentials.len > 0) {
        m->stamp = find_credentials(m->octets, p->kind);
        m->stamp_len = p->credentials.len;
    }
    enqueue(l, m, SLE_TML_HEADER + n);
    COUNT(l, pdus_out);
    return HELIO_OK;
}

static void stamp_message(struct csts_link *l, struct message *m, tick now)
{
    struct sle_credentials c;
    struct csts *s = l->csts;
    /* Four octets in DER, always. */
    const uint32_t random = 0x800000 + (uint32_t)rng_below(&s->rng, 0x80000000u - 0x800000u);
    assert(m->done == 0 && m->stamp + m->stamp_len <= m->len);
    if (!sle_credentials_make(&s->config.self, hash_of(l), s->config.hash, s->config.hash_context,
                              assoc_time(s, now), random, &c))
        memset(c.digest, 0, sizeof c.digest);
    const size_t n = sle_credentials_write(&c, m->octets + m->stamp, m->stamp_len);
    assert(n == m->stamp_len);
    (void)n;
    m->stamped = now;
}

size_t csts_link_output(struct csts_link *l, struct slice *parts, size_t max, tick now)
{
    size_t n = 0;
    assert(max >= 1);
    if (l->state == CSTS_ENDED && !l->closing)
        return 0;
    list_for_each (it, &l->queue) {
        struct message *m = container_of(it, struct message, node);
        if (n == max)
            break;
        if (m->stamp_len > 0 && m->done == 0 &&
            (m->stamped == TICK_NEVER || now - m->stamped > STAMP_AGE))
            stamp_message(l, m, now);
        parts[n++] = slice_of(m->octets + m->done, m->len - m->done);
    }
    return n;
}

void csts_link_wrote(struct csts_link *l, size_t octets, tick now)
{
    const bool full = l->queued > l->csts->config.backlog_max;
    struct list *node;
    if (octets > 0)
        l->last_out = now;
    while (octets > 0 && (node = list_first(&l->queue)) != NULL) {
        struct message *m = container_of(node, struct message, node);
        const size_t left = m->len - m->done, n = octets < left ? octets : left;
        m->done += n;
        octets -= n;
        l->queued -= n;
        if (n < left)
            break;
        list_sub(&m->node);
        free(m);
    }
    assert(octets == 0 || l->state == CSTS_ENDED);
    if (full && l->queued <= l->csts->config.backlog_max)
        l->last_in = now; /* what was not read while they waited is not missed */
    if (l->closing && !l->polite && list_empty(&l->queue)) {
        assoc_timer_set(&l->timers[TIMER_CLOSE], TICK_NEVER);
        l->stream = SLE_STREAM_CLOSE;
    }
}

void assoc_drop_queue(struct csts_link *l)
{
    struct list *node;
    while ((node = list_first(&l->queue)) != NULL) {
        list_sub(node);
        free(container_of(node, struct message, node));
    }
    l->queued = 0;
}
