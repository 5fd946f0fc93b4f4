/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each row counts in its session. Checkpoints are followed one by one: an arrival belongs to
 * the last transmission that can have arrived by then, a drop to the last one before it. What can
 * go wrong: arrivals of what nobody sent (clocks that differ, copies made on the way), and sessions
 * of so many checkpoints that the further ones are only counted.
 */
#include <stdlib.h>

#include "base/err.h"
#include "tools/analyze_flow.h"

static bool is_checkpoint(int type)
{
    return type >= 1 && type <= 3;
}

/* NULL: not there. The latest ones are asked for most. */
static struct analyze_cp *find_cp(const struct analyze_session *s, uint64_t serial)
{
    for (uint32_t i = s->cp_len; i > 0; i--)
        if (s->cp[i - 1].serial == serial)
            return &s->cp[i - 1];
    return NULL;
}

/* 0 or HELIO_ENOMEM; *out is NULL when there are too many to follow. */
static int take_cp(struct analyze_session *s, uint64_t serial, struct analyze_cp **out)
{
    *out = find_cp(s, serial);
    if (*out != NULL || s->cp_len == ANALYZE_SERIALS_MAX)
        return 0;
    if (s->cp_len == s->cp_cap) {
        uint32_t cap = s->cp_cap == 0 ? 2 : 2 * s->cp_cap;
        struct analyze_cp *grown = reallocarray(s->cp, cap, sizeof *grown);
        if (grown == NULL)
            return HELIO_ENOMEM;
        s->cp = grown;
        s->cp_cap = cap;
    }
    *out = &s->cp[s->cp_len++];
    **out = (struct analyze_cp){
        .serial = serial, .first = TICK_NEVER, .last = TICK_NEVER, .begin = TICK_NEVER};
    return 0;
}

/* The bit of a transmission; those beyond the 64th share the last. */
static uint64_t bit(uint32_t n)
{
    return UINT64_C(1) << (n < 63 ? n : 63);
}

static int checkpoint_sent(struct analyze_session *s, const struct event *e)
{
    struct analyze_cp *c;
    int rc = take_cp(s, e->cp_serial, &c);
    s->cp_sent++;
    if (rc != 0 || c == NULL)
        return rc;
    if (c->sent == 0) {
        c->first = e->now;
        if (e->rpt_serial != EVENT_NONE && e->rpt_serial != 0 && e->rpt_serial == s->gap_report)
            c->begin = s->gap_time;
    } else if (e->cause == CAUSE_TIMER && e->now >= c->last) {
        hist_add(&s->path->rto, e->now - c->last);
        s->rto_time += e->now - c->last;
    }
    if (c->early > 0) {
        c->early--;
        c->received |= bit(c->sent);
    }
    if (c->sent == 0 || e->cause != CAUSE_PROACTIVE)
        c->rounds |= bit(c->sent);
    c->at[c->sent % 8] = e->now;
    c->sent++;
    c->last = e->now;
    return 0;
}

static int sender_sent(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    if (e->type >= 8)
        return 0;
    uint64_t length = e->length != EVENT_NONE ? e->length : 0;
    bool again = e->cause != CAUSE_FIRST;
    s->first_tx = s->first_tx == TICK_NEVER ? e->now : s->first_tx;
    s->red |= e->type < 4;
    s->green |= e->type >= 4;
    s->orange |= e->orange == ORANGE_ASKS;
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
    struct series_bin *bin = analyze_bin(a, s->path, e->now);
    if (bin != NULL) {
        bin->tx_bytes += length;
        bin->resent_bytes += again ? length : 0;
        bin->cp_sent += is_checkpoint(e->type);
    }
    if (e->cause == CAUSE_REPORT && s->gap_checkpoint != EVENT_NONE) {
        s->cycles++;
        s->counted_checkpoint = s->gap_checkpoint;
        s->gap_checkpoint = EVENT_NONE;
    }
    return is_checkpoint(e->type) ? checkpoint_sent(s, e) : 0;
}

static void sender_got(struct analyze_session *s, const struct event *e)
{
    if (e->type != 8)
        return;
    s->reports_received++;
    bool gaps = e->claimed_bytes != EVENT_NONE && e->rs_upper != EVENT_NONE &&
                e->rs_lower != EVENT_NONE && e->claimed_bytes < e->rs_upper - e->rs_lower;
    s->gaps |= gaps;
    if (e->verdict != VERDICT_OK)
        return;
    if (gaps) {
        s->gap_report = e->rpt_serial;
        s->gap_time = e->now;
        if (e->cp_serial != s->counted_checkpoint)
            s->gap_checkpoint = e->cp_serial;
    }
    struct analyze_cp *c = find_cp(s, e->cp_serial);
    if (c == NULL || c->answered || c->first == TICK_NEVER || e->now < c->first)
        return;
    c->answered = true;
    if (c->timeouts == 0) {
        hist_add(&s->path->response, e->now - c->first);
        if (c->begin != TICK_NEVER && e->now >= c->begin)
            hist_add(&s->path->cycle, e->now - c->begin);
    }
}

