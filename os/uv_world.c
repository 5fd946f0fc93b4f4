/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One timer descriptor serves all alarms. It is set once before the loop sleeps, and only if an
 * alarm is earlier than its setting: a setting that is too early costs one wake-up and no call now.
 *
 * Alarms that are due soon fire from the idle handler, after the loop has polled all descriptors;
 * and with them those that were due before the poll: while an alarm is always due soon, the
 * descriptor is not set. Alarms that became due since wait for the next poll: data that arrived
 * before an alarm's time is reported before the alarm fires, however long the round was.
 *
 * What can go wrong at the beginning: no descriptors or memory; for some of these cases libuv has
 * no error code (end_process).
 */
#include "os/uv_world.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/uv_bell.h"
#include "os/uv_lookup.h"
#include "os/uv_world_private.h"
#include "os/work_pool.h"

#define THREADS_MAX 4
#define READ_ALL ((size_t)256 << 10) /* of all streams in a round of the loop; of one: at least */
#define READ_LEAST ((size_t)16 << 10)
#define RECENT_USES 16 /* of one reading of both clocks, in a round of the loop */

struct readers {        /* that had more to read than their share */
    size_t now, before; /* in this round, and in the last one */
};

/* Two readings cost 50 ns; a bundle of 1 kB takes 5 us, and its events need six of them. */
struct recent {
    bool allowed;  /* the loop runs: a round ends soon */
    unsigned uses; /* that are left in this round */
    tick now;      /* or a later world_now */
    uint64_t wall;
};

struct uv_world {
    struct world world;
    uv_loop_t loop;
    int timer_fd;
    uv_poll_t timer;
    uv_idle_t idle; /* active: an alarm is due soon */
    uv_prepare_t prepare;
    uv_check_t check;
    tick looked;               /* before the loop looked at its descriptors last */
    tick armed;                /* what the timer descriptor is set to; TICK_NEVER: not */
    struct work_pool *pool;    /* NULL: no work yet, or there are no threads */
    struct uv_bell *bell;      /* of the pool */
    bool pool_over;            /* none is begun any more */
    struct work_pool *writers; /* uv_world_writers; NULL: none */
    struct uv_bell *writers_bell;
    struct uv_lookups *lookups; /* NULL: no question yet, or the world has ended */
    struct readers readers;     /* data of the loop */
    bool ended;                 /* uv_world_end was called */
    struct recent recent;
};

static struct uv_world *uv_world_of(const struct world *w)
{
    return container_of((struct world *)(uintptr_t)w, struct uv_world, world);
}

static tick read_monotonic(const struct world *w)
{
    return uv_world_of(w)->recent.now = clock_now();
}

static tick read_processor(const struct world *w)
{
    (void)w;
    return clock_cpu_thread();
}

static uint64_t read_wall(const struct world *w)
{
    (void)w;
    return clock_wall();
}

static void read_recent(const struct world *w, tick *now, uint64_t *wall)
{
    struct recent *r = &uv_world_of(w)->recent;
    if (r->uses == 0) {
        r->uses = r->allowed ? RECENT_USES : 1;
        r->now = clock_now();
        r->wall = clock_wall();
    }
    r->uses--;
    *now = r->now;
    *wall = r->wall;
}

static uint64_t draw_random(struct world *w)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) /* a kernel without it */
        number = read_monotonic(w) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)getpid();
    return number;
}

static void on_idle(uv_idle_t *handle)
{
    struct uv_world *u = handle->data;
    uv_idle_stop(handle);
    world_fire(&u->world, u->looked, UINT_MAX);
}

static void on_timer(uv_poll_t *handle, int status, int events)
{
    struct uv_world *u = handle->data;
    tick due = u->armed;
    uint64_t count;
    (void)status;
    (void)events;
    if (read(u->timer_fd, &count, sizeof count) != sizeof count)
        return; /* set anew since */
    u->armed = TICK_NEVER;
    world_fire(&u->world, due, UINT_MAX);
}

