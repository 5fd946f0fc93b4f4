/* SPDX-License-Identifier: Apache-2.0 */
/* Each frame is a datagram of a port of the world, to one address and from it, as `source` says.
 * What can go wrong: the address cannot be bound, memory, at the beginning; later on a socket that
 * is full. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/framed/frame_wire.h"
#include "os/net/udp_io.h"

#define READ_BYTES (256 * 1024)

struct udp_wire {
    struct frame_wire wire;
    struct port *port;
    struct udp_peer remote;
    enum address_check source;
    struct frame_wire_counters n;
    void (*closed)(void *context);
    void *closed_context;
};

static struct udp_wire *udp_wire_of(const struct frame_wire *w)
{
    return container_of((struct frame_wire *)(uintptr_t)w, struct udp_wire, wire);
}

static bool send_frame(struct frame_wire *wire, struct slice frame)
{
    struct udp_wire *w = udp_wire_of(wire);
    struct udp_io *io = w->port->io;
    uint32_t len = (uint32_t)frame.len;
    assert(frame.len > 0 && frame.len <= UDP_DATAGRAM_MAX);
    if (!udp_room(io, len) && !udp_flush(io))
        return false;
    memcpy(udp_head(io, len), frame.data, len);
    udp_add(io, &w->remote, len, slice_of(NULL, 0));
    w->n.out++;
    return true;
}

static bool flush_frames(struct frame_wire *wire)
{
    return udp_flush(udp_wire_of(wire)->port->io);
}

static bool is_pending(const struct frame_wire *wire)
{
    return udp_pending(udp_wire_of(wire)->port->io);
}

static bool fill_frames(struct frame_wire *wire)
{
    return udp_fill(udp_wire_of(wire)->port->io, READ_BYTES);
}

static bool next_frame(struct frame_wire *wire, struct slice *frame)
{
    struct udp_wire *w = udp_wire_of(wire);
    while (udp_next(w->port->io, frame)) {
        if (address_passes(udp_from(w->port->io), &w->remote.address, w->source)) {
            w->n.in++;
            return true;
        }
        w->n.foreign++;
    }
    return false;
}

static void watch_wire(struct frame_wire *wire, bool read, bool write)
{
    struct udp_wire *w = udp_wire_of(wire);
    port_watch(w->port, read, write || udp_pending(w->port->io));
}

static void count_wire(const struct frame_wire *wire, struct frame_wire_counters *out)
{
    *out = udp_wire_of(wire)->n;
}

static struct udp_io *socket_of(const struct frame_wire *wire)
{
    return udp_wire_of(wire)->port->io;
}

static void on_port(void *context, bool readable, bool writable)
{
    struct udp_wire *w = context;
    if (writable && udp_pending(w->port->io))
        (void)udp_flush(w->port->io);
    w->wire.user->ready(w->wire.context, readable, writable && !udp_pending(w->port->io));
}

static void on_closed(void *context)
{
    struct udp_wire *w = context;
    assert(w->closed != NULL);
    w->closed(w->closed_context);
    free(w);
}

static void close_wire(struct frame_wire *wire, void (*closed)(void *context), void *context)
{
    struct udp_wire *w = udp_wire_of(wire);
    assert(w->closed == NULL && closed != NULL);
    if (!udp_pending(w->port->io))
        (void)udp_flush(w->port->io);
    w->closed = closed;
    w->closed_context = context;
    port_close(w->port, on_closed, w);
}

static const struct frame_wire_ops udp_wire_ops = {.send = send_frame,
                                                   .flush = flush_frames,
                                                   .pending = is_pending,
                                                   .fill = fill_frames,
                                                   .next = next_frame,
                                                   .watch = watch_wire,
                                                   .count = count_wire,
                                                   .socket = socket_of,
                                                   .close = close_wire};

int frame_wire_udp(struct world *world, struct frame_wire **out, const struct frame_wire_config *c)
{
    struct udp_wire *w = calloc(1, sizeof *w);
    if (w == NULL)
        return HELIO_ENOMEM;
    int r = port_open(world, &w->port, &c->local, c->segments, on_port, w);
    if (r != 0) {
        free(w);
        return r;
    }
    w->wire = (struct frame_wire){.ops = &udp_wire_ops, .leaves = true, .arrives = true};
    w->source = c->source;
    w->remote = (struct udp_peer){.address = c->remote, .dscp = c->dscp};
    *out = &w->wire;
    return 0;
}
