/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often something may happen: so many at once, and one more after each pause. One number is all
 * that is kept of it: when all that happened is made up for.
 */
#ifndef BASE_ALLOWANCE_H
#define BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

/* May it happen now? Then it is counted in *spent, which begins as 0. burst >= 1; pause * burst
 * must fit in a tick. */
static inline bool allowance_take(tick *spent, tick pause, uint64_t burst, tick now)
{
    if (*spent > tick_add(now, pause * (burst - 1)))
        return false;
    *spent = tick_add(*spent > now ? *spent : now, pause);
    return true;
}

#endif
