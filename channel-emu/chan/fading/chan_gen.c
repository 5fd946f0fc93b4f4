/* SPDX-License-Identifier: Apache-2.0 */
/* Each model is one loop that adds runs or steps. Only memory can fail. */
#include "channel-emu/chan/fading/chan_gen.h"

#include <string.h>

#include "base/err.h"

#define RUN_MAX 1e18 /* steps */

static uint64_t round_steps(double steps)
{
    return steps < 1 ? 1 : (uint64_t)((steps < RUN_MAX ? steps : RUN_MAX) + 0.5);
}

static uint64_t draw_steps(const struct law_mix *mix, double step_ms, struct rng *r)
{
    return round_steps(law_mix_draw(mix, r) / step_ms);
}

/* The state in which the trace begins, and how long it still lasts, in equilibrium: a run of n
 * whole steps is met n times as often as one of one step, and at any of its steps. What is drawn is
 * met x + 1 times as often, x being its length before it was rounded; n / (x + 1) of these are
 * kept. */
static uint64_t draw_first(const struct gen_spec *s, double step_ms, struct rng *r, bool *bad)
{
    double weight[2] = {law_mix_mean(&s->good) / step_ms + 1, law_mix_mean(&s->bad) / step_ms + 1};
    for (;;) {
        *bad = rng_chance(r, weight[1] / (weight[0] + weight[1]));
        const struct law_mix *mix = *bad ? &s->bad : &s->good;
        bool plain = rng_chance(r, 1 / weight[*bad]);
        double steps = (plain ? law_mix_draw(mix, r) : law_mix_draw_met(mix, r)) / step_ms;
        uint64_t n = round_steps(steps);
        if (steps > RUN_MAX || rng_unit(r) * (steps + 1) < (double)n)
            return 1 + rng_below(r, n);
    }
}

/* Where it begins is drawn by itself, so that the runs behind are those of the seed all the same.
 */
static int gen_renewal(struct trace *t, const struct gen_spec *s, uint64_t steps, struct rng *r,
                       uint64_t seed)
{
    double step_ms = (double)t->step / 1e6;
    struct rng begin;
    bool bad;
    int rc = 0;
    rng_init(&begin, rng_named(seed, "begin"));
    uint64_t n = draw_first(s, step_ms, &begin, &bad);
    if (!bad)
        draw_steps(&s->good, step_ms, r); /* takes the place of the seed's first run */
    while (rc == 0) {
        n = n < steps ? n : steps;
        rc = trace_add(t, bad, n);
        steps -= n;
        if (steps == 0)
            break;
        bad = !bad;
        n = draw_steps(bad ? &s->bad : &s->good, step_ms, r);
    }
    return rc;
}

static int gen_gilbert(struct trace *t, const struct gen_spec *s, uint64_t steps, struct rng *r)
{
    double step_ms = (double)t->step / 1e6;
    double leave[2] = {step_ms / s->good_ms, step_ms / s->bad_ms};
    double loss[2] = {s->good_loss, s->bad_loss};
    bool state = rng_chance(r, s->bad_ms / (s->good_ms + s->bad_ms));
    int rc = 0;
    for (; steps > 0 && rc == 0; steps--) {
        rc = trace_add(t, rng_chance(r, loss[state]), 1);
        state ^= rng_chance(r, leave[state]);
    }
    return rc;
}

static int gen_independent(struct trace *t, const struct gen_spec *s, uint64_t steps, struct rng *r)
{
    int rc = 0;
    for (; steps > 0 && rc == 0; steps--)
        rc = trace_add(t, rng_chance(r, s->bad_loss), 1);
    return rc;
}

static int gen_optical(struct trace *t, const struct gen_spec *s, uint64_t steps, uint64_t seed)
{
    struct fade_direction d;
    struct receiver r;
    int rc = receiver_init(&r, &s->receiver, receiver_threshold(&s->receiver), t->step);
    fade_direction_init(&d, &s->fade, t->step, steps, seed);
    while (rc == 0 && steps > 0) {
        int bad = receiver_input(&r, fade_direction_next(&d));
        if (bad < 0)
            continue;
        rc = trace_add(t, bad == 1, 1);
        steps--;
    }
    receiver_fini(&r);
    return rc;
}

int gen_trace(struct trace *t, const struct gen_spec *s, uint64_t steps, uint64_t seed)
{
    struct rng r;
    if (steps == 0 || s->model == GEN_NONE)
        return HELIO_EINVAL;
    rng_init(&r, seed);
    switch (s->model) {
    case GEN_RENEWAL:
        return gen_renewal(t, s, steps, &r, seed);
    case GEN_GILBERT:
        return gen_gilbert(t, s, steps, &r);
    case GEN_INDEPENDENT:
        return gen_independent(t, s, steps, &r);
    default:
        return gen_optical(t, s, steps, seed);
    }
}

const char *gen_model_name(enum gen_model model)
{
    static const char *const names[] = {"none", "renewal", "gilbert", "independent", "optical"};
    return names[model];
}

bool gen_synthetic(const char *generator)
{
    static const char *const others[] = {"sites", "passes"};
    for (enum gen_model m = GEN_NONE + 1; m <= GEN_OPTICAL; m++)
        if (strcmp(generator, gen_model_name(m)) == 0)
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(generator, others[i]) == 0)
            return true;
    return false;
}

void gen_about(struct trace_about *about, const struct gen_spec *s, uint64_t seed)
{
    const char *name = gen_model_name(s->model);
    *about = (struct trace_about){.seeded = true, .seed = seed};
    memcpy(about->generator, name, strlen(name) + 1);
    memcpy(about->parameters, s->parameters, sizeof about->parameters);
}

/* Where the figures of the presets come from: traces/README.md. */
static const struct gen_preset presets[] = {
    {"A", 55, {{"good", "gamma:18.170ms,1.094"}, {"bad", "gamma:0.949ms,2.078"}}},
    {"F",
     37,
     {{"good", "gamma:13.457ms,0.547"},
      {"bad", "0.8596*gamma:1.265ms,1.791+0.1404*gamma:7.503ms,1.757"}}},
    {"H",
     33,
     {{"good", "gamma:13.480ms,1.102"},
      {"bad", "0.8689*weibull:5.105ms,1.221+0.1311*weibull:10.642ms,1.225"}}},
    {"leo-low",
     1,
     {{"scintillation", "gamma-gamma"},
      {"elevation", "0s:10,20s:12.1,40s:14.5,60s:17.3,80s:20.5,100s:24.3"},
      {"aperture", "0.2m"},
      {"coherence", "3ms"},
      {"margin", "6dB"},
      {"fec", "1dB"},
      {"interleaver", "1ms"},
      {"jitter", "0.2"}}},
    {"leo-high",
     1,
     {{"scintillation", "gamma-gamma"},
      {"elevation", "0s:54.9,10s:60.8,20s:67.4,30s:74.5,40s:82.1,50s:90,60s:82.1,70s:74.5,80s:67.4,"
                    "90s:60.8,100s:54.9"},
      {"aperture", "0.2m"},
      {"coherence", "1ms"},
      {"margin", "3dB"},
      {"fec", "1dB"},
      {"interleaver", "1ms"},
      {"jitter", "0.2"}}},
    {"jpl-47km", 1, {{"scintillation", "gamma-gamma"}, {"index", "0.43"}}},
};

const struct gen_preset *gen_preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    }
    return NULL;
}
