/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner's end of the plan service: its versions that matter (the one in force, and the later
 * ones), its followers, and what is to be sent to whom. It keeps no contents: the caller reads
 * them when it sends.
 *
 * A version is pushed to each follower that lacks it, and again after `again` until the follower
 * says that it has it. A follower that asks gets all that it lacks, at most once in `pause`. The
 * wait between two answers with the same version doubles, up to `again`.
 *
 * With a group (multicast) a version is sent once to the group first. A follower gets it by itself
 * only after `again`, or when it asks.
 */
#ifndef PLANS_OWNER_H
#define PLANS_OWNER_H

#include "bp/codec/eid.h"
#include "plans/plans_message.h"

#define PLANS_FOLLOWERS_MAX 1024
#define PLANS_GROUP SIZE_MAX /* in place of a follower's index */
#define PLANS_REFUSED_PAUSE                                                                        \
    (60 * TICK_S) /* after the node did not take a bundle; `again` at most */

struct plans_peer {
    /* for its user to read */
    struct eid eid;
    bool heard;
    tick heard_at;
    struct plans_state state; /* the last one, if it was heard */
    uint64_t pushes;          /* plan messages for it */
    /* the engine's: by the index of versions */
    tick again_at[PLANS_LISTED_MAX];
    tick sent_at[PLANS_LISTED_MAX]; /* TICK_NEVER: not yet; an answer leaves it `wait` to arrive */
    tick wait[PLANS_LISTED_MAX];
    tick answer_at; /* it is not answered before */
};

struct plans_owner {
    /* for its user to read */
    struct plans_version versions[PLANS_LISTED_MAX]; /* in rising order; the first is in force */
    size_t versions_len;
    struct plans_peer *peers;
    size_t peers_len;
    uint64_t counts[PLANS_VERDICTS]; /* of states that arrived */
    /* its own */
    tick again, pause;
    bool group;
    bool group_due[PLANS_LISTED_MAX]; /* it has not been sent to the group; as versions */
    size_t turn;                      /* the peer that is served first */
};

struct plans_push {
    size_t peer; /* its index, or PLANS_GROUP */
    uint64_t number;
};

/* 0, or HELIO_ENOMEM: then plans_owner_fini need not be called. */
int plans_owner_init(struct plans_owner *o, const struct eid *followers, size_t len, bool group,
                     tick again, tick pause);
void plans_owner_fini(struct plans_owner *o);

/* A version that was published, also before a restart. False: it does not matter any more, its
 * number is there, or PLANS_LATER_MAX others wait. */
bool plans_owner_publish(struct plans_owner *o, const struct plans_version *v, tick now,
                         uint64_t wall);

/* A bundle from `source` has arrived. *peer: whose it is, if it is a follower's; else peers_len.
 * `why`: static, of a malformed message, else NULL. */
enum plans_verdict plans_owner_input(struct plans_owner *o, const struct eid *source,
                                     struct slice in, tick now, size_t *peer, const char **why);

/* True: this version is to be sent now. Followers take turns. */
bool plans_owner_poll(struct plans_owner *o, tick now, uint64_t wall, struct plans_push *out);
/* The node did not take the bundle. */
void plans_owner_refused(struct plans_owner *o, const struct plans_push *p, tick now);
/* When to call poll. */
tick plans_owner_deadline(const struct plans_owner *o);
/* Does the follower lack this version? */
bool plans_owner_lacks(const struct plans_owner *o, const struct plans_peer *p, size_t version);
/* Has it other contents under the number of this version? */
bool plans_owner_conflicts(const struct plans_owner *o, const struct plans_peer *p, size_t version);
/* Does it follow a version whose time has not come yet? Then one of the two clocks is wrong. */
bool plans_owner_early(const struct plans_owner *o, const struct plans_peer *p, uint64_t wall);

/* Its invariants, asserted. */
void plans_owner_check(const struct plans_owner *o);

#endif
