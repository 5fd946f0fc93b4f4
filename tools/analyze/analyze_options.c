/* SPDX-License-Identifier: Apache-2.0 */
/* Options and files in the order in which they are written: --at is about the captures after it.
 * What can go wrong is the user's: each message says what would be right. */
#include "tools/analyze/analyze_options.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/conf_arguments.h"
#include "os/arguments.h"

/* As a double. */
static void set_rate(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    *(double *)argument_field(row, base) = (double)argument_number(state, row, arg);
}

static void add_file(struct analyze_options *o, struct argp_state *state, const char *path,
                     bool drops)
{
    if (o->files_len == OPTIONS_FILES_MAX)
        argp_error(state, "there are more than %d files", OPTIONS_FILES_MAX);
    o->files[o->files_len++] = (struct input_file){.path = path, .drops = drops, .at = o->at};
}

static void add_drops(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    (void)row;
    add_file(base, state, arg, true);
}

/* A file, or all logs of a folder. */
static void add_input(struct argp_state *state, char *path, void *base)
{
    struct analyze_options *o = base;
    char **logs;
    if (!analyze_is_folder(path)) {
        add_file(o, state, path, false);
        return;
    }
    size_t n = analyze_folder_logs(path, &logs);
    if (n == 0)
        argp_error(state, "%s has no logs: *.segments.csv, *.bundles.csv or *.drops.csv", path);
    for (size_t i = 0; i < n; i++) {
        add_file(o, state, logs[i], false); /* which ends the program when there are too many */
        o->owned[o->owned_len++] = logs[i];
    }
    free(logs);
}

static void set_ports(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    (void)row;
    struct analyze_options *o = base;
    const char *p = arg;
    bool another = true;
    while (another) {
        char *end;
        unsigned long v = strtoul(p, &end, 10);
        if (*p < '0' || *p > '9' || v < 1 || v > 65535 || (*end != ',' && *end != '\0') ||
            o->watch.ports_len == OPTIONS_PORTS_MAX) {
            argument_want(state, arg,
                          "up to 64 numbers from 1 to 65535, such as 1113 or 1113,2113");
            return;
        }
        o->ports[o->watch.ports_len++] = (uint16_t)v;
        another = *end == ',';
        p = end + 1;
    }
    o->watch.ports = o->ports;
}

/* ADDR, ADDR:PORT or [ADDR]:PORT. */
static bool parse_end(struct watch_end *end, char *text)
{
    char *address = text, *port = NULL;
    if (*text == '[') {
        address = text + 1;
        char *close = strchr(text, ']');
        if (close == NULL)
            return false;
        *close = '\0';
        port = close[1] == ':' ? close + 2 : NULL;
    } else if (strchr(text, ':') != NULL && strchr(text, ':') == strrchr(text, ':')) {
        port = strchr(text, ':') + 1;
        port[-1] = '\0';
    }
    uint64_t number = 0;
    if (port != NULL && (units_count(port, 65535, &number) != 0 || number == 0))
        return false;
    end->port = (uint16_t)number;
    end->family = strchr(address, ':') != NULL ? 6 : 4;
    return inet_pton(end->family == 6 ? AF_INET6 : AF_INET, address, end->ip) == 1;
}

static void add_engine(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    (void)row;
    struct analyze_options *o = base;
    char text[128];
    const char *equal = strrchr(arg, '=');
    struct watch_engine e = {0};
    bool ok = equal != NULL && (size_t)(equal - arg) < sizeof text &&
              o->watch.engines_len < OPTIONS_ENGINES_MAX;
    if (ok) {
        memcpy(text, arg, (size_t)(equal - arg));
        text[equal - arg] = '\0';
        ok = parse_end(&e.end, text) && units_count(equal + 1, WATCH_UNKNOWN - 1, &e.number) == 0;
    }
    if (!ok)
        argument_want(state, arg, "an address and a number, such as 10.0.0.2=2 or [::1]:1113=2");
    o->engines[o->watch.engines_len++] = e;
    o->watch.engines = o->engines;
}

