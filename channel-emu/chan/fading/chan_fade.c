/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each step draws a pair of normal numbers for the scintillation and one for the pointing, sends
 * them through their filters, and looks up or computes the logarithms of the factors. Along a pass
 * the tables follow the elevation once a second. Only the configuration can be wrong.
 */
#include "channel-emu/chan/fading/chan_fade.h"

#include <assert.h>
#include <math.h>

#include "base/err.h"
#include "channel-emu/chan/chan_math.h"
#include "channel-emu/chan/fading/chan_air.h"
#include "channel-emu/chan/fading/chan_law.h"
#include "channel-emu/chan/fading/chan_wind.h"
#include "channel-emu/chan/fading/chan_zernike.h"

#define TABLE_Z 6.5
#define TABLE_PER_Z 16.0
#define RENEW TICK_S
#define LN10_10TH 0.230258509299404568402
#define COVERED (-690.0) /* logarithm of what comes through a cloud: nothing */
#define DECAY 2.90449    /* (1 + x + x^2/3) e^-x = 1/e */

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
    double rytov = air_rytov(&c->profile, elevation, c->wavelength_nm);
    double index =
        air_index(air_gamma(rytov)) *
        air_aperture(&c->profile, elevation, c->wavelength_nm, c->uplink_m > 0 ? 0 : c->aperture_m);
    index *= c->uplink_m > 0 ? c->residual : 1;
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

double fade_coherence(const struct fade_config *c, double elevation)
{
    if (!c->wind)
        return (double)c->coherence;
    double slew = c->orbit ? wind_slew(elevation, c->altitude_km) : c->slew;
    return 1e9 * wind_coherence(&c->profile, elevation, c->wavelength_nm,
                                c->uplink_m > 0 ? 0 : c->aperture_m, c->wind_m_s, slew);
}

double fade_covered(const struct fade_config *c, double elevation)
{
    if (c->cloud <= 0)
        return 0;
    double mass = 1 / math_sin(elevation * 0.01745329251994329577);
    return 1 - math_pow(1 - c->cloud, mass);
}

bool fade_clouds_clear(const struct fade_config *c, tick step)
{
    for (size_t i = 0; i < c->points; i++) {
        double share = fade_covered(c, c->pass[i].elevation);
        if ((double)c->cloud_duration * (1 - share) < (double)step * share)
            return false;
    }
    return true;
}

double fade_jitter(const struct fade_config *c, double elevation)
{
    if (c->uplink_m <= 0)
        return c->jitter;
    double wander = wind_wander(&c->profile, elevation, c->wavelength_nm, c->uplink_m);
    return sqrt(c->jitter * c->jitter + c->residual * wander * wander);
}

/* States are scaled with the gain, so that the output does not jump. */
static void set_normal(struct fade_process *p, enum fade_spectrum spectrum, double steps,
                       double inner)
{
    assert(steps >= 2);
    if (spectrum != FADE_STEEP) {
        enum chan_slope slope = spectrum == FADE_POINT ? SLOPE_POINT : SLOPE_APERTURE;
        chan_filter_set(&p->filter, slope, steps, inner);
        return;
    }
    struct fade_normal before = p->steep;
    fade_normal_init(&p->steep, steps);
    for (int i = 0; i < 3 && before.gain > 0; i++)
        p->steep.state[i] = before.state[i] * (before.gain / p->steep.gain);
}

static double next_normal(struct fade_process *p, enum fade_spectrum spectrum, double white)
{
    return spectrum == FADE_STEEP ? fade_normal_next(&p->steep, white)
                                  : chan_filter_next(&p->filter, white);
}

/* The correlation times, where they are new by a half per cent. */
static void renew_times(struct fade *f, double elevation, double rytov)
{
    const struct fade_config *c = f->config;
    double steps = fade_coherence(c, elevation) / (double)f->step;
    double apart = c->two_scales ? sqrt(air_scales(rytov)) : 1;
    for (int i = 0; i < 2; i++) {
        double own = i == 0 ? steps * apart : steps / apart, before = f->coherence[i];
        own = own < 2 ? 2 : own > 1e7 ? 1e7 : own;
        if (before > 0 && own < before * 1.005 && own > before / 1.005)
            continue;
        f->coherence[i] = own;
        set_normal(&f->normal[i], c->spectrum, own, (double)c->inner / (double)f->step);
    }
}

