/* SPDX-License-Identifier: Apache-2.0 */
/* helio-recv: takes the files of helio-send (docs/helio-send.md). What can go wrong: no node, no
 * folder, the file of --json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "os/arguments.h"
#include "os/process/process.h"
#include "tools/files/recv_run.h"
#include "tools/perf/perf_process.h"
#include "tools/perf/perf_report.h"

#define CHECK_BYTES (UINT64_C(4) << 20) /* of whole files, in one turn of the loop */

static void refuse_word(struct argp_state *state, char *arg, void *base)
{
    (void)base;
    argument_refuse_place(state, arg);
    argp_error(state, "\"%s\" is one word too many; there are only options: the folder is -o %s",
               arg, arg);
}

static void check_options(struct argp_state *state, void *base)
{
    const struct recv_options *o = base;
    if (o->link.socket == NULL)
        argp_error(state, "--socket PATH is missing: the node's application socket");
    if (o->output == NULL)
        argp_error(state, "-o DIR is missing: the folder for the files");
    if (o->to_stdout && o->json != NULL && strcmp(o->json, "-") == 0)
        argp_error(state, "--stdout and --json - both want standard output");
    perf_report_place(state, "json", o->json);
}

#define FIELD(member) ARGUMENT_FIELD(struct recv_options, member)

/* argp sorts within a group; an option with group 0 is in that of the one before it. First what is
 * needed, then the rest. */
static const struct argument options[] = {
    {"socket", 0, "PATH", .help = "The node's application socket", .group = 1,
     .own = argument_set_socket, FIELD(link.socket)},
    {"output", 'o', "DIR", .help = "The folder for the files; it must exist", .group = 1,
     FIELD(output)},
    {"service", 0, "NAME", .help = "Service of our endpoint [2001; dtn: files]", .group = 2,
     .own = argument_set_service, FIELD(link.service)},
    {"count", 'c', "N", .help = "End after so many files [at a signal]", .type = OPTION_COUNT,
     FIELD(count), .min = 1, .max = INT64_MAX},
    {"stdout", 0, .help = "Write the files to standard output, one after the other",
     .type = OPTION_BOOL, FIELD(to_stdout)},
    {"file-max", 0, "SIZE", .help = "The longest file taken [16GiB]", .type = OPTION_SIZE,
     FIELD(limits.file_max), .max = INT64_MAX},
    {"transfers", 0, "N", .help = "Files that are not whole, at once [1024]", .type = OPTION_COUNT,
     FIELD(limits.items_max), .min = 1, .max = 1000000},
    {"space", 0, "SIZE", .help = "Bytes of incomplete files, all together [64GiB]",
     .type = OPTION_SIZE, FIELD(limits.space_max), .min = 1, .max = INT64_MAX},
    {"share", 0, "PERCENT", .help = "Of --transfers and --space, for one sending node [50]",
     .type = OPTION_COUNT, FIELD(limits.share), .min = 1, .max = 100},
    {"neighbour-share", 0, "PERCENT",
     .help = "Of --transfers and --space, for all nodes behind one neighbour [75]",
     .type = OPTION_COUNT, FIELD(limits.neighbour), .min = 1, .max = 100},
    {"idle", 0, "TIME",
     .help = "A file that has hardly grown, and was silent for so long, gives way to others [1min]",
     .own = perf_set_seconds, FIELD(limits.idle), .min = TICK_MS},
    {"forget", 0, "TIME", .help = "Any file that was silent for so long gives way to others [7d]",
     .own = perf_set_seconds, FIELD(limits.forget), .min = TICK_MS},
    {"hidden", 0, .help = "Take names with parts that begin with a dot", .type = OPTION_BOOL,
     FIELD(hidden)},
    {"no-sync", 0, .help = "Do not wait for the medium (faster; power loss costs)",
     .type = OPTION_BOOL, .without = "no", FIELD(limits.sync)},
    {"lifetime", 'l', "TIME", .help = "Lifetime of the receipts, in seconds or with a unit [1d]",
     .own = perf_set_milliseconds, FIELD(lifetime_ms), .min = TICK_MS},
    {"payload-max", 0, "SIZE", .help = "The longest payload taken [1GiB]", .type = OPTION_SIZE,
     FIELD(payload_max), .min = FILES_HEAD, .max = UINT64_C(1) << 31},
    {"deliveries", 0, "N", .help = "Deliveries on the way from the node at once [16]",
     .type = OPTION_COUNT, FIELD(deliveries), .min = 1, .max = 65536},
    {"reconnect", 0, "S", OPTION_ARG_OPTIONAL,
     .help = "When the node goes away, try again for S seconds [off; alone: 60]",
     .own = perf_set_seconds, FIELD(link.reconnect), .min = TICK_MS},
    {"quiet", 'q', .help = "Do not report received files", .type = OPTION_BOOL, FIELD(quiet)},
    {"json", 0, "FILE", .help = "Write the counters as JSON (- for standard output)", FIELD(json)},
    {0}};

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
    return json == NULL || perf_report_write("helio-recv", recv_run_json(&p->run), json);
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
    static const struct argument_table table = {
        options, .word = refuse_word, .end = check_options,
        .doc =
            "Takes the files that helio-send sends here, in any order and with restarts of either "
            "end.\v"
            "examples:\n"
            "  helio-recv --socket node2.sock -o received\n"
            "  helio-recv --socket node2.sock -o received --stdout -c 1 >image.tif\n"
            "\nexit codes: 0 stopped, or the files of -c are here; 1 the node or the folder "
            "failed; "
            "2 wrong usage, or there is no such folder"};
    struct program *p = calloc(1, sizeof *p);
    if (p == NULL) {
        fputs("helio-recv: out of memory\n", stderr);
        return 1;
    }
    p->options = (struct recv_options){.link = {.program = "helio-recv", .well_known = well_known},
                                       .limits = {UINT64_C(16) << 30, 1024, UINT64_C(64) << 30,
                                                  7 * 86400 * TICK_S, true, 50, 75, 60 * TICK_S,
                                                  CHECK_BYTES},
                                       .lifetime_ms = 86400000,
                                       .payload_max = UINT64_C(1) << 30,
                                       .deliveries = 16};
    argp_err_exit_status = 2;
    argp_program_version = "helio-recv " HELIO_VERSION;
    argument_table_parse(&table, argc, argv, &p->options);
    int code = run_program(p);
    perf_process_close(&p->process);
    free(p);
    return code;
}
