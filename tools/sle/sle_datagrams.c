/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of os/net/udp_io.h. What can go wrong: nobody listens, the network refuses, a datagram is
 * too long: counted; the socket is full: waited for, or dropped, as the sender wants it. */
#include "tools/sle/sle_datagrams.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "os/clock.h"

int datagrams_open(struct datagrams *d, const struct address *to)
{
    struct address any = address_any(to);
    *d = (struct datagrams){.to = {.address = *to}};
    int e = udp_open(&d->io, &any, true);
    if (e == 0)
        e = udp_connect(d->io, to);
    if (e < 0) {
        udp_close(d->io);
        d->io = NULL;
    }
    return e;
}

static void on_port(void *context, bool readable, bool writable)
{
    (void)context; /* it is not watched */
    (void)readable;
    (void)writable;
}

static void on_closed(void *context)
{
    (void)context;
}

int datagrams_open_port(struct datagrams *d, struct world *w, const struct address *to)
{
    struct address any = address_any(to);
    *d = (struct datagrams){.to = {.address = *to}};
    int e = port_open(w, &d->port, &any, true, on_port, NULL);
    if (e < 0)
        return e;
    d->io = d->port->io;
    e = udp_connect(d->io, to);
    if (e < 0)
        datagrams_close(d);
    return e;
}

void datagrams_close(struct datagrams *d)
{
    if (d->io != NULL)
        (void)udp_flush(d->io);
    if (d->port != NULL)
        port_close(d->port, on_closed, NULL);
    else
        udp_close(d->io);
    d->io = NULL;
    d->port = NULL;
}

/* Until the socket has taken all. */
static void wait_for_socket(struct datagrams *d)
{
    struct pollfd p = {.fd = udp_fd(d->io), .events = POLLOUT};
    while (!udp_flush(d->io))
        if (clock_poll(&p, 1, clock_now() + TICK_S) < 0)
            udp_forget(d->io, &d->to);
}

void datagrams_put(struct datagrams *d, struct slice data)
{
    uint32_t len = (uint32_t)data.len;
    if (data.len > UDP_DATAGRAM_MAX) {
        d->too_long++;
        return;
    }
    if (!udp_room(d->io, len))
        wait_for_socket(d);
    memcpy(udp_head(d->io, len), data.data, len);
    udp_add(d->io, &d->to, len, slice_of(NULL, 0));
}

bool datagrams_drain(struct datagrams *d)
{
    uint64_t before = udp_counters(d->io)->tx_calls;
    wait_for_socket(d);
    return udp_counters(d->io)->tx_calls > before;
}

bool datagrams_fire(struct datagrams *d)
{
    uint64_t before = datagrams_failed(d);
    if (!udp_flush(d->io)) {
        udp_forget(d->io, &d->to);
        return false;
    }
    return datagrams_failed(d) == before;
}

/* What the network has reported of earlier datagrams since the last call. */
static int take_error(const struct datagrams *d)
{
    const int fd = udp_fd(d->io);
    int error = 0;
    socklen_t len = sizeof error;
    if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    return helio_from_errno(error);
}

int datagrams_send(struct datagrams *d, struct slice data)
{
    if (data.len > UDP_DATAGRAM_MAX)
        return helio_from_errno(EMSGSIZE);
    const int before = take_error(d);
    if (before < 0)
        return before;
    errno = 0;
    datagrams_put(d, data);
    const bool sent = datagrams_fire(d);
    const int number = errno;
    const int after = take_error(d);
    return after < 0 ? after : sent ? 0 : number > 0 ? helio_from_errno(number) : HELIO_EIO;
}

uint64_t datagrams_failed(const struct datagrams *d)
{
    if (d->io == NULL)
        return 0;
    const struct udp_counters *n = udp_counters(d->io);
    return n->tx_errors + n->tx_refused + d->too_long;
}
