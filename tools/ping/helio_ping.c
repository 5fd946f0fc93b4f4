/* SPDX-License-Identifier: Apache-2.0 */
/* helio-ping: are bundles answered there, and how soon (docs/helio-ping.md)? What can go wrong: no
 * node, no memory, the file of --json. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "bp/codec/eid.h"
#include "os/arguments.h"
#include "tools/perf/perf_name.h"
#include "tools/perf/perf_process.h"
#include "tools/perf/perf_report.h"
#include "tools/ping/ping.h"

static void take_destination(struct argp_state *state, char *arg, void *base)
{
    struct ping_options *o = base;
    struct eid eid = {0};
    argument_refuse_place(state, arg);
    perf_name_check(state, arg, "an echo endpoint, such as ipn:2.128");
    if (eid_parse(arg, &eid) == 0 && eid_is_node(&eid))
        argument_wrong(state,
                       "%s is the node itself, which does not answer; write its echo, %.*s%s", arg,
                       (int)(strlen(arg) - (eid.scheme == EID_IPN)), arg,
                       eid.scheme == EID_IPN ? "128" : "echo");
    if (o->destination != NULL)
        argument_wrong(state, "\"%s\" is one too many; there is %s already", arg, o->destination);
    o->destination = arg;
}

static void set_destination(struct argp_state *state, const struct argument *o, char *arg,
                            void *base)
{
    (void)o;
    take_destination(state, arg, base);
}

static void set_json(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct ping_options *p = base;
    (void)state;
    (void)o;
    p->json = arg;
    p->quiet = p->quiet || strcmp(arg, "-") == 0;
}

static void check_options(struct argp_state *state, void *base)
{
    static const char *const echoes[2] = {"128", "echo"};
    struct ping_options *o = base;
    if (o->destination == NULL)
        argp_error(state, "an echo endpoint is missing, such as ipn:2.128");
    if (o->socket == NULL)
        argp_error(state, "--socket PATH is missing: the node's application socket");
    perf_report_place(state, "json", o->json);
    const char *given = o->destination;
    o->destination = perf_name_find(state, o->socket, given, echoes, o->named);
    o->name = o->destination != given ? given : NULL;
}

#define FIELD(member) ARGUMENT_FIELD(struct ping_options, member)

static const struct argument options[] = {
    {"socket", 0, "PATH", .help = "The node's application socket", .own = argument_set_socket,
     FIELD(socket)},
    {"destination", 'd', "EID",
     .help = "The echo endpoint, as with helio-perf, or a name that the node has for "
             "its node, such as relay; or the word EID",
     .own = set_destination},
    {"count", 'c', "N", .help = "Send so many [until Ctrl-C]", .type = OPTION_COUNT, FIELD(count),
     .min = 1, .max = INT64_MAX},
    {"bundles", 'n', .flags = OPTION_ALIAS},
    {"interval", 'i', "TIME", .help = "One each so often, in seconds or with a unit [1]",
     .own = perf_set_seconds, FIELD(interval), .min = TICK_US},
    {"size", 's', "BYTES", .help = "Payload of each, 32 and more [64]", .type = OPTION_SIZE,
     FIELD(size), .min = PING_HEAD, .max = PING_SIZE_MAX},
    {"payload", 'P', .flags = OPTION_ALIAS},
    {"lifetime", 'l', "TIME",
     .help = "Of the bundles, and how long the last answers are waited for [60]",
     .own = perf_set_seconds, FIELD(lifetime), .min = TICK_MS},
    {"flood", 'f', .help = "Send when an answer comes, and 100 times a second", .type = OPTION_BOOL,
     FIELD(flood)},
    {"service", 0, "NAME", .help = "Service of our endpoint [a random number]",
     .own = argument_set_service, FIELD(service)},
    {"trace", 't', .help = "Show each node that a ping passes, according to status reports",
     .type = OPTION_BOOL, FIELD(trace)},
    {"quiet", 'q', .help = "Only the summary", .type = OPTION_BOOL, FIELD(quiet)},
    {"json", 0, "FILE", .help = "Write the summary as JSON (- for standard output)",
     .own = set_json},
    {0}};

struct run {
    struct perf_process process;
    struct ping_options options;
    struct ping ping;
    json_t *result; /* as it was at the end */
    int signal;     /* that stopped it; 0: none */
};

static void on_signal(void *context, int number)
{
    struct run *r = context;
    r->signal = number;
    ping_stop(&r->ping);
}

static void on_answer(void *context, uint64_t number, tick rtt)
{
    const struct run *r = context;
    const struct ping_options *o = &r->options;
    if (o->quiet)
        return;
    if (o->flood)
        fputc('.', stdout);
    else
        printf("%llu bytes from %s: seq=%llu time=%.3f ms\n", (unsigned long long)o->size,
               o->destination, (unsigned long long)number + 1, (double)rtt / 1e6);
    fflush(stdout);
}

/* It never left: the reason is the node's, such as "no route". */
static void on_refused(void *context, uint64_t number, const char *why)
{
    const struct run *r = context;
    if (r->options.quiet)
        return;
    printf("seq=%llu not sent: %s\n", (unsigned long long)number + 1, why);
    fflush(stdout);
}

static void on_hop(void *context, const struct ping_hop *h)
{
    const struct run *r = context;
    if (r->options.quiet)
        return;
    printf("    seq=%llu %s by %s", (unsigned long long)h->number + 1, ping_trace_word(h->item),
           h->node);
    if (h->timed)
        printf(" at %+lld ms", (long long)h->at_ms);
    if (h->item == STATUS_DELETED)
        printf(": %s", status_reason_text(h->reason));
    printf(" (reported after %.3f ms)\n", (double)h->heard / 1e6);
    fflush(stdout);
}

