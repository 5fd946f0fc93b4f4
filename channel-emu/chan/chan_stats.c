/* SPDX-License-Identifier: Apache-2.0 */
/* The lengths of one side's runs are copied and sorted for the percentiles. Only memory can fail.
 */
#include "channel-emu/chan/chan_stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"

static int by_length(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double value_at(const uint64_t *sorted, uint64_t n, uint64_t percent)
{
    assert(n > 0 && percent > 0 && percent <= 100);
    uint64_t place = (n * percent + 99) / 100;
    return (double)sorted[place - 1];
}

static void side_of(const struct trace *t, bool bad, uint64_t *lengths, struct trace_side *s)
{
    double step_ms = (double)t->step / 1e6, sum = 0, squares = 0;
    uint64_t n = 0;
    *s = (struct trace_side){0};
    for (size_t i = 0; i < t->len; i++) {
        if (t->runs[i].bad == bad)
            lengths[n++] = t->runs[i].steps;
    }
    if (n == 0)
        return;
    qsort(lengths, n, sizeof *lengths, by_length);
    for (uint64_t i = 0; i < n; i++)
        sum += (double)lengths[i];
    double mean = sum / (double)n;
    for (uint64_t i = 0; i < n; i++)
        squares += ((double)lengths[i] - mean) * ((double)lengths[i] - mean);
    assert(n <= t->len && t->steps > 0);
    s->runs = n;
    s->share = sum / (double)t->steps;
    s->mean_ms = mean * step_ms;
    s->sd_ms = sqrt(squares / (double)n) * step_ms;
    s->median_ms = value_at(lengths, n, 50) * step_ms;
    s->p90_ms = value_at(lengths, n, 90) * step_ms;
    s->max_ms = (double)lengths[n - 1] * step_ms;
}

int trace_stats(const struct trace *t, struct trace_side *good, struct trace_side *bad)
{
    uint64_t *lengths = malloc((t->len + 1) * sizeof *lengths);
    if (lengths == NULL)
        return HELIO_ENOMEM;
    side_of(t, false, lengths, good);
    side_of(t, true, lengths, bad);
    free(lengths);
    return 0;
}
