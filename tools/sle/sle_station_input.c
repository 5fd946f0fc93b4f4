/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the next frame comes from. Frames lie in buffers of a pool, which the engine refers to
 * until they are written to the users' connections: they are not copied.
 *
 * What can go wrong: a datagram that is empty or longer than a frame may be (counted); a connection
 * or a file that ends within a frame (told); memory.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/sle/sle_station.h"

#define POOL_ROOM (64u * 1024u)

/* ---- buffers ---- */

static void pool_init(struct pool *p, uint32_t frame, const struct numbered *fill)
{
    uint32_t fit = POOL_ROOM / frame;
    *p = (struct pool){.room = fit > 0 ? (size_t)fit * frame : frame, .fill = fill};
}

static void pool_fini(struct pool *p)
{
    buf_drop(p->current);
    for (size_t i = 0; i < p->count; i++)
        buf_drop(p->bufs[i]);
    p->count = 0;
    p->current = NULL;
}

static struct buf *make_buf(const struct pool *p)
{
    struct buf *b = buf_new(0, p->room);
    for (size_t at = 0; b != NULL && p->fill != NULL && at < p->room; at += p->fill->length)
        numbered_fill(p->fill, b->mem + at);
    return b;
}

/* One that nobody holds: the first, which is likely to be in the processor's cache; NULL: none. */
static struct buf *find_free(const struct pool *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->bufs[i]->refs == 1)
            return buf_keep(p->bufs[i]);
    return NULL;
}

/* A buffer that nobody holds becomes the current one. False: memory is out. */
static bool turn_pool(struct pool *p)
{
    buf_drop(p->current);
    p->current = NULL;
    struct buf *b = find_free(p);
    if (b == NULL) {
        b = make_buf(p);
        if (b != NULL && p->count < POOL_BUFS)
            p->bufs[p->count++] = buf_keep(b);
    }
    if (b == NULL)
        return false;
    b->len = 0;
    p->current = b;
    return true;
}

/* Room for `len` octets, that stay as long as the buffer; NULL: memory is out. */
static uint8_t *pool_take(struct pool *p, size_t len)
{
    if ((p->current == NULL || p->room - p->current->len < len) && !turn_pool(p))
        return NULL;
    assert(p->room - p->current->len >= len);
    uint8_t *at = p->current->mem + p->current->len;
    p->current->len += len;
    return at;
}

static void set_frame(struct source *x, const uint8_t *at, size_t len)
{
    x->frame = (struct sle_frame){.owner = x->pool.current,
                                  .data = slice_of(at, len),
                                  .time = x->batch_received,
                                  .quality = SLE_GOOD};
}

/* ---- each kind ---- */

static bool next_generated(struct source *x)
{
    if (x->config->count > 0 && x->number == x->config->count) {
        x->finished = true;
        return false;
    }
    uint8_t *at = pool_take(&x->pool, x->numbered.length);
    if (at == NULL)
        return false;
    numbered_write(&x->numbered, x->number++, x->batch_time, at);
    set_frame(x, at, x->numbered.length);
    return true;
}

static bool next_datagram(struct source *x)
{
    struct slice d;
    for (;;) {
        if (!udp_next(x->port->io, &d)) {
            if (!udp_fill(x->port->io, POOL_ROOM))
                return false;
            continue;
        }
        if (d.len == 0 || d.len > x->config->frame) {
            x->bad++;
            continue;
        }
        uint8_t *at = pool_take(&x->pool, d.len);
        if (at == NULL)
            return false;
        memcpy(at, d.data, d.len);
        set_frame(x, at, d.len);
        return true;
    }
}

/* Of what was read to the current buffer. */
static bool next_in_buffer(struct source *x)
{
    size_t frame = x->config->frame;
    if (x->pool.current == NULL || x->filled - x->used < frame)
        return false;
    set_frame(x, x->pool.current->mem + x->used, frame);
    x->used += frame;
    return true;
}

/* Makes room in the current buffer, which holds whole frames; false: memory is out. */
static bool renew_buffer(struct source *x)
{
    if (x->pool.current != NULL && x->filled < x->pool.room)
        return true;
    assert(x->used == x->filled);
    x->used = x->filled = 0;
    return turn_pool(&x->pool);
}

static void end_file(struct source *x, int error)
{
    if (error < 0)
        say(&x->station->log, LEVEL_ERROR, "source %s: %s: %s", x->config->name, x->config->file,
            helio_strerror(error));
    else if (x->filled > x->used)
        say(&x->station->log, LEVEL_WARNING, "source %s: %s ends within a frame", x->config->name,
            x->config->file);
    x->finished = true;
}

