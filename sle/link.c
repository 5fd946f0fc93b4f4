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
                                        "out of memory",
                                        "credentials of another association: a replay"};
    assert(end <= SLE_END_REPLAY);
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

static tick silence_due(const struct sle_link *l);

static struct sle_link *new_link(struct sle *s, tick now)
{
    if (s->link_count >= s->config.links_max)
        return NULL;
    struct sle_link *l = calloc(1, sizeof *l);
    if (l == NULL || kept_reserve(s, KEPT_OF_LINK) != HELIO_OK) {
        free(l);
        return NULL;
    }
    for (unsigned k = 0; k < KEPT_OF_LINK; k++)
        kept_init(&l->kept[k], (enum kept_kind)k);
    l->sle = s;
    list_add_tail(&s->links, &l->node);
    s->link_count++;
    list_init(&l->queue);
    l->hungry = true;
    l->last_in = l->last_out = now;
    l->dialect_in.version = l->dialect_out.version = SLE_VERSION_MIN;
    l->dialect_in.any_bind = true;
    l->first_id = l->next_id = 1;
    COUNT(l, links, 1);
    assert(l->state == SLE_UNBOUND_STATE && l->instance == NULL && s->link_count >= 1);
    return l;
}

struct sle_link *sle_accept(struct sle *s, tick now)
{
    struct sle_link *l = new_link(s, now);
    if (l != NULL)
        kept_set(s, link_kept(l, KEPT_ESTABLISH), tick_add(now, s->config.tml.establish));
    return l;
}

void sle_link_use(struct sle_link *l, void *host)
{
    l->host = host;
}

