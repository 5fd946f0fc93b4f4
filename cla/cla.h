/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convergence-layer interface: how a node uses its links. An adapter is one folder that defines
 * a struct cla_ops, and one line of the table in cla.c. It describes its own configuration keys, so
 * that no other file knows them.
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
#include "os/net/address.h"

struct world;
struct cla;

/* Outcome of a bundle that ops->send accepted. */
enum cla_outcome {
    CLA_DELIVERED,   /* the peer has received it */
    CLA_HANDED_OVER, /* transmitted by an unreliable service, which reports no outcome */
    /* An unreliable service reports a loss, or cannot exclude it. The bundle may be transmitted
     * again at once, limits.resend times in all. */
    CLA_LOST,
    CLA_REFUSED,    /* the peer refused it temporarily */
    CLA_DECLINED,   /* the peer will never accept this bundle: try another link, or delete it */
    CLA_TAKEN_BACK, /* cancelled at this node: by ops->cancel, or by an operator */
    CLA_FAILED,     /* not transmitted; see the reason */
    CLA_OUTCOME_COUNT
};

/* The node's verdict on a received bundle. */
enum cla_verdict {
    CLA_ACCEPTED, /* stored, or deleted by the rules of RFC 9171: the peer may release it */
    CLA_FULL,     /* no room for it now */
    CLA_FAULTY,   /* the bundle is malformed, damaged or too long */
    /* Refused for another reason, for example no route from here or no rule that permits it. The
     * peer should keep it. */
    CLA_UNWANTED,
    CLA_BUSY, /* a copy is here, but not yet stored: try again later */
    CLA_VERDICT_COUNT
};

/* Why the peer does not have the bundle; for the operator. */
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
bool cla_outcome_is_good(enum cla_outcome o); /* the link needs to do nothing more for the bundle */

/* Why TLS with a peer was refused, or its handshake did not come to its end. */
#define CLA_TLS_REFUSALS(X)                                                                        \
    X(CERTIFICATE, "certificate not valid")                                                        \
    X(BY_PEER, "refused by the peer")                                                              \
    X(HANDSHAKE, "handshake failed")                                                               \
    X(TOO_MANY, "too many handshakes of one address")                                              \
    X(PLAIN, "no TLS")                                                                             \
    X(NO_NODE, "certificate names no node")                                                        \
    X(OTHER_NODE, "certificate names another node")                                                \
    X(OTHER_HOST, "certificate does not name the host")                                            \
    X(OTHER_ADDRESS, "certificate does not name the address")
#define CLA_TLS_ENUM(name, text) CLA_TLS_##name,
enum cla_tls_refusal { CLA_TLS_REFUSALS(CLA_TLS_ENUM) CLA_TLS_COUNT };
#undef CLA_TLS_ENUM
const char *cla_tls_text(enum cla_tls_refusal r); /* static */

/* What a link can transmit now: kept current by its adapter, read by its node. */
/* Present limits of a link. The adapter updates them; the node reads them. */
struct cla_limits {
    uint32_t window;     /* bundles in transmission at once, >= 1 */
    uint64_t bundle_max; /* longest bundle that ops->send takes, bytes; 0: any */
    uint64_t resend;     /* transmissions of a bundle again after CLA_LOST, in all */
};

/* What speaks for the name of an unconfigured peer. */
struct cla_proof {
    bool certificate;    /* a verified certificate names the node */
    const uint8_t *host; /* that it connects from: ADDRESS_KEY_HOST bytes of address_key. NULL: not
                            known */
};

/* The adapter's calls to its node. They are made in the node's thread. Unless noted, they are not
 * made within a call into the adapter. */
