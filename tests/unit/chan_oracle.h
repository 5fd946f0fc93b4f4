/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel with a configuration drawn at random, played against a second computation of what it
 * must do: plain sums and searches over whole tables, nothing carried from frame to frame but what
 * the model says. Where chance decides, the channel's own word is taken, and must be consistent.
 * Its user defines `static uint64_t pick(struct source *s, uint64_t n)`, a number below n (> 0).
 */
#ifndef TESTS_UNIT_CHAN_ORACLE_H
#define TESTS_UNIT_CHAN_ORACLE_H

#include <string.h>

#include "channel-emu/chan/chan.h"

#define ORACLE_FRAMES 256
#define ORACLE_TABLE 24
#define ORACLE_STEPS 200

__extension__ typedef __int128 oracle_wide;

struct source;
static uint64_t pick(struct source *s, uint64_t n);

struct expected {
    enum chan_reason reason; /* of losses that are no chance; CHAN_REASONS: none */
    tick entered, air_start, air_end, base;
    size_t len;
    bool lost, doubled, flipped; /* as the channel says */
    int out;
};

struct oracle {
    struct chan_config k;
    tick scale, now;
    struct trace trace;
    bool steps[ORACLE_STEPS];
    struct chan_window windows[ORACLE_TABLE], on[ORACLE_TABLE + 1], down[ORACLE_FRAMES];
    struct chan_point points[ORACLE_TABLE];
    size_t on_count, down_count;
    bool is_down;
    tick busy_since, free_at, latest;
    oracle_wide busy_bytes;
    size_t frames;
    struct expected at[ORACLE_FRAMES];
    struct chan_out last;
    const char *wrong;
};

static void must(struct oracle *o, bool good, const char *what)
{
    if (!good && o->wrong == NULL)
        o->wrong = what;
}

/* ---- the configuration ---- */

static double a_chance(struct source *s)
{
    return pick(s, 3) == 0 ? (double)pick(s, 1001) / 1000 : 0;
}

static void draw_tables(struct oracle *o, struct source *s)
{
    tick at = pick(s, 20) * o->scale;
    o->k.window_count = pick(s, 2) == 0 ? 0 : 1 + pick(s, ORACLE_TABLE);
    for (size_t i = 0; i < o->k.window_count; i++) {
        o->windows[i].from = at;
        at = o->windows[i].to = at + 1 + pick(s, 20 * o->scale);
        at += pick(s, 3) == 0 ? 0 : pick(s, 20 * o->scale);
    }
    o->k.windows = o->windows;
    o->k.windows_off = pick(s, 2) == 0;
    o->k.hold = o->k.window_count > 0 && pick(s, 2) == 0;
    o->k.point_count = pick(s, 2) == 0 ? 0 : 1 + pick(s, ORACLE_TABLE);
    at = pick(s, 20) * o->scale;
    for (size_t i = 0; i < o->k.point_count; i++) {
        o->points[i] = (struct chan_point){at, pick(s, 100 * o->scale)};
        at += 1 + pick(s, 20 * o->scale);
    }
    o->k.points = o->points;
}

static void draw_trace(struct oracle *o, struct source *s)
{
    trace_init(&o->trace, 1 + pick(s, 4 * o->scale));
    if (pick(s, 2) == 0)
        return;
    size_t n = 1 + pick(s, ORACLE_STEPS);
    for (size_t i = 0; i < n; i++) {
        o->steps[i] = i == 0 || pick(s, 4) != 0 ? (i > 0 && o->steps[i - 1]) : !o->steps[i - 1];
        if (trace_add(&o->trace, o->steps[i], 1) != 0)
            o->wrong = "the trace was refused";
    }
    o->k.trace = &o->trace;
    o->k.trace_offset = pick(s, 2) == 0 ? 0 : pick(s, 3 * n * o->trace.step);
    o->k.trace_no_loop = pick(s, 2) == 0;
}

