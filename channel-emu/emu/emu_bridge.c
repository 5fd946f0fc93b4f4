/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: release due frames, read received frames (with their time of arrival), sleep until the
 * next frame is due, or a batch after the last ones. While frames arrive they are read at
 * intervals: the kernel keeps frame and time of arrival, so nothing is lost, and a wake-up serves
 * several frames.
 *
 * What can go wrong: super-packets that cannot be divided, and with libpcap frames without
 * checksums: these are counted and dropped, because they differ from the frames on a real link.
 * Frames that the kernel does not accept, counted. An interface that is removed, which ends the
 * run: getsockopt is here for that, because only packet sockets report it so.
 */
#include "channel-emu/emu/emu_bridge.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/emu/emu_capture.h"
#include "channel-emu/emu/emu_ether.h"
#include "os/clock.h"
#include "os/process/signals.h"

#define FRAMES_MAX 512  /* read from one interface before frames are let out again */
#define TURNS_MAX 1000u /* for one change, should the kernel's stamps not come to its time */
#define LOOK (100 * TICK_MS)

static void say_too_long(struct emu_bridge *b, int dir, const struct emu_frame *f, FILE *say)
{
    if (b->said_too_long[dir])
        return;
    b->said_too_long[dir] = true;
    fprintf(say,
            "helio-emu: warning: %s brings super-packets (the first has %zu bytes): the other end "
            "joins frames. They are dropped and counted. There, as root:\n"
            "  ethtool -K INTERFACE tso off gso off tx-udp-segmentation off\n",
            emu_port_name(b->port[dir]), f->len);
}

static void say_sum(struct emu_bridge *b, int dir, FILE *say)
{
    if (b->said_sum[dir])
        return;
    b->said_sum[dir] = true;
    fprintf(say,
            "helio-emu: warning: %s brings frames without their checksums: the other end leaves "
            "them, and perhaps the cutting of joined frames, to its device, and libpcap does not "
            "tell which. They are dropped and counted. Use --io ring, or there, as root:\n"
            "  ethtool -K INTERFACE tx off tso off gso off tx-udp-segmentation off\n",
            emu_port_name(b->port[dir]));
}

/* What cannot pass as it would have been on the wire. */
static void refuse_frame(struct emu_bridge *b, int dir, const struct emu_frame *f, FILE *say)
{
    struct emu_direction *w = &b->link.directions[dir];
    if (f->too_long) {
        w->too_long++;
        say_too_long(b, dir, f, say);
    } else {
        w->sum_missing++;
        say_sum(b, dir, say);
    }
    emu_link_refuse(&b->link, dir, f->data, f->there, f->arrival,
                    f->too_long ? "super_packet" : "checksum");
}

/* The number of frames read, or an error. *whole: what arrived until then has been read. */
static int take_frames(struct emu_bridge *b, int dir, tick *whole, FILE *say)
{
    tick now = *whole = clock_now();
    struct emu_link *l = &b->link;
    struct emu_frame f = {.arrival = now};
    int n = 0;
    for (; n < FRAMES_MAX && emu_port_receive(b->port[dir], now, &f) == 1; n++) {
        int rc = 0;
        if (f.too_long || f.sum_missing) {
            refuse_frame(b, dir, &f, say);
            continue;
        } else if (l->settings->scenario.exempt && emu_ether_is_signalling(f.data, f.len)) {
            rc = emu_link_input_exempt(l, dir, f.data, f.len, f.arrival);
        } else {
            rc = emu_link_input(l, dir, f.data, f.len, 0, emu_ether_ecn(f.data, f.len), f.arrival);
        }
        if (l->before != NULL)
            emu_capture_frame(l->before, dir, f.arrival + l->epoch, f.data, f.len);
        if (rc < 0)
            return rc;
    }
    if (n == FRAMES_MAX) /* there may be more, which arrived after the last one */
        *whole = tick_min(*whole, f.arrival);
    return n;
}

/* Of both sides, or an error. *whole: as above. */
static int take_both(struct emu_bridge *b, tick *whole, FILE *say)
{
    tick back_whole;
    int forward = take_frames(b, EMU_FORWARD, whole, say);
    int back = forward < 0 ? forward : take_frames(b, EMU_RETURN, &back_whole, say);
    if (back < 0)
        return back;
    *whole = tick_min(*whole, back_whole);
    return forward + back;
}

