/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: read what came (with the time at which it came), let out what is due, sleep until the
 * next frame is due, or a batch (100 us) after the last ones. While frames come, it sleeps a batch
 * at a time without looking at the sockets: the kernel keeps the time of arrival, so nothing is
 * lost by reading later, and a wake-up serves several frames.
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
#include "channel-emu/emu_relay.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"

#define ROUNDS_MAX 8 /* receives of one socket before frames are let out again */

static int begin_way(struct emu_relay *r, int dir, tick arrival)
{
    struct emu_way *w = &r->way[dir];
    const struct emu_way_options *o = &r->options.way[dir];
    w->origin = r->options.origin_start ? r->started : arrival;
    struct chan_config config = {.rate_bps = o->rate_bps,
                                 .overhead = r->options.overhead,
                                 .delay = o->delay,
                                 .jitter = o->jitter,
                                 .queue_bytes = r->options.queue_bytes,
                                 .trace = o->trace.on ? &o->trace.trace : NULL,
                                 .trace_offset = o->trace_start,
                                 .origin = w->origin,
                                 .loss = o->trace.loss,
                                 .seed = r->options.seed + (uint64_t)dir};
    w->first = w->last = arrival;
    return chan_new(&w->chan, &config);
}

/* All datagrams of one receive; stamps of two processors may be out of order by a little. */
static int into_channel(struct emu_relay *r, int dir, const struct emu_datagram *d, uint64_t flow)
{
    struct emu_way *w = &r->way[dir];
    if (w->chan == NULL) {
        int rc = begin_way(r, dir, d->arrival);
        if (rc < 0)
            return rc;
    }
    w->last = d->arrival > w->last ? d->arrival : w->last;
    size_t at = 0;
    do {
        size_t len = d->len - at < d->segment ? d->len - at : d->segment;
        chan_input(w->chan, d->data + at, len, flow, w->last);
        at += len;
    } while (at < d->len);
    return 0;
}

static void close_flow(struct emu_relay *r, struct emu_flow *flow)
{
    if (flow->fd != r->listen_fd) {
        r->gone_drops += emu_socket_drops(flow->fd);
        close(flow->fd);
    }
    flow->used = false;
    if (r->flows.latest == flow)
        r->flows.latest = NULL;
}

static struct emu_flow *new_flow(struct emu_relay *r, const struct emu_addr *peer, tick now)
{
    bool evicted;
    int fd = r->listen_fd;
    struct emu_flow *place = emu_flow_place(&r->flows, &evicted);
    if (evicted)
        close_flow(r, place);
    if (!r->share_listen || emu_flow_by_socket(&r->flows, fd) != NULL) {
        uint64_t granted;
        struct emu_addr any = emu_addr_any(&r->options.to);
        fd = emu_socket_open(&any, r->options.buffer_bytes, &granted);
        if (fd < 0)
            return NULL;
    }
    emu_flow_open(&r->flows, place, peer, fd, now);
    return place;
}

static struct emu_flow *return_flow(struct emu_relay *r, int fd)
{
    struct emu_flow *flow = emu_flow_by_socket(&r->flows, fd);
    return flow != NULL ? flow : r->flows.latest;
}

static uint64_t frames_of(const struct emu_datagram *d)
{
    return d->len == 0 ? 1 : (d->len + d->segment - 1) / d->segment;
}

static int take_return(struct emu_relay *r, int fd, const struct emu_datagram *d)
{
    if (r->options.has_return_to && fd == r->listen_fd)
        return into_channel(r, EMU_RETURN, d, 0);
    struct emu_flow *flow = return_flow(r, fd);
    if (flow == NULL) {
        r->way[EMU_RETURN].no_peer += frames_of(d);
        return 0;
    }
    return into_channel(r, EMU_RETURN, d, flow->id);
}

