/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender's end: data is sent, reports are received; when the whole red part is claimed and
 * everything is sent, the session is closed. The receiver's end: data is received, reports are
 * sent; when they claim everything and each is acknowledged, it is closed. A checkpoint or report
 * that is repeated had its timer expire, unless the other end requested or answered it, or the
 * repetition is earlier than the timer could be. What can go wrong: captures that begin in the
 * middle, and segments that contradict each other; neither closes a session.
 */
#include "tools/analyze/watch/watch_session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "ltp/segment.h"

#define FORGOTTEN (300 * TICK_S)

struct watch_session *watch_session_new(uint32_t pair, const struct event *e, bool sender)
{
    struct watch_session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    list_init(&s->closed_order);
    s->pair = pair;
    s->originator = e->originator;
    s->number = e->session;
    s->sender = sender;
    s->red_len = s->length = EVENT_NONE;
    return s;
}

static void drop_claims(struct watch_serial *n)
{
    free(n->claim);
    n->claim = NULL;
    n->claims = 0;
}

void watch_session_free(struct watch_session *s)
{
    for (uint32_t i = 0; i < s->serials_len; i++)
        drop_claims(&s->serials[i]);
    ranges_fini(&s->data);
    ranges_fini(&s->claims);
    ranges_fini(&s->acked);
    ranges_fini(&s->heard);
    free(s->serials);
    free(s);
}

struct seglog_row *watch_row_add(struct watch_rows *out, const struct seglog_row *row,
                                 enum event_kind kind)
{
    assert(out->len < WATCH_ROWS_MAX);
    struct seglog_row *r = &out->at[out->len++];
    *r = *row;
    r->event.kind = kind;
    if (kind == EVENT_TX || kind == EVENT_RX)
        return r;
    const struct event *e = &row->event;
    r->event = event_make(kind, e->now);
    r->event.peer = e->peer;
    r->event.originator = e->originator;
    r->event.session = e->session;
    r->event.client_service = e->client_service;
    return r;
}

bool watch_begins(const struct watch_session *known, const struct watch_segment *g, bool sender)
{
    const struct event *e = &g->event;
    if (e->type >= LTP_RS)
        return false;
    /* a number that is used again much later is of a restarted node */
    bool late = known != NULL && known->closed && e->now > known->closed_at &&
                e->now - known->closed_at > FORGOTTEN;
    return (known == NULL || late) && (!sender || e->offset == 0);
}

/* NULL: not there. */
static struct watch_serial *find_serial(const struct watch_session *s, uint64_t serial)
{
    assert(s->serials_len <= s->serials_cap);
    for (uint32_t i = s->serials_len; i > 0; i--)
        if (s->serials[i - 1].serial == serial)
            return &s->serials[i - 1];
    return NULL;
}

/* 0 or HELIO_ENOMEM; *out is NULL when there are too many. */
static int take_serial(struct watch_session *s, uint64_t serial, struct watch_serial **out)
{
    *out = find_serial(s, serial);
    if (*out != NULL || s->serials_len == WATCH_SERIALS_MAX)
        return 0;
    if (s->serials_len == s->serials_cap) {
        uint32_t cap = s->serials_cap == 0 ? 2 : 2 * s->serials_cap;
        struct watch_serial *grown = reallocarray(s->serials, cap, sizeof *grown);
        if (grown == NULL)
            return HELIO_ENOMEM;
        s->serials = grown;
        s->serials_cap = cap;
    }
    assert(s->serials_len < s->serials_cap);
    *out = &s->serials[s->serials_len++];
    **out = (struct watch_serial){.serial = serial};
    return 0;
}

static void close_session(struct watch_session *s, const struct seglog_row *row,
                          struct watch_rows *out, enum event_outcome outcome)
{
    assert(!s->closed);
    struct seglog_row *r = watch_row_add(out, row, EVENT_CLOSE);
    r->event.cause = (int)outcome;
    r->event.length = s->length;
    if (outcome != OUTCOME_DONE)
        r->event.cancel_reason = row->event.cancel_reason;
    s->closed = true;
    s->closed_at = row->event.now;
    for (uint32_t i = 0; i < s->serials_len; i++)
        drop_claims(&s->serials[i]);
    ranges_fini(&s->claims);
    assert(s->closed);
    ranges_fini(&s->acked);
}

