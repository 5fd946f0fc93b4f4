/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the bundle agent share; not for others. */
#ifndef BP_AGENT_IMPL_H
#define BP_AGENT_IMPL_H

#include "base/agenda.h"
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
#include "bp/agent/agent_service.h"
#include "bp/agent/agent_state.h"
#include "bp/agent/event.h"
#include "bp/agent/returns.h"
#include "bp/agent/router.h"
#include "bp/agent/routes.h"
#include "bp/agent/seen.h"

#define LINKS_MAX (1u << 20) /* indices: a table of 8 bytes each */
#define QUOTA_OWN 0          /* account of this node's applications */
#define QUOTA_UNKNOWN 1      /* of peers whose names the store does not know */
#define PREFETCH 4           /* bundles in memory beyond the window, so that a link never waits */
#define COPIES_MAX 262144    /* of all bundles that go several ways */
#define LOAD_TRIES 8         /* a bundle that cannot be read this often is given up */
#define NO_LINK ROUTER_NO_LINK
#define TO_ENDPOINT (-1) /* record.link: for an endpoint of this node */
#define NO_ROUTE (-3)    /* record.link: no route now */

/*
 * The bundles for a link, an endpoint or a registration. They wait in `bands`, by priority; then
 * they are `busy` (given away, outcome open). A bundle whose forwarding failed is `paused` until
 * its time. `resumed`: bundles whose pause was ended and that are on their way back to the bands.
 */
struct queue {
    struct list node; /* in agent.ready, when it may have work */
    struct bands bands;
    struct list busy, paused, resumed;
    struct list resuming; /* in agent.resuming, when any are resumed */
    uint64_t busy_len, window;
    struct service service;
    uint64_t verifying;      /* wholes, in agent.verifying: they have no place in the window */
    uint64_t bundles, bytes; /* in all of these */
    struct agent_backlog backlog[BUNDLE_PRIORITIES]; /* by priority; with what was given away */
    struct registration *only; /* whose own queue it is; NULL: an endpoint's or a link's */
    uint64_t owed; /* deliveries that were taken back and have no answer yet: part of the window */
    bool open;     /* link up, or endpoint registered */
    bool gone;     /* its link was removed: its bundles are placed elsewhere */
};

/* What is admitted for one way: a link, endpoints here, or to wait for a way. */
struct way {
    uint64_t apart[2];             /* QUOTA_BUNDLES, QUOTA_BYTES: in what is set apart for it */
    uint64_t coming, coming_bytes; /* not stored yet */
    uint64_t refused;
};

/* The rules by which bundles get another priority; shared by all links with the same rules. */
struct rule_set {
    uint32_t links;
    size_t len;
    struct agent_queue_rule of[];
};

struct link {
    struct way way;
    uint64_t bundles_max, bytes_max; /* 0: none */
    struct eid peer;
    uint64_t arriving;   /* bytes */
    uint32_t life;       /* no two links have the same, whatever their index */
    uint64_t bundle_max; /* longest bundle that it takes; 0: any */
    struct queue queue;
    struct kinds kinds;  /* of its queue: the bundles behind the first ones, and the paused ones */
    struct list leaving; /* in agent.leaving, when it is removed and bundles still wait in it */
    struct rule_set *rules; /* NULL: none */
};

/* Exists while it is registered or bundles wait for it. */
struct endpoint {
    struct hash_node by_eid;
    struct eid eid;
    enum agent_sharing sharing;
    struct list regs;   /* the one whose turn it is first */
    tick took;          /* when one of them took a bundle last; 0: none has */
    tick queued;        /* when bundles came last while none was here */
    struct pace pace;   /* of what they took: its windows alone */
    struct queue queue; /* open while there are any; with AGENT_SHARE_ALL bundles leave it for the
                         registrations' own ones */
};

struct registration {
    struct hash_node by_reg;
    struct list node; /* of endpoint.regs */
    struct endpoint *endpoint;
    uint64_t reg, window;
    uint64_t given, owed; /* deliveries without an answer; those of them that were taken back */
    struct queue queue;   /* AGENT_SHARE_ALL */
};

/* Which endpoints several may register. */
struct sharing_rule {
    struct eid_pattern pattern;
    enum agent_sharing sharing;
};
#define SHARING_RULES_MAX 4096

