/* SPDX-License-Identifier: Apache-2.0 */
/* The receiving end of helio-perf. */
#ifndef TOOLS_PERF_SERVER_H
#define TOOLS_PERF_SERVER_H

#include <jansson.h>

#include "tools/perf/perf_link.h"
#include "tools/perf/perf_senders.h"
#include "tools/perf/perf_session.h"

#define PERF_SESSIONS_MAX 1024 /* remembered; the least recently heard is dropped first */
#define PERF_ACKS_MAX 65536    /* not confirmed by the node; then nothing more is read */

/* An acknowledgement that the node has not confirmed yet. */
struct perf_ack {
    char peer[PERF_PEER_MAX];
    uint8_t payload[PERF_HEAD + PERF_REPORT + PERF_DETAILS];
    size_t len;
};

struct perf_server {
    const struct perf_options *options;
    struct perf_link link;
    struct alarm alarm; /* of the next turn */
    void (*done)(void *context);
    void *context;
    struct hash sessions;
    struct list order;
    struct perf_ack *acks; /* a ring; [first, first + given) are with the node */
    size_t first, given, len, cap;
    uint64_t wrong_crc, foreign, acks_refused, opened, evicted;
    struct perf_report sum; /* of sessions that are forgotten */
    uint64_t sum_lost, sum_reordered, sum_refused;
    struct hist delay;
    struct perf_senders senders; /* what clients asked us for */
    uint64_t only; /* not 0: a receiver (perf_reverse.h), which takes this session alone */
    void (*turned)(void *context); /* of a receiver: after each turn, or NULL */
    void (*answered)(void *context, const struct perf_head *h); /* of a receiver */
    void *turned_context;
    bool begun; /* the node was there, or is being tried again */
    bool stop, failed;
    bool quiet; /* nothing is said but failures */
    tick next_sweep;
};

/* seed: two random numbers. 0 or HELIO_ENOMEM; perf_server_fini in any case. */
int perf_server_init(struct perf_server *p, struct world *w, const struct perf_options *o,
                     const uint64_t seed[2]);
void perf_server_fini(struct perf_server *p);

/* Opens the link and serves until perf_server_stop or a failure; then `done` is called, once, maybe
 * from within these calls. With `begun` false there was no node, which link.why
 * says. */
void perf_server_start(struct perf_server *p, void (*done)(void *context), void *context);
void perf_server_stop(struct perf_server *p);

/* Gives the node a payload of ours for `peer`, as it does acknowledgements. False: so many wait
 * already. */
bool perf_server_push(struct perf_server *p, const char *peer, struct slice payload);

/* The session of a receiver; NULL: nothing of it was received yet. */
const struct perf_session *perf_server_session(const struct perf_server *p);

/* Its own invariants and those of its parts, asserted. */
void perf_server_check(const struct perf_server *p);

/* No more bundles will arrive: prints the results of all clients that have none yet. */
void perf_server_end(struct perf_server *p);

/* The result of all sessions as JSON. */
json_t *perf_server_json(const struct perf_server *p);

/* perf_run.c: runs until SIGINT or SIGTERM; prints a row per finished client. Returns the exit
 * code. */
int perf_server_run(const struct perf_options *o);

/* The row of a session, once; also brings the JSON file up to date. */
void perf_server_tell(struct perf_server *p, struct perf_session *s);
void perf_server_tell_header(void);

/* The JSON of all sessions. */
bool perf_server_result(const struct perf_server *p);

#endif
