/* SPDX-License-Identifier: Apache-2.0 */
/* helio-trace info: the statistics of a trace. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/trace_command.h"

struct options {
    const char *input;
    tick step;
    bool json;
};

static error_t info_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'j':
        o->json = true;
        return 0;
    case 't':
        o->step = trace_option_step(state, arg);
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
           "  helio-trace info traces/A.htr\n"
           "  helio-trace info F --json"};

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

static int describe(const struct options *o)
{
    char error[TRACE_FILE_ERROR_MAX];
    struct trace t = {0};
    struct trace_about about;
    struct trace_side good, bad;
    int rc = trace_name_read(&t, &about, o->input, o->step, error);
    if (rc < 0)
        return trace_command_fail(rc, error);
    rc = trace_stats(&t, &good, &bad);
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

int trace_command_info(int argc, char **argv)
{
    struct options o = {0};
    argp_parse(&info_argp, argc, argv, 0, NULL, &o);
    return describe(&o);
}
