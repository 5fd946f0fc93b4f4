/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the adapter "udp", for its udpcl_*.c files. */
#ifndef CLA_UDPCL_LINK_H
#define CLA_UDPCL_LINK_H

#include "base/bucket.h"
#include "cla/local_endpoint.h"
#include "cla/remote_name.h"
#include "cla/udp/udpcl_config.h"
#include "cla/udp/udpcl_verdict.h"
#include "os/net/udp_io.h"
#include "os/world.h"

/* A local address: one port, and the links that go through it. */
struct udpcl_port {
    struct local_endpoint common; /* its links: the next to be served first */
    struct address local;
    struct world *world;
    struct port *port; /* NULL: not open yet */
    struct udp_io *io; /* of the port */
    struct alarm alarm;
    tick now;
    tick due;                       /* of the next turn, at the latest; TICK_NEVER: of none */
    uint64_t late_ns, late_wakeups; /* turns that began later: by how much; those above 1 ms */
    uint64_t unknown_refused;       /* datagrams of senders that no link names */
    tick say_after;                 /* next time that one of these is logged */
};

struct udpcl_link {
    struct cla cla;
    struct udpcl_port *port;
    struct cla_env env;
    const struct udpcl_config *config;
    struct udp_peer to; /* its address: not given until the name of remote is known */
    struct remote_name remote;
    struct bucket bucket;
    struct list waiting, leaving; /* struct udpcl_sending: for their turn; in the batch */
    uint64_t waiting_len;
    uint64_t rate_bps; /* in force: what is configured, bounded by the contact; 0: unlimited */
    struct cla_contact contact;
    bool planned; /* there is a contact's word */
    bool allowed; /* by the operator */
    bool up;
    struct {
        uint64_t bundles_sent, bundles_failed, bundles_received, bundles_refused;
        uint64_t unknown_accepted, air_bytes, no_memory;
        uint64_t rx_bytes; /* of datagrams for it */
        tick heard;        /* latest datagram of the configured peer; TICK_NEVER: none */
        uint64_t verdicts[UDPCL_VERDICT_COUNT];
    } n;
};

struct udpcl_sending {
    struct list node;
    uint64_t key;
    struct buf *bundle;
};

/* udpcl_port.c. join: opens the port for its first link; returns 0 or an error with its text.
 * leave: `closed` is called later, and the link is freed. */
int udpcl_join(struct udpcl_link *l, char *why, size_t why_cap);
void udpcl_leave(struct udpcl_link *l);
void udpcl_kick(struct udpcl_port *p); /* a turn soon */

/* udpcl_output.c: sends queued bundles within rates and the port's room, and reports outcomes.
 * `wake`: time to continue. */
void udpcl_output(struct udpcl_port *p, tick *wake);
void udpcl_forget(struct udpcl_link *l); /* drops all without reports */

/* udpcl_input.c: a received datagram; finds its link */
void udpcl_input(struct udpcl_port *p, struct slice datagram, const struct address *from);

/* udpcl_link.c */
void udpcl_check_self(const struct cla *c);

/* udpcl_status.c */
void udpcl_status(struct cla *c, struct json_t *object);
void udpcl_gauges(const struct cla *c, struct cla_gauges *out);

#endif
