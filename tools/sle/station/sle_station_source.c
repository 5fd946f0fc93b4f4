/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source takes the next frame of its input, records it, offers it to each of its instances, and
 * then lets their connections write. It goes on in batches, so that sources and connections take
 * turns.
 *
 * What can go wrong: an instance that must deliver all has no room. Then the source waits for it;
 * where it cannot wait the instance goes on from the recording (sle_station_catchup.c), or, where
 * there is none, its association is aborted, or it goes on behind frames that are lost for it,
 * whose number the next frame's continuity has (when_full). A wake-up is late: all frames that are
 * due follow at once, and connections get as much time for them as it was late. Frames that are due
 * for longer than SLACK are not made, but counted and logged. The disk does not keep up: generators
 * and files wait for it. Frames of a modem are then not recorded, which is counted and logged.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/port.h"
#include "tools/sle/station/sle_station.h"

#define BATCH 512 /* frames, or as many as are stored; then they are written */
#define BURST (50 * TICK_US)
#define SLACK TICK_S
#define LATE TICK_MS        /* with less a wake-up is in time */
#define LOOK (50 * TICK_US) /* without pipelining: has the user's system the last buffer? */
#define DISK_LOOK TICK_MS   /* has the recording room? */

static bool has_user(const struct source *x)
{
    for (size_t i = 0; i < x->instances_len; i++)
        if (sle_provider_active(x->instances[i]->sle))
            return true;
    return false;
}

/* Without pipelining: a whole transfer buffer was given, and nothing was heard of it yet. */
static bool is_blocked(const struct instance *i)
{
    return !i->config->pipelining && i->unheard >= i->config->buffer && sle_provider_active(i->sle);
}

/* Whose buffer has been written and heard of may go on. */
static void free_blocked(struct source *x)
{
    for (size_t k = 0; k < x->instances_len; k++) {
        struct instance *i = x->instances[k];
        if (is_blocked(i) && i->conn != NULL && !sle_conn_full(i->conn) &&
            sle_conn_unheard(i->conn) == 0)
            i->unheard = 0;
    }
}

static bool any_blocked(const struct source *x)
{
    for (size_t k = 0; k < x->instances_len; k++)
        if (is_blocked(x->instances[k]))
            return true;
    return false;
}

/* It has no room for a frame, for which the source does not wait. */
static void overrun_one(struct source *x, struct instance *i, tick now)
{
    if (catchup_can(i)) {
        catchup_begin(i, x->time);
        return;
    }
    i->missed++;
    i->missed_all++;
    if (x->config->when_full == SOURCE_ABORT && i->conn != NULL) /* pump_users sends it */
        sle_link_abort(sle_conn_link(i->conn), SLE_ABORT_OPERATIONAL, now);
}

/* What was lost for this instance is in its next frame. */
static enum sle_taken give_frame(struct source *x, struct instance *i, tick now)
{
    if (PORT_LIKELY(i->missed == 0))
        return sle_provider_frame(i->sle, &x->frame, now);
    struct sle_frame f = x->frame;
    const uint64_t missing = (uint64_t)(f.continuity > 0 ? f.continuity : 0) + i->missed;
    f.continuity = missing > CONTINUITY_MAX ? CONTINUITY_MAX : (int32_t)missing;
    enum sle_taken t = sle_provider_frame(i->sle, &f, now);
    i->missed = t == SLE_TAKEN || t == SLE_NOT_ACTIVE ? 0 : i->missed;
    return t;
}

/* Does the source wait for an instance in complete mode without room? After a late wake-up it does,
 * because frames that come at once are no sign of a slow user. */
static bool is_patient(const struct source *x, const struct instance *i, tick now)
{
    return x->config->when_full == SOURCE_WAIT || (now < x->patience && !catchup_can(i));
}

/* Is an instance without room while a thread writes for it? That is no sign of a slow user, and
 * over soon (on_room). */
