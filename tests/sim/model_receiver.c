/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session is a buffer, the ranges that have arrived, the checkpoints that were answered and the
 * reports that were made. It ends when acknowledged reports claim all of it, or by a cancel. All
 * lists are short or searched linearly: these are models, not engines.
 */
#include "tests/sim/model_receiver.h"

#include <assert.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/ranges.h"
#include "base/rng.h"
#include "ltp/segment.h"

struct model_report {
    struct list in_session;
    uint64_t serial, cp_serial;
    struct range scope;
    tick due; /* of the delay, then of the timer */
    uint32_t sent;
    bool wanted, acked; /* wanted: to be sent now */
    size_t count;
    struct range *claims;
};

struct model_session {
    struct list in_model;
    struct ltp_session_id id;
    uint8_t *bytes;
    size_t cap;
    struct ranges got, acked;
    uint64_t red_len; /* UINT64_MAX: unknown */
    uint64_t client_service, next_serial, primary_upper;
    uint64_t *answered; /* checkpoints' serials */
    size_t answered_len;
    bool delivered, reported_whole;
    struct list reports;
};

struct model_cancel {
    struct list in_model;
    struct ltp_session_id id;
    tick due;
    uint32_t sent;
};

struct model_done {
    struct list in_model;
    struct ltp_session_id id;
    struct buf *block;
};

struct model_ack {
    struct list in_model;
    uint8_t type;
    struct ltp_session_id id;
};

struct model {
    struct model_config config;
    struct rng rng;
    struct list sessions, cancels, done, acks;
    struct ltp_session_id *closed; /* a ring */
    size_t closed_len, closed_cap;
    bool spoil; /* a damaged datagram is due */
    struct model_counters n;
};

struct model_traits model_ion(uint32_t answers_max, tick round_trip)
{
    tick seconds = round_trip / TICK_S + 2;
    return (struct model_traits){.name = "ion",
                                 .report_each = true,
                                 .answers_max = answers_max,
                                 .none_before_end = true,
                                 .claims_max = 20,
                                 .rto = seconds * TICK_S,
                                 .malformed = 0.2,
                                 .forgets = 65536};
}

struct model_traits model_hdtn(tick round_trip, tick deferred)
{
    return (struct model_traits){.name = deferred > 0 ? "hdtn" : "hdtn, none deferred",
                                 .claims_max = 200,
                                 .report_delay = deferred,
                                 .rto = round_trip + 50 * TICK_MS,
                                 .acks_cancel = true,
                                 .forgets = 65536};
}

struct model_traits model_strict(tick round_trip)
{
    return (struct model_traits){.name = "strict",
                                 .repeat = true,
                                 .repeats_max = 20,
                                 .claims_max = 200,
                                 .rto = round_trip + 20 * TICK_MS,
                                 .acks_cancel = true,
                                 .forgets = 65536};
}

struct model_traits model_licklider(tick round_trip)
{
    return (struct model_traits){.name = "licklider",
                                 .repeat = true,
                                 .repeat_acked = true,
                                 .answers_max = 64,
                                 .claims_max = 100,
                                 .rto = round_trip + 4 * TICK_S,
                                 .acks_cancel = true,
                                 .forgets = 65536};
}

static void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

struct model *model_new(const struct model_config *config)
{
    struct model *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->config = *config;
    rng_init(&m->rng, config->seed);
    list_init(&m->sessions);
    list_init(&m->cancels);
    list_init(&m->done);
    list_init(&m->acks);
    m->closed_cap = (size_t)config->traits.forgets + 1;
    m->closed = must(calloc(m->closed_cap, sizeof *m->closed));
    return m;
}

static void free_session(struct model_session *s)
{
    list_for_each_safe (it, &s->reports) {
        struct model_report *r = container_of(it, struct model_report, in_session);
        free(r->claims);
        free(r);
    }
    list_sub(&s->in_model);
    ranges_fini(&s->got);
    ranges_fini(&s->acked);
    free(s->answered);
    free(s->bytes);
    free(s);
}

void model_restart(struct model *m)
{
    list_for_each_safe (it, &m->sessions)
        free_session(container_of(it, struct model_session, in_model));
    list_for_each_safe (it, &m->cancels) {
        list_sub(it);
        free(container_of(it, struct model_cancel, in_model));
    }
    list_for_each_safe (it, &m->acks) {
        list_sub(it);
        free(container_of(it, struct model_ack, in_model));
    }
    m->closed_len = 0;
    m->spoil = false;
}

void model_free(struct model *m)
{
    if (m == NULL)
        return;
    model_restart(m);
    struct ltp_session_id id;
    for (struct buf *b = model_block(m, &id); b != NULL; b = model_block(m, &id))
        buf_drop(b);
    free(m->closed);
    free(m);
}

