/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfer buffers of the return services. The normal case: a frame's header is made behind those
 * before it, its data is referred to, and when the buffer is full or its latency limit has come it
 * is passed to the link's queue.
 *
 * When the queue is full: in timely mode those buffers of which nothing was written are discarded,
 * and the next one begins with "excessive data backlog"; in complete and offline mode the full
 * buffer waits, and with it production. Each frame taken is counted once: written, discarded, or
 * dropped with the association.
 */
#include <assert.h>

#include "base/port.h"
#include "sle/engine_private.h"

#define MEMORY_PAUSE (10 * TICK_MS) /* until frames are taken again */

static struct out *take_spare(struct sle_instance *i)
{
    struct out *o = i->p.spare;
    if (o == NULL)
        return out_new(FRONT +
                       (i->p.c.buffer_frames < 64 ? i->p.c.buffer_frames : 64) * (size_t)128);
    i->p.spare = o->node.next == NULL ? NULL : container_of(o->node.next, struct out, node);
    list_init(&o->node);
    return o;
}

static void put_spare(struct sle_instance *i, struct out *o)
{
    out_reset(o);
    assert(o->owner_count == 0 && o->frames == 0 && !o->exposed);
    o->node.next = i->p.spare == NULL ? NULL : &i->p.spare->node;
    i->p.spare = o;
}

static bool open_fill(struct sle_instance *i, tick now)
{
    struct provider *p = &i->p;
    if (p->fill != NULL)
        return true;
    struct out *o = take_spare(i);
    if (o == NULL)
        return false;
    assert(o->part_count == 0 && o->octets == 0 && o->stamped == TICK_NEVER);
    o->buffer = true;
    p->fill = o;
    p->fill_late = false;
    p->fill_due = i->mode == SLE_OFFLINE ? TICK_NEVER : tick_add(now, p->c.latency);
    if (i->mode != SLE_OFFLINE) /* mostly one is kept, of a buffer before */
        kept_by(&i->sle->isp, instance_kept(i, KEPT_LATENCY), p->fill_due);
    return true;
}

/* Before the first item is room for the heads of all. */
static bool reserve_fill(struct out *o, size_t n)
{
    if (o->part_count > 0)
        return out_reserve(o, n);
    o->at->used = 0;
    if (!out_reserve(o, FRONT + n))
        return false;
    o->at->used = FRONT;
    o->front = out_place(o);
    assert(o->octets == 0);
    return true;
}

tick buffer_due(const struct sle_instance *i)
{
    const struct provider *p = &i->p;
    const bool waits = p->fill != NULL && p->fill->part_count > 0;
    return waits && (i->mode == SLE_TIMELY || p->queued < p->c.queue_buffers) ? p->fill_due
                                                                              : TICK_NEVER;
}

/* In complete mode one that finds the queue full goes when there is room (buffer_written). */
bool buffer_late(struct sle_instance *i, tick now)
{
    struct provider *p = &i->p;
    if (p->fill == NULL)
        return false;
    if (p->fill_due > now) {
        kept_set(&i->sle->isp, instance_kept(i, KEPT_LATENCY), p->fill_due);
        return false;
    }
    p->fill_late = buffer_due(i) == TICK_NEVER;
    if (!p->fill_late)
        buffer_pass(i, now);
    return !p->fill_late;
}

static void count_lost(struct sle_instance *i, struct out *o, bool discarded)
{
    if (discarded) {
        COUNT_INSTANCE(i, frames_discarded, o->frames);
    } else {
        COUNT_INSTANCE(i, frames_dropped, o->frames);
    }
    COUNT_INSTANCE(i, syncs_discarded, o->syncs);
}

void buffer_dropped(struct sle_instance *i, struct out *o)
{
    assert(o->buffer);
    count_lost(i, o, false);
    put_spare(i, o);
}

void buffer_clear(struct sle_instance *i)
{
    struct provider *p = &i->p;
    if (p->fill != NULL) {
        count_lost(i, p->fill, false);
        put_spare(i, p->fill);
    }
    p->fill = NULL;
    p->backlog = p->refused = p->room = false;
    kept_set(&i->sle->isp, instance_kept(i, KEPT_ROOM), TICK_NEVER);
    kept_set(&i->sle->isp, instance_kept(i, KEPT_LATENCY), TICK_NEVER);
}

