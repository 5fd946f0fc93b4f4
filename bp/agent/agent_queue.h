/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of a lane by priority, and whose turn it is; not for others. */
#ifndef BP_AGENT_QUEUE_H
#define BP_AGENT_QUEUE_H

#include "base/list.h"
#include "bp/agent/agent_turn.h"
#include "bp/codec/qos.h"

struct agent;
struct record;

/* Those of one priority, or of one ordinal of the expedited ones. Bundles move from `back` (any
 * length, bytes perhaps only in the store; who brought them take turns) to `front` (short, first
 * in, first out; in memory or being loaded). */
struct queue {
    struct list node; /* of a rank: in queues.ranks, or agent.spent */
    struct list front;
    struct turns back;
    uint64_t front_len;
    uint8_t ordinal; /* not 0: a rank, made when it is needed */
};

#define QUEUE_WEIGHTS                                                                              \
    {                                                                                              \
        1, 8, 64                                                                                   \
    } /* unless others are given: bulk, normal, expedited */

struct queues {
    struct queue of[BUNDLE_PRIORITIES]; /* that of the expedited has those of ordinal 0 */
    struct list ranks;                  /* of expedited ones, the highest ordinal first */
    uint64_t waiting;                   /* in all of them */
    bool strict;
    uint32_t weight[BUNDLE_PRIORITIES];
    /* By weights: up to when each was served, in a time that only service makes pass: bytes /
     * weight (self-clocked fair queueing). It wraps. */
    uint64_t served[BUNDLE_PRIORITIES], clock;
};

void queues_init(struct queues *q);
/* The bundle's own; a rank that finds no memory is that of ordinal 0. */
struct queue *queues_get(struct queues *q, enum bundle_priority p, uint8_t ordinal);
/* Of a priority: the one whose head goes first; NULL: none waits. */
struct queue *queues_first(const struct queues *q, enum bundle_priority p);
/* The next one of the priority that is not empty; NULL: none. */
struct queue *queues_behind(const struct queues *q, enum bundle_priority p, struct queue *before);
/* The bundle is in no list; `back`: it may wait for long. */
void queues_add(struct agent *a, struct queues *q, struct queue *to, struct record *r, bool back,
                bool first);
/* The one whose turn it is at the back of a queue: to the end of its front. */
void queues_move_up(struct agent *a, struct queues *q, struct record *r);
/* From the end of the front to the back, first of its source. */
void queues_move_back(struct agent *a, struct queues *q, struct record *r);
/* Out of its queue; a rank that is empty then goes to agent.spent, and is there until the next
 * push or poll. */
void queues_sub(struct agent *a, struct queues *q, struct record *r);
/* The priority that goes next, of those whose head is in memory; BUNDLE_PRIORITIES: none. */
enum bundle_priority queues_turn(const struct queues *q);
/* It went, with so many bytes. */
void queues_served(struct queues *q, enum bundle_priority p, uint64_t bytes);
/* Calls fn with the lists of all that wait, the most urgent first. fn may take bundles out. */
void queues_each(struct queues *q, void (*fn)(struct agent *a, struct list *l), struct agent *a);
/* The same, with those at the head alone. */
void queues_each_front(struct queues *q, void (*fn)(struct agent *a, struct list *l),
                       struct agent *a);
void queues_fini(struct queues *q); /* ranks: none waits */

#endif
