/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A piece begins when the line is free, or when its octets began to wait if that is later. So a
 * late wake-up costs no time of the line while flows have waiting octets. A piece has arrived when
 * its last octet has: no octet is early, and pieces within a short step share the time of the
 * latest. What can go wrong: no memory for marks; then pieces share a mark beyond the step.
 */
#include "channel-emu/wan/wan_line.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bucket.h"
#include "base/err.h"

#define LIMIT_AUTO_LEAST (UINT64_C(4) << 20)
#define LIMIT_AUTO_MORE (20 * TICK_MS)
#define ROOM_TIME (10 * TICK_MS) /* of octets that wait for the line */
#define ROOM_LEAST (UINT64_C(64) << 10)
#define ROOM_MOST (UINT64_C(4) << 20)
#define PIECE_TIME (100 * TICK_US)
#define PIECE_LEAST UINT64_C(1460)
#define STEP_LEAST (50 * TICK_US)
#define STEPS_OF_DELAY 4096u /* more marks than that are not needed for one delay */
#define MARKS_FIRST 16u

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

uint64_t wan_config_limit(const struct wan_config *c)
{
    if (c->limit_bytes != 0)
        return c->limit_bytes;
    const uint64_t rate = c->rate_bps != 0 ? c->rate_bps : WAN_RATE_ASSUMED;
    const double octets = (double)rate / 8e9 * (double)tick_add(c->delay, LIMIT_AUTO_MORE);
    return clamp((uint64_t)octets, LIMIT_AUTO_LEAST, UINT64_C(1) << 40);
}

static void derive_sizes(struct wan_line *l)
{
    const struct wan_config *c = l->config;
    l->limit_bytes = wan_config_limit(c);
    l->room_bytes = c->rate_bps == 0
                        ? ROOM_MOST
                        : clamp(bucket_octets(c->rate_bps, ROOM_TIME), ROOM_LEAST, ROOM_MOST);
    l->piece_bytes = clamp(bucket_octets(c->rate_bps, PIECE_TIME), PIECE_LEAST, WAN_CHUNK_BYTES);
    l->step = tick_max(STEP_LEAST, c->delay / STEPS_OF_DELAY);
}

void wan_line_init(struct wan_line *l, const struct wan_config *c, struct wan_pool *pool, tick now)
{
    *l = (struct wan_line){.config = c, .pool = pool, .begin = now, .free_at = now};
    derive_sizes(l);
    list_init(&l->turn);
}

void wan_line_change(struct wan_line *l, tick now)
{
    derive_sizes(l);
    l->free_at = tick_max(l->free_at, now); /* what was before is of the rate before */
    l->frac = 0;
}

void wan_line_stall(struct wan_line *l, tick until, tick now)
{
    l->still = tick_max(until, now);
}

/* ---- marks ---- */

static struct wan_mark *mark_at(const struct wan_flow *f, size_t i)
{
    return &f->marks[(f->first + i) & (f->cap - 1)];
}

static bool grow_marks(struct wan_flow *f)
{
    size_t cap = f->cap * 2;
    assert(cap >= 2 * MARKS_FIRST);
    struct wan_mark *more = malloc(cap * sizeof *more);
    if (more == NULL)
        return false;
    for (size_t i = 0; i < f->len; i++)
        more[i] = *mark_at(f, i);
    free(f->marks);
    f->marks = more;
    f->cap = cap;
    f->first = 0;
    return true;
}

static void mark_piece(struct wan_flow *f, tick due)
{
    struct wan_mark *last = f->len > 0 ? mark_at(f, f->len - 1) : NULL;
    due = tick_max(due, f->last);
    f->last = due;
    bool joins = last != NULL && due - last->first <= f->line->step;
    if (joins || (f->len == f->cap && !grow_marks(f))) {
        last = mark_at(f, f->len - 1);
        last->due = due;
        last->until = f->lined;
        return;
    }
    f->len++;
    *mark_at(f, f->len - 1) = (struct wan_mark){due, due, f->lined};
}

/* ---- the line ---- */

static tick pass_stalls(const struct wan_line *l, tick at)
{
    return l->begin + wan_stalls_pass(&l->config->stalls, tick_max(at, l->still) - l->begin);
}

bool wan_line_stands(const struct wan_line *l, tick now)
{
    return pass_stalls(l, now) > now;
}

tick wan_line_arrival(const struct wan_line *l, tick now)
{
    return tick_add(pass_stalls(l, now), l->config->delay);
}

/* The end of octets that began to wait at `since`. */
static tick send_octets(struct wan_line *l, uint64_t octets, tick since)
{
    const uint64_t rate = l->config->rate_bps;
    since = tick_max(since, l->still);
    if (since > l->free_at) {
        l->free_at = since;
        l->frac = 0;
    }
    uint64_t sum = octets * 8 * TICK_S + l->frac;
    tick at = l->free_at - l->begin;
    l->free_at = l->begin + wan_stalls_work(&l->config->stalls, at, sum / rate);
    l->frac = sum % rate;
    return l->free_at;
}

static uint64_t count_waiting(const struct wan_flow *f)
{
    return f->added - f->lined;
}

/* The end follows the last octet. */
static void send_end(struct wan_flow *f, tick now)
{
    if (f->ending && count_waiting(f) == 0 && f->end == TICK_NEVER)
        f->end = tick_max(f->last, wan_line_arrival(f->line, now));
}

