/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system as engines' callers and programs use it: clock, alarm, datagram port, byte stream.
 * There are two worlds: the kernel's (os/uv_world.h) and the simulator's virtual one. Code above
 * does not know which one it has. Everything happens in one thread. Callbacks are made by the
 * world's loop, one after the other, never within a call into the world. After one or several
 * callbacks the round ends (world_attach).
 */
#ifndef OS_WORLD_H
#define OS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/slice.h"
#include "base/tick.h"
#include "os/stream.h"

struct address;
struct lookup;
struct pipes;
struct udp_io;
struct work;
struct world;

/* ---- alarms ---- */

/* At one time alarms go off in this order, in virtual time: links, nodes, streams in memory,
 * applications; then in that of alarm_init. */
enum alarm_rank { ALARM_LINK, ALARM_NODE, ALARM_STREAM, ALARM_APP };

/* Lies in its user's memory; for the world to read and write. */
struct alarm {
    struct list node; /* of world.alarms */
    struct world *world;
    tick due; /* TICK_NEVER: not set */
    enum alarm_rank rank;
    size_t owner; /* world.owner at alarm_init */
    void (*fire)(void *context);
    void *context;
};

void alarm_init(struct alarm *a, struct world *w, enum alarm_rank rank, void (*fire)(void *context),
                void *context);
/* The alarm never fires again, and its memory may be freed at once. May be called within its
 * `fire`. */
void alarm_fini(struct alarm *a);
/* The alarm fires once, at this time or as soon as possible after it. 0: soon, after everything
 * else that is ready. TICK_NEVER: not at all. Replaces the former time. */
void alarm_set(struct alarm *a, tick when);
static inline tick alarm_due(const struct alarm *a)
{
    return a->due;
}

/* ---- the end of a round ---- */

/* Lies in its user's memory. */
struct round_end {
    struct list node;
    size_t owner;               /* world.owner at world_attach */
    bool (*run)(void *context); /* true when it did something: then all are asked again */
    void *context;
};

/* ---- datagram ports ---- */

struct port;

/* Ports that transport datagrams themselves (cla/framed/frame_port.h) have their own functions. */
struct port_ops {
    void (*watch)(struct port *p, bool read, bool write);
    void (*close)(struct port *p, void (*closed)(void *context), void *context);
};

/* A datagram port: the batches of os/net/udp_io.h, with a callback when it is ready. */
struct port {
    struct world *world;
    const struct port_ops *ops;
    struct udp_io *io; /* the port's, but for the calls that batch */
    /* There may be datagrams to read; what was kept can be flushed. Both may be said in vain. */
    void (*ready)(void *context, bool readable, bool writable);
    void *context;
};

/* ---- the table ---- */

struct world_ops {
    tick (*now)(const struct world *w);
    tick (*processor)(const struct world *w);
    uint64_t (*wall)(const struct world *w);
    /* Both, as world_recent wants them. NULL: `now` and `wall` cost nothing. */
    void (*recent)(const struct world *w, tick *now, uint64_t *wall);
    uint64_t (*random)(struct world *w);
    int (*port_open)(struct world *w, struct port **out, const struct address *local,
                     bool segments);
    const struct stream_ops *streams; /* os/stream.h */
    /* Calculations in other threads (os/work_pool.h). NULL: there are none; work is done at once,
     * in the loop. */
    bool (*work)(struct world *w, struct work *job);
    bool (*take_back)(struct world *w, struct work *job);
    /* Addresses of host names (os/net/lookup.h). NULL: there is no resolver. */
    int (*lookup)(struct world *w, struct lookup *l);
    void (*lookup_forget)(struct world *w, struct lookup *l);
};

/* Each world puts this first. */
struct world {
    const struct world_ops *ops;
    struct list alarms;  /* by rank, then by alarm_init */
    struct list ends;    /* struct round_end.node */
    struct list *walk;   /* the alarm after the one that is firing */
    tick earliest;       /* no alarm is due before it */
    struct pipes *pipes; /* of a world whose streams are in memory (sim/pipes.h) */
    /* The present owner, if there are several: a number of the world's own. Objects that are
     * created now belong to it, and their callbacks set it again. */
    size_t owner;
    uint64_t no_descriptor; /* times that a connection was not accepted: none was free */
    bool wakeups_free;      /* a wake-up costs nothing: there is no use in gathering work for one */
};

