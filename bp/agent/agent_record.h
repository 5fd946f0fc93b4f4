/* SPDX-License-Identifier: Apache-2.0 */
/* A record: one bundle at the node, stored once, with its accounts. Private to bp/agent. */
#ifndef BP_AGENT_RECORD_H
#define BP_AGENT_RECORD_H

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "bp/agent/agent.h"
#include "bp/agent/agent_head.h"
#include "bp/agent/forwarding/agent_forwarding.h"

struct reassembly;

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

/* A bundle at the node, from its admission to its end: one that was received or created here, or
 * one joined from fragments (enum record_role). struct bundle (bp/codec) is what is decoded. */
struct record {
    struct forwarding forwarding;
    struct hash_node by_id; /* record_has_id */
    /* in `waiting` of its peer's, its source's and its backlog's account */
    struct heap_node claims[3];
    uint64_t bytes;   /* of the encoded bundle */
    uint64_t token;   /* of the due answer */
    tick arrived;     /* arrival; after a restart, when it was placed */
    uint64_t rest_ms; /* time at this node before `arrived` */
    tick expires;
    struct holder holder;            /* not used for a joined bundle */
    struct fan *fan;                 /* of its copies; NULL: it has none */
    size_t payload_off, payload_len; /* within the data of forwarding.buf */
    struct link_ref came_from;       /* the link that received it; none: unknown, or created here */
    uint16_t mark_len; /* length of the id to remember after its end. STATE_ENDED, 0: none */
    uint16_t id_off, head_len;
    enum record_role role : 3;
    enum bundle_origin origin : 2; /* FROM_LINK; FROM_APPLICATION, also for the node itself */
    uint32_t load_failures : 4;    /* LOAD_TRIES at most */
    /* The answer that is due to its sender when it is stored: REFUSE_NONE = CONFIRM; or
     * NO_ANSWER. */
    enum agent_refusal answer_refusal : 7;
    uint32_t in_link;
    struct agent_qos qos; /* as in the head */
    uint8_t head[];       /* the head in the store (agent_head.h); ends with the id */
};

/* agent_record.c */
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
int record_whole(struct agent *a, const struct agent_head *h, struct reassembly *as);
void forwarding_leave_storing(struct agent *a, struct forwarding *f); /* the store has answered */
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
/* Is it one of several of its bundle? */
static inline bool forwarding_is_copy(const struct forwarding *f)
{
    return f != &f->bundle->forwarding;
}
/* Is it that of a bundle joined from fragments? */
static inline bool forwarding_is_whole(const struct forwarding *f)
{
    return !forwarding_is_copy(f) && f->bundle->role == ROLE_WHOLE;
}
/* Is it a copy, or that of a joined bundle, and so not in the store? */
static inline bool forwarding_derived(const struct forwarding *f)
{
    return f->bundle == NULL || forwarding_is_copy(f) || f->bundle->role == ROLE_WHOLE;
}
/* removes it from all lists and tables; a REMOVE action follows if it is stored */
void forwarding_end(struct agent *a, struct forwarding *f, enum agent_end why);
struct slice record_id(const struct record *r);
struct slice record_mark(const struct record *r);
void record_head(const struct record *r, struct agent_head *out);

#endif
