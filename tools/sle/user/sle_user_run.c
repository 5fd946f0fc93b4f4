/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each association: connection, BIND, questions if wanted, START, frames or CLTUs, STOP, UNBIND.
 * It stops after so many frames, so much time, at the end of the data, or when the operator says
 * so.
 *
 * What can go wrong: nobody listens, BIND or START is refused, the provider aborts, nothing comes
 * for too long: reported, and the result says so.
 */
#include "tools/sle/user/sle_user_run.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>

#include "os/uv_signals.h"
#include "os/uv_world.h"

static tick now_of(const struct user *u)
{
    return world_now(u->world);
}

static void end_user(struct user *u);

static uint64_t offset_of(const struct user *u)
{
    return world_wall(u->world) - now_of(u);
}

void association_fail(struct association *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!a->failed)
        vsnprintf(a->end, sizeof a->end, format, args);
    va_end(args);
    if (!a->failed)
        say(&a->user->log, LEVEL_ERROR, "%s: %s", a->id, a->end);
    a->failed = true;
}

/* ---- the way of an association ---- */

enum { PS_OF_MS = 1000000000 };

/* After a reconnection it goes on behind the last frame: a microsecond, or as little as its time
 * has. */
static struct sle_start start_of(struct association *a)
{
    struct sle_start s = a->user->options->start;
    if (!a->resuming)
        return s;
    s.start = (struct sle_when){.known = true, .at = a->last};
    if (a->last.pico && a->user->options->terms.version > SLE_VERSION_MIN &&
        a->last.ps + 1 < PS_OF_MS)
        s.start.at.ps++;
    else
        s.start.at = sle_time_of(sle_time_unix(a->last) + TICK_US);
    return s;
}

static void begin_service(struct association *a)
{
    tick now = now_of(a->user);
    const struct user_options *o = a->user->options;
    if (o->parameters)
        (void)sle_user_schedule(a->sle, &(struct sle_schedule){.report = SLE_REPORT_NOW}, now);
    if (o->cycle_s > 0)
        (void)sle_user_schedule(
            a->sle, &(struct sle_schedule){.report = SLE_REPORT_PERIODIC, .cycle_s = o->cycle_s},
            now);
    if (o->bind_only)
        return;
    const struct sle_start start = start_of(a);
    int e = sle_user_start(a->sle, &start, now);
    if (e < 0)
        association_fail(a, "START cannot be sent: %s", helio_strerror(e));
}

/* START comes when all is known that was asked for. A user that stopped meanwhile asks for nothing:
 * behind START comes STOP. */
static void bound(struct association *a)
{
    a->failed_places = 0;
    a->bound_now = true;
    *a->why = '\0';
    say(&a->user->log, LEVEL_INFO, "%s: bound", a->id);
    if (a->user->options->parameters && !a->stopping)
        parameters_ask(a);
    if (a->asking == 0)
        begin_service(a);
}

/* Where the provider has bound it unbinds, too. */
static void unbind(struct association *a)
{
    if (!a->user->options->listen)
        (void)sle_user_unbind(a->sle, a->user->options->unbind, now_of(a->user));
}

void association_stop(struct association *a)
{
    a->stop_later = events_awaited(a);
    if (a->stopping || a->stop_later || a->conn == NULL)
        return;
    a->stopping = true;
    if (sle_user_stop(a->sle, now_of(a->user)) < 0)
        unbind(a);
}

/* Events first, then CLTUs, then the end. */
static void go_on_forward(struct association *a)
{
    tick now = now_of(a->user);
    if (a->stop_later) {
        association_stop(a);
        return;
    }
    events_throw(a, now);
    if (!events_done(a))
        return;
    if (a->started)
        cltus_send(a, now);
    if (cltus_done(&a->cltus))
        association_stop(a);
}

void association_forward(struct association *a)
{
    go_on_forward(a);
    if (a->conn != NULL)
        sle_conn_pump(a->conn);
}

static void take_parameter(struct association *a, const struct sle_notice *n)
{
    a->parameters += n->diag == SLE_OK ? 1 : 0;
    if (a->asking > 0) {
        a->asking--;
        if (a->stopping)
            return; /* UNBIND is under way */
        parameters_ask(a);
        if (a->asking == 0)
            begin_service(a);
        return;
    }
    events_parameter(a, n);
    if (a->started && a->service == SLE_FCLTU)
        go_on_forward(a);
}