/* Timely: all that waits and was not begun. */
static void discard_backlog(struct sle_instance *i)
{
    struct sle_link *l = i->link;
    bool any = false;
    assert(i->mode == SLE_TIMELY && l->instance == i);
    list_for_each_safe (it, &l->isp.queue) {
        struct out *o = container_of(it, struct out, node);
        if (!o->buffer || o->written > 0 || o->exposed)
            continue;
        list_sub(&o->node);
        assert(i->p.queued > 0 && l->isp.queue_octets >= o->octets);
        l->isp.queue_octets -= o->octets;
        i->p.queued--;
        count_lost(i, o, true);
        put_spare(i, o);
        any = true;
    }
    if (any) {
        COUNT_INSTANCE(i, backlogs, 1);
        i->p.backlog = true;
    }
}

/* Those of which something was written, or may be just now, are not among those that wait: of
 * complete mode only the first, so that what is not written is bounded. */
static bool queue_is_full(const struct sle_instance *i)
{
    uint32_t begun = 0;
    if (i->p.queued < i->p.c.queue_buffers)
        return false;
    list_for_each (it, &i->link->isp.queue) {
        const struct out *o = container_of(it, struct out, node);
        if (o->written == 0 && !o->exposed)
            break;
        begun += o->buffer;
        if (i->mode != SLE_TIMELY)
            break;
    }
    return i->p.queued - begun >= i->p.c.queue_buffers;
}

/* The heads of message and buffer, and the notification of a backlog, before the first item. */
static void close_fill(struct sle_instance *i, struct out *o)
{
    struct slice *first = &o->parts[0];
    uint8_t *p = o->front;
    size_t content = o->octets;
    assert(first->data == p);
    if (i->p.backlog) {
        static const struct sle_sync backlog = {.kind = SLE_SYNC_BACKLOG};
        uint8_t octets[FRAME_HEAD_MAX];
        size_t at, n = sync_write(&i->link->dialect_out, &backlog,
                                  link_credentials_len(i->link, SLE_PDU_BUFFER), octets, &at);
        assert(n <= FRONT - BUFFER_HEAD_MAX && o->stamp_count < o->stamp_room);
        p -= n;
        memcpy(p, octets, n);
        if (at > 0)
            o->stamps[o->stamp_count++] = p + at;
        content += n;
        o->syncs++;
        i->p.backlog = false;
    }
    p -= buffer_head_write(content, p);
    first->len += (size_t)(first->data - p);
    o->octets += (size_t)(first->data - p);
    first->data = p;
}

void buffer_pass(struct sle_instance *i, tick now)
{
    struct out *o = i->p.fill;
    (void)now;
    if (o == NULL || o->part_count == 0)
        return;
    assert(i->link != NULL);
    if (i->mode == SLE_TIMELY && queue_is_full(i))
        discard_backlog(i);
    close_fill(i, o);
    isp1_enqueue(&i->link->isp, o);
    COUNT_INSTANCE(i, pdus_out, 1);
    i->p.queued++;
    i->p.fill = NULL;
    assert(!i->p.backlog && o->frames + o->syncs > 0);
}

static bool fill_is_full(const struct sle_instance *i)
{
    const struct out *o = i->p.fill;
    return o != NULL &&
           (o->frames + o->syncs >= i->p.c.buffer_frames || o->octets >= BUFFER_OCTETS_MAX);
}

/* Makes a full buffer leave; false: it must wait (complete, offline). */
static bool make_room(struct sle_instance *i, tick now)
{
    if (!fill_is_full(i))
        return true;
    if (i->mode != SLE_TIMELY && queue_is_full(i))
        return false;
    buffer_pass(i, now);
    assert(i->p.fill == NULL);
    return true;
}

void buffer_written(struct sle_link *l, struct out *o, tick now)
{
    struct sle_instance *i = l->instance;
    assert(o->buffer && o->written == o->octets);
    COUNT_INSTANCE(i, buffers, 1);
    COUNT_INSTANCE(i, frames, o->frames);
    COUNT_INSTANCE(i, frame_octets, o->frame_octets);
    COUNT_INSTANCE(i, syncs, o->syncs);
    i->p.delivered += o->frames;
    i->p.good += o->good;
    put_spare(i, o);
    if (i->link != l || l->state == SLE_ENDED)
        return;
    assert(i->p.queued > 0);
    i->p.queued--;
    if (i->mode != SLE_TIMELY && fill_is_full(i)) /* it waited for this */
        (void)make_room(i, now);
    else if (i->p.fill != NULL && i->p.fill_late)
        buffer_pass(i, now);
    buffer_room(i);
}

void buffer_room(struct sle_instance *i)
{
    struct provider *p = &i->p;
    kept_set(&i->sle->isp, instance_kept(i, KEPT_ROOM), TICK_NEVER);
    p->room = p->room || p->refused;
    p->refused = false;
    assert(!p->room || i->mode != SLE_TIMELY);
}

/* The frame where it lies, with its head before it if there is room, else behind the heads before
 * it. Returns where the head is. */
