/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider: listens, gives each connection a link of the engine, and does what the engine's
 * notices ask for. The operator's log has each association's begin and end, and each refusal with
 * who and why; refusals beyond some a second are only counted, and logged together.
 *
 * What can go wrong: an address or a file cannot be opened: reported, and the program ends before
 * it has begun. What users do wrong ends their own association and nobody else's.
 */
#include "tools/sle/station/sle_station.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define CLOCK (200 * TICK_MS)
#define CLOCK_MOVED (100 * TICK_US)
#define CLOCK_SPAN (2 * TICK_US) /* between two looks at the clock, that will do */
#define CLOCK_TRIES 5

static struct instance *find_instance(struct station *t, const struct sle_instance *s)
{
    for (size_t i = 0; i < t->settings->instances_len; i++)
        if (t->instances[i].sle == s)
            return &t->instances[i];
    return NULL;
}

static void free_visit(struct visit *v)
{
    list_sub(&v->node);
    free(v);
}

/* ---- notices ---- */

static void on_bound(struct visit *v, const struct sle_link *l)
{
    v->instance = find_instance(v->station, sle_link_instance(l));
    assert(v->instance != NULL);
    v->instance->conn = v->conn;
    if (catchup_can(v->instance))
        catchup_bound(v->instance);
    station_say(v->station, LINES_SERVICE, LEVEL_INFO, "%s: bound by %s, version %u, from %s",
                v->instance->config->id, sle_link_peer(l), sle_link_version(l), v->from);
}

static void on_started(struct visit *v, const struct sle_notice *n)
{
    struct instance *i = v->instance;
    station_say(v->station, LINES_SERVICE, LEVEL_INFO, "%s: started", i->config->id);
    if (i->config->service == SLE_FCLTU)
        uplink_wake(i);
    else if (i->config->mode == SLE_OFFLINE)
        offline_start(i, &n->u.start);
    else {
        if (catchup_can(i))
            catchup_started(i, &n->u.start);
        source_started(i->source, i);
    }
}

static void wake_production(struct instance *i)
{
    if (i->config->mode == SLE_OFFLINE || i->catchup.on)
        offline_wake(i);
    else
        source_wake(i->source);
}

/* What was in service ends; the source goes on for the others. */
static void end_service(struct instance *i)
{
    if (i->config->service == SLE_FCLTU)
        return;
    catchup_stop(i);
    i->missed = 0;
    i->taken = true;
    source_wake(i->source);
}

static bool is_refusal(enum sle_end end)
{
    return end == SLE_END_REFUSED || end == SLE_END_AUTH;
}

/* Why the association ended, in one line. */
static void tell_over(struct visit *v, const struct sle_link *l, const struct sle_notice *n)
{
    struct station *t = v->station;
    const char *who = *sle_link_peer(l) != '\0' ? sle_link_peer(l) : "unknown";
    const char *what = v->instance != NULL ? v->instance->config->id : "no instance";
    if (n->end == SLE_END_UNBOUND) {
        station_say(t, LINES_SERVICE, LEVEL_INFO, "%s: unbound by %s", what, who);
        return;
    }
    t->refused += is_refusal(n->end) ? 1 : 0;
    const char *why = sle_conn_reason(n);
    bool nobody = n->end == SLE_END_CLOSED && v->instance == NULL; /* who only looked */
    station_say(t, LINES_REFUSED, nobody ? LEVEL_INFO : LEVEL_WARNING, "%s: %s at %s: %s%s%s", what,
                who, v->from, sle_end_text(n->end), *why != '\0' ? ": " : "", why);
}

static void on_notice(void *context, struct sle_conn *c, const struct sle_notice *n)
{
    struct visit *v = context;
    struct sle_link *l = sle_conn_link(c);
    switch (n->kind) {
    case SLE_BOUND:
        on_bound(v, l);
        break;
    case SLE_STARTED_BY_USER:
        on_started(v, n);
        break;
    case SLE_STOPPED_BY_USER:
        station_say(v->station, LINES_SERVICE, LEVEL_INFO, "%s: stopped", v->instance->config->id);
        end_service(v->instance);
        if (address_given(&v->instance->config->connect)) /* who has bound unbinds */
            (void)sle_provider_unbind(v->instance->sle, SLE_UNBIND_SUSPEND, sle_conn_now(c));
        break;
    case SLE_ROOM:
        wake_production(v->instance);
        break;
    case SLE_CLTU_READY:
        uplink_wake(v->instance);
        break;
    case SLE_EVENT_THROWN:
        events_take(v->instance, n);
        break;
    case SLE_OVER:
        if (v->instance != NULL && v->instance->conn == c)
            catchup_gone(v->instance);
        if (n->end != SLE_END_CLOSED || *sle_conn_why(c) == '\0') /* else on_gone tells it */
            tell_over(v, l, n);
        break;
    default:
        break;
    }
}

