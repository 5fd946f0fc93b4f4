/* SPDX-License-Identifier: Apache-2.0 */
/* A record: one bundle at the node, with its accounts and its state from admission to its end.
 * Private to bp/agent. */
#ifndef BP_AGENT_RECORD_H
#define BP_AGENT_RECORD_H

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "bp/agent/agent.h"
#include "bp/agent/agent_head.h"
#include "bp/agent/agent_kind.h"
#include "bp/agent/agent_state.h"

struct assembly;

#define RECORD_SLACK 96 /* bytes: overhead of the allocator, entries in tables and in the heap */
#define NO_ANSWER REFUSE_COUNT /* record.answer_refusal: no answer is due */

/* The accounts that a bundle is charged to, and its route when it was admitted. */
struct holder {
    struct account *peer, *source;
    /* of the sending application; NULL: received from a neighbour, or unknown */
    struct account *user;
    struct account *backlog; /* of its destination endpoint or link */
    /* The route when it was admitted: a link, TO_ENDPOINT or NO_ROUTE; NO_LINK: none of these any
     * more. */
    struct link_ref destination_link;
    /* it is charged to the reserved part of that route (agent_bound.c), not to the accounts */
    bool in_reserve;
};

/* A bundle, a copy of one, or a bundle joined from fragments (enum record_role). */
struct record {
    struct hash_node by_key;
    union {
        struct hash_node by_id; /* ROLE_BUNDLE */
        struct list sibling;    /* ROLE_COPY: in fan.copies */
    };
    struct list node;    /* in the list of its state */
    struct list answer;  /* in agent.answers; later in agent.recalls */
    struct list alike;   /* in the list of its kind */
    struct list resting; /* in its backlog's `resting` (agent_memory.c) */
    struct kind *kind;   /* STATE_BACK and STATE_PAUSED of a link, and STATE_NO_ROUTE; else NULL */
    struct heap_node timer; /* expiry, or the end of its pause */
    /* in `waiting` of its peer's, its source's and its backlog's account */
    struct heap_node claims[3];
    enum record_state state : 8; /* agent_state.h */
    enum record_role role : 4;
    enum bundle_origin origin : 4; /* FROM_LINK; FROM_APPLICATION, also for the node itself */
    /* The answer that is due to its sender when it is stored: REFUSE_NONE = CONFIRM; or
     * NO_ANSWER. */
    enum agent_refusal answer_refusal : 8;
    uint32_t load_failures : 6; /* LOAD_TRIES at most */
    uint32_t in_party : 1;      /* it counts in its party's bytes in the queue (agent_party.c) */
    uint32_t pays : 1; /* the peer refused it, or the link lost it: its next turn is counted, too */
    uint16_t mark_len; /* length of the id to remember after its end. STATE_ENDED, 0: none */
    uint16_t id_off, head_len;
    struct band *band; /* STATE_FRONT, STATE_BACK */
    /* token: of the due answer; after a recall, the registration that had the bundle. */
    uint64_t key, token;
    uint64_t bytes;   /* of the encoded bundle */
    struct buf *buf;  /* NULL: in the store only */
    tick arrived;     /* arrival; after a restart, when it was placed */
    uint64_t rest_ms; /* time at this node before `arrived` */
    union {
        /* STATE_STORING: stored with the bundle, so that its sequence number is not used again
         * after a restart; 0: it was not created here. */
        uint64_t sequence_end;
        uint64_t sending; /* other states: its bytes in counters.sending_bytes */
    };
    tick expires;
    tick pause;                /* the latest pause; 0 = none yet */
    int link;                  /* or TO_ENDPOINT, NO_ROUTE, NO_ROUTE_IN_TIME */
    struct link_ref came_from; /* the link that received it; none: unknown, or created here */
    /* The link that received it, or that failed last: used only if there is no other route. */
    struct link_ref avoid;
    uint32_t hand_head; /* fragment in transmission: its length minus that of its payload, bytes */
    uint64_t booking;   /* the router's booking of its link; 0: none */
    /* queue of its link or endpoint: STATE_FRONT to STATE_RECALLED; else NULL */
    struct queue *queue;
    uint64_t rank; /* number of its turn in its queue; 0: none yet */
    /* The queue of its source, while it waits for its turn: in STATE_BACK, in STATE_VERIFYING, and
     * in STATE_STORING until it is given to the store. */
    struct turn *turn;
    /* The party whose share of the window it uses: in STATE_FRONT, STATE_BUSY, STATE_RECALLED.
     * NULL: none. */
    struct turn *place;
    struct holder holder; /* not used for a joined bundle */
    struct fan *fan;      /* of a copy, and of the bundle that was copied */
    /* STATE_BUSY in an endpoint's queue: the registration that has it */
    struct registration *taker;
    struct assembly *assembly; /* of a fragment for this node, and of the joined bundle */
    uint32_t losses;           /* transmissions lost by unreliable links */
    uint32_t tries;            /* failed attempts to forward or deliver it */
    const char *failed;        /* reason of the latest failure; static; NULL: none */
    uint64_t sent_to;          /* payload bytes that were forwarded in fragments */
    uint64_t in_hand;          /* payload bytes of the fragment in transmission; 0: none */
    uint64_t fits;             /* further bytes that its present route can transmit; 0: any */
    bool loading;              /* a LOAD was requested */
    bool doomed;               /* an operator deleted it */
    bool again;                /* it was forwarded before: a pause precedes the next attempt */
    struct agent_qos qos;      /* as in the head */
    uint8_t priority;          /* its queue: its own priority, or that of a rule of the link */
    uint32_t in_link;
    size_t payload_off, payload_len; /* within buf's data */
    uint8_t head[];                  /* the head in the store (agent_head.h); ends with the id */
};

