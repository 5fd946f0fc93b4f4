/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node has of its world, whichever it is: the clocks, the alarm of its agent, and its turn
 * at the end of each round, in which it does what the agent asks for until that asks no more. What
 * can go wrong at the beginning: memory; a link or a route, which was said.
 */
#include <stdlib.h>

#include "node/node_backlog.h"
#include "node/plan/node_plan.h"

struct agent_now node_now(const struct node *n)
{
    return (struct agent_now){.now = world_now(n->world),
                              .dtn_ms = dtn_ms_of(world_wall(n->world))};
}

static void on_deadline(void *context)
{
    struct node *n = context;
    agent_expire(n->agent, node_now(n));
    node_wake(n);
}

static bool end_round(void *context)
{
    struct node *n = context;
    if (!n->awake)
        return false;
    node_pump(n);
    return true;
}

int node_open(struct node *n, bool memory_only)
{
    size_t adapters = 0;
    while (cla_at(adapters) != NULL)
        adapters++;
    n->anchors = calloc(adapters + 1, sizeof *n->anchors);
    if (n->anchors == NULL || node_open_agent(n, memory_only) < 0) {
        say(&n->say, LEVEL_ERROR, "out of memory");
        return HELIO_ENOMEM;
    }
    n->hold_at = n->rest_at = TICK_NEVER;
    alarm_init(&n->deadline, n->world, ALARM_NODE, on_deadline, n);
    n->round = (struct round_end){.run = end_round, .context = n};
    world_attach(n->world, &n->round);
    return 0;
}

int node_start(struct node *n)
{
    int err = node_open_links(n);
    if (err < 0)
        return err;
    err = node_plan_open(n);
    if (err < 0)
        return err;
    err = echo_open(n);
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "echo: %s", helio_strerror(err));
    agent_expire(n->agent, node_now(n));
    node_wake(n);
    return err;
}

void node_rest(struct node *n)
{
    if (n->round.run == NULL)
        return;
    alarm_fini(&n->deadline);
    node_plan_rest(n);
    node_backlog_rest(n);
    world_detach(&n->round);
    n->round.run = NULL;
}

void node_close(struct node *n)
{
    node_rest(n);
    agent_free(n->agent);
    node_plan_close(n);
    node_links_free(n);
    free(n->anchors);
    node_backlog_free(n);
    free(n->past);
    n->past = NULL;
    n->agent = NULL;
    n->anchors = NULL;
    n->awake = false;
}
