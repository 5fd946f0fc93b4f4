/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles to an echo endpoint, and the time until each returns; in any world, so that helio-ping
 * and helio-sim share it. A ping belongs to this run if its payload says so: pings of other runs,
 * and bundles of other programs, are counted separately.
 */
#ifndef TOOLS_PING_H
#define TOOLS_PING_H

#include <jansson.h>

#include "tools/hist.h"
#include "tools/perf/perf_link.h"
#include "tools/ping/ping_trace.h"

#define PING_HEAD 32              /* bytes of a payload that are ours: the least size */
#define PING_SIZE_MAX (16u << 20) /* of a payload */
#define PING_SEEN 65536           /* pings among the last of which a repeated answer is known */
#define PING_GIVEN 64             /* pings that the node has not answered; then none is sent */
#define PING_REPORTS (2 * TICK_S) /* after the last answer reports are waited for so long */
#define PING_FLOOD (10 * TICK_MS) /* a flood sends so often, and after each answer */

struct ping_options {
    const char *socket, *destination;
    const char *name;         /* by which the destination was given; NULL: by its id */
    char named[AAP2_EID_MAX]; /* then: the destination */
    const char *service;      /* of our endpoint; NULL: a random number */
    const char *json;         /* a file, "-" for standard output, or NULL */
    uint64_t count;           /* 0: until it is interrupted */
    tick interval;
    uint64_t size; /* of the payload, PING_HEAD to PING_SIZE_MAX */
    tick lifetime; /* of the bundles, and of the wait for the last one */
    bool flood, quiet;
    bool trace; /* ask each node for status reports */
};

struct ping {
    const struct ping_options *options;
    struct perf_options link_options;
    struct world *world;
    struct perf_link link;
    struct alarm alarm;
    uint64_t session;
    uint64_t sent, received, repeated, foreign, refused;
    char refused_why[512]; /* the node's last reason; "": none was refused */
    tick begin, last;      /* of the first and the last one sent; begin TICK_NEVER: none was */
    struct hist rtt;
    struct ping_trace trace;
    struct {
        uint64_t number;
        tick sent;
    } given[PING_GIVEN]; /* to the node, not answered by it; a ring */
    size_t given_first, given_len;
    uint64_t responded; /* that the node has answered, accepted or refused; in their order */
    tick answered_at;   /* the last one */
    uint8_t seen[PING_SEEN / 8];
    uint8_t *body; /* zeros, owned */
    bool begun;    /* the node was there */
    bool broken;   /* then it closed the connection: link.why */
    bool done;
    void (*answered)(void *context, uint64_t number, tick rtt);
    void (*refused_one)(void *context, uint64_t number, const char *why); /* NULL: not requested */
    void (*over)(void *context);                                          /* called once */
    void *context;
};

/* The options stay the caller's. answered may be NULL. 0 or HELIO_ENOMEM; ping_fini in any case. */
int ping_init(struct ping *p, struct world *w, const struct ping_options *o, uint64_t random,
              void (*answered)(void *context, uint64_t number, tick rtt),
              void (*over)(void *context), void *context);
void ping_fini(struct ping *p);

/* Opens the link and begins. Without a node it has finished with `begun` false; link.why has the
 * reason. */
void ping_start(struct ping *p);

/* It has finished: nothing more is waited for. */
void ping_stop(struct ping *p);

/* Calls `told` for each ping that the node refuses, with its reason. Before ping_start. */
void ping_refused_to(struct ping *p, void (*told)(void *context, uint64_t number, const char *why));

/* With a trace: `told` is called for each hop that is reported. Before ping_start. */
void ping_trace_to(struct ping *p, void (*told)(void *context, const struct ping_hop *hop));

/* sent, received, lost, repeated, rtt_ms: min, mean, max, mdev and percentiles, or null. */
json_t *ping_json(const struct ping *p);

/* Its own invariants and those of its link, asserted. */
void ping_check(const struct ping *p);

#endif
