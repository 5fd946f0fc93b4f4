/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources with what a modem knows (sle_modem.h): each frame has its earth receive time, quality,
 * antenna and annotation from there, and changes of lock and production go to the users where they
 * happened, between the frames. The control socket tells the same of any source.
 *
 * Words are recorded as frames are: an instance that reads from the recording finds them where
 * they were recorded.
 *
 * What can go wrong: a datagram is no unit (counted, left out); a connection has octets that are no
 * unit: what follows cannot be found any more, and it is broken off.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/port.h"
#include "tools/sle/station/sle_station.h"

#define READ_ROOM (64u * 1024u) /* of datagrams at once */
#define AHEAD_MAX (60 * TICK_S) /* of the wall clock: a later time is no place in a recording */
#define TAG_HEADED 3u           /* quality of a record whose data begins with a modem's head */

struct inbox {
    size_t room, len, at; /* octets received, and read */
    uint8_t octets[];
};

/* ---- words ---- */

static bool same_locks(const struct sle_locks *a, const struct sle_locks *b)
{
    return a->frame == b->frame && a->symbol == b->symbol && a->subcarrier == b->subcarrier &&
           a->carrier == b->carrier;
}

void word_give(struct instance *i, const struct modem_unit *u)
{
    const tick now = world_now(i->station->world);
    const bool had = i->locks.frame != SLE_OUT_OF_LOCK;
    if (u->kind == MODEM_END) {
        sle_provider_end_of_data(i->sle, now);
        return;
    }
    if (!same_locks(&i->locks, &u->locks)) {
        i->locks = u->locks;
        if (had && u->locks.frame == SLE_OUT_OF_LOCK)
            sle_provider_loss(i->sle, u->time, &u->locks, now);
        else
            sle_provider_locks(i->sle, &u->locks);
    }
    if (i->frames_production != u->production) {
        i->frames_production = u->production;
        sle_provider_production(i->sle, u->production, now);
    }
}

static void record_unit(struct source *x, const struct modem_unit *u, unsigned sequence)
{
    uint8_t front[MODEM_FRONT_MAX];
    const size_t len = modem_write(u, front);
    (void)recording_add(x->recording, x->time, TAG_HEADED | (uint32_t)sequence << 2,
                        slice_of(front, len), u->data);
}

void source_word(struct source *x, const struct modem_unit *u)
{
    x->locks = u->kind == MODEM_STATUS ? u->locks : x->locks;
    x->production = u->kind == MODEM_STATUS ? u->production : x->production;
    if (x->recording != NULL && x->time > 0) { /* else there is nothing before it */
        if (!x->pending)
            x->time++;
        record_unit(x, u, 0);
    }
    for (size_t k = 0; k < x->instances_len; k++) {
        struct instance *i = x->instances[k];
        if (i->config->mode == SLE_OFFLINE)
            continue;
        if (i->catchup.on)
            catchup_word(i, u, x->time);
        else
            word_give(i, u);
    }
}

/* What the head of a frame says of locks and production, where that is new. */
static void follow_status(struct source *x, const struct modem_unit *u)
{
    if (PORT_LIKELY(same_locks(&x->locks, &u->locks) && x->production == u->production))
        return;
    const struct modem_unit word = {
        .kind = MODEM_STATUS, .production = u->production, .locks = u->locks, .time = u->time};
    source_word(x, &word);
}

/* ---- frames ---- */

/* Where the unit is in the recording: at its own time, behind all earlier ones. */
static void stamp_unit(struct source *x, const struct modem_unit *u)
{
    const uint64_t time = sle_time_unix(u->time);
    if (time > x->batch_time + AHEAD_MAX)
        return; /* by its arrival, as any other frame */
    x->stamp = time;
    if (x->recording != NULL && x->time > 0)
        x->stamp = tick_max(time, x->time + TICK_US); /* see stamp_next */
}

static struct slice moved(struct slice part, const uint8_t *from, const uint8_t *to)
{
    return slice_of(to + (part.data - from), part.len);
}

/* The unit is copied to the pool: its frame stays there as long as somebody has use for it. */
static bool place_frame(struct source *x, struct slice whole, const struct modem_unit *u)
{
    uint8_t *at = pool_take(x->pool, whole.len);
    if (at == NULL)
        return false;
    memcpy(at, whole.data, whole.len);
    x->frame = (struct sle_frame){.owner = x->pool->current,
                                  .data = moved(u->data, whole.data, at),
                                  .time = u->time,
                                  .antenna = moved(u->antenna, whole.data, at),
                                  .antenna_global = u->antenna_global,
                                  .annotation = moved(u->annotation, whole.data, at),
                                  .quality = SLE_GOOD};
    x->quality_said = u->quality != MODEM_QUALITY_NOT_SAID;
    x->missing_said = u->missing != MODEM_MISSING_NOT_SAID;
    if (x->quality_said)
        x->frame.quality = (enum sle_quality)u->quality;
    if (x->missing_said)
        x->frame.continuity = (int32_t)u->missing;
    return true;
}

