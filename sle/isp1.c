/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run of a link without its service: connection, context, heartbeats, the end. All ends come
 * through isp1_end, which informs the service. What the host has to do with the stream is kept in
 * the link. Section numbers are those of CCSDS 913.1-B-2.
 */
#include "sle/isp1.h"

#include <assert.h>
#include <stdlib.h>

static void fill_defaults(struct sle_config *c)
{
    struct sle_tml_terms *t = &c->tml;
#define DEFAULT(field, value) (field) = (field) == 0 ? (value) : (field)
    DEFAULT(t->heartbeat_s, 25);
    DEFAULT(t->dead_factor, 5);
    DEFAULT(t->heartbeat_min_s, 1);
    DEFAULT(t->heartbeat_max_s, 3600);
    DEFAULT(t->dead_min, 1);
    DEFAULT(t->dead_max, 100);
    DEFAULT(t->establish, 60 * TICK_S);
    DEFAULT(t->close_wait, 5 * TICK_S);
    DEFAULT(t->message_max, UINT32_C(4) << 20);
    DEFAULT(c->auth_delay, 180 * TICK_S);
    DEFAULT(c->links_max, 1024);
    DEFAULT(c->receive_bytes, UINT32_C(256) << 10);
#undef DEFAULT
}

bool isp1_init(struct isp1 *s, const struct sle_config *config, const struct isp1_service *service,
               uint64_t *counts)
{
    if (!sle_authority_ok(config->self.id) || config->self.password_len > SLE_PASSWORD_MAX)
        return false;
    *s = (struct isp1){.config = *config, .service = service, .counts = counts};
    fill_defaults(&s->config);
    list_init(&s->links);
    list_init(&s->peers);
    agenda_init(&s->agenda);
    rng_init(&s->rng, config->seed);
    assert(s->config.links_max > 0 && s->config.receive_bytes > 0);
    return true;
}

void isp1_fini(struct isp1 *s)
{
    assert(s->link_count == 0 && list_empty(&s->links) && s->kept_max == 0);
    list_for_each_safe (it, &s->peers) {
        struct isp1_peer *p = container_of(it, struct isp1_peer, node);
        replay_fini(&p->replay);
        list_sub(it);
        free(p);
    }
    buf_drop(s->rx_spare);
    agenda_fini(&s->agenda);
}

struct sle_time isp1_time(const struct isp1 *s, tick now)
{
    return sle_time_of(s->config.unix_ns + now);
}

struct isp1_peer *isp1_peer(const struct isp1 *s, const char *id)
{
    list_for_each (it, &s->peers) {
        struct isp1_peer *p = container_of(it, struct isp1_peer, node);
        if (strcmp(p->p.who.id, id) == 0)
            return p;
    }
    return NULL;
}

int isp1_peer_set(struct isp1 *s, const struct sle_peer *peer)
{
    if (!sle_authority_ok(peer->who.id) || peer->who.password_len > SLE_PASSWORD_MAX ||
        (unsigned)peer->level > SLE_AUTH_ALL || (unsigned)peer->hash > SLE_SHA256 ||
        (peer->level != SLE_AUTH_NONE && s->config.hash == NULL))
        return HELIO_EINVAL;
    struct isp1_peer *p = isp1_peer(s, peer->who.id);
    if (p == NULL) {
        p = malloc(sizeof *p);
        if (p == NULL)
            return HELIO_ENOMEM;
        replay_init(&p->replay);
        list_add_tail(&s->peers, &p->node);
    }
    p->p = *peer;
    assert(isp1_peer(s, peer->who.id) == p);
    return HELIO_OK;
}

/* ---- links ---- */

bool isp1_link_init(struct isp1_link *l, struct isp1 *s, size_t times, tick now)
{
    if (s->link_count >= s->config.links_max || kept_reserve(s, KEPT_OF_LINK + times) != HELIO_OK)
        return false;
    *l = (struct isp1_link){.isp = s, .times = KEPT_OF_LINK + times, .by_version = SLE_SHA256};
    for (unsigned k = 0; k < KEPT_OF_LINK; k++)
        kept_init(&l->kept[k], k, k < KEPT_CLOSE ? KEPT_ENDS : KEPT_SENDS);
    list_add_tail(&s->links, &l->node);
    s->link_count++;
    list_init(&l->queue);
    l->hungry = true;
    l->last_in = l->last_out = now;
    isp1_count(l, ISP1_links, 1);
    return true;
}

static void forget_times(struct isp1_link *l)
{
    for (unsigned k = 0; k < KEPT_OF_LINK; k++)
        kept_set(l->isp, &l->kept[k], TICK_NEVER);
}

