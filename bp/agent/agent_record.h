/* SPDX-License-Identifier: Apache-2.0 */
/* One bundle at the node, whose it is, and its life from admission to its end; for the agent's
 * files. */
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

/* Whose a bundle is. */
struct holder {
    struct account *peer, *source;
    struct account *user;    /* of the application; NULL: a neighbour's, or not known any more */
    struct account *backlog; /* of where it goes */
    struct link_ref
        way;    /* where it went when it came: a link, TO_ENDPOINT, NO_ROUTE; else NO_LINK */
    bool apart; /* it is in what is set apart for that, and not in the accounts */
};

/* One bundle at the node. */
struct record {
    struct hash_node by_key;
    union {
        struct hash_node by_id; /* ROLE_BUNDLE */
        struct list sibling;    /* ROLE_COPY: in fan.copies */
    };
    struct list node;            /* in the list of its state */
    struct list answer;          /* in agent.answers; later in agent.recalls */
    struct list alike;           /* in its kind */
    struct list resting;         /* in its backlog's `resting` (agent_memory.c) */
    struct kind *kind;           /* BACK and PAUSED of a link, and NO_ROUTE; else NULL */
    struct heap_node timer;      /* expiry, or the end of its pause */
    struct heap_node claims[3];  /* in `waiting` of its peer, its source, and its backlog */
    enum record_state state : 8; /* agent_state.h */
    enum record_role role : 4;
    enum bundle_origin origin : 4; /* FROM_LINK, or FROM_APPLICATION: the node itself, too */
    enum agent_refusal answer_refusal : 8; /* REFUSE_NONE = CONFIRM */
    uint32_t load_failures : 7;            /* LOAD_TRIES at most */
    uint32_t pays : 1;                     /* the peer refused it: its next turn counts, too */
    uint32_t mark_len;   /* of the id: what is remembered when it is gone; ENDED, 0: nothing */
    struct band *band;   /* FRONT, BACK */
    uint64_t key, token; /* token: of the answer; then the registration it was taken back from */
    uint64_t bytes;      /* of the encoded bundle */
    struct buf *buf;     /* NULL: in the store only */
    tick arrived;        /* when it came, or was placed after a restart */
    uint64_t rest_ms;    /* residence before that */
    /* Noted with it, so that its number is not used after a restart; 0: it did not start here, or
     * was noted. */
    uint64_t sequence_end;
    tick expires;
    tick pause;                /* the last one; 0 = none yet */
    int link;                  /* or TO_ENDPOINT, NO_ROUTE */
    struct link_ref came_from; /* the link that brought it; none: not known, or none did */
    struct link_ref avoid;     /* the link it came from, or that failed last: the last choice */
    uint32_t hand_head;   /* bytes that the fragment that the link has is longer than its payload */
    uint64_t booking;     /* the router's name for its use of the link; 0: none */
    struct queue *queue;  /* of its link or endpoint: FRONT to RECALLED; else NULL */
    uint64_t rank;        /* in its queue: its turn's number; 0: it had none yet */
    struct turn *turn;    /* BACK; VERIFYING; STORING that waits for the store */
    struct turn *place;   /* FRONT, BUSY, RECALLED: the party whose place it has; NULL: none */
    struct holder holder; /* not of a whole */
    struct fan *fan;      /* of a copy, and of the bundle whose copy it is */
    struct registration *taker; /* BUSY in an endpoint's queue: who has it */
    struct assembly *assembly;  /* of a fragment for this node, and of its whole */
    uint32_t losses;            /* on unreliable links */
    uint32_t tries;             /* that failed: to forward it, or to deliver it */
    const char *failed;         /* why the last of these did; static; NULL: none */
    uint64_t sent_to;           /* bytes of the payload that went on in fragments */
    uint64_t in_hand;           /* in the fragment that the link has; 0: it has no fragment */
    uint64_t fits;              /* bytes that still go its present way; 0: any */
    bool has_token;             /* an answer is due when it is stored */
    bool rewrite;               /* its blocks change when it is forwarded */
    bool loading;               /* asked for with LOAD */
    bool doomed;                /* an operator deleted it */
    bool again;                 /* it was forwarded before: it pauses before it goes on */
    bool was_declined;          /* agent.declined says by which links */
    bool too_late;              /* no route was in time when it was asked for last */
    bool once;                  /* a group's: known when it comes again */
    struct agent_qos qos;       /* as in the head */
    uint8_t priority;           /* in its queue: its own, or what a rule of the link says */
    uint32_t in_link;
    size_t payload_off, payload_len; /* within buf's data */
    uint32_t id_off, head_len;
    uint8_t head[]; /* what the store keeps (agent_head.h); ends with the id */
};

