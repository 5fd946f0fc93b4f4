/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes out: one ordered queue of messages, given as slices. Credentials are put in when a
 * message is first given to be written, so that they are not old when it had to wait; all that is
 * in one transfer buffer has the same.
 *
 * Messages that were given to the host are exposed until it says how much of them was written. When
 * the link ends meanwhile they stay, since another thread may be writing them.
 */
#include <assert.h>

#include "sle/engine_private.h"

#define STAMP_AGE                                                                                  \
    (10 * TICK_S) /* credentials of what was not written for so long are made again                \
                   */

static enum sle_hash hash_of(const struct sle_link *l)
{
    if (l->peer.hash != SLE_HASH_BY_VERSION)
        return l->peer.hash;
    return l->dialect_out.version >= 5 ? SLE_SHA256 : SLE_SHA1;
}

size_t link_credentials_len(const struct sle_link *l, enum sle_pdu_kind kind)
{
    bool binding = kind == SLE_PDU_BIND || kind == SLE_PDU_BIND_RETURN;
    if (l->peer.level == SLE_AUTH_NONE || (l->peer.level == SLE_AUTH_BIND && !binding))
        return 0;
    return hash_of(l) == SLE_SHA1 ? 40 : 52;
}

/* Credentials that are to be made for what this message has. */
static void lend_stamps(struct sle_link *l, struct out *o, struct sle_lent *lent, tick now)
{
    assert(o->stamp_count > 0 && o->written == 0 && lent->len < SLE_LENT_MAX);
    /* Four octets in DER, always. */
    uint32_t random = 0x800000 + (uint32_t)rng_below(&l->sle->rng, 0x80000000u - 0x800000u);
    o->stamped = now;
    lent->messages[lent->len++] =
        (struct sle_lent_message){.stamps = o->stamps, .count = o->stamp_count, .random = random};
}

void sle_lent_sign(const struct sle_lent *lent, sle_hash_function *hash, void *context)
{
    for (size_t k = 0; k < lent->len; k++) {
        const struct sle_lent_message *m = &lent->messages[k];
        struct sle_credentials c;
        uint8_t octets[SLE_CREDENTIALS_MAX];
        if (!sle_credentials_make(lent->self, lent->which, hash, context, lent->time, m->random,
                                  &c))
            memset(c.digest, 0, sizeof c.digest);
        size_t n = sle_credentials_write(&c, octets, sizeof octets);
        assert(n == 40 || n == 52);
        for (uint32_t i = 0; i < m->count; i++)
            memcpy(m->stamps[i], octets, n);
    }
}

void link_enqueue(struct sle_link *l, struct out *o)
{
    assert(list_empty(&o->node) && o->octets > 0 && l->state != SLE_ENDED);
    list_add_tail(&l->queue, &o->node);
    l->queue_octets += o->octets;
    l->answer_octets += o->buffer ? 0 : o->octets;
}

int link_send_tml(struct sle_link *l, const uint8_t *octets, size_t len)
{
    struct out *o = out_new(len);
    if (o == NULL || !out_reserve(o, len)) {
        out_free(o);
        return HELIO_ENOMEM;
    }
    memcpy(out_place(o), octets, len);
    out_add(o, len);
    link_enqueue(l, o);
    return HELIO_OK;
}

int link_send(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    static const uint8_t zeros[SLE_CREDENTIALS_MAX];
    struct sle_pdu stamped = *pdu;
    assert(l->state != SLE_ENDED);
    size_t room = SLE_TML_HEADER + sle_pdu_room(pdu), at = 0;
    struct out *o = out_new(room);
    if (o == NULL || !out_reserve(o, room)) {
        out_free(o);
        link_end(l, SLE_END_MEMORY, SLE_STREAM_RESET, SLE_ABORT_UNKNOWN, now);
        return HELIO_ENOMEM;
    }
    stamped.credentials = slice_of(zeros, link_credentials_len(l, pdu->kind));
    size_t n = sle_pdu_write(&l->dialect_out, &stamped, out_place(o) + SLE_TML_HEADER,
                             room - SLE_TML_HEADER, &at);
    assert(n > 0);
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)n, out_place(o));
    if (at > 0)
        o->stamps[o->stamp_count++] = out_place(o) + SLE_TML_HEADER + at;
    out_add(o, SLE_TML_HEADER + n);
    link_enqueue(l, o);
    COUNT(l, pdus_out, 1);
    if (pdu->diag != SLE_OK)
        COUNT(l, returns_negative, 1);
    return HELIO_OK;
}

static size_t give_parts(struct out *o, struct slice *parts, size_t max)
{
    size_t n = 0;
    o->exposed = true;
    for (uint32_t i = o->part_done; i < o->part_count && n < max; i++) {
        parts[n] = o->parts[i];
        if (i == o->part_done) {
            parts[n].data += o->part_off;
            parts[n].len -= o->part_off;
        }
        n++;
    }
    return n;
}

