/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The happy path: an `open` row makes a session, rows of segments and timers count in it, the
 * `close` rows of those ends that are logged finish it. What can go wrong: logs that begin in the
 * middle (rows without their `open` are only counted), that end in the middle (unfinished
 * sessions), and a receiver's close that never comes (its session is finished a minute of log time
 * later).
 */
#include "tools/analyze.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"

#define CLOSING_MAX (60 * TICK_S)

int analyze_init(struct analyze *a, analyze_taker *take, void *context)
{
    *a = (struct analyze){.take = take, .context = context, .last_row = TICK_NEVER};
    list_init(&a->closing);
    list_init(&a->over);
    return hash_init(&a->sessions, 1);
}

void analyze_fini(struct analyze *a)
{
    struct hash_node *n;
    while ((n = hash_walk(&a->sessions, NULL)) != NULL) {
        hash_sub(&a->sessions, n);
        free(container_of(n, struct analyze_session, node));
    }
    hash_fini(&a->sessions);
    for (size_t i = 0; i < a->flows_len; i++)
        free(a->flows[i]);
}

void analyze_node(struct analyze *a, uint64_t node)
{
    size_t i = 0;
    while (i < a->nodes_len && a->nodes[i] != node)
        i++;
    if (i == a->nodes_len && i < sizeof a->nodes / sizeof a->nodes[0])
        a->nodes[a->nodes_len++] = node;
}

static bool has_node(const struct analyze *a, uint64_t node)
{
    for (size_t i = 0; i < a->nodes_len; i++)
        if (a->nodes[i] == node)
            return true;
    return false;
}

bool analyze_losses_known(const struct analyze_session *s)
{
    return s->sender_log && s->receiver_log;
}

uint64_t analyze_cp_lost(const struct analyze_session *s)
{
    if (!analyze_losses_known(s))
        return s->rto_checkpoint;
    return s->cp_sent > s->cp_received ? s->cp_sent - s->cp_received : 0;
}

bool analyze_lossy(const struct analyze_session *s)
{
    if (!analyze_losses_known(s))
        return s->gaps || s->rto_checkpoint > 0;
    return s->segments_sent > s->segments_received;
}

tick analyze_duration(const struct analyze_session *s)
{
    if (s->sender_closed && s->first_tx != TICK_NEVER && s->closed >= s->first_tx)
        return s->closed - s->first_tx;
    if (!s->sender_log && s->receiver_closed && s->receiver_end >= s->receiver_opened)
        return s->receiver_end - s->receiver_opened;
    return TICK_NEVER;
}

static struct analyze_session *find(struct analyze *a, uint64_t originator, uint64_t number)
{
    for (int i = 0; i < 2; i++) {
        struct analyze_session *s = a->recent[i];
        if (s != NULL && s->number == number && s->originator == originator)
            return s;
    }
    struct hash_node *n = hash_find(&a->sessions, hash_mix(a->sessions.seed, originator, number));
    for (; n != NULL; n = hash_next(n)) {
        struct analyze_session *s = container_of(n, struct analyze_session, node);
        if (s->originator == originator && s->number == number) {
            a->recent[1] = a->recent[0];
            a->recent[0] = s;
            return s;
        }
    }
    return NULL;
}

static struct analyze_session *begin(struct analyze *a, const struct seglog_row *r)
{
    const struct event *e = &r->event;
    struct analyze_session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    list_init(&s->order);
    s->originator = e->originator;
    s->number = e->session;
    s->peer = r->node == e->originator ? e->peer : r->node;
    s->client_service = e->client_service;
    s->block_bytes = EVENT_NONE;
    s->opened = s->first_tx = s->closed = TICK_NEVER;
    s->receiver_opened = s->receiver_end = s->delivered = TICK_NEVER;
    s->outcome = -1;
    s->cancel_reason = s->gap_checkpoint = s->counted_checkpoint = EVENT_NONE;
    hash_add(&a->sessions, &s->node, hash_mix(a->sessions.seed, s->originator, s->number));
    a->open_max = a->sessions.len > a->open_max ? a->sessions.len : a->open_max;
    return s;
}

static struct analyze_flow *flow_of(struct analyze *a, const struct analyze_session *s)
{
    char colour = s->orange ? 'o' : 'g';
    bool none = !s->red && !s->green; /* nothing of it was sent: it goes where the others are */
    if (s->red)
        colour = s->green ? 'm' : 'r';
    for (size_t i = 0; i < a->flows_len; i++) {
        struct analyze_flow *f = a->flows[i];
        if (f->originator == s->originator && f->peer == s->peer && (none || f->colour == colour))
            return f;
    }
    if (a->flows_len == ANALYZE_FLOWS_MAX)
        return a->flows[ANALYZE_FLOWS_MAX - 1];
    struct analyze_flow *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    f->originator = s->originator;
    f->peer = s->peer;
    f->colour = colour;
    f->first_tx = TICK_NEVER;
    hist_init(&f->duration);
    hist_init(&f->delivery);
    a->flows[a->flows_len++] = f;
    return f;
}

