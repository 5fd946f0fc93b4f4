/* SPDX-License-Identifier: Apache-2.0 */
/* Two tables of options, one parser. Values are checked one by one as they are read, and together
 * at the end. What can go wrong is what people type; every message names the option and what would
 * be right. */
#include "tools/perf/perf_options.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "bp/codec/qos.h"
#include "os/arguments.h"
#include "tools/perf/perf_wire.h"

#define PAYLOAD_DEFAULT 50000
#define PAYLOAD_LIMIT (UINT64_C(1) << 31)
#define PARALLEL_LIMIT 64
#define WINDOW_LIMIT (UINT64_C(1) << 20)

enum {
    KEY_SOCKET = 256,
    KEY_SERVICE,
    KEY_JSON,
    KEY_RECONNECT,
    KEY_LINGER,
    KEY_CRC,
    KEY_WARMUP,
    KEY_ACK_TIMEOUT,
    KEY_OUTPUT,
    KEY_PAYLOAD_MAX,
    KEY_FILE_MAX,
    KEY_DELIVERIES,
    KEY_DELIVERED,
    KEY_DELETED,
    KEY_CSV,
    KEY_RAMP,
    KEY_PARALLEL,
    KEY_REVERSE,
    KEY_REVERSE_MAX,
};

#define COMMON_OPTIONS                                                                             \
    {"socket", KEY_SOCKET, "PATH", 0, "the node's application socket", 0},                         \
        {"json", KEY_JSON, "FILE", 0, "write the result as JSON (- for standard output)", 0},      \
        {"reconnect",                                                                              \
         KEY_RECONNECT,                                                                            \
         "S",                                                                                      \
         OPTION_ARG_OPTIONAL,                                                                      \
         "when the node goes away, try again for S seconds (60), and send again what it had not "  \
         "confirmed",                                                                              \
         0},                                                                                       \
    {                                                                                              \
        "linger", KEY_LINGER, "S", 0,                                                              \
            "wait for what is missing at the end until nothing came for S seconds (10)", 0         \
    }

