/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convergence-layer interface: what a node knows of its links. An adapter is one folder that
 * defines a struct cla_ops, and one line of the table in cla.c. It describes its own
 * configuration keys, so that no other file knows them.
 */
#ifndef CLA_CLA_H
#define CLA_CLA_H

#include <stdarg.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "bp/codec/eid.h"
#include "conf/conf_value.h"
#include "ltp/event.h"
#include "os/address.h"

struct world;
struct cla;

/* What became of a bundle that ops->send took. */
enum cla_outcome {
    CLA_DELIVERED,   /* the peer has it */
    CLA_HANDED_OVER, /* it was given to an unreliable service: nobody will ever say more */
    CLA_LOST,        /* an unreliable service says that it is lost, or cannot say that it is not: it
                        may go again at once, limits.resend times in all */
    CLA_REFUSED,     /* the peer does not take it now: later it may */
    CLA_DECLINED,    /* the peer will never take this bundle: it goes over another link, or ends */
    CLA_TAKEN_BACK,  /* it was ended at this node: by ops->cancel, or by an operator */
    CLA_FAILED,      /* it did not go; the reason says why */
    CLA_OUTCOME_COUNT
};

/* What the node says of a bundle that arrived. */
enum cla_verdict {
    CLA_ACCEPTED, /* it is stored, or was deleted as RFC 9171 has it: the peer need not keep it */
    CLA_FULL,     /* there is no room for it now */
    CLA_FAULTY,   /* not acceptable: the bundle itself is malformed, damaged or too long */
    CLA_UNWANTED, /* the peer should keep it for another reason: no route from here, no rule that
                     allows it */
    CLA_BUSY,     /* it is here already and not yet safe: later the answer is another one */
    CLA_VERDICT_COUNT
};

/* Why it is not at the peer, for the operator. */
#define CLA_REASONS(X)                                                                             \
    X(NONE, "none")                                                                                \
    X(NO_ANSWER, "no answer")                                                                      \
    X(CYCLES, "too many retransmission cycles")                                                    \
    X(PEER_LOST, "the peer says that it is lost")                                                  \
    X(PEER_REFUSED, "the peer refused it")                                                         \
    X(PEER_FULL, "the peer refused it: no resources")                                              \
    X(PEER_REPEATS, "the peer refused it: retransmit")                                             \
    X(PEER_DECLINED, "the peer says that it is not acceptable")                                    \
    X(NO_SERVICE, "the peer has no such service")                                                  \
    X(PROTOCOL, "the peer or this node found the protocol violated")                               \
    X(CANCELLED, "cancelled here")                                                                 \
    X(BUSY, "the link has no room for it now")                                                     \
    X(TOO_LONG, "longer than the link can carry")                                                  \
    X(DOWN, "the link is down")                                                                    \
    X(CLOSED, "the link is closed")                                                                \
    X(LOOP, "it would go in itself, or too deep in others")                                        \
    X(NODE, "this node took no bundle for it")                                                     \
    X(SYSTEM, "the system refused to send it")                                                     \
    X(NO_MEMORY, "out of memory")
#define CLA_REASON_ENUM(name, text) CLA_REASON_##name,
enum cla_reason { CLA_REASONS(CLA_REASON_ENUM) CLA_REASON_COUNT };
#undef CLA_REASON_ENUM
const char *cla_reason_text(enum cla_reason r); /* static */
bool cla_outcome_is_good(enum cla_outcome o);   /* nothing more is to be done for the bundle */

/* What a link can transmit now: kept current by its adapter, read by its node. */
struct cla_limits {
    uint32_t window;     /* bundles that may be on the link at once, >= 1 */
    uint64_t bundle_max; /* longest bundle that ops->send takes, bytes; 0: any */
    uint64_t resend;     /* how often in all a bundle may go again after CLA_LOST */
};

/* What an adapter tells its node. Calls come from the node's thread, never from within a call into
 * the adapter. */
