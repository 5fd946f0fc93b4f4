/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each association: connection, BIND, questions if wanted, START, frames or CLTUs, STOP, UNBIND.
 * It stops after so many frames, so much time, at the end of the data, or when the operator says
 * so.
 *
 * What can go wrong: nobody listens, BIND or START is refused, the provider aborts, nothing comes
 * for too long: told, and the result says so.
 */
#include "tools/sle/sle_user_run.h"

#include <assert.h>
#include <ctype.h>
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

__attribute__((format(printf, 2, 3))) static void fail(struct association *a, const char *format,
                                                       ...)
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

enum { ASKED_AT_ONCE = 4 }; /* parameters */

/* Those of a service, 0 ends them; the last ones from version 5 on only. */
static const enum sle_parameter raf_parameters[] = {
    SLE_PAR_BUFFER_SIZE,         SLE_PAR_DELIVERY_MODE,     SLE_PAR_LATENCY_LIMIT,
    SLE_PAR_REPORTING_CYCLE,     SLE_PAR_REQUESTED_QUALITY, SLE_PAR_RETURN_TIMEOUT,
    SLE_PAR_MIN_REPORTING_CYCLE, SLE_PAR_PERMITTED_QUALITY, 0};
static const enum sle_parameter rcf_parameters[] = {
    SLE_PAR_BUFFER_SIZE,      SLE_PAR_DELIVERY_MODE,       SLE_PAR_LATENCY_LIMIT,
    SLE_PAR_PERMITTED_GVCIDS, SLE_PAR_REPORTING_CYCLE,     SLE_PAR_REQUESTED_GVCID,
    SLE_PAR_RETURN_TIMEOUT,   SLE_PAR_MIN_REPORTING_CYCLE, 0};
static const enum sle_parameter rocf_parameters[] = {
    SLE_PAR_BUFFER_SIZE,       SLE_PAR_DELIVERY_MODE,       SLE_PAR_LATENCY_LIMIT,
    SLE_PAR_PERMITTED_GVCIDS,  SLE_PAR_PERMITTED_WORDS,     SLE_PAR_PERMITTED_TC_VCIDS,
    SLE_PAR_PERMITTED_UPDATES, SLE_PAR_REPORTING_CYCLE,     SLE_PAR_RETURN_TIMEOUT,
    SLE_PAR_REQUESTED_GVCID,   SLE_PAR_REQUESTED_WORD,      SLE_PAR_REQUESTED_TC_VCID,
    SLE_PAR_REQUESTED_UPDATE,  SLE_PAR_MIN_REPORTING_CYCLE, 0};
static const enum sle_parameter cltu_parameters[] = {
    SLE_PAR_ACQUISITION_LENGTH,   SLE_PAR_BIT_LOCK_REQUIRED,   SLE_PAR_CLCW_GVCID,
    SLE_PAR_CLCW_CHANNEL,         SLE_PAR_DELIVERY_MODE,       SLE_PAR_EXPECTED_SLDU,
    SLE_PAR_EXPECTED_EVENT,       SLE_PAR_MAXIMUM_SLDU,        SLE_PAR_MINIMUM_DELAY,
    SLE_PAR_MODULATION_FREQUENCY, SLE_PAR_MODULATION_INDEX,    SLE_PAR_NOTIFICATION_MODE,
    SLE_PAR_PLOP1_IDLE_LENGTH,    SLE_PAR_PLOP_IN_EFFECT,      SLE_PAR_PROTOCOL_ABORT_MODE,
    SLE_PAR_REPORTING_CYCLE,      SLE_PAR_RETURN_TIMEOUT,      SLE_PAR_RF_AVAILABLE_REQUIRED,
    SLE_PAR_SUBCARRIER_RATIO,     SLE_PAR_MIN_REPORTING_CYCLE, 0};

static const enum sle_parameter *parameters_of(enum sle_service service)
{
    return service == SLE_RAF    ? raf_parameters
           : service == SLE_RCF  ? rcf_parameters
           : service == SLE_ROCF ? rocf_parameters
                                 : cltu_parameters;
}