struct cla_events {
    void *context;
    /* A bundle was received; the callee owns the reference. The node answers once with
     * ops->confirm(token), at any time, also within this call. */
    void (*received)(void *context, struct cla *c, struct buf *bundle, uint64_t token);
    /* Memory of bundles that are still being received, which the node counts. reserve: `bytes` more
     * have arrived; false: there is no room, and the adapter refuses or drops a bundle. release:
     * `bytes` are freed, or become part of the bundle in the next `received`. Both are also called
     * within a call into the adapter. NULL: not counted. */
    bool (*reserve)(void *context, struct cla *c, uint64_t bytes);
    void (*release)(void *context, struct cla *c, uint64_t bytes);
    /* The outcome of a bundle of ops->send; once for each. */
    void (*done)(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                 enum cla_reason reason);
    /* The session of the link's log (for LTP: RFC 5326) that transmits the bundle. Called at most
     * once per transmission, also within ops->send. NULL: not needed. */
    void (*carried)(void *context, struct cla *c, uint64_t key, uint64_t originator,
                    uint64_t session);
    /* The link is up or down. The first call follows soon after open. A link that was created by
     * `peer` ends when it goes down: the node closes it. NULL: not needed. */
    void (*link)(void *context, struct cla *c, bool up);
    /* The peer was silent, and is heard again: bundles that failed for it may be retried at once.
     * NULL: not needed. */
    void (*heard)(void *context, struct cla *c);
    /* c->limits changed without a call of the node, or ops->reaches has other results. NULL: not
     * needed. */
    void (*limits)(void *context, struct cla *c);
    /* A peer without a configured link connected over this link and identified itself. `fresh` is
     * the link to that peer. True: the node accepts the link, has filled *events for it (zeroed
     * before), and closes it like any other. False: the adapter ends it. NULL: such peers are not
     * accepted. */
    bool (*peer)(void *context, struct cla *c, struct cla *fresh, const struct eid *peer,
                 struct cla_events *events);
    /* May a peer without a configured link have this name? Asked for each of its sessions, before
     * `peer`, and within ops->judge. If not: why, and what would be right. NULL: it may have any.
     */
    bool (*named)(void *context, const struct eid *peer, const struct cla_proof *proof, char *why,
                  size_t why_cap);
    /* A line for the operator's log; level 0 error, 1 warning, 2 information. NULL: not needed. */
    void (*say)(void *context, struct cla *c, int level, const char *text);
};

/* The state of a link by the contact plan. */
struct cla_contact {
    bool transmit, receive; /* this node may transmit; the peer's transmissions can be received */
    uint64_t rate;          /* bit/s on the air; 0: as configured */
    tick round_trip;        /* round-trip light time; TICK_NEVER: unknown */
};

/* A bundle that an adapter originates at its own node, because its transport is bundles (BIBE). */
struct cla_parcel {
    struct eid source, destination; /* source: an endpoint of the node */
    uint64_t lifetime_ms;
    bool record;         /* the payload is an administrative record (RFC 9171 §6) */
    struct buf *payload; /* head room BUNDLE_HEAD_MAX, tail room BUNDLE_TAIL_MAX */
};

/* Its creation timestamp, which names the bundle together with its source. */
struct cla_stamp {
    uint64_t time_ms, sequence;
};

/* The payload of a bundle that was received for such an adapter's endpoint. */
struct cla_delivery {
    uint64_t key;
    const struct eid *source, *destination;
    uint64_t left_ms;     /* remaining lifetime; UINT64_MAX: it never expires */
    bool record;          /* the payload is an administrative record */
    struct slice payload; /* a view, valid during the call */
};

/* The node's services for such an adapter. They may be called within a call into the adapter. */
struct cla_self {
    void *context;
    /* CLA_REASON_NONE: the node owns the payload, and ops->submitted follows after the call; *out
     * is the bundle's timestamp. */
    enum cla_reason (*submit)(void *context, const struct cla_parcel *p, uint32_t token,
                              struct cla_stamp *out);
    /* Is this submitted bundle still in the node, as a whole? It is not after it was forwarded,
     * delivered, fragmented or deleted. */
    bool (*is_here)(void *context, const struct eid *source, const struct cla_stamp *stamp);
    /* Registers the endpoint until the link is closed. Its bundles are passed to ops->delivered, at
     * most `window` of them unanswered. Returns 0, HELIO_EEXIST (already registered), HELIO_EINVAL,
     * HELIO_ENOMEM. */
    int (*listen)(void *context, const struct eid *endpoint, uint32_t window);
    /* The adapter has processed a delivery. !done: there is no room for its content now, and the
     * node delivers it again after a growing pause, until its lifetime expires. */
    void (*taken)(void *context, uint64_t key, bool done);
    /* Remaining lifetime of a bundle of ops->send, ms, by elapsed time (independent of the wall
     * clock). 0: it has expired; UINT64_MAX: it never expires. */
    uint64_t (*left_ms)(void *context, uint64_t key);
};

struct crowd_room; /* base/crowd_room.h */
struct rests;      /* base/rest.h */

