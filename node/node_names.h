/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that unconfigured peers may not simply claim. A node is reserved if it is the peer of a
 * configured link, of any adapter, or if a route of the file leads to it as specifically as its own
 * route would. An unconfigured peer that got the name would get that node's bundles. So it needs a
 * verified certificate that names the node, or connects from the host of that link's `remote`.
 */
#ifndef NODE_NAMES_H
#define NODE_NAMES_H

#include "node/node.h"

/* Endpoints of a neighbour, as the route to it has them. 0 or HELIO_EINVAL. */
int node_names_pattern(const struct eid *peer, struct eid_pattern *out);

/* The link that the name is reserved for; NULL: it is not reserved. */
const struct node_link *node_names_holder(const struct node *n, const struct eid *peer);

/* May an unconfigured peer with this evidence have the name? If not, why has the reason, and what
 * would be right. */
bool node_names_allow(const struct node *n, const struct eid *peer, const struct cla_proof *proof,
                      char *why, size_t why_cap);

/* Links or routes are others now: links of unconfigured peers whose names are reserved since then
 * are to be removed. The peers may connect again, with evidence. */
void node_names_changed(struct node *n);

#endif
