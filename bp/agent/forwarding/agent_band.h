/* SPDX-License-Identifier: Apache-2.0 */
/* Private: the bands of a queue, one for each priority, and which band is next. */
#ifndef BP_AGENT_BAND_H
#define BP_AGENT_BAND_H

#include "base/list.h"
#include "bp/agent/forwarding/agent_turn.h"
#include "bp/codec/qos.h"

struct agent;
struct forwarding;

/* The bundles of one priority in a queue; or of one ordinal of the expedited priority (a rank). A
 * bundle enters `back`, which has any length; its bytes may be only in the store. There the parties
 * that brought the bundles take turns. `front` is short, in the order of these turns
 * (forwarding.rank); its bundles are in memory, or being loaded. */
struct band {
    struct list node; /* of a rank: in bands.ranks, or agent.spent */
    struct list front;
    struct turns back;
    uint64_t front_len;
    uint8_t ordinal; /* not 0: a rank, created when it is needed */
};

#define BAND_WEIGHTS                                                                               \
    {                                                                                              \
        1, 8, 64                                                                                   \
    } /* default: bulk, normal, expedited */

struct bands {
    struct band of[BUNDLE_PRIORITIES]; /* [BUNDLE_EXPEDITED]: ordinal 0 only */
    struct list ranks;                 /* of expedited ones, the highest ordinal first */
    uint64_t waiting;                  /* in all of them */
    bool strict;
    uint32_t weight[BUNDLE_PRIORITIES];
    /* Weighted service (self-clocked fair queueing): the virtual time up to which each priority was
     * served. It advances by bytes / weight, and wraps. */
    uint64_t served[BUNDLE_PRIORITIES], clock;
};

void bands_init(struct bands *b);
/* The band for this priority and ordinal. A rank is created; without memory: that of ordinal 0. */
struct band *bands_get(struct bands *b, enum bundle_priority p, uint8_t ordinal);
/* The first band of a priority that is not empty; NULL: all are empty. */
struct band *bands_first(const struct bands *b, enum bundle_priority p);
/* The next band of the priority that is not empty; NULL: none. */
struct band *bands_behind(const struct bands *b, enum bundle_priority p, struct band *before);
/* Adds a bundle that is in no list after those of its source. back: to the back, else to the
 * front. */
void bands_add(struct agent *a, struct bands *b, struct band *to, struct forwarding *f, bool back);
/* Returns a bundle that had its turn and was not forwarded to its former position
 * (forwarding.rank): to the front, or to the back if an older one of its source is there. Without a
 * rank: to the head. pays: the peer refused it: it waits at the back, by rank within its source,
 * for another turn. */
void bands_return(struct agent *a, struct bands *b, struct band *to, struct forwarding *f,
                  bool pays);
/* Moves the next bundle from the back to the front: to its end, or to its former position. */
void bands_move_up(struct agent *a, struct bands *b, struct forwarding *f);
/* Moves the last bundle of the front to the back, to its position by rank before the other bundles
 * of its source. */
void bands_move_back(struct agent *a, struct bands *b, struct forwarding *f);
/* Removes a bundle. An empty rank moves to agent.spent, and stays there until the next push or
 * poll. */
void bands_sub(struct agent *a, struct bands *b, struct forwarding *f);
/* The priority that is next, of those whose first bundle is in memory; BUNDLE_PRIORITIES: none. */
enum bundle_priority bands_turn(const struct bands *b);
/* A bundle of this length was given to the link or the endpoint. */
void bands_served(struct bands *b, enum bundle_priority p, uint64_t bytes);
/* Calls fn with each list of bundles, the most urgent first. fn may take bundles out. */
void bands_each(struct bands *b, void (*fn)(struct agent *a, struct list *l), struct agent *a);
/* The same for the fronts only. */
void bands_each_front(struct bands *b, void (*fn)(struct agent *a, struct list *l),
                      struct agent *a);
/* Frees the ranks; no bundle is in them. */
void bands_fini(struct bands *b);

#endif
