/* SPDX-License-Identifier: Apache-2.0 */
/* Two tables of options, one parser. Values are checked one by one as they are read, and together
 * at the end. What can go wrong is what people type; every message names the option and what would
 * be right. */
#include "tools/perf/perf_options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "bp/codec/qos.h"
#include "os/arguments.h"
#include "tools/perf/perf_name.h"
#include "tools/perf/perf_report.h"
#include "tools/perf/perf_wire.h"

#define PAYLOAD_DEFAULT 50000
#define PAYLOAD_LIMIT (UINT64_C(1) << 31)
#define PARALLEL_LIMIT 64
#define WINDOW_LIMIT (UINT64_C(1) << 20)

/* A number and what follows it; NULL without a number. */
static const char *number(const char *text, double *out)
{
    char *end;
    if ((*text < '0' || *text > '9') && *text != '.')
        return NULL;
    *out = strtod(text, &end);
    return end != text && isfinite(*out) ? end : NULL;
}

int perf_options_size(const char *text, uint64_t *out)
{
    double v;
    const char *unit = number(text, &v);
    if (units_size(text, out) == 0)
        return 0;
    if (unit == NULL || v < 0)
        return HELIO_EFORMAT;
    double scale = strcmp(unit, "k") == 0   ? 1e3
                   : strcmp(unit, "M") == 0 ? 1e6
                   : strcmp(unit, "G") == 0 ? 1e9
                                            : 0;
    if (scale <= 0 || v * scale >= 9e18)
        return HELIO_EFORMAT;
    *out = (uint64_t)llround(v * scale);
    return 0;
}

double perf_options_rate_min(bool in_bundles)
{
    return in_bundles ? 1e-3 : 1;
}

int perf_options_rate(const char *text, double *out, bool *in_bundles)
{
    double v;
    uint64_t bps;
    const char *unit = number(text, &v);
    *in_bundles = false;
    if (unit == NULL)
        return HELIO_EFORMAT;
    if (strcmp(unit, "b") == 0)
        *in_bundles = true;
    else if (strcmp(unit, "k") == 0)
        v *= 1e3;
    else if (strcmp(unit, "M") == 0)
        v *= 1e6;
    else if (strcmp(unit, "G") == 0)
        v *= 1e9;
    else if (*unit != '\0') {
        if (units_rate(text, &bps) != 0)
            return HELIO_EFORMAT;
        v = (double)bps;
    }
    if (!(v >= perf_options_rate_min(*in_bundles) && v <= 1e13))
        return HELIO_EFORMAT;
    *out = v;
    return 0;
}

int perf_options_time(const char *text, tick *out)
{
    double v;
    const char *unit = number(text, &v);
    if (unit == NULL)
        return HELIO_EFORMAT;
    if (*unit != '\0')
        return units_duration(text, out);
    if (v >= 1e9)
        return HELIO_EFORMAT;
    *out = (tick)llround(v * 1e9);
    return 0;
}

int perf_options_priority(const char *text, uint32_t *priority, uint32_t *ordinal)
{
    uint64_t n = 0;
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        const char *word = bundle_priority_word((enum bundle_priority)p);
        const size_t len = strlen(word);
        if (strncmp(text, word, len) != 0)
            continue;
        const char *rest = text + len;
        bool numbered = *rest == ':' && p == BUNDLE_EXPEDITED &&
                        units_count(rest + 1, QOS_ORDINAL_MAX, &n) == 0;
        if (*rest != '\0' && !numbered)
            return HELIO_EFORMAT;
        *priority = 1 + (uint32_t)p;
        *ordinal = (uint32_t)n;
        return 0;
    }
    return HELIO_EFORMAT;
}