/* A bundle that goes several ways (agent_copy.c). */
struct fan {
    struct record *original; /* COPIED */
    struct list copies;
    uint64_t len; /* of these: at least one, until the bundle ends with the last */
    bool delivered, forwarded;
    bool held;           /* being walked */
    bool gathered;       /* one of these is in an assembly: it is a fragment of a group's bundle */
    enum agent_end last; /* how the last copy ended */
};

/* What one peer, one user of applications, or one source holds of the node; or its backlog: what
 * goes to one endpoint here, to all that nobody takes, or over one link, of a peer's bundles.
 * Exists while it is configured or holds something. */
struct account {
    struct hash_node by_id;
    struct heap waiting[BUNDLE_PRIORITIES]; /* what may be dropped, by its end */
    uint64_t used[QUOTA_KINDS];
    uint64_t pins;       /* links, bundles, assemblies and checks that refer to it */
    uint32_t links;      /* configured ones to this peer: it has a share of its own */
    struct list sharing; /* agent.sharers, of a peer that has a share */
    bool unproven;       /* of all sources of a peer that have not proved themselves, together */
    uint64_t after;      /* of one that has: its bundles with keys below count for those */
    uint64_t last;       /* of those: the key of the last one that came */
    struct list proven;  /* of a peer: its sources that have; used longest ago first */
    size_t proven_len;
    tick proven_next;                  /* before that no other one does */
    uint64_t held_bundles, held_bytes; /* of a user: all of its bundles, also those set apart */
    enum receiver receiver;            /* of a backlog: when the last bundle came for it */
    struct pace pace;                  /* of a backlog */
    uint64_t apart[2];                 /* of a backlog: in what is set apart for its way … */
    struct tally took; /* … and what its endpoint took in the last 10 to 20 s, when one came last */
    struct list resting;    /* of a backlog: records that rest (agent_memory.c) */
    struct list by_resting; /* in agent.resting */
    uint64_t resting_bytes;
    uint64_t last_to; /* of a peer: where its last bundle went, as a hash; 0: none came */
    tick mixed;       /* of a peer: a bundle went elsewhere than the one before; 0: never */
};

/* What goes to the store (agent_storing.c). */
struct storing {
    struct list ready;     /* asked for at the next poll */
    struct turns waiting;  /* until the store has fewer */
    uint64_t given;        /* cost of what is ready, or with the binder */
    uint64_t party;        /* that brought the last one */
    tick shared_until;     /* another one did, not long ago */
    uint64_t sequence_end; /* highest note that went with a bundle */
};

/* An answer that belongs to no record. */
struct notice {
    uint64_t token;
    uint32_t link;
    enum agent_refusal refusal;
    struct bundle_id id;
};

#define MEMORY_SIZES 64 /* powers of two */
#define SHORTAGES 32    /* refused bundles whose reason is remembered */

