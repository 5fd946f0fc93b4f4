/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the earliest of what is due, one thing at a time, and lets both nodes act. It must hold: a
 * bundle whose sender had SUCCESS is delivered in the end, unless it was nowhere but in the memory
 * of a node without a store when that ended; a bundle is delivered a second time only when the node
 * ended before its delivery was on the medium (or has none); and nothing is left at the end.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/flights.h"
#include "tests/sim/histories.h"

#define STEPS_MAX 5000000
/* ns since 1970 at time zero */
#define START_WALL ((DTN_EPOCH_UNIX * 1000 + UINT64_C(820000000000)) * TICK_MS)
#define CALM (4 * 3600 * TICK_S) /* after the last event, for everything to arrive */

void history_complain(struct history *h, const char *what)
{
    if (h->wrong == NULL)
        h->wrong = what;
}

void history_say(const struct history *h, const char *format, ...)
{
    va_list args;
    if (!h->show)
        return;
    printf("%12.3f ms  ", (double)h->world.now / 1e6);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

int history_index(const struct history *h, const struct bundle_id *id)
{
    for (size_t i = 0; i < h->c->bundles; i++)
        if (h->entry[i].sent && bundle_id_equal(&h->entry[i].id, id))
            return (int)i;
    return -1;
}

static void do_event(struct history *h, const struct history_event *e)
{
    static const char *const words[] = {"is killed", "stops",     "starts", "dark",
                                        "light",     "link down", "link up"};
    struct history_node *n = &h->nodes[e->node];
    history_say(h, "node %zu: %s", e->node + 1, words[e->what]);
    switch (e->what) {
    case HISTORY_KILL:
    case HISTORY_STOP:
        h->t->kills += n->alive && e->what == HISTORY_KILL;
        h->t->stops += n->alive && e->what == HISTORY_STOP;
        if (n->alive)
            history_node_end(n, e->what == HISTORY_KILL);
        break;
    case HISTORY_START:
        if (!n->alive)
            history_node_start(n);
        break;
    case HISTORY_DARK:
    case HISTORY_LIGHT:
        h->dark = e->what == HISTORY_DARK;
        h->t->gaps += h->dark;
        break;
    case HISTORY_DOWN:
    case HISTORY_UP:
        history_node_link(n, e->what == HISTORY_UP);
        break;
    }
}

/* After the last event everything works again. */
static void restore_order(struct history *h)
{
    history_say(h, "calm");
    h->dark = false;
    for (size_t i = 0; i < 2; i++) {
        if (!h->nodes[i].alive)
            history_node_start(&h->nodes[i]);
        history_node_link(&h->nodes[i], true);
    }
}

/* ---- what happens, in the order of ties ---- */

static tick event_due(void *context, tick before)
{
    const struct history *h = context;
    return h->event < h->c->events ? h->c->event[h->event].at : before;
}

static void step_event(void *context)
{
    struct history *h = context;
    do_event(h, &h->c->event[h->event++]);
    if (h->event == h->c->events)
        restore_order(h);
}

static tick bundle_due(void *context, tick before)
{
    const struct history *h = context;
    return h->bundle < h->c->bundles ? h->c->bundle[h->bundle].at : before;
}

static void step_bundle(void *context)
{
    struct history *h = context;
    history_send(h, h->bundle++);
}

static tick net_due(void *context, tick before)
{
    const struct history *h = context;
    (void)before;
    return flights_due(&h->flying);
}

static void step_net(void *context)
{
    history_net_step(context);
}

static tick store_due(void *context, tick before)
{
    const struct history_node *n = context;
    return n->alive ? n->storage.due : before;
}

static void step_store(void *context)
{
    history_store_step(context);
}

static tick apps_due(void *context, tick before)
{
    const struct history_node *n = context;
    return n->alive ? history_apps_due(n) : before;
}

static void step_apps(void *context)
{
    history_apps_step(context);
}

/* False: nothing is due before that time. */
static bool do_next(struct history *h, tick before)
{
    struct history_node *one = &h->nodes[0], *two = &h->nodes[1];
    const struct world_source sources[] = {
        {event_due, step_event, h},   {bundle_due, step_bundle, h}, {net_due, step_net, h},
        virtual_alarms(&h->world),    {store_due, step_store, one}, {apps_due, step_apps, one},
        {store_due, step_store, two}, {apps_due, step_apps, two},
    };
    const struct world_run run = virtual_run(&h->world, sources, sizeof sources / sizeof *sources);
    if (!world_run_step(&run, before))
        return false;
    h->t->steps++;
    for (size_t i = 0; i < 2; i++)
        if (h->nodes[i].alive)
            node_check(&h->nodes[i].node);
    return true;
}

static bool is_over(const struct history *h)
{
    bool under_way = h->c->adapter == HISTORY_UDP && !list_empty(&h->flying);
    if (h->event < h->c->events || h->bundle < h->c->bundles || under_way)
        return false;
    for (size_t i = 0; i < 2; i++) {
        const struct history_node *n = &h->nodes[i];
        if (agent_counters(n->node.agent)->bundles > 0 || n->storage.due != TICK_NEVER ||
            history_apps_due(n) != TICK_NEVER)
            return false;
    }
    return true;
}

/* Nobody brings again what UDP loses. */
static void judge_bundles(struct history *h)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < h->c->bundles; i++) {
        const struct history_entry *e = &h->entry[i];
        if (!e->confirmed || e->delivered > 0 || e->excused)
            continue;
        bool held =
            history_node_holds(&h->nodes[0], (int)i) || history_node_holds(&h->nodes[1], (int)i);
        history_say(h, "bundle %zu: %s", i, held ? "still held" : "LOST");
        missing += !held;
    }
    h->t->missing += missing;
    if (missing > (h->c->adapter == HISTORY_UDP ? h->gone : 0))
        history_complain(h, "LOST: confirmed, not delivered, and nobody has it");
}

static void play_history(struct history *h)
{
    const struct history_case *c = h->c;
    tick end =
        (c->events > 0 ? c->event[c->events - 1].at : 0) + c->bundle[c->bundles - 1].at + CALM;
    for (size_t steps = 0; h->wrong == NULL && !is_over(h); steps++) {
        if (steps <= STEPS_MAX && do_next(h, tick_add(end, 1)))
            continue;
        judge_bundles(h);
        history_complain(h, steps <= STEPS_MAX ? "not all is delivered in time" : "too many steps");
        return;
    }
    if (h->wrong == NULL)
        judge_bundles(h);
}

const char *history_run(const struct history_case *c, struct history_totals *t, bool show)
{
    struct history *h = calloc(1, sizeof *h);
    if (h == NULL)
        abort();
    h->c = c;
    h->t = t;
    h->show = show;
    rng_init(&h->rng, c->seed ^ 0x9e3779b97f4a7c15);
    virtual_init(&h->world, c->clockless ? 0 : START_WALL, &h->rng, 0);
    history_net_init(h);
    for (size_t i = 0; i < 2; i++)
        history_node_init(h, i);
    for (size_t i = 0; i < 2; i++)
        history_node_start(&h->nodes[i]);
    t->histories++;
    t->bundles += c->bundles;
    play_history(h);
    const char *wrong = h->wrong;
    for (size_t i = 0; i < 2; i++)
        history_node_fini(&h->nodes[i]);
    flights_fini(&h->flying);
    virtual_fini(&h->world);
    free(h);
    return wrong;
}
