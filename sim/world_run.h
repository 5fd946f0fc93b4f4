/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run loop of virtual time: does the earliest thing that is due, one at a time. Its users are
 * helio-sim, its node mode, helio-sle's model of a network, and the scenarios, histories and
 * planned runs of the tests.
 */
#ifndef SIM_WORLD_RUN_H
#define SIM_WORLD_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/tick.h"

/* Something that happens at times: a script, arrivals, timers. */
struct world_source {
    /* When its next thing is due; TICK_NEVER: there is none. If nothing is due before `before`, any
     * time from `before` on will do, so that a source need not search for it. */
    tick (*due)(void *context, tick before);
    /* Does that one thing, after the clock was set to its time. */
    void (*step)(void *context);
    void *context;
};

/* All sources of events in a world. At equal times the source with the lower index is first. */
struct world_run {
    const struct world_source *sources;
    size_t len;
    /* Sets the clock to `due`, unless it is later already. */
    void (*advance)(void *context, tick due);
    /* After each thing: the engines and nodes that it concerned act. */
    void (*drain)(void *context);
    void *context;
};

/* When the next thing is due; TICK_NEVER: there is none. */
tick world_run_due(const struct world_run *r);

/* Runs the next event if it is due before `before`. False: none is, and the clock is unchanged. */
bool world_run_step(const struct world_run *r, tick before);

#endif
