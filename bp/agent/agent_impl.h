/* SPDX-License-Identifier: Apache-2.0 */
/* The agent, with all that its files share. Private to bp/agent. */
#ifndef BP_AGENT_IMPL_H
#define BP_AGENT_IMPL_H

#include "base/agenda.h"
#include "base/hash.h"
#include "base/list.h"
#include "bp/agent/admission/agent_account.h"
#include "bp/agent/admission/agent_quota.h"
#include "bp/agent/admission/agent_room.h"
#include "bp/agent/admission/agent_waste.h"
#include "bp/agent/admission/seen.h"
#include "bp/agent/agent.h"
#include "bp/agent/agent_event.h"
#include "bp/agent/agent_head.h"
#include "bp/agent/agent_record.h"
#include "bp/agent/agent_service.h"
#include "bp/agent/agent_state.h"
#include "bp/agent/agent_storing.h"
#include "bp/agent/delivery/agent_endpoint.h"
#include "bp/agent/delivery/agent_fragment.h"
#include "bp/agent/event.h"
#include "bp/agent/forwarding/agent_band.h"
#include "bp/agent/forwarding/agent_copy.h"
#include "bp/agent/forwarding/agent_kind.h"
#include "bp/agent/forwarding/agent_link.h"
#include "bp/agent/forwarding/agent_place.h"
#include "bp/agent/forwarding/agent_queue.h"
#include "bp/agent/forwarding/agent_sending.h"
#include "bp/agent/forwarding/returns.h"
#include "bp/agent/forwarding/routes.h"
#include "bp/agent/router.h"

/* An answer without a record. */
struct notice {
    uint64_t token;
    uint32_t link;
    enum agent_refusal refusal;
    struct bundle_id id;
};

#define SHORTAGES 32 /* refused bundles whose reason is kept */

struct agent {
    struct agent_config config;
    struct agent_counters counters;
    struct agent_unrouted unrouted;
    struct agent_stale stale;
    enum permit_way forbidden; /* direction of the rules that refused the latest bundle */
    /* The latest one; those of links, as a ring: */
    struct agent_shortage shortage, shortages[SHORTAGES];
    size_t shortages_at;
    struct agent_late late, lates[SHORTAGES]; /* the same for late bundles */
    size_t lates_at;
    struct agent_now now; /* of the last push */
    struct hash by_key, by_id, endpoints, registrations, reassemblies;
    /* endpoint of the node's own name, always open: the agent is its application */
    struct endpoint *admin;
    struct agenda timers; /* has a place for every forwarding */
    uint64_t copies;
    struct sharing_rule *sharing; /* the first match is used */
    size_t sharing_len;
    struct storing storing;
    struct turns verifying;               /* joined bundles, of all endpoints */
    struct security_policy *security;     /* NULL: none */
    struct permits *permits[PERMIT_WAYS]; /* NULL: no rules */
    struct list answers, recalls, removals, ready;
    struct list restored;               /* to be placed */
    struct list leaving;                /* links */
    struct list resuming;               /* queues */
    struct list sending_waits;          /* queues */
    struct list room_waits;             /* queues, in the order of waiting */
    const struct queue *sending_beyond; /* has a first bundle beyond what all may have; or NULL */
    struct hash kinds;                  /* except rests */
    struct hash targets;                /* of these */
    struct kinds unrouted_kinds;        /* of bundles without a route */
    struct list asking;                 /* kinds */
    struct heap moving;                 /* has a place for every kind */
    struct list spent;                  /* empty ranks of bands, to be freed */
    bool place;                         /* bundles without a route may have one now */
    bool anew;                          /* queued bundles of links may have another route now */
    bool heads;                         /* bundles at the heads of these queues may, too */
    tick ask_from;                      /* the next questions for kinds (kinds_step) */
    struct record *polled; /* freed at the next poll, because the last action refers to its bytes */
    struct notice *notices; /* ring */
    size_t notices_at, notices_len, notices_cap;
    struct link **links; /* by index; NULL: there is none */
    uint32_t links_cap, link_lives;
    struct router router;
    struct routes routes; /* the router, unless another one is set */
    struct seen seen;
    struct returns returns;
    struct wastes wastes;
    struct hash declined;              /* agent_declined.c */
    struct hash peers, sources, users; /* accounts */
    struct hash backlogs;      /* accounts, each for the bundles of one peer to one destination */
    struct hash proven;        /* sources with accounts of their own */
    struct hash turns;         /* of all queues */
    struct hash link_parties;  /* of all queues of links */
    uint64_t ranks;            /* turns so far, of all queues */
    uint64_t reassembly_bytes; /* memory of all reassemblies, with their ids */
    /* Incomplete reassemblies; the one that grew longest ago is first. */
    struct list gathering;
    uint64_t held_most;    /* held_bytes as configured; config has the present limit */
    uint64_t parties;      /* peers with a share, including this node */
    uint64_t peer_changes; /* how often a peer got its first link, or lost its last one */
    uint64_t limits[QUOTA_KINDS], shares[QUOTA_KINDS]; /* for all; for each party */
    uint64_t common_used[QUOTA_KINDS];                 /* used beyond the shares */
    uint64_t peers_used[QUOTA_KINDS];                  /* used by all peers together */
    struct list sharers;                               /* accounts of peers with a share */
    struct route_share here, no_route;                 /* in addition to those of links */
    uint64_t route_shares;                             /* number of all of them */
    /* What is reserved for each; what all of them use of their reserved parts, including removed
     * links. */
    uint64_t reserved_share[2], reserved[2];
    uint64_t next_key;
    /* Value of the lifetime clock at tick 0, modulo 2^64. */
    uint64_t life_base_ms;
    bool life_begun;
    uint64_t sequence;                 /* of the next bundle that is created here (§4.2.7) */
    uint64_t sequence_noted;           /* the store has noted that lower ones may be in use */
    uint64_t loading_bytes;            /* bytes of requested LOADs */
    struct list resting[MEMORY_SIZES]; /* backlogs, by the power of two of their bytes */
    enum crc_type primary_crc;
    tick reports_spent; /* of config.report_rate */
    struct report_share reports[REPORT_PARTIES];
};

