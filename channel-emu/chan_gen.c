/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gamma lengths by the method of Marsaglia and Tsang (2000): a cubed normal number, accepted or
 * drawn again; shapes below 1 take one from shape + 1 and scale it down. Weibull lengths by
 * inversion. Normal numbers by the polar method of Marsaglia. Only memory can fail.
 */
#include "channel-emu/chan_gen.h"

#include <math.h>
#include <string.h>

#include "base/err.h"

static const struct gen_preset presets[] = {
    {.name = "A",
     .seed = 55,
     .good = {1, {GEN_GAMMA, 18.170, 1.094}, {GEN_GAMMA, 1, 1}},
     .bad = {1, {GEN_GAMMA, 0.949, 2.078}, {GEN_GAMMA, 1, 1}}},
    {.name = "F",
     .seed = 37,
     .good = {1, {GEN_GAMMA, 13.457, 0.547}, {GEN_GAMMA, 1, 1}},
     .bad = {0.8596, {GEN_GAMMA, 1.265, 1.791}, {GEN_GAMMA, 7.503, 1.757}}},
    {.name = "H",
     .seed = 33,
     .good = {1, {GEN_GAMMA, 13.480, 1.102}, {GEN_GAMMA, 1, 1}},
     .bad = {0.8689, {GEN_WEIBULL, 5.105, 1.221}, {GEN_WEIBULL, 10.642, 1.225}}},
};

const struct gen_preset *gen_preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    }
    return NULL;
}

/* In (0, 1]: its logarithm is finite. */
static double unit_above_zero(struct rng *r)
{
    return 1 - rng_unit(r);
}

static double normal(struct rng *r)
{
    for (;;) {
        double x = 2 * rng_unit(r) - 1, y = 2 * rng_unit(r) - 1;
        double s = x * x + y * y;
        if (s > 0 && s < 1)
            return x * sqrt(-2 * log(s) / s);
    }
}

/* Gamma with scale 1 and a shape of at least 1. */
static double gamma_large(double shape, struct rng *r)
{
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = normal(r);
        double v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(unit_above_zero(r)) < x * x / 2 + d - d * v + d * log(v))
            return d * v;
    }
}

static double gamma_unit(double shape, struct rng *r)
{
    if (shape >= 1)
        return gamma_large(shape, r);
    double g = gamma_large(shape + 1, r);
    return g * pow(unit_above_zero(r), 1 / shape);
}

double gen_draw(const struct gen_law *law, struct rng *r)
{
    if (law->kind == GEN_WEIBULL)
        return law->size * pow(-log(unit_above_zero(r)), 1 / law->shape);
    return law->size / law->shape * gamma_unit(law->shape, r);
}

static uint64_t draw_steps(const struct gen_mix *mix, double step_ms, struct rng *r)
{
    bool first = mix->share >= 1 || rng_chance(r, mix->share);
    double steps = gen_draw(first ? &mix->first : &mix->second, r) / step_ms;
    return steps < 1 ? 1 : (uint64_t)(steps + 0.5);
}

int gen_trace(struct trace *t, const struct gen_preset *preset, uint64_t steps, uint64_t seed)
{
    struct rng r;
    double step_ms = (double)t->step / 1e6;
    if (steps == 0)
        return HELIO_EINVAL;
    rng_init(&r, seed);
    for (bool bad = false; steps > 0; bad = !bad) {
        uint64_t n = draw_steps(bad ? &preset->bad : &preset->good, step_ms, &r);
        n = n < steps ? n : steps;
        int rc = trace_add(t, bad, n);
        if (rc < 0)
            return rc;
        steps -= n;
    }
    return 0;
}
