/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that receives (--reverse). It requests the server to send to it, accepts bundles as a
 * server does, and measures there. One-way delays are from the server's clock and ours.
 */
#ifndef TOOLS_PERF_REVERSE_H
#define TOOLS_PERF_REVERSE_H

#include <jansson.h>
#include <stdio.h>

#include "tools/perf/perf_request.h"
#include "tools/perf/perf_server.h"

/* After this silence, or --linger if that is longer, it fails. */
#define PERF_REVERSE_SILENCE PERF_REQUEST_SILENCE

/* What arrived between two lines. */
struct perf_arrivals {
    tick from, to; /* since the request */
    uint64_t bundles, bytes;
};
#define PERF_ARRIVALS_MAX 100000 /* more are printed, and not in the JSON */

struct perf_reverse {
    const struct perf_options *options;
    struct perf_server server;
    struct alarm alarm;
    void (*done)(void *context);
    void *context;
    unsigned label; /* of its lines, one of several; 0: it is the only one */
    bool quiet;     /* nothing is said but failures */
    bool begun, over, failed, interrupted;
    bool answered; /* the server sends */
    bool known;    /* it has answered that it wants `echo` back */
    uint64_t echo;
    tick start, waits_from, ask_at, asked, ask_pause, end_at;
    bool have_clocks; /* the server's clock is ahead of ours by clock_low to clock_high, ns: */
    int64_t clock_low, clock_high;
    tick next_line;
    struct perf_arrivals last; /* sums at the end of the last line */
    struct perf_arrivals *lines;
    size_t lines_len, lines_cap;
    FILE *csv;
    char why[AAP2_WHY_MAX]; /* it failed */
};

/* seed: two random numbers. 0 or HELIO_ENOMEM; perf_reverse_fini in any case. */
int perf_reverse_init(struct perf_reverse *r, struct world *w, const struct perf_options *o,
                      const uint64_t seed[2]);
void perf_reverse_fini(struct perf_reverse *r);

/* Opens the link, asks, receives; then `done` is called, once, maybe from within this call. With
 * `begun` false there was no node, which server.link.why says. */
void perf_reverse_start(struct perf_reverse *r, void (*done)(void *context), void *context);

/* The server is asked to stop; a second time nothing is waited for. */
void perf_reverse_interrupt(struct perf_reverse *r);

/* All that the server says it sent is here, or it was interrupted. */
bool perf_reverse_good(const struct perf_reverse *r);

/* Its own invariants and those of its parts, asserted. */
void perf_reverse_check(const struct perf_reverse *r);

/* The line of the interval that ends now. */
void perf_reverse_line(struct perf_reverse *r, tick now);

/* The result as JSON; and, printed and written where the options want it, of all of `len`. False
 * when the file cannot be written. */
json_t *perf_reverse_json(const struct perf_reverse *r);
bool perf_reverse_result(const struct perf_reverse *all, size_t len);

/* perf_run.c: runs to the end and prints the result. Returns the exit code. */
int perf_reverse_run(const struct perf_options *o);

#endif
