/* SPDX-License-Identifier: Apache-2.0 */
/* All invariants of the engine, asserted. It walks everything and is for tests. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

#include "ltp/engine.h"

static void check_export(const struct export_session *e, uint64_t *noted)
{
    assert(e->noted == ltp_incarnation_memory(e));
    *noted += e->noted;
    assert(e->red_len <= e->length && e->next <= e->length && e->data->len == e->length);
    uint64_t sent = e->next < e->red_len ? e->next : e->red_len;
    ltp_incarnation_check(e, sent);
    assert(list_empty(&e->fresh) == (e->next == e->length));
    assert((e->eorp != NULL) == (e->next < e->red_len));
    assert(e->cp_last + 1 >= e->cp_first);
    list_for_each (it, &e->checkpoints) {
        const struct checkpoint *c = container_of(it, struct checkpoint, in_export);
        *noted += c->noted;
        assert(c->session == e && (c->sent > 0 || !list_empty(&c->queue)) &&
               c->serial >= e->cp_first && c->serial <= e->cp_last);
        assert(c->offset + c->length <= e->red_len && c->length > 0);
        assert(c->tries > 0 && c->tries <= c->sent + 1 && c->early == (c == e->early));
        /* it is in transmission with a timer, or queued to be repeated */
        assert(list_empty(&c->queue) != list_empty(&c->timer.in_peer));
    }
    list_for_each (it, &e->resends) {
        const struct resend *r = container_of(it, struct resend, in_export);
        *noted += r->noted;
        assert(r->session == e && r->checkpoint != NULL && r->gap < r->gaps.len);
        /* it waits for its turn, or for further reports */
        assert(list_empty(&r->queue) != list_empty(&r->timer.in_peer));
        assert(r->at >= r->gaps.at[r->gap].lo && r->at < r->gaps.at[r->gap].hi);
        assert(r->gaps.at[r->gaps.len - 1].hi <= sent);
    }
    bool whole = ltp_incarnation_whole(e);
    assert(!e->orange ||
           (e->red_len == 0 && (e->next < e->length) != !list_empty(&e->stall.in_peer)));
    assert(!whole || e->next < e->length || e->orange); /* else it would be closed */
    bool moved_by_us = e->eorp != NULL || !list_empty(&e->checkpoints) || !list_empty(&e->resends);
    assert(whole || moved_by_us || !list_empty(&e->stall.in_peer));
}

static void check_part(const struct part *p, uint64_t lo, uint64_t hi, uint64_t *held)
{
    *held += ltp_part_held(p);
    ltp_part_check(p);
    if (p->buf == NULL)
        return;
    assert(p->base <= lo && (hi <= lo || !list_empty(&p->pieces) || hi - p->base <= p->buf->cap));
    assert(p->buf->refs == 1 && p->buf->off == 0);
}

/* The end of the red bytes that are here; red_high may be that of some for which no range was left.
 */
static uint64_t red_end(const struct import *im)
{
    uint64_t end = 0;
    for (size_t i = 0; i < im->got.len && im->got.at[i].lo < im->red_high; i++)
        end = im->got.at[i].hi < im->red_high ? im->got.at[i].hi : im->red_high;
    return end;
}

static void check_reports(const struct import *im)
{
    assert(im->reported <= REPORTS_MAX && im->reported <= im->history_cap);
    list_for_each (it, &im->reports) {
        const struct report *r = container_of(it, struct report, in_import);
        assert(r->import == im && r->lower < r->upper);
        assert(r->serial - im->rpt_first < im->reported);
        assert(im->history[r->serial - im->rpt_first].lower == r->lower);
        for (size_t i = 0; i < r->count; i++) {
            assert(r->claims[i].lo < r->claims[i].hi && r->claims[i].hi <= r->upper);
            assert(r->claims[i].lo >= (i == 0 ? r->lower : r->claims[i - 1].hi));
            assert(ranges_has(&im->got, r->claims[i].lo, r->claims[i].hi));
        }
        assert(list_empty(&r->queue) != list_empty(&r->timer.in_peer));
    }
}

