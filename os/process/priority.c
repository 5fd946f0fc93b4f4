/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With sched_autogroup, the default of many distributions, each session (setsid) has the same share
 * of a processor, and nice values count within a session only: a compiler at nice 19 in another
 * terminal takes as much as the node. The group of a session that others share is left alone. What
 * can go wrong is that it is not permitted (CAP_SYS_NICE).
 */
#include "os/process/priority.h"

#include <assert.h>
#include <errno.h>
#include <linux/sched.h>
#include <linux/sched/types.h>

#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

#define NICE (-10)
#define LOWER 10
#define LEAST 1 /* of SCHED_RR, in Linux */
#define SLICE_NS 100000

/* Where there are no such groups the file is not there. */
static int raise_group(void)
{
    FILE *f = fopen("/proc/self/autogroup", "we");
    if (f == NULL)
        return errno == ENOENT ? 0 : helio_from_errno(errno);
    int r = fprintf(f, "%d", NICE) > 0 && fflush(f) == 0 ? 0 : helio_from_errno(errno);
    (void)fclose(f);
    return r;
}

/* Short time slices, from Linux 6.12 on: the thread is scheduled sooner. No effect before. */
static int take_short_turns(int nice)
{
    struct sched_attr a = {.size = sizeof a,
                           .sched_policy = SCHED_NORMAL,
                           .sched_nice = nice,
                           .sched_runtime = SLICE_NS};
    return syscall(SYS_sched_setattr, 0, &a, 0) < 0 ? helio_from_errno(errno) : 0;
}

int priority_raise(void)
{
    if (setpriority(PRIO_PROCESS, 0, NICE) < 0)
        return helio_from_errno(errno);
    (void)take_short_turns(NICE);
    return getsid(0) == getpid() ? raise_group() : 0;
}

void priority_lower(void)
{
    const int nice = getpriority(PRIO_PROCESS, 0) + LOWER;
    (void)setpriority(PRIO_PROCESS, 0, nice); /* of this thread, on Linux; at most 19 */
}

int priority_short_turns(void)
{
    return take_short_turns(getpriority(PRIO_PROCESS, 0));
}

int priority_realtime(bool on)
{
    if (!on)
        return priority_short_turns();
    struct sched_attr a = {.size = sizeof a,
                           .sched_policy = SCHED_RR,
                           .sched_flags = SCHED_FLAG_RESET_ON_FORK,
                           .sched_priority = LEAST};
    return syscall(SYS_sched_setattr, 0, &a, 0) < 0 ? helio_from_errno(errno) : 0;
}

void priority_bound_init(struct priority_bound *b, tick now, tick cpu)
{
    *b = (struct priority_bound){.held = true, .began = now, .cpu = cpu};
}

bool priority_bound_judge(struct priority_bound *b, tick now, tick cpu)
{
    assert(now > b->began && cpu >= b->cpu);
    bool before = b->held;
    b->windows++;
    b->given_back += !before;
    b->held = (double)(cpu - b->cpu) <= PRIORITY_SHARE * (double)(now - b->began);
    b->began = now;
    b->cpu = cpu;
    return b->held != before;
}
