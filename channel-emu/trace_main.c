/* SPDX-License-Identifier: Apache-2.0 */
/* helio-trace: makes synthetic erasure traces, and describes traces. The sub-command is the first
 * argument and has its own options. Exit codes: 0 done, 1 failed, 2 usage. */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "channel-emu/chan_gen.h"
#include "channel-emu/chan_stats.h"
#include "channel-emu/chan_text.h"
#include "channel-emu/trace_file.h"

const char *argp_program_version = "helio-trace " HELIO_VERSION;

struct options {
    const struct gen_preset *preset;
    uint64_t steps, seed;
    bool seeded;
    tick step;
    const char *output, *input;
    bool json;
};

static tick read_step(struct argp_state *state, const char *arg)
{
    tick step = 0;
    if (units_duration(arg, &step) < 0 || step == 0 || step > 3600 * TICK_S)
        argp_error(state, "--step '%s' is wrong; right is %s", arg, units_duration_hint);
    return step;
}

static uint64_t read_count(struct argp_state *state, const char *name, const char *arg,
                           uint64_t min)
{
    uint64_t n = 0;
    if (units_count(arg, UINT64_MAX, &n) < 0 || n < min)
        argp_error(state, "%s '%s' is wrong; right is a whole number from %" PRIu64, name, arg,
                   min);
    return n;
}

static error_t gen_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'p':
        o->preset = gen_preset_find(arg);
        if (o->preset == NULL)
            argp_error(state, "--preset '%s' is unknown; right is A, F or H", arg);
        return 0;
    case 'n':
        o->steps = read_count(state, "--steps", arg, 1);
        return 0;
    case 's':
        o->seed = read_count(state, "--seed", arg, 0);
        o->seeded = true;
        return 0;
    case 't':
        o->step = read_step(state, arg);
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is one argument too many; the file goes after -o", arg);
        return 0;
    case ARGP_KEY_END:
        if (o->preset == NULL)
            argp_error(state, "--preset is missing; right is A, F or H");
        else if (!o->seeded)
            o->seed = o->preset->seed;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t info_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'j':
        o->json = true;
        return 0;
    case 't':
        o->step = read_step(state, arg);
        return 0;
    case ARGP_KEY_ARG:
        if (o->input != NULL)
            argp_error(state, "'%s' is one file too many; one at a time", arg);
        o->input = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->input == NULL)
            argp_error(state,
                       "the trace is missing; right is 'helio-trace info FILE', or A, F or H");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp gen_argp = {
    .options =
        (const struct argp_option[]){
            {"preset", 'p', "A|F|H", 0, "Which published statistics to meet", 0},
            {"steps", 'n', "N", 0, "Length in steps (default 1000000)", 0},
            {"seed", 's', "N", 0, "Seed of the random numbers (default: the preset's own)", 0},
            {"step", 't', "DURATION", 0, "Duration of a step (default 0.1ms)", 0},
            {"output", 'o', "FILE", 0, "Where to; compressed if it ends in .gz (default -)", 0},
            {0}},
    .parser = gen_option,
    .doc = "Makes a synthetic erasure trace.\vExample:\n"
           "  helio-trace gen --preset A --steps 1000000 -o A.txt.gz"};

static const struct argp info_argp = {
    .options = (const struct argp_option[]){{"json", 'j', NULL, 0, "Print JSON", 0},
                                            {"step", 't', "DURATION", 0,
                                             "Duration of a step, whatever the file says", 0},
                                            {0}},
    .parser = info_option,
    .args_doc = "FILE|A|F|H",
    .doc = "Prints the statistics of a trace: a file (text, plain or compressed with gzip), or A, "
           "F or "
           "H.\vExamples:\n"
           "  helio-trace info traces/A.txt.gz\n"
           "  helio-trace info F --json"};

static int generate(const struct options *o)
{
    char comment[160], error[TRACE_FILE_ERROR_MAX];
    struct trace t;
    trace_init(&t, o->step);
    int rc = gen_trace(&t, o->preset, o->steps, o->seed);
    if (rc < 0) {
        fprintf(stderr, "helio-trace: cannot make the trace: %s\n", helio_strerror(rc));
        goto out;
    }
    snprintf(comment, sizeof comment,
             "synthetic trace, preset %s, %" PRIu64 " steps, seed %" PRIu64, o->preset->name,
             o->steps, o->seed);
    rc = trace_file_write(&t, o->output, comment, error);
    if (rc < 0)
        fprintf(stderr, "helio-trace: %s\n", error);
out:
    trace_fini(&t);
    return rc < 0 ? 1 : 0;
}

