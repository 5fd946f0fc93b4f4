/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches like os/net/udp_io.h for a program with many sockets that forwards datagrams. The bytes
 * are sent from their place without a copy. It waits for a full socket, reports the result of each
 * datagram, and gives the kernel's time of arrival (CLOCK_MONOTONIC).
 */
#ifndef OS_UDP_MANY_H
#define OS_UDP_MANY_H

#include "base/tick.h"
#include "os/net/udp_io.h"

/* A bound socket with buffers of buffer_bytes, or as much as the kernel grants (*granted: for
 * receiving). One of IPv6 takes IPv4, too. The descriptor, or HELIO_E*. */
int udp_many_open(const struct address *local, uint64_t buffer_bytes, uint64_t *granted);

/* Datagrams that the kernel dropped since the socket was opened, mostly for lack of buffer. */
uint64_t udp_many_drops(int fd);

/* What one receive brought: a datagram, or several of `segment` bytes (the last may be shorter)
 * from one peer. */
struct udp_message {
    const uint8_t *data;
    size_t len, segment; /* segment >= 1 unless len is 0 */
    const struct address *from;
    uint8_t ecn; /* of each of them: the two bits of RFC 3168 */
    tick arrival;
};

struct udp_receiver;
struct udp_receiver *udp_receiver_new(void); /* NULL: memory is out */
void udp_receiver_free(struct udp_receiver *r);

#define UDP_RECEIVE_MAX 32

/* The next datagrams without waiting, at most UDP_RECEIVE_MAX messages; they hold until the next
 * call. How many, 0 also after a transient error of the network; or HELIO_E*. */
int udp_receive(struct udp_receiver *r, int fd, tick now, struct udp_message *out);

/* The kernel begins to record times of arrival some time after the first socket has requested them;
 * earlier datagrams have the time of reading. Waits for this while a socket of udp_many_open is
 * open, about 20 ms at most. False: not detected (there is no loopback interface). */
bool udp_receiver_settle(struct udp_receiver *r);

struct udp_sender;
struct udp_sender *udp_sender_new(void); /* NULL: memory is out */
void udp_sender_free(struct udp_sender *s);

/* Datagrams between two of udp_sender_flush, at most. */
#define UDP_SEND_MAX 64u

/* Queues a datagram with this ECN field; the bytes and the peer must hold until udp_sender_flush.
 */
void udp_sender_add(struct udp_sender *s, int fd, struct udp_peer *to, uint8_t ecn,
                    struct slice data);
/* Sends what is queued. Of each datagram, in the order of udp_sender_add: 0, or the error with
 * which the kernel refused it; holds until the next udp_sender_add. */
const int *udp_sender_flush(struct udp_sender *s);

#endif
