/* SPDX-License-Identifier: Apache-2.0 */
/* A position in the list that advances with time; nothing can fail. */
#include "channel-emu/chan/chan_hand.h"

#include <assert.h>

bool chan_hand_valid(const struct chan_handover *list, size_t count, uint32_t channels)
{
    for (size_t i = 0; i < count; i++) {
        const struct chan_handover *h = &list[i];
        tick end = i + 1 < count ? list[i + 1].at : TICK_NEVER;
        if (h->at >= end || h->gap > end - h->at)
            return false;
        if (h->to != CHAN_NOWHERE && h->to >= channels)
            return false;
    }
    return count <= CHAN_TABLE_MAX && (count == 0 || !list[0].drop);
}

void chan_hand_init(struct chan_hand *h, const struct chan_handover *list, size_t count)
{
    assert(chan_hand_valid(list, count, CHAN_NOWHERE));
    *h = (struct chan_hand){.list = list, .count = count};
}

uint32_t chan_hand_to(struct chan_hand *h, tick now)
{
    while (h->next < h->count && h->list[h->next].at <= now)
        h->next++;
    if (h->next == 0)
        return CHAN_NOWHERE;
    const struct chan_handover *last = &h->list[h->next - 1];
    assert(last->at <= now && h->next <= h->count);
    return now - last->at < last->gap ? CHAN_NOWHERE : last->to;
}

size_t chan_hand_cuts(const struct chan_handover *list, size_t count, uint32_t channel, tick *out)
{
    size_t n = 0;
    assert(channel != CHAN_NOWHERE);
    for (size_t i = 1; i < count; i++) {
        if (list[i].drop && list[i - 1].to == channel)
            out[n++] = list[i].at;
    }
    assert(n < count || count == 0);
    return n;
}
