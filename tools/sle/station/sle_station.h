/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider: service instances, the connections of their users, and what feeds them. Private to
 * tools/sle: the parts of one program.
 *
 *   sle_station.c          listens, connections, notices, the operator's log
 *   sle_station_dial.c     connections to users whom this provider binds
 *   sle_station_source.c   sources offer frames to their instances
 *   sle_station_input.c    where the next frame comes from, and its control word
 *   sle_station_modem.c    what a modem says of frames, locks and production
 *   sle_station_judge.c    a frame's quality, and how many are missing before it
 *   sle_station_offline.c  instances that deliver from the recording
 *   sle_station_catchup.c  complete delivery that has fallen behind production
 *   sle_station_uplink.c   CLTUs are radiated
 *   sle_station_events.c   what users' events set going
 *   sle_station_status.c   status as JSON
 *   sle_station_metrics.c  the same for Prometheus
 *   sle_station_control.c  what an operator orders
 */
#ifndef TOOLS_SLE_STATION_H
#define TOOLS_SLE_STATION_H

#include "base/bucket.h"
#include "base/buf.h"
#include "base/list.h"
#include "cla/framed/isp1_unbound.h"
#include "cla/framed/sle_conn.h"
#include "cla/framed/sle_digest.h"
#include "os/log/recording.h"
#include "os/log/say.h"
#include "os/net/udp_io.h"
#include "os/paced.h"
#include "os/world.h"
#include "tools/sle/sle_certificates.h"
#include "tools/sle/sle_datagrams.h"
#include "tools/sle/sle_modem.h"
#include "tools/sle/sle_numbered.h"
#include "tools/sle/sle_pool.h"
#include "tools/sle/sle_target.h"
#include "tools/sle/station.h"

#define CONTINUITY_MAX                                                                             \
    16777214 /* frames missing that one record reports; a record has room for it                   \
              */

struct station;
struct instance;
struct judge;
struct inbox;

/* Datagrams that are no frames: so many are read in a turn of a source. */
#define FEED_OTHERS 512

struct source {
    struct station *station;
    const struct settings_source *config;
    struct instance **instances;
    size_t instances_len;
    struct alarm alarm;
    struct bucket bucket;
    tick wake;          /* when it was to run next */
    tick patience;      /* until then frames of a late wake-up wait for room */
    uint64_t late_told; /* of source_late */
    struct recording *recording;
    uint64_t recorded_lost; /* that was logged */
    bool disk_waits;        /* the recording has no room, and the source waits for it */
    struct pool *pool;      /* generators of like frames have one */
    struct numbered numbered;
    uint64_t number;  /* frames made */
    uint64_t offered; /* frames offered to instances, or recorded */
    uint64_t time; /* of the latest frame, ns since 1970; where there is a recording, each has its
                      own */
    struct sle_time received;
    uint64_t batch_time; /* of all frames of one run */
    uint64_t stamp;      /* the time of the next frame */
    unsigned sequence;   /* of the latest record: 1..63 */
    bool pending;        /* `frame` is not taken by all yet */
    bool finished;       /* end of data */
    struct sle_frame frame;
    struct buf *held; /* what a pending frame lies in */
    /* udp, tcp, file */
    struct port *port;
    struct stream_listener *listener;
    struct stream *stream;
    int fd;
    size_t filled, used; /* octets of pool->current read, and given */
    uint64_t bad;        /* datagrams that are no frames */
    bool more;           /* a turn ended with such datagrams: there may be more */
    struct judge *judge; /* NULL: nothing is to be judged */
    uint64_t erred, missing;
    /* what is known of the reception: of a modem, or the control socket */
    struct inbox *inbox;             /* of tcp with head: modem */
    bool quality_said, missing_said; /* of `frame`, by its modem */
    struct sle_locks locks;
    enum sle_production production;
};

struct offline {
    struct recording_reader *reader; /* NULL: nothing is to be delivered */
    bool waiting;                    /* until what was added by START is written */
    uint64_t ticket;
    uint64_t from, to;
    bool pending, ended;
    struct sle_frame frame;
    uint64_t time;     /* of frame */
    unsigned sequence; /* expected; 0: any */
    struct alarm alarm;
};

/* An instance in complete mode whose source is recorded. Times are those of frames, ns. */
struct catchup {
    bool on;       /* it is behind production: frames come from the recording */
    bool joining;  /* the last piece: frames of production are held */
    uint64_t next; /* behind the frame that was given last */
    struct held *held;
    size_t held_at, held_len;
    uint64_t episodes;
    /* which frames were taken in this association, by count, the latest mask + 1 */
    uint64_t *times, mask, taken, before; /* before: frames written in associations before it */
    uint64_t resume; /* where the next association goes on; 0: with production */
};

/* Events of an instance that were accepted, their actions one behind the other. */
struct event_jobs {
    struct list queue; /* of jobs */
    size_t len;
    struct alarm alarm;
};

struct uplink {
    struct alarm alarm;
    struct air air;
    struct slice data; /* of the CLTU on the air, the engine's until it was radiated */
    uint32_t id;
    tick delay; /* behind it */
    struct target target;
    struct slice order; /* an event's, to go before the next CLTU; len 0: none */
    bool ordering;      /* it is what is on the air */
    uint64_t failed;    /* CLTUs and orders that were not sent */
};

struct instance {
    struct station *station;
    const struct settings_instance *config;
    struct sle_instance *sle;
    struct sle_conn *conn; /* NULL: not bound */
    struct source *source;
    bool taken;       /* the pending frame */
    uint64_t unheard; /* without pipelining: frames given since the last wait */
    uint64_t missed;  /* frames lost for it since the last one that was taken */
    uint64_t missed_all, missed_told;
    struct alarm dial; /* this provider binds */
    struct offline offline;
    struct catchup catchup;
    struct uplink uplink;
    struct event_jobs events;
    enum sle_uplink_production production; /* of FCLTU */
    enum sle_production frames_production; /* of the others, as reported to the user */
    struct sle_locks locks;                /* likewise */
};

