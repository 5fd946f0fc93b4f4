/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Space Link Extension over ISP1: service instances, the connections (links) on which they are
 * bound, and the common part of both roles. Pure: no I/O, no clock, no callbacks but the hash.
 *
 *   set up:  sle_new · sle_peer_set · sle_provider_add (sle/provider.h) · sle_user_add (sle/user.h)
 *   links:   sle_accept · sle_connect
 *   push:    sle_link_fed · sle_link_urgent · sle_link_closed · sle_link_wrote · sle_expire, and
 *            the functions of provider.h and user.h
 *   pull:    sle_link_poll (the next notice) · sle_link_output (what to write) · sle_link_stream
 *            (whether to close) · sle_link_reads, sle_link_space (whether and where to read) ·
 *            sle_deadline
 *
 * After each push the host polls the link until there is no notice. Then it writes the data of
 * sle_link_output, in turns until there is none or the stream is full; then it checks
 * sle_link_stream. Time never decreases. An engine and everything that it returns belong to one
 * thread; engines share nothing.
 *
 * A service instance has an identifier, is a provider's or a user's, and is bound on at most one
 * link. A responder's link learns its instance from the BIND: several instances share one listening
 * socket. Users bind; providers of return services may do so as well (sle_connect with such an
 * instance).
 *
 * The phases of a link: connection → context → BIND → SLE_BOUND → … → UNBIND → SLE_UNBOUND →
 * SLE_OVER; any failure leads to SLE_OVER directly. After SLE_OVER the host closes the link as
 * sle_link_stream says, and frees it.
 */
#ifndef SLE_ENGINE_H
#define SLE_ENGINE_H

#include "base/buf.h"
#include "sle/pdu.h"
#include "sle/tml.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sle;
struct sle_link;
struct sle_instance;

/* 0 takes the default in brackets. */
struct sle_config {
    struct sle_identity self; /* our authority identifier and password */
    struct sle_tml_terms tml; /* copied */
    /* Maximum age, or advance, of credentials [180 s]. For so long received credentials are
     * remembered to detect replays, 65,536 of each peer. */
    tick auth_delay;
    sle_hash_function *hash; /* NULL: no authentication; peers with a level are refused */
    void *hash_context;
    uint64_t seed;      /* of the random numbers in credentials */
    uint64_t unix_ns;   /* Unix time at tick 0; see sle_clock_set */
    uint32_t links_max; /* links at once [1024] */
    /* of a link's receive buffer [256 KiB]; it grows with the octets of a longer message */
    uint32_t receive_bytes;
};

/* NULL: memory is out, or the identity is none. */
struct sle *sle_new(const struct sle_config *config);
/* Frees links and instances, too. */
void sle_free(struct sle *s);
/* The system's clock was set: Unix time at tick 0, ns. */
void sle_clock_set(struct sle *s, uint64_t unix_ns);
/* The Unix time at `now`, as SLE writes times. */
struct sle_time sle_now(const struct sle *s, tick now);

/* A remote application: its identity and password, and the authentication in both directions. */
struct sle_peer {
    struct sle_identity who;
    enum sle_auth_level level;
    enum sle_hash hash; /* of sent messages; received ones may have either */
};
/* Adds or changes a peer (by who.id): open links keep the former values. Returns 0, HELIO_EINVAL,
 * HELIO_ENOMEM. */
int sle_peer_set(struct sle *s, const struct sle_peer *peer);

/* What was counted, of one instance, in all its links; or of the engine (also what no instance has
 * a part in: refused binds). */
/* Of links over ISP1, whatever the service. */
#define ISP1_COUNTS(X)                                                                             \
    X(links, "connections")                                                                        \
    X(binds, "associations bound")                                                                 \
    X(binds_refused, "BINDs refused")                                                              \
    X(unbinds, "associations unbound in order")                                                    \
    X(aborts_sent, "PEER-ABORTs sent")                                                             \
    X(aborts_received, "PEER-ABORTs received")                                                     \
    X(breaks, "associations ended by the connection")                                              \
    X(auth_failed, "PDUs whose credentials were wrong")                                            \
    X(replays, "BINDs, and returns of them, with credentials that were used before")               \
    X(pdus_in, "PDUs received")                                                                    \
    X(pdus_out, "PDUs queued for sending")                                                         \
    X(pdus_bad, "PDUs that could not be decoded")                                                  \
    X(octets_in, "octets received")                                                                \
    X(heartbeats_in, "heartbeats received")                                                        \
    X(octets_out, "octets written")
