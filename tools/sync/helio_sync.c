/* SPDX-License-Identifier: Apache-2.0 */
/* helio-sync send|receive: a folder that stays equal at another node (docs/helio-sync.md). This
 * file has the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "os/arguments.h"
#include "os/process/process.h"
#include "tools/perf/perf_name.h"
#include "tools/perf/perf_process.h"
#include "tools/perf/perf_report.h"
#include "tools/sync/sync_run.h"

const char *argp_program_version = "helio-sync " HELIO_VERSION;

#define PIECE_MAX (UINT64_C(1) << 30)

struct command {
    const char *name, *args; /* the name is what messages begin with */
    const struct argument *options;
    bool send;
    const char *doc;
};

struct program {
    const struct command *command;
    struct perf_process process;
    struct sync_options options;
    struct sync_send send;
    struct sync_receive receive;
    unsigned words;
};

static void add_from(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct sync_copy_options *o = argument_field(row, base);
    const char *why = NULL;
    if (o->from_len == SYNC_PATTERNS_MAX)
        argument_wrong(state, "there are more than %d patterns", SYNC_PATTERNS_MAX);
    if (*arg == '\0' || eid_patterns_read(arg, &o->from[o->from_len], &why) != 0)
        argument_wrong(state, "\"%s\" %s", arg,
                       why != NULL ? why : "is not understood; write a pattern, such as ipn:1.*");
    o->from_len++;
}

#define RECEIVER "the receiver's endpoint, such as ipn:2.2003"

static void take_word(struct argp_state *state, char *arg, void *base)
{
    struct program *p = base;
    struct sync_options *o = &p->options;
    if (p->words == 0)
        o->path = o->source.path = arg;
    else if (p->words == 1 && p->command->send) {
        o->destination = arg;
        perf_name_check(state, arg, RECEIVER);
    } else
        argp_error(state, "\"%s\" is one word too many", arg);
    p->words++;
}

static void check_options(struct argp_state *state, void *base)
{
    static const char *const copies[2] = {"2003", "sync"};
    struct program *p = base;
    struct sync_options *o = &p->options;
    if (o->link.socket == NULL)
        argp_error(state, "--socket PATH is missing: the node's application socket");
    if (o->path == NULL)
        argp_error(state, "the folder is missing");
    if (p->command->send && o->destination == NULL)
        argp_error(state, "the receiver's endpoint is missing, such as ipn:2.2003");
    if (p->command->send)
        o->destination = perf_name_find(state, o->link.socket, o->destination, copies, o->named);
    if (p->command->send && (eid_parse(o->destination, &o->source.files.receiver) != 0 ||
                             eid_is_group(&o->source.files.receiver)))
        argument_want(state, o->destination, RECEIVER);
    if (!p->command->send && o->copy.from_len == 0)
        argp_error(state, "--from PATTERN is missing: who may synchronise to the folder, such as "
                          "ipn:1.*");
    o->source.files.wait = o->link.lifetime_ms * TICK_MS;
}

#define FIELD(member) ARGUMENT_FIELD(struct program, options.member)
#define SECONDS(member) .own = perf_set_seconds, FIELD(member), .min = TICK_MS

#define COMMON                                                                                       \
    {"lifetime",                                                                                     \
     'l',                                                                                            \
     "TIME",                                                                                         \
     .help = "Lifetime of the bundles, in seconds or with a unit [1d]",                              \
     .group = 3,                                                                                     \
     .own = perf_set_milliseconds,                                                                   \
     FIELD(link.lifetime_ms),                                                                        \
     .min = TICK_MS},                                                                                \
        {"reconnect",                                                                                \
         0,                                                                                          \
         "S",                                                                                        \
         OPTION_ARG_OPTIONAL,                                                                        \
         .help = "When the node goes away, try again for S seconds [off; alone: 60]",                \
         .group = 3,                                                                                 \
         SECONDS(link.reconnect)},                                                                   \
        {"quiet", 'q', .help = "Report errors only", .group = 3, .type = OPTION_BOOL, FIELD(quiet)}, \
        {"json",     0,                                                                              \
         "FILE",     .help = "Write the counters as JSON (- for standard output)",                   \
         .group = 3, FIELD(json)},                                                                   \
    {                                                                                                \
        0                                                                                            \
    }