/* Lines of the log that others can cause as often as they like: each kind has an allowance. */
enum station_line {
    LINES_REFUSED,
    LINES_SERVICE,
    LINES_CONTROL,
    LINES_SOURCE,
    LINES_UPLINK,
    LINES_COUNT
};

struct station {
    struct world *world;
    const struct settings *settings;
    struct sle_digests *digests;
    struct sle *sle;
    struct sle_host host;
    struct sle_secure secure; /* tls NULL: off */
    struct certificates certificates;
    struct say log;
    struct stream_listener *listener, *status, *control;
    size_t talks;        /* connections of the control socket */
    struct list talking; /* those */
    struct paced turns;  /* their lines */
    size_t answers;      /* connections of the status socket */
    struct list answering;
    struct paced status_turns;
    struct list visits;          /* connections */
    struct isp1_unbound unbound; /* users' connections without a BIND */
    struct source *sources;
    struct instance *instances;
    struct alarm clock;
    uint64_t seed;      /* of hashes */
    uint64_t unix_zero; /* Unix time at tick 0, as the engine has it */
    uint64_t refused;   /* connections and BINDs */
    struct say_few lines[LINES_COUNT];
    uint64_t ticks;
    uint64_t no_descriptor; /* of the world, at the last log line */
    bool open, ending;
};

/* As say, within the allowance of this kind. */
void station_say(struct station *t, enum station_line kind, enum say_level level,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* How many were left out. */
void station_say_left_out(struct station *t);

/* A user's connection. */
struct visit {
    struct station *station;
    struct instance *instance; /* NULL: not bound */
    struct sle_conn *conn;
    struct list node;
    char from[ADDRESS_TEXT_MAX];
};
extern const struct sle_conn_user visit_user;

/* Binds instances that have `connect`, and again when their association has ended. */
void dial_init(struct instance *i);
void dial_open(struct instance *i);
void dial_again(struct instance *i);
void dial_end(struct instance *i);

int source_open(struct source *x, struct station *t, const struct settings_source *config);
void source_end(struct source *x);
/* There may be something to do: frames, room, a user who has started. */
void source_wake(struct source *x);
/* An instance has started. */
void source_started(struct source *x, struct instance *i);
/* Writes recorded data to the disk, and logs lost data. */
void source_clock(struct source *x);
/* Frames that its rate asked for and that were not made, because they were more than 1 s late. */
uint64_t source_late(const struct source *x);
/* Logs those since the last call. */
void source_tell(struct source *x);
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

/* Sources with head: modem; modem_open and _end of all. */
int modem_open(struct source *x);
void modem_end(struct source *x);
bool modem_next(struct source *x); /* as feed_next */
uint8_t *modem_space(struct source *x, size_t *len);
void modem_fed(struct source *x, size_t len);
bool modem_has_room(const struct source *x);
/* The connection has ended: whole units stay, what is behind them is forgotten. False: nothing. */
bool modem_cut(struct source *x);
/* x->frame goes to the recording with what is known of it. */
void modem_record(struct source *x);
/* True: the record has a head, *out. */
bool modem_recorded(const struct recording_record *r, struct modem_unit *out);
/* A change of lock or production, or the end of data, behind the frames that were offered: to the
 * recording and to all users. A frame that is pending comes behind it for those who wait for it. */
void source_word(struct source *x, const struct modem_unit *u);
void word_give(struct instance *i, const struct modem_unit *u);

/* Sets the frame's quality and continuity, as far as its modem has not; where the source has a
 * judge. */
int judge_open(struct source *x);
void judge_end(struct source *x);
void judge_frame(struct source *x);

void offline_init(struct instance *i);
void offline_start(struct instance *i, const struct sle_start *start);
/* Frames of these times, [from, to): behind them is the end of data, or catchup_read. */
void offline_read(struct instance *i, uint64_t from, uint64_t to);
void offline_wake(struct instance *i);
void offline_stop(struct instance *i);
void offline_end(struct instance *i);

/* Is it in complete mode, of a source that is recorded? Only then are the others called, but for
 * catchup_gone, _stop, _open and _end. */
bool catchup_can(const struct instance *i);
/* The instance takes no more: it goes on with the frame of this time, from the recording. */
void catchup_begin(struct instance *i, uint64_t from);
/* A frame of production while it is behind. */
void catchup_frame(struct instance *i, const struct sle_frame *frame, uint64_t time);
/* The same of a word of its source (source_word). */
void catchup_word(struct instance *i, const struct modem_unit *u, uint64_t time);
/* A piece of the recording was read to its end. */
void catchup_read(struct instance *i);
/* A frame was given to the engine. */
void catchup_taken(struct instance *i, uint64_t time);
/* A source that waits for its users waits for it. */
bool catchup_waits(const struct instance *i);
void catchup_bound(struct instance *i);
void catchup_started(struct instance *i, const struct sle_start *start);
void catchup_gone(struct instance *i); /* the association */
void catchup_stop(struct instance *i);
int catchup_open(struct instance *i);
void catchup_end(struct instance *i);

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
/* Production of FCLTU changes by the operator's order. False: not now, an order is radiated. */
bool events_production(struct instance *i, enum sle_uplink_production p, tick now);
void events_end(struct instance *i);

int status_open(struct station *t);
void status_end(struct station *t);
int station_control_open(struct station *t);
void station_control_end(struct station *t);

#endif
