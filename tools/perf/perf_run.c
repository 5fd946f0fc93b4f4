/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of helio-perf, and its monitor, as programs, in the kernel's world: they begin, run, and
 * tell the result. What can go wrong at the start: no memory, no descriptors, no node. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"
#include "tools/perf/perf_client.h"
#include "tools/perf/perf_monitor.h"
#include "tools/perf/perf_report.h"
#include "tools/perf/perf_server.h"

/* What a program of ours stands on. */
struct run {
    struct world *world;
    struct uv_signals *signals;
    bool ended;
    struct perf_client *client; /* one of the three */
    struct perf_server *server;
    struct perf_monitor *monitor;
};

static void on_signal(void *context, int number)
{
    struct run *r = context;
    (void)number;
    if (r->client != NULL)
        perf_client_interrupt(r->client);
    else if (r->server != NULL)
        perf_server_stop(r->server);
    else
        perf_monitor_stop(r->monitor);
}

static int run_open(struct run *r)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    int rc = uv_world_open(&r->world);
    if (rc == 0)
        r->signals = uv_signals_open(r->world, numbers, 2, on_signal, r);
    if (rc < 0 && rc != HELIO_ENOMEM)
        fprintf(stderr, "helio-perf: cannot wait for events: %s\n", helio_strerror(rc));
    else if (r->signals == NULL)
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(HELIO_ENOMEM));
    return rc == 0 && r->signals != NULL ? 0 : HELIO_EIO;
}

/* All that was opened closes, and the loop runs out. */
static void run_end(struct run *r)
{
    uv_signals_close(r->signals);
    uv_world_end(r->world);
    r->ended = true;
}

static void run_close(struct run *r)
{
    if (r->world == NULL)
        return;
    if (!r->ended)
        run_end(r);
    uv_world_run(r->world);
    (void)uv_world_free(r->world);
}

static void draw_seed(struct run *r, uint64_t seed[2])
{
    seed[0] = world_random(r->world);
    seed[1] = world_random(r->world);
}

static void client_done(void *context)
{
    struct run *r = context;
    perf_link_fini(&r->client->link);
    run_end(r);
}

/* The exit code. */
static int run_client(struct run *r, const struct perf_options *o)
{
    struct perf_client *c = r->client;
    uint64_t seed[2];
    draw_seed(r, seed);
    int rc = perf_client_init(c, r->world, o, seed);
    if (rc == 0) {
        perf_client_start(c, o->interval > 0, client_done, r);
        uv_world_run(r->world);
    }
    if (!c->begun) {
        fprintf(stderr, "helio-perf: %s\n", c->link.why);
        return 1;
    }
    bool written = perf_client_result(c);
    return written && !c->failed && (c->interrupted || perf_client_missing(c) == 0) ? 0 : 1;
}

int perf_client_run(const struct perf_options *o)
{
    struct run r = {.client = calloc(1, sizeof *r.client)};
    int code = 1;
    if (r.client == NULL)
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(HELIO_ENOMEM));
    else if (run_open(&r) == 0)
        code = run_client(&r, o);
    if (r.world != NULL && r.client->options != NULL)
        perf_client_fini(r.client);
    run_close(&r);
    free(r.client);
    return code;
}

static void server_done(void *context)
{
    struct run *r = context;
    perf_link_fini(&r->server->link);
    run_end(r);
}

static int run_server(struct run *r, const struct perf_options *o)
{
    struct perf_server *p = r->server;
    uint64_t seed[2];
    draw_seed(r, seed);
    int rc = perf_server_init(p, r->world, o, seed);
    if (rc < 0) {
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(rc));
        return 1;
    }
    perf_server_start(p, server_done, r);
    uv_world_run(r->world);
    if (!p->begun) {
        fprintf(stderr, "helio-perf: %s\n", p->link.why);
        return 1;
    }
    perf_server_end(p);
    return perf_server_result(p) && !p->failed ? 0 : 1;
}

int perf_server_run(const struct perf_options *o)
{
    struct run r = {.server = calloc(1, sizeof *r.server)};
    int code = 1;
    if (r.server == NULL)
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(HELIO_ENOMEM));
    else if (run_open(&r) == 0)
        code = run_server(&r, o);
    if (r.world != NULL && r.server->options != NULL)
        perf_server_fini(r.server);
    run_close(&r);
    free(r.server);
    return code;
}

static void monitor_done(void *context)
{
    struct run *r = context;
    perf_link_fini(&r->monitor->link);
    run_end(r);
}

static int run_monitor(struct run *r, const struct perf_options *o)
{
    struct perf_monitor *m = r->monitor;
    uint64_t seed[2];
    draw_seed(r, seed);
    int rc = perf_monitor_init(m, r->world, o, seed);
    if (rc < 0) {
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(rc));
        return 1;
    }
    perf_monitor_start(m, monitor_done, r);
    uv_world_run(r->world);
    if (!m->begun) {
        fprintf(stderr, "helio-perf: %s\n", m->link.why);
        return 1;
    }
    perf_monitor_end(m);
    bool written = o->json == NULL || perf_report_write(perf_monitor_json(m), o->json);
    return written && !m->failed ? 0 : 1;
}

int perf_monitor_run(const struct perf_options *o)
{
    struct run r = {.monitor = calloc(1, sizeof *r.monitor)};
    int code = 1;
    if (r.monitor == NULL)
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(HELIO_ENOMEM));
    else if (run_open(&r) == 0)
        code = run_monitor(&r, o);
    if (r.world != NULL && r.monitor->options != NULL)
        perf_monitor_fini(r.monitor);
    run_close(&r);
    free(r.monitor);
    return code;
}
