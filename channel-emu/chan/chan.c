/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame passes the line (chan_line.c) and waits for its arrival: in a list if the order is kept,
 * else in a heap. An outage marks the frames that it meets when it ends; during an outage, arriving
 * frames are lost. What can go wrong: memory, only in chan_new.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_inside.h"
#include "channel-emu/chan/fading/chan_power.h"

static bool is_probability(double p)
{
    return p >= 0 && p <= 1;
}

/* A line that is shared is none of its own. */
static bool line_valid(const struct chan_config *k)
{
    bool own = k->rate_bps > 0 || k->queue_bytes > 0 || k->queue_time > 0 || k->mark_above > 0 ||
               k->codel_interval > 0 || k->hold;
    for (size_t i = 0; i < k->cut_count; i++) {
        if (k->cuts == NULL || (i > 0 && k->cuts[i] <= k->cuts[i - 1]))
            return false;
    }
    return k->cut_count <= CHAN_TABLE_MAX && (k->shared == NULL ? chan_queue_valid(k) : !own);
}

static bool config_valid(const struct chan_config *k)
{
    const struct chan_burst *b = &k->burst;
    return is_probability(k->loss) && is_probability(k->duplicate) && is_probability(k->corrupt) &&
           is_probability(k->bit_error_rate) && is_probability(b->loss_good) &&
           is_probability(b->loss_bad) && (b->good > 0) == (b->bad > 0) &&
           k->overhead <= CHAN_OVERHEAD_MAX && (k->trace == NULL || k->trace->steps > 0) &&
           (k->power == NULL || chan_power_valid(k->power)) && line_valid(k) &&
           chan_contact_valid(k->windows, k->window_count) && (!k->hold || k->window_count > 0) &&
           chan_delay_valid(k->points, k->point_count) && chan_changes_valid(k) &&
           (k->jitter_law == NULL || chan_jitter_valid(k->jitter_law));
}

/* A seed of its own for each kind of chance; the first is the configured one. */
static uint64_t seed_of(const struct chan_config *k, uint64_t kind)
{
    return k->seed ^ (kind * UINT64_C(0x9fb21c651e98df25));
}

static void init_chances(struct chan *c)
{
    const struct chan_config *k = &c->config;
    c->use_loss = chan_changes_any(k, CHAN_KEY_LOSS);
    c->use_duplicate = chan_changes_any(k, CHAN_KEY_DUPLICATE);
    rng_init(&c->loss, seed_of(k, 0));
    rng_init(&c->burst_loss, seed_of(k, 1));
    rng_init(&c->duplicate, seed_of(k, 2));
    rng_init(&c->power, seed_of(k, 8));
    for (uint64_t i = 0; i < 2; i++) {
        rng_init(&c->jitter[i], seed_of(k, 3 + i));
        chan_flips_init(&c->flips[i], chan_changes_any(k, CHAN_KEY_CORRUPT),
                        k->power != NULL || chan_changes_any(k, CHAN_KEY_BITS), seed_of(k, 5 + i));
    }
}

/* What has memory of its own. */
static int init_parts(struct chan *c, const struct chan_config *k)
{
    int rc = chan_changes_init(&c->changes, k);
    for (int i = 0; i < 2 && rc == 0 && k->jitter_law != NULL; i++)
        rc = chan_jitter_init(&c->jitters[i], k->jitter_law,
                              rng_named(k->seed, i == 0 ? "jitter" : "jitter of copies"));
    return rc;
}

static void fini_parts(struct chan *c)
{
    chan_changes_fini(&c->changes);
    for (int i = 0; i < 2; i++)
        chan_jitter_fini(&c->jitters[i]);
}

int chan_new(struct chan **out, const struct chan_config *config)
{
    assert(out != NULL && config != NULL);
    if (!config_valid(config))
        return HELIO_EINVAL;
    struct chan *c = calloc(1, sizeof *c);
    if (c == NULL)
        return HELIO_ENOMEM;
    if (init_parts(c, config) < 0) {
        fini_parts(c);
        free(c);
        return HELIO_ENOMEM;
    }
    c->config = *config;
    c->reorders = (config->jitter > 0 || config->jitter_law != NULL) && !config->jitter_in_order;
    c->defers = config->live || config->change_count > 0 || config->codel_interval > 0 ||
                config->mark_above > 0 || config->cut_count > 0 || config->shared != NULL;
    chan_queue_init(&c->own, config, &c->changes);
    c->queue = config->shared != NULL ? &config->shared->queue : &c->own;
    if (config->shared != NULL)
        config->shared->members++;
    init_chances(c);
    list_init(&c->line);
    list_init(&c->held);
    list_init(&c->gone);
    list_init(&c->noted);
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
    c->seen = c->clock;
    if (k->burst.good > 0)
        chan_burst_init(&c->burst, &k->burst, seed_of(k, 7), tick_min(k->origin, now));
    chan_changes_begin(&c->changes, k->origin);
    c->contact = (struct chan_contact){k->windows, k->window_count, k->windows_off, k->origin};
}

