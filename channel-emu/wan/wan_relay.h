/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay of TCP streams: each accepted connection has a second one to the other side, and a flow
 * (wan_line.h) in each direction: a wide area network on one machine.
 *
 *   caller ── side 0  ══ flow 0, forward ══►  side 1 ── called
 *                     ◄══ flow 1, return ══
 *
 * The end of one direction follows its octets, and the other direction continues. A side that
 * breaks breaks the other one a delay later: octets read from it are still delivered, octets for it
 * are lost at once.
 */
#ifndef CHANNEL_EMU_WAN_RELAY_H
#define CHANNEL_EMU_WAN_RELAY_H

#include <jansson.h>

#include "channel-emu/wan/wan_settings.h"
#include "os/process/priority.h"
#include "os/world.h"

struct wan_relay {
    struct wan_settings *settings; /* borrowed; wan_relay_change writes to them */
    struct world *world;           /* borrowed */
    FILE *say;
    struct stream_listener *listener;
    struct wan_pool pool;
    struct wan_line line[2];
    struct list busy, idle; /* struct wan_pair.node: with something under way, and without */
    struct alarm alarm;
    struct round_end round;
    struct priority_bound priority;
    bool realtime; /* permitted */
    tick began;
    uint64_t accepted, refused, unreached; /* connections: all, too many, without other side */
    uint64_t open, open_most;
    uint64_t changes, memory_limit; /* the most of all settings that were in effect */
    uint8_t nowhere[64 << 10];      /* octets whose other side has broken are read to here */
};

/* Listens, and begins. 0, or HELIO_E* with a message on `say`; wan_relay_close in any case. */
int wan_relay_open(struct wan_relay *r, struct wan_settings *s, struct world *w, FILE *say);
/* Other values from now on, which it takes out of *c. */
void wan_relay_change(struct wan_relay *r, struct wan_change *c);
/* Resets open connections; octets in transit stay in the account as queued. */
void wan_relay_close(struct wan_relay *r);

/* The account as it is now, as JSON (NULL: memory is out) and as text. */
json_t *wan_relay_json(const struct wan_relay *r);
void wan_relay_text(const struct wan_relay *r, FILE *out);

#endif
