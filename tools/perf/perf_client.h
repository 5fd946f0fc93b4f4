/* SPDX-License-Identifier: Apache-2.0 */
/* The sending end of helio-perf. */
#ifndef TOOLS_PERF_CLIENT_H
#define TOOLS_PERF_CLIENT_H

#include <jansson.h>

#include "tools/hist.h"
#include "tools/perf/perf_hint.h"
#include "tools/perf/perf_link.h"
#include "tools/perf/perf_source.h"
#include "tools/perf/perf_window.h"

enum perf_phase {
    PERF_OPENING,  /* the node is not there yet */
    PERF_SENDING,  /* new bundles go */
    PERF_DRAINING, /* all were sent; confirmations and acknowledgements are missing */
    PERF_ENDING,   /* the server is asked what it has */
    PERF_DONE,
};

/* Sequence numbers in the order in which they were given to the node; a ring. */
struct perf_fifo {
    uint64_t *at;
    size_t first, len, cap;
};

/* What happened between two lines. */
struct perf_interval {
    tick from, to;                          /* since the start */
    uint64_t sent, confirmed, acked, bytes; /* bytes: acknowledged; in rate mode confirmed ones */
};
#define PERF_INTERVALS_MAX 100000 /* more are printed, and not in the JSON */

struct perf_client {
    const struct perf_options *options;
    uint64_t session;
    struct perf_link link;
    struct alarm alarm; /* of the next turn */
    void (*done)(void *context);
    void *context;
    struct perf_source source;
    struct perf_window window; /* also of rate mode: there nothing is ever out */
    struct perf_fifo given;    /* to the node, not answered yet */
    struct perf_fifo again;    /* to be given again, before new ones */
    enum perf_phase phase;
    bool begun; /* the run, for which the node was there or is being tried again */
    bool interrupted, failed;
    unsigned label;                  /* of its lines, one of several; 0: it is the only one */
    bool quiet;                      /* nothing is said but failures */
    bool progress;                   /* there are lines, or the JSON has them */
    bool ends_told;                  /* the monitor knows that all was sent */
    uint32_t ends;                   /* how often the server was asked for its counts */
    FILE *csv;                       /* of the intervals, or NULL */
    struct perf_interval *intervals; /* those that are finished */
    size_t intervals_len, intervals_cap;
    struct perf_interval last; /* sums at the end of the last one; its `to` is when that was */
    uint64_t next;             /* sequence number of the next new bundle */
    tick start, send_end, last_ack, measure_from;
    tick next_send, again_at, end_at, end_pause, quiet_until, refused_since, next_progress;
    tick tell_waiting_at; /* TICK_NEVER: not, or said already */
    uint64_t sent_bytes, confirmed, resent;
    uint64_t measured_bytes; /* acknowledged after the warm-up */
    bool have_report;
    struct perf_report report; /* of the server, the last one */
    struct perf_hint hint;
    bool have_clocks; /* the server's clock is ahead of ours by clock_low to clock_high, ns: */
    int64_t clock_low, clock_high;
    struct hist delay;
};

/* seed: two random numbers. 0, or an error that c->link.why says; perf_client_fini in any case. */
int perf_client_init(struct perf_client *c, struct world *w, const struct perf_options *o,
                     const uint64_t seed[2]);
void perf_client_fini(struct perf_client *c);

/* Opens the link, runs, and calls `done` once, maybe from within this call: phase is PERF_DONE
 * then. With `begun` false there was no node, which link.why says. progress: there are lines of
 * intervals, as the options say. */
void perf_client_start(struct perf_client *c, bool progress, void (*done)(void *context),
                       void *context);

/* Bundles in transit are not waited for; at the second call nothing is. */
void perf_client_interrupt(struct perf_client *c);

/* Its own invariants and those of its parts, asserted. */
void perf_client_check(const struct perf_client *c);

/* The result as JSON. */
json_t *perf_client_json(const struct perf_client *c);

/* bit/s, and what it is made from: a static word. */
double perf_client_goodput(const struct perf_client *c, const char **basis);

/* perf_run.c: runs to the end and prints the result. Returns the exit code: 0, or 1 when bundles
 * are missing or the node failed. */
int perf_client_run(const struct perf_options *o);

/* Prints the result, and writes it as JSON where the options want it. Returns false when the file
 * cannot be written. */
bool perf_client_result(const struct perf_client *c);

/* The same for several that ran at once: a line for each, and their sum. */
bool perf_clients_result(const struct perf_client *clients, size_t len);

/* The line of the interval that ends now. */
void perf_client_progress(struct perf_client *c, tick now);

/* Bundles whose arrival is unconfirmed, by acknowledgements and by the server's report. */
uint64_t perf_client_missing(const struct perf_client *c);

#endif