/* "20" or "0.5" seconds, or with a unit; at least `min` of the row. */
static tick read_seconds(struct argp_state *state, const struct argument *o, const char *arg)
{
    tick t = 0;
    char low[CONF_NUMBER_CAP];
    if (perf_options_time(arg, &t) != 0)
        argument_want(state, arg, "a time in seconds, or with a unit, such as 60, 0.5 or 500ms");
    if (t < o->min && o->min == 1)
        argument_wrong(state, "%s is out of range; write a time above 0", arg);
    else if (t < o->min)
        argument_wrong(state, "%s is out of range; write a time of at least %s", arg,
                       conf_number_text(OPTION_DURATION, o->min, low));
    return t;
}

void perf_set_seconds(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    *(tick *)argument_field(o, base) = read_seconds(state, o, arg != NULL ? arg : "60");
}

void perf_set_milliseconds(struct argp_state *state, const struct argument *o, char *arg,
                           void *base)
{
    *(uint64_t *)argument_field(o, base) = read_seconds(state, o, arg) / TICK_MS;
}

void perf_set_priority(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct perf_options *p = argument_field(o, base);
    if (perf_options_priority(arg, &p->priority, &p->ordinal) != 0)
        argument_want(state, arg, "bulk, normal, expedited, or expedited:N with N from 0 to 254");
}

/* Bytes, also as in 50k. */
static void set_size(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    uint64_t *field = argument_field(o, base);
    char text[24];
    if (perf_options_size(arg, field) != 0)
        argument_want(state, arg, "a size, such as 500000, 500kB, 50k or 4M");
    snprintf(text, sizeof text, "%llu", (unsigned long long)*field);
    *field = argument_number(state, o, text);
}

/* ---- of a client ---- */

static void set_mode(struct argp_state *state, struct perf_options *o, enum perf_mode mode)
{
    if (o->mode != PERF_MODE_NONE)
        argp_error(state, "write exactly one of -T, -D, -n and -F: how much to send");
    o->mode = mode;
}

static void set_time(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    set_mode(state, base, PERF_MODE_TIME);
    perf_set_seconds(state, row, arg, base);
}

static void set_data(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    set_mode(state, base, PERF_MODE_DATA);
    set_size(state, row, arg, base);
}

static void set_count(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct perf_options *o = base;
    set_mode(state, o, PERF_MODE_DATA);
    o->bundles = argument_number(state, row, arg);
}

static void set_file(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct perf_options *o = base;
    (void)row;
    set_mode(state, o, PERF_MODE_FILE);
    o->file = arg;
}

static void read_rate(struct argp_state *state, const char *arg, double *rate, bool *in_bundles)
{
    if (perf_options_rate(arg, rate, in_bundles) != 0)
        argument_want(state, arg, "a rate, such as 500M (bit/s), 500Mbit/s or 20b (bundles/s)");
}

static void set_rate(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct perf_options *o = base;
    (void)row;
    read_rate(state, arg, &o->rate, &o->rate_in_bundles);
}

static void set_ramp(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct perf_options *o = base;
    (void)row;
    read_rate(state, arg, &o->ramp, &o->ramp_in_bundles);
}

/* Figures while it runs. */
static void set_interval(struct argp_state *state, const struct argument *row, char *arg,
                         void *base)
{
    struct perf_options *o = base;
    o->intervals = true;
    perf_set_seconds(state, row, arg, base);
}

static void set_csv(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct perf_options *o = base;
    (void)state;
    (void)row;
    o->intervals = true;
    o->csv = arg;
}

/* The flags are the row's `max`. */
static void add_flags(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct perf_options *o = base;
    (void)state;
    (void)arg;
    o->flags |= row->max;
}

static void want_endpoint(struct argp_state *state, const char *arg)
{
    struct eid eid;
    if (strlen(arg) >= 200 || eid_parse(arg, &eid) != 0)
        argument_want(state, arg, "an endpoint, such as ipn:2.2000");
}

static void set_monitor(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct perf_options *o = base;
    (void)row;
    want_endpoint(state, arg);
    o->report_to = arg;
}