static bool same(struct ltp_session_id a, struct ltp_session_id b)
{
    return a.originator == b.originator && a.number == b.number;
}

static struct model_session *find_session(const struct model *m, struct ltp_session_id id)
{
    list_for_each (it, &m->sessions) {
        struct model_session *s = container_of(it, struct model_session, in_model);
        if (same(s->id, id))
            return s;
    }
    return NULL;
}

static bool was_closed(const struct model *m, struct ltp_session_id id)
{
    size_t n = m->closed_len < m->closed_cap ? m->closed_len : m->closed_cap;
    for (size_t i = 0; i < n; i++) {
        if (same(m->closed[i], id))
            return true;
    }
    return false;
}

static void close_session(struct model *m, struct model_session *s)
{
    m->closed[m->closed_len++ % m->closed_cap] = s->id;
    free_session(s);
}

static void cancel_session(struct model *m, struct model_session *s, tick now)
{
    struct model_cancel *c = must(calloc(1, sizeof *c));
    c->id = s->id;
    c->due = now;
    list_add_tail(&m->cancels, &c->in_model);
    m->n.cancels++;
    close_session(m, s);
}

static struct model_session *open_session(struct model *m, const struct ltp_segment *seg)
{
    struct model_session *s = must(calloc(1, sizeof *s));
    s->id = seg->id;
    s->client_service = seg->client_service;
    s->red_len = UINT64_MAX;
    s->next_serial = 1 + rng_below(&m->rng, 8192);
    ranges_init(&s->got);
    ranges_init(&s->acked);
    list_init(&s->reports);
    list_add_tail(&m->sessions, &s->in_model);
    return s;
}

static void keep_bytes(struct model_session *s, const struct ltp_segment *seg)
{
    size_t end = (size_t)seg->offset + seg->data.len;
    if (end > s->cap) {
        size_t cap = s->cap * 2 > end ? s->cap * 2 : end;
        s->bytes = must(realloc(s->bytes, cap));
        s->cap = cap;
    }
    memcpy(s->bytes + seg->offset, seg->data.data, seg->data.len);
    if (ranges_add(&s->got, seg->offset, end, SIZE_MAX) < 0)
        abort();
}

static bool is_whole(const struct model_session *s)
{
    return s->red_len != UINT64_MAX && ranges_has(&s->got, 0, s->red_len);
}

static void deliver(struct model *m, struct model_session *s)
{
    struct model_done *d = must(calloc(1, sizeof *d));
    d->id = s->id;
    d->block = must(buf_new(0, s->red_len));
    memcpy(buf_append(d->block, s->red_len), s->bytes, s->red_len);
    list_add_tail(&m->done, &d->in_model);
    s->delivered = true;
    m->n.blocks++;
}

/* The part of the scope that one report can claim; returns where the next one begins. */
static uint64_t make_report(struct model *m, struct model_session *s, uint64_t cp_serial,
                            struct range scope, tick now)
{
    const struct model_traits *t = &m->config.traits;
    struct model_report *r = must(calloc(1, sizeof *r));
    r->claims = must(calloc(t->claims_max, sizeof *r->claims));
    r->serial = s->next_serial++;
    r->cp_serial = cp_serial;
    r->due = tick_add(now, t->report_delay);
    size_t i = ranges_find(&s->got, scope.lo);
    for (; i < s->got.len && s->got.at[i].lo < scope.hi && r->count < t->claims_max; i++) {
        struct range g = s->got.at[i];
        r->claims[r->count].lo = g.lo < scope.lo ? scope.lo : g.lo;
        r->claims[r->count++].hi = g.hi > scope.hi ? scope.hi : g.hi;
    }
    bool more = i < s->got.len && s->got.at[i].lo < scope.hi;
    r->scope = (struct range){scope.lo, more ? r->claims[r->count - 1].hi : scope.hi};
    list_add_tail(&s->reports, &r->in_session);
    m->n.reports++;
    return r->scope.hi;
}

static void answer(struct model *m, struct model_session *s, uint64_t cp_serial, struct range scope,
                   tick now)
{
    s->reported_whole |= is_whole(s) && scope.lo == 0 && scope.hi == s->red_len;
    while (scope.lo < scope.hi)
        scope.lo = make_report(m, s, cp_serial, scope, now);
}

/* A checkpoint that was answered before. False: the session has ended. */
static bool meet_copy(struct model *m, struct model_session *s, uint64_t cp_serial, tick now)
{
    const struct model_traits *t = &m->config.traits;
    list_for_each (it, &s->reports) {
        struct model_report *r = container_of(it, struct model_report, in_session);
        if (r->cp_serial != cp_serial || !t->repeat || (r->acked && !t->repeat_acked))
            continue;
        if (t->repeats_max > 0 && r->sent > t->repeats_max) {
            cancel_session(m, s, now);
            return false;
        }
        r->wanted = r->sent > 0;
    }
    return true;
}

