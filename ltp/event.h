/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of everything that an LTP engine does, one per segment, timer, session or link change.
 * It is what the segment log, the traces of the tests and the counters are made from.
 */
#ifndef LTP_EVENT_H
#define LTP_EVENT_H

#include <stdbool.h>

#include "base/tick.h"

#ifdef __cplusplus
extern "C" {
#endif

enum event_kind {
    EVENT_RX,    /* a segment came in; `verdict` says what became of it */
    EVENT_TX,    /* a segment was handed to the link */
    EVENT_OPEN,  /* a session began */
    EVENT_CLOSE, /* a session ended; `cause` is an enum event_outcome */
    EVENT_TIMER, /* a timer ran out; `cause` is an enum event_timer */
    EVENT_LINK,  /* the link to `peer` went up or down; `cause` is an enum event_link, + 1 for up */
};

/* Which way of the link: to the peer (or both), or only from it. */
enum event_link { LINK_TRANSMIT = 0, LINK_RECEIVE = 2 };

/* Why a segment was sent (TX), in `cause`. */
enum event_reason {
    CAUSE_FIRST,     /* data sent for the first time; a first report, acknowledgement or cancel */
    CAUSE_REPORT,    /* data sent again, to fill a gap that a report showed */
    CAUSE_TIMER,     /* sent again because its timer ran out */
    CAUSE_ANSWER,    /* sent again because the peer repeated what it answers */
    CAUSE_PROACTIVE, /* a copy of a checkpoint or report, before its timer ran out */
};

enum event_timer { TIMER_CHECKPOINT, TIMER_REPORT, TIMER_CANCEL, TIMER_IDLE };

enum event_outcome {
    OUTCOME_DONE, /* all of the red part is at the receiver, or all green data was sent */
    OUTCOME_CANCELLED_LOCAL,  /* this engine cancelled; reason in cancel_reason */
    OUTCOME_CANCELLED_REMOTE, /* the peer cancelled; reason in cancel_reason */
    OUTCOME_LOST,             /* an orange block: lost, or nothing was heard of it (reason RLEXC) */
    OUTCOME_DISCARDED, /* an import that had claimed nothing made room for another one; it may open
                          again */
};

/* What a segment has to say of orange blocks, as in its extension (docs/recovery.md). */
enum event_orange {
    ORANGE_NONE,
    ORANGE_ASKS,      /* green data whose sender wants to hear what became of the block */
    ORANGE_DELIVERED, /* a receiver's cancel: all of it arrived */
    ORANGE_LOST,      /* a receiver's cancel: some of it did not */
};

/* What became of an incoming datagram. Each is counted; none is an error of ours. */
#define VERDICTS(X)                                                                                \
    X(OK, "ok")                               /* brought something new */                          \
    X(DUPLICATE, "duplicate")                 /* valid, nothing new in it */                       \
    X(CLOSED_SESSION, "closed_session")       /* answered or ignored: the session is over */       \
    X(UNKNOWN_SESSION, "unknown_session")     /* a report, ack or cancel for no session */         \
    X(FORGOTTEN_SESSION, "forgotten_session") /* of an earlier life of ours: cancelled */          \
    X(MISCOLOURED, "miscoloured")             /* session cancelled, RFC 5326 §6.21 */             \
    X(INCONSISTENT, "inconsistent")           /* contradicts what the session knows */             \
    X(BAD_REPORT, "bad_report")               /* claims data never sent, lower > upper, … */     \
    X(NO_CLIENT_SERVICE, "no_client_service") /* session cancelled, reason UNREACH */              \
    X(UNKNOWN_PEER, "unknown_peer")           /* no span is configured for that engine */          \
    X(LIMIT_PEERS, "limit_peers")             /* no place for one more unknown sender */           \
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
    X(TRAILING, "trailing_bytes") /* goes on after its fields */                                   \
    X(BAD_VERSION, "bad_version") /* version number is not 0 */                                    \
    X(BAD_TYPE, "bad_type")       /* an undefined segment type */                                  \
    X(BAD_SDNV, "bad_sdnv")       /* longer than 10 bytes or above 2^64 - 1 */                     \
    X(BAD_FIELD, "bad_field")     /* a value out of its range */

#define VERDICT_ENUM(name, text) VERDICT_##name,
enum verdict { VERDICTS(VERDICT_ENUM) VERDICT_COUNT };
#undef VERDICT_ENUM

/* The word of a verdict, static. */
const char *verdict_name(enum verdict v);

#define EVENT_NONE UINT64_MAX /* a number that the segment does not have */

struct event {
    tick now;
    enum event_kind kind;
    uint64_t peer;         /* engine number of the other end */
    uint64_t originator;   /* session id: the engine that opened it, */
    uint64_t session;      /* and its number */
    bool has_peer, has_id; /* these three are known, though they be EVENT_NONE: any number is one */
    int type;              /* LTP segment type 0..15, or -1 (no segment) */
    bool red;              /* data segments: red-part data */
    enum event_orange orange;
    int verdict; /* RX: an enum verdict */
    int cause;
    uint64_t client_service; /* each of these may be EVENT_NONE */
    uint64_t offset,
        length; /* data segments: within the block, bytes; OPEN/CLOSE: length = block */
    uint64_t cp_serial, rpt_serial;
    uint64_t rs_lower, rs_upper; /* report scope, absolute offsets, [lower, upper) */
    uint64_t claims, claimed_bytes;
    uint64_t cancel_reason;
    uint64_t attempt; /* 1 = first time this segment (by its serial) is sent */
    uint64_t udp_len; /* bytes of the whole segment */
};

/* An event with every optional number absent. */
struct event event_make(enum event_kind kind, tick now);

/* A sink gets each event as it happens. It must not call the engine. */
typedef void event_sink(void *context, const struct event *e);

/* The field's name of a segment type ("red data", "checkpoint", "report", …), static. "?" beyond
 * 0..15. */
const char *event_type_name(int type);

/* The longest line that event_csv writes, with its newline. */
#define EVENT_CSV_MAX 512

/* One line of the segment log (columns: event_csv_header). t_ns is e->now + epoch. Returns its
 * length. */
extern const char event_csv_header[];
uint32_t event_csv(const struct event *e, uint64_t node, uint64_t epoch, char out[EVENT_CSV_MAX]);

#ifdef __cplusplus
}
#endif

#endif
