/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted array: sets here have a handful of ranges, and data mostly arrives in order, so the last
 * range grows and nothing moves. What can go wrong: the limit of ranges, or memory. */
#include "base/ranges.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void ranges_init(struct ranges *s)
{
    *s = (struct ranges){0};
}

void ranges_fini(struct ranges *s)
{
    free(s->at);
    *s = (struct ranges){0};
}

void ranges_clear(struct ranges *s)
{
    s->len = 0;
}

int ranges_reserve(struct ranges *s, size_t len)
{
    if (len <= s->cap)
        return 0;
    size_t cap = 2 * s->cap > len ? 2 * s->cap : len;
    struct range *grown = realloc(s->at, cap * sizeof *grown);
    if (grown == NULL)
        return HELIO_ENOMEM;
    s->at = grown;
    s->cap = cap;
    return 0;
}

size_t ranges_find(const struct ranges *s, uint64_t at)
{
    if (s->len == 0 || s->at[s->len - 1].hi <= at)
        return s->len;
    size_t lo = 0, hi = s->len;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->at[mid].hi > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Makes the `drop` ranges from index i into `insert` places, whose values the caller then writes.
 */
static int shift_ranges(struct ranges *s, size_t i, size_t drop, size_t insert, size_t max)
{
    size_t len = s->len - drop + insert;
    if (insert > drop && len > max)
        return HELIO_EAGAIN;
    if (len > s->cap && ranges_reserve(s, len < 4 ? 4 : len) < 0)
        return HELIO_ENOMEM;
    if (s->len > i + drop)
        memmove(s->at + i + insert, s->at + i + drop, (s->len - i - drop) * sizeof *s->at);
    s->len = len;
    return 0;
}

int ranges_add(struct ranges *s, uint64_t lo, uint64_t hi, size_t max)
{
    if (lo >= hi)
        return 0;
    /* first range that touches or lies above lo, and first that lies wholly above hi */
    size_t i = lo == 0 ? 0 : ranges_find(s, lo - 1);
    size_t j = i;
    while (j < s->len && s->at[j].lo <= hi)
        j++;
    if (j == i + 1 && s->at[i].lo <= lo && hi <= s->at[i].hi)
        return 0;
    struct range all = {lo, hi};
    if (j > i) {
        all.lo = s->at[i].lo < lo ? s->at[i].lo : lo;
        all.hi = s->at[j - 1].hi > hi ? s->at[j - 1].hi : hi;
    }
    int rc = shift_ranges(s, i, j - i, 1, max);
    if (rc < 0)
        return rc;
    s->at[i] = all;
    return 1;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Behind those that are there, in rising order of lo. */
static void append_range(struct ranges *s, struct range r)
{
    if (r.lo >= r.hi)
        return;
    if (s->len == 0 || s->at[s->len - 1].hi < r.lo)
        s->at[s->len++] = r;
    else if (s->at[s->len - 1].hi < r.hi)
        s->at[s->len - 1].hi = r.hi;
}

int ranges_add_all(struct ranges *s, struct range *more, size_t len, size_t max)
{
    struct ranges all = {0};
    if (len == 0)
        return 0;
    if (ranges_reserve(&all, s->len + len) < 0)
        return HELIO_ENOMEM;
    assert(all.at != NULL);
    qsort(more, len, sizeof *more, compare_ranges);
    for (size_t i = 0, k = 0; i < s->len || k < len;)
        append_range(&all, k == len || (i < s->len && s->at[i].lo <= more[k].lo) ? s->at[i++]
                                                                                 : more[k++]);
    const bool fits = all.len <= max;
    all.len = fits ? all.len : max;
    free(s->at);
    *s = all;
    return fits ? 0 : HELIO_EAGAIN;
}

int ranges_sub(struct ranges *s, uint64_t lo, uint64_t hi, size_t max)
{
    if (lo >= hi)
        return 0;
    size_t i = ranges_find(s, lo);
    size_t j = i;
    while (j < s->len && s->at[j].lo < hi)
        j++;
    if (i == j)
        return 0;
    struct range left = {s->at[i].lo, lo}, right = {hi, s->at[j - 1].hi};
    size_t insert = (size_t)(left.lo < left.hi) + (size_t)(right.lo < right.hi);
    int rc = shift_ranges(s, i, j - i, insert, max);
    if (rc < 0)
        return rc;
    if (left.lo < left.hi)
        s->at[i++] = left;
    if (right.lo < right.hi)
        s->at[i] = right;
    return 0;
}

bool ranges_has(const struct ranges *s, uint64_t lo, uint64_t hi)
{
    if (lo >= hi)
        return true;
    size_t i = ranges_find(s, lo);
    return i < s->len && s->at[i].lo <= lo && hi <= s->at[i].hi;
}

bool ranges_meets(const struct ranges *s, uint64_t lo, uint64_t hi)
{
    size_t i = ranges_find(s, lo);
    return lo < hi && i < s->len && s->at[i].lo < hi;
}

int ranges_gap(const struct ranges *s, uint64_t lo, uint64_t hi, struct range *gap)
{
    size_t i = ranges_find(s, lo);
    if (i < s->len && s->at[i].lo <= lo)
        lo = s->at[i++].hi;
    if (lo >= hi)
        return 0;
    gap->lo = lo;
    gap->hi = i < s->len && s->at[i].lo < hi ? s->at[i].lo : hi;
    return 1;
}

uint64_t ranges_bytes_in(const struct ranges *s, uint64_t lo, uint64_t hi)
{
    uint64_t sum = 0;
    for (size_t i = ranges_find(s, lo); i < s->len && s->at[i].lo < hi; i++) {
        uint64_t a = s->at[i].lo > lo ? s->at[i].lo : lo;
        uint64_t b = s->at[i].hi < hi ? s->at[i].hi : hi;
        sum += b > a ? b - a : 0;
    }
    return sum;
}

uint64_t ranges_bytes(const struct ranges *s)
{
    return ranges_bytes_in(s, 0, UINT64_MAX);
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void ranges_check(const struct ranges *s)
{
    for (size_t i = 0; i < s->len; i++) {
        assert(s->at[i].lo < s->at[i].hi);
        assert(i == 0 || s->at[i - 1].hi < s->at[i].lo);
    }
}
