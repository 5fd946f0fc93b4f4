/* SPDX-License-Identifier: Apache-2.0 */
/* helio-trace info: the statistics of a trace, or of two beside each other; as a table, as JSON, as
 * CSV files, as a plot. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "channel-emu/trace/trace_command.h"
#include "channel-emu/trace/trace_describe.h"
#include "os/arguments.h"

struct options {
    const char *input[2]; /* the second to compare with, or NULL */
    const char *csv, *plot;
    tick step;
    bool json;
};

static bool can_plot(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL &&
           (strcmp(dot, ".png") == 0 || strcmp(dot, ".svg") == 0 || strcmp(dot, ".pdf") == 0);
}

static void set_plot(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    if (!can_plot(arg))
        argument_want(state, arg, "a name that ends in .png, .svg or .pdf");
    argument_set_value(state, row, arg, base);
}

static void take_trace(struct argp_state *state, char *arg, void *base)
{
    struct options *o = base;
    if (o->input[0] != NULL)
        argp_error(state, "'%s' is one file too many; compare two by --compare", arg);
    o->input[0] = arg;
}

static void check_options(struct argp_state *state, void *base)
{
    if (((const struct options *)base)->input[0] == NULL)
        argp_error(state, "the trace is missing; write 'helio-trace info FILE', or a name such "
                          "as A");
}

#define FIELD(member) ARGUMENT_FIELD(struct options, member)

static const struct argument info_options[] = {
    {"compare", 'c', "FILE|NAME", .help = "A second trace beside the first", FIELD(input[1])},
    {"json", 'j', .help = "Print JSON", .type = OPTION_BOOL, FIELD(json)},
    {"csv", 0, "FOLDER",
     .help = "Write statistics, distributions of the lengths, autocorrelation, bad share over time",
     FIELD(csv)},
    {"plot", 0, "FILE", .help = "Draw them into a .png, .svg or .pdf", .own = set_plot,
     FIELD(plot)},
    {"step", 't', "DURATION", .help = "Duration of a step, whatever the files say",
     TRACE_STEP(step)},
    {0}};

static const struct argument_table info_table = {
    .options = info_options,
    .word = take_trace,
    .end = check_options,
    .args_doc = "FILE|NAME",
    .doc =
        "Prints the statistics of a trace: a file of any form, plain or compressed with gzip, or "
        "A, F, H, leo-low, leo-high, jpl-47km.\vExamples:\n"
        "  helio-trace info traces/A.htr\n"
        "  helio-trace info F --json\n"
        "  helio-trace info mine.htr --compare A --plot both.png"};

static void print_side_json(const char *name, const struct trace_side *s)
{
    printf("\"%s\": {\"runs\": %" PRIu64 ", \"share\": %.6f, \"mean_ms\": %.4f, \"sd_ms\": %.4f, "
           "\"median_ms\": %.4f, \"p90_ms\": %.4f, \"max_ms\": %.4f}",
           name, s->runs, s->share, s->mean_ms, s->sd_ms, s->median_ms, s->p90_ms, s->max_ms);
}

static double trace_seconds(const struct trace *t)
{
    return (double)t->steps * (double)t->step / 1e9;
}

/* One line of printable ASCII. */
static void print_quoted(const char *key, const char *text)
{
    printf("\"%s\": \"", key);
    for (; *text != '\0'; text++)
        printf("%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    printf("\", ");
}

/* How it was made, as far as its file says. */
static void print_about_json(const struct trace_about *a)
{
    if (*a->generator != '\0')
        print_quoted("generator", a->generator);
    if (*a->parameters != '\0')
        print_quoted("parameters", a->parameters);
    if (a->seeded)
        printf("\"seed\": %" PRIu64 ", ", a->seed);
    if (gen_synthetic(a->generator))
        printf("\"synthetic\": true, ");
}

