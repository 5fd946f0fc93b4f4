/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as the kernel wants them, without a socket. What can go wrong: a text that is no
 * numeric address, bytes that are no address. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "os/udp_io.h"

int udp_peer_init(struct udp_peer *p, const struct cla_address *address)
{
    memset(p, 0, sizeof *p);
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&p->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&p->address;
    if (inet_pton(AF_INET, address->host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(address->port);
        p->address_len = sizeof *v4;
        return 0;
    }
    if (inet_pton(AF_INET6, address->host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(address->port);
        p->address_len = sizeof *v6;
        return 0;
    }
    return -EINVAL;
}

int udp_peer_from(struct udp_peer *p, struct slice address)
{
    *p = (struct udp_peer){.address_len = (socklen_t)address.len};
    if (address.len < sizeof(struct sockaddr_in) || address.len > sizeof(struct sockaddr_in6))
        return -EINVAL;
    memcpy(&p->address, address.data, address.len);
    return 0;
}
