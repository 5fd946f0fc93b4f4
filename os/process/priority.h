/* SPDX-License-Identifier: Apache-2.0 */
/* The processor before others, by priority among normal programs or in real time. */
#ifndef OS_PRIORITY_H
#define OS_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

/* For this process and the threads that it starts from now on: a nice value of -10, and the same
 * for its group where the kernel shares processors among sessions (sched_autogroup) and this
 * process began one. 0, or HELIO_E* when it is not permitted. */
int priority_raise(void);

/* For this thread alone: ten nice values behind the one it has, for work that must not take the
 * processor from the process's other threads. */
void priority_lower(void);

/* For this thread, and those that it starts from now on: short time slices. It waits less for a
 * processor that another program of the same priority has; its share stays the same. No effect
 * before Linux 6.12. 0 or HELIO_E*. */
int priority_short_turns(void);

/* Only for this thread, not for threads that it starts: the lowest priority of SCHED_RR, which is
 * above all normal priorities; false: normal priority with the former nice value. Returns 0, or
 * HELIO_E* when not permitted. */
int priority_realtime(bool on);

/* A real-time thread can starve the machine. So it has this priority only while it uses less than a
 * share of a processor. This code reads no clock. */
#define PRIORITY_WINDOW (10 * TICK_MS) /* of which this is judged */
#define PRIORITY_SHARE 0.6             /* of a processor */

struct priority_bound {
    bool held;
    tick began, cpu;              /* of the window: time, and processor time of the thread */
    uint64_t windows, given_back; /* closed, and those of them without the priority */
};

/* The thread holds it and has had so much processor time until now. */
void priority_bound_init(struct priority_bound *b, tick now, tick cpu);
/* Has the window ended? Then the caller reads the thread's processor time and reports it. */
static inline bool priority_bound_over(const struct priority_bound *b, tick now)
{
    return now - b->began >= PRIORITY_WINDOW;
}
/* Judges the window and begins the next one. True: b->held is another now, and the caller does so.
 */
bool priority_bound_judge(struct priority_bound *b, tick now, tick cpu);

#endif
