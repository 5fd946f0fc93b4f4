/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-csts provider|monitor|forward: Monitored Data and Forward Frame of the Cross Support
 * Transfer Services. This file has the command line. What can go wrong: a wrong option, or options
 * that contradict each other (exit 2).
 */
#include "tools/csts/helio_csts.h"

#include <stdio.h>
#include <stdlib.h>

#include "os/arguments.h"
#include "os/process.h"
#include "os/secret_file.h"

enum {
    KEY_ID = 256,
    KEY_PEER,
    KEY_PORT,
    KEY_PASSWORD,
    KEY_PEER_PASSWORD,
    KEY_AUTH,
    KEY_HASH,
    KEY_SPACECRAFT,
    KEY_FACILITY,
    KEY_NUMBER,
    KEY_VERSION,
    KEY_LISTEN,
    KEY_METRICS,
    KEY_TOKEN,
    KEY_EVERY,
    KEY_LEAST,
    KEY_GET,
    KEY_CHANGE,
    KEY_EVENTS,
    KEY_JSON,
    KEY_NAMED,
    KEY_RESOURCE,
    KEY_LABEL,
    KEY_WAIT,
    KEY_TLS,
    KEY_TLS_CERTIFICATE,
    KEY_TLS_KEY,
    KEY_TLS_CA,
    KEY_TLS_HOST,
    KEY_TLS_PEER,
    KEY_UPLINK,
    KEY_RATE,
    KEY_MODE,
    KEY_LATENCY,
    KEY_QUEUE,
    KEY_FRAME,
    KEY_BUFFER,
    KEY_REPORT,
    KEY_PLOT
};

struct command {
    const char *name, *args; /* "helio-csts COMMAND" */
    error_t (*parse)(int key, char *arg, struct argp_state *state);
    int (*run)(const struct options *o);
    const struct argp_option *options;
    const char *doc;
};

const char *argp_program_version = "helio-csts " HELIO_VERSION;

static int word_of(struct argp_state *state, const char *option, const char *arg,
                   const char *const *words, const char *hint)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], arg) == 0)
            return i;
    argument_want(state, option, arg, hint);
    return 0;
}

static struct csts_oid oid_of(struct argp_state *state, const char *option, const char *arg)
{
    struct csts_oid oid = {0};
    if (!csts_oid_parse(arg, &oid))
        argument_want(state, option, arg, "an object identifier such as 1.3.112.4.7.84");
    return oid;
}

static void read_password(struct argp_state *state, const char *option, const char *path,
                          char out[2 * SLE_PASSWORD_MAX + 2])
{
    char why[160];
    struct sle_identity who;
    if (secret_file_line(path, out, 2 * SLE_PASSWORD_MAX + 2, why, sizeof why) < 0)
        argp_error(state, "--%s %s: %s", option, path, why);
    else if (!sle_password_read(out, &who))
        argp_error(state, "--%s %s: hexadecimal digits are wanted, two for an octet", option, path);
}

static const char *authority_of(struct argp_state *state, const char *option, const char *arg)
{
    if (!sle_authority_ok(arg))
        argument_want(state, option, arg, "3 to 16 characters without blanks");
    return arg;
}

/* ---- what both ends must agree on ---- */

