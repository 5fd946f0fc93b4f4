/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundle security of a node: its policy and keys from the configuration, at the start and when the
 * file is read again. Keys are in memory that is neither swapped out nor in core dumps.
 */
#ifndef NODE_NODE_SECURITY_H
#define NODE_NODE_SECURITY_H

#include "node/node.h"

struct json_t;
struct node_ivs;

struct node_security {
    struct crypto crypto;
    struct security_ring *ring; /* os/secret_memory.h */
    struct security_policy *policy;
    struct node_ivs *ivs; /* node_ivs.h; NULL: this node has no store */
    uint64_t failures_told;
    tick told_after; /* until then failures are only counted */
};

/* After the agent is there, before the store's bundles are. Without rules there is none:
 * n->security is NULL until a reload brings some. 0, or an error that was said. */
int node_security_open(struct node *n);
/* The store's folder is there and locked: from here on IVs can be noted. 0, or an error that was
 * said. */
int node_security_begin(struct node *n);
/* Rules and keys as `c` and the key folder have them now. On an error with its text those from
 * before remain. *applied: something changed. */
int node_security_reload(struct node *n, const struct config *c, bool *applied, char *why,
                         size_t why_cap);
/* Each second: a line about operations that failed, one in 10 s. */
void node_security_tick(struct node *n);
/* After the agent. */
void node_security_free(struct node *n);

#endif
