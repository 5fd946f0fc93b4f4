/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame gets its transmission time when it enters: from when the line is free until it is
 * serialised. Then its fate is known, except for later outages. Lost frames are counted and dropped
 * at once (they still occupied the line); the others are copied. If parameters may change before a
 * frame's transmission, or CoDel measures its queueing time, the frame is queued, and all of this
 * happens when the line takes it. All random numbers of a frame are drawn when it enters, whatever
 * its fate, so that the streams stay in step with the frame numbers. What can go wrong: no memory
 * for a copy, counted as CHAN_MEMORY.
 */
#include <assert.h>
#include <string.h>

#include "channel-emu/chan/chan_inside.h"
#include "channel-emu/chan/fading/chan_power.h"

__extension__ typedef unsigned __int128 wide;

static void note_fate(struct chan *c, enum chan_reason reason)
{
    assert(reason < CHAN_REASONS);
    assert(c->note_count < CHAN_NOTES_MAX);
    c->notes[c->note_count++] = (uint8_t)reason;
}

static void lose_frame(struct chan *c, enum chan_reason reason)
{
    assert(reason < CHAN_LOSSES);
    c->counters.lost[reason]++;
    note_fate(c, reason);
}

static struct chan_draw draw_chances(struct chan *c)
{
    const struct chan_config *k = &c->config;
    struct chan_draw d = {.random = c->use_loss ? rng_unit(&c->loss) : 1,
                          .burst = k->burst.good > 0 ? rng_unit(&c->burst_loss) : 1,
                          .duplicate = c->use_duplicate ? rng_unit(&c->duplicate) : 1,
                          .power = k->power != NULL ? rng_unit(&c->power) : 1};
    for (int i = 0; i < 1 + c->use_duplicate; i++) {
        d.jitter[i] = k->jitter > 0 ? rng_below(&c->jitter[i], k->jitter) : 0;
        if (k->jitter_law != NULL)
            d.jitter[i] += chan_jitter_draw(&c->jitters[i], c->last.entered);
        d.flip[i] = chan_flips_draw(&c->flips[i]);
    }
    assert(d.burst >= 0 && d.burst <= 1);
    assert(k->jitter == 0 || k->jitter_law != NULL || d.jitter[0] < k->jitter);
    return d;
}

/* The earliest transmission time of a frame that arrives now; TICK_NEVER: never. */
static tick line_opens(struct chan *c, tick now)
{
    tick at = tick_max(c->queue->free_at, now);
    return c->config.hold ? chan_contact_next(&c->contact, &c->contact_line, at) : at;
}

/* Without a rate only a contact is waited for, by all at once. */
static bool held_full(struct chan *c, uint64_t more, tick start, tick now)
{
    assert(c->config.rate_bps == 0 && start >= now);
    if (start == now || c->config.queue_bytes == 0)
        return false;
    uint64_t bytes = c->held_for == start ? c->held_bytes : 0;
    if (bytes + more > c->config.queue_bytes)
        return true;
    c->held_for = start;
    c->held_bytes = bytes + more;
    return false;
}

/* Would this many more bytes make the wait for the line too long? */
static bool queue_full(struct chan *c, size_t len, tick start, tick now)
{
    assert(len <= CHAN_FRAME_MAX && start >= now);
    const struct chan_config *k = &c->config;
    uint64_t more = len + k->overhead;
    if (k->rate_bps == 0)
        return held_full(c, more, start, now);
    if (c->queue->free_at <= now || (k->queue_bytes == 0 && k->queue_time == 0))
        return false;
    tick wait = c->queue->free_at - now;
    if (k->hold)
        wait = chan_contact_time(&c->contact, &c->contact_line, c->queue->free_at) -
               chan_contact_time(&c->contact, &c->contact_now, now);
    if (wait == 0)
        return false;
    if (k->queue_time > 0 && wait > k->queue_time)
        return true;
    if (k->queue_bytes == 0)
        return false;
    return more > k->queue_bytes ||
           (wide)wait * k->rate_bps > (wide)(k->queue_bytes - more) * (8 * TICK_S);
}