static const struct argument send_options[] = {
    {"socket", 0, "PATH", .help = "The node's application socket", .group = 1,
     .own = argument_set_socket, FIELD(link.socket)},
    {"service", 0, "NAME", .help = "Service of our endpoint [2004; dtn: sync-send]", .group = 2,
     .own = argument_set_service, FIELD(link.service)},
    {"once", 0, .help = "End when the copy is equal", .group = 2, .type = OPTION_BOOL, FIELD(once)},
    {"check", 0, .help = "Ask at the start for all files again, without their content", .group = 2,
     .type = OPTION_BOOL, FIELD(source.check)},
    {"rest", 0, "TIME", .help = "A file that was the same for so long is complete [2]", .group = 2,
     SECONDS(source.rest)},
    {"interval", 'i', "TIME",
     .help = "Look at the folder so often when nothing seems to change [300]", .group = 2,
     SECONDS(source.interval)},
    {"hidden", 0, .help = "Also what begins with a dot", .group = 2, .type = OPTION_BOOL,
     FIELD(source.hidden)},
    {"bundle", 'b', "SIZE", .help = "Bytes of files in one bundle [1MB]", .group = 2,
     .type = OPTION_SIZE, FIELD(source.files.piece), .min = 1, .max = PIECE_MAX},
    {"ask", 0, "TIME",
     .help = "What is not confirmed is asked for after so long; then ever later [10]", .group = 2,
     SECONDS(source.files.ask)},
    {"priority", 'p', "CLASS[:N]", .help = "bulk, normal or expedited; expedited:N, 0 to 254",
     .group = 2, .own = perf_set_priority, FIELD(link)},
    COMMON};

static const struct argument receive_options[] = {
    {"socket", 0, "PATH", .help = "The node's application socket", .group = 1,
     .own = argument_set_socket, FIELD(link.socket)},
    {"from", 0, "PATTERN",
     .help = "Who may synchronise to the folder, such as ipn:1.2004 or ipn:1.*; may be repeated",
     .group = 1, .own = add_from, FIELD(copy)},
    {"service", 0, "NAME", .help = "Service of our endpoint [2003; dtn: sync]", .group = 2,
     .own = argument_set_service, FIELD(link.service)},
    {"delete", 0, .help = "Remove what is gone at the source, if it was delivered", .group = 2,
     .type = OPTION_BOOL, FIELD(copy.remove)},
    {"hidden", 0, .help = "Take names with parts that begin with a dot", .group = 2,
     .type = OPTION_BOOL, FIELD(copy.hidden)},
    {"file-max", 0, "SIZE", .help = "The longest file taken [16GiB]", .group = 2,
     .type = OPTION_SIZE, FIELD(copy.limits.file_max), .max = INT64_MAX},
    {"files", 0, "N", .help = "Names, all together [1000000]", .group = 2, .type = OPTION_COUNT,
     FIELD(copy.files_max), .min = 1, .max = INT64_MAX},
    {"total", 0, "SIZE", .help = "Bytes of all files that were delivered [1TiB]", .group = 2,
     .type = OPTION_SIZE, FIELD(copy.total_max), .max = INT64_MAX},
    {"transfers", 0, "N", .help = "Long files that are not whole, at once [1024]", .group = 2,
     .type = OPTION_COUNT, FIELD(copy.limits.items_max), .min = 1, .max = 1000000},
    {"space", 0, "SIZE", .help = "Bytes of these [64GiB]", .group = 2, .type = OPTION_SIZE,
     FIELD(copy.limits.space_max), .min = 1, .max = INT64_MAX},
    {"no-sync", 0, .help = "Do not wait for the medium (faster; power loss costs)", .group = 2,
     .type = OPTION_BOOL, .without = "no", FIELD(copy.limits.sync)},
    {"payload-max", 0, "SIZE", .help = "The longest payload taken [1GiB]", .group = 2,
     .type = OPTION_SIZE, FIELD(payload_max), .min = FILES_HEAD, .max = UINT64_C(1) << 31},
    COMMON};

static void on_signal(void *context, int number)
{
    struct program *p = context;
    (void)number;
    if (p->command->send)
        sync_send_stop(&p->send);
    else
        sync_node_end(&p->receive.node);
}

static struct sync_node *node_of(struct program *p)
{
    return p->command->send ? &p->send.node : &p->receive.node;
}

static void end_program(void *context)
{
    struct program *p = context;
    if (p->process.ended)
        return;
    perf_link_fini(&node_of(p)->link);
    perf_process_end(&p->process);
}

