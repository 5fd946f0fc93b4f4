/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver's side of a session. The first data segment opens it. Each segment is checked
 * against the session, copied into its part, and added to the set of ranges. The complete red part
 * is given to the user. Checkpoints are answered (report.c). The session is done when the sender
 * has acknowledged reports that claim all of the red part.
 *
 * What can go wrong: data that contradicts the session, red data after green (RFC 5326 §6.21), an
 * unknown client service, and every limit.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

static struct import *import_new(struct ltp *l, struct peer *peer, const struct ltp_segment *s)
{
    struct import *im = calloc(1, sizeof *im);
    if (im == NULL)
        return NULL;
    if (ltp_timer_init(l, &im->idle, peer, USE_IDLE) < 0) {
        free(im);
        return NULL;
    }
    list_init(&im->reports);
    ltp_part_init(&im->red);
    ltp_part_init(&im->green);
    list_init(&im->deferred);
    list_init(&im->unproven);
    im->s.peer = peer;
    im->s.id = s->id;
    im->s.client_service = s->client_service;
    im->red_len = im->length = im->green_low = EVENT_NONE;
    im->accepted = !peer->span.confirm_import;
    im->ranges_max = peer->span.ranges_max;
    im->rpt_first = ltp_unconfigured_serial(l, peer);
    ltp_held_add(l, peer, ltp_import_cost(l));
    return im;
}

static bool sessions_full(const struct ltp *l, const struct peer *p)
{
    return p->imports >= p->span.import_sessions || ltp_pool_room(l, POOL_SESSIONS, p) == 0 ||
           ltp_held_room(l, p) < ltp_import_cost(l);
}

/* Makes room for one more session of the peer; if necessary it discards another one of the same
 * peer. */
static bool find_room(struct ltp *l, struct peer *p, tick now)
{
    bool full = sessions_full(l, p);
    /* of unconfigured peers any one's would go, which does not help one that has as many as each
     * may have */
    bool own = p->unconfigured != NULL && p->imports >= p->span.import_sessions;
    return !full || (!own && ltp_discard(l, p, now) && !sessions_full(l, p));
}

/* May a first segment of peer p open a session? */
static enum verdict may_open(struct ltp *l, const struct ltp_segment *s, struct peer *p, tick now)
{
    if (p == NULL) {
        l->refused_peer = s->id.originator;
        return VERDICT_UNKNOWN_PEER;
    }
    if (!ltp_service_known(l, s->client_service))
        return VERDICT_NO_CLIENT_SERVICE;
    if (s->offset + s->data.len > p->span.block_max)
        return VERDICT_LIMIT_BYTES;
    /* not cancelled: the sender's checkpoint will arrive again, perhaps when there is room */
    return find_room(l, p, now) ? VERDICT_OK : VERDICT_LIMIT_SESSIONS;
}

/* Is it red data from the middle of a session that may have begun before this engine started? An
 * earlier run of this engine may have claimed the data before it. Session numbers grow, so a
 * session above one whose start was received has begun later than that. */
static bool began_before(const struct ltp *l, const struct ltp_segment *s, const struct peer *p)
{
    return l->config.earlier_life && segment_is_red(s) && s->offset > 0 &&
           (p->begun == EVENT_NONE || s->id.number < p->begun);
}