static uint8_t *refer_frame(struct out *o, const struct sle_frame *f, size_t head_len)
{
    uint8_t *head = out_place(o);
    size_t at = (size_t)(f->data.data - f->owner->mem);
    assert(at >= f->room && at + f->data.len <= f->owner->cap);
    if (f->room < head_len) {
        out_add(o, head_len);
        out_refer(o, f->data, f->owner);
        return head;
    }
    if (o->part_count == 0)
        out_add(o, 0); /* where the heads of all go */
    memcpy(f->owner->mem + at - head_len, head, head_len);
    out_refer(o, slice_of(f->owner->mem + at - head_len, head_len + f->data.len), f->owner);
    return f->owner->mem + at - head_len;
}

static int32_t add_missing(int32_t before, int32_t continuity)
{
    const int32_t sum = before + (continuity > 0 ? continuity : 0);
    return sum > CONTINUITY_MAX ? CONTINUITY_MAX : before == 0 ? continuity : sum;
}

static void put_item(struct sle_instance *i, const struct sle_frame *f, struct slice data)
{
    struct provider *p = &i->p;
    struct out *o = p->fill;
    size_t at;
    assert(!fill_is_full(i));
    struct sle_item it = {.time = f->time,
                          .antenna = f->antenna,
                          .antenna_global = f->antenna_global,
                          .continuity = p->first ? -1 : add_missing(p->missing, f->continuity),
                          .quality = f->quality,
                          .annotation = f->annotation,
                          .data = data};
    uint8_t *head = out_place(o);
    size_t n = frame_template_write(&p->head, &it, head, &at);
    if (f->owner != NULL && data.len >= COPY_BELOW) {
        head = refer_frame(o, f, n);
    } else {
        memcpy(head + n, data.data, data.len);
        out_add(o, n + data.len);
    }
    if (at > 0)
        o->stamps[o->stamp_count++] = head + at;
    o->frames++;
    o->frame_octets += data.len;
    o->good += f->quality == SLE_GOOD;
    p->first = p->ended = false; /* an end of data behind it is notified again */
    p->missing = 0;
}

static enum sle_taken add_frame(struct sle_instance *i, const struct sle_frame *f,
                                struct slice data, tick now)
{
    bool copied = f->owner == NULL || data.len < COPY_BELOW;
    if (PORT_LIKELY(make_room(i, now) && open_fill(i, now) &&
                    reserve_fill(i->p.fill, FRAME_HEAD_MAX + (copied ? data.len : 0)))) {
        put_item(i, f, data);
        if (fill_is_full(i))
            (void)make_room(i, now);
        return SLE_TAKEN;
    }
    if (i->mode == SLE_TIMELY) { /* no memory: lost, and notified */
        COUNT_INSTANCE(i, frames_discarded, 1);
        i->p.backlog = true;
        return SLE_TAKEN;
    }
    COUNT_INSTANCE(i, frames_refused, 1);
    i->p.refused = true;
    if (!fill_is_full(i)) /* there is no memory */
        kept_set(&i->sle->isp, instance_kept(i, KEPT_ROOM), tick_add(now, MEMORY_PAUSE));
    return SLE_FULL;
}

/* ---- which frames are requested ---- */

static bool has_quality(enum sle_wanted wanted, enum sle_quality quality)
{
    return wanted == SLE_ALL_FRAMES ||
           (wanted == SLE_GOOD_ONLY ? quality == SLE_GOOD : quality == SLE_ERRED);
}

static bool has_word(const struct sle_start *w, const uint8_t *ocf)
{
    bool clcw = (ocf[0] & 0x80) == 0;
    if (w->word == SLE_ALL_WORDS)
        return true;
    if (w->word == SLE_NOT_CLCW || !clcw)
        return (w->word == SLE_NOT_CLCW) == !clcw;
    return w->tc_vcid == SLE_TC_VC_NONE || ocf[1] >> 2 == w->tc_vcid;
}

/* ROCF: a control word that is asked for, and new if only those are. */
static bool wants_ocf(struct provider *p, const struct sle_frame *f)
{
    if (!f->has_ocf || !has_word(&p->wanted, f->ocf))
        return false;
    if (p->wanted.update == SLE_CHANGE_BASED && p->has_ocf && memcmp(p->last_ocf, f->ocf, 4) == 0)
        return false;
    return true;
}

