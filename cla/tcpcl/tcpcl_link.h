/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the adapter "tcpcl", for its files: links, the local address that some share, and
 * connections, each a stream with a session. */
#ifndef CLA_TCPCL_LINK_H
#define CLA_TCPCL_LINK_H

#include "base/bucket.h"
#include "cla/stream_endpoint.h"
#include "cla/tcpcl/tcpcl_config.h"
#include "cla/tcpcl/tcpcl_session.h"
#include "cla/tcpcl/tcpcl_tls.h"

struct json_t;

/* Messages of a session in one turn of the loop; further ones wait in the session until others had
 * their turn. Sessions with waiting messages share them, down to TCPCL_TURN_LEAST. */
#define TCPCL_TURN 1024
#define TCPCL_TURN_LEAST 64
/* What a session writes in one turn: heads and data are a part each. A peer's segment MRU may be
 * one octet. */
#define TCPCL_TURN_PARTS (2 * TCPCL_TURN)
/* While rounds of the loop take long (base/turn_size.h) all of them have fewer messages, down to:
 */
#define TCPCL_TURN_SHORT 16
/* Time of the loop (tcpcl_time.c): of a session's turn while no other one has messages left; fair
 * for a message, and again for the bundle that it ends, and for each of its bytes; number of
 * addresses whose rest (base/rest.h) is remembered. */
#define TCPCL_TURN_ALONE (8 * TURN_TIME)
#define TCPCL_MESSAGE_TIME (25 * TICK_US)
#define TCPCL_BYTE_TIME 1
#define TCPCL_RESTS 64

struct tcpcl_rest {
    uint8_t prefix[ADDRESS_PREFIX_MAX]; /* of an address; zeros: of UNIX sockets, or of none */
    tick ends;
};

/* What a session takes of the loop's time. */
struct tcpcl_time {
    struct rest rest;
    tick each;      /* of one message, the most of late */
    uint32_t units; /* messages of the next turn, 1 to TCPCL_TURN */
    uint32_t left;  /* of this turn */
    uint64_t round; /* of the endpoint, when this turn began */
    tick began;     /* the measurement that runs; what was left of the session's turn then: */
    uint32_t before;
    uint64_t bundles, bytes; /* that were received in it */
    uint64_t dropped;        /* of the session, before it */
    tick earned;             /* rests.earned before it */
};

/* A local endpoint, with the connections whose peer has not identified itself, and their
 * counters. */
struct tcpcl_endpoint {
    struct stream_endpoint s;             /* displaced: also those that found no memory */
    struct list unidentified;             /* struct tcpcl_conn.node */
    struct alarm pace;                    /* the next burst of those that wait for their rate */
    struct tcpcl_rest rests[TCPCL_RESTS]; /* of unconfigured peers */
    bool files_read;                      /* connections may not wait for files any more */
    uint32_t serial;                      /* of the last connection */
    struct tcpcl_counters unidentified_n; /* of these sessions */
    uint64_t names_refused;               /* their name is reserved (cla_events.named) */
    struct tcpcl_tls_counters tls_n;
    uint64_t ends[TCPCL_END_COUNT]; /* of the unidentified */
};

/* What speaks for a session's Node ID (tcpcl_claim.c), the least first. */
enum tcpcl_claim {
    TCPCL_CLAIM_NAME,       /* its peer says so */
    TCPCL_CLAIM_HOST,       /* it is at the host that had the name before */
    TCPCL_CLAIM_REMOTE,     /* it is at the link's `remote`, or at a UNIX socket */
    TCPCL_CLAIM_CERTIFICATE /* a verified certificate names it */
};
#define TCPCL_CLAIM_GRACE (5 * TICK_S)  /* from the end of the last better session */
#define TCPCL_CLAIM_KEPT (600 * TICK_S) /* an absent host has the name for so long */
#define TCPCL_PROBE (5 * TICK_S)        /* for the peer's system to acknowledge a KEEPALIVE */
#define TCPCL_PROBE_PAUSE (10 * TICK_S) /* from one probe of a session to the next */

