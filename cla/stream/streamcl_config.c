/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a link that neither listens nor connects, or without a rule for accepted
 * connections. */
#include "cla/stream/streamcl_config.h"

#include <stdio.h>

#define AT(field) offsetof(struct streamcl_config, field)

/* clang-format off */
#define KEYS(port, keepalive_default, keepalive_help, idle_default)                                \
    {"remote", OPTION_HOST, AT(remote), "", port, 0, NULL,                                         \
     "address or host name, and port, to connect to and send bundles to; a name is looked up with each attempt; without it, the link only receives"}, \
    {"local", OPTION_ADDRESS, AT(local), "", port, 0, NULL,                                        \
     "address and port where peers connect and send bundles; links with the same one share it; without it, the link only sends"}, \
    {"source", OPTION_CHOICE, AT(source), "address", 0, 0, "address|any",                          \
     "which connections to local are accepted: address: those from the address of remote, from any port; any: from anywhere"}, \
    {"connect", OPTION_BOOL, AT(connect), "yes", 0, 0, NULL,                                       \
     "no: nothing is sent; remote only names whose connections are accepted"},                     \
    {"rate", OPTION_RATE, AT(pace.rate), "unlimited", 1, UINT64_C(1000000000000), "unlimited",     \
     "rate at which this side sends, in bits of the stream, without TCP and IP"},                  \
    PACE_KEYS_STREAM(AT(pace)),                                                                    \
    {"window", OPTION_COUNT, AT(window), "64", 1, 65536, NULL,                                     \
     "most bundles queued for the connection; others wait at the node"},                           \
    {"limits.window_bytes", OPTION_SIZE, AT(window_bytes), "64MiB", 1, UINT64_C(1) << 40, NULL,           \
     "most bytes of bundles queued for the connection; a single bundle may be longer"},            \
    {"limits.held_bytes", OPTION_SIZE, AT(held_bytes), "64MiB", 1, UINT64_C(1) << 40, NULL,               \
     "most bytes of received bundles queued for the store; above it, this side stops reading"},    \
    {"keepalive", OPTION_DURATION, AT(keepalive), keepalive_default, 0, 86400 * TICK_S, NULL,      \
     keepalive_help},                                                                              \
    {"timers.idle", OPTION_DURATION, AT(idle), idle_default, TICK_MS, 7 * 86400 * TICK_S, NULL,           \
     "a connection to local that brings nothing for this time is closed"},                         \
    {"timers.transfer_idle", OPTION_DURATION, AT(transfer_idle), "1min", TICK_MS, 86400 * TICK_S, NULL,   \
     "a connection whose bundle has not grown for this time is closed, and its memory is freed"},  \
    {"timers.timeout", OPTION_DURATION, AT(timeout), "30s", TICK_MS, 3600 * TICK_S, NULL,                 \
     "longest attempt to connect"},                                                                \
    {"timers.reconnect", OPTION_DURATION, AT(reconnect), "1s", 10 * TICK_MS, 3600 * TICK_S, NULL,         \
     "pause before the next attempt to connect; doubled after each failure"},                      \
    {"timers.reconnect_max", OPTION_DURATION, AT(reconnect_max), "1min", 10 * TICK_MS, 3600 * TICK_S, NULL, \
     "longest pause before an attempt to connect"},                                                \
    {"limits.connections", OPTION_COUNT, AT(connections), "256", 1, 65536, NULL,                          \
     "most connections to the local address; above it, one of the address with most is closed"},   \
    {"limits.connections_address", OPTION_COUNT, AT(connections_address), "64", 1, 65536, NULL,           \
     "most of these from one address (IPv6: from one /64)"},                                       \
    {"pacing.socket_buffer", OPTION_SIZE, AT(socket_buffer), "0", 0, 1 << 30, NULL,                       \
     "requested size of the socket buffers; 0: the kernel chooses"},                               \
    {"pacing.congestion", OPTION_TEXT, AT(congestion), "", 0, 0, NULL,                                    \
     "TCP's congestion control for sending (cubic, bbr, reno, …); default: the system's"},         \
    {"state", OPTION_CHOICE, AT(state), "up", 0, 0, "up|down",                                     \
     "state of the link at the start"},                                                            \
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL}

