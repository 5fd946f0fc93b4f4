/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver's reports (RFC 5326 §6.8, §6.11, §6.14). A checkpoint causes one report for its
 * scope, or several if one cannot hold all claims. Each has its own serial number and timer, and is
 * repeated until it is acknowledged. So each loss recovers by itself: a lost report by its timer
 * (or when the checkpoint arrives again), a lost acknowledgement likewise, a lost checkpoint by the
 * sender's timer.
 *
 * What can go wrong: the limits of reports and memory (then the checkpoint is ignored, and its
 * retransmission is a new try), and the retry limit, which cancels the session.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"
#include "ltp/sdnv.h"

#define ANSWERS_AGAIN 2

/* The next transmission is a copy, or a retransmission if no acknowledgement arrives. */
void ltp_report_sent(struct ltp *l, struct report *r, tick now)
{
    const struct peer *p = r->timer.peer;
    tick rto = ltp_rto(p, &p->report_rtt, r->fired + 1);
    bool copy = r->copies_left > 0 && p->span.recovery.copy_spacing < rto;
    if (!copy)
        r->copies_left = 0;
    r->last_sent = now;
    if (r->sent == 1)
        r->first_sent = now;
    ltp_timer_start(l, &r->timer, now, copy ? p->span.recovery.copy_spacing : rto);
}

static void measure_report(const struct report *r, tick now)
{
    assert(r->sent > 0 && r->first_sent <= r->last_sent);
    struct peer *p = r->timer.peer;
    if (p->up && p->hears && r->first_sent >= p->up_since)
        ltp_rtt_answered(p, &p->report_rtt, now - r->first_sent, now - r->last_sent, r->fired > 0);
}

static void queue_report(struct ltp *l, struct report *r, enum event_reason cause)
{
    ltp_timer_stop(l, &r->timer);
    r->timer.use = USE_REPORT;
    if (!list_empty(&r->queue))
        return;
    r->cause = (uint8_t)cause;
    assert(r->import != NULL);
    list_add_tail(&r->import->s.peer->reports, &r->queue);
    ltp_peer_touch(l, r->import->s.peer);
}

/* Memory that counts as held, including the timer's place in the heap. */
static size_t held_by(size_t claims)
{
    return sizeof(struct report) + claims * sizeof(struct range) + REPORT_COST;
}

void ltp_report_free(struct ltp *l, struct report *r)
{
    assert(r->count <= r->room);
    list_sub(&r->in_import);
    list_sub(&r->queue);
    ltp_timer_fini(l, &r->timer);
    ltp_held_sub(l, r->import->s.peer, held_by(r->room));
    free(r);
}

/* A report's length without its claims. */
static size_t head_size(const struct import *im, struct range scope, uint64_t serial,
                        uint64_t cp_serial, uint64_t claims)
{
    return 2 + sdnv_len(im->s.id.originator) + sdnv_len(im->s.id.number) + sdnv_len(serial) +
           sdnv_len(cp_serial) + sdnv_len(scope.hi) + sdnv_len(scope.lo) + sdnv_len(claims) +
           im->s.peer->ext_len + im->s.peer->tail_len;
}

/* How many ranges of [at, upper), from index i, fit one report; at least 1. */
static size_t claims_that_fit(const struct import *im, size_t i, uint64_t at, uint64_t upper,
                              uint64_t serial, uint64_t cp_serial)
{
    const struct ltp_span *span = &im->s.peer->span;
    struct range scope = {at, upper};
    size_t size = head_size(im, scope, serial, cp_serial, span->claims_max);
    size_t n = 0;
    for (; i + n < im->got.len && im->got.at[i + n].lo < upper && n < span->claims_max; n++) {
        struct range r = im->got.at[i + n];
        size += sdnv_len(r.lo > at ? r.lo - at : 0) + sdnv_len(r.hi - r.lo);
        if (n > 0 && size > span->segment_max)
            break;
    }
    return n;
}

