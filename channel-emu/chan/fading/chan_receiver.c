/* SPDX-License-Identifier: Apache-2.0 */
/* The sum over the ring is updated by differences and recomputed at each turn, so that rounding
 * errors do not accumulate. What can go wrong: memory, and a depth beyond the limit. */
#include "channel-emu/chan/fading/chan_receiver.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/chan/chan_math.h"

const char *receiver_fault(const struct receiver_config *c, tick step)
{
    if (c->interleaver / step > RECEIVER_DEPTH_MAX)
        return "--interleaver is deeper than 10,000,000 steps";
    if (c->block > 0 && (c->block < 2 * step || c->block / step > RECEIVER_DEPTH_MAX))
        return "--block must have 2 to 10,000,000 steps";
    return NULL;
}

double receiver_threshold(const struct receiver_config *c)
{
    return math_exp(-(c->margin_db + c->fec_db) * 0.230258509299404568402);
}

int receiver_init(struct receiver *r, const struct receiver_config *c, double threshold, tick step)
{
    assert(step > 0);
    uint64_t depth = c->interleaver / step, block = c->block / step;
    *r = (struct receiver){.threshold = threshold, .depth = depth == 0 ? 1 : (size_t)depth};
    r->hold = c->reacquire / step;
    if (depth > RECEIVER_DEPTH_MAX || block > RECEIVER_DEPTH_MAX || (depth > 1 && block > 0))
        return HELIO_EINVAL;
    r->block = block;
    r->most = (uint64_t)(c->correct * (double)block + 1e-6);
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

/* Is the step lost that lies a depth before this one? -1: there is none yet. */
static int judge_mean(struct receiver *r, double power)
{
    put_power(r, power);
    return r->have < r->depth ? -1 : r->sum < r->threshold * (double)r->depth;
}

/* Blocks lie end to end, so that the last whole one is that of the step a block before this one. */
static int judge_block(struct receiver *r, double power)
{
    assert(r->done < r->block && r->erased <= r->done);
    r->erased += power < r->threshold;
    r->have += r->have < r->block;
    if (++r->done == r->block) {
        r->block_lost = r->erased > r->most;
        r->done = r->erased = 0;
    }
    return r->have < r->block ? -1 : r->block_lost;
}

int receiver_input(struct receiver *r, double power)
{
    assert(power >= 0);
    int lost = r->block > 0 ? judge_block(r, power) : judge_mean(r, power);
    if (lost < 0)
        return -1;
    if (lost > 0) {
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
    size_t depth = r.block > 0 ? (size_t)r.block : r.depth;
    for (size_t i = 0; rc == 0 && i < n + depth - 1; i++) {
        int bad = receiver_input(&r, power[i % n]);
        if (bad >= 0)
            rc = trace_add(t, bad == 1, 1);
    }
    receiver_fini(&r);
    return rc;
}
