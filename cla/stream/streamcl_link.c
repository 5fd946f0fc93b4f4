/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapters "stcp" and "mtcp": bundles in sequence on TCP connections, without acknowledgements.
 * The functions of cla_ops; their work is done at the end of the round, or in the endpoint's next
 * turn.
 *
 * What can go wrong at open: the local address is in use; memory. Later: there is no connection,
 * the window is full, memory.
 */
#include "cla/stream/streamcl_link.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SAY_PAUSE (10 * TICK_S)

extern const struct cla_ops streamcl_stcp_ops, streamcl_mtcp_ops;

static struct streamcl_link *link_of(struct cla *c)
{
    return container_of(c, struct streamcl_link, cla);
}

/* ---- state ---- */

bool streamcl_wanted(const struct streamcl_link *l)
{
    return l->allowed && (!l->planned || l->contact.transmit) && streamcl_connects(l->config);
}

void streamcl_tell_link(struct streamcl_link *l)
{
    const bool up = l->out != NULL && l->out->connected && streamcl_wanted(l);
    cla_tell_link(&l->cla, up);
}

void streamcl_retry_later(struct streamcl_link *l, bool failed)
{
    const struct streamcl_config *k = l->config;
    l->retry_at = TICK_NEVER;
    if (!streamcl_wanted(l))
        return;
    l->retry_at =
        tick_add(world_now(l->env.world),
                 stream_endpoint_pause(&l->pause, failed, k->reconnect, k->reconnect_max));
    stream_endpoint_wake_at(&l->endpoint->s, l->retry_at);
}

void streamcl_down(struct streamcl_link *l, const char *reason, int error)
{
    char text[REMOTE_NAME_TEXT_MAX];
    const tick now = world_now(l->env.world);
    assert(reason[0] != '\0');
    l->reason = reason;
    l->reason_error = error;
    l->reason_at = now;
    l->refused = error != 0 && helio_errno(error) == ECONNREFUSED;
    if (now < l->say_after)
        return;
    l->say_after = tick_add(now, SAY_PAUSE);
    cla_say(&l->cla, 1,
            reason == l->remote.why ? "cannot connect to %s: %s%s%s%s"
                                    : "the connection to %s ended: %s%s%s%s",
            remote_name_write(&l->remote, text), reason, error != 0 ? ": " : "",
            error != 0 ? helio_strerror(error) : "",
            l->refused ? "; nobody listens there: start the peer's node" : "");
}

/* ---- the calls ---- */

static void on_pace(void *context)
{
    streamcl_write(context);
}

static int open_link(struct cla **out, const struct cla_env *env, const void *config,
                     enum streamcl_framing framing, char *why, size_t why_cap)
{
    const struct streamcl_config *k = config;
    struct streamcl_link *l = calloc(1, sizeof *l);
    snprintf(why, why_cap, "%s", helio_strerror(HELIO_ENOMEM));
    if (l == NULL)
        return HELIO_ENOMEM;
    l->env = *env;
    cla_init(&l->cla, framing == STREAMCL_STCP ? &streamcl_stcp_ops : &streamcl_mtcp_ops,
             &l->env.events);
    l->config = k;
    l->framing = framing;
    l->allowed = k->state == STREAMCL_UP;
    l->n.heard = TICK_NEVER;
    list_init(&l->todo);
    list_init(&l->conns);
    list_init(&l->waiting);
    list_init(&l->sent);
    streamcl_pace_set(l);
    streamcl_set_limits(l, false);
    int r = remote_name_open(&l->remote, env->world, &k->remote, AF_UNSPEC, why, why_cap);
    if (r == 0)
        r = streamcl_join(l, why, why_cap);
    if (r != 0) {
        remote_name_close(&l->remote);
        free(l);
        return r;
    }
    remote_name_on_answer(&l->remote, streamcl_conn_resolved, l);
    if (address_given(&k->local))
        remote_name_watch(&l->remote); /* its addresses select the accepted connections */
    alarm_init(&l->pace, env->world, ALARM_LINK, on_pace, l);
    l->retry_at = streamcl_wanted(l) ? 0 : TICK_NEVER; /* in the first turn */
    stream_endpoint_kick(&l->endpoint->s);
    *out = &l->cla;
    return 0;
}