struct cla_env {
    struct world *world; /* clock, alarms, ports, streams: os/world.h */
    struct eid node;
    struct eid peer;   /* the configured node at the other end; dtn:none: unknown */
    bool earlier_life; /* the node restarted without the state of transfers that peers had begun */
    bool confirm;      /* acceptance is signalled to the peer only after ops->confirm */
    uint64_t bundle_max; /* longest bundle to receive, bytes */
    uint64_t seed;
    event_sink *sink; /* segment log; NULL: none. Event times are CLOCK_MONOTONIC ns */
    void *sink_context;
    struct cla_events events;
    struct cla_self self;
    /* shared by all links of a node (base/rest.h); NULL: the adapter has its own */
    struct rests *rests;
    /* Limits peers' connections of all links of a node, by address. NULL: each local address has
     * its own. */
    struct crowd_room *room;
    void *files; /* result of ops->read, borrowed; NULL: `open` reads the files itself */
    /* The adapter's anchor for objects that links of one node share (one LTP engine and socket per
     * local address). Initially NULL; one per adapter and node. */
    void **shared;
};

/* Figures of a link for monitoring. The cost of a call does not depend on the number of
 * sessions. */
struct cla_gauges {
    uint64_t rate; /* bit/s on the air: configured, or limited by the contact; 0: unlimited */
    uint64_t tx_bytes, rx_bytes; /* bytes to and from the peer: segments, datagrams, the stream */
    uint64_t resent_bytes;       /* retransmitted bytes among them */
    tick rto;                    /* present retransmission timer; 0: none */
    tick round_trip;             /* smoothed; 0: not measured */
    tick heard;                  /* latest arrival from the peer; TICK_NEVER: none */
    /* Since then an answer of the peer is due. TICK_NEVER: none is due, or unknown. */
    tick asked;
    bool off; /* set to down by an operator or the configuration */
    /* An exchange failed without any answer, and nothing was heard since. */
    bool given_up;
    /* Since then the peer was heard, but confirmed nothing, or only short messages (answers_short).
     * 0: it confirmed, or unknown. */
    tick unconfirmed;
    bool answers_short; /* it answered short messages since `unconfirmed` */
    bool session;       /* a session is established, and its protocol ends it on silence */
    bool refused;       /* it is down: the last attempt was refused by the peer, its host or here */
    uint64_t sessions;  /* open sessions of both directions */
    /* Bytes of received bundles that wait for ops->confirm, of the session with most. 0:
     * unknown. */
    uint64_t unstored;
    uint64_t unstored_max; /* at this number it stops reading (limits.held_bytes); 0: no limit */
    bool unstored_full;    /* it has stopped reading for that reason */
    /* Queued acknowledgements and refusals of the session with most. */
    uint64_t answers;
    uint64_t answers_max;     /* at this number it stops reading; 0: no limit */
    bool answers_unread;      /* the peer does not read them; false: they wait for the store */
    uint64_t source_refused;  /* datagrams with the peer's engine or node id from another address */
    uint64_t auth_refused;    /* segments with the peer's engine id without valid authentication */
    uint64_t unknown_refused; /* segments of unknown peers, of all links of the local endpoint */
    /* Why the latest refused segment or datagram of the peer was refused; static. NULL: none was
     * refused. */
    const char *refusal;
    tick refused_at; /* when that was */
    /* It has certificates; without them the next fields are 0. Links of one local endpoint have
     * equal tls_refused. */
    bool tls;
    uint64_t tls_refused[CLA_TLS_COUNT];
    /* End of its own certificate, and of the trusted certificate that ends first: s since 1970 UTC;
     * 0: there is none. */
    int64_t tls_ends, tls_ca_ends;
    bool custody;          /* it has custody transfer; without it the next fields are 0 */
    uint64_t custody_held; /* bundles that wait for the peer's signals */
    uint64_t custody_released, custody_refused, custody_lost;
    uint64_t custody_confirmed; /* the peer's bundles, in signals */
    uint64_t custody_forged;    /* signals of others, and sequences of IDs that were not issued */
    bool coded;                 /* it has an erasure code; without one the next fields are 0 */
    uint64_t repairs_sent;      /* repair segments */
    uint64_t repaired;          /* segments of the peer that repair segments replaced */
    uint64_t unrepaired;        /* segments of the peer that they could not replace */
    uint64_t matrices_repaired, matrices_failed; /* of the peer, with lost segments */
    tick repair_delay;                           /* sum over the repaired segments */
    uint64_t code_mismatches; /* packets with another erasure code, or without one */
    /* It receives CADUs; without them the next fields are 0. All links of one physical channel have
     * equal values. */
    bool cadus;
    uint64_t cadu_good;             /* units all of whose codewords were decoded */
    uint64_t cadu_corrected;        /* symbols that Reed-Solomon corrected, or bits that LDPC did */
    uint64_t cadu_erred;            /* units that failed to decode */
    uint64_t cadu_codewords_failed; /* failed codewords of these */
    uint64_t cadu_iterations;       /* rounds of the LDPC decoder */
    uint64_t cadu_sync_losses;   /* times that a sync marker was missing at its expected position */
    uint64_t cadu_symbols_wrong; /* of the convolutional code, as its decoder estimates */
    /* Frames of that direction use Space Data Link Security; without it the next fields are 0. All
     * links of one physical channel have equal values. */
    bool sdls_sends, sdls_receives;
    uint64_t sdls_sent, sdls_unsent, sdls_accepted;
    /* Refused frames, by reason. */
    uint64_t sdls_spi, sdls_mac, sdls_replayed, sdls_ahead, sdls_other;
};

