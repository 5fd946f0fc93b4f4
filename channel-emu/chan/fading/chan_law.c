/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gamma lengths by the method of Marsaglia and Tsang (2000): a cubed normal number, accepted or
 * drawn again; shapes below 1 take one from shape + 1 and scale it down. Weibull and exponential
 * lengths by inversion. Normal numbers by the polar method of Marsaglia. Only texts can be wrong.
 */
#include "channel-emu/chan/fading/chan_law.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "channel-emu/chan/chan_math.h"

/* In (0, 1]: its logarithm is finite. */
static double unit_above_zero(struct rng *r)
{
    return 1 - rng_unit(r);
}

void law_normal_pair(struct rng *r, double out[2])
{
    for (;;) {
        double x = 2 * rng_unit(r) - 1, y = 2 * rng_unit(r) - 1;
        double s = x * x + y * y;
        if (s > 0 && s < 1) {
            double f = sqrt(-2 * math_log(s) / s);
            out[0] = x * f;
            out[1] = y * f;
            return;
        }
    }
}

double law_normal(struct rng *r)
{
    double pair[2];
    law_normal_pair(r, pair);
    return pair[0];
}

/* Gamma with scale 1 and a shape of at least 1. */
static double gamma_large(double shape, struct rng *r)
{
    assert(shape >= 1);
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = law_normal(r);
        double v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (math_log(unit_above_zero(r)) < x * x / 2 + d - d * v + d * math_log(v))
            return d * v;
    }
}

static double gamma_unit(double shape, struct rng *r)
{
    if (shape >= 1)
        return gamma_large(shape, r);
    double g = gamma_large(shape + 1, r);
    return g * math_pow(unit_above_zero(r), 1 / shape);
}

/* The deviation of the logarithm. */
static double lognormal_sigma(const struct law *law)
{
    double ratio = law->shape / law->size;
    return sqrt(math_log(1 + ratio * ratio));
}

static double draw_weibull(const struct law *law, struct rng *r)
{
    double e = -math_log(unit_above_zero(r));
    return e > 0 ? law->size * math_pow(e, 1 / law->shape) : 0;
}

double law_draw(const struct law *law, struct rng *r)
{
    assert(law->size > 0);
    switch (law->kind) {
    case LAW_GAMMA:
        return law->size / law->shape * gamma_unit(law->shape, r);
    case LAW_WEIBULL:
        return draw_weibull(law, r);
    case LAW_LOGNORMAL: {
        double sigma = lognormal_sigma(law);
        return law->size * math_exp(sigma * law_normal(r) - sigma * sigma / 2);
    }
    case LAW_EXPONENTIAL:
        return -law->size * math_log(unit_above_zero(r));
    case LAW_FIXED:
        break;
    }
    return law->size;
}

static double mean_of(const struct law *law)
{
    if (law->kind == LAW_WEIBULL)
        return law->size * math_exp(math_lgamma(1 + 1 / law->shape));
    return law->size;
}

/* x f(x) / mean of a gamma distribution is one with the next shape; of a Weibull distribution that
 * of (x / scale)^shape; of a lognormal distribution one with a median e^(sigma^2) times as long. */
static double draw_met(const struct law *law, struct rng *r)
{
    assert(law->size > 0);
    switch (law->kind) {
    case LAW_GAMMA:
        return law->size / law->shape * gamma_unit(law->shape + 1, r);
    case LAW_WEIBULL:
        return law->size * math_pow(gamma_unit(1 + 1 / law->shape, r), 1 / law->shape);
    case LAW_LOGNORMAL: {
        double sigma = lognormal_sigma(law);
        return law->size * math_exp(sigma * law_normal(r) + sigma * sigma / 2);
    }
    case LAW_EXPONENTIAL:
        return law->size * gamma_unit(2, r);
    case LAW_FIXED:
        break;
    }
    return law->size;
}

double law_mix_mean(const struct law_mix *mix)
{
    double sum = 0;
    assert(mix->len > 0 && mix->len <= LAW_MIX_MAX);
    for (size_t i = 0; i < mix->len; i++)
        sum += mix->share[i] * mean_of(&mix->law[i]);
    return sum;
}

double law_mix_draw_met(const struct law_mix *mix, struct rng *r)
{
    double left = rng_unit(r) * law_mix_mean(mix);
    size_t i = 0;
    for (; i + 1 < mix->len && left >= mix->share[i] * mean_of(&mix->law[i]); i++)
        left -= mix->share[i] * mean_of(&mix->law[i]);
    return draw_met(&mix->law[i], r);
}