static void check_import(const struct ltp *l, const struct import *im, uint64_t *held)
{
    ranges_check(&im->got);
    ranges_check(&im->acked);
    uint64_t high = im->got.len == 0 ? 0 : im->got.at[im->got.len - 1].hi;
    assert(im->got.len <= ltp_ranges_max(im->ranges_max, im->red.received + im->green.received));
    assert(im->red_len == EVENT_NONE || im->red_high <= im->red_len);
    assert(im->length == EVENT_NONE || high <= im->length);
    assert(im->green_low == EVENT_NONE || im->red_high <= im->green_low);
    assert(!im->delivered || ranges_has(&im->got, 0, im->red_len));
    assert(!im->delivered || im->red.buf == NULL);
    assert(!ltp_orange(im) || !im->green_done || !im->accepted); /* else it would be closed */
    check_part(&im->red, 0, red_end(im), held);
    check_part(&im->green, im->green_low, im->green_low == EVENT_NONE ? 0 : high, held);
    for (size_t i = 0; i < im->acked.len; i++)
        assert(ranges_has(&im->got, im->acked.at[i].lo, im->acked.at[i].hi));
    check_reports(im);
    assert(list_empty(&im->unproven) || im->unproven_since <= im->arrival);
    *held += ltp_deferred_held(im);
    *held += ltp_import_cost(l) + (im->got.cap + im->acked.cap) * sizeof *im->got.at +
             im->history_cap * sizeof *im->history;
    list_for_each (it, &im->reports) {
        const struct report *r = container_of(it, struct report, in_import);
        assert(r->count <= r->room);
        *held += sizeof *r + r->room * sizeof r->claims[0] + REPORT_COST;
    }
}

static void check_sessions(const struct ltp *l)
{
    size_t exports = 0, imports = 0, promised = 0;
    uint64_t held = 0, noted = 0;
    for (struct hash_node *n = hash_walk(&l->sessions, NULL); n != NULL;
         n = hash_walk(&l->sessions, n)) {
        const struct session *s = container_of(n, struct session, node);
        assert(s->memory != NULL && ltp_session_find(l, s->id, s->is_export) == s);
        assert(ltp_closed_find(l, s->id, s->is_export) == NULL);
        promised += s->promised;
        if (s->is_export)
            check_export(container_of(s, struct export_session, s), &noted);
        else
            check_import(l, container_of(s, struct import, s), &held);
        exports += s->is_export ? 1 : 0;
        imports += s->is_export ? 0 : 1;
    }
    for (size_t i = 0; i < l->notice_len; i++) {
        const struct buf *b = l->notices[(l->notice_head + i) & (l->notice_cap - 1)].data;
        held += b == NULL ? 0 : b->cap;
    }
    assert(exports == l->exports && imports == l->imports && held == l->pools[POOL_BYTES].used);
    assert(imports <= l->config.import_sessions);
    if (list_empty(&l->spent)) /* their share is not counted here */
        assert(noted == l->noted && noted <= ltp_noted_max(l));
    assert(held <= l->config.held_bytes);
    assert(promised == l->promised && l->notice_len + promised <= l->notice_cap);
}

static size_t check_fifo(const struct ltp *l, const struct list *all, size_t *n)
{
    size_t cancels = 0;
    list_for_each (it, all) {
        const struct closed *c = container_of(it, struct closed, fifo);
        (*n)++;
        assert((c->peer->unconfigured != NULL) == (all == &l->unconfigured.closed));
        assert(c->unheard == (all == &l->unheard) && (!c->unheard || c->cancel == NULL));
        if (c->cancel == NULL)
            continue;
        cancels++;
        assert(c->cancel->session == c);
        assert(list_empty(&c->cancel->queue) != list_empty(&c->cancel->timer.in_peer));
    }
    return cancels;
}

static void check_closed(const struct ltp *l)
{
    size_t named = 0, unconfigured = 0;
    size_t unheard = 0, cancels = check_fifo(l, &l->closed_fifo, &named);
    cancels += check_fifo(l, &l->unheard, &unheard);
    assert(unheard == l->unheard_len && unheard <= ltp_closed_quarter(l));
    size_t of_unconfigured = check_fifo(l, &l->unconfigured.closed, &unconfigured);
    assert(named + unconfigured + unheard == l->closed.len &&
           unconfigured == l->unconfigured.closed_len);
    assert(named <= l->config.closed_memory);
    assert(unconfigured <= ltp_closed_quarter(l));
    assert(cancels + of_unconfigured == l->cancels && of_unconfigured == l->unconfigured.cancels);
}

static void check_gone(const struct ltp *l)
{
    size_t n = 0, remembered = 0;
    list_for_each (it, &l->gone) {
        const struct peer *p = container_of(it, struct peer, gone);
        assert(list_empty(&p->touched));
        assert(p->unconfigured == NULL && p->remembered > 0 && p->exports + p->imports == 0);
        assert(p->ack_len == 0 && list_empty(&p->cancels) && list_empty(&p->timers));
        assert(list_empty(&p->fresh) && list_empty(&p->held) && list_empty(&p->reports));
        remembered += p->remembered;
        n++;
    }
    for (struct hash_node *i = hash_walk(&l->peers, NULL); i != NULL; i = hash_walk(&l->peers, i)) {
        const struct peer *p = container_of(i, struct peer, node);
        assert(list_empty(&p->gone));
        remembered += p->remembered;
    }
    assert(n == l->gone_len && n <= GONE_MAX && remembered == l->closed.len);
}