static void end_run(struct run *r)
{
    if (r->process.ended)
        return;
    if (r->options.json != NULL)
        r->result = ping_json(&r->ping);
    ping_fini(&r->ping);
    perf_process_end(&r->process);
}

static void on_over(void *context)
{
    end_run(context);
}

static void print_summary(const struct run *r)
{
    const struct ping *p = &r->ping;
    double share = p->sent > 0 ? 100 * (double)(p->sent - p->received) / (double)p->sent : 0;
    double ms = p->sent > 0 ? (double)(p->last - p->begin) / 1e6 : 0;
    printf("%s--- %s ping statistics ---\n", r->options.quiet ? "" : "\n", r->options.destination);
    printf("%llu sent, %llu received, %.3g %% loss, time %.0f ms", (unsigned long long)p->sent,
           (unsigned long long)p->received, share, ms);
    if (p->repeated > 0)
        printf(", %llu twice", (unsigned long long)p->repeated);
    if (p->refused > 0)
        printf(", %llu refused by the node (%s)", (unsigned long long)p->refused, p->refused_why);
    printf("\n");
    if (p->rtt.count > 0)
        printf("rtt min/avg/max/mdev = %.3f/%.3f/%.3f/%.3f ms\n", (double)p->rtt.min / 1e6,
               p->rtt.mean / 1e6, (double)p->rtt.max / 1e6, hist_sd(&p->rtt) / 1e6);
}

/* Stopped by a signal: what may still come is not lost. */
static void print_stop(const struct run *r)
{
    const struct ping *p = &r->ping;
    const uint64_t open = p->sent - p->received - p->refused;
    printf("stopped by %s", r->signal == SIGINT ? "Ctrl-C (SIGINT)" : "SIGTERM");
    if (r->options.count > p->sent)
        printf(" before %llu of %llu were sent", (unsigned long long)(r->options.count - p->sent),
               (unsigned long long)r->options.count);
    if (open > 0)
        printf("; %llu had no answer yet", (unsigned long long)open);
    printf("\n");
}

/* No ping returned: prints where to look for the reason. */
static void print_hint(const struct run *r)
{
    const struct ping *p = &r->ping;
    if (p->received > 0 || p->sent == p->refused)
        return;
    printf(
        "no answer from %s: is an echo endpoint there (ipn:N.128 of a Heliograph node), and has "
        "its node a route back? See helioctl --socket %s.ctl links, and backlog instead of links\n",
        r->options.destination, r->options.socket);
}

static bool tell_result(struct run *r)
{
    const char *json = r->options.json;
    if (json == NULL || strcmp(json, "-") != 0) {
        print_summary(r);
        if (r->signal != 0)
            print_stop(r);
        print_hint(r);
    }
    if (r->result == NULL)
        return true;
    json_t *result = r->result;
    r->result = NULL;
    return perf_report_write("helio-ping", result, json);
}

static int open_run(struct run *r)
{
    int rc = perf_process_open(&r->process, "helio-ping", on_signal, r);
    if (rc != 0)
        return rc;
    struct world *w = r->process.world;
    rc = ping_init(&r->ping, w, &r->options, world_random(w), on_answer, on_over, r);
    if (rc < 0)
        fprintf(stderr, "helio-ping: %s\n", helio_strerror(rc));
    return rc;
}

static int run_ping(struct run *r)
{
    if (open_run(r) != 0)
        return 1;
    if (!r->options.quiet)
        printf("PING %s%s%s%s, %llu bytes\n", r->options.destination,
               r->options.name != NULL ? " (" : "", r->options.name != NULL ? r->options.name : "",
               r->options.name != NULL ? ")" : "", (unsigned long long)r->options.size);
    fflush(stdout);
    ping_refused_to(&r->ping, on_refused);
    ping_trace_to(&r->ping, on_hop);
    ping_start(&r->ping);
    perf_process_run(&r->process);
    if (!r->ping.begun) {
        fprintf(stderr, "helio-ping: %s%s\n", r->signal != 0 ? "stopped before it began: " : "",
                r->ping.link.why[0] != '\0' ? r->ping.link.why : "the node has not answered");
        return 1;
    }
    if (!tell_result(r))
        return 1;
    if (r->ping.broken)
        fprintf(stderr, "helio-ping: %s\n", r->ping.link.why);
    bool all = r->options.count > 0 && r->signal == 0 ? r->ping.received == r->ping.sent
                                                      : r->ping.received > 0;
    return all && !r->ping.broken ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const struct argument_table table = {
        options, .word = take_destination, .end = check_options, .args_doc = "EID",
        .doc =
            "Sends bundles to an echo endpoint, and shows when each returns.\v"
            "examples:\n"
            "  helio-ping --socket node1.sock ipn:2.128\n"
            "  helio-ping --socket node1.sock -c 10 -i 100ms -s 10kB ipn:2.128\n"
            "  helio-ping --socket node1.sock --trace -c 1 ipn:5.128\n"
            "\nexit codes: 0 all were answered (after Ctrl-C: some), 1 not, or the node failed, 2 "
            "wrong usage"};
    struct run *r = calloc(1, sizeof *r);
    if (r == NULL) {
        fputs("helio-ping: out of memory\n", stderr);
        return 1;
    }
    r->options = (struct ping_options){.interval = TICK_S, .size = 64, .lifetime = 60 * TICK_S};
    argp_err_exit_status = 2;
    argp_program_version = "helio-ping " HELIO_VERSION;
    argument_table_parse(&table, argc, argv, &r->options);
    int code = run_ping(r);
    if (r->process.world != NULL)
        end_run(r);
    perf_process_close(&r->process);
    json_decref(r->result);
    free(r);
    return code;
}