struct cla_events {
    void *context;
    /* A bundle arrived; the reference is the receiver's now. It answers with ops->confirm(token),
     * once, at any time, also from within this call. */
    void (*received)(void *context, struct cla *c, struct buf *bundle, uint64_t token);
    /* Memory of bundles that are still arriving, which the node counts: so many bytes more have
     * come. False: there is no room, and the adapter refuses or drops what it has of one. release:
     * so many go, or are part of a bundle of `received` next. Both also from within a call into the
     * adapter. NULL: nobody counts. */
    bool (*reserve)(void *context, struct cla *c, uint64_t bytes);
    void (*release)(void *context, struct cla *c, uint64_t bytes);
    /* What became of a bundle of ops->send, once for each. */
    void (*done)(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                 enum cla_reason reason);
    /* The bundle goes by this session of the link's own log; may come from within ops->send, once
     * for each try, or never. NULL: nobody wants to know. */
    void (*carried)(void *context, struct cla *c, uint64_t key, uint64_t originator,
                    uint64_t session);
    /* Up or down; the first one comes soon after open. Down is the end of a link that came in by
     * `peer`: the node closes it. NULL: nobody wants to know. */
    void (*link)(void *context, struct cla *c, bool up);
    /* The peer, which had not answered at all, is heard again: what has failed for that may go at
     * once. NULL: nobody wants to know. */
    void (*heard)(void *context, struct cla *c);
    /* c->limits are others now, and not because of a call of the node; or ops->reaches answers
     * otherwise. NULL as above. */
    void (*limits)(void *context, struct cla *c);
    /* A peer without a configured link connected over this link and identified itself. `fresh` is
     * the link to that peer. True: the node takes the link, has filled *events for it (zeroes
     * before), and will close it like any other. False: the adapter ends it. NULL: no such peer is
     * accepted. */
    bool (*peer)(void *context, struct cla *c, struct cla *fresh, const struct eid *peer,
                 struct cla_events *events);
    /* A line for the operator's log; level 0 error, 1 warning, 2 information. NULL as above. */
    void (*say)(void *context, struct cla *c, int level, const char *text);
};

/* What a contact plan says of a link from now on. */
struct cla_contact {
    bool transmit, receive; /* this node may send to the peer; what the peer sends arrives here */
    uint64_t rate;          /* bit/s on the air; 0: as configured */
    tick round_trip;        /* light time there and back; TICK_NEVER: not known */
};

/* A bundle that an adapter sends as its own node's: its transport is bundles. */
struct cla_parcel {
    struct eid source, destination; /* source: an endpoint of the node */
    uint64_t lifetime_ms;
    struct buf *payload; /* head room BUNDLE_HEAD_MAX, tail room BUNDLE_TAIL_MAX */
};

/* The payload of one that came for an endpoint of it. */
struct cla_delivery {
    uint64_t key;
    const struct eid *source, *destination;
    uint64_t left_ms;     /* of its lifetime; UINT64_MAX: it does not end */
    struct slice payload; /* a view, during the call */
};

/* What the node does for such an adapter. May be called from within a call into it. */
struct cla_self {
    void *context;
    /* Takes the payload on CLA_REASON_NONE, and ops->submitted follows, later than the call. */
    enum cla_reason (*submit)(void *context, const struct cla_parcel *p, uint32_t token);
    /* What comes for this endpoint is ops->delivered from now on, `window` of them without answer.
     * Until the link is closed. 0, HELIO_EEXIST (it is taken), HELIO_EINVAL, HELIO_ENOMEM. */
    int (*listen)(void *context, const struct eid *endpoint, uint32_t window);
    /* The adapter is done with a delivery; or (!done) there is no room for what is in it now: it is
     * delivered again after a pause, which grows, until its lifetime ends. */
    void (*taken)(void *context, uint64_t key, bool done);
    /* What is left of the lifetime of a bundle that came with ops->send, in ms, by the time that
     * has passed, whatever the wall clock says; 0: it is over; UINT64_MAX: it does not end. */
    uint64_t (*left_ms)(void *context, uint64_t key);
};

struct crowd_room; /* base/crowd_room.h */
struct rests;      /* base/rest.h */