static struct report *report_alloc(struct ltp *l, struct import *im, uint64_t serial,
                                   uint64_t cp_serial, size_t n)
{
    assert(n <= im->got.len || n <= im->s.peer->span.claims_max);
    struct report *r = calloc(1, sizeof *r + n * sizeof r->claims[0]);
    if (r == NULL)
        return NULL;
    if (ltp_timer_init(l, &r->timer, im->s.peer, USE_REPORT) < 0) {
        free(r);
        return NULL;
    }
    list_init(&r->in_import);
    list_init(&r->queue);
    r->import = im;
    r->serial = serial;
    r->cp_serial = cp_serial;
    r->copies_left = im->s.peer->span.recovery.report_copies;
    r->count = r->room = n;
    ltp_held_add(l, im->s.peer, held_by(n));
    return r;
}

/* The report that begins at `at`. It ends where its last claim does, so that the gap after it is in
 * the scope of the next, or at upper. */
static struct report *report_new(struct ltp *l, struct import *im, uint64_t serial,
                                 uint64_t cp_serial, struct range scope)
{
    assert(scope.lo < scope.hi);
    size_t i = ranges_find(&im->got, scope.lo);
    size_t n = claims_that_fit(im, i, scope.lo, scope.hi, serial, cp_serial);
    struct report *r = report_alloc(l, im, serial, cp_serial, n);
    if (r == NULL)
        return NULL;
    r->lower = scope.lo;
    for (size_t k = 0; k < n; k++) {
        struct range got = im->got.at[i + k];
        r->claims[k].lo = got.lo < scope.lo ? scope.lo : got.lo;
        r->claims[k].hi = got.hi > scope.hi ? scope.hi : got.hi;
    }
    bool more = i + n < im->got.len && im->got.at[i + n].lo < scope.hi;
    r->upper = more ? r->claims[n - 1].hi : scope.hi;
    assert(r->upper > r->lower && r->upper <= scope.hi);
    return r;
}

/* What one more report can take: itself, and the history growing. */
static size_t most_memory(const struct import *im)
{
    size_t history = im->reported < im->history_cap ? 0 : 4 + im->history_cap;
    size_t claims = im->s.peer->span.claims_max;
    claims = im->got.len < claims ? im->got.len : claims;
    return held_by(claims) + history * sizeof *im->history;
}

static int note_report(struct ltp *l, struct import *im, const struct report *r)
{
    assert(im->reported <= im->history_cap);
    if (im->reported >= REPORTS_MAX)
        return HELIO_EAGAIN;
    if (im->reported == im->history_cap) {
        size_t cap = im->history_cap == 0 ? 4 : im->history_cap * 2;
        struct reported *grown = realloc(im->history, cap * sizeof *grown);
        if (grown == NULL)
            return HELIO_ENOMEM;
        im->history = grown;
        ltp_held_add(l, im->s.peer, (cap - im->history_cap) * sizeof *grown);
        im->history_cap = cap;
    }
    im->history[im->reported++] = (struct reported){.cp_serial = r->cp_serial, .lower = r->lower};
    assert(im->reported > 0 && im->reported <= REPORTS_MAX);
    return 0;
}

/* All reports on a scope, or none: a part of them would stop the checkpoint's timer. */
static int make_report(struct ltp *l, struct import *im, uint64_t cp_serial, struct range scope)
{
    size_t before = im->reported;
    struct list made;
    list_init(&made);
    int rc = 0;
    while (scope.lo < scope.hi) {
        if (ltp_held_room(l, im->s.peer) < most_memory(im)) {
            rc = HELIO_ESPACE;
            goto undo;
        }
        struct report *r = report_new(l, im, im->rpt_first + im->reported, cp_serial, scope);
        rc = r == NULL ? HELIO_ENOMEM : note_report(l, im, r);
        if (r != NULL)
            list_add_tail(&made, &r->in_import);
        if (rc < 0)
            goto undo;
        scope.lo = r->upper;
    }
    list_for_each_safe (it, &made) {
        struct report *r = container_of(it, struct report, in_import);
        list_sub(it);
        list_add_tail(&im->reports, it);
        queue_report(l, r, CAUSE_FIRST);
    }
    assert(list_empty(&made) && im->reported >= before);
    return 0;
undo:
    list_for_each_safe (it, &made)
        ltp_report_free(l, container_of(it, struct report, in_import));
    im->reported = before;
    return rc;
}