struct agent {
    struct agent_config config;
    struct agent_counters counters;
    struct agent_unrouted unrouted;
    struct agent_stale stale;
    enum permit_way forbidden; /* whose rules refused the latest bundle that rules refused */
    struct agent_shortage shortage, shortages[SHORTAGES]; /* the last one; of links, a ring: */
    size_t shortages_at;
    struct agent_late late, lates[SHORTAGES]; /* likewise */
    size_t lates_at;
    struct agent_now now; /* of the last push */
    struct hash by_key, by_id, endpoints, registrations, assemblies;
    struct endpoint *admin; /* of the node's own name, always open: the agent is its application */
    struct agenda timers;   /* has room for every record */
    uint64_t copies;
    struct sharing_rule *sharing; /* the first that matches counts */
    size_t sharing_len;
    struct storing storing;
    struct turns verifying;               /* wholes, of all endpoints */
    struct security_policy *security;     /* NULL: none */
    struct permits *permits[PERMIT_WAYS]; /* NULL: no rules */
    struct list answers, recalls, removals, ready;
    struct list restored;     /* not placed yet */
    struct list leaving;      /* links */
    struct list resuming;     /* queues */
    struct hash kinds;        /* beside rests */
    struct hash targets;      /* of these */
    struct kinds apart_kinds; /* of what has no way now */
    struct list asking;       /* kinds */
    struct heap moving;       /* has room for every kind */
    struct list spent;        /* empty ranks of bands, to be freed */
    bool place;               /* what waits apart may have a way now */
    bool anew;                /* so may those in queues of links have another one */
    bool heads;               /* so may those at the heads of these queues */
    struct record *polled;    /* freed at the next poll: the last action shows its bytes */
    struct notice *notices;   /* ring */
    size_t notices_at, notices_len, notices_cap;
    struct link **links; /* by index; NULL: there is none */
    uint32_t links_cap, link_lives;
    struct router router;
    struct routes routes; /* the router, until there is another one */
    struct seen seen;
    struct returns returns;
    struct hash declined;              /* agent_declined.c */
    struct hash peers, sources, users; /* accounts */
    struct hash backlogs;              /* accounts, each of one peer's bundles for one place */
    struct hash proven;                /* sources that have accounts of their own */
    struct hash turns;                 /* of all queues */
    uint64_t ranks;                    /* turns so far, of all queues */
    uint64_t assembly_bytes;           /* of all assemblies, with their ids */
    struct list gathering; /* assemblies without all bytes, the one that grew longest ago first */
    uint64_t held_most;    /* held_bytes as configured; config has what is in force */
    uint64_t parties;      /* peers with a share, this node included */
    uint64_t limits[QUOTA_KINDS], shares[QUOTA_KINDS]; /* of all; of each party */
    uint64_t common_used[QUOTA_KINDS];                 /* beyond the shares */
    uint64_t peers_used[QUOTA_KINDS];                  /* of all, by all peers */
    struct list sharers;                               /* accounts of peers with a share */
    struct way here, no_route;                         /* beside those of links */
    uint64_t ways;                                     /* all of them */
    uint64_t way_share[2], apart[2]; /* what is set apart for each; used of that by all, links that
                                        are gone included */
    uint64_t next_key;
    uint64_t
        life_base_ms; /* of the time by which lifetimes count: its value at tick 0, modulo 2^64 */
    bool life_begun;
    uint64_t sequence;                 /* of the next bundle that starts here (§4.2.7) */
    uint64_t sequence_noted;           /* the store knows that those below may be used */
    uint64_t loading_bytes;            /* asked for with LOAD */
    struct list resting[MEMORY_SIZES]; /* backlogs, by the power of two of their bytes */
    uint64_t resting_bytes;
    enum crc_type primary_crc;
    tick reports_spent; /* of config.report_rate */
    struct report_share reports[REPORT_PARTIES];
};

/* agent.c */
void agent_begin(struct agent *a, struct agent_now now); /* every push starts with it */
/* Ends a bundle that an operator deleted or whose lifetime is over; true when it was one. */
bool agent_overdue(struct agent *a, struct record *r);

/* agent_event.c: says what happened to a bundle, and counts it; before the change where the record
 * ends. Links and queues are those of the moment. */
void emit_record(struct agent *a, enum bundle_event_kind kind, const struct record *r);
/* reason: static text, or NULL */
void emit_reason(struct agent *a, enum bundle_event_kind kind, const struct record *r,
                 const char *reason);
void emit_application(struct agent *a, enum bundle_event_kind kind, const struct record *r,
                      uint64_t reg);
void emit_declined(struct agent *a, const struct record *r, uint64_t reg, const char *reason);
void emit_end(struct agent *a, const struct record *r, enum agent_end why);
void emit_not_stored(struct agent *a, const struct record *r);
/* What never got a record; b NULL: it could not be read. REFUSE_NONE: consumed. */
void emit_refused(struct agent *a, const struct bundle *b, uint64_t bytes, enum bundle_origin from,
                  int link, enum agent_refusal refusal);
void emit_reported(struct agent *a, const struct agent_head *h, const char *item);

/* agent_link.c */
static inline struct link *link_at(const struct agent *a, int64_t link) /* NULL: there is none */
{
    return link >= 0 && link < a->links_cap ? a->links[link] : NULL;
}
struct link_ref link_ref(const struct agent *a, int link);      /* to what is there now */
int link_of(const struct agent *a, const struct link_ref *ref); /* its index; NO_LINK: it is gone */
void links_fini(struct agent *a);
/* Of links that are removed at most n bundles are placed elsewhere; what is left of n. */
uint64_t links_leave(struct agent *a, uint64_t n);
void links_check(const struct agent *a);
/* The link in whose queue it is; TO_ENDPOINT: none, or one that is removed. */
static inline int record_link(const struct record *r)
{
    return r->queue == NULL || r->queue->gone ? TO_ENDPOINT : r->link;
}

