/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window grows by acknowledgements and is reduced once for all losses of a round trip. Nothing
 * can go wrong here; a sender that exceeds the window is a fault of the caller.
 */
#include "sim/flow.h"

#include <assert.h>
#include <string.h>

#define INITIAL 10.0 /* segments */
#define SMALLEST 2.0 /* … after a loss */
#define CUBIC_C 0.4
#define CUBIC_BETA 0.7
#define CUBIC_ALPHA (3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA))
#define BUFFER_MIN 65536 /* octets */
#define UNBOUNDED 1e18

void flow_init(struct flow *f, enum flow_kind kind, uint32_t segment, uint64_t most)
{
    assert(segment > 0 && most > 0);
    *f = (struct flow){.kind = kind,
                       .segment = segment,
                       .most = most,
                       .window = INITIAL,
                       .threshold = UNBOUNDED,
                       .cubic.epoch = TICK_NEVER};
}

bool flow_kind_of(const char *name, enum flow_kind *out)
{
    bool reno = strcmp(name, "reno") == 0;
    if (reno || strcmp(name, "cubic") == 0)
        *out = reno ? FLOW_RENO : FLOW_CUBIC;
    return reno || strcmp(name, "cubic") == 0;
}

bool flow_room(struct flow *f, uint32_t octets)
{
    if (f->kind == FLOW_NONE || f->under == 0)
        return true;
    bool room = (double)(f->under + octets) <= f->window * (double)f->segment;
    f->bound = f->bound || !room;
    return room && f->under + octets <= f->most;
}

void flow_idle(struct flow *f)
{
    f->bound = false;
}

void flow_sent(struct flow *f, uint32_t octets)
{
    assert(f->kind == FLOW_NONE || f->under == 0 || f->under + octets <= f->most);
    f->under += octets;
}

uint64_t flow_buffer(const struct flow *f)
{
    double twice = 2 * f->window * (double)f->segment;
    twice = twice < BUFFER_MIN ? BUFFER_MIN : twice;
    return twice < (double)(2 * f->most) ? (uint64_t)twice : 2 * f->most;
}

/* ---- CUBIC ---- */

/* Newton's method, so that the result is the same on each machine. */
static double cube_root(double x)
{
    double y = x > 1 ? x : 1;
    for (int i = 0; i < 200; i++) {
        double next = (2 * y + x / (y * y)) / 3;
        if (next >= y)
            break;
        y = next;
    }
    return x > 0 ? y : 0;
}

static double cubic_at(const struct flow *f, double seconds)
{
    double d = seconds - f->cubic.k;
    return CUBIC_C * d * d * d + f->cubic.origin;
}

static void begin_epoch(struct flow *f, tick now)
{
    f->cubic.epoch = now;
    f->cubic.origin = f->window < f->cubic.most ? f->cubic.most : f->window;
    f->cubic.k = cube_root((f->cubic.origin - f->window) / CUBIC_C);
    f->cubic.estimate = f->window;
}

static void grow_cubic(struct flow *f, double segments, tick round_trip, tick now)
{
    if (f->cubic.epoch == TICK_NEVER)
        begin_epoch(f, now);
    double t = (double)(now - f->cubic.epoch) / (double)TICK_S;
    double target = cubic_at(f, t + (double)round_trip / (double)TICK_S);
    double alpha = f->cubic.estimate < f->cubic.prior ? CUBIC_ALPHA : 1; /* 4.3 */
    f->cubic.estimate += alpha * segments / f->window;
    target = target > 1.5 * f->window ? 1.5 * f->window : target;
    if (cubic_at(f, t) < f->cubic.estimate)
        f->window = f->window < f->cubic.estimate ? f->cubic.estimate : f->window;
    else if (target > f->window)
        f->window += (target - f->window) / f->window * segments;
}

/* ---- both ---- */

static void subtract_under(struct flow *f, uint32_t octets)
{
    f->under -= octets < f->under ? octets : f->under; /* after a timeout in vain it is counted */
}

/* Does the window bound the sender? In slow start half of it is enough to say so. */
static bool is_bound(const struct flow *f)
{
    double used = (double)f->under / (double)f->segment;
    return f->bound || (f->window < f->threshold && f->window < 2 * used);
}

void flow_acked(struct flow *f, uint32_t octets, tick round_trip, tick now)
{
    bool bound = is_bound(f);
    f->silent = false;
    double segments = (double)octets / (double)f->segment;
    subtract_under(f, octets);
    if (f->kind == FLOW_NONE || !bound)
        return;
    if (f->window < f->threshold)
        f->window += segments;
    else if (f->kind == FLOW_RENO)
        f->window += segments / f->window;
    else
        grow_cubic(f, segments, round_trip, now);
}

static void reduce_window(struct flow *f, uint64_t frames)
{
    double before = f->window;
    f->threshold = before * (f->kind == FLOW_CUBIC ? CUBIC_BETA : 0.5);
    f->threshold = f->threshold < SMALLEST ? SMALLEST : f->threshold;
    /* fast convergence: a flow with a smaller window than last time releases capacity */
    f->cubic.prior = before;
    f->cubic.most = before < f->cubic.most ? before * (1 + CUBIC_BETA) / 2 : before;
    f->cubic.epoch = TICK_NEVER;
    f->window = f->threshold;
    f->recover = frames;
    f->reductions++;
}

void flow_lost(struct flow *f, uint32_t octets, uint64_t number, uint64_t frames)
{
    assert(number <= frames);
    subtract_under(f, octets);
    if (f->kind != FLOW_NONE && number > f->recover)
        reduce_window(f, frames);
}

void flow_timeout(struct flow *f, uint64_t frames)
{
    f->under = 0;
    if (f->kind == FLOW_NONE)
        return;
    double threshold = f->threshold, prior = f->cubic.prior;
    reduce_window(f, frames);
    if (f->silent) { /* these frames are retransmitted again: RFC 5681, 3.1 */
        f->threshold = threshold;
        f->cubic.prior = prior;
    }
    f->cubic.most = 0; /* no memory of what was: RFC 9438, 4.8 */
    f->silent = true;
    f->window = 1;
    f->timeouts++;
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void flow_check(const struct flow *f)
{
    assert(f->window >= 1 && f->threshold >= SMALLEST);
    assert(f->timeouts <= f->reductions && f->most > 0);
}
