/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of several parties to one loop, which uses a limited share of its time for them
 * (base/pace.h): one step of a party, then one of the next. The other time is for links, timers and
 * other sockets.
 */
#ifndef OS_PACED_H
#define OS_PACED_H

#include "base/pace.h"
#include "os/world.h"

/* Lies in its user's memory. */
struct paced {
    struct world *world;
    struct alarm alarm;
    struct pace pace;
    struct list asking; /* the users' nodes, the next one first */
    /* Does one step of this party, which may end the party. True: it has more to do. */
    bool (*step)(void *context, struct list *party);
    void *context;
};

/* share, least: of struct pace. Of paced_fini: `asking` is empty. */
void paced_init(struct paced *q, struct world *w, unsigned share, tick least,
                bool (*step)(void *context, struct list *party), void *context);
void paced_fini(struct paced *q);

/* Queues a party that has something to do; one that is queued keeps its position. If the queue was
 * empty and time is left, its step is done at once. list_sub removes it. */
void paced_add(struct paced *q, struct list *party);

#endif
