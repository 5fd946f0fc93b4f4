/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/agent: structures and functions that its files share. */
#ifndef BP_AGENT_IMPL_H
#define BP_AGENT_IMPL_H

#include "base/agenda.h"
#include "base/excess.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/ranges.h"
#include "bp/agent/agent.h"
#include "bp/agent/agent_band.h"
#include "bp/agent/agent_fragment.h"
#include "bp/agent/agent_head.h"
#include "bp/agent/agent_kind.h"
#include "bp/agent/agent_quota.h"
#include "bp/agent/agent_record.h"
#include "bp/agent/agent_sending.h"
#include "bp/agent/agent_service.h"
#include "bp/agent/agent_state.h"
#include "bp/agent/agent_waste.h"
#include "bp/agent/event.h"
#include "bp/agent/returns.h"
#include "bp/agent/router.h"
#include "bp/agent/routes.h"
#include "bp/agent/seen.h"

#define LINKS_MAX (1u << 20) /* indices: a table of 8 bytes each */
#define QUOTA_OWN 0          /* account of this node's applications */
#define QUOTA_UNKNOWN 1      /* account of peers whose names the store does not have */
/* bundles in memory beyond the window, so that a link never waits for the store */
#define PREFETCH 4
#define COPIES_MAX 262144 /* copies of all bundles with several routes */
#define LOAD_TRIES 8 /* a bundle that could not be read this often is deleted (END_UNREADABLE) */
#define NO_LINK ROUTER_NO_LINK
#define TO_ENDPOINT (-1)      /* forwarding.link: for an endpoint of this node */
#define NO_ROUTE (-3)         /* forwarding.link: no route now */
#define NO_ROUTE_IN_TIME (-4) /* forwarding.link: the same, and no route is in time */

/*
 * The bundles for a link, an endpoint or a registration. They wait in `bands`, by priority; then
 * they are `busy` (given to the link or application, the outcome is open). A bundle whose
 * forwarding failed is `paused` until its time. `resumed`: bundles whose pause was ended, and that
 * will return to the bands. `roomless`: paused until there is room for them in transmission.
 */
struct queue {
    struct list node; /* in agent.ready, when it may have work */
    struct bands bands;
    struct list busy, paused, resumed, roomless;
    struct list resuming; /* in agent.resuming, when any are resumed */
    uint64_t busy_len, window;
    /* Bytes of its bundles in counters.sending_bytes. In agent.sending_waits: it must wait for some
     * of these before the next bundle (agent_sending.c). */
    uint64_t sending;
    struct list sending_wait;
    struct list room_wait; /* in agent.room_waits, while any are roomless */
    struct waste waste;
    struct service service;
    struct list parties;                          /* of a link (agent_party.c) */
    struct excess party_bytes[BUNDLE_PRIORITIES]; /* of these */
    /* Joined bundles in agent.verifying: they do not use the window. */
    uint64_t verifying;
    uint64_t bundles, bytes; /* in all lists of this queue */
    /* by priority; also counts bundles that were given away */
    struct agent_backlog backlog[BUNDLE_PRIORITIES];
    /* the registration that owns the queue; NULL: an endpoint's or a link's */
    struct registration *only;
    /* Deliveries that were taken back and are not answered yet: they use the window. */
    uint64_t owed;
    bool open; /* link up, or endpoint registered */
    bool gone; /* its link was removed: its bundles are placed elsewhere */
};

/* Bundles admitted for one route: a link, the endpoints here, or waiting without a route. */
struct route_share {
    uint64_t reserved[2]; /* QUOTA_BUNDLES, QUOTA_BYTES: in the part that is reserved for it */
    uint64_t storing, storing_bytes; /* being stored */
    uint64_t refused;
};

/* Rules that change the priority of bundles; shared by all links with the same rules. */
struct rule_set {
    uint32_t links;
    size_t len;
    struct agent_queue_rule of[];
};

struct link {
    struct route_share share;
    uint64_t bundles_max, bytes_max; /* 0: none */
    struct eid peer;
    uint64_t arriving; /* bytes */
    uint32_t life;     /* number of this use of the index: differs from that of every other link */
    uint64_t bundle_max; /* longest bundle that it accepts; 0: any */
    struct queue queue;
    /* Of its queue: the bundles behind the first ones, and the paused ones. */
    struct kinds kinds;
    /* In agent.leaving, while it is removed and bundles are still queued. */
    struct list leaving;
    struct rule_set *rules; /* NULL: none */
};

