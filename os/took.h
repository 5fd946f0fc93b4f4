/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of work by this thread. The basis is the clock. A long time is limited to the thread's
 * processor time: if the system suspended the process meanwhile, the owner of the work is not
 * charged for it. Reading the processor time is a system call, so it is read occasionally. The
 * thread is assumed to have run between the last reading and the beginning of the work, so the
 * charge never exceeds the work.
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
