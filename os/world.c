/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of all worlds: alarms in a list by rank and order of creation (there are some
 * tens), and functions at the end of a round. The list is searched when an alarm fires; setting one
 * does not examine the others. Nothing can go wrong.
 */
#include "os/world.h"

#include <assert.h>

void world_init(struct world *w, const struct world_ops *ops, bool wakeups_free)
{
    *w = (struct world){.ops = ops, .earliest = TICK_NEVER, .wakeups_free = wakeups_free};
    list_init(&w->alarms);
    list_init(&w->ends);
}

void alarm_init(struct alarm *a, struct world *w, enum alarm_rank rank, void (*fire)(void *context),
                void *context)
{
    *a = (struct alarm){.world = w,
                        .due = TICK_NEVER,
                        .rank = rank,
                        .owner = w->owner,
                        .fire = fire,
                        .context = context};
    struct list *before = w->alarms.next;
    while (before != &w->alarms && container_of(before, struct alarm, node)->rank <= rank)
        before = before->next;
    list_add_tail(before, &a->node);
}

void alarm_fini(struct alarm *a)
{
    if (a->world->walk == &a->node)
        a->world->walk = a->node.next;
    list_sub(&a->node);
    a->due = TICK_NEVER;
}

void alarm_set(struct alarm *a, tick when)
{
    assert(!list_empty(&a->node));
    a->due = when;
    a->world->earliest = tick_min(a->world->earliest, when);
}

tick world_due(struct world *w)
{
    tick due = TICK_NEVER;
    list_for_each (it, &w->alarms)
        due = tick_min(due, container_of(it, struct alarm, node)->due);
    w->earliest = due;
    return due;
}

/* One iteration over the list, which also finds the earliest of the alarms that do not fire;
 * alarm_set handles those that are set meanwhile. */
unsigned world_fire(struct world *w, tick now, unsigned most)
{
    unsigned fired = 0;
    assert(w->walk == NULL); /* not from within an alarm */
    w->earliest = TICK_NEVER;
    w->walk = w->alarms.next;
    while (w->walk != &w->alarms) {
        struct alarm *a = container_of(w->walk, struct alarm, node);
        w->walk = w->walk->next;
        if (a->due > now || fired == most) {
            w->earliest = tick_min(w->earliest, a->due);
            continue;
        }
        a->due = TICK_NEVER;
        fired++;
        w->owner = a->owner;
        a->fire(a->context);
    }
    w->walk = NULL;
    return fired;
}

void world_attach(struct world *w, struct round_end *e)
{
    e->owner = w->owner;
    list_add_tail(&w->ends, &e->node);
}

void world_detach(struct round_end *e)
{
    list_sub(&e->node);
}

bool world_end_round(struct world *w)
{
    bool any = false, again = true;
    while (again) {
        again = false;
        list_for_each_safe (it, &w->ends) {
            struct round_end *e = container_of(it, struct round_end, node);
            w->owner = e->owner;
            again = e->run(e->context) || again;
        }
        any = any || again;
    }
    return any;
}
