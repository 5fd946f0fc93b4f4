/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's clocks. Times in ns: a `tick` is CLOCK_MONOTONIC, `wall` is since 1970-01-01 UTC by
 * CLOCK_REALTIME, which may be wrong and may be set. */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include <poll.h>
#include <time.h>

#include "base/tick.h"

tick clock_now(void);
uint64_t clock_wall(void);

/* Wall less monotonic clock, modulo 2^64: of some pairs of readings the closest. */
uint64_t clock_offset(void);

/* Processor time of this thread, and of all threads of the process. */
tick clock_cpu_thread(void);
tick clock_cpu_process(void);

/* A length of time, or a point of one clock, as the system calls want it. */
struct timespec clock_spec(tick t);

/* Waits for the descriptors (n >= 0) until the monotonic time `until`; TICK_NEVER: without limit.
 * Returns the number of ready descriptors; 0 also after a signal; HELIO_E*. */
int clock_poll(struct pollfd *fds, nfds_t n, tick until);

/* The kernel stamps what arrives with the wall clock; the stamp is moved to the monotonic clock by
 * an offset that is measured again and again. */
struct clock_stamps {
    uint64_t offset;
    tick measured; /* when */
};

void clock_stamps_init(struct clock_stamps *c);
/* Measures anew when the last time was more than a second ago. */
void clock_stamps_refresh(struct clock_stamps *c, tick now);
/* The monotonic time of a stamp; `now` when it cannot be right: the wall clock was set. */
tick clock_stamps_arrival(struct clock_stamps *c, const struct timespec *stamp, tick now);

#endif
