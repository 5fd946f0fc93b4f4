/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of a node, as its configuration says. What can go wrong: memory. */
#include "node/node.h"

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

int node_open_agent(struct node *n, bool memory_only)
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
        .assemblies_max = c->bundles.assemblies,
        .fragments_max = c->bundles.fragments,
        .fragments_all_max = c->bundles.fragments_all,
        .assembly_idle = c->bundles.assembly_idle,
        .lifetime_max_ms = c->bundles.lifetime_max / TICK_MS,
        .reserve_percent = c->bundles.reserve,
        .queue_percent = c->bundles.reserve_queues,
        .source_percent = c->bundles.source,
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
