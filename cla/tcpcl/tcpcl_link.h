/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the adapter "tcpcl", for its files: links, the local address that some share, and
 * connections, each a stream with a session. */
#ifndef CLA_TCPCL_LINK_H
#define CLA_TCPCL_LINK_H

#include "base/list.h"
#include "cla/tcpcl/tcpcl_config.h"
#include "cla/tcpcl/tcpcl_session.h"
#include "cla/tcpcl/tcpcl_tls.h"
#include "os/world.h"

struct json_t;

/* Of a local address, and what its links and newcomers count. A link that does not listen has one
 * of its own. */
struct tcpcl_hub {
    struct tcpcl_hub *next; /* in *anchor */
    struct tcpcl_hub **anchor;
    struct world *world;
    struct address local;
    char path[STREAM_PATH_MAX + 1];
    struct stream_listener *listener; /* NULL: it does not listen */
    struct alarm alarm;               /* its turn: the earliest deadline, or soon */
    struct round_end round;           /* what the node gave is written at the end of the round */
    struct list links, leaving;       /* struct tcpcl_link.node; leaving: `closed` is due */
    struct list newcomers, dead;      /* struct tcpcl_conn.node; dead: their memory is due */
    struct list dirty;                /* struct tcpcl_conn.todo */
    size_t newcomers_len;
    bool ending;                      /* no links are left */
    uint32_t serial;                  /* of the last connection */
    struct tcpcl_counters newcomer_n; /* of sessions while they are newcomers */
    uint64_t accepted, turned_away, unknown_refused;
    struct tcpcl_tls_counters tls_n;
    uint64_t ends[TCPCL_END_COUNT]; /* of newcomers */
};

struct tcpcl_link {
    struct cla cla;
    struct list node; /* in hub->links or hub->leaving */
    struct tcpcl_hub *hub;
    struct cla_env env;
    const struct tcpcl_config *config; /* of one who came in: &own */
    struct tcpcl_config own;
    struct tls *tls;   /* NULL: off, or a guest's, who does not connect */
    struct list conns; /* struct tcpcl_conn.node, the newest first */
    size_t conns_len;
    bool guest; /* it came in by `peer` */
    bool wanted;
    bool told, told_up;
    tick retry_at;                 /* of the next connection; TICK_NEVER: none is wanted */
    tick pause;                    /* before the one after it */
    tick say_after, tls_say_after; /* then the next trouble is told; of TLS */
    tick keepalive_say_after;      /* of keepalives that are too short for the path */
    uint64_t flight, flight_bytes; /* bundles without an outcome */
    struct tcpcl_counters n;
    uint64_t connects, connects_failed, peer_mismatch, established;
    uint64_t bundles_received, bytes_received, bundles_refused;
    tick heard; /* when a byte of the peer came last; 0: none did */
    uint64_t ends[TCPCL_END_COUNT];
    void (*closed)(void *context);
    void *closed_context;
};

struct tcpcl_conn {
    struct list node, todo;
    struct tcpcl_hub *hub;
    struct tcpcl_link *link; /* NULL: it has not said who it is */
    struct stream *stream;   /* NULL: closed */
    struct tcpcl_session *session;
    struct tcpcl_counters n; /* until it has a link */
    uint32_t serial;         /* of its tokens; below 2^24 */
    bool active, up, was_up, reading, pumping;
    bool can_tls;          /* this side can */
    bool securing, secure; /* the stream is TLS: its handshake runs; is over */
    int trusted_by;        /* enum tcpcl_tls_peer, of those admitted */
    int error;             /* of the stream's end */
};

/* tcpcl_hub.c. join: listens when it is the first link there; 0 or an error with its text. leave:
 * its connections have ended; `closed` follows later, and its memory goes. */
int tcpcl_join(struct tcpcl_link *l, char *why, size_t why_cap);
void tcpcl_leave(struct tcpcl_link *l);
void tcpcl_enter(struct tcpcl_hub *h, struct tcpcl_link *l); /* who came in */
void tcpcl_kick(struct tcpcl_hub *h);                        /* a turn soon */
void tcpcl_wake_at(struct tcpcl_hub *h, tick when);          /* a turn then, or sooner */

/* tcpcl_conn.c. connect: to the link's remote; a failure is counted, and the next try is due.
 * accept: takes the stream. touch: at the end of the round it goes on. pump: it goes on now. drop:
 * it ends now, and nothing is told. */
void tcpcl_conn_connect(struct tcpcl_link *l);
void tcpcl_conn_accept(struct tcpcl_hub *h, struct stream *s);
void tcpcl_conn_touch(struct tcpcl_conn *c);
void tcpcl_conn_pump(struct tcpcl_conn *c);
void tcpcl_conn_drop(struct tcpcl_conn *c);
void tcpcl_conn_terms(const struct tcpcl_link *l, struct tcpcl_terms *out);

/* tcpcl_peer.c: the session says who the peer is: it is let in, or ended. */
void tcpcl_admit_peer(struct tcpcl_conn *c);

/* tcpcl_link.c. say: now and then; what a peer can bring about must not fill the log. */
void tcpcl_say(struct tcpcl_link *l, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same about TLS, which other trouble does not keep quiet. */
void tcpcl_tls_say(struct tcpcl_link *l, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A session is established: does silence end it sooner than this path can bear? Then that is told,
 * now and then. */
void tcpcl_look_at_keepalive(struct tcpcl_link *l, const struct tcpcl_conn *c);
void tcpcl_link_init(struct tcpcl_link *l, const struct cla_env *env,
                     const struct tcpcl_config *config);
void tcpcl_tell_link(struct tcpcl_link *l); /* up or down, when that has changed */
void tcpcl_set_limits(struct tcpcl_link *l, bool tell);
void tcpcl_retry_later(struct tcpcl_link *l, bool failed);
struct tcpcl_conn *tcpcl_sender(const struct tcpcl_link *l); /* the connection that sends; NULL */

/* tcpcl_check_link.c */
void tcpcl_check_self(const struct cla *c);

/* tcpcl_status.c */
void tcpcl_status(struct cla *c, struct json_t *object);
void tcpcl_gauges(const struct cla *c, struct cla_gauges *out);

#endif
