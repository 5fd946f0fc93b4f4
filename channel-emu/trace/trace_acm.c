/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-trace acm: what adaptive coding and modulation makes of received powers: a trace of its
 * losses, and a scenario with its rates. What can go wrong: options, the file of powers, memory,
 * files that cannot be written.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_acm.h"
#include "channel-emu/chan/fading/chan_law.h"
#include "channel-emu/chan/fading/chan_powers.h"
#include "channel-emu/trace/trace_command.h"
#include "os/arguments.h"

#define PREFIX_MAX 4000     /* characters */
#define CHANGES_MAX 1000000 /* below those of a scenario */

struct options {
    struct acm_config acm;
    const char *input, *output, *column;
    bool decibels, has_esn0;
    tick step, delay, every, reacquire;
    uint64_t symbols; /* a second */
};

/* As in 3dB or -3dB, from -`max` of the row to 100 dB. */
static void set_decibels(struct argp_state *state, const struct argument *row, char *arg,
                         void *base)
{
    char right[64];
    double v = 0, min = -(double)row->max;
    size_t len = strlen(arg), sign = arg[0] == '-';
    snprintf(right, sizeof right, "a value from %gdB to 100dB, such as 3dB", min + 0.0);
    if (len < 3 + sign || strcmp(arg + len - 2, "dB") != 0 ||
        law_number(arg + sign, len - 2 - sign, &v) < 0 || v > 100 || (sign ? -v : v) < min)
        argument_want(state, arg, right);
    *(double *)argument_field(row, base) = sign ? -v : v;
}

static void set_esn0(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    ((struct options *)base)->has_esn0 = true;
    set_decibels(state, row, arg, base);
}

static void set_slope(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    *(double *)argument_field(row, base) = (double)argument_number(state, row, arg);
}

static void set_unit(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    *(bool *)argument_field(row, base) = argument_choice(state, row, arg) > 0;
}

static void finish_options(struct argp_state *state, void *base)
{
    struct options *o = base;
    if (o->input == NULL)
        argp_error(state, "FILE is missing; write 'helio-trace acm FILE --esn0 DB --symbols "
                          "N -o PREFIX'");
    else if (!o->has_esn0)
        argp_error(state, "--esn0 is missing: Es/N0 at the mean power of the file, such as 12dB");
    else if (o->symbols == 0)
        argp_error(state, "--symbols is missing: how many a second");
    else if (o->output == NULL)
        argp_error(state, "the names of the files are missing; write -o PREFIX");
    o->acm.delay = o->delay / o->step;
    o->acm.every = o->every < o->step ? 1 : o->every / o->step;
    o->acm.reacquire = o->reacquire / o->step;
}

static void set_file(struct argp_state *state, const char **file, const char *arg)
{
    if (*file != NULL || strlen(arg) > PREFIX_MAX)
        argp_error(state, "'%.60s' is one file too many, or its name is longer than %d characters",
                   arg, PREFIX_MAX);
    *file = arg;
}

static void set_output(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    set_file(state, argument_field(row, base), arg);
}

static void take_file(struct argp_state *state, char *arg, void *base)
{
    set_file(state, &((struct options *)base)->input, arg);
}

#define FIELD(member) ARGUMENT_FIELD(struct options, member)
#define UP_TO_A_DAY .type = OPTION_DURATION, .max = 86400 * TICK_S

static const struct argument acm_options[] = {
    {"esn0", 0, "DB", .help = "Es/N0 at the mean power of the file", .own = set_esn0, .max = 100,
     FIELD(acm.esn0_db)},
    {"symbols", 0, "N", .help = "Symbols a second", .type = OPTION_COUNT, .min = 1,
     .max = UINT64_C(1000000000000), FIELD(symbols)},
    {"slope", 0, "1|2",
     .help = "dB of Es/N0 a dB of power: 1 (default), or 2 of a detector limited by its own noise",
     .type = OPTION_COUNT, .min = 1, .max = 2, .own = set_slope, FIELD(acm.slope)},
    {"margin", 0, "DB", .help = "Kept over a ModCod's threshold (default 1dB)", .own = set_decibels,
     FIELD(acm.margin_db)},
    {"hysteresis", 0, "DB", .help = "On top before a faster one is taken (default 0.5dB)",
     .own = set_decibels, FIELD(acm.hysteresis_db)},
    {"delay", 0, "DURATION",
     .help = "From a measurement to the ModCod that it makes (default 0): half a round trip at "
             "least",
     UP_TO_A_DAY, FIELD(delay)},
    {"every", 0, "DURATION", .help = "Between two choices (default: each step)", UP_TO_A_DAY,
     FIELD(every)},
    {"lock", 0, "DB",
     .help = "Es/N0 below which the receiver loses its synchronisation (default -2.35dB: the "
             "threshold of QPSK 1/4)",
     .own = set_decibels, .max = 100, FIELD(acm.lock_db)},
    {"reacquire", 0, "DURATION",
     .help = "Time to synchronise again, in which all is lost (default 0)", UP_TO_A_DAY,
     FIELD(reacquire)},
    {"unit", 0, "linear|dB|dBm", .help = "Of the powers in the file (default linear)",
     .own = set_unit, .type = OPTION_CHOICE, .choices = "linear|dB|dBm", FIELD(decibels)},
    {"column", 0, "NUMBER|TITLE", .help = "Which column (default: the only one)", FIELD(column)},
    {"step", 't', "DURATION", .help = "Time between two powers (default 0.1ms)", TRACE_STEP(step)},
    {"output", 'o', "PREFIX", .help = "Of PREFIX.htr and PREFIX.yaml", .own = set_output,
     FIELD(output)},
    {0}};

