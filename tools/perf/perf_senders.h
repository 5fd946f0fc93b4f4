/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of a server for --reverse: each has an endpoint of its own, and its destination is the
 * node that requested it.
 */
#ifndef TOOLS_PERF_SENDERS_H
#define TOOLS_PERF_SENDERS_H

#include "base/list.h"
#include "tools/perf/perf_client.h"
#include "tools/perf/perf_request.h"
#include "tools/perf/perf_session.h"

#define PERF_SENDERS_MAX 16     /* at once; further requests are answered so */
#define PERF_SENT_MAX 64        /* ids of finished ones, against repeated requests */
#define PERF_SENT_LIST_MAX 1024 /* results that the JSON has */

struct perf_senders;

struct perf_sender {
    struct list order;
    struct perf_senders *all;
    char peer[PERF_PEER_MAX];
    struct perf_options options;
    struct perf_client client;
    tick began, heard;  /* heard: of the peer, in rate mode */
    struct alarm limit; /* --reverse-max has passed, or it is silent */
    bool over;
};

struct perf_senders {
    const struct perf_options *options; /* of the server */
    struct world *world;
    struct list list;
    size_t len;
    uint64_t secret[2];           /* of the numbers that requests must echo */
    uint64_t sent[PERF_SENT_MAX]; /* a ring */
    size_t sent_next;
    uint64_t requests, refused;
    json_t *results;
    bool quiet;
};

/* 0 or HELIO_ENOMEM; perf_senders_fini in any case. */
int perf_senders_init(struct perf_senders *s, struct world *w, const struct perf_options *o);
void perf_senders_fini(struct perf_senders *s);

/* `peer` asks: begins to send to it, unless that was begun before, or cannot be. stop: it wants no
 * more. PERF_ECHO: *echo is what its next request must have in `seq`. */
enum perf_answer perf_senders_take(struct perf_senders *s, const char *peer,
                                   const struct perf_head *h, struct slice body, uint64_t *echo);

/* Prints the results of those that are finished, and frees them. */
void perf_senders_sweep(struct perf_senders *s);

/* Ends all of them now, and prints their results. */
void perf_senders_stop(struct perf_senders *s);

/* Their invariants, asserted. */
void perf_senders_check(const struct perf_senders *s);

/* perf_echo_openssl.c: the number that a request must return, which is sent to `peer`. It depends
 * on the peer, whose name is shorter than PERF_PEER_MAX, and the session; it cannot be predicted
 * without the secret. False: it cannot be computed. */
bool perf_echo(const uint64_t secret[2], const char *peer, uint64_t session, uint64_t *out);

#endif
