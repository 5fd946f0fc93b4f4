/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a node's links (cla/link_state.h), from what the node, its contact plan and the
 * adapters know of them. */
#ifndef NODE_STATE_H
#define NODE_STATE_H

#include "cla/link_state.h"
#include "node/node.h"

/* From its gauges (node_meter.h), taken now. */
struct link_facts node_link_facts(const struct node_link *l, const struct cla_gauges *g);
enum link_state node_link_state(const struct node_link *l);

/* How many links are in each state. */
struct link_tally {
    size_t all, in[LINK_STATE_COUNT];
};
void node_link_tally(const struct node *n, struct link_tally *out);

#endif
