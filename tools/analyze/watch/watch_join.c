/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checkpoint passes the flows f1, f2 … in this order. Its report returns through g1, g2 …: the
 * first of these starts where the last of the others ended. So g1 belongs to the last f, g2 to the
 * one before it. Each report is one vote, and the majority counts, because captures miss packets.
 * The first flow of all data begins at the sender, the last one ends at the receiver. What can go
 * wrong: sessions without any report (nothing is matched); session numbers that a restarted node
 * uses again (few of the votes); no memory.
 */
#include "tools/analyze/watch/watch_pair.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "ltp/segment.h"

#define HOPS_MAX 8 /* of one segment that are distinguished */

enum sight_kind { SIGHT_DATA, SIGHT_CHECKPOINT, SIGHT_REPORT, SIGHT_CANCEL, SIGHT_CANCEL_ACK };

/* A segment, however often it was sent, and the flows in which it was seen, in order of time. */
struct sight {
    struct hash_node node;
    enum sight_kind kind;
    uint64_t originator, session, serial;
    size_t len;
    uint32_t flow[HOPS_MAX];
};

struct join {
    struct watch_pairs *w;
    struct hash sights;
    uint32_t *votes;        /* flows × flows: belong together */
    uint32_t *first, *last; /* how often a flow was the first, the last of a segment's */
};

static int init_join(struct join *j, struct watch_pairs *w)
{
    assert(w->flows_len <= WATCH_FLOWS_MAX);
    size_t n = w->flows_len;
    *j = (struct join){.w = w};
    int rc = hash_init(&j->sights, 1);
    if (rc != 0)
        return rc;
    j->votes = calloc(n * n, sizeof *j->votes);
    j->first = calloc(n, sizeof *j->first);
    j->last = calloc(n, sizeof *j->last);
    return j->votes != NULL && j->first != NULL && j->last != NULL ? 0 : HELIO_ENOMEM;
}

static void fini_join(struct join *j)
{
    struct hash_node *n;
    while (j->sights.slots != NULL && (n = hash_walk(&j->sights, NULL)) != NULL) {
        hash_sub(&j->sights, n);
        free(container_of(n, struct sight, node));
    }
    hash_fini(&j->sights);
    free(j->votes);
    free(j->first);
    free(j->last);
}

static struct sight *find_sight(const struct join *j, enum sight_kind kind, const struct event *e,
                                uint64_t serial)
{
    uint64_t hash = hash_mix(hash_mix(kind, e->originator, e->session), serial, 0);
    for (struct hash_node *n = hash_find(&j->sights, hash); n != NULL; n = hash_next(n)) {
        struct sight *s = container_of(n, struct sight, node);
        if (s->kind == kind && s->originator == e->originator && s->session == e->session &&
            s->serial == serial)
            return s;
    }
    return NULL;
}

/* The segment has been seen in this flow. *place is which of its flows that is, from 0;
 * HOPS_MAX when it was seen there before, or in too many. 0 or HELIO_ENOMEM. */
static int note_sight(struct join *j, enum sight_kind kind, const struct event *e, uint64_t serial,
                      uint32_t flow, size_t *place)
{
    struct sight *s = find_sight(j, kind, e, serial);
    *place = HOPS_MAX;
    if (s == NULL) {
        s = calloc(1, sizeof *s);
        if (s == NULL)
            return HELIO_ENOMEM;
        s->kind = kind;
        s->originator = e->originator;
        s->session = e->session;
        s->serial = serial;
        hash_add(&j->sights, &s->node,
                 hash_mix(hash_mix(kind, e->originator, e->session), serial, 0));
    }
    for (size_t i = 0; i < s->len; i++)
        if (s->flow[i] == flow)
            return 0;
    if (s->len < HOPS_MAX) {
        *place = s->len;
        s->flow[s->len++] = flow;
    }
    assert(s->len > 0 && s->len <= HOPS_MAX);
    return 0;
}

/* The answer to what passed `asked` was seen in `flow`, at the `place`th of its flows. */
static void vote_pair(struct join *j, const struct sight *asked, size_t place, uint32_t flow)
{
    if (asked == NULL || place >= asked->len)
        return;
    uint32_t other = asked->flow[asked->len - 1 - place];
    assert(flow < j->w->flows_len && other < j->w->flows_len);
    j->votes[flow * j->w->flows_len + other]++;
    j->votes[other * j->w->flows_len + flow]++;
}

static int look_at(struct join *j, const struct watch_segment *g)
{
    const struct event *e = &g->event;
    size_t place;
    int rc = 0;
    if (e->session == EVENT_NONE || watch_pair_of(j->w, g)->refused)
        return 0;
    if (e->type < LTP_RS && e->offset == 0)
        rc = note_sight(j, SIGHT_DATA, e, 0, g->flow, &place);
    if (rc == 0 && e->type >= LTP_RED_CP && e->type <= LTP_RED_CP_EOB)
        return note_sight(j, SIGHT_CHECKPOINT, e, e->cp_serial, g->flow, &place);
    if (rc == 0 && e->type == LTP_CS)
        return note_sight(j, SIGHT_CANCEL, e, 0, g->flow, &place);
    if (rc == 0 && e->type == LTP_RS) {
        rc = note_sight(j, SIGHT_REPORT, e, e->rpt_serial, g->flow, &place);
        if (rc == 0)
            vote_pair(j, find_sight(j, SIGHT_CHECKPOINT, e, e->cp_serial), place, g->flow);
    } else if (rc == 0 && e->type == LTP_CAS) {
        rc = note_sight(j, SIGHT_CANCEL_ACK, e, 0, g->flow, &place);
        if (rc == 0)
            vote_pair(j, find_sight(j, SIGHT_CANCEL, e, 0), place, g->flow);
    }
    return rc;
}