/* Serialises len bytes at this rate from `start`, which is when the line is free or later. */
static tick take_line(struct chan *c, uint64_t rate, size_t len, tick start)
{
    if (c->queue->free_at < start) {
        c->queue->free_at = start;
        c->queue->free_fraction = 0;
    }
    if (rate != c->queue->air_rate && c->queue->air_rate > 0) /* the same time in other parts */
        c->queue->free_fraction =
            (uint64_t)((wide)c->queue->free_fraction * rate / c->queue->air_rate);
    c->queue->air_rate = rate;
    if (rate > 0) {
        uint64_t bit_ns = (len + c->config.overhead) * 8 * TICK_S;
        uint64_t fraction = bit_ns % rate + c->queue->free_fraction;
        bool carry = fraction >= rate || fraction < c->queue->free_fraction;
        c->queue->free_fraction = carry ? fraction - rate : fraction;
        c->queue->free_at = tick_add(c->queue->free_at, bit_ns / rate + carry);
    }
    assert(c->queue->free_at >= start && (rate == 0 || c->queue->free_fraction < rate));
    return c->queue->free_at;
}

/* What the receiver makes of a frame by its power; the bit errors join the channel's own. */
static double power_loss(struct chan *c, size_t len, tick start, tick end,
                         struct chan_flip_odds *odds)
{
    const struct chan_power *p = c->config.power;
    if (p == NULL)
        return 0;
    tick from = start, to = c->config.start_only ? start : end;
    if (chan_power_lost(p, c->config.origin, from, to))
        return 1;
    double mean = chan_power_mean(p, c->config.origin, from, tick_add(to, p->interleaver));
    struct chan_power_errors e = chan_power_errors(p, mean, len);
    odds->log_keep += chan_flip_odds(0, e.bit_error_rate).log_keep;
    assert(odds->log_keep <= 0 && e.loss >= 0);
    return e.loss;
}

/* Why a frame with this time on the air is lost; CHAN_REASONS when it is not. */
static enum chan_reason erased_by(struct chan *c, const struct chan_draw *d, double loss,
                                  double by_power, tick start, tick end)
{
    assert(c->begun && start <= end);
    const struct chan_config *k = &c->config;
    tick from = start, to = k->start_only ? start : end;
    double burst_loss = 0;
    if (k->burst.good > 0)
        burst_loss = chan_burst_meets(&c->burst, from, to) ? k->burst.loss_bad : k->burst.loss_good;
    if (!chan_contact_covers(&c->contact, &c->contact_line, start, end))
        return CHAN_OUTAGE;
    bool in_trace =
        k->trace != NULL &&
        (!k->trace_no_loop || trace_once(k->trace, k->origin, k->trace_offset, &from, &to));
    if ((in_trace && trace_clock_bad(&c->clock, from, to)) || d->power < by_power)
        return CHAN_TRACE;
    if (d->burst < burst_loss)
        return CHAN_BURST;
    return d->random < loss ? CHAN_RANDOM : CHAN_REASONS;
}

/* When a frame leaves the far end of the line, but for its jitter. */
static tick arrival_time(struct chan *c, tick delay, tick air_end)
{
    assert(c->begun);
    const struct chan_config *k = &c->config;
    if (k->point_count > 0) {
        tick t = air_end > k->origin ? air_end - k->origin : 0;
        delay = chan_delay_at(k->points, k->point_count, &c->point, t);
    }
    tick spread = k->power != NULL ? k->power->interleaver + k->power->block : 0;
    tick at = tick_add(tick_add(air_end, delay), spread);
    c->last_leaves = tick_max(c->last_leaves, at);
    assert(c->last_leaves >= air_end);
    return c->last_leaves;
}

static int enqueue_frame(struct chan *c, struct chan_frame *f, tick due)
{
    assert(due >= f->air_end && f->air_start <= f->air_end);
    if (c->reorders) {
        f->due = due;
        return heap_set(&c->order, &f->node, f->due);
    }
    f->due = c->last_due = tick_max(c->last_due, due);
    list_add_tail(&c->line, &f->link);
    assert(f->due >= due);
    return 0;
}

/* Memory for what entered last. */
static struct chan_frame *copy_input(struct chan *c)
{
    const struct chan_fate *in = &c->last;
    struct chan_frame *f = chan_pool_take(&c->pool, in->kept);
    if (f == NULL)
        return NULL;
    assert(f->kept == in->kept && in->kept <= in->len);
    f->len = (uint32_t)in->len;
    f->entered = in->entered;
    f->air_start = in->air_start;
    f->air_end = in->air_end;
    f->tag = in->tag;
    f->number = in->number;
    f->ecn = c->last_ecn;
    f->marked = false;
    if (f->kept > 0)
        memcpy(f->data, in->data, f->kept);
    return f;
}