static void set_clock(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    (void)row;
    struct analyze_options *o = base;
    char text[64];
    const char *equal = strchr(arg, '=');
    if (strcmp(arg, "auto") == 0) {
        o->clock_auto = true;
        return;
    }
    struct clocks_fix f = {0};
    tick by = 0;
    bool ok =
        equal != NULL && (size_t)(equal - arg) < sizeof text && o->fixes_len < CLOCKS_FIXES_MAX;
    if (ok) {
        memcpy(text, arg, (size_t)(equal - arg));
        text[equal - arg] = '\0';
        equal += 1 + (equal[1] == '+');
        ok = units_count(text, WATCH_UNKNOWN - 1, &f.node) == 0 &&
             units_duration(equal + (*equal == '-'), &by) == 0 &&
             clocks_fix_find(o->fixes, o->fixes_len, f.node) == NULL;
    }
    if (!ok) {
        argument_want(state, arg,
                      "auto, or a node and what its clock is ahead, each node once, such as "
                      "2=3.2s or 2=-15ms");
        return;
    }
    f.offset_ns = *equal == '-' ? -(double)by : (double)by;
    o->fixes[o->fixes_len++] = f;
}

/* What has to do with several options. */
static void check_options(struct argp_state *state, void *base)
{
    struct analyze_options *o = base;
    o->watch.rto = o->model.rto;
    if (o->names_len > 0 && o->html == NULL && o->extract == NULL)
        argp_error(state, "--session is for --html or --extract");
    if (o->files_len == 0)
        argp_error(state, "no input: segment logs or bundle logs (LOG.csv) of one or more "
                          "nodes, or captures (FILE.pcap)");
    if (o->clock_auto && o->fixes_len > 0)
        argp_error(state, "--clock auto and --clock NODE=TIME do not go together");
    for (size_t i = 0; i < o->files_len; i++)
        if (o->clock_auto && strcmp(o->files[i].path, "-") == 0)
            argp_error(state, "--clock auto reads its inputs twice: no standard input");
}

static void add_session(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    (void)row;
    struct analyze_options *o = base;
    char text[64];
    const char *colon = strchr(arg, ':');
    struct analyze_name *n = &o->names[o->names_len];
    bool ok = colon != NULL && (size_t)(colon - arg) < sizeof text;
    if (ok) {
        memcpy(text, arg, (size_t)(colon - arg));
        text[colon - arg] = '\0';
        ok = units_count(text, WATCH_UNKNOWN - 1, &n->originator) == 0 &&
             units_count(colon + 1, UINT64_MAX - 1, &n->number) == 0;
    }
    if (!ok)
        argument_want(state, arg, "the originator's and the session's number, such as 1:17");
    for (size_t i = 0; i < o->names_len; i++)
        if (o->names[i].originator == n->originator && o->names[i].number == n->number)
            return;
    if (++o->names_len == EXTRACT_SESSIONS_MAX / 2)
        argp_error(state, "--session: less than %d of them", EXTRACT_SESSIONS_MAX / 2);
}

#define FIELD(member) ARGUMENT_FIELD(struct analyze_options, member)
#define RATE(member) .type = OPTION_RATE, .min = 1, .own = set_rate, FIELD(member)

