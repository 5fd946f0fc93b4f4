/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A local endpoint of an adapter whose links have stream connections (TCP, TLS, UNIX sockets): its
 * listener, and the turns in which it serves its links and connections. The adapter's part is one
 * table of functions. A link that does not listen has its own local endpoint.
 *
 *   turn:      at the earliest deadline, or soon after stream_endpoint_kick: ops->tend
 *   next turn: for connections that exceeded their turn, or that paused: ops->take
 *   round end: data that the node passed in this round of the loop is written: ops->write
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
    size_t size; /* of the adapter's own struct, which begins with struct stream_endpoint */
    /* Steps of one next turn for all connections together: the maximum, and the minimum while
     * rounds of the loop take long (base/turn_size.h). turn_least: the minimum of one connection at
     * the maximum. */
    uint32_t turn, turn_short, turn_least;
    /* Processes expired deadlines of links and connections; it sets the next ones with
     * ..._wake_at. */
    void (*tend)(struct stream_endpoint *h, tick now);
    /* Continues a connection of `stopped` with this many steps. The caller has removed it from the
     * list. */
    void (*take)(struct list *later, uint32_t steps);
    /* End of the connection's pause; <= now: it does not pause. */
    tick (*rests_until)(struct list *later);
    /* Writes the data of a connection in `dirty`, and removes it from the list. */
    void (*write)(struct list *todo);
    /* A peer connected; the adapter owns the stream. */
    void (*accepted)(void *h, struct stream *s);
    /* This peer's connection is closed in favour of another one (base/crowd_room.h). */
    void (*displaced)(struct crowd_entry *e);
    /* No links are left: ends connections without a link. NULL: there are none. */
    void (*end)(struct stream_endpoint *h);
};

struct stream_endpoint {
    struct local_endpoint common;
    const struct stream_endpoint_ops *ops;
    struct world *world;
    struct address local;
    char path[STREAM_PATH_MAX + 1];   /* path of a UNIX socket; "": `local` is used */
    struct stream_listener *listener; /* NULL: it does not listen */
    struct alarm alarm;               /* the next turn: the earliest deadline, or soon */
    struct alarm more;                /* the next turn of those in `stopped` */
    struct round_end round;
    struct list dirty;
    struct list stopped;        /* also those that pause */
    struct list dead;           /* connections to be freed; the list node is their first member */
    struct crowd_place crowds;  /* connected peers, by address */
    struct crowd_room own_room; /* used if the node has none for all links */
    struct rests *shared;       /* for all links of the node; or own_rests */
    struct rests own_rests;
    struct took took;
    struct turn_size turn;
    bool turn_follows; /* the last next turn did not serve all of `stopped` */
    uint32_t sharing;  /* connections that it served, >= 1 */
    uint64_t rounds;   /* ended rounds of the loop */
    uint64_t accepted, displaced, unknown_refused;
};

/* The endpoint that listens at `at` already; NULL: none. */
struct stream_endpoint *stream_endpoint_find(const struct cla_env *env,
                                             const struct stream_place *at);
/* Creates an endpoint that listens at `at` (NULL: it does not). Returns 0, or the listener's error
 * with its text in why. */
int stream_endpoint_open(struct stream_endpoint **out, const struct stream_endpoint_ops *ops,
                         const struct cla_env *env, const struct stream_place *at, char *why,
                         size_t why_cap);
/* Removes a link whose connections have ended. `closed` follows after the call, and the link is
 * freed; after the last link the endpoint is freed, too. */
void stream_endpoint_leave(struct stream_endpoint *h, struct cla *c);

void stream_endpoint_kick(struct stream_endpoint *h);               /* a turn soon */
void stream_endpoint_wake_at(struct stream_endpoint *h, tick when); /* a turn then, or sooner */
void stream_endpoint_more_at(struct stream_endpoint *h, tick when); /* likewise for the next turn */

/* Configures a new stream: its buffers (0: the system's default) and congestion control (NULL, "":
 * the system's default). Returns 0, or why the system has no such congestion control;
 * `..._NO_CONGESTION` is the operator's message, with its name and the error's. */
int stream_endpoint_set_up(struct stream *s, uint64_t buffer, const char *congestion);
#define STREAM_ENDPOINT_NO_CONGESTION                                                              \
    "congestion: %s is not to be had (%s; net.ipv4.tcp_allowed_congestion_control lists what "     \
    "is); the system's is used"

/* The pause before the next attempt to connect: `least` after a success, then doubled after each
 * failure, up to `most`. *pause is the state, 0 at first. */
tick stream_endpoint_pause(tick *pause, bool failed, tick least, tick most);

#endif
