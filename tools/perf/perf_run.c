/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of helio-perf as programs: they begin, wait, have their turns, and tell the result.
 * What can go wrong at the start: no random numbers, no memory, no node. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "tools/perf/perf_client.h"
#include "tools/perf/perf_server.h"

static int draw_seed(uint64_t seed[2])
{
    ssize_t want = 2 * sizeof *seed;
    return getrandom(seed, (size_t)want, 0) == want ? 0 : HELIO_EIO;
}

static void run_client(struct perf_client *c, int signals)
{
    tick now = perf_now();
    perf_client_begin(c, isatty(STDERR_FILENO) == 1, now);
    for (;;) {
        tick until = perf_client_turn(c, now);
        if (c->phase == PERF_DONE)
            break;
        bool signalled = perf_wait(&c->link, signals, true, until);
        now = perf_now();
        if (signalled)
            perf_client_interrupt(c, now);
        if (c->phase == PERF_DONE)
            break;
    }
    perf_client_end_line(c);
}

int perf_client_run(const struct perf_options *o)
{
    struct perf_client *c = calloc(1, sizeof *c);
    int signals = perf_signals(), code = 1;
    uint64_t seed[2];
    if (c == NULL || signals < 0 || draw_seed(seed) < 0) {
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(HELIO_ENOMEM));
        free(c);
        return 1;
    }
    int rc = perf_client_init(c, o, seed);
    rc = rc == 0 ? perf_link_start(&c->link, signals) : rc;
    if (rc != 0) {
        fprintf(stderr, "helio-perf: %s\n", c->link.why);
    } else {
        run_client(c, signals);
        bool written = perf_client_result(c);
        code = written && !c->failed && (c->interrupted || perf_client_missing(c) == 0) ? 0 : 1;
    }
    perf_client_fini(c);
    free(c);
    close(signals);
    return code;
}

static void run_server(struct perf_server *p, int signals)
{
    perf_server_tell_header();
    while (!p->stop) {
        tick until = perf_server_turn(p, perf_now());
        if (!p->stop)
            p->stop = perf_wait(&p->link, signals, p->len < p->cap, until);
    }
    perf_server_end(p);
}

int perf_server_run(const struct perf_options *o)
{
    struct perf_server *p = calloc(1, sizeof *p);
    int signals = perf_signals(), code = 1;
    uint64_t seed[2];
    if (p == NULL || signals < 0 || draw_seed(seed) < 0) {
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(HELIO_ENOMEM));
        free(p);
        return 1;
    }
    int rc = perf_server_init(p, o, seed);
    if (rc < 0) {
        fprintf(stderr, "helio-perf: %s\n", helio_strerror(rc));
    } else if (perf_link_start(&p->link, signals) != 0) {
        fprintf(stderr, "helio-perf: %s\n", p->link.why);
    } else {
        run_server(p, signals);
        code = perf_server_result(p) && !p->failed ? 0 : 1;
    }
    perf_server_fini(p);
    free(p);
    close(signals);
    return code;
}
