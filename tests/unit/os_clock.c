/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's clocks, its stamps, waiting, and signals as something to read. */
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/process/signals.h"
#include "tests/unit/suite.h"

/* How far two measures of the offset may be apart on a busy machine. */
#define NEAR (100 * TICK_MS)

/* The wall clock, and what the other showed before and after: a machine may pause between two. */
struct reading {
    tick before, after;
    uint64_t wall;
};

static struct reading read_clocks(void)
{
    struct reading r = {.before = clock_now()};
    r.wall = clock_wall();
    r.after = clock_now();
    return r;
}

static void check_between(tick at, tick from, tick to)
{
    ck_assert_uint_ge(at + NEAR, from);
    ck_assert_uint_le(at, to + NEAR);
}

START_TEST(clocks_agree)
{
    tick now = clock_now();
    ck_assert_uint_le(now, clock_now());
    struct reading r = read_clocks();
    ck_assert_uint_gt(r.wall, UINT64_C(1600000000) * TICK_S);
    check_between(r.wall - clock_offset(), r.before, r.after);
    ck_assert_uint_le(clock_cpu_thread(), clock_cpu_process());
    struct timespec t = clock_spec(3 * TICK_S + 5);
    ck_assert(t.tv_sec == 3 && t.tv_nsec == 5);
}
END_TEST

START_TEST(a_wait_ends)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    tick until = clock_now() + 5 * TICK_MS;
    ck_assert_int_eq(clock_poll(&fd, 1, until), 0);
    ck_assert_uint_ge(clock_now(), until);
    ck_assert_int_eq(clock_poll(&fd, 1, 0), 0); /* a time that is past: at once */
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    ck_assert_int_eq(clock_poll(&fd, 1, TICK_NEVER), 1);
    ck_assert(fd.revents & POLLIN);
    ck_assert_int_lt(clock_poll(NULL, 1, 0), 0);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

static tick arrival(struct clock_stamps *c, uint64_t wall, tick now)
{
    struct timespec stamp = clock_spec(wall);
    return clock_stamps_arrival(c, &stamp, now);
}

START_TEST(stamps_become_ticks)
{
    struct clock_stamps c;
    clock_stamps_init(&c);
    tick now = clock_now();
    ck_assert_uint_eq(arrival(&c, now - TICK_MS + c.offset, now), now - TICK_MS);
    /* it came while we looked: our `now` is old */
    ck_assert_uint_ge(arrival(&c, now + 1 + c.offset, now), now);
    tick measured = c.measured;
    clock_stamps_refresh(&c, measured + TICK_S);
    ck_assert_uint_eq(c.measured, measured);
    clock_stamps_refresh(&c, measured + 2 * TICK_S);
    ck_assert_uint_gt(c.measured, measured);
}
END_TEST

/* The wall clock was set since the offset was measured: it is measured again, and the stamp holds.
 */
START_TEST(stamps_after_the_clock_was_set)
{
    static const int64_t steps_s[] = {3600, -3600};
    for (int i = 0; i < 2; i++) {
        struct clock_stamps c;
        clock_stamps_init(&c);
        c.offset += (uint64_t)steps_s[i] * TICK_S;
        struct reading r = read_clocks();
        check_between(arrival(&c, r.wall - TICK_MS, r.before), r.before, r.after);
        ck_assert_uint_lt(c.offset - clock_offset() + NEAR, 2 * NEAR);
        /* a stamp that no measure makes right is now */
        tick now = clock_now();
        tick at = arrival(&c, clock_wall() + (uint64_t)steps_s[i] * TICK_S, now);
        ck_assert_uint_ge(at, now);
        ck_assert_uint_le(at, clock_now());
    }
}
END_TEST

START_TEST(signals_are_read)
{
    sigset_t before, mask;
    signal(SIGHUP, SIG_IGN); /* as nohup does */
    int fd = signals_open((const int[]){SIGUSR1, SIGUSR2, SIGHUP, 0}, &before);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(signals_take(fd), 0);
    raise(SIGUSR2);
    raise(SIGHUP);
    ck_assert_int_eq(signals_take(fd), SIGUSR2);
    ck_assert_int_eq(signals_take(fd), 0);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    ck_assert_int_eq(sigismember(&mask, SIGUSR1), 1);
    ck_assert_int_eq(sigismember(&mask, SIGHUP), 0);
    signals_close(fd, &before);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    ck_assert_int_eq(sigismember(&mask, SIGUSR1), 0);
}
END_TEST

SUITE(os_clock, t)
{
    tcase_add_test(t, clocks_agree);
    tcase_add_test(t, a_wait_ends);
    tcase_add_test(t, stamps_become_ticks);
    tcase_add_test(t, stamps_after_the_clock_was_set);
    tcase_add_test(t, signals_are_read);
}
