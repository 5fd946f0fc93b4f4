/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter "tcpcl": TCPCLv4 (RFC 9174) over TCP or UNIX sockets. The functions of cla_ops; their
 * work is done at the end of the round, or in the endpoint's next turn.
 *
 * What can go wrong at open: the local address is in use; memory. Later: no session is established,
 * the window is full, a bundle is longer than the peer accepts, memory.
 */
#include "cla/tcpcl/tcpcl_link.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SAY_PAUSE (10 * TICK_S)
#define KEEPALIVE_SAY_PAUSE (600 * TICK_S)
#define TOKEN_BITS 40 /* of the session's; above it, the connection's number */

extern const struct cla_ops tcpcl_ops;

static struct tcpcl_link *link_of(struct cla *c)
{
    return container_of(c, struct tcpcl_link, cla);
}

/* Each message (its format) has its own pause, so that one does not hide another. */
static bool may_say(struct tcpcl_link *l, const char *format)
{
    const tick now = world_now(l->env.world);
    struct tcpcl_said *free_one = NULL;
    for (unsigned i = 0; i < TCPCL_SAID_MAX; i++) {
        struct tcpcl_said *s = &l->said[i];
        if (s->format == format && now < s->after)
            return false;
        if (free_one == NULL && now >= s->after)
            free_one = s;
    }
    if (free_one == NULL)
        return false;
    *free_one = (struct tcpcl_said){format, tick_add(now, SAY_PAUSE)};
    return true;
}

void tcpcl_say(struct tcpcl_link *l, int level, const char *format, ...)
{
    va_list args;
    if (!may_say(l, format))
        return;
    va_start(args, format);
    cla_say_args(&l->cla, level, format, args);
    va_end(args);
}

/* Names and subjects are the peer's words: what is not printable ASCII would harm a terminal. */
static void keep_reason(struct tcpcl_link *l, const char *format, va_list args)
{
    vsnprintf(l->reason, sizeof l->reason, format, args);
    assert(l->reason[0] != '\0');
    for (char *at = l->reason; *at != '\0'; at++)
        *at = *at < ' ' || *at > '~' ? '?' : *at;
    l->reason_at = world_now(l->env.world);
    l->refused = false;
}

void tcpcl_down(struct tcpcl_link *l, int level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep_reason(l, format, args);
    va_end(args);
    if (!may_say(l, format))
        return;
    va_start(args, format);
    cla_say_args(&l->cla, level, format, args);
    va_end(args);
}

void tcpcl_refused(struct tcpcl_link *l)
{
    assert(l->reason[0] != '\0');
    l->refused = true;
}

void tcpcl_tls_say(struct tcpcl_link *l, int level, const char *format, ...)
{
    va_list args;
    if (level < 2 && !may_say(l, format))
        return;
    va_start(args, format);
    cla_say_args(&l->cla, level, format, args);
    va_end(args);
}

/* A TCP retransmission arrives a round trip or more late. */
#define TRIPS_LEAST 2

void tcpcl_look_at_keepalive(struct tcpcl_link *l, const struct tcpcl_conn *c)
{
    const struct tcpcl_peer *p = tcpcl_peer(c->session);
    const tick keepalive = p->keepalive_s * TICK_S;
    const tick silence = l->config->idle != 0 ? l->config->idle : 2 * keepalive;
    const tick now = world_now(l->env.world);
    const bool shorter = silence / 2 < TRIPS_LEAST * p->round_trip ||
                         (keepalive != 0 && keepalive < TRIPS_LEAST * p->round_trip);
    if (p->round_trip == 0 || silence == 0 || !shorter || now < l->keepalive_say_after)
        return;
    l->keepalive_say_after = tick_add(now, KEEPALIVE_SAY_PAUSE);
    cla_say(&l->cla, 1,
            "keepalives each %u s, and an end after %llu ms of silence, are short for a round trip "
            "of %llu ms: retransmissions of TCP may end sessions; raise keepalive%s, at both "
            "ends, to %llu s or more",
            (unsigned)p->keepalive_s, (unsigned long long)(silence / TICK_MS),
            (unsigned long long)(p->round_trip / TICK_MS), l->config->idle != 0 ? " and idle" : "",
            (unsigned long long)((TRIPS_LEAST * p->round_trip + TICK_S - 1) / TICK_S));
}

