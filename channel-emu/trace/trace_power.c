/* SPDX-License-Identifier: Apache-2.0 */
/* helio-trace from-power: received powers through a receiver into an erasure trace. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "channel-emu/chan/fading/chan_powers.h"
#include "channel-emu/trace/trace_command.h"
#include "channel-emu/trace/trace_mat.h"
#include "os/arguments.h"

/* Of the powers in the file. What is linear has no name: of the mean, of a full scale, … */
enum unit { UNIT_LINEAR, UNIT_DB, UNIT_DBM, UNIT_MW, UNIT_W };

static const struct {
    const char *name, *example;
    bool decibels;
    double milliwatts; /* of 1 of it when linear; 0: nobody knows */
} units[] = {[UNIT_LINEAR] = {"linear", "0.4", false, 0},
             [UNIT_DB] = {"dB", "-3dB", true, 0},
             [UNIT_DBM] = {"dBm", "-33dBm", true, 1},
             [UNIT_MW] = {"mW", "0.0005mW", false, 1},
             [UNIT_W] = {"W", "5e-7W", false, 1000}};

struct options {
    const char *input, *output, *column, *variable;
    bool has_margin;
    enum unit unit;
    const char *sensitivity_text; /* NULL: not given */
    double sensitivity;           /* linear, in the unit of the file */
    tick step, wanted;            /* of the samples, and of the trace */
    struct gen_spec spec;         /* its receiver and their texts are used */
};

/* An option of gen's receiver, which has the row's name there. */
static void set_receiver(struct argp_state *state, const struct argument *row, char *arg,
                         void *base)
{
    struct options *o = base;
    char error[GEN_ERROR_MAX];
    if (gen_spec_set(&o->spec, row->name, arg, error) < 0)
        argument_wrong(state, "%s", error);
}

static void set_margin(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    const struct argument margin = {.name = "margin"};
    struct options *o = base;
    (void)row;
    o->has_margin = true;
    set_receiver(state, &margin, arg, base);
}

static void refuse_margin(struct argp_state *state, const struct argument *row, char *arg,
                          void *base)
{
    (void)row;
    (void)arg;
    (void)base;
    argp_error(state, "--margin is that of 'helio-trace gen', before pointing loss; the mean of a "
                      "file has that loss in it: write --mean-margin");
}

/* Which unit a number is in by what stands behind it. False: none that is known. */
static bool find_unit(const char *behind, enum unit *out)
{
    *out = UNIT_LINEAR;
    for (enum unit u = UNIT_DB; *behind != '\0' && u <= UNIT_W; u++) {
        if (strcmp(behind, units[u].name) == 0)
            *out = u;
    }
    return *behind == '\0' || *out != UNIT_LINEAR;
}

/* The sensitivity in the unit of the file, linear. A number without a unit is one only where the
 * powers have none either: 3 beside powers in dB can be meant both ways. */
static bool read_sensitivity(const char *text, enum unit file, double *out)
{
    char *end;
    enum unit u;
    double v = strtod(text, &end);
    if (end == text || !find_unit(end, &u) || !(fabs(v) <= 1e300))
        return false;
    bool known = units[u].milliwatts > 0, comparable = known == (units[file].milliwatts > 0);
    if (!comparable || (u == UNIT_LINEAR && file != UNIT_LINEAR))
        return false;
    if (units[u].decibels)
        v = fabs(v) <= 300 ? pow(10, v / 10) : 0;
    *out = known ? v * units[u].milliwatts / units[file].milliwatts : v;
    return *out > 0;
}

static void finish_sensitivity(struct argp_state *state, struct options *o)
{
    if (!read_sensitivity(o->sensitivity_text, o->unit, &o->sensitivity))
        argp_error(state,
                   "--sensitivity: \"%s\" is not understood; write a power above 0 with its unit, "
                   "such as %s where the file is --unit %s",
                   o->sensitivity_text, units[o->unit].example, units[o->unit].name);
}

static void finish_options(struct argp_state *state, void *base)
{
    struct options *o = base;
    if (o->wanted == 0)
        o->wanted = o->step;
    if (o->input == NULL)
        argp_error(state, "FILE is missing; write 'helio-trace from-power FILE -o OUT'");
    else if (o->has_margin == (o->sensitivity_text != NULL))
        argp_error(state, "say either --mean-margin or --sensitivity");
    else if (receiver_fault(&o->spec.receiver, o->wanted) != NULL)
        argp_error(state, "%s", receiver_fault(&o->spec.receiver, o->wanted));
    else if (o->sensitivity_text != NULL)
        finish_sensitivity(state, o);
}

static void take_file(struct argp_state *state, char *arg, void *base)
{
    struct options *o = base;
    if (o->input != NULL)
        argp_error(state, "'%s' is one file too many; one at a time", arg);
    o->input = arg;
}

#define FIELD(member) ARGUMENT_FIELD(struct options, member)