/* True: it was a frame, which is x->frame now. *full: memory is out, the unit is left. */
static bool take_unit(struct source *x, struct slice whole, const struct modem_unit *u, bool *full)
{
    stamp_unit(x, u);
    if (u->kind != MODEM_FRAME) {
        source_word(x, u);
        return false;
    }
    follow_status(x, u);
    stamp_unit(x, u); /* a word may have been before it */
    *full = !place_frame(x, whole, u);
    return !*full;
}

static bool next_datagram(struct source *x)
{
    struct slice d;
    struct modem_unit u;
    size_t used;
    bool full = false;
    for (unsigned n = 0; n < FEED_OTHERS && !full;) {
        if (!udp_next(x->port->io, &d)) {
            if (!udp_fill(x->port->io, READ_ROOM))
                return false;
            continue;
        }
        n++;
        if (modem_read(d, x->config->frame, &u, &used) != MODEM_OK || used != d.len)
            x->bad++;
        else if (take_unit(x, d, &u, &full))
            return true;
    }
    x->more = !full;
    return false;
}

static void refuse_stream(struct source *x)
{
    x->bad++;
    say(&x->station->log, LEVEL_ERROR,
        "source %s: the connection is broken off: what it sends is no head of a modem's frame",
        x->config->name);
    x->inbox->len = x->inbox->at = 0;
    if (x->stream != NULL)
        stream_reset(x->stream);
    x->stream = NULL;
}

static bool next_of_stream(struct source *x)
{
    struct inbox *b = x->inbox;
    struct modem_unit u;
    size_t used;
    bool full = false, got = false;
    while (!got && !full) {
        const struct slice rest = slice_of(b->octets + b->at, b->len - b->at);
        const enum modem_verdict v = modem_read(rest, x->config->frame, &u, &used);
        if (v == MODEM_BAD)
            refuse_stream(x);
        if (v != MODEM_OK)
            return false;
        got = take_unit(x, slice_of(rest.data, used), &u, &full);
        b->at += full ? 0 : used;
    }
    return got;
}

bool modem_next(struct source *x)
{
    return x->config->kind == SOURCE_UDP ? next_datagram(x) : next_of_stream(x);
}

/* ---- the recording ---- */

void modem_record(struct source *x)
{
    const struct sle_frame *f = &x->frame;
    const struct modem_unit u = {.kind = MODEM_FRAME,
                                 .quality = (uint8_t)f->quality,
                                 .production = x->production,
                                 .locks = x->locks,
                                 .time = f->time,
                                 .antenna_global = f->antenna_global,
                                 .missing = f->continuity > 0 ? (uint32_t)f->continuity : 0,
                                 .antenna = f->antenna,
                                 .annotation = f->annotation,
                                 .data = f->data};
    record_unit(x, &u, x->sequence);
}

bool modem_recorded(const struct recording_record *r, struct modem_unit *out)
{
    size_t used;
    if ((r->tag & 3) != TAG_HEADED)
        return false;
    if (modem_read(r->data, SLE_FRAME_MAX, out, &used) != MODEM_OK || used != r->data.len)
        *out = (struct modem_unit){.kind = MODEM_STATUS}; /* damaged, which check values rule out */
    return true;
}

/* ---- a connection ---- */

uint8_t *modem_space(struct source *x, size_t *len)
{
    struct inbox *b = x->inbox;
    memmove(b->octets, b->octets + b->at, b->len - b->at);
    b->len -= b->at;
    b->at = 0;
    *len = b->room - b->len;
    return *len > 0 ? b->octets + b->len : NULL;
}

void modem_fed(struct source *x, size_t len)
{
    x->inbox->len += len;
    assert(x->inbox->len <= x->inbox->room);
}

bool modem_has_room(const struct source *x)
{
    return x->inbox->len - x->inbox->at < x->inbox->room;
}

bool modem_cut(struct source *x)
{
    struct inbox *b = x->inbox;
    size_t at = b->at, whole = 0;
    while (b->len - at >= MODEM_HEAD &&
           modem_length(b->octets + at, x->config->frame, &whole) == MODEM_OK &&
           whole <= b->len - at)
        at += whole;
    const bool cut = at < b->len;
    b->len = at;
    return cut;
}

int modem_open(struct source *x)
{
    const struct sle_locks locked = {SLE_IN_LOCK, SLE_IN_LOCK, SLE_IN_LOCK, SLE_IN_LOCK};
    x->locks = locked;
    if (!x->config->modem || x->config->kind != SOURCE_TCP)
        return 0;
    const size_t room = 2 * (MODEM_FRONT_MAX + (size_t)x->config->frame) + READ_ROOM;
    x->inbox = malloc(sizeof *x->inbox + room);
    if (x->inbox == NULL)
        return HELIO_ENOMEM;
    *x->inbox = (struct inbox){.room = room};
    return 0;
}

void modem_end(struct source *x)
{
    free(x->inbox);
    x->inbox = NULL;
}
