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

#include "sle/isp1.h"

#define STAMP_AGE                                                                                  \
    (10 * TICK_S) /* credentials of what was not written for so long are made again                \
                   */

static enum sle_hash hash_of(const struct isp1_link *l)
{
    return l->peer.hash != SLE_HASH_BY_VERSION ? l->peer.hash : l->by_version;
}

size_t isp1_credentials_len(const struct isp1_link *l, bool binding)
{
    if (l->peer.level == SLE_AUTH_NONE || (l->peer.level == SLE_AUTH_BIND && !binding))
        return 0;
    return hash_of(l) == SLE_SHA1 ? 40 : 52;
}

/* Credentials that are to be made for what this message has. */
static void lend_stamps(struct isp1_link *l, struct out *o, struct sle_lent *lent, tick now)
{
    assert(o->stamp_count > 0 && o->written == 0 && lent->len < SLE_LENT_MAX);
    /* Four octets in DER, always. */
    uint32_t random = 0x800000 + (uint32_t)rng_below(&l->isp->rng, 0x80000000u - 0x800000u);
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

void isp1_enqueue(struct isp1_link *l, struct out *o)
{
    assert(list_empty(&o->node) && o->octets > 0 && !l->ended);
    list_add_tail(&l->queue, &o->node);
    l->queue_octets += o->octets;
    l->answer_octets += o->buffer ? 0 : o->octets;
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

static void begin_lent(const struct isp1_link *l, struct sle_lent *lent, tick now)
{
    lent->self = &l->isp->config.self;
    lent->which = hash_of(l);
    lent->time = isp1_time(l->isp, now);
    lent->len = 0;
}

size_t isp1_lend(struct isp1_link *l, struct slice *parts, size_t max, struct sle_lent *lent,
                 tick now)
{
    size_t n = 0;
    assert(max >= 1 && max <= SLE_LENT_MAX);
    begin_lent(l, lent, now);
    if (l->ended && !l->closing)
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

size_t isp1_output(struct isp1_link *l, struct slice *parts, size_t max, tick now)
{
    const struct sle_config *c = &l->isp->config;
    size_t n = 0;
    assert(max >= 1);
    if (l->ended && !l->closing)
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

static void finish_out(struct isp1_link *l, struct out *o, tick now)
{
    assert(o->written == o->octets && o->part_done == o->part_count);
    list_sub(&o->node);
    if (o->buffer) {
        l->isp->service->written(l, o, now);
    } else {
        l->answer_octets -= o->octets;
        out_free(o);
    }
}

/* Takes octets off the first message; returns how many are left. */
static size_t advance_out(struct isp1_link *l, struct out *o, size_t octets, tick now)
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

void isp1_wrote(struct isp1_link *l, size_t octets, tick now)
{
    const bool full = l->answers_max > 0 && l->answer_octets > l->answers_max;
    assert(octets <= l->queue_octets || l->ended);
    isp1_count(l, ISP1_octets_out, octets);
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
    assert(octets == 0 || l->ended);
    if (l->ended && !l->closing) /* it ended while these were being written */
        isp1_drop_queue(l);
    if (full && l->answer_octets <= l->answers_max)
        l->last_in = now; /* what was not read while they waited is not missed */
    if (l->closing && !l->polite && list_empty(&l->queue)) {
        kept_set(l->isp, link_kept(l, KEPT_CLOSE), TICK_NEVER);
        l->stream = SLE_STREAM_CLOSE;
    }
}

void isp1_drop_queue(struct isp1_link *l)
{
    list_for_each_safe (it, &l->queue) {
        struct out *o = container_of(it, struct out, node);
        if (o->exposed)
            continue;
        list_sub(it);
        assert(l->queue_octets >= o->octets - o->written);
        l->queue_octets -= o->octets - o->written;
        if (o->buffer) {
            l->isp->service->dropped(l, o);
        } else {
            l->answer_octets -= o->octets;
            out_free(o);
        }
    }
}
