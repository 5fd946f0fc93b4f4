/* SPDX-License-Identifier: Apache-2.0 */
/* One recvmmsg fills reused buffers. A message that the kernel combined from several datagrams
 * (UDP_GRO) is divided by the size that it reports. The number of requested messages follows their
 * mean size, so that one call reads about the wanted number of bytes in either case. All datagrams
 * of a message have one source. The only thing that can go wrong: nothing has arrived. */
#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "base/err.h"
#include "os/net/udp_io_private.h"

void udp_rx_init(struct udp_io *io, unsigned messages)
{
    struct udp_rx *rx = &io->rx;
    rx->mean = UDP_RX_BUFFER;
    for (unsigned i = 0; i < messages; i++) {
        rx->iov[i].iov_base = rx->mem + (size_t)i * UDP_RX_BUFFER;
        rx->iov[i].iov_len = UDP_RX_BUFFER;
        rx->msg[i].msg_hdr.msg_iov = &rx->iov[i];
        rx->msg[i].msg_hdr.msg_iovlen = 1;
        rx->msg[i].msg_hdr.msg_control = rx->control[i];
        rx->msg[i].msg_hdr.msg_name = &rx->from[i];
    }
}

static unsigned messages_for(const struct udp_rx *rx, uint32_t bytes_max)
{
    uint64_t n = bytes_max / (rx->mean + 1);
    return n < 1 ? 1 : n > UDP_RX_MAX ? UDP_RX_MAX : (unsigned)n;
}

int udp_read(struct udp_io *io, unsigned want)
{
    struct udp_rx *rx = &io->rx;
    for (unsigned i = 0; i < want; i++) {
        rx->msg[i].msg_hdr.msg_controllen = UDP_RX_CONTROL;
        rx->msg[i].msg_hdr.msg_namelen = sizeof rx->from[i];
    }
    int n = recvmmsg(io->fd, rx->msg, want, MSG_DONTWAIT, NULL);
    io->n.rx_calls++;
    return n >= 0 ? n : helio_from_errno(errno);
}

bool udp_fill(struct udp_io *io, uint32_t bytes_max)
{
    struct udp_rx *rx = &io->rx;
    if (io->carrier.send != NULL)
        return udp_take(io);
    int n = udp_read(io, messages_for(rx, bytes_max));
    rx->next = rx->current = 0;
    rx->at = 0;
    rx->filled = n > 0 ? (unsigned)n : 0;
    rx->size = 0;
    if (n <= 0)
        return false;
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += rx->msg[i].msg_len;
    rx->mean = (rx->mean * 3 + sum / (uint64_t)n) / 4;
    io->n.rx_bytes += sum;
    return true;
}

struct udp_control udp_read_control(struct udp_io *io, struct mmsghdr *m)
{
    struct udp_control out = {.size = m->msg_len};
    struct msghdr *h = &m->msg_hdr;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            int gro;
            memcpy(&gro, CMSG_DATA(c), sizeof gro);
            if (gro > 0)
                out.size = (size_t)gro;
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
            uint32_t drops;
            memcpy(&drops, CMSG_DATA(c), sizeof drops);
            io->n.rx_socket_drops += drops - io->rx.drops_seen;
            io->rx.drops_seen = drops;
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            memcpy(&out.stamp, CMSG_DATA(c), sizeof out.stamp);
            out.stamped = true;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            out.ecn = *CMSG_DATA(c) & 3;
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            int traffic_class;
            memcpy(&traffic_class, CMSG_DATA(c), sizeof traffic_class);
            out.ecn = (uint8_t)(traffic_class & 3);
        }
    }
    return out;
}

bool udp_next(struct udp_io *io, struct slice *out)
{
    struct udp_rx *rx = &io->rx;
    if (rx->next == rx->filled)
        return false;
    struct mmsghdr *m = &rx->msg[rx->next];
    rx->current = rx->next;
    if (rx->at == 0)
        rx->size = udp_read_control(io, m).size;
    size_t left = m->msg_len - rx->at;
    size_t len = left < rx->size ? left : rx->size;
    *out = slice_of((uint8_t *)m->msg_hdr.msg_iov->iov_base + rx->at, len);
    rx->at += len;
    if (rx->at >= m->msg_len) {
        rx->next++;
        rx->at = 0;
    }
    io->n.rx_datagrams++;
    return true;
}

const struct address *udp_from(const struct udp_io *io)
{
    return &io->rx.from[io->rx.current];
}
