/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each step draws a pair of normal numbers for the scintillation and one for the pointing, sends
 * them through their filters, and looks up or computes the logarithms of the factors. Along a pass
 * the tables follow the elevation once a second. Only the configuration can be wrong.
 */
#include "channel-emu/chan/chan_fade.h"

#include <assert.h>
#include <math.h>

#include "base/err.h"
#include "channel-emu/chan/chan_air.h"
#include "channel-emu/chan/chan_law.h"
#include "channel-emu/chan/chan_math.h"

#define TABLE_Z 6.5
#define TABLE_PER_Z 16.0
#define RENEW TICK_S
#define DECAY 2.90449 /* (1 + x + x^2/3) e^-x = 1/e */

void fade_normal_init(struct fade_normal *n, double coherence_steps)
{
    double a = math_exp(-DECAY / coherence_steps), x = a * a, rest = 1 - x;
    double energy = (1 + 4 * x + x * x) / (rest * rest * rest * rest * rest);
    assert(a > 0 && a < 1 && energy > 0);
    *n = (struct fade_normal){.pole = a, .gain = 1 / sqrt(energy)};
}

double fade_normal_next(struct fade_normal *n, double white)
{
    n->state[0] = n->pole * n->state[0] + white;
    n->state[1] = n->pole * n->state[1] + n->state[0];
    n->state[2] = n->pole * n->state[2] + n->state[1];
    return n->gain * n->state[2];
}

void fade_table_gamma(struct fade_table *t, double shape)
{
    assert(shape > 0);
    const int middle = (FADE_TABLE - 1) / 2;
    double scale = math_log(shape);
    double start = math_gamma_at(shape, 0, scale);
    t->value[middle] = start - scale;
    for (int side = -1; side <= 1; side += 2) {
        double y = start, slope = 0;
        for (int i = 1; i <= middle; i++) {
            double z = side * i / TABLE_PER_Z, next = math_gamma_at(shape, z, y + slope);
            slope = next - y;
            y = next;
            t->value[middle + side * i] = y - scale;
        }
    }
}

double fade_table_at(const struct fade_table *t, double z)
{
    z = z > TABLE_Z - 0.001 ? TABLE_Z - 0.001 : z < -TABLE_Z ? -TABLE_Z : z;
    double place = (z + TABLE_Z) * TABLE_PER_Z;
    size_t i = (size_t)place;
    assert(i + 1 < FADE_TABLE);
    double part = place - (double)i;
    return t->value[i] + part * (t->value[i + 1] - t->value[i]);
}

double fade_elevation(const struct fade_config *c, tick at)
{
    assert(c->points > 0 && c->points <= FADE_POINTS_MAX);
    size_t i = 0;
    while (i < c->points && c->pass[i].at <= at)
        i++;
    if (i == 0 || i == c->points)
        return c->pass[i == 0 ? 0 : i - 1].elevation;
    const struct fade_point *a = &c->pass[i - 1], *b = &c->pass[i];
    double part = (double)(at - a->at) / (double)(b->at - a->at);
    return a->elevation + part * (b->elevation - a->elevation);
}

double fade_index(const struct fade_config *c, double elevation)
{
    if (c->kind == FADE_STEADY || c->index > 0)
        return c->kind == FADE_STEADY ? 0 : c->index;
    double rytov = air_rytov(elevation, c->wavelength_nm);
    double index =
        air_index(air_gamma(rytov)) * air_aperture(elevation, c->wavelength_nm, c->aperture_m);
    return index < 0.0005 ? 0.0005 : index > AIR_INDEX_MAX ? AIR_INDEX_MAX : index;
}

static double highest_corner(const struct fade_config *c)
{
    assert(c->points > 0);
    double top = 0;
    for (size_t i = 0; i < c->points; i++)
        top = c->pass[i].elevation > top ? c->pass[i].elevation : top;
    return top;
}

/* What depends on the elevation, as it is now. */
static void renew_fade(struct fade *f)
{
    assert(f->now >= f->renew || f->renew == 0);
    const struct fade_config *c = f->config;
    double elevation = c->points == 0 ? 90 : fade_elevation(c, f->now * f->step);
    double index = fade_index(c, elevation);
    if (c->points > 0)
        f->path = 2 * math_log(air_range(highest_corner(c), c->altitude_km) /
                               air_range(elevation, c->altitude_km));
    if (c->kind == FADE_LOGNORMAL)
        f->sigma = sqrt(math_log(1 + index));
    if (c->kind == FADE_GAMMA_GAMMA) {
        struct air_gamma g = air_gamma(air_rytov_of(index));
        fade_table_gamma(&f->table[0], g.alpha);
        fade_table_gamma(&f->table[1], g.beta);
    }
    assert(index >= 0 && f->step > 0);
    uint64_t steps = f->step < RENEW ? RENEW / f->step : 1;
    f->renew = c->points > 1 ? f->now + steps : UINT64_MAX;
}

static double scintillation(struct fade *f)
{
    double white[2];
    law_normal_pair(&f->rng, white);
    double a = fade_normal_next(&f->normal[0], white[0]);
    if (f->config->kind == FADE_LOGNORMAL)
        return f->sigma * a - f->sigma * f->sigma / 2;
    double b = fade_normal_next(&f->normal[1], white[1]);
    return fade_table_at(&f->table[0], a) + fade_table_at(&f->table[1], b);
}

/* A Gaussian beam: the loss is e^(-2 r^2 / w^2), and r follows the two axes' normal processes. */
static double pointing(struct fade *f)
{
    assert(f->config->jitter > 0);
    double white[2], j = f->config->jitter;
    law_normal_pair(&f->rng, white);
    double x = fade_normal_next(&f->normal[2], white[0]);
    double y = fade_normal_next(&f->normal[3], white[1]);
    return -2 * j * j * (x * x + y * y);
}

static double next_log(struct fade *f)
{
    double log = f->path;
    if (f->config->kind != FADE_STEADY)
        log += scintillation(f);
    return f->config->jitter > 0 ? log + pointing(f) : log;
}

double fade_next(struct fade *f)
{
    if (f->now >= f->renew)
        renew_fade(f);
    f->now++;
    return math_exp(next_log(f));
}

static bool steps_ok(tick coherence, tick step)
{
    return coherence >= 2 * step && coherence / step <= FADE_COHERENCE_STEPS_MAX;
}

int fade_check(const struct fade_config *c, tick step)
{
    bool scintillates = c->kind != FADE_STEADY;
    if ((scintillates && !steps_ok(c->coherence, step)) ||
        (c->jitter > 0 && !steps_ok(c->jitter_coherence, step)) ||
        (scintillates && c->index <= 0 && c->points == 0))
        return HELIO_EINVAL;
    return 0;
}

void fade_init(struct fade *f, const struct fade_config *c, tick step, uint64_t seed)
{
    assert(step > 0 && fade_check(c, step) == 0);
    double longest = 0;
    *f = (struct fade){.config = c, .step = step};
    rng_init(&f->rng, seed);
    for (int i = 0; i < 4; i++) {
        double steps = (double)(i < 2 ? c->coherence : c->jitter_coherence) / (double)step;
        bool used = i < 2 ? c->kind != FADE_STEADY : c->jitter > 0;
        fade_normal_init(&f->normal[i], steps < 2 ? 2 : steps);
        longest = used && steps > longest ? steps : longest;
    }
    renew_fade(f);
    uint64_t warm_up = (uint64_t)(16 * longest); /* the filters forget their start */
    for (uint64_t n = 0; n < warm_up; n++)
        next_log(f);
}
