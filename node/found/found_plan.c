/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link that is up is a contact, as long as beacons come: from now until the neighbour counts as
 * silent, in both directions, with the confidence of the configuration. It is extended by half a
 * silence more than its beacons need, so that it never ends before, and not at each of them: a
 * change of the plan costs all its routes. What can go wrong: the plan has such a contact already,
 * or no room; then there is none of discovery.
 */
#include "node/found/found.h"
#include "node/plan/node_plan.h"

static uint64_t add_contact(struct plan *plan, uint64_t from, uint64_t to, tick start, tick end,
                            const struct config *c)
{
    uint64_t id = 0;
    const struct plan_contact contact = {.from = from,
                                         .to = to,
                                         .start = start,
                                         .end = end,
                                         .rate = c->discovery.rate,
                                         .confidence = c->discovery.confidence};
    return plan_add(plan, &contact, &id) == 0 ? id : 0;
}

static bool extend_contact(struct plan *plan, uint64_t id, tick end)
{
    const struct plan_contact *was = id == 0 ? NULL : plan_get(plan, id);
    if (was == NULL)
        return false;
    struct plan_contact contact = *was;
    contact.end = end;
    return plan_change(plan, id, &contact) == 0;
}

void found_plan_forget(struct found *f, struct found_place *p)
{
    struct node_plan *plan = f->node->plan;
    const bool here = plan != NULL && p->owner == plan->plan && p->there != 0;
    if (here) {
        if (p->range)
            (void)plan_remove_range(plan->plan, plan_router_node(plan->router), p->number,
                                    p->contact_start);
        (void)plan_remove(plan->plan, p->there);
        (void)plan_remove(plan->plan, p->back);
        node_plan_changed(plan);
    }
    p->there = p->back = 0; /* else they are of a plan that is no more */
    p->range = false;
}

/* The first time, in a plan that was read anew, or after the clock was set. */
static void begin_contact(struct found *f, struct found_place *p, tick now, tick end)
{
    struct node_plan *plan = f->node->plan;
    const struct config *c = f->node->config;
    const uint64_t own = plan_router_node(plan->router);
    const struct plan_range range = {own, p->number, now, TICK_NEVER - 1, 0, false};
    p->owner = plan->plan;
    p->contact_start = now;
    p->contact_end = end;
    if (node_plan_meets(plan, p->number))
        return; /* it is a contact of the file, or of an operator */
    p->there = add_contact(plan->plan, own, p->number, now, end, c);
    p->back = p->there == 0 ? 0 : add_contact(plan->plan, p->number, own, now, end, c);
    if (p->back == 0) { /* both or none */
        (void)plan_remove(plan->plan, p->there);
        p->there = 0;
        return;
    }
    p->range = plan_add_range(plan->plan, &range) == 0;
    node_plan_changed(plan);
}

static void look_at(struct found *f, struct found_place *p, const struct discovery_neighbour *n)
{
    struct node_plan *plan = f->node->plan;
    const tick now = tick_add(world_now(f->node->world), plan->ahead);
    const tick end = tick_add(n->until, plan->ahead);
    if (n->state != DISCOVERY_UP || end <= now) {
        found_plan_forget(f, p);
        return;
    }
    const tick spare = f->node->config->discovery.silence / 2, until = tick_add(end, spare);
    const bool here = p->owner == plan->plan && p->there != 0 && now >= p->contact_start;
    if (here && p->contact_end >= end && p->contact_end <= until)
        return;
    if (!here || p->contact_end <= now || !extend_contact(plan->plan, p->there, until) ||
        !extend_contact(plan->plan, p->back, until)) {
        found_plan_forget(f, p);
        begin_contact(f, p, now, until);
        return;
    }
    p->contact_end = until;
    node_plan_changed(plan);
}

void found_plan_look(struct found *f)
{
    const struct node *n = f->node;
    if (n->plan == NULL || n->config->discovery.confidence <= 0)
        return;
    const struct discovery_neighbour *at;
    for (size_t i = 0; (at = discovery_at(f->engine, i)) != NULL; i++)
        for (size_t k = 0; k < n->config->discovery.links_max; k++)
            if (f->places[k].id == at->id && plan_router_number(&at->node, &f->places[k].number))
                look_at(f, &f->places[k], at);
}

bool found_plan_has(const struct found *f, const struct eid *node)
{
    const struct node *n = f->node;
    uint64_t number;
    if (n->plan == NULL || !plan_router_number(node, &number))
        return false;
    for (size_t k = 0; k < n->config->discovery.links_max; k++) {
        const struct found_place *p = &f->places[k];
        if (p->id != 0 && p->number == number && p->there != 0 && p->owner == n->plan->plan)
            return false;
    }
    return node_plan_meets(n->plan, number);
}