/* Some at a time: a provider is known that never answers more than eleven operations at once. */
static void ask_parameters(struct association *a)
{
    bool five = a->user->options->terms.version >= 5;
    const enum sle_parameter *all = parameters_of(a->service);
    for (; all[a->asked] != 0 && a->asking < ASKED_AT_ONCE; a->asked++) {
        enum sle_parameter p = all[a->asked];
        if (five || (p != SLE_PAR_MIN_REPORTING_CYCLE && p != SLE_PAR_PERMITTED_QUALITY))
            a->asking += sle_user_get(a->sle, p, now_of(a->user)) == 0;
    }
    assert(a->asking <= ASKED_AT_ONCE);
}

static void begin_service(struct association *a)
{
    tick now = now_of(a->user);
    if (a->user->options->parameters)
        (void)sle_user_schedule(a->sle, &(struct sle_schedule){.report = SLE_REPORT_NOW}, now);
    int e = sle_user_start(a->sle, &a->user->options->start, now);
    if (e < 0)
        fail(a, "START cannot be sent: %s", helio_strerror(e));
}

/* START comes when all is known that was asked for. Whoever stopped meanwhile asks for nothing:
 * behind START comes STOP. */
static void bound(struct association *a)
{
    if (a->user->options->parameters && !a->stopping)
        ask_parameters(a);
    if (a->asking == 0)
        begin_service(a);
}

static void stop_association(struct association *a)
{
    a->stop_later = events_awaited(a);
    if (a->stopping || a->stop_later || a->conn == NULL)
        return;
    a->stopping = true;
    if (sle_user_stop(a->sle, now_of(a->user)) < 0)
        (void)sle_user_unbind(a->sle, SLE_UNBIND_END, now_of(a->user));
}

/* Events first, then CLTUs, then the end. */
static void go_on_forward(struct association *a)
{
    tick now = now_of(a->user);
    if (a->stop_later) {
        stop_association(a);
        return;
    }
    events_throw(a, now);
    if (!events_done(a))
        return;
    cltus_send(a, now);
    if (cltus_done(&a->cltus))
        stop_association(a);
}

static void take_parameter(struct association *a, const struct sle_notice *n)
{
    a->parameters += n->diag == SLE_OK ? 1 : 0;
    if (a->asking > 0) {
        a->asking--;
        if (a->stopping)
            return; /* UNBIND is under way */
        ask_parameters(a);
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
    if (n->diag != SLE_OK) {
        fail(a, "START was refused: diagnostic %u", n->diag & 0xff);
        (void)sle_user_unbind(a->sle, SLE_UNBIND_END, now);
        return;
    }
    a->started = true;
    a->cltus.began = n->u.start_return.radiation_start;
    if (a->stopping) /* it was asked for before */
        (void)sle_user_stop(a->sle, now);
    else if (a->service == SLE_FCLTU)
        go_on_forward(a);
}

static void stopped(struct association *a, const struct sle_notice *n)
{
    if (n->diag != SLE_OK)
        fail(a, "STOP was refused: diagnostic %u", n->diag & 0xff);
    (void)sle_user_unbind(a->sle, SLE_UNBIND_END, now_of(a->user));
}

static void take_frame(struct association *a, tick now, const struct sle_item *item)
{
    struct user *u = a->user;
    uint64_t wall = now + u->wall_offset;
    int64_t delay = measure_frame(&a->measure, item->data, u->options->numbered, now, wall);
    sink_frame(u, item, wall, delay);
    if (u->options->frames > 0 && a->measure.frames >= u->options->frames)
        stop_association(a);
}

static void take_sync(struct association *a, const struct sle_sync *s)
{
    a->syncs++;
    if (s->kind == SLE_SYNC_BACKLOG)
        a->backlogs++;
    if (s->kind != SLE_SYNC_END)
        return;
    a->ended_data = true;
    if (a->user->options->until_end)
        stop_association(a);
}

static void tell_over(struct association *a, const struct sle_notice *n)
{
    if (n->end == SLE_END_UNBOUND)
        a->unbound = true;
    else if (n->end != SLE_END_CLOSED) /* on_gone knows why */
        fail(a, "%s%s%s", sle_end_text(n->end), *sle_conn_reason(n) != '\0' ? ": " : "",
             sle_conn_reason(n));
}

static void on_notice(void *context, struct sle_conn *c, const struct sle_notice *n)
{
    struct association *a = context;
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
        break;
    case SLE_SYNC:
        take_sync(a, &n->u.item.sync);
        break;
    case SLE_STATUS:
        a->reports++;
        break;
    case SLE_PARAMETER:
        take_parameter(a, n);
        break;
    case SLE_CLTU_ANSWER:
        cltus_answer(a, n);
        go_on_forward(a);
        break;
    case SLE_EVENT_ANSWER:
        events_answer(a, n);
        go_on_forward(a);
        break;
    case SLE_NOTIFIED:
        cltus_notified(a, &n->u.async);
        events_notified(a, &n->u.async);
        go_on_forward(a);
        break;
    case SLE_OVER:
        tell_over(a, n);
        break;
    default:
        break;
    }
}