static void take_destination(struct argp_state *state, char *arg, void *base)
{
    struct perf_options *o = base;
    perf_name_check(state, arg, "an endpoint, such as ipn:2.2000");
    perf_name_refuse_node(state, arg, (const char *const[]){"2000", "perf"});
    if (o->destination != NULL)
        argument_wrong(state, "\"%s\" is one too many; there is %s already", arg, o->destination);
    o->destination = arg;
}

static void set_destination(struct argp_state *state, const struct argument *row, char *arg,
                            void *base)
{
    (void)row;
    take_destination(state, arg, base);
}

/* -n is so many whole bundles of data, whatever the order of -n and -P. */
static void set_bundles(struct argp_state *state, struct perf_options *o)
{
    if (o->bundles > INT64_MAX / o->payload)
        argp_error(state,
                   "-n: %llu is out of range; write a number of at most %llu, with bundles of "
                   "%llu bytes",
                   (unsigned long long)o->bundles, (unsigned long long)(INT64_MAX / o->payload),
                   (unsigned long long)o->payload);
    if (o->bundles > 0)
        o->data = o->bundles * o->payload;
}

static void check_socket(struct argp_state *state, void *base)
{
    const struct perf_options *o = base;
    perf_report_place(state, "json", o->json);
    perf_report_place(state, "csv", o->csv);
    if (o->socket == NULL)
        argp_error(state, "--socket PATH is missing: the node's application socket");
}

static void check_server(struct argp_state *state, void *base)
{
    const struct perf_options *o = base;
    struct stat st = {0};
    check_socket(state, base);
    if (o->output == NULL)
        return;
    if (stat(o->output, &st) != 0 && errno == ENOENT)
        argp_error(state,
                   "--output %s: there is no such folder; make it (mkdir -p), or write another",
                   o->output);
    else if (access(o->output, F_OK) == 0 && !S_ISDIR(st.st_mode))
        argp_error(state, "--output %s: this is a file; a folder is wanted", o->output);
    else if (access(o->output, W_OK | X_OK) != 0)
        argp_error(state, "--output %s: %s", o->output, strerror(errno));
}

/* -T that ends before the second bundle leaves no interval to measure: mostly a -R without unit. */
static void warn_of_one(const struct argp_state *state, const struct perf_options *o)
{
    char rate[40];
    double seconds = (o->rate_in_bundles ? 1 : 8 * (double)o->payload) / o->rate;
    if (o->mode != PERF_MODE_TIME || o->ramp > 0 || seconds * 1e9 <= (double)o->time)
        return;
    double shown = seconds < 100 ? seconds : seconds < 6000 ? seconds / 60 : seconds / 3600;
    const char *unit = seconds < 100 ? "s" : seconds < 6000 ? "min" : "h";
    snprintf(rate, sizeof rate, "%g %s", o->rate, o->rate_in_bundles ? "bundles/s" : "bit/s");
    fprintf(stderr,
            "%s: WARNING: -T has room for one bundle: at %s one of %llu bytes takes %.3g %s; ",
            state->name, rate, (unsigned long long)o->payload, shown, unit);
    if (!o->rate_in_bundles && o->rate < 1000)
        fprintf(stderr, "did you mean -R %gM?\n", o->rate);
    else
        fprintf(stderr, "give a longer -T, a smaller -P or a greater -R\n");
}

