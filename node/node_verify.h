/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles received in fragments, which are verified when all their bytes are here (agent_verify).
 * Their time is charged to the link that brought the security blocks (base/rest.h), as if the
 * bundle had come whole. A round of the loop has TURN_TIME for them, or one; after one that took
 * longer than is fair none is verified for REST_SHARED times as long as it took beyond that. So
 * links, timers and applications have three quarters of the loop's time, whatever sender's bundles
 * wait, and also when its link is gone.
 */
#ifndef NODE_VERIFY_H
#define NODE_VERIFY_H

#include "node/node.h"

/* One of them; *spent: what this round of the loop has spent on them so far. False: none now, and
 * n->verify_at says when to try again. */
bool node_verify_next(struct node *n, tick *spent);

#endif
