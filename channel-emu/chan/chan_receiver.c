/* SPDX-License-Identifier: Apache-2.0 */
/* The sum over the ring follows by difference and is made anew at each turn, so that rounding
 * errors do not gather. What can go wrong: memory, and a depth beyond the limit. */
#include "channel-emu/chan/chan_receiver.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/chan/chan_math.h"

double receiver_threshold(const struct receiver_config *c)
{
    return math_exp(-(c->margin_db + c->fec_db) * 0.230258509299404568402);
}

int receiver_init(struct receiver *r, const struct receiver_config *c, double threshold, tick step)
{
    assert(step > 0);
    uint64_t depth = c->interleaver / step;
    *r = (struct receiver){.threshold = threshold, .depth = depth == 0 ? 1 : (size_t)depth};
    r->hold = c->reacquire / step;
    if (depth > RECEIVER_DEPTH_MAX)
        return HELIO_EINVAL;
    r->ring = calloc(r->depth, sizeof *r->ring);
    assert(r->depth > 0 && r->depth <= RECEIVER_DEPTH_MAX);
    return r->ring == NULL ? HELIO_ENOMEM : 0;
}

void receiver_fini(struct receiver *r)
{
    free(r->ring);
    r->ring = NULL;
}

static void put_power(struct receiver *r, double power)
{
    assert(r->at < r->depth);
    r->sum += power - r->ring[r->at];
    r->ring[r->at++] = power;
    r->have += r->have < r->depth;
    if (r->at < r->depth)
        return;
    assert(r->have == r->depth);
    r->at = 0;
    r->sum = 0;
    for (size_t i = 0; i < r->depth; i++)
        r->sum += r->ring[i];
}

int receiver_input(struct receiver *r, double power)
{
    assert(power >= 0);
    put_power(r, power);
    if (r->have < r->depth)
        return -1;
    if (r->sum < r->threshold * (double)r->depth) {
        r->lost = r->hold;
        return 1;
    }
    if (r->lost == 0)
        return 0;
    r->lost--;
    return 1;
}

int receiver_trace(struct trace *t, const struct receiver_config *c, double threshold,
                   const double *power, size_t n)
{
    assert(t->step > 0);
    struct receiver r;
    if (n == 0)
        return HELIO_EINVAL;
    int rc = receiver_init(&r, c, threshold, t->step);
    for (size_t i = 0; rc == 0 && i < n + r.depth - 1; i++) {
        int bad = receiver_input(&r, power[i % n]);
        if (bad >= 0)
            rc = trace_add(t, bad == 1, 1);
    }
    receiver_fini(&r);
    return rc;
}
