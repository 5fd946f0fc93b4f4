/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offline delivery: START names a range of time, whose frames come from the recording and go to the
 * engine as it has room; then the end of data. The recording's reader never waits for the disk:
 * while it is at work, it is asked again some time later.
 *
 * What can go wrong: the recording cannot be read, or parts of it are damaged: logged; what there
 * is is delivered.
 */
#include <inttypes.h>

#include "tools/sle/station/sle_station.h"

#define BATCH 256
#define AGAIN (1 * TICK_MS) /* the disk is at work */

static struct station *station_of(struct instance *i)
{
    return i->station;
}

static void end_reader(struct instance *i)
{
    struct offline *o = &i->offline;
    recording_reader_free(o->reader);
    o->reader = NULL;
    o->waiting = o->pending = false;
    alarm_set(&o->alarm, TICK_NEVER);
}

/* All is delivered. */
static void end_data(struct instance *i)
{
    struct offline *o = &i->offline;
    struct station *t = station_of(i);
    int e = recording_reader_error(o->reader);
    uint64_t damaged = recording_reader_damaged(o->reader);
    if (e < 0)
        say(&t->log, LEVEL_ERROR, "%s: the recording %s: %s", i->config->id,
            i->source->config->record, helio_strerror(e));
    if (damaged > 0)
        say(&t->log, LEVEL_WARNING,
            "%s: the recording %s: %" PRIu64 " blocks were left out, torn or damaged",
            i->config->id, i->source->config->record, damaged);
    end_reader(i);
    if (!i->catchup.on)
        sle_provider_end_of_data(i->sle, world_now(t->world));
}

static void open_reader(struct instance *i)
{
    struct offline *o = &i->offline;
    if (!recording_written(i->source->recording, o->ticket)) {
        alarm_set(&o->alarm, world_now(station_of(i)->world) + AGAIN);
        return;
    }
    o->waiting = false;
    int e = recording_read(&o->reader, i->source->config->record, o->from, o->to);
    if (e == 0)
        return;
    say(&station_of(i)->log, LEVEL_ERROR, "%s: the recording %s: %s", i->config->id,
        i->source->config->record, helio_strerror(e));
    if (i->catchup.on) /* nothing of it can be had: never silently */
        sle_link_abort(sle_conn_link(i->conn), SLE_ABORT_OPERATIONAL,
                       world_now(station_of(i)->world));
    else
        sle_provider_end_of_data(i->sle, world_now(station_of(i)->world));
}

/* Frames that are not in the recording, at least: their numbers go from 1 to 63. */
static int32_t count_missing(struct offline *o, unsigned sequence)
{
    const unsigned expected = o->sequence;
    o->sequence = sequence == 0 ? 0 : sequence % 63 + 1;
    return expected == 0 || sequence == 0 ? 0 : (int32_t)((sequence + 63 - expected) % 63);
}

/* What a modem said of the frame, or a word, which only an instance that catches up has use for.
 * False: it was a word. */
static bool take_headed(struct instance *i, const struct modem_unit *u)
{
    struct sle_frame *f = &i->offline.frame;
    if (u->kind != MODEM_FRAME) {
        if (i->catchup.on)
            word_give(i, u);
        return false;
    }
    if (i->catchup.on) { /* what was so then */
        const struct modem_unit then = {
            .kind = MODEM_STATUS, .production = u->production, .locks = u->locks, .time = u->time};
        word_give(i, &then);
    }
    *f = (struct sle_frame){.data = u->data, /* which the engine copies */
                            .time = u->time,
                            .antenna = u->antenna,
                            .antenna_global = u->antenna_global,
                            .annotation = u->annotation,
                            .quality = (enum sle_quality)u->quality,
                            .continuity = (int32_t)u->missing};
    return true;
}

/* The next frame of the recording; false: none now. */
static bool next_frame(struct instance *i)
{
    struct offline *o = &i->offline;
    struct recording_record r;
    struct modem_unit u;
    enum recording_step step = recording_next(o->reader, &r);
    while (step == RECORDING_RECORD && modem_recorded(&r, &u) && !take_headed(i, &u))
        step = recording_next(o->reader, &r);
    if (step == RECORDING_END)
        end_data(i);
    if (step == RECORDING_WAIT)
        alarm_set(&o->alarm, world_now(station_of(i)->world) + AGAIN);
    if (step != RECORDING_RECORD)
        return false;
    if (!modem_recorded(&r, &u))
        o->frame = (struct sle_frame){.data = r.data, /* which the engine copies */
                                      .time = sle_time_of(r.time),
                                      .quality = (enum sle_quality)(r.tag & 3),
                                      .continuity = (int32_t)(r.tag >> 8) - 1};
    const int32_t missing = count_missing(o, r.tag >> 2 & 63);
    if (missing > 0)
        o->frame.continuity = missing + (o->frame.continuity > 0 ? o->frame.continuity : 0);
    o->time = r.time;
    station_word(i->source->config, &o->frame);
    o->pending = true;
    return true;
}

static void run_offline(void *context)
{
    struct instance *i = context;
    struct offline *o = &i->offline;
    tick now = world_now(station_of(i)->world);
    if (o->waiting)
        open_reader(i);
    for (unsigned n = 0; o->reader != NULL; n++) {
        if (n == BATCH) {
            alarm_set(&o->alarm, 0);
            break;
        }
        if (!o->pending && !next_frame(i))
            break;
        enum sle_taken t = sle_provider_frame(i->sle, &o->frame, now);
        if (t == SLE_FULL)
            break; /* SLE_ROOM brings us back */
        if (i->catchup.on && t != SLE_NOT_ACTIVE)
            catchup_taken(i, o->time);
        o->pending = false;
        recording_release(o->reader, recording_block(o->reader));
    }
    if (i->catchup.on && o->reader == NULL && !o->waiting)
        catchup_read(i);
    if (i->conn != NULL)
        sle_conn_pump(i->conn);
    else
        sle_host_look(&i->station->host);
}

void offline_init(struct instance *i)
{
    alarm_init(&i->offline.alarm, i->station->world, ALARM_APP, run_offline, i);
}

void offline_start(struct instance *i, const struct sle_start *start)
{
    i->offline.sequence = 0;
    offline_read(i, start->start.known ? sle_time_unix(start->start.at) : 0,
                 start->stop.known ? sle_time_unix(start->stop.at) : UINT64_MAX);
}

void offline_read(struct instance *i, uint64_t from, uint64_t to)
{
    struct offline *o = &i->offline;
    end_reader(i);
    o->from = from;
    o->to = to;
    o->ticket = recording_flush(i->source->recording);
    o->waiting = true;
    alarm_set(&o->alarm, 0);
}

void offline_wake(struct instance *i)
{
    if (i->offline.reader != NULL || i->catchup.joining)
        alarm_set(&i->offline.alarm, 0);
}

void offline_stop(struct instance *i)
{
    end_reader(i);
}

void offline_end(struct instance *i)
{
    end_reader(i);
    catchup_end(i);
    alarm_fini(&i->offline.alarm);
}
