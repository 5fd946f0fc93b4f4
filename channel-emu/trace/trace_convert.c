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

static void set_nodes(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct options *o = base;
    (void)row;
    char from[24];
    const char *comma = strchr(arg, ',');
    size_t n = comma == NULL ? sizeof from : (size_t)(comma - arg);
    if (n < sizeof from)
        snprintf(from, sizeof from, "%.*s", (int)n, arg);
    if (n >= sizeof from || units_count(from, INT32_MAX, &o->other.nodes[0]) < 0 ||
        units_count(comma + 1, INT32_MAX, &o->other.nodes[1]) < 0 ||
        o->other.nodes[0] == o->other.nodes[1])
        argument_want(state, arg, "two different numbers, such as 1,2");
    o->nodes = true;
}

static void check_form(struct argp_state *state, void *base)
{
    struct options *o = base;
    if (o->output == NULL)
        argp_error(state, "a file is missing; write IN OUT");
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

static void take_file(struct argp_state *state, char *arg, void *base)
{
    struct options *o = base;
    if (o->output != NULL)
        argp_error(state, "'%s' is one file too many; write IN OUT", arg);
    *(o->input == NULL ? &o->input : &o->output) = arg;
}

#define FIELD(member) ARGUMENT_FIELD(struct options, member)

static const struct argument convert_options[] = {
    {"format", 'f', "FORM",
     .help = "compact, runs, steps or csv (default: by the name: .htr compact, .csv csv, else "
             "runs); one, dtnsim, frames: of other programs",
     .type = OPTION_CHOICE, .choices = "compact|runs|steps|csv|one|dtnsim|frames",
     .min = TRACE_COMPACT, FIELD(form)},
    {"nodes", 0, "FROM,TO", .help = "one, dtnsim: numbers of the nodes (1,2)", .own = set_nodes},
    {"rate", 0, "RATE", .help = "dtnsim: rate of the contacts", .type = OPTION_RATE, .min = 1,
     FIELD(other.rate_bps)},
    {"every", 0, "DURATION", .help = "frames: between two frames (one in each step)",
     .type = OPTION_DURATION, .min = 1, FIELD(other.every)},
    {"step", 't', "DURATION", .help = "Duration of a step, whatever the file says",
     TRACE_STEP(step)},
    {0}};

static const struct argument_table convert_table = {
    .options = convert_options,
    .word = take_file,
    .end = check_form,
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
    argument_table_parse(&convert_table, argc, argv, &o);
    int rc = trace_name_read(&t, &about, o.input, o.step, error);
    if (rc < 0)
        return trace_command_fail(rc, error);
    if (o.other.every > t.step)
        fprintf(stderr, "helio-trace: note: frames come less often than steps: events between two "
                        "frames are not in the file\n");
    rc = trace_file_export(&t, &about, o.form, &o.other, o.output, error);
    trace_fini(&t);
    return rc < 0 ? trace_command_fail(rc, error) : 0;
}
