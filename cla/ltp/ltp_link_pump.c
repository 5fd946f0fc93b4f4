/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of every handler: notices are passed to the node, segments to the socket while the links'
 * token buckets have credit, and one timer is set for the earliest event. It repeats while output
 * causes new notices (a green block is done when it is sent).
 *
 * What can go wrong: the socket is full; then the batch waits for it, and no further segment is
 * requested. More than a turn's work; then the alarm fires soon, after the world has served
 * everything else.
 *
 * Only active links are examined: those with changed peers (ltp_touched), until they have no output
 * and no notices. So the cost of a turn does not depend on the number of links.
 *
 * With CCSDS frames the bucket is charged for the bytes on the channel: for each segment when it is
 * sent, and for headers, idle data and overhead when its frames are complete.
 */
#include "cla/ltp/ltp_link.h"

#include <assert.h>

#include "base/port.h"

/* Per turn, so that receiving has its turn; of it, so much is for unconfigured peers before links
 * take all. */
#define OUTPUT_BYTES (256 * 1024)
#define UNCONFIGURED_BYTES (OUTPUT_BYTES / 8)
/* Before timers fire, the socket is read up to READS_MAX times in one turn (2 MiB), for up to
 * HELD_MAX turns (the largest socket buffer). A sender that is faster than this node must not stop
 * the timers. */
#define READS_MAX 4u
#define HELD_MAX 32u
/* After the node had no room for a peer's sessions, the next attempt is so much later, unless
 * something else wakes the link. */
#define FULL_AGAIN (100 * TICK_MS)

struct budget {
    uint64_t all, unconfigured;
};

static void find_active(struct ltp_endpoint *h)
{
    uint64_t peer;
    while (ltp_touched(h->engine, &peer)) {
        struct link *l = ltp_endpoint_link(h, peer);
        if (l != NULL)
            link_touch(l);
    }
}

static struct link *untold(struct ltp_endpoint *h)
{
    find_active(h);
    list_for_each (it, &h->active) {
        struct link *l = container_of(it, struct link, active);
        if (!l->cla.told || l->cla.told_up != l->up)
            return l;
    }
    return NULL;
}

static void tell_links(struct ltp_endpoint *h)
{
    struct link *l;
    while ((l = untold(h)) != NULL)
        cla_tell_link(&l->cla, l->up);
}

static struct link *window_untold(struct ltp_endpoint *h)
{
    find_active(h);
    list_for_each (it, &h->active) {
        struct link *l = container_of(it, struct link, active);
        if (l->cla.limits.window != link_window(l))
            return l;
    }
    return NULL;
}

/* With sessions: auto the engine changes it while it sends. */
static void tell_windows(struct ltp_endpoint *h)
{
    struct link *l;
    while ((l = window_untold(h)) != NULL) {
        link_limits(l);
        cla_tell_limits(&l->cla);
    }
}

static struct link *silence_untold(struct ltp_endpoint *h)
{
    find_active(h);
    list_for_each (it, &h->active) {
        struct link *l = container_of(it, struct link, active);
        if (l->silent != ltp_silent(h->engine, l->peer))
            return l;
    }
    return NULL;
}

#define SILENCE_QUIET (10 * TICK_S)

static void tell_silences(struct ltp_endpoint *h)
{
    struct link *l;
    while ((l = silence_untold(h)) != NULL) {
        l->silent = !l->silent;
        bool says = h->now >= l->silence_quiet;
        if (l->silent) {
            l->n.silences++;
            l->silence_quiet = says ? tick_add(h->now, SILENCE_QUIET) : l->silence_quiet;
            if (says)
                cla_say(&l->cla, 1,
                        "the peer does not answer: until it is heard, one bundle at a time asks "
                        "for it with a short segment");
        } else if (l->env.events.heard != NULL) {
            l->env.events.heard(l->env.events.context, &l->cla);
        }
    }
}

/* True when there was any. */
static bool notices(struct ltp_endpoint *h)
{
    struct ltp_notice n;
    bool any = false;
    while (!h->common.ending && ltp_poll(h->engine, &n) != 0) {
        any = true;
        h->quiet = false;
        switch (n.kind) {
        case LTP_BLOCK:
        case LTP_GREEN:
            incoming_block(h, &n);
            break;
        case LTP_EXPORT_DONE:
        case LTP_EXPORT_CANCELLED:
        case LTP_EXPORT_LOST:
            outgoing_closed(&n);
            break;
        case LTP_IMPORT_CANCELLED: /* a late answer finds no session */
        case LTP_INITIAL_SENT:
        case LTP_IMPORT_START:
            break;
        }
    }
    return any;
}

/* Of `len` bytes, which were added to the batch. */
static void pay_segment(struct ltp_endpoint *h, struct link *l, struct bucket *bucket, uint64_t len,
                        uint64_t *budget)
{
    uint64_t air = len + (h->framed ? 0 : l->config->pace.overhead);
    h->quiet = false;
    bucket_spend(bucket, air, h->now);
    l->n.air_bytes += air;
    l->ahead += h->framed ? air : 0;
    *budget -= air < *budget ? air : *budget;
}