/* agent_room.c: `enter` when it waits for a link or an endpoint, `leave` when it does no more. */
#define ROOM_MAX 256
struct room {
    struct record *of[ROOM_MAX]; /* whose places it takes */
    size_t len;
};
void room_enter(struct agent *a, struct record *r);
void room_leave(struct record *r);
/* Room for a new bundle, which room_take makes when it is certain; else room_cancel. */
enum agent_refusal room_find(struct agent *a, const struct agent_head *h, struct holder *holder,
                             uint64_t bytes, struct room *out);
void room_take(struct agent *a, struct room *room);
void room_cancel(struct agent *a, struct room *room);

/* agent_shortage.c: there was no room for a bundle. fragment: it is one for this node, and lacks a
 * place among these; begun: others of its bundle are here. */
struct shortage_of {
    const struct agent_head *head;
    const struct holder *holder;
    uint64_t bytes;
    int from;
    bool fragment, begun;
};
void shortage_note(struct agent *a, const struct shortage_of *of, enum agent_refusal refusal);
/* No way is in time. from: the link whose bundle is refused for that, or NO_LINK. */
void late_note(struct agent *a, const struct agent_head *h, tick expires, tick arrival, int from);

/* agent_queue.c */
void queue_init(struct queue *q, uint64_t window);
void queue_fini(struct queue *q); /* nothing waits; no memory stays */
bool queue_empty(const struct queue *q);
void queue_wake(struct agent *a, struct queue *q);
/* priority: selects its band; h: the head of a bundle that is no copy. */
void queue_add(struct agent *a, struct queue *q, struct record *r, enum bundle_priority priority,
               const struct agent_head *h);
void queue_free_spent(struct agent *a); /* empty ranks that nobody walks any more */
void queue_leave(struct agent *a, struct record *r);
void queue_return(struct agent *a, struct record *r); /* where it stood in its queue */
void queue_again(struct agent *a, struct record *r);  /* likewise among its source's; it pays */
void queue_behind(struct agent *a, struct record *r); /* behind all of its source */
void queue_resume(struct agent *a, struct queue *q);  /* all that pauses is resumed */
void queue_pause(struct agent *a, struct record *r, tick until);
void queue_verify(struct agent *a, struct record *whole); /* BUSY: it waits for agent_verify */
struct record *queue_verify_next(struct agent *a);        /* BUSY again; NULL: none waits */
void queue_retry(struct agent *a, struct record *r);      /* pauses, each time twice as long */
int queue_load(struct agent *a, struct record *r, struct agent_action *out); /* LOAD; 1 */
int queue_poll(struct agent *a, struct queue *q, struct agent_action *out);
void queue_check(const struct queue *q);

/* agent_memory.c. rest: after each change of the record's state or bytes; its bytes may leave the
 * memory if its turn is not near. wake: before its turn. make_room, for r: true when so many
 * bytes more have room. open: the queue is open from now on, or closed. */
void memory_init(struct agent *a);
void memory_rest(struct agent *a, struct record *r);
void memory_wake(struct agent *a, struct record *r);
bool memory_make_room(struct agent *a, const struct record *r, uint64_t more);
bool memory_full(const struct agent *a, uint64_t more);
void memory_open(struct agent *a, struct queue *q, bool open);
void memory_check_record(const struct record *r);
void memory_check(const struct agent *a, uint64_t resting);

