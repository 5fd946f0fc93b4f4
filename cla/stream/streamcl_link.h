/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the adapters "stcp" and "mtcp" (streamcl_*.c).
 *
 * A link has at most one outgoing connection (`out`), which it uses to send. Peers connect to its
 * local endpoint and send; nothing is sent to them. The source address of an accepted connection
 * selects its link.
 *
 *   connection of the link:  connecting ──writable──► connected ──end──► next one, after a pause
 *   connection of a peer:    accepted (of the link whose `remote` it comes from, or `source: any`)
 *                            ──end, silence, wrong octets──► closed
 */
#ifndef CLA_STREAMCL_LINK_H
#define CLA_STREAMCL_LINK_H

#include "base/bucket.h"
#include "cla/stream/streamcl_config.h"
#include "cla/stream/streamcl_frame.h"
#include "cla/stream_endpoint.h"

struct json_t;

/* Steps of streamcl_next in one turn of the loop, shared by the connections that have more; a
 * bundle counts as STREAMCL_TURN_BUNDLE. Writes of one turn, of STREAM_PARTS_MAX parts each. */
#define STREAMCL_TURN 1024u
#define STREAMCL_TURN_LEAST 16u
#define STREAMCL_TURN_BUNDLE 16u
#define STREAMCL_TURN_WRITES 16
/* Fair time of the loop for a bundle, and for each of its bytes (base/rest.h). */
#define STREAMCL_BUNDLE_TIME (50 * TICK_US)
#define STREAMCL_BYTE_TIME 1
/* What an octet takes that is dropped, most of it in the kernel. None of it is fair. */
#define STREAMCL_DROP_TIME 1

/* Why a connection ended. */
#define STREAMCL_ENDS(X)                                                                           \
    X(PEER, "the peer closed it")                                                                  \
    X(CUT, "it ended within a bundle")                                                             \
    X(STREAM, "the connection broke")                                                              \
    X(CONNECT, "it did not come about")                                                            \
    X(TIMEOUT, "no answer to the attempt to connect")                                              \
    X(TOO_LONG, "a bundle longer than the limit was announced")                                    \
    X(MALFORMED, "the peer sent no byte string of definite length")                                \
    X(TRANSFER_IDLE, "a bundle did not grow")                                                      \
    X(IDLE, "the peer was silent")                                                                 \
    X(DISPLACED, "displaced by other connections")                                                 \
    X(HERE, "this node ended it")
#define STREAMCL_END_ENUM(name, text) STREAMCL_END_##name,
enum streamcl_end { STREAMCL_ENDS(STREAMCL_END_ENUM) STREAMCL_END_COUNT };
#undef STREAMCL_END_ENUM
const char *streamcl_end_text(enum streamcl_end e); /* static */

struct streamcl_endpoint {
    struct stream_endpoint s;
    size_t named_len; /* connections of peers that are in no crowd (streamcl_conn.named) */
    tick say_after;   /* then the next refusal is logged */
};

struct streamcl_conn {
    struct list node, later;
    struct crowd_entry from; /* of a peer's, if it is not named */
    struct streamcl_endpoint *endpoint;
    struct streamcl_link *link;
    struct stream *stream; /* NULL: it has ended */
    bool own;              /* the link opened it */
    bool brought;          /* a bundle */
    bool named;            /* its source is the host of the link's remote */
    bool connected, reading;
    bool more;     /* its scratch has steps for the next turn */
    bool taking;   /* streamcl_conn_take runs */
    tick heard;    /* time when it began, octets arrived, or this side began to read again */
    uint64_t held; /* of the node's memory, for the bundle that arrives */
    struct streamcl_input in;
};

struct streamcl_sending {
    struct list node;
    uint64_t key;
    struct buf *bundle;
    uint8_t head[STREAMCL_HEAD_MAX];
    size_t head_len;
};