/* Passes a batch to the kernel; a frame counts as released when the call has returned. */
static void flush_ring(struct emu_bridge *b, int dir, const struct chan_out *batch, unsigned n)
{
    bool sent[EMU_PORT_BATCH];
    tick begun = clock_now(); /* captured so: no answer to a frame was captured earlier */
    int error = emu_port_flush(b->port[!dir], sent);
    tick now = clock_now();
    for (unsigned i = 0; i < n; i++) {
        if (sent[i]) {
            emu_link_sent(&b->link, dir, &batch[i], now);
            if (b->link.after != NULL)
                emu_capture_frame(b->link.after, dir, begun + b->link.epoch, batch[i].data,
                                  batch[i].len);
        } else {
            emu_link_unsent(&b->link, dir, &batch[i], error);
        }
    }
}

/* Small batches, so that the first frame of many does not wait for the last. */
#define BATCH 16u

static void let_out(struct emu_bridge *b, int dir, tick now)
{
    struct chan_out batch[BATCH];
    unsigned n = 0;
    while (emu_link_output(&b->link, dir, now, &batch[n]) == 1) {
        b->link.released = now;
        if (batch[n].marked)
            emu_ether_mark(batch[n].data, batch[n].len);
        emu_port_send(b->port[!dir], batch[n].data, batch[n].len);
        if (++n == BATCH) {
            flush_ring(b, dir, batch, n);
            n = 0;
        }
    }
    if (n > 0)
        flush_ring(b, dir, batch, n);
}

static void count_before(struct emu_bridge *b)
{
    for (int dir = 0; dir < 2; dir++) {
        b->link.directions[dir].before = emu_port_drops(b->port[dir]);
        b->link.directions[dir].after = emu_port_unsent(b->port[!dir]);
    }
}

static void take_signal(struct emu_bridge *b, FILE *say)
{
    int number = signals_take(b->signal_fd);
    if (number == 0)
        return;
    if (number != SIGUSR1) {
        b->stop = true;
        return;
    }
    count_before(b);
    emu_report_text(&b->link, say);
}

static void let_out_both(struct emu_bridge *b)
{
    let_out(b, EMU_FORWARD, clock_now());
    let_out(b, EMU_RETURN, clock_now());
}

/* All that arrived until then, however much it is; frames leave meanwhile. */
static int take_until(struct emu_bridge *b, tick until, FILE *say)
{
    tick whole;
    int rc = take_both(b, &whole, say);
    for (unsigned i = 1; i < TURNS_MAX && rc >= 0 && whole < until; i++) {
        let_out_both(b);
        rc = take_both(b, &whole, say);
    }
    return rc;
}

/* What arrived before a change meets the link as it was. */
static int take_control(struct emu_bridge *b, FILE *say)
{
    int served = 1;
    for (int i = 0; i < EMU_CONTROL_BURST && served > 0; i++) {
        let_out_both(b);
        tick asked = clock_now();
        int rc = take_until(b, asked, say);
        if (rc < 0)
            return rc;
        served = emu_control_serve(&b->control, emu_control_link, &b->link, asked, say);
    }
    return served < 0 ? served : 0;
}

/* Sleeps until the time, a signal, or (with `ports`) a frame. */
static int wait_until(struct emu_bridge *b, tick until, bool ports, FILE *say)
{
    struct pollfd fds[4] = {{.fd = b->signal_fd, .events = POLLIN},
                            {.fd = b->control.fd, .events = POLLIN}, /* < 0: ignored */
                            {.fd = emu_port_fd(b->port[0]), .events = POLLIN},
                            {.fd = emu_port_fd(b->port[1]), .events = POLLIN}};
    int rc = clock_poll(fds, ports ? 4 : 2, until);
    if (rc < 0)
        return rc;
    if (rc > 0 && fds[0].revents != 0)
        take_signal(b, say);
    if (rc > 0 && ((fds[2].revents | fds[3].revents) & POLLERR) != 0)
        b->looked = 0;
    return rc > 0 && fds[1].revents != 0 ? take_control(b, say) : 0;
}