/* Exists while it is registered or bundles are queued for it. */
struct endpoint {
    struct hash_node by_eid;
    struct eid eid;
    enum agent_sharing sharing;
    struct list regs; /* the next one in turn is first */
    tick took;        /* when one of them last took a bundle; 0: never */
    tick queued;      /* when a bundle last arrived while none was here */
    struct pace pace; /* of the bundles that they took; only the windows are used */
    /* Open while there are registrations. With AGENT_SHARE_ALL its bundles move to the
     * registrations' own queues. */
    struct queue queue;
};

struct registration {
    struct hash_node by_reg;
    struct list node; /* of endpoint.regs */
    struct endpoint *endpoint;
    uint64_t reg, window;
    /* Deliveries without an answer; those of them that were taken back. */
    uint64_t given, owed;
    struct queue queue; /* AGENT_SHARE_ALL */
};

/* Which endpoints may have several registrations. */
struct sharing_rule {
    struct eid_pattern pattern;
    enum agent_sharing sharing;
};
#define SHARING_RULES_MAX 4096

/* The copies of a bundle with several routes (agent_copy.c). */
struct fan {
    struct record *original; /* its own forwarding is COPIED */
    struct list copies;
    /* Number of copies, and one more while they are iterated: the bundle ends with the last. */
    uint64_t len;
    uint64_t delivered, forwarded; /* copies that ended so */
    /* One of the copies is in an assembly: it is a fragment of a group's bundle. */
    bool gathered;
    enum agent_end last; /* how the latest copy ended */
};

/* What a peer, a user of applications, or a source uses of the node. Or a backlog: bundles of one
 * peer for one endpoint here, for all endpoints without a receiver, or for one link. It exists
 * while it is configured or uses something. */
struct account {
    struct hash_node by_id;
    struct heap waiting[BUNDLE_PRIORITIES]; /* bundles that may be dropped, by expiry */
    uint64_t used[QUOTA_KINDS];
    uint64_t pins;       /* links, bundles, assemblies and checks that refer to it */
    uint32_t links;      /* configured links to this peer; if any, it has a share */
    struct list sharing; /* in agent.sharers, for a peer with a share */
    bool unproven;       /* the common account of all unproven sources of a peer */
    uint64_t after;      /* of a proven source: lower keys are charged to the common account */
    uint64_t last;       /* of a common account: the key of the latest bundle */
    struct list proven;  /* of a peer: its proven sources, least recently used first */
    size_t proven_len;
    tick proven_next; /* no further source is proven before */
    /* Of a user: all of its bundles, including those charged to reserved parts. */
    uint64_t held_bundles, held_bytes;
    /* Of a backlog: its receiver when the latest bundle arrived. */
    enum receiver receiver;
    struct pace pace;     /* of a backlog */
    uint64_t reserved[2]; /* of a backlog: bundles charged to the reserved part of its route … */
    /* … and departures of its endpoint in the last 10 to 20 s, at the time of the latest
     * arrival. */
    struct tally took;
    struct list resting;    /* of a backlog: those whose bytes may leave memory (agent_memory.c) */
    struct list by_resting; /* in agent.resting */
    uint64_t resting_bytes;
    uint64_t last_to; /* of a peer: hash of its latest bundle's destination; 0: none */
    /* Of a peer: when a bundle last had another destination than the one before; 0: never. */
    tick mixed;
};

/* Bundles that are being stored (agent_storing.c). */
struct storing {
    struct list ready;     /* to be returned by the next poll */
    struct turns waiting;  /* until fewer are being stored */
    uint64_t given;        /* cost of those in `ready`, or with the binder */
    uint64_t party;        /* the party of the latest one */
    tick shared_until;     /* until then the store is shared: another party used it recently */
    uint64_t sequence_end; /* highest note that was stored with a bundle */
};

/* An answer without a record. */
struct notice {
    uint64_t token;
    uint32_t link;
    enum agent_refusal refusal;
    struct bundle_id id;
};

#define MEMORY_SIZES 64 /* powers of two */
#define SHORTAGES 32    /* refused bundles whose reason is kept */

