/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What wakes a hub up in a daemon: the socket is ready, the timer descriptor has run out, or there
 * is work left over (idle). When what came wanted no answer, was little and came soon after what
 * came before, the socket is not
 * watched for a while (`gather`): a wake-up for each datagram of a paced sender costs many times
 * what the datagram does. What can go wrong at the beginning: the address cannot be bound, or
 * descriptors are out. The hub's memory goes when libuv has let go of all handles.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include "cla/ltp/ltp_link.h"

/* More than this in one reading is not little: 2.5 Gbit/s, gathered for 100 us. */
#define GATHER_BYTES 32768

struct hub_os {
    struct hub *hub;
    int timer_fd;
    uv_loop_t *loop;
    uv_poll_t socket_poll, timer_poll;
    uv_idle_t idle;   /* active: the pump has work that needs no event to go on */
    unsigned handles; /* open ones of the three */
    tick armed;       /* what the timer descriptor is set to; TICK_NEVER: not */
    tick gather;      /* as configured */
    tick gathering; /* the socket is read then and not watched before; TICK_NEVER: it is watched */
    tick came;      /* when something was read last */
    bool little;    /* in this turn datagrams came, but not many, and soon after others */
    int events;     /* what socket_poll waits for */
};

tick hub_os_clock(const struct hub_os *os)
{
    (void)os;
    return uv_hrtime();
}

/* Reads the socket when it is ready, or when what gathered there has waited for long enough. */
static void begin_turn(struct hub_os *os, bool readable)
{
    struct hub *h = os->hub;
    hub_turn_begin(h);
    os->little = false;
    if (!readable && os->gathering > h->now)
        return;
    uint64_t before = udp_counters(h->io)->rx_bytes;
    os->gathering = TICK_NEVER;
    if (!hub_input(h))
        return;
    bool often = h->now - os->came <= 4 * os->gather;
    os->little = often && udp_counters(h->io)->rx_bytes - before < GATHER_BYTES;
    os->came = h->now;
}

static void on_idle(uv_idle_t *handle)
{
    struct hub_os *os = handle->data;
    uv_idle_stop(handle); /* the pump starts it again when work is left */
    begin_turn(os, false);
    hub_turn_end(os->hub);
}

static void on_timer(uv_poll_t *handle, int status, int events)
{
    struct hub_os *os = handle->data;
    (void)status;
    (void)events;
    uint64_t count;
    if (read(os->timer_fd, &count, sizeof count) == sizeof count)
        os->armed = TICK_NEVER;
    begin_turn(os, false);
    hub_turn_end(os->hub);
}

static void on_socket(uv_poll_t *handle, int status, int events)
{
    struct hub_os *os = handle->data;
    struct udp_io *io = os->hub->io;
    if (status < 0) { /* libuv has stopped the handle: a pending socket error, cleared by reading */
        int error;
        socklen_t len = sizeof error;
        (void)getsockopt(udp_fd(io), SOL_SOCKET, SO_ERROR, &error, &len);
        os->events = 0;
    }
    begin_turn(os, events & UV_READABLE);
    if (events & UV_WRITABLE && udp_pending(io))
        (void)udp_flush(io);
    hub_turn_end(os->hub);
}

void hub_os_watch(struct hub_os *os, bool writable)
{
    int events = (os->gathering == TICK_NEVER ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0);
    if (events == os->events)
        return;
    os->events = events;
    int r = uv_poll_start(&os->socket_poll, events, on_socket);
    assert(r == 0);
    (void)r;
}

void hub_os_again(struct hub_os *os)
{
    uv_idle_start(&os->idle, on_idle);
}

/* A timer that is set too early costs one turn and no call now: it is left. */
void hub_os_arm(struct hub_os *os, tick wake)
{
    if (os->little && os->hub->quiet && os->gather > 0)
        os->gathering = tick_add(os->hub->now, os->gather);
    wake = tick_min(wake, os->gathering);
    if (os->armed <= wake)
        return;
    struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(wake / TICK_S), .tv_nsec = (long)(wake % TICK_S)}};
    int r = timerfd_settime(os->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    assert(r == 0);
    (void)r;
    os->armed = wake;
}

static void os_free(struct hub_os *os)
{
    struct hub *h = os->hub;
    if (os->timer_fd >= 0)
        close(os->timer_fd);
    free(os);
    hub_free(h);
}

static void on_closed(uv_handle_t *handle)
{
    struct hub_os *os = handle->data;
    if (--os->handles == 0)
        os_free(os);
}

/* Handles that were not yet initialised are not counted; they come in the order of `all`. */
void hub_os_close(struct hub_os *os)
{
    uv_handle_t *all[] = {(uv_handle_t *)&os->idle, (uv_handle_t *)&os->timer_poll,
                          (uv_handle_t *)&os->socket_poll};
    unsigned open = os->handles;
    assert(open <= sizeof all / sizeof *all);
    if (open == 0)
        os_free(os);
    for (unsigned i = 0; i < open; i++)
        uv_close(all[i], on_closed);
}

static int open_handles(struct hub_os *os)
{
    int r = uv_idle_init(os->loop, &os->idle);
    if (r != 0)
        return r;
    os->idle.data = os;
    os->handles = 1;
    r = uv_poll_init(os->loop, &os->timer_poll, os->timer_fd);
    if (r != 0)
        return r;
    os->timer_poll.data = os;
    os->handles = 2;
    r = uv_poll_init(os->loop, &os->socket_poll, udp_fd(os->hub->io));
    if (r != 0)
        return r;
    os->socket_poll.data = os;
    os->handles = 3;
    hub_os_watch(os, false);
    return uv_poll_start(&os->timer_poll, UV_READABLE, on_timer);
}

int hub_os_open(struct hub *h, const struct link *l, char *why, size_t why_cap)
{
    struct hub_os *os = calloc(1, sizeof *os);
    if (os == NULL)
        return HELIO_ENOMEM;
    *os = (struct hub_os){.hub = h,
                          .timer_fd = -1,
                          .loop = l->env.loop,
                          .armed = TICK_NEVER,
                          .gather = l->config->gather,
                          .gathering = TICK_NEVER};
    h->os = os;
    char text[ADDRESS_TEXT_MAX];
    int r = udp_open(&h->io, &h->local, l->config->udp.batch);
    if (r != 0) {
        snprintf(why, why_cap, "local: cannot bind %s: %s", address_write(&h->local, text),
                 strerror(-r));
        return HELIO_EIO;
    }
    os->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    r = os->timer_fd < 0 ? -errno : open_handles(os);
    if (r != 0) {
        snprintf(why, why_cap, "local: cannot wait for events: %s", strerror(-r));
        return HELIO_EIO;
    }
    return 0;
}