/* A copy of the checkpoint that arrived with it, or shortly after, need not be answered: the
 * report's acknowledgement may also be in transmission. If that time is unknown, or not used, two
 * copies are answered; then only the timer repeats the report. */
static bool too_soon(const struct report *r, tick now)
{
    const struct peer *p = r->timer.peer;
    if (r->sent == 0)
        return false;
    if (!p->span.recovery.rto_auto || p->report_rtt.latest == 0)
        return r->again >= ANSWERS_AGAIN;
    return now - r->last_sent <= p->report_rtt.smooth + p->report_rtt.deviation;
}

/* An answered checkpoint arrives again: its reports are repeated, unless they were acknowledged. */
static void answer_again(struct ltp *l, struct import *im, uint64_t cp_serial, tick now)
{
    list_for_each (it, &im->reports) {
        struct report *r = container_of(it, struct report, in_import);
        if (r->cp_serial != cp_serial || too_soon(r, now))
            continue;
        r->again++;
        queue_report(l, r, CAUSE_ANSWER);
    }
}

static struct report *find_report(const struct import *im, uint64_t serial)
{
    list_for_each (it, &im->reports) {
        struct report *r = container_of(it, struct report, in_import);
        if (r->serial == serial)
            return r;
    }
    return NULL;
}

/* What the report claimed is known to have been heard. The memory that this takes is less than what
 * the report gives back, but when the set grows by doubling. */
static enum verdict note_acked(struct ltp *l, struct import *im, const struct report *r)
{
    assert(r->sent > 0);
    size_t cap = im->acked.cap, most = 2 * (im->acked.len + r->count);
    size_t growth = most > cap ? (most - cap) * sizeof *im->acked.at : 0;
    if (growth > held_by(r->room) && ltp_held_room(l, im->s.peer) < growth - held_by(r->room))
        return VERDICT_LIMIT_RANGES;
    /* all or nothing: what was added without the report being freed could exceed the limit */
    int rc = ranges_reserve(&im->acked, im->acked.len + r->count);
    for (size_t i = 0; i < r->count && rc >= 0; i++)
        rc = ranges_add(&im->acked, r->claims[i].lo, r->claims[i].hi, SIZE_MAX);
    ltp_held_add(l, im->s.peer, (im->acked.cap - cap) * sizeof *im->acked.at);
    return rc < 0 ? VERDICT_NO_MEMORY : VERDICT_OK;
}

/* A segment that names a report proves its arrival, even if the acknowledgement was lost. */
static void take_answered(struct ltp *l, struct import *im, uint64_t serial)
{
    struct report *r = find_report(im, serial);
    if (r == NULL || r->sent == 0)
        return;
    ltp_unconfigured_verified(im->s.peer);
    if (note_acked(l, im, r) == VERDICT_OK)
        ltp_report_free(l, r);
}

/* §6.11: the scope of a secondary report begins where that of the report did which the checkpoint
 * answers; primary reports follow one another. */
struct range ltp_report_scope(const struct import *im, const struct asking *q)
{
    struct range scope = {.lo = q->whole ? 0 : im->primary_upper, .hi = q->upper};
    uint64_t answered = q->rpt_serial - im->rpt_first;
    if (q->rpt_serial != 0)
        scope.lo = q->rpt_serial >= im->rpt_first && answered < im->reported
                       ? im->history[answered].lower
                       : 0;
    return scope;
}

