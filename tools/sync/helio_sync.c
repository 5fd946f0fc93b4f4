/* SPDX-License-Identifier: Apache-2.0 */
/* helio-sync send|receive: a folder that stays equal at another node (docs/helio-sync.md). This
 * file has the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "os/arguments.h"
#include "os/process.h"
#include "tools/perf/perf_process.h"
#include "tools/perf/perf_report.h"
#include "tools/sync/sync_run.h"

const char *argp_program_version = "helio-sync " HELIO_VERSION;

#define PIECE_MAX (UINT64_C(1) << 30)

enum {
    OPT_SOCKET = 256,
    OPT_SERVICE,
    OPT_JSON,
    OPT_RECONNECT,
    OPT_FROM,
    OPT_DELETE,
    OPT_HIDDEN,
    OPT_FILE_MAX,
    OPT_FILES,
    OPT_TOTAL,
    OPT_SPACE,
    OPT_TRANSFERS,
    OPT_NO_SYNC,
    OPT_PAYLOAD_MAX,
    OPT_REST,
    OPT_ASK,
    OPT_CHECK,
    OPT_ONCE,
};

#define COMMON                                                                                     \
    {"lifetime", 'l', "TIME", 0, "Lifetime of the bundles, in seconds or with a unit [1d]", 3},    \
        {"reconnect",                                                                              \
         OPT_RECONNECT,                                                                            \
         "S",                                                                                      \
         OPTION_ARG_OPTIONAL,                                                                      \
         "When the node goes away, try again for S seconds [off; alone: 60]",                      \
         3},                                                                                       \
        {"quiet", 'q', NULL, 0, "Say nothing but what went wrong", 3},                             \
        {"json", OPT_JSON, "FILE", 0, "Write the counters as JSON (- for standard output)", 3},    \
    {                                                                                              \
        0                                                                                          \
    }

static const struct argp_option send_options[] = {
    {"socket", OPT_SOCKET, "PATH", 0, "The node's application socket", 1},
    {"service", OPT_SERVICE, "NAME", 0, "Service of our endpoint [2004; dtn: sync-send]", 2},
    {"once", OPT_ONCE, NULL, 0, "End when the copy is equal", 2},
    {"check", OPT_CHECK, NULL, 0, "Ask at the start for all files again, without their content", 2},
    {"rest", OPT_REST, "TIME", 0, "A file that was the same for so long is complete [2]", 2},
    {"interval", 'i', "TIME", 0, "Look at the folder so often when nothing seems to change [300]",
     2},
    {"hidden", OPT_HIDDEN, NULL, 0, "Also what begins with a dot", 2},
    {"bundle", 'b', "SIZE", 0, "Bytes of files in one bundle [1MB]", 2},
    {"ask", OPT_ASK, "TIME", 0,
     "What is not confirmed is asked for after so long; then ever later [10]", 2},
    {"priority", 'p', "CLASS[:N]", 0, "bulk, normal or expedited; expedited:N, 0 to 254", 2},
    COMMON};

static const struct argp_option receive_options[] = {
    {"socket", OPT_SOCKET, "PATH", 0, "The node's application socket", 1},
    {"from", OPT_FROM, "PATTERN", 0,
     "Who may synchronise to the folder, such as ipn:1.2004 or ipn:1.*; may be repeated", 1},
    {"service", OPT_SERVICE, "NAME", 0, "Service of our endpoint [2003; dtn: sync]", 2},
    {"delete", OPT_DELETE, NULL, 0, "Remove what is gone at the source, if it was delivered", 2},
    {"hidden", OPT_HIDDEN, NULL, 0, "Take names with parts that begin with a dot", 2},
    {"file-max", OPT_FILE_MAX, "SIZE", 0, "The longest file taken [16GiB]", 2},
    {"files", OPT_FILES, "N", 0, "Names, all together [1000000]", 2},
    {"total", OPT_TOTAL, "SIZE", 0, "Bytes of all files that were delivered [1TiB]", 2},
    {"transfers", OPT_TRANSFERS, "N", 0, "Long files that are not whole, at once [1024]", 2},
    {"space", OPT_SPACE, "SIZE", 0, "Bytes of these [64GiB]", 2},
    {"no-sync", OPT_NO_SYNC, NULL, 0, "Do not wait for the medium (faster; power loss costs)", 2},
    {"payload-max", OPT_PAYLOAD_MAX, "SIZE", 0, "The longest payload taken [1GiB]", 2},
    COMMON};

struct command {
    const char *name, *args; /* the name is what messages begin with */
    const struct argp_option *options;
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

static tick read_seconds(struct argp_state *state, const char *option, const char *arg)
{
    tick t = 0;
    if (perf_options_time(arg, &t) != 0 || t < TICK_MS)
        argument_want(state, option, arg, "a time in seconds, such as 60, or with a unit");
    return t;
}

static void add_from(struct sync_copy_options *o, struct argp_state *state, const char *arg)
{
    const char *why = NULL;
    if (o->from_len == SYNC_PATTERNS_MAX)
        argp_error(state, "--from: at most %d patterns", SYNC_PATTERNS_MAX);
    if (*arg == '\0' || eid_patterns_read(arg, &o->from[o->from_len], &why) != 0)
        argp_error(state, "--from '%s': a pattern of endpoints is wanted, such as ipn:1.*%s%s", arg,
                   why != NULL ? ": " : "", why != NULL ? why : "");
    o->from_len++;
}

