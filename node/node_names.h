/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that unconfigured peers may not simply claim. A node is reserved if it is the peer of a
 * configured link, of any adapter, or if a static route leads to it as specifically as its own
 * route would: one of the file, or an operator's. So is a node with which the contact plan has
 * contacts of this node. An unconfigured peer that got the name would get that node's bundles. So
 * it needs a verified certificate that names the node, or connects from the host of that link's
 * `remote`.
 */
#ifndef NODE_NAMES_H
#define NODE_NAMES_H

#include "node/node.h"

/* Endpoints of a neighbour, as the route to it has them. 0 or HELIO_EINVAL. */
int node_names_pattern(const struct eid *peer, struct eid_pattern *out);

/* May an unconfigured peer with this evidence have the name? If not, why has the reason, and what
 * would be right. */
bool node_names_allow(const struct node *n, const struct eid *peer, const struct cla_proof *proof,
                      char *why, size_t why_cap);

/* Links, their keys, routes or the contact plan are others now: evidence is judged again before the
 * node's next bundle. */
void node_names_changed(struct node *n);
/* Does that. Sessions of unconfigured peers that may not have their name any more are ended; a link
 * without any is to be removed. The peers may connect again, with evidence. Never called from
 * within an adapter's event. */
void node_names_judge(struct node *n);

#endif
