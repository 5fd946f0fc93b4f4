/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the emulator wakes up, and with which priority. On virtual machines a wake-up costs up
 * to 15 us of a processor, so frames are released in batches. The batch time follows the measured
 * cost within a limit on lateness. The smallest lateness is not the goal: it would starve the nodes
 * that the emulator serves. For the same reason real-time priority is dropped while it would use
 * more than its share. No clock is read here.
 */
#ifndef CHANNEL_EMU_EMU_PACE_H
#define CHANNEL_EMU_EMU_PACE_H

#include <stdbool.h>

#include "base/tick.h"

#define EMU_BATCH_AUTO TICK_NEVER
#define EMU_BATCH_MIN (10 * TICK_US)
#define EMU_BATCH_MAX (45 * TICK_US)
#define EMU_LATE_BOUND (50 * TICK_US) /* for 99 of 100 frames */
#define EMU_SHARE_WANTED 0.25         /* of a processor: beyond it batches grow */
#define EMU_SHARE_REALTIME 0.6        /* beyond it real-time priority is dropped */
#define EMU_WINDOW (10 * TICK_MS)     /* of which all this is judged */

struct emu_pace {
    tick batch;            /* batches begin at least so long one after another */
    bool automatic;        /* it follows */
    bool permitted;        /* real-time priority: asked for, and to be had */
    bool realtime;         /* and held */
    tick began, cpu;       /* of the window: time, and processor time of the thread */
    uint64_t frames, late; /* in the window: released; of these, later than a batch should be */
    uint64_t windows,
        given_back; /* closed, and those without real-time priority though permitted */
};

/* `batch` may be EMU_BATCH_AUTO; realtime: the priority is held at the start. */
void emu_pace_init(struct emu_pace *p, tick batch, bool realtime, tick now);

/* A frame was released so late. */
static inline void emu_pace_frame(struct emu_pace *p, tick late)
{
    p->frames++;
    /* a stall of the machine is not cured by shorter batches */
    p->late += late > EMU_LATE_BOUND && late < 2 * EMU_LATE_BOUND;
}

/* Has the window ended? Then the caller reads the thread's processor time and reports it. */
static inline bool emu_pace_over(const struct emu_pace *p, tick now)
{
    return now - p->began >= EMU_WINDOW;
}
/* Judges the window and begins the next; p->batch and p->realtime hold from now on. */
void emu_pace_judge(struct emu_pace *p, tick now, tick cpu);

/* How long arrivals may wait in the socket, which keeps their time: short against the delay, before
 * which nothing of them is due. */
tick emu_pace_read(const struct emu_pace *p, tick delay_min);

/* How late frames were released: a histogram whose cells are at most an eighth wide. */
#define EMU_LATE_CELLS 512u

struct emu_late {
    uint64_t count, cells[EMU_LATE_CELLS];
    tick max;
};

void emu_late_add(struct emu_late *l, tick late);
/* The upper end of the cell in which this share (0..1) of the releases is reached; at most max. */
tick emu_late_quantile(const struct emu_late *l, double share);

#endif