/* The lengths that a data segment shows. */
static void learn_event(struct watch_session *s, const struct event *e)
{
    assert(e->type < LTP_RS);
    uint64_t end = e->offset + e->length;
    s->red |= e->type < LTP_GREEN_DATA;
    s->green |= e->type >= LTP_GREEN_DATA;
    s->orange |= e->orange == ORANGE_ASKS;
    if (e->type == LTP_RED_CP_EORP || e->type == LTP_RED_CP_EOB)
        s->red_len = end;
    if (e->type == LTP_RED_CP_EOB || e->type == LTP_GREEN_EOB)
        s->length = end;
}

/* -1: not (all) new; else as ranges_add. */
static int note_range(struct ranges *set, uint64_t lo, uint64_t hi)
{
    int rc = ranges_add(set, lo, hi, WATCH_RANGES_MAX);
    return rc == HELIO_EAGAIN ? 1 : rc;
}

static int note_claims(struct watch_session *s, const struct watch_segment *g)
{
    int rc = 0;
    for (size_t i = 0; i < g->claims && rc >= 0; i++)
        rc = note_range(&s->claims, g->claim[i].lo, g->claim[i].hi);
    return rc < 0 ? rc : 0;
}

static bool red_claimed(const struct watch_session *s)
{
    return !s->red || (s->red_len != EVENT_NONE && ranges_has(&s->claims, 0, s->red_len));
}

static bool all_data(const struct watch_session *s)
{
    return s->length != EVENT_NONE && ranges_has(&s->data, 0, s->length);
}

/* What a repetition of a checkpoint or report was for. */
static enum event_reason why_again(const struct watch_serial *n, tick now, tick rto)
{
    assert(n->count > 0);
    /* an answer follows its question closely; one that is late had its own timer */
    if (n->asked != 0 && now - n->asked <= (now - n->last) / 16)
        return CAUSE_ANSWER;
    if (n->done) /* its timer had stopped: a repetition is closed by a copy of the checkpoint */
        return CAUSE_PROACTIVE;
    bool early = rto != TICK_NEVER && now - n->last < rto / 10 * 9;
    return early ? CAUSE_PROACTIVE : CAUSE_TIMER;
}

/* A checkpoint or a report is sent; the row of its timer precedes it. */
static int serial_sent(struct watch_session *s, uint64_t serial, tick rto, enum event_timer timer,
                       const struct seglog_row *row, struct watch_rows *out, struct event *sent)
{
    struct watch_serial *n;
    int rc = take_serial(s, serial, &n);
    if (rc != 0 || n == NULL)
        return rc;
    if (n->count > 0)
        sent->cause = (int)why_again(n, row->event.now, rto);
    if (n->count > 0 && sent->cause == CAUSE_TIMER) {
        struct seglog_row *r = watch_row_add(out, row, EVENT_TIMER);
        r->event.cause = (int)timer;
        r->event.attempt = n->count;
        r->event.cp_serial = timer == TIMER_CHECKPOINT ? serial : EVENT_NONE;
        r->event.rpt_serial = timer == TIMER_REPORT ? serial : EVENT_NONE;
    }
    n->of = row->event.cp_serial;
    n->asked = 0;
    n->count++;
    n->last = row->event.now;
    assert(n->count > 0 && n->serial == serial);
    sent->attempt = n->count;
    return 0;
}

static int data_sent(struct watch_session *s, const struct watch_segment *g, tick rto,
                     const struct seglog_row *row, struct watch_rows *out)
{
    assert(s->sender && g->event.type < LTP_RS);
    const struct event *e = &g->event;
    struct seglog_row sent = *row;
    int rc = note_range(&s->data, e->offset, e->offset + e->length);
    if (rc < 0)
        return rc;
    sent.event.cause = rc == 1 ? CAUSE_FIRST : CAUSE_REPORT;
    learn_event(s, e);
    if (e->type >= LTP_RED_CP && e->type <= LTP_RED_CP_EOB) {
        rc = serial_sent(s, e->cp_serial, rto, TIMER_CHECKPOINT, row, out, &sent.event);
        if (rc < 0)
            return rc;
    }
    watch_row_add(out, &sent, EVENT_TX);
    if (!s->closed && all_data(s) && red_claimed(s) && !s->orange)
        close_session(s, row, out, OUTCOME_DONE);
    return 0;
}

