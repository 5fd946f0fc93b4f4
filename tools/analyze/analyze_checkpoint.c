/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arrival belongs to the last transmission that can have arrived by that time, a drop to the
 * last transmission before it. What can go wrong: times with jitter; arrivals without a
 * transmission (clocks that differ, copies made in transit); and sessions with too many checkpoints
 * or retransmissions of them, where the excess is only counted.
 */
#include "tools/analyze/analyze_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

#define JITTER TICK_MS /* of a node's clock when it logs a segment */

/* The latest ones are looked up most often. */
struct analyze_cp *analyze_cp_find(const struct analyze_session *s, uint64_t serial)
{
    assert(s->cp_len <= s->cp_cap);
    for (uint32_t i = s->cp_len; i > 0; i--)
        if (s->cp[i - 1].serial == serial)
            return &s->cp[i - 1];
    return NULL;
}

/* 0 or HELIO_ENOMEM; *out is NULL when there are too many to follow. */
static int take_cp(struct analyze_session *s, uint64_t serial, struct analyze_cp **out)
{
    *out = analyze_cp_find(s, serial);
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
    assert(s->cp_len < s->cp_cap && s->cp_len < ANALYZE_SERIALS_MAX);
    *out = &s->cp[s->cp_len++];
    **out = (struct analyze_cp){
        .serial = serial, .first = TICK_NEVER, .last = TICK_NEVER, .begin = TICK_NEVER};
    return 0;
}

static int add_sending(struct analyze_cp *c, const struct event *e)
{
    assert(c->len <= c->cap && c->len <= ANALYZE_SENDINGS_MAX);
    if (c->len == ANALYZE_SENDINGS_MAX)
        return 0;
    if (c->len == c->cap) {
        uint32_t cap = c->cap == 0 ? 1 : 2 * c->cap;
        struct analyze_sending *grown = reallocarray(c->sending, cap, sizeof *grown);
        if (grown == NULL)
            return HELIO_ENOMEM;
        c->sending = grown;
        c->cap = cap;
    }
    assert(c->len < c->cap);
    c->sending[c->len++] = (struct analyze_sending){
        .at = e->now, .copy = c->sent > 0 && e->cause == CAUSE_PROACTIVE, .received = c->early > 0};
    c->early -= c->early > 0;
    return 0;
}

int analyze_cp_sent(struct analyze_session *s, const struct event *e)
{
    struct analyze_cp *c;
    int rc = take_cp(s, e->cp_serial, &c);
    s->cp_sent++;
    if (rc != 0 || c == NULL)
        return rc;
    assert(c->serial == e->cp_serial && c->len <= c->sent);
    if (c->sent == 0) {
        c->first = e->now;
        if (e->rpt_serial != EVENT_NONE && e->rpt_serial != 0 && e->rpt_serial == s->gap_report)
            c->begin = s->gap_time;
    } else if (e->cause == CAUSE_TIMER && e->now >= c->last) {
        hist_add(&s->path->rto, e->now - c->last);
        s->rto_time += e->now - c->last;
    }
    rc = add_sending(c, e);
    c->sent++;
    c->last = e->now;
    assert(c->sent > 0 && c->len <= c->sent);
    return rc;
}

/* A transmission too short a time ago cannot be the one that arrived. */
static bool can_have_come(const struct analyze_sending *t, tick now, tick delay)
{
    return delay == TICK_NEVER ||
           (now >= t->at && now - t->at >= delay - tick_min(delay / 16, JITTER));
}

/* The last transmission that can have arrived and is not yet matched. If the clocks of real nodes
 * leave none, the first unmatched one. NULL: all are matched. */
static struct analyze_sending *which_came(const struct analyze_cp *c, tick now, tick delay)
{
    assert(c->len <= c->cap);
    uint32_t n = c->len;
    while (n > 1 && !can_have_come(&c->sending[n - 1], now, delay))
        n--;
    while (n > 0 && c->sending[n - 1].received)
        n--;
    if (n > 0)
        return &c->sending[n - 1];
    while (n < c->len && c->sending[n].received)
        n++;
    return n < c->len ? &c->sending[n] : NULL;
}

