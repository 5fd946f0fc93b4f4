/* SPDX-License-Identifier: Apache-2.0 */
/* Batches without the kernel: a carrier gets one datagram at a time, at once. What can go wrong:
 * memory at the beginning. The carrier handles the result of a datagram. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "os/net/udp_io_private.h"

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

bool udp_carry(struct udp_io *io)
{
    struct udp_tx *tx = &io->tx;
    const struct udp_carrier *c = &io->carrier;
    for (; tx->first < tx->runs; tx->first++) {
        if (c->room != NULL && !c->room(c->context))
            return false;
        send_run(io, &tx->run[tx->first]);
    }
    if (c->done != NULL)
        c->done(c->context);
    return true;
}

static_assert(UDP_ARRIVALS_MAX == UDP_RX_MAX, "a message each");

void udp_arrive(struct udp_io *io, const struct address *from, struct slice data)
{
    struct udp_rx *rx = &io->rx;
    unsigned i = rx->arrived++;
    assert(i < UDP_ARRIVALS_MAX);
    rx->from[i] = *from;
    rx->iov[i] = (struct iovec){.iov_base = (void *)(uintptr_t)data.data, .iov_len = data.len};
    rx->msg[i] = (struct mmsghdr){.msg_len = (unsigned)data.len,
                                  .msg_hdr = {.msg_iov = &rx->iov[i], .msg_iovlen = 1}};
}

bool udp_take(struct udp_io *io)
{
    struct udp_rx *rx = &io->rx;
    if (rx->arrived == 0 && io->carrier.fetch != NULL)
        io->carrier.fetch(io->carrier.context);
    rx->next = rx->current = 0;
    rx->at = rx->size = 0;
    rx->filled = rx->arrived;
    rx->arrived = 0;
    for (unsigned i = 0; i < rx->filled; i++)
        io->n.rx_bytes += rx->msg[i].msg_len;
    return rx->filled > 0;
}
