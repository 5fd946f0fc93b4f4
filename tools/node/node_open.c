/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node is made of, whatever wakes it up: its agent, its links, the events that links tell
 * the agent, and the routes. What can go wrong: a link cannot be opened, which is said; memory.
 */
#include "tools/node/node.h"

#include <assert.h>

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
        .held_bundles = c->bundles.count,
        .held_bytes = c->store.limit,
        .memory_bytes = memory_only ? UINT64_MAX / 2 : c->bundles.memory,
        .memory_only = memory_only,
        .assemblies_max = c->bundles.assemblies,
        .fragments_max = c->bundles.fragments,
        .fragments_all_max = c->bundles.fragments_all,
        .assembly_idle = c->bundles.assembly_idle,
        .lifetime_max_ms = c->bundles.lifetime_max / TICK_MS,
        .reserve_percent = c->bundles.reserve,
        .source_percent = c->bundles.source,
        .confirm_dropped = !c->bundles.refuse,
        .status_reports = c->bundles.status_reports,
        .retry_min = c->bundles.retry_min,
        .retry_max = c->bundles.retry_max,
        .sink = n->bundle_sink,
        .sink_context = n->bundle_sink_context,
    };
    n->seed = a.seed;
    return agent_new(&n->agent, &a);
}

static void on_received(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct node_link *l = context;
    l->received++;
    if (agent_receive(l->node->agent, l->index, bundle, token, node_now(l->node)) ==
        REFUSE_NO_MEMORY)
        c->ops->confirm(c, token, false); /* the agent has no room even for this answer */
    node_wake(l->node);
}

void node_link_done(struct node_link *l, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason)
{
    struct agent *a = l->node->agent;
    bool good = cla_outcome_is_good(outcome);
    assert(good == (reason == CLA_REASON_NONE));
    if (good) {
        l->sent++;
    } else {
        l->failed++;
        l->failures[reason]++;
    }
    if (outcome == CLA_LOST)
        agent_lost(a, key, l->cla->limits.resend, cla_reason_text(reason), node_now(l->node));
    else if (good)
        agent_sent(a, key, true, node_now(l->node));
    else
        agent_failed(a, key, cla_reason_text(reason), node_now(l->node));
    node_wake(l->node);
}

static void on_carried(void *context, struct cla *c, uint64_t key, uint64_t originator,
                       uint64_t session)
{
    struct node_link *l = context;
    (void)c;
    if (l->node->bundle_sink != NULL)
        agent_carried(l->node->agent, key, originator, session, node_now(l->node));
}

static void on_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason)
{
    (void)c;
    node_link_done(context, key, outcome, reason);
}

static void on_link(void *context, struct cla *c, bool up)
{
    struct node_link *l = context;
    (void)c;
    if (l->up != up)
        say(&l->node->say, LEVEL_INFO, "link %s is %s", l->config->name, up ? "up" : "down");
    l->up = up;
    agent_link(l->node->agent, l->index, up, node_now(l->node));
    node_wake(l->node);
}

static void on_limits(void *context, struct cla *c)
{
    struct node_link *l = context;
    (void)c;
    node_limits(l);
    node_wake(l->node);
}

static void on_say(void *context, struct cla *c, int level, const char *text)
{
    struct node_link *l = context;
    (void)c;
    say(&l->node->say, (enum config_level)level, "link %s: %s", l->config->name, text);
}

static size_t adapter_index(const struct cla_ops *ops)
{
    size_t i = 0;
    while (cla_at(i) != NULL && cla_at(i) != ops)
        i++;
    return i;
}

static int open_link(struct node *n, size_t i, char *why, size_t cap)
{
    const struct config_link *c = &n->config->links[i];
    struct node_link *l = &n->links[i];
    *l = (struct node_link){.node = n, .config = c, .index = (uint32_t)i};
    struct cla_env env = {
        .world = n->world,
        .node = n->config->node,
        .peer = c->peer,
        .earlier_life = n->earlier_life,
        .confirm = true, /* a full node refuses, whatever its durability */
        .bundle_max = n->config->bundles.max,
        .seed = world_random(n->world),
        .sink = n->sink,
        .sink_context = n->sink_context,
        .events = {.context = l,
                   .received = on_received,
                   .carried = on_carried,
                   .done = on_done,
                   .link = on_link,
                   .limits = on_limits,
                   .say = on_say},
        .shared = &n->anchors[adapter_index(c->ops)],
    };
    int err = c->ops->open(&l->cla, &env, c->settings, why, cap);
    if (err < 0)
        return err;
    n->open_links++;
    n->links_len++;
    l->window = l->cla->limits.window;
    return agent_link_add(n->agent, l->index, &c->peer, l->window);
}

/* The neighbour's endpoints, unless a route of the file is as specific. */
static int add_peer_route(struct node *n, size_t i)
{
    const struct eid *peer = &n->config->links[i].peer;
    char text[EID_TEXT_MAX + 8];
    struct eid_pattern p;
    size_t len = eid_text(peer, text);
    if (peer->scheme == EID_IPN)
        len--; /* the service number, 0 */
    text[len] = '*';
    text[len + 1] = '\0';
    if (eid_pattern_parse(text, &p) < 0)
        return HELIO_EINVAL;
    return agent_route_add(n->agent, &p, (uint32_t)i);
}

int node_open_links(struct node *n)
{
    const struct config *c = n->config;
    char why[256] = "";
    for (size_t i = 0; i < c->links_len; i++) {
        int err = open_link(n, i, why, sizeof why);
        if (err < 0) {
            say(&n->say, LEVEL_ERROR, "link %s: %s", c->links[i].name,
                *why != '\0' ? why : helio_strerror(err));
            return err;
        }
    }
    for (size_t i = 0; i < c->routes_len; i++)
        if (agent_route_add(n->agent, &c->routes[i].pattern, c->routes[i].link) < 0)
            return HELIO_ENOMEM;
    for (size_t i = 0; i < c->links_len; i++)
        if (add_peer_route(n, i) < 0)
            return HELIO_ENOMEM;
    return 0;
}