void isp1_link_fini(struct isp1_link *l)
{
    const bool was = l->ended;
    l->ended = true;
    list_for_each (it, &l->queue)
        container_of(it, struct out, node)->exposed = false;
    isp1_drop_queue(l);
    if (!was)
        l->isp->service->ended(l, l->last_in);
    forget_times(l);
    kept_release(l->isp, l->times);
    assert(list_empty(&l->queue) && l->isp->link_count > 0);
    list_sub(&l->node);
    l->isp->link_count--;
    buf_drop(l->rx);
}

void isp1_accept(struct isp1_link *l, tick now)
{
    kept_set(l->isp, link_kept(l, KEPT_ESTABLISH), tick_add(now, l->isp->config.tml.establish));
}

static int send_tml(struct isp1_link *l, const uint8_t *octets, size_t len)
{
    struct out *o = out_new(len);
    if (o == NULL || !out_reserve(o, len)) {
        out_free(o);
        return HELIO_ENOMEM;
    }
    memcpy(out_place(o), octets, len);
    out_add(o, len);
    isp1_enqueue(l, o);
    return HELIO_OK;
}

static tick silence_due(const struct isp1_link *l)
{
    return tick_add(l->last_in, (tick)l->heartbeat_s * l->dead_factor * TICK_S);
}

/* The context was received, or is sent: heartbeats, unless heartbeat_s is 0. */
static void begin_beats(struct isp1_link *l, uint16_t heartbeat_s, uint16_t dead_factor, tick now)
{
    assert(!l->context);
    l->context = true;
    l->heartbeat_s = heartbeat_s;
    l->dead_factor = dead_factor;
    if (heartbeat_s == 0)
        return;
    l->last_in = l->last_out = now;
    kept_set(l->isp, link_kept(l, KEPT_HEARTBEAT), isp1_due(l, KEPT_HEARTBEAT));
    kept_set(l->isp, link_kept(l, KEPT_SILENCE), silence_due(l));
}

int isp1_connect(struct isp1_link *l, struct isp1_peer *peer, tick now)
{
    const struct sle_tml_terms *t = &l->isp->config.tml;
    uint8_t context[SLE_TML_CONTEXT];
    l->initiator = true;
    l->peer = peer->p;
    l->replay = &peer->replay;
    begin_beats(l, t->heartbeat_s, t->dead_factor, now);
    sle_tml_write_context(l->heartbeat_s, l->dead_factor, context);
    return send_tml(l, context, sizeof context);
}

/* §3.3.4: only an initiator sends a context, once. */
void isp1_take_context(struct isp1_link *l, const struct sle_tml_message *m, tick now)
{
    const struct sle_tml_terms *t = &l->isp->config.tml;
    if (l->initiator || l->context) {
        isp1_abort(l, SLE_END_TML, SLE_ABORT_TML_PROTOCOL, now);
        return;
    }
    const bool beats = m->heartbeat_s == 0
                           ? !t->forbid_unused
                           : m->heartbeat_s >= t->heartbeat_min_s &&
                                 m->heartbeat_s <= t->heartbeat_max_s &&
                                 m->dead_factor >= t->dead_min && m->dead_factor <= t->dead_max;
    if (!beats) {
        isp1_abort(l, SLE_END_TML, SLE_ABORT_TML_HEARTBEAT, now);
        return;
    }
    begin_beats(l, m->heartbeat_s, m->dead_factor, now);
    kept_set(l->isp, link_kept(l, KEPT_ESTABLISH), tick_add(now, t->establish));
}

/* ---- the end ---- */

void isp1_end(struct isp1_link *l, enum sle_end end, enum sle_stream stream, unsigned abort,
              tick now)
{
    if (l->ended)
        return;
    if (!l->closing)
        isp1_drop_queue(l);
    l->ended = true;
    l->end = end;
    l->abort = abort;
    l->stream = l->closing && !l->polite && list_empty(&l->queue) ? SLE_STREAM_CLOSE : stream;
    forget_times(l);
    if (l->stream == SLE_STREAM_KEEP || l->stream == SLE_STREAM_ABORT)
        kept_set(l->isp, link_kept(l, KEPT_CLOSE), tick_add(now, l->isp->config.tml.close_wait));
    l->isp->service->ended(l, now);
}

void isp1_abort(struct isp1_link *l, enum sle_end end, unsigned diagnostic, tick now)
{
    assert(diagnostic <= 255);
    if (l->ended)
        return;
    isp1_count(l, ISP1_aborts_sent, 1);
    isp1_end(l, end, SLE_STREAM_ABORT, diagnostic, now);
}

