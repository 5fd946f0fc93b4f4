/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: the interface is not there any more, or has no multicast. */
#include "os/net/multicast.h"

#include <errno.h>
#include <net/if.h>
#include <sys/socket.h>

#include "base/err.h"

unsigned multicast_interface(const char *name)
{
    return if_nametoindex(name);
}

static int set_option(int fd, int level, int name, const void *value, socklen_t len)
{
    return setsockopt(fd, level, name, value, len) == 0 ? 0 : helio_from_errno(errno);
}

int multicast_join(int fd, const struct address *group, unsigned interface)
{
    if (group->sa.sa_family == AF_INET6) {
        const struct ipv6_mreq m = {.ipv6mr_multiaddr = group->v6.sin6_addr,
                                    .ipv6mr_interface = interface};
        return set_option(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &m, sizeof m);
    }
    const struct ip_mreqn m = {.imr_multiaddr = group->v4.sin_addr, .imr_ifindex = (int)interface};
    const int all = 0; /* nor what other programs joined at other interfaces */
    const int err = set_option(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof m);
    return err < 0 ? err : set_option(fd, IPPROTO_IP, IP_MULTICAST_ALL, &all, sizeof all);
}

int multicast_send_by(int fd, bool six, unsigned interface)
{
    const int hops = 1, loop = 0, index = (int)interface;
    if (six) {
        int err = set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof index);
        if (err == 0)
            err = set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops);
        return err == 0 ? set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &loop, sizeof loop)
                        : err;
    }
    const struct ip_mreqn m = {.imr_ifindex = index};
    int err = set_option(fd, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof m);
    if (err == 0)
        err = set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof hops);
    return err == 0 ? set_option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, sizeof loop) : err;
}