/* The session of a first segment, or NULL and why not. An unknown sender gets no answer. */
static struct import *open_session(struct ltp *l, const struct ltp_segment *s, struct slice source,
                                   tick now, struct peer **peer, enum verdict *why)
{
    struct closed *over = ltp_closed_find(l, s->id, false);
    bool again = over != NULL;
    if (over != NULL && !ltp_closed_input(l, over, s, now))
        over = NULL;
    struct peer *p = over != NULL ? over->peer : ltp_peer_find(l, s->id.originator);
    bool unknown = p == NULL && ltp_unconfigured_may(l, s->id.originator);
    *peer = p;
    *why = over != NULL ? VERDICT_CLOSED_SESSION
                        : may_open(l, s, unknown ? &l->unconfigured.model.peer : p, now);
    if (p != NULL && *why == VERDICT_OK && !again && began_before(l, s, p)) {
        *why = VERDICT_FORGOTTEN_SESSION;
        ltp_cancel_refuse(l, p, s->id, LTP_SYS_CNCLD, now);
    }
    if (p != NULL && *why == VERDICT_NO_CLIENT_SERVICE)
        ltp_cancel_refuse(l, p, s->id, LTP_UNREACH, now);
    if (p != NULL && *why == VERDICT_LIMIT_BYTES)
        ltp_cancel_refuse(l, p, s->id, LTP_SYS_CNCLD, now);
    if (unknown && *why == VERDICT_OK)
        *why = ltp_unconfigured_admit(l, s->id.originator, source, now, &p);
    *peer = p;
    if (*why != VERDICT_OK)
        return NULL;
    struct import *im = import_new(l, p, s);
    if (im != NULL && ltp_session_open(l, &im->s, l->config.tell_start ? 4 : 3) == 0) {
        im->s.opened = now;
        ltp_unproven_add(l, im, s->data.len, now);
        if (s->offset == 0 && s->id.number < p->begun)
            p->begun = s->id.number;
        if (l->config.tell_start)
            (void)ltp_notice_put(l, &im->s, LTP_IMPORT_START);
        ltp_emit_open(l, &im->s, EVENT_NONE, now);
        return im;
    }
    if (im != NULL)
        ltp_import_free(l, im);
    *why = VERDICT_NO_MEMORY;
    return NULL;
}

static enum verdict examine_red(const struct import *im, const struct ltp_segment *s, uint64_t end)
{
    bool eorp = s->type >= LTP_RED_CP_EORP;
    if (im->green_low != EVENT_NONE && end > im->green_low)
        return VERDICT_MISCOLOURED;
    if (im->red_len != EVENT_NONE && (end > im->red_len || (eorp && end != im->red_len)))
        return VERDICT_INCONSISTENT;
    if (eorp && end < im->red_high)
        return VERDICT_INCONSISTENT;
    if (s->type == LTP_RED_CP_EOB && im->green_low != EVENT_NONE)
        return VERDICT_INCONSISTENT;
    return VERDICT_OK;
}

static enum verdict examine_data(const struct import *im, const struct ltp_segment *s)
{
    uint64_t end = s->offset + s->data.len;
    uint64_t high = im->got.len == 0 ? 0 : im->got.at[im->got.len - 1].hi;
    bool eob = s->type == LTP_RED_CP_EOB || s->type == LTP_GREEN_EOB;
    if (s->client_service != im->s.client_service)
        return VERDICT_INCONSISTENT;
    if (segment_is_red(s)) {
        enum verdict v = examine_red(im, s, end);
        if (v != VERDICT_OK)
            return v;
    } else if (s->offset < im->red_high || (im->red_len != EVENT_NONE && s->offset < im->red_len)) {
        return VERDICT_MISCOLOURED;
    }
    if (im->length != EVENT_NONE && (end > im->length || (eob && end != im->length)))
        return VERDICT_INCONSISTENT;
    if (eob && end < high)
        return VERDICT_INCONSISTENT;
    return VERDICT_OK;
}

/* Reserves memory for one more range, if necessary, so that adding the bytes cannot fail. */
static enum verdict reserve_range(struct ltp *l, struct import *im, uint64_t lo, uint64_t hi)
{
    const struct ranges *got = &im->got;
    size_t i = ranges_find(got, lo), cap = got->cap;
    bool joins = (i > 0 && got->at[i - 1].hi == lo) || (i < got->len && got->at[i].lo <= hi);
    if (joins)
        return VERDICT_OK;
    size_t more = cap == 0 ? 4 : cap;
    if (got->len >= ltp_ranges_max(im->ranges_max, im->red.received + im->green.received) ||
        (got->len == cap && ltp_held_room(l, im->s.peer) < more * sizeof *got->at))
        return VERDICT_LIMIT_RANGES;
    if (ranges_reserve(&im->got, cap == 0 ? more : got->len + 1) < 0)
        return VERDICT_NO_MEMORY;
    ltp_held_add(l, im->s.peer, (got->cap - cap) * sizeof *got->at);
    return VERDICT_OK;
}

