/* SPDX-License-Identifier: Apache-2.0 */
/* Propagation delay over time, by a table of points. */
#ifndef CHANNEL_EMU_CHAN_DELAY_H
#define CHANNEL_EMU_CHAN_DELAY_H

#include "channel-emu/chan/chan.h"

/* Rising in time, not too many. */
bool chan_delay_valid(const struct chan_point *points, size_t count);

/* The delay `t` after the origin, ns: linear between two points (the change rounded down), constant
 * before the first and after the last. `place` remembers where in the table it was; it begins as 0,
 * and times do not go back. count >= 1. */
tick chan_delay_at(const struct chan_point *points, size_t count, size_t *place, tick t);

#endif
