/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and receiving. The kernel stamps each datagram when it enters the machine
 * (CLOCK_REALTIME), so that a relay that wakes late still knows when it came. What can go wrong: a
 * smaller buffer than asked for, which the caller reports; transient errors of the network, which
 * are not errors of the socket.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/emu/emu_socket.h"

#include <linux/sock_diag.h>

#define BUFFER_BYTES 65536u

static int option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

/* Root may exceed net.core.rmem_max. The kernel doubles the figure for its own needs. */
static uint64_t set_buffers(int fd, uint64_t bytes)
{
    int want = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int)bytes;
    int got = 0;
    socklen_t len = sizeof got;
    if (option(fd, SOL_SOCKET, SO_RCVBUFFORCE, want) < 0)
        option(fd, SOL_SOCKET, SO_RCVBUF, want);
    if (option(fd, SOL_SOCKET, SO_SNDBUFFORCE, want) < 0)
        option(fd, SOL_SOCKET, SO_SNDBUF, want);
    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &len);
    return (uint64_t)got / 2;
}

int emu_socket_open(const struct address *local, uint64_t buffer_bytes, uint64_t *granted)
{
    int fd = socket(local->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return HELIO_EIO;
    *granted = set_buffers(fd, buffer_bytes);
    option(fd, SOL_UDP, UDP_GRO, 1);
    if (option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1) < 0 ||
        bind(fd, &local->sa, address_len(local)) < 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return HELIO_EIO;
    }
    return fd;
}

uint64_t emu_socket_drops(int fd)
{
    uint32_t info[SK_MEMINFO_VARS] = {0};
    socklen_t len = sizeof info;
    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0)
        return 0;
    return info[SK_MEMINFO_DROPS];
}

struct emu_receiver {
    struct clock_stamps clock;
    struct mmsghdr heads[EMU_RECEIVE_MAX];
    struct iovec parts[EMU_RECEIVE_MAX];
    struct address from[EMU_RECEIVE_MAX];
    _Alignas(struct cmsghdr) char control[EMU_RECEIVE_MAX][128];
    uint8_t bytes[EMU_RECEIVE_MAX][BUFFER_BYTES];
};

struct emu_receiver *emu_receiver_new(void)
{
    struct emu_receiver *r = malloc(sizeof *r);
    if (r == NULL)
        return NULL;
    memset(r, 0, offsetof(struct emu_receiver, bytes));
    clock_stamps_init(&r->clock);
    return r;
}

void emu_receiver_free(struct emu_receiver *r)
{
    free(r);
}

static void read_control(struct emu_receiver *r, struct msghdr *head, tick now,
                         struct emu_datagram *d)
{
    d->arrival = now;
    d->segment = d->len;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(head); c != NULL; c = CMSG_NXTHDR(head, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec stamp;
            memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
            d->arrival = clock_stamps_arrival(&r->clock, &stamp, now);
        } else if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            int segment;
            memcpy(&segment, CMSG_DATA(c), sizeof segment);
            d->segment = segment > 0 ? (size_t)segment : d->len;
        }
    }
}

int emu_receive(struct emu_receiver *r, int fd, tick now, struct emu_datagram *out)
{
    clock_stamps_refresh(&r->clock, now);
    for (int i = 0; i < EMU_RECEIVE_MAX; i++) {
        r->parts[i] = (struct iovec){.iov_base = r->bytes[i], .iov_len = BUFFER_BYTES};
        r->heads[i].msg_hdr = (struct msghdr){.msg_name = &r->from[i],
                                              .msg_namelen = sizeof r->from[i],
                                              .msg_iov = &r->parts[i],
                                              .msg_iovlen = 1,
                                              .msg_control = r->control[i],
                                              .msg_controllen = sizeof r->control[i]};
    }
    int n = recvmmsg(fd, r->heads, EMU_RECEIVE_MAX, MSG_DONTWAIT, NULL);
    if (n < 0) {
        bool transient = errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED ||
                         errno == EHOSTUNREACH || errno == ENETUNREACH;
        return transient ? 0 : HELIO_EIO;
    }
    for (int i = 0; i < n; i++) {
        out[i] = (struct emu_datagram){
            .data = r->bytes[i], .len = r->heads[i].msg_len, .from = &r->from[i]};
        read_control(r, &r->heads[i].msg_hdr, now, &out[i]);
    }
    return n;
}
