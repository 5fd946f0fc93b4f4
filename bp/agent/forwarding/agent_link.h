/* SPDX-License-Identifier: Apache-2.0 */
/* Links, and what is forwarded over them. Private to bp/agent. */
#ifndef BP_AGENT_LINK_H
#define BP_AGENT_LINK_H

#include "bp/agent/forwarding/agent_kind.h"
#include "bp/agent/forwarding/agent_queue.h"

#define LINKS_MAX (1u << 20) /* indices: a table of 8 bytes each */

/* Bundles admitted for one route: a link, the endpoints here, or waiting without a route. */
struct route_share {
    uint64_t reserved[2]; /* QUOTA_BUNDLES, QUOTA_BYTES: in the part that is reserved for it */
    uint64_t storing, storing_bytes; /* being stored */
    uint64_t refused;
};

/* Rules that change the priority of bundles; shared by all links with the same rules. */
struct rule_set {
    uint32_t links;
    size_t len;
    struct agent_queue_rule of[];
};

struct link {
    struct route_share share;
    uint64_t bundles_max, bytes_max; /* 0: none */
    struct eid peer;
    uint64_t arriving; /* bytes */
    uint32_t life;     /* number of this use of the index: differs from that of every other link */
    uint64_t bundle_max; /* longest bundle that it accepts; 0: any */
    struct queue queue;
    /* Of its queue: the bundles behind the first ones, and the paused ones. */
    struct kinds kinds;
    /* In agent.leaving, while it is removed and bundles are still queued. */
    struct list leaving;
    struct rule_set *rules; /* NULL: none */
};

/* agent_link.c */
struct link_ref link_ref(const struct agent *a, int link); /* a reference to the present link */
/* its index; NO_LINK: the link was removed */
int link_of(const struct agent *a, const struct link_ref *ref);
void links_fini(struct agent *a);
/* Places at most n bundles of removed links elsewhere; returns what is left of n. */
uint64_t links_leave(struct agent *a, uint64_t n);
void links_check(const struct agent *a);

/* agent_split.c: the bytes of the bundle for a link that accepts at most `limit` bytes (0: any):
 * all of it, or the next fragment, which is then in f->in_hand. NULL with a text: it cannot be
 * transmitted. */
struct buf *split_next(struct forwarding *f, const struct bundle *b, uint64_t limit,
                       const char **why);
/* The maximum to transmit now: limited by its link and its route; 0: any. */
uint64_t split_limit(const struct agent *a, const struct forwarding *f);
/* Encoded bytes that are not forwarded yet. */
uint64_t split_rest(const struct forwarding *f);
/* The link has transmitted its part: does more of the bundle follow, over the same or another
 * route? */
enum split_more { SPLIT_DONE, SPLIT_THIS_WAY, SPLIT_ASK_ANEW };
enum split_more split_follows(struct forwarding *f);

/* agent_forward.c */
int link_action(struct agent *a, struct forwarding *f, struct agent_action *out);

#endif