static const struct argument_table acm_table = {
    .options = acm_options,
    .word = take_file,
    .end = finish_options,
    .args_doc = "FILE",
    .doc = "Follows received powers with the ModCods of DVB-S2 (ETSI EN 302 307-1, table 13): a "
           "trace of what is lost, and a scenario with the rates.\vExample:\n"
           "  helio-trace gen --preset leo-low --power p.csv -o leo.htr\n"
           "  helio-trace acm p.csv --esn0 12dB --symbols 100000000 --delay 6ms -o leo-acm"};

/* The run's results. */
struct account {
    uint64_t lost, changes;
    double sent, arrived; /* bits a symbol, summed over the steps */
};

static void write_rate(FILE *f, const struct options *o, const struct acm *a, bool first)
{
    const struct acm_modcod *m = &acm_modcods[a->modcod];
    uint64_t at = (a->at - 1) * o->step;
    double rate = (double)o->symbols * m->efficiency;
    if (first)
        fprintf(f,
                "# synthetic or measured powers of %s, ModCods of DVB-S2 (ETSI EN 302 307-1)\n"
                "forward:\n  start: 0\n  rate: %.0fbit/s # %s\n  erasures: {trace: %s.htr}\n"
                "  changes:\n",
                o->input, rate, m->name, o->output);
    else
        fprintf(f, "    - {at: %" PRIu64 "ns, rate: %.0fbit/s} # %s\n", at, rate, m->name);
}

/* All steps: into the trace and the scenario. */
static int follow_powers(const struct options *o, const struct powers *p, struct trace *t, FILE *f,
                         struct account *sum)
{
    struct acm a;
    int rc = 0;
    size_t before = ACM_MODCODS;
    acm_init(&a, &o->acm, p->value, p->len);
    while (a.at < p->len && rc == 0 && sum->changes <= CHANGES_MAX) {
        bool lost = acm_next(&a);
        double efficiency = acm_modcods[a.modcod].efficiency;
        if (a.modcod != before) {
            write_rate(f, o, &a, before == ACM_MODCODS);
            sum->changes += before != ACM_MODCODS;
        }
        before = a.modcod;
        sum->lost += lost;
        sum->sent += efficiency;
        sum->arrived += lost ? 0 : efficiency;
        rc = trace_add(t, lost, 1);
    }
    if (sum->changes == 0)
        fprintf(f, "    []\n");
    return rc == 0 && sum->changes > CHANGES_MAX ? HELIO_EINVAL : rc;
}

static int write_scenario(const struct options *o, const struct powers *p, struct trace *t,
                          struct account *sum, char *error)
{
    char path[PREFIX_MAX + 8];
    snprintf(path, sizeof path, "%s.yaml", o->output);
    FILE *f = fopen(path, "w");
    int rc = f == NULL ? helio_from_errno(errno) : follow_powers(o, p, t, f, sum);
    bool bad = f != NULL && ferror(f) != 0;
    if (f != NULL && fclose(f) != 0)
        bad = true;
    if (rc == 0 && bad)
        rc = HELIO_EIO;
    if (rc == HELIO_EINVAL)
        snprintf(error, TRACE_FILE_ERROR_MAX,
                 "the ModCod changes more than %d times; right is a longer --every", CHANGES_MAX);
    else if (rc < 0)
        snprintf(error, TRACE_FILE_ERROR_MAX, "%.400s: cannot be written: %s", path,
                 helio_strerror(rc));
    return rc;
}

static int write_trace(const struct options *o, const struct trace *t, char *error)
{
    char path[PREFIX_MAX + 8];
    struct trace_about about = {.generator = "acm"};
    snprintf(path, sizeof path, "%s.htr", o->output);
    snprintf(about.parameters, sizeof about.parameters,
             "--esn0 %gdB --slope %g --margin %gdB --hysteresis %gdB --delay %" PRIu64
             "ns --every %" PRIu64 "ns --lock %gdB --reacquire %" PRIu64 "ns",
             o->acm.esn0_db, o->acm.slope, o->acm.margin_db, o->acm.hysteresis_db, o->delay,
             o->every, o->acm.lock_db, o->reacquire);
    return trace_file_write(t, &about, TRACE_COMPACT, path, error);
}

static int follow_file(struct options *o, struct powers *p, struct trace *t, char *error)
{
    struct account sum = {0};
    int rc = trace_powers_read(p, o->input, o->column, o->decibels, error);
    double mean = 0, steps = (double)p->len;
    if (rc == 0)
        rc = trace_powers_mean(p, o->input, &mean, error);
    for (size_t i = 0; rc == 0 && i < p->len; i++)
        p->value[i] /= mean;
    if (rc == 0)
        rc = write_scenario(o, p, t, &sum, error);
    if (rc == 0)
        rc = write_trace(o, t, error);
    if (rc == 0)
        printf("mean rate %.6g Mbit/s, of which %.6g Mbit/s arrive; lost %.4f of the time; "
               "%" PRIu64 " changes\n",
               sum.sent / steps * (double)o->symbols / 1e6,
               sum.arrived / steps * (double)o->symbols / 1e6, (double)sum.lost / steps,
               sum.changes);
    return rc;
}

int trace_command_acm(int argc, char **argv)
{
    struct options o = {
        .step = TRACE_STEP_DEFAULT,
        .acm = {
            .slope = 1, .margin_db = 1, .hysteresis_db = 0.5, .lock_db = acm_modcods[0].threshold}};
    struct powers p = {0};
    struct trace t;
    char error[TRACE_FILE_ERROR_MAX];
    argument_table_parse(&acm_table, argc, argv, &o);
    trace_init(&t, o.step);
    int rc = follow_file(&o, &p, &t, error);
    powers_fini(&p);
    trace_fini(&t);
    return rc < 0 ? trace_command_fail(rc, error) : 0;
}