int analyze_cp_arrived(struct analyze_session *s, const struct event *e)
{
    struct analyze_cp *c;
    int rc = take_cp(s, e->cp_serial, &c);
    s->cp_received++;
    if (rc != 0 || c == NULL)
        return rc;
    assert(c->serial == e->cp_serial);
    c->received++;
    c->early += c->sent == 0;
    if (c->len == 1 && e->now >= c->first)
        s->path->delay = tick_min(s->path->delay, e->now - c->first);
    struct analyze_sending *t = which_came(c, e->now, s->path->delay);
    if (t != NULL)
        t->received = true;
    return 0;
}

void analyze_cp_dropped(struct analyze_session *s, uint64_t serial)
{
    assert(s->cp_len <= s->cp_cap);
    struct analyze_cp *c = analyze_cp_find(s, serial);
    s->cp_dropped++;
    uint32_t n = c != NULL ? c->len : 0;
    while (n > 1 && c->sending[n - 1].dropped)
        n--;
    if (n > 0)
        c->sending[n - 1].dropped = true;
}

static bool under_way(const struct analyze_session *s, tick at, tick end)
{
    assert(s->path != NULL);
    return s->path->delay != TICK_NEVER && at <= end && end - at <= s->path->delay;
}

uint64_t analyze_cp_missing(const struct analyze_session *s, tick end)
{
    uint64_t lost = 0, way = 0;
    for (uint32_t i = 0; i < s->cp_len; i++) {
        const struct analyze_cp *c = &s->cp[i];
        for (uint32_t n = c->len; n > 0 && under_way(s, c->sending[n - 1].at, end); n--)
            way += !c->sending[n - 1].received;
        assert(c->len <= c->sent);
        lost += c->sent > c->received ? c->sent - c->received : 0;
    }
    if (s->cp_len == ANALYZE_SERIALS_MAX) /* not all of them were followed */
        lost = s->cp_sent > s->cp_received ? s->cp_sent - s->cp_received : 0;
    return lost > way ? lost - way : 0;
}

static bool is_lost(const struct analyze_session *s, const struct analyze_sending *t, tick end)
{
    return s->basis == BASIS_DROPS ? t->dropped : !t->received && !under_way(s, t->at, end);
}

/* Transmissions that were lost with all their copies and that the session waited for. A completed
 * session did not wait for a checkpoint that it never repeated (early checkpoints whose data a
 * later report claimed). */
static uint64_t rounds_lost(const struct analyze_session *s, const struct analyze_cp *c, tick end)
{
    assert(s->basis >= BASIS_RECEIVER);
    uint64_t n = 0;
    bool all = false;
    for (uint32_t i = 0; i < c->len; i++) {
        const struct analyze_sending *t = &c->sending[i];
        n += !t->copy && all;
        all = (!t->copy || all) && is_lost(s, t, end);
    }
    return n + (all && s->outcome != OUTCOME_DONE);
}

uint64_t analyze_cp_waits(const struct analyze_session *s, tick end)
{
    uint64_t n = 0;
    if (s->basis < BASIS_RECEIVER)
        return s->rto_checkpoint;
    for (uint32_t i = 0; i < s->cp_len; i++)
        n += rounds_lost(s, &s->cp[i], end);
    return n;
}

static uint64_t longest_wait(const struct analyze_session *s, const struct analyze_cp *c, tick end)
{
    uint64_t run = 0, most = 0;
    for (uint32_t i = 0; i < c->len; i++) {
        run = is_lost(s, &c->sending[i], end) ? run + 1 : 0;
        most = run > most ? run : most;
    }
    assert(most <= c->len);
    return most;
}

uint64_t analyze_cp_run(const struct analyze_session *s, tick end)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < s->cp_len; i++) {
        const struct analyze_cp *c = &s->cp[i];
        uint64_t run = s->basis < BASIS_RECEIVER ? c->timeouts : longest_wait(s, c, end);
        most = run > most ? run : most;
    }
    return most;
}

void analyze_cp_fini(struct analyze_session *s)
{
    for (uint32_t i = 0; i < s->cp_len; i++)
        free(s->cp[i].sending);
    free(s->cp);
    rounds_fini(&s->rounds);
}
