/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is outermost, as engines' binders and programs reach it: clock, alarm, datagram port, byte
 * stream. There are two worlds: the kernel's (os/uv_world.h) and the simulator's virtual one.
 * Nothing above them knows which one it has.
 *
 * All of it happens in one thread. Callbacks come from the world's loop, one after the other, never
 * from within a call into the world; when one of them is over, or several, the round ends
 * (world_attach).
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
/* It never goes off again, and its memory is free at once. Also from within its own `fire`. */
void alarm_fini(struct alarm *a);
/* Goes off once, at this time or as soon after it as can be; 0: soon, after whatever else is ready;
 * TICK_NEVER: not at all. Takes the place of what was set before. */
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

/* Those that carry datagrams themselves (cla/framed/frame_port.h) have ops of their own. */
struct port_ops {
    void (*watch)(struct port *p, bool read, bool write);
    void (*close)(struct port *p, void (*closed)(void *context), void *context);
};

/* A place where datagrams leave and arrive: the batches of os/udp_io.h, and who is told when there
 * is something to do. */
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
    uint64_t (*random)(struct world *w);
    int (*port_open)(struct world *w, struct port **out, const struct address *local,
                     bool segments);
    const struct stream_ops *streams; /* os/stream.h */
    /* Calculations in other threads (os/work_pool.h). NULL: there are none; work is done at once,
     * in the loop. */
    bool (*work)(struct world *w, struct work *job);
    bool (*take_back)(struct world *w, struct work *job);
    /* Addresses of host names (os/lookup.h). NULL: there is no resolver. */
    int (*lookup)(struct world *w, struct lookup *l);
    void (*lookup_forget)(struct world *w, struct lookup *l);
};

/* Each world puts this first. */
struct world {
    const struct world_ops *ops;
    struct list alarms;  /* by rank, then by alarm_init */
    struct list ends;    /* struct round_end.node */
    struct list *walk;   /* the alarm after the one that goes off */
    tick earliest;       /* no alarm is due before it */
    struct pipes *pipes; /* of a world whose streams are in memory (sim/pipes.h) */
    size_t owner; /* whose part of it acts now, where there are several: a number of the world's
                   * own. What is made has it, and acts with it. */
    uint64_t no_descriptor; /* times that a connection was not accepted: none was free */
    bool wakeups_free;      /* a wake-up costs nothing: there is no use in gathering work for one */
};

/* Monotonic, of an origin that the world chose; never goes back. */
static inline tick world_now(const struct world *w)
{
    return w->ops->now(w);
}

/* Processor time of this thread, ns: what passes while the system lets others run is not in it. In
 * virtual time: world_now, less the stalls that its owner made. A system call: for those who have a
 * reason, not for each message. */
static inline tick world_processor(const struct world *w)
{
    return w->ops->processor(w);
}

/* ns since 1970-01-01 UTC by the wall clock, which may be wrong and may be set; 0: there is none */
static inline uint64_t world_wall(const struct world *w)
{
    return w->ops->wall(w);
}

/* A number that nobody foresees; in virtual time the seed's next one. */
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

/* Binds a port. segments: the kernel may cut long sends up (os/udp_io.h). 0 or HELIO_E*. `ready` is
 * called after port_watch. */
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

/* What `ready` is called for from now on: datagrams that arrive; room for what was kept. */
static inline void port_watch(struct port *p, bool read, bool write)
{
    p->ops->watch(p, read, write);
}

/* Ends it, its io included; `ready` is not called any more. `closed` comes later than this call. */
static inline void port_close(struct port *p, void (*closed)(void *context), void *context)
{
    p->ops->close(p, closed, context);
}

/* Accepts streams at a place. 0 or HELIO_E* (HELIO_EEXIST: somebody is there). A file that is in
 * the way of a path is the caller's affair. */
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

/* Begins to connect. 0 or HELIO_E*: then there is no stream. What is found out later is told by
 * user->ended. */
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

/* The round is over: asks all that are attached until none has anything to do. True: one had. */
bool world_end_round(struct world *w);

/* The earliest time that an alarm is set to; brings world.earliest to it. */
tick world_due(struct world *w);

/* Lets go off the first `most` alarms, in order, that are due at `now`, each at most once, and
 * brings world.earliest to the earliest of the others. Returns how many did. */
unsigned world_fire(struct world *w, tick now, unsigned most);

#endif
