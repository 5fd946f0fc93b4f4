/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine as a whole: made, freed, fed with datagrams and with time. A datagram is parsed,
 * handed to the file of its kind, and its verdict counted; a timer that ran out is handed likewise.
 * What can go wrong is in those files.
 */
#include "ltp/engine.h"

#include <assert.h>
#include <stdlib.h>

static void set_defaults(struct ltp_config *c)
{
    c->import_sessions = c->import_sessions == 0 ? 4096 : c->import_sessions;
    c->held_bytes = c->held_bytes == 0 ? UINT64_C(1) << 30 : c->held_bytes;
    c->closed_memory = c->closed_memory == 0 ? 65536 : c->closed_memory;
    c->closed_time = c->closed_time == 0 ? 300 * TICK_S : c->closed_time;
    if (c->unconfigured_sessions == 0) /* at least one */
        c->unconfigured_sessions = c->import_sessions / 4 + (c->import_sessions % 4 != 0);
    c->unconfigured_bytes = c->unconfigured_bytes == 0 ? c->held_bytes / 4 : c->unconfigured_bytes;
}

int ltp_new(struct ltp **out, const struct ltp_config *config)
{
    if (config->engine == 0)
        return HELIO_EINVAL;
    struct ltp *l = calloc(1, sizeof *l);
    if (l == NULL)
        return HELIO_ENOMEM;
    l->config = *config;
    set_defaults(&l->config);
    rng_init(&l->rng, config->seed);
    if (l->config.secret[0] == 0 && l->config.secret[1] == 0) {
        struct rng own; /* so that a seed gives the same run with a secret and without */
        rng_init(&own, ~config->seed);
        l->config.secret[0] = rng_u64(&own);
        l->config.secret[1] = rng_u64(&own);
    }
    l->number = rng_below(&l->rng, UINT32_MAX);
    heap_init(&l->heap);
    list_init(&l->closed_fifo);
    list_init(&l->unheard);
    list_init(&l->spent);
    list_init(&l->gone);
    list_init(&l->touched);
    int rc = ltp_unconfigured_init(l, config);
    if (rc == 0 && (hash_init(&l->peers, rng_u64(&l->rng)) < 0 ||
                    hash_init(&l->sessions, rng_u64(&l->rng)) < 0 ||
                    hash_init(&l->closed, rng_u64(&l->rng)) < 0 || ltp_service_open(l, 1) < 0))
        rc = HELIO_ENOMEM;
    if (rc != 0) {
        ltp_free(l);
        return rc;
    }
    ltp_pools_init(l);
    *out = l;
    return 0;
}

static void free_sessions(struct ltp *l)
{
    struct hash_node *next = l->sessions.len == 0 ? NULL : hash_walk(&l->sessions, NULL);
    while (next != NULL) {
        struct session *s = container_of(next, struct session, node);
        next = hash_walk(&l->sessions, next);
        ltp_session_forget(l, s);
        if (s->is_export)
            ltp_export_free(l, container_of(s, struct export_session, s));
        else
            ltp_import_free(l, container_of(s, struct import, s));
    }
}

void ltp_free(struct ltp *l)
{
    if (l == NULL)
        return;
    struct ltp_notice n;
    while (ltp_poll(l, &n) != 0)
        buf_drop(n.data);
    ltp_export_settle(l);
    free_sessions(l);
    list_for_each_safe (it, &l->closed_fifo)
        ltp_closed_free(l, container_of(it, struct closed, fifo));
    list_for_each_safe (it, &l->unheard)
        ltp_closed_free(l, container_of(it, struct closed, fifo));
    ltp_unconfigured_fini(l);
    while (l->peers.len > 0)
        ltp_peer_free(l, container_of(hash_walk(&l->peers, NULL), struct peer, node));
    assert(l->gone_len == 0 && list_empty(&l->gone));
    assert(l->timers == 0 && l->pools[POOL_BYTES].used == 0);
    hash_fini(&l->peers);
    hash_fini(&l->sessions);
    hash_fini(&l->closed);
    heap_fini(&l->heap);
    free(l->notices);
    free(l->services);
    free(l);
}

int ltp_service_open(struct ltp *l, uint64_t client_service)
{
    if (client_service > UINT32_MAX)
        return HELIO_EINVAL;
    if (ltp_service_known(l, client_service))
        return 0;
    uint64_t *grown = realloc(l->services, (l->service_count + 1) * sizeof *grown);
    if (grown == NULL)
        return HELIO_ENOMEM;
    l->services = grown;
    l->services[l->service_count++] = client_service;
    return 0;
}

enum verdict ltp_input(struct ltp *l, const uint8_t *data, size_t len, tick now)
{
    return ltp_input_from(l, data, len, slice_of(NULL, 0), now);
}

