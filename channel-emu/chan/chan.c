/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame gets its time on the air when it enters: from when the line is free until it is
 * serialised. With that its fate is known, but for outages that are told later: lost frames are
 * counted and forgotten at once (they occupied the line all the same), the others are copied and
 * wait for their arrival; in a list when they arrive in order, else in a heap. An outage marks
 * those that it meets when it ends; while it lasts, what would arrive is lost.
 * All chances of a frame are drawn when it enters, whatever becomes of it, so that the streams stay
 * in step with the numbers of the frames.
 * What can go wrong: no memory for a copy, counted as CHAN_MEMORY.
 */
#include "channel-emu/chan/chan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "channel-emu/chan/chan_burst.h"
#include "channel-emu/chan/chan_contact.h"
#include "channel-emu/chan/chan_delay.h"
#include "channel-emu/chan/chan_flip.h"
#include "channel-emu/chan/chan_pool.h"

#define NOTES_MAX 3 /* corrupted, duplicated, the copy corrupted */

__extension__ typedef unsigned __int128 wide;

struct chan {
    struct chan_config config;
    struct chan_counters counters;
    struct trace_clock clock;
    struct chan_contact contact;
    struct chan_contact_at contact_now, contact_line;
    struct chan_burst_state burst;
    struct rng loss, burst_loss, duplicate, jitter[2];
    struct chan_flips flips[2];
    bool begun;
    bool reorders;          /* frames may overtake: they wait in the heap */
    tick free_at;           /* when the line is free ... */
    uint64_t free_fraction; /* ... and this many 1/rate_bps of a ns */
    tick held_for;          /* without a rate: the contact for which frames wait, */
    uint64_t held_bytes;    /* and these are so many */
    tick last_input, last_leaves, last_due;
    size_t point;      /* place in the delay's table */
    struct list line;  /* frames in order of arrival */
    struct heap order; /* the same, when they may overtake */
    struct chan_pool pool;
    struct list held; /* frames whose data was lent to the caller */
    struct list gone; /* frames found lost in an outage, until their fate is asked for */
    bool down;
    tick down_since;
    struct chan_fate last; /* of the last input, with these reasons */
    uint8_t notes[NOTES_MAX], note_count, notes_told;
};

/* What a frame and its copy are in for. */
struct chances {
    bool random, duplicate;
    double burst;
    tick jitter[2];
    struct chan_flip flip[2];
};

static bool is_probability(double p)
{
    return p >= 0 && p <= 1;
}

static bool config_valid(const struct chan_config *k)
{
    const struct chan_burst *b = &k->burst;
    return is_probability(k->loss) && is_probability(k->duplicate) && is_probability(k->corrupt) &&
           is_probability(k->bit_error_rate) && is_probability(b->loss_good) &&
           is_probability(b->loss_bad) && (b->good > 0) == (b->bad > 0) &&
           k->overhead <= CHAN_OVERHEAD_MAX && (k->trace == NULL || k->trace->steps > 0) &&
           chan_contact_valid(k->windows, k->window_count) && (!k->hold || k->window_count > 0) &&
           chan_delay_valid(k->points, k->point_count);
}

/* A seed of its own for each kind of chance; the first is the configured one. */
static uint64_t seed_of(const struct chan_config *k, uint64_t kind)
{
    return k->seed ^ (kind * UINT64_C(0x9fb21c651e98df25));
}

int chan_new(struct chan **out, const struct chan_config *config)
{
    assert(out != NULL && config != NULL);
    if (!config_valid(config))
        return HELIO_EINVAL;
    struct chan *c = calloc(1, sizeof *c);
    if (c == NULL)
        return HELIO_ENOMEM;
    c->config = *config;
    c->reorders = config->jitter > 0 && !config->jitter_in_order;
    rng_init(&c->loss, seed_of(config, 0));
    rng_init(&c->burst_loss, seed_of(config, 1));
    rng_init(&c->duplicate, seed_of(config, 2));
    for (uint64_t i = 0; i < 2; i++) {
        rng_init(&c->jitter[i], seed_of(config, 3 + i));
        chan_flips_init(&c->flips[i], config, seed_of(config, 5 + i));
    }
    list_init(&c->line);
    list_init(&c->held);
    list_init(&c->gone);
    heap_init(&c->order);
    chan_pool_init(&c->pool);
    assert(!c->begun && c->counters.in == 0 && c->order.len == 0);
    *out = c;
    return 0;
}