/* ---- state and limits ---- */

void tcpcl_tell_link(struct tcpcl_link *l)
{
    bool up = l->wanted && tcpcl_sender(l) != NULL;
    cla_tell_link(&l->cla, up);
}

/* So many bytes are in flight that only a single bundle may be sent. */
static bool is_full(const struct tcpcl_link *l)
{
    return l->flight > 0 && (l->full || l->flight_bytes >= l->config->window_bytes);
}

/* The number of bundles of recent length that the link should have. Queued next bundles have a
 * fixed order already, and the agent prepares as many. At least one more is sent. */
static uint64_t count_wanted(const struct tcpcl_link *l)
{
    if (is_full(l))
        return l->flight;
    if (l->mean == 0)
        return 1;
    const uint64_t bound = tcpcl_bound(l->filled->session), most = l->config->window_bytes;
    const uint64_t fit = (bound < most ? bound : most) / l->mean;
    return (fit > l->flight ? fit : l->flight) + 1;
}

/* True: it has changed. */
static bool set_window(struct tcpcl_link *l)
{
    const uint32_t was = l->cla.limits.window;
    const uint64_t most = l->config->window;
    assert(l->flight > 0 || l->flight_bytes == 0);
    const uint64_t wanted = l->filled == NULL ? most : count_wanted(l);
    l->cla.limits.window = (uint32_t)(wanted < most ? wanted : most);
    assert(l->cla.limits.window >= 1);
    return was != l->cla.limits.window;
}

static void count_length(struct tcpcl_link *l, size_t len)
{
    if (l->mean == 0)
        l->mean = len;
    else if (len > l->mean)
        l->mean += (len - l->mean + 15) / 16;
    else
        l->mean -= (l->mean - len) / 16;
}

/* That, and what the peer takes. */
void tcpcl_set_limits(struct tcpcl_link *l, bool tell)
{
    const struct tcpcl_conn *c = tcpcl_sender(l);
    const uint64_t was = l->cla.limits.bundle_max;
    l->filled = c;
    l->full = c != NULL && tcpcl_flight_full(c->session);
    const bool changed = set_window(l);
    if (c != NULL)
        l->cla.limits.bundle_max = tcpcl_peer(c->session)->transfer_mru;
    if ((changed || was != l->cla.limits.bundle_max) && tell)
        cla_tell_limits(&l->cla);
}

void tcpcl_tell_window(struct tcpcl_conn *c)
{
    struct tcpcl_link *l = c->link;
    if (l->filled == c)
        l->full = tcpcl_flight_full(c->session);
    if (set_window(l))
        cla_tell_limits(&l->cla);
}

bool tcpcl_retry_due(const struct tcpcl_link *l)
{
    list_for_each (it, &l->conns)
        if (container_of(it, struct tcpcl_conn, node)->active)
            return true;
    return l->retry_at != TICK_NEVER;
}

void tcpcl_retry_later(struct tcpcl_link *l, bool failed)
{
    l->retry_at = TICK_NEVER;
    if (!tcpcl_connects(l->config) || !l->wanted || l->unconfigured)
        return;
    l->retry_at = tick_add(
        world_now(l->env.world),
        stream_endpoint_pause(&l->pause, failed, l->config->reconnect, l->config->reconnect_max));
    stream_endpoint_wake_at(&l->endpoint->s, l->retry_at);
}

/* ---- the calls ---- */

void tcpcl_link_init(struct tcpcl_link *l, const struct cla_env *env,
                     const struct tcpcl_config *config)
{
    cla_init(&l->cla, &tcpcl_ops, &l->env.events);
    l->env = *env;
    l->config = config;
    l->wanted = l->allowed = config->state == TCPCL_WANTED_UP;
    l->retry_at = TICK_NEVER;
    list_init(&l->conns);
    tcpcl_pace_set(l);
    tcpcl_set_limits(l, false);
}

