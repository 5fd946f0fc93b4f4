/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte streams in memory, for a world in virtual time (os/stream.h). Bytes that are written at one
 * end can be read at the other a fixed time later. Bytes that are not yet read fill the stream's
 * buffer, and a write accepts no more than its free part.
 *
 * An alarm of rank ALARM_STREAM does one thing at a time, in the order of time and then of
 * creation: a written piece arrives, the buffer has space again, a connection is made, an end has
 * closed. Bytes to the accepting end (the server) have no delay, bytes to the other end have
 * `delay`; only the latter direction gets a larger buffer by stream_buffers.
 *
 * Streams between certain owners may use a channel (pipe_wire). Then they are transmitted in frames
 * by the channel's owner, and lost frames are retransmitted (sim/path.h). Such a stream begins with
 * an octet in each direction and ends with one, so connecting and closing take time, too.
 */
#ifndef SIM_PIPES_H
#define SIM_PIPES_H

#include "os/world.h"
#include "sim/path.h"

/* Buffer of a stream without a setting, as on Linux. */
#define PIPE_BYTES 212992
/* … and of a stream over a channel: the most that Linux uses */
#define PIPE_DIRECTION_BYTES (4u << 20)

/* What lies between two owners (world.owner). */
struct pipe_wire {
    /* Does a stream from the one to the other use a channel? */
    bool (*between)(void *context, size_t from, size_t to);
    /* Transmits a frame; pipes_arrive follows if it arrives. */
    void (*carry)(void *context, size_t from, size_t to, struct slice frame);
    /* Optional: after how many octets towards `to` a new stream is reset; UINT64_MAX: never. */
    uint64_t (*lasts)(void *context, size_t from, size_t to);
    void *context;
    /* Not 0: streams have congestion control (CUBIC unless a stream sets another) and buffers of at
     * most so many octets. 0: they have none, and both calls have no effect. */
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
    const struct address
        *hosts; /* of owners below hosts_len, as streams report them to the other end; likewise */
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

/* A frame of pipe_wire.carry arrives. It must be complete, or it is ignored. */
void pipes_arrive(struct pipes *p, struct slice frame);

/* This owner has ended: its streams over channels lead nowhere. silent: their other ends are not
 * informed, else they are reset. */
void pipes_abandon(struct pipes *p, size_t owner, bool silent);

/* Is there a listener at this path or address? */
bool pipes_reach(const struct pipes *p, const struct stream_place *to);

/* Its own invariants, asserted. */
void pipes_check(const struct pipes *p);

#endif