double law_mix_draw(const struct law_mix *mix, struct rng *r)
{
    assert(mix->len > 0 && mix->len <= LAW_MIX_MAX);
    size_t i = 0;
    double u = mix->len > 1 ? rng_unit(r) : 0;
    for (; i + 1 < mix->len && u >= mix->share[i]; i++)
        u -= mix->share[i];
    return law_draw(&mix->law[i], r);
}

double law_below(const struct law *law, double x)
{
    if (x <= 0)
        return 0;
    switch (law->kind) {
    case LAW_GAMMA:
        return math_gamma_below(law->shape, x * law->shape / law->size);
    case LAW_WEIBULL:
        return 1 - math_exp(-math_pow(x / law->size, law->shape));
    case LAW_LOGNORMAL: {
        double sigma = lognormal_sigma(law);
        return math_normal_below(math_log(x / law->size) / sigma + sigma / 2);
    }
    case LAW_EXPONENTIAL:
        return 1 - math_exp(-x / law->size);
    case LAW_FIXED:
        break;
    }
    return x >= law->size ? 1 : 0;
}

double law_mix_below(const struct law_mix *mix, double x)
{
    assert(mix->len <= LAW_MIX_MAX);
    double sum = 0;
    for (size_t i = 0; i < mix->len; i++)
        sum += mix->share[i] * law_below(&mix->law[i], x);
    return sum;
}

/* Digits and a power of ten that a double holds exactly: one division, correctly rounded. */
int law_number(const char *text, size_t len, double *out)
{
    double value = 0, divisor = 1;
    int digits = 0, behind = 0;
    bool point = false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '.' && !point && i > 0 && i + 1 < len) {
            point = true;
            continue;
        }
        if (text[i] < '0' || text[i] > '9')
            return HELIO_EFORMAT;
        value = value * 10 + (text[i] - '0');
        digits += value > 0;
        behind += point;
        divisor *= point ? 10 : 1;
        if (digits > 15 || behind > 22)
            return HELIO_EFORMAT;
    }
    *out = value / divisor;
    return len > 0 ? 0 : HELIO_EFORMAT;
}

static bool length_ms(const char *text, size_t len, double *out)
{
    char copy[32];
    tick ns;
    if (len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (units_duration(copy, &ns) < 0 || ns == 0 || ns > 86400 * TICK_S)
        return false;
    *out = (double)ns / 1e6;
    return true;
}

static const struct law_name {
    const char *name;
    enum law_kind kind;
    enum { ONE, SHAPE, LENGTH } second;
} names[] = {{"gamma:", LAW_GAMMA, SHAPE},
             {"weibull:", LAW_WEIBULL, SHAPE},
             {"lognormal:", LAW_LOGNORMAL, LENGTH},
             {"exponential:", LAW_EXPONENTIAL, ONE},
             {"fixed:", LAW_FIXED, ONE}};

static bool parse_parameters(const struct law_name *n, const char *text, size_t len,
                             struct law *out)
{
    const char *comma = len == 0 ? NULL : memchr(text, ',', len);
    size_t first = comma == NULL ? len : (size_t)(comma - text);
    *out = (struct law){.kind = n->kind};
    if (!length_ms(text, first, &out->size) || (comma == NULL) != (n->second == ONE))
        return false;
    if (n->second == ONE)
        return true;
    size_t rest = len - first - 1;
    if (n->second == LENGTH)
        return length_ms(comma + 1, rest, &out->shape);
    return law_number(comma + 1, rest, &out->shape) == 0 && out->shape >= 0.01 && out->shape <= 1e4;
}

static bool one_law(const char *text, size_t len, struct law *out)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i].name);
        if (len > n && memcmp(text, names[i].name, n) == 0)
            return parse_parameters(&names[i], text + n, len - n, out);
    }
    return false;
}

int law_mix_parse(const char *text, struct law_mix *out)
{
    struct law_mix mix = {0};
    double sum = 0;
    for (bool more = true; more;) {
        size_t len = strcspn(text, "+");
        const char *star = len == 0 ? NULL : memchr(text, '*', len);
        size_t share = star == NULL ? 0 : (size_t)(star - text);
        more = text[len] == '+';
        if (mix.len == LAW_MIX_MAX || (star == NULL && (more || mix.len > 0)))
            return HELIO_EFORMAT;
        mix.share[mix.len] = 1;
        if (star != NULL && law_number(text, share, &mix.share[mix.len]) < 0)
            return HELIO_EFORMAT;
        size_t at = star == NULL ? 0 : share + 1;
        if (!one_law(text + at, len - at, &mix.law[mix.len]))
            return HELIO_EFORMAT;
        sum += mix.share[mix.len++];
        text += len + 1;
    }
    if (sum < 1 - 1e-6 || sum > 1 + 1e-6)
        return HELIO_EFORMAT;
    assert(mix.len > 0 && mix.len <= LAW_MIX_MAX);
    *out = mix;
    return 0;
}
