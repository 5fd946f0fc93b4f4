/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums make each mean two look-ups. Between two points of the table the logarithm of an error rate
 * is linear over the decibels, as codes' slopes are drawn; a rate of 0 has no logarithm, and the
 * point below it holds up to it. Nothing can fail.
 */
#include "channel-emu/chan/fading/chan_power.h"

#include <assert.h>
#include <math.h>

#include "channel-emu/chan/chan_math.h"

#define DB_OF_LOG 4.34294481903251827651 /* 10 / ln 10 */

static bool is_probability(double p)
{
    return p >= 0 && p <= 1;
}

bool chan_power_valid(const struct chan_power *p)
{
    if (p->power == NULL || p->sums == NULL || p->len == 0 || p->step == 0 || p->points == NULL ||
        p->count == 0 || p->count > CHAN_TABLE_MAX || p->len > TICK_NEVER / 2 / p->step)
        return false;
    if ((p->lost == NULL) != (p->lost_sums == NULL) || (p->block > 0 && p->interleaver > 0))
        return false;
    for (size_t i = 0; i < p->count; i++) {
        const struct chan_power_point *t = &p->points[i];
        if (!(t->db >= -400 && t->db <= 400) || !is_probability(t->loss) ||
            !is_probability(t->bit_errors) || (i > 0 && !(t->db > p->points[i - 1].db)))
            return false;
    }
    return true;
}

void chan_power_sums(const double *power, size_t n, double *sums)
{
    sums[0] = 0;
    for (size_t i = 0; i < n; i++)
        sums[i + 1] = sums[i] + power[i];
}

/* The integral from the begin of the powers to this place in one pass of them, in steps. */
static double integral_to(const struct chan_power *p, tick place)
{
    size_t i = (size_t)(place / p->step);
    assert(i <= p->len);
    double part = (double)(place % p->step) / (double)p->step;
    return part > 0 ? p->sums[i] + part * p->power[i] : p->sums[i];
}

double chan_power_mean(const struct chan_power *p, tick origin, tick from, tick to)
{
    tick pass = p->len * p->step;
    assert(from <= to);
    tick offset = p->loop ? p->offset % pass : p->offset, length = to - from;
    if (from < origin && !p->loop && origin - from > offset)
        return HUGE_VAL;
    tick back = from < origin ? (origin - from) % pass : 0;
    tick place = from < origin ? offset + (back > offset ? pass : 0) - back
                               : tick_add(from - origin, offset);
    place = p->loop ? place % pass : place;
    if (place >= pass)
        return HUGE_VAL;
    if (length == 0)
        return p->power[place / p->step];
    if (!p->loop && length > pass - place)
        length = pass - place;
    const tick rounds = length / pass;
    double whole = (double)rounds * p->sums[p->len];
    tick end = place + length % pass;
    double sum = end <= pass ? integral_to(p, end) - integral_to(p, place)
                             : p->sums[p->len] - integral_to(p, place) + integral_to(p, end - pass);
    return (whole + sum) / ((double)length / (double)p->step);
}

bool chan_power_lost(const struct chan_power *p, tick origin, tick from, tick to)
{
    struct chan_power steps = *p;
    if (p->lost == NULL)
        return false;
    steps.power = p->lost;
    steps.sums = p->lost_sums;
    const double share = chan_power_mean(&steps, origin, from, to);
    assert(share >= 0);
    return share > 0 && share < HUGE_VAL;
}

static double between(double low, double high, double part)
{
    if (low <= 0 || high <= 0)
        return low;
    return math_exp(math_log(low) + part * (math_log(high) - math_log(low)));
}

static struct chan_power_errors look_up(const struct chan_power *p, double db)
{
    const struct chan_power_point *t = p->points;
    size_t i = 0, high = p->count;
    while (i < high) { /* the first point above */
        size_t middle = i + (high - i) / 2;
        if (t[middle].db <= db)
            i = middle + 1;
        else
            high = middle;
    }
    if (i == 0 || i == p->count) {
        size_t edge = i == 0 ? 0 : i - 1;
        return (struct chan_power_errors){t[edge].loss, t[edge].bit_errors};
    }
    double part = (db - t[i - 1].db) / (t[i].db - t[i - 1].db);
    assert(part >= 0 && part <= 1);
    return (struct chan_power_errors){between(t[i - 1].loss, t[i].loss, part),
                                      between(t[i - 1].bit_errors, t[i].bit_errors, part)};
}

struct chan_power_errors chan_power_errors(const struct chan_power *p, double power, size_t len)
{
    if (power >= HUGE_VAL)
        return (struct chan_power_errors){0, 0};
    double db = power < 1e-40 ? -400 : math_log(power) * DB_OF_LOG;
    struct chan_power_errors e = look_up(p, db);
    if (p->codeword_bits > 0 && e.loss > 0 && e.loss < 1) {
        uint64_t words = ((uint64_t)len * 8 + p->codeword_bits - 1) / p->codeword_bits;
        double log_keep = e.loss < 1e-5 ? -(e.loss + e.loss * e.loss / 2) : math_log(1 - e.loss);
        e.loss = words == 0 ? 0 : 1 - math_exp((double)words * log_keep);
    }
    assert(is_probability(e.loss) && is_probability(e.bit_error_rate));
    return e;
}
