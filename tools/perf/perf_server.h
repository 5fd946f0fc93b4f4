/* SPDX-License-Identifier: Apache-2.0 */
/* The receiving end of helio-perf. */
#ifndef TOOLS_PERF_SERVER_H
#define TOOLS_PERF_SERVER_H

#include <jansson.h>

#include "tools/perf/perf_link.h"
#include "tools/perf/perf_session.h"

#define PERF_SESSIONS_MAX 1024 /* remembered at once; the least recently heard goes first */
#define PERF_ACKS_MAX 65536    /* not confirmed by the node; then nothing more is read */

/* An acknowledgement that the node has not confirmed yet. */
struct perf_ack {
    char peer[PERF_PEER_MAX];
    uint8_t payload[PERF_HEAD + PERF_REPORT];
};

struct perf_server {
    const struct perf_options *options;
    struct perf_link link;
    struct hash sessions;
    struct list order;
    struct perf_ack *acks; /* a ring; [first, first + given) are with the node */
    size_t first, given, len, cap;
    uint64_t wrong_crc, foreign, acks_refused, opened, evicted;
    struct perf_report sum; /* of sessions that are forgotten */
    uint64_t sum_lost, sum_reordered, sum_refused;
    struct hist delay;
    bool stop, failed;
    bool quiet; /* nothing is said but failures */
    bool more;  /* deliveries may have been read ahead, of which the socket knows nothing */
    tick next_sweep;
};

/* seed: two random numbers. 0 or HELIO_ENOMEM; perf_server_fini in any case. */
int perf_server_init(struct perf_server *p, const struct perf_options *o, const uint64_t seed[2]);
void perf_server_fini(struct perf_server *p);

/* Whenever the link's connections have something for us or the time has come that the last turn
 * returned, until `stop`; then the end. */
tick perf_server_turn(struct perf_server *p, tick now);
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
