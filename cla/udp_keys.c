/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a missing address, or two of different families. */
#include "cla/udp_keys.h"

#include <stdio.h>

#include "base/err.h"

#define BUFFER_LEAST (UINT64_C(4) << 20)
#define BUFFER_MOST (UINT64_C(64) << 20)

static int ip_version(const struct address *a)
{
    return a->sa.sa_family == AF_INET ? 4 : 6;
}

int udp_keys_check(const struct udp_keys *k, const char **key, char *why, size_t why_cap)
{
    const char *wrong = NULL;
    if (!address_given(&k->local)) {
        wrong = "local";
        snprintf(why, why_cap, "is not given; write a numeric address such as 127.0.0.1:1113");
    } else if (!host_address_given(&k->remote) || host_address_port(&k->remote) == 0) {
        wrong = "remote";
        snprintf(why, why_cap, "is not given; write an address or a host name, and a port above 0");
    } else if (host_address_is_name(&k->remote)) {
        return 0; /* of its addresses those count that are of the kind of local */
    } else if (ip_version(&k->local) != ip_version(&k->remote.address)) {
        wrong = "remote";
        snprintf(why, why_cap, "local is IPv%d and remote IPv%d; both must be of one kind",
                 ip_version(&k->local), ip_version(&k->remote.address));
    } else if (address_equal(&k->local, &k->remote.address)) {
        wrong = "remote";
        snprintf(why, why_cap, "is the same as local: the link would send to itself");
    }
    if (wrong == NULL)
        return 0;
    *key = wrong;
    return HELIO_EINVAL;
}

/* A buffer bridges the time in which the other process or ours does not run: that is 50 ms on a
 * busy machine, whatever the distance of the peer. */
uint64_t udp_keys_buffer(const struct udp_keys *k, const struct pace_keys *pace, tick stall,
                         uint64_t unpaced)
{
    if (k->socket_buffer != 0)
        return k->socket_buffer;
    stall = stall < 50 * TICK_MS ? 50 * TICK_MS : stall > 500 * TICK_MS ? 500 * TICK_MS : stall;
    uint64_t want = pace->rate != 0 ? pace->rate / 8 / 1000 * (stall / TICK_MS) : unpaced;
    return want < BUFFER_LEAST ? BUFFER_LEAST : want > BUFFER_MOST ? BUFFER_MOST : want;
}
