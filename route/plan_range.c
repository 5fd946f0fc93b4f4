/* SPDX-License-Identifier: Apache-2.0 */
/* Light times. A pair without a range for a time uses that of the reverse pair, unless that is
 * one-way. What can go wrong: as for contacts. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "route/plan_impl.h"

/* The index of the first range that ends after t. */
static size_t range_first(const struct pair *pair, tick t)
{
    size_t low = 0, high = pair->ranges;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pair->range[middle].end > t)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool pair_range(const struct pair *pair, tick t, struct piece *out)
{
    size_t i = range_first(pair, t);
    const struct piece *own = i < pair->ranges ? &pair->range[i] : NULL;
    const struct pair *back = pair->reverse;
    if (own != NULL && own->start <= t) {
        *out = *own;
        return true;
    }
    tick gap = own == NULL ? TICK_NEVER : own->start;
    size_t j = back == NULL ? 0 : range_first(back, t);
    while (back != NULL && j < back->ranges && back->range[j].one_way)
        j++;
    if (back != NULL && j < back->ranges && back->range[j].start < gap) {
        *out = back->range[j];
        out->end = tick_min(out->end, gap);
        return true;
    }
    if (own != NULL)
        *out = *own;
    return own != NULL;
}

int plan_add_range(struct plan *p, const struct plan_range *r)
{
    struct pair *pair;
    if (r->from == r->to || r->start >= r->end || r->owlt == TICK_NEVER)
        return HELIO_EINVAL;
    if (p->ranges >= p->config.ranges_max)
        return HELIO_EAGAIN;
    int rc = plan_make_pair(p, r->from, r->to, &pair);
    /* A pair with ranges has a reverse pair, which may use them. */
    struct pair *back;
    rc = rc < 0 ? rc : plan_make_pair(p, r->to, r->from, &back);
    if (rc < 0)
        return rc;
    size_t i = range_first(pair, r->start);
    if (i < pair->ranges && pair->range[i].start < r->end)
        return HELIO_EEXIST;
    if (plan_grow((void **)&pair->range, pair->ranges, &pair->ranges_cap, sizeof *pair->range) < 0)
        return HELIO_ENOMEM;
    memmove(&pair->range[i + 1], &pair->range[i], (pair->ranges - i) * sizeof *pair->range);
    pair->range[i] = (struct piece){r->start, r->end, r->owlt, r->one_way};
    pair->ranges++;
    p->ranges++;
    cache_ease(p, r->start);
    return 0;
}

int plan_remove_range(struct plan *p, uint64_t from, uint64_t to, tick start)
{
    struct pair *pair = plan_pair(p, from, to);
    size_t i = pair == NULL ? 0 : range_first(pair, start);
    if (pair == NULL || i == pair->ranges || pair->range[i].start != start)
        return HELIO_ENOENT;
    pair->ranges--;
    p->ranges--;
    memmove(&pair->range[i], &pair->range[i + 1], (pair->ranges - i) * sizeof *pair->range);
    /* The range of the reverse pair that is valid now may be shorter. */
    cache_ease(p, start);
    return 0;
}

int plan_range_at(const struct plan *p, uint64_t from, uint64_t to, tick t, struct plan_range *out)
{
    const struct pair *pair = plan_pair(p, from, to);
    struct piece r;
    if (pair == NULL || !pair_range(pair, t, &r))
        return HELIO_ENOENT;
    *out = (struct plan_range){from, to, r.start, r.end, r.owlt, r.one_way};
    return 0;
}
