/* SPDX-License-Identifier: Apache-2.0 */
/* Values below 2^HIST_BITS have a bucket each; above, a bucket is the power of two and the
 * HIST_BITS bits that follow the leading one. Values that are kept are sorted when they are asked
 * for. Without memory for them the buckets serve: nothing can fail. */
#include "tools/hist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hist_values {
    uint64_t *at;
    uint32_t len, cap, most;
    bool sorted;
};

void hist_init(struct hist *h)
{
    memset(h, 0, sizeof *h);
    h->min = UINT64_MAX;
}

void hist_init_exact(struct hist *h, uint32_t most)
{
    hist_init(h);
    h->values = calloc(1, sizeof *h->values);
    if (h->values != NULL)
        h->values->most = most;
}

void hist_fini(struct hist *h)
{
    if (h->values != NULL)
        free(h->values->at);
    free(h->values);
    h->values = NULL;
}

bool hist_is_exact(const struct hist *h)
{
    return h->values != NULL;
}

/* False: the value cannot be kept. */
static bool keep_value(struct hist_values *v, uint64_t value)
{
    if (v->len == v->most)
        return false;
    if (v->len == v->cap) {
        uint32_t cap = v->cap == 0 ? 64 : 2 * v->cap;
        uint64_t *grown = reallocarray(v->at, cap, sizeof *grown);
        if (grown == NULL)
            return false;
        v->at = grown;
        v->cap = cap;
    }
    v->at[v->len++] = value;
    v->sorted = false;
    return true;
}

static int compare_values(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static uint64_t value_at(struct hist_values *v, uint64_t rank)
{
    if (!v->sorted)
        qsort(v->at, v->len, sizeof *v->at, compare_values);
    v->sorted = true;
    return v->at[rank - 1];
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
    if (h->values != NULL && !keep_value(h->values, value))
        hist_fini(h);
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
    if (h->values != NULL)
        return value_at(h->values, want);
    uint32_t slot = 0;
    for (seen = h->slots[0]; seen < want; seen += h->slots[slot])
        slot++;
    return hist_value(h, slot);
}

double hist_sd(const struct hist *h)
{
    return h->count < 2 ? 0 : sqrt(h->m2 / (double)(h->count - 1));
}
