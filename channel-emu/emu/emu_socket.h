/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP sockets for many datagrams per second: received in batches (recvmmsg, UDP_GRO) with the
 * kernel's time of arrival, and sent in batches (sendmmsg, UDP_SEGMENT). All times are
 * CLOCK_MONOTONIC.
 */
#ifndef CHANNEL_EMU_EMU_SOCKET_H
#define CHANNEL_EMU_EMU_SOCKET_H

#include <stdint.h>

#include "base/tick.h"
#include "os/address.h"
#include "os/clock.h"

/* A bound socket with a receive buffer of buffer_bytes, or as much as the kernel grants (*granted).
 * The socket, or HELIO_EIO with errno set. */
int emu_socket_open(const struct address *local, uint64_t buffer_bytes, uint64_t *granted);

/* Datagrams that the kernel dropped since the socket was opened, mostly for lack of buffer. */
uint64_t emu_socket_drops(int fd);

/* What one receive brought: a datagram, or several of `segment` bytes (the last may be shorter)
 * from one peer. */
struct emu_datagram {
    const uint8_t *data;
    size_t len, segment; /* segment >= 1 unless len is 0 */
    const struct address *from;
    tick arrival;
};

struct emu_receiver;
/* NULL when memory is out. */
struct emu_receiver *emu_receiver_new(void);
void emu_receiver_free(struct emu_receiver *r);

#define EMU_RECEIVE_MAX 32

/* The next datagrams without waiting, at most EMU_RECEIVE_MAX; they hold until the next call.
 * Returns how many, or HELIO_EIO with errno set. */
int emu_receive(struct emu_receiver *r, int fd, tick now, struct emu_datagram *out);

struct emu_sender;
struct emu_sender *emu_sender_new(void);
void emu_sender_free(struct emu_sender *s);

/* Datagrams between two of emu_sender_flush, at most. */
#define EMU_SEND_BATCH 64u

/* Queues a datagram; the bytes and the address must hold until emu_sender_flush. */
void emu_send(struct emu_sender *s, int fd, const struct address *to, const uint8_t *data,
              size_t len);
/* Sends what is queued. Of each datagram, in the order of emu_send: 0, or the errno with which the
 * kernel refused it; holds until the next emu_send. */
const int *emu_sender_flush(struct emu_sender *s);

#endif
