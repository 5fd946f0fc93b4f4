/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a link: connection, context, BIND, the service, the end. All ends come through
 * link_end, which parts the link from its instance; what the host has to do with the stream stays
 * behind in the link.
 */
#include <assert.h>
#include <stdlib.h>

#include "sle/engine_private.h"

const char *sle_state_text(enum sle_state state)
{
    static const char *const texts[] = {"unbound", "binding",  "ready",     "starting",
                                        "active",  "stopping", "unbinding", "ended"};
    assert(state <= SLE_ENDED);
    return texts[state];
}

const char *sle_end_text(enum sle_end end)
{
    static const char *const texts[] = {"unbound",
                                        "the BIND was refused",
                                        "credentials were wrong",
                                        "aborted by this side",
                                        "aborted by peer",
                                        "the transport mapping's rules",
                                        "the connection has ended",
                                        "out of memory"};
    assert(end <= SLE_END_MEMORY);
    return texts[end];
}

const char *sle_notice_text(enum sle_notice_kind kind)
{
    static const char *const texts[] = {
        "bound",     "unbound",     "over",          "started by user", "stopped by user",
        "room",      "CLTU ready",  "CLTUs cleared", "event thrown",    "started",
        "stopped",   "frame",       "sync",          "status",          "scheduled",
        "parameter", "CLTU answer", "event answer",  "notified"};
    static_assert(sizeof texts / sizeof texts[0] == SLE_NOTICE_COUNT, "a text for each");
    assert(kind < SLE_NOTICE_COUNT);
    return texts[kind];
}

static struct sle_link *new_link(struct sle *s, tick now)
{
    if (s->link_count >= s->config.links_max)
        return NULL;
    struct sle_link *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->sle = s;
    list_add_tail(&s->links, &l->node);
    s->link_count++;
    list_init(&l->queue);
    l->hungry = true;
    l->last_in = l->last_out = now;
    l->bind_due = l->wait_due = TICK_NEVER;
    l->establish_due = tick_add(now, s->config.tml.establish);
    l->dialect_in.version = l->dialect_out.version = SLE_VERSION_MIN;
    l->dialect_in.any_bind = true;
    l->first_id = l->next_id = 1;
    COUNT(l, links, 1);
    assert(l->state == SLE_UNBOUND_STATE && l->instance == NULL && s->link_count >= 1);
    return l;
}

struct sle_link *sle_accept(struct sle *s, tick now)
{
    return new_link(s, now);
}

void link_attach(struct sle_link *l, struct sle_instance *i, uint8_t version)
{
    assert(i->link == NULL && l->instance == NULL);
    assert(version >= SLE_VERSION_MIN && version <= SLE_VERSION_MAX);
    i->link = l;
    l->instance = i;
    l->dialect_in = l->dialect_out =
        (struct sle_dialect){.service = i->service, .version = version};
    l->dialect_in.speaker = i->provides ? SLE_FROM_USER : SLE_FROM_PROVIDER;
    l->dialect_out.speaker = i->provides ? SLE_FROM_PROVIDER : SLE_FROM_USER;
}

static bool may_initiate(const struct sle_instance *i)
{
    if (i->link != NULL)
        return false;
    return i->provides ? i->p.c.initiate && i->service != SLE_FCLTU : !i->u.c.respond;
}

struct sle_link *sle_connect(struct sle_instance *i, tick now)
{
    const struct sle_peer *peer = engine_peer(i->sle, i->initiators[0]);
    if (!may_initiate(i) || peer == NULL)
        return NULL;
    struct sle_link *l = new_link(i->sle, now);
    if (l == NULL)
        return NULL;
    unsigned version = SLE_VERSION_MAX;
    while ((i->versions >> version & 1) == 0)
        version--;
    uint8_t context[SLE_TML_CONTEXT];
    l->initiator = l->context = true;
    l->establish_due = TICK_NEVER;
    l->heartbeat_s = i->sle->config.tml.heartbeat_s;
    l->dead_factor = i->sle->config.tml.dead_factor;
    l->peer = *peer;
    link_attach(l, i, (uint8_t)version);
    sle_tml_write_context(l->heartbeat_s, l->dead_factor, context);
    if (link_send_tml(l, context, sizeof context) != HELIO_OK) {
        sle_link_free(l);
        return NULL;
    }
    bind_send(l, now);
    assert(l->state == SLE_BINDING || l->state == SLE_ENDED);
    return l;
}

