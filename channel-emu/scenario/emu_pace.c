/* SPDX-License-Identifier: Apache-2.0 */
/* Steps are small, so that an unusual window has little effect. Lateness has precedence over cost,
 * and the limit of real-time priority over both. */
#include "channel-emu/scenario/emu_pace.h"

#include <assert.h>

/* Six frames at 500 Mbit/s: reading them delays none by much. */
#define READ_MAX (100 * TICK_US)

void emu_pace_init(struct emu_pace *p, tick batch, bool realtime, tick now)
{
    bool automatic = batch == EMU_BATCH_AUTO;
    *p = (struct emu_pace){.batch = automatic ? 2 * EMU_BATCH_MIN : batch,
                           .automatic = automatic,
                           .permitted = realtime,
                           .realtime = realtime,
                           .began = now};
}

static tick follow_load(const struct emu_pace *p, double share)
{
    tick b = p->batch;
    if (share > EMU_SHARE_REALTIME)
        b += b / 2;
    else if (p->late * 100 > p->frames)
        b -= b / 8;
    else if (share > EMU_SHARE_WANTED)
        b += b / 8;
    else if (share < 0.8 * EMU_SHARE_WANTED)
        b -= b / 16;
    return b < EMU_BATCH_MIN ? EMU_BATCH_MIN : b > EMU_BATCH_MAX ? EMU_BATCH_MAX : b;
}

void emu_pace_judge(struct emu_pace *p, tick now, tick cpu)
{
    assert(now > p->began && cpu >= p->cpu);
    double share = (double)(cpu - p->cpu) / (double)(now - p->began);
    p->windows++;
    p->given_back += p->permitted && !p->realtime;
    bool most = !p->automatic || p->batch == EMU_BATCH_MAX; /* longer batches do not help */
    if (p->automatic)
        p->batch = follow_load(p, share);
    p->realtime = p->permitted && (share <= EMU_SHARE_REALTIME || !most);
    p->began = now;
    p->cpu = cpu;
    p->frames = p->late = 0;
}

tick emu_pace_read(const struct emu_pace *p, tick delay_min)
{
    tick most = delay_min / 8 < READ_MAX ? delay_min / 8 : READ_MAX;
    return most > p->batch ? most : p->batch;
}

/* ---- the histogram of lateness ---- */

/* A cell is the position of the highest bit and the three bits after it. */
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
