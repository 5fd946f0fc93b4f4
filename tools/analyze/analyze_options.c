/* SPDX-License-Identifier: Apache-2.0 */
/* Options and files in the order in which they are written: --at is about the captures after it.
 * What can go wrong is the user's: each message says what would be right. */
#include "tools/analyze/analyze_options.h"

#include <argp.h>
#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "os/arguments.h"

enum {
    OPT_SERIES = 256,
    OPT_BIN,
    OPT_CDF,
    OPT_BUNDLES,
    OPT_TABLES,
    OPT_PLOT,
    OPT_HTML,
    OPT_SESSION,
    OPT_TIMELINE,
    OPT_EXTRACT,
    OPT_DROPS,
    OPT_PORT,
    OPT_AT,
    OPT_ENGINE,
    OPT_CLOCK,
    OPT_RUN,
    OPT_IDEAL,
    OPT_CYCLE,
    OPT_RTO,
    OPT_CAPACITY,
    OPT_RATE,
    OPT_TRACE,
    OPT_OVERHEAD
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "Input:", 1},
    {"drops", OPT_DROPS, "FILE", 0, "The drop log of helio-emu (also known by its header)", 1},
    {"port", OPT_PORT, "N[,N...]", 0,
     "UDP ports of LTP in captures [1113, and pairs of ports on which all is LTP]", 1},
    {"at", OPT_AT, "sender|receiver|auto", 0,
     "At which end the captures that follow were taken [auto]", 1},
    {"engine", OPT_ENGINE, "ADDR[:PORT]=N", 0,
     "In captures the LTP engine at this address has number N", 1},
    {"clock", OPT_CLOCK, "auto|NODE=[-]TIME", 0,
     "The node's clock is ahead by so much, or behind: its times are put right (repeatable); auto: "
     "as the logs of both ends show it, drift included",
     1},
    {"run", OPT_RUN, "N", 0, "Of logs that hold several runs one behind the other, the Nth [all]",
     1},
    {"strict", 'S', NULL, 0, "Stop at the first malformed row", 1},
    {0, 0, 0, 0, "Output:", 2},
    {"json", 'j', NULL, 0, "Print the summary as JSON", 2},
    {"sessions", 's', "OUT.csv", 0, "Write one row per session (- for standard output)", 2},
    {"series", OPT_SERIES, "OUT.csv", 0, "Write goodput and more over time", 2},
    {"bin", OPT_BIN, "TIME", 0, "Step of the series [1s; of figures alone to suit]", 2},
    {"cdf", OPT_CDF, "OUT.csv", 0, "Write the distributions of session and delivery times", 2},
    {"bundles", OPT_BUNDLES, "OUT.csv", 0,
     "Write one row for each stay of a bundle at a node, from bundle logs", 2},
    {"tables", OPT_TABLES, "DIR", 0,
     "Write sessions.csv, series.csv, cdf.csv, summary.json, and bundles.csv if there are bundle "
     "logs",
     2},
    {"plot", OPT_PLOT, "DIR", 0, "Draw figures there, as PNG and SVG", 2},
    {"html", OPT_HTML, "FILE", 0,
     "Write a page with summary, figures, tables and timelines of sessions' segments", 2},
    {"session", OPT_SESSION, "ORIGINATOR:NUMBER", 0,
     "This session is shown on the page, or extracted (repeatable)", 2},
    {"timeline", OPT_TIMELINE, "N", 0,
     "And so many slow, lossy, failed and ordinary ones, 0 to 64 [12]", 2},
    {"extract", OPT_EXTRACT, "DIR", 0, "Write the rows of these sessions there, as logs", 2},
    {0, 0, 0, 0, "Model:", 3},
    {"ideal", OPT_IDEAL, "TIME", 0, "Session without losses [from the log]", 3},
    {"cycle", OPT_CYCLE, "TIME", 0, "Expected retransmission cycle [from the log]", 3},
    {"rto", OPT_RTO, "TIME", 0, "Retransmission timer of checkpoints [from the log]", 3},
    {"capacity", OPT_CAPACITY, "RATE", 0, "Payload that the link can carry, for the efficiency", 3},
    {"rate", OPT_RATE, "RATE", 0, "Nominal rate, bits on the air: the capacity follows", 3},
    {"trace", OPT_TRACE, "TRACE", 0,
     "Erasures of the link, for the capacity: a file, A, F, H, leo-low, leo-high, jpl-47km, iid:P "
     "or none "
     "[none]",
     3},
    {"overhead", OPT_OVERHEAD, "BYTES", 0, "On the air beside each segment [42]", 3},
    {0}};

