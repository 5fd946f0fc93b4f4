/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer per configured span: its limits, its queues and its link state.
 *
 * What can go wrong: an invalid configuration, memory, and a peer that causes acknowledgements
 * faster than the link can transmit them (the ring of acknowledgements is limited; the peer repeats
 * if one is dropped).
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

uint64_t ltp_peer_key(const struct ltp *l, uint64_t engine)
{
    return hash_mix(l->peers.seed, engine, 1);
}

struct peer *ltp_peer_peek(const struct ltp *l, uint64_t engine)
{
    if (PORT_LIKELY(l->last_peer != NULL && l->last_peer->span.peer == engine))
        return l->last_peer;
    for (struct hash_node *n = hash_find(&l->peers, ltp_peer_key(l, engine)); n != NULL;
         n = hash_next(n)) {
        struct peer *p = container_of(n, struct peer, node);
        if (p->span.peer == engine)
            return p;
    }
    return NULL;
}

struct peer *ltp_peer_find(struct ltp *l, uint64_t engine)
{
    struct peer *p = ltp_peer_peek(l, engine);
    if (p != NULL)
        l->last_peer = p;
    return p;
}

/* The one peer that fits: `whole`, by all of the source, else by what must be equal. NULL: none
 * does, or several do. */
static struct peer *find_by_source(const struct ltp *l, bool whole)
{
    struct peer *found = NULL;
    for (struct hash_node *n = hash_walk(&l->peers, NULL); n != NULL; n = hash_walk(&l->peers, n)) {
        struct peer *p = container_of(n, struct peer, node);
        bool fits = whole ? slice_equal(l->source, slice_of(p->source, p->source_len))
                          : p->source_match > 0 && ltp_peer_source(p, l->source);
        if (p->unconfigured != NULL || !fits)
            continue;
        if (found != NULL)
            return NULL; /* two of one address */
        found = p;
    }
    return found;
}

struct peer *ltp_peer_only(struct ltp *l)
{
    if (l->named == 1)
        return l->last_named;
    if (l->source.len == 0)
        return NULL;
    struct peer *p = find_by_source(l, true);
    return p != NULL ? p : find_by_source(l, false); /* it may answer from another port */
}

int ltp_source(struct ltp *l, uint64_t engine, struct slice source, size_t match)
{
    struct peer *p = ltp_peer_find(l, engine);
    if (p == NULL || p->unconfigured != NULL)
        return HELIO_ENOENT;
    if (source.len > LTP_SOURCE_MAX || match > source.len)
        return HELIO_EINVAL;
    l->sourced -= p->source_match > 0;
    p->source_len = (uint8_t)source.len;
    p->source_match = (uint8_t)match;
    if (source.len > 0)
        memcpy(p->source, source.data, source.len);
    l->sourced += p->source_match > 0;
    return 0;
}

uint64_t ltp_refused_peer(const struct ltp *l)
{
    return l->refused_peer;
}

static struct ltp_span with_defaults(struct ltp_span s)
{
    s.segment_max = s.segment_max == 0 ? 1400 : s.segment_max;
    s.export_sessions = s.export_sessions == 0 ? 16 : s.export_sessions;
    s.import_sessions = s.import_sessions == 0 ? 1024 : s.import_sessions;
    s.block_max = s.block_max == 0 ? UINT64_C(1) << 30 : s.block_max;
    s.ranges_max = s.ranges_max == 0 ? 4096 : s.ranges_max;
    s.claims_max = s.claims_max == 0 ? 256 : s.claims_max;
    s.retries_max = s.retries_max == 0 ? 20 : s.retries_max;
    s.orange_wait = s.orange_wait == 0 ? s.rto : s.orange_wait;
    if (s.orange_answer == 0)
        s.orange_answer = s.rto > TICK_NEVER / 4 ? TICK_NEVER : tick_add(s.orange_wait, 3 * s.rto);
    struct ltp_recovery *k = &s.recovery;
    k->copy_spacing = k->copy_spacing == 0 ? s.rto / 8 : k->copy_spacing;
    k->sessions_bytes = k->sessions_bytes == 0 ? UINT64_C(256) << 20 : k->sessions_bytes;
    k->sessions_age = k->sessions_age == 0 ? 10 * TICK_S : k->sessions_age;
    return s;
}