static void on_gone(void *context, struct sle_conn *c, int error)
{
    struct visit *v = context;
    (void)error; /* SLE_OVER has reported it */
    if (*sle_conn_why(c) != '\0')
        station_say(v->station, LINES_REFUSED, LEVEL_WARNING, "%s: TLS: %s", v->from,
                    sle_conn_why(c));
    if (v->instance != NULL && v->instance->conn == c) {
        v->instance->conn = NULL;
        end_service(v->instance);
    }
    if (v->instance != NULL)
        dial_again(v->instance);
    free_visit(v);
}

static void on_room(void *context)
{
    struct visit *v = context;
    if (v->instance != NULL && v->instance->config->mode != SLE_OFFLINE)
        source_wake(v->instance->source);
}

const struct sle_conn_user visit_user = {on_notice, on_gone, on_room};

/* ---- connections ---- */

static void tell_no_room(struct station *t, struct stream *s)
{
    stream_reset(s);
    t->refused++;
    station_say(t, LINES_REFUSED, LEVEL_WARNING,
                "a connection was refused: there are too many, or memory is out");
}

static const char *const tls_keys[] = {"tls_certificate", "tls_key", "tls_ca"};

static int open_tls(struct station *t)
{
    const struct settings *s = t->settings;
    const struct tls_files files = {s->tls.certificate, s->tls.key,
                                    *s->tls.ca != '\0' ? s->tls.ca : NULL};
    char why[TLS_WHY_MAX] = "";
    unsigned file = 0;
    if (s->tls.mode == 0)
        return 0;
    t->secure.peer = (enum sle_tls_peer)s->tls.peer;
    t->secure.host = *s->tls.host != '\0' ? s->tls.host : NULL;
    int e = tls_new(&t->secure.tls, &files, &file, why);
    t->certificates.tls = t->secure.tls;
    if (e != 0)
        say(&t->log, LEVEL_ERROR, "%s: %s", tls_keys[file],
            e == HELIO_EINVAL ? why : helio_strerror(e));
    return e;
}

static void take_stream(void *context, struct stream *s)
{
    struct station *t = context;
    struct address from = {.sa = {.sa_family = AF_UNSPEC}};
    isp1_unbound_make_room(&t->unbound);
    struct visit *v = calloc(1, sizeof *v);
    struct sle_link *l = v != NULL ? sle_accept(t->sle, world_now(t->world)) : NULL;
    if (l == NULL) {
        free(v);
        tell_no_room(t, s);
        return;
    }
    v->station = t;
    if (stream_peer(s, &from))
        address_write(&from, v->from);
    if (t->settings->tcp_buffer > 0)
        stream_buffers(s, (uint32_t)t->settings->tcp_buffer);
    int e = *t->settings->congestion != '\0' ? stream_congestion(s, t->settings->congestion) : 0;
    if (e < 0)
        say(&t->log, LEVEL_WARNING, "congestion: %s: %s", t->settings->congestion,
            helio_strerror(e));
    v->conn = sle_conn_new(&t->host, s, l, &visit_user, v);
    if (v->conn == NULL) {
        free(v);
        return;
    }
    list_add_tail(&t->visits, &v->node);
    e = isp1_unbound_add(&t->unbound, sle_conn_isp1(v->conn));
    if (e == 0 && t->secure.tls != NULL)
        e = sle_conn_secure(v->conn, &t->secure, true);
    if (e < 0) {
        say(&t->log, LEVEL_ERROR, "%s: no connection: %s", v->from, helio_strerror(e));
        sle_conn_free(v->conn);
        free_visit(v);
    }
}

static void on_accepted(void *context, struct stream *s)
{
    struct station *t = context;
    certificates_take(&t->certificates, s);
}

/* ---- the clock ---- */

/* Frames that an instance could not take, since the last time. */
static void tell_losses(struct instance *i)
{
    const struct sle_counts *c = sle_instance_counts(i->sle);
    uint64_t lost = c->frames_discarded + i->missed_all;
    if (lost == i->missed_told)
        return;
    say(&i->station->log, LEVEL_WARNING,
        "%s: %" PRIu64 " frames were not delivered, the user is too slow", i->config->id,
        lost - i->missed_told);
    i->missed_told = lost;
}

/* Connections are not accepted, since the process has no descriptor left. */
static void tell_descriptors(struct station *t)
{
    if (t->world->no_descriptor == t->no_descriptor)
        return;
    station_say(t, LINES_REFUSED, LEVEL_ERROR,
                "no file descriptor was free for a connection, %" PRIu64
                " times: connections are ended, or wait; raise the limit (ulimit -n)",
                t->world->no_descriptor - t->no_descriptor);
    t->no_descriptor = t->world->no_descriptor;
}