/* Keeps the frame, or its copy, until it is due; on false it is still the caller's. */
static bool keep_frame(struct chan *c, struct chan_frame *f, const struct chan_draw *d,
                       const struct chan_flip_odds *odds, int copy, tick due)
{
    assert(copy == 0 || copy == 1);
    f->copy = copy != 0;
    if (enqueue_frame(c, f, tick_add(due, d->jitter[copy])) < 0)
        return false;
    f->corrupted =
        chan_flips_apply(&c->flips[copy], &d->flip[copy], odds, f->number, f->data, f->len);
    c->counters.corrupted += f->corrupted;
    assert(f->due >= f->entered);
    c->counters.queued++;
    return true;
}

/* The same for what entered last. */
static void keep_input(struct chan *c, const struct chan_draw *d, const struct chan_flip_odds *odds,
                       int copy, tick due)
{
    struct chan_frame *f = copy_input(c);
    if (f == NULL || !keep_frame(c, f, d, odds, copy, due)) {
        if (f != NULL)
            chan_pool_give(&c->pool, f);
        lose_frame(c, CHAN_MEMORY);
    } else if (f->corrupted) {
        note_fate(c, CHAN_CORRUPT);
    }
}

static void input_now(struct chan *c, const struct chan_draw *d, bool by_rule)
{
    assert(c->begun && c->note_count == 0);
    const struct chan_values *v = &c->changes.values;
    struct chan_fate *f = &c->last;
    tick now = f->entered, start = line_opens(c, now);
    if (start != TICK_NEVER && queue_full(c, f->len, start, now)) {
        lose_frame(c, CHAN_QUEUE);
        return;
    }
    if (start == TICK_NEVER) { /* no contact any more */
        lose_frame(c, by_rule ? CHAN_RULE : CHAN_OUTAGE);
        return;
    }
    f->air_start = start;
    f->air_end = take_line(c, v->rate_bps, f->len, start);
    struct chan_flip_odds odds = v->flip;
    double by_power = power_loss(c, f->len, f->air_start, f->air_end, &odds);
    enum chan_reason reason = erased_by(c, d, v->loss, by_power, f->air_start, f->air_end);
    tick due = arrival_time(c, v->delay, f->air_end);
    if (by_rule || reason != CHAN_REASONS) {
        lose_frame(c, by_rule ? CHAN_RULE : reason);
        return;
    }
    keep_input(c, d, &odds, 0, due);
    if (d->duplicate < v->duplicate) {
        c->counters.duplicated++;
        note_fate(c, CHAN_DUPLICATE);
        keep_input(c, d, &odds, 1, due);
    }
}

/* ---- frames that wait ---- */

/* Would this many more bytes make the wait for the line too long? What waits is known byte by byte;
 * its time is reckoned at the rate of now. */
static bool waiting_full(struct chan *c, size_t len, tick now)
{
    const struct chan_queue *q = c->queue;
    uint64_t rate = chan_changes_at(q->rates, now)->rate_bps, more = len + c->config.overhead;
    if (rate == 0)
        return q->bytes_max > 0 && line_opens(c, now) > now &&
               q->waiting_bytes + more > q->bytes_max;
    tick rest = q->free_at > now ? q->free_at - now : 0;
    if (c->config.hold && rest > 0)
        rest = chan_contact_time(&c->contact, &c->contact_line, q->free_at) -
               chan_contact_time(&c->contact, &c->contact_now, now);
    wide bits = (wide)rest * q->air_rate + (wide)q->waiting_bytes * (8 * TICK_S);
    if (bits == 0)
        return false;
    return (q->time_max > 0 && bits > (wide)q->time_max * rate) ||
           (q->bytes_max > 0 &&
            bits + (wide)more * (8 * TICK_S) > (wide)q->bytes_max * (8 * TICK_S));
}

void chan_line_lose(struct chan *c, struct chan_frame *f, enum chan_reason reason)
{
    assert(reason < CHAN_LOSSES);
    f->reason = (uint8_t)reason;
    c->counters.lost[reason]++;
    list_add_tail(&c->gone, &f->link);
}

