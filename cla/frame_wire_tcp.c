/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames one behind the other on a TCP connection, with or without markers. Whoever connects tries
 * again each second; whoever listens takes the newest connection of the peer's host. While there is
 * none, frames that leave are lost, as on a link without a signal. What can go wrong: the address
 * cannot be bound, memory, at the beginning; later on a connection that ends, whose half frames are
 * dropped at both ends.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/frame_wire.h"

#define OUT_BYTES (256 * 1024)
#define RETRY TICK_S

struct tcp_wire {
    struct frame_wire wire;
    struct frame_wire_config config;
    struct stream_listener *listener;
    struct stream *stream; /* NULL: none */
    bool connected, read, write, blocked;
    struct alarm again; /* to connect; to say that there is something to read */
    struct frame_stream in;
    uint8_t *in_bytes, *out_bytes;
    size_t out_at, out_len;
    struct frame_wire_counters n;
    void (*closed)(void *context);
    void *closed_context;
};

static struct tcp_wire *tcp_wire_of(const struct frame_wire *w)
{
    return container_of((struct frame_wire *)(uintptr_t)w, struct tcp_wire, wire);
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
    w->n.out++;
    return true;
}

static bool is_pending(const struct frame_wire *wire)
{
    return tcp_wire_of(wire)->blocked;
}

/* ---- receiving ---- */

static bool fill_frames(struct frame_wire *wire)
{
    return frame_stream_ready(&tcp_wire_of(wire)->in);
}

static bool next_frame(struct frame_wire *wire, struct slice *frame)
{
    struct tcp_wire *w = tcp_wire_of(wire);
    assert(w->closed == NULL);
    if (!frame_stream_next(&w->in, frame))
        return false;
    w->n.in++;
    return true;
}

static uint8_t *give_space(void *context, size_t *len)
{
    struct tcp_wire *w = context;
    return frame_stream_space(&w->in, len);
}

static void take_octets(void *context, size_t len)
{
    struct tcp_wire *w = context;
    assert(w->stream != NULL && w->closed == NULL);
    frame_stream_fed(&w->in, len);
    if (frame_stream_ready(&w->in))
        w->wire.ready(w->wire.context, true, false);
}

static void take_room(void *context)
{
    struct tcp_wire *w = context;
    assert(w->stream != NULL && w->closed == NULL);
    w->n.connects += !w->connected;
    w->connected = true;
    if (flush_frames(&w->wire))
        w->wire.ready(w->wire.context, false, w->write);
}

/* ---- connections ---- */

static void end_stream(struct tcp_wire *w)
{
    if (w->stream != NULL)
        stream_close(w->stream);
    w->stream = NULL;
    w->connected = w->blocked = false;
    w->out_at = w->out_len = 0;
    frame_stream_reset(&w->in);
    assert(!w->connected && !frame_stream_ready(&w->in));
}

static void take_end(void *context, int error)
{
    struct tcp_wire *w = context;
    (void)error;
    end_stream(w);
    if (w->listener == NULL)
        alarm_set(&w->again, tick_add(world_now(w->wire.world), RETRY));
    w->wire.ready(w->wire.context, false, w->write);
}

static const struct stream_user tcp_wire_user = {
    .space = give_space, .fed = take_octets, .writable = take_room, .ended = take_end};

static void take_connection(void *context, struct stream *s)
{
    struct tcp_wire *w = context;
    struct address from;
    if (stream_peer(s, &from) && !frame_wire_same_host(&from, &w->config.remote)) {
        w->n.foreign++;
        stream_close(s);
        return;
    }
    end_stream(w);
    w->stream = s;
    w->connected = true;
    w->n.connects++;
    stream_use(s, &tcp_wire_user, w);
    stream_read(s, w->read);
}

/* A stream in memory is connected at once. Of others that is told to whom a write did not suit:
 * none does before the connection is there, and has a peer. */
static void await_connection(struct tcp_wire *w)
{
    static const uint8_t one[1] = {0};
    struct slice probe = slice_of(one, 1);
    struct address peer;
    if (w->wire.world->pipes != NULL || stream_peer(w->stream, &peer))
        take_room(w);
    else if (stream_write(w->stream, &probe, 1) != 0)
        end_stream(w);
}