static int checkpoint_arrived(struct analyze_session *s, const struct event *e)
{
    struct analyze_cp *c;
    int rc = take_cp(s, e->cp_serial, &c);
    s->cp_received++;
    if (rc != 0 || c == NULL)
        return rc;
    /* one that was sent too short a time ago is not the one that came */
    tick delay = s->path->delay;
    uint32_t n = c->sent;
    while (n > 1 && n + 7 > c->sent && delay != TICK_NEVER &&
           (e->now < c->at[(n - 1) % 8] || e->now - c->at[(n - 1) % 8] < delay - delay / 8))
        n--;
    while (n > 0 && (c->received & bit(n - 1)) != 0)
        n--;
    if (n > 0)
        c->received |= bit(n - 1);
    else if (c->sent == 0)
        c->early++;
    return 0;
}

static int receiver_got(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    if (e->type >= 8)
        return 0;
    uint64_t length = e->length != EVENT_NONE ? e->length : 0;
    bool new = e->verdict == VERDICT_OK;
    s->red |= e->type < 4;
    s->green |= e->type >= 4;
    s->orange |= e->orange == ORANGE_ASKS;
    s->first_rx = s->first_rx == TICK_NEVER ? e->now : s->first_rx;
    s->segments_received++;
    s->duplicates += e->verdict == VERDICT_DUPLICATE || e->verdict == VERDICT_CLOSED_SESSION;
    if (new && (e->type < 4 || e->orange == ORANGE_ASKS))
        s->delivered = e->now;
    if ((e->type == 2 || e->type == 3) && new && e->offset != EVENT_NONE)
        s->red_bytes = e->offset + length;
    if (e->offset == 0 && s->first_tx != TICK_NEVER && e->now >= s->first_tx)
        s->path->delay = tick_min(s->path->delay, e->now - s->first_tx);
    if (new && e->offset != EVENT_NONE) {
        s->out_of_order += e->offset < s->rx_high;
        s->rx_high = e->offset + length > s->rx_high ? e->offset + length : s->rx_high;
    }
    struct series_bin *bin = analyze_bin(a, s->path, e->now);
    if (bin != NULL && new)
        bin->rx_bytes += length;
    return is_checkpoint(e->type) ? checkpoint_arrived(s, e) : 0;
}

static int timer_fired(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    if (e->cause != TIMER_CHECKPOINT)
        return 0;
    struct analyze_cp *c = find_cp(s, e->cp_serial);
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
    switch (e->kind) {
    case EVENT_TX:
        return sender_sent(a, s, e);
    case EVENT_RX:
        sender_got(s, e);
        return 0;
    case EVENT_TIMER:
        return timer_fired(a, s, e);
    default:
        return 0;
    }
}

int analyze_at_receiver(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    if (e->kind == EVENT_RX)
        return receiver_got(a, s, e);
    if (e->kind == EVENT_TIMER)
        s->rto_report += e->cause == TIMER_REPORT;
    else if (e->kind == EVENT_TX && e->type == 8)
        s->rx_high = 0; /* what is asked for again may come in any place */
    return 0;
}

int analyze_dropped(struct analyze *a, struct analyze_session *s, const struct drop_event *d)
{
    if (!drop_is_loss(d) || d->type >= 8)
        return 0;
    struct series_bin *bin = analyze_bin(a, s->path, d->now);
    if (bin != NULL)
        bin->drops++;
    s->dropped++;
    if (!is_checkpoint(d->type))
        return 0;
    s->cp_dropped++;
    struct analyze_cp *c = find_cp(s, d->cp_serial);
    if (c == NULL || c->sent == 0)
        return 0;
    uint32_t n = c->sent;
    while (n > 1 && (c->dropped & bit(n - 1)) != 0)
        n--;
    c->dropped |= bit(n - 1);
    return 0;
}

/* The longest stretch of ones among the first n bits. */
static uint64_t longest(uint64_t mask, uint32_t n)
{
    uint64_t run = 0, most = 0;
    for (uint32_t i = 0; i < n && i < 64; i++) {
        run = (mask >> i & 1) != 0 ? run + 1 : 0;
        most = run > most ? run : most;
    }
    return most;
}

/* Transmissions that were lost with all their copies. */
static uint64_t rounds_lost(const struct analyze_cp *c, uint64_t lost)
{
    uint64_t n = 0;
    bool all = false;
    for (uint32_t i = 0; i < c->sent && i < 64; i++) {
        bool begins = (c->rounds >> i & 1) != 0;
        n += begins && all;
        all = (begins || all) && (lost >> i & 1) != 0;
    }
    return n + all;
}

uint64_t analyze_cp_waits(const struct analyze_session *s)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->cp_len; i++)
        n +=
            rounds_lost(&s->cp[i], s->basis == BASIS_DROPS ? s->cp[i].dropped : ~s->cp[i].received);
    return s->basis >= BASIS_RECEIVER ? n : s->rto_checkpoint;
}

uint64_t analyze_cp_run(const struct analyze_session *s)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < s->cp_len; i++) {
        const struct analyze_cp *c = &s->cp[i];
        uint64_t run = s->basis == BASIS_DROPS      ? longest(c->dropped, c->sent)
                       : s->basis == BASIS_RECEIVER ? longest(~c->received, c->sent)
                                                    : c->timeouts;
        most = run > most ? run : most;
    }
    return most;
}
