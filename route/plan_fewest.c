/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a route with fewest hops among those that arrive as early as the route found. The labels by
 * arrival do not show it: a node that is reached later by fewer hops may still be in time for the
 * contact that the route waits for. So the nodes are searched again hop by hop: all nodes that one
 * hop reaches, then at most two hops, and so on, until the destination is reached at that time.
 * This is exact, because a later start never arrives earlier (plan_cross.c). The search ends before
 * the number of hops of the known route, and the last hop leads only to the destination: a known
 * route of two hops costs a look at one pair, one of three hops a look at the pairs from the
 * source. What can go wrong: no memory for the steps; then the known route is the answer.
 */
#include <assert.h>

#include "route/plan_impl.h"

#define NO_STEP SIZE_MAX

struct layers {
    struct search *search;
    tick limit;
    size_t begin, end; /* the steps of the last number of hops */
};

/* The best step to the node up to now; NULL: none. */
static struct step *find_step(const struct plan *p, const struct node *n)
{
    return n->stepped == p->seen ? &p->steps[n->step] : NULL;
}

static bool put_step(struct plan *p, const struct step *step)
{
    if (plan_grow((void **)&p->steps, p->steps_len, &p->steps_cap, sizeof *p->steps) < 0)
        return false;
    p->steps[p->steps_len] = *step;
    step->at->stepped = p->seen;
    step->at->step = p->steps_len++;
    return true;
}

/* By this pair, if it is earlier than by as many or fewer hops. False: no memory. */
static bool step_pair(struct layers *l, size_t from, const struct pair *pair)
{
    struct search *s = l->search;
    struct plan *p = s->plan;
    const struct step at = p->steps[from];
    const bool first = at.label.hops == 0;
    struct step *known = find_step(p, pair->to);
    struct step next = {.at = pair->to, .before = from};
    if (!search_allows(s, pair, first) ||
        !pair_cross(p, pair, &s->cargo, at.label.arrival, first ? query_backlog(s->query, pair) : 0,
                    known == NULL ? l->limit : tick_min(l->limit, known->label.arrival), &next.via))
        return true;
    next.label = (struct label){next.via.last_arrives, at.label.hops + 1,
                                tick_min(at.label.until, next.via.contact->is.end),
                                first ? pair->to->number : at.label.entry};
    if (known != NULL && label_compare(&next.label, &known->label) >= 0)
        return true;
    if (known == NULL || pair->to->step < l->end)
        return put_step(p, &next);
    *known = next; /* with as many hops, and nothing continues from it yet */
    return true;
}

/* One hop more from all that the last one reached. `last`: only to the destination. */
static bool step_layer(struct layers *l, bool last)
{
    const struct search *s = l->search;
    struct plan *p = s->plan;
    for (size_t i = l->begin; i < l->end; i++) {
        const struct node *at = p->steps[i].at;
        const struct pair *direct = last ? plan_pair(p, at->number, s->to->number) : NULL;
        if (direct != NULL && !step_pair(l, i, direct))
            return false;
        for (size_t j = 0; !last && j < at->len; j++) {
            if (!step_pair(l, i, at->out[j]))
                return false;
        }
    }
    l->begin = l->end;
    l->end = p->steps_len;
    return true;
}

static size_t write_steps(const struct plan *p, const struct search *s, struct crossing *out)
{
    const struct step *at = find_step(p, s->to);
    const size_t hops = at->label.hops - s->start.hops;
    for (size_t i = hops; i > 0; i--) {
        out[i - 1] = at->via;
        at = &p->steps[at->before];
    }
    assert(at->at == s->from);
    return hops;
}

size_t search_fewest(struct search *s, struct crossing *out)
{
    struct plan *p = s->plan;
    const size_t known = search_path(s, out);
    struct layers l = {.search = s, .limit = s->to->label.arrival, .end = 1};
    const struct step start = {.at = s->from, .before = NO_STEP, .label = s->start};
    p->steps_len = 0;
    if (known < 2 || !put_step(p, &start))
        return known;
    for (size_t hops = 1; hops < known && l.begin < l.end; hops++) {
        if (!step_layer(&l, hops + 1 == known))
            return known;
        if (s->to->stepped == p->seen)
            return write_steps(p, s, out);
    }
    return known;
}