/* Monotonic time, with an origin of the world's choice; never decreases. */
static inline tick world_now(const struct world *w)
{
    return w->ops->now(w);
}

/* Processor time of this thread, ns; it excludes time in which the system runs others. In virtual
 * time: world_now minus the owner's stalls. It is a system call: not for each message. */
static inline tick world_processor(const struct world *w)
{
    return w->ops->processor(w);
}

/* ns since 1970-01-01 UTC by the wall clock, which may be wrong and may be set; 0: there is none */
static inline uint64_t world_wall(const struct world *w)
{
    return w->ops->wall(w);
}

/* Both clocks for what is done for each message: a reading of this round of the loop, that several
 * calls share. *now is not before the last world_now. */
static inline void world_recent(const struct world *w, tick *now, uint64_t *wall)
{
    if (w->ops->recent != NULL) {
        w->ops->recent(w, now, wall);
        return;
    }
    *now = w->ops->now(w);
    *wall = w->ops->wall(w);
}

/* An unpredictable number; in virtual time the next one of the seed. */
static inline uint64_t world_random(struct world *w)
{
    return w->ops->random(w);
}

/* Has job->run called in another thread, then job->done from the loop. False: there are no threads,
 * and nothing follows: the caller does it by itself. */
static inline bool world_work(struct world *w, struct work *job)
{
    return w->ops->work != NULL && w->ops->work(w, job);
}

/* Of what world_work took, and what is not done yet. True: it had not begun, and nothing follows.
 * False: `done` follows. */
static inline bool world_take_back(struct world *w, struct work *job)
{
    return w->ops->take_back(w, job);
}

/* e->run is called at the end of each round, and before the world sleeps, until world_detach. In
 * the order in which they were attached; `run` may detach its own, no other. */
void world_attach(struct world *w, struct round_end *e);
void world_detach(struct round_end *e);

/* Binds a port. segments: the kernel may cut long sends up (os/net/udp_io.h). 0 or HELIO_E*.
 * `ready` is called after port_watch. */
static inline int port_open(struct world *w, struct port **out, const struct address *local,
                            bool segments,
                            void (*ready)(void *context, bool readable, bool writable),
                            void *context)
{
    int r = w->ops->port_open(w, out, local, segments);
    if (r == 0) {
        (*out)->ready = ready;
        (*out)->context = context;
    }
    return r;
}

/* Selects the events of `ready`: arriving datagrams; room for kept datagrams. */
static inline void port_watch(struct port *p, bool read, bool write)
{
    p->ops->watch(p, read, write);
}

/* Ends the port with its io; `ready` is not called any more. `closed` is called after this call. */
static inline void port_close(struct port *p, void (*closed)(void *context), void *context)
{
    p->ops->close(p, closed, context);
}

/* Listens for streams. Returns 0 or HELIO_E* (HELIO_EEXIST: the address is in use). The caller must
 * remove an old file at a path. */
static inline int stream_listen(struct world *w, struct stream_listener **out,
                                const struct stream_place *at,
                                void (*accepted)(void *context, struct stream *s), void *context)
{
    int r = w->ops->streams->listen(w, out, at);
    if (r == 0) {
        (*out)->accepted = accepted;
        (*out)->context = context;
    }
    return r;
}

/* Starts a connection. Returns 0, or HELIO_E*: then there is no stream. Later failures are reported
 * by user->ended. */
static inline int stream_connect(struct world *w, struct stream **out,
                                 const struct stream_place *to, const struct stream_user *user,
                                 void *context)
{
    int r = w->ops->streams->connect(w, out, to);
    if (r == 0)
        stream_use(*out, user, context);
    return r;
}

/* ---- for worlds ---- */

void world_init(struct world *w, const struct world_ops *ops, bool wakeups_free);

/* Ends the round: calls all attached functions until none has anything to do. True: one had. */
bool world_end_round(struct world *w);

/* The earliest time that an alarm is set to; brings world.earliest to it. */
tick world_due(struct world *w);

/* Fires the first `most` alarms, in order, that are due at `now`, each at most once. Sets
 * world.earliest to the earliest of the others. Returns their number. */
unsigned world_fire(struct world *w, tick now, unsigned most);

#endif
