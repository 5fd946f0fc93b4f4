/* SPDX-License-Identifier: Apache-2.0 */
/* Links whose transport is bundles of this node itself (cla_self of cla/cla.h). */
#ifndef NODE_SELF_H
#define NODE_SELF_H

#include "node/node.h"

/* Services for a link that is being opened; it has an index. */
struct cla_self node_self(struct node_link *l);
/* Ends the delivery to its endpoints. */
void node_self_end(struct node_link *l);

/* Does a link receive at this endpoint of the node? Then no application may have it: it could send
 * bundles within bundles in the name of any node. */
bool node_self_at(const struct node *n, const struct eid *endpoint);

/* Does this registration, or token of an answer that is no link's, belong to such a link? */
bool node_self_has(uint64_t name);
void node_self_answer(struct node *n, const struct agent_action *a);
void node_self_deliver(struct node *n, const struct agent_action *a);
void node_self_recall(struct node *n, const struct agent_action *a);

#endif
