/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames by Space Link Extension: a user of RAF or RCF receives frames, a user of FCLTU sends
 * CLTUs, each bound on its own TCP connection to the provider. Frames can be sent and received
 * after the returns of BIND and START. While the wire is not needed, and at its end, each service
 * is stopped and unbound. Frames stay in the engine's buffers until they are read; while they are
 * not read, the provider's connection is not read either.
 *
 * What can go wrong: at the beginning an instance that the engine refuses, memory. Later the
 * connection is refused, BIND or START is refused, credentials are wrong, the provider aborts or
 * does not answer: logged, counted, and retried with growing pauses. CLTUs are lost meanwhile;
 * refused CLTUs are counted. Production is interrupted or halted: then the provider takes CLTUs
 * again after a new START (CCSDS 912.1), so FCLTU is stopped and started, without a new BIND.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/framed/frame_pump.h"
#include "cla/framed/sle_conn.h"
#include "cla/framed/sle_digest.h"
#include "os/log/say.h"
#include "sle/user.h"

#define READY_MAX 64         /* frames that wait to be read */
#define ORDERLY (5 * TICK_S) /* for STOP and UNBIND together; then the association is aborted */
#define CLOSE_WAIT (2 * TICK_S)
#define SAYS 6 /* lines for the log at once, then one in this time */
#define SAYS_PAUSE (30 * TICK_S)

struct sle_wire;

/* One of the two: its instance and its connection. */
struct service {
    struct sle_wire *wire;
    struct sle_instance *instance; /* NULL: not used */
    struct sle_conn *conn;         /* NULL: none */
    struct alarm alarm;            /* to connect; to lose patience with an ending */
    tick pause;                    /* before it is tried again */
    bool bound, active;
    bool restarting; /* from STOP to the return of the new START */
    bool ending;     /* it shall be stopped and unbound, or is being so */
    struct sle_notice over;
    struct say_few lines;
};

struct ready {
    struct slice frame;
    struct buf *owner;
};

struct sle_wire {
    struct frame_pump pump;
    struct address remote;
    struct sle_digests *digests;
    struct sle *engine;
    struct sle_host host;
    struct service frames, cltus;
    struct sle_gvcid channel;
    enum sle_auth_level level;
    tick retry, retry_max;
    bool wanted, blocked;          /* blocked: CLTUs wait for the window, or a START */
    struct ready ready[READY_MAX]; /* [0, taken) are in use, up to len they wait */
    size_t taken, len;
};

static struct sle_wire *sle_of_pump(struct frame_pump *p)
{
    return container_of(p, struct sle_wire, pump);
}

static struct sle_wire *sle_wire_of(const struct frame_wire *w)
{
    return sle_of_pump(frame_pump_of(w));
}

static tick now_of(const struct sle_wire *w)
{
    return world_now(w->pump.wire.world);
}

/* ---- log lines ---- */

__attribute__((format(printf, 3, 4))) static void say_wire(struct service *s, int level,
                                                           const char *format, ...)
{
    struct frame_pump *p = &s->wire->pump;
    char line[400];
    va_list args;
    if (p->wire.user == NULL)
        return;
    s->lines.burst = SAYS;
    s->lines.pause = SAYS_PAUSE;
    if (!say_few_takes(&s->lines, now_of(s->wire)))
        return;
    int n = snprintf(line, sizeof line, "%s: ", sle_instance_id(s->instance));
    va_start(args, format);
    n += vsnprintf(line + n, sizeof line - (size_t)n, format, args);
    va_end(args);
    if (s->lines.left_out > 0 && (size_t)n < sizeof line)
        snprintf(line + n, sizeof line - (size_t)n, " (%llu lines were left out)",
                 (unsigned long long)s->lines.left_out);
    s->lines.left_out = 0;
    p->wire.user->say(p->wire.context, level, line);
}

/* Sending needs all configured services; receiving needs only its own service. */
static void tell_state(struct sle_wire *w)
{
    bool arrives = w->frames.instance == NULL || w->frames.active;
    bool leaves = arrives && (w->cltus.instance == NULL || w->cltus.active);
    frame_pump_change(&w->pump, leaves, arrives);
}