static void note_frame(struct chan *c, struct chan_frame *f, enum chan_reason reason)
{
    assert(reason < CHAN_REASONS);
    if (f->notes == 0)
        list_add_tail(&c->noted, &f->note);
    f->notes |= (uint16_t)(1u << reason);
}

/* The second one of a frame, before any bit of the first is flipped. */
static struct chan_frame *copy_frame(struct chan *c, const struct chan_frame *f)
{
    struct chan_frame *copy = chan_pool_take(&c->pool, f->kept);
    if (copy == NULL)
        return NULL;
    copy->len = f->len;
    copy->entered = f->entered;
    copy->air_start = f->air_start;
    copy->air_end = f->air_end;
    copy->tag = f->tag;
    copy->number = f->number;
    copy->ecn = f->ecn;
    copy->marked = f->marked;
    if (f->kept > 0)
        memcpy(copy->data, f->data, f->kept);
    return copy;
}

/* The first cut after the last input; TICK_NEVER: none. */
static tick next_cut(struct chan *c)
{
    const struct chan_config *k = &c->config;
    while (c->cut < k->cut_count && k->cuts[c->cut] <= c->last.entered)
        c->cut++;
    return c->cut < k->cut_count ? k->cuts[c->cut] : TICK_NEVER;
}

static void double_frame(struct chan *c, struct chan_frame *f, struct chan_frame *copy,
                         const struct chan_flip_odds *odds, tick due)
{
    c->counters.duplicated++;
    note_frame(c, f, CHAN_DUPLICATE);
    if (copy != NULL && f->cut < tick_add(due, f->draw.jitter[1])) {
        copy->copy = true;
        chan_line_lose(c, copy, CHAN_HANDOVER);
        return;
    }
    if (copy != NULL && keep_frame(c, copy, &f->draw, odds, 1, due)) {
        if (copy->corrupted)
            note_frame(c, copy, CHAN_CORRUPT);
        return;
    }
    if (copy != NULL)
        chan_pool_give(&c->pool, copy);
    c->counters.lost[CHAN_MEMORY]++;
    note_frame(c, f, CHAN_MEMORY);
}

/* Lost before it took any of the line's time. */
static void lose_waiting(struct chan *c, struct chan_frame *f, enum chan_reason reason, tick at)
{
    f->air_start = f->air_end = at;
    chan_line_lose(c, f, reason);
}

/* Does it get so far? It is in no list, and the line is free for it. */
static bool leave_queue(struct chan *c, struct chan_frame *f, tick start)
{
    struct chan_queue *q = c->queue;
    tick waited = start - f->entered;
    bool markable = f->ecn != 0;
    enum chan_codel_verdict v = CHAN_CODEL_PASS;
    assert(start >= f->entered && start < f->cut);
    if (q->codel.interval > 0)
        v = chan_codel_take(&q->codel, start, waited, q->waiting_bytes > q->frame_max, markable);
    f->marked = v == CHAN_CODEL_MARK || (markable && q->mark_above > 0 && waited > q->mark_above);
    if (v != CHAN_CODEL_DROP)
        return true;
    lose_waiting(c, f, CHAN_CODEL, start);
    if (list_empty(&q->waiting))
        chan_codel_empty(&q->codel);
    return false;
}

static void count_part(struct chan *c, const struct chan_frame *f)
{
    tick waited = f->air_start - f->entered;
    struct chan_part *p = &c->part;
    assert(f->air_start >= f->entered);
    p->frames++;
    p->bytes += f->len + c->config.overhead;
    p->waited = tick_add(p->waited, waited);
    p->waited_max = tick_max(p->waited_max, waited);
}

