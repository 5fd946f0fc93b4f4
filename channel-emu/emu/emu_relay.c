/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direction of a datagram. A datagram to a flow's own socket is an answer to that flow's peer.
 * A datagram from the far end (--to, or --return-from) to the listening socket is return traffic:
 * for --return-to if given, else for the flow that uses the listening socket, else for the peer
 * heard last. All other datagrams there are forward traffic of their sender's flow, which is opened
 * if necessary. The first flow uses the listening socket, so that a far end with a fixed peer
 * address sees one address; further flows have their own sockets.
 *
 * What can go wrong: no peer yet for return traffic, and datagrams that the kernel refuses; both
 * are counted. Memory for a channel or a flow ends the run.
 */
#include "channel-emu/emu/emu_relay.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/emu/emu_capture.h"
#include "channel-emu/emu/emu_loop.h"
#include "os/clock.h"

#define ROUNDS_MAX 8 /* receives of one socket before frames are let out again */

/* A tag has the relay that received a frame, and its flow there (0: none). */
#define FLOW_BITS 48

static uint64_t tag_of(const struct emu_relay *r, uint64_t flow)
{
    assert(flow >> FLOW_BITS == 0);
    return (uint64_t)r->index << FLOW_BITS | flow;
}

static uint64_t flow_of(uint64_t tag)
{
    return tag & ((UINT64_C(1) << FLOW_BITS) - 1);
}

static struct emu_relay *relay_of(struct emu_relay *r, uint64_t tag)
{
    assert(tag >> FLOW_BITS < r->loop->count);
    return &r->loop->at[tag >> FLOW_BITS];
}

static struct udp_peer *peer_of(struct emu_relay *r, uint64_t flow_id)
{
    struct emu_flow *flow = emu_flow_of(&r->flows, flow_id);
    return flow_id == 0 ? &r->return_to : flow == NULL ? NULL : &flow->peer;
}

/* As a received or a transmitted datagram, with our own address beside the peer's; which is
 * not known when the far end speaks another version of IP. */
static void capture_datagram(const struct emu_relay *r, struct log_writer *w, int dir,
                             const struct address *peer, bool outgoing, const uint8_t *data,
                             size_t len, tick at)
{
    if (w == NULL)
        return;
    const struct address *own = peer->sa.sa_family == r->listen.sa.sa_family ? &r->listen : peer;
    const struct address *from = outgoing ? own : peer, *to = outgoing ? peer : own;
    emu_capture_udp(w, dir, at + r->link.epoch, from, to, data, len);
}

/* The relay whose channels an arriving frame uses; NULL: none, during a hand-over. */
static struct emu_relay *channels_at(struct emu_relay *r, int dir, tick arrival)
{
    if (r->link.among == NULL)
        return r;
    uint32_t to = links_run_enter(r->link.among, r->index, dir, arrival + r->link.bias);
    return to == CHAN_NOWHERE ? NULL : &r->loop->at[to];
}

static int put_frame(struct emu_relay *r, int dir, const struct udp_message *d, const uint8_t *data,
                     size_t len, uint64_t flow)
{
    struct emu_relay *over = channels_at(r, dir, d->arrival);
    capture_datagram(r, r->link.before, dir, d->from, false, data, len, d->arrival);
    if (over == NULL) {
        emu_link_refuse(&r->link, dir, data, len, d->arrival, chan_reason_name(CHAN_HANDOVER));
        return 0;
    }
    if (over != r)
        capture_datagram(r, over->link.before, dir, d->from, false, data, len, d->arrival);
    if (emu_link_line(&over->link, dir) == NULL)
        return emu_link_input(&over->link, dir, data, len, tag_of(r, flow), d->ecn, d->arrival);
    const struct emu_staged staged = {.arrival = d->arrival,
                                      .tag = tag_of(r, flow),
                                      .len = (uint32_t)len,
                                      .link = (uint16_t)over->index,
                                      .dir = (uint8_t)dir,
                                      .ecn = d->ecn};
    return emu_stage_put(&r->loop->stage, &staged, data);
}

/* All datagrams of one receive. */
static int into_channel(struct emu_relay *r, int dir, const struct udp_message *d, uint64_t flow)
{
    size_t at = 0;
    do {
        size_t len = d->len - at < d->segment ? d->len - at : d->segment;
        int rc = put_frame(r, dir, d, d->data + at, len, flow);
        if (rc < 0)
            return rc;
        at += len;
    } while (at < d->len);
    return 0;
}

static void close_flow(struct emu_relay *r, struct emu_flow *flow)
{
    if (flow->fd != r->listen_fd) {
        r->gone_drops += udp_many_drops(flow->fd);
        close(flow->fd);
    }
    flow->used = false;
    if (r->flows.latest == flow)
        r->flows.latest = NULL;
}

