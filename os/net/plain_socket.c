/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: nothing listens at the address, or the process has no descriptor left. */
#include "os/net/plain_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

#define AGAIN (10 * TICK_MS)

int plain_socket_connect(const struct address *to, bool datagrams)
{
    const int type = datagrams ? SOCK_DGRAM : SOCK_STREAM;
    const int fd = socket(to->sa.sa_family, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, &to->sa, address_len(to)) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

bool plain_socket_served(const struct address *at, tick time)
{
    const tick until = tick_add(clock_now(), time);
    do {
        const int fd = plain_socket_connect(at, false);
        if (fd >= 0) {
            close(fd);
            return true;
        }
        (void)clock_poll(NULL, 0, clock_now() + AGAIN);
    } while (clock_now() < until);
    return false;
}

uint16_t plain_socket_free_port(void)
{
    struct address a;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool good = fd >= 0 && address_of("127.0.0.1", 0, &a) == 0 &&
                      bind(fd, &a.sa, address_len(&a)) == 0 && address_bound(fd, &a) == 0;
    if (fd >= 0)
        close(fd);
    return good ? address_port(&a) : 0;
}