static void free_all(struct list *frames)
{
    list_for_each_safe (it, frames)
        free(container_of(it, struct chan_frame, link));
}

void chan_free(struct chan *c)
{
    struct list waiting;
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->order.len; i++)
        free(container_of(c->order.places[i].node, struct chan_frame, node));
    heap_fini(&c->order);
    free_all(&c->line);
    list_init(&waiting);
    chan_queue_leave(c, &waiting);
    free_all(&waiting);
    free_all(&c->held);
    free_all(&c->gone);
    chan_pool_fini(&c->pool);
    fini_parts(c);
    if (c->config.shared != NULL)
        c->config.shared->members--;
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
    list_for_each_safe (it, &c->noted) {
        struct chan_frame *f = container_of(it, struct chan_frame, note);
        f->notes = 0;
        list_sub(it);
    }
    list_for_each_safe (it, &c->held)
        chan_pool_give(&c->pool, container_of(it, struct chan_frame, link));
    list_for_each_safe (it, &c->gone)
        chan_pool_give(&c->pool, container_of(it, struct chan_frame, link));
    assert(list_empty(&c->held) && list_empty(&c->gone) && list_empty(&c->noted));
    c->note_count = c->notes_told = 0;
}

static void enter_line(struct chan *c, const struct chan_head *head, uint64_t tag, tick now)
{
    size_t len = head->len;
    assert(len <= CHAN_FRAME_MAX && head->kept <= len && now >= c->last_input);
    release_held(c);
    if (!c->begun)
        begin_clock(c, now);
    chan_line_run(c->queue, now);
    c->last_input = now;
    c->counters.in++;
    c->counters.in_bytes += len;
    assert(c->note_count == 0 && c->begun);
    c->last = (struct chan_fate){.number = c->counters.in,
                                 .entered = now,
                                 .air_start = now,
                                 .air_end = now,
                                 .tag = tag,
                                 .data = head->data,
                                 .len = len,
                                 .kept = head->kept};
}

void chan_input_head(struct chan *c, const struct chan_head *head, uint64_t tag, tick now,
                     unsigned as)
{
    assert((as & ~(CHAN_ECN | CHAN_BY_RULE)) == 0);
    assert(head->kept == head->len || !(c->flips[0].use_one || c->flips[0].use_errors));
    enter_line(c, head, tag, now);
    c->last_ecn = (uint8_t)(as & CHAN_ECN);
    chan_line_input(c, (as & CHAN_BY_RULE) != 0);
    check_counts(c);
}

void chan_input_as(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now,
                   unsigned as)
{
    chan_input_head(c, &(struct chan_head){data, len, len}, tag, now, as);
}

void chan_input(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now)
{
    chan_input_as(c, data, len, tag, now, 0);
}

void chan_input_rule(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now)
{
    chan_input_as(c, data, len, tag, now, CHAN_BY_RULE);
}

