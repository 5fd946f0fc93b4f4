/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that is woken by another thread. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "os/clock.h"
#include "os/process/priority.h"
#include "os/uv_bell.h"
#include "os/uv_world.h"
#include "tests/unit/suite.h"

#define ROUNDS 2000

static struct world *world;
static struct uv_bell *bell;
static sem_t answered;
static pthread_t ringer;
static int rounds;

static void *ring_and_wait(void *context)
{
    for (int i = 0; i < ROUNDS; i++) {
        uv_bell_ring(bell);
        while (sem_wait(&answered) < 0)
            continue;
    }
    return context;
}

static void answer(void *context)
{
    ck_assert_ptr_eq(context, &rounds);
    sem_post(&answered);
    if (++rounds < ROUNDS)
        return;
    pthread_join(ringer, NULL);
    uv_bell_close(bell);
    uv_world_end(world);
}

/* One processor for both: a loop that waited for the ringing thread to go on would have it wait. */
static void share_processor(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
}

START_TEST(urgent_loop_never_waits_for_who_rang)
{
    share_processor();
    ck_assert_int_eq(uv_world_open(&world), 0);
    ck_assert_int_eq(uv_bell_open(&bell, uv_world_loop(world), answer, &rounds), 0);
    ck_assert_int_eq(sem_init(&answered, 0, 0), 0);
    (void)priority_realtime(true); /* where it is permitted */
    ck_assert_int_eq(pthread_create(&ringer, NULL, ring_and_wait, NULL), 0);
    tick cpu = clock_cpu_thread();
    uv_world_run(world);
    cpu = clock_cpu_thread() - cpu;
    (void)priority_realtime(false);
    ck_assert_int_eq(rounds, ROUNDS);
    ck_assert_msg(cpu < TICK_S / 2, "the loop took %.3f s for %d calls", (double)cpu / 1e9, ROUNDS);
    ck_assert_int_eq(uv_world_free(world), 0);
    sem_destroy(&answered);
}
END_TEST

START_TEST(many_rings_are_one_call)
{
    rounds = ROUNDS - 1;
    ck_assert_int_eq(uv_world_open(&world), 0);
    ck_assert_int_eq(uv_bell_open(&bell, uv_world_loop(world), answer, &rounds), 0);
    ck_assert_int_eq(sem_init(&answered, 0, ROUNDS), 0);
    ck_assert_int_eq(pthread_create(&ringer, NULL, ring_and_wait, NULL), 0);
    uv_world_run(world); /* ends at the first call; the ringer is joined, so all were rung */
    ck_assert_int_eq(rounds, ROUNDS);
    ck_assert_int_eq(uv_world_free(world), 0);
    sem_destroy(&answered);
    uv_bell_close(NULL);
}
END_TEST

SUITE(os_bell, t)
{
    tcase_add_test(t, urgent_loop_never_waits_for_who_rang);
    tcase_add_test(t, many_rings_are_one_call);
}