static void draw_config(struct oracle *o, struct source *s)
{
    static const tick scales[] = {1, 37, 1000, 8560, 100000, 1000000, 50000000};
    memset(o, 0, sizeof *o);
    o->scale = scales[pick(s, sizeof scales / sizeof *scales)];
    struct chan_config *k = &o->k;
    switch (pick(s, 4)) {
    case 0:
        break;
    case 1:
        k->rate_bps = 1 + pick(s, UINT64_C(1) << (1 + pick(s, 40)));
        break;
    default: /* a frame takes about the scale */
        k->rate_bps = 1 + 4000 * TICK_S / o->scale / (1 + pick(s, 8));
    }
    k->overhead = (uint32_t)pick(s, 100);
    k->queue_bytes = pick(s, 2) == 0 ? 0 : 1 + pick(s, 20000);
    k->queue_time = pick(s, 2) == 0 ? 0 : 1 + pick(s, 40 * o->scale);
    k->delay = pick(s, 100 * o->scale);
    k->jitter = pick(s, 2) == 0 ? 0 : pick(s, 50 * o->scale);
    k->jitter_in_order = pick(s, 2) == 0;
    k->origin = pick(s, 2) == 0 ? 0 : pick(s, 2000 * o->scale);
    k->origin_first = pick(s, 2) == 0;
    k->start_only = pick(s, 2) == 0;
    if (pick(s, 3) == 0)
        k->burst = (struct chan_burst){1 + pick(s, 50 * o->scale), 1 + pick(s, 50 * o->scale),
                                       a_chance(s), a_chance(s)};
    k->loss = a_chance(s);
    k->duplicate = a_chance(s);
    k->corrupt = a_chance(s);
    k->bit_error_rate = a_chance(s) / 1000;
    k->seed = pick(s, UINT64_MAX);
    draw_tables(o, s);
    draw_trace(o, s);
    o->now = pick(s, 1000 * o->scale);
}

/* ---- what must be ---- */

static void add_on(struct oracle *o, tick from, tick to)
{
    if (from >= to)
        return;
    if (o->on_count > 0 && o->on[o->on_count - 1].to == from)
        o->on[o->on_count - 1].to = to;
    else
        o->on[o->on_count++] = (struct chan_window){from, to};
}

static void begin_oracle(struct oracle *o)
{
    struct chan_config *k = &o->k;
    tick last = 0;
    k->origin = k->origin_first ? o->now : k->origin;
    for (size_t i = 0; i < k->window_count; i++) {
        tick from = k->origin + o->windows[i].from, to = k->origin + o->windows[i].to;
        if (k->windows_off)
            add_on(o, last, from);
        else
            add_on(o, from, to);
        last = to;
    }
    if (k->windows_off || k->window_count == 0)
        add_on(o, last, TICK_NEVER);
}

static tick on_time(const struct oracle *o, tick from, tick to)
{
    tick sum = 0;
    for (size_t i = 0; i < o->on_count; i++) {
        tick a = o->on[i].from > from ? o->on[i].from : from;
        tick b = o->on[i].to < to ? o->on[i].to : to;
        sum += b > a ? b - a : 0;
    }
    return sum;
}

static bool on_all(const struct oracle *o, tick from, tick to)
{
    for (size_t i = 0; i < o->on_count; i++) {
        if (o->on[i].from <= from && from < o->on[i].to && to <= o->on[i].to)
            return true;
    }
    return false;
}

static tick next_on(const struct oracle *o, tick t)
{
    for (size_t i = 0; i < o->on_count; i++) {
        if (t < o->on[i].to)
            return t > o->on[i].from ? t : o->on[i].from;
    }
    return TICK_NEVER;
}

static bool queue_must_drop(const struct oracle *o, size_t len, tick start)
{
    const struct chan_config *k = &o->k;
    uint64_t more = len + k->overhead, waits = 0;
    if (k->rate_bps == 0) {
        for (size_t i = 0; i < o->frames; i++) {
            const struct expected *e = &o->at[i];
            if (e->reason != CHAN_QUEUE && e->air_start == start && e->entered < start)
                waits += e->len + k->overhead;
        }
        return k->queue_bytes > 0 && start > o->now && waits + more > k->queue_bytes;
    }
    tick wait = o->free_at <= o->now ? 0
                : k->hold            ? on_time(o, o->now, o->free_at)
                                     : o->free_at - o->now;
    if (wait == 0)
        return false;
    return (k->queue_time > 0 && wait > k->queue_time) ||
           (k->queue_bytes > 0 &&
            (oracle_wide)wait * (oracle_wide)k->rate_bps + (oracle_wide)(more * 8 * TICK_S) >
                (oracle_wide)k->queue_bytes * (oracle_wide)(8 * TICK_S));
}

