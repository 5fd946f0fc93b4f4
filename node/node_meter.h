/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator watches of the node's links: rates of the last second, and what the adapters
 * know. */
#ifndef NODE_METER_H
#define NODE_METER_H

#include "node/node.h"

/* Once a second: the rates of the time since the last call. */
void node_meter_tick(struct node *n);

/* The link's gauges; what its adapter does not know is as in struct cla_gauges before the call. */
struct cla_gauges node_link_gauges(const struct node_link *l);

#endif
