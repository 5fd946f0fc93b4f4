/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-csts provider|monitor|forward|data: Monitored Data, Forward Frame and buffered data
 * delivery of the Cross Support Transfer Services. This file has the command line. What can go
 * wrong: a wrong option, or options that contradict each other (exit 2).
 */
#include "tools/csts/helio_csts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_arguments.h"
#include "os/arguments.h"
#include "os/process/process.h"
#include "os/secret.h"

/* No book has a service of plain frames: both ends agree on its identifier. */
#define DATA_SERVICE "1.3.112.4.4.1.2.0"
#define EVENTS_HELP "discarded, overflow, end are its .1, .2, .3 (1.3.112.4.4.1.1.4.3.2)"
#define FORWARD_RESOURCE "1.3.112.4.4.2.1.80300" /* SANA's of a provider of Forward Frame */

struct command {
    const char *name, *args; /* "helio-csts COMMAND" */
    int (*run)(const struct options *o);
    const struct argument *options;
    size_t terms; /* offset in struct options */
    void (*word)(struct argp_state *state, char *arg, void *base);
    void (*end)(struct argp_state *state, void *base);
    const char *doc;
};

const char *argp_program_version = "helio-csts " HELIO_VERSION;

static struct csts_oid oid_of(struct argp_state *state, const char *arg)
{
    struct csts_oid oid = {0};
    if (!csts_oid_parse(arg, &oid))
        argument_want(state, arg, "an object identifier, such as 1.3.112.4.7.84");
    return oid;
}

static void set_oid(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    *(struct csts_oid *)argument_field(o, base) = oid_of(state, arg);
}

static void set_password(struct argp_state *state, const struct argument *o, char *path, void *base)
{
    char *out = argument_field(o, base), why[160];
    struct sle_identity who;
    if (secret_file_line(path, out, o->size, why, sizeof why) < 0)
        argument_wrong(state, "%s", why);
    else if (!sle_password_read(out, &who))
        argument_wrong(state, "%s: write a file with hexadecimal digits, two for an octet", path);
}

static void set_authority(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (!sle_authority_ok(arg))
        argument_want(state, arg, "3 to 16 characters without blanks, such as STATION");
    argument_set_value(state, o, arg, base);
}

static void set_port(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (!sle_port_name_ok(arg))
        argument_want(state, arg, "1 to 128 characters, such as MD");
    argument_set_value(state, o, arg, base);
}

/* ---- what both ends must agree on ---- */

#define FLAG .type = OPTION_BOOL
#define WORD(words) .type = OPTION_CHOICE, .choices = (words)
#define COUNT(low, high) .type = OPTION_COUNT, .min = (low), .max = (high)
#define TIME(low) .type = OPTION_DURATION, .min = (low)
#define FIELD(member) ARGUMENT_FIELD(struct options, member)
#define TERM(member) ARGUMENT_FIELD(struct csts_terms, member)

static const struct argument terms_options[] = {
    {"port-name", 0, "NAME", .help = "Responder port identifier (MD)", .group = 5, .own = set_port,
     TERM(port)},
    {"authentication", 0, "LEVEL", .help = "none (default), bind or all", .group = 5,
     WORD("none|bind|all"), TERM(level)},
    {"hash", 0, "NAME", .help = "Of our credentials: sha256 (default) or sha1", .group = 5,
     WORD("sha1|sha256"), .min = SLE_SHA1, TERM(hash)},
    {"password-file", 0, "FILE", .help = "Our password, in hexadecimal digits", .group = 5,
     .own = set_password, TERM(password)},
    {"peer-password-file", 0, "FILE", .help = "The peer's", .group = 5, .own = set_password,
     TERM(peer_password)},
    {"spacecraft", 0, "OID", .help = "Of the service instance (1.3.112.4.7.0)", .group = 6,
     .own = set_oid, TERM(instance.spacecraft)},
    {"facility", 0, "OID", .help = "Of the service instance (1.3.112.4.6.0)", .group = 6,
     .own = set_oid, TERM(instance.facility)},
    {"number", 0, "N", .help = "Of the service instance (1)", .group = 6, COUNT(0, UINT32_MAX),
     TERM(instance.number)},
    {"service-version", 0, "N", .help = "Version number in BIND (2)", .group = 6,
     COUNT(1, UINT32_MAX), TERM(version)},
    {"tls", 0, .help = "TLS below the transport mapping", .group = 8, FLAG, TERM(tls)},
    {"tls-ca", 0, "FILE", .help = "CAs that are trusted, or the peer's own certificate", .group = 8,
     TERM(tls_files.ca)},
    {"tls-certificate", 0, "FILE", .help = "Our certificate", .group = 8,
     TERM(tls_files.certificate)},
    {"tls-key", 0, "FILE", .help = "Its private key", .group = 8, TERM(tls_files.key)},
    {"tls-host", 0, "NAME", .help = "DNS name of the peer, for --tls-peer host", .group = 8,
     TERM(tls_host)},
    {"tls-peer", 0, "WORD",
     .help = "The peer's certificate: of the ca (default); with the name of --tls-host (host), or "
             "with its address; none",
     .group = 8, WORD("ca|host|address|none"), TERM(tls_peer)},
    {"log", 'l', "LEVEL", .help = "error, warning or info (default)", .group = 7,
     WORD("error|warning|info"), TERM(log)},
    {0}};
