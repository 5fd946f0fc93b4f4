/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The offset is read between two readings of the monotonic clock, the closest pair of some. A stamp
 * ahead of now, or seconds old, means that the wall clock was set: measured anew at once. Reading a
 * clock that there is cannot fail.
 */
#include "os/clock.h"

#include <assert.h>
#include <errno.h>

#include "base/err.h"

#define OLD (10 * TICK_S)
#define PAIRS 8

static tick tick_of(const struct timespec *t)
{
    return (tick)t->tv_sec * TICK_S + (tick)t->tv_nsec;
}

static tick read_clock(clockid_t clock)
{
    struct timespec t = {0};
    int r = clock_gettime(clock, &t);
    assert(r == 0);
    (void)r;
    return tick_of(&t);
}

tick clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

tick clock_cpu_thread(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

tick clock_cpu_process(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_offset(void)
{
    tick best = TICK_NEVER;
    uint64_t offset = 0;
    for (int i = 0; i < PAIRS; i++) {
        tick before = clock_now(), wall = clock_wall(), after = clock_now();
        if (after - before < best) {
            best = after - before;
            offset = wall - (before + best / 2);
        }
    }
    return offset;
}

struct timespec clock_spec(tick t)
{
    return (struct timespec){.tv_sec = (time_t)(t / TICK_S), .tv_nsec = (long)(t % TICK_S)};
}

int clock_poll(struct pollfd *fds, nfds_t n, tick until)
{
    tick now = until == TICK_NEVER ? 0 : clock_now();
    struct timespec rest = clock_spec(until > now ? until - now : 0);
    int r = ppoll(fds, n, until == TICK_NEVER ? NULL : &rest, NULL);
    return r >= 0 ? r : errno == EINTR ? 0 : helio_from_errno(errno);
}

void clock_stamps_init(struct clock_stamps *c)
{
    c->measured = clock_now();
    c->offset = clock_offset();
}

void clock_stamps_refresh(struct clock_stamps *c, tick now)
{
    if (now > c->measured + TICK_S)
        clock_stamps_init(c);
}

tick clock_stamps_arrival(struct clock_stamps *c, const struct timespec *stamp, tick now)
{
    tick wall = tick_of(stamp), at = wall - c->offset;
    if (at > now)
        now = clock_now(); /* a signal or event arrived meanwhile */
    if (at <= now && now - at < OLD)
        return at;
    if (at > now && at - now < TICK_MS)
        return now;
    clock_stamps_init(c);
    at = wall - c->offset;
    return at <= now && now - at < OLD ? at : now;
}