struct cla_env {
    struct world *world; /* clock, alarms, ports, streams: os/world.h */
    struct eid node;
    struct eid peer;     /* the node at the other end, as far as configured; dtn:none: not known */
    bool earlier_life;   /* the node was here before and has forgotten what peers began to send */
    bool confirm;        /* acceptance is told to the peer only after ops->confirm */
    uint64_t bundle_max; /* longest bundle to receive, bytes */
    uint64_t seed;
    event_sink *sink; /* segment log; NULL: none. Event times are CLOCK_MONOTONIC ns */
    void *sink_context;
    struct cla_events events;
    struct cla_self self;
    struct rests *rests; /* of all links of one node (base/rest.h); NULL: the adapter has its own */
    struct crowd_room *room; /* of peers' connections of all links of one node, by address; NULL:
                                each local address has its own */
    void *files;             /* of ops->read, borrowed; NULL: open reads them itself */
    void **shared; /* adapter's own anchor for what links of one node share (one LTP engine and
                      socket per local address); starts as NULL; one per adapter and node */
};

/* What an operator watches of a link: figures that a call gives cheaply, however much is open. */
struct cla_gauges {
    uint64_t rate; /* bit/s on the air, as configured or bounded by the contact; 0: unlimited */
    uint64_t tx_bytes, rx_bytes; /* to and from the peer so far: segments, datagrams, the stream */
    uint64_t resent_bytes;       /* of these, data sent again */
    tick rto;                    /* of the retransmission timer in force; 0: there is none */
    tick round_trip;             /* smoothed; 0: nothing was measured */
    tick heard;                  /* when something of the peer came last; TICK_NEVER: never */
    tick asked; /* since then the peer owes an answer; TICK_NEVER: it does not, or that is not known
                 */
    bool off;   /* set to down, by an operator or its configuration */
    bool
        given_up; /* an exchange was given up for want of any answer, and nothing was heard since */
    tick unconfirmed;   /* since then the peer was heard, but confirmed nothing of ours, or nothing
                           long (answers_short); 0: it did, or that is not known */
    bool answers_short; /* it answered short messages in that time */
    bool session; /* a session with the peer is established, whose protocol ends it on silence */
    bool refused; /* it is down, and the last attempt was refused, by the peer, its host or here */
    uint64_t sessions;       /* open, both ways */
    uint64_t unstored;       /* bytes of received bundles that wait for ops->confirm, of the session
                                with most; 0: not known */
    uint64_t unstored_max;   /* with so many it reads nothing (limits.held_bytes); 0: no limit */
    bool unstored_full;      /* it reads nothing for that now */
    uint64_t answers;        /* acknowledgements and refusals that wait to be sent, of the session
                                with most */
    uint64_t answers_max;    /* with so many it reads nothing; 0: no limit */
    bool answers_unread;     /* the peer does not read them; false: they wait for the store */
    uint64_t source_refused; /* datagrams in the peer's name that came from another address */
    uint64_t auth_refused;   /* segments in the peer's name that were not authenticated */
    uint64_t unknown_refused; /* segments of unknown peers, of all links at one local address */
    const char *refusal;      /* why the latest of the peer's was refused; static; NULL: none was */
    tick refused_at;          /* then */
    bool coded;               /* it has an erasure code; 0 in the fields below without one */
    uint64_t repairs_sent;    /* repair segments */
    uint64_t repaired;        /* segments of the peer that repair segments replaced */
    uint64_t unrepaired;      /* segments of the peer that they could not replace */
    uint64_t code_mismatches; /* packets of another erasure code, or of none */
    bool cadus;               /* it receives CADUs; 0 in the fields below without them. All links of
                                 one physical channel have the same: */
    uint64_t cadu_good;       /* units all of whose codewords were decoded */
    uint64_t cadu_corrected;  /* symbols that Reed-Solomon corrected, or bits that LDPC did */
    uint64_t cadu_erred;      /* units that could not be decoded */
    uint64_t cadu_codewords_failed; /* codewords of these */
    uint64_t cadu_iterations;       /* rounds of the LDPC decoder */
    uint64_t cadu_sync_losses;      /* times that no marker was where it was due */
    bool sdls_sends, sdls_receives; /* frames of that direction have Space Data Link Security; 0 in
                                       its fields below without it. Of one physical channel, too: */
    uint64_t sdls_sent, sdls_unsent, sdls_accepted;
    uint64_t sdls_spi, sdls_mac, sdls_replayed, sdls_ahead, sdls_other; /* refused, by reason */
};