static void over(struct association *a)
{
    struct user *u = a->user;
    assert(!a->done);
    a->done = true;
    if (++u->done == u->len)
        end_user(u);
}

static void on_gone(void *context, struct sle_conn *c, int error)
{
    struct association *a = context;
    (void)c;
    a->conn = NULL;
    if (!a->unbound && !a->failed)
        fail(a, "the connection has ended%s%s", error < 0 ? ": " : "",
             error < 0 ? helio_strerror(error) : "");
    over(a);
}

static const struct sle_conn_user conn_user = {on_notice, on_gone, NULL};

static void connect_association(struct association *a)
{
    struct user *u = a->user;
    int e = sle_conn_open(u->world, &a->conn, a->sle, &u->options->to,
                          (uint32_t)u->options->tcp_buffer, &conn_user, a);
    if (e < 0) {
        char text[ADDRESS_TEXT_MAX];
        a->conn = NULL;
        fail(a, "%s: %s", address_write(&u->options->to, text), helio_strerror(e));
        over(a);
        return;
    }
    const char *name = u->options->congestion;
    e = name == NULL ? 0 : sle_conn_congestion(a->conn, name);
    if (e < 0)
        say(&u->log, LEVEL_WARNING, "congestion: %s: %s", name, helio_strerror(e));
}

/* ---- all of them ---- */

static void stop_all(struct user *u)
{
    for (size_t i = 0; i < u->len; i++)
        if (u->all[i].conn != NULL && !u->all[i].stopping) {
            stop_association(&u->all[i]);
            if (u->all[i].conn != NULL)
                sle_conn_pump(u->all[i].conn);
        }
}

