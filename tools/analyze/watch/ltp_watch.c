/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams become segments. The segments wait in one queue until it is known at which end of their
 * pair of addresses the capture was taken; then each makes its rows. What can go wrong: traffic
 * that is not LTP (ignored after the first datagram that is no segment); segments that were not
 * captured whole; and pairs whose end stays unknown, which are assumed to be at the sender's end
 * when the queue is full or the capture ends.
 */
#include "tools/analyze/watch/ltp_watch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "ltp/engine.h"
#include "tools/analyze/watch/watch_pair.h"
#include "tools/analyze/watch/watch_session.h"

#define DATAGRAM_MAX 65535
#define ANSWERS_WAIT 64 /* reports that are enough to match one-way pairs */

struct watch {
    const struct watch_options *options;
    struct watch_counters counters;
    struct watch_pairs pairs;
    struct list held;
    size_t held_len;
    size_t answers, answers_wait; /* reports of one-way pairs after which they are matched */
    bool ending;
    struct hash sessions;
    struct list closed;
    size_t closed_len;
    struct watch_rows rows;
    uint8_t *whole; /* a datagram that was cut, filled up */
};

struct watch *watch_new(const struct watch_options *options)
{
    struct watch *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    w->options = options;
    list_init(&w->held);
    list_init(&w->closed);
    w->answers_wait = ANSWERS_WAIT;
    w->whole = malloc(DATAGRAM_MAX);
    if (watch_pairs_init(&w->pairs, options) == 0) {
        if (w->whole != NULL && hash_init(&w->sessions, 1) == 0)
            return w;
        watch_pairs_fini(&w->pairs);
    }
    free(w->whole);
    free(w);
    return NULL;
}

void watch_free(struct watch *w)
{
    struct hash_node *n;
    if (w == NULL)
        return;
    while ((n = hash_walk(&w->sessions, NULL)) != NULL) {
        hash_sub(&w->sessions, n);
        watch_session_free(container_of(n, struct watch_session, node));
    }
    list_for_each_safe (it, &w->held)
        free(container_of(it, struct watch_segment, order));
    assert(w->sessions.len == 0);
    hash_fini(&w->sessions);
    watch_pairs_fini(&w->pairs);
    free(w->whole);
    free(w);
}

struct watch_counters *watch_counters(struct watch *w)
{
    return &w->counters;
}

/* A segment as a waiting element; NULL when memory is out. */
static struct watch_segment *segment_new(const struct ltp_segment *s, uint32_t flow, tick now,
                                         size_t len)
{
    assert(len > 0);
    size_t claims = s->type == LTP_RS ? (size_t)s->claim_count : 0;
    struct watch_segment *g = calloc(1, sizeof *g + claims * sizeof g->claim[0]);
    if (g == NULL)
        return NULL;
    g->flow = flow;
    struct event *e = &g->event;
    *e = event_make(EVENT_RX, now);
    e->originator = s->id.originator;
    e->session = s->id.number;
    e->type = s->type;
    e->red = segment_is_red(s);
    e->orange = ltp_orange_of(s);
    e->udp_len = len;
    if (segment_is_data(s)) {
        e->client_service = s->client_service;
        e->offset = s->offset;
        e->length = s->data.len;
    }
    if (segment_is_checkpoint(s) || s->type == LTP_RS)
        e->cp_serial = s->cp_serial;
    if (segment_is_checkpoint(s) || s->type == LTP_RS || s->type == LTP_RA)
        e->rpt_serial = s->rpt_serial;
    if (s->type == LTP_CS || s->type == LTP_CR)
        e->cancel_reason = s->reason;
    if (s->type != LTP_RS)
        return g;
    e->rs_lower = s->lower;
    e->rs_upper = s->upper;
    e->claims = s->claim_count;
    e->claimed_bytes = 0;
    struct slice at = s->claims;
    while (g->claims < claims && segment_claim(s, &at, &g->claim[g->claims]))
        g->claims++;
    assert(g->claims == claims);
    for (size_t i = 0; i < g->claims; i++)
        e->claimed_bytes += g->claim[i].hi - g->claim[i].lo;
    return g;
}