static bool is_served(const struct sle_wire *w)
{
    return w->wanted && !w->pump.closing;
}

/* ---- an association ---- */

static void begin_operation(struct service *s)
{
    assert(s->conn != NULL && !s->active && s->bound == s->restarting);
    struct sle_start start = {.quality = SLE_GOOD_ONLY, .gvcid = s->wire->channel};
    s->bound = true;
    if (sle_user_start(s->instance, &start, now_of(s->wire)) != 0)
        sle_link_abort(sle_conn_link(s->conn), SLE_ABORT_OTHER, now_of(s->wire));
}

static void unbind_service(struct service *s)
{
    (void)sle_user_unbind(s->instance, SLE_UNBIND_END, now_of(s->wire));
}

static void open_window(struct sle_wire *w)
{
    if (w->cltus.restarting)
        return;
    if (w->blocked)
        frame_pump_room(&w->pump);
    w->blocked = false;
}

static void take_start(struct service *s, const struct sle_notice *n)
{
    struct sle_wire *w = s->wire;
    assert(s->bound && !s->active);
    if (n->diag != SLE_OK) {
        w->pump.n.starts_refused++;
        say_wire(s, 1, "START was refused: %s diagnostic %u",
                 n->diag >= SLE_SPECIFIC ? "specific" : "common", n->diag & 0xff);
        unbind_service(s);
        return;
    }
    const bool again = s->restarting;
    w->pump.n.connects += !again;
    s->active = true;
    s->restarting = false;
    s->pause = 0;
    if (again)
        open_window(w);
    if (s->ending)
        (void)sle_user_stop(s->instance, now_of(w));
    else if (!again)
        say_wire(s, 2, "bound to %s, version %u, and started",
                 sle_link_peer(sle_conn_link(s->conn)), sle_link_version(sle_conn_link(s->conn)));
    tell_state(w);
}

/* The provider takes no CLTU before a new START. */
static void restart_service(struct service *s, const char *why)
{
    struct sle_wire *w = s->wire;
    if (!s->active || s->ending)
        return;
    say_wire(s, 1, "%s: STOP, then START again", why);
    s->active = false;
    s->restarting = sle_user_stop(s->instance, now_of(w)) == 0;
    w->blocked = true; /* frames wait */
}

static void take_stop(struct service *s)
{
    if (s->restarting && !s->ending)
        begin_operation(s);
    else
        unbind_service(s);
}

/* A frame waits until it is read; if many wait, so do those behind them. At the end they are
 * dropped. */
static void take_frame(struct service *s, const struct sle_notice *n)
{
    struct sle_wire *w = s->wire;
    if (w->pump.closing)
        return;
    assert(w->len < READY_MAX);
    w->ready[w->len++] = (struct ready){n->u.item.data, buf_keep(n->owner)};
    if (w->len == READY_MAX)
        sle_conn_hold(s->conn, true);
    frame_pump_again(&w->pump);
}

static void on_notice(void *context, struct sle_conn *c, const struct sle_notice *n)
{
    struct service *s = context;
    (void)c;
    switch (n->kind) {
    case SLE_BOUND:
        if (s->ending)
            unbind_service(s);
        else
            begin_operation(s);
        break;
    case SLE_STARTED:
        take_start(s, n);
        break;
    case SLE_STOPPED:
        take_stop(s);
        break;
    case SLE_FRAME:
        take_frame(s, n);
        break;
    case SLE_CLTU_ANSWER:
        s->wire->pump.n.refused += n->diag != SLE_OK;
        open_window(s->wire);
        if (n->diag == SLE_CLTU_UNABLE_TO_PROCESS)
            restart_service(s, "the provider is unable to process CLTUs");
        break;
    case SLE_NOTIFIED:
        open_window(s->wire);
        if (n->u.async.notification == SLE_ASYNC_INTERRUPTED ||
            n->u.async.notification == SLE_ASYNC_HALTED)
            restart_service(s, sle_notification_text(n->u.async.notification));
        break;
    case SLE_OVER:
        s->over = *n;
        break;
    default:
        break;
    }
}

static void connect_service(struct service *s);

