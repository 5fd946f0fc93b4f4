/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A UDP socket of the loop. What can go wrong: at the beginning the address cannot be bound, or no
 * descriptors. Later a pending socket error, after which libuv stops polling: the error is cleared,
 * and the user is asked to read.
 */
#include <assert.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/err.h"
#include "os/net/udp_io.h"
#include "os/uv_world_private.h"

struct uv_port {
    struct port port;
    uv_poll_t poll;
    int events; /* what it waits for */
    void (*closed)(void *context);
    void *closed_context;
};

static struct uv_port *uv_port_of(struct port *p)
{
    return container_of(p, struct uv_port, port);
}

static void on_socket(uv_poll_t *handle, int status, int events)
{
    struct uv_port *p = handle->data;
    if (status < 0) {
        int error;
        socklen_t len = sizeof error;
        (void)getsockopt(udp_fd(p->port.io), SOL_SOCKET, SO_ERROR, &error, &len);
        p->events = 0;
    }
    p->port.ready(p->port.context, events & UV_READABLE, events & UV_WRITABLE);
}

static void watch_port(struct port *port, bool read, bool write)
{
    struct uv_port *p = uv_port_of(port);
    int events = (read ? UV_READABLE : 0) | (write ? UV_WRITABLE : 0);
    if (events == p->events)
        return;
    p->events = events;
    int r = events == 0 ? uv_poll_stop(&p->poll) : uv_poll_start(&p->poll, events, on_socket);
    assert(r == 0);
    (void)r;
}

static void on_closed(uv_handle_t *handle)
{
    struct uv_port *p = handle->data;
    udp_close(p->port.io);
    if (p->closed != NULL)
        p->closed(p->closed_context);
    free(p);
}

static void close_port(struct port *port, void (*closed)(void *context), void *context)
{
    struct uv_port *p = uv_port_of(port);
    p->closed = closed;
    p->closed_context = context;
    uv_close((uv_handle_t *)&p->poll, on_closed);
}

static const struct port_ops port_ops = {.watch = watch_port, .close = close_port};

int uv_port_open(struct world *w, struct port **out, const struct address *local, bool segments)
{
    struct uv_port *p = calloc(1, sizeof *p);
    if (p == NULL)
        return HELIO_ENOMEM;
    p->port.world = w;
    p->port.ops = &port_ops;
    int r = udp_open(&p->port.io, local, segments);
    if (r == 0)
        r = helio_from_errno(-uv_poll_init(uv_world_loop(w), &p->poll, udp_fd(p->port.io)));
    if (r != 0) {
        udp_close(p->port.io);
        free(p);
        return r;
    }
    p->poll.data = p;
    *out = &p->port;
    return 0;
}