static bool is_wanted(struct sle_instance *i, const struct sle_frame *f)
{
    struct provider *p = &i->p;
    const struct sle_start *w = &p->wanted;
    struct sle_gvcid g;
    if (w->start.known && sle_time_compare(f->time, w->start.at) < 0)
        return false;
    if (i->service == SLE_RAF && has_quality(w->quality, f->quality))
        return true;
    if (i->service == SLE_RAF) { /* the next frame has the continuity */
        p->missing = add_missing(p->missing, f->continuity > 0 ? f->continuity : 0);
        return false;
    }
    if (f->quality == SLE_ERRED) /* its header may be wrong */
        return false;
    if (!sle_gvcid_of_frame(f->data, &g) || !sle_gvcid_has(w->gvcid, g))
        return false;
    p->processed += i->service == SLE_ROCF;
    return i->service == SLE_RCF || wants_ocf(p, f);
}

enum sle_taken sle_provider_frame(struct sle_instance *i, const struct sle_frame *frame, tick now)
{
    struct provider *p = &i->p;
    assert(i->provides && i->service != SLE_FCLTU);
    assert(frame->data.len >= 1 && frame->data.len <= SLE_FRAME_MAX &&
           frame->annotation.len <= SLE_ANNOTATION_MAX && frame->antenna.len <= SLE_ANTENNA_MAX);
    if (!sle_provider_active(i))
        return SLE_NOT_ACTIVE;
    COUNT_INSTANCE(i, frames_offered, 1);
    if (PORT_UNLIKELY(p->wanted.stop.known &&
                      sle_time_compare(frame->time, p->wanted.stop.at) > 0)) {
        sle_provider_end_of_data(i, now);
        COUNT_INSTANCE(i, frames_filtered, 1);
        return SLE_FILTERED;
    }
    if (!is_wanted(i, frame)) {
        COUNT_INSTANCE(i, frames_filtered, 1);
        return SLE_FILTERED;
    }
    if (i->service != SLE_ROCF)
        return add_frame(i, frame, frame->data, now);
    enum sle_taken taken = add_frame(i, frame, slice_of(frame->ocf, 4), now);
    if (taken == SLE_TAKEN) {
        p->has_ocf = true;
        memcpy(p->last_ocf, frame->ocf, 4);
    }
    return taken;
}

size_t sle_provider_head(const struct sle_instance *i)
{
    return sle_provider_active(i) ? i->p.head.len : 0;
}

size_t sle_provider_room(const struct sle_instance *i)
{
    if (!sle_provider_active(i))
        return 0;
    const struct provider *p = &i->p;
    size_t n = p->c.buffer_frames, used = p->fill == NULL ? 0 : p->fill->frames + p->fill->syncs;
    size_t buffers = p->queued < p->c.queue_buffers ? p->c.queue_buffers - p->queued : 0;
    const size_t room = buffers * n + (used < n ? n - used : 0);
    /* In timely mode the frame that fills a buffer passes it at once. */
    return room > 0 && i->mode == SLE_TIMELY ? room - 1 : room;
}

bool sle_provider_active(const struct sle_instance *i)
{
    return i->provides && i->link != NULL && i->link->state == SLE_ACTIVE;
}

/* ---- notifications ---- */

void buffer_sync(struct sle_instance *i, const struct sle_sync *sync, tick now)
{
    size_t at;
    if (!sle_provider_active(i))
        return;
    /* One more than the size is legal only for a backlog; but never is a notification held back. */
    if (fill_is_full(i))
        buffer_pass(i, now);
    if (!open_fill(i, now) || !reserve_fill(i->p.fill, FRAME_HEAD_MAX)) {
        COUNT_INSTANCE(i, syncs_discarded, 1);
        return;
    }
    struct out *o = i->p.fill;
    uint8_t *p = out_place(o);
    size_t n = sync_write(&i->link->dialect_out, sync,
                          link_credentials_len(i->link, SLE_PDU_BUFFER), p, &at);
    if (at > 0)
        o->stamps[o->stamp_count++] = p + at;
    out_add(o, n);
    o->syncs++;
    buffer_pass(i, now);
}

void sle_provider_loss(struct sle_instance *i, struct sle_time time, const struct sle_locks *locks,
                       tick now)
{
    struct sle_sync sync = {.kind = SLE_SYNC_LOSS, .time = time, .locks = *locks};
    assert(i->provides && i->service != SLE_FCLTU);
    i->p.locks = *locks;
    buffer_sync(i, &sync, now);
}

void sle_provider_end_of_data(struct sle_instance *i, tick now)
{
    static const struct sle_sync sync = {.kind = SLE_SYNC_END};
    assert(i->provides && i->service != SLE_FCLTU);
    if (i->p.ended || !sle_provider_active(i))
        return;
    i->p.ended = true;
    buffer_sync(i, &sync, now);
}

void sle_provider_flush(struct sle_instance *i, tick now)
{
    if (sle_provider_active(i))
        buffer_pass(i, now);
}
