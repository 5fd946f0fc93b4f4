/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-trace sites: clouds over several ground stations, a trace for each and one for all: bad
 * when no station has a clear sky. What can go wrong: options, memory, files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_sites.h"
#include "channel-emu/chan/fading/chan_law.h"
#include "channel-emu/trace/trace_command.h"
#include "os/arguments.h"

#define STEPS_MAX UINT64_C(1000000000)
#define CLOUDS_MAX 1000 /* of the mean length in a step: what is drawn takes time, too */
#define DRAWS_MAX 1e9   /* of normal numbers, in all: minutes */
#define PREFIX_MAX 4000 /* characters */

struct options {
    struct sites_spec spec;
    tick cloud, duration, step;
    uint64_t seed;
    const char *output;
};

static void set_cloud(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct options *o = base;
    const char *comma = strchr(arg, ',');
    size_t n = comma == NULL ? 0 : (size_t)(comma - arg);
    if (law_number(arg, n, &o->spec.share) < 0 || o->spec.share < 0.001 || o->spec.share > 0.999)
        argument_want(state, arg,
                      "SHARE,DURATION with a share from 0.001 to 0.999, such as 0.4,30min");
    o->cloud = argument_number(state, row, comma + 1);
    o->spec.duration = (double)o->cloud;
}

static void set_correlation(struct argp_state *state, const struct argument *row, char *arg,
                            void *base)
{
    double *correlation = argument_field(row, base);
    if (law_number(arg, strlen(arg), correlation) < 0 || *correlation > 0.99)
        argument_want(state, arg, "a number from 0 to 0.99, such as 0.3");
}

static void set_prefix(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    if (strlen(arg) > PREFIX_MAX)
        argp_error(state, "-o is longer than %d characters; write a shorter prefix", PREFIX_MAX);
    argument_set_value(state, row, arg, base);
}

/* Numbers that have to be drawn, on average. */
static double count_draws(const struct options *o)
{
    return sites_rate(&o->spec) * (double)(o->spec.count + 1) * (double)o->duration;
}

static void check_options(struct argp_state *state, void *base)
{
    const struct options *o = base;
    if (o->cloud == 0)
        argp_error(state, "--cloud SHARE,DURATION is missing, such as 0.4,30min");
    else if (o->output == NULL)
        argp_error(state, "the names of the files are missing; write -o PREFIX");
    else if (o->duration / o->step == 0 || o->duration / o->step > STEPS_MAX)
        argp_error(state, "--duration has to be 1 to 10^9 steps");
    else if (o->cloud < o->step / CLOUDS_MAX)
        argp_error(state, "--cloud: the mean duration is below a thousandth of --step; write %s",
                   "a longer one, or shorter steps");
    else if (count_draws(o) > DRAWS_MAX)
        argp_error(state,
                   "--cloud: this share and duration need %.2g random numbers for --duration, "
                   "which is more than 10^9; write longer clouds, or a shorter --duration",
                   count_draws(o));
}

static void refuse_word(struct argp_state *state, char *arg, void *base)
{
    (void)base;
    argp_error(state, "'%s' is one argument too many; the files' names go after -o", arg);
}

#define FIELD(member) ARGUMENT_FIELD(struct options, member)

static const struct argument sites_options[] = {
    {"sites", 0, "N", .help = "How many stations, 1 to 16 (default 3)", .type = OPTION_COUNT,
     .min = 1, .max = SITES_MAX, FIELD(spec.count)},
    {"cloud", 0, "SHARE,DURATION",
     .help = "Share of the time that each is covered, and mean duration of a cloud",
     .type = OPTION_DURATION, .min = 1, .own = set_cloud},
    {"correlation", 0, "R",
     .help = "Of the stations' skies, 0 to 0.99 (default 0: they know nothing of each other)",
     .own = set_correlation, FIELD(spec.correlation)},
    {"duration", 0, "DURATION", .help = "Length (default 30d)", .type = OPTION_DURATION, .min = 1,
     FIELD(duration)},
    {"step", 't', "DURATION", .help = "Duration of a step (default 1s)", TRACE_STEP(step)},
    {"seed", 's', "N", .help = "Seed of the random numbers (default 1)", .type = OPTION_COUNT,
     FIELD(seed)},
    {"output", 'o', "PREFIX", .help = "Makes PREFIX-1.htr, PREFIX-2.htr ... and PREFIX-any.htr",
     .own = set_prefix, FIELD(output)},
    {0}};