struct agent {
    struct agent_config config;
    struct agent_counters counters;
    struct agent_unrouted unrouted;
    struct agent_stale stale;
    enum permit_way forbidden; /* direction of the rules that refused the latest bundle */
    /* The latest one; those of links, as a ring: */
    struct agent_shortage shortage, shortages[SHORTAGES];
    size_t shortages_at;
    struct agent_late late, lates[SHORTAGES]; /* the same for late bundles */
    size_t lates_at;
    struct agent_now now; /* of the last push */
    struct hash by_key, by_id, endpoints, registrations, assemblies;
    /* endpoint of the node's own name, always open: the agent is its application */
    struct endpoint *admin;
    struct agenda timers; /* has a place for every forwarding */
    uint64_t copies;
    struct sharing_rule *sharing; /* the first match is used */
    size_t sharing_len;
    struct storing storing;
    struct turns verifying;               /* joined bundles, of all endpoints */
    struct security_policy *security;     /* NULL: none */
    struct permits *permits[PERMIT_WAYS]; /* NULL: no rules */
    struct list answers, recalls, removals, ready;
    struct list restored;               /* to be placed */
    struct list leaving;                /* links */
    struct list resuming;               /* queues */
    struct list sending_waits;          /* queues */
    struct list room_waits;             /* queues, in the order of waiting */
    const struct queue *sending_beyond; /* has a first bundle beyond what all may have; or NULL */
    struct hash kinds;                  /* except rests */
    struct hash targets;                /* of these */
    struct kinds unrouted_kinds;        /* of bundles without a route */
    struct list asking;                 /* kinds */
    struct heap moving;                 /* has a place for every kind */
    struct list spent;                  /* empty ranks of bands, to be freed */
    bool place;                         /* bundles without a route may have one now */
    bool anew;                          /* queued bundles of links may have another route now */
    bool heads;                         /* bundles at the heads of these queues may, too */
    tick ask_from;                      /* the next questions for kinds (kinds_step) */
    struct record *polled; /* freed at the next poll, because the last action refers to its bytes */
    struct notice *notices; /* ring */
    size_t notices_at, notices_len, notices_cap;
    struct link **links; /* by index; NULL: there is none */
    uint32_t links_cap, link_lives;
    struct router router;
    struct routes routes; /* the router, unless another one is set */
    struct seen seen;
    struct returns returns;
    struct wastes wastes;
    struct hash declined;              /* agent_declined.c */
    struct hash peers, sources, users; /* accounts */
    struct hash backlogs;     /* accounts, each for the bundles of one peer to one destination */
    struct hash proven;       /* sources with accounts of their own */
    struct hash turns;        /* of all queues */
    struct hash link_parties; /* of all queues of links */
    uint64_t ranks;           /* turns so far, of all queues */
    uint64_t assembly_bytes;  /* memory of all assemblies, with their ids */
    /* Incomplete assemblies; the one that grew longest ago is first. */
    struct list gathering;
    uint64_t held_most;    /* held_bytes as configured; config has the present limit */
    uint64_t parties;      /* peers with a share, including this node */
    uint64_t peer_changes; /* how often a peer got its first link, or lost its last one */
    uint64_t limits[QUOTA_KINDS], shares[QUOTA_KINDS]; /* for all; for each party */
    uint64_t common_used[QUOTA_KINDS];                 /* used beyond the shares */
    uint64_t peers_used[QUOTA_KINDS];                  /* used by all peers together */
    struct list sharers;                               /* accounts of peers with a share */
    struct route_share here, no_route;                 /* in addition to those of links */
    uint64_t route_shares;                             /* number of all of them */
    /* What is reserved for each; what all of them use of their reserved parts, including removed
     * links. */
    uint64_t reserved_share[2], reserved[2];
    uint64_t next_key;
    /* Value of the lifetime clock at tick 0, modulo 2^64. */
    uint64_t life_base_ms;
    bool life_begun;
    uint64_t sequence;                 /* of the next bundle that is created here (§4.2.7) */
    uint64_t sequence_noted;           /* the store has noted that lower ones may be in use */
    uint64_t loading_bytes;            /* bytes of requested LOADs */
    struct list resting[MEMORY_SIZES]; /* backlogs, by the power of two of their bytes */
    enum crc_type primary_crc;
    tick reports_spent; /* of config.report_rate */
    struct report_share reports[REPORT_PARTIES];
};

/* agent.c */
void agent_begin(struct agent *a, struct agent_now now); /* every push begins with it */
/* Ends a bundle that an operator deleted or whose lifetime has expired; true: it was one. */
bool agent_overdue(struct agent *a, struct forwarding *f);

