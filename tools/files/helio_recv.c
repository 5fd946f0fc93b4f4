/* SPDX-License-Identifier: Apache-2.0 */
/* helio-recv: takes the files of helio-send (docs/helio-send.md). What can go wrong: no node, no
 * folder, the file of --json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "os/arguments.h"
#include "os/process.h"
#include "tools/files/recv_run.h"
#include "tools/perf/perf_process.h"
#include "tools/perf/perf_report.h"

enum {
    OPT_SOCKET = 256,
    OPT_SERVICE,
    OPT_JSON,
    OPT_STDOUT,
    OPT_FILE_MAX,
    OPT_TRANSFERS,
    OPT_SPACE,
    OPT_SHARE,
    OPT_NEIGHBOUR_SHARE,
    OPT_FORGET,
    OPT_IDLE,
    OPT_NO_SYNC,
    OPT_HIDDEN,
    OPT_RECONNECT,
    OPT_DELIVERIES,
    OPT_PAYLOAD_MAX,
};

/* argp sorts within a group; an option with group 0 is in that of the one before it. First what is
 * needed, then the rest. */
static const struct argp_option options[] = {
    {"socket", OPT_SOCKET, "PATH", 0, "The node's application socket", 1},
    {"output", 'o', "DIR", 0, "The folder for the files; it must exist", 1},
    {"service", OPT_SERVICE, "NAME", 0, "Service of our endpoint [2001; dtn: files]", 2},
    {"count", 'c', "N", 0, "End after so many files [at a signal]", 0},
    {"stdout", OPT_STDOUT, NULL, 0, "Write the files to standard output, one after the other", 0},
    {"file-max", OPT_FILE_MAX, "SIZE", 0, "The longest file taken [16GiB]", 0},
    {"transfers", OPT_TRANSFERS, "N", 0, "Files that are not whole, at once [1024]", 0},
    {"space", OPT_SPACE, "SIZE", 0, "Bytes of incomplete files, all together [64GiB]", 0},
    {"share", OPT_SHARE, "PERCENT", 0, "Of --transfers and --space, for one sending node [50]", 0},
    {"neighbour-share", OPT_NEIGHBOUR_SHARE, "PERCENT", 0,
     "Of --transfers and --space, for all nodes behind one neighbour [75]", 0},
    {"idle", OPT_IDLE, "TIME", 0,
     "A file that has hardly grown, and was silent for so long, gives way to others [1min]", 0},
    {"forget", OPT_FORGET, "TIME", 0,
     "Any file that was silent for so long gives way to others [7d]", 0},
    {"hidden", OPT_HIDDEN, NULL, 0, "Take names with parts that begin with a dot", 0},
    {"no-sync", OPT_NO_SYNC, NULL, 0, "Do not wait for the medium (faster; power loss costs)", 0},
    {"lifetime", 'l', "TIME", 0, "Lifetime of the receipts, in seconds or with a unit [1d]", 0},
    {"payload-max", OPT_PAYLOAD_MAX, "SIZE", 0, "The longest payload taken [1GiB]", 0},
    {"deliveries", OPT_DELIVERIES, "N", 0, "Deliveries on the way from the node at once [16]", 0},
    {"reconnect", OPT_RECONNECT, "S", OPTION_ARG_OPTIONAL,
     "When the node goes away, try again for S seconds [off; alone: 60]", 0},
    {"quiet", 'q', NULL, 0, "Say nothing of files that came", 0},
    {"json", OPT_JSON, "FILE", 0, "Write the counters as JSON (- for standard output)", 0},
    {0}};

static tick read_seconds(struct argp_state *state, const char *option, const char *arg)
{
    tick t = 0;
    if (perf_options_time(arg, &t) != 0 || t < TICK_MS)
        argument_want(state, option, arg, "a time in seconds, such as 60, or with a unit");
    return t;
}