static void started(struct association *a, const struct sle_notice *n)
{
    tick now = now_of(a->user);
    if (n->diag != SLE_OK &&
        a->resuming) { /* it has no frames of then: it goes on with what comes */
        a->resuming = false;
        begin_service(a);
        return;
    }
    if (n->diag != SLE_OK && a->cltus.live != NULL && a->user->options->reconnect > 0 &&
        !a->stopping) {
        say(&a->user->log, LEVEL_WARNING, "%s: START was refused: diagnostic %u", a->id,
            n->diag & 0xff);
        alarm_set(&a->again, now + a->user->options->reconnect);
        return;
    }
    if (n->diag != SLE_OK) {
        association_fail(a, "START was refused: diagnostic %u", n->diag & 0xff);
        unbind(a);
        return;
    }
    a->started = true;
    say(&a->user->log, LEVEL_INFO, "%s: started", a->id);
    a->cltus.began = n->u.start_return.radiation_start;
    if (a->stopping) /* it was asked for before */
        (void)sle_user_stop(a->sle, now);
    else if (a->service == SLE_FCLTU)
        go_on_forward(a);
}

static void stopped(struct association *a, const struct sle_notice *n)
{
    if (n->diag != SLE_OK)
        association_fail(a, "STOP was refused: diagnostic %u", n->diag & 0xff);
    if (a->restarting && !a->stopping && n->diag == SLE_OK) {
        a->restarting = false;
        live_reset(a);
        alarm_set(&a->again, now_of(a->user) + a->user->options->reconnect);
        return;
    }
    unbind(a);
}

/* Production was interrupted, or a CLTU expired: the provider takes none before a new START. */
static void restart_service(struct association *a, const char *why)
{
    if (a->cltus.live == NULL || a->restarting || a->stopping || !a->started)
        return;
    if (a->user->options->reconnect == 0) {
        association_fail(a, "%s: the provider accepts no CLTU before a new START", why);
        association_stop(a);
        return;
    }
    say(&a->user->log, LEVEL_WARNING, "%s: %s: STOP, then START again", a->id, why);
    a->started = false;
    a->restarting = sle_user_stop(a->sle, now_of(a->user)) == 0;
}

void association_start(struct association *a)
{
    if (a->conn == NULL || a->stopping || a->restarting)
        return;
    begin_service(a);
    if (a->conn != NULL)
        sle_conn_pump(a->conn);
}

static void answered(struct association *a, const struct sle_notice *n)
{
    cltus_answer(a, n);
    if (n->diag == SLE_CLTU_UNABLE_TO_PROCESS)
        restart_service(a, "a CLTU was refused, the provider is unable to process");
    else if (n->diag != SLE_OK && n->diag != SLE_CLTU_OUT_OF_SEQUENCE && a->cltus.live != NULL)
        say(&a->user->log, LEVEL_WARNING, "%s: CLTU %u was refused: diagnostic %u", a->id,
            n->cltu_id, n->diag & 0xff);
    go_on_forward(a);
}

static void notified(struct association *a, const struct sle_async *n)
{
    cltus_notified(a, n);
    events_notified(a, n);
    if (n->notification == SLE_ASYNC_INTERRUPTED || n->notification == SLE_ASYNC_HALTED ||
        n->notification == SLE_ASYNC_EXPIRED)
        restart_service(a, sle_notification_text(n->notification));
    go_on_forward(a);
}

static void take_frame(struct association *a, tick now, const struct sle_item *item)
{
    struct user *u = a->user;
    uint64_t wall = now + u->wall_offset;
    int64_t delay = measure_frame(&a->measure, item->data, u->options->numbered, now, wall);
    sink_frame(u, item, wall, delay);
    a->last = item->time;
    if (u->options->frames > 0 && a->measure.frames >= u->options->frames)
        association_stop(a);
}

static void take_sync(struct association *a, const struct sle_sync *s)
{
    if (a->syncs < USER_TOLD_MAX)
        a->told[a->syncs] = (struct told){.after = a->measure.frames, .sync = *s};
    a->syncs++;
    if (s->kind == SLE_SYNC_BACKLOG)
        a->backlogs++;
    if (s->kind != SLE_SYNC_END)
        return;
    a->ended_data = true;
    if (a->user->options->until_end)
        association_stop(a);
}

