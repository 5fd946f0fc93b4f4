/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dijkstra's algorithm over the contact graph. SABR's graph has contacts as vertices. But a later
 * arrival never continues earlier (plan_cross.c), so of all contacts to a node only the first to
 * arrive matters: the search has one label per node instead of one per contact. The volume is part
 * of the search: a contact without enough volume is not in the graph. So the first route found is
 * the first to arrive, and no search must be repeated when a contact of it proves to be full. The
 * labels do not show which of the routes with this arrival has fewest hops (plan_fewest.c). What
 * can go wrong: there is no route; plan_reason has the cause.
 */
#include <assert.h>

#include "route/plan_impl.h"

int label_compare(const struct label *a, const struct label *b)
{
    if (a->arrival != b->arrival)
        return a->arrival < b->arrival ? -1 : 1;
    if (a->hops != b->hops)
        return a->hops < b->hops ? -1 : 1;
    if (a->until != b->until)
        return a->until > b->until ? -1 : 1;
    return a->entry == b->entry ? 0 : a->entry < b->entry ? -1 : 1;
}

int route_compare(const struct plan_route *a, const struct plan_route *b)
{
    struct label x = {a->arrival, a->hops, a->until, a->hops > 0 ? a->hop[0].to : 0};
    struct label y = {b->arrival, b->hops, b->until, b->hops > 0 ? b->hop[0].to : 0};
    return label_compare(&x, &y);
}

bool search_begin(struct search *s, struct plan *p, const struct plan_query *q)
{
    *s = (struct search){
        .plan = p,
        .query = q,
        .cargo = {.volume = plan_gross(p, q->bytes), .priority = q->priority, .query = q},
        .from = plan_node(p, q->from),
        .to = plan_node(p, q->to),
        .start = {q->now, 0, TICK_NEVER, 0}};
    return s->from != NULL && s->to != NULL;
}

/* Uses this pair, if it improves the label of the node to which it leads. */
static void relax_pair(struct search *s, struct node *at, const struct pair *pair)
{
    struct plan *p = s->plan;
    struct node *to = pair->to;
    struct crossing via;
    bool seen = to->seen == p->seen, first = at == s->from && at->label.hops == 0;
    if (seen && to->due.pos == HEAP_OUT)
        return; /* nothing better can come */
    tick limit = seen ? to->label.arrival : TICK_NEVER - 1;
    if (s->to->seen == p->seen)
        limit = tick_min(limit, s->to->label.arrival);
    if (!pair_cross(p, pair, &s->cargo, at->label.arrival,
                    first ? query_backlog(s->query, pair) : 0, limit, &via))
        return;
    struct label label = {via.last_arrives, at->label.hops + 1,
                          tick_min(at->label.until, via.contact->is.end),
                          first ? to->number : at->label.entry};
    if (seen && label_compare(&label, &to->label) >= 0)
        return;
    to->label = label;
    to->via = via;
    to->seen = p->seen;
    int rc = heap_set(&p->heap, &to->due, label.arrival);
    assert(rc == 0);
    (void)rc;
}

bool search_allows(const struct search *s, const struct pair *pair, bool first)
{
    if (pair->len == 0 || (s->cargo.ban != 0 && pair->to->banned == s->cargo.ban))
        return false;
    if (pair->from == s->from && s->only != NULL && pair != s->only)
        return false;
    return !first || (!query_excludes(s->query, pair->to->number) && plan_begins(s->plan, pair));
}

static void relax_node(struct search *s, struct node *at)
{
    if (at->label.hops >= PLAN_HOPS_MAX)
        return;
    for (size_t i = 0; i < at->len; i++) {
        if (search_allows(s, at->out[i], at->label.hops == 0))
            relax_pair(s, at, at->out[i]);
    }
}

bool search_run(struct search *s)
{
    struct plan *p = s->plan;
    struct heap_node *first;
    bool found = s->from == s->to;
    p->seen++;
    s->from->seen = p->seen;
    s->from->label = s->start;
    assert(p->heap.len == 0 && s->from->due.pos == HEAP_OUT);
    if (!found)
        relax_node(s, s->from);
    while ((first = heap_first(&p->heap)) != NULL && !found) {
        struct node *at = container_of(first, struct node, due);
        heap_sub(&p->heap, first);
        found = at == s->to;
        if (!found)
            relax_node(s, at);
    }
    while ((first = heap_first(&p->heap)) != NULL)
        heap_sub(&p->heap, first);
    return found;
}