/* The first frame has come: everything that counts from the origin begins. */
static void begin_clock(struct chan *c, tick now)
{
    assert(!c->begun && c->counters.in == 0);
    struct chan_config *k = &c->config;
    c->begun = true;
    if (k->origin_first)
        k->origin = now;
    if (k->trace != NULL)
        trace_clock_init(&c->clock, k->trace, k->origin, k->trace_offset);
    if (k->burst.good > 0)
        chan_burst_init(&c->burst, &k->burst, seed_of(k, 7), tick_min(k->origin, now));
    c->contact = (struct chan_contact){k->windows, k->window_count, k->windows_off, k->origin};
}

static void free_all(struct list *frames)
{
    list_for_each_safe (it, frames)
        free(container_of(it, struct chan_frame, link));
}

void chan_free(struct chan *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->order.len; i++)
        free(container_of(c->order.nodes[i], struct chan_frame, node));
    heap_fini(&c->order);
    free_all(&c->line);
    free_all(&c->held);
    free_all(&c->gone);
    chan_pool_fini(&c->pool);
    free(c);
}

static void check_counts(const struct chan *c)
{
    const struct chan_counters *n = &c->counters;
    assert(n->in + n->duplicated == n->out + chan_lost(n) + n->queued);
    (void)n;
}

/* Before each push: what was lent is taken back, what was not asked for is forgotten. */
static void release_held(struct chan *c)
{
    list_for_each_safe (it, &c->held)
        chan_pool_give(&c->pool, container_of(it, struct chan_frame, link));
    list_for_each_safe (it, &c->gone)
        chan_pool_give(&c->pool, container_of(it, struct chan_frame, link));
    assert(list_empty(&c->held) && list_empty(&c->gone));
    c->note_count = c->notes_told = 0;
}

static void note_fate(struct chan *c, enum chan_reason reason)
{
    assert(reason < CHAN_REASONS);
    assert(c->note_count < NOTES_MAX);
    c->notes[c->note_count++] = (uint8_t)reason;
}

static void lose_frame(struct chan *c, enum chan_reason reason)
{
    assert(reason < CHAN_LOSSES);
    c->counters.lost[reason]++;
    note_fate(c, reason);
}

static struct chances draw_chances(struct chan *c)
{
    const struct chan_config *k = &c->config;
    struct chances d = {.random = k->loss > 0 && rng_chance(&c->loss, k->loss),
                        .burst = k->burst.good > 0 ? rng_unit(&c->burst_loss) : 1};
    d.duplicate = k->duplicate > 0 && rng_chance(&c->duplicate, k->duplicate);
    for (int i = 0; i < 1 + (k->duplicate > 0); i++) {
        d.jitter[i] = k->jitter > 0 ? rng_below(&c->jitter[i], k->jitter) : 0;
        d.flip[i] = chan_flips_draw(&c->flips[i]);
    }
    assert(d.burst >= 0 && d.burst <= 1);
    assert(k->jitter == 0 || (d.jitter[0] < k->jitter && d.jitter[1] < k->jitter));
    return d;
}

/* When a frame that comes now could go on the air; TICK_NEVER when never. */
static tick line_opens(struct chan *c, tick now)
{
    tick at = c->free_at > now ? c->free_at : now;
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
    if (c->free_at <= now || (k->queue_bytes == 0 && k->queue_time == 0))
        return false;
    tick wait = c->free_at - now;
    if (k->hold)
        wait = chan_contact_time(&c->contact, &c->contact_line, c->free_at) -
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

/* Serialises len bytes from `start`, which is when the line is free or later. */
static tick take_line(struct chan *c, size_t len, tick start)
{
    assert(start >= c->last_input);
    uint64_t rate = c->config.rate_bps;
    if (c->free_at < start) {
        c->free_at = start;
        c->free_fraction = 0;
    }
    if (rate > 0) {
        uint64_t bit_ns = (len + c->config.overhead) * 8 * TICK_S;
        uint64_t fraction = bit_ns % rate + c->free_fraction;
        bool carry = fraction >= rate || fraction < c->free_fraction;
        c->free_fraction = carry ? fraction - rate : fraction;
        c->free_at = tick_add(c->free_at, bit_ns / rate + carry);
    }
    assert(c->free_at >= start && (rate == 0 || c->free_fraction < rate));
    return c->free_at;
}

/* Why a frame with this time on the air is lost; CHAN_REASONS when it is not. */
static enum chan_reason erased_by(struct chan *c, const struct chances *d, tick start, tick end)
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
    if (in_trace && trace_clock_bad(&c->clock, from, to))
        return CHAN_TRACE;
    if (d->burst < burst_loss)
        return CHAN_BURST;
    return d->random ? CHAN_RANDOM : CHAN_REASONS;
}

