/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte streams in memory, for a world in virtual time (os/stream.h). What is written at one end can
 * be read at the other a fixed time later; what is not read yet fills the stream, and a write takes
 * no more than there is room for.
 *
 * An alarm of rank ALARM_STREAM does one thing at a time, in the order of time and then of making:
 * a piece that was written arrives, there is room again, somebody connects, an end has closed. What
 * goes to the end that accepts (the server's) takes no time, what goes to the other one `delay`;
 * only the latter has more room when stream_buffers asks for it.
 *
 * Streams to an address may have a way of their own between the owners of their ends (pipe_wire):
 * then they go in frames that their owner carries, and what is lost goes again (sim/path.h).
 * A stream begins with an octet each way and ends with one, so that both take their time, too.
 */
#ifndef SIM_PIPES_H
#define SIM_PIPES_H

#include "os/world.h"
#include "sim/path.h"

/* Room of a stream that nobody asked more for, as on Linux. */
#define PIPE_BYTES 212992
/* … and that has a way of its own: as much as Linux makes it */
#define PIPE_WAY_BYTES (4u << 20)

/* What lies between two owners (world.owner). */
struct pipe_wire {
    /* Does a stream from the one to the other have a way of its own? */
    bool (*between)(void *context, size_t from, size_t to);
    /* A frame leaves; pipes_arrive when it has come, if it does. */
    void (*carry)(void *context, size_t from, size_t to, struct slice frame);
    /* Optional: after how many octets towards `to` a new stream is reset; UINT64_MAX: never. */
    uint64_t (*lasts)(void *context, size_t from, size_t to);
    void *context;
    /* Streams have congestion control, CUBIC unless they are told another, and so many octets of
     * buffers unless they are told less; 0: they have none, and both calls mean nothing. */
    uint64_t buffers;
};

struct pipes {
    struct world *world;
    struct list listeners, ends;
    struct alarm alarm;
    tick delay;
    uint64_t made; /* events, for their order */
    struct pipe_end *busy;
    const struct pipe_wire *wire; /* NULL: nothing lies between; outlives the pipes */
    const struct address *hosts;  /* of owners below hosts_len, as streams show them to who is at
                                     the other end; likewise */
    size_t hosts_len;
};

extern const struct stream_ops pipe_ops; /* of worlds whose `pipes` is set */

/* w->pipes is p from now on. */
void pipes_init(struct pipes *p, struct world *w, tick delay);
/* All ends are closed, and all listeners. */
void pipes_fini(struct pipes *p);

/* Does the first thing that is due now; false: there is none. For a world that wants some of it
 * before other alarms. */
bool pipes_step(struct pipes *p);

/* A frame that pipe_wire.carry was given; whole, or it is ignored. */
void pipes_arrive(struct pipes *p, struct slice frame);

/* This owner is not there any more: its streams with a way of their own lead nowhere. silent: those
 * at their other ends are not told, else they are reset. */
void pipes_abandon(struct pipes *p, size_t owner, bool silent);

/* Does somebody listen there? A path, or an address. */
bool pipes_reach(const struct pipes *p, const struct stream_place *to);

/* Its own invariants, asserted. */
void pipes_check(const struct pipes *p);

#endif