static error_t parse_limit(struct recv_options *o, int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case OPT_FILE_MAX:
        o->limits.file_max = argument_size(state, "file-max", arg, 0, INT64_MAX);
        return 0;
    case OPT_TRANSFERS:
        o->limits.items_max = argument_count(state, "transfers", arg, 1, 1000000);
        return 0;
    case OPT_SPACE:
        o->limits.space_max = argument_size(state, "space", arg, 1, INT64_MAX);
        return 0;
    case OPT_SHARE:
        o->limits.share = (unsigned)argument_count(state, "share", arg, 1, 100);
        return 0;
    case OPT_NEIGHBOUR_SHARE:
        o->limits.neighbour = (unsigned)argument_count(state, "neighbour-share", arg, 1, 100);
        return 0;
    case OPT_IDLE:
        o->limits.idle = read_seconds(state, "idle", arg);
        return 0;
    case OPT_FORGET:
        o->limits.forget = read_seconds(state, "forget", arg);
        return 0;
    case OPT_NO_SYNC:
        o->limits.sync = false;
        return 0;
    case OPT_HIDDEN:
        o->hidden = true;
        return 0;
    case OPT_PAYLOAD_MAX:
        o->payload_max = argument_size(state, "payload-max", arg, FILES_HEAD, UINT64_C(1) << 31);
        return 0;
    case OPT_DELIVERIES:
        o->deliveries = (uint32_t)argument_count(state, "deliveries", arg, 1, 65536);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_options(const struct recv_options *o, struct argp_state *state)
{
    if (o->link.socket == NULL)
        argp_error(state, "--socket PATH is missing: the node's application socket");
    if (o->output == NULL)
        argp_error(state, "-o DIR is missing: the folder for the files");
    if (o->to_stdout && o->json != NULL && strcmp(o->json, "-") == 0)
        argp_error(state, "--stdout and --json - both want standard output");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct recv_options *o = state->input;
    switch (key) {
    case OPT_SOCKET:
        o->link.socket = arg;
        return 0;
    case OPT_SERVICE:
        if (*arg == '\0' || strlen(arg) >= 64)
            argument_want(state, "service", arg, "a short name or number");
        o->link.service = arg;
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case 'c':
        o->count = argument_count(state, "count", arg, 1, INT64_MAX);
        return 0;
    case 'l':
        o->lifetime_ms = read_seconds(state, "lifetime", arg) / TICK_MS;
        return 0;
    case OPT_STDOUT:
        o->to_stdout = true;
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
        argp_error(state, "%s: what is this? Options only", arg);
        return 0;
    case ARGP_KEY_END:
        check_options(o, state);
        return 0;
    default:
        return parse_limit(o, key, arg, state);
    }
}

struct program {
    struct perf_process process;
    struct recv_options options;
    struct recv_run run;
};

static void on_signal(void *context, int number)
{
    struct program *p = context;
    (void)number;
    recv_run_stop(&p->run);
}

static void end_program(void *context)
{
    struct program *p = context;
    if (p->process.ended)
        return;
    perf_link_fini(&p->run.link);
    perf_process_end(&p->process);
}

static bool tell_result(const struct program *p)
{
    const char *json = p->options.json;
    return json == NULL || perf_report_write(recv_run_json(&p->run), json);
}

static int run_program(struct program *p)
{
    int rc = perf_process_open(&p->process, "helio-recv", on_signal, p);
    if (rc != 0)
        return 1;
    const uint64_t seed[2] = {world_random(p->process.world), world_random(p->process.world)};
    rc = recv_run_init(&p->run, p->process.world, &p->options, seed, end_program, p);
    if (rc == 0) {
        recv_run_start(&p->run);
        perf_process_run(&p->process);
    }
    bool good = rc == 0 && tell_result(p) && !p->run.failed;
    end_program(p);
    recv_run_fini(&p->run);
    bool mistake = helio_code(rc) == HELIO_ENOENT; /* of a path that was named */
    return good ? 0 : mistake ? 2 : 1;
}

int main(int argc, char **argv)
{
    file_limit_report();
    static const char *const well_known[2] = {"2001", "files"};
    static const struct argp argp = {
        options,
        parse_option,
        NULL,
        "Takes the files that helio-send sends here, in any order and with restarts of either "
        "end.\v"
        "examples:\n"
        "  helio-recv --socket node2.sock -o received\n"
        "  helio-recv --socket node2.sock -o received --stdout -c 1 >image.tif\n"
        "\nexit codes: 0 stopped, or the files of -c are here; 1 the node or the folder failed; "
        "2 wrong usage, or there is no such folder",
        NULL,
        NULL,
        NULL};
    struct program *p = calloc(1, sizeof *p);
    if (p == NULL) {
        fputs("helio-recv: out of memory\n", stderr);
        return 1;
    }
    p->options = (struct recv_options){.link = {.program = "helio-recv", .well_known = well_known},
                                       .limits = {UINT64_C(16) << 30, 1024, UINT64_C(64) << 30,
                                                  7 * 86400 * TICK_S, true, 50, 75, 60 * TICK_S},
                                       .lifetime_ms = 86400000,
                                       .payload_max = UINT64_C(1) << 30,
                                       .deliveries = 16};
    argp_err_exit_status = 2;
    argp_program_version = "helio-recv " HELIO_VERSION;
    argument_parse(&argp, argc, argv, 0, &p->options);
    int code = run_program(p);
    perf_process_close(&p->process);
    free(p);
    return code;
}