static void tell_over(struct association *a, const struct sle_notice *n)
{
    if (n->end == SLE_END_UNBOUND)
        a->unbound = true;
    else if (n->end != SLE_END_CLOSED) /* links_gone knows why */
        snprintf(a->why, sizeof a->why, "%s%s%s", sle_end_text(n->end),
                 *sle_conn_reason(n) != '\0' ? ": " : "", sle_conn_reason(n));
}

static void on_notice(void *context, struct sle_conn *c, const struct sle_notice *n)
{
    struct association *a = context;
    if (a->script != NULL && script_notice(a, n))
        return;
    switch (n->kind) {
    case SLE_BOUND:
        bound(a);
        break;
    case SLE_STARTED:
        started(a, n);
        break;
    case SLE_STOPPED:
        stopped(a, n);
        break;
    case SLE_FRAME:
        take_frame(a, sle_conn_now(c), &n->u.item);
        if (a->script != NULL)
            script_frame(a);
        break;
    case SLE_SYNC:
        take_sync(a, &n->u.item.sync);
        break;
    case SLE_STATUS:
        a->reports++;
        a->status = n->u.status;
        break;
    case SLE_PARAMETER:
        take_parameter(a, n);
        break;
    case SLE_CLTU_ANSWER:
        answered(a, n);
        break;
    case SLE_EVENT_ANSWER:
        events_answer(a, n);
        go_on_forward(a);
        break;
    case SLE_NOTIFIED:
        notified(a, &n->u.async);
        break;
    case SLE_OVER:
        tell_over(a, n);
        break;
    default:
        break;
    }
}

void association_over(struct association *a)
{
    struct user *u = a->user;
    assert(!a->done);
    a->done = true;
    if (++u->done == u->len)
        end_user(u);
}

static void on_gone(void *context, struct sle_conn *c, int error)
{
    links_gone(context, c, error);
}

const struct sle_conn_user association_user = {on_notice, on_gone, NULL};

/* ---- all of them ---- */

static void stop_all(struct user *u)
{
    for (size_t i = 0; i < u->len; i++)
        if (u->all[i].conn == NULL && !u->all[i].done) {
            u->all[i].stopping = true; /* no connection is made any more */
            association_fail(&u->all[i], "it was not connected");
            alarm_set(&u->all[i].again, 0);
        } else if (u->all[i].conn != NULL && !u->all[i].stopping) {
            const bool open =
                !u->asked_to_stop && (u->options->made > 0 || u->all[i].cltus.live != NULL);
            if (!open || !u->all[i].started || cltus_finish(&u->all[i].cltus))
                association_stop(&u->all[i]);
            if (u->all[i].conn != NULL)
                sle_conn_pump(u->all[i].conn);
        }
}

/* Nothing more is waited for. */
static void drop_all(struct user *u)
{
    for (size_t i = 0; i < u->len; i++) {
        struct association *a = &u->all[i];
        if (a->conn == NULL && !a->done) {
            a->stopping = true;
            association_fail(a, "it was not bound: %s", a->why);
            alarm_set(&a->again, 0);
        }
        if (a->conn == NULL)
            continue;
        association_fail(a, "%s",
                         a->stopping ? "the provider does not answer"
                                     : "nothing was received for too long");
        sle_link_abort(sle_conn_link(a->conn), SLE_ABORT_OPERATIONAL, now_of(u));
        sle_conn_pump(a->conn);
    }
}

static void stop_measuring(struct user *u)
{
    if (u->stopped > 0)
        return;
    u->stopped = now_of(u);
    for (size_t i = 0; i < u->len; i++)
        u->counted += u->all[i].measure.octets;
}

static void on_time(void *context)
{
    struct user *u = context;
    if (u->ending)
        return;
    alarm_set(&u->alarm, TICK_NEVER);
    stop_measuring(u);
    stop_all(u);
    u->asked_to_stop = true;
    u->moved = now_of(u);
}