static void print_json(const struct described *d)
{
    printf("{\"steps\": %" PRIu64 ", \"step_ns\": %" PRIu64 ", \"duration_s\": %.6f, ",
           d->trace.steps, d->trace.step, trace_seconds(&d->trace));
    print_about_json(&d->about);
    print_side_json("bad", &d->bad);
    printf(", ");
    print_side_json("good", &d->good);
    printf("}");
}

static void print_side(const char *name, const struct trace_side *s)
{
    printf("%-5s %9.3f %8" PRIu64 " %10.3f %10.3f %10.3f %10.3f %10.3f\n", name, 100 * s->share,
           s->runs, s->mean_ms, s->sd_ms, s->median_ms, s->p90_ms, s->max_ms);
}

static void print_table(const struct described *d)
{
    printf("%s: %" PRIu64 " steps of %g ms, %g s", d->name, d->trace.steps,
           (double)d->trace.step / 1e6, trace_seconds(&d->trace));
    if (gen_synthetic(d->about.generator))
        printf("; synthetic (%s)", d->about.generator);
    printf("\n");
    printf("%-5s %9s %8s %10s %10s %10s %10s %10s\n", "state", "share_%", "runs", "mean_ms",
           "sd_ms", "median_ms", "p90_ms", "max_ms");
    print_side("bad", &d->bad);
    print_side("good", &d->good);
}

static void print_both(const struct described *d, bool json)
{
    double distance[2], critical[2];
    for (int bad = 0; bad < 2; bad++) {
        distance[bad] = dwell_distance(&d[0].dwell[bad], &d[1].dwell[bad]);
        critical[bad] = dwell_critical(&d[0].dwell[bad], &d[1].dwell[bad]);
    }
    if (json) {
        printf("{\"traces\": [");
        print_json(&d[0]);
        printf(", ");
        print_json(&d[1]);
        printf("], \"distance\": {\"bad\": %.6f, \"good\": %.6f}, "
               "\"critical_5_percent\": {\"bad\": %.6f, \"good\": %.6f}}\n",
               distance[1], distance[0], critical[1], critical[0]);
        return;
    }
    print_table(&d[0]);
    print_table(&d[1]);
    printf("Kolmogorov-Smirnov distance of the lengths (5 of 100 samples of one law exceed the "
           "second number):\n");
    printf("bad   %9.4f %9.4f\ngood  %9.4f %9.4f\n", distance[1], critical[1], distance[0],
           critical[0]);
}

static int describe_traces(const struct options *o, const struct described *d, size_t n,
                           char *error)
{
    int rc = 0;
    if (o->csv != NULL)
        rc = describe_csv(d, n, o->csv, error);
    if (rc == 0 && o->plot != NULL)
        rc = describe_plot(d, n, o->plot, error);
    if (rc < 0)
        return rc;
    if (n == 2) {
        print_both(d, o->json);
    } else if (o->json) {
        print_json(d);
        printf("\n");
    } else {
        print_table(d);
    }
    return 0;
}

int trace_command_info(int argc, char **argv)
{
    struct options o = {.step = 0};
    struct described d[2] = {{.name = NULL}, {.name = NULL}};
    struct trace t;
    struct trace_about about = {.seeded = false};
    char error[TRACE_FILE_ERROR_MAX] = "out of memory", second[TRACE_FILE_ERROR_MAX];
    int rc = 0;
    argument_table_parse(&info_table, argc, argv, &o);
    size_t n = o.input[1] == NULL ? 1 : 2;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = trace_name_read(&t, &about, o.input[i], o.step, error);
        if (rc == 0)
            rc = described_init(&d[i], o.input[i], t);
        d[i].about = about;
    }
    if (n == 2 && strcmp(o.input[0], o.input[1]) == 0) {
        snprintf(second, sizeof second, "%s (2)", o.input[1]);
        d[1].name = second;
    }
    if (rc == 0)
        rc = describe_traces(&o, d, n, error);
    described_fini(&d[0]);
    described_fini(&d[1]);
    return rc < 0 ? trace_command_fail(rc, error) : 0;
}
