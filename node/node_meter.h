/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator watches of the node's links: rates of the last second, what the adapters know,
 * and how much waits for whom. */
#ifndef NODE_METER_H
#define NODE_METER_H

#include "node/node.h"

/* Once a second: the rates of the time since the last call. */
void node_meter_tick(struct node *n);

/* The link's gauges; what its adapter does not know is as in struct cla_gauges before the call. */
struct cla_gauges node_link_gauges(const struct node_link *l);

/* What waits at the node for other nodes and for endpoints here, by node; the most bytes first. */
struct node_backlog_row {
    struct eid node;
    uint64_t bundles, bytes, oldest_ms;
};
#define NODE_BACKLOG_ROWS 4096 /* more destinations are summed in `others` */
struct node_backlog {
    tick made, cost; /* it is made anew only so often that it takes a 200th of the time */
    struct node_backlog_row others, *rows;
    size_t len;
};
/* NULL: memory is out. Holds until the next call. */
const struct node_backlog *node_backlog(struct node *n);
void node_backlog_free(struct node_backlog *b); /* NULL is allowed */

#endif
