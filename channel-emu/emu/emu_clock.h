/* SPDX-License-Identifier: Apache-2.0 */
/* The emulator's clock is CLOCK_MONOTONIC. The kernel stamps what arrives with CLOCK_REALTIME; the
 * stamp is moved by an offset that is measured again and again. */
#ifndef CHANNEL_EMU_EMU_CLOCK_H
#define CHANNEL_EMU_EMU_CLOCK_H

#include <time.h>

#include "base/tick.h"

tick emu_now(void);

struct emu_clock {
    uint64_t offset; /* CLOCK_MONOTONIC - CLOCK_REALTIME, modulo 2^64 */
    tick measured;   /* when */
};

void emu_clock_init(struct emu_clock *c);
/* Measures anew when the last time was more than a second ago. */
void emu_clock_refresh(struct emu_clock *c, tick now);
/* The monotonic time of a stamp; `now` when it cannot be right: the wall clock was set. */
tick emu_clock_arrival(struct emu_clock *c, const struct timespec *stamp, tick now);

#endif