void isp1_close(struct isp1_link *l, enum sle_end end, tick now)
{
    l->closing = true;
    isp1_end(l, end, SLE_STREAM_KEEP, SLE_ABORT_UNKNOWN, now);
}

void isp1_close_politely(struct isp1_link *l, tick now)
{
    l->closing = l->polite = true;
    isp1_end(l, SLE_END_UNBOUND, SLE_STREAM_KEEP, SLE_ABORT_UNKNOWN, now);
}

void isp1_urgent(struct isp1_link *l, uint8_t octet, tick now)
{
    if (l->ended)
        return;
    isp1_count(l, ISP1_aborts_received, 1);
    isp1_end(l, SLE_END_PEER_ABORT, SLE_STREAM_CLOSE, octet, now);
    assert(l->stream != SLE_STREAM_ABORT);
}

void isp1_closed(struct isp1_link *l)
{
    l->eof = true;
    if (!l->ended)
        return;
    kept_set(l->isp, link_kept(l, KEPT_CLOSE), TICK_NEVER);
    l->stream = l->stream == SLE_STREAM_RESET ? SLE_STREAM_RESET : SLE_STREAM_CLOSE;
    isp1_drop_queue(l);
}

/* ---- times ---- */

tick isp1_due(const struct isp1_link *l, unsigned kind)
{
    const bool beats = !l->ended && l->context && l->heartbeat_s > 0;
    bool kept = false; /* the agenda alone knows until when */
    switch (kind) {
    case KEPT_HEARTBEAT:
        return beats ? tick_add(l->last_out, l->heartbeat_s * TICK_S) : TICK_NEVER;
    case KEPT_SILENCE: /* while nothing is read nothing can be missed */
        return beats && isp1_reads(l) ? silence_due(l) : TICK_NEVER;
    case KEPT_ESTABLISH:
        kept = !l->ended && !l->initiator && !l->bound;
        break;
    default:
        assert(kind == KEPT_CLOSE);
        kept = l->ended && (l->stream == SLE_STREAM_KEEP || l->stream == SLE_STREAM_ABORT);
    }
    return kept ? TICK_NEVER - 1 : TICK_NEVER;
}

static bool serve_silence(struct isp1_link *l, tick now)
{
    if (!isp1_reads(l))
        l->last_in = now;
    if (silence_due(l) > now) {
        kept_set(l->isp, link_kept(l, KEPT_SILENCE), silence_due(l));
        return false;
    }
    isp1_end(l, SLE_END_TML, SLE_STREAM_RESET, SLE_ABORT_TML_HEARTBEAT_TIMEOUT, now);
    return true;
}

/* Messages do not move its time: what comes out too early is kept again. */
static bool serve_heartbeat(struct isp1_link *l, tick now)
{
    uint8_t octets[SLE_TML_HEADER];
    assert(l->context && l->heartbeat_s > 0 && !l->ended);
    const bool beats = isp1_due(l, KEPT_HEARTBEAT) <= now;
    if (beats) {
        l->last_out = now;
        if (list_empty(&l->queue)) { /* queued messages serve as heartbeat */
            sle_tml_write_header(SLE_TML_HEARTBEAT, 0, octets);
            (void)send_tml(l, octets, sizeof octets); /* without memory: at the next turn */
        }
    }
    kept_set(l->isp, link_kept(l, KEPT_HEARTBEAT), isp1_due(l, KEPT_HEARTBEAT));
    return beats;
}

/* The peer did not close in time, or what we have to say did not get out. */
static void expire_ended(struct isp1_link *l)
{
    assert(l->ended);
    if (l->stream == SLE_STREAM_ABORT)
        l->stream = SLE_STREAM_RESET;
    else if (l->stream == SLE_STREAM_KEEP)
        l->stream = list_empty(&l->queue) ? SLE_STREAM_CLOSE : SLE_STREAM_RESET;
}

bool isp1_serve(struct isp1_link *l, unsigned kind, tick now)
{
    switch (kind) {
    case KEPT_ESTABLISH:
        isp1_end(l, SLE_END_TML, SLE_STREAM_RESET, SLE_ABORT_TML_ESTABLISH_TIMEOUT, now);
        return true;
    case KEPT_SILENCE:
        return serve_silence(l, now);
    case KEPT_ASSOCIATE:
        isp1_abort(l, SLE_END_ABORTED, l->isp->service->return_timeout, now);
        return true;
    case KEPT_CLOSE:
        expire_ended(l);
        return true;
    default:
        assert(kind == KEPT_HEARTBEAT);
        return serve_heartbeat(l, now);
    }
}

struct isp1_link *isp1_link_of(struct kept *k)
{
    assert(k->kind < KEPT_OF_LINK);
    return container_of(k - k->kind, struct isp1_link, kept[0]);
}