#define SLE_COUNTS(X)                                                                              \
    ISP1_COUNTS(X)                                                                                 \
    X(buffers, "transfer buffers passed to transmission, or received")                             \
    X(frames, "frames delivered: passed to transmission, or received")                             \
    X(frame_octets, "octets of these")                                                             \
    X(frames_offered, "frames offered by production while active")                                 \
    X(frames_filtered, "of these: not of the requested kind")                                      \
    X(frames_refused, "of these: not taken, the buffers are full (complete, offline)")             \
    X(frames_discarded, "taken and then discarded: excessive data backlog (timely)")               \
    X(frames_dropped, "taken and not transmitted: the association ended")                          \
    X(syncs, "SYNC-NOTIFYs passed to transmission, or received")                                   \
    X(syncs_discarded, "SYNC-NOTIFYs discarded with a backlog, or dropped")                        \
    X(backlogs, "backlogs discarded")                                                              \
    X(reports, "STATUS-REPORTs")                                                                   \
    X(returns_negative, "negative returns")                                                        \
    X(cltus, "CLTUs accepted")                                                                     \
    X(cltus_refused, "CLTUs refused")                                                              \
    X(cltus_radiated, "CLTUs radiated")                                                            \
    X(cltus_expired, "CLTUs expired")                                                              \
    X(cltus_discarded, "CLTUs discarded by STOP, abort, production or one that expired")           \
    X(cltus_interrupted, "CLTUs whose radiation production interrupted")                           \
    X(notifies, "ASYNC-NOTIFYs")                                                                   \
    X(ignored, "PDUs ignored")
#define SLE_COUNT_FIELD(name, text) uint64_t name;
/* Counters; SLE_COUNTS describes each. */
struct sle_counts {
    SLE_COUNTS(SLE_COUNT_FIELD)
};
#undef SLE_COUNT_FIELD
/* The sums of the engine, which stay valid as long as it. */
const struct sle_counts *sle_counts(const struct sle *s);
/* The counters of one instance, which stay valid as long as it. */
const struct sle_counts *sle_instance_counts(const struct sle_instance *i);

/* ---- time ---- */

/* The earliest of all times of the engine's links and instances: the head of its one agenda.
 * TICK_NEVER: none. It may be earlier than the next event. Any push call, and sle_link_poll, may
 * change it. */
tick sle_deadline(const struct sle *s);

/* The link or instance whose deadline has passed. */
struct sle_due {
    struct sle_link *link; /* poll it, write its output. NULL: the instance has none */
    /* NULL: the link's time. Without a link (FCLTU whose queue is still being radiated): call
     * sle_provider_cltu_next. */
    struct sle_instance *instance;
};
/* Serves one time that is due at `now`. False: there is none, and sle_deadline is later. Call it
 * until then. */
bool sle_expire(struct sle *s, struct sle_due *out, tick now);

/* ---- links ---- */

/* A connection was accepted: this side responds. NULL: memory is out, or links_max. */
struct sle_link *sle_accept(struct sle *s, tick now);
/* A connection for this instance was made: context and BIND are the first output. NULL: memory is
 * out, links_max, the instance has a link, or may not initiate (a provider's without `initiate`;
 * FCLTU). */
struct sle_link *sle_connect(struct sle_instance *i, tick now);
/* In any state, without a word to the peer. */
void sle_link_free(struct sle_link *l);
/* A pointer of the host's, for sle_due; NULL at first. */
void sle_link_use(struct sle_link *l, void *host);
/* The pointer of sle_link_use. */
void *sle_link_host(const struct sle_link *l);