static bool trace_must_erase(const struct oracle *o, tick from, tick to)
{
    oracle_wide step = (oracle_wide)o->trace.step, n = (oracle_wide)o->trace.steps;
    if (o->k.trace == NULL)
        return false;
    oracle_wide earlier =
        (oracle_wide)o->k.origin / (n * step) + 1; /* passes, so that no sum is < 0 */
    oracle_wide shift =
        (oracle_wide)o->k.trace_offset - (oracle_wide)o->k.origin + earlier * n * step;
    oracle_wide a = ((oracle_wide)from + shift) / step;
    oracle_wide b = from == to ? a : ((oracle_wide)to + shift - 1) / step;
    for (oracle_wide i = a; i <= b && (o->k.trace_no_loop || i < a + n); i++) {
        oracle_wide place = i - n * earlier;
        if (o->k.trace_no_loop && place >= n)
            return false;
        if (o->k.trace_no_loop && place < 0) {
            i += -place - 1; /* nothing before the begin */
            continue;
        }
        if (o->steps[(size_t)(i % n)])
            return true;
    }
    return false;
}

static tick delay_must_be(const struct oracle *o, tick air_end)
{
    oracle_wide t = (oracle_wide)air_end - (oracle_wide)o->k.origin;
    const struct chan_point *p = o->points;
    size_t n = o->k.point_count;
    if (n == 0)
        return o->k.delay;
    if (t <= (oracle_wide)p[0].at)
        return p[0].delay;
    for (size_t i = 1; i < n; i++) {
        oracle_wide a = (oracle_wide)p[i - 1].at, b = (oracle_wide)p[i].at;
        oracle_wide from = (oracle_wide)p[i - 1].delay, to = (oracle_wide)p[i].delay;
        if (t < b)
            return (tick)(from + (to - from) * (t - a) / (b - a));
    }
    return p[n - 1].delay;
}

/* The frame's time on the air, and whether it is lost but for chance. */
static struct expected expect_frame(struct oracle *o, size_t len)
{
    struct expected e = {.entered = o->now, .air_start = o->now, .air_end = o->now, .len = len};
    tick start = o->free_at > o->now ? o->free_at : o->now;
    start = o->k.hold ? next_on(o, start) : start;
    e.reason = CHAN_OUTAGE;
    if (start == TICK_NEVER)
        return e;
    e.reason = CHAN_QUEUE;
    if (queue_must_drop(o, len, start))
        return e;
    e.air_start = e.air_end = start;
    if (start > o->free_at || o->frames == 0) {
        o->busy_since = start;
        o->busy_bytes = 0;
    }
    o->busy_bytes += (oracle_wide)(len + o->k.overhead);
    if (o->k.rate_bps > 0)
        e.air_end = o->busy_since +
                    (tick)(o->busy_bytes * (oracle_wide)(8 * TICK_S) / (oracle_wide)o->k.rate_bps);
    o->free_at = e.air_end;
    tick base = e.air_end + delay_must_be(o, e.air_end);
    o->latest = base > o->latest ? base : o->latest;
    e.base = o->latest;
    e.reason = !on_all(o, e.air_start, e.air_end) ? CHAN_OUTAGE
               : trace_must_erase(o, e.air_start, o->k.start_only ? e.air_start : e.air_end)
                   ? CHAN_TRACE
                   : CHAN_REASONS;
    return e;
}

/* ---- what is ---- */

static void add_up(struct oracle *o, const struct chan *c)
{
    const struct chan_counters *n = chan_counters(c);
    must(o, n->in == o->frames, "in");
    must(o, n->in + n->duplicated == n->out + chan_lost(n) + n->queued, "counters add up");
}

static bool met_outage(const struct oracle *o, const struct expected *e)
{
    for (size_t i = 0; i < o->down_count; i++) {
        tick from = o->down[i].from, to = o->down[i].to;
        if (e->air_start < to && (e->air_end > from || e->air_start >= from))
            return true;
    }
    return false;
}