/* VERDICT_OK, DUPLICATE, or why the bytes cannot be kept. */
static enum verdict store_data(struct ltp *l, struct import *im, const struct ltp_segment *s)
{
    uint64_t lo = s->offset, hi = lo + s->data.len;
    struct range *last = im->got.len == 0 ? NULL : &im->got.at[im->got.len - 1];
    bool in_order = last != NULL && last->hi == lo;
    if (!in_order && ranges_has(&im->got, lo, hi))
        return ltp_part_same(im, segment_is_red(s), lo, s->data) ? VERDICT_DUPLICATE
                                                                 : VERDICT_INCONSISTENT;
    bool ends = s->type == LTP_GREEN_EOB || s->type == LTP_RED_CP_EORP || s->type == LTP_RED_CP_EOB;
    enum verdict v = in_order ? VERDICT_OK : reserve_range(l, im, lo, hi);
    if (v == VERDICT_OK)
        v = ltp_part_put(l, im, s, ends);
    if (v != VERDICT_OK)
        return v;
    if (PORT_LIKELY(in_order)) {
        last->hi = hi;
        return VERDICT_OK;
    }
    int rc = ranges_add(&im->got, lo, hi, SIZE_MAX);
    assert(rc == 1);
    (void)rc;
    return VERDICT_OK;
}

static void learn_length(struct import *im, const struct ltp_segment *s)
{
    uint64_t end = s->offset + s->data.len;
    if (segment_is_red(s) && end > im->red_high)
        im->red_high = end;
    if (!segment_is_red(s) && s->offset < im->green_low)
        im->green_low = s->offset;
    if (s->type == LTP_RED_CP_EORP || s->type == LTP_RED_CP_EOB)
        im->red_len = end;
    if (s->type == LTP_RED_CP_EOB || s->type == LTP_GREEN_EOB)
        im->length = end;
}

/* §6.9. False: there is no memory to put it together. */
static bool deliver_red(struct ltp *l, struct import *im)
{
    if (im->delivered || im->red_len == EVENT_NONE || !ranges_has(&im->got, 0, im->red_len))
        return true;
    if (!ltp_part_gather(l, im, true))
        return false;
    im->s.peer->hint[1] = im->red_len;
    struct ltp_notice *n = ltp_notice_put(l, &im->s, LTP_BLOCK);
    n->data = ltp_part_take(l, im, true, 0, im->red_len);
    n->red_len = im->red_len;
    n->end = im->length == im->red_len;
    im->delivered = true;
    return true;
}

static bool green_awaited(const struct import *im)
{
    bool has_green =
        im->green_low != EVENT_NONE || (im->red_len != EVENT_NONE && im->length != im->red_len);
    return has_green && !im->green_done;
}

static tick idle_limit(const struct import *im)
{
    const struct ltp_span *span = &im->s.peer->span;
    if (ltp_orange(im) && !im->green_done)
        return span->orange_wait;
    if (im->red_high == 0 && span->green_timeout != 0)
        return span->green_timeout;
    if (span->idle_timeout != 0)
        return span->idle_timeout;
    return span->rto > TICK_NEVER / 10 ? TICK_NEVER : 10 * span->rto;
}

static void watch_idle(struct ltp *l, struct import *im, tick now)
{
    bool needed = green_awaited(im) || ltp_orange(im) || im->s.peer->span.idle_timeout != 0;
    if (needed && list_empty(&im->idle.in_peer))
        ltp_timer_start(l, &im->idle, now, idle_limit(im));
}

/* There is none, or the sender knows that it is here. */
static bool red_over(const struct import *im)
{
    return im->red_high == 0 || (im->delivered && ranges_has(&im->acked, 0, im->red_len));
}

void ltp_import_settle(struct ltp *l, struct import *im, tick now)
{
    ltp_green_progress(l, im);
    bool given = im->green_done && (im->accepted || !ltp_orange(im));
    bool green_over = given || (im->delivered && im->length == im->red_len);
    if (red_over(im) && green_over)
        ltp_import_close(l, im, OUTCOME_DONE, LTP_USR_CNCLD, now);
    else
        watch_idle(l, im, now);
}