static void renew_clouds(struct fade *f, double elevation)
{
    const struct fade_config *c = f->config;
    double share = fade_covered(c, elevation);
    assert(share >= 0 && share < 1);
    f->goes = (double)f->step / (double)c->cloud_duration;
    f->appears = f->goes * share / (1 - share);
    assert(f->goes <= 1 && f->appears <= 1 + 1e-9);
    if (f->now == 0)
        f->covered = rng_chance(&f->clouds, share);
}

double fade_coupling(const struct fade_config *c, double elevation)
{
    double r0 = air_fried(&c->profile, elevation, c->wavelength_nm);
    double coupling = c->fibre == 0 ? 1 : zernike_coupling(c->fibre, c->aperture_m / r0);
    return coupling > 1e-30 ? coupling : 1e-30;
}

static double path_gain(const struct fade_config *c, double elevation)
{
    double top = highest_corner(c), gain = 0;
    if (c->extinction > 0)
        gain -= c->extinction * LN10_10TH * (wind_air_mass(elevation) - wind_air_mass(top));
    if (c->fibre > 0)
        gain += math_log(fade_coupling(c, elevation));
    return gain +
           2 * math_log(air_range(top, c->altitude_km) / air_range(elevation, c->altitude_km));
}

/* What depends on the elevation, as it is now. */
static void renew_fade(struct fade *f)
{
    assert(f->now >= f->renew || f->renew == 0);
    const struct fade_config *c = f->config;
    double elevation = c->points == 0 ? 90 : fade_elevation(c, f->now * f->step);
    double index = fade_index(c, elevation), rytov = 0;
    if (c->points > 0)
        f->path = path_gain(c, elevation);
    if (c->kind == FADE_LOGNORMAL)
        f->sigma = sqrt(math_log(1 + index));
    if (c->kind == FADE_GAMMA_GAMMA) {
        rytov = air_rytov_of(index);
        struct air_gamma g = air_gamma(rytov);
        fade_table_gamma(&f->table[0], g.alpha);
        fade_table_gamma(&f->table[1], g.beta);
    }
    f->jitter = fade_jitter(c, elevation);
    if (c->kind != FADE_STEADY)
        renew_times(f, elevation, rytov);
    if (c->cloud > 0)
        renew_clouds(f, elevation);
    assert(index >= 0 && f->step > 0);
    uint64_t steps = f->step < RENEW ? RENEW / f->step : 1;
    f->renew = c->points > 1 ? f->now + steps : UINT64_MAX;
}

/* The number that was drawn, or what it makes together with that of the other direction. */
static double normal_of(const struct fade *f, int i)
{
    if (f->beside == NULL)
        return f->drawn[i];
    double r = f->config->back_correlation;
    return r * f->beside->drawn[i] + sqrt(1 - r * r) * f->drawn[i];
}

static double scintillation(struct fade *f)
{
    double white[2];
    law_normal_pair(&f->rng, white);
    f->drawn[0] = next_normal(&f->normal[0], f->config->spectrum, white[0]);
    if (f->config->kind == FADE_LOGNORMAL)
        return f->sigma * normal_of(f, 0) - f->sigma * f->sigma / 2;
    f->drawn[1] = next_normal(&f->normal[1], f->config->spectrum, white[1]);
    return fade_table_at(&f->table[0], normal_of(f, 0)) +
           fade_table_at(&f->table[1], normal_of(f, 1));
}

/* A Gaussian beam: the loss is e^(-2 r^2 / w^2), and r follows the two axes' normal processes. */
static double pointing(struct fade *f)
{
    double white[2], j = f->jitter, b = f->config->bias;
    assert(j >= 0 && b >= 0);
    law_normal_pair(&f->rng, white);
    double x = fade_normal_next(&f->normal[2].steep, white[0]);
    double y = fade_normal_next(&f->normal[3].steep, white[1]);
    if (b > 0)
        return -2 * ((j * x + b) * (j * x + b) + j * j * y * y);
    return -2 * j * j * (x * x + y * y);
}

static bool points_astray(const struct fade_config *c)
{
    return c->jitter > 0 || c->bias > 0 || c->uplink_m > 0;
}

static double next_log(struct fade *f)
{
    double log = f->path;
    if (f->config->kind != FADE_STEADY)
        log += scintillation(f);
    return points_astray(f->config) ? log + pointing(f) : log;
}

/* Clouds have their own random numbers: with the same seed everything else is the same. */
static double under_clouds(struct fade *f, double log)
{
    if (f->config->cloud <= 0)
        return log;
    f->covered = f->covered ? !rng_chance(&f->clouds, f->goes) : rng_chance(&f->clouds, f->appears);
    return f->covered ? COVERED : log;
}