/* The row of a received segment, and its verdict. */
static void note_arrival(const struct seglog_row *row, struct watch_rows *out, enum verdict verdict)
{
    struct seglog_row *r = watch_row_add(out, row, EVENT_RX);
    r->event.verdict = r->event.cause = (int)verdict;
}

static int report_arrived(struct watch_session *s, const struct watch_segment *g,
                          const struct seglog_row *row, struct watch_rows *out)
{
    assert(g->event.type == LTP_RS);
    const struct event *e = &g->event;
    struct watch_serial *n = find_serial(s, e->cp_serial);
    if (s->closed) {
        note_arrival(row, out, VERDICT_CLOSED_SESSION);
        return 0;
    }
    int rc = note_range(&s->heard, e->rpt_serial, e->rpt_serial + 1);
    bool is_new = rc == 1;
    rc = rc < 0 ? rc : note_claims(s, g);
    if (rc < 0)
        return rc;
    if (n != NULL)
        n->done = true;
    if (is_new && all_data(s) && red_claimed(s))
        close_session(s, row, out, OUTCOME_DONE);
    note_arrival(row, out, is_new ? VERDICT_OK : VERDICT_DUPLICATE);
    return 0;
}

/* The last expiry of a timer cancels the session and sends no segment. */
static void gave_up(const struct watch_session *s, const struct seglog_row *row,
                    struct watch_rows *out)
{
    assert(!s->closed);
    const struct watch_serial *last = NULL;
    for (uint32_t i = 0; i < s->serials_len; i++)
        if (!s->serials[i].done && s->serials[i].count > 0)
            last = &s->serials[i];
    if (row->event.cancel_reason != LTP_RLEXC || last == NULL)
        return;
    struct seglog_row *r = watch_row_add(out, row, EVENT_TIMER);
    r->event.cause = s->sender ? TIMER_CHECKPOINT : TIMER_REPORT;
    r->event.attempt = last->count;
    r->event.cp_serial = s->sender ? last->serial : EVENT_NONE;
    r->event.rpt_serial = s->sender ? EVENT_NONE : last->serial;
}

static bool all_acknowledged(const struct watch_session *s)
{
    for (uint32_t i = 0; i < s->serials_len; i++)
        if (!s->serials[i].done)
            return false;
    return s->serials_len > 0;
}

/* The receiver knows that its sender knows that all of the red part is there: what the reports
 * claim that it has heard is all, or, of a capture that lacks some, there is none that it has not.
 */
static bool red_over(const struct watch_session *s)
{
    if (!s->red || (red_claimed(s) && all_acknowledged(s)))
        return true;
    return s->red_len != EVENT_NONE && ranges_has(&s->acked, 0, s->red_len);
}

/* The sender has heard this report. 0 or HELIO_ENOMEM. */
static int acknowledge_serial(struct watch_session *s, struct watch_serial *n)
{
    assert(!n->done && !s->closed);
    int rc = 0;
    n->done = true;
    for (size_t i = 0; i < n->claims && rc >= 0; i++)
        rc = note_range(&s->acked, n->claim[i].lo, n->claim[i].hi);
    drop_claims(n);
    assert(n->done && n->claim == NULL);
    return rc < 0 ? rc : 0;
}

/* What a report says, for when it is acknowledged. 0 or HELIO_ENOMEM. */
static int keep_claims(struct watch_session *s, const struct watch_segment *g)
{
    assert(g->event.type == LTP_RS);
    struct watch_serial *n = find_serial(s, g->event.rpt_serial);
    if (s->closed || n == NULL || n->done || n->claim != NULL || g->claims == 0)
        return 0;
    n->claim = calloc(g->claims, sizeof *n->claim);
    if (n->claim == NULL)
        return HELIO_ENOMEM;
    memcpy(n->claim, g->claim, g->claims * sizeof *n->claim);
    n->claims = g->claims;
    return 0;
}