static double read_rate(struct argp_state *state, const char *option, const char *arg)
{
    uint64_t bps = argument_rate(state, option, arg);
    if (bps == 0)
        argument_want(state, option, arg, units_rate_hint);
    return (double)bps;
}

static void add_file(struct analyze_options *o, struct argp_state *state, const char *path,
                     bool drops)
{
    if (o->files_len == OPTIONS_FILES_MAX)
        argp_error(state, "more than %d files", OPTIONS_FILES_MAX);
    o->files[o->files_len++] = (struct input_file){.path = path, .drops = drops, .at = o->at};
}

/* A file, or all logs of a folder. */
static void add_input(struct analyze_options *o, struct argp_state *state, const char *path)
{
    char **logs;
    if (!analyze_is_folder(path)) {
        add_file(o, state, path, false);
        return;
    }
    size_t n = analyze_folder_logs(path, &logs);
    if (n == 0)
        argp_error(state, "%s has no logs: *.segments.csv, *.bundles.csv or *.drops.csv are wanted",
                   path);
    for (size_t i = 0; i < n; i++) {
        add_file(o, state, logs[i], false); /* which ends the program when there are too many */
        o->owned[o->owned_len++] = logs[i];
    }
    free(logs);
}

static void parse_ports(struct analyze_options *o, struct argp_state *state, const char *arg)
{
    const char *p = arg;
    bool another = true;
    while (another) {
        char *end;
        unsigned long v = strtoul(p, &end, 10);
        if (*p < '0' || *p > '9' || v < 1 || v > 65535 || (*end != ',' && *end != '\0') ||
            o->watch.ports_len == OPTIONS_PORTS_MAX) {
            argument_want(state, "port", arg,
                          "up to 64 numbers from 1 to 65535, as in 1113 or 1113,2113");
            return;
        }
        o->ports[o->watch.ports_len++] = (uint16_t)v;
        another = *end == ',';
        p = end + 1;
    }
    o->watch.ports = o->ports;
}

static void parse_at(struct analyze_options *o, struct argp_state *state, const char *arg)
{
    static const char *const words[] = {"auto", "sender", "receiver"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(arg, words[i]) == 0) {
            o->at = (enum watch_place)i;
            return;
        }
    }
    argument_want(state, "at", arg, "sender, receiver or auto");
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

static void parse_engine(struct analyze_options *o, struct argp_state *state, const char *arg)
{
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
        argument_want(state, "engine", arg,
                      "an address and a number, as in 10.0.0.2=2 or [::1]:1113=2");
    o->engines[o->watch.engines_len++] = e;
    o->watch.engines = o->engines;
}

static void parse_clock(struct analyze_options *o, struct argp_state *state, const char *arg)
{
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
        argument_want(
            state, "clock", arg,
            "auto, or a node and what its clock is ahead, each node once, as in 2=3.2s or "
            "2=-15ms");
        return;
    }
    f.offset_ns = *equal == '-' ? -(double)by : (double)by;
    o->fixes[o->fixes_len++] = f;
}

static void parse_run(struct analyze_options *o, struct argp_state *state, const char *arg)
{
    if (units_count(arg, 1000000, &o->run) != 0 || o->run == 0)
        argument_want(state, "run", arg, "a number from 1 on");
}