static bool must_wait(const struct source *x)
{
    for (size_t k = 0; x->station->host.isp.writers > 0 && k < x->instances_len; k++) {
        const struct instance *i = x->instances[k];
        if (i->conn != NULL && sle_conn_lends(i->conn) && !i->catchup.on &&
            sle_provider_active(i->sle) && sle_provider_room(i->sle) == 0)
            return true;
    }
    return false;
}

/* True: the source waits for it. */
static bool offer_one(struct source *x, struct instance *i, tick now)
{
    if (i->taken || i->config->mode == SLE_OFFLINE)
        return false;
    if (PORT_UNLIKELY(i->catchup.on)) {
        catchup_frame(i, &x->frame, x->time);
        i->taken = true;
        return false;
    }
    if (is_blocked(i))
        return true;
    enum sle_taken t = give_frame(x, i, now);
    if (t == SLE_FULL && (is_patient(x, i, now) || (i->conn != NULL && sle_conn_lends(i->conn))))
        return true;
    if (t == SLE_FULL)
        overrun_one(x, i, now);
    else if (t == SLE_TAKEN && i->catchup.times != NULL)
        catchup_taken(i, x->time);
    i->unheard += t == SLE_TAKEN ? 1 : 0;
    i->taken = true;
    return false;
}

/* A source that waits for its users waits for those who are behind, too. */
static bool any_behind(const struct source *x)
{
    for (size_t k = 0; k < x->instances_len; k++)
        if (catchup_waits(x->instances[k]))
            return true;
    return false;
}

/* A frame that waits stays, whatever else is made in its buffer's pool. */
static void hold_pending(struct source *x, bool pending)
{
    struct buf *b = pending ? buf_keep(x->frame.owner) : NULL;
    buf_drop(x->held);
    x->held = b;
    x->pending = pending;
}

/* True: all have it, or do without. */
static bool offer_pending(struct source *x, tick now)
{
    bool wait = false;
    for (size_t i = 0; i < x->instances_len; i++)
        wait = offer_one(x, x->instances[i], now) || wait;
    hold_pending(x, wait);
    return !wait;
}

static void record_frame(struct source *x)
{
    if (x->recording == NULL)
        return;
    x->sequence = x->sequence % 63 + 1;
    if (x->config->modem) {
        modem_record(x);
        return;
    }
    uint32_t tag =
        (uint32_t)x->frame.quality | x->sequence << 2 | (uint32_t)(x->frame.continuity + 1) << 8;
    (void)recording_add(x->recording, x->time, tag, slice_of(NULL, 0), x->frame.data);
}

/* The time of the next frame. In a recording each frame has its own time, so that it is found by
 * it. A microsecond is the least that all users can name: with less between two frames, a START
 * with the time after the first one would leave out the second one. When more than one frame in
 * each microsecond is made after a late wake-up, the times are ahead of the clock. */
static void stamp_next(struct source *x)
{
    x->stamp = x->batch_time;
    if (x->recording != NULL && x->time > 0)
        x->stamp = tick_max(x->stamp, x->time + TICK_US);
    if (x->recording != NULL)
        x->received = sle_time_of(x->stamp);
}

static bool take_frame(struct source *x)
{
    stamp_next(x);
    if (!feed_next(x))
        return false;
    x->time = x->stamp;
    x->offered++;
    if (x->judge != NULL)
        judge_frame(x);
    x->pending = true;
    for (size_t i = 0; i < x->instances_len; i++)
        x->instances[i]->taken = false;
    station_word(x->config, &x->frame);
    record_frame(x);
    return true;
}

static void tell_end(struct source *x, tick now)
{
    for (size_t i = 0; i < x->instances_len; i++)
        if (x->instances[i]->config->mode != SLE_OFFLINE && !x->instances[i]->catchup.on &&
            sle_provider_active(x->instances[i]->sle))
            sle_provider_end_of_data(x->instances[i]->sle, now);
}

static void pump_users(struct source *x)
{
    for (size_t i = 0; i < x->instances_len; i++)
        if (x->instances[i]->conn != NULL && !sle_conn_full(x->instances[i]->conn))
            sle_conn_pump(x->instances[i]->conn);
    sle_host_look(&x->station->host);
}

