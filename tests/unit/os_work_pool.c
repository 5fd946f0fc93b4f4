/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside a loop: turns between hosts, work that is taken back, the end. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/uv_world.h"
#include "os/work_pool.h"
#include "tests/unit/suite.h"

#define PIECES 6

struct piece {
    struct work work;
    struct bench *bench;
    int ran, told;
    bool was_run_when_told;
};

struct bench {
    struct work_pool *pool;
    struct piece piece[PIECES];
    sem_t gate, begun, rung;
    pthread_mutex_t lock;
    int order[PIECES], len; /* in which they ran */
    pthread_t loop;
};

static struct piece *piece_of(struct work *w)
{
    return container_of(w, struct piece, work);
}

static void wait_for(sem_t *s)
{
    while (sem_wait(s) < 0)
        continue;
}

static void run(struct work *w)
{
    struct piece *p = piece_of(w);
    struct bench *b = p->bench;
    sem_post(&b->begun);
    wait_for(&b->gate);
    pthread_mutex_lock(&b->lock);
    b->order[b->len++] = (int)(p - b->piece);
    pthread_mutex_unlock(&b->lock);
    p->ran++;
}

static void done(struct work *w)
{
    struct piece *p = piece_of(w);
    ck_assert(pthread_equal(p->bench->loop, pthread_self()));
    p->told++;
    p->was_run_when_told = p->ran > 0;
}

static void ring(void *context)
{
    sem_post(&((struct bench *)context)->rung);
}

static struct bench *bench_new(void)
{
    struct bench *b = calloc(1, sizeof *b);
    sem_init(&b->gate, 0, 0);
    sem_init(&b->begun, 0, 0);
    sem_init(&b->rung, 0, 0);
    pthread_mutex_init(&b->lock, NULL);
    b->loop = pthread_self();
    ck_assert_int_eq(work_pool_new(&b->pool, 1, WORK_LOW, ring, b), 0);
    return b;
}

static void give(struct bench *b, int i, uint8_t host)
{
    b->piece[i] = (struct piece){.work = {.run = run, .done = done, .host = {host}}, .bench = b};
    work_pool_give(b->pool, &b->piece[i].work);
}

static void open_gate(struct bench *b, int n)
{
    for (int i = 0; i < n; i++)
        sem_post(&b->gate);
}

static unsigned told(const struct bench *b)
{
    unsigned n = 0;
    for (int i = 0; i < PIECES; i++)
        n += (unsigned)b->piece[i].told;
    return n;
}

/* Four of one host, then one of each of two others: these wait for one piece each. */
START_TEST(hosts_take_turns)
{
    static const int expected[PIECES] = {0, 1, 4, 5, 2, 3};
    struct bench *b = bench_new();
    give(b, 0, 1);
    wait_for(&b->begun); /* it is being done */
    for (int i = 1; i < 4; i++)
        give(b, i, 1);
    give(b, 4, 2);
    give(b, 5, 3);
    open_gate(b, PIECES);
    while (told(b) < PIECES) {
        wait_for(&b->rung);
        while (work_pool_done(b->pool))
            continue;
    }
    ck_assert_mem_eq(b->order, expected, sizeof expected);
    for (int i = 0; i < PIECES; i++)
        ck_assert(b->piece[i].ran == 1 && b->piece[i].told == 1);
    work_pool_free(b->pool);
    free(b);
}
END_TEST

START_TEST(taken_back)
{
    static const int expected[] = {0, 2, 4};
    struct bench *b = bench_new();
    give(b, 0, 1);
    wait_for(&b->begun);
    for (int i = 1; i < 5; i++)
        give(b, i, (uint8_t)(i < 4 ? 2 : 3));
    ck_assert(!work_pool_take_back(b->pool, &b->piece[0].work)); /* too late */
    ck_assert(work_pool_take_back(b->pool, &b->piece[1].work));  /* the first of its host */
    ck_assert(work_pool_take_back(b->pool, &b->piece[3].work));  /* one behind another */
    ck_assert(!work_pool_take_back(b->pool, &b->piece[3].work));
    open_gate(b, 3);
    while (told(b) < 3) {
        wait_for(&b->rung);
        while (work_pool_done(b->pool))
            continue;
    }
    ck_assert_mem_eq(b->order, expected, sizeof expected);
    ck_assert(b->piece[1].told == 0 && b->piece[3].told == 0);
    work_pool_free(b->pool);
    free(b);
}
END_TEST

/* The gate opens while a job waits for what is behind it. */
static void *open_later(void *context)
{
    struct bench *b = context;
    usleep(20000);
    open_gate(b, 1);
    return NULL;
}

/* What has begun is waited for, what is over is told nothing any more, what waits is not begun. */
START_TEST(recalled)
{
    struct bench *b = bench_new();
    pthread_t opener;
    give(b, 0, 1);
    wait_for(&b->begun);
    give(b, 1, 2);
    ck_assert(!work_pool_recall(b->pool, &b->piece[1].work));
    ck_assert_int_eq(pthread_create(&opener, NULL, open_later, b), 0);
    ck_assert(work_pool_recall(b->pool, &b->piece[0].work));
    ck_assert_int_eq(b->piece[0].ran, 1);
    pthread_join(opener, NULL);
    give(b, 2, 1);
    open_gate(b, 1);
    wait_for(&b->rung); /* of the first */
    wait_for(&b->rung);
    ck_assert(work_pool_recall(b->pool, &b->piece[2].work));
    ck_assert(!work_pool_done(b->pool));
    for (int i = 0; i < 3; i++)
        ck_assert(b->piece[i].told == 0 && b->piece[i].ran == (i != 1));
    work_pool_free(b->pool);
    free(b);
}
END_TEST

/* What is being done is finished, what waits is not begun; all are told. */
START_TEST(ends_with_work_left)
{
    struct bench *b = bench_new();
    give(b, 0, 1);
    wait_for(&b->begun);
    for (int i = 1; i < PIECES; i++)
        give(b, i, (uint8_t)(i % 3));
    open_gate(b, PIECES); /* it may get to do more */
    work_pool_free(b->pool);
    for (int i = 0; i < PIECES; i++)
        ck_assert(b->piece[i].told == 1 && b->piece[i].was_run_when_told == (b->piece[i].ran == 1));
    ck_assert_int_eq(b->piece[0].ran, 1);
    free(b);
}
END_TEST

/* ---- of a world ---- */

static int left = 100;
static struct world *world;

static void count_run(struct work *w)
{
    w->host[0]++;
}

static void count_done(struct work *w)
{
    ck_assert_uint_eq(w->host[0], 1);
    w->host[0] = 0;
    if (--left == 0)
        uv_world_end(world);
    else
        ck_assert(world_work(world, w));
}

START_TEST(in_a_loop)
{
    struct work w = {.run = count_run, .done = count_done};
    ck_assert_int_eq(uv_world_open(&world), 0);
    ck_assert(world_work(world, &w));
    uv_world_run(world);
    ck_assert_int_eq(left, 0);
    ck_assert(!world_work(world, &w)); /* it is over */
    ck_assert_int_eq(uv_world_free(world), 0);
}
END_TEST

SUITE(os_work_pool, t)
{
    tcase_add_test(t, hosts_take_turns);
    tcase_add_test(t, taken_back);
    tcase_add_test(t, recalled);
    tcase_add_test(t, ends_with_work_left);
    tcase_add_test(t, in_a_loop);
}
