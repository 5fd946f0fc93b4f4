/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queued bundles by destination node, for other nodes and for endpoints here. All bundles are
 * counted in steps, so that the loop never blocks: a new table is counted beside the last one, and
 * replaces it when it is complete. Bundles that arrive or leave meanwhile may be included or not.
 * It is counted only on request, and at most about half a percent of the time: at the earliest 1 s
 * and 100 µs for each bundle of the last table after that one.
 */
#ifndef NODE_BACKLOG_H
#define NODE_BACKLOG_H

#include "node/node.h"

#define NODE_BACKLOG_ROWS 4096 /* more destinations are summed in `others` */
/* The latest table, the one being counted, and older ones that are still read: at this number no
 * new one is begun. */
#define NODE_BACKLOG_TABLES 8

struct node_backlog_row {
    struct eid node;
    uint64_t bundles, bytes, oldest_ms;
};

/* Complete; it does not change any more. */
struct node_backlog_table {
    tick made;        /* complete since then */
    uint64_t bundles; /* in all rows */
    struct node_backlog_row others, *rows;
    size_t len;
    struct node_backlog_rank {
        uint64_t bytes;
        size_t row;
    } order[NODE_BACKLOG_ROWS]; /* [0, len): of the rows, the most bytes first */
};

/* Counts on: looks at one chain of the agent's table of bundles, some 0.5 µs. True: there is more
 * to look at. False: the last table is complete, or it is too early for another one, or memory or
 * NODE_BACKLOG_TABLES is out. */
bool node_backlog_step(struct node *n);
/* For callers that cannot wait: the node continues the count by itself, for a tenth of the loop's
 * time. */
void node_backlog_want(struct node *n);

/* The last table, which stays as it is until the caller drops it; NULL: there is none yet. */
const struct node_backlog_table *node_backlog_keep(struct node *n);
void node_backlog_drop(struct node *n, const struct node_backlog_table *t); /* NULL is allowed */

/* The node does not count by itself any more. */
void node_backlog_rest(struct node *n);
/* All tables were dropped. */
void node_backlog_free(struct node *n);

#endif