/* A heartbeat says that the provider lives, not that there is anything to wait for. */
static uint64_t progress_of(const struct user *u)
{
    uint64_t n = u->done;
    for (size_t i = 0; i < u->len; i++) {
        const struct association *a = &u->all[i];
        const struct sle_counts *c = sle_instance_counts(a->sle);
        n += c->octets_in - c->heartbeats_in * SLE_TML_HEADER + a->measure.frames +
             a->cltus.answered;
    }
    return n;
}

static void on_second(void *context)
{
    struct user *u = context;
    if (u->ending)
        return;
    tick now = now_of(u);
    uint64_t p = progress_of(u);
    u->wall_offset = offset_of(u);
    sink_second(u, now);
    for (size_t i = 0; i < u->len; i++)
        live_second(&u->all[i]);
    if (p != u->progress) {
        u->progress = p;
        u->moved = now;
    } else if (u->options->wait > 0 && u->options->script == NULL &&
               now - u->moved >= u->options->wait) {
        drop_all(u);
        u->moved = now;
        if (u->ending)
            return;
    }
    alarm_set(&u->clock, now + TICK_S);
}

static void on_signal(void *context, int number)
{
    (void)number;
    on_time(context);
}

static void on_warm(void *context)
{
    struct user *u = context;
    u->measured = now_of(u);
    for (size_t i = 0; i < u->len; i++)
        measure_again(&u->all[i].measure);
}

static void end_user(struct user *u)
{
    u->ending = true;
    stop_measuring(u);
    sink_second(u, now_of(u));
    alarm_fini(&u->alarm);
    alarm_fini(&u->clock);
    alarm_fini(&u->warm);
    for (size_t i = 0; i < u->len; i++) {
        live_second(&u->all[i]);
        live_reset(&u->all[i]);
        live_finish(&u->all[i].cltus);
    }
    links_end(u);
    sle_host_fini(&u->host);
    u->ended(u);
}

/* ---- begin and end ---- */

void user_begin(struct user *u)
{
    tick time = u->options->time, warmup = u->options->warmup;
    u->began = u->moved = u->measured = now_of(u);
    u->wall_offset = offset_of(u);
    alarm_init(&u->alarm, u->world, ALARM_APP, on_time, u);
    alarm_init(&u->clock, u->world, ALARM_APP, on_second, u);
    alarm_init(&u->warm, u->world, ALARM_APP, on_warm, u);
    alarm_set(&u->alarm, time > 0 ? u->began + time : TICK_NEVER);
    alarm_set(&u->clock, u->began + TICK_S);
    alarm_set(&u->warm, warmup > 0 ? u->began + warmup : TICK_NEVER);
    links_begin(u);
}

bool user_close(struct user *u)
{
    return sink_close(u) == 0;
}

/* A command that was not transmitted is no success, unless a script says what it expects. */
static bool has_lost_commands(const struct association *a)
{
    const struct cltus *c = &a->cltus;
    return a->script == NULL && c->refused + c->expired + c->discarded > 0;
}

bool user_good(const struct user *u)
{
    for (size_t i = 0; i < u->len; i++)
        if (u->all[i].failed || has_lost_commands(&u->all[i]))
            return false;
    return true;
}

/* ---- in the kernel's world ---- */

static void end_loop(struct user *u)
{
    uv_signals_close(u->signals);
    uv_world_end(u->world);
}

static int run_loop(struct user *u)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    u->ended = end_loop;
    u->signals = uv_signals_open(u->world, numbers, 2, on_signal, u);
    if (u->signals == NULL)
        return HELIO_ENOMEM;
    user_begin(u);
    uv_world_run(u->world);
    return 0;
}

int user_run(const struct user_options *o, json_t **result)
{
    struct user u;
    struct world *w;
    int e = uv_world_open(&w);
    if (e < 0) {
        fprintf(stderr, "helio-sle: the event loop: %s\n", helio_strerror(e));
        return 1;
    }
    e = user_open(&u, w, o);
    if (e == 0)
        e = run_loop(&u);
    bool good = user_close(&u) && e == 0 && user_good(&u);
    if (e == 0 && result != NULL)
        *result = result_json(&u);
    else if (e == 0)
        result_print(&u);
    user_free(&u);
    if (e < 0) {
        uv_world_end(w);
        uv_world_run(w);
    }
    if (uv_world_free(w) < 0)
        good = false;
    return good ? 0 : 1;
}