static bool needs_stamps(const struct out *o, tick now)
{
    return o->stamp_count > 0 && o->written == 0 &&
           (o->stamped == TICK_NEVER || now - o->stamped > STAMP_AGE);
}

static void begin_lent(const struct sle_link *l, struct sle_lent *lent, tick now)
{
    lent->self = &l->sle->config.self;
    lent->which = hash_of(l);
    lent->time = sle_now(l->sle, now);
    lent->len = 0;
}

size_t sle_link_lend(struct sle_link *l, struct slice *parts, size_t max, struct sle_lent *lent,
                     tick now)
{
    size_t n = 0;
    assert(max >= 1 && max <= SLE_LENT_MAX);
    begin_lent(l, lent, now);
    if (l->state == SLE_ENDED && !l->closing)
        return 0;
    list_for_each (it, &l->queue) {
        struct out *o = container_of(it, struct out, node);
        if (n == max)
            break;
        if (needs_stamps(o, now))
            lend_stamps(l, o, lent, now);
        n += give_parts(o, parts + n, max - n);
    }
    return n;
}

size_t sle_link_output(struct sle_link *l, struct slice *parts, size_t max, tick now)
{
    const struct sle_config *c = &l->sle->config;
    size_t n = 0;
    assert(max >= 1);
    if (l->state == SLE_ENDED && !l->closing)
        return 0;
    list_for_each (it, &l->queue) {
        struct out *o = container_of(it, struct out, node);
        if (n == max)
            break;
        if (needs_stamps(o, now)) {
            struct sle_lent one;
            begin_lent(l, &one, now);
            lend_stamps(l, o, &one, now);
            sle_lent_sign(&one, c->hash, c->hash_context);
        }
        n += give_parts(o, parts + n, max - n);
    }
    return n;
}

static void finish_out(struct sle_link *l, struct out *o, tick now)
{
    assert(o->written == o->octets && o->part_done == o->part_count);
    list_sub(&o->node);
    if (o->buffer) {
        buffer_written(l, o, now);
    } else {
        l->answer_octets -= o->octets;
        out_free(o);
    }
}

/* Takes octets off the first message; returns how many are left. */
static size_t advance_out(struct sle_link *l, struct out *o, size_t octets, tick now)
{
    while (octets > 0 && o->part_done < o->part_count) {
        size_t left = o->parts[o->part_done].len - o->part_off;
        size_t n = octets < left ? octets : left;
        o->part_off += n;
        o->written += n;
        octets -= n;
        l->queue_octets -= n;
        if (n == left) {
            o->part_done++;
            o->part_off = 0;
        }
    }
    if (o->part_done == o->part_count)
        finish_out(l, o, now);
    return octets;
}

void sle_link_wrote(struct sle_link *l, size_t octets, tick now)
{
    const bool full = l->answer_octets > ANSWERS_MAX;
    assert(octets <= l->queue_octets || l->state == SLE_ENDED);
    COUNT(l, octets_out, octets);
    list_for_each (it, &l->queue) {
        struct out *o = container_of(it, struct out, node);
        if (!o->exposed)
            break;
        o->exposed = false;
    }
    if (octets > 0)
        l->last_out = now;
    while (octets > 0 && !list_empty(&l->queue))
        octets = advance_out(l, container_of(list_first(&l->queue), struct out, node), octets, now);
    assert(octets == 0 || l->state == SLE_ENDED);
    if (l->state == SLE_ENDED && !l->closing) /* it ended while these were being written */
        link_drop_queue(l);
    if (full && l->answer_octets <= ANSWERS_MAX)
        l->last_in = now; /* what was not read while they waited is not missed */
    if (l->closing && !l->polite && list_empty(&l->queue)) {
        kept_set(l->sle, link_kept(l, KEPT_CLOSE), TICK_NEVER);
        l->stream = SLE_STREAM_CLOSE;
    }
}

void link_drop_queue(struct sle_link *l)
{
    list_for_each_safe (it, &l->queue) {
        struct out *o = container_of(it, struct out, node);
        if (o->exposed)
            continue;
        list_sub(it);
        assert(l->queue_octets >= o->octets - o->written);
        l->queue_octets -= o->octets - o->written;
        if (o->buffer) {
            buffer_dropped(l->instance, o);
        } else {
            l->answer_octets -= o->octets;
            out_free(o);
        }
    }
}

void link_take_back(struct sle_link *l)
{
    list_for_each (it, &l->queue)
        container_of(it, struct out, node)->exposed = false;
}

size_t sle_link_backlog(const struct sle_link *l)
{
    return l->queue_octets;
}
