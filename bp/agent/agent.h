/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle agent (RFC 9171 §5): pure. It decides what becomes of each bundle; storing, sending
 * and delivering are done by the binder, which tells it the outcome.
 *
 *   push:  agent_register · agent_link · agent_window · agent_send · agent_receive · agent_stored ·
 * agent_loaded · agent_sent · agent_delivered · agent_expire · agent_verify pull:  agent_poll (the
 * next action) · agent_deadline
 *
 * The life of a bundle: it is accepted (agent_send, agent_receive) → STORE → agent_stored → CONFIRM
 * to its sender → SEND or DELIVER → agent_sent/agent_delivered → REMOVE. A bundle whose
 * bytes are not in memory is asked for by LOAD first. Bundles that were stored before a restart
 * come back by agent_restore. The binder polls until 0 after each push.
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
#include "bp/codec/security_policy.h"

#ifdef __cplusplus
extern "C" {
#endif

struct agent;

/* 0 takes the default in brackets. */
struct agent_config {
    struct eid node; /* ipn:N.0 or dtn://name/ */
    uint64_t seed;
    enum bundle_mode mode; /* how bundles of peers are read */
    enum crc_type
        crc; /* of bundles that start here: CRC_NONE is raised to CRC_32C for the primary block */
    uint64_t default_lifetime_ms; /* [86,400,000] */
    uint64_t bundle_max;          /* longest bundle accepted, bytes [1 GiB] */
    uint64_t extensions_max; /* bytes of the extension blocks of a bundle [256 KiB]; the codec has
                                a limit of its own for many (BUNDLE_REST_MAX) */
    uint64_t held_bundles;   /* bundles at the node [1,000,000] */
    uint64_t held_bytes;     /* their bytes [20 GiB] */
    uint64_t memory_bytes;   /* bundle bytes kept in memory beside the store [256 MiB]; more are
                                LOADed when their turn comes */
    uint64_t total_bytes;    /* memory that bundles take, all told: their bytes there, and what the
                                agent knows of each; more are refused. memory_bytes is a quarter of
                                it at most [no limit; not with memory_only] */
    bool memory_only;        /* there is no store: held_bytes bounds the memory that bundles take,
                                all told */
    uint64_t seen_max;    /* ids remembered against duplicates [1,000,000]; they take an eighth of
                             total_bytes (memory_only: held_bytes) at most, but 1,024 may stay */
    uint64_t returns_max; /* forwarded bundles that are known when they come again [65,536] */
    uint64_t assemblies_max;    /* bundles for this node of which fragments are here [1,024] */
    uint64_t fragments_max;     /* fragments of one of them [4,096] */
    uint64_t fragments_all_max; /* of all of them [262,144] */
    tick assembly_idle; /* one that has not grown for so long gives way when another needs its place
                           [10 s] */
    uint64_t lifetime_max_ms;  /* overriding lifetime (RFC 9171 §4.3.1): none stays longer at this
                                  node [no limit] */
    uint64_t reserve_percent;  /* of held_bundles, held_bytes, assemblies_max and fragments_all_max:
                                  set apart in equal shares for each peer of a link and for
                                  applications [0: first come, first served] */
    uint64_t source_percent;   /* of the same: at most for one source [100] */
    uint64_t endpoint_percent; /* of the room that a source of a peer finds: at most for bundles
                                  for one endpoint here; all endpoints that nobody takes count as
                                  one: those without a registration, or with one that has taken
                                  nothing for RECEIVER_IDLE [100: no such limit] */
    uint64_t queue_percent; /* of held_bundles and held_bytes: set apart, before all other shares,
                               in equal parts for what goes to each link, to endpoints here, and
                               for what waits for a way: full queues of some never keep out what
                               is for another [0: nothing] */
    bool drop_when_full;   /* a bundle for which there is no room takes the place of some that wait:
                              of a lower priority, then of those that end first (END_DROPPED), and
                              only of such that are less than it [false: it is refused] */
    bool keep_unreachable; /* a bundle of a neighbour whose only routes lead back to that neighbour
                              is accepted, and handed back when nothing better comes up
                              [false: it is refused, NO_ROUTE, unless this node forwarded it
                              before] */
    bool confirm_dropped;  /* what is dropped for another reason than lack of room is confirmed
                              [false: the peer shall keep it] */
    bool status_reports; /* send reports that bundles ask for [false: RFC 9171 §5.1 wants it so] */
    uint64_t report_rate;    /* status reports a second, as many at once; more are not sent [100] */
    uint64_t hop_limit;      /* of bundles that start here, 1 to 255; they have a hop count block
                                then [0: none] */
    bundle_event_sink *sink; /* bundle log; NULL: none. Event times are agent_now.now */
    void *sink_context;
    tick retry_min,
        retry_max; /* pause before a failed forwarding is tried again, doubling [1 s, 60 s] */
    uint64_t place_slice; /* when answers of the router change: questions and moves of bundles that
                             wait, in one call; also timers, pauses that end, and what waits for a
                             link that is removed. While more are due agent_deadline is not after
                             now [1,024] */
};

int agent_new(struct agent **out, const struct agent_config *config);
void agent_free(struct agent *a);
/* The store's medium has room for so many bundle bytes, with those that are here: the lower one of
 * it and config.held_bytes is the limit now, and shares are parts of it. Not with memory_only. */
void agent_fits(struct agent *a, uint64_t held_bytes);

/* `now` is the engine's clock; `dtn_ms` the DTN time (§4.2.6) at the same moment; both are given by
 * a push. */
struct agent_now {
    tick now;
    uint64_t dtn_ms;
};

/* Links. link: an index that the binder chose, below 2^20, better a small one. window: how many
 * bundles may be on the link at once (sessions), >= 1. HELIO_EEXIST: the index is in use. */
int agent_link_add(struct agent *a, uint32_t link, const struct eid *peer, uint32_t window);
/* The link is no more, and its index free. What waits for it or was given to it is placed anew (of
 * many, some in later calls), its static routes go, and no answer follows to what it brought; the
 * binder tells no outcome of what it was given any more. 0 or HELIO_ENOENT. */
int agent_link_remove(struct agent *a, uint32_t link, struct agent_now now);
void agent_link(struct agent *a, uint32_t link, bool up, struct agent_now now);
/* The neighbour, which had not answered, is there again: all pauses of the link end. */
void agent_heard(struct agent *a, uint32_t link, struct agent_now now);
/* The longest bundle that the link takes is another one now, bytes; 0, as at first: any. Longer
 * ones go in fragments, or, when they must not, over another link. */
void agent_link_limit(struct agent *a, uint32_t link, uint64_t bundle_max, struct agent_now now);
/* The window of a link is another one now, >= 1. A smaller one recalls nothing: nothing further is
 * sent until there is room in it. */
void agent_window(struct agent *a, uint32_t link, uint32_t window, struct agent_now now);
/* How bundles of different priorities that wait for a link share it, and which of them a rule puts
 * into the queue of another priority there: the first that fits. Copied. Those that wait already
 * stay in their queues. HELIO_ENOENT, HELIO_EINVAL (a weight of 0, above 1,000,000), HELIO_ENOMEM.
 * A new link, and every endpoint of this node, serves by the usual weights. */
struct agent_queue_rule {
    struct rule rule;
    enum bundle_priority queue;
};
#define AGENT_WEIGHT_MAX 1000000
struct agent_service {
    bool strict; /* a priority goes when no higher one waits; else by weights: none starves */
    uint32_t weights[BUNDLE_PRIORITIES]; /* bytes of each against the others'; all 0: 1, 8, 64 */
    const struct agent_queue_rule *rules;
    size_t rules_len;
    /* What the link's queues, the link and the store on the way there hold at most: what is offered
     * beyond it is refused (QUEUE). Bundles that were accepted for another way and find theirs here
     * are not. A bundle alone may be longer. 0: no limit of its own. */
    uint64_t bundles_max, bytes_max;
};
int agent_link_service(struct agent *a, uint32_t link, const struct agent_service *s);
/* What is in a link's queues and on the link, by queue, and what was given to the link from them
 * (fragments and repetitions too). False: there is no such link. */
struct agent_backlog {
    uint64_t bundles, bytes;
    uint64_t given, given_bytes;
};
bool agent_backlog(const struct agent *a, uint32_t link,
                   struct agent_backlog out[BUNDLE_PRIORITIES]);
/* The limits of what goes to a link, and how often they were met. False: there is no such link. */
struct agent_bound {
    uint64_t bundles_max, bytes_max;     /* 0: none */
    uint64_t refused;                    /* for these */
    uint64_t apart_bundles, apart_bytes; /* held in the part that is set apart for it */
    uint64_t share_bundles, share_bytes; /* that part */
};
bool agent_bound(const struct agent *a, uint32_t link, struct agent_bound *out);
/* Static routes (bp/agent/routes.h): the agent's own router, which it asks unless it is given
 * another one. HELIO_ENOENT: there is no such link, no such route. What waits is placed anew with
 * the next push (until then agent_deadline is 0). */
int agent_route_add(struct agent *a, const struct eid_pattern *pattern, uint32_t link);
int agent_route_remove(struct agent *a, const struct eid_pattern *pattern, uint32_t link);
/* The i-th static route, the most specific first. False: there are no more. */
bool agent_route_at(const struct agent *a, size_t i, struct eid_pattern *pattern, uint32_t *link);
/* Another router from now on (NULL: the static routes); what waits is placed anew likewise. It is
 * the binder's, and outlives the agent or its being replaced; a booking that it had noted is taken
 * back when it is replaced, but not when the agent is freed. */
void agent_router(struct agent *a, const struct router *router);
/* The static routes as a router, for another one to ask when it knows no way. */
struct router agent_routes(struct agent *a);
/* The router's answers may be others now (its routes were changed from outside): what waits is
 * placed anew likewise. */
void agent_reroute(struct agent *a);

/* The security policy from now on (NULL: none): it protects bundles that start here and leave, and
 * verifies arriving ones before anything else is done with them: before the check for duplicates,
 * before administrative records are obeyed, and what arrives in fragments before it is delivered
 * (agent_verify).
 * The policy is the caller's, and outlives the agent or its being replaced. */
void agent_security(struct agent *a, struct security_policy *policy);

/* Rules of ingress and egress (bp/agent/permit.h) from now on, of one direction; copied. What is
 * here stays; routes respect them: a link that may not have a bundle is no way for it, and bundles
 * that wait are placed anew. Other errors than permits_new has: none; then it is as before. */
int agent_permit(struct agent *a, enum permit_way way, const struct permit *list, size_t len);
/* NULL: there were never any. Holds until the next agent_permit. */
const struct permits *agent_permits(const struct agent *a, enum permit_way way);
/* The latest bundle that rules refused (RULE, LIMIT), and whose rules; count 0: there was none.
 * Holds until the next agent call. */
const struct permit_refusal *agent_forbidden(const struct agent *a, enum permit_way *way);
/* Has the endpoint a registration for which `match` says true? NULL: any. */
bool agent_registered(const struct agent *a, const struct eid *endpoint,
                      bool (*match)(uint64_t reg));
/* May an application of this user register the endpoint, and send from it? Else it is counted. */
bool agent_may_register(struct agent *a, uint64_t user, const struct eid *endpoint);

/* Which endpoints several may register, and what becomes of their bundles. The first pattern added
 * that matches counts, for endpoints that have neither registrations nor bundles at the moment;
 * without one it is ONE, and ALL for groups. HELIO_ENOMEM; HELIO_EAGAIN: 4,096 are there. */
enum agent_sharing {
    AGENT_SHARE_ONE,  /* one at a time: others are refused */
    AGENT_SHARE_PASS, /* each bundle to one of them, in turn, by the room in their windows */
    AGENT_SHARE_ALL,  /* each bundle to all that are there when its turn comes; each has a queue of
                         its own */
};
int agent_share_endpoints(struct agent *a, const struct eid_pattern *pattern,
                          enum agent_sharing how);
/* Endpoints of this node. `reg` is the binder's number for the registration. Bundles for a
 * registered endpoint that wait are delivered at once; those for an endpoint of this node without
 * registration wait until one comes or they expire. window: deliveries outstanding at once.
 * HELIO_EEXIST when the endpoint is taken and not shared, as the node's own name always is:
 * administrative records for it are read by the agent, other bundles refused. A group (imc:5.1) may
 * be registered, too: then its bundles are delivered here and go on as the router says. Those that
 * come in fragments go on in them, and are delivered whole. */
int agent_register(struct agent *a, uint64_t reg, const struct eid *endpoint, uint32_t window,
                   struct agent_now now);
/* Deliveries of this registration that are still open go back to the head of the queue: no
 * agent_delivered for them afterwards. */
void agent_unregister(struct agent *a, uint64_t reg, struct agent_now now);

/* Why a bundle is refused. Each is counted. */
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
 * A bundle from an application. A destination or report-to ipn:!.N (RFC 9758 §3.4.2) is endpoint N
 * of this node, when the node has an ipn name. `payload` has the application data as its data, with
 * head room >= BUNDLE_HEAD_MAX (or as much as its blocks take: BUNDLE_HEAD_IPN) and tail room
 * >= BUNDLE_TAIL_MAX; it becomes the agent's on REFUSE_NONE only (taken over, not copied). source
 * and report_to may be eid_none(). An immediate refusal is returned and comes by no action; after
 * REFUSE_NONE exactly one CONFIRM or REFUSED with `token` follows. An anonymous source (none) may
 * not ask for reports.
 */
struct agent_request {
    struct eid source, destination, report_to;
    uint64_t lifetime_ms; /* 0: default */
    uint64_t flags;       /* bundle_flag: report requests, no-fragment, APP_ACK */
    int crc;              /* enum crc_type of the payload block, or -1: as configured */
    struct buf *payload;
    const struct bundle_block *block; /* one extension block more, number 0; or NULL */
    const struct bundle_qos *qos;     /* a block that says so; NULL: none, and it is normal */
    uint64_t token;                   /* of the binder */
    uint64_t user; /* whose application it is: any number but 0; users have fair shares, and so
                      have the endpoints of one user; 0: not known */
};
enum agent_refusal agent_send(struct agent *a, const struct agent_request *r, struct agent_now now,
                              struct bundle_id *out);

/* A bundle from a link, whole, in its buffer; taken over in any case. `token` names it to the link:
 * CONFIRM means that it is stored (the link may now tell the peer that it has it), REFUSED that the
 * peer should keep it (`keep`) or that it was dropped for good, as RFC 9171 wants it (EXPIRED,
 * HOP_LIMIT, BLOCK; with confirm_dropped also what has no route, is too long …). Every receive
 * gives exactly one of both, unless REFUSE_NO_MEMORY is returned: then no action comes, and the
 * peer should keep it. A DUPLICATE comes as CONFIRM, with refusal DUPLICATE; as long as the first
 * one is not stored, or is on a link, as REFUSED with BUSY. A bundle that was forwarded is
 * no duplicate when it comes again: a node that hands it back has no other route for it, and it
 * would be lost. A fragment for this node is stored and confirmed like any bundle; when all bytes
 * of its bundle are here they are delivered as one (§5.9). */
enum agent_refusal agent_receive(struct agent *a, uint32_t link, struct buf *bundle, uint64_t token,
                                 struct agent_now now);

/* As agent_receive, of a link that can wait. *waits: there is no room for the bundle, nor for any
 * other one of the neighbour (the node is full, or what it leaves this neighbour, or its only
 * source has its part): nothing happened and nothing is counted, the bundle is the caller's still,
 * who offers it again later (AGENT_OFFER_AGAIN, unless it was refused with LIMIT: then its rate is
 * not charged). AGENT_OFFER_LAST: the peer has no copy any more, and is not told of a refusal; then
 * what is refused with QUOTA, QUEUE or LIMIT waits, too, though others may find room. A fragment
 * without a place among fragments (assemblies_max, fragments_max, fragments_all_max) never waits:
 * it would stop the neighbour's other bundles. */
#define AGENT_OFFER_AGAIN 1U
#define AGENT_OFFER_LAST 2U
enum agent_refusal agent_offer(struct agent *a, uint32_t link, struct buf *bundle, uint64_t token,
                               unsigned how, bool *waits, struct agent_now now);

/* At start, before anything else: what the store held. head is what STORE gave. 0, HELIO_EFORMAT
 * (damaged head), HELIO_ENOMEM. */
int agent_restore(struct agent *a, uint64_t key, struct slice head, uint64_t bytes);
int agent_restore_mark(struct agent *a, struct slice id, uint64_t until_ms);
/* The time by which lifetimes count, in ms: it only goes forward, by what has passed, whatever
 * becomes of the wall clock. It begins as the DTN time of the first push, or, over a restart, where
 * agent_restore_clock says (bp/agent/life_clock.h): `life_ms` at the moment of `now`. Heads and
 * marks are in it. */
void agent_restore_clock(struct agent *a, uint64_t life_ms, struct agent_now now);
uint64_t agent_life_ms(const struct agent *a, struct agent_now now);
/* What is left of the bundle's lifetime by that, in ms, rounded up; 0: it is over, or there is no
 * such bundle; UINT64_MAX: it does not end. */
uint64_t agent_left_ms(const struct agent *a, uint64_t key, struct agent_now now);
/* Sequence numbers below this one may have been used: what was noted with AGENT_STORE, or where a
 * node that has neither clock nor memory of itself begins. */
void agent_restore_sequence(struct agent *a, uint64_t next);
/* Keys up to this one are in use in the store, whatever lies under them. */
void agent_restore_key(struct agent *a, uint64_t key);

/* Memory that a bundle takes while it is still arriving: by a link, or (AGENT_OWN) from an
 * application. It counts where bundles that are here count (total_bytes; memory_only: held_bytes),
 * and against the neighbour's share of that: reserve_percent of it is set apart in equal parts, the
 * rest is for who comes first. Charged by what came, not by what was announced. reserve: false:
 * there is no room, or no such link, and nothing changed. release: no more than was reserved and
 * not released; before the bundle goes to agent_receive. The link's removal releases all. */
#define AGENT_OWN UINT32_MAX /* instead of a link: applications */
bool agent_reserve(struct agent *a, uint32_t link, uint64_t bytes);
void agent_release(struct agent *a, uint32_t link, uint64_t bytes);

/* Outcomes of actions. */
void agent_stored(struct agent *a, uint64_t key, bool ok, struct agent_now now);
void agent_loaded(struct agent *a, uint64_t key, struct buf *bundle,
                  struct agent_now now); /* takes the reference; NULL: failed, counted, tried
                                            again later; given up after 8 failures. Other bytes
                                            than were stored (or none): given up at once */
/* The link is done with it, or (!ok) it is kept and tried again. */
void agent_sent(struct agent *a, uint64_t key, bool ok, struct agent_now now);
/* As agent_sent(!ok), with the reason for the log: static text, or NULL. */
void agent_failed(struct agent *a, uint64_t key, const char *reason, struct agent_now now);
/* The same: the link's peer had the bundle, and may take it later. It goes again after a pause, in
 * a new turn of its source: what is refused again and again has no more of the link than others. */
void agent_refused(struct agent *a, uint64_t key, const char *reason, struct agent_now now);
/* Instead of agent_sent: the link's peer will never take this bundle. The link is not used for it
 * any more (until a restart). It goes by another route of the router; when there is none, or
 * AGENT_DECLINES_MAX links declined it, it is deleted (END_DECLINED), with a report to who asked
 * for it: "transmission canceled" (RFC 9171 §6.1.1). */
#define AGENT_DECLINES_MAX 4
void agent_declined(struct agent *a, uint64_t key, const char *reason, struct agent_now now);
/* Not an outcome: the link's session that the bundle goes by, for the log. */
void agent_carried(struct agent *a, uint64_t key, uint64_t originator, uint64_t session,
                   struct agent_now now);
/* Instead of agent_sent: an unreliable link says that the bundle is lost. It is sent again, at
 * once, up to `resend` times in its life at this node (a restart begins anew); then it is given up:
 * deleted, with a report to who asked for it. */
void agent_lost(struct agent *a, uint64_t key, uint64_t resend, const char *reason,
                struct agent_now now);
void agent_delivered(struct agent *a, uint64_t key, bool ok,
                     struct agent_now now); /* !ok: kept for the next registration */
/* Instead of agent_delivered: the taker has no room for it now. Delivered again after a pause
 * (retry_min, doubling to retry_max); its place in the window is free meanwhile. */
void agent_put_off(struct agent *a, uint64_t key, const char *reason, struct agent_now now);
/* The key of a bundle that is here, no fragment. 0 or HELIO_ENOENT. */
int agent_find(const struct agent *a, const struct bundle_id *id, uint64_t *key);
/* The application has answered a delivery that was taken back (RECALL): its place in the window of
 * the registration is free. */
void agent_recalled(struct agent *a, uint64_t reg, struct agent_now now);
/* Deletes a bundle by an operator's wish; one that is given away is recalled. 0 or HELIO_ENOENT. */
int agent_delete(struct agent *a, uint64_t key, struct agent_now now);

void agent_expire(struct agent *a, struct agent_now now);
tick agent_deadline(const struct agent *a);

enum agent_action_kind {
    AGENT_STORE,   /* put key, head, bundle (and the note, if any) in one transaction; answer with
                      agent_stored */
    AGENT_LOAD,    /* get key with BUNDLE_HEAD_MAX head room; answer with agent_loaded */
    AGENT_REMOVE,  /* remove key, and mark id when mark_id is not empty; no answer */
    AGENT_SEND,    /* give the bundle to the link; answer with agent_sent */
    AGENT_DELIVER, /* give the payload to the registration; answer with agent_delivered */
    AGENT_RECALL,  /* it was given away, and its lifetime is over, or the operator deleted it. From
                      a link (from_link): end the transmission where that can be done; agent_sent
                      or agent_lost follows as ever. From a registration: the bundle is gone, no
                      agent_delivered; it keeps its place in the window until agent_recalled */
    AGENT_CONFIRM, /* tell token's owner: accepted */
    AGENT_REFUSED, /* tell token's owner: refused, with refusal */
};
struct agent_action {
    enum agent_action_kind kind;
    uint64_t key;   /* of the bundle, unique for the store's life */
    uint64_t token; /* CONFIRM, REFUSED */
    bool from_link; /* CONFIRM, REFUSED: the token is a link's, not an application's; RECALL */
    enum agent_refusal refusal;
    bool keep;         /* REFUSED of a link: the peer should keep it; else it is dropped for good */
    uint32_t link;     /* SEND; CONFIRM, REFUSED and RECALL from a link */
    uint64_t reg;      /* DELIVER, RECALL */
    struct slice head; /* STORE; holds until the next agent call */
    struct slice mark_id; /* STORE, REMOVE: remember this id */
    uint64_t mark_until_ms;
    uint64_t sequence_end; /* STORE: when not 0, note with the bundle that sequence numbers below
                              this one are used, for agent_restore_sequence */
    struct buf *bundle; /* STORE, SEND: the encoded bundle. DELIVER: the same, or the payload alone
                           when it came in fragments. One reference, the caller's to drop */
    struct slice payload;                /* DELIVER: view into bundle */
    struct bundle_id id;                 /* DELIVER, CONFIRM */
    struct eid destination;              /* DELIVER */
    uint64_t flags, age_ms, lifetime_ms; /* DELIVER */
    enum bundle_priority priority;       /* DELIVER */
    uint8_t ordinal;                     /* likewise */
    int from;                            /* DELIVER: the link that brought it; -1: none, or it is
                                            not known any more */
};
/* The next action: 1, or 0. SEND comes only for a link that is up with room in its window; DELIVER
 * only with room in the registration's. */
int agent_poll(struct agent *a, struct agent_action *out);

/* A bundle that came in fragments was verified: for whom, and what it was. */
struct agent_verified {
    int link;       /* that brought the first fragment, which has the security blocks (RFC 9171
                       §5.8); if it is not known any more, another one to the same peer; -1: none */
    uint64_t bytes; /* of the bundle */
    bool passed;    /* else it has ended (INSECURE) */
    bool absent;    /* or the token that has its key does not answer, and it waits for it: the next
                       call is due later */
};
/* Verifies the next bundle that came in fragments, whose turn to be delivered agent_poll found.
 * True: there was one, and agent_poll may have actions; false: none waits. What verification costs
 * is up to who made the bundle, and agent_receive has not done it: the binder measures this call,
 * and calls it as often as it has time. Bundles that wait for it have no place in the window of
 * their endpoint; those of several peers take turns. */
bool agent_verify(struct agent *a, struct agent_now now, struct agent_verified *out);

/* How a bundle that was accepted ended at this node. Each is counted. */
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
    X(INSECURE, "insecure")     /* came in fragments: a security operation is missing or failed */ \
    X(REDUNDANT, "redundant")   /* a fragment whose bytes are here, or were delivered */           \
    X(NOT_STORED, "not_stored") /* of fragments and what they make only: it was refused */
#define AGENT_END_ENUM(name, text) END_##name,
enum agent_end { AGENT_ENDS(AGENT_END_ENUM) END_COUNT };
#undef AGENT_END_ENUM
const char *agent_end_text(enum agent_end e); /* static */

/*
 * These identities hold after every call (agent_check asserts them); the sums are over the reasons:
 *
 *   bundles     offered = consumed + sum refused + storing + accepted_local + received
 *   bundles     accepted_local + received + restored = bundles - storing + sum ended
 *   fragments   fragments_in = fragments + sum fragments_ended
 *   assemblies  assemblies_begun = assemblies + sum assemblies_ended
 *   ADUs        delivered = ended[DELIVERED] - fragments_ended[DELIVERED]
 *                           + fragments_going_on + assemblies_ended[DELIVERED]
 *
 * A fragment is a bundle. `fragments` are those for endpoints of this node, an assembly is the
 * bundle that they will make; what an application gets is an ADU, in however many bundles it came.
 */
struct agent_counters {
    /* bundles; of applications and of this agent (status reports), of links */
    uint64_t offered, consumed, refused[REFUSE_COUNT];
    uint64_t accepted_local, received, restored, ended[END_COUNT];
    uint64_t fragments_in, fragments, fragments_ended[END_COUNT];
    uint64_t fragments_going_on; /* now: of groups' bundles that were delivered; they did not end */
    uint64_t assemblies_begun, assemblies, assemblies_ended[END_COUNT];
    uint64_t delivered; /* ADUs */
    uint64_t send_failures, load_failures;
    uint64_t lost;    /* tries, by unreliable links */
    uint64_t lenient; /* received bundles with findings that only the lenient mode lets pass */
    uint64_t reports_sent, reports_received;
    uint64_t reports_limited; /* asked for and not sent: more than report_rate */
    uint64_t records_ignored; /* administrative records of unknown types, or malformed */
    uint64_t returned;        /* bundles that came again after they had been forwarded */
    uint64_t too_late;        /* accepted ones of which the router said that no way is in time */
    uint64_t forgotten;       /* ids that found no memory: duplicates of these are not known */
    uint64_t displaced;       /* ids that made room for newer ones before their bundles' end:
                                 neither */
    uint64_t bundles, bytes, memory_bytes; /* now */
    uint64_t record_bytes;   /* now: memory that bundles take beside their bytes in memory */
    uint64_t arriving_bytes; /* now: of bundles that are arriving (agent_reserve) */
    uint64_t seen_bytes;     /* now: of ids against duplicates; never less than before */
    uint64_t storing, storing_bytes; /* now, of bundles that wait for agent_stored, with what they
                                        take beside: binders read no
                                        more from applications while it is high */
};
const struct agent_counters *agent_counters(const struct agent *a);

/* Bundles of links that were refused because there is no route to their destination (NO_ROUTE; each
 * offer counts), and the latest of them. Holds until the next agent call. */
struct agent_unrouted {
    uint64_t count;
    struct eid source, destination;
    uint32_t link;
};
const struct agent_unrouted *agent_unrouted(const struct agent *a);

/* Bundles of links that arrived after their lifetime (EXPIRED; each offer counts), and the latest
 * of them. Holds until the next agent call. */
struct agent_stale {
    uint64_t count;
    struct eid source;
    uint32_t link;
    uint64_t over_ms; /* its lifetime had ended so long before, by this node's clock */
};
const struct agent_stale *agent_stale(const struct agent *a);

/* The latest bundle that was refused for lack of room (FULL, QUOTA, QUEUE), or that a link that can
 * wait has to offer again. Holds until the next agent call. */
const struct agent_shortage *agent_shortage(const struct agent *a);
/* The same for one of the last such bundles that links brought; NULL: it is none of these. */
const struct agent_shortage *agent_shortage_of(const struct agent *a, const struct bundle_id *id);

/* The latest bundle that was refused as TOO_LATE, or is kept although no way is in time. Holds
 * until the next agent call. */
const struct agent_late *agent_late(const struct agent *a);
/* The same for one of the last that links brought and that were refused; NULL: it is none of these.
 */
const struct agent_late *agent_late_of(const struct agent *a, const struct bundle_id *id);

/* What the peer of a link holds of the node, or its applications, and what is set apart for each.
 */
struct agent_share {
    uint64_t bundles, bytes, assemblies, fragments;
    uint64_t share_bundles, share_bytes;
    uint64_t arriving, share_arriving; /* bytes of bundles that are arriving */
};
void agent_share(const struct agent *a, uint32_t link, struct agent_share *out);

struct agent_bundle_info {
    uint64_t key;
    struct bundle_id id;
    struct eid destination;
    uint64_t bytes, expires_ms; /* DTN time, by the clock of the last push */
    uint64_t age_ms;            /* how long it has been at this node, at the last push */
    const char *state;          /* "storing", "waiting", "sending", "delivering" … static */
    int link;                   /* -1: none */
    enum bundle_priority priority;
    uint8_t ordinal;
};
/* All words that `state` may be, then NULL. */
extern const char *const agent_states[];
size_t agent_bundles(const struct agent *a, struct agent_bundle_info *out, size_t max);
/* The same, a few a call, and pushes may come in between: each bundle that is here all the time is
 * seen once. cursor: 0, then what the last call returned, until that is 0. */
uint64_t agent_bundles_scan(const struct agent *a, uint64_t cursor,
                            void (*see)(void *context, const struct agent_bundle_info *b),
                            void *context);
/* The bundle with this key; false: there is none. */
bool agent_bundle_find(const struct agent *a, uint64_t key, struct agent_bundle_info *out);
/* Why one bundle is still here, and what comes next, for a person who asks. */
struct agent_why {
    struct agent_bundle_info is;
    uint64_t tries;     /* to forward or deliver it that failed, since it came or a restart */
    const char *failed; /* why the last of these did; static; NULL: none failed */
    tick until;         /* paused: when its pause ends. No route: when the router is asked again, at
                           the latest. TICK_NEVER: no time is known */
    bool none, too_late; /* no route: not later either, as far as is known; none is in time */
    tick arrival;        /* too_late: when it would arrive at the earliest; 0: not known */
    tick expires;        /* its end at this node; TICK_NEVER */
    bool open;           /* its link is up, or its endpoint is registered */
    uint64_t ahead, ahead_bytes; /* other bundles in its queue, or on its link */
    uint64_t busy, window; /* of these, given to the link or to applications; so many may be */
    uint32_t declined[ROUTER_DECLINED_MAX]; /* links whose peers will never take it */
    size_t declined_len;
    uint64_t ways; /* it goes several ways, so many are left; 0: it goes one way */
};
/* The bundle with this key, by the clock of the last push; false: it is not here. Asks the router,
 * and changes nothing. */
bool agent_why(const struct agent *a, uint64_t key, struct agent_why *out);

/* What is known of a bundle that is not here. */
enum agent_past {
    AGENT_NEVER_HERE, /* or it was forgotten: config.seen_max, config.returns_max, a restart */
    AGENT_WAS_FORWARDED,
    AGENT_WAS_HERE, /* it was delivered, or ended in another way */
};
enum agent_past agent_past(const struct agent *a, const struct bundle_id *id); /* no fragment */
enum agent_past agent_past_key(const struct agent *a, uint64_t key); /* WAS_HERE: it was in use */

/* How long the one that is here longest has been at this node, of those at the heads of the link's
 * queues or on the link; UINT64_MAX: there is none. */
uint64_t agent_oldest_ms(const struct agent *a, uint32_t link, struct agent_now now);

void agent_check(const struct agent *a); /* asserts the invariants */

#ifdef __cplusplus
}
#endif

#endif
