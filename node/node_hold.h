/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles that arrived while the node is full. A link whose adapter can wait (cla_ops.pause) reads
 * nothing more, and its bundles stay here until there is room: neighbours that do not send again
 * what was refused lose nothing. They count as arriving (agent_reserve).
 */
#ifndef NODE_HOLD_H
#define NODE_HOLD_H

#include "node/node.h"

/* A bundle arrived by the link; takes it. */
void node_hold_receive(struct node_link *l, struct buf *bundle, uint64_t token);
/* There may be room again. Returns when to try next; TICK_NEVER: nothing is held. */
tick node_hold_try(struct node *n);
/* The link ends: what it brought goes, its peer has it still. */
void node_hold_drop(struct node_link *l);

#endif
