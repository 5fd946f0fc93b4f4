/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for work that would block a loop, or that is too slow for one thread: signatures, large
 * writes. The owners of work take turns: one piece of each, however many it has queued.
 */
#ifndef OS_WORK_POOL_H
#define OS_WORK_POOL_H

#include "base/list.h"
#include "os/net/address.h"

struct work_pool;

/* Lies in its user's memory, which stays until it is done or taken back. */
struct work {
    void (*run)(struct work *w);  /* in another thread; the user lets alone what it works on */
    void (*done)(struct work *w); /* in the loop's thread, once, later than the call that gave it */
    uint8_t host[ADDRESS_KEY_HOST]; /* whom it is for, as address_key has it */
    /* The pool's: */
    struct list node;   /* among the first of each host, or behind it; among those that are done */
    struct list others; /* of the first of a host: its further pieces */
};

#define WORK_THREADS_MAX 64

/* Priority of the threads. LOW: the loop has precedence on a busy machine (priority_lower). */
enum work_priority { WORK_LOW, WORK_AS_LOOP };

/* threads: 1 to WORK_THREADS_MAX. ring: called from them when something is done; then the loop
 * calls work_pool_done. 0, or HELIO_E*: no memory, no threads. */
int work_pool_new(struct work_pool **out, unsigned threads, enum work_priority priority,
                  void (*ring)(void *context), void *context);
/* Waits for running work; queued work is not begun. All work is reported as done within this call.
 * NULL is allowed. */
void work_pool_free(struct work_pool *p);

void work_pool_give(struct work_pool *p, struct work *w);
/* True: it had not begun, and will not. False: `done` follows. */
bool work_pool_take_back(struct work_pool *p, struct work *w);
/* The same, but waits for what has begun: true: it has run. `done` does not follow. */
bool work_pool_recall(struct work_pool *p, struct work *w);
/* Pieces that no thread has begun. */
unsigned work_pool_waiting(const struct work_pool *p);
/* Calls `done` of the next finished work, which may free the pool; false: there is none. */
bool work_pool_done(struct work_pool *p);

#endif