#define TCPCL_SAID_MAX 16    /* messages that are logged at most once in 10 s each */
#define TCPCL_REASON_MAX 512 /* bytes of the text why a link is down, with its zero */

struct tcpcl_said {
    const char *format;
    tick after; /* then it may be logged again */
};

struct tcpcl_link {
    struct cla cla;
    struct tcpcl_endpoint *endpoint;
    struct cla_env env;
    const struct tcpcl_config *config; /* for an unconfigured peer: &own */
    struct tcpcl_config own;
    struct remote_name remote;
    struct tls *tls;   /* NULL: off, or an unconfigured peer's: it does not connect */
    struct list conns; /* struct tcpcl_conn.node, the newest first */
    size_t conns_len;
    bool unconfigured; /* created by cla_events.peer */
    bool wanted;       /* allowed, and the plan has a contact or none at all */
    bool allowed;      /* by the operator */
    bool planned;      /* contact is the plan's */
    struct cla_contact contact;
    struct bucket bucket;          /* of what all of its sessions send */
    char reason[TCPCL_REASON_MAX]; /* of the last failure or end of a session; "": none yet */
    tick reason_at;
    tick retry_at; /* of the next connection; TICK_NEVER: none is wanted */
    tick pause;    /* before the one after it */
    struct tcpcl_said said[TCPCL_SAID_MAX];
    tick keepalive_say_after;       /* of keepalives that are too short for the path */
    uint8_t host[ADDRESS_KEY_HOST]; /* that has the name, as address_key has it; with has_host */
    bool has_host;
    bool paused;      /* the node has no room */
    bool warned;      /* that it listens without TLS */
    tick rest_ends;   /* of a configured link: of its last session that rested */
    struct rest late; /* of what was done later than its sessions brought it; all of them rest */
    /* End of the latest session of its host, or of one with stronger evidence. */
    tick host_left;
    tick contest_say_after;        /* next time that a session with a name in use is logged */
    uint64_t contested;            /* sessions that said the name while another host had one */
    uint64_t flight, flight_bytes; /* bundles without an outcome */
    uint64_t mean;                 /* octets of a bundle, of late; 0: none was given yet */
    /* The session that transmits bundles; NULL: none since it ended. */
    const struct tcpcl_conn *filled;
    bool full;         /* … has as many octets in flight as it should */
    uint64_t reserved; /* bytes of bundles that are arriving */
    struct tcpcl_counters n;
    uint64_t connects, connects_failed, peer_mismatch, established;
    uint64_t bundles_received, bytes_received, bundles_refused;
    tick heard;   /* arrival of the peer's latest byte; 0: none */
    bool refused; /* the attempt of `reason` was refused, by either end */
    uint64_t ends[TCPCL_END_COUNT];
};

struct tcpcl_conn {
    struct list node, todo, later;
    struct crowd_entry from; /* while it is unidentified */
    struct tcpcl_endpoint *endpoint;
    struct tcpcl_link *link; /* NULL: the peer has not identified itself */
    struct stream *stream;   /* NULL: closed */
    struct tcpcl_session *session;
    struct tcpcl_counters n; /* until it has a link */
    tick begun;              /* when it connected, or was accepted */
    uint32_t serial;         /* of its tokens; below 2^24 */
    uint64_t reserved;       /* of the node's memory, for the transfer that is arriving */
    struct tcpcl_time time;
    bool active, up, was_up, reading, pumping;
    bool cut;                       /* it ends at the end of the round */
    bool paced;                     /* it waits for the rate of its link */
    bool unwritten;                 /* its last turn ended before the stream was full */
    bool can_tls;                   /* this side can */
    bool awaits_files;              /* TLS begins when another thread has read them */
    bool securing, secure;          /* the stream is TLS: its handshake runs; has ended */
    int trusted_by;                 /* enum tcpcl_tls_peer, of those admitted */
    uint8_t host[ADDRESS_KEY_HOST]; /* of the peer; zeros: not known */
    enum tcpcl_claim claim;         /* but HOST: tcpcl_claim_of */
    tick probe_at, probe_after;     /* is it dead then? TICK_NEVER: not asked; the next probe */
    uint64_t probe_rx;
    int error; /* of the stream's end */
};