static void sum_closed(struct analyze_flow *f, const struct analyze_session *s)
{
    tick duration = analyze_duration(s);
    f->sessions++;
    f->losses_known += analyze_losses_known(s);
    f->cycles += s->cycles;
    f->cp_lost += analyze_cp_lost(s);
    f->lossy += analyze_lossy(s);
    if (duration != TICK_NEVER)
        hist_add(&f->duration, duration);
    if (s->delivered != TICK_NEVER && s->first_tx != TICK_NEVER && s->delivered >= s->first_tx)
        hist_add(&f->delivery, s->delivered - s->first_tx);
    if (s->block_bytes != EVENT_NONE)
        f->done_bytes += s->block_bytes;
    tick end = s->sender_closed ? s->closed : s->receiver_end;
    f->last_close = end > f->last_close ? end : f->last_close;
}

/* Adds the session to its flow, gives it out and forgets it. */
static int finish(struct analyze *a, struct analyze_session *s)
{
    struct analyze_flow *f = flow_of(a, s);
    if (f != NULL) {
        tick from = s->sender_log ? s->first_tx : s->receiver_opened;
        f->first_tx = tick_min(f->first_tx, from);
        f->with_sender += s->sender_log;
        f->with_receiver += s->receiver_log;
        f->cp_sent += s->cp_sent;
        f->rto_checkpoint += s->rto_checkpoint;
        f->rto_report += s->rto_report;
        f->segments_sent += s->segments_sent;
        f->data_sent += s->data_sent;
        f->data_resent += s->data_resent;
        if (s->outcome == OUTCOME_DONE)
            sum_closed(f, s);
        else if (s->outcome == OUTCOME_LOST)
            f->lost++;
        else if (s->outcome >= 0)
            f->cancelled++;
        else
            f->unfinished++;
    }
    if (a->take != NULL)
        a->take(a->context, s);
    for (int i = 0; i < 2; i++)
        a->recent[i] = a->recent[i] == s ? NULL : a->recent[i];
    hash_sub(&a->sessions, &s->node);
    list_sub(&s->order);
    free(s);
    return f != NULL ? 0 : HELIO_ENOMEM;
}

static void sender_sent(struct analyze_session *s, const struct event *e)
{
    if (e->type >= 8)
        return;
    s->first_tx = s->first_tx == TICK_NEVER ? e->now : s->first_tx;
    s->red |= e->type < 4;
    s->green |= e->type >= 4;
    s->orange |= e->orange == ORANGE_ASKS;
    s->segments_sent++;
    s->bytes_sent += e->udp_len != EVENT_NONE ? e->udp_len : 0;
    uint64_t length = e->length != EVENT_NONE ? e->length : 0;
    s->data_sent += length;
    s->data_resent += e->cause != CAUSE_FIRST ? length : 0;
    s->cp_sent += e->type >= 1 && e->type <= 3;
    if (e->cause == CAUSE_REPORT && s->gap_checkpoint != EVENT_NONE) {
        s->cycles++;
        s->counted_checkpoint = s->gap_checkpoint;
        s->gap_checkpoint = EVENT_NONE;
    }
}

static void sender_got(struct analyze_session *s, const struct event *e)
{
    if (e->type != 8)
        return;
    s->reports_received++;
    bool gaps = e->claimed_bytes != EVENT_NONE && e->rs_upper != EVENT_NONE &&
                e->rs_lower != EVENT_NONE && e->claimed_bytes < e->rs_upper - e->rs_lower;
    s->gaps |= gaps;
    if (gaps && e->verdict == VERDICT_OK && e->cp_serial != s->counted_checkpoint)
        s->gap_checkpoint = e->cp_serial;
}

static void receiver_got(struct analyze_session *s, const struct event *e)
{
    if (e->type >= 8)
        return;
    s->red |= e->type < 4;
    s->green |= e->type >= 4;
    s->orange |= e->orange == ORANGE_ASKS;
    s->segments_received++;
    s->cp_received += e->type >= 1 && e->type <= 3;
    if (e->verdict == VERDICT_OK && (e->type < 4 || e->orange == ORANGE_ASKS))
        s->delivered = e->now;
}