static void check_client(struct argp_state *state, void *base)
{
    static const char *const servers[2] = {"2000", "perf"};
    struct perf_options *o = base;
    set_bundles(state, o);
    if (o->destination == NULL)
        argp_error(state, "-d EID is missing: the server's endpoint, such as ipn:2.2000");
    if (o->mode == PERF_MODE_NONE)
        argp_error(state, "write exactly one of -T, -D, -n and -F: how much to send");
    if ((o->window > 0) == (o->rate > 0))
        argp_error(state, "exactly one of -W and -R says how fast to send");
    if (o->parallel > 1 && (o->mode == PERF_MODE_FILE || o->service != NULL || o->csv != NULL))
        argp_error(state, "--parallel: not with -F, --service or --csv, which are of one client");
    if (o->reverse && (o->mode == PERF_MODE_FILE || o->report_to != NULL || o->warmup > 0 ||
                       (o->flags & ~(uint64_t)BUNDLE_NO_FRAGMENT) != 0))
        argp_error(state, "--reverse: not with -F, --warmup, -m or status reports, which are of a "
                          "client that sends");
    if (o->ramp > 0 && (o->rate <= 0 || o->mode != PERF_MODE_TIME))
        argp_error(state, "--ramp is of -R with -T");
    if (o->ramp > 0 && o->ramp_in_bundles != o->rate_in_bundles)
        argp_error(state,
                   "--ramp: write it in the unit of -R: both in bit/s, or both in bundles/s");
    if (o->mode == PERF_MODE_TIME && o->warmup >= o->time)
        argp_error(state, "--warmup leaves nothing of -T to measure");
    check_socket(state, o);
    o->destination = perf_name_find(state, o->socket, o->destination, servers, o->named);
    if (o->rate > 0)
        warn_of_one(state, o);
}

static void refuse_word(struct argp_state *state, char *arg, void *base)
{
    (void)base;
    argument_refuse_place(state, arg);
    argp_error(state, "\"%s\" is one word too many; there are only options", arg);
}

#define FIELD(member) ARGUMENT_FIELD(struct perf_options, member)
#define SECONDS(member, low) .own = perf_set_seconds, .min = (low), FIELD(member)
#define SIZE(member, low, high)                                                                    \
    .own = set_size, .type = OPTION_SIZE, .min = (low), .max = (high), FIELD(member)
#define COUNT(member, high) .type = OPTION_COUNT, .min = 1, .max = (high), FIELD(member)
#define REPORT(kind) .own = add_flags, .max = (kind) | BUNDLE_REPORT_TIME

static const struct argument common_options[] = {
    {"socket", 0, "PATH", .help = "the node's application socket", .own = argument_set_socket,
     FIELD(socket)},
    {"json", 0, "FILE", .help = "write the result as JSON (- for standard output)", FIELD(json)},
    {"reconnect", 0, "S", OPTION_ARG_OPTIONAL,
     .help = "when the node goes away, try again for S seconds (60), and send again what it had "
             "not confirmed",
     SECONDS(reconnect, 1)},
    {"linger", 0, "S",
     .help = "at the end, wait for missing bundles until none has arrived for S seconds (10)",
     SECONDS(linger, 0)},
    {0}};

static const struct argument_part common[] = {{.options = common_options}, {0}};

