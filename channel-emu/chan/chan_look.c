/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For observers of a channel. It keeps its own position in the trace, so that the frames' fates are
 * not affected, and a look each second needs no search from the trace's start. Nothing can go
 * wrong.
 */
#include <assert.h>
#include <math.h>

#include "channel-emu/chan/chan_inside.h"
#include "channel-emu/chan/chan_power.h"

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