struct json_t; /* jansson */

/* A key of an adapter whose value is a list of maps. Its items lie one behind the other, in memory
 * of the configuration. */
struct cla_list {
    const char *key;
    const struct conf_option *options; /* of an item; ends with a NULL key */
    size_t item_size, max;
    size_t items, count; /* where the adapter's configuration has them: void *, size_t */
    /* As cla_ops.check, for an item; it may complete it. NULL: nothing beyond the table. */
    int (*check)(void *item, const char **key, char *why, size_t why_cap);
};

/* A key that has another name now: the old one is an error that shows the new one, and its group.
 */
struct cla_renamed {
    const char *was, *now;
};

/* A link's keys with the names of its two nodes, dtn:none when not known. */
struct cla_named {
    const void *config;
    const struct eid *node, *peer;
};

/* Sockets of one kind exclude each other at one address and port. */
enum cla_socket { CLA_SOCKET_NONE, CLA_SOCKET_UDP, CLA_SOCKET_TCP };

/* Addresses of a link, as its configuration has them. */
struct cla_addresses {
    enum cla_socket socket; /* that it binds at `local`; links of one adapter share it, or
                               cla_conflict tells */
    const char *key;        /* that names `local`, static */
    struct address local;
    struct address remote; /* where it sends to; not given: nowhere, or its host has a name */
};

/* Endpoints of a link whose transport is bundles of its own node. */
struct cla_tunnel {
    const char *near_key, *far_key; /* that name them, static */
    struct eid near_end;            /* of this node: the link's own bundles arrive here */
    struct eid far_end;             /* its own bundles go there, over another link */
};

/*
 * What an adapter promises its node: one table for each adapter. A member that may be NULL says
 * "NULL:" and what that means; the node's calls further down have these defaults, in one place.
 *
 * All of them, where nothing else is written:
 *   - are called in the node's loop, and not from within cla_events;
 *   - have a `config` of config_size bytes that `check` accepts. It is the caller's, and stays as
 *     long as a link has it;
 *   - have a `c` that `open` made, and that `close` was not called for;
 *   - return 0, or HELIO_E* with a text in why (of why_cap bytes, with its zero): what is wrong and
 *     what would be right. *key (static) is then the key that it is about.
 */
struct cla_ops {
    /* ---- what it is ---- */
    const char *name; /* the word of the configuration (adapter:) */
    bool inbound;     /* it accepts peers without a configured link that identify themselves
                         (cla_events.peer) */
    bool last_copy;   /* its protocol has no refusal: what the node refuses is lost. With `pause` */

    /* ---- its configuration ---- */
    const struct conf_option *options; /* ends with a NULL key; in groups: conf/conf_groups.h */
    size_t config_size;                /* bytes that the options fill */
    const struct cla_list *lists;      /* ends with a NULL key. NULL: there are none */
    const struct cla_renamed *renamed; /* ends with NULL. NULL: there are none */
    const char *const *live; /* the keys that `set` can change; ends with NULL. NULL: none */
    /* Relations between values, beyond the table. The config need not be right. NULL: none. */
    int (*check)(const void *config, const char **key, char *why, size_t why_cap);
    /* Relations between values and the names of both nodes (peer: dtn:none when not known). NULL:
     * none. */
    int (*check_names)(const void *config, const struct eid *node, const struct eid *peer,
                       const char **key, char *why, size_t why_cap);
    /* Can two links of this adapter be at one node? `other` comes first in the configuration; the
     * text is about `config`. `open` says the same later. NULL: any two can. */
    int (*conflict)(const struct cla_named *config, const struct cla_named *other, const char **key,
                    char *why, size_t why_cap);
    /* What does not work for this node at this time (s since 1970 UTC), or soon will not, such as a
     * certificate that ended or names another node: true, with the key and a text. NULL: nothing.
     */
    bool (*warn)(const void *config, const struct eid *node, int64_t now, const char **key,
                 char *why, size_t why_cap);
    /* What else has to be set for a key to count, such as "recovery: own", static; NULL: nothing.
     * NULL: no key needs another one. */
    const char *(*needs)(const char *key);
    /* Fills *out, which comes as zeroes. NULL: the link binds no socket and sends to no address. */
    void (*addresses)(const void *config, struct cla_addresses *out);
    /* Fills *out. NULL: it makes no bundles itself. */
    void (*tunnel)(const void *config, struct cla_tunnel *out);
    /* Reads the files that the configuration names, in any thread, since it can take seconds. *out
     * is for env.files of `open`, or for `set`, of the same configuration, and the caller's to
     * `forget`; NULL: there are none. NULL: this adapter has no files. */
    int (*read)(const void *config, void **out, const char **key, char *why, size_t why_cap);
    void (*forget)(void *files); /* not NULL with `read` */