/* Adds the next segment for a peer to the batch: 1, or 0 when there is none, -1 when the socket is
 * full. */
static int radiate_segments(struct ltp_endpoint *h, struct link *l, struct bucket *bucket,
                            uint64_t peer, struct udp_peer *to, uint64_t *budget)
{
    assert(*budget > 0 && to != NULL);
    uint32_t segment = (uint32_t)(l->config->segment + l->config->checkpoint_extra);
    uint32_t head_max = segment > LTP_HEAD_MAX ? segment : LTP_HEAD_MAX;
    uint32_t before = coded_head(h->coded);
    if (!udp_room(h->io, head_max + before) && !udp_flush(h->io))
        return -1;
    uint8_t *head = udp_head(h->io, head_max + before);
    struct ltp_out out = {.head = head + before, .head_cap = head_max};
    if (ltp_output(h->engine, peer, h->now, &out) == 0)
        return 0;
    assert(out.head_len > 0 && out.head_len <= head_max);
    if (PORT_UNLIKELY(h->coded != NULL))
        erasure_encoder_add(h->coded->encoder, slice_of(out.head, out.head_len), out.data, h->now,
                            head);
    udp_add(h->io, to, before + out.head_len, out.data);
    pay_segment(h, l, bucket, before + out.head_len + out.data.len, budget);
    return 1;
}

/* The same for the next packet of the erasure code, which is pending. */
static int radiate_coded(struct ltp_endpoint *h, struct link *l, uint64_t *budget)
{
    uint32_t room = (uint32_t)h->coded->config.segment_max + ERASURE_BEYOND;
    assert(coded_pending(h->coded));
    if (!udp_room(h->io, room) && !udp_flush(h->io))
        return -1;
    size_t len = coded_output(h->coded, h->now, udp_head(h->io, room));
    assert(len >= ERASURE_HEAD && len <= room);
    udp_add(h->io, &l->to, (uint32_t)len, slice_of(NULL, 0));
    pay_segment(h, l, &l->bucket, len, budget);
    return 1;
}

/* Sends what the link's bucket allows, up to the rest of the turn's budget. False when the socket
 * is full. */
static bool link_output(struct ltp_endpoint *h, struct link *l, uint64_t *budget)
{
    int r = 1;
    bucket_begin(&l->bucket, h->now);
    while (r > 0 && *budget > 0 && bucket_ready(&l->bucket, h->now))
        if (l->up && coded_pending(h->coded))
            r = radiate_coded(h, l, budget);
        else if (coded_holds(h->coded))
            break; /* the deadline of the code is now */
        else
            r = radiate_segments(h, l, &l->bucket, l->peer, &l->to, budget);
    return r >= 0;
}

/* The same for all unconfigured peers, at their host's rate. */
static bool unconfigured_output(struct ltp_endpoint *h, uint64_t *budget)
{
    assert(h->host != NULL);
    struct ltp_unconfigured g;
    int r = 1;
    bucket_begin(&h->unconfigured_bucket, h->now);
    while (r >= 0 && *budget > 0 && bucket_ready(&h->unconfigured_bucket, h->now) &&
           ltp_unconfigured_next(h->engine, &g))
        r = radiate_segments(h, h->host, &h->unconfigured_bucket, g.peer, unconfigured_peer(h, &g),
                             budget);
    return r >= 0;
}

/* A link without a rate takes all that it is given: unconfigured peers go first with a share of
 * their own, and again with what links leave. */
static bool unconfigured_share(struct ltp_endpoint *h, struct budget *budget)
{
    uint64_t before = budget->unconfigured;
    if (h->host == NULL || before == 0)
        return true;
    bool room = unconfigured_output(h, &budget->unconfigured);
    uint64_t used = before - budget->unconfigured;
    budget->all -= used < budget->all ? used : budget->all;
    assert(budget->unconfigured <= before);
    return room;
}

/* What the frames since the last time had beside the segments that are paid for. */
static void pay_frames(struct ltp_endpoint *h, struct link *l)
{
    struct frame_port_air air = frame_port_air(h->port);
    assert(air.frames >= l->paid.frames && air.octets >= l->paid.octets);
    assert(udp_counters(h->io)->tx_refused == 0); /* each fits a frame, or `ahead` would stay */
    uint64_t due =
        air.octets - l->paid.octets + (air.frames - l->paid.frames) * l->config->pace.overhead;
    l->paid = air;
    if (due <= l->ahead) {
        l->ahead -= due;
        return;
    }
    bool rests = l->bucket.resting; /* what it did not want meanwhile is not lost */
    if (rests)
        bucket_begin(&l->bucket, h->now);
    bucket_spend(&l->bucket, due - l->ahead, h->now);
    if (rests)
        bucket_rest(&l->bucket);
    l->n.air_bytes += due - l->ahead;
    l->ahead = 0;
}