static int stcp_open(struct cla **out, const struct cla_env *env, const void *config, char *why,
                     size_t why_cap)
{
    return open_link(out, env, config, STREAMCL_STCP, why, why_cap);
}

static int mtcp_open(struct cla **out, const struct cla_env *env, const void *config, char *why,
                     size_t why_cap)
{
    return open_link(out, env, config, STREAMCL_MTCP, why, why_cap);
}

static enum cla_reason streamcl_send(struct cla *c, uint64_t key, struct buf *bundle)
{
    return streamcl_queue(link_of(c), key, bundle);
}

static int streamcl_cancel(struct cla *c, uint64_t key)
{
    return streamcl_take_back(link_of(c), key);
}

static const char *const live[] = {"rate",
                                   "pacing.burst",
                                   "pacing.slack",
                                   "window",
                                   "limits.window_bytes",
                                   "limits.held_bytes",
                                   "keepalive",
                                   "timers.idle",
                                   "timers.transfer_idle",
                                   "timers.timeout",
                                   "timers.reconnect",
                                   "timers.reconnect_max",
                                   "limits.connections",
                                   "limits.connections_address",
                                   NULL};

static int streamcl_set(struct cla *c, const void *config, void *files, char *why, size_t why_cap)
{
    struct streamcl_link *l = link_of(c);
    (void)files;
    (void)why;
    (void)why_cap;
    l->config = config;
    streamcl_pace_set(l);
    streamcl_set_limits(l, false);
    stream_endpoint_kick(&l->endpoint->s);
    return 0;
}

/* The sender hears nothing of it: the operator has to. */
static void tell_refusal(struct streamcl_link *l, enum cla_verdict verdict)
{
    static const char *const texts[CLA_VERDICT_COUNT] = {
        [CLA_FULL] = "there was no room",
        [CLA_FAULTY] = "malformed, damaged, too long or not secured",
        [CLA_UNWANTED] = "no route from here, or no rule allows it",
        [CLA_BUSY] = "it was here already, and not yet stored",
    };
    const tick now = world_now(l->env.world);
    assert(verdict < CLA_VERDICT_COUNT && texts[verdict] != NULL);
    l->n.bundles_refused++;
    if (now < l->refusal_say_after)
        return;
    l->refusal_say_after = tick_add(now, SAY_PAUSE);
    cla_say(&l->cla, 1, "%" PRIu64 " received bundles were refused and are lost, the last one: %s",
            l->n.bundles_refused - l->refusals_told, texts[verdict]);
    l->refusals_told = l->n.bundles_refused;
}

/* The token is the bundle's length. The protocol has no acknowledgement. */
static void streamcl_confirm(struct cla *c, uint64_t token, enum cla_verdict verdict)
{
    struct streamcl_link *l = link_of(c);
    assert(l->unconfirmed >= token);
    if (verdict != CLA_ACCEPTED)
        tell_refusal(l, verdict);
    const bool full = streamcl_full(l);
    l->unconfirmed -= token;
    if (full)
        stream_endpoint_kick(&l->endpoint->s); /* it reads again */
}

static void streamcl_pause(struct cla *c, bool on)
{
    struct streamcl_link *l = link_of(c);
    l->paused = on;
    stream_endpoint_kick(&l->endpoint->s);
}

static void streamcl_charge(struct cla *c, tick took, tick fair, tick now)
{
    struct streamcl_link *l = link_of(c);
    if (!rest_spend(&l->rest, l->endpoint->s.shared, took, fair, 1, now))
        return;
    list_for_each (it, &l->conns)
        streamcl_conn_watch(container_of(it, struct streamcl_conn, node));
}

/* What an operator sets to down has no connection at all. A plan bounds what this node sends. */
static void set_connections(struct streamcl_link *l)
{
    list_for_each_safe (it, &l->conns) {
        struct streamcl_conn *c = container_of(it, struct streamcl_conn, node);
        if (!l->allowed || (c->own && !streamcl_wanted(l)))
            streamcl_conn_end(c, STREAMCL_END_HERE, 0);
    }
    if (streamcl_wanted(l) && l->out == NULL)
        l->retry_at = 0;
    stream_endpoint_kick(&l->endpoint->s);
}

static bool streamcl_at_remote(const struct cla *c, const uint8_t *host)
{
    const struct streamcl_link *l =
        container_of((struct cla *)(uintptr_t)c, struct streamcl_link, cla);
    return remote_name_has_key(&l->remote, host);
}