/* agent_record.c */
struct record *record_find(const struct agent *a, uint64_t key);
struct record *record_by_id(const struct agent *a, struct slice id,
                            uint64_t hash);   /* hash: agent_id_hash of id */
uint64_t record_cost(const struct record *r); /* of memory, with its bytes there */
enum agent_refusal record_room(const struct agent *a, struct holder *holder, uint64_t bytes);
/* What a new one would take of the limit of bytes. */
uint64_t record_expect_charge(const struct agent *a, uint64_t bytes);
/* The node as a whole, or what is not set apart of it, has no room: why, and true. */
bool record_lacks(const struct agent *a, uint64_t bytes, struct agent_shortage *out);
/* Memory for all that is here and arriving; is there room for so many bytes more? */
uint64_t record_memory_max(const struct agent *a);
uint64_t
record_places_cost(const struct agent *a); /* memory of endpoints, backlogs, assemblies, bytes */
bool record_memory_room(const struct agent *a, uint64_t more);
/* Could there be room for it if others gave theirs? */
bool record_room_elsewhere(const struct agent *a, uint64_t bytes);
/* Is it for an endpoint here whose backlog is all that it may be? */
bool record_backlog_full(const struct agent *a, const struct holder *holder, uint64_t bytes);
bool record_source_has_room(const struct agent *a, const struct holder *holder, uint64_t bytes);
/* In the sums of what is at the node. */
void record_count(struct agent *a, const struct record *r);
void record_uncount(struct agent *a, const struct record *r);
/* On success `holder` is the record's, as one that was kept. */
int record_new(struct agent *a, const struct agent_head *h, uint64_t key, uint64_t bytes,
               const struct holder *holder, struct record **out);
/* What the fragments of `as` make together; in no queue yet. 0 or HELIO_ENOMEM. */
int record_whole(struct agent *a, const struct agent_head *h, struct assembly *as);
/* A copy of it, in no queue and without bytes yet. NULL: no memory. */
struct record *record_copy(struct agent *a, const struct record *original);
/* May its bytes leave the memory? Not what fragments made together, nor a copy of that. */
bool record_can_load(const struct record *r);
void record_hold(struct agent *a, struct record *r, struct buf *b); /* takes the reference */
void record_fit(struct agent *a, struct record *r); /* a small bundle keeps no room around it */
void record_release(struct agent *a, struct record *r);
void record_load_done(struct agent *a, struct record *r);
void record_leave_storing(struct agent *a, struct record *r); /* the store has answered */
/* The store has it, or what it is derived from. */
static inline bool record_stored(const struct record *r)
{
    return r->state != STATE_STORING && r->state != STATE_NOT_STORED;
}
/* The store does not know it. */
static inline bool record_derived(const struct record *r)
{
    return r->role == ROLE_COPY || r->role == ROLE_WHOLE;
}
void record_end(struct agent *a, struct record *r,
                enum agent_end why); /* out of all; REMOVE follows when stored */
struct slice record_id(const struct record *r);
struct slice record_mark(const struct record *r);
void record_head(const struct record *r, struct agent_head *out);
void record_set_timer(struct agent *a, struct record *r, tick due);

#endif