/* 0 and the flow, or the error of its socket. */
static int new_flow(struct emu_relay *r, const struct address *peer, tick now,
                    struct emu_flow **out)
{
    bool evicted;
    int fd = r->listen_fd;
    struct emu_flow *place = emu_flow_place(&r->flows, &evicted);
    if (evicted)
        close_flow(r, place);
    if (!r->share_listen || emu_flow_by_socket(&r->flows, fd) != NULL) {
        uint64_t granted;
        struct address any = address_any(&r->options->to);
        fd = udp_many_open(&any, r->options->settings.buffer_bytes, &granted);
        if (fd < 0)
            return fd;
    }
    emu_flow_open(&r->flows, place, peer, fd, now);
    *out = place;
    return 0;
}

static struct emu_flow *return_flow(struct emu_relay *r, int fd)
{
    struct emu_flow *flow = emu_flow_by_socket(&r->flows, fd);
    return flow != NULL ? flow : r->flows.latest;
}

static uint64_t frames_of(const struct udp_message *d)
{
    return d->len == 0 ? 1 : (d->len + d->segment - 1) / d->segment;
}

static void refuse_all(struct emu_relay *r, int dir, const struct udp_message *d)
{
    size_t at = 0;
    do {
        size_t len = d->len - at < d->segment ? d->len - at : d->segment;
        emu_link_refuse(&r->link, dir, d->data + at, len, d->arrival, "no_peer");
        at += len;
    } while (at < d->len);
}

static int take_return(struct emu_relay *r, int fd, const struct udp_message *d)
{
    if (r->options->has_return_to && fd == r->listen_fd)
        return into_channel(r, EMU_RETURN, d, 0);
    struct emu_flow *flow = return_flow(r, fd);
    if (flow == NULL) {
        r->link.directions[EMU_RETURN].no_peer += frames_of(d);
        refuse_all(r, EMU_RETURN, d);
        return 0;
    }
    return into_channel(r, EMU_RETURN, d, flow->id);
}

static int take_forward(struct emu_relay *r, const struct udp_message *d)
{
    struct emu_flow *flow = emu_flow_find(&r->flows, d->from);
    int rc = flow == NULL ? new_flow(r, d->from, d->arrival, &flow) : 0;
    if (rc < 0)
        return rc;
    flow->last_active = d->arrival;
    r->flows.latest = flow;
    return into_channel(r, EMU_FORWARD, d, flow->id);
}

static bool from_far_end(const struct emu_relay *r, const struct udp_message *d)
{
    const struct emu_relay_options *o = r->options;
    return address_equal(d->from, &o->to) ||
           (o->has_return_from && address_equal(d->from, &o->return_from));
}

int emu_relay_read(struct emu_relay *r, int fd)
{
    struct udp_message in[UDP_RECEIVE_MAX];
    int rounds = 0, n = UDP_RECEIVE_MAX;
    for (; n == UDP_RECEIVE_MAX && rounds<ROUNDS_MAX; rounds += n> 0) {
        n = udp_receive(r->loop->receiver, fd, clock_now(), in);
        if (n < 0)
            return n;
        for (int i = 0; i < n; i++) {
            bool back = fd != r->listen_fd || from_far_end(r, &in[i]);
            int rc = back ? take_return(r, fd, &in[i]) : take_forward(r, &in[i]);
            if (rc < 0)
                return rc;
        }
    }
    if (n == UDP_RECEIVE_MAX) /* there may be more, received after the last one */
        r->loop->whole = tick_min(r->loop->whole, in[n - 1].arrival);
    return rounds;
}

/* The destination of a frame of these channels: by the relay that received it. */
static struct udp_peer *target(struct emu_relay *r, int dir, const struct chan_out *out)
{
    struct emu_relay *port = relay_of(r, out->tag);
    return dir == EMU_RETURN ? peer_of(port, flow_of(out->tag)) : &port->to;
}

/* False: its peer's flow was closed. */
static bool send_frame(struct emu_relay *r, int dir, const struct chan_out *out)
{
    struct emu_relay *port = relay_of(r, out->tag);
    struct emu_flow *flow = emu_flow_of(&port->flows, flow_of(out->tag));
    struct udp_peer *to = target(r, dir, out);
    int fd = dir == EMU_RETURN || flow == NULL ? port->listen_fd : flow->fd;
    if (to == NULL || (dir == EMU_FORWARD && flow == NULL)) {
        r->link.directions[dir].gone++;
        emu_link_refuse(&r->link, dir, out->data, out->len, out->entered, "no_peer");
        return false;
    }
    udp_sender_add(r->loop->sender, fd, to, out->ecn, slice_of(out->data, out->len));
    return true;
}

/* begun: before the call that sent it, so that no answer to it was captured earlier. */
static void count_sent(struct emu_relay *r, int dir, const struct chan_out *out, tick begun,
                       tick now)
{
    struct emu_relay *port = relay_of(r, out->tag);
    emu_link_sent(&r->link, dir, out, now);
    if (r->link.among != NULL)
        links_run_leave(r->link.among, port->index, dir, r->index);
    const struct address *peer = &target(r, dir, out)->address;
    capture_datagram(port, r->link.after, dir, peer, true, out->data, out->len, begun);
    if (port != r) /* of a link that is handed over, and of the link that it used */
        capture_datagram(port, port->link.after, dir, peer, true, out->data, out->len, begun);
}