static void take_fates(struct oracle *o, struct chan *c)
{
    struct chan_fate f;
    while (chan_fate(c, &f) == 1) {
        must(o, f.number >= 1 && f.number <= o->frames, "number of a fate");
        struct expected *e = &o->at[f.number - 1];
        must(o, f.entered == e->entered && f.len == e->len && f.tag == f.number * 3, "fate");
        must(o, f.air_start == e->air_start && f.air_end == e->air_end, "air time of a fate");
        e->flipped = e->flipped || f.reason == CHAN_CORRUPT;
        if (f.reason == CHAN_DUPLICATE) {
            must(o, !e->doubled && !e->lost && o->k.duplicate > 0, "a second copy");
            e->doubled = true;
        } else if (f.reason == CHAN_OUTAGE && e->reason == CHAN_REASONS) {
            must(o, met_outage(o, e), "lost without an outage");
            e->out++;
        } else if (f.reason != CHAN_CORRUPT) {
            must(o, !e->lost, "lost twice");
            e->lost = true;
            bool chance = (f.reason == CHAN_RANDOM && o->k.loss > 0) ||
                          (f.reason == CHAN_BURST && o->k.burst.good > 0);
            must(o, e->reason == CHAN_REASONS ? chance : f.reason == e->reason, "reason");
        }
    }
}

static void take_output(struct oracle *o, struct chan *c, tick until)
{
    struct chan_out out;
    while (chan_output(c, until, &out) == 1) {
        must(o, out.number >= 1 && out.number <= o->frames, "number of an output");
        struct expected *e = &o->at[out.number - 1];
        e->out++;
        must(o, !e->lost && !met_outage(o, e), "a lost frame came out");
        must(o,
             out.tag == out.number * 3 && out.len == e->len && out.entered == e->entered &&
                 out.air_start == e->air_start && out.air_end == e->air_end,
             "output");
        must(o, out.due <= until && out.due >= o->last.due, "order of time");
        bool in_order = o->k.jitter == 0 || o->k.jitter_in_order;
        must(o, !in_order || out.number >= o->last.number, "order of frames");
        tick jitter = o->k.jitter > 0 ? o->k.jitter - 1 : 0;
        must(o, out.due >= e->base && out.due <= e->base + jitter, "delay");
        must(o, !in_order || out.copy == (e->out == 2), "copy after its frame");
        for (size_t i = 0; !out.corrupted && i < out.len; i++)
            must(o, out.data[i] == (uint8_t)(out.number + i), "data");
        o->last = out;
    }
}

static void step(struct oracle *o, struct chan *c, struct source *s)
{
    uint8_t data[2048];
    o->now += pick(s, 4) == 0 ? 0 : pick(s, 1 + pick(s, 8) * o->scale);
    if (pick(s, 30) == 0) {
        o->is_down = !o->is_down;
        chan_outage(c, o->is_down, o->now);
        if (o->is_down)
            o->down[o->down_count++] = (struct chan_window){o->now, TICK_NEVER};
        else
            o->down[o->down_count - 1].to = o->now;
    }
    size_t len = pick(s, 8) == 0 ? pick(s, sizeof data) : 500;
    if (o->frames == 0)
        begin_oracle(o);
    struct expected e = expect_frame(o, len);
    bool by_rule = pick(s, 20) == 0;
    if (by_rule && e.reason != CHAN_QUEUE)
        e.reason = CHAN_RULE;
    o->at[o->frames++] = e;
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)(o->frames + i);
    if (by_rule)
        chan_input_rule(c, data, len, o->frames * 3, o->now);
    else
        chan_input(c, data, len, o->frames * 3, o->now);
    take_fates(o, c);
    must(o, o->at[o->frames - 1].lost == (e.reason != CHAN_REASONS) || o->at[o->frames - 1].lost,
         "not lost");
    add_up(o, c);
    if (pick(s, 3) != 0)
        take_output(o, c, o->now);
    take_fates(o, c);
    add_up(o, c);
}

/* NULL, or what the channel did wrong. */
static const char *oracle_play(struct oracle *o, struct source *s, size_t frames)
{
    struct chan *c;
    draw_config(o, s);
    struct chan_config k = o->k;
    if (chan_new(&c, &k) != 0)
        return "chan_new";
    for (size_t i = 0; i < frames && i < ORACLE_FRAMES && o->wrong == NULL; i++)
        step(o, c, s);
    take_output(o, c, TICK_NEVER - 1);
    take_fates(o, c);
    must(o, chan_counters(c)->queued == 0 && chan_deadline(c) == TICK_NEVER, "empty at the end");
    for (size_t i = 0; i < o->frames; i++)
        must(o, o->at[i].out == (o->at[i].lost ? 0 : 1 + o->at[i].doubled), "arrives once");
    add_up(o, c);
    chan_free(c);
    trace_fini(&o->trace);
    return o->wrong;
}

#endif