static void hold_segment(struct watch *w, struct watch_segment *g)
{
    assert(g->flow < w->pairs.flows_len);
    struct watch_pair *p = watch_pair_of(&w->pairs, g);
    list_add_tail(&w->held, &g->order);
    w->held_len++;
    p->waiting++;
    assert(p->waiting > 0 && w->held_len >= p->waiting);
    w->answers += g->event.type == LTP_RS && watch_one_way(p);
}

static int hold_damaged(struct watch *w, uint32_t flow, const struct watch_datagram *d,
                        enum verdict v)
{
    struct watch_segment *g = calloc(1, sizeof *g);
    if (g == NULL)
        return HELIO_ENOMEM;
    g->flow = flow;
    g->event = event_make(EVENT_RX, d->now);
    g->event.verdict = g->event.cause = (int)v;
    g->event.udp_len = d->len;
    hold_segment(w, g);
    return 0;
}

/* The datagram's bytes, those that were not captured as zeros: only data is that long. */
static const uint8_t *fill_up(struct watch *w, const struct watch_datagram *d)
{
    assert(d->have <= d->len && d->len <= DATAGRAM_MAX);
    if (d->have == d->len)
        return d->data;
    w->counters.snapped++;
    memcpy(w->whole, d->data, d->have);
    memset(w->whole + d->have, 0, d->len - d->have);
    return w->whole;
}

/* A datagram that is no segment: for the receiver a damaged one, unless the capture cut it; on
 * trial the end of the trial. */
static int refuse_datagram(struct watch *w, uint32_t flow, const struct watch_datagram *d,
                           enum verdict v)
{
    assert(flow < w->pairs.flows_len && v < VERDICT_COUNT);
    struct watch_pair *p = &w->pairs.pairs[w->pairs.flows[flow].pair];
    if (!p->ltp) {
        p->refused = true;
        w->counters.other++;
        return 0;
    }
    if (d->have < d->len) {
        w->counters.snapped_unusable++;
        return 0;
    }
    w->counters.damaged++;
    /* a report that contradicts itself, and all else that could not be read, has no session */
    return hold_damaged(w, flow, d, v == VERDICT_BAD_REPORT ? VERDICT_BAD_FIELD : v);
}

int watch_input(struct watch *w, const struct watch_datagram *d)
{
    const struct watch_flow *f = watch_flow_of(&w->pairs, d);
    uint32_t flow = f != NULL ? (uint32_t)(f - w->pairs.flows) : 0;
    struct watch_pair *p = f != NULL ? &w->pairs.pairs[f->pair] : NULL;
    if (p == NULL || p->refused || d->len > DATAGRAM_MAX || d->len == 0) {
        w->counters.other++;
        return 0;
    }
    p->at = d->at;
    const uint8_t *data = fill_up(w, d);
    size_t left = d->len;
    /* what the kernel joins before it is captured are segments, one after another */
    while (left > 0) {
        struct ltp_segment s;
        assert(left <= d->len);
        size_t used = 0;
        enum verdict v = segment_parse_first(&s, data, left, &used);
        bool cut = v == VERDICT_OK && d->have < d->len && !segment_is_data(&s);
        if (v != VERDICT_OK || cut)
            return refuse_datagram(w, flow, d, v);
        assert(used > 0 && used <= left);
        struct watch_segment *g = segment_new(&s, flow, d->now, used);
        if (g == NULL)
            return HELIO_ENOMEM;
        hold_segment(w, g);
        w->counters.segments++;
        watch_study(&w->pairs, g, d->outgoing);
        data += used;
        left -= used;
        if (d->have < d->len && left > 0) { /* the heads of the others are not there */
            w->counters.snapped_unusable++;
            break;
        }
    }
    p->ltp |= ++p->trial >= WATCH_TRIAL;
    return 0;
}

