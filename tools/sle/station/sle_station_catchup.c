/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Complete delivery of a source that is recorded: an instance whose connection takes no more falls
 * behind, and reads from the recording until it has caught up with production. So the disk bounds
 * what may wait, not memory, and nobody else waits. The same way it gets frames of before its
 * START, and those between two associations.
 *
 * Catching up: what is recorded is read up to a boundary; frames that arrive meanwhile are in the
 * recording as well. At the boundary frames are held in memory for the short time that the last
 * piece of the recording takes; then those, and the instance is with production again. When they
 * are too many, another piece is read first.
 *
 * What can go wrong: frames are not in the recording, since the disk was too slow or the oldest
 * files were removed: their numbers tell it, and the next frame's continuity tells the user.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tools/sle/station/sle_station.h"

#define MEMORY_PAUSE (10 * TICK_MS)
#define HELD_MAX 4096 /* frames in memory while the last piece is read */

struct held {
    struct sle_frame frame;
    struct modem_unit word; /* of the recording's words; only where the frame has no data */
    uint64_t time;
};

bool catchup_can(const struct instance *i)
{
    return i->source != NULL && i->source->recording != NULL && i->config->mode == SLE_COMPLETE;
}

static void drop_held(struct catchup *c)
{
    for (size_t k = c->held_at; k < c->held_len; k++)
        buf_drop(c->held[k].frame.owner);
    free(c->held);
    c->held = NULL;
    c->held_at = c->held_len = 0;
    c->joining = false;
}

static void read_from(struct instance *i, uint64_t from, uint64_t to)
{
    assert(i->catchup.on);
    i->catchup.next = from;
    offline_read(i, from, to);
}

void catchup_begin(struct instance *i, uint64_t from)
{
    struct catchup *c = &i->catchup;
    assert(catchup_can(i) && !c->on);
    c->on = true;
    c->episodes++;
    read_from(i, from, i->source->time + 1);
}

/* The last piece: from now on what arrives is held. */
static void join_production(struct instance *i)
{
    struct catchup *c = &i->catchup;
    const uint64_t next = c->next, end = i->source->time + 1;
    c->held = calloc(HELD_MAX, sizeof *c->held);
    c->joining = c->held != NULL;
    if (!c->joining && next >= end) { /* without memory: later */
        alarm_set(&i->offline.alarm, world_now(i->station->world) + MEMORY_PAUSE);
        return;
    }
    if (next >= end) {
        catchup_read(i);
        return;
    }
    read_from(i, next, end);
}

static void finish_piece(struct instance *i)
{
    struct catchup *c = &i->catchup;
    assert(c->held_at == c->held_len);
    drop_held(c);
    c->on = false;
    if (i->source->finished && !i->source->pending)
        sle_provider_end_of_data(i->sle, world_now(i->station->world));
    source_wake(i->source); /* it may have waited for us */
}

/* Held frames go behind the recording's; false: there is no room now. */
static bool give_held(struct instance *i, tick now)
{
    struct catchup *c = &i->catchup;
    while (c->held_at < c->held_len) {
        struct held *h = &c->held[c->held_at];
        if (h->frame.data.len == 0)
            word_give(i, &h->word);
        else if (sle_provider_frame(i->sle, &h->frame, now) == SLE_FULL)
            return false;
        else
            catchup_taken(i, h->time);
        buf_drop(h->frame.owner);
        c->held_at++;
    }
    return true;
}

void catchup_read(struct instance *i)
{
    struct catchup *c = &i->catchup;
    assert(c->on && i->offline.reader == NULL);
    if (!c->joining)
        join_production(i);
    else if (give_held(i, world_now(i->station->world)))
        finish_piece(i);
}

/* There is no room for what was produced at this time: another piece of the recording has it. */
static void drop_joining(struct instance *i, uint64_t time)
{
    struct catchup *c = &i->catchup;
    const uint64_t from = c->held_at < c->held_len ? c->held[c->held_at].time : time;
    const bool reading = i->offline.reader != NULL || i->offline.waiting;
    drop_held(c);
    if (!reading) /* else another piece comes behind this one */
        read_from(i, from, i->source->time + 1);
}

