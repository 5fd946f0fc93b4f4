/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator must know, in the log: once when it begins, then less and less often while it
 * lasts, and when it has ended. */
#ifndef NODE_WATCH_H
#define NODE_WATCH_H

#include <stdbool.h>

#include "base/tick.h"
#include "bp/agent/agent.h"
#include "os/log/say.h"

struct node;
struct node_link;

/* Logs one kind of event at first every 10 s, then with doubled pauses up to 10 min; from the
 * beginning after as long a rest. */
struct watch_pace {
    tick after, pause; /* not again before; 0, 0: nothing was logged yet */
};
bool watch_may_tell(struct watch_pace *p, tick now);

/* A link that does not read while there is no room for its bundles (node_hold.h). Short pauses in
 * between belong to the same stop, which ends when it has read for STOP_CALM. */
struct stop_watch {
    bool running, stopped;          /* a stop is in progress; reading is stopped at this moment */
    bool told;                      /* the stop was logged */
    tick began, changed;            /* begin of the stop; latest change of reading */
    tick time;                      /* that reading stood still, without the present pause */
    tick tell_after;                /* the next line is not before */
    enum agent_refusal refusal;     /* why its bundle waits: of FULL, QUOTA and QUEUE … */
    struct agent_shortage shortage; /* … the limit */
};
#define STOP_LONG (5 * TICK_S)
#define STOP_CALM (5 * TICK_S)
#define STOP_TOLD (60 * TICK_S)

/* Of a link. */
struct link_watch {
    struct stop_watch stop;
    struct stop_watch unstored; /* as looked at once a second: the store is slower than the peer */
    struct stop_watch answers;  /* likewise: too many acknowledgements wait to be sent */
    bool silent; /* the peer owes an answer for longer than 10 RTO, and this was logged */
    tick silent_since;
    bool never_heard; /* … and it was never heard before */
    struct watch_pace silence, failing, queueing, one_way;
    uint64_t failed;        /* logged failed attempts to forward */
    uint64_t queue_refused; /* logged bundles without room in its queue */
    /* changes between up and down in the minute that began then; more than FLAPS are not logged one
     * by one */
    tick flaps_begun, calm_at; /* calm_at: it is flapping until then; 0: it is not */
    uint64_t flaps;
};
#define WATCH_FLAPS 6

/* Of the node: logged values. */
struct node_watch {
    uint64_t expired, stale, stores, lines[2], unrouted, echo_unsent, unconnected;
    int store_error;                   /* of the last that failed: HELIO_E* */
    struct say_few unconfigured_lines; /* about unconfigured peers */
    uint64_t no_descriptor;
    bool memory_full;                /* logged: nothing in bundles.memory gives way */
    uint64_t forbidden[PERMIT_WAYS]; /* logged refusals by rules */
    struct watch_pace expiring, staling, storing, losing[2], unconfigured, descriptors, unrouting,
        echoing, connecting, filling;
    struct watch_pace forbidding[PERMIT_WAYS];
};

void node_watch_tick(struct node *n); /* once a second */
/* bundles.memory as it is in force: a quarter of bundles.total at most. */
uint64_t node_watch_memory_max(const struct node *n);
/* Reading stops, or continues. */
void node_watch_stop(struct node_link *l, bool stopped);
/* A bundle of the link waits, and the agent has just said why. */
void node_watch_waits(struct node_link *l, enum agent_refusal why);
/* The link went up or down: is that to be logged by itself? */
bool node_watch_flap(struct node_link *l, bool up);
/* Is a line about this link to be logged? Links of unconfigured peers share WATCH_UNCONFIGURED
 * lines at once and 2 more each second: each connection is a new link. */
bool node_watch_line(const struct node_link *l);
/* Likewise about a neighbour of discovery, whose links share these lines. */
bool node_watch_found(struct node *n);
#define WATCH_UNCONFIGURED 100

#endif
