/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states are drawn one after another up to the time that is asked for. A long silence would
 * draw forever: since the process has no memory, it is begun anew instead. Nothing can fail.
 */
#include "channel-emu/chan/fading/chan_burst.h"

#include <assert.h>
#include <math.h>

/* A dwell time from `from` on, at least 1 ns. */
static tick dwell_until(struct chan_burst_state *b, tick from)
{
    assert(b->good > 0 && b->bad > 0);
    double mean = b->is_bad ? b->bad : b->good;
    double ns = -mean * log(1 - rng_unit(&b->dwell));
    if (!(ns < 0x1.0p63))
        return TICK_NEVER;
    return tick_add(from, ns < 1 ? 1 : (tick)(ns + 0.5));
}

static void begin_burst(struct chan_burst_state *b, tick from)
{
    b->is_bad = rng_chance(&b->dwell, b->bad / (b->good + b->bad));
    b->until = dwell_until(b, from);
}

void chan_burst_init(struct chan_burst_state *b, const struct chan_burst *means, uint64_t seed,
                     tick from)
{
    assert(means->good > 0 && means->bad > 0);
    b->good = (double)means->good;
    b->bad = (double)means->bad;
    rng_init(&b->dwell, seed);
    assert(b->good >= 1 && b->bad >= 1);
    begin_burst(b, from);
}

bool chan_burst_meets(struct chan_burst_state *b, tick from, tick to)
{
    assert(from <= to);
    if (from > b->until && (double)(from - b->until) > CHAN_BURST_SKIP * (b->good + b->bad))
        begin_burst(b, from);
    while (b->until <= from && b->until != TICK_NEVER) {
        b->is_bad = !b->is_bad;
        b->until = dwell_until(b, b->until);
    }
    assert(b->until > from || b->until == TICK_NEVER);
    return b->is_bad || b->until < to;
}
