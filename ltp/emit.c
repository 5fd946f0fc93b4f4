/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that is counted is counted here, beside the record that the sink gets, so that the log
 * and the counters cannot disagree. Without a sink no record is made.
 */
#include "ltp/engine.h"

#include <assert.h>

static void tell_sink(struct ltp *l, const struct event *e)
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

static void describe_segment(const struct ltp_segment *s, struct event *e)
{
    e->originator = s->id.originator;
    e->session = s->id.number;
    e->has_id = true;
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

static bool claims_all(const struct ltp_segment *s)
{
    struct slice at = s->claims;
    struct range claim;
    uint64_t sum = 0;
    while (segment_claim(s, &at, &claim))
        sum += claim.hi - claim.lo;
    return sum == s->upper - s->lower;
}

static void count_sent(struct ltp_span_counters *n, const struct ltp_segment *s,
                       const struct emit *em)
{
    bool again = em->cause == CAUSE_TIMER || em->cause == CAUSE_PROACTIVE;
    n->output_seg_popped_count++;
    n->output_seg_popped_bytes += em->len;
    if (segment_is_checkpoint(s))
        ++*(again ? &n->output_ckpt_re_xmit_count : &n->output_ckpt_xmit_count);
    if (segment_is_data(s) && em->cause == CAUSE_REPORT) {
        n->output_seg_re_xmit_count++;
        n->output_seg_re_xmit_bytes += s->data.len;
    }
    if (s->type == LTP_RS && em->attempt > 1)
        n->input_ack_re_xmit_count++;
    else if (s->type == LTP_RS)
        ++*(claims_all(s) ? &n->input_pos_ack_xmit_count : &n->input_neg_ack_xmit_count);
    if ((s->type != LTP_CS && s->type != LTP_CR) || em->attempt > 1 ||
        ltp_orange_of(s) != ORANGE_NONE)
        return;
    ++*(s->type == LTP_CS ? &n->output_cancel_xmit_count : &n->input_cancel_xmit_count);
}

static void count_data(struct ltp_span_counters *n, const struct ltp_segment *s, enum verdict v)
{
    uint64_t *to[2];
    switch (v) {
    case VERDICT_OK:
        to[0] = segment_is_red(s) ? &n->input_seg_recv_red_count : &n->input_seg_recv_green_count;
        to[1] = segment_is_red(s) ? &n->input_seg_recv_red_bytes : &n->input_seg_recv_green_bytes;
        break;
    case VERDICT_DUPLICATE:
        to[0] = &n->input_seg_redundant_count;
        to[1] = &n->input_seg_redundant_bytes;
        break;
    case VERDICT_NO_CLIENT_SERVICE:
        to[0] = &n->input_seg_unk_client_count;
        to[1] = &n->input_seg_unk_client_bytes;
        break;
    case VERDICT_MISCOLOURED:
        to[0] = &n->input_seg_miscolor_count;
        to[1] = &n->input_seg_miscolor_bytes;
        break;
    case VERDICT_CLOSED_SESSION:
        to[0] = &n->input_seg_closed_count;
        to[1] = &n->input_seg_closed_bytes;
        break;
    default:
        to[0] = &n->input_seg_stray_count;
        to[1] = &n->input_seg_stray_bytes;
        break;
    }
    ++*to[0];
    *to[1] += s->data.len;
}

static void count_received(struct ltp_span_counters *n, const struct ltp_segment *s, enum verdict v)
{
    bool is_new = v == VERDICT_OK;
    if (segment_is_data(s))
        count_data(n, s, v);
    n->input_ckpt_recv_count += segment_is_checkpoint(s) && (is_new || v == VERDICT_DUPLICATE);
    if (s->type == LTP_RS && is_new)
        ++*(claims_all(s) ? &n->output_pos_ack_recv_count : &n->output_neg_ack_recv_count);
    n->input_cancel_recv_count += s->type == LTP_CS && is_new;
    n->output_cancel_recv_count += s->type == LTP_CR && is_new && ltp_orange_of(s) == ORANGE_NONE;
}

int ltp_span_counters(const struct ltp *l, uint64_t peer, struct ltp_span_counters *out)
{
    const struct peer *p = ltp_peer_peek(l, peer);
    if (p == NULL)
        return HELIO_ENOENT;
    *out = p->n;
    out->current_export_sessions = p->exports;
    out->current_import_sessions = p->imports;
    return 0;
}

int ltp_watch(const struct ltp *l, uint64_t peer, struct ltp_watch *out)
{
    const struct peer *p = ltp_peer_peek(l, peer);
    if (p == NULL)
        return HELIO_ENOENT;
    *out = (struct ltp_watch){.rto = ltp_rto(p, &p->checkpoint_rtt, 1),
                              .round_trip = p->checkpoint_rtt.smooth,
                              .heard = p->heard,
                              .asked = p->asked,
                              .tx_bytes = p->n.output_seg_popped_bytes,
                              .rx_bytes = p->heard_bytes,
                              .resent_bytes = p->resent_bytes,
                              .exports = p->exports,
                              .imports = p->imports};
    assert(out->rto > 0);
    return 0;
}

void ltp_emit_segment(struct ltp *l, const struct ltp_segment *s, const struct emit *em, tick now)
{
    struct ltp_counters *c = &l->counters;
    if (em->kind == EVENT_RX) {
        c->rx[s->type]++;
        c->rx_bytes += em->len;
        c->verdicts[em->cause]++;
        if (em->peer != NULL && em->cause != VERDICT_WRONG_SOURCE) /* that is not the peer's */
            count_received(&em->peer->n, s, (enum verdict)em->cause);
    } else {
        c->tx[s->type]++;
        c->tx_bytes += em->len;
        if (segment_is_data(s) && em->cause != CAUSE_FIRST) {
            c->retransmitted_bytes += s->data.len;
            em->peer->resent_bytes += s->data.len;
        }
        count_sent(&em->peer->n, s, em);
        ltp_peer_asked(em->peer, s, now);
    }
    if (l->config.sink == NULL)
        return;
    struct event e = event_make(em->kind, now);
    e.peer = em->peer == NULL ? EVENT_NONE : em->peer->span.peer;
    e.has_peer = em->peer != NULL;
    e.cause = em->cause;
    e.verdict = em->kind == EVENT_RX ? em->cause : 0;
    e.attempt = em->attempt;
    e.udp_len = em->len;
    describe_segment(s, &e);
    tell_sink(l, &e);
}

void ltp_emit_train(struct ltp *l, struct peer *p, size_t len, uint64_t data_len)
{
    struct ltp_counters *c = &l->counters;
    assert(l->config.sink == NULL && data_len < len);
    c->rx[LTP_RED]++;
    c->rx_bytes += len;
    c->verdicts[VERDICT_OK]++;
    p->n.input_seg_recv_red_count++;
    p->n.input_seg_recv_red_bytes += data_len;
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
    tell_sink(l, &e);
}

static struct event of_session(enum event_kind kind, const struct session *s, tick now)
{
    struct event e = event_make(kind, now);
    e.peer = s->peer->span.peer;
    e.originator = s->id.originator;
    e.session = s->id.number;
    e.has_peer = e.has_id = true;
    e.client_service = s->client_service;
    return e;
}

void ltp_emit_open(struct ltp *l, const struct session *s, uint64_t length, tick now)
{
    if (s->is_export)
        l->counters.opened_export++;
    else
        l->counters.opened_import++;
    if (l->config.sink == NULL)
        return;
    struct event e = of_session(EVENT_OPEN, s, now);
    e.length = length;
    tell_sink(l, &e);
}

void ltp_emit_close(struct ltp *l, const struct session *s, uint64_t length,
                    enum event_outcome outcome, enum ltp_reason reason, tick now)
{
    l->counters.closed[outcome]++;
    if (outcome == OUTCOME_DONE)
        ++*(s->is_export ? &s->peer->n.output_complete_count : &s->peer->n.input_complete_count);
    if (l->config.sink == NULL)
        return;
    struct event e = of_session(EVENT_CLOSE, s, now);
    e.length = length;
    e.cause = (int)outcome;
    if (outcome != OUTCOME_DONE)
        e.cancel_reason = (uint64_t)reason;
    tell_sink(l, &e);
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
    e.has_peer = e.has_id = true;
    e.cause = (int)timer;
    e.attempt = attempt;
    if (timer == TIMER_CHECKPOINT)
        e.cp_serial = serial;
    if (timer == TIMER_REPORT)
        e.rpt_serial = serial;
    tell_sink(l, &e);
}

void ltp_emit_link(struct ltp *l, const struct peer *peer, enum event_link direction, bool up,
                   tick now)
{
    if (l->config.sink == NULL)
        return;
    struct event e = event_make(EVENT_LINK, now);
    e.peer = peer->span.peer;
    e.has_peer = true;
    e.cause = (int)direction + (up ? 1 : 0);
    tell_sink(l, &e);
}