    /* ---- a link ---- */
    /* A link in *out, of a copy of *env. Its first cla_events.link follows, later than the call. */
    int (*open)(struct cla **out, const struct cla_env *env, const void *config, char *why,
                size_t why_cap);
    /* The keys in `live` have other values: `config` is borrowed instead of the former one. files:
     * as env.files. After an error all is as before. NULL: nothing can change. */
    int (*set)(struct cla *c, const void *config, void *files, char *why, size_t why_cap);
    /* Reads files of keys again that hold while the link is open; *changed: other keys hold now. An
     * error with its text: see there what holds. NULL: it has none. */
    int (*renew)(struct cla *c, bool *changed, char *why, size_t why_cap);
    /* Ends the link: open sessions are dropped. No event of it follows but `closed`, which comes
     * from the loop, later than the call, when its memory is gone. */
    void (*close)(struct cla *c, void (*closed)(void *context), void *context);
    /* Asserts its own invariants, between two things that happen. NULL: it has none to tell. */
    void (*check_self)(const struct cla *c);

    /* ---- bundles to the peer ---- */
    /* On CLA_REASON_NONE the link has a reference of its own, and cla_events.done(key) follows,
     * later than the call. Else nothing follows; CLA_REASON_BUSY: the window is full. */
    enum cla_reason (*send)(struct cla *c, uint64_t key, struct buf *bundle);
    /* The bundle's lifetime is over, it was deleted, or its contact has ended: it shall not go on
     * if that can still be prevented. It may be taken back more than once. 0: `done` follows as
     * ever, later than the call. HELIO_ENOENT: the link had not begun it, and nothing follows.
     * NULL: no bundle can be taken back (0). */
    int (*cancel)(struct cla *c, uint64_t key);
    /* Does the link lead to this endpoint, as far as the adapter itself knows? NULL: it knows
     * nothing beyond the peer that the configuration names. */
    bool (*reaches)(const struct cla *c, const struct eid *destination);

    /* ---- bundles of the peer ---- */
    /* The node's answer to cla_events.received. What is not accepted the peer is told, where the
     * protocol can, with the reason as far as the protocol has one. */
    void (*confirm)(struct cla *c, uint64_t token, enum cla_verdict verdict);
    /* The node has no room: nothing more is read of the peer (on), or again, but what the peer's
     * answers need. NULL: the adapter cannot do that, and what finds no room is refused. */
    void (*pause)(struct cla *c, bool on);
    /* The node worked for `took` ns until `now` on what this link brought, later than within
     * `received`; `fair` of it was fair. The link's rest is the adapter's (base/rest.h), and
     * env.rests counts. NULL: the rest is the node's. */
    void (*charge)(struct cla *c, tick took, tick fair, tick now);

    /* ---- its own bundles (cla_self): with `tunnel`; both NULL without ---- */
    /* Of cla_self.submit: the node has stored it (ok), or refused it after all. Once for each. */
    void (*submitted)(struct cla *c, uint32_t token, bool ok);
    /* Of cla_self.listen; cla_self.taken follows, once, at any time, also from within this call. */
    void (*delivered)(struct cla *c, const struct cla_delivery *d);

