/* SPDX-License-Identifier: Apache-2.0 */
/* helio-send: files to a helio-recv (docs/helio-send.md). What can go wrong: no node, no file, the
 * file of --json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "bp/codec/eid.h"
#include "os/arguments.h"
#include "tools/files/send_run.h"
#include "tools/perf/perf_process.h"
#include "tools/perf/perf_report.h"

#define PIECE_MAX (UINT64_C(1) << 30)

enum {
    OPT_SOCKET = 256,
    OPT_SERVICE,
    OPT_NO_WAIT,
    OPT_WAIT,
    OPT_ASK,
    OPT_RESUME,
    OPT_SPOOL,
    OPT_SENT,
    OPT_HIDDEN,
    OPT_RECONNECT,
    OPT_JSON,
};

static const struct argp_option options[] = {
    {"socket", OPT_SOCKET, "PATH", 0, "The node's application socket", 1},
    {"name", 'n', "NAME", 0, "Send the one file under this name", 2},
    {"bundle", 'b', "SIZE", 0, "Bytes of a file in one bundle [1MB]", 0},
    {"resume", OPT_RESUME, NULL, 0, "Ask first what is there, and send what is missing", 0},
    {"no-wait", OPT_NO_WAIT, NULL, 0, "Done when the node has it, not when the receiver says so",
     0},
    {"wait", OPT_WAIT, "TIME", 0, "Time to wait for an answer of the receiver [lifetime]", 0},
    {"ask", OPT_ASK, "TIME", 0,
     "The receiver is asked what is there so long after the last piece; then ever later [10]", 0},
    {"lifetime", 'l', "TIME", 0, "Lifetime of the bundles, in seconds or with a unit [1d]", 0},
    {"priority", 'p', "CLASS[:N]", 0, "bulk, normal or expedited; expedited:N, 0 to 254", 0},
    {"spool", OPT_SPOOL, "DIR", 0, "Send what is in DIR and what comes there, and remove it", 0},
    {"sent", OPT_SENT, "DIR", 0, "Move there what was sent from the spool", 0},
    {"interval", 'i', "TIME", 0, "Look at the spool so often [1]", 0},
    {"hidden", OPT_HIDDEN, NULL, 0, "In folders also what begins with a dot", 0},
    {"service", OPT_SERVICE, "NAME", 0, "Service of our endpoint [a random number]", 0},
    {"reconnect", OPT_RECONNECT, "S", OPTION_ARG_OPTIONAL,
     "When the node goes away, try again for S seconds [off; alone: 60]", 0},
    {"quiet", 'q', NULL, 0, "Say nothing but what went wrong", 0},
    {"json", OPT_JSON, "FILE", 0, "Write the result as JSON (- for standard output)", 0},
    {0}};

struct program {
    struct perf_process process;
    struct send_options options;
    struct send_run run;
    bool waits; /* --wait was given */
};

static tick read_seconds(struct argp_state *state, const char *option, const char *arg)
{
    tick t = 0;
    if (perf_options_time(arg, &t) != 0 || t < TICK_MS)
        argument_want(state, option, arg, "a time in seconds, such as 60, or with a unit");
    return t;
}

