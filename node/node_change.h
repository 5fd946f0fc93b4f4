/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of the node that read possibly long files: its configuration, certificates. The files are
 * read in another thread (os/work_pool.h) while the node continues. Changes are made one after the
 * other, in the order of the requests.
 *
 *     queue ──begin()──► read(), in a thread ──► apply() ──► the next one
 */
#ifndef NODE_CHANGE_H
#define NODE_CHANGE_H

#include "node/node.h"
#include "os/work_pool.h"

#define NODE_CHANGES_MAX 64 /* that wait or are being made; more are refused */

/* Lies in its user's memory, first in it or not. */
struct node_change {
    /* In the loop, when it is its turn. False: there is nothing to read. NULL: there is. */
    bool (*begin)(struct node_change *c);
    /* In any thread: touches nothing of the node. Left out at the node's end. */
    void (*read)(struct node_change *c);
    /* In the loop; the memory is its user's again. With node.stopping, nothing is to be changed. */
    void (*apply)(struct node_change *c);
    /* The node's: */
    struct node *node;
    struct list order; /* in node.changes */
    struct work work;
};

/* Takes a change: `apply` follows, also from within this call, and whatever becomes of the node.
 * False: there are NODE_CHANGES_MAX, and nothing follows. */
bool node_change_make(struct node *n, struct node_change *c);

#endif
