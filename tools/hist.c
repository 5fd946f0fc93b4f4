/* SPDX-License-Identifier: Apache-2.0 */
/* Values below 2^HIST_BITS have a bucket each; above, a bucket is the power of two and the
 * HIST_BITS bits that follow the leading one. Nothing can fail. */
#include "tools/hist.h"

#include <math.h>
#include <string.h>

void hist_init(struct hist *h)
{
    memset(h, 0, sizeof *h);
    h->min = UINT64_MAX;
}

static uint32_t slot_of(uint64_t v)
{
    if (v < (1u << HIST_BITS))
        return (uint32_t)v;
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(v) - HIST_BITS;
    return ((shift + 1) << HIST_BITS) + (uint32_t)((v >> shift) - (1u << HIST_BITS));
}

/* The middle of a bucket. */
static uint64_t value_of(uint32_t slot)
{
    if (slot < (2u << HIST_BITS))
        return slot;
    uint32_t shift = (slot >> HIST_BITS) - 1;
    uint64_t low = ((uint64_t)(slot & ((1u << HIST_BITS) - 1)) + (1u << HIST_BITS)) << shift;
    return low + ((UINT64_C(1) << shift) >> 1);
}

void hist_add(struct hist *h, uint64_t value)
{
    h->count++;
    h->slots[slot_of(value)]++;
    h->min = value < h->min ? value : h->min;
    h->max = value > h->max ? value : h->max;
    double d = (double)value - h->mean;
    h->mean += d / (double)h->count;
    h->m2 += d * ((double)value - h->mean);
}

uint64_t hist_value(const struct hist *h, uint32_t slot)
{
    uint64_t v = value_of(slot);
    v = v < h->min ? h->min : v;
    return v > h->max ? h->max : v;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
    if (h->count == 0)
        return 0;
    double rank = ceil(q * (double)h->count);
    uint64_t want = rank < 1 ? 1 : (uint64_t)rank, seen = 0;
    if (want >= h->count)
        return h->max;
    uint32_t slot = 0;
    for (seen = h->slots[0]; seen < want; seen += h->slots[slot])
        slot++;
    return hist_value(h, slot);
}

double hist_sd(const struct hist *h)
{
    return h->count < 2 ? 0 : sqrt(h->m2 / (double)(h->count - 1));
}