static const struct argp_option client_options[] = {
    {"destination", 'd', "EID", 0, "the server's endpoint, such as ipn:2.2000; or the word EID", 0},
    {"time", 'T', "S", 0, "send for S seconds (fractions allowed)", 0},
    {"data", 'D', "N[B|k|M|G]", 0, "send N bytes, as in 500kB; k, M, G: 10^3, 10^6, 10^9", 0},
    {"bundles", 'n', "N", 0, "send N bundles of -P each", 0},
    {"count", 'c', NULL, OPTION_ALIAS, NULL, 0},
    {"file", 'F', "PATH", 0, "send a file, which the server rebuilds", 0},
    {"window", 'W', "N", 0, "at most N bundles without an acknowledgement", 0},
    {"rate", 'R', "N[k|M|b]", 0, "N bit/s, or bundles/s (b)", 0},
    {"payload", 'P', "N[B|k|M]", 0, "payload of a bundle, bytes (50k)", 0},
    {"size", 's', NULL, OPTION_ALIAS, NULL, 0},
    {"lifetime", 'l', "S", 0, "lifetime of the bundles (300)", 0},
    {"priority", 'p', "CLASS[:N]", 0,
     "bulk, normal or expedited; expedited:N with an ordinal, 0 to 254, higher ones first", 0},
    {"no-fragment", 'N', NULL, 0, "bundles must not go in fragments", 0},
    {"nofragment", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
    {"received", 'r', NULL, 0, "ask each node for a status report when it receives one", 0},
    {"forwarded", 'f', NULL, 0, "the same when it forwards one", 0},
    {"delivered", KEY_DELIVERED, NULL, 0, "the same when one is delivered", 0},
    {"deleted", KEY_DELETED, NULL, 0, "the same when one is deleted", 0},
    {"del", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
    {"monitor", 'm', "EID", 0,
     "whom status reports go to, such as a helio-perf monitor (us, who count them)", 0},
    {"interval", 'i', "S", 0,
     "a line for each S seconds with what happened in them (1; 0: none), also in the JSON", 0},
    {"csv", KEY_CSV, "FILE", 0, "write the intervals to a table, too", 0},
    {"ramp", KEY_RAMP, "N[k|M|b]", 0, "with -R and -T: the rate grows, or falls, to this one", 0},
    {"parallel", KEY_PARALLEL, "N", 0, "N clients at once, each with all of this (1)", 0},
    {"reverse", KEY_REVERSE, NULL, 0,
     "the server sends, and we receive and measure: the amount, -W or -R, -P and the like are its",
     0},
    {"crc", KEY_CRC, "none|16|32c", OPTION_ARG_OPTIONAL,
     "check value of the payload block (the node's default; --crc alone: 32c)", 0},
    {"warmup", KEY_WARMUP, "S", 0, "leave the first S seconds out of goodput and delays", 0},
    {"ack-timeout", KEY_ACK_TIMEOUT, "S", 0,
     "when an acknowledgement counts as lost (by the delays seen)", 0},
    {"service", KEY_SERVICE, "NAME", 0, "our own endpoint's service (a random number)", 0},
    COMMON_OPTIONS,
    {0}};

static const struct argp_option server_options[] = {
    {"service", KEY_SERVICE, "NAME", 0, "our endpoint's service (2000; dtn: perf)", 0},
    {"lifetime", 'l', "S", 0, "lifetime of the acknowledgements (300)", 0},
    {"output", KEY_OUTPUT, "DIR", 0, "rebuild files in DIR (otherwise only counted)", 0},
    {"payload-max", KEY_PAYLOAD_MAX, "N", 0, "longest payload taken (1G)", 0},
    {"file-max", KEY_FILE_MAX, "N", 0, "longest file taken (16GiB)", 0},
    {"deliveries", KEY_DELIVERIES, "N", 0, "deliveries on the way from the node at once (64)", 0},
    {"reverse-max", KEY_REVERSE_MAX, "S", 0,
     "how long a client may have us send to it with --reverse (3600; 0: not at all)", 0},
    COMMON_OPTIONS,
    {0}};

static const struct argp_option monitor_options[] = {
    {"service", KEY_SERVICE, "NAME", 0, "our endpoint's service (1000; dtn: monitor)", 0},
    {"output", KEY_OUTPUT, "DIR", 0, "folder for the tables (.)", 0},
    {"deliveries", KEY_DELIVERIES, "N", 0, "deliveries on the way from the node at once (64)", 0},
    COMMON_OPTIONS,
    {0}};

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

static tick read_seconds(struct argp_state *state, const struct argument *o, const char *arg)
{
    tick t = 0;
    if (perf_options_time(arg, &t) != 0 || t < o->min)
        argument_want(state, o->name, arg,
                      "a time of at least 1 ms: in seconds, such as 60, or with a unit");
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
        argument_want(state, o->name, arg, "bulk, normal, expedited, or expedited:N");
}

static void need_option(struct argp_state *state, bool right, const char *option, const char *arg,
                        const char *hint)
{
    if (!right)
        argp_error(state, "%s %s: %s is wanted", option, arg, hint);
}

#define TIME_HINT "a time in seconds, such as 20 or 0.5,"
#define SIZE_HINT "a size, such as 500000, 500kB, 50k or 4M,"

static void read_time(struct argp_state *state, const char *option, const char *arg, tick least,
                      tick *out)
{
    need_option(state, perf_options_time(arg, out) == 0 && *out >= least, option, arg, TIME_HINT);
}

static void read_size(struct argp_state *state, const char *option, const char *arg, uint64_t least,
                      uint64_t most, uint64_t *out)
{
    need_option(state, perf_options_size(arg, out) == 0, option, arg, SIZE_HINT);
    if (*out < least || *out > most)
        argp_error(state, "%s %s: from %llu to %llu bytes are possible", option, arg,
                   (unsigned long long)least, (unsigned long long)most);
}

static void set_mode(struct perf_options *o, struct argp_state *state, enum perf_mode mode)
{
    if (o->mode != PERF_MODE_NONE)
        argp_error(state, "exactly one of -T, -D, -n and -F says how much to send");
    o->mode = mode;
}

static uint32_t read_crc(struct argp_state *state, const char *arg)
{
    static const char *const names[] = {"none", "16", "32c"};
    for (uint32_t i = 0; i < 3; i++)
        if (strcmp(arg, names[i]) == 0)
            return i + 1;
    argp_error(state, "--crc=%s: none, 16 or 32c is wanted", arg);
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

static error_t parse_common(struct perf_options *o, int key, char *arg, struct argp_state *state)
{
    tick t = 0;
    switch (key) {
    case 'l':
        read_time(state, "-l", arg, TICK_MS, &t);
        o->lifetime_ms = t / TICK_MS;
        return 0;
    case KEY_SOCKET:
        o->socket = arg;
        return 0;
    case KEY_SERVICE:
        need_option(state, *arg != '\0' && strlen(arg) < 64, "--service", arg,
                    "a short name or number");
        o->service = arg;
        return 0;
    case KEY_JSON:
        o->json = arg;
        return 0;
    case KEY_RECONNECT:
        read_time(state, "--reconnect", arg != NULL ? arg : "60", 1, &o->reconnect);
        return 0;
    case KEY_LINGER:
        read_time(state, "--linger", arg, 0, &o->linger);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "%s: what is this? Options only", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_amount(struct perf_options *o, int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case 'T':
        set_mode(o, state, PERF_MODE_TIME);
        read_time(state, "-T", arg, 1, &o->time);
        return 0;
    case 'D':
        set_mode(o, state, PERF_MODE_DATA);
        read_size(state, "-D", arg, 1, INT64_MAX, &o->data);
        return 0;
    case 'n':
    case 'c':
        set_mode(o, state, PERF_MODE_DATA);
        need_option(state, units_count(arg, INT64_MAX, &o->bundles) == 0 && o->bundles > 0, "-n",
                    arg, "a number of bundles from 1 on");
        return 0;
    case 'F':
        set_mode(o, state, PERF_MODE_FILE);
        o->file = arg;
        return 0;
    case 'W':
        need_option(state, units_count(arg, WINDOW_LIMIT, &o->window) == 0 && o->window > 0, "-W",
                    arg, "a number of bundles from 1 to 1048576");
        return 0;
    case 'R':
        need_option(state, perf_options_rate(arg, &o->rate, &o->rate_in_bundles) == 0, "-R", arg,
                    "a rate, such as 500M (bit/s) or 20b (bundles/s),");
        return 0;
    default:
        return parse_common(o, key, arg, state);
    }
}

/* -n is so many whole bundles of data, whatever the order of -n and -P. */
static void set_bundles(struct perf_options *o, struct argp_state *state)
{
    if (o->bundles > INT64_MAX / o->payload)
        argp_error(state, "-n %llu: with bundles of %llu bytes at most %llu are possible",
                   (unsigned long long)o->bundles, (unsigned long long)o->payload,
                   (unsigned long long)(INT64_MAX / o->payload));
    if (o->bundles > 0)
        o->data = o->bundles * o->payload;
}

static void check_client(const struct perf_options *o, struct argp_state *state)
{
    if (o->destination == NULL)
        argp_error(state, "-d EID is missing: the server's endpoint, such as ipn:2.2000");
    if (o->mode == PERF_MODE_NONE)
        argp_error(state, "exactly one of -T, -D, -n and -F says how much to send");
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
    if (o->mode == PERF_MODE_TIME && o->warmup >= o->time)
        argp_error(state, "--warmup leaves nothing of -T to measure");
}

static void read_ramp(struct perf_options *o, const char *arg, struct argp_state *state)
{
    bool bundles;
    need_option(state, perf_options_rate(arg, &o->ramp, &bundles) == 0, "--ramp", arg,
                "a rate, such as 500M (bit/s) or 20b (bundles/s),");
    if (o->rate > 0 && bundles != o->rate_in_bundles)
        argp_error(state, "--ramp %s: it is of the kind of -R, bit/s or bundles/s", arg);
}

/* -i and --csv: figures while it runs. */
static error_t parse_intervals(struct perf_options *o, int key, char *arg, struct argp_state *state)
{
    o->intervals = true;
    if (key == 'i')
        read_time(state, "-i", arg, 0, &o->interval);
    else
        o->csv = arg;
    return 0;
}

/* By -d or as a word. */
static void read_destination(struct perf_options *o, int key, const char *arg,
                             struct argp_state *state)
{
    struct eid eid;
    need_option(state, strlen(arg) < 200 && eid_parse(arg, &eid) == 0, key == 'd' ? "-d" : "EID",
                arg, "an endpoint, such as ipn:2.2000,");
    if (o->destination != NULL)
        argp_error(state, "%s: one endpoint is wanted, and %s is given, too", arg, o->destination);
    o->destination = arg;
}

static error_t parse_client(int key, char *arg, struct argp_state *state)
{
    struct perf_options *o = state->input;
    struct eid eid;
    switch (key) {
    case 'd':
    case ARGP_KEY_ARG:
        read_destination(o, key, arg, state);
        return 0;
    case 'P':
    case 's':
        read_size(state, "-P", arg, PERF_HEAD, PAYLOAD_LIMIT, &o->payload);
        return 0;
    case 'p':
        need_option(state, perf_options_priority(arg, &o->priority, &o->ordinal) == 0, "-p", arg,
                    "bulk, normal, expedited, or expedited:N with N from 0 to 254,");
        return 0;
    case 'N':
        o->flags |= BUNDLE_NO_FRAGMENT;
        return 0;
    case 'r':
        o->flags |= BUNDLE_REPORT_RECEPTION | BUNDLE_REPORT_TIME;
        return 0;
    case 'f':
        o->flags |= BUNDLE_REPORT_FORWARDING | BUNDLE_REPORT_TIME;
        return 0;
    case KEY_DELIVERED:
        o->flags |= BUNDLE_REPORT_DELIVERY | BUNDLE_REPORT_TIME;
        return 0;
    case KEY_DELETED:
        o->flags |= BUNDLE_REPORT_DELETION | BUNDLE_REPORT_TIME;
        return 0;
    case 'm':
        need_option(state, strlen(arg) < 200 && eid_parse(arg, &eid) == 0, "-m", arg,
                    "an endpoint, such as ipn:1.1000,");
        o->report_to = arg;
        return 0;
    case 'i':
    case KEY_CSV:
        return parse_intervals(o, key, arg, state);
    case KEY_CRC:
        o->crc = read_crc(state, arg != NULL ? arg : "32c");
        return 0;
    case KEY_WARMUP:
        read_time(state, "--warmup", arg, 0, &o->warmup);
        return 0;
    case KEY_ACK_TIMEOUT:
        read_time(state, "--ack-timeout", arg, TICK_MS, &o->ack_timeout);
        return 0;
    case KEY_PARALLEL:
        need_option(state, units_count(arg, PARALLEL_LIMIT, &o->parallel) == 0 && o->parallel > 0,
                    "--parallel", arg, "a number of clients from 1 to 64");
        return 0;
    case KEY_RAMP:
        read_ramp(o, arg, state);
        return 0;
    case KEY_REVERSE:
        o->reverse = true;
        return 0;
    case ARGP_KEY_END:
        set_bundles(o, state);
        check_client(o, state);
        break;
    default:
        break;
    }
    if (key == ARGP_KEY_END && o->socket == NULL)
        argp_error(state, "--socket PATH is missing: the node's application socket");
    return parse_amount(o, key, arg, state);
}

static error_t parse_server(int key, char *arg, struct argp_state *state)
{
    struct perf_options *o = state->input;
    uint64_t n = 0;
    switch (key) {
    case KEY_OUTPUT:
        o->output = arg;
        return 0;
    case KEY_PAYLOAD_MAX:
        read_size(state, "--payload-max", arg, PERF_HEAD, PAYLOAD_LIMIT, &o->payload_max);
        return 0;
    case KEY_FILE_MAX:
        read_size(state, "--file-max", arg, 0, INT64_MAX, &o->file_max);
        return 0;
    case KEY_DELIVERIES:
        need_option(state, units_count(arg, 65536, &n) == 0 && n > 0, "--deliveries", arg,
                    "a number from 1 to 65536");
        o->deliveries = (uint32_t)n;
        return 0;
    case KEY_REVERSE_MAX:
        read_time(state, "--reverse-max", arg, 0, &o->reverse_max);
        return 0;
    case ARGP_KEY_END:
        if (o->socket == NULL)
            argp_error(state, "--socket PATH is missing: the node's application socket");
        return 0;
    default:
        return parse_common(o, key, arg, state);
    }
}

static const struct argp client_argp = {
    client_options,
    parse_client,
    "[EID]",
    "Sends bundles and measures goodput and delays.\vExactly one of -T, -D, -n, -F and one of -W, "
    "-R. Times are in seconds or with a unit, as in 20 or 500ms. Ctrl-C prints the result so "
    "far.\n\nexamples:\n"
    "  helio-perf client --socket node1.sock -d ipn:2.2000 -T 20 -W 20 -P 500kB\n"
    "  helio-perf client --socket node1.sock -d ipn:2.2000 -D 1G -R 100M\n"
    "  helio-perf client --socket node1.sock -d ipn:2.2000 -n 100 -W 4 -P 50kB\n"
    "  helio-perf client --socket node1.sock -d ipn:2.2000 -F image.tif -W 16\n"
    "  helio-perf client --socket node1.sock -d ipn:2.2000 -T 20 -W 20 --reverse\n",
    NULL,
    NULL,
    NULL};

static const struct argp server_argp = {
    server_options,
    parse_server,
    NULL,
    "Takes the bundles of helio-perf clients, checks and acknowledges them.\vCtrl-C ends it; "
    "a row is printed for each client that has ended.\n\nexamples:\n"
    "  helio-perf server --socket node2.sock\n"
    "  helio-perf server --socket node2.sock --output received --json server.json\n",
    NULL,
    NULL,
    NULL};

static const struct argp monitor_argp = {
    monitor_options,
    parse_server,
    NULL,
    "Takes status reports, and writes a table (CSV) of them for each sender, as DTNperf_3's "
    "monitor does.\vCtrl-C ends it.\n\nexamples:\n"
    "  helio-perf monitor --socket n1.sock --output reports\n"
    "  helio-perf client --socket n1.sock -d ipn:2.2000 -D 1M -W 4 -r -m ipn:1.1000\n",
    NULL,
    NULL,
    NULL};

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
    const struct argp *argp = o->server ? &server_argp : o->monitor ? &monitor_argp : &client_argp;
    snprintf(shown, sizeof shown, "helio-perf %s",
             o->server    ? "server"
             : o->monitor ? "monitor"
                          : "client");
    argv[1] = shown;
    argument_parse(argp, argc - 1, argv + 1, 0, o);
    argv[1] = name;
}
