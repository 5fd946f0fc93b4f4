/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A udp_io without a socket of its own serves all: its descriptor is that of the batch. What can go
 * wrong: a smaller buffer than asked for, which the caller reports; transient errors of the
 * network, which are not errors of the socket.
 */
#include "os/net/udp_many.h"

#include <assert.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/net/udp_io_private.h"

#define SETTLE_TRIES 50
#define SETTLE_WAIT (300 * TICK_US)

struct udp_receiver {
    struct clock_stamps clock;
    struct udp_io io;
};

struct udp_sender {
    struct udp_io io;
    unsigned added;
    int errors[UDP_SEND_MAX];
};

int udp_many_open(const struct address *local, uint64_t buffer_bytes, uint64_t *granted)
{
    int fd = udp_socket(local, UDP_STAMPS);
    if (fd < 0)
        return fd;
    *granted = udp_set_buffer(fd, buffer_bytes, SO_RCVBUF, SO_RCVBUFFORCE);
    (void)udp_set_buffer(fd, buffer_bytes, SO_SNDBUF, SO_SNDBUFFORCE);
    return fd;
}

uint64_t udp_many_drops(int fd)
{
    uint32_t info[SK_MEMINFO_VARS] = {0};
    socklen_t len = sizeof info;
    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0)
        return 0;
    return info[SK_MEMINFO_DROPS];
}

struct udp_receiver *udp_receiver_new(void)
{
    struct udp_receiver *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->io.rx.mem = malloc((size_t)UDP_RECEIVE_MAX * UDP_RX_BUFFER);
    if (r->io.rx.mem == NULL) {
        free(r);
        return NULL;
    }
    udp_rx_init(&r->io, UDP_RECEIVE_MAX);
    clock_stamps_init(&r->clock);
    return r;
}

void udp_receiver_free(struct udp_receiver *r)
{
    if (r != NULL)
        free(r->io.rx.mem);
    free(r);
}

/* Nothing to read, or what the network says of an earlier datagram. */
static bool is_transient(int number)
{
    return number == EAGAIN || number == EINTR || number == ECONNREFUSED ||
           number == EHOSTUNREACH || number == ENETUNREACH;
}

int udp_receive(struct udp_receiver *r, int fd, tick now, struct udp_message *out)
{
    struct udp_rx *rx = &r->io.rx;
    r->io.fd = fd;
    clock_stamps_refresh(&r->clock, now);
    int n = udp_read(&r->io, UDP_RECEIVE_MAX);
    for (int i = 0; i < n; i++) {
        struct udp_control c = udp_read_control(&r->io, &rx->msg[i]);
        out[i] = (struct udp_message){
            .data = rx->iov[i].iov_base,
            .len = rx->msg[i].msg_len,
            .segment = c.size,
            .from = &rx->from[i],
            .ecn = c.ecn,
            .arrival = c.stamped ? clock_stamps_arrival(&r->clock, &c.stamp, now) : now};
    }
    return is_transient(helio_errno(n)) ? 0 : n;
}

/* Does a datagram that waited for a while have its time of arrival? */
static bool is_stamped(struct udp_receiver *r, int fd, const struct address *self)
{
    struct udp_message in[UDP_RECEIVE_MAX];
    if (sendto(fd, "", 1, MSG_DONTWAIT, &self->sa, address_len(self)) != 1)
        return false;
    (void)clock_poll(NULL, 0, clock_now() + SETTLE_WAIT);
    tick now = clock_now();
    return udp_receive(r, fd, now, in) > 0 && in[0].arrival + SETTLE_WAIT / 2 < now;
}

bool udp_receiver_settle(struct udp_receiver *r)
{
    struct address self;
    uint64_t granted;
    bool settled = false;
    int fd = address_of("127.0.0.1", 0, &self) < 0 ? -1 : udp_many_open(&self, 1, &granted);
    if (fd >= 0 && address_bound(fd, &self) == 0) {
        for (int i = 0; i < SETTLE_TRIES && !settled; i++)
            settled = is_stamped(r, fd, &self);
    }
    if (fd >= 0)
        close(fd);
    return settled;
}

struct udp_sender *udp_sender_new(void)
{
    struct udp_sender *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->io.tx.segments = s->io.tx.waits = true;
    s->io.tx.errors = s->errors;
    return s;
}

void udp_sender_free(struct udp_sender *s)
{
    free(s);
}

void udp_sender_add(struct udp_sender *s, int fd, struct udp_peer *to, uint8_t ecn,
                    struct slice data)
{
    struct udp_tx *tx = &s->io.tx;
    assert(s->added < UDP_SEND_MAX);
    if (tx->runs == UDP_RUNS_MAX || (tx->runs > 0 && s->io.fd != fd))
        (void)udp_flush(&s->io);
    s->io.fd = fd;
    s->errors[s->added++] = 0;
    tx->ecn = ecn;
    assert(ecn <= 3);
    udp_add(&s->io, to, 0, data);
}

const int *udp_sender_flush(struct udp_sender *s)
{
    bool done = udp_flush(&s->io);
    assert(done && s->io.tx.settled == s->added);
    (void)done;
    s->added = s->io.tx.settled = 0;
    return s->errors;
}
