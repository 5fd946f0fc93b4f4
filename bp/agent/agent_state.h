/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a forwarding (agent_forwarding.h), by the retention constraints of RFC 9171 §5.
 * Private to bp/agent.
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
 *          |-- fragment for this node --------> REASSEMBLY_PENDING (the joined bundle has its own
 *          |                                    forwarding, which begins in DISPATCH_PENDING)
 *          |-- several routes ----------------> COPIED (each copy is one more forwarding, likewise)
 *          | one route, or delivery
 *          v
 *        BACK --- its turn is near ---> FRONT --- given to the link or application ---> BUSY
 *          ^                              ^                                              |
 *          |                              |                         failed, or refused   |
 *          +------- the pause ends -------+------------ PAUSED <-------------------------+
 *                                                                                        |
 *                              RECALLED (the link's answer decides) <-- deleted, expired +
 *
 * A joined bundle that the security policy must verify goes from FRONT to VERIFYING, and back to
 * FRONT after it has passed. Every state except STORING may change to ENDED (delivered, forwarded,
 * expired, deleted ...). One in ENDED or NOT_STORED is in no table any more; only its removal
 * from the store, or an answer, is left to do. legal_states (agent_check.c) has the invariants of
 * each state; agent_check asserts them.
 */
#ifndef BP_AGENT_STATE_H
#define BP_AGENT_STATE_H

#include <stdbool.h>

enum forwarding_state {
    STATE_STORING,            /* in agent.storing, or given to the binder to be stored */
    STATE_DISPATCH_PENDING,   /* between two decisions; between two calls only in agent.restored */
    STATE_NO_ROUTE,           /* in a kind of agent.unrouted_kinds */
    STATE_REASSEMBLY_PENDING, /* in the pieces of its reassembly */
    STATE_COPIED,             /* in no list: its copies are in lists */
    STATE_FRONT,              /* in a band; its bytes are in memory, or being loaded */
    STATE_BACK,               /* in a band, behind the front */
    STATE_PAUSED,    /* waits for a retry: forwarding failed, or the application refused it */
    STATE_VERIFYING, /* a joined bundle, in agent.verifying: agent_verify is due */
    STATE_BUSY,      /* given to the link or application; the outcome is open */
    STATE_RECALLED,  /* BUSY, but deleted or expired meanwhile: the binder was asked to return it */
    STATE_ENDED,     /* in agent.removals; in agent.recalls if it is derived */
    STATE_NOT_STORED, /* only an answer to its sender is due */
    STATE_COUNT
};

/* RFC 9171 §5: why a bundle is retained. */
enum retention {
    RETAIN_NONE,
    RETAIN_DISPATCH_PENDING, /* §5.3; also until it is delivered (§5.7) */
    RETAIN_FORWARD_PENDING,  /* §5.4, and while forwarding is contraindicated */
    RETAIN_REASSEMBLY_PENDING
};

/* What the bundle of a record is. All but the last one are in the store. */
enum record_role {
    ROLE_BUNDLE,    /* in agent.by_id */
    ROLE_GROUP,     /* the same, to a group: when it arrives again, it is a duplicate */
    ROLE_ANONYMOUS, /* its source is dtn:none (§4.2.7): its id is not unique */
    ROLE_WHOLE      /* joined from fragments, which are in the store */
};

static inline bool state_is_live(enum forwarding_state s)
{
    return s < STATE_ENDED;
}

/* In a queue, of a link or of an endpoint. */
static inline bool state_is_queued(enum forwarding_state s)
{
    return s >= STATE_FRONT && s <= STATE_RECALLED;
}

static inline bool state_is_given(enum forwarding_state s)
{
    return s == STATE_BUSY || s == STATE_RECALLED;
}

#endif