enum verdict ltp_report_answer(struct ltp *l, struct import *im, const struct asking *q)
{
    if (im->delivered && !im->accepted) {
        bool again = im->asked == q->cp_serial; /* a copy of it arrived before the user's answer */
        im->asked = q->cp_serial;
        im->asked_at = q->since;
        return again ? VERDICT_DUPLICATE : VERDICT_OK;
    }
    struct range scope = ltp_report_scope(im, q);
    if (scope.lo >= scope.hi)
        return VERDICT_DUPLICATE;
    int rc = make_report(l, im, q->cp_serial, scope);
    if (rc == HELIO_EAGAIN)
        return VERDICT_LIMIT_REPORTS;
    if (rc < 0)
        return rc == HELIO_ESPACE ? VERDICT_LIMIT_BYTES : VERDICT_NO_MEMORY;
    if (q->rpt_serial == 0)
        im->primary_upper = scope.hi;
    return VERDICT_OK;
}

enum verdict ltp_report_checkpoint(struct ltp *l, struct import *im, const struct ltp_segment *s,
                                   tick now)
{
    if (s->rpt_serial != 0)
        take_answered(l, im, s->rpt_serial);
    for (size_t i = im->reported; i > 0; i--) {
        if (im->history[i - 1].cp_serial == s->cp_serial) {
            answer_again(l, im, s->cp_serial, now);
            return VERDICT_DUPLICATE;
        }
    }
    /* a report of an earlier run of this engine, which the sender may still rely on */
    bool issued = s->rpt_serial >= im->rpt_first && s->rpt_serial - im->rpt_first < im->reported;
    if (issued)
        ltp_unproven_sub(l, im);
    if (s->rpt_serial != 0 && !issued && !im->delivered)
        return VERDICT_FORGOTTEN_SESSION;
    if (ltp_deferred_has(im, s->cp_serial))
        return VERDICT_DUPLICATE;
    struct asking q = {.cp_serial = s->cp_serial,
                       .rpt_serial = s->rpt_serial,
                       .upper = s->offset + s->data.len,
                       .since = now};
    tick wait = im->delivered && !im->accepted ? 0 : ltp_defer_time(im, &q);
    return wait > 0 ? ltp_defer(l, im, &q, now, wait) : ltp_report_answer(l, im, &q);
}

/* The red part is whole and the user's: one claim says so, whichever checkpoints had asked. When
 * there is no memory for it, it is the answer to the repetition of one. */
void ltp_report_accepted(struct ltp *l, struct import *im, tick now)
{
    if (im->delivered && !im->accepted && im->asked != 0) {
        tick due = tick_add(im->asked_at, im->s.peer->span.report_delay);
        struct asking q = {
            .cp_serial = im->asked, .upper = im->red_len, .whole = true, .since = im->asked_at};
        im->accepted = true;
        if (due > now)
            (void)ltp_defer(l, im, &q, now, due - now);
        else
            (void)ltp_report_answer(l, im, &q);
    }
    if (im->delivered)
        im->accepted = true;
}

/* §6.14 */
enum verdict ltp_report_ack(struct ltp *l, const struct ltp_segment *s, tick now,
                            struct peer **peer)
{
    struct session *open = ltp_session_find(l, s->id, false);
    if (open == NULL) {
        const struct closed *c = ltp_closed_find(l, s->id, false);
        *peer = c != NULL ? c->peer : NULL;
        if (c != NULL)
            ltp_rtt_needless(c->peer, &c->peer->report_rtt);
        return c != NULL ? VERDICT_CLOSED_SESSION : VERDICT_UNKNOWN_SESSION;
    }
    struct import *im = container_of(open, struct import, s);
    *peer = im->s.peer;
    im->arrival = ltp_uptime(im->s.peer, now);
    struct report *r = find_report(im, s->rpt_serial);
    if (r == NULL) {
        bool past = s->rpt_serial >= im->rpt_first && s->rpt_serial - im->rpt_first < im->reported;
        if (past)
            ltp_rtt_needless(im->s.peer, &im->s.peer->report_rtt);
        return past ? VERDICT_DUPLICATE : VERDICT_INCONSISTENT;
    }
    if (r->sent == 0)
        return VERDICT_INCONSISTENT;
    ltp_unconfigured_verified(im->s.peer);
    enum verdict v = note_acked(l, im, r);
    if (v != VERDICT_OK)
        return v;
    measure_report(r, now);
    ltp_report_free(l, r);
    ltp_import_settle(l, im, now);
    return VERDICT_OK;
}