/* agent.c */
void agent_begin(struct agent *a, struct agent_now now); /* every push begins with it */
/* Ends a bundle that an operator deleted or whose lifetime has expired; true: it was one. */
bool agent_overdue(struct agent *a, struct forwarding *f);

/* agent_link.c */
static inline struct link *link_at(const struct agent *a, int64_t link) /* NULL: there is none */
{
    return link >= 0 && link < a->links_cap ? a->links[link] : NULL;
}

static inline uint64_t least(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

static inline void count_seen(struct agent *a)
{
    a->counters.seen_bytes = seen_bytes(&a->seen);
    a->counters.displaced = a->seen.displaced;
}

/* agent_report.c. _head: if the bundle requests it; _now: if a block requests it. */
void agent_report(struct agent *a, const struct forwarding *f, enum status_item item,
                  enum status_reason reason);
void agent_report_head(struct agent *a, const struct agent_head *h, enum status_item item,
                       enum status_reason reason);
void agent_report_now(struct agent *a, const struct agent_head *h, enum status_item item,
                      enum status_reason reason);
/* Processes a whole administrative record for this node itself. */
bool agent_consume(struct agent *a, const struct bundle *b);
/* The administrative element (RFC 9171 §3.1) processes the bundle at the head of its queue, which
 * is in memory. */
void agent_administer(struct agent *a, struct forwarding *f);

/* the peer should keep the bundle */
bool agent_keeps(const struct agent *a, enum agent_refusal refusal);

/* agent_accept.c: with REFUSE_NONE it owns the payload. user: as in a request. */
enum agent_refusal agent_originate(struct agent *a, struct bundle *b, struct buf *payload,
                                   uint64_t user, struct record **out);

/* agent_poll.c */
/* The note of a bundle that is created here: a restart skips the rest of a block of sequence
 * numbers. */
uint64_t agent_sequence_end(uint64_t sequence);
int notice_reserve(struct agent *a); /* 0 or HELIO_ENOMEM */
void notice_add(struct agent *a, const struct notice *n);
void notice_forget(struct agent *a, uint32_t link); /* drops answers to a removed link */

#endif