/* A peer that was restarted may give a session's number to another block. */
static enum verdict examine_reuse(const struct import *im, const struct ltp_segment *s)
{
    bool ours = s->rpt_serial != 0 && s->rpt_serial >= im->rpt_first &&
                s->rpt_serial - im->rpt_first < im->reported;
    bool far = segment_is_checkpoint(s) && !ours && serials_far(&im->asked_by, s->cp_serial);
    return far ? VERDICT_INCONSISTENT : VERDICT_OK;
}

static enum verdict keep_data(struct ltp *l, struct import *im, const struct ltp_segment *s,
                              tick now)
{
    enum verdict v = examine_reuse(im, s);
    bool other = v != VERDICT_OK;
    if (v == VERDICT_OK)
        v = examine_data(im, s);
    if (v == VERDICT_OK && !segment_is_red(s) && im->green_done)
        v = VERDICT_DUPLICATE;
    else if (v == VERDICT_OK && s->offset + s->data.len > im->s.peer->span.block_max)
        v = VERDICT_LIMIT_BYTES;
    else if (v == VERDICT_OK) {
        v = store_data(l, im, s);
        other = v == VERDICT_INCONSISTENT;
    }
    /* two blocks must not be mixed; both come again, in sessions of their own */
    if (other)
        ltp_import_close(l, im, OUTCOME_CANCELLED_LOCAL, LTP_SYS_CNCLD, now);
    if (v == VERDICT_MISCOLOURED)
        ltp_import_close(l, im, OUTCOME_CANCELLED_LOCAL, LTP_MISCOLORED, now);
    /* §6.22; a later segment without memory is as good as lost, but an empty session would have
     * nothing that ever ends it */
    if (v == VERDICT_LIMIT_BYTES || (v == VERDICT_NO_MEMORY && im->got.len == 0))
        ltp_import_close(l, im, OUTCOME_CANCELLED_LOCAL, LTP_SYS_CNCLD, now);
    return v;
}

static enum verdict absorb_data(struct ltp *l, struct import *im, const struct ltp_segment *s,
                                tick now)
{
    enum verdict v = keep_data(l, im, s, now);
    /* data for which there is no range left counts as lost, but its checkpoint is answered: what
     * the sender then fills in joins ranges */
    if (v != VERDICT_OK && v != VERDICT_DUPLICATE && v != VERDICT_LIMIT_RANGES)
        return v;
    im->arrival = ltp_uptime(im->s.peer, now);
    learn_length(im, s);
    if (segment_is_checkpoint(s))
        serials_note(&im->asked_by, s->cp_serial);
    if (PORT_UNLIKELY(s->header_count > 0))
        ltp_orange_note(im, s);
    if (PORT_UNLIKELY(!list_empty(&im->deferred)) && v == VERDICT_OK)
        ltp_deferred_filled(l, im, now);
    if (PORT_LIKELY(s->type == LTP_RED && im->red_len == EVENT_NONE &&
                    (im->s.peer->span.idle_timeout == 0 || !list_empty(&im->idle.in_peer))))
        return v;
    if (!deliver_red(l, im)) {
        ltp_import_close(l, im, OUTCOME_CANCELLED_LOCAL, LTP_SYS_CNCLD, now);
        return VERDICT_LIMIT_BYTES;
    }
    if (segment_is_checkpoint(s)) {
        enum verdict answer = ltp_report_checkpoint(l, im, s, now);
        if (answer == VERDICT_LIMIT_REPORTS || answer == VERDICT_FORGOTTEN_SESSION) {
            enum ltp_reason reason = answer == VERDICT_LIMIT_REPORTS ? LTP_RLEXC : LTP_SYS_CNCLD;
            ltp_import_close(l, im, OUTCOME_CANCELLED_LOCAL, reason, now);
            return answer;
        }
        v = answer == VERDICT_DUPLICATE || v == VERDICT_LIMIT_RANGES ? v : answer;
    }
    ltp_import_settle(l, im, now);
    return v;
}

enum verdict ltp_import_data(struct ltp *l, const struct ltp_segment *s, struct slice source,
                             tick now, struct peer **peer)
{
    struct import *im = l->last_import;
    if (im == NULL || im->s.id.number != s->id.number || im->s.id.originator != s->id.originator) {
        struct session *open = ltp_session_find(l, s->id, false);
        enum verdict why = VERDICT_OK;
        im = open != NULL ? container_of(open, struct import, s)
                          : open_session(l, s, source, now, peer, &why);
        if (im == NULL)
            return why;
        l->last_import = im;
    }
    *peer = im->s.peer;
    return absorb_data(l, im, s, now);
}

