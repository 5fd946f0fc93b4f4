/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of every action of an LTP engine: one per segment, timer, session or link change. The
 * segment log, the traces of the tests and the counters are made from it.
 */
#ifndef LTP_EVENT_H
#define LTP_EVENT_H

#include <stdbool.h>

#include "base/tick.h"

#ifdef __cplusplus
extern "C" {
#endif

enum event_kind {
    EVENT_RX,    /* a segment was received; `verdict` is its outcome */
    EVENT_TX,    /* a segment was handed to the link */
    EVENT_OPEN,  /* a session opened */
    EVENT_CLOSE, /* a session closed; `cause` is an enum event_outcome */
    EVENT_TIMER, /* a timer expired; `cause` is an enum event_timer */
    EVENT_LINK,  /* the link to `peer` changed; `cause` is an enum event_link, + 1 for up */
    /* a matrix of the link's erasure code, which `originator` sends; `cause` is an enum
     * event_matrix. No engine has it: it is of the layer below */
    EVENT_MATRIX,
};

/* What happened to a matrix; the first two at its sender. */
enum event_matrix {
    MATRIX_SENT,      /* its repair segments were transmitted */
    MATRIX_ANSWERED,  /* more repair segments were transmitted, as the receiver had requested */
    MATRIX_WHOLE,     /* no segment was lost */
    MATRIX_REPAIRED,  /* all lost segments were repaired */
    MATRIX_FAILED,    /* it ended with missing segments */
    MATRIX_DISPLACED, /* the same, because other matrices needed its memory */
};

/* The direction of the link: to the peer (or both), or only from the peer. */
enum event_link { LINK_TRANSMIT = 0, LINK_RECEIVE = 2 };

/* Why a segment was sent (TX), in `cause`. */
enum event_reason {
    CAUSE_FIRST,     /* data sent for the first time; a first report, acknowledgement or cancel */
    CAUSE_REPORT,    /* data retransmitted to fill a gap that a report showed */
    CAUSE_TIMER,     /* retransmitted because the timer expired */
    CAUSE_ANSWER,    /* repeated because the peer repeated the segment that it answers */
    CAUSE_PROACTIVE, /* a copy of a checkpoint or report, before the timer expired */
};

/* Which timer of a session ran out. */
enum event_timer { TIMER_CHECKPOINT, TIMER_REPORT, TIMER_CANCEL, TIMER_IDLE };

enum event_outcome {
    OUTCOME_DONE,             /* the receiver has all of the red part, or all green data was sent */
    OUTCOME_CANCELLED_LOCAL,  /* this engine cancelled; reason in cancel_reason */
    OUTCOME_CANCELLED_REMOTE, /* the peer cancelled; reason in cancel_reason */
    /* an orange block: the receiver reported "lost", or did not answer (reason RLEXC) */
    OUTCOME_LOST,
    /* An import session without acknowledged claims was discarded for a new one; it may open
     * again. */
    OUTCOME_DISCARDED,
};

/* The orange extension of a segment (docs/recovery.md). */
enum event_orange {
    ORANGE_NONE,
    ORANGE_ASKS,      /* green data whose sender requests an answer about the block */
    ORANGE_DELIVERED, /* cancel of the receiver: the whole block arrived */
    ORANGE_LOST,      /* cancel of the receiver: a part of the block is missing */
};

/* The outcome of a received datagram. Each is counted; none is an error of this engine. */
#define VERDICTS(X)                                                                                \
    X(OK, "ok")                               /* brought something new */                          \
    X(DUPLICATE, "duplicate")                 /* valid, nothing new in it */                       \
    X(CLOSED_SESSION, "closed_session")       /* answered or ignored: session is closed */         \
    X(UNKNOWN_SESSION, "unknown_session")     /* a report, ack or cancel for no session */         \
    X(FORGOTTEN_SESSION, "forgotten_session") /* began before our restart: cancelled */            \
    X(MISCOLOURED, "miscoloured")             /* session cancelled, RFC 5326 §6.21 */             \
    X(INCONSISTENT, "inconsistent")           /* contradicts what the session knows */             \
    X(BAD_REPORT, "bad_report")               /* claims data never sent, lower > upper, … */     \
    X(NO_CLIENT_SERVICE, "no_client_service") /* session cancelled, reason UNREACH */              \
    X(UNKNOWN_PEER, "unknown_peer")           /* no span is configured for that engine */          \
    X(LIMIT_PEERS, "limit_peers")             /* no unconfigured peer can be added */              \
    X(WRONG_SOURCE, "wrong_source")           /* not from the peer's address; no effect */         \
    X(LIMIT_SESSIONS, "limit_sessions")       /* too many open import sessions */                  \
    X(LIMIT_BYTES, "limit_bytes")             /* too many bytes held, or block too long */         \
    X(LIMIT_RANGES, "limit_ranges")           /* too many gaps in one session */                   \
    X(LIMIT_REPORTS, "limit_reports")         /* too many reports; session cancelled, §6.11 */    \
    X(AUTH_MISSING, "auth_missing")           /* not authenticated, and has to be */               \
    X(AUTH_BAD, "auth_bad")                   /* wrongly authenticated */                          \
    X(BAD_COOKIE, "bad_cookie")               /* without the cookie of its span */                 \
    X(NO_MEMORY, "no_memory")                                                                      \
    X(TRUNCATED, "truncated")     /* ends before its fields do */                                  \
    X(TRAILING, "trailing_bytes") /* octets follow its fields */                                   \
    X(BAD_VERSION, "bad_version") /* version number is not 0 */                                    \
    X(BAD_TYPE, "bad_type")       /* an undefined segment type */                                  \
    X(BAD_SDNV, "bad_sdnv")       /* longer than 10 bytes or above 2^64 - 1 */                     \
    X(BAD_FIELD, "bad_field")     /* a value out of its range */

#define VERDICT_ENUM(name, text) VERDICT_##name,
enum verdict { VERDICTS(VERDICT_ENUM) VERDICT_COUNT };
#undef VERDICT_ENUM

/* The word of a verdict, static. */
const char *verdict_name(enum verdict v);

#define EVENT_NONE UINT64_MAX /* the segment does not have this number */

struct event {
    tick now;
    enum event_kind kind;
    uint64_t peer;       /* engine number of the other end */
    uint64_t originator; /* session id: the originator */
    uint64_t session;    /* and the session number */
    /* peer, and originator and session, are known. EVENT_NONE is a valid value of these three. */
    bool has_peer, has_id;
    int type; /* LTP segment type 0..15, or -1 (no segment) */
    bool red; /* data segments: red-part data */
    enum event_orange orange;
    int verdict; /* RX: an enum verdict */
    int cause;
    uint64_t client_service; /* this and the following numbers may be EVENT_NONE */
    /* Data segments: offset and length within the block, bytes. OPEN/CLOSE: length of the block. */
    uint64_t offset, length;
    uint64_t cp_serial, rpt_serial;
    uint64_t rs_lower, rs_upper; /* report scope, absolute offsets, [lower, upper) */
    uint64_t claims, claimed_bytes;
    uint64_t cancel_reason;
    uint64_t attempt; /* 1 = first transmission of this segment (by its serial number) */
    uint64_t udp_len; /* bytes of the whole segment */
    /* MATRIX: its number; its segments; repair segments, transmitted or received. Of a receiver:
     * lost segments that were repaired, and that were not; the longest delay of a repaired one. */
    uint64_t matrix, segments, repairs, repaired, missing, delay;
};

/* An event in which every optional number is EVENT_NONE. */
struct event event_make(enum event_kind kind, tick now);

/* The sink gets each event when it happens. It must not call the engine. */
typedef void event_sink(void *context, const struct event *e);

/* The field's name of a segment type ("red data", "checkpoint", "report", …), static. "?" beyond
 * 0..15. */
const char *event_type_name(int type);

/* The longest line that event_csv writes, with its newline. */
#define EVENT_CSV_MAX 640

/* One line of the segment log (columns: event_csv_header). t_ns is e->now + epoch. Returns its
 * length. */
extern const char event_csv_header[];
/* Writes the event as one row of the segment log with its line feed; returns its length. */
uint32_t event_csv(const struct event *e, uint64_t node, uint64_t epoch, char out[EVENT_CSV_MAX]);

#ifdef __cplusplus
}
#endif

#endif
