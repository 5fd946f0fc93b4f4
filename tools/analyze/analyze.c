/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: an `open` row creates a session; rows of segments and timers are counted in it;
 * the `close` rows of those ends that are logged finish it. It is finished a little later, because
 * rows of the same moment may follow.
 *
 * What can go wrong: logs that begin in the middle (rows without their `open` are only counted) or
 * end in the middle (unfinished sessions); a missing close of the receiver (its session is finished
 * after one minute of log time); session numbers that a restarted node uses again.
 */
#include "tools/analyze/analyze.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tools/analyze/analyze_checkpoint.h"
#include "tools/analyze/analyze_flow.h"

#define CLOSING_MAX (60 * TICK_S)
#define CLOCKS_APART TICK_MS /* of two programs or captures on one machine */
#define OPEN_MAX (1 << 17)   /* so many may wait for a receiver of which nothing was heard yet */

int analyze_init(struct analyze *a, analyze_taker *take, void *context)
{
    *a = (struct analyze){.take = take,
                          .context = context,
                          .first_row = TICK_NEVER,
                          .last_row = TICK_NEVER,
                          .bins_from = TICK_NEVER};
    list_init(&a->closing);
    list_init(&a->over);
    return hash_init(&a->sessions, 1);
}

static void session_free(struct analyze_session *s)
{
    assert(s->cp_len <= s->cp_cap);
    analyze_cp_fini(s);
    ranges_fini(&s->arrived);
    free(s);
}

void analyze_fini(struct analyze *a)
{
    struct hash_node *n;
    while ((n = hash_walk(&a->sessions, NULL)) != NULL) {
        hash_sub(&a->sessions, n);
        session_free(container_of(n, struct analyze_session, node));
    }
    assert(a->sessions.len == 0);
    hash_fini(&a->sessions);
    analyze_flows_fini(a);
}

void analyze_node(struct analyze *a, uint64_t node)
{
    size_t i = 0;
    while (i < a->nodes_len && a->nodes[i] != node)
        i++;
    assert(a->nodes_len <= sizeof a->nodes / sizeof a->nodes[0]);
    if (i == a->nodes_len && i < sizeof a->nodes / sizeof a->nodes[0])
        a->nodes[a->nodes_len++] = node;
}

static bool has_node(const struct analyze *a, uint64_t node)
{
    assert(a->nodes_len <= sizeof a->nodes / sizeof a->nodes[0]);
    for (size_t i = 0; i < a->nodes_len; i++)
        if (a->nodes[i] == node)
            return true;
    return false;
}

/* The receiver's log is at hand also when nothing of the session got there. */
static bool both_ends(const struct analyze *a, const struct analyze_session *s)
{
    bool nothing = s->green && !s->red && s->outcome >= 0 && has_node(a, s->peer);
    return s->sender_log && (s->receiver_log || nothing) && !s->guessed;
}

static enum analyze_basis basis_of(const struct analyze_session *s, bool both, uint64_t missing)
{
    assert(!both || s->sender_log);
    if (s->drops_known && (!both || missing <= s->cp_dropped))
        return BASIS_DROPS;
    if (both)
        return BASIS_RECEIVER;
    return s->sender_log ? BASIS_RTO : BASIS_NONE;
}

static bool is_lossy(const struct analyze *a, const struct analyze_session *s, bool both)
{
    assert(s->path != NULL);
    tick delay = s->path->delay;
    bool all_came_or_lost = delay == TICK_NEVER || s->last_sent == TICK_NEVER ||
                            a->last_row < s->last_sent || a->last_row - s->last_sent > delay;
    if (both && all_came_or_lost)
        return s->segments_sent > s->segments_received || s->dropped > 0;
    return s->drops_known ? s->dropped > 0 : s->gaps || s->rto_checkpoint > 0;
}

static void settle_session(const struct analyze *a, struct analyze_session *s)
{
    assert(a->last_row != TICK_NEVER && s->path != NULL);
    bool both = both_ends(a, s);
    uint64_t missing = analyze_cp_missing(s, a->last_row);
    s->basis = basis_of(s, both, missing);
    s->cp_lost = s->basis == BASIS_DROPS      ? s->cp_dropped
                 : s->basis == BASIS_RECEIVER ? missing
                                              : s->rto_checkpoint;
    s->cp_run = analyze_cp_run(s, a->last_row);
    s->cp_waits = analyze_cp_waits(s, a->last_row);
    assert(s->basis != BASIS_DROPS || s->drops_known);
    s->lossy = is_lossy(a, s, both);
}