static bool valid_span(const struct ltp_span *s)
{
    return s->peer != 0 && s->segment_max >= 64 && s->segment_max <= 65000 &&
           s->checkpoint_extra <= LTP_CHECKPOINT_EXTRA && s->export_sessions <= 65536 &&
           s->rto >= 100 * TICK_US && s->block_max <= UINT64_C(1) << 40 &&
           s->recovery.closing_bytes <= s->segment_max &&
           (unsigned)s->profile <= LTP_PROFILE_AUTO &&
           (s->recovery.rto_max == 0 || s->recovery.rto_min <= s->recovery.rto_max) &&
           ltp_auth_valid(s);
}

void ltp_peer_init(struct peer *p)
{
    list_init(&p->gone);
    list_init(&p->touched);
    list_init(&p->timers);
    list_init(&p->cancels);
    list_init(&p->reports);
    list_init(&p->checkpoints);
    list_init(&p->resends);
    list_init(&p->fresh);
    list_init(&p->held);
    ltp_unproven_init(&p->unproven);
    p->copy_credit = COPY_CREDIT_MAX;
    p->begun = EVENT_NONE;
    p->heard = p->asked = TICK_NEVER;
    p->shares[POOL_BYTES].cap = UINT64_MAX;
}

void ltp_peer_heard(struct peer *p, size_t len, tick now)
{
    p->heard = now;
    p->asked = TICK_NEVER;
    p->heard_bytes += len;
    assert(p->heard_bytes >= len);
}

/* Checkpoints, reports and cancels are what a peer answers. */
void ltp_peer_asked(struct peer *p, const struct ltp_segment *s, tick now)
{
    bool answered = segment_is_checkpoint(s) || s->type == LTP_RS ||
                    ((s->type == LTP_CS || s->type == LTP_CR) && ltp_orange_of(s) == ORANGE_NONE);
    if (answered && p->asked == TICK_NEVER)
        p->asked = now;
}

int ltp_peer_span(struct peer *p, const struct ltp_span *span)
{
    struct ltp_span full = with_defaults(*span);
    if (!valid_span(&full))
        return HELIO_EINVAL;
    p->span = full;
    ltp_support_apply(p);
    ltp_auth_set(p);
    return 0;
}

/* Sessions that are open go on with another span. What they have queued for longer segments must
 * fit those that there will be; checkpoints are shortened when they leave. */
static int refit_segments(struct ltp *l, const struct peer *p, const struct ltp_span *to)
{
    int rc = 0;
    if (p->imports == 0 || to->segment_max >= p->span.segment_max)
        return 0;
    for (struct hash_node *n = hash_walk(&l->sessions, NULL); n != NULL && rc == 0;
         n = hash_walk(&l->sessions, n)) {
        struct session *s = container_of(n, struct session, node);
        if (s->peer == p && !s->is_export)
            rc = ltp_reports_fit(l, container_of(s, struct import, s), to->segment_max);
    }
    return rc;
}

int ltp_span_set(struct ltp *l, const struct ltp_span *span, tick now)
{
    (void)now; /* what waits is refitted, and nothing else happens */
    ltp_export_settle(l);
    struct ltp_span full = with_defaults(*span);
    if (!valid_span(&full))
        return HELIO_EINVAL;
    struct peer *p = ltp_peer_find(l, full.peer);
    if (p != NULL && p->unconfigured != NULL) {
        if (!ltp_unconfigured_leave(l, p->unconfigured))
            return HELIO_EAGAIN;
        p = NULL;
    }
    if (p == NULL) {
        p = ltp_peer_back(l, full.peer);
        if (p == NULL && (p = calloc(1, sizeof *p)) == NULL)
            return HELIO_ENOMEM;
        if (p->remembered == 0)
            ltp_peer_init(p);
        p->down_since = now;
        hash_add(&l->peers, &p->node, ltp_peer_key(l, full.peer));
        l->named++;
        l->last_named = p;
        ltp_pools_share(l);
    }
    if (p->exports + p->imports > 0 && !ltp_auth_same(&p->span, &full))
        return HELIO_EINVAL;
    int rc = refit_segments(l, p, &full);
    if (rc < 0)
        return rc;
    l->authenticated -= p->ext_count > 0;
    if (p->span.round_trip != 0 && full.round_trip != 0) {
        ltp_rtt_move(&p->checkpoint_rtt, p->span.round_trip, full.round_trip);
        ltp_rtt_move(&p->report_rtt, p->span.round_trip, full.round_trip);
    }
    p->span = full;
    ltp_support_apply(p);
    ltp_auth_set(p);
    l->authenticated += p->ext_count > 0;
    ltp_peer_touch(l, p);
    return 0;
}