/* The flow that is most probably the other direction of this one; -1: none. */
static long find_partner(const struct join *j, size_t flow)
{
    assert(flow < j->w->flows_len);
    size_t n = j->w->flows_len;
    long best = -1;
    for (size_t i = 0; i < n; i++) {
        uint32_t v = i != flow ? j->votes[flow * n + i] : 0;
        if (v > 0 && (best < 0 || v > j->votes[flow * n + (size_t)best]))
            best = (long)i;
    }
    assert(best != (long)flow && best < (long)n);
    return best;
}

/* All of `from` becomes `to`'s; with `turn` its ends change places. */
static void merge_pairs(struct watch_pairs *w, struct watch_pair *to, struct watch_pair *from,
                        bool turn)
{
    assert(to != from && !from->joined);
    for (size_t i = 0; i < w->flows_len; i++) {
        struct watch_flow *f = &w->flows[i];
        if (f->pair != (uint32_t)(from - w->pairs))
            continue;
        f->pair = (uint32_t)(to - w->pairs);
        f->end ^= turn;
    }
    for (int i = 0; i < 2; i++) {
        int x = i ^ turn;
        to->flows[i] += from->flows[x];
        to->data_bytes[i] += from->data_bytes[x];
        if (!watch_known(to->engine[i]) && watch_known(from->engine[x]))
            to->engine[i] = from->engine[x];
    }
    if (to->local < 0 && from->local >= 0) {
        to->local = from->local ^ turn;
        to->how = from->how;
    }
    to->trial += from->trial;
    to->waiting += from->waiting;
    to->ltp |= from->ltp;
    to->red |= from->red;
    assert(to->local < 2);
    from->joined = true;
}

static void join_flow(struct join *j, size_t flow)
{
    assert(flow < j->w->flows_len);
    struct watch_pairs *w = j->w;
    struct watch_pair *p = &w->pairs[w->flows[flow].pair];
    long other = watch_one_way(p) && !p->refused ? find_partner(j, flow) : -1;
    if (other < 0)
        return;
    struct watch_pair *q = &w->pairs[w->flows[other].pair];
    bool turn = w->flows[flow].end == w->flows[other].end;
    if (p == q || (p->started && q->started))
        return;
    /* rows that are made already know the pair that they are of */
    if (p->started || (!q->started && p < q))
        merge_pairs(w, p, q, turn);
    else
        merge_pairs(w, q, p, turn);
}

/* The two ends' engines are those of the sessions' other pairs, too. */
static void share_names(struct watch_pairs *w, const struct sight *s)
{
    for (size_t i = 1; i < s->len; i++) {
        const struct watch_flow *a = &w->flows[s->flow[i - 1]], *b = &w->flows[s->flow[i]];
        for (int x = 0; x < 2; x++) {
            uint64_t *one = &w->pairs[a->pair].engine[a->end ^ x];
            uint64_t *two = &w->pairs[b->pair].engine[b->end ^ x];
            uint64_t name = *one < *two ? *one : *two; /* unknown ones are the greatest */
            if (!watch_known(*one))
                *one = name;
            if (!watch_known(*two))
                *two = name;
        }
    }
}

static void note_order(struct join *j)
{
    for (struct hash_node *n = hash_walk(&j->sights, NULL); n != NULL;
         n = hash_walk(&j->sights, n)) {
        const struct sight *s = container_of(n, struct sight, node);
        if (s->len < 2 || s->kind > SIGHT_CHECKPOINT)
            continue;
        j->first[s->flow[0]]++;
        j->last[s->flow[s->len - 1]]++;
        share_names(j->w, s);
    }
}

/* Where sessions begin their sender is, and where they end their receiver. */
static void place_pairs(struct join *j)
{
    struct watch_pairs *w = j->w;
    for (size_t i = 0; i < w->pairs_len; i++) {
        uint64_t votes[2] = {0, 0};
        struct watch_pair *p = &w->pairs[i];
        for (size_t k = 0; k < w->flows_len; k++)
            if (w->flows[k].pair == i) {
                votes[w->flows[k].end] += j->first[k];
                votes[!w->flows[k].end] += j->last[k];
            }
        if (p->at == WATCH_AUTO && p->local < 0 && votes[0] != votes[1]) {
            p->local = votes[1] > votes[0];
            p->how = WATCH_BY_PASSAGE;
        }
    }
}

/* Once more, with the pairs as they are now. */
static void study_again(struct watch_pairs *w, struct list *held)
{
    for (size_t i = 0; i < w->pairs_len; i++)
        if (!w->pairs[i].started)
            watch_times_begin(&w->pairs[i].times);
    list_for_each (it, held) {
        const struct watch_segment *g = container_of(it, struct watch_segment, order);
        if (g->event.session != EVENT_NONE && !watch_pair_of(w, g)->started)
            watch_study_times(w, g);
    }
}

int watch_join(struct watch_pairs *w, struct list *held)
{
    struct join j;
    int rc = init_join(&j, w);
    list_for_each (it, held) {
        if (rc == 0)
            rc = look_at(&j, container_of(it, struct watch_segment, order));
    }
    if (rc == 0) {
        for (size_t i = 0; i < w->flows_len; i++)
            join_flow(&j, i);
        note_order(&j);
        place_pairs(&j);
        study_again(w, held);
    }
    fini_join(&j);
    return rc;
}
