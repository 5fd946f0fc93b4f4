/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator watches of the node's links: rates of the last second, what the adapters know,
 * and the links' states (cla/link_state.h). */
#ifndef NODE_METER_H
#define NODE_METER_H

#include "cla/link_state.h"
#include "node/node.h"

/* Once a second: the rates of the time since the last call. */
void node_meter_tick(struct node *n);

/* The link's gauges; what its adapter does not know is as in struct cla_gauges before the call. */
struct cla_gauges node_link_gauges(const struct node_link *l);

/* What the node, its contact plan and the link's gauges say about its state now. */
struct link_facts node_link_facts(const struct node_link *l, const struct cla_gauges *g);
enum link_state node_link_state(const struct node_link *l);

/* How many links are in each state. */
struct link_tally {
    size_t all, in[LINK_STATE_COUNT];
};
void node_link_tally(const struct node *n, struct link_tally *out);

#endif