void ltp_peer_touch(struct ltp *l, struct peer *p)
{
    if (PORT_UNLIKELY(p->unconfigured != NULL))
        ltp_unconfigured_wake(l, p);
    else if (list_empty(&p->touched) && list_empty(&p->gone))
        list_add_tail(&l->touched, &p->touched);
}

bool ltp_touched(struct ltp *l, uint64_t *engine)
{
    struct list *first = list_first(&l->touched);
    if (first == NULL)
        return false;
    list_sub(first);
    *engine = container_of(first, struct peer, touched)->span.peer;
    return true;
}

void ltp_peer_free(struct ltp *l, struct peer *p)
{
    assert(list_empty(&p->gone));
    hash_sub(&l->peers, &p->node);
    list_sub(&p->touched);
    if (l->last_peer == p)
        l->last_peer = NULL;
    free(p->acks);
    free(p);
}

int ltp_link_directions(struct ltp *l, uint64_t engine, unsigned directions, bool up, tick now)
{
    ltp_export_settle(l);
    struct peer *p = ltp_peer_find(l, engine);
    if (p == NULL || p->unconfigured != NULL)
        return HELIO_ENOENT;
    ltp_peer_touch(l, p);
    bool transmit = (directions & LTP_TRANSMIT) != 0 && p->up != up;
    bool receive = (directions & LTP_RECEIVE) != 0 && p->hears != up;
    if (!transmit && !receive)
        return 0;
    p->up = transmit ? up : p->up;
    p->hears = receive ? up : p->hears;
    if (up) {
        p->up_since = now;
        ltp_silence_ends(p);
    }
    if (receive && up) {
        p->down_total += now - p->down_since;
        ltp_timers_resume(l, p, now);
    } else if (receive) {
        p->down_since = now;
        ltp_timers_suspend(l, p, now);
    }
    ltp_emit_link(l, p, transmit ? LINK_TRANSMIT : LINK_RECEIVE, up, now);
    return 0;
}

int ltp_link(struct ltp *l, uint64_t engine, bool up, tick now)
{
    return ltp_link_directions(l, engine, LTP_TRANSMIT | LTP_RECEIVE, up, now);
}

void ltp_peer_ack(struct ltp *l, struct peer *p, struct ack ack)
{
    if (PORT_UNLIKELY(!list_empty(&p->gone)))
        return; /* it has no link any more */
    uint32_t most = p->unconfigured != NULL ? UNCONFIGURED_ACKS_MAX : ACKS_MAX;
    if (p->ack_len == p->ack_cap) {
        uint32_t cap = p->ack_cap == 0 ? 16 : p->ack_cap * 2;
        struct ack *ring = cap > most ? NULL : malloc(cap * sizeof *ring);
        if (ring == NULL) {
            l->counters.acks_dropped++;
            return;
        }
        for (uint32_t i = 0; i < p->ack_len; i++)
            ring[i] = p->acks[(p->ack_head + i) & (p->ack_cap - 1)];
        free(p->acks);
        p->acks = ring;
        p->ack_cap = cap;
        p->ack_head = 0;
    }
    p->acks[(p->ack_head + p->ack_len++) & (p->ack_cap - 1)] = ack;
    ltp_peer_touch(l, p);
}

uint32_t ltp_room(const struct ltp *l, uint64_t engine)
{
    const struct peer *p = ltp_peer_peek(l, engine);
    if (p == NULL || p->unconfigured != NULL || ltp_limit_reached(p))
        return 0;
    return ltp_limit(p) - p->exports;
}

