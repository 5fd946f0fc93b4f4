/* SPDX-License-Identifier: Apache-2.0 */
/* Two tables of options with a common part, one parser. What can go wrong is what people type; each
 * message names the option and what would be right. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "os/arguments.h"
#include "tools/ltp/ltp_tool_options.h"

enum {
    KEY_LOCAL = 256,
    KEY_REMOTE,
    KEY_SOURCE,
    KEY_ENGINE,
    KEY_PEER,
    KEY_SERVICE,
    KEY_RATE,
    KEY_OVERHEAD,
    KEY_RTO,
    KEY_TIMEOUT,
    KEY_LOG,
    KEY_JSON,
    KEY_RED,
    KEY_ORANGE,
    KEY_OUTPUT,
    KEY_COUNT,
    KEY_BLOCK_MAX,
    KEY_IDLE
};

#define COMMON_OPTIONS                                                                             \
    {"local", KEY_LOCAL, "ADDR:PORT", 0, "our socket; port 0 chooses one", 0},                     \
        {"source",                                                                                 \
         KEY_SOURCE,                                                                               \
         "address|exact|any",                                                                      \
         0,                                                                                        \
         "which datagrams are accepted: from the address of --remote, from its port too, or all "  \
         "(address)",                                                                              \
         0},                                                                                       \
        {"engine", KEY_ENGINE, "N", 0, "our LTP engine number", 0},                                \
        {"peer-engine", KEY_PEER, "N", 0, "the peer's LTP engine number", 0},                      \
        {"service", KEY_SERVICE, "N", 0, "client service (1)", 0},                                 \
        {"rto", KEY_RTO, "TIME", 0, "retransmission timer (1s)", 0},                               \
        {"rate", KEY_RATE, "RATE", 0, "bits on the air (unlimited)", 0},                           \
        {"overhead", KEY_OVERHEAD, "BYTES", 0, "on the air beside each segment (42)", 0},          \
        {"timeout", KEY_TIMEOUT, "TIME", 0, "fail then (never)", 0},                               \
        {"log", KEY_LOG, "FILE", 0, "append the segment log (docs/segment-log.md)", 0},            \
    {                                                                                              \
        "json", KEY_JSON, NULL, 0, "print the result as JSON", 0                                   \
    }

static const struct argp_option send_options[] = {
    {"remote", KEY_REMOTE, "ADDR:PORT", 0, "where segments go", 0},
    {"red", KEY_RED, "all|none|BYTES", 0, "how much of each block is red, reliable (all)", 0},
    {"orange", KEY_ORANGE, NULL, 0, "sent once, and a helio-ltp shows what arrived; nothing is red",
     0},
    COMMON_OPTIONS,
    {0}};

static const struct argp_option receive_options[] = {
    {"remote", KEY_REMOTE, "ADDR:PORT", 0,
     "where our segments go (where the latest datagrams came from)", 0},
    {"output", KEY_OUTPUT, "DIR", 0, "folder for the files", 0},
    {"count", KEY_COUNT, "N", 0, "end after N blocks (at a signal)", 0},
    {"block-max", KEY_BLOCK_MAX, "SIZE", 0, "longest block taken (1GiB)", 0},
    {"idle-timeout", KEY_IDLE, "TIME", 0,
     "give a block up in which nothing arrives (red never, green 10 x rto)", 0},
    COMMON_OPTIONS,
    {0}};

static error_t parse_line(struct ltp_tool_options *o, int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case KEY_RATE:
        o->rate_bps = argument_rate(state, "rate", arg);
        return 0;
    case KEY_OVERHEAD:
        o->overhead = argument_size(state, "overhead", arg, 0, 65535);
        return 0;
    case KEY_RTO:
        o->span.rto = argument_time(state, "rto", arg, 100 * TICK_US);
        return 0;
    case KEY_TIMEOUT:
        o->timeout = argument_time(state, "timeout", arg, 0);
        return 0;
    case KEY_RED:
        o->red = strcmp(arg, "all") == 0    ? LTP_TOOL_ALL
                 : strcmp(arg, "none") == 0 ? 0
                                            : argument_size(state, "red", arg, 0, UINT32_MAX);
        o->orange = false;
        return 0;
    case KEY_ORANGE:
        o->orange = true;
        o->red = 0;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_names(struct ltp_tool_options *o, int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case KEY_LOCAL:
        o->local = argument_address(state, "local", arg);
        return 0;
    case KEY_REMOTE:
        o->remote = argument_address(state, "remote", arg);
        return 0;
    case KEY_SOURCE:
        if (strcmp(arg, "address") != 0 && strcmp(arg, "exact") != 0 && strcmp(arg, "any") != 0)
            argument_want(state, "source", arg, "address, exact or any");
        o->source = arg[0] == 'e'             ? ADDRESS_CHECK_EXACT
                    : strcmp(arg, "any") == 0 ? ADDRESS_CHECK_ANY
                                              : ADDRESS_CHECK_HOST;
        return 0;
    case KEY_ENGINE:
        o->engine = argument_count(state, "engine", arg, 1, UINT64_MAX);
        return 0;
    case KEY_PEER:
        o->peer_engine = argument_count(state, "peer-engine", arg, 1, UINT64_MAX);
        return 0;
    case KEY_SERVICE:
        o->service = argument_count(state, "service", arg, 0, UINT32_MAX);
        return 0;
    case KEY_LOG:
        o->log = arg;
        return 0;
    case KEY_JSON:
        o->json = true;
        return 0;
    default:
        return parse_line(o, key, arg, state);
    }
}

static void check_options(const struct ltp_tool_options *o, struct argp_state *state)
{
    if (!address_given(&o->local))
        argp_error(state, "--local ADDR:PORT is missing: our own socket");
    if (o->engine == 0 || o->peer_engine == 0)
        argp_error(state, "--engine N and --peer-engine N are both wanted");
    if (o->receive && o->output == NULL)
        argp_error(state, "--output DIR is missing: where the files go");
    if (!o->receive && !address_given(&o->remote))
        argp_error(state, "--remote ADDR:PORT is missing: where segments go");
    if (!o->receive && o->count == 0)
        argp_error(state, "FILE is missing: what is to be sent");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct ltp_tool_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->ltp;
        return 0;
    case KEY_OUTPUT:
        o->output = arg;
        return 0;
    case KEY_COUNT:
        o->blocks = argument_count(state, "count", arg, 1, UINT32_MAX);
        return 0;
    case KEY_BLOCK_MAX:
        o->block_max = argument_size(state, "block-max", arg, 1, UINT32_MAX);
        return 0;
    case KEY_IDLE:
        o->idle = argument_time(state, "idle-timeout", arg, 0);
        return 0;
    case ARGP_KEY_ARGS:
        if (o->receive)
            argp_error(state, "%s: what is this? Options only", state->argv[state->next]);
        o->files = state->argv + state->next;
        o->count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        check_options(o, state);
        return 0;
    default:
        return parse_names(o, key, arg, state);
    }
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
    const struct argp_child children[] = {{&o->ltp.argp, 0, "LTP:", 0}, {0}};
    const struct argp send = {
        send_options,
        parse_option,
        "FILE...",
        "Sends each file as one LTP block; exit code 0 when the peer has all red "
        "parts, and all orange blocks."
        "\vexample:\n"
        "  helio-ltp send image.tif --local 127.0.0.1:1113 \\\n"
        "      --remote 127.0.0.1:1114 --engine 1 --peer-engine 2\n",
        children,
        NULL,
        NULL};
    const struct argp receive = {
        receive_options,
        parse_option,
        "",
        "Writes each LTP block to a file ORIGINATOR.SESSION in a folder; one that is not whole "
        "keeps the name ORIGINATOR.SESSION.part."
        "\vexample:\n"
        "  helio-ltp receive --local 127.0.0.1:1114 --engine 2 --peer-engine 1 \\\n"
        "      --output in\n",
        children,
        NULL,
        NULL};
    const struct {
        const char *name; /* what messages begin with */
        const struct argp *argp;
    } commands[] = {{"helio-ltp send", &send}, {"helio-ltp receive", &receive}};
    argp_program_version = "helio-ltp " HELIO_VERSION;
    size_t i = argument_command(argc, argv, commands, 2, sizeof *commands, usage);
    o->receive = i == 1;
    argument_parse(commands[i].argp, argc - 1, argv + 1, 0, o);
}