struct json_t; /* jansson */

/* A key of an adapter whose value is a list of maps. The items are an array in memory of the
 * configuration. */
struct cla_list {
    const char *key;
    const struct conf_option *options; /* of an item; ends with a NULL key */
    size_t item_size, max;
    size_t items, count; /* offsets in the adapter's configuration: void *, size_t */
    /* Like cla_ops.check, for an item; it may complete the item. NULL: only the table is
     * checked. */
    int (*check)(void *item, const char **key, char *why, size_t why_cap);
};

/* A renamed key: the old name is an error that shows the new one. Also for its group. */
struct cla_renamed {
    const char *was, *now;
};

/* A link's configuration with the names of its two nodes, dtn:none when unknown. */
struct cla_named {
    const void *config;
    const struct eid *node, *peer;
};

/* Sockets of one kind exclude each other at one address and port. */
enum cla_socket { CLA_SOCKET_NONE, CLA_SOCKET_UDP, CLA_SOCKET_TCP };

/* Addresses of a link, as its configuration has them. */
struct cla_addresses {
    /* Socket that it binds at `local`. Links of one adapter share it, or cla_conflict returns an
     * error. */
    enum cla_socket socket;
    const char *key; /* the key of `local`, static */
    struct address local;
    struct address remote; /* destination of datagrams; not given: none, or a host name */
};

/* Endpoints of a link whose transport is bundles of its own node. */
struct cla_tunnel {
    const char *near_key, *far_key; /* their keys, static */
    struct eid near_end; /* of this node: encapsulating bundles for the link arrive here */
    struct eid far_end;  /* destination of the link's encapsulating bundles */
};

/* How beacons of discovery name an adapter. */
struct cla_service {
    const char *name; /* in IPND, as dtn7-rs has it; static */
    int number;       /* as dtn7-go has it; -1: none */
};

/*
 * The functions of an adapter; one table for each adapter. A member that may be NULL is marked
 * "NULL:" with the default. The node calls the wrappers below, which have these defaults.
 *
 * Unless noted, all functions:
 *   - are called in the node's loop, and not within cla_events;
 *   - have a `config` of config_size bytes that `check` accepts. The caller owns it. It must exist
 *   as long as a link uses it;
 *   - have a `c` that `open` created and `close` has not ended;
 *   - return 0, or HELIO_E* with a text in why (why_cap bytes with the terminating zero): what is
 *   wrong and what would be right. *key (static) is then the key in question.
 */
struct cla_ops {
    /* ---- what it is ---- */
    const char *name; /* value of the key `adapter` */
    /* It accepts peers without a configured link that identify themselves (cla_events.peer). */
    bool inbound;
    /* Its protocol has no refusal: a bundle that the node refuses is lost. Such an adapter has
     * `pause`. */
    bool last_copy;
    /* Static. NULL: beacons do not name it, and discovery makes no links of it. */
    const struct cla_service *service;