/* Those that another thread has read, or they are read here. */
static int take_files(struct tls **out, const struct tcpcl_config *k, struct tls *files, char *why,
                      size_t why_cap)
{
    if (files == NULL)
        return tcpcl_tls_open(out, k, why, why_cap);
    tls_keep(files);
    *out = files;
    return 0;
}

static int tcpcl_open(struct cla **out, const struct cla_env *env, const void *config, char *why,
                      size_t why_cap)
{
    struct tcpcl_link *l = calloc(1, sizeof *l);
    snprintf(why, why_cap, "%s", helio_strerror(HELIO_ENOMEM));
    if (l == NULL)
        return HELIO_ENOMEM;
    tcpcl_link_init(l, env, config);
    int r = take_files(&l->tls, l->config, env->files, why, why_cap);
    l->env.files = NULL;
    if (r == 0)
        r = remote_name_open(&l->remote, env->world, &l->config->remote, AF_UNSPEC, why, why_cap);
    if (r == 0)
        r = tcpcl_join(l, why, why_cap);
    if (r != 0) {
        remote_name_close(&l->remote);
        tls_free(l->tls);
        free(l);
        return r;
    }
    remote_name_on_answer(&l->remote, tcpcl_remote_resolved, l);
    if (l->wanted && tcpcl_connects(l->config))
        l->retry_at = 0; /* in the first turn */
    stream_endpoint_kick(&l->endpoint->s);
    *out = &l->cla;
    return 0;
}

static enum cla_reason tcpcl_give(struct cla *cla, uint64_t key, struct buf *bundle)
{
    struct tcpcl_link *l = link_of(cla);
    struct tcpcl_conn *c = l->wanted ? tcpcl_sender(l) : NULL;
    if (c == NULL)
        return CLA_REASON_DOWN;
    if (l->filled != c)
        tcpcl_set_limits(l, false);
    if (l->flight >= l->config->window || is_full(l))
        return CLA_REASON_BUSY;
    int r = tcpcl_send(c->session, key, bundle);
    if (r != 0)
        return r == HELIO_ESPACE   ? CLA_REASON_TOO_LONG
               : r == HELIO_ENOMEM ? CLA_REASON_NO_MEMORY
                                   : CLA_REASON_DOWN;
    l->flight++;
    l->flight_bytes += bundle->len;
    count_length(l, bundle->len);
    l->full = tcpcl_flight_full(c->session);
    (void)set_window(l); /* the caller looks */
    tcpcl_conn_touch(c);
    return CLA_REASON_NONE;
}

static int tcpcl_cancel(struct cla *cla, uint64_t key)
{
    struct tcpcl_link *l = link_of(cla);
    uint64_t len;
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        if (!tcpcl_take_back(c->session, key, &len))
            continue;
        assert(l->flight > 0 && l->flight_bytes >= len);
        l->flight--;
        l->flight_bytes -= len;
        l->full = l->full && (l->filled != c || tcpcl_flight_full(c->session));
        stream_endpoint_kick(&l->endpoint->s); /* limits */
        return HELIO_ENOENT;
    }
    return 0; /* a transfer that has begun ends */
}

static const char *const live[] = {"rate",
                                   "pacing.burst",
                                   "pacing.slack",
                                   "keepalive",
                                   "timers.idle",
                                   "timers.timeout",
                                   "timers.ending",
                                   "timers.reconnect",
                                   "timers.reconnect_max",
                                   "segment",
                                   "limits.segment_mru",
                                   "window",
                                   "limits.window_bytes",
                                   "limits.held_bytes",
                                   "sessions",
                                   "check_peer",
                                   "tls",
                                   "tls.certificate",
                                   "tls.key",
                                   "tls.ca",
                                   "tls.peer",
                                   "tls.host",
                                   "tls.purpose",
                                   "tls.ca_nodes",
                                   "pacing.congestion",
                                   "timers.transfer_idle",
                                   NULL};