int chan_change(struct chan *c, const struct chan_change *change, tick now)
{
    struct chan_config one = c->config;
    struct chan_change at_now = *change;
    assert(now >= c->last_input);
    at_now.at = now;
    one.changes = &at_now;
    one.change_count = 1;
    if (!c->config.live || !chan_changes_valid(&one))
        return HELIO_EINVAL;
    if (now > 0)
        chan_line_run(c->queue, now - 1); /* what should have begun before */
    int rc = chan_changes_add(&c->changes, &at_now, c->begun);
    c->last_input = rc == 0 ? now : c->last_input;
    assert(rc == 0 || rc == HELIO_ENOMEM);
    return rc;
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
    chan_line_run(c->queue, now);
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
        struct chan_frame *f = container_of(c->order.places[i].node, struct chan_frame, node);
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
    return tick_min(c->queue->turn, f == NULL ? TICK_NEVER : f->due);
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

/* What waits for the line never takes it. */
static void end_waiting(struct chan *c)
{
    struct list waiting;
    list_init(&waiting);
    chan_queue_leave(c, &waiting);
    list_for_each_safe (link, &waiting) {
        struct chan_frame *f = container_of(link, struct chan_frame, link);
        assert(c->counters.queued > 0);
        list_sub(link);
        c->counters.queued--;
        f->air_start = f->air_end = f->entered;
        chan_line_lose(c, f, CHAN_END);
    }
}

void chan_end(struct chan *c)
{
    release_held(c);
    for (struct chan_frame *f = first_frame(c); f != NULL; f = first_frame(c))
        chan_line_lose(c, f, take_first(c, f) ? CHAN_OUTAGE : CHAN_END);
    end_waiting(c);
    assert(c->counters.queued == 0 && first_frame(c) == NULL);
    check_counts(c);
}

/* With many frames in flight the next one was written long ago: it is prefetched while the caller
 * processes this one. */
static void fetch_next(const struct chan *c)
{
    const struct list *next = list_first(&c->line);
    if (next == NULL)
        return;
    const struct chan_frame *f = container_of(next, struct chan_frame, link);
    __builtin_prefetch(&f->link);
    __builtin_prefetch(&f->due);
    __builtin_prefetch(f->data);
}

int chan_output(struct chan *c, tick now, struct chan_out *out)
{
    struct chan_counters *n = &c->counters;
    check_counts(c);
    chan_line_run(c->queue, now);
    for (;;) {
        struct chan_frame *f = first_frame(c);
        if (f == NULL || f->due > now)
            return 0;
        if (take_first(c, f)) {
            chan_line_lose(c, f, CHAN_OUTAGE);
            continue;
        }
        n->out++;
        n->out_bytes += f->len;
        fetch_next(c);
        list_add_tail(&c->held, &f->link);
        *out = (struct chan_out){.data = f->data,
                                 .len = f->len,
                                 .kept = f->kept,
                                 .tag = f->tag,
                                 .due = f->due,
                                 .entered = f->entered,
                                 .air_start = f->air_start,
                                 .air_end = f->air_end,
                                 .number = f->number,
                                 .copy = f->copy,
                                 .corrupted = f->corrupted,
                                 .marked = f->marked,
                                 .ecn = f->marked ? 3 : f->ecn};
        return 1;
    }
}

static void show_fate(const struct chan_frame *f, enum chan_reason reason, struct chan_fate *out)
{
    assert(reason < CHAN_REASONS);
    *out = (struct chan_fate){.reason = reason,
                              .number = f->number,
                              .entered = f->entered,
                              .air_start = f->air_start,
                              .air_end = f->air_end,
                              .tag = f->tag,
                              .data = f->data,
                              .len = f->len,
                              .kept = f->kept};
}

/* The next frame that is not lost, but has a fate to report. */
static bool take_note(struct chan *c, struct chan_fate *out)
{
    static const enum chan_reason order[] = {CHAN_MARK, CHAN_CORRUPT, CHAN_DUPLICATE, CHAN_MEMORY};
    struct list *link = list_first(&c->noted);
    if (link == NULL)
        return false;
    struct chan_frame *f = container_of(link, struct chan_frame, note);
    size_t i = 0;
    while (i + 1 < sizeof order / sizeof *order && (f->notes & 1u << order[i]) == 0)
        i++;
    assert((f->notes & 1u << order[i]) != 0);
    f->notes &= (uint16_t) ~(1u << order[i]);
    if (f->notes == 0)
        list_sub(link);
    show_fate(f, order[i], out);
    return true;
}

int chan_fate(struct chan *c, struct chan_fate *out)
{
    assert(c->notes_told <= c->note_count && c->note_count <= CHAN_NOTES_MAX);
    if (c->notes_told < c->note_count) {
        *out = c->last;
        out->reason = (enum chan_reason)c->notes[c->notes_told++];
        return 1;
    }
    if (take_note(c, out))
        return 1;
    struct list *link = list_first(&c->gone);
    if (link == NULL)
        return 0;
    struct chan_frame *f = container_of(link, struct chan_frame, link);
    list_sub(link);
    list_add_tail(&c->held, link);
    show_fate(f, (enum chan_reason)f->reason, out);
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
    static const char *const names[CHAN_REASONS] = {
        "trace", "random", "burst",    "outage",    "rule",    "queue", "memory",
        "end",   "codel",  "handover", "duplicate", "corrupt", "mark"};
    return reason < CHAN_REASONS ? names[reason] : "?";
}

/* ---- observers ---- */

/* An observer has its own position in the trace. So it does not affect the frames, and a look each
 * second needs no search from the trace's start. */
static void look_at_trace(struct chan *c, tick from, tick to, struct chan_look *out)
{
    const struct chan_config *k = &c->config;
    tick end = to - 1, a = from, b = to;
    const double span = (double)(to - from);
    if (k->trace == NULL ||
        (k->trace_no_loop && !trace_once(k->trace, k->origin, k->trace_offset, &a, &b)))
        return;
    out->bad_share = (double)trace_clock_bad_time(&c->seen, a, b) / span;
    struct trace_clock ahead = c->seen;
    out->bad = b == to && trace_clock_bad(&ahead, end, end);
}

void chan_look_at(struct chan *c, tick from, tick to, struct chan_look *out)
{
    const struct chan_config *k = &c->config;
    assert(from < to);
    *out = (struct chan_look){.begun = c->begun, .power = HUGE_VAL};
    if (!c->begun)
        return;
    out->down = c->down;
    struct chan_contact_at place = {0};
    out->contact = chan_contact_covers(&c->contact, &place, to - 1, to - 1);
    look_at_trace(c, from, to, out);
    if (k->power != NULL)
        out->power = chan_power_mean(k->power, k->origin, from, to);
    out->rate_bps = c->queue->rates->values.rate_bps;
    out->delay = c->changes.values.delay;
    out->loss = c->changes.values.loss;
    size_t point = 0;
    if (k->point_count > 0)
        out->delay =
            chan_delay_at(k->points, k->point_count, &point, to > k->origin ? to - k->origin : 0);
}