    /* ---- its configuration ---- */
    const struct conf_option *options; /* ends with a NULL key; in groups: conf/conf_groups.h */
    size_t config_size;                /* size of the struct that the options fill */
    const struct cla_list *lists;      /* ends with a NULL key. NULL: none */
    const struct cla_renamed *renamed; /* ends with NULL. NULL: none */
    const char *const *live; /* the keys that `set` can change; ends with NULL. NULL: none */
    /* Checks relations between values, in addition to the table. The config may be invalid. NULL:
     * none. */
    int (*check)(const void *config, const char **key, char *why, size_t why_cap);
    /* Checks relations between values and the names of both nodes (peer: dtn:none when unknown).
     * NULL: none. */
    int (*check_names)(const void *config, const struct eid *node, const struct eid *peer,
                       const char **key, char *why, size_t why_cap);
    /* Can one node not have both links? `other` precedes in the configuration; the text is about
     * `config`. `open` would fail with the same text. NULL: any two links can coexist. */
    int (*conflict)(const struct cla_named *config, const struct cla_named *other, const char **key,
                    char *why, size_t why_cap);
    /* Warns of a configuration that does not work for this node at this time (s since 1970 UTC), or
     * will soon stop, such as an expiring certificate or one for another node. True: *key and a
     * text are set. NULL: no warnings. */
    bool (*warn)(const void *config, const struct eid *node, int64_t now, const char **key,
                 char *why, size_t why_cap);
    /* Is a link with this configuration up only if its peer has proved its name? NULL: no. */
    bool (*proves)(const void *config);
    /* The setting without which a key has no effect, such as "recovery: own", static; NULL: none.
     * NULL: for all keys. */
    const char *(*needs)(const char *key);
    /* Fills *out, which is zeroed before. NULL: the link binds no socket and sends to no
     * address. */
    void (*addresses)(const void *config, struct cla_addresses *out);
    /* Fills *out. NULL: the adapter originates no bundles. */
    void (*tunnel)(const void *config, struct cla_tunnel *out);
    /* Reads the files of the configuration. It may take seconds, so it may be called in any thread.
     * *out is for env.files of `open`, or for `set`, with the same configuration. The caller owns
     * it and calls `forget`. *out NULL: there are no files. NULL: this adapter has no files. */
    int (*read)(const void *config, void **out, const char **key, char *why, size_t why_cap);
    void (*forget)(void *files); /* not NULL with `read` */

    /* ---- a link ---- */
    /* Creates a link with a copy of *env. Its first cla_events.link follows after the call. */
    int (*open)(struct cla **out, const struct cla_env *env, const void *config, char *why,
                size_t why_cap);
    /* Values of keys in `live` have changed: `config` is borrowed in place of the former one.
     * files: as env.files. After an error nothing has changed. NULL: no key can change. */
    int (*set)(struct cla *c, const void *config, void *files, char *why, size_t why_cap);
    /* Reads key files again that can change while the link is open. *changed: other keys are in use
     * now. The text of an error says which keys are in use. NULL: none. */
    int (*renew)(struct cla *c, bool *changed, char *why, size_t why_cap);
    /* Ends the link; open sessions are dropped. The only event that follows is `closed`. The loop
     * calls it after the call, when the link's memory has been freed. */
    void (*close)(struct cla *c, void (*closed)(void *context), void *context);
    /* Asserts the invariants of the link, between two events. NULL: none. */
    void (*check_self)(const struct cla *c);

    /* ---- bundles to the peer ---- */
    /* CLA_REASON_NONE: the link has its own reference, and cla_events.done(key) follows after the
     * call. With other reasons nothing follows. CLA_REASON_BUSY: the window is full. */
    enum cla_reason (*send)(struct cla *c, uint64_t key, struct buf *bundle);
    /* Stops the transmission of a bundle, if still possible: it has expired, was deleted, or its
     * contact has ended. May be called again for the same bundle. 0: `done` follows as always,
     * after the call. HELIO_ENOENT: the transmission had not begun, and nothing follows. NULL: no
     * bundle can be cancelled (0). */
    int (*cancel)(struct cla *c, uint64_t key);
    /* Does the link lead to this endpoint, to the adapter's knowledge? NULL: it knows only the
     * configured peer. */
    bool (*reaches)(const struct cla *c, const struct eid *destination);
    /* Is this the host of `remote`, as far as its address is known? host: as in cla_proof. NULL: no
     * host is. */
    bool (*at_remote)(const struct cla *c, const uint8_t *host);
    /* Of a link that was created by cla_events.peer: the name is, or was, reserved, and evidence
     * that counted may not count any more. Asks cla_events.named for each session, and cuts those
     * that may not have the name. False: none is left, and the node closes the link. NULL: no
     * session has evidence. */
    bool (*judge)(struct cla *c);

