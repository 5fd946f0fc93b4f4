/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths are sorted once; distances and correlations are one walk over two sequences in step. Only
 * memory can fail. */
#include "channel-emu/chan/fading/chan_dwell.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"

static int by_length(const void *a, const void *b)
{
    uint64_t x = ((const struct dwell_point *)a)->steps, y = ((const struct dwell_point *)b)->steps;
    return (x > y) - (x < y);
}

int dwell_init(struct dwell *d, const struct trace *t, bool bad)
{
    assert(t->step > 0);
    size_t n = 0, len = 0;
    *d = (struct dwell){.step = t->step, .point = malloc((t->len + 1) * sizeof *d->point)};
    if (d->point == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < t->len; i++) {
        if (t->runs[i].bad == bad)
            d->point[n++].steps = t->runs[i].steps;
    }
    qsort(d->point, n, sizeof *d->point, by_length);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n || d->point[i + 1].steps != d->point[i].steps)
            d->point[len++] = (struct dwell_point){.steps = d->point[i].steps, .upto = i + 1};
    }
    assert(len <= n && n <= t->len);
    d->runs = n;
    d->len = len;
    return 0;
}

void dwell_fini(struct dwell *d)
{
    free(d->point);
    *d = (struct dwell){.step = d->step};
}

double dwell_distance(const struct dwell *a, const struct dwell *b)
{
    assert(a->step > 0 && b->step > 0);
    size_t i = 0, k = 0;
    double most = 0;
    if (a->runs == 0 || b->runs == 0)
        return a->runs == b->runs ? 0 : 1;
    while (i < a->len && k < b->len) {
        tick x = a->point[i].steps * a->step, y = b->point[k].steps * b->step;
        i += x <= y;
        k += y <= x;
        double below = i == 0 ? 0 : (double)a->point[i - 1].upto / (double)a->runs;
        double other = k == 0 ? 0 : (double)b->point[k - 1].upto / (double)b->runs;
        most = fabs(below - other) > most ? fabs(below - other) : most;
    }
    assert(most >= 0 && most <= 1);
    return most;
}

double dwell_critical(const struct dwell *a, const struct dwell *b)
{
    if (a->runs == 0 || b->runs == 0)
        return 0;
    return 1.358 * sqrt(1 / (double)a->runs + 1 / (double)b->runs);
}

/* A place in the runs. */
struct place {
    size_t run;
    uint64_t left; /* steps of it */
};

static void skip_steps(const struct trace *t, struct place *p, uint64_t steps)
{
    assert(steps <= p->left && p->run < t->len);
    p->left -= steps;
    if (p->left > 0)
        return;
    p->run = p->run + 1 == t->len ? 0 : p->run + 1;
    p->left = t->runs[p->run].steps;
}

static struct place place_of(const struct trace *t, uint64_t at)
{
    assert(at < t->steps);
    struct place p = {0};
    while (at >= t->runs[p.run].steps)
        at -= t->runs[p.run++].steps;
    p.left = t->runs[p.run].steps - at;
    return p;
}

double trace_bad_share(const struct trace *t, uint64_t from, uint64_t to)
{
    assert(from < to && to <= t->steps);
    struct place p = place_of(t, from);
    uint64_t bad = 0;
    for (uint64_t at = from; at < to;) {
        uint64_t n = p.left < to - at ? p.left : to - at;
        bad += t->runs[p.run].bad ? n : 0;
        skip_steps(t, &p, n);
        at += n;
    }
    return (double)bad / (double)(to - from);
}

double trace_autocorrelation(const struct trace *t, uint64_t lag)
{
    assert(t->steps > 0 && t->len > 0);
    struct place a = place_of(t, 0), b = place_of(t, lag % t->steps);
    uint64_t both = 0;
    double share = trace_bad_share(t, 0, t->steps);
    if (share <= 0 || share >= 1)
        return 0;
    for (uint64_t at = 0; at < t->steps;) {
        uint64_t n = a.left < b.left ? a.left : b.left;
        n = n < t->steps - at ? n : t->steps - at;
        both += t->runs[a.run].bad && t->runs[b.run].bad ? n : 0;
        skip_steps(t, &a, n);
        skip_steps(t, &b, n);
        at += n;
    }
    return ((double)both / (double)t->steps - share * share) / (share * (1 - share));
}