/* Unix time at tick 0, as exact as two clocks can be read one behind the other. */
static uint64_t unix_zero(const struct world *w)
{
    tick best = TICK_NEVER;
    uint64_t zero = 0;
    for (int k = 0; k < CLOCK_TRIES && best > CLOCK_SPAN; k++) {
        const tick before = world_now(w);
        const uint64_t wall = world_wall(w);
        const tick span = world_now(w) - before;
        if (span < best)
            zero = wall - before - span / 2;
        best = tick_min(best, span);
    }
    return zero;
}

/* The engine's times are asked for only where the clock has moved. */
static void follow_clock(struct station *t)
{
    const uint64_t zero = unix_zero(t->world);
    const uint64_t moved = zero > t->unix_zero ? zero - t->unix_zero : t->unix_zero - zero;
    if (moved < CLOCK_MOVED)
        return;
    t->unix_zero = zero;
    sle_clock_set(t->sle, zero);
    sle_host_look(&t->host);
}

static void on_clock(void *context)
{
    struct station *t = context;
    if (t->ending)
        return;
    follow_clock(t);
    for (size_t i = 0; i < t->settings->sources_len; i++)
        source_clock(&t->sources[i]);
    if (++t->ticks % 5 == 0) {
        tell_descriptors(t);
        for (size_t i = 0; i < t->settings->sources_len; i++)
            source_tell(&t->sources[i]);
        for (size_t i = 0; i < t->settings->instances_len; i++)
            if (t->instances[i].source != NULL)
                tell_losses(&t->instances[i]);
        station_say_left_out(t);
    }
    alarm_set(&t->clock, world_now(t->world) + CLOCK);
}

/* ---- begin ---- */

static int add_users(struct station *t)
{
    int e = 0;
    for (size_t i = 0; i < t->settings->users_len && e == 0; i++) {
        const struct settings_user *u = &t->settings->users[i];
        struct sle_peer p = {.level = (enum sle_auth_level)u->level,
                             .hash = (enum sle_hash)u->hash};
        memcpy(p.who.id, u->id, strlen(u->id) + 1);
        (void)sle_password_read(u->password, &p.who);
        e = sle_peer_set(t->sle, &p);
        if (e < 0)
            say(&t->log, LEVEL_ERROR, "user %s: %s", u->id, helio_strerror(e));
    }
    return e;
}

static int add_instance(struct station *t, struct instance *i, const struct settings_instance *c)
{
    i->station = t;
    i->config = c;
    target_init(&i->uplink.target);
    struct sle_provider_config p = settings_provider(t->settings, c);
    p.keeps_past = c->mode == SLE_COMPLETE && c->from != NULL && *c->from->record != '\0';
    int e = sle_provider_add(t->sle, &p, &i->sle);
    if (e < 0) {
        say(&t->log, LEVEL_ERROR, "instance %s: %s", c->id, helio_strerror(e));
        return e;
    }
    if (c->service == SLE_FCLTU) {
        events_init(i);
        return uplink_open(i);
    }
    i->source = &t->sources[c->from - t->settings->sources];
    i->source->instances[i->source->instances_len++] = i;
    offline_init(i);
    dial_init(i);
    if (catchup_open(i) < 0)
        return HELIO_ENOMEM;
    const struct sle_locks locked = {SLE_IN_LOCK, SLE_IN_LOCK, SLE_IN_LOCK, SLE_IN_LOCK};
    sle_provider_locks(i->sle, &locked);
    i->locks = locked;
    return 0;
}

static struct sle *make_engine(struct station *t)
{
    const struct settings *s = t->settings;
    t->unix_zero = unix_zero(t->world);
    struct sle_config c = {
        .tml = {.heartbeat_min_s = (uint16_t)s->tml.heartbeat_min,
                .heartbeat_max_s = (uint16_t)s->tml.heartbeat_max,
                .dead_min = (uint16_t)s->tml.dead_min,
                .dead_max = (uint16_t)s->tml.dead_max,
                .forbid_unused = s->tml.heartbeat_required,
                .establish = s->tml.establish,
                .close_wait = s->tml.close_wait,
                .message_max = (uint32_t)s->tml.message_max},
        .auth_delay = s->auth_delay,
        .hash = sle_digest,
        .hash_context = t->digests,
        .seed = t->seed,
        .unix_ns = t->unix_zero,
    };
    memcpy(c.self.id, s->id, strlen(s->id) + 1);
    (void)sle_password_read(s->password, &c.self);
    return sle_new(&c);
}