static void retry_later(struct service *s)
{
    struct sle_wire *w = s->wire;
    tick twice = tick_add(s->pause, s->pause);
    s->pause = s->pause == 0 ? w->retry : tick_min(twice, w->retry_max);
    assert(s->pause > 0 && s->pause <= w->retry_max);
    alarm_set(&s->alarm, tick_add(now_of(w), s->pause));
}

/* The connection attempt failed, or the connection ended unexpectedly. */
static void tell_break(struct service *s, int error)
{
    struct sle_wire *w = s->wire;
    char text[ADDRESS_TEXT_MAX];
    const char *why = error != 0 ? helio_strerror(error) : "the provider has ended it";
    w->pump.n.broken++;
    bool met = error == 0 || helio_errno(error) == ECONNRESET; /* the provider's host answered */
    const char *hint = s->bound || !met            ? ""
                       : w->level == SLE_AUTH_NONE ? "; does it ask for authentication (sle.auth)?"
                                                   : "; so ends what it takes for a wrong password";
    if (s->bound)
        say_wire(s, 1, "the connection has ended: %s", why);
    else
        say_wire(s, 1, "no answer to BIND from %s: %s%s", address_write(&w->remote, text), why,
                 hint);
}

static void tell_end(struct service *s, int error)
{
    struct frame_wire_counters *n = &s->wire->pump.n;
    enum sle_end end = s->over.kind == SLE_OVER ? s->over.end : SLE_END_CLOSED;
    const char *why = s->over.kind == SLE_OVER ? sle_conn_reason(&s->over) : "";
    if (end == SLE_END_UNBOUND)
        return;
    if (end == SLE_END_CLOSED) {
        tell_break(s, error);
        return;
    }
    n->binds_refused += end == SLE_END_REFUSED;
    n->peer_aborts += end == SLE_END_PEER_ABORT;
    n->broken += end != SLE_END_REFUSED && end != SLE_END_PEER_ABORT;
    say_wire(s, 1, "%s%s%s%s", sle_end_text(end), *why != '\0' ? ": " : "", why,
             end == SLE_END_AUTH ? ": sle.provider_password, or one of the clocks" : "");
}

/* There is no connection any more. */
static void end_service(struct service *s)
{
    struct sle_wire *w = s->wire;
    bool again = is_served(w), in_order = s->ending;
    s->conn = NULL;
    s->bound = s->active = s->ending = s->restarting = false;
    if (s == &w->cltus)
        open_window(w);
    tell_state(w);
    if (again && in_order)
        alarm_set(&s->alarm, 0);
    else if (again)
        retry_later(s);
    else
        alarm_set(&s->alarm, TICK_NEVER);
    if (w->pump.closing && !w->pump.ended && w->frames.conn == NULL && w->cltus.conn == NULL)
        frame_pump_end(&w->pump);
    assert(s->conn == NULL && !w->pump.wire.leaves);
}

static void on_gone(void *context, struct sle_conn *c, int error)
{
    struct service *s = context;
    assert(s->conn == c);
    (void)c;
    tell_end(s, error);
    end_service(s);
}

static const struct sle_conn_user conn_user = {.notice = on_notice, .gone = on_gone};

static void connect_service(struct service *s)
{
    struct sle_wire *w = s->wire;
    uint64_t wall = world_wall(w->pump.wire.world);
    char text[ADDRESS_TEXT_MAX];
    assert(s->conn == NULL && is_served(w));
    sle_clock_set(w->engine, wall > now_of(w) ? wall - now_of(w) : 0); /* it may have been set */
    s->over = (struct sle_notice){.kind = SLE_NOTICE_COUNT};
    int r = sle_conn_open(&w->host, &s->conn, s->instance, &w->remote, 0, &conn_user, s);
    if (r == 0)
        return;
    s->conn = NULL;
    w->pump.n.broken++;
    say_wire(s, 1, "cannot connect to %s: %s", address_write(&w->remote, text), helio_strerror(r));
    retry_later(s);
}

