/* SPDX-License-Identifier: Apache-2.0 */
/* The bundles for a link, an endpoint or a registration. Private to bp/agent. */
#ifndef BP_AGENT_QUEUE_H
#define BP_AGENT_QUEUE_H

#include "base/excess.h"
#include "base/list.h"
#include "bp/agent/admission/agent_waste.h"
#include "bp/agent/agent_service.h"
#include "bp/agent/forwarding/agent_band.h"
#include "bp/agent/forwarding/agent_forwarding.h"

/* bundles in memory beyond the window, so that a link never waits for the store */
#define PREFETCH 4
#define MEMORY_SIZES 64 /* powers of two */

/*
 * The bundles for a link, an endpoint or a registration. They wait in `bands`, by priority; then
 * they are `busy` (given to the link or application, the outcome is open). A bundle whose
 * forwarding failed is `paused` until its time. `resumed`: bundles whose pause was ended, and that
 * will return to the bands. `roomless`: paused until there is room for them in transmission.
 */
struct queue {
    struct list node; /* in agent.ready, when it may have work */
    struct bands bands;
    struct list busy, paused, resumed, roomless;
    struct list resuming; /* in agent.resuming, when any are resumed */
    uint64_t busy_len, window;
    /* Bytes of its bundles in counters.sending_bytes. In agent.sending_waits: it must wait for some
     * of these before the next bundle (agent_sending.c). */
    uint64_t sending;
    struct list sending_wait;
    struct list room_wait; /* in agent.room_waits, while any are roomless */
    struct waste waste;
    struct service service;
    struct list parties;                          /* of a link (agent_party.c) */
    struct excess party_bytes[BUNDLE_PRIORITIES]; /* of these */
    /* Joined bundles in agent.verifying: they do not use the window. */
    uint64_t verifying;
    uint64_t bundles, bytes; /* in all lists of this queue */
    /* by priority; also counts bundles that were given away */
    struct agent_backlog backlog[BUNDLE_PRIORITIES];
    /* the registration that owns the queue; NULL: an endpoint's or a link's */
    struct registration *only;
    /* Deliveries that were taken back and are not answered yet: they use the window. */
    uint64_t owed;
    bool open; /* link up, or endpoint registered */
    bool gone; /* its link was removed: its bundles are placed elsewhere */
};

/* The link in whose queue it is; TO_ENDPOINT: none, or a removed one. */
static inline int forwarding_link(const struct forwarding *f)
{
    return f->queue == NULL || f->queue->gone ? TO_ENDPOINT : f->link;
}

/* agent_queue.c */
void queue_init(struct queue *q, uint64_t window);
void queue_fini(struct queue *q); /* no bundle is queued; frees all memory */
bool queue_empty(const struct queue *q);
void queue_wake(struct agent *a, struct queue *q);
/* priority: selects the band; h: the head of a bundle that is no copy. */
void queue_add(struct agent *a, struct queue *q, struct forwarding *f,
               enum bundle_priority priority, const struct agent_head *h);
void queue_free_spent(struct agent *a); /* frees empty ranks that are not iterated */
void queue_leave(struct agent *a, struct forwarding *f);
void queue_return(struct agent *a, struct forwarding *f); /* to its former position in its queue */
/* the same within its source; it needs another turn */
void queue_again(struct agent *a, struct forwarding *f);
void queue_behind(struct agent *a, struct forwarding *f); /* after all bundles of its source */
void queue_resume(struct agent *a, struct queue *q);      /* ends all pauses */
void queue_close(struct agent *a, struct queue *q); /* a link's: few bundles stay at its head */
void queue_pause(struct agent *a, struct forwarding *f, tick until);
void queue_verify(struct agent *a, struct forwarding *whole); /* BUSY: it waits for agent_verify */
struct forwarding *queue_verify_next(struct agent *a);        /* BUSY again; NULL: none waits */
void queue_retry(struct agent *a, struct forwarding *f); /* pauses it, each time twice as long */
int queue_load(struct agent *a, struct forwarding *f, struct agent_action *out); /* LOAD; 1 */
int queue_poll(struct agent *a, struct queue *q, struct agent_action *out);
void queue_check(const struct agent *a, const struct queue *q);

/* agent_party.c. enter, leave: the bundle is in the queue of a link. alone: all of the queue's
 * bundles are of one party. behind: bytes in the bands of this priority that have their turns after
 * this many bytes more of the party. gone: this neighbour has no link any more. free: the parties
 * of all queues, which must be unused. */
void party_enter(struct agent *a, struct forwarding *f);
void party_leave(struct agent *a, struct forwarding *f);
bool party_alone(const struct queue *q);
uint64_t party_behind(const struct agent *a, const struct queue *q, uint64_t id,
                      enum bundle_priority priority, uint64_t bytes);
void parties_gone(struct agent *a, uint64_t id);
void parties_free(struct agent *a);
void parties_check(const struct agent *a, const struct queue *q);

/* agent_memory.c. rest: call it after each change of its state or bytes; its bytes may leave memory
 * if its turn is not near. wake: call it before its turn. make_room, for f: true if this many bytes
 * more fit. shrink: drops what it may until the memory is within its limit. open:
 * the queue is now open, or closed. */
void memory_init(struct agent *a);
void memory_rest(struct agent *a, struct forwarding *f);
void memory_wake(struct agent *a, struct forwarding *f);
bool memory_make_room(struct agent *a, const struct forwarding *f, uint64_t more);
void memory_shrink(struct agent *a);
bool memory_full(const struct agent *a, uint64_t more);
/* Is more than half of it with bundles that do not rest? */
bool memory_crowded(const struct agent *a);
void memory_open(struct agent *a, struct queue *q, bool open);
void memory_check_one(const struct forwarding *f);
void memory_check(const struct agent *a, uint64_t resting);

#endif
