/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-over: the traffic of one link moves from one channel to another at known times, for example
 * between ground stations. A frame uses the channel of the time at which it enters. Frames inside
 * the former channel are still delivered or, with `drop`, lost (the cuts of that channel's
 * configuration).
 */
#ifndef CHANNEL_EMU_CHAN_HAND_H
#define CHANNEL_EMU_CHAN_HAND_H

#include "channel-emu/chan/chan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CHAN_NOWHERE UINT32_MAX

/* From `at` + `gap` on frames take channel `to`; from `at` on no more that before it. */
struct chan_handover {
    tick at; /* on the caller's clock */
    tick gap;
    uint32_t to; /* an index of the caller's, or CHAN_NOWHERE */
    bool drop;   /* what is inside the channel before it is lost */
};

/* Before the first one frames go nowhere. */
struct chan_hand {
    const struct chan_handover *list; /* borrowed */
    size_t count, next;
};

/* Checks a list: rising times, each gap ends before the next hand-over, `to` is below `channels`,
 * and the first has no `drop`. */
bool chan_hand_valid(const struct chan_handover *list, size_t count, uint32_t channels);
/* Begins before the first hand-over; the list is borrowed, and was checked. */
void chan_hand_init(struct chan_hand *h, const struct chan_handover *list, size_t count);

/* The channel of a frame that enters at `now`, which does not go back; or CHAN_NOWHERE. */
uint32_t chan_hand_to(struct chan_hand *h, tick now);

/* Writes the times at which the frames inside this channel are lost, at most `count`, to `out`.
 * Returns their number; in rising order, for chan_config.cuts. */
size_t chan_hand_cuts(const struct chan_handover *list, size_t count, uint32_t channel, tick *out);

#ifdef __cplusplus
}
#endif

#endif