struct streamcl_link {
    struct cla cla;
    struct list todo;
    struct streamcl_endpoint *endpoint;
    struct cla_env env;
    const struct streamcl_config *config;
    struct remote_name remote;
    enum streamcl_framing framing;
    struct list conns; /* struct streamcl_conn.node, its own one too */
    size_t conns_len;
    struct streamcl_conn *out; /* the link's own; NULL: there is none */
    struct bucket bucket;
    struct alarm pace; /* the next burst, or the rest of a long turn */
    struct rest rest;
    struct list waiting; /* struct streamcl_sending, the first may be begun */
    struct list sent;    /* likewise: outcomes to report to the node */
    uint64_t begun;      /* octets of the first one that the kernel has, with its head */
    uint8_t keep[STREAMCL_HEAD_MAX]; /* a keepalive in transmission */
    size_t keep_len, keep_done;
    tick wrote_at;                 /* when octets left last */
    uint64_t flight, flight_bytes; /* bundles without an outcome */
    uint64_t unconfirmed;          /* bytes of bundles that the node has not confirmed */
    bool allowed;                  /* by the operator */
    bool resolving;                /* it connects after the first look-up */
    bool planned;                  /* contact is the plan's */
    struct cla_contact contact;
    bool paused; /* the node has no room */
    bool warned, pumping;
    tick retry_at, pause;
    const char *reason; /* why it is down; NULL: not known */
    int reason_error;   /* HELIO_E*, of `reason` */
    tick reason_at, say_after;
    tick refusal_say_after; /* then the next refusal of a bundle is logged */
    uint64_t refusals_told; /* of n.bundles_refused, what the log has */
    bool refused;           /* the last attempt was */
    struct {
        uint64_t connects, connects_failed, connected, accepted, unknown_accepted;
        uint64_t bundles_sent, bundles_failed, bundles_cut, bytes_unacknowledged;
        uint64_t bundles_received, bundle_bytes_received, bundles_refused;
        uint64_t bundles_shed, no_memory, keepalives_tx, keepalives_rx, tx_bytes, rx_bytes;
        tick heard; /* TICK_NEVER: never */
        uint64_t ends[STREAMCL_END_COUNT];
    } n;
};

/* streamcl_endpoint.c. join: listens for the first link there; returns 0 or an error with its text.
 * leave: after its connections have ended; `closed` is called later, and the link is freed. */
int streamcl_join(struct streamcl_link *l, char *why, size_t why_cap);
void streamcl_leave(struct streamcl_link *l);

/* streamcl_conn.c. connect: connects to the link's remote when its address is known, unless it is
 * connected or must not connect; after a failure, which is counted, the next attempt is due.
 * resolved: a look-up has ended. accept: takes the stream; crowd NULL: it is from the host of the
 * link's remote, and others cannot displace it. take: processes read octets, at most this many
 * steps. watch: reads or not, as link and turn permit. deadline, expire: of silence. end: it ends
 * now; outcomes of its bundles are reported. */
void streamcl_conn_connect(struct streamcl_link *l);
void streamcl_conn_resolved(void *link);
void streamcl_conn_accept(struct streamcl_link *l, struct stream *s, const struct slice *crowd);
void streamcl_conn_take(struct streamcl_conn *c, uint32_t steps);
void streamcl_conn_watch(struct streamcl_conn *c);
tick streamcl_conn_deadline(const struct streamcl_conn *c);
void streamcl_conn_expire(struct streamcl_conn *c, tick now);
void streamcl_conn_end(struct streamcl_conn *c, enum streamcl_end end, int error);

/* streamcl_output.c. queue: CLA_REASON_NONE, or the reason of the refusal. write: writes as much as
 * rate and stream permit, and reports outcomes. touch: requests write at the end of the round.
 * fail: all queued bundles have failed. forget: the same without reports. pace_set: configuration
 * or contact have another rate. keepalive_at: when the next one is due. set_limits: of queued
 * bytes; tell: also informs the node. */
enum cla_reason streamcl_queue(struct streamcl_link *l, uint64_t key, struct buf *bundle);
int streamcl_take_back(struct streamcl_link *l, uint64_t key);
void streamcl_write(struct streamcl_link *l);
void streamcl_touch(struct streamcl_link *l);
void streamcl_fail(struct streamcl_link *l);
void streamcl_forget(struct streamcl_link *l);
void streamcl_pace_set(struct streamcl_link *l);
tick streamcl_keepalive_at(const struct streamcl_link *l);
void streamcl_set_limits(struct streamcl_link *l, bool tell);

/* streamcl_link.c. wanted: operator and plan want it to send. tell_link: up or down, when that has
 * changed. retry_later: the next attempt to connect. down: the reason is kept, and logged at most
 * once in 10 s. */
bool streamcl_wanted(const struct streamcl_link *l);
/* So much waits for the node's word that nothing is read (limits.held_bytes). */
static inline bool streamcl_full(const struct streamcl_link *l)
{
    return l->unconfirmed >= l->config->held_bytes;
}
void streamcl_tell_link(struct streamcl_link *l);
void streamcl_retry_later(struct streamcl_link *l, bool failed);
void streamcl_down(struct streamcl_link *l, const char *reason, int error);

/* streamcl_status.c */
void streamcl_status(struct cla *c, struct json_t *object);
void streamcl_gauges(const struct cla *c, struct cla_gauges *out);

#endif