static uint64_t lower_of(const struct model_session *s, uint64_t serial)
{
    list_for_each (it, &s->reports) {
        const struct model_report *r = container_of(it, struct model_report, in_session);
        if (r->serial == serial)
            return r->scope.lo;
    }
    return 0;
}

static bool known(const struct model_session *s, uint64_t cp_serial)
{
    for (size_t i = 0; i < s->answered_len; i++) {
        if (s->answered[i] == cp_serial)
            return true;
    }
    return false;
}

static void meet_checkpoint(struct model *m, struct model_session *s, const struct ltp_segment *seg,
                            tick now)
{
    const struct model_traits *t = &m->config.traits;
    bool again = known(s, seg->cp_serial);
    if (again && !t->report_each) {
        meet_copy(m, s, seg->cp_serial, now);
        return;
    }
    if (t->report_each && s->reported_whole)
        return;
    bool early = t->none_before_end && s->red_len == UINT64_MAX;
    if (early || (t->answers_max > 0 && s->answered_len >= t->answers_max)) {
        cancel_session(m, s, now);
        return;
    }
    s->answered = must(realloc(s->answered, (s->answered_len + 1) * sizeof *s->answered));
    s->answered[s->answered_len++] = seg->cp_serial;
    struct range scope = {.lo = s->primary_upper, .hi = seg->offset + seg->data.len};
    if (t->report_each && s->red_len != UINT64_MAX)
        scope.hi = s->red_len;
    if (seg->rpt_serial != 0)
        scope.lo = lower_of(s, seg->rpt_serial);
    else if (t->report_each)
        scope.lo = 0;
    else if (scope.hi > s->primary_upper)
        s->primary_upper = scope.hi;
    answer(m, s, seg->cp_serial, scope, now);
}

static void input_data(struct model *m, const struct ltp_segment *seg, tick now)
{
    struct model_session *s = find_session(m, seg->id);
    if (s == NULL && was_closed(m, seg->id)) {
        m->n.ignored++;
        return;
    }
    if (s == NULL)
        s = open_session(m, seg);
    bool before = is_whole(s);
    keep_bytes(s, seg);
    if (seg->type == LTP_RED_CP_EORP || seg->type == LTP_RED_CP_EOB)
        s->red_len = seg->offset + seg->data.len;
    bool completes = !before && is_whole(s);
    if (completes)
        deliver(m, s);
    if (segment_is_checkpoint(seg))
        meet_checkpoint(m, s, seg, now);
    else if (completes && m->config.traits.at_end)
        answer(m, s, 0, (struct range){0, s->red_len}, now);
}

static void input_ack(struct model *m, const struct ltp_segment *seg)
{
    struct model_session *s = find_session(m, seg->id);
    if (s == NULL)
        return;
    list_for_each (it, &s->reports) {
        struct model_report *r = container_of(it, struct model_report, in_session);
        if (r->serial != seg->rpt_serial)
            continue;
        r->acked = true;
        for (size_t i = 0; i < r->count; i++) {
            if (ranges_add(&s->acked, r->claims[i].lo, r->claims[i].hi, SIZE_MAX) < 0)
                abort();
        }
    }
    if (s->red_len != UINT64_MAX && ranges_has(&s->acked, 0, s->red_len))
        close_session(m, s);
}

static void input_cancel(struct model *m, const struct ltp_segment *seg)
{
    struct model_session *s = find_session(m, seg->id);
    if (s == NULL && !m->config.traits.acks_cancel)
        return;
    struct model_ack *a = must(calloc(1, sizeof *a));
    a->type = LTP_CAS;
    a->id = seg->id;
    list_add_tail(&m->acks, &a->in_model);
    if (s != NULL)
        close_session(m, s);
}

static void input_cancel_ack(struct model *m, const struct ltp_segment *seg)
{
    list_for_each_safe (it, &m->cancels) {
        struct model_cancel *c = container_of(it, struct model_cancel, in_model);
        if (!same(c->id, seg->id))
            continue;
        list_sub(it);
        free(c);
    }
}

void model_input(struct model *m, const uint8_t *data, size_t len, tick now)
{
    struct ltp_segment seg;
    if (segment_parse(&seg, data, len) != VERDICT_OK)
        return;
    if (segment_is_data(&seg) && segment_is_red(&seg))
        input_data(m, &seg, now);
    else if (seg.type == LTP_RA)
        input_ack(m, &seg);
    else if (seg.type == LTP_CS)
        input_cancel(m, &seg);
    else if (seg.type == LTP_CAR)
        input_cancel_ack(m, &seg);
}

