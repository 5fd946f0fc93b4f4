/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames in sequence on a TCP connection, with or without markers. A connecting end retries each
 * second. A listening end uses the latest connection of the peer's host. Without a connection, sent
 * frames are lost, as on a link without a signal. What can go wrong: at the beginning the address
 * cannot be bound, or memory; later a connection ends, and incomplete frames are dropped at both
 * ends.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/framed/frame_pump.h"

#define OUT_BYTES (256 * 1024)
#define RETRY TICK_S

struct tcp_wire {
    struct frame_pump pump;
    struct frame_wire_config config;
    struct stream_listener *listener;
    struct stream *stream; /* NULL: none */
    bool connected, blocked;
    struct alarm connect;
    uint8_t *out_bytes;
    size_t out_at, out_len;
};

static struct tcp_wire *tcp_of_pump(struct frame_pump *p)
{
    return container_of(p, struct tcp_wire, pump);
}

static struct tcp_wire *tcp_wire_of(const struct frame_wire *w)
{
    return tcp_of_pump(frame_pump_of(w));
}

static void tell_user(struct tcp_wire *w, bool readable, bool writable)
{
    w->pump.wire.user->ready(w->pump.wire.context, readable, writable);
}

/* ---- sending ---- */

static bool flush_frames(struct frame_wire *wire)
{
    struct tcp_wire *w = tcp_wire_of(wire);
    if (!w->connected || w->out_at == w->out_len)
        return true;
    struct slice all = slice_of(w->out_bytes + w->out_at, w->out_len - w->out_at);
    w->out_at += stream_write(w->stream, &all, 1);
    w->blocked = w->out_at < w->out_len;
    if (!w->blocked)
        w->out_at = w->out_len = 0;
    assert(w->out_at <= w->out_len);
    return !w->blocked;
}

static void put_octets(struct tcp_wire *w, const void *data, size_t len)
{
    assert(len <= OUT_BYTES - w->out_len);
    memcpy(w->out_bytes + w->out_len, data, len);
    w->out_len += len;
}

static bool send_frame(struct frame_wire *wire, struct slice frame)
{
    static const uint8_t marker[FRAME_ASM_LEN] = {0x1a, 0xcf, 0xfc, 0x1d};
    struct tcp_wire *w = tcp_wire_of(wire);
    size_t len = frame.len + (w->config.marked ? sizeof marker : 0);
    assert(len <= OUT_BYTES);
    if (!w->connected || (len > OUT_BYTES - w->out_len && !flush_frames(wire)))
        return false;
    if (w->config.marked)
        put_octets(w, marker, sizeof marker);
    put_octets(w, frame.data, frame.len);
    w->pump.n.out++;
    return true;
}

static bool is_pending(const struct frame_wire *wire)
{
    return tcp_wire_of(wire)->blocked;
}

/* ---- receiving ---- */

static bool fill_frames(struct frame_wire *wire)
{
    return frame_stream_ready(&tcp_wire_of(wire)->pump.in);
}

static uint8_t *give_space(void *context, size_t *len)
{
    struct tcp_wire *w = context;
    return frame_stream_space(&w->pump.in, len);
}

static void take_octets(void *context, size_t len)
{
    struct tcp_wire *w = context;
    assert(w->stream != NULL && !w->pump.closing);
    frame_stream_fed(&w->pump.in, len);
    if (frame_stream_ready(&w->pump.in))
        tell_user(w, true, false);
}

static void take_room(void *context)
{
    struct tcp_wire *w = context;
    assert(w->stream != NULL && !w->pump.closing);
    w->pump.n.connects += !w->connected;
    w->connected = true;
    if (flush_frames(&w->pump.wire))
        tell_user(w, false, w->pump.write);
}

/* ---- connections ---- */

static void end_stream(struct tcp_wire *w)
{
    if (w->stream != NULL)
        stream_close(w->stream);
    w->stream = NULL;
    w->connected = w->blocked = false;
    w->out_at = w->out_len = 0;
    frame_stream_reset(&w->pump.in);
    w->pump.wire.streams++;
    assert(!w->connected && !frame_stream_ready(&w->pump.in));
}

static void take_end(void *context, int error)
{
    struct tcp_wire *w = context;
    (void)error;
    end_stream(w);
    if (w->listener == NULL)
        alarm_set(&w->connect, tick_add(world_now(w->pump.wire.world), RETRY));
    tell_user(w, false, w->pump.write);
}

static const struct stream_user tcp_wire_user = {
    .space = give_space, .fed = take_octets, .writable = take_room, .ended = take_end};

