/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `helio-emu metrics`: prints the counters of running emulators for Prometheus, or
 * serves them over HTTP. It is a program beside the emulators, so a scrape takes no time from their
 * loops but that of an answer. What can go wrong: the address is in use.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/emu/emu_commands.h"
#include "channel-emu/emu/emu_control.h"
#include "conf/conf_arguments.h"
#include "node/http/http_text.h"
#include "node/http/uv_http.h"
#include "os/arguments.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"

#define SOCKETS_MAX 64

struct metrics {
    const char *listen;
    const char *sockets[SOCKETS_MAX];
    size_t count;
    struct world *world;
    struct http *http;
    struct uv_signals *signals;
};

static const char doc[] =
    "Prints what running emulators (relay, bridge or links with --control SOCKET) have counted, in "
    "the text format of Prometheus; with --listen serves it over HTTP, as /metrics."
    "\vExamples:\n"
    "  helio-emu metrics /tmp/link\n"
    "  helio-emu metrics --listen 9466 /tmp/link-1 /tmp/link-2\n"
    "Exit codes: 0 done, 1 no answer, or the address is in use; 2 usage.";

static const struct argument options[] = {
    {"listen", 'l', "ADDRESS",
     .help = "serve over HTTP until Ctrl-C: a port of 127.0.0.1, or ADDRESS:PORT",
     ARGUMENT_FIELD(struct metrics, listen)},
    {0}};

static void take_socket(struct argp_state *state, char *arg, void *base)
{
    struct metrics *m = base;
    if (!emu_ask_path_ok(arg))
        argp_error(state, "'%s' is too long for a socket's path", arg);
    if (m->count == SOCKETS_MAX)
        argp_error(state, "more than %d sockets; start a second helio-emu metrics for the rest",
                   SOCKETS_MAX);
    m->sockets[m->count++] = arg;
}

static void check_metrics(struct argp_state *state, void *base)
{
    const struct metrics *m = base;
    struct address at;
    if (m->count == 0)
        argp_error(state, "the socket is missing; write the PATH of the emulator's --control");
    if (m->listen != NULL && http_listen_parse(m->listen, &at) < 0)
        argument_wrong(state,
                       "--listen: \"%s\" is not understood; write a port, or a numeric address and "
                       "a port, such as 127.0.0.1:9466",
                       m->listen);
}

static struct http_answer answer_http(void *context, const struct http_question *q)
{
    const struct metrics *m = context;
    const char *silent;
    size_t len = 0;
    if (q->kind != HTTP_METRICS)
        return http_nothing();
    char *text = emu_metrics(m->sockets, m->count, &len, &silent);
    return http_metrics(text, len);
}

static void on_signal(void *context, int number)
{
    struct metrics *m = context;
    (void)number;
    http_close(m->http);
    uv_signals_close(m->signals);
    uv_world_end(m->world);
}

static bool open_server(struct metrics *m)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    static const char page[] = "helio-emu metrics: see /metrics\n";
    char why[256] = "";
    struct address at;
    const struct http_config http = {
        .listen = m->listen,
        .hosts = "",
        .token = "",
        .page = {200, "text/plain; charset=utf-8", page, sizeof page - 1, false},
        .loop = uv_world_loop(m->world),
        .make = answer_http,
        .context = m};
    if (http_open(&m->http, &http, why, sizeof why) < 0) {
        const size_t key = strlen("http.listen"); /* the server's messages begin with it */
        fprintf(stderr, "helio-emu: --listen%s\n", strlen(why) > key ? why + key : why);
        return false;
    }
    if (http_listen_parse(m->listen, &at) == 0 && !address_is_loopback(&at))
        fprintf(stderr,
                "helio-emu: warning: --listen %s: any host that reaches it can read the counters\n",
                m->listen);
    m->signals = uv_signals_open(m->world, numbers, 2, on_signal, m);
    if (m->signals != NULL)
        return true;
    fprintf(stderr, "helio-emu: signals: out of memory or descriptors\n");
    http_close(m->http);
    return false;
}

static int serve_metrics(struct metrics *m)
{
    int err = uv_world_open(&m->world);
    if (err < 0) {
        fprintf(stderr, "helio-emu: the event loop: %s\n", helio_strerror(err));
        return 1;
    }
    bool good = open_server(m);
    if (good)
        fprintf(stderr, "helio-emu: metrics of %zu emulators at %s, ready\n", m->count, m->listen);
    else
        uv_world_end(m->world);
    uv_world_run(m->world);
    http_free(m->http);
    return uv_world_free(m->world) == 0 && good ? 0 : 1;
}

static int print_once(const struct metrics *m)
{
    const char *silent;
    size_t len = 0;
    char *text = emu_metrics(m->sockets, m->count, &len, &silent);
    if (text == NULL) {
        fprintf(stderr, "helio-emu: out of memory\n");
        return 1;
    }
    if (silent != NULL)
        fprintf(stderr, "helio-emu: %s: no answer; is there an emulator with --control?\n", silent);
    fputs(text, stdout);
    free(text);
    return fflush(stdout) != 0 || silent != NULL ? 1 : 0;
}

int emu_metrics_main(int argc, char **argv)
{
    static const struct argument_table table = {.options = options,
                                                .word = take_socket,
                                                .end = check_metrics,
                                                .args_doc = "SOCKET...",
                                                .doc = doc};
    struct metrics m = {.listen = NULL};
    argp_err_exit_status = 2;
    argument_table_parse(&table, argc, argv, &m);
    return m.listen != NULL ? serve_metrics(&m) : print_once(&m);
}
