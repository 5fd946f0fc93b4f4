/* SPDX-License-Identifier: Apache-2.0 */
/* The world of helio-perf: clocks, signals, the node's socket. The happy path: the first connection
 * tells the node's name, the endpoint follows from it, both connections register it with one
 * secret. What can go wrong: the node is not there (yet). */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "tools/perf/perf_link.h"

#define HANDSHAKE_MS 10000
#define WAIT_PAUSE (50 * TICK_MS)
#define WAIT_TOLD (300 * TICK_MS)

static tick clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (tick)t.tv_sec * TICK_S + (tick)t.tv_nsec;
}

tick perf_now(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

tick perf_realtime(const struct perf_link *l)
{
    (void)l;
    return clock_of(CLOCK_REALTIME);
}

static int open_one(struct perf_link *l, bool subscriber, struct aap2_client **out)
{
    int rc = aap2_client_open(out, l->options->socket, HANDSHAKE_MS, l->why);
    if (rc != 0)
        return rc;
    const char *node = aap2_client_node(*out);
    rc = perf_link_endpoint(l, node);
    struct aap2_registration r = {.subscriber = subscriber,
                                  .endpoint = l->endpoint,
                                  .secret = l->secret,
                                  .window = subscriber ? l->window : 0,
                                  .payload_max = l->payload_max};
    if (rc != 0)
        snprintf(l->why, sizeof l->why, "the node's name is strange: %.100s", node);
    else
        rc = aap2_client_register(*out, &r, HANDSHAKE_MS, l->why);
    if (rc == HELIO_EEXIST)
        snprintf(l->why, sizeof l->why,
                 "another application has %.100s; stop it or choose --service", l->endpoint);
    if (rc != 0) {
        aap2_client_close(*out);
        *out = NULL;
    }
    return rc;
}

int perf_link_open(struct perf_link *l)
{
    /* the subscriber last: from then on deliveries come, which nobody reads while we still open */
    int rc = open_one(l, false, &l->tx);
    if (rc != 0)
        return rc;
    rc = open_one(l, true, &l->rx);
    if (rc != 0) {
        aap2_client_close(l->tx);
        l->tx = NULL;
    }
    return rc;
}

int perf_link_start(struct perf_link *l, int signals)
{
    tick now = perf_now(), told_at = now + WAIT_TOLD, until = now + PERF_LINK_WAIT;
    int rc;
    while ((rc = perf_link_open(l)) == HELIO_EIO && (now = perf_now()) < until) {
        if (now >= told_at) {
            fprintf(stderr, "helio-perf: %s; waiting up to 3 s for the node\n", l->why);
            told_at = TICK_NEVER;
        }
        if (perf_wait(l, signals, false, now + WAIT_PAUSE)) {
            snprintf(l->why, sizeof l->why, "stopped while waiting for the node");
            return rc;
        }
    }
    if (rc != HELIO_EIO || l->options->reconnect == 0)
        return rc;
    perf_link_close(l, now);
    l->retry_at = now + l->pause;
    return 0;
}

int perf_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

bool perf_wait(const struct perf_link *l, int signals, bool read_rx, tick until)
{
    struct pollfd p[3] = {{.fd = signals, .events = POLLIN}, {.fd = -1}, {.fd = -1}};
    if (l->tx != NULL) {
        p[1].fd = aap2_client_fd(l->tx);
        p[1].events = (short)(POLLIN | (aap2_client_queued(l->tx) ? POLLOUT : 0));
        p[2].fd = aap2_client_fd(l->rx);
        p[2].events = (short)((read_rx ? POLLIN : 0) | (aap2_client_queued(l->rx) ? POLLOUT : 0));
    }
    tick now = perf_now();
    tick left = until > now ? until - now : 0;
    left = tick_min(left, 3600 * TICK_S);
    struct timespec t = {.tv_sec = (time_t)(left / TICK_S), .tv_nsec = (long)(left % TICK_S)};
    if (ppoll(p, 3, &t, NULL) <= 0 || (p[0].revents & POLLIN) == 0)
        return false;
    struct signalfd_siginfo info;
    return read(signals, &info, sizeof info) == sizeof info;
}
