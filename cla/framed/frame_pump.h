/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of wires that are no datagram sockets (TCP, recordings, SLE): the watched events,
 * the alarm that reports them, frames in sequence in a stream of octets, the end. It is the first
 * member of such a wire. Only frame_wire_*.c use it.
 */
#ifndef CLA_FRAME_PUMP_H
#define CLA_FRAME_PUMP_H

#include "cla/framed/frame_wire.h"

struct frame_pump;

struct frame_pump_ops {
    /* When the next frame can be read: 0 now; TICK_NEVER: none is known. */
    tick (*due)(struct frame_pump *p);
    /* `read` or `write` are others now. NULL: nothing is to be done. */
    void (*watched)(struct frame_pump *p);
    /* After `closed`: frees all but what the pump has. */
    void (*free)(struct frame_pump *p);
};

struct frame_pump {
    struct frame_wire wire;
    const struct frame_pump_ops *own;
    bool read, write;    /* what is watched for */
    bool room, changed;  /* to be reported: kept frames were sent; the wire's state has changed */
    bool closing, ended; /* no further reports, except `closed` */
    struct alarm alarm;
    struct frame_stream in; /* of those that have a stream: */
    uint8_t *in_bytes;
    struct frame_wire_counters n;
    void (*closed)(void *context);
    void *closed_context;
};

static inline struct frame_pump *frame_pump_of(const struct frame_wire *w)
{
    return container_of((struct frame_wire *)(uintptr_t)w, struct frame_pump, wire);
}

/* *p is zeroes. */
void frame_pump_init(struct frame_pump *p, struct world *world, const struct frame_wire_ops *ops,
                     const struct frame_pump_ops *own);
/* Allocates memory for a stream of frames. Returns 0 or HELIO_ENOMEM. */
int frame_pump_stream(struct frame_pump *p, const struct frame_wire_config *c);
/* What the pump has is free; without `closed`. */
void frame_pump_fini(struct frame_pump *p);

/* Soon, from the loop: there may be something to read, when that is watched for; … */
void frame_pump_again(struct frame_pump *p);
/* … what was kept has left; … */
void frame_pump_room(struct frame_pump *p);
/* … wire.leaves and wire.arrives are these now. */
void frame_pump_change(struct frame_pump *p, bool leaves, bool arrives);

/* Operations of struct frame_wire_ops; `next` takes from the stream. */
bool frame_pump_next(struct frame_wire *w, struct slice *frame);
void frame_pump_watch(struct frame_wire *w, bool read, bool write);
void frame_pump_count(const struct frame_wire *w, struct frame_wire_counters *out);
struct udp_io *frame_pump_socket(const struct frame_wire *w); /* there is none */

/* For close: no further reports; after frame_pump_end `closed` and `free` follow later. */
void frame_pump_close(struct frame_pump *p, void (*closed)(void *context), void *context);
void frame_pump_end(struct frame_pump *p);

#endif
