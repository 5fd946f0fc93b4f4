/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `helio-emu stream`. Those of the network are keys of the file under names of their
 * own, and are read as these keys. The file is read first, wherever it stands. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/scenario/scenario_options.h"
#include "channel-emu/wan/wan_settings.h"
#include "os/arguments.h"

#define LAID_MAX 64

/* What was read; options of the network are applied over the file, in their order. */
struct line {
    struct wan_settings settings;
    struct laid {
        const struct argument *row;
        const char *arg;
    } laid[LAID_MAX];
    size_t laid_len;
};

static const char doc[] =
    "Relays TCP streams over an emulated wide area network: rate, delay, stalls, and a limit of "
    "what is under way. FILE has the same settings (docs/helio-emu-stream.md)."
    "\vExamples:\n"
    "  helio-emu stream --listen 127.0.0.1:5100 --to 127.0.0.1:6100 \\\n"
    "      --rate 100Mbit/s --rate-return 1Gbit/s --delay 20ms --json account.json\n"
    "  helio-emu stream --listen 127.0.0.1:5101 --to 127.0.0.1:6101 \\\n"
    "      --stalls 'every 10s for 200ms'\n"
    "  helio-emu stream examples/emu-stream.yaml --delay 200ms --check\n"
    "Ctrl-C ends it and prints the account; SIGUSR1 prints it on the way.";

/* As the key's value between quotes, which no value has. The row's `choices` is the key's path. */
static void lay_option(const struct laid *l, struct wan_settings *s)
{
    char text[4096], shown[80];
    const char *path = l->row->choices, *dot = strchr(path, '.');
    const int len = dot == NULL ? snprintf(text, sizeof text, "%s: \"%s\"", path, l->arg)
                                : snprintf(text, sizeof text, "%.*s: {%s: \"%s\"}",
                                           (int)(dot - path), path, dot + 1, l->arg);
    snprintf(shown, sizeof shown, "--%s", l->row->name);
    struct conf_errors *e = scenario_errors_new(shown);
    if (len < 0 || (size_t)len >= sizeof text)
        conf_error(e, 0, "is too long; a file has room for it");
    else
        wan_settings_lay(s, text, e);
    scenario_errors_stop(e, 0);
}

/* It is applied when the file has been read. */
static void keep_option(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct line *l = base;
    if (strpbrk(arg, "\"\\\n") != NULL)
        argument_wrong(state, "'%s' has a quote or a backslash; write it without them", arg);
    if (l->laid_len == LAID_MAX)
        argp_error(state, "at most %d options of the network", LAID_MAX);
    else
        l->laid[l->laid_len++] = (struct laid){row, arg};
}

static void take_file(struct argp_state *state, char *arg, void *base)
{
    struct line *l = base;
    if (state->arg_num > 0)
        argp_error(state, "'%s' is one file too many", arg);
    l->settings.file = arg;
}

#define FIELD(member) ARGUMENT_FIELD(struct line, settings.member)
#define KEY(text) .own = keep_option, .choices = (text)

static const struct argument options[] = {
    {NULL, .help = "Where streams go:", .group = 1},
    {"listen", 0, "ADDR:PORT", .help = "Accept TCP connections here", .group = 1, KEY("listen")},
    {"to", 0, "ADDR:PORT", .help = "Connect to there for each of them", .group = 1, KEY("to")},
    {"connections", 0, "N", .help = "At once at most (default 16); others are reset", .group = 1,
     KEY("connections")},
    {NULL, .help = "The network:", .group = 2},
    {"rate", 0, "RATE",
     .help = "Rate forward, of all connections together (default unlimited); forward is from the "
             "one who connects",
     .group = 2, KEY("forward.rate")},
    {"rate-return", 0, "RATE", .help = "The same for the return", .group = 2, KEY("return.rate")},
    SCENARIO_DELAY_OPTIONS,
    {"stalls", 0, "STALLS",
     .help = "When the line stands still: 'every 10s for 200ms', windows such as 2s-2200ms,7s-8s, "
             "or none",
     .group = 2, KEY("both.stalls")},
    {"stalls-forward", 0, "STALLS", .help = "Forward only", .group = 2, KEY("forward.stalls")},
    {"stalls-return", 0, "STALLS", .help = "Of the return only", .group = 2, KEY("return.stalls")},
    {"limit", 0, "SIZE|auto",
     .help = "Octets of a connection that are under way in each direction, at most (default auto: "
             "those of the delay and 20 ms at the rate, 4 MiB at least); the sender waits",
     .group = 2, KEY("both.limit")},
    {NULL, .help = "The run:", .group = 3},
    {"json", 0, "FILE", .help = "Write the account at the end; - is the standard output",
     .group = 3, FIELD(json)},
    {"duration", 0, "DURATION", .help = "Stop after this time (default: at Ctrl-C)", .group = 3,
     .type = OPTION_DURATION, .min = 1, FIELD(duration)},
    {"control", 0, "PATH",
     .help = "Make a UNIX socket there for helio-emu change and helio-emu status", .group = 3,
     FIELD(control)},
    {"priority", 0, "realtime|normal",
     .help = "Real-time scheduling where it is permitted (default), or not", .group = 3,
     .type = OPTION_CHOICE, .choices = "normal|realtime", FIELD(realtime)},
    {"check", 0, .help = "Only read the file and the options, and print what would hold",
     .group = 3, .type = OPTION_BOOL, FIELD(check)},
    {0}};

static const struct argument_table table = {
    .options = options, .word = take_file, .args_doc = "[FILE]", .doc = doc};

void wan_options_read(struct wan_settings *s, int argc, char **argv)
{
    struct line l = {.settings = *s};
    argp_err_exit_status = 2;
    argument_table_parse(&table, argc, argv, &l);
    *s = l.settings;
    if (s->file != NULL) {
        struct conf_errors *e = scenario_errors_new(s->file);
        wan_settings_load(s, s->file, e);
        scenario_errors_stop(e, 0);
    }
    for (size_t i = 0; i < l.laid_len; i++)
        lay_option(&l.laid[i], s);
    struct conf_errors *e = scenario_errors_new(s->file != NULL ? s->file : "the options");
    wan_settings_check(s, e);
    scenario_errors_stop(e, 0);
}
