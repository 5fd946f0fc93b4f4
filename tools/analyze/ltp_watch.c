/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams become segments, segments wait in one queue until it is known at which end of their
 * pair of addresses the capture was taken, then each makes its rows. What can go wrong: traffic
 * that is not LTP (given up after its first datagram that is no segment), segments that were not
 * captured whole, and pairs that never say where they were captured: they are taken for the
 * sender's end when the queue is full or the capture ends.
 */
#include "tools/analyze/ltp_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "ltp/engine.h"
#include "tools/analyze/watch_session.h"

#define LTP_PORT 1113
#define PROBES 8         /* that decide where a capture was taken */
#define NAMES_WAIT 20000 /* segments for which the name of an engine is waited for */
#define DATAGRAM_MAX 65535

struct watch {
    const struct watch_options *options;
    struct watch_counters counters;
    struct watch_pair *pairs;
    size_t pairs_len, last_pair;
    struct list held;
    size_t held_len;
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
    w->pairs = calloc(WATCH_PAIRS_MAX, sizeof *w->pairs);
    w->whole = malloc(DATAGRAM_MAX);
    if (w->pairs != NULL && w->whole != NULL && hash_init(&w->sessions, 1) == 0)
        return w;
    free(w->pairs);
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
    hash_fini(&w->sessions);
    free(w->pairs);
    free(w->whole);
    free(w);
}

struct watch_counters *watch_counters(struct watch *w)
{
    return &w->counters;
}

