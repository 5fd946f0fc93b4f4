/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a party may do in one round of a loop, in units (messages) whose cost nobody knows
 * beforehand: a bundle may take a hundred times as long as a keepalive. The time of the last round
 * tells: all that the units caused is in it, wherever it was done. So a round takes TURN_TIME at
 * most, as long as `least` units do not take longer, and everything else of the loop waits for so
 * long.
 */
#ifndef BASE_TURN_SIZE_H
#define BASE_TURN_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

#define TURN_TIME (500 * TICK_US)

struct turn_size {
    uint32_t least, most; /* 1 <= least <= most */
    uint32_t units;       /* of the next turn */
    tick turned;          /* when the last one began */
};

static inline void turn_size_init(struct turn_size *t, uint32_t least, uint32_t most)
{
    *t = (struct turn_size){.least = least, .most = most, .units = most};
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
    if (round > TURN_TIME)
        units = units * TURN_TIME / round;
    else if (round < TURN_TIME / 2)
        units *= 2;
    units = units < t->least ? t->least : units > t->most ? t->most : units;
    t->units = (uint32_t)units;
    return t->units;
}

#endif