/* tcpcl_endpoint.c. join: listens for the first link there; returns 0 or an error with its text.
 * leave: after its connections have ended; `closed` is called later, and the link is freed. */
int tcpcl_join(struct tcpcl_link *l, char *why, size_t why_cap);
void tcpcl_leave(struct tcpcl_link *l);
/* a link of an unconfigured peer */
void tcpcl_enter(struct tcpcl_endpoint *h, struct tcpcl_link *l);
/* Connections that wait for files of TLS go on in the next turn, unless theirs are still read. */
void tcpcl_files_read(struct tcpcl_endpoint *h);
void tcpcl_pace_at(struct tcpcl_endpoint *h, tick when); /* those that are paced go on then */

/* The link whose rules apply to a peer that has not identified itself. */
static inline struct tcpcl_link *tcpcl_first_link(const struct tcpcl_endpoint *h)
{
    return container_of(local_endpoint_link(&h->s.common), struct tcpcl_link, cla);
}

/* tcpcl_remote.c. connect: connects to the link's remote when an address is known; after a failure,
 * which is counted, the next attempt is due. resolved: a look-up has ended. text: the remote, for
 * messages. */
void tcpcl_remote_connect(struct tcpcl_link *l);
void tcpcl_remote_resolved(void *link);
const char *tcpcl_remote_text(const struct tcpcl_link *l, char text[TCPCL_PLACE_MAX]);

/* tcpcl_conn.c. begin: an attempt to connect, to remote_path or the next known address of remote.
 * accept: takes the stream of a peer at this address. touch: requests pump at the end of the round.
 * pump: runs it now. turn: likewise, with messages left for the next turn. drop: ends it now
 * without reports. connecting: its connection is not established yet. */
void tcpcl_conn_begin(struct tcpcl_link *l);
void tcpcl_conn_accept(struct tcpcl_endpoint *h, struct stream *s, struct slice from);
void tcpcl_conn_touch(struct tcpcl_conn *c);
void tcpcl_conn_pump(struct tcpcl_conn *c);
void tcpcl_conn_turn(struct tcpcl_conn *c, uint32_t messages);
void tcpcl_conn_secure(struct tcpcl_conn *c); /* of one that waited for files */
void tcpcl_conn_drop(struct tcpcl_conn *c);
void tcpcl_conn_terms(const struct tcpcl_link *l, struct tcpcl_terms *out);

/* The active side writes its contact header as soon as the stream is connected. */
static inline bool tcpcl_conn_connecting(const struct tcpcl_conn *c)
{
    return c->active && c->n.tx_bytes == 0;
}

/* tcpcl_time.c. turn: the next turn begins, of so many messages at most; returns how many it has.
 * begin, end: of a measurement, in which messages are understood; bundle: one of so many bytes was
 * among them; refused: these were for nothing. charge: the node was busy for the link
 * (cla_ops.charge). rests: nothing is read now. recall: its link is known: the last one's rest
 * counts on. */
void tcpcl_time_init(struct tcpcl_conn *c);
uint32_t tcpcl_time_turn(struct tcpcl_conn *c, uint32_t messages);
void tcpcl_time_begin(struct tcpcl_conn *c, tick now);
void tcpcl_time_bundle(struct tcpcl_conn *c, size_t bytes);
void tcpcl_time_refused(struct tcpcl_conn *c, uint64_t bytes);
void tcpcl_time_end(struct tcpcl_conn *c, tick now);
void tcpcl_time_charge(struct tcpcl_link *l, tick took, tick fair, tick now);
tick tcpcl_rests_until(const struct tcpcl_conn *c);
bool tcpcl_conn_rests(const struct tcpcl_conn *c, tick now);
void tcpcl_time_recall(struct tcpcl_conn *c);

/* tcpcl_pace.c. set: configuration or contact say another rate. begin, end: of what a connection
 * writes in one go. credit: octets that may be written now; SIZE_MAX without a rate. spend: they
 * were. go_on: those that are paced are written at the end of the round. */