void *sle_link_host(const struct sle_link *l)
{
    return l->host;
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

void link_beats(struct sle_link *l, uint16_t heartbeat_s, uint16_t dead_factor, tick now)
{
    assert(!l->context);
    l->context = true;
    l->heartbeat_s = heartbeat_s;
    l->dead_factor = dead_factor;
    if (heartbeat_s == 0)
        return;
    l->last_in = l->last_out = now;
    kept_set(l->sle, link_kept(l, KEPT_HEARTBEAT), link_due(l, KEPT_HEARTBEAT));
    kept_set(l->sle, link_kept(l, KEPT_SILENCE), silence_due(l));
}

static bool may_initiate(const struct sle_instance *i)
{
    if (i->link != NULL)
        return false;
    return i->provides ? i->p.c.initiate && i->service != SLE_FCLTU : !i->u.c.respond;
}

struct sle_link *sle_connect(struct sle_instance *i, tick now)
{
    struct peer *peer = engine_peer(i->sle, i->initiators[0]);
    if (!may_initiate(i) || peer == NULL)
        return NULL;
    struct sle_link *l = new_link(i->sle, now);
    if (l == NULL)
        return NULL;
    unsigned version = SLE_VERSION_MAX;
    while ((i->versions >> version & 1) == 0)
        version--;
    uint8_t context[SLE_TML_CONTEXT];
    l->initiator = true;
    l->peer = peer->p;
    l->replay = &peer->replay;
    link_beats(l, i->sle->config.tml.heartbeat_s, i->sle->config.tml.dead_factor, now);
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

static void forget_times(struct sle_link *l)
{
    for (unsigned k = 0; k < KEPT_OF_LINK; k++)
        kept_set(l->sle, &l->kept[k], TICK_NEVER);
}

void sle_link_free(struct sle_link *l)
{
    l->state = SLE_ENDED;
    link_take_back(l);
    link_drop_queue(l);
    leave_instance(l, l->last_in);
    forget_times(l);
    kept_release(l->sle, KEPT_OF_LINK);
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
    forget_times(l);
    if (l->stream == SLE_STREAM_KEEP || l->stream == SLE_STREAM_ABORT)
        kept_set(l->sle, link_kept(l, KEPT_CLOSE), tick_add(now, l->sle->config.tml.close_wait));
    leave_instance(l, now);
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
    (void)now;
    l->eof = true;
    if (l->state == SLE_ENDED) {
        kept_set(l->sle, link_kept(l, KEPT_CLOSE), TICK_NEVER);
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

/* ---- times ---- */

/* While nothing is read nothing can be missed: then it is looked at again so much later. */
static tick silence_due(const struct sle_link *l)
{
    return tick_add(l->last_in, (tick)l->heartbeat_s * l->dead_factor * TICK_S);
}

static tick return_due(const struct sle_link *l)
{
    return l->awaited_count == 0 ? TICK_NEVER : l->awaited[l->first_id & (l->awaited_room - 1)].due;
}

tick link_due(const struct sle_link *l, enum kept_kind kind)
{
    const bool open = l->state != SLE_ENDED, beats = open && l->context && l->heartbeat_s > 0;
    bool kept = false; /* the agenda alone knows until when */
    switch (kind) {
    case KEPT_HEARTBEAT:
        return beats ? tick_add(l->last_out, l->heartbeat_s * TICK_S) : TICK_NEVER;
    case KEPT_SILENCE:
        return beats && sle_link_reads(l) ? silence_due(l) : TICK_NEVER;
    case KEPT_RETURN:
        return open ? return_due(l) : TICK_NEVER;
    case KEPT_ESTABLISH:
        kept = !l->initiator && l->state == SLE_UNBOUND_STATE;
        break;
    case KEPT_ASSOCIATE:
        kept = l->state == SLE_BINDING || l->state == SLE_UNBINDING;
        break;
    default:
        assert(kind == KEPT_CLOSE);
        kept = !open && (l->stream == SLE_STREAM_KEEP || l->stream == SLE_STREAM_ABORT);
    }
    return kept ? TICK_NEVER - 1 : TICK_NEVER;
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

/* The peer did not close in time, or what we have to say did not get out. */
static void expire_ended(struct sle_link *l)
{
    assert(l->state == SLE_ENDED);
    if (l->stream == SLE_STREAM_ABORT)
        l->stream = SLE_STREAM_RESET;
    else if (l->stream == SLE_STREAM_KEEP)
        l->stream = list_empty(&l->queue) ? SLE_STREAM_CLOSE : SLE_STREAM_RESET;
}

/* Too early, for lack of a better knowledge: it is kept for when it is due. True: it is due now. */
static bool is_due(struct sle_link *l, enum kept_kind kind, tick now)
{
    const tick due = link_due(l, kind);
    if (due > now)
        kept_set(l->sle, link_kept(l, kind), due);
    return due <= now;
}

static bool serve_silence(struct sle_link *l, tick now)
{
    if (!sle_link_reads(l))
        l->last_in = now;
    if (silence_due(l) > now) {
        kept_set(l->sle, link_kept(l, KEPT_SILENCE), silence_due(l));
        return false;
    }
    link_end(l, SLE_END_TML, SLE_STREAM_RESET, SLE_ABORT_TML_HEARTBEAT_TIMEOUT, now);
    return true;
}

bool link_serve(struct sle_link *l, enum kept_kind kind, tick now)
{
    switch (kind) {
    case KEPT_ESTABLISH:
        link_end(l, SLE_END_TML, SLE_STREAM_RESET, SLE_ABORT_TML_ESTABLISH_TIMEOUT, now);
        return true;
    case KEPT_SILENCE:
        return serve_silence(l, now);
    case KEPT_RETURN:
        if (!is_due(l, kind, now))
            return false;
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_RETURN_TIMEOUT, now);
        return true;
    case KEPT_ASSOCIATE:
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_RETURN_TIMEOUT, now);
        return true;
    case KEPT_CLOSE:
        expire_ended(l);
        return true;
    default:
        assert(kind == KEPT_HEARTBEAT);
        if (!is_due(l, kind, now))
            return false;
        beat_heart(l, now);
        kept_set(l->sle, link_kept(l, kind), link_due(l, kind));
        return true;
    }
}
