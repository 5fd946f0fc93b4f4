/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long something took that is done by this thread. By the clock; but what took long by the
 * clock is at most the processor time of this thread meanwhile: when the system suspends the
 * process in between, nobody whose work was done is to blame. Processor time is read now and then,
 * since that is a system call: between the last reading and the beginning of the work the thread is
 * taken to have run, so that nobody is charged with more than the work.
 */
#ifndef OS_TOOK_H
#define OS_TOOK_H

#include "os/world.h"

#define TOOK_MARK (250 * TICK_US) /* age of the mark; what took less by the clock took that */

struct took {
    tick marked, processor; /* a reading of the clock, and of processor time */
};

/* Something begins now, which is world_now. */
static inline void took_begin(struct took *t, const struct world *w, tick now)
{
    if (now - t->marked < TOOK_MARK)
        return;
    t->marked = now;
    t->processor = world_processor(w);
}

/* It began then, and ends now. */
static inline tick took_end(const struct took *t, const struct world *w, tick began, tick now)
{
    const tick passed = now - began, before = began - t->marked;
    if (passed < TOOK_MARK)
        return passed;
    const tick ran = world_processor(w) - t->processor;
    return tick_min(passed, ran > before ? ran - before : 0);
}

#endif