    /* ---- bundles of the peer ---- */
    /* The node's answer to cla_events.received. The adapter signals a refusal, and the reason, to
     * the peer if the protocol has a message for it. */
    void (*confirm)(struct cla *c, uint64_t token, enum cla_verdict verdict);
    /* on: the node has no room, and the adapter stops reading from the peer, except the peer's
     * answers. !on: it reads again. NULL: the adapter cannot stop, and bundles without room are
     * refused. */
    void (*pause)(struct cla *c, bool on);
    /* The node spent `took` ns until `now` on bundles of this link, after `received` returned;
     * `fair` is the fair part of it. The adapter pauses the link (base/rest.h, env.rests). NULL:
     * the node does. */
    void (*charge)(struct cla *c, tick took, tick fair, tick now);

    /* ---- its own bundles (cla_self): with `tunnel`; both NULL without ---- */
    /* For cla_self.submit: the node has stored the bundle (ok), or refused it later. Once for
     * each. */
    void (*submitted)(struct cla *c, uint32_t token, bool ok);
    /* For cla_self.listen. The adapter answers once with cla_self.taken, at any time, also within
     * this call. */
    void (*delivered)(struct cla *c, const struct cla_delivery *d);

    /* ---- the operator and the contact plan ---- */
    /* An operator sets the link up or down. */
    void (*set_link)(struct cla *c, bool up);
    /* The state of the link by the contact plan. Bundles are transmitted only if both the plan and
     * the operator permit it. The plan limits the configured rate, and the timers follow its light
     * time. `contact` is borrowed for the call; NULL: the plan has no contacts for this link any
     * more. */
    void (*contact)(struct cla *c, const struct cla_contact *contact);
    /* An operator cancels a session of either end; its bundles are transmitted again. HELIO_ENOENT:
     * there is no such session. originator 0: this node. No text. NULL: there are no sessions
     * (HELIO_EINVAL). */
    int (*cancel_session)(struct cla *c, uint64_t originator, uint64_t number);
    /* Adds counters, sessions and rates to a JSON object. NULL: none. */
    void (*status)(struct cla *c, struct json_t *object);
    /* Fills *out, which is zeroed before, with TICK_NEVER for its times. NULL: nothing is known. */
    void (*gauges)(const struct cla *c, struct cla_gauges *out);
};

/* A link. It is the first member of the adapter's own struct, which is zeroed and from malloc. */
struct cla {
    const struct cla_ops *ops;
    struct cla_limits limits;
    /* Private to the adapter, for the functions below. */
    const struct cla_events *events; /* of the link's cla_env */
    bool told, told_up;              /* cla_events.link was called; its latest argument */
    void (*closed)(void *context);   /* of ops->close; NULL: the link is open */
    void *closed_context;
    struct list node; /* in the links of its local endpoint (cla/local_endpoint.h) */
};

/* For adapters: calls to their node, if the event is not NULL. cla_init begins a link; `events`
 * must stay valid. cla_say: a line for the operator's log. cla_tell_link: up or down, if it has
 * changed. cla_tell_limits: c->limits has changed. */
void cla_init(struct cla *c, const struct cla_ops *ops, const struct cla_events *events);
void cla_say(struct cla *c, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cla_say_args(struct cla *c, int level, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
void cla_tell_link(struct cla *c, bool up);
void cla_tell_limits(struct cla *c);
/* For ops->close. cla_closing keeps the function to call. cla_end frees the link and calls it. */
void cla_closing(struct cla *c, void (*closed)(void *context), void *context);
void cla_end(struct cla *c);

/* For the node: wrappers for members of cla_ops that may be NULL, with the defaults. cla_check also
 * checks the names, unless node is NULL. cla_tunnel, cla_charge, cla_delivered: false: there is no
 * such member. cla_status, cla_gauges: of NULL, the defaults. */
int cla_check(const struct cla_ops *ops, const void *config, const struct eid *node,
              const struct eid *peer, const char **key, char *why, size_t why_cap);
int cla_conflict(const struct cla_ops *ops, const struct cla_named *config,
                 const struct cla_named *other, const char **key, char *why, size_t why_cap);
bool cla_warn(const struct cla_ops *ops, const void *config, const struct eid *node, int64_t now,
              const char **key, char *why, size_t why_cap);
bool cla_proves(const struct cla_ops *ops, const void *config);
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
bool cla_at_remote(const struct cla *c, const uint8_t *host);
bool cla_judge(struct cla *c);
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