static tick time_between(tick from, tick to)
{
    return from != TICK_NEVER && to != TICK_NEVER && to >= from ? to - from : TICK_NEVER;
}

tick analyze_duration(const struct analyze_session *s)
{
    if (s->sender_log)
        return s->sender_closed ? time_between(s->first_tx, s->closed) : TICK_NEVER;
    return s->receiver_closed ? time_between(s->receiver_opened, s->receiver_end) : TICK_NEVER;
}

tick analyze_radiation(const struct analyze_session *s)
{
    return time_between(s->first_tx, s->last_tx);
}

tick analyze_delivery(const struct analyze_session *s)
{
    return time_between(s->first_tx, s->delivered);
}

static struct analyze_session *find_session(struct analyze *a, uint64_t originator, uint64_t number)
{
    assert(a->recent[0] == NULL || a->recent[0] != a->recent[1]);
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

static struct analyze_session *begin_session(struct analyze *a, const struct seglog_row *r)
{
    assert(r->event.kind == EVENT_OPEN && r->event.session != EVENT_NONE);
    const struct event *e = &r->event;
    struct analyze_session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    list_init(&s->order);
    s->originator = e->originator;
    s->number = e->session;
    s->peer = r->node == e->originator ? e->peer : r->node;
    s->path = analyze_path_of(a, s->originator, s->peer);
    if (s->path == NULL) {
        free(s);
        return NULL;
    }
    s->drops_known = a->drops;
    s->client_service = e->client_service;
    s->block_bytes = s->red_bytes = EVENT_NONE;
    s->opened = s->first_tx = s->last_tx = s->last_sent = s->closed = TICK_NEVER;
    s->receiver_opened = s->receiver_end = s->first_rx = s->delivered = TICK_NEVER;
    s->outcome = -1;
    s->cancel_reason = EVENT_NONE;
    s->gap_report = EVENT_NONE;
    hash_add(&a->sessions, &s->node, hash_mix(a->sessions.seed, s->originator, s->number));
    a->open_max = a->sessions.len > a->open_max ? a->sessions.len : a->open_max;
    assert(s->path != NULL && s->outcome == -1);
    assert(a->open_max >= a->sessions.len);
    return s;
}

/* Adds the session to its flow, gives it out and forgets it. */
static int finish_session(struct analyze *a, struct analyze_session *s)
{
    assert(s->sender_log || s->receiver_log);
    settle_session(a, s);
    int rc = analyze_flow_add(a, s);
    if (a->take != NULL)
        a->take(a->context, s);
    for (int i = 0; i < 2; i++)
        a->recent[i] = a->recent[i] == s ? NULL : a->recent[i];
    assert(a->recent[0] != s && a->recent[1] != s);
    hash_sub(&a->sessions, &s->node);
    list_sub(&s->order);
    session_free(s);
    return rc;
}

static void sender_closed(struct analyze *a, struct analyze_session *s, const struct event *e)
{
    assert(s->sender_log && e->kind == EVENT_CLOSE);
    if (s->sender_closed)
        return;
    s->sender_closed = true;
    s->closed = e->now;
    s->outcome = e->cause;
    s->cancel_reason = e->cancel_reason;
    if (s->block_bytes == EVENT_NONE)
        s->block_bytes = e->length;
    list_sub(&s->order); /* over already, when the receiver's log alone was known of */
    assert(list_empty(&s->order));
    list_add_tail(&a->closing, &s->order);
}

static void receiver_closed(struct analyze_session *s, const struct event *e)
{
    assert(s->receiver_log && e->kind == EVENT_CLOSE);
    /* discarded segments are counted as if they had been lost */
    if (s->receiver_closed || (e->cause == OUTCOME_DISCARDED && s->sender_log))
        return;
    s->receiver_closed = true;
    s->receiver_end = e->now;
    s->outcome = s->outcome < 0 && !s->sender_log ? e->cause : s->outcome;
    s->block_bytes = s->block_bytes == EVENT_NONE ? e->length : s->block_bytes;
    if (!s->sender_log)
        s->cancel_reason = e->cancel_reason;
}

static void receiver_opened(struct analyze_session *s, tick now)
{
    assert(s->path != NULL);
    struct analyze_path *p = s->path;
    bool later = s->first_tx != TICK_NEVER && now > s->first_tx;
    tick far = later ? now - s->first_tx : 0;
    s->receiver_opened = now;
    assert(!later || far > 0);
    p->far = p->far == TICK_NEVER || far > p->far ? far : p->far;
}

static int at_end(struct analyze *a, struct analyze_session *s, const struct seglog_row *r)
{
    assert(s->originator == r->event.originator && s->number == r->event.session);
    const struct event *e = &r->event;
    bool sender = r->node == e->originator;
    s->guessed |= r->guessed;
    if (sender)
        s->sender_log = true;
    else
        s->receiver_log = true;
    if (e->kind == EVENT_OPEN && sender) {
        s->opened = e->now;
        s->block_bytes = e->length;
    } else if (e->kind == EVENT_OPEN) {
        receiver_opened(s, e->now);
    } else if (e->kind == EVENT_CLOSE && sender) {
        sender_closed(a, s, e);
    } else if (e->kind == EVENT_CLOSE) {
        receiver_closed(s, e);
    } else {
        return sender ? analyze_at_sender(a, s, e) : analyze_at_receiver(a, s, e);
    }
    return 0;
}

/* Is this `open` that of another session with the same number? The node was started again. */
static bool is_another(const struct analyze_session *s, const struct seglog_row *r)
{
    if (r->event.kind != EVENT_OPEN)
        return false;
    if (r->node == r->event.originator)
        return s->opened != TICK_NEVER || s->sender_closed;
    return s->receiver_opened != TICK_NEVER && (!s->sender_log || s->sender_closed);
}

/* Do all available logs contain the close of the session? */
static bool is_finished(const struct analyze *a, const struct analyze_session *s)
{
    assert(s->sender_log || s->receiver_log);
    bool sender = s->sender_closed || !has_node(a, s->originator);
    bool receiver = s->receiver_closed || !has_node(a, s->peer);
    return sender && receiver;
}

/* Has the receiver's close been waited for? It cannot be logged before the one-way delay has
 * passed. */
static bool waited_enough(const struct analyze *a, const struct analyze_session *s, tick now)
{
    assert(s->sender_closed);
    tick far = s->path->far;
    if (far == TICK_NEVER && a->sessions.len <= OPEN_MAX)
        return false;
    return now > s->closed && now - s->closed > CLOSING_MAX + (far != TICK_NEVER ? far : 0);
}

/* Finishes closed sessions. An engine closes a session before it logs the segment that caused the
 * close, and a segment that was in transit may follow both. So this waits for some time. */
static int sweep_sessions(struct analyze *a, tick now)
{
    int rc = 0;
    struct list *first;
    while (rc == 0 && (first = list_first(&a->over)) != NULL) {
        struct analyze_session *s = container_of(first, struct analyze_session, order);
        assert(s->sender_closed || s->receiver_closed);
        tick end = s->sender_closed ? s->closed : 0;
        end = s->receiver_closed && s->receiver_end > end ? s->receiver_end : end;
        if (now >= end && now - end <= ANALYZE_LINGER)
            break;
        rc = finish_session(a, s);
    }
    first = list_first(&a->closing);
    if (rc == 0 && first != NULL) {
        struct analyze_session *s = container_of(first, struct analyze_session, order);
        if (waited_enough(a, s, now))
            rc = finish_session(a, s);
    }
    return rc;
}

static void note_time(struct analyze *a, tick now)
{
    bool gap = a->last_row != TICK_NEVER && now > a->last_row && now - a->last_row > ANALYZE_GAP;
    if (gap && a->gaps_len < ANALYZE_GAPS_MAX)
        a->gaps[a->gaps_len++] = (struct analyze_gap){a->last_row, now};
    assert(a->gaps_len <= ANALYZE_GAPS_MAX);
    a->last_row = now;
    assert(a->last_row == now);
    a->first_row = tick_min(a->first_row, now);
    a->rows_end = now > a->rows_end ? now : a->rows_end;
}

static void drop_early(struct analyze *a, size_t at)
{
    assert(at < a->early_len);
    a->early_len--;
    memmove(a->early + at, a->early + at + 1, (a->early_len - at) * sizeof *a->early);
}

static void keep_early(struct analyze *a, const struct drop_event *d)
{
    assert(a->early_len <= ANALYZE_EARLY);
    if (a->early_len == ANALYZE_EARLY) {
        a->drop_strange++;
        drop_early(a, 0);
    }
    a->early[a->early_len++] = *d;
}

/* A session begins: what was lost of it just before, by another clock, is its. */
static int claim_early(struct analyze *a, struct analyze_session *s, tick now)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < a->early_len;) {
        const struct drop_event d = a->early[i];
        if (d.originator != s->originator || d.session != s->number || d.now > now ||
            now - d.now > CLOCKS_APART) {
            i++;
            continue;
        }
        drop_early(a, i);
        rc = analyze_dropped(a, s, &d);
    }
    return rc;
}