static error_t parse_spool(struct send_options *o, int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case OPT_SPOOL:
        o->spool = arg;
        return 0;
    case OPT_SENT:
        o->sent = arg;
        return 0;
    case 'i':
        o->interval = read_seconds(state, "interval", arg);
        return 0;
    case OPT_HIDDEN:
        o->hidden = true;
        return 0;
    case OPT_RESUME:
        o->resume = true;
        return 0;
    case OPT_NO_WAIT:
        o->files.confirm = false;
        return 0;
    case OPT_ASK:
        o->files.ask = read_seconds(state, "ask", arg);
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case OPT_JSON:
        o->json = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_options(const struct send_options *o, struct argp_state *state)
{
    if (o->link.socket == NULL)
        argp_error(state, "--socket PATH is missing: the node's application socket");
    if (o->destination == NULL)
        argp_error(state, "the receiver's endpoint is missing, such as ipn:2.2001");
    if ((o->paths_len == 0) == (o->spool == NULL))
        argp_error(state, "either files, or - for standard input, or --spool DIR say what to send");
    if (o->files.confirm && eid_is_group(&o->files.receiver))
        argp_error(state, "%s is a group: its members cannot confirm; --no-wait sends without that",
                   o->destination);
    if (o->sent != NULL && o->spool == NULL)
        argp_error(state, "--sent is of --spool");
    if (o->name != NULL && o->paths_len != 1)
        argp_error(state, "--name is for one file");
    if (o->name != NULL && !files_name_good(slice_of(o->name, strlen(o->name)), true))
        argp_error(state, "--name '%s': a name is wanted, with parts between slashes", o->name);
}

static void take_arguments(struct program *p, struct argp_state *state)
{
    struct send_options *o = &p->options;
    struct eid *receiver = &o->files.receiver;
    o->destination = state->argv[state->next];
    o->paths = state->argv + state->next + 1;
    o->paths_len = (size_t)(state->argc - state->next - 1);
    if (strlen(o->destination) >= AAP2_EID_MAX || eid_parse(o->destination, receiver) != 0)
        argp_error(state, "'%s': the receiver's endpoint is wanted, such as ipn:2.2001",
                   o->destination);
    state->next = state->argc;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct program *p = state->input;
    struct send_options *o = &p->options;
    switch (key) {
    case OPT_SOCKET:
        o->link.socket = arg;
        return 0;
    case OPT_SERVICE:
        if (*arg == '\0' || strlen(arg) >= 64)
            argument_want(state, "service", arg, "a short name or number");
        o->link.service = arg;
        return 0;
    case 'n':
        o->name = arg;
        return 0;
    case 'b':
        o->files.piece = argument_size(state, "bundle", arg, 1, PIECE_MAX);
        return 0;
    case 'l':
        o->link.lifetime_ms = read_seconds(state, "lifetime", arg) / TICK_MS;
        return 0;
    case 'p':
        if (perf_options_priority(arg, &o->link.priority, &o->link.ordinal) != 0)
            argument_want(state, "priority", arg, "bulk, normal, expedited, or expedited:N");
        return 0;
    case OPT_WAIT:
        o->files.wait = read_seconds(state, "wait", arg);
        p->waits = true;
        return 0;
    case OPT_RECONNECT:
        o->link.reconnect = read_seconds(state, "reconnect", arg != NULL ? arg : "60");
        return 0;
    case ARGP_KEY_ARGS:
        take_arguments(p, state);
        return 0;
    case ARGP_KEY_END:
        check_options(o, state);
        if (!p->waits)
            o->files.wait = o->link.lifetime_ms * TICK_MS;
        return 0;
    default:
        return parse_spool(o, key, arg, state);
    }
}

static void on_signal(void *context, int number)
{
    struct program *p = context;
    (void)number;
    send_run_stop(&p->run);
}

static void end_program(void *context)
{
    struct program *p = context;
    if (p->process.ended)
        return;
    perf_link_fini(&p->run.link);
    perf_process_end(&p->process);
}

/* The receiver did not answer, for any file; with --no-wait no answer is expected. */
static void print_hint(const struct send_run *r)
{
    const struct files_sender *s = &r->sender;
    if (s->jobs_len + r->failed > 0 && s->receipts == 0 && s->pieces > 0 && r->refused == 0 &&
        r->options->files.confirm)
        fprintf(stderr,
                "helio-send: no receipt from %s: is a helio-recv registered there, and has its "
                "node a route back?\n",
                r->options->destination);
}

static bool tell_result(const struct program *p)
{
    const struct send_run *r = &p->run;
    const char *json = p->options.json;
    if (r->sender.jobs_len > 0)
        fprintf(stderr,
                "helio-send: %llu files are not confirmed; --resume goes on where this ended\n",
                (unsigned long long)r->sender.jobs_len);
    print_hint(r);
    return json == NULL || perf_report_write(send_run_json(r), json);
}

static int run_program(struct program *p)
{
    int rc = perf_process_open(&p->process, "helio-send", on_signal, p);
    if (rc != 0)
        return 1;
    rc = send_run_init(&p->run, p->process.world, &p->options, world_random(p->process.world),
                       end_program, p);
    if (rc == 0) {
        send_run_start(&p->run);
        perf_process_run(&p->process);
    }
    bool good = rc == 0 && tell_result(p) && send_run_good(&p->run);
    end_program(p);
    send_run_fini(&p->run);
    bool mistake = helio_code(rc) == HELIO_ENOENT; /* of a path that was named */
    return good ? 0 : mistake ? 2 : 1;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse_option,
        "EID PATH...\nEID -\n--spool DIR EID",
        "Sends files, and folders with all below them, to a helio-recv.\v"
        "examples:\n"
        "  helio-send --socket node1.sock ipn:2.2001 image.tif\n"
        "  tar c logs | helio-send --socket node1.sock --name logs.tar ipn:2.2001 -\n"
        "  helio-send --socket node1.sock --spool outgoing ipn:2.2001\n"
        "\nexit codes: 0 the receiver has all files; 1 not, or the node failed; 2 wrong usage, or "
        "there is no file to send",
        NULL,
        NULL,
        NULL};
    struct program *p = calloc(1, sizeof *p);
    if (p == NULL) {
        fputs("helio-send: out of memory\n", stderr);
        return 1;
    }
    p->options =
        (struct send_options){.link = {.program = "helio-send", .lifetime_ms = 86400000},
                              .files = {.piece = 1000000, .confirm = true, .ask = 10 * TICK_S},
                              .interval = TICK_S};
    argp_err_exit_status = 2;
    argp_program_version = "helio-send " HELIO_VERSION;
    argument_parse(&argp, argc, argv, 0, p);
    int code = run_program(p);
    perf_process_close(&p->process);
    free(p);
    return code;
}