int watch_end(struct watch *w)
{
    w->ending = true;
    return 0;
}

/* What the pairs turned out to be. Once, when all is decided. */
static void count_pairs(struct watch *w)
{
    for (size_t i = 0; i < w->pairs.pairs_len; i++) {
        const struct watch_pair *p = &w->pairs.pairs[i];
        if (p->refused || p->joined)
            continue;
        w->counters.pairs++;
        w->counters.undecided += p->how == WATCH_ASSUMED;
        w->counters.one_way += p->red && watch_one_way(p);
    }
}

static struct watch_end far_end(const struct watch *w, size_t pair, int end)
{
    struct watch_end found = {0};
    for (size_t i = 0; i < w->pairs.flows_len; i++) {
        const struct watch_flow *f = &w->pairs.flows[i];
        if (f->pair == pair)
            found = f->end == end ? f->from : f->to;
    }
    return found;
}

size_t watch_views(const struct watch *w, struct watch_view *out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < w->pairs.pairs_len; i++) {
        const struct watch_pair *p = &w->pairs.pairs[i];
        if (p->refused || p->joined || !p->started)
            continue;
        assert(p->local >= 0 && p->how != WATCH_OPEN);
        int sender = watch_most_data(p);
        if (n < max)
            out[n] =
                (struct watch_view){.sender = p->engine[sender],
                                    .receiver = p->engine[!sender],
                                    .far = far_end(w, i, !sender),
                                    .place = p->local == sender ? WATCH_SENDER : WATCH_RECEIVER,
                                    .how = p->how};
        n++;
    }
    return n;
}

static struct watch_session *find_session(struct watch *w, const struct watch_segment *g,
                                          bool sender)
{
    assert(g->flow < w->pairs.flows_len);
    const struct event *e = &g->event;
    uint32_t pair = w->pairs.flows[g->flow].pair;
    uint64_t hash = hash_mix(w->sessions.seed + 2 * pair + sender, e->originator, e->session);
    for (struct hash_node *n = hash_find(&w->sessions, hash); n != NULL; n = hash_next(n)) {
        struct watch_session *s = container_of(n, struct watch_session, node);
        if (s->pair == pair && s->sender == sender && s->originator == e->originator &&
            s->number == e->session)
            return s;
    }
    return NULL;
}

static void forget_session(struct watch *w, struct watch_session *s)
{
    assert(!s->closed || w->closed_len > 0);
    w->closed_len -= s->closed;
    list_sub(&s->closed_order);
    hash_sub(&w->sessions, &s->node);
    watch_session_free(s);
}

/* A new session and its `open` row; NULL: no memory. */
static struct watch_session *begin_session(struct watch *w, const struct watch_segment *g,
                                           bool sender, const struct seglog_row *row)
{
    assert(g->event.session != EVENT_NONE);
    const struct event *e = &g->event;
    uint32_t pair = w->pairs.flows[g->flow].pair;
    struct watch_session *s = watch_session_new(pair, e, sender);
    if (s == NULL)
        return NULL;
    uint64_t hash = hash_mix(w->sessions.seed + 2 * pair + sender, e->originator, e->session);
    hash_add(&w->sessions, &s->node, hash);
    watch_row_add(&w->rows, row, EVENT_OPEN);
    return s;
}

static void remember_closed(struct watch *w, struct watch_session *s)
{
    assert(s->closed);
    list_add_tail(&w->closed, &s->closed_order);
    assert(w->closed_len <= WATCH_CLOSED_MAX);
    if (++w->closed_len > WATCH_CLOSED_MAX)
        forget_session(w, container_of(list_first(&w->closed), struct watch_session, closed_order));
}