static int data_arrived(struct watch_session *s, const struct watch_segment *g,
                        const struct seglog_row *row, struct watch_rows *out)
{
    assert(g->event.type < LTP_RS);
    const struct event *e = &g->event;
    bool checkpoint = e->type >= LTP_RED_CP && e->type <= LTP_RED_CP_EOB;
    int rc = s->closed ? 0 : note_range(&s->data, e->offset, e->offset + e->length);
    bool is_new = rc == 1;
    if (checkpoint && rc >= 0 && !s->closed) {
        rc = note_range(&s->heard, e->cp_serial, e->cp_serial + 1);
        is_new |= rc == 1; /* what it asks for is */
        for (uint32_t i = 0; rc == 0 && i < s->serials_len; i++)
            if (s->serials[i].of == e->cp_serial)
                s->serials[i].asked = e->now;
        /* an answer to a report shows that it arrived, even if its acknowledgement is lost */
        struct watch_serial *answered = e->rpt_serial == 0 ? NULL : find_serial(s, e->rpt_serial);
        if (answered != NULL && !answered->done && rc >= 0)
            rc = acknowledge_serial(s, answered);
    }
    if (rc < 0)
        return rc;
    enum verdict v = s->closed ? VERDICT_CLOSED_SESSION : is_new ? VERDICT_OK : VERDICT_DUPLICATE;
    learn_event(s, e);
    if (!s->closed && all_data(s) && red_over(s))
        close_session(s, row, out, OUTCOME_DONE);
    note_arrival(row, out, v);
    return 0;
}

static int ack_arrived(struct watch_session *s, const struct seglog_row *row,
                       struct watch_rows *out)
{
    assert(row->event.type == LTP_RA);
    struct watch_serial *n = find_serial(s, row->event.rpt_serial);
    enum verdict v = s->closed   ? VERDICT_CLOSED_SESSION
                     : n == NULL ? VERDICT_INCONSISTENT
                     : n->done   ? VERDICT_DUPLICATE
                                 : VERDICT_OK;
    int rc = n != NULL && !s->closed && !n->done ? acknowledge_serial(s, n) : 0;
    if (rc < 0)
        return rc;
    /* claims show what has arrived, also segments that the capture does not have */
    bool green_over = s->length != EVENT_NONE && (s->length == s->red_len || all_data(s));
    if (v == VERDICT_OK && red_over(s) && green_over)
        close_session(s, row, out, OUTCOME_DONE);
    note_arrival(row, out, v);
    return 0;
}

static int report_sent(struct watch_session *s, const struct watch_segment *g, tick rto,
                       const struct seglog_row *row, struct watch_rows *out)
{
    struct seglog_row sent = *row;
    int rc = s->closed ? 0 : note_claims(s, g);
    if (rc == 0)
        rc = serial_sent(s, g->event.rpt_serial, rto, TIMER_REPORT, row, out, &sent.event);
    if (rc == 0)
        rc = keep_claims(s, g);
    if (rc < 0)
        return rc;
    watch_row_add(out, &sent, EVENT_TX);
    return 0;
}

/* What a cancel says became of the session; those of orange blocks are answers. */
static enum event_outcome outcome_of(const struct event *e, bool sent)
{
    if (e->orange == ORANGE_DELIVERED)
        return OUTCOME_DONE;
    if (e->orange == ORANGE_LOST)
        return OUTCOME_LOST;
    return sent ? OUTCOME_CANCELLED_LOCAL : OUTCOME_CANCELLED_REMOTE;
}

int watch_session_input(struct watch_session *s, const struct watch_segment *g, tick rto,
                        const struct seglog_row *row, struct watch_rows *out)
{
    assert(row->event.kind == EVENT_TX || row->event.kind == EVENT_RX);
    int type = g->event.type;
    bool sent = row->event.kind == EVENT_TX;
    if (type < LTP_RS)
        return sent ? data_sent(s, g, rto, row, out) : data_arrived(s, g, row, out);
    if (type == LTP_RS)
        return sent ? report_sent(s, g, rto, row, out) : report_arrived(s, g, row, out);
    bool cancel = type == LTP_CS || type == LTP_CR;
    if (cancel && !s->closed && sent)
        gave_up(s, row, out);
    if (cancel && !s->closed)
        close_session(s, row, out, outcome_of(&row->event, sent));
    if (type == LTP_RA && !sent)
        return ack_arrived(s, row, out);
    if (sent)
        watch_row_add(out, row, EVENT_TX);
    else
        note_arrival(row, out, VERDICT_OK);
    return 0;
}
