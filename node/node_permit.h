/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of ingress and egress (bp/agent/permit.h) at the node: those of its file, at the start and
 * when it is read again. */
#ifndef NODE_PERMIT_H
#define NODE_PERMIT_H

#include "node/node.h"

/* Before links open. 0 or HELIO_ENOMEM, which was said. */
int node_permit_open(struct node *n);
/* *applied: they are others now. HELIO_ENOMEM: those of a direction may be as before. */
int node_permit_reload(struct node *n, const struct config *c, bool *applied);
/* Once a second: logs refusals, at a limited rate. */
void node_permit_watch(struct node *n, tick now);

#endif