static void check_unproven(const struct unproven *u)
{
    size_t claimed_little = 0;
    for (unsigned i = 0; i < UNPROVEN_LISTS; i++) {
        list_for_each (it, &u->list[i]) {
            const struct import *im = container_of(it, struct import, unproven);
            assert(im->unproven_list == i && im->unproven_list <= ltp_unproven_list(im));
            claimed_little += i == UNPROVEN_CLAIMED_LITTLE;
        }
    }
    assert(claimed_little == u->claimed_little);
}

static void check_unconfigured(const struct ltp *l)
{
    size_t n = 0, imports = 0;
    check_unproven(&l->unconfigured.unproven);
    for (uint32_t i = 0; l->unconfigured.at != NULL && i < l->config.unconfigured_max; i++) {
        const struct unconfigured *g = l->unconfigured.at[i];
        if (g == NULL)
            continue;
        n++;
        imports += g->peer.imports;
        assert(g->place == i && g->peer.unconfigured == g && g->peer.up && g->peer.exports == 0);
        assert(ltp_peer_peek(l, g->peer.span.peer) == &g->peer);
        assert(!ltp_has_output(l, g->peer.span.peer) || !list_empty(&g->ready));
    }
    assert(n == l->counters.unconfigured && n + l->named == l->peers.len &&
           imports == l->unconfigured.imports);
    assert(imports <= l->config.unconfigured_sessions &&
           l->unconfigured.shares[POOL_BYTES].used <= l->config.unconfigured_bytes);
}

static void check_peer(const struct ltp *l, const struct peer *p, size_t *running, size_t *sourced)
{
    assert(p->ack_len <= p->ack_cap && p->ack_cap <= ACKS_MAX);
    assert(p->source_match <= p->source_len && (p->unconfigured == NULL || p->source_match == 0));
    assert(p->silent || list_empty(&p->held));
    list_for_each (it, &p->held) {
        const struct export_session *e = container_of(it, struct export_session, fresh);
        assert(e->s.peer == p && e->next > 0 && e->next < e->length);
    }
    list_for_each (it, &p->timers) {
        const struct timer *t = container_of(it, struct timer, in_peer);
        bool runs = heap_has(&t->node);
        assert(t->peer == p && runs == (p->hears || t->use == USE_DELAY));
        *running += runs ? 1 : 0;
    }
    *sourced += p->source_match > 0;
    check_unproven(&p->unproven);
    (void)l;
}

/* What is owned, and what is promised. */
static void check_pools(const struct ltp *l)
{
    for (int kind = 0; kind < POOL_COUNT; kind++) {
        const struct pool *pool = &l->pools[kind];
        struct share s = l->unconfigured.shares[kind];
        uint64_t owned = s.used, promised = s.promised;
        uint64_t reserved = s.used > s.promised ? s.used : s.promised;
        for (struct hash_node *n = hash_walk(&l->peers, NULL); n != NULL;
             n = hash_walk(&l->peers, n)) {
            s = container_of(n, struct peer, node)->shares[kind];
            owned += s.used;
            promised += s.promised;
            reserved += s.used > s.promised ? s.used : s.promised;
        }
        assert(owned <= pool->used && reserved + pool->used - owned == pool->reserved);
        assert(promised <= pool->max / 2);
    }
    assert(l->pools[POOL_SESSIONS].used == l->imports && l->pools[POOL_CANCELS].used == l->cancels);
    assert(l->unconfigured.shares[POOL_CANCELS].used == l->unconfigured.cancels);
}

void ltp_check(const struct ltp *l)
{
    size_t running = 0, sourced = 0;
    check_sessions(l);
    check_closed(l);
    check_unconfigured(l);
    check_gone(l);
    check_pools(l);
    for (struct hash_node *n = hash_walk(&l->peers, NULL); n != NULL; n = hash_walk(&l->peers, n))
        check_peer(l, container_of(n, struct peer, node), &running, &sourced);
    assert(sourced == l->sourced);
    assert(running == l->heap.len && l->timers >= running && l->heap.cap >= l->timers);
    for (size_t i = 1; i < l->heap.len; i++)
        assert(l->heap.places[(i - 1) / 2].due <= l->heap.places[i].due);
}
