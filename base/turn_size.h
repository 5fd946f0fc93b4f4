/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of units (messages) that a party may process in one round of a loop. The cost of a
 * unit is not known beforehand: a bundle may take a hundred times as long as a keepalive. So the
 * limit follows the time of the last round, which includes all work that the units caused. A round
 * then takes at most `time`, or the time of `least` units if that is longer; the rest of the loop
 * waits so long.
 */
#ifndef BASE_TURN_SIZE_H
#define BASE_TURN_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

#define TURN_TIME (250 * TICK_US) /* of sessions with peers */

struct turn_size {
    uint32_t least, most; /* 1 <= least <= most */
    uint32_t units;       /* of the next turn */
    tick time;            /* a round with more has fewer units next time */
    tick turned;          /* when the last one began */
};

static inline void turn_size_init(struct turn_size *t, uint32_t least, uint32_t most, tick time)
{
    *t = (struct turn_size){.least = least, .most = most, .units = most, .time = time};
}

/* A turn begins. follows: something was left by the last one, so that the loop did not sleep since.
 * Returns the units of the turn. */
static inline uint32_t turn_size_next(struct turn_size *t, bool follows, tick now)
{
    const tick round = now - t->turned;
    uint64_t units = t->units;
    t->turned = now;
    if (!follows)
        return t->units;
    if (round > t->time)
        units = units * t->time / round;
    else if (round < t->time / 2)
        units *= 2;
    units = units < t->least ? t->least : units > t->most ? t->most : units;
    t->units = (uint32_t)units;
    return t->units;
}

#endif
