/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: let out what is due, read what came (with the time at which it came), sleep until the
 * next frame is due, or a batch after the last ones. While frames come, the sockets are read now
 * and then: the kernel keeps the time of arrival, so nothing is lost by reading later, and a
 * wake-up serves several frames.
 *
 * Which way a datagram goes: what comes to a flow's own socket is an answer to that flow's peer.
 * What comes to the listening socket from the far end (--to, or --return-from) is return traffic,
 * for --return-to if given, else for the flow that leaves by the listening socket, else for the
 * peer heard last. All else there is forward traffic, and its sender's flow is opened if need be.
 * The first flow leaves by the listening socket, so that a far end with a fixed idea of its peer's
 * address sees one address; further flows have sockets of their own.
 *
 * What can go wrong: no peer yet for return traffic, and datagrams that the kernel refuses; both
 * are counted. Memory for a channel or a flow ends the run.
 */
#include "channel-emu/emu/emu_relay.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/emu/emu_capture.h"
#include "os/clock.h"
#include "os/signals.h"

#define SOCKETS_FROM 2 /* among what is waited for: behind signals and control */
#define ROUNDS_MAX 8   /* receives of one socket before frames are let out again */

static struct udp_peer *peer_of(struct emu_relay *r, uint64_t tag)
{
    struct emu_flow *flow = emu_flow_of(&r->flows, tag);
    return tag == 0 ? &r->return_to : flow == NULL ? NULL : &flow->peer;
}

/* As the datagram that came, or the one that goes, with our own address beside the peer's; which is
 * not known when the far end speaks another version of IP. */
static void capture_datagram(struct emu_relay *r, struct log_writer *w, const struct address *peer,
                             bool outgoing, const uint8_t *data, size_t len, tick at)
{
    if (w == NULL)
        return;
    const struct address *own = peer->sa.sa_family == r->listen.sa.sa_family ? &r->listen : peer;
    const struct address *from = outgoing ? own : peer, *to = outgoing ? peer : own;
    emu_capture_udp(w, at + r->link.epoch, from, to, data, len);
}