static error_t parse_tls(int key, char *arg, struct argp_state *state, struct csts_terms *t)
{
    static const char *const peers[] = {"ca", "host", "address", "none", NULL};
    switch (key) {
    case KEY_TLS:
        t->tls = true;
        return 0;
    case KEY_TLS_CERTIFICATE:
        t->tls_files.certificate = arg;
        return 0;
    case KEY_TLS_KEY:
        t->tls_files.key = arg;
        return 0;
    case KEY_TLS_CA:
        t->tls_files.ca = arg;
        return 0;
    case KEY_TLS_HOST:
        t->tls_host = arg;
        return 0;
    case KEY_TLS_PEER:
        t->tls_peer =
            (enum sle_tls_peer)word_of(state, "tls-peer", arg, peers, "ca, host, address or none");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_tls(struct argp_state *state, const struct csts_terms *t, bool server)
{
    const struct tls_files *f = &t->tls_files;
    if (!t->tls && (f->certificate != NULL || f->key != NULL || f->ca != NULL ||
                    t->tls_host != NULL || t->tls_peer != SLE_TLS_CA))
        argp_error(state, "--tls-... needs --tls");
    if (t->tls && f->ca == NULL && t->tls_peer != SLE_TLS_NONE)
        argp_error(state, "--tls needs --tls-ca, or --tls-peer none");
    if (t->tls_peer == SLE_TLS_HOST && t->tls_host == NULL)
        argp_error(state, "--tls-peer host needs --tls-host");
    if ((f->certificate == NULL) != (f->key == NULL))
        argp_error(state, "--tls-certificate and --tls-key are needed together");
    if (t->tls && server && f->certificate == NULL)
        argp_error(state, "--tls of a provider needs --tls-certificate and --tls-key");
}

static error_t parse_terms(int key, char *arg, struct argp_state *state, struct csts_terms *t)
{
    static const char *const levels[] = {"none", "bind", "all", NULL};
    static const char *const hashes[] = {"sha256", "sha1", NULL};
    static const char *const logs[] = {"error", "warning", "info", NULL};
    switch (key) {
    case KEY_ID:
        t->id = authority_of(state, "id", arg);
        return 0;
    case KEY_PEER:
        t->peer = authority_of(state, "peer", arg);
        return 0;
    case KEY_PORT:
        if (!sle_port_name_ok(arg))
            argument_want(state, "port-name", arg, "1 to 128 characters");
        t->port = arg;
        return 0;
    case KEY_PASSWORD:
        read_password(state, "password-file", arg, t->password);
        return 0;
    case KEY_PEER_PASSWORD:
        read_password(state, "peer-password-file", arg, t->peer_password);
        return 0;
    case KEY_AUTH:
        t->level =
            (enum sle_auth_level)word_of(state, "authentication", arg, levels, "none, bind or all");
        return 0;
    case KEY_HASH:
        t->hash =
            word_of(state, "hash", arg, hashes, "sha256 or sha1") == 0 ? SLE_SHA256 : SLE_SHA1;
        return 0;
    case KEY_SPACECRAFT:
        t->instance.spacecraft = oid_of(state, "spacecraft", arg);
        return 0;
    case KEY_FACILITY:
        t->instance.facility = oid_of(state, "facility", arg);
        return 0;
    case KEY_NUMBER:
        t->instance.number = (uint32_t)argument_count(state, "number", arg, 0, UINT32_MAX);
        return 0;
    case KEY_VERSION:
        t->version = (uint32_t)argument_count(state, "service-version", arg, 1, UINT32_MAX);
        return 0;
    case 'l':
        t->log = (enum say_level)word_of(state, "log", arg, logs, "error, warning or info");
        return 0;
    default:
        return parse_tls(key, arg, state, t);
    }
}

static void check_terms(struct argp_state *state, const struct csts_terms *t, bool server)
{
    check_tls(state, t, server);
    if (t->level != SLE_AUTH_NONE && (t->password[0] == '\0' || t->peer_password[0] == '\0'))
        argp_error(state, "--authentication needs --password-file and --peer-password-file");
}

#define TERMS_OPTIONS(own, other)                                                                    \
    {"id", KEY_ID, "NAME", 0, "Our authority identifier (" own ")", 5},                              \
        {"peer", KEY_PEER, "NAME", 0, "The peer's (" other ")", 5},                                  \
        {"port-name", KEY_PORT, "NAME", 0, "Responder port identifier (MD)", 5},                     \
        {"authentication", KEY_AUTH, "LEVEL", 0, "none (default), bind or all", 5},                  \
        {"hash", KEY_HASH, "NAME", 0, "Of our credentials: sha256 (default) or sha1", 5},            \
        {"password-file", KEY_PASSWORD, "FILE", 0, "Our password, in hexadecimal digits", 5},        \
        {"peer-password-file", KEY_PEER_PASSWORD, "FILE", 0, "The peer's", 5},                       \
        {"spacecraft", KEY_SPACECRAFT, "OID", 0, "Of the service instance (1.3.112.4.7.0)", 6},      \
        {"facility", KEY_FACILITY, "OID", 0, "Of the service instance (1.3.112.4.6.0)", 6},          \
        {"number", KEY_NUMBER, "N", 0, "Of the service instance (1)", 6},                            \
        {"service-version", KEY_VERSION, "N", 0, "Version number in BIND (2)", 6},                   \
        {"tls", KEY_TLS, NULL, 0, "TLS below the transport mapping", 8},                             \
        {"tls-ca", KEY_TLS_CA, "FILE", 0, "CAs that are trusted, or the peer's own certificate", 8}, \
        {"tls-certificate", KEY_TLS_CERTIFICATE, "FILE", 0, "Our certificate", 8},                   \
        {"tls-key", KEY_TLS_KEY, "FILE", 0, "Its private key", 8},                                   \
        {"tls-host", KEY_TLS_HOST, "NAME", 0, "DNS name of the peer, for --tls-peer host", 8},       \
        {"tls-peer",                                                                                 \
         KEY_TLS_PEER,                                                                               \
         "WORD",                                                                                     \
         0,                                                                                          \
         "The peer's certificate: of the ca (default); with the name of --tls-host (host), or "      \
         "with its address; none",                                                                   \
         8},                                                                                         \
    {                                                                                                \
        "log", 'l', "LEVEL", 0, "error, warning or info (default)", 7                                \
    }

/* ---- provider ---- */

static error_t parse_provider(int key, char *arg, struct argp_state *state)
{
    struct provider_options *o = &((struct options *)state->input)->provider;
    static const char *const modes[] = {"complete", "timely", NULL};
    char why[160];
    switch (key) {
    case KEY_LISTEN:
        o->listen = argument_address(state, "listen", arg);
        return 0;
    case KEY_METRICS:
        o->metrics = argument_address(state, "metrics", arg);
        o->has_metrics = true;
        return 0;
    case KEY_TOKEN:
        if (secret_file_line(arg, o->token_text, sizeof o->token_text, why, sizeof why) < 0)
            argp_error(state, "--token-file %s: %s", arg, why);
        o->token = o->token_text;
        return 0;
    case KEY_EVERY:
        o->every = argument_time(state, "every", arg, 10 * TICK_MS);
        return 0;
    case KEY_LEAST:
        o->cycle_min = argument_time(state, "least-cycle", arg, TICK_MS);
        return 0;
    case KEY_UPLINK:
        o->uplink = arg;
        (void)address_parse(arg, &o->uplink_to); /* else it is a file */
        return 0;
    case KEY_RATE:
        o->uplink_rate = argument_rate(state, "uplink-rate", arg);
        return 0;
    case KEY_MODE:
        o->forward.timely = word_of(state, "forward-mode", arg, modes, "complete or timely") == 1;
        return 0;
    case KEY_LATENCY:
        o->forward.latency = argument_time(state, "latency", arg, TICK_MS);
        return 0;
    case KEY_QUEUE:
        o->forward.queue_max = (uint32_t)argument_size(state, "queue", arg, 1024, 1u << 30);
        return 0;
    case ARGP_KEY_ARG:
        if (o->figures != NULL)
            argp_error(state, "\"%s\" is one word too many", arg);
        o->figures = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->figures == NULL)
            argp_error(state, "the table of figures is missing");
        if (o->forward.latency > 0 && !o->forward.timely)
            argp_error(state, "--latency is of --forward-mode timely");
        check_terms(state, &o->terms, true);
        return 0;
    default:
        return parse_terms(key, arg, state, &o->terms);
    }
}

static int run_provider(const struct options *o)
{
    return csts_run_provider(&o->provider);
}

static const struct argp_option provider_options[] = {
    {"listen", KEY_LISTEN, "ADDRESS", 0, "Where users bind (127.0.0.1:5200)", 1},
    {"metrics", KEY_METRICS, "ADDRESS", 0, "Of a heliod: its http.listen", 1},
    {"token-file", KEY_TOKEN, "FILE", 0, "With the token of its http.token", 1},
    {"every", KEY_EVERY, "TIME", 0, "How often the table and the metrics are read (1s)", 1},
    {"least-cycle", KEY_LEAST, "TIME", 0, "Shortest cycle of reports that is accepted (100ms)", 1},
    {"uplink", KEY_UPLINK, "TARGET", 0,
     "Forward Frame, too: frames go to this ADDRESS as datagrams, or to this file", 2},
    {"uplink-rate", KEY_RATE, "RATE", 0, "Of the uplink (no limit)", 2},
    {"forward-mode", KEY_MODE, "MODE", 0,
     "When the queue is full: complete (default): the user waits; timely: the oldest is discarded",
     2},
    {"latency", KEY_LATENCY, "TIME", 0, "timely: frames that are queued longer are discarded", 2},
    {"queue", KEY_QUEUE, "SIZE", 0, "Of frames (4 MiB)", 2},
    TERMS_OPTIONS("STATION", "CENTRE"),
    {0}};

/* ---- monitor ---- */

/* OID or OID:INSTANCE */
static void parse_resource(struct argp_state *state, char *arg, struct csts_list *l)
{
    char *colon = strchr(arg, ':');
    if (colon != NULL) {
        *colon = '\0';
        l->instance = (uint32_t)argument_count(state, "resource", colon + 1, 1, UINT32_MAX);
    }
    l->kind = colon == NULL ? CSTS_LIST_RESOURCE_TYPE : CSTS_LIST_RESOURCE;
    l->oid = oid_of(state, "resource", arg);
}

static void finish_list(struct argp_state *state, struct monitor_options *o)
{
    if ((o->named != NULL) + (o->label_count > 0) + (o->list.kind != CSTS_LIST_DEFAULT) > 1)
        argp_error(state, "--list, --resource and --parameter exclude each other");
    if (o->named != NULL) {
        o->list.kind = CSTS_LIST_NAMED;
        o->list.text = slice_of(o->named, strlen(o->named));
    }
    if (o->label_count == 0)
        return;
    const size_t room = o->label_count * (CSTS_OID_OCTETS + 2);
    o->items = malloc(room);
    if (o->items == NULL)
        argp_failure(state, 1, 0, "out of memory");
    o->list.kind = CSTS_LIST_LABELS;
    o->list.items =
        slice_of(o->items, csts_labels_write(o->labels, o->label_count, o->items, room));
}

static error_t finish_monitor(struct argp_state *state, struct monitor_options *o)
{
    if (state->arg_num == 0)
        argp_error(state, "the provider's ADDRESS is missing");
    if (o->events && (o->get || o->cycle > 0) && o->label_count > 0)
        argp_error(state, "--parameter names events with --events: without --get and --cycle");
    if (!o->get && !o->events && o->cycle == 0)
        o->cycle = TICK_S;
    if (o->plot != NULL && o->cycle == 0)
        argp_error(state, "--plot is of reports: with --cycle");
    if (o->on_change && o->cycle == 0)
        argp_error(state, "--on-change is of reports: with --cycle");
    finish_list(state, o);
    check_terms(state, &o->terms, false);
    return 0;
}

static error_t parse_monitor(int key, char *arg, struct argp_state *state)
{
    struct monitor_options *o = &((struct options *)state->input)->monitor;
    switch (key) {
    case KEY_GET:
        o->get = true;
        return 0;
    case 'c':
        o->cycle = argument_time(state, "cycle", arg, TICK_MS);
        return 0;
    case KEY_CHANGE:
        o->on_change = true;
        return 0;
    case KEY_EVENTS:
        o->events = true;
        return 0;
    case KEY_JSON:
        o->json = true;
        return 0;
    case 'n':
        o->reports = argument_count(state, "count", arg, 1, UINT64_MAX);
        return 0;
    case 't':
        o->time = argument_time(state, "time", arg, TICK_MS);
        return 0;
    case KEY_WAIT:
        o->wait = argument_time(state, "wait", arg, TICK_MS);
        return 0;
    case KEY_PLOT:
        o->plot = arg;
        return 0;
    case KEY_NAMED:
        o->named = arg;
        return 0;
    case KEY_RESOURCE:
        parse_resource(state, arg, &o->list);
        return 0;
    case KEY_LABEL:
        if (o->label_count == CSTS_NAMES_MAX)
            argp_error(state, "at most %d times --parameter", CSTS_NAMES_MAX);
        o->labels[o->label_count++] = oid_of(state, "parameter", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "\"%s\" is one word too many", arg);
        o->to = argument_address(state, "ADDRESS", arg);
        return 0;
    case ARGP_KEY_END:
        return finish_monitor(state, o);
    default:
        return parse_terms(key, arg, state, &o->terms);
    }
}

static int run_monitor(const struct options *o)
{
    const int code = csts_run_monitor(&o->monitor);
    free(o->monitor.items);
    return code;
}

static const struct argp_option monitor_options[] = {
    {"get", KEY_GET, NULL, 0, "Ask for the values once", 1},
    {"cycle", 'c', "TIME", 0, "Reports so often (1s without --get and --events)", 1},
    {"on-change", KEY_CHANGE, NULL, 0, "Reports of what has changed only", 1},
    {"events", KEY_EVENTS, NULL, 0, "Notifications of events", 1},
    {"list", KEY_NAMED, "NAME", 0, "A list that the provider has (its default list)", 2},
    {"resource", KEY_RESOURCE, "OID[:N]", 0, "All of a functional resource, or of its type", 2},
    {"parameter", KEY_LABEL, "OID", 0, "A parameter, or event, of all instances; may come again",
     2},
    {"json", KEY_JSON, NULL, 0, "A line of JSON for each report, answer and event", 3},
    {"plot", KEY_PLOT, "FILE", 0, "At the end, an SVG image of the reports' numbers over time", 3},
    {"count", 'n', "N", 0, "End after so many reports", 3},
    {"time", 't', "TIME", 0, "End after so much time", 3},
    {"wait", KEY_WAIT, "TIME", 0, "For the BIND, and for the end (30s)", 3},
    TERMS_OPTIONS("CENTRE", "STATION"),
    {0}};

/* ---- forward ---- */

static error_t parse_forward(int key, char *arg, struct argp_state *state)
{
    static const char *const reports[] = {"all", "last", NULL};
    struct forward_options *o = &((struct options *)state->input)->forward;
    switch (key) {
    case KEY_FRAME:
        o->frame = (size_t)argument_count(state, "frame", arg, 1, 65535);
        return 0;
    case KEY_BUFFER:
        o->buffer = (size_t)argument_count(state, "buffer", arg, 1, CSTS_BUFFER_MAX);
        return 0;
    case KEY_REPORT:
        o->last_only = word_of(state, "report", arg, reports, "all or last") == 1;
        return 0;
    case KEY_JSON:
        o->json = true;
        return 0;
    case KEY_WAIT:
        o->wait = argument_time(state, "wait", arg, TICK_MS);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "\"%s\" is one word too many", arg);
        else if (state->arg_num == 1)
            o->frames = arg;
        else
            o->to = argument_address(state, "ADDRESS", arg);
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < 2)
            argp_error(state, "the provider's ADDRESS and the file of FRAMES are wanted");
        check_terms(state, &o->terms, false);
        return 0;
    default:
        return parse_terms(key, arg, state, &o->terms);
    }
}

