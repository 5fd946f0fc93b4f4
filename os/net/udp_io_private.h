/* SPDX-License-Identifier: Apache-2.0 */
/* Private to udp_io: shared by its sending and its receiving part. */
#ifndef OS_UDP_IO_PRIVATE_H
#define OS_UDP_IO_PRIVATE_H

#include <time.h>

#include "os/net/udp_io.h"

#define UDP_RUN_MAX 64                 /* datagrams per run: UDP_MAX_SEGMENTS of old kernels */
#define UDP_RUNS_MAX 16                /* runs per batch */
#define UDP_IOVS_MAX (UDP_RUN_MAX * 2) /* per run: head and data of each datagram */
#define UDP_HEADS_MAX (256 * 1024)     /* bytes of heads per batch */
#define UDP_RX_MAX 64                  /* messages per recvmmsg */
#define UDP_RX_BUFFER 65536            /* bytes per message */
#define UDP_RX_CONTROL 128             /* room for UDP_GRO, SO_RXQ_OVFL, a stamp and two ECN */
#define UDP_TX_CONTROL 64              /* room for UDP_SEGMENT and IP_TOS or IPV6_TCLASS */

/* A run: datagrams of `size` bytes to one peer, the last of which may be shorter. */
struct udp_run {
    struct udp_peer *to;
    uint32_t size, bytes;
    uint16_t datagrams, iovs;
    uint8_t ecn;
    bool ended; /* a shorter datagram was the last */
    bool uncut; /* datagrams are sent one by one, whatever the peer */
    uint8_t iovs_of[UDP_RUN_MAX];
    struct iovec iov[UDP_IOVS_MAX];
};

struct udp_tx {
    bool segments;
    uint8_t ecn;          /* of what is added next */
    unsigned runs, first; /* first: runs before it are sent */
    unsigned plain_done;  /* datagrams of the first run that were sent plainly */
    bool waits;           /* a full socket is waited for: it is a blocking one */
    int *errors;          /* results of datagrams, in the order of udp_add; NULL: not needed */
    unsigned settled;     /* number of datagrams with a known result */
    bool kept;            /* the batch waits for the socket, its bytes lie in `stash` */
    uint32_t heads_used;
    uint8_t *heads; /* UDP_HEADS_MAX + UDP_DATAGRAM_MAX bytes */
    uint8_t *stash; /* NULL until first needed; UDP_RUNS_MAX * UDP_DATAGRAM_MAX bytes */
    struct udp_run run[UDP_RUNS_MAX];
};

struct udp_rx {
    unsigned filled, next; /* messages */
    unsigned arrived;      /* received datagrams that wait for udp_fill */
    unsigned current;      /* that of the latest datagram */
    size_t at, size;       /* within the current message: next datagram, its size */
    uint64_t mean;         /* bytes per message lately */
    uint32_t drops_seen;   /* the kernel's counter, modulo 2^32 */
    uint8_t *mem;          /* UDP_RX_MAX * UDP_RX_BUFFER bytes */
    struct mmsghdr msg[UDP_RX_MAX];
    struct iovec iov[UDP_RX_MAX];
    struct address from[UDP_RX_MAX];
    _Alignas(8) uint8_t control[UDP_RX_MAX][UDP_RX_CONTROL];
};

struct udp_io {
    int fd;
    uint16_t port;
    struct udp_carrier carrier; /* send NULL: it is the kernel */
    struct udp_counters n;
    struct udp_tx tx;
    struct udp_rx rx;
};

#define UDP_LONGEST 65527 /* payload over IPv6 */

enum udp_socket_flags {
    UDP_NONBLOCK = 1,
    UDP_V6ONLY = 2, /* one of IPv6 takes no IPv4 */
    UDP_STAMPS = 4, /* the kernel's time of arrival, without which it does not open; and ECN */
};

/* A bound socket that puts arriving datagrams together (UDP_GRO). The descriptor or HELIO_E*. */
int udp_socket(const struct address *local, unsigned flags);
/* Asks for a buffer (SO_RCVBUF, SO_SNDBUF and their _FORCE); returns what there is. */
uint64_t udp_set_buffer(int fd, uint64_t want, int option, int force);

void udp_rx_init(struct udp_io *io, unsigned messages);

/* Reads up to so many messages: how many, or HELIO_E*. */
int udp_read(struct udp_io *io, unsigned want);

/* What the kernel says of a message; drops are counted. */
struct udp_control {
    size_t size; /* of its datagrams */
    bool stamped;
    uint8_t ecn;
    struct timespec stamp; /* CLOCK_REALTIME */
};
struct udp_control udp_read_control(struct udp_io *io, struct mmsghdr *m);

/* udp_carried.c: all of the batch leaves, from tx.first on; false: some has to wait. What has
 * arrived is there, false: nothing. */
bool udp_carry(struct udp_io *io);
bool udp_take(struct udp_io *io);

#endif
