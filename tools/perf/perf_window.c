/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of slots by sequence number, much longer than the window, so that a late acknowledgement
 * still finds its bundle. Bundles are sent in order of sequence, hence the oldest that is out is
 * the first to be overdue. When limits run out with no acknowledgement in between, the path is
 * probably interrupted: each such limit doubles the next, so that an outage is not filled with
 * bundles.
 */
#include "tools/perf/perf_window.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"

#define SLOTS_MIN 65536
#define DOUBLINGS_MAX 20

enum { SLOT_FREE, SLOT_OUT, SLOT_LOST, SLOT_ACKED };

int perf_window_init(struct perf_window *w, uint64_t window, tick fixed, tick initial,
                     tick limit_max)
{
    assert(window >= 1 && window < UINT64_C(1) << 32);
    uint64_t slots = SLOTS_MIN;
    while (slots < 4 * window)
        slots *= 2;
    *w = (struct perf_window){.window = window,
                              .mask = slots - 1,
                              .fixed = fixed,
                              .initial = initial,
                              .limit_max = limit_max};
    w->slots = calloc(slots, sizeof *w->slots);
    return w->slots != NULL ? 0 : HELIO_ENOMEM;
}

void perf_window_fini(struct perf_window *w)
{
    free(w->slots);
    w->slots = NULL;
}

static struct perf_slot *slot_of(const struct perf_window *w, uint64_t seq)
{
    return &w->slots[seq & w->mask];
}

bool perf_window_open(const struct perf_window *w)
{
    /* a bundle that is out keeps its slot, even with the rest of the ring gone by */
    return w->out < w->window && w->next - w->oldest <= w->mask;
}

static void advance_window(struct perf_window *w)
{
    while (w->oldest < w->next && slot_of(w, w->oldest)->state != SLOT_OUT)
        w->oldest++;
}

uint64_t perf_window_sent(struct perf_window *w, uint32_t bytes, tick now)
{
    assert(perf_window_open(w));
    *slot_of(w, w->next) = (struct perf_slot){.sent = now, .bytes = bytes, .state = SLOT_OUT};
    w->out++;
    return w->next++;
}

static void learn_time(struct perf_window *w, double delay)
{
    if (w->acked == 0) {
        w->mean = delay;
        w->deviation = delay / 2;
        return;
    }
    double error = delay - w->mean;
    w->mean += error / 16;
    w->deviation += (fabs(error) - w->deviation) / 16;
}

int perf_window_ack(struct perf_window *w, uint64_t seq, tick now, tick *delay)
{
    struct perf_slot *s = slot_of(w, seq);
    if (seq >= w->next || w->next - seq > w->mask + 1 || s->state == SLOT_ACKED) {
        w->repeated++;
        return 0;
    }
    *delay = now - s->sent;
    learn_time(w, (double)*delay);
    w->doublings = 0;
    w->acked++;
    w->acked_bytes += s->bytes;
    if (s->state == SLOT_OUT) {
        w->out--;
    } else {
        w->lost--;
        w->late++;
    }
    s->state = SLOT_ACKED;
    advance_window(w);
    return 1;
}

static tick limit_window(const struct perf_window *w)
{
    if (w->fixed != 0)
        return w->fixed;
    double t = (double)w->initial;
    if (w->acked > 0)
        t = w->mean + 8 * w->deviation + (double)TICK_S;
    t = ldexp(t, (int)w->doublings);
    return t < (double)w->limit_max ? (tick)t : w->limit_max;
}

tick perf_window_deadline(const struct perf_window *w)
{
    return w->out == 0 ? TICK_NEVER : tick_add(slot_of(w, w->oldest)->sent, limit_window(w));
}

void perf_window_expire(struct perf_window *w, tick now)
{
    tick allowed = limit_window(w);
    bool any = false;
    while (w->out > 0 && tick_add(slot_of(w, w->oldest)->sent, allowed) <= now) {
        slot_of(w, w->oldest)->state = SLOT_LOST;
        w->out--;
        w->lost++;
        any = true;
        advance_window(w);
    }
    if (any && w->doublings < DOUBLINGS_MAX)
        w->doublings++;
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void perf_window_check(const struct perf_window *w)
{
    assert(w->out <= w->window && w->oldest <= w->next);
    assert(w->next - w->oldest <= w->mask + 1);
    assert((w->out == 0) == (w->oldest == w->next));
    assert(w->out == 0 || slot_of(w, w->oldest)->state == SLOT_OUT);
    assert(w->out + w->acked + w->lost == w->next);
}