static bool next_of_file(struct source *x)
{
    while (!next_in_buffer(x)) {
        if (x->finished || !renew_buffer(x))
            return false;
        ssize_t n = read(x->fd, x->pool.current->mem + x->filled, x->pool.room - x->filled);
        if (n <= 0) {
            end_file(x, n < 0 ? helio_from_errno(errno) : 0);
            return false;
        }
        x->filled += (size_t)n;
    }
    return true;
}

bool feed_next(struct source *x)
{
    switch ((enum source_kind)x->config->kind) {
    case SOURCE_GENERATOR:
        return next_generated(x);
    case SOURCE_UDP:
        return next_datagram(x);
    case SOURCE_TCP:
        return next_in_buffer(x);
    case SOURCE_FILE:
        return next_of_file(x);
    }
    return false;
}

/* ---- a modem's connection ---- */

static uint8_t *find_space(void *context, size_t *len)
{
    struct source *x = context;
    if (!renew_buffer(x))
        return NULL;
    *len = x->pool.room - x->filled;
    return x->pool.current->mem + x->filled;
}

static void on_fed(void *context, size_t len)
{
    struct source *x = context;
    x->filled += len;
    if (x->filled == x->pool.room)
        stream_read(x->stream, false);
    source_run(x);
}

static void on_writable(void *context)
{
    (void)context; /* nothing is written */
}

static void on_ended(void *context, int error)
{
    struct source *x = context;
    say(&x->station->log, LEVEL_WARNING, "source %s: the connection has ended: %s", x->config->name,
        error < 0 ? helio_strerror(error) : "by the peer");
    if ((x->filled - x->used) % x->config->frame != 0)
        say(&x->station->log, LEVEL_WARNING, "source %s: it ended within a frame", x->config->name);
    stream_close(x->stream);
    x->stream = NULL;
    x->filled -= (x->filled - x->used) % x->config->frame;
}

static const struct stream_user stream_user = {find_space, on_fed, on_writable, on_ended};

static void on_accepted(void *context, struct stream *s)
{
    struct source *x = context;
    if (x->stream != NULL) {
        say(&x->station->log, LEVEL_WARNING,
            "source %s: a second connection is refused, one is open", x->config->name);
        stream_reset(s);
        return;
    }
    x->stream = s;
    stream_use(s, &stream_user, x);
    say(&x->station->log, LEVEL_INFO, "source %s: connected", x->config->name);
    source_run(x);
}

static void on_port(void *context, bool readable, bool writable)
{
    (void)writable;
    if (readable)
        source_run(context);
}

/* ---- begin and end ---- */

void feed_watch(struct source *x, bool on)
{
    if (x->port != NULL)
        port_watch(x->port, on, false);
    bool room = x->pool.current == NULL || x->filled < x->pool.room || x->used == x->filled;
    if (x->stream != NULL)
        stream_read(x->stream, on && room);
}

static int open_kind(struct source *x)
{
    const struct settings_source *c = x->config;
    struct world *w = x->station->world;
    switch ((enum source_kind)c->kind) {
    case SOURCE_GENERATOR:
        x->numbered = (struct numbered){.tm = c->format == SOURCE_TM,
                                        .scid = (uint16_t)c->scid,
                                        .vcids = (uint8_t)c->vcids,
                                        .length = (uint32_t)c->frame};
        pool_init(&x->pool, x->numbered.length, &x->numbered);
        return 0;
    case SOURCE_UDP: {
        int e = port_open(w, &x->port, &c->address, false, on_port, x);
        if (e == 0)
            (void)udp_buffers(x->port->io, 8u << 20, 0, &(uint64_t){0}, &(uint64_t){0});
        return e;
    }
    case SOURCE_TCP:
        return stream_listen(w, &x->listener, &(struct stream_place){.address = &c->address},
                             on_accepted, x);
    case SOURCE_FILE:
        x->fd = open(c->file, O_RDONLY | O_CLOEXEC);
        return x->fd < 0 ? helio_from_errno(errno) : 0;
    }
    return HELIO_EINVAL;
}

int feed_open(struct source *x)
{
    pool_init(&x->pool, (uint32_t)x->config->frame, NULL);
    int e = open_kind(x);
    if (e < 0)
        say(&x->station->log, LEVEL_ERROR, "source %s: %s: %s", x->config->name,
            x->config->kind == SOURCE_FILE ? x->config->file : x->config->address_text,
            helio_strerror(e));
    else
        source_wake(x);
    return e;
}

static void on_closed(void *context)
{
    (void)context;
}

void feed_end(struct source *x)
{
    if (x->port != NULL)
        port_close(x->port, on_closed, NULL);
    if (x->listener != NULL)
        stream_unlisten(x->listener);
    if (x->stream != NULL)
        stream_close(x->stream);
    if (x->fd >= 0)
        close(x->fd);
    x->port = NULL;
    x->listener = NULL;
    x->stream = NULL;
    x->fd = -1;
    pool_fini(&x->pool);
}
