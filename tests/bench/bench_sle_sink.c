/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users of RAF that bind, start, and then discard in the kernel what comes (MSG_TRUNC): so nearly
 * all processor time is the provider's. usage: bench_sle_sink PORT none|all PASSWORD INSTANCES
 * SECONDS
 *
 * User BENCH-U of provider BENCH-P, whose instances are sagr=B.spack=BENCH.rsl-fg=1.raf=onlcN.
 * PASSWORD, in hexadecimal, is that of both. Prints `started` when all have started.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cla/framed/sle_digest.h"
#include "sle/user.h"

#define USERS_MAX 64
#define LOW_WATER 1000000 /* octets that come before it is woken */

static uint64_t read_clock(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * TICK_S + (uint64_t)t.tv_nsec;
}

static tick now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int connect_to(const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    const int room = 8000000;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        fail("socket");
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        fail("connect");
    return fd;
}

static struct sle *make_engine(bool all, const char *password)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        fail("getrandom");
    struct sle_config c = {.self = {.id = "BENCH-U"},
                           .hash = sle_digest,
                           .hash_context = sle_digests_new(),
                           .seed = seed,
                           .unix_ns = read_clock(CLOCK_REALTIME) - now_ns()};
    struct sle_peer p = {
        .who = {.id = "BENCH-P"}, .level = all ? SLE_AUTH_ALL : SLE_AUTH_NONE, .hash = SLE_SHA256};
    if (!sle_password_read(password, &c.self) || !sle_password_read(password, &p.who))
        fail("the password");
    struct sle *s = sle_new(&c);
    if (s == NULL || sle_peer_set(s, &p) < 0)
        fail("the engine");
    return s;
}

static void write_output(struct sle_link *l, int fd)
{
    struct slice part;
    while (sle_link_output(l, &part, 1, now_ns()) > 0) {
        ssize_t n = write(fd, part.data, part.len);
        if (n <= 0)
            fail("write");
        sle_link_wrote(l, (size_t)n, now_ns());
    }
}

static void read_input(struct sle_link *l, int fd)
{
    size_t room;
    uint8_t *at = sle_link_space(l, &room);
    ssize_t n = at == NULL ? 0 : read(fd, at, room);
    if (n <= 0)
        fail("read");
    sle_link_fed(l, (size_t)n, now_ns());
}

/* Returns the connection when frames come. */
static int start_one(const char *port, bool all, const char *password, unsigned number)
{
    char id[128];
    struct sle *s = make_engine(all, password);
    struct sle_instance *i;
    snprintf(id, sizeof id, "sagr=B.spack=BENCH.rsl-fg=1.raf=onlc%u", number);
    struct sle_user_config c = {.id = id, .responder = "BENCH-P", .responder_port = "PORT1"};
    if (sle_user_add(s, &c, &i) < 0)
        fail("the instance");
    const struct sle_start start = {.quality = SLE_ALL_FRAMES};
    int fd = connect_to(port);
    struct sle_link *l = sle_connect(i, now_ns());
    for (struct sle_notice n = {.kind = SLE_OVER}; n.kind != SLE_STARTED;) {
        write_output(l, fd);
        if (!sle_link_poll(l, &n, now_ns())) {
            read_input(l, fd);
            continue;
        }
        if (n.kind == SLE_OVER || (n.kind == SLE_STARTED && n.diag != SLE_OK)) {
            fprintf(stderr, "bench_sle_sink: %s: refused\n", id);
            exit(1);
        }
        if (n.kind == SLE_BOUND && sle_user_start(i, &start, now_ns()) < 0)
            fail("START");
    }
    return fd; /* the engine stays, and is not asked any more */
}

int main(int argc, char **argv)
{
    struct pollfd fds[USERS_MAX];
    const int low = LOW_WATER;
    if (argc != 6 || atoi(argv[4]) < 1 || atoi(argv[4]) > USERS_MAX) {
        fprintf(stderr, "usage: bench_sle_sink PORT none|all PASSWORD INSTANCES SECONDS\n");
        return 2;
    }
    const nfds_t users = (nfds_t)atoi(argv[4]);
    for (nfds_t k = 0; k < users; k++) {
        fds[k] = (struct pollfd){.events = POLLIN};
        fds[k].fd = start_one(argv[1], strcmp(argv[2], "all") == 0, argv[3], (unsigned)k + 1);
        (void)setsockopt(fds[k].fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low);
    }
    puts("started");
    fflush(stdout);
    const tick end = now_ns() + (tick)atoi(argv[5]) * TICK_S;
    while (now_ns() < end) {
        if (poll(fds, users, 100) < 0)
            fail("poll");
        for (nfds_t k = 0; k < users; k++)
            if (fds[k].revents != 0 &&
                recv(fds[k].fd, NULL, 1 << 30, MSG_TRUNC | MSG_DONTWAIT) == 0)
                fail("the end came");
    }
    return 0;
}