/* agent_record.c */
struct record *record_find(const struct agent *a, uint64_t key);
struct record *record_by_id(const struct agent *a, struct slice id,
                            uint64_t hash);   /* hash: agent_id_hash of id */
uint64_t record_cost(const struct record *r); /* memory, with its bytes if they are in memory */
/* Adds it to, or removes it from, the totals of the node. */
void record_count(struct agent *a, const struct record *r);
void record_uncount(struct agent *a, const struct record *r);
/* Creates a record. On success it has its own references to the accounts of `holder`. */
int record_new(struct agent *a, const struct agent_head *h, uint64_t key, uint64_t bytes,
               const struct holder *holder, struct record **out);
/* Creates the record of the bundle joined from the fragments of `as`; it is in no queue yet.
 * Returns 0 or HELIO_ENOMEM. */
int record_whole(struct agent *a, const struct agent_head *h, struct assembly *as);
/* Creates a copy without bytes, in no queue. NULL: no memory. */
struct record *record_copy(struct agent *a, const struct record *original);
/* May its bytes be dropped from memory, because the store has them? False for a joined bundle and
 * its copies. */
bool record_can_load(const struct record *r);
void record_hold(struct agent *a, struct record *r, struct buf *b); /* takes the reference */
/* reallocates the buffer of a small bundle without spare room */
void record_fit(struct agent *a, struct record *r);
void record_release(struct agent *a, struct record *r);
void record_load_done(struct agent *a, struct record *r);
void record_leave_storing(struct agent *a, struct record *r); /* the store has answered */
/* Is it stored, or derived from stored bundles? */
static inline bool record_stored(const struct record *r)
{
    return r->state != STATE_STORING && r->state != STATE_NOT_STORED;
}
/* Is it in agent.by_id? */
static inline bool record_has_id(const struct record *r)
{
    return r->role == ROLE_BUNDLE || r->role == ROLE_GROUP;
}
/* Do its blocks change when it is forwarded? */
static inline bool record_rewrites(const struct record *r)
{
    return agent_head_rewrites(slice_of(r->head, r->head_len));
}
/* Is it derived, and so not in the store? */
static inline bool record_derived(const struct record *r)
{
    return r->role == ROLE_COPY || r->role == ROLE_WHOLE;
}
/* removes it from all lists and tables; a REMOVE action follows if it is stored */
void record_end(struct agent *a, struct record *r, enum agent_end why);
struct slice record_id(const struct record *r);
struct slice record_mark(const struct record *r);
void record_head(const struct record *r, struct agent_head *out);
void record_set_timer(struct agent *a, struct record *r, tick due);

/* agent_room.c */
enum agent_refusal record_room(const struct agent *a, struct holder *holder, uint64_t bytes);
/* What a new bundle would use of the limit of bytes. */
uint64_t record_expect_charge(const struct agent *a, uint64_t bytes);
/* Has the node as a whole, or its unreserved part, no room? If so, writes the reason. */
bool record_lacks(const struct agent *a, uint64_t bytes, struct agent_shortage *out);
/* Memory of all stored and arriving bundles; is there room for this many bytes more? */
uint64_t record_memory_max(const struct agent *a);
uint64_t record_places_cost(const struct agent *a); /* memory of endpoints, backlogs, assemblies */
uint64_t record_memory_used(const struct agent *a);
bool record_memory_room(const struct agent *a, uint64_t more);
/* Could there be room for it if bundles of other accounts were displaced? */
bool record_room_elsewhere(const struct agent *a, uint64_t bytes);
/* Is it for an endpoint here whose backlog has reached its limit? */
bool record_backlog_full(const struct agent *a, const struct holder *holder, uint64_t bytes);
bool record_source_has_room(const struct agent *a, const struct holder *holder, uint64_t bytes);

#endif
