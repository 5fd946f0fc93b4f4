/* SPDX-License-Identifier: Apache-2.0 */
/* What each row counts in its session. Only memory can run out. */
#include "tools/analyze/analyze_checkpoint.h"

#include <assert.h>

#include "base/err.h"
#include "tools/analyze/analyze_flow.h"

static bool is_checkpoint(int type)
{
    return type >= 1 && type <= 3;
}

static int sender_sent(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    assert(s->sender_log && e->kind == EVENT_TX);
    if (e->type >= 8)
        return 0;
    uint64_t length = e->length != EVENT_NONE ? e->length : 0;
    bool again = e->cause != CAUSE_FIRST;
    s->first_tx = s->first_tx == TICK_NEVER ? e->now : s->first_tx;
    s->red |= e->type < 4;
    s->green |= e->type >= 4;
    s->orange |= e->orange == ORANGE_ASKS;
    s->last_sent = e->now;
    s->segments_sent++;
    s->bytes_sent += e->udp_len != EVENT_NONE ? e->udp_len : 0;
    s->data_sent += length;
    if (again) {
        s->segments_resent++;
        s->data_resent += length;
    } else {
        s->last_tx = e->now;
    }
    if ((e->type == 2 || e->type == 3) && e->offset != EVENT_NONE)
        s->red_bytes = e->offset + length;
    assert(s->segments_resent <= s->segments_sent);
    struct series_bin *bin = analyze_bin(a, s->path, e->now);
    if (bin != NULL) {
        bin->tx_bytes += length;
        bin->resent_bytes += again ? length : 0;
        bin->cp_sent += is_checkpoint(e->type);
    }
    if (e->cause == CAUSE_REPORT && is_checkpoint(e->type) &&
        !rounds_sent(&s->rounds, e->cp_serial, e->rpt_serial))
        return HELIO_ENOMEM;
    return is_checkpoint(e->type) ? analyze_cp_sent(s, e) : 0;
}

static int sender_got(struct analyze_session *s, const struct event *e)
{
    assert(s->sender_log && e->kind == EVENT_RX);
    if (e->type != 8)
        return 0;
    s->reports_received++;
    bool gaps = e->claimed_bytes != EVENT_NONE && e->rs_upper != EVENT_NONE &&
                e->rs_lower != EVENT_NONE && e->claimed_bytes < e->rs_upper - e->rs_lower;
    s->gaps |= gaps;
    if (e->verdict != VERDICT_OK)
        return 0;
    if (!rounds_reported(&s->rounds, e->cp_serial, e->rpt_serial))
        return HELIO_ENOMEM;
    if (gaps) {
        s->gap_report = e->rpt_serial;
        s->gap_time = e->now;
    }
    struct analyze_cp *c = analyze_cp_find(s, e->cp_serial);
    if (c == NULL || c->answered || c->first == TICK_NEVER || e->now < c->first)
        return 0;
    c->answered = true;
    if (c->timeouts == 0) {
        hist_add(&s->path->response, e->now - c->first);
        if (c->begin != TICK_NEVER && e->now >= c->begin)
            hist_add(&s->path->cycle, e->now - c->begin);
    }
    return 0;
}

/* A checkpoint may be accepted for what it asks, though its bytes were there: a copy of the block's
 * last byte, say. 1: the segment brought bytes, 0: none, HELIO_ENOMEM. */
static int note_bytes(struct analyze_session *s, const struct event *e)
{
    if (e->verdict != VERDICT_OK)
        return 0;
    if (e->offset == EVENT_NONE || e->length == EVENT_NONE || e->offset > UINT64_MAX - e->length)
        return 1;
    int rc = ranges_add(&s->arrived, e->offset, e->offset + e->length, ANALYZE_RANGES_MAX);
    return rc == HELIO_EAGAIN ? 1 : rc;
}

static int receiver_got(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    assert(s->receiver_log && e->kind == EVENT_RX);
    if (e->type >= 8)
        return 0;
    uint64_t length = e->length != EVENT_NONE ? e->length : 0;
    int rc = note_bytes(s, e);
    if (rc < 0)
        return rc;
    bool is_new = rc == 1;
    s->red |= e->type < 4;
    s->green |= e->type >= 4;
    s->orange |= e->orange == ORANGE_ASKS;
    s->first_rx = s->first_rx == TICK_NEVER ? e->now : s->first_rx;
    s->segments_received++;
    s->duplicates += e->verdict == VERDICT_DUPLICATE || e->verdict == VERDICT_CLOSED_SESSION;
    if (is_new && (e->type < 4 || e->orange == ORANGE_ASKS))
        s->delivered = e->now;
    if ((e->type == 2 || e->type == 3) && e->verdict == VERDICT_OK && e->offset != EVENT_NONE)
        s->red_bytes = e->offset + length;
    /* After a repetition it is not known which one arrived. */
    bool once = s->rto_checkpoint == 0 && !s->gaps;
    if (once && e->offset == 0 && s->first_tx != TICK_NEVER && e->now >= s->first_tx)
        s->path->delay = tick_min(s->path->delay, e->now - s->first_tx);
    if (e->verdict == VERDICT_OK && e->offset != EVENT_NONE) {
        s->out_of_order += e->offset < s->rx_high;
        s->rx_high = e->offset + length > s->rx_high ? e->offset + length : s->rx_high;
    }
    assert(s->segments_received > 0 && s->first_rx != TICK_NEVER);
    struct series_bin *bin = analyze_bin(a, s->path, e->now);
    if (bin != NULL && is_new)
        bin->rx_bytes += length;
    return is_checkpoint(e->type) ? analyze_cp_arrived(s, e) : 0;
}

static int timer_fired(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    assert(e->kind == EVENT_TIMER && s->path != NULL);
    if (e->cause != TIMER_CHECKPOINT)
        return 0;
    struct analyze_cp *c = analyze_cp_find(s, e->cp_serial);
    struct series_bin *bin = analyze_bin(a, s->path, e->now);
    s->rto_checkpoint++;
    if (c != NULL)
        c->timeouts++;
    if (bin != NULL)
        bin->timeouts++;
    return 0;
}

int analyze_at_sender(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    assert(s->sender_log);
    switch (e->kind) {
    case EVENT_TX:
        return sender_sent(a, s, e);
    case EVENT_RX:
        return sender_got(s, e);
    case EVENT_TIMER:
        return timer_fired(a, s, e);
    default:
        return 0;
    }
}

int analyze_at_receiver(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    assert(s->receiver_log);
    if (e->kind == EVENT_RX)
        return receiver_got(a, s, e);
    if (e->kind == EVENT_TIMER)
        s->rto_report += e->cause == TIMER_REPORT;
    else if (e->kind == EVENT_TX && e->type == 8)
        s->rx_high = 0; /* retransmitted data may arrive in any order */
    return 0;
}

int analyze_dropped(struct analyze *a, struct analyze_session *s, const struct drop_event *d)
{
    assert(s->path != NULL);
    if (!drop_is_loss(d) || d->type >= 8)
        return 0;
    struct series_bin *bin = analyze_bin(a, s->path, d->now);
    if (bin != NULL)
        bin->drops++;
    s->dropped++;
    if (!is_checkpoint(d->type))
        return 0;
    analyze_cp_dropped(s, d->cp_serial);
    return 0;
}
