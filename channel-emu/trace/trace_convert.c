/* SPDX-License-Identifier: Apache-2.0 */
/* helio-trace convert: a trace of any form into a file of another. */
#include <stdio.h>
#include <string.h>

#include "channel-emu/trace/trace_command.h"
#include "os/arguments.h"

struct options {
    const char *input, *output;
    enum trace_form form;
    tick step;
};

static enum trace_form read_form(struct argp_state *state, const char *arg)
{
    static const char *const names[] = {[TRACE_COMPACT] = "compact",
                                        [TRACE_RUNS] = "runs",
                                        [TRACE_STEPS] = "steps",
                                        [TRACE_CSV] = "csv"};
    for (unsigned f = TRACE_COMPACT; f <= TRACE_CSV; f++) {
        if (strcmp(arg, names[f]) == 0)
            return (enum trace_form)f;
    }
    argp_error(state, "--format '%s' is unknown; right is compact, runs, steps or csv", arg);
    return TRACE_UNKNOWN;
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
    case ARGP_KEY_ARG:
        if (o->output != NULL)
            argp_error(state, "'%s' is one file too many; right is IN OUT", arg);
        *(o->input == NULL ? &o->input : &o->output) = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->output == NULL)
            argp_error(state, "a file is missing; right is IN OUT");
        else if (o->form == TRACE_UNKNOWN)
            o->form = trace_file_form(o->output);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp convert_argp = {
    .options = (const struct argp_option[]){{"format", 'f', "FORM", 0,
                                             "compact, runs, steps or csv (default: by the name: "
                                             ".htr compact, .csv csv, else runs)",
                                             0},
                                            {"step", 't', "DURATION", 0,
                                             "Duration of a step, whatever the file says", 0},
                                            {0}},
    .parser = parse_option,
    .args_doc = "IN OUT",
    .doc =
        "Writes a trace in another form. IN may have any form, plain or compressed with gzip; it "
        "is found out from the content. OUT is compressed if its name ends in .gz; - is the "
        "standard input or output.\vExamples:\n"
        "  helio-trace convert measured.csv measured.htr\n"
        "  helio-trace convert A - --format steps"};

int trace_command_convert(int argc, char **argv)
{
    struct options o = {0};
    struct trace t;
    struct trace_about about;
    char error[TRACE_FILE_ERROR_MAX];
    argument_parse(&convert_argp, argc, argv, 0, &o);
    int rc = trace_name_read(&t, &about, o.input, o.step, error);
    if (rc < 0)
        return trace_command_fail(rc, error);
    rc = trace_file_write(&t, &about, o.form, o.output, error);
    trace_fini(&t);
    return rc < 0 ? trace_command_fail(rc, error) : 0;
}