static const struct argument options[] = {
    {NULL, .help = "Input:", .group = 1},
    {"drops", 0, "FILE", .help = "The drop log of helio-emu (also known by its header)", .group = 1,
     .own = add_drops},
    {"port", 0, "N[,N...]",
     .help = "UDP ports of LTP in captures [1113, and pairs of ports on which all is LTP]",
     .group = 1, .own = set_ports},
    {"at", 0, "sender|receiver|auto",
     .help = "At which end the captures that follow were taken [auto]", .group = 1,
     .type = OPTION_CHOICE, .choices = "auto|sender|receiver", FIELD(at)},
    {"engine", 0, "ADDR[:PORT]=N",
     .help = "In captures the LTP engine at this address has number N", .group = 1,
     .own = add_engine},
    {"clock", 0, "auto|NODE=[-]TIME",
     .help = "The node's clock is ahead by so much, or behind: its times are put right "
             "(repeatable); auto: as the logs of both ends show it, drift included",
     .group = 1, .own = set_clock},
    {"run", 0, "N", .help = "Of logs that hold several runs one behind the other, the Nth [all]",
     .group = 1, .type = OPTION_COUNT, .min = 1, .max = 1000000, FIELD(run)},
    {"strict", 'S', .help = "Stop at the first malformed row", .group = 1, .type = OPTION_BOOL,
     FIELD(strict)},
    {NULL, .help = "Output:", .group = 2},
    {"json", 'j', .help = "Print the summary as JSON", .group = 2, .type = OPTION_BOOL,
     FIELD(json)},
    {"sessions", 's', "OUT.csv", .help = "Write one row per session (- for standard output)",
     .group = 2, FIELD(sessions)},
    {"series", 0, "OUT.csv", .help = "Write goodput and more over time", .group = 2, FIELD(series)},
    {"bin", 0, "TIME", .help = "Step of the series [1s; of figures alone to suit]", .group = 2,
     .type = OPTION_DURATION, .min = 100 * TICK_US, FIELD(bin)},
    {"cdf", 0, "OUT.csv", .help = "Write the distributions of session and delivery times",
     .group = 2, FIELD(cdf)},
    {"bundles", 0, "OUT.csv",
     .help = "Write one row for each stay of a bundle at a node, from bundle logs", .group = 2,
     FIELD(bundles)},
    {"tables", 0, "DIR",
     .help = "Write sessions.csv, series.csv, cdf.csv, summary.json, and bundles.csv if there are "
             "bundle logs",
     .group = 2, FIELD(tables)},
    {"plot", 0, "DIR", .help = "Draw figures there, as PNG and SVG", .group = 2, FIELD(plot)},
    {"html", 0, "FILE",
     .help = "Write a page with summary, figures, tables and timelines of sessions' segments",
     .group = 2, FIELD(html)},
    {"session", 0, "ORIGINATOR:NUMBER",
     .help = "This session is shown on the page, or extracted (repeatable)", .group = 2,
     .own = add_session},
    {"timeline", 0, "N", .help = "And so many slow, lossy, failed and ordinary ones, 0 to 64 [12]",
     .group = 2, .type = OPTION_COUNT, .max = 64, FIELD(timeline)},
    {"extract", 0, "DIR", .help = "Write the rows of these sessions there, as logs", .group = 2,
     FIELD(extract)},
    {NULL, .help = "Model:", .group = 3},
    {"ideal", 0, "TIME", .help = "Session without losses [from the log]", .group = 3,
     .type = OPTION_DURATION, FIELD(model.ideal)},
    {"cycle", 0, "TIME", .help = "Expected retransmission cycle [from the log]", .group = 3,
     .type = OPTION_DURATION, FIELD(model.cycle)},
    {"rto", 0, "TIME", .help = "Retransmission timer of checkpoints [from the log]", .group = 3,
     .type = OPTION_DURATION, FIELD(model.rto)},
    {"capacity", 0, "RATE", .help = "Payload that the link can carry, for the efficiency",
     .group = 3, RATE(model.capacity_bps)},
    {"rate", 0, "RATE", .help = "Nominal rate, bits on the air: the capacity follows", .group = 3,
     RATE(model.rate_bps)},
    {"trace", 0, "TRACE",
     .help = "Erasures of the link, for the capacity: a file, A, F, H, leo-low, leo-high, "
             "jpl-47km, iid:P or none [none]",
     .group = 3, FIELD(trace)},
    {"overhead", 0, "BYTES", .help = "On the air beside each segment [42]", .group = 3,
     .type = OPTION_SIZE, .max = 65535, FIELD(model.overhead)},
    {0}};

void analyze_options_parse(struct analyze_options *o, int argc, char **argv)
{
    static const struct argument_table table = {
        .options = options,
        .word = add_input,
        .end = check_options,
        .flags = ARGP_IN_ORDER,
        .args_doc = "FILE...",
        .doc = "Reads segment logs, bundle logs, drop logs and captures (pcap, pcapng) of LTP over "
               "UDP, "
               "plain or gzip (- for standard input), and shows what became of the LTP sessions, "
               "and of "
               "bundles. Give the logs or captures of both ends of a link together, or the drop "
               "log: then "
               "losses are known. A folder stands for all logs in it."
               "\vexamples:\n"
               "  helio-analyze node1.segments.csv node2.segments.csv\n"
               "  helio-analyze out/lab-line-sim-20261122-120000\n"
               "  helio-analyze --bundles lives.csv node*.bundles.csv node*.segments.csv\n"
               "  helio-analyze --tables out --rate 500Mbit/s --trace A node1.csv drops.csv\n"
               "  helio-analyze --html page.html --plot figures node1.csv.gz node2.csv.gz\n"
               "  helio-analyze --at sender a.pcap --at receiver b.pcap\n"
               "\nexit codes: 0 done, 1 a file could not be read or written, 2 wrong usage"};
    *o = (struct analyze_options){
        .timeline = 12,
        .watch = {.rto = TICK_NEVER},
        .model = {TICK_NEVER, TICK_NEVER, TICK_NEVER, NAN, NAN, 1, 42},
    };
    argp_err_exit_status = 2;
    argp_program_version = "helio-analyze " HELIO_VERSION;
    argument_table_parse(&table, argc, argv, o);
}

void analyze_options_fini(struct analyze_options *o)
{
    for (size_t i = 0; i < o->owned_len; i++)
        free(o->owned[i]);
    o->owned_len = o->files_len = 0;
}
