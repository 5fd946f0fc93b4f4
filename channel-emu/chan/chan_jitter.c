/* SPDX-License-Identifier: Apache-2.0 */
/*
 * z' = rho z + sqrt(1 - rho^2) e keeps the variance at 1, so each delay has the same distribution,
 * independent of earlier ones. Quantiles are in closed form, except those of the gamma
 * distribution: their logarithms are tabulated over the normal number in steps of 1/256, linear in
 * between (relative error below 10^-5). What can go wrong: memory for that table.
 */
#include "channel-emu/chan/chan_jitter.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/chan/chan_math.h"
#include "channel-emu/chan/fading/chan_law.h"

#define Z_MAX 8.0
#define Z_STEPS 256
#define Z_POINTS ((size_t)(2 * Z_MAX * Z_STEPS) + 1)
#define SHAPE_MAX 10000.0 /* of the search, whose series grow long */
#define SQRT_3 1.73205080756887729353

static bool table_valid(const struct chan_jitter *k)
{
    if (k->table == NULL || k->table_len < 2 || k->table_len > CHAN_JITTER_TABLE_MAX)
        return false;
    for (size_t i = 1; i < k->table_len; i++)
        if (k->table[i] < k->table[i - 1])
            return false;
    return true;
}

bool chan_jitter_valid(const struct chan_jitter *k)
{
    double mean = (double)k->mean, sd = (double)k->sd;
    if (!(k->correlation >= 0 && k->correlation < 1))
        return false;
    if (k->law == CHAN_JITTER_TABLE)
        return table_valid(k);
    if (k->sd == 0)
        return false;
    switch (k->law) {
    case CHAN_JITTER_UNIFORM:
        return mean >= sd * SQRT_3 * (1 - 1e-9); /* sd is in whole nanoseconds */
    case CHAN_JITTER_EXPONENTIAL:
        return mean >= sd;
    case CHAN_JITTER_GAMMA:
        return sd <= 1.4 * mean;
    case CHAN_JITTER_LOGNORMAL:
    case CHAN_JITTER_PARETO:
        return k->mean > 0;
    case CHAN_JITTER_NORMAL:
    case CHAN_JITTER_TABLE:
        break;
    }
    return true;
}

static double gamma_shape(const struct chan_jitter *k)
{
    double ratio = (double)k->mean / (double)k->sd;
    return ratio * ratio;
}

/* The logarithm of the gamma variable with scale 1. The guess is that of Wilson and Hilferty. */
static double gamma_log(double shape, double z)
{
    double root = 1 - 1 / (9 * shape) + z / (3 * sqrt(shape));
    if (shape > SHAPE_MAX) /* off by less than a thousandth of the deviation */
        return math_log(shape) + 3 * math_log(root);
    double small = (math_log(math_normal_below(z)) + math_lgamma(shape + 1)) / shape;
    return math_gamma_at(shape, z, root > 0.3 ? math_log(shape) + 3 * math_log(root) : small);
}

static double table_at(const struct chan_jitter *k, double z)
{
    double place = math_normal_below(z) * (double)(k->table_len - 1);
    size_t i = (size_t)place;
    if (i + 1 >= k->table_len)
        return (double)k->table[k->table_len - 1];
    double a = (double)k->table[i], b = (double)k->table[i + 1];
    return a + (b - a) * (place - (double)i);
}

double chan_jitter_at(const struct chan_jitter *k, double z)
{
    double mean = (double)k->mean, sd = (double)k->sd, ratio = k->mean > 0 ? sd / mean : 0;
    assert(z >= -Z_MAX && z <= Z_MAX);
    switch (k->law) {
    case CHAN_JITTER_UNIFORM:
        return mean + sd * SQRT_3 * (2 * math_normal_below(z) - 1);
    case CHAN_JITTER_LOGNORMAL: {
        double sigma = sqrt(math_log(1 + ratio * ratio));
        return mean * math_exp(sigma * z - sigma * sigma / 2);
    }
    case CHAN_JITTER_EXPONENTIAL:
        return mean - sd - sd * math_log(math_normal_above(z));
    case CHAN_JITTER_GAMMA:
        return mean / gamma_shape(k) * math_exp(gamma_log(gamma_shape(k), z));
    case CHAN_JITTER_PARETO: {
        double a = 1 + sqrt(1 + 1 / (ratio * ratio));
        return mean * (a - 1) / a * math_exp(-math_log(math_normal_above(z)) / a);
    }
    case CHAN_JITTER_TABLE:
        return table_at(k, z);
    case CHAN_JITTER_NORMAL:
        break;
    }
    return mean + sd * z;
}

static tick limit_delay(const struct chan_jitter *k, double ns)
{
    tick out = ns <= 0 ? 0 : ns >= 9e18 ? (tick)9e18 : (tick)(ns + 0.5);
    return k->max > 0 && out > k->max ? k->max : out;
}

tick chan_jitter_max(const struct chan_jitter *k)
{
    return limit_delay(k, chan_jitter_at(k, Z_MAX));
}

int chan_jitter_init(struct chan_jitter_state *s, const struct chan_jitter *config, uint64_t seed)
{
    assert(chan_jitter_valid(config));
    *s = (struct chan_jitter_state){.config = config};
    rng_init(&s->rng, seed);
    if (config->law != CHAN_JITTER_GAMMA)
        return 0;
    s->logs = malloc(Z_POINTS * sizeof *s->logs);
    if (s->logs == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < Z_POINTS; i++)
        s->logs[i] = gamma_log(gamma_shape(config), (double)i / Z_STEPS - Z_MAX);
    return 0;
}

void chan_jitter_fini(struct chan_jitter_state *s)
{
    free(s->logs);
    s->logs = NULL;
}

static double tabulated_gamma(const struct chan_jitter_state *s, double z)
{
    const struct chan_jitter *k = s->config;
    double place = (z + Z_MAX) * Z_STEPS;
    size_t i = (size_t)place;
    i = i + 1 < Z_POINTS ? i : Z_POINTS - 2;
    double log = s->logs[i] + (s->logs[i + 1] - s->logs[i]) * (place - (double)i);
    return (double)k->mean / gamma_shape(k) * math_exp(log);
}

tick chan_jitter_draw(struct chan_jitter_state *s, tick now)
{
    const struct chan_jitter *k = s->config;
    double e = law_normal(&s->rng), rho = s->begun ? k->correlation : 0;
    assert(!s->begun || now >= s->last);
    if (k->memory > 0 && s->begun)
        rho = math_exp(-(double)(now - s->last) / (double)k->memory);
    s->z = rho * s->z + sqrt(1 - rho * rho) * e;
    s->last = now;
    s->begun = true;
    double z = s->z > Z_MAX ? Z_MAX : s->z < -Z_MAX ? -Z_MAX : s->z;
    return limit_delay(k, s->logs != NULL ? tabulated_gamma(s, z) : chan_jitter_at(k, z));
}
