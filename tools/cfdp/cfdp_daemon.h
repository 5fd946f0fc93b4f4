/* SPDX-License-Identifier: Apache-2.0 */
/* The process of an entity: its engine, filestore, UDP port, node and control socket. */
#ifndef TOOLS_CFDP_DAEMON_H
#define TOOLS_CFDP_DAEMON_H

#include <jansson.h>

#include "base/bucket.h"
#include "os/log/say.h"
#include "os/net/udp_io.h"
#include "os/world.h"
#include "tools/cfdp/cfdp_settings.h"
#include "tools/cfdp/cfdp_store.h"
#include "tools/perf/perf_link.h"

#define DAEMON_PDU_ROOM 65400 /* of any PDU, with its header */
#define DAEMON_BUNDLES 32     /* given to the node and not confirmed */
_Static_assert((int)DAEMON_BUNDLES <= (int)CFDP_UNCONFIRMED_MAX, "the entity waits for each");

struct daemon;

/* A remote entity and the way to it. */
struct route {
    const struct settings_remote *config;
    struct udp_peer peer;
    struct bucket bucket;
    bool down; /* by the command `link` */
};

/* A PDU on its way to the node. */
struct bundle {
    const struct settings_remote *to;
    uint8_t *octets; /* owned */
    size_t len;
};

struct daemon {
    struct world *world;
    const struct settings *settings;
    struct say log;
    struct say_few lines; /* of transactions: peers begin as many as they like */
    struct cfdp_store store;
    struct cfdp *entity;
    struct route *routes;
    size_t routes_len;
    struct port *port; /* NULL: no UDP */
    bool port_blocked;
    struct alarm alarm;
    /* the node; link.world NULL: none */
    struct perf_options options;
    struct perf_link link;
    bool linked, has_node;
    struct bundle bundles[DAEMON_BUNDLES]; /* a ring: [first, first + given) are with the node */
    size_t bundles_first, bundles_given, bundles_len;
    uint64_t bundles_refused, foreign; /* foreign: datagrams and bundles of no remote entity */
    /* the control socket */
    struct stream_listener *desk;
    struct list talks;
    size_t talks_len;
    bool stop, failed;
    void (*over)(void *context);
    void *context;
};

/* 0, or an error, which was said. daemon_fini in any case. */
int daemon_init(struct daemon *d, struct world *w, const struct settings *s,
                void (*over)(void *context), void *context);
void daemon_start(struct daemon *d);
void daemon_stop(struct daemon *d); /* `over` follows, once */
void daemon_fini(struct daemon *d);

/* Serves what is due, and sends what may be sent. */
void daemon_turn(struct daemon *d);
struct route *daemon_route(struct daemon *d, uint64_t entity);
/* Logs notices, and tells those who wait for them. */
void daemon_tell(struct daemon *d);
/* Sends, or gives to the node, what the rate of the remote entity allows now. */
void daemon_fill(struct daemon *d, struct route *r, tick now);

/* cfdp_daemon_node.c: 0, or an error of the connection that was closed. */
void node_init(struct daemon *d);
void node_fini(struct daemon *d);
bool node_has_room(const struct daemon *d);
/* Takes the octets. */
void node_push(struct daemon *d, const struct route *r, uint8_t *pdu, size_t len);
/* The next time that it has something to do. */
tick node_turn(struct daemon *d, tick now);

/* cfdp_desk.c */
int desk_open(struct daemon *d);
void desk_close(struct daemon *d);
void desk_notice(struct daemon *d, const struct cfdp_notice *n);
/* cfdp_desk_status.c: the caller's. */
json_t *desk_status(const struct daemon *d);

#endif
