/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the socket, asks for its buffers and for the kernel's batching. What can go wrong: the
 * address is not ours or in use, or the kernel's limit is below the buffers that are wanted. The
 * kernel counts bookkeeping within the buffers and so doubles what is asked for (socket(7)); sizes
 * here are as asked. */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "os/net/udp_io_private.h"

static bool set_option(int fd, int level, int name)
{
    int on = 1;
    return setsockopt(fd, level, name, &on, sizeof on) == 0;
}

int udp_socket(const struct address *local, unsigned flags)
{
    int family = local->sa.sa_family, nonblock = (flags & UDP_NONBLOCK) != 0 ? SOCK_NONBLOCK : 0;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | nonblock, 0);
    if (fd < 0)
        return helio_from_errno(errno);
    if (family == AF_INET6 && (flags & UDP_V6ONLY) != 0)
        (void)set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY);
    (void)set_option(fd, SOL_UDP, UDP_GRO); /* an improvement that an old kernel may lack */
    if ((flags & UDP_STAMPS) != 0) {
        (void)set_option(fd, IPPROTO_IP, IP_RECVTOS);
        if (family == AF_INET6)
            (void)set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS);
    }
    if (((flags & UDP_STAMPS) == 0 || set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS)) &&
        bind(fd, &local->sa, address_len(local)) == 0)
        return fd;
    int error = helio_from_errno(errno);
    close(fd);
    return error;
}

int udp_open(struct udp_io **out, const struct address *local, bool segments)
{
    struct udp_io *io = calloc(1, sizeof *io);
    if (io == NULL)
        return HELIO_ENOMEM;
    io->fd = -1;
    struct address self;
    int r = HELIO_ENOMEM;
    io->tx.segments = segments;
    io->tx.heads = malloc(UDP_HEADS_MAX + UDP_DATAGRAM_MAX);
    io->rx.mem = malloc((size_t)UDP_RX_MAX * UDP_RX_BUFFER);
    if (io->tx.heads == NULL || io->rx.mem == NULL)
        goto fail;
    r = io->fd = udp_socket(local, UDP_NONBLOCK | UDP_V6ONLY);
    if (r < 0)
        goto fail;
    (void)set_option(io->fd, SOL_SOCKET, SO_RXQ_OVFL);
    r = address_bound(io->fd, &self);
    if (r != 0)
        goto fail;
    io->port = address_port(&self);
    udp_rx_init(io, UDP_RX_MAX);
    *out = io;
    return 0;
fail:
    udp_close(io);
    return r;
}

void udp_close(struct udp_io *io)
{
    if (io == NULL)
        return;
    if (io->fd >= 0)
        close(io->fd);
    free(io->tx.heads);
    free(io->tx.stash);
    free(io->rx.mem);
    free(io);
}

int udp_fd(const struct udp_io *io)
{
    return io->fd;
}

int udp_connect(struct udp_io *io, const struct address *to)
{
    const struct udp_carrier *c = &io->carrier;
    if (c->connect != NULL)
        c->connect(c->context, to);
    if (c->send != NULL)
        return 0;
    return connect(io->fd, &to->sa, address_len(to)) == 0 ? 0 : helio_from_errno(errno);
}

uint16_t udp_port(const struct udp_io *io)
{
    return io->port;
}

static uint64_t buffer_size(int fd, int option)
{
    int size = 0;
    socklen_t len = sizeof size;
    if (getsockopt(fd, SOL_SOCKET, option, &size, &len) != 0)
        return 0;
    return (uint64_t)size / 2;
}

uint64_t udp_set_buffer(int fd, uint64_t want, int option, int force)
{
    int size = want > INT32_MAX / 2 ? INT32_MAX / 2 : (int)want;
    if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof size) != 0)
        (void)setsockopt(fd, SOL_SOCKET, option, &size, sizeof size);
    return buffer_size(fd, option);
}

static uint64_t buffer_ask(int fd, uint64_t want, int option, int force)
{
    uint64_t have = buffer_size(fd, option);
    return have < want ? udp_set_buffer(fd, want, option, force) : have;
}

bool udp_buffers(struct udp_io *io, uint64_t rx, uint64_t tx, uint64_t *got_rx, uint64_t *got_tx)
{
    *got_rx = rx;
    *got_tx = tx;
    if (io->carrier.send != NULL)
        return true;
    *got_rx = buffer_ask(io->fd, rx, SO_RCVBUF, SO_RCVBUFFORCE);
    *got_tx = buffer_ask(io->fd, tx, SO_SNDBUF, SO_SNDBUFFORCE);
    return *got_rx >= rx && *got_tx >= tx;
}

uint32_t udp_beyond(uint32_t octets, uint32_t most)
{
    static const uint32_t limits[] = {1232, 1252, 1452, 1472, 8952, 8972, UDP_DATAGRAM_MAX};
    size_t i = 0;
    while (i + 1 < sizeof limits / sizeof *limits && limits[i] < octets)
        i++;
    uint32_t beyond = limits[i] > octets ? limits[i] - octets : 0;
    return beyond < most ? beyond : most;
}

const struct udp_counters *udp_counters(const struct udp_io *io)
{
    return &io->n;
}