/* All datagrams of one receive. */
static int into_channel(struct emu_relay *r, int dir, const struct udp_message *d, uint64_t flow)
{
    size_t at = 0;
    do {
        size_t len = d->len - at < d->segment ? d->len - at : d->segment;
        int rc = emu_link_input(&r->link, dir, d->data + at, len, flow, d->ecn, d->arrival);
        if (rc < 0)
            return rc;
        capture_datagram(r, r->link.before, d->from, false, d->data + at, len, d->arrival);
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
        r->link.way[EMU_RETURN].no_peer += frames_of(d);
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

/* The number of receives that brought something, or an error. */
static int read_socket(struct emu_relay *r, int fd)
{
    struct udp_message in[UDP_RECEIVE_MAX];
    int rounds = 0;
    for (int n = UDP_RECEIVE_MAX; n == UDP_RECEIVE_MAX && rounds<ROUNDS_MAX; rounds += n> 0) {
        n = udp_receive(r->receiver, fd, clock_now(), in);
        if (n < 0)
            return n;
        for (int i = 0; i < n; i++) {
            bool back = fd != r->listen_fd || from_far_end(r, &in[i]);
            int rc = back ? take_return(r, fd, &in[i]) : take_forward(r, &in[i]);
            if (rc < 0)
                return rc;
        }
    }
    return rounds;
}

static struct udp_peer *target(struct emu_relay *r, int dir, const struct chan_out *out)
{
    return dir == EMU_RETURN ? peer_of(r, out->tag) : &r->to;
}

/* False: its peer is gone. */
static bool send_frame(struct emu_relay *r, int dir, const struct chan_out *out)
{
    struct emu_flow *flow = emu_flow_of(&r->flows, out->tag);
    struct udp_peer *to = target(r, dir, out);
    int fd = dir == EMU_RETURN || flow == NULL ? r->listen_fd : flow->fd;
    if (to == NULL || (dir == EMU_FORWARD && flow == NULL)) {
        r->link.way[dir].gone++;
        emu_link_refuse(&r->link, dir, out->data, out->len, out->entered, "no_peer");
        return false;
    }
    udp_sender_add(r->sender, fd, to, out->ecn, slice_of(out->data, out->len));
    return true;
}

/* Small batches, so that the first datagram of many does not wait for the last. */
#define BATCH 32u

/* Hands a batch to the kernel; a datagram counts as released when the call is over. */
static void flush_batch(struct emu_relay *r, int dir, const struct chan_out *batch, unsigned n)
{
    const int *errors = udp_sender_flush(r->sender);
    tick now = clock_now();
    for (unsigned i = 0; i < n; i++) {
        const struct chan_out *out = &batch[i];
        if (errors[i] == 0) {
            emu_link_sent(&r->link, dir, out, now);
            capture_datagram(r, r->link.after, &target(r, dir, out)->address, true, out->data,
                             out->len, now);
        } else {
            emu_link_unsent(&r->link, dir, out, errors[i]);
        }
    }
}

static void let_out(struct emu_relay *r, int dir)
{
    struct chan_out batch[BATCH];
    tick now = clock_now();
    unsigned n = 0;
    while (emu_link_output(&r->link, dir, now, &batch[n]) == 1) {
        r->link.released = now;
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
static void count_before(struct emu_relay *r)
{
    uint64_t sum = r->gone_drops;
    for (unsigned i = 0; i < r->flows.top; i++) {
        const struct emu_flow *f = &r->flows.at[i];
        if (f->used && f->fd != r->listen_fd)
            sum += udp_many_drops(f->fd);
    }
    r->link.way[EMU_FORWARD].before = udp_many_drops(r->listen_fd);
    r->link.way[EMU_RETURN].before = sum;
}

static void take_signal(struct emu_relay *r, FILE *say)
{
    int number = signals_take(r->signal_fd);
    if (number == 0)
        return;
    if (number == SIGUSR1) {
        count_before(r);
        emu_report_text(&r->link, say);
    } else {
        r->stop = true;
    }
}

/* Waits for the time, a signal, or (unless nothing but the time matters) datagrams. Fills in the
 * sockets that have something. */
static int wait_until(struct emu_relay *r, tick until, bool sockets, struct pollfd *fds)
{
    nfds_t n = 0;
    fds[n++] = (struct pollfd){.fd = r->signal_fd, .events = POLLIN};
    fds[n++] = (struct pollfd){.fd = r->control.fd, .events = POLLIN}; /* < 0: ignored */
    if (sockets) {
        fds[n++] = (struct pollfd){.fd = r->listen_fd, .events = POLLIN};
        for (unsigned i = 0; i < r->flows.top; i++) {
            if (r->flows.at[i].used && r->flows.at[i].fd != r->listen_fd)
                fds[n++] = (struct pollfd){.fd = r->flows.at[i].fd, .events = POLLIN};
        }
    }
    int rc = clock_poll(fds, n, until);
    return rc <= 0 ? rc : (int)n;
}

/* Of the sockets that have something, or of all when nobody looked. Whether something came. */
static int read_sockets(struct emu_relay *r, const struct pollfd *fds, int n)
{
    int sum = 0;
    for (int i = SOCKETS_FROM; i < n; i++) {
        int rc = fds[i].revents == 0 ? 0 : read_socket(r, fds[i].fd);
        if (rc < 0)
            return rc;
        sum += rc;
    }
    return sum > 0;
}

static int read_all(struct emu_relay *r)
{
    int sum = read_socket(r, r->listen_fd);
    for (unsigned i = 0; i < r->flows.top && sum >= 0; i++) {
        const struct emu_flow *f = &r->flows.at[i];
        if (!f->used || f->fd == r->listen_fd)
            continue;
        int rc = read_socket(r, f->fd);
        sum = rc < 0 ? rc : sum + rc;
    }
    return sum < 0 ? sum : sum > 0;
}

/* What arrived before a change meets the link as it was. */
static int take_control(struct emu_relay *r, FILE *say)
{
    int rc = read_all(r);
    return rc < 0 ? rc : emu_control_serve(&r->control, &r->link, say);
}

/* Sleeps once, lets out what is due, and reads when it is time to. */
static int serve_side(struct emu_relay *r, tick until, FILE *say)
{
    struct pollfd fds[EMU_FLOWS_MAX + 3];
    struct emu_link *l = &r->link;
    bool look = l->read_due == TICK_NEVER; /* arrivals wake us */
    int n = wait_until(r, until, look, fds);
    if (n > 0 && fds[0].revents != 0)
        take_signal(r, say);
    if (n > 0 && fds[1].revents != 0) {
        int rc = take_control(r, say);
        if (rc < 0)
            return rc;
    }
    let_out(r, EMU_FORWARD);
    let_out(r, EMU_RETURN);
    tick now = clock_now();
    bool sweep = l->closed && l->swept == TICK_NEVER;
    if (n >= 0 && sweep) {
        n = read_all(r);
        emu_link_was_swept(l, now, n > 0);
    } else if (n >= 0 && (look ? n > SOCKETS_FROM : now >= l->read_due)) {
        n = look ? read_sockets(r, fds, n) : read_all(r);
        emu_link_was_read(l, now, n > 0);
    }
    emu_link_flush(l, now);
    emu_link_turn(l, now);
    return n < 0 ? n : 0;
}

/* Told to stop, or the time is up: no more is taken. A second signal does not wait for what is
 * inside. Whether the relay goes on. */
static bool goes_on(struct emu_relay *r, tick last, FILE *say)
{
    tick now = clock_now();
    if (!r->link.closed && (r->stop || now >= last)) {
        emu_link_close(&r->link, tick_min(now, last));
        emu_report_drain(&r->link, say);
        r->stop = false;
    }
    return !r->stop && !emu_link_drained(&r->link);
}

static int end_relay(struct emu_relay *r, int rc, FILE *say)
{
    if (rc < 0)
        fprintf(say, "helio-emu: the relay ends: %s\n", helio_strerror(rc));
    count_before(r);
    r->link.ended = rc < 0;
    emu_link_finish(&r->link);
    return rc;
}

int emu_relay_run(struct emu_relay *r, FILE *say)
{
    const struct emu_settings *o = &r->options->settings;
    tick last = o->duration == 0 ? TICK_NEVER : tick_add(r->link.started, o->duration);
    tick stats = o->stats == 0 ? TICK_NEVER : r->link.started + o->stats;
    emu_link_end(&r->link, last);
    while (goes_on(r, last, say)) {
        tick until = tick_min(tick_min(emu_link_release(&r->link), emu_link_flush_due(&r->link)),
                              tick_min(stats, r->link.read_due));
        until = tick_min(until, emu_link_wake(&r->link, last));
        int rc = serve_side(r, until, say);
        if (rc < 0)
            return end_relay(r, rc, say);
        if (clock_now() >= stats) {
            count_before(r);
            emu_report_line(&r->link, say);
            stats += o->stats;
        }
    }
    return end_relay(r, 0, say);
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
        fprintf(say, "helio-emu: cannot listen at %s: %s\n",
                address_write(&r->options->listen, text), helio_strerror(r->listen_fd));
        return HELIO_EIO;
    }
    say_buffer(s, granted, say);
    (void)address_bound(r->listen_fd, &r->listen);
    r->share_listen = address_reaches(&r->listen, &r->options->to);
    return 0;
}

/* Signals are blocked before the threads of the outputs begin, which inherit that. */
int emu_relay_init(struct emu_relay *r, const struct emu_relay_options *options, FILE *say)
{
    char text[ADDRESS_TEXT_MAX], to[ADDRESS_TEXT_MAX];
    memset(r, 0, sizeof *r);
    r->options = options;
    r->to.address = options->to;
    r->return_to.address = options->return_to;
    r->listen_fd = -1;
    r->control.fd = -1;
    r->signal_fd = emu_link_signals();
    int rc = emu_link_init(&r->link, &options->settings, all_of, say);
    if (rc < 0)
        return rc;
    r->receiver = udp_receiver_new();
    r->sender = udp_sender_new();
    if (r->signal_fd < 0 || r->receiver == NULL || r->sender == NULL) {
        fprintf(say, "helio-emu: out of memory or descriptors\n");
        return HELIO_ENOMEM;
    }
    rc = open_listening(r, say);
    rc = rc < 0 ? rc : emu_control_open(&r->control, options->settings.control, say);
    if (rc < 0)
        return rc;
    emu_link_hurry(&r->link);
    r->link.started = clock_now();
    fprintf(say, "helio-emu: relay %s to %s, ready\n", address_write(&r->listen, text),
            address_write(&options->to, to));
    fflush(say);
    return 0;
}

void emu_relay_fini(struct emu_relay *r)
{
    for (unsigned i = 0; i < r->flows.top; i++) {
        if (r->flows.at[i].used)
            close_flow(r, &r->flows.at[i]);
    }
    if (r->listen_fd >= 0)
        close(r->listen_fd);
    if (r->signal_fd >= 0)
        close(r->signal_fd);
    emu_control_close(&r->control);
    emu_link_fini(&r->link);
    udp_receiver_free(r->receiver);
    udp_sender_free(r->sender);
}
