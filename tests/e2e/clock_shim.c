/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before a program, gives it a wall clock that a test sets: the file $HELIO_TEST_CLOCK holds
 * how many nanoseconds (64 bits, signed) it is ahead of the machine's; the test may write it while
 * the program runs. Other clocks are as they are.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("HELIO_TEST_CLOCK");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *at = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        offset = at;
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    long rc = syscall(SYS_clock_gettime, clock, t);
    if (rc != 0 || offset == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return (int)rc;
    int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec + *offset;
    t->tv_sec = ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}