double fade_next(struct fade *f)
{
    if (f->now >= f->renew)
        renew_fade(f);
    f->now++;
    return math_exp(under_clouds(f, next_log(f)));
}

static bool steps_ok(tick coherence, tick step)
{
    return coherence >= 2 * step && coherence / step <= FADE_COHERENCE_STEPS_MAX;
}

static bool inner_ok(tick inner, tick coherence, tick step)
{
    return inner == 0 ||
           ((double)inner >= CHAN_FILTER_INNER_MIN * (double)step && inner <= coherence / 2);
}

/* The shortest and the longest are at a corner of the pass. */
static bool times_ok(const struct fade_config *c, tick step)
{
    if (!c->wind)
        return steps_ok(c->coherence, step) && inner_ok(c->inner, c->coherence, step);
    bool ok = c->points > 0;
    for (size_t i = 0; i < c->points; i++) {
        tick coherence = (tick)fade_coherence(c, c->pass[i].elevation);
        ok = ok && steps_ok(coherence, step) && inner_ok(c->inner, coherence, step);
    }
    return ok;
}

int fade_check(const struct fade_config *c, tick step)
{
    bool scintillates = c->kind != FADE_STEADY, high = c->points > 0;
    if ((scintillates && !times_ok(c, step)) ||
        ((c->jitter > 0 || c->uplink_m > 0) && !steps_ok(c->jitter_coherence, step)) ||
        (scintillates && c->index <= 0 && !high) ||
        (!high && (c->uplink_m > 0 || c->cloud > 0 || c->extinction > 0)) ||
        (c->cloud > 0 && (c->cloud_duration < step || !fade_clouds_clear(c, step))))
        return HELIO_EINVAL;
    return 0;
}

static void init_fade(struct fade *f, const struct fade_config *c, tick step, uint64_t seed,
                      uint64_t clouds)
{
    assert(step > 0 && fade_check(c, step) == 0);
    double pointing_steps = (double)c->jitter_coherence / (double)step, longest = 0;
    *f = (struct fade){.config = c, .step = step};
    rng_init(&f->rng, seed);
    rng_init(&f->clouds, rng_named(clouds, "clouds"));
    for (int i = 2; i < 4; i++)
        set_normal(&f->normal[i], FADE_STEEP, pointing_steps < 2 ? 2 : pointing_steps, 0);
    renew_fade(f);
    for (int i = 0; i < 2; i++)
        longest = f->coherence[i] > longest ? f->coherence[i] : longest;
    if (points_astray(c) && pointing_steps > longest)
        longest = pointing_steps;
    uint64_t warm_up = (uint64_t)(16 * longest); /* the filters forget their start */
    for (uint64_t n = 0; n < warm_up; n++)
        next_log(f);
}

void fade_init(struct fade *f, const struct fade_config *c, tick step, uint64_t seed)
{
    init_fade(f, c, step, seed, seed);
}

void fade_init_back(struct fade *f, const struct fade *beside, const struct fade_config *c,
                    tick step, uint64_t seed)
{
    assert(c->back_correlation >= 0 && c->back_correlation <= 1);
    init_fade(f, c, step, rng_named(seed, "back"), seed);
    f->beside = beside;
}

/* ---- one direction ---- */

/* The forward direction is drawn again, up to the step that belongs to the first one back. */
static void next_forward(struct fade_direction *d)
{
    if (d->at == d->steps) {
        fade_init(&d->forward, d->config, d->step, d->seed);
        d->at = 0;
    }
    fade_next(&d->forward);
    d->at++;
}

void fade_direction_init(struct fade_direction *d, const struct fade_config *c, tick step,
                         uint64_t steps, uint64_t seed)
{
    assert(steps > 0 && step > 0);
    *d = (struct fade_direction){
        .config = c, .step = step, .seed = seed, .steps = steps, .at = steps};
    if (!c->back) {
        fade_init(&d->own, c, step, seed);
        return;
    }
    uint64_t lag =
        (c->back_lag < 0 ? -(uint64_t)c->back_lag : (uint64_t)c->back_lag) / step % steps;
    uint64_t begin = c->back_lag < 0 ? lag : (steps - lag) % steps;
    for (uint64_t i = 0; i < begin; i++)
        next_forward(d);
    fade_init_back(&d->own, &d->forward, c, step, seed);
}

double fade_direction_next(struct fade_direction *d)
{
    if (d->config->back)
        next_forward(d);
    return fade_next(&d->own);
}
