/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual world (os/world.h): its clock stands still during an event and then advances to the
 * next one. Its owner decides which event is next, in this order at equal times: planned ones,
 * datagrams that arrive, alarms by rank and creation. The owner transmits datagrams: through a
 * simulator's channels, or as a test decides. Wake-ups take no time.
 */
#ifndef SIM_VIRTUAL_H
#define SIM_VIRTUAL_H

#include "base/rng.h"
#include "os/net/udp_io.h"
#include "os/world.h"
#include "sim/pipes.h"
#include "sim/world_run.h"

/* A port with its address; they lie in the order in which they were opened. */
struct virtual_port {
    struct port port;
    struct list node; /* of virtual_world.ports, or .closing */
    struct virtual_world *world;
    struct address self;
    uint64_t number; /* from 1, never used again */
    size_t owner;    /* world.owner at that time: the number of a node */
    bool watched;
    void (*closed)(void *context);
    void *closed_context;
};

struct virtual_world {
    struct world world;
    tick now;
    tick stalled;  /* of it, in which its thread did not run: for tests */
    uint64_t wall; /* ns since 1970 UTC at time zero; 0: there is no clock */
    struct rng *rng;
    struct pipes pipes; /* byte streams */
    struct list ports, closing;
    uint64_t next_port;
    uint64_t unread; /* datagrams that found their port not watched: it has no buffer */
    /* A datagram is sent; the owner decides its fate. False: no socket has the address. */
    bool (*carry)(void *context, struct virtual_port *from, const struct address *to,
                  struct slice head, struct slice data);
    void *context;
};

/* Time zero; `rng` is borrowed; what a node says takes `stream_delay` to its application. */
void virtual_init(struct virtual_world *v, uint64_t wall, struct rng *rng, tick stream_delay);
void virtual_fini(struct virtual_world *v); /* all ports and streams are closed */

/* When the next alarm is due; TICK_NEVER: none. */
tick virtual_due(struct virtual_world *v);
/* Runs it; the clock has reached virtual_due. */
void virtual_fire(struct virtual_world *v);

/* The clock is `due`, if that is later. */
void virtual_advance(struct virtual_world *v, tick due);

/* Its alarms, for a run loop. */
struct world_source virtual_alarms(struct virtual_world *v);
/* A run loop of this world: after each thing the round ends (world_end_round). `sources` is
 * borrowed. */
struct world_run virtual_run(struct virtual_world *v, const struct world_source *sources,
                             size_t len);

/* A datagram arrives. */
void virtual_arrive(struct virtual_port *p, const struct address *from, struct slice data);

/* By its number; NULL: there is none. */
struct virtual_port *virtual_port_at(const struct virtual_world *v, uint64_t number);

/* Runs everything that is due at once, before other events: for the end of a run, when adapters
 * report that they have closed. */
void virtual_fire_soon(struct virtual_world *v);

/* What was closed since the last call has closed now. */
void virtual_settle(struct virtual_world *v);

#endif
