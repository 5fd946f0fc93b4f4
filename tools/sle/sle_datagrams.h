/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams that leave for one address, in batches; nothing is received. */
#ifndef TOOLS_SLE_DATAGRAMS_H
#define TOOLS_SLE_DATAGRAMS_H

#include "os/net/udp_io.h"
#include "os/world.h"

/* All 0: not open. */
struct datagrams {
    struct udp_io *io;
    struct port *port; /* whose `io` is, of a world; NULL: it is a socket by itself */
    struct udp_peer to;
    uint64_t too_long; /* for a datagram: not sent */
};

/* 0 or HELIO_E*; then it is not open. Stays where it is. */
int datagrams_open(struct datagrams *d, const struct address *to);
/* The same by a port of a world, which ends before its loop does. */
int datagrams_open_port(struct datagrams *d, struct world *w, const struct address *to);
/* What was not sent is sent if the socket takes it; not open is allowed. */
void datagrams_close(struct datagrams *d);
static inline bool datagrams_is_open(const struct datagrams *d)
{
    return d->io != NULL;
}

/* Copies it; it leaves with a full batch, for which a full socket is waited for, or with one of the
 * next two. */
void datagrams_put(struct datagrams *d, struct slice data);
/* All leave; a full socket is waited for. True: there were some. */
bool datagrams_drain(struct datagrams *d);
/* All leave; what a full socket does not take is dropped. False: that, or what was put since was
 * not sent otherwise. */
bool datagrams_fire(struct datagrams *d);
/* Sends one datagram at once. 0, or HELIO_E*: it was not sent, or its receiver refused it. The
 * network reports a refusal after sending. Where it comes later than this call, as from another
 * machine, the next call has it, and does not send. */
int datagrams_send(struct datagrams *d, struct slice data);
/* Datagrams that were not sent, or that nobody listened for. */
uint64_t datagrams_failed(const struct datagrams *d);

#endif