size_t search_path(const struct search *s, struct crossing *out)
{
    const struct node *at = s->to;
    assert(at->label.hops <= PLAN_HOPS_MAX && at->seen == s->plan->seen);
    size_t hops = at->label.hops - s->start.hops;
    for (size_t i = hops; i > 0; i--) {
        out[i - 1] = at->via;
        at = at->via.contact->pair->from;
    }
    assert(at == s->from);
    return hops;
}

bool search_follow(const struct search *s, struct contact *const *via, size_t hops,
                   struct crossing *out)
{
    tick ready = s->start.arrival;
    assert(s->start.hops == 0);
    for (size_t i = 0; i < hops; i++) {
        struct contact *c = via[i];
        uint64_t backlog = 0;
        if (i == 0 && s->query->backlog_len > 0) {
            /* Earlier contacts to the same neighbour relieve it: pair_cross knows. */
            backlog = query_backlog(s->query, c->pair);
            if (backlog > 0 &&
                !pair_cross(s->plan, c->pair, &s->cargo, ready, backlog, TICK_NEVER - 1, &out[0]))
                return false;
            if (backlog > 0 && out[0].contact != c)
                return false;
        }
        if (backlog == 0 && (ready >= c->is.end || !contact_cross(s->plan, c, &s->cargo, ready, 0,
                                                                  TICK_NEVER - 1, &out[i])))
            return false;
        ready = out[i].last_arrives;
    }
    return true;
}

/* Bytes from its first on: SABR's effective volume limit, with the contact's effective stop time.
 */
static uint64_t limit_of(const struct crossing *x, tick until, enum plan_priority priority)
{
    struct plan_contact rest = x->contact->is;
    rest.start = x->first_sent;
    rest.end = until;
    uint64_t fits = contact_volume(&rest), left = contact_left(x->contact, priority);
    return fits < left ? fits : left;
}

static void write_hop(struct plan_hop *h, const struct crossing *x)
{
    *h = (struct plan_hop){.contact = x->contact->id,
                           .from = x->contact->is.from,
                           .to = x->contact->is.to,
                           .first_sent = x->first_sent,
                           .last_sent = x->last_sent,
                           .first_arrives = x->first_arrives,
                           .last_arrives = x->last_arrives,
                           .why = x->why};
}

void route_write(struct plan_route *r, const struct crossing *via, size_t hops,
                 const struct cargo *cargo, tick now)
{
    assert(hops <= PLAN_HOPS_MAX);
    r->hops = hops;
    r->arrival = hops == 0 ? now : via[hops - 1].last_arrives;
    r->until = TICK_NEVER;
    r->volume = cargo->volume;
    r->limit = UINT64_MAX;
    r->confidence = 1;
    for (size_t i = hops; i > 0; i--) {
        const struct crossing *x = &via[i - 1];
        r->until = tick_min(r->until, x->contact->is.end);
        uint64_t limit = limit_of(x, r->until, cargo->priority);
        r->limit = limit < r->limit ? limit : r->limit;
        r->confidence *= x->contact->is.confidence;
        write_hop(&r->hop[i - 1], x);
    }
}

/* What would arrive in time if nothing were booked or waited, or if it were short? */
enum plan_reason search_reason(struct plan *p, const struct plan_query *q)
{
    struct search s;
    struct plan_query quiet = *q;
    quiet.backlog_len = 0;
    if (!search_begin(&s, p, &quiet))
        return PLAN_NO_ROUTE;
    s.cargo.empty = true;
    if (search_run(&s))
        return s.to->label.arrival < q->expiry ? PLAN_NO_VOLUME : PLAN_TOO_LATE;
    s.cargo.volume = 1;
    return search_run(&s) ? PLAN_TOO_LONG : PLAN_NO_ROUTE;
}

enum plan_reason plan_route_search(struct plan *p, const struct plan_query *q,
                                   struct plan_route *out)
{
    struct search s;
    struct crossing via[PLAN_HOPS_MAX];
    if (!search_begin(&s, p, q))
        return PLAN_NO_ROUTE;
    if (!search_run(&s) || s.to->label.arrival >= q->expiry)
        return search_reason(p, q);
    size_t hops = search_fewest(&s, via);
    route_write(out, via, hops, &s.cargo, q->now);
    return PLAN_FOUND;
}

const char *plan_reason_text(enum plan_reason reason)
{
    static const char *const texts[] = {"found", "no route", "too late", "no volume", "too long"};
    assert((size_t)reason < sizeof texts / sizeof texts[0]);
    return texts[reason];
}

const char *plan_why_text(enum plan_why why)
{
    static const char *const texts[] = {"at once", "contact begins", "backlog", "range"};
    assert((size_t)why < sizeof texts / sizeof texts[0]);
    return texts[why];
}