static void open_stream(struct tcp_wire *w)
{
    struct stream_place to = {.address = &w->config.remote};
    assert(w->stream == NULL && w->listener == NULL && !w->connected);
    if (stream_connect(w->wire.world, &w->stream, &to, &tcp_wire_user, w) == 0) {
        stream_read(w->stream, w->read);
        await_connection(w);
    } else {
        w->stream = NULL;
    }
    if (w->stream != NULL)
        return;
    alarm_set(&w->again, tick_add(world_now(w->wire.world), RETRY));
}

static void free_wire(struct tcp_wire *w)
{
    free(w->in_bytes);
    free(w->out_bytes);
    free(w);
}

static void on_again(void *context)
{
    struct tcp_wire *w = context;
    if (w->closed != NULL) {
        alarm_fini(&w->again);
        w->closed(w->closed_context);
        free_wire(w);
        return;
    }
    if (w->stream == NULL && w->listener == NULL)
        open_stream(w);
    else if (w->read && frame_stream_ready(&w->in))
        w->wire.ready(w->wire.context, true, false);
}

/* ---- as a wire ---- */

static void watch_wire(struct frame_wire *wire, bool read, bool write)
{
    struct tcp_wire *w = tcp_wire_of(wire);
    assert(w->closed == NULL);
    w->read = read;
    w->write = write;
    if (w->stream == NULL)
        return;
    stream_read(w->stream, read);
    if (read && frame_stream_ready(&w->in))
        alarm_set(&w->again, 0);
}

static void count_wire(const struct frame_wire *wire, struct frame_wire_counters *out)
{
    const struct tcp_wire *w = tcp_wire_of(wire);
    *out = w->n;
    out->skipped_bytes = w->in.skipped;
    out->connected = w->connected;
}

static struct udp_io *socket_of(const struct frame_wire *wire)
{
    (void)wire;
    return NULL;
}

static void close_wire(struct frame_wire *wire, void (*closed)(void *context), void *context)
{
    struct tcp_wire *w = tcp_wire_of(wire);
    assert(w->closed == NULL && closed != NULL);
    (void)flush_frames(wire);
    end_stream(w);
    if (w->listener != NULL)
        stream_unlisten(w->listener);
    w->listener = NULL;
    w->closed = closed;
    w->closed_context = context;
    alarm_set(&w->again, 0);
}

static const struct frame_wire_ops tcp_wire_ops = {.send = send_frame,
                                                   .flush = flush_frames,
                                                   .pending = is_pending,
                                                   .fill = fill_frames,
                                                   .next = next_frame,
                                                   .watch = watch_wire,
                                                   .count = count_wire,
                                                   .socket = socket_of,
                                                   .close = close_wire};

int frame_wire_tcp(struct world *world, struct frame_wire **out, const struct frame_wire_config *c)
{
    struct tcp_wire *w = calloc(1, sizeof *w);
    struct stream_place at = {.address = &c->local};
    if (w == NULL)
        return HELIO_ENOMEM;
    w->wire = (struct frame_wire){.ops = &tcp_wire_ops, .world = world};
    w->config = *c;
    w->config.record = w->config.replay = NULL;
    w->in_bytes = malloc(frame_wire_stream_room(c));
    w->out_bytes = malloc(OUT_BYTES);
    if (w->in_bytes == NULL || w->out_bytes == NULL) {
        free_wire(w);
        return HELIO_ENOMEM;
    }
    frame_stream_init(&w->in, c->mode, c->length, w->in_bytes, frame_wire_stream_room(c));
    if (c->kind == FRAME_WIRE_LISTEN) {
        int r = stream_listen(world, &w->listener, &at, take_connection, w);
        if (r != 0) {
            free_wire(w);
            return r;
        }
    }
    alarm_init(&w->again, world, ALARM_LINK, on_again, w);
    if (w->listener == NULL)
        alarm_set(&w->again, 0);
    *out = &w->wire;
    return 0;
}
