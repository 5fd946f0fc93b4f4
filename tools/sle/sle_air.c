/* SPDX-License-Identifier: Apache-2.0 */
/* Times of an uplink. Nothing can go wrong here. */
#include "tools/sle/sle_air.h"

#include <assert.h>

tick air_begin(struct air *a, size_t octets, tick ready, tick now)
{
    tick begin = tick_max(ready, a->until);
    assert(!a->busy);
    if (begin > now || now - begin > AIR_LATE_MAX)
        begin = now;
    a->busy = true;
    a->until = begin + (a->rate == 0 ? 0 : octets * 8 * TICK_S / a->rate);
    return begin;
}

void air_end(struct air *a, tick pause)
{
    assert(a->busy);
    a->busy = false;
    a->until = tick_add(a->until, pause);
}

void air_stop(struct air *a, tick now)
{
    a->busy = false;
    a->until = now;
}
