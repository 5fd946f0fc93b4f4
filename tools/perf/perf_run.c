/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of helio-perf, and its monitor, as programs in the kernel's world: they start, run, and
 * print the result. What can go wrong at the start: no memory, no descriptors, no node. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/perf/perf_client.h"
#include "tools/perf/perf_monitor.h"
#include "tools/perf/perf_process.h"
#include "tools/perf/perf_report.h"
#include "tools/perf/perf_reverse.h"
#include "tools/perf/perf_server.h"

/* The parts that each of our programs has. */
struct run {
    struct perf_process process;
    struct perf_client *clients; /* some; or some that receive; or one of the other two */
    struct perf_reverse *reverses;
    size_t clients_len, running;
    struct perf_server *server;
    struct perf_monitor *monitor;
};

static void on_signal(void *context, int number)
{
    struct run *r = context;
    (void)number;
    for (size_t i = 0; i < r->clients_len && !r->process.ended; i++) {
        if (r->clients != NULL)
            perf_client_interrupt(&r->clients[i]);
        else
            perf_reverse_interrupt(&r->reverses[i]);
    }
    if (r->clients_len > 0)
        return;
    if (r->server != NULL)
        perf_server_stop(r->server);
    else
        perf_monitor_stop(r->monitor);
}

static int run_open(struct run *r)
{
    return perf_process_open(&r->process, "helio-perf", on_signal, r);
}

static void draw_seed(struct run *r, uint64_t seed[2])
{
    seed[0] = world_random(r->process.world);
    seed[1] = world_random(r->process.world);
}

/* One of them is done; the last one ends all. */
static void client_done(void *context)
{
    struct run *r = context;
    if (--r->running > 0)
        return;
    for (size_t i = 0; i < r->clients_len; i++)
        perf_link_fini(&r->clients[i].link);
    perf_process_end(&r->process);
}

static int init_clients(struct run *r, const struct perf_options *o)
{
    int rc = 0;
    for (size_t i = 0; i < r->clients_len && rc == 0; i++) {
        uint64_t seed[2];
        draw_seed(r, seed);
        rc = perf_client_init(&r->clients[i], r->process.world, o, seed);
        r->clients[i].label = r->clients_len > 1 ? (unsigned)i + 1 : 0;
    }
    return rc;
}

/* All of them, and all that they sent arrived. */
static bool is_good(const struct perf_client *c)
{
    return c->begun && !c->failed && (c->interrupted || perf_client_missing(c) == 0);
}

/* The exit code. */
static int run_clients(struct run *r, const struct perf_options *o)
{
    struct perf_client *first = r->clients;
    bool good = init_clients(r, o) == 0;
    for (size_t i = 0; i < r->clients_len && good && !r->process.ended; i++)
        perf_client_start(&r->clients[i], o->interval > 0, client_done, r);
    if (good)
        perf_process_run(&r->process);
    for (size_t i = 0; i < r->clients_len; i++)
        if (!r->clients[i].begun) {
            const char *why = r->clients[i].link.why;
            fprintf(stderr, "helio-perf: %s\n", *why != '\0' ? why : first->link.why);
            return 1;
        }
    good = r->clients_len == 1 ? perf_client_result(first)
                               : perf_clients_result(first, r->clients_len);
    for (size_t i = 0; i < r->clients_len; i++)
        good = good && is_good(&r->clients[i]);
    return good ? 0 : 1;
}

int perf_client_run(const struct perf_options *o)
{
    size_t n = o->parallel > 0 ? (size_t)o->parallel : 1;
    struct run r = {.clients = calloc(n, sizeof *r.clients), .clients_len = n, .running = n};
    int code = 1;
    if (r.clients == NULL)
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(HELIO_ENOMEM));
    else if (run_open(&r) == 0)
        code = run_clients(&r, o);
    for (size_t i = 0; i < n && r.process.world != NULL; i++)
        if (r.clients[i].options != NULL)
            perf_client_fini(&r.clients[i]);
    perf_process_close(&r.process);
    free(r.clients);
    return code;
}