static const struct argument client_options[] = {
    {"destination", 'd', "EID",
     .help = "the server's endpoint, such as ipn:2.2000, or a name that the node has for it, such "
             "as relay/2000; or the word EID",
     .own = set_destination},
    {"time", 'T', "S", .help = "send for S seconds (fractions allowed)", .own = set_time, .min = 1,
     FIELD(time)},
    {"data", 'D', "N[B|k|M|G]", .help = "send N bytes, as in 500kB; k, M, G: 10^3, 10^6, 10^9",
     .own = set_data, .type = OPTION_SIZE, .min = 1, .max = INT64_MAX, FIELD(data)},
    {"bundles", 'n', "N", .help = "send N bundles of -P each", COUNT(bundles, INT64_MAX),
     .own = set_count},
    {"count", 'c', .flags = OPTION_ALIAS},
    {"file", 'F', "PATH", .help = "send a file, which the server rebuilds", .own = set_file},
    {"window", 'W', "N", .help = "at most N bundles without an acknowledgement",
     COUNT(window, WINDOW_LIMIT)},
    {"rate", 'R', "N[k|M|b]", .help = "N bit/s, or bundles/s (b)", .own = set_rate},
    {"payload", 'P', "N[B|k|M]", .help = "payload of a bundle, bytes (50k)",
     SIZE(payload, PERF_HEAD, PAYLOAD_LIMIT)},
    {"size", 's', .flags = OPTION_ALIAS},
    {"lifetime", 'l', "S", .help = "lifetime of the bundles (300)", .own = perf_set_milliseconds,
     .min = TICK_MS, FIELD(lifetime_ms)},
    {"priority", 'p', "CLASS[:N]",
     .help = "bulk, normal or expedited; expedited:N with an ordinal, 0 to 254, higher ones first",
     .own = perf_set_priority},
    {"no-fragment", 'N', .help = "bundles must not go in fragments", .own = add_flags,
     .max = BUNDLE_NO_FRAGMENT},
    {"nofragment", 0, .flags = OPTION_ALIAS | OPTION_HIDDEN},
    {"received", 'r', .help = "ask each node for a status report when it receives one",
     REPORT(BUNDLE_REPORT_RECEPTION)},
    {"forwarded", 'f', .help = "the same when it forwards one", REPORT(BUNDLE_REPORT_FORWARDING)},
    {"delivered", 0, .help = "the same when one is delivered", REPORT(BUNDLE_REPORT_DELIVERY)},
    {"deleted", 0, .help = "the same when one is deleted", REPORT(BUNDLE_REPORT_DELETION)},
    {"del", 0, .flags = OPTION_ALIAS | OPTION_HIDDEN},
    {"monitor", 'm', "EID",
     .help = "whom status reports go to, such as a helio-perf monitor (us, who count them)",
     .own = set_monitor},
    {"interval", 'i', "S",
     .help = "a line for each S seconds with what happened in them (1; 0: none), also in the JSON",
     .own = set_interval, FIELD(interval)},
    {"csv", 0, "FILE", .help = "write the intervals to a table, too", .own = set_csv},
    {"ramp", 0, "N[k|M|b]", .help = "with -R and -T: the rate grows, or falls, to this one",
     .own = set_ramp},
    {"parallel", 0, "N", .help = "N clients at once, each with all of this (1)",
     COUNT(parallel, PARALLEL_LIMIT)},
    {"reverse", 0,
     .help = "the server sends, and we receive and measure: the amount, -W or -R, -P and the like "
             "are its",
     .type = OPTION_BOOL, FIELD(reverse)},
    {"crc", 0, "none|16|32c", OPTION_ARG_OPTIONAL,
     .help = "check value of the payload block (the node's default; --crc alone: 32c)",
     .type = OPTION_CHOICE, .choices = "none|16|32c", .min = 1, .without = "32c", FIELD(crc)},
    {"warmup", 0, "S", .help = "leave the first S seconds out of goodput and delays",
     SECONDS(warmup, 0)},
    {"ack-timeout", 0, "S", .help = "when an acknowledgement counts as lost (by the delays seen)",
     SECONDS(ack_timeout, TICK_MS)},
    {"service", 0, "NAME", .help = "our own endpoint's service (a random number)",
     .own = argument_set_service, FIELD(service)},
    {0}};

static const struct argument server_options[] = {
    {"service", 0, "NAME", .help = "our endpoint's service (2000; dtn: perf)",
     .own = argument_set_service, FIELD(service)},
    {"lifetime", 'l', "S", .help = "lifetime of the acknowledgements (300)",
     .own = perf_set_milliseconds, .min = TICK_MS, FIELD(lifetime_ms)},
    {"output", 0, "DIR", .help = "rebuild files in DIR, which must exist (otherwise only counted)",
     FIELD(output)},
    {"payload-max", 0, "N", .help = "longest payload taken (1G)",
     SIZE(payload_max, PERF_HEAD, PAYLOAD_LIMIT)},
    {"file-max", 0, "N", .help = "longest file taken (16GiB)", SIZE(file_max, 0, INT64_MAX)},
    {"deliveries", 0, "N", .help = "deliveries on the way from the node at once (64)",
     COUNT(deliveries, 65536)},
    {"reverse-max", 0, "S",
     .help = "how long a client may have us send to it with --reverse (3600; 0: not at all)",
     SECONDS(reverse_max, 0)},
    {0}};

