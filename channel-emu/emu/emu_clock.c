/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The offset is read between two readings of the monotonic clock, the closest pair of some. A stamp
 * ahead of now, or seconds old, means that the wall clock was set: measured anew at once.
 */
#include "channel-emu/emu/emu_clock.h"

#define OLD (10 * TICK_S)

static tick clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (tick)t.tv_sec * TICK_S + (tick)t.tv_nsec;
}

tick emu_now(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

void emu_clock_init(struct emu_clock *c)
{
    tick best = TICK_NEVER;
    c->measured = emu_now();
    for (int i = 0; i < 8; i++) {
        tick before = emu_now(), wall = clock_ns(CLOCK_REALTIME), after = emu_now();
        if (after - before < best) {
            best = after - before;
            c->offset = before + best / 2 - wall;
        }
    }
}

void emu_clock_refresh(struct emu_clock *c, tick now)
{
    if (now > c->measured + TICK_S)
        emu_clock_init(c);
}

tick emu_clock_arrival(struct emu_clock *c, const struct timespec *stamp, tick now)
{
    tick wall = (tick)stamp->tv_sec * TICK_S + (tick)stamp->tv_nsec;
    tick at = wall + c->offset;
    if (at > now)
        now = emu_now(); /* it came meanwhile */
    if (at <= now && now - at < OLD)
        return at;
    if (at > now && at - now < TICK_MS)
        return now;
    emu_clock_init(c);
    at = wall + c->offset;
    return at <= now && now - at < OLD ? at : now;
}