static void send_piece(struct wan_line *l, struct wan_flow *f, tick now)
{
    const bool limited = l->config->rate_bps != 0;
    uint64_t octets = count_waiting(f);
    octets = limited && octets > l->piece_bytes ? l->piece_bytes : octets;
    tick sent = limited ? send_octets(l, octets, f->since) : pass_stalls(l, now);
    f->lined += octets;
    mark_piece(f, tick_add(sent, l->config->delay));
    list_sub(&f->node);
    if (count_waiting(f) > 0)
        list_add_tail(&l->turn, &f->node);
    send_end(f, now);
}

void wan_line_serve(struct wan_line *l, tick now)
{
    if (l->still > now)
        return;
    for (struct list *n; (n = list_first(&l->turn)) != NULL;) {
        if (l->config->rate_bps != 0 && l->free_at > tick_add(now, WAN_AHEAD))
            return;
        send_piece(l, container_of(n, struct wan_flow, node), now);
    }
}

tick wan_line_deadline(const struct wan_line *l)
{
    if (list_empty(&l->turn))
        return TICK_NEVER;
    const bool any = l->config->rate_bps == 0 || l->free_at < WAN_AHEAD;
    return tick_max(l->still, any ? 0 : l->free_at - WAN_AHEAD / 2);
}

/* ---- one flow ---- */

int wan_flow_init(struct wan_flow *f, struct wan_line *l)
{
    *f = (struct wan_flow){.line = l, .cap = MARKS_FIRST, .end = TICK_NEVER};
    list_init(&f->node);
    wan_bytes_init(&f->bytes, l->pool);
    f->marks = malloc(f->cap * sizeof *f->marks);
    return f->marks == NULL ? HELIO_ENOMEM : 0;
}

void wan_flow_fini(struct wan_flow *f)
{
    wan_flow_lose(f);
    free(f->marks);
    f->marks = NULL;
}

bool wan_flow_full(const struct wan_flow *f)
{
    return f->ending || count_waiting(f) >= f->line->room_bytes ||
           f->bytes.len >= f->line->limit_bytes;
}

bool wan_flow_roomy(const struct wan_flow *f)
{
    const struct wan_line *l = f->line;
    return !f->ending && count_waiting(f) <= l->room_bytes / 2 &&
           f->bytes.len <= l->limit_bytes - l->limit_bytes / 8;
}

uint8_t *wan_flow_space(struct wan_flow *f, size_t *len)
{
    assert(!wan_flow_full(f));
    uint64_t room = f->line->room_bytes - count_waiting(f);
    uint64_t rest = f->line->limit_bytes - f->bytes.len;
    uint8_t *at = wan_bytes_space(&f->bytes, len);
    room = room < rest ? room : rest;
    *len = *len < room ? *len : (size_t)room;
    return at;
}

void wan_flow_add(struct wan_flow *f, size_t len, tick now)
{
    struct wan_account *a = &f->line->account;
    if (count_waiting(f) == 0) {
        f->since = now;
        list_add_tail(&f->line->turn, &f->node);
    }
    wan_bytes_add(&f->bytes, len);
    f->added += len;
    a->in_bytes += len;
    a->queued_bytes += len;
    a->queued_most = a->queued_bytes > a->queued_most ? a->queued_bytes : a->queued_most;
}

void wan_flow_end(struct wan_flow *f, tick now)
{
    f->ending = true;
    send_end(f, now);
}

uint64_t wan_flow_ready(struct wan_flow *f, tick now, tick free_since)
{
    while (f->len > 0 && mark_at(f, 0)->due <= now) {
        emu_late_add(&f->line->late, now - tick_min(now, tick_max(mark_at(f, 0)->due, free_since)));
        f->there = mark_at(f, 0)->until;
        f->first = (f->first + 1) & (f->cap - 1);
        f->len--;
    }
    assert(f->taken <= f->there && f->there <= f->lined && f->lined <= f->added);
    return f->there - f->taken;
}

size_t wan_flow_parts(const struct wan_flow *f, uint64_t most, struct slice *parts, size_t max)
{
    assert(most <= f->there - f->taken);
    return wan_bytes_parts(&f->bytes, most, parts, max);
}

void wan_flow_take(struct wan_flow *f, uint64_t len)
{
    assert(len <= f->there - f->taken);
    wan_bytes_sub(&f->bytes, len);
    f->taken += len;
    f->line->account.out_bytes += len;
    f->line->account.queued_bytes -= len;
}

bool wan_flow_over(const struct wan_flow *f, tick now)
{
    return f->end <= now && f->taken == f->added;
}

tick wan_flow_deadline(const struct wan_flow *f)
{
    return f->len > 0 ? mark_at(f, 0)->due : f->taken == f->added ? f->end : TICK_NEVER;
}

void wan_flow_lose(struct wan_flow *f)
{
    f->line->account.lost_bytes += f->bytes.len;
    f->line->account.queued_bytes -= f->bytes.len;
    wan_bytes_fini(&f->bytes);
    list_sub(&f->node);
    f->lined = f->there = f->taken = f->added;
    f->len = 0;
    f->ending = true;
    f->end = TICK_NEVER;
}