static bool tell_result(struct program *p)
{
    const char *json = p->options.json;
    if (p->command->send && p->send.source.open_len > 0 && !p->options.quiet)
        fprintf(stderr, "helio-sync: %llu %s not confirmed; the same command goes on\n",
                (unsigned long long)p->send.source.open_len,
                p->send.source.open_len == 1 ? "name is" : "names are");
    return json == NULL || perf_report_write("helio-sync",
                                             p->command->send ? sync_send_json(&p->send)
                                                              : sync_receive_json(&p->receive),
                                             json);
}

static int open_run(struct program *p, const uint64_t seed[2])
{
    struct world *w = p->process.world;
    return p->command->send ? sync_send_init(&p->send, w, &p->options, seed[0], end_program, p)
                            : sync_receive_init(&p->receive, w, &p->options, seed, end_program, p);
}

static int run_program(struct program *p)
{
    int rc = perf_process_open(&p->process, "helio-sync", on_signal, p);
    if (rc != 0)
        return 1;
    const uint64_t seed[2] = {world_random(p->process.world), world_random(p->process.world)};
    rc = open_run(p, seed);
    if (rc == 0) {
        sync_node_start(node_of(p));
        perf_process_run(&p->process);
    }
    bool good = rc == 0 && tell_result(p) &&
                (p->command->send ? sync_send_good(&p->send) : !p->receive.node.failed);
    end_program(p);
    if (p->command->send)
        sync_send_fini(&p->send);
    else
        sync_receive_fini(&p->receive);
    bool mistake = helio_code(rc) == HELIO_ENOENT; /* of a path that was named */
    return good ? 0 : mistake ? 2 : 1;
}

static const struct command commands[] = {
    {"helio-sync send", "DIR EID", send_options, true,
     "Keeps the copy of a folder at a helio-sync receive equal to it, until it is stopped.\v"
     "examples:\n"
     "  helio-sync send --socket node1.sock data ipn:2.2003\n"
     "  helio-sync send --socket node1.sock --once data ipn:2.2003\n"
     "\nexit codes: 0 stopped, or with --once the copy is equal; 1 it is not, or the node or the "
     "folder failed; 2 wrong usage, or there is no such folder"},
    {"helio-sync receive", "DIR", receive_options, false,
     "Keeps a folder equal to that of a helio-sync send, until it is stopped.\v"
     "examples:\n"
     "  helio-sync receive --socket node2.sock --from 'ipn:1.*' copy\n"
     "  helio-sync receive --socket node2.sock --from ipn:1.2004 --delete copy\n"
     "\nexit codes: 0 stopped; 1 the node or the folder failed; 2 wrong usage, or there is no such "
     "folder"}};

static const char usage[] =
    "Usage: helio-sync send --socket PATH DIR EID                   the folder\n"
    "       helio-sync receive --socket PATH --from PATTERN DIR     its copy\n"
    "       helio-sync --version\n"
    "Keeps a copy of a folder at another node. `helio-sync COMMAND --help` shows more.\n"
    "\n"
    "examples:\n"
    "  helio-sync receive --socket node2.sock --from 'ipn:1.*' copy\n"
    "  helio-sync send --socket node1.sock data ipn:2.2003\n";

static void set_defaults(struct program *p)
{
    static const char *const send_names[2] = {"2004", "sync-send"};
    static const char *const receive_names[2] = {"2003", "sync"};
    p->options = (struct sync_options){
        .link = {.program = "helio-sync",
                 .lifetime_ms = 86400000,
                 .well_known = p->command->send ? send_names : receive_names},
        .source = {.files = {.piece = 1000000, .confirm = true, .ask = 10 * TICK_S},
                   .rest = 2 * TICK_S,
                   .interval = 300 * TICK_S},
        .copy = {.limits = {UINT64_C(16) << 30, 1024, UINT64_C(64) << 30, 7 * 86400 * TICK_S, true,
                            50, 75, 60 * TICK_S, 0},
                 .files_max = 1000000,
                 .total_max = UINT64_C(1) << 40},
        .payload_max = UINT64_C(1) << 30};
}

int main(int argc, char **argv)
{
    file_limit_report();
    size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                sizeof *commands, usage);
    struct program *p = calloc(1, sizeof *p);
    if (p == NULL) {
        fputs("helio-sync: out of memory\n", stderr);
        return 1;
    }
    p->command = &commands[i];
    set_defaults(p);
    const struct argument_table table = {.options = p->command->options,
                                         .args_doc = p->command->args,
                                         .doc = p->command->doc,
                                         .word = take_word,
                                         .end = check_options};
    argp_err_exit_status = 2;
    argument_table_parse(&table, argc - 1, argv + 1, p);
    int code = run_program(p);
    perf_process_close(&p->process);
    free(p);
    return code;
}
