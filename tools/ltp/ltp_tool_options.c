/* SPDX-License-Identifier: Apache-2.0 */
/* Two tables of options with a common part, one parser. What can go wrong is what people type; each
 * message names the option and what would be right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_arguments.h"
#include "os/arguments.h"
#include "tools/ltp/ltp_tool_options.h"

static void set_red(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct ltp_tool_options *o = base;
    o->red = strcmp(arg, "all") == 0    ? LTP_TOOL_ALL
             : strcmp(arg, "none") == 0 ? 0
                                        : argument_number(state, row, arg);
    o->orange = false;
}

static void set_orange(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct ltp_tool_options *o = base;
    (void)state;
    (void)row;
    (void)arg;
    o->orange = true;
    o->red = 0;
}

#define FIELD(member) ARGUMENT_FIELD(struct ltp_tool_options, member)
#define TIME(low) .type = OPTION_DURATION, .min = (low)
#define COUNT(low, high) .type = OPTION_COUNT, .min = (low), .max = (high)
#define SIZE(low, high) .type = OPTION_SIZE, .min = (low), .max = (high)

static const struct argument common_options[] = {
    {"local", 0, "ADDR:PORT", .help = "our socket; port 0 chooses one", .type = OPTION_ADDRESS,
     FIELD(local)},
    {"source", 0, "address|exact|any",
     .help = "which datagrams are accepted: from the address of --remote, from its port too, or "
             "all (address)",
     .type = OPTION_CHOICE, .choices = "address|exact|any", FIELD(source)},
    {"engine", 0, "N", .help = "our LTP engine number", COUNT(1, 0), FIELD(engine)},
    {"peer-engine", 0, "N", .help = "the peer's LTP engine number", COUNT(1, 0),
     FIELD(peer_engine)},
    {"service", 0, "N", .help = "client service (1)", COUNT(0, UINT32_MAX), FIELD(service)},
    {"rto", 0, "TIME", .help = "retransmission timer (1s)", TIME(100 * TICK_US), FIELD(span.rto)},
    {"rate", 0, "RATE", .help = "bits on the air (unlimited)", .type = OPTION_RATE, .min = 1,
     .choices = "unlimited", FIELD(rate_bps)},
    {"overhead", 0, "BYTES", .help = "on the air beside each segment (42)", SIZE(0, 65535),
     FIELD(overhead)},
    {"timeout", 0, "TIME", .help = "fail then (never)", TIME(0), FIELD(timeout)},
    {"log", 0, "FILE", .help = "append the segment log (docs/segment-log.md)", FIELD(log)},
    {"json", 0, .help = "print the result as JSON", .type = OPTION_BOOL, FIELD(json)},
    {0}};

static const struct argument send_options[] = {
    {"remote", 0, "ADDR:PORT", .help = "where segments go", .type = OPTION_ADDRESS, FIELD(remote)},
    {"red", 0, "all|none|BYTES", .help = "how much of each block is red, reliable (all)",
     SIZE(0, UINT32_MAX), .choices = "all|none", .own = set_red},
    {"orange", 0, .help = "sent once, and a helio-ltp shows what arrived; nothing is red",
     .own = set_orange},
    {0}};

static const struct argument receive_options[] = {
    {"remote", 0, "ADDR:PORT",
     .help = "where our segments go (default: the source of the latest datagrams)",
     .type = OPTION_ADDRESS, FIELD(remote)},
    {"output", 0, "DIR", .help = "folder for the files", FIELD(output)},
    {"count", 0, "N", .help = "end after N blocks (at a signal)", COUNT(1, UINT32_MAX),
     FIELD(blocks)},
    {"block-max", 0, "SIZE", .help = "longest block taken (1GiB)", SIZE(1, UINT32_MAX),
     FIELD(block_max)},
    {"idle-timeout", 0, "TIME",
     .help = "give a block up in which nothing arrives (red never, green 10 x rto)", TIME(0),
     FIELD(idle)},
    {0}};

static void take_files(struct argp_state *state, char *arg, void *base)
{
    struct ltp_tool_options *o = base;
    if (o->receive)
        argp_error(state, "\"%s\" is one word too many; there are only options", arg);
    o->files = state->argv + state->next - 1;
    o->count = (size_t)(state->argc - state->next) + 1;
    state->next = state->argc;
}

static void check_options(struct argp_state *state, void *base)
{
    const struct ltp_tool_options *o = base;
    if (!address_given(&o->local))
        argp_error(state, "--local is missing: our own socket, such as 127.0.0.1:1113");
    if (o->engine == 0 || o->peer_engine == 0)
        argp_error(state, "--engine or --peer-engine is missing: two numbers, such as 1 and 2");
    if (o->receive && o->output == NULL)
        argp_error(state, "--output is missing: a folder for the files");
    if (!o->receive && !address_given(&o->remote))
        argp_error(state, "--remote is missing: where segments go, such as 127.0.0.1:1114");
    if (!o->receive && o->count == 0)
        argp_error(state, "FILE is missing: what is to be sent");
}

static const char usage[] =
    "usage: helio-ltp send FILE... --local ADDR:PORT --remote ADDR:PORT --engine N --peer-engine "
    "M\n"
    "       helio-ltp receive --local ADDR:PORT --engine M --peer-engine N --output DIR\n"
    "Files as LTP blocks over UDP, without bundles. `helio-ltp send --help` and `helio-ltp receive "
    "--help` list the options.\n"
    "\n"
    "examples:\n"
    "  helio-ltp receive --local 127.0.0.1:1114 --engine 2 --peer-engine 1 \\\n"
    "      --output in\n"
    "  helio-ltp send image.tif --local 127.0.0.1:1113 --remote 127.0.0.1:1114 \\\n"
    "      --engine 1 --peer-engine 2\n";

void ltp_tool_options_read(struct ltp_tool_options *o, int argc, char **argv)
{
    /* what follows from the files, or has other words here */
    static const char *const without[] = {"checkpoint_extra", "sessions",     "sessions_bytes",
                                          "sessions_age",     "rto",          "import_sessions",
                                          "block_max",        "idle_timeout", NULL};
    *o = (struct ltp_tool_options){.span = {.profile = LTP_PROFILE_AUTO, .rto = TICK_S},
                                   .service = 1,
                                   .overhead = 42,
                                   .red = LTP_TOOL_ALL,
                                   .block_max = UINT64_C(1) << 30};
    ltp_arguments_init(&o->ltp, &o->span, without);
    const struct argument_part parts[] = {
        {.options = common_options},
        {o->ltp.options, offsetof(struct ltp_tool_options, ltp), "LTP:", 0, NULL},
        {0}};
    const struct argument_table send = {
        .options = send_options,
        .parts = parts,
        .word = take_files,
        .end = check_options,
        .args_doc = "FILE...",
        .doc = "Sends each file as one LTP block; exit code 0 when the peer has all red "
               "parts, and all orange blocks."
               "\vexample:\n"
               "  helio-ltp send image.tif --local 127.0.0.1:1113 \\\n"
               "      --remote 127.0.0.1:1114 --engine 1 --peer-engine 2\n"};
    const struct argument_table receive = {
        .options = receive_options,
        .parts = parts,
        .word = take_files,
        .end = check_options,
        .args_doc = "",
        .doc =
            "Writes each LTP block to a file ORIGINATOR.SESSION in a folder; one that is not whole "
            "keeps the name ORIGINATOR.SESSION.part."
            "\vexample:\n"
            "  helio-ltp receive --local 127.0.0.1:1114 --engine 2 --peer-engine 1 \\\n"
            "      --output in\n"};
    const struct {
        const char *name; /* what messages begin with */
        const struct argument_table *table;
    } commands[] = {{"helio-ltp send", &send}, {"helio-ltp receive", &receive}};
    argp_program_version = "helio-ltp " HELIO_VERSION;
    size_t i = argument_command(argc, argv, commands, 2, sizeof *commands, usage);
    o->receive = i == 1;
    argument_table_parse(commands[i].table, argc - 1, argv + 1, o);
}
