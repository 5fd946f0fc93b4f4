/* SPDX-License-Identifier: Apache-2.0 */
/* Where radiated CLTUs and frames go, datagrams to an address or a file of [length(4)][octets], and
 * for how long each is on the air. */
#ifndef TOOLS_SLE_TARGET_H
#define TOOLS_SLE_TARGET_H

#include "base/tick.h"
#include "tools/sle/sle_datagrams.h"

struct target {
    int fd; /* a file; -1: none */
    struct datagrams udp;
};

void target_init(struct target *t); /* goes nowhere */
/* `path` is the file's, unless there is an address. 0 or HELIO_E*; then it goes nowhere. */
int target_open(struct target *t, struct world *w, const char *path, const struct address *to);
void target_close(struct target *t);
/* At most TARGET_MAX octets. 0, or HELIO_E*: the file did not take it, or datagrams_send failed. */
enum { TARGET_MAX = 65536 };
int target_put(struct target *t, struct slice data);

/* ---- the air ---- */

/*
 * The time that an uplink is on the air: one CLTU or frame after the other, each for its octets at
 * the uplink's rate. The program is woken up some time after the time that it asked for. This
 * lateness is not added up: the next one begins when the one before should have ended.
 */

/* With more than this the program did not run for a while: then the next one begins now. */
#define AIR_LATE_MAX (10 * TICK_MS)

struct air {
    uint64_t rate; /* bit/s; 0: no limit */
    bool busy;     /* something is on the air, until: */
    tick until;    /* not busy: the air is free since, or from then on (air_end) */
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