/* Who waits for users does not make more than the connections of those who get all take: what is
 * made and written at once is still in the processor's cache. */
static bool is_choked(const struct source *x)
{
    bool any = false;
    for (size_t i = 0; i < x->instances_len; i++) {
        const struct instance *y = x->instances[i];
        if (y->config->mode == SLE_OFFLINE || !sle_provider_active(y->sle))
            continue;
        if (y->config->mode != SLE_COMPLETE || y->conn == NULL || !sle_conn_full(y->conn))
            return false;
        any = true;
    }
    return any && x->config->when_full == SOURCE_WAIT;
}

/* Who waits for users does nothing until there is one. */
static bool is_idle(const struct source *x)
{
    return x->config->when_full == SOURCE_WAIT && x->recording == NULL && !has_user(x);
}

/* A late wake-up sends all frames that are due, burst after burst. */
static bool is_due(struct source *x, tick now)
{
    if (bucket_ready(&x->bucket, now))
        return true;
    bucket_begin(&x->bucket, now);
    return bucket_ready(&x->bucket, now);
}

/* Is an instance without room, though its connection has some? Then that writes first. */
static bool must_write(const struct source *x)
{
    for (size_t k = 0; k < x->instances_len && x->config->when_full != SOURCE_WAIT; k++) {
        const struct instance *i = x->instances[k];
        if (i->conn != NULL && !i->catchup.on && sle_provider_active(i->sle) &&
            !sle_conn_full(i->conn) && sle_provider_room(i->sle) == 0)
            return true;
    }
    return false;
}

/* Is its recording full? Frames of modems do not wait for the disk. */
static bool must_wait_for_disk(struct source *x)
{
    const bool received = x->config->kind == SOURCE_UDP || x->config->kind == SOURCE_TCP;
    x->disk_waits =
        x->recording != NULL && !received && !recording_has_room(x->recording, x->config->frame);
    return x->disk_waits;
}

/* Makes frames until none is due, one waits, or connections should write. True: there may be more.
 */
static bool make_frames(struct source *x, tick now, bool *waits)
{
    for (unsigned n = 0; !*waits && n < BATCH && (n == 0 || !must_write(x)); n++) {
        *waits = must_wait(x);
        if (*waits)
            break;
        if (is_idle(x) || !is_due(x, now))
            return x->more;
        *waits = must_wait_for_disk(x);
        if (*waits)
            break;
        if (!take_frame(x))
            return x->more;
        bucket_spend(&x->bucket, x->frame.data.len, now);
        *waits = !offer_pending(x, now);
    }
    return !*waits;
}

/* While a frame waits nothing is added, so that a user that takes nothing has its verdict. */
static void note_lateness(struct source *x, tick now)
{
    if (!x->pending && now > tick_add(x->wake, LATE))
        x->patience = now + tick_min(now - x->wake, SLACK);
}

static void set_wake(struct source *x, tick next, tick now)
{
    x->wake = tick_max(next, now);
    alarm_set(&x->alarm, next);
}

void source_run(void *context)
{
    struct source *x = context;
    struct world *w = x->station->world;
    tick now = world_now(w), next = TICK_NEVER;
    if (x->station->ending)
        return;
    bucket_begin(&x->bucket, now);
    x->batch_time = world_wall(w);
    x->received = sle_time_of(x->batch_time);
    note_lateness(x, now);
    free_blocked(x);
    bool waits = (x->pending && !offer_pending(x, now)) || is_choked(x) || any_behind(x);
    bool ended = x->finished;
    x->more = x->disk_waits = false;
    const bool more = make_frames(x, now, &waits);
    if (x->finished && !ended)
        tell_end(x, now);
    bool limited = x->config->rate > 0 && x->config->kind != SOURCE_UDP;
    if (!waits && !x->finished && more)
        next = 0;
    else if (!waits && !x->finished && limited && !is_idle(x))
        next = bucket_wake(&x->bucket, now);
    if (waits && now < x->patience)
        next = x->patience;
    if (waits && any_blocked(x))
        next = now + LOOK;
    if (x->disk_waits)
        next = tick_min(next, now + DISK_LOOK);
    if (is_idle(x))
        bucket_rest(&x->bucket);
    feed_watch(x, !waits && !is_idle(x));
    set_wake(x, next, now);
    pump_users(x);
}

