/* SPDX-License-Identifier: Apache-2.0 */
/* A report may assert several things: each is a hop. What can go wrong: reports of bundles that are
 * not known (any more), which are counted. */
#include "tools/ping/ping_trace.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ping_trace_init(struct ping_trace *t, void (*told)(void *context, const struct ping_hop *hop),
                     void *context)
{
    *t = (struct ping_trace){.told = told, .context = context};
}

void ping_trace_fini(struct ping_trace *t)
{
    free(t->hops);
    t->hops = NULL;
    t->len = t->cap = 0;
}

const char *ping_trace_word(enum status_item item)
{
    static const char *const words[STATUS_ITEMS] = {[STATUS_RECEIVED] = "received",
                                                    [STATUS_FORWARDED] = "forwarded",
                                                    [STATUS_DELIVERED] = "delivered",
                                                    [STATUS_DELETED] = "deleted"};
    assert(item < STATUS_ITEMS);
    return words[item];
}

static void keep_hop(struct ping_trace *t, const struct ping_hop *h)
{
    if (t->len == t->cap) {
        size_t cap = t->cap == 0 ? 64 : 2 * t->cap;
        struct ping_hop *grown = t->cap >= PING_HOPS ? NULL : realloc(t->hops, cap * sizeof *grown);
        if (grown == NULL)
            return;
        t->hops = grown;
        t->cap = cap;
    }
    t->hops[t->len++] = *h;
    assert(t->len <= t->cap);
}

static struct ping_mark *find_mark(struct ping_trace *t, const struct bundle_id *id)
{
    for (size_t i = 0; i < PING_MARKS; i++) {
        struct ping_mark *m = &t->marks[i];
        if (m->used && m->time_ms == id->time_ms && m->sequence == id->sequence)
            return m;
    }
    return NULL;
}

static void take_hops(struct ping_trace *t, struct ping_mark *m, const struct ping_early *e)
{
    const struct status_report *r = &e->report;
    for (int i = 0; i < STATUS_ITEMS; i++) {
        if (!r->asserted[i])
            continue;
        struct ping_hop h = {.number = m->number,
                             .item = (enum status_item)i,
                             .timed = r->timed[i] && r->time_ms[i] > 0 && m->time_ms > 0,
                             .heard = e->heard > m->sent ? e->heard - m->sent : 0,
                             .reason = r->reason};
        snprintf(h.node, sizeof h.node, "%s", e->node);
        h.at_ms = h.timed ? (int64_t)(r->time_ms[i] - m->time_ms) : 0;
        t->delivered += i == STATUS_DELIVERED && !m->delivered;
        m->delivered = m->delivered || i == STATUS_DELIVERED;
        keep_hop(t, &h);
        if (t->told != NULL)
            t->told(t->context, &h);
    }
}

void ping_trace_mark(struct ping_trace *t, uint64_t number, tick sent, uint64_t time_ms,
                     uint64_t sequence)
{
    struct ping_mark *m = &t->marks[number % PING_MARKS];
    *m = (struct ping_mark){
        .number = number, .time_ms = time_ms, .sequence = sequence, .sent = sent, .used = true};
    size_t kept = 0;
    for (size_t i = 0; i < t->early_len; i++) {
        const struct ping_early *e = &t->early[i];
        bool ours = e->report.subject.time_ms == time_ms && e->report.subject.sequence == sequence;
        if (ours)
            take_hops(t, m, e);
        else
            t->early[kept++] = *e;
    }
    t->early_len = kept;
}

void ping_trace_report(struct ping_trace *t, const char *node, const struct status_report *r,
                       tick now)
{
    struct ping_early e = {.report = *r, .heard = now};
    struct ping_mark *m = find_mark(t, &r->subject);
    snprintf(e.node, sizeof e.node, "%s", node);
    t->reports++;
    if (m != NULL)
        take_hops(t, m, &e);
    else if (t->early_len < PING_EARLY)
        t->early[t->early_len++] = e;
    else
        t->unknown++;
}

json_t *ping_trace_json(const struct ping_trace *t)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->len && i < PING_HOPS; i++) {
        const struct ping_hop *h = &t->hops[i];
        json_array_append_new(
            list, json_pack("{s:I,s:s,s:s,s:o,s:f,s:o}", "seq", (json_int_t)h->number + 1, "node",
                            h->node, "event", ping_trace_word(h->item), "at_ms",
                            h->timed ? json_integer((json_int_t)h->at_ms) : json_null(), "heard_ms",
                            (double)h->heard / 1e6, "reason",
                            h->item == STATUS_DELETED ? json_string(status_reason_text(h->reason))
                                                      : json_null()));
    }
    return list;
}
