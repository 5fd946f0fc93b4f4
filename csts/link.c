/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a link: connection, context, BIND, procedures, the end. All ends come through
 * assoc_end, which parts the link from its service; what the host does with the stream stays
 * behind. The transport mapping is that of Space Link Extension (sle/tml.h), with the same rules.
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/engine_private.h"

enum { TIMERS = TIMERS_OF_LINK + CSTS_PROCEDURES_MAX };

static struct csts_link *new_link(struct csts *s, tick now)
{
    if (s->link_count >= s->config.links_max)
        return NULL;
    struct csts_link *l = calloc(1, sizeof *l);
    if (l == NULL || agenda_reserve(&s->agenda, (size_t)(s->link_count + 1) * TIMERS) != HELIO_OK) {
        free(l);
        return NULL;
    }
    l->csts = s;
    for (unsigned k = 0; k < TIMERS_OF_LINK; k++)
        assoc_timer_init(&l->timers[k], (enum timer_kind)k, l);
    for (unsigned i = 0; i < CSTS_PROCEDURES_MAX; i++)
        assoc_timer_init(&l->procedures[i].timer, TIMER_REPORT, l);
    list_add_tail(&s->links, &l->node);
    s->link_count++;
    list_init(&l->queue);
    l->hungry = true;
    l->last_in = l->last_out = now;
    COUNT(l, links);
    return l;
}

struct csts_link *csts_accept(struct csts *s, tick now)
{
    struct csts_link *l = new_link(s, now);
    if (l != NULL)
        assoc_timer_set(&l->timers[TIMER_ESTABLISH], tick_add(now, s->config.tml.establish));
    return l;
}

struct csts_link *csts_connect(struct csts *s, const struct csts_user_config *config, tick now)
{
    struct peer *peer = assoc_peer(s, config->responder);
    uint8_t context[SLE_TML_CONTEXT];
    struct csts_link *l = peer == NULL ? NULL : new_link(s, now);
    if (l == NULL)
        return NULL;
    l->initiator = true;
    l->user = *config;
    if (l->user.version == 0)
        l->user.version = CSTS_VERSION;
    l->peer = peer->p;
    l->replay = &peer->replay;
    assoc_beats(l, s->config.tml.heartbeat_s, s->config.tml.dead_factor, now);
    sle_tml_write_context(l->heartbeat_s, l->dead_factor, context);
    if (assoc_send_tml(l, context, sizeof context) != HELIO_OK) {
        csts_link_free(l);
        return NULL;
    }
    assoc_bind_send(l, now);
    return l;
}

void csts_link_use(struct csts_link *l, void *host)
{
    l->host = host;
}

void *csts_link_host(const struct csts_link *l)
{
    return l->host;
}

enum csts_state csts_link_state(const struct csts_link *l)
{
    return l->state;
}

const char *csts_link_peer(const struct csts_link *l)
{
    return l->peer_id;
}

enum sle_stream csts_link_stream(const struct csts_link *l)
{
    return l->stream;
}

uint8_t csts_link_abort_octet(const struct csts_link *l)
{
    assert(l->stream == SLE_STREAM_ABORT);
    return (uint8_t)l->abort;
}

static void forget_times(struct csts_link *l)
{
    for (unsigned k = 0; k < TIMERS_OF_LINK; k++)
        assoc_timer_set(&l->timers[k], TICK_NEVER);
    l->awaited_count = 0;
}

void csts_link_free(struct csts_link *l)
{
    l->state = CSTS_ENDED;
    assoc_drop_queue(l);
    assoc_provider_leave(l);
    forget_times(l);
    assert(l->csts->link_count > 0);
    list_sub(&l->node);
    l->csts->link_count--;
    free(l->in);
    free(l);
}

void assoc_beats(struct csts_link *l, uint16_t heartbeat_s, uint16_t dead_factor, tick now)
{
    assert(!l->context);
    l->context = true;
    l->heartbeat_s = heartbeat_s;
    l->dead_factor = dead_factor;
    if (heartbeat_s == 0)
        return;
    l->last_in = l->last_out = now;
    assoc_timer_set(&l->timers[TIMER_HEARTBEAT], tick_add(now, heartbeat_s * TICK_S));
    assoc_timer_set(&l->timers[TIMER_SILENCE],
                    tick_add(now, (tick)heartbeat_s * dead_factor * TICK_S));
}

void assoc_end(struct csts_link *l, enum sle_end end, enum sle_stream stream, unsigned abort,
               tick now)
{
    if (l->state == CSTS_ENDED)
        return;
    if (!l->closing)
        assoc_drop_queue(l);
    l->state = CSTS_ENDED;
    l->end = end;
    l->abort = abort;
    l->stream = l->closing && !l->polite && list_empty(&l->queue) ? SLE_STREAM_CLOSE : stream;
    forget_times(l);
    if (l->stream == SLE_STREAM_KEEP || l->stream == SLE_STREAM_ABORT)
        assoc_timer_set(&l->timers[TIMER_CLOSE], tick_add(now, l->csts->config.tml.close_wait));
    assoc_provider_leave(l);
    assert(l->service == NULL);
}

