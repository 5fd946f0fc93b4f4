/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration keys of a UDP socket and of pacing, for adapters that send datagrams. An adapter
 * puts these structs into its own, and these rows into its own table. */
#ifndef CLA_UDP_KEYS_H
#define CLA_UDP_KEYS_H

#include "conf/conf_value.h"
#include "os/net/host_address.h"

/* The help texts of the rows explain the fields. */
struct udp_keys {
    struct address local;
    struct host_address remote;
    uint64_t socket_buffer, dscp;
    bool batch;
};

struct pace_keys {
    uint64_t rate, overhead; /* bit/s, 0: unlimited; bytes */
    tick burst, slack;
};

#define UDP_KEYS_AT(at, field) ((at) + offsetof(struct udp_keys, field))
#define PACE_KEYS_AT(at, field) ((at) + offsetof(struct pace_keys, field))

/* clang-format off */
/* Rows of a table of struct conf_option. `at`: offset of the struct in the adapter's; `port`:
 * default port of an address, 0: it must have one. */
#define UDP_KEYS_ADDRESSES(at, port)                                                               \
    {"local", OPTION_ADDRESS, UDP_KEYS_AT(at, local), NULL, port, 0, NULL,                         \
     "address and port of this node's socket; links with the same one share it"},                  \
    {"remote", OPTION_HOST, UDP_KEYS_AT(at, remote), NULL, port, 0, NULL,                          \
     "address or host name, and port, that datagrams are sent to; a name is looked up at the start and each 60 s"}
#define UDP_KEYS_SOCKET(at)                                                                        \
    {"pacing.socket_buffer", OPTION_SIZE, UDP_KEYS_AT(at, socket_buffer), "0", 0, 1 << 30, NULL,          \
     "socket buffers to ask for; 0: as the rate needs"},                                           \
    {"pacing.dscp", OPTION_COUNT, UDP_KEYS_AT(at, dscp), "0", 0, 63, NULL,                                \
     "class of service of the datagrams (RFC 2474), such as 46: expedited forwarding"},            \
    {"pacing.batch", OPTION_BOOL, UDP_KEYS_AT(at, batch), "yes", 0, 0, NULL,                              \
     "let the kernel cut batches into datagrams (UDP_SEGMENT) where the route allows"}
#define PACE_KEYS_RATE(at)                                                                         \
    {"rate", OPTION_RATE, PACE_KEYS_AT(at, rate), "unlimited", 1, UINT64_C(1000000000000),         \
     "unlimited", "nominal rate of the link, in bits on the air"},                                              \
    {"pacing.overhead", OPTION_SIZE, PACE_KEYS_AT(at, overhead), "42", 0, 65535, NULL,                    \
     "bytes on the air beside each datagram: UDP, IPv4 and Ethernet headers by default"}
#define PACE_KEYS_BURST(at)                                                                        \
    {"pacing.burst", OPTION_DURATION, PACE_KEYS_AT(at, burst), "100us", 0, TICK_S, NULL,                  \
     "most air time that leaves at once; 0: one datagram"},                                        \
    {"pacing.slack", OPTION_DURATION, PACE_KEYS_AT(at, slack), "2ms", 0, TICK_S, NULL,                    \
     "most air time that is made good when the machine was late"}
/* The same for a stream (TCP). Its rate counts octets of the stream. */
#define PACE_KEYS_STREAM(at)                                                                       \
    {"pacing.burst", OPTION_DURATION, PACE_KEYS_AT(at, burst), "100us", 0, TICK_S, NULL,                  \
     "octets that leave at once, as their time at rate; 0: one piece of 1448 octets"},             \
    {"pacing.slack", OPTION_DURATION, PACE_KEYS_AT(at, slack), "2ms", 0, TICK_S, NULL,                    \
     "most time at rate that is made good when the machine was late; more is lost"}
/* clang-format on */

/* Like cla_ops.check: both addresses must be given, with the same address family. Returns 0 or
 * HELIO_EINVAL. */
int udp_keys_check(const struct udp_keys *k, const char **key, char *why, size_t why_cap);

/* The socket buffer to request from the kernel, bytes. It holds the datagrams of `stall` ns, in
 * which this process or the peer's does not run. Without a rate: `unpaced` bytes. */
uint64_t udp_keys_buffer(const struct udp_keys *k, const struct pace_keys *pace, tick stall,
                         uint64_t unpaced);

#endif