static int run_forward(const struct options *o)
{
    return csts_run_forward(&o->forward);
}

static const struct argp_option forward_options[] = {
    {"frame", KEY_FRAME, "N", 0,
     "Octets of each frame (the file has lengths: 4 octets before each)", 1},
    {"buffer", KEY_BUFFER, "N", 0, "Frames of a forward buffer, 1 to 256 (20)", 1},
    {"report", KEY_REPORT, "WHICH", 0, "Notifications of all frames (default), or of the last", 1},
    {"json", KEY_JSON, NULL, 0, "A line of JSON for each notification, and for the sum", 1},
    {"wait", KEY_WAIT, "TIME", 0, "For the BIND, for the next notification, and for the end (30s)",
     1},
    TERMS_OPTIONS("CENTRE", "STATION"),
    {0}};

/* ---- all ---- */

static const struct command commands[] = {
    {"helio-csts provider", "FIGURES.csv", parse_provider, run_provider, provider_options,
     "Publishes the figures of a table, and metrics of a node, until SIGINT or SIGTERM.\v"
     "examples:\n"
     "  helio-csts provider examples/csts-figures.csv\n"
     "  helio-csts provider examples/csts-figures.csv --metrics 127.0.0.1:9464\n"
     "\nexit codes: 0 ended by a signal, 1 it could not begin, 2 usage or table"},
    {"helio-csts monitor", "ADDRESS", parse_monitor, run_monitor, monitor_options,
     "Prints the values of a provider's parameters, and its events.\v"
     "examples (with `helio-csts provider examples/csts-figures.csv` running):\n"
     "  helio-csts monitor 127.0.0.1:5200 --get\n"
     "  helio-csts monitor 127.0.0.1:5200 --cycle 500ms -n 4 --json\n"
     "  helio-csts monitor 127.0.0.1:5200 --cycle 200ms --on-change -t 2s\n"
     "  helio-csts monitor 127.0.0.1:5200 --cycle 1s -t 60s --plot figures.svg\n"
     "\nexit codes: 0 all went in order, 1 not, 2 usage"},
    {"helio-csts forward", "ADDRESS FRAMES", parse_forward, run_forward, forward_options,
     "Sends the frames of a file to a provider with --uplink, and prints what it processed.\v"
     "examples:\n"
     "  helio-csts forward 127.0.0.1:5200 frames.bin --frame 1024\n"
     "\nexit codes: 0 all frames were radiated, 1 not, 2 usage or file"}};

