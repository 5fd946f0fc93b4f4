/* SPDX-License-Identifier: Apache-2.0 */
/* How late threads run that do nothing but sleep, one on each processor: what this machine does,
 * whatever the program under test does. Who tries again because of it must have seen it. */
#ifndef TESTS_UNIT_STALLS_H
#define TESTS_UNIT_STALLS_H

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/tick.h"
#include "os/clock.h"

#define STALL (5 * TICK_MS) /* with less the machine does not stall */
#define STALLS_CPUS 16

struct stalls {
    pthread_t threads[STALLS_CPUS];
    int count;
    atomic_bool over;
    _Atomic tick longest, sum; /* the sum is of what was later than 1 ms, of all processors */
};

static inline void *stalls_run(void *context)
{
    struct stalls *s = context;
    tick before = clock_now();
    bool over;
    do { /* the last look is after the end */
        over = atomic_load(&s->over);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = TICK_MS}, NULL);
        tick now = clock_now(), late = now - before - TICK_MS, longest = atomic_load(&s->longest);
        while (late > longest && !atomic_compare_exchange_weak(&s->longest, &longest, late))
            ;
        if (late > TICK_MS)
            atomic_fetch_add(&s->sum, late);
        before = now;
    } while (!over);
    return NULL;
}

static inline void stalls_begin(struct stalls *s)
{
    cpu_set_t all, one;
    s->count = 0;
    atomic_init(&s->over, false);
    atomic_init(&s->longest, 0);
    atomic_init(&s->sum, 0);
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && s->count < STALLS_CPUS; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        pthread_t *t = &s->threads[s->count++];
        ck_assert_int_eq(pthread_create(t, NULL, stalls_run, s), 0);
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)pthread_setaffinity_np(*t, sizeof one, &one);
    }
}

/* Whether the machine stalled. */
static inline bool stalls_end(struct stalls *s)
{
    atomic_store(&s->over, true);
    for (int i = 0; i < s->count; i++)
        pthread_join(s->threads[i], NULL);
    return atomic_load(&s->longest) >= STALL;
}

#endif
