/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings: what leaves goes to a file, by a thread, so that a slow medium disturbs nobody; what
 * arrives is read from another one, at a rate. What can go wrong: a file that cannot be opened, at
 * the beginning; later on a medium that is full, or too slow, which loses whole frames and is
 * counted. A recording that has ended is over.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/frame_wire.h"
#include "os/log_writer.h"

#define WRITE_LATEST (200 * TICK_MS)
#define CHUNK 65536

struct file_wire {
    struct frame_wire wire;
    bool marked, read;
    struct log_writer *record; /* NULL: none */
    struct alarm write;        /* what was gathered is written */
    FILE *replay;              /* NULL: none, or it is over */
    uint64_t rate;
    tick due; /* of the next frame */
    struct alarm again;
    struct frame_stream in;
    uint8_t *in_bytes;
    struct frame_wire_counters n;
    void (*closed)(void *context);
    void *closed_context;
};

static struct file_wire *file_wire_of(const struct frame_wire *w)
{
    return container_of((struct frame_wire *)(uintptr_t)w, struct file_wire, wire);
}

/* ---- recording ---- */

static bool send_frame(struct frame_wire *wire, struct slice frame)
{
    static const uint8_t marker[FRAME_ASM_LEN] = {0x1a, 0xcf, 0xfc, 0x1d};
    struct file_wire *w = file_wire_of(wire);
    size_t head = w->marked ? sizeof marker : 0;
    if (w->record == NULL)
        return true; /* nobody looks */
    uint8_t *to = log_writer_room(w->record, head + frame.len);
    if (to == NULL)
        return false;
    memcpy(to, marker, head);
    memcpy(to + head, frame.data, frame.len);
    log_writer_put(w->record, head + frame.len);
    w->n.out++;
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
    uint8_t *to = frame_stream_space(&w->in, &room);
    size_t n = fread(to, 1, room < CHUNK ? room : CHUNK, w->replay);
    frame_stream_fed(&w->in, n);
    if (n > 0)
        return;
    (void)fclose(w->replay);
    w->replay = NULL;
}

/* A frame may be there later, if not now. */
static bool find_frame(struct file_wire *w)
{
    while (!frame_stream_ready(&w->in)) {
        if (w->replay == NULL)
            return false;
        read_chunk(w);
    }
    return true;
}

static void wait_for_frame(struct file_wire *w)
{
    bool any = w->read && find_frame(w);
    alarm_set(&w->again, any ? w->due : TICK_NEVER);
}

/* Those that are due lie in the buffer: reading on would move them. */
static bool fill_frames(struct frame_wire *wire)
{
    struct file_wire *w = file_wire_of(wire);
    return find_frame(w) && w->due <= world_now(wire->world);
}

static bool next_frame(struct frame_wire *wire, struct slice *frame)
{
    struct file_wire *w = file_wire_of(wire);
    if (w->due > world_now(wire->world) || !frame_stream_next(&w->in, frame))
        return false;
    size_t len = frame->len + (w->marked ? FRAME_ASM_LEN : 0);
    if (w->rate > 0)
        w->due = tick_add(w->due, len * 8 * TICK_S / w->rate);
    w->n.in++;
    return true;
}

static void on_again(void *context)
{
    struct file_wire *w = context;
    if (w->closed == NULL) {
        w->wire.ready(w->wire.context, true, false);
        return;
    }
    alarm_fini(&w->again);
    alarm_fini(&w->write);
    w->closed(w->closed_context);
    log_writer_free(w->record);
    free(w->in_bytes);
    free(w);
}

/* ---- as a wire ---- */

static void watch_wire(struct frame_wire *wire, bool read, bool write)
{
    struct file_wire *w = file_wire_of(wire);
    assert(w->closed == NULL);
    (void)write; /* never full */
    w->read = read;
    wait_for_frame(w);
}

static void count_wire(const struct frame_wire *wire, struct frame_wire_counters *out)
{
    const struct file_wire *w = file_wire_of(wire);
    *out = w->n;
    out->skipped_bytes = w->in.skipped;
    out->record_lost = w->record == NULL ? 0 : log_writer_lost(w->record);
}

static struct udp_io *socket_of(const struct frame_wire *wire)
{
    (void)wire;
    return NULL;
}

static void close_wire(struct frame_wire *wire, void (*closed)(void *context), void *context)
{
    struct file_wire *w = file_wire_of(wire);
    assert(w->closed == NULL && closed != NULL);
    if (w->replay != NULL)
        (void)fclose(w->replay);
    w->replay = NULL;
    w->closed = closed;
    w->closed_context = context;
    alarm_set(&w->again, 0);
}

static const struct frame_wire_ops file_wire_ops = {.send = send_frame,
                                                    .flush = flush_frames,
                                                    .pending = is_pending,
                                                    .fill = fill_frames,
                                                    .next = next_frame,
                                                    .watch = watch_wire,
                                                    .count = count_wire,
                                                    .socket = socket_of,
                                                    .close = close_wire};

static bool is_named(const char *path)
{
    return path != NULL && *path != '\0';
}

static int open_files(struct file_wire *w, const struct frame_wire_config *c)
{
    unsigned flags = LOG_APPEND | (w->wire.world->wakeups_free ? (unsigned)LOG_WAIT : 0U);
    w->in_bytes = malloc(frame_wire_stream_room(c));
    if (w->in_bytes == NULL)
        return HELIO_ENOMEM;
    frame_stream_init(&w->in, c->mode, c->length, w->in_bytes, frame_wire_stream_room(c));
    if (is_named(c->replay)) {
        w->replay = fopen(c->replay, "rbe");
        if (w->replay == NULL)
            return helio_from_errno(errno);
    }
    return is_named(c->record) ? log_writer_open(&w->record, c->record, flags, slice_of("", 0)) : 0;
}

int frame_wire_file(struct world *world, struct frame_wire **out, const struct frame_wire_config *c)
{
    struct file_wire *w = calloc(1, sizeof *w);
    if (w == NULL)
        return HELIO_ENOMEM;
    w->wire = (struct frame_wire){.ops = &file_wire_ops, .world = world};
    w->marked = c->marked;
    w->rate = c->replay_rate;
    int r = open_files(w, c);
    if (r != 0) {
        if (w->replay != NULL)
            (void)fclose(w->replay);
        free(w->in_bytes);
        free(w);
        return r;
    }
    w->due = world_now(world);
    alarm_init(&w->again, world, ALARM_LINK, on_again, w);
    alarm_init(&w->write, world, ALARM_LINK, on_write, w);
    assert(w->wire.ops != NULL && w->in_bytes != NULL);
    *out = &w->wire;
    return 0;
}