void tcpcl_pace_set(struct tcpcl_link *l);
void tcpcl_pace_begin(struct tcpcl_conn *c, tick now);
size_t tcpcl_pace_credit(struct tcpcl_conn *c, tick now);
void tcpcl_pace_spend(struct tcpcl_conn *c, size_t octets, tick now);
void tcpcl_pace_end(struct tcpcl_conn *c, tick now);
void tcpcl_pace_go_on(struct tcpcl_endpoint *h);

/* tcpcl_claim.c. find_host: sets c->host; false: its stream has no address. note: evidence for it
 * after its peer has identified itself. place: may it be one of the link's sessions, including
 * those that this end connects? cut: it ends with this round, and transmits nothing more. up: it is
 * established. contest: it states the name while another host has a session: this is counted and
 * logged, also for a refused one. left: it ends. tend: does due work; returns the next time.
 * sender: the session that transmits the link's bundles; NULL: none. claimed: a session with a
 * certificate exists, or is being established: no other one is needed. */
bool tcpcl_find_host(struct tcpcl_conn *c);
void tcpcl_claim_note(const struct tcpcl_link *l, struct tcpcl_conn *c);
bool tcpcl_claim_place(struct tcpcl_link *l, const struct tcpcl_conn *fresh);
void tcpcl_claim_cut(struct tcpcl_conn *c);
void tcpcl_claim_up(struct tcpcl_conn *c);
void tcpcl_claim_contest(struct tcpcl_link *l, const struct tcpcl_conn *c);
void tcpcl_claim_left(struct tcpcl_link *l, const struct tcpcl_conn *c);
tick tcpcl_claim_tend(struct tcpcl_link *l, tick now);
enum tcpcl_claim tcpcl_claim_of(const struct tcpcl_link *l, const struct tcpcl_conn *c);
const char *tcpcl_claim_text(enum tcpcl_claim claim); /* static */
struct tcpcl_conn *tcpcl_sender(const struct tcpcl_link *l);
bool tcpcl_claimed(const struct tcpcl_link *l);

/* tcpcl_peer.c: the peer has identified itself: the session is admitted, or ended. */
void tcpcl_admit_peer(struct tcpcl_conn *c);
bool tcpcl_judge_link(struct cla *cla); /* cla_ops.judge */

/* tcpcl_link.c. say: each format at most once in 10 s, because what a peer can bring about must not
 * fill the log. */
void tcpcl_say(struct tcpcl_link *l, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, and `helioctl links` shows the text as the reason while the link is down: the link
 * could not connect, its peer was refused, or a session ended. */
void tcpcl_down(struct tcpcl_link *l, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* … and it was a refusal, by either end. */
void tcpcl_refused(struct tcpcl_link *l);
/* The same as tcpcl_say about TLS; information (level 2) is always logged. */
void tcpcl_tls_say(struct tcpcl_link *l, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A session is established: would silence end it sooner than this path permits? Then this is logged
 * from time to time. */
void tcpcl_look_at_keepalive(struct tcpcl_link *l, const struct tcpcl_conn *c);
void tcpcl_link_init(struct tcpcl_link *l, const struct cla_env *env,
                     const struct tcpcl_config *config);
void tcpcl_tell_link(struct tcpcl_link *l); /* up or down, when that has changed */
void tcpcl_set_limits(struct tcpcl_link *l, bool tell);
/* its part of these, which bundles of this session and their acknowledgements change */
void tcpcl_tell_window(struct tcpcl_conn *c);
void tcpcl_retry_later(struct tcpcl_link *l, bool failed);
/* An attempt is under way, or its time is set: connections of others that come and go do not
 * postpone it. */
bool tcpcl_retry_due(const struct tcpcl_link *l);

/* tcpcl_link.c */
void tcpcl_check_self(const struct cla *c);

/* tcpcl_status.c */
void tcpcl_status(struct cla *c, struct json_t *object);
void tcpcl_gauges(const struct cla *c, struct cla_gauges *out);

#endif
