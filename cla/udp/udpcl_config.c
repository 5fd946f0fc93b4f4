/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: addresses, and a datagram limit that is too short for a bundle. */
#include "cla/udp/udpcl_config.h"

#include <stdio.h>

#include "os/net/udp_io.h"

#define AT(field) offsetof(struct udpcl_config, field)

/* clang-format off */
const struct conf_option udpcl_options[] = {
    UDP_KEYS_ADDRESSES(AT(udp), UDPCL_PORT),
    PACE_KEYS_RATE(AT(pace)),
    {"mtu", OPTION_SIZE, AT(mtu), "1500B", 576, 65535, NULL,
     "longest IP packet on the path to the peer, with headers; a longer bundle is fragmented"},
    {"window", OPTION_COUNT, AT(window), "64", 1, 65536, NULL,
     "most bundles queued for the link's rate; others wait at the node"},
    {"any_port", OPTION_BOOL, AT(any_port), "yes", 0, 0, NULL,
     "the peer is identified by its host with any port; no: also by the port of remote"},
    {"accept_unknown", OPTION_BOOL, AT(accept_unknown), "no", 0, 0, NULL,
     "accept bundles of senders that no link of the local address has as remote; no: they are refused"},
    PACE_KEYS_BURST(AT(pace)),
    UDP_KEYS_SOCKET(AT(udp)),
    {"state", OPTION_CHOICE, AT(state), "up", 0, 0, "up|down",
     "state of the link at the start"},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
/* clang-format on */

uint64_t udpcl_bundle_max(const struct udpcl_config *k)
{
    uint64_t heads = k->udp.local.sa.sa_family == AF_INET6 ? 48 : 28;
    uint64_t longest = k->mtu > heads ? k->mtu - heads : 0;
    return longest < UDP_DATAGRAM_MAX ? longest : UDP_DATAGRAM_MAX;
}

int udpcl_check(const void *config, const char **key, char *why, size_t why_cap)
{
    const struct udpcl_config *k = config;
    return udp_keys_check(&k->udp, key, why, why_cap);
}

void udpcl_addresses(const void *config, struct cla_addresses *out)
{
    const struct udpcl_config *k = config;
    out->socket = CLA_SOCKET_UDP;
    out->key = "local";
    out->local = k->udp.local;
    out->remote = k->udp.remote.address;
}

int udpcl_conflict(const struct cla_named *config, const struct cla_named *other, const char **key,
                   char *why, size_t why_cap)
{
    const struct udp_keys *k = &((const struct udpcl_config *)config->config)->udp;
    const struct udp_keys *o = &((const struct udpcl_config *)other->config)->udp;
    if (address_port(&k->local) == 0 || !address_equal(&k->local, &o->local) ||
        !host_address_equal(&k->remote, &o->remote))
        return 0;
    *key = "remote";
    snprintf(why, why_cap, "remote and local are the same; write another remote, or another local");
    return HELIO_EINVAL;
}
