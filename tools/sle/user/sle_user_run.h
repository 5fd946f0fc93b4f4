/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user: binds service instances, takes their frames or sends CLTUs, and reports the result.
 * Private to tools/sle.
 *
 *   sle_user_open.c      the engine and its associations, before the loop
 *   sle_user_run.c       associations from BIND to unbinding
 *   sle_user_link.c      their connections: fail-over, reconnection, those that providers make
 *   sle_user_script.c    steps of a script (sle_script.h)
 *   sle_user_ask.c       parameters that are asked for
 *   sle_user_measure.c   continuity, delay and jitter of numbered frames
 *   sle_user_sink.c      where frames go
 *   sle_user_cltu.c      CLTUs from a file
 *   sle_user_live.c      CLTUs that arrive as datagrams
 *   sle_user_events.c    events that are thrown
 *   sle_user_result.c    the result, as JSON or for people
 */
#ifndef TOOLS_SLE_USER_RUN_H
#define TOOLS_SLE_USER_RUN_H

#include <jansson.h>
#include <stdio.h>

#include "base/bucket.h"
#include "base/buf.h"
#include "base/list.h"
#include "cla/framed/sle_conn.h"
#include "cla/framed/sle_digest.h"
#include "os/log/log_writer.h"
#include "os/log/say.h"
#include "os/world.h"
#include "sle/user.h"
#include "tools/hist.h"
#include "tools/sle/sle_datagrams.h"
#include "tools/sle/sle_settings.h"
#include "tools/sle/sle_when.h"

/* What both ends must agree on: options of user, bench and bridge alike. */
struct sle_terms {
    int level, hash; /* enum sle_auth_level, enum sle_hash */
    uint8_t version; /* 0: a provider's: any */
};

#define USER_EVENTS_MAX 64
#define USER_PLACES_MAX 8  /* addresses of a provider */
#define USER_TOLD_MAX 64   /* notifications of frames that the result has; others are counted */
#define USER_FIRST_CLTU 1  /* id; the next ones count up */
#define USER_LIVE_MAX 1024 /* CLTUs of datagrams that are kept, sent or not */

/* What datagrams of --cltu-datagrams hold. */
enum user_encoding {
    USER_CLTUS,            /* CLTUs */
    USER_FRAMES,           /* telecommand frames, which become CLTUs */
    USER_FRAMES_RANDOMISED /* the same, with the pseudo-random sequence added */
};

/* An event to throw, as the command line has it. */
struct user_event {
    uint16_t id;
    const char *qualifier; /* settings_qualifier */
};

struct user_options {
    struct address to;
    struct address more[USER_PLACES_MAX - 1]; /* tried in turn when the one before fails */
    size_t more_len;
    bool listen;    /* at `to`, for a provider that binds */
    tick reconnect; /* so long after an association that did not end in order; 0: not */
    bool bind_only; /* no START */
    enum sle_unbind unbind;
    uint32_t cycle_s; /* of status reports; 0: none */
    /* of CLTUs */
    struct user_when earliest, latest;
    uint32_t delay_us;
    bool quiet;         /* no notification is asked for */
    const char *script; /* file; NULL: none */
    const char *instance, *id, *password, *responder, *responder_password, *port_name;
    unsigned repeat; /* instances, whose numbers at the end count up */
    struct sle_terms terms;
    uint16_t heartbeat_s, dead_factor;
    struct sle_start start;
    bool gvcid, rocf; /* were given */
    uint64_t frames;
    tick time;
    tick wait; /* for what does not come */
    bool tls;
    enum sle_tls_peer tls_peer;
    const char *tls_certificate, *tls_key, *tls_ca, *tls_host; /* NULL: none */
    uint64_t tcp_buffer;
    const char *congestion; /* TCP's; NULL: as the system has it */
    tick warmup;            /* what comes earlier after the start is not measured */
    bool numbered, json, parameters, until_end;
    const char *output, *csv, *frames_csv, *cltus;
    struct address cltu_at, cltu_source; /* CLTUs arrive there as datagrams; only from this host */
    enum user_encoding encoding;
    bool wait_given;
    bool lengths;
    struct address udp;
    uint64_t udp_rate; /* bit/s of frames to it; 0: as they come */
    unsigned window;   /* CLTUs under way; 0: as many as may be */
    uint64_t made; /* octets of CLTUs that are made instead of read from a file; 0: none. `frames`
                      of them, or as many as go in `time` */
    bool alone;    /* each CLTU waits until the one before was radiated */
    struct user_event events[USER_EVENTS_MAX];
    size_t events_len;
    enum say_level log;
};