/* Connections that wait for files go on in the next turn. */
static void drop_files(struct tcpcl_link *l)
{
    tls_reload_forget(l->tls);
    assert(l->tls == NULL || !tls_reloading(l->tls));
    tls_free(l->tls);
    l->tls = NULL;
    tcpcl_files_read(l->endpoint);
}

static void forget_files(void *files)
{
    tls_free(files);
}

/* Sessions that are there keep what they have said (§4.7); the window is another one at once. */
static int tcpcl_set(struct cla *c, const void *config, void *files, char *why, size_t why_cap)
{
    struct tcpcl_link *l = link_of(c);
    struct tls *tls = NULL;
    if (tcpcl_tls_differs(l->config, config)) {
        int r = take_files(&tls, config, files, why, why_cap);
        if (r != 0)
            return r;
        drop_files(l);
        l->tls = tls;
    }
    l->config = config;
    tcpcl_pace_set(l);
    tcpcl_set_limits(l, false);
    stream_endpoint_kick(&l->endpoint->s);
    return 0;
}

/* §5.2.4 has no code for a lack of routes. "Not acceptable" would be wrong: it is about the
 * bundle's data, and its sender shall not try again; a route can come. */
static enum tcpcl_refusal refusal_of(enum cla_verdict verdict)
{
    return verdict == CLA_FULL     ? TCPCL_REFUSE_NO_RESOURCES
           : verdict == CLA_FAULTY ? TCPCL_REFUSE_NOT_ACCEPTABLE
                                   : TCPCL_REFUSE_UNKNOWN;
}

static void tcpcl_confirm_bundle(struct cla *cla, uint64_t token, enum cla_verdict verdict)
{
    struct tcpcl_link *l = link_of(cla);
    bool ok = verdict == CLA_ACCEPTED;
    l->bundles_refused += !ok;
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        if (c->serial != token >> TOKEN_BITS)
            continue;
        const uint64_t dropped = tcpcl_dropped(c->session);
        tcpcl_confirm(c->session, token & ((UINT64_C(1) << TOKEN_BITS) - 1), ok,
                      refusal_of(verdict));
        tcpcl_time_refused(c, tcpcl_dropped(c->session) - dropped);
        tcpcl_conn_touch(c);
        return;
    } /* its session has ended: no answer is possible */
}

static void tcpcl_pause_link(struct cla *cla, bool on)
{
    struct tcpcl_link *l = link_of(cla);
    l->paused = on;
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        tcpcl_pause(c->session, on);
        tcpcl_conn_touch(c);
    }
}

static void tcpcl_charge(struct cla *cla, tick took, tick fair, tick now)
{
    tcpcl_time_charge(link_of(cla), took, fair, now);
}

/* Wanted is what operator and plan both say. */
static void set_wanted(struct tcpcl_link *l, bool up)
{
    l->wanted = up;
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        if (up)
            continue;
        tcpcl_terminate(c->session, TCPCL_TERM_UNKNOWN, world_now(l->env.world));
        tcpcl_conn_touch(c);
    }
    bool connects = up && tcpcl_connects(l->config) && !l->unconfigured && !tcpcl_claimed(l);
    l->retry_at = connects ? 0 : l->retry_at;
    stream_endpoint_kick(&l->endpoint->s);
}

static bool tcpcl_at_remote(const struct cla *c, const uint8_t *host)
{
    const struct tcpcl_link *l = container_of((struct cla *)(uintptr_t)c, struct tcpcl_link, cla);
    return remote_name_has_key(&l->remote, host);
}

static void tcpcl_set_link(struct cla *cla, bool up)
{
    struct tcpcl_link *l = link_of(cla);
    l->allowed = up;
    set_wanted(l, up && (!l->planned || l->contact.transmit));
}

/* A session is there while this node transmits; the contact bounds the rate. */
static void tcpcl_contact(struct cla *cla, const struct cla_contact *contact)
{
    struct tcpcl_link *l = link_of(cla);
    const bool was = !l->planned || l->contact.transmit;
    l->planned = contact != NULL;
    l->contact = contact != NULL ? *contact : (struct cla_contact){0};
    tcpcl_pace_set(l);
    if (was != (!l->planned || l->contact.transmit))
        set_wanted(l, l->allowed && !was);
}