static void reverse_done(void *context)
{
    struct run *r = context;
    if (--r->running > 0)
        return;
    for (size_t i = 0; i < r->clients_len; i++)
        perf_link_fini(&r->reverses[i].server.link);
    perf_process_end(&r->process);
}

/* The exit code. */
static int run_reverses(struct run *r, const struct perf_options *o)
{
    int rc = 0;
    for (size_t i = 0; i < r->clients_len && rc == 0; i++) {
        uint64_t seed[2];
        draw_seed(r, seed);
        rc = perf_reverse_init(&r->reverses[i], r->process.world, o, seed);
        r->reverses[i].label = r->clients_len > 1 ? (unsigned)i + 1 : 0;
    }
    for (size_t i = 0; i < r->clients_len && rc == 0 && !r->process.ended; i++)
        perf_reverse_start(&r->reverses[i], reverse_done, r);
    if (rc != 0) {
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(rc));
        return 1;
    }
    perf_process_run(&r->process);
    bool good = true;
    for (size_t i = 0; i < r->clients_len; i++) {
        good = good && perf_reverse_good(&r->reverses[i]);
        if (r->reverses[i].begun)
            continue;
        fprintf(stderr, "helio-perf: %s\n", r->reverses[i].server.link.why);
        return 1;
    }
    return perf_reverse_result(r->reverses, r->clients_len) && good ? 0 : 1;
}

int perf_reverse_run(const struct perf_options *o)
{
    size_t n = o->parallel > 0 ? (size_t)o->parallel : 1;
    struct run r = {.reverses = calloc(n, sizeof *r.reverses), .clients_len = n, .running = n};
    int code = 1;
    if (r.reverses == NULL)
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(HELIO_ENOMEM));
    else if (run_open(&r) == 0)
        code = run_reverses(&r, o);
    for (size_t i = 0; i < n && r.process.world != NULL; i++)
        if (r.reverses[i].options != NULL)
            perf_reverse_fini(&r.reverses[i]);
    perf_process_close(&r.process);
    free(r.reverses);
    return code;
}

static void server_done(void *context)
{
    struct run *r = context;
    perf_link_fini(&r->server->link);
    perf_process_end(&r->process);
}

static int run_server(struct run *r, const struct perf_options *o)
{
    struct perf_server *p = r->server;
    uint64_t seed[2];
    draw_seed(r, seed);
    int rc = perf_server_init(p, r->process.world, o, seed);
    if (rc < 0) {
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(rc));
        return 1;
    }
    perf_server_start(p, server_done, r);
    perf_process_run(&r->process);
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
    if (r.process.world != NULL && r.server->options != NULL)
        perf_server_fini(r.server);
    perf_process_close(&r.process);
    free(r.server);
    return code;
}

static void monitor_done(void *context)
{
    struct run *r = context;
    perf_link_fini(&r->monitor->link);
    perf_process_end(&r->process);
}

static int run_monitor(struct run *r, const struct perf_options *o)
{
    struct perf_monitor *m = r->monitor;
    uint64_t seed[2];
    draw_seed(r, seed);
    int rc = perf_monitor_init(m, r->process.world, o, seed);
    if (rc < 0) {
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(rc));
        return 1;
    }
    perf_monitor_start(m, monitor_done, r);
    perf_process_run(&r->process);
    if (!m->begun) {
        fprintf(stderr, "helio-perf: %s\n", m->link.why);
        return 1;
    }
    perf_monitor_end(m);
    bool written =
        o->json == NULL || perf_report_write("helio-perf", perf_monitor_json(m), o->json);
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
    if (r.process.world != NULL && r.monitor->options != NULL)
        perf_monitor_fini(r.monitor);
    perf_process_close(&r.process);
    free(r.monitor);
    return code;
}
