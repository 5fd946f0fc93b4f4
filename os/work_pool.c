/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lock, one list of hosts with work. A thread takes the first piece of the first host; then the
 * host moves to the end with its remaining work. What can go wrong: threads that cannot be started.
 */
#include "os/work_pool.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/process/priority.h"
#include "os/process/thread.h"

#define AWAKE (100 * TICK_US)

struct work_pool {
    pthread_mutex_t lock;
    atomic_uint waiting; /* pieces in `hosts`, for readers without the lock */
    pthread_cond_t more, one_over;
    struct list hosts; /* struct work.node: the first piece of each */
    struct list over;  /* those that are done */
    bool ending;
    enum work_priority priority;
    unsigned threads;
    pthread_t thread[WORK_THREADS_MAX];
    void (*ring)(void *context);
    void *context;
};

/* ---- the queue; locked ---- */

static struct work *find_host(const struct work_pool *p, const struct work *like)
{
    list_for_each (it, &p->hosts) {
        struct work *w = container_of(it, struct work, node);
        if (memcmp(w->host, like->host, ADDRESS_KEY_HOST) == 0)
            return w;
    }
    return NULL;
}

/* Removes a piece. The next piece of its host takes its position: after the other hosts, or (!turn)
 * the same one. */
static void take_out(struct work_pool *p, struct work *w, bool turn)
{
    struct list *next = list_first(&w->others);
    if (next != NULL) {
        struct work *heir = container_of(next, struct work, node);
        list_sub(next);
        list_move_all(&w->others, &heir->others);
        list_add_tail(turn ? &p->hosts : &w->node, next);
    }
    list_sub(&w->node);
    atomic_fetch_sub_explicit(&p->waiting, 1, memory_order_relaxed);
    assert(list_empty(&w->others));
}

static void put_in(struct work_pool *p, struct work *w)
{
    struct work *first = find_host(p, w);
    list_init(&w->node);
    list_init(&w->others);
    list_add_tail(first == NULL ? &p->hosts : &first->others, &w->node);
    atomic_fetch_add_explicit(&p->waiting, 1, memory_order_relaxed);
}

/* ---- the threads ---- */

/* Waking a sleeping thread may cost the loop 30 us (docs/speed.md): after a piece of work a thread
 * stays awake for a while. */
static void stay_awake(struct work_pool *p)
{
    const tick until = clock_now() + AWAKE;
    while (atomic_load_explicit(&p->waiting, memory_order_relaxed) == 0 && clock_now() < until)
        (void)sched_yield();
}

static void *work_on(void *context)
{
    struct work_pool *p = context;
    bool awake = false;
    if (p->priority == WORK_LOW)
        priority_lower();
    pthread_mutex_lock(&p->lock);
    while (!p->ending) {
        if (list_empty(&p->hosts) && awake) {
            pthread_mutex_unlock(&p->lock);
            stay_awake(p);
            pthread_mutex_lock(&p->lock);
            awake = false;
            continue;
        }
        if (list_empty(&p->hosts)) {
            pthread_cond_wait(&p->more, &p->lock);
            continue;
        }
        struct work *w = container_of(list_first(&p->hosts), struct work, node);
        take_out(p, w, true);
        pthread_mutex_unlock(&p->lock);
        w->run(w);
        pthread_mutex_lock(&p->lock);
        awake = p->priority == WORK_AS_LOOP;
        bool first = list_empty(&p->over);
        list_add_tail(&p->over, &w->node);
        pthread_cond_broadcast(&p->one_over);
        if (first)
            p->ring(p->context);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static int start_threads(struct work_pool *p, unsigned threads)
{
    int r = 0;
    while (p->threads < threads && r == 0) {
        r = thread_start(&p->thread[p->threads], work_on, p);
        p->threads += r == 0;
    }
    return p->threads > 0 ? 0 : r;
}

/* ---- the calls ---- */

int work_pool_new(struct work_pool **out, unsigned threads, enum work_priority priority,
                  void (*ring)(void *context), void *context)
{
    struct work_pool *p = calloc(1, sizeof *p);
    if (p == NULL)
        return HELIO_ENOMEM;
    assert(threads >= 1);
    p->priority = priority;
    p->ring = ring;
    p->context = context;
    list_init(&p->hosts);
    list_init(&p->over);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more, NULL);
    pthread_cond_init(&p->one_over, NULL);
    int r = start_threads(p, threads < WORK_THREADS_MAX ? threads : WORK_THREADS_MAX);
    if (r != 0) {
        work_pool_free(p);
        return r;
    }
    *out = p;
    return 0;
}

void work_pool_give(struct work_pool *p, struct work *w)
{
    assert(w->run != NULL && w->done != NULL);
    pthread_mutex_lock(&p->lock);
    put_in(p, w);
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
}

/* Does it wait in the queue? */
static bool is_queued(const struct work_pool *p, const struct work *w)
{
    const struct work *first = find_host(p, w);
    if (first == w)
        return true;
    if (first == NULL)
        return false;
    list_for_each (it, &first->others)
        if (it == &w->node)
            return true;
    return false;
}

bool work_pool_take_back(struct work_pool *p, struct work *w)
{
    pthread_mutex_lock(&p->lock);
    const bool queued = is_queued(p, w);
    if (queued)
        take_out(p, w, false);
    pthread_mutex_unlock(&p->lock);
    return queued;
}

static bool is_over(const struct work_pool *p, const struct work *w)
{
    list_for_each (it, &p->over)
        if (it == &w->node)
            return true;
    return false;
}

bool work_pool_recall(struct work_pool *p, struct work *w)
{
    pthread_mutex_lock(&p->lock);
    const bool queued = is_queued(p, w);
    if (queued)
        take_out(p, w, false);
    while (!queued && !is_over(p, w))
        pthread_cond_wait(&p->one_over, &p->lock);
    if (!queued)
        list_sub(&w->node);
    pthread_mutex_unlock(&p->lock);
    return !queued;
}

static struct work *next_done(struct work_pool *p)
{
    pthread_mutex_lock(&p->lock);
    struct list *l = list_first(&p->over);
    if (l != NULL)
        list_sub(l);
    pthread_mutex_unlock(&p->lock);
    return l == NULL ? NULL : container_of(l, struct work, node);
}

unsigned work_pool_waiting(const struct work_pool *p)
{
    return atomic_load_explicit(&p->waiting, memory_order_relaxed);
}

bool work_pool_done(struct work_pool *p)
{
    struct work *w = next_done(p);
    if (w != NULL)
        w->done(w);
    return w != NULL;
}

void work_pool_free(struct work_pool *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_broadcast(&p->more);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->threads; i++)
        pthread_join(p->thread[i], NULL);
    while (!list_empty(&p->hosts)) {
        struct work *w = container_of(list_first(&p->hosts), struct work, node);
        take_out(p, w, true);
        list_add_tail(&p->over, &w->node);
    }
    while (work_pool_done(p))
        continue;
    pthread_cond_destroy(&p->more);
    pthread_cond_destroy(&p->one_over);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