/* agent_place.c */
uint64_t agent_life(const struct agent *a); /* agent_life_ms at the last push */
/* A bundle with this id, if it comes again before until_ms (of agent_life), is a duplicate. */
void agent_remember(struct agent *a, struct slice id, uint64_t until_ms);
static inline void count_seen(struct agent *a)
{
    a->counters.seen_bytes = seen_bytes(&a->seen);
    a->counters.displaced = a->seen.displaced;
}
uint64_t record_until_ms(const struct agent *a, const struct record *r); /* its end, in that time */
bool agent_is_here(const struct agent *a, const struct eid *e);
/* The link is up or down now: bundles that wait for links may have another way. */
void agent_link_changed(struct agent *a, uint32_t link);
void agent_place(struct agent *a, struct record *r);
void agent_leave_link(struct agent *a, struct record *r); /* its link ends: placed elsewhere */
/* h: its head, or NULL */
void agent_await_route(struct agent *a, struct record *r, const struct agent_head *h, tick until);
/* What waits apart is asked for, and placed, as far as one slice goes. */
void agent_place_all(struct agent *a);
void agent_place_anew(struct agent *a);    /* and what waits in queues of links */
void agent_place_heads(struct agent *a);   /* what is at their heads, and what is due */
void agent_place_touched(struct agent *a); /* as the router says of its last change */
void agent_place_slice(struct agent *a);
bool agent_places(const struct agent *a); /* there is more to do */
/* What waits, and is in no kind. False: its place stays as it was. */
bool agent_place_again(struct agent *a, struct record *r);
bool agent_goes_elsewhere(const struct agent *a, const struct record *r);
/* After a pause or a loss: where it stood in its queue, or another way. */
void agent_proceed(struct agent *a, struct record *r);
/* The same after the pause of one that failed. */
void agent_retry(struct agent *a, struct record *r);
/* The same, but an open link that it waits for keeps it, where no router counts volumes and nobody
 * is being asked anew. */
void agent_go_on(struct agent *a, struct record *r);
void agent_resume(struct agent *a, struct queue *q); /* all pauses end; long work in slices */
tick agent_expiry(const struct agent *a, uint64_t expires_ms);
uint64_t record_age_ms(const struct agent *a, const struct record *r, uint64_t age_ms);

/* agent_ask.c: what the router is asked and told */
/* A way for a bundle that is not here yet: TO_ENDPOINT, a link, or NO_ROUTE (there is one later).
 * Else REFUSE_NO_ROUTE, or REFUSE_TOO_LONG for what must not go in fragments. */
enum agent_refusal agent_way(struct agent *a, const struct agent_head *h, int came_from, int *link);
struct ask_answer {
    int link;                       /* TO_ENDPOINT, a link, or NO_ROUTE */
    tick until;                     /* NO_ROUTE: when to ask again */
    bool none;                      /* NO_ROUTE: there is no route at all */
    bool too_late;                  /* NO_ROUTE: no way is in time */
    tick arrival;                   /* too_late: as the router has it */
    uint64_t booking;               /* of a link; 0: none */
    uint64_t fits;                  /* likewise; 0: all of it; not for copies */
    const struct router_copy *also; /* of a link: over these, too; until the next question */
    size_t also_len;
    bool here; /* of a link: to this node's endpoint, too; of TO_ENDPOINT: a fragment for a group,
                  whose copy is gathered here */
};
/* Where it goes from here. Changes nothing. */
struct ask_answer ask_router(const struct agent *a, const struct record *r,
                             const struct agent_head *h);
/* The link was added, removed, or is up or down now. True: what waits apart may have a way. */
bool ask_changed(struct agent *a, uint32_t link);
/* What waits for the nodes of this link's routes, wherever it does, is to be asked for, and heads
 * of queues. False: its routes are for more than single nodes, or another router answers. */
bool ask_link_nodes(struct agent *a, uint32_t link);
/* It is in the queue of its link by this answer; an earlier one's booking is over. */
void ask_placed(struct agent *a, struct record *r, const struct ask_answer *answer);
/* Its booking, if it has one, ends so. */
void ask_ended(struct agent *a, struct record *r, enum router_note_kind how);

/* agent_declined.c: links that a bundle never goes over again. list: those of them that are there
 * now; how many. */
size_t declined_list(const struct agent *a, const struct record *r,
                     uint32_t out[AGENT_DECLINES_MAX]);
void declined_forget(struct agent *a, struct record *r);
void declined_fini(struct agent *a);

/* agent_copy.c. For a bundle in no queue, or a copy that is to become several: n new copies of it
 * with its bytes, as far as they are in memory, in no queue; the list node of the first, the others
 * follow. NULL: no memory, and nothing changed. The bundle is COPIED from then on. */
