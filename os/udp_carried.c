/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that somebody else than the kernel carries: a datagram at a time, at once. Nothing can go
 * wrong but memory at the beginning; what becomes of a datagram is the carrier's affair. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "os/udp_io_private.h"

int udp_open_carried(struct udp_io **out, const struct udp_carrier *carrier, uint16_t port)
{
    assert(carrier->send != NULL);
    struct udp_io *io = calloc(1, sizeof *io);
    if (io == NULL)
        return HELIO_ENOMEM;
    io->fd = -1;
    io->port = port;
    io->carrier = *carrier;
    io->tx.heads = malloc(UDP_HEADS_MAX + UDP_DATAGRAM_MAX);
    if (io->tx.heads == NULL) {
        free(io);
        return HELIO_ENOMEM;
    }
    *out = io;
    return 0;
}

static void send_run(struct udp_io *io, const struct udp_run *r)
{
    const struct iovec *v = r->iov;
    for (unsigned i = 0; i < r->datagrams; i++) {
        struct slice head = slice_of(v[0].iov_base, v[0].iov_len), data = slice_of(NULL, 0);
        if (r->iovs_of[i] > 1)
            data = slice_of(v[1].iov_base, v[1].iov_len);
        v += r->iovs_of[i];
        io->n.tx_datagrams++;
        io->n.tx_bytes += head.len + data.len;
        if (!io->carrier.send(io->carrier.context, &r->to->address, head, data))
            io->n.tx_refused++;
    }
}

void udp_carry(struct udp_io *io)
{
    for (unsigned i = 0; i < io->tx.runs; i++)
        send_run(io, &io->tx.run[i]);
}

void udp_arrive(struct udp_io *io, const struct address *from, struct slice data)
{
    struct udp_rx *rx = &io->rx;
    rx->from[0] = *from;
    rx->iov[0] = (struct iovec){.iov_base = (void *)(uintptr_t)data.data, .iov_len = data.len};
    rx->msg[0] = (struct mmsghdr){.msg_len = (unsigned)data.len,
                                  .msg_hdr = {.msg_iov = &rx->iov[0], .msg_iovlen = 1}};
    rx->arrived = true;
}

bool udp_take(struct udp_io *io)
{
    struct udp_rx *rx = &io->rx;
    rx->next = rx->current = 0;
    rx->at = rx->size = 0;
    rx->filled = rx->arrived;
    rx->arrived = false;
    if (rx->filled > 0)
        io->n.rx_bytes += rx->msg[0].msg_len;
    return rx->filled > 0;
}