/* STOP, then UNBIND; an unanswered BIND is dropped. */
static void stop_service(struct service *s)
{
    struct sle_wire *w = s->wire;
    if (s->conn == NULL) {
        alarm_set(&s->alarm, TICK_NEVER);
        return;
    }
    if (w->pump.closing)
        sle_conn_hold(s->conn, false); /* frames are not read any more */
    if (s->ending)
        return;
    enum sle_state state = sle_link_state(sle_conn_link(s->conn));
    s->ending = true;
    if (state == SLE_BINDING || state == SLE_UNBOUND_STATE) {
        sle_conn_free(s->conn);
        end_service(s);
        return;
    }
    if (state == SLE_ACTIVE)
        (void)sle_user_stop(s->instance, now_of(w));
    else if (state == SLE_READY)
        unbind_service(s);
    alarm_set(&s->alarm, tick_add(now_of(w), ORDERLY));
    sle_conn_pump(s->conn);
    assert(s->conn == NULL || s->ending);
}

static void on_alarm(void *context)
{
    struct service *s = context;
    if (s->conn == NULL) {
        connect_service(s);
    } else if (s->ending) {
        say_wire(s, 1, "STOP and UNBIND were not answered in time: aborted");
        sle_link_abort(sle_conn_link(s->conn), SLE_ABORT_OPERATIONAL, now_of(s->wire));
        sle_conn_pump(s->conn);
    }
}

/* ---- as a wire ---- */

static bool send_frame(struct frame_wire *wire, struct slice frame)
{
    struct sle_wire *w = sle_wire_of(wire);
    struct sle_cltu cltu = {.data = frame};
    if (!w->cltus.active || w->cltus.ending)
        return false;
    int r = sle_user_cltu(w->cltus.instance, &cltu, NULL, now_of(w));
    w->blocked = r == HELIO_EAGAIN;
    w->pump.n.out += r == 0;
    return r == 0;
}

static bool flush_frames(struct frame_wire *wire)
{
    struct sle_wire *w = sle_wire_of(wire);
    if (w->cltus.active)
        sle_conn_pump(w->cltus.conn);
    return !w->blocked;
}

static bool is_pending(const struct frame_wire *wire)
{
    return sle_wire_of(wire)->blocked;
}

static void drop_taken(struct sle_wire *w)
{
    assert(w->taken <= w->len && w->len <= READY_MAX);
    for (size_t i = 0; i < w->taken; i++)
        buf_drop(w->ready[i].owner);
    w->len -= w->taken;
    memmove(w->ready, w->ready + w->taken, w->len * sizeof *w->ready);
    w->taken = 0;
    if (w->frames.conn != NULL && w->len < READY_MAX)
        sle_conn_hold(w->frames.conn, false);
}

static bool fill_frames(struct frame_wire *wire)
{
    struct sle_wire *w = sle_wire_of(wire);
    drop_taken(w);
    return w->len > 0;
}

/* What lies in a buffer stays with it until the next fill, or until reading is watched. */
static bool next_frame(struct frame_wire *wire, struct slice *frame)
{
    struct sle_wire *w = sle_wire_of(wire);
    if (w->taken == w->len)
        return false;
    *frame = w->ready[w->taken++].frame;
    w->pump.n.in++;
    return true;
}

/* The reader has finished with what it read. */
static void watch_frames(struct frame_pump *p)
{
    if (p->read)
        drop_taken(sle_of_pump(p));
}

static tick due_of(struct frame_pump *p)
{
    const struct sle_wire *w = sle_of_pump(p);
    return w->taken < w->len ? 0 : TICK_NEVER;
}

static void want_wire(struct frame_wire *wire, bool wanted)
{
    struct sle_wire *w = sle_wire_of(wire);
    struct service *all[] = {&w->frames, &w->cltus};
    if (w->wanted == wanted || w->pump.closing)
        return;
    w->wanted = wanted;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->instance == NULL)
            continue;
        if (!wanted)
            stop_service(all[i]);
        else if (all[i]->conn == NULL)
            alarm_set(&all[i]->alarm, 0);
    }
}

static void count_wire(const struct frame_wire *wire, struct frame_wire_counters *out)
{
    const struct sle_wire *w = sle_wire_of(wire);
    frame_pump_count(wire, out);
    out->credentials_wrong = sle_counts(w->engine)->auth_failed;
}