void ltp_report_expire(struct ltp *l, struct report *r, tick now)
{
    assert(list_empty(&r->queue) && r->sent > 0);
    struct import *im = r->import;
    if (r->copies_left > 0) {
        r->copies_left--;
        queue_report(l, r, CAUSE_PROACTIVE);
        return;
    }
    ltp_emit_timer(l, im->s.peer, im->s.id, TIMER_REPORT, r->serial, r->sent, now);
    if (++r->fired > im->s.peer->span.retries_max)
        ltp_import_close(l, im, OUTCOME_CANCELLED_LOCAL, LTP_RLEXC, now);
    else {
        r->again = 0;
        r->copies_left = im->s.peer->span.recovery.report_copies;
        queue_report(l, r, CAUSE_TIMER);
    }
}

/* How many of its claims fit a segment. */
static size_t claims_within(const struct report *r, uint32_t segment_max)
{
    struct range scope = {r->lower, r->upper};
    size_t size = head_size(r->import, scope, r->serial, r->cp_serial, r->count), n = 0;
    uint64_t at = r->lower;
    for (; n < r->count; n++) {
        size += sdnv_len(r->claims[n].lo - at) + sdnv_len(r->claims[n].hi - r->claims[n].lo);
        if (n > 0 && size > segment_max)
            break;
    }
    assert(n <= r->count);
    return n;
}

/* One serial number must always have the same content, because senders distinguish our runs by it.
 * So a report that was sent and must change gets a new number. An acknowledgement of the former one
 * is then late. */
static int renumber_report(struct ltp *l, struct report *r)
{
    struct import *im = r->import;
    uint64_t serial = im->rpt_first + im->reported;
    if (r->sent == 0)
        return 0;
    if (ltp_held_room(l, im->s.peer) < most_memory(im))
        return HELIO_ENOMEM;
    int rc = note_report(l, im, r);
    if (rc < 0)
        return rc;
    assert(im->reported > 0 && serial != r->serial);
    r->serial = serial;
    r->sent = 0;
    queue_report(l, r, CAUSE_FIRST);
    return 0;
}

/* The last claims become a report of their own. */
static int divide_report(struct ltp *l, struct report *r, size_t first)
{
    assert(first > 0 && first < r->count);
    struct import *im = r->import;
    size_t n = r->count - first;
    if (ltp_held_room(l, im->s.peer) < most_memory(im) + held_by(n))
        return HELIO_ENOMEM;
    struct report *rest = report_alloc(l, im, im->rpt_first + im->reported, r->cp_serial, n);
    if (rest == NULL)
        return HELIO_ENOMEM;
    rest->lower = r->claims[first - 1].hi;
    rest->upper = r->upper;
    memcpy(rest->claims, &r->claims[first], n * sizeof rest->claims[0]);
    int rc = note_report(l, im, rest);
    if (rc < 0) {
        ltp_report_free(l, rest);
        return rc;
    }
    assert(rest->lower < rest->upper && rest->count == n);
    r->count = first;
    r->upper = rest->lower;
    list_add_tail(&im->reports, &rest->in_import);
    queue_report(l, rest, CAUSE_FIRST);
    return 0;
}

int ltp_reports_fit(struct ltp *l, struct import *im, uint32_t segment_max)
{
    /* what is divided is appended, and looked at in its turn */
    list_for_each (it, &im->reports) {
        struct report *r = container_of(it, struct report, in_import);
        if (claims_within(r, segment_max) == r->count)
            continue;
        int rc = renumber_report(l, r);
        size_t n = claims_within(r, segment_max);
        if (rc == 0)
            rc = divide_report(l, r, n);
        if (rc < 0)
            return rc;
    }
    return 0;
}