void assoc_abort(struct csts_link *l, enum sle_end end, unsigned diagnostic, tick now)
{
    assert(diagnostic <= 255);
    if (l->state == CSTS_ENDED)
        return;
    COUNT(l, aborts_sent);
    assoc_end(l, end, SLE_STREAM_ABORT, diagnostic, now);
}

void assoc_close(struct csts_link *l, enum sle_end end, tick now)
{
    l->closing = true;
    assoc_end(l, end, SLE_STREAM_KEEP, SLE_ABORT_UNKNOWN, now);
}

void csts_link_abort(struct csts_link *l, enum csts_abort diagnostic, tick now)
{
    if (l->state == CSTS_BOUND || l->state == CSTS_UNBINDING)
        assoc_abort(l, SLE_END_ABORTED, (unsigned)diagnostic & 0xff, now);
    else
        assoc_end(l, SLE_END_ABORTED, SLE_STREAM_RESET, (unsigned)diagnostic, now);
}

void csts_link_urgent(struct csts_link *l, uint8_t octet, tick now)
{
    if (l->state == CSTS_ENDED)
        return;
    COUNT(l, aborts_received);
    assoc_end(l, SLE_END_PEER_ABORT, SLE_STREAM_CLOSE, octet, now);
}

void csts_link_closed(struct csts_link *l, tick now)
{
    (void)now;
    l->eof = true;
    if (l->state != CSTS_ENDED)
        return;
    assoc_timer_set(&l->timers[TIMER_CLOSE], TICK_NEVER);
    l->stream = l->stream == SLE_STREAM_RESET ? SLE_STREAM_RESET : SLE_STREAM_CLOSE;
    assoc_drop_queue(l);
}

struct csts_notice *assoc_notice(struct csts_link *l, enum csts_notice_kind kind,
                                 const struct csts_pdu *pdu)
{
    assert(!l->told);
    l->told = true;
    memset(&l->notice, 0, sizeof l->notice);
    l->notice.kind = kind;
    if (pdu != NULL)
        l->notice.pdu = *pdu;
    return &l->notice;
}

/* ---- times ---- */

/* Messages do not move these two: what comes out too early is kept again. */
static bool serve_silence(struct csts_link *l, tick now)
{
    if (!csts_link_reads(l)) /* what is not read is not missed */
        l->last_in = now;
    const tick due = tick_add(l->last_in, (tick)l->heartbeat_s * l->dead_factor * TICK_S);
    if (due > now) {
        assoc_timer_set(&l->timers[TIMER_SILENCE], due);
        return false;
    }
    assoc_end(l, SLE_END_TML, SLE_STREAM_RESET, SLE_ABORT_TML_HEARTBEAT_TIMEOUT, now);
    return true;
}

static bool serve_heartbeat(struct csts_link *l, tick now)
{
    uint8_t octets[SLE_TML_HEADER];
    tick due = tick_add(l->last_out, l->heartbeat_s * TICK_S);
    const bool beats = due <= now;
    if (beats) {
        l->last_out = now;
        due = tick_add(now, l->heartbeat_s * TICK_S);
    }
    assoc_timer_set(&l->timers[TIMER_HEARTBEAT], due);
    if (beats && list_empty(&l->queue)) { /* what waits will say as much */
        sle_tml_write_header(SLE_TML_HEARTBEAT, 0, octets);
        (void)assoc_send_tml(l, octets, sizeof octets); /* without memory: at the next turn */
    }
    return beats;
}

bool assoc_serve(struct csts_link *l, enum timer_kind kind, tick now)
{
    switch (kind) {
    case TIMER_ESTABLISH:
        assoc_end(l, SLE_END_TML, SLE_STREAM_RESET, SLE_ABORT_TML_ESTABLISH_TIMEOUT, now);
        return true;
    case TIMER_ASSOCIATE:
    case TIMER_RETURN:
        assoc_abort(l, SLE_END_ABORTED, CSTS_ABORT_RETURN_TIMEOUT, now);
        return true;
    case TIMER_SILENCE:
        return serve_silence(l, now);
    case TIMER_CLOSE:
        if (l->stream == SLE_STREAM_ABORT || !list_empty(&l->queue))
            l->stream = SLE_STREAM_RESET;
        else if (l->stream == SLE_STREAM_KEEP)
            l->stream = SLE_STREAM_CLOSE;
        return true;
    default:
        assert(kind == TIMER_HEARTBEAT);
        return serve_heartbeat(l, now);
    }
}
