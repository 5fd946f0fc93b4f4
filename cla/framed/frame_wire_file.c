/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings. Sent frames are written to a file by a thread, so that a slow medium does not block
 * the loop. Received frames are read from another file, at a rate, one chunk in a turn. What can go
 * wrong: at the beginning a file that cannot be opened, or is no regular file; later a medium that
 * is full or too slow, which loses whole frames and is counted. At its end a recording stops.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/framed/frame_pump.h"
#include "os/input_file.h"
#include "os/log/log_writer.h"

#define WRITE_LATEST (200 * TICK_MS)
#define CHUNK 65536

struct file_wire {
    struct frame_pump pump;
    bool marked;
    struct log_writer *record; /* NULL: none */
    struct alarm write;        /* what was gathered is written */
    FILE *replay;              /* NULL: none, or it has ended */
    uint64_t rate;
    tick due; /* of the next frame */
    /* Octets of pump.in outside frames, up to the last call of `due`. */
    uint64_t skipped;
};

static struct file_wire *file_of_pump(struct frame_pump *p)
{
    return container_of(p, struct file_wire, pump);
}

static struct file_wire *file_wire_of(const struct frame_wire *w)
{
    return file_of_pump(frame_pump_of(w));
}

/* ---- recording ---- */

static bool send_frame(struct frame_wire *wire, struct slice frame)
{
    static const uint8_t marker[FRAME_ASM_LEN] = {0x1a, 0xcf, 0xfc, 0x1d};
    struct file_wire *w = file_wire_of(wire);
    size_t head = w->marked ? sizeof marker : 0;
    if (w->record == NULL)
        return true; /* the state is not used */
    uint8_t *to = log_writer_room(w->record, head + frame.len);
    if (to == NULL)
        return false;
    memcpy(to, marker, head);
    memcpy(to + head, frame.data, frame.len);
    log_writer_put(w->record, head + frame.len);
    w->pump.n.out++;
    if (alarm_due(&w->write) == TICK_NEVER)
        alarm_set(&w->write, tick_add(world_now(wire->world), WRITE_LATEST));
    return true;
}

static bool flush_frames(struct frame_wire *wire)
{
    (void)wire;
    return true;
}

static bool is_pending(const struct frame_wire *wire)
{
    (void)wire;
    return false;
}

static void on_write(void *context)
{
    struct file_wire *w = context;
    assert(w->record != NULL);
    log_writer_flush(w->record);
}

/* ---- reading ---- */

static void read_chunk(struct file_wire *w)
{
    size_t room;
    assert(w->replay != NULL);
    uint8_t *to = frame_stream_space(&w->pump.in, &room);
    size_t n = fread(to, 1, room < CHUNK ? room : CHUNK, w->replay);
    frame_stream_fed(&w->pump.in, n);
    if (n > 0)
        return;
    (void)fclose(w->replay);
    w->replay = NULL;
    w->pump.wire.streams++;
}

/* Octets take their time on the channel. */
static void spend_octets(struct file_wire *w, uint64_t n)
{
    if (w->rate > 0)
        w->due = tick_add(w->due, n * 8 * TICK_S / w->rate);
}

/* Is there a frame? What is skipped, takes its time. */
static bool find_frame(struct file_wire *w)
{
    const bool found = frame_stream_ready(&w->pump.in);
    spend_octets(w, w->pump.in.skipped - w->skipped);
    w->skipped = w->pump.in.skipped;
    return found;
}

/* When a frame is due that is there, or that the next chunk may have. */
static tick due_of(struct frame_pump *p)
{
    struct file_wire *w = file_of_pump(p);
    return find_frame(w) || w->replay != NULL ? w->due : TICK_NEVER;
}

/* Those that are due lie in the buffer: reading on would move them. Otherwise a chunk is read, and
 * no more before the next turn, whether or not it has one. */
static bool fill_frames(struct frame_wire *wire)
{
    struct file_wire *w = file_wire_of(wire);
    const tick now = world_now(wire->world);
    if (w->due > now)
        return false;
    if (!find_frame(w) && w->replay != NULL)
        read_chunk(w);
    return find_frame(w) && w->due <= now;
}

static bool next_frame(struct frame_wire *wire, struct slice *frame)
{
    struct file_wire *w = file_wire_of(wire);
    if (w->due > world_now(wire->world) || !frame_pump_next(wire, frame))
        return false;
    spend_octets(w, frame->len + (w->marked ? FRAME_ASM_LEN : 0));
    return true;
}

/* ---- as a wire ---- */

static void count_wire(const struct frame_wire *wire, struct frame_wire_counters *out)
{
    const struct file_wire *w = file_wire_of(wire);
    frame_pump_count(wire, out);
    out->record_lost = w->record == NULL ? 0 : log_writer_lost(w->record);
}

static void free_wire(struct frame_pump *p)
{
    struct file_wire *w = file_of_pump(p);
    alarm_fini(&w->write);
    log_writer_free(w->record);
    free(w);
}

static void close_wire(struct frame_wire *wire, void (*closed)(void *context), void *context)
{
    struct file_wire *w = file_wire_of(wire);
    frame_pump_close(&w->pump, closed, context);
    if (w->replay != NULL)
        (void)fclose(w->replay);
    w->replay = NULL;
    frame_pump_end(&w->pump);
}

static const struct frame_wire_ops file_wire_ops = {.send = send_frame,
                                                    .flush = flush_frames,
                                                    .pending = is_pending,
                                                    .fill = fill_frames,
                                                    .next = next_frame,
                                                    .watch = frame_pump_watch,
                                                    .count = count_wire,
                                                    .socket = frame_pump_socket,
                                                    .close = close_wire};
static const struct frame_pump_ops file_pump_ops = {.due = due_of, .free = free_wire};

static int open_files(struct file_wire *w, const struct frame_wire_config *c)
{
    bool waits = w->pump.wire.world->wakeups_free;
    unsigned flags = LOG_APPEND | (waits ? (unsigned)LOG_WAIT : 0U);
    int r = frame_pump_stream(&w->pump, c);
    if (r != 0)
        return r;
    if (frame_wire_given(c->replay)) {
        char why[64]; /* frame_keys_check says it */
        w->replay = input_file_regular(c->replay, why, sizeof why);
        if (w->replay == NULL)
            return helio_from_errno(errno);
    }
    return frame_wire_given(c->record)
               ? log_writer_open(&w->record, c->record, flags, slice_of("", 0))
               : 0;
}

int frame_wire_file(struct world *world, struct frame_wire **out, const struct frame_wire_config *c)
{
    struct file_wire *w = calloc(1, sizeof *w);
    if (w == NULL)
        return HELIO_ENOMEM;
    frame_pump_init(&w->pump, world, &file_wire_ops, &file_pump_ops);
    w->marked = c->marked;
    w->rate = c->replay_rate;
    int r = open_files(w, c);
    if (r != 0) {
        if (w->replay != NULL)
            (void)fclose(w->replay);
        frame_pump_fini(&w->pump);
        free(w);
        return r;
    }
    w->due = world_now(world);
    alarm_init(&w->write, world, ALARM_LINK, on_write, w);
    assert(w->pump.wire.ops != NULL && w->pump.in_bytes != NULL);
    *out = &w->pump.wire;
    return 0;
}