    /* ---- the operator and the contact plan ---- */
    /* An operator's word: the link is up or down. */
    void (*set_link)(struct cla *c, bool up);
    /* A contact plan's word, which holds beside the operator's: bundles go where both say so. It
     * bounds the configured rate, and the timers follow its light time. `contact` is borrowed for
     * the call; NULL: the plan says nothing of this link any more. */
    void (*contact)(struct cla *c, const struct cla_contact *contact);
    /* An operator cancels a session of this link, ours or the peer's; its bundles go again.
     * HELIO_ENOENT: there is none of that number. originator 0: this node. No text. NULL: there are
     * no sessions (HELIO_EINVAL). */
    int (*cancel_session)(struct cla *c, uint64_t originator, uint64_t number);
    /* Adds what is worth showing (counters, sessions, rates) to a JSON object. NULL: nothing. */
    void (*status)(struct cla *c, struct json_t *object);
    /* Fills *out, which comes as zeroes with TICK_NEVER for its times. NULL: nothing is known. */
    void (*gauges)(const struct cla *c, struct cla_gauges *out);
};

/* A link; adapters put it first in their own struct, of zeroes from malloc. */
struct cla {
    const struct cla_ops *ops;
    struct cla_limits limits;
    /* The rest is the adapter's, for the calls below. */
    const struct cla_events *events; /* of the link's cla_env */
    bool told, told_up;              /* cla_events.link was called, at last with this word */
    void (*closed)(void *context);   /* of ops->close; NULL: the link is open */
    void *closed_context;
    struct list node; /* in its local endpoint (cla/local_endpoint.h) */
};

/* For adapters: what they tell their node, if it wants to know. A link begins: ops and events are
 * set, events stay where they are. say: a line for the operator's log. tell_link: up or down, if it
 * has changed. tell_limits: c->limits are others now. */
void cla_init(struct cla *c, const struct cla_ops *ops, const struct cla_events *events);
void cla_say(struct cla *c, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cla_say_args(struct cla *c, int level, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
void cla_tell_link(struct cla *c, bool up);
void cla_tell_limits(struct cla *c);
/* Of ops->close: what is called later. end: the link's memory goes, and that is called. */
void cla_closing(struct cla *c, void (*closed)(void *context), void *context);
void cla_end(struct cla *c);

/* For the node: members of cla_ops that may be NULL, with what that means. check: names, too,
 * unless node is NULL. tunnel, charge, delivered: false: it has no such member. status, gauges: of
 * NULL, the defaults. */
int cla_check(const struct cla_ops *ops, const void *config, const struct eid *node,
              const struct eid *peer, const char **key, char *why, size_t why_cap);
int cla_conflict(const struct cla_ops *ops, const struct cla_named *config,
                 const struct cla_named *other, const char **key, char *why, size_t why_cap);
bool cla_warn(const struct cla_ops *ops, const void *config, const struct eid *node, int64_t now,
              const char **key, char *why, size_t why_cap);
const char *cla_needs(const struct cla_ops *ops, const char *key);
struct cla_addresses cla_addresses(const struct cla_ops *ops, const void *config);
bool cla_tunnel(const struct cla_ops *ops, const void *config, struct cla_tunnel *out);
int cla_read(const struct cla_ops *ops, const void *config, void **out, const char **key, char *why,
             size_t why_cap);
void cla_forget(const struct cla_ops *ops, void *files); /* files NULL: there are none */
int cla_set(struct cla *c, const void *config, void *files, char *why, size_t why_cap);
int cla_renew(struct cla *c, bool *changed, char *why, size_t why_cap);
int cla_cancel(struct cla *c, uint64_t key);
bool cla_reaches(const struct cla *c, const struct eid *destination);
bool cla_charge(struct cla *c, tick took, tick fair, tick now);
void cla_submitted(struct cla *c, uint32_t token, bool ok);
bool cla_delivered(struct cla *c, const struct cla_delivery *d);
int cla_cancel_session(struct cla *c, uint64_t originator, uint64_t number);
void cla_status(struct cla *c, struct json_t *object);
struct cla_gauges cla_gauges(const struct cla *c);
void cla_check_self(const struct cla *c);

/* NULL when there is no adapter of that name. */
const struct cla_ops *cla_find(const char *name);
/* The i-th adapter, NULL beyond the last. */
const struct cla_ops *cla_at(size_t i);

#endif
