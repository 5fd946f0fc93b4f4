/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One timer descriptor for all alarms. It is set once before the loop sleeps, and only when an
 * alarm is earlier than what it is set to: one that is set too early costs one wake-up and no call
 * now. Alarms that are due soon go off from the idle handler, when the loop has looked at all
 * descriptors. What can go wrong at the beginning: descriptors or memory are out.
 */
#include "os/uv_world.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/uv_world_private.h"

struct uv_world {
    struct world world;
    uv_loop_t loop;
    int timer_fd;
    uv_poll_t timer;
    uv_idle_t idle; /* active: an alarm is due soon */
    uv_prepare_t prepare;
    uv_check_t check;
    tick armed; /* what the timer descriptor is set to; TICK_NEVER: not */
};

static struct uv_world *uv_world_of(const struct world *w)
{
    return container_of((struct world *)(uintptr_t)w, struct uv_world, world);
}

static tick read_monotonic(const struct world *w)
{
    (void)w;
    return clock_now();
}

static uint64_t read_wall(const struct world *w)
{
    (void)w;
    return clock_wall();
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
    world_fire(&u->world, 0, UINT_MAX);
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
}

static void on_check(uv_check_t *handle)
{
    struct uv_world *u = handle->data;
    world_end_round(&u->world);
}

static const struct world_ops ops = {
    .now = read_monotonic,
    .wall = read_wall,
    .random = draw_random,
    .port_open = uv_port_open,
    .streams = &uv_stream_ops,
};

struct uv_loop_s *uv_world_loop(struct world *w)
{
    return &uv_world_of(w)->loop;
}

int uv_world_open(struct world **out)
{
    struct uv_world *u = calloc(1, sizeof *u);
    if (u == NULL)
        return HELIO_ENOMEM;
    world_init(&u->world, &ops, false);
    u->armed = TICK_NEVER;
    u->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int r = u->timer_fd < 0 ? -errno : uv_loop_init(&u->loop); /* libuv's errors are -errno */
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
    u->timer.data = u->idle.data = u->prepare.data = u->check.data = u;
    r = uv_poll_start(&u->timer, UV_READABLE, on_timer);
    assert(r == 0); /* the descriptor was good for uv_poll_init */
    uv_prepare_start(&u->prepare, on_prepare);
    uv_check_start(&u->check, on_check);
    *out = &u->world;
    return 0;
}

void uv_world_run(struct world *w)
{
    uv_run(uv_world_loop(w), UV_RUN_DEFAULT);
}

void uv_world_end(struct world *w)
{
    struct uv_world *u = uv_world_of(w);
    uv_handle_t *own[] = {(uv_handle_t *)&u->timer, (uv_handle_t *)&u->idle,
                          (uv_handle_t *)&u->prepare, (uv_handle_t *)&u->check};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!uv_is_closing(own[i]))
            uv_close(own[i], NULL);
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
