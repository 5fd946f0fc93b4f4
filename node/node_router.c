/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The router of a node whose adapters know what they reach (cla_ops.reaches): static routes first.
 * If these have no link, or one that is down, it uses a link that is up and reports that it reaches
 * the destination. Nothing can go wrong.
 */
#include "node/node.h"

static bool link_reaches(const struct node_link *l, const struct router_query *q)
{
    return l != NULL && l->cla != NULL && l->up && cla_reaches(l->cla, q->destination);
}

static struct router_answer ask_links(void *router, const struct router_query *q)
{
    struct node *n = router;
    const struct router routes = agent_routes(n->agent);
    struct router_answer answer = routes.ops->ask(routes.state, q);
    if (answer.verdict == ROUTER_LINK && q->links->at(q->links->context, answer.link).up)
        return answer;
    for (size_t i = 0; i < n->links_len; i++) {
        if (!link_reaches(n->links[i], q))
            continue;
        const struct router_link l = q->links->at(q->links->context, (uint32_t)i);
        if (l.used && !l.forbidden && (int)i != q->avoid && !(q->onward && l.back) &&
            (!q->whole || l.bundle_max == 0 || q->bytes <= l.bundle_max))
            return (struct router_answer){.verdict = ROUTER_LINK, .link = (uint32_t)i};
    }
    return answer;
}

static bool only_routed(const void *router, uint32_t link)
{
    const struct node *n = router;
    const struct node_link *l = link < n->links_len ? n->links[link] : NULL;
    return l == NULL || l->cla == NULL || l->cla->ops->reaches == NULL;
}

struct router node_router(struct node *n)
{
    static const struct router_ops ops = {
        .by_destination = true, .by_routes = only_routed, .ask = ask_links};
    return (struct router){.ops = &ops, .state = n};
}

void node_router_use(struct node *n)
{
    const struct router router = node_router(n);
    /* A contact plan asks it about what it does not know. */
    if (!n->links_route && n->plan == NULL)
        agent_router(n->agent, &router);
    n->links_route = true;
}
