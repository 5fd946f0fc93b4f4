/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles of the node are queued for the link's connection and its rate, and written in order, each
 * after its header. A bundle is handed over when the kernel has accepted all of it: the protocol
 * has no acknowledgements. What can go wrong: the stream is full; then it reports when it has room.
 * The connection ends; then bundles that were not completely accepted have failed.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cla/stream/streamcl_link.h"

#define PACE_PIECE 1448u /* octets of data in a TCP segment on Ethernet */

/* What one write gives to the stream. */
struct gathered {
    struct slice parts[STREAM_PARTS_MAX];
    struct buf *owners[STREAM_PARTS_MAX];
    size_t len;    /* of both */
    size_t octets; /* of all parts, <= max */
    size_t max;
};

static struct streamcl_sending *first_of(struct list *l)
{
    return list_empty(l) ? NULL : container_of(list_first(l), struct streamcl_sending, node);
}

static size_t frame_length(const struct streamcl_sending *s)
{
    return s->head_len + s->bundle->len;
}

/* ---- limits ---- */

static bool is_full(const struct streamcl_link *l)
{
    return l->flight > 0 && l->flight_bytes >= l->config->window_bytes;
}

void streamcl_set_limits(struct streamcl_link *l, bool tell)
{
    const struct cla_limits was = l->cla.limits;
    const bool less = is_full(l) && l->flight < l->config->window;
    l->cla.limits.window = (uint32_t)(less ? l->flight : l->config->window);
    l->cla.limits.bundle_max = l->framing == STREAMCL_STCP ? STREAMCL_STCP_MAX : 0;
    assert(l->cla.limits.window >= 1);
    if (tell && was.window != l->cla.limits.window)
        cla_tell_limits(&l->cla);
}

void streamcl_pace_set(struct streamcl_link *l)
{
    const struct pace_keys *pace = &l->config->pace;
    const uint64_t of_contact = l->planned ? l->contact.rate : 0;
    const bool lower = of_contact != 0 && (pace->rate == 0 || of_contact < pace->rate);
    const tick lost = l->bucket.lost;
    bucket_init(&l->bucket, lower ? of_contact : pace->rate, pace->burst, pace->slack,
                world_now(l->env.world));
    l->bucket.lost = lost;
    streamcl_touch(l);
}

/* ---- the queue ---- */

enum cla_reason streamcl_queue(struct streamcl_link *l, uint64_t key, struct buf *bundle)
{
    if (l->out == NULL || !l->out->connected || !l->cla.told_up)
        return CLA_REASON_DOWN;
    if (bundle->len == 0 || (l->framing == STREAMCL_STCP && bundle->len > STREAMCL_STCP_MAX))
        return CLA_REASON_TOO_LONG;
    if (l->flight >= l->config->window || is_full(l))
        return CLA_REASON_BUSY;
    struct streamcl_sending *s = calloc(1, sizeof *s);
    if (s == NULL)
        return CLA_REASON_NO_MEMORY;
    s->key = key;
    s->bundle = buf_keep(bundle);
    s->head_len = streamcl_head(l->framing, bundle->len, s->head);
    list_init(&s->node);
    list_add_tail(&l->waiting, &s->node);
    assert(s->head_len >= 1 && s->head_len <= STREAMCL_HEAD_MAX);
    l->flight++;
    l->flight_bytes += bundle->len;
    streamcl_set_limits(l, false); /* the caller looks */
    streamcl_touch(l);
    return CLA_REASON_NONE;
}

static uint64_t end_sending(struct streamcl_link *l, struct streamcl_sending *s)
{
    const uint64_t key = s->key;
    assert(s->bundle->refs >= 1);
    assert(l->flight > 0 && l->flight_bytes >= s->bundle->len);
    l->flight--;
    l->flight_bytes -= s->bundle->len;
    list_sub(&s->node);
    buf_drop(s->bundle);
    free(s);
    return key;
}

int streamcl_take_back(struct streamcl_link *l, uint64_t key)
{
    list_for_each (it, &l->waiting) {
        struct streamcl_sending *s = container_of(it, struct streamcl_sending, node);
        if (s->key != key)
            continue;
        if (l->begun > 0 && s == first_of(&l->waiting))
            return 0; /* a begun bundle must be completed, to keep the framing intact */
        (void)end_sending(l, s);
        stream_endpoint_kick(&l->endpoint->s); /* limits */
        return HELIO_ENOENT;
    }
    return first_of(&l->sent) != NULL ? 0 : HELIO_ENOENT;
}

static void tell_sent(struct streamcl_link *l)
{
    const struct cla_events *to = &l->env.events;
    for (struct streamcl_sending *s; (s = first_of(&l->sent)) != NULL;) {
        l->n.bundles_sent++;
        to->done(to->context, &l->cla, end_sending(l, s), CLA_HANDED_OVER, CLA_REASON_NONE);
    }
}

void streamcl_fail(struct streamcl_link *l)
{
    const struct cla_events *to = &l->env.events;
    l->n.bundles_cut += l->begun > 0;
    l->begun = 0;
    l->keep_len = l->keep_done = 0;
    tell_sent(l);
    for (struct streamcl_sending *s; (s = first_of(&l->waiting)) != NULL;) {
        l->n.bundles_failed++;
        to->done(to->context, &l->cla, end_sending(l, s), CLA_FAILED, CLA_REASON_DOWN);
    }
    streamcl_set_limits(l, true);
}