static void streamcl_set_link(struct cla *c, bool up)
{
    link_of(c)->allowed = up;
    set_connections(link_of(c));
}

static void streamcl_contact(struct cla *c, const struct cla_contact *contact)
{
    struct streamcl_link *l = link_of(c);
    const uint64_t rate = contact != NULL ? contact->rate : 0;
    const bool other = rate != l->contact.rate;
    const bool was = streamcl_wanted(l);
    l->planned = contact != NULL;
    l->contact = contact != NULL ? *contact : (struct cla_contact){0};
    if (other)
        streamcl_pace_set(l);
    if (was != streamcl_wanted(l))
        set_connections(l);
}

static void streamcl_close(struct cla *c, void (*closed)(void *context), void *context)
{
    struct streamcl_link *l = link_of(c);
    cla_closing(c, closed, context);
    l->allowed = false;
    while (!list_empty(&l->conns))
        streamcl_conn_end(container_of(list_first(&l->conns), struct streamcl_conn, node),
                          STREAMCL_END_HERE, 0);
    streamcl_forget(l);
    remote_name_close(&l->remote);
    alarm_fini(&l->pace);
    streamcl_leave(l);
}

/* The invariants of a link and its connections, between two turns. */
static void streamcl_check_self(const struct cla *c);

#define STREAMCL_OPS(adapter, table, opens, found)                                                 \
    {                                                                                              \
        .name = adapter, .options = table, .config_size = sizeof(struct streamcl_config),          \
        .service = found, .check = streamcl_config_check, .warn = streamcl_config_warn,            \
        .conflict = streamcl_config_conflict, .addresses = streamcl_addresses, .open = opens,      \
        .send = streamcl_send, .cancel = streamcl_cancel, .live = live, .set = streamcl_set,       \
        .confirm = streamcl_confirm, .pause = streamcl_pause, .charge = streamcl_charge,           \
        .check_self = streamcl_check_self, .status = streamcl_status, .last_copy = true,           \
        .gauges = streamcl_gauges, .at_remote = streamcl_at_remote, .set_link = streamcl_set_link, \
        .contact = streamcl_contact, .close = streamcl_close,                                      \
    }

static const struct cla_service stcp_service = {"stcp", -1}, mtcp_service = {"mtcp", 10};

const struct cla_ops streamcl_stcp_ops =
    STREAMCL_OPS("stcp", streamcl_stcp_options, stcp_open, &stcp_service);
const struct cla_ops streamcl_mtcp_ops =
    STREAMCL_OPS("mtcp", streamcl_mtcp_options, mtcp_open, &mtcp_service);

/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

static void check_conn(const struct streamcl_conn *c, const struct streamcl_link *l)
{
    assert(c->link == l && c->endpoint == l->endpoint && c->stream != NULL && !c->taking);
    assert(c->own == (l->out == c) && (c->own || c->named) == (c->from.place == NULL));
    assert(l->env.events.reserve == NULL || c->held == streamcl_held(&c->in));
    assert(alarm_due(&c->endpoint->s.alarm) <= streamcl_conn_deadline(c));
    streamcl_input_check(&c->in);
}

static void check_waiting(const struct streamcl_link *l)
{
    uint64_t n = 0, bytes = 0;
    list_for_each (it, &l->waiting) {
        const struct streamcl_sending *s = container_of(it, struct streamcl_sending, node);
        assert(s->bundle->refs >= 1 && (n > 0 || l->begun < s->head_len + s->bundle->len));
        n++;
        bytes += s->bundle->len;
    }
    assert(list_empty(&l->sent) && n == l->flight && bytes == l->flight_bytes);
    assert(n > 0 || l->begun == 0);
}

static void streamcl_check_self(const struct cla *c)
{
    const struct streamcl_link *l =
        container_of((struct cla *)(uintptr_t)c, struct streamcl_link, cla);
    size_t conns = 0;
    assert(l->cla.closed == NULL && !l->endpoint->s.common.ending && c->limits.window >= 1);
    list_for_each (it, &l->conns) {
        check_conn(container_of(it, struct streamcl_conn, node), l);
        conns++;
    }
    assert(conns == l->conns_len);
    check_waiting(l);
    crowd_place_check(&l->endpoint->s.crowds);
}