static void arm_timer(struct uv_world *u)
{
    tick due = u->world.earliest;
    if (due == 0)
        uv_idle_start(&u->idle, on_idle);
    if (due == 0 || due >= u->armed)
        return;
    struct itimerspec at = {.it_value = clock_spec(due)};
    int r = timerfd_settime(u->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    assert(r == 0);
    (void)r;
    u->armed = due;
}

static void on_prepare(uv_prepare_t *handle)
{
    struct uv_world *u = handle->data;
    world_end_round(&u->world);
    arm_timer(u);
    u->readers = (struct readers){.before = u->readers.now};
    u->looked = clock_now();
    u->recent.allowed = true;
    u->recent.uses = 0;
}

static void on_check(uv_check_t *handle)
{
    struct uv_world *u = handle->data;
    world_end_round(&u->world);
}

size_t uv_world_read_share(const struct uv_loop_s *loop)
{
    const struct readers *r = uv_loop_get_data(loop);
    const size_t share = READ_ALL / (r->before == 0 ? 1 : r->before);
    return share < READ_LEAST ? READ_LEAST : share;
}

void uv_world_read_more(struct uv_loop_s *loop)
{
    ((struct readers *)uv_loop_get_data(loop))->now++;
}

/* ---- work for other threads ---- */

static void on_bell(void *context)
{
    struct uv_world *u = context;
    while (u->pool != NULL && work_pool_done(u->pool))
        continue; /* one of them may end the world */
}

static void ring_bell(void *context)
{
    struct uv_world *u = context;
    uv_bell_ring(u->bell);
}

/* One for four processors: the loop, and other programs, need the rest. */
static unsigned count_threads(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const long threads = processors / 4;
    return threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : (unsigned)threads;
}

static bool begin_pool(struct uv_world *u)
{
    u->pool_over = true; /* one attempt */
    if (uv_bell_open(&u->bell, &u->loop, on_bell, u) != 0)
        return false;
    if (work_pool_new(&u->pool, count_threads(), WORK_LOW, ring_bell, u) == 0)
        return true;
    uv_bell_close(u->bell);
    u->bell = NULL;
    return false;
}

static bool give_work(struct world *w, struct work *job)
{
    struct uv_world *u = uv_world_of(w);
    if (u->pool == NULL && (u->pool_over || !begin_pool(u)))
        return false;
    work_pool_give(u->pool, job);
    return true;
}

static bool take_work_back(struct world *w, struct work *job)
{
    struct uv_world *u = uv_world_of(w);
    return u->pool != NULL && work_pool_take_back(u->pool, job);
}

static void on_written(void *context)
{
    struct uv_world *u = context;
    while (u->writers != NULL && work_pool_done(u->writers))
        continue; /* one of them may end the world */
}

static void ring_written(void *context)
{
    struct uv_world *u = context;
    uv_bell_ring(u->writers_bell);
}

int uv_world_writers(struct world *w, unsigned threads)
{
    struct uv_world *u = uv_world_of(w);
    assert(u->writers == NULL && threads >= 1 && threads <= WORK_THREADS_MAX);
    int r = uv_bell_open(&u->writers_bell, &u->loop, on_written, u);
    if (r != 0)
        return r;
    r = work_pool_new(&u->writers, threads, WORK_AS_LOOP, ring_written, u);
    if (r != 0) {
        uv_bell_close(u->writers_bell);
        u->writers_bell = NULL;
    }
    return r;
}

struct work_pool *uv_world_write_pool(struct world *w)
{
    return uv_world_of(w)->writers;
}

static void end_writers(struct uv_world *u)
{
    struct work_pool *writers = u->writers;
    u->writers = NULL;
    work_pool_free(writers);
    uv_bell_close(u->writers_bell);
    u->writers_bell = NULL;
}

static void end_pool(struct uv_world *u)
{
    struct work_pool *pool = u->pool;
    u->pool_over = true;
    u->pool = NULL;
    work_pool_free(pool);
    uv_bell_close(u->bell);
    u->bell = NULL;
}

/* ---- names ---- */

static int begin_lookup(struct world *w, struct lookup *l)
{
    struct uv_world *u = uv_world_of(w);
    int r = u->ended ? HELIO_ESTOPPED : 0;
    if (r == 0 && u->lookups == NULL)
        r = uv_lookups_open(&u->lookups, &u->loop, lookup_resolve);
    return r == 0 ? uv_lookups_begin(u->lookups, l) : r;
}

static void forget_lookup(struct world *w, struct lookup *l)
{
    struct uv_world *u = uv_world_of(w);
    if (u->lookups != NULL)
        uv_lookups_forget(u->lookups, l);
    l->own = NULL; /* the world's end has forgotten all of them */
}

static void end_lookups(struct uv_world *u)
{
    uv_lookups_close(u->lookups);
    u->lookups = NULL;
}

static const struct world_ops ops = {
    .now = read_monotonic,
    .processor = read_processor,
    .wall = read_wall,
    .recent = read_recent,
    .random = draw_random,
    .port_open = uv_port_open,
    .streams = &uv_stream_ops,
    .work = give_work,
    .take_back = take_work_back,
    .lookup = begin_lookup,
    .lookup_forget = forget_lookup,
};

struct uv_loop_s *uv_world_loop(struct world *w)
{
    return &uv_world_of(w)->loop;
}

/* libuv ends the process where it has no memory to grow its table of descriptors, and no
 * descriptors for its first pipe: with a message at least, and as a failure, not as a crash. */
static void end_process(void)
{
    static const char text[] = "error: the event loop: out of memory or descriptors\n";
    ssize_t done = write(STDERR_FILENO, text, sizeof text - 1);
    (void)done;
    _exit(1);
}

static void on_abort(int number)
{
    (void)number;
    end_process();
}

static void *grow_or_end(void *at, size_t size)
{
    void *grown = realloc(at, size);
    if (grown == NULL && size > 0)
        end_process();
    return grown;
}

static int init_loop(uv_loop_t *loop)
{
    struct sigaction before, mine = {.sa_handler = on_abort};
    (void)uv_replace_allocator(malloc, grow_or_end, calloc, free);
    sigaction(SIGABRT, &mine, &before);
    int r = uv_loop_init(loop);
    sigaction(SIGABRT, &before, NULL);
    return r;
}

int uv_world_open(struct world **out)
{
    struct uv_world *u = calloc(1, sizeof *u);
    if (u == NULL)
        return HELIO_ENOMEM;
    world_init(&u->world, &ops, false);
    u->armed = TICK_NEVER;
    u->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int r = u->timer_fd < 0 ? -errno : init_loop(&u->loop); /* libuv's errors are -errno */
    if (r == 0) {
        r = uv_poll_init(&u->loop, &u->timer, u->timer_fd);
        if (r != 0)
            (void)uv_loop_close(&u->loop);
    }
    if (r != 0) {
        if (u->timer_fd >= 0)
            close(u->timer_fd);
        free(u);
        return helio_from_errno(-r);
    }
    uv_idle_init(&u->loop, &u->idle);
    uv_prepare_init(&u->loop, &u->prepare);
    uv_check_init(&u->loop, &u->check);
    uv_loop_set_data(&u->loop, &u->readers);
    u->timer.data = u->idle.data = u->prepare.data = u->check.data = u;
    r = uv_poll_start(&u->timer, UV_READABLE, on_timer);
    assert(r == 0); /* the descriptor was good for uv_poll_init */
    uv_prepare_start(&u->prepare, on_prepare);
    uv_check_start(&u->check, on_check);
    *out = &u->world;
    return 0;
}

static void close_own(struct uv_world *u)
{
    uv_handle_t *own[] = {(uv_handle_t *)&u->timer, (uv_handle_t *)&u->idle,
                          (uv_handle_t *)&u->prepare, (uv_handle_t *)&u->check};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        uv_close(own[i], NULL);
}

void uv_world_run(struct world *w)
{
    struct uv_world *u = uv_world_of(w);
    uv_run(&u->loop, UV_RUN_DEFAULT);
    u->recent = (struct recent){0};
    if (!u->ended || uv_is_closing((uv_handle_t *)&u->timer))
        return;
    while (world_due(w) == 0) { /* a handle that closed has set it */
        uv_idle_start(&u->idle, on_idle);
        uv_run(&u->loop, UV_RUN_DEFAULT);
    }
    close_own(u);
    uv_run(&u->loop, UV_RUN_DEFAULT);
}

void uv_world_end(struct world *w)
{
    struct uv_world *u = uv_world_of(w);
    u->ended = true;
    end_writers(u);
    end_pool(u);
    end_lookups(u);
    uv_unref((uv_handle_t *)&u->timer);
    uv_unref((uv_handle_t *)&u->prepare);
    uv_unref((uv_handle_t *)&u->check);
}

int uv_world_free(struct world *w)
{
    if (w == NULL)
        return 0;
    struct uv_world *u = uv_world_of(w);
    int r = uv_loop_close(&u->loop);
    close(u->timer_fd);
    free(u);
    return helio_from_errno(-r);
}