static bool same_ip(const struct watch_end *a, const struct watch_end *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

static bool same_end(const struct watch_end *a, const struct watch_end *b, bool ports)
{
    return same_ip(a, b) && (!ports || a->port == b->port);
}

static uint64_t given_engine(const struct watch *w, const struct watch_end *end, uint64_t otherwise)
{
    for (size_t i = 0; i < w->options->engines_len; i++) {
        const struct watch_engine *e = &w->options->engines[i];
        if (same_end(&e->end, end, e->end.port != 0))
            return e->number;
    }
    return otherwise;
}

/* Has to be LTP, by the port; with ports given, whether it is. */
static bool on_port(const struct watch *w, const struct watch_datagram *d)
{
    static const uint16_t usual[] = {LTP_PORT};
    const uint16_t *ports = w->options->ports_len > 0 ? w->options->ports : usual;
    size_t len = w->options->ports_len > 0 ? w->options->ports_len : 1;
    for (size_t i = 0; i < len; i++)
        if (ports[i] == d->from.port || ports[i] == d->to.port)
            return true;
    return false;
}

/* The pair of the datagram's ends; *from is which of them sent it. NULL: there are too many. On one
 * machine ports tell the ends apart; between machines a node may send from another port than it
 * receives on. */
static struct watch_pair *pair_of(struct watch *w, const struct watch_datagram *d, int *from)
{
    bool ports = same_ip(&d->from, &d->to);
    bool ltp = on_port(w, d);
    for (size_t i = 0; i <= w->pairs_len; i++) {
        size_t at = i == 0 ? w->last_pair : i - 1;
        struct watch_pair *p = &w->pairs[at];
        if (at >= w->pairs_len || p->by_port != ltp)
            continue;
        for (int end = 0; end < 2; end++)
            if (same_end(&p->end[end], &d->from, ports) && same_end(&p->end[!end], &d->to, ports)) {
                w->last_pair = at;
                *from = end;
                return p;
            }
    }
    if (w->pairs_len == WATCH_PAIRS_MAX)
        return NULL;
    struct watch_pair *p = &w->pairs[w->pairs_len];
    uint64_t unknown = WATCH_UNKNOWN + 2 * w->pairs_len++;
    *p = (struct watch_pair){.end = {d->from, d->to}, .local = -1, .by_port = ltp, .ltp = ltp};
    for (int i = 0; i < 4; i++)
        p->response[i / 2][i % 2] = p->loose[i / 2][i % 2] = TICK_NEVER;
    p->engine[0] = given_engine(w, &d->from, unknown);
    p->engine[1] = given_engine(w, &d->to, unknown + 1);
    p->refused = !ltp && w->options->ports_len > 0;
    *from = 0;
    return p;
}

static bool from_originator(int type)
{
    return type < LTP_RS || type == LTP_RA || type == LTP_CS || type == LTP_CAR;
}

/* The end at which sessions of this segment's originator are sent. */
static int sending_end(const struct watch_segment *g)
{
    return from_originator(g->event.type) ? g->from : !g->from;
}

/* A checkpoint, its report and the acknowledgement have been seen; it took `back` to come. */
static void answered(struct watch_pair *p, int x, struct watch_probe *b, tick back)
{
    const tick times[2] = {b->response, back};
    p->votes[times[0] > times[1] ? x : !x]++;
    for (int i = 0; i < 2; i++) {
        p->loose[x][i] = tick_min(p->loose[x][i], times[i]);
        if (!b->again[i + 1])
            p->response[x][i] = tick_min(p->response[x][i], times[i]);
    }
    b->stage = 0;
}

/* Is it the first time that this checkpoint is seen? */
static bool is_first(struct watch_pair *p, int x, const struct event *e)
{
    for (size_t i = 0; i < WATCH_SEEN; i++)
        if (p->seen[x][i][0] == e->session && p->seen[x][i][1] == e->cp_serial)
            return false;
    uint64_t *place = p->seen[x][p->seen_next[x]++ % WATCH_SEEN];
    place[0] = e->session;
    place[1] = e->cp_serial;
    return true;
}

/* Times from checkpoint to report, and from report to its acknowledgement: the short one is that of
 * the end where the capture was taken. */
static void probe(struct watch_pair *p, const struct watch_segment *g)
{
    const struct event *e = &g->event;
    int x = sending_end(g);
    struct watch_probe *b = &p->probe[x];
    bool same = b->stage > 0 && b->session == e->session && b->originator == e->originator;
    bool checkpoint = e->type >= LTP_RED_CP && e->type <= LTP_RED_CP_EOB;
    if (checkpoint && is_first(p, x, e) && b->stage == 0) {
        *b = (struct watch_probe){.stage = 1,
                                  .originator = e->originator,
                                  .session = e->session,
                                  .serial = e->cp_serial,
                                  .at = e->now};
    } else if (b->stage > 0 && e->now - b->at > 10 * TICK_S) {
        b->stage = 0; /* it was lost */
    } else if (!same) {
        return;
    } else if (b->stage == 1 && e->cp_serial == b->serial && e->type != LTP_RS) {
        b->again[1] = true;
    } else if (e->type == LTP_RS && b->stage == 1 && e->cp_serial == b->serial) {
        b->response = e->now - b->at;
        b->serial = e->rpt_serial;
        b->at = e->now;
        b->stage = 2;
    } else if (e->type == LTP_RS && b->stage == 2 && e->rpt_serial == b->serial) {
        b->again[2] = true;
    } else if (e->type == LTP_RA && b->stage == 2 && e->rpt_serial == b->serial) {
        answered(p, x, b, e->now - b->at);
    }
}

static bool known(uint64_t engine)
{
    return engine < WATCH_UNKNOWN;
}

/* What a segment tells of its pair. */
static void study(struct watch_pair *p, const struct watch_segment *g, int outgoing)
{
    const struct event *e = &g->event;
    int x = sending_end(g);
    if (!known(p->engine[x]))
        p->engine[x] = e->originator;
    if (e->type < LTP_RS)
        p->data_bytes[g->from] += e->length;
    probe(p, g);
    if (p->local >= 0)
        return;
    if (outgoing >= 0)
        p->local = outgoing == 1 ? g->from : !g->from;
    else if (p->at != WATCH_AUTO && e->type < LTP_GREEN_DATA)
        p->local = p->at == WATCH_SENDER ? g->from : !g->from;
    else if (p->at == WATCH_AUTO && p->votes[0] + p->votes[1] >= PROBES)
        p->local = p->votes[1] > p->votes[0];
}

/* There will be no more to decide by. */
static void force(struct watch *w, struct watch_pair *p)
{
    int sender = p->data_bytes[1] > p->data_bytes[0];
    p->named = true;
    p->ltp = true;
    if (p->local >= 0)
        return;
    if (p->votes[0] != p->votes[1])
        p->local = p->votes[1] > p->votes[0];
    else
        p->local = p->at == WATCH_RECEIVER ? !sender : sender;
    w->counters.undecided += p->at == WATCH_AUTO && p->votes[0] == p->votes[1];
}

/* Are both times of sessions of this end known from what was sent once? */
static bool once(const struct watch_pair *p, int end)
{
    return p->response[end][0] != TICK_NEVER && p->response[end][1] != TICK_NEVER;
}

static bool decided(struct watch_pair *p)
{
    bool timed = once(p, 0) || once(p, 1) || p->votes[0] + p->votes[1] > 8 * PROBES;
    p->named |= known(p->engine[0]) && known(p->engine[1]) && timed;
    p->named |= p->waiting > NAMES_WAIT;
    return p->refused || (p->ltp && p->local >= 0 && p->named);
}

/* A segment as a waiting element; NULL when memory is out. */
static struct watch_segment *segment_new(const struct ltp_segment *s, const struct watch_pair *p,
                                         const struct watch *w, int from, tick now, size_t len)
{
    size_t claims = s->type == LTP_RS ? (size_t)s->claim_count : 0;
    struct watch_segment *g = calloc(1, sizeof *g + claims * sizeof g->claim[0]);
    if (g == NULL)
        return NULL;
    g->pair = (uint32_t)(p - w->pairs);
    g->from = from;
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
    for (size_t i = 0; i < g->claims; i++)
        e->claimed_bytes += g->claim[i].hi - g->claim[i].lo;
    return g;
}

static void hold(struct watch *w, struct watch_pair *p, struct watch_segment *g)
{
    list_add_tail(&w->held, &g->order);
    w->held_len++;
    p->waiting++;
}

static int hold_damaged(struct watch *w, struct watch_pair *p, int from,
                        const struct watch_datagram *d, enum verdict v)
{
    struct watch_segment *g = calloc(1, sizeof *g);
    if (g == NULL)
        return HELIO_ENOMEM;
    g->pair = (uint32_t)(p - w->pairs);
    g->from = from;
    g->event = event_make(EVENT_RX, d->now);
    g->event.verdict = g->event.cause = (int)v;
    g->event.udp_len = d->len;
    hold(w, p, g);
    return 0;
}

/* The datagram's bytes, those that were not captured as zeros: only data is that long. */
static const uint8_t *fill_up(struct watch *w, const struct watch_datagram *d)
{
    if (d->have == d->len)
        return d->data;
    w->counters.snapped++;
    memcpy(w->whole, d->data, d->have);
    memset(w->whole + d->have, 0, d->len - d->have);
    return w->whole;
}

/* A datagram that is no segment: for the receiver a damaged one, unless the capture cut it; on
 * trial the end of the trial. */
static int refuse(struct watch *w, struct watch_pair *p, int from, const struct watch_datagram *d,
                  enum verdict v)
{
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
    return hold_damaged(w, p, from, d, v == VERDICT_BAD_REPORT ? VERDICT_BAD_FIELD : v);
}

int watch_input(struct watch *w, const struct watch_datagram *d)
{
    int from;
    struct watch_pair *p = pair_of(w, d, &from);
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
        size_t used = 0;
        enum verdict v = segment_parse_first(&s, data, left, &used);
        bool cut = v == VERDICT_OK && d->have < d->len && !segment_is_data(&s);
        if (v != VERDICT_OK || cut)
            return refuse(w, p, from, d, v);
        struct watch_segment *g = segment_new(&s, p, w, from, d->now, used);
        if (g == NULL)
            return HELIO_ENOMEM;
        hold(w, p, g);
        w->counters.segments++;
        study(p, g, d->outgoing);
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
    for (size_t i = 0; i < w->pairs_len; i++)
        w->counters.pairs += !w->pairs[i].refused;
    return 0;
}

static struct watch_session *find(struct watch *w, const struct watch_segment *g, bool sender)
{
    const struct event *e = &g->event;
    uint64_t hash = hash_mix(w->sessions.seed + 2 * g->pair + sender, e->originator, e->session);
    for (struct hash_node *n = hash_find(&w->sessions, hash); n != NULL; n = hash_next(n)) {
        struct watch_session *s = container_of(n, struct watch_session, node);
        if (s->pair == g->pair && s->sender == sender && s->originator == e->originator &&
            s->number == e->session)
            return s;
    }
    return NULL;
}

static void forget(struct watch *w, struct watch_session *s)
{
    w->closed_len -= s->closed;
    list_sub(&s->closed_order);
    hash_sub(&w->sessions, &s->node);
    watch_session_free(s);
}

/* A new session and the row that says so; NULL when memory is out. */
static struct watch_session *begin(struct watch *w, const struct watch_segment *g, bool sender,
                                   const struct seglog_row *row)
{
    const struct event *e = &g->event;
    struct watch_session *s = watch_session_new(g->pair, e, sender);
    if (s == NULL)
        return NULL;
    uint64_t hash = hash_mix(w->sessions.seed + 2 * g->pair + sender, e->originator, e->session);
    hash_add(&w->sessions, &s->node, hash);
    watch_row_add(&w->rows, row, EVENT_OPEN);
    return s;
}

static void remember_closed(struct watch *w, struct watch_session *s)
{
    list_add_tail(&w->closed, &s->closed_order);
    if (++w->closed_len > WATCH_CLOSED_MAX)
        forget(w, container_of(list_first(&w->closed), struct watch_session, closed_order));
}

/* The rows of one segment, in w->rows. */
static int process(struct watch *w, const struct watch_segment *g)
{
    const struct watch_pair *p = &w->pairs[g->pair];
    const struct event *e = &g->event;
    struct seglog_row row = {.event = *e, .node = p->engine[p->local]};
    row.event.peer = p->engine[!p->local];
    if (e->session == EVENT_NONE) { /* damaged: only who gets it knows */
        if (g->from != p->local)
            watch_row_add(&w->rows, &row, EVENT_RX);
        return 0;
    }
    bool sender = sending_end(g) == p->local;
    row.node = sender ? e->originator : row.node;
    row.event.peer = sender ? row.event.peer : e->originator;
    row.event.kind = g->from == p->local ? EVENT_TX : EVENT_RX;
    struct watch_session *s = find(w, g, sender);
    if (watch_begins(s, g, sender)) {
        if (s != NULL)
            forget(w, s);
        s = begin(w, g, sender, &row);
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
        rto = p->response[sending_end(g)][!sender];
    if (rto == TICK_NEVER)
        rto = p->loose[sending_end(g)][!sender];
    int rc = watch_session_input(s, g, rto, &row, &w->rows);
    if (!closed && s->closed)
        remember_closed(w, s);
    return rc;
}

int watch_row(struct watch *w, const struct seglog_row **row)
{
    while (w->rows.next == w->rows.len) {
        struct list *first = list_first(&w->held);
        if (first == NULL)
            return 0;
        struct watch_segment *g = container_of(first, struct watch_segment, order);
        struct watch_pair *p = &w->pairs[g->pair];
        if (!decided(p) && (w->ending || w->held_len > WATCH_HELD_MAX))
            force(w, p);
        if (!decided(p))
            return 0;
        list_sub(&g->order);
        w->held_len--;
        p->waiting--;
        w->rows.len = w->rows.next = 0;
        w->counters.other += p->refused;
        int rc = p->refused ? 0 : process(w, g);
        free(g);
        if (rc != 0)
            return rc;
    }
    *row = &w->rows.at[w->rows.next++];
    return 1;
}
