/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that is counted is counted here, beside the record that the sink gets, so that the log
 * and the counters cannot disagree. Without a sink no record is made.
 */
#include "ltp/engine.h"

static void tell(struct ltp *l, const struct event *e)
{
    l->config.sink(l->config.sink_context, e);
}

static void describe_report(const struct ltp_segment *s, struct event *e)
{
    struct slice at = s->claims;
    struct range claim;
    e->cp_serial = s->cp_serial;
    e->rs_lower = s->lower;
    e->rs_upper = s->upper;
    e->claims = s->claim_count;
    e->claimed_bytes = 0;
    while (segment_claim(s, &at, &claim))
        e->claimed_bytes += claim.hi - claim.lo;
}

static void describe(const struct ltp_segment *s, struct event *e)
{
    e->originator = s->id.originator;
    e->session = s->id.number;
    e->type = s->type;
    if (segment_is_data(s)) {
        e->red = segment_is_red(s);
        e->client_service = s->client_service;
        e->offset = s->offset;
        e->length = s->data.len;
    }
    if (segment_is_checkpoint(s))
        e->cp_serial = s->cp_serial;
    if (segment_is_checkpoint(s) || s->type == LTP_RS || s->type == LTP_RA)
        e->rpt_serial = s->rpt_serial;
    if (s->type == LTP_RS)
        describe_report(s, e);
    e->orange = ltp_orange_of(s);
    if (s->type == LTP_CS || s->type == LTP_CR)
        e->cancel_reason = s->reason;
}

void ltp_emit_segment(struct ltp *l, const struct ltp_segment *s, const struct emit *em, tick now)
{
    struct ltp_counters *c = &l->counters;
    if (em->kind == EVENT_RX) {
        c->rx[s->type]++;
        c->rx_bytes += em->len;
        c->verdicts[em->cause]++;
    } else {
        c->tx[s->type]++;
        c->tx_bytes += em->len;
        if (segment_is_data(s) && em->cause != CAUSE_FIRST)
            c->retransmitted_bytes += s->data.len;
    }
    if (l->config.sink == NULL)
        return;
    struct event e = event_make(em->kind, now);
    e.peer = em->peer;
    e.cause = em->cause;
    e.verdict = em->kind == EVENT_RX ? em->cause : 0;
    e.attempt = em->attempt;
    e.udp_len = em->len;
    describe(s, &e);
    tell(l, &e);
}

void ltp_emit_bad(struct ltp *l, enum verdict verdict, size_t len, tick now)
{
    l->counters.rx_bytes += len;
    l->counters.verdicts[verdict]++;
    if (l->config.sink == NULL)
        return;
    struct event e = event_make(EVENT_RX, now);
    e.cause = e.verdict = (int)verdict;
    e.udp_len = len;
    tell(l, &e);
}

static struct event of_session(enum event_kind kind, const struct session *s, tick now)
{
    struct event e = event_make(kind, now);
    e.peer = s->peer->span.peer;
    e.originator = s->id.originator;
    e.session = s->id.number;
    e.client_service = s->client_service;
    return e;
}

void ltp_emit_open(struct ltp *l, const struct session *s, uint64_t length, tick now)
{
    if (s->export)
        l->counters.opened_export++;
    else
        l->counters.opened_import++;
    if (l->config.sink == NULL)
        return;
    struct event e = of_session(EVENT_OPEN, s, now);
    e.length = length;
    tell(l, &e);
}

void ltp_emit_close(struct ltp *l, const struct session *s, uint64_t length,
                    enum event_outcome outcome, enum ltp_reason reason, tick now)
{
    l->counters.closed[outcome]++;
    if (l->config.sink == NULL)
        return;
    struct event e = of_session(EVENT_CLOSE, s, now);
    e.length = length;
    e.cause = (int)outcome;
    if (outcome != OUTCOME_DONE)
        e.cancel_reason = (uint64_t)reason;
    tell(l, &e);
}

void ltp_emit_timer(struct ltp *l, const struct peer *peer, struct ltp_session_id id,
                    enum event_timer timer, uint64_t serial, uint64_t attempt, tick now)
{
    l->counters.timers[timer]++;
    if (l->config.sink == NULL)
        return;
    struct event e = event_make(EVENT_TIMER, now);
    e.peer = peer->span.peer;
    e.originator = id.originator;
    e.session = id.number;
    e.cause = (int)timer;
    e.attempt = attempt;
    if (timer == TIMER_CHECKPOINT)
        e.cp_serial = serial;
    if (timer == TIMER_REPORT)
        e.rpt_serial = serial;
    tell(l, &e);
}

void ltp_emit_link(struct ltp *l, const struct peer *peer, tick now)
{
    if (l->config.sink == NULL)
        return;
    struct event e = event_make(EVENT_LINK, now);
    e.peer = peer->span.peer;
    e.cause = peer->up ? 1 : 0;
    tell(l, &e);
}
