/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles that arrived while the node is full. A link whose adapter can wait (cla_ops.pause) stops
 * reading, and its bundles are held here until there is room: so neighbours that do not retransmit
 * refused bundles lose nothing. Held bundles count as arriving (agent_reserve).
 *
 * A link whose adapter cannot wait (datagrams) rests when its bundles take more of the loop's time
 * than is fair, while other links or applications bring bundles, too (base/rest.h). Bundles that
 * arrive during the rest are held here, up to HOLD_REST_BYTES. Beyond that they are refused unread:
 * red LTP blocks stay with their sender.
 */
#ifndef NODE_HOLD_H
#define NODE_HOLD_H

#include "node/node.h"

/* Fair for a bundle, and for each of its bytes; what is held of a link that rests. */
#define HOLD_BUNDLE_TIME (50 * TICK_US)
#define HOLD_BYTE_TIME 1
#define HOLD_REST_BYTES (16u << 20)
/* Likewise, of a bundle that is accepted after its security operations were verified. What fails,
 * or was here before, has none of this: a forger's or a replayer's link rests. */
#define HOLD_SECURED_TIME (50 * TICK_US)
#define HOLD_SECURED_BYTE_TIME 4

/* On a link whose protocol has no refusal (cla_ops.last_copy) a bundle that can wait is never
 * refused. A bundle that waits for its own queue, rate or source's share is held aside, and others
 * pass it. At this number, or these bytes, of such bundles the link stops reading. */
#define HOLD_ASIDE 64
#define HOLD_ASIDE_BYTES (4u << 20)
#define HOLD_TRY_REST 8 /* times as long as a round of tries took */

/* A bundle arrived by the link; takes it. */
void node_hold_receive(struct node_link *l, struct buf *bundle, uint64_t token);
/* What the agent answers for a bundle of the link. True: the store refused it, and it waits again;
 * else *token is the link's name of it. */
bool node_hold_answer(struct node_link *l, const struct agent_action *a, uint64_t *token);
/* There may be room again: tries held bundles. Returns when to try next; TICK_NEVER: nothing is
 * held. */
tick node_hold_try(struct node *n);
/* Passes on bundles of links whose rest has ended, for TURN_TIME at most, or one of each. */
void node_hold_turn(struct node *n);
/* Work for bundles of the link after their arrival took `took`, of which `fair` was fair, and ends
 * now. */
void node_hold_charge(struct node_link *l, tick took, tick fair, tick now);
/* The link ends: its held bundles are dropped; its peer still has them. */
void node_hold_drop(struct node_link *l);

#endif
