/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle agent (RFC 9171 §5): pure. It decides about each bundle. Its caller, the binder,
 * stores, transmits and delivers bundles, and reports the outcomes.
 *
 *   push:  agent_register · agent_link · agent_window · agent_send · agent_receive · agent_stored ·
 *          agent_loaded · agent_sent · agent_delivered · agent_expire · agent_verify
 *   pull:  agent_poll (the next action) · agent_deadline
 *
 * A bundle is accepted (agent_send, agent_receive) → STORE → agent_stored → CONFIRM to its sender →
 * SEND or DELIVER (after LOAD, if its bytes are not in memory) → agent_sent, agent_delivered →
 * REMOVE. agent_restore restores stored bundles. After each push the binder calls agent_poll until
 * 0.
 */
#ifndef BP_AGENT_H
#define BP_AGENT_H

#include "bp/agent/event.h"
#include "bp/agent/permit.h"
#include "bp/agent/router.h"
#include "bp/agent/rule.h"
#include "bp/agent/shortage.h"
#include "bp/codec/admin.h"
#include "bp/codec/bundle.h"
#include "bp/codec/security/security_policy.h"

#ifdef __cplusplus
extern "C" {
#endif

struct agent;

/* Configuration. 0 takes the default in brackets. */
struct agent_config {
    struct eid node; /* ipn:N.0 or dtn://name/ */
    uint64_t seed;
    enum bundle_mode mode; /* for bundles of peers */
    /* For bundles that are created here. With CRC_NONE the primary block still has a CRC_32C. */
    enum crc_type crc;
    uint64_t default_lifetime_ms; /* [86,400,000] */
    uint64_t bundle_max;          /* longest bundle accepted, bytes [1 GiB] */
    /* Bytes of all extension blocks of a bundle [256 KiB]; see also BUNDLE_REST_MAX. */
    uint64_t extensions_max;
    uint64_t held_bundles; /* bundles at the node [1,000,000] */
    uint64_t held_bytes;   /* bytes of these bundles [20 GiB] */
    /* Bundle bytes kept in memory beside the store [256 MiB]; others are LOADed when needed. */
    uint64_t memory_bytes;
    /* Memory of bundles in all: bytes in memory and the agent's data of each; further bundles are
     * refused. memory_bytes is limited to a quarter of it [no limit; not with memory_only]. */
    uint64_t total_bytes;
    /* There is no store: held_bytes limits the memory of bundles in all. */
    bool memory_only;
    /* Ids remembered to detect duplicates [1,000,000]; their memory is at most an eighth of
     * total_bytes (memory_only: held_bytes), but 1,024 are always kept. */
    uint64_t seen_max;
    uint64_t returns_max;       /* forwarded bundles whose return is detected [65,536] */
    uint64_t reassemblies_max;  /* bundles in reassembly [1,024] */
    uint64_t fragments_max;     /* fragments of one of them [4,096] */
    uint64_t fragments_all_max; /* of all of them [262,144] */
    /* A bundle in reassembly may be dropped for another one if it did not grow for so long [10
     * s]. */
    tick reassembly_idle;
    /* Overriding lifetime (RFC 9171 §4.3.1): maximum time of a bundle at this node [no limit]. */
    uint64_t lifetime_max_ms;
    /* Percentage of held_bundles, held_bytes, reassemblies_max and fragments_all_max that is
     * reserved, in equal shares for each peer of a link and for applications [0: none]. */
    uint64_t reserve_percent;
    uint64_t source_percent; /* percentage of the same: maximum for one source [100] */
    /* Percentage of the room of a peer's source: maximum for bundles to one endpoint here. All
     * endpoints without a receiver count as one: those without a registration, or whose
     * registrations took nothing for RECEIVER_IDLE [100: no such limit]. */
    uint64_t endpoint_percent;
    /* Percentage of held_bundles and held_bytes that is reserved, before all other shares, in equal
     * parts for the bundles of each link, of the endpoints here, and without a route. So full
     * queues of some routes never cause refusals of bundles for others [0: nothing]. */
    uint64_t queue_percent;
    /* A bundle without room displaces waiting bundles that rank below it: those of lower priority
     * first, then those that expire first (END_DROPPED) [false: it is refused]. */
    bool drop_when_full;
    /* A neighbour's bundle whose only routes lead back to that neighbour is accepted, and returned
     * if no other route appears [false: refused, NO_ROUTE, unless forwarded before]. */
    bool keep_unreachable;
    /* A bundle that is dropped, but not for lack of room, is confirmed [false: the peer should keep
     * it]. */
    bool confirm_dropped;
    bool status_reports;  /* send requested status reports [false, the default of RFC 9171 §5.1] */
    uint64_t report_rate; /* status reports per second, and at once; others are not sent [100] */
    /* Hop limit of bundles that are created here, 1 to 255, with a hop count block [0: none]. */
    uint64_t hop_limit;
    bundle_event_sink *sink; /* bundle log; NULL: none. Event times are agent_now.now */
    void *sink_context;
    tick retry_min,
        retry_max; /* pause before a failed forwarding is retried; doubled each time [1 s, 60 s] */
    /* Work of one call when answers of the router change: questions and moves of waiting bundles;
     * also timers, ending pauses, and bundles of a removed link. While more is due agent_deadline
     * is not after now [1,024]. */
    uint64_t place_slice;
};

/* Returns 0 with *out, which the caller frees with agent_free; HELIO_ENOMEM, or HELIO_EINVAL: a
 * wrong configuration. */
int agent_new(struct agent **out, const struct agent_config *config);
/* Frees the agent and its buffers; bundles in the store remain. NULL is allowed. */
void agent_free(struct agent *a);
/* Sets the bundle bytes for which the store's medium has room, including the held ones. The lower
 * of it and config.held_bytes is the limit, and the base of all shares. Not with memory_only. */
void agent_fits(struct agent *a, uint64_t held_bytes);

/* Time of a push: `now` is the engine's clock, `dtn_ms` the DTN time (§4.2.6) at that moment. */
struct agent_now {
    tick now;
    uint64_t dtn_ms;
};

/* Adds a link. link: an index of the binder's choice, below 2^20, preferably small. window: bundles
 * in transmission at once (sessions), >= 1. HELIO_EEXIST: the index is in use. */
int agent_link_add(struct agent *a, uint32_t link, const struct eid *peer, uint32_t window);
/* Removes a link; its index is free. Its bundles, queued or given to it, are placed elsewhere (many
 * in several calls). Its static routes are removed. No answer follows for bundles that it brought;
 * the binder must report no outcome of bundles given to it. Returns 0 or HELIO_ENOENT. */
int agent_link_remove(struct agent *a, uint32_t link, struct agent_now now);
/* The link went up or down (RFC 9171 §5.4: forwarding over it is possible, or not). */
void agent_link(struct agent *a, uint32_t link, bool up, struct agent_now now);
/* The neighbour was silent and is heard again: all pauses of the link end. */
void agent_heard(struct agent *a, uint32_t link, struct agent_now now);
/* Sets the longest bundle that the link accepts, bytes; 0, the initial value: any. Longer ones are
 * sent in fragments, or, if they must not be fragmented, over another link. */
void agent_link_limit(struct agent *a, uint32_t link, uint64_t bundle_max, struct agent_now now);
/* Sets the window of a link, >= 1. With a smaller one nothing is recalled: no further bundle is
 * sent until the window has room. */
void agent_window(struct agent *a, uint32_t link, uint32_t window, struct agent_now now);
/* Sets how bundles of different priorities share a link, and rules that queue bundles with another
 * priority (the first match). Copied. Queued bundles stay in their queues. HELIO_ENOENT,
 * HELIO_EINVAL (a weight of 0, above 1,000,000), HELIO_ENOMEM. Default: the usual weights, as for
 * endpoints. */
struct agent_queue_rule {
    struct rule rule;
    enum bundle_priority queue;
};
#define AGENT_WEIGHT_MAX 1000000
struct agent_service {
    bool strict; /* a priority is sent only if no higher one waits; else by weights: none starves */
    uint32_t weights[BUNDLE_PRIORITIES]; /* relative bytes of each priority; all 0: 1, 8, 64 */
    const struct agent_queue_rule *rules;
    size_t rules_len;
    /* Limits of the bundles in the link's queues, in transmission, and being stored for it: bundles
     * beyond them are refused (QUEUE). Bundles that were accepted for another route and then moved
     * here are not. A single bundle may be longer. 0: no own limit. */
    uint64_t bundles_max, bytes_max;
};
/* Sets the queues of a link. Returns 0, HELIO_ENOENT, HELIO_EINVAL or HELIO_ENOMEM. */
int agent_link_service(struct agent *a, uint32_t link, const struct agent_service *s);
/* Bundles queued for a link and in transmission, by queue, and those given to the link so far (also
 * fragments and repetitions). False: there is no such link. */
struct agent_backlog {
    uint64_t bundles, bytes;
    uint64_t given, given_bytes;
};
/* Writes the numbers for each priority. False: there is no such link. */
bool agent_backlog(const struct agent *a, uint32_t link,
                   struct agent_backlog out[BUNDLE_PRIORITIES]);
/* The limits of a link's bundles, and their refusals. False: there is no such link. */
struct agent_bound {
    uint64_t bundles_max, bytes_max;     /* 0: none */
    uint64_t refused;                    /* refused bundles by these limits */
    uint64_t apart_bundles, apart_bytes; /* in the part that is reserved for it */
    uint64_t share_bundles, share_bytes; /* size of that part */
};
/* Writes the link's limits. False: there is no such link. */
bool agent_bound(const struct agent *a, uint32_t link, struct agent_bound *out);
/* Static routes (bp/agent/forwarding/routes.h), the agent's own router; used unless agent_router
 * sets another one. HELIO_ENOENT: there is no such link, no such route. Waiting bundles are placed
 * again with the next push (until then agent_deadline is 0). */
int agent_route_add(struct agent *a, const struct eid_pattern *pattern, uint32_t link);
/* Removes a static route. Returns 0 or HELIO_ENOENT. */
int agent_route_remove(struct agent *a, const struct eid_pattern *pattern, uint32_t link);
/* The i-th static route, the most specific first. False: there are no more. */
bool agent_route_at(const struct agent *a, size_t i, struct eid_pattern *pattern, uint32_t *link);
/* Sets the router (NULL: the static routes); waiting bundles are placed again. It must exist until
 * it is replaced or the agent is freed. A noted booking is taken back when the router is replaced,
 * but not when the agent is freed. */
void agent_router(struct agent *a, const struct router *router);
/* The static routes as a router, for use by another router. */
struct router agent_routes(struct agent *a);
/* The router's answers may have changed from outside: waiting bundles are placed again. */
void agent_reroute(struct agent *a);

/* Another sink of events, from now on; NULL: none. */
void agent_sink(struct agent *a, bundle_event_sink *sink, void *context);

/* Sets the security policy (NULL: none). It protects bundles that are created here and forwarded.
 * It verifies arriving bundles before all other processing: before the check for duplicates and
 * before administrative records are processed. Bundles in fragments are verified before delivery
 * (agent_verify). The policy must exist until it is replaced or the agent is freed. */
void agent_security(struct agent *a, struct security_policy *policy);

/* Sets the ingress or egress rules (bp/agent/permit.h) of one direction; copied. Present bundles
 * stay. A forbidden link is no route for a bundle, and waiting bundles are placed again. Errors as
 * permits_new; then nothing has changed. */
int agent_permit(struct agent *a, enum permit_way way, const struct permit *list, size_t len);
/* NULL: none were set. Valid until the next agent_permit. */
const struct permits *agent_permits(const struct agent *a, enum permit_way way);
/* The latest bundle that rules refused (RULE, LIMIT), and their direction; count 0: none. Valid
 * until the next agent call. */
const struct permit_refusal *agent_forbidden(const struct agent *a, enum permit_way *way);
/* Has the endpoint a registration for which `match` returns true? NULL: any. */
bool agent_registered(const struct agent *a, const struct eid *endpoint,
                      bool (*match)(uint64_t reg));
/* May an application of this user register the endpoint, and send from it? A refusal is counted. */
bool agent_may_register(struct agent *a, uint64_t user, const struct eid *endpoint);

/* Sets which endpoints may have several registrations, and how these share bundles. The first
 * matching pattern applies, to endpoints without registrations and bundles. Default: ONE, and ALL
 * for groups. HELIO_ENOMEM; HELIO_EAGAIN: 4,096 patterns exist. */
enum agent_sharing {
    AGENT_SHARE_ONE,  /* one registration: others are refused */
    AGENT_SHARE_PASS, /* each bundle to one of them, in turn, by the room in their windows */
    /* Each bundle to all that are registered at its turn; each has its own queue. */
    AGENT_SHARE_ALL,
};
/* Sets how registrations share endpoints of the pattern. Returns 0, HELIO_EAGAIN (too many such
 * rules) or HELIO_ENOMEM. */
int agent_share_endpoints(struct agent *a, const struct eid_pattern *pattern,
                          enum agent_sharing how);
/* Registers an endpoint of this node. `reg` is the binder's number. Waiting bundles for the
 * endpoint are delivered at once. window: deliveries outstanding at once. HELIO_EEXIST: the
 * endpoint is registered and not shared, or is the node's own name: the agent reads administrative
 * records for it and refuses other bundles. A group (imc:5.1) may be registered, too: its bundles
 * are delivered here and also forwarded; its fragments are forwarded as such, and delivered as one
 * bundle. */
int agent_register(struct agent *a, uint64_t reg, const struct eid *endpoint, uint32_t window,
                   struct agent_now now);
/* Open deliveries of this registration return to the head of the queue: no agent_delivered for
 * them. */
void agent_unregister(struct agent *a, uint64_t reg, struct agent_now now);

/* Reasons of refusals. Each is counted. */
#define AGENT_REFUSALS(X)                                                                          \
    X(NONE, "accepted")                                                                            \
    X(MALFORMED, "malformed bundle")                                                               \
    X(DUPLICATE, "bundle was here before")                                                         \
    X(EXPIRED, "lifetime expired")                                                                 \
    X(HOP_LIMIT, "hop limit exceeded")                                                             \
    X(NO_ROUTE, "no route to the destination")                                                     \
    X(ENDPOINT, "the administrative endpoint takes administrative records only")                   \
    X(BLOCK, "a block that this node cannot process demands deletion")                             \
    X(TOO_LATE, "no contact can bring it there before its lifetime ends")                          \
    X(TOO_LONG, "bundle longer than the limit")                                                    \
    X(FULL, "the node's limit of bundles or bytes is reached")                                     \
    X(QUOTA, "the share of its peer, source or idle endpoint in the node's limits is used up")     \
    X(QUEUE, "the queue of the link that it would go to is full")                                  \
    X(STORE, "the store refused it (medium or limit full)")                                        \
    X(FRAGMENT, "fragment without bytes, or beyond its bundle's length")                           \
    X(BUSY, "it is being stored here, or is on its way to another node, whose answer is awaited")  \
    X(SECURITY, "a security operation that the policy wants is missing, or failed")                \
    X(TOKEN, "the token that has the key for its security operation does not answer")              \
    X(RULE, "no rule of this node allows it")                                                      \
    X(LIMIT, "a limit of its rule is reached: rate, bundles or bytes")                             \
    X(INVALID, "the request is not legal")                                                         \
    X(NO_MEMORY, "out of memory")
#define AGENT_REFUSAL_ENUM(name, text) REFUSE_##name,
enum agent_refusal { AGENT_REFUSALS(AGENT_REFUSAL_ENUM) REFUSE_COUNT };
#undef AGENT_REFUSAL_ENUM
const char *agent_refusal_text(enum agent_refusal r); /* static */
const char *agent_refusal_word(enum agent_refusal r); /* "NO_ROUTE"; static */

/*
 * A bundle of an application. A destination or report-to ipn:!.N (RFC 9758 §3.4.2) is endpoint N of
 * this node, if the node has an ipn name. The data of `payload` is the application data, with head
 * room >= BUNDLE_HEAD_MAX (or what its blocks need: BUNDLE_HEAD_IPN) and tail room >=
 * BUNDLE_TAIL_MAX. On REFUSE_NONE the agent owns it, and exactly one CONFIRM or REFUSED with
 * `token` follows. Otherwise no action follows. source and report_to may be eid_none(); an
 * anonymous source (none) must not request reports.
 */
struct agent_request {
    struct eid source, destination, report_to;
    uint64_t lifetime_ms; /* 0: default */
    uint64_t flags;       /* bundle_flag: report requests, no-fragment, APP_ACK */
    bool record;          /* an administrative record (§6), from the node's own parts only */
    int crc;              /* enum crc_type of the payload block, or -1: as configured */
    struct buf *payload;
    const struct bundle_block *block; /* one further extension block, number 0; or NULL */
    const struct bundle_qos *qos;     /* content of a QoS block; NULL: no block, normal priority */
    uint64_t token;                   /* of the binder */
    /* The application's user, not 0; users, and endpoints of one user, have fair shares; 0:
     * unknown. */
    uint64_t user;
};
/* Accepts an ADU for transmission (RFC 9171 §5.2); *out is the new bundle's id. REFUSE_NONE or
 * the reason. */
enum agent_refusal agent_send(struct agent *a, const struct agent_request *r, struct agent_now now,
                              struct bundle_id *out);

/*
 * A whole bundle from a link, in its buffer, which the agent owns in any case. `token` identifies
 * it in the answer. CONFIRM: it is stored, and the link may acknowledge it. REFUSED: the peer
 * should keep it (`keep`), or it was dropped by the rules of RFC 9171 (EXPIRED, HOP_LIMIT, BLOCK;
 * with confirm_dropped also without a route, too long …). Exactly one of them follows, unless
 * REFUSE_NO_MEMORY is returned: then the peer should keep it. A DUPLICATE is answered with CONFIRM
 * and refusal DUPLICATE; while the first one is not stored, or is in transmission, with REFUSED and
 * BUSY. A forwarded bundle that returns is no duplicate: the node that returns it has no other
 * route, and it would be lost. A fragment for this node is stored and confirmed like any bundle;
 * complete bundles are delivered as one (§5.9).
 */
enum agent_refusal agent_receive(struct agent *a, uint32_t link, struct buf *bundle, uint64_t token,
                                 struct agent_now now);

/* agent_receive for a link that can wait. *waits: there is no room for this or any other bundle of
 * the neighbour (the node is full, or the neighbour's share, or that of its only source). Then
 * nothing happened and nothing was counted; the caller still owns the bundle and offers it again
 * later (AGENT_OFFER_AGAIN, except after LIMIT, when its rate was not charged). AGENT_OFFER_LAST:
 * the peer has no copy any more, and cannot be informed of a refusal; then a bundle refused with
 * QUOTA, QUEUE or LIMIT also waits, even if others have room. A fragment beyond a limit of
 * fragments (reassemblies_max, fragments_max, fragments_all_max) never waits: it would stop other
 * bundles. */
#define AGENT_OFFER_AGAIN 1U
#define AGENT_OFFER_LAST 2U
/* agent_receive for a bundle that can wait; *waits: it was not accepted, offer it again later. */
enum agent_refusal agent_offer(struct agent *a, uint32_t link, struct buf *bundle, uint64_t token,
                               unsigned how, bool *waits, struct agent_now now);

/* At start, before other calls: adds a stored bundle by its head. Returns 0, HELIO_EFORMAT,
 * HELIO_ENOMEM. */
int agent_restore(struct agent *a, uint64_t key, struct slice head, uint64_t bytes);
/* The same for the id of a removed bundle, which is kept until `until_ms` against duplicates. */
int agent_restore_mark(struct agent *a, struct slice id, uint64_t until_ms);
/* The lifetime clock, ms: the time by which lifetimes expire. It only advances, by elapsed time,
 * independent of the wall clock. It begins at the DTN time of the first push, or after a restart at
 * `life_ms` at the moment of `now` (bp/agent/life_clock.h). Heads and marks use it. */
void agent_restore_clock(struct agent *a, uint64_t life_ms, struct agent_now now);
/* The lifetime clock at `now`, ms. */
uint64_t agent_life_ms(const struct agent *a, struct agent_now now);
/* The bundle's remaining lifetime by this clock, ms, rounded up. 0: expired, or there is no such
 * bundle; UINT64_MAX: it never expires. */
uint64_t agent_left_ms(const struct agent *a, uint64_t key, struct agent_now now);
/* Sequence numbers below this one may be in use: the value noted with AGENT_STORE, or the start
 * value of a node without clock and notes. */
void agent_restore_sequence(struct agent *a, uint64_t next);
/* Keys up to this one are in use in the store. */
void agent_restore_key(struct agent *a, uint64_t key);

/* Memory of a bundle that is still arriving: by a link, or (AGENT_OWN) from an application. It
 * counts like that of stored bundles (total_bytes; memory_only: held_bytes), and against the
 * neighbour's share. Charge received bytes, not announced ones. */
#define AGENT_OWN UINT32_MAX /* in place of a link: applications */
/* Charges `bytes` before they are received. False: no room, or no such link. */
bool agent_reserve(struct agent *a, uint32_t link, uint64_t bytes);
/* Charges released bytes again without a check: agent_offer left the bundle with its link. */
void agent_reserve_again(struct agent *a, uint32_t link, uint64_t bytes);
/* Takes back a charge of agent_reserve: just before agent_receive, or when the transfer ends. */
void agent_release(struct agent *a, uint32_t link, uint64_t bytes);

/* The outcome of AGENT_STORE: `ok`, it is on the medium; else the bundle is refused. */
void agent_stored(struct agent *a, uint64_t key, bool ok, struct agent_now now);
/* Takes the reference. NULL: it failed; this is counted and tried again later, at most 8 times.
 * Bytes that differ from the stored ones, or are gone: the bundle ends at once. */
void agent_loaded(struct agent *a, uint64_t key, struct buf *bundle, struct agent_now now);
/* ok: the link has transmitted it; !ok: it is kept and tried again. */
void agent_sent(struct agent *a, uint64_t key, bool ok, struct agent_now now);
/* agent_sent(!ok) with the reason for the log: static text, or NULL. */
void agent_failed(struct agent *a, uint64_t key, const char *reason, struct agent_now now);
/* The same: the link's peer had the bundle, and may accept it later. It is retried after a pause,
 * in a new turn of its source: so a bundle that is refused repeatedly uses no more of the link than
 * others. */
void agent_refused(struct agent *a, uint64_t key, const char *reason, struct agent_now now);
/* In place of agent_sent: the link's peer will never accept this bundle. The link is not used for
 * it any more (until a restart). It uses another route of the router. Without one, or after
 * AGENT_DECLINES_MAX declines, it is deleted (END_DECLINED), with a report if requested:
 * "transmission canceled" (RFC 9171 §6.1.1). */
#define AGENT_DECLINES_MAX 4
/* `reason`: static text for the log, or NULL. */
void agent_declined(struct agent *a, uint64_t key, const char *reason, struct agent_now now);
/* No outcome: the link's session that transmits the bundle, for the log. */
void agent_carried(struct agent *a, uint64_t key, uint64_t originator, uint64_t session,
                   struct agent_now now);
/* In place of agent_sent: an unreliable link reports a loss. The bundle is sent again at once, up
 * to `resend` times in all at this node (counted again after a restart). Then it is deleted, and
 * reported if requested. */
void agent_lost(struct agent *a, uint64_t key, uint64_t resend, const char *reason,
                struct agent_now now);
/* !ok: kept for the next registration. */
void agent_delivered(struct agent *a, uint64_t key, bool ok, struct agent_now now);
/* In place of agent_delivered: the application has no room now. The bundle is delivered again after
 * a pause (retry_min, doubling to retry_max); it does not use the window meanwhile. */
void agent_put_off(struct agent *a, uint64_t key, const char *reason, struct agent_now now);
/* Finds the key of a bundle that is here and no fragment. Returns 0 or HELIO_ENOENT. */
int agent_find(const struct agent *a, const struct bundle_id *id, uint64_t *key);
/* The application has answered a RECALL: the delivery no longer uses the registration's window. */
void agent_recalled(struct agent *a, uint64_t reg, struct agent_now now);
/* Deletes a bundle for an operator, or recalls it if it was given away. Returns 0 or
 * HELIO_ENOENT. */
int agent_delete(struct agent *a, uint64_t key, struct agent_now now);

/* Serves the agenda: call it when agent_deadline is not after `now`. */
void agent_expire(struct agent *a, struct agent_now now);
/* The time of the next agent_expire; TICK_NEVER: none. */
tick agent_deadline(const struct agent *a);

enum agent_action_kind {
    /* Put key, head, bundle (and the note, if any) in one transaction; answer with agent_stored. */
    AGENT_STORE,
    AGENT_LOAD,    /* get key with BUNDLE_HEAD_MAX head room; answer with agent_loaded */
    AGENT_REMOVE,  /* remove key, and mark id when mark_id is not empty; no answer */
    AGENT_SEND,    /* give the bundle to the link; answer with agent_sent */
    AGENT_DELIVER, /* give the payload to the registration; answer with agent_delivered */
    /* A bundle that was given away has expired or was deleted. From a link (from_link): end the
     * transmission if possible; agent_sent or agent_lost follows as usual. From a registration: the
     * bundle is deleted, do not call agent_delivered; it uses the window until agent_recalled. */
    AGENT_RECALL,
    AGENT_CONFIRM, /* answer to the owner of token: accepted */
    AGENT_REFUSED, /* answer to the owner of token: refused, with refusal */
};
struct agent_action {
    enum agent_action_kind kind;
    uint64_t key;   /* of the bundle, never used again in this store */
    uint64_t token; /* CONFIRM, REFUSED */
    bool from_link; /* CONFIRM, REFUSED: the token is a link's, else an application's; RECALL */
    enum agent_refusal refusal;
    bool keep;     /* REFUSED to a link: the peer should keep it; else it was dropped for good */
    uint32_t link; /* SEND; CONFIRM, REFUSED and RECALL from a link */
    uint64_t reg;  /* DELIVER, RECALL */
    struct slice head;    /* STORE; valid until the next agent call */
    struct slice mark_id; /* STORE, REMOVE: remember this id */
    uint64_t mark_until_ms;
    /* STORE: if not 0, note with the bundle that lower sequence numbers are in use. */
    uint64_t sequence_end;
    /* STORE, SEND: the encoded bundle. DELIVER: the same, or only the payload of a bundle joined
     * from fragments. One reference, owned by the caller. */
    struct buf *bundle;
    struct slice payload;                /* DELIVER: view into bundle */
    struct bundle_id id;                 /* DELIVER, CONFIRM */
    struct eid destination;              /* DELIVER */
    uint64_t flags, age_ms, lifetime_ms; /* DELIVER */
    enum bundle_priority priority;       /* DELIVER */
    uint8_t ordinal;                     /* likewise */
    /* DELIVER: the link that received it; -1: none, or unknown. */
    int from;
};
/* Returns 1 and the next action, or 0. SEND is returned only for a link that is up with room in its
 * window; DELIVER only with room in the registration's. */
int agent_poll(struct agent *a, struct agent_action *out);

/* A joined bundle that was verified. */
struct agent_verified {
    /* The link that received the first fragment, which has the security blocks (RFC 9171 §5.8); if
     * it was removed, another one to the same peer; -1: none. */
    int link;
    uint64_t bytes; /* of the bundle */
    bool passed;    /* false, and not absent: it was deleted (INSECURE) */
    /* The token with the key does not respond, so the bundle waits: call again later. */
    bool absent;
};
/* Verifies the next joined bundle, whose turn for delivery agent_poll found. True: there was one,
 * and agent_poll may have actions; false: none waits. The bundle's source determines the cost, so
 * the binder measures this call and makes it only as often as it has time. These bundles do not use
 * the window of their endpoint; several peers take turns. */
bool agent_verify(struct agent *a, struct agent_now now, struct agent_verified *out);

/* Reasons why an accepted bundle left this node. Each is counted. */
#define AGENT_ENDS(X)                                                                              \
    X(FORWARDED, "forwarded")                                                                      \
    X(DELIVERED, "delivered")                                                                      \
    X(EXPIRED, "expired")                                                                          \
    X(DELETED, "deleted")                                                                          \
    X(GIVEN_UP, "given_up")     /* lost by an unreliable link too often */                         \
    X(DECLINED, "declined")     /* its next hops declined it, and there is no other route */       \
    X(UNREADABLE, "unreadable") /* the store does not give it back, or not as it was */            \
    X(GAVE_WAY, "gave_way")     /* fragments of the bundle that had not grown for longest */       \
    X(DROPPED, "dropped")       /* it was full, and another one took its place */                  \
    X(INSECURE, "insecure")     /* of fragments: a security operation is missing or failed */      \
    X(REDUNDANT, "redundant")   /* a fragment whose bytes are here, or were delivered */           \
    X(NOT_STORED, "not_stored") /* of fragments and what they make only: it was refused */
#define AGENT_END_ENUM(name, text) END_##name,
enum agent_end { AGENT_ENDS(AGENT_END_ENUM) END_COUNT };
#undef AGENT_END_ENUM
const char *agent_end_text(enum agent_end e); /* static */

/*
 * Identities that hold after every call (agent_check asserts them); the sums are over the reasons:
 *
 *   bundles     offered = consumed + sum refused + storing + accepted_local + received
 *   bundles     accepted_local + received + restored = bundles - storing + sum ended
 *   fragments   fragments_in = fragments + sum fragments_ended
 *   reassemblies  reassemblies_begun = reassemblies + sum reassemblies_ended
 *   ADUs        delivered = ended[DELIVERED] - fragments_ended[DELIVERED]
 *                           + fragments_going_on + reassemblies_ended[DELIVERED]
 *
 * A fragment is a bundle. `fragments` are those for endpoints of this node; a reassembly is the
 * bundle that they will form. An application gets an ADU, whether it arrived in one bundle or in
 * fragments.
 */
struct agent_counters {
    /* bundles of applications, of this agent (status reports), and of links */
    uint64_t offered, consumed, refused[REFUSE_COUNT];
    uint64_t accepted_local, received, restored, ended[END_COUNT];
    uint64_t fragments_in, fragments, fragments_ended[END_COUNT];
    /* now: of delivered bundles of groups, which are still being forwarded */
    uint64_t fragments_going_on;
    uint64_t reassemblies_begun, reassemblies, reassemblies_ended[END_COUNT];
    uint64_t delivered; /* ADUs */
    uint64_t send_failures, load_failures;
    uint64_t lost;    /* transmissions lost by unreliable links */
    uint64_t lenient; /* received bundles with findings that only the lenient mode accepts */
    uint64_t reports_sent, reports_received;
    uint64_t reports_limited; /* requested but not sent: more than report_rate */
    /* administrative records for the node of unknown types, or malformed */
    uint64_t records_ignored;
    uint64_t returned;  /* forwarded bundles that returned */
    uint64_t too_late;  /* accepted bundles for which no route was in time */
    uint64_t forgotten; /* ids without memory: their duplicates are not detected */
    /* Ids that were displaced by newer ones before they expired: likewise. */
    uint64_t displaced;
    uint64_t bundles, bytes, memory_bytes, resting_bytes; /* now; resting: may leave memory */
    uint64_t record_bytes;                  /* now: memory of bundles without their bytes */
    uint64_t arriving_bytes, sending_bytes; /* now: agent_reserve; links', not in memory_bytes */
    uint64_t seen_bytes;                    /* now: of ids to detect duplicates; never decreases */
    /* Now: bundles that wait for agent_stored, and their memory. While it is high binders should
     * read no more from applications. */
    uint64_t storing, storing_bytes;
};
/* The agent's counters, which stay valid as long as the agent. */
const struct agent_counters *agent_counters(const struct agent *a);
/* Bytes of memory that count in its limit; the limit (total_bytes, or held_bytes: memory_only). */
uint64_t agent_memory_used(const struct agent *a), agent_memory_max(const struct agent *a);

/* Bundles of links that were refused without a route (NO_ROUTE; each offer counts), and the latest
 * of them. Valid until the next agent call. */
struct agent_unrouted {
    uint64_t count;
    struct eid source, destination;
    uint32_t link;
};
/* The agent's record of such bundles; count 0: there was none. */
const struct agent_unrouted *agent_unrouted(const struct agent *a);

/* Bundles of links that had expired on arrival (EXPIRED; each offer counts), and the latest of
 * them. Valid until the next agent call. */
struct agent_stale {
    uint64_t count;
    struct eid source;
    uint32_t link;
    uint64_t over_ms; /* time since it had expired, by this node's clock */
};
/* The agent's record of such bundles; count 0: there was none. */
const struct agent_stale *agent_stale(const struct agent *a);

/* The latest bundle that was refused for lack of room (FULL, QUOTA, QUEUE), or that a waiting link
 * must offer again. Valid until the next agent call. */
const struct agent_shortage *agent_shortage(const struct agent *a);
/* The same for one of the latest such bundles of links; NULL: it is none of these. */
const struct agent_shortage *agent_shortage_of(const struct agent *a, const struct bundle_id *id);

/* The latest bundle that was refused as TOO_LATE, or is kept although no route is in time. Valid
 * until the next agent call. */
const struct agent_late *agent_late(const struct agent *a);
/* The same for one of the latest refused bundles of links; NULL: it is none of these. */
const struct agent_late *agent_late_of(const struct agent *a, const struct bundle_id *id);

/* What the peer of a link, or the applications, use of the node, and the share of each. */
struct agent_share {
    uint64_t bundles, bytes, reassemblies, fragments;
    uint64_t share_bundles, share_bytes;
    uint64_t arriving, share_arriving; /* bytes of arriving bundles */
};
/* Writes the use and the share; link AGENT_OWN: of the applications. */
void agent_share(const struct agent *a, uint32_t link, struct agent_share *out);

struct agent_bundle_info {
    uint64_t key;
    struct bundle_id id;
    struct eid destination;
    uint64_t bytes, expires_ms; /* DTN time, by the clock of the last push */
    uint64_t age_ms;            /* time at this node, at the latest push */
    const char *state;          /* "storing", "waiting", "sending", "delivering" … static */
    int link;                   /* -1: none */
    enum bundle_priority priority;
    uint8_t ordinal;
};
/* All values of `state`, then NULL. */
extern const char *const agent_states[];
/* Writes at most `max` of the bundles at this node, and returns how many it wrote. */
size_t agent_bundles(const struct agent *a, struct agent_bundle_info *out, size_t max);
/* Visits all bundles, a few per call, with pushes in between: a bundle that stays is visited once.
 * cursor: 0, then the latest result, until that is 0. */
uint64_t agent_bundles_scan(const struct agent *a, uint64_t cursor,
                            void (*see)(void *context, const struct agent_bundle_info *b),
                            void *context);
/* The bundle with this key; false: there is none. */
bool agent_bundle_find(const struct agent *a, uint64_t key, struct agent_bundle_info *out);
/* Why one bundle is still here, and what will happen; for people. */
struct agent_why {
    struct agent_bundle_info is;
    uint64_t tries; /* failed attempts to forward or deliver it, since its arrival or a restart */
    const char *failed; /* reason of the latest failure; static; NULL: none */
    /* Paused: its end. No route: latest time of the next question to the router. TICK_NEVER:
     * unknown. */
    tick until;
    bool none, too_late;         /* no route, now or later as far as known; no route is in time */
    tick arrival;                /* too_late: the earliest arrival; 0: unknown */
    tick expires;                /* end of its lifetime at this node; TICK_NEVER */
    bool open;                   /* its link is up, or its endpoint is registered */
    uint64_t ahead, ahead_bytes; /* other bundles in its queue, or in transmission on its link */
    uint64_t busy, window;       /* of these, given to the link or to applications; their limit */
    /* Links whose peers will never accept it. */
    uint32_t declined[ROUTER_DECLINED_MAX];
    size_t declined_len;
    uint64_t copies; /* unfinished ones, of a bundle with several routes; 0: it has one */
};
/* Explains this bundle at the time of the latest push; false: not here. Changes nothing. */
bool agent_why(const struct agent *a, uint64_t key, struct agent_why *out);

/* Knowledge about a bundle that is not here. */
enum agent_past {
    AGENT_NEVER_HERE, /* or it was forgotten: config.seen_max, config.returns_max, a restart */
    AGENT_WAS_FORWARDED,
    AGENT_WAS_HERE, /* it was delivered or deleted */
};
enum agent_past agent_past(const struct agent *a, const struct bundle_id *id); /* no fragment */
enum agent_past agent_past_key(const struct agent *a, uint64_t key); /* WAS_HERE: it was in use */

/* The longest time at this node of bundles at the heads of the link's queues or in transmission,
 * ms; UINT64_MAX: none. */
uint64_t agent_oldest_ms(const struct agent *a, uint32_t link, struct agent_now now);

void agent_check(const struct agent *a); /* asserts the invariants */

#ifdef __cplusplus
}
#endif

#endif
