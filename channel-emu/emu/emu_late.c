/* SPDX-License-Identifier: Apache-2.0 */
/* A cell is the position of the highest bit and the three bits after it. */
#include "channel-emu/emu/emu_late.h"

static unsigned cell_of(tick late)
{
    if (late < 8)
        return (unsigned)late;
    unsigned high = 63 - (unsigned)__builtin_clzll(late);
    return high * 8 + (unsigned)((late >> (high - 3)) & 7);
}

static tick cell_end(unsigned cell)
{
    if (cell < 24)
        return cell;
    return (tick)(8 + cell % 8 + 1) << (cell / 8 - 3);
}

void emu_late_add(struct emu_late *l, tick late)
{
    l->count++;
    l->cells[cell_of(late)]++;
    l->max = late > l->max ? late : l->max;
}

tick emu_late_quantile(const struct emu_late *l, double share)
{
    double want = share * (double)l->count;
    uint64_t seen = 0;
    for (unsigned i = 0; i < EMU_LATE_CELLS; i++) {
        seen += l->cells[i];
        if (seen > 0 && (double)seen >= want)
            return tick_min(cell_end(i), l->max);
    }
    return l->max;
}