uint32_t ltp_window(const struct ltp *l, uint64_t engine)
{
    const struct peer *p = ltp_peer_peek(l, engine);
    if (p == NULL || p->unconfigured != NULL)
        return 0;
    return ltp_limit_reached(p) ? p->exports : ltp_limit(p);
}

/* ---- silence ---- */

/*
 * A silent peer must not be sent whole blocks again and again by retrying senders. A peer is silent
 * when a session failed without an answer and no segment of the peer arrived meanwhile.
 *
 * Toward a silent peer a session begins with one short segment, which is a checkpoint (RFC 5326
 * §6.1 permits it anywhere); the rest is held. Any segment of the peer ends the silence, at the
 * latest the report on that segment, and continues all held sessions. So does a link state cue
 * "up". Green and orange blocks expect no answer during their transmission, and are not held.
 *
 * Nothing can fail: memory for the first segment is reserved when the session opens.
 */
void ltp_silence_unanswered(const struct export_session *e)
{
    struct peer *p = e->s.peer;
    p->silent = p->silent || p->heard == TICK_NEVER || p->heard <= e->progress;
}

bool ltp_silence_probes(const struct export_session *e)
{
    return e->s.peer->silent && e->next == 0 && e->red_len > 0 && e->early != NULL;
}

void ltp_silence_hold(struct export_session *e)
{
    assert(e->next > 0 && e->next < e->length && !list_empty(&e->checkpoints));
    list_sub(&e->fresh);
    list_add_tail(&e->s.peer->held, &e->fresh);
}

void ltp_silence_ends(struct peer *p)
{
    p->silent = false;
    while (!list_empty(&p->held)) { /* before those that have not begun, in the old order */
        struct list *last = p->held.prev;
        list_sub(last);
        list_add_head(&p->fresh, last);
    }
}

bool ltp_silent(const struct ltp *l, uint64_t engine)
{
    const struct peer *p = ltp_peer_peek(l, engine);
    return p != NULL && p->silent;
}

/* ---- export sessions at once ---- */

/*
 * The limit of a peer's export sessions. With sessions_auto it grows when it left the link idle:
 * all permitted sessions are open, and none has anything to send. It shrinks by age, so that one
 * bad hour does not hold memory for ever; and only when a session closes, so that room just
 * reported to the user is not withdrawn. Blocks may become longer, so the bytes of open blocks are
 * limited as well. Nothing can fail.
 */
#define LIMIT_LEAST 2

uint32_t ltp_limit(const struct peer *p)
{
    uint32_t most = p->span.export_sessions;
    if (!p->span.recovery.sessions_auto)
        return most;
    uint32_t limit = p->limit < LIMIT_LEAST ? LIMIT_LEAST : p->limit;
    assert(most > 0);
    return limit < most ? limit : most;
}

bool ltp_limit_reached(const struct peer *p)
{
    const struct ltp_recovery *k = &p->span.recovery;
    bool full =
        k->sessions_auto && p->exports >= LIMIT_LEAST && p->export_bytes >= k->sessions_bytes;
    return full || p->exports >= ltp_limit(p);
}

void ltp_limit_opened(struct peer *p, uint64_t bytes)
{
    p->export_bytes += bytes;
}

void ltp_limit_closed(struct peer *p, uint64_t bytes, tick now)
{
    assert(p->export_bytes >= bytes);
    p->export_bytes -= bytes;
    const struct ltp_recovery *k = &p->span.recovery;
    if (!k->sessions_auto || p->limit <= LIMIT_LEAST || now - p->limit_short < k->sessions_age)
        return;
    p->limit--;
    p->limit_short = now;
}

void ltp_limit_idle(struct peer *p, tick now)
{
    const struct ltp_recovery *k = &p->span.recovery;
    uint32_t limit = ltp_limit(p);
    if (!k->sessions_auto || p->exports < limit)
        return;
    p->limit_short = now;
    assert(p->exports > 0);
    uint64_t one_more = p->export_bytes + p->export_bytes / p->exports;
    if (limit < p->span.export_sessions && one_more <= k->sessions_bytes)
        p->limit = limit + 1;
}
