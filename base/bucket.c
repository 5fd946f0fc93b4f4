/* SPDX-License-Identifier: Apache-2.0 */
/* Fractions of a nanosecond are kept, so that the mean rate has no rounding error over hours. */
#include "base/bucket.h"

#include <assert.h>

void bucket_init(struct bucket *b, uint64_t rate_bps, tick burst, tick slack, tick now)
{
    *b = (struct bucket){.rate_bps = rate_bps, .burst = burst, .slack = slack, .free_at = now};
}

/* Credit older than `slack` is dropped; it counts as lost if there was something to send. */
static void forget_credit(struct bucket *b, tick slack, tick now, bool wanted)
{
    if (tick_add(b->free_at, slack) >= now)
        return;
    if (wanted && b->rate_bps != 0)
        b->lost += now - slack - b->free_at;
    b->free_at = now - slack;
    b->frac = 0;
}

void bucket_begin(struct bucket *b, tick now)
{
    forget_credit(b, b->resting ? 0 : b->slack, now, !b->resting);
    b->resting = false;
    b->batch = 0;
}

void bucket_spend(struct bucket *b, uint64_t bytes, tick now)
{
    if (b->rate_bps == 0)
        return;
    forget_credit(b, b->slack, now, true);
    uint64_t sum = bytes * 8 * TICK_S + b->frac;
    b->free_at += sum / b->rate_bps;
    b->batch += sum / b->rate_bps;
    b->frac = sum % b->rate_bps;
}

tick bucket_wake(const struct bucket *b, tick now)
{
    if (b->rate_bps == 0)
        return now;
    if (b->free_at <= now && b->batch == 0)
        return now;
    /* Most of a burst is left to gather: a wake-up costs more than what is sent in it. After a late
     * one credit is left over, which makes the next pause shorter, by half a burst at most. */
    tick full = tick_add(b->free_at, b->burst - b->burst / 8), soon = tick_add(now, b->burst / 2);
    return b->free_at > now || full > soon ? full : soon;
}

uint64_t bucket_octets(uint64_t rate_bps, tick time)
{
    const double octets = (double)rate_bps * (double)time / (8.0 * (double)TICK_S);
    return octets < (double)(1 << 29) ? (uint64_t)octets : 1 << 29;
}

size_t bucket_credit(const struct bucket *b, size_t piece, tick now)
{
    if (b->rate_bps == 0)
        return SIZE_MAX;
    if (!bucket_ready(b, now))
        return 0;
    assert(b->free_at <= now && (b->batch == 0 || b->batch < b->burst));
    const tick behind = now - b->free_at, rest = b->burst > b->batch ? b->burst - b->batch : 0;
    return (size_t)(bucket_octets(b->rate_bps, tick_min(behind, rest)) / piece + 1) * piece;
}