static error_t parse_receive(struct sync_options *o, int key, char *arg, struct argp_state *state)
{
    struct sync_copy_options *c = &o->copy;
    switch (key) {
    case OPT_FROM:
        add_from(c, state, arg);
        return 0;
    case OPT_DELETE:
        c->remove = true;
        return 0;
    case OPT_FILE_MAX:
        c->limits.file_max = argument_size(state, "file-max", arg, 0, INT64_MAX);
        return 0;
    case OPT_FILES:
        c->files_max = argument_count(state, "files", arg, 1, INT64_MAX);
        return 0;
    case OPT_TOTAL:
        c->total_max = argument_size(state, "total", arg, 0, INT64_MAX);
        return 0;
    case OPT_TRANSFERS:
        c->limits.items_max = argument_count(state, "transfers", arg, 1, 1000000);
        return 0;
    case OPT_SPACE:
        c->limits.space_max = argument_size(state, "space", arg, 1, INT64_MAX);
        return 0;
    case OPT_NO_SYNC:
        c->limits.sync = false;
        return 0;
    case OPT_PAYLOAD_MAX:
        o->payload_max = argument_size(state, "payload-max", arg, FILES_HEAD, UINT64_C(1) << 31);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_send(struct sync_options *o, int key, char *arg, struct argp_state *state)
{
    struct sync_source_options *s = &o->source;
    switch (key) {
    case OPT_ONCE:
        o->once = true;
        return 0;
    case OPT_CHECK:
        s->check = true;
        return 0;
    case OPT_REST:
        s->rest = read_seconds(state, "rest", arg);
        return 0;
    case 'i':
        s->interval = read_seconds(state, "interval", arg);
        return 0;
    case 'b':
        s->files.piece = argument_size(state, "bundle", arg, 1, PIECE_MAX);
        return 0;
    case OPT_ASK:
        s->files.ask = read_seconds(state, "ask", arg);
        return 0;
    case 'p':
        if (perf_options_priority(arg, &o->link.priority, &o->link.ordinal) != 0)
            argument_want(state, "priority", arg, "bulk, normal, expedited, or expedited:N");
        return 0;
    default:
        return parse_receive(o, key, arg, state);
    }
}

static void take_word(struct program *p, const char *arg, struct argp_state *state)
{
    struct sync_options *o = &p->options;
    if (p->words == 0)
        o->path = o->source.path = arg;
    else if (p->words == 1 && p->command->send) {
        o->destination = arg;
        if (strlen(arg) >= AAP2_EID_MAX || eid_parse(arg, &o->source.files.receiver) != 0 ||
            eid_is_group(&o->source.files.receiver))
            argp_error(state, "'%s': the receiver's endpoint is wanted, such as ipn:2.2003", arg);
    } else
        argp_error(state, "%s: what is this?", arg);
    p->words++;
}

static void check_options(const struct program *p, struct argp_state *state)
{
    const struct sync_options *o = &p->options;
    if (o->link.socket == NULL)
        argp_error(state, "--socket PATH is missing: the node's application socket");
    if (o->path == NULL)
        argp_error(state, "the folder is missing");
    if (p->command->send && o->destination == NULL)
        argp_error(state, "the receiver's endpoint is missing, such as ipn:2.2003");
    if (!p->command->send && o->copy.from_len == 0)
        argp_error(state, "--from PATTERN is missing: who may synchronise to the folder, such as "
                          "ipn:1.*");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct program *p = state->input;
    struct sync_options *o = &p->options;
    switch (key) {
    case OPT_SOCKET:
        o->link.socket = arg;
        return 0;
    case OPT_SERVICE:
        if (*arg == '\0' || strlen(arg) >= 64)
            argument_want(state, "service", arg, "a short name or number");
        o->link.service = arg;
        return 0;
    case OPT_HIDDEN:
        o->source.hidden = o->copy.hidden = true;
        return 0;
    case 'l':
        o->link.lifetime_ms = read_seconds(state, "lifetime", arg) / TICK_MS;
        return 0;
    case OPT_RECONNECT:
        o->link.reconnect = read_seconds(state, "reconnect", arg != NULL ? arg : "60");
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case OPT_JSON:
        o->json = arg;
        return 0;
    case ARGP_KEY_ARG:
        take_word(p, arg, state);
        return 0;
    case ARGP_KEY_END:
        check_options(p, state);
        o->source.files.wait = o->link.lifetime_ms * TICK_MS;
        return 0;
    default:
        return parse_send(o, key, arg, state);
    }
}

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
        fprintf(stderr, "helio-sync: %llu names are not confirmed; the same command goes on\n",
                (unsigned long long)p->send.source.open_len);
    return json == NULL ||
           perf_report_write(
               p->command->send ? sync_send_json(&p->send) : sync_receive_json(&p->receive), json);
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
                            50, 75, 60 * TICK_S},
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
    const struct argp argp = {.options = p->command->options,
                              .parser = parse_option,
                              .args_doc = p->command->args,
                              .doc = p->command->doc};
    argp_err_exit_status = 2;
    argument_parse(&argp, argc - 1, argv + 1, 0, p);
    int code = run_program(p);
    perf_process_close(&p->process);
    free(p);
    return code;
}