/* The rows of one segment, in w->rows. */
static int process_segment(struct watch *w, const struct watch_segment *g)
{
    assert(w->rows.len == 0 && w->rows.next == 0);
    const struct watch_pair *p = watch_pair_of(&w->pairs, g);
    const struct event *e = &g->event;
    assert(p->local == 0 || p->local == 1);
    int from = watch_from(&w->pairs, g), end = watch_sending_end(&w->pairs, g);
    struct seglog_row row = {
        .event = *e, .node = p->engine[p->local], .guessed = p->how == WATCH_ASSUMED};
    row.event.peer = p->engine[!p->local];
    if (e->session == EVENT_NONE) { /* damaged: only its receiver knows */
        if (from != p->local)
            watch_row_add(&w->rows, &row, EVENT_RX);
        return 0;
    }
    bool sender = end == p->local;
    row.node = sender ? e->originator : row.node;
    row.event.peer = sender ? row.event.peer : e->originator;
    row.event.kind = from == p->local ? EVENT_TX : EVENT_RX;
    struct watch_session *s = find_session(w, g, sender);
    if (watch_begins(s, g, sender)) {
        if (s != NULL)
            forget_session(w, s);
        s = begin_session(w, g, sender, &row);
        if (s == NULL)
            return HELIO_ENOMEM;
    }
    if (s == NULL) {
        row.event.verdict = row.event.cause =
            row.event.kind == EVENT_RX ? VERDICT_UNKNOWN_SESSION : CAUSE_FIRST;
        watch_row_add(&w->rows, &row, row.event.kind);
        return 0;
    }
    bool closed = s->closed;
    tick rto = w->options->rto;
    if (rto == TICK_NEVER)
        rto = p->times.response[end][!sender];
    if (rto == TICK_NEVER)
        rto = p->times.loose[end][!sender];
    int rc = watch_session_input(s, g, rto, &row, &w->rows);
    if (!closed && s->closed)
        remember_closed(w, s);
    return rc;
}

/* One-way pairs, and pairs with no other indication of where they were captured, are matched when
 * enough of their segments wait, and before the rest is assigned by default. */
static int join_pairs(struct watch *w, bool last)
{
    if (!last && w->answers < w->answers_wait)
        return 0;
    w->answers = 0;
    w->answers_wait *= 2;
    return watch_join(&w->pairs, &w->held);
}

/* Can the first segment that waits become rows? 0 or HELIO_ENOMEM. */
static int decide_side(struct watch *w, const struct watch_segment *g, bool *out)
{
    struct watch_pair *p = watch_pair_of(&w->pairs, g);
    bool last = w->ending || w->held_len > WATCH_HELD_MAX;
    bool open = watch_one_way(p) && !p->started && !p->refused;
    *out = watch_decided(p);
    if (*out && !open)
        return 0;
    int rc = join_pairs(w, last || *out);
    p = watch_pair_of(&w->pairs, g); /* it may be another one now */
    if (!watch_decided(p) && last)
        watch_force(p);
    *out = watch_decided(p);
    return rc;
}

int watch_row(struct watch *w, const struct seglog_row **row)
{
    while (w->rows.next == w->rows.len) {
        struct list *first = list_first(&w->held);
        if (first == NULL && w->ending && w->counters.pairs == 0)
            count_pairs(w);
        if (first == NULL)
            return 0;
        struct watch_segment *g = container_of(first, struct watch_segment, order);
        bool decided;
        int rc = decide_side(w, g, &decided);
        if (rc != 0 || !decided)
            return rc;
        assert(w->held_len > 0);
        struct watch_pair *p = watch_pair_of(&w->pairs, g);
        list_sub(&g->order);
        w->held_len--;
        assert(p->waiting > 0);
        p->waiting--;
        p->started = true;
        w->rows.len = w->rows.next = 0;
        w->counters.other += p->refused;
        rc = p->refused ? 0 : process_segment(w, g);
        free(g);
        if (rc != 0)
            return rc;
    }
    assert(w->rows.next < w->rows.len && w->rows.len <= WATCH_ROWS_MAX);
    *row = &w->rows.at[w->rows.next++];
    return 1;
}
