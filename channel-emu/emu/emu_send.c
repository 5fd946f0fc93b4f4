/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending: datagrams of one size to one address are gathered into one message that the kernel cuts
 * (UDP_SEGMENT), the last of them may be shorter; a system call takes many messages. A message that
 * cannot be sent cut (a device without the ability, a segment above the route's MTU) is sent again
 * datagram by datagram; what the kernel refuses even so has its error.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "channel-emu/emu/emu_socket.h"

#define SEGMENTS_MAX 60u     /* of a message; the kernel's limit is 64 */
#define MESSAGE_BYTES 64000u /* of a message; the limit is that of an IP datagram */

struct emu_sender {
    int fd;
    unsigned messages, parts; /* queued */
    unsigned done;            /* messages that were sent already: by another socket */
    size_t segment, bytes;    /* of the last message */
    bool closed;              /* the last message takes no more */
    struct mmsghdr heads[EMU_SEND_BATCH];
    struct iovec iov[EMU_SEND_BATCH];
    int errors[EMU_SEND_BATCH]; /* of the parts */
    _Alignas(struct cmsghdr) char control[EMU_SEND_BATCH][CMSG_SPACE(sizeof(uint16_t))];
};

struct emu_sender *emu_sender_new(void)
{
    return calloc(1, sizeof(struct emu_sender));
}

void emu_sender_free(struct emu_sender *s)
{
    free(s);
}

static void open_message(struct emu_sender *s, const struct address *to, size_t len)
{
    s->heads[s->messages++].msg_hdr = (struct msghdr){.msg_name = (void *)(uintptr_t)to,
                                                      .msg_namelen = address_len(to),
                                                      .msg_iov = &s->iov[s->parts]};
    s->segment = len;
    s->bytes = 0;
    s->closed = len == 0;
}

static bool fits(const struct emu_sender *s, const struct address *to, size_t len)
{
    if (s->messages == s->done || s->closed || len > s->segment || len == 0)
        return false;
    const struct msghdr *m = &s->heads[s->messages - 1].msg_hdr;
    return m->msg_name == (const void *)to && m->msg_iovlen < SEGMENTS_MAX &&
           s->bytes + len <= MESSAGE_BYTES;
}

static void ask_to_cut(struct emu_sender *s)
{
    for (unsigned i = s->done; i < s->messages; i++) {
        struct msghdr *m = &s->heads[i].msg_hdr;
        if (m->msg_iovlen < 2)
            continue;
        uint16_t segment = (uint16_t)m->msg_iov[0].iov_len;
        m->msg_control = s->control[i];
        m->msg_controllen = sizeof s->control[i];
        struct cmsghdr *c = CMSG_FIRSTHDR(m);
        c->cmsg_level = SOL_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof segment);
        memcpy(CMSG_DATA(c), &segment, sizeof segment);
    }
}

/* An IPv4 or IPv6 socket may report an earlier datagram's fate instead of sending: once more. */
static bool send_one(int fd, const struct msghdr *m)
{
    return sendmsg(fd, m, 0) >= 0 || (errno == ECONNREFUSED && sendmsg(fd, m, 0) >= 0);
}

static void send_uncut(struct emu_sender *s, const struct msghdr *m)
{
    for (size_t i = 0; i < m->msg_iovlen; i++) {
        struct msghdr one = {.msg_name = m->msg_name,
                             .msg_namelen = m->msg_namelen,
                             .msg_iov = &m->msg_iov[i],
                             .msg_iovlen = 1};
        if (!send_one(s->fd, &one))
            s->errors[&m->msg_iov[i] - s->iov] = errno;
    }
}

static void send_queued(struct emu_sender *s)
{
    ask_to_cut(s);
    while (s->done < s->messages) {
        int n = sendmmsg(s->fd, s->heads + s->done, s->messages - s->done, 0);
        if (n > 0)
            s->done += (unsigned)n;
        else if (errno != EINTR)
            send_uncut(s, &s->heads[s->done++].msg_hdr);
    }
}

void emu_send(struct emu_sender *s, int fd, const struct address *to, const uint8_t *data,
              size_t len)
{
    assert(s->parts < EMU_SEND_BATCH);
    if (s->messages > s->done && s->fd != fd)
        send_queued(s);
    s->fd = fd;
    s->errors[s->parts] = 0;
    if (!fits(s, to, len))
        open_message(s, to, len);
    s->iov[s->parts++] = (struct iovec){.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    s->heads[s->messages - 1].msg_hdr.msg_iovlen++;
    s->bytes += len;
    s->closed = s->closed || len < s->segment;
}

const int *emu_sender_flush(struct emu_sender *s)
{
    send_queued(s);
    s->messages = s->parts = s->done = 0;
    return s->errors;
}