static void take_connection(void *context, struct stream *s)
{
    struct tcp_wire *w = context;
    struct address from;
    if (stream_peer(s, &from) && !address_passes(&from, &w->config.remote, ADDRESS_CHECK_HOST)) {
        w->pump.n.foreign++;
        stream_close(s);
        return;
    }
    end_stream(w);
    w->stream = s;
    w->connected = true;
    w->pump.n.connects++;
    stream_use(s, &tcp_wire_user, w);
    stream_read(s, w->pump.read);
}

/* A stream in memory is connected at once. Other streams report the connection by `writable` after
 * a write that was not accepted: none is accepted before the connection exists. */
static void await_connection(struct tcp_wire *w)
{
    static const uint8_t one[1] = {0};
    struct slice probe = slice_of(one, 1);
    struct address peer;
    if (w->pump.wire.world->pipes != NULL || stream_peer(w->stream, &peer))
        take_room(w);
    else if (stream_write(w->stream, &probe, 1) != 0)
        end_stream(w);
}

static void open_stream(struct tcp_wire *w)
{
    struct stream_place to = {.address = &w->config.remote};
    assert(w->stream == NULL && w->listener == NULL && !w->connected);
    if (stream_connect(w->pump.wire.world, &w->stream, &to, &tcp_wire_user, w) == 0) {
        stream_read(w->stream, w->pump.read);
        await_connection(w);
    } else {
        w->stream = NULL;
    }
    if (w->stream != NULL)
        return;
    alarm_set(&w->connect, tick_add(world_now(w->pump.wire.world), RETRY));
}

static void on_connect(void *context)
{
    struct tcp_wire *w = context;
    if (w->stream == NULL)
        open_stream(w);
}

/* ---- as a wire ---- */

static tick due_of(struct frame_pump *p)
{
    return frame_stream_ready(&p->in) ? 0 : TICK_NEVER;
}

static void watch_stream(struct frame_pump *p)
{
    struct tcp_wire *w = tcp_of_pump(p);
    if (w->stream != NULL)
        stream_read(w->stream, p->read);
}

static void count_wire(const struct frame_wire *wire, struct frame_wire_counters *out)
{
    frame_pump_count(wire, out);
    out->connected = tcp_wire_of(wire)->connected;
}

static void free_wire(struct frame_pump *p)
{
    struct tcp_wire *w = tcp_of_pump(p);
    alarm_fini(&w->connect);
    free(w->out_bytes);
    free(w);
}

static void close_wire(struct frame_wire *wire, void (*closed)(void *context), void *context)
{
    struct tcp_wire *w = tcp_wire_of(wire);
    (void)flush_frames(wire);
    end_stream(w);
    alarm_set(&w->connect, TICK_NEVER);
    if (w->listener != NULL)
        stream_unlisten(w->listener);
    w->listener = NULL;
    frame_pump_close(&w->pump, closed, context);
    frame_pump_end(&w->pump);
}

static const struct frame_wire_ops tcp_wire_ops = {.send = send_frame,
                                                   .flush = flush_frames,
                                                   .pending = is_pending,
                                                   .fill = fill_frames,
                                                   .next = frame_pump_next,
                                                   .watch = frame_pump_watch,
                                                   .count = count_wire,
                                                   .socket = frame_pump_socket,
                                                   .close = close_wire};

static const struct frame_pump_ops tcp_pump_ops = {
    .due = due_of, .watched = watch_stream, .free = free_wire};

static int open_wire(struct tcp_wire *w, const struct frame_wire_config *c)
{
    struct stream_place at = {.address = &c->local};
    int r = frame_pump_stream(&w->pump, c);
    w->out_bytes = malloc(OUT_BYTES);
    if (r == 0 && w->out_bytes == NULL)
        r = HELIO_ENOMEM;
    if (r == 0 && c->kind == FRAME_WIRE_LISTEN)
        return stream_listen(w->pump.wire.world, &w->listener, &at, take_connection, w);
    alarm_set(&w->connect, 0);
    return r;
}

int frame_wire_tcp(struct world *world, struct frame_wire **out, const struct frame_wire_config *c)
{
    struct tcp_wire *w = calloc(1, sizeof *w);
    if (w == NULL)
        return HELIO_ENOMEM;
    frame_pump_init(&w->pump, world, &tcp_wire_ops, &tcp_pump_ops);
    alarm_init(&w->connect, world, ALARM_LINK, on_connect, w);
    w->config = *c;
    w->config.record = w->config.replay = NULL;
    w->config.sle = NULL;
    int r = open_wire(w, c);
    if (r != 0) {
        frame_pump_fini(&w->pump);
        free_wire(&w->pump);
        return r;
    }
    *out = &w->pump.wire;
    return 0;
}
