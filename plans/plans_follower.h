/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The follower's end of the plan service: which versions it has, which one is in force, what its
 * node follows, and what the owner has to hear. It keeps no contents: the caller stores them.
 *
 *            input: PLANS_TAKEN          time of effect            applied
 *   (nothing) ──────────► held ────────────────────► in force ───────────► followed by the node
 *                          │                           │
 *                          └── a higher version is in force: dropped
 *
 * In force is the highest number among the versions that have taken effect. So a version with a
 * higher number that takes effect at once replaces those that still wait below it.
 */
#ifndef PLANS_FOLLOWER_H
#define PLANS_FOLLOWER_H

#include "bp/codec/eid.h"
#include "plans/plans_message.h"

#define PLANS_REPORT_PAUSE TICK_S /* between two states */
#define PLANS_APPLY_PAUSE TICK_S  /* after a node did not take a plan; doubles */
#define PLANS_APPLY_PAUSE_MAX (60 * TICK_S)
#define PLANS_LOOK                                                                                 \
    (10 * TICK_S) /* the wall clock may step: times of effect are looked at again                  \
                   */

struct plans_follower {
    /* for its user to read */
    struct eid owner;
    struct plans_version held[PLANS_LISTED_MAX]; /* in rising order; below in_force: none */
    size_t held_len;
    uint64_t in_force, applied; /* numbers; 0: none. held has in_force, if it is not 0 */
    uint64_t refused;           /* the last one, and why; 0: none */
    enum plans_verdict reason;
    tick heard_at; /* the last message of the owner; TICK_NEVER: none yet */
    uint64_t counts[PLANS_VERDICTS];
    /* its own */
    tick ask_every, ask_at, report_at, apply_at, apply_pause;
    bool reports, asks, applying;
    bool doubt; /* the node may not follow `applied` any more */
};

/* ask_every: it asks the owner at once, and then after each of these. applied: what the node has
 * followed before a restart; 0: not known. */
void plans_follower_init(struct plans_follower *f, const struct eid *owner, tick ask_every,
                         uint64_t applied, tick now);
/* Of a version that was stored before a restart, in any order; false: it is not needed. Of too many
 * versions the highest stay, and the one that the node follows. */
bool plans_follower_restore(struct plans_follower *f, const struct plans_version *v);

/* A bundle from `source` has arrived. PLANS_TAKEN: the caller reads and stores *out, and then calls
 * plans_follower_hold or plans_follower_refuse. All other verdicts are final. `why`: static, of a
 * malformed message, else NULL. */
enum plans_verdict plans_follower_input(struct plans_follower *f, const struct eid *source,
                                        struct slice in, tick now, uint64_t wall,
                                        struct plans_message *out, const char **why);
void plans_follower_hold(struct plans_follower *f, const struct plans_version *v);
/* why: PLANS_UNREADABLE or PLANS_UNSTORED. */
void plans_follower_refuse(struct plans_follower *f, uint64_t number, enum plans_verdict why);

/* Times that are due. True: another version is in force. */
bool plans_follower_expire(struct plans_follower *f, tick now, uint64_t wall);
/* The version that the node has to follow now, which it does not; 0: none, or not yet. The caller
 * answers with plans_follower_applied. */
uint64_t plans_follower_apply(struct plans_follower *f, tick now);
void plans_follower_applied(struct plans_follower *f, uint64_t number, bool good, tick now);
/* The file of this version is lost or damaged: it is not held any more, and the owner is asked. */
void plans_follower_lose(struct plans_follower *f, uint64_t number, tick now);
/* The node may have restarted: it is not known what it follows. It also asks the owner. */
void plans_follower_renew(struct plans_follower *f, tick now);

/* True: this state is to be sent to the owner. */
bool plans_follower_poll(struct plans_follower *f, tick now, struct plans_state *out);
/* When to call expire, apply and (sends: a state can be sent now) poll. */
tick plans_follower_deadline(const struct plans_follower *f, tick now, uint64_t wall, bool sends);

/* Its invariants, asserted. */
void plans_follower_check(const struct plans_follower *f);

#endif
