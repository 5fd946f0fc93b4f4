/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Given the common number m, stations are covered independently, with probability
 * Phi((a - sqrt(r) m) / sqrt(1 - r)); what all of them do is the mean over m. A cloud ends when a
 * number is drawn anew, the common one or its own, and comes out above the quantile: before and
 * after are correlated by 1 - r, or r, so the rate of ends is known, and from it the rate of draws.
 * Nothing can fail.
 */
#include "channel-emu/chan/chan_sites.h"

#include <assert.h>
#include <math.h>

#include "channel-emu/chan/chan_math.h"
#include "channel-emu/chan/fading/chan_law.h"

#define REACH 8.0
#define POINTS 4000
#define SQRT_2PI 2.50662827463100050242

/* The normal number below which so large a share lies. */
static double quantile_of(double share)
{
    double low = -REACH, high = REACH;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (math_normal_below(middle) < share)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* All of k below the quantile, each two correlated by r. */
static double all_below(double share, double r, size_t k)
{
    double a = quantile_of(share), sum = 0, h = 2 * REACH / POINTS;
    if (r <= 0)
        return math_pow(share, (double)k);
    if (r >= 1)
        return share;
    for (int i = 0; i <= POINTS; i++) {
        double m = h * i - REACH, each = math_normal_below((a - sqrt(r) * m) / sqrt(1 - r));
        double all = 1;
        for (size_t n = 0; n < k; n++)
            all *= each;
        sum += math_exp(-m * m / 2) * all;
    }
    return sum * h / SQRT_2PI;
}

double sites_all_covered(const struct sites_spec *s, size_t k)
{
    assert(k >= 1 && k <= SITES_MAX);
    return all_below(s->share, s->correlation, k);
}

double sites_state_correlation(const struct sites_spec *s)
{
    double p = s->share;
    return (sites_all_covered(s, 2) - p * p) / (p * (1 - p));
}

double sites_rate(const struct sites_spec *s)
{
    double p = s->share, r = s->correlation;
    double ends = p - all_below(p, 1 - r, 2) + (p - all_below(p, r, 2));
    assert(ends > 0);
    return p / s->duration / ends;
}

static void judge_site(struct sites *s, size_t i)
{
    double r = s->spec.correlation;
    s->covered[i] = sqrt(r) * s->common + sqrt(1 - r) * s->own[i] < s->quantile;
}

/* Exponential with the rate of all that may be drawn anew. */
static double wait_for_draw(struct sites *s)
{
    return -math_log(1 - rng_unit(&s->rng)) / (s->rate * (double)(s->spec.count + 1));
}

void sites_init(struct sites *s, const struct sites_spec *spec, uint64_t seed)
{
    assert(spec->count >= 1 && spec->count <= SITES_MAX && spec->correlation >= 0);
    assert(spec->share > 0 && spec->share < 1 && spec->duration > 0 && spec->correlation < 1);
    *s = (struct sites){.spec = *spec, .rate = sites_rate(spec)};
    s->quantile = quantile_of(spec->share);
    rng_init(&s->rng, rng_named(seed, "sites"));
    s->common = law_normal(&s->rng);
    for (size_t i = 0; i < spec->count; i++) {
        s->own[i] = law_normal(&s->rng);
        judge_site(s, i);
    }
    s->next = wait_for_draw(s);
}

void sites_advance(struct sites *s, double now)
{
    while (s->next <= now) {
        size_t which = (size_t)rng_below(&s->rng, s->spec.count + 1);
        double z = law_normal(&s->rng);
        if (which == s->spec.count)
            s->common = z;
        else
            s->own[which] = z;
        for (size_t i = 0; i < s->spec.count; i++)
            judge_site(s, i);
        s->next += wait_for_draw(s);
    }
}