static const struct argument monitor_options[] = {
    {"service", 0, "NAME", .help = "our endpoint's service (1000; dtn: monitor)",
     .own = argument_set_service, FIELD(service)},
    {"output", 0, "DIR", .help = "folder for the tables (.)", FIELD(output)},
    {"deliveries", 0, "N", .help = "deliveries on the way from the node at once (64)",
     COUNT(deliveries, 65536)},
    {0}};

static const struct argument_table client_table = {
    .options = client_options,
    .parts = common,
    .word = take_destination,
    .end = check_client,
    .args_doc = "[EID]",
    .doc =
        "Sends bundles and measures goodput and delays.\vExactly one of -T, -D, -n, -F and one of "
        "-W, "
        "-R. Times are in seconds or with a unit, as in 20 or 500ms. Ctrl-C prints the result so "
        "far.\n\nexamples:\n"
        "  helio-perf client --socket node1.sock -d ipn:2.2000 -T 20 -W 20 -P 500kB\n"
        "  helio-perf client --socket node1.sock -d ipn:2.2000 -D 1G -R 100M\n"
        "  helio-perf client --socket node1.sock -d ipn:2.2000 -n 100 -W 4 -P 50kB\n"
        "  helio-perf client --socket node1.sock -d ipn:2.2000 -F image.tif -W 16\n"
        "  helio-perf client --socket node1.sock -d ipn:2.2000 -T 20 -W 20 --reverse\n"};

static const struct argument_table server_table = {
    .options = server_options,
    .parts = common,
    .word = refuse_word,
    .end = check_server,
    .doc =
        "Takes the bundles of helio-perf clients, checks and acknowledges them.\vCtrl-C ends it; "
        "a row is printed for each client that has ended.\n\nexamples:\n"
        "  helio-perf server --socket node2.sock\n"
        "  helio-perf server --socket node2.sock --output received --json server.json\n"};

static const struct argument_table monitor_table = {
    .options = monitor_options,
    .parts = common,
    .word = refuse_word,
    .end = check_socket,
    .doc = "Takes status reports, and writes a table (CSV) of them for each sender, as DTNperf_3's "
           "monitor does.\vCtrl-C ends it.\n\nexamples:\n"
           "  helio-perf monitor --socket n1.sock --output reports\n"
           "  helio-perf client --socket n1.sock -d ipn:2.2000 -D 1M -W 4 -r -m ipn:1.1000\n"};

void perf_options_read(struct perf_options *o, int argc, char **argv)
{
    static const char *const monitor_names[2] = {"1000", "monitor"};
    argp_err_exit_status = 2;
    argp_program_version = "helio-perf " HELIO_VERSION;
    *o = (struct perf_options){.linger = 10 * TICK_S,
                               .payload = PAYLOAD_DEFAULT,
                               .interval = TICK_S,
                               .lifetime_ms = 300000,
                               .payload_max = UINT64_C(1) << 30,
                               .file_max = UINT64_C(16) << 30,
                               .deliveries = 64,
                               .reverse_max = 3600 * TICK_S};
    char *name = argv[1];
    char shown[32];
    o->server = strstr(name, "server") != NULL;
    o->monitor = strstr(name, "monitor") != NULL;
    if (o->monitor)
        o->well_known = monitor_names;
    const struct argument_table *table = o->server    ? &server_table
                                         : o->monitor ? &monitor_table
                                                      : &client_table;
    snprintf(shown, sizeof shown, "helio-perf %s",
             o->server    ? "server"
             : o->monitor ? "monitor"
                          : "client");
    argv[1] = shown;
    argument_table_parse(table, argc - 1, argv + 1, o);
    argv[1] = name;
}