static void print_side_json(const char *name, const struct trace_side *s)
{
    printf("\"%s\": {\"runs\": %" PRIu64 ", \"share\": %.6f, \"mean_ms\": %.4f, \"sd_ms\": %.4f, "
           "\"median_ms\": %.4f, \"p90_ms\": %.4f, \"max_ms\": %.4f}",
           name, s->runs, s->share, s->mean_ms, s->sd_ms, s->median_ms, s->p90_ms, s->max_ms);
}

static void print_side(const char *name, const struct trace_side *s)
{
    printf("%-5s %9.3f %8" PRIu64 " %10.3f %10.3f %10.3f %10.3f %10.3f\n", name, 100 * s->share,
           s->runs, s->mean_ms, s->sd_ms, s->median_ms, s->p90_ms, s->max_ms);
}

/* A file, or the name of a preset. */
static int read_input(const struct options *o, struct trace *t, char *error)
{
    struct trace_source source;
    if (gen_preset_find(o->input) == NULL)
        return trace_file_read(t, o->input, o->step, error);
    int rc = trace_source_read(&source, o->input, error);
    if (rc == 0)
        *t = source.trace;
    if (rc == 0 && o->step != 0)
        t->step = o->step;
    return rc;
}

static int describe(const struct options *o)
{
    char error[TRACE_FILE_ERROR_MAX];
    struct trace t = {0};
    struct trace_side good, bad;
    if (read_input(o, &t, error) < 0) {
        fprintf(stderr, "helio-trace: %s\n", error);
        return 1;
    }
    int rc = trace_stats(&t, &good, &bad);
    if (rc < 0) {
        fprintf(stderr, "helio-trace: %s\n", helio_strerror(rc));
    } else if (o->json) {
        printf("{\"steps\": %" PRIu64 ", \"step_ns\": %" PRIu64 ", \"duration_s\": %.6f, ", t.steps,
               t.step, (double)t.steps * (double)t.step / 1e9);
        print_side_json("bad", &bad);
        printf(", ");
        print_side_json("good", &good);
        printf("}\n");
    } else {
        printf("%s: %" PRIu64 " steps of %g ms, %g s\n", o->input, t.steps, (double)t.step / 1e6,
               (double)t.steps * (double)t.step / 1e9);
        printf("%-5s %9s %8s %10s %10s %10s %10s %10s\n", "state", "share_%", "runs", "mean_ms",
               "sd_ms", "median_ms", "p90_ms", "max_ms");
        print_side("bad", &bad);
        print_side("good", &good);
    }
    trace_fini(&t);
    return rc < 0 ? 1 : 0;
}

static void usage(FILE *to)
{
    fprintf(to, "Usage: helio-trace gen --preset A|F|H [--steps N] [--seed N] [-o FILE]\n"
                "       helio-trace info FILE|A|F|H [--json]\n"
                "       helio-trace gen|info --help\n"
                "       helio-trace --version\n"
                "Makes synthetic erasure traces of optical links, and prints their statistics.\n"
                "\n"
                "Examples:\n"
                "  helio-trace info A\n"
                "  helio-trace gen --preset H --seed 7 -o H7.txt.gz\n");
}

int main(int argc, char **argv)
{
    struct options o = {.steps = 1000000, .output = "-"};
    const char *command = argc > 1 ? argv[1] : "";
    argp_err_exit_status = 2;
    if (strcmp(command, "--help") == 0 || strcmp(command, "--version") == 0) {
        if (strcmp(command, "--help") == 0)
            usage(stdout);
        else
            puts(argp_program_version);
        return 0;
    }
    bool gen = strcmp(command, "gen") == 0;
    if (!gen && strcmp(command, "info") != 0) {
        if (*command != '\0')
            fprintf(stderr, "helio-trace: '%s' is unknown; right is gen or info\n", command);
        usage(stderr);
        return 2;
    }
    char name[32];
    snprintf(name, sizeof name, "helio-trace %s", command);
    argv[1] = name;
    o.step = gen ? TRACE_STEP_DEFAULT : 0;
    argp_parse(gen ? &gen_argp : &info_argp, argc - 1, argv + 1, 0, NULL, &o);
    int rc = gen ? generate(&o) : describe(&o);
    if (fflush(stdout) != 0)
        rc = 1;
    return rc;
}