static void tcpcl_close_link(struct cla *c, void (*closed)(void *context), void *context)
{
    struct tcpcl_link *l = link_of(c);
    cla_closing(c, closed, context);
    while (!list_empty(&l->conns))
        tcpcl_conn_drop(container_of(list_first(&l->conns), struct tcpcl_conn, node));
    drop_files(l); /* its streams have ended */
    remote_name_close(&l->remote);
    tcpcl_leave(l);
}

static const struct cla_service service = {"tcp", 0};

const struct cla_ops tcpcl_ops = {
    .name = "tcpcl",
    .service = &service,
    .proves = tcpcl_config_proves,
    .options = tcpcl_options,
    .renamed = tcpcl_renamed,
    .config_size = sizeof(struct tcpcl_config),
    .check = tcpcl_config_check,
    .read = tcpcl_config_read,
    .forget = forget_files,
    .warn = tcpcl_config_warn,
    .addresses = tcpcl_addresses,
    .open = tcpcl_open,
    .send = tcpcl_give,
    .cancel = tcpcl_cancel,
    .inbound = true,
    .live = live,
    .set = tcpcl_set,
    .confirm = tcpcl_confirm_bundle,
    .pause = tcpcl_pause_link,
    .charge = tcpcl_charge,
    .check_self = tcpcl_check_self,
    .status = tcpcl_status,
    .gauges = tcpcl_gauges,
    .at_remote = tcpcl_at_remote,
    .judge = tcpcl_judge_link,
    .set_link = tcpcl_set_link,
    .contact = tcpcl_contact,
    .close = tcpcl_close_link,
};

/* The invariants of a link, its connections and its local endpoint, between two turns. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

static void check_conn(const struct tcpcl_conn *c)
{
    assert(c->stream != NULL && c->session != NULL && !c->pumping);
    assert(c->up == (tcpcl_state(c->session) == TCPCL_IN_UP));
    assert(tcpcl_state(c->session) != TCPCL_IN_OVER);
    /* waiting connections have a wake-up */
    assert(!tcpcl_stopped(c->session) || !list_empty(&c->later));
    assert(list_empty(&c->later) || alarm_due(&c->endpoint->s.more) <= tcpcl_rests_until(c));
    assert(c->time.rest.debt <= REST_LONG && c->time.units >= 1 && c->time.units <= TCPCL_TURN);
    assert(alarm_due(&c->endpoint->s.alarm) <= tcpcl_deadline(c->session));
    tcpcl_check(c->session);
}

void tcpcl_check_self(const struct cla *c)
{
    const struct tcpcl_link *l = container_of((struct cla *)(uintptr_t)c, struct tcpcl_link, cla);
    uint64_t flight = 0, reserved = 0;
    size_t conns = 0;
    assert(l->cla.closed == NULL && !l->endpoint->s.common.ending);
    list_for_each (it, &l->conns) {
        const struct tcpcl_conn *n = container_of(it, struct tcpcl_conn, node);
        assert(n->link == l && n->endpoint == l->endpoint);
        check_conn(n);
        flight += tcpcl_in_flight(n->session);
        reserved += n->reserved;
        assert(l->env.events.reserve == NULL || n->reserved == tcpcl_held(n->session));
        conns++;
    }
    assert(conns == l->conns_len && flight == l->flight && reserved == l->reserved);
    assert(c->limits.window >= 1 && (l->flight > 0 || l->flight_bytes == 0));
    assert(l->full == (l->filled != NULL && tcpcl_flight_full(l->filled->session)));
    conns = 0;
    list_for_each (it, &l->endpoint->unidentified) {
        const struct tcpcl_conn *n = container_of(it, struct tcpcl_conn, node);
        assert(n->link == NULL && n->from.place != NULL);
        check_conn(n);
        conns++;
    }
    assert(conns == l->endpoint->s.crowds.crowds.len);
    crowd_place_check(&l->endpoint->s.crowds);
}
