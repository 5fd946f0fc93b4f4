/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that an uplink is on the air: one CLTU or frame after the other, each for its octets at
 * the uplink's rate. The program is woken up some time after the time that it asked for. This
 * lateness is not added up: the next one begins when the one before should have ended.
 */
#ifndef TOOLS_SLE_AIR_H
#define TOOLS_SLE_AIR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/tick.h"

/* With more than this the program did not run for a while: then the next one begins now. */
#define AIR_LATE_MAX (10 * TICK_MS)

struct air {
    uint64_t rate; /* bit/s; 0: no limit */
    bool busy;     /* something is on the air, until: */
    tick until;    /* not busy: the air is free since, or from then on (air_pause) */
};

/* Something that could begin at `ready` is on the air from now on: not before the one before it has
 * ended. Returns when it began: at most AIR_LATE_MAX before now. */
tick air_begin(struct air *a, size_t octets, tick ready, tick now);
/* Its end: has it come? */
static inline bool air_over(const struct air *a, tick now)
{
    return a->until <= now;
}
/* The end of what was on the air. The next one begins at least `pause` after it. */
void air_end(struct air *a, tick pause);
/* Nothing is radiated any more, or radiation is possible again: the air was not free until now. */
void air_stop(struct air *a, tick now);

#endif
