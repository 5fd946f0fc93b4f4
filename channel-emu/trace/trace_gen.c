/* SPDX-License-Identifier: Apache-2.0 */
/* helio-trace gen: a synthetic trace into a file. The options of the models go to the specification
 * (chan_gen.h) as they are. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "channel-emu/trace/trace_command.h"
#include "os/arguments.h"

struct options {
    struct gen_spec spec;
    uint64_t steps, seed;
    bool seeded;
    tick step, duration;
    const char *output, *power;
};

static void set_spec(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct options *o = base;
    char error[GEN_ERROR_MAX];
    if (gen_spec_set(&o->spec, row->name, arg, error) < 0)
        argument_wrong(state, "%s", error);
}

static void finish_options(struct argp_state *state, void *base)
{
    struct options *o = base;
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

static void set_preset(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct options *o = base;
    set_spec(state, row, arg, base);
    const struct gen_preset *preset = gen_preset_find(arg);
    if (!o->seeded && preset != NULL)
        o->seed = preset->seed;
}

static void set_seed(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    ((struct options *)base)->seeded = true;
    argument_set_value(state, row, arg, base);
}

static void refuse_word(struct argp_state *state, char *arg, void *base)
{
    (void)base;
    argp_error(state, "'%s' is one argument too many; the file goes after -o", arg);
}

#define FIELD(member) ARGUMENT_FIELD(struct options, member)

static const struct argument gen_options[] = {
    {NULL, .help = "Presets:", .group = 1},
    {"preset", 'p', "NAME",
     .help = "A, F, H or jpl-47km (published statistics), leo-low or leo-high (physical examples)",
     .group = 1, .own = set_preset},
    {NULL, .help = "Runs of good and bad time in turns:", .group = 2},
    {"good", 0, "LAW", .help = "Lengths of good runs: " LAW_HINT, .group = 2, .own = set_spec},
    {"bad", 0, "LAW", .help = "Lengths of bad runs", .group = 2, .own = set_spec},
    {NULL, .help = "Models without memory or with two states:", .group = 3},
    {"gilbert", 0, "GOOD,BAD[,LOSS_GOOD,LOSS_BAD]",
     .help = "Gilbert-Elliott: mean times in the two states, and how likely a step is bad in each "
             "(0, 1)",
     .group = 3, .own = set_spec},
    {"independent", 0, "P", .help = "Each step is bad with probability P", .group = 3,
     .own = set_spec},
    {NULL, .help = "Optical link:", .group = 4},
    {"scintillation", 0, "LAW", .help = "lognormal or gamma-gamma", .group = 4, .own = set_spec},
    {"index", 0, "X", .help = "Scintillation index (default: by the elevation)", .group = 4,
     .own = set_spec},
    {"coherence", 0, "DURATION", .help = "Coherence time of the scintillation (default 5ms)",
     .group = 4, .own = set_spec},
    {"elevation", 0, "DEG|T:DEG,...", .help = "Elevation, fixed or along a pass", .group = 4,
     .own = set_spec},
    {"profile", 0, "hv:WIND,GROUND|H:C,H:C,...",
     .help = "Turbulence over the height: hv57 (default), slc-day, slc-night, Hufnagel and Valley "
             "(hv:21m/s,1.7e-14), or a table",
     .group = 4, .own = set_spec},
    {"fried", 0, "M", .help = "Scales it to that Fried's parameter in the zenith", .group = 4,
     .own = set_spec},
    {"fibre", 0, "N",
     .help = "Receive by a single-mode fibre, behind adaptive optics that correct N Zernike modes "
             "(1: none, 3: tilt)",
     .group = 4, .own = set_spec},
    {"wavelength", 0, "NM", .help = "Default 1550nm", .group = 4, .own = set_spec},
    {"aperture", 0, "M", .help = "Diameter of the receiver's telescope (default 0m: a point)",
     .group = 4, .own = set_spec},
    {"altitude", 0, "KM", .help = "Of the satellite, for its distance (default 550km)", .group = 4,
     .own = set_spec},
    {"jitter", 0, "X",
     .help = "Pointing jitter: deviation per axis / half-width of the beam at 1/e^2 (default 0)",
     .group = 4, .own = set_spec},
    {"jitter-coherence", 0, "DURATION", .help = "Its coherence time (default 20ms)", .group = 4,
     .own = set_spec},
    {"wind", 0, "M/S",
     .help = "Coherence time by Bufton's wind with so much near the ground, and the slew",
     .group = 4, .own = set_spec},
    {"slew", 0, "orbit|DEG/S", .help = "Of the telescope (default orbit: by the altitude)",
     .group = 4, .own = set_spec},
    {"spectrum", 0, "point|aperture|steep", .help = "It falls with -8/3, -17/3, or -6 (default)",
     .group = 4, .own = set_spec},
    {"inner", 0, "DURATION",
     .help = "Of the spectrum point: its inner scale over the wind across the line of sight",
     .group = 4, .own = set_spec},
    {"scales", 0, "one|two",
     .help = "two: large and small eddies with coherence times of their own (default one)",
     .group = 4, .own = set_spec},
    {"bias", 0, "X", .help = "Constant pointing error / half-width of the beam (default 0)",
     .group = 4, .own = set_spec},
    {"uplink", 0, "M", .help = "Upwards, by a beam of this radius at 1/e^2: it wanders", .group = 4,
     .own = set_spec},
    {"residual", 0, "X",
     .help = "Upwards: share of index and wander that adaptive optics leave (default 1)",
     .group = 4, .own = set_spec},
    {"extinction", 0, "DB", .help = "Of clear air in the zenith; more below (default 0dB)",
     .group = 4, .own = set_spec},
    {"cloud", 0, "SHARE,DURATION",
     .help = "Clouds that block: share of the sky, seen in the zenith, and mean duration",
     .group = 4, .own = set_spec},
    {"return", 0, "R[,LAG]",
     .help = "The other direction of the link that the same options without this one make: "
             "correlated by R (0: independent), LAG later (-LAG: sooner; default 0)",
     .group = 4, .own = set_spec},
    {NULL, .help = "Receiver of the optical link:", .group = 5},
    {"margin", 0, "DB", .help = "Mean power over the sensitivity (default 3dB)", .group = 5,
     .own = set_spec},
    {"fec", 0, "DB", .help = "Gain of the code (default 0dB)", .group = 5, .own = set_spec},
    {"interleaver", 0, "DURATION", .help = "Its depth (default 0)", .group = 5, .own = set_spec},
    {"block", 0, "DURATION,SHARE",
     .help = "Instead: blocks over which codewords are spread, and the share of its symbols that a "
             "code corrects",
     .group = 5, .own = set_spec},
    {"reacquire", 0, "DURATION", .help = "Time to find the signal again (default 0)", .group = 5,
     .own = set_spec},
    {"power", 0, "FILE", .help = "Write the power of each step, too (CSV)", .group = 5,
     FIELD(power)},
    {NULL, .help = "All models:", .group = 6},
    {"steps", 'n', "N", .help = "Length in steps (default 1000000)", .group = 6,
     .type = OPTION_COUNT, .min = 1, FIELD(steps)},
    {"duration", 0, "DURATION", .help = "Length in time, instead of --steps", .group = 6,
     .type = OPTION_DURATION, .min = 1, FIELD(duration)},
    {"seed", 's', "N", .help = "Seed of the random numbers (default: the preset's own, else 1)",
     .group = 6, .type = OPTION_COUNT, .own = set_seed, FIELD(seed)},
    {"step", 't', "DURATION", .help = "Duration of a step (default 0.1ms)", .group = 6,
     TRACE_STEP(step)},
    {"output", 'o', "FILE", .help = "Where to; compact for .htr (default -: text)", .group = 6,
     FIELD(output)},
    {0}};

static const struct argument_table gen_table = {
    .options = gen_options,
    .word = refuse_word,
    .end = finish_options,
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
    argument_table_parse(&gen_table, argc, argv, &o);
    return generate_trace(&o);
}