/* Every now and then, and when a socket reports an error. */
static int look_at_ports(struct emu_bridge *b, tick now, FILE *say)
{
    if (now < b->looked + LOOK)
        return 0;
    b->looked = now;
    take_signal(b, say); /* a bridge that never sleeps does not poll for it */
    int served = take_control(b, say);
    if (served < 0)
        return served;
    for (int dir = 0; dir < 2; dir++) {
        int error = 0;
        socklen_t len = sizeof error;
        getsockopt(emu_port_fd(b->port[dir]), SOL_SOCKET, SO_ERROR, &error, &len);
        if (!emu_port_exists(b->port[dir])) {
            fprintf(say, "helio-emu: the bridge ends: interface %s is gone\n",
                    emu_port_name(b->port[dir]));
            return HELIO_EIO;
        }
    }
    return 0;
}

/* Lets out, reads, and sleeps once. */
static int serve_side(struct emu_bridge *b, tick end, FILE *say)
{
    struct emu_link *l = &b->link;
    tick begin = clock_now();
    let_out_both(b);
    bool sweep = l->closed && l->swept == TICK_NEVER;
    if (sweep || l->read_due == TICK_NEVER || begin >= l->read_due) {
        tick whole;
        int n = take_both(b, &whole, say);
        if (n < 0)
            return n;
        emu_link_was_read(l, begin, n > 0);
        if (sweep)
            emu_link_was_swept(l, begin, n > 0);
    }
    tick now = clock_now();
    emu_link_flush(l, now);
    emu_link_turn(l, now);
    int rc = look_at_ports(b, now, say);
    if (rc < 0)
        return rc;
    bool busy = l->read_due != TICK_NEVER;
    tick until = tick_min(tick_min(end, emu_link_release(l)), busy ? l->read_due : now + LOOK);
    if (until <= now)
        return 0;
    return wait_until(b, until, !busy, say);
}

/* As in the relay: no more is taken after the end, what is inside may arrive. */
static bool goes_on(struct emu_bridge *b, tick end, FILE *say)
{
    tick now = clock_now();
    if (!b->link.closed && (b->stop || now >= end)) {
        emu_link_close(&b->link, tick_min(now, end));
        emu_report_drain(&b->link, say);
        b->stop = false;
    }
    return !b->stop && !emu_link_drained(&b->link);
}

int emu_bridge_run(struct emu_bridge *b, FILE *say)
{
    const struct emu_settings *o = &b->options->settings;
    tick end = o->duration == 0 ? TICK_NEVER : tick_add(b->link.started, o->duration);
    tick stats = o->stats == 0 ? TICK_NEVER : b->link.started + o->stats;
    int rc = 0;
    emu_link_end(&b->link, end);
    while (rc == 0 && goes_on(b, end, say)) {
        rc = serve_side(b, tick_min(emu_link_wake(&b->link, end), stats), say);
        if (clock_now() >= stats) {
            count_before(b);
            emu_report_line(&b->link, say);
            stats += o->stats;
        }
    }
    count_before(b);
    b->link.ended = rc < 0;
    emu_link_finish(&b->link);
    return rc;
}

int emu_bridge_init(struct emu_bridge *b, const struct emu_bridge_options *options, FILE *say)
{
    memset(b, 0, sizeof *b);
    b->options = options;
    b->control.fd = -1;
    b->signal_fd = emu_link_signals();
    if (b->signal_fd < 0) {
        fprintf(say, "helio-emu: signals: %s\n", helio_strerror(b->signal_fd));
        return b->signal_fd;
    }
    int err = emu_link_init(&b->link, &options->settings, emu_ether_udp_payload, say);
    if (err < 0)
        return err;
    err = emu_control_open(&b->control, options->settings.control, say);
    if (err < 0)
        return err;
    for (int dir = 0; dir < 2; dir++) {
        int rc = emu_port_open(&b->port[dir], options->port_name[dir], options->io,
                               options->settings.buffer_bytes, say);
        if (rc < 0)
            return rc;
    }
    emu_link_hurry(&b->link);
    b->link.started = clock_now();
    fprintf(say, "helio-emu: bridge %s to %s, ready\n", options->port_name[0],
            options->port_name[1]);
    fflush(say);
    return 0;
}

void emu_bridge_fini(struct emu_bridge *b)
{
    for (int dir = 0; dir < 2; dir++)
        emu_port_close(b->port[dir]);
    if (b->signal_fd >= 0)
        close(b->signal_fd);
    emu_control_close(&b->control);
    emu_link_fini(&b->link);
}
