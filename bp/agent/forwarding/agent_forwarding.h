/* SPDX-License-Identifier: Apache-2.0 */
/* A forwarding: one route of a bundle, or its delivery, with its place in a queue and its outcomes.
 * Private to bp/agent. */
#ifndef BP_AGENT_FORWARDING_H
#define BP_AGENT_FORWARDING_H

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "bp/agent/agent.h"
#include "bp/agent/agent_state.h"
#include "bp/agent/forwarding/agent_kind.h"
#include "bp/agent/router.h"

#define LOAD_TRIES 8 /* a bundle that could not be read this often is deleted (END_UNREADABLE) */
#define NO_LINK ROUTER_NO_LINK
#define TO_ENDPOINT (-1)      /* forwarding.link: for an endpoint of this node */
#define NO_ROUTE (-3)         /* forwarding.link: no route now */
#define NO_ROUTE_IN_TIME (-4) /* forwarding.link: the same, and no route is in time */
#define NO_CONTACT (-5)       /* forwarding.link: no route now, and the router awaits one */

struct agent;
struct reassembly;
struct band;
struct buf;
struct queue;
struct record;
struct registration;
struct turn;

/* Each bundle has one, in the same allocation (record.forwarding). A bundle with several routes has
 * one more for each of them: a copy (agent_copy.c). */
struct forwarding {
    struct hash_node by_key;
    uint64_t key;
    struct record *bundle; /* NULL: a copy that has ended */
    struct list node;      /* in the list of its state */
    struct list answer;    /* in agent.answers; later in agent.recalls */
    union {
        struct list alike;   /* in the list of its kind */
        struct list sibling; /* of a copy, which has no kind: in fan.copies */
    };
    struct list resting; /* in its backlog's `resting` (agent_memory.c) */
    struct kind *kind;   /* STATE_BACK and STATE_PAUSED of a link, and STATE_NO_ROUTE; else NULL */
    struct heap_node timer;          /* expiry, or the end of its pause */
    enum forwarding_state state : 8; /* agent_state.h */
    uint8_t priority;  /* its queue: the bundle's own priority, or that of a rule of the link */
    bool pays;         /* the peer refused it, or the link lost it: its next turn is counted, too */
    bool loading;      /* a LOAD was requested */
    bool again;        /* the bundle was forwarded before: a pause precedes the next attempt */
    bool doomed;       /* an operator deleted it */
    bool in_party;     /* it counts in its party's bytes in the queue (agent_party.c) */
    struct band *band; /* STATE_FRONT, STATE_BACK */
    struct buf *buf;   /* the bundle's bytes; NULL: in the store only */
    union {
        /* STATE_STORING: stored with the bundle, so that its sequence number is not used again
         * after a restart; 0: it was not created here. */
        uint64_t sequence_end;
        uint64_t sending; /* other states: its bytes in counters.sending_bytes */
    };
    tick pause;         /* the latest pause; 0 = none yet */
    int link;           /* or TO_ENDPOINT, NO_ROUTE, NO_ROUTE_IN_TIME, NO_CONTACT */
    uint32_t hand_head; /* fragment in transmission: its length minus that of its payload, bytes */
    /* The link that received the bundle, or that failed last: used only if there is no other
     * route. */
    struct link_ref avoid;
    uint64_t booking; /* the router's booking of its link; 0: none */
    /* queue of its link or endpoint: STATE_FRONT to STATE_RECALLED; else NULL */
    struct queue *queue;
    union {
        uint64_t rank;       /* number of its turn in its queue; 0: none yet */
        uint64_t taken_from; /* STATE_ENDED, in agent.recalls: the registration that had it */
    };
    /* The queue of its source, while it waits for its turn: in STATE_BACK, in STATE_VERIFYING, and
     * in STATE_STORING until it is given to the store. */
    struct turn *turn;
    /* The party whose share of the window it uses: in STATE_FRONT, STATE_BUSY, STATE_RECALLED.
     * NULL: none. */
    struct turn *place;
    /* STATE_BUSY in an endpoint's queue: the registration that has it */
    struct registration *taker;
    struct reassembly *reassembly; /* of a fragment for this node, and of the joined bundle */
    uint32_t losses;               /* transmissions lost by unreliable links */
    uint32_t tries;                /* failed attempts to forward or deliver it */
    const char *failed;            /* reason of the latest failure; static; NULL: none */
    uint64_t sent_to;              /* payload bytes that were forwarded in fragments */
    uint64_t in_hand;              /* payload bytes of the fragment in transmission; 0: none */
    uint64_t fits;                 /* further bytes that its present route can transmit; 0: any */
};

/* agent_forwarding.c. find: NULL: there is none with this key. */
struct forwarding *forwarding_find(const struct agent *a, uint64_t key);
/* Adds a new one to the table of keys, with the lists and timers that it is in none of. */
void forwarding_init(struct agent *a, struct forwarding *f, struct record *bundle, uint64_t key);
/* Creates a copy of a bundle without bytes, in no queue and not in its fan. NULL: no memory. */
struct forwarding *forwarding_copy(struct agent *a, struct record *bundle);
/* Frees a copy, or a bundle with its forwarding. */
void forwarding_free(struct forwarding *f);
/* May its bytes be dropped from memory, because the store has them? False for a joined bundle and
 * its copies. */
bool forwarding_can_load(const struct forwarding *f);
void forwarding_hold(struct agent *a, struct forwarding *f,
                     struct buf *b); /* takes the reference */
/* reallocates the buffer of a small bundle without spare room */
void forwarding_fit(struct agent *a, struct forwarding *f);
void forwarding_release(struct agent *a, struct forwarding *f);
void forwarding_load_done(struct agent *a, struct forwarding *f);
void forwarding_set_timer(struct agent *a, struct forwarding *f, tick due);
/* Is its bundle stored, or derived from stored bundles? */
static inline bool forwarding_stored(const struct forwarding *f)
{
    return f->state != STATE_STORING && f->state != STATE_NOT_STORED;
}

#endif