static void at_sender(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    s->sender_log = true;
    if (e->kind == EVENT_OPEN) {
        s->opened = e->now;
        s->block_bytes = e->length;
    } else if (e->kind == EVENT_TX) {
        sender_sent(s, e);
    } else if (e->kind == EVENT_RX) {
        sender_got(s, e);
    } else if (e->kind == EVENT_TIMER) {
        s->rto_checkpoint += e->cause == TIMER_CHECKPOINT;
    } else if (e->kind == EVENT_CLOSE && !s->sender_closed) {
        s->sender_closed = true;
        s->closed = e->now;
        s->outcome = e->cause;
        s->cancel_reason = e->cancel_reason;
        list_sub(&s->order); /* over already, when the receiver's log alone was known of */
        list_add_tail(&a->closing, &s->order);
    }
}

static void at_receiver(struct analyze_session *s, const struct event *e)
{
    s->receiver_log = true;
    if (e->kind == EVENT_OPEN) {
        s->receiver_opened = e->now;
    } else if (e->kind == EVENT_RX) {
        receiver_got(s, e);
    } else if (e->kind == EVENT_TIMER) {
        s->rto_report += e->cause == TIMER_REPORT;
    } else if (e->kind == EVENT_CLOSE && !s->receiver_closed) {
        s->receiver_closed = true;
        s->receiver_end = e->now;
        s->outcome = s->outcome < 0 && !s->sender_log ? e->cause : s->outcome;
        s->block_bytes = s->block_bytes == EVENT_NONE ? e->length : s->block_bytes;
        if (!s->sender_log)
            s->cancel_reason = e->cancel_reason;
    }
}

/* Have all logs at hand said that it is over? */
static bool finished(const struct analyze *a, const struct analyze_session *s)
{
    bool sender = s->sender_closed || !has_node(a, s->originator);
    bool receiver = s->receiver_closed || !has_node(a, s->peer);
    return sender && receiver;
}

/* Finishes what is over at `now`. An engine closes a session before it tells of the segment that
 * made it do so, both at one time: hence not before the time has moved on. */
static int sweep(struct analyze *a, tick now)
{
    int rc = 0;
    struct list *first;
    while (rc == 0 && now != a->over_at && (first = list_first(&a->over)) != NULL)
        rc = finish(a, container_of(first, struct analyze_session, order));
    first = list_first(&a->closing);
    if (rc == 0 && first != NULL) {
        struct analyze_session *s = container_of(first, struct analyze_session, order);
        if (now > s->closed && now - s->closed > CLOSING_MAX)
            rc = finish(a, s);
    }
    return rc;
}

static void note_gap(struct analyze *a, tick now)
{
    bool gap = a->last_row != TICK_NEVER && now > a->last_row && now - a->last_row > ANALYZE_GAP;
    if (gap && a->gaps_len < ANALYZE_GAPS_MAX)
        a->gaps[a->gaps_len++] = (struct analyze_gap){a->last_row, now};
    a->last_row = now;
}

int analyze_row(struct analyze *a, const struct seglog_row *r)
{
    const struct event *e = &r->event;
    a->rows++;
    note_gap(a, e->now);
    analyze_node(a, r->node);
    int rc = sweep(a, e->now);
    if (rc != 0 || e->session == EVENT_NONE)
        return rc;
    struct analyze_session *s = find(a, e->originator, e->session);
    if (s == NULL && e->kind == EVENT_OPEN) {
        s = begin(a, r);
        if (s == NULL)
            return HELIO_ENOMEM;
    }
    if (s == NULL) {
        a->strange++;
        return 0;
    }
    if (r->node == e->originator)
        at_sender(a, s, e);
    else
        at_receiver(s, e);
    if (e->kind == EVENT_CLOSE && finished(a, s)) {
        list_sub(&s->order);
        list_add_tail(&a->over, &s->order);
        a->over_at = e->now;
    }
    return 0;
}

int analyze_end(struct analyze *a)
{
    int rc = 0;
    struct hash_node *n;
    list_for_each_safe (it, &a->closing) {
        if (rc == 0)
            rc = finish(a, container_of(it, struct analyze_session, order));
    }
    while (rc == 0 && (n = hash_walk(&a->sessions, NULL)) != NULL)
        rc = finish(a, container_of(n, struct analyze_session, node));
    return rc;
}

tick analyze_gap_time(const struct analyze *a, const struct analyze_flow *f)
{
    tick sum = 0;
    for (size_t i = 0; i < a->gaps_len; i++)
        if (a->gaps[i].from >= f->first_tx && a->gaps[i].to <= f->last_close)
            sum += a->gaps[i].to - a->gaps[i].from;
    return sum;
}

double analyze_goodput(const struct analyze_flow *f, tick without)
{
    if (f->first_tx == TICK_NEVER || f->last_close <= f->first_tx ||
        f->last_close - f->first_tx <= without)
        return NAN;
    return 8e9 * (double)f->done_bytes / (double)(f->last_close - f->first_tx - without);
}