struct list *copies_make(struct agent *a, struct record *r, uint64_t n);
bool copies_room(const struct agent *a, uint64_t more);
/* One ends: out of its bundle, which ends with the last one. */
void copies_sub(struct agent *a, struct record *c, enum agent_end why);
/* A copy became others, which are there already: it ends, and nobody had the bundle by that. */
void copies_replace(struct agent *a, struct record *c);
/* Its link or registration is gone, or does not want it. True: it was the only hope, and the bundle
 * is placed anew. */
bool copies_abandon(struct agent *a, struct record *c);
/* fn for each; it may end it. The bundle may end with that. */
void copies_each(struct agent *a, struct record *original,
                 void (*fn)(struct agent *a, struct record *c));
/* As queue_load, for a copy. */
int copies_load(struct agent *a, struct record *c, struct agent_action *out);
/* What was asked for came, and the payload's place is in the original; NULL: it did not. */
void copies_loaded(struct agent *a, struct record *original, const struct buf *bytes, bool damaged);
void copies_check(const struct record *original);

/* agent_deliver.c */
struct endpoint *endpoint_find(const struct agent *a, const struct eid *e);
struct endpoint *endpoint_get(struct agent *a, const struct eid *e); /* NULL: no memory */
void endpoint_tidy(struct agent *a, struct queue *q); /* frees it when nobody needs it */
/* Has somebody here registered this group (imc)? */
bool endpoint_joined(const struct agent *a, const struct eid *destination);
/* An endpoint's queue: its delivery is over. */
void endpoint_release(struct record *r);
void endpoints_free(struct agent *a);
/* Before a delivery without an answer is ended. */
void endpoint_take_back(struct record *r);
int endpoint_open_admin(struct agent *a); /* 0 or HELIO_ENOMEM */
/* The administrative endpoint has no application: it takes administrative records only. */
bool endpoint_takes(const struct agent *a, const struct eid *destination, uint64_t flags);
/* Who takes the bundles of this endpoint of the node. */
enum receiver endpoint_receiver(struct agent *a, const struct eid *destination);
/* What its applications took in the last 10 to 20 s. */
struct tally endpoint_took(struct agent *a, const struct eid *destination);
int endpoint_action(struct agent *a, struct record *r, struct agent_action *out);

/* agent_split.c: what of the bundle goes over a link that takes `limit` bytes (0: any) at most: all
 * of it, or the next fragment, which is in r->in_hand then. NULL with a text: it cannot go. */
struct buf *split_next(struct record *r, const struct bundle *b, uint64_t limit, const char **why);
/* The most that goes now: what its link takes, and what its way has room for; 0: any. */
uint64_t split_limit(const struct agent *a, const struct record *r);
/* Encoded bytes of what has not gone on yet. */
uint64_t split_rest(const struct record *r);
/* The link has brought what it had: more of the bundle is to follow, this way or another. */
enum split_more { SPLIT_DONE, SPLIT_THIS_WAY, SPLIT_ASK_ANEW };
enum split_more split_follows(struct record *r);

/* agent_forward.c */
int link_action(struct agent *a, struct record *r, struct agent_action *out);

/* agent_report.c: _head when the bundle asks for it, _now when a block does */
void agent_report(struct agent *a, const struct record *r, enum status_item item,
                  enum status_reason reason);
void agent_report_head(struct agent *a, const struct agent_head *h, enum status_item item,
                       enum status_reason reason);
void agent_report_now(struct agent *a, const struct agent_head *h, enum status_item item,
                      enum status_reason reason);
/* An administrative record for this node itself, as it comes in whole: read, and done. */
bool agent_consume(struct agent *a, const struct bundle *b);
/* The administrative element (RFC 9171 §3.1) takes what is at the head of its queue, in memory. */
void agent_administer(struct agent *a, struct record *r);

bool agent_keeps(const struct agent *a, enum agent_refusal refusal); /* the peer */

/* agent_accept.c: takes the payload on REFUSE_NONE. user: as in a request. */
enum agent_refusal agent_originate(struct agent *a, struct bundle *b, struct buf *payload,
                                   uint64_t user, struct record **out);

/* agent_poll.c */
/* What is noted with a bundle that starts here: a restart skips the rest of a block of numbers. */
uint64_t agent_sequence_end(uint64_t sequence);
int notice_reserve(struct agent *a); /* 0 or HELIO_ENOMEM */
void notice_add(struct agent *a, const struct notice *n);
void notice_forget(struct agent *a, uint32_t link); /* nobody waits for them */

#endif
