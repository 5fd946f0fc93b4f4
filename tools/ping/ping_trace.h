/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes have seen a ping, and when, according to their status reports. A ping is identified
 * by its bundle's id, which the node's answer contains; a report that arrives before that answer
 * waits for it.
 */
#ifndef TOOLS_PING_TRACE_H
#define TOOLS_PING_TRACE_H

#include <jansson.h>

#include "base/tick.h"
#include "bp/codec/admin.h"

#define PING_MARKS 1024 /* the latest pings whose reports are known */
#define PING_EARLY 64   /* reports that wait for the node's answer */
#define PING_HOPS 10000 /* that the JSON lists */

struct ping_mark {
    uint64_t number, time_ms, sequence;
    tick sent;
    bool used, delivered; /* delivered: a report confirmed it */
};

struct ping_hop {
    uint64_t number; /* of the ping, from 0 */
    char node[EID_TEXT_MAX];
    enum status_item item;
    bool timed;      /* the node has a clock: */
    int64_t at_ms;   /* after the bundle was made, by the clocks of both nodes */
    tick heard;      /* when the report arrived, after it was sent */
    uint64_t reason; /* of a deletion */
};

struct ping_early {
    char node[EID_TEXT_MAX];
    struct status_report report;
    tick heard;
};

struct ping_trace {
    struct ping_mark marks[PING_MARKS]; /* by number */
    struct ping_early early[PING_EARLY];
    size_t early_len;
    struct ping_hop *hops; /* owned */
    size_t len, cap;
    uint64_t reports, unknown, delivered; /* delivered: pings with a report of their delivery */
    void (*told)(void *context, const struct ping_hop *hop);
    void *context;
};

void ping_trace_init(struct ping_trace *t, void (*told)(void *context, const struct ping_hop *hop),
                     void *context);
void ping_trace_fini(struct ping_trace *t);

/* Ping `number`, given to the node at `sent`, is this bundle. */
void ping_trace_mark(struct ping_trace *t, uint64_t number, tick sent, uint64_t time_ms,
                     uint64_t sequence);

/* A status report of a node. The caller checks the source of the bundle. */
void ping_trace_report(struct ping_trace *t, const char *node, const struct status_report *r,
                       tick now);

/* [{seq, node, event, at_ms or null, heard_ms, reason or null}], in order of arrival; seq from
 * 1. */
json_t *ping_trace_json(const struct ping_trace *t);

const char *ping_trace_word(enum status_item item); /* static: "received" … */

#endif
