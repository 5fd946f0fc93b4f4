/* SPDX-License-Identifier: Apache-2.0 */
/* helio-send: files to a helio-recv (docs/helio-send.md). What can go wrong: no node, no file, the
 * file of --json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "bp/codec/eid.h"
#include "os/arguments.h"
#include "tools/files/send_run.h"
#include "tools/perf/perf_name.h"
#include "tools/perf/perf_process.h"
#include "tools/perf/perf_report.h"

#define PIECE_MAX (UINT64_C(1) << 30)

struct program {
    struct perf_process process;
    struct send_options options;
    struct send_run run;
    bool waits; /* --wait was given */
};

static void set_wait(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct program *p = base;
    perf_set_seconds(state, o, arg, base);
    p->waits = true;
}

static void check_options(struct argp_state *state, void *base)
{
    static const char *const receivers[2] = {"2001", "files"};
    struct program *p = base;
    struct send_options *o = &p->options;
    if (o->link.socket == NULL)
        argp_error(state, "--socket PATH is missing: the node's application socket");
    if (o->destination == NULL)
        argp_error(state, "the receiver's endpoint is missing, such as ipn:2.2001");
    if ((o->paths_len == 0) == (o->spool == NULL))
        argp_error(state, "either files, or - for standard input, or --spool DIR say what to send");
    o->destination = perf_name_find(state, o->link.socket, o->destination, receivers, o->named);
    (void)eid_parse(o->destination, &o->files.receiver);
    if (o->files.confirm && eid_is_group(&o->files.receiver))
        argp_error(state, "%s is a group: its members cannot confirm; --no-wait sends without that",
                   o->destination);
    if (o->sent != NULL && o->spool == NULL)
        argp_error(state, "--sent is of --spool");
    if (o->name != NULL && o->paths_len != 1)
        argp_error(state, "--name is for one file");
    if (o->name != NULL && !files_name_good(slice_of(o->name, strlen(o->name)), true))
        argp_error(state, "--name: \"%s\" is not understood; write a name, such as logs/today.tar",
                   o->name);
    perf_report_place(state, "json", o->json);
    if (!p->waits)
        o->files.wait = o->link.lifetime_ms * TICK_MS;
}

/* The receiver's endpoint; all other words are paths. */
static void take_words(struct argp_state *state, char *arg, void *base)
{
    struct program *p = base;
    struct send_options *o = &p->options;
    o->destination = arg;
    o->paths = state->argv + state->next;
    o->paths_len = (size_t)(state->argc - state->next);
    if (o->paths_len > 0 && perf_name_endpoint(o->paths[o->paths_len - 1]))
        argument_wrong(state, "the receiver's endpoint comes first: %s %s",
                       o->paths[o->paths_len - 1], arg);
    argument_refuse_place(state, arg);
    if (access(arg, F_OK) == 0 && o->paths_len > 0)
        argument_wrong(state,
                       "%s is a file; the receiver's endpoint comes first, such as ipn:2.2001 %s",
                       arg, arg);
    perf_name_check(state, arg, "the receiver's endpoint, such as ipn:2.2001");
    perf_name_refuse_node(state, arg, (const char *const[]){"2001", "files"});
    state->next = state->argc;
}

#define FIELD(member) ARGUMENT_FIELD(struct program, options.member)

static const struct argument options[] = {
    {"socket", 0, "PATH", .help = "The node's application socket", .group = 1,
     .own = argument_set_socket, FIELD(link.socket)},
    {"name", 'n', "NAME", .help = "Send the one file under this name", .group = 2, FIELD(name)},
    {"bundle", 'b', "SIZE", .help = "Bytes of a file in one bundle [1MB]", .type = OPTION_SIZE,
     FIELD(files.piece), .min = 1, .max = PIECE_MAX},
    {"resume", 0, .help = "Ask first what is there, and send what is missing", .type = OPTION_BOOL,
     FIELD(resume)},
    {"no-wait", 0, .help = "Done when the node has it, not when the receiver says so",
     .type = OPTION_BOOL, .without = "no", FIELD(files.confirm)},
    {"wait", 0, "TIME", .help = "Time to wait for an answer of the receiver [lifetime]",
     .own = set_wait, FIELD(files.wait), .min = TICK_MS},
    {"ask", 0, "TIME",
     .help =
         "The receiver is asked what is there so long after the last piece; then ever later [10]",
     .own = perf_set_seconds, FIELD(files.ask), .min = TICK_MS},
    {"lifetime", 'l', "TIME", .help = "Lifetime of the bundles, in seconds or with a unit [1d]",
     .own = perf_set_milliseconds, FIELD(link.lifetime_ms), .min = TICK_MS},
    {"priority", 'p', "CLASS[:N]", .help = "bulk, normal or expedited; expedited:N, 0 to 254",
     .own = perf_set_priority, FIELD(link)},
    {"spool", 0, "DIR", .help = "Send what is in DIR and what comes there, and remove it",
     FIELD(spool)},
    {"sent", 0, "DIR", .help = "Move there what was sent from the spool", FIELD(sent)},
    {"interval", 'i', "TIME", .help = "Look at the spool so often [1]", .own = perf_set_seconds,
     FIELD(interval), .min = TICK_MS},
    {"hidden", 0, .help = "In folders also what begins with a dot", .type = OPTION_BOOL,
     FIELD(hidden)},
    {"service", 0, "NAME", .help = "Service of our endpoint [a random number]",
     .own = argument_set_service, FIELD(link.service)},
    {"reconnect", 0, "S", OPTION_ARG_OPTIONAL,
     .help = "When the node goes away, try again for S seconds [off; alone: 60]",
     .own = perf_set_seconds, FIELD(link.reconnect), .min = TICK_MS},
    {"quiet", 'q', .help = "Report errors only", .type = OPTION_BOOL, FIELD(quiet)},
    {"json", 0, "FILE", .help = "Write the result as JSON (- for standard output)", FIELD(json)},
    {0}};

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
                "node a route back? See helioctl --socket %s.ctl links, and backlog instead of "
                "links\n",
                r->options->destination, r->options->link.socket);
}

static bool tell_result(const struct program *p)
{
    const struct send_run *r = &p->run;
    const char *json = p->options.json;
    if (r->sender.jobs_len > 0)
        fprintf(stderr, "helio-send: %llu %s not confirmed; --resume goes on where this ended\n",
                (unsigned long long)r->sender.jobs_len,
                r->sender.jobs_len == 1 ? "file is" : "files are");
    print_hint(r);
    return json == NULL || perf_report_write("helio-send", send_run_json(r), json);
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
    static const struct argument_table table = {
        options, .word = take_words, .end = check_options,
        .args_doc = "EID PATH...\nEID -\n--spool DIR EID",
        .doc = "Sends files, and folders with all below them, to a helio-recv.\v"
               "examples:\n"
               "  helio-send --socket node1.sock ipn:2.2001 image.tif\n"
               "  tar c logs | helio-send --socket node1.sock --name logs.tar ipn:2.2001 -\n"
               "  helio-send --socket node1.sock --spool outgoing ipn:2.2001\n"
               "\nexit codes: 0 the receiver has all files; 1 not, or the node failed; 2 wrong "
               "usage, or "
               "there is no file to send"};
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
    argument_table_parse(&table, argc, argv, p);
    int code = run_program(p);
    perf_process_close(&p->process);
    free(p);
    return code;
}