void source_wake(struct source *x)
{
    if (x != NULL && !x->station->ending)
        alarm_set(&x->alarm, 0);
}

uint64_t source_late(const struct source *x)
{
    return bucket_lost_bytes(&x->bucket) / x->config->frame;
}

void source_tell(struct source *x)
{
    const uint64_t late = source_late(x);
    if (late == x->late_told)
        return;
    station_say(x->station, LINES_SOURCE, LEVEL_WARNING,
                "source %s: its rate is not held: %" PRIu64 " frames were more than 1 s late, and "
                "not made (%" PRIu64 " in all); this machine or its disk is too slow, or a user",
                x->config->name, late - x->late_told, late);
    x->late_told = late;
}

static size_t count_online(const struct source *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->instances_len; i++)
        n += x->instances[i]->config->mode != SLE_OFFLINE;
    return n;
}

void source_started(struct source *x, struct instance *i)
{
    i->taken = true; /* what is pending was before it */
    i->unheard = 0;
    if (count_online(x) == 1) { /* so its heads can be where the frames are */
        hold_pending(x, false);
        feed_gap(x, sle_provider_head(i->sle));
    }
    if (x->finished && !x->pending && !i->catchup.on)
        sle_provider_end_of_data(i->sle, world_now(x->station->world));
    source_wake(x);
}

void source_clock(struct source *x)
{
    if (x->recording == NULL)
        return;
    (void)recording_flush(x->recording);
    struct recording_counts c = recording_counts(x->recording);
    if (c.lost == x->recorded_lost)
        return;
    say(&x->station->log, LEVEL_ERROR,
        "source %s: %" PRIu64 " frames were not recorded (%" PRIu64 " in all): %s", x->config->name,
        c.lost - x->recorded_lost, c.lost,
        c.trouble < 0 ? helio_strerror(c.trouble) : "the disk is too slow");
    x->recorded_lost = c.lost;
}

static int open_recording(struct source *x)
{
    const struct settings_source *c = x->config;
    if (*c->record == '\0')
        return 0;
    struct recording_limits l = {.file_bytes = c->record_file,
                                 .total_bytes = c->record_total,
                                 .memory_bytes = c->record_memory};
    int e = recording_open(&x->recording, c->record, &l);
    if (e < 0)
        say(&x->station->log, LEVEL_ERROR, "source %s: recording to %s: %s", c->name, c->record,
            e == HELIO_EEXIST ? "another program records there" : helio_strerror(e));
    return e;
}

int source_open(struct source *x, struct station *t, const struct settings_source *config)
{
    x->station = t;
    x->config = config;
    x->fd = -1;
    x->instances = calloc(t->settings->instances_len + 1, sizeof(struct instance *));
    alarm_init(&x->alarm, t->world, ALARM_APP, source_run, x);
    x->wake = TICK_NEVER;
    if (x->instances == NULL) {
        say(&t->log, LEVEL_ERROR, "source %s: out of memory", config->name);
        return HELIO_ENOMEM;
    }
    bucket_init(&x->bucket, config->rate, BURST, SLACK, world_now(t->world));
    int e = judge_open(x);
    if (e < 0)
        say(&t->log, LEVEL_ERROR, "source %s: %s", config->name, helio_strerror(e));
    e = e < 0 ? e : modem_open(x);
    e = e < 0 ? e : open_recording(x);
    return e < 0 ? e : feed_open(x);
}

void source_end(struct source *x)
{
    if (x->station == NULL)
        return;
    alarm_fini(&x->alarm);
    feed_end(x);
    hold_pending(x, false);
    judge_end(x);
    modem_end(x);
    recording_close(x->recording);
    x->recording = NULL;
    free(x->instances);
    x->instances = NULL;
    x->instances_len = 0;
}
