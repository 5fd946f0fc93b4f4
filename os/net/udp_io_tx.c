/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams are collected in runs of equal size. One sendmmsg sends all runs, and the kernel
 * divides each into datagrams. What can go wrong: a route that does not support this (EINVAL, EIO,
 * EMSGSIZE): the run is sent again as single datagrams, and so are all later ones to that peer. A
 * full socket keeps the batch; its bytes are copied, because their blocks may be freed. For an
 * unreachable peer, or another error, the message is lost and counted, and the protocol above
 * retransmits.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "os/net/udp_io_private.h"

bool udp_room(const struct udp_io *io, uint32_t head_max)
{
    const struct udp_tx *tx = &io->tx;
    assert(head_max <= UDP_DATAGRAM_MAX);
    if (tx->kept || (tx->heads_used != 0 && tx->heads_used + head_max > UDP_HEADS_MAX))
        return false;
    /* A new run may be needed: the last one may be full or of another size. */
    return tx->runs < UDP_RUNS_MAX;
}

uint8_t *udp_head(struct udp_io *io, uint32_t head_max)
{
    assert(udp_room(io, head_max));
    (void)head_max;
    return io->tx.heads + io->tx.heads_used;
}

static bool run_takes(const struct udp_run *r, const struct udp_peer *to, uint8_t ecn,
                      uint32_t size)
{
    return r->to == to && r->ecn == ecn && !r->ended && size > 0 && size <= r->size &&
           r->datagrams < UDP_RUN_MAX && r->bytes + size <= UDP_DATAGRAM_MAX;
}

void udp_add(struct udp_io *io, struct udp_peer *to, uint32_t head_len, struct slice data)
{
    struct udp_tx *tx = &io->tx;
    uint32_t size = head_len + (uint32_t)data.len;
    assert(size <= UDP_LONGEST);
    struct udp_run *r = tx->runs == 0 ? NULL : &tx->run[tx->runs - 1];
    if (r == NULL || !run_takes(r, to, tx->ecn, size)) {
        assert(tx->runs < UDP_RUNS_MAX);
        r = &tx->run[tx->runs++];
        r->to = to;
        r->ecn = tx->ecn;
        r->size = size;
        r->bytes = 0;
        r->datagrams = r->iovs = 0;
        r->ended = r->uncut = false;
    }
    unsigned before = r->iovs;
    if (head_len > 0)
        r->iov[r->iovs++] =
            (struct iovec){.iov_base = tx->heads + tx->heads_used, .iov_len = head_len};
    if (data.len > 0)
        r->iov[r->iovs++] =
            (struct iovec){.iov_base = (void *)(uintptr_t)data.data, .iov_len = data.len};
    r->iovs_of[r->datagrams++] = (uint8_t)(r->iovs - before);
    r->bytes += size;
    r->ended = size < r->size || size == 0; /* nothing cannot be cut off */
    tx->heads_used += head_len;
}

bool udp_pending(const struct udp_io *io)
{
    return io->tx.kept;
}

static void batch_reset(struct udp_tx *tx)
{
    tx->runs = tx->first = tx->plain_done = 0;
    tx->heads_used = 0;
    tx->kept = false;
}

/* The rest of the batch has to outlive the blocks that it points into. */
static bool batch_keep(struct udp_io *io)
{
    struct udp_tx *tx = &io->tx;
    io->n.tx_blocked++;
    if (tx->kept)
        return true;
    if (tx->stash == NULL)
        tx->stash = malloc((size_t)UDP_RUNS_MAX * UDP_DATAGRAM_MAX);
    if (tx->stash == NULL)
        return false;
    uint8_t *p = tx->stash;
    for (unsigned i = tx->first; i < tx->runs; i++) {
        for (unsigned k = 0; k < tx->run[i].iovs; k++) {
            struct iovec *v = &tx->run[i].iov[k];
            memcpy(p, v->iov_base, v->iov_len);
            v->iov_base = p;
            p += v->iov_len;
        }
    }
    tx->kept = true;
    return true;
}

static void count_sent(struct udp_io *io, const struct udp_run *r, unsigned from, unsigned to)
{
    io->tx.settled += to - from;
    io->n.tx_datagrams += to - from;
    io->n.tx_bytes += (uint64_t)(to - from) * r->size;
    if (to == r->datagrams && r->ended) /* the last one was shorter */
        io->n.tx_bytes -= (uint64_t)r->datagrams * r->size - r->bytes;
}

static void head_of(struct msghdr *h, struct udp_run *r, unsigned iov, unsigned iovs)
{
    memset(h, 0, sizeof *h);
    h->msg_name = &r->to->address;
    h->msg_namelen = address_len(&r->to->address);
    h->msg_iov = &r->iov[iov];
    h->msg_iovlen = iovs;
}

static void add_control(struct msghdr *h, uint8_t *control, int level, int type, const void *value,
                        size_t len)
{
    struct cmsghdr *c = (struct cmsghdr *)(void *)(control + h->msg_controllen);
    h->msg_control = control;
    h->msg_controllen += CMSG_SPACE(len);
    assert(h->msg_controllen <= UDP_TX_CONTROL);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(c), value, len);
}

/* The control data of a message: the size by which it is divided, 0: not at all; its traffic
 * class. */
static void control_of(struct msghdr *h, const struct udp_run *r, uint16_t cut, uint8_t *control)
{
    int traffic_class = r->to->dscp << 2 | r->ecn;
    bool v6 = r->to->address.sa.sa_family == AF_INET6;
    if (cut > 0)
        add_control(h, control, SOL_UDP, UDP_SEGMENT, &cut, sizeof cut);
    if (traffic_class != 0)
        add_control(h, control, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS,
                    &traffic_class, sizeof traffic_class);
}

