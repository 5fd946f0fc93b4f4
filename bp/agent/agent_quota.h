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
struct agent_shortage;
struct eid;
struct hash;
struct holder;
struct record;

enum quota_kind {
    QUOTA_BUNDLES,
    QUOTA_BYTES,
    QUOTA_ASSEMBLIES,
    QUOTA_FRAGMENTS,
    QUOTA_ARRIVING,
    QUOTA_KINDS
};

/* Who takes the bundles of an endpoint. */
enum receiver {
    RECEIVER_ELSEWHERE, /* it is of another node */
    RECEIVER_NONE,      /* nobody: not registered, or idle for RECEIVER_IDLE while bundles queue */
    RECEIVER_READY
};
#define RECEIVER_IDLE (10 * TICK_S)

/* How fast bundles leave, in windows of RECEIVER_IDLE. */
struct pace {
    tick began;  /* when the first bundle came while none was here */
    tick left;   /* when one left last; 0: none has since then */
    tick window; /* begin of this one */
    bool whole;  /* `before` is of a whole window */
    struct tally {
        uint64_t bundles, bytes;
    } now, before; /* that left in this window, and in the last one */
};

/* Whose bundles asked for status reports lately: a neighbour, or the applications. */
#define REPORT_PARTIES 32
struct report_share {
    uint64_t party;
    tick asked; /* last; 0: the place is free */
    tick spent; /* of its part of config.report_rate */
};

/* agent_account.c: pin returns the account of a table with one pin more, which is made if need be;
 * NULL: no memory. The last unpin frees it. source: the one that a source counts for, pinned too.
 */
struct account *account_find(const struct hash *table, uint64_t id);
struct account *account_pin(struct hash *table, uint64_t id);
void account_unpin(struct agent *a, struct hash *table, struct account *x);
void accounts_free(struct agent *a, struct hash *table);
struct account *account_source(struct agent *a, const struct agent_head *h, struct account *peer);
/* Is it the only source of its peer that is here, or is known to have been? */
bool account_is_alone(const struct agent *a, const struct account *peer,
                      const struct account *source);
/* Whose it is, whatever account it counts for. */
uint64_t quota_source_id(const struct agent *a, const struct agent_head *h);
/* One of its bundles was forwarded or delivered. */
void quota_prove(struct agent *a, const struct record *r);

/* agent_quota.c */
int quota_init(struct agent *a); /* 0 or HELIO_ENOMEM */
void quota_fini(struct agent *a);
/* Shares and what is used beyond them, after a peer was added or removed, or a limit changed. */
void quota_share_out(struct agent *a);
uint64_t quota_peer_id(const struct eid *peer);    /* the same in every run of the node */
int quota_add_peer(struct agent *a, uint64_t id);  /* it has a share from now on */
void quota_sub_peer(struct agent *a, uint64_t id); /* once for each quota_add_peer */
/* Whose it would be, and in which backlog; to be closed. way: as holder.way. 0 or HELIO_ENOMEM. */
int quota_open(struct agent *a, const struct agent_head *h, enum receiver receiver,
               struct link_ref way, struct holder *out);
struct holder quota_keep(const struct holder *h); /* one more, to be closed as well */
void quota_close(struct agent *a, const struct holder *h);
void quota_add(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount);
void quota_sub(struct agent *a, const struct holder *h, enum quota_kind kind, uint64_t amount);
/* Of its source, and of its user, beside what the peer may have. */
bool quota_source_has_room(const struct agent *a, const struct holder *h, enum quota_kind kind,
                           uint64_t amount);
/* Would its endpoint have more than endpoint_percent of what it has of this peer and its source may
 * still have? The first bundle may come in any case. */
bool quota_backlog_full(const struct agent *a, const struct holder *h, enum quota_kind kind,
                        uint64_t amount);
/* What of it has no room for so much: its endpoint, or else its peer, user or source; false: it
 * has.
 */
bool quota_lacks(const struct agent *a, const struct holder *h, enum quota_kind kind,
                 uint64_t amount, bool endpoint, struct agent_shortage *out);
/* A bundle of it was accepted. */
void quota_accepted(struct agent *a, const struct agent_head *h, const struct holder *of);
bool quota_has_room(const struct agent *a, const struct holder *h, enum quota_kind kind,
                    uint64_t amount);
/* Of a bundle that finds no room (QUOTA): does a stream that stops for it stop nothing else, and
 * not for long? Then its peer has all that it may have, or brings nothing for others; and what is
 * queued for its endpoint or link goes on, and soon. */
bool quota_waits(const struct agent *a, const struct agent_head *h, const struct holder *of);
/* Does it hold more bundles or bytes than its share? */
bool quota_above_share(const struct agent *a, const struct account *peer);
/* What is here of a user's applications, all told. */
void quota_user_holds(const struct agent *a, uint64_t user, uint64_t *bundles, uint64_t *bytes);
/* A bundle of so many bytes leaves; and what did in the last 10 to 20 s. */
void pace_count(struct pace *p, tick now, uint64_t bytes);
struct tally pace_lately(const struct pace *p, tick now);
/* The bundle has left the node; h: whose it was. */
void quota_left(struct agent *a, const struct record *r, const struct holder *h);
void quota_check(const struct agent *a);

/* agent_bound.c: limits of what goes one way. full: by its link's own limits. has_room: in what is
 * set apart for it. add, sub: the bundle is in that.
 * lacks: full, and how. begin, arrive: it is being stored, and is no
 * more. */
bool bound_full(const struct agent *a, const struct link_ref *way, uint64_t bytes);
bool bound_has_room(const struct agent *a, const struct holder *h, uint64_t charge);
void bound_add(struct agent *a, const struct holder *h, uint64_t charge);
void bound_sub(struct agent *a, const struct holder *h, uint64_t charge);
void bound_begin(struct agent *a, const struct record *r);
void bound_arrive(struct agent *a, const struct record *r);
bool bound_lacks(const struct agent *a, const struct link_ref *way, uint64_t bytes,
                 struct agent_shortage *out);
void bound_refused(struct agent *a, const struct link_ref *way);
void bound_check(const struct agent *a);

#endif
