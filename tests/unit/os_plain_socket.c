/* SPDX-License-Identifier: Apache-2.0 */
/* Plain sockets: a port that nobody has, a server that comes and goes. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/net/plain_socket.h"
#include "tests/unit/suite.h"

static struct address local(uint16_t port)
{
    struct address a;
    ck_assert_int_eq(address_of("127.0.0.1", port, &a), 0);
    return a;
}

static int listen_at(const struct address *a)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    ck_assert_int_eq(bind(fd, &a->sa, address_len(a)), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    return fd;
}

START_TEST(streams)
{
    const uint16_t port = plain_socket_free_port();
    ck_assert_uint_gt(port, 0);
    const struct address a = local(port);
    errno = 0;
    ck_assert_int_eq(plain_socket_connect(&a, false), -1);
    ck_assert_int_eq(errno, ECONNREFUSED);
    const tick before = clock_now();
    ck_assert(!plain_socket_served(&a, 30 * TICK_MS));
    ck_assert_uint_ge(clock_now() - before, 30 * TICK_MS);
    const int server = listen_at(&a);
    ck_assert(plain_socket_served(&a, 0));
    const int fd = plain_socket_connect(&a, false);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
    ck_assert_int_eq(close(server), 0);
}
END_TEST

START_TEST(datagrams)
{
    struct address a = local(0);
    char got[8];
    const int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(server, 0);
    ck_assert_int_eq(bind(server, &a.sa, address_len(&a)), 0);
    ck_assert_int_eq(address_bound(server, &a), 0);
    const int fd = plain_socket_connect(&a, true);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "frame", 5), 5);
    ck_assert_int_eq(recv(server, got, sizeof got, 0), 5);
    ck_assert_int_eq(close(fd), 0);
    ck_assert_int_eq(close(server), 0);
}
END_TEST

SUITE(os_plain_socket, t)
{
    tcase_add_test(t, streams);
    tcase_add_test(t, datagrams);
}
