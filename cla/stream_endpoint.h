/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A local endpoint of an adapter whose links have connections by streams (TCP, TLS, UNIX sockets):
 * its listener, and the turns in which its links and connections go on. The adapter has one table
 * of functions for what differs. A link that does not listen has a local endpoint of its own.
 *
 *   turn:      at the earliest deadline, or soon after stream_endpoint_kick: ops->tend
 *   next turn: of connections that had more than one turn takes, or that rested: ops->take
 *   round end: what the node gave in this round of the loop is written: ops->write
 */
#ifndef CLA_STREAM_ENDPOINT_H
#define CLA_STREAM_ENDPOINT_H

#include "base/crowd_room.h"
#include "base/rest.h"
#include "base/turn_size.h"
#include "cla/local_endpoint.h"
#include "os/took.h"
#include "os/world.h"

struct stream_endpoint;

struct stream_endpoint_ops {
    size_t size; /* of the adapter's own struct, of which struct stream_endpoint is the first */
    /* Steps of a next turn, of all connections: the most, and the least while rounds of the loop
     * take long (base/turn_size.h); the least of one connection while it is the most of all. */
    uint32_t turn, turn_short, turn_least;
    /* Deadlines of links and connections that have passed; the next ones: ..._wake_at. */
    void (*tend)(struct stream_endpoint *h, tick now);
    /* One of `stopped` goes on, with so many steps. It has been taken out. */
    void (*take)(struct list *later, uint32_t steps);
    /* Until when that one rests; at most now: it does not. */
    tick (*rests_until)(struct list *later);
    /* One of `dirty`, which this takes out. */
    void (*write)(struct list *todo);
    /* Somebody connected; the stream is the adapter's. */
    void (*accepted)(void *h, struct stream *s);
    /* This peer's connection gives way to another one (base/crowd_room.h). */
    void (*displaced)(struct crowd_entry *e);
    /* No links are left: connections without a link end now. NULL: there are none. */
    void (*end)(struct stream_endpoint *h);
};

struct stream_endpoint {
    struct local_endpoint common;
    const struct stream_endpoint_ops *ops;
    struct world *world;
    struct address local;
    char path[STREAM_PATH_MAX + 1];   /* of a UNIX socket; "": it is `local` */
    struct stream_listener *listener; /* NULL: it does not listen */
    struct alarm alarm;               /* its turn: the earliest deadline, or soon */
    struct alarm more;                /* the next turn of those in `stopped` */
    struct round_end round;
    struct list dirty;
    struct list stopped;        /* those that rest, too */
    struct list dead;           /* connections whose memory is due: the first member of each */
    struct crowd_place crowds;  /* connections of peers, by address */
    struct crowd_room own_room; /* if the node has none for all links */
    struct rests *shared;       /* of all links of the node, or: */
    struct rests own_rests;
    struct took took;
    struct turn_size turn;
    bool turn_follows; /* the last next turn left some */
    uint32_t sharing;  /* connections that had a part of it, >= 1 */
    uint64_t rounds;   /* of the loop that have ended */
    uint64_t accepted, displaced, unknown_refused;
};

/* The one that listens there already; NULL: none does. */
struct stream_endpoint *stream_endpoint_find(const struct cla_env *env,
                                             const struct stream_place *at);
/* A new one that listens at `at` (NULL: it does not). 0, or an error; of the listener with its text
 * in why. */
int stream_endpoint_open(struct stream_endpoint **out, const struct stream_endpoint_ops *ops,
                         const struct cla_env *env, const struct stream_place *at, char *why,
                         size_t why_cap);
/* The link's connections have ended. `closed` follows later than the call, and its memory goes,
 * with that of the endpoint after its last link. */
void stream_endpoint_leave(struct stream_endpoint *h, struct cla *c);

void stream_endpoint_kick(struct stream_endpoint *h);               /* a turn soon */
void stream_endpoint_wake_at(struct stream_endpoint *h, tick when); /* a turn then, or sooner */
void stream_endpoint_more_at(struct stream_endpoint *h, tick when); /* likewise, the next turn */

/* Of a stream that begins: its buffers (0: the system's) and congestion control (NULL, "": the
 * system's). 0, or why the system has no such congestion control; `..._NO_CONGESTION` says that to
 * the operator, with its name and the error's. */
int stream_endpoint_set_up(struct stream *s, uint64_t buffer, const char *congestion);
#define STREAM_ENDPOINT_NO_CONGESTION                                                              \
    "congestion: %s is not to be had (%s; net.ipv4.tcp_allowed_congestion_control lists what "     \
    "is); the system's is used"

/* How long to wait before the next attempt to connect: `least` after a success, then twice as long
 * after each failure, up to `most`. *pause is what the attempt after it waits; 0 to begin with. */
tick stream_endpoint_pause(tick *pause, bool failed, tick least, tick most);

#endif