/* agent_event.c: makes an event of a bundle and counts it; called before it changes its state to
 * ended. Links and queues are the present ones. */
void emit_record(struct agent *a, enum bundle_event_kind kind, const struct forwarding *f);
/* reason: static text, or NULL */
void emit_reason(struct agent *a, enum bundle_event_kind kind, const struct forwarding *f,
                 const char *reason);
void emit_application(struct agent *a, enum bundle_event_kind kind, const struct forwarding *f,
                      uint64_t reg);
void emit_declined(struct agent *a, const struct forwarding *f, uint64_t reg, const char *reason);
void emit_end(struct agent *a, const struct forwarding *f, enum agent_end why);
void emit_not_stored(struct agent *a, const struct forwarding *f);
/* For bundles without a record; b NULL: it could not be decoded. REFUSE_NONE: consumed. */
void emit_refused(struct agent *a, const struct bundle *b, uint64_t bytes, enum bundle_origin from,
                  int link, enum agent_refusal refusal);
void emit_reported(struct agent *a, const struct agent_head *h, const char *item);

/* agent_link.c */
static inline struct link *link_at(const struct agent *a, int64_t link) /* NULL: there is none */
{
    return link >= 0 && link < a->links_cap ? a->links[link] : NULL;
}
struct link_ref link_ref(const struct agent *a, int link); /* a reference to the present link */
/* its index; NO_LINK: the link was removed */
int link_of(const struct agent *a, const struct link_ref *ref);
void links_fini(struct agent *a);
/* Places at most n bundles of removed links elsewhere; returns what is left of n. */
uint64_t links_leave(struct agent *a, uint64_t n);
void links_check(const struct agent *a);
/* The link in whose queue it is; TO_ENDPOINT: none, or a removed one. */
static inline int forwarding_link(const struct forwarding *f)
{
    return f->queue == NULL || f->queue->gone ? TO_ENDPOINT : f->link;
}

/* agent_room.c: enter: the bundle waits for a link or an endpoint, and so may be displaced; leave:
 * it no longer does. */
#define ROOM_MAX 256
struct room {
    struct record *of[ROOM_MAX]; /* bundles to displace */
    size_t len;
};
void room_enter(struct agent *a, struct forwarding *f);
void room_leave(struct forwarding *f);
/* Finds room for a new bundle. room_take makes it, by ending the bundles to displace; room_cancel
 * leaves them. */
enum agent_refusal room_find(struct agent *a, const struct agent_head *h, struct holder *holder,
                             uint64_t bytes, struct room *out);
void room_take(struct agent *a, struct room *room);
void room_cancel(struct agent *a, struct room *room);

/* agent_shortage.c: records that there was no room for a bundle. fragment: it is a fragment for
 * this node, and a limit of fragments is reached; begun: other fragments of its bundle are here. */
struct shortage_of {
    const struct agent_head *head;
    const struct holder *holder;
    uint64_t bytes;
    int from;
    bool fragment, begun;
};
void shortage_note(struct agent *a, const struct shortage_of *of, enum agent_refusal refusal);
/* Records that no route is in time. from: the link whose bundle is refused for that, or NO_LINK. */
void late_note(struct agent *a, const struct agent_head *h, tick expires, tick arrival, int from);