/* The result of a sendmmsg whose first message failed. */
enum outcome { SENT, FULL, SKIP, RETRY, UNCUT, UNCUT_ONCE };

static enum outcome refuse_run(struct udp_io *io, int error, unsigned datagrams)
{
    struct udp_tx *tx = &io->tx;
    for (unsigned i = 0; i < datagrams && tx->errors != NULL; i++)
        tx->errors[tx->settled + i] = helio_from_errno(error);
    tx->settled += datagrams;
    io->n.tx_errors += datagrams;
    return SKIP;
}

static enum outcome judge_error(struct udp_io *io, int error, unsigned datagrams, bool cut)
{
    if (error == EINTR)
        return RETRY;
    if (error == ECONNREFUSED) { /* reports an earlier datagram; this one was not tried */
        io->n.tx_refused++;
        return RETRY;
    }
    if (!io->tx.waits && (error == EAGAIN || error == ENOBUFS || error == ENOMEM))
        return FULL;
    if (cut && io->tx.errors != NULL) /* each shall have its own fate */
        return UNCUT_ONCE;
    if (cut && (error == EINVAL || error == EIO || error == EMSGSIZE))
        return UNCUT;
    return refuse_run(io, error, datagrams);
}

static int flags_of(const struct udp_tx *tx)
{
    return tx->waits ? 0 : MSG_DONTWAIT;
}

/* The first run, datagram by datagram. */
static enum outcome send_plain(struct udp_io *io, struct udp_run *r)
{
    struct udp_tx *tx = &io->tx;
    struct mmsghdr m[UDP_RUN_MAX];
    _Alignas(8) uint8_t control[UDP_RUN_MAX][UDP_TX_CONTROL];
    unsigned iov = 0;
    for (unsigned i = 0; i < r->datagrams; i++) {
        head_of(&m[i].msg_hdr, r, iov, r->iovs_of[i]);
        control_of(&m[i].msg_hdr, r, 0, control[i]);
        iov += r->iovs_of[i];
    }
    while (tx->plain_done < r->datagrams) {
        int n = sendmmsg(io->fd, m + tx->plain_done, r->datagrams - tx->plain_done, flags_of(tx));
        io->n.tx_calls++;
        if (n > 0) {
            count_sent(io, r, tx->plain_done, tx->plain_done + (unsigned)n);
            tx->plain_done += (unsigned)n;
            continue;
        }
        enum outcome o = judge_error(io, errno, 1, false);
        if (o == FULL)
            return FULL;
        if (o == SKIP)
            tx->plain_done++;
    }
    tx->plain_done = 0;
    tx->first++;
    return SENT;
}

static bool goes_plain(const struct udp_tx *tx, const struct udp_run *r)
{
    return r->datagrams > 1 && (!tx->segments || r->to->plain || r->uncut);
}

/* As many runs as can go with one call. */
static enum outcome send_runs(struct udp_io *io)
{
    struct udp_tx *tx = &io->tx;
    struct mmsghdr m[UDP_RUNS_MAX];
    _Alignas(8) uint8_t control[UDP_RUNS_MAX][UDP_TX_CONTROL];
    unsigned n = 0;
    while (tx->first + n < tx->runs && !goes_plain(tx, &tx->run[tx->first + n])) {
        struct udp_run *r = &tx->run[tx->first + n];
        head_of(&m[n].msg_hdr, r, 0, r->iovs);
        control_of(&m[n].msg_hdr, r, r->datagrams > 1 ? (uint16_t)r->size : 0, control[n]);
        n++;
    }
    int sent = sendmmsg(io->fd, m, n, flags_of(tx));
    io->n.tx_calls++;
    if (sent > 0) {
        for (int i = 0; i < sent; i++, tx->first++)
            count_sent(io, &tx->run[tx->first], 0, tx->run[tx->first].datagrams);
        return SENT;
    }
    struct udp_run *r = &tx->run[tx->first];
    enum outcome o = judge_error(io, errno, r->datagrams, r->datagrams > 1);
    if (o == UNCUT) {
        r->to->plain = true;
        io->n.tx_plain++;
    } else if (o == UNCUT_ONCE) {
        r->uncut = true;
    } else if (o == SKIP) {
        tx->first++;
    }
    return o;
}

/* No memory to keep it: the protocol above repeats. */
static void count_unsent(struct udp_io *io)
{
    struct udp_tx *tx = &io->tx;
    for (; tx->first < tx->runs; tx->first++)
        io->n.tx_errors += tx->run[tx->first].datagrams;
}

bool udp_flush(struct udp_io *io)
{
    struct udp_tx *tx = &io->tx;
    if (io->carrier.send != NULL && !udp_carry(io) && batch_keep(io))
        return false;
    if (io->carrier.send != NULL)
        count_unsent(io);
    while (tx->first < tx->runs) {
        struct udp_run *r = &tx->run[tx->first];
        enum outcome o = goes_plain(tx, r) ? send_plain(io, r) : send_runs(io);
        if (o == FULL && batch_keep(io))
            return false;
        if (o == FULL)
            count_unsent(io);
    }
    batch_reset(tx);
    return true;
}

void udp_forget(struct udp_io *io, const struct udp_peer *peer)
{
    struct udp_tx *tx = &io->tx;
    unsigned kept = tx->first;
    for (unsigned i = tx->first; i < tx->runs; i++) {
        if (tx->run[i].to == peer) {
            if (i == tx->first)
                tx->plain_done = 0;
            continue;
        }
        if (kept != i)
            tx->run[kept] = tx->run[i];
        kept++;
    }
    tx->runs = kept;
    if (tx->first == tx->runs)
        batch_reset(tx);
}
