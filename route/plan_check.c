/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a plan promise each other. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

#include "route/plan_impl.h"

static void check_pair(const struct plan *p, const struct pair *pair)
{
    for (size_t i = 0; i < pair->len; i++) {
        const struct contact *c = pair->at[i];
        uint64_t left = c->volume;
        assert(c->pair == pair && c->id != 0 && c->is.start < c->is.end);
        assert(i == 0 || pair->at[i - 1]->is.end <= c->is.start);
        assert(plan_contact_by_id(p, c->id) == c);
        for (int priority = 0; priority < PLAN_PRIORITIES; priority++) {
            assert(c->booked[priority] <= left);
            left -= c->booked[priority];
        }
    }
    for (size_t i = 0; i < pair->ranges; i++) {
        assert(pair->range[i].start < pair->range[i].end);
        assert(i == 0 || pair->range[i - 1].end <= pair->range[i].start);
    }
    assert(pair->reverse == plan_pair(p, pair->to->number, pair->from->number));
}

void plan_check(const struct plan *p)
{
    size_t contacts = 0, ranges = 0, entries = 0;
    for (size_t i = 0; i < p->nodes; i++) {
        assert(plan_node(p, p->node[i]->number) == p->node[i]);
        for (size_t j = 0; j < p->node[i]->len; j++) {
            check_pair(p, p->node[i]->out[j]);
            contacts += p->node[i]->out[j]->len;
            ranges += p->node[i]->out[j]->ranges;
        }
    }
    assert(contacts == p->contacts && contacts == p->by_id.len && ranges == p->ranges);
    assert(contacts <= p->config.contacts_max && ranges <= p->config.ranges_max);
    list_for_each (it, &p->used) {
        const struct entry *e = container_of(it, struct entry, used);
        assert(e->floor <= e->rest && e->hops > 0 && e->via[0]->pair->from == e->from);
        entries++;
    }
    assert(entries == p->by_key.len && entries <= p->config.cache_max);
}