static inline uint64_t least(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

/* agent_party.c. enter, leave: the bundle is in the queue of a link. alone: all of the queue's
 * bundles are of one party. behind: bytes in the bands of this priority that have their turns after
 * this many bytes more of the party. gone: this neighbour has no link any more. free: the parties
 * of all queues, which must be unused. */
void party_enter(struct agent *a, struct forwarding *f);
void party_leave(struct agent *a, struct forwarding *f);
bool party_alone(const struct queue *q);
uint64_t party_behind(const struct agent *a, const struct queue *q, uint64_t id,
                      enum bundle_priority priority, uint64_t bytes);
void parties_gone(struct agent *a, uint64_t id);
void parties_free(struct agent *a);
void parties_check(const struct agent *a, const struct queue *q);

/* agent_queue.c */
void queue_init(struct queue *q, uint64_t window);
void queue_fini(struct queue *q); /* no bundle is queued; frees all memory */
bool queue_empty(const struct queue *q);
void queue_wake(struct agent *a, struct queue *q);
/* priority: selects the band; h: the head of a bundle that is no copy. */
void queue_add(struct agent *a, struct queue *q, struct forwarding *f,
               enum bundle_priority priority, const struct agent_head *h);
void queue_free_spent(struct agent *a); /* frees empty ranks that are not iterated */
void queue_leave(struct agent *a, struct forwarding *f);
void queue_return(struct agent *a, struct forwarding *f); /* to its former position in its queue */
/* the same within its source; it needs another turn */
void queue_again(struct agent *a, struct forwarding *f);
void queue_behind(struct agent *a, struct forwarding *f); /* after all bundles of its source */
void queue_resume(struct agent *a, struct queue *q);      /* ends all pauses */
void queue_close(struct agent *a, struct queue *q); /* a link's: few bundles stay at its head */
void queue_pause(struct agent *a, struct forwarding *f, tick until);
void queue_verify(struct agent *a, struct forwarding *whole); /* BUSY: it waits for agent_verify */
struct forwarding *queue_verify_next(struct agent *a);        /* BUSY again; NULL: none waits */
void queue_retry(struct agent *a, struct forwarding *f); /* pauses it, each time twice as long */
int queue_load(struct agent *a, struct forwarding *f, struct agent_action *out); /* LOAD; 1 */
int queue_poll(struct agent *a, struct queue *q, struct agent_action *out);
void queue_check(const struct agent *a, const struct queue *q);

/* agent_memory.c. rest: call it after each change of its state or bytes; its bytes may
 * leave memory if its turn is not near. wake: call it before its turn. make_room, for r: true if
 * this many bytes more fit. shrink: drops what it may until the memory is within its limit. open:
 * the queue is now open, or closed. */
void memory_init(struct agent *a);
void memory_rest(struct agent *a, struct forwarding *f);
void memory_wake(struct agent *a, struct forwarding *f);
bool memory_make_room(struct agent *a, const struct forwarding *f, uint64_t more);
void memory_shrink(struct agent *a);
bool memory_full(const struct agent *a, uint64_t more);
/* Is more than half of it with bundles that do not rest? */
bool memory_crowded(const struct agent *a);
void memory_open(struct agent *a, struct queue *q, bool open);
void memory_check_record(const struct forwarding *f);
void memory_check(const struct agent *a, uint64_t resting);

/* agent_place.c */
uint64_t agent_life(const struct agent *a); /* agent_life_ms at the latest push */
/* A bundle with this id is a duplicate if it arrives before until_ms (of agent_life). */
void agent_remember(struct agent *a, struct slice id, uint64_t until_ms);
static inline void count_seen(struct agent *a)
{
    a->counters.seen_bytes = seen_bytes(&a->seen);
    a->counters.displaced = a->seen.displaced;
}
/* an expiry by the same clock */
uint64_t agent_until_ms(const struct agent *a, tick expires);
uint64_t record_until_ms(const struct agent *a, const struct record *r);
bool agent_is_here(const struct agent *a, const struct eid *e);
/* The link went up or down: bundles that wait for links may have another route. */
void agent_link_changed(struct agent *a, uint32_t link);
void agent_place(struct agent *a, struct forwarding *f);
/* its link is removed: it is placed elsewhere */
void agent_leave_link(struct agent *a, struct forwarding *f);
/* h: its head, or NULL */
void agent_await_route(struct agent *a, struct forwarding *f, const struct agent_head *h,
                       tick until);
/* Asks the router for bundles without a route and places them, up to one slice. */
void agent_place_all(struct agent *a);
void agent_place_anew(struct agent *a); /* the same, also for queued bundles of links */
/* for those at the heads of these queues, unless they are booked, and for due ones */
void agent_place_heads(struct agent *a);
/* for those that another length limit of this link concerns; least: the lower one of both */
void agent_place_longer(struct agent *a, uint32_t link, uint64_t least);
void agent_place_touched(struct agent *a); /* for those that the router's latest change concerns */
void agent_place_slice(struct agent *a);
bool agent_places(const struct agent *a); /* there is more to do */
/* Places a waiting bundle that is in no kind again. False: it stays where it is. */
bool agent_place_again(struct agent *a, struct forwarding *f);
bool agent_goes_elsewhere(const struct agent *a, const struct forwarding *f);
/* After a pause or a loss: to its former position in its queue, or to another route. */
void agent_proceed(struct agent *a, struct forwarding *f);
/* The same after the pause of a failed bundle. */
void agent_retry(struct agent *a, struct forwarding *f);
/* The same, but it stays with an open link that it waits for, unless a router counts volumes or is
 * being asked again. */
void agent_go_on(struct agent *a, struct forwarding *f);
/* ends all pauses; long work is done in slices */
void agent_resume(struct agent *a, struct queue *q);
tick agent_expiry(const struct agent *a, uint64_t expires_ms);
uint64_t record_age_ms(const struct agent *a, const struct record *r, uint64_t age_ms);

/* agent_why.c: remembers for agent_why that an attempt to forward or to deliver the bundle failed.
 * reason: static text; NULL: it was taken back before it was sent. */
void forwarding_failed(struct forwarding *f, const char *reason);

/* agent_ask.c: questions and notes to the router */
/* The route of a bundle that is not admitted yet: TO_ENDPOINT, a link, or NO_ROUTE (there is one
 * later). Else REFUSE_NO_ROUTE, or REFUSE_TOO_LONG if it must not be fragmented. */
enum agent_refusal agent_way(struct agent *a, const struct agent_head *h, int came_from, int *link);
struct ask_answer {
    int link;         /* TO_ENDPOINT, a link, or NO_ROUTE */
    tick until;       /* NO_ROUTE: when to ask again */
    bool none;        /* NO_ROUTE: there is no route at all */
    bool too_late;    /* NO_ROUTE: no route is in time */
    tick arrival;     /* too_late: the router's earliest arrival */
    uint64_t booking; /* of a link; 0: none */
    uint64_t fits;    /* for a link: bytes that its route can transmit; 0: all; not for copies */
    /* For a link: further links; valid until the next question. */
    const struct router_copy *also;
    size_t also_len;
    /* For a link: also to this node's endpoint. For TO_ENDPOINT: a fragment for a group, whose copy
     * is reassembled here. */
    bool here;
};
/* Asks for the route of a bundle from here. Changes nothing. */
struct ask_answer ask_router(const struct agent *a, const struct forwarding *f,
                             const struct agent_head *h);
/* The link was added, removed, or went up or down. True: bundles without a route may have one. */
bool ask_changed(struct agent *a, uint32_t link);
/* Cost of the router's answers so far (router_ops.work). */
uint64_t ask_work(const struct agent *a);
#define ASK_WORK_MAX 50000 /* of one call; the next call asks the rest. Some 5 ms */
#define ASK_WORK_EACH 20   /* beside what the router counts: of a question and its links */
#define ASK_WORK_NS 100    /* approximate time of a unit */
#define ASK_REST 3 /* times as long as questions after a change have taken, nothing is asked */
/* Requests questions for all bundles to the nodes of this link's routes, wherever they wait, and
 * for the heads of queues. False: its routes are for more than single nodes, or the router uses it
 * for others, too. */
bool ask_link_nodes(struct agent *a, uint32_t link);
/* Notes that it is in the queue of its link by this answer; an earlier booking ends. */
void ask_placed(struct agent *a, struct forwarding *f, const struct ask_answer *answer);
/* Ends its booking, if it has one, with this outcome. */
void ask_ended(struct agent *a, struct forwarding *f, enum router_note_kind how);

/* agent_declined.c: links that must never transmit a bundle again. has: are there any? list: writes
 * those that exist; returns their number. */
bool declined_has(const struct agent *a, const struct forwarding *f);
size_t declined_list(const struct agent *a, const struct forwarding *f,
                     uint32_t out[AGENT_DECLINES_MAX]);
void declined_forget(struct agent *a, struct forwarding *f);
void declined_fini(struct agent *a);

/* agent_copy.c. For a bundle in no queue, or a copy that becomes several: creates n copies with its
 * bytes, if they are in memory, in no queue. Returns the list node of the first; the others follow.
 * NULL: no memory, and nothing changed. The bundle is then COPIED. */
struct list *copies_make(struct agent *a, struct forwarding *f, uint64_t n);
bool copies_room(const struct agent *a, uint64_t more);
/* A copy has ended: removes it from its bundle, which ends with the last one. */
void copies_sub(struct agent *a, struct forwarding *c, enum agent_end why);
/* Ends a copy that was replaced by others, without an outcome. */
void copies_replace(struct agent *a, struct forwarding *c);
/* The link or registration of a copy was removed, or declines it. True: it was the last copy, and
 * the bundle is placed again. */
bool copies_abandon(struct agent *a, struct forwarding *c);
/* Calls fn for each copy; fn may end it. The bundle may end with that. */
void copies_each(struct agent *a, struct record *original,
                 void (*fn)(struct agent *a, struct forwarding *c));
/* As queue_load, for a copy. */
int copies_load(struct agent *a, struct forwarding *c, struct agent_action *out);
/* The requested bytes arrived, and the original has the position of the payload; bytes NULL: they
 * did not. */
void copies_loaded(struct agent *a, struct record *original, const struct buf *bytes, bool damaged);
void copies_check(const struct record *original);

/* agent_deliver.c */
struct endpoint *endpoint_find(const struct agent *a, const struct eid *e);
struct endpoint *endpoint_get(struct agent *a, const struct eid *e); /* NULL: no memory */
void endpoint_tidy(struct agent *a, struct queue *q);                /* frees it if it is unused */
/* Has an application here registered this group (imc)? */
bool endpoint_joined(const struct agent *a, const struct eid *destination);
/* Ends the delivery of a bundle in an endpoint's queue. */
void endpoint_release(struct forwarding *f);
void endpoints_free(struct agent *a);
/* Call it before a delivery without an answer is ended. */
void endpoint_take_back(struct forwarding *f);
int endpoint_open_admin(struct agent *a); /* 0 or HELIO_ENOMEM */
/* The administrative endpoint has no application: it accepts only administrative records. */
bool endpoint_takes(const struct agent *a, const struct eid *destination, uint64_t flags);
/* The receiver of this endpoint's bundles. */
enum receiver endpoint_receiver(struct agent *a, const struct eid *destination);
/* Departures to its applications in the last 10 to 20 s. */
struct tally endpoint_took(struct agent *a, const struct eid *destination);
int endpoint_action(struct agent *a, struct forwarding *f, struct agent_action *out);

/* agent_split.c: the bytes of the bundle for a link that accepts at most `limit` bytes (0: any):
 * all of it, or the next fragment, which is then in r->in_hand. NULL with a text: it cannot be
 * transmitted. */
struct buf *split_next(struct forwarding *f, const struct bundle *b, uint64_t limit,
                       const char **why);
/* The maximum to transmit now: limited by its link and its route; 0: any. */
uint64_t split_limit(const struct agent *a, const struct forwarding *f);
/* Encoded bytes that are not forwarded yet. */
uint64_t split_rest(const struct forwarding *f);
/* The link has transmitted its part: does more of the bundle follow, over the same or another
 * route? */
enum split_more { SPLIT_DONE, SPLIT_THIS_WAY, SPLIT_ASK_ANEW };
enum split_more split_follows(struct forwarding *f);

/* agent_forward.c */
int link_action(struct agent *a, struct forwarding *f, struct agent_action *out);

/* agent_report.c. _head: if the bundle requests it; _now: if a block requests it. */
void agent_report(struct agent *a, const struct forwarding *f, enum status_item item,
                  enum status_reason reason);
void agent_report_head(struct agent *a, const struct agent_head *h, enum status_item item,
                       enum status_reason reason);
void agent_report_now(struct agent *a, const struct agent_head *h, enum status_item item,
                      enum status_reason reason);
/* Processes a whole administrative record for this node itself. */
bool agent_consume(struct agent *a, const struct bundle *b);
/* The administrative element (RFC 9171 §3.1) processes the bundle at the head of its queue, which
 * is in memory. */
void agent_administer(struct agent *a, struct forwarding *f);

/* the peer should keep the bundle */
bool agent_keeps(const struct agent *a, enum agent_refusal refusal);

/* agent_accept.c: with REFUSE_NONE it owns the payload. user: as in a request. */
enum agent_refusal agent_originate(struct agent *a, struct bundle *b, struct buf *payload,
                                   uint64_t user, struct record **out);

/* agent_poll.c */
/* The note of a bundle that is created here: a restart skips the rest of a block of sequence
 * numbers. */
uint64_t agent_sequence_end(uint64_t sequence);
int notice_reserve(struct agent *a); /* 0 or HELIO_ENOMEM */
void notice_add(struct agent *a, const struct notice *n);
void notice_forget(struct agent *a, uint32_t link); /* drops answers to a removed link */

#endif
