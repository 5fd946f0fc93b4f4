/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a node that works in any world: the clocks, its agent with its configuration and
 * alarm, and its turn at the end of each round, in which it executes the agent's actions until
 * there are none. What can go wrong at the beginning: memory; a link or a route, which was logged.
 */
#include <stdlib.h>

#include "node/app/apps.h"
#include "node/found/found.h"
#include "node/node.h"
#include "node/node_backlog.h"
#include "node/node_events.h"
#include "node/node_permit.h"
#include "node/plan/node_plan.h"
#include "node/storage.h"

struct agent_now node_now(const struct node *n)
{
    struct agent_now now;
    uint64_t wall;
    world_recent(n->world, &now.now, &wall);
    now.dtn_ms = dtn_ms_of(wall);
    return now;
}

/* Applications and store, where nobody models them. */
const struct node_ops node_ops = {
    .deliver = apps_deliver,
    .recall = apps_recall,
    .answer = apps_answer,
    .flush = apps_flush,
    .put = storage_put,
    .get = storage_get,
    .remove = storage_remove,
    .submit = storage_submit,
};

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

static int share_endpoints(struct node *n)
{
    const struct config_endpoint *e = n->config->endpoints;
    int err = 0;
    for (size_t i = 0; i < n->config->endpoints_len && err == 0; i++)
        for (size_t k = 0; k < e[i].patterns.len && err == 0; k++)
            err = agent_share_endpoints(n->agent, &e[i].patterns.at[k],
                                        (enum agent_sharing)e[i].registrations);
    if (err < 0) {
        agent_free(n->agent);
        n->agent = NULL;
    }
    return err;
}

static int open_agent(struct node *n, bool memory_only)
{
    const struct config *c = n->config;
    struct agent_config a = {
        .node = c->node,
        .seed = world_random(n->world),
        .mode = (enum bundle_mode)c->bundles.mode,
        .crc = (enum crc_type)c->bundles.crc,
        .default_lifetime_ms = c->bundles.lifetime / TICK_MS,
        .bundle_max = c->bundles.max,
        .extensions_max = c->bundles.extensions,
        .held_bundles = c->bundles.count,
        .held_bytes = c->store.limit,
        .memory_bytes = memory_only ? UINT64_MAX / 2 : c->bundles.memory,
        .total_bytes = c->bundles.total,
        .memory_only = memory_only,
        .reassemblies_max = c->bundles.reassemblies,
        .fragments_max = c->bundles.fragments,
        .fragments_all_max = c->bundles.fragments_all,
        .reassembly_idle = c->bundles.reassembly_idle,
        .lifetime_max_ms = c->bundles.lifetime_max / TICK_MS,
        .reserve_percent = c->bundles.reserve,
        .queue_percent = c->bundles.reserve_queues,
        .source_percent = c->bundles.source,
        .endpoint_percent = c->bundles.endpoint,
        .drop_when_full = c->bundles.when_full == WHEN_FULL_DROP,
        .keep_unreachable = c->routing.unreachable == UNREACHABLE_KEEP,
        .confirm_dropped = !c->bundles.refuse,
        .status_reports = c->bundles.status_reports,
        .report_rate = c->bundles.report_rate,
        .hop_limit = c->bundles.hop_limit,
        .retry_min = c->bundles.retry_min,
        .retry_max = c->bundles.retry_max,
        .sink = n->bundle_sink,
        .sink_context = n->bundle_sink_context,
    };
    n->seed = a.seed;
    int err = agent_new(&n->agent, &a);
    return err < 0 ? err : share_endpoints(n);
}

int node_open(struct node *n, bool memory_only)
{
    size_t adapters = 0;
    while (cla_at(adapters) != NULL)
        adapters++;
    n->anchors = calloc(adapters + 1, sizeof *n->anchors);
    if (n->anchors == NULL || open_agent(n, memory_only) < 0) {
        say(&n->say, LEVEL_ERROR, "out of memory");
        return HELIO_ENOMEM;
    }
    n->hold_at = n->rest_at = n->verify_at = TICK_NEVER;
    alarm_init(&n->deadline, n->world, ALARM_NODE, on_deadline, n);
    n->round = (struct round_end){.run = end_round, .context = n};
    world_attach(n->world, &n->round);
    return 0;
}

int node_start(struct node *n)
{
    int err = node_permit_open(n);
    if (err == 0)
        err = node_open_links(n);
    if (err < 0)
        return err;
    err = node_plan_open(n);
    if (err < 0)
        return err;
    err = found_open(n);
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
    found_rest(n);
    node_backlog_rest(n);
    world_detach(&n->round);
    n->round.run = NULL;
}

void node_close(struct node *n)
{
    node_rest(n);
    node_events_free(n);
    agent_free(n->agent);
    node_plan_close(n);
    found_free(n);
    node_links_free(n);
    free(n->anchors);
    node_backlog_free(n);
    free(n->past);
    n->past = NULL;
    n->agent = NULL;
    n->anchors = NULL;
    n->awake = false;
}

/* The invariants of a whole node, between two things that happen. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

void node_check(const struct node *n)
{
    assert(!n->awake && alarm_due(&n->deadline) == agent_deadline(n->agent));
    agent_check(n->agent);
    for (size_t i = 0; i < n->links_len; i++) {
        const struct cla *c = n->links[i] == NULL ? NULL : n->links[i]->cla;
        if (c != NULL)
            cla_check_self(c);
    }
}
