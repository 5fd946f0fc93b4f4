/* SPDX-License-Identifier: Apache-2.0 */
/* helio-trace gen: a synthetic trace into a file. The options of the models go to the specification
 * (chan_gen.h) as they are. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "channel-emu/chan/chan_gen.h"
#include "channel-emu/trace/trace_command.h"
#include "os/arguments.h"

struct options {
    struct gen_spec spec;
    uint64_t steps, seed;
    bool seeded;
    tick step, duration;
    const char *output, *power;
};

enum { MODEL = 1000, DURATION = 2000, POWER };

static const struct argp_option gen_options[] = {
    {NULL, 0, NULL, 0, "Presets:", 1},
    {"preset", 'p', "NAME", 0,
     "A, F, H or jpl-47km (published statistics), leo-low or leo-high (physical examples)", 1},
    {NULL, 0, NULL, 0, "Runs of good and bad time in turns:", 2},
    {"good", MODEL, "LAW", 0, "Lengths of good runs: " LAW_HINT, 2},
    {"bad", MODEL + 1, "LAW", 0, "Lengths of bad runs", 2},
    {NULL, 0, NULL, 0, "Models without memory or with two states:", 3},
    {"gilbert", MODEL + 2, "GOOD,BAD[,LOSS_GOOD,LOSS_BAD]", 0,
     "Gilbert-Elliott: mean times in the two states, and how likely a step is bad in each (0, 1)",
     3},
    {"independent", MODEL + 3, "P", 0, "Each step is bad with probability P", 3},
    {NULL, 0, NULL, 0, "Optical link:", 4},
    {"scintillation", MODEL + 4, "LAW", 0, "lognormal or gamma-gamma", 4},
    {"index", MODEL + 5, "X", 0, "Scintillation index (default: by the elevation)", 4},
    {"coherence", MODEL + 6, "DURATION", 0, "Coherence time of the scintillation (default 5ms)", 4},
    {"elevation", MODEL + 7, "DEG|T:DEG,...", 0, "Elevation, fixed or along a pass", 4},
    {"profile", MODEL + 29, "hv:WIND,GROUND|H:C,H:C,...", 0,
     "Turbulence over the height: hv57 (default), slc-day, slc-night, Hufnagel and Valley "
     "(hv:21m/s,1.7e-14), or a table",
     4},
    {"fried", MODEL + 30, "M", 0, "Scales it to that Fried's parameter in the zenith", 4},
    {"fibre", MODEL + 31, "N", 0,
     "Receive by a single-mode fibre, behind adaptive optics that correct N Zernike modes "
     "(1: none, 3: tilt)",
     4},
    {"wavelength", MODEL + 8, "NM", 0, "Default 1550nm", 4},
    {"aperture", MODEL + 9, "M", 0, "Diameter of the receiver's telescope (default 0m: a point)",
     4},
    {"altitude", MODEL + 10, "KM", 0, "Of the satellite, for its distance (default 550km)", 4},
    {"jitter", MODEL + 11, "X", 0,
     "Pointing jitter: deviation per axis / half-width of the beam at 1/e^2 (default 0)", 4},
    {"jitter-coherence", MODEL + 12, "DURATION", 0, "Its coherence time (default 20ms)", 4},
    {"wind", MODEL + 17, "M/S", 0,
     "Coherence time by Bufton's wind with so much near the ground, and the slew", 4},
    {"slew", MODEL + 18, "orbit|DEG/S", 0, "Of the telescope (default orbit: by the altitude)", 4},
    {"spectrum", MODEL + 19, "point|aperture|steep", 0,
     "It falls with -8/3, -17/3, or -6 (default)", 4},
    {"inner", MODEL + 26, "DURATION", 0,
     "Of the spectrum point: its inner scale over the wind across the line of sight", 4},
    {"scales", MODEL + 20, "one|two", 0,
     "two: large and small eddies with coherence times of their own (default one)", 4},
    {"bias", MODEL + 21, "X", 0, "Constant pointing error / half-width of the beam (default 0)", 4},
    {"uplink", MODEL + 22, "M", 0, "Upwards, by a beam of this radius at 1/e^2: it wanders", 4},
    {"residual", MODEL + 23, "X", 0,
     "Upwards: share of index and wander that adaptive optics leave (default 1)", 4},
    {"extinction", MODEL + 24, "DB", 0, "Of clear air in the zenith; more below (default 0dB)", 4},
    {"cloud", MODEL + 25, "SHARE,DURATION", 0,
     "Clouds that block: share of the sky, seen in the zenith, and mean duration", 4},
    {"return", MODEL + 27, "R[,LAG]", 0,
     "The other direction of the link that the same options without this one make: correlated by R "
     "(0: independent), LAG later (-LAG: sooner; default 0)",
     4},
    {NULL, 0, NULL, 0, "Receiver of the optical link:", 5},
    {"margin", MODEL + 13, "DB", 0, "Mean power over the sensitivity (default 3dB)", 5},
    {"fec", MODEL + 14, "DB", 0, "Gain of the code (default 0dB)", 5},
    {"interleaver", MODEL + 15, "DURATION", 0, "Its depth (default 0)", 5},
    {"block", MODEL + 28, "DURATION,SHARE", 0,
     "Instead: blocks over which codewords are spread, and the share of its symbols that a code "
     "corrects",
     5},
    {"reacquire", MODEL + 16, "DURATION", 0, "Time to find the signal again (default 0)", 5},
    {"power", POWER, "FILE", 0, "Write the power of each step, too (CSV)", 5},
    {NULL, 0, NULL, 0, "All models:", 6},
    {"steps", 'n', "N", 0, "Length in steps (default 1000000)", 6},
    {"duration", DURATION, "DURATION", 0, "Length in time, instead of --steps", 6},
    {"seed", 's', "N", 0, "Seed of the random numbers (default: the preset's own, else 1)", 6},
    {"step", 't', "DURATION", 0, "Duration of a step (default 0.1ms)", 6},
    {"output", 'o', "FILE", 0, "Where to; compact for .htr (default -: text)", 6},
    {0}};

static void set_spec(struct argp_state *state, struct options *o, int key, const char *arg)
{
    char error[GEN_ERROR_MAX];
    for (const struct argp_option *p = gen_options; p->name != NULL || p->doc != NULL; p++) {
        if (p->name == NULL || p->key != key)
            continue;
        if (gen_spec_set(&o->spec, p->name, arg, error) < 0)
            argp_error(state, "%s", error);
        return;
    }
}

static void read_duration(struct argp_state *state, const char *arg, tick *out)
{
    if (units_duration(arg, out) < 0 || *out == 0)
        argp_error(state, "--duration '%s' is wrong; right is %s", arg, units_duration_hint);
}

static void finish_options(struct argp_state *state, struct options *o)
{
    char error[GEN_ERROR_MAX];
    if (gen_spec_check(&o->spec, o->step, error) < 0)
        argp_error(state, "%s", error);
    if (o->power != NULL && o->spec.model != GEN_OPTICAL)
        argp_error(state, "--power needs an optical link");
    if (o->duration == 0)
        return;
    o->steps = o->duration / o->step;
    if (o->steps == 0)
        argp_error(state, "--duration is shorter than a step");
}

static void set_preset(struct argp_state *state, struct options *o, const char *arg)
{
    set_spec(state, o, 'p', arg);
    const struct gen_preset *preset = gen_preset_find(arg);
    if (!o->seeded && preset != NULL)
        o->seed = preset->seed;
}

static error_t gen_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'p':
        set_preset(state, o, arg);
        return 0;
    case 'n':
        o->steps = trace_option_count(state, "--steps", arg, 1);
        return 0;
    case DURATION:
        read_duration(state, arg, &o->duration);
        return 0;
    case 's':
        o->seed = trace_option_count(state, "--seed", arg, 0);
        o->seeded = true;
        return 0;
    case 't':
        o->step = trace_option_step(state, arg);
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case POWER:
        o->power = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is one argument too many; the file goes after -o", arg);
        return 0;
    case ARGP_KEY_END:
        finish_options(state, o);
        return 0;
    default:
        if (key < MODEL || key >= DURATION)
            return ARGP_ERR_UNKNOWN;
        set_spec(state, o, key, arg);
        return 0;
    }
}

static const struct argp gen_argp = {
    .options = gen_options,
    .parser = gen_option,
    .doc =
        "Makes a synthetic erasure trace: of a preset, of runs with given distributions, of a "
        "two-state or memoryless model, or of an optical link and its receiver. The same options "
        "and seed give the same bytes.\vExamples:\n"
        "  helio-trace gen --preset A --seed 7 -o A7.htr\n"
        "  helio-trace gen --good exponential:20ms --bad lognormal:2ms,3ms -o x.htr\n"
        "  helio-trace gen --gilbert 18ms,1ms --duration 60s -o x.csv\n"
        "  helio-trace gen --scintillation gamma-gamma --elevation 12 --aperture 0.2m \\\n"
        "      --coherence 3ms --margin 4dB --fec 2dB --interleaver 1ms -o x.htr"};

/* The same seed and options draw the same powers as those behind the trace. */
static int write_power(const struct options *o, char *error)
{
    struct fade_direction d;
    FILE *file = fopen(o->power, "w");
    bool ok = file != NULL;
    errno = ok ? 0 : errno;
    fade_direction_init(&d, &o->spec.fade, o->step, o->steps, o->seed);
    if (ok)
        ok = fprintf(file,
                     "power\n# synthetic: helio-trace gen %s --seed %" PRIu64 " --steps %" PRIu64
                     " --step %" PRIu64 "ns\n",
                     o->spec.parameters, o->seed, o->steps, o->step) > 0;
    for (uint64_t i = 0; ok && i < o->steps; i++)
        ok = fprintf(file, "%.15e\n", fade_direction_next(&d)) > 0;
    if (file != NULL && fclose(file) != 0)
        ok = false;
    if (!ok)
        snprintf(error, TRACE_FILE_ERROR_MAX, "%s: cannot be written: %s", o->power,
                 strerror(errno));
    return ok ? 0 : HELIO_EIO;
}

static int generate_trace(const struct options *o)
{
    char error[TRACE_FILE_ERROR_MAX];
    struct trace_about about;
    struct trace t;
    trace_init(&t, o->step);
    gen_about(&about, &o->spec, o->seed);
    int rc = gen_trace(&t, &o->spec, o->steps, o->seed);
    if (rc < 0)
        snprintf(error, sizeof error, "cannot make the trace: %s", helio_strerror(rc));
    if (rc == 0 && o->power != NULL)
        rc = write_power(o, error);
    if (rc == 0)
        rc = trace_file_write(&t, &about, trace_file_form(o->output), o->output, error);
    trace_fini(&t);
    return rc < 0 ? trace_command_fail(rc, error) : 0;
}

int trace_command_gen(int argc, char **argv)
{
    struct options o = {
        .steps = GEN_STEPS_DEFAULT, .step = TRACE_STEP_DEFAULT, .seed = 1, .output = "-"};
    gen_spec_init(&o.spec);
    argument_parse(&gen_argp, argc, argv, 0, &o);
    return generate_trace(&o);
}
