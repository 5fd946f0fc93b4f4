/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer, a user of applications, a source or a backlog uses. Private to bp/agent. */
#ifndef BP_AGENT_ACCOUNT_H
#define BP_AGENT_ACCOUNT_H

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "bp/agent/admission/agent_quota.h"
#include "bp/codec/qos.h"

/* What a peer, a user of applications, or a source uses of the node. Or a backlog: bundles of one
 * peer for one endpoint here, for all endpoints without a receiver, or for one link. It exists
 * while it is configured or uses something. */
struct account {
    struct hash_node by_id;
    struct heap waiting[BUNDLE_PRIORITIES]; /* bundles that may be dropped, by expiry */
    uint64_t used[QUOTA_KINDS];
    uint64_t pins;       /* links, bundles, reassemblies and checks that refer to it */
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

/* agent_account.c. pin: returns the account with this id with one reference more, and creates it if
 * necessary; NULL: no memory. unpin: drops a reference; the last one frees the account. source: the
 * account that the source is charged to, with a reference. */
struct account *account_find(const struct hash *table, uint64_t id);
struct account *account_pin(struct hash *table, uint64_t id);
void account_unpin(struct agent *a, struct hash *table, struct account *x);
void accounts_free(struct agent *a, struct hash *table);
struct account *account_source(struct agent *a, const struct agent_head *h, struct account *peer);
/* Is it the only source of its peer that is known? */
bool account_is_alone(const struct agent *a, const struct account *peer,
                      const struct account *source);
/* The id of the source itself, whichever account it is charged to. */
uint64_t quota_source_id(const struct agent *a, const struct agent_head *h);
/* The id of a user's account; and that of the party (turns_party) of a bundle that is not here
 * yet. */
uint64_t account_user_id(const struct agent *a, uint64_t user);
uint64_t account_party_id(const struct agent *a, const struct agent_head *h);
/* One of its bundles was forwarded or delivered: its source is proven. */
void quota_prove(struct agent *a, const struct record *r);

#endif