static int open_parts(struct station *t)
{
    const struct settings *s = t->settings;
    int e = add_users(t);
    e = e == 0 ? open_tls(t) : e;
    for (size_t i = 0; i < s->sources_len && e == 0; i++)
        e = source_open(&t->sources[i], t, &s->sources[i]);
    for (size_t i = 0; i < s->instances_len && e == 0; i++)
        e = add_instance(t, &t->instances[i], &s->instances[i]);
    if (e == 0)
        e = status_open(t);
    if (e == 0)
        e = station_control_open(t);
    if (e < 0)
        return e;
    e = stream_listen(t->world, &t->listener, &(struct stream_place){.address = &s->listen},
                      on_accepted, t);
    if (e < 0)
        say(&t->log, LEVEL_ERROR, "listen: %s: %s", s->listen_text, helio_strerror(e));
    for (size_t i = 0; i < s->instances_len && e == 0; i++)
        dial_open(&t->instances[i]);
    return e;
}

/* CLTUs of a user who has gone go on being radiated. */
static void on_due(void *context, struct sle_instance *s)
{
    uplink_wake(find_instance(context, s));
}

/* Lines that users, frame sources and the control socket cause are limited, by kind. */
static const struct say_few line_kinds[LINES_COUNT] = {
    [LINES_REFUSED] = {"connections that were refused or broken off", 20, TICK_S, 0, 0},
    [LINES_SERVICE] = {"users", 100, TICK_S / 2, 0, 0},
    [LINES_CONTROL] = {"the control socket", 100, TICK_S / 2, 0, 0},
    [LINES_SOURCE] = {"connections of sources", 100, TICK_S / 2, 0, 0},
    [LINES_UPLINK] = {"uplinks", 20, TICK_S, 0, 0}};

struct station *station_open(struct world *w, const struct settings *s, enum say_level level)
{
    struct station *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->world = w;
    t->settings = s;
    list_init(&t->visits);
    say_init(&t->log, level, false, "");
    memcpy(t->lines, line_kinds, sizeof line_kinds);
    t->certificates = (struct certificates){
        .world = w, .log = &t->log, .names = tls_keys, .take = take_stream, .context = t};
    certificates_init(&t->certificates);
    alarm_init(&t->clock, w, ALARM_NODE, on_clock, t);
    t->sources = calloc(s->sources_len + 1, sizeof *t->sources);
    t->instances = calloc(s->instances_len + 1, sizeof *t->instances);
    t->digests = sle_digests_new();
    t->seed = world_random(w);
    const bool crowds = isp1_unbound_init(&t->unbound, t->seed) == 0;
    t->sle = t->digests != NULL && crowds && t->sources != NULL && t->instances != NULL
                 ? make_engine(t)
                 : NULL;
    if (t->sle == NULL)
        say(&t->log, LEVEL_ERROR, "out of memory");
    if (t->sle != NULL) {
        sle_host_init(&t->host, w, t->sle);
        t->host.due = on_due;
        t->host.isp.writers = s->threads > 1 ? (unsigned)s->threads - 1 : 0;
        t->host.context = t;
    }
    if (t->sle == NULL || open_parts(t) < 0) {
        station_end(t);
        return t;
    }
    alarm_set(&t->clock, world_now(w) + CLOCK);
    t->open = true;
    return t;
}

bool station_is_open(const struct station *t)
{
    return t->open;
}

void station_assert(const struct station *t)
{
    sle_check(t->sle);
}

/* ---- end ---- */

void station_end(struct station *t)
{
    if (t->ending)
        return;
    t->ending = true;
    alarm_fini(&t->clock);
    sle_host_fini(&t->host);
    if (t->listener != NULL)
        stream_unlisten(t->listener);
    certificates_fini(&t->certificates);
    status_end(t);
    station_control_end(t);
    while (!list_empty(&t->visits)) {
        struct visit *v = container_of(list_first(&t->visits), struct visit, node);
        sle_conn_free(v->conn);
        free_visit(v);
    }
    isp1_unbound_fini(&t->unbound);
    for (size_t i = 0; t->instances != NULL && i < t->settings->instances_len; i++) {
        struct instance *x = &t->instances[i];
        if (x->sle == NULL)
            continue;
        if (x->config->service == SLE_FCLTU) {
            events_end(x);
            uplink_end(x);
        } else if (x->source != NULL) {
            offline_end(x);
            dial_end(x);
        }
    }
    for (size_t i = 0; t->sources != NULL && i < t->settings->sources_len; i++)
        source_end(&t->sources[i]);
}

void station_free(struct station *t)
{
    if (t == NULL)
        return;
    assert(t->ending);
    sle_free(t->sle);
    tls_free(t->secure.tls);
    sle_digests_free(t->digests);
    free(t->sources);
    free(t->instances);
    free(t);
}

/* ---- lines of the log ---- */

void station_say(struct station *t, enum station_line kind, enum say_level level,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)say_few(&t->log, &t->lines[kind], world_now(t->world), level, format, args);
    va_end(args);
}

void station_say_left_out(struct station *t)
{
    for (int k = 0; k < LINES_COUNT; k++)
        say_left_out(&t->log, &t->lines[k]);
}
