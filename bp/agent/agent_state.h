/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a bundle at the node, by the retention constraints of RFC 9171 §5. Not for others.
 *
 *     received, or sent by an application
 *          |
 *          v
 *       STORING ---- the store has no room ----> NOT_STORED
 *          | stored
 *          v
 *   DISPATCH_PENDING <--- read from the store after a restart; the route has changed
 *          |
 *          |-- no route ----------------------> NO_ROUTE --- a route comes ---> DISPATCH_PENDING
 *          |-- fragment for this node --------> REASSEMBLY_PENDING (its whole is one more record,
 *          |                                    which begins in DISPATCH_PENDING)
 *          |-- several routes ----------------> COPIED (each copy is one more record, likewise)
 *          | one route, or delivery
 *          v
 *        BACK --- its turn is near ---> FRONT --- given to the link or application ---> BUSY
 *          ^                              ^                                              |
 *          |                              |                         failed, or refused   |
 *          +------- the pause ends -------+------------ PAUSED <-------------------------+
 *                                                                                        |
 *                              RECALLED (the link's answer decides) <-- deleted, expired +
 *
 * A whole that the security policy is to verify goes from FRONT to VERIFYING and, once it has
 * passed, back to FRONT. From each of them, but STORING: delivered, forwarded, expired, deleted ...
 * -> ENDED. A record in ENDED or NOT_STORED is in no table any more; the store, or an answer, has
 * yet to follow. record_states (agent_check.c) has what is true in each state; agent_check asserts
 * it.
 */
#ifndef BP_AGENT_STATE_H
#define BP_AGENT_STATE_H

#include <stdbool.h>

enum record_state {
    STATE_STORING,            /* in agent.storing, or with the binder to be stored */
    STATE_DISPATCH_PENDING,   /* between two decisions; between two calls: in agent.restored */
    STATE_NO_ROUTE,           /* in a kind of agent.apart_kinds */
    STATE_REASSEMBLY_PENDING, /* in the pieces of its assembly */
    STATE_COPIED,             /* in no list: its copies are */
    STATE_FRONT,              /* in a band, in memory or about to be */
    STATE_BACK,               /* in a band, behind the front */
    STATE_PAUSED,             /* forwarding failed, or the application refused it */
    STATE_VERIFYING,          /* a whole, in agent.verifying: agent_verify is due */
    STATE_BUSY,               /* given to the link or application; the outcome is open */
    STATE_RECALLED,           /* the same, and asked for again: its time or an operator ended it */
    STATE_ENDED,              /* in agent.removals, or in agent.recalls when it is derived */
    STATE_NOT_STORED,         /* only an answer is due */
    STATE_COUNT
};

/* RFC 9171 §5: why a bundle is retained. */
enum retention {
    RETAIN_NONE,
    RETAIN_DISPATCH_PENDING, /* §5.3; until it is delivered, too (§5.7) */
    RETAIN_FORWARD_PENDING,  /* §5.4, and while forwarding is contraindicated */
    RETAIN_REASSEMBLY_PENDING
};

/* Which bundle a record is for. The store knows the first two. */
enum record_role {
    ROLE_BUNDLE,    /* in agent.by_id */
    ROLE_ANONYMOUS, /* its source is dtn:none (§4.2.7): its id tells nothing */
    ROLE_COPY,      /* derived: for one of several routes of a bundle, in fan.copies */
    ROLE_WHOLE      /* derived: what fragments make together */
};

static inline bool state_is_live(enum record_state s)
{
    return s < STATE_ENDED;
}

/* In a queue, of a link or of an endpoint. */
static inline bool state_is_queued(enum record_state s)
{
    return s >= STATE_FRONT && s <= STATE_RECALLED;
}

static inline bool state_is_given(enum record_state s)
{
    return s == STATE_BUSY || s == STATE_RECALLED;
}

#endif