/* What numbered frames tell. Times in ns. */
struct measure {
    uint64_t frames, octets;
    uint64_t next; /* number expected */
    uint64_t missing, repeated, wrong;
    uint64_t first_ns, last_ns; /* arrivals, monotonic */
    int64_t delay_before;
    double jitter; /* mean difference of the delays of two in a row, smoothed (RFC 3550 §6.4.1) */
    bool any;
    struct hist delay;
    uint64_t second_frames, second_octets, second_worst; /* since the last line of the CSV */
    double second_delay;
};

struct live;

/* CLTUs of a file, each as it is sent; or such that are made, one like the other; or such that
 * arrive as datagrams: then `len` grows, and all counts begin anew with each START. */
struct cltus {
    struct buf *bytes;
    struct slice *list; /* NULL: each is `bytes` */
    struct live *live;  /* NULL: none arrive */
    tick *sent_at;      /* of those made: when, by number modulo CLTUS_TIMED */
    size_t len, next;   /* the next to send */
    size_t run_index;   /* index and id of the first that was sent in sequence */
    uint32_t run_id;
    struct sle_time began; /* START, by the provider's clock */
    uint64_t sent, accepted, refused, radiated, other, answered;
    uint64_t expired;                /* their latest time passed */
    uint64_t discarded, interrupted; /* by production; the second: while it was radiated */
    bool emptied;                    /* the provider's buffer, behind the last answer */
    uint32_t interrupted_id;         /* the latest of them */
    unsigned latest_refusal;
};

/* One that was thrown. */
struct thrown_event {
    uint32_t invocation;
    unsigned diag;
    bool answered;
    int outcome; /* enum sle_notification; -1: not known */
};

struct throwing {
    struct thrown_event *list; /* as long as the options' */
    size_t next;               /* the one under way, or to be thrown */
    uint32_t invocation;       /* the next number */
    bool asked, known;         /* which number the provider expects */
    bool under_way;
};

/* A notification, and how many frames arrived before it. */
struct told {
    uint64_t after;
    struct sle_sync sync;
};

struct user;
struct script_run;

struct association {
    struct user *user;
    struct sle_instance *sle;
    struct sle_conn *conn;
    enum sle_service service;
    struct measure measure;
    struct cltus cltus;
    struct throwing events;
    bool started, stopping, ended_data, done, failed, unbound;
    bool stop_later; /* once what was thrown is answered */
    bool restarting; /* STOP, then START: the provider takes no CLTU before */
    uint64_t syncs, backlogs, reports, parameters;
    struct told told[USER_TOLD_MAX]; /* the first of syncs */
    unsigned asked, asking;          /* --parameters: in the list; not answered yet */
    char id[SLE_SIID_MAX + 1];
    char end[160];             /* how it ended, when not in order */
    struct script_run *script; /* NULL: none */
    /* its connections */
    struct alarm again;
    size_t place;         /* in the list of addresses */
    size_t failed_places; /* one behind the other, that could not be bound */
    uint64_t reconnects;
    bool bound_now, resuming; /* resuming: START has the time behind the last frame */
    struct sle_time last;     /* of the last frame */
    struct sle_status status; /* the latest report */
    char why[160];            /* the connection's end */
};

struct user {
    struct world *world;
    const struct user_options *options;
    struct sle_digests *digests;
    struct sle *sle;
    struct sle_host host;
    struct sle_secure secure; /* tls NULL: off */
    struct say log;
    struct association *all;
    size_t len, done;
    struct alarm alarm; /* the end of time */
    struct alarm clock; /* a line of the CSV */
    struct alarm warm;  /* measuring begins */
    tick began;
    tick measured, stopped;        /* measuring began, and ended; 0: not yet */
    uint64_t counted;              /* octets in between */
    void (*ended)(struct user *u); /* all associations have ended; may be called from begin_user */
    uint64_t wall_offset;          /* wall less monotonic clock; measured each second */
    uint64_t progress;             /* that was seen at `moved` */
    tick moved;
    struct log_writer *output, *frames_csv;
    FILE *csv;
    struct datagrams udp;
    struct round_end udp_round; /* of udp: frames of a round leave at its end */
    uint64_t udp_failed;        /* datagrams; as of the latest second, or the end */
    uint64_t udp_sent;
    struct bucket udp_bucket;
    bool udp_down; /* the latest ones were not taken */
    struct uv_signals *signals;
    struct stream_listener *listener; /* providers bind: */
    struct list callers;              /* their connections */
    bool ending;
    bool asked_to_stop; /* CLTUs under way were waited for; the next time they are not */
};

/* 0: all steps succeeded; 1: not, and what is wrong is reported. The result goes to *result, the
 * caller's, or is printed when that is NULL. */
int user_run(const struct user_options *o, json_t **result);

/* The same in parts, in any world. user_open: 0 or HELIO_E*, what is wrong is reported; user_close
 * in any case: false, a file could not be written. `ended` is set before user_begin. */