void catchup_word(struct instance *i, const struct modem_unit *u, uint64_t time)
{
    struct catchup *c = &i->catchup;
    assert(c->on);
    if (!c->joining)
        return; /* it is in the recording */
    if (c->held_len == HELD_MAX)
        drop_joining(i, time);
    else
        c->held[c->held_len++] = (struct held){.word = *u, .time = time};
}

void catchup_frame(struct instance *i, const struct sle_frame *frame, uint64_t time)
{
    struct catchup *c = &i->catchup;
    assert(c->on);
    if (!c->joining)
        return; /* it is in the recording */
    if (c->held_len == HELD_MAX || frame->owner == NULL) {
        drop_joining(i, time);
        return;
    }
    c->held[c->held_len] = (struct held){.frame = *frame, .time = time};
    c->held[c->held_len].frame.owner = buf_keep(frame->owner);
    c->held_len++;
}

bool catchup_waits(const struct instance *i)
{
    const struct catchup *c = &i->catchup;
    return c->on && (!c->joining || c->held_len > HELD_MAX / 2) &&
           i->source->config->when_full == SOURCE_WAIT;
}

/* ---- what the user has ---- */

void catchup_taken(struct instance *i, uint64_t time)
{
    struct catchup *c = &i->catchup;
    c->next = time + 1;
    if (c->times != NULL)
        c->times[c->taken++ & c->mask] = time;
}

void catchup_bound(struct instance *i)
{
    struct catchup *c = &i->catchup;
    c->taken = 0;
    c->before = sle_instance_counts(i->sle)->frames;
}

/* The first frame that was not written when the association ended. */
static uint64_t first_unwritten(const struct instance *i)
{
    const struct catchup *c = &i->catchup;
    const uint64_t written = sle_instance_counts(i->sle)->frames - c->before;
    if (c->taken == 0)
        return c->resume;
    if (written >= c->taken)
        return c->next;
    return c->taken - written <= c->mask + 1 ? c->times[written & c->mask] : c->next;
}

void catchup_gone(struct instance *i)
{
    struct catchup *c = &i->catchup;
    if (!catchup_can(i))
        return;
    const bool was_behind = c->on;
    const uint64_t behind = c->next;
    catchup_stop(i);
    c->resume = first_unwritten(i);
    if (c->resume == 0 && was_behind) /* it has got nothing yet */
        c->resume = behind;
}

void catchup_started(struct instance *i, const struct sle_start *start)
{
    struct catchup *c = &i->catchup;
    const uint64_t now = world_wall(i->station->world);
    uint64_t from = c->taken > 0 ? c->next : c->resume;
    if (start->start.known)
        from = sle_time_unix(start->start.at);
    catchup_stop(i);
    if (from != 0 && from <= i->source->time) { /* its time may be ahead of the clock */
        say(&i->station->log, LEVEL_INFO, "%s: begins with the recording, %.3f s ago",
            i->config->id, from < now ? (double)(now - from) / 1e9 : 0.0);
        catchup_begin(i, from);
    }
}

void catchup_stop(struct instance *i)
{
    offline_stop(i);
    drop_held(&i->catchup);
    i->catchup.on = false;
}

int catchup_open(struct instance *i)
{
    struct catchup *c = &i->catchup;
    if (!catchup_can(i))
        return 0;
    size_t want = i->config->store + 2 * i->config->buffer + 2, size = 64;
    while (size < want)
        size *= 2;
    c->times = malloc(size * sizeof *c->times);
    c->mask = size - 1;
    return c->times == NULL ? HELIO_ENOMEM : 0;
}

void catchup_end(struct instance *i)
{
    drop_held(&i->catchup);
    free(i->catchup.times);
    i->catchup.times = NULL;
}