/* Parts the link from its instance. */
static void leave_instance(struct sle_link *l, tick now)
{
    struct sle_instance *i = l->instance;
    if (i == NULL || i->link != l)
        return;
    if (i->provides)
        provider_leave(i, now);
    i->u.in_flight = i->u.cltus = 0;
    i->u.resync = false;
    i->p.queued = 0;
    i->link = NULL;
    assert(i->p.fill == NULL && !i->p.refused);
}

void sle_link_free(struct sle_link *l)
{
    l->state = SLE_ENDED;
    link_drop_queue(l);
    leave_instance(l, l->last_in);
    assert(list_empty(&l->queue) && l->sle->link_count > 0);
    list_sub(&l->node);
    l->sle->link_count--;
    buf_drop(l->rx);
    free(l->awaited);
    free(l);
}

void link_end(struct sle_link *l, enum sle_end end, enum sle_stream stream, unsigned abort,
              tick now)
{
    if (l->state == SLE_ENDED)
        return;
    if (!l->closing)
        link_drop_queue(l);
    l->state = SLE_ENDED;
    l->end = end;
    l->abort = abort;
    l->stream = l->closing && !l->polite && list_empty(&l->queue) ? SLE_STREAM_CLOSE : stream;
    l->buffer = slice_of(NULL, 0);
    l->wait_due = tick_add(now, l->sle->config.tml.close_wait);
    leave_instance(l, now);
    assert(l->closing || list_empty(&l->queue));
    assert(l->instance == NULL || l->instance->link != l);
}

void link_abort(struct sle_link *l, enum sle_end end, unsigned diagnostic, tick now)
{
    assert(diagnostic <= 255);
    COUNT(l, aborts_sent, 1);
    link_end(l, end, SLE_STREAM_ABORT, diagnostic, now);
    assert(l->state == SLE_ENDED);
}

void link_close(struct sle_link *l, enum sle_end end, tick now)
{
    l->closing = true;
    link_end(l, end, SLE_STREAM_KEEP, SLE_ABORT_UNKNOWN, now);
    assert(l->state == SLE_ENDED);
}

void sle_link_abort(struct sle_link *l, enum sle_abort diagnostic, tick now)
{
    if (l->state == SLE_ENDED)
        return;
    if (link_bound(l) || l->state == SLE_UNBINDING)
        link_abort(l, SLE_END_ABORTED, (unsigned)diagnostic & 0xff, now);
    else
        link_end(l, SLE_END_ABORTED, SLE_STREAM_RESET, (unsigned)diagnostic, now);
}

void sle_link_urgent(struct sle_link *l, uint8_t octet, tick now)
{
    if (l->state == SLE_ENDED)
        return;
    COUNT(l, aborts_received, 1);
    link_end(l, SLE_END_PEER_ABORT, SLE_STREAM_CLOSE, octet, now);
    assert(l->state == SLE_ENDED && l->stream != SLE_STREAM_ABORT);
}

void sle_link_closed(struct sle_link *l, tick now)
{
    l->eof = true;
    if (l->state == SLE_ENDED) {
        l->wait_due = now;
        l->stream = l->stream == SLE_STREAM_RESET ? SLE_STREAM_RESET : SLE_STREAM_CLOSE;
        link_drop_queue(l);
    }
}

enum sle_state sle_link_state(const struct sle_link *l)
{
    return l->state;
}

struct sle_instance *sle_link_instance(const struct sle_link *l)
{
    return l->instance;
}