static const char usage[] =
    "Usage: helio-csts provider FIGURES.csv   figures of a station for users to read\n"
    "       helio-csts monitor ADDRESS        their values, once or in a cycle; events\n"
    "       helio-csts forward ADDRESS FRAMES frames to a provider's uplink\n"
    "       helio-csts --version\n"
    "Monitored Data and Forward Frame (CCSDS 922.1, 922.3) of the Cross Support Transfer "
    "Services.\n"
    "`helio-csts COMMAND --help` shows more.\n"
    "\n"
    "examples:\n"
    "  helio-csts provider examples/csts-figures.csv\n"
    "  helio-csts monitor 127.0.0.1:5200 --get\n";

static struct options defaults(void)
{
    struct options o = {
        .provider = {.terms = {.id = "STATION", .peer = "CENTRE"},
                     .every = TICK_S,
                     .cycle_min = 100 * TICK_MS},
        .monitor = {.terms = {.id = "CENTRE", .peer = "STATION"}, .wait = 30 * TICK_S},
        .forward = {
            .terms = {.id = "CENTRE", .peer = "STATION"}, .buffer = 20, .wait = 30 * TICK_S}};
    struct csts_terms *both[] = {&o.provider.terms, &o.monitor.terms, &o.forward.terms};
    for (int i = 0; i < 3; i++) {
        both[i]->port = "MD";
        both[i]->hash = SLE_SHA256;
        both[i]->log = LEVEL_INFO;
        both[i]->instance.number = 1;
        both[i]->version = CSTS_VERSION;
        both[i]->instance.type = csts_known_oid(CSTS_MONITORED_DATA);
        (void)csts_oid_parse("1.3.112.4.7.0", &both[i]->instance.spacecraft);
        (void)csts_oid_parse("1.3.112.4.6.0", &both[i]->instance.facility);
    }
    o.forward.terms.port = "FF";
    o.forward.terms.instance.type = csts_known_oid(CSTS_FORWARD_FRAME);
    (void)csts_oid_parse("1.3.112.4.4.2.1.10002", &o.provider.forward.resource);
    (void)address_of("127.0.0.1", 5200, &o.provider.listen);
    return o;
}

int main(int argc, char **argv)
{
    file_limit_report();
    const size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                      sizeof *commands, usage);
    struct options o = defaults();
    const struct argp argp = {.options = commands[i].options,
                              .parser = commands[i].parse,
                              .args_doc = commands[i].args,
                              .doc = commands[i].doc};
    argument_parse(&argp, argc - 1, argv + 1, 0, &o);
    return commands[i].run(&o);
}
