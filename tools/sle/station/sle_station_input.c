/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the next frame comes from. Frames lie in buffers of a pool, which the engine refers to
 * until they are written to the users' connections: they are not copied.
 *
 * What can go wrong: a datagram that is empty or longer than a frame may be (counted); a connection
 * or a file that ends within a frame (logged); memory.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/sle/station/sle_station.h"

#define READ_ROOM (64u * 1024u) /* of datagrams at once */

static void set_frame(struct source *x, const uint8_t *at, size_t len)
{
    x->frame = (struct sle_frame){.owner = x->pool->current,
                                  .room = x->pool->gap,
                                  .data = slice_of(at, len),
                                  .time = x->received,
                                  .quality = SLE_GOOD};
}

/* ---- each kind ---- */

static bool next_generated(struct source *x)
{
    if (x->config->count > 0 && x->number == x->config->count) {
        x->finished = true;
        return false;
    }
    uint8_t *at = pool_take(x->pool, x->numbered.length);
    if (at == NULL)
        return false;
    numbered_write(&x->numbered, x->number++, x->stamp, at);
    set_frame(x, at, x->numbered.length);
    return true;
}

static bool next_datagram(struct source *x)
{
    struct slice d;
    for (unsigned n = 0; n < FEED_OTHERS;) {
        if (!udp_next(x->port->io, &d)) {
            if (!udp_fill(x->port->io, READ_ROOM))
                return false;
            continue;
        }
        if (d.len == 0 || d.len > x->config->frame) {
            x->bad++;
            n++;
            continue;
        }
        uint8_t *at = pool_take(x->pool, d.len);
        if (at == NULL)
            return false;
        memcpy(at, d.data, d.len);
        set_frame(x, at, d.len);
        return true;
    }
    x->more = true;
    return false;
}

/* Of what was read to the current buffer. */
static bool next_in_buffer(struct source *x)
{
    size_t frame = x->config->frame;
    if (x->pool->current == NULL || x->filled - x->used < frame)
        return false;
    set_frame(x, x->pool->current->mem + x->used, frame);
    x->used += frame;
    return true;
}

/* Makes room in the current buffer, which holds whole frames; false: memory is out. */
static bool renew_buffer(struct source *x)
{
    if (x->pool->current != NULL && x->filled < x->pool->room)
        return true;
    assert(x->used == x->filled);
    x->used = x->filled = 0;
    return pool_turn(x->pool);
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
        ssize_t n = read(x->fd, x->pool->current->mem + x->filled, x->pool->room - x->filled);
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
    if (x->config->modem)
        return modem_next(x);
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
    if (x->config->modem)
        return modem_space(x, len);
    if (!renew_buffer(x))
        return NULL;
    *len = x->pool->room - x->filled;
    return x->pool->current->mem + x->filled;
}

static void on_fed(void *context, size_t len)
{
    struct source *x = context;
    if (x->config->modem) {
        modem_fed(x, len);
    } else {
        x->filled += len;
        if (x->filled == x->pool->room)
            stream_read(x->stream, false);
    }
    source_run(x);
}

static void on_writable(void *context)
{
    (void)context; /* nothing is written */
}

static void on_ended(void *context, int error)
{
    struct source *x = context;
    station_say(x->station, LINES_SOURCE, LEVEL_WARNING, "source %s: the connection has ended: %s",
                x->config->name, error < 0 ? helio_strerror(error) : "by the peer");
    const bool cut =
        x->config->modem ? modem_cut(x) : (x->filled - x->used) % x->config->frame != 0;
    if (cut)
        station_say(x->station, LINES_SOURCE, LEVEL_WARNING, "source %s: it ended within a frame",
                    x->config->name);
    stream_close(x->stream);
    x->stream = NULL;
    if (!x->config->modem)
        x->filled -= (x->filled - x->used) % x->config->frame;
}

static const struct stream_user stream_user = {find_space, on_fed, on_writable, on_ended};

static void on_accepted(void *context, struct stream *s)
{
    struct source *x = context;
    if (x->stream != NULL) {
        station_say(x->station, LINES_SOURCE, LEVEL_WARNING,
                    "source %s: a second connection is refused, one is open", x->config->name);
        stream_reset(s);
        return;
    }
    x->stream = s;
    stream_use(s, &stream_user, x);
    station_say(x->station, LINES_SOURCE, LEVEL_INFO, "source %s: connected", x->config->name);
    source_run(x);
}