const char *sle_link_peer(const struct sle_link *l)
{
    return l->peer_id;
}

uint8_t sle_link_version(const struct sle_link *l)
{
    return l->instance == NULL ? 0 : l->dialect_in.version;
}

enum sle_stream sle_link_stream(const struct sle_link *l)
{
    return l->stream;
}

uint8_t sle_link_abort_octet(const struct sle_link *l)
{
    assert(l->stream == SLE_STREAM_ABORT);
    return (uint8_t)l->abort;
}

struct sle_notice *link_notice(struct sle_link *l, enum sle_notice_kind kind)
{
    assert(l->notice_count < NOTICES_MAX);
    struct sle_notice *n = &l->notices[l->notice_count++];
    memset(n, 0, sizeof *n);
    n->kind = kind;
    return n;
}

/* ---- timers ---- */

static tick heartbeat_due(const struct sle_link *l)
{
    if (!l->context || l->heartbeat_s == 0)
        return TICK_NEVER;
    return tick_add(l->last_out, l->heartbeat_s * TICK_S);
}

/* While nothing is read nothing can be missed. */
static tick silence_due(const struct sle_link *l)
{
    if (!l->context || l->heartbeat_s == 0 || !sle_link_reads(l))
        return TICK_NEVER;
    return tick_add(l->last_in, (tick)l->heartbeat_s * l->dead_factor * TICK_S);
}

static tick return_due(const struct sle_link *l)
{
    if (l->awaited_count == 0)
        return l->bind_due;
    tick first = l->awaited[l->first_id & (l->awaited_room - 1)].due;
    return tick_min(first, l->bind_due);
}

tick sle_link_deadline(const struct sle_link *l)
{
    if (l->state == SLE_ENDED)
        return l->stream == SLE_STREAM_KEEP || l->stream == SLE_STREAM_ABORT ? l->wait_due
                                                                             : TICK_NEVER;
    tick due = tick_min(tick_min(heartbeat_due(l), silence_due(l)),
                        tick_min(l->establish_due, return_due(l)));
    if (l->instance != NULL && l->instance->provides)
        due = tick_min(due, provider_deadline(l->instance));
    return due;
}

static void expire_ended(struct sle_link *l, tick now)
{
    assert(l->state == SLE_ENDED);
    if (now < l->wait_due)
        return;
    if (l->stream == SLE_STREAM_ABORT)
        l->stream = SLE_STREAM_RESET;
    else if (l->stream == SLE_STREAM_KEEP)
        l->stream = list_empty(&l->queue) ? SLE_STREAM_CLOSE : SLE_STREAM_RESET;
}

static void beat_heart(struct sle_link *l, tick now)
{
    uint8_t octets[SLE_TML_HEADER];
    assert(l->context && l->heartbeat_s > 0 && l->state != SLE_ENDED);
    l->last_out = now;
    if (!list_empty(&l->queue)) /* what waits will say as much */
        return;
    sle_tml_write_header(SLE_TML_HEARTBEAT, 0, octets);
    (void)link_send_tml(l, octets, sizeof octets); /* without memory: at the next turn */
}

void sle_link_expire(struct sle_link *l, tick now)
{
    if (l->state == SLE_ENDED) {
        expire_ended(l, now);
        return;
    }
    if (now >= l->establish_due) {
        link_end(l, SLE_END_TML, SLE_STREAM_RESET, SLE_ABORT_TML_ESTABLISH_TIMEOUT, now);
    } else if (now >= silence_due(l)) {
        link_end(l, SLE_END_TML, SLE_STREAM_RESET, SLE_ABORT_TML_HEARTBEAT_TIMEOUT, now);
    } else if (now >= return_due(l)) {
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_RETURN_TIMEOUT, now);
    } else {
        if (now >= heartbeat_due(l))
            beat_heart(l, now);
        if (l->instance != NULL && l->instance->provides)
            provider_expire(l->instance, now);
    }
}
