/* SPDX-License-Identifier: Apache-2.0 */
/* Rows arrive in order of time, so the bin is nearly always the last one. A close that is logged
 * late searches from the end. What can go wrong: no memory. */
#include "tools/analyze/analyze_series.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void series_fini(struct series *s)
{
    free(s->at);
    *s = (struct series){0};
}

static struct series_bin *insert_bin(struct series *s, size_t at, int64_t index)
{
    assert(at <= s->len && s->len <= s->cap);
    if (s->len == s->cap) {
        size_t cap = s->cap == 0 ? 64 : 2 * s->cap;
        struct series_bin *grown = reallocarray(s->at, cap, sizeof *grown);
        if (grown == NULL)
            return NULL;
        s->at = grown;
        s->cap = cap;
    }
    assert(s->len < s->cap);
    memmove(s->at + at + 1, s->at + at, (s->len - at) * sizeof *s->at);
    s->at[at] = (struct series_bin){.index = index};
    s->len++;
    assert((at == 0 || s->at[at - 1].index < index) &&
           (at + 1 == s->len || s->at[at + 1].index > index));
    return &s->at[at];
}

struct series_bin *series_bin(struct series *s, int64_t index)
{
    if (s->len > 0 && s->at[s->len - 1].index == index)
        return &s->at[s->len - 1];
    size_t low = 0, high = s->len; /* the first bin whose index is not below */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->at[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->len && s->at[low].index == index ? &s->at[low] : insert_bin(s, low, index);
}

static void bin_add(struct series_bin *to, const struct series_bin *b)
{
    assert(to->index == b->index && to != b);
    to->done_bytes += b->done_bytes;
    to->sessions += b->sessions;
    to->tx_bytes += b->tx_bytes;
    to->resent_bytes += b->resent_bytes;
    to->rx_bytes += b->rx_bytes;
    to->cp_sent += b->cp_sent;
    to->timeouts += b->timeouts;
    to->drops += b->drops;
}

void series_coarsen(struct series *s, int64_t by)
{
    assert(by > 1 && s->len <= s->cap);
    size_t len = 0;
    for (size_t i = 0; i < s->len; i++) {
        struct series_bin b = s->at[i];
        b.index = b.index / by - (b.index % by < 0);
        if (len > 0 && s->at[len - 1].index == b.index)
            bin_add(&s->at[len - 1], &b);
        else
            s->at[len++] = b;
    }
    assert(len <= s->len);
    s->len = len;
}