/* The row's session; NULL with 0 when there is none to be, else HELIO_ENOMEM. */
static int session_of(struct analyze *a, const struct seglog_row *r, struct analyze_session **out)
{
    int rc = 0;
    *out = find_session(a, r->event.originator, r->event.session);
    if (*out != NULL && is_another(*out, r)) {
        bool over = (*out)->sender_closed || (*out)->receiver_closed;
        a->reopened += !over;
        rc = finish_session(a, *out);
        *out = NULL;
    }
    if (rc != 0 || *out != NULL || r->event.kind != EVENT_OPEN)
        return rc;
    *out = begin_session(a, r);
    assert(*out == NULL || (*out)->number == r->event.session);
    return *out != NULL ? claim_early(a, *out, r->event.now) : HELIO_ENOMEM;
}

/* A row of a matrix of an erasure code, which belongs to no session. 0 or HELIO_ENOMEM. */
static int take_matrix(struct analyze *a, const struct seglog_row *r)
{
    const struct event *e = &r->event;
    uint64_t receiver = r->node == e->originator ? e->peer : r->node;
    struct analyze_path *p = analyze_path_of(a, e->originator, receiver);
    if (p == NULL)
        return HELIO_ENOMEM;
    analyze_code_add(&p->code, e);
    return 0;
}

