/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two flows with exchanged addresses are a pair from the beginning; watch_join matches the others.
 * Times show at which end of a pair the capture was taken. What can go wrong: pairs whose end stays
 * unknown: they are assumed to be at the sender's end, and marked.
 */
#include "tools/analyze/watch/watch_pair.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "ltp/engine.h"

#define LTP_PORT 1113
#define PROBES 8         /* that decide where a capture was taken */
#define NAMES_WAIT 20000 /* segments for which the name of an engine is waited for */

static_assert(UINT64_MAX - WATCH_UNKNOWN >= 2 * (uint64_t)WATCH_PAIRS_MAX, "a number each");

int watch_pairs_init(struct watch_pairs *w, const struct watch_options *options)
{
    *w = (struct watch_pairs){.options = options};
    w->flows = calloc(WATCH_FLOWS_MAX, sizeof *w->flows);
    w->pairs = calloc(WATCH_PAIRS_MAX, sizeof *w->pairs);
    if (w->flows != NULL && w->pairs != NULL)
        return 0;
    watch_pairs_fini(w);
    return HELIO_ENOMEM;
}

void watch_pairs_fini(struct watch_pairs *w)
{
    free(w->flows);
    free(w->pairs);
}

static bool same_ip(const struct watch_end *a, const struct watch_end *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

static bool same_end(const struct watch_end *a, const struct watch_end *b, bool ports)
{
    return same_ip(a, b) && (!ports || a->port == b->port);
}

static uint64_t given_engine(const struct watch_pairs *w, const struct watch_end *end,
                             uint64_t otherwise)
{
    for (size_t i = 0; i < w->options->engines_len; i++) {
        const struct watch_engine *e = &w->options->engines[i];
        if (same_end(&e->end, end, e->end.port != 0))
            return e->number;
    }
    return otherwise;
}

/* Has to be LTP, by the port; with ports given, whether it is. */
static bool on_port(const struct watch_pairs *w, const struct watch_datagram *d)
{
    static const uint16_t usual[] = {LTP_PORT};
    const uint16_t *ports = w->options->ports_len > 0 ? w->options->ports : usual;
    size_t len = w->options->ports_len > 0 ? w->options->ports_len : 1;
    for (size_t i = 0; i < len; i++)
        if (ports[i] == d->from.port || ports[i] == d->to.port)
            return true;
    return false;
}

/* NULL: there is none. On one machine, ports distinguish the ends. Between machines, a node may
 * send from another port than it receives on. */
static struct watch_flow *find_flow(struct watch_pairs *w, const struct watch_end *from,
                                    const struct watch_end *to, bool by_port)
{
    assert(w->flows_len <= WATCH_FLOWS_MAX);
    bool ports = same_ip(from, to);
    for (size_t i = 0; i <= w->flows_len; i++) {
        size_t at = i == 0 ? w->last : i - 1;
        struct watch_flow *f = &w->flows[at];
        if (at < w->flows_len && f->by_port == by_port && same_end(&f->from, from, ports) &&
            same_end(&f->to, to, ports)) {
            w->last = at;
            return f;
        }
    }
    return NULL;
}

static struct watch_pair *add_pair(struct watch_pairs *w, const struct watch_datagram *d, bool ltp)
{
    if (w->pairs_len == WATCH_PAIRS_MAX)
        return NULL;
    assert(w->pairs_len < WATCH_PAIRS_MAX);
    struct watch_pair *p = &w->pairs[w->pairs_len];
    uint64_t unknown = WATCH_UNKNOWN + 2 * w->pairs_len++;
    *p = (struct watch_pair){.local = -1, .ltp = ltp};
    watch_times_begin(&p->times);
    p->engine[0] = given_engine(w, &d->from, unknown);
    p->engine[1] = given_engine(w, &d->to, unknown + 1);
    p->refused = !ltp && w->options->ports_len > 0;
    return p;
}

struct watch_flow *watch_flow_of(struct watch_pairs *w, const struct watch_datagram *d)
{
    bool ltp = on_port(w, d);
    struct watch_flow *f = find_flow(w, &d->from, &d->to, ltp);
    if (f != NULL || w->flows_len == WATCH_FLOWS_MAX)
        return f;
    const struct watch_flow *back = find_flow(w, &d->to, &d->from, ltp);
    struct watch_pair *p = back != NULL ? &w->pairs[back->pair] : add_pair(w, d, ltp);
    if (p == NULL)
        return NULL;
    f = &w->flows[w->flows_len++];
    *f = (struct watch_flow){.from = d->from,
                             .to = d->to,
                             .by_port = ltp,
                             .pair = (uint32_t)(p - w->pairs),
                             .end = back != NULL ? !back->end : 0};
    p->flows[f->end]++;
    assert(f->pair < w->pairs_len && (f->end == 0 || f->end == 1));
    return f;
}

static bool from_originator(int type)
{
    return type < LTP_RS || type == LTP_RA || type == LTP_CS || type == LTP_CAR;
}

int watch_from(const struct watch_pairs *w, const struct watch_segment *g)
{
    assert(g->flow < w->flows_len);
    return w->flows[g->flow].end;
}

int watch_sending_end(const struct watch_pairs *w, const struct watch_segment *g)
{
    return from_originator(g->event.type) ? watch_from(w, g) : !watch_from(w, g);
}

struct watch_pair *watch_pair_of(const struct watch_pairs *w, const struct watch_segment *g)
{
    assert(g->flow < w->flows_len);
    return &w->pairs[w->flows[g->flow].pair];
}

void watch_times_begin(struct watch_times *t)
{
    *t = (struct watch_times){0};
    for (int i = 0; i < 4; i++)
        t->response[i / 2][i % 2] = t->loose[i / 2][i % 2] = TICK_NEVER;
}

/* A checkpoint, its report and the acknowledgement have been seen; the answer took `back`. */
static void note_answer(struct watch_times *p, int x, struct watch_probe *b, tick back)
{
    assert(x == 0 || x == 1);
    assert(b->stage == 2);
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
static bool is_first(struct watch_times *p, int x, const struct event *e)
{
    for (size_t i = 0; i < WATCH_SEEN; i++)
        if (p->seen[x][i][0] == e->session && p->seen[x][i][1] == e->cp_serial)
            return false;
    uint64_t *place = p->seen[x][p->seen_next[x]++ % WATCH_SEEN];
    place[0] = e->session;
    place[1] = e->cp_serial;
    return true;
}

static uint32_t count_votes(const struct watch_pair *p)
{
    return p->times.votes[0] + p->times.votes[1];
}

static void place_pair(struct watch_pair *p, int local, enum watch_how how)
{
    assert(p->local < 0 && (local == 0 || local == 1) && how != WATCH_OPEN);
    p->local = local;
    p->how = how;
}

int watch_most_data(const struct watch_pair *p)
{
    return p->data_bytes[1] > p->data_bytes[0];
}

/* Times from checkpoint to report, and from report to its acknowledgement: the short one is that of
 * the end where the capture was taken. */
void watch_study_times(struct watch_pairs *w, const struct watch_segment *g)
{
    struct watch_pair *pair = watch_pair_of(w, g);
    struct watch_times *p = &pair->times;
    const struct event *e = &g->event;
    int x = watch_sending_end(w, g);
    struct watch_probe *b = &p->probe[x];
    bool same = b->stage > 0 && b->session == e->session && b->originator == e->originator;
    bool checkpoint = e->type >= LTP_RED_CP && e->type <= LTP_RED_CP_EOB;
    /* a report that a checkpoint answers was heard: its acknowledgement is lost and need not come
     */
    bool heard = same && checkpoint && b->stage == 2 && e->rpt_serial == b->serial;
    bool lost = heard || (b->stage > 0 && e->now - b->at > 10 * TICK_S);
    if (checkpoint && is_first(p, x, e) && b->stage == 0) {
        *b = (struct watch_probe){.stage = 1,
                                  .originator = e->originator,
                                  .session = e->session,
                                  .serial = e->cp_serial,
                                  .at = e->now};
    } else if (lost) {
        b->stage = 0;
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
        note_answer(p, x, b, e->now - b->at);
        if (pair->local < 0 && pair->at == WATCH_AUTO && count_votes(pair) >= PROBES)
            place_pair(pair, p->votes[1] > p->votes[0], WATCH_BY_TIMES);
    }
}

void watch_study(struct watch_pairs *w, const struct watch_segment *g, int outgoing)
{
    const struct event *e = &g->event;
    struct watch_pair *p = watch_pair_of(w, g);
    int x = watch_sending_end(w, g), from = watch_from(w, g);
    if (!watch_known(p->engine[x]))
        p->engine[x] = e->originator;
    if (e->type < LTP_RS)
        p->data_bytes[from] += e->length;
    p->red |= e->type < LTP_GREEN_DATA || e->type == LTP_RS;
    if (p->local < 0 && outgoing >= 0)
        place_pair(p, outgoing == 1 ? from : !from, WATCH_NOTED);
    else if (p->local < 0 && p->at != WATCH_AUTO && e->type < LTP_GREEN_DATA)
        place_pair(p, p->at == WATCH_SENDER ? from : !from, WATCH_GIVEN);
    watch_study_times(w, g);
}

void watch_force(struct watch_pair *p)
{
    int sender = watch_most_data(p);
    const uint32_t *v = p->times.votes;
    p->named = true;
    p->ltp = true;
    if (p->local >= 0)
        return;
    if (v[0] != v[1])
        place_pair(p, v[1] > v[0], WATCH_BY_TIMES);
    else if (p->at != WATCH_AUTO)
        place_pair(p, p->at == WATCH_RECEIVER ? !sender : sender, WATCH_GIVEN);
    else
        place_pair(p, sender, WATCH_ASSUMED);
    assert(p->local >= 0);
}

/* Are both times of sessions of this end known from what was sent once? */
static bool is_timed(const struct watch_pair *p, int end)
{
    const tick *t = p->times.response[end];
    return t[0] != TICK_NEVER && t[1] != TICK_NEVER;
}

bool watch_decided(struct watch_pair *p)
{
    bool timed = is_timed(p, 0) || is_timed(p, 1) || count_votes(p) > 8 * PROBES;
    p->named |= watch_known(p->engine[0]) && watch_known(p->engine[1]) && timed;
    p->named |= p->waiting > NAMES_WAIT;
    return p->refused || (p->ltp && p->local >= 0 && p->named);
}

bool watch_one_way(const struct watch_pair *p)
{
    return p->flows[0] == 0 || p->flows[1] == 0;
}