void streamcl_forget(struct streamcl_link *l)
{
    for (struct streamcl_sending *s; (s = first_of(&l->sent)) != NULL;)
        (void)end_sending(l, s);
    for (struct streamcl_sending *s; (s = first_of(&l->waiting)) != NULL;)
        (void)end_sending(l, s);
    assert(l->flight == 0 && l->flight_bytes == 0);
    l->begun = 0;
}

/* ---- writing ---- */

/* What of [data, data + len) is behind `skip` octets and within the limit. */
static void add_part(struct gathered *g, struct slice data, size_t skip, struct buf *owner)
{
    if (skip >= data.len || g->octets >= g->max)
        return;
    const size_t room = g->max - g->octets, rest = data.len - skip;
    assert(g->len < STREAM_PARTS_MAX);
    g->parts[g->len] = slice_of(data.data + skip, rest < room ? rest : room);
    g->owners[g->len] = owner;
    g->octets += g->parts[g->len].len;
    g->len++;
}

static void add_frame(struct gathered *g, const struct streamcl_sending *s, size_t skip)
{
    add_part(g, slice_of(s->head, s->head_len), skip, NULL);
    add_part(g, buf_slice(s->bundle), skip > s->head_len ? skip - s->head_len : 0, s->bundle);
}

static void gather_parts(struct streamcl_link *l, struct gathered *g)
{
    size_t skip = l->begun;
    if (skip == 0) /* a keepalive is not in the middle of a bundle */
        add_part(g, slice_of(l->keep, l->keep_len), l->keep_done, NULL);
    list_for_each (it, &l->waiting) {
        if (g->octets >= g->max || g->len + 2 > STREAM_PARTS_MAX)
            return;
        add_frame(g, container_of(it, struct streamcl_sending, node), skip);
        skip = 0;
    }
}

/* The stream has taken so many octets of what was gathered. */
static void note_written(struct streamcl_link *l, size_t got)
{
    l->n.tx_bytes += got;
    if (l->begun == 0 && l->keep_done < l->keep_len) {
        const size_t n = got < l->keep_len - l->keep_done ? got : l->keep_len - l->keep_done;
        l->keep_done += n;
        got -= n;
    }
    while (got > 0) {
        struct streamcl_sending *s = first_of(&l->waiting);
        assert(s != NULL && l->begun < frame_length(s));
        const size_t rest = frame_length(s) - l->begun;
        if (got < rest) {
            l->begun += got;
            return;
        }
        got -= rest;
        l->begun = 0;
        list_sub(&s->node);
        list_add_tail(&l->sent, &s->node);
    }
}

/* True: there may be more to write, and the stream has room. */
static bool write_some(struct streamcl_link *l, tick now)
{
    struct gathered g = {.max = bucket_credit(&l->bucket, PACE_PIECE, now)};
    if (g.max > 1u << 29)
        g.max = 1u << 29; /* as bucket_spend wants it */
    gather_parts(l, &g);
    if (g.octets == 0)
        return false;
    const size_t got = stream_write_kept(l->out->stream, g.parts, g.owners, g.len);
    assert(got <= g.octets);
    note_written(l, got);
    bucket_spend(&l->bucket, got, now);
    l->wrote_at = got > 0 ? now : l->wrote_at;
    return got == g.octets;
}

static bool has_more(const struct streamcl_link *l)
{
    return !list_empty(&l->waiting) || l->keep_done < l->keep_len;
}

tick streamcl_keepalive_at(const struct streamcl_link *l)
{
    if (l->out == NULL || !l->out->connected || l->config->keepalive == 0 || has_more(l))
        return TICK_NEVER;
    return tick_add(l->wrote_at, l->config->keepalive);
}

static void add_keepalive(struct streamcl_link *l, tick now)
{
    if (now < streamcl_keepalive_at(l))
        return;
    assert(l->begun == 0 && list_empty(&l->waiting));
    l->keep_len = streamcl_head(l->framing, 0, l->keep);
    l->keep_done = 0;
    l->n.keepalives_tx++;
}

static void go_on_later(struct streamcl_link *l, bool blocked, tick now)
{
    if (!has_more(l))
        bucket_rest(&l->bucket);
    else if (!blocked && bucket_credit(&l->bucket, PACE_PIECE, now) == 0)
        alarm_set(&l->pace, bucket_wake(&l->bucket, now));
    else if (!blocked)
        alarm_set(&l->pace, 0); /* others have their turn before */
}

void streamcl_write(struct streamcl_link *l)
{
    list_sub(&l->todo);
    if (l->pumping)
        return;
    l->pumping = true;
    if (l->out != NULL && l->out->connected) {
        const tick now = world_now(l->env.world);
        bool more = true;
        add_keepalive(l, now);
        bucket_begin(&l->bucket, now);
        for (int i = 0; more && i < STREAMCL_TURN_WRITES; i++)
            more = write_some(l, now);
        const bool paced = bucket_credit(&l->bucket, PACE_PIECE, now) == 0;
        go_on_later(l, !more && has_more(l) && !paced, now);
    }
    l->pumping = false;
    tell_sent(l);
    streamcl_set_limits(l, true);
    stream_endpoint_wake_at(&l->endpoint->s, streamcl_keepalive_at(l));
}

void streamcl_touch(struct streamcl_link *l)
{
    if (l->endpoint == NULL || l->out == NULL || !list_empty(&l->todo))
        return;
    list_add_tail(&l->endpoint->s.dirty, &l->todo);
}
