/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of what peers, users and sources may use of the node, and of bundles for one route.
 * Private to bp/agent. */
#ifndef BP_AGENT_QUOTA_H
#define BP_AGENT_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"
#include "bp/agent/forwarding/agent_kind.h"

#define QUOTA_OWN 0     /* account of this node's applications */
#define QUOTA_UNKNOWN 1 /* account of peers whose names the store does not have */

struct account;
struct agent;
struct agent_head;
struct agent_shortage;
struct eid;
struct hash;
struct holder;
struct record;

enum quota_kind {
    QUOTA_BUNDLES,
    QUOTA_BYTES,
    QUOTA_REASSEMBLIES,
    QUOTA_FRAGMENTS,
    QUOTA_ARRIVING,
    QUOTA_KINDS
};

/* The receiver of an endpoint's bundles. */
enum receiver {
    RECEIVER_ELSEWHERE, /* the endpoint is at another node */
    RECEIVER_NONE, /* none: not registered, or idle for RECEIVER_IDLE while bundles are queued */
    RECEIVER_READY
};
#define RECEIVER_IDLE (10 * TICK_S)

/* The rate at which bundles leave, measured in windows of RECEIVER_IDLE. */
struct pace {
    tick began;  /* when the first bundle arrived while none was here */
    tick left;   /* when the latest one left; 0: none has left since `began` */
    tick window; /* start of this window */
    bool whole;  /* `before` covers a whole window */
    struct tally {
        uint64_t bundles, bytes;
    } now, before; /* departures in this window, and in the one before */
};

/* Requests for status reports by the bundles of a neighbour, or of the applications. */
#define REPORT_PARTIES 32
struct report_share {
    uint64_t party;
    tick asked; /* time of the latest request; 0: the entry is free */
    tick spent; /* used part of its share of config.report_rate, as a time */
};

/* agent_quota.c */
int quota_init(struct agent *a); /* 0 or HELIO_ENOMEM */
void quota_fini(struct agent *a);
/* Recomputes the shares, after a peer was added or removed, or a limit changed. */
void quota_share_out(struct agent *a);
uint64_t quota_peer_id(const struct eid *peer);    /* the same in every run of the node */
int quota_add_peer(struct agent *a, uint64_t id);  /* the peer has a share from now on */
void quota_sub_peer(struct agent *a, uint64_t id); /* once for each quota_add_peer */
/* Finds the accounts and the backlog of a bundle; close them later. destination_link: as in struct
 * holder. Returns 0 or HELIO_ENOMEM. */
int quota_open(struct agent *a, const struct agent_head *h, enum receiver receiver,
               struct link_ref route, struct holder *out);
struct holder quota_keep(const struct holder *h); /* one more reference, to be closed as well */
void quota_close(struct agent *a, const struct holder *h);
void quota_add(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount);
void quota_sub(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount);
/* Has its source, and its user, room for it, independent of its peer's room? */
bool quota_source_has_room(const struct agent *a, const struct holder *h, enum quota_kind kind,
                           uint64_t amount);
/* Would its endpoint's backlog exceed endpoint_percent of the sum of: its bytes from this peer, and
 * the room that the source still has? The first bundle is always permitted. */
bool quota_backlog_full(const struct agent *a, const struct holder *h, enum quota_kind kind,
                        uint64_t amount);
/* Which account has no room for this amount: that of its endpoint, or else of its peer, user or
 * source? False: all have room. */
bool quota_lacks(const struct agent *a, const struct holder *h, enum quota_kind kind,
                 uint64_t amount, bool endpoint, struct agent_shortage *out);
/* A bundle of these accounts was accepted. */
void quota_accepted(struct agent *a, const struct agent_head *h, const struct holder *of);
bool quota_has_room(const struct agent *a, const struct holder *h, enum quota_kind kind,
                    uint64_t amount);
/* For a bundle without room (QUOTA): may its stream be stopped until there is room, without
 * stopping other bundles, and briefly? True if its peer has used up its share, or brings only such
 * bundles; and if the queue of its endpoint or link moves, and will soon have room. */
bool quota_waits(const struct agent *a, const struct agent_head *h, const struct holder *of);
/* Does it hold more bundles or bytes than its share? */
bool quota_above_share(const struct agent *a, const struct account *peer);
/* Bundles and bytes of a user's applications at the node. */
void quota_user_holds(const struct agent *a, uint64_t user, uint64_t *bundles, uint64_t *bytes);
/* Counts a bundle that leaves; returns the sum of the last 10 to 20 s. */
void pace_count(struct pace *p, tick now, uint64_t bytes);
struct tally pace_lately(const struct pace *p, tick now);
/* The bundle has left the node; h: its accounts. */
void quota_left(struct agent *a, const struct record *r, const struct holder *h);
void quota_check(const struct agent *a);

/* agent_bound.c: limits of bundles for one route. full: the link's own limit is reached. has_room:
 * in the reserved part of the route. add, sub: the bundle is charged to that part. lacks: full,
 * with details. begin, arrive: the bundle is being stored; it no longer is. */
bool bound_full(const struct agent *a, const struct link_ref *route, uint64_t bytes);
bool bound_has_room(const struct agent *a, const struct holder *h, uint64_t charge);
void bound_add(struct agent *a, const struct holder *h, uint64_t charge);
void bound_sub(struct agent *a, const struct holder *h, uint64_t charge);
void bound_begin(struct agent *a, const struct record *r);
void bound_arrive(struct agent *a, const struct record *r);
bool bound_lacks(const struct agent *a, const struct link_ref *route, uint64_t bytes,
                 struct agent_shortage *out);
void bound_refused(struct agent *a, const struct link_ref *route);
void bound_check(const struct agent *a);

#endif