int analyze_row(struct analyze *a, const struct seglog_row *r)
{
    const struct event *e = &r->event;
    struct analyze_session *s;
    a->rows++;
    note_time(a, e->now);
    analyze_node(a, r->node);
    int rc = sweep_sessions(a, e->now);
    if (rc == 0 && e->kind == EVENT_MATRIX)
        return take_matrix(a, r);
    if (rc != 0 || e->session == EVENT_NONE) {
        a->bad += e->kind == EVENT_RX;
        return rc;
    }
    rc = session_of(a, r, &s);
    if (rc != 0 || s == NULL) {
        a->strange += s == NULL;
        return rc;
    }
    rc = at_end(a, s, r);
    if (rc == 0 && e->kind == EVENT_CLOSE && is_finished(a, s)) {
        list_sub(&s->order);
        assert(list_empty(&s->order));
        list_add_tail(&a->over, &s->order);
    }
    return rc;
}

int analyze_drop(struct analyze *a, const struct drop_event *d)
{
    a->drop_rows++;
    note_time(a, d->now);
    if (d->session == EVENT_NONE || d->originator == EVENT_NONE)
        return 0;
    struct analyze_session *s = find_session(a, d->originator, d->session);
    if (s == NULL) {
        if (drop_is_loss(d))
            keep_early(a, d);
        return 0;
    }
    assert(s->path != NULL);
    return analyze_dropped(a, s, d);
}

int analyze_next_run(struct analyze *a)
{
    if (a->last_row == TICK_NEVER)
        return 0;
    int rc = analyze_end(a);
    analyze_flows_next_run(a);
    a->last_row = TICK_NEVER;
    assert(rc != 0 || a->sessions.len == 0);
    return rc;
}

int analyze_end(struct analyze *a)
{
    int rc = 0;
    a->drop_strange += a->early_len;
    a->early_len = 0;
    struct hash_node *n;
    struct list *const lists[] = {&a->over, &a->closing};
    for (int i = 0; i < 2; i++)
        list_for_each_safe (it, lists[i]) {
            if (rc == 0)
                rc = finish_session(a, container_of(it, struct analyze_session, order));
        }
    /* sessions of known colour first: they show to which flow the others belong */
    for (int blank = 0; blank < 2; blank++) {
        struct hash_node *next;
        for (n = hash_walk(&a->sessions, NULL); rc == 0 && n != NULL; n = next) {
            struct analyze_session *s = container_of(n, struct analyze_session, node);
            next = hash_walk(&a->sessions, n);
            if (blank == 1 || s->red || s->green)
                rc = finish_session(a, s);
        }
    }
    return rc;
}