static const struct argument power_options[] = {
    {"mean-margin", 0, "DB",
     .help = "Mean power of the file, losses included, over the receiver's sensitivity",
     .own = set_margin},
    {"margin", 0, "DB", OPTION_HIDDEN, .own = refuse_margin},
    {"sensitivity", 0, "POWER",
     .help = "Instead: the sensitivity itself, with its unit where the file has one (-33dBm)",
     FIELD(sensitivity_text)},
    {"fec", 0, "DB", .help = "Gain of the code (default 0dB)", .own = set_receiver},
    {"interleaver", 0, "DURATION", .help = "Its depth (default 0)", .own = set_receiver},
    {"block", 0, "DURATION,SHARE",
     .help = "Instead: blocks over which codewords are spread, and the share of its symbols that a "
             "code corrects",
     .own = set_receiver},
    {"reacquire", 0, "DURATION", .help = "Time to find the signal again (default 0)",
     .own = set_receiver},
    {"unit", 0, "linear|dB|dBm|mW|W", .help = "Of the powers in the file (default linear)",
     .type = OPTION_CHOICE, .choices = "linear|dB|dBm|mW|W", FIELD(unit)},
    {"column", 0, "NUMBER|TITLE",
     .help = "Which column of a CSV, or of a matrix (default: the only one)", FIELD(column)},
    {"variable", 0, "NAME",
     .help = "Which variable of a .mat, or field of a struct: run.power (default: the only vector)",
     FIELD(variable)},
    {"step", 't', "DURATION", .help = "Time between two samples (default 0.1ms)", TRACE_STEP(step)},
    {"resample", 0, "DURATION",
     .help = "Step of the trace, where the samples have another: linear between them, and the mean "
             "over each step",
     TRACE_STEP(wanted)},
    {"output", 'o', "FILE", .help = "Where to; compact for .htr (default -: text)", FIELD(output)},
    {0}};

static const struct argument_table power_table = {
    .options = power_options,
    .word = take_file,
    .end = finish_options,
    .args_doc = "FILE",
    .doc =
        "Makes an erasure trace of received powers in a CSV or a Matlab file (found out from the "
        "content) and a receiver.\vExamples:\n"
        "  helio-trace from-power leo.mat --mean-margin 4dB --fec 2dB \\\n"
        "      --interleaver 5ms -o leo.htr\n"
        "  helio-trace from-power power.csv --column rx --unit dBm \\\n"
        "      --sensitivity -33dBm -o x.htr"};

static int read_powers(struct powers *p, const struct options *o, char *error)
{
    int version = trace_mat_version(o->input);
    if (version == 0)
        return trace_powers_read(p, o->input, o->column, units[o->unit].decibels, error);
    const struct trace_mat_place place = {
        .variable = o->variable, .column = o->column, .decibels = units[o->unit].decibels};
    return trace_mat_read(p, o->input, &place, error);
}

/* The receiver's table calls it as gen does. */
static void tell_parameters(const struct options *o, char *out, size_t cap)
{
    const char *all = o->spec.parameters, *margin = strstr(all, "--margin");
    if (margin == NULL)
        snprintf(out, cap, "%s", all);
    else
        snprintf(out, cap, "%.*s--mean-%s", (int)(margin - all), all, margin + 2);
}

static int resample_powers(const struct options *o, struct powers *p, char *error)
{
    struct powers other;
    if (o->wanted == o->step)
        return 0;
    int rc = powers_resample(p, o->step, o->wanted, &other);
    if (rc < 0) {
        snprintf(error, TRACE_FILE_ERROR_MAX, "%s: --resample: %s", o->input,
                 rc == HELIO_EINVAL ? "write from one step to 2^28 steps, in 13 days of samples"
                                    : helio_strerror(rc));
        return rc;
    }
    powers_fini(p);
    *p = other;
    return 0;
}

static int convert_powers(const struct options *o, struct powers *p, struct trace *t, char *error)
{
    struct trace_about about = {.generator = "power"};
    const struct receiver_config *c = &o->spec.receiver;
    bool absolute = o->sensitivity_text != NULL;
    struct receiver_config only_fec = {.fec_db = c->fec_db};
    double mean;
    int rc = trace_powers_mean(p, o->input, &mean, error);
    if (rc == 0)
        rc = resample_powers(o, p, error);
    if (rc < 0)
        return rc;
    double reference = absolute ? o->sensitivity : mean;
    double threshold = reference * receiver_threshold(absolute ? &only_fec : c);
    rc = receiver_trace(t, c, threshold, p->value, p->len);
    if (rc < 0) {
        snprintf(error, TRACE_FILE_ERROR_MAX, "cannot make the trace: %s", helio_strerror(rc));
        return rc;
    }
    tell_parameters(o, about.parameters, sizeof about.parameters);
    if (absolute)
        snprintf(about.parameters, sizeof about.parameters, "--sensitivity %.80s%s%.400s",
                 o->sensitivity_text, o->spec.parameters[0] == '\0' ? "" : " ", o->spec.parameters);
    return trace_file_write(t, &about, trace_file_form(o->output), o->output, error);
}

int trace_command_power(int argc, char **argv)
{
    struct options o = {.step = TRACE_STEP_DEFAULT, .output = "-"};
    struct powers p = {0};
    struct trace t;
    char error[TRACE_FILE_ERROR_MAX];
    gen_spec_init(&o.spec);
    argument_table_parse(&power_table, argc, argv, &o);
    trace_init(&t, o.wanted);
    int rc = read_powers(&p, &o, error);
    if (rc == 0)
        rc = convert_powers(&o, &p, &t, error);
    trace_fini(&t);
    powers_fini(&p);
    return rc < 0 ? trace_command_fail(rc, error) : 0;
}
