/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers throughout, so that a delay is the same on every machine. Nothing can fail. */
#include "channel-emu/chan/chan_delay.h"

#include <assert.h>

__extension__ typedef unsigned __int128 wide;

bool chan_delay_valid(const struct chan_point *points, size_t count)
{
    if (count > CHAN_TABLE_MAX || (count > 0 && points == NULL))
        return false;
    for (size_t i = 1; i < count; i++) {
        if (points[i].at <= points[i - 1].at)
            return false;
    }
    return true;
}

tick chan_delay_at(const struct chan_point *points, size_t count, size_t *place, tick t)
{
    assert(count > 0 && *place < count);
    while (*place + 1 < count && points[*place + 1].at <= t)
        (*place)++;
    const struct chan_point *a = &points[*place];
    if (t <= a->at || *place + 1 == count)
        return a->delay;
    const struct chan_point *b = a + 1;
    assert(a->at < t && t < b->at);
    bool rises = b->delay > a->delay;
    tick change = rises ? b->delay - a->delay : a->delay - b->delay;
    change = (tick)((wide)change * (t - a->at) / (b->at - a->at));
    return rises ? a->delay + change : a->delay - change;
}
