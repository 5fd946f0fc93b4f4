/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batched datagrams on one UDP socket: one system call sends or receives many. It has neither a
 * loop nor a clock: the owner waits for the descriptor.
 *
 *     send:     while (udp_room) { udp_head; write; udp_add }  udp_flush
 *     receive:  udp_fill  while (udp_next) …
 *
 * Consecutive datagrams of equal length to one peer are one buffer that the kernel or the card
 * divides (UDP_SEGMENT). If a route does not support that, they are sent with a plain sendmmsg.
 */
#ifndef OS_UDP_IO_H
#define OS_UDP_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "os/net/address.h"

#define UDP_DATAGRAM_MAX 65507 /* longest payload over IPv4 */

struct udp_io;

struct udp_peer {
    struct address address;
    bool plain;   /* its route refuses UDP_SEGMENT */
    uint8_t dscp; /* of what is sent to it (RFC 2474), 0..63 */
};

struct udp_counters {
    uint64_t tx_datagrams, tx_bytes, tx_calls;
    uint64_t tx_blocked; /* the socket was full; the batch was kept and sent later */
    uint64_t tx_refused; /* no socket at the peer's port: sent, but not received */
    uint64_t tx_errors;  /* datagrams that the kernel refused for another reason */
    uint64_t tx_plain;   /* routes without UDP_SEGMENT */
    uint64_t rx_datagrams, rx_bytes, rx_calls;
    uint64_t rx_socket_drops; /* datagrams that found the receive buffer full */
};

/* A bound, non-blocking socket. segments false: never use UDP_SEGMENT. 0 or HELIO_E*. */
int udp_open(struct udp_io **out, const struct address *local, bool segments);
void udp_close(struct udp_io *io); /* NULL is allowed */

/* Replaces the kernel: accepts one datagram in two parts, which are valid until it returns. False:
 * no receiver. Called within udp_flush. */
struct udp_carrier {
    bool (*send)(void *context, const struct address *to, struct slice head, struct slice data);
    void *context;
    /* Each may be NULL. May a run of datagrams (64 at most, of 65507 bytes in all) be sent? False:
     * it is kept as by a socket that is full. All of a batch was sent. There is nothing to read:
     * calls udp_arrive if there can be. */
    bool (*room)(void *context);
    void (*done)(void *context);
    void (*fetch)(void *context);
    void (*connect)(void *context, const struct address *to); /* udp_connect */
};

/* Batches without a socket (udp_fd is -1). 0 or HELIO_ENOMEM. */
int udp_open_carried(struct udp_io **out, const struct udp_carrier *carrier, uint16_t port);
/* A datagram for them, for the next udp_fill; at most UDP_ARRIVALS_MAX. It must hold until the
 * udp_fill after that. */
#define UDP_ARRIVALS_MAX 64
void udp_arrive(struct udp_io *io, const struct address *from, struct slice data);

int udp_fd(const struct udp_io *io);

/* Limits the socket to this peer: other datagrams are not received, and a missing receiver is
 * detected (tx_refused). Returns 0 or HELIO_E*. */
int udp_connect(struct udp_io *io, const struct address *to);

/* The port that the socket has: for a local address with port 0. */
uint16_t udp_port(const struct udp_io *io);

/* Asks for socket buffers of at least this many bytes of datagrams; never makes them smaller.
 * Returns true when the kernel gives both; otherwise *got_rx and *got_tx say what there is. */
bool udp_buffers(struct udp_io *io, uint64_t rx, uint64_t tx, uint64_t *got_rx, uint64_t *got_tx);

/* May a datagram with at most `head_max` bytes of its own (without borrowed data) be added? */
bool udp_room(const struct udp_io *io, uint32_t head_max);

/* Where the next datagram's head is written: `head_max` bytes, after udp_room said yes. */
uint8_t *udp_head(struct udp_io *io, uint32_t head_max);

/* Adds the datagram made of the head written there and of borrowed data that must hold until
 * udp_flush. The peer must live as long as udp_pending. */
void udp_add(struct udp_io *io, struct udp_peer *to, uint32_t head_len, struct slice data);

/* Sends what was added. True: all done. False: the socket is full; the rest was copied, borrowed
 * data is free, and udp_flush is to be called again once the descriptor is writable. Nothing may be
 * added before. */
bool udp_flush(struct udp_io *io);
bool udp_pending(const struct udp_io *io);

/* Removes a peer: its unsent datagrams are lost. */
void udp_forget(struct udp_io *io, const struct udp_peer *peer);

/* Reads up to about `bytes_max` bytes (at least one datagram). Returns false when there was
 * nothing. Then udp_next gives them one by one; a slice holds until the next udp_fill. */
bool udp_fill(struct udp_io *io, uint32_t bytes_max);
bool udp_next(struct udp_io *io, struct slice *out);

/* Source address of the latest datagram of udp_next; valid until the next udp_fill. */
const struct address *udp_from(const struct udp_io *io);

/* Returns by how many bytes, up to `most`, a datagram may exceed `octets` without crossing a usual
 * limit of paths. The limits: IP packets of 1280, 1500 and 9000 bytes, over IPv6 and IPv4, and the
 * longest datagrams. */
uint32_t udp_beyond(uint32_t octets, uint32_t most);

const struct udp_counters *udp_counters(const struct udp_io *io);

#endif