static void on_port(void *context, bool readable, bool writable)
{
    (void)writable;
    if (readable)
        source_run(context);
}

/* ---- begin and end ---- */

/* That of a generator of like frames, so that all are made in the same few buffers, which stay in
 * the processor's cache; or a new one. False: memory is out, nothing is changed. */
static bool use_pool(struct source *x, uint32_t gap)
{
    const struct station *t = x->station;
    bool numbered = x->config->kind == SOURCE_GENERATOR;
    struct pool *p = NULL;
    for (size_t i = 0; numbered && p == NULL && i < t->settings->sources_len; i++) {
        const struct source *y = &t->sources[i];
        if (y->pool != NULL && y->config->kind == SOURCE_GENERATOR && y->pool->gap == gap &&
            y->config->frame == x->config->frame && y->config->format == x->config->format)
            p = pool_keep(y->pool);
    }
    const uint32_t front = x->config->modem ? MODEM_FRONT_MAX : 0;
    if (p == NULL)
        p = pool_new((uint32_t)x->config->frame + front, gap, numbered);
    if (p == NULL)
        return false;
    pool_drop(x->pool);
    x->pool = p;
    return true;
}

/* What is read from connections and files lies frame behind frame: there is no gap. */
void feed_gap(struct source *x, size_t gap)
{
    bool kind = x->config->kind == SOURCE_GENERATOR || x->config->kind == SOURCE_UDP;
    if (kind && !x->config->modem && gap != x->pool->gap)
        (void)use_pool(x, (uint32_t)gap); /* without memory heads are elsewhere */
}

void feed_watch(struct source *x, bool on)
{
    if (x->port != NULL)
        port_watch(x->port, on, false);
    bool room = x->pool->current == NULL || x->filled < x->pool->room || x->used == x->filled;
    if (x->inbox != NULL)
        room = modem_has_room(x);
    if (x->stream != NULL) /* up to a buffer is read unasked, and so the connection's end */
        stream_read(x->stream, room);
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
    int e = use_pool(x, 0) ? open_kind(x) : HELIO_ENOMEM;
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
    pool_drop(x->pool);
    x->pool = NULL;
}

/* ---- the operational control field ---- */

/*
 * For ROCF: the last four octets of a frame before its frame error control field. Whether AOS
 * frames have one is managed, as the source's configuration says; TM frames (132.0-B 4.1.2.4) and
 * USLP frames (732.1-B 4.1) say so themselves, truncated ones of USLP have none.
 */

enum { VERSION_TM = 0, TM_HEAD = 6, TM_OCF = 0x01 };
enum { VERSION_USLP = 12, USLP_HEAD = 7, OCF = 4 };
enum { USLP_TRUNCATED = 0x01, USLP_OCF = 0x08, USLP_COUNT = 0x07 };

/* With its frame count and an octet of data field. */
static bool uslp_has_word(struct slice f, size_t behind)
{
    if (f.len < USLP_HEAD || (f.data[3] & USLP_TRUNCATED) != 0 || (f.data[6] & USLP_OCF) == 0)
        return false;
    return f.len > USLP_HEAD + (size_t)(f.data[6] & USLP_COUNT) + OCF + behind;
}

/* The flag is the last bit of the first two octets; an octet of data field is there at least. */
static bool tm_has_word(struct slice f, size_t behind)
{
    return f.len > TM_HEAD + OCF + behind && (f.data[1] & TM_OCF) != 0;
}

static bool has_word(struct slice f, size_t behind)
{
    if (f.len < OCF + behind || f.len == 0)
        return false;
    if (f.data[0] >> 4 == VERSION_USLP)
        return uslp_has_word(f, behind);
    return f.data[0] >> 6 != VERSION_TM || tm_has_word(f, behind);
}

void station_word(const struct settings_source *c, struct sle_frame *frame)
{
    struct slice f = frame->data;
    size_t behind = (size_t)c->fecf;
    frame->has_ocf = c->control_words && has_word(f, behind);
    if (frame->has_ocf)
        memcpy(frame->ocf, f.data + f.len - behind - OCF, OCF);
}