int user_open(struct user *u, struct world *w, const struct user_options *o);
void user_begin(struct user *u);
bool user_close(struct user *u);
/* Have all gone in order? */
bool user_good(const struct user *u);
void user_free(struct user *u);

/* ---- between the parts ---- */

extern const struct sle_conn_user association_user;
/* A step failed; the first reason is reported. */
__attribute__((format(printf, 2, 3))) void association_fail(struct association *a,
                                                            const char *format, ...);
/* Nothing more comes of it. */
void association_over(struct association *a);
void association_stop(struct association *a);
/* START, of one that is bound. */
void association_start(struct association *a);
/* CLTUs have arrived. */
void association_forward(struct association *a);

/* Steps of a script (sle_script.h), of an association that has one. */
int script_open(struct association *a); /* 0 also without one */
void script_begin(struct association *a);
void script_end(struct association *a);
void script_close(struct association *a);
/* True: the notice was the script's. */
bool script_notice(struct association *a, const struct sle_notice *n);
void script_frame(struct association *a);
bool script_gone(struct association *a); /* true: the script goes on */

/* Connects, or, where providers bind, waits for them. */
void links_begin(struct user *u);
void links_end(struct user *u);
int links_bind(struct association *a); /* for a script; a->why says what is wrong */
/* The connection has ended: over, or the next one. */
void links_gone(struct association *a, struct sle_conn *c, int error);

void measure_init(struct measure *m);
/* What comes from now on counts, and follows what has come. */
void measure_again(struct measure *m);
/* A frame arrived at `now` (monotonic) and `wall`. Delay in ns; INT64_MIN: it has none. */
int64_t measure_frame(struct measure *m, struct slice frame, bool numbered, tick now,
                      uint64_t wall);
/* A CLTU of so many octets was reported as radiated at `now`; `delay` since it was sent, ns. */
void measure_cltu(struct measure *m, size_t octets, tick now, tick delay);

int sink_open(struct user *u);
void sink_frame(struct user *u, const struct sle_item *item, uint64_t wall, int64_t delay);
void sink_second(struct user *u, tick now);
int sink_close(struct user *u);

/* Asks for the next parameters of the service (a->asked, a->asking). */
void parameters_ask(struct association *a);

int cltus_load(struct cltus *c, const char *path);
int cltus_make(struct cltus *c, size_t octets, uint64_t count);
/* No more are made; those under way end as always. True: there are none. */
bool cltus_finish(struct cltus *c);
void cltus_free(struct cltus *c);
void cltus_send(struct association *a, tick now);
void cltus_answer(struct association *a, const struct sle_notice *n);
void cltus_notified(struct association *a, const struct sle_async *n);
bool cltus_done(const struct cltus *c);

/* --cltu-datagrams. Opens the socket; nothing without the option. What is wrong is reported. */
int live_open(struct association *a);
void live_free(struct cltus *c);
/* The nth since START. */
struct slice live_cltu(const struct live *v, size_t index);
/* Those before `index` are not sent again. */
void live_settle(struct live *v, size_t index);
/* The service ends, or begins: what was not radiated by then is not sent again. */
void live_reset(struct association *a);
/* No more are taken; those that were not sent are dropped. Before the loop ends. */
void live_finish(struct cltus *c);
bool live_is_open(const struct live *v);
void live_second(struct association *a); /* tells what was lost in the last second */
/* All counts since the beginning, of earlier STARTs, too. */
struct live_counts {
    uint64_t received, sent, accepted, refused, radiated, other, expired, discarded, interrupted;
    uint64_t lost;    /* sent; whether they were radiated is not known */
    uint64_t dropped; /* never sent: the service was not started, the queue was full */
    uint64_t bad;     /* datagrams that are no CLTU, or no frame */
    uint64_t foreign; /* datagrams of other hosts */
};
struct live_counts live_counts(const struct cltus *c);

/* Events are thrown one behind the other: each waits for the return of the one before it and, if
 * that was accepted, for the result of its actions. */
int events_open(struct association *a);
void events_free(struct association *a);
/* Throws the next one, if it may be. */
void events_throw(struct association *a, tick now);
/* The number of the first, of a GET-PARAMETER return. */
void events_parameter(struct association *a, const struct sle_notice *n);
void events_answer(struct association *a, const struct sle_notice *n);
void events_notified(struct association *a, const struct sle_async *n);
/* A return is awaited: STOP may not go before it has come. */
bool events_awaited(const struct association *a);
bool events_done(const struct association *a);
/* What was answered, in words. */
const char *events_words(const struct thrown_event *t);

json_t *result_json(const struct user *u);
void result_print(const struct user *u);

#endif
