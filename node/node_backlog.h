/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is queued at the node for other nodes and for endpoints here, by node. All bundles are
 * looked at for that, in steps, so that the loop never stops for it: a table is counted beside the
 * last one, and takes its place when it is complete. Bundles that come or go meanwhile are in it or
 * not.
 *
 * It is counted only when somebody asks, and so seldom that it takes some half a percent of the
 * time: not before 1 s and 100 µs for each bundle of the last table have passed since that one.
 */
#ifndef NODE_BACKLOG_H
#define NODE_BACKLOG_H

#include "node/node.h"

#define NODE_BACKLOG_ROWS 4096 /* more destinations are summed in `others` */
/* The last table, the one that is counted, and older ones that somebody still reads: while there
 * are so many, none is begun. */
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
/* For those who cannot wait: the node counts on by itself, for a tenth of the loop's time. */
void node_backlog_want(struct node *n);

/* The last table, which stays as it is until the caller drops it; NULL: there is none yet. */
const struct node_backlog_table *node_backlog_keep(struct node *n);
void node_backlog_drop(struct node *n, const struct node_backlog_table *t); /* NULL is allowed */

/* The node does not count by itself any more. */
void node_backlog_rest(struct node *n);
/* All tables were dropped. */
void node_backlog_free(struct node *n);

#endif