/* What has to do with several options. */
static void check_options(const struct analyze_options *o, struct argp_state *state)
{
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

static error_t parse_model(int key, char *arg, struct argp_state *state)
{
    struct analyze_options *o = state->input;
    switch (key) {
    case OPT_IDEAL:
        o->model.ideal = argument_time(state, "ideal", arg, 0);
        return 0;
    case OPT_CYCLE:
        o->model.cycle = argument_time(state, "cycle", arg, 0);
        return 0;
    case OPT_RTO:
        o->model.rto = argument_time(state, "rto", arg, 0);
        o->watch.rto = o->model.rto;
        return 0;
    case OPT_CAPACITY:
        o->model.capacity_bps = read_rate(state, "capacity", arg);
        return 0;
    case OPT_RATE:
        o->model.rate_bps = read_rate(state, "rate", arg);
        return 0;
    case OPT_TRACE:
        o->trace = arg;
        return 0;
    case OPT_OVERHEAD:
        if (units_size(arg, &o->model.overhead) != 0 || o->model.overhead > 65535)
            argument_want(state, "overhead", arg, "0 to 65535 bytes");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void parse_session(struct analyze_options *o, struct argp_state *state, const char *arg)
{
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
        argument_want(state, "session", arg,
                      "the originator's and the session's number, as in 1:17");
    for (size_t i = 0; i < o->names_len; i++)
        if (o->names[i].originator == n->originator && o->names[i].number == n->number)
            return;
    if (++o->names_len == EXTRACT_SESSIONS_MAX / 2)
        argp_error(state, "--session: less than %d of them", EXTRACT_SESSIONS_MAX / 2);
}

static error_t parse_page(int key, char *arg, struct argp_state *state)
{
    struct analyze_options *o = state->input;
    switch (key) {
    case OPT_PLOT:
        o->plot = arg;
        return 0;
    case OPT_HTML:
        o->html = arg;
        return 0;
    case OPT_SESSION:
        parse_session(o, state, arg);
        return 0;
    case OPT_TIMELINE:
        if (units_count(arg, 64, &o->timeline) != 0)
            argument_want(state, "timeline", arg, "a number from 0 to 64");
        return 0;
    case OPT_EXTRACT:
        o->extract = arg;
        return 0;
    default:
        return parse_model(key, arg, state);
    }
}

static error_t parse_output(int key, char *arg, struct argp_state *state)
{
    struct analyze_options *o = state->input;
    switch (key) {
    case 'j':
        o->json = true;
        return 0;
    case 's':
        o->sessions = arg;
        return 0;
    case OPT_SERIES:
        o->series = arg;
        return 0;
    case OPT_BIN:
        o->bin = argument_time(state, "bin", arg, 0);
        if (o->bin < 100 * TICK_US)
            argument_want(state, "bin", arg, "at least 100us");
        return 0;
    case OPT_CDF:
        o->cdf = arg;
        return 0;
    case OPT_BUNDLES:
        o->bundles = arg;
        return 0;
    case OPT_TABLES:
        o->tables = arg;
        return 0;
    default:
        return parse_page(key, arg, state);
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct analyze_options *o = state->input;
    switch (key) {
    case OPT_DROPS:
        add_file(o, state, arg, true);
        return 0;
    case OPT_PORT:
        parse_ports(o, state, arg);
        return 0;
    case OPT_AT:
        parse_at(o, state, arg);
        return 0;
    case OPT_ENGINE:
        parse_engine(o, state, arg);
        return 0;
    case OPT_CLOCK:
        parse_clock(o, state, arg);
        return 0;
    case OPT_RUN:
        parse_run(o, state, arg);
        return 0;
    case 'S':
        o->strict = true;
        return 0;
    case ARGP_KEY_ARG:
        add_input(o, state, arg);
        return 0;
    case ARGP_KEY_END:
        check_options(o, state);
        return 0;
    default:
        return parse_output(key, arg, state);
    }
}

void analyze_options_parse(struct analyze_options *o, int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse_option,
        "FILE...",
        "Reads segment logs, bundle logs, drop logs and captures (pcap, pcapng) of LTP over UDP, "
        "plain or gzip (- for standard input), and shows what became of the LTP sessions, and of "
        "bundles. Give the logs or captures of both ends of a link together, or the drop log: then "
        "losses are known. A folder stands for all logs in it."
        "\vexamples:\n"
        "  helio-analyze node1.segments.csv node2.segments.csv\n"
        "  helio-analyze out/lab-line-sim-20261122-120000\n"
        "  helio-analyze --bundles lives.csv node*.bundles.csv node*.segments.csv\n"
        "  helio-analyze --tables out --rate 500Mbit/s --trace A node1.csv drops.csv\n"
        "  helio-analyze --html page.html --plot figures node1.csv.gz node2.csv.gz\n"
        "  helio-analyze --at sender a.pcap --at receiver b.pcap\n"
        "\nexit codes: 0 done, 1 a file could not be read or written, 2 wrong usage",
        NULL,
        NULL,
        NULL};
    *o = (struct analyze_options){
        .timeline = 12,
        .watch = {.rto = TICK_NEVER},
        .model = {TICK_NEVER, TICK_NEVER, TICK_NEVER, NAN, NAN, 1, 42},
    };
    argp_err_exit_status = 2;
    argp_program_version = "helio-analyze " HELIO_VERSION;
    argument_parse(&argp, argc, argv, ARGP_IN_ORDER, o);
}

void analyze_options_fini(struct analyze_options *o)
{
    for (size_t i = 0; i < o->owned_len; i++)
        free(o->owned[i]);
    o->owned_len = o->files_len = 0;
}
