/* SPDX-License-Identifier: Apache-2.0 */
/* Who may hold how much of the node, and how much may be here for one way; for the agent's files.
 */
#ifndef BP_AGENT_QUOTA_H
#define BP_AGENT_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

struct account;
struct agent;
struct agent_head;
struct eid;
struct holder;
struct link_ref;
struct record;

enum quota_kind {
    QUOTA_BUNDLES,
    QUOTA_BYTES,
    QUOTA_ASSEMBLIES,
    QUOTA_FRAGMENTS,
    QUOTA_ARRIVING,
    QUOTA_KINDS
};

/* Whose bundles asked for status reports lately: a neighbour, or the applications. */
#define REPORT_PARTIES 32
struct report_share {
    uint64_t party;
    tick asked; /* last; 0: the place is free */
    tick spent; /* of its part of config.report_rate */
};

/* agent_quota.c */
int quota_init(struct agent *a); /* 0 or HELIO_ENOMEM */
void quota_fini(struct agent *a);
uint64_t quota_peer_id(const struct eid *peer);    /* the same in every life of the node */
int quota_add_peer(struct agent *a, uint64_t id);  /* it has a share from now on */
void quota_sub_peer(struct agent *a, uint64_t id); /* once for each quota_add_peer */
/* Whose it would be; to be closed. 0 or HELIO_ENOMEM. */
int quota_open(struct agent *a, const struct agent_head *h, struct holder *out);
struct holder quota_keep(const struct holder *h); /* one more, to be closed as well */
void quota_close(struct agent *a, const struct holder *h);
/* Whose it is, whatever account it counts for. */
uint64_t quota_source_id(const struct agent *a, const struct agent_head *h);
void quota_add(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount);
void quota_sub(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount);
/* Of its source, and of its user, beside what the peer may have. */
bool quota_source_has_room(const struct agent *a, const struct holder *h, enum quota_kind kind,
                           uint64_t amount);
/* Is its part of what nobody takes used up? */
bool quota_unclaimed_full(const struct agent *a, const struct holder *h, enum quota_kind kind,
                          uint64_t amount);
/* One of its bundles was forwarded or delivered. */
void quota_prove(struct agent *a, const struct record *r);
bool quota_has_room(const struct agent *a, const struct holder *h, enum quota_kind kind,
                    uint64_t amount);
/* Of a bundle that finds no room (QUOTA): would any other one of this peer find none, either? Then
 * its peer, or its source as the only one of the peer, has all that it may have. */
bool quota_waits(const struct agent *a, const struct holder *h);
/* Does it hold more bundles or bytes than its share? */
bool quota_above_share(const struct agent *a, const struct account *peer);
/* What is here of a user's applications, all told. */
void quota_user_holds(const struct agent *a, uint64_t user, uint64_t *bundles, uint64_t *bytes);
void quota_check(const struct agent *a);

/* agent_bound.c: limits of what goes one way. full: by its link's own limits. has_room: in what is
 * set apart for it. add, sub: the bundle is in that. begin, arrive: it is being stored, and is no
 * more. */
bool bound_full(const struct agent *a, const struct link_ref *way, uint64_t bytes);
bool bound_has_room(const struct agent *a, const struct link_ref *way, uint64_t charge);
void bound_add(struct agent *a, const struct link_ref *way, uint64_t charge);
void bound_sub(struct agent *a, const struct link_ref *way, uint64_t charge);
void bound_begin(struct agent *a, const struct record *r);
void bound_arrive(struct agent *a, const struct record *r);
void bound_refused(struct agent *a, const struct link_ref *way);
void bound_check(const struct agent *a);

#endif