const struct conf_option streamcl_stcp_options[] = {
    KEYS(STREAMCL_STCP_PORT, "15s", "time without a bundle after which a length of 0 is sent; 0: never", "1min")};
const struct conf_option streamcl_mtcp_options[] = {
    KEYS(0, "0", "time without a bundle after which an empty byte string is sent; 0: never", "1h")};
/* clang-format on */

static int blame(const char **key, const char *which, char *why, size_t cap, const char *text)
{
    *key = which;
    snprintf(why, cap, "%s", text);
    return HELIO_EINVAL;
}

bool streamcl_connects(const struct streamcl_config *k)
{
    return k->connect && host_address_given(&k->remote);
}

static bool same_remote(const struct streamcl_config *a, const struct streamcl_config *b)
{
    return host_address_given(&a->remote) && host_address_given(&b->remote) &&
           host_address_same_host(&a->remote, &b->remote);
}

bool streamcl_ambiguous(const struct streamcl_config *a, const struct streamcl_config *b)
{
    return same_remote(a, b) || (a->source == STREAMCL_FROM_ANY && b->source == STREAMCL_FROM_ANY);
}

void streamcl_addresses(const void *config, struct cla_addresses *out)
{
    const struct streamcl_config *k = config;
    out->socket = CLA_SOCKET_TCP;
    out->key = "local";
    out->local = k->local;
    if (k->connect)
        out->remote = k->remote.address;
}

int streamcl_config_conflict(const struct cla_named *config, const struct cla_named *other,
                             const char **key, char *why, size_t why_cap)
{
    const struct streamcl_config *k = config->config, *o = other->config;
    if (!address_given(&k->local) || address_port(&k->local) == 0 ||
        !address_equal(&k->local, &o->local))
        return 0;
    if (k->source == STREAMCL_FROM_ANY && o->source == STREAMCL_FROM_ANY)
        return blame(key, "source", why, why_cap,
                     "both are any, and local is the same; write source: address at one of "
                     "them, or another local");
    if (same_remote(k, o))
        return blame(key, "remote", why, why_cap,
                     "the same host, and the same local: it is not clear to which link its "
                     "connections belong; write another local");
    return 0;
}

int streamcl_config_check(const void *config, const char **key, char *why, size_t why_cap)
{
    const struct streamcl_config *k = config;
    const bool listens = address_given(&k->local), remote = host_address_given(&k->remote);
    if (!listens && !remote)
        return blame(key, "remote", why, why_cap,
                     "is not given, nor is local; write where to send to, or where peers connect, "
                     "or both");
    if (remote && k->connect && host_address_port(&k->remote) == 0)
        return blame(key, "remote", why, why_cap, "has port 0; write the port of the peer");
    if (!listens && !k->connect)
        return blame(key, "connect", why, why_cap,
                     "is no, and local is not given: the link would do nothing; write local");
    if (!remote && k->source == STREAMCL_FROM_ADDRESS)
        return blame(key, "source", why, why_cap,
                     "is address, and remote is not given: nothing says whose connections are "
                     "accepted; write remote with connect: no, or source: any");
    if (!listens && k->source == STREAMCL_FROM_ANY)
        return blame(key, "source", why, why_cap,
                     "counts only with local; write local, or remove this key");
    if (listens && address_given(&k->remote.address) &&
        k->local.sa.sa_family != k->remote.address.sa.sa_family)
        return blame(key, "remote", why, why_cap,
                     "and local are not both IPv4 or both IPv6; write two of one kind");
    if (k->reconnect_max < k->reconnect)
        return blame(key, "timers.reconnect_max", why, why_cap, "is shorter than reconnect");
    return 0;
}

bool streamcl_config_warn(const void *config, const struct eid *node, int64_t now, const char **key,
                          char *why, size_t why_cap)
{
    const struct streamcl_config *k = config;
    char text[ADDRESS_TEXT_MAX];
    (void)node;
    (void)now;
    if (!address_given(&k->local) || address_is_loopback(&k->local))
        return false;
    *key = "local";
    snprintf(why, why_cap,
             "%s is reachable from other machines, and this protocol has no authentication and no "
             "encryption: %s",
             address_write(&k->local, text),
             k->source == STREAMCL_FROM_ANY ? "any host can bring bundles (source: any)"
                                            : "only the address of the peer is checked");
    return true;
}