#define NAMES(of, own_name, other_name)                                                            \
    {"id",                                                                                         \
     0,                                                                                            \
     "NAME",                                                                                       \
     .help = "Our authority identifier (" own_name ")",                                            \
     .group = 5,                                                                                   \
     .own = set_authority,                                                                         \
     FIELD(of.terms.id)},                                                                          \
    {                                                                                              \
        "peer", 0, "NAME", .help = "The peer's (" other_name ")", .group = 5,                      \
                           .own = set_authority, FIELD(of.terms.peer)                              \
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

static void check_terms(struct argp_state *state, const struct csts_terms *t, bool server)
{
    check_tls(state, t, server);
    if (t->level != SLE_AUTH_NONE && (t->password[0] == '\0' || t->peer_password[0] == '\0'))
        argp_error(state, "--authentication needs --password-file and --peer-password-file");
}

/* ---- provider ---- */

static void set_token(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct provider_options *o = argument_field(row, base);
    char why[160];
    if (secret_file_line(arg, o->token_text, sizeof o->token_text, why, sizeof why) < 0)
        argument_wrong(state, "%s", why);
    o->token = o->token_text;
}

static void set_uplink(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct provider_options *o = argument_field(row, base);
    (void)state;
    o->uplink = arg;
    (void)address_parse(arg, &o->uplink_to); /* else it is a file */
}

static void set_downlink(struct argp_state *state, const struct argument *row, char *arg,
                         void *base)
{
    struct provider_options *o = argument_field(row, base);
    (void)state;
    o->downlink.path = arg;
    (void)address_parse(arg, &o->downlink.at); /* else it is a file */
}

static void check_downlink(struct argp_state *state, const struct provider_options *o)
{
    const struct csts_downlink_config *d = &o->downlink;
    const bool file = d->path != NULL && !address_given(&d->at);
    if (!file && (d->frame > 0 || d->rate > 0))
        argp_error(state, "--downlink-frame and --downlink-rate are of --downlink FILE");
    if (file && o->delivery.real_time && d->rate == 0)
        argp_error(state, "--delivery-mode real-time of a file needs --downlink-rate");
}

static void take_figures(struct argp_state *state, char *arg, void *base)
{
    struct provider_options *o = &((struct options *)base)->provider;
    if (o->figures != NULL)
        argp_error(state, "\"%s\" is one word too many", arg);
    o->figures = arg;
}

/* Of both services. */
static void set_change(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct provider_options *o = argument_field(row, base);
    o->forward.change = o->delivery.change = oid_of(state, arg);
}

static void check_provider(struct argp_state *state, void *base)
{
    struct provider_options *o = &((struct options *)base)->provider;
    o->has_metrics = address_given(&o->metrics);
    if (o->figures == NULL)
        argp_error(
            state,
            "FIGURES.csv is missing: the table of figures, such as examples/csts-figures.csv");
    if (o->forward.latency > 0 && !o->forward.timely)
        argp_error(state, "--latency is of --forward-mode timely");
    if (o->forward.sequenced && o->forward.timely)
        argp_error(state, "--sequenced and --forward-mode timely exclude each other");
    check_downlink(state, o);
    check_terms(state, &o->terms, true);
}

static int run_provider(const struct options *o)
{
    return csts_run_provider(&o->provider);
}

static const struct argument provider_options[] = {
    {"listen", 0, "ADDRESS", .help = "Where users bind (127.0.0.1:5200)", .group = 1,
     .type = OPTION_ADDRESS, FIELD(provider.listen)},
    {"metrics", 0, "ADDRESS", .help = "Of a heliod: its http.listen", .group = 1,
     .type = OPTION_ADDRESS, FIELD(provider.metrics)},
    {"token-file", 0, "FILE", .help = "With the token of its http.token", .group = 1,
     .own = set_token, FIELD(provider)},
    {"every", 0, "TIME", .help = "How often the table and the metrics are read (1s)", .group = 1,
     TIME(10 * TICK_MS), FIELD(provider.every)},
    {"least-cycle", 0, "TIME", .help = "Shortest cycle of reports that is accepted (100ms)",
     .group = 1, TIME(TICK_MS), FIELD(provider.cycle_min)},
    {"uplink", 0, "TARGET",
     .help = "Forward Frame, too: frames go to this ADDRESS as datagrams, or to this file",
     .group = 2, .own = set_uplink, FIELD(provider)},
    {"uplink-rate", 0, "RATE", .help = "Of the uplink (no limit)", .group = 2, .type = OPTION_RATE,
     .min = 1, .choices = "unlimited", FIELD(provider.uplink_rate)},
    {"forward-mode", 0, "MODE",
     .help = "When the queue is full: complete (default): the user waits; timely: the oldest is "
             "discarded",
     .group = 2, WORD("complete|timely"), FIELD(provider.forward.timely)},
    {"sequenced", 0,
     .help = "Sequence-controlled instead of buffered data processing: each frame has a return",
     .group = 2, FLAG, FIELD(provider.forward.sequenced)},
    {"latency", 0, "TIME", .help = "timely: frames that are queued longer are discarded",
     .group = 2, TIME(TICK_MS), FIELD(provider.forward.latency)},
    {"queue", 0, "SIZE", .help = "Of frames (4 MiB)", .group = 2, .type = OPTION_SIZE, .min = 1024,
     .max = 1u << 30, FIELD(provider.forward.queue_max)},
    {"forward-service", 0, "OID", .help = "Of Forward Frame (1.3.112.4.4.1.2.3, unverified)",
     .group = 2, .own = set_oid, FIELD(provider.forward_type)},
    {"forward-resource", 0, "OID", .help = "Of the uplink (" FORWARD_RESOURCE ")", .group = 2,
     .own = set_oid, FIELD(provider.forward.resource)},
    {"production-event", 0, "OID",
     .help = "Of changed production, the type of its value at .1 (the resource's .2.1.1)",
     .group = 2, .own = set_change, FIELD(provider)},
    {"downlink", 0, "SOURCE",
     .help = "Data delivery, too: frames of this file, or datagrams to this ADDRESS", .group = 3,
     .own = set_downlink, FIELD(provider)},
    {"downlink-frame", 0, "N",
     .help = "Octets of each frame of the file (it has lengths: 4 octets before each)", .group = 3,
     COUNT(1, 65535), FIELD(provider.downlink.frame)},
    {"downlink-rate", 0, "RATE",
     .help = "Of the file, from the start of the program on (all frames are there at the start)",
     .group = 3, .type = OPTION_RATE, .min = 1, FIELD(provider.downlink.rate)},
    {"delivery-mode", 0, "MODE",
     .help = "complete (default): frames are kept, and the user has all of its window; real-time: "
             "it has them as they come, and a slow user misses some",
     .group = 3, WORD("complete|real-time"), FIELD(provider.delivery.real_time)},
    {"delivery-buffer", 0, "N", .help = "Frames of a return buffer (20)", .group = 3,
     COUNT(1, 10000), FIELD(provider.delivery.buffer_max)},
    {"delivery-latency", 0, "TIME", .help = "Then a return buffer is sent that is not full (1s)",
     .group = 3, TIME(TICK_MS), FIELD(provider.delivery.latency)},
    {"store", 0, "SIZE", .help = "complete: frames of datagrams that are kept (64 MiB)", .group = 3,
     .type = OPTION_SIZE, .min = 1024, .max = UINT32_MAX, FIELD(provider.downlink.store_max)},
    {"data-service", 0, "OID", .help = "Of the service (1.3.112.4.4.1.2.0, a placeholder)",
     .group = 3, .own = set_oid, FIELD(provider.data_type)},
    {"delivery-events", 0, "OID", .help = EVENTS_HELP, .group = 3, .own = set_oid,
     FIELD(provider.delivery.events)},
    NAMES(provider, "STATION", "CENTRE"),
    {0}};

/* ---- monitor ---- */

/* OID or OID:INSTANCE */
static void set_resource(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct csts_list *l = argument_field(o, base);
    char *colon = strchr(arg, ':');
    if (colon != NULL) {
        *colon = '\0';
        l->instance = (uint32_t)argument_number(state, o, colon + 1);
    }
    l->kind = colon == NULL ? CSTS_LIST_RESOURCE_TYPE : CSTS_LIST_RESOURCE;
    l->oid = oid_of(state, arg);
}

static void add_label(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct monitor_options *o = argument_field(row, base);
    if (o->label_count == CSTS_NAMES_MAX)
        argp_error(state, "at most %d times --parameter", CSTS_NAMES_MAX);
    o->labels[o->label_count++] = oid_of(state, arg);
}

static void take_monitored(struct argp_state *state, char *arg, void *base)
{
    if (state->arg_num > 0)
        argp_error(state, "\"%s\" is one word too many", arg);
    ((struct options *)base)->monitor.to = argument_address(state, arg);
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

static void finish_monitor(struct argp_state *state, void *base)
{
    struct monitor_options *o = &((struct options *)base)->monitor;
    if (state->arg_num == 0)
        argp_error(state, "ADDRESS is missing: the provider's, such as 127.0.0.1:5200");
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
}

static int run_monitor(const struct options *o)
{
    const int code = csts_run_monitor(&o->monitor);
    free(o->monitor.items);
    return code;
}

static const struct argument monitor_options[] = {
    {"get", 0, .help = "Ask for the values once", .group = 1, FLAG, FIELD(monitor.get)},
    {"cycle", 'c', "TIME", .help = "Reports so often (1s without --get and --events)", .group = 1,
     TIME(TICK_MS), FIELD(monitor.cycle)},
    {"on-change", 0, .help = "Reports of what has changed only", .group = 1, FLAG,
     FIELD(monitor.on_change)},
    {"events", 0, .help = "Notifications of events", .group = 1, FLAG, FIELD(monitor.events)},
    {"list", 0, "NAME", .help = "A list that the provider has (its default list)", .group = 2,
     FIELD(monitor.named)},
    {"resource", 0, "OID[:N]", .help = "All of a functional resource, or of its type", .group = 2,
     COUNT(1, UINT32_MAX), .own = set_resource, FIELD(monitor.list)},
    {"parameter", 0, "OID", .help = "A parameter, or event, of all instances; may come again",
     .group = 2, .own = add_label, FIELD(monitor)},
    {"json", 0, .help = "A line of JSON for each report, answer and event", .group = 3, FLAG,
     FIELD(monitor.json)},
    {"plot", 0, "FILE", .help = "At the end, an SVG image of the reports' numbers over time",
     .group = 3, FIELD(monitor.plot)},
    {"count", 'n', "N", .help = "End after so many reports", .group = 3, COUNT(1, 0),
     FIELD(monitor.reports)},
    {"time", 't', "TIME", .help = "End after so much time", .group = 3, TIME(TICK_MS),
     FIELD(monitor.time)},
    {"wait", 0, "TIME", .help = "For the BIND, and for the end (30s)", .group = 3, TIME(TICK_MS),
     FIELD(monitor.wait)},
    NAMES(monitor, "CENTRE", "STATION"),
    {0}};

/* ---- forward ---- */

static void take_forward(struct argp_state *state, char *arg, void *base)
{
    struct forward_options *o = &((struct options *)base)->forward;
    if (state->arg_num > 1)
        argp_error(state, "\"%s\" is one word too many", arg);
    else if (state->arg_num == 1)
        o->frames = arg;
    else
        o->to = argument_address(state, arg);
}

static void set_when(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (!user_when_parse(arg, argument_field(o, base)))
        argument_want(state, arg, USER_WHEN_HINT);
}

static void check_forward(struct argp_state *state, void *base)
{
    const struct forward_options *o = &((struct options *)base)->forward;
    if ((o->earliest.given || o->latest.given || o->reset) && !o->sequenced)
        argp_error(state, "--earliest, --latest and --reset need --sequenced");
    if (o->reset && o->last_only)
        argp_error(state, "--reset and --report last exclude each other");
    if (o->frames == NULL)
        argp_error(
            state,
            "ADDRESS or FRAMES is missing: the provider's, such as 127.0.0.1:5200, and a file");
    check_terms(state, &o->terms, false);
}

static int run_forward(const struct options *o)
{
    return csts_run_forward(&o->forward);
}

static const struct argument forward_options[] = {
    {"frame", 0, "N", .help = "Octets of each frame (the file has lengths: 4 octets before each)",
     .group = 1, COUNT(1, 65535), FIELD(forward.frame)},
    {"buffer", 0, "N", .help = "Frames of a forward buffer, 1 to 256 (20)", .group = 1,
     COUNT(1, CSTS_BUFFER_MAX), FIELD(forward.buffer)},
    {"report", 0, "WHICH", .help = "Notifications of all frames (default), or of the last",
     .group = 1, WORD("all|last"), FIELD(forward.last_only)},
    {"sequenced", 0,
     .help = "Sequence-controlled instead of buffered data processing, as the provider has it",
     .group = 1, FLAG, FIELD(forward.sequenced)},
    {"earliest", 0, "WHEN",
     .help = "Sequenced: process each not before: a time, or +2s from its sending", .group = 1,
     .own = set_when, FIELD(forward.earliest)},
    {"latest", 0, "WHEN", .help = "Sequenced: process each then at the latest, or not at all",
     .group = 1, .own = set_when, FIELD(forward.latest)},
    {"reset", 0,
     .help = "Sequenced: when a frame has expired or failed, go on with those behind it",
     .group = 1, FLAG, FIELD(forward.reset)},
    {"json", 0, .help = "A line of JSON for each notification, and for the sum", .group = 1, FLAG,
     FIELD(forward.json)},
    {"wait", 0, "TIME", .help = "For the BIND, for the next notification, and for the end (30s)",
     .group = 1, TIME(TICK_MS), FIELD(forward.wait)},
    {"forward-service", 0, "OID", .help = "Of Forward Frame (1.3.112.4.4.1.2.3, unverified)",
     .group = 1, .own = set_oid, FIELD(forward.terms.instance.type)},
    NAMES(forward, "CENTRE", "STATION"),
    {0}};

/* ---- data ---- */

static void take_data(struct argp_state *state, char *arg, void *base)
{
    struct data_options *o = &((struct options *)base)->data;
    if (state->arg_num > 1)
        argp_error(state, "\"%s\" is one word too many", arg);
    if (state->arg_num == 0) {
        o->to_address = argument_address(state, arg);
        return;
    }
    o->out = arg;
    (void)address_parse(arg, &o->out_to); /* else it is a file */
}

static void check_data(struct argp_state *state, void *base)
{
    const struct data_options *o = &((struct options *)base)->data;
    if (o->out == NULL)
        argp_error(state, "ADDRESS or TARGET is missing: the provider's, such as 127.0.0.1:5200, "
                          "and a file or an address for the frames");
    check_terms(state, &o->terms, false);
}

static int run_data(const struct options *o)
{
    return csts_run_data(&o->data);
}

static const struct argument data_options[] = {
    {"from", 0, "WHEN",
     .help = "Frames that were generated from then on: a time, or now, now-10s, +2s", .group = 1,
     .own = set_when, FIELD(data.from)},
    {"to", 0, "WHEN", .help = "Until then; both are needed in complete mode", .group = 1,
     .own = set_when, FIELD(data.to)},
    {"count", 'n', "N", .help = "End after so many frames", .group = 1, COUNT(1, 0),
     FIELD(data.frames)},
    {"time", 't', "TIME", .help = "End after so much time", .group = 1, TIME(TICK_MS),
     FIELD(data.time)},
    {"json", 0, .help = "A line of JSON for each frame and notification, and for the sum",
     .group = 1, FLAG, FIELD(data.json)},
    {"wait", 0, "TIME", .help = "For the BIND, and for the end (30s)", .group = 1, TIME(TICK_MS),
     FIELD(data.wait)},
    {"data-service", 0, "OID", .help = "Of the service (1.3.112.4.4.1.2.0, a placeholder)",
     .group = 1, .own = set_oid, FIELD(data.terms.instance.type)},
    {"delivery-events", 0, "OID", .help = EVENTS_HELP, .group = 1, .own = set_oid,
     FIELD(data.delivery_events)},
    NAMES(data, "CENTRE", "STATION"),
    {0}};

/* ---- all ---- */

static const struct command commands[] = {
    {"helio-csts provider", "FIGURES.csv", run_provider, provider_options,
     offsetof(struct options, provider.terms), take_figures, check_provider,
     "Publishes the figures of a table, and metrics of a node, until SIGINT or SIGTERM.\v"
     "examples:\n"
     "  helio-csts provider examples/csts-figures.csv\n"
     "  helio-csts provider examples/csts-figures.csv --metrics 127.0.0.1:9464\n"
     "  helio-csts provider examples/csts-figures.csv --downlink 127.0.0.1:5300\n"
     "\nexit codes: 0 ended by a signal, 1 it could not begin, 2 usage or table"},
    {"helio-csts monitor", "ADDRESS", run_monitor, monitor_options,
     offsetof(struct options, monitor.terms), take_monitored, finish_monitor,
     "Prints the values of a provider's parameters, and its events.\v"
     "examples (with `helio-csts provider examples/csts-figures.csv` running):\n"
     "  helio-csts monitor 127.0.0.1:5200 --get\n"
     "  helio-csts monitor 127.0.0.1:5200 --cycle 500ms -n 4 --json\n"
     "  helio-csts monitor 127.0.0.1:5200 --cycle 200ms --on-change -t 2s\n"
     "  helio-csts monitor 127.0.0.1:5200 --cycle 1s -t 60s --plot figures.svg\n"
     "\nexit codes: 0 all steps succeeded, 1 one failed, 2 usage"},
    {"helio-csts forward", "ADDRESS FRAMES", run_forward, forward_options,
     offsetof(struct options, forward.terms), take_forward, check_forward,
     "Sends the frames of a file to a provider with --uplink, and prints what it processed.\v"
     "examples:\n"
     "  helio-csts forward 127.0.0.1:5200 frames.bin --frame 1024\n"
     "\nexit codes: 0 all frames were radiated, 1 not, 2 usage or file"},
    {"helio-csts data", "ADDRESS TARGET", run_data, data_options,
     offsetof(struct options, data.terms), take_data, check_data,
     "Writes the frames of a provider with --downlink to TARGET: behind those of a file, or as "
     "datagrams to an address.\v"
     "examples (with a provider that has --downlink running):\n"
     "  helio-csts data 127.0.0.1:5200 received.bin --from now-1h --to now+1s\n"
     "  helio-csts data 127.0.0.1:5200 received.bin -t 10s --json\n"
     "\nexit codes: 0 all steps succeeded, 1 one failed, 2 usage, 3 frames are missing"}};

static const char usage[] =
    "Usage: helio-csts provider FIGURES.csv   figures of a station for users to read\n"
    "       helio-csts monitor ADDRESS        their values, once or in a cycle; events\n"
    "       helio-csts forward ADDRESS FRAMES frames to a provider's uplink\n"
    "       helio-csts data ADDRESS TARGET    frames from a provider's downlink\n"
    "       helio-csts --version\n"
    "Monitored Data, Forward Frame (CCSDS 922.1, 922.3) and buffered data delivery\n"
    "(921.1) of the Cross Support Transfer Services.\n"
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
        .forward = {.terms = {.id = "CENTRE", .peer = "STATION"},
                    .buffer = 20,
                    .wait = 30 * TICK_S},
        .data = {.terms = {.id = "CENTRE", .peer = "STATION"}, .wait = 30 * TICK_S}};
    struct csts_terms *both[] = {&o.provider.terms, &o.monitor.terms, &o.forward.terms,
                                 &o.data.terms};
    for (int i = 0; i < 4; i++) {
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
    o.provider.forward_type = csts_known_oid(CSTS_FORWARD_FRAME);
    o.forward.terms.instance.type = o.provider.forward_type;
    o.data.terms.port = "DATA";
    (void)csts_oid_parse(DATA_SERVICE, &o.provider.data_type);
    o.data.terms.instance.type = o.provider.data_type;
    o.provider.downlink.store_max = 64u << 20;
    (void)csts_oid_parse(FORWARD_RESOURCE, &o.provider.forward.resource);
    (void)csts_oid_parse("1.3.112.4.4.2.1.10003", &o.provider.delivery.resource);
    (void)address_of("127.0.0.1", 5200, &o.provider.listen);
    return o;
}

int main(int argc, char **argv)
{
    file_limit_report();
    const size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                      sizeof *commands, usage);
    struct options o = defaults();
    const struct argument_part parts[] = {{.options = terms_options, .offset = commands[i].terms},
                                          {0}};
    const struct argument_table table = {.options = commands[i].options,
                                         .parts = parts,
                                         .word = commands[i].word,
                                         .end = commands[i].end,
                                         .args_doc = commands[i].args,
                                         .doc = commands[i].doc};
    argument_table_parse(&table, argc - 1, argv + 1, &o);
    return commands[i].run(&o);
}