/* When a frame leaves the far end of the line, but for its jitter. */
static tick arrival_time(struct chan *c, tick air_end)
{
    assert(c->begun && air_end >= c->last_input);
    const struct chan_config *k = &c->config;
    if (k->point_count == 0)
        return tick_add(air_end, k->delay);
    tick t = air_end > k->origin ? air_end - k->origin : 0;
    tick at = tick_add(air_end, chan_delay_at(k->points, k->point_count, &c->point, t));
    c->last_leaves = at > c->last_leaves ? at : c->last_leaves;
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
    f->due = c->last_due = due > c->last_due ? due : c->last_due;
    list_add_tail(&c->line, &f->link);
    assert(f->due >= due);
    return 0;
}

/* Keeps the frame, or its copy, until it is due. */
static void keep_frame(struct chan *c, const struct chances *d, int copy, tick due)
{
    assert(copy == 0 || copy == 1);
    const struct chan_fate *in = &c->last;
    struct chan_frame *f = chan_pool_take(&c->pool, in->len);
    if (f == NULL) {
        lose_frame(c, CHAN_MEMORY);
        return;
    }
    assert(f->len == in->len);
    f->entered = in->entered;
    f->air_start = in->air_start;
    f->air_end = in->air_end;
    f->tag = in->tag;
    f->number = in->number;
    f->lost = false;
    f->copy = copy != 0;
    if (f->len > 0)
        memcpy(f->data, in->data, f->len);
    if (enqueue_frame(c, f, tick_add(due, d->jitter[copy])) < 0) {
        chan_pool_give(&c->pool, f);
        lose_frame(c, CHAN_MEMORY);
        return;
    }
    f->corrupted = chan_flips_apply(&c->flips[copy], &d->flip[copy], f->number, f->data, f->len);
    if (f->corrupted) {
        c->counters.corrupted++;
        note_fate(c, CHAN_CORRUPT);
    }
    assert(f->due >= f->entered);
    c->counters.queued++;
}

static void input_frame(struct chan *c, bool by_rule)
{
    assert(c->begun && c->note_count == 0);
    struct chan_fate *f = &c->last;
    struct chances d = draw_chances(c);
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
    f->air_end = take_line(c, f->len, start);
    enum chan_reason reason = erased_by(c, &d, f->air_start, f->air_end);
    tick due = arrival_time(c, f->air_end);
    if (by_rule || reason != CHAN_REASONS) {
        lose_frame(c, by_rule ? CHAN_RULE : reason);
        return;
    }
    keep_frame(c, &d, 0, due);
    if (d.duplicate) {
        c->counters.duplicated++;
        note_fate(c, CHAN_DUPLICATE);
        keep_frame(c, &d, 1, due);
    }
}

static void enter_line(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now)
{
    assert(len <= CHAN_FRAME_MAX && now >= c->last_input);
    release_held(c);
    if (!c->begun)
        begin_clock(c, now);
    c->last_input = now;
    c->counters.in++;
    c->counters.in_bytes += len;
    assert(c->note_count == 0 && c->begun);
    c->last = (struct chan_fate){.number = c->counters.in,
                                 .entered = now,
                                 .air_start = now,
                                 .air_end = now,
                                 .tag = tag,
                                 .data = data,
                                 .len = len};
}

void chan_input(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now)
{
    enter_line(c, data, len, tag, now);
    input_frame(c, false);
    check_counts(c);
}

void chan_input_rule(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now)
{
    enter_line(c, data, len, tag, now);
    input_frame(c, true);
    check_counts(c);
}

/* Does its time on the air meet [from, to)? An instant is on the air in its one nanosecond. */
static bool meets_time(const struct chan_frame *f, tick from, tick to)
{
    assert(f->air_start <= f->air_end && from <= to);
    return f->air_start < to && (f->air_end > from || f->air_start >= from);
}