static enum verdict dispatch_segment(struct ltp *l, const struct ltp_segment *s,
                                     struct slice source, tick now, struct peer **peer)
{
    if (PORT_LIKELY(segment_is_data(s)))
        return ltp_import_data(l, s, source, now, peer);
    if (s->type == LTP_RS) {
        l->counters.reports_padded += s->padded;
        return ltp_export_report(l, s, now, peer);
    }
    if (s->type == LTP_RA)
        return ltp_report_ack(l, s, now, peer);
    return ltp_cancel_input(l, s, now, peer);
}

/* Is there nothing to examine? Mostly it is a peer's next data segment, from where it should come.
 */
static inline bool is_plain(const struct ltp *l, const struct ltp_segment *s, struct slice source)
{
    const struct peer *p = l->last_peer;
    if (PORT_UNLIKELY(l->authenticated > 0 || l->unconfigured.at != NULL))
        return false;
    if (l->sourced == 0)
        return true;
    return p != NULL && segment_is_data(s) && p->span.peer == s->id.originator &&
           ltp_peer_source(p, source);
}

enum verdict ltp_input_from(struct ltp *l, const uint8_t *data, size_t len, struct slice source,
                            tick now)
{
    assert(source.len <= LTP_SOURCE_MAX);
    struct ltp_segment s;
    struct peer *peer = NULL;
    const struct import *before = l->last_import;
    ltp_export_settle(l);
    if (PORT_LIKELY(ltp_train_input(l, data, len, source, now)))
        return VERDICT_OK;
    enum verdict v = segment_parse(&s, data, len);
    if (v != VERDICT_OK) {
        ltp_emit_bad(l, v, len, now);
        return v;
    }
    l->source = source;
    if (PORT_UNLIKELY(!is_plain(l, &s, source)))
        v = ltp_auth_check(l, &s, slice_of(data, len), source, &peer);
    if (PORT_LIKELY(v == VERDICT_OK)) {
        v = dispatch_segment(l, &s, source, now, &peer);
        if (peer != NULL) {
            ltp_unconfigured_heard(peer, now);
            ltp_unconfigured_credit(peer, len);
            ltp_peer_heard(peer, len, now);
            if (peer->unconfigured == NULL)
                ltp_peer_touch(l, peer);
            if (PORT_UNLIKELY(peer->silent))
                ltp_silence_ends(peer);
        }
    }
    l->source = slice_of(NULL, 0);
    struct emit e = {
        .kind = EVENT_RX, .peer = peer, .len = len, .cause = (int)v, .attempt = EVENT_NONE};
    ltp_emit_segment(l, &s, &e, now);
    /* the second one of a session in succession: where several alternate, none would follow */
    if (v == VERDICT_OK && s.type == LTP_RED && before != NULL && before == l->last_import)
        ltp_train_note(l, &s, data, len);
    return v;
}

static void expire_one(struct ltp *l, struct timer *t, tick now)
{
    ltp_timer_stop(l, t);
    if (t->peer->unconfigured ==
        NULL) /* an unconfigured peer may leave, and is woken by what is queued for it */
        ltp_peer_touch(l, t->peer);
    switch (t->use) {
    case USE_CHECKPOINT:
    case USE_STALL:
        ltp_export_expire(l, t, now);
        break;
    case USE_RESEND:
        ltp_resend_expire(container_of(t, struct resend, timer));
        break;
    case USE_DELAY:
        ltp_deferred_expire(l, t, now);
        break;
    case USE_REPORT:
        ltp_report_expire(l, container_of(t, struct report, timer), now);
        break;
    case USE_CANCEL:
        ltp_cancel_expire(l, container_of(t, struct cancel, timer), now);
        break;
    case USE_IDLE:
        ltp_import_idle(l, container_of(t, struct import, idle), now);
        break;
    }
}

void ltp_expire(struct ltp *l, tick now)
{
    ltp_export_settle(l);
    while (heap_due(&l->heap) <= now && l->heap.len > 0)
        expire_one(l, container_of(heap_first(&l->heap), struct timer, node), now);
}

void ltp_late(struct ltp *l, tick time)
{
    heap_delay(&l->heap, time);
}

tick ltp_deadline(const struct ltp *l)
{
    return heap_due(&l->heap);
}

const struct ltp_counters *ltp_counters(const struct ltp *l)
{
    return &l->counters;
}

bool ltp_idle(const struct ltp *l)
{
    if (l->imports + l->exports + l->cancels + l->notice_len > 0 || l->pools[POOL_BYTES].used > 0)
        return false;
    for (struct hash_node *n = hash_walk(&l->peers, NULL); n != NULL; n = hash_walk(&l->peers, n)) {
        if (ltp_has_output(l, container_of(n, struct peer, node)->span.peer))
            return false;
    }
    return true;
}