/* Nothing more is waited for. */
static void drop_all(struct user *u)
{
    for (size_t i = 0; i < u->len; i++) {
        struct association *a = &u->all[i];
        if (a->conn == NULL)
            continue;
        fail(a, "%s", a->stopping ? "the provider does not answer" : "nothing came for too long");
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
    if (p != u->progress) {
        u->progress = p;
        u->moved = now;
    } else if (u->options->wait > 0 && now - u->moved >= u->options->wait) {
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
    u->ended(u);
}

/* ---- begin ---- */

/* The id of the nth: the number at its end counts up. */
static bool name_instance(const char *id, unsigned n, char out[SLE_SIID_MAX + 1])
{
    size_t len = strlen(id), stem = len;
    while (stem > 0 && isdigit((unsigned char)id[stem - 1]))
        stem--;
    if (n == 0)
        return snprintf(out, SLE_SIID_MAX + 1, "%s", id) <= SLE_SIID_MAX;
    unsigned long first = stem < len ? strtoul(id + stem, NULL, 10) : 0;
    return snprintf(out, SLE_SIID_MAX + 1, "%.*s%lu", (int)stem, id, first + n) <= SLE_SIID_MAX;
}

static int add_association(struct user *u, struct association *a, unsigned n)
{
    const struct user_options *o = u->options;
    struct sle_siid id;
    a->user = u;
    measure_init(&a->measure);
    if (!name_instance(o->instance, n, a->id) ||
        sle_siid_parse(a->id, &id, &a->service, NULL) < 0) {
        say(&u->log, LEVEL_ERROR, "%s: this is no service instance identifier", a->id);
        return HELIO_EFORMAT;
    }
    struct sle_user_config c = {.id = a->id,
                                .responder = o->responder,
                                .responder_port = o->port_name,
                                .version = o->terms.version};
    int e = sle_user_add(u->sle, &c, &a->sle);
    if (e == 0 && a->service == SLE_FCLTU && o->cltus == NULL && o->events_len == 0)
        e = HELIO_EINVAL;
    if (e == 0 && a->service == SLE_FCLTU && o->cltus != NULL)
        e = cltus_load(&a->cltus, o->cltus);
    if (e == 0 && a->service == SLE_FCLTU)
        e = events_open(a);
    if (e < 0)
        say(&u->log, LEVEL_ERROR, "%s: %s",
            a->service == SLE_FCLTU && o->cltus != NULL ? o->cltus : a->id,
            a->service == SLE_FCLTU && o->cltus == NULL ? "the option --cltus or --event is missing"
                                                        : helio_strerror(e));
    return e;
}

static int make_engine(struct user *u)
{
    const struct user_options *o = u->options;
    struct sle_config c = {.tml = {.heartbeat_s = o->heartbeat_s, .dead_factor = o->dead_factor},
                           .hash = sle_digest,
                           .hash_context = u->digests,
                           .seed = world_random(u->world),
                           .links_max = o->repeat,
                           .unix_ns = world_wall(u->world) - world_now(u->world)};
    struct sle_peer p = {.level = (enum sle_auth_level)o->terms.level,
                         .hash = (enum sle_hash)o->terms.hash};
    snprintf(c.self.id, sizeof c.self.id, "%s", o->id);
    snprintf(p.who.id, sizeof p.who.id, "%s", o->responder);
    (void)sle_password_read(o->password, &c.self);
    (void)sle_password_read(o->responder_password, &p.who);
    u->sle = sle_new(&c);
    return u->sle == NULL ? HELIO_ENOMEM : sle_peer_set(u->sle, &p);
}

int user_open(struct user *u, struct world *w, const struct user_options *o)
{
    const struct eid nobody = eid_none(); /* names no node: text only */
    *u = (struct user){.world = w, .options = o};
    say_init(&u->log, o->log, false, &nobody);
    u->digests = sle_digests_new();
    u->all = calloc(o->repeat, sizeof *u->all);
    int e = u->digests == NULL || u->all == NULL ? HELIO_ENOMEM : make_engine(u);
    if (e < 0)
        say(&u->log, LEVEL_ERROR, "%s", helio_strerror(e));
    for (unsigned i = 0; i < o->repeat && e == 0; i++) {
        e = add_association(u, &u->all[i], i);
        u->len += e == 0 ? 1 : 0;
    }
    return e == 0 ? sink_open(u) : e;
}

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
    for (size_t i = 0; i < u->len; i++)
        connect_association(&u->all[i]);
}

bool user_close(struct user *u)
{
    return sink_close(u) == 0;
}

bool user_good(const struct user *u)
{
    for (size_t i = 0; i < u->len; i++)
        if (u->all[i].failed)
            return false;
    return true;
}

void user_free(struct user *u)
{
    sle_free(u->sle);
    sle_digests_free(u->digests);
    for (size_t i = 0; i < u->len; i++) {
        cltus_free(&u->all[i].cltus);
        events_free(&u->all[i]);
    }
    free(u->all);
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
    if (uv_world_open(&w) < 0)
        return 1;
    int e = user_open(&u, w, o);
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
