/* SPDX-License-Identifier: Apache-2.0 */
/* Streams whose peers send more than is read in a round of the loop share the round. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "os/net/address.h"
#include "os/uv_world.h"
#include "tests/unit/suite.h"

#define STREAMS_MAX 32
#define ROUND ((size_t)256 << 10) /* octets of all */
#define LEAST ((size_t)16 << 10)  /* of one */
#define ROUNDS 500

struct rig {
    struct world *world;
    struct stream_listener *listener;
    struct round_end end;
    struct reader {
        struct rig *rig;
        struct stream *stream;
        size_t come; /* in this round */
    } readers[STREAMS_MAX];
    size_t streams, wanted, share;
    size_t rounds, together; /* together: rounds in which all had more than their share */
    uint8_t room[2 * ROUND];
};

static uint8_t *space(void *context, size_t *len)
{
    struct reader *reader = context;
    *len = sizeof reader->rig->room;
    return reader->rig->room;
}

static void fed(void *context, size_t len)
{
    ((struct reader *)context)->come += len;
}

static void writable(void *context)
{
    (void)context;
}

static void ended(void *context, int error)
{
    (void)context;
    ck_abort_msg("a stream ended: %d", error);
}

static const struct stream_user user = {space, fed, writable, ended};

static void accepted(void *context, struct stream *s)
{
    struct rig *r = context;
    ck_assert_uint_lt(r->streams, r->wanted);
    struct reader *reader = &r->readers[r->streams++];
    *reader = (struct reader){.rig = r, .stream = s};
    stream_use(s, &user, reader);
    stream_read(s, true);
}

static void finish(struct rig *r)
{
    for (size_t i = 0; i < r->streams; i++)
        stream_close(r->readers[i].stream);
    stream_unlisten(r->listener);
    world_detach(&r->end);
    uv_world_end(r->world);
}

/* Nobody reads more than the share, and that follows from how many read all of theirs. */
static bool check_round(void *context)
{
    struct rig *r = context;
    size_t all = 0, full = 0;
    for (size_t i = 0; i < r->streams; i++) {
        ck_assert_uint_le(r->readers[i].come, r->share);
        all += r->readers[i].come;
        full += r->readers[i].come == r->share;
        r->readers[i].come = 0;
    }
    if (all == 0)
        return false; /* the loop slept, or only looked at its clock */
    r->share = ROUND / (full == 0 ? 1 : full);
    r->share = r->share < LEAST ? LEAST : r->share;
    r->together += full == r->wanted;
    if (++r->rounds >= ROUNDS && r->together >= 20)
        finish(r);
    return false;
}

/* The peers: all in one process, that writes whatever the sockets take. */
static pid_t start_peers(const struct address *to, size_t n)
{
    static const uint8_t data[65536];
    struct pollfd sockets[STREAMS_MAX];
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child > 0)
        return child;
    for (size_t i = 0; i < n; i++) {
        sockets[i] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                                     .events = POLLOUT};
        if (connect(sockets[i].fd, &to->sa, address_len(to)) != 0)
            _exit(1);
    }
    while (poll(sockets, n, -1) > 0)
        for (size_t i = 0; i < n; i++)
            if ((sockets[i].revents & POLLOUT) != 0)
                (void)send(sockets[i].fd, data, sizeof data, MSG_DONTWAIT | MSG_NOSIGNAL);
    _exit(1);
}

static void read_all(size_t n)
{
    struct rig *r = calloc(1, sizeof *r);
    struct address a = {0};
    int rc = -1, status;
    *r = (struct rig){.wanted = n, .share = ROUND, .end.context = r, .end.run = check_round};
    ck_assert_int_eq(uv_world_open(&r->world), 0);
    for (uint16_t port = 40000; rc < 0 && port < 60000; port++) {
        ck_assert_int_eq(address_of("127.0.0.1", port, &a), 0);
        rc = stream_listen(r->world, &r->listener, &(struct stream_place){.address = &a}, accepted,
                           r);
    }
    ck_assert_int_eq(rc, 0);
    world_attach(r->world, &r->end);
    const pid_t peers = start_peers(&a, n);
    uv_world_run(r->world);
    ck_assert_int_eq(uv_world_free(r->world), 0);
    kill(peers, SIGKILL);
    ck_assert_int_eq(waitpid(peers, &status, 0), peers);
    ck_assert(WIFSIGNALED(status));
    ck_assert_uint_ge(r->together, 20);
    free(r);
}

START_TEST(one_has_the_round)
{
    read_all(1);
}
END_TEST

START_TEST(four_share_it)
{
    read_all(4);
}
END_TEST

/* Not fewer octets than the least share, though all of them together take longer. */
START_TEST(many_have_the_least)
{
    read_all(STREAMS_MAX);
}
END_TEST

SUITE(os_shares, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, one_has_the_round);
    tcase_add_test(t, four_share_it);
    tcase_add_test(t, many_have_the_least);
}
