/* SPDX-License-Identifier: Apache-2.0 */
/* helio-trace convert: a trace of any form into a file of another. An option of a form that is not
 * written ends it with a message, so does DtnSim's form without a rate. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "channel-emu/trace/trace_command.h"
#include "os/arguments.h"

struct options {
    const char *input, *output;
    enum trace_form form;
    struct trace_export other;
    bool nodes; /* were given */
    tick step;
};

enum { KEY_NODES = 256, KEY_RATE, KEY_EVERY };

static enum trace_form read_form(struct argp_state *state, const char *arg)
{
    static const char *const names[] = {
        [TRACE_COMPACT] = "compact", [TRACE_RUNS] = "runs", [TRACE_STEPS] = "steps",
        [TRACE_CSV] = "csv",         [TRACE_ONE] = "one",   [TRACE_DTNSIM] = "dtnsim",
        [TRACE_FRAMES] = "frames"};
    for (unsigned f = TRACE_COMPACT; f <= TRACE_FRAMES; f++) {
        if (strcmp(arg, names[f]) == 0)
            return (enum trace_form)f;
    }
    argp_error(
        state,
        "--format '%s' is unknown; right is compact, runs, steps, csv, one, dtnsim or frames", arg);
    return TRACE_UNKNOWN;
}

static void read_nodes(struct argp_state *state, struct options *o, const char *arg)
{
    char from[24];
    const char *comma = strchr(arg, ',');
    size_t n = comma == NULL ? sizeof from : (size_t)(comma - arg);
    if (n < sizeof from)
        snprintf(from, sizeof from, "%.*s", (int)n, arg);
    if (n >= sizeof from || units_count(from, INT32_MAX, &o->other.nodes[0]) < 0 ||
        units_count(comma + 1, INT32_MAX, &o->other.nodes[1]) < 0 ||
        o->other.nodes[0] == o->other.nodes[1])
        argp_error(state, "--nodes '%s' is wrong; right are two numbers such as 1,2", arg);
    o->nodes = true;
}

static void check_form(struct argp_state *state, struct options *o)
{
    if (o->form == TRACE_UNKNOWN)
        o->form = trace_file_form(o->output);
    if (o->nodes && o->form != TRACE_ONE && o->form != TRACE_DTNSIM)
        argp_error(state, "--nodes is for --format one or dtnsim");
    if (o->other.rate_bps != 0 && o->form != TRACE_DTNSIM)
        argp_error(state, "--rate is for --format dtnsim");
    if (o->other.rate_bps == 0 && o->form == TRACE_DTNSIM)
        argp_error(state, "--rate is missing: contacts of DtnSim have one, such as 500Mbit/s");
    if (o->other.every != 0 && o->form != TRACE_FRAMES)
        argp_error(state, "--every is for --format frames");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'f':
        o->form = read_form(state, arg);
        return 0;
    case 't':
        o->step = trace_option_step(state, arg);
        return 0;
    case KEY_NODES:
        read_nodes(state, o, arg);
        return 0;
    case KEY_RATE:
        if (units_rate(arg, &o->other.rate_bps) < 0 || o->other.rate_bps == 0)
            argp_error(state, "--rate '%s' is wrong; right is a rate such as 500Mbit/s", arg);
        return 0;
    case KEY_EVERY:
        if (units_duration(arg, &o->other.every) < 0 || o->other.every == 0)
            argp_error(state, "--every '%s' is wrong; right is %s", arg, units_duration_hint);
        return 0;
    case ARGP_KEY_ARG:
        if (o->output != NULL)
            argp_error(state, "'%s' is one file too many; right is IN OUT", arg);
        *(o->input == NULL ? &o->input : &o->output) = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->output == NULL)
            argp_error(state, "a file is missing; right is IN OUT");
        else
            check_form(state, o);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp convert_argp = {
    .options =
        (const struct argp_option[]){
            {"format", 'f', "FORM", 0,
             "compact, runs, steps or csv (default: by the name: "
             ".htr compact, .csv csv, else runs); one, dtnsim, "
             "frames: of other programs",
             0},
            {"nodes", KEY_NODES, "FROM,TO", 0, "one, dtnsim: numbers of the nodes (1,2)", 0},
            {"rate", KEY_RATE, "RATE", 0, "dtnsim: rate of the contacts", 0},
            {"every", KEY_EVERY, "DURATION", 0, "frames: between two frames (one in each step)", 0},
            {"step", 't', "DURATION", 0, "Duration of a step, whatever the file says", 0},
            {0}},
    .parser = parse_option,
    .args_doc = "IN OUT",
    .doc =
        "Writes a trace in another form. IN may have any form, plain or compressed with gzip; it "
        "is found out from the content. OUT is compressed if its name ends in .gz; - is the "
        "standard input or output.\vExamples:\n"
        "  helio-trace convert measured.csv measured.htr\n"
        "  helio-trace convert A - --format steps\n"
        "  helio-trace convert A A.txt --format dtnsim --rate 500Mbit/s"};

int trace_command_convert(int argc, char **argv)
{
    struct options o = {.other = {.nodes = {1, 2}}};
    struct trace t;
    struct trace_about about;
    char error[TRACE_FILE_ERROR_MAX];
    argument_parse(&convert_argp, argc, argv, 0, &o);
    int rc = trace_name_read(&t, &about, o.input, o.step, error);
    if (rc < 0)
        return trace_command_fail(rc, error);
    if (o.other.every > t.step)
        fprintf(stderr,
                "helio-trace: note: frames come less often than steps: what is between two of "
                "them is not in the file\n");
    rc = trace_file_export(&t, &about, o.form, &o.other, o.output, error);
    trace_fini(&t);
    return rc < 0 ? trace_command_fail(rc, error) : 0;
}