/* States of an association, for both roles (CCSDS 913.1 and the services' state tables). */
enum sle_state {
    SLE_UNBOUND_STATE,
    SLE_BINDING,
    SLE_READY,
    SLE_STARTING,
    SLE_ACTIVE,
    SLE_STOPPING,
    SLE_UNBINDING,
    SLE_ENDED
};
/* The state in a word; static. */
const char *sle_state_text(enum sle_state state);
/* The state of the link's association. */
enum sle_state sle_link_state(const struct sle_link *l);
/* NULL: not bound (and not binding). */
struct sle_instance *sle_link_instance(const struct sle_link *l);
/* The peer's authority identifier as its BIND or BIND return said, "" before. */
const char *sle_link_peer(const struct sle_link *l);
uint8_t sle_link_version(const struct sle_link *l); /* 0: not bound */

/* True if octets may be read. False: read data is not polled yet (back-pressure), or the link is
 * closed. Meanwhile missing heartbeats do not count. */
bool sle_link_reads(const struct sle_link *l);
/* Returns memory for the next octets, *len >= 1 at most; NULL: no memory (the link continues when
 * there is some). sle_link_reads must be true. */
uint8_t *sle_link_space(struct sle_link *l, size_t *len);
/* `len` octets were written to the memory that sle_link_space returned. */
void sle_link_fed(struct sle_link *l, size_t len, tick now);

/* TCP's urgent octet was received: the PEER-ABORT of the peer. Octets before and after it that were
 * not polled are discarded. */
void sle_link_urgent(struct sle_link *l, uint8_t octet, tick now);
/* The stream was closed, or failed. */
void sle_link_closed(struct sle_link *l, tick now);

/* Returns up to `max` slices (>= 1) to write in sequence; 0: none. They are valid until the next
 * call of sle_link_wrote, which reports the written octets. Other calls are permitted in between,
 * and the link may end. */
size_t sle_link_output(struct sle_link *l, struct slice *parts, size_t max, tick now);
/* So many octets of sle_link_output were written. */
void sle_link_wrote(struct sle_link *l, size_t octets, tick now);

/* For a host that writes in another thread: the same without credentials, which sle_lent_sign
 * computes there. Call that once before sle_link_wrote, and do not call sle_link_output in between.
 * `lent` must have SLE_LENT_MAX slices. */
#define SLE_LENT_MAX 128
struct sle_lent {
    const struct sle_identity *self;
    enum sle_hash which;
    struct sle_time time;
    size_t len; /* messages */
    struct sle_lent_message {
        uint8_t *const *stamps; /* where its credentials go */
        uint32_t count, random;
    } messages[SLE_LENT_MAX];
};
/* As sle_link_output; `lent` gets what sle_lent_sign needs. */
size_t sle_link_lend(struct sle_link *l, struct slice *parts, size_t max, struct sle_lent *lent,
                     tick now);
/* From any thread. Calls no engine: it reads `lent` and what that refers to, and writes the
 * credentials. hash: the engine's, with a context that no other thread uses now. */
void sle_lent_sign(const struct sle_lent *lent, sle_hash_function *hash, void *context);

/* What becomes of the stream. */
enum sle_stream {
    SLE_STREAM_KEEP,
    SLE_STREAM_CLOSE, /* all was written: close it */
    /* write nothing more; send sle_link_abort_octet as urgent data (MSG_OOB), shut down writing at
     * once, read and discard until its end, or until this has become RESET with time. Where there
     * is no urgent data (TLS): as RESET */
    SLE_STREAM_ABORT,
    SLE_STREAM_RESET /* reset it (SO_LINGER 0) */
};
/* What the host must do with the stream now. */
enum sle_stream sle_link_stream(const struct sle_link *l);
uint8_t sle_link_abort_octet(const struct sle_link *l); /* of SLE_STREAM_ABORT */

/* Ends the association: PEER-ABORT with this diagnostic (bound), or a reset. SLE_OVER follows. */
void sle_link_abort(struct sle_link *l, enum sle_abort diagnostic, tick now);
/* Octets queued for output, transfer buffers included. */
size_t sle_link_backlog(const struct sle_link *l);

/* ---- notices ---- */