static void free_wire(struct frame_pump *p)
{
    struct sle_wire *w = sle_of_pump(p);
    alarm_fini(&w->frames.alarm);
    alarm_fini(&w->cltus.alarm);
    for (size_t i = 0; i < w->len; i++)
        buf_drop(w->ready[i].owner);
    sle_host_fini(&w->host);
    if (w->engine != NULL)
        sle_free(w->engine);
    sle_digests_free(w->digests);
    free(w);
}

static void close_wire(struct frame_wire *wire, void (*closed)(void *context), void *context)
{
    struct sle_wire *w = sle_wire_of(wire);
    (void)flush_frames(wire);
    frame_pump_close(&w->pump, closed, context);
    if (w->frames.conn == NULL && w->cltus.conn == NULL)
        frame_pump_end(&w->pump);
    stop_service(&w->frames);
    stop_service(&w->cltus);
}

static const struct frame_wire_ops sle_wire_ops = {.send = send_frame,
                                                   .flush = flush_frames,
                                                   .pending = is_pending,
                                                   .fill = fill_frames,
                                                   .next = next_frame,
                                                   .watch = frame_pump_watch,
                                                   .count = count_wire,
                                                   .socket = frame_pump_socket,
                                                   .want = want_wire,
                                                   .close = close_wire};
static const struct frame_pump_ops sle_pump_ops = {
    .due = due_of, .watched = watch_frames, .free = free_wire};

static int open_engine(struct sle_wire *w, const struct frame_wire_sle *c)
{
    struct world *world = w->pump.wire.world;
    struct sle_config config = {.self = c->us,
                                .tml.close_wait = CLOSE_WAIT,
                                .hash = sle_digest,
                                .seed = world_random(world)};
    struct sle_peer peer = {.who = c->provider, .level = c->level, .hash = c->hash};
    w->digests = sle_digests_new();
    if (w->digests == NULL)
        return HELIO_ENOMEM;
    config.hash_context = w->digests;
    w->engine = sle_new(&config);
    if (w->engine != NULL)
        sle_host_init(&w->host, w->pump.wire.world, w->engine);
    return w->engine == NULL ? HELIO_ENOMEM : sle_peer_set(w->engine, &peer);
}

static int add_service(struct service *s, const struct frame_wire_sle *c, const char *id)
{
    struct sle_user_config user = {
        .id = id, .responder = c->provider.id, .responder_port = c->port, .version = c->version};
    int r = frame_wire_given(id) ? sle_user_add(s->wire->engine, &user, &s->instance) : 0;
    if (r == 0 && s->instance != NULL)
        alarm_set(&s->alarm, 0);
    return r;
}

int frame_wire_sle(struct world *world, struct frame_wire **out, const struct frame_wire_config *c)
{
    struct sle_wire *w = calloc(1, sizeof *w);
    if (w == NULL)
        return HELIO_ENOMEM;
    assert(c->sle != NULL && c->sle->retry > 0 && c->sle->retry_max >= c->sle->retry);
    frame_pump_init(&w->pump, world, &sle_wire_ops, &sle_pump_ops);
    w->remote = c->remote;
    w->channel = c->sle->channel;
    w->level = c->sle->level;
    w->retry = c->sle->retry;
    w->retry_max = c->sle->retry_max;
    w->wanted = true;
    w->frames.wire = w->cltus.wire = w;
    alarm_init(&w->frames.alarm, world, ALARM_LINK, on_alarm, &w->frames);
    alarm_init(&w->cltus.alarm, world, ALARM_LINK, on_alarm, &w->cltus);
    int r = open_engine(w, c->sle);
    if (r == 0)
        r = add_service(&w->frames, c->sle,
                        frame_wire_given(c->sle->raf) ? c->sle->raf : c->sle->rcf);
    if (r == 0)
        r = add_service(&w->cltus, c->sle, c->sle->cltu);
    if (r != 0) {
        frame_pump_fini(&w->pump);
        free_wire(&w->pump);
        return r;
    }
    w->pump.wire.leaves = false;
    w->pump.wire.arrives = w->frames.instance == NULL;
    *out = &w->pump.wire;
    return 0;
}