static int take_forward(struct emu_relay *r, const struct emu_datagram *d)
{
    struct emu_flow *flow = emu_flow_find(&r->flows, d->from);
    if (flow == NULL)
        flow = new_flow(r, d->from, d->arrival);
    if (flow == NULL)
        return HELIO_EIO;
    flow->last_active = d->arrival;
    r->flows.latest = flow;
    return into_channel(r, EMU_FORWARD, d, flow->id);
}

static bool from_far_end(const struct emu_relay *r, const struct emu_datagram *d)
{
    const struct emu_options *o = &r->options;
    return emu_addr_equal(d->from, &o->to) ||
           (o->has_return_from && emu_addr_equal(d->from, &o->return_from));
}

/* The number of receives that brought something, or an error. */
static int read_socket(struct emu_relay *r, int fd)
{
    struct emu_datagram in[EMU_RECEIVE_MAX];
    int rounds = 0;
    for (int n = EMU_RECEIVE_MAX; n == EMU_RECEIVE_MAX && rounds<ROUNDS_MAX; rounds += n> 0) {
        n = emu_receive(r->receiver, fd, emu_now(), in);
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

static void send_frame(struct emu_relay *r, int dir, const struct chan_out *out)
{
    struct emu_way *w = &r->way[dir];
    struct emu_flow *flow = emu_flow_of(&r->flows, out->tag);
    const struct emu_addr *to = &r->options.to;
    int fd = flow == NULL ? r->listen_fd : flow->fd;
    if (dir == EMU_RETURN) {
        fd = r->listen_fd;
        to = out->tag == 0 ? &r->options.return_to : flow == NULL ? NULL : &flow->peer;
    } else if (flow == NULL) {
        to = NULL;
    }
    if (to == NULL) {
        w->gone++;
        return;
    }
    w->sent_bytes += out->len;
    emu_send(r->sender, fd, to, out->data, out->len);
}

static void let_out(struct emu_relay *r, int dir, tick now)
{
    struct emu_way *w = &r->way[dir];
    struct chan_out out;
    int ignored;
    if (w->chan == NULL || chan_deadline(w->chan) > now)
        return;
    uint64_t failed = emu_sender_failed(r->sender, &ignored);
    r->released = now;
    while (chan_output(w->chan, now, &out) == 1) {
        emu_late_add(&w->late, now - out.due);
        send_frame(r, dir, &out);
    }
    emu_sender_flush(r->sender);
    w->send_failed += emu_sender_failed(r->sender, &ignored) - failed;
}

/* When to let frames out next: when one is due, but a batch after the last ones. */
static tick next_release(const struct emu_relay *r)
{
    tick due = TICK_NEVER;
    for (int dir = 0; dir < 2; dir++) {
        if (r->way[dir].chan != NULL)
            due = tick_min(due, chan_deadline(r->way[dir].chan));
    }
    tick batch = tick_add(r->released, r->options.batch);
    return due > batch ? due : batch;
}

static void take_signal(struct emu_relay *r, FILE *say)
{
    struct signalfd_siginfo info;
    if (read(r->signal_fd, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGUSR1)
        emu_report_text(r, say);
    else
        r->stop = true;
}

/* Waits for the time, a signal, or (unless nothing but the time matters) datagrams. Fills in the
 * sockets that have something. */
static int wait_until(struct emu_relay *r, tick until, bool sockets, struct pollfd *fds)
{
    nfds_t n = 0;
    fds[n++] = (struct pollfd){.fd = r->signal_fd, .events = POLLIN};
    if (sockets) {
        fds[n++] = (struct pollfd){.fd = r->listen_fd, .events = POLLIN};
        for (unsigned i = 0; i < r->flows.top; i++) {
            if (r->flows.at[i].used && r->flows.at[i].fd != r->listen_fd)
                fds[n++] = (struct pollfd){.fd = r->flows.at[i].fd, .events = POLLIN};
        }
    }
    tick now = emu_now();
    tick rest = until > now ? until - now : 0;
    struct timespec t = {.tv_sec = (time_t)(rest / TICK_S), .tv_nsec = (long)(rest % TICK_S)};
    int rc = ppoll(fds, n, until == TICK_NEVER ? NULL : &t, NULL);
    if (rc < 0 && errno != EINTR)
        return HELIO_EIO;
    return rc <= 0 ? 0 : (int)n;
}

/* One round: true in *busy when something came. */
static int serve(struct emu_relay *r, tick until, bool *busy, FILE *say)
{
    struct pollfd fds[EMU_FLOWS_MAX + 2];
    int n = wait_until(r, until, true, fds);
    if (n < 0)
        return n;
    for (int i = 0; i < n; i++) {
        if (fds[i].revents == 0)
            continue;
        if (i == 0) {
            take_signal(r, say);
            continue;
        }
        int rc = read_socket(r, fds[i].fd);
        if (rc < 0)
            return rc;
        *busy = *busy || rc > 0;
    }
    let_out(r, EMU_FORWARD, emu_now());
    let_out(r, EMU_RETURN, emu_now());
    return 0;
}

int emu_relay_run(struct emu_relay *r, FILE *say)
{
    const struct emu_options *o = &r->options;
    tick end = o->duration == 0 ? TICK_NEVER : tick_add(r->started, o->duration);
    tick stats = o->stats == 0 ? TICK_NEVER : r->started + o->stats;
    while (!r->stop && emu_now() < end) {
        bool busy = false;
        tick until = tick_min(next_release(r), tick_min(end, stats));
        int rc = serve(r, until, &busy, say);
        if (rc == 0 && busy && o->batch > 0) {
            struct pollfd signal;
            rc = wait_until(r, tick_min(end, emu_now() + o->batch), false, &signal);
            if (rc > 0)
                take_signal(r, say);
        }
        if (rc < 0) {
            fprintf(say, "helio-emu: the relay ends: %s\n",
                    rc == HELIO_EIO ? strerror(errno) : helio_strerror(rc));
            return rc;
        }
        if (emu_now() >= stats) {
            emu_report_line(r, say);
            stats += o->stats;
        }
    }
    return 0;
}

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Frames are released on time also when the processors are busy; not permitted to all users. */
static void ask_for_realtime(void)
{
    struct sched_param priority = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    sched_setscheduler(0, SCHED_RR, &priority);
}

static void say_buffer(const struct emu_options *o, uint64_t granted, FILE *say)
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

int emu_relay_init(struct emu_relay *r, const struct emu_options *options, FILE *say)
{
    char text[EMU_ADDR_TEXT_MAX], to[EMU_ADDR_TEXT_MAX];
    uint64_t granted = 0;
    memset(r, 0, sizeof *r);
    r->options = *options;
    r->signal_fd = open_signals();
    r->receiver = emu_receiver_new();
    r->sender = emu_sender_new();
    r->listen_fd = emu_socket_open(&options->listen, options->buffer_bytes, &granted);
    if (r->listen_fd < 0) {
        fprintf(say, "helio-emu: cannot listen at %s: %s\n", emu_addr_write(&options->listen, text),
                strerror(errno));
        return HELIO_EIO;
    }
    if (r->signal_fd < 0 || r->receiver == NULL || r->sender == NULL) {
        fprintf(say, "helio-emu: out of memory or descriptors\n");
        return HELIO_ENOMEM;
    }
    say_buffer(options, granted, say);
    prctl(PR_SET_TIMERSLACK, 1000UL);
    if (options->realtime)
        ask_for_realtime();
    r->options.listen.len = sizeof r->options.listen.sa;
    getsockname(r->listen_fd, (struct sockaddr *)&r->options.listen.sa, &r->options.listen.len);
    r->share_listen = emu_addr_reaches(&r->options.listen, &options->to);
    r->started = emu_now();
    fprintf(say, "helio-emu: relay %s to %s, ready\n", emu_addr_write(&r->options.listen, text),
            emu_addr_write(&options->to, to));
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
    for (int dir = 0; dir < 2; dir++)
        chan_free(r->way[dir].chan);
    emu_receiver_free(r->receiver);
    emu_sender_free(r->sender);
}
