/* SPDX-License-Identifier: Apache-2.0 */
/* helio-trace gen: a synthetic trace into a file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan_gen.h"
#include "channel-emu/trace_command.h"

struct options {
    const struct gen_preset *preset;
    uint64_t steps, seed;
    bool seeded;
    tick step;
    const char *output;
};

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
        o->steps = trace_option_count(state, "--steps", arg, 1);
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

static const struct argp gen_argp = {
    .options =
        (const struct argp_option[]){
            {"preset", 'p', "A|F|H", 0, "Which published statistics to meet", 0},
            {"steps", 'n', "N", 0, "Length in steps (default 1000000)", 0},
            {"seed", 's', "N", 0, "Seed of the random numbers (default: the preset's own)", 0},
            {"step", 't', "DURATION", 0, "Duration of a step (default 0.1ms)", 0},
            {"output", 'o', "FILE", 0, "Where to; compact for .htr (default -: text)", 0},
            {0}},
    .parser = gen_option,
    .doc = "Makes a synthetic erasure trace.\vExample:\n"
           "  helio-trace gen --preset A --steps 1000000 -o A.htr"};

static int generate(const struct options *o)
{
    char error[TRACE_FILE_ERROR_MAX];
    struct trace_about about = {.generator = "renewal", .seeded = true, .seed = o->seed};
    struct trace t;
    trace_init(&t, o->step);
    int rc = gen_trace(&t, o->preset, o->steps, o->seed);
    snprintf(about.parameters, sizeof about.parameters, "--preset %s", o->preset->name);
    if (rc == 0)
        rc = trace_file_write(&t, &about, trace_file_form(o->output), o->output, error);
    else
        snprintf(error, sizeof error, "cannot make the trace: %s", helio_strerror(rc));
    trace_fini(&t);
    return rc < 0 ? trace_command_fail(rc, error) : 0;
}

int trace_command_gen(int argc, char **argv)
{
    struct options o = {.steps = 1000000, .step = TRACE_STEP_DEFAULT, .output = "-"};
    argp_parse(&gen_argp, argc, argv, 0, NULL, &o);
    return generate(&o);
}
