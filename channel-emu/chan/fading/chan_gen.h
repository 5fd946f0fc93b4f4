/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic erasure traces. A specification consists of the options of `helio-trace gen`, by name
 * and text, so that the origin in a file reproduces it. The presets A, F and H match the statistics
 * that Caini et al. published for their optical links ("LTP Performance on Near-Earth Optical
 * Links", IEEE TAES 59(6), 2023); their traces are not public. leo-low and leo-high are physical
 * examples.
 */
#ifndef CHANNEL_EMU_CHAN_GEN_H
#define CHANNEL_EMU_CHAN_GEN_H

#include "channel-emu/chan/chan.h"
#include "channel-emu/chan/chan_about.h"
#include "channel-emu/chan/fading/chan_fade.h"
#include "channel-emu/chan/fading/chan_law.h"
#include "channel-emu/chan/fading/chan_receiver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The law by which a trace is generated. */
enum gen_model { GEN_NONE, GEN_RENEWAL, GEN_GILBERT, GEN_INDEPENDENT, GEN_OPTICAL };

struct gen_spec {
    enum gen_model model;
    struct law_mix good, bad; /* renewal */
    double good_ms, bad_ms;   /* gilbert: mean times in its states */
    double good_loss;         /* probability that a step is bad, in either state */
    double bad_loss;          /* of gilbert, and of independent */
    struct fade_config fade;  /* optical */
    struct receiver_config receiver;
    double fried_m;           /* in the zenith; 0: as the profile has it */
    double preset_aperture_m; /* the aperture is that of the preset, not of an option */
    char parameters[TRACE_PARAMETERS_MAX]; /* the options that made it */
};

#define GEN_PRESET_OPTIONS_MAX 10
struct gen_preset {
    const char *name;
    uint64_t seed; /* 10^6 steps of 0.1 ms with this seed meet the published figures best */
    const char *options[GEN_PRESET_OPTIONS_MAX][2]; /* name, text */
};

#define GEN_STEPS_DEFAULT UINT64_C(1000000)
#define GEN_PRESET_NAMES "A, F, H, leo-low, leo-high or jpl-47km"
#define GEN_ERROR_MAX 320u

/* NULL for names not in GEN_PRESET_NAMES. */
const struct gen_preset *gen_preset_find(const char *name);

/* Sets all fields to their defaults. */
void gen_spec_init(struct gen_spec *s);

/* An option of `helio-trace gen` without its dashes; `preset` is one. 0, HELIO_ENOENT (no such
 * option), or HELIO_EFORMAT with what is wrong and what would be right, without the option's name,
 * in `error` (GEN_ERROR_MAX
 * bytes). */
int gen_spec_set(struct gen_spec *s, const char *name, const char *text, char *error);

/* Is it whole, and does it fit the step? 0, or HELIO_EFORMAT with `error` as above. */
int gen_spec_check(const struct gen_spec *s, tick step, char *error);

/* One word for the model. */
const char *gen_model_name(enum gen_model model);

/* Is a trace whose file names this generator drawn from a model (not measured, not unknown)? */
bool gen_synthetic(const char *generator);

/* Adds exactly `steps` steps to an empty trace. Each run of a renewal process is rounded to whole
 * steps, one at least. The process begins in equilibrium, somewhere in a good or a bad run (long
 * runs are more likely), and the last run is cut. The specification has been checked for the
 * trace's step. Returns 0, HELIO_ENOMEM, HELIO_EINVAL (steps 0). */
int gen_trace(struct trace *t, const struct gen_spec *s, uint64_t steps, uint64_t seed);

/* What a file says of a trace that gen_trace has made. */
void gen_about(struct trace_about *about, const struct gen_spec *s, uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