/* Timers only want: what is wanted is sent when the line asks. */
static void expire_session(struct model *m, struct model_session *s, tick now)
{
    const struct model_traits *t = &m->config.traits;
    list_for_each (it, &s->reports) {
        struct model_report *r = container_of(it, struct model_report, in_session);
        if (r->acked || r->wanted || r->due > now)
            continue;
        uint32_t most = t->repeats_max > 0 ? t->repeats_max : 100;
        if (r->sent > most) {
            cancel_session(m, s, now);
            return;
        }
        if (r->sent > 0 && rng_chance(&m->rng, t->malformed))
            m->spoil = true;
        r->wanted = true;
    }
}

void model_expire(struct model *m, tick now)
{
    list_for_each_safe (it, &m->sessions)
        expire_session(m, container_of(it, struct model_session, in_model), now);
    list_for_each_safe (it, &m->cancels) {
        struct model_cancel *c = container_of(it, struct model_cancel, in_model);
        if (c->due > now || c->sent <= 100)
            continue;
        list_sub(it);
        free(c);
    }
}

tick model_deadline(const struct model *m)
{
    tick due = TICK_NEVER;
    list_for_each (it, &m->sessions) {
        const struct model_session *s = container_of(it, struct model_session, in_model);
        list_for_each (rt, &s->reports) {
            const struct model_report *r = container_of(rt, struct model_report, in_session);
            if (!r->acked && !r->wanted)
                due = tick_min(due, r->due);
        }
    }
    list_for_each (it, &m->cancels)
        due = tick_min(due, container_of(it, struct model_cancel, in_model)->due);
    return due;
}

static size_t write_report(struct model *m, const struct model_session *s, struct model_report *r,
                           uint8_t *out, size_t cap, tick now)
{
    struct ltp_segment seg = {.type = LTP_RS,
                              .id = s->id,
                              .rpt_serial = r->serial,
                              .cp_serial = r->cp_serial,
                              .lower = r->scope.lo,
                              .upper = r->scope.hi,
                              .claim_count = r->count};
    m->n.repeats += r->sent > 0;
    r->sent++;
    r->wanted = false;
    r->due = tick_add(now, m->config.traits.rto);
    return segment_write_report(&seg, r->claims, out, cap);
}

static size_t write_cancel(struct model *m, struct model_cancel *c, uint8_t *out, size_t cap,
                           tick now)
{
    struct ltp_segment seg = {.type = LTP_CR, .id = c->id, .reason = LTP_RLEXC};
    c->sent++;
    c->due = tick_add(now, m->config.traits.rto);
    return segment_write(&seg, out, cap);
}

static size_t next_report(struct model *m, uint8_t *out, size_t cap, tick now)
{
    list_for_each (it, &m->sessions) {
        struct model_session *s = container_of(it, struct model_session, in_model);
        list_for_each (rt, &s->reports) {
            struct model_report *r = container_of(rt, struct model_report, in_session);
            if (r->wanted || (r->sent == 0 && r->due <= now))
                return write_report(m, s, r, out, cap, now);
        }
    }
    return 0;
}

size_t model_output(struct model *m, uint8_t *out, size_t cap, tick now)
{
    assert(cap >= 2048);
    struct list *first = list_first(&m->acks);
    if (first != NULL) {
        struct model_ack *a = container_of(first, struct model_ack, in_model);
        struct ltp_segment seg = {.type = a->type, .id = a->id};
        list_sub(first);
        free(a);
        return segment_write(&seg, out, cap);
    }
    list_for_each (it, &m->cancels) {
        struct model_cancel *c = container_of(it, struct model_cancel, in_model);
        if (c->due <= now)
            return write_cancel(m, c, out, cap, now);
    }
    size_t len = next_report(m, out, cap, now);
    if (len == 0 || !m->spoil)
        return len;
    m->spoil = false;
    m->n.malformed++;
    return len - 1; /* its last claim is cut off: the report is sent at its next turn */
}

struct buf *model_block(struct model *m, struct ltp_session_id *id)
{
    struct list *first = list_first(&m->done);
    if (first == NULL)
        return NULL;
    struct model_done *d = container_of(first, struct model_done, in_model);
    struct buf *block = d->block;
    *id = d->id;
    list_sub(first);
    free(d);
    return block;
}

const struct model_counters *model_counters(const struct model *m)
{
    return &m->n;
}

size_t model_open(const struct model *m)
{
    size_t n = 0;
    list_for_each (it, &m->sessions)
        n++;
    list_for_each (it, &m->cancels)
        n++;
    return n;
}