/* The turn of a frame has come: it is in no list. */
static void put_on_air(struct chan *c, struct chan_frame *f, tick start)
{
    const struct chan_values *v = chan_changes_at(&c->changes, start);
    f->air_start = start;
    f->air_end = take_line(c, chan_changes_at(c->queue->rates, start)->rate_bps, f->len, start);
    count_part(c, f);
    struct chan_flip_odds odds = v->flip;
    double by_power = power_loss(c, f->len, f->air_start, f->air_end, &odds);
    enum chan_reason reason = erased_by(c, &f->draw, v->loss, by_power, f->air_start, f->air_end);
    tick due = arrival_time(c, v->delay, f->air_end);
    if (reason == CHAN_REASONS && f->cut < tick_add(due, f->draw.jitter[0]))
        reason = CHAN_HANDOVER;
    if (f->by_rule || reason != CHAN_REASONS) {
        chan_line_lose(c, f, f->by_rule ? CHAN_RULE : reason);
        return;
    }
    bool twice = f->draw.duplicate < v->duplicate;
    struct chan_frame *copy = twice ? copy_frame(c, f) : NULL;
    c->counters.marked += f->marked;
    if (f->marked)
        note_frame(c, f, CHAN_MARK);
    if (!keep_frame(c, f, &f->draw, &odds, 0, due))
        chan_line_lose(c, f, CHAN_MEMORY);
    else if (f->corrupted)
        note_frame(c, f, CHAN_CORRUPT);
    if (twice)
        double_frame(c, f, copy, &odds, due);
}

/* Takes a frame out of the queue; it is in no list then. */
static void pick_waiting(struct chan_queue *q, struct chan_frame *f)
{
    uint64_t bytes = f->len + f->owner->config.overhead;
    assert(f->owner->queue == q && f->owner->counters.queued > 0 && q->waiting_bytes >= bytes);
    list_sub(&f->link);
    q->waiting_bytes -= bytes;
    f->owner->counters.queued--;
}

/* At the queue's next cut: lost frames free their room at once, also for frames of others. */
static void cut_waiting(struct chan_queue *q)
{
    tick at = q->cut;
    q->cut = TICK_NEVER;
    list_for_each_safe (link, &q->waiting) {
        struct chan_frame *f = container_of(link, struct chan_frame, link);
        if (f->cut <= at) {
            pick_waiting(q, f);
            lose_waiting(f->owner, f, f->by_rule ? CHAN_RULE : CHAN_HANDOVER, f->entered);
        } else {
            q->cut = tick_min(q->cut, f->cut);
        }
    }
    if (list_empty(&q->waiting) && q->codel.interval > 0)
        chan_codel_empty(&q->codel);
    assert(q->cut > at);
}

void chan_line_run(struct chan_queue *q, tick until)
{
    struct list *link;
    while ((link = list_first(&q->waiting)) != NULL) {
        struct chan_frame *f = container_of(link, struct chan_frame, link);
        struct chan *owner = f->owner;
        tick start = line_opens(owner, f->entered);
        q->turn = tick_min(start, q->cut);
        if (start != TICK_NEVER && q->turn > until)
            return;
        if (q->cut <= start && q->cut <= until && q->cut != TICK_NEVER) {
            cut_waiting(q);
            continue;
        }
        pick_waiting(q, f);
        if (start == TICK_NEVER) /* no contact any more */
            lose_waiting(owner, f, f->by_rule ? CHAN_RULE : CHAN_OUTAGE, f->entered);
        else if (leave_queue(owner, f, start))
            put_on_air(owner, f, start);
    }
    q->turn = q->cut = TICK_NEVER;
}

static void input_waits(struct chan *c, const struct chan_draw *d, bool by_rule)
{
    assert(c->begun && c->note_count == 0);
    tick now = c->last.entered;
    if (waiting_full(c, c->last.len, now)) {
        lose_frame(c, CHAN_QUEUE);
        return;
    }
    struct chan_frame *f = copy_input(c);
    if (f == NULL) {
        lose_frame(c, CHAN_MEMORY);
        return;
    }
    uint64_t more = f->len + c->config.overhead;
    c->queue->frame_max = more > c->queue->frame_max ? more : c->queue->frame_max;
    f->draw = *d;
    f->by_rule = by_rule;
    f->owner = c;
    f->cut = next_cut(c);
    c->queue->cut = tick_min(c->queue->cut, f->cut);
    list_add_tail(&c->queue->waiting, &f->link);
    c->queue->waiting_bytes += more;
    c->counters.queued++;
    chan_line_run(c->queue, now);
}

void chan_line_input(struct chan *c, bool by_rule)
{
    struct chan_draw d = draw_chances(c);
    if (c->defers)
        input_waits(c, &d, by_rule);
    else
        input_now(c, &d, by_rule);
}
