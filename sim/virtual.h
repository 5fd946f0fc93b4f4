/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual world (os/world.h): its clock stands still while something happens and then goes to
 * what is next. Who owns it decides what that is, in this order at one time: what was planned,
 * datagrams that arrive, alarms by rank and making. Datagrams are carried by its owner: a
 * simulator's channels, a test's dice. Wake-ups cost nothing.
 */
#ifndef SIM_VIRTUAL_H
#define SIM_VIRTUAL_H

#include "base/rng.h"
#include "os/udp_io.h"
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
    /* A datagram leaves; what becomes of it is the owner's affair. False: nobody is there. */
    bool (*carry)(void *context, struct virtual_port *from, const struct address *to,
                  struct slice head, struct slice data);
    void *context;
};

/* Time zero; `rng` is borrowed; what a node says takes `stream_delay` to its application. */
void virtual_init(struct virtual_world *v, uint64_t wall, struct rng *rng, tick stream_delay);
void virtual_fini(struct virtual_world *v); /* all ports and streams are closed */

/* When the next alarm goes off; TICK_NEVER: none will. */
tick virtual_due(struct virtual_world *v);
/* It goes off; the clock has come to virtual_due. */
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

/* What is due at once goes off, whatever else would come first: for the end of a run, when adapters
 * tell that they have closed. */
void virtual_fire_soon(struct virtual_world *v);

/* What was closed since the last call has closed now. */
void virtual_settle(struct virtual_world *v);

#endif
