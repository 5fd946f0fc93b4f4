/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider: service instances, the connections of their users, and what feeds them. Private to
 * tools/sle: the parts of one program.
 *
 *   sle_station.c          listens, connections, notices, the operator's log
 *   sle_station_source.c   sources offer frames to their instances
 *   sle_station_input.c    where the next frame comes from
 *   sle_station_word.c     a frame's control word
 *   sle_station_offline.c  instances that deliver from the recording
 *   sle_station_uplink.c   CLTUs are radiated
 *   sle_station_events.c   what users' events set going
 *   sle_station_status.c   status as JSON
 */
#ifndef TOOLS_SLE_STATION_H
#define TOOLS_SLE_STATION_H

#include "base/bucket.h"
#include "base/buf.h"
#include "base/list.h"
#include "cla/sle_conn.h"
#include "cla/sle_digest.h"
#include "os/recording.h"
#include "os/udp_io.h"
#include "os/world.h"
#include "tools/sle/sle_datagrams.h"
#include "tools/sle/sle_numbered.h"
#include "tools/sle/sle_pool.h"
#include "tools/sle/station.h"

struct station;
struct instance;

struct source {
    struct station *station;
    const struct settings_source *config;
    struct instance **instances;
    size_t instances_len;
    struct alarm alarm;
    struct bucket bucket;
    struct recording *recording;
    uint64_t recorded_lost; /* that was told */
    struct pool *pool;      /* generators of like frames have one */
    struct numbered numbered;
    uint64_t number;     /* frames made */
    uint64_t offered;    /* frames offered to instances, or recorded */
    uint64_t batch_time; /* of all frames of one run: ns since 1970 */
    struct sle_time batch_received;
    bool pending;  /* `frame` is not taken by all yet */
    bool finished; /* end of data */
    struct sle_frame frame;
    struct buf *held; /* what a pending frame lies in */
    /* udp, tcp, file */
    struct port *port;
    struct stream_listener *listener;
    struct stream *stream;
    int fd;
    size_t filled, used; /* octets of pool->current read, and given */
    uint64_t bad;        /* datagrams that are no frames */
};

struct offline {
    struct recording_reader *reader; /* NULL: nothing is to be delivered */
    bool waiting;                    /* until what was added by START is written */
    uint64_t ticket;
    uint64_t from, to;
    bool pending, ended;
    struct sle_frame frame;
    struct alarm alarm;
};

/* Events of an instance that were accepted, their actions one behind the other. */
struct event_jobs {
    struct list queue; /* of jobs */
    size_t len;
    struct alarm alarm;
};

struct uplink {
    struct alarm alarm;
    bool busy;
    tick until;
    struct slice data; /* of the CLTU on the air, the engine's until it was radiated */
    uint32_t id;
    int fd; /* a file; -1: none */
    struct datagrams udp;
    struct slice order; /* an event's, to go before the next CLTU; len 0: none */
    bool ordering;      /* it is what is on the air */
    uint64_t radiated, failed;
};

struct instance {
    struct station *station;
    const struct settings_instance *config;
    struct sle_instance *sle;
    struct sle_conn *conn; /* NULL: not bound */
    struct source *source;
    bool taken;            /* the pending frame */
    uint64_t unheard;      /* without pipelining: frames given since the last wait */
    uint64_t refused_told; /* frames refused or discarded, as told */
    tick told;
    struct offline offline;
    struct uplink uplink;
    struct event_jobs events;
    enum sle_uplink_production production; /* of FCLTU */
};

struct station {
    struct world *world;
    const struct settings *settings;
    struct sle_digests *digests;
    struct sle *sle;
    struct say log;
    struct stream_listener *listener, *status;
    struct list visits; /* connections */
    struct source *sources;
    struct instance *instances;
    struct alarm clock;
    uint64_t refused; /* connections and BINDs */
    tick refusals;    /* base/allowance.h */
    uint64_t untold, ticks;
    bool open, ending;
};

int source_open(struct source *x, struct station *t, const struct settings_source *config);
void source_end(struct source *x);
/* There may be something to do: frames, room, a user who has started. */
void source_wake(struct source *x);
/* An instance has started. */
void source_started(struct source *x, struct instance *i);
/* What was recorded goes to the disk, what was lost is told. */
void source_clock(struct source *x);
/* Lets the source's alarm or port come back. */
void source_run(void *context);

int feed_open(struct source *x);
void feed_end(struct source *x);
/* The next frame goes to x->frame. False: there is none now, or none any more (x->finished). */
bool feed_next(struct source *x);
/* So many octets before each frame are for its head from now on; nobody has use for frames made
 * before. */
void feed_gap(struct source *x, size_t gap);
/* Whether what arrives is wanted now. */
void feed_watch(struct source *x, bool on);

/* Sets the frame's operational control field and whether it has one. */
void station_word(const struct settings_source *c, struct sle_frame *frame);

void offline_init(struct instance *i);
void offline_start(struct instance *i, const struct sle_start *start);
void offline_wake(struct instance *i);
void offline_stop(struct instance *i);
void offline_end(struct instance *i);

int uplink_open(struct instance *i);
void uplink_wake(struct instance *i);
/* Production stops, before the engine hears of it: what is being radiated ends here. */
void uplink_interrupt(struct instance *i, tick now);
void uplink_end(struct instance *i);
/* Radiates these octets, which stay, before the next CLTU; then events_radiated is called. */
void uplink_order(struct instance *i, struct slice order);

void events_init(struct instance *i);
/* Answers the event; what it asks for is done as time goes on, whether or not the user stays. */
void events_take(struct instance *i, const struct sle_notice *n);
void events_radiated(struct instance *i, bool good);
void events_end(struct instance *i);

int status_open(struct station *t);

#endif
