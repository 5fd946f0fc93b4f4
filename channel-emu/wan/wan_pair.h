/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the relay of streams: one connection and its other side. */
#ifndef CHANNEL_EMU_WAN_PAIR_H
#define CHANNEL_EMU_WAN_PAIR_H

#include "channel-emu/wan/wan_relay.h"

struct wan_side {
    struct wan_pair *pair;
    int index;               /* 0: the calling side; the flow from here has the same index */
    struct stream *stream;   /* NULL: it broke */
    bool connected, blocked; /* blocked: a write waits for room */
    tick free_since;         /* it takes what is written */
    bool reading;
    bool finished; /* the end was written */
};

struct wan_pair {
    struct list node; /* of relay->busy or relay->idle */
    struct wan_relay *relay;
    struct wan_side side[2];
    struct wan_flow flow[2];
    tick cut[2];   /* when the break of that side is at the other one; TICK_NEVER: it did not */
    int urgent[2]; /* the urgent octet that ended this side's data; -1: none */
};

/* Takes the stream, which a connection was accepted for, and connects to the other side. */
void wan_pair_open(struct wan_relay *r, struct stream *s);
/* Does what is due. May end it. */
void wan_pair_serve(struct wan_pair *p, tick now);
/* When work is due without an event; TICK_NEVER: never. */
tick wan_pair_deadline(const struct wan_pair *p);
/* Resets what is open; octets inside are lost. */
void wan_pair_end(struct wan_pair *p);

#endif
