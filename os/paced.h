/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parties with requests to one loop, which answers them for a share of its time (base/pace.h): one
 * step of one party, then the next party's. Links, timers and other sockets have the rest.
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
    /* Does one step of this party, which may end it. True: it has more to do. */
    bool (*step)(void *context, struct list *party);
    void *context;
};

/* share, least: of struct pace. Of paced_fini: `asking` is empty. */
void paced_init(struct paced *q, struct world *w, unsigned share, tick least,
                bool (*step)(void *context, struct list *party), void *context);
void paced_fini(struct paced *q);

/* A party has something to do; one that is in the queue keeps its place. Its step is done at once
 * if nobody is before it and there is time left. list_sub takes it out again. */
void paced_add(struct paced *q, struct list *party);

#endif
