/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registrations of endpoints. When a registration ends, its unconfirmed deliveries return to the
 * head of the shared queue, or wait for the next registration. From its own queue (each
 * registration gets all bundles) only bundles that no other registration has had are kept.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

static uint64_t reg_hash(const struct agent *a, uint64_t reg)
{
    return hash_mix(a->config.seed, reg, 1);
}

static struct registration *by_reg(const struct agent *a, uint64_t reg)
{
    struct hash_node *n = hash_find(&a->registrations, reg_hash(a, reg));
    for (; n != NULL; n = hash_next(n)) {
        struct registration *g = container_of(n, struct registration, by_reg);
        if (g->reg == reg)
            return g;
    }
    return NULL;
}

bool agent_registered(const struct agent *a, const struct eid *endpoint,
                      bool (*match)(uint64_t reg))
{
    const struct endpoint *e = endpoint_find(a, endpoint);
    if (e == NULL)
        return false;
    list_for_each (it, &e->regs) {
        if (match == NULL || match(container_of(it, struct registration, node)->reg))
            return true;
    }
    return false;
}

/* The one that its deliveries come from. */
static struct queue *queue_of(struct registration *g)
{
    return g->queue.only != NULL ? &g->queue : &g->endpoint->queue;
}

static struct registration *new_registration(struct agent *a, struct endpoint *e, uint64_t reg,
                                             uint32_t window)
{
    struct registration *g = calloc(1, sizeof *g);
    if (g == NULL)
        return NULL;
    g->reg = reg;
    g->window = window;
    g->endpoint = e;
    queue_init(&g->queue, window);
    list_add_tail(&e->regs, &g->node);
    hash_add(&a->registrations, &g->by_reg, reg_hash(a, reg));
    return g;
}

int agent_register(struct agent *a, uint64_t reg, const struct eid *endpoint, uint32_t window,
                   struct agent_now now)
{
    uint64_t group, service;
    agent_begin(a, now);
    if (window == 0 || eid_is_none(endpoint) ||
        (!agent_is_here(a, endpoint) && !eid_imc(endpoint, &group, &service)))
        return HELIO_EINVAL;
    if (by_reg(a, reg) != NULL)
        return HELIO_EEXIST;
    struct endpoint *e = endpoint_get(a, endpoint);
    if (e == NULL)
        return HELIO_ENOMEM;
    if (e == a->admin || (e->queue.open && e->sharing == AGENT_SHARE_ONE))
        return HELIO_EEXIST;
    struct registration *g = new_registration(a, e, reg, window);
    if (g == NULL) {
        endpoint_tidy(a, &e->queue);
        return HELIO_ENOMEM;
    }
    if (e->sharing == AGENT_SHARE_ALL) {
        g->queue.only = g;
        g->queue.open = true;
    } else {
        e->queue.window = e->queue.open ? e->queue.window + window : window;
    }
    memory_open(a, &e->queue, true);
    agent_resume(a, &e->queue);
    queue_wake(a, &e->queue);
    assert(e->queue.open && by_reg(a, reg) == g && !list_empty(&e->regs));
    return 0;
}

static void abandon_list(struct agent *a, struct list *l)
{
    while (!list_empty(l)) {
        struct forwarding *f = container_of(list_first(l), struct forwarding, node);
        copies_abandon(a, f);
    }
}

/* Its own queue: no bundle is added any more. */
static void empty_own(struct agent *a, struct registration *g)
{
    memory_open(a, &g->queue, false);
    list_sub(&g->queue.node);
    list_for_each (it, &g->queue.busy)
        emit_declined(a, container_of(it, struct forwarding, node), g->reg, "application is gone");
    abandon_list(a, &g->queue.busy);
    bands_each(&g->queue.bands, abandon_list, a);
    abandon_list(a, &g->queue.paused);
    abandon_list(a, &g->queue.resumed);
    assert(queue_empty(&g->queue) && g->given == 0);
}

/* To the head of the shared queue, in their order. */
static void return_shared(struct agent *a, struct registration *g)
{
    struct queue *q = &g->endpoint->queue;
    for (struct list *before, *it = q->busy.prev; it != &q->busy; it = before) {
        struct forwarding *f = container_of(it, struct forwarding, node);
        before = it->prev;
        if (f->taker != g)
            continue;
        emit_declined(a, f, g->reg, "application is gone");
        queue_return(a, f);
    }
    assert(g->given == 0 && q->owed >= g->owed && q->window >= g->window);
    q->owed -= g->owed;
    q->window -= g->window;
}

void agent_unregister(struct agent *a, uint64_t reg, struct agent_now now)
{
    agent_begin(a, now);
    struct registration *g = by_reg(a, reg);
    if (g == NULL)
        return;
    struct endpoint *e = g->endpoint;
    hash_sub(&a->registrations, &g->by_reg);
    list_sub(&g->node); /* what is placed anew does not come to it */
    if (list_empty(&e->regs)) {
        memory_open(a, &e->queue, false);
        list_sub(&e->queue.node);
    }
    if (g->queue.only != NULL)
        empty_own(a, g);
    else
        return_shared(a, g);
    if (e->queue.window == 0)
        e->queue.window = 1;
    queue_fini(&g->queue);
    free(g);
    endpoint_tidy(a, &e->queue);
}

void agent_recalled(struct agent *a, uint64_t reg, struct agent_now now)
{
    agent_begin(a, now);
    struct registration *g = by_reg(a, reg);
    if (g == NULL || g->owed == 0)
        return;
    struct queue *q = queue_of(g);
    assert(g->owed > 0 && q->owed >= g->owed);
    g->owed--;
    q->owed--;
    queue_wake(a, q);
}
