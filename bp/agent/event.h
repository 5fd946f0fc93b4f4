/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of every event of a bundle at a node. One function in the agent (agent_event.c) makes
 * it and increments the counter of the event. The bundle log (docs/bundle-log.md) is made from it.
 */
#ifndef BP_EVENT_H
#define BP_EVENT_H

#include "base/tick.h"
#include "bp/codec/bundle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BUNDLE_EVENTS(X)                                                                           \
    X(ACCEPTED, "accepted")   /* the node has it, and gives it to the store; `from` */             \
    X(REFUSED, "refused")     /* `reason`; with a key: the store refused what was accepted */      \
    X(CONSUMED, "consumed")   /* an administrative record for the node: read, and done */          \
    X(STORED, "stored")       /* and confirmed to its sender */                                    \
    X(RESTORED, "restored")   /* was in the store when the node began */                           \
    X(WAITING, "waiting")     /* apart: no route now */                                            \
    X(QUEUED, "queued")       /* in the queue of `link`, or of its endpoint here */                \
    X(ASSEMBLED, "assembled") /* fragments make this bundle together */                            \
    X(UNREAD, "unread")       /* its bytes could not be read from the store */                     \
    X(SENT, "sent")           /* given to the link */                                              \
    X(CARRIED, "carried")     /* the link sends it in session `originator`, `session` */           \
    X(ACKNOWLEDGED, "acknowledged") /* the link is done: the neighbour has it */                   \
    X(FRAGMENTED, "fragmented")     /* the neighbour has a fragment of it, the rest follows */     \
    X(FAILED, "failed")             /* the link could not, for this `reason` */                    \
    X(LOST, "lost")                 /* an unreliable link lost it, for this `reason` */            \
    X(HANDED, "handed")             /* given to the application of `registration` */               \
    X(DELIVERED, "delivered")       /* which has it, and said so */                                \
    X(DECLINED, "declined")         /* or has it not, for this `reason` */                         \
    X(REPORTED, "reported")         /* a status report about it was made; `reason`: of what */     \
    X(ENDED, "ended")               /* it left the node, for this `reason` */

#define BUNDLE_EVENT_ENUM(name, text) BUNDLE_##name,
enum bundle_event_kind { BUNDLE_EVENTS(BUNDLE_EVENT_ENUM) BUNDLE_EVENT_COUNT };
#undef BUNDLE_EVENT_ENUM
const char *bundle_event_word(enum bundle_event_kind kind); /* static */

/* Who created the bundle, or brought it. */
enum bundle_origin { BUNDLE_FROM_NODE, BUNDLE_FROM_APPLICATION, BUNDLE_FROM_LINK };
const char *bundle_origin_word(enum bundle_origin from); /* "node", "application", "link"; static */

/* Pointers hold during the call of the sink. */
struct bundle_event {
    tick now;
    enum bundle_event_kind kind;
    uint64_t key;                  /* number of the bundle at this node; 0: none */
    const struct bundle_id *id;    /* NULL: unknown */
    const struct eid *destination; /* NULL likewise */
    uint64_t bytes;                /* encoded; 0: not known */
    uint64_t payload;              /* bytes of it */
    uint64_t lifetime_ms;
    enum bundle_origin from;
    int link;                     /* -1: none */
    const struct eid *peer;       /* the node at its other end; NULL: unknown, or no link */
    uint64_t registration;        /* HANDED, DELIVERED, DECLINED */
    bool has_session;             /* CARRIED: these two hold */
    uint64_t originator, session; /* session id in the link's own log */
    const char *reason;           /* NULL: none */
    int code;    /* code of the reason: REFUSED an enum agent_refusal, ENDED an enum agent_end */
    bool copy;   /* a copy for one of several routes; key is the bundle's */
    bool fanned; /* ENDED: it had several copies, and all of them are finished */
    bool whole;  /* a bundle joined from fragments: counted as its fragments */
};

/* A sink gets each event as it happens. It must not call the agent. */
typedef void bundle_event_sink(void *context, const struct bundle_event *e);

#define BUNDLE_LINK_MAX 64 /* of a link's name that are written */
/* The longest line that bundle_event_csv writes, with its newline. */
#define BUNDLE_EVENT_CSV_MAX 3072

/* One line of the bundle log (columns: bundle_event_csv_header). t_ns is e->now + epoch; `node` the
 * node's own EID as text, `link` the link's name, or NULL. Returns its length. */
extern const char bundle_event_csv_header[];
/* Writes the event as one row of the bundle log with its line feed; returns its length. */
uint32_t bundle_event_csv(const struct bundle_event *e, const char *node, const char *link,
                          uint64_t epoch, char out[BUNDLE_EVENT_CSV_MAX]);

#ifdef __cplusplus
}
#endif

#endif