void chan_outage(struct chan *c, bool down, tick now)
{
    assert(now >= c->last_input);
    release_held(c);
    c->last_input = now;
    if (down == c->down)
        return;
    c->down = down;
    if (down) {
        c->down_since = now;
        return;
    }
    assert(c->down_since <= now && !c->down);
    list_for_each (it, &c->line) {
        struct chan_frame *f = container_of(it, struct chan_frame, link);
        f->lost = f->lost || meets_time(f, c->down_since, now);
    }
    for (size_t i = 0; i < c->order.len; i++) {
        struct chan_frame *f = container_of(c->order.nodes[i], struct chan_frame, node);
        f->lost = f->lost || meets_time(f, c->down_since, now);
    }
}

static struct chan_frame *first_frame(const struct chan *c)
{
    assert(c->reorders ? list_empty(&c->line) : c->order.len == 0);
    if (c->reorders) {
        struct heap_node *node = heap_first(&c->order);
        return node == NULL ? NULL : container_of(node, struct chan_frame, node);
    }
    struct list *link = list_first(&c->line);
    return link == NULL ? NULL : container_of(link, struct chan_frame, link);
}

tick chan_deadline(const struct chan *c)
{
    const struct chan_frame *f = first_frame(c);
    return f == NULL ? TICK_NEVER : f->due;
}

/* Takes the first frame out of the line; whether it was lost there in an outage. */
static bool take_first(struct chan *c, struct chan_frame *f)
{
    assert(c->counters.queued > 0 && f->due >= f->entered);
    list_sub(&f->link);
    heap_sub(&c->order, &f->node);
    c->counters.queued--;
    return f->lost || (c->down && meets_time(f, c->down_since, TICK_NEVER));
}

static void lose_inside(struct chan *c, struct chan_frame *f, enum chan_reason reason)
{
    assert(reason == CHAN_OUTAGE || reason == CHAN_END);
    f->lost = reason == CHAN_OUTAGE;
    c->counters.lost[reason]++;
    list_add_tail(&c->gone, &f->link);
}

void chan_end(struct chan *c)
{
    release_held(c);
    for (struct chan_frame *f = first_frame(c); f != NULL; f = first_frame(c))
        lose_inside(c, f, take_first(c, f) ? CHAN_OUTAGE : CHAN_END);
    assert(c->counters.queued == 0 && chan_deadline(c) == TICK_NEVER);
    check_counts(c);
}

int chan_output(struct chan *c, tick now, struct chan_out *out)
{
    struct chan_counters *n = &c->counters;
    check_counts(c);
    for (;;) {
        struct chan_frame *f = first_frame(c);
        if (f == NULL || f->due > now)
            return 0;
        if (take_first(c, f)) {
            lose_inside(c, f, CHAN_OUTAGE);
            continue;
        }
        n->out++;
        n->out_bytes += f->len;
        list_add_tail(&c->held, &f->link);
        *out = (struct chan_out){.data = f->data,
                                 .len = f->len,
                                 .tag = f->tag,
                                 .due = f->due,
                                 .entered = f->entered,
                                 .air_start = f->air_start,
                                 .air_end = f->air_end,
                                 .number = f->number,
                                 .copy = f->copy,
                                 .corrupted = f->corrupted};
        return 1;
    }
}

int chan_fate(struct chan *c, struct chan_fate *out)
{
    assert(c->notes_told <= c->note_count && c->note_count <= NOTES_MAX);
    if (c->notes_told < c->note_count) {
        *out = c->last;
        out->reason = (enum chan_reason)c->notes[c->notes_told++];
        return 1;
    }
    struct list *link = list_first(&c->gone);
    if (link == NULL)
        return 0;
    struct chan_frame *f = container_of(link, struct chan_frame, link);
    list_sub(link);
    list_add_tail(&c->held, link);
    *out = (struct chan_fate){.reason = f->lost ? CHAN_OUTAGE : CHAN_END,
                              .number = f->number,
                              .entered = f->entered,
                              .air_start = f->air_start,
                              .air_end = f->air_end,
                              .tag = f->tag,
                              .data = f->data,
                              .len = f->len};
    return 1;
}

const struct chan_counters *chan_counters(const struct chan *c)
{
    return &c->counters;
}

uint64_t chan_lost(const struct chan_counters *n)
{
    uint64_t sum = 0;
    for (int i = 0; i < CHAN_LOSSES; i++)
        sum += n->lost[i];
    return sum;
}

const char *chan_reason_name(enum chan_reason reason)
{
    static const char *const names[CHAN_REASONS] = {"trace",     "random", "burst",  "outage",
                                                    "rule",      "queue",  "memory", "end",
                                                    "duplicate", "corrupt"};
    return reason < CHAN_REASONS ? names[reason] : "?";
}