static const struct argument_table sites_table = {
    .options = sites_options,
    .word = refuse_word,
    .end = check_options,
    .doc = "Makes synthetic traces of clouds over several ground stations: one for each, bad while "
           "it is covered, and one of all, bad while none is clear. Prints how available they "
           "are, and how available they should be.\vExample:\n"
           "  helio-trace sites --sites 3 --cloud 0.4,30min --correlation 0.3 -o night"};

static int generate_traces(struct trace *t, const struct options *o, uint64_t *bad)
{
    struct sites s;
    size_t n = o->spec.count;
    sites_init(&s, &o->spec, o->seed);
    for (uint64_t i = 0; i < o->duration / o->step; i++) {
        bool all = true;
        sites_advance(&s, (double)i * (double)o->step);
        for (size_t k = 0; k <= n; k++) {
            bool covered = k < n ? s.covered[k] : all;
            int rc = trace_add(&t[k], covered, 1);
            if (rc < 0)
                return rc;
            all = all && covered;
            bad[k] += covered;
        }
    }
    return 0;
}

static int write_traces(const struct trace *t, const struct options *o, char *error)
{
    struct trace_about about = {.generator = "sites", .seeded = true, .seed = o->seed};
    char path[4096];
    int rc = 0;
    for (size_t k = 0; k <= o->spec.count && rc == 0; k++) {
        char which[24] = "any";
        if (k < o->spec.count)
            snprintf(which, sizeof which, "%zu", k + 1);
        snprintf(about.parameters, sizeof about.parameters,
                 "--sites %zu --cloud %.6g,%.9gs --correlation %.6g (%s%s)", o->spec.count,
                 o->spec.share, o->spec.duration / 1e9, o->spec.correlation,
                 k < o->spec.count ? "site " : "", which);
        snprintf(path, sizeof path, "%.4000s-%s.htr", o->output, which);
        rc = trace_file_write(&t[k], &about, TRACE_COMPACT, path, error);
    }
    return rc;
}

static void say_shares(const struct options *o, const uint64_t *bad)
{
    const uint64_t whole = o->duration / o->step;
    const double steps = (double)whole;
    size_t n = o->spec.count;
    for (size_t k = 0; k < n; k++)
        printf("site %zu: available %.6f, should be %.6f\n", k + 1, 1 - (double)bad[k] / steps,
               1 - o->spec.share);
    printf("any of %zu: available %.6f, should be %.6f (%.6f if they were independent)\n", n,
           1 - (double)bad[n] / steps, 1 - sites_all_covered(&o->spec, n),
           1 - sites_all_covered(&(struct sites_spec){.count = n, .share = o->spec.share}, n));
    if (n > 1)
        printf("correlation of two stations' states: should be %.6f\n",
               sites_state_correlation(&o->spec));
}

int trace_command_sites(int argc, char **argv)
{
    struct options o = {
        .spec = {.count = 3}, .duration = 30 * 86400 * TICK_S, .step = TICK_S, .seed = 1};
    struct trace t[SITES_MAX + 1];
    uint64_t bad[SITES_MAX + 1] = {0};
    char error[TRACE_FILE_ERROR_MAX] = "";
    argument_table_parse(&sites_table, argc, argv, &o);
    for (size_t k = 0; k <= o.spec.count; k++)
        trace_init(&t[k], o.step);
    int rc = generate_traces(t, &o, bad);
    if (rc < 0)
        snprintf(error, sizeof error, "cannot make the traces: %s", helio_strerror(rc));
    else
        rc = write_traces(t, &o, error);
    for (size_t k = 0; k <= o.spec.count; k++)
        trace_fini(&t[k]);
    if (rc == 0)
        say_shares(&o, bad);
    return rc < 0 ? trace_command_fail(rc, error) : 0;
}
