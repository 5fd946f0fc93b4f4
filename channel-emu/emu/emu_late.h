/* SPDX-License-Identifier: Apache-2.0 */
/* How late frames were released: a histogram whose cells are at most an eighth wide. */
#ifndef CHANNEL_EMU_EMU_LATE_H
#define CHANNEL_EMU_EMU_LATE_H

#include "base/tick.h"

#define EMU_LATE_CELLS 512u

struct emu_late {
    uint64_t count, cells[EMU_LATE_CELLS];
    tick max;
};

void emu_late_add(struct emu_late *l, tick late);
/* The upper end of the cell in which this share (0..1) of the releases is reached; at most max. */
tick emu_late_quantile(const struct emu_late *l, double share);

#endif