/* Passes a batch to the port of a local endpoint with frames, which has one link. An incomplete
 * frame waits for data that the link will send soon. */
static bool flush_frames(struct ltp_endpoint *h)
{
    assert(h->framed);
    frame_port_expect(h->port, true);
    bool flushed = udp_flush(h->io), more = false;
    list_for_each (it, &h->common.links) {
        struct link *l = container_of(it, struct link, cla.node);
        more = more || link_has_output(l);
    }
    frame_port_expect(h->port, more);
    list_for_each (it, &h->common.links)
        pay_frames(h, container_of(it, struct link, cla.node));
    return flushed;
}

/* False when the socket is full or the turn's budget is spent. */
static bool output_spans(struct ltp_endpoint *h, struct budget *budget)
{
    bool room = !udp_pending(h->io) && unconfigured_share(h, budget);
    find_active(h);
    list_for_each (it, &h->active)
        room = room && link_output(h, container_of(it, struct link, active), &budget->all);
    if (room && h->host != NULL)
        room = unconfigured_output(h, &budget->all);
    if (h->framed)
        return flush_frames(h) && room && budget->all > 0;
    return room && udp_flush(h->io) && budget->all > 0;
}

/* The earliest wake-up of the active links. A link without further work is no longer active. */
static tick wake_active(struct ltp_endpoint *h)
{
    tick wake = TICK_NEVER;
    find_active(h);
    list_for_each_safe (it, &h->active) {
        struct link *l = container_of(it, struct link, active);
        if (link_has_output(l))
            wake = tick_min(wake, bucket_wake(&l->bucket, h->now));
        else
            bucket_rest(&l->bucket);
        wake = tick_min(wake, outgoing_due(l));
        link_account(l);
        if (l->full)
            wake = tick_min(wake, h->now + FULL_AGAIN);
        if (!link_is_active(l))
            list_sub(&l->active);
    }
    return wake;
}

static tick wake_time(struct ltp_endpoint *h)
{
    tick wake = tick_min(ltp_deadline(h->engine), wake_active(h));
    wake = tick_min(wake, coded_deadline(h->coded));
    if (h->host != NULL && ltp_unconfigured_ready(h->engine))
        wake = tick_min(wake, bucket_wake(&h->unconfigured_bucket, h->now));
    else
        bucket_rest(&h->unconfigured_bucket);
    return wake;
}

/* May timers fire? What waits in the socket may be the answer that one of them waits for, when we
 * were late: it is read first. */
static bool timers_fire(struct ltp_endpoint *h)
{
    bool rest = true;
    for (unsigned i = 0; i < READS_MAX && rest && ltp_deadline(h->engine) <= h->now; i++)
        rest = ltp_endpoint_input(h);
    bool due = ltp_deadline(h->engine) <= h->now;
    if (due && rest && h->held < HELD_MAX) {
        assert(h->held < HELD_MAX);
        h->held++;
        return false;
    }
    h->held = 0;
    return due;
}

/* A matrix that waited for long enough ends; its repair segments are the link's output. Or a part
 * of the work on segments that are to be repaired, or a request. */
static void expire_coded(struct ltp_endpoint *h)
{
    if (coded_deadline(h->coded) > h->now)
        return;
    coded_expire(h);
    if (coded_pending(h->coded) && !list_empty(&h->common.links))
        link_touch(container_of(list_first(&h->common.links), struct link, cla.node));
}

/* When to go on. */
static void set_alarm(struct ltp_endpoint *h, bool spent)
{
    if (udp_pending(h->io))
        h->due = ltp_deadline(h->engine);
    else
        h->due = spent ? h->now : wake_time(h);
    if (spent && !udp_pending(h->io))
        ltp_endpoint_again(h);
    else
        ltp_endpoint_arm(h, h->due);
}

void ltp_endpoint_pump(struct ltp_endpoint *h)
{
    struct budget budget = {.all = OUTPUT_BYTES, .unconfigured = UNCONFIGURED_BYTES};
    bool more = true;
    incoming_turn(h);
    if (h->common.ending)
        return;
    h->quiet = true;
    if (timers_fire(h))
        ltp_expire(h->engine, h->now);
    expire_coded(h);
    find_active(h);
    ltp_endpoint_account(h);
    tell_links(h);
    while (notices(h) || more) {
        if (h->common.ending)
            return;
        more = outgoing_form(h);
        if (!output_spans(h, &budget))
            break;
    }
    if (!h->common.ending)
        tell_silences(h);
    if (!h->common.ending)
        tell_windows(h);
    if (h->common.ending)
        return;
    if (!list_empty(&h->active)) { /* the next turn begins with the next link */
        struct list *first = list_first(&h->active);
        list_sub(first);
        list_add_tail(&h->active, first);
    }
    set_alarm(h, budget.all == 0 || !list_empty(&h->rows));
}
