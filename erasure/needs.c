/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: reports are lost; then fewer matrices count, and the number changes later. */
#include "erasure/needs.h"

#include <assert.h>
#include <math.h>

void needs_init(struct needs *n, unsigned span, unsigned full)
{
    assert(span > 0 && full > 0);
    *n = (struct needs){.full = full, .rows = full, .span = span};
}

/* The number for a full matrix, from the least one to the full one. */
static unsigned rows_wanted(const struct needs *n)
{
    double rows = (n->mean + NEEDS_MARGIN * sqrt(n->variance)) * n->span + 1;
    unsigned least = (n->full + NEEDS_LEAST - 1) / NEEDS_LEAST;
    if (rows >= (double)n->full)
        return n->full;
    return rows > (double)least ? (unsigned)rows : least;
}

void needs_add(struct needs *n, unsigned segments, unsigned needed)
{
    assert(segments > 0);
    n->known += n->known < NEEDS_WEIGHT;
    double weight = 1.0 / n->known, far = (double)needed / segments - n->mean;
    n->mean += weight * far;
    n->variance = (1 - weight) * (n->variance + weight * far * far);
    if (n->known < NEEDS_FIRST)
        return;
    unsigned wanted = rows_wanted(n);
    if (wanted > n->rows || wanted + n->rows / NEEDS_STEP < n->rows)
        n->rows = wanted;
    assert(n->rows >= 1 && n->rows <= n->full);
}
