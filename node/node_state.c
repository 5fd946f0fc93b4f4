/* SPDX-License-Identifier: Apache-2.0 */
/* Facts are collected for each request: a state is not kept, so it cannot be out of date. */
#include "node/node_state.h"

#include "node/node_meter.h"

struct link_facts node_link_facts(const struct node_link *l, const struct cla_gauges *g)
{
    return (struct link_facts){.now = world_now(l->node->world),
                               .open = l->up,
                               .opened = l->opened,
                               .off = g->off,
                               .planned = l->planned,
                               .contact = l->planned && l->contact.transmit,
                               .next = l->planned ? l->contact_next : TICK_NEVER,
                               .refused = g->refused,
                               .session = g->session,
                               .given_up = g->given_up,
                               .heard = g->heard,
                               .asked = g->asked,
                               .rto = g->rto,
                               .unconfirmed = g->unconfirmed,
                               .answers_short = g->answers_short,
                               .refusal = g->refusal,
                               .refused_at = g->refused_at};
}

enum link_state node_link_state(const struct node_link *l)
{
    struct cla_gauges g = node_link_gauges(l);
    struct link_facts f = node_link_facts(l, &g);
    return link_state_of(&f);
}

void node_link_tally(const struct node *n, struct link_tally *out)
{
    *out = (struct link_tally){0};
    for (size_t i = 0; i < n->links_len; i++) {
        if (n->links[i] == NULL)
            continue;
        out->all++;
        out->in[node_link_state(n->links[i])]++;
    }
}