/* Small batches, so that the first datagram of many does not wait for the last. */
#define BATCH 32u

/* Passes a batch to the kernel; a datagram counts as released when the call has returned. */
static void flush_batch(struct emu_relay *r, int dir, const struct chan_out *batch, unsigned n)
{
    tick begun = clock_now();
    const int *errors = udp_sender_flush(r->loop->sender);
    tick now = clock_now();
    for (unsigned i = 0; i < n; i++) {
        if (errors[i] == 0)
            count_sent(r, dir, &batch[i], begun, now);
        else
            emu_link_unsent(&r->link, dir, &batch[i], errors[i]);
    }
}

void emu_relay_let_out(struct emu_relay *r, int dir)
{
    struct chan_out batch[BATCH];
    tick now = clock_now();
    unsigned n = 0;
    while (emu_link_output(&r->link, dir, now, &batch[n]) == 1) {
        r->loop->at[0].link.released = now;
        n += send_frame(r, dir, &batch[n]);
        if (n == BATCH) {
            flush_batch(r, dir, batch, n);
            n = 0;
        }
    }
    if (n > 0)
        flush_batch(r, dir, batch, n);
}

/* Of all sockets: the listening one carries forward traffic, the others answers. */
void emu_relay_count(struct emu_relay *r)
{
    uint64_t sum = r->gone_drops;
    for (unsigned i = 0; i < r->flows.top; i++) {
        const struct emu_flow *f = &r->flows.at[i];
        if (f->used && f->fd != r->listen_fd)
            sum += udp_many_drops(f->fd);
    }
    if (r->listen_fd < 0)
        return;
    r->link.directions[EMU_FORWARD].before = udp_many_drops(r->listen_fd);
    r->link.directions[EMU_RETURN].before = sum;
}

int emu_relay_read_all(struct emu_relay *r)
{
    int sum = r->listen_fd < 0 ? 0 : emu_relay_read(r, r->listen_fd);
    for (unsigned i = 0; i < r->flows.top && sum >= 0; i++) {
        const struct emu_flow *f = &r->flows.at[i];
        if (!f->used || f->fd == r->listen_fd)
            continue;
        int rc = emu_relay_read(r, f->fd);
        sum = rc < 0 ? rc : sum + rc;
    }
    return sum;
}

static void say_buffer(const struct emu_settings *o, uint64_t granted, FILE *say)
{
    if (granted >= o->buffer_bytes)
        return;
    fprintf(say,
            "helio-emu: warning: the kernel grants a socket buffer of %llu kB where %llu kB were "
            "asked for;\n"
            "  bursts may be dropped (counted as 'socket'). As root: sysctl -w "
            "net.core.rmem_max=%llu net.core.wmem_max=%llu\n",
            (unsigned long long)granted / 1000, (unsigned long long)o->buffer_bytes / 1000,
            (unsigned long long)o->buffer_bytes, (unsigned long long)o->buffer_bytes);
}

/* All of a datagram may be an LTP segment. */
static struct slice all_of(const uint8_t *frame, size_t len)
{
    return slice_of(frame, len);
}

static int open_listening(struct emu_relay *r, FILE *say)
{
    char text[ADDRESS_TEXT_MAX];
    uint64_t granted = 0;
    const struct emu_settings *s = &r->options->settings;
    r->listen_fd = udp_many_open(&r->options->listen, s->buffer_bytes, &granted);
    if (r->listen_fd < 0) {
        fprintf(say, "helio-emu: cannot listen at %s: %s%s\n",
                address_write(&r->options->listen, text), helio_strerror(r->listen_fd),
                helio_errno(r->listen_fd) == EADDRNOTAVAIL
                    ? "; ip addr shows the addresses of this machine"
                    : "");
        return HELIO_EIO;
    }
    say_buffer(s, granted, say);
    (void)address_bound(r->listen_fd, &r->listen);
    r->share_listen = address_reaches(&r->listen, &r->options->to);
    return 0;
}

int emu_relay_init(struct emu_relay *r, struct emu_loop *loop, size_t index, const char *name,
                   const struct emu_relay_options *options, FILE *say)
{
    memset(r, 0, sizeof *r);
    r->name = name;
    r->options = options;
    r->loop = loop;
    r->index = index;
    r->to.address = options->to;
    r->return_to.address = options->return_to;
    r->listen_fd = -1;
    int rc = emu_link_init(&r->link, &options->settings, all_of, say);
    return rc < 0 || !address_given(&options->listen) ? rc : open_listening(r, say);
}

void emu_relay_fini(struct emu_relay *r)
{
    for (unsigned i = 0; i < r->flows.top; i++) {
        if (r->flows.at[i].used)
            close_flow(r, &r->flows.at[i]);
    }
    if (r->listen_fd >= 0)
        close(r->listen_fd);
    emu_link_fini(&r->link);
}