enum sle_end {
    SLE_END_UNBOUND,    /* UNBIND, in order */
    SLE_END_REFUSED,    /* BIND was refused, by us or by the peer: bind_diag */
    SLE_END_AUTH,       /* credentials were wrong at BIND or UNBIND: reset */
    SLE_END_ABORTED,    /* we sent PEER-ABORT: abort */
    SLE_END_PEER_ABORT, /* the peer did: abort */
    SLE_END_TML, /* the transport mapping was violated, or its timers ran out: abort says which */
    SLE_END_CLOSED, /* the connection was closed unexpectedly */
    SLE_END_MEMORY,
    SLE_END_REPLAY /* BIND, or its return, had replayed credentials: reset */
};
/* The end in a few words; static. */
const char *sle_end_text(enum sle_end end);

enum sle_notice_kind {
    /* of both roles */
    SLE_BOUND,   /* version, sle_link_peer */
    SLE_UNBOUND, /* unbind: the reason */
    SLE_OVER,    /* the last notice, once: end, bind_diag, abort */
    /* of a provider (provider.h) */
    /* start: the request; the positive return is being sent, unless the instance wants
     * sle_provider_answer_start. */
    SLE_STARTED_BY_USER,
    SLE_STOPPED_BY_USER, /* the STOP return is queued behind what had to be sent before it */
    SLE_ROOM,            /* after SLE_FULL: frames are taken again */
    SLE_CLTU_READY,      /* sle_provider_cltu_next has one now */
    /* CLTUs that are not radiated yet are discarded (STOP, abort, expiry of one before them); one
     * in radiation continues. */
    SLE_CLTUS_CLEARED,
    SLE_EVENT_THROWN, /* event, invoke_id: answer with sle_provider_answer_event */
    /* of a user (user.h) */
    SLE_STARTED,      /* diag; start_return (FCLTU) */
    SLE_STOPPED,      /* diag */
    SLE_FRAME,        /* item (a frame), owner */
    SLE_SYNC,         /* item.sync */
    SLE_STATUS,       /* status */
    SLE_SCHEDULED,    /* diag */
    SLE_PARAMETER,    /* diag; value */
    SLE_CLTU_ANSWER,  /* diag; cltu_id, cltu_return */
    SLE_EVENT_ANSWER, /* diag; event_return */
    SLE_NOTIFIED,     /* async */
    SLE_NOTICE_COUNT
};
/* The kind in a few words; static. */
const char *sle_notice_text(enum sle_notice_kind kind);

/* Slices in it stay until the next poll. */
struct sle_notice {
    enum sle_notice_kind kind;
    enum sle_end end;
    unsigned bind_diag; /* enum sle_bind_diag */
    unsigned abort;     /* enum sle_abort: the octet, or SLE_ABORT_UNKNOWN */
    unsigned unbind;    /* enum sle_unbind */
    unsigned diag;      /* SLE_OK, or enum sle_diag */
    uint16_t invoke_id;
    uint32_t cltu_id; /* of the TRANSFER-DATA that is answered */
    /* SLE_FRAME: what item's slices lie in. buf_keep keeps them beyond the next poll (and that
     * whole receive buffer with them). */
    struct buf *owner;
    union {
        struct sle_start start;
        struct sle_start_return start_return;
        struct sle_item item;
        struct sle_status status;
        struct sle_value value;
        struct sle_cltu_return cltu_return;
        struct sle_event event;
        struct sle_event_return event_return;
        struct sle_async async;
    } u;
};
/* False: there is none now. */
bool sle_link_poll(struct sle_link *l, struct sle_notice *out, tick now);

/* ---- instances ---- */

/* Only while it has no link. */
void sle_instance_free(struct sle_instance *i);
struct sle_link *sle_instance_link(const struct sle_instance *i); /* NULL: not bound */
/* The instance's identifier; valid as long as the instance. */
const char *sle_instance_id(const struct sle_instance *i);
bool sle_instance_provides(const struct sle_instance *i); /* false: a user's */
/* The service that it provides or uses. */
enum sle_service sle_instance_service(const struct sle_instance *i);
/* The instance with this identifier, or NULL. */
struct sle_instance *sle_instance_find(const struct sle *s, const char *id);

/* Invariants of all, asserted (also with NDEBUG); among them, that each time which follows from
 * the state is kept. */
void sle_check(const struct sle *s);
/* After sle_expire has said false at `now`: no time has passed unserved, asserted. */
void sle_check_served(const struct sle *s, tick now);

#ifdef __cplusplus
}
#endif

#endif