void ltp_import_close(struct ltp *l, struct import *im, enum event_outcome outcome,
                      enum ltp_reason reason, tick now)
{
    if (outcome != OUTCOME_DONE) {
        struct ltp_notice *n = ltp_notice_put(l, &im->s, LTP_IMPORT_CANCELLED);
        n->red_len = im->red_len == EVENT_NONE ? 0 : im->red_len;
        n->reason = reason;
        n->remote = outcome == OUTCOME_CANCELLED_REMOTE;
    }
    ltp_emit_close(l, &im->s, im->length, outcome, reason, now);
    struct closed *memory = im->s.memory;
    im->s.memory = NULL;
    memory->asked = im->asked_by;
    if (im->reported > 0)
        memory->told = (struct serials){im->rpt_first, im->rpt_first + im->reported - 1};
    ltp_closed_add(l, memory, now);
    enum event_orange answer = ltp_orange_answer(im, outcome);
    bool tell = outcome == OUTCOME_CANCELLED_LOCAL || answer != ORANGE_NONE;
    /* a peer must not make us keep cancels without end; its own timers end the session there */
    if (tell && !ltp_cancel_room(l, im->s.peer)) {
        l->counters.cancels_unsent++;
        memory->reason = (uint8_t)reason;
        ltp_cancel_unsaid(l, memory, answer);
    } else if (tell)
        ltp_cancel_begin(l, memory, reason, answer);
    ltp_session_forget(l, &im->s);
    ltp_import_free(l, im);
}

void ltp_import_free(struct ltp *l, struct import *im)
{
    if (l->last_import == im)
        l->last_import = NULL;
    if (l->train.import == im)
        l->train.import = NULL;
    list_for_each_safe (it, &im->reports)
        ltp_report_free(l, container_of(it, struct report, in_import));
    ltp_deferred_free(l, im);
    ltp_unproven_sub(l, im);
    ltp_timer_fini(l, &im->idle);
    ltp_part_drop(l, im, true);
    ltp_part_drop(l, im, false);
    ltp_held_sub(l, im->s.peer,
                 ltp_import_cost(l) + (im->got.cap + im->acked.cap) * sizeof *im->got.at +
                     im->history_cap * sizeof *im->history);
    ranges_fini(&im->got);
    ranges_fini(&im->acked);
    free(im->history);
    free(im);
}

/* The timer is not moved at each arrival, so it may find that it has come too early. */
void ltp_import_idle(struct ltp *l, struct import *im, tick now)
{
    tick due = tick_add(im->arrival, idle_limit(im)), up = ltp_uptime(im->s.peer, now);
    if (due > up) {
        ltp_timer_start(l, &im->idle, now, due - up);
        return;
    }
    ltp_emit_timer(l, im->s.peer, im->s.id, TIMER_IDLE, 0, 1, now);
    if (ltp_orange(im)) {
        ltp_orange_idle(l, im, now);
        return;
    }
    /* Also a delivered red part without further checkpoints: the sender is gone, whether or not the
     * user accepts. Pending reports have their own limit. */
    bool cut_short = im->red_high == 0
                         ? im->length == EVENT_NONE
                         : !red_over(im) && list_empty(&im->reports) && im->deferrals == 0 &&
                               im->s.peer->span.idle_timeout != 0;
    if (green_awaited(im))
        ltp_green_flush(l, im);
    if (cut_short)
        ltp_import_close(l, im, OUTCOME_CANCELLED_LOCAL, LTP_SYS_CNCLD, now);
    else
        ltp_import_settle(l, im, now);
}

int ltp_accept(struct ltp *l, struct ltp_session_id id, tick now)
{
    ltp_export_settle(l);
    struct session *s = ltp_session_find(l, id, false);
    if (s == NULL)
        return HELIO_ENOENT;
    struct import *im = container_of(s, struct import, s);
    if (!ltp_orange(im)) {
        ltp_report_accepted(l, im, now);
    } else if (im->green_done) {
        im->accepted = true;
        ltp_import_settle(l, im, now);
    }
    return 0;
}
