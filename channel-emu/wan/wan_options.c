/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `helio-emu stream`. Each is a key of the file under a name of its own, and is read
 * as that key. The file is read first, wherever it stands. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/wan/wan_settings.h"
#include "os/arguments.h"

enum key {
    LISTEN = 256,
    TO,
    RATE,
    RATE_RETURN,
    DELAY,
    DELAY_FORWARD,
    DELAY_RETURN,
    LIMIT,
    STALLS,
    STALLS_FORWARD,
    STALLS_RETURN,
    CONNECTIONS,
    JSON,
    DURATION,
    CONTROL,
    PRIORITY,
    CHECK
};

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "Where streams go:", 1},
    {"listen", LISTEN, "ADDR:PORT", 0, "Accept TCP connections here", 1},
    {"to", TO, "ADDR:PORT", 0, "Connect to there for each of them", 1},
    {"connections", CONNECTIONS, "N", 0, "At once at most (default 16); others are reset", 1},
    {NULL, 0, NULL, 0, "The network:", 2},
    {"rate", RATE, "RATE", 0,
     "Rate forward, of all connections together (default unlimited); forward is from the one who "
     "connects",
     2},
    {"rate-return", RATE_RETURN, "RATE", 0, "The same for the return", 2},
    {"delay", DELAY, "DURATION", 0, "Delay in each direction (default 0)", 2},
    {"delay-forward", DELAY_FORWARD, "DURATION", 0, "Delay forward only", 2},
    {"delay-return", DELAY_RETURN, "DURATION", 0, "Delay of the return only", 2},
    {"stalls", STALLS, "STALLS", 0,
     "When the line stands still: 'every 10s for 200ms', windows such as 2s-2200ms,7s-8s, or none",
     2},
    {"stalls-forward", STALLS_FORWARD, "STALLS", 0, "Forward only", 2},
    {"stalls-return", STALLS_RETURN, "STALLS", 0, "Of the return only", 2},
    {"limit", LIMIT, "SIZE|auto", 0,
     "Octets of a connection that are under way in each direction, at most (default auto: those of "
     "the delay and 20 ms at the rate, 4 MiB at least); the sender waits",
     2},
    {NULL, 0, NULL, 0, "The run:", 3},
    {"json", JSON, "FILE", 0, "Write the account at the end; - is the standard output", 3},
    {"duration", DURATION, "DURATION", 0, "Stop after this time (default: at Ctrl-C)", 3},
    {"control", CONTROL, "PATH", 0,
     "Make a UNIX socket there for helio-emu change and helio-emu status", 3},
    {"priority", PRIORITY, "realtime|normal", 0,
     "Real-time scheduling where it is permitted (default), or not", 3},
    {"check", CHECK, NULL, 0, "Only read the file and the options, and print what would hold", 3},
    {0}};

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

/* Options that are keys of the file. */
static const struct {
    int option;
    const char *name, *before, *after; /* of the value, as YAML */
} keys[] = {
    {LISTEN, "--listen", "listen: ", ""},
    {TO, "--to", "to: ", ""},
    {CONNECTIONS, "--connections", "connections: ", ""},
    {RATE, "--rate", "forward: {rate: ", "}"},
    {RATE_RETURN, "--rate-return", "return: {rate: ", "}"},
    {DELAY, "--delay", "both: {delay: ", "}"},
    {DELAY_FORWARD, "--delay-forward", "forward: {delay: ", "}"},
    {DELAY_RETURN, "--delay-return", "return: {delay: ", "}"},
    {LIMIT, "--limit", "both: {limit: ", "}"},
    {STALLS, "--stalls", "both: {stalls: ", "}"},
    {STALLS_FORWARD, "--stalls-forward", "forward: {stalls: ", "}"},
    {STALLS_RETURN, "--stalls-return", "return: {stalls: ", "}"},
};

static void stop_if_wrong(struct conf_errors *e)
{
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "helio-emu: %s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "helio-emu: and %zu more errors\n", e->total - e->len);
    int code = e->no_memory ? 1 : 2;
    bool wrong = e->total > 0;
    free(e);
    if (wrong)
        exit(code);
}

static struct conf_errors *errors_new(const char *of)
{
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL) {
        fputs("helio-emu: out of memory\n", stderr);
        exit(1);
    }
    conf_errors_init(e, of);
    return e;
}

/* As the key's value between quotes, which no value has. */
static void lay_option(struct wan_settings *s, size_t i, const char *arg, struct argp_state *state)
{
    char text[4096], shown[160];
    if (strpbrk(arg, "\"\\\n") != NULL)
        argp_error(state, "%s '%s': quotes and backslashes are not expected", keys[i].name, arg);
    int len = snprintf(text, sizeof text, "%s\"%s\"%s", keys[i].before, arg, keys[i].after);
    if (len < 0 || (size_t)len >= sizeof text)
        argp_error(state, "%s is too long; a file has room for it", keys[i].name);
    snprintf(shown, sizeof shown, "%s '%s'", keys[i].name, arg);
    struct conf_errors *e = errors_new(shown);
    wan_settings_lay(s, text, e);
    stop_if_wrong(e);
}

static error_t run_option(int key, char *arg, struct argp_state *state, struct wan_settings *s)
{
    switch (key) {
    case JSON:
        s->json = arg;
        return 0;
    case DURATION:
        s->duration = argument_time(state, "duration", arg, 1);
        return 0;
    case CONTROL:
        s->control = arg;
        return 0;
    case CHECK:
        s->check = true;
        return 0;
    case PRIORITY:
        s->realtime = strcmp(arg, "realtime") == 0;
        if (!s->realtime && strcmp(arg, "normal") != 0)
            argp_error(state, "--priority '%s' is wrong; right is realtime or normal", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The second time: over the file. */
static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct wan_settings *s = state->input;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i].option == key) {
            lay_option(s, i, arg, state);
            return 0;
        }
    }
    return key == ARGP_KEY_ARG ? 0 : run_option(key, arg, state, s);
}

/* The first time: only the file is looked for. */
static error_t find_file(int key, char *arg, struct argp_state *state)
{
    struct wan_settings *s = state->input;
    if (key != ARGP_KEY_ARG)
        return key > 255 && key < ARGP_KEY_ARGS ? 0 : ARGP_ERR_UNKNOWN;
    if (state->arg_num > 0)
        argp_error(state, "'%s' is one file too many", arg);
    s->file = arg;
    return 0;
}

void wan_options_read(struct wan_settings *s, int argc, char **argv)
{
    const struct argp first = {table, find_file, "[FILE]", doc, NULL, NULL, NULL};
    const struct argp second = {table, parse_option, "[FILE]", doc, NULL, NULL, NULL};
    argp_err_exit_status = 2;
    argument_parse(&first, argc, argv, 0, s);
    if (s->file != NULL) {
        struct conf_errors *e = errors_new(s->file);
        wan_settings_load(s, s->file, e);
        stop_if_wrong(e);
    }
    argument_parse(&second, argc, argv, 0, s);
    struct conf_errors *e = errors_new(s->file != NULL ? s->file : "");
    wan_settings_check(s, e);
    stop_if_wrong(e);
}
